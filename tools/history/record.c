// SPDX-License-Identifier: GPL-2.0
/*
 * memio record: a sample now and then, into a file; see log.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../top/feed.h"
#include "clock.h"
#include "command.h"
#include "interrupt.h"
#include "log.h"
#include "number.h"
#include "options.h"
#include "past.h"
#include "progress.h"

#define INTERVAL_LEAST	50		/* ms */
#define INTERVAL_MOST	3600000
#define SIZE_LEAST	(64ull << 10)
#define SIZE_MOST	(1ull << 40)
#define SYNC_NS		60000000000ull	/* what a crash of the machine may cost */

/**
 * struct recording - what goes on
 * @of_file:	what the arguments say
 * @due_ns:	when the next sample is
 * @done, @bytes: samples, and what they took
 * @large:	samples that no file could have
 */
struct recording {
	const char *file, *below;
	unsigned long interval_ms, samples, keep;
	uint64_t size;
	bool tasks;
	struct feed feed;
	struct model model;
	struct log log;
	struct bytes text;
	uint64_t epoch, due_ns, synced_ns, done, bytes, large;
};

enum { OPT_SIZE = 256, OPT_KEEP, OPT_TASKS, OPT_ROOT };

static const struct command_option option_rows[] = {
	{ 'I', "interval", "MS",
	  .help = "Time between samples, 50 to 3600000 milliseconds; the default is 5000." },
	{ 'n', "samples", "N", .help = "End after N samples." },
	{ 'G', "cgroup", "GROUP",
	  .help = "Record only GROUP and the groups below it: /a/b, a path below the mount, or a "
		  "unit of systemd, as foo.service. Devices are recorded in any case.",
	  .completes = COMPLETES_GROUP },
	{ OPT_TASKS, "tasks",
	  .help = "Record the tasks of each group that moved bytes, too. Only root can read the "
		  "figures of other users' tasks." },
	{ OPT_SIZE, "size", "SIZE",
	  .help = "Begin another file before FILE has more than SIZE bytes, 64K to 1024G; K, M and "
		  "G are powers of 1024. The default is 64M." },
	{ OPT_KEEP, "keep", "N",
	  .help = "Keep N older files, 0 to 1000; FILE.1 is the newest of them. The default is "
		  "7." },
	BACKEND_OPTION,
	{ OPT_ROOT, "root", "DIR",
	  .help = "Read DIR/proc and DIR/sys instead of /proc and /sys, as memio top does.",
	  .completes = COMPLETES_FILE },
	{ .name = NULL }
};

static bool take_option(struct recording *r, int option)
{
	const char *end;

	switch (option) {
	case 'I':
		return number("interval", optarg, INTERVAL_LEAST, INTERVAL_MOST, &r->interval_ms);
	case 'n':
		return number("samples", optarg, 1, 1000000000, &r->samples);
	case 'G':
		r->below = optarg;
		return true;
	case OPT_TASKS:
		r->tasks = true;
		return true;
	case OPT_SIZE:
		r->size = size_of(optarg, &end);
		if (!*end && r->size >= SIZE_LEAST && r->size <= SIZE_MOST)
			return true;
		complain("--size '%s': 64K to 1024G", optarg);
		return false;
	case OPT_KEEP:
		return number("keep", optarg, 0, LOG_KEEP_MOST, &r->keep);
	case OPT_BACKEND:
		r->feed.backend = optarg;
		if (!strcmp(optarg, "auto") || !strcmp(optarg, "kernel") || !strcmp(optarg, "bpf"))
			return true;
		complain("--backend %s: auto, kernel or bpf", optarg);
		return false;
	default:
		r->feed.root = optarg;
		return true;
	}
}

/*
 * The kernel's sums go on until the machine is started anew; those of BPF programs end with the
 * programs.
 */
static uint64_t epoch_of(struct memio *m)
{
	char path[4200], boot[64] = "";
	uint64_t epoch = 5381;
	const char *c;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/sys/kernel/random/boot_id", memio_root(m));
	f = fopen(path, "re");
	if (f && !fgets(boot, sizeof(boot), f))
		*boot = '\0';
	if (f)
		fclose(f);
	for (c = boot; *c; c++)
		epoch = epoch * 33 + (unsigned char)*c;
	if (!strcmp(memio_backend(m), "bpf"))
		epoch = epoch * 33 + clock_ns(CLOCK_REALTIME);
	return epoch;
}

static void take_time(struct recording *r, struct instant *when)
{
	const struct feed *f = &r->feed;

	*when = (struct instant) {
		.wall_ns = clock_ns(CLOCK_REALTIME), .mono_ns = clock_ns(CLOCK_MONOTONIC),
		.epoch = r->epoch, .interval_ms = r->interval_ms,
	};
	if (f->recorded)
		when->wall_ns = when->mono_ns = f->taken_ns ? f->taken_ns :
			f->next * r->interval_ms * 1000000ull;
}

/* What the screen of memio top asks for each sample, a record is to have of all groups. */
static void ask_for_all(struct model *o)
{
	size_t i;

	for (i = 0; i < o->group.n; i++)
		o->group.track[i]->visible = true;
}

/* The next one has what this one would have told: its sums go on. */
static int leave_out(struct recording *r, size_t bytes)
{
	if (r->large++)
		return 1;
	if (bytes && bytes <= LOG_MOST)
		complain("a sample has %zu bytes, and is left out, as each one that is too large: "
			 "give a larger --size", bytes);
	else
		complain("a sample has %zu groups and %zu tasks, and is left out, as each one that is "
			 "too large: record a part of the groups, by -G%s", r->model.group.n,
			 r->model.task.n, r->tasks ? ", or no --tasks" : "");
	return 1;
}

/* Return: 1: done; 0: there is no more; negative: failed, and said */
static int take_sample(struct recording *r)
{
	struct feed *f = &r->feed;
	struct model *o = &r->model;
	struct instant when;
	struct source from;
	int err;

	if (!feed_next(f))
		return -1;
	if (f->ended)
		return 0;
	take_time(r, &when);
	ask_for_all(o);
	if (model_sample(o, f->m, f->recorded ? f->since_ns ?: r->interval_ms * 1000000ull : 0)) {
		complain("%s", o->error);
		return -1;
	}
	if (o->denied && !r->done)
		complain("%zu of %zu processes are left out: %s", o->denied, o->tasks_read,
			 o->denied_why);
	from = source_live(f->m);
	r->text.n = LOG_HEAD;
	err = past_write(&r->text, o, &from, &when);
	if (err == -EFBIG)
		return leave_out(r, 0);
	if (err) {
		complain("no memory");
		return -1;
	}
	err = log_append(&r->log, r->text.data, r->text.n - LOG_HEAD);
	if (err == -EFBIG)
		return leave_out(r, r->text.n - LOG_HEAD);
	if (err)
		return -1;
	r->done++;
	r->bytes += r->text.n;
	if (when.mono_ns - r->synced_ns >= SYNC_NS) {
		r->synced_ns = when.mono_ns;
		fdatasync(r->log.fd);
	}
	return 1;
}

static void wait_for_next(struct recording *r)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC), step = r->interval_ms * 1000000ull;

	r->due_ns += step;
	/* A machine that is late does not hurry afterwards. */
	if (r->due_ns <= now)
		r->due_ns = now + step;
	interrupts_wait(r->due_ns);
}

static int go_round(struct recording *r)
{
	struct progress p;
	int got = 1;

	progress_begin(&p, r->samples, !r->samples, false);
	r->due_ns = clock_ns(CLOCK_MONOTONIC);
	while (!interrupted) {
		if (r->samples)
			progress(&p, "samples");
		got = take_sample(r);
		if (got <= 0 || (r->samples && r->done + r->large == r->samples))
			break;
		if (!r->feed.recorded)
			wait_for_next(r);
	}
	progress_end(&p);
	if (fdatasync(r->log.fd) && errno != EINVAL && errno != EROFS) {
		complain_errno("%s", r->file);
		got = -1;
	}
	fprintf(stderr, "memio record: %s: %llu sample%s, %llu bytes", r->file,
		(unsigned long long)r->done, r->done == 1 ? "" : "s",
		(unsigned long long)r->bytes);
	if (r->large)
		fprintf(stderr, "; %llu too large %s left out", (unsigned long long)r->large,
			r->large == 1 ? "is" : "are");
	putc('\n', stderr);
	/* A recording of nothing is none. */
	return got < 0 || (r->large && !r->done) ? STATUS_FAILED : STATUS_OK;
}

static int run_record(struct recording *r)
{
	static const uint8_t head[LOG_HEAD];
	char *below = NULL;
	int status;

	if (model_init(&r->model)) {
		complain("no memory");
		return STATUS_FAILED;
	}
	if (!feed_begin(&r->feed, r->feed.root)) {
		model_free(&r->model);
		return STATUS_FAILED;
	}
	status = feed_able(&r->feed);
	if (status == STATUS_OK && !feed_group(&r->feed, r->below, &below))
		status = STATUS_FAILED;
	if (status == STATUS_OK && !log_open(&r->log, r->file, r->size, r->keep))
		status = STATUS_FAILED;
	if (status == STATUS_OK) {
		if (below)
			r->model.below = below;
		r->model.recorded = r->feed.recorded;
		r->model.want_tasks = r->tasks;
		r->epoch = epoch_of(r->feed.m);
		bytes_add(&r->text, head, sizeof(head));
		interrupts_catch();
		if (!r->samples && !r->feed.recorded)
			fprintf(stderr,
				"memio record: a sample each %g s, into %s; Ctrl-C ends it\n",
				r->interval_ms / 1000., r->file);
		status = r->text.failed ? STATUS_FAILED : go_round(r);
		log_close(&r->log);
	}
	free(r->text.data);
	free(below);
	model_free(&r->model);
	memio_close(r->feed.m);
	return status;
}

static int cmd_record(int argc, char **argv)
{
	struct recording r = {
		.interval_ms = 5000, .size = 64 << 20, .keep = 7, .feed.root = "/", .log.fd = -1,
	};
	struct options o;
	int option, status = STATUS_USAGE;

	options_begin(&o, argc, argv);
	while ((option = options_get(&o, &status)) > 0)
		if (!take_option(&r, option))
			return STATUS_USAGE;
	if (option < 0)
		return status;
	if (o.argc != 1) {
		complain("takes one FILE");
		return STATUS_USAGE;
	}
	if (strlen(o.argv[0]) > 4000) {
		complain("the name of the file is too long");
		return STATUS_USAGE;
	}
	r.file = o.argv[0];
	return run_record(&r);
}

const struct command command_record = {
	.name = "record",
	.summary = "record how many bytes each group and device moves, to look at it later",
	.usage = "[OPTION]... FILE",
	.about = "Takes a sample of all groups and devices each 5 s, and appends the sample to "
		 "FILE, until Ctrl-C. 'memio replay FILE' shows the samples as memio top does, and "
		 "'memio report FILE' makes a page of curves and tables. When FILE is full, "
		 "memio record renames it to FILE.1, and removes the oldest file.",
	.option = option_rows,
	.arguments = COMPLETES_FILE,
	.main = cmd_record,
};

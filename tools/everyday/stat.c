// SPDX-License-Identifier: GPL-2.0
/*
 * memio stat: what was moved, by groups, processes or devices, as perf stat counts events
 *
 * A target is read when the time begins and when it ends; with -I, each interval. In between, as
 * nobody else may, the root's figures are read once a second: the kernel reads counters only
 * while somebody wants figures.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "everyday.h"
#include "interrupt.h"
#include "number.h"

#define TARGETS_MOST	256
#define WANT_NS		1000000000ull

enum {
	OPT_CGROUP = 256, OPT_PID, OPT_DEVICE, OPT_SECONDS, OPT_PARENT, OPT_JSON, OPT_CSV,
};

static const struct command_option options[] = {
	{ .id = 'I', .name = "interval", .value = "MS",
	  .help = "Print rates each MS milliseconds, 10 at least." },
	{ .id = 'n', .name = "count", .value = "N", .help = "End after N intervals." },
	{ .id = OPT_SECONDS, .name = "seconds", .value = "S",
	  .help = "End after S seconds. Without --seconds and without COMMAND, Ctrl-C ends "
		  "the count." },
	{ .id = OPT_CGROUP, .name = "cgroup", .value = "GROUP", .completes = COMPLETES_GROUP,
	  .help = "Count this group with the groups below it: a path in the hierarchy, "
		  "a directory below its mount, or a unit of systemd. May be repeated." },
	{ .id = OPT_PID, .name = "pid", .value = "PID", .completes = COMPLETES_PID,
	  .help = "Count this process, with all its threads. May be repeated." },
	{ .id = OPT_DEVICE, .name = "device", .value = "DEVICE", .completes = COMPLETES_DEVICE,
	  .help = "Count this device: an interface, a disk or a bus name. May be repeated." },
	{ .id = OPT_PARENT, .name = "parent", .value = "GROUP", .completes = COMPLETES_GROUP,
	  .help = "Make the group for COMMAND below this one (default: systemd's choice, or the "
		  "root)." },
	BACKEND_OPTION,
	{ .id = 'o', .name = "output", .value = "FILE", .completes = COMPLETES_FILE,
	  .help = "Print to this file. The default is standard output, and standard error with "
		  "COMMAND." },
	{ .id = OPT_CSV, .name = "csv", .help = "Print comma-separated values, with a header." },
	{ .id = OPT_JSON, .name = "json", .help = "Print JSON, an object for each interval." },
	{ }
};

/* What is looked at: a group, a process, or a device of the root's figures */
struct target {
	const char *kind;
	char *name;
	const char *shown;			/* instead of @name, if that is not NULL */
	pid_t pid;
	char device[MEMIO_NAME_MAX];
	struct memio_stat then, now;
	uint64_t stopped[2], stops[2];		/* then, now */
	struct figures f;
	bool gone;
};

struct counting {
	struct memio *m;
	struct target target[TARGETS_MOST];
	size_t n;
	struct memio_membw membw;
	struct memio_flat events;
	struct memio_stat root;
	uint64_t interval_ns, begin_ns, wanted_ns;
	unsigned long intervals;
	double seconds;
	bool json, csv;
	FILE *to;
};

static struct target *add(struct counting *c, const char *kind, const char *name)
{
	struct target *t = &c->target[c->n];

	if (c->n == TARGETS_MOST) {
		complain("more than %d targets", TARGETS_MOST);
		return NULL;
	}
	t->kind = kind;
	t->name = strdup(name);
	if (!t->name)
		return NULL;
	c->n++;
	return t;
}

/* The line of one device, as of the root's file: all others are left out. */
static void only_device(struct memio_stat *s, const char *device)
{
	const struct memio_line *l = memio_stat_find(s, device);

	if (l)
		s->line[0] = *l;
	s->n = !!l;
}

static int look(struct counting *c, struct target *t, struct memio_stat *s, int when)
{
	struct memio_stat was;
	int err;

	if (t->pid) {
		err = memio_task_membw(c->m, t->pid, 0, &c->membw);
		if (err)
			return err;
		was = *s;
		*s = c->membw.stat;
		c->membw.stat = was;
		return 0;
	}
	err = memio_group_stat(c->m, *t->device ? "/" : t->name, MEMIO_TREE, s);
	if (err)
		return err;
	if (*t->device) {
		only_device(s, t->device);
		return 0;
	}
	if (!memio_group_events(c->m, t->name, MEMIO_TREE, &c->events)) {
		t->stopped[when] = memio_flat_get(&c->events, "throttled_usec");
		t->stops[when] = memio_flat_get(&c->events, "throttled");
		t->f.has_stops = true;
	}
	return 0;
}

static int begin(struct counting *c)
{
	size_t i;
	int err;

	c->begin_ns = clock_ns(CLOCK_MONOTONIC);
	memio_refresh(c->m);
	for (i = 0; i < c->n; i++) {
		err = look(c, &c->target[i], &c->target[i].then, 0);
		if (err)
			return everyday_status(c->m, err, c->target[i].pid ? NULL :
					       c->target[i].name);
	}
	return STATUS_OK;
}

/* What was moved since; a target that is gone has what it had when it was last seen. */
static void until_now(struct counting *c, bool last)
{
	json_t *j = c->json ? json_begin() : NULL, *targets = json_array();
	size_t i;

	memio_refresh(c->m);
	for (i = 0; i < c->n; i++) {
		struct target *t = &c->target[i];
		struct memio_stat was;

		if (!t->gone && look(c, t, &t->now, 1)) {
			t->gone = true;
			complain("%s", memio_error(c->m));
		}
		if (t->gone && !last)
			continue;
		if (memio_stat_diff(&t->then, &t->now, &t->f.moved))
			continue;
		t->f.kind = t->kind;
		t->f.name = t->shown ?: t->name;
		t->f.time_ns = t->then.ns > c->begin_ns ? t->then.ns - c->begin_ns : 0;
		t->f.stopped_usec = t->stopped[1] - t->stopped[0];
		t->f.stops = t->stops[1] - t->stops[0];
		if (c->json)
			json_array_append_new(targets, figures_json(c->m, &t->f));
		else if (c->csv)
			figures_csv(c->m, &t->f, c->to);
		else if (c->interval_ns)
			figures_rows(c->m, &t->f, c->to);
		else
			figures_table(c->m, &t->f, c->to);
		if (!c->interval_ns)
			continue;
		was = t->then;
		t->then = t->now;
		t->now = was;
		t->stopped[0] = t->stopped[1];
		t->stops[0] = t->stops[1];
	}
	if (c->json) {
		json_object_set_new(j, "targets", targets);
		json_end(j, c->to);
	} else {
		json_decref(targets);
	}
	fflush(c->to);
}

static bool all_gone(const struct counting *c)
{
	size_t i;

	for (i = 0; i < c->n && c->target[i].gone; i++)
		;
	return i == c->n;
}

static bool is_there(const struct counting *c, const struct target *t)
{
	struct memio_task task;

	return !t->pid || !memio_task_info(c->m, t->pid, 0, false, &task);
}

/* A process's figures are gone with it: they are read as often as one can afford. */
static void remember(struct counting *c)
{
	size_t i;

	for (i = 0; i < c->n; i++) {
		struct target *t = &c->target[i];

		if (!t->pid || t->gone)
			continue;
		if (look(c, t, &t->now, 1) || !is_there(c, t))
			t->gone = true;
	}
}

/* Until @until, or the command has ended, or somebody wants it to end; true: it goes on */
static bool wait_until_ns(struct counting *c, struct own_group *g, uint64_t until, int *status)
{
	for (;;) {
		const uint64_t now = clock_ns(CLOCK_MONOTONIC);
		uint64_t next = now + 100000000;

		if (now - c->wanted_ns >= WANT_NS) {
			memio_group_stat(c->m, "/", MEMIO_TREE, &c->root);
			c->wanted_ns = now;
		}
		if (now >= until)
			return true;
		if (next > until)
			next = until;
		if (g->pid) {
			if (own_group_wait(g, next - now, status))
				return false;
		} else {
			interrupts_wait(next);
		}
		if (!c->interval_ns)
			remember(c);
		if (interrupted || (c->n && all_gone(c)))
			return false;
	}
}

static int count(struct counting *c, struct own_group *g)
{
	uint64_t end = UINT64_MAX, next;
	unsigned long done = 0;
	int status = STATUS_OK;
	bool on = true;

	if (c->seconds)
		end = c->begin_ns + (uint64_t)(c->seconds * 1e9);
	if (c->csv)
		figures_csv_head(c->to);
	else if (c->interval_ns && !c->json)
		figures_rows_head(c->to);
	for (next = c->begin_ns; on;) {
		next = c->interval_ns ? next + c->interval_ns : end;
		on = wait_until_ns(c, g, next < end ? next : end, &status);
		until_now(c, !on);
		on = on && next < end && (!c->intervals || ++done < c->intervals) && !all_gone(c);
		/* An interval that was missed is part of the next one. */
		while (c->interval_ns && next + c->interval_ns < clock_ns(CLOCK_MONOTONIC))
			next += c->interval_ns;
	}
	/* With --seconds or --count, the command goes on, and is waited for. */
	while (g->pid)
		own_group_wait(g, 1000000000, &status);
	return status;
}

static int add_group(struct counting *c, const char *name)
{
	char *path;
	int err = memio_group_resolve(c->m, name, &path);

	if (err)
		return everyday_status(c->m, err, NULL);
	err = add(c, "group", path) ? STATUS_OK : STATUS_FAILED;
	free(path);
	return err;
}

static int add_process(struct counting *c, const char *text)
{
	unsigned long pid;
	struct target *t;

	if (!number("pid", text, 1, INT32_MAX, &pid))
		return STATUS_USAGE;
	t = add(c, "process", text);
	if (!t)
		return STATUS_FAILED;
	t->pid = pid;
	return STATUS_OK;
}

static int add_device(struct counting *c, const char *text)
{
	char name[MEMIO_NAME_MAX];
	struct target *t;

	if (memio_device_resolve(c->m, text, name)) {
		complain("%s", memio_error(c->m));
		return STATUS_FAILED;
	}
	t = add(c, "device", text);
	if (!t)
		return STATUS_FAILED;
	memcpy(t->device, name, sizeof(name));
	return STATUS_OK;
}

static bool seconds_of(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	if (!text[strspn(text, "0123456789.")] && !*end && *seconds >= 0.01 && *seconds <= 1e9)
		return true;
	complain("--seconds '%s': a number from 0.01 on", text);
	return false;
}

static int option(struct counting *c, int opt)
{
	unsigned long n;

	switch (opt) {
	case 'I':
		if (!number("interval", optarg, 10, 86400000, &n))
			return STATUS_USAGE;
		c->interval_ns = n * 1000000ull;
		return STATUS_OK;
	case 'n':
		return number("count", optarg, 1, 1ul << 40, &c->intervals) ? STATUS_OK :
									      STATUS_USAGE;
	case OPT_SECONDS:
		return seconds_of(optarg, &c->seconds) ? STATUS_OK : STATUS_USAGE;
	case OPT_CGROUP:
		return add_group(c, optarg);
	case OPT_PID:
		return add_process(c, optarg);
	case OPT_DEVICE:
		return add_device(c, optarg);
	case OPT_JSON:
		c->json = true;
		return STATUS_OK;
	case OPT_CSV:
		c->csv = true;
		return STATUS_OK;
	}
	return STATUS_OK;
}

/* The command in a group of its own, unless other targets are looked at while it runs */
static int with_command(struct counting *c, const char *parent, char **argv, struct own_group *g)
{
	int err, status = STATUS_OK;
	struct target *t;
	char *path;

	if (!c->n) {
		err = memio_group_resolve(c->m, parent, &path);
		if (err)
			return everyday_status(c->m, err, NULL);
		status = own_group_make(c->m, path, argv, g);
		free(path);
		if (status != STATUS_OK)
			return status;
		t = add(c, "command", g->path);
		if (!t)
			return STATUS_FAILED;
		t->shown = argv[0];
	}
	/* Before it runs: the first bytes count, too. */
	if (status == STATUS_OK && !everyday_accounted(c->m))
		status = STATUS_UNABLE;
	if (status == STATUS_OK)
		status = begin(c);
	if (status == STATUS_OK)
		status = own_group_start(c->m, g, argv);
	return status;
}

static int stat_all(struct counting *c, const char *parent, char **argv)
{
	struct own_group g = NO_GROUP;
	int status;

	if (!everyday_able(c->m))
		return STATUS_UNABLE;
	if (!c->n && !argv && !add(c, "machine", "/"))
		return STATUS_FAILED;
	if (argv) {
		status = with_command(c, parent, argv, &g);
	} else {
		interrupts_catch();
		status = everyday_accounted(c->m) ? begin(c) : STATUS_UNABLE;
	}
	if (status == STATUS_OK) {
		status = count(c, &g);
		everyday_lost(c->m);
	}
	own_group_remove(c->m, &g);
	return status;
}

static int cmd_stat(int argc, char **argv)
{
	static struct counting c;
	const char *output = NULL, *parent = "/", *backend;
	int opt, status = STATUS_OK;
	struct options o;
	size_t i;

	if (!everyday_backend(argc, argv, &backend, &status))
		return status;
	c.m = everyday_open(backend, &status);
	if (!c.m)
		return status;
	options_begin(&o, argc, argv);
	while ((opt = options_get(&o, &status)) > 0) {
		if (opt == 'o')
			output = optarg;
		if (opt == OPT_PARENT)
			parent = optarg;
		/* A machine that can't has no groups to look for either. */
		if ((opt == OPT_CGROUP || opt == OPT_DEVICE) && !everyday_able(c.m))
			status = STATUS_UNABLE;
		else
			status = option(&c, opt);
		if (status != STATUS_OK)
			goto out;
	}
	if (opt < 0)
		goto out;
	status = STATUS_USAGE;
	if (c.intervals && !c.interval_ns)
		complain("--count is of --interval");
	else
		status = STATUS_OK;
	c.to = o.argc ? stderr : stdout;
	if (status == STATUS_OK && output) {
		c.to = fopen(output, "we");
		if (!c.to) {
			complain_errno("%s", output);
			status = STATUS_FAILED;
		}
	}
	if (status == STATUS_OK)
		status = stat_all(&c, parent, o.argc ? o.argv : NULL);
	if (output && c.to && fclose(c.to)) {
		complain_errno("%s", output);
		status = STATUS_FAILED;
	}
out:
	for (i = 0; i < c.n; i++) {
		free(c.target[i].name);
		memio_stat_free(&c.target[i].then);
		memio_stat_free(&c.target[i].now);
		memio_stat_free(&c.target[i].f.moved);
	}
	memio_membw_free(&c.membw);
	memio_flat_free(&c.events);
	memio_stat_free(&c.root);
	memio_close(c.m);
	return status;
}

const struct command command_stat = {
	.name = "stat",
	.summary = "count the bytes that groups, processes, devices or a command move",
	.usage = "[OPTION...] [--cgroup GROUP|--pid PID|--device DEVICE]...\n"
		 "[OPTION...] [--cgroup GROUP|--pid PID|--device DEVICE]... -- COMMAND [ARG...]",
	.about = "Counts the bytes that devices move, and the bytes of memory that are read and "
		 "written for devices and for CPUs. Counts until COMMAND ends, the time is over, "
		 "or Ctrl-C. Without a group, process or device, memio stat counts COMMAND, in a "
		 "group of its own. Without COMMAND, too, memio stat counts the whole machine.",
	.notes = "to dev, from dev: bytes to and from devices. mem rd, mem wr: bytes read from "
		 "and written to DRAM. Units are powers of 1000.",
	.option = options,
	.arguments = COMPLETES_COMMAND,
	.runs = true,
	.main = cmd_stat,
};

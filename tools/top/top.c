// SPDX-License-Identifier: GPL-2.0
/*
 * memio top: who moves how many bytes to and from memory, live
 *
 * Options, and the loop: a sample, the screen, keys until the next sample. store.h tells of the
 * parts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "feed.h"
#include "options.h"
#include "settings.h"
#include "terminal.h"

#define KEY_MS	200	/* how long a wait for a key is at most */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

/* Return: 1: it was taken; 0: the recording has ended; negative: failed */
static int take_sample(struct feed *f, struct settings *set, struct model *o)
{
	uint64_t ns = 0;
	int err;

	if (!feed_next(f))
		return -EIO;
	if (f->ended)
		return 0;
	if (f->recorded)
		ns = f->since_ns ? f->since_ns : set->view.interval_ms * 1000000ull;
	err = model_sample(o, f->m, ns);
	return err ? err : 1;
}

/* ---- without a terminal ---- */

static int run_batch(struct feed *f, struct settings *set, struct model *o)
{
	struct screen s = { 0 };
	uint64_t due = now_ms();
	unsigned long done = 0;
	int status = STATUS_OK, got;

	signals_begin();
	if (set->format == FORMAT_CSV)
		print_csv_head(&set->view, stdout);
	/* The first sample is what the first table's differences begin with. */
	while (!set->samples || done <= set->samples) {
		got = take_sample(f, set, o);
		if (got < 0) {
			complain("%s", o->error);
			status = STATUS_FAILED;
		}
		if (got <= 0)
			break;
		if (o->samples > 1 && !settings_print(set, o, &s, done == 1)) {
			complain("no memory");
			status = STATUS_FAILED;
			break;
		}
		if (fflush(stdout))
			break;
		if (++done > set->samples && set->samples)
			break;
		due += set->view.interval_ms;
		/* A machine that is late does not hurry afterwards: short intervals say little. */
		if (now_ms() >= due)
			due = now_ms() + set->view.interval_ms;
		if (!f->recorded)
			signals_wait(due - now_ms());
		if (terminal_signal())
			break;
	}
	screen_free(&s);
	return status;
}

/* ---- on a terminal ---- */

static void redraw(struct settings *set, struct model *o, struct screen *s)
{
	terminal_size(&set->view);
	if (!view_draw(&set->view, o, s))
		terminal_draw(s);
}

static int run_live(struct feed *f, struct settings *set, struct model *o)
{
	struct view *v = &set->view;
	struct screen s = { 0 };
	uint64_t due = now_ms(), last = 0, left;
	int got = 1, key;
	bool quit = false;

	if (!terminal_begin())
		return STATUS_FAILED;
	v->keys = true;
	while (!quit && !terminal_signal()) {
		if (!v->paused && now_ms() >= due) {
			got = take_sample(f, set, o);
			if (got < 0)
				break;
			v->ended = f->ended;
			last = now_ms();
			/* The first rates come early. */
			due = last + (o->samples < 2 && v->interval_ms > 500 ? 500 :
				      v->interval_ms);
			redraw(set, o, &s);
		}
		/* A signal may come just before getch(): it is seen soon. */
		left = now_ms() < due ? due - now_ms() : KEY_MS;
		key = terminal_key(v->paused || left > KEY_MS ? KEY_MS : (int)left);
		if (key == -1)
			continue;
		switch (key == -2 ? ACTION_DRAW : view_key(v, o, key)) {
		case ACTION_QUIT:
			quit = true;
			break;
		case ACTION_SAMPLE:
			/* Rates over less than this say little. */
			if (!f->recorded && last + 250 < due)
				due = last + 250;
			/* fallthrough */
		case ACTION_DRAW:
			redraw(set, o, &s);
			break;
		default:
			break;
		}
	}
	terminal_end();
	screen_free(&s);
	if (got < 0) {
		complain("%s", *o->error ? o->error : "the recording can't be read");
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

/* ---- options ---- */

enum { OPT_BESIDE = OPT_SETTINGS_END, OPT_ROOT };

static const struct command_option option_rows[] = {
	SETTINGS_OPTIONS("Time between samples, 50 to 3600000; the default is 1000."),
	BACKEND_OPTION,
	{ OPT_BESIDE, "beside", "FILE",
	  .help = "Show another account of the devices beside memio's. FILE has the form of "
			"memio.stat; its memory bytes become columns of devices, and devices "
			"stand below groups and tasks, too. FILE can have the lines 'name WORD' "
			"(for titles) and 'time_ns N' (when FILE was written). memio top reads "
			"FILE for each sample; in a recording, each sample has its own FILE. If "
			"FILE is '|COMMAND', the shell runs COMMAND for each sample, and COMMAND "
			"prints the account.",
	  .completes = COMPLETES_FILE },
	{ OPT_ROOT, "root", "DIR",
	  .help = "Read DIR/proc and DIR/sys instead of /proc and /sys. If there is DIR/0, DIR "
			"is a recording: DIR/0, DIR/1 and so on have copies of proc and sys, "
			"one for each sample. Each can have a file time_ns with the time of its "
			"sample.",
	  .completes = COMPLETES_FILE },
	{ .name = NULL }
};

/**
 * struct where - what the arguments say of where figures come from
 * @root:	where proc/ and sys/ are, or a recording; "/" is the running machine
 * @beside:	a file with another account of the devices; or NULL
 */
struct where {
	const char *root, *backend, *beside;
};

/* Return: whether the value of an option is one */
static bool take_option(struct settings *set, struct where *w, int option)
{
	switch (option) {
	case OPT_BESIDE:
		w->beside = optarg;
		return true;
	case OPT_BACKEND:
		w->backend = optarg;
		if (!strcmp(optarg, "auto") || !strcmp(optarg, "kernel") || !strcmp(optarg, "bpf"))
			return true;
		complain("--backend %s: auto, kernel or bpf", optarg);
		return false;
	case OPT_ROOT:
		w->root = optarg;
		return true;
	default:
		return settings_option(set, option);
	}
}

static int run_top(struct settings *set, const struct where *w)
{
	struct feed f = { .backend = w->backend };
	struct model o;
	char *below = NULL;
	int status;

	if (model_init(&o)) {
		complain("no memory");
		return STATUS_FAILED;
	}
	if (!feed_begin(&f, w->root)) {
		model_free(&o);
		return STATUS_FAILED;
	}
	status = feed_able(&f);
	if (status == STATUS_OK && !feed_group(&f, set->below, &below))
		status = STATUS_FAILED;
	if (status != STATUS_OK)
		goto out;
	if (below)
		o.below = below;
	o.beside.path = w->beside;
	o.recorded = f.recorded;
	o.containers = w->root;
	o.want_tasks = set->view.show == SHOW_TASKS;
	o.want_idle = set->view.idle[SHOW_TASKS];
	status = set->batch ? run_batch(&f, set, &o) : run_live(&f, set, &o);
out:
	model_free(&o);
	free(below);
	memio_close(f.m);
	return status;
}

static int cmd_top(int argc, char **argv)
{
	struct where w = { .root = "/" };
	struct settings set = { 0 };
	struct options o;
	int option, status = STATUS_USAGE;

	view_init(&set.view);
	options_begin(&o, argc, argv);
	while ((option = options_get(&o, &status)) > 0)
		if (!take_option(&set, &w, option))
			return STATUS_USAGE;
	if (option < 0)
		return status;
	if (o.argc) {
		complain("takes no argument '%s'", o.argv[0]);
		return STATUS_USAGE;
	}
	settings_end(&set);
	status = run_top(&set, &w);
	view_free(&set.view);
	signals_end();
	return status;
}

const struct command command_top = {
	.name = "top",
	.summary = "show live how many bytes each group, task or device moves",
	.usage = "[OPTION]...",
	.about = "Takes a sample once a second, and shows how many bytes each group, task or "
			"device moves to and from memory. On a terminal the table is painted "
			"anew for each sample, and the key '?' lists the keys. Without a "
			"terminal, memio top prints one table after the other.",
	.option = option_rows,
	.main = cmd_top,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * memio replay: a recording, in the view of memio top; see log.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../top/settings.h"
#include "../top/terminal.h"
#include "clock.h"
#include "history.h"
#include "options.h"

#define MANY	60		/* samples that one key goes over */

/**
 * struct replay - what goes on
 * @first, @last: the samples that are shown
 * @at:		the one on the screen
 */
struct replay {
	struct settings set;
	const char *file, *from, *until;
	struct history history;
	struct model model;
	struct screen screen;
	size_t first, last, at;
};

enum { OPT_FROM = OPT_SETTINGS_END, OPT_UNTIL };

static const struct command_option option_rows[] = {
	SETTINGS_OPTIONS("Time between samples while the recording plays, 50 to 3600000; the "
			 "default is 1000."),
	{ OPT_FROM, "from", "TIME",
	  .help = FROM_HELP },
	{ OPT_UNTIL, "until", "TIME",
	  .help = UNTIL_HELP },
	{ .name = NULL }
};

static const char keys_text[] =
	"? help  ] next  [ back  } { by 60  b time  p play  g groups  t tasks  d devices  q quit";

static const char *const more_help[] = {
	"] [             one sample forward, back;  } {  60 samples",
	"b               go to a time: 03:12, 2026-11-28 03:12, -10m, +2h",
	"p               play: the next sample each second (-I); again: stop",
	NULL
};

/* ---- samples ---- */

static void tell_of(struct replay *r)
{
	const struct moment *m = &r->history.moment[r->at];
	struct view *v = &r->set.view;
	char when[MOMENT_TEXT];

	snprintf(v->when, sizeof(v->when), "%s  %zu of %zu",
		 moment_text(m->when.wall_ns, false, when), r->at + 1, r->history.n);
	v->ended = v->keys && r->at == r->last;
	r->model.wall_ns = m->when.wall_ns;
	if (m->lost)
		model_note(&r->model, 0, "time", "records before this one are lost; the rates are "
			   "of the whole time since the sample before");
	if (r->at && !history_since(&r->history, r->at))
		model_note(&r->model, 0, "time", "sums begin anew: the machine or the recorder was "
			   "started; rates come with the next sample");
	if (v->show == SHOW_TASKS && !past_has_tasks(r->history.past))
		model_note(&r->model, 0, "tasks", "none were recorded; memio record --tasks does");
}

static bool step_to(struct replay *r, size_t at)
{
	int err;

	r->at = at;
	err = history_step(&r->history, &r->model, at);
	if (!err)
		tell_of(r);
	else if (*r->model.error)
		complain("%s", r->model.error);
	return !err;
}

/* The sample anew, with what the user wants to see of it now */
static bool again(struct replay *r)
{
	int err = history_seek(&r->history, &r->model, r->at);

	if (!err)
		tell_of(r);
	return !err;
}

static bool go_by(struct replay *r, long by)
{
	long at = (long)r->at + by;

	if (at < (long)r->first)
		at = r->first;
	if (at > (long)r->last)
		at = r->last;
	return (size_t)at == r->at || step_to(r, at);
}

/* ---- without a terminal ---- */

static int run_batch(struct replay *r)
{
	struct settings *set = &r->set;
	unsigned long done = 0;
	size_t i;

	signals_begin();
	if (set->format == FORMAT_CSV)
		print_csv_head(&set->view, stdout);
	for (i = r->first; i <= r->last && !terminal_signal(); i++) {
		if (!step_to(r, i))
			return STATUS_FAILED;
		/* Of the first of a run there are no rates. */
		if (r->model.samples < 2)
			continue;
		if (!settings_print(set, &r->model, &r->screen, !done)) {
			complain("no memory");
			return STATUS_FAILED;
		}
		if (fflush(stdout) || ++done == set->samples)
			break;
	}
	return STATUS_OK;
}

/* ---- on a terminal ---- */

static void redraw(struct replay *r)
{
	terminal_size(&r->set.view);
	if (!view_draw(&r->set.view, &r->model, &r->screen))
		terminal_draw(&r->screen);
}

/* What was typed behind the key b; false: the sample can't be read */
static bool answer_key(struct replay *r, int key)
{
	struct view *v = &r->set.view;
	const struct moment *m = r->history.moment;
	const size_t n = strlen(v->answer);
	uint64_t base, ns;
	size_t at;

	switch (key) {
	case KEY_IS_ESCAPE:
		v->prompt = NULL;
		return true;
	case KEY_IS_BACKSPACE:
		if (n)
			v->answer[n - 1] = '\0';
		return true;
	case KEY_IS_ENTER:
		break;
	default:
		if (key >= ' ' && key <= '~' && n + 1 < sizeof(v->answer)) {
			v->answer[n] = key;
			v->answer[n + 1] = '\0';
		}
		return true;
	}
	/* What has a sign counts from here, what has no date is before the end. */
	base = m[*v->answer == '-' || *v->answer == '+' ? r->at : r->last].when.wall_ns;
	if (n && !moment_parse(v->answer, base, MOMENT_BEFORE, &ns)) {
		v->prompt = "no time; 03:12, 2026-11-28 03:12, -10m or +2h";
		*v->answer = '\0';
		return true;
	}
	v->prompt = NULL;
	if (!n)
		return true;
	at = history_at(&r->history, ns);
	return step_to(r, at < r->first ? r->first : at > r->last ? r->last : at);
}

/* Return: whether it goes on; *@good: the sample can be read */
static bool take_key(struct replay *r, int key, bool *good)
{
	struct view *v = &r->set.view;

	if (v->prompt) {
		*good = answer_key(r, key);
		redraw(r);
		return true;
	}
	if (!v->typing && !v->help) {
		switch (key) {
		case ']':
		case '[':
			*good = go_by(r, key == ']' ? 1 : -1);
			redraw(r);
			return true;
		case '}':
		case '{':
			*good = go_by(r, key == '}' ? MANY : -MANY);
			redraw(r);
			return true;
		case 'b':
			v->prompt = "go to the time";
			*v->answer = '\0';
			redraw(r);
			return true;
		}
	}
	switch (view_key(v, &r->model, key)) {
	case ACTION_QUIT:
		return false;
	case ACTION_SAMPLE:
		*good = again(r);
		/* fallthrough */
	case ACTION_DRAW:
		redraw(r);
		break;
	default:
		break;
	}
	return true;
}

static int run_live(struct replay *r)
{
	struct view *v = &r->set.view;
	uint64_t due = 0, now;
	bool good = true, on = true;
	int key;

	v->keys = v->paused = true;
	v->keys_text = keys_text;
	v->more_help = more_help;
	if (!step_to(r, r->at))
		return STATUS_FAILED;
	if (!terminal_begin())
		return STATUS_FAILED;
	redraw(r);
	while (on && good && !terminal_signal()) {
		now = clock_ns(CLOCK_MONOTONIC) / 1000000;
		if (v->paused) {
			due = now + v->interval_ms;
		} else if (now >= due) {
			due = now + v->interval_ms;
			good = go_by(r, 1);
			redraw(r);
			if (!good)
				break;
		}
		key = terminal_key(due - now < 200 ? due - now : 200);
		if (key == -2)
			redraw(r);
		else if (key != -1)
			on = take_key(r, key, &good);
	}
	terminal_end();
	if (!good)
		complain("the recording can't be read any more");
	return good ? STATUS_OK : STATUS_FAILED;
}

/* ---- options ---- */

static int run_replay(struct replay *r)
{
	char *below = NULL;
	int status;

	if (model_init(&r->model)) {
		complain("no memory");
		return STATUS_FAILED;
	}
	if (!history_open(&r->history, r->file)) {
		model_free(&r->model);
		return STATUS_FAILED;
	}
	status = history_range(&r->history, r->from, r->until, &r->first, &r->last);
	if (status == STATUS_OK && r->set.below) {
		below = history_group(&r->history, r->set.below, r->first, r->last);
		if (!below)
			status = STATUS_FAILED;
	}
	if (status == STATUS_OK) {
		/* The first of a run has no rates. */
		r->at = r->first;
		if (r->at < r->last && !history_since(&r->history, r->at))
			r->at++;
		if (below)
			r->model.below = below;
		r->model.want_tasks = r->set.view.show == SHOW_TASKS;
		r->model.want_idle = r->set.view.idle[SHOW_TASKS];
		r->history.current = r->history.n;
		status = r->set.batch ? run_batch(r) : run_live(r);
	}
	history_close(&r->history);
	model_free(&r->model);
	screen_free(&r->screen);
	free(below);
	return status;
}

static int cmd_replay(int argc, char **argv)
{
	struct replay r = { 0 };
	struct options o;
	int option, status = STATUS_USAGE;

	view_init(&r.set.view);
	r.set.view.command = "replay";
	r.set.view.timed = true;
	options_begin(&o, argc, argv);
	while ((option = options_get(&o, &status)) > 0) {
		if (option == OPT_FROM)
			r.from = optarg;
		else if (option == OPT_UNTIL)
			r.until = optarg;
		else if (!settings_option(&r.set, option))
			return STATUS_USAGE;
	}
	if (option < 0)
		return status;
	if (o.argc != 1) {
		complain("takes one FILE, of memio record");
		return STATUS_USAGE;
	}
	r.file = o.argv[0];
	settings_end(&r.set);
	status = run_replay(&r);
	view_free(&r.set.view);
	signals_end();
	return status;
}

const struct command command_replay = {
	.name = "replay",
	.summary = "show a recording of memio record in the view of memio top",
	.usage = "[OPTION]... FILE",
	.about = "Shows the samples that memio record wrote to FILE, and to older files (FILE.1 and "
		 "so on), in the view of memio top. On a terminal the keys ] and [ go forward "
		 "and back, b goes to a time, and '?' lists all keys; without a terminal, "
		 "one table follows the other.",
	.option = option_rows,
	.arguments = COMPLETES_FILE,
	.main = cmd_replay,
};

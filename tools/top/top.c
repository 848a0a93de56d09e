// SPDX-License-Identifier: GPL-2.0
/*
 * memio top: who moves how many bytes to and from memory, live
 *
 * Options, and the loop: a sample, the screen, keys until the next sample. store.h tells of the
 * parts.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "batch.h"
#include "command.h"
#include "options.h"
#include "terminal.h"

#define INTERVAL_LEAST	50		/* ms */
#define INTERVAL_MOST	3600000

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };

/**
 * struct settings - what the arguments say
 * @root:	where proc/ and sys/ are, or a recording; "/" is the running machine
 * @beside:	a file with another account of the devices; or NULL
 * @batch:	no terminal
 * @samples:	how many tables; 0: until it is ended
 */
struct settings {
	const char *root, *below, *backend, *beside;
	bool batch;
	unsigned long samples;
	enum format format;
	struct view view;
};

/**
 * struct feed - where samples come from
 * @m:		the reader
 * @recorded:	the root has directories 0, 1, and so on, each a sample
 * @taken_ns:	when the last one of these was taken, by its file time_ns; 0: it has none
 * @since_ns:	from the one before to the last one; 0: not known
 * @next:	the next of these
 * @ended:	there is none
 */
struct feed {
	const char *root, *backend;
	struct memio *m;
	bool recorded, ended;
	unsigned int next;
	uint64_t taken_ns, since_ns;
};

static void read_time(struct feed *f, const char *root)
{
	unsigned long long was = f->taken_ns, is = 0;
	char path[4200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/time_ns", root);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%llu", &is) != 1)
		is = 0;
	if (file)
		fclose(file);
	f->since_ns = was && is > was ? is - was : 0;
	f->taken_ns = is;
}

static bool open_reader(struct feed *f, const char *root)
{
	memio_close(f->m);
	f->m = memio_open_backend(root, f->backend);
	if (!f->m)
		complain_errno("%s", root);
	return f->m;
}

static bool is_there(const char *root, unsigned int n, char *path, size_t size)
{
	snprintf(path, size, "%s/%u", root, n);
	return !access(path, F_OK);
}

static bool feed_begin(struct feed *f, const char *root)
{
	char path[4096];

	f->root = root;
	f->recorded = is_there(root, 0, path, sizeof(path));
	return open_reader(f, f->recorded ? path : root);
}

/* The reader for the next sample; of a recording that has ended, the last one, and f->ended */
static bool feed_next(struct feed *f)
{
	char path[4096];

	if (!f->recorded)
		return true;
	if (!is_there(f->root, f->next, path, sizeof(path))) {
		f->ended = true;
		return true;
	}
	read_time(f, path);
	return f->next++ == 0 || open_reader(f, path);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

/* A signal may end the pause. */
static void pause_ms(uint64_t ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
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

static bool print_sample(struct settings *set, struct model *o, struct screen *s,
			 unsigned long done)
{
	switch (set->format) {
	case FORMAT_JSON:
		return print_json(&set->view, o, stdout);
	case FORMAT_CSV:
		return print_csv(&set->view, o, stdout);
	default:
		if (view_draw(&set->view, o, s))
			return false;
		if (done)
			putchar('\n');
		print_screen(s, stdout);
		return true;
	}
}

static int run_batch(struct feed *f, struct settings *set, struct model *o)
{
	struct screen s = { 0 };
	uint64_t due = now_ms();
	unsigned long done = 0;
	int status = STATUS_OK, got;

	signals_begin();
	if (set->format == FORMAT_CSV)
		print_csv_head(stdout);
	/* The first sample is what the first table's differences begin with. */
	while (!set->samples || done <= set->samples) {
		got = take_sample(f, set, o);
		if (got < 0) {
			complain("%s", o->error);
			status = STATUS_FAILED;
		}
		if (got <= 0)
			break;
		if (o->samples > 1 && !print_sample(set, o, &s, done - 1)) {
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
			pause_ms(due - now_ms());
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
	uint64_t due = now_ms(), last = 0;
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
		key = terminal_key(v->paused || now_ms() >= due ? 200 : (int)(due - now_ms()));
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

enum { OPT_JSON = 256, OPT_CSV, OPT_ASCII, OPT_BESIDE, OPT_ROOT, OPT_BACKEND };

static const struct command_option option_rows[] = {
	{ 'b', "batch", .help = "Print one table after the other, on a terminal, too." },
	{ 'n', "samples", "N", .help = "End after N tables." },
	{ 'I', "interval", "MS",
	  .help = "Time between samples, 50 to 3600000; the default is 1000." },
	{ 'v', "view", "WHAT", .help = "Show groups (the default), tasks or devices.",
	  .completes = COMPLETES_WORDS, .words = "groups tasks devices" },
	{ 's', "sort", "COLUMN",
	  .help = "Sort by name, to, from, read, write, cpus, share (the default), limit or "
			"stopped. The largest comes first.",
	  .completes = COMPLETES_WORDS,
	  .words = "name to from read write cpus share limit stopped" },
	{ 'r', "reverse", .help = "Reverse the order: the smallest comes first." },
	{ 'f', "filter", "TEXT",
	  .help = "Show only rows with TEXT in their names, and the groups above them. Case "
			"does not matter." },
	{ 'i', "idle", .help = "Show tasks that move nothing, too." },
	{ 'B', "busy", .help = "Show no group or device that moves nothing." },
	{ 'G', "cgroup", "GROUP",
	  .help = "Show only GROUP and the groups below it: /a/b, a path below the mount, or a "
			"unit of systemd, as foo.service.",
	  .completes = COMPLETES_GROUP },
	{ OPT_JSON, "json", .help = "Print a JSON object for each sample, each in one line." },
	{ OPT_CSV, "csv", .help = "Print comma-separated values: a line for each row of each "
			"sample." },
	{ OPT_ASCII, "ascii", .help = "Print no characters beyond ASCII." },
	{ OPT_BACKEND, "backend", "WHICH",
	  .help = "Take figures from the files of a kernel with memio (kernel), or count IO "
			"bytes by BPF programs, which need root (bpf). The default, auto, takes "
			"the kernel's if they are there.",
	  .completes = COMPLETES_WORDS, .words = "auto kernel bpf" },
	{ OPT_BESIDE, "beside", "FILE",
	  .help = "Show another account of the devices beside memio's: columns of devices have "
			"the memory bytes that FILE tells of, and the devices stand below "
			"groups and tasks, too. FILE is as memio.stat, and may have lines 'name "
			"WORD', for the titles, and 'time_ns N': when it was written. It is "
			"read for each sample; of a recording, it is a file of each sample. "
			"'|COMMAND' in place of FILE is run by the shell for each sample, and "
			"prints that.",
	  .completes = COMPLETES_FILE },
	{ OPT_ROOT, "root", "DIR",
	  .help = "Read DIR/proc and DIR/sys instead of /proc and /sys. If there is DIR/0, DIR "
			"is a recording: DIR/0, DIR/1 and so on have copies of proc and sys, "
			"one for each sample, and can have a file time_ns with the time of the "
			"sample.",
	  .completes = COMPLETES_FILE },
	{ .name = NULL }
};

static bool take_number(const char *text, unsigned long least, unsigned long most,
			unsigned long *n)
{
	char *end;

	errno = 0;
	*n = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *n >= least && *n <= most;
}

/* Return: whether the value of an option is one */
static bool take_option(struct settings *set, int option)
{
	struct view *v = &set->view;
	unsigned long n;
	int i;

	switch (option) {
	case 'b':
		set->batch = true;
		return true;
	case 'n':
		if (take_number(optarg, 1, 1000000000, &set->samples))
			return true;
		complain("--samples %s: not a number from 1 to 1000000000", optarg);
		return false;
	case 'I':
		if (!take_number(optarg, INTERVAL_LEAST, INTERVAL_MOST, &n)) {
			complain("--interval %s: not a number of milliseconds from %d to %d",
				 optarg, INTERVAL_LEAST, INTERVAL_MOST);
			return false;
		}
		v->interval_ms = n;
		return true;
	case 'v':
		for (i = 0; i < SHOWS; i++)
			if (!strcmp(optarg, show_name(i)))
				break;
		if (i == SHOWS) {
			complain("--view %s: groups, tasks or devices", optarg);
			return false;
		}
		v->show = i;
		return true;
	case 's':
		v->sort = column_of(optarg);
		if (v->sort < COLUMNS)
			return true;
		complain("--sort %s: name, to, from, read, write, cpus, share, limit or stopped",
			 optarg);
		return false;
	case 'r':
		v->reverse = true;
		return true;
	case 'f':
		if (strlen(optarg) >= sizeof(v->filter)) {
			complain("--filter: no more than %zu characters", sizeof(v->filter) - 1);
			return false;
		}
		stpcpy(v->filter, optarg);
		return true;
	case 'i':
		v->idle[SHOW_TASKS] = true;
		return true;
	case 'B':
		v->idle[SHOW_GROUPS] = v->idle[SHOW_DEVICES] = false;
		return true;
	case 'G':
		set->below = optarg;
		return true;
	case OPT_JSON:
		set->format = FORMAT_JSON;
		return true;
	case OPT_CSV:
		set->format = FORMAT_CSV;
		return true;
	case OPT_BESIDE:
		set->beside = optarg;
		return true;
	case OPT_ASCII:
		v->ascii = true;
		return true;
	case OPT_BACKEND:
		set->backend = optarg;
		if (!strcmp(optarg, "auto") || !strcmp(optarg, "kernel") || !strcmp(optarg, "bpf"))
			return true;
		complain("--backend %s: auto, kernel or bpf", optarg);
		return false;
	default:
		set->root = optarg;
		return true;
	}
}

/* Without a bound rows are as wide as they must be; with COLUMNS, as wide as that. */
static void batch_width(struct view *v)
{
	const char *columns = getenv("COLUMNS");
	unsigned long n;

	if (columns && take_number(columns, 20, 1000, &n))
		v->cols = n;
}

static int run_top(struct settings *set)
{
	struct feed f = { .backend = set->backend };
	struct model o;
	char *below = NULL;
	int status;

	if (model_init(&o)) {
		complain("no memory");
		return STATUS_FAILED;
	}
	if (!feed_begin(&f, set->root)) {
		model_free(&o);
		return STATUS_FAILED;
	}
	if (!strcmp(memio_backend(f.m), "none") || !memio_mount(f.m)) {
		complain("%s", memio_can(f.m, memio_mount(f.m) ? "kernel" : "hierarchy")->why);
		status = STATUS_UNABLE;
		goto out;
	}
	if (set->below) {
		if (memio_group_resolve(f.m, set->below, &below)) {
			complain("%s", memio_error(f.m));
			status = STATUS_FAILED;
			goto out;
		}
		o.below = below;
	}
	o.beside.path = set->beside;
	o.recorded = f.recorded;
	o.want_tasks = set->view.show == SHOW_TASKS;
	o.want_idle = set->view.idle[SHOW_TASKS];
	if (set->batch)
		batch_width(&set->view);
	status = set->batch ? run_batch(&f, set, &o) : run_live(&f, set, &o);
out:
	model_free(&o);
	free(below);
	memio_close(f.m);
	return status;
}

static int cmd_top(int argc, char **argv)
{
	struct settings set = { .root = "/" };
	struct options o;
	int option, status = STATUS_USAGE, sig;

	view_init(&set.view);
	options_begin(&o, argc, argv);
	while ((option = options_get(&o, &status)) > 0)
		if (!take_option(&set, option))
			return STATUS_USAGE;
	if (option < 0)
		return status;
	if (o.argc) {
		complain("takes no argument '%s'", o.argv[0]);
		return STATUS_USAGE;
	}
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8"))
		set.view.ascii = true;
	set.batch |= set.format != FORMAT_TABLE || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO);
	status = run_top(&set);
	view_free(&set.view);
	sig = terminal_signal();
	if (sig) {
		/* Ended by it, as a shell would see of any other program. */
		fflush(stdout);
		signal(sig, SIG_DFL);
		raise(sig);
	}
	return status;
}

const struct command command_top = {
	.name = "top",
	.summary = "show live how many bytes each group, task or device moves",
	.usage = "[OPTION]...",
	.about = "Takes a sample once a second, and shows how many bytes each group, task or "
			"device moves to and from memory. On a terminal the table is painted "
			"anew for each sample, and the key '?' lists the keys; elsewhere one "
			"table follows the other.",
	.option = option_rows,
	.main = cmd_top,
};

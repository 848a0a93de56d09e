// SPDX-License-Identifier: GPL-2.0
/*
 * memio top without a terminal: screens of a stored recording, and of trees that are made here
 *
 *	unit DIRECTORY-OF-THIS EMPTY-DIRECTORY [write]
 *
 * With "write" the golden files are written anew: read their difference before you commit it.
 */
#include <fcntl.h>
#include <ftw.h>
#include <locale.h>
#include <wchar.h>

#include "batch.h"
#include "containers.h"
#include "test.h"
#include "trees.h"

static const char *here;
static bool write_golden;

/* ---- trees ---- */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void remove_tree(const char *tree, const char *what)
{
	char path[8192];

	snprintf(path, sizeof(path), "%s/%s", root_of(tree), what);
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- a program under test ---- */

struct bench {
	struct memio *m;
	struct model model;
	struct view view;
	struct screen screen;
};

static void begin(struct bench *b, const char *tree)
{
	memset(b, 0, sizeof(*b));
	b->m = memio_open(root_of(tree));
	if (!b->m || model_init(&b->model))
		abort();
	view_init(&b->view);
	b->view.cols = 100;
}

static void end(struct bench *b)
{
	memio_close(b->m);
	model_free(&b->model);
	view_free(&b->view);
	screen_free(&b->screen);
}

static void sample(struct bench *b)
{
	if (model_sample(&b->model, b->m, 1000000000))
		abort();
}

static const char *draw(struct bench *b)
{
	static char text[1 << 20];
	FILE *f = fmemopen(text, sizeof(text), "w");

	if (view_draw(&b->view, &b->model, &b->screen))
		abort();
	print_screen(&b->screen, f);
	fclose(f);
	return text;
}

/* What stands in the line that has @name; "" if there is none */
static const char *row(struct bench *b, const char *name)
{
	static char line[8192];
	const char *text = draw(b), *at = strstr(text, name), *from;

	if (!at)
		return "";
	for (from = at; from > text && from[-1] != '\n'; from--)
		;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(from, "\n"), from);
	return line;
}

static bool has(struct bench *b, const char *text)
{
	return strstr(draw(b), text);
}

static size_t place_of(struct bench *b, const char *name)
{
	const char *text = draw(b), *at = strstr(text, name);

	return at ? (size_t)(at - text) : (size_t)-1;
}

static void press(struct bench *b, const char *keys)
{
	for (; *keys; keys++)
		view_key(&b->view, &b->model, *keys);
}

static enum action press_key(struct bench *b, int key)
{
	enum action a = view_key(&b->view, &b->model, key);

	draw(b);
	return a;
}

/* ---- golden screens ---- */

static void golden(const char *name, const char *text)
{
	static char wanted[1 << 20];
	char path[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/golden/%s.txt", here, name);
	if (write_golden) {
		f = fopen(path, "w");
		if (!f || fputs(text, f) < 0 || fclose(f))
			abort();
		return;
	}
	f = fopen(path, "r");
	n = f ? fread(wanted, 1, sizeof(wanted) - 1, f) : 0;
	wanted[n] = '\0';
	if (f)
		fclose(f);
	check(!strcmp(text, wanted), "the recording's %s", name);
	if (strcmp(text, wanted))
		printf("# it is now:\n%s", text);
}

static void reopen(struct bench *b, unsigned int n)
{
	char name[64];

	memio_close(b->m);
	snprintf(name, sizeof(name), "recording/%u", n);
	b->m = memio_open(root_of(name));
	/* So long, more or less: the machine was slow. */
	if (!b->m || model_sample(&b->model, b->m, 45000000000))
		abort();
}

static struct track *group_of(struct bench *b, const char *path)
{
	struct track *t = store_find(b->model.store, TRACK_GROUP, path, 0);

	if (!t)
		abort();
	return t;
}

/* unpack_recording: @name.txt, to the tree @name */
static void unpack_recording(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.txt", here, name);
	check(tree_unpack(path, root_of(name)), "%s.txt is unpacked", name);
}

static void recording(void)
{
	static char text[1 << 20];
	struct bench b;
	unsigned int i;
	FILE *f;

	unpack_recording("recording");
	begin(&b, "recording/0");
	b.model.recorded = true;
	sample(&b);
	golden("first", draw(&b));
	b.model.want_tasks = true;
	for (i = 1; i < 4; i++)
		reopen(&b, i);
	golden("groups", draw(&b));
	b.view.show = SHOW_TASKS;
	golden("tasks", draw(&b));
	b.view.show = SHOW_DEVICES;
	golden("devices", draw(&b));
	b.view.ascii = true;
	b.view.show = SHOW_GROUPS;
	golden("ascii", draw(&b));
	b.view.ascii = false;

	/* As on a terminal */
	b.view.keys = true;
	b.view.cols = 80;
	b.view.rows = 24;
	golden("terminal", draw(&b));
	b.view.cols = 44;
	b.view.rows = 8;
	golden("narrow", draw(&b));
	b.view.cols = 100;
	b.view.rows = 30;
	b.view.looked = b.model.look = group_of(&b, "/batch.slice/backup.service")->serial;
	reopen(&b, 4);
	golden("group", draw(&b));
	b.view.looked = b.model.device.track[0]->serial;
	golden("device", draw(&b));
	b.view.looked = b.model.task.n ? b.model.task.track[0]->serial : 0;
	golden("task", draw(&b));
	b.view.looked = 0;
	b.view.help = true;
	golden("help", draw(&b));
	b.view.help = false;

	f = fmemopen(text, sizeof(text), "w");
	print_csv_head(&b.view, f);
	print_csv(&b.view, &b.model, f);
	print_json(&b.view, &b.model, f);
	fclose(f);
	golden("csv-json", text);
	end(&b);
}

/* ---- names that others choose ---- */

static void lines_are_plain(const char *what, const struct screen *s, unsigned int cols)
{
	bool plain = true, fits = true;
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct screen_line *l = &s->line[i];
		wchar_t wide[4096];
		const size_t n = mbstowcs(wide, l->text, 4096);
		int w = n == (size_t)-1 ? -1 : wcswidth(wide, n);

		/* wcswidth() is -1 if there is a character that controls. */
		plain &= w >= 0;
		fits &= w <= (int)cols && (unsigned int)w == l->cols;
	}
	check(plain, "%s: nothing controls the terminal", what);
	check(fits, "%s: no line is wider than it says, or than %u", what, cols);
}

static void hostile(void)
{
	static const char *const names[] = {
		"esc\033[2J\033[1;1Hroot", "bell\a\b\b\b\b", "tab\tnew\nline\r", "\xff\xfe\x80 no text",
		"\xe2\x80\xae" "evas", "zero\xe2\x80\x8bwidth\xcc\x81", "\xc2\x9b" "31mC1",
		"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
		"%s%n%s", "a b  c", "-rf",
		"long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long",
	};
	const unsigned int widths[] = { 1, 2, 20, 79, 80, 100, 200 };
	char group[2048], file[4096];
	static char text[1 << 20];
	struct bench b;
	size_t i;
	FILE *f;

	put_machine("hostile");
	for (i = 0; i < N(names); i++) {
		snprintf(group, sizeof(group), "/%s", names[i]);
		put_group("hostile", group, 1000 * i);
		put_task("hostile", 100 + i, names[i], i, 0);
		snprintf(file, sizeof(file), CG "%s/cgroup.procs", group);
		put_file("hostile", file, "%zu\n", 100 + i);
	}
	begin(&b, "hostile");
	b.model.want_tasks = b.model.want_idle = true;
	b.view.idle[SHOW_TASKS] = true;
	sample(&b);
	sample(&b);
	check(b.model.group.n == N(names) + 1, "each group is there");
	check(b.model.task.n == N(names), "each task is there");
	for (i = 0; i < N(widths); i++) {
		b.view.cols = widths[i];
		for (b.view.show = 0; b.view.show < SHOWS; b.view.show++) {
			draw(&b);
			lines_are_plain(show_name(b.view.show), &b.screen, widths[i]);
		}
	}
	b.view.cols = 100;
	b.view.show = SHOW_GROUPS;
	check(has(&b, "esc?[2J?[1;1Hroot"), "what would control it is a '?'");
	check(has(&b, "\xe6\x97\xa5\xe6\x9c\xac"), "wide characters stay");
	b.view.ascii = true;
	check(!has(&b, "\xe6"), "... but not in ASCII");
	b.view.ascii = false;
	for (i = 0; i < b.model.group.n; i++) {
		b.view.looked = b.model.group.track[i]->serial;
		draw(&b);
		if (i < 3)
			lines_are_plain("one alone", &b.screen, 100);
	}
	b.view.looked = 0;
	f = fmemopen(text, sizeof(text), "w");
	check(print_csv(&b.view, &b.model, f) && print_json(&b.view, &b.model, f), "CSV and JSON");
	fclose(f);
	check(!strpbrk(text, "\033\a\b\r\t"), "... have no character that controls");
	end(&b);
}

/* ---- sizes ---- */

static void sizes(void)
{
	struct bench b;
	bool fits = true, exact = true;
	unsigned int rows, cols;
	size_t i;

	begin(&b, "hostile");
	sample(&b);
	sample(&b);
	b.view.keys = true;
	for (rows = 1; rows <= 40; rows++) {
		for (cols = 1; cols <= 140; cols += rows % 7 + 1) {
			b.view.rows = rows;
			b.view.cols = cols;
			b.view.show = (rows + cols) % SHOWS;
			b.view.help = !(cols % 5);
			b.view.looked = cols % 3 ? 0 : b.model.group.track[1]->serial;
			draw(&b);
			exact &= b.screen.n == rows;
			for (i = 0; i < b.screen.n; i++)
				fits &= b.screen.line[i].cols <= cols;
		}
	}
	check(exact, "a screen has as many lines as the terminal");
	check(fits, "no line is wider than the terminal");
	end(&b);
}

/* ---- many ---- */

#define MANY	500

static void many(void)
{
	char name[64];
	struct bench b;
	int i;

	put_machine("many");
	put_group("many", "", 0);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "/g%03d", i);
		put_group("many", name, 0);
	}
	begin(&b, "many");
	b.view.rows = 24;
	b.view.keys = true;
	sample(&b);
	put_group("many", "", 1000000);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "/g%03d", i);
		put_group("many", name, i * 1000);
	}
	sample(&b);
	draw(&b);
	check(b.view.list.n == MANY + 1, "%zu rows", b.view.list.n);
	check(has(&b, "g499") && !has(&b, "g100"), "those that move most come first");
	check(place_of(&b, "g499") < place_of(&b, "g498"), "... in their order");
	press_key(&b, KEY_IS_END);
	check(has(&b, "g000") && !has(&b, "g499"), "End goes to the last");
	press_key(&b, KEY_IS_PAGE_UP);
	check(!has(&b, "g000"), "PgUp goes back");
	press_key(&b, KEY_IS_HOME);
	press(&b, "r");
	check(has(&b, "g000"), "r: the other way round");
	press(&b, "r/g25");
	press_key(&b, KEY_IS_ENTER);
	check(b.view.list.n == 11, "a filter leaves what has it: %zu", b.view.list.n);
	check(has(&b, "g259") && !has(&b, "g499"), "... and no other");
	/* What is chosen stays chosen while it moves. */
	press_key(&b, KEY_IS_END);
	check(b.view.list.track[b.view.chosen_at]->name[1] == 'g', "one is chosen");
	snprintf(name, sizeof(name), "%s", b.view.list.track[b.view.chosen_at]->name);
	put_group("many", name, 100000000);
	put_group("many", "", 200000000);
	sample(&b);
	draw(&b);
	check(b.view.chosen_at == 1 && !strcmp(b.view.list.track[1]->name, name),
	      "... and stays so when it moves up");
	press_key(&b, KEY_IS_ESCAPE);
	check(b.view.list.n == MANY + 1, "Escape shows all");
	end(&b);
}

/* A group is not read where the one above it has not moved. */
static void unread(void)
{
	struct bench b;

	put_machine("unread");
	put_group("unread", "/a", 5000);
	put_group("unread", "/a/b", 5000);
	begin(&b, "unread");
	sample(&b);
	sample(&b);
	put_group("unread", "/a/b", 9000);
	sample(&b);
	check(group_of(&b, "/a/b")->rate[FIG_FROM] == 0, "nothing above moved: it is not read");
	put_group("unread", "/a", 9000);
	put_group("unread", "", 9000);
	sample(&b);
	check(group_of(&b, "/a/b")->rate[FIG_FROM] == 4000, "then it is, and has all its bytes: %g",
	      group_of(&b, "/a/b")->rate[FIG_FROM]);
	end(&b);
}

/* ---- what comes and goes ---- */

static void changes(void)
{
	struct bench b;
	struct track *t;

	put_machine("changes");
	put_group("changes", "/a", 1000);
	put_group("changes", "/b", 1000);
	put_file("changes", CG "/a/cgroup.procs", "10\n11\n");
	put_task("changes", 10, "stays", 5, 100);
	put_task("changes", 11, "goes", 6, 100);
	begin(&b, "changes");
	b.model.want_tasks = true;
	b.view.show = SHOW_TASKS;
	sample(&b);
	check(!strstr(row(&b, "stays"), " 0 "), "the first sample has no rates: '%s'",
	      row(&b, "stays"));

	put_group("changes", "", 6000);
	put_group("changes", "/a", 6000);
	put_task("changes", 10, "stays", 5, 5100);
	put_task("changes", 11, "goes", 6, 100);
	sample(&b);
	check(strstr(row(&b, "stays"), "5.00K"), "then there are: '%s'", row(&b, "stays"));
	check(!has(&b, "goes"), "a task that moved nothing is not shown");
	press(&b, "i");
	check(has(&b, "goes"), "... unless it is asked for");
	check(b.model.want_idle, "... which is read, then");

	/* It ends, and another task of the same group begins with a megabyte. */
	b.view.looked = store_find(b.model.store, TRACK_TASK, "", 11)->serial;
	remove_tree("changes", "proc/11");
	put_file("changes", CG "/a/cgroup.procs", "10\n11\n12\n");
	put_task("changes", 12, "new", 7, 1000000);
	put_group("changes", "", 1006000);
	put_group("changes", "/a", 1006000);
	sample(&b);
	check(has(&b, "it is gone"), "who looks at it sees that it is gone");
	b.view.looked = 0;
	check(!has(&b, "goes"), "it is in no list");
	check(strstr(row(&b, "new"), "1.00M"), "a new one moved what it has: '%s'", row(&b, "new"));

	/* The same ID, another task: its counters begin anew. */
	put_task("changes", 12, "other", 8, 300);
	put_group("changes", "", 1007000);
	put_group("changes", "/a", 1007000);
	sample(&b);
	t = store_find(b.model.store, TRACK_TASK, "", 12);
	check(t && t->rate[FIG_TO] <= 300, "nothing is taken from one for the other: %g",
	      t ? t->rate[FIG_TO] : -1);
	put_task("changes", 12, "other", 8, 500);
	put_group("changes", "", 1008000);
	put_group("changes", "/a", 1008000);
	sample(&b);
	check(has(&b, "other") && !has(&b, "new"), "... and its name is known: '%s'",
	      row(&b, "12 "));
	check(strstr(row(&b, "other"), " 200 "), "... its rate: '%s'", row(&b, "other"));

	/* Counters that begin anew */
	b.view.show = SHOW_GROUPS;
	put_group("changes", "", 2000);
	put_group("changes", "/a", 2000);
	sample(&b);
	check(strstr(row(&b, "  a "), "2.00K"), "a counter that went back counts from 0: '%s'",
	      row(&b, "  a "));
	check(group_of(&b, "/a")->anew, "... and it is known");
	/* A group that goes */
	b.view.chosen = group_of(&b, "/b")->serial;
	draw(&b);
	remove_tree("changes", CG "/b");
	sample(&b);
	check(!has(&b, "  b "), "a group that goes is in no list");
	check(b.view.chosen_at < b.view.list.n, "... and another one is chosen");
	check(store_size(b.model.store) < 8, "... and forgotten: %zu", store_size(b.model.store));
	/* One of the same name */
	put_group("changes", "/b", 777);
	put_group("changes", "", 5000);
	sample(&b);
	check(strstr(row(&b, "  b "), "777"), "a new one of that name counts from 0: '%s'",
	      row(&b, "  b "));
	end(&b);
}

/* A task that goes from one group to another while the sample is taken stands in both. */
static void twice(void)
{
	struct bench b;

	put_machine("twice");
	put_group("twice", "/a", 0);
	put_group("twice", "/b", 0);
	put_file("twice", CG "/a/cgroup.procs", "30\n");
	put_file("twice", CG "/b/cgroup.procs", "30\n");
	put_task("twice", 30, "moves", 1, 0);
	begin(&b, "twice");
	sample(&b);
	group_of(&b, "/a")->open = group_of(&b, "/b")->open = true;
	sample(&b);
	check(b.model.task.n == 1, "a task that two groups have is shown once: %zu",
	      b.model.task.n);
	check(b.model.task.n != 1 || has(&b, "30 moves"), "... in one of them");
	end(&b);
}

/* ---- the tree ---- */

static void folding(void)
{
	struct bench b;
	enum action a;

	put_machine("fold");
	put_group("fold", "/a", 0);
	put_group("fold", "/a/deep", 0);
	put_group("fold", "/b", 0);
	put_file("fold", CG "/a/deep/cgroup.procs", "20\n");
	put_task("fold", 20, "inside", 1, 0);
	begin(&b, "fold");
	sample(&b);
	sample(&b);
	check(has(&b, "deep"), "groups are unfolded");
	press_key(&b, KEY_IS_HOME);
	press_key(&b, KEY_IS_DOWN);
	press_key(&b, KEY_IS_LEFT);
	check(!has(&b, "deep"), "left folds");
	press(&b, "/deep");
	check(has(&b, "deep"), "a filter finds what is folded");
	press_key(&b, KEY_IS_ESCAPE);
	check(!has(&b, "deep"), "... and then it is as before");
	press_key(&b, KEY_IS_RIGHT);
	check(has(&b, "deep"), "right unfolds");
	press(&b, "z");
	check(!has(&b, "deep"), "z folds all");
	press(&b, "Z");
	check(has(&b, "deep"), "Z unfolds all");
	check(!has(&b, "inside"), "tasks are not shown");
	press_key(&b, KEY_IS_DOWN);
	a = press_key(&b, KEY_IS_RIGHT);
	check(a == ACTION_SAMPLE, "... until they are unfolded, which reads them");
	sample(&b);
	check(has(&b, "20 inside"), "... and shows them");
	press_key(&b, KEY_IS_DOWN);
	press_key(&b, KEY_IS_LEFT);
	check(b.view.chosen == group_of(&b, "/a/deep")->serial,
	      "left goes from a task to its group");
	press_key(&b, KEY_IS_LEFT);
	check(!has(&b, "inside"), "... and folds its tasks");
	press(&b, "tq");
	check(b.view.show == SHOW_TASKS && view_key(&b.view, &b.model, 'q') == ACTION_QUIT,
	      "t shows tasks, q quits");
	end(&b);
}

/* ---- what figures are worth ---- */

static void worth(void)
{
	struct bench b;

	put_machine("worth");
	put_group("worth", "/a", 0);
	begin(&b, "worth");
	sample(&b);
	put_group("worth", "", 9000);
	put_group("worth", "/a", 9000);
	put_file("worth", "sys/kernel/memio/valid", "0\n");
	sample(&b);
	check(strstr(row(&b, "  a "), "9.00K?"), "not valid is '?': '%s'", row(&b, "  a "));
	check(has(&b, "? mem rd, mem wr: estimates are not valid now"), "... and why");
	put_file("worth", "sys/kernel/memio/source", "none\n");
	put_group("worth", "", 18000);
	put_group("worth", "/a", 18000);
	sample(&b);
	check(strstr(row(&b, "  a "), "9.00K<"), "without counters it is a bound: '%s'",
	      row(&b, "  a "));
	check(has(&b, "< mem rd, mem wr: there are no counters"), "... and why");
	put_file("worth", "sys/kernel/memio/source", "hsx\n");
	put_file("worth", "sys/kernel/memio/valid", "1\n");
	put_group("worth", "", 28000);
	put_file("worth", CG "/a/memio.stat",
		 "0000:00:03.0 io_to=0 io_from=28000 mem_read=0 mem_write=28000 unpriced=5000\n"
		 "total io_to=0 io_from=28000 mem_read=0 mem_write=28000 unpriced=5000\n");
	sample(&b);
	check(strstr(row(&b, "  a "), "K<"), "bytes without a price: '%s'", row(&b, "  a "));
	check(strstr(row(&b, "  a "), " - "), "CPUs that are not counted: '%s'", row(&b, "  a "));
	check(has(&b, "no price"), "... and why");
	put_file("worth", CG "/memio.stat", "total io_to=0 io_from=1 mem_read=0 mem_write=1\n");
	put_file("worth", CG "/memio.state", "cpu held\nio held\ntotal held\n");
	sample(&b);
	check(has(&b, "- cpus: memio.state says cpu held"),
	      "a state is told as the kernel says it");
	put_file("worth", CG "/cgroup.subtree_control", "cpu\n");
	sample(&b);
	check(has(&b, "! groups: no group below the root has the controller"),
	      "groups without the controller");
	end(&b);
}

static void stops(void)
{
	struct bench b;
	char word[32];

	put_machine("stops");
	put_group("stops", "/a", 0);
	put_group("stops", "/a/b", 0);
	put_file("stops", CG "/a/b/memio.limit", "total bps=200000000\nio rbps=1 wbps=2\n");
	put_file("stops", CG "/a/memio.limit", "io wbps=50000000\n");
	begin(&b, "stops");
	sample(&b);
	sample(&b);
	view_limit(group_of(&b, "/a/b"), word, sizeof(word));
	check(!strcmp(word, "200M+"), "a limit, and others: %s", word);
	view_limit(group_of(&b, "/a"), word, sizeof(word));
	check(!strcmp(word, "io:w50.0M"), "a limit of a direction: %s", word);
	put_file("stops", CG "/memio.events", "throttled 3\nthrottled_usec 250000\n");
	put_file("stops", CG "/a/memio.events", "throttled 3\nthrottled_usec 250000\n");
	put_file("stops", CG "/a/memio.events.local", "throttled 0\nthrottled_usec 0\n");
	put_file("stops", CG "/a/b/memio.events", "throttled 3\nthrottled_usec 250000\n");
	put_file("stops", CG "/a/b/memio.events.local", "throttled 3\nthrottled_usec 250000\n");
	sample(&b);
	check(strstr(row(&b, "  b "), "25%"), "how much of the time it was stopped: '%s'",
	      row(&b, "  b "));
	check(group_of(&b, "/a")->stopped == 0, "... by its own limits");
	/* A long stop counts when it ends. */
	put_file("stops", CG "/memio.events", "throttled 4\nthrottled_usec 9250000\n");
	put_file("stops", CG "/a/memio.events", "throttled 4\nthrottled_usec 9250000\n");
	put_file("stops", CG "/a/b/memio.events", "throttled 4\nthrottled_usec 9250000\n");
	put_file("stops", CG "/a/b/memio.events.local", "throttled 4\nthrottled_usec 9250000\n");
	sample(&b);
	check(strstr(row(&b, "  b "), "100%"), "... which is never more than all: '%s'",
	      row(&b, "  b "));
	sample(&b);
	check(group_of(&b, "/a/b")->stopped == 0, "... and then no more");
	end(&b);
}

/* ---- text ---- */

static void number(double bytes, const char *wanted)
{
	char text[32];

	view_number(bytes, text, sizeof(text));
	check(!strcmp(text, wanted), "%.1f is '%s', wanted '%s'", bytes, text, wanted);
}

static void numbers(void)
{
	char text[16];

	number(0, "0");
	number(999.4, "999");
	number(999.6, "1.00K");
	number(1234, "1.23K");
	number(9994, "9.99K");
	number(9996, "10.0K");
	number(99949, "99.9K");
	number(99960, "100K");
	number(999499, "999K");
	number(999501, "1.00M");
	number(1e9, "1.00G");
	number(1e18, "1.00E");
	number(1e19, "1e+19");
	check(view_fit(text, sizeof(text), "abcdefghij", 5, true) == 5 && !strcmp(text, "abcd~"),
	      "what is too long is cut: '%s'", text);
	check(view_fit(text, sizeof(text), "abcde", 5, true) == 5 && !strcmp(text, "abcde"),
	      "what fits is not: '%s'", text);
	check(view_fit(text, sizeof(text), "", 5, true) == 0 && !*text, "nothing is nothing");
	check(column_of("mem wr") == COL_WRITE && column_of("from") == COL_FROM &&
	      column_of("history") == COLUMNS, "columns by name");
}

/* ---- another account ---- */

static void put_account(unsigned long long ns, unsigned long long bytes)
{
	put_file("beside", "account",
		 "name ledger\ntime_ns %llu\n"
		 "0000:00:03.0 io_to=0 io_from=%llu mem_read=7 mem_write=%llu\n"
		 "0000:00:09.0 io_to=0 io_from=0 mem_read=0 mem_write=0\n", ns, bytes, bytes);
}

static void beside(void)
{
	static char path[4200], command[4400];
	struct track *t;
	struct bench b;

	put_machine("beside");
	put_account(1000000000, 5000000);
	begin(&b, "beside");
	snprintf(path, sizeof(path), "%s/account", root_of("beside"));
	b.model.beside.path = path;
	sample(&b);
	check(!(store_find(b.model.store, TRACK_DEVICE, "0000:00:03.0", 0)->besides), "one reading of another account is no rate");
	put_group("beside", "", 3000000);
	put_account(3000000000, 9000000);
	sample(&b);
	check(has(&b, "ledger rd") && has(&b, "ledger wr"), "another account: titles have its "
		"name");
	check(strstr(row(&b, "0000:00:03.0"), "         0      2.00M "),
	      "... the devices stand below the groups, with rates over its own time");
	check(!has(&b, "0000:00:09.0"), "... a device that memio does not know is not made up");
	b.view.show = SHOW_DEVICES;
	check(strstr(row(&b, "0000:00:03.0"), "3.00M ") &&
	      strstr(row(&b, "0000:00:03.0"), " 2.00M "),
	      "... and so they do in the list of devices");
	check(strstr(strstr(draw(&b), "\ncpu "), "50%         -          - "),
	      "... what it does not tell of has no figure");
	t = store_find(b.model.store, TRACK_DEVICE, "0000:00:03.0", 0);
	check(t && t->besides == 15 && t->beside[FIG_FROM] == 2000000, "... with IO bytes, too");
	b.view.cols = 80;
	check(has(&b, "ledger wr"), "... on a narrow screen");
	sample(&b);
	check(t->besides == 15 && t->beside[FIG_FROM] == 2000000, "what has not changed keeps "
		"its rates");
	put_file("beside", "account", "name a\033[31mb\ntime_ns 4000000000\nnonsense\n= =\n");
	sample(&b);
	check(!t->besides && has(&b, "a rd"), "an account that says nothing has no figures, and "
		"no control of the screen");
	unlink(path);
	sample(&b);
	check(has(&b, "account: No such file"), "a file that is gone is said");
	snprintf(command, sizeof(command), "|printf 'name sum\\ntime_ns %%s\\n0000:00:03.0 "
			"mem_read=%%s\\n' $(cat '%s')", path);
	b.model.beside.path = command;
	put_file("beside", "account", "5000000000 1000000");
	sample(&b);
	put_file("beside", "account", "6000000000 5000000");
	sample(&b);
	check(has(&b, "sum rd") && t->besides == 1u << FIG_READ && t->beside[FIG_READ] == 4000000,
	      "a command prints it");
	b.model.beside.path = "|echo time_ns 7000000000; exit 3";
	sample(&b);
	check(has(&b, "exit 3: Input/output error"), "a command that fails is said");
	b.model.beside.path = NULL;
	end(&b);
}

static void wide_bounds(void)
{
	char *text, bounds[64];
	struct track *t;
	size_t length;
	struct bench b;
	FILE *f;

	put_machine("bounds");
	begin(&b, "bounds");
	sample(&b);
	b.view.show = SHOW_DEVICES;
	check(!has(&b, "worth"), "without bounds there is no column for them");
	put_file("bounds", CG "/memio.stat",
		 "0000:00:03.0 io_to=0 io_from=1000 mem_read=0 mem_write=1000 mem_read_min=0 "
		"mem_read_max=50 mem_write_min=900 mem_write_max=1050\n"
		 "total io_to=0 io_from=1000 mem_read=0 mem_write=1000 mem_read_min=0 "
		 "mem_read_max=0 mem_write_min=980 mem_write_max=1020\n");
	sample(&b);
	check(has(&b, "worth") && strstr(row(&b, "0000:00:03.0"), "+-10%"), "half of what lies "
		"between the bounds");
	check(strchr(row(&b, "0000:00:03.0"), '~'), "a figure whose bounds are far apart has a sign");
	put_file("bounds", CG "/memio.stat",
		 "0000:00:03.0 io_to=0 io_from=1000 mem_read=0 mem_write=1000 mem_read_min=0 "
		 "mem_read_max=3050 mem_write_min=900 mem_write_max=1050\n"
		 "total io_to=0 io_from=1000 mem_read=0 mem_write=1000 mem_read_min=0 "
		 "mem_read_max=0 mem_write_min=980 mem_write_max=1020\n");
	sample(&b);
	b.view.idle[SHOW_DEVICES] = true;
	check(strstr(row(&b, "0000:00:03.0"), " 0~ "), "a figure of 0 that can be more has it, too");
	check(!strchr(strchr(row(&b, "0000:00:03.0"), '~') + 1, '~') &&
	      !strstr(row(&b, "0000:00:03.0"), "+-"), "... and no other");
	f = open_memstream(&text, &length);
	check(print_csv(&b.view, &b.model, f) && print_json(&b.view, &b.model, f), "CSV and JSON");
	fclose(f);
	t = store_find(b.model.store, TRACK_DEVICE, "0000:00:03.0", 0);
	snprintf(bounds, sizeof(bounds), ",0,%.0f,0,0\n", t ? t->bound[BOUND_READ_MAX] : 0);
	check(strstr(text, "\"mem_read_max_bps\":") && strstr(text, bounds) &&
	      !strstr(bounds, ",0,0,"), "... have its bounds, %s", bounds);
	free(text);
	end(&b);
}

/* ---- the names of containers ---- */

#define ID	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LIST	"var/lib/containers/storage/vfs-containers/containers.json"

static const char *container(const char *id)
{
	static char name[64];
	char mount[4200], root[4096], group[128];

	snprintf(root, sizeof(root), "%.4000s", root_of("pods"));
	snprintf(mount, sizeof(mount), "%s/" CG, root);
	snprintf(group, sizeof(group), "/libpod-%s.scope", id);
	container_name(root, mount, group, name, sizeof(name));
	return name;
}

static void set_time(const char *file, time_t second)
{
	const struct timespec t[2] = { { .tv_sec = second }, { .tv_sec = second } };
	char path[8192];

	snprintf(path, sizeof(path), "%s/%s", root_of("pods"), file);
	if (utimensat(AT_FDCWD, path, t, 0))
		abort();
}

static void containers(void)
{
	static char blank[9 << 20];

	put_file("pods", CG "/libpod-" ID ".scope/memio.stat", "%s", "");
	put_file("pods", LIST, "[{\"id\": \"" ID "\", \"names\": [\"one\"]}]");
	set_time(LIST, 1000);
	check(!strcmp(container(ID), "one"), "a container has its name");
	put_file("pods", LIST, "[{\"id\": \"" ID "\", \"names\": [\"two\"]}]");
	set_time(LIST, 1000);
	check(!strcmp(container(ID), "one"), "... a list that has not changed is not read again");
	set_time(LIST, 1001);
	check(!strcmp(container(ID), "two"), "... one that has, is");
	put_file("pods", LIST, "[");
	check(!*container(ID), "... a damaged one has no names");
	memset(blank, ' ', sizeof(blank) - 1);
	put_file("pods", LIST, "%s[{\"id\": \"" ID "\", \"names\": [\"two\"]}]", blank);
	check(!*container(ID), "... nor has one of more than 8 MiB");
	put_file("pods", LIST, "%.*s[{\"id\": \"" ID "\", \"names\": [\"two\"]}]", 7 << 20, blank);
	check(!strcmp(container(ID), "two"), "... one of 7 MiB has them");
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	here = argv[1];
	place = argv[2];
	write_golden = argc > 3;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 2;
	numbers();
	hostile();
	sizes();
	many();
	unread();
	changes();
	twice();
	folding();
	worth();
	stops();
	beside();
	wide_bounds();
	containers();
	recording();
	/* For ci/tests/tools-top, which shows them by the program */
	unpack_recording("podman");
	unpack_recording("systemd");
	return failed > 0;
}

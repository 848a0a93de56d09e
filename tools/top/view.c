// SPDX-License-Identifier: GPL-2.0
/*
 * memio top: the view, see view.h
 *
 * Names of groups and tasks are others' to choose. view_fit() is the one door that they come
 * through, so that none can move the cursor, or pretend to be another row.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "view.h"
#include "wide.h"

#define NAME_LEAST	18		/* columns that a name has at least */
#define NAME_MOST	120		/* ... and at most, where the width is not bounded */
#define TEXT_MOST	1024
#define BATCH_VISIBLE	100	/* rows of a table without bound that count as visible */

/*
 * The columns behind the name. Where a terminal is narrow, the columns with the largest @last
 * go first.
 */
static const struct column_row {
	const char *name, *title;
	unsigned int width, last;
} columns[COLUMNS] = {
	[COL_NAME]	= { "name",	"",		0, 0 },
	[COL_TO]	= { "to",	"to dev",	8, 1 },
	[COL_FROM]	= { "from",	"from dev",	9, 1 },
	[COL_READ]	= { "read",	"mem rd",	8, 1 },
	[COL_WRITE]	= { "write",	"mem wr",	8, 1 },
	[COL_CPU]	= { "cpus",	"cpus",		7, 4 },
	[COL_SHARE]	= { "share",	"share",	6, 3 },
	[COL_LIMIT]	= { "limit",	"limit",	12, 5 },
	[COL_STOPPED]	= { "stopped",	"stopped",	8, 2 },
	[COL_WORTH]	= { "worth",	"worth",	8, 3 },
	[COL_BESIDE_READ] = { "",	" rd",		11, 1 },
	[COL_BESIDE_WRITE] = { "",	" wr",		11, 1 },
	[COL_HISTORY]	= { "history",	"history",	10, 6 },
};

static const char *const show_names[SHOWS] = { "groups", "tasks", "devices" };

const char *show_name(enum show show)
{
	return show_names[show];
}

enum column column_of(const char *name)
{
	int i;

	for (i = 0; i <= COL_STOPPED; i++)
		if (!strcmp(name, columns[i].name) || !strcmp(name, columns[i].title))
			return i;
	return COLUMNS;
}

void view_init(struct view *v)
{
	memset(v, 0, sizeof(*v));
	v->sort = COL_SHARE;
	v->idle[SHOW_GROUPS] = v->idle[SHOW_DEVICES] = true;
	v->interval_ms = 1000;
	v->command = "top";
}

void view_free(struct view *v)
{
	free(v->list.track);
	memset(v, 0, sizeof(*v));
}

void screen_free(struct screen *s)
{
	size_t i;

	for (i = 0; i < s->room; i++)
		free(s->line[i].text);
	free(s->line);
	memset(s, 0, sizeof(*s));
}

/* ---- text ---- */

unsigned int view_fit(char *to, size_t size, const char *text, unsigned int cols, bool ascii)
{
	const char *end = text + strlen(text), *cut = ascii ? "~" : "\u2026";
	size_t used = 0, back = 0;
	unsigned int wide = 0, back_wide = 0;
	mbstate_t state;

	memset(&state, 0, sizeof(state));
	if (size)
		*to = '\0';
	if (!cols)
		return 0;
	while (text < end) {
		const char *from = text;
		wchar_t c = *text;
		size_t n = 1;
		int w = 1;

		/* Most names are plain. */
		if (c < ' ' || c > '~')
			n = mbrtowc(&c, text, end - text, &state);
		if (n == 0 || n > (size_t)(end - text)) {
			memset(&state, 0, sizeof(state));
			n = 1;
			c = L'?';
			from = "?";
		}
		if (n > 1 || c < ' ' || c > '~')
			w = wcwidth(c);
		if (w < 1 || (ascii && c > 0x7e)) {
			from = "?";
			w = 1;
		}
		if (used + n + sizeof("\u2026") > size)
			break;
		if (wide + w > cols) {
			/* The sign of the cut takes one column. */
			used = back;
			wide = back_wide;
			memcpy(to + used, cut, strlen(cut) + 1);
			used += strlen(cut);
			wide++;
			break;
		}
		memcpy(to + used, from, *from == '?' ? 1 : n);
		used += *from == '?' ? 1 : n;
		wide += w;
		text += n;
		if (wide + 1 <= cols) {
			back = used;
			back_wide = wide;
		}
	}
	to[used] = '\0';
	return wide;
}

/* By integers, as a sample of 500 groups has 2,500 numbers */
void view_number(double bytes, char *text, size_t size)
{
	static const char units[] = " KMGTPE";
	uint64_t n, one = 1;
	char digits[24], *at = digits + sizeof(digits);
	int unit = 0, places;

	if (size < sizeof(digits) || !(bytes < 1e19)) {
		snprintf(text, size, "%.3g", bytes);
		return;
	}
	while (bytes >= 999.5 * one && units[unit + 1]) {
		one *= 1000;
		unit++;
	}
	bytes /= one;
	places = !unit || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
	n = bytes * (places == 2 ? 100 : places == 1 ? 10 : 1) + 0.5;
	*--at = '\0';
	if (unit)
		*--at = units[unit];
	do {
		*--at = '0' + n % 10;
		n /= 10;
		if (places && !--places) {
			*--at = '.';
			places = 0;
		}
	} while (n || *at == '.' || places);
	stpcpy(text, at);
}

static void set_look(struct screen_line *l, enum look look)
{
	if (l->spans && l->span[l->spans - 1].look == look)
		return;
	if (l->spans && l->span[l->spans - 1].at == l->bytes)
		l->spans--;
	if (l->spans == SPANS_MOST)
		return;
	l->span[l->spans++] = (struct span) { l->bytes, look };
}

static void append(struct screen_line *l, const char *text, size_t n, unsigned int cols)
{
	if (l->bytes + n + 1 > l->room) {
		const size_t room = 2 * (l->bytes + n + 64);
		char *more = realloc(l->text, room);

		if (!more)
			return;
		l->text = more;
		l->room = room;
	}
	memcpy(l->text + l->bytes, text, n);
	l->bytes += n;
	l->text[l->bytes] = '\0';
	l->cols += cols;
}

static struct screen_line *new_line(struct screen *s)
{
	struct screen_line *l;

	if (s->n == s->room) {
		const size_t room = s->room ? 2 * s->room : 64;

		l = realloc(s->line, room * sizeof(*l));
		if (!l)
			return NULL;
		memset(l + s->room, 0, (room - s->room) * sizeof(*l));
		s->line = l;
		s->room = room;
	}
	l = &s->line[s->n++];
	l->bytes = l->cols = l->spans = 0;
	append(l, "", 0, 0);
	return l;
}

static unsigned int width_of(const struct view *v)
{
	return v->cols ? v->cols : TEXT_MOST / 4;
}

static void put(struct view *v, struct screen_line *l, enum look look, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Text of the program's own, and numbers */
static void put(struct view *v, struct screen_line *l, enum look look, const char *format, ...)
{
	char text[TEXT_MOST], fitted[TEXT_MOST];
	unsigned int cols, left = width_of(v);
	va_list args;

	if (!l || l->cols >= left)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cols = view_fit(fitted, sizeof(fitted), text, left - l->cols, v->ascii);
	set_look(l, look);
	append(l, fitted, strlen(fitted), cols);
}

static void pad(struct screen_line *l, unsigned int cols)
{
	static const char blanks[] = "                                ";

	while (l && l->cols < cols) {
		const unsigned int n = cols - l->cols < sizeof(blanks) - 1 ? cols - l->cols :
				       sizeof(blanks) - 1;

		append(l, blanks, n, n);
	}
}

/* Right-aligned in @width; ASCII of the program's own */
static void put_right(struct view *v, struct screen_line *l, enum look look, unsigned int width,
		      const char *text)
{
	const unsigned int most = width_of(v);
	unsigned int n = strlen(text);

	if (!l || l->cols >= most)
		return;
	set_look(l, look);
	if (width > n)
		pad(l, l->cols + width - n < most ? l->cols + width - n : most);
	n = n < most - l->cols ? n : most - l->cols;
	append(l, text, n, n);
}

/* ---- names ---- */

static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void view_name(const struct view *v, const struct track *t, char *name, size_t size)
{
	char text[5000];

	switch (t->kind) {
	case TRACK_TASK:
		snprintf(text, sizeof(text), "%d %s", t->pid, t->info->comm);
		break;
	case TRACK_DEVICE:
		snprintf(text, sizeof(text), "%s", *t->label ? t->label : t->name);
		break;
	default:
		snprintf(text, sizeof(text), "%s", t->name);
		break;
	}
	view_fit(name, size, text, size, v->ascii);
}

static bool contains(const char *text, const char *part)
{
	return strcasestr(text, part);
}

static bool matches(const struct view *v, const struct track *t)
{
	char pid[16];

	if (!*v->filter)
		return true;
	switch (t->kind) {
	case TRACK_TASK:
		snprintf(pid, sizeof(pid), "%d", t->pid);
		return contains(t->info->comm, v->filter) || !strcmp(pid, v->filter) ||
		       contains(t->group->name, v->filter);
	case TRACK_DEVICE:
		return contains(t->name, v->filter) || contains(t->label, v->filter);
	default:
		return contains(t->name, v->filter) || contains(t->label, v->filter);
	}
}

void view_limit(const struct track *t, char *word, size_t size)
{
	static const struct {
		const char *key, *brief;
	} keys[] = {
		{ "total", "" }, { "io", "io:" }, { "cpu", "cpu:" }, { "default", "def:" },
	};
	static const char ways[MEMIO_WAYS][2] = { "", "r", "w" };
	const struct memio_limit *l = NULL;
	const char *brief = "dev:";
	char number[24];
	int way, set = 0;
	size_t i;

	*word = '\0';
	for (i = 0; i < sizeof(keys) / sizeof(*keys) && !l; i++) {
		l = memio_limits_find(&t->limits, keys[i].key);
		brief = l ? keys[i].brief : brief;
	}
	if (!l && t->limits.n)
		l = &t->limits.limit[0];
	if (!l)
		return;
	for (way = 0; way < MEMIO_WAYS; way++) {
		if (l->rate[way] >= MEMIO_RATE_KEEP)
			continue;
		if (!set++) {
			view_number(l->rate[way], number, sizeof(number));
			snprintf(word, size, "%s%s%s", brief, ways[way], number);
		}
	}
	/* There are others. */
	if (*word && (set > 1 || t->limits.n > 1) && strlen(word) + 1 < size)
		stpcpy(word + strlen(word), "+");
}

/* ---- the rows ---- */

static double limit_of(const struct track *t)
{
	double least = 0;
	size_t i;
	int way;

	for (i = 0; i < t->limits.n; i++)
		for (way = 0; way < MEMIO_WAYS; way++)
			if (t->limits.limit[i].rate[way] < MEMIO_RATE_KEEP &&
			    (!least || t->limits.limit[i].rate[way] < least))
				least = t->limits.limit[i].rate[way];
	return least;
}

static double value_of(const struct track *t, enum column column)
{
	switch (column) {
	case COL_TO ... COL_CPU:
		return t->rate[column - COL_TO];
	case COL_SHARE:
		return track_share(t);
	case COL_LIMIT:
		return limit_of(t);
	case COL_STOPPED:
		return t->stopped;
	default:
		return 0;
	}
}

static int by_names(const struct track *a, const struct track *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == TRACK_TASK)
		return strcmp(a->info->comm, b->info->comm) ?:
		       a->pid < b->pid ? -1 : a->pid > b->pid;
	return strcmp(a->name, b->name);
}

/* qsort() hands nothing on. */
static enum column sort_by;
static bool sort_back;

static int compare(const void *x, const void *y)
{
	const struct track *a = *(struct track *const *)x, *b = *(struct track *const *)y;
	const double l = value_of(a, sort_by), r = value_of(b, sort_by);
	int order = l > r ? -1 : l < r;

	if (!order && sort_by != COL_NAME) {
		const double li = a->rate[FIG_TO] + a->rate[FIG_FROM];
		const double ri = b->rate[FIG_TO] + b->rate[FIG_FROM];

		order = li > ri ? -1 : li < ri;
	}
	if (sort_back)
		order = -order;
	if (order)
		return order;
	return sort_by == COL_NAME && sort_back ? -by_names(a, b) : by_names(a, b);
}

static int push(struct tracks *list, struct track *t)
{
	if (list->n == list->room) {
		const size_t room = list->room ? 2 * list->room : 64;
		struct track **more = realloc(list->track, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->track = more;
		list->room = room;
	}
	list->track[list->n++] = t;
	return 0;
}

static bool is_idle(const struct track *t)
{
	return t->figures && !t->moved && !t->stopped;
}

/* Groups whose own name matches, or that lead to a row which does */
static void mark_matches(const struct view *v, const struct model *o)
{
	size_t i;

	for (i = 0; i < o->group.n; i++) {
		struct track *g = o->group.track[i];

		g->first = NULL;
		g->match = matches(v, g) && (v->idle[v->show] || !is_idle(g));
	}
	for (i = 0; i < o->task.n; i++) {
		struct track *t = o->task.track[i];

		t->match = matches(v, t) && (v->idle[v->show] || !is_idle(t));
		if (t->match && t->group->open)
			t->group->match = true;
	}
	/* Children stand behind their parents. */
	for (i = o->group.n; i-- > 1;) {
		struct track *g = o->group.track[i];

		if (g->match && g->parent)
			g->parent->match = true;
	}
}

/* Each track of @list that matches is a child of its parent; the last of the list is first. */
static void link_children(const struct model *o)
{
	size_t i;

	for (i = o->group.n; i-- > 0;) {
		struct track *g = o->group.track[i];

		if (g->match && i && g->parent) {
			g->next = g->parent->first;
			g->parent->first = g;
		}
	}
	for (i = o->task.n; i-- > 0;) {
		struct track *t = o->task.track[i];

		if (t->match && t->group->open) {
			t->next = t->group->first;
			t->group->first = t;
		}
	}
}

static int add_below(struct view *v, struct track *g)
{
	struct track **children, *t;
	size_t n = 0, i;
	int err;

	for (t = g->first; t; t = t->next)
		n++;
	children = malloc((n + 1) * sizeof(*children));
	if (!children)
		return -ENOMEM;
	for (n = 0, t = g->first; t; t = t->next)
		children[n++] = t;
	qsort(children, n, sizeof(*children), compare);
	err = push(&v->list, g);
	for (i = 0; i < n && !err; i++) {
		t = children[i];
		if (t->kind == TRACK_TASK)
			err = push(&v->list, t);
		/* What the user looks for is shown, whatever is folded. */
		else if (!g->folded || *v->filter)
			err = add_below(v, t);
	}
	free(children);
	return err;
}

static int list_groups(struct view *v, const struct model *o)
{
	mark_matches(v, o);
	link_children(o);
	if (!o->group.n)
		return 0;
	return add_below(v, o->group.track[0]);
}

static int list_flat(struct view *v, const struct tracks *from)
{
	size_t i;

	for (i = 0; i < from->n; i++) {
		struct track *t = from->track[i];

		if (matches(v, t) && (v->idle[v->show] || !is_idle(t)) && push(&v->list, t))
			return -ENOMEM;
	}
	qsort(v->list.track, v->list.n, sizeof(*v->list.track), compare);
	return 0;
}

int view_list(struct view *v, const struct model *o)
{
	v->list.n = 0;
	sort_by = v->sort;
	sort_back = v->reverse;
	switch (v->show) {
	case SHOW_TASKS:
		return list_flat(v, &o->task);
	case SHOW_DEVICES:
		return list_flat(v, &o->device);
	default:
		return list_groups(v, o);
	}
}

/* The chosen row keeps its track; if that is gone, it keeps its place. */
static void choose(struct view *v)
{
	size_t i;

	if (!v->list.n) {
		v->chosen_at = 0;
		return;
	}
	for (i = 0; i < v->list.n; i++) {
		if (v->list.track[i]->serial == v->chosen) {
			v->chosen_at = i;
			return;
		}
	}
	if (v->chosen_at >= v->list.n)
		v->chosen_at = v->list.n - 1;
	v->chosen = v->list.track[v->chosen_at]->serial;
}

static void choose_at(struct view *v, size_t at)
{
	if (!v->list.n)
		return;
	v->chosen_at = at < v->list.n ? at : v->list.n - 1;
	v->chosen = v->list.track[v->chosen_at]->serial;
}

static void scroll(struct view *v)
{
	if (v->chosen_at < v->top)
		v->top = v->chosen_at;
	if (v->page && v->chosen_at >= v->top + v->page)
		v->top = v->chosen_at - v->page + 1;
	if (v->top && v->top + v->page > v->list.n)
		v->top = v->list.n > v->page ? v->list.n - v->page : 0;
}

/* ---- columns ---- */

/* Which columns fit: bits; *@name becomes the width of the name */
static unsigned int columns_that_fit(const struct view *v, const struct model *o,
				     unsigned int *name)
{
	unsigned int set = (1u << COLUMNS) - 2, width = 0, i, last, worst;

	if (v->show == SHOW_DEVICES)
		set &= ~(1u << COL_LIMIT | 1u << COL_STOPPED);
	if (v->show == SHOW_TASKS)
		set &= ~(1u << COL_LIMIT);
	if (v->show != SHOW_DEVICES || !o->has_bounds)
		set &= ~(1u << COL_WORTH);
	if (v->show != SHOW_DEVICES || !o->beside.path)
		set &= ~(1u << COL_BESIDE_READ | 1u << COL_BESIDE_WRITE);
	for (i = 1; i < COLUMNS; i++)
		width += set & 1u << i ? columns[i].width : 0;
	while (v->cols && width + NAME_LEAST > v->cols) {
		for (i = 1, last = 0, worst = 0; i < COLUMNS; i++) {
			if (!(set & 1u << i) || columns[i].last < last)
				continue;
			last = columns[i].last;
			worst = i;
		}
		if (!worst)
			break;
		set &= ~(1u << worst);
		width -= columns[worst].width;
	}
	*name = v->cols ? v->cols - width : 0;
	return set;
}

static unsigned int row_name_text(const struct view *v, const struct track *t, char *text,
				  size_t size)
{
	const char *mark = "  ", *name;
	unsigned int depth = 0;
	size_t length;

	switch (t->kind) {
	case TRACK_TASK:
		if (v->show == SHOW_TASKS) {
			snprintf(text, size, "%7d %-15s %s", t->pid, t->info->comm,
				 *t->group->label ? t->group->label : last_of(t->group->name));
			return 0;
		}
		snprintf(text, size, "%d %s", t->pid, t->info->comm);
		return 2 * (t->group->depth + 2);
	case TRACK_DEVICE:
		if (*t->label && strcmp(t->label, t->name))
			snprintf(text, size, "%s  %s", t->label, t->name);
		else
			snprintf(text, size, "%s", t->name);
		return 0;
	default:
		if (t->first && (!t->folded || *v->filter))
			mark = v->ascii ? "- " : "\u25be ";
		else if (t->folded)
			mark = v->ascii ? "+ " : "\u25b8 ";
		depth = t->depth;
		name = *t->label ? t->label : depth ? last_of(t->name) : t->name;
		length = strlen(name);
		if (length > size - 8)
			length = size - 8;
		memcpy(stpcpy(text, mark), name, length);
		text[strlen(mark) + length] = '\0';
		return 2 * depth;
	}
}

static void put_name(struct view *v, struct screen_line *l, const struct track *t,
		     enum look look, unsigned int width)
{
	char text[5000], fitted[TEXT_MOST];
	unsigned int indent = row_name_text(v, t, text, sizeof(text)), cols;

	if (indent > width / 2)
		indent = width / 2;
	set_look(l, look);
	pad(l, indent);
	cols = view_fit(fitted, sizeof(fitted), text, width - indent, v->ascii);
	append(l, fitted, strlen(fitted), cols);
	pad(l, width);
}

static const char *const blocks[] = {
	" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588",
};

static const char *const signs[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };

/* How high, of @levels, a value of a history is: 0 is nothing, and anything else is at least 1 */
static unsigned int level_of(double value, double most, unsigned int levels)
{
	unsigned int level;

	if (value <= 0 || most <= 0)
		return 0;
	level = value / most * levels + 0.5;
	return level < 1 ? 1 : level > levels ? levels : level;
}

static double most_of(const struct track *t, unsigned int n)
{
	double most = 0, value;
	unsigned int i;

	for (i = 0; i < n; i++) {
		value = track_history(t, i);
		if (value > most)
			most = value;
	}
	return most;
}

static void put_history(struct view *v, struct screen_line *l, const struct track *t,
			unsigned int n, enum look look)
{
	const double most = most_of(t, n);

	set_look(l, look);
	while (n--) {
		const double value = track_history(t, n);
		const unsigned int level = level_of(value, most, 8);
		const char *c = v->ascii ? signs[level] : blocks[level];

		append(l, c, strlen(c), 1);
	}
}

static const char *worth_mark(const struct track *t, enum figure f)
{
	const enum worth worth = t->worth;

	if (worth == WORTH_OK && t->bounded && (f == FIG_READ || f == FIG_WRITE)) {
		const int b = f == FIG_READ ? BOUND_READ_MIN : BOUND_WRITE_MIN;

		return bounds_wide(t->rate[f], t->bound[b], t->bound[b + 1]) ? "~" : " ";
	}
	/* Where nothing moved, there is nothing to price. */
	if (t->rate[f] <= 0)
		return " ";
	return worth == WORTH_BOUND ? "<" : worth == WORTH_INVALID ? "?" : " ";
}

static void put_figure(struct view *v, struct screen_line *l, const struct track *t,
		       enum column column, enum look look)
{
	const enum figure f = column - COL_TO;
	const unsigned int width = columns[column].width;
	const bool memory = f >= FIG_READ;
	char text[40];

	if (!(t->figures & 1u << f)) {
		/* Lines of CPUs have no IO; and before the second sample nothing has a rate. */
		put_right(v, l, look == LOOK_CHOSEN ? look : LOOK_DIM, width, "- ");
		return;
	}
	view_number(t->rate[f], text, sizeof(text) - 2);
	stpcpy(text + strlen(text), memory ? worth_mark(t, f) : " ");
	if (look == LOOK_PLAIN && t->rate[f] <= 0)
		look = LOOK_DIM;
	if (look == LOOK_PLAIN && memory && t->worth != WORTH_OK && t->rate[f] > 0)
		look = LOOK_WARN;
	put_right(v, l, look, width, text);
}

static void put_percent(double part, char text[32])
{
	view_number(100 * part, text, 31);
	stpcpy(text + strlen(text), "%");
}

static void put_beside(struct view *v, struct screen_line *l, const struct track *t,
		       enum figure f, enum look look)
{
	const unsigned int width = columns[COL_BESIDE_READ].width;
	char text[40];

	if (!(t->besides & 1u << f)) {
		put_right(v, l, look == LOOK_CHOSEN ? look : LOOK_DIM, width, "- ");
		return;
	}
	view_number(t->beside[f], text, sizeof(text) - 2);
	stpcpy(text + strlen(text), " ");
	put_right(v, l, look == LOOK_PLAIN && t->beside[f] <= 0 ? LOOK_DIM : look, width, text);
}

static void put_cell(struct view *v, struct screen_line *l, const struct track *t,
		     enum column column, enum look look)
{
	const unsigned int width = columns[column].width;
	char text[32], percent[32];

	switch (column) {
	case COL_TO ... COL_CPU:
		put_figure(v, l, t, column, look);
		return;
	case COL_SHARE:
		if (!(t->figures & SHARE_FIGURES))
			snprintf(text, sizeof(text), "-");
		else
			put_percent(t->share, text);
		if (look == LOOK_PLAIN && t->share < 0.005)
			look = LOOK_DIM;
		break;
	case COL_LIMIT:
		*text = '\0';
		if (t->kind == TRACK_GROUP)
			view_limit(t, text, sizeof(text));
		break;
	case COL_STOPPED:
		*text = '\0';
		if (t->kind == TRACK_TASK && t->stopped > 0)
			snprintf(text, sizeof(text), "now");
		else if (t->kind == TRACK_GROUP && t->stopped > 0)
			put_percent(t->stopped, text);
		if (look == LOOK_PLAIN && t->stopped > 0)
			look = LOOK_WARN;
		break;
	case COL_WORTH:
		*text = '\0';
		if (t->half >= 0) {
			put_percent(t->half, percent);
			snprintf(text, sizeof(text), "+-%.24s", percent);
		}
		break;
	case COL_BESIDE_READ:
	case COL_BESIDE_WRITE:
		put_beside(v, l, t, column == COL_BESIDE_READ ? FIG_READ : FIG_WRITE, look);
		return;
	default:
		set_look(l, look);
		pad(l, l->cols + 2);
		put_history(v, l, t, width - 2, look == LOOK_PLAIN ? LOOK_CURVE : look);
		return;
	}
	put_right(v, l, look, width, text);
}

static void draw_row(struct view *v, struct screen *s, const struct track *t,
		     unsigned int set, unsigned int name, bool chosen)
{
	struct screen_line *l = new_line(s);
	enum look look = chosen ? LOOK_CHOSEN : LOOK_PLAIN;
	const bool root = t->kind == TRACK_GROUP && !t->depth;
	int i;

	if (!l)
		return;
	put_name(v, l, t, root && !chosen ? LOOK_BOLD : look, name);
	for (i = 1; i < COLUMNS; i++)
		if (set & 1u << i)
			put_cell(v, l, t, i, look);
}

static void draw_titles(struct view *v, const struct model *o, struct screen *s, unsigned int set,
			unsigned int name)
{
	static const char *const what[SHOWS] = { "group", "    PID task", "device" };
	struct screen_line *l = new_line(s);
	char title[32];
	int i;

	if (!l)
		return;
	put(v, l, LOOK_TITLE, "%s%s", what[v->show],
	    v->sort == COL_NAME ? v->ascii ? " v" : " \u2193" : "");
	if (l->cols < name)
		pad(l, name);
	for (i = 1; i < COLUMNS; i++) {
		if (!(set & 1u << i))
			continue;
		if (i == COL_HISTORY) {
			put(v, l, LOOK_TITLE, "  %-*s", columns[i].width - 2, columns[i].title);
			continue;
		}
		if (i == COL_BESIDE_READ || i == COL_BESIDE_WRITE)
			snprintf(title, sizeof(title), "%.*s%s ", 6, o->beside.name,
				 columns[i].title);
		else
			snprintf(title, sizeof(title), "%s%s", columns[i].title,
				 i <= COL_CPU ? " " : "");
		/* The column that is sorted by is marked in place of a space. */
		put_right(v, l, (int)v->sort == i ? LOOK_CHOSEN : LOOK_TITLE, columns[i].width,
			  title);
	}
}

/* ---- the head and the foot ---- */

static void draw_head(struct view *v, const struct model *o, struct screen *s)
{
	struct screen_line *l = new_line(s);
	char by[32];

	put(v, l, LOOK_BOLD, "memio %s", v->command);
	put(v, l, LOOK_PLAIN, "  %s", show_names[v->show]);
	snprintf(by, sizeof(by), "%s%s", v->sort == COL_NAME ? "name" : columns[v->sort].title,
		 v->reverse ? ", reversed" : "");
	put(v, l, LOOK_PLAIN, ", by %s", by);
	if (*v->filter || v->typing)
		put(v, l, LOOK_BOLD, ", with '%s%s'", v->filter, v->typing ? "_" : "");
	if (!v->idle[v->show])
		put(v, l, LOOK_PLAIN, ", busy only");
	if (*v->when)
		put(v, l, LOOK_BOLD, "  %s", v->when);
	if (v->paused)
		put(v, l, LOOK_WARN, "  PAUSED");
	if (v->ended)
		put(v, l, LOOK_WARN, "  END OF THE RECORDING");
	l = new_line(s);
	if (o->samples < 2)
		put(v, l, LOOK_DIM, "rates come with the second sample");
	else
		put(v, l, LOOK_DIM, "bytes per second, over %.1f s", o->interval_ns / 1e9);
	if (*o->source)
		put(v, l, LOOK_DIM, "; counters %s, estimator %s", o->source, o->estimator);
	if (*o->state)
		put(v, l, LOOK_DIM, ", %s", o->state);
	else if (*o->source && strcmp(o->source, "none"))
		put(v, l, o->worth == WORTH_OK ? LOOK_DIM : LOOK_WARN, ", %s",
		    o->worth == WORTH_OK ? "valid" : "not valid");
}

/* Words of @text, in lines of at most the screen's width, each behind @indent columns */
static void draw_wrapped(struct view *v, struct screen *s, const char *head, const char *text,
			 enum look look)
{
	const unsigned int cols = v->cols ? v->cols : 100;
	struct screen_line *l = new_line(s);

	if (!l)
		return;
	put(v, l, look, "%s", head);
	while (*text) {
		const int n = strcspn(text, " ");

		if (l->cols + 1 + n > cols && l->cols > 4) {
			l = new_line(s);
			if (!l)
				return;
			put(v, l, look, "   ");
		}
		put(v, l, look, " %.*s", n, text);
		text += n;
		text += strspn(text, " ");
	}
}

static void draw_notes(struct view *v, const struct model *o, struct screen *s)
{
	char head[64];
	size_t i;

	for (i = 0; i < o->notes; i++) {
		const struct note *n = &o->note[i];

		if (n->mark)
			snprintf(head, sizeof(head), "%c %s:", n->mark, n->about);
		else
			snprintf(head, sizeof(head), "! %s:", n->about);
		draw_wrapped(v, s, head, n->why, LOOK_WARN);
	}
}

static void draw_keys(struct view *v, struct screen *s)
{
	struct screen_line *l = new_line(s);

	if (v->prompt)
		put(v, l, LOOK_TITLE, "%s: %s_", v->prompt, v->answer);
	else if (v->typing)
		put(v, l, LOOK_TITLE, "type a part of the name; Enter keeps it, Esc shows all");
	else if (v->looked)
		put(v, l, LOOK_TITLE, "Esc back  p pause  ? help  q quit");
	else
		put(v, l, LOOK_TITLE, "%s", v->keys_text ?:
		    "? help  g groups  t tasks  d devices  < > sort  / filter  p pause  Enter look  q quit");
	if (l)
		pad(l, width_of(v));
}

/* ---- one alone ---- */

static const struct track *track_of(const struct model *o, uint64_t serial)
{
	const struct tracks *lists[] = { &o->group, &o->task, &o->device };
	size_t i, j;

	for (i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		for (j = 0; j < lists[i]->n; j++)
			if (lists[i]->track[j]->serial == serial)
				return lists[i]->track[j];
	return NULL;
}

static const char *label_of(const struct model *o, const char *key)
{
	size_t i;

	for (i = 0; i < o->device.n; i++)
		if (!strcmp(o->device.track[i]->name, key) && *o->device.track[i]->label)
			return o->device.track[i]->label;
	return key;
}

#define CURVE_ROWS	5

/* A history that is several lines high */
static void draw_curve(struct view *v, struct screen *s, const struct track *t)
{
	const unsigned int scale = 8;
	unsigned int n = v->cols ? v->cols : 80, row, i;
	double most;
	char number[24];

	n = n > scale ? n - scale : 0;
	if (n > HISTORY)
		n = HISTORY;
	most = most_of(t, n);
	for (row = CURVE_ROWS; row-- > 0;) {
		struct screen_line *l = new_line(s);

		if (!l)
			return;
		view_number(most * (row + 1) / CURVE_ROWS, number, sizeof(number));
		put_right(v, l, LOOK_DIM, scale - 1, most > 0 ? number : "0");
		put(v, l, LOOK_DIM, " ");
		set_look(l, LOOK_CURVE);
		for (i = n; i-- > 0;) {
			const unsigned int level = level_of(track_history(t, i), most,
							    8 * CURVE_ROWS);
			const unsigned int part = level > 8 * row ? level - 8 * row : 0;
			const char *c = v->ascii ? signs[part > 8 ? 8 : part] :
						   blocks[part > 8 ? 8 : part];

			append(l, c, strlen(c), 1);
		}
	}
	put(v, new_line(s), LOOK_DIM,
	    "%*smemory read and written, bytes per second, the last %u samples", scale, "", n);
}

/* The change of a line since the sample before, as a rate, and its sum */
static void draw_lines(struct view *v, const struct model *o, struct screen *s,
		       const struct track *t)
{
	static const enum memio_field fields[] = {
		MEMIO_IO_TO, MEMIO_IO_FROM, MEMIO_MEM_READ, MEMIO_MEM_WRITE,
	};
	struct memio_stat diff = { 0 };
	struct screen_line *l = new_line(s);
	const unsigned int name = 22;
	char number[24];
	size_t i, f;

	put(v, l, LOOK_TITLE, "%-*s%9s%9s%9s%9s   %9s%9s%9s%9s", name, "per second, and sums",
	    "to dev", "from dev", "mem rd", "mem wr", "to dev", "from dev", "mem rd", "mem wr");
	if (memio_stat_diff(t->still ? &t->now : &t->then, &t->now, &diff))
		return;
	for (i = 0; i < t->now.n; i++) {
		const struct memio_line *now = &t->now.line[i];
		const struct memio_line *moved = i < diff.n ? &diff.line[i] : now;
		const uint64_t ns = o->interval_ns;

		l = new_line(s);
		put(v, l, LOOK_PLAIN, "%-*s", name, label_of(o, now->key));
		for (f = 0; f < 4; f++) {
			if (o->samples < 2 || !memio_has(now, fields[f]))
				snprintf(number, sizeof(number), "-");
			else
				view_number(memio_rate(memio_get(moved, fields[f]), ns), number,
					    sizeof(number));
			put_right(v, l, LOOK_PLAIN, 9, number);
		}
		put(v, l, LOOK_PLAIN, "   ");
		for (f = 0; f < 4; f++) {
			if (memio_has(now, fields[f]))
				view_number(memio_get(now, fields[f]), number, sizeof(number));
			else
				snprintf(number, sizeof(number), "-");
			put_right(v, l, LOOK_DIM, 9, number);
		}
		if (memio_has(now, MEMIO_MEM_READ_MAX)) {
			char least[24], most[24];

			view_number(memio_rate(memio_get(moved, MEMIO_MEM_READ_MIN), ns), least,
				    sizeof(least));
			view_number(memio_rate(memio_get(moved, MEMIO_MEM_READ_MAX), ns), most,
				    sizeof(most));
			put(v, l, LOOK_DIM, "  rd %s to %s", least, most);
			view_number(memio_rate(memio_get(moved, MEMIO_MEM_WRITE_MIN), ns), least,
				    sizeof(least));
			view_number(memio_rate(memio_get(moved, MEMIO_MEM_WRITE_MAX), ns), most,
				    sizeof(most));
			put(v, l, LOOK_DIM, ", wr %s to %s", least, most);
		}
		if (memio_get_signed(now, MEMIO_UNCLAIMED_TO) ||
		    memio_get_signed(now, MEMIO_UNCLAIMED_FROM))
			put(v, l, LOOK_DIM, "  unclaimed %lld, %lld",
			    (long long)memio_get_signed(now, MEMIO_UNCLAIMED_TO),
			    (long long)memio_get_signed(now, MEMIO_UNCLAIMED_FROM));
	}
	memio_stat_free(&diff);
}

static void draw_rate(struct view *v, struct screen_line *l, const char *name, uint64_t rate)
{
	char number[24];

	if (rate >= MEMIO_RATE_KEEP)
		snprintf(number, sizeof(number), "max");
	else
		view_number(rate, number, sizeof(number));
	put(v, l, LOOK_PLAIN, "%s%s", name, number);
}

static void draw_group(struct view *v, const struct model *o, struct screen *s,
		       const struct track *t)
{
	const struct looked *k = &o->looked;
	struct screen_line *l;
	size_t i;
	int way;

	for (i = 0; i < t->limits.n; i++) {
		l = new_line(s);
		put(v, l, LOOK_PLAIN, "limit  %s", label_of(o, t->limits.limit[i].key));
		for (way = 0; way < MEMIO_WAYS; way++) {
			char name[16];

			if (t->limits.limit[i].rate[way] >= MEMIO_RATE_KEEP)
				continue;
			snprintf(name, sizeof(name), "  %s=", memio_way_name(way));
			draw_rate(v, l, name, t->limits.limit[i].rate[way]);
		}
	}
	if (!t->limits.n)
		put(v, new_line(s), LOOK_DIM, "limit  none of its own");
	if (t->stopped > 0)
		put(v, new_line(s), LOOK_WARN, "its limits stopped it for %.0f %% of the interval",
		    100 * t->stopped);
	if (k->serial != t->serial)
		return;
	if (k->has_min || k->has_weight) {
		l = new_line(s);
		if (k->has_min)
			draw_rate(v, l, "min ", k->min);
		if (k->has_effective)
			draw_rate(v, l, ", in effect ", k->min_effective);
		if (k->has_weight)
			put(v, l, LOOK_PLAIN, "%sweight %llu", k->has_min ? ", " : "",
			    (unsigned long long)k->weight);
	}
	if (k->state.n) {
		l = new_line(s);
		put(v, l, LOOK_PLAIN, "state ");
		for (i = 0; i < k->state.n; i++)
			put(v, l, strcmp(k->state.pair[i].word, "ok") &&
			    strcmp(k->state.pair[i].word, "on") ? LOOK_WARN : LOOK_PLAIN,
			    " %s %s", label_of(o, k->state.pair[i].key), k->state.pair[i].word);
	}
	l = new_line(s);
	put(v, l, LOOK_DIM, "events");
	for (i = 0; i < k->events.n; i++)
		if (k->events.pair[i].value)
			put(v, l, LOOK_PLAIN, "  %s %s", k->events.pair[i].key,
			    k->events.pair[i].word);
}

/* The groups that moved bytes by a device, the largest first */
static void draw_users(struct view *v, const struct model *o, struct screen *s,
		       const struct track *t)
{
	static const enum memio_field fields[] = {
		MEMIO_IO_TO, MEMIO_IO_FROM, MEMIO_MEM_READ, MEMIO_MEM_WRITE,
	};
	struct screen_line *l = new_line(s);
	char number[24], name[TEXT_MOST];
	size_t i, f, shown = 0;

	put(v, l, LOOK_TITLE, "%9s%9s%9s%9s  group", "to dev", "from dev", "mem rd", "mem wr");
	for (i = 0; i < o->group.n; i++) {
		const struct track *g = o->group.track[i];
		const struct memio_line *now = memio_stat_find(&g->now, t->name);
		const struct memio_line *then = memio_stat_find(&g->then, t->name);
		uint64_t moved[4], all = 0;

		if (!now || g->still || o->samples < 2)
			continue;
		for (f = 0; f < 4; f++) {
			const uint64_t is = memio_get(now, fields[f]);
			const uint64_t was = memio_get(then, fields[f]);

			moved[f] = is >= was ? is - was : is;
			all += moved[f];
		}
		if (!all)
			continue;
		shown++;
		l = new_line(s);
		for (f = 0; f < 4; f++) {
			view_number(memio_rate(moved[f], o->interval_ns), number, sizeof(number));
			put_right(v, l, LOOK_PLAIN, 9, number);
		}
		view_name(v, g, name, sizeof(name));
		put(v, l, LOOK_PLAIN, "  %s", name);
	}
	if (!shown)
		put(v, new_line(s), LOOK_DIM, "no group moved bytes by it");
}

static void draw_looked(struct view *v, const struct model *o, struct screen *s,
			const struct track *t)
{
	static const char *const kinds[] = { "group", "task", "device" };
	char name[TEXT_MOST];

	view_name(v, t, name, sizeof(name));
	put(v, new_line(s), LOOK_BOLD, "%s %s", kinds[t->kind], name);
	if (t->kind == TRACK_TASK) {
		view_name(v, t->group, name, sizeof(name));
		put(v, new_line(s), LOOK_PLAIN, "user %u, state %c%s, in the group %s",
		    t->info->uid, t->info->state,
		    t->stopped > 0 ? " (a limit stops it now)" : "", name);
	}
	if (t->kind == TRACK_DEVICE && strcmp(t->name, name))
		put(v, new_line(s), LOOK_PLAIN, "on its bus %s", t->name);
	if (t->kind == TRACK_GROUP && *t->label)
		put(v, new_line(s), LOOK_PLAIN, "podman's container %s", t->label);
	if (t->denied)
		put(v, new_line(s), LOOK_WARN, "its figures are not for this user");
	if (t->anew)
		put(v, new_line(s), LOOK_WARN,
		    "a counter went back: the rate is what was counted since");
	draw_curve(v, s, t);
	put(v, new_line(s), LOOK_PLAIN, " ");
	if (t->kind == TRACK_DEVICE) {
		draw_users(v, o, s, t);
		return;
	}
	draw_lines(v, o, s, t);
	put(v, new_line(s), LOOK_PLAIN, " ");
	if (t->kind == TRACK_GROUP)
		draw_group(v, o, s, t);
}

static void draw_help(struct view *v, struct screen *s)
{
	static const char *const text[] = {
		"g t d, Tab      groups as a tree, tasks, devices",
		"up down         choose a row; PgUp PgDn Home End, j k",
		"right left      unfold a group, then its tasks; and back",
		"space           fold or unfold the group; z Z all groups",
		"Enter           look at one: its devices, limits, history; Esc back",
		"< >             sort by the column to the left, to the right; r reverse",
		"/               filter: a part of the name; Esc shows all rows",
		"i               show, or hide, rows that move nothing",
		"p               pause; the figures stay",
		"q               quit",
		"",
		"to dev    bytes that devices read from memory: sent, written to disks",
		"from dev  bytes that devices write to memory: received, read from disks",
		"mem rd    bytes read from memory, for devices and CPUs",
		"mem wr    bytes written to memory, for devices and CPUs",
		"cpus      the CPUs' part of these two",
		"share     of the memory bytes that the machine moves; without them, of the IO bytes",
		"limit     r: memory read, w: memory written; io: cpu: dev: of these alone;",
		"          + there are more limits (Enter shows all)",
		"stopped   the part of the interval for which its own limits stopped the group",
		"worth     of a device: half of what lies between the bounds of its memory bytes",
		"history   memory bytes; the highest bar is the most of what is shown",
		"?         the figure is not valid;  <  it is an upper bound;  -  there is none;",
		"          The lines at the bottom say why.",
		"~         its bounds are more than a 20th of it apart (Enter shows them).",
	};
	size_t i;

	put(v, new_line(s), LOOK_BOLD, "memio %s: who moves how many bytes to and from memory",
	    v->command);
	for (i = 0; v->more_help && v->more_help[i]; i++)
		put(v, new_line(s), LOOK_PLAIN, "%s", v->more_help[i]);
	for (i = 0; i < sizeof(text) / sizeof(*text); i++)
		put(v, new_line(s), LOOK_PLAIN, "%s", text[i]);
}

/* ---- the screen ---- */

static void trim_to(struct screen *s, size_t n)
{
	if (s->n > n)
		s->n = n;
}

static void fill_to(struct screen *s, size_t n)
{
	while (s->n < n && new_line(s))
		;
}

static void draw_list(struct view *v, struct model *o, struct screen *s, size_t foot)
{
	char text[5000], fitted[TEXT_MOST];
	unsigned int set, name, i;
	size_t row, head;

	set = columns_that_fit(v, o, &name);
	if (!name) {
		name = NAME_LEAST;
		for (row = 0; row < v->list.n; row++) {
			unsigned int indent = row_name_text(v, v->list.track[row], text,
							    sizeof(text));

			i = indent + view_fit(fitted, sizeof(fitted), text, NAME_MOST, v->ascii);
			name = i > name ? i : name;
		}
		if (name > NAME_MOST)
			name = NAME_MOST;
	}
	draw_titles(v, o, s, set, name);
	head = s->n;
	v->page = v->rows ? v->rows > head + foot ? v->rows - head - foot : 1 : v->list.n;
	scroll(v);
	for (row = v->top; row < v->list.n && row < v->top + v->page; row++) {
		struct track *t = v->list.track[row];

		t->visible = v->rows || row < BATCH_VISIBLE;
		draw_row(v, s, t, set, name, v->keys && row == v->chosen_at);
	}
	if (!v->list.n)
		put(v, new_line(s), LOOK_DIM, "%s", v->show == SHOW_TASKS && o->samples < 2 ?
		    "one moment" : *v->filter ? "no name has that" :
		    v->show == SHOW_TASKS && o->denied ? "no figures that this user may read" :
		    v->show == SHOW_TASKS ? "no task moved a byte (i shows all)" :
		    "nothing is here");
}

static bool is_beside(const struct model *o, const struct track *t)
{
	return memio_stat_find(&o->beside.now, t->name);
}

/* So many lines take the devices that there is another account of */
static size_t beside_rows(const struct model *o)
{
	size_t i, n = 0;

	for (i = 0; i < o->device.n; i++)
		n += is_beside(o, o->device.track[i]);
	return n ? n + 2 : 0;
}

/* The devices, with the other account of them, below groups or tasks */
static void draw_beside(struct view *v, struct model *o, struct screen *s)
{
	const enum show show = v->show;
	unsigned int set, name;
	size_t i;

	v->show = SHOW_DEVICES;
	set = columns_that_fit(v, o, &name);
	if (!name)
		name = 2 * NAME_LEAST;
	new_line(s);
	draw_titles(v, o, s, set, name);
	for (i = 0; i < o->device.n; i++)
		if (is_beside(o, o->device.track[i]))
			draw_row(v, s, o->device.track[i], set, name, false);
	v->show = show;
}

int view_draw(struct view *v, struct model *o, struct screen *s)
{
	struct screen notes = { 0 };
	const struct track *t;
	size_t foot, below, i;
	int err = view_list(v, o);

	if (err)
		return err;
	choose(v);
	for (i = 0; i < o->group.n; i++)
		o->group.track[i]->visible = false;
	for (i = 0; i < o->task.n; i++)
		o->task.track[i]->visible = false;
	s->n = 0;
	if (v->help) {
		draw_help(v, s);
		if (v->rows && v->keys) {
			trim_to(s, v->rows - 1);
			fill_to(s, v->rows - 1);
			put(v, new_line(s), LOOK_TITLE, "any key goes back");
		}
		return 0;
	}
	draw_head(v, o, s);
	draw_notes(v, o, &notes);
	/* Notes take no more than a third. */
	foot = v->rows && notes.n > v->rows / 3 ? v->rows / 3 : notes.n;
	t = v->looked ? track_of(o, v->looked) : NULL;
	below = !v->looked && o->beside.path && v->show != SHOW_DEVICES ? beside_rows(o) : 0;
	if (v->looked && !t)
		put(v, new_line(s), LOOK_WARN, "it is gone, or moved nothing; Esc goes back");
	else if (t)
		draw_looked(v, o, s, t);
	else
		draw_list(v, o, s, foot + below + v->keys);
	if (below) {
		if (v->rows > foot + below + v->keys) {
			trim_to(s, v->rows - foot - below - v->keys);
			fill_to(s, v->rows - foot - below - v->keys);
		}
		draw_beside(v, o, s);
	}
	if (v->rows) {
		const size_t body = v->rows > foot + v->keys ? v->rows - foot - v->keys : 1;

		trim_to(s, body);
		fill_to(s, body);
	}
	for (i = 0; i < foot; i++) {
		struct screen_line *l = new_line(s);

		put(v, l, LOOK_WARN, "%s", notes.line[i].text);
	}
	screen_free(&notes);
	if (v->keys)
		draw_keys(v, s);
	if (v->rows)
		trim_to(s, v->rows);
	return 0;
}

/* ---- keys ---- */

static enum action type_key(struct view *v, int key)
{
	const size_t n = strlen(v->filter);

	switch (key) {
	case KEY_IS_ENTER:
		v->typing = false;
		break;
	case KEY_IS_ESCAPE:
		v->typing = false;
		*v->filter = '\0';
		break;
	case KEY_IS_BACKSPACE:
		if (n)
			v->filter[n - 1] = '\0';
		break;
	default:
		if (key < ' ' || key > '~' || n + 1 >= sizeof(v->filter))
			return ACTION_NONE;
		v->filter[n] = key;
		v->filter[n + 1] = '\0';
		break;
	}
	return ACTION_DRAW;
}

static struct track *chosen_track(const struct view *v)
{
	return v->chosen_at < v->list.n ? v->list.track[v->chosen_at] : NULL;
}

static bool has_groups_below(const struct model *o, const struct track *t)
{
	size_t i;

	for (i = 0; i < o->group.n; i++)
		if (o->group.track[i] != t && o->group.track[i]->parent == t)
			return true;
	return false;
}

static enum action unfold(struct view *v)
{
	struct track *t = chosen_track(v);

	if (v->show != SHOW_GROUPS || !t || t->kind != TRACK_GROUP)
		return ACTION_NONE;
	if (t->folded) {
		t->folded = false;
		return ACTION_DRAW;
	}
	if (t->open)
		return ACTION_NONE;
	t->open = true;
	return ACTION_SAMPLE;
}

static enum action fold(struct view *v, const struct model *o)
{
	struct track *t = chosen_track(v);

	if (v->show != SHOW_GROUPS || !t)
		return ACTION_NONE;
	if (t->kind == TRACK_TASK) {
		v->chosen = t->group->serial;
		return ACTION_DRAW;
	}
	if (t->open) {
		t->open = false;
		return ACTION_DRAW;
	}
	if (!t->folded && has_groups_below(o, t)) {
		t->folded = true;
		return ACTION_DRAW;
	}
	if (t->parent && t->depth)
		v->chosen = t->parent->serial;
	return ACTION_DRAW;
}

static enum action toggle(struct view *v, const struct model *o)
{
	struct track *t = chosen_track(v);

	if (v->show != SHOW_GROUPS || !t || t->kind != TRACK_GROUP)
		return ACTION_NONE;
	if (!has_groups_below(o, t)) {
		t->open = !t->open;
		return t->open ? ACTION_SAMPLE : ACTION_DRAW;
	}
	t->folded = !t->folded;
	return ACTION_DRAW;
}

static enum action fold_all(struct view *v, struct model *o, bool folded)
{
	size_t i;

	if (v->show != SHOW_GROUPS)
		return ACTION_NONE;
	for (i = 0; i < o->group.n; i++) {
		struct track *g = o->group.track[i];

		g->folded = folded && i && has_groups_below(o, g);
		if (folded)
			g->open = false;
	}
	return ACTION_DRAW;
}

static enum action switch_to(struct view *v, struct model *o, enum show show)
{
	v->show = show;
	v->looked = o->look = 0;
	v->chosen_at = v->top = 0;
	v->chosen = 0;
	o->want_tasks = show == SHOW_TASKS;
	return show == SHOW_TASKS ? ACTION_SAMPLE : ACTION_DRAW;
}

static enum action sort_next(struct view *v, int by)
{
	const int n = COL_STOPPED + 1;

	v->sort = (v->sort + n + by) % n;
	return ACTION_DRAW;
}

static enum action move_by(struct view *v, long by)
{
	long at = (long)v->chosen_at + by;

	if (v->looked)
		return ACTION_NONE;
	choose_at(v, at < 0 ? 0 : at);
	return ACTION_DRAW;
}

enum action view_key(struct view *v, struct model *o, int key)
{
	struct track *t;

	if (v->typing)
		return type_key(v, key);
	if (v->help) {
		v->help = false;
		return ACTION_DRAW;
	}
	switch (key) {
	case 'q':
		return ACTION_QUIT;
	case '?':
	case 'h':
		v->help = true;
		return ACTION_DRAW;
	case 'p':
		v->paused = !v->paused;
		return v->paused ? ACTION_DRAW : ACTION_SAMPLE;
	case 'g':
		return switch_to(v, o, SHOW_GROUPS);
	case 't':
		return switch_to(v, o, SHOW_TASKS);
	case 'd':
		return switch_to(v, o, SHOW_DEVICES);
	case KEY_IS_TAB:
		return switch_to(v, o, (v->show + 1) % SHOWS);
	case '<':
	case ',':
		return sort_next(v, -1);
	case '>':
	case '.':
		return sort_next(v, 1);
	case 'r':
		v->reverse = !v->reverse;
		return ACTION_DRAW;
	case 'i':
		v->idle[v->show] = !v->idle[v->show];
		o->want_idle = v->idle[SHOW_TASKS];
		return v->show == SHOW_TASKS ? ACTION_SAMPLE : ACTION_DRAW;
	case '/':
		v->typing = true;
		*v->filter = '\0';
		return ACTION_DRAW;
	case KEY_IS_ESCAPE:
	case KEY_IS_BACKSPACE:
		if (v->looked)
			v->looked = o->look = 0;
		else
			*v->filter = '\0';
		return ACTION_DRAW;
	case KEY_IS_ENTER:
		t = chosen_track(v);
		if (!t || v->looked)
			return ACTION_NONE;
		v->looked = o->look = t->serial;
		return t->kind == TRACK_GROUP ? ACTION_SAMPLE : ACTION_DRAW;
	case KEY_IS_UP:
	case 'k':
		return move_by(v, -1);
	case KEY_IS_DOWN:
	case 'j':
		return move_by(v, 1);
	case KEY_IS_PAGE_UP:
		return move_by(v, -(long)v->page);
	case KEY_IS_PAGE_DOWN:
		return move_by(v, v->page);
	case KEY_IS_HOME:
		return move_by(v, -(long)v->list.n);
	case KEY_IS_END:
		return move_by(v, v->list.n);
	case KEY_IS_RIGHT:
	case '+':
		return unfold(v);
	case KEY_IS_LEFT:
	case '-':
		return fold(v, o);
	case ' ':
		return toggle(v, o);
	case 'z':
		return fold_all(v, o, true);
	case 'Z':
		return fold_all(v, o, false);
	default:
		return ACTION_NONE;
	}
}

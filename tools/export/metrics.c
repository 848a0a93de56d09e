// SPDX-License-Identifier: GPL-2.0
/*
 * memio export: the figures of groups as metrics, see metrics.h
 *
 * All samples of a metric stand together, so each metric has a text of its own while the groups are
 * walked once. A scrape of 500 groups has some 15,000 lines of seven pieces each. stdio takes 150
 * instructions for a piece, put() takes 20. Names of groups are others' to choose: put_label() is
 * the one door that they come through.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "metrics.h"
#include "utf8.h"

enum metric {
	M_IO, M_MEMORY, M_UNPRICED, M_UNCLAIMED, M_STOPPED, M_LIMIT, M_STATE, M_INFO, M_GROUPS,
	M_LEFT_OUT, M_DURATION, METRICS
};

static const struct metric_row {
	const char *name, *unit, *help;
	bool counter;
} metrics[METRICS] = {
	[M_IO] = { "memio_io_bytes", "bytes",
		"Bytes that devices read from memory (to) or wrote to memory (from) for the "
		"group and the groups below it.",
		true },
	[M_MEMORY] = { "memio_memory_bytes", "bytes",
		"Bytes read from and written to memory for the group and the groups below it, "
		"by device; cpu: by its tasks. With bound: the least and the most that it can be.",
		true },
	[M_UNPRICED] = { "memio_unpriced_io_bytes", "bytes",
		"IO bytes without a price: as many memory bytes are counted for them, which is "
		"an upper bound.",
		true },
	[M_UNCLAIMED] = { "memio_unclaimed_bytes", "bytes",
		"IO bytes of no owner: received and not yet read, dropped or forwarded." },
	[M_STOPPED] = { "memio_stopped_seconds", "seconds",
		"For how long limits stopped tasks of the group and of the groups below "
		"it.", true },
	[M_LIMIT] = { "memio_limit_bytes_per_second", NULL,
		"Limits that are set; op is read, write or all." },
	[M_STATE] = { "memio_state", NULL,
		"1: the group's figures of that key are in this state." },
	[M_INFO] = { "memio_export_info", NULL, "The program, and where its figures come from." },
	[M_GROUPS] = { "memio_export_groups", NULL, "Groups that are exported." },
	[M_LEFT_OUT] = { "memio_export_groups_left_out", NULL,
		"Groups that are not exported: by --match, or as there are too many (cap); "
		"their bytes are a part of the groups above them." },
	[M_DURATION] = { "memio_export_duration_seconds", "seconds",
		"How long it took to read all figures." },
};

/**
 * struct text - one that grows
 * @bad:	there was no memory for all of it
 */
struct text {
	char *at;
	size_t length, room;
	bool bad;
};

/**
 * struct writing - while the groups are walked
 * @to:		the text of each metric
 * @group:	the path as the value of a label
 */
struct writing {
	struct metrics *x;
	enum metrics_format format;
	struct text to[METRICS];
	char group[3 * 4096 + 1];
	unsigned int groups, capped, unmatched;
	uint64_t now_s;
	struct memio_stat stat;
	struct memio_flat flat;
	struct memio_limits limits;
};

/* ---- text ---- */

static bool make_room(struct text *t, size_t more)
{
	const size_t room = 2 * t->room > t->length + more ? 2 * t->room : t->length + more + 4096;
	char *at = t->bad ? NULL : realloc(t->at, room);

	if (!at) {
		t->bad = true;
		return false;
	}
	t->at = at;
	t->room = room;
	return true;
}

static inline void put(struct text *t, const char *s, size_t n)
{
	if (t->room - t->length < n && !make_room(t, n))
		return;
	memcpy(t->at + t->length, s, n);
	t->length += n;
}

static inline void put_string(struct text *t, const char *s)
{
	put(t, s, strlen(s));
}

static void put_format(struct text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void put_format(struct text *t, const char *format, ...)
{
	char *text;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		t->bad = true;
		return;
	}
	put(t, text, n);
	free(text);
}

/*
 * A label's value between quotes: a backslash, a quote and the end of a line are escaped; other
 * characters that control a terminal, and bytes that are no UTF-8, become '?'.
 */
static void put_label(char *to, size_t size, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;
	size_t used = 0;

	while (*s && used + 5 < size) {
		const size_t n = utf8_length((const char *)s, SIZE_MAX);

		if (*s == '\\' || *s == '"' || *s == '\n') {
			to[used++] = '\\';
			to[used++] = *s == '\n' ? 'n' : *s;
			s++;
		} else if (!n || *s < ' ' || *s == 0x7f) {
			to[used++] = '?';
			s++;
		} else {
			memcpy(to + used, s, n);
			used += n;
			s += n;
		}
	}
	to[used] = '\0';
}

/* The name of a sample, and its first label */
static struct text *begin(struct writing *w, enum metric m)
{
	struct text *t = &w->to[m];

	put_string(t, metrics[m].name);
	if (metrics[m].counter)
		put_string(t, "_total");
	put_string(t, "{cgroup=\"");
	put_string(t, w->group);
	put_string(t, "\"");
	return t;
}

static void put_number(struct text *t, uint64_t n)
{
	char digits[24], *at = digits + sizeof(digits);

	*--at = '\0';
	*--at = '\n';
	do {
		*--at = '0' + n % 10;
		n /= 10;
	} while (n);
	put_string(t, at);
}

static void put_field(struct writing *w, enum metric m, const struct memio_line *l,
		      enum memio_field field, const char *labels)
{
	struct text *t;

	if (!memio_has(l, field))
		return;
	t = begin(w, m);
	put_string(t, ",device=\"");
	put_string(t, l->key);
	put_string(t, labels);
	put_number(t, memio_get(l, field));
}

/* ---- a group ---- */

static void put_line(struct writing *w, const struct memio_line *l, bool root)
{
	static const struct {
		enum metric metric;
		enum memio_field field;
		const char *labels;
	} rows[] = {
		{ M_IO, MEMIO_IO_TO, "\",direction=\"to\"} " },
		{ M_IO, MEMIO_IO_FROM, "\",direction=\"from\"} " },
		{ M_MEMORY, MEMIO_MEM_READ, "\",op=\"read\",bound=\"\"} " },
		{ M_MEMORY, MEMIO_MEM_WRITE, "\",op=\"write\",bound=\"\"} " },
		{ M_MEMORY, MEMIO_MEM_READ_MIN, "\",op=\"read\",bound=\"min\"} " },
		{ M_MEMORY, MEMIO_MEM_READ_MAX, "\",op=\"read\",bound=\"max\"} " },
		{ M_MEMORY, MEMIO_MEM_WRITE_MIN, "\",op=\"write\",bound=\"min\"} " },
		{ M_MEMORY, MEMIO_MEM_WRITE_MAX, "\",op=\"write\",bound=\"max\"} " },
		{ M_UNPRICED, MEMIO_UNPRICED_TO, "\",direction=\"to\"} " },
		{ M_UNPRICED, MEMIO_UNPRICED_FROM, "\",direction=\"from\"} " },
	};
	size_t i;
	struct text *t;

	/* A key of the kernel's has no character that would have to be escaped: libmemio sees to it
	 * that it can be printed, and these two are left.
	 */
	if (strpbrk(l->key, "\\\""))
		return;
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		put_field(w, rows[i].metric, l, rows[i].field, rows[i].labels);
	if (root && (memio_has(l, MEMIO_UNCLAIMED_TO) || memio_has(l, MEMIO_UNCLAIMED_FROM))) {
		t = begin(w, M_UNCLAIMED);
		put_format(t, ",device=\"%s\",direction=\"to\"} %" PRId64 "\n", l->key,
			   memio_get_signed(l, MEMIO_UNCLAIMED_TO));
		t = begin(w, M_UNCLAIMED);
		put_format(t, ",device=\"%s\",direction=\"from\"} %" PRId64 "\n", l->key,
			   memio_get_signed(l, MEMIO_UNCLAIMED_FROM));
	}
}

static void put_limits(struct writing *w, const char *path)
{
	static const char *const ops[MEMIO_WAYS] = { "all", "read", "write" };
	size_t i;
	int way;
	struct text *t;

	if (memio_group_limits(w->x->m, path, &w->limits))
		return;
	for (i = 0; i < w->limits.n; i++) {
		const struct memio_limit *l = &w->limits.limit[i];

		if (strpbrk(l->key, "\\\""))
			continue;
		for (way = 0; way < MEMIO_WAYS; way++) {
			if (l->rate[way] >= MEMIO_RATE_KEEP)
				continue;
			t = begin(w, M_LIMIT);
			put_format(t, ",key=\"%s\",op=\"%s\"} %" PRIu64 "\n", l->key, ops[way],
				   l->rate[way]);
		}
	}
}

static void put_states(struct writing *w, const char *path)
{
	char key[4 * MEMIO_NAME_MAX], word[4 * MEMIO_WORD_MAX];
	size_t i;
	struct text *t;

	if (memio_group_state(w->x->m, path, &w->flat))
		return;
	for (i = 0; i < w->flat.n; i++) {
		put_label(key, sizeof(key), w->flat.pair[i].key);
		put_label(word, sizeof(word), w->flat.pair[i].word);
		t = begin(w, M_STATE);
		put_string(t, ",key=\"");
		put_string(t, key);
		put_string(t, "\",state=\"");
		put_string(t, word);
		put_string(t, "\"} 1\n");
	}
}

static int put_group(struct writing *w, const char *path)
{
	const bool root = !strcmp(path, "/");
	struct memio *m = w->x->m;
	size_t i;
	int err = memio_group_stat(m, path, MEMIO_TREE, &w->stat);
	uint64_t usec;
	struct text *t;

	if (err)
		return err;
	put_label(w->group, sizeof(w->group), path);
	/* "total" is the sum of the others. */
	for (i = 0; i < w->stat.n; i++)
		if (strcmp(w->stat.line[i].key, "total"))
			put_line(w, &w->stat.line[i], root);
	if (!memio_group_events(m, path, MEMIO_TREE, &w->flat)) {
		usec = memio_flat_get(&w->flat, "throttled_usec");
		t = begin(w, M_STOPPED);
		put_format(t, "} %" PRIu64 ".%06" PRIu64 "\n", usec / 1000000, usec % 1000000);
	}
	put_limits(w, path);
	put_states(w, path);
	w->groups++;
	return 0;
}

static int visit(const struct memio_group *g, void *arg)
{
	struct writing *w = arg;
	int err;

	if (!g->accounted && g->depth)
		return 1;
	if (g->depth && w->x->match && fnmatch(w->x->match, g->path, 0)) {
		w->unmatched++;
	} else if (g->depth && !slots_take(w->x->slots, g->path, w->now_s)) {
		w->capped++;
	} else {
		err = put_group(w, g->path);
		if (err == -ENOMEM)
			return err;
		/* It went away just now, or is not this user's to read. */
		if (err && g->depth)
			return 1;
		if (err)
			return err;
	}
	return g->depth >= w->x->depth ? 1 : 0;
}

/* ---- all ---- */

static void put_own(struct writing *w, uint64_t began_ns)
{
	struct memio_membw self = { 0 };
	const bool known = !memio_task_membw(w->x->m, *memio_root(w->x->m) ? 1 : getpid(), 0,
					     &self);
	const double s = (clock_ns(CLOCK_MONOTONIC) - began_ns) / 1e9;

	put_format(&w->to[M_INFO],
		   "memio_export_info{version=\"%s\",backend=\"%s\",source=\"%s\",estimator=\"%s\"} 1\n",
		   w->x->version, memio_backend(w->x->m), known ? self.source : "",
		   known ? self.estimator : "");
	memio_membw_free(&self);
	put_format(&w->to[M_GROUPS], "memio_export_groups %u\n", w->groups);
	put_format(&w->to[M_LEFT_OUT],
		   "memio_export_groups_left_out{reason=\"cap\"} %u\n"
		   "memio_export_groups_left_out{reason=\"match\"} %u\n", w->capped, w->unmatched);
	put_format(&w->to[M_DURATION], "memio_export_duration_seconds %.6f\n", s);
}

static bool put_together(struct writing *w, char **text, size_t *length)
{
	const bool open = w->format == METRICS_OPEN;
	struct text all = { 0 };
	int i;

	for (i = 0; i < METRICS; i++) {
		const struct metric_row *r = &metrics[i];
		const char *suffix = r->counter && !open ? "_total" : "";

		all.bad |= w->to[i].bad;
		if (!w->to[i].length)
			continue;
		put_format(&all, "# HELP %s%s %s\n# TYPE %s%s %s\n", r->name, suffix, r->help,
			   r->name, suffix, r->counter ? "counter" : "gauge");
		if (open && r->unit)
			put_format(&all, "# UNIT %s %s\n", r->name, r->unit);
		put(&all, w->to[i].at, w->to[i].length);
	}
	if (open)
		put_string(&all, "# EOF\n");
	if (all.bad) {
		free(all.at);
		return false;
	}
	*text = all.at;
	*length = all.length;
	return true;
}

int metrics_print(struct metrics *x, enum metrics_format format, char **text, size_t *length)
{
	const uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	struct writing *w = calloc(1, sizeof(*w));
	int i, err;

	if (!w)
		return -ENOMEM;
	w->x = x;
	w->format = format;
	w->now_s = began_ns / 1000000000;
	err = memio_groups(x->m, "/", visit, w);
	if (!err)
		put_own(w, began_ns);
	if (!err && !put_together(w, text, length))
		err = -ENOMEM;
	for (i = 0; i < METRICS; i++)
		free(w->to[i].at);
	memio_stat_free(&w->stat);
	memio_flat_free(&w->flat);
	memio_limits_free(&w->limits);
	free(w);
	return err;
}

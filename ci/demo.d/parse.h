/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the demonstration reads, as text: /proc/PID/membw and memio.stat, which
 * are alike, and the ledger
 *
 * Functions without state: text in, a struct out, and NULL or what is wrong with
 * the text. What a newer kernel adds is skipped: flat keys, lines that are of no
 * device, fields of a line. What has to be there, and is not, is an error, and so
 * is a figure that is none: nothing is ever taken for 0 that was not read as 0.
 */
#ifndef DEMO_PARSE_H
#define DEMO_PARSE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES	8
#define LINE_BYTES	64

/* In bytes. Cumulative, so that two of them make a rate. */
struct meter {
	uint64_t to, from;		/* IO: moved to devices, from devices */
	uint64_t read, write;		/* memory */
	uint64_t unpriced;		/* of @to + @from: no sample, counted one for one */
};

struct entry {
	char device[24];		/* by bus name */
	char alias[24];			/* eth0, nvme0n1; "" if there is none */
	struct meter sum;
	uint64_t unclaimed_to, unclaimed_from;
};

/* A file of either kind. memio.stat has no header, its device lines no aliases. */
struct account {
	char source[16], estimator[16];
	bool valid;
	uint64_t window_us;
	struct entry dev[MAX_DEVICES];
	unsigned int devs;
	struct meter cpu;
	bool cpu_valid;
};

/* ---- words ---- */

struct word {
	const char *p;
	size_t len;
};

/* The next word of a line; its length is 0 at the end. Moves @p behind it. */
static inline struct word next_word(const char **p, const char *end)
{
	struct word w;

	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
	w.p = *p;
	while (*p < end && **p != ' ' && **p != '\t')
		(*p)++;
	w.len = *p - w.p;
	return w;
}

static inline bool word_is(struct word w, const char *s)
{
	return w.len == strlen(s) && !memcmp(w.p, s, w.len);
}

static inline void copy_word(char *to, size_t size, struct word w)
{
	if (w.len > size - 1)
		w.len = size - 1;
	if (w.len)
		memcpy(to, w.p, w.len);
	to[w.len] = '\0';
}

/* Return: false if it is no decimal number of 64 bits. */
static inline bool word_number(struct word w, uint64_t *v)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < w.len; i++) {
		if (w.p[i] < '0' || w.p[i] > '9' ||
		    __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, w.p[i] - '0', &n))
			return false;
	}
	*v = n;
	return w.len > 0;
}

/* Of A,B,C the first that is a name and no MAJOR:MINOR, or the first. */
static inline struct word pick_alias(struct word list)
{
	const char *end = list.p + list.len, *p = list.p;
	struct word first = { }, w;

	while (p < end) {
		w.p = p;
		while (p < end && *p != ',')
			p++;
		w.len = p - w.p;
		p++;
		if (w.len && !memchr(w.p, ':', w.len))
			return w;
		if (!first.len)
			first = w;
	}
	return first;
}

/* ---- membw and memio.stat ---- */

enum { F_TO = 1, F_FROM = 2, F_READ = 4, F_WRITE = 8, F_VALID = 16, F_UNPRICED = 32 };

/* KEY=VALUE. Return: false if a known key's value is no number. */
static inline bool parse_field(struct word w, struct entry *e, uint64_t *valid,
			       unsigned int *found)
{
	const struct {
		const char *key;
		uint64_t *value;
		unsigned int flag;
	} fields[] = {
		{ "io_to", &e->sum.to, F_TO },
		{ "io_from", &e->sum.from, F_FROM },
		{ "mem_read", &e->sum.read, F_READ },
		{ "mem_write", &e->sum.write, F_WRITE },
		{ "unpriced", &e->sum.unpriced, F_UNPRICED },
		{ "unclaimed_to", &e->unclaimed_to, 0 },
		{ "unclaimed_from", &e->unclaimed_from, 0 },
		{ "valid", valid, F_VALID },
	};
	const char *eq = memchr(w.p, '=', w.len);
	struct word key = { w.p, eq ? (size_t)(eq - w.p) : w.len }, value;
	size_t i;

	if (!eq)
		return true;
	value.p = eq + 1;
	value.len = w.p + w.len - value.p;
	if (word_is(key, "alias"))
		copy_word(e->alias, sizeof(e->alias), pick_alias(value));
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!word_is(key, fields[i].key))
			continue;
		*found |= fields[i].flag;
		return word_number(value, fields[i].value);
	}
	return true;
}

static inline const char *parse_flat(struct account *a, struct word key, struct word value)
{
	uint64_t n;

	if (word_is(key, "source"))
		copy_word(a->source, sizeof(a->source), value);
	if (word_is(key, "estimator"))
		copy_word(a->estimator, sizeof(a->estimator), value);
	if (word_is(key, "window_us") && !word_number(value, &a->window_us))
		return "window_us is no number";
	if (word_is(key, "valid")) {
		if (!word_number(value, &n) || n > 1)
			return "valid is neither 0 nor 1";
		a->valid = n;
	}
	return NULL;
}

static inline const char *parse_line(struct account *a, const char *p, const char *end)
{
	struct word key = next_word(&p, end), w;
	unsigned int found = 0;
	struct entry e = { };
	uint64_t valid = 0;

	if (p >= end || !memchr(p, '=', end - p))
		return parse_flat(a, key, next_word(&p, end));
	for (w = next_word(&p, end); w.len; w = next_word(&p, end))
		if (!parse_field(w, &e, &valid, &found))
			return "a figure is no number";

	if (word_is(key, "cpu")) {
		if ((found & (F_READ | F_WRITE)) != (F_READ | F_WRITE))
			return "the cpu line has not all its fields";
		a->cpu = e.sum;
		a->cpu_valid = valid;
		return NULL;
	}
	/* What moves no IO is no device: a kind of line that we don't know. */
	if (word_is(key, "total") || !(found & (F_TO | F_FROM)))
		return NULL;
	if ((found & 15) != 15)
		return "a device's line has not all its fields";
	if (a->devs == MAX_DEVICES)
		return "too many devices";
	copy_word(e.device, sizeof(e.device), key);
	a->dev[a->devs++] = e;
	return NULL;
}

static inline const char *account_parse(struct account *a, const char *text)
{
	const char *p, *end, *wrong;

	memset(a, 0, sizeof(*a));
	for (p = text; *p; p = end + 1) {
		end = strchr(p, '\n');
		if (!end)
			return "the last line is cut off";
		wrong = parse_line(a, p, end);
		if (wrong)
			return wrong;
	}
	return NULL;
}

/* What it says of a device: zeros if nothing. */
static inline struct entry account_device(const struct account *a, const char *device)
{
	struct entry none = { };
	unsigned int i;

	for (i = 0; i < a->devs; i++)
		if (!strcmp(a->dev[i].device, device))
			return a->dev[i];
	return none;
}

/* ---- the ledger ---- */

struct truth {
	char device[24], model[16];
	uint64_t to, from, read, write;	/* bytes, as in struct meter */
};

struct ledger {
	uint64_t ns;			/* guest's CLOCK_MONOTONIC */
	struct truth dev[MAX_DEVICES];
	unsigned int devs;
};

/* The number after "KEY": between @p and @end. Return: false if there is none. */
static inline bool json_number(const char *p, const char *end, const char *key, uint64_t *v)
{
	char quoted[40];
	struct word w;

	snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
	p = strstr(p, quoted);
	if (!p || p >= end)
		return false;
	w.p = p + strlen(quoted);
	w.len = strspn(w.p, "0123456789");
	return word_number(w, v);
}

/*
 * A device's line. A line that it made dirty is written to memory once, sooner
 * or later; made_dirty = wb_first + dirty_lines counts those that still wait in
 * the cache, too, as the estimate does.
 */
static inline bool parse_truth(struct truth *t, const char *p, const char *end)
{
	uint64_t miss, fill, dirty;

	if (sscanf(p, " \"%23[^\"]\": {\"model\": \"%15[^\"]", t->device, t->model) != 2 ||
	    !json_number(p, end, "to_bytes", &t->to) ||
	    !json_number(p, end, "from_bytes", &t->from) ||
	    !json_number(p, end, "to_miss", &miss) ||
	    !json_number(p, end, "fill_lines", &fill) ||
	    !json_number(p, end, "made_dirty", &dirty))
		return false;
	t->read = (miss + fill) * LINE_BYTES;
	t->write = dirty * LINE_BYTES;
	return true;
}

/* Of ledger-mark's own text, not of JSON in general: a device is a line. */
static inline const char *ledger_parse(struct ledger *l, const char *text)
{
	const char *p = strstr(text, "\"devices\": {"), *end, *close;

	memset(l, 0, sizeof(*l));
	if (!p || !json_number(text, p, "ns", &l->ns))
		return "the ledger has no time or no devices";
	end = strstr(p, "\"cpu\": ");
	if (!end)
		return "the ledger is cut off";
	while ((p = strstr(p, "\n  \"")) && p < end) {
		close = strchr(p, '}');
		if (l->devs == MAX_DEVICES)
			return "the ledger has too many devices";
		if (!close || !parse_truth(&l->dev[l->devs], p, close))
			return "the ledger's devices cannot be read";
		l->devs++;
		p = close;
	}
	return NULL;
}

/* ---- arithmetic ---- */

/*
 * The change of a counter. Memory bytes may go down a little: the last window's
 * are a guess until it has a price.
 */
static inline double change(uint64_t before, uint64_t now)
{
	return (double)(int64_t)(now - before);
}

/*
 * How far an estimate is off, in percent; infinite if there should be nothing.
 * Less than a thousand lines on either side are no statistics: 0.
 */
static inline double error_percent(double estimate, double truth)
{
	if (estimate < 1000.0 * LINE_BYTES && estimate > -1000.0 * LINE_BYTES &&
	    truth < 1000.0 * LINE_BYTES)
		return 0;
	if (truth <= 0)
		return estimate > 0 ? __builtin_inf() : -__builtin_inf();
	return (estimate - truth) / truth * 100;
}

#endif

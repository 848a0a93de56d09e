// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: what the kernel's files say, and differences
 *
 * Lines are "KEY sub=value sub=value" or "KEY value". A text may be cut off, as nobody knows
 * what a file is: nothing is read behind its length. Keys and fields that are not known are
 * left out; a value that is no number is as if it were not there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static const char *const field_names[MEMIO_FIELDS] = {
	[MEMIO_IO_TO]		= "io_to",
	[MEMIO_IO_FROM]		= "io_from",
	[MEMIO_MEM_READ]	= "mem_read",
	[MEMIO_MEM_WRITE]	= "mem_write",
	[MEMIO_UNPRICED]	= "unpriced",
	[MEMIO_UNPRICED_TO]	= "unpriced_to",
	[MEMIO_UNPRICED_FROM]	= "unpriced_from",
	[MEMIO_MEM_READ_MIN]	= "mem_read_min",
	[MEMIO_MEM_READ_MAX]	= "mem_read_max",
	[MEMIO_MEM_WRITE_MIN]	= "mem_write_min",
	[MEMIO_MEM_WRITE_MAX]	= "mem_write_max",
	[MEMIO_UNCLAIMED_TO]	= "unclaimed_to",
	[MEMIO_UNCLAIMED_FROM]	= "unclaimed_from",
	[MEMIO_UNSEEN_TO]	= "unseen_to",
	[MEMIO_UNSEEN_FROM]	= "unseen_from",
	[MEMIO_VALID]		= "valid",
	[MEMIO_IO_TO_BPS]	= "io_to_bps",
	[MEMIO_IO_FROM_BPS]	= "io_from_bps",
	[MEMIO_MEM_READ_BPS]	= "mem_read_bps",
	[MEMIO_MEM_WRITE_BPS]	= "mem_write_bps",
};

/* Those of which a difference is as the later one: they are no sums. */
#define NO_SUMS	(1u << MEMIO_UNCLAIMED_TO | 1u << MEMIO_UNCLAIMED_FROM | 1u << MEMIO_VALID | \
		 1u << MEMIO_IO_TO_BPS | 1u << MEMIO_IO_FROM_BPS | \
		 1u << MEMIO_MEM_READ_BPS | 1u << MEMIO_MEM_WRITE_BPS)

const char *memio_field_name(enum memio_field field)
{
	return (unsigned int)field < MEMIO_FIELDS ? field_names[field] : NULL;
}

/* ---- texts ---- */

struct span {
	const char *at, *end;
};

static bool is(struct span s, const char *word)
{
	const size_t n = strlen(word);

	return (size_t)(s.end - s.at) == n && !memcmp(s.at, word, n);
}

/* @guess is looked at first: the kernel writes fields in the order that they have here. */
static int field_of(struct span name, int guess)
{
	int i;

	if (guess < MEMIO_FIELDS && is(name, field_names[guess]))
		return guess;
	for (i = 0; i < MEMIO_FIELDS; i++)
		if (is(name, field_names[i]))
			return i;
	return -1;
}

int memio_field_of(const char *name)
{
	return field_of((struct span) { name, name + strlen(name) }, 0);
}

/* The next line, without its end; false: there is none */
static bool next_line(struct span *text, struct span *line)
{
	const char *end;

	if (text->at >= text->end)
		return false;
	end = memchr(text->at, '\n', text->end - text->at);
	*line = (struct span) { text->at, end ? end : text->end };
	text->at = end ? end + 1 : text->end;
	return true;
}

/* Of most characters one comparison tells. */
static bool is_space(char c)
{
	return (unsigned char)c <= ' ' && (c == ' ' || c == '\t' || c == '\r');
}

static bool next_word(struct span *line, struct span *word)
{
	const char *at = line->at, *end = line->end;

	while (at < end && is_space(*at))
		at++;
	word->at = at;
	while (at < end && !is_space(*at))
		at++;
	word->end = at;
	line->at = at;
	return word->at < word->end;
}

/* All of it is a decimal number, with a sign if that may be. */
static bool number_of(struct span s, bool is_signed, uint64_t *value)
{
	bool minus = is_signed && s.at < s.end && *s.at == '-';
	uint64_t n = 0;

	s.at += minus;
	if (s.at == s.end)
		return false;
	for (; s.at < s.end; s.at++) {
		const unsigned int digit = (unsigned char)*s.at - '0';

		if (digit > 9 || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, digit, &n))
			return false;
	}
	if (is_signed && n > (uint64_t)INT64_MAX)
		return false;
	*value = minus ? -n : n;
	return true;
}

/* A key is short and can be printed: it goes to terminals, and to files of others. */
static bool key_of(struct span s, char *key, size_t size)
{
	const size_t n = s.end - s.at;
	size_t i;

	if (!n || n >= size)
		return false;
	for (i = 0; i < n; i++)
		if (s.at[i] <= ' ' || s.at[i] > '~')
			return false;
	memcpy(key, s.at, n);
	key[n] = '\0';
	return true;
}

/* A word as far as there is room; what can't be printed is '?' */
static void word_of(struct span s, char *word, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size && s.at + i < s.end; i++)
		word[i] = s.at[i] > ' ' && s.at[i] <= '~' ? s.at[i] : '?';
	word[i] = '\0';
}

/* "name=value": false if there is no "=" */
static bool split(struct span word, struct span *name, struct span *value)
{
	const char *sign = memchr(word.at, '=', word.end - word.at);

	if (!sign)
		return false;
	*name = (struct span) { word.at, sign };
	*value = (struct span) { sign + 1, word.end };
	return true;
}

bool mio_grow(void *array, size_t n, size_t *room, size_t size)
{
	const size_t more = *room ? 2 * *room : 8;
	void *is, *bigger;

	if (n < *room)
		return true;
	/* Whatever the pointer that @array points to is a pointer to */
	memcpy(&is, array, sizeof(is));
	bigger = realloc(is, more * size);
	if (!bigger)
		return false;
	memcpy(array, &bigger, sizeof(bigger));
	*room = more;
	return true;
}

bool mio_word_in(const char *text, const char *word)
{
	struct span all = { text, text + strlen(text) }, line, w;

	while (next_line(&all, &line))
		while (next_word(&line, &w))
			if (is(w, word))
				return true;
	return false;
}

/* ---- lines of figures ---- */

void memio_stat_free(struct memio_stat *s)
{
	free(s->line);
	free(s->text);
	*s = (struct memio_stat) { 0 };
}

static struct memio_line *find(const struct memio_stat *s, const char *key, size_t hint)
{
	size_t i;

	if (hint < s->n && !strcmp(s->line[hint].key, key))
		return &s->line[hint];
	for (i = 0; i < s->n; i++)
		if (!strcmp(s->line[i].key, key))
			return &s->line[i];
	return NULL;
}

const struct memio_line *memio_stat_find(const struct memio_stat *s, const char *key)
{
	return find(s, key, 0);
}

bool memio_has(const struct memio_line *line, enum memio_field field)
{
	return line && (unsigned int)field < MEMIO_FIELDS && line->has & 1u << field;
}

uint64_t memio_get(const struct memio_line *line, enum memio_field field)
{
	return memio_has(line, field) ? line->value[field] : 0;
}

int64_t memio_get_signed(const struct memio_line *line, enum memio_field field)
{
	return (int64_t)memio_get(line, field);
}

uint64_t memio_unpriced(const struct memio_line *line)
{
	if (memio_has(line, MEMIO_UNPRICED))
		return line->value[MEMIO_UNPRICED];
	return memio_get(line, MEMIO_UNPRICED_TO) + memio_get(line, MEMIO_UNPRICED_FROM);
}

bool memio_is_device(const struct memio_line *line)
{
	return strcmp(line->key, "total") && strcmp(line->key, "cpu") &&
	       strncmp(line->key, "cpu_", 4) && strncmp(line->key, "port:", 5) &&
	       (line->has & (1u << MEMIO_IO_TO | 1u << MEMIO_IO_FROM));
}

/* A line's fields; its alias begins at *@alias, an offset in the text, or is 0 */
static void read_fields(struct memio_line *l, struct span line, struct span *alias)
{
	struct span word, name, value;
	int field, last = -1;
	uint64_t n;

	while (next_word(&line, &word)) {
		if (!split(word, &name, &value))
			continue;
		field = field_of(name, last + 1);
		if (field < 0) {
			if (is(name, "alias") && value.at < value.end)
				*alias = value;
			continue;
		}
		last = field;
		if (!number_of(value, field == MEMIO_UNCLAIMED_TO || field == MEMIO_UNCLAIMED_FROM,
			       &n))
			continue;
		l->value[field] = n;
		l->has |= 1u << field;
	}
}

/*
 * All lines of figures. Aliases are copied behind each other to @s->text, which has room for
 * all of the text; it is made with the first of them.
 */
static int read_lines(struct memio_stat *s, struct span text)
{
	const size_t length = text.end - text.at;
	struct span line, word, alias;
	struct memio_line *l;
	size_t used = 0;
	char *room;

	while (next_line(&text, &line)) {
		if (!next_word(&line, &word))
			continue;
		if (s->n == MIO_LINES_MOST) {
			s->skipped++;
			continue;
		}
		if (!mio_grow(&s->line, s->n, &s->room, sizeof(*s->line)))
			return -ENOMEM;
		l = &s->line[s->n];
		memset(l, 0, sizeof(*l));
		alias.at = alias.end = NULL;
		read_fields(l, line, &alias);
		/* A line without fields is none, and each key is there once. */
		if (!l->has || !key_of(word, l->key, sizeof(l->key)) || find(s, l->key, s->n)) {
			s->skipped++;
			continue;
		}
		s->n++;
		if (!alias.at)
			continue;
		if (!used) {
			room = realloc(s->text, length + 1);
			if (!room)
				return -ENOMEM;
			s->text = room;
		}
		word_of(alias, s->text + used, alias.end - alias.at + 1);
		l->alias = s->text + used;
		used += alias.end - alias.at + 1;
	}
	return 0;
}

static void begin(struct memio_stat *s)
{
	s->n = 0;
	s->gone = 0;
	s->skipped = 0;
	s->ns = 0;
}

int memio_stat_parse(struct memio_stat *s, const char *text, size_t length)
{
	begin(s);
	return read_lines(s, (struct span) { text, text + length });
}

/* 0: it was not there. Of what is no sum, as it is */
static void subtract(struct memio_line *d, const struct memio_line *then)
{
	int i;

	for (i = 0; i < MEMIO_FIELDS; i++) {
		const uint32_t bit = 1u << i;

		if (!(d->has & bit) || NO_SUMS & bit || !(then->has & bit))
			continue;
		if (d->value[i] >= then->value[i])
			d->value[i] -= then->value[i];
		else
			d->anew |= bit;
	}
}

int memio_stat_diff(const struct memio_stat *earlier, const struct memio_stat *later,
		    struct memio_stat *diff)
{
	const struct memio_line *then;
	size_t i, same = 0;

	begin(diff);
	diff->ns = later->ns > earlier->ns ? later->ns - earlier->ns : 0;
	for (i = 0; i < later->n; i++) {
		struct memio_line *d;

		if (!mio_grow(&diff->line, i, &diff->room, sizeof(*diff->line)))
			return -ENOMEM;
		d = &diff->line[i];
		*d = later->line[i];
		d->anew = 0;
		d->alias = NULL;
		diff->n++;
		then = find(earlier, d->key, i);
		if (!then)
			continue;
		same++;
		subtract(d, then);
	}
	diff->gone = earlier->n > same ? earlier->n - same : 0;
	return 0;
}

double memio_rate(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 1e9 / (double)ns : 0;
}

/* ---- membw ---- */

void memio_membw_free(struct memio_membw *b)
{
	memio_stat_free(&b->stat);
	*b = (struct memio_membw) { .valid = -1 };
}

static void read_head(struct memio_membw *b, struct span key, struct span value)
{
	uint64_t n;

	if (is(key, "source"))
		word_of(value, b->source, sizeof(b->source));
	else if (is(key, "estimator"))
		word_of(value, b->estimator, sizeof(b->estimator));
	else if (is(key, "state"))
		word_of(value, b->state, sizeof(b->state));
	else if (!number_of(value, false, &n))
		return;
	else if (is(key, "valid") && n <= 1)
		b->valid = n;
	else if (is(key, "window_us"))
		b->window_us = n;
	else if (is(key, "updated_ns"))
		b->updated_ns = n;
}

int memio_membw_parse(struct memio_membw *b, const char *text, size_t length)
{
	struct span all = { text, text + length }, line, key, value;

	begin(&b->stat);
	*b->source = *b->estimator = *b->state = '\0';
	b->valid = -1;
	b->window_us = b->updated_ns = 0;
	while (next_line(&all, &line)) {
		if (!next_word(&line, &key))
			return read_lines(&b->stat, all);
		if (next_word(&line, &value))
			read_head(b, key, value);
	}
	return 0;
}

/* ---- pairs ---- */

void memio_flat_free(struct memio_flat *f)
{
	free(f->pair);
	*f = (struct memio_flat) { 0 };
}

const struct memio_pair *memio_flat_find(const struct memio_flat *f, const char *key)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (!strcmp(f->pair[i].key, key))
			return &f->pair[i];
	return NULL;
}

uint64_t memio_flat_get(const struct memio_flat *f, const char *key)
{
	const struct memio_pair *p = memio_flat_find(f, key);

	return p ? p->value : 0;
}

/* "KEY", or "KEY.sub" if @sub is not NULL */
static int add_pair(struct memio_flat *f, struct span key, const struct span *sub,
		    struct span value)
{
	struct memio_pair *p;
	size_t n;

	if (f->n == MIO_LINES_MOST)
		return 0;
	if (!mio_grow(&f->pair, f->n, &f->room, sizeof(*f->pair)))
		return -ENOMEM;
	p = &f->pair[f->n];
	memset(p, 0, sizeof(*p));
	if (!key_of(key, p->key, MEMIO_NAME_MAX))
		return 0;
	if (sub) {
		n = strlen(p->key);
		p->key[n++] = '.';
		if (!key_of(*sub, p->key + n, sizeof(p->key) - n))
			return 0;
	}
	word_of(value, p->word, sizeof(p->word));
	if (!number_of(value, false, &p->value))
		p->value = 0;
	if (!memio_flat_find(f, p->key))
		f->n++;
	return 0;
}

int memio_flat_parse(struct memio_flat *f, const char *text, size_t length)
{
	struct span all = { text, text + length }, line, key, word, name, value;
	int err = 0;

	f->n = 0;
	while (!err && next_line(&all, &line)) {
		if (!next_word(&line, &key))
			continue;
		while (!err && next_word(&line, &word)) {
			if (split(word, &name, &value)) {
				err = add_pair(f, key, &name, value);
				continue;
			}
			err = add_pair(f, key, NULL, word);
			break;
		}
	}
	return err;
}

/* ---- memio.limit ---- */

void memio_limits_free(struct memio_limits *l)
{
	free(l->limit);
	*l = (struct memio_limits) { 0 };
}

const struct memio_limit *memio_limits_find(const struct memio_limits *l, const char *key)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (!strcmp(l->limit[i].key, key))
			return &l->limit[i];
	return NULL;
}

int memio_limits_parse(struct memio_limits *l, const char *text, size_t length)
{
	struct span all = { text, text + length }, line, word, name, value;
	struct memio_limit *limit;
	int way;

	l->n = 0;
	while (next_line(&all, &line)) {
		bool any = false;

		if (!next_word(&line, &word) || l->n == MIO_LINES_MOST)
			continue;
		if (!mio_grow(&l->limit, l->n, &l->room, sizeof(*l->limit)))
			return -ENOMEM;
		limit = &l->limit[l->n];
		*limit = (struct memio_limit) {
			.rate = { MEMIO_RATE_MAX, MEMIO_RATE_MAX, MEMIO_RATE_MAX },
		};
		if (!key_of(word, limit->key, sizeof(limit->key)))
			continue;
		while (next_word(&line, &word)) {
			if (!split(word, &name, &value))
				continue;
			for (way = 0; way < MEMIO_WAYS; way++) {
				uint64_t n;

				if (!is(name, memio_way_name(way)) ||
				    !number_of(value, false, &n))
					continue;
				limit->rate[way] = n < MEMIO_RATE_KEEP ? n : MEMIO_RATE_MAX;
				any = true;
			}
		}
		if (any && !memio_limits_find(l, limit->key))
			l->n++;
	}
	return 0;
}

size_t mio_cpus(const char *text, int *cpu, size_t most)
{
	size_t n = 0;
	long at, last;
	char *end;

	for (; n < most; text = end + 1) {
		at = last = strtol(text, &end, 10);
		if (end == text)
			break;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (; at <= last && n < most; at++)
			cpu[n++] = at;
		if (*end != ',')
			break;
	}
	return n;
}

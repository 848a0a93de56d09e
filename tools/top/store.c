// SPDX-License-Identifier: GPL-2.0
/*
 * memio top: the store, see store.h
 *
 * A table of hashes with chains. It grows with its tracks, so that 10,000 tasks cost no more
 * each than ten.
 */
#include <stdlib.h>
#include <string.h>

#include "store.h"

struct store {
	struct track **slot;
	size_t mask, n;
	uint64_t serial;
};

struct store *store_new(void)
{
	struct store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->mask = 255;
	s->slot = calloc(s->mask + 1, sizeof(struct track *));
	if (s->slot)
		return s;
	free(s);
	return NULL;
}

static void track_free(struct track *t)
{
	memio_stat_free(&t->now);
	memio_stat_free(&t->then);
	memio_limits_free(&t->limits);
	free(t->info);
	free(t->name);
	free(t);
}

static size_t hash_of(enum track_kind kind, const char *name, pid_t pid)
{
	size_t h = 5381 + kind + (size_t)pid * 2654435761u;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h ^ h >> 15;
}

static bool has_name(const struct track *t, enum track_kind kind, const char *name, pid_t pid)
{
	return t->kind == kind && t->pid == pid && !strcmp(t->name, name);
}

struct track *store_find(struct store *s, enum track_kind kind, const char *name, pid_t pid)
{
	struct track *t = s->slot[hash_of(kind, name, pid) & s->mask];

	while (t && !has_name(t, kind, name, pid))
		t = t->chain;
	return t;
}

static void store_grow(struct store *s)
{
	const size_t mask = 2 * s->mask + 1;
	struct track **slot = calloc(mask + 1, sizeof(*slot)), *t, *next;
	size_t i;

	/* Without memory for it, chains are longer. */
	if (!slot)
		return;
	for (i = 0; i <= s->mask; i++) {
		for (t = s->slot[i]; t; t = next) {
			const size_t at = hash_of(t->kind, t->name, t->pid) & mask;

			next = t->chain;
			t->chain = slot[at];
			slot[at] = t;
		}
	}
	free(s->slot);
	s->slot = slot;
	s->mask = mask;
}

static void unlink_track(struct store *s, struct track *t)
{
	struct track **at = &s->slot[hash_of(t->kind, t->name, t->pid) & s->mask];

	while (*at != t)
		at = &(*at)->chain;
	*at = t->chain;
	s->n--;
}

struct track *store_get(struct store *s, enum track_kind kind, const char *name, pid_t pid,
			uint64_t id, uint64_t sample)
{
	struct track *t = store_find(s, kind, name, pid), **slot;

	if (t && t->id != id) {
		unlink_track(s, t);
		track_free(t);
		t = NULL;
	}
	if (t) {
		t->seen = sample;
		return t;
	}
	if (s->n > s->mask)
		store_grow(s);
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->name = strdup(name);
	if (!t->name) {
		free(t);
		return NULL;
	}
	t->kind = kind;
	t->pid = pid;
	t->id = id;
	t->serial = ++s->serial;
	t->half = -1;
	t->seen = sample;
	t->fresh = true;
	slot = &s->slot[hash_of(kind, name, pid) & s->mask];
	t->chain = *slot;
	*slot = t;
	s->n++;
	return t;
}

void store_sweep(struct store *s, uint64_t sample, uint64_t tasks_sample)
{
	struct track **at, *t;
	size_t i;

	for (i = 0; i <= s->mask; i++) {
		for (at = &s->slot[i]; (t = *at);) {
			if (t->seen >= (t->kind == TRACK_TASK ? tasks_sample : sample)) {
				at = &t->chain;
				continue;
			}
			*at = t->chain;
			track_free(t);
			s->n--;
		}
	}
}

void store_each(struct store *s, void (*each)(struct track *t))
{
	struct track *t;
	size_t i;

	for (i = 0; i <= s->mask; i++)
		for (t = s->slot[i]; t; t = t->chain)
			each(t);
}

size_t store_size(const struct store *s)
{
	return s->n;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	store_sweep(s, UINT64_MAX, UINT64_MAX);
	free(s->slot);
	free(s);
}

double track_share(const struct track *t)
{
	if (t->figures & 1u << FIG_READ)
		return t->rate[FIG_READ] + t->rate[FIG_WRITE];
	return t->figures & 1u << FIG_TO ? t->rate[FIG_TO] + t->rate[FIG_FROM] : 0;
}

void track_remember(struct track *t, double bps)
{
	t->history[t->histories++ % HISTORY] = bps;
}

double track_history(const struct track *t, unsigned int n)
{
	if (n >= HISTORY || n >= t->histories)
		return -1;
	return t->history[(t->histories - 1 - n) % HISTORY];
}

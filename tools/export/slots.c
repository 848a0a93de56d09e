// SPDX-License-Identifier: GPL-2.0
/*
 * memio export: a bound of how many groups are named, see metrics.h
 *
 * Prometheus keeps a series for each name that it ever saw, for as long as its storage goes back. A
 * machine that makes a group for each job would fill it. So there are as many slots as the user
 * wants names. A name keeps its slot for an hour after its group was exported last, and a
 * name without a slot is left out: its bytes are a part of the group above it.
 */
#include <stdlib.h>
#include <string.h>

#include "metrics.h"

struct slot {
	char *name;			/* NULL: it is free */
	uint64_t used_s;
};

struct slots {
	unsigned int most, used;
	size_t mask;			/* of @table, a power of 2 of at least twice @most */
	struct slot *table;
	uint64_t swept_s;
};

struct slots *slots_new(unsigned int most)
{
	struct slots *s = calloc(1, sizeof(*s));
	size_t n = 16;

	while (n < 2 * (size_t)most)
		n *= 2;
	if (!s)
		return NULL;
	s->most = most;
	s->mask = n - 1;
	s->table = calloc(n, sizeof(*s->table));
	if (s->table)
		return s;
	free(s);
	return NULL;
}

void slots_free(struct slots *s)
{
	size_t i;

	for (i = 0; s && i <= s->mask; i++)
		free(s->table[i].name);
	if (s)
		free(s->table);
	free(s);
}

unsigned int slots_used(const struct slots *s)
{
	return s->used;
}

static struct slot *slot_of(struct slots *s, const char *name)
{
	size_t at = 14695981039346656037u & SIZE_MAX;
	const char *c;

	for (c = name; *c; c++)
		at = (at ^ (unsigned char)*c) * 1099511628211u;
	at ^= at >> 29;
	while (s->table[at & s->mask].name && strcmp(s->table[at & s->mask].name, name))
		at++;
	return &s->table[at & s->mask];
}

/* Frees the slots whose time is over. The others find new places, as these are found by probing. */
static void sweep(struct slots *s, uint64_t now_s)
{
	struct slot *old = s->table, *table = calloc(s->mask + 1, sizeof(*table));
	size_t i;

	if (!table)
		return;
	s->table = table;
	s->used = 0;
	s->swept_s = now_s;
	for (i = 0; i <= s->mask; i++) {
		if (!old[i].name)
			continue;
		if (old[i].used_s + SLOTS_HOLD_S < now_s) {
			free(old[i].name);
			continue;
		}
		*slot_of(s, old[i].name) = old[i];
		s->used++;
	}
	free(old);
}

bool slots_take(struct slots *s, const char *name, uint64_t now_s)
{
	struct slot *slot = slot_of(s, name);

	if (!slot->name && s->used == s->most && now_s > s->swept_s) {
		sweep(s, now_s);
		slot = slot_of(s, name);
	}
	if (!slot->name) {
		if (s->used == s->most)
			return false;
		slot->name = strdup(name);
		if (!slot->name)
			return false;
		s->used++;
	}
	slot->used_s = now_s;
	return true;
}

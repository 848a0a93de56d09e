// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: samples: many groups and tasks at one time, and differences to an earlier one
 *
 * Entries are found by a table of hashes, as there may be thousands. A sample that begins
 * anew keeps its memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

struct memio_sample {
	struct memio_entry *entry;
	size_t n, room, used;		/* beyond @n are old ones, with their memory, up to @used */
	uint32_t *table;		/* index + 1, by hash; 0: free */
	size_t mask;
	struct memio_membw membw;
	struct memio_flat events;
};

struct memio_sample *memio_sample_new(void)
{
	return calloc(1, sizeof(struct memio_sample));
}

void memio_sample_free(struct memio_sample *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->used; i++) {
		free(s->entry[i].path);
		memio_stat_free(&s->entry[i].stat);
	}
	memio_membw_free(&s->membw);
	memio_flat_free(&s->events);
	free(s->entry);
	free(s->table);
	free(s);
}

void memio_sample_begin(struct memio_sample *s)
{
	s->n = 0;
	if (s->table)
		memset(s->table, 0, (s->mask + 1) * sizeof(*s->table));
}

size_t memio_sample_size(const struct memio_sample *s)
{
	return s->n;
}

const struct memio_entry *memio_sample_entry(const struct memio_sample *s, size_t i)
{
	return i < s->n ? &s->entry[i] : NULL;
}

static size_t hash_of(const struct memio_entry *e)
{
	const char *c;
	size_t h = 5381;

	if (e->kind == MEMIO_IS_TASK)
		return (size_t)e->pid * 2654435761u ^ (size_t)e->tid * 40503;
	for (c = e->path; *c; c++)
		h = h * 33 + (unsigned char)*c;
	return h ^ h >> 15;
}

static bool same_name(const struct memio_entry *a, const struct memio_entry *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == MEMIO_IS_TASK)
		return a->pid == b->pid && a->tid == b->tid;
	return !strcmp(a->path, b->path);
}

static void put(struct memio_sample *s, size_t i)
{
	size_t at = hash_of(&s->entry[i]) & s->mask;

	while (s->table[at])
		at = (at + 1) & s->mask;
	s->table[at] = i + 1;
}

/* Half of the table is free. */
static bool make_room(struct memio_sample *s)
{
	size_t slots, i;
	uint32_t *table;

	if (s->table && 2 * (s->n + 1) <= s->mask)
		return true;
	slots = s->table ? 2 * (s->mask + 1) : 64;
	table = calloc(slots, sizeof(*table));
	if (!table)
		return false;
	free(s->table);
	s->table = table;
	s->mask = slots - 1;
	for (i = 0; i < s->n; i++)
		put(s, i);
	return true;
}

static const struct memio_entry *named(const struct memio_sample *s, const struct memio_entry *like)
{
	size_t at;

	if (!s->table)
		return NULL;
	for (at = hash_of(like) & s->mask; s->table[at]; at = (at + 1) & s->mask)
		if (same_name(&s->entry[s->table[at] - 1], like))
			return &s->entry[s->table[at] - 1];
	return NULL;
}

const struct memio_entry *memio_sample_find(const struct memio_sample *s,
					    const struct memio_entry *like)
{
	const struct memio_entry *e = named(s, like);

	return e && e->id == like->id ? e : NULL;
}

/* One that is filled in, and then kept; its memory may be of an earlier one. */
static struct memio_entry *fresh(struct memio_sample *s)
{
	struct memio_entry *e;

	if (!mio_grow(&s->entry, s->n, &s->room, sizeof(*s->entry)) || !make_room(s))
		return NULL;
	e = &s->entry[s->n];
	if (s->n == s->used) {
		memset(e, 0, sizeof(*e));
		s->used++;
	}
	free(e->path);
	e->path = NULL;
	e->stat.n = 0;
	e->pid = e->tid = 0;
	e->id = e->stopped_usec = 0;
	e->error = 0;
	e->accounted = false;
	return e;
}

static int keep(struct memio_sample *s, const struct memio_entry *e)
{
	/* It is there already. */
	if (named(s, e))
		return 0;
	put(s, s->n++);
	return 0;
}

static bool is_there(struct memio *m, const char *group)
{
	char path[MIO_PATH_MOST];

	return !mio_group_path(m, group, "cgroup.procs", path) && !access(path, F_OK);
}

static int add_group(struct memio *m, struct memio_sample *s, const char *path, uint64_t inode)
{
	struct memio_entry *e = fresh(s);
	int err;

	if (!e)
		return mio_fail(m, -ENOMEM, "no memory");
	e->kind = MEMIO_IS_GROUP;
	e->id = inode;
	e->path = strdup(path);
	if (!e->path)
		return mio_fail(m, -ENOMEM, "no memory");
	err = memio_group_stat(m, path, MEMIO_TREE, &e->stat);
	/* Its directory was there a moment ago. */
	if (err == -ENOMEM || err == -ENODEV || (err == -ENOENT && !is_there(m, path)))
		return err;
	e->accounted = !err;
	e->error = err;
	if (!err && !memio_group_events(m, path, MEMIO_TREE, &s->events))
		e->stopped_usec = memio_flat_get(&s->events, "throttled_usec");
	return keep(s, e);
}

struct tree {
	struct memio *m;
	struct memio_sample *s;
	bool all;
};

static int note_group(const struct memio_group *g, void *arg)
{
	struct tree *t = arg;
	int err = 0;

	if (g->accounted || t->all)
		err = add_group(t->m, t->s, g->path, g->inode);
	if ((err == -ENOENT || err == -ENODEV) && !t->all)
		return 1;
	if (err)
		return err;
	/* Below a group that has no figures, no other has. */
	return t->all || !g->accounted;
}

int memio_sample_group(struct memio *m, struct memio_sample *s, const char *path)
{
	struct tree t = { m, s, true };

	return memio_groups(m, path, note_group, &t);
}

int memio_sample_tree(struct memio *m, struct memio_sample *s, const char *path)
{
	struct tree t = { m, s, false };

	return memio_groups(m, path, note_group, &t);
}

int memio_sample_task(struct memio *m, struct memio_sample *s, pid_t pid, pid_t tid)
{
	struct memio_entry *e = fresh(s);
	struct memio_stat old;
	struct memio_task task;
	int err;

	if (!e)
		return mio_fail(m, -ENOMEM, "no memory");
	err = memio_task_info(m, pid, tid, false, &task);
	if (err)
		return err;
	e->kind = MEMIO_IS_TASK;
	e->pid = pid;
	e->tid = tid;
	e->id = task.start;
	err = memio_task_membw(m, pid, tid, &s->membw);
	if (err == -ESRCH || err == -ENOMEM)
		return err;
	e->accounted = !err;
	e->error = err;
	if (!err) {
		old = e->stat;
		e->stat = s->membw.stat;
		s->membw.stat = old;
	}
	return keep(s, e);
}

int memio_sample_diff(const struct memio_sample *earlier, const struct memio_entry *entry,
		      struct memio_stat *diff)
{
	static const struct memio_stat nothing;
	const struct memio_entry *then = memio_sample_find(earlier, entry);
	int err;

	if (then && !then->accounted)
		then = NULL;
	err = memio_stat_diff(then ? &then->stat : &nothing, &entry->stat, diff);
	if (!then && !err)
		diff->ns = 0;
	return err ? err : !then;
}

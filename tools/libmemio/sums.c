// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio, inside: sums of rows, see sums.h
 *
 * With prices, what a row has moved since the last snapshot has the price of that time, and the
 * bounds (mio_bound()).
 *
 * Rows are sorted by whose they are. A group's row goes to each group above it, too: trees are
 * not deep, and groups that moved something are few beside the bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "sums.h"

#define DEEP_MOST	64		/* groups above each other; more are a circle */

struct pair {
	uint64_t id, parent;
};

/* Of groups @id is the group; of threads the process, and @tid and @leader tell which */
struct row {
	uint64_t id, leader;
	pid_t tid;
	int device;
	uint64_t to, from;
	double read, write;		/* memory bytes, of all but */
	uint64_t unpriced_to, unpriced_from;
	double read_min, read_max, write_min, write_max;	/* of all */
	uint64_t last;			/* bytes of the last window, in both directions */
};

struct rows {
	struct row *row;
	size_t n, room;
};

struct sums {
	char (*name)[MEMIO_NAME_MAX];
	size_t names, names_room;
	struct pair *pair;
	size_t pairs, pairs_room;
	struct rows total, local, tree, task;
	struct rows settled_group, settled_task;	/* over all snapshots */
	struct rows was_total, was_local, was_task;	/* in the last one, with their prices */
	bool priced, cpu, cpu_valid;
};

struct sums *sums_new(void)
{
	return calloc(1, sizeof(struct sums));
}

void sums_free(struct sums *s)
{
	if (!s)
		return;
	free(s->name);
	free(s->pair);
	free(s->total.row);
	free(s->local.row);
	free(s->tree.row);
	free(s->task.row);
	free(s->settled_group.row);
	free(s->settled_task.row);
	free(s->was_total.row);
	free(s->was_local.row);
	free(s->was_task.row);
	free(s);
}

int sums_device(struct sums *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->names; i++)
		if (!strncmp(s->name[i], name, MEMIO_NAME_MAX - 1))
			return i;
	if (!mio_grow(&s->name, s->names, &s->names_room, sizeof(*s->name)))
		return -1;
	snprintf(s->name[s->names], MEMIO_NAME_MAX, "%.*s", MEMIO_NAME_MAX - 1, name);
	return s->names++;
}

size_t sums_devices(const struct sums *s)
{
	return s->names;
}

const char *sums_device_name(const struct sums *s, size_t i)
{
	return i < s->names ? s->name[i] : NULL;
}

static bool add(struct rows *rows, const struct row *row)
{
	if (!mio_grow(&rows->row, rows->n, &rows->room, sizeof(*rows->row)))
		return false;
	rows->row[rows->n++] = *row;
	return true;
}

void sums_with_cpu(struct sums *s, bool valid)
{
	s->cpu = true;
	s->cpu_valid = valid;
}

void sums_begin(struct sums *s)
{
	s->pairs = 0;
	s->total.n = s->local.n = s->tree.n = s->task.n = 0;
}

bool sums_total(struct sums *s, int device, uint64_t to, uint64_t from)
{
	return add(&s->total, &(struct row) { .device = device, .to = to, .from = from });
}

bool sums_parent(struct sums *s, uint64_t id, uint64_t parent)
{
	if (!mio_grow(&s->pair, s->pairs, &s->pairs_room, sizeof(*s->pair)))
		return false;
	s->pair[s->pairs++] = (struct pair) { id, parent };
	return true;
}

bool sums_group(struct sums *s, uint64_t id, int device, uint64_t to, uint64_t from)
{
	return add(&s->local, &(struct row) { .id = id, .device = device, .to = to, .from = from });
}

bool sums_task(struct sums *s, pid_t pid, pid_t tid, uint64_t leader, int device, uint64_t to,
	       uint64_t from)
{
	return add(&s->task, &(struct row) { .id = pid, .tid = tid, .leader = leader,
			.device = device, .to = to, .from = from });
}

/* ---- what is gone ---- */

static bool is_of(const struct row *r, const struct row *like)
{
	return r->id == like->id && r->leader == like->leader && r->tid == like->tid &&
	       r->device == like->device;
}

static void add_up(struct row *sum, const struct row *more)
{
	sum->to += more->to;
	sum->from += more->from;
	sum->read += more->read;
	sum->write += more->write;
	sum->unpriced_to += more->unpriced_to;
	sum->unpriced_from += more->unpriced_from;
	sum->read_min += more->read_min;
	sum->read_max += more->read_max;
	sum->write_min += more->write_min;
	sum->write_max += more->write_max;
	sum->last += more->last;
}

/* Joins what is that one's already */
static bool join(struct rows *rows, const struct row *row)
{
	size_t i;

	for (i = 0; i < rows->n; i++) {
		if (is_of(&rows->row[i], row)) {
			add_up(&rows->row[i], row);
			return true;
		}
	}
	return add(rows, row);
}

/* Of what @gone had, the prices that it was given stay. */
static bool settle(struct rows *settled, struct rows *was, const struct row *gone,
		   const struct row *to)
{
	struct row moved;
	size_t i;

	for (i = 0; i < was->n; i++) {
		if (!is_of(&was->row[i], gone))
			continue;
		moved = was->row[i];
		was->row[i] = was->row[--was->n];
		moved.id = to->id;
		moved.leader = to->leader;
		moved.tid = to->tid;
		if (!join(was, &moved))
			return false;
		break;
	}
	return join(settled, to);
}

bool sums_settle_group(struct sums *s, uint64_t id, uint64_t above, int device, uint64_t to,
		       uint64_t from)
{
	const struct row gone = { .id = id, .device = device };

	return settle(&s->settled_group, &s->was_local, &gone, &(struct row) { .id = above,
			.device = device, .to = to, .from = from });
}

bool sums_settle_task(struct sums *s, pid_t pid, pid_t tid, uint64_t leader, int device,
		      uint64_t to, uint64_t from)
{
	return settle(&s->settled_task, &s->was_task, &(struct row) { .id = pid, .tid = tid,
			.leader = leader, .device = device }, &(struct row) { .id = pid,
			.leader = leader, .device = device, .to = to, .from = from });
}

void sums_forget(struct sums *s, pid_t pid)
{
	struct rows *rows = &s->settled_task;
	size_t i, n = 0;

	for (i = 0; i < rows->n; i++)
		if (rows->row[i].id != (uint64_t)pid)
			rows->row[n++] = rows->row[i];
	rows->n = n;
}

/* ---- the tree ---- */

static int by_id(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_all(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->leader != y->leader)
		return x->leader < y->leader ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* 0: it has none above it, or that is not known */
static uint64_t parent_of(const struct sums *s, uint64_t id)
{
	const struct pair key = { .id = id };
	const struct pair *p = s->pairs ? bsearch(&key, s->pair, s->pairs, sizeof(key), by_pair) :
					  NULL;

	return p ? p->parent : 0;
}

static bool climb(struct sums *s, struct row row)
{
	int deep;

	for (deep = 0; row.id && deep < DEEP_MOST; deep++) {
		if (!add(&s->tree, &row))
			return false;
		row.id = parent_of(s, row.id);
	}
	return true;
}

/* ---- prices ---- */

/* One row for each, in order */
static void merge(struct rows *rows)
{
	size_t i, n = 0;

	if (rows->n)
		qsort(rows->row, rows->n, sizeof(*rows->row), by_all);
	for (i = 0; i < rows->n; i++) {
		if (n && is_of(&rows->row[n - 1], &rows->row[i]))
			add_up(&rows->row[n - 1], &rows->row[i]);
		else
			rows->row[n++] = rows->row[i];
	}
	rows->n = n;
}

/* Adds a cost and its bounds, which it is within. */
static void add_cost(double *sum, double *sum_min, double *sum_max, double cost, double least,
		     double most)
{
	*sum += cost;
	*sum_min += cost < least ? cost : least;
	*sum_max += cost > most ? cost : most;
}

static void add_priced(struct row *row, const struct mio_price *p, uint64_t to, uint64_t from)
{
	const double near = to + from + row->last;
	const struct mio_part of_to = { to, near }, of_from = { from, near };
	double least = 0, most = 0;

	mio_bound(&p->to, p->to.read, &of_to, &least, &most);
	mio_bound(&p->from, p->from.read, &of_from, &least, &most);
	add_cost(&row->read, &row->read_min, &row->read_max, p->to_read * to + p->from_read * from,
		 least, most);
	least = 0;
	most = 0;
	mio_bound(&p->to, p->to.write, &of_to, &least, &most);
	mio_bound(&p->from, p->from.write, &of_from, &least, &most);
	add_cost(&row->write, &row->write_min, &row->write_max,
		 p->from_write * from + p->to_write * to, least, most);
}

/* What is new since @was has this price. A row that went back has begun anew. */
static void price_row(struct row *row, const struct row *was, const struct mio_price *price)
{
	const bool anew = !was || row->to < was->to || row->from < was->from;
	const uint64_t to = row->to - (anew ? 0 : was->to);
	const uint64_t from = row->from - (anew ? 0 : was->from);
	struct row had = { 0 };

	/* These are memory bytes as they are. */
	if (row->device == SUMS_CPU)
		return;
	if (was) {
		had = *was;
		had.to = 0;
		had.from = 0;
		add_up(row, &had);
	}
	if (!to && !from && !row->last)
		return;
	if (price->known) {
		add_priced(row, price, to, from);
	} else {
		row->unpriced_to += to;
		row->unpriced_from += from;
		/* A line that a device wrote in part had to be read. */
		row->read_max += to + from;
		row->write_max += from + to * MIO_ALONG_MOST;
	}
	row->last = to + from;
}

static bool price_rows(struct rows *rows, struct rows *was, const struct mio_price *price)
{
	size_t i, k = 0;

	merge(rows);
	merge(was);
	for (i = 0; i < rows->n; i++) {
		while (k < was->n && by_all(&was->row[k], &rows->row[i]) < 0)
			k++;
		price_row(&rows->row[i], k < was->n && is_of(&was->row[k], &rows->row[i]) ?
			  &was->row[k] : NULL, price);
	}
	was->n = 0;
	for (i = 0; i < rows->n; i++)
		if (!add(was, &rows->row[i]))
			return false;
	return true;
}

static void add_rows(const struct rows *rows, uint64_t sum[2], int sign)
{
	size_t i;

	for (i = 0; i < rows->n; i++) {
		if (rows->row[i].device == SUMS_CPU)
			continue;
		sum[0] += sign * rows->row[i].to;
		sum[1] += sign * rows->row[i].from;
	}
}

void sums_moved(struct sums *s, uint64_t *to, uint64_t *from)
{
	uint64_t sum[2] = { 0 };

	add_rows(&s->total, sum, 1);
	add_rows(&s->was_total, sum, -1);
	*to = sum[0];
	*from = sum[1];
}

void sums_claimed(struct sums *s, uint64_t *to, uint64_t *from)
{
	uint64_t sum[2] = { 0 };

	add_rows(&s->local, sum, 1);
	add_rows(&s->settled_group, sum, 1);
	add_rows(&s->was_local, sum, -1);
	/* A row that began anew has less than it had. */
	*to = (int64_t)sum[0] > 0 ? sum[0] : 0;
	*from = (int64_t)sum[1] > 0 ? sum[1] : 0;
}

bool sums_end(struct sums *s, const struct mio_price *price, const struct mio_price *claimed)
{
	size_t i;

	/* An empty array may be no array at all. */
	if (s->pairs)
		qsort(s->pair, s->pairs, sizeof(*s->pair), by_pair);
	for (i = 0; i < s->settled_group.n; i++)
		if (!add(&s->local, &s->settled_group.row[i]))
			return false;
	for (i = 0; i < s->settled_task.n; i++)
		if (!add(&s->task, &s->settled_task.row[i]))
			return false;
	if (price)
		s->priced = true;
	if (price && (!price_rows(&s->total, &s->was_total, price) ||
		      !price_rows(&s->local, &s->was_local, claimed) ||
		      !price_rows(&s->task, &s->was_task, claimed)))
		return false;
	for (i = 0; i < s->local.n; i++)
		if (!climb(s, s->local.row[i]))
			return false;
	if (s->local.n)
		qsort(s->local.row, s->local.n, sizeof(*s->local.row), by_id);
	if (s->tree.n)
		qsort(s->tree.row, s->tree.n, sizeof(*s->tree.row), by_id);
	if (s->task.n)
		qsort(s->task.row, s->task.n, sizeof(*s->task.row), by_id);
	return true;
}

/* ---- answers ---- */

static size_t first_of(const struct rows *rows, uint64_t id)
{
	size_t low = 0, high = rows->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (rows->row[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A line for each device, "cpu" if that is counted, and "total", all 0 */
static int begin(const struct sums *s, struct memio_stat *stat)
{
	size_t i;

	stat->n = 0;
	for (i = 0; i <= s->names + s->cpu; i++) {
		struct memio_line *l;

		if (!mio_grow(&stat->line, stat->n, &stat->room, sizeof(*stat->line)))
			return -ENOMEM;
		l = &stat->line[stat->n++];
		memset(l, 0, sizeof(*l));
		if (s->cpu && i == s->names) {
			stpcpy(l->key, "cpu");
			l->has = 1u << MEMIO_MEM_READ | 1u << MEMIO_VALID;
			l->value[MEMIO_VALID] = s->cpu_valid;
			continue;
		}
		stpcpy(l->key, i < s->names ? s->name[i] : "total");
		l->has = 1u << MEMIO_IO_TO | 1u << MEMIO_IO_FROM;
		if (s->priced)
			l->has |= 1u << MEMIO_MEM_READ | 1u << MEMIO_MEM_WRITE |
				  1u << MEMIO_UNPRICED_TO | 1u << MEMIO_UNPRICED_FROM |
				  1u << MEMIO_MEM_READ_MIN | 1u << MEMIO_MEM_READ_MAX |
				  1u << MEMIO_MEM_WRITE_MIN | 1u << MEMIO_MEM_WRITE_MAX;
	}
	return 0;
}

static void count_line(struct memio_line *l, const struct row *row)
{
	l->value[MEMIO_IO_TO] += row->to;
	l->value[MEMIO_IO_FROM] += row->from;
	/* Bytes without a price count as memory bytes, as in memio.stat. */
	l->value[MEMIO_MEM_READ] += (uint64_t)row->read + row->unpriced_to;
	l->value[MEMIO_MEM_WRITE] += (uint64_t)row->write + row->unpriced_from;
	l->value[MEMIO_UNPRICED_TO] += row->unpriced_to;
	l->value[MEMIO_UNPRICED_FROM] += row->unpriced_from;
	l->value[MEMIO_MEM_READ_MIN] += (uint64_t)row->read_min;
	l->value[MEMIO_MEM_READ_MAX] += (uint64_t)row->read_max;
	l->value[MEMIO_MEM_WRITE_MIN] += (uint64_t)row->write_min;
	l->value[MEMIO_MEM_WRITE_MAX] += (uint64_t)row->write_max;
}

static void count(const struct sums *s, struct memio_stat *stat, const struct row *row)
{
	struct memio_line *total = &stat->line[s->names + s->cpu];

	if (row->device == SUMS_CPU && s->cpu) {
		stat->line[s->names].value[MEMIO_MEM_READ] += row->from;
		total->value[MEMIO_MEM_READ] += row->from;
		/* These are counted. */
		total->value[MEMIO_MEM_READ_MIN] += row->from;
		total->value[MEMIO_MEM_READ_MAX] += row->from;
		return;
	}
	if (row->device < 0 || (size_t)row->device >= s->names)
		return;
	count_line(&stat->line[row->device], row);
	count_line(total, row);
}

/* The machine's: what devices moved, and the part of it that has no owner */
static int root_stat(const struct sums *s, struct memio_stat *stat)
{
	struct memio_stat owned = { 0 };
	size_t i;
	int err;

	err = begin(s, stat);
	if (!err)
		err = begin(s, &owned);
	for (i = 0; !err && i < s->total.n; i++)
		count(s, stat, &s->total.row[i]);
	for (i = 0; !err && i < s->local.n; i++)
		count(s, &owned, &s->local.row[i]);
	for (i = 0; !err && i < stat->n; i++) {
		struct memio_line *l = &stat->line[i];

		if (!(l->has & 1u << MEMIO_IO_TO))
			continue;
		l->has |= 1u << MEMIO_UNCLAIMED_TO | 1u << MEMIO_UNCLAIMED_FROM;
		l->value[MEMIO_UNCLAIMED_TO] = l->value[MEMIO_IO_TO] -
					       memio_get(&owned.line[i], MEMIO_IO_TO);
		l->value[MEMIO_UNCLAIMED_FROM] = l->value[MEMIO_IO_FROM] -
						 memio_get(&owned.line[i], MEMIO_IO_FROM);
	}
	memio_stat_free(&owned);
	return err;
}

int sums_group_stat(const struct sums *s, uint64_t id, enum memio_scope scope,
		    struct memio_stat *stat)
{
	const struct rows *rows = scope == MEMIO_LOCAL ? &s->local : &s->tree;
	size_t i;
	int err;

	if (id == SUMS_ROOT && scope == MEMIO_TREE)
		return root_stat(s, stat);
	err = begin(s, stat);
	for (i = first_of(rows, id); !err && i < rows->n && rows->row[i].id == id; i++)
		count(s, stat, &rows->row[i]);
	return err;
}

int sums_task_stat(const struct sums *s, pid_t pid, pid_t tid, struct memio_stat *stat)
{
	const struct rows *rows = &s->task;
	const size_t first = first_of(rows, pid);
	uint64_t leader = 0;
	size_t i;
	int err = begin(s, stat);

	/* Of several processes that had this number one after the other, the last */
	for (i = first; i < rows->n && rows->row[i].id == (uint64_t)pid; i++)
		if (rows->row[i].leader > leader)
			leader = rows->row[i].leader;
	for (i = first; !err && i < rows->n && rows->row[i].id == (uint64_t)pid; i++)
		if (rows->row[i].leader == leader && (!tid || rows->row[i].tid == tid))
			count(s, stat, &rows->row[i]);
	return err;
}

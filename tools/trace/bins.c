// SPDX-License-Identifier: GPL-2.0
/*
 * From times of records to events over time, by task and CPU
 *
 * Records come in the order of time, or nearly so, and tasks don't switch with each of
 * them. So the current bin and series are remembered, and a record costs a
 * comparison and an addition; what a change of either leaves is put on a list, which
 * is sorted and added up in the end.
 */
#include <stdlib.h>

#include "bins.h"
#include "command.h"

#define BINS_MAX	(1u << 24)
#define TASKS_MAX	(1u << 20)
#define CPUS_MAX	4096

struct binner {
	struct bins *b;
	bool failed;
	size_t room;			/* of b->bin */
	uint32_t *hash;			/* of tasks, index + 1; */
	uint32_t hash_size;		/* a power of two */
	uint32_t task_room, cpu_room, series_room;

	/* what the records that come belong to */
	struct format_stream stream;
	uint32_t cpu;
	uint32_t series;
	bool has_series;
	uint64_t since;			/* when the task began to run */
	uint64_t from, to;		/* ticks of the bin */
	struct bins_bin now;
};

static bool grow(struct binner *x, void *array, uint32_t used, uint32_t *room, size_t size)
{
	void **p = array;
	void *more;

	if (used < *room)
		return true;
	more = realloc(*p, (*room ? 2 * (size_t)*room : 16) * size);
	if (!more) {
		if (!x->failed)
			complain("no memory");
		x->failed = true;
		return false;
	}
	*p = more;
	*room = *room ? 2 * *room : 16;
	return true;
}

/* ---- bins ---- */

static int by_series(const void *a, const void *b)
{
	const struct bins_bin *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return x->bin < y->bin ? -1 : x->bin > y->bin;
}

static void add_up(struct bins *b)
{
	size_t i, n = 0;

	if (!b->bins)
		return;
	qsort(b->bin, b->bins, sizeof(*b->bin), by_series);
	for (i = 1; i < b->bins; i++) {
		struct bins_bin *last = &b->bin[n], *next = &b->bin[i];

		if (last->series == next->series && last->bin == next->bin) {
			last->records += next->records;
			last->events += next->events;
			last->bytes += next->bytes;
		} else {
			b->bin[++n] = *next;
		}
	}
	b->bins = n + 1;
}

/* What the current bin has goes to the list. */
static void flush(struct binner *x)
{
	struct bins *b = x->b;
	struct bins_series *s;

	if (!x->now.records || x->failed)
		return;
	s = &b->series[x->series];
	s->records += x->now.records;
	s->events += x->now.events;
	s->bytes += x->now.bytes;
	if (b->bins == x->room) {
		/* Tasks that take turns put the same bin there again and again. */
		add_up(b);
		if (b->bins >= x->room / 2) {
			struct bins_bin *more;

			if (b->bins >= BINS_MAX) {
				complain("more than %u bins: try a larger --bin-us", BINS_MAX);
				x->failed = true;
				return;
			}
			x->room = x->room ? 2 * x->room : 1024;
			more = realloc(b->bin, x->room * sizeof(*more));
			if (!more) {
				complain("no memory");
				x->failed = true;
				return;
			}
			b->bin = more;
		}
	}
	b->bin[b->bins++] = x->now;
	x->now.records = 0;
	x->now.events = 0;
	x->now.bytes = 0;
}

/* Bin i is of the ticks from i * width / 1000 on; width is in thousandths. */
static __int128 edge(const struct binner *x, int64_t bin)
{
	__int128 width = (__int128)x->b->bin_us * x->stream.tsc_khz;
	__int128 ticks = width * bin;

	/* rounded up, below 0 as well */
	return ticks > 0 ? (ticks + 999) / 1000 : -(-ticks / 1000);
}

static uint64_t clamp_tsc(__int128 tsc)
{
	return tsc < 0 ? 0 : tsc > UINT64_MAX ? UINT64_MAX : tsc;
}

static void find_bin(struct binner *x, uint64_t tsc)
{
	__int128 width = (__int128)x->b->bin_us * x->stream.tsc_khz;
	__int128 ticks = ((__int128)tsc - x->b->start_tsc) * 1000;
	int64_t bin = ticks >= 0 ? ticks / width : -((-ticks + width - 1) / width);

	x->now.bin = bin;
	x->from = clamp_tsc(x->b->start_tsc + edge(x, bin));
	x->to = clamp_tsc(x->b->start_tsc + edge(x, bin + 1));
}

static void record(void *context, const struct format_state *state)
{
	struct binner *x = context;

	if (__builtin_expect(state->tsc < x->from || state->tsc >= x->to, 0)) {
		flush(x);
		find_bin(x, state->tsc);
	}
	x->now.records++;
	x->now.events += x->stream.period;
	x->now.bytes += x->stream.period * x->stream.event_bytes;
	if (__builtin_expect(x->now.records == UINT32_MAX, 0))
		flush(x);
}

/* ---- who ---- */

static uint32_t hash_of(uint32_t tid, uint32_t tgid, uint64_t cgroup)
{
	uint64_t h = (tid * 0x9e3779b97f4a7c15ull) ^ (tgid * 0xc2b2ae3d27d4eb4full) ^
		     (cgroup * 0x165667b19e3779f9ull);

	return h >> 32;
}

static bool grow_hash(struct binner *x)
{
	uint32_t size = x->hash_size ? 2 * x->hash_size : 256, i, at;
	uint32_t *hash = calloc(size, sizeof(*hash));

	if (!hash) {
		complain("no memory");
		x->failed = true;
		return false;
	}
	for (i = 0; i < x->b->tasks; i++) {
		const struct bins_task *t = &x->b->task[i];

		at = hash_of(t->tid, t->tgid, t->cgroup) & (size - 1);
		while (hash[at])
			at = (at + 1) & (size - 1);
		hash[at] = i + 1;
	}
	free(x->hash);
	x->hash = hash;
	x->hash_size = size;
	return true;
}

/* Return: its index; UINT32_MAX: failed */
static uint32_t find_task(struct binner *x, const struct format_state *s)
{
	struct bins *b = x->b;
	struct bins_task *t;
	uint32_t at;

	if (2 * b->tasks >= x->hash_size && !grow_hash(x))
		return UINT32_MAX;
	at = hash_of(s->tid, s->tgid, s->cgroup) & (x->hash_size - 1);
	for (; x->hash[at]; at = (at + 1) & (x->hash_size - 1)) {
		t = &b->task[x->hash[at] - 1];
		if (t->tid == s->tid && t->tgid == s->tgid && t->cgroup == s->cgroup) {
			memcpy(t->comm, s->comm, sizeof(t->comm));
			return x->hash[at] - 1;
		}
	}
	if (b->tasks == TASKS_MAX) {
		complain("more than %u tasks", TASKS_MAX);
		x->failed = true;
		return UINT32_MAX;
	}
	if (!grow(x, &b->task, b->tasks, &x->task_room, sizeof(*b->task)))
		return UINT32_MAX;
	t = &b->task[b->tasks];
	memset(t, 0, sizeof(*t));
	t->tid = s->tid;
	t->tgid = s->tgid;
	t->cgroup = s->cgroup;
	memcpy(t->comm, s->comm, sizeof(t->comm));
	x->hash[at] = b->tasks + 1;
	return b->tasks++;
}

static uint32_t find_cpu(struct binner *x, uint32_t cpu)
{
	struct bins *b = x->b;
	uint32_t i;

	for (i = 0; i < b->cpus; i++)
		if (b->cpu[i].cpu == cpu)
			return i;
	if (b->cpus == CPUS_MAX) {
		if (!x->failed)
			complain("more than %u CPUs", CPUS_MAX);
		x->failed = true;
		return UINT32_MAX;
	}
	if (!grow(x, &b->cpu, b->cpus, &x->cpu_room, sizeof(*b->cpu)))
		return UINT32_MAX;
	memset(&b->cpu[b->cpus], 0, sizeof(*b->cpu));
	b->cpu[b->cpus].cpu = cpu;
	return b->cpus++;
}

/* From now on records are of this task. */
static void set_task(struct binner *x, const struct format_state *state)
{
	struct bins *b = x->b;
	struct bins_series *s;
	uint32_t task, at;

	x->since = state->tsc;
	x->has_series = false;
	if (x->failed)
		return;
	task = find_task(x, state);
	if (task == UINT32_MAX)
		return;
	for (at = b->task[task].first; at; at = b->series[at - 1].next)
		if (b->series[at - 1].cpu == x->cpu)
			break;
	if (!at) {
		if (!grow(x, &b->series, b->all_series, &x->series_room, sizeof(*b->series)))
			return;
		s = &b->series[b->all_series++];
		memset(s, 0, sizeof(*s));
		s->cpu = x->cpu;
		s->task = task;
		s->next = b->task[task].first;
		at = b->all_series;
		b->task[task].first = at;
	}
	x->series = at - 1;
	x->now.series = at - 1;
	x->has_series = true;
}

/* The task ran until then. */
static void ran(struct binner *x, uint64_t tsc)
{
	if (x->has_series && tsc > x->since)
		x->b->task[x->b->series[x->series].task].run_s +=
			(tsc - x->since) / 1e3 / x->stream.tsc_khz;
}

static void begin(void *context, const struct format_stream *stream,
		  const struct format_state *state, bool chosen)
{
	struct binner *x = context;
	struct bins *b = x->b;

	x->stream = *stream;
	x->has_series = false;
	x->cpu = find_cpu(x, stream->cpu);
	if (x->failed)
		return;
	b->cpu[x->cpu].stream = *stream;
	find_bin(x, state->tsc);
	if (!b->clocks && state->mono_ns) {
		b->start_ns = stream_ns(state, stream->tsc_khz, b->start_tsc);
		b->start_real_ns = b->start_ns - state->mono_ns + state->real_ns;
		b->clocks = true;
	}
	x->since = state->tsc;
	if (chosen)
		set_task(x, state);
}

static void marker(void *context, enum stream_kind kind, const struct format_state *before,
		   const struct format_state *after, uint64_t lost, bool chosen)
{
	struct binner *x = context;

	if (x->failed)
		return;
	switch (kind) {
	case STREAM_LOST:
		x->b->cpu[x->cpu].lost += lost;
		break;
	case STREAM_SYNC:
		/* Who ran between the two times is not known if something was lost. */
		ran(x, before->tsc);
		x->since = after->tsc;
		break;
	case STREAM_SWITCH:
		ran(x, after->tsc);
		flush(x);
		/* A SYNC's says again who runs. */
		if (before->tid != after->tid)
			x->b->cpu[x->cpu].switches++;
		x->has_series = false;
		if (chosen)
			set_task(x, after);
		break;
	default:
		break;
	}
}

static void end(void *context, const struct format_state *state)
{
	struct binner *x = context;

	ran(x, state->tsc);
	flush(x);
}

static void stats(void *context, const struct format_stats *s)
{
	struct binner *x = context;
	uint32_t cpu = find_cpu(x, s->stream.cpu);

	if (cpu == UINT32_MAX)
		return;
	x->b->cpu[cpu].stats = *s;
	x->b->cpu[cpu].has_stats = true;
	x->b->cpu[cpu].stream = s->stream;
}

static void file(void *context, const struct format_file *f, const char *text, size_t size)
{
	struct bins *b = ((struct binner *)context)->b;

	b->real_ns = f->real_ns;
	if (size > sizeof(b->text) - 1)
		size = sizeof(b->text) - 1;
	memcpy(b->text, text, size);
	b->text[size] = '\0';
}

/* ---- all of it ---- */

static void sums(struct bins *b)
{
	uint32_t i;

	for (i = 0; i < b->all_series; i++) {
		const struct bins_series *s = &b->series[i];

		b->cpu[s->cpu].records += s->records;
		b->cpu[s->cpu].events += s->events;
		b->cpu[s->cpu].bytes += s->bytes;
		b->task[s->task].records += s->records;
		b->task[s->task].events += s->events;
		b->task[s->task].bytes += s->bytes;
	}
	/* What is dropped last no LOST tells of, unless there was room for more after it. */
	for (i = 0; i < b->cpus; i++)
		if (b->cpu[i].stats.dropped > b->cpu[i].lost)
			b->cpu[i].lost = b->cpu[i].stats.dropped;
}

int64_t bins_number(const struct bins *b)
{
	return (int64_t)(b->seconds * 1e6 / b->bin_us) + 1;
}

/* Of the numbers that begin with 1, 2 or 5 the next one up */
static uint64_t round_up(double v)
{
	uint64_t power = 1;

	while (v > 5 * power && power < 100000000)
		power *= 10;
	return v <= power ? power : v <= 2 * power ? 2 * power : 5 * power;
}

bool bins_read(struct bins *b, const char *path, const struct filter *filter, uint64_t bin_us,
	       unsigned int points)
{
	struct binner x = { .b = b };
	struct walk w = {
		.filter = filter,
		.context = &x,
		.begin = begin,
		.record = record,
		.marker = marker,
		.end = end,
		.stats = stats,
		.file = file,
	};
	uint64_t last = 0;
	uint32_t tsc_khz = 0;
	struct format_chunk head;
	struct reader_chunk chunk;
	struct reader_block block;
	struct reader r;

	memset(b, 0, sizeof(*b));
	b->bin_us = bin_us;
	if (!reader_open(&r, path))
		return false;
	b->file_bytes = r.size;
	b->start_tsc = UINT64_MAX;
	while (reader_scan(&r, &head)) {
		if (!filter_cpu(filter, head.cpu))
			continue;
		if (head.first_tsc < b->start_tsc)
			b->start_tsc = head.first_tsc;
		if (head.last_tsc > last)
			last = head.last_tsc;
	}
	if (b->start_tsc == UINT64_MAX)
		b->start_tsc = 0;
	reader_rewind(&r);
	/* All CPUs' TSC has one rate: the first one's will do. */
	r.quiet = true;
	while (!tsc_khz && reader_next(&r, &chunk))
		if (chunk.head.type == FORMAT_DATA && reader_block(&r, &chunk, &block))
			tsc_khz = block.stream.tsc_khz;
	r.quiet = false;
	reader_rewind(&r);
	if (tsc_khz && last > b->start_tsc)
		b->seconds = (last - b->start_tsc) / 1e3 / tsc_khz;
	if (!bin_us)
		b->bin_us = round_up(b->seconds * 1e6 / points);
	b->whole = walk(&r, &w);
	b->damage = r.damage;
	reader_close(&r);
	free(x.hash);
	add_up(b);
	sums(b);
	if (x.failed)
		bins_free(b);
	return !x.failed;
}

void bins_free(struct bins *b)
{
	free(b->cpu);
	free(b->task);
	free(b->series);
	free(b->bin);
}

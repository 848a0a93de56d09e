/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: the producer's end of a trace's ring
 *
 * Plain functions, for the kernel and for programs alike: no allocation, no locks, no
 * division. What a ring is, and what readers rely on, is in uapi/linux/memio_trace.h.
 *
 * The producer works in batches: memio_trace_begin(), then the records and switches in
 * the order of their times, then memio_trace_commit(). Nothing of a batch can be seen
 * before that, and if it did not fit, nothing of it ever is: a reader that
 * lags gets time to recover, and finds whole batches or a LOST. A batch needs up to
 * MEMIO_TRACE_PREFIX words beside its own.
 *
 * All that the producer must be able to rely on is in struct memio_trace_writer,
 * which nobody else can write to. One at a time uses it, on any CPU.
 */
#ifndef _MEMIO_TRACE_RING_H
#define _MEMIO_TRACE_RING_H

#ifdef __KERNEL__
#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/types.h>
#include <uapi/linux/memio_trace.h>
#else
#include "trace_ring_user.h"
#include <linux/memio_trace.h>
#endif

/* Words of the payloads. */
#define MEMIO_TRACE_SYNC_LENGTH		(sizeof(struct memio_trace_sync) / sizeof(u32))
#define MEMIO_TRACE_SWITCH_LENGTH	(sizeof(struct memio_trace_switch) / sizeof(u32))

/* LOST, SYNC and SWITCH before a batch. */
#define MEMIO_TRACE_PREFIX \
	(3 + 1 + MEMIO_TRACE_SYNC_LENGTH + 1 + MEMIO_TRACE_SWITCH_LENGTH)

/**
 * struct memio_trace_clocks - what the clocks show at one moment
 * @tsc:	the TSC
 * @mono_ns:	CLOCK_MONOTONIC
 * @real_ns:	CLOCK_REALTIME
 */
struct memio_trace_clocks {
	u64 tsc;
	u64 mono_ns;
	u64 real_ns;
};

/**
 * struct memio_trace_task - who runs
 * @tid:	the task's id
 * @tgid:	its process's
 * @cgroup:	its group's
 * @comm:	its name
 */
struct memio_trace_task {
	u32 tid;
	u32 tgid;
	u64 cgroup;
	char comm[MEMIO_TRACE_COMM];
};

/**
 * struct memio_trace_writer - a ring's producer
 * @ring:	what readers see
 * @data:	the ring's words
 * @mask:	how many there are, less one
 * @head:	words written, as published
 * @next:	the same, with the open batch
 * @room:	words that the open batch can still take
 * @sync:	where the last SYNC begins, the open batch's included
 * @full:	the open batch did not fit
 * @synced:	a reader that has read all knows the time
 * @synced_next: the same, with the open batch
 * @tsc:	when the last record or switch was
 * @lost:	records dropped that no LOST has told of
 * @task:	who runs, dropped switches included
 * @stats:	what was done
 * @batch:	what the open batch adds to it
 */
struct memio_trace_writer {
	struct memio_trace_ring *ring;
	u32 *data;
	u32 mask;
	u32 head;
	u32 next;
	u32 room;
	u32 sync;
	bool full;
	bool synced;
	bool synced_next;
	u64 tsc;
	u64 lost;
	struct memio_trace_task task;
	struct memio_trace_stats stats;
	struct memio_trace_stats batch;
};

static inline u32 *memio_trace_word(struct memio_trace_writer *w)
{
	return &w->data[w->next++ & w->mask];
}

/* Room for a number of words in the open batch, or it is full from now on. */
static inline bool memio_trace_take(struct memio_trace_writer *w, u32 words)
{
	if (unlikely(words > w->room)) {
		w->room = 0;
		w->full = true;
		return false;
	}
	w->room -= words;
	return true;
}

static inline void memio_trace_put(struct memio_trace_writer *w, const void *from, u32 words)
{
	const u32 *word = from;

	while (words--)
		*memio_trace_word(w) = *word++;
}

static inline void memio_trace_split(u32 to[2], u64 value)
{
	to[0] = (u32)value;
	to[1] = value >> 32;
}

/* A switch to @w->task. */
static inline void memio_trace_put_task(struct memio_trace_writer *w, u64 delta)
{
	const u32 words = MEMIO_TRACE_SWITCH_LENGTH;
	struct memio_trace_switch payload;

	if (!memio_trace_take(w, 1 + words))
		return;
	memio_trace_split(payload.delta, delta);
	payload.tid = w->task.tid;
	payload.tgid = w->task.tgid;
	memio_trace_split(payload.cgroup, w->task.cgroup);
	memcpy(payload.comm, w->task.comm, sizeof(payload.comm));
	*memio_trace_word(w) = MEMIO_TRACE_MARKER(MEMIO_TRACE_SWITCH, words);
	memio_trace_put(w, &payload, words);
}

/**
 * memio_trace_init - a producer for an empty ring
 * @w:		the producer
 * @ring:	the ring, whose constant fields are set
 * @data:	its words
 * @words:	how many there are: a power of two
 * @task:	who runs
 *
 * Context: any, before anyone can see the ring.
 */
static inline void memio_trace_init(struct memio_trace_writer *w, struct memio_trace_ring *ring,
				    u32 *data, u32 words, const struct memio_trace_task *task)
{
	memset(w, 0, sizeof(*w));
	w->ring = ring;
	w->data = data;
	w->mask = words - 1;
	w->task = *task;
}

/**
 * memio_trace_begin - begin a batch
 * @w:		the producer
 * @tsc:	the time of the first record or switch that will come
 * @now:	what the clocks show
 *
 * Context: any, one at a time for each @w.
 */
static inline void memio_trace_begin(struct memio_trace_writer *w, u64 tsc,
				     const struct memio_trace_clocks *now)
{
	const u32 words = MEMIO_TRACE_SYNC_LENGTH;
	struct memio_trace_sync payload;
	u32 used, lost[2];

	/* (A): who has read a word does not read it again */
	used = w->head - smp_load_acquire(&w->ring->tail);
	memset(&w->batch, 0, sizeof(w->batch));
	w->batch.buffers = 1;
	w->batch.bad_tails = used > w->mask + 1;
	w->room = w->batch.bad_tails ? 0 : w->mask + 1 - used;
	w->full = false;
	w->next = w->head;
	w->synced_next = w->synced;
	if (w->synced && w->head - w->sync < MEMIO_TRACE_SYNC_WORDS)
		return;

	w->synced_next = true;
	w->tsc = tsc;
	if (!memio_trace_take(w, (w->lost ? 3 : 0) + 1 + words))
		return;
	w->sync = w->next;
	if (w->lost) {
		memio_trace_split(lost, w->lost);
		*memio_trace_word(w) = MEMIO_TRACE_MARKER(MEMIO_TRACE_LOST, 2);
		memio_trace_put(w, lost, 2);
	}
	memio_trace_split(payload.tsc, tsc);
	memio_trace_split(payload.clock_tsc, now->tsc);
	memio_trace_split(payload.mono_ns, now->mono_ns);
	memio_trace_split(payload.real_ns, now->real_ns);
	*memio_trace_word(w) = MEMIO_TRACE_MARKER(MEMIO_TRACE_SYNC, words);
	memio_trace_put(w, &payload, words);
	memio_trace_put_task(w, 0);
}

/**
 * memio_trace_record - the counter has overflown
 * @w:		the producer
 * @tsc:	when
 *
 * Context: within a batch.
 */
static inline void memio_trace_record(struct memio_trace_writer *w, u64 tsc)
{
	u64 delta = tsc - w->tsc;
	u32 words[2];

	w->tsc = tsc;
	w->batch.records++;
	if (likely(delta < MEMIO_TRACE_ESCAPE)) {
		if (memio_trace_take(w, 1))
			*memio_trace_word(w) = (u32)delta;
		return;
	}
	w->batch.long_deltas++;
	if (!memio_trace_take(w, 3))
		return;
	memio_trace_split(words, delta);
	*memio_trace_word(w) = MEMIO_TRACE_MARKER(MEMIO_TRACE_LONG, 2);
	memio_trace_put(w, words, 2);
}

/**
 * memio_trace_switch - another task runs
 * @w:		the producer
 * @tsc:	since when
 * @task:	which
 *
 * Context: within a batch.
 */
static inline void memio_trace_switch(struct memio_trace_writer *w, u64 tsc,
				      const struct memio_trace_task *task)
{
	u64 delta = tsc - w->tsc;

	w->tsc = tsc;
	w->task = *task;
	w->batch.switches++;
	memio_trace_put_task(w, delta);
}

/* The statistics change in the ring only where readers may look. */
static inline void memio_trace_publish_stats(struct memio_trace_writer *w)
{
	struct memio_trace_stats *to = &w->ring->stats;

	WRITE_ONCE(to->buffers, w->stats.buffers);
	WRITE_ONCE(to->records, w->stats.records);
	WRITE_ONCE(to->switches, w->stats.switches);
	WRITE_ONCE(to->overflows, w->stats.overflows);
	WRITE_ONCE(to->dropped, w->stats.dropped);
	WRITE_ONCE(to->long_deltas, w->stats.long_deltas);
	WRITE_ONCE(to->bad_tails, w->stats.bad_tails);
}

/**
 * memio_trace_lose - records were lost before they came into a batch
 * @w:		the producer
 * @records:	how many
 *
 * Counts as a batch that the ring had no room for: the next one begins with LOST.
 *
 * Context: any, one at a time for each @w, outside of batches.
 */
static inline void memio_trace_lose(struct memio_trace_writer *w, u64 records)
{
	w->lost += records;
	w->stats.buffers++;
	w->stats.overflows++;
	w->stats.dropped += records;
	w->synced = false;
	memio_trace_publish_stats(w);
}

/**
 * memio_trace_commit - show the batch to the reader, or drop it
 * @w:		the producer
 *
 * Context: after memio_trace_begin().
 * Return: whether there was room for it. If so, readers that wait are to be woken.
 */
static inline bool memio_trace_commit(struct memio_trace_writer *w)
{
	w->stats.bad_tails += w->batch.bad_tails;
	if (w->full) {
		memio_trace_lose(w, w->batch.records);
		return false;
	}
	w->stats.buffers++;
	/* There was a SYNC since, and LOST before it. */
	w->lost = 0;
	w->synced = w->synced_next;
	w->stats.records += w->batch.records;
	w->stats.switches += w->batch.switches;
	w->stats.long_deltas += w->batch.long_deltas;
	memio_trace_publish_stats(w);
	WRITE_ONCE(w->ring->sync, w->sync);
	w->head = w->next;
	smp_store_release(&w->ring->head, w->head);	/* (B) */
	return true;
}

/**
 * memio_trace_stop - no more will come
 * @w:		the producer
 *
 * What was dropped last is told by the statistics alone, unless an empty batch was
 * committed after it.
 *
 * Context: any, one at a time for each @w, outside of batches.
 */
static inline void memio_trace_stop(struct memio_trace_writer *w)
{
	/* Who sees it sees the last head. */
	smp_store_release(&w->ring->state, MEMIO_TRACE_STOPPED);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: budgets, which limits are made of (budget.c)
 */
#ifndef _MEMIO_BUDGET_H
#define _MEMIO_BUDGET_H

#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* What a rate limits: bytes of both directions together, read, written */
enum memio_way {
	MEMIO_BPS,
	MEMIO_RBPS,
	MEMIO_WBPS,
	MEMIO_WAYS
};

#define MEMIO_NO_LIMIT		U64_MAX
#define MEMIO_RATE_MAX		BIT_ULL(50)	/* bytes per second; the least is 1 */
#define MEMIO_STEP_SHIFT	40
#define MEMIO_CHUNK_LOG2	2	/* a period's budget is spent in four chunks */

/* Debt is what is earned in so long, at most, unless the pool says otherwise. */
#define MEMIO_DEBT_NS		(10ULL * NSEC_PER_SEC)
#define MEMIO_DEBT_NS_MAX	(3600ULL * NSEC_PER_SEC)
/* Who is stopped for so long runs for a moment whatever it owes; the next time, for longer. */
#define MEMIO_PATIENCE_NS	(10ULL * NSEC_PER_SEC)
/* Time between two fills counts up to here, more than any debt takes: it is paid unseen. */
#define MEMIO_FILL_NS_MAX	BIT_ULL(42)

/**
 * struct memio_pool - what a group may still move in a period
 * @step:	bytes per nanosecond, times 2^MEMIO_STEP_SHIFT; 0: no limit
 * @rest:	earned beyond @tokens, in 2^-MEMIO_STEP_SHIFT bytes
 * @at_ns:	earned up to here
 * @tokens:	bytes; below 0 it is debt
 * @most:	the budget when the rate was set, in bytes
 * @debt_ns:	bound of the debt, up to MEMIO_DEBT_NS_MAX; 0: MEMIO_DEBT_NS
 * @epoch:	changes when the rate is lower than before: slices may be too large then
 * @fresh:	the epoch when it last began anew: what slices have of before is void
 *
 * What is written with each fill has a cache line of its own, as CPUs read the rest whenever
 * they take from their slices.
 */
struct memio_pool {
	u32 epoch;
	u32 fresh;
	u64 step;
	s64 most;
	u64 debt_ns;
	u64 rest ____cacheline_aligned_in_smp;
	u64 at_ns;
	s64 tokens;
};

/**
 * struct memio_slice - what a CPU has taken of a pool and not used yet
 * @tokens:	bytes, never below 0
 * @epoch:	of the pool then
 */
struct memio_slice {
	s64 tokens;
	u32 epoch;
};

#define MEMIO_WATCHDOG_NS	NSEC_PER_SEC	/* what is overdue for so long is a mistake */

/**
 * struct memio_watchdog - what the watchdog knows of a group
 * @late_ns:	when the stop should have been over that it has found long past
 * @found_ns:	when it first did
 */
struct memio_watchdog {
	u64 late_ns;
	u64 found_ns;
};

/**
 * memio_watch - whether a group is stopped longer than its debt justifies
 * @w:		of the group
 * @since_ns:	since when it is stopped; 0: it is not
 * @due_ns:	when that should be over; before the first look, of an earlier stop
 * @now_ns:	the time
 *
 * Once is not enough: a machine that stood still, as virtual machines do, has its timers to
 * catch up with, and so has the group. It is if the same stop is found overdue again, a
 * quarter of MEMIO_WATCHDOG_NS later at least.
 *
 * Context: any, one at a time for each @w.
 * Return: for how many nanoseconds it is overdue; 0: it is not, or not for sure.
 */
static inline u64 memio_watch(struct memio_watchdog *w, u64 since_ns, u64 due_ns, u64 now_ns)
{
	due_ns = max(since_ns, due_ns);
	if (!since_ns || (s64)(now_ns - due_ns) < (s64)MEMIO_WATCHDOG_NS)
		return 0;
	if (w->late_ns != due_ns) {
		w->late_ns = due_ns;
		w->found_ns = now_ns;
		return 0;
	}
	return now_ns - w->found_ns < MEMIO_WATCHDOG_NS / 4 ? 0 : now_ns - due_ns;
}

/**
 * struct memio_limit_text - a line that was written to memio.limit
 * @key:	what is limited, in the text
 * @set:	which rates it names, a bit for each &enum memio_way
 * @rate:	those, in bytes per second or MEMIO_NO_LIMIT
 */
struct memio_limit_text {
	char *key;
	unsigned int set;
	u64 rate[MEMIO_WAYS];
};

/**
 * memio_slice_take - take bytes of what a CPU has
 * @pool:	the pool; only its epoch is read
 * @slice:	the CPU's
 * @bytes:	how many
 *
 * Context: any, on the slice's CPU with interrupts off. No lock.
 * Return: false if it has too little: memio_pool_take() has to be called.
 */
static inline bool memio_slice_take(const struct memio_pool *pool,
				    struct memio_slice *slice, u64 bytes)
{
	if (slice->epoch != READ_ONCE(pool->epoch) || bytes > (u64)slice->tokens)
		return false;
	slice->tokens -= bytes;
	return true;
}

/* The least of two pools' steps, where 0 is no limit */
static inline u64 memio_least_step(u64 a, u64 b)
{
	return min(a - 1, b - 1) + 1;
}

/**
 * memio_patience_next - after how long of being stopped a group that owes runs for a moment
 * @ns:		after how long it did before, MEMIO_PATIENCE_NS at first; in nanoseconds
 *
 * What it begins in such a moment may be any size. As each lets it wait for twice as long as
 * the one before, there are no more of them while it owes than the debt has powers of two of
 * MEMIO_PATIENCE_NS: with 20 MB/s, 2 GiB each time are 107 s, and there are 4 in the 5 minutes
 * that these come to, not 30.
 *
 * Context: any.
 * Return: nanoseconds, MEMIO_DEBT_NS_MAX at most.
 */
static inline u64 memio_patience_next(u64 ns)
{
	return min(2 * ns, MEMIO_DEBT_NS_MAX);
}

void memio_pool_set(struct memio_pool *pool, u64 rate, u64 now_ns, u64 period_ns);
void memio_pool_fill(struct memio_pool *pool, u64 now_ns, u64 period_ns);
u64 memio_pool_take(struct memio_pool *pool, struct memio_slice *slice, u64 bytes,
		    unsigned int cpus_log2);
void memio_pool_give(struct memio_pool *pool, u64 bytes);
u64 memio_pool_wait_ns(const struct memio_pool *pool);
u64 memio_pool_chunk(u64 step, u64 period_ns);
u64 memio_pool_forgive(struct memio_pool *pool);

int memio_limit_parse(char *text, struct memio_limit_text *line);
int memio_limit_format(char *buf, size_t size, const char *key, const u64 *rate);

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: budgets: pure functions, no kernel state
 *
 * Model
 *
 * As with MemGuard (Yun et al., RTAS 2013) a group has a budget for each period: the
 * bytes that its limit comes to in it. What it moves is taken from the budget. When that is
 * spent, the group is stopped until there is some again. What it does not use it does not
 * keep: at no time it has more than one period's budget.
 *
 * Here time is not cut into periods. A pool earns its rate all the time, up to
 * a period's budget, and is filled when somebody looks at it. So nothing has to
 * happen while a group stays below its limit, and the rate is kept over any span of time,
 * not only over those that begin with a period.
 *
 *	20 MB/s, period 1 ms: a budget of 20,000 bytes
 *
 *	 0.0 ms	20,000
 *	 0.2 ms	a disk moves 128 KiB: 20,000 - 131,072 = -111,072: stopped
 *	 5.8 ms	-111,072 + 5.56 ms x 20,000 = 128: the debt is paid, it runs
 *
 *	131,072 bytes: the budget of 20,000, and what was earned in 5.56 ms
 *
 * Debt
 *
 * What has happened can't be refused: a disk that was asked before goes on, and a CPU is
 * counted when it is interrupted, after a chunk that it has read: a quarter of a period's
 * budget, and what it writes back besides. So a pool may go below zero, and what it earns
 * pays that first. There is a bound: what goes beyond it is forgiven, and the caller counts
 * it. For limits it is what is earned in an hour, so that no system call is large enough to
 * be worth it: 2 GiB read at once are 107 s of 20 MB/s. That a group comes to run again
 * sooner than that is the caller's (limit.c). For shares, where more than one's own may
 * be moved for long, it is MEMIO_DEBT_NS.
 *
 * CPUs
 *
 * A pool is for all CPUs, with a lock that is the caller's. Not to take it for each charge, a
 * CPU takes a slice beyond what it needs, and lives on that. The slice is a part of what the
 * pool has left, 1/2n for n CPUs (rounded up to a power of 2), so slices
 * shrink as the limit comes near:
 *
 *	2 CPUs, 20,000 left: a slice of 5,000, then 3,750, 2,812, 2,109, ...
 *
 * What is left in slices when the pool is spent is at most what the CPUs would have
 * had of a whole pool, half a period's budget together. This is by how much a limit can be
 * exceeded in a period, beside the last charge of each CPU; what CPUs hold was
 * earned before, so it evens out. When the rate is lowered, slices are cut to those of the
 * new budget: rates of guarantees change with whoever else is active.
 *
 * Arithmetic
 *
 * Rates are kept as bytes per nanosecond with 40 bits behind the point, so nothing divides
 * where bytes are charged. For 1 B/s, the least, that is exact to 0.05 %, for 20 MB/s
 * to 3 in 10^11; rounding is down. What is less than a byte is kept for the next
 * time. With rates up to 2^50 B/s and times up to 2^42 ns all sums fit.
 */

#include <linux/bits.h>
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "budget.h"

#define MEMIO_BYTES_MAX	BIT_ULL(60)	/* in one charge */

static const char *const way_names[MEMIO_WAYS] = {
	[MEMIO_BPS]	= "bps",
	[MEMIO_RBPS]	= "rbps",
	[MEMIO_WBPS]	= "wbps",
};

static s64 earned_in(const struct memio_pool *pool, u64 ns)
{
	return mul_u64_u64_shr(pool->step, min(ns, MEMIO_FILL_NS_MAX), MEMIO_STEP_SHIFT);
}

/* A pool never has more; one that can't have a byte would stay empty. */
static s64 budget(const struct memio_pool *pool, u64 period_ns)
{
	return max(earned_in(pool, period_ns), 1LL);
}

/* Debt is bounded. Returns what was forgiven. */
static u64 bound_debt(struct memio_pool *pool)
{
	u64 most = mul_u64_u64_shr(pool->step, pool->debt_ns ?: MEMIO_DEBT_NS,
				   MEMIO_STEP_SHIFT), beyond;
	s64 least = -(s64)max(most, 1ULL);

	if (pool->tokens >= least)
		return 0;
	beyond = least - pool->tokens;
	pool->tokens = least;
	return beyond;
}

/**
 * memio_pool_set - set a pool's rate
 * @pool:	the pool, zeroed or with another rate
 * @rate:	bytes per second, 1 to MEMIO_RATE_MAX, or MEMIO_NO_LIMIT
 * @now_ns:	the time
 * @period_ns:	length of a period
 *
 * One that had no limit begins with a budget. One that had keeps its debt, as far as the new
 * rate pays it in time, so a limit is not evaded by writing it anew.
 *
 * Context: any, with the pool's lock. Divides.
 */
void memio_pool_set(struct memio_pool *pool, u64 rate, u64 now_ns, u64 period_ns)
{
	u64 before = pool->step;
	bool fresh = !before;

	memio_pool_fill(pool, now_ns, period_ns);
	pool->step = rate == MEMIO_NO_LIMIT ? 0 :
		     mul_u64_u64_div_u64(rate, 1ULL << MEMIO_STEP_SHIFT, NSEC_PER_SEC);
	pool->rest = 0;
	pool->at_ns = now_ns;
	/* Slices of a higher rate may be too large; it begins without any. */
	if (fresh || pool->step < before)
		WRITE_ONCE(pool->epoch, pool->epoch + 1);
	if (fresh)
		pool->fresh = pool->epoch;
	pool->most = budget(pool, period_ns);
	if (fresh || pool->tokens > pool->most)
		pool->tokens = pool->most;
	bound_debt(pool);
}

/**
 * memio_pool_fill - add what was earned since it was last filled
 * @pool:	the pool
 * @now_ns:	the time; of another CPU it may be a little behind
 * @period_ns:	length of a period
 *
 * Context: any, with the pool's lock.
 */
void memio_pool_fill(struct memio_pool *pool, u64 now_ns, u64 period_ns)
{
	s64 most = budget(pool, period_ns), ns = now_ns - pool->at_ns;
	u64 part;

	if (!pool->step || ns <= 0)
		return;
	pool->at_ns = now_ns;
	ns = min_t(u64, ns, MEMIO_FILL_NS_MAX);
	/* the bits behind the point, which don't suffer from those that are cut off */
	part = (pool->step * ns & GENMASK_ULL(MEMIO_STEP_SHIFT - 1, 0)) + pool->rest;
	pool->tokens += earned_in(pool, ns) + (part >> MEMIO_STEP_SHIFT);
	pool->rest = part & GENMASK_ULL(MEMIO_STEP_SHIFT - 1, 0);
	if (pool->tokens >= most) {
		pool->tokens = most;
		pool->rest = 0;
	}
}

/**
 * memio_pool_take - charge bytes, and take a slice if there is one to be had
 * @pool:	the pool, filled
 * @slice:	the CPU's, which has too little (see memio_slice_take())
 * @bytes:	how many
 * @cpus_log2:	logarithm of the number of CPUs, rounded up
 *
 * The pool is spent if it has no more than 0 tokens afterwards.
 *
 * Context: any, with the pool's lock, on the slice's CPU with interrupts off.
 * Return: bytes that were forgiven, as the debt is bounded; mostly 0.
 */
u64 memio_pool_take(struct memio_pool *pool, struct memio_slice *slice, u64 bytes,
		    unsigned int cpus_log2)
{
	s64 need = min(bytes, MEMIO_BYTES_MAX), left;

	if (slice->epoch != pool->epoch) {
		/* What was earned is not lost each time that somebody else wants a share. */
		slice->tokens = (s32)(slice->epoch - pool->fresh) < 0 ? 0 :
				min(slice->tokens, pool->most >> (1 + cpus_log2));
		slice->epoch = pool->epoch;
	}
	need -= slice->tokens;
	left = pool->tokens - need;
	slice->tokens = left > 0 ? left >> (1 + cpus_log2) : 0;
	pool->tokens = left - slice->tokens;
	return bound_debt(pool);
}

/**
 * memio_pool_give - give back what was charged for something that won't happen
 * @pool:	the pool
 * @bytes:	how many
 *
 * It pays debt, and what is beyond a budget is lost, as what a group earns and does not use.
 *
 * Context: any, with the pool's lock.
 */
void memio_pool_give(struct memio_pool *pool, u64 bytes)
{
	s64 more = min(bytes, MEMIO_BYTES_MAX);

	if (pool->step && pool->tokens < pool->most)
		pool->tokens = min(pool->tokens + more, pool->most);
}

/**
 * memio_pool_wait_ns - how long until a pool has a byte again
 * @pool:	the pool, filled
 *
 * Context: any, with the pool's lock. Divides.
 * Return: nanoseconds, 0 if it has one, or no limit.
 */
u64 memio_pool_wait_ns(const struct memio_pool *pool)
{
	s64 tokens = max(pool->tokens, -earned_in(pool, MEMIO_FILL_NS_MAX));

	if (!pool->step || tokens > 0)
		return 0;
	return mul_u64_u64_div_u64(1 - tokens, 1ULL << MEMIO_STEP_SHIFT, pool->step) + 1;
}

/**
 * memio_pool_chunk - how much a CPU uses before it should be charged
 * @step:	the pool's, or the least of several; 0: no limit
 * @period_ns:	length of a period
 *
 * A CPU that is charged for so much at a time uses a budget in a few of them: so it is
 * not interrupted often, and doesn't exceed it by more.
 *
 * Context: any, NMI as well.
 * Return: bytes; U64_MAX if there is no limit.
 */
u64 memio_pool_chunk(u64 step, u64 period_ns)
{
	if (!step)
		return U64_MAX;
	return mul_u64_u64_shr(step, period_ns, MEMIO_STEP_SHIFT + MEMIO_CHUNK_LOG2);
}

/**
 * memio_pool_forgive - forget a pool's debt
 * @pool:	the pool
 *
 * Context: any, with the pool's lock.
 * Return: how much that was, in bytes.
 */
u64 memio_pool_forgive(struct memio_pool *pool)
{
	u64 debt = pool->tokens < 0 ? -pool->tokens : 0;

	if (pool->step)
		pool->tokens = max(pool->tokens, 1LL);
	return debt;
}

/* ---- text ---- */

/* What memio.limit says of a line that is held in part (limit.c) */
static const char *const except_names[] = { "cpu", "io", "classes" };

/* Words that the file has there, one at least; they are cut apart. */
static bool is_except(char *words)
{
	char *word;

	while ((word = strsep(&words, ",")))
		if (match_string(except_names, ARRAY_SIZE(except_names), word) < 0)
			return false;
	return true;
}

/* A plain decimal, or "max". */
static int parse_rate(const char *text, u64 *rate)
{
	int ret;

	if (!strcmp(text, "max")) {
		*rate = MEMIO_NO_LIMIT;
		return 0;
	}
	/* no sign, nor anything behind */
	for (const char *c = text; *c; c++)
		if (!isdigit(*c))
			return -EINVAL;
	ret = kstrtou64(text, 10, rate);
	if (ret)
		return ret;
	return *rate && *rate <= MEMIO_RATE_MAX ? 0 : -ERANGE;
}

/**
 * memio_limit_parse - read a line that was written to memio.limit
 * @text:	"KEY bps=N rbps=N wbps=N", at least one of them, in any order; it is cut
 *		to pieces. "except=" with words of the file is passed over
 * @line:	the result
 *
 * Context: any.
 * Return: 0; -EINVAL if it is no such line, -ERANGE for a rate that can't be.
 */
int memio_limit_parse(char *text, struct memio_limit_text *line)
{
	char *word, *value;
	int way, ret = 0, err;

	line->set = 0;
	text = strim(text);
	line->key = strsep(&text, " \t");
	if (!line->key || !*line->key || strchr(line->key, '='))
		return -EINVAL;
	while ((word = strsep(&text, " \t"))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value)
			return -EINVAL;
		*value++ = '\0';
		/* What the file says of a line that is written back as it was read */
		if (!strcmp(word, "except")) {
			if (!is_except(value))
				return -EINVAL;
			continue;
		}
		way = match_string(way_names, MEMIO_WAYS, word);
		if (way < 0 || line->set & BIT(way))
			return -EINVAL;
		err = parse_rate(value, &line->rate[way]);
		if (err == -EINVAL)
			return err;
		/* A line that is malformed further on is so in the first place. */
		ret = ret ?: err;
		line->set |= BIT(way);
	}
	return line->set ? ret : -EINVAL;
}

/**
 * memio_limit_format - print a line as memio.limit shows it
 * @buf:	where
 * @size:	its size; 128 bytes and the key are enough
 * @key:	what is limited
 * @rate:	the rates; those that are MEMIO_NO_LIMIT are left out
 *
 * Context: any.
 * Return: length of the line; 0 if none is set, and there is no line.
 */
int memio_limit_format(char *buf, size_t size, const char *key, const u64 *rate)
{
	int len = 0;

	for (int way = 0; way < MEMIO_WAYS; way++) {
		if (rate[way] == MEMIO_NO_LIMIT)
			continue;
		if (!len)
			len = scnprintf(buf, size, "%s", key);
		len += scnprintf(buf + len, size - len, " %s=%llu", way_names[way],
				 rate[way]);
	}
	if (len)
		len += scnprintf(buf + len, size - len, "\n");
	return len;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: what budget.c promises
 *
 * Properties are looked at over sequences that a fixed seed makes, so each run sees the
 * same ones: what a group moves is bounded by its rate, nothing is lost or made up, and
 * whatever the limit, a group comes to run again.
 */

#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "budget.h"

#define MS	NSEC_PER_MSEC
#define CPUS	4
#define CPUS_LOG2	2

static u64 seed;

/* Numerical Recipes' generator; the upper bits are good enough. */
static u32 any(u32 below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return below ? (u32)(seed >> 33) % below : 0;
}

/* A pool, with its CPUs' slices */
struct group {
	struct memio_pool pool;
	struct memio_slice slice[CPUS];
	u64 now;
	u64 charged;
	u64 forgiven;
	u64 earned;
};

static void begin(struct group *g, u64 rate)
{
	*g = (struct group){ .now = 12345 };
	memio_pool_set(&g->pool, rate, g->now, MS);
	g->earned = g->pool.tokens;
}

static void fill(struct group *g, u64 ns)
{
	s64 before = g->pool.tokens;

	g->now += ns;
	memio_pool_fill(&g->pool, g->now, MS);
	g->earned += g->pool.tokens - before;
}

static void charge(struct group *g, unsigned int cpu, u64 bytes)
{
	g->charged += bytes;
	if (!memio_slice_take(&g->pool, &g->slice[cpu], bytes))
		g->forgiven += memio_pool_take(&g->pool, &g->slice[cpu], bytes,
					       CPUS_LOG2);
}

static s64 in_slices(const struct group *g)
{
	s64 sum = 0;

	for (int i = 0; i < CPUS; i++)
		sum += g->slice[i].tokens;
	return sum;
}

/* What is given back pays debt, and is no more than a budget. */
static void given_back(struct kunit *test)
{
	struct group g;

	begin(&g, 20000000);
	charge(&g, 0, 1000000);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 19999 - 1000000);
	memio_pool_give(&g.pool, 500000);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 19999 - 500000);
	memio_pool_give(&g.pool, 500000);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 19999);
	memio_pool_give(&g.pool, U64_MAX);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 19999);
	KUNIT_EXPECT_EQ(test, memio_pool_wait_ns(&g.pool), 0);
	/* Without a limit there is nothing to give. */
	begin(&g, MEMIO_NO_LIMIT);
	memio_pool_give(&g.pool, 1000);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, g.earned);
}

/* The example in budget.c */
static void example(struct kunit *test)
{
	struct group g;

	begin(&g, 20000000);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 19999);	/* rates are rounded down */
	KUNIT_EXPECT_EQ(test, memio_pool_wait_ns(&g.pool), 0);
	fill(&g, 200000);
	charge(&g, 0, 131072);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 19999 - 131072);
	KUNIT_EXPECT_EQ(test, g.slice[0].tokens, 0);
	KUNIT_EXPECT_LE(test, memio_pool_wait_ns(&g.pool), 5553750);
	KUNIT_EXPECT_GE(test, memio_pool_wait_ns(&g.pool), 5553650);
	fill(&g, 5560000);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 19999 - 131072 + 111199);
}

/* A rate is kept to the byte however often a pool is filled. */
static void exact(struct kunit *test)
{
	static const u64 rates[] = { 1, 7, 1000, 20000000, 123456789, 68000000000ULL,
				     MEMIO_RATE_MAX };

	for (int i = 0; i < ARRAY_SIZE(rates); i++) {
		u64 wanted = rates[i] * 8, off;
		struct group g;
		s64 sum = 0;

		begin(&g, rates[i]);
		seed = 1;
		while (g.now < 12345 + 8 * NSEC_PER_SEC) {
			/* The fraction is kept, the tokens are put aside. */
			s64 before = -(s64)max(1000000, rates[i] / 100);

			g.pool.tokens = before;
			fill(&g, min(any(2 * MS) + 1,
				     12345 + 8 * NSEC_PER_SEC - g.now));
			sum += g.pool.tokens - before;
		}
		off = wanted - sum;
		KUNIT_EXPECT_LE_MSG(test, sum, wanted, "%llu", rates[i]);
		/* a part in 2000 for the least of rates, nothing to speak of for others */
		KUNIT_EXPECT_LE_MSG(test, off, wanted / 1000000 + 1, "%llu", rates[i]);
	}
}

/* Nothing is kept beyond a period's budget. */
static void no_savings(struct kunit *test)
{
	struct group g;

	begin(&g, 50000000);
	fill(&g, 5 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 49999);
	memio_pool_fill(&g.pool, g.now - 1000, MS);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 49999);
	charge(&g, 0, 49999 * 3);
	/* Clocks of CPUs differ: time does not go back. */
	memio_pool_fill(&g.pool, g.now - 2000, MS);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, -49999 * 2);
	/* one that can't have a byte in a period has one all the same */
	begin(&g, 1);
	fill(&g, MS);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 1);
}

/* What was taken, what is there and what was forgiven is what was earned. */
static void conservation(struct kunit *test)
{
	struct group g;

	seed = 2;
	for (int run = 0; run < 50; run++) {
		begin(&g, 1 + any(run < 25 ? 1000000 : 1000000000));
		for (int i = 0; i < 2000; i++) {
			if (any(3))
				charge(&g, any(CPUS), any(1 << any(20)));
			else
				fill(&g, any(2 * MS));
			KUNIT_ASSERT_EQ(test, (s64)(g.earned - g.charged + g.forgiven),
					g.pool.tokens + in_slices(&g));
			for (int c = 0; c < CPUS; c++)
				KUNIT_ASSERT_GE(test, g.slice[c].tokens, 0);
		}
	}
}

/*
 * While who is stopped charges nothing more, no span of time has more than the rate, a
 * budget, and one slice and one charge for each CPU.
 */
static void bound(struct kunit *test)
{
	const u64 rate = 100000000, budget = rate / 1000;
	u64 largest = 30000;

	seed = 3;
	for (int run = 0; run < 50; run++) {
		u64 start = 0, began = 0;
		struct group g;

		begin(&g, rate);
		for (int i = 0; i < 5000; i++) {
			/* from any point on */
			if (!any(100)) {
				start = g.now;
				began = g.charged;
			}
			fill(&g, any(100000));
			for (int c = 0; c < CPUS && g.pool.tokens > 0; c++)
				charge(&g, c, any(largest));
			if (!start)
				continue;
			KUNIT_ASSERT_LE(test, g.charged - began,
					mul_u64_u64_div_u64(rate, g.now - start, NSEC_PER_SEC) +
					budget + CPUS * (budget >> (1 + CPUS_LOG2)) +
					CPUS * largest);
		}
		KUNIT_EXPECT_EQ(test, g.forgiven, 0);
	}
}

/* Slices shrink, and are cut when the rate is lower. */
static void slices(struct kunit *test)
{
	s64 last = S64_MAX;
	struct group g;

	begin(&g, 16000001);
	while (g.pool.tokens > 8) {
		unsigned int cpu = any(CPUS);

		g.slice[cpu].tokens = 0;
		charge(&g, cpu, 1);
		KUNIT_EXPECT_LE(test, g.slice[cpu].tokens, last);
		last = g.slice[cpu].tokens;
	}
	KUNIT_EXPECT_LE(test, last, 1);

	begin(&g, 16000001);
	charge(&g, 0, 1);
	KUNIT_EXPECT_TRUE(test, memio_slice_take(&g.pool, &g.slice[0], 100));
	memio_pool_set(&g.pool, 1000000, g.now, MS);
	KUNIT_EXPECT_FALSE(test, memio_slice_take(&g.pool, &g.slice[0], 1));
	KUNIT_EXPECT_LE(test, g.pool.tokens, 1000);
	charge(&g, 0, 1);
	KUNIT_EXPECT_LE(test, g.slice[0].tokens, (1000 + (1000 >> 3)) >> 3);
	/* A higher one takes nothing away. */
	memio_pool_set(&g.pool, 2000000, g.now, MS);
	KUNIT_EXPECT_TRUE(test, memio_slice_take(&g.pool, &g.slice[0], 1));
	memio_pool_set(&g.pool, MEMIO_NO_LIMIT, g.now, MS);
	KUNIT_EXPECT_FALSE(test, memio_slice_take(&g.pool, &g.slice[0], 1));
}

/* A pool that begins anew has a budget, and nothing that CPUs still had of the time before. */
static void slices_of_before(struct kunit *test)
{
	struct group g;

	begin(&g, 16000001);
	for (int c = 0; c < CPUS; c++)
		charge(&g, c, 1);
	memio_pool_set(&g.pool, MEMIO_NO_LIMIT, g.now, MS);
	memio_pool_set(&g.pool, 16000001, g.now, MS);
	for (int c = 0; c < CPUS; c++)
		charge(&g, c, 1);
	KUNIT_EXPECT_EQ(test, g.pool.tokens + in_slices(&g), 16000 - CPUS);
}

/* Rates change whenever somebody else is active: what is earned stays, but what is too much. */
static void slices_stay(struct kunit *test)
{
	struct group g;
	s64 had;

	begin(&g, 16000001);
	for (int c = 0; c < CPUS; c++)
		charge(&g, c, 1);
	had = g.pool.tokens + in_slices(&g);
	memio_pool_set(&g.pool, 15900001, g.now, MS);
	for (int c = 0; c < CPUS; c++)
		charge(&g, c, 1);
	KUNIT_EXPECT_GE(test, g.pool.tokens + in_slices(&g), had - had / 50);
	KUNIT_EXPECT_LE(test, g.pool.tokens + in_slices(&g), had - CPUS);
	/* Also while there is nothing left but slices */
	g.pool.tokens = 0;
	had = in_slices(&g);
	memio_pool_set(&g.pool, 15800001, g.now, MS);
	for (int c = 0; c < CPUS; c++)
		charge(&g, c, 1);
	KUNIT_EXPECT_GE(test, g.pool.tokens + in_slices(&g), had - had / 50);
	KUNIT_EXPECT_LE(test, g.pool.tokens + in_slices(&g), had - CPUS);
}

/* Debt comes first, and only so much of it. */
static void debt(struct kunit *test)
{
	struct group g;

	begin(&g, 1000000);
	charge(&g, 0, 500999);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 999 - 500999);
	KUNIT_EXPECT_EQ(test, g.forgiven, 0);
	fill(&g, 499 * MS);
	KUNIT_EXPECT_LE(test, g.pool.tokens, 0);
	KUNIT_EXPECT_GT(test, memio_pool_wait_ns(&g.pool), 0);
	fill(&g, 2 * MS);
	KUNIT_EXPECT_GT(test, g.pool.tokens, 0);
	KUNIT_EXPECT_EQ(test, memio_pool_wait_ns(&g.pool), 0);

	charge(&g, 1, 1ULL << 40);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, -9999999);
	KUNIT_EXPECT_GT(test, g.forgiven, (1ULL << 40) - 11000000);
	KUNIT_EXPECT_EQ(test, memio_pool_forgive(&g.pool), 9999999);
	KUNIT_EXPECT_GT(test, g.pool.tokens, 0);
}

/* A limit's debt is of an hour: nothing that is read at once is worth it. */
static void debt_of_an_hour(struct kunit *test)
{
	static const u64 rates[] = { 1, 20000000, MEMIO_RATE_MAX };
	struct group g;

	for (int i = 0; i < ARRAY_SIZE(rates); i++) {
		begin(&g, rates[i]);
		g.pool.debt_ns = MEMIO_DEBT_NS_MAX;
		charge(&g, 0, min(rates[i] * 3000, 1ULL << 60));
		KUNIT_EXPECT_EQ(test, g.forgiven, 0);
		for (int n = 0; n < 8; n++)
			charge(&g, 1, 1ULL << 60);
		KUNIT_EXPECT_GT(test, g.forgiven, 0);
		KUNIT_EXPECT_GE(test, g.pool.tokens, -(s64)(rates[i] * 3600 + 1));
		KUNIT_EXPECT_LT(test, g.pool.tokens, -(s64)(rates[i] * 3590));
		/* A part in 2000: rates are rounded */
		KUNIT_EXPECT_LE(test, memio_pool_wait_ns(&g.pool), 3602 * NSEC_PER_SEC);
		/* Who does nothing meanwhile is not filled, and has paid it all the same. */
		fill(&g, 3602 * NSEC_PER_SEC);
		KUNIT_EXPECT_GT(test, g.pool.tokens, 0);
	}
}

/* Four chunks are a budget, of whatever rate and period. */
static void chunks(struct kunit *test)
{
	static const u64 rates[] = { 1, 20000000, 68000000000ULL, MEMIO_RATE_MAX };
	struct group g;

	for (int i = 0; i < ARRAY_SIZE(rates); i++) {
		for (u64 period = 100000; period <= 100 * MS; period *= 10) {
			u64 most = mul_u64_u64_div_u64(rates[i], period, NSEC_PER_SEC), chunk;

			begin(&g, rates[i]);
			chunk = memio_pool_chunk(g.pool.step, period);
			KUNIT_EXPECT_LE_MSG(test, chunk * 4, most, "%llu", rates[i]);
			KUNIT_EXPECT_GE_MSG(test, chunk * 4 + 4 + most / 2000, most, "%llu",
					    rates[i]);
		}
	}
	memio_pool_set(&g.pool, MEMIO_NO_LIMIT, g.now, MS);
	KUNIT_EXPECT_EQ(test, memio_pool_chunk(g.pool.step, MS), U64_MAX);

	KUNIT_EXPECT_EQ(test, memio_least_step(0, 0), 0);
	KUNIT_EXPECT_EQ(test, memio_least_step(0, 7), 7);
	KUNIT_EXPECT_EQ(test, memio_least_step(7, 0), 7);
	KUNIT_EXPECT_EQ(test, memio_least_step(8, 7), 7);
}

/*
 * A group that begins 2 GiB in each moment it is let run: these moments are not a limit's
 * hole, as the debt grows faster than they come.
 */
static void moments(struct kunit *test)
{
	const u64 rate = 20000000, most = 2ULL << 30;
	u64 patience = MEMIO_PATIENCE_NS, now_s = 0, moved = most, natural = 0;
	s64 debt = most;

	KUNIT_EXPECT_EQ(test, memio_patience_next(patience), 2 * patience);
	KUNIT_EXPECT_EQ(test, memio_patience_next(MEMIO_DEBT_NS_MAX), MEMIO_DEBT_NS_MAX);
	while (now_s < 20000) {
		u64 wait_s = patience / NSEC_PER_SEC, paid_s = div_u64(debt, rate);

		if (paid_s <= wait_s) {
			now_s += paid_s;
			debt = 0;
			natural++;
			patience = MEMIO_PATIENCE_NS;
		} else {
			now_s += wait_s;
			debt -= wait_s * rate;
			patience = memio_patience_next(patience);
		}
		debt += most;
		moved += most;
		/* In the end it is what the limit gives, and a debt that is bounded. */
		KUNIT_EXPECT_LE(test, moved, now_s * rate + 6 * most);
	}
	KUNIT_EXPECT_GE(test, natural, 20000 / 1000);
}

/* A stop is overdue if the watchdog finds it so twice. */
static void watchdog(struct kunit *test)
{
	const u64 s = NSEC_PER_SEC, t = 1000 * s;
	struct memio_watchdog w = {};

	KUNIT_EXPECT_EQ(test, memio_watch(&w, 0, t, t + 100 * s), 0);
	/* Not due yet, or only just */
	KUNIT_EXPECT_EQ(test, memio_watch(&w, t, t + 50 * s, t + 10 * s), 0);
	KUNIT_EXPECT_EQ(test, memio_watch(&w, t, t + 50 * s, t + 51 * s - 1), 0);
	/* What is due is of an earlier stop: this one has just begun. */
	KUNIT_EXPECT_EQ(test, memio_watch(&w, t, t - 900 * s, t + s - 1), 0);

	KUNIT_EXPECT_EQ(test, memio_watch(&w, t, t + 50 * s, t + 60 * s), 0);
	KUNIT_EXPECT_EQ(test, memio_watch(&w, t, t + 50 * s, t + 60 * s + s / 8), 0);
	KUNIT_EXPECT_EQ(test, memio_watch(&w, t, t + 50 * s, t + 60 * s + s / 4), 10 * s + s / 4);
	/* All stood still, and then the timer came: it is due later. */
	KUNIT_EXPECT_EQ(test, memio_watch(&w, t, t + 100 * s, t + 200 * s), 0);
	KUNIT_EXPECT_EQ(test, memio_watch(&w, t, t + 201 * s, t + 201 * s), 0);
	KUNIT_EXPECT_EQ(test, memio_watch(&w, t, t + 201 * s, t + 203 * s), 0);
	KUNIT_EXPECT_EQ(test, memio_watch(&w, t, t + 201 * s, t + 204 * s), 3 * s);
	/* Another stop begins from the start. */
	KUNIT_EXPECT_EQ(test, memio_watch(&w, t + 300 * s, t + 301 * s, t + 400 * s), 0);
}

/* A limit that is written anew keeps its debt, unless it could not be paid in time. */
static void rates(struct kunit *test)
{
	struct group g;

	begin(&g, 1000000);
	charge(&g, 0, 500999);
	memio_pool_set(&g.pool, 1000000, g.now, MS);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 999 - 500999);
	/* What was earned at the old rate is. */
	memio_pool_set(&g.pool, 2000000, g.now + 10 * MS, MS);
	KUNIT_EXPECT_LE(test, g.pool.tokens, -490000);
	KUNIT_EXPECT_GE(test, g.pool.tokens, -490001);
	memio_pool_set(&g.pool, 1000, g.now + 10 * MS, MS);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, -9999);
	memio_pool_set(&g.pool, MEMIO_NO_LIMIT, g.now, MS);
	KUNIT_EXPECT_EQ(test, memio_pool_wait_ns(&g.pool), 0);
	memio_pool_set(&g.pool, 2000000, g.now, MS);
	KUNIT_EXPECT_EQ(test, g.pool.tokens, 1999);
}

/* Whatever the limit and however much is charged: a second more than the bound is enough. */
static void no_starvation(struct kunit *test)
{
	seed = 4;
	for (int i = 0; i < 1000; i++) {
		u64 rate = 1 + (i < 3 ? i : any(U32_MAX) >> any(32)), wait;
		struct group g;

		begin(&g, rate);
		charge(&g, any(CPUS), U64_MAX);
		wait = memio_pool_wait_ns(&g.pool);
		KUNIT_ASSERT_GT(test, wait, 0);
		/* half of them are short of the last byte */
		KUNIT_ASSERT_LE(test, wait, MEMIO_DEBT_NS + 2 * NSEC_PER_SEC);
		fill(&g, wait);
		KUNIT_ASSERT_GT(test, g.pool.tokens, 0);
		KUNIT_ASSERT_EQ(test, memio_pool_wait_ns(&g.pool), 0);
	}
}

/* Nothing overflows at the ends of what is allowed. */
static void extremes(struct kunit *test)
{
	struct group g;

	begin(&g, MEMIO_RATE_MAX);
	KUNIT_EXPECT_GT(test, g.pool.tokens, (s64)(MEMIO_RATE_MAX / 1001));
	charge(&g, 0, MEMIO_RATE_MAX);
	fill(&g, U64_MAX / 2);
	KUNIT_EXPECT_LE(test, g.pool.tokens, (s64)(MEMIO_RATE_MAX / 1000));
	KUNIT_EXPECT_GT(test, g.pool.tokens, (s64)(MEMIO_RATE_MAX / 1001));
	charge(&g, 0, U64_MAX);
	charge(&g, 0, U64_MAX);
	KUNIT_EXPECT_GE(test, g.pool.tokens, -(s64)MEMIO_RATE_MAX * 10);
	KUNIT_EXPECT_LT(test, g.pool.tokens, -(s64)MEMIO_RATE_MAX * 9);
	/* from the largest debt to the least rate */
	memio_pool_set(&g.pool, 1, g.now, MS);
	KUNIT_EXPECT_LE(test, memio_pool_wait_ns(&g.pool), 12 * NSEC_PER_SEC);
	begin(&g, MEMIO_NO_LIMIT);
	KUNIT_EXPECT_EQ(test, memio_pool_wait_ns(&g.pool), 0);
}

/* ---- text ---- */

static int parse(const char *text, struct memio_limit_text *line)
{
	static char buf[256];

	strscpy(buf, text);
	return memio_limit_parse(buf, line);
}

static void parses(struct kunit *test)
{
	struct memio_limit_text line;

	KUNIT_EXPECT_EQ(test, parse("total bps=20000000\n", &line), 0);
	KUNIT_EXPECT_STREQ(test, line.key, "total");
	KUNIT_EXPECT_EQ(test, line.set, BIT(MEMIO_BPS));
	KUNIT_EXPECT_EQ(test, line.rate[MEMIO_BPS], 20000000);
	KUNIT_EXPECT_EQ(test, parse("  0000:00:03.0 \t wbps=max   rbps=1 ", &line), 0);
	KUNIT_EXPECT_STREQ(test, line.key, "0000:00:03.0");
	KUNIT_EXPECT_EQ(test, line.set, BIT(MEMIO_RBPS) | BIT(MEMIO_WBPS));
	KUNIT_EXPECT_EQ(test, line.rate[MEMIO_RBPS], 1);
	KUNIT_EXPECT_EQ(test, line.rate[MEMIO_WBPS], MEMIO_NO_LIMIT);
	/* As it is shown where a part can't be held */
	KUNIT_EXPECT_EQ(test, parse("total bps=5 except=cpu,classes", &line), 0);
	KUNIT_EXPECT_EQ(test, line.rate[MEMIO_BPS], 5);
	KUNIT_EXPECT_EQ(test, parse("total except=cpu", &line), -EINVAL);
	KUNIT_EXPECT_EQ(test, parse("total bps=5 except=nothing", &line), -EINVAL);
	KUNIT_EXPECT_EQ(test, parse("total bps=5 except=cpu,", &line), -EINVAL);
	KUNIT_EXPECT_EQ(test, parse("total bps=5 except=", &line), -EINVAL);
	KUNIT_EXPECT_EQ(test, parse("io bps=1125899906842624", &line), 0);
	KUNIT_EXPECT_EQ(test, line.rate[MEMIO_BPS], MEMIO_RATE_MAX);
}

static void refuses(struct kunit *test)
{
	static const char *const malformed[] = {
		"", "\n", " ", "total", "total ", "total\n", "bps=1", "total bps", "total bps=",
		"total =1", "total bps=1 bps=2", "total bps=1 rbps", "total bps=-1", "total bps=+1",
		"total bps=0x10", "total bps=1k", "total bps=1.0", "total bps=MAX",
		"total bps=maxi", "total BPS=1", "total cps=1", "total bps=1\nio bps=1",
		"total bps=1,rbps=2",
		"total bps==1", "total bps=1=1", "=1", "=", "total bps= 1", "total bps=0 rbps",
	};
	static const char *const range[] = {
		"total bps=0", "total bps=1125899906842625", "total bps=18446744073709551616",
		"total bps=99999999999999999999999999", "total bps=1 rbps=0", "total rbps=0 bps=1",
	};
	struct memio_limit_text line;

	for (int i = 0; i < ARRAY_SIZE(malformed); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse(malformed[i], &line), -EINVAL, "\"%s\"",
				    malformed[i]);
	for (int i = 0; i < ARRAY_SIZE(range); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse(range[i], &line), -ERANGE, "\"%s\"", range[i]);
}

/* What is shown can be written, and is the same again. */
static void round_trip(struct kunit *test)
{
	char buf[256], again[256];

	seed = 5;
	for (int i = 0; i < 2000; i++) {
		u64 rate[MEMIO_WAYS];
		struct memio_limit_text line;
		unsigned int set = 0;
		int len;

		for (int way = 0; way < MEMIO_WAYS; way++) {
			rate[way] = MEMIO_NO_LIMIT;
			if (!any(2))
				continue;
			rate[way] = 1 + (((u64)any(U32_MAX) << 19) >> any(50));
			set |= BIT(way);
		}
		len = memio_limit_format(buf, sizeof(buf), "default", rate);
		KUNIT_ASSERT_EQ(test, len, set ? strlen(buf) : 0);
		if (!set)
			continue;
		strscpy(again, buf);
		KUNIT_ASSERT_EQ_MSG(test, memio_limit_parse(again, &line), 0, "%s", buf);
		KUNIT_EXPECT_STREQ(test, line.key, "default");
		KUNIT_EXPECT_EQ(test, line.set, set);
		for (int way = 0; way < MEMIO_WAYS; way++)
			if (set & BIT(way))
				KUNIT_EXPECT_EQ(test, line.rate[way], rate[way]);
	}
}

/* Whatever is written, the parser keeps within it, and within the rates. */
static void fuzz(struct kunit *test)
{
	static const char bits[] = "totalcpuiodefault bps=rw=0123456789max \t\n-+x:.";
	struct memio_limit_text line;
	char buf[64];

	seed = 6;
	for (int i = 0; i < 20000; i++) {
		unsigned int len = any(sizeof(buf));
		int ret;

		for (unsigned int c = 0; c < len; c++)
			buf[c] = bits[any(sizeof(bits) - 1)];
		buf[len] = '\0';
		ret = memio_limit_parse(buf, &line);
		KUNIT_ASSERT_TRUE(test, !ret || ret == -EINVAL || ret == -ERANGE);
		if (ret)
			continue;
		KUNIT_EXPECT_NE(test, line.set, 0);
		for (int way = 0; way < MEMIO_WAYS; way++)
			if (line.set & BIT(way) && line.rate[way] != MEMIO_NO_LIMIT)
				KUNIT_EXPECT_TRUE(test, line.rate[way] && line.rate[way] <=
						  MEMIO_RATE_MAX);
	}
}

static struct kunit_case budget_cases[] = {
	KUNIT_CASE(example),
	KUNIT_CASE(exact),
	KUNIT_CASE(no_savings),
	KUNIT_CASE(conservation),
	KUNIT_CASE(bound),
	KUNIT_CASE(slices),
	KUNIT_CASE(debt),
	KUNIT_CASE(debt_of_an_hour),
	KUNIT_CASE(slices_stay),
	KUNIT_CASE(slices_of_before),
	KUNIT_CASE(moments),
	KUNIT_CASE(watchdog),
	KUNIT_CASE(chunks),
	KUNIT_CASE(rates),
	KUNIT_CASE(no_starvation),
	KUNIT_CASE(extremes),
	KUNIT_CASE(given_back),
	KUNIT_CASE(parses),
	KUNIT_CASE(refuses),
	KUNIT_CASE(round_trip),
	KUNIT_CASE(fuzz),
	{}
};

static struct kunit_suite budget_suite = {
	.name = "memio_budget",
	.test_cases = budget_cases,
};

kunit_test_suite(budget_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: what share.c promises
 *
 * What is shared out is what there is; a prediction is bounded, and that of a sum is the
 * sum of those of its parts. Then groups are simulated that want more and less
 * than their own, which fixed seeds make: each gets what it is guaranteed, what is left is
 * used, and all together don't exceed what there is.
 */

#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "share.h"

#define MS	NSEC_PER_MSEC

static u64 seed;

static u32 any(u32 below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return below ? (u32)(seed >> 33) % below : 0;
}

/* The example in share.c */
static void example(struct kunit *test)
{
	static const struct memio_claim a = { .min = 600000000, .weight = 100, .active = true };
	static const struct memio_claim b = { .weight = 100, .active = true };
	static const struct memio_claim idle = { .weight = 100 };
	struct memio_sharing s = { .total = 1000000000 };

	memio_sharing_add(&s, &a);
	memio_sharing_add(&s, &b);
	memio_sharing_add(&s, &b);
	memio_sharing_add(&s, &idle);
	KUNIT_EXPECT_EQ(test, memio_share_rate(&s, &a), 733333333);
	KUNIT_EXPECT_EQ(test, memio_share_rate(&s, &b), 133333333);
	KUNIT_EXPECT_EQ(test, memio_share_rate(&s, &idle), 0);
	KUNIT_EXPECT_EQ(test, memio_share_min(&s, &a), 600000000);
	KUNIT_EXPECT_EQ(test, s.below, 4);
	/* two of them: more than there is */
	memio_sharing_add(&s, &a);
	KUNIT_EXPECT_EQ(test, memio_share_min(&s, &a), 500000000);
	KUNIT_EXPECT_EQ(test, memio_share_rate(&s, &a), 500000000);
	KUNIT_EXPECT_EQ(test, memio_share_rate(&s, &b), 0);
}

#define CLAIMS	20

/* Whatever is claimed, all that there is gets given, and each has its guarantee. */
static void shared_out(struct kunit *test)
{
	seed = 1;
	for (int run = 0; run < 2000; run++) {
		u64 sum = 0, mins = 0, over = run % 2 ? 1 : 20;
		struct memio_sharing s = { .total = 1 + any(1 << any(31)) };
		unsigned int n = 1 + any(CLAIMS), active = 0;
		struct memio_claim c[CLAIMS];

		for (int i = 0; i < n; i++) {
			c[i] = (struct memio_claim){
				.min = any(3) ? 0 : any(over * s.total / n),
				.weight = 1 + any(MEMIO_WEIGHT_MAX),
				.active = any(2),
			};
			memio_sharing_add(&s, &c[i]);
		}
		for (int i = 0; i < n; i++) {
			u64 min = memio_share_min(&s, &c[i]), rate = memio_share_rate(&s, &c[i]);

			KUNIT_ASSERT_LE(test, min, c[i].min);
			KUNIT_ASSERT_GE(test, rate, min);
			if (!c[i].active)
				KUNIT_ASSERT_EQ(test, rate, min);
			if (s.mins <= s.total)
				KUNIT_ASSERT_EQ(test, min, c[i].min);
			sum += rate;
			mins += min;
			active += c[i].active;
		}
		KUNIT_ASSERT_LE(test, sum, s.total);
		if (active)
			KUNIT_ASSERT_GE(test, sum + n, s.total);
		if (s.mins > s.total)
			KUNIT_ASSERT_GE(test, mins + n, s.total);
	}
	/* the largest numbers that there are */
	{
		static const struct memio_claim c = { MEMIO_RATE_MAX, MEMIO_WEIGHT_MAX, true };
		struct memio_sharing s = { .total = MEMIO_RATE_MAX };

		for (int i = 0; i < 8000; i++)
			memio_sharing_add(&s, &c);
		KUNIT_EXPECT_EQ(test, memio_share_rate(&s, &c), MEMIO_RATE_MAX / 8000);
		/* 2^14 of them are 2^64. */
		for (int i = 0; i < 16384; i++)
			memio_sharing_add(&s, &c);
		KUNIT_EXPECT_LE(test, memio_share_min(&s, &c), MEMIO_RATE_MAX >> 14);
	}
}

/* What is charged all the time is predicted, and forgotten when it is charged no more. */
static void predicts(struct kunit *test)
{
	struct memio_average a = {};
	u64 now = 1000000 * MS;

	memio_average_run(&a, now, MS);
	KUNIT_EXPECT_EQ(test, memio_predicted(&a), 0);
	for (int i = 0; i < 200; i++) {
		a.used += 12345;
		now += MS;
		memio_average_run(&a, now, MS);
		KUNIT_ASSERT_LE(test, memio_predicted(&a), 12345);
	}
	KUNIT_EXPECT_GE(test, memio_predicted(&a), 12344);
	/* Half of it, after eleven periods without */
	now += 11 * MS;
	memio_average_run(&a, now, MS);
	KUNIT_EXPECT_GE(test, memio_predicted(&a), 12345 * 4 / 10);
	KUNIT_EXPECT_LE(test, memio_predicted(&a), 12345 * 6 / 10);
	/* Time does not go back. */
	memio_average_run(&a, now - 5 * MS, MS);
	KUNIT_EXPECT_EQ(test, a.at_ns, now);
	/* What is borrowed later than it was charged is taken off later. */
	a.used = -1000;
	now += MS;
	memio_average_run(&a, now, MS);
	KUNIT_EXPECT_EQ(test, a.used, -1000);
	a.used += 1500;
	now += MS;
	memio_average_run(&a, now, MS);
	KUNIT_EXPECT_EQ(test, a.used, 0);
	/* Nothing for long */
	now += 700 * MS;
	memio_average_run(&a, now, MS);
	KUNIT_EXPECT_EQ(test, memio_predicted(&a), 0);
	a.used = 1;
	now += 10000 * NSEC_PER_SEC;
	memio_average_run(&a, now, MS);
	KUNIT_EXPECT_EQ(test, memio_predicted(&a), 0);
	KUNIT_EXPECT_EQ(test, a.at_ns, now);
}

/* The prediction of a sum is the sum of predictions. */
static void linear(struct kunit *test)
{
	enum { PARTS = 5 };
	struct memio_average part[PARTS] = {}, all = {};
	u64 now = 700 * MS;

	seed = 2;
	for (int i = 0; i < 3000; i++) {
		u64 sum = 0;

		for (int p = 0; p < PARTS; p++) {
			u32 used = any(3) ? 0 : any(1 << 20);

			part[p].used += used;
			all.used += used;
		}
		now += any(3 * MS);
		for (int p = 0; p < PARTS; p++) {
			memio_average_run(&part[p], now, MS);
			sum += memio_predicted(&part[p]);
		}
		memio_average_run(&all, now, MS);
		/* Each is rounded, in each of the periods that it goes back. */
		KUNIT_ASSERT_LE(test, memio_predicted(&all), sum + PARTS + 1);
		KUNIT_ASSERT_GE(test, memio_predicted(&all) + PARTS + 1, sum);
	}
}

/* ---- groups, as regulate.c has them, but for CPUs' slices ---- */

#define GROUPS	4

struct world {
	u64 now;
	u64 total;
	struct memio_pool pool;
	struct memio_average own;
	struct memio_slice none;
	struct {
		struct memio_pool pool;
		struct memio_slice none;
		u64 rate;
		u64 wants;	/* per second; U64_MAX: all it can get */
		u64 request;
		s64 backlog;
		u64 got;
	} g[GROUPS];
};

static void set(struct world *w, int i, u64 rate, u64 wants, u64 request)
{
	memset(&w->g[i], 0, sizeof(w->g[i]));
	w->g[i].rate = rate;
	w->g[i].wants = wants;
	w->g[i].request = request;
	memio_pool_set(&w->g[i].pool, rate, w->now, MS);
}

static void begin(struct world *w, u64 total)
{
	memset(w, 0, sizeof(*w));
	w->now = NSEC_PER_SEC;
	w->total = total;
	memio_pool_set(&w->pool, total, w->now, MS);
}

static bool runs(struct world *w, int i)
{
	memio_pool_fill(&w->g[i].pool, w->now, MS);
	memio_pool_fill(&w->pool, w->now, MS);
	memio_average_run(&w->own, w->now, MS);
	if (w->g[i].pool.tokens > 0)
		return true;
	if (!memio_may_borrow(&w->pool, &w->own))
		return false;
	w->own.used -= memio_pool_forgive(&w->g[i].pool);
	return true;
}

/* A slice of 2^63 CPUs: there is none. */
static void charge(struct world *w, int i, u64 bytes)
{
	memio_pool_take(&w->pool, &w->none, bytes, 62);
	memio_pool_take(&w->g[i].pool, &w->g[i].none, bytes, 62);
	w->own.used += bytes;
	w->g[i].got += bytes;
}

static void run(struct world *w, unsigned int groups, u64 ns)
{
	const u64 step = 20000, end = w->now + ns;

	while (w->now < end) {
		w->now += step;
		for (int i = 0; i < groups; i++) {
			u64 wants = w->g[i].wants;

			/* more than there ever is */
			if (wants == U64_MAX)
				w->g[i].backlog = w->g[i].request + (64 << 10);
			else
				w->g[i].backlog += mul_u64_u64_div_u64(wants, step, NSEC_PER_SEC);
			while (w->g[i].backlog >= (s64)w->g[i].request && runs(w, i)) {
				charge(w, i, w->g[i].request);
				w->g[i].backlog -= w->g[i].request;
			}
		}
	}
}

/* Within so many parts of a thousand */
static void expect_near(struct kunit *test, u64 got, u64 wanted, unsigned int off)
{
	KUNIT_EXPECT_GE(test, got, wanted * (1000 - off) / 1000);
	KUNIT_EXPECT_LE(test, got, wanted * (1000 + off) / 1000);
}

/* One that wants less than its own has it; the rest is for who wants more. */
static void reclaimed(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	begin(w, 100000000);
	set(w, 0, 80000000, 30000000, 64);	/* guaranteed, and uses less */
	set(w, 1, 20000000, U64_MAX, 4096);	/* wants all */
	run(w, 2, NSEC_PER_SEC);
	expect_near(test, w->g[0].got, 30000000, 2);
	expect_near(test, w->g[1].got, 70000000, 30);

	/* It wants its own back: from the first period on it has it. */
	w->g[0].wants = 80000000;
	w->g[0].got = 0;
	w->g[1].got = 0;
	run(w, 2, 2 * MS);
	expect_near(test, w->g[0].got, 160000, 2);
	run(w, 2, NSEC_PER_SEC - 2 * MS);
	expect_near(test, w->g[0].got, 80000000, 2);
	expect_near(test, w->g[1].got, 20000000, 50);
}

/* With requests that are larger than a period's budget */
static void large_requests(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	begin(w, 100000000);
	set(w, 0, 60000000, 50000000, 64);
	set(w, 1, 40000000, U64_MAX, 1 << 20);
	run(w, 2, 4 * NSEC_PER_SEC);
	expect_near(test, w->g[0].got, 200000000, 2);
	expect_near(test, w->g[1].got, 200000000, 50);
}

/* Whatever they want: each has its own if it wants it, and together not more than there is. */
static void guaranteed(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	seed = 3;
	for (int i = 0; i < 30; i++) {
		u64 left, got = 0, wanted = 0;

		begin(w, 50000000 + any(200000000));
		left = w->total;
		for (int g = 0; g < GROUPS; g++) {
			u64 rate = g == GROUPS - 1 ? left : left / 8 + any(left / 2);

			left -= rate;
			set(w, g, rate, any(2) ? U64_MAX : 1000000 + any(w->total),
			    64ULL << any(8));
		}
		run(w, GROUPS, NSEC_PER_SEC / 2);
		for (int g = 0; g < GROUPS; g++) {
			u64 own = min(w->g[g].wants, w->g[g].rate) / 2;

			KUNIT_EXPECT_GE_MSG(test, w->g[g].got + w->g[g].request,
					    own * 98 / 100, "%d, %d", i, g);
			got += w->g[g].got;
			wanted += min(w->g[g].wants, w->total) / 2;
		}
		KUNIT_EXPECT_LE_MSG(test, got, w->total / 2 * 101 / 100 + GROUPS * 16384, "%d", i);
		KUNIT_EXPECT_GE_MSG(test, got, min(wanted, w->total / 2) * 95 / 100, "%d", i);
	}
}

static struct kunit_case share_cases[] = {
	KUNIT_CASE(example),
	KUNIT_CASE(shared_out),
	KUNIT_CASE(predicts),
	KUNIT_CASE(linear),
	KUNIT_CASE(reclaimed),
	KUNIT_CASE(large_requests),
	KUNIT_CASE(guaranteed),
	{}
};

static struct kunit_suite share_suite = {
	.name = "memio_share",
	.test_cases = share_cases,
};

kunit_test_suite(share_suite);

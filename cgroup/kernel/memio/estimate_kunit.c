// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: what estimate.c promises
 *
 * Prices are 16.16: 0x10000 is a memory byte for each IO byte. The window that
 * most tests begin with is the example in estimate.c.
 */

#include <kunit/test.h>

#include "estimate.h"

#define PRICE(thousandths)	((u32)((u64)(thousandths) * MEMIO_PRICE_ONE / 1000))

static const struct memio_seen example = {
	.boxes = { [MEMIO_READS] = 3, [MEMIO_WRITES] = 3, [MEMIO_PARTIALS] = 2 },
	.lines = {
		[MEMIO_READS] = {
			[MEMIO_ALL] = 6000,
			[MEMIO_MISSES] = 5400,
			[MEMIO_ANY_MISS] = 15600,
			[MEMIO_VICTIMS] = 1500,
		},
		[MEMIO_WRITES] = {
			[MEMIO_ALL] = 9000,
			[MEMIO_MISSES] = 2400,
			[MEMIO_DIRTIED] = 2700,
			[MEMIO_VICTIMS] = 1500,
		},
		[MEMIO_PARTIALS] = {
			[MEMIO_ALL] = 15,
			[MEMIO_MISSES] = 10,
			[MEMIO_DIRTIED] = 1800,
			[MEMIO_VICTIMS] = 1000,
		},
	},
};

#define EXAMPLE_TO	1024000
#define EXAMPLE_FROM	1536000

/* Prices are rounded down twice at most on their way. */
static void expect_price(struct kunit *test, u32 price, u32 expected)
{
	KUNIT_EXPECT_LE(test, price, expected + 2);
	KUNIT_EXPECT_GE(test, price + 2, expected);
}

/* Reads that missed; writes that met no modified line; fills of partial lines. */
static void dirty_cost(struct kunit *test)
{
	struct memio_cost cost;

	memio_window_cost(MEMIO_DIRTY, &example, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, 5400 * 8 / 3 * 64);
	KUNIT_EXPECT_EQ(test, cost.to_write, 0);
	KUNIT_EXPECT_EQ(test, cost.from_write, (2700 + 1800) * 8 / 5 * 64);
	KUNIT_EXPECT_EQ(test, cost.from_read, 10 * 8 / 2 * 64);
}

/* Writes that missed, full and partial. */
static void miss_cost(struct kunit *test)
{
	struct memio_cost cost;

	memio_window_cost(MEMIO_MISS, &example, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, 5400 * 8 / 3 * 64);
	KUNIT_EXPECT_EQ(test, cost.to_write, 0);
	KUNIT_EXPECT_EQ(test, cost.from_write, (2400 * 8 / 3 + 10 * 8 / 2) * 64);
	KUNIT_EXPECT_EQ(test, cost.from_read, 10 * 8 / 2 * 64);
}

/*
 * Misses of devices are 14400 + 6400 of 41600 lines, one half, so half of the 4000
 * write-backs are theirs, which reads and writes share likewise.
 */
static void seed_cost(struct kunit *test)
{
	struct memio_cost cost;

	memio_window_cost(MEMIO_SEED, &example, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, 14400 * 64);
	KUNIT_EXPECT_EQ(test, cost.from_read, 0);
	KUNIT_EXPECT_EQ(test, cost.to_write, 4000 * 14400 / 41600 * 64);
	KUNIT_EXPECT_EQ(test, cost.from_write, 4000 * 6400 / 41600 * 64);
}

/* No misses at all: nothing to divide by, and no write-backs of devices. */
static void seed_without_misses(struct kunit *test)
{
	struct memio_seen seen = example;
	struct memio_cost cost;

	seen.lines[MEMIO_READS][MEMIO_MISSES] = 0;
	seen.lines[MEMIO_READS][MEMIO_ANY_MISS] = 0;
	seen.lines[MEMIO_WRITES][MEMIO_MISSES] = 0;
	memio_window_cost(MEMIO_SEED, &seen, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, 0);
	KUNIT_EXPECT_EQ(test, cost.to_write, 0);
	KUNIT_EXPECT_EQ(test, cost.from_write, 0);
}

/* Other boxes, other counts: devices' misses may exceed all. They get all, not more. */
static void seed_more_than_all(struct kunit *test)
{
	struct memio_seen seen = example;
	struct memio_cost cost;

	seen.lines[MEMIO_READS][MEMIO_ANY_MISS] = 5400;
	memio_window_cost(MEMIO_SEED, &seen, &cost);
	KUNIT_EXPECT_LE(test, cost.to_write + cost.from_write, 4000 * 64);
	KUNIT_EXPECT_GE(test, cost.to_write + cost.from_write, 3998 * 64);
}

/* A group is scaled to the package by its share of the boxes; no box, no lines. */
static void scaling(struct kunit *test)
{
	struct memio_seen seen = {};
	struct memio_cost cost;

	memio_window_cost(MEMIO_DIRTY, &seen, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, 0);
	KUNIT_EXPECT_EQ(test, cost.from_write, 0);

	seen.boxes[MEMIO_READS] = 1;
	seen.boxes[MEMIO_WRITES] = 1;
	seen.boxes[MEMIO_PARTIALS] = 1;
	seen.lines[MEMIO_READS][MEMIO_MISSES] = 100;
	seen.lines[MEMIO_WRITES][MEMIO_DIRTIED] = 100;
	memio_window_cost(MEMIO_DIRTY, &seen, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, 300 * 64);
	KUNIT_EXPECT_EQ(test, cost.from_write, 150 * 64);

	/* 48 bits are what a counter has. */
	seen.boxes[MEMIO_READS] = 22;
	seen.boxes[MEMIO_WRITES] = 21;
	seen.boxes[MEMIO_PARTIALS] = 21;
	seen.lines[MEMIO_READS][MEMIO_MISSES] = 1ULL << 48;
	memio_window_cost(MEMIO_DIRTY, &seen, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, (1ULL << 48) * 64 / 22 * 64);
}

/* The example's prices: 0.9 for to_read, 0.3 and 1/600 for from. */
static void dirty_price(struct kunit *test)
{
	struct memio_estimate e;
	struct memio_price p;
	int i;

	memio_estimate_init(&e, MEMIO_DIRTY);
	for (i = 0; i < 50; i++) {
		memio_estimate_window(&e, &example, EXAMPLE_TO, EXAMPLE_FROM, &p);
		expect_price(test, p.to_read, PRICE(900));
		expect_price(test, p.to_write, 0);
		expect_price(test, p.from_write, PRICE(300));
		expect_price(test, p.from_read, MEMIO_PRICE_ONE / 600);
	}
}

/* Formula 4.2 shares by bytes, whichever way they went. */
static void seed_price(struct kunit *test)
{
	struct memio_estimate e;
	struct memio_price p;

	memio_estimate_init(&e, MEMIO_SEED);
	memio_estimate_window(&e, &example, EXAMPLE_TO, EXAMPLE_FROM, &p);
	expect_price(test, p.to_read, PRICE(360));	/* 921,600 / 2,560,000 */
	KUNIT_EXPECT_EQ(test, p.from_read, p.to_read);
	expect_price(test, p.to_write, 1999 * 64ULL * MEMIO_PRICE_ONE / 2560000);
	KUNIT_EXPECT_EQ(test, p.from_write, p.to_write);
}

/* Before anything is known a byte costs a byte. */
static void first_price(struct kunit *test)
{
	struct memio_seen nothing = { .boxes = { 3, 3, 2 } };
	struct memio_estimate e;
	struct memio_price p;

	memio_estimate_init(&e, MEMIO_DIRTY);
	memio_estimate_window(&e, &nothing, 0, 0, &p);
	KUNIT_EXPECT_EQ(test, p.to_read, MEMIO_PRICE_ONE);
	KUNIT_EXPECT_EQ(test, p.to_write, 0);
	KUNIT_EXPECT_EQ(test, p.from_read, 0);
	KUNIT_EXPECT_EQ(test, p.from_write, MEMIO_PRICE_ONE);
}

/* IO bytes that all stayed in the cache cost nothing. */
static void price_of_hits(struct kunit *test)
{
	struct memio_rate r = { .price = MEMIO_PRICE_ONE };

	KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 0, 4096), 0);
}

/* Without IO bytes there is nothing to divide by: the last price stays. */
static void price_is_kept(struct kunit *test)
{
	struct memio_rate r = {};
	int i;

	KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 500, 1000), PRICE(500));
	for (i = 0; i < 1000; i++)
		KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 0, 0), PRICE(500));
	expect_price(test, memio_rate_window(&r, 500, 1000), PRICE(500));
}

/* Counted in one window, accounted in the next: nothing is lost. */
static void carry_over(struct kunit *test)
{
	struct memio_rate r = {};

	memio_rate_window(&r, 64000, 0);
	KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 0, 64000), MEMIO_PRICE_ONE);
	memio_rate_window(&r, 32000, 0);
	memio_rate_window(&r, 32000, 0);
	expect_price(test, memio_rate_window(&r, 0, 64000), MEMIO_PRICE_ONE);
}

/* But memory bytes that nobody accounts for are not kept for ever. */
static void nobodys_bytes(struct kunit *test)
{
	struct memio_rate r = {};
	int i;

	memio_rate_window(&r, 1000, 1000);
	for (i = 0; i < 2 * MEMIO_PATIENCE; i++)
		memio_rate_window(&r, 1 << 20, 0);
	expect_price(test, memio_rate_window(&r, 1000, 1000), MEMIO_PRICE_ONE);
}

/* A step in what bytes cost: approached in some windows, hardly passed. */
static void step(struct kunit *test)
{
	u32 price = 0, last = MEMIO_PRICE_ONE;
	struct memio_rate r = {};
	int i;

	for (i = 0; i < 100; i++)
		memio_rate_window(&r, 100000, 100000);

	for (i = 0; i < 30; i++) {
		price = memio_rate_window(&r, 200000, 100000);
		KUNIT_EXPECT_GT(test, price, last);
		last = price;
	}
	KUNIT_EXPECT_GE(test, price, PRICE(1900));

	for (i = 0; i < 300; i++) {
		price = memio_rate_window(&r, 200000, 100000);
		KUNIT_EXPECT_LE(test, price, PRICE(2100));
	}
	KUNIT_EXPECT_GE(test, price, PRICE(1990));
	KUNIT_EXPECT_LE(test, price, PRICE(2010));
}

/* Windows of sampling: memory bytes, IO bytes. */
static void lumps(int i, u64 *mem, u64 *io)
{
	*mem = 64000;
	*io = i % 10 == 9 ? 640000 : 0;
}

static void lumps_on_a_trickle(int i, u64 *mem, u64 *io)
{
	*mem = 70400;
	*io = 6400 + (i % 10 == 9 ? 640000 : 0);
}

static void changing_cost(int i, u64 *mem, u64 *io)
{
	*mem = i / 50 % 2 ? 64000 : 12800;
	*io = 64000;
}

static void late_bursts(int i, u64 *mem, u64 *io)
{
	*mem = i % 60 < 30 ? 64000 : 0;
	*io = i && (i - 1) % 60 < 30 ? 64000 : 0;
}

/* Bytes x price, summed, is what was counted, but for what is owed at the end: 1 %. */
static void nothing_is_lost(struct kunit *test)
{
	static void (*const pattern[])(int i, u64 *mem, u64 *io) = {
		lumps, lumps_on_a_trickle, changing_cost, late_bursts,
	};
	int i, k;

	for (k = 0; k < ARRAY_SIZE(pattern); k++) {
		u64 counted = 0, charged = 0, mem, io;
		struct memio_rate r = {};

		for (i = 0; i < 6000; i++) {
			pattern[k](i, &mem, &io);
			counted += mem;
			charged += mul_u64_u32_shr(io, memio_rate_window(&r, mem, io),
						   MEMIO_PRICE_SHIFT);
		}
		KUNIT_EXPECT_GE_MSG(test, charged, counted - counted / 100,
				    "pattern %d", k);
		KUNIT_EXPECT_LE_MSG(test, charged, counted + counted / 100,
				    "pattern %d", k);
	}
}

/* Much DMA that isn't accounted beside one byte that is: a limit, no overflow. */
static void saturation(struct kunit *test)
{
	struct memio_rate r = {};
	int i;

	for (i = 0; i < 1000; i++)
		KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 1ULL << 40, 1), U32_MAX);

	/* What nobody paid for is not what the next to come pays for ever. */
	for (i = 0; i < 1000; i++)
		memio_rate_window(&r, 1 << 20, 1 << 20);
	KUNIT_EXPECT_GE(test, memio_rate_window(&r, 1 << 20, 1 << 20), PRICE(990));
	KUNIT_EXPECT_LE(test, memio_rate_window(&r, 1 << 20, 1 << 20), PRICE(1010));
}

/* After a gap only the price is left. */
static void resume(struct kunit *test)
{
	struct memio_seen nothing = { .boxes = { 3, 3, 2 } };
	struct memio_estimate e;
	struct memio_price p;

	memio_estimate_init(&e, MEMIO_DIRTY);
	memio_estimate_window(&e, &example, EXAMPLE_TO, EXAMPLE_FROM, &p);
	memio_estimate_window(&e, &example, 0, 0, &p);
	memio_estimate_resume(&e);

	memio_estimate_window(&e, &nothing, 0, 0, &p);
	expect_price(test, p.to_read, PRICE(900));
	expect_price(test, p.from_write, PRICE(300));

	memio_estimate_window(&e, &nothing, EXAMPLE_TO, EXAMPLE_FROM, &p);
	KUNIT_EXPECT_EQ(test, p.to_read, 0);
	KUNIT_EXPECT_EQ(test, p.from_write, 0);
}

/* Counters and accounts of the same DMA: 1000. */
static void check_exact(struct kunit *test)
{
	struct memio_estimate e;
	struct memio_price p;
	int i;

	memio_estimate_init(&e, MEMIO_DIRTY);
	for (i = 0; i < 300; i++)
		memio_estimate_window(&e, &example, 16000 * 64, (24000 + 60) * 64, &p);
	KUNIT_EXPECT_EQ(test, memio_check_permille(&e.check_to), 1000);
	KUNIT_EXPECT_EQ(test, memio_check_permille(&e.check_from), 1000);
}

/* Nothing moved: nothing to say. Something did that isn't accounted at all: say so. */
static void check_zero(struct kunit *test)
{
	struct memio_check c = {};

	KUNIT_EXPECT_EQ(test, memio_check_permille(&c), 0);
	KUNIT_EXPECT_TRUE(test, memio_check_ok(0));

	c.counted = 64;
	KUNIT_EXPECT_EQ(test, memio_check_permille(&c), U32_MAX);
	KUNIT_EXPECT_FALSE(test, memio_check_ok(U32_MAX));

	c.counted = 0;
	c.io = 64;
	KUNIT_EXPECT_EQ(test, memio_check_permille(&c), 1);
	KUNIT_EXPECT_FALSE(test, memio_check_ok(1));

	c.counted = U64_MAX;
	c.io = 1;
	KUNIT_EXPECT_EQ(test, memio_check_permille(&c), U32_MAX);
}

/* Small packets make three lines of 80 bytes, which is fine; more is not, nor less. */
static void check_bounds(struct kunit *test)
{
	struct memio_check c = { .counted = 3 * 64, .io = 64 + 16 };

	KUNIT_EXPECT_EQ(test, memio_check_permille(&c), 2400);
	KUNIT_EXPECT_TRUE(test, memio_check_ok(2400));
	KUNIT_EXPECT_TRUE(test, memio_check_ok(1000));
	KUNIT_EXPECT_TRUE(test, memio_check_ok(MEMIO_CHECK_LOW));
	KUNIT_EXPECT_TRUE(test, memio_check_ok(MEMIO_CHECK_HIGH));
	KUNIT_EXPECT_FALSE(test, memio_check_ok(MEMIO_CHECK_LOW - 1));
	KUNIT_EXPECT_FALSE(test, memio_check_ok(MEMIO_CHECK_HIGH + 1));
}

static struct kunit_case memio_estimate_cases[] = {
	KUNIT_CASE(dirty_cost),
	KUNIT_CASE(miss_cost),
	KUNIT_CASE(seed_cost),
	KUNIT_CASE(seed_without_misses),
	KUNIT_CASE(seed_more_than_all),
	KUNIT_CASE(scaling),
	KUNIT_CASE(dirty_price),
	KUNIT_CASE(seed_price),
	KUNIT_CASE(first_price),
	KUNIT_CASE(price_of_hits),
	KUNIT_CASE(price_is_kept),
	KUNIT_CASE(carry_over),
	KUNIT_CASE(nobodys_bytes),
	KUNIT_CASE(step),
	KUNIT_CASE(nothing_is_lost),
	KUNIT_CASE(saturation),
	KUNIT_CASE(resume),
	KUNIT_CASE(check_exact),
	KUNIT_CASE(check_zero),
	KUNIT_CASE(check_bounds),
	{}
};

static struct kunit_suite memio_estimate_suite = {
	.name = "memio_estimate",
	.test_cases = memio_estimate_cases,
};

kunit_test_suite(memio_estimate_suite);

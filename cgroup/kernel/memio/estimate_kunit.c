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
	.total = 8,
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
#define EXAMPLE_FROM	1536960
#define EXAMPLE_LINES	(24060 * 64)	/* from devices */

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

/* The dirty lines of two kinds of boxes; and of boxes that look for all kinds, each for itself. */
static void boxes_need_not_be_apart(struct kunit *test)
{
	struct memio_seen seen = { .total = 4, .boxes = { 4, 4, 2 } };
	struct memio_cost cost;
	u64 to, from;

	seen.lines[MEMIO_READS][MEMIO_ALL] = 1000;
	seen.lines[MEMIO_READS][MEMIO_MISSES] = 900;
	seen.lines[MEMIO_WRITES][MEMIO_ALL] = 500;
	seen.lines[MEMIO_WRITES][MEMIO_MISSES] = 400;
	seen.lines[MEMIO_PARTIALS][MEMIO_ALL] = 20;
	seen.lines[MEMIO_PARTIALS][MEMIO_MISSES] = 10;
	memio_window_lines(&seen, &to, &from);
	KUNIT_EXPECT_EQ(test, to, 1000 * 64);
	KUNIT_EXPECT_EQ(test, from, 540 * 64);
	memio_window_cost(MEMIO_MISS, &seen, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, 900 * 64);
	KUNIT_EXPECT_EQ(test, cost.from_write, 420 * 64);
	KUNIT_EXPECT_EQ(test, cost.from_read, 20 * 64);
}

/* An estimator for which something is not counted gives way to the lower bound. */
static void estimators_need_counters(struct kunit *test)
{
	unsigned long all = ~0UL;
	unsigned long victims = MEMIO_COUNTS(MEMIO_WRITES, MEMIO_VICTIMS);
	unsigned long dirtied = MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_DIRTIED);

	for (int kind = 0; kind < MEMIO_ESTIMATORS; kind++)
		KUNIT_EXPECT_EQ(test, memio_estimator_for(kind, all), kind);
	KUNIT_EXPECT_EQ(test, memio_estimator_for(MEMIO_DEVICE, all & ~dirtied), MEMIO_MISS);
	KUNIT_EXPECT_EQ(test, memio_estimator_for(MEMIO_DIRTY, all & ~dirtied), MEMIO_MISS);
	KUNIT_EXPECT_EQ(test, memio_estimator_for(MEMIO_SEED, all & ~dirtied), MEMIO_SEED);
	KUNIT_EXPECT_EQ(test, memio_estimator_for(MEMIO_SEED, all & ~victims), MEMIO_MISS);
	KUNIT_EXPECT_EQ(test, memio_estimator_for(MEMIO_DEVICE, all & ~victims), MEMIO_DEVICE);
	KUNIT_EXPECT_TRUE(test, memio_can_estimate(all & ~victims & ~dirtied));
	KUNIT_EXPECT_FALSE(test, memio_can_estimate(MEMIO_COUNTS(MEMIO_READS, MEMIO_MISSES)));
	KUNIT_EXPECT_FALSE(test, memio_can_estimate(0));
}

/* Boxes that count victims tell what is written back, or else memory controllers that were read. */
static void written_back_is_known(struct kunit *test)
{
	const unsigned long victims = MEMIO_COUNTS(MEMIO_READS, MEMIO_VICTIMS) |
				      MEMIO_COUNTS(MEMIO_WRITES, MEMIO_VICTIMS) |
				      MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_VICTIMS);
	struct memio_seen seen = {};

	KUNIT_EXPECT_TRUE(test, memio_written_back_known(victims, &seen));
	KUNIT_EXPECT_FALSE(test, memio_written_back_known(0, &seen));
	/* Of one group of boxes alone */
	KUNIT_EXPECT_FALSE(test, memio_written_back_known(MEMIO_COUNTS(MEMIO_READS, MEMIO_VICTIMS),
							  &seen));
	seen.dram = true;
	KUNIT_EXPECT_TRUE(test, memio_written_back_known(0, &seen));
}

/* A group is scaled to the package by its share of the boxes; no box, no lines. */
static void scaling(struct kunit *test)
{
	struct memio_seen seen = {};
	struct memio_cost cost;

	memio_window_cost(MEMIO_DIRTY, &seen, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, 0);
	KUNIT_EXPECT_EQ(test, cost.from_write, 0);

	seen.total = 3;
	seen.boxes[MEMIO_READS] = 1;
	seen.boxes[MEMIO_WRITES] = 1;
	seen.boxes[MEMIO_PARTIALS] = 1;
	seen.lines[MEMIO_READS][MEMIO_MISSES] = 100;
	seen.lines[MEMIO_WRITES][MEMIO_DIRTIED] = 100;
	memio_window_cost(MEMIO_DIRTY, &seen, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, 300 * 64);
	KUNIT_EXPECT_EQ(test, cost.from_write, 150 * 64);

	/* 48 bits are what a counter has. */
	seen.total = 64;
	seen.boxes[MEMIO_READS] = 22;
	seen.boxes[MEMIO_WRITES] = 21;
	seen.boxes[MEMIO_PARTIALS] = 21;
	seen.lines[MEMIO_READS][MEMIO_MISSES] = 1ULL << 48;
	memio_window_cost(MEMIO_DIRTY, &seen, &cost);
	KUNIT_EXPECT_EQ(test, cost.to_read, (1ULL << 48) * 64 / 22 * 64);
}

/* The example's prices: 0.9 for to_read, 0.2993 and 1/600 for from. */
static void dirty_price(struct kunit *test)
{
	struct memio_estimate e;
	struct memio_price p;
	int i;

	memio_estimate_init(&e, MEMIO_DIRTY);
	memio_estimate_window(&e, &example, EXAMPLE_TO, EXAMPLE_FROM, &p);
	expect_price(test, p.from_write, 460800ULL * MEMIO_PRICE_ONE / EXAMPLE_LINES);

	for (i = 0; i < 10000; i++) {
		memio_estimate_window(&e, &example, EXAMPLE_TO, EXAMPLE_FROM, &p);
		expect_price(test, p.to_read, PRICE(900));
		KUNIT_EXPECT_EQ(test, p.to_write, 0);
	}
	expect_price(test, p.from_write, 460800ULL * MEMIO_PRICE_ONE / EXAMPLE_LINES);
	expect_price(test, p.from_read, 2560ULL * MEMIO_PRICE_ONE / EXAMPLE_LINES);
}

/* Formula 4.2 shares by bytes, whichever way they went. */
static void seed_price(struct kunit *test)
{
	struct memio_estimate e;
	struct memio_price p;
	int i;

	memio_estimate_init(&e, MEMIO_SEED);
	for (i = 0; i < 10000; i++) {
		memio_estimate_window(&e, &example, EXAMPLE_TO, EXAMPLE_FROM, &p);
		KUNIT_EXPECT_EQ(test, p.from_read, p.to_read);
		KUNIT_EXPECT_EQ(test, p.from_write, p.to_write);
	}
	expect_price(test, p.to_read, 921600ULL * MEMIO_PRICE_ONE /
		     (EXAMPLE_TO + EXAMPLE_LINES));
	expect_price(test, p.to_write, 1999 * 64ULL * MEMIO_PRICE_ONE /
		     (EXAMPLE_TO + EXAMPLE_LINES));
}

/* Before anything is known a byte costs a byte. */
static void first_price(struct kunit *test)
{
	struct memio_seen nothing = { .total = 8, .boxes = { 3, 3, 2 } };
	struct memio_estimate e;
	struct memio_price p;

	memio_estimate_init(&e, MEMIO_DIRTY);
	memio_estimate_window(&e, &nothing, 0, 0, &p);
	KUNIT_EXPECT_EQ(test, p.to_read, MEMIO_PRICE_ONE);
	KUNIT_EXPECT_EQ(test, p.to_write, 0);
	KUNIT_EXPECT_EQ(test, p.from_read, 0);
	KUNIT_EXPECT_EQ(test, p.from_write, MEMIO_PRICE_ONE);
}

/* Lines that all were in the cache cost nothing. */
static void price_of_hits(struct kunit *test)
{
	struct memio_rate r = {};

	KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 0, 4096), 0);
}

/* Without lines there is nothing to learn: the last price stays. */
static void price_is_kept(struct kunit *test)
{
	struct memio_rate r = {};
	u32 price;
	int i;

	KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 500, 1000),
			PRICE(500));
	for (i = 0; i < 1000; i++)
		KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 0, 0),
				PRICE(500));
	price = memio_rate_window(&r, 500, 1000);
	KUNIT_EXPECT_GE(test, price, PRICE(499));
	KUNIT_EXPECT_LE(test, price, PRICE(501));
}

/* A trickle after a burst has a price of its own in the end, but not soon. */
static void trickle_after_burst(struct kunit *test)
{
	struct memio_rate r = {};
	u32 price = 0;
	int i;

	for (i = 0; i < 100; i++)
		memio_rate_window(&r, 25000 * 64, 25000 * 64);
	for (i = 0; i < 10; i++)
		price = memio_rate_window(&r, 0, 30 * 64);
	KUNIT_EXPECT_GE(test, price, PRICE(995));
	for (i = 10; i < 1000; i++)
		price = memio_rate_window(&r, 0, 30 * 64);
	KUNIT_EXPECT_LE(test, price, PRICE(1));
}

/* A step in what lines cost: approached in some windows, never passed. */
static void step(struct kunit *test)
{
	u32 price = 0, last = PRICE(500);
	struct memio_rate r = {};
	int i;

	for (i = 0; i < 100; i++)
		memio_rate_window(&r, 3200000, 6400000);

	for (i = 0; i < 26; i++) {
		price = memio_rate_window(&r, 6400000, 6400000);
		KUNIT_EXPECT_GT(test, price, last);
		last = price;
	}
	KUNIT_EXPECT_GE(test, price, PRICE(990));

	for (i = 0; i < 300; i++) {
		price = memio_rate_window(&r, 6400000, 6400000);
		KUNIT_EXPECT_LE(test, price, MEMIO_PRICE_ONE);
	}
	KUNIT_EXPECT_GE(test, price, PRICE(999));
}

/* The example of estimate.c: lines that are accounted in the window after theirs. */
static void on_their_way(struct kunit *test)
{
	static const struct {
		u64 lines, mem, io;
		u32 price;
	} w[] = {
		{ 1000, 500, 0, 500 }, { 1000, 500, 1000, 500 }, { 1000, 1000, 1000, 788 },
		{ 1000, 1000, 1000, 918 }, { 1000, 1000, 1000, 971 }, { 0, 0, 1000, 912 },
	};
	struct memio_flow f = {};
	u32 price;

	for (int i = 0; i < ARRAY_SIZE(w); i++) {
		price = memio_flow_window(&f, 64 * w[i].mem, 64 * w[i].lines, 64 * w[i].io);
		KUNIT_EXPECT_GE_MSG(test, price, PRICE(w[i].price - 1), "%d", i);
		KUNIT_EXPECT_LE_MSG(test, price, PRICE(w[i].price + 1), "%d", i);
	}
}

/* Where nothing is on its way a price is its window's, however often the load changes. */
static void followed_at_once(struct kunit *test)
{
	struct memio_flow f = {};

	for (int i = 0; i < 100; i++) {
		u32 want = i / 7 % 2 ? 900 : 100;
		u32 price = memio_flow_window(&f, 64 * want, 64000, 64000);

		/* Of what was before, a line is left. */
		KUNIT_EXPECT_GE_MSG(test, price, PRICE(want - 1), "%d", i);
		KUNIT_EXPECT_LE_MSG(test, price, PRICE(want + 1), "%d", i);
	}

	/* 3 % more than is accounted changes little, and after a pause nothing is on its way. */
	for (int i = 0; i < 100; i++)
		memio_flow_window(&f, 0, 66000, 64000);
	KUNIT_EXPECT_GE(test, memio_flow_window(&f, 66000, 66000, 64000), PRICE(800));
	for (int i = 0; i <= MEMIO_PAUSE; i++)
		memio_flow_window(&f, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, f.all, 0);
	KUNIT_EXPECT_EQ(test, memio_flow_window(&f, 300, 100, 100), PRICE(MEMIO_CHECK_HIGH));
}

/* Each price is made of its own direction's bytes; with "seed", of those of both. */
static void accounted_in_its_direction(struct kunit *test)
{
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	const enum memio_estimator kind[] = { MEMIO_DIRTY, MEMIO_SEED };
	struct memio_estimate e;
	struct memio_price p;

	seen.lines[MEMIO_READS][MEMIO_ALL] = 1000;
	seen.lines[MEMIO_READS][MEMIO_MISSES] = 1000;
	seen.lines[MEMIO_WRITES][MEMIO_ALL] = 1000;
	seen.lines[MEMIO_WRITES][MEMIO_DIRTIED] = 1000;
	seen.lines[MEMIO_PARTIALS][MEMIO_DIRTIED] = 1000;
	for (int i = 0; i < ARRAY_SIZE(kind); i++) {
		memio_estimate_init(&e, kind[i]);
		/* What is written is accounted, and what is read is on its way. */
		memio_estimate_window(&e, &seen, 0, 3 * 64000, &p);
		KUNIT_EXPECT_EQ(test, e.to_read.all, 3 * 64000);
		KUNIT_EXPECT_EQ(test, e.from_write.all, 0);
		/* And the other way round */
		memio_estimate_init(&e, kind[i]);
		memio_estimate_window(&e, &seen, 3 * 64000, 0, &p);
		KUNIT_EXPECT_EQ(test, e.from_write.all, kind[i] == MEMIO_SEED ? 0 : 3 * 64000);
	}
}

/* What limits are charged at: of the last bytes, whatever time they took */
static void lasting_price(struct kunit *test)
{
	const struct memio_price half = { .to_read = PRICE(500), .from_write = PRICE(500) };
	const struct memio_price full = { .to_read = PRICE(1000), .from_write = PRICE(1000) };
	const struct memio_price chance = { .from_write = PRICE(2500), .late_write = PRICE(100) };
	const struct memio_price more = { .from_write = PRICE(1200) };
	const struct memio_price less = { .from_write = PRICE(800) };
	const struct memio_price free = {};
	struct memio_lasting l;
	u32 last;
	int i;

	/* Nothing was moved: a byte for a byte, in its own direction */
	memio_lasting_init(&l);
	memio_lasting_window(&l, &free, 0, 0);
	KUNIT_EXPECT_EQ(test, l.price.to_read, PRICE(1000));
	KUNIT_EXPECT_EQ(test, l.price.to_write, 0);
	KUNIT_EXPECT_EQ(test, l.price.from_read, 0);
	KUNIT_EXPECT_EQ(test, l.price.from_write, PRICE(1000));

	/* What is known at first weighs a line; the other direction has nothing to do with it. */
	memio_lasting_window(&l, &half, 0, 64 * 999);
	KUNIT_EXPECT_LE(test, l.price.from_write, PRICE(501));
	KUNIT_EXPECT_EQ(test, l.price.to_read, PRICE(1000));

	/* Windows without bytes change nothing, however many they are. */
	last = l.price.from_write;
	for (i = 0; i < 100000; i++)
		memio_lasting_window(&l, &free, 0, 0);
	KUNIT_EXPECT_EQ(test, l.price.from_write, last);

	/* More than what it is made of: all of it is new. A mean over its bytes if it is less. */
	memio_lasting_window(&l, &full, 0, 256 << 10);
	KUNIT_EXPECT_EQ(test, l.price.from_write, PRICE(1000));
	memio_lasting_window(&l, &free, 0, 64 << 10);
	KUNIT_EXPECT_EQ(test, l.price.from_write, PRICE(750));
	for (i = 0; i < 100; i++)
		memio_lasting_window(&l, &half, 0, 64 << 10);
	KUNIT_EXPECT_EQ(test, l.price.from_write, PRICE(500));
	/* A huge one is not remembered for longer than others. */
	memio_lasting_window(&l, &full, 0, 1ULL << 50);
	memio_lasting_window(&l, &free, 0, 128 << 10);
	KUNIT_EXPECT_EQ(test, l.price.from_write, PRICE(500));

	/* More than a line for a line is by chance, as is less: the mean is right. */
	memio_lasting_window(&l, &free, 0, 256 << 10);
	memio_lasting_window(&l, &chance, 0, 64 << 10);
	KUNIT_EXPECT_EQ(test, l.price.from_write, PRICE(625));
	KUNIT_EXPECT_EQ(test, l.price.late_write, PRICE(100));
	for (i = 0; i < 100; i++)
		memio_lasting_window(&l, i % 2 ? &more : &less, 0, 32 << 10);
	KUNIT_EXPECT_GE(test, l.price.from_write, PRICE(995));
	/* But no more than that is charged. */
	memio_lasting_window(&l, &chance, 0, 256 << 10);
	KUNIT_EXPECT_EQ(test, l.price.from_write, PRICE(1000));
	memio_lasting_window(&l, &free, 0, 256 << 10);

	/* Line by line, as long as it takes */
	for (i = 0; i < 100000; i++)
		memio_lasting_window(&l, &free, 0, 64);
	KUNIT_EXPECT_LE(test, l.price.from_write, PRICE(1));
}

/* A window: lines that devices read, in all and such that missed, IO bytes. */
struct moved {
	u64 lines;
	u64 missed;
	u64 io;
};

/* Packets of 66 bytes and a descriptor: 3 lines, of which few miss. */
static struct moved trickle(unsigned int packets)
{
	struct moved m = { 3 * packets, 3 * packets / 10, 3 * 64 * packets };

	return m;
}

/* 16 MB in 10 windows of 160, accounted from the fourth window on. */
static struct moved bursts(int i)
{
	struct moved m = trickle(10);

	if (i % 160 < 10) {
		m.lines += 25000;
		m.missed += 25000;
	}
	if (i % 160 >= 3 && i % 160 < 13)
		m.io += 25000 * 64;
	return m;
}

/* Likewise, half of it missing, and all accounted at once, after the last line. */
static struct moved lumps(int i)
{
	struct moved m = trickle(10);

	if (i % 160 < 10) {
		m.lines += 25000;
		m.missed += 12500;
	}
	if (i % 160 == 13)
		m.io += 250000 * 64;
	return m;
}

/* More slowly, with 3.2 MB on their way at a time. */
static struct moved slow_bursts(int i)
{
	struct moved m = trickle(1);

	if (i % 160 < 100) {
		m.lines += 2500;
		m.missed += 2500;
	}
	if (i % 160 >= 20 && i % 160 < 120)
		m.io += 2500 * 64;
	return m;
}

/* No pause at all; what lines cost changes. */
static struct moved changing_cost(int i)
{
	struct moved m = { 16000, i / 50 % 2 ? 16000 : 3200, i >= 4 ? 16000 * 64 : 0 };

	return m;
}

/* Only small ones. */
static struct moved descriptors(int i)
{
	struct moved m = { 4000, 1000, 4000 * 64 };

	return m;
}

/* Bytes x price, summed, is what was counted, whenever bytes are accounted: 2 %. */
static void nothing_is_lost(struct kunit *test)
{
	static struct moved (*const pattern[])(int i) = {
		bursts, lumps, slow_bursts, changing_cost, descriptors,
	};
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	int i, k;

	for (k = 0; k < ARRAY_SIZE(pattern); k++) {
		u64 counted = 0, charged = 0;
		struct memio_estimate e;
		struct memio_price p;

		memio_estimate_init(&e, MEMIO_DIRTY);
		for (i = 0; i < 160 * 100; i++) {
			struct moved m = pattern[k](i);

			/* a third of the boxes each */
			seen.lines[MEMIO_READS][MEMIO_ALL] = m.lines;
			seen.lines[MEMIO_READS][MEMIO_MISSES] = m.missed;
			memio_estimate_window(&e, &seen, 3 * m.io, 0, &p);
			counted += 3 * m.missed * MEMIO_LINE_BYTES;
			charged += mul_u64_u32_shr(3 * m.io, p.to_read, MEMIO_PRICE_SHIFT);
		}
		KUNIT_EXPECT_GE_MSG(test, charged, counted - counted / 50, "pattern %d", k);
		KUNIT_EXPECT_LE_MSG(test, charged, counted + counted / 50, "pattern %d", k);
	}
}

/* Much DMA that isn't accounted beside one byte that is: nobody pays for it. */
static void unaccounted(struct kunit *test)
{
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	struct memio_estimate e;
	struct memio_price p;
	int i;

	memio_estimate_init(&e, MEMIO_DIRTY);
	seen.lines[MEMIO_READS][MEMIO_ALL] = 16384;
	seen.lines[MEMIO_READS][MEMIO_MISSES] = 16384;
	for (i = 0; i < 3000; i++) {
		memio_estimate_window(&e, &seen, 1, 0, &p);
		KUNIT_EXPECT_EQ(test, p.to_read, MEMIO_PRICE_ONE);
	}
	KUNIT_EXPECT_FALSE(test, memio_check_ok(memio_check_permille(&e.check_to)));

	for (i = 0; i < 30000; i++)
		memio_estimate_window(&e, &seen, 3 * 16384 * 64, 0, &p);
	KUNIT_EXPECT_EQ(test, p.to_read, MEMIO_PRICE_ONE);
	KUNIT_EXPECT_TRUE(test, memio_check_ok(memio_check_permille(&e.check_to)));
}

/* Misses that other boxes saw may exceed all lines by chance: no more than HIGH. */
static void saturation(struct kunit *test)
{
	struct memio_rate r = {};

	KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 1ULL << 54, 0),
			PRICE(MEMIO_CHECK_HIGH));
	KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 1ULL << 54, 64),
			PRICE(MEMIO_CHECK_HIGH));
	memset(&r, 0, sizeof(r));
	KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 300, 100),
			PRICE(MEMIO_CHECK_HIGH));
}

/* All of a counter's 48 bits in each window. */
static void overflow(struct kunit *test)
{
	struct memio_seen seen = { .total = 8, .boxes = { 3, 3, 2 } };
	struct memio_estimate e;
	struct memio_price p;
	int i, g;

	for (g = 0; g < MEMIO_GROUPS; g++) {
		seen.lines[g][MEMIO_ALL] = 1ULL << 48;
		seen.lines[g][MEMIO_MISSES] = 1ULL << 47;
		seen.lines[g][MEMIO_DIRTIED] = 1ULL << 48;
	}

	memio_estimate_init(&e, MEMIO_DIRTY);
	for (i = 0; i < 10000; i++)
		memio_estimate_window(&e, &seen, 1ULL << 56, 1ULL << 56, &p);
	expect_price(test, p.to_read, PRICE(500));
	expect_price(test, p.to_write, 0);
	/* 2^49 * 8/5 of 2^48 * 8/3 + 2^48 * 8/2 */
	expect_price(test, p.from_write, PRICE(480));
	expect_price(test, p.from_read, PRICE(300));
	KUNIT_EXPECT_EQ(test, memio_check_permille(&e.check_to), 1000);
	KUNIT_EXPECT_EQ(test, memio_check_permille(&e.check_from), 1000);
}

/* What is claimed late costs what bytes of the last windows came to. */
static void late_price(struct kunit *test)
{
	struct memio_seen seen = { .total = 8, .boxes = { 3, 3, 2 } };
	struct memio_estimate e;
	struct memio_price p;
	u32 before;
	int i;

	memio_estimate_init(&e, MEMIO_DIRTY);
	memio_estimate_window(&e, &seen, 0, 0, &p);
	KUNIT_EXPECT_EQ(test, p.late_write, p.from_write);
	KUNIT_EXPECT_EQ(test, p.late_read, p.from_read);

	for (i = 0; i < 1000; i++)
		memio_estimate_window(&e, &example, 0, EXAMPLE_FROM, &p);
	KUNIT_EXPECT_GE(test, p.late_write, PRICE(295));
	KUNIT_EXPECT_LE(test, p.late_write, PRICE(305));
	before = p.late_write;

	/* Cheap from now on, but nothing is accounted yet: what is read is older. */
	seen.lines[MEMIO_WRITES][MEMIO_ALL] = 9000;
	for (i = 0; i < 5; i++)
		memio_estimate_window(&e, &seen, 0, 0, &p);
	KUNIT_EXPECT_LT(test, p.from_write, PRICE(200));
	KUNIT_EXPECT_EQ(test, p.late_write, before);
	memio_estimate_window(&e, &seen, 0, EXAMPLE_FROM, &p);
	KUNIT_EXPECT_LT(test, p.late_write, before);
	KUNIT_EXPECT_GT(test, p.late_write, p.from_write);
}

/* A burst is read when only a trickle comes: that does not push it out. */
static void late_after_a_burst(struct kunit *test)
{
	struct memio_late l = {};

	for (int i = 0; i < 5; i++)
		memio_late_window(&l, 640000, 0, MEMIO_PRICE_ONE);
	for (int i = 0; i < 40; i++)
		memio_late_window(&l, 1920, MEMIO_PRICE_ONE, 0);
	KUNIT_EXPECT_GE(test, l.price_write, PRICE(900));
	KUNIT_EXPECT_LE(test, l.price_read, PRICE(100));
	/* And is forgotten when as much comes. */
	for (int i = 0; i < 30; i++)
		memio_late_window(&l, 640000, MEMIO_PRICE_ONE, 0);
	KUNIT_EXPECT_LE(test, l.price_write, PRICE(100));
	KUNIT_EXPECT_GE(test, l.price_read, PRICE(900));
}

/* Counters and accounts of the same DMA: 1000. */
static void check_exact(struct kunit *test)
{
	struct memio_estimate e;
	struct memio_price p;
	int i;

	memio_estimate_init(&e, MEMIO_DIRTY);
	for (i = 0; i < 300; i++)
		memio_estimate_window(&e, &example, EXAMPLE_TO, EXAMPLE_LINES, &p);
	KUNIT_EXPECT_EQ(test, memio_check_permille(&e.check_to), 1000);
	KUNIT_EXPECT_EQ(test, memio_check_permille(&e.check_from), 1000);
}

/* Nothing moved: 1000. Something did that isn't accounted at all: say so. */
static void check_zero(struct kunit *test)
{
	struct memio_check c = {};
	struct memio_estimate e;

	memio_estimate_init(&e, MEMIO_DIRTY);
	KUNIT_EXPECT_EQ(test, memio_check_permille(&e.check_to), 1000);
	KUNIT_EXPECT_EQ(test, memio_check_permille(&e.check_from), 1000);

	c.counted = 64;
	KUNIT_EXPECT_EQ(test, memio_check_permille(&c), U32_MAX);
	KUNIT_EXPECT_FALSE(test, memio_check_ok(U32_MAX));

	c.counted = 0;
	c.io = 64;
	KUNIT_EXPECT_EQ(test, memio_check_permille(&c), 0);
	KUNIT_EXPECT_FALSE(test, memio_check_ok(0));

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

/* The example at memio_cpu_window(): 8 boxes, 1,000 lines dirtied by devices. */
static void cpu_example(struct kunit *test)
{
	struct memio_cpu_estimate e = {};
	struct memio_seen seen = {
		.total = 8,
		.boxes = { [MEMIO_READS] = 3, [MEMIO_WRITES] = 3, [MEMIO_PARTIALS] = 2 },
	};

	seen.lines[MEMIO_WRITES][MEMIO_DIRTIED] = 375;
	seen.lines[MEMIO_PARTIALS][MEMIO_DIRTIED] = 250;
	seen.lines[MEMIO_READS][MEMIO_VICTIMS] = 800;
	KUNIT_EXPECT_EQ(test, memio_cpu_window(&e, &seen, 7000, 0), 0);
	KUNIT_EXPECT_EQ(test, e.owed, 200);

	memset(seen.lines, 0, sizeof(seen.lines));
	seen.lines[MEMIO_READS][MEMIO_VICTIMS] = 3000;
	memio_cpu_window(&e, &seen, 7000, 0);
	KUNIT_EXPECT_EQ(test, e.owed, 0);
	/* What is older weighs less. */
	KUNIT_EXPECT_GE(test, memio_cpu_window(&e, &(struct memio_seen){}, 0, 0), PRICE(200));

	/* Twice as many slices as boxes: twice as much is written back, all of it by CPUs. */
	e = (struct memio_cpu_estimate){};
	seen.total = 16;
	seen.lines[MEMIO_WRITES][MEMIO_DIRTIED] = 0;
	seen.lines[MEMIO_PARTIALS][MEMIO_DIRTIED] = 0;
	seen.lines[MEMIO_READS][MEMIO_VICTIMS] = 1400;
	seen.lines[MEMIO_WRITES][MEMIO_VICTIMS] = 0;
	seen.lines[MEMIO_PARTIALS][MEMIO_VICTIMS] = 0;
	for (int i = 0; i < 50; i++)
		expect_price(test, memio_cpu_window(&e, &seen, 7000, 2800 * 64), PRICE(400));
}

/* The same by what memory controllers write, and by what missed of what devices wrote. */
static void cpu_by_controllers(struct kunit *test)
{
	struct memio_cpu_estimate e = {};
	struct memio_seen seen = {
		.total = 24,
		.boxes = { [MEMIO_READS] = 16, [MEMIO_WRITES] = 16, [MEMIO_PARTIALS] = 16 },
		.dram = true,
		.dram_read = 7000,
		.dram_write = 800,
	};

	seen.lines[MEMIO_WRITES][MEMIO_MISSES] = 600;
	seen.lines[MEMIO_PARTIALS][MEMIO_MISSES] = 67;
	KUNIT_EXPECT_EQ(test, memio_cpu_window(&e, &seen, 7000, 0), 0);
	KUNIT_EXPECT_EQ(test, e.owed, 200);

	memset(seen.lines, 0, sizeof(seen.lines));
	seen.dram_write = 3000;
	memio_cpu_window(&e, &seen, 7000, 0);
	KUNIT_EXPECT_EQ(test, e.owed, 0);
	KUNIT_EXPECT_GE(test, memio_cpu_window(&e, &(struct memio_seen){}, 0, 0), PRICE(200));
}

/* Nothing was read so far: no price, whatever was written back. */
static void cpu_reads_nothing(struct kunit *test)
{
	struct memio_cpu_estimate e = {};
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };

	KUNIT_EXPECT_EQ(test, memio_cpu_window(&e, &seen, 0, 0), 0);
	seen.lines[MEMIO_WRITES][MEMIO_VICTIMS] = 10000;
	for (int i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, memio_cpu_window(&e, &seen, 0, 0), 0);
	expect_price(test, memio_cpu_window(&e, &seen, 20000, 640000), PRICE(500));
}

/* Devices alone: however long and however fast, nothing is written back for CPUs. */
static void cpu_devices_alone(struct kunit *test)
{
	for (unsigned int scale = 1; scale <= 1000; scale *= 1000) {
		struct memio_cpu_estimate e = {};
		struct memio_seen seen = example;

		for (int g = 0; g < MEMIO_GROUPS; g++) {
			for (int role = 0; role < MEMIO_ROLES; role++)
				seen.lines[g][role] *= scale;
			seen.lines[g][MEMIO_VICTIMS] = 2400 * scale;
		}
		for (int i = 0; i < 1000; i++)
			KUNIT_EXPECT_EQ(test, memio_cpu_window(&e, &seen, 10, 0), 0);
	}
}

/* CPUs alone, which modify every third line that they read. */
static void cpu_alone(struct kunit *test)
{
	struct memio_cpu_estimate e = {};
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	u32 price = 0;

	seen.lines[MEMIO_WRITES][MEMIO_VICTIMS] = 10000;
	for (int i = 0; i < 100; i++)
		price = memio_cpu_window(&e, &seen, 30000, 640000);
	expect_price(test, price, PRICE(333) + 21);
	/* It stays as long as nothing happens. */
	KUNIT_EXPECT_EQ(test, memio_cpu_window(&e, &(struct memio_seen){}, 0, 0), price);
}

/*
 * Who writes takes turns with who reads more, and all is charged some windows late: what
 * was charged is what was written back, but for what is still to come.
 */
static void cpu_turns(struct kunit *test)
{
	static const struct {
		int lag;
		unsigned int scale;	/* the last: 1.3 MB to 500 MB in a window */
	} cases[] = {
		{ 1, 1 }, { 3, 1 }, { 5, 1 }, { 1, 100 }, { 3, 400 },
	};

	for (int c = 0; c < ARRAY_SIZE(cases); c++) {
		int lag = cases[c].lag;
		struct memio_cpu_estimate e = {};
		struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
		u64 late[8] = {}, paid = 0, all_paid = 0, back = 0;
		u32 price = 0;

		for (int i = 0; i < 1000; i++) {
			bool writes = i % 20 < 7;
			u64 missed = (writes ? 5000 : 20000) * cases[c].scale;

			seen.lines[MEMIO_WRITES][MEMIO_VICTIMS] = writes ? missed : 0;
			back += seen.lines[MEMIO_WRITES][MEMIO_VICTIMS] * MEMIO_LINE_BYTES;
			price = memio_cpu_window(&e, &seen, missed, paid);
			late[i % 8] = missed * MEMIO_LINE_BYTES;
			paid = i < lag ? 0 : late[(i - lag) % 8] * price >> MEMIO_PRICE_SHIFT;
			all_paid += paid;
		}
		KUNIT_EXPECT_GE(test, all_paid, back - back / 50);
		KUNIT_EXPECT_LE(test, all_paid, back + back / 50);
	}
}

/* Nothing is written back any more, but what was is not all paid: with the next reads. */
static void cpu_due(struct kunit *test)
{
	struct memio_cpu_estimate e = {};
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	u64 paid = 0;
	u32 price;

	seen.lines[MEMIO_WRITES][MEMIO_VICTIMS] = 10000;
	price = memio_cpu_window(&e, &seen, 20000, 0);
	seen.lines[MEMIO_WRITES][MEMIO_VICTIMS] = 0;
	for (int i = 0; i < 200; i++) {
		u64 now = (u64)MEMIO_LINE_BYTES * 1000 * price >> MEMIO_PRICE_SHIFT;

		paid += now;
		price = memio_cpu_window(&e, &seen, 1000, now);
	}
	KUNIT_EXPECT_GE(test, paid, MEMIO_LINE_BYTES * 10000 * 98 / 100);
	KUNIT_EXPECT_LE(test, paid, MEMIO_LINE_BYTES * 10000 * 102 / 100);
	KUNIT_EXPECT_LE(test, price, PRICE(10));
}

/* The example at memio_cpu_window(): the ratio drifts, and what is due stays a little. */
static void cpu_drifts(struct kunit *test)
{
	struct memio_cpu_estimate e = {};
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	const u64 missed = 67200;
	u64 paid = 0;
	u32 price;

	for (int i = 0; i < 200; i++) {
		u64 ratio = i < 100 ? 800 : 800 - 7 * (i - 100);

		seen.lines[MEMIO_WRITES][MEMIO_VICTIMS] = missed * ratio / 1000;
		price = memio_cpu_window(&e, &seen, missed, paid);
		paid = missed * MEMIO_LINE_BYTES * price >> MEMIO_PRICE_SHIFT;
		if (i < 100)
			continue;
		KUNIT_EXPECT_LE(test, e.due, 10000);
		KUNIT_EXPECT_GE(test, e.due, -2000000);
	}
	KUNIT_EXPECT_LE(test, e.due, -1000000);
}

/* It steps, and all is charged some windows late: it overshoots once, and does not swing. */
static void cpu_steps(struct kunit *test)
{
	for (int lag = 0; lag <= 3; lag++) {
		struct memio_cpu_estimate e = {};
		struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
		const u64 missed = 67200;
		u64 late[4] = {}, paid;
		u32 price, most = 0;

		for (int i = 0; i < 200; i++) {
			seen.lines[MEMIO_WRITES][MEMIO_VICTIMS] = missed / (i < 100 ? 2 : 1);
			paid = i <= lag ? missed * MEMIO_LINE_BYTES / 2 : late[(i - 1 - lag) % 4];
			price = memio_cpu_window(&e, &seen, missed, paid);
			late[i % 4] = missed * MEMIO_LINE_BYTES * price >> MEMIO_PRICE_SHIFT;
			if (i < 100)
				continue;
			most = max(most, price);
			if (price < most)
				KUNIT_EXPECT_GE(test, price, PRICE(998));
		}
		KUNIT_EXPECT_LE(test, most, PRICE(1000 + 150));
		if (!lag)
			KUNIT_EXPECT_LE(test, most, PRICE(1000 + 60));
		KUNIT_EXPECT_LE(test, price, PRICE(1001));
	}
}

/* After a pause another load has its own price at once; until then the last one stays. */
static void another_load(struct kunit *test)
{
	struct memio_rate r = {};
	int i;

	for (i = 0; i < 100; i++)
		memio_rate_window(&r, 0, 6400000);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, memio_rate_window(&r, 0, 0), 0);
	KUNIT_EXPECT_GE(test, memio_rate_window(&r, 640000, 640000),
			PRICE(999));
}

/* The same when nothing was counted meanwhile: the first window that has lines is its own. */
static void not_counted_for_a_while(struct kunit *test)
{
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	struct memio_estimate e;
	struct memio_price p;
	int i;

	memio_estimate_init(&e, MEMIO_DIRTY);
	seen.lines[MEMIO_READS][MEMIO_ALL] = 10000;
	seen.lines[MEMIO_WRITES][MEMIO_ALL] = 10000;
	for (i = 0; i < 100; i++)
		memio_estimate_window(&e, &seen, 3 * 640000, 3 * 640000, &p);
	KUNIT_EXPECT_LE(test, p.to_read, PRICE(1));
	KUNIT_EXPECT_LE(test, p.late_write, PRICE(1));
	/* Counted, and the counters go before it is accounted. */
	for (i = 0; i < 10; i++)
		memio_estimate_window(&e, &seen, 0, 0, &p);

	memio_estimate_pause(&e);
	memset(&seen.lines, 0, sizeof(seen.lines));
	memio_estimate_window(&e, &seen, 0, 0, &p);
	KUNIT_EXPECT_LE(test, p.to_read, PRICE(1));

	seen.lines[MEMIO_READS][MEMIO_ALL] = 1000;
	seen.lines[MEMIO_READS][MEMIO_MISSES] = 1000;
	seen.lines[MEMIO_WRITES][MEMIO_ALL] = 1000;
	seen.lines[MEMIO_WRITES][MEMIO_DIRTIED] = 1000;
	seen.lines[MEMIO_PARTIALS][MEMIO_DIRTIED] = 1000;
	memio_estimate_window(&e, &seen, 3 * 64000, 3 * 64000, &p);
	KUNIT_EXPECT_GE(test, p.to_read, PRICE(990));
	KUNIT_EXPECT_GE(test, p.from_write, PRICE(990));
	KUNIT_EXPECT_GE(test, p.late_write, PRICE(990));
	for (i = 0; i < 1000; i++)
		memio_estimate_window(&e, &seen, 3 * 64000, 3 * 64000, &p);
	KUNIT_EXPECT_EQ(test, memio_check_permille(&e.check_to), 1000);
	KUNIT_EXPECT_EQ(test, memio_check_permille(&e.check_from), 1000);
}

/* A window in which three boxes of eight saw so many reads; those of data all miss. */
static struct memio_seen reads_in(struct memio_by_box *b, u64 data, u64 polled)
{
	struct memio_seen seen = { .total = 8, .boxes = { 3, 3, 2 } };

	*b = (struct memio_by_box) { .nr = 3 };
	for (int i = 0; i < 3; i++) {
		b->all[i] = data;
		b->misses[i] = data;
	}
	b->all[0] += polled;
	for (int i = 0; i < 3; i++) {
		seen.lines[MEMIO_READS][MEMIO_ALL] += b->all[i];
		seen.lines[MEMIO_READS][MEMIO_MISSES] += b->misses[i];
	}
	return seen;
}

/* The example of "Hot lines": what a device polls, and nobody accounts, is no price of its data. */
static void polled_line(struct kunit *test)
{
	static struct memio_hot h;	/* too large for the stack */
	static struct memio_by_box b;
	struct memio_seen seen;

	for (int i = 0; i < 100; i++) {
		seen = reads_in(&b, 5000, 61000);
		memio_hot_window(&h, &seen, MEMIO_READS, &b, 8 * 5000 * 64);
	}
	KUNIT_EXPECT_EQ(test, seen.lines[MEMIO_READS][MEMIO_MISSES], 15000);
	KUNIT_EXPECT_LE(test, seen.lines[MEMIO_READS][MEMIO_ALL], 15010);
	KUNIT_EXPECT_GE(test, seen.lines[MEMIO_READS][MEMIO_ALL], 14990);
}

/* If it is accounted it counts, once for each time and not 8/3 times. */
static void polled_line_is_accounted(struct kunit *test)
{
	u64 io = (8 * 5000 + 61000) * 64, to, from;
	static struct memio_hot h;	/* too large for the stack */
	static struct memio_by_box b;
	struct memio_seen seen;

	for (int i = 0; i < 1000; i++) {
		seen = reads_in(&b, 5000, 61000);
		memio_hot_window(&h, &seen, MEMIO_READS, &b, io);
	}
	memio_window_lines(&seen, &to, &from);
	KUNIT_EXPECT_LE(test, to, io + io / 100);
	KUNIT_EXPECT_GE(test, to, io - io / 100);
}

/* Boxes that differ by what the hash explains have no hot line. */
static void boxes_are_alike(struct kunit *test)
{
	static struct memio_hot h;	/* too large for the stack */
	static struct memio_by_box b;
	struct memio_seen seen;

	for (int i = 0; i < 100; i++) {
		seen = reads_in(&b, 100, 0);
		for (int k = 0; k < 3; k++)
			b.misses[k] = 10 * (k + 1);
		seen.lines[MEMIO_READS][MEMIO_MISSES] = 60;
		memio_hot_window(&h, &seen, MEMIO_READS, &b, 0);
		KUNIT_EXPECT_EQ(test, seen.lines[MEMIO_READS][MEMIO_ALL], 300);
	}
	/* Nor has one alone anything to compare with. */
	h = (struct memio_hot) {};
	seen = reads_in(&b, 100, 1000);
	seen.total = 6;
	seen.boxes[MEMIO_READS] = 1;
	b.nr = 1;
	memio_hot_window(&h, &seen, MEMIO_READS, &b, 0);
	KUNIT_EXPECT_EQ(test, seen.lines[MEMIO_READS][MEMIO_ALL], 1300);
}

static struct kunit_case memio_estimate_cases[] = {
	KUNIT_CASE(dirty_cost),
	KUNIT_CASE(miss_cost),
	KUNIT_CASE(seed_cost),
	KUNIT_CASE(seed_without_misses),
	KUNIT_CASE(seed_more_than_all),
	KUNIT_CASE(scaling),
	KUNIT_CASE(boxes_need_not_be_apart),
	KUNIT_CASE(estimators_need_counters),
	KUNIT_CASE(written_back_is_known),
	KUNIT_CASE(dirty_price),
	KUNIT_CASE(seed_price),
	KUNIT_CASE(first_price),
	KUNIT_CASE(price_of_hits),
	KUNIT_CASE(price_is_kept),
	KUNIT_CASE(another_load),
	KUNIT_CASE(not_counted_for_a_while),
	KUNIT_CASE(polled_line),
	KUNIT_CASE(polled_line_is_accounted),
	KUNIT_CASE(boxes_are_alike),
	KUNIT_CASE(trickle_after_burst),
	KUNIT_CASE(step),
	KUNIT_CASE(on_their_way),
	KUNIT_CASE(followed_at_once),
	KUNIT_CASE(accounted_in_its_direction),
	KUNIT_CASE(lasting_price),
	KUNIT_CASE(nothing_is_lost),
	KUNIT_CASE(unaccounted),
	KUNIT_CASE(saturation),
	KUNIT_CASE(overflow),
	KUNIT_CASE(late_price),
	KUNIT_CASE(late_after_a_burst),
	KUNIT_CASE(check_exact),
	KUNIT_CASE(check_zero),
	KUNIT_CASE(check_bounds),
	KUNIT_CASE(cpu_example),
	KUNIT_CASE(cpu_by_controllers),
	KUNIT_CASE(cpu_reads_nothing),
	KUNIT_CASE(cpu_devices_alone),
	KUNIT_CASE(cpu_alone),
	KUNIT_CASE(cpu_turns),
	KUNIT_CASE(cpu_due),
	KUNIT_CASE(cpu_drifts),
	KUNIT_CASE(cpu_steps),
	{}
};

static struct kunit_suite memio_estimate_suite = {
	.name = "memio_estimate",
	.test_cases = memio_estimate_cases,
};

kunit_test_suite(memio_estimate_suite);

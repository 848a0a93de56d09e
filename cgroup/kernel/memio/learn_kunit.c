// SPDX-License-Identifier: GPL-2.0-only
/* memio: tests of learn.c */

#include <kunit/test.h>

#include "learn.h"

#define ONE	MEMIO_PRICE_ONE
#define MB	1000000ULL

/* Two devices, at the places 1 and 2, and what a byte of each really costs. */
struct load {
	struct memio_learn l;
	u32 cost[3];
};

static void window(struct load *t, u64 a, u64 b)
{
	const u64 moved[MEMIO_LEARNT] = { 0, a, b };
	const u64 mem[MEMIO_COSTS] = {
		[MEMIO_COST_WRITE] = mul_u64_u32_shr(a, t->cost[1], MEMIO_PRICE_SHIFT) +
				     mul_u64_u32_shr(b, t->cost[2], MEMIO_PRICE_SHIFT),
	};

	memio_learn_window(&t->l, moved, a + b, mem);
}

static void windows(struct load *t, unsigned int n, u64 a, u64 b)
{
	while (n--)
		window(t, a, b);
}

static u32 price(const struct load *t, unsigned int place)
{
	return memio_learn_price(&t->l, MEMIO_COST_WRITE, place);
}

static u32 told_apart(const struct load *t, unsigned int place)
{
	return memio_learn_told_apart(memio_learn_variance(&t->l, place));
}

static struct load *new_load(struct kunit *test, u32 a, u32 b)
{
	struct load *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	memio_learn_init(&t->l);
	t->cost[1] = a;
	t->cost[2] = b;
	return t;
}

static void expect_about(struct kunit *test, u64 got, u64 want)
{
	KUNIT_EXPECT_GE(test, got + ONE / 50, want);
	KUNIT_EXPECT_LE(test, got, want + ONE / 50);
}

/* Whoever is alone pays what was counted, from the first window on. */
static void alone(struct kunit *test)
{
	struct load *t = new_load(test, ONE / 4, 0);

	window(t, MB, 0);
	expect_about(test, price(t, 1), ONE / 4);
	windows(t, 1000, MB, 0);
	expect_about(test, price(t, 1), ONE / 4);
	KUNIT_EXPECT_EQ(test, memio_learn_price(&t->l, MEMIO_COST_READ, 1), 0);
	KUNIT_EXPECT_EQ(test, told_apart(t, 1), 0);
}

/* The mix goes from 4:6 to 6:4 and back: 2 seconds of that tell. */
static void the_mix_tells(struct kunit *test)
{
	struct load *t = new_load(test, ONE / 50, ONE);

	for (int i = 0; i < 10; i++)
		windows(t, 20, i % 2 ? 4 * MB : 6 * MB, 5 * MB);
	expect_about(test, price(t, 1), ONE / 50);
	expect_about(test, price(t, 2), ONE);
	KUNIT_EXPECT_GE(test, told_apart(t, 1), 30);
	KUNIT_EXPECT_EQ(test, memio_learn_price(&t->l, MEMIO_COST_READ, 2), 0);
}

/* Where it says nothing, the common price is what all pay. */
static void a_constant_mix_does_not(struct kunit *test)
{
	struct load *t = new_load(test, 0, ONE);

	windows(t, 1000, MB, 3 * MB);
	expect_about(test, price(t, 1), ONE * 3 / 4);
	expect_about(test, price(t, 2), ONE * 3 / 4);
	KUNIT_EXPECT_LE(test, told_apart(t, 1), 1);
}

/* What was learned fades when the mix says nothing any more. */
static void it_fades(struct kunit *test)
{
	struct load *t = new_load(test, 0, ONE);

	for (int i = 0; i < 10; i++)
		windows(t, 20, i % 2 ? MB : 3 * MB, 2 * MB);
	expect_about(test, price(t, 1), 0);
	windows(t, 800, 2 * MB, 2 * MB);
	KUNIT_EXPECT_LE(test, price(t, 1), ONE / 3);
	windows(t, 50000, 2 * MB, 2 * MB);
	expect_about(test, price(t, 1), ONE / 2);
	expect_about(test, price(t, 2), ONE / 2);
}

/* The example of learn.c, and what it comes to in the long run. */
static void right_now(struct kunit *test)
{
	struct load *t = new_load(test, 0, ONE);

	for (int i = 0; i < 20; i++)
		windows(t, 20, i % 2 ? MB : 3 * MB, 2 * MB);
	windows(t, 200, 2 * MB, 2 * MB);
	t->cost[1] = ONE * 4 / 5;
	windows(t, 150, 2 * MB, 2 * MB);
	expect_about(test, price(t, 1), ONE * 4 / 5);
	expect_about(test, price(t, 2), ONE);
	for (int i = 0; i < 400; i++)
		windows(t, 20, i % 2 ? MB : 3 * MB, 2 * MB);
	expect_about(test, t->l.price[MEMIO_COST_WRITE][1] >> 8, ONE * 4 / 5);
	expect_about(test, t->l.price[MEMIO_COST_WRITE][2] >> 8, ONE);
	t->cost[1] = 0;
	t->cost[2] = ONE / 2;
	windows(t, 150, 2 * MB, 2 * MB);
	/* Lowered both in proportion: the sum is right. */
	expect_about(test, price(t, 1) + price(t, 2), ONE / 2);
}

/* Bounded, whatever comes: amounts without reason, and very large ones. */
static void bounds(struct kunit *test)
{
	struct load *t = new_load(test, 0, 0);
	u32 seed = 1;

	for (int i = 0; i < 5000; i++) {
		u64 moved[MEMIO_LEARNT], mem[MEMIO_COSTS], all;

		for (int j = 0; j < MEMIO_LEARNT; j++) {
			seed = seed * 1664525 + 1013904223;
			moved[j] = seed & BIT(31) ? 0 : (u64)(seed >> 8) << (seed % 20);
		}
		seed = seed * 1664525 + 1013904223;
		all = (u64)seed << (seed % 16);
		mem[MEMIO_COST_READ] = all / 3 * (seed >> 30);
		mem[MEMIO_COST_WRITE] = (u64)seed << 10;
		memio_learn_window(&t->l, moved, all, mem);
		for (int j = 0; j < MEMIO_LEARNT; j++) {
			KUNIT_ASSERT_LE(test, memio_learn_price(&t->l, MEMIO_COST_READ, j),
					ONE);
			KUNIT_ASSERT_LE(test, memio_learn_price(&t->l, MEMIO_COST_WRITE, j),
					ONE);
			KUNIT_ASSERT_LE(test, told_apart(t, j), 500);
		}
	}
	/* And it still learns. */
	t->cost[1] = ONE / 10;
	t->cost[2] = ONE / 2;
	for (int i = 0; i < 400; i++)
		windows(t, 20, i % 2 ? MB << 10 : MB << 12, MB << 11);
	expect_about(test, price(t, 1), ONE / 10);
	expect_about(test, price(t, 2), ONE / 2);
}

/* Windows without a line change nothing. */
static void nothing_moves(struct kunit *test)
{
	struct load *t = new_load(test, ONE / 50, ONE);
	u32 a, b;

	windows(t, 100, 0, 0);
	KUNIT_EXPECT_EQ(test, price(t, 1), 0);
	for (int i = 0; i < 10; i++)
		windows(t, 20, i % 2 ? 4 * MB : 6 * MB, 5 * MB);
	a = t->l.price[MEMIO_COST_WRITE][1] >> 8;
	b = t->l.price[MEMIO_COST_WRITE][2] >> 8;
	windows(t, 1000, 0, 0);
	expect_about(test, t->l.price[MEMIO_COST_WRITE][1] >> 8, a);
	expect_about(test, t->l.price[MEMIO_COST_WRITE][2] >> 8, b);
}

/*
 * What was learned stays. What was just so does not outlast the time in which nothing was counted,
 * nor a pause by much: whatever load comes then has what that costs.
 */
static void another_load(struct kunit *test)
{
	static const struct {
		unsigned int idle;
		u32 most;
	} after[] = {
		{ 32, ONE / 2 }, { 64, ONE / 100 }, { 0, ONE / 100 },
	};
	struct load *t = new_load(test, ONE / 50, ONE);

	for (int i = 0; i < 10; i++)
		windows(t, 20, i % 2 ? 4 * MB : 6 * MB, 5 * MB);
	for (int i = 0; i < ARRAY_SIZE(after); i++) {
		/* All is written to memory, then nothing. */
		t->cost[1] = ONE;
		t->cost[2] = ONE;
		windows(t, 150, 5 * MB, 5 * MB);
		expect_about(test, price(t, 1), ONE);
		if (after[i].idle)
			windows(t, after[i].idle, 0, 0);
		else
			memio_learn_pause(&t->l);
		t->cost[1] = 0;
		t->cost[2] = 0;
		window(t, 5 * MB, 5 * MB);
		KUNIT_EXPECT_LE_MSG(test, price(t, 1), after[i].most, "%u", after[i].idle);
		KUNIT_EXPECT_LE_MSG(test, price(t, 2), after[i].most, "%u", after[i].idle);
	}

	t->cost[1] = ONE / 50;
	t->cost[2] = ONE;
	for (int i = 0; i < 100; i++)
		windows(t, 20, i % 2 ? 4 * MB : 6 * MB, 5 * MB);
	memio_learn_pause(&t->l);
	KUNIT_EXPECT_EQ(test, t->l.now_all, 0);
	window(t, MB, MB);
	expect_about(test, price(t, 1), ONE / 50);
	expect_about(test, price(t, 2), ONE);
}

static void places(struct kunit *test)
{
	struct memio_places p = {};
	bool taken;

	for (u16 dev = 1; dev < MEMIO_LEARNT; dev++) {
		KUNIT_EXPECT_EQ(test, memio_place(&p, 100 + dev, &taken), dev);
		KUNIT_EXPECT_TRUE(test, taken);
		KUNIT_EXPECT_EQ(test, memio_place(&p, 100 + dev, &taken), dev);
		KUNIT_EXPECT_FALSE(test, taken);
	}
	KUNIT_EXPECT_EQ(test, memio_place(&p, 99, &taken), 0);
	KUNIT_EXPECT_FALSE(test, taken);

	/* The third has nothing to do for a long time, and loses its place. */
	for (int i = 0; i < 2000; i++) {
		memio_places_window(&p);
		for (u16 dev = 1; dev < MEMIO_LEARNT; dev++)
			if (dev != 3)
				memio_place(&p, 100 + dev, &taken);
	}
	KUNIT_EXPECT_EQ(test, memio_place(&p, 99, &taken), 3);
	KUNIT_EXPECT_TRUE(test, taken);
	KUNIT_EXPECT_EQ(test, memio_place(&p, 103, &taken), 0);
}

/* Who gets a place pays the common price until something is known. */
static void a_new_device(struct kunit *test)
{
	struct load *t = new_load(test, ONE / 50, ONE);

	for (int i = 0; i < 10; i++)
		windows(t, 20, i % 2 ? 4 * MB : 6 * MB, 5 * MB);
	memio_learn_taken(&t->l, 1);
	KUNIT_EXPECT_EQ(test, told_apart(t, 1), 0);
	KUNIT_EXPECT_GE(test, price(t, 1), ONE / 4);
	KUNIT_EXPECT_LE(test, price(t, 1), ONE);
}

/* Both directions, and devices by their ids. */
static void a_package(struct kunit *test)
{
	struct memio_learner *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	struct memio_price common = {};
	struct memio_own own;

	KUNIT_ASSERT_NOT_NULL(test, l);
	memio_learner_init(l);
	for (int i = 0; i < 400; i++) {
		u64 disk = i / 20 % 2 ? 30000 : 10000, net = 20000;
		const struct memio_moved moved[] = {
			{ .dev = 200, .from = 3 * 64 * disk, .to = 3 * 64 * net },
			{ .dev = 3, .from = 3 * 64 * net, .to = 3 * 64 * disk },
		};

		/* Disk writes make all lines dirty, reads miss half. */
		seen.lines[MEMIO_WRITES][MEMIO_ALL] = disk + net;
		seen.lines[MEMIO_WRITES][MEMIO_DIRTIED] = disk;
		seen.lines[MEMIO_PARTIALS][MEMIO_DIRTIED] = disk;
		seen.lines[MEMIO_READS][MEMIO_ALL] = disk + net;
		seen.lines[MEMIO_READS][MEMIO_MISSES] = net / 2;
		memio_learner_window(l, &seen, moved, 2, &common, &own);
	}
	KUNIT_EXPECT_EQ(test, own.dev[1], 200);
	KUNIT_EXPECT_EQ(test, own.dev[2], 3);
	KUNIT_EXPECT_EQ(test, own.dev[3], 0);
	expect_about(test, own.from_write[1], ONE);
	expect_about(test, own.from_write[2], 0);
	expect_about(test, own.to_read[1], ONE / 2);
	expect_about(test, own.to_read[2], 0);
	KUNIT_EXPECT_EQ(test, own.from_read[1], 0);
}

/* Who is alone has the common price at once; what is read later, that of the windows before. */
static void alone_in_a_package(struct kunit *test)
{
	struct memio_learner *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	struct memio_price common = {
		.to_read = ONE / 4, .from_read = ONE / 8, .from_write = ONE / 4,
	};
	struct memio_moved moved[] = {
		{ .dev = 3, .to = MB / 2, .from = MB },
		{ .dev = 4, .to = MB / 1000, .from = MB / 1000 },
	};
	struct memio_own own;
	u64 sum = 0;

	KUNIT_ASSERT_NOT_NULL(test, l);
	memio_learner_init(l);
	seen.lines[MEMIO_READS][MEMIO_ALL] = MB / 64 / 3;
	seen.lines[MEMIO_WRITES][MEMIO_ALL] = MB / 64 / 3;
	for (int i = 0; i < 100; i++)
		memio_learner_window(l, &seen, moved, 2, &common, &own);
	KUNIT_EXPECT_EQ(test, own.to_read[1], ONE / 4);
	KUNIT_EXPECT_EQ(test, l->late[1].io / MB, 7);
	expect_about(test, own.late_write[1], ONE / 4);
	expect_about(test, own.late_read[1], ONE / 8);

	common.to_read = ONE;
	common.from_write = ONE;
	memio_learner_window(l, &seen, moved, 2, &common, &own);
	KUNIT_EXPECT_EQ(test, own.to_read[1], ONE);
	KUNIT_EXPECT_EQ(test, own.from_write[1], ONE);
	expect_about(test, own.late_write[1], ONE / 4 + ONE * 3 / 4 / 8);

	/* Boxes that see more than others do are as many as those that see less. */
	for (int i = 0; i < 10; i++) {
		common.to_read = i % 2 ? ONE * 9 / 10 : ONE * 11 / 10;
		memio_learner_window(l, &seen, moved, 2, &common, &own);
		sum += own.to_read[1];
	}
	expect_about(test, sum / 10, ONE);

	/* Not with a neighbour: it is learned who pays. */
	moved[1].to = MB / 10;
	for (int i = 0; i < 10; i++)
		memio_learner_window(l, &seen, moved, 2, &common, &own);
	KUNIT_EXPECT_LT(test, own.to_read[1], ONE / 2);

	/* What was late is forgotten after a pause, and when another device has the place. */
	memio_learner_pause(l);
	KUNIT_EXPECT_EQ(test, l->late[1].io, 0);
	memio_learner_window(l, &seen, moved, 2, &common, &own);
	KUNIT_EXPECT_EQ(test, l->late[1].io, MB);
	moved[0].dev = 5;
	for (int i = 0; i < 1100; i++) {
		moved[0].to = i < 1090 ? 0 : MB;
		moved[0].from = 0;
		memio_learner_window(l, &seen, moved, 2, &common, &own);
	}
	KUNIT_EXPECT_EQ(test, own.dev[1], 5);
	KUNIT_EXPECT_EQ(test, l->late[1].io, 0);
}

/* A card whose lines hit, and a disk of a fiftieth of that whose lines miss: each pays its own. */
static void a_small_neighbour(struct kunit *test)
{
	struct memio_learner *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	struct memio_price common = {};
	u64 paid = 0, cost = 0;
	struct memio_own own;

	KUNIT_ASSERT_NOT_NULL(test, l);
	memio_learner_init(l);
	for (int i = 0; i < 2000; i++) {
		/* It is learned while the disk does more. */
		u64 disk = i < 400 ? (i / 20 % 2 ? 10000 : 3000) : 200, card = 10000;
		const struct memio_moved moved[] = {
			{ .dev = 3, .to = 3 * 64 * card }, { .dev = 4, .to = 3 * 64 * disk },
		};

		seen.lines[MEMIO_READS][MEMIO_ALL] = card + disk;
		seen.lines[MEMIO_READS][MEMIO_MISSES] = disk;
		common.to_read = ONE * disk / (card + disk);
		memio_learner_window(l, &seen, moved, 2, &common, &own);
		if (i < 500)
			continue;
		cost += 3 * 64 * disk;
		paid += (moved[0].to * own.to_read[1] + moved[1].to * own.to_read[2]) >>
			MEMIO_PRICE_SHIFT;
	}
	KUNIT_EXPECT_GE(test, paid, cost * 95 / 100);
	KUNIT_EXPECT_LE(test, paid, cost * 105 / 100);
}

/* Nine devices, two for which there is no place: together they pay what was counted. */
static void more_than_places(struct kunit *test)
{
	struct memio_learner *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	struct memio_price common = {};
	struct memio_moved moved[9];
	struct memio_own own;
	u64 paid = 0, cost = 0;

	KUNIT_ASSERT_NOT_NULL(test, l);
	memio_learner_init(l);
	for (int i = 0; i < 2000; i++) {
		seen.lines[MEMIO_READS][MEMIO_ALL] = 0;
		seen.lines[MEMIO_READS][MEMIO_MISSES] = 0;
		for (int d = 0; d < 9; d++) {
			/* Each does more now and then; the last two miss, and do most. */
			u64 lines = (d < 7 ? 2000 : 9000) * (i / 20 % 9 == d ? 3 : 1);

			moved[d] = (struct memio_moved) { .dev = d + 10, .to = 3 * 64 * lines };
			seen.lines[MEMIO_READS][MEMIO_ALL] += lines;
			seen.lines[MEMIO_READS][MEMIO_MISSES] += d < 7 ? 0 : lines;
		}
		memio_learner_window(l, &seen, moved, 9, &common, &own);
		if (i < 1000)
			continue;
		cost += seen.lines[MEMIO_READS][MEMIO_MISSES] * 3 * 64;
		for (int d = 0; d < 9; d++) {
			int place = memio_own_place(&own, moved[d].dev);

			KUNIT_ASSERT_GE(test, place, 0);
			paid += moved[d].to * own.to_read[place] >> MEMIO_PRICE_SHIFT;
		}
	}
	KUNIT_EXPECT_GE(test, paid, cost * 97 / 100);
	KUNIT_EXPECT_LE(test, paid, cost * 103 / 100);

	/* While one is free, who has none is new. */
	own.dev[3] = 0;
	KUNIT_EXPECT_EQ(test, memio_own_place(&own, 19), -1);
}

/* What no counter of the package sees costs what all do, not nothing. */
static void not_counted(struct kunit *test)
{
	struct memio_learner *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	const struct memio_price common = {
		.to_read = ONE, .from_read = ONE / 4, .from_write = ONE / 2,
	};
	const struct memio_moved moved = { .dev = 3, .to = MB, .from = MB };
	const struct memio_seen seen = { .total = 3, .boxes = { 1, 1, 1 } };
	struct memio_own own;

	KUNIT_ASSERT_NOT_NULL(test, l);
	memio_learner_init(l);
	for (int i = 0; i < 200; i++)
		memio_learner_window(l, &seen, &moved, 1, &common, &own);
	KUNIT_EXPECT_EQ(test, own.dev[1], 3);
	KUNIT_EXPECT_EQ(test, own.to_read[1], ONE);
	KUNIT_EXPECT_EQ(test, own.from_read[1], ONE / 4);
	KUNIT_EXPECT_EQ(test, own.from_write[1], ONE / 2);
}

static struct kunit_case learn_cases[] = {
	KUNIT_CASE(alone),
	KUNIT_CASE(the_mix_tells),
	KUNIT_CASE(a_constant_mix_does_not),
	KUNIT_CASE(it_fades),
	KUNIT_CASE(right_now),
	KUNIT_CASE(bounds),
	KUNIT_CASE(nothing_moves),
	KUNIT_CASE(another_load),
	KUNIT_CASE(places),
	KUNIT_CASE(a_new_device),
	KUNIT_CASE(a_package),
	KUNIT_CASE(alone_in_a_package),
	KUNIT_CASE(a_small_neighbour),
	KUNIT_CASE(more_than_places),
	KUNIT_CASE(not_counted),
	{}
};

static struct kunit_suite learn_suite = {
	.name = "memio_learn",
	.test_cases = learn_cases,
};

kunit_test_suite(learn_suite);

MODULE_DESCRIPTION("KUnit tests of memio's learning");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: how long the hot path takes, in KUnit
 *
 * benchmarks/overhead/overhead compiles this into memio beside its tests, for user mode
 * Linux, where a nanosecond is the host's. Each figure is the least of REPEATS, as what
 * disturbs only adds; an empty loop is taken off. The caches are warm, and nobody else
 * charges: see contend.c for that.
 *
 * In user mode turning interrupts off is a store and not an instruction of its own; on
 * a real processor that adds 1 to 5 ns to a charge.
 */

#include <kunit/test.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

#define LOOPS		200000
#define REPEATS		15
#define GROUPS		17	/* two of them share one of the 8 entries of a stock */
#define ENTRY_BITS	3
#define BYTES		1500
#define PAGE_BYTES	4096
#define HOUR		(3600 * HZ)

struct bench {
	struct memio_cgroup *group[GROUPS];
	struct memio_device *dev;
	u32 owner;		/* the current task */
	u32 same[2];		/* groups that want the same entry */
	u32 other[2];		/* groups that don't */
	struct memio_sums *sums;
	struct memio_meter *meter;
	u32 closed;		/* a window with a price */
};

static u32 entry_of(struct bench *b, u32 owner)
{
	return hash_32(owner ^ (u32)b->dev->id << 24, ENTRY_BITS);
}

static int bench_init(struct kunit *test)
{
	struct bench *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct memio_cgroup *parent = &memio_root;
	int cpu;

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->dev = kunit_kzalloc(test, sizeof(*b->dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, b->dev);
	memio_lasting_init(&b->dev->lasting);
	b->dev->total = alloc_percpu(struct memio_total);
	KUNIT_ASSERT_NOT_NULL(test, b->dev->total);
	for_each_possible_cpu(cpu)
		memio_meter_init(&per_cpu_ptr(b->dev->total, cpu)->meter, MEMIO_METER_DEVICE);
	b->dev->package = MEMIO_PACKAGES - 1;
	b->dev->id = MEMIO_DEVICES - 1;
	memio_devices[b->dev->id] = b->dev;

	/* The first is the parent of all others: a charge goes up three levels. */
	for (int i = 0; i < GROUPS; i++) {
		struct memio_cgroup *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, g);
		g->css.parent = &parent->css;
		memio_cgroup_init(g);
		KUNIT_ASSERT_EQ(test, memio_owner_init_group(g), 0);
		b->group[i] = g;
		parent = b->group[0];
	}
	for (int i = 1; i < GROUPS; i++)
		for (int j = 1; j < i; j++) {
			u32 *pair = entry_of(b, b->group[i]->owner) ==
				    entry_of(b, b->group[j]->owner) ? b->same : b->other;

			pair[0] = b->group[i]->owner;
			pair[1] = b->group[j]->owner;
		}
	KUNIT_ASSERT_NE(test, b->same[0], 0);
	__memio_task_owner(current);
	memio_owner_move(current, b->group[1]);
	b->owner = current->memio_owner;
	b->sums = memio_owner(b->owner)->sums;
	current->memio_due = jiffies + HOUR;
	test->priv = b;
	return 0;
}

static void bench_exit(struct kunit *test)
{
	struct bench *b = test->priv;

	memio_stock_drain();
	memio_owner_move(current, &memio_root);
	for (int i = GROUPS - 1; i >= 0; i--)
		memio_owner_offline_group(b->group[i]);
	memio_owner_reap(0);
	rcu_barrier();
	memio_devices[b->dev->id] = NULL;
	for (int i = 0; i < GROUPS; i++)
		memio_cgroup_free_meters(b->group[i]);
	flush_work(&memio_root.make);
	memio_cgroup_free_meter(&memio_root, b->dev->id);
	free_percpu(b->dev->total);
}

static void charge(struct bench *b, u32 owner, u32 bytes)
{
	struct memio_move move = { .from = bytes, .from_lines = bytes };

	memio_charge(b->dev->id, owner, &move, &move);
}

static void nothing(struct bench *b, int i)
{
	barrier();
}

static void charge_one(struct bench *b, int i)
{
	charge(b, b->owner, BYTES);
}

static void charge_page(struct bench *b, int i)
{
	charge(b, b->owner, PAGE_BYTES);
}

static void charge_two(struct bench *b, int i)
{
	charge(b, b->other[i & 1], BYTES);
}

static void charge_alternating(struct bench *b, int i)
{
	charge(b, b->same[i & 1], BYTES);
}

static void update_none(struct bench *b, int i)
{
	u32 owner = current->memio_owner;

	current->memio_owner = 0;
	barrier();
	memio_switch(current, current);
	barrier();
	current->memio_owner = owner;
}

static void update(struct bench *b, int i)
{
	memio_switch(current, current);
}

static void update_due(struct bench *b, int i)
{
	b->sums->at_ns[1] = 0;
	current->memio_due = jiffies;
	memio_switch(current, current);
	current->memio_due = jiffies + HOUR;
}

static void group_read(struct bench *b, int i)
{
	struct memio_bytes sum = {};

	memio_cgroup_read(b->group[1], false, b->dev, &sum);
	barrier_data(&sum);
}

/* What a flush looks up: the window that is open, whose price is to come. */
static void price_window(struct bench *b, int i)
{
	u32 window = memio_price_window(b->dev->package);

	barrier_data(&window);
}

/* What limits look up at each charge. */
static void price_bounded(struct bench *b, int i)
{
	struct memio_io io = { .from = BYTES, .from_lines = BYTES };
	u64 read, write;

	memio_price_bounded(b->dev, &io, &read, &write);
	barrier_data(&read);
	barrier_data(&write);
}

/* What meters look up, once in a window: the first who comes later pays for it. */
static void price_closed(struct bench *b, int i)
{
	struct memio_bytes sum = {};

	b->meter->window = b->closed;
	b->meter->pending = (struct memio_io){ .from = BYTES, .from_lines = BYTES };
	memio_meter_read(b->meter, b->dev, memio_price_window(b->dev->package), &sum);
	barrier_data(&sum);
}

/* ps for each call of @f, the least of REPEATS */
static __always_inline u64 least(struct bench *b, void (*f)(struct bench *b, int i))
{
	u64 ns, best = U64_MAX;

	for (int r = 0; r < REPEATS; r++) {
		ns = ktime_get_ns();
		for (int i = 0; i < LOOPS; i++)
			f(b, i);
		ns = ktime_get_ns() - ns;
		best = min(best, ns);
	}
	return div_u64(best * 1000, LOOPS);
}

#define BENCH(name)								\
static void bench_##name(struct kunit *test)					\
{										\
	struct bench *b = test->priv;						\
	u64 empty = least(b, nothing), ps;					\
										\
	charge(b, b->owner, 1);							\
	memio_stock_drain();							\
	ps = least(b, name);							\
	ps -= min(ps, empty);							\
	kunit_info(test, "memio_bench: " #name " %llu.%03llu ns\n",		\
		   ps / 1000, ps % 1000);					\
}

BENCH(charge_one)
BENCH(charge_page)
BENCH(charge_two)
BENCH(charge_alternating)
BENCH(update_none)
BENCH(update)
BENCH(update_due)
BENCH(group_read)

BENCH(price_window)
BENCH(price_bounded)
BENCH(price_closed)

/* With a price, which the device has of its own: for meters, the longest way. */
static int price_init(struct kunit *test)
{
	static const struct memio_price p = {
		.to_read = MEMIO_PRICE_ONE / 2,
		.from_read = MEMIO_PRICE_ONE / 8,
		.from_write = MEMIO_PRICE_ONE / 2,
	};
	struct memio_own own = {
		.dev[MEMIO_LEARNT - 1] = MEMIO_DEVICES - 1,
		.from_write[MEMIO_LEARNT - 1] = MEMIO_PRICE_ONE / 4,
	};
	struct memio_io io = { .from = BYTES, .from_lines = BYTES };
	struct memio_pricelist *list;
	u64 read, write;
	struct bench *b;
	int ret = bench_init(test);

	if (ret)
		return ret;
	b = test->priv;
	list = &memio_prices[b->dev->package];
	b->meter = kunit_kzalloc(test, sizeof(*b->meter), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, b->meter);
	memio_meter_init(b->meter, MEMIO_METER_GROUP);
	list->own = kunit_kcalloc(test, MEMIO_WINDOWS, sizeof(own), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, list->own);
	list->updated_ns = 0;
	/* The first opens a sampled window, the second closes it. */
	memio_price_publish(b->dev->package, &p, NULL, false, ktime_get_ns(), 1, true);
	b->closed = list->now;
	memio_price_publish(b->dev->package, &p, &own, true, ktime_get_ns(), 1, true);
	memio_price_lasting(b->dev, SZ_1M, SZ_1M);
	memio_price_bounded(b->dev, &io, &read, &write);
	KUNIT_ASSERT_EQ(test, write, BYTES / 4);
	return 0;
}

static void price_exit(struct kunit *test)
{
	struct bench *b = test->priv;

	bench_exit(test);
	memset(&memio_prices[b->dev->package], 0, sizeof(memio_prices[0]));
}

static struct kunit_case bench_cases[] = {
	KUNIT_CASE(bench_charge_one),
	KUNIT_CASE(bench_charge_page),
	KUNIT_CASE(bench_charge_two),
	KUNIT_CASE(bench_charge_alternating),
	KUNIT_CASE(bench_update_none),
	KUNIT_CASE(bench_update),
	KUNIT_CASE(bench_update_due),
	KUNIT_CASE(bench_group_read),
	{}
};

static struct kunit_suite bench_suite = {
	.name = "memio_bench",
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = bench_cases,
};

static struct kunit_case price_cases[] = {
	KUNIT_CASE(bench_price_window),
	KUNIT_CASE(bench_price_bounded),
	KUNIT_CASE(bench_price_closed),
	{}
};

static struct kunit_suite price_suite = {
	.name = "memio_bench_price",
	.init = price_init,
	.exit = price_exit,
	.test_cases = price_cases,
};

kunit_test_suites(&bench_suite, &price_suite);

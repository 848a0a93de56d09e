// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: KUnit tests of limits and guarantees in a tree of groups
 *
 *	root
 *	  above		a, b
 *	  beside
 *
 * The groups are made up, and hang in the tree as others do, so that rates are
 * worked out for them; they have no tasks. The devices are made up, too. They
 * stay, as devices do. How bytes are taken from budgets is budget_kunit.c's, how
 * what there is gets shared on one level share_kunit.c's.
 */

#include <kunit/test.h>
#include <linux/cgroup.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/kernfs.h>
#include <linux/rculist.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "internal.h"
#include "limit.h"

#define PACKAGE		(MEMIO_PACKAGES - 1)	/* which there is none of */
#define MOVED		SZ_1M
#define TIGHT		"1000"			/* B/s: what is moved is debt for long */
#define LOOSE		"1125899906842624"	/* in a period more than is moved */
#define ALL		1000000ULL		/* B/s, what a package's memory gives */

enum { ABOVE, A, B, BESIDE, GROUPS };

struct tree {
	struct memio_cgroup *g[GROUPS];
	u16 dev;
	u64 all;	/* what all packages' memory gives */
};

static void price(u32 price, bool valid)
{
	struct memio_price p = {
		.to_read = price, .from_read = price, .late_read = price,
		.to_write = price, .from_write = price, .late_write = price,
	};

	memio_prices[PACKAGE].updated_ns = 0;
	memio_price_publish(PACKAGE, &p, NULL, valid, valid ? ktime_get_ns() : 0, 1, true);
}

static u16 new_device(struct kunit *test, const char *name)
{
	static u64 mask = DMA_BIT_MASK(64);
	struct device *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	u16 id;

	KUNIT_ASSERT_NOT_NULL(test, dev);
	dev->init_name = name;
	dev->dma_mask = &mask;
	set_dev_node(dev, NUMA_NO_NODE);
	id = memio_device_register(dev);
	KUNIT_ASSERT_NE(test, id, 0);
	memio_device(id)->package = PACKAGE;
	return id;
}

static struct memio_cgroup *new_group(struct kunit *test, struct memio_cgroup *parent)
{
	struct memio_cgroup *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);
	struct cgroup *cgroup = kunit_kzalloc(test, sizeof(*cgroup), GFP_KERNEL);
	struct kernfs_node *kn = kunit_kzalloc(test, sizeof(*kn), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, g);
	KUNIT_ASSERT_NOT_NULL(test, cgroup);
	KUNIT_ASSERT_NOT_NULL(test, kn);
	/* Tracepoints name a group by its inode. */
	cgroup->kn = kn;
	g->css.cgroup = cgroup;
	g->css.parent = &parent->css;
	INIT_LIST_HEAD(&g->css.children);
	KUNIT_ASSERT_EQ(test, memio_cgroup_init(g), 0);
	KUNIT_ASSERT_EQ(test, memio_owner_init_group(g), 0);
	cgroup_lock();
	list_add_tail_rcu(&g->css.sibling, &parent->css.children);
	cgroup_unlock();
	return g;
}

/* As it is removed: nobody charges it any more. */
static void offline(struct memio_cgroup *g)
{
	memio_limit_offline(g);
	memio_owner_offline_group(g);
	cgroup_lock();
	list_del_rcu(&g->css.sibling);
	cgroup_unlock();
}

static void free_group(struct memio_cgroup *g)
{
	memio_limit_free(g);
	memio_cgroup_free_meters(g);
}

static int tree_init(struct kunit *test)
{
	struct tree *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	/* Where there are no counters, limits to CPUs would be refused. */
	memio_limit_any = true;
	price(0, false);
	t->dev = new_device(test, "memio-kunit-0");
	t->all = ALL * memio_packages();
	t->g[ABOVE] = new_group(test, &memio_root);
	t->g[A] = new_group(test, t->g[ABOVE]);
	t->g[B] = new_group(test, t->g[ABOVE]);
	t->g[BESIDE] = new_group(test, &memio_root);
	test->priv = t;
	return 0;
}

static void tree_exit(struct kunit *test)
{
	struct tree *t = test->priv;

	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(0), 0);
	memio_stock_drain();
	/* Those below first */
	for (int i = GROUPS - 1; i >= 0; i--)
		offline(t->g[i]);
	memio_owner_reap(0);
	rcu_barrier();
	for (int i = 0; i < GROUPS; i++)
		free_group(t->g[i]);
}

static void write_limit(struct kunit *test, struct memio_cgroup *g, const char *text)
{
	char buf[128];

	strscpy(buf, text);
	KUNIT_EXPECT_EQ_MSG(test, memio_limit_write(g, buf), 0, "%s", text);
}

static void write_min(struct kunit *test, struct memio_cgroup *g, u64 bps)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%llu", bps);
	KUNIT_EXPECT_EQ(test, memio_min_write(g, buf), 0);
}

/* A device writes so much to memory for a group. */
static void move(struct memio_cgroup *g, u16 dev, u32 bytes)
{
	struct memio_move move = { .from = bytes, .from_lines = bytes };

	memio_charge(dev, g->owner, &move, &move);
}

static bool is_stopped(struct memio_cgroup *g)
{
	struct memio_limits *l = memio_limits_of(g);

	return l && READ_ONCE(l->stopped_ns);
}

/* A bit for each group that is */
static unsigned int stopped(struct tree *t)
{
	unsigned int bits = 0;

	for (int i = 0; i < GROUPS; i++)
		bits |= is_stopped(t->g[i]) << i;
	return bits;
}

/* A debt is paid at once, but the clock has to go on. */
static void expect_paid(struct kunit *test)
{
	for (int i = 0; i < 1000 && stopped(test->priv); i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, stopped(test->priv), 0);
}

/* ---- prices ---- */

/* Whatever an estimate says, and whoever fills the cache: a line each way, for each line */
static void price_is_bounded(struct kunit *test)
{
	struct tree *t = test->priv;
	struct memio_device *dev = memio_device(t->dev);
	struct memio_io io = { 100, 2000, 30, 128, 2048, 64 };
	u64 read, write;

	price(MEMIO_PRICE_ONE / 2, true);
	memio_price_lasting(dev, SZ_1G, SZ_1G);
	memio_price_bounded(dev, &io, &read, &write);
	KUNIT_EXPECT_EQ(test, read, 1120);
	KUNIT_EXPECT_EQ(test, write, 1120);

	price(MEMIO_PRICE_ONE * 5 / 2, true);
	memio_price_lasting(dev, SZ_1G, SZ_1G);
	memio_price_bounded(dev, &io, &read, &write);
	KUNIT_EXPECT_EQ(test, read, 2240);
	KUNIT_EXPECT_EQ(test, write, 2240);

	/* Nobody knows it: one for one */
	price(0, false);
	memio_price_bounded(dev, &io, &read, &write);
	KUNIT_EXPECT_EQ(test, read, 100);
	KUNIT_EXPECT_EQ(test, write, 2030);
}

/* A few lines that cost nothing don't make the request free that comes after them. */
static void lines_before_a_request(struct kunit *test)
{
	struct tree *t = test->priv;
	struct memio_device *dev = memio_device(t->dev);
	struct memio_io io = { .from = SZ_8M, .from_lines = SZ_8M };
	u64 read, write;

	price(MEMIO_PRICE_ONE, true);
	memio_price_lasting(dev, 0, SZ_8M);
	price(0, true);
	memio_price_lasting(dev, 640, 640);
	memio_price_bounded(dev, &io, &read, &write);
	KUNIT_EXPECT_GE(test, write, SZ_8M / 1000 * 997);
	/* Nor those that nobody counted, nor windows of others. */
	price(0, true);
	price(0, false);
	memio_price_lasting(dev, SZ_8M, SZ_8M);
	price(0, true);
	memio_price_bounded(dev, &io, &read, &write);
	KUNIT_EXPECT_GE(test, write, SZ_8M / 1000 * 997);
	/* If the request was free, so is the next. */
	memio_price_lasting(dev, SZ_8M, SZ_8M);
	memio_price_bounded(dev, &io, &read, &write);
	KUNIT_EXPECT_EQ(test, write, 0);
}

/* ---- limits ---- */

/* Of limits on the way up the one that is spent stops its group, and no other. */
static void tightest_holds(struct kunit *test)
{
	struct tree *t = test->priv;

	write_limit(test, t->g[ABOVE], "total bps=" LOOSE);
	write_limit(test, t->g[A], "total bps=" LOOSE);
	move(t->g[A], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), 0);

	write_limit(test, t->g[A], "total bps=" TIGHT);
	move(t->g[B], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), 0);
	move(t->g[A], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(A));
	write_limit(test, t->g[A], "total bps=max");
	KUNIT_EXPECT_EQ(test, stopped(t), 0);

	/* What one below has spent stops all that are below. */
	write_limit(test, t->g[A], "total bps=" LOOSE);
	write_limit(test, t->g[ABOVE], "total bps=" TIGHT);
	move(t->g[BESIDE], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), 0);
	move(t->g[B], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(ABOVE));
	KUNIT_EXPECT_EQ(test, atomic64_read(&t->g[A]->events_local[MEMIO_EV_FORGIVEN]), 0);
	write_limit(test, t->g[ABOVE], "total bps=max");
	KUNIT_EXPECT_EQ(test, stopped(t), 0);
}

/* Both are spent: neither is let go for the other. */
static void both_hold(struct kunit *test)
{
	struct tree *t = test->priv;

	write_limit(test, t->g[ABOVE], "io bps=" TIGHT);
	write_limit(test, t->g[A], "total wbps=" TIGHT);
	move(t->g[A], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(ABOVE) | BIT(A));
	write_limit(test, t->g[ABOVE], "io bps=max");
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(A));
	write_limit(test, t->g[A], "total wbps=max");
	KUNIT_EXPECT_EQ(test, stopped(t), 0);
}

/* A moment that is to begin when a group above runs again is none if that runs before. */
static void moment_to_come(struct kunit *test)
{
	struct tree *t = test->priv;
	struct memio_limits *l;

	write_limit(test, t->g[ABOVE], "total bps=" TIGHT);
	write_limit(test, t->g[A], "io bps=" TIGHT);
	move(t->g[B], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(ABOVE));
	l = memio_limits_of(t->g[A]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	WRITE_ONCE(l->grace_ns, ktime_get_ns() + 3600 * NSEC_PER_SEC);
	move(t->g[A], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(ABOVE));
	write_limit(test, t->g[ABOVE], "total bps=max");
	KUNIT_EXPECT_EQ(test, stopped(t), 0);
	move(t->g[A], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(A));
	/* One that has begun holds for those below, too. */
	write_limit(test, t->g[A], "io bps=max");
	write_limit(test, t->g[A], "io bps=" TIGHT);
	write_limit(test, t->g[ABOVE], "total bps=" LOOSE);
	WRITE_ONCE(l->grace_ns, 0);
	l = memio_limits_of(t->g[ABOVE]);
	WRITE_ONCE(l->grace_ns, ktime_get_ns() + 4 * NSEC_PER_MSEC);
	preempt_disable();
	move(t->g[A], t->dev, MOVED);
	if (ktime_get_ns() < l->grace_ns)
		KUNIT_EXPECT_EQ(test, stopped(t), 0);
	preempt_enable();
	WRITE_ONCE(l->grace_ns, 0);
	move(t->g[A], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(A));
	write_limit(test, t->g[A], "io bps=max");
	KUNIT_EXPECT_EQ(test, stopped(t), 0);
}

/* Of one group's limits, too, all hold that are set. */
static void each_holds(struct kunit *test)
{
	static const char * const tight[] = {
		"total bps=" TIGHT, "total wbps=" TIGHT, "io bps=" TIGHT, "io wbps=" TIGHT,
		"default bps=" TIGHT, "memio-kunit-0 wbps=" TIGHT,
	};
	static const char * const other[] = {
		"total rbps=" TIGHT, "io rbps=" TIGHT, "cpu bps=" TIGHT, "default rbps=" TIGHT,
	};
	static const char * const lifted[] = {
		"total bps=max wbps=max rbps=max", "io bps=max wbps=max rbps=max",
		"cpu bps=max", "default bps=max wbps=max rbps=max",
		"memio-kunit-0 bps=max wbps=max rbps=max",
	};
	struct tree *t = test->priv;

	for (int i = 0; i < ARRAY_SIZE(tight); i++) {
		for (int j = 0; j < ARRAY_SIZE(lifted); j++)
			write_limit(test, t->g[A], lifted[j]);
		KUNIT_EXPECT_EQ(test, stopped(t), 0);
		write_limit(test, t->g[A], tight[i]);
		move(t->g[A], t->dev, MOVED);
		KUNIT_EXPECT_EQ_MSG(test, stopped(t), BIT(A), "%s", tight[i]);
	}
	for (int j = 0; j < ARRAY_SIZE(lifted); j++)
		write_limit(test, t->g[A], lifted[j]);
	/* The device has written alone. */
	for (int i = 0; i < ARRAY_SIZE(other); i++)
		write_limit(test, t->g[A], other[i]);
	move(t->g[A], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), 0);
}

/* "default" is for each device that has no line of its own, those to come among them. */
static void default_of_devices(struct kunit *test)
{
	struct tree *t = test->priv;
	u16 other = new_device(test, "memio-kunit-1"), late;
	char name[MEMIO_NAME];

	write_limit(test, t->g[A], "default wbps=" TIGHT);
	write_limit(test, t->g[A], "memio-kunit-0 wbps=" LOOSE);
	move(t->g[A], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), 0);
	move(t->g[A], other, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(A));
	/* Each has a budget of its own. */
	write_limit(test, t->g[A], "memio-kunit-1 wbps=" LOOSE);
	expect_paid(test);
	/* Without its own line it is "default"'s again. */
	write_limit(test, t->g[A], "memio-kunit-0 wbps=max");
	move(t->g[A], t->dev, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(A));
	write_limit(test, t->g[A], "memio-kunit-0 rbps=" LOOSE);
	KUNIT_EXPECT_EQ(test, stopped(t), 0);

	/* A new name with each run, as devices stay */
	late = 0;
	do {
		snprintf(name, sizeof(name), "memio-kunit-late-%u", late++);
	} while (memio_device_find(name));
	late = new_device(test, name);
	move(t->g[A], late, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), BIT(A));
	write_limit(test, t->g[A], "default wbps=max");
	KUNIT_EXPECT_EQ(test, stopped(t), 0);
	move(t->g[A], late, MOVED);
	KUNIT_EXPECT_EQ(test, stopped(t), 0);
}

/* ---- guarantees ---- */

static void expect_min(struct kunit *test, u64 above, u64 a, u64 b, u64 beside)
{
	struct tree *t = test->priv;
	const u64 wanted[] = { [ABOVE] = above, [A] = a, [B] = b, [BESIDE] = beside };

	for (int i = 0; i < GROUPS; i++)
		KUNIT_EXPECT_EQ_MSG(test, t->g[i]->min_effective, wanted[i] * memio_packages(),
				    "group %d", i);
}

/* What is guaranteed is of what the group above has, on each level. */
static void scaled_down_the_tree(struct kunit *test)
{
	struct tree *t = test->priv;
	struct memio_cgroup *below;
	unsigned int n = memio_packages();

	write_min(test, t->g[ABOVE], 600000 * n);
	write_min(test, t->g[A], 300000 * n);
	write_min(test, t->g[B], 150000 * n);
	/* Nobody has said what there is. */
	expect_min(test, 0, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(ALL), 0);
	expect_min(test, 600000, 300000, 150000, 0);

	/* More than it has itself: as much of each */
	write_min(test, t->g[A], 600000 * n);
	write_min(test, t->g[B], 300000 * n);
	expect_min(test, 600000, 400000, 200000, 0);
	/* The group above has less, as one beside it has more. */
	write_min(test, t->g[BESIDE], 650000 * n);
	expect_min(test, 480000, 320000, 160000, 520000);
	/* Nobody is guaranteed more than all there is. */
	write_min(test, t->g[BESIDE], MEMIO_RATE_MAX);
	expect_min(test, 375000, 250000, 125000, 625000);
	/* Nor anything by a group that has nothing */
	write_min(test, t->g[ABOVE], 0);
	expect_min(test, 0, 0, 0, 1000000);
	write_min(test, t->g[BESIDE], 0);
	write_min(test, t->g[ABOVE], 600000 * n);

	/* One more level; it is another group that has the tasks. */
	below = new_group(test, t->g[A]);
	write_min(test, below, MEMIO_RATE_MAX);
	expect_min(test, 600000, 400000, 200000, 0);
	KUNIT_EXPECT_EQ(test, below->min_effective, 400000 * n);
	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(ALL / 2), 0);
	KUNIT_EXPECT_EQ(test, below->min_effective, t->g[A]->min_effective);
	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(0), 0);
	expect_min(test, 0, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, below->min_effective, 0);

	offline(below);
	memio_owner_reap(0);
	rcu_barrier();
	free_group(below);
}

/* What a group has as its share; 0: none */
static u64 share(struct memio_cgroup *g)
{
	u64 rate = g->limits ? g->limits->share.rate[MEMIO_BPS] : MEMIO_NO_LIMIT;

	return rate == MEMIO_NO_LIMIT ? 0 : rate;
}

/* What is left is shared by weight among those that move something, on each level. */
static void shared_down_the_tree(struct kunit *test)
{
	struct tree *t = test->priv;
	char text[] = "300";

	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(ALL), 0);
	KUNIT_EXPECT_EQ(test, memio_weight_write(t->g[B], text), 0);
	move(t->g[A], t->dev, 512);
	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(ALL), 0);
	KUNIT_EXPECT_EQ(test, share(t->g[A]), t->all);
	KUNIT_EXPECT_EQ(test, share(t->g[B]), 0);
	/* Who has others below it has no tasks. */
	KUNIT_EXPECT_EQ(test, share(t->g[ABOVE]), 0);

	move(t->g[A], t->dev, 512);
	move(t->g[B], t->dev, 512);
	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(ALL), 0);
	KUNIT_EXPECT_EQ(test, share(t->g[A]), t->all / 4);
	KUNIT_EXPECT_EQ(test, share(t->g[B]), t->all / 4 * 3);

	/* One beside has a guarantee, and half of the rest. */
	write_min(test, t->g[BESIDE], t->all / 2);
	move(t->g[A], t->dev, 512);
	move(t->g[B], t->dev, 512);
	move(t->g[BESIDE], t->dev, 512);
	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(ALL), 0);
	KUNIT_EXPECT_EQ(test, share(t->g[A]), t->all / 16);
	KUNIT_EXPECT_EQ(test, share(t->g[B]), t->all / 16 * 3);
	KUNIT_EXPECT_EQ(test, share(t->g[BESIDE]), t->all / 4 * 3);
}

/* Who is held by its limit, and has no share any more, does not wait for one. */
static void share_is_gone(struct kunit *test)
{
	struct tree *t = test->priv;
	struct memio_limits *l;

	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(ALL), 0);
	move(t->g[A], t->dev, 512);
	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(ALL), 0);
	KUNIT_EXPECT_EQ(test, share(t->g[A]), t->all);
	l = memio_limits_of(t->g[A]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	memio_share_held(l);
	KUNIT_EXPECT_EQ(test, l->share_waits, 1);
	KUNIT_EXPECT_EQ(test, memio_guaranteed_set(0), 0);
	KUNIT_EXPECT_EQ(test, share(t->g[A]), 0);
	memio_share_held(l);
	KUNIT_EXPECT_EQ(test, l->share_waits, 0);
}

static struct kunit_case limit_cases[] = {
	KUNIT_CASE(price_is_bounded),
	KUNIT_CASE(lines_before_a_request),
	KUNIT_CASE(tightest_holds),
	KUNIT_CASE(both_hold),
	KUNIT_CASE(moment_to_come),
	KUNIT_CASE(each_holds),
	KUNIT_CASE(default_of_devices),
	KUNIT_CASE(scaled_down_the_tree),
	KUNIT_CASE(shared_down_the_tree),
	KUNIT_CASE(share_is_gone),
	{}
};

static struct kunit_suite limit_suite = {
	.name = "memio_limit",
	.init = tree_init,
	.exit = tree_exit,
	.test_cases = limit_cases,
};

kunit_test_suite(limit_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: limits of groups: memio.limit, and what is charged to them
 *
 *	# echo "total bps=200000000" > memio.limit
 *	# echo "eth0 rbps=50000000 wbps=max" > memio.limit
 *	# cat memio.limit
 *	total bps=200000000
 *	0000:00:04.0 rbps=50000000
 *
 * Each rate that is set is a pool (budget.c). What is moved for a group is
 * taken from all pools that it concerns, in the group and in those above it: of a disk's
 * read the device's, those of "io", and those of "total". If one of them is spent, its
 * group is stopped, with those below (throttle.c), until all of the group's pools have
 * something again.
 *
 * What is charged
 *
 * IO bytes when they are charged to their owner (charge.c), not when the stock is full, whose
 * 64 KiB are three periods of 20 MB/s; only less than MEMIO_DUE waits there. They are turned
 * into memory bytes at what the device's last bytes have cost (estimate.c, "Limits"); no price
 * is more than a memory byte for each IO byte and direction, so that a mistaken estimate can't
 * stop a group for good. Without counters an IO byte is a memory byte, or free if that is set.
 * What is written to files on a disk is charged when pages become dirty (bio.c), not again when
 * they are written. What CPUs read is charged with each interrupt, and after a chunk, which is a
 * part of the smallest of the budgets that it is charged to (cpu.c). A switch only counts it, until
 * an eighth of a chunk has come together for an owner on a CPU, which has eight of these
 * (charge.c).
 *
 * So that prices are known, and CPUs are counted, a work item asks for samples as long as
 * there are limits. It also is the watchdog: a group that is stopped longer than its debt
 * justifies is let go, and the log says so.
 *
 * A group without a limit costs its tasks next to nothing, by a static key. Whoever sets a
 * limit and lifts it in a loop would have code patched, and wait for grace periods, on all CPUs.
 * So a limit that is lifted counts for the key for another second (key_work_fn()).
 *
 * What can't hold
 *
 * A limit that nothing can hold is refused (EOPNOTSUPP): of what CPUs read, where memio has no
 * counter for it; of a group that has only tasks which are never stopped. Where a part can't be
 * held memio.limit says so, with "except=": "cpu" if what CPUs read is not counted, "io" if limits
 * to IO are lifted for want of counters, "classes" if there are tasks of real-time classes, or of
 * sched_ext, which are charged and go on.
 *
 * Locking: memio_limit_mutex for the rates, and for groups' coming and going, which
 * the cgroup mutex and RTNL wait for; so nothing is waited for with it: no memory (what takes
 * some has it before, struct room), no grace period, no patching of code. A line's lock for its
 * pools; it nests in all others, run queues' as well. So what
 * charges with a run queue's lock held only marks a group as stopped, and an irq_work
 * does the rest. @stopped_ns is set by whoever has spent a pool and found it 0, and cleared
 * by whoever lets the group go and finds it set: both by cmpxchg64().
 */

#define pr_fmt(fmt) "memio: " fmt

#include <kunit/visibility.h>
#include <linux/cgroup.h>
#include <linux/cleanup.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/memio_stop.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "limit.h"

#include <trace/events/memio.h>

#define MEMIO_GRACE_NS		(4 * NSEC_PER_MSEC)	/* so long one runs whatever it owes */
#define MEMIO_TURN_NS		(10ULL * NSEC_PER_SEC)	/* so often tasks pass the scheduler */
#define MEMIO_SPAN_NS_MAX	(100ULL * NSEC_PER_MSEC)

/* 1 ms: what a group does at full speed and is stopped for is not noticed by people. */
unsigned int memio_period_us = 1000;

bool memio_lift;

/* See struct memio_look. */
atomic_t memio_limit_changes = ATOMIC_INIT(0);

const u64 memio_no_rates[MEMIO_WAYS] = { [0 ... MEMIO_WAYS - 1] = MEMIO_NO_LIMIT };

LIST_HEAD(memio_all_limits);
/* Around what is written to files, groups' coming and going, and their shares' rates */
DEFINE_MUTEX(memio_limit_mutex);

static void key_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(key_work, key_work_fn);
/* How many count for the key that are no limits in memio_all_limits (any more) */
static atomic_t key_puts = ATOMIC_INIT(0);

static void limits_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(limits_work, limits_work_fn);

static const char *const key_names[MEMIO_LIMIT_KEYS] = {
	[MEMIO_LIMIT_TOTAL]	= "total",
	[MEMIO_LIMIT_CPU]	= "cpu",
	[MEMIO_LIMIT_IO]	= "io",
};

static const enum memio_stop_key stop_keys[MEMIO_LIMIT_KEYS] = {
	[MEMIO_LIMIT_TOTAL]	= MEMIO_STOP_TOTAL,
	[MEMIO_LIMIT_CPU]	= MEMIO_STOP_CPU,
	[MEMIO_LIMIT_IO]	= MEMIO_STOP_IO,
};

/**
 * memio_period_ns - what a budget is for
 *
 * Context: any. Return: nanoseconds.
 */
u64 memio_period_ns(void)
{
	return (u64)READ_ONCE(memio_period_us) * NSEC_PER_USEC;
}

/* When what a CPU has read was last charged: the last interrupt, or when it ceased to idle */
DEFINE_PER_CPU(u64, memio_counted_ns);

/* For how long what is charged now was being read: a tick, or more if that is late. */
static u64 cpu_span_ns(void)
{
	u64 span_ns = local_clock() - __this_cpu_read(memio_counted_ns);

	return clamp_t(u64, span_ns, TICK_NSEC, MEMIO_SPAN_NS_MAX);
}

/**
 * memio_keeps_ns - what a budget may keep is earned in so long
 * @span_ns:	for how long what is charged was gathered
 *
 * A budget that can hold less than what comes at a time would be full for most of
 * the time that this is gathered in, and its group be stopped though it keeps within its
 * rate. What CPUs read comes a tick's worth at a time, or less.
 *
 * Context: any. Return: nanoseconds.
 */
u64 memio_keeps_ns(u64 span_ns)
{
	return memio_period_ns() + span_ns;
}

static u64 line_keeps_ns(const struct memio_line *line, u64 span_ns)
{
	return memio_keeps_ns(line->cpus ? max_t(u64, span_ns, TICK_NSEC) : 0);
}

/* ---- events ---- */

/**
 * memio_event - something has happened to a group
 * @g:		the group
 * @event:	what
 * @n:		how often, or how much
 *
 * Context: any; in an RCU read-side critical section, or with a reference to the group.
 */
void memio_event(struct memio_cgroup *g, enum memio_ev event, u64 n)
{
	atomic64_add(n, &g->events_local[event]);
	for (; g; g = memio_cgroup_parent(g)) {
		atomic64_add(n, &g->events[event]);
		memio_cgroup_notify(g);
	}
}

/* A line has stopped a group. Before the event that says so. */
static void count_stop(struct memio_cgroup *g, struct memio_line *line)
{
	atomic64_t *dev;

	atomic64_inc(&line->stops);
	for (; g; g = memio_cgroup_parent(g)) {
		/* Pairs with the cmpxchg in prepare_stops(). */
		dev = smp_load_acquire(&g->dev_stops);
		if (line->what < MEMIO_STOP_KEYS)
			atomic64_inc(&g->stops[line->what]);
		else if (dev)
			atomic64_inc(&dev[line->what - MEMIO_STOP_KEYS]);
	}
}

/* Room for what devices' lines stop, in a group and those above it. */
static int prepare_stops(struct memio_cgroup *g)
{
	atomic64_t *dev;

	for (; g; g = memio_cgroup_parent(g)) {
		if (READ_ONCE(g->dev_stops))
			continue;
		dev = kcalloc(MEMIO_DEVICES, sizeof(*dev), GFP_KERNEL_ACCOUNT);
		if (!dev)
			return -ENOMEM;
		if (cmpxchg(&g->dev_stops, NULL, dev))
			kfree(dev);
	}
	return 0;
}

/* ---- charging ---- */

/* A device's line; NULL: it never had a limit. */
static struct memio_line *line_of(struct memio_limits *l, u16 id)
{
	/* Pairs with the release in dev_line(). */
	return smp_load_acquire(&l->dev_line[id]);
}

/**
 * memio_line_take - take bytes from one of a line's pools
 * @line:	the line, which has a rate for @way
 * @way:	which of its pools, an &enum memio_way
 * @bytes:	how many
 * @span_ns:	for how long they were gathered
 * @forgiven:	is set to how many of them go beyond what debt there may be; mostly 0
 *
 * Context: any, with interrupts off; also with the run queue's lock.
 * Return: whether it is spent.
 */
bool memio_line_take(struct memio_line *line, int way, u64 bytes, u64 span_ns, u64 *forgiven)
{
	struct memio_slice *slice = &this_cpu_ptr(line->slices)->way[way];
	struct memio_pool *pool = &line->pool[way];
	bool spent = false;

	*forgiven = 0;
	if (!bytes || memio_slice_take(pool, slice, bytes))
		return false;
	raw_spin_lock(&line->lock);
	if (pool->step) {
		memio_pool_fill(pool, ktime_get_ns(), line_keeps_ns(line, span_ns));
		*forgiven = memio_pool_take(pool, slice, bytes, order_base_2(nr_cpu_ids));
		spent = pool->tokens <= 0;
	}
	raw_spin_unlock(&line->lock);
	return spent;
}

static bool take(struct memio_limits *l, struct memio_line *line, int way, u64 bytes, u64 span_ns)
{
	u64 forgiven;
	bool spent = memio_line_take(line, way, bytes, span_ns, &forgiven);

	if (unlikely(forgiven)) {
		memio_event(l->group, MEMIO_EV_OVERRUN, 1);
		memio_event(l->group, MEMIO_EV_FORGIVEN, forgiven);
	}
	return spent;
}

/* What became of a charge */
enum { CHARGED = 1, SPENT = 2 };

static int take_line(struct memio_limits *l, struct memio_line *line, u64 read, u64 write,
		     u64 span_ns)
{
	unsigned long ways;
	bool spent = false;

	if (!line)
		return 0;
	/* Pairs with the release in memio_line_set(): there are slices. */
	ways = smp_load_acquire(&line->ways);
	if (ways & BIT(MEMIO_BPS))
		spent |= take(l, line, MEMIO_BPS, read + write, span_ns);
	if (ways & BIT(MEMIO_RBPS))
		spent |= take(l, line, MEMIO_RBPS, read, span_ns);
	if (ways & BIT(MEMIO_WBPS))
		spent |= take(l, line, MEMIO_WBPS, write, span_ns);
	return (ways ? CHARGED : 0) | (spent ? SPENT : 0);
}

/*
 * Whether a group, or one above it, was let go for a moment whatever it owes. That moment is
 * also its (let_go_below()). One that is to begin when a group above runs again
 * (let_go_for_a_moment()) is there as long as that is stopped; it may run before it was to.
 */
static bool has_grace(struct memio_limits *l)
{
	u64 now = ktime_get_ns();
	struct memio_cgroup *g;
	bool later = false;
	s64 left;

	for (g = l->group; g; g = memio_cgroup_parent(g)) {
		l = memio_limits_of(g);
		if (!l)
			continue;
		if (later && READ_ONCE(l->stopped_ns))
			return true;
		left = READ_ONCE(l->grace_ns) - now;
		if (left > 0 && left <= MEMIO_GRACE_NS)
			return true;
		later |= left > 0;
	}
	return false;
}

/* A pool of @line is spent. In RCU's read side */
static void stop(struct memio_limits *l, struct memio_line *line)
{
	u64 now;

	if (READ_ONCE(l->stopped_ns) || has_grace(l))
		return;
	/* First, or who lets it go at once counts one too few. */
	atomic_inc(&memio_nr_stopped);
	now = ktime_get_ns();
	if (cmpxchg64(&l->stopped_ns, 0, now)) {
		atomic_dec(&memio_nr_stopped);
		return;
	}
	WRITE_ONCE(l->stopped_by, line);
	/* Not @stopped_ns: another CPU may have let the group go by now. */
	memio_pressure_stop(l->group, true, now);
	irq_work_queue(&l->stop);
}

/*
 * Whether anything that a group moves is charged to a limit, or may be: others' limits should
 * cost those who have none next to nothing. In RCU's read side
 */
static bool has_limits(struct memio_cgroup *g)
{
	if (READ_ONCE(memio_regulated))
		return true;
	for (; g; g = memio_cgroup_parent(g))
		if (memio_limits_of(g))
			return true;
	return false;
}

/* In RCU's read side. Return: whether there was any limit, or share. */
static bool charge(struct memio_cgroup *g, enum memio_limit_key key, u16 dev, u64 read, u64 write,
		   u64 span_ns)
{
	bool charged = READ_ONCE(memio_regulated);
	struct memio_line *line[3], *spent;
	struct memio_limits *l;
	int did, i;

	/* Who is to be stopped for that has limits. */
	if (charged && memio_share_charge(g, read + write, span_ns)) {
		l = memio_limits_of(g);
		stop(l, &l->share);
	}
	for (; g; g = memio_cgroup_parent(g)) {
		l = memio_limits_of(g);
		if (!l)
			continue;
		spent = NULL;
		line[0] = &l->line[key];
		line[1] = &l->line[MEMIO_LIMIT_TOTAL];
		line[2] = dev ? line_of(l, dev) : NULL;
		for (i = 0; i < ARRAY_SIZE(line); i++) {
			did = take_line(l, line[i], read, write, span_ns);
			charged |= did;
			if (did & SPENT && !spent)
				spent = line[i];
		}
		if (spent)
			stop(l, spent);
	}
	return charged;
}

/* IO is not limited, as nobody knows what it costs. */
static bool lifted(void)
{
	return unlikely(READ_ONCE(memio_lift)) && !memio_counters_valid();
}

/**
 * __memio_limit_charge_io - charge groups' limits with what a device has moved
 * @owner:	for whom
 * @id:		the device
 * @io:		the bytes
 *
 * Context: any, with interrupts off.
 */
void __memio_limit_charge_io(u32 owner, u16 id, const struct memio_io *io)
{
	struct memio_cgroup *g;
	u64 read, write;

	guard(rcu)();
	g = memio_owner_group(owner);
	if (!has_limits(g) || lifted())
		return;
	memio_price_bounded(memio_device(id), io, &read, &write);
	charge(g, MEMIO_LIMIT_IO, id, memio_skewed(MEMIO_SKEW_CHARGES, read),
	       memio_skewed(MEMIO_SKEW_CHARGES, write), 0);
}

/**
 * memio_limit_reserve - charge groups' limits with what will be written
 * @owner:	for whom
 * @id:		the device
 * @bytes:	so many bytes to the device. What comes of it goes to memio_charge_paid().
 *
 * Each is a memory byte that is read: prices are of what devices have moved, and by the time that
 * it is written it is hardly in the cache.
 *
 * Context: any; interrupts are turned off.
 * Return: false if nothing was charged.
 */
bool memio_limit_reserve(u32 owner, u16 id, u32 bytes)
{
	unsigned long flags;
	bool charged;

	if (lifted())
		return false;
	local_irq_save(flags);
	rcu_read_lock();
	charged = charge(memio_owner_group(owner), MEMIO_LIMIT_IO, id, bytes, 0, 0);
	rcu_read_unlock();
	local_irq_restore(flags);
	return charged;
}

/* What reserving has taken, see charge(): bytes that are read */
static void give_line(struct memio_line *line, u64 bytes)
{
	/* Pairs with the release in memio_line_set(): there are slices. */
	unsigned long ways = line ? smp_load_acquire(&line->ways) : 0;

	if (!ways)
		return;
	raw_spin_lock(&line->lock);
	if (ways & BIT(MEMIO_BPS))
		memio_pool_give(&line->pool[MEMIO_BPS], bytes);
	if (ways & BIT(MEMIO_RBPS))
		memio_pool_give(&line->pool[MEMIO_RBPS], bytes);
	raw_spin_unlock(&line->lock);
}

/* A group's debt is smaller now: it is not to wait as long as for the old one. */
static void look_sooner(struct memio_limits *l)
{
	u64 soon = ktime_get_ns() + memio_period_ns() / 4;

	if (!READ_ONCE(l->stopped_ns) || (s64)(READ_ONCE(l->due_ns) - soon) <= 0)
		return;
	WRITE_ONCE(l->due_ns, soon);
	hrtimer_start(&l->timer, ns_to_ktime(memio_period_ns() / 4),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * memio_limit_give_back - what was reserved won't be written
 * @owner:	for whom
 * @id:		the device
 * @bytes:	so many bytes, as in memio_limit_reserve()
 *
 * A file is truncated before its pages are written, say. What has been paid of the debt by
 * waiting is not given back.
 *
 * Context: any; interrupts are turned off.
 */
void memio_limit_give_back(u32 owner, u16 id, u64 bytes)
{
	struct memio_cgroup *g;
	struct memio_limits *l;
	unsigned long flags;

	local_irq_save(flags);
	rcu_read_lock();
	for (g = memio_owner_group(owner); g; g = memio_cgroup_parent(g)) {
		l = memio_limits_of(g);
		if (!l)
			continue;
		give_line(&l->line[MEMIO_LIMIT_IO], bytes);
		give_line(&l->line[MEMIO_LIMIT_TOTAL], bytes);
		give_line(line_of(l, id), bytes);
		if (READ_ONCE(memio_regulated))
			give_line(&l->share, bytes);
		look_sooner(l);
	}
	rcu_read_unlock();
	local_irq_restore(flags);
}

/**
 * __memio_limit_charge_cpu - charge groups' limits with what CPUs have read
 * @owner:	for whom
 * @lines:	how many lines
 *
 * Context: any, with interrupts off; also with the run queue's lock.
 * Return: how many lines may be gathered before the next charge.
 */
u32 __memio_limit_charge_cpu(u32 owner, u32 lines)
{
	struct memio_cpu_bytes b;
	struct memio_cgroup *g;
	bool stopped;
	u64 bytes;

	guard(rcu)();
	g = memio_owner_group(owner);
	if (!has_limits(g))
		return U32_MAX;
	if (lines) {
		b = memio_cpu_cost(memio_skewed(MEMIO_SKEW_CHARGES, lines));
		charge(g, MEMIO_LIMIT_CPU, 0, b.read, b.write, cpu_span_ns());
	}
	bytes = memio_limit_chunk(g, &stopped);
	return min_t(u64, bytes >> (ilog2(MEMIO_LINE_BYTES) + MEMIO_STOCK_BITS), U32_MAX);
}

/**
 * memio_limit_chunk - how much may be read for a group before it should be charged
 * @g:		for whom
 * @stopped:	is set to whether it is stopped already, as soon as it comes to where it can be
 *
 * Context: any, NMI as well.
 * Return: bytes; U64_MAX if nothing limits what CPUs read for it.
 */
u64 memio_limit_chunk(struct memio_cgroup *g, bool *stopped)
{
	struct memio_limits *l;
	u64 step = 0;

	*stopped = false;
	guard(rcu)();
	for (; g; g = memio_cgroup_parent(g)) {
		l = memio_limits_of(g);
		if (!l)
			continue;
		step = memio_least_step(step, READ_ONCE(l->line[MEMIO_LIMIT_CPU].least));
		step = memio_least_step(step, READ_ONCE(l->line[MEMIO_LIMIT_TOTAL].least));
		step = memio_least_step(step, READ_ONCE(l->share.least));
		*stopped |= READ_ONCE(l->stopped_ns);
	}
	return memio_pool_chunk(step, memio_period_ns());
}

/* ---- stopping ---- */

/**
 * memio_line_wait - how long until each of a line's pools has something
 * @line:	the line, or NULL
 *
 * Context: any.
 * Return: nanoseconds; 0: they have.
 */
u64 memio_line_wait(struct memio_line *line)
{
	unsigned long flags;
	u64 now, wait = 0;

	if (!line || !READ_ONCE(line->ways))
		return 0;
	raw_spin_lock_irqsave(&line->lock, flags);
	now = ktime_get_ns();
	for (int way = 0; way < MEMIO_WAYS; way++) {
		memio_pool_fill(&line->pool[way], now, line_keeps_ns(line, 0));
		wait = max(wait, memio_pool_wait_ns(&line->pool[way]));
	}
	raw_spin_unlock_irqrestore(&line->lock, flags);
	return wait;
}

/* How long until each pool has something; 0: they have. */
static u64 limits_wait(struct memio_limits *l)
{
	u64 wait = 0;

	for (int key = 0; key < MEMIO_LIMIT_KEYS; key++)
		wait = max(wait, memio_line_wait(&l->line[key]));
	for (u16 id = 1; id < MEMIO_DEVICES && memio_device(id); id++)
		wait = max(wait, memio_line_wait(line_of(l, id)));
	if (!wait)
		return memio_share_wait(l);
	memio_share_held(l);
	return wait;
}

/* More are let go in a while, if the group still runs then. See throttle.c, "A few at a time". */
static void let_more_go(struct memio_limits *l, unsigned int wake)
{
	WRITE_ONCE(l->wake, wake);
	if (memio_release_group(l, wake))
		hrtimer_start(&l->timer, ns_to_ktime(memio_period_ns() / 4),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

/* @patience_ns: how long it may be stopped the next time */
static void let_go(struct memio_limits *l, u64 patience_ns)
{
	u64 since = READ_ONCE(l->stopped_ns), ns = ktime_get_ns() - since;

	if (!since || cmpxchg64(&l->stopped_ns, since, 0) != since)
		return;
	WRITE_ONCE(l->patience_ns, patience_ns);
	memio_share_go(l);
	memio_pressure_stop(l->group, false, since + ns);
	memio_event(l->group, MEMIO_EV_THROTTLED_NS, ns);
	trace_memio_unthrottle(cgroup_id(l->group->css.cgroup), ns);
	let_more_go(l, MEMIO_WAKE);
	/* Only now: who runs late into limbo has to see that it is over. */
	atomic_dec(&memio_nr_stopped);
}

/*
 * What is below a group that runs for a moment does so, too, whatever it owes: or its own
 * moments might all be in the other's stops. It goes through those that have limits: a user may
 * have made any number of groups.
 */
static void let_go_below(struct memio_limits *above)
{
	struct memio_limits *l;

	guard(rcu)();
	list_for_each_entry_rcu(l, &memio_all_limits, list)
		if (l != above && READ_ONCE(l->stopped_ns) &&
		    memio_is_below(l->group, above->group))
			let_go(l, READ_ONCE(l->patience_ns));
}

/*
 * Lets a group run for a moment whatever it owes, MEMIO_GRACE_NS. One above it may be stopped
 * just now: then it begins when that one should run again.
 */
static void let_go_for_a_moment(struct memio_limits *l)
{
	u64 begin = ktime_get_ns();
	struct memio_limits *above;
	struct memio_cgroup *g;

	scoped_guard(rcu) {
		for (g = memio_cgroup_parent(l->group); g; g = memio_cgroup_parent(g)) {
			above = memio_limits_of(g);
			if (above && READ_ONCE(above->stopped_ns))
				begin = max(begin, READ_ONCE(above->due_ns));
		}
	}
	WRITE_ONCE(l->grace_ns, begin + MEMIO_GRACE_NS);
	let_go(l, memio_patience_next(READ_ONCE(l->patience_ns)));
	let_go_below(l);
}

/*
 * If there is something in all pools the group runs, else it is looked at again when
 * there should be. Not more often than four times in a period: who is let go should get
 * somewhere. And when patience is over it runs whatever it owes, for MEMIO_GRACE_NS, as else
 * a packet that arrives would stop it before it did anything. The next charge after that
 * stops it again: whatever the limit, it gets on. It is more patience each time, as what can
 * be begun in a moment may take minutes to be paid. Several CPUs may be here at a time; the
 * timer is not forwarded by its own function, as another may have started it meanwhile.
 */
static void look(struct memio_limits *l)
{
	u64 since = READ_ONCE(l->stopped_ns), wait, stopped, now;

	if (!since) {
		if (!cpumask_empty(l->waiting))
			let_more_go(l, min(READ_ONCE(l->wake) * 2, MEMIO_WAKE_MOST));
		return;
	}
	wait = limits_wait(l);
	now = ktime_get_ns();
	/* Who has let it go meanwhile did not see that it waits for its share. */
	if (!READ_ONCE(l->stopped_ns)) {
		memio_share_go(l);
		return;
	}
	stopped = now - since;
	if (!wait) {
		let_go(l, MEMIO_PATIENCE_NS);
		return;
	}
	if (stopped >= READ_ONCE(l->patience_ns)) {
		let_go_for_a_moment(l);
		return;
	}
	/* Shares change meanwhile. */
	wait = min3(wait, READ_ONCE(l->patience_ns) - stopped, MEMIO_TURN_NS);
	wait = max(wait, memio_period_ns() / 4);
	WRITE_ONCE(l->due_ns, now + wait);
	hrtimer_start(&l->timer, ns_to_ktime(wait), HRTIMER_MODE_REL_PINNED_HARD);
}

static void stop_now(struct irq_work *work)
{
	struct memio_limits *l = container_of(work, struct memio_limits, stop);
	struct memio_line *line = READ_ONCE(l->stopped_by);
	unsigned int cpus;

	/* Whoever has stopped it a moment ago may be about to say by what. */
	if (line)
		count_stop(l->group, line);
	memio_event(l->group, MEMIO_EV_THROTTLED, 1);
	look(l);
	cpus = memio_flag_running(l);
	trace_memio_throttle(cgroup_id(l->group->css.cgroup), cpus);
}

static enum hrtimer_restart timer_fn(struct hrtimer *timer)
{
	look(container_of(timer, struct memio_limits, timer));
	return HRTIMER_NORESTART;
}

/* ---- the work item ---- */

static u64 forgive_line(struct memio_line *line)
{
	unsigned long flags;
	u64 bytes = 0;

	if (!line)
		return 0;
	raw_spin_lock_irqsave(&line->lock, flags);
	for (int way = 0; way < MEMIO_WAYS; way++)
		bytes += memio_pool_forgive(&line->pool[way]);
	raw_spin_unlock_irqrestore(&line->lock, flags);
	return bytes;
}

static void watch(struct memio_limits *l)
{
	u64 since = READ_ONCE(l->stopped_ns), now = ktime_get_ns(), late, bytes = 0;

	late = memio_watch(&l->watchdog, since, READ_ONCE(l->due_ns), now);
	if (!late)
		return;
	for (int key = 0; key < MEMIO_LIMIT_KEYS; key++)
		bytes += forgive_line(&l->line[key]);
	for (int id = 1; id < MEMIO_DEVICES; id++)
		bytes += forgive_line(l->dev_line[id]);
	bytes += forgive_line(&l->share);
	memio_event(l->group, MEMIO_EV_FORGIVEN, bytes);
	pr_warn_ratelimited("group %llu was stopped for %llu ms, %llu ms longer than its debt justifies: it runs again, %llu bytes are forgiven\n",
			    cgroup_id(l->group->css.cgroup), (now - since) / NSEC_PER_MSEC,
			    late / NSEC_PER_MSEC, bytes);
	let_go(l, MEMIO_PATIENCE_NS);
}

/*
 * Tasks RCU waits for a task in limbo until the task has passed by the scheduler. So now and then
 * all tasks do, and go back. Not in the timer: there may be thousands, and it has interrupts off.
 */
static void turn(struct memio_limits *l)
{
	u64 since = READ_ONCE(l->stopped_ns), now = ktime_get_ns();

	if (!since || now - max(since, l->turned_ns) < MEMIO_TURN_NS)
		return;
	l->turned_ns = now;
	memio_release_group(l, UINT_MAX);
}

static bool wants_cpus(const struct memio_limits *l)
{
	return READ_ONCE(l->line[MEMIO_LIMIT_TOTAL].ways) ||
	       READ_ONCE(l->line[MEMIO_LIMIT_CPU].ways) || READ_ONCE(l->share.ways);
}

/**
 * memio_limits_often - how often the work item looks
 *
 * Context: any.
 * Return: jiffies, a second's at most.
 */
unsigned long memio_limits_often(void)
{
	return clamp(msecs_to_jiffies(READ_ONCE(memio_hold_ms)) / 4, 1UL, (unsigned long)HZ);
}

/* Averages are the same whoever reads them. */
static void run_pressures(void)
{
	struct cgroup_subsys_state *css;
	u64 now = ktime_get_ns();

	guard(rcu)();
	css_for_each_descendant_pre(css, &memio_root.css)
		memio_pressure_run(&memio_css_cgroup(css)->pressure, now);
}

static void limits_work_fn(struct work_struct *work)
{
	static unsigned long cpus_until = INITIAL_JIFFIES;
	bool any, cpus, counters = memio_counters_valid();
	struct memio_limits *l;

	mutex_lock(&memio_limit_mutex);
	memio_share_again();
	any = memio_regulated;
	cpus = any;
	list_for_each_entry(l, &memio_all_limits, list) {
		watch(l);
		turn(l);
		/* Its timer lets them go; so it does not depend on that alone. */
		if (!READ_ONCE(l->stopped_ns) && !cpumask_empty(l->waiting))
			look(l);
		any |= l->any;
		cpus |= wants_cpus(l);
		if (!l->any && !l->share.ways)
			continue;
		if (!counters || (wants_cpus(l) && !memio_cpu_valid()))
			memio_event(l->group, MEMIO_EV_INVALID, 1);
	}
	mutex_unlock(&memio_limit_mutex);
	/* For a second after the last, or a limit that comes and goes would reach for all CPUs. */
	if (cpus)
		cpus_until = jiffies + HZ;
	cpus |= time_before(jiffies, cpus_until);
	run_pressures();
	if (memio_cpu_limited(cpus)) {
		guard(mutex)(&memio_limit_mutex);
		list_for_each_entry(l, &memio_all_limits, list)
			if (wants_cpus(l))
				memio_flag_running(l);
	}
	if (!any) {
		if (cpus)
			queue_delayed_work(system_unbound_wq, &limits_work, HZ);
		return;
	}
	if (cpus)
		memio_cpu_want();
	queue_delayed_work(system_unbound_wq, &limits_work, memio_limits_often());
}

/* ---- setting them ---- */

static void line_init(struct memio_line *line, unsigned int what, u64 debt_ns)
{
	line->what = what;
	raw_spin_lock_init(&line->lock);
	for (int way = 0; way < MEMIO_WAYS; way++) {
		line->rate[way] = MEMIO_NO_LIMIT;
		line->pool[way].debt_ns = debt_ns;
	}
}

static bool all_max(const u64 *rate)
{
	for (int way = 0; way < MEMIO_WAYS; way++)
		if (rate[way] != MEMIO_NO_LIMIT)
			return false;
	return true;
}

static u64 skewed_rate(u64 rate)
{
	return rate == MEMIO_NO_LIMIT ? rate : memio_skewed(MEMIO_SKEW_BUDGETS, rate);
}

/**
 * memio_line_set - set the rates that hold
 * @line:	the line, with room for slices, unless all rates are MEMIO_NO_LIMIT
 * @rate:	bytes per second, by way
 *
 * Context: any, with memio_limit_mutex.
 */
void memio_line_set(struct memio_line *line, const u64 *rate)
{
	unsigned long ways = 0;
	u64 least = 0;

	scoped_guard(raw_spinlock_irqsave, &line->lock) {
		for (int way = 0; way < MEMIO_WAYS; way++) {
			u64 step = line->pool[way].step;

			if (rate[way] != MEMIO_NO_LIMIT)
				ways |= BIT(way);
			else if (!step)
				continue;
			memio_pool_set(&line->pool[way], skewed_rate(rate[way]), ktime_get_ns(),
				       line_keeps_ns(line, 0));
			least = memio_least_step(least, line->pool[way].step);
		}
	}
	if (line->least != least) {
		WRITE_ONCE(line->least, least);
		memio_limit_changed();
	}
	/* Pairs with the acquire in take_line(). */
	smp_store_release(&line->ways, ways);
}

/* A line with room for slices; NULL: no memory. */
static struct memio_line *make_line(gfp_t gfp)
{
	struct memio_line *line = kzalloc(sizeof(*line), gfp);

	if (!line)
		return NULL;
	line_init(line, 0, MEMIO_DEBT_NS_MAX);
	line->slices = alloc_percpu_gfp(struct memio_slices, gfp);
	if (!line->slices) {
		kfree(line);
		return NULL;
	}
	return line;
}

static void free_line(struct memio_line *line)
{
	if (line)
		free_percpu(line->slices);
	kfree(line);
}

static void free_limits(struct memio_limits *l)
{
	if (!l)
		return;
	free_percpu(l->limbo);
	free_cpumask_var(l->waiting);
	free_cpumask_var(l->cpus);
	kfree(l);
}

/* Limits of a group that has none yet; NULL: no memory. */
static struct memio_limits *make_limits(struct memio_cgroup *g, gfp_t gfp)
{
	struct memio_limits *l = kzalloc(sizeof(*l), gfp);
	int cpu;

	if (!l)
		return NULL;
	l->limbo = alloc_percpu_gfp(struct memio_limbo, gfp);
	if (!l->limbo || !zalloc_cpumask_var(&l->cpus, gfp) ||
	    !zalloc_cpumask_var(&l->waiting, gfp)) {
		free_limits(l);
		return NULL;
	}
	for_each_possible_cpu(cpu) {
		INIT_LIST_HEAD(&per_cpu_ptr(l->limbo, cpu)->stopped);
		INIT_LIST_HEAD(&per_cpu_ptr(l->limbo, cpu)->going);
	}
	for (int key = 0; key < MEMIO_LIMIT_KEYS; key++)
		line_init(&l->line[key], stop_keys[key], MEMIO_DEBT_NS_MAX);
	line_init(&l->share, MEMIO_STOP_SHARE, MEMIO_DEBT_NS);
	l->line[MEMIO_LIMIT_TOTAL].cpus = true;
	l->line[MEMIO_LIMIT_CPU].cpus = true;
	l->share.cpus = true;
	for (int way = 0; way < MEMIO_WAYS; way++)
		l->fallback[way] = MEMIO_NO_LIMIT;
	l->group = g;
	/* With PREEMPT_RT, too, at once, and not when a thread gets to it. */
	l->stop = IRQ_WORK_INIT_HARD(stop_now);
	l->patience_ns = MEMIO_PATIENCE_NS;
	hrtimer_init(&l->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	l->timer.function = timer_fn;
	/* Its tasks run somewhere. */
	cpumask_copy(l->cpus, cpu_possible_mask);
	return l;
}

/* From here on they are the group's. With memio_limit_mutex */
static void give_limits(struct memio_cgroup *g, struct memio_limits *l)
{
	list_add_rcu(&l->list, &memio_all_limits);
	/* Pairs with the acquire in memio_limits_of(): it is complete. */
	smp_store_release(&g->limits, l);
	memio_limit_changed();
}

/**
 * memio_share_prepare - see to it that a group can have a share, and be stopped
 * @g:	the group
 *
 * The memory is the group's, also if that has reached its memory.max: it would have no share, and
 * no end, otherwise.
 *
 * Context: with memio_limit_mutex; does not sleep.
 * Return: false if there is no memory for it now.
 */
bool memio_share_prepare(struct memio_cgroup *g)
{
	struct mem_cgroup *memory, *old;
	struct memio_limits *l = g->limits;

	if (l && l->share.slices)
		return true;
	memory = memio_get_memory_of(g);
	old = set_active_memcg(memory);
	if (!l) {
		l = make_limits(g, MEMIO_GFP_CHARGE);
		if (l)
			give_limits(g, l);
	}
	if (l)
		l->share.slices = alloc_percpu_gfp(struct memio_slices, MEMIO_GFP_CHARGE);
	set_active_memcg(old);
	mem_cgroup_put(memory);
	return l && l->share.slices;
}

/**
 * struct room - what setting a limit takes, made before memio_limit_mutex is held
 * @l:		for a group that had no limit so far
 * @slices:	for a line that had none
 * @lines:	for devices, linked by next
 *
 * Whoever waits for memory of a group that has none left does so alone.
 */
struct room {
	struct memio_limits *l;
	struct memio_slices __percpu *slices;
	struct memio_line *lines;
};

static int room_line(struct room *room, gfp_t gfp)
{
	struct memio_line *line = make_line(gfp);

	if (!line)
		return -ENOMEM;
	line->next = room->lines;
	room->lines = line;
	return 0;
}

static void free_room(struct room *room)
{
	struct memio_line *line;

	free_limits(room->l);
	free_percpu(room->slices);
	while ((line = room->lines)) {
		room->lines = line->next;
		free_line(line);
	}
}

/*
 * For what @text says of @key, of the device @id, or of all devices (0). Lines that are there
 * already don't go, but others may come: then it is tried again.
 */
static int make_room(struct room *room, struct memio_cgroup *g, int key, u16 id)
{
	struct memio_limits *l = memio_limits_of(g);
	struct memio_line *line;
	unsigned int lines = 0;
	u16 i;

	if (!l && !room->l) {
		room->l = make_limits(g, GFP_KERNEL_ACCOUNT);
		if (!room->l)
			return -ENOMEM;
	}
	if (key >= 0) {
		if (!room->slices && (!l || !READ_ONCE(l->line[key].slices)))
			room->slices = alloc_percpu_gfp(struct memio_slices, GFP_KERNEL_ACCOUNT);
		return room->slices || (l && READ_ONCE(l->line[key].slices)) ? 0 : -ENOMEM;
	}
	for (i = id ?: 1; i < MEMIO_DEVICES && memio_device(i); i++) {
		lines += !l || !line_of(l, i);
		if (id)
			break;
	}
	for (line = room->lines; line; line = line->next)
		lines -= !!lines;
	while (lines--)
		if (room_line(room, GFP_KERNEL_ACCOUNT))
			return -ENOMEM;
	return 0;
}

/* A device's line; NULL: there is no room for it. With memio_limit_mutex */
static struct memio_line *dev_line(struct memio_limits *l, u16 id, struct room *room)
{
	struct memio_line *line = l->dev_line[id];

	if (line)
		return line;
	line = room->lines;
	if (!line)
		return NULL;
	room->lines = line->next;
	line->next = NULL;
	line->what = MEMIO_STOP_KEYS + id;
	/* For whoever charges it is complete. */
	smp_store_release(&l->dev_line[id], line);
	return line;
}

/* A device's own rates, or "default". */
static void dev_line_set(struct memio_limits *l, struct memio_line *line)
{
	memio_line_set(line, all_max(line->rate) ? l->fallback : line->rate);
}

static bool any_rate(const struct memio_limits *l)
{
	bool any = !all_max(l->fallback);

	for (int key = 0; key < MEMIO_LIMIT_KEYS; key++)
		any |= !all_max(l->line[key].rate);
	for (int id = 1; id < MEMIO_DEVICES; id++)
		any |= l->dev_line[id] && !all_max(l->dev_line[id]->rate);
	return any;
}

/**
 * memio_limit_lifted - a group's limits, or its share, are no more
 * @l:	the limits, which nobody charges any more who has seen them before
 *
 * If there is no other pool that could be spent, nobody is in limbo afterwards,
 * nor on the way there.
 *
 * Context: process, with memio_limit_mutex.
 */
void memio_limit_lifted(struct memio_limits *l)
{
	/* Who is about to let it go has done so, then. */
	irq_work_sync(&l->stop);
	hrtimer_cancel(&l->timer);
	if (l->any || l->share.ways) {
		look(l);
		return;
	}
	let_go(l, MEMIO_PATIENCE_NS);
	/* All of them, not some after the others */
	memio_release_group(l, UINT_MAX);
}

/**
 * memio_limits_work_now - have the work item see what there is
 *
 * Context: any.
 */
void memio_limits_work_now(void)
{
	mod_delayed_work(system_unbound_wq, &limits_work, 0);
}

/**
 * memio_limit_key_put - what has counted for the key does not any more, in a second
 *
 * Nobody who counted with it is in limbo by then, nor on the way there.
 *
 * Context: process.
 */
void memio_limit_key_put(void)
{
	atomic_inc(&key_puts);
	mod_delayed_work(system_unbound_wq, &key_work, HZ);
}

/*
 * The key is on whenever there is a limit, and a second longer. When it is turned off nobody may
 * be in limbo, nor on the way there. Who has seen a rate before it was lifted may still spend it,
 * and stop the group, until a grace period is over.
 */
static void key_work_fn(struct work_struct *work)
{
	int n = atomic_xchg(&key_puts, 0);
	struct memio_limits *l;

	scoped_guard(mutex, &memio_limit_mutex)
		list_for_each_entry(l, &memio_all_limits, list)
			l->going = l->keyed && !l->any;
	synchronize_rcu();
	scoped_guard(mutex, &memio_limit_mutex) {
		list_for_each_entry(l, &memio_all_limits, list) {
			if (l->going && !l->any) {
				memio_limit_lifted(l);
				l->keyed = false;
				n++;
			}
			l->going = false;
		}
	}
	while (n--)
		static_branch_dec(&memio_limit_key);
}

/**
 * memio_limits_everywhere - the key was off, and nobody has seen where groups' tasks run
 *
 * Context: process, with memio_limit_mutex.
 */
void memio_limits_everywhere(void)
{
	struct memio_limits *l;

	list_for_each_entry(l, &memio_all_limits, list)
		cpumask_copy(l->cpus, cpu_possible_mask);
}

/*
 * Rates have changed. Returns whether the limits count for the key from now on. What is in force
 * may be higher now, or none: nobody is to wait for what was. With memio_limit_mutex
 */
static bool rates_changed(struct memio_limits *l)
{
	bool before = l->any, keyed = false;

	l->any = any_rate(l);
	if (l->any && !l->keyed) {
		l->keyed = true;
		keyed = true;
		/* The key was off perhaps, and nobody has seen where its tasks run. */
		cpumask_copy(l->cpus, cpu_possible_mask);
	}
	if (l->any && !before)
		memio_limits_work_now();
	if (!l->any && l->keyed)
		mod_delayed_work(system_unbound_wq, &key_work, HZ);
	memio_limit_lifted(l);
	return keyed;
}

static void change(u64 *rate, const struct memio_limit_text *text)
{
	for (int way = 0; way < MEMIO_WAYS; way++)
		if (text->set & BIT(way))
			rate[way] = text->rate[way];
}

/* For each device that there is. */
static int set_fallback(struct memio_limits *l, const struct memio_limit_text *text,
			struct room *room)
{
	for (u16 id = 1; id < MEMIO_DEVICES && memio_device(id); id++)
		if (!dev_line(l, id, room))
			return -EAGAIN;
	change(l->fallback, text);
	for (u16 id = 1; id < MEMIO_DEVICES && l->dev_line[id]; id++)
		dev_line_set(l, l->dev_line[id]);
	return 0;
}

static int set_device(struct memio_limits *l, u16 id, const struct memio_limit_text *text,
		      struct room *room)
{
	struct memio_line *line = dev_line(l, id, room);

	if (!line)
		return -EAGAIN;
	change(line->rate, text);
	dev_line_set(l, line);
	return 0;
}

static int set_key(struct memio_limits *l, int key, const struct memio_limit_text *text,
		   struct room *room)
{
	struct memio_line *line = &l->line[key];

	if (!line->slices)
		swap(line->slices, room->slices);
	if (!line->slices)
		return -EAGAIN;
	change(line->rate, text);
	memio_line_set(line, line->rate);
	return 0;
}

static bool all_max_text(const struct memio_limit_text *text)
{
	for (int way = 0; way < MEMIO_WAYS; way++)
		if (text->set & BIT(way) && text->rate[way] != MEMIO_NO_LIMIT)
			return false;
	return true;
}

/* Whether some of the tasks of a group, and of those below it, can be stopped, and some can't */
static void look_at_tasks(struct memio_cgroup *g, bool *some, bool *some_not)
{
	struct cgroup_subsys_state *css;
	struct css_task_iter it;
	struct task_struct *p;

	*some = false;
	*some_not = false;
	/* One that a test has made has none. */
	if (!g->css.ss)
		return;
	rcu_read_lock();
	css_for_each_descendant_pre(css, &g->css) {
		if (!css_tryget_online(css))
			continue;
		rcu_read_unlock();
		css_task_iter_start(css, 0, &it);
		while (!(*some && *some_not) && (p = css_task_iter_next(&it))) {
			if (p->flags & (PF_KTHREAD | PF_EXITING))
				continue;
			if (memio_can_be_stopped(p))
				*some = true;
			else
				*some_not = true;
			cond_resched();
		}
		css_task_iter_end(&it);
		cond_resched();
		rcu_read_lock();
		css_put(css);
	}
	rcu_read_unlock();
}

/* For tests, where there are no counters */
VISIBLE_IF_KUNIT bool memio_limit_any;

static bool can_count_cpus(void)
{
	return memio_cpu_can_count() || memio_limit_any;
}

/* Whether nothing of a limit would hold. */
static bool holds_nothing(struct memio_cgroup *g, int key)
{
	bool some, some_not;

	if (key == MEMIO_LIMIT_CPU && !can_count_cpus())
		return true;
	look_at_tasks(g, &some, &some_not);
	return some_not && !some;
}

static int set(struct memio_cgroup *g, const struct memio_limit_text *text)
{
	int key = match_string(key_names, MEMIO_LIMIT_KEYS, text->key), ret;
	bool fallback = !strcmp(text->key, "default"), max = all_max_text(text), keyed = false;
	struct room room = {};
	struct memio_limits *l;
	u16 id = 0;

	if (key < 0 && !fallback) {
		id = memio_device_find(text->key);
		if (!id)
			return -ENODEV;
	}
	/* There is nothing to lift. */
	if (!memio_limits_of(g) && max)
		return 0;
	if (!max && holds_nothing(g, key))
		return -EOPNOTSUPP;
	ret = prepare_stops(g);
	if (ret)
		return ret;
	/* Before the first rate is set, as who spends it is stopped by hooks. */
	if (!max)
		static_branch_inc(&memio_limit_key);
	do {
		ret = make_room(&room, g, key, id);
		if (ret)
			break;
		guard(mutex)(&memio_limit_mutex);
		if (!g->limits) {
			give_limits(g, room.l);
			room.l = NULL;
		}
		l = g->limits;
		if (id)
			ret = set_device(l, id, text, &room);
		else if (fallback)
			ret = set_fallback(l, text, &room);
		else
			ret = set_key(l, key, text, &room);
		if (!ret)
			keyed = rates_changed(l);
	} while (ret == -EAGAIN);
	free_room(&room);
	if (!max && !keyed)
		memio_limit_key_put();
	/* What runs now may have been let run for long without being charged. */
	if (!ret && !max)
		memio_flag_running(memio_limits_of(g));
	return ret;
}

/**
 * memio_limit_write - what is written to memio.limit
 * @g:		the group
 * @buf:	the text
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL, -ERANGE, -ENODEV, -EOPNOTSUPP or -ENOMEM, and nothing has changed.
 */
int memio_limit_write(struct memio_cgroup *g, char *buf)
{
	struct memio_limit_text text;
	int ret = memio_limit_parse(buf, &text);

	return ret ?: set(g, &text);
}

/* @except: what is not held of it */
static void show_line(struct seq_file *m, const char *key, const u64 *rate, bool cpu, bool io,
		      bool classes)
{
	const char *before = " except=";
	char buf[128 + MEMIO_NAME];
	int len = memio_limit_format(buf, sizeof(buf), key, rate);

	if (!len)
		return;
	buf[len - 1] = '\0';
	seq_puts(m, buf);
	if (cpu) {
		seq_printf(m, "%scpu", before);
		before = ",";
	}
	if (io) {
		seq_printf(m, "%sio", before);
		before = ",";
	}
	if (classes)
		seq_printf(m, "%sclasses", before);
	seq_putc(m, '\n');
}

/**
 * memio_limit_show - print memio.limit
 * @m:	where
 * @g:	the group
 *
 * Context: process, may sleep.
 */
void memio_limit_show(struct seq_file *m, struct memio_cgroup *g)
{
	bool cpu = !can_count_cpus(), io = lifted(), some, classes;
	struct memio_limits *l;

	if (!memio_limits_of(g))
		return;
	look_at_tasks(g, &some, &classes);
	guard(mutex)(&memio_limit_mutex);
	l = g->limits;
	if (!l)
		return;
	show_line(m, "default", l->fallback, false, io, classes);
	for (int key = 0; key < MEMIO_LIMIT_KEYS; key++)
		show_line(m, key_names[key], l->line[key].rate, cpu && key != MEMIO_LIMIT_IO,
			  io && key != MEMIO_LIMIT_CPU, classes);
	for (u16 id = 1; id < MEMIO_DEVICES; id++)
		if (l->dev_line[id])
			show_line(m, memio_device(id)->name, l->dev_line[id]->rate, false, io,
				  classes);
}

static void show_stops(struct seq_file *m, const char *key, u64 stops)
{
	if (stops)
		seq_printf(m, "%s throttled=%llu\n", key, stops);
}

/**
 * memio_limit_show_stops - print how often which limit has stopped a group
 * @m:		where
 * @g:		the group
 * @local:	without those below it
 *
 * Context: process, may sleep.
 */
void memio_limit_show_stops(struct seq_file *m, struct memio_cgroup *g, bool local)
{
	static const char *const names[MEMIO_STOP_KEYS] = {
		[MEMIO_STOP_TOTAL]	= "total",
		[MEMIO_STOP_CPU]	= "cpu",
		[MEMIO_STOP_IO]		= "io",
		[MEMIO_STOP_SHARE]	= "share",
	};
	struct memio_limits *l = memio_limits_of(g);
	atomic64_t *dev = smp_load_acquire(&g->dev_stops); /* see count_stop() */
	struct memio_line *line;

	if (!local) {
		for (int key = 0; key < MEMIO_STOP_KEYS; key++)
			show_stops(m, names[key], atomic64_read(&g->stops[key]));
		for (u16 id = 1; dev && id < MEMIO_DEVICES && memio_device(id); id++)
			show_stops(m, memio_device(id)->name, atomic64_read(&dev[id]));
		return;
	}
	if (!l)
		return;
	for (int key = 0; key < MEMIO_LIMIT_KEYS; key++)
		show_stops(m, names[stop_keys[key]], atomic64_read(&l->line[key].stops));
	show_stops(m, names[MEMIO_STOP_SHARE], atomic64_read(&l->share.stops));
	for (u16 id = 1; id < MEMIO_DEVICES && memio_device(id); id++) {
		line = line_of(l, id);
		if (line)
			show_stops(m, memio_device(id)->name, atomic64_read(&line->stops));
	}
}

/**
 * memio_limit_new_device - a device has appeared: limits by "default" are for it, too
 * @id:	the device
 *
 * Without memory it goes without a limit until "default" is written anew. Memory is no group's,
 * as whoever makes the device has no part in them.
 *
 * Context: process, may sleep.
 */
void memio_limit_new_device(u16 id)
{
	unsigned int missing;
	struct memio_line *line;
	struct room room = {};
	struct memio_limits *l;

	do {
		missing = 0;
		scoped_guard(mutex, &memio_limit_mutex) {
			list_for_each_entry(l, &memio_all_limits, list) {
				if (all_max(l->fallback))
					continue;
				line = dev_line(l, id, &room);
				if (line)
					dev_line_set(l, line);
				else
					missing++;
			}
		}
		for (unsigned int i = 0; i < missing; i++)
			if (room_line(&room, GFP_KERNEL))
				missing = 0;
	} while (missing);
	free_room(&room);
}

/**
 * memio_limit_offline - a group is about to go
 * @g:	the group, which has no tasks
 *
 * Context: process, may sleep.
 */
void memio_limit_offline(struct memio_cgroup *g)
{
	struct memio_limits *l;

	guard(mutex)(&memio_limit_mutex);
	/* It gets none any more, and others get more. */
	g->gone = true;
	memio_share_rebalance();
	l = g->limits;
	if (!l)
		return;
	memio_line_set(&l->share, memio_no_rates);
	memcpy(l->fallback, memio_no_rates, sizeof(memio_no_rates));
	for (int key = 0; key < MEMIO_LIMIT_KEYS; key++) {
		memcpy(l->line[key].rate, memio_no_rates, sizeof(memio_no_rates));
		memio_line_set(&l->line[key], memio_no_rates);
	}
	for (int id = 1; id < MEMIO_DEVICES; id++) {
		if (!l->dev_line[id])
			continue;
		memcpy(l->dev_line[id]->rate, memio_no_rates, sizeof(memio_no_rates));
		memio_line_set(l->dev_line[id], memio_no_rates);
	}
	l->any = false;
	memio_limit_lifted(l);
	list_del_rcu(&l->list);
}

/**
 * memio_limit_free - a group is gone
 * @g:	the group, which nobody charges any more, a grace period after it went offline
 *
 * Context: process, may sleep.
 */
void memio_limit_free(struct memio_cgroup *g)
{
	struct memio_limits *l = g->limits;

	if (!l)
		return;
	irq_work_sync(&l->stop);
	hrtimer_cancel(&l->timer);
	/* Whoever has spent a pool just before the limits were lifted. */
	let_go(l, MEMIO_PATIENCE_NS);
	memio_share_go(l);
	if (l->keyed)
		memio_limit_key_put();
	for (int key = 0; key < MEMIO_LIMIT_KEYS; key++)
		free_percpu(l->line[key].slices);
	for (int id = 1; id < MEMIO_DEVICES; id++)
		free_line(l->dev_line[id]);
	free_percpu(l->share.slices);
	free_limits(l);
}

/*
 * Those that wait for the mutex hold what reclaim may need, as the cgroup mutex is held by who
 * has memory reclaimed. Lockdep is told, and complains wherever memory is waited for with it.
 */
static int __init memio_limit_lockdep(void)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return 0;
	fs_reclaim_acquire(GFP_KERNEL);
	mutex_lock(&memio_limit_mutex);
	mutex_unlock(&memio_limit_mutex);
	fs_reclaim_release(GFP_KERNEL);
	return 0;
}
late_initcall(memio_limit_lockdep);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: guarantees and weights of groups: memio.min, memio.weight
 *
 *	# echo 1000000000 > /sys/kernel/memio/guaranteed_bps
 *	# echo 600000000 > realtime/memio.min
 *	# echo 300 > batch/memio.weight
 *
 * As long as guaranteed_bps is not 0 groups share it, as share.c has it. It is what the
 * memory gives whatever is asked of it, so less than what it gives at best; and groups
 * may use more, when all who want something have had theirs.
 *
 * Who has a share are groups without others below them: the others have no tasks.
 * What the root's tasks move counts, and does not stop them. A share is a line
 * beside those of memio.limit (limit.c), so it is charged, spent and waited for as
 * they are: but a group that has spent it goes on if it may borrow.
 *
 *	charge: the pool of all groups, always
 *		the group's share; spent?
 *			all may have more than is foreseen: forget the debt	(borrow)
 *			else: stop
 *	stopped, each half period:
 *			the debt is paid, or it may borrow now: go
 *			all that are active are stopped: go, for a period	(best effort)
 *
 * Best effort is not charged: each has had its own, and whose pool fills meanwhile finds it
 * full. So who has a guarantee loses nothing by it.
 *
 * Who is active
 *
 * Whoever has charged something since the work item last looked, a second ago or less, and
 * whoever is stopped: it would if it could.
 * One that comes to be active is not stopped until rates are worked out again, which
 * a work item does, soon, and it has what it takes to be stopped, which takes memory.
 *
 * Locking: guaranteed_mutex for switching it on and off, which waits for grace periods and the
 * patching of code. memio_limit_mutex for what is written to files, and for rates. all.lock for the
 * pool of all groups; it nests in all others, as that of a line. Neither is taken with the
 * other.
 */

#include <linux/cgroup.h>
#include <linux/cleanup.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kstrtox.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/memio_stop.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "limit.h"
#include "share.h"

#define MEMIO_REBALANCE_PART	10	/* of a CPU's time, at most */
#define MEMIO_REBALANCE_NS_MAX	(100ULL * NSEC_PER_MSEC)

static DEFINE_MUTEX(guaranteed_mutex);

/* What each package's memory gives; 0: nobody knows, and so nothing is shared. */
static u64 guaranteed;

static struct {
	raw_spinlock_t lock;		/* around the next three */
	struct memio_pool pool;
	struct memio_average own;	/* charged, and not borrowed */
	u64 free_until;			/* best effort; 0: not now */
	unsigned int active;		/* groups that have a share */
	atomic_t stopped;		/* those of them that are waiting for it */
} all = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(all.lock),
};

static DEFINE_PER_CPU(struct memio_slice, all_slice);

bool memio_regulated __read_mostly;

static void rebalance_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(rebalance_work, rebalance_fn);
static u64 next_rebalance_ns;

/* Until when it is to wait, in jiffies; 0: it need not. */
static unsigned long rebalance_early(void)
{
	s64 ns = READ_ONCE(next_rebalance_ns) - ktime_get_ns();

	return ns > 0 ? nsecs_to_jiffies(ns) + 1 : 0;
}

/**
 * memio_share_rebalance - give shares anew, as who is active has changed
 *
 * It goes through all groups: at once, as until then who is new has no share that it could
 * spend, but if there are so many that it takes long, not all the time.
 *
 * Context: any, but with the run queue's lock.
 */
void memio_share_rebalance(void)
{
	if (READ_ONCE(memio_regulated))
		queue_delayed_work(system_unbound_wq, &rebalance_work, rebalance_early());
}

static void rebalance_irq_fn(struct irq_work *work)
{
	memio_share_rebalance();
}

static DEFINE_IRQ_WORK(rebalance_irq, rebalance_irq_fn);

static bool best_effort(u64 now)
{
	return (s64)(READ_ONCE(all.free_until) - now) > 0;
}

/* As a line that CPUs are charged to (limit.c) */
static void fill_all(u64 now, u64 span_ns)
{
	/* Or each charge would look at the clock from the first time on. */
	if (all.free_until && !best_effort(now))
		WRITE_ONCE(all.free_until, 0);
	memio_pool_fill(&all.pool, now, memio_keeps_ns(max_t(u64, span_ns, TICK_NSEC)));
	memio_average_run(&all.own, now, memio_period_ns());
}

/* ---- charging ---- */

static void charge_all(u64 bytes, u64 span_ns)
{
	struct memio_slice *slice = this_cpu_ptr(&all_slice);
	u64 now;

	if (memio_slice_take(&all.pool, slice, bytes))
		return;
	now = ktime_get_ns();
	raw_spin_lock(&all.lock);
	fill_all(now, span_ns);
	all.own.used += all.pool.tokens;
	memio_pool_take(&all.pool, slice, bytes, order_base_2(nr_cpu_ids));
	all.own.used -= all.pool.tokens;
	raw_spin_unlock(&all.lock);
}

/* Forget what a group has spent beyond its own. Returns how much that was. */
static u64 forget(struct memio_line *line)
{
	unsigned long flags;
	u64 debt;

	raw_spin_lock_irqsave(&line->lock, flags);
	debt = memio_pool_forgive(&line->pool[MEMIO_BPS]);
	raw_spin_unlock_irqrestore(&line->lock, flags);
	return debt;
}

/* What was charged as a group's own was not. */
static void was_borrowed(struct memio_limits *l, u64 bytes)
{
	unsigned long flags;

	/* As much of it as has not been forgotten */
	raw_spin_lock_irqsave(&all.lock, flags);
	all.own.used -= min(bytes, all.own.bytes + max(all.own.used, 0LL));
	raw_spin_unlock_irqrestore(&all.lock, flags);
	memio_event(l->group, MEMIO_EV_BORROWED, bytes);
}

/* A group has spent its own. Whether it may go on, as others leave something. */
static bool borrow(struct memio_limits *l)
{
	u64 now = ktime_get_ns(), debt;
	unsigned long flags;
	bool may;

	raw_spin_lock_irqsave(&all.lock, flags);
	fill_all(now, 0);
	may = memio_may_borrow(&all.pool, &all.own);
	raw_spin_unlock_irqrestore(&all.lock, flags);
	if (!may)
		return false;

	debt = forget(&l->share);
	if (debt)
		was_borrowed(l, debt);
	return true;
}

/**
 * memio_share_charge - charge a group's share
 * @g:		the group
 * @bytes:	memory bytes
 * @span_ns:	for how long they were gathered
 *
 * Context: any, with interrupts off, in RCU's read side; also with the run queue's lock.
 * Return: true if it has spent its share, and is to be stopped.
 */
bool memio_share_charge(struct memio_cgroup *g, u64 bytes, u64 span_ns)
{
	struct memio_limits *l;
	u64 beyond;
	bool spent;

	if (READ_ONCE(all.free_until) && best_effort(ktime_get_ns()))
		return false;
	charge_all(bytes, span_ns);
	if (!READ_ONCE(g->charged))
		WRITE_ONCE(g->charged, 1);
	if (unlikely(!READ_ONCE(g->active))) {
		if (g != &memio_root && !delayed_work_pending(&rebalance_work))
			irq_work_queue(&rebalance_irq);
		return false;
	}
	l = memio_limits_of(g);
	/* Pairs with the release in memio_line_set(): there are slices. */
	if (!l || !smp_load_acquire(&l->share.ways))
		return false;
	spent = memio_line_take(&l->share, MEMIO_BPS, bytes, span_ns, &beyond);
	if (unlikely(beyond))
		was_borrowed(l, beyond);
	return spent && !borrow(l);
}

/* ---- waiting ---- */

static void waits(struct memio_limits *l, unsigned int for_it)
{
	if (xchg(&l->share_waits, for_it) == for_it)
		return;
	if (for_it)
		atomic_inc(&all.stopped);
	else
		atomic_dec(&all.stopped);
}

static void begin_best_effort(u64 now)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&all.lock, flags);
	memio_pool_forgive(&all.pool);
	/* never 0 */
	WRITE_ONCE(all.free_until, (now + memio_period_ns()) | 1);
	raw_spin_unlock_irqrestore(&all.lock, flags);
}

/**
 * memio_share_wait - how long a group has to wait for its share
 * @l:	its limits
 *
 * If all that are active have to, none has to.
 *
 * Context: any.
 * Return: nanoseconds until it is to ask again; 0: it can go on.
 */
u64 memio_share_wait(struct memio_limits *l)
{
	u64 now = ktime_get_ns(), wait = memio_line_wait(&l->share);

	if (!wait || borrow(l)) {
		waits(l, 0);
		return 0;
	}
	waits(l, 1);
	if (atomic_read(&all.stopped) >= (int)READ_ONCE(all.active))
		begin_best_effort(now);
	/* What others do may change it. All of them together ask about so often. */
	if (!best_effort(now))
		return min(wait, memio_period_ns() / 2 * (1 + atomic_read(&all.stopped) / 16));
	/* All have had their own, and begin anew. */
	forget(&l->share);
	waits(l, 0);
	return 0;
}

/**
 * memio_share_held - a group is held by a limit of its own
 * @l:	its limits
 *
 * Who is may not use its share, and others need not wait until it has.
 *
 * Context: any.
 */
void memio_share_held(struct memio_limits *l)
{
	/* It may have had one when it was stopped, and have none now. */
	waits(l, !!READ_ONCE(l->share.ways));
}

/**
 * memio_share_go - a group is let go, for whatever reason
 * @l:	its limits
 *
 * Context: any.
 */
void memio_share_go(struct memio_limits *l)
{
	waits(l, 0);
}

/* ---- rates ---- */

/* Its directory is removed: it has no tasks, and nothing to claim from then on. */
static bool is_gone(struct memio_cgroup *g)
{
	return g->gone || css_is_dying(&g->css);
}

/* More than there is at all nobody can have, and does not take from others. */
static struct memio_claim claim_of(const struct memio_cgroup *g, u64 total)
{
	return (struct memio_claim){
		.min = min(g->min, total), .weight = g->weight, .active = g->active,
	};
}

static void set_share(struct memio_limits *l, u64 rate)
{
	u64 rates[MEMIO_WAYS];

	memcpy(rates, memio_no_rates, sizeof(rates));
	rates[MEMIO_BPS] = rate;
	/* Or slices would be void each time. */
	if (l->share.rate[MEMIO_BPS] == rate)
		return;
	l->share.rate[MEMIO_BPS] = rate;
	memio_line_set(&l->share, rates);
}

/* Whether a group itself, not one below it, has charged something of late */
static bool self_active(struct memio_cgroup *g, bool again)
{
	bool charged = again ? xchg(&g->charged, 0) : READ_ONCE(g->charged);

	/* It would have, if it could; and its debt stays. */
	if (g->limits && READ_ONCE(g->limits->stopped_ns))
		return true;
	return again || !g->active ? charged : true;
}

/* What groups claim, from below; and who is active. */
static void claims(u64 total, bool again)
{
	struct cgroup_subsys_state *css;
	struct memio_cgroup *g, *parent;
	struct memio_claim claim;

	css_for_each_descendant_pre(css, &memio_root.css)
		memio_css_cgroup(css)->sharing = (struct memio_sharing){};
	css_for_each_descendant_post(css, &memio_root.css) {
		g = memio_css_cgroup(css);
		parent = memio_cgroup_parent(g);
		if (!parent || is_gone(g))
			continue;
		/* One with others below it, too: of tasks that were in one that is gone. */
		WRITE_ONCE(g->active, self_active(g, again) || g->sharing.weights);
		claim = claim_of(g, total);
		memio_sharing_add(&parent->sharing, &claim);
	}
}

/* A group's share, if it is to have one. Without memory for it, it is not stopped. */
static bool grant(struct memio_cgroup *g)
{
	bool has = memio_regulated && !g->sharing.below && g->active;

	if (has && !memio_share_prepare(g))
		return false;
	if (g->limits)
		set_share(g->limits, has ? max(g->sharing.total, 1ULL) : MEMIO_NO_LIMIT);
	return has;
}

/* What they get, from above. */
static unsigned int grants(u64 total)
{
	struct cgroup_subsys_state *css;
	struct memio_cgroup *g, *parent;
	unsigned int active = 0;
	struct memio_claim claim;

	memio_root.sharing.total = total;
	css_for_each_descendant_pre(css, &memio_root.css) {
		g = memio_css_cgroup(css);
		parent = memio_cgroup_parent(g);
		if (!parent || is_gone(g))
			continue;
		claim = claim_of(g, total);
		WRITE_ONCE(g->min_effective, memio_share_min(&parent->sharing, &claim));
		g->sharing.total = memio_share_rate(&parent->sharing, &claim);
		active += grant(g);
	}
	return active;
}

/* With memio_limit_mutex. @again: whoever has charged nothing since the last time is idle. */
static void rebalance(bool again)
{
	u64 total = guaranteed * memio_packages();

	guard(rcu)();
	claims(total, again);
	WRITE_ONCE(all.active, grants(total));
}

/* What rates rest on has changed. With memio_limit_mutex. */
static void changed(void)
{
	if (memio_regulated)
		rebalance(false);
}

static void rebalance_fn(struct work_struct *work)
{
	u64 begun, now;

	guard(mutex)(&memio_limit_mutex);
	/* It was queued while the last one ran, which need not have seen why. */
	if (rebalance_early()) {
		memio_share_rebalance();
		return;
	}
	begun = ktime_get_ns();
	changed();
	now = ktime_get_ns();
	WRITE_ONCE(next_rebalance_ns,
		   now + min(MEMIO_REBALANCE_PART * (now - begun), MEMIO_REBALANCE_NS_MAX));
}

/**
 * memio_share_again - look who is still active, once a second or so
 *
 * Whoever calls it more often does not make others idle.
 *
 * Context: process, with memio_limit_mutex.
 */
void memio_share_again(void)
{
	static unsigned long next = INITIAL_JIFFIES;

	if (!memio_regulated || time_before(jiffies, next))
		return;
	next = jiffies + memio_limits_often();
	rebalance(true);
}

/* ---- on and off ---- */

static void set_all(u64 rate)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&all.lock, flags);
	if (rate != MEMIO_NO_LIMIT)
		rate = memio_skewed(MEMIO_SKEW_BUDGETS, rate);
	memio_pool_set(&all.pool, rate, ktime_get_ns(), memio_keeps_ns(TICK_NSEC));
	raw_spin_unlock_irqrestore(&all.lock, flags);
}

static void switch_off(void)
{
	struct memio_limits *l;

	scoped_guard(mutex, &memio_limit_mutex) {
		/* What groups there are is not asked any more: all shares are lifted. */
		WRITE_ONCE(guaranteed, 0);
		WRITE_ONCE(memio_regulated, false);
		rebalance(false);
		set_all(MEMIO_NO_LIMIT);
	}
	/* Who has seen a share may still spend it. */
	synchronize_rcu();
	scoped_guard(mutex, &memio_limit_mutex)
		list_for_each_entry(l, &memio_all_limits, list)
			memio_limit_lifted(l);
	WRITE_ONCE(all.free_until, 0);
	memio_limit_key_put();
}

/**
 * memio_guaranteed_set - say what a package's memory gives in any case
 * @bps:	bytes per second; 0: nothing is known, and nothing is guaranteed
 *
 * Context: process, may sleep.
 * Return: 0; -ERANGE, and nothing has changed.
 */
int memio_guaranteed_set(u64 bps)
{
	if (bps > MEMIO_RATE_MAX / memio_packages())
		return -ERANGE;
	guard(mutex)(&guaranteed_mutex);
	if (!bps) {
		if (memio_regulated)
			switch_off();
		return 0;
	}
	if (!memio_regulated)
		static_branch_inc(&memio_limit_key);
	guard(mutex)(&memio_limit_mutex);
	WRITE_ONCE(guaranteed, bps);
	set_all(bps * memio_packages());
	if (!memio_regulated) {
		memio_limits_everywhere();
		WRITE_ONCE(memio_regulated, true);
		memio_limits_work_now();
	}
	rebalance(false);
	return 0;
}

/**
 * memio_guaranteed_get - what a package's memory gives in any case
 *
 * Context: any. Return: bytes per second; 0: it was not said.
 */
u64 memio_guaranteed_get(void)
{
	return READ_ONCE(guaranteed);
}

/* ---- files ---- */

/* A plain decimal, or for a rate "max" */
static int parse(char *buf, u64 *to, u64 most, bool max_too)
{
	int ret;

	buf = strim(buf);
	if (max_too && !strcmp(buf, "max")) {
		*to = most;
		return 0;
	}
	if (*buf == '+' || *buf == '-')
		return -EINVAL;
	ret = kstrtou64(buf, 10, to);
	if (ret)
		return ret;
	return *to <= most ? 0 : -ERANGE;
}

/**
 * memio_min_write - what is written to memio.min
 * @g:		the group
 * @buf:	the text
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL or -ERANGE, and nothing has changed.
 */
int memio_min_write(struct memio_cgroup *g, char *buf)
{
	u64 bps;
	int ret = parse(buf, &bps, MEMIO_RATE_MAX, true);

	if (ret)
		return ret;
	guard(mutex)(&memio_limit_mutex);
	WRITE_ONCE(g->min, bps);
	changed();
	return 0;
}

/**
 * memio_weight_write - what is written to memio.weight
 * @g:		the group
 * @buf:	the text
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL or -ERANGE, and nothing has changed.
 */
int memio_weight_write(struct memio_cgroup *g, char *buf)
{
	u64 weight;
	int ret = parse(buf, &weight, MEMIO_WEIGHT_MAX, false);

	if (!ret && weight < MEMIO_WEIGHT_MIN)
		ret = -ERANGE;
	if (ret)
		return ret;
	guard(mutex)(&memio_limit_mutex);
	WRITE_ONCE(g->weight, weight);
	changed();
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: limits of groups (limit.c), and how they are kept (throttle.c)
 */
#ifndef _MEMIO_LIMIT_H
#define _MEMIO_LIMIT_H

#include <linux/bitmap.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "budget.h"
#include "internal.h"

/* What a line of memio.limit can be for, beside a device and "default" */
enum memio_limit_key {
	MEMIO_LIMIT_TOTAL,
	MEMIO_LIMIT_CPU,
	MEMIO_LIMIT_IO,
	MEMIO_LIMIT_KEYS
};

/**
 * struct memio_slices - what a CPU has of a line's pools
 * @way:	of each
 */
struct memio_slices {
	struct memio_slice way[MEMIO_WAYS];
};

/**
 * struct memio_line - limits to one kind of traffic
 * @what:	what it is for: an &enum memio_stop_key, or MEMIO_STOP_KEYS and more for a device
 * @stops:	how often it has stopped its group
 * @rate:	as they were written (limit_mutex)
 * @lock:	around @pool
 * @cpus:	CPUs are charged here, too
 * @ways:	those that have a limit, a bit each
 * @least:	the least of their pools' steps; 0: none has a limit
 * @pool:	what is left of them
 * @slices:	what CPUs have taken; NULL: there never was a limit
 * @next:	of those that are made and not in use yet
 */
struct memio_line {
	unsigned int what;
	atomic64_t stops;
	u64 rate[MEMIO_WAYS];
	raw_spinlock_t lock;
	bool cpus;
	unsigned long ways;
	u64 least;
	struct memio_pool pool[MEMIO_WAYS];
	struct memio_slices __percpu *slices;
	struct memio_line *next;
};

/* Tasks that a release lets go on each CPU at first; see throttle.c, "A few at a time" */
#define MEMIO_WAKE	4
/* and at most, as the timer that lets them go has interrupts off */
#define MEMIO_WAKE_MOST	128U

/**
 * struct memio_limbo - tasks of a group that are stopped on a CPU, under its run queue's lock
 * @stopped:	they wait
 * @going:	they are being let go, some at a time
 */
struct memio_limbo {
	struct list_head stopped;
	struct list_head going;
};

/**
 * struct memio_limits - the limits of a group
 * @group:	the group
 * @list:	all there are (memio_all_limits)
 * @fallback:	rates of devices that have none of their own: "default" (limit_mutex)
 * @any:	one of all rates is set (likewise)
 * @keyed:	it counts for the key: it has a rate, or had one until a moment ago (likewise)
 * @going:	it had none any more when the work item looked (likewise)
 * @line:	by key
 * @dev_line:	by device; NULL: it never had a limit
 * @share:	what it may move by memio.min and memio.weight (regulate.c)
 * @share_waits: it has spent that, and waits
 * @stopped_ns:	since when they are spent, and the group's tasks stopped; 0: they are not
 * @stopped_by:	which of the lines was spent first
 * @due_ns:	when it should be over
 * @grace_ns:	until when it is not stopped again, as it was for long
 * @patience_ns: what is long; more each time, until it has paid
 * @turned_ns:	when its tasks came by the scheduler
 * @watchdog:	what it has found of these two
 * @stop:	has what is running stopped
 * @timer:	when the debt is paid, or when more tasks are to be let go
 * @wake:	how many it were on each CPU the last time
 * @cpus:	where tasks of the group may run, see throttle.c
 * @waiting:	where some are stopped
 * @limbo:	those
 */
struct memio_limits {
	struct memio_cgroup *group;
	struct list_head list;
	u64 fallback[MEMIO_WAYS];
	bool any;
	bool keyed;
	bool going;
	struct memio_line line[MEMIO_LIMIT_KEYS];
	struct memio_line *dev_line[MEMIO_DEVICES];
	struct memio_line share;
	unsigned int share_waits;
	u64 stopped_ns;
	struct memio_line *stopped_by;
	u64 due_ns;
	u64 grace_ns;
	u64 patience_ns;
	u64 turned_ns;
	struct memio_watchdog watchdog;
	struct irq_work stop;
	struct hrtimer timer;
	unsigned int wake;
	cpumask_var_t cpus;
	cpumask_var_t waiting;
	struct memio_limbo __percpu *limbo;
};

extern const u64 memio_no_rates[MEMIO_WAYS];
extern struct list_head memio_all_limits;	/* RCU */
extern struct mutex memio_limit_mutex;

/* A group's limits; NULL if it never had any. They go with the group. */
static inline struct memio_limits *memio_limits_of(const struct memio_cgroup *g)
{
	/* Pairs with the release when they are made. */
	return smp_load_acquire(&g->limits);
}

u64 memio_period_ns(void);
u64 memio_keeps_ns(u64 span_ns);
bool memio_line_take(struct memio_line *line, int way, u64 bytes, u64 span_ns, u64 *forgiven);
u64 memio_line_wait(struct memio_line *line);
void memio_line_set(struct memio_line *line, const u64 *rate);
bool memio_share_prepare(struct memio_cgroup *g);
void memio_limit_lifted(struct memio_limits *l);
void memio_limits_work_now(void);
void memio_limits_everywhere(void);
void memio_limit_key_put(void);
unsigned long memio_limits_often(void);

/* ---- regulate.c ---- */

extern bool memio_regulated;	/* groups share what the memory gives */

bool memio_share_charge(struct memio_cgroup *g, u64 bytes, u64 span_ns);
u64 memio_share_wait(struct memio_limits *l);
void memio_share_held(struct memio_limits *l);
void memio_share_go(struct memio_limits *l);
void memio_share_again(void);
void memio_share_rebalance(void);

/* ---- for KUnit ---- */

#if IS_ENABLED(CONFIG_KUNIT)
extern bool memio_limit_any;
#endif

/* ---- throttle.c ---- */

bool memio_can_be_stopped(struct task_struct *p);
unsigned int memio_flag_running(struct memio_limits *l);
bool memio_release_group(struct memio_limits *l, unsigned int most);

#endif

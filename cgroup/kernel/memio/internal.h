/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: what its parts know of each other
 *
 * The way of the data, each part calling only downward:
 *
 *	hooks -> charge (stock) -> owner, device, group (meters)
 *	counters -> estimate -> prices
 *	bytes x price, in a meter -> cgroupfs, procfs, trace
 *	bytes x price -> limit (budget) -> throttle
 */
#ifndef _MEMIO_INTERNAL_H
#define _MEMIO_INTERNAL_H

#include <linux/bits.h>
#include <linux/cgroup.h>
#include <linux/irq_work.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/math64.h>
#include <linux/memio.h>
#include <linux/memio_stop.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/seqlock.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "bounds.h"
#include "estimate.h"
#include "learn.h"
#include "share.h"

/* ---- the switch (core.c) ---- */

extern bool memio_page_owners;	/* memio=tasks */
extern struct dentry *memio_debugfs;

bool memio_counting(void);
void memio_group_comes(void);
void memio_group_goes(void);

/* ---- errors on purpose (skew.c) ---- */

enum memio_skew {
	MEMIO_SKEW_CHARGES,
	MEMIO_SKEW_PRICES,
	MEMIO_SKEW_BUDGETS,
	MEMIO_SKEWS
};

#define MEMIO_SKEW_NONE	1000	/* thousandths */

#ifdef CONFIG_CGROUP_MEMIO_KUNIT_TEST
DECLARE_STATIC_KEY_FALSE(memio_skew_key);
extern u32 memio_skews[MEMIO_SKEWS];

static inline u64 memio_skewed(enum memio_skew which, u64 right)
{
	if (static_branch_unlikely(&memio_skew_key))
		return div_u64(right * READ_ONCE(memio_skews[which]), MEMIO_SKEW_NONE);
	return right;
}
#else
static inline u64 memio_skewed(enum memio_skew which, u64 right)
{
	return right;
}
#endif

/* ---- how good figures are (state.c) ---- */

enum memio_state {
	MEMIO_STATE_OK,
	MEMIO_STATE_WARMING,
	MEMIO_STATE_HELD,
	MEMIO_STATE_ABSENT,
	MEMIO_STATE_DISAGREES,
	MEMIO_STATE_OFF,
	MEMIO_STATES
};

extern const char *const memio_state_names[MEMIO_STATES];

/**
 * struct memio_condition - what a state follows from
 * @on:		memio accounts
 * @there:	the machine has such counters
 * @wanted:	they are to be read
 * @held:	others have them
 * @valid:	they were read, all of them, of late
 * @agrees:	what they saw is what was accounted
 */
struct memio_condition {
	bool on;
	bool there;
	bool wanted;
	bool held;
	bool valid;
	bool agrees;
};

enum memio_state memio_state(const struct memio_condition *c);
enum memio_state memio_state_worse(enum memio_state a, enum memio_state b);
enum memio_state memio_state_total(enum memio_state io, enum memio_state cpu);
enum memio_state memio_state_io(void);
struct memio_cgroup;
struct seq_file;
void memio_state_show(struct seq_file *sf, struct memio_cgroup *g);

/*
 * The package of a CPU, as the sampler numbers them: what has a last level cache with counters of
 * its own, which is a die. Most sockets have one.
 */
#ifdef CONFIG_X86
#define memio_package_of(cpu)	((int)topology_logical_die_id(cpu))
#define memio_packages()	(topology_max_packages() * topology_max_dies_per_package())
#else
#define memio_package_of(cpu)	((int)topology_physical_package_id(cpu))
#define memio_packages()	1U
#endif

struct memio_cgroup;

/* ---- windows and prices (price.c) ---- */

#define MEMIO_PACKAGES		8	/* with counters; others have no prices */
#define MEMIO_WINDOWS		1024	/* prices that are remembered; a power of 2 */

/**
 * struct memio_window - what an IO byte cost in one window of sampling
 * @valid:	the counters were there, all of the time
 * @known:	there is a price: if it isn't valid, that of the last window that was
 * @bounded:	it has bounds, if it is valid
 * @from:	the number of that one
 * @own:	devices have prices of their own
 * @price:	memory bytes for each IO byte
 */
struct memio_window {
	bool valid;
	bool known;
	bool own;
	bool bounded;
	u32 from;
	struct memio_price price;
};

/**
 * struct memio_pricelist - the prices of a package's last windows
 * @now:	the window that is open: it has no price yet; odd if it is sampled
 * @last_valid:	the window before @now is valid
 * @updated_ns:	when @now was opened (ktime_get_ns); 0 if never
 * @window_ns:	how long the window before it was
 * @window:	ring of those that were sampled
 * @own:	likewise, what devices have of their own; NULL if there never was any
 * @bounds:	likewise, how far prices can be off; NULL: nobody knows
 * @fresh:	those of the window that is open are there
 *
 * Written by the package's sampler alone. An entry is complete before @now moves
 * past it (release and acquire), and is not written again for MEMIO_WINDOWS
 * sampled windows, by when nobody looks for it.
 */
struct memio_pricelist {
	u32 now;
	bool last_valid;
	u64 updated_ns;
	u32 window_ns;
	struct memio_window window[MEMIO_WINDOWS];
	struct memio_own *own;
	struct memio_bounds *bounds;
	bool fresh;
};

/* The last one is of the packages beyond: it never has any price. */
extern struct memio_pricelist memio_prices[MEMIO_PACKAGES + 1];

/**
 * memio_price_window - the window that is open
 * @package:	of which package
 *
 * Context: any.
 * Return: its number; prices of those before it are complete for the caller.
 */
static inline u32 memio_price_window(unsigned int package)
{
	/* Pairs with the release in memio_price_publish(). */
	return smp_load_acquire(&memio_prices[package].now);
}

void memio_price_publish(unsigned int package, const struct memio_price *price,
			 const struct memio_own *own, bool valid, u64 now_ns,
			 u32 window_ns, bool sampled);
void memio_price_bounds(unsigned int package, const struct memio_bounds *bounds);

/* ---- meters (price.c) ---- */

/**
 * struct memio_bytes - a result
 * @to:		bytes moved to devices
 * @from:	bytes moved from devices
 * @read:	memory bytes read for them
 * @write:	memory bytes written for them
 * @unpriced_to: how many of @to have no price, as there was no sample: they are in @read
 *		one for one, an upper bound
 * @unpriced_from: likewise of @from, in @write
 * @read_min:	@read is no less,
 * @read_max:	and no more than this (bounds.c)
 * @write_min:	likewise, @write
 * @write_max:	likewise
 */
struct memio_bytes {
	u64 to;
	u64 from;
	u64 read;
	u64 write;
	u64 unpriced_to;
	u64 unpriced_from;
	u64 read_min;
	u64 read_max;
	u64 write_min;
	u64 write_max;
};

static inline u64 memio_unpriced(const struct memio_bytes *b)
{
	return b->unpriced_to + b->unpriced_from;
}

/**
 * struct memio_io - IO bytes to be charged
 * @to:		to a device, which moves them now
 * @from:	from a device, likewise
 * @late:	from a device, which moved them before: who reads them claims them
 * @to_lines:	@to in whole lines (in bytes, too): a descriptor of 16 bytes passes
 *		the cache as a line of 64. This is what is priced
 * @from_lines:	likewise
 * @late_lines:	likewise
 */
struct memio_io {
	u64 to;
	u64 from;
	u64 late;
	u64 to_lines;
	u64 from_lines;
	u64 late_lines;
};

/**
 * struct memio_due - what is small, and limits have not been charged with yet
 * @to:		as in &struct memio_io
 * @from:	likewise
 * @late:	likewise
 * @to_lines:	likewise
 * @from_lines:	likewise
 * @late_lines:	likewise
 */
struct memio_due {
	u16 to;
	u16 from;
	u16 late;
	u16 to_lines;
	u16 from_lines;
	u16 late_lines;
};

#define MEMIO_DUE	512	/* bytes, in whole lines: so much is not small */

bool memio_due_add(struct memio_due *due, struct memio_io *io, unsigned int least);

/* Whose bytes a meter counts: others may have a part of the device's in the same window. */
enum memio_meter_of {
	MEMIO_METER_DEVICE,
	MEMIO_METER_GROUP,
	MEMIO_METER_TASK
};

/**
 * struct memio_meter - counts IO bytes, and the memory bytes they come to
 * @lock:	around all of it; taken with interrupts off
 * @of:		an &enum memio_meter_of
 * @window:	the window in which what is pending was charged
 * @pending:	what waits for that window's price
 * @sum:	what was charged; memory bytes without what is pending
 */
struct memio_meter {
	raw_spinlock_t lock;
	u8 of;
	u32 window;
	struct memio_io pending;
	struct memio_bytes sum;
};

struct memio_device;

void memio_bytes_add(struct memio_bytes *sum, const struct memio_bytes *b);
void memio_meter_init(struct memio_meter *m, enum memio_meter_of of);
void memio_meter_add(struct memio_meter *m, const struct memio_device *dev, u32 window,
		     const struct memio_io *io);
void memio_price_lasting(struct memio_device *dev, u64 to, u64 from);
void memio_price_bounded(const struct memio_device *dev, const struct memio_io *io,
			 u64 *read, u64 *write);
bool memio_meter_read(struct memio_meter *m, const struct memio_device *dev, u32 window,
		      struct memio_bytes *sum);	/* adds to *sum */
void memio_meter_join(struct memio_meter *to, struct memio_bytes *carried,
		      struct memio_meter *m, const struct memio_device *dev);

/* ---- what CPUs read themselves (cpu.c) ---- */

/**
 * struct memio_cpu_bytes - memory bytes that CPUs moved
 * @read:	read
 * @write:	written back
 */
struct memio_cpu_bytes {
	u64 read;
	u64 write;
};

/* Whether CPUs' counters are read: memio.cpu of the root */
enum memio_cpu_mode {
	MEMIO_CPU_AUTO,		/* while a limit or a share needs it */
	MEMIO_CPU_ON,
	MEMIO_CPU_OFF,
	MEMIO_CPU_MODES
};

extern unsigned int memio_cpu_mode;	/* an &enum memio_cpu_mode */

/* What is no task's. */
enum memio_cpu_line {
	MEMIO_CPU_KTHREADS,
	MEMIO_CPU_INTERRUPTS,
	MEMIO_CPU_IDLE,
	MEMIO_CPU_LINES
};

#ifdef CONFIG_CGROUP_MEMIO_COUNTERS

/* Whether CPUs' reads are being counted */
static inline bool memio_cpu_counting(void)
{
	return static_branch_unlikely(&memio_cpu_key);
}

struct memio_cpu_bytes memio_cpu_pay(int cpu, u32 lines);
struct memio_cpu_bytes memio_cpu_cost(u32 lines);
void memio_cpu_sync(void);
void memio_cpu_leaves(struct task_struct *p);
void memio_cpu_no_owner(void);
void memio_cpu_lines(enum memio_cpu_line line, struct memio_cpu_bytes *sum);
void memio_cpu_sums(unsigned int package, u64 *missed, u64 *paid);
bool memio_cpu_all_there(unsigned int package);
void memio_cpu_price(unsigned int package, u32 price);
bool memio_cpu_valid(void);
bool memio_cpu_shown(void);
enum memio_state memio_cpu_state(void);
void memio_cpu_want(void);
bool memio_cpu_comes_to(struct task_struct *p);
bool memio_cpu_limited(bool limited);
void memio_cpu_goes_on(void);
void memio_cpu_look(int cpu);
bool memio_cpu_can_count(void);
void memio_cpu_again(void);

#else

static inline bool memio_cpu_counting(void)
{
	return false;
}

static inline struct memio_cpu_bytes memio_cpu_cost(u32 lines)
{
	return (struct memio_cpu_bytes){ .read = (u64)lines * MEMIO_LINE_BYTES };
}

static inline struct memio_cpu_bytes memio_cpu_pay(int cpu, u32 lines)
{
	return (struct memio_cpu_bytes){ .read = (u64)lines * MEMIO_LINE_BYTES };
}

static inline void memio_cpu_sync(void)
{
}

static inline void memio_cpu_leaves(struct task_struct *p)
{
}

static inline void memio_cpu_no_owner(void)
{
}

static inline void memio_cpu_lines(enum memio_cpu_line line, struct memio_cpu_bytes *sum)
{
}

static inline bool memio_cpu_valid(void)
{
	return false;
}

static inline bool memio_cpu_shown(void)
{
	return false;
}

static inline enum memio_state memio_cpu_state(void)
{
	return memio_enabled() ? MEMIO_STATE_ABSENT : MEMIO_STATE_OFF;
}

static inline void memio_cpu_want(void)
{
}

static inline bool memio_cpu_limited(bool limited)
{
	return false;
}

static inline bool memio_cpu_comes_to(struct task_struct *p)
{
	return true;
}

static inline void memio_cpu_goes_on(void)
{
}

static inline void memio_cpu_look(int cpu)
{
}

static inline bool memio_cpu_can_count(void)
{
	return false;
}

static inline void memio_cpu_again(void)
{
}

#endif

/* ---- devices (device.c) ---- */

#define MEMIO_DEVICES		256	/* DMA masters; the first index is nobody */
#define MEMIO_NAME		32	/* longest bus name, with its end */

/**
 * struct memio_total - what a device moved on one CPU
 * @meter:	all of it
 * @to_lines:	likewise, in whole lines
 * @from_lines:	likewise
 * @taken_to:	lines that the sampler has seen (its package's sampler's)
 * @taken_from:	likewise
 */
struct memio_total {
	struct memio_meter meter;
	u64 to_lines;
	u64 from_lines;
	u64 taken_to;
	u64 taken_from;
};

/**
 * struct memio_device - a physical DMA master
 * @name:	its name on the bus, which is its identity: a device that comes back
 *		under the same name goes on counting
 * @id:		its index, from 1 up
 * @package:	whose memory controllers and caches it goes through
 * @total:	all it moved, by CPU
 * @owner:	who was charged with it last
 * @owners:	the window in which that was last another one than before
 * @group:	whose group was
 * @groups:	likewise
 * @lasting:	what its bytes cost limits (its package's sampler's)
 *
 * Made once and never freed, so that an id in a packet can't go stale.
 */
struct memio_device {
	char name[MEMIO_NAME];
	u16 id;
	u8 package;
	struct memio_total __percpu *total;
	u32 owner;
	u32 owners;
	const struct memio_cgroup *group;
	u32 groups;
	struct memio_lasting lasting ____cacheline_aligned_in_smp;
};

struct memio_device *memio_device(u16 id);
unsigned int memio_device_ids(void);
u16 memio_device_register(struct device *dev);
u16 memio_device_find(const char *name);
struct seq_file;
void memio_device_show_aliases(struct seq_file *m, u16 id);

void memio_device_add(struct memio_device *dev, u32 window, const struct memio_io *io);
void memio_device_charged(struct memio_device *dev, u32 window, u32 owner,
			  const struct memio_cgroup *g);
unsigned int memio_devices_moved(unsigned int package, struct memio_moved *moved, u16 *at);

/* ---- ids (ids.c) ---- */

#define MEMIO_ID_BITS		31	/* the uppermost is the tag's, see bio.c */
#define MEMIO_SLOT_BITS		20
#define MEMIO_SLOTS		BIT(MEMIO_SLOT_BITS)
#define MEMIO_MIN_FREE		1024	/* of owners' slots, see ids.c */
#define MEMIO_IDS_CHUNK		256

struct memio_slot {
	void __rcu *object;
	u32 next_free;
	u32 generation;
};

/**
 * struct memio_ids - 32-bit ids for objects that come and go
 * @lock:	around all but look-ups
 * @slots:	how many ids there may be at a time, at most MEMIO_SLOTS
 * @min_free:	freed slots that rest before the first is taken again
 * @fresh:	the first slot that was never used; 0 is nobody's
 * @head:	of the queue of freed slots, 0 if it is empty
 * @tail:	its end
 * @nr_free:	its length
 * @nr_used:	ids in use
 * @chunk:	the slots themselves
 * @spare:	a chunk for the next of them
 */
struct memio_ids {
	raw_spinlock_t lock;
	u32 slots;
	u32 min_free;
	u32 fresh;
	u32 head;
	u32 tail;
	u32 nr_free;
	u32 nr_used;
	struct memio_slot *chunk[MEMIO_SLOTS / MEMIO_IDS_CHUNK];
	struct memio_slot *spare;
};

void memio_ids_init(struct memio_ids *ids, u32 slots, u32 min_free);
void memio_ids_destroy(struct memio_ids *ids);
void memio_ids_prepare(struct memio_ids *ids, gfp_t gfp);
u32 memio_ids_alloc(struct memio_ids *ids, void *object);
void memio_ids_free(struct memio_ids *ids, u32 id);
void *memio_ids_lookup(struct memio_ids *ids, u32 id);

/* ---- groups (cgroupfs.c) ---- */

/**
 * struct memio_home - where the bytes of a group's owners go
 * @group:	the group; when that is gone, its parent, and so on (RCU; owner.c's lock
 *		to change it)
 * @owners:	how many owners have it (owner.c's lock)
 * @list:	in @group->homes (likewise)
 * @rcu:	to free it
 */
struct memio_home {
	struct memio_cgroup __rcu *group;
	unsigned int owners;
	struct list_head list;
	struct rcu_head rcu;
};

/**
 * struct memio_group_meter - what a device moved for a group
 * @percpu:	a meter for each CPU; NULL: not yet
 * @shared:	for all of them, until then
 * @used:	something was added
 * @below:	what it moved for groups below; NULL: nothing
 */
struct memio_group_meter {
	struct memio_meter __percpu *percpu;
	struct memio_meter shared;
	bool used;
	struct memio_group_meter *below;
};

#define MEMIO_AVGS	3	/* of 10, 60 and 300 s */

/**
 * struct memio_pressure - for how long a group, or one below it, was stopped (pressure.c)
 * @lock:	around all of it
 * @stops:	how many stops there are now
 * @since_ns:	since when there is any
 * @total_ns:	for how long there were, but for that
 * @avg:	of the last seconds, in per cent, with FSHIFT bits behind the point
 * @avg_ns:	when they were last brought up to date
 * @avg_total_ns: the total then
 */
struct memio_pressure {
	raw_spinlock_t lock;
	int stops;
	u64 since_ns;
	u64 total_ns;
	unsigned long avg[MEMIO_AVGS];
	u64 avg_ns;
	u64 avg_total_ns;
};

struct memio_cgroup;
void memio_pressure_init(struct memio_pressure *p);
void memio_pressure_stop(struct memio_cgroup *g, bool stopped, u64 now);
void memio_pressure_run(struct memio_pressure *p, u64 now);
void memio_pressure_show(struct seq_file *sf, struct memio_cgroup *g, u64 now);

/**
 * struct memio_group_cpu - what a CPU moved for a group
 * @own:	for its own tasks
 * @below:	for groups below
 */
struct memio_group_cpu {
	struct memio_cpu_bytes own;
	struct memio_cpu_bytes below;
};

/* What memio.events names as having stopped a group, beside devices */
enum memio_stop_key {
	MEMIO_STOP_TOTAL,
	MEMIO_STOP_CPU,
	MEMIO_STOP_IO,
	MEMIO_STOP_SHARE,
	MEMIO_STOP_KEYS
};

/* What memio.events counts. */
enum memio_ev {
	MEMIO_EV_NO_SLOT,
	MEMIO_EV_THROTTLED,
	MEMIO_EV_THROTTLED_NS,
	MEMIO_EV_OVERRUN,
	MEMIO_EV_FORGIVEN,
	MEMIO_EV_INVALID,
	MEMIO_EV_BORROWED,
	MEMIO_EVENTS
};

struct memio_limits;

/**
 * struct memio_cgroup - what a control group and those below it moved
 * @css:	the control group's side
 * @owner:	id of the group as an owner, for bytes without a task (memio_group_owner()); that of
 *		the one above, if there was none left
 * @owner_named: somebody was given that id, so tags may have it
 * @nr_owners:	tasks of it and of those below that have an id, or had until of late (owner.c's
 *		lock)
 * @home:	of the owners that are born in it
 * @homes:	that one, and those of groups below it that are gone (owner.c's lock)
 * @try_again:	when tasks may ask for ids again, in jiffies, after there was none
 * @meter:	by device; made when the device first moves something for it
 * @make:	makes the meters of each CPU
 * @cpu:	what the tasks' CPUs read and wrote for it, each
 * @limits:	its limits; NULL until one is set, or it has a share
 * @min:	its guarantee, bytes per second (limit.c's mutex)
 * @min_effective: what comes of that
 * @weight:	its weight (likewise)
 * @sharing:	what those below it claim, and what there is for them (likewise)
 * @active:	it, or one below it, has charged something of late
 * @charged:	it has, since that was last looked at
 * @gone:	it is offline (likewise)
 * @events:	of it and those below
 * @events_local: its own
 * @stops:	by what it and those below were stopped
 * @dev_stops:	likewise, by device; NULL: by none
 * @pressure:	for how long it, or one below it, was stopped
 * @events_file: to notify those who wait for them
 * @events_local_file: likewise
 * @notify:	does it
 */
struct memio_cgroup {
	struct cgroup_subsys_state css;
	u32 owner;
	bool owner_named;
	unsigned int nr_owners;
	struct memio_home *home;
	struct list_head homes;
	unsigned long try_again;
	struct memio_group_meter *meter[MEMIO_DEVICES];
	struct work_struct make;
	struct memio_group_cpu __percpu *cpu;
	struct memio_limits *limits;
	u64 min;
	u64 min_effective;
	u32 weight;
	struct memio_sharing sharing;
	bool active;
	unsigned int charged;
	bool gone;
	atomic64_t events[MEMIO_EVENTS];
	atomic64_t events_local[MEMIO_EVENTS];
	atomic64_t stops[MEMIO_STOP_KEYS];
	atomic64_t *dev_stops;
	struct memio_pressure pressure;
	struct cgroup_file events_file;
	struct cgroup_file events_local_file;
	struct irq_work notify;
};

extern struct memio_cgroup memio_root;

static inline struct memio_cgroup *memio_css_cgroup(struct cgroup_subsys_state *css)
{
	return css ? container_of(css, struct memio_cgroup, css) : NULL;
}

static inline struct memio_cgroup *memio_cgroup_parent(struct memio_cgroup *g)
{
	return memio_css_cgroup(g->css.parent);
}

/* Whether a group is @above, or one below it. */
static inline bool memio_is_below(struct memio_cgroup *g, const struct memio_cgroup *above)
{
	for (; g; g = memio_cgroup_parent(g))
		if (g == above)
			return true;
	return false;
}

int memio_cgroup_init(struct memio_cgroup *g);
void memio_cgroup_add_cpu(struct memio_cgroup *g, bool below, const struct memio_cpu_bytes *b);
bool memio_cgroup_prepare(struct memio_cgroup *g, bool below, struct memio_device *dev);
void memio_cgroup_add(struct memio_cgroup *g, bool below, struct memio_device *dev, u32 window,
		      const struct memio_io *io);
void memio_cgroup_read(struct memio_cgroup *g, bool local, struct memio_device *dev,
		       struct memio_bytes *sum);
void memio_cgroup_free_meter(struct memio_cgroup *g, u16 id);
void memio_cgroup_free_meters(struct memio_cgroup *g);
void memio_cpu_bounds(struct memio_bytes *b);
void memio_show_bounds(struct seq_file *m, const struct memio_bytes *b);
void memio_show_bytes(struct seq_file *m, const struct memio_bytes *b);

/*
 * Whether memory can be had here at all: with PREEMPT_RT not in what has no thread, as the
 * allocator's locks sleep. What is charged then is nobody's account, or the group's alone.
 */
static inline bool memio_may_allocate(void)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) || preemptible();
}

/* Tells those who wait for a group's events. Context: any. */
static inline void memio_cgroup_notify(struct memio_cgroup *g)
{
	irq_work_queue(&g->notify);
}

/* Of what is made while a byte is charged: not from the reserves that reclaim needs */
#define MEMIO_GFP_CHARGE	(GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN | __GFP_NOMEMALLOC)

#ifdef CONFIG_MEMCG
u32 memio_folio_owner(struct folio *folio);
bool memio_memcg_exact(const struct memio_cgroup *g);
u32 memio_swap_owner(struct folio *folio, u32 id);
struct mem_cgroup *memio_memory_of(struct memio_cgroup *g);
struct mem_cgroup *memio_get_memory_of(struct memio_cgroup *g);
#else
static inline u32 memio_folio_owner(struct folio *folio)
{
	return 0;
}

static inline bool memio_memcg_exact(const struct memio_cgroup *g)
{
	return false;
}

static inline struct mem_cgroup *memio_memory_of(struct memio_cgroup *g)
{
	return NULL;
}

static inline struct mem_cgroup *memio_get_memory_of(struct memio_cgroup *g)
{
	return NULL;
}

static inline u32 memio_swap_owner(struct folio *folio, u32 id)
{
	return id;
}
#endif

/* ---- owners (owner.c) ---- */

/**
 * struct memio_moment - what was moved up to then, which rates are made from
 * @to:		as in &struct memio_bytes
 * @from:	likewise
 * @read:	likewise
 * @write:	likewise
 */
struct memio_moment {
	u64 to;
	u64 from;
	u64 read;
	u64 write;
};

/**
 * struct memio_account - what one task moved by one device
 * @next:	the task's next one; a list that only grows
 * @dev:	the device
 * @meter:	since the task began
 * @carried:	of a process's dead threads: what those that were added to this one had
 * @at:		the sums at the last two updates, the newer one last
 * @rcu:	to free it, when it was added to another and so is in no task's list any more
 */
struct memio_account {
	struct memio_account *next;
	struct memio_device *dev;
	struct memio_meter meter;
	struct memio_bytes carried;
	union {
		struct memio_moment at[2];
		struct rcu_head rcu;
	};
};

/**
 * struct memio_sums - what a task has moved, which its file shows
 * @lock:	around the list of accounts and the updates
 * @accounts:	by device
 * @cpu_read:	what its CPUs read for it
 * @cpu_write:	what they wrote back
 * @cpu_at:	these two at the last two updates, the newer one last
 * @at_ns:	when the last two updates were
 * @users:	how many need it: owners that add to it (the task's, and those that it had
 *		before it moved to another group), the process, others' @past (owner.c's
 *		lock)
 * @past:	set when the thread is dead: its process's dead threads', to which is added
 *		instead
 * @dying:	of a process's dead threads: those whose sums will be added (owner.c's lock;
 *		read with RCU)
 * @seen:	who reads a process's files has added it already: the number of that reading
 * @sig:	the thread's process, as long as it is in @past->dying
 * @dead:	in @past->dying
 * @later:	to be added to @past when nobody reads any more
 * @rcu:	to add it to @past; then, to free it
 */
struct memio_sums {
	raw_spinlock_t lock;
	struct memio_account *accounts;
	atomic64_t cpu_read;
	atomic64_t cpu_write;
	struct memio_cpu_bytes cpu_at[2];
	u64 at_ns[2];
	unsigned int users;
	struct memio_sums *past;
	struct hlist_head dying;
	u64 seen;
	struct signal_struct *sig;
	struct hlist_node dead;
	struct llist_node later;
	struct rcu_head rcu;
};

/**
 * struct memio_owner - whom bytes are charged to
 * @id:		its id, in tags
 * @tgid:	its task's process; 0 for a group's own
 * @sums:	its task's; NULL for a group's own
 * @home:	leads to the group that is charged with it
 * @dirty:	pages with its tag
 * @retired:	when it was given up (jiffies); it stays while bytes may come
 * @retiring:	in the queue of those that were
 * @rcu:	to free it
 */
struct memio_owner {
	u32 id;
	pid_t tgid;
	struct memio_sums *sums;
	struct memio_home *home;
	atomic_t dirty;
	unsigned long retired;
	struct list_head retiring;
	struct rcu_head rcu;
};

#define MEMIO_RATE_NS		(100 * NSEC_PER_MSEC)	/* what rates are taken over, at least */

struct memio_owner *memio_owner(u32 id);
struct memio_cgroup *memio_owner_group(u32 id);
u32 __memio_task_owner(struct task_struct *p);

/*
 * The owner that the current task is; 0: none, in interrupts and in kernel threads that
 * don't act for anybody.
 */
static inline u32 memio_current_owner(void)
{
	u32 owner;

	if (!in_task())
		return 0;
	owner = READ_ONCE(current->memio_owner);
	if (owner || current->flags & PF_KTHREAD)
		return owner;
	return __memio_task_owner(current);
}

bool memio_owner_alike(u32 a, u32 b);
void memio_owner_prepare(u32 id, struct memio_device *dev);
u32 memio_group_owner(struct memio_cgroup *g);
void memio_owner_charge(u32 id, struct memio_device *dev, u32 window,
			const struct memio_io *io);
bool memio_owner_update(struct memio_owner *o, u64 now);
void memio_owner_dirty(u32 id, int pages);
void memio_owner_charge_cpu(u32 id, const struct memio_cpu_bytes *b);
u32 memio_task_or_group(struct task_struct *p);
bool memio_all_owners(void);
u64 memio_read_begin(struct signal_struct *sig);
void memio_read_end(struct signal_struct *sig);
void memio_dead_threads(struct signal_struct *sig, u64 reading,
			void (*add)(void *arg, struct memio_sums *s), void *arg);
int memio_owner_init_group(struct memio_cgroup *g);
void memio_owner_offline_group(struct memio_cgroup *g);
void memio_owner_move(struct task_struct *p, struct memio_cgroup *g);
void memio_owner_init(void);
void memio_owner_debugfs(struct dentry *dir);

/* ---- the per-CPU stock (charge.c) ---- */

#define MEMIO_STOCK_BITS	3	/* of entries for each CPU */

/**
 * struct memio_move - what a device moves at once
 * @to:		bytes to the device
 * @from:	bytes from it
 * @to_lines:	@to in whole lines of the cache, in bytes
 * @from_lines:	@from, likewise
 */
struct memio_move {
	u32 to;
	u32 from;
	u32 to_lines;
	u32 from_lines;
};

#define MEMIO_LINE	64

/* Both directions in one: what goes to a device, and above it what comes from it. */
static inline u64 memio_pair(u32 to, u32 from)
{
	return (u64)from << 32 | to;
}

static inline u32 memio_pair_to(u64 pair)
{
	return pair;
}

static inline u32 memio_pair_from(u64 pair)
{
	return pair >> 32;
}

void memio_charge_own(u16 dev, u32 owner, u64 bytes, u64 lines);
void memio_charge_in(u16 dev, u64 bytes, u64 lines, u64 more, u64 more_lines);
void memio_charge_late(u16 dev, u32 owner, u32 bytes, u32 lines);
void memio_charge(u16 dev, u32 owner, const struct memio_move *total,
		  const struct memio_move *claim);
void memio_charge_paid(u16 dev, u32 owner, const struct memio_move *move);

/**
 * struct memio_cpu_entry - what a CPU read itself for one owner
 * @owner:	the owner; its CPU's to write, with the stock's lock
 * @left:	so many lines more, and there is something to do (its CPU's)
 * @lines:	lines since boot, whoever had the entry (its CPU's to write)
 * @handed:	what of @lines was handed on (likewise, anybody's)
 * @charged:	what of @lines limits were charged with (its CPU's)
 * @limited:	there were limits by then (its CPU's)
 */
struct memio_cpu_entry {
	u32 owner;
	u32 left;
	u32 lines;
	u32 handed;
	u32 charged;
	bool limited;
} __aligned(32);

struct memio_cpu_stock {
	raw_spinlock_t lock;
	struct memio_cpu_entry entry[1 << MEMIO_STOCK_BITS];
};

DECLARE_PER_CPU_ALIGNED(struct memio_cpu_stock, memio_cpu_stocks);

void memio_charge_cpu(u32 owner, u32 lines);

/* Ids are given one after the other: their lower bits are as good as a hash. */
static inline struct memio_cpu_entry *memio_cpu_entry(struct memio_cpu_stock *s, u32 owner)
{
	return &s->entry[owner % ARRAY_SIZE(s->entry)];
}

/*
 * As memio_charge_cpu() where there is nothing to do but to add, as mostly: each switch comes here.
 * Limits are charged when a part of a chunk has been gathered (memio_limit_chunk()), so that all
 * entries of a CPU together leave less than two chunks uncharged, and by each interrupt. Returns
 * false where there is more to do, and has not done anything.
 */
static __always_inline bool memio_add_cpu(u32 owner, u32 lines)
{
	unsigned int i = owner % ARRAY_SIZE(memio_cpu_stocks.entry);

	if (unlikely(raw_cpu_read(memio_cpu_stocks.entry[i].owner) != owner ||
		     lines >= raw_cpu_read(memio_cpu_stocks.entry[i].left)))
		return false;
	raw_cpu_sub(memio_cpu_stocks.entry[i].left, lines);
	/* One instruction; readers on other CPUs look, too. */
	raw_cpu_add(memio_cpu_stocks.entry[i].lines, lines);
	return true;
}

/* Whether limits are to be charged with what was added for @owner. */
static inline bool memio_cpu_is_due(u32 owner)
{
	struct memio_cpu_entry *e = memio_cpu_entry(this_cpu_ptr(&memio_cpu_stocks), owner);

	return e->owner == owner && e->charged != e->lines;
}

/* Hand this CPU's stock on. Context: any, interrupts are turned off. */
void memio_stock_flush(void);
/* Hand all CPUs' stocks on, from here. Context: any, interrupts are turned off. */
void memio_stock_drain(void);

/* ---- limits (limit.c), and those whom they stop (throttle.c) ---- */

extern unsigned int memio_period_us;	/* budgets are for; as memio_interval_us */

#define MEMIO_PERIOD_US_MIN	100
#define MEMIO_PERIOD_US_MAX	100000

/* Without valid counters IO is limited by its own bytes; if it is set, it isn't at all. */
extern bool memio_lift;

void memio_event(struct memio_cgroup *g, enum memio_ev event, u64 n);
void __memio_limit_charge_io(u32 owner, u16 id, const struct memio_io *io);
u32 __memio_limit_charge_cpu(u32 owner, u32 lines);
u64 memio_limit_chunk(struct memio_cgroup *g, bool *stopped);
bool memio_limit_reserve(u32 owner, u16 id, u32 bytes);
void memio_limit_give_back(u32 owner, u16 id, u64 bytes);
int memio_limit_write(struct memio_cgroup *g, char *buf);
void memio_limit_show(struct seq_file *m, struct memio_cgroup *g);
void memio_limit_show_stops(struct seq_file *m, struct memio_cgroup *g, bool local);
void memio_limit_new_device(u16 id);
void memio_limit_offline(struct memio_cgroup *g);
void memio_limit_free(struct memio_cgroup *g);
void memio_throttle_moved(struct task_struct *p);

/**
 * struct memio_look - a CPU has looked at a group and those above it, and need not do so again
 * @group:	the group, perhaps one that is gone by now; NULL: it has to look
 * @changes:	what memio_limit_changes was before it looked
 *
 * The CPU writes it with its run queue's lock, and whoever else has a reason for another look
 * clears it with that lock, or on the CPU with interrupts off, or in an NMI there.
 */
struct memio_look {
	struct memio_cgroup *group;
	unsigned int changes;
};

extern atomic_t memio_limit_changes;

/* For whose tasks there is nothing to do when they get this CPU (throttle.c) */
DECLARE_PER_CPU(struct memio_look, memio_seen_here);

/* Groups have come, or their limits have changed: CPUs are to look anew. Context: any. */
static inline void memio_limit_changed(void)
{
	/* What has changed is seen by whoever sees this. */
	atomic_inc_return_release(&memio_limit_changes);
}

/* On this CPU. Context: interrupts off. */
static inline bool memio_has_seen(const struct memio_cgroup *g)
{
	return raw_cpu_read(memio_seen_here.group) == g &&
	       raw_cpu_read(memio_seen_here.changes) == atomic_read(&memio_limit_changes);
}

/* Before the look, so that what comes meanwhile is not missed: then memio_forget() undoes it. */
static inline void memio_see(struct memio_look *seen, struct memio_cgroup *g)
{
	/* Pairs with memio_limit_changed(). */
	seen->changes = atomic_read_acquire(&memio_limit_changes);
	WRITE_ONCE(seen->group, g);
	barrier();
}

static inline void memio_forget(struct memio_look *seen)
{
	WRITE_ONCE(seen->group, NULL);
}

/* The group that a task is in. Context: in RCU's read side, or with interrupts off. */
static inline struct memio_cgroup *memio_group_of(struct task_struct *p)
{
	return memio_css_cgroup(task_css_check(p, memio_cgrp_id, true));
}

DECLARE_PER_CPU(u64, memio_counted_ns);

/* What this CPU has read is charged up to here. Context: interrupts off. */
static inline void memio_limit_counted(void)
{
	if (memio_limits_on())
		__this_cpu_write(memio_counted_ns, local_clock());
}

/* ---- guarantees and weights (regulate.c) ---- */

int memio_guaranteed_set(u64 bps);
u64 memio_guaranteed_get(void);
int memio_min_write(struct memio_cgroup *g, char *buf);
int memio_weight_write(struct memio_cgroup *g, char *buf);

/* ---- for KUnit ---- */

#if IS_ENABLED(CONFIG_KUNIT)
extern struct memio_device *memio_devices[MEMIO_DEVICES];
bool memio_owner_reap(unsigned long quarantine);
unsigned int memio_device_package(int package);
#endif

/* ---- the sampler (counters.c), and its settings (core.c) ---- */

/* Written in sysfs, read once in each window, or by each memio_cpu_want(). */
extern unsigned int memio_interval_us;	/* length of a window */
extern unsigned int memio_hold_ms;	/* CPUs are counted after somebody wanted it */

enum memio_sampling {
	MEMIO_SAMPLING_AUTO,	/* while memio is on, but for counters that others use */
	MEMIO_SAMPLING_ALWAYS,	/* while memio is on */
	MEMIO_SAMPLING_NEVER,
};

extern unsigned int memio_sampling;	/* an &enum memio_sampling */

#define MEMIO_INTERVAL_US_MIN	1000
#define MEMIO_INTERVAL_US_MAX	1000000
#define MEMIO_HOLD_MS_MIN	100
#define MEMIO_HOLD_MS_MAX	3600000

enum memio_estimator memio_estimator_get(void);

#ifdef CONFIG_CGROUP_MEMIO_COUNTERS

void memio_sampler_again(void);
enum memio_state memio_package_state(unsigned int package);
const char *memio_counters_source(void);	/* "hsx", "none"; may sleep */
void memio_counters_reason(char *text, size_t size);	/* why; may sleep */
bool memio_counters_valid(void);	/* each package's last window is, and is recent */
bool memio_counters_write_back(void);

#else

static inline void memio_sampler_again(void)
{
}

static inline enum memio_state memio_package_state(unsigned int package)
{
	return memio_enabled() ? MEMIO_STATE_ABSENT : MEMIO_STATE_OFF;
}

static inline const char *memio_counters_source(void)
{
	return "none";
}

static inline void memio_counters_reason(char *text, size_t size)
{
	strscpy(text, "built without CONFIG_CGROUP_MEMIO_COUNTERS", size);
}

static inline bool memio_counters_valid(void)
{
	return false;
}

static inline bool memio_counters_write_back(void)
{
	return false;
}

#endif

#endif

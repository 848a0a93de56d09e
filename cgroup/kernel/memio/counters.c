// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: the sampler, which reads the caches' counters and publishes prices
 *
 * The boxes of a package's last level cache count what devices read and write
 * (counters_*.c has the events, estimate.c says what they mean). For each package
 * there is a pinned kernel event of perf for each counter, and a timer that reads
 * all of them every memio_interval_us, takes what IO bytes were accounted
 * meanwhile, and publishes the price of the window that ends (price.c).
 *
 * As long as memio is on
 *
 * What a figure means must not depend on who reads it, or how often. So whether counters are read
 * follows from what root has set (/sys/kernel/memio/sampling) and from whether memio is on,
 * never from a reader. One work item arms, looks after what is armed once a second, and disarms.
 *
 * A box has four counters and one filter, so while memio has it there is no room for others.
 * "always" pins the events: perf's users get what is left. With "auto" they are not pinned, and
 * perf deals the box out in turns when somebody else wants it. A window in which an event did not
 * run all of the time is no sample; and when the work item finds that there were such, it gives the
 * counters up, for MEMIO_YIELD_MIN at first, and twice as long each time that it finds somebody
 * there again. The state is "held" meanwhile, bytes have no price, and say so.
 *
 * When counters are not there
 *
 * No PMU: the source is "none" and nothing runs; as intel_uncore may be a module,
 * it is looked for again every MEMIO_LOOK, and when somebody asks for the source. Somebody has
 * pinned a box before: an event that is pinned, too, is in perf's error state and can't be read,
 * the window is published as invalid, and the work item enables the event anew each
 * second until it gets its place. A window is valid only if all counters were there
 * at its beginning and its end, and ran between; perf keeps what they count while it moves events
 * about.
 *
 * CPUs
 *
 * The events of a package are bound to the CPU that the uncore driver has chosen,
 * and are read there: from another CPU that would race with the driver's own
 * timer. When this CPU goes offline the package is disarmed first, and armed anew
 * on the CPU that the driver has chosen then.
 *
 * Concurrency
 *
 * memio_lock is for arming, disarming and all that is set up by them; it nests in
 * the CPU hotplug lock, so that no CPU comes or goes meanwhile. What a window is
 * made of (struct memio_sampler, "the timer's") belongs to the timer from
 * sampler_start() until hrtimer_cancel() has returned, to the holder of memio_lock
 * otherwise. The timer is all that publishes prices of its package meanwhile. Its
 * ring of past windows is read by debugfs under a spinlock. Settings are single
 * words, read once in each window.
 */

#define pr_fmt(fmt) "memio: " fmt

#include <linux/bitmap.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <linux/workqueue.h>
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>

#include "counters.h"
#include "internal.h"

#define MEMIO_HISTORY	64	/* windows that debugfs shows */
#define MEMIO_LOOK	(10 * HZ)	/* how often PMUs are looked for that are not there */
#define MEMIO_YIELD_MIN	(2 * HZ)	/* how long others have the counters */
#define MEMIO_YIELD_MAX	(64 * HZ)
/* An event that others have moved about has not run for so small a part of a window. */
#define MEMIO_LAG_SHIFT	6

/**
 * struct memio_raw - a window as it was seen, for debugfs
 * @end_ns:	when it ended, by ktime_get_ns()
 * @window_ns:	how long it was
 * @valid:	the counters were there
 * @seen:	what they counted
 * @to:		IO bytes to devices accounted in it
 * @from:	IO bytes from devices, likewise
 * @price:	what came out
 */
struct memio_raw {
	u64 end_ns;
	u32 window_ns;
	bool valid;
	struct memio_seen seen;
	u64 to;
	u64 from;
	struct memio_price price;
};

/**
 * struct memio_sampler - the counters of a package
 * @package:	its number
 * @armed:	events and timer are there
 * @cpu:	where the events are bound to
 * @nr_boxes:	boxes of the package
 * @nr_events:	events of all boxes
 * @event:	the events, box by box
 * @where:	which of &struct memio_seen.lines an event adds to, and which box of the group
 * @boxes:	boxes in each group
 * @by_box:	what each box of a group has counted in the window (the timer's)
 * @hot_to:	see memio_hot_window() (the timer's)
 * @hot_from:	likewise
 * @timer:	one window after the other
 * @lost:	an event could not be read (the timer's; the work item looks at it)
 * @contended:	an event took turns with others' (the timer's; likewise, and clears it)
 * @begun:	events have been read since they were made (the timer's)
 * @yield:	how long others are to have the counters the next time (memio_lock)
 * @yields:	they have them now (memio_lock)
 * @yield_until: until then, in jiffies
 * @primed:	@last and the rest are the beginning of a window (the timer's)
 * @last:	by event, its count at the beginning of the window (the timer's)
 * @lag:	by event, for how long it has not run by then (the timer's)
 * @ran:	and for how long it has (likewise)
 * @last_ns:	when the window began
 * @estimate:	what prices are made from (the timer's)
 * @learner:	what devices' own prices are made from (the timer's)
 * @back:	what the price of CPUs' write-backs is made from (the timer's)
 * @last_missed: what CPUs had read at the beginning of the window (the timer's)
 * @last_paid:	what they had paid for write-backs, likewise (the timer's)
 * @cpus_there:	CPUs were counted at the beginning of the window (the timer's)
 * @moved:	what devices have moved in the window (the timer's)
 * @at:		for memio_devices_moved() (the timer's)
 * @own:	their prices (the timer's)
 * @lock:	for what follows: written by the timer, read by debugfs
 * @windows:	windows so far
 * @invalid:	those of them that were not valid
 * @reads:	counters read so far; each is an MSR
 * @rate_ns:	when @rate was last worked out
 * @rate_reads:	@reads at that time
 * @rate:	counters read in a second
 * @check_to:	see memio_check_permille()
 * @check_from:	likewise
 * @shown:	@own at the end of the last window
 * @apart_to:	see memio_learn_variance(), by place
 * @apart_from:	likewise
 * @raw:	the last windows, a ring indexed by @windows
 */
struct memio_sampler {
	unsigned int package;
	bool armed;
	int cpu;
	unsigned int nr_boxes;
	unsigned int nr_events;
	struct perf_event *event[MEMIO_BOXES * MEMIO_BOX_EVENTS];
	struct {
		u8 group;
		u8 role;
		u8 box;
	} where[MEMIO_BOXES * MEMIO_BOX_EVENTS];
	u32 boxes[MEMIO_GROUPS];
	struct memio_by_box by_box[MEMIO_GROUPS];
	struct memio_hot hot_to;
	struct memio_hot hot_from;

	struct hrtimer timer;
	bool lost;
	bool contended;
	bool begun;
	unsigned long yield;
	unsigned long yield_until;
	bool yields;
	bool primed;
	u64 last[MEMIO_BOXES * MEMIO_BOX_EVENTS];
	u64 lag[MEMIO_BOXES * MEMIO_BOX_EVENTS];
	u64 ran[MEMIO_BOXES * MEMIO_BOX_EVENTS];
	u64 last_ns;
	struct memio_estimate estimate;
	struct memio_learner learner;
	struct memio_cpu_estimate back;
	u64 last_missed;
	u64 last_paid;
	bool cpus_there;
	struct memio_moved moved[MEMIO_DEVICES];
	u16 at[MEMIO_DEVICES];
	struct memio_own own;

	raw_spinlock_t lock;
	u64 windows;
	u64 invalid;
	u64 reads;
	u64 rate_ns;
	u64 rate_reads;
	u64 rate;
	u32 check_to;
	u32 check_from;
	struct memio_own shown;
	u32 apart_to[MEMIO_LEARNT];
	u32 apart_from[MEMIO_LEARNT];
	struct memio_raw raw[MEMIO_HISTORY];
};

static const struct x86_cpu_id memio_cpus[] __initconst = {
	X86_MATCH_VFM(INTEL_HASWELL_X, &memio_hswep),
	{}
};

/* What this CPU has; NULL if memio does not know it. Set once, at boot. */
static const struct memio_counters *memio_table __ro_after_init;

/* The boxes' PMUs were there when they were last looked for, and when that was. */
static bool memio_found;
static unsigned long memio_looked;

static DEFINE_MUTEX(memio_lock);
/* By package; allocated when it is first armed, never freed. */
static struct memio_sampler *memio_samplers[MEMIO_PACKAGES];
/* Packages that have a CPU online and so should be armed; empty while disarmed. */
static unsigned long memio_packages;

unsigned int memio_sampling __read_mostly = MEMIO_SAMPLING_AUTO;

static void memio_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(memio_work, memio_work_fn);

/* ---- the timer ---- */

/*
 * Reads all counters, and adds what they have counted since they were last read to
 * @seen. False if one of them is not there.
 */
static bool sampler_read(struct memio_sampler *s, struct memio_seen *seen)
{
	u64 most = (ktime_get_ns() - s->last_ns) >> MEMIO_LAG_SHIFT;
	bool ran = true, shared = false;
	struct memio_by_box *b;
	unsigned int i;

	for (i = 0; i < s->nr_events; i++) {
		u64 count, enabled, running, lines;

		if (perf_event_read_local(s->event[i], &count, &enabled, &running))
			break;
		if (enabled - running - s->lag[i] > most) {
			ran = false;
			shared |= running != s->ran[i];
		}
		s->lag[i] = enabled - running;
		s->ran[i] = running;
		lines = count - s->last[i];
		s->last[i] = count;
		seen->lines[s->where[i].group][s->where[i].role] += lines;
		b = &s->by_box[s->where[i].group];
		b->nr = s->boxes[s->where[i].group];
		if (s->where[i].role == MEMIO_ALL)
			b->all[s->where[i].box] = lines;
		else if (s->where[i].role == MEMIO_MISSES)
			b->misses[s->where[i].box] = lines;
	}
	memcpy(seen->boxes, s->boxes, sizeof(seen->boxes));

	raw_spin_lock(&s->lock);
	s->reads += i;
	raw_spin_unlock(&s->lock);

	/* The first has no beginning. An event that has not run at all is not in the way. */
	if (shared && s->begun)
		WRITE_ONCE(s->contended, true);
	if (!s->begun)
		ran = true;
	s->begun = true;
	return i == s->nr_events && ran;
}

static void sampler_record(struct memio_sampler *s, const struct memio_raw *raw)
{
	const struct memio_estimate *e = &s->estimate;
	u64 passed = raw->end_ns - s->rate_ns;

	raw_spin_lock(&s->lock);
	s->raw[s->windows++ % MEMIO_HISTORY] = *raw;
	s->invalid += !raw->valid;
	s->check_to = memio_check_permille(&e->check_to);
	s->check_from = memio_check_permille(&e->check_from);
	s->shown = s->own;
	for (unsigned int i = 0; i < MEMIO_LEARNT; i++) {
		s->apart_to[i] = memio_learn_variance(&s->learner.to, i);
		s->apart_from[i] = memio_learn_variance(&s->learner.from, i);
	}
	if (passed >= NSEC_PER_SEC) {
		s->rate = div64_u64((s->reads - s->rate_reads) * NSEC_PER_SEC, passed);
		s->rate_ns = raw->end_ns;
		s->rate_reads = s->reads;
	}
	raw_spin_unlock(&s->lock);
}

/* What CPUs pay for what is written back; nothing while it is not known. */
static void sampler_cpus(struct memio_sampler *s, const struct memio_seen *seen)
{
	bool there = memio_cpu_all_there(s->package);
	u64 missed, paid;

	memio_cpu_sums(s->package, &missed, &paid);
	/* What was owed before a pause is none of those who run now. */
	if (!there || !s->cpus_there)
		memset(&s->back, 0, sizeof(s->back));
	if (!seen || !there || !s->cpus_there)
		memio_cpu_price(s->package, 0);
	else
		memio_cpu_price(s->package, memio_cpu_window(&s->back, seen,
							     missed - s->last_missed,
							     paid - s->last_paid));
	s->last_missed = missed;
	s->last_paid = paid;
	s->cpus_there = there;
}

/*
 * What limits pay from now on. A price weighs as much as the lines that it rests on: what is
 * accounted now may have been moved before.
 */
static void sampler_lasting(struct memio_sampler *s, const struct memio_seen *seen,
			    unsigned int nr)
{
	u64 to, from;

	memio_window_lines(seen, &to, &from);
	for (unsigned int i = 0; i < nr; i++)
		memio_price_lasting(memio_device(s->moved[i].dev), min(s->moved[i].to, to),
				    min(s->moved[i].from, from));
}

/* Another estimator's prices are none of this one's. */
static void sampler_estimator(struct memio_sampler *s, enum memio_estimator kind)
{
	struct memio_device *d;

	memio_estimate_init(&s->estimate, kind);
	for (u16 id = 1; id < MEMIO_DEVICES && (d = memio_device(id)); id++)
		if (d->package == s->package)
			memio_lasting_init(&d->lasting);
}

/*
 * Ends a window, and begins the next. The first, and the one after a loss, has no
 * beginning that was seen: it is published as invalid, which also closes what
 * stood open while nothing was sampled.
 */
static void sampler_window(struct memio_sampler *s)
{
	enum memio_estimator kind = memio_estimator_get();
	struct memio_raw raw = {};
	struct memio_seen seen;
	unsigned int nr;
	bool there;

	/* What this CPU has accounted, too; the others' stocks come in time. */
	memio_stock_flush();

	there = sampler_read(s, &raw.seen);
	nr = memio_devices_moved(s->package, s->moved, s->at);
	for (unsigned int i = 0; i < nr; i++) {
		raw.to += s->moved[i].to;
		raw.from += s->moved[i].from;
	}
	raw.end_ns = ktime_get_ns();
	raw.window_ns = min_t(u64, raw.end_ns - s->last_ns, U32_MAX);
	raw.valid = there && s->primed;

	/* Armed, or the counters are back: what runs now need not be what ran then. */
	if (there && !s->primed) {
		memio_estimate_pause(&s->estimate);
		memio_learner_pause(&s->learner);
		memset(&s->hot_to, 0, sizeof(s->hot_to));
		memset(&s->hot_from, 0, sizeof(s->hot_from));
	}
	if (s->estimate.kind != kind)
		sampler_estimator(s, kind);
	seen = raw.seen;
	if (raw.valid) {
		memio_hot_window(&s->hot_to, &seen, MEMIO_READS, &s->by_box[MEMIO_READS], raw.to);
		memio_hot_window(&s->hot_from, &seen, MEMIO_PARTIALS, &s->by_box[MEMIO_PARTIALS],
				 raw.from);
		memio_estimate_window(&s->estimate, &seen, raw.to, raw.from, &raw.price);
		memio_learner_window(&s->learner, &seen, s->moved, nr, &raw.price,
				     &s->own);
	}
	sampler_cpus(s, raw.valid ? &seen : NULL);

	memio_price_publish(s->package, &raw.price, kind == MEMIO_DEVICE ? &s->own : NULL,
			    raw.valid, raw.end_ns, raw.window_ns, true);
	if (raw.valid)
		sampler_lasting(s, &seen, nr);

	s->primed = there;
	WRITE_ONCE(s->lost, !there);
	s->last_ns = raw.end_ns;

	sampler_record(s, &raw);
}

static ktime_t memio_interval(void)
{
	return ns_to_ktime((u64)READ_ONCE(memio_interval_us) * NSEC_PER_USEC);
}

static enum hrtimer_restart sampler_tick(struct hrtimer *timer)
{
	struct memio_sampler *s = container_of(timer, struct memio_sampler, timer);

	sampler_window(s);
	hrtimer_forward_now(timer, memio_interval());
	return HRTIMER_RESTART;
}

/* On the CPU of the events, with interrupts off. */
static void sampler_start(void *info)
{
	struct memio_sampler *s = info;

	sampler_window(s);
	hrtimer_start(&s->timer, memio_interval(), HRTIMER_MODE_REL_PINNED_HARD);
}

/* ---- arming ---- */

static int box_type(const char *pmu, unsigned int box)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_%u", pmu, box);
	return perf_pmu_type_by_name(name);
}

/* One box at least for each group; look no more than once a second. */
static bool memio_look(void)
{
	if (!memio_table || time_before(jiffies, READ_ONCE(memio_looked) + HZ))
		return false;

	WRITE_ONCE(memio_looked, jiffies);
	if (box_type(memio_table->pmu, MEMIO_GROUPS - 1) < 0)
		return false;

	WRITE_ONCE(memio_found, true);
	return true;
}

static void sampler_release(struct memio_sampler *s)
{
	while (s->nr_events)
		perf_event_release_kernel(s->event[--s->nr_events]);
}

static int sampler_add(struct memio_sampler *s, int cpu, int type,
		       enum memio_box_group group, const struct memio_event *what)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = what->config,
		.config1 = what->config1,
		.pinned = READ_ONCE(memio_sampling) == MEMIO_SAMPLING_ALWAYS,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);

	s->where[s->nr_events].group = group;
	s->where[s->nr_events].role = what->role;
	s->where[s->nr_events].box = s->boxes[group] - 1;
	s->event[s->nr_events++] = event;

	/* The driver has bound it to the CPU of its choice, one for all boxes. */
	if (s->nr_events == 1)
		s->cpu = event->cpu;
	return event->cpu == s->cpu ? 0 : -EXDEV;
}

static int sampler_arm(struct memio_sampler *s, int cpu, const int *type,
		       unsigned int boxes)
{
	unsigned int box, i;
	int ret;

	memset(s->boxes, 0, sizeof(s->boxes));
	for (box = 0; box < boxes; box++) {
		enum memio_box_group group = box % MEMIO_GROUPS;

		s->boxes[group]++;
		for (i = 0; i < memio_table->events[group]; i++) {
			ret = sampler_add(s, cpu, type[box], group,
					  &memio_table->event[group][i]);
			if (ret)
				goto release;
		}
	}

	s->nr_boxes = boxes;
	s->primed = false;
	s->last_ns = ktime_get_ns();
	s->contended = false;
	s->begun = false;
	memset(s->last, 0, sizeof(s->last));
	memset(s->lag, 0, sizeof(s->lag));
	memset(&s->back, 0, sizeof(s->back));
	s->cpus_there = false;
	memio_devices_moved(s->package, s->moved, s->at);

	ret = smp_call_function_single(s->cpu, sampler_start, s, true);
	if (ret)
		goto release;

	s->armed = true;
	return 0;

release:
	sampler_release(s);
	return ret;
}

static void sampler_disarm(struct memio_sampler *s)
{
	u64 now;

	if (!s->armed)
		return;

	hrtimer_cancel(&s->timer);
	sampler_release(s);
	s->armed = false;

	/* The timer is gone. From here on there is no price: let readers know. */
	now = ktime_get_ns();
	memio_price_publish(s->package, NULL, NULL, false, now,
			    min_t(u64, now - s->last_ns, U32_MAX), false);
	memio_cpu_price(s->package, 0);
}

/* Events that could not be read are tried again; on another CPU, made anew. */
static void sampler_mend(struct memio_sampler *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_events; i++) {
		if (READ_ONCE(s->event[i]->cpu) != s->cpu) {
			sampler_disarm(s);
			return;
		}
		/* does nothing unless it is in the error state */
		perf_event_enable(s->event[i]);
	}
}

/*
 * Whether others have the counters, or get them now, as they have asked for them. With "always"
 * they don't.
 */
static bool sampler_yields(struct memio_sampler *s)
{
	bool asked = xchg(&s->contended, false);

	if (READ_ONCE(memio_sampling) != MEMIO_SAMPLING_AUTO) {
		s->yields = false;
	} else if (s->armed && asked) {
		sampler_disarm(s);
		s->yield = clamp(s->yield * 2, MEMIO_YIELD_MIN, MEMIO_YIELD_MAX);
		s->yield_until = jiffies + s->yield;
		s->yields = true;
	} else if (s->armed) {
		/* For a second, that is. */
		s->yield = 0;
	} else if (time_after_eq(jiffies, s->yield_until)) {
		s->yields = false;
	}
	return s->yields;
}

static struct memio_sampler *sampler_get(unsigned int package)
{
	struct memio_sampler *s = memio_samplers[package];

	if (s)
		return s;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return NULL;

	s->package = package;
	raw_spin_lock_init(&s->lock);
	hrtimer_init(&s->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	s->timer.function = sampler_tick;
	memio_estimate_init(&s->estimate, memio_estimator_get());
	memio_learner_init(&s->learner);
	/* Without it, all devices have the common price. */
	memio_prices[package].own = kvcalloc(MEMIO_WINDOWS, sizeof(struct memio_own),
					     GFP_KERNEL);

	/* complete for debugfs, which looks without the mutex */
	smp_store_release(&memio_samplers[package], s);
	return s;
}

/*
 * Arms what isn't, mends what is lost. False if there are no PMUs. A package that
 * can't be armed now, out of memory say, is tried again with the next call.
 */
static bool memio_arm(void)
{
	unsigned long packages = 0;
	int type[MEMIO_BOXES];
	unsigned int boxes, cpu;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&memio_lock);

	/* Types are looked up each time, as the driver may have been reloaded. */
	for (boxes = 0; boxes < MEMIO_BOXES; boxes++) {
		type[boxes] = box_type(memio_table->pmu, boxes);
		if (type[boxes] < 0)
			break;
	}
	WRITE_ONCE(memio_found, boxes >= MEMIO_GROUPS);
	if (boxes < MEMIO_GROUPS)
		return false;

	for_each_online_cpu(cpu) {
		int package = topology_logical_package_id(cpu);
		struct memio_sampler *s;
		int ret;

		if (package < 0 || package >= MEMIO_PACKAGES ||
		    __test_and_set_bit(package, &packages))
			continue;

		s = sampler_get(package);
		if (!s)
			continue;
		if (sampler_yields(s))
			continue;
		if (s->armed && READ_ONCE(s->lost))
			sampler_mend(s);
		if (!s->armed) {
			ret = sampler_arm(s, cpu, type, boxes);
			if (ret)
				pr_debug("package %d: can't be sampled: %d\n",
					 package, ret);
		}
	}
	WRITE_ONCE(memio_packages, packages);

	return true;
}

static void memio_disarm(void)
{
	unsigned int i;

	lockdep_assert_held(&memio_lock);

	WRITE_ONCE(memio_packages, 0);
	for (i = 0; i < MEMIO_PACKAGES; i++)
		if (memio_samplers[i])
			sampler_disarm(memio_samplers[i]);
}

static bool memio_wanted(void)
{
	return memio_counting() && READ_ONCE(memio_sampling) != MEMIO_SAMPLING_NEVER;
}

static void memio_work_fn(struct work_struct *work)
{
	unsigned long again = HZ;

	cpus_read_lock();
	mutex_lock(&memio_lock);

	/* Whoever changes it meanwhile has the work item run again: memio_sampler_again(). */
	if (!memio_wanted()) {
		memio_disarm();
		goto out;
	}
	if (!memio_arm()) {
		memio_disarm();
		again = MEMIO_LOOK;
	}
	queue_delayed_work(system_unbound_wq, &memio_work, again);
out:
	mutex_unlock(&memio_lock);
	cpus_read_unlock();
}

/*
 * A CPU goes offline. memio comes before the uncore driver, which then gives the
 * package's events to another CPU: ours are to be gone by then.
 */
static int memio_cpu_offline(unsigned int cpu)
{
	unsigned int i;

	mutex_lock(&memio_lock);
	for (i = 0; i < MEMIO_PACKAGES; i++) {
		struct memio_sampler *s = memio_samplers[i];

		if (s && s->armed && s->cpu == cpu) {
			sampler_disarm(s);
			/* waits until the CPU is offline, and then arms */
			mod_delayed_work(system_unbound_wq, &memio_work, 0);
		}
	}
	mutex_unlock(&memio_lock);

	return 0;
}

/* ---- for the rest of memio ---- */

/**
 * memio_sampler_again - look at once whether samples are wanted, see memio_counting()
 *
 * If they are not any more, none is taken when this returns.
 *
 * Context: process, may sleep.
 */
void memio_sampler_again(void)
{
	if (!memio_table)
		return;
	mod_delayed_work(system_unbound_wq, &memio_work, 0);
	flush_delayed_work(&memio_work);
}

/**
 * memio_counters_source - the counters that prices come from
 *
 * Context: process, may sleep.
 * Return: their name, or "none".
 */
const char *memio_counters_source(void)
{
	if (!READ_ONCE(memio_found) && memio_look() && memio_wanted())
		mod_delayed_work(system_unbound_wq, &memio_work, 0);
	return READ_ONCE(memio_found) ? memio_table->name : "none";
}

/* Its last window is valid, and ended no longer than two windows ago. */
static bool package_valid(unsigned int package)
{
	const struct memio_pricelist *list = &memio_prices[package];
	u64 window_ns = max_t(u64, READ_ONCE(list->window_ns),
			      (u64)READ_ONCE(memio_interval_us) * NSEC_PER_USEC);
	u64 updated_ns = READ_ONCE(list->updated_ns);

	/* the clock is read last: it is not before what it is compared to */
	return READ_ONCE(list->last_valid) && ktime_get_ns() - updated_ns <= 2 * window_ns;
}

/**
 * memio_counters_valid - whether prices are what is paid now
 *
 * Context: any.
 * Return: true if counters are read, and on each package the last window was valid
 * and ended no longer than two windows ago.
 */
bool memio_counters_valid(void)
{
	unsigned long packages = READ_ONCE(memio_packages);
	unsigned int package;

	/* Of packages that are not sampled nobody knows. */
	if (!packages || topology_max_packages() > MEMIO_PACKAGES)
		return false;

	for_each_set_bit(package, &packages, MEMIO_PACKAGES)
		if (!package_valid(package))
			return false;
	return true;
}

/**
 * memio_package_state - what the figures of a package's devices are worth
 * @package:	the package
 *
 * Context: process, may sleep.
 * Return: the state.
 */
enum memio_state memio_package_state(unsigned int package)
{
	/* Pairs with the release in sampler_get(). */
	struct memio_sampler *s = smp_load_acquire(&memio_samplers[package]);
	struct memio_condition c = {
		.on = memio_enabled(),
		.there = strcmp(memio_counters_source(), "none"),
		.wanted = memio_wanted(),
		.valid = package_valid(package),
	};

	if (s) {
		c.held = READ_ONCE(s->yields) || READ_ONCE(s->lost);
		raw_spin_lock_irq(&s->lock);
		c.agrees = memio_check_ok(s->check_to) && memio_check_ok(s->check_from);
		raw_spin_unlock_irq(&s->lock);
	}
	return memio_state(&c);
}

/* ---- debugfs ---- */

static const char *const group_names[MEMIO_GROUPS] = {
	[MEMIO_READS]		= "reads",
	[MEMIO_WRITES]		= "writes",
	[MEMIO_PARTIALS]	= "partials",
};

static const char *const role_names[MEMIO_ROLES] = {
	[MEMIO_ALL]		= "all",
	[MEMIO_MISSES]		= "misses",
	[MEMIO_DIRTIED]		= "dirtied",
	[MEMIO_VICTIMS]		= "victims_m",
	[MEMIO_ANY_MISS]	= "any_misses",
};

static void show_window(struct seq_file *m, unsigned int package, u64 seq,
			const struct memio_raw *raw)
{
	unsigned int g, i;

	seq_printf(m, "%u:%llu end_ns=%llu window_ns=%u valid=%d io_to=%llu io_from=%llu",
		   package, seq, raw->end_ns, raw->window_ns, raw->valid, raw->to,
		   raw->from);
	for (g = 0; g < MEMIO_GROUPS; g++) {
		for (i = 0; i < memio_table->events[g]; i++) {
			enum memio_role role = memio_table->event[g][i].role;

			seq_printf(m, " %s.%s=%llu", group_names[g], role_names[role],
				   raw->seen.lines[g][role]);
		}
	}
	seq_printf(m, " to_read=%u to_write=%u from_read=%u from_write=%u\n",
		   raw->price.to_read, raw->price.to_write, raw->price.from_read,
		   raw->price.from_write);
}

/* What is known of each device that has a place. With @s->lock. */
static void show_devices(struct seq_file *m, const struct memio_sampler *s)
{
	const struct memio_own *own = &s->shown;
	unsigned int i;

	for (i = 1; i < MEMIO_LEARNT; i++) {
		if (!own->dev[i])
			continue;
		seq_printf(m, "%u:device=%s to_read=%u from_read=%u from_write=%u",
			   s->package, memio_device(own->dev[i])->name, own->to_read[i],
			   own->from_read[i], own->from_write[i]);
		seq_printf(m, " apart_to=%u apart_from=%u\n",
			   memio_learn_told_apart(s->apart_to[i]),
			   memio_learn_told_apart(s->apart_from[i]));
	}
}

/*
 * The head of each package, its devices, then its last windows, the oldest first:
 * lines as counted, not scaled; prices as 16.16.
 */
static int samples_show(struct seq_file *m, void *unused)
{
	struct memio_sampler *s;
	struct memio_raw raw;
	unsigned int i;
	u64 seq, end;

	for (i = 0; i < MEMIO_PACKAGES; i++) {
		s = smp_load_acquire(&memio_samplers[i]); /* see sampler_get() */
		if (!s)
			continue;

		raw_spin_lock_irq(&s->lock);
		end = s->windows;
		seq_printf(m, "%u cpu=%d boxes=%u", i, s->cpu, s->nr_boxes);
		seq_printf(m, " boxes_reads=%u boxes_writes=%u boxes_partials=%u",
			   s->boxes[MEMIO_READS], s->boxes[MEMIO_WRITES],
			   s->boxes[MEMIO_PARTIALS]);
		seq_printf(m, " armed=%d windows=%llu invalid=%llu", s->armed,
			   s->windows, s->invalid);
		seq_printf(m, " msr_reads=%llu msr_reads_per_s=%llu", s->reads, s->rate);
		seq_printf(m, " check_to=%u check_from=%u ok=%d\n", s->check_to,
			   s->check_from, memio_check_ok(s->check_to) &&
			   memio_check_ok(s->check_from));
		show_devices(m, s);
		raw_spin_unlock_irq(&s->lock);

		seq = end > MEMIO_HISTORY ? end - MEMIO_HISTORY : 0;
		for (; seq < end; seq++) {
			raw_spin_lock_irq(&s->lock);
			raw = s->raw[seq % MEMIO_HISTORY];
			/* the timer may have gone once round */
			if (s->windows > seq + MEMIO_HISTORY)
				raw.window_ns = 0;
			raw_spin_unlock_irq(&s->lock);
			if (raw.window_ns)
				show_window(m, i, seq, &raw);
		}
	}

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(samples);

static int __init memio_counters_init(void)
{
	const struct x86_cpu_id *id = x86_match_cpu(memio_cpus);
	int ret;

	if (!id)
		return 0;

	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "memio:online", NULL,
					memio_cpu_offline);
	if (ret < 0)
		return ret;

	memio_looked = jiffies - HZ;
	memio_table = (const struct memio_counters *)id->driver_data;
	debugfs_create_file("samples", 0400, memio_debugfs, NULL, &samples_fops);
	/* memio may have been on before this. */
	queue_delayed_work(system_unbound_wq, &memio_work, 0);

	return 0;
}
late_initcall(memio_counters_init);

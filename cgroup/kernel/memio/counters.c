// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: the sampler, which reads the caches' counters and publishes prices
 *
 * The last level cache of a package counts what devices read and write. What counts, and how it is
 * found and read, is the source's own business (counters.h); estimate.c says what the counts mean.
 * For each package there is a timer that reads all counters every memio_interval_us, takes what IO
 * bytes were accounted meanwhile, and publishes the price of the window that ends (price.c).
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
 * No counters: the source is "none" and nothing runs; as intel_uncore may be a module,
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
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/processor.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "counters.h"
#include "internal.h"

#define MEMIO_HISTORY	64	/* windows that debugfs shows */
#define MEMIO_LOOK	(10 * HZ)	/* how often PMUs are looked for that are not there */
#define MEMIO_YIELD_MIN	(2 * HZ)	/* how long others have the counters */
#define MEMIO_YIELD_MAX	(64 * HZ)

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
 * @armed:	@counters and timer are there
 * @cpu:	where they are read
 * @counters:	the source's, while armed
 * @nr_boxes:	boxes of the package, when it was armed last
 * @boxes:	boxes that look for each kind of request, likewise
 * @counts:	what they have counted in the window (the timer's)
 * @hot_to:	see memio_hot_window() (the timer's)
 * @hot_from:	likewise
 * @timer:	one window after the other
 * @lost:	an event could not be read (the timer's; the work item looks at it)
 * @contended:	an event took turns with others' (the timer's; likewise, and clears it)
 * @yield:	how long others are to have the counters the next time (memio_lock)
 * @yields:	they have them now (memio_lock)
 * @yield_until: until then, in jiffies
 * @primed:	counters were read at the beginning of the window (the timer's)
 * @last_ns:	when the window began
 * @estimate:	what prices are made from (the timer's)
 * @learner:	what devices' own prices are made from (the timer's)
 * @bounding:	what bounds are made from (the timer's)
 * @bounds:	the window's (the timer's)
 * @agrees:	what was counted can be so (the timer's; others look at it)
 * @back:	what the price of CPUs' write-backs is made from (the timer's)
 * @back_known:	the last window tells what was written back (the timer's; others look at it)
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
	struct memio_armed *counters;
	u32 nr_boxes;
	u32 boxes[MEMIO_GROUPS];
	struct memio_counts counts;
	struct memio_hot hot_to;
	struct memio_hot hot_from;

	struct hrtimer timer;
	bool lost;
	bool contended;
	unsigned long yield;
	unsigned long yield_until;
	bool yields;
	bool primed;
	u64 last_ns;
	struct memio_estimate estimate;
	struct memio_learner learner;
	struct memio_bounding bounding;
	struct memio_bounds bounds;
	bool agrees;
	struct memio_cpu_estimate back;
	bool back_known;
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

/* This processor's. Set once, at boot. */
static const struct memio_source *memio_source __ro_after_init = &memio_none;

/* Its counters were there when they were last looked for, and when that was. */
static bool memio_found;
static unsigned long memio_looked;

static DEFINE_MUTEX(memio_lock);
/* By package; allocated when it is first armed, never freed. */
static struct memio_sampler *memio_samplers[MEMIO_PACKAGES];
/* Packages that have a CPU online and so should be armed; empty while disarmed. */
static unsigned long memio_to_sample;

unsigned int memio_sampling __read_mostly = MEMIO_SAMPLING_AUTO;

static void memio_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(memio_work, memio_work_fn);

/* ---- the timer ---- */

/* Reads all counters. False if one of them is not there. */
static bool sampler_read(struct memio_sampler *s)
{
	struct memio_counts *c = &s->counts;

	memset(&c->seen, 0, sizeof(c->seen));
	memio_source->read(s->counters, s->last_ns, c);

	raw_spin_lock(&s->lock);
	s->reads += c->reads;
	raw_spin_unlock(&s->lock);

	if (c->shared)
		WRITE_ONCE(s->contended, true);
	return c->there;
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
	bool known = seen && memio_written_back_known(memio_source->can, seen);
	bool there = memio_cpu_all_there(s->package);
	u64 missed, paid;

	WRITE_ONCE(s->back_known, known);
	memio_cpu_sums(s->package, &missed, &paid);
	/* What was owed before a pause is none of those who run now. */
	if (!there || !s->cpus_there || (seen && !known))
		memset(&s->back, 0, sizeof(s->back));
	if (!known || !there || !s->cpus_there)
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
	enum memio_estimator kind = memio_estimator_for(memio_estimator_get(), memio_source->can);
	struct memio_raw raw = {};
	struct memio_seen seen;
	unsigned int nr;
	bool there;

	/* What this CPU has accounted, too; the others' stocks come in time. */
	memio_stock_flush();

	there = sampler_read(s);
	raw.seen = s->counts.seen;
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
		memio_bounds_init(&s->bounding);
		WRITE_ONCE(s->agrees, true);
	}
	if (s->estimate.kind != kind)
		sampler_estimator(s, kind);
	seen = raw.seen;
	if (raw.valid && !memio_seen_possible(&seen, raw.window_ns)) {
		memio_bounds_doubt(&s->bounding);
		WRITE_ONCE(s->agrees, false);
		raw.valid = false;
	}
	if (raw.valid) {
		memio_hot_window(&s->hot_to, &seen, MEMIO_READS, &s->counts.by_box[MEMIO_READS],
				 raw.to);
		memio_hot_window(&s->hot_from, &seen, MEMIO_PARTIALS,
				 &s->counts.by_box[MEMIO_PARTIALS], raw.from);
		memio_estimate_window(&s->estimate, &seen, raw.to, raw.from, &raw.price);
		memio_learner_window(&s->learner, &seen, s->moved, nr, &raw.price,
				     &s->own);
		WRITE_ONCE(s->agrees, memio_bounds_window(&s->bounding, memio_source->can, &seen,
							  s->counts.by_box, s->own.dev, s->moved,
							  nr, &s->bounds));
		memio_price_bounds(s->package, &s->bounds);
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

static bool memio_probe(void)
{
	bool found = memio_source->probe && memio_source->probe(memio_source, NULL, 0);

	WRITE_ONCE(memio_found, found);
	return found;
}

/* Look no more than once a second. */
static bool memio_look(void)
{
	if (!memio_source->probe || time_before(jiffies, READ_ONCE(memio_looked) + HZ))
		return false;

	WRITE_ONCE(memio_looked, jiffies);
	return memio_probe();
}

static void sampler_release(struct memio_sampler *s)
{
	memio_source->disarm(s->counters);
	s->counters = NULL;
}

static int sampler_arm(struct memio_sampler *s, int cpu)
{
	struct memio_armed *counters;
	int ret;

	counters = memio_source->arm(memio_source, cpu,
				     READ_ONCE(memio_sampling) == MEMIO_SAMPLING_ALWAYS);
	if (IS_ERR(counters))
		return PTR_ERR(counters);

	s->counters = counters;
	s->cpu = counters->cpu;
	s->nr_boxes = counters->boxes;
	memcpy(s->boxes, counters->groups, sizeof(s->boxes));
	s->primed = false;
	s->last_ns = ktime_get_ns();
	s->contended = false;
	memset(&s->back, 0, sizeof(s->back));
	s->cpus_there = false;
	memio_devices_moved(s->package, s->moved, s->at);

	ret = smp_call_function_single(s->cpu, sampler_start, s, true);
	if (ret) {
		sampler_release(s);
		return ret;
	}

	s->armed = true;
	return 0;
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

/* Counters that could not be read are tried again; on another CPU, armed anew. */
static void sampler_mend(struct memio_sampler *s)
{
	if (!memio_source->mend(s->counters))
		sampler_disarm(s);
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
	/* Without it, a line costs nothing or a line. */
	memio_prices[package].bounds = kvcalloc(MEMIO_WINDOWS, sizeof(struct memio_bounds),
						GFP_KERNEL);

	/* complete for debugfs, which looks without the mutex */
	smp_store_release(&memio_samplers[package], s);
	return s;
}

/* Whether each package with a CPU online is armed: then its PMUs are there, and can't go. */
static bool all_armed(void)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		int package = memio_package_of(cpu);

		if (package < 0 || package >= MEMIO_PACKAGES)
			continue;
		if (!memio_samplers[package] || !memio_samplers[package]->armed)
			return false;
	}
	return true;
}

/*
 * Arms what isn't, mends what is lost. False if there are no counters. A package that
 * can't be armed now, out of memory say, is tried again with the next call.
 */
static bool memio_arm(void)
{
	unsigned long packages = 0;
	unsigned int cpu;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&memio_lock);

	if (!all_armed() && !memio_probe())
		return false;

	for_each_online_cpu(cpu) {
		int package = memio_package_of(cpu);
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
			ret = sampler_arm(s, cpu);
			if (ret)
				pr_debug("package %d: can't be sampled: %d\n",
					 package, ret);
		}
	}
	WRITE_ONCE(memio_to_sample, packages);

	return true;
}

static void memio_disarm(void)
{
	unsigned int i;

	lockdep_assert_held(&memio_lock);

	WRITE_ONCE(memio_to_sample, 0);
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
	if (!memio_source->can)
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
	return READ_ONCE(memio_found) ? memio_source->name : memio_none.name;
}

/**
 * memio_counters_reason - why memio_counters_source() is what it is
 * @text:	one line
 * @size:	room there
 *
 * Context: process, may sleep.
 */
void memio_counters_reason(char *text, size_t size)
{
	enum memio_estimator asked = memio_estimator_get(), kind;
	int n;

	n = scnprintf(text, size, "processor %02x-%02x, %s", boot_cpu_data.x86,
		      boot_cpu_data.x86_model, memio_source->processor);
	if (!memio_source->probe)
		return;

	n += scnprintf(text + n, size - n, "; ");
	/* Whoever asks why changes nothing: memio_found is the work item's. */
	memio_source->probe(memio_source, text + n, size - n);
	kind = memio_estimator_for(asked, memio_source->can);
	if (kind != asked) {
		n = strlen(text);
		scnprintf(text + n, size - n, "; estimator %s, for want of what %s needs",
			  memio_estimator_names[kind], memio_estimator_names[asked]);
	}
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
	unsigned long packages = READ_ONCE(memio_to_sample);
	unsigned int package;

	/* Of packages that are not sampled nobody knows. */
	if (!packages || memio_packages() > MEMIO_PACKAGES)
		return false;

	for_each_set_bit(package, &packages, MEMIO_PACKAGES)
		if (!package_valid(package))
			return false;
	return true;
}

/**
 * memio_counters_write_back - whether the counters tell what CPUs write back
 *
 * Context: any.
 * Return: true if they did in the last window of each package that is sampled.
 */
bool memio_counters_write_back(void)
{
	unsigned long packages = READ_ONCE(memio_to_sample);
	const struct memio_sampler *s;
	unsigned int package;

	for_each_set_bit(package, &packages, MEMIO_PACKAGES) {
		/* Pairs with the release in sampler_get(). */
		s = smp_load_acquire(&memio_samplers[package]);
		if (!s || !READ_ONCE(s->back_known))
			return false;
	}
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
		c.agrees = READ_ONCE(s->agrees) && memio_check_ok(s->check_to) &&
			   memio_check_ok(s->check_from);
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
	for (g = 0; g < MEMIO_GROUPS; g++)
		for (i = 0; i < MEMIO_ROLES; i++)
			if (memio_source->can & MEMIO_COUNTS(g, i))
				seq_printf(m, " %s.%s=%llu", group_names[g], role_names[i],
					   raw->seen.lines[g][i]);
	if (raw->seen.dram)
		seq_printf(m, " dram.read=%llu dram.write=%llu", raw->seen.dram_read,
			   raw->seen.dram_write);
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
	const struct memio_source *source = memio_source_of(boot_cpu_data.x86_vfm);
	int ret;

	if (source->can && !memio_can_estimate(source->can)) {
		pr_err("source %s counts too little for any estimator: it is not used\n",
		       source->name);
		return 0;
	}
	memio_source = source;
	if (!source->can)
		return 0;

	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "memio:online", NULL,
					memio_cpu_offline);
	if (ret < 0)
		return ret;

	memio_looked = jiffies - HZ;
	debugfs_create_file("samples", 0400, memio_debugfs, NULL, &samples_fops);
	/* memio may have been on before this. */
	queue_delayed_work(system_unbound_wq, &memio_work, 0);

	return 0;
}
late_initcall(memio_counters_init);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: the switch, and /sys/kernel/memio
 *
 * What memio costs is to be paid by those who use it. So by default (memio=auto) it is off, and
 * takes no memory for pages, until a control group below the root has the controller, or root
 * writes 1 to /sys/kernel/memio/enabled:
 *
 *	memio=	on			owner of a dirty page		memory
 *	auto	with the first group	the group of its memcg		-
 *	tasks	from boot on		the task that made it dirty	4 bytes a page
 *	off	when root says so	the group of its memcg		-
 *
 * The state is a static key, so that a hook costs a no-op while memio is off. With the last group
 * memio goes off again, but not at once: code is patched for that, which should not be done by
 * whoever makes and removes a group in a loop. So it is on for MEMIO_LINGER more, and is on and off
 * no more than once in that time. What root writes holds until root writes something else: 0 and 1
 * at once and whatever groups there are, "auto" puts it back to what groups need.
 *
 * What was queued or under way when memio came on has no owner, and is the root's. A page that was
 * dirty then is its memcg's group's, as any other; with memio=tasks it is the root's.
 *
 * The files (Documentation/ABI/testing/sysfs-kernel-memio):
 *
 *	enabled	0 or 1; "auto" can be written, too
 *	source	the counters that estimates rest on; "none" where there are
 *		none that memio can use
 *	source_reason
 *		why: the processor, and its counters or what is missing
 *	state	one word: how good the figures are (memio_state() in state.c)
 *	valid	0 or 1: whether prices are what is paid now
 *	estimator
 *		"seed", "miss", "dirty" (estimate.c) or "device" (learn.c)
 *	sample_interval_us
 *		how often the counters are read
 *	sampling
 *		"auto", "always" or "never" (counters.c)
 *	sample_hold_ms
 *		for how long CPUs are counted after the last limit that needed it
 *	period_us
 *		what a group with a limit has a budget for (limit.c)
 *	guaranteed_bps
 *		what a package's memory gives in any case, for groups to share (regulate.c)
 *
 * The settings are single words that the sampler reads in each window, so that
 * nothing has to be stopped to change them.
 */

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/memio.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "limit.h"

#include <trace/events/memio.h>

struct static_key_false memio_key = STATIC_KEY_FALSE_INIT;
EXPORT_SYMBOL(memio_key);

/* Set with the other, and for ever: tags that were given are taken away while it is off. */
struct static_key_false memio_tags_key = STATIC_KEY_FALSE_INIT;
EXPORT_SYMBOL(memio_tags_key);

/* Likewise, where pages have owners. */
struct static_key_false memio_pages_key = STATIC_KEY_FALSE_INIT;
EXPORT_SYMBOL(memio_pages_key);

/*
 * 10 ms are ten to a hundred requests of a busy disk, and 100 reads of each counter
 * a second. 5 s is for limits that are lifted and set anew.
 */
unsigned int memio_interval_us = 10000;
unsigned int memio_hold_ms = 5000;

static enum memio_estimator memio_estimator = MEMIO_DEVICE;

#define MEMIO_LINGER		(10 * HZ)	/* on, after the last group has gone */

bool memio_page_owners __ro_after_init;
struct dentry *memio_debugfs __ro_after_init;

/* What root wants: what groups need, or always, or never. */
enum memio_wish { MEMIO_WISH_AUTO, MEMIO_WISH_ON, MEMIO_WISH_OFF };

/*
 * Around what follows, and the keys. It nests in the cgroup mutex, and around those of arming
 * (counters.c, cpu.c).
 */
static DEFINE_MUTEX(memio_switching);
static enum memio_wish memio_wish = MEMIO_WISH_AUTO;
static unsigned int memio_nr_groups;	/* below the root */

static int __init memio_setup(char *arg)
{
	bool on;

	if (!strcmp(arg, "auto")) {
		memio_wish = MEMIO_WISH_AUTO;
		memio_page_owners = false;
		return 1;
	}
	if (!strcmp(arg, "tasks"))
		on = true;
	else if (kstrtobool(arg, &on))
		return 0;
	memio_wish = on ? MEMIO_WISH_ON : MEMIO_WISH_OFF;
	memio_page_owners = on;
	return 1;
}
__setup("memio=", memio_setup);

static bool memio_asleep;

/**
 * memio_counting - whether counters may be read
 *
 * Context: any.
 * Return: true while memio is on and the machine does not go to sleep.
 */
bool memio_counting(void)
{
	return memio_enabled() && !READ_ONCE(memio_asleep);
}

/* Counters forget what they count in the machine's sleep, and perf doesn't notice. */
static int memio_sleep(struct notifier_block *nb, unsigned long what, void *unused)
{
	switch (what) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		WRITE_ONCE(memio_asleep, true);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		WRITE_ONCE(memio_asleep, false);
		break;
	default:
		return NOTIFY_DONE;
	}
	memio_sampler_again();
	memio_cpu_again();
	return NOTIFY_OK;
}

/* Those of windows, and of updates; the latter want to know what CPUs read, too. */
static atomic_t memio_tracers = ATOMIC_INIT(0);
static atomic_t memio_cpu_tracers = ATOMIC_INIT(0);

static void tracers_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(tracers_work, tracers_fn);

static void tracers_fn(struct work_struct *work)
{
	bool cpus = atomic_read(&memio_cpu_tracers);

	if (!cpus && !atomic_read(&memio_tracers))
		return;
	if (cpus)
		memio_cpu_want();
	queue_delayed_work(system_unbound_wq, &tracers_work, memio_limits_often());
}

static int tracers_begin(atomic_t *tracers)
{
	atomic_inc(tracers);
	mod_delayed_work(system_unbound_wq, &tracers_work, 0);
	return 0;
}

/**
 * memio_trace_begin - somebody traces windows, so they are to be sampled
 *
 * Context: process, with tracepoints' locks. So it is the work item that asks.
 * Return: 0.
 */
int memio_trace_begin(void)
{
	return tracers_begin(&memio_tracers);
}

/**
 * memio_trace_end - and does not any more
 *
 * Context: as memio_trace_begin().
 */
void memio_trace_end(void)
{
	atomic_dec(&memio_tracers);
}

/**
 * memio_trace_cpus_begin - somebody traces what owners move
 *
 * Context: as memio_trace_begin().
 * Return: 0.
 */
int memio_trace_cpus_begin(void)
{
	return tracers_begin(&memio_cpu_tracers);
}

/**
 * memio_trace_cpus_end - and does not any more
 *
 * Context: as memio_trace_begin().
 */
void memio_trace_cpus_end(void)
{
	atomic_dec(&memio_cpu_tracers);
}

/**
 * memio_estimator_get - how memory bytes are estimated
 *
 * Context: any.
 * Return: the estimator.
 */
enum memio_estimator memio_estimator_get(void)
{
	return READ_ONCE(memio_estimator);
}

static bool memio_needed(void)
{
	return memio_wish == MEMIO_WISH_ON || (memio_wish == MEMIO_WISH_AUTO && memio_nr_groups);
}

/* Has memio on or off, as it is needed. With memio_switching. */
static void memio_turn(void)
{
	bool on = memio_needed();

	lockdep_assert_held(&memio_switching);

	if (on == static_key_enabled(&memio_key))
		return;
	if (on) {
		static_branch_enable(&memio_tags_key);
		if (memio_page_owners)
			static_branch_enable(&memio_pages_key);
		static_branch_enable(&memio_key);
	} else {
		static_branch_disable(&memio_key);
	}
	/* Counters are read, or not any more, when this returns. */
	memio_sampler_again();
	memio_cpu_again();
}

static void linger_fn(struct work_struct *work)
{
	guard(mutex)(&memio_switching);
	memio_turn();
}

static DECLARE_DELAYED_WORK(linger_work, linger_fn);

/**
 * memio_group_comes - a group below the root is about to have the controller
 *
 * When this returns memio is on, unless root does not want it.
 *
 * Context: process, with the cgroup mutex; may sleep.
 */
void memio_group_comes(void)
{
	guard(mutex)(&memio_switching);
	memio_nr_groups++;
	memio_turn();
}

/**
 * memio_group_goes - a group below the root has the controller no more
 *
 * Context: process, with the cgroup mutex; may sleep.
 */
void memio_group_goes(void)
{
	guard(mutex)(&memio_switching);
	/* Whoever makes another one meanwhile finds it on. */
	if (!--memio_nr_groups)
		mod_delayed_work(system_wq, &linger_work, MEMIO_LINGER);
}

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", static_key_enabled(&memio_key));
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	enum memio_wish wish = MEMIO_WISH_AUTO;
	bool on;

	if (!sysfs_streq(buf, "auto")) {
		if (kstrtobool(buf, &on))
			return -EINVAL;
		wish = on ? MEMIO_WISH_ON : MEMIO_WISH_OFF;
	}
	guard(mutex)(&memio_switching);
	memio_wish = wish;
	memio_turn();
	return count;
}

static ssize_t source_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%s\n", memio_counters_source());
}

static ssize_t source_reason_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	int n;

	memio_counters_reason(buf, PAGE_SIZE - 1);
	n = strlen(buf);
	return n + sysfs_emit_at(buf, n, "\n");
}

static ssize_t state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", memio_state_names[memio_state_io()]);
}

static const char *const sampling_names[] = {
	[MEMIO_SAMPLING_AUTO]	= "auto",
	[MEMIO_SAMPLING_ALWAYS]	= "always",
	[MEMIO_SAMPLING_NEVER]	= "never",
};

static ssize_t sampling_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", sampling_names[READ_ONCE(memio_sampling)]);
}

static ssize_t sampling_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count)
{
	int i = sysfs_match_string(sampling_names, buf);

	if (i < 0)
		return i;
	guard(mutex)(&memio_switching);
	if (READ_ONCE(memio_sampling) != i) {
		/* Events are pinned, or not, when they are made: they are made anew. */
		WRITE_ONCE(memio_sampling, MEMIO_SAMPLING_NEVER);
		memio_sampler_again();
		WRITE_ONCE(memio_sampling, i);
		memio_sampler_again();
	}
	return count;
}

static ssize_t valid_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%d\n", memio_counters_valid());
}

static ssize_t estimator_show(struct kobject *kobj, struct kobj_attribute *attr,
			      char *buf)
{
	return sysfs_emit(buf, "%s\n", memio_estimator_names[memio_estimator_get()]);
}

static ssize_t estimator_store(struct kobject *kobj, struct kobj_attribute *attr,
			       const char *buf, size_t count)
{
	int i = __sysfs_match_string(memio_estimator_names, MEMIO_ESTIMATORS, buf);

	if (i < 0)
		return i;

	WRITE_ONCE(memio_estimator, i);
	return count;
}

static ssize_t set_number(const char *buf, size_t count, unsigned int *to,
			  unsigned int min, unsigned int max)
{
	unsigned int val;
	int ret;

	ret = kstrtouint(buf, 10, &val);
	if (ret)
		return ret;
	if (val < min || val > max)
		return -ERANGE;

	WRITE_ONCE(*to, val);
	return count;
}

static ssize_t sample_interval_us_show(struct kobject *kobj,
				       struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(memio_interval_us));
}

static ssize_t sample_interval_us_store(struct kobject *kobj,
					struct kobj_attribute *attr,
					const char *buf, size_t count)
{
	return set_number(buf, count, &memio_interval_us, MEMIO_INTERVAL_US_MIN,
			  MEMIO_INTERVAL_US_MAX);
}

static ssize_t sample_hold_ms_show(struct kobject *kobj,
				   struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(memio_hold_ms));
}

static ssize_t sample_hold_ms_store(struct kobject *kobj,
				    struct kobj_attribute *attr,
				    const char *buf, size_t count)
{
	return set_number(buf, count, &memio_hold_ms, MEMIO_HOLD_MS_MIN,
			  MEMIO_HOLD_MS_MAX);
}

static ssize_t period_us_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(memio_period_us));
}

static ssize_t period_us_store(struct kobject *kobj, struct kobj_attribute *attr,
			       const char *buf, size_t count)
{
	return set_number(buf, count, &memio_period_us, MEMIO_PERIOD_US_MIN,
			  MEMIO_PERIOD_US_MAX);
}

static ssize_t guaranteed_bps_show(struct kobject *kobj, struct kobj_attribute *attr,
				   char *buf)
{
	return sysfs_emit(buf, "%llu\n", memio_guaranteed_get());
}

static ssize_t guaranteed_bps_store(struct kobject *kobj, struct kobj_attribute *attr,
				    const char *buf, size_t count)
{
	u64 bps;
	int ret;

	ret = kstrtou64(buf, 10, &bps);
	if (!ret)
		ret = memio_guaranteed_set(bps);
	return ret ?: count;
}

static const char *const without_counters_names[] = { "io", "lift" };

static ssize_t without_counters_show(struct kobject *kobj, struct kobj_attribute *attr,
				     char *buf)
{
	return sysfs_emit(buf, "%s\n", without_counters_names[READ_ONCE(memio_lift)]);
}

static ssize_t without_counters_store(struct kobject *kobj, struct kobj_attribute *attr,
				      const char *buf, size_t count)
{
	int i = sysfs_match_string(without_counters_names, buf);

	if (i < 0)
		return i;

	WRITE_ONCE(memio_lift, i);
	return count;
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute source_attr = __ATTR_RO(source);
static struct kobj_attribute source_reason_attr = __ATTR_RO(source_reason);
static struct kobj_attribute state_attr = __ATTR_RO(state);
static struct kobj_attribute sampling_attr = __ATTR_RW(sampling);
static struct kobj_attribute valid_attr = __ATTR_RO(valid);
static struct kobj_attribute estimator_attr = __ATTR_RW(estimator);
static struct kobj_attribute sample_interval_us_attr = __ATTR_RW(sample_interval_us);
static struct kobj_attribute sample_hold_ms_attr = __ATTR_RW(sample_hold_ms);
static struct kobj_attribute period_us_attr = __ATTR_RW(period_us);
static struct kobj_attribute guaranteed_bps_attr = __ATTR_RW(guaranteed_bps);
static struct kobj_attribute without_counters_attr = __ATTR_RW(without_counters);

static struct attribute *memio_attrs[] = {
	&enabled_attr.attr,
	&source_attr.attr,
	&source_reason_attr.attr,
	&state_attr.attr,
	&sampling_attr.attr,
	&valid_attr.attr,
	&estimator_attr.attr,
	&sample_interval_us_attr.attr,
	&sample_hold_ms_attr.attr,
	&period_us_attr.attr,
	&guaranteed_bps_attr.attr,
	&without_counters_attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(memio);

static int __init memio_init(void)
{
	struct kobject *kobj;
	int ret;

	kobj = kobject_create_and_add("memio", kernel_kobj);
	if (!kobj)
		return -ENOMEM;

	ret = sysfs_create_groups(kobj, memio_groups);
	if (ret) {
		kobject_put(kobj);
		return ret;
	}

	pm_notifier(memio_sleep, 0);
	memio_debugfs = debugfs_create_dir("memio", NULL);
	memio_owner_debugfs(memio_debugfs);

	guard(mutex)(&memio_switching);
	memio_turn();
	return 0;
}
subsys_initcall(memio_init);

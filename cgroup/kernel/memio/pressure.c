// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: memio.pressure, for how long limits have stopped tasks
 *
 *	some avg10=12.40 avg60=3.02 avg300=0.61 total=8329061
 *
 * as kernel/sched/psi.c has it: the time in which something was stopped, in microseconds, and
 * its part of the last 10, 60 and 300 seconds, in per cent. A group's has the stops by its own
 * limits and shares, and by those of groups below it; stops that overlap count once, so each group
 * counts how many there are, and the time while there are any. That takes no hook: limit.c knows
 * when it stops a group and when it lets it go, and tells the group and those above it.
 *
 *	group a		 |------|    |---|
 *	group b		     |-------|
 *	above them	 |---------------|	once
 *
 * Averages are brought up to date by the work item of limits once a second, and by readers where
 * the last time was longer ago: there was no stop then, and it does not matter who looks, or when.
 */

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched/loadavg.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#include "internal.h"

#define MEMIO_AVG_NS	(2ULL * NSEC_PER_SEC)	/* as psi_period */

/* 1/exp(2s/10s) and so on, with FSHIFT bits behind the point, as psi.c's */
static const unsigned long decays[MEMIO_AVGS] = { 1677, 1981, 2034 };

/**
 * memio_pressure_init - begin
 * @p:	the pressure
 */
void memio_pressure_init(struct memio_pressure *p)
{
	raw_spin_lock_init(&p->lock);
	p->avg_ns = ktime_get_ns();
}

/* With its lock */
static u64 total_ns(const struct memio_pressure *p, u64 now)
{
	/* Clocks of CPUs may differ a little. */
	return p->total_ns + (p->stops > 0 && now > p->since_ns ? now - p->since_ns : 0);
}

/**
 * memio_pressure_stop - a group is stopped, or is let go
 * @g:		the group; those above it are told, too
 * @stopped:	it is stopped
 * @now:	ktime_get_ns()
 *
 * One CPU may let go what another has just stopped, and be here before it: the count is below zero
 * for that moment, and neither counts.
 *
 * Context: any; interrupts are turned off. Also with the run queue's lock.
 */
void memio_pressure_stop(struct memio_cgroup *g, bool stopped, u64 now)
{
	struct memio_pressure *p;
	unsigned long flags;

	for (; g; g = memio_cgroup_parent(g)) {
		p = &g->pressure;
		raw_spin_lock_irqsave(&p->lock, flags);
		if (stopped) {
			if (++p->stops == 1)
				p->since_ns = now;
		} else {
			if (p->stops == 1)
				p->total_ns = total_ns(p, now);
			p->stops--;
		}
		raw_spin_unlock_irqrestore(&p->lock, flags);
	}
}

/**
 * memio_pressure_run - bring averages up to date
 * @p:		the pressure
 * @now:	ktime_get_ns()
 *
 * Context: any; interrupts are turned off.
 */
void memio_pressure_run(struct memio_pressure *p, u64 now)
{
	u64 total, ns, part;
	unsigned long flags;
	unsigned int n;

	raw_spin_lock_irqsave(&p->lock, flags);
	ns = now - p->avg_ns;
	if ((s64)ns >= (s64)MEMIO_AVG_NS) {
		total = total_ns(p, now);
		part = div64_u64(min(total - p->avg_total_ns, ns) * 100, ns >> FSHIFT);
		n = min_t(u64, div64_u64(ns, MEMIO_AVG_NS), UINT_MAX);
		for (int i = 0; i < MEMIO_AVGS; i++)
			p->avg[i] = calc_load_n(p->avg[i], decays[i], part, n);
		p->avg_ns = now;
		p->avg_total_ns = total;
	}
	raw_spin_unlock_irqrestore(&p->lock, flags);
}

/**
 * memio_pressure_show - print memio.pressure
 * @sf:		where
 * @g:		the group
 * @now:	ktime_get_ns()
 *
 * Context: process.
 */
void memio_pressure_show(struct seq_file *sf, struct memio_cgroup *g, u64 now)
{
	struct memio_pressure *p = &g->pressure;
	unsigned long avg[MEMIO_AVGS], flags;
	u64 total;

	memio_pressure_run(p, now);
	raw_spin_lock_irqsave(&p->lock, flags);
	total = total_ns(p, now);
	memcpy(avg, p->avg, sizeof(avg));
	raw_spin_unlock_irqrestore(&p->lock, flags);
	seq_printf(sf, "some avg10=%lu.%02lu avg60=%lu.%02lu avg300=%lu.%02lu total=%llu\n",
		   LOAD_INT(avg[0]), LOAD_FRAC(avg[0]), LOAD_INT(avg[1]), LOAD_FRAC(avg[1]),
		   LOAD_INT(avg[2]), LOAD_FRAC(avg[2]), div_u64(total, NSEC_PER_USEC));
}

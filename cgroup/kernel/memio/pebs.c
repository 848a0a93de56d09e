// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: traces by samples that the processor writes itself (PEBS)
 *
 * A counter that overflows makes the processor write a record of some 200 bytes into
 * the CPU's buffer, without an interrupt; that comes when the buffer is full. The
 * buffer is perf's, and so are the counter and the interrupt: a trace's event is one
 * of perf's like others, precise, with a fixed period. All that is done here is to
 * take the time stamps of its records out of the buffer (8 bytes of each) before perf
 * goes through them. So a trace and any number of users' precise events live side by side,
 * by perf's rules for who gets a counter.
 *
 * perf itself would not hand them out: of a buffer it tells an event's overflow handler
 * of the last record only, and of all others just who has mapped the event's ring.
 *
 * Records have a time stamp from format 3 on (Skylake; Intel SDM volume 3, table "PEBS
 * Record Format for the 6th Generation Intel Core"). In format 2 (Haswell) they don't: traces of
 * mode "soft" are for these. Format 4 and later are other records, which an adaptive
 * buffer's drain handles; traces by it are not there yet.
 */

#include <linux/cpufeature.h>
#include <linux/errno.h>
#include <linux/memio_pebs.h>
#include <linux/perf_event.h>
#include <asm/msr.h>

#include "trace.h"

#define PEBS_STATUS	144	/* offset in a record: which counters it is of, 64 bits */
#define PEBS_FORMAT	3

DEFINE_STATIC_KEY_FALSE(memio_pebs_key);

static bool is_of(const void *record, int counter)
{
	return *(const u64 *)(record + PEBS_STATUS) >> counter & 1;
}

void __memio_pebs(const void *base, const void *top, size_t size)
{
	struct memio_trace *t = memio_trace_here();
	unsigned int n = 0, got;
	const void *at;
	int counter;
	u64 *tsc;

	counter = t ? memio_trace_counter(t) : -1;
	if (counter < 0)
		return;
	for (at = base; at < top; at += size)
		n += is_of(at, counter);
	if (!n)
		return;
	tsc = memio_trace_stage(t, n, &got);
	for (at = base; got && at < top; at += size) {
		if (!is_of(at, counter))
			continue;
		/* the last thing in it */
		*tsc++ = *(const u64 *)(at + size - sizeof(u64));
		got--;
	}
}

/**
 * memio_pebs_attr - make an event's overflows be written by the processor
 * @attr:	the event, with a fixed period
 *
 * The record is of the event after the one that overflows, and only then the counter begins
 * anew (Intel SDM volume 3, "PEBS Programming Facilities"): a record each N + 1 events if it
 * begins at -N.
 *
 * Context: any.
 * Return: 0, or -EOPNOTSUPP: the processor has no time stamps in its records.
 */
int memio_pebs_attr(struct perf_event_attr *attr)
{
	u64 cap;

	if (!boot_cpu_has(X86_FEATURE_PDCM) || !boot_cpu_has(X86_FEATURE_DTES64) ||
	    rdmsrl_safe(MSR_IA32_PERF_CAPABILITIES, &cap) || (cap >> 8 & 0xf) != PEBS_FORMAT)
		return -EOPNOTSUPP;
	attr->precise_ip = 2;
	if (attr->sample_period > 1)
		attr->sample_period--;
	return 0;
}

/**
 * memio_pebs_begin - a trace wants what is in the buffers
 *
 * Context: process, may sleep; not in the CPU hotplug lock.
 */
void memio_pebs_begin(void)
{
	static_branch_inc(&memio_pebs_key);
}

/**
 * memio_pebs_end - it does not any more
 *
 * Context: as memio_pebs_begin().
 */
void memio_pebs_end(void)
{
	static_branch_dec(&memio_pebs_key);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: which counters a CPU has, as data
 *
 * A generation of CPUs is one table (counters_*.c) and one line in counters.c.
 */
#ifndef _MEMIO_COUNTERS_H
#define _MEMIO_COUNTERS_H

#include <linux/types.h>

#include "estimate.h"

#define MEMIO_BOX_EVENTS	4	/* counters in a box */

/**
 * struct memio_event - one counter of a box
 * @config:	as for &struct perf_event_attr.config
 * @config1:	likewise; the same for all events of a group, as a box has one filter
 * @role:	what it counts
 */
struct memio_event {
	u64 config;
	u64 config1;
	enum memio_role role;
};

/**
 * struct memio_counters - the counters of a generation
 * @name:	for /sys/kernel/memio/source
 * @pmu:	name of the PMUs of the boxes: "@pmu_0" and so on, one for each
 * @event:	what is counted in the boxes of each group
 * @events:	how many of @event there are
 */
struct memio_counters {
	const char *name;
	const char *pmu;
	struct memio_event event[MEMIO_GROUPS][MEMIO_BOX_EVENTS];
	unsigned int events[MEMIO_GROUPS];
};

extern const struct memio_counters memio_hswep;

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: sources, which are what estimates rest on
 *
 * A source is a processor's counters: what they can tell, and how they are found, armed and read.
 * Sources that are read alike are a family, which is a file (counters_box.c); what they count is
 * data, in a file for boxes that are alike (counters_hsx.c, counters_cha.c). sources.c has a row
 * for each processor.
 * The sampler (counters.c) knows of all that what stands here.
 */
#ifndef _MEMIO_COUNTERS_H
#define _MEMIO_COUNTERS_H

#include <linux/types.h>

#include "estimate.h"

/**
 * struct memio_counts - what the counters of a package have counted since they were last read
 * @seen:	lines
 * @by_box:	the same, of each box
 * @reads:	counters that were read
 * @there:	all could be read, and ran all of the time
 * @shared:	some took turns with others'
 */
struct memio_counts {
	struct memio_seen seen;
	struct memio_by_box by_box[MEMIO_GROUPS];
	u32 reads;
	bool there;
	bool shared;
};

/**
 * struct memio_armed - the counters of a package, being read; a family has more behind it
 * @cpu:	where they have to be read
 * @boxes:	how many boxes they are in
 * @groups:	boxes that look for each kind of request
 */
struct memio_armed {
	int cpu;
	u32 boxes;
	u32 groups[MEMIO_GROUPS];
};

/**
 * struct memio_source - the counters of a processor
 * @name:	for /sys/kernel/memio/source
 * @processor:	in words
 * @can:	what it counts, a set of MEMIO_COUNTS(); 0: nothing, and it has no operations
 * @table:	what it counts in which counter, for its family
 * @probe:	Are the counters there? Says in @reason which, or why not; @size may be 0. May sleep
 * @arm:	has the counters of the package of @cpu count, pinned or not. From then on, until
 *		@disarm, @read and @mend are called. With the CPU hotplug lock; may sleep. An error
 *		pointer if that can't be
 * @disarm:	ends that. Likewise
 * @mend:	has counters that were lost count again, if they can be had. Likewise. False if the
 *		package has to be armed anew
 * @read:	what they have counted since the last call; the first one has no meaning but to
 *		begin. @since_ns is the time of the last call. On CPU &memio_armed.cpu, with
 *		interrupts off. @counts is zeroed but for &memio_counts.by_box
 */
struct memio_source {
	const char *name;
	const char *processor;
	unsigned long can;
	const void *table;
	bool (*probe)(const struct memio_source *source, char *reason, size_t size);
	struct memio_armed *(*arm)(const struct memio_source *source, int cpu, bool pinned);
	void (*disarm)(struct memio_armed *armed);
	bool (*mend)(struct memio_armed *armed);
	void (*read)(struct memio_armed *armed, u64 since_ns, struct memio_counts *counts);
};

/* ---- boxes that perf's drivers have (counters_box.c) ---- */

#define MEMIO_BOX_EVENTS	4	/* counters in a box */
#define MEMIO_BOX_SETS		3
#define MEMIO_BOX_IDS		128	/* ids are below this, and may have holes */

/* Boxes that are memory controllers: in place of a group, and of roles. As MEMIO_COUNTS(), too */
#define MEMIO_DRAM		MEMIO_GROUPS
#define MEMIO_DRAM_READ		0
#define MEMIO_DRAM_WRITE	1

/**
 * struct memio_box_event - one counter of a box
 * @config:	as for &struct perf_event_attr.config
 * @config1:	likewise
 * @group:	which kind of request it looks for, &enum memio_box_group, or MEMIO_DRAM
 * @role:	what it counts, &enum memio_role, or one of MEMIO_DRAM's
 */
struct memio_box_event {
	u64 config;
	u64 config1;
	unsigned int group;
	unsigned int role;
};

/**
 * struct memio_box_table - what is counted in which boxes
 * @pmu:	name of the PMUs of the boxes: "@pmu_0" and so on, one for each
 * @beside:	boxes of another kind that are read as well, all of them; NULL: none. Where they are
 *		missing, what they count is
 * @slice_kib:	size of a slice of the cache in KiB; 0: there are no more slices than boxes
 * @sets:	boxes have the sets of events in turn, so there have to be as many at least
 * @events:	how many of @event a set has
 * @event:	what is counted in a box of each set
 */
struct memio_box_table {
	const char *pmu;
	const struct memio_box_table *beside;
	unsigned int slice_kib;
	unsigned int sets;
	unsigned int events[MEMIO_BOX_SETS];
	struct memio_box_event event[MEMIO_BOX_SETS][MEMIO_BOX_EVENTS];
};

bool memio_box_probe(const struct memio_source *source, char *reason, size_t size);
struct memio_armed *memio_box_arm(const struct memio_source *source, int cpu, bool pinned);
void memio_box_disarm(struct memio_armed *armed);
bool memio_box_mend(struct memio_armed *armed);
void memio_box_read(struct memio_armed *armed, u64 since_ns, struct memio_counts *counts);

#define MEMIO_BOX_OPERATIONS		\
	.probe	= memio_box_probe,	\
	.arm	= memio_box_arm,	\
	.disarm	= memio_box_disarm,	\
	.mend	= memio_box_mend,	\
	.read	= memio_box_read

/* ---- which source a processor has (sources.c) ---- */

extern const struct memio_source memio_none;
extern const struct memio_source memio_hsx;
extern const struct memio_source memio_bdx;
extern const struct memio_source memio_icx;
extern const struct memio_source memio_spr;
extern const struct memio_source memio_gnr;

const struct memio_source *memio_source_of(u32 vfm);

#endif

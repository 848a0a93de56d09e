// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: counters in boxes, for which a driver has PMUs of perf
 *
 * A last level cache is made of boxes, each with counters of its own. The uncore driver has a PMU
 * for each, by the name of the boxes and an id. Ids need not be without holes: boxes are fused off,
 * and of ids that are discovered some belong to others. Nor has each package of a machine all the
 * boxes that another one has: there, an event is refused by the PMU.
 *
 * Boxes are given the table's sets of events in turn. Which kinds of requests (estimate.h's groups)
 * a set looks for is up to the set: one where a box has a single filter, several where it has none.
 * For instance 22 boxes and three sets of one kind each: 8, 7 and 7 boxes.
 *
 * A table may name boxes of another kind beside these: memory controllers, which all count the
 * same. Where the driver has no PMU for them, what they count is missing and all else is as it was.
 *
 * The driver has no more boxes than the package has cores. Where cores are switched off, the cache
 * can have more slices, of which nobody counts. Addresses are spread over slices evenly, so counts
 * of boxes are scaled to all slices. The size of the cache tells how many there are, if the size of
 * a slice is known.
 *
 * An event is a kernel event of perf, bound to the CPU that the driver has chosen. One that others
 * have pushed aside does not run, which perf says by two clocks: for how long it has been enabled,
 * and for how long it ran.
 */

#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "counters.h"

static_assert(MEMIO_BOX_IDS <= MEMIO_BOXES, "struct memio_by_box has a place for each box");

/* An event that others have moved about has not run for so small a part of a window. */
#define LAG_SHIFT	6

/**
 * struct box_event - an event of a box
 * @event:	perf's
 * @last:	its count when it was last read
 * @lag:	for how long it had not run by then
 * @ran:	and for how long it had
 * @group:	see &struct memio_box_event
 * @role:	likewise
 * @box:	which box of its group
 */
struct box_event {
	struct perf_event *event;
	u64 last;
	u64 lag;
	u64 ran;
	u8 group;
	u8 role;
	u8 box;
};

static_assert(MEMIO_BOX_IDS - 1 <= U8_MAX, "a box's number is a u8");

/**
 * struct box_armed - the boxes of a package
 * @armed:	what the sampler knows
 * @slices:	of the cache, if that is known: there can be more than boxes
 * @begun:	events have been read since they were made
 * @nr:		how many events there are
 * @e:		the events, box by box
 */
struct box_armed {
	struct memio_armed armed;
	unsigned int slices;
	bool begun;
	unsigned int nr;
	struct box_event e[];
};

#define BOX_NAME	32

static int box_type(const char *pmu, unsigned int id, char *name)
{
	snprintf(name, BOX_NAME, "%s_%u", pmu, id);
	return perf_pmu_type_by_name(name);
}

/* How many boxes there are, of any package, and their ids */
static unsigned int box_ids(const struct memio_box_table *table, unsigned long *ids)
{
	char name[BOX_NAME];

	bitmap_zero(ids, MEMIO_BOX_IDS);
	for (unsigned int id = 0; id < MEMIO_BOX_IDS; id++)
		if (box_type(table->pmu, id, name) >= 0)
			__set_bit(id, ids);
	return bitmap_weight(ids, MEMIO_BOX_IDS);
}

/**
 * memio_box_probe - see &memio_source.probe
 * @source:	the source
 * @reason:	which boxes there are, or what is missing
 * @size:	room there
 *
 * Context: process, may sleep.
 * Return: whether there is a box for each set of events.
 */
bool memio_box_probe(const struct memio_source *source, char *reason, size_t size)
{
	const struct memio_box_table *table = source->table;
	DECLARE_BITMAP(ids, MEMIO_BOX_IDS);
	unsigned int n = box_ids(table, ids);
	int len;

	if (!n)
		snprintf(reason, size,
			 "no PMU %s_*: a virtual machine, or the uncore driver is not there",
			 table->pmu);
	else if (n < table->sets)
		snprintf(reason, size, "%u boxes, of %u that are needed at least: %s_%*pbl", n,
			 table->sets, table->pmu, MEMIO_BOX_IDS, ids);
	if (n < table->sets)
		return false;

	len = snprintf(reason, size, "%u boxes: %s_%*pbl", n, table->pmu, MEMIO_BOX_IDS, ids);
	if (!table->beside || len >= size)
		return true;
	if (box_ids(table->beside, ids))
		snprintf(reason + len, size - len, "; %s_%*pbl", table->beside->pmu, MEMIO_BOX_IDS,
			 ids);
	else
		snprintf(reason + len, size - len, "; no PMU %s_*", table->beside->pmu);
	return true;
}

static int box_add(struct box_armed *b, int type, const char *name, int cpu, bool pinned,
		   const struct memio_box_event *what)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = what->config,
		.config1 = what->config1,
		.pinned = pinned,
	};
	struct box_event *e = &b->e[b->nr];
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);
	/* The driver may have been loaded anew since the look-up, and the type be another PMU's. */
	if (strcmp(event->pmu->name, name)) {
		perf_event_release_kernel(event);
		return -EXDEV;
	}

	e->event = event;
	e->group = what->group;
	e->role = what->role;
	e->box = what->group < MEMIO_GROUPS ? b->armed.groups[what->group] : 0;

	/* The driver has bound it to the CPU of its choice, one for all boxes. */
	if (!b->nr++)
		b->armed.cpu = event->cpu;
	return event->cpu == b->armed.cpu ? 0 : -EXDEV;
}

/* The events of a box, @nth of its kind; none, and 0, if this package does not have the box. */
static int box_add_set(struct box_armed *b, const struct memio_box_table *table, unsigned int nth,
		       int type, const char *name, int cpu, bool pinned)
{
	unsigned int set = nth % table->sets;
	unsigned long groups = 0;
	unsigned int i, g;
	int ret;

	for (i = 0; i < table->events[set]; i++) {
		ret = box_add(b, type, name, cpu, pinned, &table->event[set][i]);
		if (ret == -EINVAL && !i)
			return 0;
		if (ret)
			return ret;
		__set_bit(table->event[set][i].group, &groups);
	}
	for_each_set_bit(g, &groups, MEMIO_GROUPS)
		b->armed.groups[g]++;
	return 1;
}

/* Those of all boxes in @ids that the package has. How many, or an error. */
static int box_add_all(struct box_armed *b, const struct memio_box_table *table,
		       const unsigned long *ids, int cpu, bool pinned)
{
	char name[BOX_NAME];
	unsigned int id, n = 0;
	int type, ret;

	/* Types are looked up each time, as the driver may have been reloaded. */
	for_each_set_bit(id, ids, MEMIO_BOX_IDS) {
		type = box_type(table->pmu, id, name);
		if (type < 0)
			continue;
		ret = box_add_set(b, table, n, type, name, cpu, pinned);
		if (ret < 0)
			return ret;
		n += ret;
	}
	return n;
}

/**
 * memio_box_arm - see &memio_source.arm
 * @source:	the source
 * @cpu:	a CPU of the package
 * @pinned:	its events are
 *
 * Context: process, with the CPU hotplug lock, may sleep.
 * Return: what memio_box_read() reads, or an error pointer.
 */
struct memio_armed *memio_box_arm(const struct memio_source *source, int cpu, bool pinned)
{
	const struct memio_box_table *table = source->table;
	DECLARE_BITMAP(beside_ids, MEMIO_BOX_IDS);
	DECLARE_BITMAP(ids, MEMIO_BOX_IDS);
	unsigned int boxes = box_ids(table, ids);
	struct box_armed *b;
	int ret;

	if (table->beside)
		boxes += box_ids(table->beside, beside_ids);
	b = kzalloc(struct_size(b, e, boxes * MEMIO_BOX_EVENTS), GFP_KERNEL);
	if (!b)
		return ERR_PTR(-ENOMEM);
	if (table->slice_kib)
		b->slices = boot_cpu_data.x86_cache_size / table->slice_kib;

	ret = box_add_all(b, table, ids, cpu, pinned);
	if (ret < 0)
		goto release;
	b->armed.boxes = ret;
	ret = -ENODEV;
	if (b->armed.boxes < table->sets)
		goto release;
	if (table->beside) {
		ret = box_add_all(b, table->beside, beside_ids, cpu, pinned);
		if (ret < 0)
			goto release;
	}
	return &b->armed;

release:
	memio_box_disarm(&b->armed);
	return ERR_PTR(ret);
}

/**
 * memio_box_disarm - see &memio_source.disarm
 * @armed:	of memio_box_arm()
 *
 * Context: process, may sleep.
 */
void memio_box_disarm(struct memio_armed *armed)
{
	struct box_armed *b = container_of(armed, struct box_armed, armed);

	while (b->nr)
		perf_event_release_kernel(b->e[--b->nr].event);
	kfree(b);
}

/**
 * memio_box_mend - see &memio_source.mend
 * @armed:	of memio_box_arm()
 *
 * Context: process, with the CPU hotplug lock, may sleep.
 * Return: false if the driver has moved the events to another CPU.
 */
bool memio_box_mend(struct memio_armed *armed)
{
	struct box_armed *b = container_of(armed, struct box_armed, armed);

	for (unsigned int i = 0; i < b->nr; i++) {
		if (READ_ONCE(b->e[i].event->cpu) != armed->cpu)
			return false;
		/* does nothing unless it is in the error state */
		perf_event_enable(b->e[i].event);
	}
	return true;
}

/**
 * memio_box_read - see &memio_source.read
 * @armed:	of memio_box_arm()
 * @since_ns:	when it was last called
 * @counts:	the result
 *
 * Context: on CPU &memio_armed.cpu, interrupts off.
 */
void memio_box_read(struct memio_armed *armed, u64 since_ns, struct memio_counts *counts)
{
	struct box_armed *b = container_of(armed, struct box_armed, armed);
	u64 most = (ktime_get_ns() - since_ns) >> LAG_SHIFT;
	struct memio_seen *seen = &counts->seen;
	bool ran = true, shared = false, dram = true, late;
	struct memio_by_box *by_box;
	unsigned int i;

	for (i = 0; i < b->nr; i++) {
		u64 count, enabled, running, lines;
		struct box_event *e = &b->e[i];

		if (perf_event_read_local(e->event, &count, &enabled, &running))
			break;
		late = enabled - running - e->lag > most;
		if (late && e->group == MEMIO_DRAM) {
			dram = false;
		} else if (late) {
			ran = false;
			shared |= running != e->ran;
		}
		e->lag = enabled - running;
		e->ran = running;
		lines = count - e->last;
		e->last = count;
		if (e->group == MEMIO_DRAM) {
			seen->dram = true;
			if (e->role == MEMIO_DRAM_READ)
				seen->dram_read += lines;
			else
				seen->dram_write += lines;
			continue;
		}
		seen->lines[e->group][e->role] += lines;
		by_box = &counts->by_box[e->group];
		if (e->role == MEMIO_ALL)
			by_box->all[e->box] = lines;
		else if (e->role == MEMIO_MISSES)
			by_box->misses[e->box] = lines;
		else if (e->role == MEMIO_DIRTIED)
			by_box->dirtied[e->box] = lines;
	}
	if (!dram) {
		seen->dram = false;
		seen->dram_read = 0;
		seen->dram_write = 0;
	}
	if (seen->dram && num_node_state(N_MEMORY) == 1)
		seen->cache = 1024ULL * boot_cpu_data.x86_cache_size;
	seen->total = max(armed->boxes, b->slices);
	for (unsigned int g = 0; g < MEMIO_GROUPS; g++) {
		seen->boxes[g] = armed->groups[g];
		counts->by_box[g].nr = armed->groups[g];
	}
	counts->reads = i;

	/* The first has no beginning. An event that has not run at all is not in the way. */
	counts->shared = shared && b->begun;
	counts->there = i == b->nr && (ran || !b->begun);
	b->begun = true;
}

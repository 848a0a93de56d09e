// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: groups, and the files of the cgroup controller
 *
 * A group counts what it and those below it moved, by device, in a meter per CPU.
 * A meter is made when the device first moves something for the group. If
 * there is no memory for it then, the bytes are missing in this group alone, and
 * no_slot says so: the groups above it have them.
 *
 *	memio.stat, on the root as well:
 *
 *	0000:00:03.0 io_to=66 io_from=268435456 mem_read=66 mem_write=134217728 unpriced=0
 *	cpu mem_read=0 mem_write=0 valid=0
 *	total io_to=66 io_from=268435456 mem_read=66 mem_write=134217728 unpriced=0
 *
 * Bytes since the group was made; rates are the reader's. On the root, a
 * device's line has its own total, and what no owner has claimed: packets that
 * were forwarded, dropped, or are not yet read.
 */

#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "internal.h"

struct memio_cgroup memio_root = {
	.owners = LIST_HEAD_INIT(memio_root.owners),
};

/* The group's meters for a device; NULL: no memory. */
static struct memio_meter __percpu *group_meter(struct memio_cgroup *g,
						struct memio_device *dev)
{
	/* Pairs with the cmpxchg: the meters are initialised. */
	struct memio_meter __percpu *m = smp_load_acquire(&g->meter[dev->id]);
	struct memio_meter __percpu *old;
	int cpu;

	if (likely(m))
		return m;

	m = alloc_percpu_gfp(struct memio_meter, GFP_ATOMIC | __GFP_NOWARN);
	if (!m)
		return NULL;
	for_each_possible_cpu(cpu)
		memio_meter_init(per_cpu_ptr(m, cpu));
	old = cmpxchg(&g->meter[dev->id], NULL, m);
	if (old) {
		free_percpu(m);
		return old;
	}
	return m;
}

/**
 * memio_cgroup_add - charge a group alone, without those above it
 * @g:		the group
 * @dev:	the device
 * @io:		the bytes
 *
 * Context: any, with interrupts off.
 */
void memio_cgroup_add(struct memio_cgroup *g, struct memio_device *dev,
		      const struct memio_io *io)
{
	struct memio_meter __percpu *m = group_meter(g, dev);

	if (likely(m))
		memio_meter_add(this_cpu_ptr(m), dev, io);
	else
		atomic_long_inc(&g->no_slot);
}

static void read_percpu(struct memio_meter __percpu *m, struct memio_device *dev,
			struct memio_bytes *sum)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memio_meter_read(per_cpu_ptr(m, cpu), dev, sum);
}

/**
 * memio_cgroup_read - add what a group moved by a device to a sum
 * @g:		the group
 * @dev:	the device
 * @sum:	the sum
 *
 * Context: any.
 */
void memio_cgroup_read(struct memio_cgroup *g, struct memio_device *dev,
		       struct memio_bytes *sum)
{
	/* As in group_meter(). */
	struct memio_meter __percpu *m = smp_load_acquire(&g->meter[dev->id]);

	if (m)
		read_percpu(m, dev, sum);
}

/**
 * memio_show_bytes - print the common fields of a line
 * @m:	where
 * @b:	the sums
 */
void memio_show_bytes(struct seq_file *m, const struct memio_bytes *b)
{
	seq_printf(m, " io_to=%llu io_from=%llu mem_read=%llu mem_write=%llu unpriced=%llu",
		   b->to, b->from, b->read, b->write, b->unpriced);
}

/* Stocks may still have what was claimed here, unless they were drained. */
static s64 unclaimed(u64 total, u64 claimed, bool drained)
{
	s64 left = total - claimed;

	return drained ? left : max(left, 0LL);
}

static int stat_show(struct seq_file *sf, void *v)
{
	struct memio_cgroup *g = memio_css_cgroup(seq_css(sf));
	struct memio_bytes total = {}, b, *claimed;
	struct memio_device *dev;
	bool drained;

	claimed = kvcalloc(MEMIO_DEVICES, sizeof(*claimed), GFP_KERNEL);
	if (!claimed)
		return -ENOMEM;

	if (perfmon_capable())
		memio_sampler_want();
	drained = memio_stock_drain_read();
	for (u16 id = 1; id < MEMIO_DEVICES && (dev = memio_device(id)); id++)
		memio_cgroup_read(g, dev, &claimed[id]);
	/*
	 * A byte is charged to its device before anybody claims it, but perhaps in
	 * another CPU's stock: with these drained once more, the totals have
	 * all that was claimed above.
	 */
	if (g == &memio_root && drained)
		memio_stock_drain();

	for (u16 id = 1; id < MEMIO_DEVICES && (dev = memio_device(id)); id++) {
		b = claimed[id];
		if (g == &memio_root) {
			b = (struct memio_bytes){};
			read_percpu(dev->total, dev, &b);
		} else if (!b.to && !b.from) {
			continue;
		}
		seq_puts(sf, dev->name);
		memio_show_bytes(sf, &b);
		if (g == &memio_root)
			seq_printf(sf, " unclaimed_to=%lld unclaimed_from=%lld",
				   unclaimed(b.to, claimed[id].to, drained),
				   unclaimed(b.from, claimed[id].from, drained));
		seq_putc(sf, '\n');
		memio_bytes_add(&total, &b);
	}
	kvfree(claimed);
	seq_puts(sf, "cpu mem_read=0 mem_write=0 valid=0\ntotal");
	memio_show_bytes(sf, &total);
	seq_putc(sf, '\n');
	return 0;
}

static int events_show(struct seq_file *sf, void *v)
{
	struct memio_cgroup *g = memio_css_cgroup(seq_css(sf));

	seq_printf(sf, "no_slot %ld\n", atomic_long_read(&g->no_slot));
	return 0;
}

static struct cftype memio_files[] = {
	{
		.name = "stat",
		.seq_show = stat_show,
	},
	{
		.name = "events.local",
		.seq_show = events_show,
	},
	{ }
};

static struct cgroup_subsys_state *memio_css_alloc(struct cgroup_subsys_state *parent)
{
	struct memio_cgroup *g;

	if (!parent) {
		memio_owner_init();
		return &memio_root.css;
	}
	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&g->owners);
	return &g->css;
}

/* From here on the group will be offlined, and so its owner given up. */
static int memio_css_online(struct cgroup_subsys_state *css)
{
	return memio_owner_init_group(memio_css_cgroup(css));
}

static void memio_css_offline(struct cgroup_subsys_state *css)
{
	memio_owner_offline_group(memio_css_cgroup(css));
}

/**
 * memio_cgroup_free_meters - free what a group counts with
 * @g:	the group, that nobody charges any more
 */
void memio_cgroup_free_meters(struct memio_cgroup *g)
{
	for (int i = 0; i < MEMIO_DEVICES; i++)
		free_percpu(g->meter[i]);
}

static void memio_css_free(struct cgroup_subsys_state *css)
{
	struct memio_cgroup *g = memio_css_cgroup(css);

	memio_cgroup_free_meters(g);
	kfree(g);
}

static void memio_attach(struct cgroup_taskset *tset)
{
	struct cgroup_subsys_state *css;
	struct task_struct *p;

	cgroup_taskset_for_each(p, css, tset)
		memio_owner_move(p, memio_css_cgroup(css));
}

struct cgroup_subsys memio_cgrp_subsys = {
	.css_alloc = memio_css_alloc,
	.css_online = memio_css_online,
	.css_offline = memio_css_offline,
	.css_free = memio_css_free,
	.attach = memio_attach,
	.dfl_cftypes = memio_files,
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: groups, and the files of the cgroup controller
 *
 * A group counts by device, in a meter per CPU, what its own tasks moved, and in another what
 * groups below it did: each byte is in one of them. So memio.stat is the sum of the two and
 * memio.stat.local the first, and nobody has to subtract figures that were read one after the
 * other. Meters are made when the device first moves something for the group, or for one below. As
 * this may be in an interrupt, in which per-CPU memory is hardly to be had, a single meter serves
 * all CPUs until a work item has made them. If there is no memory even for that, the bytes are
 * missing in this group alone, and no_slot says so: the groups above it have them. The memory is
 * the group's, by its memory controller.
 *
 *	memio.stat, on the root as well:
 *
 *	0000:00:03.0 io_to=66 io_from=268435456 mem_read=66 mem_write=134217728 unpriced=0
 *		unpriced_to=0 unpriced_from=0 mem_read_min=0 mem_read_max=128
 *		mem_write_min=133000000 mem_write_max=135000000
 *	cpu mem_read=73400320 mem_write=2097152 valid=1 mem_read_min=73400320
 *		mem_read_max=73400320 mem_write_min=0 mem_write_max=73400320
 *	total io_to=66 io_from=268435456 mem_read=73400386 mem_write=136314880 unpriced=0
 *		unpriced_to=0 unpriced_from=0 mem_read_min=73400320
 *		mem_read_max=73400448 mem_write_min=133000000 mem_write_max=208400320
 *
 * (each in one line). Bytes since the group was made; rates are the reader's. On the root, a
 * device's line has its own total, and what no owner has claimed: packets that
 * were forwarded, dropped, or are not yet read; and beside the line "cpu", which has
 * what the CPUs read for tasks, those for kernel threads, interrupts and the idle loop
 * (cpu.c). Lines of CPUs are there only while that is counted. The line "total" is the sum of all
 * lines above it, and of what CPUs read while it was counted, so that it never goes back.
 *
 * What memory bytes are at least and at most is said in bounds.c.
 */

#include <linux/cgroup.h>
#include <linux/ctype.h>
#include <linux/kstrtox.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

struct memio_cgroup memio_root;

/* Without memory for it the shared one serves on. */
static void make_meter_percpu(struct memio_group_meter *m, struct mem_cgroup *memory)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN;
	struct memio_meter __percpu *percpu;
	struct mem_cgroup *old;
	int cpu;

	if (!m || m->percpu || !READ_ONCE(m->used))
		return;
	old = set_active_memcg(memory);
	percpu = alloc_percpu_gfp(struct memio_meter, gfp);
	set_active_memcg(old);
	if (!percpu)
		return;
	for_each_possible_cpu(cpu)
		memio_meter_init(per_cpu_ptr(percpu, cpu), MEMIO_METER_GROUP);
	/* Pairs with the acquire in those who add and read: they are initialised. */
	smp_store_release(&m->percpu, percpu);
}

/* A meter for each CPU, in place of the one for all; both count. */
static void make_percpu(struct work_struct *work)
{
	struct memio_cgroup *g = container_of(work, struct memio_cgroup, make);
	struct mem_cgroup *memory = memio_get_memory_of(g);
	struct memio_group_meter *m;

	for (int i = 0; i < MEMIO_DEVICES; i++) {
		/* Pairs with the cmpxchg in meter_at(), likewise. */
		m = smp_load_acquire(&g->meter[i]);
		if (!m)
			continue;
		make_meter_percpu(m, memory);
		make_meter_percpu(smp_load_acquire(&m->below), memory); /* likewise */
	}
	mem_cgroup_put(memory);
}

static void notify_fn(struct irq_work *work)
{
	struct memio_cgroup *g = container_of(work, struct memio_cgroup, notify);

	cgroup_file_notify(&g->events_file);
	cgroup_file_notify(&g->events_local_file);
}

/* The meter at a place, which is made if there is none; NULL: no memory. */
static struct memio_group_meter *meter_at(struct memio_cgroup *g, struct memio_group_meter **at)
{
	/* Pairs with the cmpxchg: it is initialised. */
	struct memio_group_meter *m = smp_load_acquire(at), *there;
	struct mem_cgroup *old;

	if (likely(m))
		return m;
	old = set_active_memcg(memio_memory_of(g));
	m = kzalloc(sizeof(*m), MEMIO_GFP_CHARGE);
	set_active_memcg(old);
	if (!m)
		return NULL;
	memio_meter_init(&m->shared, MEMIO_METER_GROUP);
	there = cmpxchg(at, NULL, m);
	if (there) {
		kfree(m);
		return there;
	}
	return m;
}

/**
 * memio_cgroup_prepare - see to it that a group can be charged with a device
 * @g:		the group
 * @below:	for a group below it
 * @dev:	the device
 *
 * Context: any in which memory can be had, in an RCU read-side critical section.
 * Return: false if there is none.
 */
bool memio_cgroup_prepare(struct memio_cgroup *g, bool below, struct memio_device *dev)
{
	struct memio_group_meter *m = meter_at(g, &g->meter[dev->id]);

	if (m && below)
		m = meter_at(g, &m->below);
	if (unlikely(!m))
		return false;
	if (unlikely(!READ_ONCE(m->used))) {
		WRITE_ONCE(m->used, true);
		/* The group, which is being charged, outlives its work: see memio_css_free(). */
		queue_work(system_unbound_wq, &g->make);
	}
	return true;
}

/**
 * memio_cgroup_init - a group that has moved nothing
 * @g:	the group, zeroed
 *
 * Context: process, may sleep.
 * Return: 0, or -ENOMEM.
 */
int memio_cgroup_init(struct memio_cgroup *g)
{
	INIT_LIST_HEAD(&g->homes);
	g->weight = MEMIO_WEIGHT_DEFAULT;
	INIT_WORK(&g->make, make_percpu);
	memio_pressure_init(&g->pressure);
	/* It may lie where another one was. */
	memio_limit_changed();
	/* Not a hard one: it takes sleeping locks of kernfs. */
	init_irq_work(&g->notify, notify_fn);
	/* Not later: it is charged with the run queue's lock. */
	g->cpu = alloc_percpu_gfp(struct memio_group_cpu, GFP_KERNEL_ACCOUNT);
	return g->cpu ? 0 : -ENOMEM;
}

/**
 * memio_cgroup_add_cpu - charge a group alone with what CPUs read for it
 * @g:		the group
 * @below:	for a group below it
 * @b:		the bytes
 *
 * Context: any, with interrupts off; also with the run queue's lock.
 */
void memio_cgroup_add_cpu(struct memio_cgroup *g, bool below, const struct memio_cpu_bytes *b)
{
	struct memio_group_cpu *cpu = this_cpu_ptr(g->cpu);
	struct memio_cpu_bytes *sum = below ? &cpu->below : &cpu->own;

	WRITE_ONCE(sum->read, sum->read + b->read);
	WRITE_ONCE(sum->write, sum->write + b->write);
}

static void read_cpu(struct memio_cgroup *g, bool local, struct memio_bytes *sum)
{
	const struct memio_group_cpu *c;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(g->cpu, cpu);
		sum->read += READ_ONCE(c->own.read);
		sum->write += READ_ONCE(c->own.write);
		if (local)
			continue;
		sum->read += READ_ONCE(c->below.read);
		sum->write += READ_ONCE(c->below.write);
	}
}

/**
 * memio_cgroup_add - charge a group alone, without those above it
 * @g:		the group
 * @below:	for a group below it
 * @dev:	the device
 * @window:	as in memio_meter_add()
 * @io:		the bytes
 *
 * Context: any, with interrupts off; after memio_cgroup_prepare().
 */
void memio_cgroup_add(struct memio_cgroup *g, bool below, struct memio_device *dev, u32 window,
		      const struct memio_io *io)
{
	/* Both pair with the cmpxchg in meter_at(): they are initialised. */
	struct memio_group_meter *m = smp_load_acquire(&g->meter[dev->id]);
	struct memio_meter __percpu *percpu;

	if (m && below)
		m = smp_load_acquire(&m->below); /* likewise */
	if (unlikely(!m)) {
		memio_event(g, MEMIO_EV_NO_SLOT, 1);
		return;
	}
	percpu = smp_load_acquire(&m->percpu); /* see make_meter_percpu() */
	memio_meter_add(likely(percpu) ? this_cpu_ptr(percpu) : &m->shared, dev, window, io);
}

static bool read_percpu(struct memio_meter __percpu *m, struct memio_device *dev, u32 window,
			struct memio_bytes *sum)
{
	bool pending = false;
	int cpu;

	for_each_possible_cpu(cpu)
		pending |= memio_meter_read(per_cpu_ptr(m, cpu), dev, window, sum);
	return pending;
}

static void read_total(struct memio_device *dev, u32 window, struct memio_bytes *sum)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memio_meter_read(&per_cpu_ptr(dev->total, cpu)->meter, dev, window, sum);
}

static bool read_meter(struct memio_group_meter *m, struct memio_device *dev, u32 window,
		       struct memio_bytes *sum)
{
	struct memio_meter __percpu *percpu;
	bool pending;

	pending = memio_meter_read(&m->shared, dev, window, sum);
	percpu = smp_load_acquire(&m->percpu); /* see make_meter_percpu() */
	if (percpu)
		pending |= read_percpu(percpu, dev, window, sum);
	return pending;
}

/* Returns whether anything was pending. */
static bool read_group(struct memio_cgroup *g, bool local, struct memio_device *dev, u32 window,
		       struct memio_bytes *sum)
{
	/* Both as in meter_at(). */
	struct memio_group_meter *m = smp_load_acquire(&g->meter[dev->id]), *below;
	bool pending;

	if (!m)
		return false;
	pending = read_meter(m, dev, window, sum);
	if (local)
		return pending;
	below = smp_load_acquire(&m->below); /* likewise */
	if (below)
		pending |= read_meter(below, dev, window, sum);
	return pending;
}

/**
 * memio_cgroup_read - add what a group moved by a device to a sum
 * @g:		the group
 * @local:	without what groups below it moved
 * @dev:	the device
 * @sum:	the sum
 *
 * Reading is what gives bytes that were charged long ago their price, or none. The groups
 * above and the device's total are read with it, if there were any: if they were later, they
 * might get another one for the same bytes, and have fewer of some kind than those below them.
 *
 * Context: any.
 */
void memio_cgroup_read(struct memio_cgroup *g, bool local, struct memio_device *dev,
		       struct memio_bytes *sum)
{
	u32 window = memio_price_window(dev->package);
	struct memio_bytes above = {};

	if (!READ_ONCE(g->meter[dev->id]) || !read_group(g, local, dev, window, sum))
		return;
	while ((g = memio_cgroup_parent(g)))
		read_group(g, false, dev, window, &above);
	read_total(dev, window, &above);
}

/**
 * memio_show_bounds - print the bounds of memory bytes
 * @m:	where
 * @b:	the sums
 */
void memio_show_bounds(struct seq_file *m, const struct memio_bytes *b)
{
	seq_put_decimal_ull(m, " mem_read_min=", b->read_min);
	seq_put_decimal_ull(m, " mem_read_max=", b->read_max);
	seq_put_decimal_ull(m, " mem_write_min=", b->write_min);
	seq_put_decimal_ull(m, " mem_write_max=", b->write_max);
}

/**
 * memio_show_bytes - print the common fields of a line
 * @m:	where
 * @b:	the sums
 */
void memio_show_bytes(struct seq_file *m, const struct memio_bytes *b)
{
	/* A format takes several times the instructions, and viewers read some hundred files. */
	seq_put_decimal_ull(m, " io_to=", b->to);
	seq_put_decimal_ull(m, " io_from=", b->from);
	seq_put_decimal_ull(m, " mem_read=", b->read);
	seq_put_decimal_ull(m, " mem_write=", b->write);
	seq_put_decimal_ull(m, " unpriced=", memio_unpriced(b));
	seq_put_decimal_ull(m, " unpriced_to=", b->unpriced_to);
	seq_put_decimal_ull(m, " unpriced_from=", b->unpriced_from);
	memio_show_bounds(m, b);
}

/**
 * memio_cpu_bounds - the bounds of what CPUs moved
 * @b:	what they read and wrote
 *
 * What they read was counted. What was written back is shared out by that: who reads may have
 * written nothing, or each line.
 */
void memio_cpu_bounds(struct memio_bytes *b)
{
	b->read_min = b->read;
	b->read_max = b->read;
	b->write_min = 0;
	b->write_max = max(b->read, b->write);
}

/* What CPUs read: for tasks, and on the root for nobody. */
static void show_cpu(struct seq_file *sf, struct memio_cgroup *g, bool local,
		     struct memio_bytes *total)
{
	static const char *const names[MEMIO_CPU_LINES] = {
		[MEMIO_CPU_KTHREADS]	= "cpu_kthreads",
		[MEMIO_CPU_INTERRUPTS]	= "cpu_interrupts",
		[MEMIO_CPU_IDLE]	= "cpu_idle",
	};
	bool shown = memio_cpu_shown();
	struct memio_bytes b = {};

	read_cpu(g, local, &b);
	memio_cpu_bounds(&b);
	memio_bytes_add(total, &b);
	if (shown) {
		seq_put_decimal_ull(sf, "cpu mem_read=", b.read);
		seq_put_decimal_ull(sf, " mem_write=", b.write);
		seq_put_decimal_ull(sf, " valid=", memio_cpu_valid());
		memio_show_bounds(sf, &b);
		seq_putc(sf, '\n');
	}
	if (g != &memio_root || local)
		return;
	for (int i = 0; i < MEMIO_CPU_LINES; i++) {
		struct memio_cpu_bytes line = {};

		memio_cpu_lines(i, &line);
		b = (struct memio_bytes){ .read = line.read, .write = line.write };
		memio_cpu_bounds(&b);
		memio_bytes_add(total, &b);
		if (!shown)
			continue;
		seq_printf(sf, "%s mem_read=%llu mem_write=%llu", names[i], b.read, b.write);
		memio_show_bounds(sf, &b);
		seq_putc(sf, '\n');
	}
}

static int show_stat(struct seq_file *sf, struct memio_cgroup *g, bool local)
{
	bool totals = g == &memio_root && !local;
	const unsigned int ids = memio_device_ids();
	struct memio_bytes total = {}, b, *claimed;
	struct memio_device *dev;

	claimed = kvcalloc(ids, sizeof(*claimed), GFP_KERNEL);
	if (!claimed)
		return -ENOMEM;

	memio_stock_drain();
	for (u16 id = 1; id < ids; id++)
		memio_cgroup_read(g, local, memio_device(id), &claimed[id]);
	/*
	 * A byte is charged to its device before anybody claims it, but perhaps in
	 * another CPU's stock: with these drained once more, the totals have
	 * all that was claimed above.
	 */
	if (totals)
		memio_stock_drain();

	for (u16 id = 1; id < ids; id++) {
		dev = memio_device(id);
		b = claimed[id];
		if (totals) {
			b = (struct memio_bytes){};
			read_total(dev, memio_price_window(dev->package), &b);
		} else if (!b.to && !b.from) {
			continue;
		}
		seq_puts(sf, dev->name);
		memio_show_bytes(sf, &b);
		if (totals)
			seq_printf(sf, " unclaimed_to=%lld unclaimed_from=%lld",
				   b.to - claimed[id].to, b.from - claimed[id].from);
		seq_putc(sf, '\n');
		memio_bytes_add(&total, &b);
	}
	kvfree(claimed);
	show_cpu(sf, g, local, &total);
	seq_puts(sf, "total");
	memio_show_bytes(sf, &total);
	seq_putc(sf, '\n');
	return 0;
}

static int stat_show(struct seq_file *sf, void *v)
{
	return show_stat(sf, memio_css_cgroup(seq_css(sf)), false);
}

static int stat_local_show(struct seq_file *sf, void *v)
{
	return show_stat(sf, memio_css_cgroup(seq_css(sf)), true);
}

static int state_show(struct seq_file *sf, void *v)
{
	memio_state_show(sf, memio_css_cgroup(seq_css(sf)));
	return 0;
}

static void show_events(struct seq_file *sf, atomic64_t *events)
{
	static const char *const names[MEMIO_EVENTS] = {
		[MEMIO_EV_NO_SLOT]	= "no_slot",
		[MEMIO_EV_THROTTLED]	= "throttled",
		[MEMIO_EV_THROTTLED_NS]	= "throttled_usec",
		[MEMIO_EV_OVERRUN]	= "overrun",
		[MEMIO_EV_FORGIVEN]	= "forgiven_bytes",
		[MEMIO_EV_INVALID]	= "invalid",
		[MEMIO_EV_BORROWED]	= "borrowed_bytes",
	};

	for (int i = 0; i < MEMIO_EVENTS; i++) {
		u64 n = atomic64_read(&events[i]);

		if (i == MEMIO_EV_THROTTLED_NS)
			n = div_u64(n, NSEC_PER_USEC);
		seq_printf(sf, "%s %llu\n", names[i], n);
	}
}

static int events_show(struct seq_file *sf, void *v)
{
	struct memio_cgroup *g = memio_css_cgroup(seq_css(sf));

	show_events(sf, g->events);
	memio_limit_show_stops(sf, g, false);
	return 0;
}

static int events_local_show(struct seq_file *sf, void *v)
{
	struct memio_cgroup *g = memio_css_cgroup(seq_css(sf));

	show_events(sf, g->events_local);
	memio_limit_show_stops(sf, g, true);
	return 0;
}

static int pressure_show(struct seq_file *sf, void *v)
{
	memio_pressure_show(sf, memio_css_cgroup(seq_css(sf)), ktime_get_ns());
	return 0;
}

static int limit_show(struct seq_file *sf, void *v)
{
	memio_limit_show(sf, memio_css_cgroup(seq_css(sf)));
	return 0;
}

static ssize_t limit_write(struct kernfs_open_file *of, char *buf, size_t nbytes, loff_t off)
{
	int ret = memio_limit_write(memio_css_cgroup(of_css(of)), buf);

	return ret ?: nbytes;
}

static int min_show(struct seq_file *sf, void *v)
{
	u64 min = READ_ONCE(memio_css_cgroup(seq_css(sf))->min);

	if (min == MEMIO_RATE_MAX)
		seq_puts(sf, "max\n");
	else
		seq_printf(sf, "%llu\n", min);
	return 0;
}

static ssize_t min_write(struct kernfs_open_file *of, char *buf, size_t nbytes, loff_t off)
{
	int ret = memio_min_write(memio_css_cgroup(of_css(of)), buf);

	return ret ?: nbytes;
}

static u64 min_effective_read(struct cgroup_subsys_state *css, struct cftype *cft)
{
	return READ_ONCE(memio_css_cgroup(css)->min_effective);
}

static u64 weight_read(struct cgroup_subsys_state *css, struct cftype *cft)
{
	return READ_ONCE(memio_css_cgroup(css)->weight);
}

static ssize_t weight_write(struct kernfs_open_file *of, char *buf, size_t nbytes, loff_t off)
{
	int ret = memio_weight_write(memio_css_cgroup(of_css(of)), buf);

	return ret ?: nbytes;
}

static const char *const cpu_mode_names[MEMIO_CPU_MODES] = {
	[MEMIO_CPU_AUTO]	= "auto",
	[MEMIO_CPU_ON]		= "on",
	[MEMIO_CPU_OFF]		= "off",
};

static int cpu_show(struct seq_file *sf, void *v)
{
	seq_printf(sf, "%s\n", cpu_mode_names[READ_ONCE(memio_cpu_mode)]);
	return 0;
}

static ssize_t cpu_write(struct kernfs_open_file *of, char *buf, size_t nbytes, loff_t off)
{
	int i = sysfs_match_string(cpu_mode_names, buf);

	if (i < 0)
		return i;
	WRITE_ONCE(memio_cpu_mode, i);
	memio_cpu_again();
	return nbytes;
}

static int guaranteed_show(struct seq_file *sf, void *v)
{
	seq_printf(sf, "bps=%llu\n", memio_guaranteed_get());
	return 0;
}

/* So far there is one figure for reads and writes together. */
static int parse_guaranteed(const char *text, u64 *bps)
{
	size_t n = str_has_prefix(text, "bps=");

	if (str_has_prefix(text, "rbps=") || str_has_prefix(text, "wbps="))
		return -EOPNOTSUPP;
	if (!n || !isdigit(text[n]))
		return -EINVAL;
	return kstrtou64(text + n, 10, bps);
}

static ssize_t guaranteed_write(struct kernfs_open_file *of, char *buf, size_t nbytes, loff_t off)
{
	u64 bps;
	int ret = parse_guaranteed(strim(buf), &bps);

	if (!ret)
		ret = memio_guaranteed_set(bps);
	return ret ?: nbytes;
}

static struct cftype memio_files[] = {
	{
		.name = "stat",
		.seq_show = stat_show,
	},
	{
		.name = "stat.local",
		.seq_show = stat_local_show,
	},
	{
		.name = "state",
		.seq_show = state_show,
	},
	{
		.name = "cpu",
		.flags = CFTYPE_ONLY_ON_ROOT,
		.seq_show = cpu_show,
		.write = cpu_write,
	},
	{
		.name = "guaranteed",
		.flags = CFTYPE_ONLY_ON_ROOT,
		.seq_show = guaranteed_show,
		.write = guaranteed_write,
	},
	{
		.name = "pressure",
		.seq_show = pressure_show,
	},
	{
		.name = "limit",
		.flags = CFTYPE_NOT_ON_ROOT,
		.seq_show = limit_show,
		.write = limit_write,
	},
	{
		.name = "min",
		.flags = CFTYPE_NOT_ON_ROOT,
		.seq_show = min_show,
		.write = min_write,
	},
	{
		.name = "min.effective",
		.flags = CFTYPE_NOT_ON_ROOT,
		.read_u64 = min_effective_read,
	},
	{
		.name = "weight",
		.flags = CFTYPE_NOT_ON_ROOT,
		.read_u64 = weight_read,
		.write = weight_write,
	},
	{
		.name = "events",
		.file_offset = offsetof(struct memio_cgroup, events_file),
		.seq_show = events_show,
	},
	{
		.name = "events.local",
		.file_offset = offsetof(struct memio_cgroup, events_local_file),
		.seq_show = events_local_show,
	},
	{ }
};

static struct cgroup_subsys_state *memio_css_alloc(struct cgroup_subsys_state *parent)
{
	struct memio_cgroup *g;

	if (!parent) {
		memio_owner_init();
		if (memio_cgroup_init(&memio_root))
			return ERR_PTR(-ENOMEM);
		return &memio_root.css;
	}
	g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);
	if (!g)
		return ERR_PTR(-ENOMEM);
	if (memio_cgroup_init(g)) {
		kfree(g);
		return ERR_PTR(-ENOMEM);
	}
	return &g->css;
}

/*
 * From here on the group will be offlined, and so its owner given up. What its tasks move is
 * accounted from the first byte on.
 */
static int memio_css_online(struct cgroup_subsys_state *css)
{
	int ret = memio_owner_init_group(memio_css_cgroup(css));

	if (!ret && css->parent)
		memio_group_comes();
	return ret;
}

static void memio_css_offline(struct cgroup_subsys_state *css)
{
	struct memio_cgroup *g = memio_css_cgroup(css);

	memio_limit_offline(g);
	memio_owner_offline_group(g);
	memio_group_goes();
}

/**
 * memio_cgroup_free_meter - free what a group counts a device's bytes with
 * @g:	the group, that nobody charges for it any more
 * @id:	the device
 */
void memio_cgroup_free_meter(struct memio_cgroup *g, u16 id)
{
	struct memio_group_meter *m = g->meter[id];

	if (!m)
		return;
	if (m->below)
		free_percpu(m->below->percpu);
	kfree(m->below);
	free_percpu(m->percpu);
	kfree(m);
	g->meter[id] = NULL;
}

/**
 * memio_cgroup_free_meters - free what a group counts with
 * @g:	the group, that nobody charges any more
 *
 * Context: process, may sleep.
 */
void memio_cgroup_free_meters(struct memio_cgroup *g)
{
	irq_work_sync(&g->notify);
	cancel_work_sync(&g->make);
	for (int i = 0; i < MEMIO_DEVICES; i++)
		memio_cgroup_free_meter(g, i);
	free_percpu(g->cpu);
	kfree(g->dev_stops);
}

static void memio_css_free(struct cgroup_subsys_state *css)
{
	struct memio_cgroup *g = memio_css_cgroup(css);

	memio_limit_free(g);
	memio_cgroup_free_meters(g);
	kfree(g);
}

static void memio_attach(struct cgroup_taskset *tset)
{
	struct cgroup_subsys_state *css;
	struct task_struct *p;

	/* A kernel thread may be at acting for somebody, who does not move with it. */
	cgroup_taskset_for_each(p, css, tset)
		if (!(p->flags & PF_KTHREAD)) {
			memio_cpu_leaves(p);
			memio_owner_move(p, memio_css_cgroup(css));
			memio_throttle_moved(p);
		}
}

/* What CPUs read is charged where nothing can be allocated: the task has to be an owner. */
static void memio_forked(struct task_struct *p)
{
	if (!memio_cpu_counting() || p->flags & PF_KTHREAD)
		return;
	__memio_task_owner(p);
	if (!p->memio_owner)
		memio_cpu_no_owner();
}

struct cgroup_subsys memio_cgrp_subsys = {
	.css_alloc = memio_css_alloc,
	.css_online = memio_css_online,
	.css_offline = memio_css_offline,
	.css_free = memio_css_free,
	.attach = memio_attach,
	.fork = memio_forked,
	.dfl_cftypes = memio_files,
};

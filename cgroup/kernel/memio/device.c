// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: devices, the physical DMA masters
 *
 * Network interfaces and disks are what tasks use, but it is a PCI function (or
 * another device with a DMA mask) that moves the bytes, once, whatever is
 * stacked on it. So each interface and disk is led to its master when it appears:
 * up from its parent to the first device with a DMA mask. Those
 * without one (loop, dm, md, veth, bridges) have the id 0 and are never charged.
 *
 *	eth0      -> virtio0 -> 0000:00:03.0
 *	nvme0n1   -> nvme0   -> 0000:00:04.0
 *	dm-0, lo  -> nobody
 *
 * A master's identity is its bus name. Its totals are made with the first
 * interface or disk and stay: one that is unplugged and comes back under its
 * name goes on counting, and an id that is still in some packet's tag is valid for
 * ever. What comes after the MEMIO_DEVICES-th is not accounted, and said to be.
 *
 * The interface's and the disk's names are shown as aliases.
 */

#include <kunit/visibility.h>
#include <linux/bitmap.h>
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/if_arp.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "internal.h"

struct alias {
	struct list_head list;
	const void *what;		/* a net_device or a gendisk */
	const struct net *net;		/* only there has it this name; NULL: everywhere */
	u16 id;
	char name[MEMIO_NAME];
};

/* Both for those who change them and for the list's readers. */
static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(aliases);

/* Set once; a device is complete before its id is given to anybody. */
VISIBLE_IF_KUNIT struct memio_device *memio_devices[MEMIO_DEVICES];
static unsigned int nr_devices = 1;

/*
 * Devices whose totals on this CPU have grown since the sampler took what they have
 * moved. So it need not look at all devices on all CPUs: with 64 CPUs and ten
 * devices these are 640 lines a hundred times a second, and here it is 64.
 */
static DEFINE_PER_CPU_ALIGNED(unsigned long [BITS_TO_LONGS(MEMIO_DEVICES)], memio_fresh);

/**
 * memio_device - a device by its id
 * @id:	what memio_device_register() returned, not 0
 *
 * Context: any.
 * Return: the device; NULL if there is none (yet).
 */
struct memio_device *memio_device(u16 id)
{
	return id < MEMIO_DEVICES ? READ_ONCE(memio_devices[id]) : NULL;
}

/**
 * memio_device_ids - where the devices' ids end
 *
 * A reader takes it once, makes room for as many and leaves out devices that come meanwhile: they
 * are in its next reading.
 *
 * Context: any.
 * Return: the id that the next device will get; those from 1 up to it have a device.
 */
unsigned int memio_device_ids(void)
{
	/* Pairs with the release in new_device(). */
	return smp_load_acquire(&nr_devices);
}

/* Those beyond MEMIO_PACKAGES have one number in common, which has no prices. */
VISIBLE_IF_KUNIT unsigned int memio_device_package(int package)
{
	return clamp(package, 0, MEMIO_PACKAGES);
}

static unsigned int package_of(struct device *dev)
{
	int node = dev_to_node(dev);
	int cpu = 0;

	if (node != NUMA_NO_NODE && !cpumask_empty(cpumask_of_node(node)))
		cpu = cpumask_first(cpumask_of_node(node));
	return memio_device_package(memio_package_of(cpu));
}

static struct memio_device *new_device(struct device *dev)
{
	struct memio_device *d;
	int cpu;

	if (nr_devices == MEMIO_DEVICES) {
		pr_warn_once("memio: more than %d devices: %s and others are not accounted\n",
			     MEMIO_DEVICES - 1, dev_name(dev));
		return NULL;
	}

	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return NULL;
	d->total = alloc_percpu(struct memio_total);
	if (!d->total) {
		kfree(d);
		return NULL;
	}
	for_each_possible_cpu(cpu)
		memio_meter_init(&per_cpu_ptr(d->total, cpu)->meter, MEMIO_METER_DEVICE);
	memio_lasting_init(&d->lasting);
	strscpy(d->name, dev_name(dev));
	d->package = package_of(dev);
	d->id = nr_devices;
	/* Complete for a reader that goes through the devices, */
	smp_store_release(&memio_devices[d->id], d);
	/* and for one that takes their ids first: see memio_device_ids(). */
	smp_store_release(&nr_devices, d->id + 1);
	return d;
}

/* With devices_lock; names are cut. */
static u16 by_name(const char *name)
{
	for (unsigned int i = 1; i < nr_devices; i++)
		if (!strncmp(memio_devices[i]->name, name, MEMIO_NAME - 1))
			return i;
	return 0;
}

/**
 * memio_device_register - find the DMA master of what is above it
 * @dev:	the parent of an interface or a disk; may be NULL
 *
 * Context: process, devices_lock is taken.
 * Return: the master's id, or 0 if there is none or it can't be accounted.
 */
u16 memio_device_register(struct device *dev)
{
	struct memio_device *d;
	u16 id;

	while (dev && !dev->dma_mask)
		dev = dev->parent;
	if (!dev)
		return 0;

	scoped_guard(mutex, &devices_lock) {
		id = by_name(dev_name(dev));
		if (id)
			return id;
		d = new_device(dev);
		id = d ? d->id : 0;
	}
	if (id)
		memio_limit_new_device(id);
	return id;
}

/**
 * memio_device_find - a device by its name, or by one of its aliases
 * @name:	the name
 *
 * Interfaces of other network namespaces are not the caller's to name.
 *
 * Context: process.
 * Return: its id; 0 if there is none.
 */
u16 memio_device_find(const char *name)
{
	struct alias *a;
	u16 id;

	guard(mutex)(&devices_lock);
	id = by_name(name);
	if (id)
		return id;
	list_for_each_entry(a, &aliases, list)
		if (!strcmp(a->name, name) && (!a->net || a->net == current->nsproxy->net_ns))
			return a->id;
	return 0;
}

static void set_alias(const void *what, const struct net *net, u16 id, const char *name)
{
	struct alias *a;

	guard(mutex)(&devices_lock);
	list_for_each_entry(a, &aliases, list)
		if (a->what == what)
			goto found;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return;			/* it is only a name */
	a->what = what;
	list_add_tail(&a->list, &aliases);
found:
	a->net = net;
	a->id = id;
	strscpy(a->name, name);
}

static void drop_alias(const void *what)
{
	struct alias *a, *next;

	guard(mutex)(&devices_lock);
	list_for_each_entry_safe(a, next, &aliases, list)
		if (a->what == what) {
			list_del(&a->list);
			kfree(a);
		}
}

/**
 * memio_device_show_aliases - print " alias=A,B", if there are any
 * @m:	where
 * @id:	the device
 *
 * Interfaces of other network namespaces are not the reader's to see.
 *
 * Context: process.
 */
void memio_device_show_aliases(struct seq_file *m, u16 id)
{
	const char *before = " alias=";
	struct alias *a;

	guard(mutex)(&devices_lock);
	list_for_each_entry(a, &aliases, list) {
		if (a->id != id || (a->net && a->net != current->nsproxy->net_ns))
			continue;
		seq_puts(m, before);
		/* An interface's name is its user's choice. */
		seq_escape(m, a->name, ",= \t\n\\");
		before = ",";
	}
}

/**
 * memio_device_add - a device has moved bytes
 * @dev:	the device
 * @window:	as in memio_meter_add()
 * @io:		the bytes
 *
 * Context: any, with interrupts off.
 */
void memio_device_add(struct memio_device *dev, u32 window, const struct memio_io *io)
{
	unsigned long *fresh = this_cpu_ptr(memio_fresh);
	struct memio_total *t = this_cpu_ptr(dev->total);

	memio_meter_add(&t->meter, dev, window, io);
	/* This CPU's alone: interrupts are off. */
	WRITE_ONCE(t->to_lines, t->to_lines + io->to_lines);
	WRITE_ONCE(t->from_lines, t->from_lines + io->from_lines);
	/* With memio_devices_moved(): either it sees the lines or we see that it took the bit. */
	smp_mb();
	if (!test_bit(dev->id, fresh))
		set_bit(dev->id, fresh);
}

/**
 * memio_device_charged - somebody is charged with what a device moves
 * @dev:	the device
 * @window:	as in memio_meter_add()
 * @owner:	who
 * @g:		their group
 *
 * While it is the same one all the time, all that the device's lines cost is theirs. Who
 * is overwritten by another CPU comes again.
 *
 * Context: any.
 */
void memio_device_charged(struct memio_device *dev, u32 window, u32 owner,
			  const struct memio_cgroup *g)
{
	if (READ_ONCE(dev->owner) != owner) {
		WRITE_ONCE(dev->owner, owner);
		WRITE_ONCE(dev->owners, window);
	}
	if (READ_ONCE(dev->group) != g) {
		WRITE_ONCE(dev->group, g);
		WRITE_ONCE(dev->groups, window);
	}
}

/* What a device has moved on a CPU since this was last called. */
static void take_lines(struct memio_total *t, struct memio_moved *moved)
{
	u64 to = READ_ONCE(t->to_lines), from = READ_ONCE(t->from_lines);

	moved->to += to - t->taken_to;
	moved->from += from - t->taken_from;
	t->taken_to = to;
	t->taken_from = from;
}

/**
 * memio_devices_moved - what a package's devices have moved since this was last called
 * @package:	the package
 * @moved:	room for all devices: those that have moved anything, in bytes of whole lines,
 *		but for what stocks hold
 * @at:		room to work in, by id: zeroed, before and after
 *
 * Looks at a line of each CPU, and at those that CPUs have added to since.
 *
 * Context: any, one at a time for each package.
 * Return: how many are in @moved.
 */
unsigned int memio_devices_moved(unsigned int package, struct memio_moved *moved, u16 *at)
{
	unsigned int nr = 0, i, id, bit;
	struct memio_device *d;
	unsigned long *fresh, word;
	int cpu;

	for_each_possible_cpu(cpu) {
		fresh = per_cpu(memio_fresh, cpu);
		for (i = 0; i < BITS_TO_LONGS(MEMIO_DEVICES); i++) {
			word = READ_ONCE(fresh[i]);
			for_each_set_bit(bit, &word, BITS_PER_LONG) {
				id = i * BITS_PER_LONG + bit;
				d = memio_device(id);
				if (!d || d->package != package)
					continue;
				clear_bit(bit, &fresh[i]);
				/* A full barrier, as that in memio_device_add(). */
				smp_mb__after_atomic();
				if (!at[id]) {
					moved[nr] = (struct memio_moved){ .dev = id };
					at[id] = ++nr;
				}
				take_lines(per_cpu_ptr(d->total, cpu), &moved[at[id] - 1]);
			}
		}
	}
	for (i = 0; i < nr; i++)
		at[moved[i].dev] = 0;
	return nr;
}

/**
 * memio_disk_add - a disk appears
 * @disk:	the disk
 *
 * Context: process.
 */
void memio_disk_add(struct gendisk *disk)
{
	/* What has no requests is not charged: it copies (pmem), or others below it are. */
	u16 id = queue_is_mq(disk->queue) ? memio_device_register(disk_to_dev(disk)->parent) : 0;
	char dev[16];

	disk->queue->memio_dev = id;
	if (!id)
		return;
	snprintf(dev, sizeof(dev), "%d:%d", disk->major, disk->first_minor);
	set_alias(disk, NULL, id, disk->disk_name);
	set_alias(&disk->queue, NULL, id, dev);
}

/**
 * memio_disk_del - a disk goes
 * @disk:	the disk; requests may still be under way
 *
 * Context: process.
 */
void memio_disk_del(struct gendisk *disk)
{
	drop_alias(disk);
	drop_alias(&disk->queue);
}

/* What is above others doesn't move anything itself, whatever its parent. */
static void find_master(struct net_device *dev)
{
	u16 id = 0;

	/* What a monitor of a wireless device gets is a copy. */
	if (list_empty(&dev->adj_list.lower) && dev->type != ARPHRD_IEEE80211_RADIOTAP)
		id = memio_device_register(dev->dev.parent);

	WRITE_ONCE(dev->memio_dev, id);
	if (id)
		set_alias(dev, dev_net(dev), id, dev->name);
	else
		drop_alias(dev);
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);

	switch (event) {
	case NETDEV_REGISTER:
	case NETDEV_CHANGENAME:
		find_master(dev);
		break;
	case NETDEV_CHANGEUPPER:
		find_master(((struct netdev_notifier_changeupper_info *)ptr)->upper_dev);
		break;
	case NETDEV_UNREGISTER:
		drop_alias(dev);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

static int __init memio_device_init(void)
{
	return register_netdevice_notifier(&netdev_notifier);
}
device_initcall(memio_device_init);

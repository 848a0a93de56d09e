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
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "internal.h"

struct alias {
	struct list_head list;
	const void *what;		/* a net_device or a gendisk */
	u16 id;
	char name[MEMIO_NAME];
};

/* Both for those who change them and for the list's readers. */
static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(aliases);

/* Set once; a device is complete before its id is given to anybody. */
VISIBLE_IF_KUNIT struct memio_device *memio_devices[MEMIO_DEVICES];
static unsigned int nr_devices = 1;

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

static unsigned int package_of(struct device *dev)
{
	int node = dev_to_node(dev);
	int cpu = 0;

	if (node != NUMA_NO_NODE && !cpumask_empty(cpumask_of_node(node)))
		cpu = cpumask_first(cpumask_of_node(node));
	return min(max(memio_package_of(cpu), 0), MEMIO_PACKAGES - 1);
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
	d->total = alloc_percpu(struct memio_meter);
	if (!d->total) {
		kfree(d);
		return NULL;
	}
	for_each_possible_cpu(cpu)
		memio_meter_init(per_cpu_ptr(d->total, cpu));
	strscpy(d->name, dev_name(dev));
	d->package = package_of(dev);
	d->id = nr_devices;
	/* Complete for whoever goes through the devices. */
	smp_store_release(&memio_devices[nr_devices++], d);
	return d;
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

	while (dev && !dev->dma_mask)
		dev = dev->parent;
	if (!dev)
		return 0;

	guard(mutex)(&devices_lock);
	for (unsigned int i = 1; i < nr_devices; i++)
		if (!strncmp(memio_devices[i]->name, dev_name(dev), MEMIO_NAME - 1))
			return i;
	d = new_device(dev);
	return d ? d->id : 0;
}

static void set_alias(const void *what, u16 id, const char *name)
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
 * Context: process.
 */
void memio_device_show_aliases(struct seq_file *m, u16 id)
{
	const char *before = " alias=";
	struct alias *a;

	guard(mutex)(&devices_lock);
	list_for_each_entry(a, &aliases, list)
		if (a->id == id) {
			seq_printf(m, "%s%s", before, a->name);
			before = ",";
		}
}

/**
 * memio_device_lines - what a device has moved
 * @d:		the device
 * @to:		to it since boot, in whole lines, in bytes, but for what stocks hold
 * @from:	from it, likewise
 *
 * Context: any.
 */
void memio_device_lines(const struct memio_device *d, u64 *to, u64 *from)
{
	struct memio_meter *m;
	int cpu;

	*to = 0;
	*from = 0;
	for_each_possible_cpu(cpu) {
		m = per_cpu_ptr(d->total, cpu);
		*to += READ_ONCE(m->to_lines);
		*from += READ_ONCE(m->from_lines);
	}
}

/**
 * memio_disk_add - a disk appears
 * @disk:	the disk
 *
 * Context: process.
 */
void memio_disk_add(struct gendisk *disk)
{
	u16 id = memio_device_register(disk_to_dev(disk)->parent);
	char dev[16];

	disk->queue->memio_dev = id;
	if (!id)
		return;
	snprintf(dev, sizeof(dev), "%d:%d", disk->major, disk->first_minor);
	set_alias(disk, id, disk->disk_name);
	set_alias(&disk->queue, id, dev);
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

static int netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr), *upper;

	switch (event) {
	case NETDEV_REGISTER:
		dev->memio_dev = memio_device_register(dev->dev.parent);
		fallthrough;
	case NETDEV_CHANGENAME:
		if (dev->memio_dev)
			set_alias(dev, dev->memio_dev, dev->name);
		break;
	case NETDEV_CHANGEUPPER:
		/* What is above others doesn't move anything itself, whatever its parent. */
		upper = ((struct netdev_notifier_changeupper_info *)ptr)->upper_dev;
		upper->memio_dev = 0;
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

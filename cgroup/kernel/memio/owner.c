// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: owners, whom bytes are charged to
 *
 * A task becomes an owner with its first IO, not when it is forked: most tasks
 * never do any. Its id then goes into the tags of packets, bios and dirty pages,
 * which name it when the bytes move: perhaps after the task has exited,
 * perhaps on a CPU where it never ran.
 *
 *	task --id--> owner --> group --> parent --> ... --> root
 *	               |         `- meter per device and CPU
 *	               `- account per device: what the task's own file shows
 *
 * A charge goes to the owner's account and to its group with all ancestors. So a
 * group's sums are complete at any time, and nothing has to be handed up
 * when the group goes. What a charge costs is made small by the stock (charge.c),
 * through which only one in many comes here.
 *
 * An owner is given up when its task exits or moves to another group (where it
 * becomes a new owner: what was tagged before the move is charged to the old
 * group). It then waits until no page has its tag and packets and bios have had
 * MEMIO_QUARANTINE to arrive, and goes on to charge its group. When a group
 * goes offline, its owners are handed to the parent, so that none pins it.
 *
 * A group is an owner, too: for tasks that get no id of their own because
 * there is none left, or no memory. Then the group's bytes are right, and memio.stat's
 * no_slot says that the tasks' are not.
 *
 * Locking: owners_lock is taken for what happens once in an owner's life: birth,
 * giving up, change of group. memio_owner.lock is taken to add an account and for
 * updates; accounts are read without it. Charges hold only the meters' locks.
 */

#include <kunit/visibility.h>
#include <linux/cgroup.h>
#include <linux/cleanup.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"

#include <trace/events/memio.h>

#define MEMIO_QUARANTINE	(30 * HZ)
#define MEMIO_MIN_FREE		1024

static struct memio_ids owner_ids;
static DEFINE_RAW_SPINLOCK(owners_lock);

static LIST_HEAD(retired);			/* owners_lock; the eldest first */
static void reap_owners(struct work_struct *work);
static DECLARE_DELAYED_WORK(reap_work, reap_owners);

/**
 * memio_owner - look an owner up
 * @id:	its id
 *
 * Context: in an RCU read-side critical section.
 * Return: the owner, or NULL if the id is nobody's (any more).
 */
struct memio_owner *memio_owner(u32 id)
{
	return id ? memio_ids_lookup(&owner_ids, id) : NULL;
}

/* An owner of a group, with an id. Held: owners_lock. */
static struct memio_owner *new_owner(struct memio_cgroup *g, bool task)
{
	struct memio_owner *o;

	lockdep_assert_held(&owners_lock);

	o = kzalloc(sizeof(*o), GFP_ATOMIC | __GFP_NOWARN);
	if (!o)
		return NULL;
	raw_spin_lock_init(&o->lock);
	INIT_LIST_HEAD(&o->retiring);
	o->task = task;
	RCU_INIT_POINTER(o->group, g);
	o->id = memio_ids_alloc(&owner_ids, o);
	if (!o->id) {
		kfree(o);
		return NULL;
	}
	list_add_tail(&o->in_group, &g->owners);
	return o;
}

static void free_accounts(struct memio_account *a)
{
	struct memio_account *next;

	for (; a; a = next) {
		next = a->next;
		kfree(a);
	}
}

static void free_owner_rcu(struct rcu_head *rcu)
{
	struct memio_owner *o = container_of(rcu, struct memio_owner, rcu);

	free_accounts(o->accounts);
	kfree(o);
}

/* Gives an owner up. Held: owners_lock. */
static void retire(struct memio_owner *o)
{
	lockdep_assert_held(&owners_lock);

	o->retired = jiffies;
	list_add_tail(&o->retiring, &retired);
}

/* Frees those that nobody can name any more. Returns whether some are left. */
VISIBLE_IF_KUNIT bool memio_owner_reap(unsigned long quarantine)
{
	struct memio_owner *o, *next;
	LIST_HEAD(dead);
	bool more;

	raw_spin_lock_irq(&owners_lock);
	list_for_each_entry_safe(o, next, &retired, retiring) {
		if (time_before(jiffies, o->retired + quarantine))
			break;
		if (!atomic_read(&o->dirty))
			list_move_tail(&o->retiring, &dead);
	}
	raw_spin_unlock_irq(&owners_lock);

	/* Nothing tags any more, but some CPU's stock may have what was tagged. */
	if (!list_empty(&dead))
		memio_stock_drain();

	raw_spin_lock_irq(&owners_lock);
	list_for_each_entry_safe(o, next, &dead, retiring) {
		list_del(&o->retiring);
		list_del(&o->in_group);
		memio_ids_free(&owner_ids, o->id);
		call_rcu(&o->rcu, free_owner_rcu);
	}
	more = !list_empty(&retired);
	raw_spin_unlock_irq(&owners_lock);
	return more;
}

static void reap_owners(struct work_struct *work)
{
	if (memio_owner_reap(MEMIO_QUARANTINE))
		schedule_delayed_work(&reap_work, HZ);
}

static struct memio_cgroup *task_group_of(struct task_struct *p)
{
	return memio_css_cgroup(task_css_check(p, memio_cgrp_id, true));
}

/**
 * __memio_task_owner - make a task an owner
 * @p:	the task: current
 *
 * Context: any, interrupts are turned off.
 * Return: the task's id; its group's if there is none for it.
 */
u32 __memio_task_owner(struct task_struct *p)
{
	struct memio_cgroup *g;
	struct memio_owner *o;
	unsigned long flags;
	u32 id;

	rcu_read_lock();
	/*
	 * With the lock, as memio_owner_move() takes it after the task has got
	 * its new group: either we see that one, or it sees our id.
	 */
	raw_spin_lock_irqsave(&owners_lock, flags);
	id = p->memio_owner;
	if (!id) {
		g = task_group_of(p);
		o = p->flags & PF_EXITING ? NULL : new_owner(g, true);
		if (!o && !(p->flags & PF_EXITING))
			atomic_long_inc(&g->no_slot);
		id = o ? o->id : g->owner;
		/* The owner is complete for whoever sees its id. */
		smp_store_release(&p->memio_owner, id);
	}
	raw_spin_unlock_irqrestore(&owners_lock, flags);
	rcu_read_unlock();
	return id;
}

/* An owner's account for a device; NULL: no memory. */
static struct memio_account *account(struct memio_owner *o, struct memio_device *dev)
{
	struct memio_account *a, *new;
	unsigned long flags;

	/* Pairs with the release below. */
	for (a = smp_load_acquire(&o->accounts); a; a = smp_load_acquire(&a->next))
		if (a->dev == dev)
			return a;

	new = kzalloc(sizeof(*new), GFP_ATOMIC | __GFP_NOWARN);
	if (!new)
		return NULL;
	memio_meter_init(&new->meter);
	new->dev = dev;

	raw_spin_lock_irqsave(&o->lock, flags);
	for (a = o->accounts; a; a = a->next)
		if (a->dev == dev)
			break;
	if (!a) {
		new->next = o->accounts;
		/* Pairs with the acquire above: it is complete. */
		smp_store_release(&o->accounts, new);
		swap(a, new);
	}
	raw_spin_unlock_irqrestore(&o->lock, flags);
	kfree(new);
	return a;
}

/**
 * memio_owner_charge - charge an owner and its groups
 * @id:		the owner; an id that names nobody is the root's
 * @dev:	the device
 * @io:		the bytes
 *
 * Context: any, with interrupts off.
 */
void memio_owner_charge(u32 id, struct memio_device *dev, const struct memio_io *io)
{
	struct memio_cgroup *g = &memio_root;
	struct memio_account *a;
	struct memio_owner *o;

	rcu_read_lock();
	o = memio_owner(id);
	if (o) {
		g = rcu_dereference(o->group);
		if (o->task) {
			a = account(o, dev);
			if (a)
				memio_meter_add(&a->meter, dev, io);
			else
				atomic_long_inc(&g->no_slot);
		}
	}
	trace_memio_charge(id, dev->name, io->to, io->from + io->late);
	for (; g; g = memio_cgroup_parent(g))
		memio_cgroup_add(g, dev, io);
	rcu_read_unlock();
}

/**
 * memio_owner_dirty - count the pages with an owner's tag
 * @id:		the owner
 * @pages:	so many more, or less
 *
 * Context: any.
 */
void memio_owner_dirty(u32 id, int pages)
{
	struct memio_owner *o;

	rcu_read_lock();
	o = memio_owner(id);
	if (o)
		atomic_add(pages, &o->dirty);
	rcu_read_unlock();
}

static void account_read(struct memio_account *a, struct memio_bytes *b)
{
	*b = a->carried;
	memio_meter_read(&a->meter, a->dev, b);
}

/*
 * Rates are differences between two updates, which lie at least MEMIO_RATE_NS
 * apart: the reader divides, not the scheduler.
 */
static void update(struct memio_owner *o, u64 now)
{
	struct memio_account *a;

	lockdep_assert_held(&o->lock);

	/* Run queues' clocks may differ a little. */
	if ((s64)(now - o->at_ns[1]) < (s64)MEMIO_RATE_NS)
		return;
	o->at_ns[0] = o->at_ns[1];
	o->at_ns[1] = now;
	for (a = o->accounts; a; a = a->next) {
		a->at[0] = a->at[1];
		account_read(a, &a->at[1]);
		trace_memio_update(o->id, a->dev->name, o->at_ns[1] - o->at_ns[0],
				   &a->at[0], &a->at[1]);
	}
}

/**
 * memio_owner_update - take stock of what an owner has moved
 * @o:		the owner
 * @now:	local_clock() or the run queue's clock
 *
 * Context: any; in an RCU read-side critical section. Takes no lock that is
 * held while anybody is woken, so it may be called with the run queue's.
 */
void memio_owner_update(struct memio_owner *o, u64 now)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&o->lock, flags);
	update(o, now);
	raw_spin_unlock_irqrestore(&o->lock, flags);
}

/**
 * __memio_task_update - a task with an owner leaves the CPU
 * @p:		the task
 * @now:	the run queue's clock
 *
 * Context: with the run queue's lock, interrupts off.
 */
void __memio_task_update(struct task_struct *p, u64 now)
{
	struct memio_owner *o;

	rcu_read_lock();
	o = memio_owner(READ_ONCE(p->memio_owner));
	if (o && o->task &&
	    (s64)(now - READ_ONCE(o->at_ns[1])) >= (s64)MEMIO_RATE_NS)
		memio_owner_update(o, now);
	rcu_read_unlock();
}

/* ---- the end of an owner ---- */

/* Adds an owner's sums to a list, of which there is one entry for each device. */
static void add_accounts(struct memio_account **list, struct memio_owner *o)
{
	struct memio_account *a, *sum;
	struct memio_bytes b;

	for (a = o->accounts; a; a = a->next) {
		account_read(a, &b);
		for (sum = *list; sum; sum = sum->next)
			if (sum->dev == a->dev)
				break;
		if (!sum) {
			sum = kzalloc(sizeof(*sum), GFP_ATOMIC | __GFP_NOWARN);
			if (!sum)
				continue;
			memio_meter_init(&sum->meter);
			sum->dev = a->dev;
			sum->next = *list;
			*list = sum;
		}
		memio_bytes_add(&sum->carried, &b);
	}
}

/**
 * __memio_exit - a task with an owner is gone
 * @p:	the task
 *
 * Its sums go to those of its thread group. What moves for it from here on is
 * its group's.
 *
 * Context: with p->sighand->siglock.
 */
void __memio_exit(struct task_struct *p)
{
	struct memio_owner *o;
	unsigned long flags;

	rcu_read_lock();
	raw_spin_lock_irqsave(&owners_lock, flags);
	o = memio_owner(p->memio_owner);
	if (o && o->task) {
		retire(o);
		/* The last thread's are of no use to anybody. */
		if (!thread_group_leader(p))
			add_accounts(&p->signal->memio, o);
	}
	WRITE_ONCE(p->memio_owner, 0);
	raw_spin_unlock_irqrestore(&owners_lock, flags);
	rcu_read_unlock();
	schedule_delayed_work(&reap_work, MEMIO_QUARANTINE);
}

/**
 * memio_signal_free - free what the dead threads of a process have left
 * @sig:	the process's
 */
void memio_signal_free(struct signal_struct *sig)
{
	free_accounts(sig->memio);
}

/**
 * memio_owner_move - a task is in another group
 * @p:	the task
 * @g:	its group, from now on
 *
 * Context: the cgroup's attach; after the task's css has changed.
 */
void memio_owner_move(struct task_struct *p, struct memio_cgroup *g)
{
	struct memio_owner *old, *new = NULL;
	unsigned long flags;

	rcu_read_lock();
	raw_spin_lock_irqsave(&owners_lock, flags);
	old = memio_owner(p->memio_owner);
	if (!old || rcu_access_pointer(old->group) == g)
		goto out;
	if (old->task) {
		new = new_owner(g, true);
		if (new)
			add_accounts(&new->accounts, old);
		else
			atomic_long_inc(&g->no_slot);
		retire(old);
	}
	/* 0: it'll get one with its next IO. */
	smp_store_release(&p->memio_owner, new ? new->id : 0);
out:
	raw_spin_unlock_irqrestore(&owners_lock, flags);
	rcu_read_unlock();
	schedule_delayed_work(&reap_work, MEMIO_QUARANTINE);
}

/* ---- groups ---- */

/**
 * memio_owner_init_group - make a group an owner
 * @g:	the group
 *
 * Return: 0, or -ENOMEM.
 */
int memio_owner_init_group(struct memio_cgroup *g)
{
	struct memio_owner *o;

	scoped_guard(raw_spinlock_irqsave, &owners_lock)
		o = new_owner(g, false);
	if (!o)
		return -ENOMEM;
	g->owner = o->id;
	return 0;
}

/**
 * memio_owner_offline_group - hand a group's owners to its parent
 * @g:	the group
 *
 * Who still sees the old group in an RCU read-side critical section charges that
 * one, and with it its ancestors.
 */
void memio_owner_offline_group(struct memio_cgroup *g)
{
	struct memio_cgroup *parent = memio_cgroup_parent(g);
	struct memio_owner *o;

	scoped_guard(raw_spinlock_irqsave, &owners_lock) {
		list_for_each_entry(o, &g->owners, in_group) {
			rcu_assign_pointer(o->group, parent);
			if (o->id == g->owner)
				retire(o);
		}
		list_splice_tail_init(&g->owners, &parent->owners);
	}
	schedule_delayed_work(&reap_work, MEMIO_QUARANTINE);
}

/* Before the root group is made. */
void memio_owner_init(void)
{
	memio_ids_init(&owner_ids, MEMIO_SLOTS, MEMIO_MIN_FREE);
}

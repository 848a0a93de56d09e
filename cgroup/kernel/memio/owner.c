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
 * group). What the task itself shows (struct memio_sums) goes on: its owners, one
 * after the other, share it, so that bytes which a CPU's stock or a dirty page still
 * holds are not lost to it. When a thread exits, its sums hang on its process until its
 * last owner is freed, and are added to those of the dead threads then. An owner
 * that was given up waits until no page has its tag and packets and bios have had
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
#define MEMIO_AGAIN		(HZ / 10)

/* Fewer of them, for tests of what happens when they run out. */
static unsigned int memio_max_owners __ro_after_init = MEMIO_SLOTS;

static int __init memio_owners_setup(char *arg)
{
	return !kstrtouint(arg, 0, &memio_max_owners);
}
__setup("memio_owners=", memio_owners_setup);

static struct memio_ids owner_ids;
static unsigned long try_again;			/* when, in jiffies, after there was none */
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

/* What a task shows of itself: nothing so far. */
static struct memio_sums *new_sums(void)
{
	struct memio_sums *s = kzalloc(sizeof(*s), GFP_ATOMIC | __GFP_NOWARN);

	if (s)
		raw_spin_lock_init(&s->lock);
	return s;
}

/* An owner of a group, with an id; @sums: a task's, or NULL. Held: owners_lock. */
static struct memio_owner *new_owner(struct memio_cgroup *g, struct memio_sums *sums)
{
	struct memio_owner *o;

	lockdep_assert_held(&owners_lock);

	/* The last ones are for groups, which can't do without. */
	if (sums && owner_ids.nr_used >= owner_ids.slots - owner_ids.slots / 16)
		return NULL;
	o = kzalloc(sizeof(*o), GFP_ATOMIC | __GFP_NOWARN);
	if (!o)
		return NULL;
	INIT_LIST_HEAD(&o->retiring);
	o->sums = sums;
	RCU_INIT_POINTER(o->group, g);
	o->id = memio_ids_alloc(&owner_ids, o);
	if (!o->id) {
		kfree(o);
		return NULL;
	}
	list_add_tail(&o->in_group, &g->owners);
	if (sums)
		sums->owners++;
	return o;
}

/* An owner for a task that has none. Held: owners_lock. */
static struct memio_owner *new_task_owner(struct memio_cgroup *g)
{
	struct memio_sums *sums = new_sums();
	struct memio_owner *o = sums ? new_owner(g, sums) : NULL;

	if (!o)
		kfree(sums);
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

static void free_sums_rcu(struct rcu_head *rcu)
{
	struct memio_sums *s = container_of(rcu, struct memio_sums, rcu);

	free_accounts(s->accounts);
	kfree(s);
}

static void account_read(struct memio_account *a, struct memio_bytes *b)
{
	*b = a->carried;
	memio_meter_read(&a->meter, a->dev, b);
}

/* Nobody adds to either any more: all of @s goes to @past. Held: owners_lock. */
static void add_sums(struct memio_sums *past, struct memio_sums *s)
{
	struct memio_account *a, *next, *sum;
	struct memio_bytes b;

	lockdep_assert_held(&owners_lock);

	for (a = s->accounts, s->accounts = NULL; a; a = next) {
		next = a->next;
		for (sum = past->accounts; sum; sum = sum->next)
			if (sum->dev == a->dev)
				break;
		if (sum) {
			account_read(a, &b);
			memio_bytes_add(&sum->carried, &b);
			kfree(a);
		} else {
			a->next = past->accounts;
			past->accounts = a;
		}
	}
}

/*
 * An owner that shared @s is freed, after a grace period since it was last looked up.
 * Of a process's dead threads those that nobody adds to any more are one, the
 * last of the list. Held: owners_lock.
 */
static void put_sums(struct memio_sums *s)
{
	struct memio_sums *past = s;

	lockdep_assert_held(&owners_lock);

	if (--s->owners)
		return;
	if (hlist_unhashed(&s->dead)) {
		call_rcu(&s->rcu, free_sums_rcu);
		return;
	}
	while (past->dead.next)
		past = hlist_entry(past->dead.next, struct memio_sums, dead);
	if (past == s)
		return;
	hlist_del_init(&s->dead);
	if (past->owners) {
		hlist_add_behind(&s->dead, &past->dead);
	} else {
		add_sums(past, s);
		call_rcu(&s->rcu, free_sums_rcu);
	}
}

/* Gives an owner up. Held: owners_lock. */
static void retire(struct memio_owner *o)
{
	lockdep_assert_held(&owners_lock);

	o->retired = jiffies;
	list_add_tail(&o->retiring, &retired);
}

/* Nobody looks the owner up any more: nobody adds to its sums. */
static void free_owner_rcu(struct rcu_head *rcu)
{
	struct memio_owner *o = container_of(rcu, struct memio_owner, rcu);
	unsigned long flags;

	if (o->sums) {
		raw_spin_lock_irqsave(&owners_lock, flags);
		put_sums(o->sums);
		raw_spin_unlock_irqrestore(&owners_lock, flags);
	}
	kfree(o);
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

/* Not on its way out, and not while there is none left: that takes a while to change. */
static bool may_be_owner(const struct task_struct *p)
{
	return !(p->flags & PF_EXITING) && time_after_eq(jiffies, try_again);
}

/**
 * __memio_task_owner - make a task an owner
 * @p:	the task: current
 *
 * Context: any, interrupts are turned off.
 * Return: the task's id; its group's if there is none for it now.
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
		o = may_be_owner(p) ? new_task_owner(g) : NULL;
		if (o) {
			/* The owner is complete for whoever sees its id. */
			smp_store_release(&p->memio_owner, o->id);
		} else if (!(p->flags & PF_EXITING)) {
			atomic_long_inc(&g->no_slot);
			try_again = jiffies + MEMIO_AGAIN;
		}
		id = o ? o->id : g->owner;
	}
	raw_spin_unlock_irqrestore(&owners_lock, flags);
	rcu_read_unlock();
	return id;
}

/* A task's account for a device; NULL: no memory. */
static struct memio_account *account(struct memio_sums *o, struct memio_device *dev)
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
		if (o->sums) {
			a = account(o->sums, dev);
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

/*
 * Rates are differences between two updates, which lie at least MEMIO_RATE_NS
 * apart: the reader divides, not the scheduler.
 */
static void update(struct memio_sums *o, u32 id, u64 now)
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
		trace_memio_update(id, a->dev->name, o->at_ns[1] - o->at_ns[0],
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

	raw_spin_lock_irqsave(&o->sums->lock, flags);
	update(o->sums, o->id, now);
	raw_spin_unlock_irqrestore(&o->sums->lock, flags);
}

/**
 * memio_task_update - a task with an owner leaves the CPU
 * @p:		the task
 * @now:	the run queue's clock
 *
 * Context: with the run queue's lock, interrupts off.
 */
void memio_task_update(struct task_struct *p, u64 now)
{
	struct memio_owner *o;

	rcu_read_lock();
	o = memio_owner(READ_ONCE(p->memio_owner));
	if (o && o->sums &&
	    (s64)(now - READ_ONCE(o->sums->at_ns[1])) >= (s64)MEMIO_RATE_NS)
		memio_owner_update(o, now);
	rcu_read_unlock();
}

/* ---- the end of an owner ---- */

/**
 * __memio_exit - a task with an owner is gone
 * @p:	the task
 *
 * Its sums are its process's from here on, with what is still to come for it.
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
	if (o && o->sums) {
		retire(o);
		/* The last thread's are of no use to anybody. */
		if (!thread_group_leader(p))
			hlist_add_head(&o->sums->dead, &p->signal->memio);
	}
	WRITE_ONCE(p->memio_owner, 0);
	raw_spin_unlock_irqrestore(&owners_lock, flags);
	rcu_read_unlock();
	schedule_delayed_work(&reap_work, MEMIO_QUARANTINE);
}

/**
 * memio_signal_free - forget what the dead threads of a process have left
 * @sig:	the process's
 */
void memio_signal_free(struct signal_struct *sig)
{
	struct hlist_node *next;
	struct memio_sums *s;
	unsigned long flags;

	if (hlist_empty(&sig->memio))
		return;
	raw_spin_lock_irqsave(&owners_lock, flags);
	hlist_for_each_entry_safe(s, next, &sig->memio, dead) {
		hlist_del_init(&s->dead);
		/* Else put_sums() will. */
		if (!s->owners)
			call_rcu(&s->rcu, free_sums_rcu);
	}
	raw_spin_unlock_irqrestore(&owners_lock, flags);
}

/**
 * memio_dead_threads - go through what the dead threads of a process have moved
 * @sig:	the process's
 * @add:	called for each account
 * @arg:	for @add
 *
 * Context: with the process's siglock, so that no thread exits meanwhile.
 */
void memio_dead_threads(struct signal_struct *sig,
			void (*add)(void *arg, struct memio_account *a), void *arg)
{
	struct memio_account *a;
	struct memio_sums *s;
	unsigned long flags;

	raw_spin_lock_irqsave(&owners_lock, flags);
	hlist_for_each_entry(s, &sig->memio, dead)
		/* Pairs with the release in account(). */
		for (a = smp_load_acquire(&s->accounts); a; a = smp_load_acquire(&a->next))
			add(arg, a);
	raw_spin_unlock_irqrestore(&owners_lock, flags);
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
	if (old->sums) {
		new = new_owner(g, old->sums);
		if (!new)
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
		o = new_owner(g, NULL);
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
	unsigned int slots = clamp(memio_max_owners, 64U, (unsigned int)MEMIO_SLOTS);

	try_again = jiffies;
	memio_ids_init(&owner_ids, slots, min(slots / 4, MEMIO_MIN_FREE));
}

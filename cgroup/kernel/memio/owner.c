// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: owners, whom bytes are charged to
 *
 * A task becomes an owner with its first IO, not when it is forked, as most tasks
 * never do any; but when it is forked while what CPUs read is counted (cpu.c). Its id
 * then goes into the tags of packets, bios and dirty pages, which name it when the bytes
 * move: perhaps after the task has exited, perhaps on a CPU where it never ran.
 *
 *	task --id--> owner --> home --> group --> parent --> ... --> root
 *	               |                  `- meter per device and CPU
 *	               `- sums, account per device: what the task's own file shows
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
 * holds are not lost to it. The sums of the first thread that exits become those of all dead
 * threads of the process. Others lead to them from then on, and are added to
 * them when nobody can be at adding to the old ones any more, a grace period later. An owner
 * that was given up waits until no page has its tag and packets and bios have had
 * MEMIO_QUARANTINE to arrive, and goes on to charge its group. A tag that comes even
 * later (of a packet to a peer that took no data for so long) is the root's.
 *
 * Owners of a group have a home in common, which leads to the group. When that goes offline,
 * its home is led to the parent, so that no owner pins it, however many there are.
 *
 * A group is an owner, too: for tasks that get no id of their own because
 * there is none left, or no memory. Then the group's bytes are right, and memio.stat's
 * no_slot says that the tasks' are not. A group that gets no id itself has the one of the group
 * above, whose bytes are right then; it is made nonetheless.
 *
 * Ids are shared out: a group, with those below it, may have three times as many as are left for
 * others (MEMIO_FAIR). A group with thousands of short tasks a second that do IO so takes three
 * quarters of the ids for the half minute that they rest, two such groups 43 % each, ten 9.7 %
 * each, and the next one still finds the 3 % that are left: 32,000. A group in another may have
 * three quarters of what that one may: 2.25 times as many as are left, or its brothers would find
 * that it has taken all that their parent may have; and so on, further down. The root's own tasks
 * are a group like any other: while what CPUs read is counted each that is forked there is an
 * owner, and what a shell forks to become a group's rests as the root's, beside what it is there.
 *
 * An account is made when somebody is first charged with a device (memio_owner_prepare()), not
 * when the stock is handed on: that happens where no memory can be had, as in interrupts that
 * PREEMPT_RT has no thread for. It is the memory of the group's, by its memory controller.
 *
 * Locking: owners_lock is taken for what happens once in an owner's life: birth,
 * giving up, change of group. memio_sums.lock is taken to add an account and for
 * updates; accounts are read without it. Charges hold only the meters' locks. Nothing
 * is done with owners_lock held that takes longer the more owners there are, as exits wait
 * for it with the tasks' lock.
 *
 * Reading a process
 *
 * A process may have 32,000 threads, and some of them exit while somebody goes through them. So
 * who reads has what they leave stay where it is meanwhile (memio_read_begin()): the sums of a
 * thread are found with the thread or, when that is gone, among those of the dead (dying), and
 * are added to those of all the dead when nobody reads any more. Each has the number of the
 * reading that has seen it (seen), so it is counted once. No lock is held meanwhile that anybody
 * waits for but others who read.
 */

#include <kunit/visibility.h>
#include <linux/cgroup.h>
#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"

#include <trace/events/memio.h>

#define MEMIO_QUARANTINE	(30 * HZ)
#define MEMIO_AGAIN		(HZ / 10)
#define MEMIO_BATCH		64	/* owners that are looked at with the lock held */
#define MEMIO_FAIR		3
#define MEMIO_FAIR_DEPTH	16U	/* groups further down share what these have */

/* Fewer of them, for tests of what happens when they run out. */
static unsigned int memio_max_owners __ro_after_init = MEMIO_SLOTS;

static int __init memio_owners_setup(char *arg)
{
	return !kstrtouint(arg, 0, &memio_max_owners);
}
__setup("memio_owners=", memio_owners_setup);

static struct memio_ids owner_ids;
static DEFINE_RAW_SPINLOCK(owners_lock);

static LIST_HEAD(retired);			/* owners_lock; the eldest first */
static unsigned int nr_retired;
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

/* Room for an owner, and for a task's sums. @gfp: without a task, there are none. */
static struct memio_owner *alloc_owner(struct task_struct *p, gfp_t gfp)
{
	struct memio_owner *o = kzalloc(sizeof(*o), gfp | __GFP_NOWARN);

	/* Slots are everybody's. */
	memio_ids_prepare(&owner_ids, gfp & ~__GFP_ACCOUNT);
	if (!o)
		return NULL;
	INIT_LIST_HEAD(&o->retiring);
	if (!p)
		return o;
	o->tgid = p->tgid;
	o->sums = kzalloc(sizeof(*o->sums), gfp | __GFP_NOWARN);
	if (!o->sums) {
		kfree(o);
		return NULL;
	}
	raw_spin_lock_init(&o->sums->lock);
	return o;
}

/* If it never got an id. */
static void free_owner(struct memio_owner *o)
{
	if (o)
		kfree(o->sums);
	kfree(o);
}

/* How many ids are left for tasks. The last ones are for groups; some of the others rest. */
static unsigned int left_for_tasks(void)
{
	unsigned int most = owner_ids.slots - owner_ids.slots / 16 - owner_ids.min_free;

	return most - min(most, owner_ids.nr_used);
}

/* How many ids a group below so many others may have, see "Ids are shared out" */
static u64 fair_share(unsigned int left, unsigned int depth)
{
	u64 share = (u64)left * MEMIO_FAIR;

	for (depth = min(depth, MEMIO_FAIR_DEPTH); depth; depth--)
		share = share * MEMIO_FAIR / (MEMIO_FAIR + 1);
	return share;
}

/*
 * Whether another task of a group may have an id. What is below the root is not the root's: only
 * its own tasks count there.
 */
static bool may_have_one(struct memio_cgroup *g)
{
	unsigned int left = left_for_tasks(), depth = 0;
	struct memio_cgroup *above;

	if (!memio_cgroup_parent(g))
		return g->home->owners < fair_share(left, 0);
	for (above = memio_cgroup_parent(g); memio_cgroup_parent(above);
	     above = memio_cgroup_parent(above))
		depth++;
	for (; memio_cgroup_parent(g); g = memio_cgroup_parent(g), depth--)
		if (g->nr_owners >= fair_share(left, depth))
			return false;
	return left;
}

static void count_owner(struct memio_cgroup *g, int n)
{
	for (; g; g = memio_cgroup_parent(g))
		g->nr_owners += n;
}

/* Gives an owner an id, and a place in a group. Held: owners_lock. */
static bool settle(struct memio_owner *o, struct memio_cgroup *g)
{
	lockdep_assert_held(&owners_lock);

	if (o->sums && !may_have_one(g))
		return false;
	/* First: whoever has kept an id that comes round finds the owner at once. */
	o->home = g->home;
	o->id = memio_ids_alloc(&owner_ids, o);
	if (!o->id)
		return false;
	o->home->owners++;
	if (o->sums) {
		o->sums->users++;
		count_owner(g, 1);
	}
	return true;
}

/* ---- reading a process ---- */

#define READINGS_BITS	6

/**
 * struct reading - somebody reads a process; those that have the same hash wait for each other
 * @mutex:	held by who reads
 * @lock:	around what is added to the sums of dead threads, or put off, and @now
 * @now:	the process that is read; NULL: none
 * @later:	what has been put off
 */
struct reading {
	struct mutex mutex;	/* around a reading */
	raw_spinlock_t lock;
	struct signal_struct *now;
	struct llist_head later;
};

static struct reading readings[1 << READINGS_BITS];

static struct reading *reading_of(const struct signal_struct *sig)
{
	return &readings[hash_ptr(sig, READINGS_BITS)];
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
	memio_meter_read(&a->meter, a->dev, memio_price_window(a->dev->package), b);
}

/*
 * Adds what a dead thread has moved to what its process's dead threads have. Nobody adds to
 * @s any more, and nobody reads the process. Interrupts are off.
 */
static void add_sums(struct memio_sums *past, struct memio_sums *s)
{
	struct memio_account *a, *next, *sum;

	atomic64_add(atomic64_read(&s->cpu_read), &past->cpu_read);
	atomic64_add(atomic64_read(&s->cpu_write), &past->cpu_write);
	/* Its id still names it: who acts for it may be at memio_owner_update(). */
	raw_spin_lock(&s->lock);
	a = s->accounts;
	s->accounts = NULL;
	raw_spin_unlock(&s->lock);
	for (; a; a = next) {
		next = a->next;
		raw_spin_lock(&past->lock);
		for (sum = past->accounts; sum; sum = sum->next)
			if (sum->dev == a->dev)
				break;
		if (!sum) {
			a->next = past->accounts;
			/* Pairs with the acquire in account(). */
			smp_store_release(&past->accounts, a);
		}
		raw_spin_unlock(&past->lock);
		if (sum) {
			memio_bytes_add(&sum->carried, &a->carried);
			memio_meter_join(&sum->meter, &sum->carried, &a->meter, a->dev);
			kfree_rcu(a, rcu);
		}
	}
}

/* After a grace period since it was last looked up by this user. Held: owners_lock. */
static void put_sums(struct memio_sums *s)
{
	lockdep_assert_held(&owners_lock);

	if (--s->users)
		return;
	if (s->past)
		put_sums(s->past);
	call_rcu(&s->rcu, free_sums_rcu);
}

/* Who still added to the thread's own sums has done it. */
static void add_sums_rcu(struct rcu_head *rcu)
{
	struct memio_sums *s = container_of(rcu, struct memio_sums, rcu);
	struct reading *r = reading_of(s->sig);
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	if (r->now == s->sig) {
		llist_add(&s->later, &r->later);
		raw_spin_unlock_irqrestore(&r->lock, flags);
		return;
	}
	raw_spin_lock(&owners_lock);
	hlist_del_rcu(&s->dead);
	raw_spin_unlock(&owners_lock);
	add_sums(s->past, s);
	raw_spin_unlock_irqrestore(&r->lock, flags);

	raw_spin_lock_irqsave(&owners_lock, flags);
	put_sums(s);
	raw_spin_unlock_irqrestore(&owners_lock, flags);
}

/* A thread is dead, its process is not. Held: owners_lock. */
static void join_dead(struct memio_sums *s, struct signal_struct *sig)
{
	lockdep_assert_held(&owners_lock);

	s->users++;
	if (!sig->memio) {
		/* Pairs with the acquire in memio_dead_threads(). */
		smp_store_release(&sig->memio, s);
		return;
	}
	sig->memio->users++;
	s->sig = sig;
	hlist_add_head_rcu(&s->dead, &sig->memio->dying);
	WRITE_ONCE(s->past, sig->memio);
	call_rcu(&s->rcu, add_sums_rcu);
}

/* Gives an owner up. Held: owners_lock. */
static void retire(struct memio_owner *o)
{
	lockdep_assert_held(&owners_lock);

	o->retired = jiffies;
	list_add_tail(&o->retiring, &retired);
	nr_retired++;
}

/* Nobody looks the owner up any more: nobody adds to its sums. */
static void free_owner_rcu(struct rcu_head *rcu)
{
	struct memio_owner *o = container_of(rcu, struct memio_owner, rcu);
	struct memio_home *home = o->home;
	unsigned long flags;

	raw_spin_lock_irqsave(&owners_lock, flags);
	if (o->sums) {
		count_owner(rcu_dereference_protected(home->group, true), -1);
		put_sums(o->sums);
	}
	if (--home->owners)
		home = NULL;
	else
		list_del(&home->list);
	raw_spin_unlock_irqrestore(&owners_lock, flags);
	kfree(home);
	kfree(o);
}

/* Lets others have the lock for a while. */
static void relax(unsigned int *n)
{
	if (++*n % MEMIO_BATCH)
		return;
	raw_spin_unlock_irq(&owners_lock);
	cond_resched();
	raw_spin_lock_irq(&owners_lock);
}

/* Frees those that nobody can name any more. Returns whether some are left. */
VISIBLE_IF_KUNIT bool memio_owner_reap(unsigned long quarantine)
{
	unsigned long now = jiffies;
	struct memio_owner *o;
	unsigned int n = 0;
	LIST_HEAD(dead);
	bool more;

	raw_spin_lock_irq(&owners_lock);
	while (!list_empty(&retired)) {
		o = list_first_entry(&retired, struct memio_owner, retiring);
		if (time_before(now, o->retired + quarantine))
			break;
		if (atomic_read(&o->dirty)) {
			/* Pages may stay dirty for long: it is looked at again then. */
			o->retired = now + 1;
			list_move_tail(&o->retiring, &retired);
		} else {
			list_move_tail(&o->retiring, &dead);
		}
		relax(&n);
	}
	raw_spin_unlock_irq(&owners_lock);

	/* Nothing tags any more, but some CPU's stock may have what was tagged. */
	if (!list_empty(&dead))
		memio_stock_drain();

	raw_spin_lock_irq(&owners_lock);
	while (!list_empty(&dead)) {
		o = list_first_entry(&dead, struct memio_owner, retiring);
		list_del(&o->retiring);
		memio_ids_free(&owner_ids, o->id);
		nr_retired--;
		call_rcu(&o->rcu, free_owner_rcu);
		relax(&n);
	}
	more = !list_empty(&retired);
	raw_spin_unlock_irq(&owners_lock);
	return more;
}

static void reap_owners(struct work_struct *work)
{
	/* Who has retired one meanwhile has asked for it in MEMIO_QUARANTINE. */
	if (memio_owner_reap(MEMIO_QUARANTINE))
		mod_delayed_work(system_wq, &reap_work, HZ);
}

/**
 * memio_group_owner - whose the bytes are of a group's task that is no owner
 * @g:	the group. A task that exits stays in one that the controller is taken from, which has
 *	given up its id then
 *
 * Context: any, in an RCU read-side critical section or with interrupts off.
 * Return: the group's id, which may be in tags from now on.
 */
u32 memio_group_owner(struct memio_cgroup *g)
{
	while (unlikely(css_is_dying(&g->css)) && memio_cgroup_parent(g))
		g = memio_cgroup_parent(g);
	if (!READ_ONCE(g->owner_named))
		WRITE_ONCE(g->owner_named, true);
	return g->owner;
}

/**
 * __memio_task_owner - make a task an owner
 * @p:	the task: current, one that is being made, or one whose sighand is locked
 *
 * Context: any, interrupts are turned off.
 * Return: the task's id; its group's if there is none for it now.
 */
u32 __memio_task_owner(struct task_struct *p)
{
	bool exiting = READ_ONCE(p->flags) & PF_EXITING, early;
	struct memio_owner *o = NULL;
	struct memio_cgroup *g;
	unsigned long flags;
	u32 id;

	rcu_read_lock();
	/* Not for a while after a failure, as it takes one to change; nor without memory here. */
	early = time_before(jiffies, READ_ONCE(memio_group_of(p)->try_again)) ||
		!memio_may_allocate();
	if (!exiting && !early)
		o = alloc_owner(p, GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOMEMALLOC);
	/*
	 * With the lock, as memio_owner_move() takes it after the task has got
	 * its new group: either we see that one, or it sees our id.
	 */
	raw_spin_lock_irqsave(&owners_lock, flags);
	g = memio_group_of(p);
	id = p->memio_owner;
	if (!id && o && settle(o, g)) {
		id = o->id;
		o = NULL;
		/* The owner is complete for whoever sees its id. */
		smp_store_release(&p->memio_owner, id);
	} else if (!id) {
		if (!exiting)
			memio_event(g, MEMIO_EV_NO_SLOT, 1);
		/* To ask too early is no failure, or it would never be time again. */
		if (!exiting && !early)
			WRITE_ONCE(g->try_again, jiffies + MEMIO_AGAIN);
		id = memio_group_owner(g);
	}
	raw_spin_unlock_irqrestore(&owners_lock, flags);
	rcu_read_unlock();
	free_owner(o);
	return id;
}

/**
 * memio_owner_alike - may packets of two owners become one?
 * @a:	an owner's id
 * @b:	another's
 *
 * Threads of a process may share a packet, of which all is the first one's then: what
 * goes over the wire should not depend on which of them writes. Processes and groups don't.
 *
 * Context: any.
 * Return: true if they are one owner, or of one process and group.
 */
bool memio_owner_alike(u32 a, u32 b)
{
	struct memio_owner *oa, *ob;
	bool alike;

	if (a == b)
		return true;
	rcu_read_lock();
	oa = memio_owner(a);
	ob = memio_owner(b);
	alike = oa && ob && oa->tgid && oa->tgid == ob->tgid && oa->home == ob->home;
	rcu_read_unlock();
	return alike;
}

/* A task's account for a device; NULL: there is none. */
static struct memio_account *account(struct memio_sums *s, const struct memio_device *dev)
{
	struct memio_account *a;

	/* Pairs with the release in make_account(). */
	for (a = smp_load_acquire(&s->accounts); a; a = smp_load_acquire(&a->next))
		if (a->dev == dev)
			return a;
	return NULL;
}

/* Makes one, if there is memory. It is @g's. In RCU's read side, without raw locks */
static void make_account(struct memio_sums *s, struct memio_device *dev, struct memio_cgroup *g)
{
	struct mem_cgroup *old = set_active_memcg(memio_memory_of(g));
	struct memio_account *a, *new;
	unsigned long flags;

	new = kzalloc(sizeof(*new), MEMIO_GFP_CHARGE);
	set_active_memcg(old);
	if (!new)
		return;
	memio_meter_init(&new->meter, MEMIO_METER_TASK);
	new->dev = dev;

	raw_spin_lock_irqsave(&s->lock, flags);
	for (a = s->accounts; a; a = a->next)
		if (a->dev == dev)
			break;
	if (!a) {
		new->next = s->accounts;
		/* Pairs with the acquire in account(): it is complete. */
		smp_store_release(&s->accounts, new);
		new = NULL;
	}
	raw_spin_unlock_irqrestore(&s->lock, flags);
	kfree(new);
}

/*
 * Whom a charge with an id goes to, in an RCU read-side critical section: the group, with those
 * above it, and the task's sums; NULL: it is charged to no task.
 */
static struct memio_cgroup *charged(u32 id, struct memio_sums **sums)
{
	struct memio_owner *o = memio_owner(id);

	*sums = NULL;
	if (!o)
		return &memio_root;
	/* If the thread has died, who still adds to its own is waited for. */
	if (o->sums)
		*sums = READ_ONCE(o->sums->past) ?: o->sums;
	return rcu_dereference(o->home->group);
}

/**
 * memio_owner_group - the group that is charged for an owner
 * @id:	the owner
 *
 * Context: in an RCU read-side critical section.
 * Return: the group; the root's for an id that names nobody.
 */
struct memio_cgroup *memio_owner_group(u32 id)
{
	struct memio_sums *unused;

	return charged(id, &unused);
}

/**
 * memio_owner_prepare - see to it that an owner and its groups can be charged with a device
 * @id:		the owner; an id that names nobody is the root's
 * @dev:	the device
 *
 * Context: any; with PREEMPT_RT nothing is made with raw locks, or in a hard interrupt.
 */
void memio_owner_prepare(u32 id, struct memio_device *dev)
{
	struct memio_cgroup *g;
	struct memio_sums *s;
	bool below;

	if (!memio_may_allocate())
		return;
	rcu_read_lock();
	g = charged(id, &s);
	if (s && !account(s, dev))
		make_account(s, dev, g);
	for (below = false; g; g = memio_cgroup_parent(g), below = true)
		memio_cgroup_prepare(g, below, dev);
	rcu_read_unlock();
}

/**
 * memio_owner_charge - charge an owner and its groups
 * @id:		the owner; an id that names nobody is the root's
 * @dev:	the device
 * @window:	as in memio_meter_add()
 * @io:		the bytes
 *
 * Allocates nothing: memio_owner_prepare() has.
 *
 * Context: any, with interrupts off.
 */
void memio_owner_charge(u32 id, struct memio_device *dev, u32 window,
			const struct memio_io *io)
{
	struct memio_account *a;
	struct memio_cgroup *g;
	struct memio_sums *s;
	bool below;

	rcu_read_lock();
	g = charged(id, &s);
	if (s) {
		a = account(s, dev);
		if (a)
			memio_meter_add(&a->meter, dev, window, io);
		else
			memio_event(g, MEMIO_EV_NO_SLOT, 1);
	}
	trace_memio_charge(id, dev->name, io->to, io->from + io->late);
	memio_device_charged(dev, window, id, g);
	for (below = false; g; g = memio_cgroup_parent(g), below = true)
		memio_cgroup_add(g, below, dev, window, io);
	rcu_read_unlock();
}

/**
 * memio_owner_charge_cpu - charge an owner and its groups with what its CPU read
 * @id:		the owner; an id that names nobody is the root's
 * @b:		the bytes
 *
 * Context: any, with interrupts off; also with the run queue's lock.
 */
void memio_owner_charge_cpu(u32 id, const struct memio_cpu_bytes *b)
{
	struct memio_cgroup *g;
	struct memio_sums *s;
	bool below;

	rcu_read_lock();
	g = charged(id, &s);
	if (s) {
		atomic64_add(b->read, &s->cpu_read);
		atomic64_add(b->write, &s->cpu_write);
	}
	for (below = false; g; g = memio_cgroup_parent(g), below = true)
		memio_cgroup_add_cpu(g, below, b);
	rcu_read_unlock();
}

/**
 * memio_task_or_group - who is charged for what a task does
 * @p:	the task
 *
 * Context: any, with interrupts off; also with the run queue's lock.
 * Return: the task's id; its group's as long as it has none.
 */
u32 memio_task_or_group(struct task_struct *p)
{
	u32 id = READ_ONCE(p->memio_owner);

	return id ?: memio_group_owner(memio_group_of(p));
}

/* Makes a task an owner, if it has to be. Returns false if that was not possible. */
static bool make_owner(struct task_struct *p)
{
	unsigned long flags;
	bool done;

	if (READ_ONCE(p->flags) & PF_KTHREAD || READ_ONCE(p->memio_owner))
		return true;
	/* It has no group yet, or it had before CPUs were counted. */
	if (READ_ONCE(p->__state) & TASK_NEW)
		return false;
	/* With the lock it is not gone, and won't be before it has got its id. */
	if (!lock_task_sighand(p, &flags))
		return true;
	__memio_task_owner(p);
	done = p->memio_owner || p->flags & PF_EXITING;
	unlock_task_sighand(p, &flags);
	return done;
}

/**
 * memio_all_owners - make those tasks owners that are none yet
 *
 * A process at a time, so that nobody waits for all of them.
 *
 * Context: process, may sleep.
 * Return: false if for some there was no id or no memory, or they are just being made; they
 * are to be tried again.
 */
bool memio_all_owners(void)
{
	struct task_struct *p, *t;
	bool done = true;
	struct pid *pid;
	int nr = 1;

	do {
		rcu_read_lock();
		pid = find_ge_pid(nr, &init_pid_ns);
		if (pid) {
			nr = pid_nr(pid) + 1;
			p = pid_task(pid, PIDTYPE_TGID);
			if (p)
				for_each_thread(p, t)
					done &= make_owner(t);
		}
		rcu_read_unlock();
		cond_resched();
	} while (pid);
	return done;
}

/**
 * memio_owner_dirty - count the pages with an owner's tag
 * @id:		the owner
 * @pages:	so many more, before they have it, or less, after they had it
 *
 * Context: any.
 */
void memio_owner_dirty(u32 id, int pages)
{
	struct memio_owner *o;

	rcu_read_lock();
	o = memio_owner(id);
	if (o && unlikely(atomic_add_return(pages, &o->dirty) < 0)) {
		/* Or its id would rest for ever. */
		pr_warn_once("memio: an owner has fewer than no pages that are dirty\n");
		atomic_sub(pages, &o->dirty);
	}
	rcu_read_unlock();
}

static void trace_update_cpu(const struct memio_sums *s, u32 id, u64 ns)
{
	const struct memio_cpu_bytes *at = s->cpu_at;
	const struct memio_moment then = { .read = at[0].read, .write = at[0].write };
	const struct memio_moment now = { .read = at[1].read, .write = at[1].write };

	if (now.read != then.read)
		trace_memio_update(id, "cpu", ns, &then, &now);
}

/*
 * Rates are differences between two updates, which lie at least MEMIO_RATE_NS
 * apart: the reader divides, not the scheduler.
 */
static bool update(struct memio_sums *s, u32 id, u64 now)
{
	struct memio_account *a;
	struct memio_bytes sum;
	u64 ns;

	lockdep_assert_held(&s->lock);

	/* CPUs' clocks may differ a little. */
	if ((s64)(now - s->at_ns[1]) < (s64)MEMIO_RATE_NS)
		return false;
	s->at_ns[0] = s->at_ns[1];
	s->at_ns[1] = now;
	ns = s->at_ns[0] ? now - s->at_ns[0] : 0;
	s->cpu_at[0] = s->cpu_at[1];
	s->cpu_at[1].read = atomic64_read(&s->cpu_read);
	s->cpu_at[1].write = atomic64_read(&s->cpu_write);
	if (trace_memio_update_enabled())
		trace_update_cpu(s, id, ns);
	for (a = s->accounts; a; a = a->next) {
		a->at[0] = a->at[1];
		account_read(a, &sum);
		a->at[1] = (struct memio_moment){ sum.to, sum.from, sum.read, sum.write };
		trace_memio_update(id, a->dev->name, ns, &a->at[0], &a->at[1]);
	}
	return true;
}

/**
 * memio_owner_update - take stock of what an owner has moved
 * @o:		the owner
 * @now:	local_clock()
 *
 * Context: any; in an RCU read-side critical section. Takes no lock that is
 * held while anybody is woken, so it may be called with the run queue's.
 * Return: false if the last time is not long enough ago.
 */
bool memio_owner_update(struct memio_owner *o, u64 now)
{
	unsigned long flags;
	bool done;

	raw_spin_lock_irqsave(&o->sums->lock, flags);
	done = update(o->sums, o->id, now);
	raw_spin_unlock_irqrestore(&o->sums->lock, flags);
	return done;
}

/**
 * memio_task_update - a task with an owner leaves the CPU, and its update is due
 * @p:	the task
 *
 * Context: with the run queue's lock, interrupts off.
 */
void memio_task_update(struct task_struct *p)
{
	struct memio_owner *o;

	rcu_read_lock();
	o = memio_owner(READ_ONCE(p->memio_owner));
	/* The clock is finer than jiffies: if it wasn't yet, it is with the next switch. */
	if (o && o->sums && memio_owner_update(o, local_clock()))
		p->memio_due = jiffies + nsecs_to_jiffies(MEMIO_RATE_NS);
	rcu_read_unlock();
}

/* ---- the end of an owner ---- */

/* What stocks still hold of a thread's is going to be charged to all dead threads'. */
static void prepare_dead(struct memio_owner *o, struct signal_struct *sig)
{
	/* Pairs with the release in join_dead(). */
	struct memio_sums *past = smp_load_acquire(&sig->memio);
	struct memio_account *a;

	if (!past)
		return;
	/* Pairs with the release in make_account(). */
	for (a = smp_load_acquire(&o->sums->accounts); a; a = smp_load_acquire(&a->next))
		if (!account(past, a->dev))
			make_account(past, a->dev, rcu_dereference(o->home->group));
}

/**
 * __memio_exit - a task with an owner is gone
 * @p:	the task
 *
 * Its sums are its process's from here on, with what is still to come for it.
 *
 * Context: with p->sighand->siglock; with PREEMPT_RT, interrupts are on.
 */
void __memio_exit(struct task_struct *p)
{
	struct memio_owner *o;
	unsigned long flags;

	/* What its CPU has not counted yet would be the group's alone. */
	if (p == current)
		memio_cpu_sync();
	rcu_read_lock();
	o = memio_owner(p->memio_owner);
	if (o && o->sums && !thread_group_leader(p))
		prepare_dead(o, p->signal);
	raw_spin_lock_irqsave(&owners_lock, flags);
	o = memio_owner(p->memio_owner);
	if (o && o->sums) {
		retire(o);
		/* The last thread's are of no use to anybody. */
		if (!thread_group_leader(p))
			join_dead(o->sums, p->signal);
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
	unsigned long flags;

	if (!sig->memio)
		return;
	raw_spin_lock_irqsave(&owners_lock, flags);
	put_sums(sig->memio);
	raw_spin_unlock_irqrestore(&owners_lock, flags);
}

/**
 * memio_read_begin - read what a process's threads have moved, the dead ones among them
 * @sig:	the process's, which the caller holds
 *
 * What its dead threads have left stays where it is until memio_read_end().
 *
 * Context: process, may sleep.
 * Return: the number of this reading; 0: the current task is to be killed.
 */
u64 memio_read_begin(struct signal_struct *sig)
{
	static atomic64_t number = ATOMIC64_INIT(0);
	struct reading *r = reading_of(sig);

	if (mutex_lock_killable(&r->mutex))
		return 0;
	scoped_guard(raw_spinlock_irqsave, &r->lock)
		r->now = sig;
	return atomic64_inc_return(&number);
}

/**
 * memio_read_end - and that is all
 * @sig:	the process's
 *
 * Context: process, may sleep.
 */
void memio_read_end(struct signal_struct *sig)
{
	struct reading *r = reading_of(sig);
	struct memio_sums *s, *next;
	struct llist_node *later;

	scoped_guard(raw_spinlock_irqsave, &r->lock) {
		r->now = NULL;
		later = llist_del_all(&r->later);
	}
	llist_for_each_entry_safe(s, next, later, later) {
		add_sums_rcu(&s->rcu);
		cond_resched();
	}
	mutex_unlock(&r->mutex);
}

/**
 * memio_dead_threads - go through what the dead threads of a process have moved
 * @sig:	the process's
 * @reading:	from memio_read_begin(): what that has seen already is left out
 * @add:	called for what one of them has, or several together
 * @arg:	for @add
 *
 * Context: process, may sleep.
 */
void memio_dead_threads(struct signal_struct *sig, u64 reading,
			void (*add)(void *arg, struct memio_sums *s), void *arg)
{
	/* Pairs with the release in join_dead(). */
	struct memio_sums *past = smp_load_acquire(&sig->memio), *s;
	unsigned int n = 0;

	if (!past)
		return;
	if (past->seen != reading)
		add(arg, past);
	past->seen = reading;
	/* Others may come, to the beginning; nobody goes. */
	hlist_for_each_entry_rcu(s, &past->dying, dead, true) {
		if (s->seen != reading)
			add(arg, s);
		s->seen = reading;
		if (!(++n % MEMIO_BATCH))
			cond_resched();
	}
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
	struct memio_owner *old, *new;
	unsigned long flags;
	bool none;

	/* One that becomes an owner from here on does so in its new group. */
	raw_spin_lock_irqsave(&owners_lock, flags);
	none = !p->memio_owner;
	raw_spin_unlock_irqrestore(&owners_lock, flags);
	if (none)
		return;
	new = alloc_owner(NULL, GFP_KERNEL_ACCOUNT);

	rcu_read_lock();
	raw_spin_lock_irqsave(&owners_lock, flags);
	old = memio_owner(p->memio_owner);
	if (!old || rcu_access_pointer(old->home->group) == g)
		goto out;
	if (new) {
		new->tgid = old->tgid;
		new->sums = old->sums;
	}
	if (new && settle(new, g)) {
		/* It is complete for whoever sees its id. */
		smp_store_release(&p->memio_owner, new->id);
		new = NULL;
	} else {
		/* It'll get one with its next IO, or if CPUs count, and begin at 0. */
		memio_event(g, MEMIO_EV_NO_SLOT, 1);
		WRITE_ONCE(p->memio_owner, 0);
		memio_cpu_no_owner();
	}
	retire(old);
out:
	raw_spin_unlock_irqrestore(&owners_lock, flags);
	rcu_read_unlock();
	kfree(new);
	schedule_delayed_work(&reap_work, MEMIO_QUARANTINE);
}

/* ---- groups ---- */

/**
 * memio_owner_init_group - make a group an owner
 * @g:	the group
 *
 * If there is no id left it has that of the group above.
 *
 * Context: process, may sleep.
 * Return: 0, or -ENOMEM.
 */
int memio_owner_init_group(struct memio_cgroup *g)
{
	struct memio_owner *o = alloc_owner(NULL, GFP_KERNEL_ACCOUNT);
	struct memio_cgroup *parent = memio_cgroup_parent(g);
	bool settled;

	g->home = kzalloc(sizeof(*g->home), GFP_KERNEL_ACCOUNT);
	if (!o || !g->home) {
		kfree(g->home);
		kfree(o);
		return -ENOMEM;
	}
	RCU_INIT_POINTER(g->home->group, g);
	/* The group has it until it goes offline, with an owner of its own or without. */
	g->home->owners = 1;
	scoped_guard(raw_spinlock_irqsave, &owners_lock) {
		settled = settle(o, g);
		list_add_tail(&g->home->list, &g->homes);
	}
	if (settled) {
		g->owner = o->id;
		return 0;
	}
	kfree(o);
	/* The root is the first of all. */
	if (parent) {
		scoped_guard(rcu)
			g->owner = memio_group_owner(parent);
		memio_event(g, MEMIO_EV_NO_SLOT, 1);
	}
	return 0;
}

/**
 * memio_owner_offline_group - hand a group's owners to its parent
 * @g:	the group
 *
 * Who still sees the old group in an RCU read-side critical section charges that
 * one, and with it its ancestors.
 *
 * Context: process.
 */
void memio_owner_offline_group(struct memio_cgroup *g)
{
	struct memio_cgroup *parent = memio_cgroup_parent(g);
	struct memio_home *home;
	struct memio_owner *o;

	rcu_read_lock();
	scoped_guard(raw_spinlock_irqsave, &owners_lock) {
		o = memio_owner(g->owner);
		/* It may have had none of its own. */
		if (o && o->home != g->home)
			o = NULL;
		if (!--g->home->owners) {
			list_del(&g->home->list);
			kfree_rcu(g->home, rcu);
		}
		list_for_each_entry(home, &g->homes, list)
			rcu_assign_pointer(home->group, parent);
		list_splice_tail_init(&g->homes, &parent->homes);
		if (o && READ_ONCE(g->owner_named)) {
			retire(o);
		} else if (o) {
			/* Nobody can have it in a tag: others need not wait for it. */
			memio_ids_free(&owner_ids, o->id);
			call_rcu(&o->rcu, free_owner_rcu);
		}
	}
	rcu_read_unlock();
	schedule_delayed_work(&reap_work, MEMIO_QUARANTINE);
}

/* ---- debugfs ---- */

static int owners_show(struct seq_file *m, void *unused)
{
	unsigned int used, waiting;

	raw_spin_lock_irq(&owners_lock);
	used = owner_ids.nr_used;
	waiting = nr_retired;
	raw_spin_unlock_irq(&owners_lock);
	seq_printf(m, "used %u\nretired %u\nslots %u\n", used, waiting, owner_ids.slots);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(owners);

/**
 * memio_owner_debugfs - make the file "owners"
 * @dir:	where
 *
 * Context: process, at boot.
 */
void memio_owner_debugfs(struct dentry *dir)
{
	debugfs_create_file("owners", 0400, dir, NULL, &owners_fops);
}

/* Before the root group is made. */
void memio_owner_init(void)
{
	unsigned int slots = clamp(memio_max_owners, 64U, (unsigned int)MEMIO_SLOTS);

	memio_ids_init(&owner_ids, slots, min(slots / 4, MEMIO_MIN_FREE));
	for (int i = 0; i < ARRAY_SIZE(readings); i++) {
		mutex_init(&readings[i].mutex);
		raw_spin_lock_init(&readings[i].lock);
	}
}

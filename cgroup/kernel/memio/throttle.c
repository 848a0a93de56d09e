// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: stopping a group's tasks, and letting them run again
 *
 * A group that has spent its limit (limit.c) is stopped until the debt is paid. A task of
 * it stops where it holds nothing: on its way to user mode. There it dequeues
 * itself, and is in limbo: a list for each CPU and group. It is what
 * mainline does since 6.18 for the bandwidth of CFS groups.
 *
 *	charge: spent -> irq_work: flag what runs now, start the timer
 *	                      |
 *	running task  --------+--> TIF_NOTIFY_RESUME --> return to user mode: limbo
 *	waking, new, moved task --> gets a CPU: flagged --^             |
 *	                                                                |
 *	timer: debt is paid, group runs --> all CPUs: enqueue <---------'
 *
 * What a task in limbo is
 *
 * Its state is TASK_RUNNING and p->on_rq is TASK_ON_RQ_QUEUED: for the core of the scheduler it
 * is runnable and just does not get a CPU. Its entity is not queued, and p->memio_limbo is set.
 * The flag is memio's own, as others may take a task's entity off the run queue as well (from
 * 6.18 on the bandwidth of CFS groups does). It changes with the run queue's lock alone, together
 * with the list. The list links se.group_node, which otherwise links tasks that are queued.
 *
 * A dequeue with DEQUEUE_SPECIAL is never delayed. sched_delayed is for
 * tasks that sleep, and is cleared when they wake: a task that runs does not have it.
 *
 * Ways out of limbo
 *
 * - The group runs again: memio_release_group(). Who finds another group above it stopped
 *   goes back to limbo, to that one's list.
 * - A signal: to kill, to stop, to freeze, to attach with ptrace all come through
 *   signal_wake_up_state(). The task runs, in the kernel, and takes it.
 *   If it is to return to user mode after that, it stops then, as the stop is looked at
 *   after signals: signals don't buy time. Task work that comes like a signal
 *   (TWA_SIGNAL) waits until the task runs again.
 * - It is to be dequeued: for another CPU (affinity, hotplug), class, priority, or CPU
 *   group. dequeue_task_fair() takes it out of limbo, says that it is dequeued, and the
 *   core enqueues it where it belongs, for good. It runs on in __memio_stop(), where
 *   it looks whether to stop again.
 *   So there is no state that has to be carried from one run queue to another, and a task
 *   that gets into a real-time class, as a lock's holder that is boosted, just runs.
 * - Its memio group is another: memio_release().
 * - Its CPU goes offline: memio_cpu_goes(). None stops there any more.
 *
 * Who is not stopped: kernel threads, which don't return to user mode; exiting
 * tasks; tasks with a signal; tasks of another class, which are flagged when they
 * come back to this one. Workers of io_uring stop between two requests, as they call
 * resume_user_mode_work() there, unless others wait for them: their process ends, their task exits
 * or execs, or their request is cancelled, as when its ring is closed. What of it is under way is
 * debt. One that has taken several writes to a file is stopped though a later one is cancelled,
 * as it would do all that come before. Nor are workers stopped with a signal to stop or to
 * freeze, which they take when nothing is queued any more: with a request at hand they could not
 * be cancelled. Its polling thread (SQPOLL) comes there with a lock held that others need, and
 * goes on; it has a place of its own (see "In the kernel"). Workers of vhost don't return to user
 * mode at all: they are charged and go on.
 *
 * Nobody slips through
 *
 * A task that runs when its group is stopped is flagged by memio_flag_running(), one that
 * gets a CPU later by the switch. Both hold the run queue's lock while they look, and
 * the first is called after the group is marked: if it doesn't see the task, the
 * switch to it comes later and sees the mark.
 *
 * Which CPUs are concerned
 *
 * With hundreds of CPUs a stop that looks at each takes tens of microseconds, in an interrupt, a
 * thousand times a second. So limits remember the CPUs where tasks of their group have run
 * (memio_limits.cpus): a switch to such a task adds its CPU, and so does a move to the group. A
 * stop looks at these alone, and removes those on which the group does not run at the moment. A
 * release goes to the CPUs on which tasks wait (memio_limits.waiting).
 *
 * A switch does not look at a group and all above it each time. A CPU remembers the group at
 * which it has looked last (memio_seen_here), if nothing was stopped then, and the CPU's counter
 * overflows in time: it is in all these masks.
 * A stop goes to the CPUs in the mask, and makes each forget that. Groups that come, or get their
 * first limit, make all CPUs forget it (memio_limit_changed()).
 *
 * A few at a time
 *
 * A thousand threads that share a small limit would all run, for what the first of them spends
 * at once, and stop again: none of their own time is charged to any budget. So a release lets
 * MEMIO_WAKE tasks go on each CPU, those that have waited longest. While there is something left
 * to spend a quarter of a period later, it lets go twice as many, and so on.
 *
 * Nobody is left behind
 *
 * A task puts itself into limbo and then looks once more whether its group is stopped, and
 * still its own, and no signal has come; who lets tasks go changes that, and then looks
 * into limbo. Each has a full barrier between:
 *
 *	__memio_stop()			memio_release_group(), __memio_release()
 *	 dequeue, list_add		 stopped_ns = 0, or TIF_SIGPENDING set, or moved
 *	 smp_mb()			 smp_mb()
 *	 stopped && !signal?		 anybody in limbo?
 *
 * so one of them sees the other. If it is the task, it undoes what it has done.
 *
 * Locks: limbo is under the run queue's. Nothing else is taken with it here.
 * RCU keeps groups, as interrupts are off; a task's own group and those above can't go
 * while it is in them, and who is moved is let go before the old group can be removed.
 *
 * In the kernel
 *
 * One call of write() can make any number of pages dirty. It comes by balance_dirty_pages() for
 * each folio, where tasks wait for a disk that is too slow, and there a task of a stopped
 * group waits for its group: asleep, as it holds the inode's lock and keeps the file system from
 * being frozen. What ends it is somebody who wants to kill, stop, freeze or trace the task, or
 * to freeze the file system, or the machine; then the system call goes on, which is debt. Each
 * stop is waited for once, and for MEMIO_DIRTY_NS_MAX at most, then there is a folio: no longer
 * than balance_dirty_pages() would have it wait, as another task that writes to the file, which
 * need not have a limit, waits for the lock. So a call that writes N folios takes N * 200 ms at
 * most, and so long does another task wait for the file at most. What the call moves
 * beyond the limit is its burst, and the debt that the task pays before it is in user mode again.
 *
 * That is only for who holds no locks but the file's (BDP_DATA): who writes from memory of his
 * own, not from a pipe, and stores in user mode. A page fault in a system call may be with
 * a directory's, which others need who have no limit.
 *
 * The polling thread of io_uring looks before it submits, and waits there: asleep, too, without
 * its lock, so that who parks it, or wants it to end, does not wait for the group.
 *
 * What is not so good: Tasks RCU waits for a task in limbo as for one that has been preempted,
 * until it comes by the scheduler, which turn() sees to every ten seconds. Tasks are let go on the
 * CPU where they stopped, whatever runs there by then, as those of CFS groups' bandwidth are.
 * The time in limbo is CPU pressure in the task's pressure files, as it is for tasks that CFS
 * groups' bandwidth stops; memory pressure it is not. What a task asks for by uclamp stays in the
 * run queue's account.
 */

#include <linux/cgroup.h>
#include <linux/freezer.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/memio_stop.h>
#include <linux/mmu_context.h>
#include <linux/percpu.h>
#include <linux/resume_user_mode.h>
#include <linux/sched/signal.h>

#include "../../io_uring/io-wq.h"
#include "../sched/sched.h"
#include "internal.h"
#include "limit.h"

/* For how long a task waits with locks, for a folio; as balance_dirty_pages() (MAX_PAUSE) */
#define MEMIO_DIRTY_NS_MAX	(200ULL * NSEC_PER_MSEC)
/* Tasks that are let go with interrupts off */
#define MEMIO_RELEASE_BATCH	32

DEFINE_STATIC_KEY_FALSE(memio_limit_key);

/* Groups that are stopped: while there is none nobody looks at their own. */
atomic_t memio_nr_stopped = ATOMIC_INIT(0);

DEFINE_PER_CPU(struct memio_look, memio_seen_here);

/* What stops a task: its group's limits, or those of one above. In RCU's read side. */
static struct memio_limits *stopped_by(struct task_struct *p)
{
	struct memio_cgroup *g;
	struct memio_limits *l;

	for (g = memio_group_of(p); g; g = memio_cgroup_parent(g)) {
		l = memio_limits_of(g);
		if (l && READ_ONCE(l->stopped_ns))
			return l;
	}
	return NULL;
}

/* The clock is up to date. */
static void leave_limbo(struct rq *rq, struct task_struct *p)
{
	list_del_init(&p->se.group_node);
	WRITE_ONCE(p->memio_limbo, false);
	p->sched_class->enqueue_task(rq, p, ENQUEUE_WAKEUP | ENQUEUE_NOCLOCK);
	wakeup_preempt(rq, p, 0);
}

/**
 * memio_can_be_stopped - whether a task stops when its group has spent its limit
 * @p:	the task, one that returns to user mode
 *
 * Context: any.
 * Return: true if it is of the fair class, or will be when it is not boosted any more.
 */
bool memio_can_be_stopped(struct task_struct *p)
{
	int policy = READ_ONCE(p->policy);

	/* As with the policy, it may change as soon as it has been looked at. */
	if (data_race(task_on_scx(p)))
		return false;
	return fair_policy(policy) || idle_policy(policy);
}

enum outcome { STOPPED, CHANGED, NOT_STOPPED };

/* STOPPED: the current task is in limbo, and has to give up the CPU. */
static enum outcome enter_limbo(void)
{
	enum outcome outcome = NOT_STOPPED;
	struct task_struct *p = current;
	struct memio_limits *l;
	struct rq_flags rf;
	struct rq *rq;

	rq = task_rq_lock(p, &rf);
	l = stopped_by(p);
	if (!l || p->sched_class != &fair_sched_class || p->flags & PF_EXITING ||
	    !cpu_active(cpu_of(rq)))
		goto out;

	update_rq_clock(rq);
	p->sched_class->dequeue_task(rq, p, DEQUEUE_SLEEP | DEQUEUE_SPECIAL | DEQUEUE_NOCLOCK);
	list_add_tail(&p->se.group_node, &per_cpu_ptr(l->limbo, cpu_of(rq))->stopped);
	WRITE_ONCE(p->memio_limbo, true);
	cpumask_set_cpu(cpu_of(rq), l->waiting);
	smp_mb(); /* see "Nobody is left behind" */
	if (stopped_by(p) == l && !signal_pending(p)) {
		resched_curr(rq);
		outcome = STOPPED;
	} else {
		leave_limbo(rq, p);
		outcome = CHANGED;
	}
out:
	task_rq_unlock(rq, p, &rf);
	__release(rq->lock); /* task_rq_unlock() does not say so to sparse */
	return outcome;
}

static bool is_stopped(struct task_struct *p)
{
	guard(rcu)();
	return stopped_by(p);
}

/* Whether this is a worker of io_uring that others wait for: see "Who is not stopped". */
static bool goes_on(void)
{
	struct task_struct *p = current;

	return p->flags & PF_IO_WORKER &&
	       (!p->worker_private || p->signal->flags & SIGNAL_GROUP_EXIT ||
		io_wq_worker_awaited());
}

/* See memio_stop(). */
void __memio_stop(void)
{
	/* The polling thread: it would be called again and again. */
	if (current->flags & PF_IO_WORKER && !current->worker_private)
		goto out;
	while (memio_any_stopped() && is_stopped(current)) {
		if (signal_pending(current) || goes_on()) {
			/* That comes first. Then we are called again. */
			set_thread_flag(TIF_NOTIFY_RESUME);
			return;
		}
		switch (enter_limbo()) {
		case STOPPED:
			schedule();
			break;
		case CHANGED:
			break;
		case NOT_STOPPED:
			goto out;
		}
	}
out:
	memio_cpu_goes_on();
}

/**
 * memio_is_stopped - whether a task waits in limbo
 * @p:	the task
 *
 * Context: any.
 * Return: true if it does. Who waits in memio_dirty_wait() sleeps, and is not there.
 */
bool memio_is_stopped(struct task_struct *p)
{
	return memio_limits_on() && memio_in_limbo(p);
}

/* Since when the current task's group is stopped, and when it should be over; 0: it isn't */
static u64 stopped_since(u64 *until)
{
	struct memio_limits *l;

	guard(rcu)();
	l = stopped_by(current);
	if (!l)
		return 0;
	*until = READ_ONCE(l->due_ns);
	return READ_ONCE(l->stopped_ns);
}

/* Sleeps in the state that was set until a stop should be over, at @until; not beyond @most. */
static void sleep_until(u64 until, u64 most)
{
	u64 now = ktime_get_ns(), least = now + memio_period_ns() / 4;
	ktime_t wait;

	/* Before the first look it is another stop's. */
	until = min(max(until, least), max(most, now));
	wait = ns_to_ktime(until - now);
	schedule_hrtimeout(&wait, HRTIMER_MODE_REL);
}

/*
 * Whether somebody wants the current task to end or to stand still: to kill it, to stop, to
 * freeze or to trace it. Other signals can wait, or would buy time.
 */
static bool is_wanted(void)
{
	struct task_struct *p = current;

	return signal_pending(p) &&
	       (fatal_signal_pending(p) ||
		READ_ONCE(p->jobctl) & (JOBCTL_PENDING_MASK | JOBCTL_TRAP_FREEZE) ||
		sigismember(&p->pending.signal, SIGSTOP) ||
		sigismember(&p->signal->shared_pending.signal, SIGSTOP));
}

/* See memio_dirty_wait(). */
int __memio_dirty_wait(struct address_space *mapping, bool async)
{
	struct super_block *sb = mapping->host->i_sb;
	u64 since, first = 0, until, most = 0;

	/* Who is not stopped elsewhere does not wait here. */
	if (current->flags & (PF_KTHREAD | PF_EXITING) ||
	    READ_ONCE(current->sched_class) != &fair_sched_class)
		return 0;
	while (!is_wanted() && !freezing(current) &&
	       READ_ONCE(sb->s_writers.frozen) == SB_UNFROZEN) {
		since = stopped_since(&until);
		/* Others may have had it stopped again: everybody gets somewhere. */
		if (!since || (first && since != first))
			break;
		first = since;
		/* Then a worker does it, which may wait. */
		if (async)
			return -EAGAIN;
		if (goes_on())
			break;
		most = most ?: ktime_get_ns() + MEMIO_DIRTY_NS_MAX;
		if ((s64)(most - ktime_get_ns()) <= 0)
			break;
		__set_current_state(TASK_KILLABLE);
		sleep_until(until, most);
	}
	memio_cpu_goes_on();
	return 0;
}

/* See memio_poller_stopped(). */
bool __memio_poller_stopped(void)
{
	return READ_ONCE(current->sched_class) == &fair_sched_class && is_stopped(current);
}

/**
 * memio_poller_wait - wait for the group of the current task, for a while
 *
 * Context: process, in the state in which it is to sleep: who wakes the task ends it. May
 * return before the group goes on.
 */
void memio_poller_wait(void)
{
	u64 until;

	if (stopped_since(&until))
		sleep_until(until, ktime_get_ns() + MEMIO_DIRTY_NS_MAX);
	__set_current_state(TASK_RUNNING);
	memio_cpu_goes_on();
}

/* See memio_flag(). */
void __memio_flag(struct task_struct *p)
{
	if (p->flags & PF_KTHREAD || is_idle_task(p) || !is_stopped(p))
		return;
	set_tsk_thread_flag(p, TIF_NOTIFY_RESUME);
}

/* A CPU where a task of these groups runs, for the next stop. In RCU's read side. */
static bool has_cpu(struct memio_cgroup *g, int cpu)
{
	struct memio_limits *l;
	bool stopped = false;

	for (; g; g = memio_cgroup_parent(g)) {
		l = memio_limits_of(g);
		if (!l)
			continue;
		/* Mostly it is there, and then it is not written to. */
		if (!cpumask_test_cpu(cpu, l->cpus))
			cpumask_set_cpu(cpu, l->cpus);
		stopped |= READ_ONCE(l->stopped_ns);
	}
	return stopped;
}

static noinline void look_at_group(struct memio_cgroup *g, struct task_struct *p)
{
	struct memio_look *seen = this_cpu_ptr(&memio_seen_here);
	bool stopped;

	guard(rcu)();
	memio_see(seen, g);
	stopped = has_cpu(g, smp_processor_id());
	if (stopped)
		set_tsk_thread_flag(p, TIF_NOTIFY_RESUME);
	if (!memio_cpu_comes_to(p) || stopped)
		memio_forget(seen);
}

/* See memio_runs(). */
void __memio_runs(struct task_struct *p)
{
	struct memio_cgroup *g;

	if (p->flags & PF_KTHREAD)
		return;
	g = memio_group_of(p);
	if (unlikely(!memio_has_seen(g)))
		look_at_group(g, p);
}

/* See memio_leave_limbo(). */
bool __memio_leave_limbo(struct task_struct *p)
{
	list_del_init(&p->se.group_node);
	WRITE_ONCE(p->memio_limbo, false);
	return true;
}

/**
 * __memio_release - let a task run, if it is stopped
 * @p:	the task
 *
 * It looks for itself whether it is to stop again.
 *
 * Context: any; neither a run queue's lock nor p->pi_lock must be held.
 */
void __memio_release(struct task_struct *p)
{
	struct rq_flags rf;
	struct rq *rq;

	smp_mb(); /* see "Nobody is left behind" */
	if (!memio_in_limbo(p))
		return;
	rq = task_rq_lock(p, &rf);
	if (memio_in_limbo(p)) {
		update_rq_clock(rq);
		leave_limbo(rq, p);
	}
	task_rq_unlock(rq, p, &rf);
	__release(rq->lock); /* task_rq_unlock() does not say so to sparse */
}

/* Lets @most tasks go, the first ones. Returns how many it were. With the run queue's lock. */
static unsigned int let_some_go(struct rq *rq, struct list_head *list, unsigned int most)
{
	struct task_struct *p, *next;
	unsigned int n = 0;

	list_for_each_entry_safe(p, next, list, se.group_node) {
		if (n == most)
			break;
		leave_limbo(rq, p);
		n++;
	}
	return n;
}

static bool is_empty(struct memio_limbo *limbo)
{
	return list_empty(&limbo->stopped) && list_empty(&limbo->going);
}

/* As memio_release_group(), on one CPU. */
static bool release_cpu(struct memio_limits *l, int cpu, unsigned int most)
{
	struct memio_limbo *limbo = per_cpu_ptr(l->limbo, cpu);
	struct rq *rq = cpu_rq(cpu);
	unsigned int n, batch;
	struct rq_flags rf;
	bool left, first = true;

	do {
		rq_lock_irqsave(rq, &rf);
		update_rq_clock(rq);
		/* Those that stop meanwhile have had their turn. */
		if (first)
			list_splice_tail_init(&limbo->stopped, &limbo->going);
		first = false;
		batch = min(most, MEMIO_RELEASE_BATCH);
		n = let_some_go(rq, &limbo->going, batch);
		most -= n;
		left = !list_empty(&limbo->going);
		if (!left && list_empty(&limbo->stopped))
			cpumask_clear_cpu(cpu, l->waiting);
		rq_unlock_irqrestore(rq, &rf);
	} while (left && most);
	return left;
}

/**
 * memio_release_group - let those run that a group's limits have stopped
 * @l:		the limits; if it still is stopped by them they go back to limbo, not to user mode
 * @most:	on each CPU no more than so many of them, those that have waited longest
 *
 * Context: any; no run queue's lock must be held. Turns interrupts off.
 * Return: whether some are left.
 */
bool memio_release_group(struct memio_limits *l, unsigned int most)
{
	bool left = false;
	int cpu;

	smp_mb(); /* see "Nobody is left behind" */
	for_each_cpu(cpu, l->waiting)
		left |= release_cpu(l, cpu, most);
	return left;
}

/* See memio_cpu_goes(). */
void __memio_cpu_goes(struct rq *rq)
{
	struct memio_limbo *limbo;
	struct memio_limits *l;

	guard(rcu)();
	list_for_each_entry_rcu(l, &memio_all_limits, list) {
		limbo = per_cpu_ptr(l->limbo, cpu_of(rq));
		if (is_empty(limbo))
			continue;
		let_some_go(rq, &limbo->going, UINT_MAX);
		let_some_go(rq, &limbo->stopped, UINT_MAX);
		cpumask_clear_cpu(cpu_of(rq), l->waiting);
	}
}

/**
 * memio_flag_running - a group is stopped: see to it that what runs now stops
 * @l:	the limits that it has spent
 *
 * It comes to memio_stop(), which also has its CPU's counter looked at, see cpu.c.
 *
 * Context: any; no run queue's lock must be held.
 * Return: how many CPUs were looked at.
 */
unsigned int memio_flag_running(struct memio_limits *l)
{
	struct task_struct *p;
	unsigned int n = 0;
	struct rq_flags rf;
	struct rq *rq;
	int cpu;

	guard(rcu)();
	/* One that is offline has to forget, too: it may come back while the group is stopped. */
	for_each_cpu(cpu, l->cpus) {
		rq = cpu_rq(cpu);
		rq_lock_irqsave(rq, &rf);
		/* The next switch looks anew, and finds that the group is stopped. */
		memio_forget(per_cpu_ptr(&memio_seen_here, cpu));
		p = rcu_dereference(rq->curr);
		if (!(p->flags & PF_KTHREAD) && !is_idle_task(p) &&
		    memio_is_below(memio_group_of(p), l->group)) {
			memio_cpu_look(cpu);
			set_notify_resume(p);
		} else {
			/* With the lock: a switch to one of the group's comes later. */
			cpumask_clear_cpu(cpu, l->cpus);
		}
		rq_unlock_irqrestore(rq, &rf);
		n++;
	}
	return n;
}

/**
 * memio_throttle_moved - a task is in another group
 * @p:	the task
 *
 * Context: process; after the task's css has changed.
 */
void memio_throttle_moved(struct task_struct *p)
{
	int cpu;

	if (!memio_limits_on() || p->flags & PF_KTHREAD)
		return;
	__memio_release(p);
	/*
	 * It may run at the moment, and for long. If it comes to another CPU after this look, the
	 * switch there finds the new group: __memio_release() has a barrier, as the switch has.
	 */
	cpu = task_cpu(p);
	scoped_guard(rcu)
		has_cpu(memio_group_of(p), cpu);
	memio_cpu_look(cpu);
	set_notify_resume(p);
}

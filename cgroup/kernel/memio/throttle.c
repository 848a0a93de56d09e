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
 * is runnable and just does not get a CPU. Its entity is not queued, p->se.on_rq is 0.
 * For a task of the fair class whose run queue is locked this is the case at no
 * other time, so it is what tells that a task is in limbo, and there is no flag that could
 * contradict it. Nor is there a list head: se.group_node links tasks that are queued.
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
 * stop is waited for once, and for ten seconds at most, then there is a folio.
 *
 * That is only for who holds no locks but the file's (BDP_DATA): who writes from memory of his
 * own, not from a pipe, and stores in user mode. A page fault in a system call may be with
 * a directory's, which others need who have no limit.
 *
 * The polling thread of io_uring looks before it submits, and waits there: asleep, too, without
 * its lock, so that who parks it, or wants it to end, does not wait for the group.
 *
 * What is not so good: Tasks RCU waits for a task in limbo as for one that has been preempted,
 * until it comes by the scheduler, which look() sees to every ten seconds. The time in limbo
 * is CPU pressure in the task's pressure files, as it is for tasks that CFS groups' bandwidth
 * stops; memory pressure it is not. What a task asks for
 * by uclamp stays in the run queue's account. Who lets a group go enqueues all its tasks,
 * one CPU after the other, with interrupts off: some microseconds for each, which
 * thousands of threads make milliseconds. Who stops one looks at what each CPU runs, with
 * its run queue's lock, whether or not the group has ever been there: with hundreds of CPUs that
 * is tens of microseconds for each stop.
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

/* How often who waits with locks looks around; as balance_dirty_pages() (MAX_PAUSE) */
#define MEMIO_DIRTY_LOOK_NS	(200ULL * NSEC_PER_MSEC)
/* For how long, for a folio: others wait for the locks. */
#define MEMIO_DIRTY_NS_MAX	(10ULL * NSEC_PER_SEC)

DEFINE_STATIC_KEY_FALSE(memio_limit_key);

/* Groups that are stopped: while there is none nobody looks at their own. */
atomic_t memio_nr_stopped = ATOMIC_INIT(0);

static struct memio_cgroup *group_of(struct task_struct *p)
{
	return memio_css_cgroup(task_css_check(p, memio_cgrp_id, true));
}

/* What stops a task: its group's limits, or those of one above. In RCU's read side. */
static struct memio_limits *stopped_by(struct task_struct *p)
{
	struct memio_cgroup *g;
	struct memio_limits *l;

	for (g = group_of(p); g; g = memio_cgroup_parent(g)) {
		l = memio_limits_of(g);
		if (l && READ_ONCE(l->stopped_ns))
			return l;
	}
	return NULL;
}

/* See above. With the run queue's lock. */
static bool in_limbo(struct task_struct *p)
{
	return p->sched_class == &fair_sched_class && task_on_rq_queued(p) && !p->se.on_rq;
}

/* The clock is up to date. */
static void leave_limbo(struct rq *rq, struct task_struct *p)
{
	list_del_init(&p->se.group_node);
	p->sched_class->enqueue_task(rq, p, ENQUEUE_WAKEUP | ENQUEUE_NOCLOCK);
	wakeup_preempt(rq, p, 0);
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
	list_add_tail(&p->se.group_node, per_cpu_ptr(l->limbo, cpu_of(rq)));
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
 * Context: any; neither a run queue's lock nor p->pi_lock must be held.
 * Return: true if it does. Who waits in memio_dirty_wait() sleeps, and is not there.
 */
bool memio_is_stopped(struct task_struct *p)
{
	struct rq_flags rf;
	struct rq *rq;
	bool stopped;

	if (!memio_any_stopped())
		return false;
	rq = task_rq_lock(p, &rf);
	stopped = in_limbo(p);
	task_rq_unlock(rq, p, &rf);
	__release(rq->lock); /* task_rq_unlock() does not say so to sparse */
	return stopped;
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

/* Sleeps in the state that was set until a stop should be over, at @until. */
static void sleep_until(u64 until)
{
	u64 now = ktime_get_ns();
	ktime_t wait;

	/* Before the first look it is another stop's. */
	until = clamp(until, now + memio_period_ns() / 4, now + MEMIO_DIRTY_LOOK_NS);
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
	u64 since, first = 0, until, begun = 0;

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
		begun = begun ?: ktime_get_ns();
		if (ktime_get_ns() - begun >= MEMIO_DIRTY_NS_MAX)
			break;
		__set_current_state(TASK_KILLABLE);
		sleep_until(until);
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
		sleep_until(until);
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

/* See memio_leave_limbo(). */
bool __memio_leave_limbo(struct task_struct *p)
{
	/* p->on_rq may say already that it migrates. */
	if (p->se.on_rq)
		return false;
	list_del_init(&p->se.group_node);
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
	if (READ_ONCE(p->sched_class) != &fair_sched_class || !READ_ONCE(p->on_rq) ||
	    READ_ONCE(p->se.on_rq))
		return;
	rq = task_rq_lock(p, &rf);
	if (in_limbo(p)) {
		update_rq_clock(rq);
		leave_limbo(rq, p);
	}
	task_rq_unlock(rq, p, &rf);
	__release(rq->lock); /* task_rq_unlock() does not say so to sparse */
}

static void empty_limbo(struct rq *rq, struct list_head *limbo)
{
	struct task_struct *p, *next;

	list_for_each_entry_safe(p, next, limbo, se.group_node)
		leave_limbo(rq, p);
}

/**
 * memio_release_group - let those run that a group's limits have stopped
 * @l:	the limits; if it still is stopped by them they go back to limbo, not to user mode
 *
 * Context: any; no run queue's lock must be held. Turns interrupts off.
 */
void memio_release_group(struct memio_limits *l)
{
	struct list_head *limbo;
	struct rq_flags rf;
	struct rq *rq;
	int cpu;

	smp_mb(); /* see "Nobody is left behind" */
	for_each_possible_cpu(cpu) {
		limbo = per_cpu_ptr(l->limbo, cpu);
		if (list_empty(limbo))
			continue;
		rq = cpu_rq(cpu);
		rq_lock_irqsave(rq, &rf);
		update_rq_clock(rq);
		empty_limbo(rq, limbo);
		rq_unlock_irqrestore(rq, &rf);
	}
}

/* See memio_cpu_goes(). */
void __memio_cpu_goes(struct rq *rq)
{
	struct memio_limits *l;

	guard(rcu)();
	list_for_each_entry_rcu(l, &memio_all_limits, list)
		empty_limbo(rq, per_cpu_ptr(l->limbo, cpu_of(rq)));
}

static bool is_below(struct memio_cgroup *g, const struct memio_cgroup *above)
{
	for (; g; g = memio_cgroup_parent(g))
		if (g == above)
			return true;
	return false;
}

/**
 * memio_flag_running - a group is stopped: see to it that what runs now stops
 * @l:	the limits that it has spent
 *
 * Context: any; no run queue's lock must be held.
 */
void memio_flag_running(struct memio_limits *l)
{
	struct task_struct *p;
	int cpu;

	guard(rcu)();
	for_each_online_cpu(cpu) {
		p = cpu_curr_snapshot(cpu);
		if (!(p->flags & PF_KTHREAD) && !is_idle_task(p) &&
		    is_below(group_of(p), l->group))
			set_notify_resume(p);
	}
}

/**
 * memio_throttle_moved - a task is in another group
 * @p:	the task
 *
 * Context: process; after the task's css has changed.
 */
void memio_throttle_moved(struct task_struct *p)
{
	if (!memio_limits_on() || p->flags & PF_KTHREAD)
		return;
	__memio_release(p);
	/* It may run at the moment. */
	set_notify_resume(p);
}

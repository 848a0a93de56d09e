/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: what the scheduler and the way to user mode call (kernel/memio/throttle.c)
 *
 * Apart from memio.h, as headers of the scheduler can't have that one's. While no group
 * has a limit each of these is a no-op instruction.
 */
#ifndef _LINUX_MEMIO_STOP_H
#define _LINUX_MEMIO_STOP_H

#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/sched.h>

struct address_space;
struct rq;

#ifdef CONFIG_CGROUP_MEMIO

DECLARE_STATIC_KEY_FALSE(memio_limit_key);

extern atomic_t memio_nr_stopped;

void __memio_stop(void);
void __memio_flag(struct task_struct *p);
void __memio_runs(struct task_struct *p);
bool __memio_leave_limbo(struct task_struct *p);
void __memio_release(struct task_struct *p);
void __memio_cpu_goes(struct rq *rq);
int __memio_dirty_wait(struct address_space *mapping, bool async);
bool __memio_poller_stopped(void);
void memio_poller_wait(void);
bool memio_is_stopped(struct task_struct *p);

/**
 * memio_limits_on - whether any group has a limit
 *
 * Context: Any.
 */
static inline bool memio_limits_on(void)
{
	return static_branch_unlikely(&memio_limit_key);
}

/* And one of them has spent its own. */
static inline bool memio_any_stopped(void)
{
	return memio_limits_on() && atomic_read(&memio_nr_stopped);
}

/**
 * memio_stop - the current task is about to return to user mode
 *
 * If its group has spent its limit, the task is off the run queue until there is some
 * again, or a signal for it. If not, its CPU's counter is to overflow in time.
 *
 * Context: Process, with no locks but a virtual CPU's own.
 */
static inline void memio_stop(void)
{
	if (memio_limits_on())
		__memio_stop();
}

/**
 * memio_runs - a task gets a CPU
 * @p:	the task: if its group has a limit, that knows now on which CPU to look for its tasks.
 *	If the group is stopped, the task comes to memio_stop()
 *
 * Context: With the run queue's lock, on its CPU.
 */
static inline void memio_runs(struct task_struct *p)
{
	if (memio_limits_on())
		__memio_runs(p);
}

/**
 * memio_flag - a task is of the fair class from now on
 * @p:	the task: if its group is stopped, it comes to memio_stop()
 *
 * Context: With the run queue's lock.
 */
static inline void memio_flag(struct task_struct *p)
{
	if (memio_any_stopped())
		__memio_flag(p);
}

/**
 * memio_in_limbo - whether a task is stopped, and so off its run queue
 * @p:	the task, for the core of the scheduler a runnable one
 *
 * Context: Any; with the run queue's lock it stays so.
 * Return: true if it is.
 */
static inline bool memio_in_limbo(const struct task_struct *p)
{
	return READ_ONCE(p->memio_limbo);
}

/**
 * memio_leave_limbo - a task of the fair class is to be dequeued
 * @p:	the task
 *
 * Context: With the run queue's lock.
 * Return: true if it was stopped, and so is dequeued already. It is stopped no more.
 */
static inline bool memio_leave_limbo(struct task_struct *p)
{
	return memio_limits_on() && memio_in_limbo(p) && __memio_leave_limbo(p);
}

/**
 * memio_signalled - a task has a signal to take
 * @p:	the task: if it is stopped, it is no more
 *
 * Context: After TIF_SIGPENDING or TIF_NOTIFY_SIGNAL was set; any locks but those of run queues.
 */
static inline void memio_signalled(struct task_struct *p)
{
	if (memio_limits_on())
		__memio_release(p);
}

/**
 * memio_cpu_goes - a run queue goes offline
 * @rq:	the run queue: its tasks are stopped no more, so that they can go elsewhere
 *
 * Context: With its lock.
 */
static inline void memio_cpu_goes(struct rq *rq)
{
	if (memio_limits_on())
		__memio_cpu_goes(rq);
}

/**
 * memio_dirty_wait - the current task makes pages dirty
 * @mapping:	of a file
 * @async:	it must not wait
 *
 * A task that writes gigabytes does not return to user mode meanwhile. So if its group has
 * spent its limit the task waits here until there is some again, but no longer than
 * balance_dirty_pages() has a task wait, a fifth of a second: others may wait for the file's
 * lock. What it moves beyond the limit is debt, which the group pays when its tasks are stopped.
 *
 * Context: Process, may sleep; where balance_dirty_pages() may.
 * Return: 0; -EAGAIN if it has to wait, and must not.
 */
static inline int memio_dirty_wait(struct address_space *mapping, bool async)
{
	return memio_any_stopped() ? __memio_dirty_wait(mapping, async) : 0;
}

/**
 * memio_poller_stopped - whether the current task should not begin any IO
 *
 * For a thread that works for a group's tasks and never returns to user mode: io_uring's for
 * submissions. If so, it calls memio_poller_wait() where it holds nothing that others need.
 *
 * Context: Process, any locks but those of run queues.
 */
static inline bool memio_poller_stopped(void)
{
	return memio_any_stopped() && __memio_poller_stopped();
}

#else

static inline bool memio_in_limbo(const struct task_struct *p)
{
	return false;
}

static inline void memio_runs(struct task_struct *p)
{
}

static inline void memio_stop(void)
{
}

static inline void memio_flag(struct task_struct *p)
{
}

static inline bool memio_leave_limbo(struct task_struct *p)
{
	return false;
}

static inline void memio_signalled(struct task_struct *p)
{
}

static inline void memio_cpu_goes(struct rq *rq)
{
}

static inline int memio_dirty_wait(struct address_space *mapping, bool async)
{
	return 0;
}

static inline bool memio_poller_stopped(void)
{
	return false;
}

static inline void memio_poller_wait(void)
{
}

#endif

#endif /* _LINUX_MEMIO_STOP_H */

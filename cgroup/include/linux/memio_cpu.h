/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: what CPUs themselves read from memory, by task; what interrupts call
 *
 * Apart from memio.h, as headers of interrupts can't have that one's.
 */
#ifndef _LINUX_MEMIO_CPU_H
#define _LINUX_MEMIO_CPU_H

#include <linux/jump_label.h>

struct task_struct;

#ifdef CONFIG_CGROUP_MEMIO_COUNTERS

DECLARE_STATIC_KEY_FALSE(memio_cpu_key);

void __memio_cpu_switch(struct task_struct *p, struct task_struct *next);
void __memio_cpu_irq(struct task_struct *p, unsigned int offset);

/**
 * memio_cpu_switch - a task leaves the CPU: what has missed the cache is its doing
 * @p:		the task
 * @next:	the task that comes
 *
 * Context: with the run queue's lock, interrupts off.
 */
static inline void memio_cpu_switch(struct task_struct *p, struct task_struct *next)
{
	if (static_branch_unlikely(&memio_cpu_key))
		__memio_cpu_switch(p, next);
}

/**
 * memio_cpu_irq - an interrupt or softirq begins or ends
 * @p:		the task that it came upon
 * @offset:	what preempt_count() has got by now for one that begins; 0 at the end
 *
 * Context: interrupts off.
 */
static inline void memio_cpu_irq(struct task_struct *p, unsigned int offset)
{
	if (static_branch_unlikely(&memio_cpu_key))
		__memio_cpu_irq(p, offset);
}

#else

static inline void memio_cpu_switch(struct task_struct *p, struct task_struct *next)
{
}

static inline void memio_cpu_irq(struct task_struct *p, unsigned int offset)
{
}

#endif

#endif /* _LINUX_MEMIO_CPU_H */

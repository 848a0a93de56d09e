/* SPDX-License-Identifier: GPL-2.0-only */
/* memio: what perf tells of samples that the processor has written itself (PEBS). */
#ifndef _LINUX_MEMIO_PEBS_H
#define _LINUX_MEMIO_PEBS_H

#include <linux/jump_label.h>
#include <linux/types.h>

#ifdef CONFIG_CGROUP_MEMIO_TRACE

DECLARE_STATIC_KEY_FALSE(memio_pebs_key);

void __memio_pebs(const void *base, const void *top, size_t size);

/**
 * memio_pebs - this CPU's buffer of samples is about to be emptied
 * @base:	its first record
 * @top:	behind the last one
 * @size:	of a record, in bytes
 *
 * Context: on the buffer's CPU; NMI, or with interrupts off.
 */
static inline void memio_pebs(const void *base, const void *top, size_t size)
{
	if (static_branch_unlikely(&memio_pebs_key))
		__memio_pebs(base, top, size);
}

#else

static inline void memio_pebs(const void *base, const void *top, size_t size)
{
}

#endif

#endif /* _LINUX_MEMIO_PEBS_H */

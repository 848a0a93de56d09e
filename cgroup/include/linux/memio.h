/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: memory bandwidth of tasks, control groups and devices
 *
 * What the rest of the kernel calls. Each hook is one inline function of this
 * file, which is nothing without CONFIG_CGROUP_MEMIO and a no-op instruction
 * while memio is off.
 */
#ifndef _LINUX_MEMIO_H
#define _LINUX_MEMIO_H

#include <linux/jump_label.h>
#include <linux/types.h>

#ifdef CONFIG_CGROUP_MEMIO

DECLARE_STATIC_KEY_FALSE(memio_key);

/**
 * memio_enabled - whether anything is to be accounted
 *
 * Context: Any.
 * Return: true while memio is on.
 */
static inline bool memio_enabled(void)
{
	return static_branch_unlikely(&memio_key);
}

#else /* !CONFIG_CGROUP_MEMIO */

static inline bool memio_enabled(void)
{
	return false;
}

#endif /* CONFIG_CGROUP_MEMIO */

#endif /* _LINUX_MEMIO_H */

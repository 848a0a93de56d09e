/* SPDX-License-Identifier: GPL-2.0-only */
/* What trace_ring.h takes from the kernel, for programs. */
#ifndef _MEMIO_TRACE_RING_USER_H
#define _MEMIO_TRACE_RING_USER_H

#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

typedef __u32 u32;
typedef __u64 u64;

#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)	/* as strong */
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)	/* likewise */
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

#ifndef likely
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* What the tables of events in cgroup/kernel/memio take from the kernel (prices.c) */
#ifndef MEMIO_BITS_H
#define MEMIO_BITS_H

#define BIT(n)		(1u << (n))
#ifndef BIT_ULL
#define BIT_ULL(n)	(1ull << (n))
#endif

#endif /* MEMIO_BITS_H */

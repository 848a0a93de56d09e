/* SPDX-License-Identifier: GPL-2.0-only */
/* What estimate.[ch] take from the kernel, for programs. */
#ifndef _MEMIO_ESTIMATE_USER_H
#define _MEMIO_ESTIMATE_USER_H

#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;

#ifndef BIT_ULL
#define BIT_ULL(n)	(1ULL << (n))
#endif

#ifndef U32_MAX
#define U32_MAX	((u32)~0)
#endif

#ifndef U64_MAX
#define U64_MAX	((u64)~0)
#endif

#ifndef WRITE_ONCE
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
#endif

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (__uint128_t)a * b / c;
}

static inline u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift)
{
	return (u64)(((__uint128_t)a * mul) >> shift);
}

#endif

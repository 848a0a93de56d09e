/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: guarantees and weights, what they come to (share.c)
 */
#ifndef _MEMIO_SHARE_H
#define _MEMIO_SHARE_H

#include <linux/types.h>

#include "budget.h"

#define MEMIO_WEIGHT_MIN	1
#define MEMIO_WEIGHT_DEFAULT	100
#define MEMIO_WEIGHT_MAX	10000

/**
 * struct memio_sharing - what a group has for those below it, and what these claim
 * @total:	what there is to share, bytes per second
 * @mins:	sum of their guarantees, likewise
 * @weights:	sum of the weights of those that are active
 * @below:	how many there are
 */
struct memio_sharing {
	u64 total;
	u64 mins;
	u64 weights;
	unsigned int below;
};

/**
 * struct memio_claim - what one of them claims
 * @min:	its guarantee, bytes per second; 0: none
 * @weight:	its weight
 * @active:	it, or one below it, has moved something of late
 */
struct memio_claim {
	u64 min;
	u32 weight;
	bool active;
};

/**
 * struct memio_average - what is charged in a period, on the average
 * @bytes:	the average, times 2^MEMIO_AVERAGE_SHIFT
 * @used:	in the period that is not over
 * @at_ns:	when that began
 */
struct memio_average {
	u64 bytes;
	s64 used;
	u64 at_ns;
};

#define MEMIO_AVERAGE_SHIFT	4

void memio_sharing_add(struct memio_sharing *s, const struct memio_claim *claim);
u64 memio_share_min(const struct memio_sharing *s, const struct memio_claim *claim);
u64 memio_share_rate(const struct memio_sharing *s, const struct memio_claim *claim);

void memio_average_run(struct memio_average *a, u64 now_ns, u64 period_ns);

/**
 * memio_predicted - what will be charged in the next period
 * @a:	the average
 *
 * Context: any. Return: bytes.
 */
static inline u64 memio_predicted(const struct memio_average *a)
{
	return a->bytes >> MEMIO_AVERAGE_SHIFT;
}

/**
 * memio_may_borrow - whether there is something that nobody is going to use
 * @all:	the pool of all groups together, filled
 * @own:	what groups charge within their own budgets
 *
 * Context: any, with the pool's lock. Return: whether there is.
 */
static inline bool memio_may_borrow(const struct memio_pool *all, const struct memio_average *own)
{
	return all->tokens > 0 && all->tokens > (s64)memio_predicted(own);
}

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: guarantees and weights: pure functions, no kernel state
 *
 * Model
 *
 * MemGuard (Yun et al., RTAS 2013) knows a bandwidth that the memory gives in any case, and
 * shares it out among cores as their budgets. What a core is not going to use of its own
 * others may take (reclaim). When all have used up theirs, whoever wants to goes on (best
 * effort), as all guarantees are met. Here groups have the budgets, and they form a tree.
 *
 * What is shared
 *
 * A group's rate is shared out among those below it. Each has its guarantee
 * (memio.min) in any case; if the guarantees come to more than there is, each has the same
 * part of its own. What is left is shared by weight among those that are active. The root's rate
 * is what the memory gives.
 *
 *	1000 MB/s	A: min 600		B, C: no min, weight 100; D: idle
 *			600 + 1/3 of 400	1/3 of 400 each		   0
 *			= 733 MB/s		= 133 MB/s
 *
 * Who is idle has none of that, but keeps its guarantee. When it moves something
 * rates are worked out again; until then nothing stops it.
 *
 * Reclaim
 *
 * Rates of groups are pools (budget.c), and so is the root's: all that is charged
 * is taken from that, too. A group that has spent its own goes on as long as the
 * root's pool has more than what the groups will charge within their own rates in a
 * period (it borrows). So
 *
 * - a group that wants no more than its own rate is never stopped for others: whoever borrows
 *   takes nothing of its pool, and there is nothing that a donor had to be given back;
 * - whoever borrows is stopped as soon as others use their own: all that there may be too
 *   much of is the root's pool, a period's budget;
 * - what is not used is there for others, at once if it was foreseen, and in any case
 *   when it has gathered in the root's pool.
 *
 * What will be charged is a moving average over some 2^MEMIO_AVERAGE_SHIFT
 * periods. It is that of all groups together: as an average is linear, that is the sum of the
 * groups' own ones.
 */

#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "share.h"

/* After so many periods without any charge nothing is left of an average. */
#define MEMIO_FORGOTTEN		(48 << MEMIO_AVERAGE_SHIFT)

/**
 * memio_sharing_add - somebody claims a part
 * @s:		what there is, zeroed but for @s->total
 * @claim:	the claim
 *
 * Context: any.
 */
void memio_sharing_add(struct memio_sharing *s, const struct memio_claim *claim)
{
	if (check_add_overflow(s->mins, claim->min, &s->mins))
		s->mins = U64_MAX;
	s->below++;
	if (claim->active)
		s->weights += claim->weight;
}

/**
 * memio_share_min - what comes of a guarantee
 * @s:		what there is, with all claims added
 * @claim:	one of them
 *
 * Context: any. Divides.
 * Return: bytes per second, at most @claim->min.
 */
u64 memio_share_min(const struct memio_sharing *s, const struct memio_claim *claim)
{
	if (s->mins <= s->total)
		return claim->min;
	return mul_u64_u64_div_u64(s->total, claim->min, s->mins);
}

/**
 * memio_share_rate - what one gets
 * @s:		what there is, with all claims added
 * @claim:	one of them
 *
 * All of them together get no more than there is, and as much of it as there are active ones to
 * get it, but for what rounding takes.
 *
 * Context: any. Divides.
 * Return: bytes per second.
 */
u64 memio_share_rate(const struct memio_sharing *s, const struct memio_claim *claim)
{
	u64 rest = s->total - min(s->total, s->mins);
	u64 rate = memio_share_min(s, claim);

	if (claim->active)
		rate += mul_u64_u64_div_u64(rest, claim->weight, s->weights);
	return rate;
}

/**
 * memio_average_run - periods go by
 * @a:		the average; what was charged since it was last called is in @a->used
 * @now_ns:	the time; of another CPU it may be a little behind
 * @period_ns:	length of a period
 *
 * All of @a->used counts as charged in the first of the periods that are over.
 *
 * Context: any, with the lock around @a.
 */
void memio_average_run(struct memio_average *a, u64 now_ns, u64 period_ns)
{
	s64 ns = now_ns - a->at_ns;

	if (ns >= (s64)(MEMIO_FORGOTTEN * period_ns)) {
		*a = (struct memio_average){ .at_ns = now_ns };
		return;
	}
	for (; ns >= (s64)period_ns; ns -= period_ns) {
		/* What was borrowed is taken off when it is known: that may be later. */
		s64 used = max(a->used, 0LL);

		a->used -= used;
		a->bytes -= a->bytes >> MEMIO_AVERAGE_SHIFT;
		a->bytes += used;
		a->at_ns += period_ns;
	}
}

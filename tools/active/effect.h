/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What interferers of one kind do to one of the other kind: pure functions
 *
 * Who misses more often beside others than alone is robbed of the cache, and without counters,
 * who gets less done. Who misses each time alone can't miss more often: whether CSThr take
 * bandwidth from a BWThr, their own misses tell, counted while it runs. All of them together may
 * miss half as often as it does: with more they are half a step of what is taken by BWThr. That
 * counts, so it holds on a machine whose times mean nothing; where they do, the rate counts, too.
 * Nothing follows where misses were counted one time and not the other, nor from the rate of
 * who is held to a pace, which rests longer when alone, unless even that is not reached.
 */
#ifndef MEMIO_ACTIVE_EFFECT_H
#define MEMIO_ACTIVE_EFFECT_H

#include <stdbool.h>

#define DISTURBED	0.1	/* misses of an access more than alone; of a rate, time */
#define MUCH		0.5	/* misses of all CSThr, of those of a BWThr */

/*
 * One beside others: what is done in a second, misses of each; and those of all the others
 * meanwhile, for each that it does
 */
struct effect {
	double rate, misses, others;	/* rate < 0: not measured; misses < 0: not counted */
};

#define EFFECT_UNKNOWN	((struct effect) { -1, -1, -1 })

static inline bool effect_known(const struct effect *e)
{
	return e->rate >= 0;
}

enum judgement { LEFT_ALONE, IS_DISTURBED, NOT_MEASURED, NOT_COUNTED, AT_PACE };

/* Of who is judged: it is held to a pace; times mean something; bandwidth is what it has to lose */
enum { PACED = 1, BY_RATE = 2, OF_BANDWIDTH = 4 };

/* effect_judge: one beside others */
enum judgement effect_judge(const struct effect *alone, const struct effect *beside,
			    unsigned int how);
/* effects_clean: so many others, of up to @most, leave it alone: as far as that is known */
unsigned int effects_clean(const struct effect *beside, unsigned int most, unsigned int how);

#endif /* MEMIO_ACTIVE_EFFECT_H */

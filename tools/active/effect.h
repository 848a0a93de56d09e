/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What interferers of one kind do to one of the other kind: pure functions
 *
 * Who misses more often beside others than alone is robbed of what they are not to touch.
 * Without counters, who gets less done. Nothing follows where misses were counted one time and
 * not the other, nor from the rate of who is held to a pace, which rests longer when alone, unless
 * even that is not reached.
 */
#ifndef MEMIO_ACTIVE_EFFECT_H
#define MEMIO_ACTIVE_EFFECT_H

#include <stdbool.h>

#define DISTURBED	0.1	/* misses of an access more than alone; without counters, time */

/* One beside others: what is done in a second, misses of each */
struct effect {
	double rate, misses;		/* rate < 0: not measured; misses < 0: not counted */
};

#define EFFECT_UNKNOWN	((struct effect) { -1, -1 })

static inline bool effect_known(const struct effect *e)
{
	return e->rate >= 0;
}

enum judgement { LEFT_ALONE, IS_DISTURBED, NOT_MEASURED, NOT_COUNTED, AT_PACE };

/* effect_judge: one beside others; @paced: it is held to a pace */
enum judgement effect_judge(const struct effect *alone, const struct effect *beside, bool paced);
/* effects_clean: so many others, of up to @most, leave it alone: as far as that is known */
unsigned int effects_clean(const struct effect *beside, unsigned int most, bool paced);

#endif /* MEMIO_ACTIVE_EFFECT_H */

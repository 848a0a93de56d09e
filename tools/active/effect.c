// SPDX-License-Identifier: GPL-2.0
/*
 * What interferers of one kind do to one of the other kind, see effect.h
 */
#include "effect.h"

enum judgement effect_judge(const struct effect *alone, const struct effect *beside,
			    unsigned int how)
{
	const bool counted = alone->misses >= 0, counted_beside = beside->misses >= 0;

	if (!effect_known(alone) || !effect_known(beside))
		return NOT_MEASURED;
	if (counted != counted_beside)
		return NOT_COUNTED;
	if (counted && beside->misses > alone->misses + DISTURBED)
		return IS_DISTURBED;
	if (counted && how & OF_BANDWIDTH && beside->others > MUCH * beside->misses)
		return IS_DISTURBED;
	if ((!counted || how & BY_RATE) && beside->rate < alone->rate / (1 + DISTURBED))
		return IS_DISTURBED;
	if (counted)
		return how & OF_BANDWIDTH && beside->others < 0 ? NOT_COUNTED : LEFT_ALONE;
	return how & PACED ? AT_PACE : LEFT_ALONE;
}

unsigned int effects_clean(const struct effect *beside, unsigned int most, unsigned int how)
{
	unsigned int i;

	for (i = 1; i <= most; i++)
		if (effect_judge(&beside[0], &beside[i], how) != LEFT_ALONE)
			break;
	return i - 1;
}

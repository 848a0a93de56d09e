/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers that look random, and are the same each time: xorshift64* (Vigna) */
#ifndef MEMIO_RANDOM_H
#define MEMIO_RANDOM_H

#include <stdint.h>

#define RANDOM_SEED	88172645463325252ull

/* The next one; a state is any number but 0 */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1dull;
}

#endif /* MEMIO_RANDOM_H */

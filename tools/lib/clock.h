/* SPDX-License-Identifier: GPL-2.0 */
/* Clocks, in nanoseconds */
#ifndef MEMIO_CLOCK_H
#define MEMIO_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

#endif /* MEMIO_CLOCK_H */

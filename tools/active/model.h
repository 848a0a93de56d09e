/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The probabilistic benchmark on paper: pure functions
 *
 * The benchmark reads a buffer at random places; how likely each is, one of ten
 * distributions says (Casas and Bronevetsky, table II). How many of its reads a cache of
 * C bytes answers, the expected hit rate, is known then, and the other way round: from
 * the hits that were seen follows how much cache there was. There are two ways:
 *
 *   seed	equations 2 to 4 of the paper: a line that is read with probability f is
 *		in the cache with probability f C (both in lines), so
 *
 *			EHR = C sum f^2
 *
 *		That is linear in C, and no probability: for a line that is read often,
 *		f C is more than 1, and so may EHR be. The paper has buffers large enough
 *		for that not to matter; we stop at 1.
 *
 *   lru	a line is in a cache that replaces the least recently used one if it was
 *		among the last T reads, where T is so that C lines are (Che's
 *		approximation):
 *
 *			C = sum (1 - exp(-f T)),  EHR = sum f (1 - exp(-f T))
 *
 * For the uniform distribution both say C / n. Worked example: n = 2 C, Exp 8 (the first
 * eighth of the buffer gets 63 % of the reads). sum f^2 is 4 / n, so equation 4 has
 * EHR = 2, stopped at 1; lru has 0.968, and a cache has that.
 *
 * Places are drawn by a table of BINS + 1 quantiles, with even probability within a
 * bin: integers only, and 4 KiB that stay in the first level. The formulas take f from
 * the same table, so what is drawn is what is calculated, to the last bit; from the
 * smooth distribution it differs in the tails, which are cut off at the buffer's ends.
 */
#ifndef MEMIO_ACTIVE_MODEL_H
#define MEMIO_ACTIVE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

#define DISTRIBUTIONS	10
#define BIN_BITS	10
#define BINS		(1u << BIN_BITS)
/* Below that, the bins at the peak of Exp 8 are smaller than a line. */
#define PATTERN_MIN	(1u << 20)
#define PATTERN_MAX	(8ull << 30)

enum shape { NORMAL, EXPONENTIAL, TRIANGULAR, UNIFORM };

/**
 * struct distribution - a row of table II
 * @name:	as it is there
 * @shape:	of the density
 * @parameter:	of a buffer of size 1: standard deviation, rate, or mode
 */
struct distribution {
	const char *name;
	enum shape shape;
	double parameter;
};

extern const struct distribution distribution[DISTRIBUTIONS];

/**
 * struct pattern - a distribution over a buffer
 * @d:		which
 * @bytes:	of the buffer
 * @start:	first element (of 4 bytes) of each bin, and of none behind the last
 */
struct pattern {
	const struct distribution *d;
	uint64_t bytes;
	uint32_t start[BINS + 1];
};

/* distribution_below: how likely a place is before @x, of a buffer from 0 to 1 */
double distribution_below(const struct distribution *d, double x);
/* pattern_init: @bytes from PATTERN_MIN to PATTERN_MAX */
void pattern_init(struct pattern *p, const struct distribution *d, uint64_t bytes);

/* pattern_element: where a random number of 64 bits leads */
static inline uint32_t pattern_element(const struct pattern *p, uint64_t random)
{
	const uint32_t bin = random >> (64 - BIN_BITS);
	const uint32_t from = p->start[bin], width = p->start[bin + 1] - from;

	return from + ((random >> 16 & 0xffffffff) * width >> 32);
}

enum model { SEED, LRU };

/* hit_rate: expected with a cache of @cache bytes, 0 to 1 */
double hit_rate(const struct pattern *p, enum model how, double cache);
/*
 * capacity: the cache that has this hit rate: the inverse. The buffer's size for 1 and
 * more (a larger cache does no better); with the model SEED, what equation 4 has for 1.
 */
double capacity(const struct pattern *p, enum model how, double hits);

/*
 * reads_to_warm_up: after these a cache of @cache bytes has what the distribution brings
 * into it: T of the model LRU, half as much again; no more than 8 of each line
 */
uint64_t reads_to_warm_up(const struct pattern *p, double cache);

#endif /* MEMIO_ACTIVE_MODEL_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a command does with less cache and less bandwidth: pure functions over what was
 * measured
 *
 * With s storage and b bandwidth interferers, capacity[s] bytes of the cache and left[b]
 * bytes a second of the bandwidth remain, and the command takes slow[s][b] times as much
 * as alone. Between these points it is interpolated, linearly in both directions.
 *
 * A machine may have too few cores for both kinds at once. Where a point was not measured
 * for that, the two are taken to add up, slow[s][b] = slow[s][0] + slow[0][b] - 1: which
 * is what their being independent means, and is said with the result. So it is with what was
 * not measured beside DMA, but without.
 */
#ifndef MEMIO_ACTIVE_SURFACE_H
#define MEMIO_ACTIVE_SURFACE_H

#include <stdbool.h>
#include <stddef.h>

#include "statistics.h"

#define STORAGE_MAX	5
#define BANDWIDTH_MAX	3

struct surface {
	unsigned int storage, bandwidth;	/* the most of each that was measured */
	/* All of them 0: not known */
	double capacity[STORAGE_MAX + 1], left[BANDWIDTH_MAX + 1];
	struct interval slow[STORAGE_MAX + 1][BANDWIDTH_MAX + 1];	/* n = 0: not measured */
	bool added[STORAGE_MAX + 1][BANDWIDTH_MAX + 1];	/* nor were these, but their parts */
};

struct prediction {
	struct interval slow;
	bool added;		/* from points that were not measured */
	bool beyond;		/* less than the least that was measured: slow is a lower bound */
	bool more_dma;		/* the same, as it was measured beside less DMA only */
};

/* surface_at: false if there is nothing to predict from */
bool surface_at(const struct surface *s, double capacity, double bandwidth, struct prediction *p);

/*
 * surface_beside: to @s, beside DMA, comes what was measured without: @alone's points, and
 * what DMA added where nobody else was.
 */
void surface_beside(struct surface *s, const struct surface *alone);
/*
 * surfaces_at: the same, between the two rates next to @at of the @n @rate, whose surfaces @s
 * are; the first rate is 0, the others are in no order
 */
bool surfaces_at(const struct surface *s, const double *rate, size_t n, double capacity,
		 double bandwidth, double at, struct prediction *p);

/*
 * What is known of a level. That it was not seen to be slower does not say that it is well: both
 * have to be shown, and what is between them is known by nobody yet.
 */
enum verdict {
	UNDECIDED,	/* neither; so is what was run once, as nothing is known of chance */
	WELL,		/* by no more than the threshold: the whole interval is below */
	SLOWER,		/* by more than that on the average, and not by chance */
};

enum verdict verdict_of(const struct interval *slow, double threshold);

/**
 * struct bound - how much of a resource a command uses
 * @at_least:	it suffers when it has no more than this; 0 if it is not known to
 * @at_most:	it does not suffer when it has this; 0: how much there was is not known, or
 *		nothing was taken away
 * @suffers:	SLOWER: it did somewhere; WELL: not even with the least that it was left
 * @undecided:	levels that would bring the bounds nearer to each other, if it were known
 *		whether they are slower
 * @repetitions: that may decide these; 0: nobody knows, or more than are run
 * @level:	the first at which it suffers; 0: none
 */
struct bound {
	double at_least, at_most;
	enum verdict suffers;
	size_t undecided, repetitions, level;
};

/*
 * bound_of: @available falls from [0] on, which is alone; where it was measured not to, a
 * level left no more than the ones before it. The use lies between what was there at the last
 * level that is well, and at the first one after it that is slower: with less it does not
 * get better, so what is slow before one that is well is chance.
 */
struct bound bound_of(const double *available, const struct interval *slow, size_t levels,
		      double threshold);

/*
 * bound_missed: to bounds of the bandwidth: at that level the command was so @slow, and had @missed
 * times the misses that it has alone, as who takes bandwidth takes cache, too. If it was short of
 * bandwidth, then for so many times as much as it uses alone; and as long as each miss takes as
 * long as alone, it is slower by no more than that, so that bandwidth need not be short at all.
 * Both are taken at the end that claims less. False: it had no more misses, or nobody knows how
 * many, and nothing is changed.
 */
bool bound_missed(struct bound *b, const struct interval *slow, const struct interval *missed);

/*
 * ratio_of: of two means of independent values. Its ends are those ratios that the values don't
 * rule out (Fieller's theorem), so that "1 is below the interval" is Welch's test of a difference,
 * and true of large errors, too. high is INFINITY where @b is not known to be more than 0.
 */
struct interval ratio_of(const struct interval *a, const struct interval *b);

#endif /* MEMIO_ACTIVE_SURFACE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is made of repeated measurements: pure functions
 */
#ifndef MEMIO_STATISTICS_H
#define MEMIO_STATISTICS_H

#include <stddef.h>

#define STATISTICS_MAX	64	/* values that are looked at; what is beyond is not */

/**
 * struct interval - a mean, and where the true one is with 95 % probability
 * @mean:	of the values
 * @low:	lower end of the confidence interval
 * @high:	upper end
 * @n:		values; with fewer than two, nothing is known: low and high are the mean
 */
struct interval {
	double mean, low, high;
	size_t n;
};

double median(const double *v, size_t n);

/*
 * robust_mean: of repetitions. Dropped are those farther from the median than 5 times
 * the median distance from it, half a percent of it and 2 counts, all together: an
 * interrupt's count goes, a random branch's doesn't.
 */
double robust_mean(const double *v, size_t n, size_t *dropped);

/*
 * level: takes from each repetition what it has more than the others, or less, at all its
 * points: the median over the points of what it is beyond their medians (a step of Tukey's
 * median polish). What changes once, in the middle, and stays, would else be in the
 * majority at some points and not at others, and so in the slope.
 *
 * @value: by point and repetition; @stride: from one point to the next
 */
void level(double *value, size_t stride, size_t points, size_t repetitions);

/*
 * student_95: two-sided quantile of Student's t with @df degrees of freedom, 1 and more; of a
 * fraction (Welch's) up to 10, a little too large
 */
double student_95(double df);

/* interval_of: all values count, with Student's t */
struct interval interval_of(const double *v, size_t n);

#endif /* MEMIO_STATISTICS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From counts to categories: pure functions, without counters, memory or output
 *
 * A probe is a piece of work whose amount is n (rounds of a loop, loads, lines moved).
 * It runs with several n; an event's counts are fitted with a line, and the slope is
 * what the event counts per unit of work. What is added by starting and stopping is in
 * the intercept and does no harm.
 *
 * The slopes of an event over all probes of a family are its signature. A category has
 * the signature that its meaning implies. How near they are is equation 1 of Danalis
 * et al., for a measured slope m with correlation r2 and an expected slope e:
 *
 *	goodness = exp(-2 (m r2 - e)^2)
 *
 * and of a signature the product over its probes, so that one wrong probe is enough
 * to be wrong: an event that is 0.5 off in one of them has 0.61, 1 off has 0.14; 0.95
 * leaves room for 0.06 in each of seven.
 */
#ifndef MEMIO_CIT_FIT_H
#define MEMIO_CIT_FIT_H

#include <stdbool.h>
#include <stddef.h>

#define CIT_PROBES	16	/* of a family, at the most */
#define CIT_CATEGORIES	32	/* the same */
#define CIT_KILL	0.8	/* what is less good is put into no category */
#define CIT_PASS	0.95	/* what verify asks for */

struct fit {
	double slope, intercept, r2;
	bool valid;
};

/* Expected slope of a probe that says nothing about the category */
#define CIT_ANY		(__builtin_nan(""))

struct category {
	const char *name, *meaning;
	double expected[CIT_PROBES];
};

struct match {
	const struct category *best, *second;
	double goodness, second_goodness;
	size_t worst;			/* the probe that fits best least */
};

struct fit fit_line(const double *x, const double *y, size_t n);
double fit_goodness(const struct fit *f, double expected);
double signature_goodness(const struct fit *f, const double *expected, size_t probes,
			  size_t *worst);
struct match classify(const struct fit *f, size_t probes, const struct category *c,
		      size_t categories);
/* told_apart: does a probe that ran tell these two signatures apart? */
bool told_apart(const struct fit *f, size_t probes, const double *a, const double *b);
/*
 * candidates: what an event may count, the best one first: none, if no category is good
 * enough; more than one, if the probes that would tell them apart did not run. With
 * all probes no event is as near as CIT_PASS to two.
 */
size_t candidates(const struct fit *f, size_t probes, const struct category *c,
		  size_t categories, const struct category *to[CIT_CATEGORIES]);

/*
 * steps: where a curve over buffer sizes goes from one plateau to the next: the sizes
 * (geometric mean of two neighbours) at which it crosses the middle between its
 * smallest and its largest value. Returns how many, at[] has up to @max; 0 for a
 * curve that is as good as flat (a range below 0.2).
 */
size_t steps(const double *size, const double *y, size_t n, double *at, bool *up, size_t max);

/*
 * prefetch_share: how much of the misses of a random walk over far-apart lines is gone
 * when neighbours are walked one after the other: 0 without a prefetcher, up to 1.
 */
double prefetch_share(double misses_apart, double misses_in_order);
/* counts_prefetches: what far-apart lines don't count, and lines in order do */
bool counts_prefetches(double apart, double in_order);

#endif /* MEMIO_CIT_FIT_H */

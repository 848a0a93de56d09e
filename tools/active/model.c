// SPDX-License-Identifier: GPL-2.0
/*
 * The probabilistic benchmark on paper, see model.h
 */
#include <math.h>

#include "model.h"

#define ROUNDS	80	/* of halving: beyond what a double can tell */

const struct distribution distribution[DISTRIBUTIONS] = {
	{ "Norm 4", NORMAL, 1. / 4 },
	{ "Norm 6", NORMAL, 1. / 6 },
	{ "Norm 8", NORMAL, 1. / 8 },
	{ "Exp 4", EXPONENTIAL, 4 },
	{ "Exp 6", EXPONENTIAL, 6 },
	{ "Exp 8", EXPONENTIAL, 8 },
	{ "Tri 1", TRIANGULAR, 0.4 },
	{ "Tri 2", TRIANGULAR, 0.6 },
	{ "Tri 3", TRIANGULAR, 0.8 },
	{ "Uni", UNIFORM, 0 },
};

static double normal_below(double x)
{
	return erfc(-x / M_SQRT2) / 2;
}

/* What lies beyond the buffer's ends is never drawn: the rest is scaled up. */
double distribution_below(const struct distribution *d, double x)
{
	const double p = d->parameter;
	double edge;

	x = fmin(1, fmax(0, x));
	switch (d->shape) {
	case NORMAL:
		edge = normal_below(-0.5 / p);
		return (normal_below((x - 0.5) / p) - edge) / (1 - 2 * edge);
	case EXPONENTIAL:
		return (1 - exp(-p * x)) / (1 - exp(-p));
	case TRIANGULAR:
		return x < p ? x * x / p : 1 - (1 - x) * (1 - x) / (1 - p);
	case UNIFORM:
		break;
	}
	return x;
}

/* Where a function that grows from @low to @high reaches @wanted */
static double where(double (*f)(const void *, double), const void *arg, double wanted, double low,
		    double high)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		const double middle = (low + high) / 2;

		if (f(arg, middle) < wanted)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static double below(const void *d, double x)
{
	return distribution_below(d, x);
}

void pattern_init(struct pattern *p, const struct distribution *d, uint64_t bytes)
{
	const double elements = bytes / 4;
	unsigned int i;

	p->d = d;
	p->bytes = bytes;
	p->start[0] = 0;
	for (i = 1; i < BINS; i++)
		p->start[i] = where(below, d, (double)i / BINS, 0, 1) * elements;
	p->start[BINS] = elements;
}

/* Lines of a bin; each of them is read with a probability of 1 / (BINS lines) */
static double lines_of(const struct pattern *p, unsigned int bin)
{
	return (p->start[bin + 1] - p->start[bin]) * 4. / LINE_BYTES;
}

/* Of a line: the sum over all of f^2 */
static double sum_of_squares(const struct pattern *p)
{
	double sum = 0;
	unsigned int i;

	for (i = 0; i < BINS; i++)
		sum += 1 / lines_of(p, i);
	return sum / BINS / BINS;
}

/* Lines that are among the last @reads */
static double resident(const void *arg, double reads)
{
	const struct pattern *p = arg;
	double sum = 0;
	unsigned int i;

	for (i = 0; i < BINS; i++) {
		const double lines = lines_of(p, i);

		sum -= lines * expm1(-reads / BINS / lines);
	}
	return sum;
}

/* How likely a read is of one of them */
static double hits_among(const void *arg, double reads)
{
	const struct pattern *p = arg;
	double sum = 0;
	unsigned int i;

	for (i = 0; i < BINS; i++)
		sum -= expm1(-reads / BINS / lines_of(p, i));
	return sum / BINS;
}

/* So many reads leave nothing out: the least likely line was read a thousand times. */
static double many(const struct pattern *p)
{
	double most = 0;
	unsigned int i;

	for (i = 0; i < BINS; i++)
		most = fmax(most, lines_of(p, i));
	return 1000. * BINS * most;
}

uint64_t reads_to_warm_up(const struct pattern *p, double cache)
{
	const double most = 8. * p->bytes / LINE_BYTES;

	if (cache >= p->bytes)
		return most;
	return fmin(most, 1.5 * where(resident, p, cache / LINE_BYTES, 0, many(p)));
}

double hit_rate(const struct pattern *p, enum model how, double cache)
{
	if (cache <= 0)
		return 0;
	if (how == SEED)
		return fmin(1, cache / LINE_BYTES * sum_of_squares(p));
	if (cache >= p->bytes)
		return 1;
	return hits_among(p, where(resident, p, cache / LINE_BYTES, 0, many(p)));
}

double capacity(const struct pattern *p, enum model how, double hits)
{
	if (hits <= 0)
		return 0;
	if (how == SEED)
		return fmin(1, hits) / sum_of_squares(p) * LINE_BYTES;
	if (hits >= 1)
		return p->bytes;
	return resident(p, where(hits_among, p, hits, 0, many(p))) * LINE_BYTES;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What is made of repeated measurements; see statistics.h
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "statistics.h"

static int ascending(const void *a, const void *b)
{
	const double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

double median(const double *v, size_t n)
{
	double s[STATISTICS_MAX];

	if (!n)
		return 0;
	if (n > STATISTICS_MAX)
		n = STATISTICS_MAX;
	memcpy(s, v, n * sizeof(*s));
	qsort(s, n, sizeof(*s), ascending);
	return n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

double robust_mean(const double *v, size_t n, size_t *dropped)
{
	double distance[STATISTICS_MAX], middle, limit, sum = 0;
	size_t i, kept = 0;

	*dropped = 0;
	if (!n)
		return 0;
	if (n > STATISTICS_MAX)
		n = STATISTICS_MAX;
	middle = median(v, n);
	for (i = 0; i < n; i++)
		distance[i] = fabs(v[i] - middle);
	limit = 5 * median(distance, n) + 0.005 * fabs(middle) + 2;
	for (i = 0; i < n; i++) {
		if (distance[i] > limit)
			continue;
		sum += v[i];
		kept++;
	}
	*dropped = n - kept;
	return sum / kept;
}

void level(double *value, size_t stride, size_t points, size_t repetitions)
{
	double middle[STATISTICS_MAX], beyond[STATISTICS_MAX], more;
	size_t k, r;

	/* Of two points nobody knows which is out of line. */
	if (points < 3 || points > STATISTICS_MAX)
		return;
	for (k = 0; k < points; k++)
		middle[k] = median(value + k * stride, repetitions);
	for (r = 0; r < repetitions; r++) {
		for (k = 0; k < points; k++)
			beyond[k] = value[k * stride + r] - middle[k];
		more = median(beyond, points);
		for (k = 0; k < points; k++)
			value[k * stride + r] -= more;
	}
}

double student_95(double df)
{
	static const double few[] = {
		NAN, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622,
		2.2281,
	};
	enum { MOST_FEW = sizeof(few) / sizeof(*few) - 1 };
	const double z = 1.959964;

	/* Between two of them, in a line over 1 / df: the quantile is below it. */
	if (df < MOST_FEW) {
		const size_t low = fmax(1, df);
		const double part = (df - low) * (low + 1) / df;

		return few[low] + part * (few[low + 1] - few[low]);
	}
	/* The first terms of its expansion: within 0.0003 from 11 on */
	return z + (pow(z, 3) + z) / (4. * df) +
	       (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96. * df * df) +
	       (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / (384. * df * df * df);
}

struct interval interval_of(const double *v, size_t n)
{
	struct interval r = { .n = n };
	double squares = 0, half;
	size_t i;

	for (i = 0; i < n; i++)
		r.mean += v[i] / n;
	r.low = r.mean;
	r.high = r.mean;
	if (n < 2)
		return r;
	for (i = 0; i < n; i++)
		squares += (v[i] - r.mean) * (v[i] - r.mean);
	half = student_95(n - 1) * sqrt(squares / (n - 1) / n);
	r.low -= half;
	r.high += half;
	return r;
}

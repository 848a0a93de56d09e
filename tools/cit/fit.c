// SPDX-License-Identifier: GPL-2.0
/*
 * From counts to categories; fit.h has the model.
 */
#include <math.h>

#include "fit.h"

/* Least squares. Counts that never change have slope 0 and fit exactly. */
struct fit fit_line(const double *x, const double *y, size_t n)
{
	double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
	struct fit f = { 0 };
	size_t i;

	if (n < 2)
		return f;
	for (i = 0; i < n; i++) {
		mx += x[i];
		my += y[i];
	}
	/* Of equal counts, this is that count, to the last bit. */
	mx /= n;
	my /= n;
	for (i = 0; i < n; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		xy += (x[i] - mx) * (y[i] - my);
		yy += (y[i] - my) * (y[i] - my);
	}
	if (xx <= 0)
		return f;
	f.valid = true;
	f.slope = xy / xx;
	f.intercept = my - f.slope * mx;
	f.r2 = yy > 0 ? xy * xy / (xx * yy) : 1;
	return f;
}

double fit_goodness(const struct fit *f, double expected)
{
	const double d = f->slope * f->r2 - expected;

	return exp(-2 * d * d);
}

/* Probes that could not run, or that say nothing, are left out. */
double signature_goodness(const struct fit *f, const double *expected, size_t probes,
			  size_t *worst)
{
	double all = 1, low = 2;
	size_t i;

	for (i = 0; i < probes; i++) {
		double g;

		if (!f[i].valid || isnan(expected[i]))
			continue;
		g = fit_goodness(&f[i], expected[i]);
		all *= g;
		if (g < low) {
			low = g;
			if (worst)
				*worst = i;
		}
	}
	return low > 1 ? 0 : all;
}

struct match classify(const struct fit *f, size_t probes, const struct category *c,
		      size_t categories)
{
	struct match m = { 0 };
	size_t i;

	for (i = 0; i < categories; i++) {
		size_t worst = 0;
		const double g = signature_goodness(f, c[i].expected, probes, &worst);

		if (!m.best || g > m.goodness) {
			m.second = m.best;
			m.second_goodness = m.goodness;
			m.best = &c[i];
			m.goodness = g;
			m.worst = worst;
		} else if (!m.second || g > m.second_goodness) {
			m.second = &c[i];
			m.second_goodness = g;
		}
	}
	return m;
}

bool told_apart(const struct fit *f, size_t probes, const double *a, const double *b)
{
	size_t i;

	for (i = 0; i < probes; i++)
		if (f[i].valid && !isnan(a[i]) && !isnan(b[i]) && a[i] != b[i])
			return true;
	return false;
}

size_t candidates(const struct fit *f, size_t probes, const struct category *c,
		  size_t categories, const struct category *to[CIT_CATEGORIES])
{
	const struct match m = classify(f, probes, c, categories);
	size_t i, n = 0;

	if (m.goodness < CIT_KILL)
		return 0;
	to[n++] = m.best;
	for (i = 0; i < categories && n < CIT_CATEGORIES; i++) {
		const double g = signature_goodness(f, c[i].expected, probes, NULL);

		if (&c[i] == m.best || g < CIT_KILL)
			continue;
		/* One that is less good for noise is still one that nothing excludes. */
		if (g >= CIT_PASS || !told_apart(f, probes, c[i].expected, m.best->expected))
			to[n++] = &c[i];
	}
	return n;
}

size_t steps(const double *size, const double *y, size_t n, double *at, bool *up, size_t max)
{
	double low = INFINITY, high = -INFINITY, middle;
	size_t i, found = 0;

	for (i = 0; i < n; i++) {
		low = fmin(low, y[i]);
		high = fmax(high, y[i]);
	}
	if (!(high - low >= 0.2))
		return 0;
	middle = (low + high) / 2;
	for (i = 1; i < n; i++) {
		const bool below = y[i] < middle, was_below = y[i - 1] < middle;

		if (below == was_below)
			continue;
		if (found < max) {
			at[found] = sqrt(size[i - 1] * size[i]);
			up[found] = y[i] > y[i - 1];
		}
		found++;
	}
	return found;
}

double prefetch_share(double misses_apart, double misses_in_order)
{
	if (misses_apart < 0.05)
		return 0;
	return fmin(1, fmax(0, 1 - misses_in_order / misses_apart));
}

bool counts_prefetches(double apart, double in_order)
{
	return apart < 0.05 && in_order > 0.2;
}

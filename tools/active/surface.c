// SPDX-License-Identifier: GPL-2.0
/*
 * What a command does with less cache and less bandwidth, see surface.h
 */
#include <math.h>

#include "surface.h"

struct interval ratio_of(const struct interval *a, const struct interval *b)
{
	struct interval r = { .n = a->n < b->n ? a->n : b->n };
	double error;

	if (!r.n || b->mean <= 0)
		return (struct interval) { 0 };
	r.mean = a->mean / b->mean;
	error = (b->high - b->mean) / b->mean;
	if (a->mean > 0)
		error = hypot(error, (a->high - a->mean) / a->mean);
	r.low = r.mean * (1 - error);
	r.high = r.mean * (1 + error);
	return r;
}

bool slower(const struct interval *slow, double threshold)
{
	return slow->n && slow->mean > 1 + threshold && slow->low > 1;
}

struct bound bound_of(const double *available, const struct interval *slow, size_t levels,
		      double threshold)
{
	double before = levels ? available[0] : 0;
	struct bound b = { 0 };
	size_t first, i;

	for (first = levels; first > 1 && slower(&slow[first - 1], threshold); first--)
		;
	/* slow[first - 1] is the last that is well. */
	for (i = 1; i < first; i++)
		before = fmin(before, available[i]);
	b.suffers = first < levels;
	b.at_most = before;
	b.at_least = b.suffers ? fmin(before, available[first]) : 0;
	return b;
}

/* As slow as both make it, if they have nothing to do with each other */
static struct interval both(const struct interval *a, const struct interval *b)
{
	const double error = hypot(a->high - a->mean, b->high - b->mean);
	struct interval r = { 0 };

	if (!a->n || !b->n)
		return r;
	r.n = a->n < b->n ? a->n : b->n;
	r.mean = a->mean + b->mean - 1;
	r.low = r.mean - error;
	r.high = r.mean + error;
	return r;
}

/* A point, measured or not */
static struct interval corner(const struct surface *s, unsigned int i, unsigned int k, bool *added)
{
	*added |= s->added[i][k] || !s->slow[i][k].n;
	return s->slow[i][k].n ? s->slow[i][k] : both(&s->slow[i][0], &s->slow[0][k]);
}

void surface_beside(struct surface *s, const struct surface *alone)
{
	unsigned int i, k;

	for (i = 0; i <= alone->storage; i++) {
		s->capacity[i] = alone->capacity[i];
		for (k = 0; k <= alone->bandwidth; k++) {
			bool added = false;
			const struct interval v = corner(alone, i, k, &added);

			s->left[k] = alone->left[k];
			if (s->slow[i][k].n)
				continue;
			s->slow[i][k] = both(&v, &s->slow[0][0]);
			s->added[i][k] = true;
		}
	}
	s->storage = alone->storage > s->storage ? alone->storage : s->storage;
	s->bandwidth = alone->bandwidth > s->bandwidth ? alone->bandwidth : s->bandwidth;
}

/*
 * Which two levels @x lies between, and how far behind the first: 0 to 1. A level that
 * leaves no less than one before it has nothing of its own between them.
 */
static double place_of(const double *axis, unsigned int last, double x, unsigned int *low,
		       unsigned int *high, bool *beyond)
{
	unsigned int i, from = 0;

	*low = 0;
	*high = 0;
	if (x >= axis[0])
		return 0;
	for (i = 1; i <= last; i++) {
		if (axis[i] >= axis[from])
			continue;
		if (x >= axis[i]) {
			*low = from;
			*high = i;
			return (axis[from] - x) / (axis[from] - axis[i]);
		}
		from = i;
	}
	*low = from;
	*high = from;
	*beyond = true;
	return 0;
}

static void add(struct interval *sum, const struct interval *v, double weight)
{
	if (!weight)
		return;
	sum->mean += weight * v->mean;
	sum->low += weight * v->low;
	sum->high += weight * v->high;
	if (!sum->n || v->n < sum->n)
		sum->n = v->n;
}

bool surface_at(const struct surface *s, double capacity, double bandwidth, struct prediction *p)
{
	unsigned int i, k, at[2][2];
	double part[2];

	*p = (struct prediction) { 0 };
	part[0] = place_of(s->capacity, s->storage, capacity, &at[0][0], &at[0][1], &p->beyond);
	part[1] = place_of(s->left, s->bandwidth, bandwidth, &at[1][0], &at[1][1], &p->beyond);
	for (i = 0; i < 2; i++) {
		for (k = 0; k < 2; k++) {
			const double weight = (i ? part[0] : 1 - part[0]) *
					      (k ? part[1] : 1 - part[1]);
			struct interval v;

			if (!weight)
				continue;
			v = corner(s, at[0][i], at[1][k], &p->added);
			if (!v.n)
				return false;
			add(&p->slow, &v, weight);
		}
	}
	return p->slow.n;
}

bool surfaces_at(const struct surface *s, const double *rate, size_t n, double capacity,
		 double bandwidth, double at, struct prediction *p)
{
	struct prediction from, to;
	size_t low = 0, high = n, i;
	double part;

	for (i = 1; i < n; i++) {
		if (rate[i] <= at && rate[i] > rate[low])
			low = i;
		if (rate[i] > at && (high == n || rate[i] < rate[high]))
			high = i;
	}
	if (!surface_at(&s[low], capacity, bandwidth, p))
		return false;
	p->more_dma = high == n && at > rate[low];
	if (high == n || at <= rate[low])
		return true;
	from = *p;
	if (!surface_at(&s[high], capacity, bandwidth, &to))
		return false;
	part = (at - rate[low]) / (rate[high] - rate[low]);
	p->slow = (struct interval) { 0 };
	add(&p->slow, &from.slow, 1 - part);
	add(&p->slow, &to.slow, part);
	p->added |= to.added;
	p->beyond |= to.beyond;
	return true;
}

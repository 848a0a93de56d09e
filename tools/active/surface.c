// SPDX-License-Identifier: GPL-2.0
/*
 * What a command does with less cache and less bandwidth, see surface.h
 */
#include <math.h>

#include "surface.h"

/* The standard error of a mean */
static double error_of(const struct interval *v)
{
	return v->n < 2 ? 0 : (v->high - v->mean) / student_95(v->n - 1);
}

/* Student's t for the difference of two means: the degrees of freedom are Welch's */
static double welch_95(const struct interval *a, const struct interval *b)
{
	const double x = pow(error_of(a), 2), y = pow(error_of(b), 2);

	if (a->n < 2 || b->n < 2 || x + y <= 0)
		return 0;
	return student_95((x + y) * (x + y) / (x * x / (a->n - 1) + y * y / (b->n - 1)));
}

struct interval ratio_of(const struct interval *a, const struct interval *b)
{
	struct interval r = { .n = a->n < b->n ? a->n : b->n };
	double t, above, below, root;

	if (!r.n || b->mean <= 0)
		return (struct interval) { 0 };
	/* What a - m b is 0 for, within t errors: m^2 below - 2 m a b + above = 0 */
	t = welch_95(a, b);
	above = a->mean * a->mean - pow(t * error_of(a), 2);
	below = b->mean * b->mean - pow(t * error_of(b), 2);
	root = a->mean * b->mean + sqrt(fmax(0, pow(a->mean * b->mean, 2) - above * below));
	r.mean = a->mean / b->mean;
	r.low = above > 0 ? above / root : 0;
	r.high = below > 0 ? root / below : INFINITY;
	return r;
}

enum verdict verdict_of(const struct interval *slow, double threshold)
{
	if (slow->n < 2)
		return UNDECIDED;
	if (slow->mean > 1 + threshold && slow->low > 1)
		return SLOWER;
	return slow->high <= 1 + threshold ? WELL : UNDECIDED;
}

/* How many may decide a level, if it varies as before; 0: nobody knows, or too many */
static size_t enough_for(const struct interval *slow, double threshold)
{
	const bool more = slow->mean > 1 + threshold;
	const double wanted = more ? slow->mean - 1 : 1 + threshold - slow->mean;
	const double seen = more ? slow->mean - slow->low : slow->high - slow->mean;
	size_t n;

	if (slow->n < 2 || !isfinite(seen))
		return 0;
	for (n = slow->n + 1; n <= STATISTICS_MAX; n++)
		if (seen * student_95(2 * n - 2) / student_95(2 * slow->n - 2) *
		    sqrt((double)slow->n / n) < wanted)
			return n;
	return 0;
}

struct bound bound_of(const double *available, const struct interval *slow, size_t levels,
		      double threshold)
{
	size_t well = 0, first, i;
	struct bound b = { 0 };
	bool known = true;

	/* Where nothing was taken away, nothing follows. */
	if (levels < 2)
		return b;
	for (i = 1; i < levels; i++)
		if (verdict_of(&slow[i], threshold) == WELL)
			well = i;
	for (first = well + 1; first < levels; first++)
		if (verdict_of(&slow[first], threshold) == SLOWER)
			break;
	b.suffers = first < levels ? SLOWER : well == levels - 1 ? WELL : UNDECIDED;
	b.at_most = available[0];
	for (i = 1; i <= well; i++)
		b.at_most = fmin(b.at_most, available[i]);
	for (b.at_least = b.at_most; i < first; i++) {
		const size_t n = enough_for(&slow[i], threshold);

		b.at_least = fmin(b.at_least, available[i]);
		b.undecided++;
		known &= !!n;
		b.repetitions = n > b.repetitions ? n : b.repetitions;
	}
	b.at_least = b.suffers == SLOWER ? fmin(b.at_least, available[first]) : 0;
	b.level = b.suffers == SLOWER ? first : 0;
	if (!known)
		b.repetitions = 0;
	return b;
}

bool bound_missed(struct bound *b, const struct interval *slow, const struct interval *missed)
{
	if (!b->level || missed->n < 2 || missed->high <= 1)
		return false;
	b->at_least = slow->low > missed->high ? b->at_least / missed->high : 0;
	return true;
}

/* As slow as both make it, if they have nothing to do with each other */
static struct interval both(const struct interval *a, const struct interval *b)
{
	struct interval r = { 0 };

	if (!a->n || !b->n)
		return r;
	r.n = a->n < b->n ? a->n : b->n;
	r.mean = a->mean + b->mean - 1;
	r.low = r.mean - hypot(a->mean - a->low, b->mean - b->low);
	r.high = r.mean + hypot(a->high - a->mean, b->high - b->mean);
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

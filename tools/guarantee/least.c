// SPDX-License-Identifier: GPL-2.0
/*
 * What follows from windows: pure functions
 *
 * A guarantee must not be too large, so what counts is what has moved for sure. In a pass
 * each line of the buffers is touched once, so no more lines are found in a cache than it
 * has, however it replaces them: of N lines, caches of C have kept C at most. With N at
 * least 16 C, no more than a sixteenth is taken off for that.
 *
 * For copy it is a twelfth: N lines move 3/2 N times, and one that is kept is one that was
 * stored to, twice.
 */
#include <math.h>

#include "guarantee.h"
#include "statistics.h"

uint64_t buffer_bytes(uint64_t cache_bytes, unsigned int threads)
{
	uint64_t bytes = BUFFER_MIN;

	while (bytes < BUFFER_MAX && bytes * threads < BUFFER_CACHES * cache_bytes)
		bytes *= 2;
	return bytes;
}

double from_memory(const struct pattern *p, uint64_t cache_bytes, uint64_t buffers_bytes)
{
	return 1 - p->hit / p->pass * cache_bytes / buffers_bytes;
}

struct rate rate_of(const struct window *w, size_t n, double part)
{
	double v[STATISTICS_MAX], low = INFINITY, high = 0, middle;
	struct rate r = { .ran = 1 };
	size_t i;

	for (i = 0; i < n && i < STATISTICS_MAX; i++) {
		v[i] = w[i].lines * LINE_BYTES * part * 1e9 / w[i].ns;
		low = fmin(low, v[i]);
		high = fmax(high, v[i]);
		r.ran = fmin(r.ran, w[i].ran);
	}
	middle = median(v, i);
	r.bytes_s = middle;
	r.spread = middle > 0 ? (high - low) / middle : 0;
	return r;
}

size_t least_of(const struct rate *r, size_t n)
{
	size_t least = 0, i;

	for (i = 1; i < n; i++)
		if (r[i].bytes_s < r[least].bytes_s)
			least = i;
	return least;
}

uint64_t guarantee_of(uint64_t bytes_s, unsigned int margin)
{
	return bytes_s * (100 - margin) / 100;
}

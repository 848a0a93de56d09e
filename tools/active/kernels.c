// SPDX-License-Identifier: GPL-2.0
/*
 * The loops: what interferers do, and the probabilistic benchmark
 *
 * Each is written so that no compiler can leave out its accesses; that they are in the
 * program is checked on the object code (ci/tests/tools-active).
 */
#include "active.h"
#include "random.h"

/* More than any buffer has lines: all are visited before one is visited again */
#define PRIME	2654435761ull
#define ROUND	256

/*
 * BWThr (figure 2): increments in many buffers with a prime stride. A line is met again
 * only after all others of its buffer, and 44 misses can be on their way at once. The
 * stride is counted in lines, not elements: each access is to another line. It goes on
 * where it ended.
 */
void active_bandwidth(struct loop *l)
{
	const uint64_t each = l->bytes / BW_BUFFERS / LINE_BYTES;
	uint64_t i, b;

	for (i = l->done / BW_BUFFERS + 1; !l->stop && i <= l->end; i++) {
		char *const at = l->buffer + active_identity(PRIME * i) % each * LINE_BYTES;

		for (b = 0; b < BW_BUFFERS; b++)
			++*(uint64_t *)(at + b * each * LINE_BYTES);
		l->done = i * BW_BUFFERS;
	}
}

/* CSThr (figure 3): increments at random places */
void active_storage(struct loop *l)
{
	const uint64_t elements = l->bytes / sizeof(int);
	int *const buffer = (int *)l->buffer;
	uint64_t state = RANDOM_SEED, n, i;

	for (n = ROUND; !l->stop; n += ROUND) {
		for (i = 0; i < ROUND; i++)
			++buffer[(random_next(&state) >> 32) * elements >> 32];
		/* Nobody else knows what they are; all have to be there now. */
		asm volatile("" : : "r"(buffer) : "memory");
		l->done = n;
	}
}

/* STREAM's triad, a = b + s c: all the bandwidth that a core gets. Lines: of all three */
void active_stream(struct loop *l)
{
	const uint64_t lines = l->bytes / 3 / LINE_BYTES;
	const uint64_t each = lines * LINE_BYTES / sizeof(double);
	double *const a = (double *)l->buffer, *const b = a + each, *const c = b + each;
	uint64_t i, k, n;

	for (n = 0; !l->stop;) {
		for (i = 0; i < each && !l->stop; i += ROUND) {
			const uint64_t end = i + ROUND < each ? i + ROUND : each;

			for (k = i; k < end; k++)
				a[k] = b[k] + 3 * c[k];
			n += (end - i) * sizeof(double) * 3;
			asm volatile("" : : "r"(a) : "memory");
			l->done = n / LINE_BYTES;
		}
	}
}

/*
 * The probabilistic benchmark (figure 4). What is read is 0, and goes into the next random
 * number: so a read begins when the one before has ended, and the time of each
 * tells where it was found.
 */
uint64_t active_probe(const struct pattern *p, const char *buffer, uint64_t *random,
		      uint64_t reads, unsigned int additions)
{
	const volatile uint32_t *const elements = (const volatile uint32_t *)buffer;
	uint64_t state = *random, sum = 0, i;
	unsigned int a;

	for (i = 0; i < reads; i++) {
		const uint32_t value = elements[pattern_element(p, state)];

		for (a = 0; a < additions; a++) {
			sum += value;
			asm volatile("" : "+r"(sum));
		}
		state ^= value;
		random_next(&state);
	}
	*random = state;
	return sum;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Patterns: from what a DRAM likes best to what it likes least
 *
 *	read	lines in order: rows stay open, nothing is written
 *	copy	from one half to the other, in order
 *	random	reads of lines in no order: each opens a row
 *	modify	the same, and each line is stored to: the memory has to turn round between
 *		reads and writes, too
 *	stride	modify with a stride of 128 KiB. Where that leaves the bank the same, one
 *		bank serves all while the others wait: MemGuard's worst case. How addresses
 *		become banks is hashed and seldom published, and beyond a page the
 *		kernel decides what lies where: so this is a guess, no bound.
 *
 * No access waits for another one, as bandwidth is asked for, not latency. One word of each
 * line is touched: so a store always has to fill its line first, where some processors
 * leave that out for lines that are written as a whole; and a core can ask for more. A line
 * that is stored to moves twice, once each way.
 */
#include "guarantee.h"
#include "order.h"

#define ROUND	256u		/* lines between two looks at whether it is over */

static inline uint64_t load(const struct stream *s, uint64_t line)
{
	return *(const volatile uint64_t *)(s->buffer + line * LINE_BYTES);
}

static inline void store(const struct stream *s, uint64_t line, uint64_t value)
{
	*(volatile uint64_t *)(s->buffer + line * LINE_BYTES) = value;
}

static void run_read(struct stream *s)
{
	const uint64_t mask = (1ull << s->bits) - 1;
	uint64_t at = s->first, moved = 0;
	unsigned int k;

	while (!s->stop) {
		for (k = 0; k < ROUND; k++)
			load(s, (at + k) & mask);
		at += ROUND;
		moved += ROUND;
		s->lines = moved;
	}
}

static void run_copy(struct stream *s)
{
	const uint64_t half = 1ull << (s->bits - 1), mask = half - 1;
	uint64_t at = s->first, moved = 0;
	unsigned int k;

	while (!s->stop) {
		for (k = 0; k < ROUND; k++)
			store(s, half + ((at + k) & mask), load(s, (at + k) & mask));
		at += ROUND;
		moved += 3 * ROUND;
		s->lines = moved;
	}
}

static void run_random(struct stream *s)
{
	uint64_t at = s->first, moved = 0;
	unsigned int k;

	while (!s->stop) {
		for (k = 0; k < ROUND; k++)
			load(s, order_random(at + k, s->bits));
		at += ROUND;
		moved += ROUND;
		s->lines = moved;
	}
}

static void run_modify(struct stream *s)
{
	uint64_t at = s->first, moved = 0;
	unsigned int k;

	while (!s->stop) {
		for (k = 0; k < ROUND; k++) {
			const uint64_t line = order_random(at + k, s->bits);

			store(s, line, load(s, line) + 1);
		}
		at += ROUND;
		moved += 2 * ROUND;
		s->lines = moved;
	}
}

static void run_stride(struct stream *s)
{
	const uint64_t mask = (1ull << s->bits) - 1;
	uint64_t at = s->first, moved = 0;
	unsigned int k;

	while (!s->stop) {
		for (k = 0; k < ROUND; k++) {
			const uint64_t line = order_stride((at + k) & mask, s->bits);

			store(s, line, load(s, line) + 1);
		}
		at += ROUND;
		moved += 2 * ROUND;
		s->lines = moved;
	}
}

/* A line that the cache had is not read, and may stay there, and not be written back. */
const struct pattern patterns[PATTERNS] = {
	{ "read", "reads in order", run_read, 1, 1 },
	{ "copy", "copies in order", run_copy, 1.5, 2 },
	{ "random", "reads in no order", run_random, 1, 1 },
	{ "modify", "reads and writes in no order", run_modify, 2, 2 },
	{ "stride", "reads and writes 128 KiB apart", run_stride, 2, 2 },
};

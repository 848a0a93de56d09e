/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Load patterns: devices beside a CPU, and what the estimators make of them
 *
 * A pattern is a loop of steps. In each step a CPU walks through some memory
 * (in a stream, or at random), a device writes into a ring and another reads
 * from memory; the CPU may zero what the device is about to write, and read
 * what it has written, at once or late. The first half of the steps warms the
 * cache up, the second is counted.
 */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

struct pattern {
	const char *name;
	/* The CPU beside: accesses in a step, over so many lines. */
	unsigned int cpu, store_percent;
	uint64_t cpu_lines;
	bool random;
	/* The device that writes: lines in a step, into a ring. */
	unsigned int writes;
	uint64_t ring;
	bool zero;			/* the CPU zeroes each line before */
	bool consume;			/* the CPU reads each line ... */
	uint64_t late;			/* ... when so many others have come */
	bool copy;			/* ... and copies it to a 4 MiB buffer */
	bool reread;			/* the device reads it again as well */
	/* The device that reads. */
	unsigned int reads;
	uint64_t read_lines;
};

/* All in lines, of the second half; devices unless it says otherwise. */
struct pattern_figures {
	uint64_t to_lines, to_miss;
	uint64_t from_lines, from_miss, from_clean_hit;
	uint64_t wb_first, wb_last, wb_evictor;
	uint64_t cpu_miss;		/* the CPU's loads and stores */
	uint64_t wb_all;		/* everyone's write-backs */
	int64_t dirty_grown;		/* change of the dirty lines */
};

extern const struct pattern patterns[];
extern const unsigned int pattern_count;

/*
 * Run a pattern on a pair (pair.h): 20 MiB, 20 ways, 2 of them for DDIO, 8
 * slices. With @private the CPU has its L1 and L2 before it; without, each of
 * its accesses reaches the LLC, and what it stores is written back there at
 * once. Any difference between library and model ends in pair_failed().
 */
void pattern_run(const struct pattern *p, bool private, unsigned int steps,
		 struct pattern_figures *f);

#endif /* PATTERNS_H */

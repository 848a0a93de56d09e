/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A DRAM with a ceiling of bandwidth, as a pure library
 *
 * Like llc.h: no QEMU, no locks; linked into QEMU (hsx-dram.c lets CPUs wait) and
 * into the unit tests.
 *
 * The DRAM moves one line after the other, each in 64 bytes / bandwidth, rounded
 * to a picosecond: lines that a miss reads and those that are written back alike,
 * on whatever channel. So all that there is to know is one time: when it will have
 * done what has been asked of it so far. A line is done a line's time after that,
 * or after now, whichever is later, and so a request is behind all that came
 * before it, whoever it is from.
 *
 * Who waits is the caller's choice. Here nobody waits for a line that is written
 * back, and devices wait for nothing: what they move is time that the CPUs' next
 * misses are later, and so are theirs behind what the CPUs have asked for. A CPU
 * waits for what it misses, but not each time: it has `ahead_ns` of lines under way,
 * as a core has its fill buffers, and waits when there would be more. So a CPU that
 * misses all the time moves one line after the other with no gap between them,
 * which is the ceiling; and one that computes for longer than a line takes waits
 * for nothing at all.
 *
 * Where nobody can be stopped just in time, `behind_ns` makes up for it: a DRAM
 * that has had nothing to do may do up to so much of it later.
 *
 * Worked example: 1 GB/s is 64 ns for a line. A CPU loads from new lines, one each
 * 4 ns. With 640 ns ahead its first 10 loads wait for nothing; the 11th, at 40 ns,
 * would be done at 704 ns, and waits 24 ns; each one after it 60 ns: a line in
 * 64 ns. A device that writes 1000 lines meanwhile stops it for 64 us; and two
 * such CPUs have a line in 128 ns each.
 *
 * That this is one queue is an approximation: a DRAM has banks and rows, prefers
 * reads, and turns round between reads and writes. That it is a fair one for
 * bandwidth is what is meant here; latency is that of waiting, none besides.
 */
#ifndef HSX_DRAM_H
#define HSX_DRAM_H

#include <stdbool.h>
#include <stdint.h>

struct dram {
	uint64_t line_ps;		/* 0: no ceiling */
	uint64_t ahead_ps, behind_ps;
	uint64_t done_ps;		/* when all has been moved; shared by all threads */
};

bool dram_init(struct dram *d, uint64_t bytes_per_s);
void dram_slack(struct dram *d, uint64_t ahead_ns, uint64_t behind_ns);
uint64_t dram_move(struct dram *d, uint64_t now_ns, unsigned int lines);
uint64_t dram_wait_ns(const struct dram *d, uint64_t done_ps, uint64_t now_ns);

#endif /* HSX_DRAM_H */

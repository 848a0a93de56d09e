/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A DRAM with a ceiling of bandwidth, as a pure library
 *
 * Like llc.h: no QEMU, no locks; linked into QEMU (hsx-dram.c lets CPUs wait) and
 * into the unit tests.
 *
 * The DRAM moves one line after the other, each in 64 bytes / bandwidth, rounded
 * to a picosecond: lines that a miss reads and those that are written back alike,
 * on whatever channel. CPUs and devices take turns as long as there are lines of both:
 * one of the CPUs', one of the devices'. Else whoever has some goes on. So CPUs have half
 * of the bandwidth, whatever devices move, and all that these leave.
 *
 * So there are two numbers to know: when all will have been done that CPUs have asked for,
 * with what of the devices' falls to its turns; and how much time the devices' other lines
 * take, for which nobody has waited yet. A line of a CPU is done a line's time after
 * what CPUs have asked for before, whoever it was, or after now, whichever is
 * later, and one more if there is one of a device. Time for which there was nothing
 * of the CPUs is the devices'.
 *
 * Who waits is the caller's choice. Here nobody waits for a line that is written
 * back, and devices wait for nothing: that they can't be held up is why their lines
 * are a debt. There are never more of them than DRAM_DEVICES_NS takes, as a device that is
 * slower than it would like has a queue of some length. (So where devices move more than
 * CPUs leave, and more than half, for longer, more is moved than the ceiling.) A CPU
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
 * 64 ns. A device that writes 1000 lines meanwhile makes that 128 ns for its next 1000
 * lines; and two such CPUs have a line in 128 ns each.
 *
 * That these are two queues is an approximation: a DRAM has banks and rows, prefers
 * reads, and turns round between reads and writes; and a device's request, which comes
 * at once here, comes at the speed of its link. That it is fair for bandwidth is what is
 * meant; latency is that of waiting, none besides.
 */
#ifndef HSX_DRAM_H
#define HSX_DRAM_H

#include <stdbool.h>
#include <stdint.h>

struct dram {
	uint64_t line_ps;		/* 0: no ceiling */
	uint64_t ahead_ps, behind_ps;
	/* Shared by all threads, each by itself: */
	uint64_t done_ps;		/* when all has been moved that CPUs wait for */
	uint64_t devices_ps;		/* what devices' other lines take */
};

#define DRAM_DEVICES_NS	100000000ull

bool dram_init(struct dram *d, uint64_t bytes_per_s);
void dram_slack(struct dram *d, uint64_t ahead_ns, uint64_t behind_ns);
uint64_t dram_move_cpu(struct dram *d, uint64_t now_ns, unsigned int lines);
void dram_move_device(struct dram *d, uint64_t now_ns, unsigned int lines);
uint64_t dram_wait_ns(const struct dram *d, uint64_t done_ps, uint64_t now_ns);

#endif /* HSX_DRAM_H */

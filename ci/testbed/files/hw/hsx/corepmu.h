/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The performance counters of a Haswell core, as a pure library
 *
 * Like llc.h: no QEMU, no locks, no allocation; linked into QEMU (hsx-core.c
 * says what happens and delivers the interrupt) and into the unit tests.
 *
 * Registers
 *
 * Architectural performance monitoring, version 3, as the Software Developer's
 * Manual has it: 8 general counters, or 4 where a core has two threads, which have
 * 4 each; 3 fixed ones; all 48 bits wide; event selects; enables, status and
 * clearing for all of them in one register each;
 * full-width writes. A reserved bit that is set is a fault (#GP).
 *
 *	0xc1 + n	general counter; a write extends the sign of bit 31
 *	0x4c1 + n	the same, all 48 bits
 *	0x186 + n	select: event 7:0, umask 15:8, user 16, kernel 17, edge 18,
 *			pin 19, interrupt 20, any thread 21, enable 22, invert 23,
 *			cmask 31:24
 *	0x309 + n	fixed counter: instructions, cycles, reference cycles
 *	0x38d		of each fixed counter 4 bits: kernel, user, any thread,
 *			interrupt
 *	0x38e		overflow status: general 7:0, fixed 34:32
 *	0x38f		enable, the same bits
 *	0x390		clear status: write 1
 *	0x345		capabilities: full-width writes
 *	0x1d9		debug control: bit 12 freezes counters when they interrupt
 *	0x1a6, 0x1a7	what OFFCORE_RESPONSE counts
 *	0x3f6		latency from which LOAD_LATENCY counts, cycles
 *	0x3f1, 0x600	samples written by the processor: pebs.h; if there are any
 *
 * A counter that wraps sets its status bit, and raises the interrupt if it was
 * asked to. With bit 12 of debug control set, that clears all enables. Status
 * bit 62 says that the buffer of samples is as full as was asked for.
 * Any-thread adds nobody: a thread counts what it does itself, as if that bit were
 * not set. Pin control does nothing.
 *
 * What is counted
 *
 * What happens in a core comes as signals, and an event select is a set of
 * signals: a counter adds one for each happening that has any of its. So the
 * table of events in corepmu.c is all there is to know about an event. Each
 * happening has a mode, user (CPL above 0) or kernel; a select filters by mode.
 *
 * A cycle is a retired instruction, or one more round of a repeated one (the
 * look at a count that has run out is a round, too: REP STOSB of N bytes is one
 * instruction in N + 1 cycles). There are no stalls: cycles measure work, not
 * time, and reference cycles are the same. No counter counts in a halted core.
 *
 * Instructions are exact. One that faults has not retired, nor has a repeated
 * one that was interrupted. The interrupt comes before the instruction after the
 * one that wrapped the counter.
 *
 * An access is one load or store of the processor, however it is cut into
 * lines; an atomic read-modify-write is a (locked) load and a store. It counts
 * when its data was there, even if the instruction then faults elsewhere. Where
 * a load found its data is the farthest place of its lines. A write to a clean
 * line that others may have asks the LLC, and is a reference without being an
 * access to L2. There are no prefetches, no fetches of code, no page walks.
 *
 * Branches: branch.h says which are mispredicted, and which execute though they
 * never retire. FAR_BRANCH are far instructions (system calls and returns from
 * interrupts included), not interrupts and faults themselves.
 *
 * The erratum of threads (HSD29 of Haswell, BJ122 and BV98 of its ancestors), if it
 * is asked for
 *
 * Events of memory that count at retirement may go astray, from a general counter
 * to the one with the same number of the core's other thread. They are those that
 * the kernel takes for it (intel_hsw_event_constraints), 0xd0 to 0xd3 with any
 * umask: while counter i of a thread counts one of them, its sibling's counter i
 * is corrupted, if it is enabled, whatever it counts, in any mode; also if that is
 * such an event itself.
 *
 * On hardware some happenings go astray, in no known way (in one measurement of a
 * Sandy Bridge, 30 of 6,700 million loads). Here each of them counts where
 * it belongs and in the sibling's counter as well: the worst case, which is what a
 * workaround has to stand, and one that a test sees with the first event. None is
 * dropped, as then no workaround would help. What goes astray is added as it is:
 * it goes no further, makes no sample, and may wrap the counter.
 *
 * Not modelled, so reading zero: other events; any select with edge, invert or
 * cmask, but for the two that say "cycles" in a precise way (UOPS_RETIRED.ALL
 * or INST_RETIRED.PREC_DIST, fewer than 16 in a cycle); an event on a counter
 * that can't count it on hardware; those of caches, without a model of caches.
 */
#ifndef HSX_COREPMU_H
#define HSX_COREPMU_H

#include <stdbool.h>
#include <stdint.h>

#include "pebs.h"

#define CORE_GENERAL	8		/* the most that there may be */
#define CORE_THREAD_GENERAL 4		/* of each of two threads */
#define CORE_FIXED	3
#define CORE_COUNTERS	(CORE_GENERAL + CORE_FIXED)
#define CORE_WIDTH	48

enum core_mode { CORE_KERNEL, CORE_USER, CORE_MODES };

/* Kinds of branches, in the order of the umask bits of BR_INST_EXEC. */
enum core_branch_kind {
	CORE_CONDITIONAL,
	CORE_JUMP,			/* unconditional, direct */
	CORE_INDIRECT_JUMP,
	CORE_RETURN,
	CORE_CALL,			/* direct */
	CORE_INDIRECT_CALL,
	CORE_NEAR_KINDS,
	CORE_FAR = CORE_NEAR_KINDS
};

/* Where an access, or one of its lines, found the data */
enum core_level {
	CORE_L1,
	CORE_L2,
	CORE_L3,
	CORE_L3_OTHER,			/* modified in another core's cache */
	CORE_DRAM,			/* of this socket */
	CORE_REMOTE_CACHE,		/* in the other socket's, clean */
	CORE_REMOTE_OTHER,		/* ... or modified */
	CORE_REMOTE_DRAM,
	CORE_UNCACHED,			/* no memory: a load from nowhere */
	CORE_LEVELS
};

enum core_signal {
	CORE_INSTRUCTION,
	CORE_CYCLE,
	/* of an access */
	CORE_LOAD,
	CORE_STORE,
	CORE_LOCKED_LOAD,
	CORE_SPLIT_LOAD,
	CORE_SPLIT_STORE,
	CORE_LOAD_L1_HIT,
	CORE_LOAD_L2_HIT,
	CORE_LOAD_L3_HIT,		/* no other core had to be asked */
	CORE_LOAD_L3_OTHER,
	CORE_LOAD_L1_MISS,
	CORE_LOAD_L2_MISS,
	CORE_LOAD_L3_MISS,		/* the next four together */
	CORE_LOAD_DRAM,
	CORE_LOAD_REMOTE_DRAM,
	CORE_LOAD_REMOTE_CACHE,
	CORE_LOAD_REMOTE_OTHER,
	CORE_LOAD_LATENCY,		/* as long as register 0x3f6 says, or longer */
	/* of a line */
	CORE_L1_FILL,
	CORE_L2_READ_HIT,
	CORE_L2_READ_MISS,
	CORE_L2_WRITE_HIT,
	CORE_L2_WRITE_MISS,
	CORE_L3_REFERENCE,
	CORE_L3_MISS,
	CORE_OFFCORE_0,			/* as register 0x1a6 says */
	CORE_OFFCORE_1,
	/* of a branch that retires */
	CORE_BRANCH,
	CORE_BRANCH_CONDITIONAL,
	CORE_BRANCH_CALL,
	CORE_BRANCH_RETURN,
	CORE_BRANCH_NOT_TAKEN,
	CORE_BRANCH_TAKEN,
	CORE_BRANCH_FAR,
	CORE_MISP,
	CORE_MISP_CONDITIONAL,
	CORE_MISP_TAKEN,
	/* of a branch that executes, for each kind: not taken, taken */
	CORE_EXEC,
	CORE_EXEC_MISP = CORE_EXEC + 2 * CORE_NEAR_KINDS,
	CORE_SIGNALS = CORE_EXEC_MISP + 2 * CORE_NEAR_KINDS
};

#define CORE_SIGNAL(s)		(1ull << (s))
#define CORE_CLOCK_SIGNALS	(CORE_SIGNAL(CORE_LOAD) - 1)
#define CORE_CACHE_SIGNALS	(CORE_SIGNAL(CORE_BRANCH) - CORE_SIGNAL(CORE_LOAD))
#define CORE_BRANCH_SIGNALS	(CORE_SIGNAL(CORE_SIGNALS) - CORE_SIGNAL(CORE_BRANCH))

struct core_pmu {
	/* Registers; fixed counters follow the general ones */
	uint64_t count[CORE_COUNTERS];
	uint64_t select[CORE_GENERAL];
	uint64_t fixed_ctrl, enable, status, debugctl;
	uint64_t offcore[2], latency;
	/* What counts now, by mode: each counter's signals, and all of them */
	uint64_t counts[CORE_MODES][CORE_COUNTERS];
	uint64_t wanted[CORE_MODES];
	unsigned int general;		/* general counters, from 0 */
	uint8_t astray;			/* those that count what may go astray */
	bool interrupt;			/* raised; the caller takes it */
	struct pebs pebs;
};

enum core_msr { CORE_MSR_OTHER, CORE_MSR_DONE, CORE_MSR_FAULT };

/**
 * core_missed_l3() - was the line in no LLC of this socket?
 */
static inline bool core_missed_l3(enum core_level level)
{
	return level >= CORE_DRAM && level <= CORE_REMOTE_DRAM;
}

/* A large number of cycles that still can be added to another. */
#define CORE_NEVER	(INT64_MAX / 4)

/**
 * core_pmu_freezes() - does the next interrupt stop all counters?
 */
static inline bool core_pmu_freezes(const struct core_pmu *p)
{
	return p->debugctl & 1u << 12;
}

/**
 * core_pmu_precise() - can there be samples now, or is one to be written?
 */
static inline bool core_pmu_precise(const struct core_pmu *p)
{
	return p->pebs.able | p->pebs.due;
}

void core_pmu_reset(struct core_pmu *p, unsigned int general, enum pebs_format format,
		    bool lossy);
bool core_pmu_has(const struct core_pmu *p, uint32_t msr);
enum core_msr core_pmu_write(struct core_pmu *p, uint32_t msr, uint64_t val);
enum core_msr core_pmu_read(const struct core_pmu *p, uint32_t msr, uint64_t *val);
bool core_pmu_rdpmc(const struct core_pmu *p, uint32_t index, uint64_t *val);
uint64_t core_event_signals(uint64_t select, unsigned int counter);
void core_pmu_clock(struct core_pmu *p, enum core_mode mode, int64_t instructions,
		    int64_t cycles);
void core_pmu_left(const struct core_pmu *p, enum core_mode now, int64_t left[CORE_MODES]);
void core_pmu_count(struct core_pmu *p, enum core_mode mode, uint64_t signals);
unsigned int core_pmu_astray(const struct core_pmu *p, enum core_mode mode, uint64_t signals);
unsigned int core_pmu_open(const struct core_pmu *p);
void core_pmu_corrupt(struct core_pmu *p, unsigned int i, uint64_t n);
enum core_level core_pmu_retires_as(struct core_pmu *p, bool load, enum core_level level);
void core_pmu_accessed(struct core_pmu *p, uint64_t address, bool locked,
		       enum core_level level);
bool core_pmu_sample(struct core_pmu *p, const struct pebs_cpu *cpu,
		     struct pebs_area *area, uint64_t record[PEBS_WORDS]);

uint64_t core_access_signals(bool load, bool store, bool locked, bool split,
			     enum core_level level);
uint64_t core_line_signals(bool store, enum core_level level, bool upgrade);
uint64_t core_offcore_signals(const struct core_pmu *p, bool store, enum core_level level,
			      bool upgrade);
unsigned int core_latency(enum core_level level);
uint64_t core_latency_signal(const struct core_pmu *p, enum core_level level);
uint64_t core_branch_signals(enum core_branch_kind kind, bool taken, bool wrong, bool retires);

#endif /* HSX_COREPMU_H */

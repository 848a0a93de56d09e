/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Precise event-based sampling (PEBS) of a Haswell core, as a pure library
 *
 * A part of the counters, below corepmu.c: which events can be sampled, when a
 * sample is taken, what its record says, and where in the buffer it goes. The
 * caller reads and writes the guest's memory, and says what the registers are.
 *
 * Registers (corepmu.c keeps them)
 *
 *	0x3f1	enable: bit n for general counter n, bit 32 + n for its latency;
 *		n is below PEBS_COUNTERS
 *	0x600	linear address of the debug store, canonical
 *	0x345	bits 11:8: format of the records, 2 or 3; bit 6: a trap, the record
 *		is written behind the instruction; bit 7: it has all registers
 *
 * When
 *
 * A counter that is enabled here, and counts a precise event, does not interrupt
 * when it wraps: it sets its status bit, goes on counting, and is armed. The
 * next of its events is the sample, so a reset value of -N makes a record each
 * N + 1 events. Behind the instruction that the event belongs to, before
 * anything else happens, the record is written and the counter set to its reset
 * value; its status bit is cleared. Writing the counter disarms it. While its enable
 * bit is off it has no samples, and is armed still when that is set again: the kernel
 * turns all of them off and on for each change of its events, and does not write the
 * counters of those that stay. An event that is not precise makes no records: the
 * counter wraps, sets its status bit and goes on, without an interrupt, either.
 *
 * Several counters whose samples are of the same instruction share a record.
 *
 * Precise are those that the kernel tree's tables for this processor say are
 * (pmu-events/arch/x86/haswellx, "PEBS"): INST_RETIRED.PREC_DIST and
 * UOPS_RETIRED.ALL, which both stand in for cycles here; BR_INST_RETIRED and
 * BR_MISP_RETIRED, but for their umask 0, not taken and far ones;
 * MEM_TRANS_RETIRED.LOAD_LATENCY, MEM_UOPS_RETIRED and MEM_LOAD_UOPS_*RETIRED.
 *
 * Debug store
 *
 *	0x20 base	0x28 index	0x30 absolute maximum	0x38 threshold
 *	0x40 + 8 n	reset value of counter n
 *
 * all 64 bits wide; what is below is branch traces', which there are none of. A
 * record goes to the index, if it ends at the maximum at the latest, else it is
 * lost; the counter is reset anyway. With the index then at the threshold or
 * above, status bit 62 is set and the interrupt raised. A debug store or a
 * buffer that is not mapped, or not to be written to, is the end of a processor,
 * or worse; here the sample is lost, and the counter counts on from zero.
 *
 * Record, 64-bit words
 *
 *	0	flags, address of what comes next, AX, BX, CX, DX, SI, DI, BP, SP,
 *		R8 to R15
 *	18	status: which counters. Format 2: all that have wrapped and whose
 *		bit has not been cleared, armed ones among them; format 3: those
 *		whose sample it is
 *	19	address of the data, of loads and stores
 *	20	with the counter's latency enabled: where the load found the data
 *		(bits 3:0: 1 L1, 3 L2, 4 L3, 7 modified in another core, 8 and 9 in
 *		the other socket's caches, clean and modified, 12 DRAM, 13 the
 *		other socket's, 15 uncached; bit 5: locked). Of stores: bit 0, in
 *		L1; bit 5. Else 0
 *	21	with the counter's latency enabled: that, in cycles
 *	22	address of the instruction whose event it is
 *	23	0 (transactions)
 *	24	format 3 only: the time-stamp counter
 *
 * so 192 bytes of format 2, 200 of format 3. Registers are as the instruction
 * has left them. The TLB is not modelled: no access misses it.
 *
 * Losses, if asked for
 *
 * As F. Larysch has measured them on a Skylake ("Fine-Grained Estimation of Memory
 * Bandwidth Utilization", Karlsruhe 2016, section 6.3). Both depend on how many
 * loads are under way; a loop of nothing but loads that miss has the most.
 *
 * - It takes until a counter that has wrapped is armed. Events meanwhile are
 *   counted, but the reset forgets them: with loads alone, 4 to 5 for a record,
 *   the sample itself included. Here arming takes PEBS_DELAY happenings of the
 *   event's kind, in either mode: loads and stores for events of these,
 *   branches for those of branches, cycles for the rest.
 * - Writing a record aborts the loads that have begun. They are done again, but
 *   their data has arrived meanwhile, so they hit L1: a counter of what loads
 *   miss (any, not only this one) does not see them; those of the LLC do. About 30
 *   for each record, at 100 events for a record and more (fewer, 13, at 10, which
 *   is not modelled). Here the next PEBS_IN_FLIGHT loads, in either mode, retire
 *   as if found in L1.
 *
 * Worked example: a loop that only loads, and always misses, sampled each 1000
 * events: 1 + 4 + 30 of 1035 misses are not reported, 96.6 % are (measured: 96 %).
 * Counted in parallel, 970 of 1000 misses retire as such.
 */
#ifndef HSX_PEBS_H
#define HSX_PEBS_H

#include <stdbool.h>
#include <stdint.h>

#define PEBS_COUNTERS	4
#define PEBS_REGISTERS	16
#define PEBS_WORDS	25		/* of the longest record */
#define PEBS_AREA	0x20		/* struct pebs_area in the debug store */
#define PEBS_INDEX	0x28

#define PEBS_DELAY	4
#define PEBS_IN_FLIGHT	30

/* The number of a format, as capabilities have it */
enum pebs_format { PEBS_OFF = 0, PEBS_HSW = 2, PEBS_SKL = 3 };

/* What a sample's access was */
struct pebs_access {
	uint64_t address;
	uint8_t load_source;		/* as in word 20 */
	uint16_t latency;		/* of a load, cycles */
	bool l1, locked;
};

struct pebs {
	/* The machine's choice */
	enum pebs_format format;
	bool lossy;
	/* Registers */
	uint64_t enable, store;
	/* Sets of counters: that can have samples now, that wait for one, that have one */
	uint8_t able, armed, due;
	uint8_t stores;			/* counters whose event is a store */
	uint8_t wait[PEBS_COUNTERS];	/* what has to happen until it is armed indeed */
	uint8_t in_flight;		/* loads to come that will hit L1 */
	bool accessed;			/* there is an @access */
	struct pebs_access access;	/* of the sample that is due */
};

/* The processor behind an instruction */
struct pebs_cpu {
	uint64_t flags, ip;
	uint64_t reg[PEBS_REGISTERS];	/* by their number in instructions */
	uint64_t event_ip;		/* of the instruction */
	uint64_t tsc;
};

/* Of the debug store, from PEBS_AREA on */
struct pebs_area {
	uint64_t base, index, maximum, threshold;
	uint64_t reset[PEBS_COUNTERS];
};

bool pebs_precise(uint64_t select);
void pebs_arm(struct pebs *p, unsigned int counter);
void pebs_forget(struct pebs *p, unsigned int counters);
bool pebs_happened(struct pebs *p, unsigned int counter, int64_t times, bool its_own);
void pebs_accessed(struct pebs *p, const struct pebs_access *a);
void pebs_record(const struct pebs *p, const struct pebs_cpu *cpu, uint64_t status,
		 uint64_t record[PEBS_WORDS]);
bool pebs_place(const struct pebs *p, struct pebs_area *area);

static inline unsigned int pebs_record_bytes(const struct pebs *p)
{
	return p->format == PEBS_SKL ? 200 : 192;
}

/* Is this counter armed, or on its way there, and enabled? */
static inline bool pebs_armed(const struct pebs *p, unsigned int counter)
{
	return counter < PEBS_COUNTERS && p->armed & p->enable & 1u << counter;
}

#endif /* HSX_PEBS_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * The performance counters of a Haswell core; corepmu.h has the model.
 *
 * The event codes are those of the kernel tree's tables for this processor
 * (tools/perf/pmu-events/arch/x86/haswellx).
 */
#include <stddef.h>
#include <string.h>

#include "corepmu.h"

#define COUNT_MASK	((1ull << CORE_WIDTH) - 1)

#define MSR_PMC		0xc1
#define MSR_SELECT	0x186
#define MSR_OFFCORE	0x1a6
#define MSR_DEBUGCTL	0x1d9
#define MSR_FIXED	0x309
#define MSR_CAPABILITIES 0x345
#define MSR_FIXED_CTRL	0x38d
#define MSR_STATUS	0x38e
#define MSR_ENABLE	0x38f
#define MSR_CLEAR	0x390
#define MSR_PEBS_ENABLE	0x3f1
#define MSR_LATENCY	0x3f6
#define MSR_PMC_FULL	0x4c1
#define MSR_DEBUG_STORE	0x600

#define SEL_USER	(1u << 16)
#define SEL_KERNEL	(1u << 17)
#define SEL_EDGE	(1u << 18)
#define SEL_INTERRUPT	(1u << 20)
#define SEL_ENABLE	(1u << 22)
#define SEL_INVERT	(1u << 23)
#define SEL_CMASK(n)	((uint64_t)(n) << 24)
#define SEL_MODIFIERS	(SEL_EDGE | SEL_INVERT | SEL_CMASK(0xff))

#define FIXED_KERNEL	1u
#define FIXED_USER	2u
#define FIXED_INTERRUPT	8u
#define FIXED_OF(ctrl, i) ((ctrl) >> 4 * (i) & 0xf)

#define DEBUGCTL_BITS	0x7fc3ull	/* LBR, BTF, TR ... FREEZE_WHILE_SMM */
#define FULL_WIDTH	(1ull << 13)
#define PEBS_TRAP	(1ull << 6)
#define PEBS_REGS	(1ull << 7)
#define PEBS_FORMAT(f)	((uint64_t)(f) << 8)
#define OFFCORE_BITS	0x3fffff8fffull

#define ENABLE_BITS(p)	(((1ull << CORE_FIXED) - 1) << 32 | ((1ull << (p)->general) - 1))
/* With the uncore's, the debug store's and "condition changed" */
#define CLEAR_BITS(p)	(ENABLE_BITS(p) | 7ull << 61)
#define STATUS_BUFFER	(1ull << 62)
#define PEBS_BITS	(((1ull << PEBS_COUNTERS) - 1) << 32 | ((1ull << PEBS_COUNTERS) - 1))

#define S(signal)	CORE_SIGNAL(CORE_##signal)
#define EXEC(kind, taken) CORE_SIGNAL(CORE_EXEC + 2 * (kind) + (taken))
#define LOAD_MISSED	(S(LOAD_L1_MISS) | S(LOAD_L2_MISS) | S(LOAD_L3_MISS))
#define MISP(kind, taken) CORE_SIGNAL(CORE_EXEC_MISP + 2 * (kind) + (taken))

/* The bit of a counter in the enable and status registers */
static uint64_t bit_of(unsigned int i)
{
	return 1ull << (i < CORE_GENERAL ? i : 32 + i - CORE_GENERAL);
}

#define ALL_COUNTERS	0xff
#define LOW_COUNTERS	0x0f

static const struct {
	uint8_t event, umask;
	uint8_t counters;		/* that can count it */
	uint64_t signals;
} events[] = {
	{ 0x3c, 0x00, ALL_COUNTERS, S(CYCLE) },
	{ 0xc0, 0x00, ALL_COUNTERS, S(INSTRUCTION) },
	{ 0xc0, 0x01, 1 << 1, S(INSTRUCTION) },			/* PREC_DIST */

	/* L2_RQSTS */
	{ 0x24, 0x21, ALL_COUNTERS, S(L2_READ_MISS) },
	{ 0x24, 0x22, ALL_COUNTERS, S(L2_WRITE_MISS) },
	{ 0x24, 0x27, ALL_COUNTERS, S(L2_READ_MISS) | S(L2_WRITE_MISS) },
	{ 0x24, 0x3f, ALL_COUNTERS, S(L2_READ_MISS) | S(L2_WRITE_MISS) },
	{ 0x24, 0xc1, ALL_COUNTERS, S(L2_READ_HIT) },
	{ 0x24, 0xc2, ALL_COUNTERS, S(L2_WRITE_HIT) },
	{ 0x24, 0xe1, ALL_COUNTERS, S(L2_READ_HIT) | S(L2_READ_MISS) },
	{ 0x24, 0xe2, ALL_COUNTERS, S(L2_WRITE_HIT) | S(L2_WRITE_MISS) },
	{ 0x24, 0xe7, ALL_COUNTERS, S(L2_READ_HIT) | S(L2_READ_MISS) |
				    S(L2_WRITE_HIT) | S(L2_WRITE_MISS) },
	{ 0x24, 0xff, ALL_COUNTERS, S(L2_READ_HIT) | S(L2_READ_MISS) |
				    S(L2_WRITE_HIT) | S(L2_WRITE_MISS) },
	/* LONGEST_LAT_CACHE, L1D.REPLACEMENT, OFFCORE_RESPONSE */
	{ 0x2e, 0x41, ALL_COUNTERS, S(L3_MISS) },
	{ 0x2e, 0x4f, ALL_COUNTERS, S(L3_REFERENCE) },
	{ 0x51, 0x01, ALL_COUNTERS, S(L1_FILL) },
	{ 0xb7, 0x01, ALL_COUNTERS, S(OFFCORE_0) },
	{ 0xbb, 0x01, ALL_COUNTERS, S(OFFCORE_1) },

	/*
	 * MEM_TRANS_RETIRED, MEM_UOPS_RETIRED, MEM_LOAD_UOPS_*RETIRED. For the first the
	 * tables say counter 3; but the kernel samples it on any of the lower four
	 * (intel_hsw_pebs_event_constraints), and does so on hardware.
	 */
	{ 0xcd, 0x01, LOW_COUNTERS, S(LOAD_LATENCY) },
	{ 0xd0, 0x21, LOW_COUNTERS, S(LOCKED_LOAD) },
	{ 0xd0, 0x41, LOW_COUNTERS, S(SPLIT_LOAD) },
	{ 0xd0, 0x42, LOW_COUNTERS, S(SPLIT_STORE) },
	{ 0xd0, 0x81, LOW_COUNTERS, S(LOAD) },
	{ 0xd0, 0x82, LOW_COUNTERS, S(STORE) },
	{ 0xd1, 0x01, LOW_COUNTERS, S(LOAD_L1_HIT) },
	{ 0xd1, 0x02, LOW_COUNTERS, S(LOAD_L2_HIT) },
	{ 0xd1, 0x04, LOW_COUNTERS, S(LOAD_L3_HIT) },
	{ 0xd1, 0x08, LOW_COUNTERS, S(LOAD_L1_MISS) },
	{ 0xd1, 0x10, LOW_COUNTERS, S(LOAD_L2_MISS) },
	{ 0xd1, 0x20, LOW_COUNTERS, S(LOAD_L3_MISS) },
	{ 0xd2, 0x04, LOW_COUNTERS, S(LOAD_L3_OTHER) },		/* XSNP_HITM */
	{ 0xd2, 0x08, LOW_COUNTERS, S(LOAD_L3_HIT) },		/* XSNP_NONE */
	{ 0xd3, 0x01, LOW_COUNTERS, S(LOAD_DRAM) },		/* LOCAL_DRAM */
	{ 0xd3, 0x04, LOW_COUNTERS, S(LOAD_REMOTE_DRAM) },
	{ 0xd3, 0x10, LOW_COUNTERS, S(LOAD_REMOTE_OTHER) },	/* REMOTE_HITM */
	{ 0xd3, 0x20, LOW_COUNTERS, S(LOAD_REMOTE_CACHE) },	/* REMOTE_FWD */

	/* BR_INST_RETIRED, BR_MISP_RETIRED; umask 4 is for precise sampling */
	{ 0xc4, 0x00, ALL_COUNTERS, S(BRANCH) },
	{ 0xc4, 0x01, ALL_COUNTERS, S(BRANCH_CONDITIONAL) },
	{ 0xc4, 0x02, ALL_COUNTERS, S(BRANCH_CALL) },
	{ 0xc4, 0x04, ALL_COUNTERS, S(BRANCH) },
	{ 0xc4, 0x08, ALL_COUNTERS, S(BRANCH_RETURN) },
	{ 0xc4, 0x10, ALL_COUNTERS, S(BRANCH_NOT_TAKEN) },
	{ 0xc4, 0x20, ALL_COUNTERS, S(BRANCH_TAKEN) },
	{ 0xc4, 0x40, ALL_COUNTERS, S(BRANCH_FAR) },
	{ 0xc5, 0x00, ALL_COUNTERS, S(MISP) },
	{ 0xc5, 0x01, ALL_COUNTERS, S(MISP_CONDITIONAL) },
	{ 0xc5, 0x04, ALL_COUNTERS, S(MISP) },
	{ 0xc5, 0x20, ALL_COUNTERS, S(MISP_TAKEN) },
};

/*
 * BR_INST_EXEC and BR_MISP_EXEC: umask bits 0 to 5 name kinds, bit 6 those not
 * taken, bit 7 those taken.
 */
static uint64_t exec_signals(unsigned int umask, unsigned int first)
{
	uint64_t signals = 0;
	unsigned int kind;

	for (kind = 0; kind < CORE_NEAR_KINDS; kind++) {
		if (!(umask & 1u << kind))
			continue;
		if (umask & 0x40)
			signals |= CORE_SIGNAL(first + 2 * kind);
		if (umask & 0x80)
			signals |= CORE_SIGNAL(first + 2 * kind + 1);
	}
	return signals;
}

/**
 * core_event_signals() - the signals that a select counts on a general counter
 *
 * Return: 0 for an event that is not modelled, or not there.
 */
uint64_t core_event_signals(uint64_t select, unsigned int counter)
{
	const uint64_t any_of_16 = SEL_INVERT | SEL_CMASK(16);
	const unsigned int event = select & 0xff, umask = select >> 8 & 0xff;
	size_t i;

	if ((select & SEL_MODIFIERS) == any_of_16 && umask == 1 &&
	    (event == 0xc2 || (event == 0xc0 && counter == 1)))
		return S(CYCLE);
	if (select & SEL_MODIFIERS)
		return 0;

	if (event == 0x88)
		return exec_signals(umask, CORE_EXEC);
	if (event == 0x89)
		return exec_signals(umask, CORE_EXEC_MISP);
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (events[i].event == event && events[i].umask == umask)
			return events[i].counters & 1u << counter ? events[i].signals : 0;
	}
	return 0;
}

/* Is it one of those that go astray? */
static bool of_memory(uint64_t select)
{
	return (select & 0xff) >= 0xd0 && (select & 0xff) <= 0xd3;
}

/* What passes the time until a counter is armed, if its events are these */
static uint64_t kind_of(uint64_t signals)
{
	return signals & CORE_BRANCH_SIGNALS ? S(BRANCH) :
	       signals & CORE_CACHE_SIGNALS ? S(LOAD) | S(STORE) : 0;
}

static uint64_t counted(const struct core_pmu *p, unsigned int i)
{
	return p->counts[CORE_KERNEL][i] | p->counts[CORE_USER][i];
}

/* Who can have samples; and what else the model of losses wants to know of */
static void update_pebs(struct core_pmu *p)
{
	uint64_t more = p->pebs.in_flight ? S(LOAD) : 0;
	unsigned int i;

	p->pebs.able = 0;
	p->pebs.stores = 0;
	for (i = 0; i < PEBS_COUNTERS; i++) {
		const uint64_t signals = counted(p, i);

		if (!signals || !(p->pebs.enable & bit_of(i)) || !pebs_precise(p->select[i]))
			continue;
		p->pebs.able |= 1u << i;
		if (signals & (S(STORE) | S(SPLIT_STORE)))
			p->pebs.stores |= 1u << i;
		if (pebs_armed(&p->pebs, i) && p->pebs.wait[i])
			more |= kind_of(signals);
	}
	p->wanted[CORE_KERNEL] |= more;
	p->wanted[CORE_USER] |= more;
}

/* What counts has changed. */
static void update(struct core_pmu *p)
{
	static const uint64_t fixed[CORE_FIXED] = { S(INSTRUCTION), S(CYCLE), S(CYCLE) };
	unsigned int i;

	memset(p->counts, 0, sizeof(p->counts));
	memset(p->wanted, 0, sizeof(p->wanted));
	p->astray = 0;
	for (i = 0; i < CORE_COUNTERS; i++) {
		uint64_t signals;
		bool user, kernel;

		if (!(p->enable & bit_of(i)))
			continue;
		if (i < CORE_GENERAL) {
			if (!(p->select[i] & SEL_ENABLE))
				continue;
			signals = core_event_signals(p->select[i], i);
			user = p->select[i] & SEL_USER;
			kernel = p->select[i] & SEL_KERNEL;
			if (signals && of_memory(p->select[i]))
				p->astray |= 1u << i;
		} else {
			signals = fixed[i - CORE_GENERAL];
			user = FIXED_OF(p->fixed_ctrl, i - CORE_GENERAL) & FIXED_USER;
			kernel = FIXED_OF(p->fixed_ctrl, i - CORE_GENERAL) & FIXED_KERNEL;
		}
		p->counts[CORE_USER][i] = user ? signals : 0;
		p->counts[CORE_KERNEL][i] = kernel ? signals : 0;
		p->wanted[CORE_USER] |= p->counts[CORE_USER][i];
		p->wanted[CORE_KERNEL] |= p->counts[CORE_KERNEL][i];
	}
	update_pebs(p);
}

static void interrupt(struct core_pmu *p)
{
	p->interrupt = true;
	if (core_pmu_freezes(p)) {
		p->enable = 0;
		update(p);
	}
}

static void overflow(struct core_pmu *p, unsigned int i)
{
	bool asked = i < CORE_GENERAL ?
		p->select[i] & SEL_INTERRUPT :
		FIXED_OF(p->fixed_ctrl, i - CORE_GENERAL) & FIXED_INTERRUPT;

	p->status |= bit_of(i);
	if (i < PEBS_COUNTERS && p->pebs.enable & bit_of(i)) {
		if (!(p->pebs.able & 1u << i))
			return;
		pebs_arm(&p->pebs, i);
		if (p->pebs.lossy)
			update(p);
	} else if (asked) {
		interrupt(p);
	}
}

/* What turns out not to have retired is taken back: @n may be negative. */
static void add(struct core_pmu *p, unsigned int i, int64_t n)
{
	uint64_t sum = p->count[i] + n;

	p->count[i] = sum & COUNT_MASK;
	if (n <= 0)
		return;
	if (pebs_armed(&p->pebs, i)) {
		if (pebs_happened(&p->pebs, i, n, true) && p->pebs.lossy)
			update(p);
	} else if (sum > COUNT_MASK) {
		overflow(p, i);
	}
}

/**
 * core_pmu_clock() - the core has retired instructions, in so many cycles
 */
void core_pmu_clock(struct core_pmu *p, enum core_mode mode, int64_t instructions,
		    int64_t cycles)
{
	uint64_t counts[CORE_COUNTERS];
	unsigned int i;

	/* A freeze takes effect after this. */
	memcpy(counts, p->counts[mode], sizeof(counts));
	for (i = 0; i < CORE_COUNTERS; i++) {
		if (counts[i] & S(CYCLE))
			add(p, i, cycles);
		else if (counts[i] & S(INSTRUCTION))
			add(p, i, instructions);
	}
}

/**
 * core_pmu_left() - how many cycles may pass until core_pmu_clock() is due
 * @now:	the mode that the core is in
 * @left:	by mode; no counter wraps, nor has a sample, before, and none after
 *		that was missed
 *
 * A counter of both modes has one stock for both. Far from its end it is halved;
 * near to it, the mode that the core is in gets all, so that the core comes back
 * when it changes its mode.
 */
void core_pmu_left(const struct core_pmu *p, enum core_mode now, int64_t left[CORE_MODES])
{
	const int64_t far = 1 << 16;
	unsigned int i, m;

	left[CORE_KERNEL] = CORE_NEVER;
	left[CORE_USER] = CORE_NEVER;
	for (i = 0; i < CORE_COUNTERS; i++) {
		const int64_t n = pebs_armed(&p->pebs, i) ? p->pebs.wait[i] + 1 :
				  (int64_t)(COUNT_MASK + 1 - p->count[i]);
		const bool both = p->counts[CORE_KERNEL][i] && p->counts[CORE_USER][i];

		for (m = 0; m < CORE_MODES; m++) {
			int64_t share = n;

			if (!(p->counts[m][i] & CORE_CLOCK_SIGNALS))
				continue;
			if (both && n >= far)
				share = n / 2;
			else if (both && m != now)
				share = 0;
			if (share < left[m])
				left[m] = share;
		}
	}
}

/**
 * core_pmu_count() - something has happened, once
 */
void core_pmu_count(struct core_pmu *p, enum core_mode mode, uint64_t signals)
{
	uint64_t counts[CORE_COUNTERS];
	unsigned int i;

	if (!(p->wanted[mode] & signals))
		return;
	memcpy(counts, p->counts[mode], sizeof(counts));
	for (i = 0; i < CORE_COUNTERS; i++) {
		if (counts[i] & signals)
			add(p, i, 1);
		else if (pebs_armed(&p->pebs, i) && p->pebs.wait[i] &&
			 kind_of(counted(p, i)) & signals &&
			 pebs_happened(&p->pebs, i, 1, false))
			update(p);
	}
}

/**
 * core_pmu_astray() - which of the sibling's counters does this corrupt?
 *
 * Return: a set of those, if they are open. What has happened counts here as well.
 */
unsigned int core_pmu_astray(const struct core_pmu *p, enum core_mode mode, uint64_t signals)
{
	unsigned int i, which = 0;

	for (i = 0; p->astray >> i; i++) {
		if (p->astray & 1u << i && p->counts[mode][i] & signals)
			which |= 1u << i;
	}
	return which;
}

/**
 * core_pmu_open() - which counters can be corrupted?
 */
unsigned int core_pmu_open(const struct core_pmu *p)
{
	unsigned int i, which = 0;

	for (i = 0; i < p->general; i++) {
		if (p->enable & bit_of(i) && p->select[i] & SEL_ENABLE)
			which |= 1u << i;
	}
	return which;
}

/**
 * core_pmu_corrupt() - so many happenings of the sibling's have gone astray to here
 */
void core_pmu_corrupt(struct core_pmu *p, unsigned int i, uint64_t n)
{
	const uint64_t sum = p->count[i] + n;

	p->count[i] = sum & COUNT_MASK;
	if (sum > COUNT_MASK)
		overflow(p, i);
}

/**
 * core_pmu_retires_as() - where an access is counted to have found its data
 *
 * Elsewhere than it did if a record has aborted it: pebs.h, Losses.
 */
enum core_level core_pmu_retires_as(struct core_pmu *p, bool load, enum core_level level)
{
	if (!load || !p->pebs.in_flight)
		return level;
	if (!--p->pebs.in_flight)
		update(p);
	return level == CORE_UNCACHED ? level : CORE_L1;
}

/**
 * core_pmu_accessed() - this access has made a sample
 */
void core_pmu_accessed(struct core_pmu *p, uint64_t address, bool locked,
		       enum core_level level)
{
	static const uint8_t source[CORE_LEVELS] = {
		[CORE_L1] = 1, [CORE_L2] = 3, [CORE_L3] = 4, [CORE_L3_OTHER] = 7,
		[CORE_DRAM] = 12, [CORE_REMOTE_CACHE] = 8, [CORE_REMOTE_OTHER] = 9,
		[CORE_REMOTE_DRAM] = 13, [CORE_UNCACHED] = 15,
	};
	const struct pebs_access a = {
		.address = address,
		.load_source = source[level],
		.latency = core_latency(level),
		.l1 = level == CORE_L1,
		.locked = locked,
	};

	pebs_accessed(&p->pebs, &a);
}

/**
 * core_pmu_sample() - write the record that is due
 * @cpu:	the processor now, behind the instruction
 * @area:	of the debug store; NULL: it is not there. Its index moves on
 * @record:	what is to be written, from the old index to the new one
 *
 * Context: all that has happened before has been counted.
 * Return: false if nothing is to be written, as there is no room for it.
 */
bool core_pmu_sample(struct core_pmu *p, const struct pebs_cpu *cpu,
		     struct pebs_area *area, uint64_t record[PEBS_WORDS])
{
	const unsigned int due = p->pebs.due;
	bool placed = false;
	unsigned int i;

	if (due && area) {
		pebs_record(&p->pebs, cpu, p->status, record);
		for (i = 0; i < PEBS_COUNTERS; i++) {
			if (due & 1u << i)
				p->count[i] = area->reset[i] & COUNT_MASK;
		}
		placed = pebs_place(&p->pebs, area);
		if (p->pebs.lossy)
			p->pebs.in_flight = PEBS_IN_FLIGHT;
	}
	p->status &= ~(uint64_t)due;
	pebs_forget(&p->pebs, due);
	if (p->pebs.lossy)
		update(p);
	if (due && area && area->index >= area->threshold) {
		p->status |= STATUS_BUFFER;
		interrupt(p);
	}
	return placed;
}

/**
 * core_access_signals() - what a load, a store, or both in one tell
 */
uint64_t core_access_signals(bool load, bool store, bool locked, bool split,
			     enum core_level level)
{
	static const uint64_t from[CORE_LEVELS] = {
		[CORE_L1] = S(LOAD_L1_HIT),
		[CORE_L2] = S(LOAD_L2_HIT) | S(LOAD_L1_MISS),
		[CORE_L3] = S(LOAD_L3_HIT) | S(LOAD_L1_MISS) | S(LOAD_L2_MISS),
		[CORE_L3_OTHER] = S(LOAD_L3_OTHER) | S(LOAD_L1_MISS) | S(LOAD_L2_MISS),
		[CORE_DRAM] = LOAD_MISSED | S(LOAD_DRAM),
		[CORE_REMOTE_CACHE] = LOAD_MISSED | S(LOAD_REMOTE_CACHE),
		[CORE_REMOTE_OTHER] = LOAD_MISSED | S(LOAD_REMOTE_OTHER),
		[CORE_REMOTE_DRAM] = LOAD_MISSED | S(LOAD_REMOTE_DRAM),
	};
	uint64_t signals = 0;

	if (load)
		signals |= S(LOAD) | from[level] | (locked ? S(LOCKED_LOAD) : 0) |
			   (split ? S(SPLIT_LOAD) : 0);
	if (store)
		signals |= S(STORE) | (split ? S(SPLIT_STORE) : 0);
	return signals;
}

/**
 * core_line_signals() - what one line of an access tells
 * @upgrade:	the core had it, and asked the LLC whether it may write it
 */
uint64_t core_line_signals(bool store, enum core_level level, bool upgrade)
{
	uint64_t signals = upgrade ? S(L3_REFERENCE) : 0;

	if (level == CORE_L1 || level == CORE_UNCACHED)
		return signals;
	signals |= S(L1_FILL);
	if (level == CORE_L2)
		return signals | (store ? S(L2_WRITE_HIT) : S(L2_READ_HIT));
	signals |= S(L3_REFERENCE) | (store ? S(L2_WRITE_MISS) : S(L2_READ_MISS));
	return core_missed_l3(level) ? signals | S(L3_MISS) : signals;
}

/**
 * core_offcore_signals() - does OFFCORE_RESPONSE count this request to the LLC?
 *
 * Bits of the register: 0 demand reads, 1 demand writes; 16 any response; 18-21
 * by the LLC, the line there being modified, exclusive, shared or forwarding
 * (not told apart here), 22 by local memory, 27 by the other socket's memory or
 * cache; 31, 32 without asking others, 35 from the other socket's clean copy, 36
 * from another core's, or the other socket's, modified one.
 */
uint64_t core_offcore_signals(const struct core_pmu *p, bool store, enum core_level level,
			      bool upgrade)
{
	const uint64_t any = 1u << 16, request = store ? 2 : 1;
	const uint64_t supplier = level == CORE_DRAM ? 1u << 22 :
				  core_missed_l3(level) ? 1u << 27 : 0xfu << 18;
	const uint64_t snoop = level == CORE_L3_OTHER || level == CORE_REMOTE_OTHER ?
			       1ull << 36 :
			       level == CORE_REMOTE_CACHE ? 1ull << 35 : 3ull << 31;
	uint64_t signals = 0;
	int i;

	if (level <= CORE_L2 && !upgrade)
		return 0;
	for (i = 0; i < 2; i++) {
		const uint64_t r = p->offcore[i];

		if (r & request && (r & any || (r & supplier && r & snoop)))
			signals |= CORE_SIGNAL(CORE_OFFCORE_0 + i);
	}
	return signals;
}

/**
 * core_latency() - how long a load takes, 0 if that is not known
 *
 * Cycles as published for this processor, rounded: there is no time in the model.
 */
unsigned int core_latency(enum core_level level)
{
	static const uint16_t latency[CORE_LEVELS] = {
		[CORE_L1] = 4, [CORE_L2] = 12, [CORE_L3] = 40, [CORE_L3_OTHER] = 80,
		[CORE_DRAM] = 200, [CORE_REMOTE_CACHE] = 210, [CORE_REMOTE_OTHER] = 260,
		[CORE_REMOTE_DRAM] = 310,
	};

	return latency[level];
}

/**
 * core_latency_signal() - was a load as slow as MEM_TRANS_RETIRED asks for?
 */
uint64_t core_latency_signal(const struct core_pmu *p, enum core_level level)
{
	const unsigned int latency = core_latency(level);

	return latency && latency >= p->latency ? S(LOAD_LATENCY) : 0;
}

/**
 * core_branch_signals() - what a branch tells
 * @wrong:	it was mispredicted
 * @retires:	not only speculation
 */
uint64_t core_branch_signals(enum core_branch_kind kind, bool taken, bool wrong, bool retires)
{
	uint64_t signals = 0;

	if (kind == CORE_FAR)
		return retires ? S(BRANCH) | S(BRANCH_FAR) : 0;

	signals |= EXEC(kind, taken) | (wrong ? MISP(kind, taken) : 0);
	if (!retires)
		return signals;
	signals |= S(BRANCH) | (taken ? S(BRANCH_TAKEN) : S(BRANCH_NOT_TAKEN));
	if (wrong)
		signals |= S(MISP) | (taken ? S(MISP_TAKEN) : 0);
	switch (kind) {
	case CORE_CONDITIONAL:
		signals |= S(BRANCH_CONDITIONAL) | (wrong ? S(MISP_CONDITIONAL) : 0);
		break;
	case CORE_CALL:
	case CORE_INDIRECT_CALL:
		signals |= S(BRANCH_CALL);
		break;
	case CORE_RETURN:
		signals |= S(BRANCH_RETURN);
		break;
	default:
		break;
	}
	return signals;
}

/* The general counters' registers from @first: which one is @msr? */
static bool general(const struct core_pmu *p, uint32_t msr, uint32_t first, unsigned int *i)
{
	*i = msr - first;
	return *i < p->general;
}

/**
 * core_pmu_has() - is this one of the registers?
 */
bool core_pmu_has(const struct core_pmu *p, uint32_t msr)
{
	uint64_t val;

	return core_pmu_read(p, msr, &val) == CORE_MSR_DONE;
}

/**
 * core_pmu_read() - read a register
 */
enum core_msr core_pmu_read(const struct core_pmu *p, uint32_t msr, uint64_t *val)
{
	unsigned int i;

	if (general(p, msr, MSR_PMC, &i) || general(p, msr, MSR_PMC_FULL, &i)) {
		*val = p->count[i];
	} else if (general(p, msr, MSR_SELECT, &i)) {
		*val = p->select[i];
	} else if (msr - MSR_FIXED < CORE_FIXED) {
		*val = p->count[CORE_GENERAL + msr - MSR_FIXED];
	} else if (msr - MSR_OFFCORE < 2) {
		*val = p->offcore[msr - MSR_OFFCORE];
	} else {
		switch (msr) {
		case MSR_FIXED_CTRL:
			*val = p->fixed_ctrl;
			break;
		case MSR_STATUS:
			*val = p->status;
			break;
		case MSR_ENABLE:
			*val = p->enable;
			break;
		case MSR_CLEAR:
			*val = 0;
			break;
		case MSR_CAPABILITIES:
			*val = FULL_WIDTH;
			if (p->pebs.format)
				*val |= PEBS_TRAP | PEBS_REGS | PEBS_FORMAT(p->pebs.format);
			break;
		case MSR_DEBUGCTL:
			*val = p->debugctl;
			break;
		case MSR_LATENCY:
			*val = p->latency;
			break;
		case MSR_PEBS_ENABLE:
			*val = p->pebs.enable;
			return p->pebs.format ? CORE_MSR_DONE : CORE_MSR_OTHER;
		case MSR_DEBUG_STORE:
			*val = p->pebs.store;
			return p->pebs.format ? CORE_MSR_DONE : CORE_MSR_OTHER;
		default:
			return CORE_MSR_OTHER;
		}
	}
	return CORE_MSR_DONE;
}

/* Bits 47 to 63 are alike. */
static bool canonical(uint64_t address)
{
	return address + (1ull << 47) < 1ull << 48;
}

static enum core_msr set(uint64_t *reg, uint64_t val, uint64_t allowed)
{
	if (val & ~allowed)
		return CORE_MSR_FAULT;
	*reg = val;
	return CORE_MSR_DONE;
}

/**
 * core_pmu_write() - write a register
 *
 * Context: all that has happened before has been counted.
 */
enum core_msr core_pmu_write(struct core_pmu *p, uint32_t msr, uint64_t val)
{
	enum core_msr done = CORE_MSR_DONE;
	unsigned int i;

	if (general(p, msr, MSR_PMC, &i)) {
		p->count[i] = (int32_t)val & COUNT_MASK;
		pebs_forget(&p->pebs, 1u << i);
	} else if (general(p, msr, MSR_PMC_FULL, &i)) {
		done = set(&p->count[i], val, COUNT_MASK);
		if (done == CORE_MSR_DONE)
			pebs_forget(&p->pebs, 1u << i);
	} else if (general(p, msr, MSR_SELECT, &i)) {
		done = set(&p->select[i], val, 0xffffffff);
	} else if (msr - MSR_FIXED < CORE_FIXED) {
		done = set(&p->count[CORE_GENERAL + msr - MSR_FIXED], val, COUNT_MASK);
	} else if (msr - MSR_OFFCORE < 2) {
		done = set(&p->offcore[msr - MSR_OFFCORE], val, OFFCORE_BITS);
	} else {
		switch (msr) {
		case MSR_FIXED_CTRL:
			done = set(&p->fixed_ctrl, val, (1ull << 4 * CORE_FIXED) - 1);
			break;
		case MSR_ENABLE:
			done = set(&p->enable, val, ENABLE_BITS(p));
			break;
		case MSR_CLEAR:
			if (val & ~CLEAR_BITS(p))
				return CORE_MSR_FAULT;
			p->status &= ~val;
			break;
		case MSR_DEBUGCTL:
			done = set(&p->debugctl, val, DEBUGCTL_BITS);
			break;
		case MSR_LATENCY:
			done = set(&p->latency, val, 0xffff);
			break;
		case MSR_PEBS_ENABLE:
			if (!p->pebs.format)
				return CORE_MSR_OTHER;
			done = set(&p->pebs.enable, val, PEBS_BITS);
			break;
		case MSR_DEBUG_STORE:
			if (!p->pebs.format)
				return CORE_MSR_OTHER;
			if (!canonical(val))
				return CORE_MSR_FAULT;
			p->pebs.store = val;
			break;
		case MSR_STATUS:
		case MSR_CAPABILITIES:
			return CORE_MSR_FAULT;
		default:
			return CORE_MSR_OTHER;
		}
	}
	update(p);
	return done;
}

/**
 * core_pmu_rdpmc() - what RDPMC reads
 *
 * Return: false if there is no such counter: a fault.
 */
bool core_pmu_rdpmc(const struct core_pmu *p, uint32_t index, uint64_t *val)
{
	const uint32_t fixed = 1u << 30;

	if (index < p->general)
		*val = p->count[index];
	else if (index >= fixed && index - fixed < CORE_FIXED)
		*val = p->count[CORE_GENERAL + index - fixed];
	else
		return false;
	return true;
}

/**
 * core_pmu_reset() - as at power-up: nothing is selected
 * @general:		how many general counters there are
 * @format, @lossy:	what samples there are, if any
 */
void core_pmu_reset(struct core_pmu *p, unsigned int general, enum pebs_format format,
		    bool lossy)
{
	memset(p, 0, sizeof(*p));
	p->pebs.format = format;
	p->pebs.lossy = lossy;
	p->general = general;
	p->enable = (1ull << general) - 1;
	update(p);
}

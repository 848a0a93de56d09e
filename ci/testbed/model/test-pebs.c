// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of precise event-based sampling, pebs.c and its part of corepmu.c
 *
 * Each named test is for a sentence of the text in pebs.h. The last is random:
 * events of several counters, in any order, against a count by hand of which
 * of them make a record.
 *
 * MODEL_SEEDS=N runs N seeds of it instead of the default; MODEL_SEED=S starts at S
 * (a failure names its seed).
 */
#include "test-core.h"

#define LOADS		EVENT(0xd0, 0x81)
#define STORES		EVENT(0xd0, 0x82)
#define L3_MISS		EVENT(0xd1, 0x20)
#define LATENCY		EVENT(0xcd, 0x01)
#define CONDITIONAL	EVENT(0xc4, 0x01)
#define PREC_DIST	EVENT(0xc0, 0x01)
#define BUFFER		(1ull << 62)

static struct pebs_area area;
static struct pebs_cpu cpu;
static uint64_t record[PEBS_WORDS];

/* A machine with this format, and a buffer with room for @room records */
static void machine(enum pebs_format format, bool lossy, unsigned int room)
{
	unsigned int i;

	memset(&p, 0xff, sizeof(p));
	core_pmu_reset(&p, CORE_GENERAL, format, lossy);
	put(ENABLE, 0);
	area.base = 0x10000;
	area.index = area.base;
	area.maximum = area.base + room * (format == PEBS_SKL ? 200 : 192);
	area.threshold = area.maximum + 1;
	for (i = 0; i < PEBS_COUNTERS; i++)
		area.reset[i] = 0;
}

/* Counter @i samples each @period of an event. */
static void sample(unsigned int i, uint64_t select, uint64_t period)
{
	put(SELECT(i), select | BOTH);
	area.reset[i] = -period & MASK;
	put(PMC_FULL(i), area.reset[i]);
	put(PEBS_ENABLE, get(PEBS_ENABLE) | 1ull << i);
	put(ENABLE, get(ENABLE) | 1ull << i);
}

/* Write what is due: the bytes of the record, 0 if there is none. */
static uint64_t written(void)
{
	const uint64_t before = area.index;
	const bool placed = core_pmu_sample(&p, &cpu, &area, record);

	assert_int_equal(placed, area.index != before);
	return area.index - before;
}

/* Something happens; the bytes of the record that it makes. */
static uint64_t happens(uint64_t signals)
{
	core_pmu_count(&p, CORE_USER, signals);
	return p.pebs.due ? written() : 0;
}

static uint64_t loads(enum core_level level)
{
	const enum core_level as = core_pmu_retires_as(&p, true, level);

	core_pmu_count(&p, CORE_USER, core_access_signals(true, false, false, false, as) |
		       core_latency_signal(&p, as));
	if (!p.pebs.due)
		return 0;
	core_pmu_accessed(&p, 0x1234, false, as);
	return written();
}

/* ---- registers ---- */

static void test_registers(void **state)
{
	static const uint64_t good[] = { 0, 0x7fffffffffff, 0xffff800000000000, ~7ull };
	static const uint64_t bad[] = { 1ull << 47, 0xffff7fffffffffff, 1ull << 63 };
	unsigned int bit;
	uint64_t val;
	size_t i;

	(void)state;
	machine(PEBS_OFF, false, 1);
	assert_false(core_pmu_has(&p, PEBS_ENABLE) || core_pmu_has(&p, STORE));
	assert_int_equal(core_pmu_write(&p, PEBS_ENABLE, 0), CORE_MSR_OTHER);
	assert_int_equal(core_pmu_write(&p, STORE, 0), CORE_MSR_OTHER);
	assert_int_equal(core_pmu_read(&p, STORE, &val), CORE_MSR_OTHER);
	assert_int_equal(get(CAPABILITIES), 0x2000);

	machine(PEBS_SKL, false, 1);
	assert_int_equal(get(CAPABILITIES), 0x23c0);
	machine(PEBS_HSW, false, 1);
	assert_int_equal(get(CAPABILITIES), 0x22c0);
	assert_true(core_pmu_has(&p, PEBS_ENABLE) && core_pmu_has(&p, STORE));
	for (bit = 0; bit < 64; bit++) {
		if (0xf0000000full & 1ull << bit) {
			put(PEBS_ENABLE, 1ull << bit);
			assert_int_equal(get(PEBS_ENABLE), 1ull << bit);
		} else {
			fault(PEBS_ENABLE, 1ull << bit);
		}
	}
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		put(STORE, good[i]);
		assert_int_equal(get(STORE), good[i]);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		fault(STORE, bad[i]);
	core_pmu_reset(&p, CORE_GENERAL, PEBS_HSW, false);
	assert_int_equal(get(PEBS_ENABLE) | get(STORE), 0);
}

static void test_precise(void **state)
{
	static const unsigned int some[] = {
		PREC_DIST, EVENT(0xc2, 0x01), CONDITIONAL, EVENT(0xc4, 0x02), EVENT(0xc4, 0x04),
		EVENT(0xc4, 0x08), EVENT(0xc4, 0x20), EVENT(0xc5, 0x01), EVENT(0xc5, 0x04),
		EVENT(0xc5, 0x20), LATENCY, LOADS, STORES, EVENT(0xd0, 0x21), EVENT(0xd0, 0x41),
		EVENT(0xd0, 0x42), L3_MISS, EVENT(0xd2, 0x04), EVENT(0xd3, 0x01),
		EVENT(0xd3, 0x04), EVENT(0xd3, 0x10), EVENT(0xd3, 0x20),
	};
	static const unsigned int others[] = {
		EVENT(0xc0, 0x00), EVENT(0x3c, 0x00), EVENT(0x2e, 0x41), EVENT(0xc4, 0x00),
		EVENT(0xc4, 0x10), EVENT(0xc4, 0x40), EVENT(0xc5, 0x00), EVENT(0x88, 0xff),
		EVENT(0xb7, 0x01), EVENT(0x51, 0x01), EVENT(0x24, 0x21), 0,
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(some); i++) {
		assert_true(pebs_precise(some[i]));
		assert_true(pebs_precise(some[i] | BOTH | INVERT | CMASK(16)));
	}
	for (i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(pebs_precise(others[i]));
}

/* ---- when ---- */

/* "the next of its events is the sample, ... a record each N + 1 events" */
static void test_period(void **state)
{
	unsigned int n, i, records;

	(void)state;
	for (n = 1; n < 50; n++) {
		machine(PEBS_HSW, false, 1000);
		sample(2, L3_MISS, n);
		for (i = records = 0; i < 10 * (n + 1); i++) {
			const uint64_t bytes = loads(CORE_DRAM);

			assert_int_equal(bytes, i % (n + 1) == n ? 192 : 0);
			records += bytes > 0;
			/* Not its event */
			assert_int_equal(loads(CORE_L3), 0);
			assert_int_equal(happens(S(STORE)), 0);
		}
		assert_int_equal(records, 10);
		assert_int_equal(area.index, area.base + 10 * 192);
		assert_int_equal(get(PMC_FULL(2)), area.reset[2]);
		assert_false(p.interrupt);
	}
}

/* "it sets its status bit, goes on counting, and is armed"; the end of both */
static void test_armed(void **state)
{
	(void)state;
	machine(PEBS_HSW, false, 1);
	sample(1, LOADS, 3);
	put(SELECT(1), LOADS | BOTH | INTERRUPT);
	assert_int_equal(loads(CORE_L1) | loads(CORE_L1) | get(STATUS), 0);
	assert_false(pebs_armed(&p.pebs, 1));
	assert_int_equal(loads(CORE_L1), 0);
	assert_true(pebs_armed(&p.pebs, 1));
	assert_int_equal(get(STATUS), 2);
	assert_int_equal(get(PMC_FULL(1)), 0);
	assert_int_equal(loads(CORE_L2), 192);
	assert_int_equal(get(STATUS), 0);
	assert_int_equal(get(PMC_FULL(1)), area.reset[1]);
	assert_false(pebs_armed(&p.pebs, 1));
	/* There was no interrupt, neither then nor now. */
	assert_false(p.interrupt);
}

static void test_disarmed(void **state)
{
	(void)state;
	machine(PEBS_HSW, false, 1);
	sample(0, LOADS, 1);
	loads(CORE_L1);
	assert_true(pebs_armed(&p.pebs, 0));
	put(PMC_FULL(0), 7);
	assert_int_equal(loads(CORE_L1), 0);
	assert_int_equal(get(PMC_FULL(0)), 8);

	machine(PEBS_HSW, false, 1);
	sample(0, LOADS, 1);
	loads(CORE_L1);
	/* "... has no samples, and is armed still when that is set again" */
	put(PEBS_ENABLE, 0);
	assert_int_equal(loads(CORE_L1), 0);
	put(PEBS_ENABLE, 1);
	assert_int_equal(loads(CORE_L1), 192);

	/* Another's registers, or all counters' end and new beginning, don't. */
	machine(PEBS_HSW, false, 1);
	sample(0, LOADS, 1);
	loads(CORE_L1);
	put(PMC_FULL(1), 7);
	put(CLEAR, 1);
	put(ENABLE, 0);
	assert_int_equal(loads(CORE_L1), 0);
	put(ENABLE, 1);
	assert_int_equal(loads(CORE_L1), 192);
	assert_int_equal(record[18], 1);
}

static void test_modes(void **state)
{
	(void)state;
	machine(PEBS_HSW, false, 1);
	sample(0, LOADS, 1);
	put(SELECT(0), LOADS | EN | KERNEL);
	assert_int_equal(loads(CORE_L1) | loads(CORE_L1) | loads(CORE_L1), 0);
	core_pmu_count(&p, CORE_KERNEL, S(LOAD));
	assert_int_equal(loads(CORE_L1), 0);
	core_pmu_count(&p, CORE_KERNEL, S(LOAD));
	assert_int_equal(p.pebs.due, 1);
}

/* "An event that is not precise makes no records" */
static void test_imprecise(void **state)
{
	unsigned int i;

	(void)state;
	machine(PEBS_HSW, false, 1);
	sample(0, EVENT(0x2e, 0x41), 3);
	put(SELECT(0), EVENT(0x2e, 0x41) | BOTH | INTERRUPT);
	for (i = 0; i < 20; i++)
		assert_int_equal(happens(S(L3_MISS)), 0);
	assert_int_equal(get(STATUS), 1);
	assert_int_equal(get(PMC_FULL(0)), 17);
	assert_false(p.interrupt);

	/* A counter that is not enabled for it interrupts as ever. */
	put(PEBS_ENABLE, 2);
	put(PMC_FULL(0), MASK);
	happens(S(L3_MISS));
	assert_true(p.interrupt);
}

/* Instructions: one more is to retire, in whatever mode it is counted. */
static void test_clock(void **state)
{
	int64_t left[CORE_MODES];

	(void)state;
	machine(PEBS_HSW, false, 10);
	sample(1, PREC_DIST, 1000);
	core_pmu_left(&p, CORE_USER, left);
	assert_int_equal(left[CORE_USER], 1000);
	core_pmu_clock(&p, CORE_USER, 1000, 1000);
	assert_int_equal(p.pebs.due, 0);
	core_pmu_left(&p, CORE_USER, left);
	assert_int_equal(left[CORE_USER], 1);
	assert_int_equal(left[CORE_KERNEL], 0);
	/* A round of an instruction that goes on is none. */
	core_pmu_clock(&p, CORE_USER, 0, 1);
	assert_int_equal(p.pebs.due, 0);
	core_pmu_clock(&p, CORE_KERNEL, 1, 1);
	assert_int_equal(p.pebs.due, 2);
	assert_int_equal(written(), 192);
	core_pmu_left(&p, CORE_USER, left);
	assert_int_equal(left[CORE_USER], 1000);

	machine(PEBS_HSW, false, 10);
	sample(1, PREC_DIST | INVERT | CMASK(16), 10);
	core_pmu_clock(&p, CORE_USER, 4, 10);
	core_pmu_clock(&p, CORE_USER, 0, 1);
	assert_int_equal(p.pebs.due, 2);
}

/* ---- records ---- */

static void test_layout(void **state)
{
	static const unsigned int bytes[] = { [PEBS_HSW] = 192, [PEBS_SKL] = 200 };
	enum pebs_format f;
	unsigned int i;

	(void)state;
	cpu.flags = 0x246;
	cpu.ip = 0xffffffff81000004;
	cpu.event_ip = 0xffffffff81000001;
	cpu.tsc = 0xfedcba9876543210;
	for (i = 0; i < 16; i++)
		cpu.reg[i] = 0x1000 + i;
	for (f = PEBS_HSW; f <= PEBS_SKL; f++) {
		const uint64_t want[] = {
			0x246, 0xffffffff81000004,
			0x1000, 0x1003, 0x1001, 0x1002, 0x1006, 0x1007, 0x1005, 0x1004,
			0x1008, 0x1009, 0x100a, 0x100b, 0x100c, 0x100d, 0x100e, 0x100f,
			8, 0x1234, 12, 200, 0xffffffff81000001, 0,
			f == PEBS_SKL ? 0xfedcba9876543210 : 0,
		};

		machine(f, false, 2);
		sample(3, LATENCY, 1);
		put(PEBS_ENABLE, 8 | 8ull << 32);
		assert_int_equal(loads(CORE_DRAM), 0);
		assert_int_equal(loads(CORE_DRAM), bytes[f]);
		assert_memory_equal(record, want, sizeof(want));
		assert_int_equal(area.index, area.base + bytes[f]);
	}
	memset(&cpu, 0, sizeof(cpu));
}

/* Where loads find their data, and how long it takes them */
static void test_sources(void **state)
{
	static const struct {
		enum core_level level;
		unsigned int source, latency;
	} t[] = {
		{ CORE_L1, 1, 4 }, { CORE_L2, 3, 12 }, { CORE_L3, 4, 40 },
		{ CORE_L3_OTHER, 7, 80 }, { CORE_DRAM, 12, 200 },
		{ CORE_REMOTE_CACHE, 8, 210 }, { CORE_REMOTE_OTHER, 9, 260 },
		{ CORE_REMOTE_DRAM, 13, 310 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		machine(PEBS_HSW, false, 2);
		sample(3, LATENCY, 1);
		put(PEBS_ENABLE, 8 | 8ull << 32);
		loads(t[i].level);
		assert_int_equal(loads(t[i].level), 192);
		assert_int_equal(record[20], t[i].source);
		assert_int_equal(record[21], t[i].latency);

		/* Locked */
		loads(t[i].level);
		core_pmu_count(&p, CORE_USER, S(LOAD_LATENCY));
		core_pmu_accessed(&p, 0x5678, true, t[i].level);
		written();
		assert_int_equal(record[19], 0x5678);
		assert_int_equal(record[20], t[i].source | 1 << 5);

		/* Without the latency's own bit, and for other events of loads */
		machine(PEBS_HSW, false, 2);
		sample(3, LATENCY, 1);
		loads(t[i].level);
		assert_int_equal(loads(t[i].level), 192);
		assert_int_equal(record[19], 0x1234);
		assert_int_equal(record[20] | record[21], 0);

		/* Stores */
		machine(PEBS_HSW, false, 2);
		sample(0, STORES, 1);
		core_pmu_count(&p, CORE_USER, S(STORE));
		core_pmu_count(&p, CORE_USER, S(STORE));
		core_pmu_accessed(&p, 0x77, true, t[i].level);
		written();
		assert_int_equal(record[19], 0x77);
		assert_int_equal(record[20], (t[i].level == CORE_L1) | 1 << 5);
		assert_int_equal(record[21], 0);
	}

	/* No access, no address: nor is the last one's left. */
	machine(PEBS_HSW, false, 2);
	sample(0, LOADS, 1);
	loads(CORE_L1);
	assert_int_equal(loads(CORE_L1), 192);
	sample(0, CONDITIONAL, 1);
	happens(S(BRANCH_CONDITIONAL));
	assert_int_equal(happens(S(BRANCH_CONDITIONAL)), 192);
	assert_int_equal(record[19] | record[20] | record[21], 0);
}

/* "Several counters whose samples are of the same instruction share a record" */
static void test_shared(void **state)
{
	enum pebs_format f;

	(void)state;
	for (f = PEBS_HSW; f <= PEBS_SKL; f++) {
		machine(f, false, 10);
		sample(0, LOADS, 2);
		sample(1, L3_MISS, 2);
		assert_int_equal(loads(CORE_DRAM) | loads(CORE_DRAM), 0);
		assert_true(loads(CORE_DRAM) > 0);
		assert_int_equal(record[18], 3);
		assert_int_equal(get(PMC_FULL(0)), area.reset[0]);
		assert_int_equal(get(PMC_FULL(1)), area.reset[1]);
		assert_int_equal(area.index, area.base + (f == PEBS_SKL ? 200 : 192));

		/* Now the one is armed, the other has its sample. */
		machine(f, false, 10);
		sample(0, LOADS, 2);
		sample(1, L3_MISS, 2);
		sample(2, STORES, 2);
		put(PMC_FULL(2), 5);
		loads(CORE_DRAM);
		loads(CORE_DRAM);
		assert_int_equal(get(STATUS), 3);
		assert_true(loads(CORE_L1) > 0);
		assert_int_equal(record[18], f == PEBS_SKL ? 1 : 3);
		assert_int_equal(get(STATUS), 2);
		assert_int_equal(get(PMC_FULL(2)), 5);
		assert_true(loads(CORE_DRAM) > 0);
		assert_int_equal(record[18], 2);
		assert_int_equal(get(STATUS), 0);
	}
}

/* ---- the buffer ---- */

static void test_buffer(void **state)
{
	unsigned int i;

	(void)state;
	machine(PEBS_HSW, false, 4);
	area.threshold = area.base + 3 * 192;
	sample(0, LOADS, 1);
	for (i = 0; i < 4; i++) {
		/* Up to the third one, nobody is told. */
		assert_int_equal(get(STATUS) & BUFFER, i < 3 ? 0 : BUFFER);
		assert_int_equal(p.interrupt, i >= 3);
		loads(CORE_L1);
		assert_int_equal(loads(CORE_L1), 192);
	}
	assert_int_equal(area.index, area.maximum);

	/* No room: the record is lost, the counter reset. Told again. */
	p.interrupt = false;
	put(CLEAR, BUFFER);
	assert_int_equal(get(STATUS), 0);
	loads(CORE_L1);
	assert_int_equal(loads(CORE_L1), 0);
	assert_int_equal(area.index, area.maximum);
	assert_int_equal(get(PMC_FULL(0)), area.reset[0]);
	assert_int_equal(get(STATUS), BUFFER);
	assert_true(p.interrupt);

	/* A byte too few, and an index that is beyond */
	area.index = area.maximum - 191;
	loads(CORE_L1);
	assert_int_equal(loads(CORE_L1), 0);
	area.index = area.maximum + 8;
	loads(CORE_L1);
	assert_int_equal(loads(CORE_L1), 0);
	assert_int_equal(area.index, area.maximum + 8);
	area.index = area.maximum - 192;
	loads(CORE_L1);
	assert_int_equal(loads(CORE_L1), 192);
}

/* The interrupt freezes counters as any other does. */
static void test_freeze(void **state)
{
	(void)state;
	machine(PEBS_HSW, false, 4);
	area.threshold = area.base + 192;
	sample(0, LOADS, 1);
	put(DEBUGCTL, 1 << 12);
	loads(CORE_L1);
	assert_int_equal(get(ENABLE), 1);
	assert_int_equal(loads(CORE_L1), 192);
	assert_int_equal(get(ENABLE), 0);
	assert_false(core_pmu_precise(&p));
}

static void test_no_store(void **state)
{
	(void)state;
	machine(PEBS_HSW, false, 4);
	sample(0, LOADS, 1);
	loads(CORE_L1);
	core_pmu_count(&p, CORE_USER, S(LOAD));
	assert_int_equal(p.pebs.due, 1);
	assert_int_equal(core_pmu_sample(&p, &cpu, NULL, record), false);
	assert_int_equal(p.pebs.due | get(STATUS), 0);
	assert_int_equal(get(PMC_FULL(0)), 1);
	assert_false(p.interrupt);
	loads(CORE_L1);
	assert_int_equal(get(PMC_FULL(0)), 2);
}

/* ---- losses ---- */

/* The worked example: of a loop's misses, so many have a record or are counted. */
static void test_loss(void **state)
{
	unsigned int period;

	(void)state;
	for (period = 10; period <= 1000; period *= 10) {
		const unsigned int each = period + 1 + PEBS_DELAY + PEBS_IN_FLIGHT;
		unsigned int i, records = 0;

		machine(PEBS_SKL, true, 100000);
		put(SELECT(1), L3_MISS | BOTH);
		put(SELECT(2), EVENT(0xd1, 0x01) | BOTH);
		put(ENABLE, 6);
		sample(0, L3_MISS, period);
		for (i = 0; i < 100 * each; i++)
			records += loads(CORE_DRAM) > 0;
		assert_int_equal(records, 100);
		assert_int_equal(get(PMC_FULL(1)), 100 * (each - PEBS_IN_FLIGHT));
		assert_int_equal(get(PMC_FULL(2)), 100 * PEBS_IN_FLIGHT);
	}
}

/* Events of all loads lose what the delay is. */
static void test_delay(void **state)
{
	unsigned int i, records = 0;

	(void)state;
	machine(PEBS_SKL, true, 100000);
	sample(0, LOADS, 10);
	for (i = 0; i < 1500; i++)
		records += loads(CORE_DRAM) > 0;
	assert_int_equal(records, 100);

	/* Rare ones lose nothing to it: other loads and stores pass the time, ... */
	machine(PEBS_SKL, true, 100000);
	sample(0, L3_MISS, 1);
	loads(CORE_DRAM);
	loads(CORE_L1);
	core_pmu_count(&p, CORE_USER, S(STORE));
	core_pmu_count(&p, CORE_KERNEL, S(LOAD));
	assert_int_equal(p.pebs.wait[0], 1);
	core_pmu_count(&p, CORE_USER, S(STORE));
	assert_int_equal(loads(CORE_DRAM), 200);

	/* ... for branches, other branches, ... */
	machine(PEBS_SKL, true, 100000);
	sample(0, EVENT(0xc5, 0x01), 1);
	happens(S(BRANCH) | S(MISP) | S(MISP_CONDITIONAL));
	for (i = 0; i < 3; i++)
		happens(S(BRANCH));
	assert_int_equal(happens(S(BRANCH) | S(MISP_CONDITIONAL)), 0);
	assert_int_equal(happens(S(BRANCH) | S(MISP_CONDITIONAL)), 200);

	/* ... for instructions, those. */
	machine(PEBS_SKL, true, 100000);
	sample(1, PREC_DIST, 100);
	core_pmu_clock(&p, CORE_USER, 100, 100);
	{
		int64_t left[CORE_MODES];

		core_pmu_left(&p, CORE_USER, left);
		assert_int_equal(left[CORE_USER], PEBS_DELAY + 1);
	}
	core_pmu_clock(&p, CORE_USER, PEBS_DELAY, PEBS_DELAY);
	assert_int_equal(p.pebs.due, 0);
	core_pmu_clock(&p, CORE_USER, 1, 1);
	assert_int_equal(p.pebs.due, 2);
}

/* ---- random ---- */

/*
 * Loads of any kind in any mode; each counter has its event, period and modes. By
 * hand: the events of a counter since the last record of it.
 */
static void one_seed(uint64_t seed)
{
	static const uint64_t event[] = { LOADS, L3_MISS, EVENT(0xd1, 0x08), STORES };
	uint64_t since[PEBS_COUNTERS] = { 0 }, period[PEBS_COUNTERS], modes[PEBS_COUNTERS];
	const bool skl = (rng_state = seed, below(2));
	unsigned int i, step, records = 0;

	machine(skl ? PEBS_SKL : PEBS_HSW, false, 1000000);
	for (i = 0; i < PEBS_COUNTERS; i++) {
		period[i] = 1 + below(30);
		sample(i, event[i], period[i]);
		modes[i] = 1 + below(3);
		put(SELECT(i), event[i] | EN | modes[i] << 16);
	}
	for (step = 0; step < 2000; step++) {
		const enum core_mode mode = below(CORE_MODES);
		const enum core_level level = below(CORE_UNCACHED);
		const bool load = below(3), store = !load || !below(3);
		unsigned int want = 0;

		for (i = 0; i < PEBS_COUNTERS; i++) {
			const bool its = i == 0 ? load : i == 1 ? load && core_missed_l3(level) :
					 i == 2 ? load && level != CORE_L1 : store;

			if (!its || !(modes[i] & (mode == CORE_USER ? 1 : 2)))
				continue;
			if (++since[i] > period[i]) {
				want |= 1u << i;
				since[i] = 0;
			}
		}
		core_pmu_count(&p, mode, core_access_signals(load, store, load && store, false,
							     level));
		if (p.pebs.due != want)
			fail_msg("seed %llu step %u: due %#x, wanted %#x",
				 (unsigned long long)seed, step, p.pebs.due, want);
		if (!want)
			continue;
		core_pmu_accessed(&p, step, load && store, level);
		assert_int_equal(written(), skl ? 200 : 192);
		records++;
		assert_int_equal(record[18] & want, want);
		if (skl)
			assert_int_equal(record[18], want);
		assert_int_equal(record[19], step);
	}
	assert_int_equal(area.index, area.base + records * (skl ? 200 : 192));
}

static void test_random(void **state)
{
	(void)state;
	seeds(one_seed, 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_precise),
		cmocka_unit_test(test_period),
		cmocka_unit_test(test_armed),
		cmocka_unit_test(test_disarmed),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_imprecise),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_buffer),
		cmocka_unit_test(test_freeze),
		cmocka_unit_test(test_no_store),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

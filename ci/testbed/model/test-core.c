// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the core's counters and of its branch predictor, corepmu.c and
 * branch.c
 *
 * First the named tests, each for a sentence of the texts in corepmu.h and
 * branch.h. Then random ones: counters that are fed as QEMU feeds them, in
 * pieces that core_pmu_left() allows, against plain sums; and the predictor
 * against a naive one that keeps nothing but the list of all branches, and finds
 * each counter, target and stack by going through it again.
 *
 * MODEL_SEEDS=N runs N seeds of each random test instead of the default;
 * MODEL_SEED=S starts at S (a failure names its seed).
 */
#include "branch.h"
#include "test-core.h"

#define OFFCORE(i)	(0x1a6 + (i))
#define LATENCY		0x3f6

static struct branch_unit u;

/* Counter @i counts @select, and nothing else counts. */
static void only(unsigned int i, uint64_t select)
{
	core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
	put(SELECT(i), select);
	put(ENABLE, 1ull << i);
}

/* ---- registers ---- */

static void test_widths(void **state)
{
	unsigned int i;

	(void)state;
	core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
	for (i = 0; i < 8; i++) {
		put(PMC(i), 0x7fffffff);
		assert_int_equal(get(PMC(i)), 0x7fffffff);
		put(PMC(i), 0xffffffff00000001);
		assert_int_equal(get(PMC(i)), 1);
		put(PMC(i), 0x80000000);
		assert_int_equal(get(PMC(i)), 0xffff80000000);
		put(PMC_FULL(i), 0x800000000000 | i);
		assert_int_equal(get(PMC_FULL(i)), 0x800000000000 | i);
		assert_int_equal(get(PMC(i)), 0x800000000000 | i);
		fault(PMC_FULL(i), 1ull << 48);
		put(SELECT(i), 0xffffffff);
		assert_int_equal(get(SELECT(i)), 0xffffffff);
		fault(SELECT(i), 1ull << 32);
	}
	for (i = 0; i < 3; i++) {
		put(FIXED(i), MASK - i);
		assert_int_equal(get(FIXED(i)), MASK - i);
		fault(FIXED(i), MASK + 1);
	}
}

static void test_reserved(void **state)
{
	static const struct {
		uint32_t msr;
		uint64_t allowed;
	} t[] = {
		{ FIXED_CTRL, 0xfff },
		{ ENABLE, 0x7000000ff },
		{ DEBUGCTL, 0x7fc3 },
		{ OFFCORE(0), 0x3fffff8fff },
		{ OFFCORE(1), 0x3fffff8fff },
		{ LATENCY, 0xffff },
	};
	unsigned int i, bit;

	(void)state;
	core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		for (bit = 0; bit < 64; bit++) {
			if (t[i].allowed & 1ull << bit) {
				put(t[i].msr, 1ull << bit);
				assert_int_equal(get(t[i].msr), 1ull << bit);
			} else {
				fault(t[i].msr, 1ull << bit);
			}
		}
	}
	fault(STATUS, 0);
	fault(CAPABILITIES, 1 << 13);
	assert_int_equal(get(CAPABILITIES), 1 << 13);
	for (bit = 0; bit < 64; bit++) {
		if (0xe0000007000000ffull & 1ull << bit)
			put(CLEAR, 1ull << bit);
		else
			fault(CLEAR, 1ull << bit);
	}
}

static void test_others(void **state)
{
	static const uint32_t mine[] = {
		PMC(0), PMC(7), PMC_FULL(0), PMC_FULL(7), SELECT(0), SELECT(7), FIXED(0),
		FIXED(2), FIXED_CTRL, STATUS, ENABLE, CLEAR, CAPABILITIES, DEBUGCTL,
		OFFCORE(0), OFFCORE(1), LATENCY,
	};
	static const uint32_t others[] = {
		0, 0x10, 0xc0, 0xc9, 0x185, 0x18e, 0x1a5, 0x1a8, 0x308, 0x30c, 0x391,
		0x3f1, 0x4c0, 0x4c9, 0x600, 0xe00, 0xc0000080,
	};
	uint64_t val;
	size_t i;

	(void)state;
	core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
	for (i = 0; i < ARRAY_SIZE(mine); i++)
		assert_true(core_pmu_has(&p, mine[i]));
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		assert_false(core_pmu_has(&p, others[i]));
		assert_int_equal(core_pmu_write(&p, others[i], 0), CORE_MSR_OTHER);
		assert_int_equal(core_pmu_read(&p, others[i], &val), CORE_MSR_OTHER);
	}
}

static void test_rdpmc(void **state)
{
	uint64_t val;
	unsigned int i;

	(void)state;
	core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
	for (i = 0; i < 8; i++) {
		put(PMC_FULL(i), 100 + i);
		assert_true(core_pmu_rdpmc(&p, i, &val));
		assert_int_equal(val, 100 + i);
	}
	for (i = 0; i < 3; i++) {
		put(FIXED(i), 200 + i);
		assert_true(core_pmu_rdpmc(&p, 1u << 30 | i, &val));
		assert_int_equal(val, 200 + i);
	}
	assert_false(core_pmu_rdpmc(&p, 8, &val));
	assert_false(core_pmu_rdpmc(&p, 1u << 30 | 3, &val));
	assert_false(core_pmu_rdpmc(&p, 1u << 31, &val));
	assert_false(core_pmu_rdpmc(&p, ~0u, &val));
}

/* ---- counting ---- */

/* Each of: enabled in the select, enabled globally, in this mode. */
static void test_enables(void **state)
{
	unsigned int i, on, global, modes, m;

	(void)state;
	for (i = 0; i < 8; i++) {
		for (on = 0; on < 16; on++) {
			modes = on & 3;
			global = on >> 2 & 1;
			core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
			put(SELECT(i), EVENT(0xc0, 0) | (modes & 1 ? KERNEL : 0) |
			    (modes & 2 ? USER : 0) | (on & 8 ? EN : 0));
			put(ENABLE, global ? 1u << i : 0xff & ~(1u << i));
			for (m = 0; m < CORE_MODES; m++) {
				const uint64_t before = get(PMC(i));

				core_pmu_clock(&p, m, 5, 7);
				assert_int_equal(get(PMC(i)) - before,
						 on & 8 && global && modes & 1u << m ? 5 : 0);
			}
		}
	}
	for (i = 0; i < 3; i++) {
		for (on = 0; on < 8; on++) {
			modes = on & 3;
			global = on >> 2;
			core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
			put(FIXED_CTRL, modes << 4 * i);
			put(ENABLE, (global ? 1ull : 6ull) << (32 + i) & 0x700000000);
			for (m = 0; m < CORE_MODES; m++) {
				const uint64_t before = get(FIXED(i));

				core_pmu_clock(&p, m, 5, 7);
				assert_int_equal(get(FIXED(i)) - before,
						 !(global && modes & 1u << m) ? 0 :
						 i == 0 ? 5 : 7);
			}
		}
	}
}

static void test_power_up(void **state)
{
	unsigned int i;

	(void)state;
	memset(&p, 0xff, sizeof(p));
	core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
	assert_int_equal(get(ENABLE), 0xff);
	core_pmu_clock(&p, CORE_USER, 100, 100);
	core_pmu_clock(&p, CORE_KERNEL, 100, 100);
	for (i = 0; i < CORE_COUNTERS; i++)
		assert_int_equal(p.count[i], 0);
}

static void test_wrap(void **state)
{
	(void)state;
	/* Without the interrupt: the status bit alone */
	only(3, EVENT(0xc0, 0) | BOTH);
	put(PMC_FULL(3), MASK - 9);
	core_pmu_clock(&p, CORE_USER, 9, 9);
	assert_int_equal(get(STATUS), 0);
	core_pmu_clock(&p, CORE_USER, 1, 1);
	assert_int_equal(get(PMC(3)), 0);
	assert_int_equal(get(STATUS), 1 << 3);
	assert_false(p.interrupt);
	put(CLEAR, 1 << 2);
	assert_int_equal(get(STATUS), 1 << 3);
	put(CLEAR, 1 << 3);
	assert_int_equal(get(STATUS), 0);

	/* With it, and by a happening */
	only(0, EVENT(0xc4, 0) | BOTH | INTERRUPT);
	put(PMC_FULL(0), MASK);
	core_pmu_count(&p, CORE_KERNEL, S(BRANCH));
	assert_int_equal(get(STATUS), 1);
	assert_true(p.interrupt);
	/* It goes on counting: nobody froze it */
	core_pmu_count(&p, CORE_KERNEL, S(BRANCH));
	assert_int_equal(get(PMC(0)), 1);

	/* Fixed */
	core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
	put(FIXED_CTRL, 0x300);
	put(ENABLE, 1ull << 34);
	put(FIXED(2), MASK);
	core_pmu_clock(&p, CORE_USER, 1, 2);
	assert_int_equal(get(FIXED(2)), 1);
	assert_int_equal(get(STATUS), 1ull << 34);
	assert_false(p.interrupt);
	put(FIXED_CTRL, 0xb00);
	put(FIXED(2), MASK);
	core_pmu_clock(&p, CORE_USER, 1, 1);
	assert_true(p.interrupt);
}

static void test_freeze(void **state)
{
	(void)state;
	core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
	put(SELECT(0), EVENT(0xc0, 0) | BOTH | INTERRUPT);
	put(SELECT(1), EVENT(0x3c, 0) | BOTH);
	put(ENABLE, 3);
	put(DEBUGCTL, 1 << 12);
	put(PMC_FULL(0), MASK);
	/* All that happened at once counts; nothing after it does. */
	core_pmu_clock(&p, CORE_USER, 4, 6);
	assert_int_equal(get(ENABLE), 0);
	assert_int_equal(get(PMC(0)), 3);
	assert_int_equal(get(PMC(1)), 6);
	core_pmu_clock(&p, CORE_USER, 4, 6);
	assert_int_equal(get(PMC(0)), 3);
	assert_int_equal(get(PMC(1)), 6);
	assert_true(p.interrupt);

	/* A counter that does not interrupt freezes nothing. */
	put(ENABLE, 3);
	put(PMC_FULL(1), MASK);
	core_pmu_clock(&p, CORE_USER, 1, 1);
	assert_int_equal(get(ENABLE), 3);
}

/* What had been counted ahead and did not retire is given back. */
static void test_give_back(void **state)
{
	(void)state;
	only(2, EVENT(0xc0, 0) | BOTH);
	core_pmu_clock(&p, CORE_USER, 10, 10);
	core_pmu_clock(&p, CORE_USER, -3, -3);
	assert_int_equal(get(PMC(2)), 7);
	put(PMC_FULL(2), 1);
	core_pmu_clock(&p, CORE_USER, -3, -3);
	assert_int_equal(get(PMC(2)), MASK - 1);
	assert_int_equal(get(STATUS), 0);
}

/* ---- threads ---- */

static void test_four_counters(void **state)
{
	uint64_t val;
	unsigned int i;

	(void)state;
	core_pmu_reset(&p, CORE_THREAD_GENERAL, PEBS_OFF, false);
	assert_int_equal(get(ENABLE), 0xf);
	for (i = 0; i < 4; i++) {
		put(PMC_FULL(i), MASK - i);
		put(SELECT(i), EVENT(0xc0, 0) | BOTH);
		assert_int_equal(get(PMC(i)), MASK - i);
		assert_true(core_pmu_rdpmc(&p, i, &val));
	}
	for (; i < 8; i++) {
		assert_false(core_pmu_has(&p, PMC(i)));
		assert_false(core_pmu_has(&p, PMC_FULL(i)));
		assert_false(core_pmu_has(&p, SELECT(i)));
		assert_int_equal(core_pmu_write(&p, SELECT(i), 0), CORE_MSR_OTHER);
		assert_false(core_pmu_rdpmc(&p, i, &val));
		fault(ENABLE, 1ull << i);
		fault(CLEAR, 1ull << i);
	}
	/* The fixed ones are all there. */
	put(FIXED_CTRL, 0x333);
	put(ENABLE, 0x70000000f);
	core_pmu_clock(&p, CORE_USER, 5, 7);
	for (i = 0; i < 3; i++)
		assert_int_equal(get(FIXED(i)), i ? 7 : 5);
	assert_int_equal(get(STATUS), 0xf);
	put(CLEAR, 0x70000000f);
	assert_int_equal(get(STATUS), 0);
}

/* What happens to @from corrupts @to, as QEMU has it. */
static void astray(const struct core_pmu *from, struct core_pmu *to, enum core_mode mode,
		   uint64_t signals)
{
	const unsigned int which = core_pmu_astray(from, mode, signals) & core_pmu_open(to);
	unsigned int i;

	for (i = 0; i < 32; i++) {
		if (which & 1u << i)
			core_pmu_corrupt(to, i, 1);
	}
}

/* Each of the events, and no other, goes astray, to a counter that is enabled. */
static void test_astray(void **state)
{
	static struct core_pmu other;
	unsigned int i, e, u;

	(void)state;
	for (i = 0; i < 4; i++) {
		core_pmu_reset(&p, CORE_THREAD_GENERAL, PEBS_OFF, false);
		put(SELECT(i), EVENT(0x08, 1) | BOTH);
		other = p;
		for (e = 0; e < 256; e++) {
			for (u = 0; u < 256; u++) {
				const uint64_t signals = core_event_signals(EVENT(e, u), i);
				const bool leaks = signals && e >= 0xd0 && e <= 0xd3;

				put(SELECT(i), EVENT(e, u) | BOTH);
				assert_int_equal(core_pmu_astray(&p, CORE_USER, ~0ull),
						 leaks ? 1u << i : 0);
				assert_int_equal(core_pmu_astray(&p, CORE_USER, ~signals), 0);
			}
		}

		/* Not if it does not count, or not in this mode; but into any mode. */
		put(SELECT(i), EVENT(0xd0, 0x81) | USER | EN);
		assert_int_equal(core_pmu_astray(&p, CORE_KERNEL, S(LOAD)), 0);
		astray(&p, &other, CORE_USER, S(LOAD));
		assert_int_equal(other.count[i], 1);
		put(ENABLE, 0xf & ~(1u << i));
		assert_int_equal(core_pmu_astray(&p, CORE_USER, S(LOAD)), 0);
		put(ENABLE, 0xf);
		put(SELECT(i), EVENT(0xd0, 0x81) | USER);
		assert_int_equal(core_pmu_astray(&p, CORE_USER, S(LOAD)), 0);

		/* Not to a counter that is off, by either enable, nor to another one. */
		put(SELECT(i), EVENT(0xd0, 0x81) | BOTH);
		assert_int_equal(core_pmu_open(&other), 1u << i);
		core_pmu_write(&other, ENABLE, 0xf & ~(1u << i));
		astray(&p, &other, CORE_USER, S(LOAD));
		core_pmu_write(&other, ENABLE, 0xf);
		core_pmu_write(&other, SELECT(i), EVENT(0x08, 1) | USER);
		core_pmu_write(&other, SELECT((i + 1) % 4), EVENT(0x08, 1) | BOTH);
		astray(&p, &other, CORE_USER, S(LOAD));
		assert_int_equal(other.count[i], 1);
		assert_int_equal(other.count[(i + 1) % 4], 0);
		assert_int_equal(other.status, 0);
	}

	/* It may wrap a counter, which interrupts if asked to, and freezes. */
	core_pmu_reset(&p, CORE_THREAD_GENERAL, PEBS_OFF, false);
	put(SELECT(2), EVENT(0xc0, 0) | BOTH);
	put(PMC_FULL(2), MASK - 9);
	core_pmu_corrupt(&p, 2, 9);
	assert_int_equal(get(STATUS), 0);
	core_pmu_corrupt(&p, 2, 3);
	assert_int_equal(get(PMC(2)), 2);
	assert_int_equal(get(STATUS), 1 << 2);
	assert_false(p.interrupt);
	put(SELECT(2), EVENT(0xc0, 0) | BOTH | INTERRUPT);
	put(DEBUGCTL, 1 << 12);
	put(PMC_FULL(2), MASK);
	core_pmu_corrupt(&p, 2, 1);
	assert_true(p.interrupt);
	assert_int_equal(get(ENABLE), 0);
}

/* Two threads, whatever they count: what each counter has, of its own and astray */
static void one_astray_seed(uint64_t seed)
{
	static const uint64_t selects[] = {
		EVENT(0xd0, 0x81), EVENT(0xd0, 0x82), EVENT(0xd1, 0x01), EVENT(0xd1, 0x20),
		EVENT(0xd2, 0x04), EVENT(0xd3, 0x01), EVENT(0xcd, 0x01), EVENT(0x2e, 0x41),
		EVENT(0xc4, 0x00), EVENT(0xc0, 0x00), EVENT(0x08, 0x01), EVENT(0xd4, 0x01),
	};
	static const uint64_t signals[] = {
		S(LOAD) | S(LOAD_L1_HIT), S(STORE), S(L3_MISS) | S(L3_REFERENCE), S(BRANCH),
		S(LOAD) | S(LOAD_L1_MISS) | S(LOAD_L2_MISS) | S(LOAD_L3_MISS) | S(LOAD_DRAM),
		S(LOAD) | S(LOAD_L3_OTHER) | S(LOAD_L1_MISS) | S(LOAD_L2_MISS),
	};
	static struct core_pmu thread[2];
	uint64_t truth[2][4] = { 0 };
	unsigned int t, i, step;

	rng_state = seed;
	for (t = 0; t < 2; t++)
		core_pmu_reset(&thread[t], CORE_THREAD_GENERAL, PEBS_OFF, false);
	for (step = 0; step < 3000; step++) {
		const enum core_mode mode = below(CORE_MODES);
		const uint64_t s = signals[below(ARRAY_SIZE(signals))];
		struct core_pmu *mine, *others;

		t = below(2);
		i = below(4);
		mine = &thread[t];
		others = &thread[!t];
		if (!below(10)) {
			core_pmu_write(mine, SELECT(i), selects[below(ARRAY_SIZE(selects))] |
				       (below(4) ? USER : 0) | (below(4) ? KERNEL : 0) |
				       (below(4) ? EN : 0));
			core_pmu_write(mine, ENABLE, below(4) ? 0xf : below(16));
			continue;
		}
		for (i = 0; i < 4; i++) {
			const uint64_t select = mine->select[i];

			if (!(select & EN) || !(mine->enable & 1u << i) ||
			    !(select & (mode == CORE_USER ? USER : KERNEL)) ||
			    !(core_event_signals(select, i) & s))
				continue;
			truth[t][i]++;
			if ((select & 0xfc) == 0xd0 && others->select[i] & EN &&
			    others->enable & 1u << i)
				truth[!t][i]++;
		}
		astray(mine, others, mode, s);
		core_pmu_count(mine, mode, s);
		for (i = 0; i < 8; i++) {
			if (thread[i / 4].count[i % 4] != truth[i / 4][i % 4])
				fail_msg("seed %llu step %u: thread %u counter %u",
					 (unsigned long long)seed, step, i / 4, i % 4);
		}
	}
}

static void test_random_astray(void **state)
{
	(void)state;
	seeds(one_astray_seed, 100);
}

/* ---- events ---- */

static const struct {
	const char *name;
	uint64_t select;
	uint64_t signals;
} known[] = {
	{ "INST_RETIRED.ANY_P", EVENT(0xc0, 0x00), S(INSTRUCTION) },
	{ "CPU_CLK_UNHALTED.THREAD_P", EVENT(0x3c, 0x00), S(CYCLE) },
	{ "MEM_UOPS_RETIRED.LOCK_LOADS", EVENT(0xd0, 0x21), S(LOCKED_LOAD) },
	{ "MEM_UOPS_RETIRED.SPLIT_LOADS", EVENT(0xd0, 0x41), S(SPLIT_LOAD) },
	{ "MEM_UOPS_RETIRED.SPLIT_STORES", EVENT(0xd0, 0x42), S(SPLIT_STORE) },
	{ "MEM_UOPS_RETIRED.ALL_LOADS", EVENT(0xd0, 0x81), S(LOAD) },
	{ "MEM_UOPS_RETIRED.ALL_STORES", EVENT(0xd0, 0x82), S(STORE) },
	{ "MEM_LOAD_UOPS_RETIRED.L1_HIT", EVENT(0xd1, 0x01), S(LOAD_L1_HIT) },
	{ "MEM_LOAD_UOPS_RETIRED.L2_HIT", EVENT(0xd1, 0x02), S(LOAD_L2_HIT) },
	{ "MEM_LOAD_UOPS_RETIRED.L3_HIT", EVENT(0xd1, 0x04), S(LOAD_L3_HIT) },
	{ "MEM_LOAD_UOPS_RETIRED.L1_MISS", EVENT(0xd1, 0x08), S(LOAD_L1_MISS) },
	{ "MEM_LOAD_UOPS_RETIRED.L2_MISS", EVENT(0xd1, 0x10), S(LOAD_L2_MISS) },
	{ "MEM_LOAD_UOPS_RETIRED.L3_MISS", EVENT(0xd1, 0x20), S(LOAD_L3_MISS) },
	{ "MEM_LOAD_UOPS_L3_HIT_RETIRED.XSNP_HITM", EVENT(0xd2, 0x04), S(LOAD_L3_OTHER) },
	{ "MEM_LOAD_UOPS_L3_HIT_RETIRED.XSNP_NONE", EVENT(0xd2, 0x08), S(LOAD_L3_HIT) },
	{ "MEM_LOAD_UOPS_L3_MISS_RETIRED.LOCAL_DRAM", EVENT(0xd3, 0x01), S(LOAD_DRAM) },
	{ "MEM_LOAD_UOPS_L3_MISS_RETIRED.REMOTE_DRAM", EVENT(0xd3, 0x04), S(LOAD_REMOTE_DRAM) },
	{ "MEM_LOAD_UOPS_L3_MISS_RETIRED.REMOTE_HITM", EVENT(0xd3, 0x10), S(LOAD_REMOTE_OTHER) },
	{ "MEM_LOAD_UOPS_L3_MISS_RETIRED.REMOTE_FWD", EVENT(0xd3, 0x20), S(LOAD_REMOTE_CACHE) },
	{ "LONGEST_LAT_CACHE.MISS", EVENT(0x2e, 0x41), S(L3_MISS) },
	{ "LONGEST_LAT_CACHE.REFERENCE", EVENT(0x2e, 0x4f), S(L3_REFERENCE) },
	{ "L1D.REPLACEMENT", EVENT(0x51, 0x01), S(L1_FILL) },
	{ "OFFCORE_RESPONSE_0", EVENT(0xb7, 0x01), S(OFFCORE_0) },
	{ "OFFCORE_RESPONSE_1", EVENT(0xbb, 0x01), S(OFFCORE_1) },
	{ "BR_INST_RETIRED.ALL_BRANCHES", EVENT(0xc4, 0x00), S(BRANCH) },
	{ "BR_INST_RETIRED.CONDITIONAL", EVENT(0xc4, 0x01), S(BRANCH_CONDITIONAL) },
	{ "BR_INST_RETIRED.NEAR_CALL", EVENT(0xc4, 0x02), S(BRANCH_CALL) },
	{ "BR_INST_RETIRED.NEAR_RETURN", EVENT(0xc4, 0x08), S(BRANCH_RETURN) },
	{ "BR_INST_RETIRED.NOT_TAKEN", EVENT(0xc4, 0x10), S(BRANCH_NOT_TAKEN) },
	{ "BR_INST_RETIRED.NEAR_TAKEN", EVENT(0xc4, 0x20), S(BRANCH_TAKEN) },
	{ "BR_INST_RETIRED.FAR_BRANCH", EVENT(0xc4, 0x40), S(BRANCH_FAR) },
	{ "BR_MISP_RETIRED.ALL_BRANCHES", EVENT(0xc5, 0x00), S(MISP) },
	{ "BR_MISP_RETIRED.CONDITIONAL", EVENT(0xc5, 0x01), S(MISP_CONDITIONAL) },
	{ "BR_MISP_RETIRED.NEAR_TAKEN", EVENT(0xc5, 0x20), S(MISP_TAKEN) },
};

static void test_known(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		const uint64_t e = known[i].select;
		uint64_t s;

		assert_int_equal(core_event_signals(e, 0), known[i].signals);
		/* Neither of these changes what is counted ... */
		assert_int_equal(core_event_signals(e | BOTH | INTERRUPT | ANY_THREAD | 1 << 19, 0),
				 known[i].signals);
		/* ... but these can't be done. */
		assert_int_equal(core_event_signals(e | EDGE, 0), 0);
		assert_int_equal(core_event_signals(e | INVERT, 0), 0);
		assert_int_equal(core_event_signals(e | CMASK(1), 0), 0);

		only(1, e | BOTH);
		for (s = CORE_LOAD; s < CORE_SIGNALS; s++) {
			const uint64_t before = get(PMC(1));

			core_pmu_count(&p, CORE_USER, CORE_SIGNAL(s));
			assert_int_equal(get(PMC(1)) - before, known[i].signals >> s & 1);
		}
	}
}

/* Several of a counter's signals in one happening are one. */
static void test_union(void **state)
{
	(void)state;
	only(0, EVENT(0x24, 0xe7) | BOTH);
	core_pmu_count(&p, CORE_USER, S(L2_READ_HIT) | S(L2_WRITE_MISS) | S(L1_FILL));
	assert_int_equal(get(PMC(0)), 1);
}

static void test_constraints(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 8; i++) {
		assert_int_equal(core_event_signals(EVENT(0xc0, 0x01), i),
				 i == 1 ? S(INSTRUCTION) : 0);
		assert_int_equal(core_event_signals(EVENT(0xcd, 0x01), i),
				 i < 4 ? S(LOAD_LATENCY) : 0);
		assert_int_equal(core_event_signals(EVENT(0xd1, 0x20), i),
				 i < 4 ? S(LOAD_L3_MISS) : 0);
		assert_int_equal(core_event_signals(EVENT(0x2e, 0x41), i), S(L3_MISS));
	}
}

static void test_cycles_in_disguise(void **state)
{
	const uint64_t uops = EVENT(0xc2, 0x01), prec = EVENT(0xc0, 0x01);

	(void)state;
	assert_int_equal(core_event_signals(uops | INVERT | CMASK(16), 5), S(CYCLE));
	assert_int_equal(core_event_signals(prec | INVERT | CMASK(16), 1), S(CYCLE));
	assert_int_equal(core_event_signals(prec | INVERT | CMASK(16), 0), 0);
	assert_int_equal(core_event_signals(uops | INVERT | CMASK(15), 5), 0);
	assert_int_equal(core_event_signals(uops | INVERT | CMASK(16) | EDGE, 5), 0);
	assert_int_equal(core_event_signals(uops | CMASK(16), 5), 0);
	assert_int_equal(core_event_signals(uops, 5), 0);
}

static void test_unknown(void **state)
{
	unsigned int e, n = 0, umask;

	(void)state;
	for (e = 0; e < 256; e++) {
		for (umask = 0; umask < 256; umask++) {
			if (e != 0x88 && e != 0x89)
				n += !!core_event_signals(EVENT(e, umask), 1);
		}
	}
	/* The list above, PREC_DIST, LOAD_LATENCY, L2_RQSTS (10), and two for precise sampling */
	assert_int_equal(n, ARRAY_SIZE(known) + 1 + 1 + 10 + 2);
	assert_int_equal(core_event_signals(EVENT(0x88, 0x3f), 0), 0);
	assert_int_equal(core_event_signals(EVENT(0x88, 0xc0), 0), 0);
}

/* ---- accesses ---- */

#define MISSED		(S(LOAD_L1_MISS) | S(LOAD_L2_MISS) | S(LOAD_L3_MISS))
#define READ_MISSED	(S(L1_FILL) | S(L2_READ_MISS) | S(L3_REFERENCE) | S(L3_MISS))
#define WRITE_MISSED	(S(L1_FILL) | S(L2_WRITE_MISS) | S(L3_REFERENCE) | S(L3_MISS))

static void test_accesses(void **state)
{
	static const struct {
		enum core_level level;
		uint64_t load, read, write;
	} t[] = {
		{ CORE_L1, S(LOAD_L1_HIT), 0, 0 },
		{ CORE_L2, S(LOAD_L2_HIT) | S(LOAD_L1_MISS), S(L1_FILL) | S(L2_READ_HIT),
		  S(L1_FILL) | S(L2_WRITE_HIT) },
		{ CORE_L3, S(LOAD_L3_HIT) | S(LOAD_L1_MISS) | S(LOAD_L2_MISS),
		  S(L1_FILL) | S(L2_READ_MISS) | S(L3_REFERENCE),
		  S(L1_FILL) | S(L2_WRITE_MISS) | S(L3_REFERENCE) },
		{ CORE_L3_OTHER, S(LOAD_L3_OTHER) | S(LOAD_L1_MISS) | S(LOAD_L2_MISS),
		  S(L1_FILL) | S(L2_READ_MISS) | S(L3_REFERENCE),
		  S(L1_FILL) | S(L2_WRITE_MISS) | S(L3_REFERENCE) },
		{ CORE_DRAM, MISSED | S(LOAD_DRAM), READ_MISSED, WRITE_MISSED },
		{ CORE_REMOTE_CACHE, MISSED | S(LOAD_REMOTE_CACHE), READ_MISSED, WRITE_MISSED },
		{ CORE_REMOTE_OTHER, MISSED | S(LOAD_REMOTE_OTHER), READ_MISSED, WRITE_MISSED },
		{ CORE_REMOTE_DRAM, MISSED | S(LOAD_REMOTE_DRAM), READ_MISSED, WRITE_MISSED },
		{ CORE_UNCACHED, 0, 0, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		const enum core_level l = t[i].level;

		assert_int_equal(core_access_signals(true, false, false, false, l),
				 S(LOAD) | t[i].load);
		assert_int_equal(core_access_signals(true, false, false, true, l),
				 S(LOAD) | S(SPLIT_LOAD) | t[i].load);
		assert_int_equal(core_access_signals(false, true, false, false, l), S(STORE));
		assert_int_equal(core_access_signals(false, true, false, true, l),
				 S(STORE) | S(SPLIT_STORE));
		assert_int_equal(core_access_signals(true, true, true, true, l),
				 S(LOAD) | S(LOCKED_LOAD) | S(SPLIT_LOAD) | S(STORE) |
				 S(SPLIT_STORE) | t[i].load);
		assert_int_equal(core_line_signals(false, l, false), t[i].read);
		assert_int_equal(core_line_signals(true, l, false), t[i].write);
	}
	assert_int_equal(core_line_signals(true, CORE_L1, true), S(L3_REFERENCE));
	assert_int_equal(core_line_signals(true, CORE_L2, true),
			 S(L3_REFERENCE) | S(L1_FILL) | S(L2_WRITE_HIT));
}

static void test_offcore(void **state)
{
	/* As the kernel asks for LLC-loads, LLC-load-misses, LLC-stores, -store-misses */
	const uint64_t any = 1ull << 16, misses = 1ull << 22 | 7ull << 27 | 0x7full << 31;
	static const struct {
		bool store;
		enum core_level level;
		bool upgrade;
		unsigned int loads, load_misses, stores, store_misses;
	} t[] = {
		{ false, CORE_L1, false, 0, 0, 0, 0 },
		{ false, CORE_L2, false, 0, 0, 0, 0 },
		{ false, CORE_L3, false, 1, 0, 0, 0 },
		{ false, CORE_L3_OTHER, false, 1, 0, 0, 0 },
		{ false, CORE_DRAM, false, 1, 1, 0, 0 },
		{ false, CORE_REMOTE_CACHE, false, 1, 1, 0, 0 },
		{ false, CORE_REMOTE_OTHER, false, 1, 1, 0, 0 },
		{ false, CORE_REMOTE_DRAM, false, 1, 1, 0, 0 },
		{ true, CORE_REMOTE_DRAM, false, 0, 0, 1, 1 },
		{ true, CORE_L1, false, 0, 0, 0, 0 },
		{ true, CORE_L1, true, 0, 0, 1, 0 },
		{ true, CORE_L2, true, 0, 0, 1, 0 },
		{ true, CORE_L3, false, 0, 0, 1, 0 },
		{ true, CORE_DRAM, false, 0, 0, 1, 1 },
	};
	const uint64_t hitm = 1 | 0xfull << 18 | 1ull << 36;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
		put(OFFCORE(0), 1 | any);
		put(OFFCORE(1), 1 | misses);
		assert_int_equal(core_offcore_signals(&p, t[i].store, t[i].level, t[i].upgrade),
				 (t[i].loads ? S(OFFCORE_0) : 0) |
				 (t[i].load_misses ? S(OFFCORE_1) : 0));
		put(OFFCORE(0), 2 | any);
		put(OFFCORE(1), 2 | misses);
		assert_int_equal(core_offcore_signals(&p, t[i].store, t[i].level, t[i].upgrade),
				 (t[i].stores ? S(OFFCORE_0) : 0) |
				 (t[i].store_misses ? S(OFFCORE_1) : 0));
	}
	put(OFFCORE(0), hitm);
	put(OFFCORE(1), hitm ^ 1ull << 36);
	assert_int_equal(core_offcore_signals(&p, false, CORE_L3_OTHER, false), S(OFFCORE_0));
	assert_int_equal(core_offcore_signals(&p, false, CORE_L3, false), 0);

	/* The kernel's node-loads: this socket's memory; node-load-misses: the other's */
	put(OFFCORE(0), 1 | 1ull << 22 | 0x7full << 31);
	put(OFFCORE(1), 1 | 7ull << 27 | 0x7full << 31);
	assert_int_equal(core_offcore_signals(&p, false, CORE_DRAM, false), S(OFFCORE_0));
	assert_int_equal(core_offcore_signals(&p, false, CORE_REMOTE_DRAM, false), S(OFFCORE_1));
	/* The other's caches alone, modified or not */
	put(OFFCORE(0), 1 | 1ull << 27 | 1ull << 36);
	put(OFFCORE(1), 1 | 1ull << 27 | 1ull << 35);
	assert_int_equal(core_offcore_signals(&p, false, CORE_REMOTE_OTHER, false), S(OFFCORE_0));
	assert_int_equal(core_offcore_signals(&p, false, CORE_REMOTE_CACHE, false), S(OFFCORE_1));
	assert_int_equal(core_offcore_signals(&p, false, CORE_REMOTE_DRAM, false), 0);
}

static void test_latency(void **state)
{
	(void)state;
	core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
	put(LATENCY, 41);
	assert_int_equal(core_latency_signal(&p, CORE_L1), 0);
	assert_int_equal(core_latency_signal(&p, CORE_L3), 0);
	assert_int_equal(core_latency_signal(&p, CORE_L3_OTHER), S(LOAD_LATENCY));
	assert_int_equal(core_latency_signal(&p, CORE_DRAM), S(LOAD_LATENCY));
	put(LATENCY, 4);
	assert_int_equal(core_latency_signal(&p, CORE_L1), S(LOAD_LATENCY));
	assert_int_equal(core_latency_signal(&p, CORE_UNCACHED), 0);
}

/* ---- branches ---- */

static void test_branch_signals(void **state)
{
	static const struct {
		enum core_branch_kind kind;
		bool taken, wrong;
		uint64_t retired;
		unsigned int umask;	/* of BR_INST_EXEC */
	} t[] = {
		{ CORE_CONDITIONAL, false, false,
		  S(BRANCH) | S(BRANCH_CONDITIONAL) | S(BRANCH_NOT_TAKEN), 0x41 },
		{ CORE_CONDITIONAL, true, false,
		  S(BRANCH) | S(BRANCH_CONDITIONAL) | S(BRANCH_TAKEN), 0x81 },
		{ CORE_CONDITIONAL, false, true,
		  S(BRANCH) | S(BRANCH_CONDITIONAL) | S(BRANCH_NOT_TAKEN) | S(MISP) |
		  S(MISP_CONDITIONAL), 0x41 },
		{ CORE_CONDITIONAL, true, true,
		  S(BRANCH) | S(BRANCH_CONDITIONAL) | S(BRANCH_TAKEN) | S(MISP) |
		  S(MISP_CONDITIONAL) | S(MISP_TAKEN), 0x81 },
		{ CORE_JUMP, true, false, S(BRANCH) | S(BRANCH_TAKEN), 0x82 },
		{ CORE_INDIRECT_JUMP, true, true,
		  S(BRANCH) | S(BRANCH_TAKEN) | S(MISP) | S(MISP_TAKEN), 0x84 },
		{ CORE_RETURN, true, false,
		  S(BRANCH) | S(BRANCH_TAKEN) | S(BRANCH_RETURN), 0x88 },
		{ CORE_CALL, true, false, S(BRANCH) | S(BRANCH_TAKEN) | S(BRANCH_CALL), 0x90 },
		{ CORE_INDIRECT_CALL, true, false,
		  S(BRANCH) | S(BRANCH_TAKEN) | S(BRANCH_CALL), 0xa0 },
	};
	unsigned int umask;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		const uint64_t s = core_branch_signals(t[i].kind, t[i].taken, t[i].wrong, true);
		const uint64_t vain = core_branch_signals(t[i].kind, t[i].taken, t[i].wrong, false);
		const uint64_t retired = CORE_SIGNAL(CORE_EXEC) - CORE_SIGNAL(CORE_BRANCH);

		assert_int_equal(s & retired, t[i].retired);
		assert_int_equal(vain, s & ~retired);
		/* Bits of the umask: a kind, and whether it was taken. */
		for (umask = 0; umask < 256; umask++) {
			const bool match = umask & 0x3f & t[i].umask && umask & 0xc0 & t[i].umask;

			assert_int_equal(!!(s & core_event_signals(EVENT(0x88, umask), 0)), match);
			assert_int_equal(!!(s & core_event_signals(EVENT(0x89, umask), 0)),
					 match && t[i].wrong);
		}
	}
	assert_int_equal(core_branch_signals(CORE_FAR, true, false, true),
			 S(BRANCH) | S(BRANCH_FAR));
}

/* What a sequence of branches came to, as the benchmarks of seed CIT name it */
struct tally {
	unsigned int executed, retired, taken, direct, mispredicted;
};

static struct tally sum;

static bool retire(uint64_t from, enum core_branch_kind kind, bool taken, uint64_t to,
		   unsigned int distance)
{
	const struct branch b = {
		.from = from, .next = from + 2, .to = to, .kind = kind, .taken = taken,
		.distance = distance,
	};
	struct branch_path path;
	const bool wrong = branch_retire(&u, &b, &path);
	unsigned int i;

	sum.retired += kind == CORE_CONDITIONAL;
	sum.executed += kind == CORE_CONDITIONAL;
	sum.taken += kind == CORE_CONDITIONAL && taken;
	sum.direct += kind == CORE_JUMP;
	sum.mispredicted += wrong;
	for (i = 0; i < path.n; i++)
		sum.executed += path.branch[i].kind == CORE_CONDITIONAL;
	return wrong;
}

/*
 * The loop of the worked example: 40 instructions, a branch that skips @skipped
 * others at the whim of @whim, @between more, the branch at the end. It starts at
 * 0x1000; each instruction but a branch has 4 bytes.
 */
static void loop(unsigned int rounds, bool (*whim)(unsigned int round), unsigned int skipped,
		 unsigned int between)
{
	const uint64_t start = 0x1000, branch = start + 4 * 40;
	const uint64_t past = branch + 2 + 4 * skipped, end = past + 4 * between;
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		const bool skip = whim(i);

		retire(branch, CORE_CONDITIONAL, skip, past, 41);
		retire(end, CORE_CONDITIONAL, i + 1 < rounds, start,
		       between + 1 + (skip ? 0 : skipped));
	}
}

static bool never(unsigned int round)
{
	(void)round;
	return false;
}

static bool in_turn(unsigned int round)
{
	return round & 1;
}

static bool at_random(unsigned int round)
{
	(void)round;
	return rnd() & 1;
}

static void near_to(unsigned int got, double want, unsigned int of, unsigned int slack)
{
	const double off = got - want * of;

	if (off > slack || off < -(double)slack)
		fail_msg("%u, wanted %.0f", got, want * of);
}

static void test_worked_example(void **state)
{
	const unsigned int n = 100000;

	(void)state;
	rng_state = 1;
	branch_reset(&u);
	memset(&sum, 0, sizeof(sum));
	loop(n, at_random, 3, 3);
	near_to(sum.retired, 2, n, 0);
	near_to(sum.mispredicted, 0.5, n, n / 100);
	near_to(sum.executed, 2.5, n, n / 100);

	branch_reset(&u);
	memset(&sum, 0, sizeof(sum));
	loop(n, at_random, 3, 40);
	near_to(sum.mispredicted, 0.5, n, n / 100);
	near_to(sum.executed, 2, n, 0);
}

static void test_regular(void **state)
{
	const unsigned int n = 10000;

	(void)state;
	branch_reset(&u);
	memset(&sum, 0, sizeof(sum));
	loop(n, never, 3, 3);
	near_to(sum.mispredicted, 0, n, 40);
	memset(&sum, 0, sizeof(sum));
	loop(n, in_turn, 3, 3);
	near_to(sum.mispredicted, 0, n, 60);
	near_to(sum.executed, 2, n, 60);
}

/* The window: a branch in its last instruction executes, one behind it does not. */
static void test_window(void **state)
{
	unsigned int between;

	(void)state;
	for (between = BRANCH_WINDOW - 3; between < BRANCH_WINDOW + 2; between++) {
		unsigned int executed;

		branch_reset(&u);
		/* Seen once, and taken, from 0x100 to 0x200 and on to a branch. */
		retire(0x100, CORE_CONDITIONAL, true, 0x200, 1);
		retire(0x300, CORE_CONDITIONAL, false, 0x400, between + 1);
		/* Now it is not taken, having been predicted to be. */
		u.counter[(0x100 ^ (u.history & 0xfff)) % BRANCH_COUNTERS] = 3;
		executed = sum.executed;
		assert_true(retire(0x100, CORE_CONDITIONAL, false, 0x200, 0));
		assert_int_equal(sum.executed - executed, 1 + (between + 1 <= BRANCH_WINDOW));
	}
}

static void test_returns(void **state)
{
	unsigned int depth, i, wrong;

	(void)state;
	for (depth = 1; depth < 20; depth++) {
		branch_reset(&u);
		wrong = 0;
		for (i = 0; i < depth; i++)
			assert_false(retire(0x1000 + 16 * i, CORE_CALL, true, 0x5000, 1));
		for (i = depth; i-- > 0;)
			wrong += retire(0x6000, CORE_RETURN, true, 0x1002 + 16 * i, 1);
		assert_int_equal(wrong, depth > 16 ? depth - 16 : 0);
		/* The stack is empty now. */
		assert_true(retire(0x6000, CORE_RETURN, true, 0x1002, 1));

		/* One function that calls itself */
		branch_reset(&u);
		wrong = 0;
		for (i = 0; i < depth; i++)
			retire(0x1000, CORE_CALL, true, 0x900, 1);
		for (i = 0; i < depth; i++)
			wrong += retire(0x1100, CORE_RETURN, true, 0x1002, 1);
		assert_int_equal(wrong, depth > 16 ? depth - 16 : 0);
	}
}

static void test_indirect(void **state)
{
	const enum core_branch_kind kinds[] = { CORE_INDIRECT_JUMP, CORE_INDIRECT_CALL };
	size_t k;

	(void)state;
	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		branch_reset(&u);
		assert_true(retire(0x1000, kinds[k], true, 0x5000, 1));
		assert_false(retire(0x1000, kinds[k], true, 0x5000, 1));
		assert_true(retire(0x1000, kinds[k], true, 0x6000, 1));
		assert_false(retire(0x1000, kinds[k], true, 0x6000, 1));
		/* Another with the same place in the table puts it out. */
		assert_true(retire(0x1000 ^ 0x401, kinds[k], true, 0x6000, 1));
		assert_true(retire(0x1000, kinds[k], true, 0x6000, 1));
	}
	/* Without an idea where it goes, nothing executes in vain. */
	branch_reset(&u);
	memset(&sum, 0, sizeof(sum));
	retire(0x1000, CORE_INDIRECT_JUMP, true, 0x5000, 0);
	retire(0x5004, CORE_CONDITIONAL, false, 0x5100, 2);
	assert_true(retire(0x1000 ^ 0x401, CORE_INDIRECT_JUMP, true, 0x6000, 0));
	assert_int_equal(sum.executed, 1);
	/* With the wrong one, it does. */
	assert_true(retire(0x1000 ^ 0x401, CORE_INDIRECT_JUMP, true, 0x5000, 0));
	assert_int_equal(sum.executed, 1);
	assert_true(retire(0x1000 ^ 0x401, CORE_INDIRECT_JUMP, true, 0x6000, 0));
	assert_int_equal(sum.executed, 2);

	assert_false(retire(0x1000, CORE_JUMP, true, 0x5000, 1));
	assert_false(retire(0x1000, CORE_CALL, true, 0x5000, 1));
	assert_false(retire(0x1000, CORE_FAR, true, 0, 1));
}

/* ---- random: the counters, fed as QEMU feeds them ---- */

static void one_clock_seed(uint64_t seed)
{
	static const uint64_t selects[] = {
		EVENT(0xc0, 0x00), EVENT(0x3c, 0x00), EVENT(0xc4, 0x00), 0,
	};
	/* What each counter would have, had it room for it */
	unsigned __int128 truth[CORE_COUNTERS];
	unsigned int mode = CORE_KERNEL, i, step;
	int64_t left[CORE_MODES], from[CORE_MODES];
	uint64_t status = 0;
	int64_t again = 0;

	rng_state = seed;
	core_pmu_reset(&p, CORE_GENERAL, PEBS_OFF, false);
	for (i = 0; i < 8; i++)
		put(SELECT(i), selects[below(4)] | (below(2) ? USER : 0) |
		    (below(2) ? KERNEL : 0) | (below(8) ? EN : 0) | (below(2) ? INTERRUPT : 0));
	put(FIXED_CTRL, rnd() & 0xfff);
	put(ENABLE, below(2) ? 0x7000000ff : rnd() & 0x7000000ff);
	for (i = 0; i < CORE_COUNTERS; i++) {
		p.count[i] = below(3) ? MASK + 1 - (1 + below(1ull << below(20))) : rnd() & MASK;
		truth[i] = p.count[i];
	}
	core_pmu_left(&p, mode, left);
	memcpy(from, left, sizeof(from));

	for (step = 0; step < 3000; step++) {
		/* A block, or many; some of it rounds of an instruction that goes on */
		int64_t n = 1 + below(below(20) ? 20 : 100000);
		int64_t rounds = below(4) ? 0 : below(n + 1);

		if (!below(10))
			mode = below(CORE_MODES);
		if (left[mode] < n && left[mode] > 0) {
			n = left[mode];
			if (rounds > n)
				rounds = n;
		}
		if (left[mode] < n) {
			/* Due: nothing may have wrapped that was not seen. */
			unsigned int m;

			for (m = 0; m < CORE_MODES; m++) {
				core_pmu_clock(&p, m, from[m] - left[m] - (m == mode ? again : 0),
					       from[m] - left[m]);
			}
			again = 0;
			assert_int_equal(get(STATUS) & ~status, 0);
			core_pmu_left(&p, mode, left);
			memcpy(from, left, sizeof(from));
			assert_true(left[mode] > 0);
			continue;
		}
		left[mode] -= n;
		again += rounds;
		for (i = 0; i < CORE_COUNTERS; i++) {
			const uint64_t before = truth[i] >> 48;

			if (p.counts[mode][i] & S(CYCLE))
				truth[i] += n;
			else if (p.counts[mode][i] & S(INSTRUCTION))
				truth[i] += n - rounds;
			if (truth[i] >> 48 != before) {
				status |= 1ull << (i < 8 ? i : 24 + i);
				/* QEMU is at the instruction that did it. */
				if (truth[i] & MASK)
					fail_msg("seed %llu step %u: counter %u wrapped unseen",
						 (unsigned long long)seed, step, i);
			}
		}
		/* Looked at, as by RDPMC, at any time, and after each change of mode */
		if (again || !below(5)) {
			unsigned int m;

			for (m = 0; m < CORE_MODES; m++) {
				core_pmu_clock(&p, m, from[m] - left[m] - (m == mode ? again : 0),
					       from[m] - left[m]);
				from[m] = left[m];
			}
			again = 0;
			for (i = 0; i < CORE_COUNTERS; i++) {
				if (p.count[i] != (uint64_t)(truth[i] & MASK))
					fail_msg("seed %llu step %u: counter %u",
						 (unsigned long long)seed, step, i);
			}
			assert_int_equal(get(STATUS), status);
		}
	}
}

/* ---- random: the predictor, against the list of all branches ---- */

#define HISTORY_MAX	2500

static struct branch past[HISTORY_MAX];
static unsigned int pasts;

static uint64_t went(const struct branch *b)
{
	return b->taken ? b->to : b->next;
}

/* The history before branch @n, or with what would be next. */
static uint32_t naive_history(unsigned int n)
{
	uint32_t bits = 0;
	unsigned int k = 0;

	while (n-- > 0 && k < 12) {
		if (past[n].kind == CORE_CONDITIONAL)
			bits |= (uint32_t)past[n].taken << k++;
	}
	return bits;
}

/* The counter that a branch at @from would use, before branch @n. */
static int naive_counter(unsigned int n, uint64_t from, uint32_t history)
{
	const uint64_t index = (from ^ history) & 0xfff;
	unsigned int i;
	int c = 1;

	for (i = 0; i < n; i++) {
		if (past[i].kind != CORE_CONDITIONAL ||
		    ((past[i].from ^ naive_history(i)) & 0xfff) != index)
			continue;
		c += past[i].taken ? 1 : -1;
		c = c > 3 ? 3 : c < 0 ? 0 : c;
	}
	return c;
}

/* Where branch @n is thought to go; 0: no idea. */
static uint64_t naive_prediction(unsigned int n)
{
	const struct branch *b = &past[n];
	uint64_t stack[HISTORY_MAX];
	unsigned int i, depth = 0;

	switch (b->kind) {
	case CORE_CONDITIONAL:
		return naive_counter(n, b->from, naive_history(n)) >= 2 ? b->to : b->next;
	case CORE_INDIRECT_JUMP:
	case CORE_INDIRECT_CALL:
		for (i = n; i-- > 0;) {
			const struct branch *o = &past[i];

			if (o->kind != CORE_INDIRECT_JUMP && o->kind != CORE_INDIRECT_CALL)
				continue;
			if (((o->from ^ o->from >> 10 ^ b->from ^ b->from >> 10) & 1023) == 0)
				return o->from == b->from ? o->to : 0;
		}
		return 0;
	case CORE_RETURN:
		for (i = 0; i < n; i++) {
			if (past[i].kind == CORE_CALL || past[i].kind == CORE_INDIRECT_CALL) {
				if (depth == 16)
					memmove(stack, stack + 1, --depth * sizeof(*stack));
				stack[depth++] = past[i].next;
			} else if (past[i].kind == CORE_RETURN && depth) {
				depth--;
			}
		}
		return depth ? stack[depth - 1] : 0;
	default:
		return b->to;
	}
}

/* The branch that was last seen behind @pc, up to branch @n itself; or none */
static const struct branch *naive_run(unsigned int n, uint64_t pc)
{
	unsigned int i;

	for (i = n + 1; i-- > 1;) {
		const uint64_t start = went(&past[i - 1]);

		if (!past[i].distance || past[i].distance > 32 ||
		    ((start ^ start >> 12) & 4095) != ((pc ^ pc >> 12) & 4095))
			continue;
		return start == pc ? &past[i] : NULL;
	}
	return NULL;
}

static void naive_speculation(unsigned int n, uint64_t pc, uint32_t history,
			      struct branch_path *path)
{
	unsigned int left = 32;
	const struct branch *b;

	path->n = 0;
	while (pc && (b = naive_run(n, pc)) && b->distance <= left) {
		bool taken = true;

		left -= b->distance;
		if (b->kind == CORE_CONDITIONAL) {
			/* What branch @n itself teaches is known by then. */
			taken = naive_counter(n + 1, b->from, history & 0xfff) >= 2;
			history = history << 1 | taken;
		}
		path->branch[path->n].kind = b->kind;
		path->branch[path->n++].taken = taken;
		if (b->kind != CORE_CONDITIONAL && b->kind != CORE_JUMP && b->kind != CORE_CALL)
			break;
		pc = taken ? b->to : b->next;
	}
}

static void one_branch_seed(uint64_t seed)
{
	/* A small program: its branches by address, some with the same places */
	struct {
		uint64_t from, to[3];
		enum core_branch_kind kind;
		unsigned int bias, distance;
	} program[40];
	unsigned int i, n;

	rng_state = seed;
	branch_reset(&u);
	pasts = 0;
	for (i = 0; i < ARRAY_SIZE(program); i++) {
		program[i].from = 0x400000 + (below(4) ? below(4096) : below(8) << 10 | 0x37);
		program[i].kind = below(3) ? CORE_CONDITIONAL : below(CORE_FAR + 1);
		program[i].bias = below(5);
		program[i].distance = below(12) ? 1 + below(20) : below(50);
		for (n = 0; n < 3; n++)
			program[i].to[n] = 0x400000 + 64 * below(30) + (below(9) ? 0 : 1 << 18);
	}
	for (n = 0; n < 800; n++) {
		const unsigned int k = below(ARRAY_SIZE(program));
		struct branch b = {
			.from = program[k].from,
			.next = program[k].from + 2,
			.to = program[k].to[below(3) ? 0 : below(3)],
			.kind = program[k].kind,
			.distance = program[k].distance,
		};
		struct branch_path path, naive = { 0 };
		uint64_t prediction;
		bool wrong, naively_wrong;

		b.taken = b.kind != CORE_CONDITIONAL || below(4) < program[k].bias;
		if (b.kind == CORE_CONDITIONAL)
			b.to = program[k].to[0];
		/* Mostly, a return goes where it should. */
		past[pasts] = b;
		if (b.kind == CORE_RETURN && below(4) && naive_prediction(pasts))
			past[pasts].to = b.to = naive_prediction(pasts);

		wrong = branch_retire(&u, &b, &path);
		prediction = naive_prediction(pasts);
		if (prediction && prediction != went(&b)) {
			uint32_t history = naive_history(pasts);

			if (b.kind == CORE_CONDITIONAL)
				history = history << 1 | !b.taken;
			naive_speculation(pasts, prediction, history, &naive);
		}
		naively_wrong = prediction != went(&b) && b.kind != CORE_FAR;
		if (wrong != naively_wrong)
			fail_msg("seed %llu branch %u: %d", (unsigned long long)seed, n, wrong);
		if (path.n != naive.n ||
		    memcmp(path.branch, naive.branch, naive.n * sizeof(naive.branch[0])))
			fail_msg("seed %llu branch %u: %u in vain, naively %u",
				 (unsigned long long)seed, n, path.n, naive.n);
		pasts++;
	}
}

static void test_random_clock(void **state)
{
	(void)state;
	seeds(one_clock_seed, 500);
}

static void test_random_branches(void **state)
{
	(void)state;
	seeds(one_branch_seed, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_rdpmc),
		cmocka_unit_test(test_enables),
		cmocka_unit_test(test_power_up),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_freeze),
		cmocka_unit_test(test_give_back),
		cmocka_unit_test(test_four_counters),
		cmocka_unit_test(test_astray),
		cmocka_unit_test(test_random_astray),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_union),
		cmocka_unit_test(test_constraints),
		cmocka_unit_test(test_cycles_in_disguise),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_accesses),
		cmocka_unit_test(test_offcore),
		cmocka_unit_test(test_latency),
		cmocka_unit_test(test_branch_signals),
		cmocka_unit_test(test_worked_example),
		cmocka_unit_test(test_regular),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_returns),
		cmocka_unit_test(test_indirect),
		cmocka_unit_test(test_random_clock),
		cmocka_unit_test(test_random_branches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

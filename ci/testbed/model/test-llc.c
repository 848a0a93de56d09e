// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the cache library, llc.c
 *
 * Everything runs on a pair (pair.h): what the library says is compared with
 * the naive model after every access, and all that both hold at the end of
 * each test. So a test here has two jobs: to drive the pair somewhere, and to
 * say in plain numbers what a sentence of the text in llc.h means, lest both be
 * wrong in the same way.
 *
 * First the named tests, in the order of the text; then random sequences over
 * many geometries: of the LLC alone, of private caches alone, of whole machines
 * whose cores obey the LLC at once, and late; last the load patterns of
 * patterns.c, shortened.
 *
 * MODEL_SEEDS=N runs N seeds of each random test instead of the default;
 * MODEL_SEED=S starts at S (a failure names its seed).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"
#include "patterns.h"

/* Two devices; cores are 0, 1, ... */
#define DEV	40
#define DEV2	63

#define FOUR_GIB	(1ull << (32 - LLC_LINE_SHIFT))

static struct pair m;

/* The machine of a test, and its end. */
static void start(unsigned int slices, unsigned int sets, unsigned int ways,
		  unsigned int ddio_ways, unsigned int cores)
{
	pair_init(&m, slices, sets, ways, ddio_ways, cores);
}

static void finish(void)
{
	pair_check(&m);
	pair_free(&m);
}

static struct llc_result load(unsigned int core, uint64_t line)
{
	return pair_access(&m, LLC_CPU_LOAD, line, core);
}

static struct llc_result store(unsigned int core, uint64_t line)
{
	return pair_access(&m, LLC_CPU_STORE, line, core);
}

static struct llc_result upgrade(unsigned int core, uint64_t line)
{
	return pair_access(&m, LLC_CPU_UPGRADE, line, core);
}

static struct llc_result wb(unsigned int core, uint64_t line)
{
	return pair_access(&m, LLC_CPU_WB, line, core);
}

static struct llc_result dev_read(uint64_t line)
{
	return pair_access(&m, LLC_DEV_READ, line, DEV);
}

static struct llc_result dev_write(uint64_t line)
{
	return pair_access(&m, LLC_DEV_WRITE, line, DEV);
}

static struct llc_result dev_part(uint64_t line)
{
	return pair_access(&m, LLC_DEV_WRITE_PART, line, DEV);
}

static void assert_quiet(struct llc_result r)
{
	assert_int_equal(r.invalidate, 0);
	assert_int_equal(r.downgrade, 0);
	assert_false(r.victim);
}

static void assert_victim(struct llc_result r, uint64_t line, enum llc_state state,
			  uint32_t sharers)
{
	assert_true(r.victim);
	assert_int_equal(r.victim_line, line);
	assert_int_equal(r.victim_state, state);
	assert_int_equal(r.victim_sharers, sharers);
}

static unsigned int way_of(uint64_t line)
{
	unsigned int way;

	assert_non_null(pair_way(&m, line, &way));
	return way;
}

static bool present(uint64_t line)
{
	return !!pair_way(&m, line, NULL);
}

static uint64_t dram_reads(void)
{
	uint64_t sum = 0;
	unsigned int i, ch;

	for (i = 0; i < m.geo.slices; i++)
		for (ch = 0; ch < LLC_CHANNELS; ch++)
			sum += m.lib[i].dram_read[ch];
	return sum;
}

static uint64_t dram_writes(void)
{
	uint64_t sum = 0;
	unsigned int i, ch;

	for (i = 0; i < m.geo.slices; i++)
		for (ch = 0; ch < LLC_CHANNELS; ch++)
			sum += m.lib[i].dram_write[ch];
	return sum;
}

/* All of an actor's account; what is not named is zero. */
#define assert_count(who, ...) do {						\
	struct ref_count is_ = pair_count(&m, who);				\
	struct ref_count should_ = { __VA_ARGS__ };				\
										\
	REF_FIELDS(ASSERT_FIELD)						\
} while (0)
#define ASSERT_FIELD(field)							\
	if (is_.field != should_.field)						\
		fail_msg(#field " is %lu, should be %lu",			\
			 (unsigned long)is_.field, (unsigned long)should_.field);

/* Where a line belongs */

static void place_of_a_line(void **state)
{
	/* Worked out apart from both programs. */
	static const struct {
		unsigned int slices;
		uint64_t line;
		unsigned int slice;
	} t[] = {
		{ 8, 0, 0 }, { 8, 1, 4 }, { 8, 2, 1 }, { 18, 3, 15 }, { 18, 0x123456789, 11 },
		{ 12, (1ull << 43) + 5, 5 }, { 1, 77, 0 }, { 18, (1ull << 46) - 1, 0 },
	};
	unsigned int i, slices;
	uint64_t line;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(llc_slice_of(t[i].slices, t[i].line), t[i].slice);
		assert_int_equal(ref_slice_of(t[i].slices, t[i].line), t[i].slice);
	}
	for (slices = 1; slices <= LLC_MAX_SLICES; slices++) {
		for (line = 1; line < 1ull << 46; line = line * 3 + 1) {
			assert_true(llc_slice_of(slices, line) < slices);
			assert_int_equal(llc_slice_of(slices, line), ref_slice_of(slices, line));
		}
	}
}

static void slices_are_used_evenly(void **state)
{
	static const uint64_t stride[] = { 1, 2, 64, 512, 4096, 1 << 20 };
	unsigned int slices, i, j;

	(void)state;
	for (slices = 1; slices <= LLC_MAX_SLICES; slices++) {
		for (i = 0; i < sizeof(stride) / sizeof(stride[0]); i++) {
			unsigned int n[LLC_MAX_SLICES] = { 0 };

			for (j = 0; j < 18000; j++)
				n[llc_slice_of(slices, FOUR_GIB + j * stride[i])]++;
			for (j = 0; j < slices; j++)
				assert_in_range(n[j], 18000 / slices * 9 / 10,
						18000 / slices * 11 / 10);
		}
	}
}

static void channel_of_a_line(void **state)
{
	static const struct {
		uint64_t line;
		unsigned int channel;
	} t[] = {
		{ 0, 0 }, { 1, 1 }, { 3, 3 }, { 4, 0 }, { 0x10, 1 }, { 0x11, 0 },
		{ 0x200, 1 }, { 0x210, 0 }, { 0x231, 3 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(llc_channel_of(t[i].line), t[i].channel);
		assert_int_equal(ref_channel_of(t[i].line), t[i].channel);
	}
	/* A miss counts on the line's channel; so does a write-back. */
	start(1, 1, 1, 0, 0);
	dev_read(0x231);
	assert_int_equal(m.lib[0].dram_read[3], 1);
	dev_write(0x200);
	assert_int_equal(m.lib[0].dram_write[1], 1);
	store(0, 0x231);
	load(0, 1);		/* pushes out 0x231 */
	assert_int_equal(m.lib[0].dram_write[3], 1);
	assert_int_equal(dram_writes(), 2);
	finish();
}

static void set_is_line_modulo_sets(void **state)
{
	(void)state;
	/* Direct mapped, 3 sets: lines 0, 1, 2 live together, 3 pushes out 0. */
	start(1, 3, 1, 1, 0);
	assert_quiet(load(0, 0));
	assert_quiet(load(0, 1));
	assert_quiet(load(0, 2));
	assert_victim(load(0, 3), 0, LLC_E, 1);
	assert_victim(load(0, 3 * FOUR_GIB + 1), 1, LLC_E, 1);
	assert_true(present(2));
	finish();
}

static void lines_above_4_gib_are_others(void **state)
{
	unsigned int i;

	(void)state;
	start(1, 1, 20, 2, 0);
	/* 19 lines that differ in one high bit each, and the lowest line. */
	load(0, 0);
	for (i = 0; i < 19; i++)
		assert_int_equal(load(0, FOUR_GIB << i).before, LLC_I);
	for (i = 0; i < 19; i++)
		assert_int_equal(load(0, FOUR_GIB << i).before, LLC_E);
	assert_int_equal(load(0, 0).before, LLC_E);
	finish();
}

static void invalid_ways_first_the_lowest(void **state)
{
	unsigned int i;

	(void)state;
	start(1, 1, 8, 0, 0);
	for (i = 0; i < 8; i++) {
		assert_quiet(load(0, 100 + i));
		assert_int_equal(way_of(100 + i), i);
	}
	/* Without DDIO a device write makes holes. They are filled again. */
	dev_write(105);
	dev_write(102);
	assert_quiet(load(0, 200));
	assert_int_equal(way_of(200), 2);
	assert_quiet(load(0, 201));
	assert_int_equal(way_of(201), 5);
	assert_victim(load(0, 202), 100, LLC_E, 1);
	finish();
}

static void least_recently_used_is_replaced(void **state)
{
	(void)state;
	start(1, 1, 4, 1, 0);
	load(0, 1);
	load(0, 2);
	load(0, 3);
	load(0, 4);
	load(1, 1);		/* 2 3 4 1 */
	dev_read(3);		/* 2 4 1 3 */
	assert_victim(load(0, 5), 2, LLC_E, 1);
	assert_victim(load(0, 6), 4, LLC_E, 1);
	assert_victim(load(0, 7), 1, LLC_S, 3);
	assert_victim(load(0, 8), 3, LLC_E, 1);
	finish();
}

static void age_survives_a_wrapping_clock(void **state)
{
	unsigned int i;

	(void)state;
	start(1, 1, 4, 1, 0);
	m.lib[0].clock[0] = UINT32_MAX - 6;
	for (i = 0; i < 200; i++) {
		load(0, i % 7 * (i % 3));
		dev_write(i % 5);
		wb(0, i % 5);
	}
	finish();
}

/* The worked example */

static void worked_example(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	r = load(0, 1);
	assert_int_equal(r.before, LLC_I);
	assert_quiet(r);
	assert_int_equal(way_of(1), 0);
	r = dev_write(2);
	assert_int_equal(r.before, LLC_I);
	assert_quiet(r);
	assert_int_equal(way_of(2), 1);
	r = dev_write(3);
	assert_int_equal(r.before, LLC_I);
	assert_victim(r, 2, LLC_M, 0);
	assert_int_equal(way_of(3), 1);
	assert_count(DEV, .from_lines = 2, .from_miss = 2, .made_dirty = 2,
		     .wb_first = 1, .wb_last = 1, .wb_evictor = 1);

	r = upgrade(0, 1);
	assert_int_equal(r.before, LLC_E);
	assert_true(r.silent);
	assert_quiet(r);
	r = dev_write(1);
	assert_int_equal(r.before, LLC_M);
	assert_int_equal(r.invalidate, 1);
	assert_false(r.victim);
	assert_int_equal(pair_way(&m, 1, NULL)->first, 0);
	assert_int_equal(pair_way(&m, 1, NULL)->last, DEV);

	assert_count(DEV, .from_lines = 3, .from_miss = 2, .from_owned_hit = 1, .made_dirty = 2,
		     .wb_first = 1, .wb_last = 1, .wb_evictor = 1);
	assert_count(0, .read_miss = 1, .made_dirty = 1);
	assert_int_equal(pair_dirty_lines(&m, 0), 1);
	assert_int_equal(pair_dirty_lines(&m, DEV), 1);
	assert_int_equal(dram_reads(), 1);
	assert_int_equal(dram_writes(), 1);
	finish();
}

/* The state that counters see */

static void state_is_m_s_or_e(void **state)
{
	(void)state;
	start(1, 1, 4, 1, 0);
	assert_int_equal(load(0, 1).before, LLC_I);
	assert_int_equal(dev_read(1).before, LLC_E);	/* one sharer */
	load(7, 1);
	assert_int_equal(dev_read(1).before, LLC_S);	/* two */
	upgrade(7, 1);
	assert_int_equal(dev_read(1).before, LLC_M);	/* dirty, with an owner */
	load(0, 1);
	assert_int_equal(dev_read(1).before, LLC_M);	/* dirty, two sharers */
	store(31, 1);
	wb(31, 1);
	assert_int_equal(dev_read(1).before, LLC_M);	/* dirty, nobody's */
	finish();
}

static void stale_sharer_still_counts(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 4, 1, 0);
	load(0, 1);
	load(1, 1);
	/* Core 1 drops its copy without a word: for the LLC it has it still. */
	r = upgrade(0, 1);
	assert_int_equal(r.before, LLC_S);
	assert_int_equal(r.invalidate, 2);
	assert_false(r.silent);
	/* The stale one loads again. */
	r = load(1, 1);
	assert_int_equal(r.downgrade, 1);
	assert_int_equal(load(1, 1).downgrade, 0);
	finish();
}

/* DEV_READ */

static void dev_read_hit_only_touches(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	store(3, 1);
	load(0, 2);
	r = dev_read(1);
	assert_int_equal(r.before, LLC_M);
	assert_false(r.silent);
	assert_quiet(r);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, 3);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 1 << 3);
	assert_victim(load(0, 4), 2, LLC_E, 1);		/* 1 was more recent */
	assert_count(DEV, .to_lines = 1);
	finish();
}

static void dev_read_miss_allocates_nothing(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	r = dev_read(1);
	assert_int_equal(r.before, LLC_I);
	assert_quiet(r);
	assert_false(present(1));
	dev_read(1);
	assert_count(DEV, .to_lines = 2, .to_miss = 2);
	assert_int_equal(dram_reads(), 2);
	finish();
}

/* DEV_WRITE, DEV_WRITE_PART */

static void dev_write_hit_takes_all_copies(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	load(0, 1);
	load(31, 1);
	r = dev_write(1);
	assert_int_equal(r.before, LLC_S);
	assert_int_equal(r.invalidate, 1u << 31 | 1);
	assert_int_equal(r.downgrade, 0);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 0);
	assert_count(DEV, .from_lines = 1, .from_clean_hit = 1, .made_dirty = 1);

	store(5, 1);
	r = dev_write(1);
	assert_int_equal(r.invalidate, 1 << 5);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, -1);
	assert_count(DEV, .from_lines = 2, .from_clean_hit = 1, .from_owned_hit = 1,
		     .made_dirty = 1);
	r = dev_write(1);
	assert_int_equal(r.before, LLC_M);
	assert_quiet(r);
	assert_count(DEV, .from_lines = 3, .from_clean_hit = 1, .from_owned_hit = 1,
		     .made_dirty = 1);
	finish();
}

static void dev_write_hit_stays_in_its_way(void **state)
{
	(void)state;
	start(1, 1, 4, 1, 0);
	load(0, 1);
	load(0, 2);
	dev_write(1);
	assert_int_equal(way_of(1), 0);
	/* And is most recent: 2, then (both ways above are empty) 1 goes. */
	load(0, 3);
	load(0, 4);
	assert_victim(load(0, 5), 2, LLC_E, 1);
	assert_victim(load(0, 6), 1, LLC_M, 0);
	finish();
}

static void dev_write_miss_takes_ddio_ways_only(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 8, 2, 0);
	/* Six ways are empty, but not for a device. */
	r = dev_write(1);
	assert_quiet(r);
	assert_int_equal(way_of(1), 6);
	dev_write(2);
	assert_int_equal(way_of(2), 7);
	assert_victim(dev_write(3), 1, LLC_M, 0);
	assert_int_equal(way_of(3), 6);
	/* The least recent of the two ways, not of the set. */
	load(0, 10);
	dev_read(2);
	assert_victim(dev_write(4), 3, LLC_M, 0);
	assert_true(present(10));
	/* A CPU's line in such a way is pushed out as well, by the device. */
	dev_write(2);
	dev_read(10);
	for (unsigned int i = 11; i < 17; i++)
		load(0, i);
	assert_int_equal(way_of(16), 6);
	dev_read(2);
	assert_victim(dev_write(5), 16, LLC_E, 1);
	assert_int_equal(dram_reads(), 7);	/* CPU loads only */
	finish();
}

static void ddio_in_all_ways(void **state)
{
	unsigned int i;

	(void)state;
	start(1, 1, 4, 4, 0);
	for (i = 0; i < 4; i++) {
		assert_quiet(dev_write(i));
		assert_int_equal(way_of(i), i);
	}
	assert_victim(dev_write(9), 0, LLC_M, 0);
	finish();
}

static void cpu_miss_may_take_any_way(void **state)
{
	(void)state;
	start(1, 1, 2, 1, 0);
	dev_write(1);
	load(0, 2);
	assert_victim(load(0, 3), 1, LLC_M, 0);
	assert_int_equal(way_of(3), 1);
	assert_count(DEV, .from_lines = 1, .from_miss = 1, .made_dirty = 1, .wb_first = 1,
		     .wb_last = 1);
	assert_count(0, .read_miss = 2, .wb_evictor = 1);
	finish();
}

static void partial_write_fills_on_a_miss(void **state)
{
	(void)state;
	start(1, 1, 2, 1, 0);
	dev_part(1);
	assert_int_equal(way_of(1), 1);
	assert_count(DEV, .from_lines = 1, .from_miss = 1, .partial_lines = 1, .partial_miss = 1,
		     .fill_lines = 1, .made_dirty = 1);
	assert_int_equal(dram_reads(), 1);
	/* A hit reads nothing. */
	dev_part(1);
	assert_count(DEV, .from_lines = 2, .from_miss = 1, .partial_lines = 2, .partial_miss = 1,
		     .fill_lines = 1, .made_dirty = 1);
	load(0, 2);
	assert_int_equal(dev_part(2).invalidate, 1);
	assert_count(DEV, .from_lines = 3, .from_miss = 1, .from_clean_hit = 1,
		     .partial_lines = 3, .partial_miss = 1, .fill_lines = 1, .made_dirty = 2);
	assert_int_equal(dram_reads(), 2);
	finish();
}

/* No DDIO */

static void no_ddio_miss_goes_to_dram(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 0, 0);
	r = dev_write(1);
	assert_int_equal(r.before, LLC_I);
	assert_quiet(r);
	assert_false(present(1));
	assert_count(DEV, .from_lines = 1, .from_miss = 1, .made_dirty = 1, .wb_first = 1,
		     .wb_last = 1, .wb_evictor = 1);
	assert_int_equal(dram_reads(), 0);
	assert_int_equal(dram_writes(), 1);
	dev_part(1);
	assert_count(DEV, .from_lines = 2, .from_miss = 2, .partial_lines = 1, .partial_miss = 1,
		     .fill_lines = 1, .made_dirty = 2, .wb_first = 2, .wb_last = 2,
		     .wb_evictor = 2);
	assert_int_equal(dram_reads(), 1);
	assert_int_equal(dram_writes(), 2);
	finish();
}

static void no_ddio_hit_leaves_the_cache(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 4, 0, 0);
	/* Clean: the device makes it dirty. */
	load(0, 1);
	load(1, 1);
	r = dev_write(1);
	assert_int_equal(r.before, LLC_S);
	assert_int_equal(r.invalidate, 3);
	assert_false(r.victim);
	assert_false(present(1));
	assert_count(DEV, .from_lines = 1, .from_clean_hit = 1, .made_dirty = 1, .wb_first = 1,
		     .wb_last = 1, .wb_evictor = 1);
	/* A core's dirty line: the core stays first. No fill for a partial one. */
	store(2, 2);
	r = dev_part(2);
	assert_int_equal(r.before, LLC_M);
	assert_int_equal(r.invalidate, 4);
	assert_false(present(2));
	assert_count(DEV, .from_lines = 2, .from_clean_hit = 1, .from_owned_hit = 1,
		     .partial_lines = 1, .made_dirty = 1, .wb_first = 1, .wb_last = 2,
		     .wb_evictor = 2);
	assert_count(2, .write_miss = 1, .made_dirty = 1, .wb_first = 1);
	assert_int_equal(dram_reads(), 2);
	finish();
}

static void no_ddio_read_hits_as_ever(void **state)
{
	(void)state;
	start(1, 1, 2, 0, 0);
	load(0, 1);
	load(0, 2);
	assert_int_equal(dev_read(1).before, LLC_E);
	assert_victim(load(0, 3), 2, LLC_E, 1);
	finish();
}

/* CPU_LOAD */

static void cpu_load_shares(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	r = load(4, 1);
	assert_int_equal(r.before, LLC_I);
	assert_quiet(r);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 1 << 4);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, -1);
	assert_false(pair_way(&m, 1, NULL)->dirty);
	r = load(5, 1);
	assert_int_equal(r.before, LLC_E);
	assert_quiet(r);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 3 << 4);
	assert_count(4, .read_miss = 1);
	assert_count(5);
	finish();
}

static void cpu_load_demotes_the_owner(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	store(4, 1);
	r = load(5, 1);
	assert_int_equal(r.before, LLC_M);
	assert_int_equal(r.downgrade, 1 << 4);
	assert_int_equal(r.invalidate, 0);
	assert_false(r.silent);
	assert_true(pair_way(&m, 1, NULL)->dirty);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, -1);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 3 << 4);
	assert_int_equal(pair_way(&m, 1, NULL)->last, 4);
	/* Ownership is gone: the next one costs nobody anything. */
	assert_quiet(load(6, 1));
	assert_int_equal(dram_writes(), 0);
	finish();
}

/* CPU_STORE */

static void cpu_store_takes_all_other_copies(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	load(0, 1);
	load(1, 1);
	load(2, 1);
	r = store(1, 1);	/* its own copy was dropped without a word */
	assert_int_equal(r.before, LLC_S);
	assert_int_equal(r.invalidate, 5);
	assert_int_equal(r.downgrade, 0);
	assert_false(r.silent);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, 1);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 2);
	r = store(3, 1);
	assert_int_equal(r.before, LLC_M);
	assert_int_equal(r.invalidate, 2);
	assert_int_equal(r.downgrade, 0);
	assert_int_equal(pair_way(&m, 1, NULL)->first, 1);
	assert_int_equal(pair_way(&m, 1, NULL)->last, 3);
	assert_count(1, .made_dirty = 1);
	assert_count(3);
	finish();
}

static void cpu_store_miss_reads_and_dirties(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	r = store(9, 1);
	assert_int_equal(r.before, LLC_I);
	assert_quiet(r);
	assert_int_equal(way_of(1), 0);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, 9);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 1 << 9);
	assert_count(9, .write_miss = 1, .made_dirty = 1);
	assert_int_equal(dram_reads(), 1);
	/* A hit by a store is most recent. */
	load(0, 2);
	store(0, 1);
	assert_victim(load(0, 3), 2, LLC_E, 1);
	finish();
}

/* CPU_UPGRADE */

static void upgrade_of_a_shared_line_is_heard(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	load(0, 1);
	load(1, 1);
	load(0, 2);
	r = upgrade(1, 1);
	assert_int_equal(r.before, LLC_S);
	assert_false(r.silent);
	assert_int_equal(r.invalidate, 1);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, 1);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 2);
	assert_count(1, .made_dirty = 1);
	assert_victim(load(0, 3), 2, LLC_E, 1);		/* 1 was more recent */
	finish();
}

static void upgrade_of_a_lone_line_is_silent(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	load(0, 1);
	load(0, 2);
	r = upgrade(0, 1);
	assert_int_equal(r.before, LLC_E);
	assert_true(r.silent);
	assert_quiet(r);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, 0);
	assert_count(0, .read_miss = 2, .made_dirty = 1);
	assert_victim(load(1, 3), 1, LLC_M, 1);		/* its age did not change */
	finish();
}

static void upgrade_of_a_lone_dirty_line_is_silent(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	dev_write(1);
	load(6, 1);
	r = upgrade(6, 1);
	assert_int_equal(r.before, LLC_M);
	assert_true(r.silent);
	assert_int_equal(pair_way(&m, 1, NULL)->first, DEV);
	assert_int_equal(pair_way(&m, 1, NULL)->last, 6);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, 6);
	assert_count(6);
	finish();
}

/* CPU_WB */

static void write_back_keeps_dirt_and_age(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	store(8, 1);
	load(0, 2);
	r = wb(8, 1);
	assert_int_equal(r.before, LLC_M);
	assert_false(r.silent);
	assert_quiet(r);
	assert_true(pair_way(&m, 1, NULL)->dirty);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, -1);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 0);
	assert_int_equal(dram_writes(), 0);
	assert_victim(load(0, 3), 1, LLC_M, 0);
	assert_count(8, .write_miss = 1, .made_dirty = 1, .wb_first = 1, .wb_last = 1);
	assert_count(0, .read_miss = 2, .wb_evictor = 1);
	finish();
}

static void crossed_write_back_does_nothing(void **state)
{
	struct llc_result r;

	(void)state;
	start(1, 1, 2, 1, 0);
	store(0, 1);
	store(1, 1);		/* took it from core 0 */
	r = wb(0, 1);
	assert_int_equal(r.before, LLC_M);
	assert_true(r.silent);
	assert_quiet(r);
	assert_int_equal(pair_way(&m, 1, NULL)->owner, 1);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 2);
	/* Nor where the line has left the cache, or a device took it. */
	r = wb(0, 7);
	assert_int_equal(r.before, LLC_I);
	assert_true(r.silent);
	assert_false(present(7));
	dev_write(1);
	assert_true(wb(1, 1).silent);
	load(0, 1);
	assert_true(wb(0, 1).silent);
	assert_int_equal(pair_way(&m, 1, NULL)->sharers, 1);
	finish();
}

/* First, last, evictor */

static void first_dirtier_last_writer_evictor(void **state)
{
	(void)state;
	start(1, 1, 1, 1, 0);
	store(0, 1);
	pair_access(&m, LLC_DEV_WRITE, 1, DEV);
	pair_access(&m, LLC_DEV_WRITE, 1, DEV2);
	assert_victim(load(3, 2), 1, LLC_M, 0);
	assert_count(0, .write_miss = 1, .made_dirty = 1, .wb_first = 1);
	assert_count(DEV, .from_lines = 1, .from_owned_hit = 1);
	assert_count(DEV2, .from_lines = 1, .wb_last = 1);
	assert_count(3, .read_miss = 1, .wb_evictor = 1);
	/* A line that comes back is clean, with a first dirtier of its own. */
	pair_access(&m, LLC_DEV_WRITE, 2, DEV);
	assert_victim(load(3, 1), 2, LLC_M, 0);
	pair_access(&m, LLC_DEV_WRITE, 1, DEV2);
	assert_victim(store(4, 2), 1, LLC_M, 0);
	assert_count(DEV, .from_lines = 2, .from_clean_hit = 1, .from_owned_hit = 1,
		     .made_dirty = 1, .wb_first = 1, .wb_last = 1);
	assert_count(DEV2, .from_lines = 2, .from_clean_hit = 1, .made_dirty = 1, .wb_first = 1,
		     .wb_last = 2);
	finish();
}

static void victim_leaves_with_its_copies(void **state)
{
	(void)state;
	start(1, 1, 1, 1, 0);
	load(0, 1);
	load(31, 1);
	assert_victim(load(1, 2), 1, LLC_S, 1u << 31 | 1);
	assert_victim(store(2, 3), 2, LLC_E, 1 << 1);
	assert_int_equal(dram_writes(), 0);
	assert_victim(dev_write(4), 3, LLC_M, 1 << 2);
	assert_int_equal(dram_writes(), 1);
	finish();
}

/* CPUs 0 and 1 are one core, 2 and 3 another. */
static void siblings_are_one_core(void **state)
{
	const struct ref_line *l;
	struct llc_result r;

	(void)state;
	start(1, 1, 4, 1, 2);
	pair_siblings(&m);
	assert_int_equal(pair_cpu(&m, 0, 1, false), PRIV_MISS);
	assert_int_equal(pair_cpu(&m, 1, 1, false), PRIV_L1);
	assert_int_equal(pair_cpu(&m, 2, 1, false), PRIV_MISS);
	l = ref_peek(&m.ref, 0, 1);
	assert_true(l->sharers.has[0] && l->sharers.has[1] && !l->sharers.has[2]);

	/* What one has modified is the other's own; the accounts are apart. */
	assert_int_equal(pair_cpu(&m, 3, 1, true), PRIV_L1);
	assert_int_equal(pair_cpu(&m, 2, 1, true), PRIV_L1);
	l = ref_peek(&m.ref, 0, 1);
	assert_int_equal(l->owner, 1);
	assert_int_equal(l->first, 3);
	assert_int_equal(l->last, 3);
	assert_int_equal(pair_count(&m, 3).made_dirty, 1);
	assert_int_equal(pair_count(&m, 2).made_dirty, 0);
	assert_int_equal(pair_count(&m, 0).read_miss, 1);
	assert_int_equal(pair_count(&m, 1).read_miss, 0);
	assert_false(priv_holds(&m.lib_priv[0], 1));

	/* Either may write it back, and others ask the core, not the CPU. */
	r = load(1, 1);
	assert_int_equal(r.downgrade, 1 << 1);
	r = store(0, 1);
	assert_int_equal(r.invalidate, 1 << 1);
	assert_true(wb(2, 1).silent);
	assert_false(wb(1, 1).silent);
	assert_int_equal(ref_peek(&m.ref, 0, 1)->owner, REF_NO_CORE);

	/* A lone core's upgrade is silent, whichever of it had fetched the line. */
	load(0, 2);
	load(1, 2);
	assert_int_equal(upgrade(1, 2).silent, true);
	pair_check(&m);
	pair_free(&m);
}

/* Two sockets; CPUs 0 to 3 are of socket 0, those from 4 of socket 1. */
static void start_two(unsigned int sets, unsigned int ways, unsigned int ddio_ways)
{
	start(1, sets, ways, ddio_ways, 8);
	pair_sockets(&m, 4, 16);
}

static bool there(unsigned int socket, uint64_t line)
{
	return !!pair_way_in(&m, socket, line, NULL);
}

static uint64_t dram_at(unsigned int socket, bool write)
{
	const struct llc_slice *s = &m.lib[socket * m.geo.slices];
	uint64_t sum = 0;
	unsigned int ch;

	for (ch = 0; ch < LLC_CHANNELS; ch++)
		sum += write ? s->dram_write[ch] : s->dram_read[ch];
	return sum;
}

static void assert_asked(struct llc_result r, enum llc_state before, enum llc_state other)
{
	assert_int_equal(r.before, before);
	assert_true(r.asked);
	assert_int_equal(r.other, other);
}

static void two_sockets_worked_example(void **state)
{
	struct llc_result r;

	(void)state;
	start_two(1, 2, 1);
	r = store(4, 3);
	assert_asked(r, LLC_I, LLC_I);
	assert_int_equal(dram_at(0, false), 1);
	assert_int_equal(pair_way_in(&m, 1, 3, NULL)->owner, 4);
	assert_false(there(0, 3));

	r = load(0, 3);
	assert_asked(r, LLC_I, LLC_M);
	assert_int_equal(r.downgrade, 1 << 4);
	assert_int_equal(r.invalidate, 0);
	assert_int_equal(r.dram_lines, 2);
	assert_int_equal(dram_at(0, true), 1);
	assert_int_equal(dram_at(0, false), 2);
	assert_int_equal(pair_count_at(&m, 0, 4).wb_first, 1);
	assert_int_equal(pair_count_at(&m, 0, 4).wb_last, 1);
	assert_int_equal(pair_count_at(&m, 0, 0).wb_evictor, 1);
	assert_int_equal(load(1, 3).before, LLC_S);
	assert_int_equal(pair_way_in(&m, 1, 3, NULL)->owner, -1);

	r = upgrade(4, 3);
	assert_asked(r, LLC_S, LLC_S);
	assert_false(r.silent);
	assert_int_equal(r.invalidate, 3);
	assert_false(there(0, 3));

	r = store(0, 3);
	assert_asked(r, LLC_I, LLC_M);
	assert_int_equal(r.invalidate, 1 << 4);
	assert_int_equal(r.dram_lines, 1);
	assert_int_equal(dram_at(0, true), 1);
	assert_false(there(1, 3));
	assert_int_equal(pair_way(&m, 3, NULL)->first, 4);
	assert_int_equal(pair_way(&m, 3, NULL)->last, 0);
	assert_int_equal(pair_count(&m, 4).made_dirty, 2);
	assert_int_equal(pair_count(&m, 0).made_dirty, 0);
	assert_int_equal(dram_at(1, false) + dram_at(1, true), 0);
	finish();
}

static void lines_are_counted_at_home(void **state)
{
	(void)state;
	start_two(1, 1, 1);
	/* Each misses near and far, and pushes a line out that is far, or near. */
	assert_false(store(0, 15).victim);
	assert_int_equal(dram_at(0, false), 1);
	assert_victim(store(0, 16), 15, LLC_M, 1);
	assert_int_equal(dram_at(0, true), 1);
	assert_int_equal(dram_at(1, false), 1);
	assert_victim(store(0, 1), 16, LLC_M, 1);
	assert_int_equal(dram_at(1, true), 1);
	store(5, 17);
	store(5, 2);
	dev_read(18);
	dev_part(19);
	assert_int_equal(pair_count_at(&m, 0, 0).write_miss, 2);
	assert_int_equal(pair_count_at(&m, 1, 0).write_miss, 1);
	assert_int_equal(pair_count_at(&m, 0, 0).made_dirty, 2);
	assert_int_equal(pair_count_at(&m, 1, 0).wb_first, 1);
	assert_int_equal(pair_count_at(&m, 0, 5).write_miss, 1);
	assert_int_equal(pair_count_at(&m, 1, 5).write_miss, 1);
	assert_int_equal(pair_count_at(&m, 1, DEV).to_miss, 1);
	assert_int_equal(pair_count_at(&m, 1, DEV).fill_lines, 1);
	assert_int_equal(pair_count_at(&m, 0, DEV).wb_evictor, 1);
	assert_int_equal(pair_count_at(&m, 0, DEV).from_lines, 0);
	/* Who dirtied it is on the books of its home, though it lies elsewhere. */
	assert_int_equal(pair_dirty_lines_at(&m, 0, 5), 1);
	assert_int_equal(pair_dirty_lines_at(&m, 1, DEV), 1);
	assert_int_equal(pair_dirty_lines_at(&m, 0, DEV), 0);
	finish();
}

static void sockets_share_nothing_but_lines(void **state)
{
	(void)state;
	/* What one socket's CPUs do pushes nothing out of the other's cache. */
	start_two(1, 1, 1);
	load(0, 1);
	assert_quiet(load(4, 2));
	assert_true(there(0, 1));
	assert_int_equal(load(1, 1).before, LLC_E);
	assert_false(load(1, 1).asked);
	finish();
}

static void clean_in_both_is_shared(void **state)
{
	struct llc_result r;

	(void)state;
	start_two(1, 2, 1);
	load(0, 1);
	r = load(4, 1);
	assert_asked(r, LLC_I, LLC_E);
	assert_quiet(r);
	assert_int_equal(r.dram_lines, 1);
	r = load(1, 1);
	assert_int_equal(r.before, LLC_S);
	assert_false(r.asked);
	/* The victim, too; and when it has left, the other is alone. */
	load(4, 2);
	assert_victim(load(4, 3), 1, LLC_S, 1 << 4);
	load(0, 2);
	load(0, 5);
	assert_int_equal(load(4, 2).before, LLC_S);
	dev_write(2);
	assert_false(there(1, 2));
	finish();
}

static void stores_take_the_other_sockets_copy(void **state)
{
	struct llc_result r;

	(void)state;
	start_two(1, 4, 1);
	/* A miss, a hit, an upgrade; of clean lines */
	load(4, 1);
	load(5, 1);
	r = store(0, 1);
	assert_asked(r, LLC_I, LLC_S);
	assert_int_equal(r.invalidate, 3 << 4);
	assert_false(there(1, 1));
	load(4, 2);
	load(0, 2);
	r = store(1, 2);
	assert_asked(r, LLC_S, LLC_S);
	assert_int_equal(r.invalidate, 1 | 1 << 4);
	load(4, 3);
	load(0, 3);
	r = upgrade(0, 3);
	assert_asked(r, LLC_S, LLC_S);
	assert_int_equal(r.invalidate, 1 << 4);
	assert_false(r.silent);
	assert_int_equal(dram_writes(), 0);
	/* A dirty line is nobody else's, so nobody is asked. */
	wb(0, 3);
	assert_false(store(1, 3).asked);
	assert_false(dev_write(3).asked);
	/* Alone, it is silent as ever. */
	load(4, 4);
	r = upgrade(4, 4);
	assert_true(r.silent);
	assert_false(r.asked);
	finish();
}

static void device_reads_leave_the_other_socket_as_it_is(void **state)
{
	struct llc_result r;

	(void)state;
	start_two(1, 2, 1);
	store(4, 1);
	r = dev_read(1);
	assert_asked(r, LLC_I, LLC_M);
	assert_quiet(r);
	assert_int_equal(r.dram_lines, 1);
	assert_int_equal(pair_way_in(&m, 1, 1, NULL)->owner, 4);
	assert_false(there(0, 1));
	/* Nor does it become recent there. */
	load(4, 2);
	dev_read(1);
	assert_victim(load(4, 3), 1, LLC_M, 1 << 4);
	finish();
}

static void device_writes_take_the_other_sockets_copy(void **state)
{
	unsigned int ddio, part;
	struct llc_result r;

	(void)state;
	for (ddio = 0; ddio < 2; ddio++) {
		for (part = 0; part < 2; part++) {
			start_two(1, 2, ddio);
			/* Dirty there: written back by the device. Of socket 1's memory */
			store(4, 17);
			r = part ? dev_part(17) : dev_write(17);
			assert_asked(r, LLC_I, LLC_M);
			assert_int_equal(r.invalidate, 1 << 4);
			assert_int_equal(dram_at(1, true), 1 + !ddio);
			assert_int_equal(dram_at(1, false), 1 + part);
			assert_int_equal(dram_at(0, true) + dram_at(0, false), 0);
			assert_int_equal(pair_count(&m, 4).wb_first, 1);
			assert_int_equal(pair_count(&m, DEV).wb_evictor, 1 + !ddio);
			assert_int_equal(pair_count(&m, DEV).made_dirty, 1);
			assert_int_equal(there(0, 17), ddio);
			assert_false(there(1, 17));
			/* Clean in both */
			load(4, 3);
			load(0, 3);
			r = part ? dev_part(3) : dev_write(3);
			assert_asked(r, LLC_S, LLC_S);
			assert_int_equal(r.invalidate, 1 | 1 << 4);
			assert_int_equal(pair_count(&m, DEV).from_clean_hit, 1);
			assert_false(there(1, 3));
			finish();
		}
	}
}

static void siblings_of_two_sockets(void **state)
{
	(void)state;
	/* CPUs 0 to 3 are cores 0 and 1, of socket 0; 4 to 7 are cores 2 and 3. */
	start(1, 1, 4, 1, 4);
	pair_siblings(&m);
	pair_sockets(&m, 4, 16);
	assert_int_equal(pair_cpu(&m, 4, 1, true), PRIV_MISS);
	assert_int_equal(pair_cpu(&m, 5, 1, true), PRIV_L1);
	assert_int_equal(pair_way_in(&m, 1, 1, NULL)->owner, 2);
	assert_int_equal(pair_cpu(&m, 3, 1, false), PRIV_MISS);
	assert_int_equal(pair_count(&m, 3).wb_evictor, 1);
	assert_int_equal(pair_cpu(&m, 5, 1, true), PRIV_L1);
	assert_int_equal(pair_cpu(&m, 2, 1, false), PRIV_MISS);
	pair_check_inclusion(&m);
	finish();
}

static void dirty_lines_by_first_dirtier(void **state)
{
	uint64_t lines[LLC_ACTORS] = { 100 };

	(void)state;
	start(4, 8, 4, 2, 0);
	store(0, 1);
	store(0, 2);
	dev_write(2);
	dev_write(3);
	load(0, 4);
	pair_access(&m, LLC_DEV_WRITE, 4, DEV2);
	assert_int_equal(pair_dirty_lines(&m, 0), 2);
	assert_int_equal(pair_dirty_lines(&m, DEV), 1);
	assert_int_equal(pair_dirty_lines(&m, DEV2), 1);
	assert_int_equal(pair_dirty_lines(&m, 1), 0);
	/* Each slice adds to what is there already. */
	for (unsigned int i = 0; i < 4; i++)
		llc_dirty_lines(&m.lib[i], lines);
	assert_int_equal(lines[0], 100 + 2);
	assert_int_equal(lines[DEV], 1);
	finish();
}

static void impossible_geometry_is_refused(void **state)
{
	static const struct llc_geometry bad[] = {
		{ .slices = 0, .sets = 16, .ways = 4, .ddio_ways = 1 },
		{ .slices = 25, .sets = 16, .ways = 4, .ddio_ways = 1 },
		{ .slices = 1, .sets = 0, .ways = 4, .ddio_ways = 1 },
		{ .slices = 1, .sets = 16, .ways = 0, .ddio_ways = 0 },
		{ .slices = 1, .sets = 16, .ways = 33, .ddio_ways = 1 },
		{ .slices = 1, .sets = 16, .ways = 4, .ddio_ways = 5 },
		{ .slices = 1, .sets = 16, .ways = 4, .ddio_ways = 1, .thread_bits = 2 },
	};
	struct llc_slice s;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_not_equal(llc_slice_init(&s, &bad[i]), 0);
}

/* Private caches */

static void priv_sets_and_ways(void **state)
{
	bool up, vm;
	uint64_t v;
	unsigned int i;

	(void)state;
	start(1, 1, 1, 1, 1);
	/* Eight lines of one L2 set fit; L1 has the same eight. */
	for (i = 0; i < 8; i++)
		assert_false(pair_fill(&m, 0, FOUR_GIB + i * PRIV_L2_SETS, false, &v, &vm));
	for (i = 0; i < 8; i++)
		assert_int_equal(pair_lookup(&m, 0, FOUR_GIB + i * PRIV_L2_SETS, false, &up),
				 PRIV_L1);
	/* Eight more, 64 lines apart: they share the L1 set, not the L2 set. */
	for (i = 1; i < 8; i++)
		assert_false(pair_fill(&m, 0, FOUR_GIB + i * PRIV_L1_SETS, false, &v, &vm));
	assert_false(pair_fill(&m, 0, FOUR_GIB + 9 * PRIV_L1_SETS, false, &v, &vm));
	for (i = 0; i < 8; i++)
		assert_int_equal(pair_lookup(&m, 0, FOUR_GIB + i * PRIV_L2_SETS, false, &up),
				 PRIV_L2);
	/* The ninth of an L2 set pushes out the first. */
	assert_true(pair_fill(&m, 0, FOUR_GIB + 8 * PRIV_L2_SETS, false, &v, &vm));
	assert_int_equal(v, FOUR_GIB);
	assert_false(vm);
	/* 64 L1 sets, 512 L2 sets. */
	assert_false(pair_fill(&m, 0, 63, false, &v, &vm));
	assert_false(pair_fill(&m, 0, 511, false, &v, &vm));
	assert_int_equal(m.lib_priv[0].l1_miss, 8);
	assert_int_equal(m.lib_priv[0].l2_miss, 0);
	finish();
}

/* Fill n lines of L2 set 0, from line 0 up. */
static void fill_set_0(unsigned int n)
{
	uint64_t v;
	bool vm;

	for (unsigned int i = 0; i < n; i++)
		pair_fill(&m, 0, (uint64_t)i * PRIV_L2_SETS, false, &v, &vm);
}

static void priv_l1_hit_does_not_touch_l2(void **state)
{
	uint64_t v;
	bool up, vm;

	(void)state;
	start(1, 1, 1, 1, 1);
	fill_set_0(8);
	/* Line 0 is most recent in L1, but still L2's oldest. */
	assert_int_equal(pair_lookup(&m, 0, 0, false, &up), PRIV_L1);
	assert_true(pair_fill(&m, 0, 8 * PRIV_L2_SETS, false, &v, &vm));
	assert_int_equal(v, 0);
	/* L2's victim left L1 as well. */
	assert_int_equal(pair_lookup(&m, 0, 0, false, &up), PRIV_MISS);
	finish();
}

static void priv_l1_hit_is_most_recent_in_l1(void **state)
{
	uint64_t v;
	bool up, vm;
	unsigned int i;

	(void)state;
	start(1, 1, 1, 1, 1);
	for (i = 0; i < 8; i++)
		pair_fill(&m, 0, i * PRIV_L1_SETS, false, &v, &vm);
	assert_int_equal(pair_lookup(&m, 0, 0, false, &up), PRIV_L1);
	assert_false(pair_fill(&m, 0, 8 * PRIV_L1_SETS, false, &v, &vm));
	assert_int_equal(pair_lookup(&m, 0, 0, false, &up), PRIV_L1);
	assert_int_equal(pair_lookup(&m, 0, PRIV_L1_SETS, false, &up), PRIV_L2);
	finish();
}

static void priv_l2_hit_is_copied_to_l1_with_its_state(void **state)
{
	uint64_t v;
	bool up, vm;
	unsigned int i;

	(void)state;
	start(1, 1, 1, 1, 1);
	pair_fill(&m, 0, 0, true, &v, &vm);
	for (i = 1; i < 9; i++)
		pair_fill(&m, 0, i * PRIV_L1_SETS, false, &v, &vm);
	/* Pushed out of L1; modified in L2, so a store needs nothing. */
	assert_int_equal(pair_lookup(&m, 0, 0, true, &up), PRIV_L2);
	assert_false(up);
	assert_int_equal(pair_lookup(&m, 0, 0, true, &up), PRIV_L1);
	assert_false(up);
	/* A clean one is clean in L1 too. */
	assert_int_equal(pair_lookup(&m, 0, PRIV_L1_SETS, false, &up), PRIV_L2);
	assert_int_equal(pair_lookup(&m, 0, PRIV_L1_SETS, true, &up), PRIV_L1);
	assert_true(up);
	finish();
}

static void priv_l2_hit_is_most_recent_in_l2(void **state)
{
	uint64_t v;
	bool up, vm;
	unsigned int i;

	(void)state;
	start(1, 1, 1, 1, 1);
	fill_set_0(8);
	for (i = 1; i < 9; i++)		/* same L1 set, other L2 sets */
		pair_fill(&m, 0, 1 * PRIV_L1_SETS + (i << 20), false, &v, &vm);
	assert_int_equal(pair_lookup(&m, 0, 0, false, &up), PRIV_L2);
	assert_true(pair_fill(&m, 0, 8 * PRIV_L2_SETS, false, &v, &vm));
	assert_int_equal(v, PRIV_L2_SETS);
	finish();
}

static void priv_store_to_a_clean_copy_is_an_upgrade(void **state)
{
	uint64_t v;
	bool up, vm;

	(void)state;
	start(1, 1, 1, 1, 1);
	pair_fill(&m, 0, 5, false, &v, &vm);
	pair_lookup(&m, 0, 5, false, &up);
	assert_false(up);
	assert_int_equal(pair_lookup(&m, 0, 5, true, &up), PRIV_L1);
	assert_true(up);
	/* It is the caller who makes it modified. */
	pair_lookup(&m, 0, 5, true, &up);
	assert_true(up);
	pair_dirty(&m, 0, 5);
	pair_lookup(&m, 0, 5, true, &up);
	assert_false(up);
	pair_clean(&m, 0, 5);
	pair_lookup(&m, 0, 5, true, &up);
	assert_true(up);
	finish();
}

static void priv_miss_moves_nothing(void **state)
{
	struct priv_cache before;
	bool up;

	(void)state;
	start(1, 1, 1, 1, 1);
	fill_set_0(8);
	before = m.lib_priv[0];
	assert_int_equal(pair_lookup(&m, 0, 100 * PRIV_L2_SETS, true, &up), PRIV_MISS);
	assert_false(up);
	assert_memory_equal(before.l1, m.lib_priv[0].l1, sizeof(before.l1));
	assert_memory_equal(before.l2, m.lib_priv[0].l2, sizeof(before.l2));
	assert_int_equal(m.lib_priv[0].l1_miss, 1);
	assert_int_equal(m.lib_priv[0].l2_miss, 1);
	finish();
}

static void priv_victim_is_modified_if_either_copy_was(void **state)
{
	uint64_t v;
	bool up, vm;

	(void)state;
	start(1, 1, 1, 1, 1);
	/* Modified since it came: L1's copy. */
	fill_set_0(8);
	pair_lookup(&m, 0, 0, true, &up);
	pair_dirty(&m, 0, 0);
	assert_true(pair_fill(&m, 0, 8 * PRIV_L2_SETS, false, &v, &vm));
	assert_int_equal(v, 0);
	assert_true(vm);
	/* Modified when L1 pushed it out: L2's copy. */
	pair_lookup(&m, 0, PRIV_L2_SETS, true, &up);
	pair_dirty(&m, 0, PRIV_L2_SETS);
	for (unsigned int i = 1; i < 9; i++)
		pair_fill(&m, 0, 1 * PRIV_L1_SETS + (i << 20), false, &v, &vm);
	assert_true(pair_fill(&m, 0, 9 * PRIV_L2_SETS, false, &v, &vm));
	assert_int_equal(v, PRIV_L2_SETS);
	assert_true(vm);
	assert_true(pair_fill(&m, 0, 10 * PRIV_L2_SETS, false, &v, &vm));
	assert_int_equal(v, 2 * PRIV_L2_SETS);
	assert_false(vm);
	finish();
}

static void priv_l1_victim_does_not_touch_l2(void **state)
{
	uint64_t v;
	bool up, vm;
	unsigned int i;

	(void)state;
	start(1, 1, 1, 1, 1);
	fill_set_0(7);
	pair_lookup(&m, 0, 0, true, &up);
	pair_dirty(&m, 0, 0);
	/* Line 0 leaves L1, modified, for L2, where it stays the oldest. */
	for (i = 1; i < 9; i++)
		pair_fill(&m, 0, 1 * PRIV_L1_SETS + (i << 20), false, &v, &vm);
	assert_false(pair_fill(&m, 0, 20 * PRIV_L2_SETS, false, &v, &vm));
	assert_true(pair_fill(&m, 0, 21 * PRIV_L2_SETS, false, &v, &vm));
	assert_int_equal(v, 0);
	assert_true(vm);
	finish();
}

static void priv_invalidate_and_clean_reach_both_levels(void **state)
{
	uint64_t v;
	bool up, vm;

	(void)state;
	start(1, 1, 1, 1, 1);
	pair_fill(&m, 0, 5, true, &v, &vm);
	pair_invalidate(&m, 0, 5);
	assert_int_equal(pair_lookup(&m, 0, 5, false, &up), PRIV_MISS);
	pair_invalidate(&m, 0, 5);	/* a stale sharer's: nothing there */
	pair_clean(&m, 0, 5);
	pair_dirty(&m, 0, 5);
	assert_int_equal(pair_lookup(&m, 0, 5, false, &up), PRIV_MISS);
	/* Clean in L1 and in L2: it leaves without a write-back. */
	fill_set_0(8);
	pair_lookup(&m, 0, 0, true, &up);
	pair_dirty(&m, 0, 0);
	pair_clean(&m, 0, 0);
	assert_true(pair_fill(&m, 0, 8 * PRIV_L2_SETS, false, &v, &vm));
	assert_int_equal(v, 0);
	assert_false(vm);
	/* The room of an invalidated line is used before anything leaves. */
	pair_invalidate(&m, 0, 3 * PRIV_L2_SETS);
	assert_false(pair_fill(&m, 0, 9 * PRIV_L2_SETS, false, &v, &vm));
	finish();
}

static void priv_inline_hit(void **state)
{
	uint64_t v;
	bool vm;

	(void)state;
	start(1, 1, 1, 1, 1);
	assert_false(priv_hit_mru(&m.lib_priv[0], 0, false));
	pair_fill(&m, 0, 0, false, &v, &vm);
	assert_true(priv_hit_mru(&m.lib_priv[0], 0, false));
	assert_false(priv_hit_mru(&m.lib_priv[0], 0, true));
	assert_false(priv_hit_mru(&m.lib_priv[0], FOUR_GIB, false));
	pair_dirty(&m, 0, 0);
	assert_true(priv_hit_mru(&m.lib_priv[0], 0, true));
	assert_true(priv_hit_mru(&m.lib_priv[0], 0, false));
	pair_fill(&m, 0, PRIV_L1_SETS, false, &v, &vm);
	assert_false(priv_hit_mru(&m.lib_priv[0], 0, false));
	pair_invalidate(&m, 0, PRIV_L1_SETS);
	assert_false(priv_hit_mru(&m.lib_priv[0], PRIV_L1_SETS, false));
	finish();
}

/* Random sequences */

static uint64_t random_state;

static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static unsigned int between(unsigned int low, unsigned int high)
{
	return low + rnd() % (high - low + 1);
}

static uint64_t env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static uint64_t seed_now, seed_end;

/* for (first_seed(n); next_seed(); ): the body once for each of n seeds. */
static void first_seed(unsigned int n)
{
	seed_now = env("MODEL_SEED", 1) - 1;
	seed_end = seed_now + env("MODEL_SEEDS", n);
}

static bool next_seed(void)
{
	if (seed_now == seed_end)
		return false;
	seed_now++;
	random_state = seed_now * 0x9E3779B97F4A7C15ull;
	return true;
}

/*
 * Where a run's lines are: some around a base, a stride apart; a few of them
 * hot; and now and then one from anywhere.
 */
struct mix {
	uint64_t base, stride;
	unsigned int lines, hot, hot_percent, anywhere_percent;
};

static struct mix random_mix(unsigned int sets, unsigned int capacity)
{
	const uint64_t stride[] = {
		1, 1, 1, 3, 64, 512, sets, 2ull * sets, 4097, FOUR_GIB, rnd() % 100000 + 1,
	};
	const uint64_t base[] = {
		0, FOUR_GIB - 5, FOUR_GIB, 16 * FOUR_GIB, 1ull << 38, rnd() >> 20,
	};
	struct mix mix = {
		.base = base[rnd() % (sizeof(base) / sizeof(base[0]))],
		.stride = stride[rnd() % (sizeof(stride) / sizeof(stride[0]))],
		.lines = between(1, capacity * 3 + 8),
		.hot = between(1, 12),
		.hot_percent = between(0, 3) * 25,
		.anywhere_percent = between(0, 2) * 3,
	};

	return mix;
}

static uint64_t random_line(const struct mix *mix)
{
	if (rnd() % 100 < mix->anywhere_percent)
		return rnd() >> 20;
	if (rnd() % 100 < mix->hot_percent)
		return mix->base + rnd() % mix->hot * mix->stride;
	return mix->base + rnd() % mix->lines * mix->stride;
}

static enum llc_op random_dev_op(void)
{
	static const enum llc_op ops[] = {
		LLC_DEV_READ, LLC_DEV_READ, LLC_DEV_WRITE, LLC_DEV_WRITE, LLC_DEV_WRITE_PART,
	};

	return ops[rnd() % (sizeof(ops) / sizeof(ops[0]))];
}

static unsigned int random_actor(unsigned int devices)
{
	return LLC_ACTORS - 1 - rnd() % devices;
}

/*
 * A core without private caches to speak of: what it may do next to a line is
 * what the LLC knows of it. It may have dropped a clean copy, or not.
 */
static void legal_cpu_access(uint64_t line, unsigned int cpu)
{
	const struct ref_line *l = ref_peek(&m.ref, ref_socket_of(&m.ref, cpu), line);
	const unsigned int core = pair_core(&m, cpu);

	if (l && l->owner == (int)core)
		wb(cpu, line);
	else if (rnd() % 16 == 0)
		assert_true(wb(cpu, line).silent);
	else if (l && l->sharers.has[core] && rnd() % 2)
		upgrade(cpu, line);
	else if (rnd() % 3)
		load(cpu, line);
	else
		store(cpu, line);
}

/* Sometimes so many CPUs are those of two sockets. */
static void perhaps_two_sockets(unsigned int cpus, const struct mix *mix)
{
	const uint64_t lines = mix ? mix->lines : 8;
	const uint64_t base = mix ? mix->base : 0, stride = mix ? mix->stride : 1;

	if (rnd() % 2)
		pair_sockets(&m, (cpus + 3) / 4 * 2, base + rnd() % (lines + 1) * stride);
}

static void random_llc(void **state)
{
	(void)state;
	for (first_seed(400); next_seed(); ) {
		unsigned int slices = between(1, LLC_MAX_SLICES);
		unsigned int sets = between(1, rnd() % 4 ? 9 : 70);
		unsigned int ways = between(1, rnd() % 2 ? 4 : LLC_MAX_WAYS);
		unsigned int ddio_ways = between(0, ways);
		unsigned int cores = between(1, LLC_MAX_CORES), devices = between(1, 6);
		unsigned int cpu_percent = between(0, 4) * 25;
		struct mix mix = random_mix(sets, slices * sets * ways);
		unsigned int i, n = between(200, 6000);

		start(slices, sets, ways, ddio_ways, 0);
		if (rnd() % 2)
			pair_siblings(&m);
		perhaps_two_sockets(cores, &mix);
		for (i = 0; i < n; i++) {
			uint64_t line = random_line(&mix);

			if (rnd() % 100 < cpu_percent)
				legal_cpu_access(line, rnd() % cores);
			else
				pair_access(&m, random_dev_op(), line, random_actor(devices));
		}
		finish();
	}
}

static void random_one_hot_set(void **state)
{
	(void)state;
	/* One set, few lines: every pair of events meets in every order. */
	for (first_seed(200); next_seed(); ) {
		unsigned int ways = between(1, 5), lines = between(1, 8), i;

		start(1, 1, ways, between(0, ways), 0);
		if (rnd() % 2)
			pair_siblings(&m);
		perhaps_two_sockets(4, NULL);
		for (i = 0; i < 2000; i++) {
			if (rnd() % 2)
				legal_cpu_access(rnd() % lines, rnd() % 4);
			else
				pair_access(&m, random_dev_op(), rnd() % lines, random_actor(2));
		}
		finish();
	}
}

static void random_private_caches(void **state)
{
	(void)state;
	for (first_seed(40); next_seed(); ) {
		static const uint64_t stride[] = { 1, 64, 512, 4096, 32 };
		struct mix mix = {
			.base = rnd() % 3 ? rnd() >> 20 : 0,
			.stride = stride[rnd() % 5],
			.lines = between(4, rnd() % 2 ? 40 : 6000),
			.hot = between(1, 12),
			.hot_percent = between(0, 3) * 25,
		};
		unsigned int orders = between(0, 20), i;

		start(1, 1, 1, 1, 1);
		for (i = 0; i < 20000; i++) {
			uint64_t line = random_line(&mix), v;
			bool st = rnd() % 3 == 0, up, vm;

			if (rnd() % 100 < orders) {
				if (rnd() % 2)
					pair_invalidate(&m, 0, line);
				else
					pair_clean(&m, 0, line);
			} else if (pair_lookup(&m, 0, line, st, &up) == PRIV_MISS) {
				pair_fill(&m, 0, line, st, &v, &vm);
			} else if (up) {
				pair_dirty(&m, 0, line);
			}
			if (i % 5000 == 0)
				pair_check(&m);
		}
		finish();
	}
}

static void random_machine_runs(unsigned int slices, unsigned int sets, unsigned int ways,
				unsigned int ddio_ways, unsigned int accesses)
{
	/* Or CPUs, two of them a core */
	unsigned int cores = between(1, rnd() % 3 ? 4 : LLC_MAX_CORES), devices = between(1, 5);
	unsigned int cpu_percent = between(1, 9) * 10, store_percent = between(0, 4) * 25, i;
	struct mix mix = random_mix(sets, slices * sets * ways);

	if (cores % 2 == 0 && rnd() % 2) {
		start(slices, sets, ways, ddio_ways, cores / 2);
		pair_siblings(&m);
	} else {
		start(slices, sets, ways, ddio_ways, cores);
	}
	perhaps_two_sockets(cores, &mix);
	for (i = 0; i < accesses; i++) {
		uint64_t line = random_line(&mix);

		if (rnd() % 100 < cpu_percent)
			pair_cpu(&m, rnd() % cores, line, rnd() % 100 < store_percent);
		else
			pair_dev(&m, random_dev_op(), line, random_actor(devices));
		if (i % 4096 == 0)
			pair_check_inclusion(&m);
	}
	pair_check_inclusion(&m);
	finish();
}

static void random_small_machines(void **state)
{
	(void)state;
	/* The LLC is smaller than what cores hold: copies are taken all the time. */
	for (first_seed(60); next_seed(); ) {
		unsigned int ways = between(1, LLC_MAX_WAYS);

		random_machine_runs(between(1, LLC_MAX_SLICES), between(1, 40), ways,
				    between(0, ways), between(500, 6000));
	}
}

static void random_large_machines(void **state)
{
	(void)state;
	/* The LLC is larger than L2: cores push out their own lines. */
	for (first_seed(6); next_seed(); )
		random_machine_runs(between(1, 8), between(500, 2100), between(16, 20),
				    between(0, 3), 60000);
}

/*
 * Orders that come late. The emulated machine's cores are threads: what the
 * LLC takes from a core goes into its mailbox, which it reads when it likes,
 * but always with the lock held before it asks the LLC for anything. Until then
 * it may hit a copy that it has lost; its write-back of one is the message that
 * crosses an invalidation. The LLC must still see legal sequences only.
 *
 * Siblings are two threads with one mailbox: each may do something between any two
 * steps of the other. So who has the lock looks once more what is there now, and
 * does not ask for a line that the sibling is about to write back.
 */
static struct {
	unsigned int mails;
	struct {
		uint64_t line;
		bool downgrade;
	} mail[256];
} mailbox[LLC_MAX_CORES];
static uint64_t leaving[LLC_MAX_CORES];		/* of a CPU: a line + 1, or 0 */

static void read_mail(unsigned int core)
{
	unsigned int i;

	for (i = 0; i < mailbox[core].mails; i++) {
		if (mailbox[core].mail[i].downgrade)
			pair_clean(&m, core, mailbox[core].mail[i].line);
		else
			pair_invalidate(&m, core, mailbox[core].mail[i].line);
	}
	mailbox[core].mails = 0;
}

static void post_mail(uint32_t cores, uint64_t line, bool downgrade)
{
	unsigned int core, n;

	for (core = 0; core < m.cores; core++) {
		if (!(cores >> core & 1))
			continue;
		if (mailbox[core].mails == 256)
			read_mail(core);
		n = mailbox[core].mails++;
		mailbox[core].mail[n].line = line;
		mailbox[core].mail[n].downgrade = downgrade;
	}
}

static void posted_access(enum llc_op op, uint64_t line, unsigned int who)
{
	const struct ref_line *l = ref_peek(&m.ref, ref_socket_of(&m.ref, who), line);
	const unsigned int core = pair_core(&m, who);
	struct llc_result r;

	/* Legal? A load or store is not the owner's, an upgrade a sharer's. */
	if (op == LLC_CPU_LOAD || op == LLC_CPU_STORE)
		assert_false(l && l->owner == (int)core);
	if (op == LLC_CPU_UPGRADE)
		assert_true(l && l->sharers.has[core] && l->owner != (int)core);
	r = pair_access(&m, op, line, who);
	post_mail(r.invalidate, line, false);
	post_mail(r.downgrade, line, true);
	if (r.victim)
		post_mail(r.victim_sharers, r.victim_line, false);
}

static void late_cpu(unsigned int cpu, uint64_t line, bool st, const struct mix *mix);

/* What may come between, where another CPU has the word */
static void meanwhile(unsigned int cpu, uint64_t line, const struct mix *mix)
{
	static bool busy;

	if (m.ref.threads == 1 || busy || rnd() % 2)
		return;
	busy = true;
	late_cpu(cpu ^ 1, rnd() % 2 ? line : random_line(mix), rnd() % 3 == 0, mix);
	busy = false;
}

static void late_cpu(unsigned int cpu, uint64_t line, bool st, const struct mix *mix)
{
	const unsigned int core = pair_core(&m, cpu);
	bool up, modified;
	uint64_t victim;

	if (rnd() % 2)
		read_mail(core);
	if (pair_lookup(&m, core, line, st, &up) != PRIV_MISS && !up)
		return;
	meanwhile(cpu, line, mix);
	read_mail(core);
	if (m.ref.threads == 1) {
		up = up && ref_priv_holds(&m.ref_priv[core], line);
	} else {
		/* It would wait; here, who comes in between cannot. */
		if (leaving[cpu ^ 1] == line + 1)
			return;
		if (pair_lookup(&m, core, line, st, &up) != PRIV_MISS && !up)
			return;
	}
	if (up) {
		posted_access(LLC_CPU_UPGRADE, line, cpu);
		pair_dirty(&m, core, line);
		return;
	}
	posted_access(st ? LLC_CPU_STORE : LLC_CPU_LOAD, line, cpu);
	if (!pair_fill(&m, core, line, st, &victim, &modified) || !modified)
		return;
	leaving[cpu] = victim + 1;
	/* The lock is given back before the victim's is taken. */
	if (rnd() % 4 == 0)
		posted_access(random_dev_op(), victim, DEV);
	meanwhile(cpu, victim, mix);
	posted_access(LLC_CPU_WB, victim, cpu);
	leaving[cpu] = 0;
}

static void random_late_orders(void **state)
{
	(void)state;
	for (first_seed(60); next_seed(); ) {
		unsigned int slices = between(1, 8), sets = between(1, rnd() % 2 ? 8 : 200);
		unsigned int ways = between(1, 20), cores = between(1, 5), cpus = cores, i;
		struct mix mix = random_mix(sets, slices * sets * ways);

		start(slices, sets, ways, between(0, ways), cores);
		if (rnd() % 2) {
			pair_siblings(&m);
			cpus *= 2;
		}
		perhaps_two_sockets(cpus, &mix);
		for (i = 0; i < 6000; i++) {
			uint64_t line = random_line(&mix);

			if (rnd() % 4)
				late_cpu(rnd() % cpus, line, rnd() % 3 == 0, &mix);
			else
				posted_access(random_dev_op(), line, random_actor(3));
		}
		for (i = 0; i < cores; i++)
			read_mail(i);
		pair_check_inclusion(&m);
		assert_int_equal(m.ref.upgrade_miss, 0);
		finish();
	}
}

static void load_patterns(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < pattern_count; i++) {
		struct pattern_figures f;

		pattern_run(&patterns[i], i % 2, 400, &f);
		assert_int_equal(f.to_lines + f.from_lines, 200 * (patterns[i].writes +
				 patterns[i].reads + patterns[i].reread * patterns[i].writes));
	}
}

static void model_differs(const char *text)
{
	fail_msg("seed %llu: %s", (unsigned long long)seed_now, text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(place_of_a_line),
		cmocka_unit_test(slices_are_used_evenly),
		cmocka_unit_test(channel_of_a_line),
		cmocka_unit_test(set_is_line_modulo_sets),
		cmocka_unit_test(lines_above_4_gib_are_others),
		cmocka_unit_test(invalid_ways_first_the_lowest),
		cmocka_unit_test(least_recently_used_is_replaced),
		cmocka_unit_test(age_survives_a_wrapping_clock),
		cmocka_unit_test(worked_example),
		cmocka_unit_test(state_is_m_s_or_e),
		cmocka_unit_test(stale_sharer_still_counts),
		cmocka_unit_test(dev_read_hit_only_touches),
		cmocka_unit_test(dev_read_miss_allocates_nothing),
		cmocka_unit_test(dev_write_hit_takes_all_copies),
		cmocka_unit_test(dev_write_hit_stays_in_its_way),
		cmocka_unit_test(dev_write_miss_takes_ddio_ways_only),
		cmocka_unit_test(ddio_in_all_ways),
		cmocka_unit_test(cpu_miss_may_take_any_way),
		cmocka_unit_test(partial_write_fills_on_a_miss),
		cmocka_unit_test(no_ddio_miss_goes_to_dram),
		cmocka_unit_test(no_ddio_hit_leaves_the_cache),
		cmocka_unit_test(no_ddio_read_hits_as_ever),
		cmocka_unit_test(cpu_load_shares),
		cmocka_unit_test(cpu_load_demotes_the_owner),
		cmocka_unit_test(cpu_store_takes_all_other_copies),
		cmocka_unit_test(cpu_store_miss_reads_and_dirties),
		cmocka_unit_test(upgrade_of_a_shared_line_is_heard),
		cmocka_unit_test(upgrade_of_a_lone_line_is_silent),
		cmocka_unit_test(upgrade_of_a_lone_dirty_line_is_silent),
		cmocka_unit_test(write_back_keeps_dirt_and_age),
		cmocka_unit_test(crossed_write_back_does_nothing),
		cmocka_unit_test(first_dirtier_last_writer_evictor),
		cmocka_unit_test(victim_leaves_with_its_copies),
		cmocka_unit_test(siblings_are_one_core),
		cmocka_unit_test(two_sockets_worked_example),
		cmocka_unit_test(lines_are_counted_at_home),
		cmocka_unit_test(sockets_share_nothing_but_lines),
		cmocka_unit_test(clean_in_both_is_shared),
		cmocka_unit_test(stores_take_the_other_sockets_copy),
		cmocka_unit_test(device_reads_leave_the_other_socket_as_it_is),
		cmocka_unit_test(device_writes_take_the_other_sockets_copy),
		cmocka_unit_test(siblings_of_two_sockets),
		cmocka_unit_test(dirty_lines_by_first_dirtier),
		cmocka_unit_test(impossible_geometry_is_refused),
		cmocka_unit_test(priv_sets_and_ways),
		cmocka_unit_test(priv_l1_hit_does_not_touch_l2),
		cmocka_unit_test(priv_l1_hit_is_most_recent_in_l1),
		cmocka_unit_test(priv_l2_hit_is_copied_to_l1_with_its_state),
		cmocka_unit_test(priv_l2_hit_is_most_recent_in_l2),
		cmocka_unit_test(priv_store_to_a_clean_copy_is_an_upgrade),
		cmocka_unit_test(priv_miss_moves_nothing),
		cmocka_unit_test(priv_victim_is_modified_if_either_copy_was),
		cmocka_unit_test(priv_l1_victim_does_not_touch_l2),
		cmocka_unit_test(priv_invalidate_and_clean_reach_both_levels),
		cmocka_unit_test(priv_inline_hit),
		cmocka_unit_test(random_llc),
		cmocka_unit_test(random_one_hot_set),
		cmocka_unit_test(random_private_caches),
		cmocka_unit_test(random_small_machines),
		cmocka_unit_test(random_large_machines),
		cmocka_unit_test(random_late_orders),
		cmocka_unit_test(load_patterns),
	};

	pair_failed = model_differs;
	return cmocka_run_group_tests_name("llc", tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the DRAM's ceiling, dram.c
 *
 * Each named test is for a sentence of the text in dram.h, by a CPU that is played
 * here: it computes for some time, misses, and waits as it is told.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dram.h"
#include "llc.h"

#define GB	1000000000ull

static struct dram d;

static void ceiling(uint64_t bytes_per_s, uint64_t ahead_ns, uint64_t behind_ns)
{
	assert_true(dram_init(&d, bytes_per_s));
	dram_slack(&d, ahead_ns, behind_ns);
}

/* A CPU at *now computes for so long, and misses: how long it waits */
static uint64_t miss(uint64_t *now, uint64_t compute_ns, unsigned int lines)
{
	uint64_t wait;

	*now += compute_ns;
	wait = dram_wait_ns(&d, dram_move_cpu(&d, *now, lines), *now);
	*now += wait;
	return wait;
}

static void test_line(void **state)
{
	(void)state;
	ceiling(GB, 0, 0);
	assert_int_equal(d.line_ps, 64000);
	ceiling(25600 * GB / 1000, 0, 0);
	assert_int_equal(d.line_ps, 2500);
	/* To the next picosecond */
	ceiling(3 * GB, 0, 0);
	assert_int_equal(d.line_ps, 21333);
	ceiling(6 * GB, 0, 0);
	assert_int_equal(d.line_ps, 10667);
	assert_true(dram_init(&d, 0));
	assert_int_equal(d.line_ps, 0);
	assert_true(dram_init(&d, 1ull << 40));
	assert_false(dram_init(&d, (1ull << 40) + 1));
}

/* The text's example */
static void test_example(void **state)
{
	uint64_t now = 0, i;

	(void)state;
	ceiling(GB, 640, 0);
	for (i = 0; i < 10; i++)
		assert_int_equal(miss(&now, 4, 1), 0);
	assert_int_equal(now, 40);
	/* The first was asked for at 4 ns, so all is 4 ns later than from 0. */
	assert_int_equal(miss(&now, 0, 1), 4 + 11 * 64 - 640 - 40);
	for (i = 0; i < 100; i++)
		assert_int_equal(miss(&now, 4, 1), 60);
	dram_move_device(&d, now, 1000);
	for (i = 0; i < 1000; i++)
		assert_int_equal(miss(&now, 4, 1), 64 + 60);
	assert_int_equal(miss(&now, 4, 1), 60);
}

static void test_rate(void **state)
{
	/* With thirds of a ns, too: what is waited is whole ns, and nothing is lost. */
	static const uint64_t rate[] = { GB, 3 * GB, 7 * GB, 11 * GB / 10 };
	const uint64_t lines = 999999;
	uint64_t i, k;

	(void)state;
	for (k = 0; k < sizeof(rate) / sizeof(*rate); k++) {
		uint64_t now = 12345, want, waited = 0;

		ceiling(rate[k], 640, 0);
		/* The last wait, too, is whole ns. */
		want = (lines * d.line_ps + 999) / 1000 - 640;
		for (i = 0; i < lines; i++)
			waited += miss(&now, i & 1, 1);
		assert_int_equal(now - 12345, want);
		assert_int_equal(waited + lines / 2, now - 12345);
	}
}

static void test_computing(void **state)
{
	uint64_t now = 1000, i;

	(void)state;
	ceiling(GB, 64, 0);
	for (i = 0; i < 100; i++)
		assert_int_equal(miss(&now, 65, 1), 0);
	/* One that it does not do at once is one that it has under way. */
	assert_int_equal(miss(&now, 0, 1), 64 + 64 - 64);
}

static void test_written_back(void **state)
{
	uint64_t now = 0, i;

	(void)state;
	ceiling(GB, 640, 0);
	for (i = 0; i < 1000; i++)
		miss(&now, 4, 2);
	assert_in_range(now, 2 * 64000 - 640 - 1, 2 * 64000);
}

static void test_two(void **state)
{
	uint64_t now[2] = { 0, 0 }, lines[2] = { 0, 0 };

	(void)state;
	ceiling(GB, 640, 0);
	while (now[0] < GB / 1000 || now[1] < GB / 1000) {
		const unsigned int i = now[0] > now[1];

		miss(&now[i], 4 + 4 * i, 1);
		lines[i]++;
	}
	/* 1 ms is 15625 lines. */
	assert_in_range(lines[0] + lines[1], 15625, 15625 + 20);
	assert_in_range(lines[0], 7800, 7835);
}

static void test_devices(void **state)
{
	uint64_t now = 0, before, i;

	(void)state;
	ceiling(GB, 0, 0);
	for (i = 0; i < 100; i++)
		miss(&now, 0, 1);
	before = now;
	/* Half of the time is a device's, whenever it comes. */
	for (i = 0; i < 1000; i++) {
		if (i % 10 == 0)
			dram_move_device(&d, now, 10);
		miss(&now, 0, 1);
	}
	assert_int_equal(now - before, 2000 * 64);
	/* It is no more, however much it moves, */
	before = now;
	for (i = 0; i < 1000; i++) {
		dram_move_device(&d, now, 3);
		miss(&now, 0, 1);
	}
	assert_int_equal(now - before, 2000 * 64);
	/* and what nobody has waited for is waited for then. */
	before = now;
	for (i = 0; i < 3000; i++)
		miss(&now, 0, 1);
	assert_int_equal(now - before, (2000 + 3000) * 64);
	/* A CPU that writes back has as many of the device's lines between. */
	before = now;
	dram_move_device(&d, now, 1000);
	for (i = 0; i < 500; i++)
		miss(&now, 0, 2);
	assert_int_equal(now - before, 2000 * 64);
}

/* Time in which CPUs ask for nothing is the devices', */
static void test_devices_alone(void **state)
{
	uint64_t now = 1000000, i;

	(void)state;
	ceiling(GB, 0, 0);
	miss(&now, 0, 1);
	dram_move_device(&d, now, 100);
	assert_int_equal(miss(&now, 90 * 64, 1), 128);
	for (i = 0; i < 9; i++)
		assert_int_equal(miss(&now, 0, 1), 128);
	assert_int_equal(miss(&now, 0, 1), 64);
	/* but not what was before they had any, */
	now += 1000000;
	dram_move_device(&d, now, 2);
	assert_int_equal(miss(&now, 0, 1), 128);
	assert_int_equal(miss(&now, 0, 1), 128);
	assert_int_equal(miss(&now, 0, 1), 64);
	/* nor what CPUs use: one while nothing else was asked for, and one in its turn. */
	dram_move_device(&d, now, 100);
	for (i = 0; i < 50; i++)
		assert_int_equal(miss(&now, 64, 1), 128);
	assert_int_equal(miss(&now, 64, 1), 64);
}

/* They are never behind by more than their queue is long. */
static void test_devices_queue(void **state)
{
	const uint64_t most = DRAM_DEVICES_NS / 64;
	uint64_t now = 0, before, i;

	(void)state;
	ceiling(GB, 0, 0);
	for (i = 0; i < 3 * most; i++)
		dram_move_device(&d, now, 1);
	before = now;
	for (i = 0; i < 2 * most; i++)
		miss(&now, 0, 1);
	assert_int_equal(now - before, 3 * most * 64);
}

static void test_idle(void **state)
{
	uint64_t now = 1000000;

	(void)state;
	/* What was not used is gone, */
	ceiling(GB, 0, 0);
	assert_int_equal(miss(&now, 0, 1), 64);
	assert_int_equal(miss(&now, 1000000, 1), 64);
	/* but for what may be made up for. */
	ceiling(GB, 0, 640);
	assert_int_equal(miss(&now, 0, 10), 0);
	assert_int_equal(miss(&now, 0, 1), 64);
	now += 320;
	assert_int_equal(miss(&now, 0, 5), 0);
	assert_int_equal(miss(&now, 0, 1), 64);
	/* Nor is there anything to make up for before the start. */
	ceiling(GB, 0, 640);
	now = 100;
	assert_int_equal(miss(&now, 0, 2), 128 - 100);
}

static void *mover(void *arg)
{
	unsigned int i;

	for (i = 0; i < 2000000; i++)
		if (arg)
			dram_move_cpu(&d, 0, 1 + (i & 1));
		else if (i % 16 == 0)
			dram_move_device(&d, 0, 4);
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t t[4];
	unsigned int i;

	(void)state;
	ceiling(GB, 0, 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, mover, i < 3 ? &d : NULL), 0);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	/* 125,000 times 4 lines of devices are 32 ms. */
	assert_int_equal(d.done_ps + d.devices_ps, (3 * 3000000 + 500000) * 64000ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_computing),
		cmocka_unit_test(test_written_back),
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_devices_alone),
		cmocka_unit_test(test_devices_queue),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

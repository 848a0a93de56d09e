/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the unit tests of the core's counters share: registers by name, reads and
 * writes that have to work or to fault, and random runs
 *
 * Each program that includes it has its own of all this.
 */
#ifndef MEMIO_TEST_CORE_H
#define MEMIO_TEST_CORE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corepmu.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MASK		((1ull << 48) - 1)

#define PMC(i)		(0xc1 + (i))
#define PMC_FULL(i)	(0x4c1 + (i))
#define SELECT(i)	(0x186 + (i))
#define FIXED(i)	(0x309 + (i))
#define FIXED_CTRL	0x38d
#define STATUS		0x38e
#define ENABLE		0x38f
#define CLEAR		0x390
#define CAPABILITIES	0x345
#define DEBUGCTL	0x1d9
#define PEBS_ENABLE	0x3f1
#define STORE		0x600

#define USER		(1ull << 16)
#define KERNEL		(1ull << 17)
#define EDGE		(1ull << 18)
#define INTERRUPT	(1ull << 20)
#define ANY_THREAD	(1ull << 21)
#define EN		(1ull << 22)
#define INVERT		(1ull << 23)
#define CMASK(n)	((uint64_t)(n) << 24)
#define EVENT(e, u)	((e) | (u) << 8)
#define BOTH		(USER | KERNEL | EN)

#define S(s)		CORE_SIGNAL(CORE_##s)

static struct core_pmu p;
static uint64_t rng_state;

static uint64_t rnd(void)
{
	uint64_t x = rng_state += 0x9E3779B97F4A7C15ull;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
	x = (x ^ x >> 27) * 0x94D049BB133111EBull;
	return x ^ x >> 31;
}

static uint64_t below(uint64_t n)
{
	return rnd() % n;
}

static void put(uint32_t msr, uint64_t val)
{
	assert_int_equal(core_pmu_write(&p, msr, val), CORE_MSR_DONE);
}

static void fault(uint32_t msr, uint64_t val)
{
	const struct core_pmu before = p;

	assert_int_equal(core_pmu_write(&p, msr, val), CORE_MSR_FAULT);
	assert_memory_equal(&before, &p, sizeof(p));
}

static uint64_t get(uint32_t msr)
{
	uint64_t val = ~0ull;

	assert_int_equal(core_pmu_read(&p, msr, &val), CORE_MSR_DONE);
	return val;
}

/* As many seeds as usual, or as MODEL_SEEDS and MODEL_SEED say */
static void seeds(void (*one)(uint64_t seed), unsigned int usual)
{
	const char *n = getenv("MODEL_SEEDS"), *first = getenv("MODEL_SEED");
	uint64_t seed = first ? strtoull(first, NULL, 0) : 1;
	unsigned long i, count = n ? strtoul(n, NULL, 0) : usual;

	for (i = 0; i < count; i++)
		one(seed + i);
}

#endif

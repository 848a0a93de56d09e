// SPDX-License-Identifier: GPL-2.0
/*
 * Load patterns: devices beside a CPU; see patterns.h
 */
#include "pair.h"
#include "patterns.h"

#define MIB	(1u << (20 - LLC_LINE_SHIFT))	/* in lines */

const struct pattern patterns[] = {
	/* The devices alone */
	{ "write, 64 KiB ring", .writes = 10, .ring = MIB / 16 },
	{ "write, 64 MiB", .writes = 10, .ring = 64 * MIB },
	{ "read, 64 MiB", .reads = 10, .read_lines = 64 * MIB },
	/* A CPU inside the LLC */
	{ "CPU 15 MiB random 30 % stores; write, 1 MiB ring", 100, 30, 15 * MIB, true,
	  .writes = 10, .ring = MIB },
	{ "CPU 15 MiB random 30 % stores; write, 64 MiB", 100, 30, 15 * MIB, true,
	  .writes = 10, .ring = 64 * MIB },
	{ "CPU 15 MiB random 30 % stores; read, 64 MiB", 100, 30, 15 * MIB, true,
	  .reads = 10, .read_lines = 64 * MIB },
	/* A CPU that streams */
	{ "CPU streams reads; write, 64 MiB", 100, 0, 128 * MIB,
	  .writes = 10, .ring = 64 * MIB },
	{ "CPU streams 33 % stores; write, 64 MiB", 100, 33, 128 * MIB,
	  .writes = 10, .ring = 64 * MIB },
	{ "CPU streams 33 % stores; read, 64 MiB", 100, 33, 128 * MIB,
	  .reads = 10, .read_lines = 64 * MIB },
	{ "CPU streams 33 % stores; write and read, 64 MiB", 100, 33, 128 * MIB,
	  .writes = 10, .ring = 64 * MIB, .reads = 10, .read_lines = 64 * MIB },
	{ "CPU streams stores; write, 64 MiB", 100, 100, 128 * MIB,
	  .writes = 10, .ring = 64 * MIB },
	/* Rings that the CPU reads */
	{ "1 MiB ring, read at once", .writes = 10, .ring = MIB, .consume = true, .late = 64 },
	{ "1.5 MiB ring, read at once; CPU streams reads", 50, 0, 128 * MIB,
	  .writes = 10, .ring = MIB * 3 / 2, .consume = true, .late = 64 },
	{ "4 MiB ring, read at once", .writes = 10, .ring = 4 * MIB, .consume = true, .late = 64 },
	{ "4 MiB ring, read 3 MiB late", .writes = 10, .ring = 4 * MIB, .consume = true,
	  .late = 3 * MIB },
	{ "8 MiB ring, read 6 MiB late", .writes = 10, .ring = 8 * MIB, .consume = true,
	  .late = 6 * MIB },
	{ "8 MiB ring, read 6 MiB late; CPU streams reads", 20, 0, 128 * MIB,
	  .writes = 10, .ring = 8 * MIB, .consume = true, .late = 6 * MIB },
	{ "8 MiB ring, read and copied at once", .writes = 10, .ring = 8 * MIB, .consume = true,
	  .late = 64, .copy = true },
	{ "8 MiB ring, read and copied 6 MiB late", .writes = 10, .ring = 8 * MIB,
	  .consume = true, .late = 6 * MIB, .copy = true },
	{ "16 MiB ring, read 3 MiB late", .writes = 10, .ring = 16 * MIB, .consume = true,
	  .late = 3 * MIB },
	{ "64 MiB, CPU zeroes each line before", .writes = 10, .ring = 64 * MIB, .zero = true,
	  .consume = true, .late = 64 },
	{ "16 MiB, CPU zeroes each line before", .writes = 10, .ring = 16 * MIB, .zero = true,
	  .consume = true, .late = 64 },
	{ "8 MiB ring, the device reads it again", .writes = 10, .ring = 8 * MIB,
	  .consume = true, .late = 64, .reread = true },
};

const unsigned int pattern_count = sizeof(patterns) / sizeof(patterns[0]);

#define CPU	0
#define DEV	LLC_MAX_CORES

/* Far apart, and all above 4 GiB. */
#define CPU_BASE	(1ull << 40)
#define RING_BASE	(2ull << 40)
#define READ_BASE	(3ull << 40)
#define COPY_BASE	(4ull << 40)
#define COPY_LINES	(4 * MIB)

static void cpu(struct pair *m, uint64_t line, bool store)
{
	if (m->cores) {
		pair_cpu(m, CPU, line, store);
	} else if (store) {
		pair_access(m, LLC_CPU_STORE, line, CPU);
		pair_access(m, LLC_CPU_WB, line, CPU);
	} else {
		pair_access(m, LLC_CPU_LOAD, line, CPU);
	}
}

static uint64_t rnd(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void figures_now(const struct pair *m, struct pattern_figures *f)
{
	struct ref_count dev = pair_count(m, DEV), core = pair_count(m, CPU);

	*f = (struct pattern_figures){
		.to_lines = dev.to_lines, .to_miss = dev.to_miss,
		.from_lines = dev.from_lines, .from_miss = dev.from_miss,
		.from_clean_hit = dev.from_clean_hit,
		.wb_first = dev.wb_first, .wb_last = dev.wb_last, .wb_evictor = dev.wb_evictor,
		.cpu_miss = core.read_miss + core.write_miss,
		.wb_all = dev.wb_first + core.wb_first,
		.dirty_grown = dev.made_dirty - dev.wb_first,
	};
}

void pattern_run(const struct pattern *p, bool private, unsigned int steps,
		 struct pattern_figures *f)
{
	uint64_t seed = 88172645463325252ull, cpu_at = 0, ring_at = 0, read_at = 0, copy_at = 0;
	struct pattern_figures before;
	unsigned int step, i;
	struct pair m;

	pair_init(&m, 8, 2048, 20, 2, private ? 1 : 0);
	for (step = 0; step < steps; step++) {
		if (step == steps / 2)
			figures_now(&m, &before);
		for (i = 0; i < p->cpu; i++) {
			uint64_t at = (p->random ? rnd(&seed) : cpu_at++) % p->cpu_lines;

			cpu(&m, CPU_BASE + at, rnd(&seed) % 100 < p->store_percent);
		}
		for (i = 0; i < p->writes; i++, ring_at++) {
			uint64_t line = RING_BASE + ring_at % p->ring;

			if (p->zero)
				cpu(&m, line, true);
			pair_dev(&m, LLC_DEV_WRITE, line, DEV);
			if (p->consume && ring_at >= p->late) {
				line = RING_BASE + (ring_at - p->late) % p->ring;
				cpu(&m, line, false);
				if (p->reread)
					pair_dev(&m, LLC_DEV_READ, line, DEV);
				if (p->copy)
					cpu(&m, COPY_BASE + copy_at++ % COPY_LINES, true);
			}
		}
		for (i = 0; i < p->reads; i++)
			pair_dev(&m, LLC_DEV_READ, READ_BASE + read_at++ % p->read_lines, DEV);
	}
	figures_now(&m, f);

#define SINCE(field)	(f->field -= before.field)
	SINCE(to_lines);
	SINCE(to_miss);
	SINCE(from_lines);
	SINCE(from_miss);
	SINCE(from_clean_hit);
	SINCE(wb_first);
	SINCE(wb_last);
	SINCE(wb_evictor);
	SINCE(cpu_miss);
	SINCE(wb_all);
	SINCE(dirty_grown);
#undef SINCE
	pair_check(&m);
	if (private)
		pair_check_inclusion(&m);
	pair_free(&m);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Write a synthetic trace, for tests of llc-replay
 *
 * Some cores and devices run on the library, each core behind its private
 * caches, and every access that reaches the LLC goes to the trace as the
 * emulated machine would write it: gathered for each slice apart, in blocks.
 * What the library counted is printed, in the form of llc-replay.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llc.h"
#include "tally.h"

#define CORES		4
#define DEVICES		3
#define BLOCK		1000	/* records; the last ones are shorter */

static struct llc_geometry geo = { .slices = 8, .sets = 2048, .ways = 20, .ddio_ways = 2 };
static unsigned int sockets = 1;
static struct llc_slice slices[LLC_MAX_SOCKETS * LLC_MAX_SLICES];	/* socket by socket */
static struct priv_cache priv[CORES];
static uint64_t block[LLC_MAX_SLICES][BLOCK];
static unsigned int used[LLC_MAX_SLICES];
static struct tally tally;
static FILE *trace;

static void put(const void *from, size_t bytes)
{
	if (fwrite(from, 1, bytes, trace) != bytes) {
		perror("trace-write");
		exit(1);
	}
}

static void flush_block(unsigned int slice)
{
	struct llc_trace_block b = { .slice = slice, .records = used[slice] };

	put(&b, sizeof(b));
	put(block[slice], used[slice] * sizeof(block[0][0]));
	used[slice] = 0;
}

static void reach_llc(enum llc_op op, uint64_t line, unsigned int who)
{
	unsigned int slice = llc_slice_of(geo.slices, line), core, of;
	struct llc_result r;

	block[slice][used[slice]++] = llc_trace_record(op, line, who);
	if (used[slice] == BLOCK)
		flush_block(slice);
	tally.records++;

	of = sockets == 2 && who < CORES ? who / (CORES / 2) : 0;
	llc_access(&slices[of * geo.slices + slice], op, line, who, &r);
	if (r.victim && r.victim_state == LLC_M)
		tally.victims_m[of * geo.slices + slice]++;
	for (core = 0; core < CORES; core++) {
		if (r.invalidate >> core & 1)
			priv_invalidate(&priv[core], line);
		if (r.downgrade >> core & 1)
			priv_clean(&priv[core], line);
		if (r.victim && r.victim_sharers >> core & 1)
			priv_invalidate(&priv[core], r.victim_line);
	}
}

static void cpu(unsigned int core, uint64_t line, bool store)
{
	bool upgrade, modified;
	uint64_t victim;

	if (priv_hit_mru(&priv[core], line, store))
		return;
	if (priv_lookup(&priv[core], line, store, &upgrade) == PRIV_MISS) {
		reach_llc(store ? LLC_CPU_STORE : LLC_CPU_LOAD, line, core);
		if (priv_fill(&priv[core], line, store, &victim, &modified) && modified)
			reach_llc(LLC_CPU_WB, victim, core);
	} else if (upgrade) {
		reach_llc(LLC_CPU_UPGRADE, line, core);
		priv_dirty(&priv[core], line);
	}
}

static uint64_t rnd(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Buffers of 4 KiB: devices fill and fetch them, cores read and write them. */
static void some_accesses(uint64_t lines)
{
	uint64_t page = rnd() % 5 ? rnd() % (lines / 64) : rnd() % 64, i;
	uint64_t base = (5ull << 26) + page * 64;
	unsigned int kind = rnd() % 8, who = rnd();

	for (i = 0; i < 64; i++) {
		switch (kind) {
		case 0:
		case 1:
			reach_llc(LLC_DEV_WRITE, base + i, LLC_MAX_CORES + who % DEVICES);
			break;
		case 2:
			reach_llc(LLC_DEV_READ, base + i, LLC_MAX_CORES + who % DEVICES);
			break;
		case 3:
			reach_llc(LLC_DEV_WRITE_PART, base + rnd() % 64,
				  LLC_MAX_CORES + who % DEVICES);
			break;
		default:
			cpu(who % CORES, base + rnd() % 64, kind == 4);
		}
	}
}

int main(int argc, char **argv)
{
	struct llc_trace_header h = { .magic = LLC_TRACE_MAGIC };
	struct llc_trace_sockets two = { .cpus = CORES / 2 };
	const uint64_t lines = 3ull * geo.slices * geo.sets * geo.ways;
	unsigned int i, who, ch;
	uint64_t records;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: trace-write FILE RECORDS DDIO_WAYS [SOCKETS]\n");
		return 2;
	}
	if (argc == 5 && !strcmp(argv[4], "2"))
		sockets = 2;
	records = strtoull(argv[2], NULL, 0);
	geo.ddio_ways = strtoul(argv[3], NULL, 0);
	trace = fopen(argv[1], "wb");
	if (!trace) {
		perror(argv[1]);
		return 1;
	}
	h.slices = geo.slices;
	h.sets = geo.sets;
	h.ways = geo.ways;
	h.ddio_ways = geo.ddio_ways;
	if (sockets == 2) {
		h.magic = LLC_TRACE_MAGIC_2;
		two.node1 = (5ull << 26) + lines / 2;
		geo.node1 = two.node1;
	}
	put(&h, sizeof(h));
	if (sockets == 2)
		put(&two, sizeof(two));
	for (i = 0; i < sockets * geo.slices; i++) {
		if (llc_slice_init(&slices[i], &geo)) {
			fprintf(stderr, "trace-write: impossible geometry\n");
			return 1;
		}
	}
	for (i = 0; sockets == 2 && i < geo.slices; i++)
		llc_slice_pair(&slices[i], &slices[geo.slices + i]);
	while (tally.records < records)
		some_accesses(lines);
	for (i = 0; i < geo.slices; i++)
		if (used[i])
			flush_block(i);
	if (fclose(trace)) {
		perror(argv[1]);
		return 1;
	}

	tally.sockets = sockets;
	tally.slices = sockets * geo.slices;
	for (i = 0; i < tally.slices; i++) {
		uint64_t dirty[LLC_ACTORS] = { 0 };

		llc_dirty_lines(&slices[i], dirty);
		for (who = 0; who < LLC_ACTORS; who++) {
			tally.dirty_lines[who] += dirty[who];
#define ADD(field)	tally.count[who].field += slices[i].account[who].field;
			REF_FIELDS(ADD)
#undef ADD
		}
		for (ch = 0; ch < LLC_CHANNELS; ch++) {
			tally.dram_read[i / geo.slices] += slices[i].dram_read[ch];
			tally.dram_write[i / geo.slices] += slices[i].dram_write[ch];
		}
	}
	for (i = 0; i < tally.slices; i++)
		llc_slice_free(&slices[i]);
	tally_print(&tally, stdout);
	return 0;
}

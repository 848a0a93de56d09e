// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: the counters of Ice Lake-SP (Xeon v3 Scalable, and D-1700 and D-2700), Sapphire Rapids,
 * Emerald Rapids and Granite Rapids
 *
 * Events and umasks: UNC_CHA_TOR_INSERTS of tools/perf/pmu-events/arch/x86/{icelakex,
 * sapphirerapids,emeraldrapids,graniterapids}/uncore-cache.json, which have the same codes for all
 * four. Their bits are in Intel 639778, "3rd Gen Intel Xeon Processor Scalable Family Uncore
 * Performance Monitoring Reference Manual", the chapter on the CHA. Where the fields are is in
 * snr_uncore_cha_formats_attr and spr_uncore_cha_formats_attr of
 * arch/x86/events/intel/uncore_snbep.c.
 *
 * A CHA has four counters, and the umask of an event says whose requests it counts, which opcode,
 * and whether hits, misses or both. No filter is shared, so a box looks for two kinds of requests,
 * and two boxes of three look for each kind.
 *
 * A device reads by PCIRdCur, writes a full line by ItoM and a part of a line by ItoMCacheNear.
 * Intel's own metrics leave out what devices write by RFO, and so does this.
 *
 * What is missing
 *
 * No event tells which writes of devices met a modified line: LLC_LOOKUP counts writes of devices
 * and write-backs of cores alike. So MEMIO_DIRTIED is missing, and the estimator is "miss", a lower
 * bound of what devices write. MEMIO_VICTIMS is missing as well: LLC_VICTIMS is published as not
 * validated, and lines of which a core's L2 has the only copy need not pass the LLC when they are
 * written back.
 *
 * What all write is counted by the memory controllers. Ice Lake's have counters of their own for
 * that, which run always and which nobody else can want: icx_imc_freerunning. Those of later ones
 * count clocks alone, so two of the four programmable counters of each are taken: CAS_COUNT of
 * uncore-memory.json. Granite Rapids' controllers have two schedulers, and an event for each.
 */

#include "counters.h"

#define EVENT(code, umask)	((u64)(umask) << 8 | (code))

/* TOR_INSERTS of devices: the low byte of the umask is 4, the rest is from bit 32 up. */
#define TOR_IO(rest)		((u64)(rest) << 32 | EVENT(0x35, 0x04))

#define IO_PCIRDCUR		TOR_IO(0xc8f3ff)
#define IO_MISS_PCIRDCUR	TOR_IO(0xc8f3fe)
#define IO_ITOM			TOR_IO(0xcc43ff)
#define IO_MISS_ITOM		TOR_IO(0xcc43fe)
#define IO_ITOMCACHENEAR	TOR_IO(0xcd43ff)
#define IO_MISS_ITOMCACHENEAR	TOR_IO(0xcd43fe)

#define READ		{ IO_PCIRDCUR, 0, MEMIO_READS, MEMIO_ALL }
#define READ_MISS	{ IO_MISS_PCIRDCUR, 0, MEMIO_READS, MEMIO_MISSES }
#define WRITE		{ IO_ITOM, 0, MEMIO_WRITES, MEMIO_ALL }
#define WRITE_MISS	{ IO_MISS_ITOM, 0, MEMIO_WRITES, MEMIO_MISSES }
#define PARTIAL		{ IO_ITOMCACHENEAR, 0, MEMIO_PARTIALS, MEMIO_ALL }
#define PARTIAL_MISS	{ IO_MISS_ITOMCACHENEAR, 0, MEMIO_PARTIALS, MEMIO_MISSES }

#define CHA							\
	.pmu	= "uncore_cha",					\
	.sets	= 3,						\
	.events	= { 4, 4, 4 },					\
	.event	= {						\
		{ READ, READ_MISS, WRITE, WRITE_MISS },		\
		{ WRITE, WRITE_MISS, PARTIAL, PARTIAL_MISS },	\
		{ PARTIAL, PARTIAL_MISS, READ, READ_MISS },	\
	}

static const struct memio_box_table icx_imc = {
	.pmu	= "uncore_imc_free_running",
	.sets	= 1,
	.events	= { 2 },
	.event	= {
		{
			{ EVENT(0xff, 0x20), 0, MEMIO_DRAM, MEMIO_DRAM_READ },
			{ EVENT(0xff, 0x21), 0, MEMIO_DRAM, MEMIO_DRAM_WRITE },
		},
	},
};

static const struct memio_box_table spr_imc = {
	.pmu	= "uncore_imc",
	.sets	= 1,
	.events	= { 2 },
	.event	= {
		{
			{ EVENT(0x05, 0xcf), 0, MEMIO_DRAM, MEMIO_DRAM_READ },
			{ EVENT(0x05, 0xf0), 0, MEMIO_DRAM, MEMIO_DRAM_WRITE },
		},
	},
};

static const struct memio_box_table gnr_imc = {
	.pmu	= "uncore_imc",
	.sets	= 1,
	.events	= { 4 },
	.event	= {
		{
			{ EVENT(0x05, 0xcf), 0, MEMIO_DRAM, MEMIO_DRAM_READ },
			{ EVENT(0x06, 0xcf), 0, MEMIO_DRAM, MEMIO_DRAM_READ },
			{ EVENT(0x05, 0xf0), 0, MEMIO_DRAM, MEMIO_DRAM_WRITE },
			{ EVENT(0x06, 0xf0), 0, MEMIO_DRAM, MEMIO_DRAM_WRITE },
		},
	},
};

static const struct memio_box_table icx_cha = { CHA, .beside = &icx_imc };
static const struct memio_box_table spr_cha = { CHA, .beside = &spr_imc };
static const struct memio_box_table gnr_cha = { CHA, .beside = &gnr_imc };

#define CAN	(MEMIO_COUNTS(MEMIO_READS, MEMIO_ALL) |			\
		 MEMIO_COUNTS(MEMIO_READS, MEMIO_MISSES) |		\
		 MEMIO_COUNTS(MEMIO_WRITES, MEMIO_ALL) |		\
		 MEMIO_COUNTS(MEMIO_WRITES, MEMIO_MISSES) |		\
		 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_ALL) |		\
		 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_MISSES) |		\
		 MEMIO_COUNTS(MEMIO_DRAM, MEMIO_DRAM_READ) |		\
		 MEMIO_COUNTS(MEMIO_DRAM, MEMIO_DRAM_WRITE))

const struct memio_source memio_icx = {
	.name		= "icx",
	.processor	= "Ice Lake-SP or -D",
	.can		= CAN,
	.table		= &icx_cha,
	MEMIO_BOX_OPERATIONS,
};

const struct memio_source memio_spr = {
	.name		= "spr",
	.processor	= "Sapphire Rapids or Emerald Rapids",
	.can		= CAN,
	.table		= &spr_cha,
	MEMIO_BOX_OPERATIONS,
};

const struct memio_source memio_gnr = {
	.name		= "gnr",
	.processor	= "Granite Rapids",
	.can		= CAN,
	.table		= &gnr_cha,
	MEMIO_BOX_OPERATIONS,
};

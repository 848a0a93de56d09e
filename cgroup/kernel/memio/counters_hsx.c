// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: the counters of Haswell-EP (Xeon E5 v3 and E7 v3) and Broadwell-EP (v4, and Xeon D-1500)
 *
 * Events, umasks, opcodes and the filter: Intel 331051, "Intel Xeon Processor E5
 * and E7 v3 Family Uncore Performance Monitoring Reference Manual", the chapter on
 * the CBo; tools/perf/pmu-events/arch/x86/haswellx/uncore-cache.json has the events
 * by the same names. Where the fields are is in hswep_uncore_cbox_formats_attr of
 * arch/x86/events/intel/uncore_snbep.c.
 *
 * Broadwell-EP has the same boxes, up to 24 instead of 18: the driver has one set of operations and
 * of formats for both, and broadwellx/uncore-cache.json the same codes for these events. What
 * differs is which counters of a box some events can be in, of which memio counts none.
 *
 * A CBo has four counters and one filter. ItoM and RFO are what cores send, too:
 * the tid of PCIe tells devices apart, and is looked at only by events that have
 * TID_EN. PCIRdCur is sent by PCIe alone.
 *
 * LLC_LOOKUP.WRITE counts writes by the state that the line had. A write that meets
 * M (or M', modified and forwarded) makes nothing dirty that wasn't before; I, which
 * is a miss, S, E and F do.
 */

#include <linux/bits.h>

#include "counters.h"

#define EVENT(code, umask)	((umask) << 8 | (code))
#define TID_EN			BIT_ULL(19)

#define FILTER_TID(tid)		((u64)(tid) << 0)
#define FILTER_STATE(states)	((u64)(states) << 17)
#define FILTER_OPC(opcode)	((u64)(opcode) << 52)

#define LLC_LOOKUP_WRITE	EVENT(0x34, 0x05)
#define TOR_OPCODE		EVENT(0x35, 0x01)
#define TOR_MISS_OPCODE		EVENT(0x35, 0x03)
#define TOR_MISS_LOCAL		EVENT(0x35, 0x2a)
#define LLC_VICTIMS_M		EVENT(0x37, 0x01)

#define STATE_I			BIT(0)
#define STATE_S			BIT(1)
#define STATE_E			BIT(2)
#define STATE_F			BIT(4)
#define STATE_UNMODIFIED	(STATE_I | STATE_S | STATE_E | STATE_F)

#define OPC_RFO			0x180
#define OPC_PCIRDCUR		0x19e
#define OPC_ITOM		0x1c8

#define TID_PCIE		0x3e

#define READS	FILTER_OPC(OPC_PCIRDCUR)
#define WRITES	(FILTER_OPC(OPC_ITOM) | FILTER_STATE(STATE_UNMODIFIED) | FILTER_TID(TID_PCIE))
#define PARTIALS (FILTER_OPC(OPC_RFO) | FILTER_STATE(STATE_UNMODIFIED) | FILTER_TID(TID_PCIE))

static const struct memio_box_table cbo = {
	.pmu	= "uncore_cbox",
	/* Xeon D's have 1536 KiB: where cores are switched off there, slices are missing. */
	.slice_kib = 2560,
	.sets	= 3,
	.events	= { 4, 4, 4 },
	.event	= {
		{
			{ TOR_OPCODE, READS, MEMIO_READS, MEMIO_ALL },
			{ TOR_MISS_OPCODE, READS, MEMIO_READS, MEMIO_MISSES },
			{ TOR_MISS_LOCAL, READS, MEMIO_READS, MEMIO_ANY_MISS },
			{ LLC_VICTIMS_M, READS, MEMIO_READS, MEMIO_VICTIMS },
		}, {
			{ TOR_OPCODE | TID_EN, WRITES, MEMIO_WRITES, MEMIO_ALL },
			{ TOR_MISS_OPCODE | TID_EN, WRITES, MEMIO_WRITES, MEMIO_MISSES },
			{ LLC_LOOKUP_WRITE | TID_EN, WRITES, MEMIO_WRITES, MEMIO_DIRTIED },
			{ LLC_VICTIMS_M, WRITES, MEMIO_WRITES, MEMIO_VICTIMS },
		}, {
			{ TOR_OPCODE | TID_EN, PARTIALS, MEMIO_PARTIALS, MEMIO_ALL },
			{ TOR_MISS_OPCODE | TID_EN, PARTIALS, MEMIO_PARTIALS, MEMIO_MISSES },
			{ LLC_LOOKUP_WRITE | TID_EN, PARTIALS, MEMIO_PARTIALS, MEMIO_DIRTIED },
			{ LLC_VICTIMS_M, PARTIALS, MEMIO_PARTIALS, MEMIO_VICTIMS },
		},
	},
};

#define CAN	(MEMIO_COUNTS(MEMIO_READS, MEMIO_ALL) |			\
		 MEMIO_COUNTS(MEMIO_READS, MEMIO_MISSES) |		\
		 MEMIO_COUNTS(MEMIO_READS, MEMIO_ANY_MISS) |		\
		 MEMIO_COUNTS(MEMIO_READS, MEMIO_VICTIMS) |		\
		 MEMIO_COUNTS(MEMIO_WRITES, MEMIO_ALL) |		\
		 MEMIO_COUNTS(MEMIO_WRITES, MEMIO_MISSES) |		\
		 MEMIO_COUNTS(MEMIO_WRITES, MEMIO_DIRTIED) |		\
		 MEMIO_COUNTS(MEMIO_WRITES, MEMIO_VICTIMS) |		\
		 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_ALL) |		\
		 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_MISSES) |		\
		 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_DIRTIED) |		\
		 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_VICTIMS))

const struct memio_source memio_hsx = {
	.name		= "hsx",
	.processor	= "Haswell-EP or -EX",
	.can		= CAN,
	.table		= &cbo,
	MEMIO_BOX_OPERATIONS,
};

const struct memio_source memio_bdx = {
	.name		= "bdx",
	.processor	= "Broadwell-EP, -EX or -DE",
	.can		= CAN,
	.table		= &cbo,
	MEMIO_BOX_OPERATIONS,
};

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: from what the counters saw to what an IO byte costs
 *
 * Plain functions over plain structs, for the kernel, for KUnit and for programs
 * alike: no state of their own, no allocation, no locks, no floating point. How
 * it works is in estimate.c, which a program may include as it is.
 */
#ifndef _MEMIO_ESTIMATE_H
#define _MEMIO_ESTIMATE_H

#ifdef __KERNEL__
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include "estimate_user.h"
#endif

/**
 * struct memio_price - memory bytes for each IO byte, 16.16 fixed point
 * @to_read:	read from memory, for a byte to a device
 * @to_write:	written to memory, for a byte to a device
 * @from_read:	read (fills of lines written in part), for a byte from a device
 * @from_write:	written, for a byte from a device
 * @late_read:	read, for a byte from a device that was moved some windows ago
 * @late_write:	written, likewise
 */
struct memio_price {
	u32 to_read;
	u32 to_write;
	u32 from_read;
	u32 from_write;
	u32 late_read;
	u32 late_write;
};

#define MEMIO_PRICE_SHIFT	16
#define MEMIO_PRICE_ONE		0x10000u

#define MEMIO_LINE_BYTES	64

#define MEMIO_PAUSE		8	/* windows without a line, after which it is another load */

enum memio_estimator {
	MEMIO_SEED,		/* formulas 4.1 and 4.2 */
	MEMIO_MISS,		/* misses: a lower bound */
	MEMIO_DIRTY,		/* lines that devices made dirty */
	MEMIO_DEVICE,		/* the same, a price for each device (learn.c) */
	MEMIO_ESTIMATORS
};

/* By enum memio_estimator; the words of /sys/kernel/memio/estimator. */
extern const char *const memio_estimator_names[MEMIO_ESTIMATORS];

/* What a box looks for, as its filter has room for one kind of request. */
enum memio_box_group {
	MEMIO_READS,		/* device reads (PCIRdCur) */
	MEMIO_WRITES,		/* device writes of full lines (ItoM from PCIe) */
	MEMIO_PARTIALS,		/* device writes of a part (RFO from PCIe) */
	MEMIO_GROUPS
};

/* What a counter counts, in lines. Not every group has a counter for each. */
enum memio_role {
	MEMIO_ALL,		/* requests of the group's kind */
	MEMIO_MISSES,		/* those that missed the LLC */
	MEMIO_DIRTIED,		/* device writes, full or not, that met no modified line */
	MEMIO_VICTIMS,		/* modified lines replaced, by whomever */
	MEMIO_ANY_MISS,		/* misses of all requests, of CPUs too */
	MEMIO_ROLES
};

/* A role of a kind of request, in a set of what counters can tell */
#define MEMIO_COUNTS(group, role)	(1UL << ((group) * MEMIO_ROLES + (role)))

/**
 * struct memio_seen - what a package's counters saw in a window
 * @total:	how many boxes the package has, be they read or not
 * @boxes:	how many of them look for each kind of request
 * @lines:	summed over the boxes of the group, not scaled; 0 where the group
 *		has no such counter
 * @dram:	the memory controllers were read, too
 * @dram_read:	lines that they read, for whomever; 0 without @dram
 * @dram_write:	lines that they wrote
 * @cache:	bytes that the last level of the package's caches holds; 0 without @dram, or if
 *		there is other memory than these controllers'
 *
 * MEMIO_DIRTIED does not depend on the kind of request: WRITES and PARTIALS
 * both measure the same thing, each in its own boxes. So does each group for
 * MEMIO_VICTIMS. MEMIO_ANY_MISS is counted in READS alone.
 */
struct memio_seen {
	u32 total;
	u32 boxes[MEMIO_GROUPS];
	u64 lines[MEMIO_GROUPS][MEMIO_ROLES];
	bool dram;
	u64 dram_read;
	u64 dram_write;
	u64 cache;
};

#define MEMIO_BOXES	128	/* in a package; the largest Haswell-EP has 18 */

/**
 * struct memio_by_box - what each box of a group saw in a window
 * @nr:		how many there are
 * @all:	MEMIO_ALL of each
 * @misses:	MEMIO_MISSES of each
 * @dirtied:	MEMIO_DIRTIED of each
 */
struct memio_by_box {
	u32 nr;
	u64 all[MEMIO_BOXES];
	u64 misses[MEMIO_BOXES];
	u64 dirtied[MEMIO_BOXES];
};

/**
 * struct memio_hot - lines that a device looks at again and again
 * @hits:	lines that each box of the group had, old ones weighing less
 * @counted:	bytes of lines that were counted, in this direction
 * @io:		bytes of lines that were accounted
 * @hot:	what of @counted is of hot lines
 */
struct memio_hot {
	u64 hits[MEMIO_BOXES];
	u64 counted;
	u64 io;
	u64 hot;
};

/**
 * struct memio_cost - memory bytes that devices cost in a window, whole package
 * @to_read:	read, for IO bytes to devices
 * @to_write:	written, for IO bytes to devices
 * @from_read:	read, for IO bytes from devices
 * @from_write:	written, for IO bytes from devices
 */
struct memio_cost {
	u64 to_read;
	u64 to_write;
	u64 from_read;
	u64 from_write;
};

/**
 * struct memio_rate - memory bytes for what devices moved, over windows
 * @mem:	memory bytes, old ones weighing less
 * @all:	bytes of all lines that were moved, likewise
 * @pause:	windows without a line since the last one that had some
 */
struct memio_rate {
	u64 mem;
	u64 all;
	u32 pause;
};

/**
 * struct memio_late - what the bytes of the last windows have come to, from devices
 * @io:		these bytes
 * @read:	memory bytes read
 * @write:	memory bytes written
 * @price_read:	for each of them, 16.16
 * @price_write: likewise
 */
struct memio_late {
	u64 io;
	u64 read;
	u64 write;
	u32 price_read;
	u32 price_write;
};

/**
 * struct memio_lasting - what the last bytes of a device have come to
 * @price:	that
 * @to_read:	what &memio_price.to_read is made of, and so on; @pause is not used
 * @to_write:	likewise
 * @from_read:	likewise
 * @from_write:	likewise
 */
struct memio_lasting {
	struct memio_price price;
	struct memio_rate to_read;
	struct memio_rate to_write;
	struct memio_rate from_read;
	struct memio_rate from_write;
};

/**
 * struct memio_check - lines counted against IO bytes accounted
 * @counted:	bytes that the counters saw pass, as full lines; old ones weigh less
 * @io:		IO bytes that were accounted, likewise
 * @fresh_counted: what is to be added to @counted
 * @fresh_io:	what is to be added to @io
 * @windows:	windows since something was
 * @quiet:	windows since there was much
 */
struct memio_check {
	u64 counted;
	u64 io;
	u64 fresh_counted;
	u64 fresh_io;
	u32 windows;
	u32 quiet;
};

/**
 * struct memio_flow - what lines cost that are on their way to be accounted
 * @lasting:	of all lines, over windows
 * @mem:	memory bytes of lines that were counted and not accounted
 * @all:	bytes of these lines
 */
struct memio_flow {
	struct memio_rate lasting;
	u64 mem;
	u64 all;
};

/**
 * struct memio_estimate - what one package's estimate remembers
 * @kind:	the estimator that @to_read to @from_write belong to
 * @to_read:	for &struct memio_price.to_read, and so on
 * @to_write:	likewise
 * @from_read:	likewise
 * @from_write:	likewise
 * @late:	what is claimed late
 * @check_to:	lines to devices for IO bytes to devices
 * @check_from:	likewise, from devices
 *
 * The caller sees to it that one at a time changes it.
 */
struct memio_estimate {
	enum memio_estimator kind;
	struct memio_flow to_read;
	struct memio_flow to_write;
	struct memio_flow from_read;
	struct memio_flow from_write;
	struct memio_late late;
	struct memio_check check_to;
	struct memio_check check_from;
};

/**
 * struct memio_cpu_estimate - what is written back for what CPUs read
 * @owed:	lines that devices have made dirty and that are still in the cache
 * @due:	bytes written back that nobody was charged with; negative: charged too much
 * @rate:	bytes written back for bytes read
 */
struct memio_cpu_estimate {
	u64 owed;
	s64 due;
	struct memio_rate rate;
};

/* See memio_check_permille() for why these. */
#define MEMIO_CHECK_LOW		900
#define MEMIO_CHECK_HIGH	2500

enum memio_estimator memio_estimator_for(enum memio_estimator kind, unsigned long can);
bool memio_can_estimate(unsigned long can);
bool memio_written_back_known(unsigned long can, const struct memio_seen *seen);
void memio_estimate_init(struct memio_estimate *e, enum memio_estimator kind);
void memio_estimate_pause(struct memio_estimate *e);
void memio_estimate_window(struct memio_estimate *e, const struct memio_seen *seen,
			   u64 to, u64 from, struct memio_price *price);

void memio_hot_window(struct memio_hot *h, struct memio_seen *seen, enum memio_box_group group,
		      const struct memio_by_box *b, u64 io);
void memio_window_lines(const struct memio_seen *seen, u64 *to, u64 *from);
void memio_window_cost(enum memio_estimator kind, const struct memio_seen *seen,
		       struct memio_cost *cost);
u32 memio_cpu_window(struct memio_cpu_estimate *e, const struct memio_seen *seen,
		     u64 missed, u64 paid);
u32 memio_rate_window(struct memio_rate *r, u64 mem, u64 all);
u32 memio_flow_window(struct memio_flow *f, u64 mem, u64 all, u64 io);
void memio_late_window(struct memio_late *l, u64 from, u32 read, u32 write);
void memio_lasting_init(struct memio_lasting *l);
void memio_lasting_window(struct memio_lasting *l, const struct memio_price *price,
			  u64 to, u64 from);
u32 memio_check_permille(const struct memio_check *c);
bool memio_check_ok(u32 permille);

#endif

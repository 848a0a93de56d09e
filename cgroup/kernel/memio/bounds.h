/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: how far a price can be off
 *
 * Pure functions, as those of estimate.h; how it works is in bounds.c.
 */
#ifndef _MEMIO_BOUNDS_H
#define _MEMIO_BOUNDS_H

#include "estimate.h"
#include "learn.h"

#define MEMIO_BOUND_SHIFT	13	/* a bound is 3.13: up to 8 memory bytes for a byte */
#define MEMIO_BOUND_CELLS	6

/* What has bounds, for a byte of a line */
enum memio_bound_kind {
	MEMIO_BOUND_TO_READ,
	MEMIO_BOUND_FROM_READ,
	MEMIO_BOUND_FROM_WRITE,
	MEMIO_BOUND_LATE_READ,
	MEMIO_BOUND_LATE_WRITE,
	MEMIO_BOUND_KINDS
};

/**
 * struct memio_span - the bounds of a price, 16.16
 * @least:	memory bytes for an IO byte, at least
 * @most:	at most
 */
struct memio_span {
	u32 least;
	u32 most;
};

/**
 * struct memio_bounds - what bytes of each device cost at least and at most in a window
 * @dev:	whose, by place, as in &struct memio_own
 * @to_lines:	lines to the device that were accounted in the window
 * @from_lines:	lines from it
 * @least:	by kind and place, 3.13
 * @most:	likewise
 */
struct memio_bounds {
	u16 dev[MEMIO_LEARNT];
	u32 to_lines[MEMIO_LEARNT];
	u32 from_lines[MEMIO_LEARNT];
	u16 least[MEMIO_BOUND_KINDS][MEMIO_LEARNT];
	u16 most[MEMIO_BOUND_KINDS][MEMIO_LEARNT];
};

/**
 * struct memio_bound_cell - lines that were counted in a window, or in some with few
 * @all:	bytes of them
 * @least:	memory bytes that they cost for certain, by &enum memio_cost_kind
 * @most:	memory bytes that they can have cost
 */
struct memio_bound_cell {
	u64 all;
	u64 least[MEMIO_COSTS];
	u64 most[MEMIO_COSTS];
};

/**
 * struct memio_bound_way - what is known of one direction
 * @cell:	the last cells, a ring
 * @nr:		how many have been filled so far
 * @open:	the one that is being filled
 * @quiet:	windows without a line
 * @all:	bytes of lines that were counted, old ones weighing less
 * @io:		bytes of lines that were accounted, likewise
 * @moved:	likewise, by place, of fewer windows
 * @counted:	@all, likewise
 * @least:	what these cost for certain, by &enum memio_cost_kind
 * @most:	what they can have cost
 * @written:	memory bytes that were written by anybody, likewise; 0 where they are not counted
 * @last:	bytes of lines that were counted in the last two windows
 * @last_io:	likewise, that were accounted
 * @doubt:	windows for which it is not believed that what was counted can be so
 * @box:	costs that each box of a group has seen, in lines, likewise
 * @boxes:	how many boxes these are
 */
struct memio_bound_way {
	struct memio_bound_cell cell[MEMIO_BOUND_CELLS];
	u32 nr;
	struct memio_bound_cell open;
	u32 quiet;
	u64 all;
	u64 io;
	u64 moved[MEMIO_LEARNT];
	u64 counted;
	u64 least[MEMIO_COSTS];
	u64 most[MEMIO_COSTS];
	u64 written;
	u64 last[2];
	u64 last_io[2];
	u32 doubt;
	u64 box[MEMIO_BOXES];
	u32 boxes;
};

/**
 * struct memio_bounding - what a package's bounds are made from
 * @dev:	which device is where
 * @to:		lines to devices
 * @from:	lines from them
 * @late:	spans of what is claimed late, by place and &enum memio_cost_kind
 * @known:	@late is
 */
struct memio_bounding {
	u16 dev[MEMIO_LEARNT];
	struct memio_bound_way to;
	struct memio_bound_way from;
	struct memio_span late[MEMIO_LEARNT][MEMIO_COSTS];
	bool known[MEMIO_LEARNT];
};

#define MEMIO_BOUND_WINDOWS	12	/* in which a device is shared if owners take turns */

bool memio_seen_possible(const struct memio_seen *seen, u64 ns);
void memio_bounds_init(struct memio_bounding *b);
void memio_bounds_doubt(struct memio_bounding *b);
bool memio_bounds_window(struct memio_bounding *b, unsigned long can,
			 const struct memio_seen *seen, const struct memio_by_box *by_box,
			 const u16 *dev, const struct memio_moved *moved, unsigned int nr,
			 struct memio_bounds *out);
void memio_bounds_of(const struct memio_bounds *b, u16 dev, enum memio_bound_kind kind,
		     struct memio_span *span);
bool memio_bounds_lines(const struct memio_bounds *b, u16 dev, u64 *to, u64 *from);
void memio_span_share(struct memio_span *span, u64 mine, u64 all);

#endif

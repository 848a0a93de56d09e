/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: what a byte of each device costs, learned from how the mix varies
 *
 * Pure functions, as those of estimate.h; how it works is in learn.c.
 */
#ifndef _MEMIO_LEARN_H
#define _MEMIO_LEARN_H

#include "estimate.h"

#define MEMIO_LEARNT		8	/* places: the first is for all devices without one */

/* What lines from or to devices cost: each is a price. */
enum memio_cost_kind {
	MEMIO_COST_READ,	/* memory bytes read */
	MEMIO_COST_WRITE,	/* memory bytes written */
	MEMIO_COSTS
};

/**
 * struct memio_places - which device is where in what follows
 * @dev:	its id; 0: free, and @dev[0] is for those without a place
 * @idle:	windows since it last moved something
 */
struct memio_places {
	u16 dev[MEMIO_LEARNT];
	u32 idle[MEMIO_LEARNT];
};

/**
 * struct memio_learn - what is known of one direction
 * @price:	memory bytes for a byte of a line, 8.24, by place; U32_MAX: not known
 * @weight:	bytes of lines that the means rest on, old ones weighing less
 * @share:	mean share of each place in the lines, as a part of 2^30
 * @both:	mean product of two shares, likewise
 * @cost:	mean product of a share and what lines cost, likewise
 * @windows:	windows in the block that is open
 * @moved:	bytes of lines in it that were accounted, by place
 * @all:	bytes of lines in it that were counted
 * @mem:	memory bytes in it
 * @now_moved:	@moved of the last windows, old ones weighing less
 * @now_all:	@all, likewise
 * @now_mem:	@mem, likewise
 */
struct memio_learn {
	u32 price[MEMIO_COSTS][MEMIO_LEARNT];
	u64 weight;
	u32 share[MEMIO_LEARNT];
	u32 both[MEMIO_LEARNT][MEMIO_LEARNT];
	u32 cost[MEMIO_COSTS][MEMIO_LEARNT];
	u32 windows;
	u64 moved[MEMIO_LEARNT];
	u64 all;
	u64 mem[MEMIO_COSTS];
	u64 now_moved[MEMIO_LEARNT];
	u64 now_all;
	u64 now_mem[MEMIO_COSTS];
};

/**
 * struct memio_own - prices of devices of their own, 16.16
 * @dev:	whose, by place; 0: the place is free. Place 0 is everybody's who finds none free
 * @to_read:	memory bytes read for a byte to the device
 * @from_read:	memory bytes read for a byte from the device
 * @from_write:	memory bytes written for a byte from the device
 * @late_read:	@from_read of a byte that was moved some windows ago
 * @late_write:	@from_write, likewise
 */
struct memio_own {
	u16 dev[MEMIO_LEARNT];
	u32 to_read[MEMIO_LEARNT];
	u32 from_read[MEMIO_LEARNT];
	u32 from_write[MEMIO_LEARNT];
	u32 late_read[MEMIO_LEARNT];
	u32 late_write[MEMIO_LEARNT];
};

/**
 * struct memio_learner - what is known of a package's devices
 * @places:	which
 * @to:		lines to them
 * @from:	lines from them
 * @late:	what is claimed late, by place
 */
struct memio_learner {
	struct memio_places places;
	struct memio_learn to;
	struct memio_learn from;
	struct memio_late late[MEMIO_LEARNT];
};

/* What a device has moved in a window, in bytes of lines. */
struct memio_moved {
	u16 dev;
	u64 to;
	u64 from;
};

void memio_learner_init(struct memio_learner *l);
void memio_learner_pause(struct memio_learner *l);
void memio_learner_window(struct memio_learner *l, const struct memio_seen *seen,
			  const struct memio_moved *moved, unsigned int nr,
			  const struct memio_price *common, struct memio_own *own);

int memio_own_place(const struct memio_own *own, u16 dev);

void memio_places_window(struct memio_places *p);
unsigned int memio_place(struct memio_places *p, u16 dev, bool *taken);

void memio_learn_init(struct memio_learn *l);
void memio_learn_pause(struct memio_learn *l);
void memio_learn_taken(struct memio_learn *l, unsigned int place);
void memio_learn_window(struct memio_learn *l, const u64 moved[MEMIO_LEARNT], u64 all,
			const u64 mem[MEMIO_COSTS]);
u32 memio_learn_price(const struct memio_learn *l, enum memio_cost_kind kind,
		      unsigned int place);
int memio_learn_alone(const struct memio_learn *l);
u32 memio_learn_variance(const struct memio_learn *l, unsigned int place);
u32 memio_learn_told_apart(u32 variance);

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: what a byte of each device costs, learned from how the mix varies
 *
 * Model
 *
 * The counters of a package see the lines of all its devices together. A network
 * card whose ring stays in the cache costs next to nothing, a disk beside it may
 * miss with each line, and a price for both is wrong for both. But memio knows what
 * each device moves, and the mix varies. If device i has the share s_i of the lines
 * and its lines cost p_i memory bytes for a byte, then of all lines that were counted
 *
 *	r = s_1 p_1 + s_2 p_2 + ...
 *
 * is what a byte costs, and r is counted. One such equation has many solutions, two
 * with different shares have one: in a second in which the card has 80 % of the
 * lines a byte costs 0.2, in another, in which it has 30 %, 0.7. So the card's
 * cost 0 and the disk's 1.
 *
 * r is a ratio of what the same boxes counted at the same time, and so exact. Shares
 * are of what was accounted, which comes later and in lumps (estimate.c), and they
 * are taken over blocks of BLOCK windows and BLOCK_BYTES at least, in which that is
 * little.
 *
 * Learning
 *
 * Prices are those for which the squares of the equations' errors, weighted by bytes,
 * are least. That takes the mean products of shares with each other and with r, which
 * are means over the last HORIZON blocks or so: what is older is forgotten. Each
 * block moves each price in turn to where the others want it (the method of Gauss
 * and Seidel), never below 0 and never above 1, as a line that moves is read from
 * memory once at most and written once at most.
 *
 * Where the mix does not vary, nothing can be learned: then many prices explain what
 * was seen equally well. Besides the squares, the distance from the prices there are,
 * with a weight of 1 / STIFF, is therefore kept small; and each block they are
 * drawn to the common price by 1 / FADE of the distance. This does nothing against what the
 * mix tells, and without that it makes prices equal in the course of minutes.
 * A device that is new has the common price. Those that find no place free share one.
 *
 * Right now
 *
 * When the load of the cache changes, all prices do, and learning takes seconds.
 * But the common price is known at once. With
 *
 *	e = sum of s_i p_i	what the last windows should have cost, for a byte
 *	r			what they did
 *
 * a price is lowered to p_i r / e if r is less, and raised to
 *
 *	p_i + (1 - p_i) (r - e) / (1 - e)
 *
 * if r is more. The sum over the devices is right in both cases, and each stays
 * between 0 and 1. For instance the card has half of the lines, p is 0 and 1, and a
 * program begins to sweep the cache: r goes from 0.5 to 0.9. Then the card's price
 * is 0.8 and the disk's still 1.
 *
 * "The last windows" are the last NOW or so, as what is accounted comes in lumps: a device that
 * is accounted later than that, beside another one, is priced by a mix in which it has no part.
 * They go sooner, by 1 / MEMIO_PAUSE each, where there are no lines, as what comes after that is
 * likely to be another load (estimate.c).
 *
 * A device that is alone has the common price, whatever was learned: nearly all that is accounted
 * is its own. It is alone if the others have had less than 1 / ALONE of the bytes; as these pay
 * for themselves, too, the sum is too high by no more than that.
 */

#include "learn.h"

#define PRICE_MORE	8		/* bits that prices have here beside those of 16.16 */
#define PRICE_SHIFT	(MEMIO_PRICE_SHIFT + PRICE_MORE)
#define PRICE_ONE	0x1000000u
#define SHARE_SHIFT	30
#define SHARE_ONE	0x40000000u
#define BLOCK		8		/* windows in a block, at least */
#define BLOCK_MOST	64		/* at most */
#define BLOCK_BYTES	(4ULL << 20)	/* lines in a block, unless it is of BLOCK_MOST */
#define HORIZON		64		/* blocks */
#define SWEEPS		8		/* of Gauss and Seidel's, for each block */
#define STIFF		(SHARE_ONE / 256)
#define FADE		1024
#define NOW		16		/* windows that "right now" is */
#define ALONE		256		/* a device is alone if others have a part less than this */
#define IDLE		1024		/* windows, after which a device loses its place */
#define UNKNOWN		U32_MAX		/* no price yet: the common one */

/**
 * memio_places_window - another window has passed
 * @p:	the places
 *
 * Context: any, one at a time for each @p.
 */
void memio_places_window(struct memio_places *p)
{
	for (unsigned int i = 1; i < MEMIO_LEARNT; i++)
		if (p->idle[i] < IDLE)
			p->idle[i]++;
}

/**
 * memio_place - the place of a device that moves something
 * @p:		the places
 * @dev:	the device's id
 * @taken:	set if the device was given this place now: forget what was learned of
 *		the one before
 *
 * Context: any, one at a time for each @p.
 * Return: the place; 0 if all others are taken by devices that do something.
 */
unsigned int memio_place(struct memio_places *p, u16 dev, bool *taken)
{
	unsigned int i, old = 0;

	*taken = false;
	for (i = 1; i < MEMIO_LEARNT; i++) {
		if (p->dev[i] == dev) {
			p->idle[i] = 0;
			return i;
		}
		if (!old && (!p->dev[i] || p->idle[i] >= IDLE))
			old = i;
	}
	if (old) {
		p->dev[old] = dev;
		p->idle[old] = 0;
		*taken = true;
	}
	return old;
}

/**
 * memio_own_place - where a device's own prices are
 * @own:	the prices
 * @dev:	the device's id
 *
 * Context: any.
 * Return: the place, that of all who have none if all others are taken; -1: it has the common
 * price.
 */
int memio_own_place(const struct memio_own *own, u16 dev)
{
	bool all = true;

	for (unsigned int i = 1; i < MEMIO_LEARNT; i++) {
		if (own->dev[i] == dev)
			return i;
		all &= !!own->dev[i];
	}
	return all ? 0 : -1;
}

/**
 * memio_learn_init - begin, knowing nothing
 * @l:	the state of a direction
 *
 * Context: any, one at a time for each @l.
 */
void memio_learn_init(struct memio_learn *l)
{
	memset(l, 0, sizeof(*l));
	memset(l->price, 0xff, sizeof(l->price));
}

/* What the last windows cost, for a byte of a line; at most 1. */
static u32 price_now(const struct memio_learn *l, enum memio_cost_kind kind)
{
	if (l->now_mem[kind] >= l->now_all)
		return l->now_all ? MEMIO_PRICE_ONE : 0;
	return mul_u64_u64_div_u64(l->now_mem[kind], MEMIO_PRICE_ONE, l->now_all);
}

/**
 * memio_learn_taken - a place has another device
 * @l:		the state
 * @place:	the place
 *
 * Context: any, one at a time for each @l.
 */
void memio_learn_taken(struct memio_learn *l, unsigned int place)
{
	unsigned int i;

	l->share[place] = 0;
	l->moved[place] = 0;
	l->now_moved[place] = 0;
	for (i = 0; i < MEMIO_LEARNT; i++) {
		l->both[place][i] = 0;
		l->both[i][place] = 0;
	}
	for (i = 0; i < MEMIO_COSTS; i++) {
		l->cost[i][place] = 0;
		l->price[i][place] = UNKNOWN;
	}
}

/* Moves a mean to a value by part / 65536 of the way. */
static void approach(u32 *mean, u32 value, u32 part)
{
	s64 way = (s64)value - *mean;

	*mean += (way * part) >> 16;
}

/* The block's shares and costs become a part of the means. */
static bool learn_means(struct memio_learn *l)
{
	u32 share[MEMIO_LEARNT], ratio[MEMIO_COSTS], part;
	unsigned int i, j, k;
	u64 sum = 0;

	for (i = 0; i < MEMIO_LEARNT; i++)
		sum += l->moved[i];
	if (!sum || !l->all)
		return false;

	for (i = 0; i < MEMIO_LEARNT; i++)
		share[i] = mul_u64_u64_div_u64(l->moved[i], SHARE_ONE, sum);
	for (k = 0; k < MEMIO_COSTS; k++)
		ratio[k] = l->mem[k] < l->all ?
			   mul_u64_u64_div_u64(l->mem[k], SHARE_ONE, l->all) : SHARE_ONE;

	l->weight = l->weight - l->weight / HORIZON + l->all;
	part = mul_u64_u64_div_u64(l->all, 1 << 16, l->weight);
	for (i = 0; i < MEMIO_LEARNT; i++) {
		approach(&l->share[i], share[i], part);
		for (j = 0; j < MEMIO_LEARNT; j++)
			approach(&l->both[i][j],
				 (u64)share[i] * share[j] >> SHARE_SHIFT, part);
		for (k = 0; k < MEMIO_COSTS; k++)
			approach(&l->cost[k][i],
				 (u64)share[i] * ratio[k] >> SHARE_SHIFT, part);
	}
	return true;
}

/* Moves the prices of one kind to where the means want them. */
static void learn_prices(struct memio_learn *l, enum memio_cost_kind kind)
{
	u32 *price = l->price[kind];
	s64 to[MEMIO_LEARNT];
	unsigned int i, j, n;
	s64 common = (s64)price_now(l, kind) << PRICE_MORE;

	for (i = 0; i < MEMIO_LEARNT; i++) {
		if (price[i] == UNKNOWN)
			price[i] = common;
		price[i] += (common - price[i]) / FADE;
		to[i] = (s64)price[i] * STIFF;
	}

	for (n = 0; n < SWEEPS; n++) {
		for (i = 0; i < MEMIO_LEARNT; i++) {
			s64 weight = (s64)l->both[i][i] + STIFF;
			s64 want = ((s64)l->cost[kind][i] << PRICE_SHIFT) + to[i];

			for (j = 0; j < MEMIO_LEARNT; j++)
				if (j != i)
					want -= (s64)l->both[i][j] * price[j];
			want = want < 0 ? 0 : div64_u64(want, weight);
			price[i] = want < PRICE_ONE ? want : PRICE_ONE;
		}
	}
}

static void begin_block(struct memio_learn *l)
{
	l->windows = 0;
	l->all = 0;
	memset(l->moved, 0, sizeof(l->moved));
	memset(l->mem, 0, sizeof(l->mem));
}

/**
 * memio_learn_pause - nothing was counted for a while
 * @l:	the state of a direction
 *
 * What was learned stays. What the last windows had is of another load, and the block that is
 * open lacks what went on meanwhile.
 *
 * Context: any, one at a time for each @l.
 */
void memio_learn_pause(struct memio_learn *l)
{
	begin_block(l);
	memset(l->now_moved, 0, sizeof(l->now_moved));
	l->now_all = 0;
	memset(l->now_mem, 0, sizeof(l->now_mem));
}

/**
 * memio_learn_window - what a window teaches
 * @l:		the state of a direction
 * @moved:	bytes of lines that were accounted in the window, by place
 * @all:	bytes of lines that were counted
 * @mem:	memory bytes that were counted, by kind of cost
 *
 * Context: any, one at a time for each @l.
 */
void memio_learn_window(struct memio_learn *l, const u64 moved[MEMIO_LEARNT], u64 all,
			const u64 mem[MEMIO_COSTS])
{
	const u64 now = all ? NOW : MEMIO_PAUSE;
	unsigned int i;

	for (i = 0; i < MEMIO_LEARNT; i++) {
		l->moved[i] += moved[i];
		l->now_moved[i] = l->now_moved[i] / now * (now - 1) + moved[i];
	}
	l->all += all;
	l->now_all = l->now_all / now * (now - 1) + all;
	for (i = 0; i < MEMIO_COSTS; i++) {
		l->mem[i] += mem[i];
		l->now_mem[i] = l->now_mem[i] / now * (now - 1) + mem[i];
	}

	l->windows++;
	if (l->windows < BLOCK || (l->all < BLOCK_BYTES && l->windows < BLOCK_MOST))
		return;
	if (learn_means(l))
		for (i = 0; i < MEMIO_COSTS; i++)
			learn_prices(l, i);
	begin_block(l);
}

static u32 known(const struct memio_learn *l, enum memio_cost_kind kind,
		 unsigned int place, u32 common)
{
	u32 price = l->price[kind][place];

	return price == UNKNOWN ? common : price >> PRICE_MORE;
}

/**
 * memio_learn_price - what a byte of a device's lines costs right now
 * @l:		the state of its direction
 * @kind:	which cost
 * @place:	the device's place
 *
 * See "Right now" above.
 *
 * Context: any, one at a time for each @l.
 * Return: memory bytes for a byte, 16.16, at most 1.
 */
u32 memio_learn_price(const struct memio_learn *l, enum memio_cost_kind kind,
		      unsigned int place)
{
	u64 expected = 0, sum = 0;
	u32 now = price_now(l, kind);
	u32 price = known(l, kind, place, now);
	unsigned int i;

	for (i = 0; i < MEMIO_LEARNT; i++) {
		sum += l->now_moved[i];
		expected += mul_u64_u32_shr(l->now_moved[i], known(l, kind, i, now),
					    MEMIO_PRICE_SHIFT);
	}
	if (!sum)
		return price;
	expected = mul_u64_u64_div_u64(expected, MEMIO_PRICE_ONE, sum);

	if (now < expected)
		return div64_u64((u64)price * now, expected);
	if (now == expected || expected >= MEMIO_PRICE_ONE)
		return price;
	return price + div64_u64((u64)(MEMIO_PRICE_ONE - price) * (now - expected),
				 MEMIO_PRICE_ONE - expected);
}

/**
 * memio_learn_alone - which device has moved nearly all of the last bytes
 * @l:	the state of its direction
 *
 * Context: any, one at a time for each @l.
 * Return: its place; -1: none has.
 */
int memio_learn_alone(const struct memio_learn *l)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < MEMIO_LEARNT; i++)
		sum += l->now_moved[i];
	for (i = 1; i < MEMIO_LEARNT; i++)
		if (l->now_moved[i] > sum - sum / ALONE)
			return i;
	return -1;
}

/* What moves without being counted, or not yet, costs what is known, not nothing. */
static u32 own_price(const struct memio_learn *l, enum memio_cost_kind kind,
		     unsigned int place, bool alone, u32 common)
{
	/* As it is: if what chance puts above 1 were cut off, what it puts below would be left. */
	if (alone)
		return common;
	return l->now_all ? memio_learn_price(l, kind, place) :
			    known(l, kind, place, common);
}

/**
 * memio_learn_variance - how much a device's share of the mix varies
 * @l:		the state of its direction
 * @place:	the device's place
 *
 * Context: any, one at a time for each @l.
 * Return: the variance of its share, as a part of 2^30.
 */
u32 memio_learn_variance(const struct memio_learn *l, unsigned int place)
{
	u64 square = (u64)l->share[place] * l->share[place] >> SHARE_SHIFT;
	u64 both = l->both[place][place];

	return both > square ? both - square : 0;
}

/**
 * memio_learn_told_apart - how well the mix tells a device from the others
 * @variance:	from memio_learn_variance()
 *
 * Context: any.
 * Return: the standard deviation of its share, in thousandths: 0 if the mix does
 * not vary, 500 if the device is alone for half of the bytes and the others for the
 * rest. Prices follow the mix from about 30 on.
 */
u32 memio_learn_told_apart(u32 variance)
{
	u32 root = 0, bit;

	/* @variance is of 2^30: its root is of 2^15 */
	for (bit = 1 << 15; bit; bit >>= 1)
		if ((u64)(root + bit) * (root + bit) <= variance)
			root += bit;
	return root * 1000 >> 15;
}

/**
 * memio_learner_init - begin, knowing no device
 * @l:	the state of a package
 *
 * Context: any, one at a time for each @l.
 */
void memio_learner_init(struct memio_learner *l)
{
	memset(&l->places, 0, sizeof(l->places));
	memio_learn_init(&l->to);
	memio_learn_init(&l->from);
	memset(l->late, 0, sizeof(l->late));
}

/**
 * memio_learner_pause - nothing was counted for a while
 * @l:	the state of a package
 *
 * See memio_learn_pause().
 *
 * Context: any, one at a time for each @l.
 */
void memio_learner_pause(struct memio_learner *l)
{
	memio_learn_pause(&l->to);
	memio_learn_pause(&l->from);
	memset(l->late, 0, sizeof(l->late));
}

/**
 * memio_learner_window - the prices of a package's devices after a window
 * @l:		the state of the package
 * @seen:	what the counters saw in the window
 * @moved:	what was accounted in it
 * @nr:		devices in @moved
 * @common:	the common price
 * @own:	the result
 *
 * Costs are those of the estimator "dirty": devices that write don't cause reads
 * but for parts of lines, and devices that read don't cause writes.
 *
 * Context: any, one at a time for each @l.
 */
void memio_learner_window(struct memio_learner *l, const struct memio_seen *seen,
			  const struct memio_moved *moved, unsigned int nr,
			  const struct memio_price *common, struct memio_own *own)
{
	u64 to[MEMIO_LEARNT] = {}, from[MEMIO_LEARNT] = {};
	u64 mem_to[MEMIO_COSTS], mem_from[MEMIO_COSTS];
	struct memio_cost cost;
	u64 all_to, all_from;
	unsigned int i, place;
	int to_alone, from_alone;
	bool taken;

	memio_places_window(&l->places);
	for (i = 0; i < nr; i++) {
		if (!moved[i].to && !moved[i].from)
			continue;
		place = memio_place(&l->places, moved[i].dev, &taken);
		if (taken) {
			memio_learn_taken(&l->to, place);
			memio_learn_taken(&l->from, place);
			memset(&l->late[place], 0, sizeof(l->late[place]));
		}
		to[place] += moved[i].to;
		from[place] += moved[i].from;
	}

	memio_window_lines(seen, &all_to, &all_from);
	memio_window_cost(MEMIO_DEVICE, seen, &cost);
	mem_to[MEMIO_COST_READ] = cost.to_read;
	mem_to[MEMIO_COST_WRITE] = 0;
	mem_from[MEMIO_COST_READ] = cost.from_read;
	mem_from[MEMIO_COST_WRITE] = cost.from_write;
	memio_learn_window(&l->to, to, all_to, mem_to);
	memio_learn_window(&l->from, from, all_from, mem_from);

	to_alone = memio_learn_alone(&l->to);
	from_alone = memio_learn_alone(&l->from);
	for (i = 0; i < MEMIO_LEARNT; i++) {
		own->dev[i] = l->places.dev[i];
		own->to_read[i] = own_price(&l->to, MEMIO_COST_READ, i, to_alone == i,
					    common->to_read);
		own->from_read[i] = own_price(&l->from, MEMIO_COST_READ, i, from_alone == i,
					      common->from_read);
		own->from_write[i] = own_price(&l->from, MEMIO_COST_WRITE, i, from_alone == i,
					       common->from_write);
		memio_late_window(&l->late[i], from[i], own->from_read[i], own->from_write[i]);
		own->late_read[i] = l->late[i].price_read;
		own->late_write[i] = l->late[i].price_write;
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: from what the counters saw to what an IO byte costs
 *
 * Model
 *
 * A device that reads memory costs a memory read for each line that the last
 * level cache does not have. A device that writes memory writes into the cache;
 * the memory is written later, when the line is replaced, perhaps on behalf of
 * somebody else and long after. But a line that is modified leaves the cache by
 * exactly one write-back, so the cost is known as soon as the line *becomes*
 * modified, and who made it so shall pay:
 *
 *	to device:	read  = device reads that missed
 *	from device:	write = device writes that met no modified line
 *			read  = partial device writes that missed (the rest of the
 *				line has to be fetched)
 *
 * That is the estimator "dirty". Two others can be chosen, to compare:
 *
 *	"miss"	write = device writes that missed. A lower bound: it leaves out
 *		writes that hit a line which was clean.
 *
 *	"seed"	The formulas of Ewert, "Estimating I/O Memory Bandwidth", as
 *		published; see seed_cost() for (4.1), memio_estimate_window()
 *		for (4.2). It takes every miss as equally likely to push out a
 *		modified line, which with DDIO does not hold: device writes
 *		allocate in few ways, device reads not at all.
 *
 * Boxes
 *
 * A box of the cache can filter for one kind of request, so the boxes of a package
 * are shared out to three groups, which look for device reads, full writes and
 * partial writes. Addresses are hashed over the boxes line by line, and what a
 * group sees is scaled by boxes / boxes of the group. What does not depend on the
 * filter is summed over all the groups that have it before it is scaled.
 *
 * For instance 8 boxes, of which 3 are for reads, 3 for writes, 2 for partial
 * writes. In a window of 10 ms devices were given 1,024,000 bytes and gave
 * 1,536,000:
 *
 *	reads (3 of 8):		6,000 lines, 5,400 of them missed
 *	writes (3 of 8):	9,000 lines; 2,700 writes met no modified line
 *	partials (2 of 8):	   15 lines, 10 of them missed; 1,800 writes met none
 *
 *	to_read    = 5,400 * 8/3            = 14,400 lines = 921,600 bytes
 *	from_write = (2,700 + 1,800) * 8/5  =  7,200 lines = 460,800 bytes
 *	from_read  = 10 * 8/2               =     40 lines =   2,560 bytes
 *
 * so a byte to a device costs 921,600 / 1,024,000 = 0.9 bytes read, a byte from
 * a device 0.3 bytes written and 0.0017 read.
 *
 * Three boxes of eight see 9,000 of 24,000 lines give or take 75, if the hash is
 * as good as chance: 0.8 % in one window, below 0.1 % in a second.
 *
 * Smoothing
 *
 * Memory bytes are counted when they move, IO bytes are accounted when a request
 * completes or a CPU hands its stock on: windows apart, and in lumps. So what is
 * published is a ratio of sums in which what is older weighs less,
 *
 *	mem = aged(mem) + M,  io = aged(io) + D,  price = mem / io
 *
 * which in a steady state is unbiased. Were sums aged by an eighth in each window it
 * would not be if D comes in lumps, as a lump sits in its own divisor: with one in
 * every 10th window and M the same in all, the sum of IO bytes x price would be
 * 41 % short of what the counters saw. Hence
 *
 *  - sums are aged by IO bytes: as much goes as comes in, at most an eighth. What
 *    belongs to a lump is kept until the lump is there. A 64th goes in any case, so
 *    that little IO after much doesn't pay the old price for long;
 *
 *  - in a window without IO bytes nothing ages, and its memory bytes wait;
 *
 *  - what the prices so far have charged too little or too much (owed) goes into
 *    the next prices, an eighth of it in each window. So the sum of IO bytes x
 *    price is what the counters saw, whatever the pattern, but for what is owed at
 *    the end. More than an eighth would ring.
 *
 * For instance M = 100 in each window and D = 0, 200, 0, 200: prices are 1, and
 * all is charged. M = 100 for D = 100, and from some window on M = 200: prices are
 * 1.14, 1.28, 1.40, ..., reach 2 after 36 windows, and stay above by up to 4 %
 * until they have made up for what they lagged behind. With 0 to 8 lumps a window
 * at random, 3 on average, prices vary by 15 % from window to window; the sum over
 * a second is right within 2 % (one standard deviation), over ten within 0.2 %.
 *
 * Memory bytes for which no IO byte is accounted in MEMIO_PATIENCE windows (a
 * third of a second at the default interval; a request that is on its way for
 * longer moves its data late) belong to DMA that memio does not know. They are
 * dropped, lest the first packet after a quiet night pays for the night.
 */

#include "estimate.h"

#define SMOOTH		8	/* windows that a price is smoothed over, if alike */
#define FORGET		64	/* the same, whatever they have */
#define CHECK_SMOOTH	64	/* the same for the check, which nobody waits for */

const char *const memio_estimator_names[MEMIO_ESTIMATORS] = {
	[MEMIO_SEED]	= "seed",
	[MEMIO_MISS]	= "miss",
	[MEMIO_DIRTY]	= "dirty",
};

/* x * (n - 1) / n, without overflow; ends at 0 */
static u64 age(u64 x, u64 n)
{
	return x / n * (n - 1) + x % n * (n - 1) / n;
}

/* a / b as 16.16, saturating; @b is not 0 */
static u32 ratio(u64 a, u64 b)
{
	if (a >> (32 - MEMIO_PRICE_SHIFT) >= b)
		return U32_MAX;
	return mul_u64_u64_div_u64(a, MEMIO_PRICE_ONE, b);
}

static u64 scale(u64 lines, u64 all, u64 boxes)
{
	return boxes ? mul_u64_u64_div_u64(lines, all, boxes) : 0;
}

static u64 all_boxes(const struct memio_seen *seen)
{
	return (u64)seen->boxes[MEMIO_READS] + seen->boxes[MEMIO_WRITES] +
	       seen->boxes[MEMIO_PARTIALS];
}

/* What one group saw, for the whole package, in lines. */
static u64 group_lines(const struct memio_seen *seen, enum memio_box_group g,
		       enum memio_role role)
{
	return scale(seen->lines[g][role], all_boxes(seen), seen->boxes[g]);
}

static u64 dirtied_lines(const struct memio_seen *seen)
{
	return scale(seen->lines[MEMIO_WRITES][MEMIO_DIRTIED] +
		     seen->lines[MEMIO_PARTIALS][MEMIO_DIRTIED], all_boxes(seen),
		     (u64)seen->boxes[MEMIO_WRITES] + seen->boxes[MEMIO_PARTIALS]);
}

/*
 * Formula 4.1,
 *
 *	M = R_IOmiss + (W_IOmiss + R_IOmiss) / (W_miss + R_miss) * WB_Mstate
 *
 * with R_IOmiss the misses of PCIRdCur, W_IOmiss those of ItoM with the tid of
 * PCIe (the prototype counts no partial writes), WB_Mstate = LLC_VICTIMS.M. For
 * W_miss + R_miss the prototype has TOR_INSERTS "without the filter"; MISS_LOCAL
 * is that on a machine with one package. The two terms are kept apart, the
 * first being reads and the second writes, and so are the directions.
 *
 * The parts come from different boxes, so that IO misses can exceed all misses
 * by chance: then all write-backs are theirs.
 */
static void seed_cost(const struct memio_seen *seen, struct memio_cost *lines)
{
	u64 reads = group_lines(seen, MEMIO_READS, MEMIO_MISSES);
	u64 writes = group_lines(seen, MEMIO_WRITES, MEMIO_MISSES);
	u64 any = group_lines(seen, MEMIO_READS, MEMIO_ANY_MISS);
	u64 victims = seen->lines[MEMIO_READS][MEMIO_VICTIMS] +
		      seen->lines[MEMIO_WRITES][MEMIO_VICTIMS] +
		      seen->lines[MEMIO_PARTIALS][MEMIO_VICTIMS];

	if (any < reads + writes)
		any = reads + writes;

	lines->to_read = reads;
	if (!any)
		return;
	lines->to_write = mul_u64_u64_div_u64(victims, reads, any);
	lines->from_write = mul_u64_u64_div_u64(victims, writes, any);
}

/**
 * memio_window_cost - the memory bytes that devices cost in a window
 * @kind:	the estimator
 * @seen:	what the counters saw
 * @cost:	the result
 *
 * Context: any.
 */
void memio_window_cost(enum memio_estimator kind, const struct memio_seen *seen,
		       struct memio_cost *cost)
{
	u64 partial = group_lines(seen, MEMIO_PARTIALS, MEMIO_MISSES);

	memset(cost, 0, sizeof(*cost));
	if (kind == MEMIO_SEED) {
		seed_cost(seen, cost);
	} else {
		cost->to_read = group_lines(seen, MEMIO_READS, MEMIO_MISSES);
		cost->from_read = partial;
		if (kind == MEMIO_DIRTY)
			cost->from_write = dirtied_lines(seen);
		else
			cost->from_write = group_lines(seen, MEMIO_WRITES, MEMIO_MISSES) +
					   partial;
	}

	cost->to_read *= MEMIO_LINE_BYTES;
	cost->to_write *= MEMIO_LINE_BYTES;
	cost->from_read *= MEMIO_LINE_BYTES;
	cost->from_write *= MEMIO_LINE_BYTES;
}

/**
 * memio_rate_window - the price of a window's IO bytes
 * @r:		what is known from the windows before
 * @mem:	memory bytes of the window
 * @io:		IO bytes that were accounted in the window
 *
 * See "Smoothing" above.
 *
 * Context: any, one at a time for each @r.
 * Return: memory bytes for an IO byte, 16.16, saturating. Without IO bytes it is
 * the last price.
 */
u32 memio_rate_window(struct memio_rate *r, u64 mem, u64 io)
{
	s64 due, most;

	if (!io) {
		if (r->idle < MEMIO_PATIENCE) {
			r->idle++;
			r->waiting += mem;
		} else {
			r->waiting = 0;
			r->owed = 0;
		}
		return r->price;
	}

	mem += r->waiting;
	r->waiting = 0;
	r->idle = 0;

	if (r->io) {
		u64 out = r->io / SMOOTH;

		if (out > io)
			out = io;
		out += r->io / FORGET;
		r->mem -= mul_u64_u64_div_u64(r->mem, out, r->io);
		r->io -= out;
	}
	r->mem += mem;
	r->io += io;
	due = (s64)r->mem + r->owed / SMOOTH;
	r->price = due > 0 ? ratio(due, r->io) : 0;

	/*
	 * As with what waits, what is owed is at most what MEMIO_PATIENCE windows
	 * cost. Hardly any IO bytes beside much DMA that is not accounted would
	 * make it more, and the next to come would pay for all of it.
	 */
	most = r->mem * (MEMIO_PATIENCE / SMOOTH);
	r->owed += (s64)mem - (s64)mul_u64_u32_shr(io, r->price, MEMIO_PRICE_SHIFT);
	if (r->owed > most)
		r->owed = most;
	if (r->owed < -most)
		r->owed = -most;

	return r->price;
}

static void check_window(struct memio_check *c, u64 lines, u64 io)
{
	c->counted = age(c->counted, CHECK_SMOOTH) + lines * MEMIO_LINE_BYTES;
	c->io = age(c->io, CHECK_SMOOTH) + io;
}

/**
 * memio_check_permille - what the counters saw, in thousandths of what was accounted
 * @c:	the check of a direction, &struct memio_estimate.check_to for instance
 *
 * 1000 if devices moved full lines and memio accounted each byte. More means lines
 * that were moved in part, or DMA that memio does not account; less means that
 * bytes are accounted which did not pass the package's cache. As a line counts as 64
 * bytes even if a descriptor of 16 is all that was moved, the worst honest case is
 * small packets: 64 bytes, not aligned, and a descriptor are 3 lines, 192 counted
 * for 80. Hence MEMIO_CHECK_HIGH; MEMIO_CHECK_LOW leaves room for the scaling.
 *
 * Context: any.
 * Return: the ratio in thousandths, saturating; 0 if nothing moved, so that nothing
 * can be said; U32_MAX if no IO byte is accounted at all.
 */
u32 memio_check_permille(const struct memio_check *c)
{
	if (!c->counted && !c->io)
		return 0;
	if (!c->io || c->counted / c->io >= U32_MAX / 1000)
		return U32_MAX;
	if (!c->counted)
		return 1;	/* as good as none, but it is something to say */
	return mul_u64_u64_div_u64(c->counted, 1000, c->io);
}

/**
 * memio_check_ok - whether counters and accounts are about the same DMA
 * @permille:	from memio_check_permille()
 *
 * Context: any.
 * Return: false if the difference can't come from lines that were moved in part.
 */
bool memio_check_ok(u32 permille)
{
	return !permille ||
	       (permille >= MEMIO_CHECK_LOW && permille <= MEMIO_CHECK_HIGH);
}

/**
 * memio_estimate_init - begin, knowing nothing
 * @e:		the state of a package
 * @kind:	the estimator
 *
 * Until IO bytes were seen a byte costs a byte, which is an upper bound.
 *
 * Context: any, one at a time for each @e.
 */
void memio_estimate_init(struct memio_estimate *e, enum memio_estimator kind)
{
	memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->to_read.price = MEMIO_PRICE_ONE;
	e->from_write.price = MEMIO_PRICE_ONE;
}

static void rate_resume(struct memio_rate *r)
{
	u32 price = r->price;

	memset(r, 0, sizeof(*r));
	r->price = price;
}

/**
 * memio_estimate_resume - go on after windows that were not seen
 * @e:	the state of a package
 *
 * Sums begin anew, as neither memory bytes nor IO bytes of the gap are known; the
 * last prices are kept for as long as there are no IO bytes.
 *
 * Context: any, one at a time for each @e.
 */
void memio_estimate_resume(struct memio_estimate *e)
{
	rate_resume(&e->to_read);
	rate_resume(&e->to_write);
	rate_resume(&e->from_read);
	rate_resume(&e->from_write);
	memset(&e->check_to, 0, sizeof(e->check_to));
	memset(&e->check_from, 0, sizeof(e->check_from));
}

/**
 * memio_estimate_window - the prices of a window
 * @e:		the state of the package; @e->kind is the estimator
 * @seen:	what the counters saw in the window
 * @to:		IO bytes to devices that were accounted in the window
 * @from:	IO bytes from devices, likewise
 * @price:	the result
 *
 * "seed" follows formula 4.2, m = d / D * M: D is the IO bytes of both directions
 * and M is shared out by bytes alone, so that both have the same price. M is kept
 * apart by reads and writes of the memory, which the formula leaves open.
 *
 * Context: any, one at a time for each @e.
 */
void memio_estimate_window(struct memio_estimate *e, const struct memio_seen *seen,
			   u64 to, u64 from, struct memio_price *price)
{
	struct memio_cost cost;

	memio_window_cost(e->kind, seen, &cost);

	if (e->kind == MEMIO_SEED) {
		price->to_read = memio_rate_window(&e->to_read,
						   cost.to_read + cost.from_read,
						   to + from);
		price->to_write = memio_rate_window(&e->to_write,
						    cost.to_write + cost.from_write,
						    to + from);
		price->from_read = price->to_read;
		price->from_write = price->to_write;
	} else {
		price->to_read = memio_rate_window(&e->to_read, cost.to_read, to);
		price->to_write = memio_rate_window(&e->to_write, cost.to_write, to);
		price->from_read = memio_rate_window(&e->from_read, cost.from_read, from);
		price->from_write = memio_rate_window(&e->from_write, cost.from_write,
						      from);
	}

	check_window(&e->check_to, group_lines(seen, MEMIO_READS, MEMIO_ALL), to);
	check_window(&e->check_from, group_lines(seen, MEMIO_WRITES, MEMIO_ALL) +
		     group_lines(seen, MEMIO_PARTIALS, MEMIO_ALL), from);
}

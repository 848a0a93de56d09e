// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: how far a price can be off
 *
 * Model
 *
 * A price (estimate.c, learn.c) is the likeliest figure. Beside it stand the least and the most
 * that a byte can have cost, by what was counted. All three are prices of a window, and
 * a meter adds up three sums by them (price.c):
 *
 *	mem_read_min <= mem_read <= mem_read_max
 *
 * Without counters a line cost nothing at least, and a line at most. With counters bounds are
 * wider than nothing for five reasons, each of which has its rule here.
 *
 * 1. Bytes are accounted after they were moved
 *
 * What is accounted in a window was moved in it or in one of those before. So bounds are
 * the extremes of what lines cost in the last MEMIO_BOUND_CELLS windows, not of this one. Windows
 * with few lines are put together in a cell until it has CELL_LEAST bytes and is a good part of
 * what the last windows had. Before the first cell is full, lines that it lacks may cost anything.
 *
 *	window			1	2	3	4	5	6
 *	price			1.00	0.99	1.00	0.20	0.21	0.19
 *	bounds, of the last 3		0.99..1	0.99..1	.20..1	.20..1	.19..0.21
 *
 * 2. Several devices
 *
 * Counters see the lines of all devices together. If all lines are S, their cost is M, and a
 * device has A of the lines, then the others have O = S - A, and the device's cost is
 *
 *	at least	M - O	as a line of the others costs a line at most
 *	at most		M, and no more than A
 *
 * For instance M is 900 of 1,000 lines, and the device has 600: its cost is from 500 to 600, a
 * byte's 0.83 to 1. Of M = 500 it is from 100 to 500. Shares are those of the last SHARES
 * windows, give or take a part (SLACK), as they are accounted later than counted (a device that is
 * the first to be accounted seems to be alone in that window); M is the extreme of
 * that of the last cells and that of these windows. What learn.c finds is no
 * bound: a program may begin to do something else at any time. The same holds for owners that
 * share a device (memio_span_share()), by their shares in one window.
 *
 * 3. What was counted and what was accounted differ
 *
 * Lines that were counted beside those accounted (rings of virtio, a doorbell that a device
 * polls) are like another device's: U = S - A, and part of O. But their cost is caused
 * by somebody's IO. So what a device's bytes cost at most is not cut at a line for a line, but at
 * (A + U) / A. That U is more than what is under way is seen from the lines of the last two
 * windows. Lines that were accounted and not counted, V, may have cost anything from nothing to a
 * line each.
 *
 * 4. Boxes are sampled
 *
 * A kind of request is looked for by some boxes of the package. The others are taken to be like
 * them: each has no fewer lines that cost something than the sampled box with the fewest, and no
 * more than the one with the most. For instance 3 boxes of 8 have seen 1,000, 1,010 and 1,020: all
 * together have 8,080, and not less than 3,030 + 5 * 1,000 = 8,030, nor more than 8,130. Few lines
 * say little: FEW of a cell may cost otherwise.
 *
 * 5. What makes a line dirty is not counted
 *
 * Without the count of writes that met no modified line (the role "dirtied") a device's write costs
 * nothing at least if it hit, and a line if it missed; it costs a line at most, and all of
 * them no more than was written to DRAM, if that is counted, and what the caches can keep: these
 * may take all writes of some windows before they write any back. They hold CACHES times what the
 * last level does, if the caches of its cores hold other lines. For instance caches of 60 MiB take
 * 0.6 % of what devices write at 10 GB/s in a second, but all that a slow one writes: then the
 * bound is a line for a line. Devices also use the memory of another package, and of devices
 * (CXL): then this package's DRAM bounds nothing.
 *
 * Whether counters can be believed
 *
 * memio_bounds_window() says so of each window, by the same sums: counters see fewer lines than
 * were accounted (a setting of the BIOS makes them another kind of request; a count that stays
 * 0), far more (of something else), more misses than lines, more reads than the DRAM had, or boxes
 * that disagree by more than a hash explains. It takes two
 * windows with some hundred KiB of IO, unlike the check of estimate.c, which finds small
 * differences, slowly. A window in which a count ran backwards has no figures at all
 * (memio_seen_possible()), and the windows after it are doubted.
 */

#include "bounds.h"

#define HORIZON		32	/* windows over which counters and accounts are compared */
#define SHARES		MEMIO_BOUND_WINDOWS	/* that shares are taken over */
#define SLACK		4	/* shares may be off by this part of the smaller one */
#define CELL_LEAST	(32ULL << 10)
#define FEW		(4 * MEMIO_LINE_BYTES)
#define SMALL		(4ULL << 10)	/* bytes that may be under way, whatever was moved */
#define CACHES		2
#define MISSING		(1024ULL << 10)	/* more bytes that are not counted are no accident */
#define MUCH		(128ULL << 10)	/* bytes that are accounted in a window, */
#define BLIND		16	/* of which counters see no more than this part */
#define BESIDE		(64ULL << 20)	/* the same, of bytes that are not accounted */
#define LINES_SHIFT	5	/* in a ns at most 32 lines, 2 TB/s, */
#define LINES_SOON	BIT_ULL(20)	/* and so many more, as windows begin and end in turn */
#define BOX_TIMES	4	/* one box has no more than this of another, */
#define BOX_LINES	1024	/* and so many lines */

#define BOUND_ONE	BIT_ULL(MEMIO_BOUND_SHIFT)
#define BOUND_MOST	0xffffULL

static u64 lesser(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 greater(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* x * (n - 1) / n, without overflow */
static u64 age(u64 x, u64 n)
{
	return x / n * (n - 1) + x % n * (n - 1) / n;
}

/* a / b as 3.13, rounded down or up; at most what there is room for */
static u64 part(u64 a, u64 b, bool up)
{
	u64 p;

	if (!b || a >> 3 >= b)
		return BOUND_MOST;
	p = mul_u64_u64_div_u64(a, BOUND_ONE, b);
	return lesser(p + up, BOUND_MOST);
}

static u64 times(u64 bytes, u64 p, bool up)
{
	return mul_u64_u32_shr(bytes, p, MEMIO_BOUND_SHIFT) + up;
}

/**
 * memio_bounds_init - begin, knowing nothing; also after a pause
 * @b:	the state of a package
 *
 * Context: any, one at a time for each @b.
 */
void memio_bounds_init(struct memio_bounding *b)
{
	memset(b, 0, sizeof(*b));
}

static void add_cell(struct memio_bound_cell *sum, const struct memio_bound_cell *c)
{
	sum->all += c->all;
	for (int k = 0; k < MEMIO_COSTS; k++) {
		sum->least[k] += c->least[k];
		sum->most[k] += c->most[k];
	}
}

/* Takes up what a window had. */
static void way_window(struct memio_bound_way *w, const struct memio_bound_cell *c,
		       const u64 moved[MEMIO_LEARNT], u64 written)
{
	unsigned int i;
	u64 io = 0, n;
	bool idle;

	for (i = 0; i < MEMIO_LEARNT; i++)
		io += moved[i];
	idle = !c->all && !io;
	n = idle ? MEMIO_PAUSE : HORIZON;
	w->all = age(w->all, n) + c->all;
	w->io = age(w->io, n) + io;

	n = idle ? MEMIO_PAUSE : SHARES;
	w->counted = age(w->counted, n) + c->all;
	w->written = age(w->written, n) + written;
	for (i = 0; i < MEMIO_LEARNT; i++)
		w->moved[i] = age(w->moved[i], n) + moved[i];
	for (i = 0; i < MEMIO_COSTS; i++) {
		w->least[i] = age(w->least[i], n) + c->least[i];
		w->most[i] = age(w->most[i], n) + c->most[i];
	}
	w->last[1] = w->last[0];
	w->last[0] = c->all;
	w->last_io[1] = w->last_io[0];
	w->last_io[0] = io;

	if (!idle) {
		w->quiet = 0;
	} else if (w->quiet < MEMIO_PAUSE && ++w->quiet == MEMIO_PAUSE) {
		/* What comes is likely to be another load. */
		w->nr = 0;
		memset(&w->open, 0, sizeof(w->open));
	}
	add_cell(&w->open, c);
	if (w->open.all < CELL_LEAST || w->open.all < w->all / (4 * HORIZON))
		return;
	w->cell[w->nr++ % MEMIO_BOUND_CELLS] = w->open;
	/* No more than it takes to know which are filled */
	if (w->nr == 2 * MEMIO_BOUND_CELLS)
		w->nr = MEMIO_BOUND_CELLS;
	memset(&w->open, 0, sizeof(w->open));
}

/* What lines cost in the last cells, for a byte: 3.13 */
static void cells_span(const struct memio_bound_way *w, enum memio_cost_kind kind,
		       u64 *least, u64 *most)
{
	unsigned int n = lesser(w->nr, MEMIO_BOUND_CELLS), i;
	const struct memio_bound_cell *c;
	u64 lacks;

	if (!n) {
		lacks = less(CELL_LEAST, w->open.all);
		*least = part(w->open.least[kind], w->open.all + lacks, false);
		*most = part(w->open.most[kind] + lacks, w->open.all + lacks, true);
		return;
	}
	*least = BOUND_MOST;
	*most = 0;
	for (i = 0; i < n; i++) {
		c = &w->cell[i];
		*least = lesser(*least, part(less(c->least[kind], FEW), c->all, false));
		*most = greater(*most, part(c->most[kind] + FEW, c->all, true));
	}
}

/* Boxes of a group have seen so many lines that cost something. */
static void boxes_add(struct memio_bound_way *w, const u64 *lines, unsigned int nr)
{
	unsigned int n;

	for (n = 0; n < nr && w->boxes < MEMIO_BOXES; n++, w->boxes++)
		w->box[w->boxes] = age(w->box[w->boxes], w->quiet ? MEMIO_PAUSE : HORIZON) +
				   lines[n];
}

/* The fewest, the most, and the sum */
static void boxes_span(const struct memio_bound_way *w, u64 *fewest, u64 *most, u64 *sum)
{
	*fewest = U64_MAX;
	*most = 0;
	*sum = 0;
	for (unsigned int i = 0; i < w->boxes; i++) {
		*fewest = lesser(*fewest, w->box[i]);
		*most = greater(*most, w->box[i]);
		*sum += w->box[i];
	}
}

/* What all boxes have, by what those that are sampled do: see 4 above */
static void boxes_scale(const struct memio_bound_way *w, unsigned int total, u64 *least, u64 *most)
{
	u64 few, many, sum, scaled;

	if (!w->boxes || total <= w->boxes)
		return;
	boxes_span(w, &few, &many, &sum);
	scaled = mul_u64_u64_div_u64(sum, total, w->boxes);
	if (!scaled)
		return;
	*least = mul_u64_u64_div_u64(*least, sum + (total - w->boxes) * few, scaled);
	*most = lesser(mul_u64_u64_div_u64(*most, sum + (total - w->boxes) * many, scaled) + 1,
		       BOUND_MOST);
}

/* What the bytes of a device cost, by what those of all have: see 2 and 3 above */
static void place_span(const struct memio_bound_way *w, unsigned int place,
		       enum memio_cost_kind kind, u64 least, u64 most, u64 all_most,
		       struct memio_span *span)
{
	u64 beside = w->all > w->io + w->last[0] + w->last[1] + SMALL ? w->all - w->io : 0;
	u64 missing = w->io > w->all + w->all / 8 + SMALL ? w->io - w->all : 0;
	u64 mine = w->moved[place], all = 0, seen, slack, cost;

	if (!mine) {
		span->least = 0;
		span->most = BOUND_ONE;
		return;
	}
	for (unsigned int i = 0; i < MEMIO_LEARNT; i++)
		all += w->moved[i];
	if (beside)
		beside = w->io ? mul_u64_u64_div_u64(all, beside, w->io) : less(w->all, all);
	if (missing)
		missing = mul_u64_u64_div_u64(all, missing, w->io);
	seen = all + beside - missing;
	slack = lesser(mine, all - mine) / SLACK;
	if (slack) {
		least = lesser(least, part(w->least[kind], w->counted, false));
		most = greater(most, part(w->most[kind], w->counted, true));
	}
	/* If it has less than it seems to have, the others have more. */
	mine -= slack;
	cost = less(times(seen, least, false) + mine, all + beside);
	span->least = part(lesser(cost, mine), mine, false);
	cost = lesser(times(seen, most, true), all_most) + missing;
	span->most = part(lesser(cost, mine + beside), mine, true);
	if (span->most < span->least)
		span->most = span->least;
}

/* Of what is claimed late: bounds become wider at once, and narrower in the course of windows. */
static void late_span(struct memio_span *late, const struct memio_span *now, bool known)
{
	if (!known) {
		*late = *now;
		return;
	}
	late->least = now->least < late->least ? now->least :
		      late->least + (now->least - late->least) / HORIZON;
	late->most = now->most > late->most ? now->most :
		     late->most - (late->most - now->most) / HORIZON;
}

static void put_span(struct memio_bounds *out, enum memio_bound_kind kind, unsigned int place,
		     const struct memio_span *span)
{
	out->least[kind][place] = span->least;
	out->most[kind][place] = span->most;
}

/* The kinds of a direction, all places */
static void way_bounds(struct memio_bounding *b, struct memio_bound_way *w, u64 all_most,
		       enum memio_cost_kind cost, enum memio_bound_kind kind, unsigned int scale,
		       struct memio_bounds *out)
{
	struct memio_span span;
	u64 least, most;

	cells_span(w, cost, &least, &most);
	if (scale)
		boxes_scale(w, scale, &least, &most);
	for (unsigned int i = 0; i < MEMIO_LEARNT; i++) {
		place_span(w, i, cost, least, most, all_most, &span);
		put_span(out, kind, i, &span);
		if (kind == MEMIO_BOUND_TO_READ)
			continue;
		if (w->moved[i])
			late_span(&b->late[i][cost], &span, b->known[i]);
		else if (!b->known[i])
			b->late[i][cost] = span;
		put_span(out, cost == MEMIO_COST_READ ? MEMIO_BOUND_LATE_READ :
			 MEMIO_BOUND_LATE_WRITE, i, &b->late[i][cost]);
	}
}

/*
 * Two windows are enough if much is accounted in both, and next to nothing is counted. At the end
 * of a burst that is so in one.
 */
static bool is_blind(const struct memio_bound_way *w)
{
	return lesser(w->last_io[0], w->last_io[1]) > MUCH &&
	       w->last[0] + w->last[1] < (w->last_io[0] + w->last_io[1]) / BLIND;
}

static bool way_agrees(struct memio_bound_way *w)
{
	u64 few, many, sum;

	if (is_blind(w))
		w->doubt = HORIZON;
	else if (w->doubt)
		w->doubt--;
	if (w->doubt || w->io > w->all + w->all / 8 + MISSING ||
	    w->all > w->io / 2 * 5 + BESIDE ||
	    w->least[MEMIO_COST_READ] > w->counted + w->counted / 8 + MISSING)
		return false;
	boxes_span(w, &few, &many, &sum);
	return !w->boxes || many <= BOX_TIMES * few + BOX_LINES;
}

/* A device's place has another one now, or none. */
static void forget(struct memio_bounding *b, unsigned int place, u16 dev)
{
	b->dev[place] = dev;
	b->to.moved[place] = 0;
	b->from.moved[place] = 0;
	b->known[place] = false;
}

/**
 * memio_seen_possible - can counters have seen this in a window?
 * @seen:	what the counters saw
 * @ns:		how long the window was
 *
 * A count that ran backwards comes as one of 2^48 lines or so. No sum should take up such a window:
 * it would be in each for a long time.
 *
 * Context: any.
 * Return: false if it is more than any memory or cache moves.
 */
bool memio_seen_possible(const struct memio_seen *seen, u64 ns)
{
	const u64 most = (ns << LINES_SHIFT) + LINES_SOON;

	for (unsigned int i = 0; i < MEMIO_GROUPS; i++)
		for (unsigned int j = 0; j < MEMIO_ROLES; j++)
			if (seen->lines[i][j] > most)
				return false;
	return seen->dram_read <= most && seen->dram_write <= most;
}

/**
 * memio_bounds_doubt - after what cannot be so, do not believe what is counted, for some windows
 * @b:	the state of the package
 *
 * Context: any, one at a time for each @b.
 */
void memio_bounds_doubt(struct memio_bounding *b)
{
	b->to.doubt = HORIZON;
	b->from.doubt = HORIZON;
}

/**
 * memio_bounds_window - the bounds of a window
 * @b:		the state of the package
 * @can:	what is counted, a set of MEMIO_COUNTS()
 * @seen:	what the counters saw, without hot lines
 * @by_box:	what each box saw, by group
 * @dev:	which device has which place (&struct memio_places)
 * @moved:	what was accounted in the window
 * @nr:		devices in @moved
 * @out:	the result
 *
 * Context: any, one at a time for each @b.
 * Return: whether what was counted can be so.
 */
bool memio_bounds_window(struct memio_bounding *b, unsigned long can,
			 const struct memio_seen *seen, const struct memio_by_box *by_box,
			 const u16 *dev, const struct memio_moved *moved, unsigned int nr,
			 struct memio_bounds *out)
{
	const bool dirtied = can & MEMIO_COUNTS(MEMIO_WRITES, MEMIO_DIRTIED);
	u64 to[MEMIO_LEARNT] = {}, from[MEMIO_LEARNT] = {};
	u64 written = U64_MAX;
	struct memio_bound_cell c_to = {}, c_from = {};
	struct memio_cost certain, all;
	unsigned int i, j;
	bool agrees;

	for (i = 0; i < MEMIO_LEARNT; i++)
		if (b->dev[i] != dev[i])
			forget(b, i, dev[i]);
	for (i = 0; i < nr; i++) {
		for (j = MEMIO_LEARNT - 1; j && dev[j] != moved[i].dev; j--)
			;
		to[j] += moved[i].to;
		from[j] += moved[i].from;
	}

	memio_window_cost(MEMIO_MISS, seen, &certain);
	memio_window_cost(MEMIO_DIRTY, seen, &all);
	memio_window_lines(seen, &c_to.all, &c_from.all);
	c_to.least[MEMIO_COST_READ] = certain.to_read;
	c_to.most[MEMIO_COST_READ] = certain.to_read;
	c_from.least[MEMIO_COST_READ] = certain.from_read;
	c_from.most[MEMIO_COST_READ] = certain.from_read;
	c_from.least[MEMIO_COST_WRITE] = dirtied ? all.from_write : certain.from_write;
	c_from.most[MEMIO_COST_WRITE] = dirtied ? all.from_write : c_from.all;
	way_window(&b->to, &c_to, to, 0);
	/* In a window that has no such count, all that devices wrote may have been written. */
	way_window(&b->from, &c_from, from,
		   seen->dram ? MEMIO_LINE_BYTES * seen->dram_write : c_from.all);
	/* What is accounted some windows after it is counted has a part more. */
	if (seen->dram && seen->cache && !dirtied)
		written = b->from.written + b->from.written / 4 + CACHES * seen->cache;

	b->to.boxes = 0;
	boxes_add(&b->to, by_box[MEMIO_READS].misses, by_box[MEMIO_READS].nr);
	b->from.boxes = 0;
	for (i = MEMIO_WRITES; i <= MEMIO_PARTIALS && dirtied; i++)
		boxes_add(&b->from, by_box[i].dirtied, by_box[i].nr);

	memcpy(out->dev, dev, sizeof(out->dev));
	for (i = 0; i < MEMIO_LEARNT; i++) {
		out->to_lines[i] = lesser(to[i] / MEMIO_LINE_BYTES, U32_MAX);
		out->from_lines[i] = lesser(from[i] / MEMIO_LINE_BYTES, U32_MAX);
	}
	way_bounds(b, &b->to, U64_MAX, MEMIO_COST_READ, MEMIO_BOUND_TO_READ, seen->total, out);
	way_bounds(b, &b->from, U64_MAX, MEMIO_COST_READ, MEMIO_BOUND_FROM_READ, 0, out);
	way_bounds(b, &b->from, written, MEMIO_COST_WRITE, MEMIO_BOUND_FROM_WRITE, seen->total,
		   out);
	for (i = 0; i < MEMIO_LEARNT; i++)
		b->known[i] |= !!b->from.moved[i];

	/* Both, as doubt ends window by window. */
	agrees = way_agrees(&b->to);
	agrees &= way_agrees(&b->from);
	if (seen->dram && seen->cache && certain.to_read + certain.from_read >
			  MEMIO_LINE_BYTES * seen->dram_read / 8 * 9 + MISSING)
		agrees = false;
	return agrees;
}

/* A device's place; 0 is that of all who found none free, or of nobody: then there is room. */
static unsigned int place_of(const struct memio_bounds *b, u16 dev, bool *room)
{
	unsigned int i;

	*room = false;
	for (i = MEMIO_LEARNT - 1; i && b->dev[i] != dev; i--)
		*room |= !b->dev[i];
	return i;
}

/**
 * memio_bounds_lines - what a device moved in a window, or several together that have no place
 * @b:		the bounds of the window
 * @dev:	the device's id
 * @to:		bytes of lines to it that were accounted
 * @from:	likewise, from it
 *
 * Context: any.
 * Return: false if these are the lines, and the bounds, of several devices.
 */
bool memio_bounds_lines(const struct memio_bounds *b, u16 dev, u64 *to, u64 *from)
{
	bool room;
	unsigned int i = place_of(b, dev, &room);

	*to = MEMIO_LINE_BYTES * (u64)b->to_lines[i];
	*from = MEMIO_LINE_BYTES * (u64)b->from_lines[i];
	return i;
}

/**
 * memio_bounds_of - what a byte of a device costs at least and at most
 * @b:		the bounds of a window
 * @dev:	the device's id
 * @kind:	which byte, and which cost
 * @span:	the result
 *
 * Context: any.
 */
void memio_bounds_of(const struct memio_bounds *b, u16 dev, enum memio_bound_kind kind,
		     struct memio_span *span)
{
	bool room;
	unsigned int i = place_of(b, dev, &room);

	if (!i && room) {
		/* It has moved nothing that was taken up so far. */
		span->least = 0;
		span->most = MEMIO_PRICE_ONE;
		return;
	}
	span->least = (u32)b->least[kind][i] << (MEMIO_PRICE_SHIFT - MEMIO_BOUND_SHIFT);
	span->most = (u32)b->most[kind][i] << (MEMIO_PRICE_SHIFT - MEMIO_BOUND_SHIFT);
}

/**
 * memio_span_share - the bounds of one owner's bytes, by those of all of a device's
 * @span:	the device's, and then the result
 * @mine:	bytes of lines that are the owner's
 * @all:	bytes of the device's lines; if they are less, the owner's are all
 *
 * If all A lines of a device cost M, then what another has not caused is at least
 * M - (A - mine) and at most M, of mine. For instance bounds are 0.9 and 0.95 and half of the lines
 * are mine: mine cost 0.8 to 1.
 *
 * Context: any.
 */
void memio_span_share(struct memio_span *span, u64 mine, u64 all)
{
	u64 gap, most;

	if (!mine || mine >= all)
		return;
	gap = less(MEMIO_PRICE_ONE, span->least);
	gap = mul_u64_u64_div_u64(gap, all, mine) + 1;
	span->least = less(MEMIO_PRICE_ONE, gap);
	most = mul_u64_u64_div_u64(span->most, all, mine) + 1;
	span->most = lesser(most, greater(span->most, MEMIO_PRICE_ONE));
}

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
 * writes. In a window of 10 ms they saw
 *
 *	reads (3 of 8):		6,000 lines, 5,400 of them missed
 *	writes (3 of 8):	9,000 lines; 2,700 writes met no modified line
 *	partials (2 of 8):	   15 lines, 10 of them missed; 1,800 writes met none
 *
 *	lines to devices   = 6,000 * 8/3              = 16,000 = 1,024,000 bytes
 *	lines from devices = 9,000 * 8/3 + 15 * 8/2   = 24,060 = 1,539,840 bytes
 *
 *	to_read    = 5,400 * 8/3            = 14,400 lines = 921,600 bytes
 *	from_write = (2,700 + 1,800) * 8/5  =  7,200 lines = 460,800 bytes
 *	from_read  = 10 * 8/2               =     40 lines =   2,560 bytes
 *
 * Three boxes of eight see 9,000 of 24,000 lines give or take 75, if the hash is
 * as good as chance: 0.8 % in one window, below 0.1 % in a second.
 *
 * Prices
 *
 * Memory bytes are counted when they move, IO bytes are accounted when a request
 * completes or a CPU hands its stock on: one to many windows later, and in lumps,
 * with other IO in between. A ratio of the two would charge a burst's memory bytes
 * to whatever is accounted while the burst is on its way. So a price is not made
 * of that, but of what the same boxes saw in the same windows, and it is the same
 * whenever the bytes are accounted:
 *
 *	price = memory bytes / bytes of all lines
 *
 * for a byte of a line: what is charged are lines (charge.c), so a descriptor of 16
 * bytes pays for 64. In the example a byte to a device costs 921,600 / 1,024,000 =
 * 0.9 bytes read, a byte from a device 460,800 / 1,539,840 = 0.2993 bytes written
 * and 0.0017 read.
 *
 * Whether counters and accounts are about the same DMA is another question, which
 * the check answers: bytes of lines that were counted for each that was accounted.
 * What memio does not account (rings of virtio, say) makes it more than one;
 * nobody pays for that.
 *
 * What is accounted lags behind, so the check is made slowly: what is new is added
 * to its sums after a pause of CHECK_QUIET windows, when nothing is on its way, or
 * when it is of CHECK_WINDOWS windows, in which what is on its way is little; and
 * to sums of at least CHECK_LEAST, beginning with 1.
 *
 * Hot lines
 *
 * Some devices look at one line again and again: an NVMe controller with shadow doorbells reads
 * where the driver writes how far its queues go. That line is in the cache, whatever the data do,
 * and lies in one box. If that is one of the three of eight that look for reads, each look counts
 * as 8/3 lines, and a price that is made of all lines is that of the doorbell:
 *
 *	box			0 (reads)	1	2	3 (reads)	...
 *	lines			65,980		5,000	5,000	5,000
 *	of them hits		61,000		0	0	0
 *	all, from 0, 3 and 6	75,980 * 8/3 = 202,600, misses 40,000:	price 0.2
 *	without hits of 0	14,980 * 8/3 =  40,000, misses 40,000:	price 1
 *
 * Data are spread over all boxes by the hash, so boxes have as many hits as their neighbours. What
 * one has beyond the box with the fewest is left out of the lines that a price is made of, if it
 * has more than twice as many. But a line that is accounted counts, be it hot: what is left out is
 * no more than what was counted beside what was accounted, over HOT windows.
 *
 * Lines on their way
 *
 * A price is what the lines have cost that were counted and not accounted so far. Those that a
 * window accounts are taken out of these sums when its price is made, memory bytes and lines alike.
 * So a byte has the price of the windows in which its like was moved, and where nothing is on its
 * way a price is the window's own: it follows a load that changes at once. For instance 1,000
 * lines are counted in each window, and accounted in the next one:
 *
 *	window			1	2	3	4	5	6
 *	memory lines counted	500	500	1000	1000	1000	0
 *	lines on their way	1000	1859	1738	1634	1545	545
 *	price			0.5	0.5	0.79	0.92	0.97	0.91
 *	charged			0	500	788	918	971	912
 *
 * This is 4,089 for 4,000. It is not exact as what nobody accounts must not stay for ever: of what
 * was on its way before, as much goes as comes in, at most an eighth, and a 64th besides.
 *
 * More may be accounted than is on its way: it was when much of something else came. That has a
 * lasting price, of sums of all lines in which what is older weighs less, in the same way. So it
 * is a mean over bytes, not over windows: a trickle after a burst leaves it as it is until the
 * burst is accounted, and is not priced by it for ever. In a window without lines nothing ages,
 * and the price stays. For instance there are 25,000 lines in each window with the ratio 1, none
 * accounted, and then 30 in each with the ratio 0: it is 0.998 after 10 windows, 0.96 after 100.
 *
 * What this can't do is to tell the devices of a package apart: their lines
 * are counted together and have one price in each direction. If a disk's lines
 * miss and a network card's hit, the one pays too little and the other too much.
 * The estimator "device" takes the same costs and learns from how the mix of
 * devices varies what the lines of each come to (learn.c).
 *
 * Limits
 *
 * Limits can't wait for the end of a window, and are charged at a price of before. That of
 * the last window would be a gift: after a pause a few descriptors that hit are all that it
 * rests on, and the 8 MiB that come next would cost nothing. So limits are charged at a
 * mean over bytes, not over windows: of what a device has moved last, however long ago, by
 * the prices of their windows; what is older than LASTING bytes is forgotten. For instance
 * 256 KiB were moved at the price 1, then 10 lines at 0, then comes a request: it is charged
 * at 0.998. A change of the load is charged too much or too little for as long as its price
 * lags behind, for the window that is open and for LASTING bytes.
 */

#include "estimate.h"

#define SMOOTH		8	/* windows that lines weigh for, if alike */
#define FORGET		64	/* the same, whatever they have */
#define LATE		8	/* windows that what is claimed late has its price of, if alike */
#define LASTING		(256ULL << 10)	/* bytes that limits' prices are made of, or a window */
#define HOT		64	/* windows over which boxes are compared */
#define HOT_LEAST	64	/* hits in a box that may be chance */
#define CHECK_LEAST	(16ULL << 20)	/* of lines and of IO bytes that the check is made of */
#define CHECK_MOST	(256ULL << 40)	/* more bytes than a window can have; no overflow */
#define CHECK_CALM	64	/* a window with less than this part is calm */
#define CHECK_QUIET	8	/* calm windows after which nothing is on its way */
#define CHECK_WINDOWS	256	/* windows after which what is on its way is small */

#define OWED_MOST	BIT_ULL(23)	/* lines that devices made dirty: more than caches hold */
#define DUE_MOST	((s64)64 << 20)	/* bytes */
#define CPU_SMOOTH	4	/* as SMOOTH, of what CPUs write back */
#define DUE_SPREAD	4	/* times what is smoothed over: how slowly what is due is paid */
#define DUE_OVER	BIT_ULL(20)	/* bytes read, at least, that what is due is paid with */

#define HIGH	(MEMIO_PRICE_ONE * MEMIO_CHECK_HIGH / 1000)

const char *const memio_estimator_names[MEMIO_ESTIMATORS] = {
	[MEMIO_SEED]	= "seed",
	[MEMIO_MISS]	= "miss",
	[MEMIO_DIRTY]	= "dirty",
	[MEMIO_DEVICE]	= "device",
};

/* x * (n - 1) / n, without overflow; ends at 0 */
static u64 age(u64 x, u64 n)
{
	return x / n * (n - 1) + x % n * (n - 1) / n;
}

static u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* a / b as 16.16, saturating */
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

#define NEEDS_MISS	(MEMIO_COUNTS(MEMIO_READS, MEMIO_ALL) |			\
			 MEMIO_COUNTS(MEMIO_READS, MEMIO_MISSES) |		\
			 MEMIO_COUNTS(MEMIO_WRITES, MEMIO_ALL) |		\
			 MEMIO_COUNTS(MEMIO_WRITES, MEMIO_MISSES) |		\
			 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_ALL) |		\
			 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_MISSES))
#define NEEDS_DIRTY	(NEEDS_MISS |						\
			 MEMIO_COUNTS(MEMIO_WRITES, MEMIO_DIRTIED) |		\
			 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_DIRTIED))
#define NEEDS_SEED	(NEEDS_MISS |						\
			 MEMIO_COUNTS(MEMIO_READS, MEMIO_ANY_MISS) |		\
			 MEMIO_COUNTS(MEMIO_READS, MEMIO_VICTIMS) |		\
			 MEMIO_COUNTS(MEMIO_WRITES, MEMIO_VICTIMS) |		\
			 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_VICTIMS))

/* What has to be counted for each estimator. */
static const unsigned long needs[MEMIO_ESTIMATORS] = {
	[MEMIO_SEED]	= NEEDS_SEED,
	[MEMIO_MISS]	= NEEDS_MISS,
	[MEMIO_DIRTY]	= NEEDS_DIRTY,
	[MEMIO_DEVICE]	= NEEDS_DIRTY,
};

/**
 * memio_estimator_for - an estimator that the counters are enough for
 * @kind:	the one that was asked for
 * @can:	what is counted, a set of MEMIO_COUNTS()
 *
 * Context: any.
 * Return: @kind; MEMIO_MISS, which needs the least, if not all is counted that @kind needs.
 * memio_can_estimate() says whether it is enough for that.
 */
enum memio_estimator memio_estimator_for(enum memio_estimator kind, unsigned long can)
{
	return needs[kind] & ~can ? MEMIO_MISS : kind;
}

/**
 * memio_can_estimate - whether the counters are enough for any estimator
 * @can:	what is counted, a set of MEMIO_COUNTS()
 *
 * Context: any.
 * Return: true if they are.
 */
bool memio_can_estimate(unsigned long can)
{
	return !(needs[MEMIO_MISS] & ~can);
}

/* What one group saw, for the whole package, in lines. */
static u64 group_lines(const struct memio_seen *seen, enum memio_box_group g,
		       enum memio_role role)
{
	return scale(seen->lines[g][role], seen->total, seen->boxes[g]);
}

static u64 dirtied_lines(const struct memio_seen *seen)
{
	return scale(seen->lines[MEMIO_WRITES][MEMIO_DIRTIED] +
		     seen->lines[MEMIO_PARTIALS][MEMIO_DIRTIED], seen->total,
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
 * memio_hot_window - leave hot lines out of what the counters saw
 * @h:		what is remembered of earlier windows; zeroed at first, and after a pause
 * @seen:	what the counters saw: MEMIO_ALL of the group becomes less
 * @group:	MEMIO_READS or MEMIO_PARTIALS
 * @b:		what each box of the group saw
 * @io:		bytes of lines that were accounted in the window, in the group's direction
 *
 * See "Hot lines" above.
 *
 * Context: any, one at a time for each @h.
 */
void memio_hot_window(struct memio_hot *h, struct memio_seen *seen, enum memio_box_group group,
		      const struct memio_by_box *b, u64 io)
{
	u64 to, from, fewest = U64_MAX, hot = 0, hits, beside;
	unsigned int i;

	memio_window_lines(seen, &to, &from);
	h->io = age(h->io, HOT) + io;
	h->counted = age(h->counted, HOT) + (group == MEMIO_READS ? to : from);
	for (i = 0; i < b->nr; i++) {
		hits = b->all[i] > b->misses[i] ? b->all[i] - b->misses[i] : 0;
		h->hits[i] = age(h->hits[i], HOT) + hits;
		fewest = least(fewest, h->hits[i]);
	}
	for (i = 0; i < b->nr; i++) {
		if (h->hits[i] < 2 * fewest + HOT_LEAST || b->all[i] <= b->misses[i])
			continue;
		hot += mul_u64_u64_div_u64(b->all[i] - b->misses[i], h->hits[i] - fewest,
					   h->hits[i]);
	}
	h->hot = age(h->hot, HOT) +
		 MEMIO_LINE_BYTES * scale(hot, seen->total, seen->boxes[group]);
	beside = h->counted > h->io ? h->counted - h->io : 0;
	if (h->hot > beside)
		hot = mul_u64_u64_div_u64(hot, beside, h->hot);
	seen->lines[group][MEMIO_ALL] -= least(hot, seen->lines[group][MEMIO_ALL]);
}

/**
 * memio_window_lines - what devices moved in a window
 * @seen:	what the counters saw
 * @to:		bytes of lines that devices read
 * @from:	bytes of lines that devices wrote, in full or in part
 *
 * Context: any.
 */
void memio_window_lines(const struct memio_seen *seen, u64 *to, u64 *from)
{
	*to = MEMIO_LINE_BYTES * group_lines(seen, MEMIO_READS, MEMIO_ALL);
	*from = MEMIO_LINE_BYTES * (group_lines(seen, MEMIO_WRITES, MEMIO_ALL) +
				    group_lines(seen, MEMIO_PARTIALS, MEMIO_ALL));
}

/* memio_rate_window(), where a price is smoothed over so many windows */
static u32 rate_window(struct memio_rate *r, u64 mem, u64 all, u32 smooth)
{
	u64 price;

	if (!all) {
		if (r->pause < MEMIO_PAUSE)
			r->pause++;
	} else {
		if (r->pause == MEMIO_PAUSE && r->all > MEMIO_LINE_BYTES) {
			r->mem = mul_u64_u64_div_u64(r->mem, MEMIO_LINE_BYTES, r->all);
			r->all = MEMIO_LINE_BYTES;
		}
		r->pause = 0;
	}

	if (all && r->all) {
		u64 out = least(all, r->all / smooth) + r->all / FORGET;

		r->mem -= mul_u64_u64_div_u64(r->mem, out, r->all);
		r->all -= out;
	}
	r->mem += mem;
	r->all += all;

	/* other boxes may have seen more misses than these have lines, by chance */
	if (r->mem / 4 >= r->all)
		return HIGH;
	price = mul_u64_u64_div_u64(r->mem, MEMIO_PRICE_ONE, r->all);
	return price < HIGH ? price : HIGH;
}

/**
 * memio_rate_window - what a window adds to a price
 * @r:		what is known from the windows before
 * @mem:	memory bytes of the window
 * @all:	bytes of all lines that devices moved in it
 *
 * See "Lines on their way" and "Prices" above.
 *
 * What comes after MEMIO_PAUSE windows without a line is likely to be another load: the
 * price stays until it comes, but the sums that it rests on weigh as one line.
 *
 * Context: any, one at a time for each @r.
 * Return: memory bytes for an IO byte, 16.16, at most MEMIO_CHECK_HIGH
 * thousandths.
 */
u32 memio_rate_window(struct memio_rate *r, u64 mem, u64 all)
{
	return rate_window(r, mem, all, SMOOTH);
}

/**
 * memio_flow_window - the price of what a window has accounted
 * @f:		what is known from the windows before
 * @mem:	memory bytes of the window
 * @all:	bytes of all lines that devices moved in it
 * @io:		bytes of lines that were accounted in it
 *
 * See "Lines on their way" above.
 *
 * Context: any, one at a time for each @f.
 * Return: as memio_rate_window().
 */
u32 memio_flow_window(struct memio_flow *f, u64 mem, u64 all, u64 io)
{
	bool paused = f->lasting.pause == MEMIO_PAUSE;
	u32 lasting = memio_rate_window(&f->lasting, mem, all), price;
	u64 out, paid;

	if (paused) {
		f->mem = 0;
		f->all = 0;
	}
	if (f->all) {
		out = least(all, f->all / SMOOTH) + f->all / FORGET;
		f->mem -= mul_u64_u64_div_u64(f->mem, out, f->all);
		f->all -= out;
	}
	f->mem += mem;
	f->all += all;
	if (!f->all)
		return lasting;

	price = f->mem / 4 >= f->all ? HIGH : least(HIGH, ratio(f->mem, f->all));
	paid = least(io, f->all);
	f->mem -= mul_u64_u64_div_u64(f->mem, paid, f->all);
	f->all -= paid;
	if (io == paid)
		return price;
	/* The mean of both */
	if (price < lasting)
		return price + mul_u64_u64_div_u64(lasting - price, io - paid, io);
	return price - mul_u64_u64_div_u64(price - lasting, io - paid, io);
}

/*
 * Lines that were written back, and those that devices have made dirty. Where a source has no
 * victims it has memory controllers, which count what is written back, too. Of what devices write
 * it knows what missed; what hit a clean line is taken to be the CPUs'.
 */
static u64 written_back(const struct memio_seen *seen, u64 *devices)
{
	u64 victims;

	if (seen->dram) {
		*devices = group_lines(seen, MEMIO_WRITES, MEMIO_MISSES) +
			   group_lines(seen, MEMIO_PARTIALS, MEMIO_MISSES);
		return seen->dram_write;
	}
	*devices = dirtied_lines(seen);
	victims = seen->lines[MEMIO_READS][MEMIO_VICTIMS] +
		  seen->lines[MEMIO_WRITES][MEMIO_VICTIMS] +
		  seen->lines[MEMIO_PARTIALS][MEMIO_VICTIMS];
	return scale(victims, seen->total, (u64)seen->boxes[MEMIO_READS] +
		     seen->boxes[MEMIO_WRITES] + seen->boxes[MEMIO_PARTIALS]);
}

/**
 * memio_written_back_known - whether a window tells what was written back
 * @can:	what the source counts, a set of MEMIO_COUNTS()
 * @seen:	what the counters saw
 *
 * Context: any.
 * Return: true if boxes count victims, or if memory controllers were read. These can be missing
 * on any machine, and others can have taken them for a while.
 */
bool memio_written_back_known(unsigned long can, const struct memio_seen *seen)
{
	const unsigned long victims = MEMIO_COUNTS(MEMIO_READS, MEMIO_VICTIMS) |
				      MEMIO_COUNTS(MEMIO_WRITES, MEMIO_VICTIMS) |
				      MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_VICTIMS);

	return !(victims & ~can) || seen->dram;
}

/**
 * memio_cpu_window - what is written back for what the CPUs have read, after a window
 * @e:		what is remembered of earlier ones; zeroed at first
 * @seen:	what the counters saw
 * @missed:	lines that the package's CPUs have read from memory in the window
 * @paid:	bytes written back that were charged in the window
 *
 * A modified line that is replaced was made so by a device or by a CPU. What devices
 * made dirty is counted when they do, and leaves the cache once each, so what is
 * left of the victims is of CPUs. The lines of devices are taken to leave first: this
 * is off by what the cache holds, once, and not from window to window. More than OWED_MOST
 * is not in the cache when the window ends, whatever was counted.
 *
 * For instance devices make 1,000 lines dirty, and in the same window 800 are replaced,
 * in the next 3,000; CPUs read 7,000 in each. What is owed is 200 after the first, in
 * which nothing was written back for CPUs, and 2,800 are theirs in the second: for each
 * byte that they have read in the two, 0.2 are written.
 *
 * A package can have more slices than boxes that are read (memio_box_read()). Each group of boxes
 * counts victims, and all of them together are scaled to the package.
 *
 * Which CPU, or which task, modified the lines is not known. Who reads more pays more.
 *
 * What is read now is charged at the price of the windows before. If tasks that read
 * take turns with tasks that write, this lag need not be the same up and down, so
 * what was charged is compared with what was written back, and the difference
 * (@due) is paid with the next reads: of DUE_SPREAD times what the price is smoothed
 * over, as the smoothed price still makes up for some of it; of DUE_OVER bytes at least.
 * For instance 2,000,000 bytes were written back and 1,900,000 charged, and the smoothed
 * sums are 4,000,000 bytes written for 8,000,000 read: a byte costs not 0.5 but
 * 0.5 + 100,000 / 32,000,000 = 0.5031 until this is paid. So sums are right in the long
 * run, whatever lags behind what.
 *
 * What CPUs read is charged in the window in which it is counted, or soon after, unlike what
 * devices move. So the price may follow faster than theirs, which matters where the ratio drifts:
 * if it is less by d in each window, in which r bytes are read, then
 * CPU_SMOOTH * CPU_SMOOTH * DUE_SPREAD * d * r are charged too much until that is over, 2 MB where
 * it falls from 0.8 to 0.1 in 100 windows of 4,300,000 bytes. After a step the price overshoots
 * once, by 0.11 of it; if all is charged three windows late, by 0.29.
 *
 * Context: any.
 * Return: bytes written back for each byte read, 16.16 fixed point.
 */
u32 memio_cpu_window(struct memio_cpu_estimate *e, const struct memio_seen *seen,
		     u64 missed, u64 paid)
{
	u64 dirtied, victims = written_back(seen, &dirtied);
	u64 devices, back, over;
	s64 most = DUE_MOST;
	u32 price, more;

	e->owed += dirtied;
	devices = least(victims, e->owed);
	e->owed = least(e->owed - devices, OWED_MOST);
	back = victims - devices;
	/* Before the first read there is nothing that could be paid for with it. */
	if (!missed && !e->rate.all)
		return 0;
	back *= MEMIO_LINE_BYTES;
	price = rate_window(&e->rate, back, missed * MEMIO_LINE_BYTES, CPU_SMOOTH);

	over = DUE_SPREAD * e->rate.all;
	if (over < DUE_OVER)
		over = DUE_OVER;
	/* What is due for longer than that won't be: nobody reads. */
	if (most < (s64)over)
		most = over;
	e->due += (s64)back - (s64)paid;
	if (e->due > most)
		e->due = most;
	if (e->due < -most)
		e->due = -most;
	if (e->due < 0) {
		more = ratio(-e->due, over);
		return price > more ? price - more : 0;
	}
	more = ratio(e->due, over);
	return more < HIGH - price ? price + more : HIGH;
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
		if (kind == MEMIO_MISS)
			cost->from_write = group_lines(seen, MEMIO_WRITES, MEMIO_MISSES) +
					   partial;
		else
			cost->from_write = dirtied_lines(seen);
	}

	cost->to_read *= MEMIO_LINE_BYTES;
	cost->to_write *= MEMIO_LINE_BYTES;
	cost->from_read *= MEMIO_LINE_BYTES;
	cost->from_write *= MEMIO_LINE_BYTES;
}

/* A line that has cost a line, or nothing */
static const struct memio_rate all = { .mem = MEMIO_LINE_BYTES, .all = MEMIO_LINE_BYTES };
static const struct memio_rate none = { .all = MEMIO_LINE_BYTES };

/*
 * By chance, few lines may cost more than themselves, and as often less: each counts as it is, or
 * all together would cost too little. What is charged is a line for a line at most.
 */
static u32 lasting_price(struct memio_rate *r, u32 price, u64 bytes)
{
	u64 keep = bytes < LASTING ? least(r->all, LASTING - bytes) : 0;

	r->mem = mul_u64_u64_div_u64(r->mem, keep, r->all);
	r->mem += mul_u64_u32_shr(bytes, price, MEMIO_PRICE_SHIFT);
	r->all = keep + bytes;
	return least(ratio(r->mem, r->all), MEMIO_PRICE_ONE);
}

/**
 * memio_lasting_init - begin, knowing nothing
 * @l:	of a device
 *
 * As in memio_estimate_init(), a byte costs a byte. Prices may be read meanwhile.
 *
 * Context: any, one at a time for each @l.
 */
void memio_lasting_init(struct memio_lasting *l)
{
	l->to_read = all;
	l->to_write = none;
	l->from_read = none;
	l->from_write = all;
	WRITE_ONCE(l->price.to_read, MEMIO_PRICE_ONE);
	WRITE_ONCE(l->price.to_write, 0);
	WRITE_ONCE(l->price.from_read, 0);
	WRITE_ONCE(l->price.from_write, MEMIO_PRICE_ONE);
	WRITE_ONCE(l->price.late_read, 0);
	WRITE_ONCE(l->price.late_write, MEMIO_PRICE_ONE);
}

/**
 * memio_lasting_window - what a window adds to the price that limits are charged at
 * @l:		what is known of a device from the windows before
 * @price:	what its bytes cost in the window
 * @to:		bytes of lines that it has moved in it, to it: those that @price rests on
 * @from:	likewise, from it
 *
 * See "Limits" above. What is claimed late has a mean of its own (memio_late_window()). Who reads
 * prices meanwhile may have one of before and another that is new.
 *
 * Context: any, one at a time for each @l.
 */
void memio_lasting_window(struct memio_lasting *l, const struct memio_price *price,
			  u64 to, u64 from)
{
	WRITE_ONCE(l->price.to_read, lasting_price(&l->to_read, price->to_read, to));
	WRITE_ONCE(l->price.to_write, lasting_price(&l->to_write, price->to_write, to));
	WRITE_ONCE(l->price.from_read, lasting_price(&l->from_read, price->from_read, from));
	WRITE_ONCE(l->price.from_write, lasting_price(&l->from_write, price->from_write, from));
	WRITE_ONCE(l->price.late_read, price->late_read);
	WRITE_ONCE(l->price.late_write, price->late_write);
}

/* See "Prices" above. */
static void check_window(struct memio_check *c, u64 counted, u64 io)
{
	u64 sum = c->counted + c->io;
	u64 fresh, out;

	c->fresh_counted += least(counted, CHECK_MOST);
	c->fresh_io += least(io, CHECK_MOST);
	fresh = c->fresh_counted + c->fresh_io;
	if (!fresh)
		return;

	c->windows++;
	c->quiet = counted + io <= fresh / CHECK_CALM ? c->quiet + 1 : 0;
	if (c->quiet < CHECK_QUIET && c->windows < CHECK_WINDOWS)
		return;

	out = least(fresh, sum / SMOOTH);
	if (sum > 2 * CHECK_LEAST)
		out += sum / FORGET;
	if (out) {
		c->counted -= mul_u64_u64_div_u64(c->counted, out, sum);
		c->io -= mul_u64_u64_div_u64(c->io, out, sum);
	}
	c->counted += c->fresh_counted;
	c->io += c->fresh_io;
	c->fresh_counted = 0;
	c->fresh_io = 0;
	c->windows = 0;
	c->quiet = 0;
}

/**
 * memio_check_permille - what the counters saw, in thousandths of what was accounted
 * @c:	the check of a direction, &struct memio_estimate.check_to for instance
 *
 * 1000 if devices moved full lines and memio accounted each byte, and before
 * anything was moved. More means lines that were moved in part, or DMA that memio
 * does not account; less means that bytes are accounted which did not pass the
 * package's cache. As a line counts as 64 bytes even if a descriptor of 16 is all
 * that was moved, the worst honest case is small packets: 64 bytes, not aligned,
 * and a descriptor are 3 lines, 192 counted for 80. Hence MEMIO_CHECK_HIGH;
 * MEMIO_CHECK_LOW leaves room for the scaling.
 *
 * Context: any.
 * Return: the ratio in thousandths, saturating.
 */
u32 memio_check_permille(const struct memio_check *c)
{
	if (!c->io || c->counted / c->io >= U32_MAX / 1000)
		return U32_MAX;
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
	return permille >= MEMIO_CHECK_LOW && permille <= MEMIO_CHECK_HIGH;
}

/**
 * memio_estimate_init - begin, knowing nothing
 * @e:		the state of a package
 * @kind:	the estimator
 *
 * Until devices moved something a byte costs a byte, which is an upper bound: as if
 * a line had been moved that cost a line.
 *
 * Context: any, one at a time for each @e.
 */
void memio_estimate_init(struct memio_estimate *e, enum memio_estimator kind)
{
	const struct memio_check check = { .counted = CHECK_LEAST, .io = CHECK_LEAST };

	memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->to_read.lasting = all;
	e->to_write.lasting = none;
	e->from_read.lasting = none;
	e->from_write.lasting = all;
	e->check_to = check;
	e->check_from = check;
}

static void check_pause(struct memio_check *c)
{
	c->fresh_counted = 0;
	c->fresh_io = 0;
	c->windows = 0;
	c->quiet = 0;
}

/**
 * memio_estimate_pause - nothing was counted for a while
 * @e:	the state of the package
 *
 * What went on meanwhile was not seen, so what comes is likely to be another load: as after
 * MEMIO_PAUSE windows without a line. What the check has not taken up is dropped: of its two
 * halves one may have been missed.
 *
 * Context: any, one at a time for each @e.
 */
void memio_estimate_pause(struct memio_estimate *e)
{
	e->to_read.lasting.pause = MEMIO_PAUSE;
	e->to_write.lasting.pause = MEMIO_PAUSE;
	e->from_read.lasting.pause = MEMIO_PAUSE;
	e->from_write.lasting.pause = MEMIO_PAUSE;
	e->late = (struct memio_late){};
	check_pause(&e->check_to);
	check_pause(&e->check_from);
}

/**
 * memio_late_window - what a window adds to the price of what is claimed late
 * @l:		what is known from the windows before
 * @from:	bytes of lines that were moved and accounted in the window, from the device
 * @read:	what each has cost: memory bytes read, 16.16
 * @write:	written
 *
 * What is received is claimed when it is read, in a window that may have little
 * else, and so another price: when a device moves much in one window and what the
 * counters have left over is priced in the next, in which the reader runs, readers
 * would pay more than the device. So they pay what the last bytes have come to, on the
 * average: as much goes as comes in, at most a part of LATE, and one of FORGET besides.
 *
 * Context: any, one at a time for each @l.
 */
void memio_late_window(struct memio_late *l, u64 from, u32 read, u32 write)
{
	u64 out;

	if (from && l->io) {
		out = least(from, l->io / LATE) + l->io / FORGET;
		l->read -= mul_u64_u64_div_u64(l->read, out, l->io);
		l->write -= mul_u64_u64_div_u64(l->write, out, l->io);
		l->io -= out;
	}
	l->io += from;
	l->read += mul_u64_u32_shr(from, read, MEMIO_PRICE_SHIFT);
	l->write += mul_u64_u32_shr(from, write, MEMIO_PRICE_SHIFT);
	l->price_read = l->io ? ratio(l->read, l->io) : read;
	l->price_write = l->io ? ratio(l->write, l->io) : write;
}

/**
 * memio_estimate_window - the prices of a window
 * @e:		the state of the package; @e->kind is the estimator
 * @seen:	what the counters saw in the window
 * @to:		bytes of lines to devices that were accounted in the window
 * @from:	bytes of lines from devices, likewise
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
	u64 all_to, all_from;

	memio_window_lines(seen, &all_to, &all_from);
	memio_window_cost(e->kind, seen, &cost);
	check_window(&e->check_to, all_to, to);
	check_window(&e->check_from, all_from, from);

	if (e->kind == MEMIO_SEED) {
		price->to_read = memio_flow_window(&e->to_read, cost.to_read + cost.from_read,
						   all_to + all_from, to + from);
		price->to_write = memio_flow_window(&e->to_write, cost.to_write + cost.from_write,
						    all_to + all_from, to + from);
		price->from_read = price->to_read;
		price->from_write = price->to_write;
	} else {
		price->to_read = memio_flow_window(&e->to_read, cost.to_read, all_to, to);
		price->to_write = memio_flow_window(&e->to_write, cost.to_write, all_to, to);
		price->from_read = memio_flow_window(&e->from_read, cost.from_read, all_from, from);
		price->from_write = memio_flow_window(&e->from_write, cost.from_write, all_from,
						      from);
	}

	memio_late_window(&e->late, from, price->from_read, price->from_write);
	price->late_read = e->late.price_read;
	price->late_write = e->late.price_write;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libmemio, inside: what an IO byte costs in memory, by the caches' counters of a kernel that has
 * no memio
 */
#ifndef MEMIO_PRICES_H
#define MEMIO_PRICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct mio_extent - what the lines of all devices cost in a window, in one direction
 * @bytes:	lines that were counted
 * @accounted:	bytes that were accounted, or claimed where these are more
 * @read, @write: memory bytes that the lines cost at least, and at most
 */
struct mio_extent {
	double bytes, accounted, read[2], write[2];
};

/**
 * struct mio_price - memory bytes for an IO byte
 * @known:	else the bytes have no price
 * @to_read:	read, for a byte to a device
 * @from_read:	read, for a byte from a device, of which a part of a line was written
 * @from_write:	written, for a byte from a device
 * @to_write:	written, for a byte to a device
 * @to, @from:	what bounds are made from
 */
struct mio_price {
	int known;
	double to_read, from_read, from_write, to_write;
	struct mio_extent to, from;
};

/**
 * struct mio_moved - what devices moved in a window, in one direction
 * @bytes:	by the counters: whole lines, with descriptors and completions
 * @read, @write: memory bytes that these cost
 * @accounted:	bytes that were accounted to devices
 * @claimed:	bytes that were accounted to groups: those that are read late came earlier
 * @last_read, @last_write: the price of a byte in the windows before
 * @all:	the same, for bounds: what was accounted in earlier windows stays in it
 */
struct mio_moved {
	uint64_t bytes, read, write, accounted, claimed;
	double last_read, last_write;
	struct mio_extent all;
};

/* Of the bytes that were accounted; what moves beyond that has another cause */
#define MIO_ALONG_MOST	(1. / 3)

/* A request is accounted when it is sent to the device, which may move it in the next window. */
#define MIO_AHEAD_MOST	(32ull << 20)

/**
 * struct mio_ahead - what one window has of another's; all zeroes at first
 * @bytes:	so many were accounted and had not moved yet
 * @read, @write: memory bytes that were charged for them, at the price of before; below 0: what
 *		they cost beyond that, and nobody has been charged
 * @behind:	so many moved in the last window and were charged along with others: packets that
 *		the stack had not seen yet, or descriptors
 */
struct mio_ahead {
	uint64_t bytes, behind;
	double read, write;
};

/* A window's own price: no byte costs more than a byte. */
static inline double mio_own_price(uint64_t cost, uint64_t bytes)
{
	return cost < bytes ? (double)cost / bytes : 1;
}

/**
 * mio_begin - in the first window that moves something, its own price is all that is known
 * @m:		what moved, before it is settled; last_read and last_write are those of nothing
 * @begun:	something has moved; false at first
 *
 * For instance 32 MiB are asked of a disk, and 20 move in the first window, of which 2 are written
 * to memory. The other 12 are charged a tenth, too; before anything moved the lasting price is 1.
 */
static inline void mio_begin(struct mio_moved *m, bool *begun)
{
	if (!*begun && m->bytes) {
		m->last_read = mio_own_price(m->read, m->bytes);
		m->last_write = mio_own_price(m->write, m->bytes);
	}
	*begun |= m->bytes > 0;
}

/* Of @cost, what is left for @bytes: no less than nothing, and no more than all; the rest waits */
static inline uint64_t mio_settled(double cost, uint64_t bytes, double *charged)
{
	const double left = cost < 0 ? 0 : cost > bytes ? bytes : cost;

	*charged += left - cost;
	return left;
}

/**
 * mio_settle - leave out what was accounted, and charged, in earlier windows
 * @m:		what moved in this one; it becomes less
 * @a:		what is remembered
 * @both:	bytes that were accounted in it, in both directions
 *
 * So each byte that moves is charged once, at its own price: 100 bytes that were charged as 50
 * memory bytes, and cost 80, leave 30 for the bytes that come with them. Those are mostly of the
 * same load.
 */
static inline void mio_settle(struct mio_moved *m, struct mio_ahead *a, uint64_t both)
{
	uint64_t paid = a->bytes < m->bytes ? a->bytes : m->bytes;
	const double part = a->bytes ? (double)paid / a->bytes : 1;
	const double read = a->read * part, write = a->write * part;
	uint64_t more;

	a->bytes -= paid;
	m->bytes -= paid;
	a->read -= read;
	a->write -= write;
	m->read = mio_settled(m->read - read, m->bytes, &a->read);
	m->write = mio_settled(m->write - write, m->bytes, &a->write);
	if (m->accounted > m->bytes) {
		more = m->accounted - m->bytes;
		/* These moved in the window before, and were paid by others. */
		paid = more < a->behind ? more : a->behind;
		m->bytes += paid;
		more -= paid;
		a->bytes += more;
		a->read += more * m->last_read;
		a->write += more * m->last_write;
	}
	more = m->bytes > m->accounted ? m->bytes - m->accounted : 0;
	a->behind = more < both * MIO_ALONG_MOST ? more : both * MIO_ALONG_MOST;
	/* What never moves, as a request that failed, is forgotten. */
	if (a->bytes > MIO_AHEAD_MOST)
		*a = (struct mio_ahead) { 0 };
}

/* The price of a byte of @n: those beyond what moved have the price of the windows before */
static inline double mio_price(const struct mio_moved *m, uint64_t n, uint64_t cost, double last)
{
	if (!n)
		return last;
	if (n <= m->bytes)
		return (double)cost / m->bytes;
	return (cost + (n - m->bytes) * last) / n;
}

/* What moved along with a byte that was accounted in either direction, by a memory byte's cost */
static inline double mio_along(const struct mio_moved *m, uint64_t cost, uint64_t both)
{
	double more;

	if (!both || m->bytes <= m->accounted)
		return 0;
	more = (double)(m->bytes - m->accounted) / both;
	return (more < MIO_ALONG_MOST ? more : MIO_ALONG_MOST) * cost / m->bytes;
}

static inline struct mio_extent mio_extent_of(const struct mio_moved *m, uint64_t n)
{
	struct mio_extent e = m->all;

	e.accounted = n;
	return e;
}

static inline struct mio_price mio_price_for(const struct mio_moved *to, uint64_t n_to,
					     const struct mio_moved *from, uint64_t n_from)
{
	const uint64_t both = to->accounted + from->accounted;
	const double read = mio_along(to, to->read, both) + mio_along(from, from->read, both);
	const double write = mio_along(to, to->write, both) + mio_along(from, from->write, both);

	return (struct mio_price) {
		.known = 1,
		.to_read = mio_price(to, n_to, to->read, to->last_read) + read,
		.to_write = mio_price(to, n_to, to->write, to->last_write) + write,
		.from_read = mio_price(from, n_from, from->read, from->last_read) + read,
		.from_write = mio_price(from, n_from, from->write, from->last_write) + write,
		.to = mio_extent_of(to, n_to),
		.from = mio_extent_of(from, n_from),
	};
}

/*
 * The smallest frame has 60 bytes. It fills two lines in part, and two descriptors are read or
 * written: four lines in each direction.
 */
#define MIO_BESIDE_MOST	4.

/* Where several share what moved, the shares are off by this part of the smaller one: see below */
#define MIO_SLACK	4

/**
 * struct mio_part - the bytes that bounds are asked of
 * @mine:	bytes in this direction
 * @near:	in both, as descriptors of one are lines of the other; and in the window before, of
 *		which some may move in this one
 */
struct mio_part {
	double mine, near;
};

/**
 * mio_bound - what some of the bytes that were accounted in a window cost at least and at most
 * @e:		what all cost, in one direction
 * @cost:	@e->read or @e->write
 * @part:	the bytes
 * @least, @most: what the bytes cost is added to these
 *
 * Any other line may have cost a line, and then @mine cost the rest of what was counted; or the
 * others cost nothing, and @mine cost all of it, but no more than a line for each of their lines.
 * Lines that nobody accounted (descriptors, the rest of a packet's last line) can be of anybody.
 * Bytes that no line was counted for move in another window, and can cost anything. That some do
 * is not seen where others move besides: so shares are a little less certain than they look.
 *
 * For instance lines of 1,000 bytes cost 900, and 960 bytes were accounted, 240 of these to a
 * group: its bytes cost from 900 - (1,000 - 180) = 80 to 240 + 40 = 280, and those of the device
 * 860 to 900.
 */
static inline void mio_bound(const struct mio_extent *e, const double cost[2],
			     const struct mio_part *part, double *least, double *most)
{
	double beside = e->bytes - e->accounted, elsewhere = 0, mine = part->mine, others, n;

	if (beside < 0) {
		elsewhere = -beside < mine ? -beside : mine;
		beside = 0;
	}
	if (beside > part->near * MIO_BESIDE_MOST)
		beside = part->near * MIO_BESIDE_MOST;
	others = e->accounted - mine;
	mine -= elsewhere;
	n = mine + beside;
	*most += (cost[1] < n ? cost[1] : n) + elsewhere * (1 + MIO_ALONG_MOST);
	if (others > 0)
		mine -= (mine < others ? mine : others) / MIO_SLACK;
	others = e->bytes > mine ? e->bytes - mine : 0;
	if (cost[0] > others)
		*least += cost[0] - others;
}

/**
 * mio_price_of - the prices of the bytes that were accounted to devices in a window
 * @to, @from:	what devices moved
 *
 * Descriptors, completions and the rest of a packet's last line are not accounted, and no packet
 * and no request is without. A datagram of 1442 bytes to a device has some 62 bytes more in this
 * direction, and 16 in the other. A read of 4 KiB from a disk takes a command of 64 bytes.
 * So the bytes pay for them, up to a third of what they are themselves: beyond that, a device does
 * something that nobody accounts, and its lines are nobody's. Where less than that moved besides,
 * the memory bytes of all are what the counters saw.
 */
static inline struct mio_price mio_price_of(const struct mio_moved *to,
					    const struct mio_moved *from)
{
	return mio_price_for(to, to->accounted, from, from->accounted);
}

static inline uint64_t mio_more_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * mio_price_claimed: of the bytes that groups and tasks have claimed, some of which devices moved
 * in the windows before. A device has paid for those then, so this is no price of its bytes.
 */
static inline struct mio_price mio_price_claimed(const struct mio_moved *to,
						 const struct mio_moved *from)
{
	return mio_price_for(to, mio_more_of(to->claimed, to->accounted), from,
			     mio_more_of(from->claimed, from->accounted));
}

struct mio_prices;

/*
 * mio_prices_open: of the counters "hsx" and so on, whose PMUs are called so; counting begins.
 * NULL: it can't, and @why says so. mio_prices_source: that name
 */
struct mio_prices *mio_prices_open(const char *source, const char *boxes, char *why, size_t size);
void mio_prices_close(struct mio_prices *p);
const char *mio_prices_source(const struct mio_prices *p);
/*
 * mio_prices_window: what was moved since the last call; @to and @from have what was accounted, and
 * get all but what was claimed. False: others held the counters all that time
 */
bool mio_prices_window(struct mio_prices *p, struct mio_moved *to, struct mio_moved *from);

#endif /* MEMIO_PRICES_H */

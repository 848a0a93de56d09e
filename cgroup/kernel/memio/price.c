// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: windows, prices, and the meters that bring them together with bytes
 *
 * What an IO byte costs in memory bytes is known only after the fact, when the
 * sampler has read the counters at the end of a window (10 ms, say). Whoever
 * charges bytes can't wait for that, and whoever reads sums should not have to go
 * through all who were charged. So a meter keeps the bytes of the window that is
 * open as pending, with the window's number, and turns them into memory bytes
 * when it is next touched in a later window, at exactly the price of their own.
 *
 *	window		7	8	9	10
 *	price		0.5	1.0	1.0	(open)
 *	charged		1000		400		touched in 7 and 9, read in 10
 *	memory bytes		500		400
 *
 * What is priced are whole lines, as these are what the counters see: bytes are
 * charged together with the lines that they lie in. Prices are remembered for MEMIO_WINDOWS
 * windows, 10 s at the default interval. A meter that nobody touched for longer
 * takes the last price that there was: it is what its device pays now, and only the
 * bytes of a single window can be concerned. Of these a group and one below it may have
 * different prices, if a neighbour's charge has touched the one's meter in time. Each meter
 * rounds what is priced down, so that a group can have some bytes of memory less than those
 * below it.
 *
 * With the estimator "device" a window has prices of some devices beside the
 * common one, which all others pay (learn.c).
 *
 * A meter has three sums of memory bytes in each direction: by the price, and by the least and
 * the most that a byte can have cost in that window (bounds.c). The price is between the two, or
 * they are moved to it. Where several owners had a part of what a device moved, the bounds of each
 * are further apart: that is so if another than before was charged in one of the windows that
 * shares are taken over, or after that. A group's meter has a CPU's part of its bytes, and so wider
 * bounds than the group has: they are bounds nevertheless. A line costs nothing or a line where
 * there are no bounds, and where bytes have no price, or that of another window.
 *
 * Without a sample (nobody wants figures, or no counters) the window stays open, and
 * ends up without a price: its bytes count one for one, an upper bound for whole
 * lines, as each passes the memory at most once, and are counted as unpriced besides.
 * It may be hours long, and when there are prices again this is not to be forgotten: the
 * numbers of sampled windows are odd, those of others even (above they are in a row). As they will
 * never have a price, such bytes count so at once: a reader that comes when sampling has just begun
 * finds them in the memory bytes, and not in the IO bytes alone.
 */

#include <linux/bits.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/string.h>

#include "internal.h"

#include <trace/events/memio.h>

/* Twice the longest interval of sampling. */
#define MEMIO_OPEN_NS	(2ull * NSEC_PER_SEC)
/* Of a longer window some may have been told by then that it has no price. */
#define MEMIO_WINDOW_NS	(MEMIO_OPEN_NS * 3 / 4)

/* Less than what it takes to come round, and more than any processor is stopped for */
#define MEMIO_AHEAD	BIT(20)

struct memio_pricelist memio_prices[MEMIO_PACKAGES + 1];

static bool is_sampled(u32 window)
{
	return window & 1;
}

/* Where a sampled window is in the ring */
static u32 place(u32 window)
{
	return (window >> 1) % MEMIO_WINDOWS;
}

/* The last sampled window that is closed */
static u32 before(u32 now)
{
	return (now & ~1) - 1;
}

/* As it is, unless errors are wanted. */
static struct memio_price skewed_price(struct memio_price p)
{
	p.to_read = memio_skewed(MEMIO_SKEW_PRICES, p.to_read);
	p.to_write = memio_skewed(MEMIO_SKEW_PRICES, p.to_write);
	p.from_read = memio_skewed(MEMIO_SKEW_PRICES, p.from_read);
	p.from_write = memio_skewed(MEMIO_SKEW_PRICES, p.from_write);
	p.late_read = memio_skewed(MEMIO_SKEW_PRICES, p.late_read);
	p.late_write = memio_skewed(MEMIO_SKEW_PRICES, p.late_write);
	return p;
}

static struct memio_own skewed_own(struct memio_own own)
{
	for (int i = 0; i < MEMIO_LEARNT; i++) {
		own.to_read[i] = memio_skewed(MEMIO_SKEW_PRICES, own.to_read[i]);
		own.from_read[i] = memio_skewed(MEMIO_SKEW_PRICES, own.from_read[i]);
		own.from_write[i] = memio_skewed(MEMIO_SKEW_PRICES, own.from_write[i]);
		own.late_read[i] = memio_skewed(MEMIO_SKEW_PRICES, own.late_read[i]);
		own.late_write[i] = memio_skewed(MEMIO_SKEW_PRICES, own.late_write[i]);
	}
	return own;
}

/**
 * memio_price_bounds - the bounds of the window that is about to be closed
 * @package:	the package
 * @bounds:	the bounds
 *
 * Context: as memio_price_publish(), which comes next.
 */
void memio_price_bounds(unsigned int package, const struct memio_bounds *bounds)
{
	struct memio_pricelist *list = &memio_prices[package];

	if (!list->bounds)
		return;
	list->bounds[place(list->now)] = *bounds;
	list->fresh = true;
}

/**
 * memio_price_publish - close a package's window, with its price
 * @package:	the package
 * @price:	memory bytes for each IO byte; not read if it isn't valid
 * @own:	prices that devices have of their own; NULL: none has
 * @valid:	false: the window was not sampled throughout; nor is one that is much
 *		longer than any interval, as the timer was late
 * @now_ns:	the time, by ktime_get_ns()
 * @window_ns:	how long the window was
 * @sampled:	whether the next one is, or nobody wants figures now
 *
 * Context: any, but one at a time for each package.
 */
void memio_price_publish(unsigned int package, const struct memio_price *price,
			 const struct memio_own *own, bool valid, u64 now_ns,
			 u32 window_ns, bool sampled)
{
	struct memio_pricelist *list = &memio_prices[package];
	/* Of one that is not sampled it is the next one's, which is open until it is written. */
	struct memio_window *w = &list->window[place(list->now)];
	const struct memio_window *last = &list->window[place(before(list->now))];
	u32 next = sampled ? (list->now + 1) | 1 : (list->now + 2) & ~1;

	/* Late may be the timer, or who was to publish what it has read. */
	valid = valid && is_sampled(list->now) && window_ns <= MEMIO_WINDOW_NS &&
		(!list->updated_ns || ktime_get_ns() - list->updated_ns <= MEMIO_WINDOW_NS);
	trace_memio_sample(package, list->now, valid, valid ? price->to_read : 0,
			   valid ? price->to_write : 0, valid ? price->from_read : 0,
			   valid ? price->from_write : 0);
	w->valid = valid;
	w->bounded = valid && list->fresh;
	list->fresh = false;
	w->known = valid || last->known;
	w->from = valid ? list->now : last->from;
	w->price = valid ? skewed_price(*price) : last->price;
	w->own = valid ? own && list->own : last->own;
	if (w->own)
		list->own[place(list->now)] = valid ? skewed_own(*own) :
					      list->own[place(before(list->now))];
	WRITE_ONCE(list->last_valid, valid);
	WRITE_ONCE(list->window_ns, window_ns);
	WRITE_ONCE(list->updated_ns, now_ns);

	/* The entry is complete for whoever sees the next window. */
	smp_store_release(&list->now, next);
}

static u64 at(u64 bytes, u32 price)
{
	return mul_u64_u32_shr(bytes, price, MEMIO_PRICE_SHIFT);
}

/* Adds what @io costs at a price to @sum; without one, one for one. */
static void add_cost(struct memio_bytes *sum, const struct memio_price *p,
		     const struct memio_io *io)
{
	if (!p) {
		sum->read += io->to;
		sum->write += io->from + io->late;
		sum->unpriced_to += io->to;
		sum->unpriced_from += io->from + io->late;
		return;
	}

	sum->read += at(io->to_lines, p->to_read) + at(io->from_lines, p->from_read) +
		     at(io->late_lines, p->late_read);
	sum->write += at(io->to_lines, p->to_write) + at(io->from_lines, p->from_write) +
		      at(io->late_lines, p->late_write);
}

static void add_span(u64 *least, u64 *most, u64 bytes, u32 price, const struct memio_span *span)
{
	*least += at(bytes, min(price, span->least));
	*most += at(bytes, max(price, span->most));
}

/* Lines of which a device has written a part only may have had to be read. */
static u64 most_fills(u64 bytes, u64 lines)
{
	return lines > bytes ? min(lines, MEMIO_LINE_BYTES * (lines - bytes)) : 0;
}

/* Adds the least and the most that @io costs, where nothing is known but the price, if that is. */
static void add_unbounded(struct memio_bytes *sum, const struct memio_price *p,
			  const struct memio_io *io)
{
	const struct memio_span any = { .most = MEMIO_PRICE_ONE }, none = {};
	u64 fills = most_fills(io->from, io->from_lines) + most_fills(io->late, io->late_lines);

	if (!p) {
		sum->read_max += max(io->to, io->to_lines) + fills;
		sum->write_max += max(io->from, io->from_lines) + max(io->late, io->late_lines);
		return;
	}
	sum->read_max += fills;
	add_span(&sum->read_min, &sum->read_max, io->to_lines, p->to_read, &any);
	add_span(&sum->write_min, &sum->write_max, io->to_lines, p->to_write, &none);
	add_span(&sum->read_min, &sum->read_max, io->from_lines, p->from_read, &none);
	add_span(&sum->write_min, &sum->write_max, io->from_lines, p->from_write, &any);
	add_span(&sum->read_min, &sum->read_max, io->late_lines, p->late_read, &none);
	add_span(&sum->write_min, &sum->write_max, io->late_lines, p->late_write, &any);
}

/* Whether others than the meter's may have moved something in a window, or just before */
static bool is_shared(const struct memio_meter *m, const struct memio_device *dev, u32 window)
{
	u32 changed = m->of == MEMIO_METER_TASK ? READ_ONCE(dev->owners) : READ_ONCE(dev->groups);

	return m->of != MEMIO_METER_DEVICE &&
	       (s32)(changed - (window - 2 * MEMIO_BOUND_WINDOWS)) >= 0;
}

/* The bounds of a meter's bytes, of which the device has moved so many */
static void span_of(const struct memio_bounds *b, u16 dev, enum memio_bound_kind kind, bool shared,
		    u64 mine, u64 all, struct memio_span *span)
{
	memio_bounds_of(b, dev, kind, span);
	if (shared)
		memio_span_share(span, mine, all);
}

/* Of what is claimed late: when it was moved, and so which part it had then, is not known. */
static void late_span_of(const struct memio_bounds *b, u16 dev, enum memio_bound_kind kind,
			 bool alone, struct memio_span *span)
{
	if (alone)
		memio_bounds_of(b, dev, kind, span);
	else
		*span = (struct memio_span){ .most = MEMIO_PRICE_ONE };
}

/* As add_unbounded(), where bounds are known. */
static void add_bounds(struct memio_meter *m, const struct memio_device *dev,
		       const struct memio_bounds *b, const struct memio_price *p,
		       const struct memio_io *io, u32 window)
{
	bool shared = is_shared(m, dev, window);
	struct memio_bytes *sum = &m->sum;
	const struct memio_span none = {};
	struct memio_span span;
	u64 to, from;
	bool alone;

	alone = memio_bounds_lines(b, dev->id, &to, &from);
	shared |= !alone;
	if (io->to_lines) {
		span_of(b, dev->id, MEMIO_BOUND_TO_READ, shared, io->to_lines, to, &span);
		add_span(&sum->read_min, &sum->read_max, io->to_lines, p->to_read, &span);
		add_span(&sum->write_min, &sum->write_max, io->to_lines, p->to_write, &none);
	}
	if (io->from_lines) {
		span_of(b, dev->id, MEMIO_BOUND_FROM_READ, shared, io->from_lines, from, &span);
		add_span(&sum->read_min, &sum->read_max, io->from_lines, p->from_read, &span);
		span_of(b, dev->id, MEMIO_BOUND_FROM_WRITE, shared, io->from_lines, from, &span);
		add_span(&sum->write_min, &sum->write_max, io->from_lines, p->from_write, &span);
	}
	if (io->late_lines) {
		late_span_of(b, dev->id, MEMIO_BOUND_LATE_READ, alone, &span);
		add_span(&sum->read_min, &sum->read_max, io->late_lines, p->late_read, &span);
		late_span_of(b, dev->id, MEMIO_BOUND_LATE_WRITE, alone, &span);
		add_span(&sum->write_min, &sum->write_max, io->late_lines, p->late_write, &span);
	}
}

/*
 * What a device pays in a window, or if it has no price in the last one before it that has;
 * false: there is none.
 */
static bool last_price(const struct memio_pricelist *list, u32 window,
		       const struct memio_device *dev, struct memio_price *p)
{
	const struct memio_window *w = &list->window[place(window)];
	const struct memio_own *own;
	int i;

	if (!w->known)
		return false;
	*p = w->price;
	if (!w->own)
		return true;

	own = &list->own[place(window)];
	i = memio_own_place(own, dev->id);
	if (i < 0)
		return true;
	p->to_read = own->to_read[i];
	p->from_read = own->from_read[i];
	p->from_write = own->from_write[i];
	p->late_read = own->late_read[i];
	p->late_write = own->late_write[i];
	return true;
}

/* What a device pays in a window; false: there is no price. */
static bool price_of(const struct memio_pricelist *list, u32 window,
		     const struct memio_device *dev, struct memio_price *p)
{
	return is_sampled(window) && list->window[place(window)].valid &&
	       last_price(list, window, dev, p);
}

/* Not in the ring any more, or about to be overwritten */
static bool is_old(u32 window, u32 now)
{
	return now - window >= 2 * (MEMIO_WINDOWS - 1);
}

/*
 * Adds what @io cost, which was charged in a window that is closed. @now is the one that is
 * open, or was a while ago: then others have been written since.
 *
 * That somebody is late should not make bytes unpriced: their group may have been in time,
 * and would have fewer of them than those below it. If no window was valid since theirs, theirs
 * was not either.
 */
static void add_closed(struct memio_meter *m, const struct memio_device *dev,
		       const struct memio_io *io, u32 window, u32 now)
{
	const struct memio_pricelist *list = &memio_prices[dev->package];
	u32 open = memio_price_window(dev->package), last;
	struct memio_price p;
	bool priced;

	if (!is_sampled(window) || !is_old(window, open)) {
		priced = price_of(list, window, dev, &p);
		if (priced && list->window[place(window)].bounded) {
			add_cost(&m->sum, &p, io);
			add_bounds(m, dev, &list->bounds[place(window)], &p, io, window);
			return;
		}
	} else {
		last = before(is_old(before(now), open) ? open : now);
		priced = (s32)(list->window[place(last)].from - window) >= 0 &&
			 last_price(list, last, dev, &p);
	}
	add_cost(&m->sum, priced ? &p : NULL, io);
	add_unbounded(&m->sum, priced ? &p : NULL, io);
}

static bool any_bytes(const struct memio_io *io)
{
	return io->to || io->from || io->late;
}

/*
 * Brings a meter to a window that is open, or was a moment ago, when another CPU may have seen
 * a later one: with bytes of that it stays there. What seems to be later by far is from
 * before the numbers began again. Its lock is held.
 */
static void settle(struct memio_meter *m, const struct memio_device *dev, u32 now)
{
	if (m->window == now)
		return;

	if (any_bytes(&m->pending)) {
		if (m->window - now < MEMIO_AHEAD)
			return;
		add_closed(m, dev, &m->pending, m->window, now);
		m->pending = (struct memio_io){};
	}
	m->window = now;
}

/**
 * memio_bytes_add - add a result to a sum
 * @sum:	the sum
 * @b:		the result
 *
 * Context: any.
 */
void memio_bytes_add(struct memio_bytes *sum, const struct memio_bytes *b)
{
	sum->to += b->to;
	sum->from += b->from;
	sum->read += b->read;
	sum->write += b->write;
	sum->unpriced_to += b->unpriced_to;
	sum->unpriced_from += b->unpriced_from;
	sum->read_min += b->read_min;
	sum->read_max += b->read_max;
	sum->write_min += b->write_min;
	sum->write_max += b->write_max;
}

/**
 * memio_meter_init - begin at zero
 * @m:	the meter
 * @of:	whose bytes it counts
 */
void memio_meter_init(struct memio_meter *m, enum memio_meter_of of)
{
	memset(m, 0, sizeof(*m));
	m->of = of;
	raw_spin_lock_init(&m->lock);
}

/**
 * memio_meter_add - charge bytes
 * @m:		the meter
 * @dev:	the device that moved them
 * @window:	memio_price_window() of its package, a moment ago: asked for once, so that the
 *		same bytes have the same price in each meter that they are charged to
 * @io:		the bytes
 *
 * Context: any; interrupts are turned off.
 */
void memio_meter_add(struct memio_meter *m, const struct memio_device *dev, u32 window,
		     const struct memio_io *io)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&m->lock, flags);
	settle(m, dev, window);
	/* What is not sampled will never have a price: whoever looks need not wait for one. */
	if (likely(m->window == window && is_sampled(window))) {
		m->pending.to += io->to;
		m->pending.from += io->from;
		m->pending.late += io->late;
		m->pending.to_lines += io->to_lines;
		m->pending.from_lines += io->from_lines;
		m->pending.late_lines += io->late_lines;
	} else {
		add_closed(m, dev, io, window, m->window);
	}
	WRITE_ONCE(m->sum.to, m->sum.to + io->to);
	WRITE_ONCE(m->sum.from, m->sum.from + io->from + io->late);
	raw_spin_unlock_irqrestore(&m->lock, flags);
}

/* Gives what is pending its price, or none. The meter's lock is held. */
static void look(struct memio_meter *m, const struct memio_device *dev, u32 window)
{
	const struct memio_pricelist *list = &memio_prices[dev->package];
	u64 now, updated;

	settle(m, dev, window);
	/* Mostly there is nothing, and the clock need not be asked. */
	if (!any_bytes(&m->pending))
		return;
	/* In this order, or a window that is closed meanwhile seems to have been open for long. */
	now = ktime_get_ns();
	updated = READ_ONCE(list->updated_ns);
	if (!updated || (s64)(now - updated) > (s64)MEMIO_OPEN_NS) {
		/* Who has asked for the window long ago: theirs may be closed. */
		settle(m, dev, memio_price_window(dev->package));
		add_cost(&m->sum, NULL, &m->pending);
		add_unbounded(&m->sum, NULL, &m->pending);
		m->pending = (struct memio_io){};
	}
}

/**
 * memio_meter_read - add what a meter shows to a sum
 * @m:		the meter
 * @dev:	as in memio_meter_add()
 * @window:	as there: once for a group and those above it
 * @sum:	what it is added to
 *
 * While windows are sampled, what is pending is not in the memory bytes yet: they
 * would go back if its price came out lower. If no window was closed for
 * MEMIO_OPEN_NS, nobody samples, and it is unpriced from here on: having been shown
 * so it must not get a price after all, which a timer that is very late, or the last
 * price when nobody looks for long, would give it.
 *
 * Context: any; interrupts are turned off.
 * Return: whether anything was pending.
 */
bool memio_meter_read(struct memio_meter *m, const struct memio_device *dev, u32 window,
		      struct memio_bytes *sum)
{
	unsigned long flags;
	bool pending;

	raw_spin_lock_irqsave(&m->lock, flags);
	pending = any_bytes(&m->pending);
	look(m, dev, window);
	memio_bytes_add(sum, &m->sum);
	raw_spin_unlock_irqrestore(&m->lock, flags);
	return pending;
}

/**
 * memio_meter_join - add what a meter has to another, where what is pending gets its price
 * @to:		the other
 * @carried:	the sum beside it, of what has its price
 * @m:		the meter, which nobody adds to any more
 * @dev:	as in memio_meter_add()
 *
 * Context: any; interrupts are turned off.
 */
void memio_meter_join(struct memio_meter *to, struct memio_bytes *carried,
		      struct memio_meter *m, const struct memio_device *dev)
{
	struct memio_bytes sum;
	struct memio_io pending;
	unsigned long flags;
	u32 window;

	raw_spin_lock_irqsave(&m->lock, flags);
	look(m, dev, memio_price_window(dev->package));
	sum = m->sum;
	pending = m->pending;
	window = m->window;
	raw_spin_unlock_irqrestore(&m->lock, flags);

	sum.to -= pending.to;
	sum.from -= pending.from + pending.late;
	memio_bytes_add(carried, &sum);
	if (any_bytes(&pending))
		memio_meter_add(to, dev, window, &pending);
}

/**
 * memio_price_lasting - bring a device's lasting price up to date
 * @dev:	the device, of the package whose window was just published
 * @to:		bytes of lines that it has moved in it, to it
 * @from:	likewise, from it
 *
 * Context: any, but one at a time for each package, as memio_price_publish().
 */
void memio_price_lasting(struct memio_device *dev, u64 to, u64 from)
{
	const struct memio_pricelist *list = &memio_prices[dev->package];
	struct memio_price p;

	if (list->last_valid && price_of(list, before(list->now), dev, &p))
		memio_lasting_window(&dev->lasting, &p, to, from);
}

/**
 * memio_price_bounded - what IO bytes cost by what the last ones of their device did
 * @dev:	the device
 * @io:		the bytes
 * @read:	memory bytes read
 * @write:	memory bytes written
 *
 * For what can't wait for the price of the window that is open. A price is a memory byte
 * for each IO byte at most, of reads and of writes; without one, as nobody samples or the
 * counters are lost, it is that.
 *
 * Context: any.
 */
void memio_price_bounded(const struct memio_device *dev, const struct memio_io *io,
			 u64 *read, u64 *write)
{
	const struct memio_price *last = &dev->lasting.price;
	struct memio_bytes sum = {};
	struct memio_price p;

	if (READ_ONCE(memio_prices[dev->package].last_valid)) {
		p.to_read = READ_ONCE(last->to_read);
		p.to_write = READ_ONCE(last->to_write);
		p.from_read = READ_ONCE(last->from_read);
		p.from_write = READ_ONCE(last->from_write);
		p.late_read = READ_ONCE(last->late_read);
		p.late_write = READ_ONCE(last->late_write);
		add_cost(&sum, &p, io);
	} else {
		add_cost(&sum, NULL, io);
	}
	*read = min(sum.read, io->to_lines + io->from_lines + io->late_lines);
	*write = min(sum.write, io->to_lines + io->from_lines + io->late_lines);
}

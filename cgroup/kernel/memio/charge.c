// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: the hot path
 *
 * Each packet and each bio is charged twice: to its device's total when it
 * moves, and to its owner (with the owner's groups) when it is known who that is,
 * which for what is sent, written or read from a disk is the same moment, and for what
 * is received comes later, when a task reads it. To do all that at once would
 * take a dozen cache lines. So it goes through a stock, as memcg's pages do: a few
 * entries for each CPU, each of an owner and a device, that gather bytes until
 * there are MEMIO_STOCK of them, or the entry is wanted for another owner.
 *
 *	64 KiB at 10 Gbit/s is every 52 us: with 800 packets in one, what
 *	happens at the flush (some 100 ns) is 0.1 ns for a packet.
 *
 * The error is what the stocks hold: whoever reads sums hands all of them on first, and
 * the sampler those of its own CPU. It shows only in the time, by up to
 * MEMIO_STOCK bytes for each entry, at which bytes meet a price.
 *
 * Limits do not wait for so much: a group would be three periods of 20 MB/s late. They are
 * charged at once, but for what is small, descriptors and little packets, which waits for the
 * next charge, or until there are MEMIO_DUE bytes of it.
 *
 * A stock is its CPU's, but for readers, who hand on what it holds from where they are: no CPU is
 * interrupted because another wants to know, be it isolated or not. So that a charge needs no lock,
 * an entry's sums only grow, and its CPU alone writes them. What of them was handed on is in a
 * second set, beside a lock, in a cache line of its own. Who hands on takes the difference:
 *
 *	the CPU, interrupts off		sum += bytes of the packet
 *	any CPU, with the lock		n = sum - handed; handed += n; meters += n
 *
 * The CPU takes the lock, too, when it gives an entry to another owner, which nobody else does. So
 * with the lock an entry's owner stays. A sum has both directions, 32 bits for each: what is to be
 * added comes to two instructions, bytes and lines. The lower half carries into the upper one when
 * it is full; as differences borrow likewise, they are right as long as each half of one is less
 * than 4 GiB. A reader may see a packet's bytes, and its lines only the next time.
 *
 * Interrupts are off in a charge, as charges come from tasks, softirqs and (completions)
 * interrupts. What a reader hands on goes to the meters of its own CPU, which is all the same, as
 * sums are over all of them. What a CPU has read by itself is known up to when it last looked: its
 * last switch, interrupt or tick (cpu.c).
 *
 * Handing a stock on allocates nothing: other CPUs' readers and the sampler's timer do it, which
 * have no memory on PREEMPT_RT. What that takes is made when an entry is begun.
 *
 * Locking: an entry's lock is taken with interrupts off, and those of meters and limits in it. That
 * of what CPUs read nests in the run queue's, too.
 */

#include <linux/hash.h>
#include <linux/init.h>
#include <linux/memio_stop.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/u64_stats_sync.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/memio.h>

#define MEMIO_STOCK		SZ_64K

/**
 * struct stock_sums - what was charged; pairs, see memio_pair()
 * @own:	bytes that moved, and are the owner's
 * @own_lines:	likewise, in whole lines
 * @total:	bytes that moved, and are not claimed here
 * @total_lines: likewise, in whole lines
 * @late:	bytes that the owner claims, which have moved before, and above them their lines
 */
struct stock_sums {
	u64 own;
	u64 own_lines;
	u64 total;
	u64 total_lines;
	u64 late;
};

/**
 * struct stock_entry - what one owner and device moved on a CPU
 * @key:	the device and the owner; 0: nothing was charged since it was last handed on by its
 *		CPU. Its CPU's to write, with @lock
 * @gathered:	bytes since its CPU last handed it on (its CPU's)
 * @sync:	around @sum, where 64 bits are written in two parts
 * @sum:	since boot, whoever had the entry (its CPU's to write)
 * @lock:	around what follows
 * @due:	what the owner's limits have not been charged with
 * @handed:	what of @sum was handed on
 */
struct stock_entry {
	u64 key;
	u32 gathered;
	struct u64_stats_sync sync;
	struct stock_sums sum;
	raw_spinlock_t lock ____cacheline_aligned_in_smp;
	struct memio_due due;
	struct stock_sums handed;
} __aligned(64);

struct stock {
	struct stock_entry entry[1 << MEMIO_STOCK_BITS];
};

static DEFINE_PER_CPU_ALIGNED(struct stock, stocks);
DEFINE_PER_CPU_ALIGNED(struct memio_cpu_stock, memio_cpu_stocks);

/**
 * memio_due_add - gather what is small
 * @due:	what there is
 * @io:		what comes; then all of it, if that is to be charged
 * @least:	so many bytes are, in whole lines or not, up to MEMIO_DUE
 *
 * Context: any; one at a time for each @due.
 * Return: whether @io is to be charged, and nothing is due any more.
 */
bool memio_due_add(struct memio_due *due, struct memio_io *io, unsigned int least)
{
	io->to += due->to;
	io->from += due->from;
	io->late += due->late;
	io->to_lines += due->to_lines;
	io->from_lines += due->from_lines;
	io->late_lines += due->late_lines;
	if (io->to_lines + io->from_lines + io->late_lines >= least ||
	    io->to + io->from + io->late >= least) {
		*due = (struct memio_due){};
		return true;
	}
	due->to = io->to;
	due->from = io->from;
	due->late = io->late;
	due->to_lines = io->to_lines;
	due->from_lines = io->from_lines;
	due->late_lines = io->late_lines;
	return false;
}

static u64 key_of(u16 dev, u32 owner)
{
	return (u64)dev << 32 | owner;
}

/* Charges limits with @io, and what is due, unless it is little. With the entry's lock. */
static void charge_limits(struct stock_entry *e, struct memio_io io, unsigned int least)
{
	if (memio_due_add(&e->due, &io, least))
		__memio_limit_charge_io((u32)e->key, e->key >> 32, &io);
}

static u64 skewed(u64 n)
{
	return memio_skewed(MEMIO_SKEW_CHARGES, n);
}

/* A pair of what was added since the last time. */
static u64 take_pair(const u64 *sum, u64 *handed)
{
	u64 now = READ_ONCE(*sum), more = now - *handed;

	*handed = now;
	return more;
}

/* Hands on what an entry has gathered. With its lock. */
static void flush_entry(struct stock_entry *e)
{
	struct memio_device *dev = memio_device(e->key >> 32);
	struct stock_sums more, before = e->handed;
	struct memio_io io, total;
	unsigned int seq;
	u32 window;

	do {
		e->handed = before;
		seq = u64_stats_fetch_begin(&e->sync);
		/* Who reads beside the CPU has no line of a packet without its bytes. */
		more.own_lines = take_pair(&e->sum.own_lines, &e->handed.own_lines);
		more.total_lines = take_pair(&e->sum.total_lines, &e->handed.total_lines);
		more.own = take_pair(&e->sum.own, &e->handed.own);
		more.total = take_pair(&e->sum.total, &e->handed.total);
		more.late = take_pair(&e->sum.late, &e->handed.late);
	} while (u64_stats_fetch_retry(&e->sync, seq));

	if (!dev)
		return;
	window = memio_price_window(dev->package);
	io = (struct memio_io) {
		.to = skewed(memio_pair_to(more.own)),
		.from = skewed(memio_pair_from(more.own)),
		.to_lines = skewed(memio_pair_to(more.own_lines)),
		.from_lines = skewed(memio_pair_from(more.own_lines)),
	};
	total = io;
	total.to += skewed(memio_pair_to(more.total));
	total.from += skewed(memio_pair_from(more.total));
	total.to_lines += skewed(memio_pair_to(more.total_lines));
	total.from_lines += skewed(memio_pair_from(more.total_lines));
	io.late = skewed(memio_pair_to(more.late));
	io.late_lines = skewed(memio_pair_from(more.late));

	if (more.own | more.total | more.own_lines | more.total_lines)
		memio_device_add(dev, window, &total);
	if (more.own | more.late | more.own_lines)
		memio_owner_charge((u32)e->key, dev, window, &io);
	if (memio_limits_on())
		charge_limits(e, (struct memio_io){}, 1);
}

/* What CPU @cpu has read. With its stock's lock. */
static void flush_cpu(int cpu, struct memio_cpu_entry *e)
{
	u32 lines = READ_ONCE(e->lines);
	struct memio_cpu_bytes b = memio_cpu_pay(cpu, skewed(lines - e->handed));

	WRITE_ONCE(e->handed, lines);
	memio_owner_charge_cpu(e->owner, &b);
}

static bool cpu_has_read(const struct memio_cpu_entry *e)
{
	return READ_ONCE(e->lines) != READ_ONCE(e->handed);
}

/* Interrupts are off. */
static void flush_stock(int cpu)
{
	struct memio_cpu_stock *c = per_cpu_ptr(&memio_cpu_stocks, cpu);
	struct stock *s = per_cpu_ptr(&stocks, cpu);
	bool read = false;
	int i;

	for (i = 0; i < ARRAY_SIZE(s->entry); i++) {
		struct stock_entry *e = &s->entry[i];

		/* Empty ones are left alone: their line is another CPU's. */
		if (!READ_ONCE(e->key))
			continue;
		raw_spin_lock(&e->lock);
		if (e->key)
			flush_entry(e);
		if (cpu == smp_processor_id()) {
			WRITE_ONCE(e->key, 0);
			e->gathered = 0;
		}
		raw_spin_unlock(&e->lock);
	}
	for (i = 0; i < ARRAY_SIZE(c->entry); i++)
		read |= cpu_has_read(&c->entry[i]);
	if (!read)
		return;
	raw_spin_lock(&c->lock);
	for (i = 0; i < ARRAY_SIZE(c->entry); i++)
		if (cpu_has_read(&c->entry[i]))
			flush_cpu(cpu, &c->entry[i]);
	raw_spin_unlock(&c->lock);
}

static struct stock_entry __percpu *entry_of(u64 key)
{
	return &stocks.entry[hash_64(key, MEMIO_STOCK_BITS)];
}

/* Interrupts are off. */
static void add_sums(u64 key, const struct stock_sums *more)
{
	struct stock_entry __percpu *e = entry_of(key);

	u64_stats_update_begin(raw_cpu_ptr(&e->sync));
	raw_cpu_add(e->sum.own, more->own);
	raw_cpu_add(e->sum.own_lines, more->own_lines);
	raw_cpu_add(e->sum.total, more->total);
	raw_cpu_add(e->sum.total_lines, more->total_lines);
	raw_cpu_add(e->sum.late, more->late);
	u64_stats_update_end(raw_cpu_ptr(&e->sync));
}

static u32 gathers(u64 own, u64 total, u64 late)
{
	own += total;
	return memio_pair_to(own) + memio_pair_from(own) + memio_pair_to(late);
}

/*
 * What is left to do when a charge is in the stock: limits are charged with it, and what there is
 * much of is handed on. Restores interrupts.
 */
static noinline void gathered(u64 key, u64 own, u64 own_lines, u64 late, unsigned long flags)
{
	struct stock_entry *e = this_cpu_ptr(entry_of(key));

	raw_spin_lock(&e->lock);
	/* Before it is handed on, which charges limits with what is due, too. */
	if (memio_limits_on() && (own || late))
		charge_limits(e, (struct memio_io) {
			.to = memio_pair_to(own),
			.from = memio_pair_from(own),
			.late = memio_pair_to(late),
			.to_lines = memio_pair_to(own_lines),
			.from_lines = memio_pair_from(own_lines),
			.late_lines = memio_pair_from(late),
		}, MEMIO_DUE);
	if (e->gathered >= MEMIO_STOCK) {
		flush_entry(e);
		e->gathered = 0;
	}
	raw_spin_unlock(&e->lock);
	local_irq_restore(flags);
}

/*
 * Gives this CPU's entry to another owner, or device, and charges it. Interrupts are on for a
 * moment, so that what handing it on would have to allocate is there.
 */
static noinline void begin_entry(u64 key, u64 own, u64 own_lines, u64 total, u64 total_lines,
				 u64 late, bool limits, unsigned long flags)
{
	const struct stock_sums more = { own, own_lines, total, total_lines, late };
	struct stock_entry *e;

	local_irq_restore(flags);
	memio_owner_prepare((u32)key, memio_device(key >> 32));
	local_irq_save(flags);
	e = this_cpu_ptr(entry_of(key));
	if (e->key != key) {
		raw_spin_lock(&e->lock);
		if (e->key)
			flush_entry(e);
		WRITE_ONCE(e->key, key);
		e->gathered = 0;
		/* It is the other owner's, if limits went meanwhile. */
		e->due = (struct memio_due){};
		raw_spin_unlock(&e->lock);
	}
	add_sums(key, &more);
	e->gathered += gathers(own, total, late);
	gathered(key, limits ? own : 0, own_lines, limits ? late : 0, flags);
}

/* Whatever is 0 where this is inlined takes no instruction. Mostly it calls nothing. */
static __always_inline void gather(u64 key, u64 own, u64 own_lines, u64 total, u64 total_lines,
				   u64 late, bool limits)
{
	struct stock_entry __percpu *e = entry_of(key);
	unsigned long flags;
	u32 n;

	local_irq_save(flags);
	if (unlikely(raw_cpu_read(e->key) != key)) {
		begin_entry(key, own, own_lines, total, total_lines, late, limits, flags);
		return;
	}
	u64_stats_update_begin(raw_cpu_ptr(&e->sync));
	if (!__builtin_constant_p(own)) {
		raw_cpu_add(e->sum.own, own);
		raw_cpu_add(e->sum.own_lines, own_lines);
	}
	if (!__builtin_constant_p(total)) {
		raw_cpu_add(e->sum.total, total);
		raw_cpu_add(e->sum.total_lines, total_lines);
	}
	if (!__builtin_constant_p(late))
		raw_cpu_add(e->sum.late, late);
	u64_stats_update_end(raw_cpu_ptr(&e->sync));
	n = raw_cpu_read(e->gathered) + gathers(own, total, late);
	raw_cpu_write(e->gathered, n);
	if (unlikely(n >= MEMIO_STOCK) || (limits && memio_limits_on()))
		gathered(key, limits ? own : 0, own_lines, limits ? late : 0, flags);
	else
		local_irq_restore(flags);
}

/**
 * memio_charge_own - a device moves bytes for an owner
 * @dev:	the device's id, not 0
 * @owner:	the owner; 0 is the root's
 * @bytes:	bytes, a pair
 * @lines:	likewise, in whole lines
 *
 * Context: any; interrupts are turned off.
 */
void memio_charge_own(u16 dev, u32 owner, u64 bytes, u64 lines)
{
	gather(key_of(dev, owner), bytes, lines, 0, 0, 0, true);
}

/**
 * memio_charge_in - a device moves bytes, of which most will be claimed later
 * @dev:	the device's id, not 0
 * @bytes:	bytes that the root claims, a pair
 * @lines:	likewise, in whole lines
 * @more:	bytes that nobody has claimed so far, a pair
 * @more_lines:	likewise, in whole lines
 *
 * Context: any; interrupts are turned off.
 */
void memio_charge_in(u16 dev, u64 bytes, u64 lines, u64 more, u64 more_lines)
{
	gather(key_of(dev, 0), bytes, lines, more, more_lines, 0, true);
}

/**
 * memio_charge_late - an owner claims what a device has moved before
 * @dev:	the device's id, not 0
 * @owner:	the owner; 0 is the root's
 * @bytes:	bytes from the device
 * @lines:	likewise, in whole lines
 *
 * Context: any; interrupts are turned off.
 */
void memio_charge_late(u16 dev, u32 owner, u32 bytes, u32 lines)
{
	gather(key_of(dev, owner), 0, 0, 0, 0, memio_pair(bytes, lines), true);
}

/**
 * memio_charge - a device moves bytes, or somebody answers for them
 * @dev:	the device's id; 0 charges nothing
 * @owner:	the owner; 0 is the root's
 * @total:	what moves now; NULL: nothing
 * @claim:	what of @total is @owner's; without @total it has moved from the device before.
 *		NULL: nothing
 *
 * Context: any; interrupts are turned off.
 */
void memio_charge(u16 dev, u32 owner, const struct memio_move *total,
		  const struct memio_move *claim)
{
	u64 own, own_lines, all, all_lines;

	if (!dev)
		return;
	if (claim && !total) {
		memio_charge_late(dev, owner, claim->from, claim->from_lines);
		return;
	}
	own = claim ? memio_pair(claim->to, claim->from) : 0;
	own_lines = claim ? memio_pair(claim->to_lines, claim->from_lines) : 0;
	all = total ? memio_pair(total->to, total->from) : 0;
	all_lines = total ? memio_pair(total->to_lines, total->from_lines) : 0;
	gather(key_of(dev, claim ? owner : 0), own, own_lines, all - own, all_lines - own_lines,
	       0, true);
}

/**
 * memio_charge_paid - a device moves what limits were charged with before
 * @dev:	the device's id; 0 charges nothing
 * @owner:	the owner
 * @move:	what moves (see memio_limit_reserve())
 *
 * Context: any; interrupts are turned off.
 */
void memio_charge_paid(u16 dev, u32 owner, const struct memio_move *move)
{
	if (dev)
		gather(key_of(dev, owner), memio_pair(move->to, move->from),
		       memio_pair(move->to_lines, move->from_lines), 0, 0, 0, false);
}

/* Hands on what an entry has, and gives it to @owner. On its CPU, interrupts are off. */
static void begin_cpu(struct memio_cpu_stock *s, struct memio_cpu_entry *e, u32 owner)
{
	raw_spin_lock(&s->lock);
	if (cpu_has_read(e))
		flush_cpu(smp_processor_id(), e);
	e->owner = owner;
	raw_spin_unlock(&s->lock);
}

/*
 * Charges limits with what an entry has gathered. What was read before there was any limit is
 * nobody's debt. Returns how many lines may be gathered from here on.
 */
static u32 charge_cpu_limits(struct memio_cpu_entry *e)
{
	u32 lines = e->limited ? e->lines - e->charged : 0;

	e->charged = e->lines;
	e->limited = memio_limits_on();
	return e->limited ? __memio_limit_charge_cpu(e->owner, lines) : U32_MAX;
}

/**
 * memio_charge_cpu - a task has read memory itself
 * @owner:	the task's id, or its group's
 * @lines:	how many lines
 *
 * Charges limits with it, and with what was added before (memio_add_cpu()). Allocates nothing and
 * wakes nobody, here and in the flush.
 *
 * Context: any, interrupts off; also with the run queue's lock.
 */
void memio_charge_cpu(u32 owner, u32 lines)
{
	struct memio_cpu_stock *s = this_cpu_ptr(&memio_cpu_stocks);
	struct memio_cpu_entry *e = memio_cpu_entry(s, owner);
	const u32 most = MEMIO_STOCK / MEMIO_LINE_BYTES;
	u32 left;

	if (e->owner != owner) {
		charge_cpu_limits(e);
		begin_cpu(s, e, owner);
	}
	WRITE_ONCE(e->lines, e->lines + lines);
	left = charge_cpu_limits(e);
	if (e->lines - READ_ONCE(e->handed) >= most)
		begin_cpu(s, e, owner);
	/* Of nobody there is nothing to add: memio_add_cpu() does not know who it is. */
	e->left = owner ? min(left, most - (e->lines - READ_ONCE(e->handed))) : 0;
}

/**
 * memio_stock_flush - hand this CPU's stock on
 *
 * Context: any; interrupts are turned off.
 */
void memio_stock_flush(void)
{
	unsigned long flags;

	local_irq_save(flags);
	flush_stock(smp_processor_id());
	local_irq_restore(flags);
}

/**
 * memio_stock_drain - hand all CPUs' stocks on
 *
 * For readers, who want to see every byte that was charged before they came. No other CPU is
 * interrupted. What this CPU has read is counted up to here, too.
 *
 * Context: any; interrupts are turned off, for a CPU's stock at a time.
 */
void memio_stock_drain(void)
{
	unsigned long flags;
	int cpu;

	memio_cpu_sync();
	for_each_possible_cpu(cpu) {
		local_irq_save(flags);
		flush_stock(cpu);
		local_irq_restore(flags);
	}
}

static int __init memio_charge_init(void)
{
	struct stock *s;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		s = per_cpu_ptr(&stocks, cpu);
		raw_spin_lock_init(&per_cpu_ptr(&memio_cpu_stocks, cpu)->lock);
		for (i = 0; i < ARRAY_SIZE(s->entry); i++) {
			raw_spin_lock_init(&s->entry[i].lock);
			u64_stats_init(&s->entry[i].sync);
		}
	}
	return 0;
}
early_initcall(memio_charge_init);

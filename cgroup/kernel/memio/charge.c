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
 * interrupted because another wants to know, be it isolated or not. So each entry has a lock, in
 * the line that a charge touches anyway. Nobody contends for it but for the moment of a reading;
 * interrupts are off while it is held, as charges come from tasks, softirqs and (completions)
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
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/memio.h>

#define MEMIO_STOCK		SZ_64K
#define MEMIO_STOCK_BITS	3

/* For one owner and device. What is claimed alone has been moved before. */
struct stock_entry {
	raw_spinlock_t lock;
	u32 owner;
	u32 dev;
	struct memio_move total;
	struct memio_move claim;
	u32 late;
	u32 late_lines;
	struct memio_due due;	/* of @owner's */
} __aligned(64);	/* all of it is touched when limits are charged */

/* What CPUs read themselves, for one owner */
struct cpu_entry {
	u32 owner;
	u32 lines;
};

struct stock {
	struct stock_entry entry[1 << MEMIO_STOCK_BITS];
	raw_spinlock_t cpu_lock;	/* around @cpu */
	struct cpu_entry cpu[1 << MEMIO_STOCK_BITS];
};

static DEFINE_PER_CPU_ALIGNED(struct stock, stocks);

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

/* Charges limits with @io, and what is due, unless it is little. With the entry's lock. */
static void charge_limits(struct stock_entry *e, struct memio_io io, unsigned int least)
{
	if (memio_due_add(&e->due, &io, least))
		__memio_limit_charge_io(e->owner, e->dev, &io);
}

static u64 skewed(u64 n)
{
	return memio_skewed(MEMIO_SKEW_CHARGES, n);
}

/* Hands an entry on and empties it. With its lock. */
static void flush_entry(struct stock_entry *e)
{
	struct memio_device *dev = memio_device(e->dev);
	u32 window = memio_price_window(dev->package);
	struct memio_io io = {
		.to = skewed(e->total.to),
		.from = skewed(e->total.from),
		.to_lines = skewed(e->total.to_lines),
		.from_lines = skewed(e->total.from_lines),
	};

	if (io.to || io.from)
		memio_device_add(dev, window, &io);
	io = (struct memio_io) {
		.to = skewed(e->claim.to),
		.from = skewed(e->claim.from),
		.late = skewed(e->late),
		.to_lines = skewed(e->claim.to_lines),
		.from_lines = skewed(e->claim.from_lines),
		.late_lines = skewed(e->late_lines),
	};
	if (io.to || io.from || io.late)
		memio_owner_charge(e->owner, dev, window, &io);
	if (memio_limits_on())
		charge_limits(e, (struct memio_io){}, 1);
	memset_startat(e, 0, owner);
}

/* What CPU @cpu has read. With its stock's cpu_lock. */
static void flush_cpu(int cpu, struct cpu_entry *e)
{
	struct memio_cpu_bytes b = memio_cpu_pay(cpu, skewed(e->lines));

	memio_owner_charge_cpu(e->owner, &b);
	e->lines = 0;
}

/* Interrupts are off. */
static void flush_stock(int cpu)
{
	struct stock *s = per_cpu_ptr(&stocks, cpu);
	bool read = false;
	int i;

	for (i = 0; i < ARRAY_SIZE(s->entry); i++) {
		struct stock_entry *e = &s->entry[i];

		/* Empty ones are left alone: their line is another CPU's. */
		if (!READ_ONCE(e->dev))
			continue;
		raw_spin_lock(&e->lock);
		if (e->dev)
			flush_entry(e);
		raw_spin_unlock(&e->lock);
	}
	for (i = 0; i < ARRAY_SIZE(s->cpu); i++)
		read |= READ_ONCE(s->cpu[i].lines);
	if (!read)
		return;
	raw_spin_lock(&s->cpu_lock);
	for (i = 0; i < ARRAY_SIZE(s->cpu); i++)
		if (s->cpu[i].lines)
			flush_cpu(cpu, &s->cpu[i]);
	raw_spin_unlock(&s->cpu_lock);
}

static void add_move(struct memio_move *sum, const struct memio_move *move)
{
	sum->to += move->to;
	sum->from += move->from;
	sum->to_lines += move->to_lines;
	sum->from_lines += move->from_lines;
}

/* What limits are charged with; @late: it has moved before. */
static struct memio_io limited(const struct memio_move *claim, bool late)
{
	if (late)
		return (struct memio_io){ .late = claim->from, .late_lines = claim->from_lines };
	return (struct memio_io){
		.to = claim->to,
		.from = claim->from,
		.to_lines = claim->to_lines,
		.from_lines = claim->from_lines,
	};
}

/* See memio_charge(). @limits: they have not been charged with it before. */
static void charge(u16 dev, u32 owner, const struct memio_move *total,
		   const struct memio_move *claim, bool limits)
{
	bool prepared = !claim;
	struct stock_entry *e;
	unsigned long flags;

	if (!dev)
		return;
	if (!claim)
		owner = 0;

again:
	local_irq_save(flags);
	e = this_cpu_ptr(&stocks.entry[hash_32(owner ^ (u32)dev << 24, MEMIO_STOCK_BITS)]);
	raw_spin_lock(&e->lock);
	if (unlikely(e->owner != owner || e->dev != dev)) {
		if (!prepared) {
			/* What the flush would have to allocate, where it can be. */
			raw_spin_unlock(&e->lock);
			local_irq_restore(flags);
			memio_owner_prepare(owner, memio_device(dev));
			prepared = true;
			goto again;
		}
		if (e->dev)
			flush_entry(e);
		e->owner = owner;
		e->dev = dev;
	}
	if (total)
		add_move(&e->total, total);
	if (claim && total) {
		add_move(&e->claim, claim);
	} else if (claim) {
		e->late += claim->from;
		e->late_lines += claim->from_lines;
	}
	/* Before it is emptied, and its owner forgotten. */
	if (memio_limits_on() && claim && limits)
		charge_limits(e, limited(claim, !total), MEMIO_DUE);
	if (unlikely(e->total.to + e->total.from >= MEMIO_STOCK ||
		     e->claim.to + e->claim.from + e->late >= MEMIO_STOCK))
		flush_entry(e);
	raw_spin_unlock(&e->lock);
	local_irq_restore(flags);
}

/**
 * memio_charge - a device moves bytes, or somebody answers for them
 * @dev:	the device's id; 0 charges nothing
 * @owner:	the owner; 0 is the root's
 * @total:	what moves now; NULL: nothing
 * @claim:	what is @owner's; without @total it has moved from the device before.
 *		NULL: nothing
 *
 * Context: any; interrupts are turned off.
 */
void memio_charge(u16 dev, u32 owner, const struct memio_move *total,
		  const struct memio_move *claim)
{
	charge(dev, owner, total, claim, true);
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
	charge(dev, owner, move, move, false);
}

/**
 * memio_charge_cpu - a task has read memory itself
 * @owner:	the task's id, or its group's
 * @lines:	how many lines
 *
 * Allocates nothing and wakes nobody, here and in the flush.
 *
 * Context: any, interrupts off; also with the run queue's lock.
 */
void memio_charge_cpu(u32 owner, u32 lines)
{
	struct stock *s = this_cpu_ptr(&stocks);
	struct cpu_entry *e = &s->cpu[hash_32(owner, MEMIO_STOCK_BITS)];
	int cpu = smp_processor_id();

	raw_spin_lock(&s->cpu_lock);
	if (unlikely(e->owner != owner)) {
		if (e->lines)
			flush_cpu(cpu, e);
		e->owner = owner;
	}
	if (check_add_overflow(e->lines, lines, &e->lines))
		e->lines = U32_MAX;
	if (unlikely(e->lines >= MEMIO_STOCK / MEMIO_LINE_BYTES))
		flush_cpu(cpu, e);
	raw_spin_unlock(&s->cpu_lock);
	if (memio_limits_on())
		__memio_limit_charge_cpu(owner, lines);
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

	local_irq_save(flags);
	memio_cpu_sync();
	local_irq_restore(flags);
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
		raw_spin_lock_init(&s->cpu_lock);
		for (i = 0; i < ARRAY_SIZE(s->entry); i++)
			raw_spin_lock_init(&s->entry[i].lock);
	}
	return 0;
}
early_initcall(memio_charge_init);

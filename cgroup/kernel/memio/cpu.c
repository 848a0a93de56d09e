// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: what CPUs read from memory, by task
 *
 * Each CPU has a counter of lines that missed the last level cache
 * (LONGEST_LAT_CACHE.MISS, an architectural event: Intel SDM volume 3, "Performance
 * Monitoring"), as a pinned kernel event of perf. It is read whenever the CPU turns to
 * something else, and what was counted since the last time is of whom it turns away
 * from:
 *
 *	task A    | interrupt  | task A   | switch | task B
 *	   1,200  |     40     |    300   |        |   ...
 *
 *	A: 1,500 lines = 96,000 bytes read from memory; interrupts: 40 lines
 *
 * Tasks have theirs through the stock, as bytes that devices move for them
 * (charge.c). Interrupts with softirqs, kernel threads, and the idle loop with what is
 * done in it have lines of their own in the root's memio.stat. So nothing is lost or
 * counted twice: tasks and these lines sum to what the counters have counted.
 *
 * What is left out
 *
 * The event counts what cores ask for: loads, stores, code, page walks, and what their
 * own prefetchers bring into L2. It leaves out what the last level's prefetcher reads on its
 * own, non-temporal stores, and uncached accesses: it is a lower bound of what is read.
 *
 * Write-backs are known of the package alone: what the caches' counters saw replaced,
 * but for what devices made dirty (memio_cpu_window()). They are shared out by
 * what was read. A task that only reads, beside one that only writes, pays for
 * half of the other's write-backs: the sum is right, the shares are not.
 *
 * Only while it is needed
 *
 * A counter that memio has nobody else can use, and each switch reads it. So what CPUs read is
 * counted while a limit, a guarantee or a weight needs it (or somebody traces memio_update), or if
 * root says so in memio.cpu; "off" there takes it from limits, too. Who reads a file has no part in
 * it. memio_hold_ms after the last limit, the static key is off and the events are
 * released. What was read meanwhile is on no account, so files have a line "cpu" only while it is
 * counted. The account goes to owners: when counting
 * begins, tasks that have not moved anything so far become owners; new ones do when they are
 * forked.
 *
 * Limits
 *
 * A task that never gives up its CPU would read on until the next tick, in 1 ms some 10 MB,
 * whatever its limit. So where there are limits the counter has an overflow: after a chunk
 * (memio_limit_chunk()) if it comes upon a task with a limit, which then is charged
 * as with any other interrupt, namely that which the NMI asks for. If it comes upon another, there
 * is no next one: others' limits cost a task without one nothing. When the CPU turns to a task
 * with a chunk the period is cut, by an interrupt as soon as the switch is over:
 *
 *	task without a limit  | task with 100 MB/s
 *	16 KiB      (64 GiB)  |          25,000 bytes     25,000 bytes
 *	        NMI           | cut      NMI, charged     NMI, charged: stopped
 *
 * And when a task gets a limit while it runs, or comes to a group that has one, it is flagged, and
 * its CPU's period is cut on its way to user mode (memio_cpu_look()).
 *
 * There is a least chunk, too. It doubles while a task that should have stopped goes on, because it
 * copies something in the kernel, or never stops (a real-time task); and if it does not have to any
 * more when it gets to where it would, the period is cut there. Still, at half of as many
 * overflows in a tick as have perf stop the counter, the tick has to do; and so it has
 * where perf allows no more than a few.
 *
 * When counters are not there
 *
 * If somebody has pinned all counters of a CPU before, the event is in perf's error
 * state. What can't be read is not guessed: it is missing in the sums, and "valid"
 * of the line is 0 until the event was there for a second or two. Where there is no
 * such event (not Intel, a VM without a PMU), nothing is counted and valid is always 0.
 *
 * Concurrency
 *
 * memio_cpu_lock is for arming and disarming, in the CPU hotplug lock. A CPU's
 * struct is its own, with interrupts off, but for what others only read (@read,
 * @paid, @line). Events are freed by RCU, and are looked up with interrupts off: who sees
 * one that is about to go finds it inactive. The overflow's NMI only reads groups' rates, sets
 * the event's period, and asks for an interrupt. Whoever sets it otherwise stops the PMU
 * meanwhile.
 */

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/tick.h>
#include <linux/workqueue.h>
#include <asm/cpu_device_id.h>
#include <asm/msr.h>

#include "internal.h"

/* Lines between two overflows, where something is limited: 16 KiB, and 1 MiB */
#define MEMIO_CHUNK_LEAST	256
#define MEMIO_CHUNK_MOST	16384
/* where there were too many of late: 16 MiB */
#define MEMIO_CHUNK_REST	(16 * MEMIO_CHUNK_MOST)
/* and where nothing is: 64 GiB */
#define MEMIO_CHUNK_NONE	BIT(30)
/* Fewer in a tick are not worth while. */
#define MEMIO_OVERFLOWS_LEAST	8

DEFINE_STATIC_KEY_FALSE(memio_cpu_key);

/**
 * struct memio_cpu - a CPU's counter
 * @event:	it; NULL: not armed
 * @read:	all that was counted, in lines
 * @last:	what it was when it was last read, the lower half
 * @look:	the period is to be looked at when the current task could stop: it was stopped when
 *		that was last done, or its limit is a new one
 * @lost:	it could not be read since the work item last looked
 * @missing:	it was so before the work item last looked, or is not there at all
 * @overflow_ns: when it last overflowed
 * @paid:	bytes written back that were charged here
 * @paid_late:	likewise, by readers on other CPUs that have emptied its stock
 * @line:	what is of no task, in bytes
 */
struct memio_cpu {
	struct perf_event *event;
	u64 read;
	u32 last;
	bool look;
	bool lost;
	bool missing;
	u64 overflow_ns;
	u64 paid;
	atomic64_t paid_late;
	struct memio_cpu_bytes line[MEMIO_CPU_LINES];
};

static DEFINE_PER_CPU_ALIGNED(struct memio_cpu, memio_cpus);

/* By package: bytes written back for each byte read, 16.16; the sampler's. */
static u32 memio_cpu_prices[MEMIO_PACKAGES];

static DEFINE_MUTEX(memio_cpu_lock);
static bool memio_cpu_there __ro_after_init;
static unsigned long memio_cpu_until;	/* in jiffies: until when limits want it */
unsigned int memio_cpu_mode __read_mostly = MEMIO_CPU_AUTO;
static bool memio_cpu_running;		/* as memio_running in counters.c */
static bool memio_cpu_owners;		/* the work item's: all tasks are owners */
static bool memio_cpu_some_not;		/* but some that have come since */
static bool memio_cpu_limits;		/* somebody has a limit to what CPUs read */

static void cpu_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(cpu_work, cpu_work_fn);

/* ---- overflows ---- */

/* The interrupt is all there is to it: __memio_cpu_irq() has been called as it began. */
static void cpu_charge_fn(struct irq_work *work)
{
}

static DEFINE_PER_CPU(struct irq_work, cpu_charge) = IRQ_WORK_INIT_HARD(cpu_charge_fn);

/* Lines to the next one, for a task that may read so many bytes before it is charged. */
static u64 cpu_chunk(u64 bytes)
{
	return clamp(bytes / MEMIO_LINE_BYTES, MEMIO_CHUNK_LEAST, MEMIO_CHUNK_MOST);
}

/* Bytes that a task may read before it is charged; U64_MAX: it has no limit. */
static u64 task_chunk(struct task_struct *p, bool *stopped)
{
	*stopped = false;
	return p->flags & PF_KTHREAD ? U64_MAX : memio_limit_chunk(memio_group_of(p), stopped);
}

/*
 * Whether perf lets a counter overflow often enough. If not it stops the counter until the next
 * tick, and what is read meanwhile is lost.
 */
static bool may_overflow(void)
{
	return READ_ONCE(sysctl_perf_event_sample_rate) > (MEMIO_OVERFLOWS_LEAST - 1) * HZ;
}

enum { IN_TIME, TOO_LATE, NOT_NOW };

/*
 * Whether the counter overflows later than @p is to be charged: too late, or there is a good reason
 * now. If it overflows in time that is so for others of the task's group, too, until the period is
 * longer; but kernel threads have no limit, whatever their group has.
 */
static int overflows(const struct memio_cpu *c, const struct perf_event *event,
		     struct task_struct *p, u64 *lines, bool *stopped)
{
	u64 period = READ_ONCE(event->hw.sample_period), bytes;

	*stopped = false;
	if (READ_ONCE(event->state) != PERF_EVENT_STATE_ACTIVE || !may_overflow())
		return NOT_NOW;
	if (period <= MEMIO_CHUNK_LEAST)
		return IN_TIME;
	/* That is for what was left of a tick. */
	if (period == MEMIO_CHUNK_REST && local_clock() - c->overflow_ns < TICK_NSEC)
		return NOT_NOW;
	bytes = task_chunk(p, stopped);
	*lines = cpu_chunk(bytes);
	if (*stopped)
		return NOT_NOW;
	return bytes != U64_MAX && *lines < period ? TOO_LATE : IN_TIME;
}

/* Cuts the period to what the current task may read. Returns true if it is stopped. */
static bool cpu_shorten(struct memio_cpu *c)
{
	struct perf_event *event = READ_ONCE(c->event);
	bool stopped = false;
	u64 lines;

	if (event && overflows(c, event, current, &lines, &stopped) == TOO_LATE) {
		/* No overflow begins meanwhile. */
		perf_pmu_disable(event->pmu);
		perf_event_period_local(event, lines);
		perf_pmu_enable(event->pmu);
	}
	return stopped;
}

/*
 * @p, which has this CPU or is about to, is stopped: no reason to cut the period, but it may be
 * let go before it gets to where it would leave the CPU. No kick: it is in the kernel, or an
 * interrupt comes.
 */
static void cpu_look_again(struct memio_cpu *c, struct task_struct *p)
{
	WRITE_ONCE(c->look, true);
	set_tsk_thread_flag(p, TIF_NOTIFY_RESUME);
}

static void cpu_shorten_fn(struct irq_work *work)
{
	struct memio_cpu *c = this_cpu_ptr(&memio_cpus);

	if (cpu_shorten(c))
		cpu_look_again(c, current);
}

static DEFINE_PER_CPU(struct irq_work, cpu_shorten_work) = IRQ_WORK_INIT_HARD(cpu_shorten_fn);

/**
 * memio_cpu_look - have a CPU's period looked at when its current task could stop
 * @cpu:	the CPU; the task is told to come there by who calls this
 *
 * Context: any.
 */
void memio_cpu_look(int cpu)
{
	WRITE_ONCE(per_cpu(memio_cpus.look, cpu), true);
}

/**
 * memio_cpu_goes_on - the current task could be stopped here, and is not
 *
 * If it was when the period was last looked at, the next overflow may be far away.
 *
 * Context: process, with interrupts on; any locks.
 */
void memio_cpu_goes_on(void)
{
	/* Of another CPU, perhaps: who comes to one has its period looked at. */
	if (likely(!this_cpu_read(memio_cpus.look)))
		return;
	guard(irq)();
	/* If it is once more it is flagged for that: who is never off the CPU would loop. */
	cpu_shorten(this_cpu_ptr(&memio_cpus));
}

/**
 * memio_cpu_comes_to - a task is about to have this CPU, where another group's had it
 * @p:		the task
 *
 * The CPU's period is looked at, and cut when the switch is over if the task's limit wants that.
 *
 * Context: scheduler, with interrupts off and this run queue's lock.
 * Return: whether it need not be looked at again for tasks of the same group, until
 * memio_forget() says otherwise.
 */
bool memio_cpu_comes_to(struct task_struct *p)
{
	struct memio_cpu *c = this_cpu_ptr(&memio_cpus);
	struct perf_event *event = READ_ONCE(c->event);
	bool stopped;
	u64 lines;
	int when;

	if (!static_branch_unlikely(&memio_cpu_key) || !READ_ONCE(memio_cpu_limits))
		return true;
	WRITE_ONCE(c->look, false);
	if (!event)
		return true;
	when = overflows(c, event, p, &lines, &stopped);
	if (when == TOO_LATE)
		irq_work_queue(this_cpu_ptr(&cpu_shorten_work));
	else if (unlikely(stopped))
		cpu_look_again(c, p);
	return when == IN_TIME;
}

/* Lines to the next one, after which the task is to be charged, if it has a limit. */
static u64 cpu_next(struct memio_cpu *c, const struct perf_event *event)
{
	u64 before = event->hw.sample_period * MEMIO_LINE_BYTES, bytes;
	bool stopped;

	bytes = task_chunk(current, &stopped);
	if (bytes == U64_MAX)
		return MEMIO_CHUNK_NONE;
	if (unlikely(stopped))
		cpu_look_again(c, current);
	return cpu_chunk(stopped ? max(bytes, before * 2) : bytes);
}

/* In an NMI, on the event's CPU. */
static void cpu_overflow(struct perf_event *event, struct perf_sample_data *data,
			 struct pt_regs *regs)
{
	u64 often = event->hw.interrupts;
	u64 most = DIV_ROUND_UP(READ_ONCE(sysctl_perf_event_sample_rate), HZ);
	u64 lines = MEMIO_CHUNK_NONE;
	struct memio_cpu *c = this_cpu_ptr(&memio_cpus);
	u64 before = event->hw.sample_period;

	/* Also without limits: without ticks, nobody else may read it before it goes round. */
	irq_work_queue(this_cpu_ptr(&cpu_charge));
	/* perf's MAX_INTERRUPTS: it counts nothing until the tick. */
	if (unlikely(often == U64_MAX))
		WRITE_ONCE(c->lost, true);
	if (READ_ONCE(memio_cpu_limits) && may_overflow()) {
		lines = cpu_next(c, event);
		/* In a switch it may be for who has left already. */
		if (lines > before && !user_mode(regs))
			irq_work_queue(this_cpu_ptr(&cpu_shorten_work));
		if (unlikely(often > most / 2)) {
			lines = MEMIO_CHUNK_REST;
			/* Or there may be none, which begins to count them anew. */
			tick_dep_set_cpu(smp_processor_id(), TICK_DEP_BIT_PERF_EVENTS);
		}
	}
	c->overflow_ns = local_clock();
	if (lines > before)
		memio_forget(this_cpu_ptr(&memio_seen_here));
	perf_event_period_local(event, lines);
}

/* ---- counting ---- */

/* What a CPU pays now, for what it writes back. */
static u32 price_on(int cpu)
{
	int package = memio_package_of(cpu);

	return package >= 0 && package < MEMIO_PACKAGES ?
	       READ_ONCE(memio_cpu_prices[package]) : 0;
}

/**
 * memio_cpu_cost - what lines that were read come to in memory bytes now
 * @lines:	how many lines missed the cache
 *
 * For limits: nobody is charged with it. A byte is written back for each byte read at most.
 *
 * Context: any, with interrupts off: it is the price of this CPU's package.
 * Return: bytes read, and bytes written back for them.
 */
struct memio_cpu_bytes memio_cpu_cost(u32 lines)
{
	u64 read = (u64)lines * MEMIO_LINE_BYTES;

	return (struct memio_cpu_bytes) {
		.read = read,
		.write = min(read, mul_u64_u32_shr(read, price_on(smp_processor_id()),
						  MEMIO_PRICE_SHIFT)),
	};
}

/**
 * memio_cpu_pay - what lines that were read come to in memory bytes
 * @cpu:	the CPU that has read them; this one, or one whose stock is emptied
 * @lines:	how many lines missed the cache
 *
 * Who calls it charges somebody with the result: it counts as paid.
 *
 * Context: any, with interrupts off.
 * Return: bytes read, and bytes written back for them, at the price of the CPU's package.
 */
struct memio_cpu_bytes memio_cpu_pay(int cpu, u32 lines)
{
	struct memio_cpu *c = per_cpu_ptr(&memio_cpus, cpu);
	u64 read = (u64)lines * MEMIO_LINE_BYTES;
	u64 write = mul_u64_u32_shr(read, price_on(cpu), MEMIO_PRICE_SHIFT);

	if (likely(cpu == smp_processor_id()))
		WRITE_ONCE(c->paid, c->paid + write);
	else
		atomic64_add(write, &c->paid_late);
	return (struct memio_cpu_bytes) { .read = read, .write = write };
}

static void charge_line(struct memio_cpu *c, enum memio_cpu_line line, u32 lines)
{
	struct memio_cpu_bytes b = memio_cpu_pay(smp_processor_id(), lines);

	WRITE_ONCE(c->line[line].read, c->line[line].read + b.read);
	WRITE_ONCE(c->line[line].write, c->line[line].write + b.write);
}

/* As rdpmcl(), without its tracepoint: a call has registers saved, also where it is not made. */
static __always_inline u32 counter_now(int index)
{
	u32 low;

	if (IS_ENABLED(CONFIG_PARAVIRT_XXL)) {
		rdpmcl(index, low);
		return low;
	}
	asm volatile("rdpmc" : "=a" (low) : "c" (index) : "edx");
	return low;
}

/*
 * As perf_event_read_local() of what is known to be this CPU's own, pinned, and of no task, without
 * bringing it up to date: at each switch and interrupt, that would be most of the work. The count
 * is what perf has counted, and what the counter has gone on since perf last read it. The lower
 * halves are enough, as the counter overflows long before, and each overflow has it read.
 *
 * Interrupts are off, so that nobody schedules the event meanwhile; in the error state it is on no
 * CPU. One that perf has stopped, as it overflowed too often, was brought up to date then; if it
 * has to go to another counter meanwhile, that one's value is not its own. An overflow in between
 * changes what perf has counted: then it is read anew.
 */
static __always_inline bool cpu_counted(const struct perf_event *event, u32 *now)
{
	const struct hw_perf_event *hw = &event->hw;
	u32 count, before, since;

	lockdep_assert_irqs_disabled();
	if (unlikely(READ_ONCE(event->oncpu) != smp_processor_id()))
		return false;
	if (unlikely(READ_ONCE(hw->state) & PERF_HES_STOPPED)) {
		*now = local64_read(&event->count);
		return true;
	}
	do {
		count = local64_read(&event->count);
		before = local64_read(&hw->prev_count);
		since = counter_now(hw->event_base_rdpmc);
		barrier();
	} while (unlikely((u32)local64_read(&event->count) != count));
	*now = count + since - before;
	return true;
}

/* Lines that were read since the last time; 0 as well if this is not known. */
static __always_inline u32 cpu_read(struct memio_cpu *c)
{
	struct perf_event *event = READ_ONCE(c->event);
	u32 now, lines;

	if (unlikely(!event))
		return 0;
	if (unlikely(!cpu_counted(event, &now))) {
		WRITE_ONCE(c->lost, true);
		return 0;
	}
	lines = now - c->last;
	c->last = now;
	if (unlikely(lines > S32_MAX)) {
		/* 128 GiB since the last tick: the counter was lost, not the lines read. */
		WRITE_ONCE(c->lost, true);
		return 0;
	}
	/* One instruction; it is read by other CPUs, too. */
	raw_cpu_add(memio_cpus.read, lines);
	return lines;
}

static __always_inline u32 cpu_owner(struct task_struct *p)
{
	return READ_ONCE(p->memio_owner) ?: memio_task_or_group(p);
}

/* @p has had the CPU, and read @lines. Not for what is a thread of the kernel. */
static void cpu_charge_task(struct task_struct *p, u32 lines)
{
	if (lines && !memio_add_cpu(cpu_owner(p), lines))
		memio_charge_cpu(cpu_owner(p), lines);
}

static void cpu_account(struct memio_cpu *c, struct task_struct *p, u32 lines)
{
	if (!(p->flags & PF_KTHREAD))
		cpu_charge_task(p, lines);
	else if (lines)
		charge_line(c, is_idle_task(p) ? MEMIO_CPU_IDLE : MEMIO_CPU_KTHREADS, lines);
}

/*
 * With PREEMPT_RT a softirq can be preempted, in whatever task it runs, and that is not the task's
 * doing. As in __memio_cpu_irq(), ksoftirqd is a thread like others. @p is the running task.
 */
static __always_inline bool cpu_serves_softirq(const struct task_struct *p)
{
	return IS_ENABLED(CONFIG_PREEMPT_RT) && in_serving_softirq() && p != this_cpu_ksoftirqd();
}

/* What is not just to add for a task. */
static noinline void cpu_switch(struct memio_cpu *c, struct task_struct *p, u32 lines)
{
	if (cpu_serves_softirq(p)) {
		if (lines)
			charge_line(c, MEMIO_CPU_INTERRUPTS, lines);
		return;
	}
	cpu_account(c, p, lines);
	/* No interrupt has to have ended that. */
	if (is_idle_task(p))
		memio_limit_counted();
}

/**
 * __memio_cpu_switch - charge a task with what missed the cache since the last look
 * @p:		the task, which leaves this CPU; also the idle task or a kernel thread
 * @next:	the task that comes, for which memio_cpu_comes_to() is called later
 *
 * What memio_cpu_switch() calls while somebody wants to know. It takes no lock but that of a
 * limit's line, allocates nothing and wakes nobody. Mostly it reads the counter, adds, and
 * calls nothing.
 *
 * Context: scheduler, with interrupts off and this run queue's lock.
 */
void __memio_cpu_switch(struct task_struct *p, struct task_struct *next)
{
	struct memio_cpu *c = this_cpu_ptr(&memio_cpus);
	u32 lines = cpu_read(c);

	if (unlikely(p->flags & PF_KTHREAD) || cpu_serves_softirq(p) ||
	    (lines && unlikely(!memio_add_cpu(READ_ONCE(p->memio_owner), lines))))
		cpu_switch(c, p, lines);
}

/**
 * __memio_cpu_irq - charge who had the CPU until an interrupt or softirq began or ended
 * @p:		the task that it came upon
 * @offset:	what preempt_count() has got by now for one that begins; 0 at the end
 *
 * What memio_cpu_irq() calls while somebody wants to know. That was an interrupt if one
 * was under way before: the one that ends, or the one that is itself interrupted;
 * otherwise @p. As irqtime_account_irq() has it, time of ksoftirqd is the thread's.
 *
 * Context: beginning and end of hard interrupts and softirqs, with interrupts off. It
 * takes no lock but that of a limit's line; what was interrupted may hold others.
 */
void __memio_cpu_irq(struct task_struct *p, unsigned int offset)
{
	struct memio_cpu *c = this_cpu_ptr(&memio_cpus);
	unsigned int before = irq_count() - offset;
	u32 lines = cpu_read(c);

	if (!(before & HARDIRQ_MASK) &&
	    !((before & SOFTIRQ_OFFSET) && p != this_cpu_ksoftirqd())) {
		cpu_account(c, p, lines);
		if (memio_limits_on() && !(p->flags & PF_KTHREAD) &&
		    memio_cpu_is_due(cpu_owner(p)))
			memio_charge_cpu(cpu_owner(p), 0);
		memio_limit_counted();
		return;
	}
	if (lines)
		charge_line(c, MEMIO_CPU_INTERRUPTS, lines);
}

/**
 * memio_cpu_sync - count up to here, on this CPU
 *
 * In interrupts there is nothing to do, as what they came upon was counted then.
 *
 * Context: any; interrupts are turned off. (A task that exits holds siglock, and with PREEMPT_RT
 * that leaves them on.)
 */
void memio_cpu_sync(void)
{
	struct memio_cpu *c;

	if (!static_branch_unlikely(&memio_cpu_key) || !in_task())
		return;
	guard(irqsave)();
	c = this_cpu_ptr(&memio_cpus);
	cpu_account(c, current, cpu_read(c));
}

/* The interrupt is all there is to it: __memio_cpu_irq() has been called as it began. */
static void cpu_interrupt(void *unused)
{
}

/**
 * memio_cpu_leaves - count up to here what a task has read, wherever it runs
 * @p:	the task, which is about to be somebody else's
 *
 * Without ticks that may be much.
 *
 * Context: process, may sleep.
 */
void memio_cpu_leaves(struct task_struct *p)
{
	if (!memio_cpu_counting())
		return;
	if (p == current)
		memio_cpu_sync();
	else if (task_curr(p))
		smp_call_function_single(task_cpu(p), cpu_interrupt, NULL, true);
}

/**
 * memio_cpu_no_owner - a task could not be made an owner
 *
 * If CPUs are counted it is tried again in a second, or all that it reads would be its group's
 * alone for as long as they are.
 *
 * Context: any.
 */
void memio_cpu_no_owner(void)
{
	WRITE_ONCE(memio_cpu_some_not, true);
}

/* ---- results ---- */

static bool counts(int cpu)
{
	struct memio_cpu *c = per_cpu_ptr(&memio_cpus, cpu);

	return READ_ONCE(c->event) && !READ_ONCE(c->lost) && !READ_ONCE(c->missing);
}

/**
 * memio_cpu_lines - add what was of no task
 * @line:	interrupts, kernel threads or the idle loop
 * @sum:	what it is added to
 *
 * Context: any.
 */
void memio_cpu_lines(enum memio_cpu_line line, struct memio_cpu_bytes *sum)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct memio_cpu *c = per_cpu_ptr(&memio_cpus, cpu);

		sum->read += READ_ONCE(c->line[line].read);
		sum->write += READ_ONCE(c->line[line].write);
	}
}

/**
 * memio_cpu_sums - what a package's CPUs have read, and paid, since boot
 * @package:	the package
 * @missed:	lines read, up to when each CPU was last counted: if it is busy, at its last
 *		tick, or switch. (Without ticks, nohz_full, that is seldom; prices are taken
 *		over many windows.)
 * @paid:	bytes written back that were charged
 *
 * Context: any.
 */
void memio_cpu_sums(unsigned int package, u64 *missed, u64 *paid)
{
	int cpu;

	*missed = 0;
	*paid = 0;
	for_each_possible_cpu(cpu) {
		if (memio_package_of(cpu) != package)
			continue;
		*missed += READ_ONCE(per_cpu(memio_cpus.read, cpu));
		*paid += READ_ONCE(per_cpu(memio_cpus.paid, cpu)) +
			 atomic64_read(&per_cpu(memio_cpus.paid_late, cpu));
	}
}

/**
 * memio_cpu_price - set what is written back for what is read
 * @package:	the package
 * @price:	bytes for each byte, 16.16
 *
 * Context: any, one at a time for each package.
 */
void memio_cpu_price(unsigned int package, u32 price)
{
	WRITE_ONCE(memio_cpu_prices[package], price);
}

/**
 * memio_cpu_all_there - whether all of a package's CPUs are counted
 * @package:	the package
 *
 * Context: any.
 * Return: true if they are: so memio_cpu_sums() has what all of them read.
 */
bool memio_cpu_all_there(unsigned int package)
{
	int cpu;

	if (!static_key_enabled(&memio_cpu_key))
		return false;
	for_each_online_cpu(cpu)
		if (memio_package_of(cpu) == package && !counts(cpu))
			return false;
	return true;
}

/**
 * memio_cpu_valid - whether what CPUs read is counted, all of it
 *
 * Context: any.
 * Return: true if it is, of each CPU, and what they write back as well.
 */
bool memio_cpu_valid(void)
{
	int cpu;

	if (!static_key_enabled(&memio_cpu_key) || !memio_counters_valid() ||
	    !memio_counters_write_back())
		return false;
	for_each_online_cpu(cpu)
		if (!counts(cpu))
			return false;
	return true;
}

/**
 * memio_cpu_shown - whether files have a line of what CPUs read
 *
 * Context: any.
 * Return: true while it is counted.
 */
bool memio_cpu_shown(void)
{
	return static_key_enabled(&memio_cpu_key);
}

/* ---- arming ---- */

/* On the event's CPU, with interrupts off: what it has counted so far is nobody's. */
static void cpu_begin(void *event)
{
	struct memio_cpu *c = this_cpu_ptr(&memio_cpus);

	if (!cpu_counted(event, &c->last)) {
		c->last = 0;
		WRITE_ONCE(c->lost, true);
	}
	memio_forget(this_cpu_ptr(&memio_seen_here));
	WRITE_ONCE(c->event, event);
	if (READ_ONCE(memio_cpu_limits))
		cpu_shorten_fn(NULL);
}

static void cpu_arm(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CACHE_MISSES,
		.sample_period = MEMIO_CHUNK_NONE,
		.pinned = 1,
	};
	struct memio_cpu *c = per_cpu_ptr(&memio_cpus, cpu);
	struct perf_event *event = c->event;
	bool lost;

	if (event) {
		/* The CPU may set it meanwhile: that is a loss, too, of the next second. */
		lost = xchg(&c->lost, false);
		WRITE_ONCE(c->missing, lost);
		if (lost)
			/* does nothing unless it is in the error state */
			perf_event_enable(event);
		return;
	}
	event = perf_event_create_kernel_counter(&attr, cpu, NULL, cpu_overflow, NULL);
	if (IS_ERR(event)) {
		pr_debug("memio: CPU %u: no counter: %ld\n", cpu, PTR_ERR(event));
		return;
	}
	WRITE_ONCE(c->missing, false);
	WRITE_ONCE(c->lost, false);
	if (smp_call_function_single(cpu, cpu_begin, event, true))
		perf_event_release_kernel(event);
}

static void cpu_disarm(unsigned int cpu)
{
	struct memio_cpu *c = per_cpu_ptr(&memio_cpus, cpu);
	struct perf_event *event = c->event;

	WRITE_ONCE(c->event, NULL);
	if (event)
		perf_event_release_kernel(event);
}

static bool cpu_wanted(void)
{
	switch (READ_ONCE(memio_cpu_mode)) {
	case MEMIO_CPU_OFF:
		return false;
	case MEMIO_CPU_ON:
		return memio_counting();
	default:
		return memio_counting() && time_before(jiffies, READ_ONCE(memio_cpu_until));
	}
}

/**
 * memio_cpu_state - what figures of CPUs are worth
 *
 * Context: process, may sleep.
 * Return: the state.
 */
enum memio_state memio_cpu_state(void)
{
	struct memio_condition c = {
		.on = memio_enabled(),
		.there = memio_cpu_there || !cpu_wanted(),
		.wanted = cpu_wanted(),
		.valid = memio_cpu_shown() && READ_ONCE(memio_cpu_owners),
		.agrees = true,
	};
	enum memio_state state;
	int cpu;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		c.held |= memio_cpu_shown() && !counts(cpu);
	cpus_read_unlock();
	state = memio_state(&c);
	/* Of what they write back, only the caches' counters know. */
	if (state == MEMIO_STATE_OK)
		state = memio_state_io();
	return state == MEMIO_STATE_OK && !memio_counters_write_back() ? MEMIO_STATE_ABSENT : state;
}

static void cpu_work_fn(struct work_struct *work)
{
	bool owners = false;
	unsigned int cpu;
	unsigned long left;

	cpus_read_lock();
	mutex_lock(&memio_cpu_lock);
	if (!cpu_wanted()) {
		WRITE_ONCE(memio_cpu_running, false);
		smp_mb(); /* with memio_cpu_want(), see memio_cpu_running */
		if (!cpu_wanted()) {
			static_branch_disable_cpuslocked(&memio_cpu_key);
			for_each_online_cpu(cpu)
				cpu_disarm(cpu);
			goto out;
		}
	}
	WRITE_ONCE(memio_cpu_running, true);
	/* First, so that nobody is charged with what others do while CPUs are being armed. */
	if (!static_key_enabled(&memio_cpu_key)) {
		static_branch_enable_cpuslocked(&memio_cpu_key);
		memio_cpu_owners = false;
	}
	for_each_online_cpu(cpu)
		cpu_arm(cpu);
	owners = xchg(&memio_cpu_some_not, false) || !memio_cpu_owners;
	left = READ_ONCE(memio_cpu_mode) == MEMIO_CPU_ON ? HZ :
	       READ_ONCE(memio_cpu_until) - jiffies;
	queue_delayed_work(system_unbound_wq, &cpu_work, clamp_t(long, left, 1, HZ));
out:
	mutex_unlock(&memio_cpu_lock);
	cpus_read_unlock();
	/* If not now for all, then for the others in a second. */
	if (owners)
		WRITE_ONCE(memio_cpu_owners, memio_all_owners());
}

/**
 * memio_cpu_want - a limit needs to know what CPUs read
 *
 * Unless root does not want it, it is counted from soon after, for the next memio_hold_ms at least.
 *
 * Context: process, may sleep. Cheap if it is counted already.
 */
void memio_cpu_want(void)
{
	if (!memio_cpu_there || !memio_enabled())
		return;
	WRITE_ONCE(memio_cpu_until, jiffies + msecs_to_jiffies(READ_ONCE(memio_hold_ms)));
	smp_mb(); /* with cpu_work_fn(), see memio_cpu_running */
	if (!READ_ONCE(memio_cpu_running))
		queue_delayed_work(system_unbound_wq, &cpu_work, 0);
}

/**
 * memio_cpu_limited - whether there are limits to what CPUs read
 * @limited:	there are: tasks that have one are charged while they run
 *
 * Context: process, one at a time.
 * Return: true if there were none before. What runs at the moment is to be told then.
 */
bool memio_cpu_limited(bool limited)
{
	bool before = READ_ONCE(memio_cpu_limits);

	WRITE_ONCE(memio_cpu_limits, limited);
	return limited && !before;
}

/**
 * memio_cpu_can_count - whether what CPUs read can be counted here
 *
 * Context: any.
 * Return: true if there is a counter for it, and root does not refuse it (memio.cpu).
 */
bool memio_cpu_can_count(void)
{
	return memio_cpu_there && READ_ONCE(memio_cpu_mode) != MEMIO_CPU_OFF;
}

/**
 * memio_cpu_again - look at once whether CPUs are to be counted, see memio_counting()
 *
 * If they are not any more, none is when this returns.
 *
 * Context: process, may sleep.
 */
void memio_cpu_again(void)
{
	if (!memio_cpu_there)
		return;
	mod_delayed_work(system_unbound_wq, &cpu_work, 0);
	flush_delayed_work(&cpu_work);
}

static int cpu_comes(unsigned int cpu)
{
	if (READ_ONCE(memio_cpu_running))
		mod_delayed_work(system_unbound_wq, &cpu_work, 0);
	return 0;
}

static int cpu_goes(unsigned int cpu)
{
	mutex_lock(&memio_cpu_lock);
	cpu_disarm(cpu);
	mutex_unlock(&memio_cpu_lock);
	return 0;
}

/* Others call by this name what is not the last level cache. */
static const struct x86_cpu_id cpus_with_event[] __initconst = {
	X86_MATCH_VENDOR_FEATURE(INTEL, X86_FEATURE_ARCH_PERFMON, NULL),
	{}
};

static int __init memio_cpu_init(void)
{
	int ret;

	if (!x86_match_cpu(cpus_with_event))
		return 0;
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "memio:cpu", cpu_comes,
					cpu_goes);
	if (ret < 0)
		return ret;
	memio_cpu_until = jiffies;
	memio_cpu_there = true;
	return 0;
}
late_initcall(memio_cpu_init);

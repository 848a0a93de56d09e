// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: traces of memory events, CPU by CPU
 *
 * A counter of the CPU overflows every so many events, and the time stamp counter says
 * when. Together with the switches between tasks that makes a trace, in which each
 * event is some task's. Who opens /sys/kernel/debug/memio/trace/cpuN gets CPU N's as a
 * ring that can be mapped (uapi/linux/memio_trace.h), for as long as it is open.
 *
 * The way of a record
 *
 *	overflow	NMI			soft: one record for each interrupt
 *	  |					pebs: some hundred, when the buffer is full
 *	  v		stage
 *	batch of times, and of turns		switches of tasks add to it
 *	  |		swap, hardirq		when it is 3/4 full the other one is filled
 *	  v
 *	merged by time, as differences		a work item, on any CPU
 *	  |		memio_trace_commit()
 *	  v
 *	ring -> reader
 *
 * What interrupts the traced CPU only stores times. With a batch of 4,096 records and an event
 * each microsecond, swaps come every 3 ms, and the work has as long for what takes it
 * some ten microseconds.
 *
 * A batch that fills slowly is swapped once a second, so that a reader who looks sees what
 * was; what PEBS still holds comes with the next switch of tasks, or by fsync().
 *
 * What can't keep up loses records, never time: if the other batch is still being
 * worked on, what does not fit any more is counted, and the reader is told by a LOST and
 * by the statistics. Nothing spins or waits on the traced CPU. If interrupts are
 * too many, perf stops the counter until the next tick; that is counted, too.
 *
 * Modes
 *
 *	soft		an interrupt for each overflow, which reads the TSC
 *	pebs		the processor writes the records itself (pebs.c)
 *	synthetic	a timer makes records up, at a set rate: what can the chain take?
 *
 * Concurrency
 *
 * A batch belongs to the CPU that fills it until the swap, and from then on to the
 * work item until that has set @full to NULL. On the CPU, times are written by NMIs
 * as well as by timers and by perf's drain with interrupts off, which an NMI may
 * interrupt: so a place is reserved first (one instruction) and written then, and as who
 * interrupts ends first, all is written once the interrupted one goes on. The swap and
 * switches of tasks have interrupts off, and so are one after the other.
 *
 * trace_lock is for opening, releasing, and for CPUs that go; it nests in the CPU hotplug
 * lock. turns_lock, for the tracepoint of switches, is outside of that, as are static keys.
 */

#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <asm/local.h>
#include <asm/tsc.h>
#include <trace/events/sched.h>

#include "internal.h"
#include "trace.h"
#include "trace_ring.h"

#define TURNS_OF(size)	((size) / 4 + 16)	/* switches in a batch of so many records */

/* Of files: who opens them needs, besides, what perf asks for */
#define TRACE_MODE	0600

/* An event stands for a line of the cache. */
#define LINE		MEMIO_LINE_BYTES

/**
 * struct memio_turn - a task runs from then on
 * @tsc:	when that was
 * @task:	which
 */
struct memio_turn {
	u64 tsc;
	struct memio_trace_task task;
};

/**
 * struct memio_batch - what happened on a CPU, for a while
 * @records:	times that there should be; what is more than there is room for is lost
 * @turns:	switches of tasks
 * @closed:	a switch had no room: what came after @whole records is nobody's
 * @whole:	see @closed
 * @now:	what the clocks showed in the end
 * @tsc:	the times
 * @turn:	the switches
 */
struct memio_batch {
	local_t records;
	unsigned int turns;
	bool closed;
	unsigned int whole;
	struct memio_trace_clocks now;
	u64 *tsc;
	struct memio_turn *turn;
};

/**
 * struct memio_trace_settings - what the next trace will be
 * @mode:	enum memio_trace_mode
 * @type:	the event's perf_event_attr.type
 * @config:	the event's perf_event_attr.config
 * @bytes:	what an event stands for
 * @name:	the event's name
 * @period:	events for each record
 * @user:	those in user mode
 * @kernel:	those in the kernel
 * @words:	of the ring
 * @buffer:	records in a batch
 * @rate:	synthetic records in a second
 */
struct memio_trace_settings {
	u32 mode;
	u32 type;
	u64 config;
	u32 bytes;
	char name[64];
	u32 period;
	bool user;
	bool kernel;
	u32 words;
	u32 buffer;
	u32 rate;
};

/**
 * struct memio_trace - a CPU's trace, while it is open
 * @cpu:	the CPU
 * @set:	what was set when it was opened
 * @fill:	the batch that is being filled
 * @full:	the one that the work item has; NULL: none
 * @halting:	it ends: nothing is to be queued any more
 * @halted:	it has ended
 * @event:	the counter; NULL: synthetic, or ended
 * @throttled:	see &struct memio_trace_stats
 * @timer:	of synthetic records
 * @tick_records: of them for each of its ticks
 * @tick_ns:	how long that is
 * @tick_tsc:	when the last one was
 * @swap:	to exchange the batches
 * @work:	to bring a full one into the ring
 * @second:	to swap those that don't get full
 * @writer:	the ring's producer (the work item's)
 * @ring:	the ring
 * @pinned:	pages of it that count as pinned by who has opened it
 * @mm:		whose they are; NULL: none are
 * @wait:	readers in poll()
 * @batch:	the two
 */
struct memio_trace {
	unsigned int cpu;
	struct memio_trace_settings set;
	struct memio_batch *fill;
	struct memio_batch *full;
	bool halting;
	bool halted;
	struct perf_event *event;
	u64 throttled;
	struct hrtimer timer;
	u32 tick_records;
	u32 tick_ns;
	u64 tick_tsc;
	struct irq_work swap;
	struct work_struct work;
	struct delayed_work second;
	struct memio_trace_writer writer;
	struct memio_trace_ring *ring;
	unsigned long pinned;
	struct mm_struct *mm;
	wait_queue_head_t wait;
	struct memio_batch batch[2];
};

/* Those that trace, as the CPU itself sees it; and those that are open. */
static DEFINE_PER_CPU(struct memio_trace *, memio_traces);
static DEFINE_PER_CPU(struct memio_trace *, open_traces);

static DEFINE_MUTEX(trace_lock);
static DEFINE_MUTEX(turns_lock);
static unsigned int turns_users;
static struct workqueue_struct *trace_wq __ro_after_init;

static struct memio_trace_settings settings = {
	.mode = MEMIO_TRACE_SOFT,
	.type = PERF_TYPE_HARDWARE,
	.config = PERF_COUNT_HW_CACHE_MISSES,
	.bytes = LINE,
	.name = "llc-misses",
	.period = 1000,
	.user = true,
	.kernel = true,
	.words = 1 << 18,
	.buffer = 4096,
	.rate = 1000000,
};

/* ---- on the traced CPU ---- */

/**
 * memio_trace_here - this CPU's trace
 *
 * Context: any, with preemption off.
 * Return: it, or NULL.
 */
struct memio_trace *memio_trace_here(void)
{
	return __this_cpu_read(memio_traces);
}

/**
 * memio_trace_counter - which counter has a trace's event that writes records itself
 * @t:	the trace
 *
 * Context: on its CPU, with interrupts off, or NMI.
 * Return: its number, or -1 if there is none now: another's event may have what it had.
 */
int memio_trace_counter(const struct memio_trace *t)
{
	const struct perf_event *event = READ_ONCE(t->event);

	if (t->set.mode != MEMIO_TRACE_PEBS || !event ||
	    READ_ONCE(event->state) != PERF_EVENT_STATE_ACTIVE)
		return -1;
	return READ_ONCE(event->hw.idx);
}

/**
 * memio_trace_stage - places for times in the batch that is being filled
 * @t:		this CPU's trace
 * @want:	how many
 * @got:	how many there are; the others are lost
 *
 * They are to be written before whatever was interrupted goes on.
 *
 * Context: on its CPU, NMI or with interrupts off.
 * Return: the first of them.
 */
u64 *memio_trace_stage(struct memio_trace *t, unsigned int want, unsigned int *got)
{
	struct memio_batch *b = READ_ONCE(t->fill);
	const long size = t->set.buffer, soon = size / 4 * 3;
	long end = local_add_return(want, &b->records);
	long at = end - want;

	*got = at >= size ? 0 : min_t(long, want, size - at);
	if (at < soon && end >= soon)
		irq_work_queue(&t->swap);
	return &b->tsc[min(at, size)];
}

static void stage_one(struct memio_trace *t)
{
	unsigned int got;
	u64 *tsc = memio_trace_stage(t, 1, &got);

	if (got)
		*tsc = rdtsc();
}

/* @task runs from now on. Interrupts are off. */
static void stage_turn(struct memio_trace *t, struct task_struct *task)
{
	struct memio_batch *b = t->fill;
	const unsigned int most = TURNS_OF(t->set.buffer);
	struct memio_turn *turn;

	if (b->closed)
		return;
	if (b->turns == most) {
		b->closed = true;
		b->whole = min_t(unsigned long, local_read(&b->records), t->set.buffer);
		return;
	}
	turn = &b->turn[b->turns++];
	turn->tsc = rdtsc();
	turn->task.tid = task->pid;
	turn->task.tgid = task->tgid;
	rcu_read_lock();
	turn->task.cgroup = cgroup_id(task_dfl_cgroup(task));
	rcu_read_unlock();
	/* May just be changed: then it is neither the old one nor the new. */
	data_race(memcpy(turn->task.comm, task->comm, sizeof(turn->task.comm)));
	if (b->turns == most / 4 * 3)
		irq_work_queue(&t->swap);
}

static void probe_switch(void *unused, bool preempt, struct task_struct *prev,
			 struct task_struct *next, unsigned int prev_state)
{
	struct memio_trace *t = memio_trace_here();

	if (t)
		stage_turn(t, next);
}

static void batch_begin(struct memio_batch *b)
{
	local_set(&b->records, 0);
	b->turns = 0;
	b->closed = false;
}

/* With interrupts off, or the clocks were not read at a time. */
static void batch_end(struct memio_batch *b)
{
	b->now.tsc = rdtsc();
	b->now.mono_ns = ktime_get_ns();
	b->now.real_ns = ktime_get_real_ns();
}

/* Exchanges the batches, unless the other one is still being worked on. */
static void trace_swap(struct memio_trace *t)
{
	struct memio_batch *b = t->fill;
	struct memio_batch *other = &t->batch[b == &t->batch[0]];

	/* With the one in trace_work(): either we see that it is free, or it that ours is full. */
	smp_mb();
	/* Pairs with the release in trace_work(): it has been read. */
	if (smp_load_acquire(&t->full))
		return;
	batch_begin(other);
	/* NMIs see it empty. */
	barrier();
	WRITE_ONCE(t->fill, other);
	barrier();
	if (b->closed)
		stage_turn(t, current);
	batch_end(b);
	WRITE_ONCE(t->full, b);
	/* orders the batch before the work */
	queue_work(trace_wq, &t->work);
}

static void swap_work(struct irq_work *work)
{
	trace_swap(container_of(work, struct memio_trace, swap));
}

static void overflow(struct perf_event *event, struct perf_sample_data *data,
		     struct pt_regs *regs)
{
	struct memio_trace *t = event->overflow_handler_context;

	/* What perf says where it has stopped the event until the next tick. */
	if (event->hw.interrupts == ~0ULL)
		WRITE_ONCE(t->throttled, t->throttled + 1);
	/* In mode pebs, pebs.c has them. */
	if (t->set.mode == MEMIO_TRACE_SOFT)
		stage_one(t);
}

static enum hrtimer_restart synthetic_tick(struct hrtimer *timer)
{
	struct memio_trace *t = container_of(timer, struct memio_trace, timer);
	u64 now = rdtsc(), step = div_u64(now - t->tick_tsc, t->tick_records);
	unsigned int got;
	u64 *tsc = memio_trace_stage(t, t->tick_records, &got);

	while (got--)
		*tsc++ = t->tick_tsc += step;
	t->tick_tsc = now;
	/* Ticks that were missed are records that can't be made. */
	hrtimer_forward_now(timer, ns_to_ktime(t->tick_ns));
	return HRTIMER_RESTART;
}

static void start_here(void *info)
{
	struct memio_trace *t = info;

	stage_turn(t, current);
	__this_cpu_write(memio_traces, t);
	if (t->set.mode == MEMIO_TRACE_SYNTHETIC) {
		t->tick_tsc = rdtsc();
		hrtimer_start(&t->timer, ns_to_ktime(t->tick_ns), HRTIMER_MODE_REL_PINNED_HARD);
	}
}

static void swap_here(void *info)
{
	trace_swap(info);
}

static void stop_here(void *unused)
{
	__this_cpu_write(memio_traces, NULL);
}

/* ---- into the ring ---- */

/* What a batch has, in the order of time. */
static void put_batch(struct memio_trace *t, struct memio_batch *b)
{
	struct memio_trace_writer *w = &t->writer;
	unsigned long all = local_read(&b->records), n, i = 0;
	unsigned int turn = 0;
	u64 first;

	n = b->closed ? b->whole : min_t(unsigned long, all, t->set.buffer);
	if (n || b->turns) {
		first = n ? b->tsc[0] : b->turn[0].tsc;
		if (b->turns && (s64)(b->turn[0].tsc - first) < 0)
			first = b->turn[0].tsc;
		memio_trace_begin(w, first, &b->now);
		for (; turn < b->turns; turn++) {
			for (; i < n && (s64)(b->tsc[i] - b->turn[turn].tsc) < 0; i++)
				memio_trace_record(w, b->tsc[i]);
			memio_trace_switch(w, b->turn[turn].tsc, &b->turn[turn].task);
		}
		for (; i < n; i++)
			memio_trace_record(w, b->tsc[i]);
		memio_trace_commit(w);
	}
	if (all > n)
		memio_trace_lose(w, all - n);
	WRITE_ONCE(t->ring->stats.throttled, READ_ONCE(t->throttled));
}

/* Whether a reader wants to know. The ring's own @head may be what the reader made of it. */
static bool readable(const struct memio_trace *t)
{
	u32 used = READ_ONCE(t->writer.head) - READ_ONCE(t->ring->tail);

	return used && used >= READ_ONCE(t->ring->watermark);
}

static bool batch_due(const struct memio_trace *t)
{
	const struct memio_batch *b = READ_ONCE(t->fill);

	return local_read(&b->records) >= t->set.buffer / 4 * 3 ||
	       READ_ONCE(b->turns) >= TURNS_OF(t->set.buffer) / 4 * 3;
}

static void trace_work(struct work_struct *work)
{
	struct memio_trace *t = container_of(work, struct memio_trace, work);

	if (!t->full)
		return;
	put_batch(t, t->full);
	/* Pairs with the acquire in trace_swap(). */
	smp_store_release(&t->full, NULL);
	/* See trace_swap(). */
	smp_mb();
	/* It got full meanwhile, and could not be exchanged. */
	if (batch_due(t) && !READ_ONCE(t->halting))
		irq_work_queue_on(&t->swap, t->cpu);
	/* In this order: who goes to sleep may have lowered the watermark before. */
	if (wq_has_sleeper(&t->wait) && readable(t))
		wake_up_interruptible_poll(&t->wait, EPOLLIN | EPOLLRDNORM);
}

static void trace_second(struct work_struct *work)
{
	struct memio_trace *t = container_of(work, struct memio_trace, second.work);
	const struct memio_batch *b = READ_ONCE(t->fill);

	if (local_read(&b->records) || READ_ONCE(b->turns))
		irq_work_queue_on(&t->swap, t->cpu);
	queue_delayed_work(trace_wq, &t->second, HZ);
}

/* What is in the hardware and in the batch that is being filled comes into the ring. */
static void trace_flush(struct memio_trace *t)
{
	if (t->halted)
		return;
	if (t->set.mode == MEMIO_TRACE_PEBS) {
		/* perf empties the buffer then. */
		perf_event_disable(t->event);
		perf_event_enable(t->event);
	}
	/* The first may be for what was there before. */
	for (int i = 0; i < 2; i++) {
		smp_call_function_single(t->cpu, swap_here, t, true);
		flush_work(&t->work);
	}
}

/* ---- beginning and end ---- */

/*
 * Not in the CPU hotplug lock: perf turns static keys. If the CPU goes before it is enabled,
 * it never counts.
 */
static int trace_event(struct memio_trace *t)
{
	struct perf_event_attr attr = {
		.type = t->set.type,
		.size = sizeof(attr),
		.config = t->set.config,
		.sample_period = t->set.period,
		.pinned = 1,
		.disabled = 1,
		.exclude_user = !t->set.user,
		.exclude_kernel = !t->set.kernel,
	};
	struct perf_event *event;
	int ret;

	if (t->set.mode == MEMIO_TRACE_PEBS) {
		ret = memio_pebs_attr(&attr);
		if (ret)
			return ret;
	}
	event = perf_event_create_kernel_counter(&attr, t->cpu, NULL, overflow, t);
	if (IS_ERR(event))
		return PTR_ERR(event);
	t->event = event;
	return 0;
}

/* In the CPU hotplug lock and trace_lock; the CPU is online. */
static void trace_halt(struct memio_trace *t)
{
	struct perf_event *event = t->event;
	unsigned long flags;

	lockdep_assert_held(&trace_lock);
	if (t->halted)
		return;
	WRITE_ONCE(t->halting, true);
	if (event)
		perf_event_disable(event);
	hrtimer_cancel(&t->timer);
	cancel_delayed_work_sync(&t->second);
	smp_call_function_single(t->cpu, stop_here, NULL, true);
	WRITE_ONCE(t->event, NULL);
	if (event)
		perf_event_release_kernel(event);
	/* What was being worked on may have had the batches exchanged once more. */
	for (int i = 0; i < 2; i++) {
		irq_work_sync(&t->swap);
		flush_work(&t->work);
	}
	local_irq_save(flags);
	batch_end(t->fill);
	local_irq_restore(flags);
	put_batch(t, t->fill);
	memio_trace_stop(&t->writer);
	WRITE_ONCE(t->halted, true);
	wake_up_interruptible_poll(&t->wait, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

static void trace_free(struct memio_trace *t)
{
	/* of one that has not begun */
	if (t->event)
		perf_event_release_kernel(t->event);
	for (int i = 0; i < 2; i++) {
		kvfree(t->batch[i].tsc);
		kvfree(t->batch[i].turn);
	}
	vfree(t->ring);
	if (t->mm) {
		atomic64_sub(t->pinned, &t->mm->pinned_vm);
		mmdrop(t->mm);
	}
	kfree(t);
}

static void ring_describe(struct memio_trace *t, u32 offset)
{
	struct memio_trace_ring *ring = t->ring;
	const struct memio_trace_settings *set = &t->set;

	ring->magic = MEMIO_TRACE_MAGIC;
	ring->version = MEMIO_TRACE_VERSION;
	ring->data_offset = offset;
	ring->data_words = set->words;
	ring->cpu = t->cpu;
	ring->mode = set->mode;
	ring->tsc_khz = tsc_khz;
	ring->event_bytes = set->bytes;
	ring->period = set->period;
	ring->event_type = set->type;
	ring->event_flags = set->user | set->kernel << 1;
	ring->event_config = set->config;
	strscpy(ring->event_name, set->name);
	ring->start_tsc = rdtsc();
	ring->start_mono_ns = ktime_get_ns();
	ring->start_real_ns = ktime_get_real_ns();
}

/*
 * As with perf's rings: for each CPU there is one, of which so much is free to everybody, and the
 * rest is pinned by who opens it.
 */
static int trace_pin(struct memio_trace *t, unsigned long pages)
{
	unsigned long free = max(READ_ONCE(sysctl_perf_event_mlock), 0) >> (PAGE_SHIFT - 10);
	unsigned long most = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct mm_struct *mm = current->mm;

	if (pages <= free)
		return 0;
	pages -= free;
	if (atomic64_add_return(pages, &mm->pinned_vm) > most && perf_is_paranoid() &&
	    !capable(CAP_IPC_LOCK)) {
		atomic64_sub(pages, &mm->pinned_vm);
		return -EPERM;
	}
	mmgrab(mm);
	t->mm = mm;
	t->pinned = pages;
	return 0;
}

static struct memio_trace *trace_alloc(unsigned int cpu)
{
	const struct memio_trace_task nobody = {};
	const u32 offset = PAGE_ALIGN(sizeof(struct memio_trace_ring));
	struct memio_trace *t;
	unsigned long pages;
	int ret;

	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return ERR_PTR(-ENOMEM);
	t->cpu = cpu;
	mutex_lock(&trace_lock);
	t->set = settings;
	mutex_unlock(&trace_lock);
	pages = (offset + t->set.words * sizeof(u32)) >> PAGE_SHIFT;
	ret = trace_pin(t, pages);
	if (ret)
		goto free;
	ret = -ENOMEM;
	t->ring = vmalloc_user(pages << PAGE_SHIFT);
	if (!t->ring)
		goto free;
	for (int i = 0; i < 2; i++) {
		struct memio_batch *b = &t->batch[i];

		b->tsc = kvcalloc(t->set.buffer, sizeof(*b->tsc), GFP_KERNEL_ACCOUNT);
		b->turn = kvcalloc(TURNS_OF(t->set.buffer), sizeof(*b->turn),
				   GFP_KERNEL_ACCOUNT);
		if (!b->tsc || !b->turn)
			goto free;
	}
	t->fill = &t->batch[0];
	/* As many for each tick as are half of a batch, or a millisecond's. */
	t->tick_records = clamp(t->set.rate / 1000, 1, t->set.buffer / 2);
	t->tick_ns = div_u64((u64)t->tick_records * NSEC_PER_SEC, t->set.rate);
	hrtimer_init(&t->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	t->timer.function = synthetic_tick;
	t->swap = IRQ_WORK_INIT_HARD(swap_work);
	INIT_WORK(&t->work, trace_work);
	INIT_DELAYED_WORK(&t->second, trace_second);
	init_waitqueue_head(&t->wait);
	ring_describe(t, offset);
	memio_trace_init(&t->writer, t->ring, (u32 *)((char *)t->ring + offset), t->set.words,
			 &nobody);
	return t;

free:
	trace_free(t);
	return ERR_PTR(ret);
}

static int trace_open(struct memio_trace *t)
{
	lockdep_assert_cpus_held();
	lockdep_assert_held(&trace_lock);

	if (!cpu_online(t->cpu))
		return -ENODEV;
	if (per_cpu(open_traces, t->cpu))
		return -EBUSY;
	smp_call_function_single(t->cpu, start_here, t, true);
	if (t->event) {
		perf_event_enable(t->event);
		/*
		 * Somebody else has pinned what this would need. It is inactive for a moment
		 * when others' events come or go on that CPU.
		 */
		if (READ_ONCE(t->event->state) < PERF_EVENT_STATE_INACTIVE) {
			trace_halt(t);
			return -ENOSPC;
		}
	}
	queue_delayed_work(trace_wq, &t->second, HZ);
	per_cpu(open_traces, t->cpu) = t;
	return 0;
}

/* The tracepoint and the static key, which must not be turned in the CPU hotplug lock. */
static int turns_begin(void)
{
	int ret = 0;

	mutex_lock(&turns_lock);
	if (!turns_users)
		ret = register_trace_sched_switch(probe_switch, NULL);
	if (!ret)
		turns_users++;
	mutex_unlock(&turns_lock);
	if (!ret)
		memio_pebs_begin();
	return ret;
}

static void turns_end(void)
{
	memio_pebs_end();
	mutex_lock(&turns_lock);
	if (!--turns_users)
		unregister_trace_sched_switch(probe_switch, NULL);
	mutex_unlock(&turns_lock);
}

/* ---- files ---- */

static struct memio_trace *ring_begin(unsigned int cpu)
{
	struct memio_trace *t = trace_alloc(cpu);
	int ret = 0;

	if (IS_ERR(t))
		return t;
	if (t->set.mode != MEMIO_TRACE_SYNTHETIC)
		ret = trace_event(t);
	if (!ret) {
		cpus_read_lock();
		mutex_lock(&trace_lock);
		ret = trace_open(t);
		mutex_unlock(&trace_lock);
		cpus_read_unlock();
	}
	if (!ret)
		return t;
	trace_free(t);
	return ERR_PTR(ret);
}

/* As perf asks, of events of a CPU that count the kernel as well, whatever is set for perf */
static int trace_allowed(void)
{
	return perfmon_capable() ? perf_allow_kernel() : -EACCES;
}

static int ring_open(struct inode *inode, struct file *file)
{
	struct memio_trace *t;
	int ret = trace_allowed();

	if (ret)
		return ret;
	if (!current->mm)
		return -EINVAL;
	ret = turns_begin();
	if (ret)
		return ret;
	t = ring_begin((unsigned long)inode->i_private);
	if (IS_ERR(t)) {
		turns_end();
		return PTR_ERR(t);
	}
	file->private_data = t;
	return nonseekable_open(inode, file);
}

static int ring_release(struct inode *inode, struct file *file)
{
	struct memio_trace *t = file->private_data;

	cpus_read_lock();
	mutex_lock(&trace_lock);
	trace_halt(t);
	per_cpu(open_traces, t->cpu) = NULL;
	mutex_unlock(&trace_lock);
	cpus_read_unlock();
	turns_end();
	trace_free(t);
	return 0;
}

/* From the beginning, all or a part of it; shared, or the reader's tail would not be seen. */
static int ring_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct memio_trace *t = file->private_data;

	if (vma->vm_pgoff || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	return remap_vmalloc_range(vma, t->ring, 0);
}

static __poll_t ring_poll(struct file *file, poll_table *wait)
{
	struct memio_trace *t = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &t->wait, wait);
	/* first, so that what came before the end is seen */
	if (READ_ONCE(t->halted))
		events |= EPOLLHUP;
	if (readable(t))
		events |= EPOLLIN | EPOLLRDNORM;
	return events;
}

static int ring_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	cpus_read_lock();
	mutex_lock(&trace_lock);
	trace_flush(file->private_data);
	mutex_unlock(&trace_lock);
	cpus_read_unlock();
	return 0;
}

static const struct file_operations ring_fops = {
	.owner		= THIS_MODULE,
	.open		= ring_open,
	.release	= ring_release,
	.mmap		= ring_mmap,
	.poll		= ring_poll,
	.fsync		= ring_fsync,
};

static const char *const mode_names[] = {
	[MEMIO_TRACE_PEBS]	= "pebs",
	[MEMIO_TRACE_SOFT]	= "soft",
	[MEMIO_TRACE_SYNTHETIC]	= "synthetic",
};

/*
 * Events by name; any other is rCONFIG, as perf has it. Not all of them can be had with
 * every mode: perf says so when the ring is opened.
 */
static const struct {
	const char *name;
	u32 type;
	u64 config;
	u32 bytes;
} event_names[] = {
	{ "llc-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, LINE },
	/* MEM_LOAD_UOPS_RETIRED.L3_MISS: loads alone, and precise */
	{ "llc-load-misses", PERF_TYPE_RAW, 0x20d1, LINE },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0 },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0 },
};

static int set_event(struct memio_trace_settings *set, const char *value)
{
	u64 config;

	for (int i = 0; i < ARRAY_SIZE(event_names); i++) {
		if (strcmp(value, event_names[i].name))
			continue;
		set->type = event_names[i].type;
		set->config = event_names[i].config;
		set->bytes = event_names[i].bytes;
		strscpy(set->name, value);
		return 0;
	}
	if (value[0] != 'r' || kstrtou64(value + 1, 16, &config))
		return -EINVAL;
	set->type = PERF_TYPE_RAW;
	set->config = config;
	set->bytes = 0;
	strscpy(set->name, value);
	return 0;
}

static int set_number(u32 *to, const char *value, u32 least, u32 most)
{
	u32 n;
	int ret = kstrtou32(value, 10, &n);

	if (ret)
		return ret;
	if (n < least || n > most)
		return -ERANGE;
	*to = n;
	return 0;
}

static int set_one(struct memio_trace_settings *set, const char *key, const char *value)
{
	int i;

	if (!strcmp(key, "mode")) {
		/* 0 is none */
		i = match_string(mode_names + 1, ARRAY_SIZE(mode_names) - 1, value);
		if (i < 0)
			return i;
		set->mode = 1 + i;
		return 0;
	}
	if (!strcmp(key, "event"))
		return set_event(set, value);
	if (!strcmp(key, "where")) {
		if (strcmp(value, "user") && strcmp(value, "kernel") && strcmp(value, "both"))
			return -EINVAL;
		set->user = strcmp(value, "kernel");
		set->kernel = strcmp(value, "user");
		return 0;
	}
	if (!strcmp(key, "bytes"))
		return set_number(&set->bytes, value, 0, 1 << 20);
	if (!strcmp(key, "period"))
		/* Neither perf nor, with PEBS, the processor has a record for each event. */
		return set_number(&set->period, value, 2, S32_MAX);
	if (!strcmp(key, "buffer"))
		return set_number(&set->buffer, value, 64, 1 << 16);
	if (!strcmp(key, "rate"))
		return set_number(&set->rate, value, 1, 1000 * 1000 * 1000);
	if (!strcmp(key, "words")) {
		u32 words;
		int ret = set_number(&words, value, MEMIO_TRACE_WORDS_MIN,
				     MEMIO_TRACE_WORDS_MAX);

		if (!ret && !is_power_of_2(words))
			ret = -EINVAL;
		if (!ret)
			set->words = words;
		return ret;
	}
	return -EINVAL;
}

/* key=value..., all or none of it; for rings that are opened from now on. */
static ssize_t settings_write(struct file *file, const char __user *from, size_t size,
			      loff_t *at)
{
	struct memio_trace_settings set;
	char *text, *rest, *word, *value;
	int ret = 0;

	if (size > 512)
		return -E2BIG;
	text = memdup_user_nul(from, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&trace_lock);
	set = settings;
	rest = text;
	while (!ret && (word = strsep(&rest, " \t\n"))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value) {
			ret = -EINVAL;
			break;
		}
		*value++ = '\0';
		ret = set_one(&set, word, value);
	}
	if (!ret)
		settings = set;
	mutex_unlock(&trace_lock);
	kfree(text);
	return ret ? ret : size;
}

static int settings_show(struct seq_file *m, void *unused)
{
	const struct memio_trace_settings *set = &settings;

	mutex_lock(&trace_lock);
	seq_printf(m, "mode=%s event=%s bytes=%u period=%u where=%s words=%u buffer=%u rate=%u\n",
		   mode_names[set->mode], set->name, set->bytes, set->period,
		   !set->kernel ? "user" : set->user ? "both" : "kernel", set->words,
		   set->buffer, set->rate);
	mutex_unlock(&trace_lock);
	return 0;
}

static int settings_open(struct inode *inode, struct file *file)
{
	int ret = file->f_mode & FMODE_WRITE ? trace_allowed() : 0;

	if (ret)
		return ret;
	return single_open(file, settings_show, NULL);
}

static const struct file_operations settings_fops = {
	.owner		= THIS_MODULE,
	.open		= settings_open,
	.read		= seq_read,
	.write		= settings_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

/* A CPU goes offline: its trace ends, and its reader gets what there is. */
static int trace_cpu_goes(unsigned int cpu)
{
	mutex_lock(&trace_lock);
	if (per_cpu(open_traces, cpu))
		trace_halt(per_cpu(open_traces, cpu));
	mutex_unlock(&trace_lock);
	return 0;
}

static int __init memio_trace_init_files(void)
{
	struct dentry *dir;
	unsigned int cpu;
	char name[16];
	int ret;

	trace_wq = alloc_workqueue("memio_trace", WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!trace_wq)
		return -ENOMEM;
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "memio:trace", NULL,
					trace_cpu_goes);
	if (ret < 0)
		return ret;
	dir = debugfs_create_dir("trace", memio_debugfs);
	debugfs_create_file("settings", TRACE_MODE, dir, NULL, &settings_fops);
	/* Without debugfs' own operations in between, which know nothing of mmap(). */
	for_each_possible_cpu(cpu) {
		snprintf(name, sizeof(name), "cpu%u", cpu);
		debugfs_create_file_unsafe(name, TRACE_MODE, dir,
					   (void *)(unsigned long)cpu, &ring_fops);
	}
	return 0;
}
late_initcall(memio_trace_init_files);

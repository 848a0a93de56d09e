// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: /proc/PID/membw and /proc/PID/task/TID/membw
 *
 *	source hsx
 *	estimator dirty
 *	valid 1
 *	state ok
 *	window_us 103120
 *	updated_ns 5120331042
 *
 *	0000:00:03.0 alias=nvme0n1,259:0 io_to=0 io_from=268435456 mem_read=0
 *		mem_write=134217728 unpriced=0 unpriced_to=0 unpriced_from=0 io_to_bps=0
 *		io_from_bps=104857600 mem_read_bps=0 mem_write_bps=52428800
 *	cpu mem_read=73400320 mem_write=2097152 valid=1 mem_read_bps=10485760
 *		mem_write_bps=0
 *	total io_to=0 io_from=268435456 mem_read=73400320 mem_write=136314880
 *		unpriced=0 unpriced_to=0 unpriced_from=0 io_to_bps=0
 *		io_from_bps=104857600 mem_read_bps=10485760
 *		mem_write_bps=52428800
 *
 * (each in one line; the last is the sum of those above it, and of what CPUs read while that was
 * counted; the line "cpu" is there only while it is). Bytes since the task
 * began; of a process, the sum of its threads, those that have exited among them.
 * Rates are the differences between two updates, the last of which is at
 * updated_ns; window_us is the time between them: of a process, its longest
 * thread's. Who may read it is who may read /proc/PID/io.
 *
 * valid is 1 if the counters were read throughout the last window of every package, and that
 * is no older than two windows. state says in a word what is wrong if it is not (state.c).
 */

#include <linux/ktime.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/seqlock.h>
#include <linux/slab.h>

#include "internal.h"

/* Threads that are looked at in a row */
#define THREADS		64

/* The sums and rates of a device, or of all. */
struct line {
	struct memio_bytes sum;
	u64 bps[4];			/* to, from, read, write */
};

struct report {
	struct line cpu;
	u64 window_ns;
	u64 updated_ns;
	unsigned int ids;		/* as memio_device_ids() was */
	struct line dev[] __counted_by(ids);
};

static u64 rate(u64 then, u64 now, u64 ns)
{
	return now > then && ns ? mul_u64_u64_div_u64(now - then, NSEC_PER_SEC, ns) : 0;
}

/* None for a device that came after the reading began. */
static struct line *line_of(struct report *r, const struct memio_device *dev)
{
	return dev->id < r->ids ? &r->dev[dev->id] : NULL;
}

static void add_cpu(struct report *r, struct memio_sums *s)
{
	r->cpu.sum.read += atomic64_read(&s->cpu_read);
	r->cpu.sum.write += atomic64_read(&s->cpu_write);
}

/*
 * Brings a task's rates up to date, and adds them and its sums, unless this reading of a process
 * has them already (0: it is not one of a process). In RCU's read side.
 */
static void add_task(struct report *r, struct task_struct *p, u64 reading, u64 now)
{
	struct memio_account *a;
	struct memio_owner *o;
	struct memio_sums *s;
	unsigned long flags;
	struct line *line;
	u64 ns;

	o = memio_owner(READ_ONCE(p->memio_owner));
	if (!o || !o->sums)
		return;

	s = o->sums;
	if (reading) {
		if (s->seen == reading)
			return;
		s->seen = reading;
	}
	memio_owner_update(o, now);
	raw_spin_lock_irqsave(&s->lock, flags);
	ns = s->at_ns[0] ? s->at_ns[1] - s->at_ns[0] : 0;
	r->window_ns = max(r->window_ns, ns);
	r->updated_ns = max(r->updated_ns, s->at_ns[1]);
	add_cpu(r, s);
	r->cpu.bps[2] += rate(s->cpu_at[0].read, s->cpu_at[1].read, ns);
	r->cpu.bps[3] += rate(s->cpu_at[0].write, s->cpu_at[1].write, ns);
	for (a = s->accounts; a; a = a->next) {
		line = line_of(r, a->dev);
		if (!line)
			continue;
		memio_bytes_add(&line->sum, &a->carried);
		memio_meter_read(&a->meter, a->dev, memio_price_window(a->dev->package),
				 &line->sum);
		line->bps[0] += rate(a->at[0].to, a->at[1].to, ns);
		line->bps[1] += rate(a->at[0].from, a->at[1].from, ns);
		line->bps[2] += rate(a->at[0].read, a->at[1].read, ns);
		line->bps[3] += rate(a->at[0].write, a->at[1].write, ns);
	}
	raw_spin_unlock_irqrestore(&s->lock, flags);
}

static void add_dead(void *arg, struct memio_sums *s)
{
	struct report *r = arg;
	struct memio_account *a;
	struct line *line;

	add_cpu(r, s);
	/* Pairs with the release in account(). */
	for (a = smp_load_acquire(&s->accounts); a; a = smp_load_acquire(&a->next)) {
		line = line_of(r, a->dev);
		if (!line)
			continue;
		memio_bytes_add(&line->sum, &a->carried);
		memio_meter_read(&a->meter, a->dev, memio_price_window(a->dev->package),
				 &line->sum);
	}
}

/*
 * All threads, some at a time. If the last of these is gone afterwards, again from the beginning:
 * those that this reading has seen are passed over.
 */
static int add_threads(struct report *r, struct signal_struct *sig, u64 reading, u64 now)
{
	struct task_struct *t, *last = NULL;
	unsigned int n;

	do {
		rcu_read_lock();
		if (last && pid_alive(last))
			t = __next_thread(last);
		else
			t = list_first_or_null_rcu(&sig->thread_head, struct task_struct,
						   thread_node);
		if (last)
			put_task_struct(last);
		last = NULL;
		for (n = 0; t && !last; t = __next_thread(t)) {
			add_task(r, t, reading, now);
			if (++n == THREADS)
				last = get_task_struct(t);
		}
		rcu_read_unlock();
		cond_resched();
		if (last && fatal_signal_pending(current)) {
			put_task_struct(last);
			return -EINTR;
		}
	} while (last);
	return 0;
}

/*
 * The living first, then the dead: a thread that dies meanwhile is among these before it is none
 * of the former any more (see "Reading a process" in owner.c). Exits hold stats_lock while they
 * do the one and the other, so who is seen to be gone is seen to be dead with that lock, too. It
 * is held for nothing else.
 */
static int add_process(struct report *r, struct task_struct *p, u64 now)
{
	struct signal_struct *sig = p->signal;
	u64 reading = memio_read_begin(sig);
	int ret;

	if (!reading)
		return -EINTR;
	ret = add_threads(r, sig, reading, now);
	read_seqlock_excl_irq(&sig->stats_lock);
	read_sequnlock_excl_irq(&sig->stats_lock);
	if (!ret)
		memio_dead_threads(sig, reading, add_dead, r);
	memio_read_end(sig);
	return ret;
}

static void add_line(struct line *sum, const struct line *line)
{
	memio_bytes_add(&sum->sum, &line->sum);
	for (int i = 0; i < ARRAY_SIZE(sum->bps); i++)
		sum->bps[i] += line->bps[i];
}

static void show_line(struct seq_file *m, const struct line *line)
{
	memio_show_bytes(m, &line->sum);
	seq_put_decimal_ull(m, " io_to_bps=", line->bps[0]);
	seq_put_decimal_ull(m, " io_from_bps=", line->bps[1]);
	seq_put_decimal_ull(m, " mem_read_bps=", line->bps[2]);
	seq_put_decimal_ull(m, " mem_write_bps=", line->bps[3]);
	seq_putc(m, '\n');
}

static void show_cpu(struct seq_file *m, const struct line *cpu)
{
	seq_put_decimal_ull(m, "cpu mem_read=", cpu->sum.read);
	seq_put_decimal_ull(m, " mem_write=", cpu->sum.write);
	seq_put_decimal_ull(m, " valid=", memio_cpu_valid());
	seq_put_decimal_ull(m, " mem_read_bps=", cpu->bps[2]);
	seq_put_decimal_ull(m, " mem_write_bps=", cpu->bps[3]);
	memio_show_bounds(m, &cpu->sum);
	seq_putc(m, '\n');
}

static int membw_show(struct seq_file *m, struct task_struct *task, bool whole)
{
	const unsigned int ids = memio_device_ids();
	struct line total = {};
	struct report *r;
	u64 now;
	int ret;

	ret = down_read_killable(&task->signal->exec_update_lock);
	if (ret)
		return ret;
	if (!ptrace_may_access(task, PTRACE_MODE_READ_FSCREDS)) {
		ret = -EACCES;
		goto out;
	}
	r = kvzalloc(struct_size(r, dev, ids), GFP_KERNEL);
	if (!r) {
		ret = -ENOMEM;
		goto out;
	}
	r->ids = ids;

	memio_stock_drain();
	now = local_clock();
	if (whole) {
		ret = add_process(r, task, now);
		if (ret)
			goto free;
	} else {
		guard(rcu)();
		add_task(r, task, 0, now);
	}

	seq_printf(m, "source %s\nestimator %s\nvalid %d\nstate %s\n",
		   memio_counters_source(), memio_estimator_names[memio_estimator_get()],
		   memio_counters_valid(), memio_state_names[memio_state_io()]);
	seq_printf(m, "window_us %llu\nupdated_ns %llu\n\n",
		   div_u64(r->window_ns, NSEC_PER_USEC),
		   r->updated_ns ? ktime_get_ns() - (now - r->updated_ns) : 0);
	for (u16 id = 1; id < ids; id++) {
		const struct line *line = &r->dev[id];

		if (!line->sum.to && !line->sum.from)
			continue;
		seq_puts(m, memio_device(id)->name);
		memio_device_show_aliases(m, id);
		show_line(m, line);
		add_line(&total, line);
	}
	memio_cpu_bounds(&r->cpu.sum);
	if (memio_cpu_shown())
		show_cpu(m, &r->cpu);
	add_line(&total, &r->cpu);
	seq_puts(m, "total");
	show_line(m, &total);
free:
	kvfree(r);
out:
	up_read(&task->signal->exec_update_lock);
	return ret;
}

/**
 * proc_tid_membw - show a thread's file
 * @m:		where
 * @ns:		not used
 * @pid:	not used
 * @task:	the thread
 *
 * Context: process.
 * Return: 0 or an error.
 */
int proc_tid_membw(struct seq_file *m, struct pid_namespace *ns, struct pid *pid,
		   struct task_struct *task)
{
	return membw_show(m, task, false);
}

/**
 * proc_tgid_membw - show a process's file
 * @m:		where
 * @ns:		not used
 * @pid:	not used
 * @task:	one of its threads
 *
 * Context: process.
 * Return: 0 or an error.
 */
int proc_tgid_membw(struct seq_file *m, struct pid_namespace *ns, struct pid *pid,
		    struct task_struct *task)
{
	return membw_show(m, task, true);
}

/**
 * memio_task_status - add to a task's status
 * @m:	where
 * @p:	the task
 *
 * Context: process.
 */
void memio_task_status(struct seq_file *m, struct task_struct *p)
{
	seq_put_decimal_ull(m, "MemioStopped:\t", memio_is_stopped(p));
	seq_putc(m, '\n');
}

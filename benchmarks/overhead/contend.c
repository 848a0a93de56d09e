// SPDX-License-Identifier: GPL-2.0
/*
 * contend THREADS: what a charge takes when THREADS CPUs charge one owner at once, in ns
 *
 *	stock	as the kernel does: these are its charge.c, price.c and estimate.c, compiled for
 *		user space. Each thread is a CPU with a stock of its own, and hands it on by
 *		the 64 KiB
 *	atomic	without stocks: two shared atomic sums, the device's and the owner's
 *	meter	without stocks: two shared meters, each with its lock
 *
 * What a stock is handed on to are the owner's meter, which all share, and those of
 * the device and three groups, which each CPU has its own of; as in the kernel, but for
 * look-ups, and without a sampler, that is in one window. Turning interrupts off is left
 * out: the kernel's takes 1 to 5 ns more.
 * Printed is the least of many short rounds, which all begin together, as lines
 * `NAME-THREADS NS`: what else runs here only adds.
 *
 * The headers that these and internal.h name between angle brackets are to be found as
 * empty files: what is needed of them is here.
 */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "estimate_user.h"

/* ---- the kernel's, as far as charge.c goes ---- */

#define BIT(n)				(1ul << (n))
#define SZ_64K				0x10000
#define NSEC_PER_MSEC			1000000l
#define HZ				1000
/* Of what is not defined. */
#define IS_ENABLED(CONFIG_X)		(CONFIG_X)
#define __aligned(n)			__attribute__((aligned(n)))
#define ____cacheline_aligned_in_smp	__aligned(64)
#define __percpu
#define __rcu
#define __init
#define core_initcall(f)		static int (*f##_unused)(void) __attribute__((unused)) = f
#define READ_ONCE(x)			(*(volatile typeof(x) *)&(x))
#define likely(x)			__builtin_expect(!!(x), 1)
#define unlikely(x)			__builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a)			(sizeof(a) / sizeof((a)[0]))
#define min(a, b)			((a) < (b) ? (a) : (b))
#define max(a, b)			((a) > (b) ? (a) : (b))
#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))
#define local_irq_save(flags)		((void)(flags = 0))
#define local_irq_restore(flags)	((void)flags)
#define raw_spin_lock_init(lock)	atomic_flag_clear(lock)
#define raw_spin_lock_irqsave(lock, flags)					\
do {									\
	while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))	\
		__builtin_ia32_pause();						\
	(void)(flags = 0);							\
} while (0)
#define raw_spin_unlock_irqrestore(lock, flags)					\
do {									\
	(void)flags;								\
	atomic_flag_clear_explicit(lock, memory_order_release);			\
} while (0)
#define raw_spin_lock(lock)							\
do {									\
	while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))	\
		__builtin_ia32_pause();						\
} while (0)
#define raw_spin_unlock(lock)		atomic_flag_clear_explicit(lock, memory_order_release)
#define smp_load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)		__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define NSEC_PER_SEC			1000000000l
#define ktime_get_ns()			0
#define trace_memio_sample(...)		((void)0)
#define DEFINE_PER_CPU_ALIGNED(type, name) \
	_Thread_local __attribute__((aligned(64))) type name
#define this_cpu_ptr(p)			(p)
#define per_cpu_ptr(p, cpu)		((void)(cpu), (p))
#define hash_32(v, bits)		(((u32)(v) * 0x61C88647u) >> (32 - (bits)))
#define hash_64(v, bits)		(((u64)(v) * 0x61C8864680B583EBull) >> (64 - (bits)))
#define noinline			__attribute__((noinline))
#define raw_cpu_ptr(p)			(p)
#define raw_cpu_read(x)			(x)
#define raw_cpu_write(x, v)		((x) = (v))
/* Others read it meanwhile: at once, as the kernel's. */
#define raw_cpu_add(x, v)		__atomic_store_n(&(x), (x) + (v), __ATOMIC_RELAXED)
#define u64_stats_init(s)		((void)(s))
#define u64_stats_update_begin(s)	((void)(s))
#define u64_stats_update_end(s)		((void)(s))
#define u64_stats_fetch_begin(s)	((void)(s), 0)
#define u64_stats_fetch_retry(s, seq)	((void)(s), (void)(seq), 0)
#define on_each_cpu_cond(cond, f, arg, wait) \
	((void)(wait), cond(0, arg), f(arg))
/* A thread sees its own stock only, and is one CPU. */
#define for_each_possible_cpu(i)	for ((i) = 0; (i) < 1; (i)++)
#define smp_processor_id()		0
#define early_initcall(f)		static int (*f##_unused)(void) __attribute__((unused)) = f
#define irq_work_queue(work)		((void)(work))
#define memio_enabled()			1
#define CPUHP_BP_PREPARE_DYN		0
#define cpuhp_setup_state_nocalls(state, name, up, down) \
	((void)(state), (void)(name), (void)(up), (void)(down), 0)
#define has_capability_noaudit(...)	1
#define jiffies				0ul
#define time_in_range(t, a, b)		((t) >= (a) && (t) <= (b))
#define in_task()			1
#define PF_KTHREAD			0
#define DECLARE_PER_CPU(type, name)	extern _Thread_local type name
#define __this_cpu_write(v, to)		((v) = (to))
#define local_clock()			0
/* Nobody is limited. */
#define memio_limits_on()		0
#define barrier()			__asm__ volatile("" ::: "memory")
#define memio_cgrp_id			0
#define atomic_read(a)			READ_ONCE((a)->counter)
#define CONFIG_PREEMPT_RT		0
#define preemptible()			1
#define raw_cpu_sub(x, v)		raw_cpu_add(x, -(v))
#define atomic_inc_return_release(a)	__atomic_add_fetch(&(a)->counter, 1, __ATOMIC_RELEASE)
#define DECLARE_PER_CPU_ALIGNED(type, name) \
	extern _Thread_local __attribute__((aligned(64))) type name
#define task_css_check(p, id, there)	((void)(p), (struct cgroup_subsys_state *)NULL)
#define strscpy(to, from, size)		snprintf(to, size, "%s", from)
#define atomic_read_acquire(a)		__atomic_load_n(&(a)->counter, __ATOMIC_ACQUIRE)

typedef unsigned int gfp_t;
typedef atomic_flag raw_spinlock_t;
typedef struct {
	int counter;
} atomic_t;
typedef struct {
	long counter;
} atomic_long_t, atomic64_t;
typedef struct {
	unsigned int sequence;
} seqcount_raw_spinlock_t;

struct u64_stats_sync {
	int unused;
};

struct cgroup_file {
	int unused;
};

struct irq_work {
	int unused;
};

struct llist_node {
	struct llist_node *next;
};

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

struct work_struct {
	void *func;
};

struct rcu_head {
	void *next;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct device;
struct folio;
struct signal_struct;
struct task_struct {
	u32 memio_owner;
	u32 flags;
};

static _Thread_local struct task_struct *current;

#define CREATE_TRACE_POINTS
#include "bounds.c"
#include "price.c"
#include "charge.c"

/* ---- what a stock is handed on to ---- */

/* The kernel finds a CPU's total in one device for all; here, each CPU has a device. */
static _Thread_local struct memio_device the_device;
static _Thread_local struct memio_total the_total __attribute__((aligned(64)));
static struct {
	struct memio_meter meter __attribute__((aligned(64)));
} shared[2], own[64][3];
static _Thread_local int cpu;

struct memio_device *memio_device(u16 id)
{
	return &the_device;
}

u32 __memio_task_owner(struct task_struct *p)
{
	return p->memio_owner;
}

void memio_device_add(struct memio_device *dev, u32 window, const struct memio_io *io)
{
	memio_meter_add(&dev->total->meter, dev, window, io);
}

void memio_owner_charge(u32 id, struct memio_device *dev, u32 window, const struct memio_io *io)
{
	memio_meter_add(&shared[0].meter, dev, window, io);
	for (int i = 0; i < 3; i++)
		memio_meter_add(&own[cpu][i].meter, dev, window, io);
}

/* There is nothing to allocate. */
void memio_owner_prepare(u32 id, struct memio_device *dev)
{
}

/* What is not called: there are no prices, and CPUs are charged with nothing. */
int memio_own_place(const struct memio_own *own, u16 dev)
{
	return -1;
}

void memio_owner_charge_cpu(u32 id, const struct memio_cpu_bytes *b)
{
}

/* ---- the three ways ---- */

#define LOOPS	200000
#define ROUNDS	50
#define BYTES	1500
#define OWNER	1

static struct {
	_Atomic u64 sum __attribute__((aligned(64)));
} sums[2];
static double began[64], ended[64];
static int threads;

/* Spins: who is woken late would find that the others have finished. */
static void wait_for_all(void)
{
	static _Atomic unsigned long arrived;
	unsigned long n = atomic_fetch_add(&arrived, 1) / threads;

	while (atomic_load(&arrived) / threads == n)
		__builtin_ia32_pause();
}

static void by_stock(void)
{
	struct memio_move move = { .from = BYTES, .from_lines = BYTES };

	memio_charge(1, OWNER, &move, &move);
}

static void by_atomic(void)
{
	for (int i = 0; i < 2; i++)
		atomic_fetch_add_explicit(&sums[i].sum, BYTES, memory_order_relaxed);
}

static void by_meter(void)
{
	struct memio_io io = { .from = BYTES, .from_lines = BYTES };

	for (int i = 0; i < 2; i++)
		memio_meter_add(&shared[i].meter, &the_device, memio_price_window(0), &io);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static const struct {
	const char *name;
	void (*charge)(void);
} ways[] = { { "stock", by_stock }, { "atomic", by_atomic }, { "meter", by_meter } };

/* From the first one's beginning to the last one's end. */
static double span(void)
{
	double first = began[0], last = ended[0];

	for (int i = 1; i < threads; i++) {
		first = min(first, began[i]);
		last = last > ended[i] ? last : ended[i];
	}
	return last - first;
}

static void *charges(void *arg)
{
	cpu_set_t set;

	cpu = (long)arg;
	the_device.total = &the_total;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "sched_setaffinity");
	for (unsigned int w = 0; w < ARRAY_SIZE(ways); w++) {
		double t, least = 0;

		for (int round = 0; round < ROUNDS; round++) {
			wait_for_all();
			began[cpu] = now();
			for (int i = 0; i < LOOPS; i++)
				ways[w].charge();
			ended[cpu] = now();
			wait_for_all();
			t = span();
			if (!round || t < least)
				least = t;
		}
		if (!cpu)
			printf("%s-%d %.2f\n", ways[w].name, threads, least / LOOPS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[64];
	long i;

	threads = argc > 1 ? atoi(argv[1]) : 0;
	if (threads < 1 || threads > 64)
		errx(2, "usage: contend THREADS");
	for (i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, charges, (void *)i))
			err(1, "pthread_create");
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

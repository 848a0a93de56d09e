// SPDX-License-Identifier: GPL-2.0
/*
 * smt GROUP...: checks cores of two threads in the guest, CPUs 0 and 1 being one of
 * them, 2 and 3 another, against work of known size (core-work.S) and the ledger.
 * Needs --threads 2 --smp 4 --cpu-cache on --llc 2560K.
 *
 *	caches	what one thread has brought its sibling has, and no other core
 *	erratum on|off  with counters set through /dev/cpu/N/msr: what goes astray to the
 *		sibling's counter, with --ht-erratum, and where it does not
 *	together BYTES SECONDS  all four CPUs load and store the same few lines for so
 *		long, for who compares the ledger and the trace afterwards
 *	perf fits|over SECONDS SEED  random events of perf on both threads of a core,
 *		which have random work: each count against the ledger. `fits` are so
 *		many as have counters, `over` are more, so perf multiplexes
 *	task TAG CPU WORK BYTES N  does it N times to so many bytes, with a tag in the
 *		ledger; prints what memio says that it has read and written back
 *
 * Prints "ok TEXT" or "not ok TEXT" for each check; the caller numbers them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "core-msr.h"
#include "core-work.h"
#include "ledger.h"
#include "membw.h"

#define KIB		1024ul
#define LINE		64ul
#define CPUS		4
#define COUNTERS	4

static int msr_fd[CPUS];

/* ---- registers ---- */

#define LOADS		EVENT(0xd0, 0x81)
#define STORES		EVENT(0xd0, 0x82)
#define L1_HIT		EVENT(0xd1, 0x01)
#define L2_HIT		EVENT(0xd1, 0x02)
#define L3_HIT		EVENT(0xd1, 0x04)
#define L1_MISS		EVENT(0xd1, 0x08)
#define HITM		EVENT(0xd2, 0x04)
#define NEVER		EVENT(0xcc, 0x20)	/* ROB_MISC_EVENTS.LBR_INSERTS: none are */

static void put(int cpu, uint32_t msr, u64 val)
{
	if (pwrite(msr_fd[cpu], &val, 8, msr) != 8)
		die("CPU %d, MSR %#x, writing %#lx: %m", cpu, msr, val);
}

static u64 get(int cpu, uint32_t msr)
{
	u64 val;

	if (pread(msr_fd[cpu], &val, 8, msr) != 8)
		die("CPU %d, MSR %#x: %m", cpu, msr);
	return val;
}

/* Count these selects from zero, once MSR_ENABLE says so. */
static void program(int cpu, const unsigned int selects[COUNTERS])
{
	int i;

	put(cpu, MSR_ENABLE, 0);
	put(cpu, MSR_FIXED_CTRL, 0);
	for (i = 0; i < COUNTERS; i++) {
		put(cpu, MSR_SELECT(i), selects ? selects[i] : 0);
		put(cpu, MSR_PMC_FULL(i), 0);
	}
	put(cpu, MSR_CLEAR, get(cpu, MSR_STATUS));
}

static void prepare(void)
{
	char path[64];
	int i;

	for (i = 0; i < CPUS; i++) {
		snprintf(path, sizeof(path), "/dev/cpu/%d/msr", i);
		msr_fd[i] = open(path, O_RDWR);
		if (msr_fd[i] < 0)
			die("%s: %m", path);
	}
}

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("no memory: %m");
	return p;
}

static void nap_ms(unsigned int ms)
{
	const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

/* ---- a thread that works on a CPU until it is told to stop ---- */

struct worker {
	pthread_t thread;
	int cpu;
	work *w;
	char *buf;
	u64 apart, n;
	bool going, stop;
};

static void *works(void *arg)
{
	struct worker *k = arg;

	run_on(k->cpu);
	while (!__atomic_load_n(&k->stop, __ATOMIC_RELAXED)) {
		k->w(k->buf, k->apart, k->n);
		__atomic_store_n(&k->going, true, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void begin(struct worker *k, int cpu, work *w, char *buf, u64 apart, u64 n)
{
	*k = (struct worker){ .cpu = cpu, .w = w, .buf = buf, .apart = apart, .n = n };
	if (pthread_create(&k->thread, NULL, works, k))
		die("no thread");
	while (!__atomic_load_n(&k->going, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void end(struct worker *k)
{
	__atomic_store_n(&k->stop, true, __ATOMIC_RELAXED);
	pthread_join(k->thread, NULL);
}

/* ---- caches ---- */

/* How often that happens to this CPU while it works, in user mode */
static u64 count(int cpu, unsigned int event, work *w, void *buf, u64 bytes)
{
	const unsigned int selects[COUNTERS] = { event | USER | EN };

	run_on(cpu);
	program(cpu, selects);
	put(cpu, MSR_ENABLE, 1);
	w(buf, LINE, bytes / LINE);
	put(cpu, MSR_ENABLE, 0);
	return get(cpu, MSR_PMC_FULL(0));
}

struct found {
	const char *name;
	u64 got, low, high;
};

/* Return: how many there are now, with this one. */
static int within(struct found *f, int n, const char *name, u64 got, u64 low, u64 high)
{
	f[n] = (struct found){ name, got, low, high };
	return n + 1;
}

static bool is_within(const struct found *f)
{
	return f->got >= f->low && f->got <= f->high;
}

static void do_on(int cpu, work *w, void *buf, u64 bytes)
{
	run_on(cpu);
	w(buf, LINE, bytes / LINE);
}

/* A few are of what is around the work: system calls, their stack. */
#define L1	(4 * KIB)
#define L2	(128 * KIB)
#define N1	(L1 / LINE)
#define N2	(L2 / LINE)
#define NEARLY	(N2 - N2 / 8)
#define FEW	40

static int of_l1(struct found *f, char *a)
{
	struct worker k;
	int n = 0;

	/* Core 1 has none of it, of an earlier try neither. */
	do_on(0, store_apart, a, L1);
	/*
	 * The sibling goes on loading it, so that what moves this thread from CPU to
	 * CPU does not push it out.
	 */
	begin(&k, 0, load_apart, a, LINE, N1);
	n = within(f, n, "L1: a thread hits what its sibling loads",
		   count(1, L1_HIT, load_apart, a, L1), N1, N1 + FEW);
	n = within(f, n, "... and misses little", count(1, L1_MISS, load_apart, a, L1), 0, N1 / 2);
	n = within(f, n, "... another core misses all of it",
		   count(2, L1_MISS, load_apart, a, L1), N1, N1 + FEW);
	end(&k);
	return n;
}

static int of_l2(struct found *f, char *b)
{
	int n = 0;

	/* as above */
	do_on(0, store_apart, b, L2);
	do_on(0, load_apart, b, L2);
	n = within(f, n, "L2: a thread hits what its sibling has loaded",
		   count(1, L2_HIT, load_apart, b, L2), NEARLY, N2 + FEW);
	n = within(f, n, "... another core does not", count(2, L2_HIT, load_apart, b, L2), 0, FEW);
	n = within(f, n, "... but now its sibling does", count(3, L2_HIT, load_apart, b, L2),
		   NEARLY, N2 + FEW);
	return n;
}

static int of_stores(struct found *f, char *c)
{
	int n = 0;

	do_on(0, store_apart, c, L2);
	n = within(f, n, "what a thread has modified is no other core's to its sibling",
		   count(1, HITM, load_apart, c, L2), 0, 0);
	n = within(f, n, "... and to another core it is", count(2, HITM, load_apart, c, L2),
		   NEARLY, N2);
	do_on(1, store_apart, c, L2);
	n = within(f, n, "a sibling may write what the other modified: no line asks for it",
		   count(0, EVENT(0x2e, 0x4f), store_apart, c, L2), 0, 2 * FEW);
	do_on(3, store_apart, c, L2);
	n = within(f, n, "another core's stores take a line from both threads: the first asks that core",
		   count(1, HITM, load_apart, c, L2), NEARLY, N2);
	n = within(f, n, "... and the second has it then", count(0, HITM, load_apart, c, L2), 0, 0);
	return n;
}

/*
 * The kernel's ticks push some of it out, the more often the slower the emulation is. So
 * that each is right once is enough: what is wrong is so each time.
 */
static void test_one(int (*of)(struct found *f, char *buf), size_t bytes)
{
	struct found f[8], once[8];
	int tries, bad = 1, n = 0;
	char text[150];

	for (tries = 0; bad && tries < 10; tries++) {
		/* Others than before, which may have been too many for some of the sets. */
		n = of(f, map(bytes));
		bad = 0;
		for (int i = 0; i < n; i++) {
			if (!tries || !is_within(&once[i]))
				once[i] = f[i];
			bad += !is_within(&once[i]);
		}
	}
	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%s: %lu, from %lu to %lu", once[i].name, once[i].got,
			 once[i].low, once[i].high);
		check(is_within(&once[i]), text, "nor was it in %d tries", tries);
	}
}

static void test_caches(void)
{
	/* The kernel clears pages where it is asked for them. */
	run_on(0);
	test_one(of_l1, L1);
	test_one(of_l2, L2);
	test_one(of_stores, L2);
}

/* ---- the erratum ---- */

static void all_off(void)
{
	int cpu;

	for (cpu = 0; cpu < CPUS; cpu++)
		program(cpu, NULL);
}

/*
 * CPU 0 counts @event in counter @i and works; its sibling has @other in that counter
 * and in the next one, CPU 2 in the same. All count in both modes; nothing runs there.
 */
static void one_astray(int i, unsigned int event, const char *name, bool goes, work *w, char *buf)
{
	const u64 n = 5000;
	unsigned int selects[COUNTERS] = { 0 }, sibling[COUNTERS] = { 0 };
	u64 own, same, next, far;
	char text[150];

	selects[i] = event | USER | EN;
	sibling[i] = NEVER | USER | KERNEL | EN;
	sibling[(i + 1) % COUNTERS] = NEVER | USER | KERNEL | EN;
	program(0, selects);
	program(1, sibling);
	program(2, sibling);
	put(1, MSR_ENABLE, 0xf);
	put(2, MSR_ENABLE, 0xf);
	put(0, MSR_ENABLE, 0xf);
	w(buf, LINE, n);
	put(0, MSR_ENABLE, 0);
	own = get(0, MSR_PMC_FULL(i));
	same = get(1, MSR_PMC_FULL(i));
	next = get(1, MSR_PMC_FULL((i + 1) % COUNTERS));
	far = get(2, MSR_PMC_FULL(i));
	snprintf(text, sizeof(text), "counter %d, %s: %s", i, name,
		 goes ? "all of it is in the sibling's, too" : "nothing is in the sibling's");
	printf("# counter %d %s %lu %lu\n", i, name, own, same);
	check(own >= n && same == (goes ? own : 0) && !next && !far, text,
	      "%lu, sibling %lu, its next counter %lu, another core's %lu", own, same, next, far);
}

static void test_erratum(bool there)
{
	const u64 n = 5000;
	const unsigned int loads[COUNTERS] = { [1] = LOADS | USER | EN };
	unsigned int selects[COUNTERS] = { [1] = NEVER | USER | KERNEL | EN };
	char *buf = map(n * LINE);
	u64 a, b;
	int i;

	run_on(0);
	for (i = 0; i < COUNTERS; i++) {
		one_astray(i, LOADS, "MEM_UOPS_RETIRED.ALL_LOADS", there, load_apart, buf);
		one_astray(i, STORES, "MEM_UOPS_RETIRED.ALL_STORES", there, store_apart, buf);
		one_astray(i, L1_MISS, "MEM_LOAD_UOPS_RETIRED.L1_MISS", there, load_apart, buf);
		one_astray(i, EVENT(0x51, 0x01), "L1D.REPLACEMENT", false, load_apart, buf);
		one_astray(i, EVENT(0xc4, 0x00), "BR_INST_RETIRED", false, load_apart, buf);
	}

	/* Both ways; not to what is off; a counter may wrap. */
	program(0, loads);
	program(1, loads);
	put(1, MSR_ENABLE, 2);
	put(0, MSR_ENABLE, 2);
	load_apart(buf, LINE, n);
	run_on(1);
	load_apart(buf, LINE, n);
	run_on(0);
	put(0, MSR_ENABLE, 0);
	put(1, MSR_ENABLE, 0);
	a = get(0, MSR_PMC_FULL(1));
	b = get(1, MSR_PMC_FULL(1));
	check(there ? a > 2 * n && b > 2 * n : a > n && a < 2 * n && b > n && b < 2 * n,
	      there ? "loads on both: each counter has those of both" :
		      "loads on both: each counter has its own",
	      "%lu, %lu", a, b);

	program(1, selects);
	put(1, MSR_ENABLE, 0xd);
	put(0, MSR_PMC_FULL(1), 0);
	put(0, MSR_ENABLE, 2);
	load_apart(buf, LINE, n);
	put(1, MSR_SELECT(1), NEVER | USER | KERNEL);
	put(1, MSR_ENABLE, 0xf);
	load_apart(buf, LINE, n);
	check(!get(1, MSR_PMC_FULL(1)), "a counter that is off, by either enable, stays as it is",
	      "%lu", get(1, MSR_PMC_FULL(1)));

	program(1, selects);
	put(1, MSR_PMC_FULL(1), MASK_48 - 999);
	put(1, MSR_ENABLE, 2);
	load_apart(buf, LINE, n);
	put(0, MSR_ENABLE, 0);
	b = get(1, MSR_PMC_FULL(1));
	check(there ? get(1, MSR_STATUS) == 2 && b >= n - 1000 && b < 2 * n :
		      !get(1, MSR_STATUS) && b == MASK_48 - 999,
	      there ? "a counter wraps by what goes astray" : "a counter near its end stays there",
	      "%#lx, status %#lx", b, get(1, MSR_STATUS));
	all_off();
}

/* ---- many lines, all CPUs ---- */

static void together(u64 bytes, unsigned int seconds)
{
	work * const w[CPUS] = { load_apart, store_apart, locked_apart, store_apart };
	char *buf = map(bytes);
	struct worker k[CPUS];
	int i;

	/* Different distances, so that they meet at ever other places. */
	for (i = 0; i < CPUS; i++)
		begin(&k[i], i, w[i], buf, LINE * (1 + i), bytes / LINE / (1 + i));
	nap_ms(1000 * seconds);
	for (i = 0; i < CPUS; i++)
		end(&k[i]);
}

/* ---- perf ---- */

static const char * const key[] = {
	"loads", "stores", "locked_loads", "split_loads", "split_stores", "load_l1_hit",
	"load_l2_hit", "load_l3_hit", "load_l3_other", "load_l3_miss", "l3_reference", "l3_miss",
};

enum {
	T_LOADS, T_STORES, T_LOCKED, T_SPLIT_LOADS, T_SPLIT_STORES, T_L1, T_L2, T_L3, T_OTHER,
	T_DRAM, T_REFERENCE, T_MISS, FIGURES
};

static const struct {
	const char *name;
	unsigned int event;
	unsigned int truth;		/* the figures that it is the sum of */
} known[] = {
	{ "ROB_MISC_EVENTS.LBR_INSERTS", NEVER, 0 },
	{ "ILD_STALL.LCP", EVENT(0x87, 0x01), 0 },
	{ "MEM_UOPS_RETIRED.ALL_LOADS", LOADS, 1 << T_LOADS },
	{ "MEM_UOPS_RETIRED.ALL_STORES", STORES, 1 << T_STORES },
	{ "MEM_UOPS_RETIRED.LOCK_LOADS", EVENT(0xd0, 0x21), 1 << T_LOCKED },
	{ "MEM_UOPS_RETIRED.SPLIT_LOADS", EVENT(0xd0, 0x41), 1 << T_SPLIT_LOADS },
	{ "MEM_UOPS_RETIRED.SPLIT_STORES", EVENT(0xd0, 0x42), 1 << T_SPLIT_STORES },
	{ "MEM_LOAD_UOPS_RETIRED.L1_HIT", L1_HIT, 1 << T_L1 },
	{ "MEM_LOAD_UOPS_RETIRED.L2_HIT", L2_HIT, 1 << T_L2 },
	{ "MEM_LOAD_UOPS_RETIRED.L3_HIT", L3_HIT, 1 << T_L3 },
	{ "MEM_LOAD_UOPS_L3_HIT_RETIRED.XSNP_HITM", HITM, 1 << T_OTHER },
	{ "MEM_LOAD_UOPS_L3_MISS_RETIRED.LOCAL_DRAM", EVENT(0xd3, 0x01), 1 << T_DRAM },
	{ "LONGEST_LAT_CACHE.REFERENCE", EVENT(0x2e, 0x4f), 1 << T_REFERENCE },
	{ "LONGEST_LAT_CACHE.MISS", EVENT(0x2e, 0x41), 1 << T_MISS },
};

static u64 rng_state;

static u64 below(u64 n)
{
	u64 x = rng_state += 0x9E3779B97F4A7C15ull;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
	x = (x ^ x >> 27) * 0x94D049BB133111EBull;
	return (x ^ x >> 31) % n;
}

/* The figures of CPUs 0 and 1 in user mode, now */
static void take(u64 figure[2][FIGURES])
{
	const char *p;
	int cpu, i;

	ledger_mark('s');
	p = json_begin(json_member(ledger_text, "cpus") + 1);
	for (cpu = 0; cpu < 2; cpu++, p = json_begin(json_skip(p))) {
		const char *user = json_member(p, "user");

		for (i = 0; i < FIGURES; i++)
			figure[cpu][i] = json_u64(user, key[i]);
	}
}

static u64 truth(const u64 from[FIGURES], const u64 to[FIGURES], unsigned int which)
{
	u64 n = 0;
	int i;

	for (i = 0; i < FIGURES; i++)
		n += which & 1u << i ? to[i] - from[i] : 0;
	return n;
}

#define MOST	6

struct event {
	int fd;
	unsigned int k;			/* of known */
	struct { u64 count, enabled, running; } v;
};

static void open_event(struct event *e, int cpu)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_RAW, .size = sizeof(a), .disabled = 1, .exclude_kernel = 1,
		.exclude_hv = 1, .config = known[e->k].event,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	e->fd = syscall(SYS_perf_event_open, &a, -1, cpu, -1, 0);
	if (e->fd < 0)
		die("perf_event_open, %s: %m", known[e->k].name);
}

/* What random() found so far */
static struct {
	u64 rounds, counts, whole, never, wrong;
} found;

static void one_round(bool over, char *buf, u64 bytes)
{
	static work * const w[] = { load_apart, store_apart, load_apart, locked_apart };
	u64 a[2][FIGURES], b[2][FIGURES], c[2][FIGURES], d[2][FIGURES];
	struct event e[2][MOST];
	unsigned int n[2], i;
	struct worker k[2];
	int cpu;

	for (cpu = 0; cpu < 2; cpu++) {
		const u64 used = 4 * KIB << below(10);

		begin(&k[cpu], cpu, w[below(ARRAY_SIZE(w))],
		      buf + below(2) * bytes / 2, LINE, used / LINE);
		/* With an event of memory anywhere, a thread gets two counters. */
		n[cpu] = over ? 3 + below(MOST - 2) : 1 + below(2);
		for (i = 0; i < n[cpu]; i++) {
			e[cpu][i].k = below(ARRAY_SIZE(known));
			open_event(&e[cpu][i], cpu);
		}
	}
	take(a);
	for (i = 0; i < MOST; i++) {
		for (cpu = 0; cpu < 2; cpu++)
			if (i < n[cpu])
				ioctl(e[cpu][i].fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	take(b);
	nap_ms(over ? 20 + below(80) : 5 + below(30));
	take(c);
	for (cpu = 0; cpu < 2; cpu++) {
		for (i = 0; i < n[cpu]; i++)
			ioctl(e[cpu][i].fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	take(d);
	for (cpu = 0; cpu < 2; cpu++) {
		end(&k[cpu]);
		for (i = 0; i < n[cpu]; i++) {
			struct event *v = &e[cpu][i];
			const unsigned int which = known[v->k].truth;
			const u64 low = truth(b[cpu], c[cpu], which);
			const u64 high = truth(a[cpu], d[cpu], which);
			bool whole;

			if (read(v->fd, &v->v, sizeof(v->v)) != sizeof(v->v))
				die("reading a counter: %m");
			close(v->fd);
			whole = v->v.enabled == v->v.running;
			found.counts++;
			found.whole += whole;
			found.never += !high;
			/* One that had its turns only has counted a part, never more. */
			if (v->v.count <= high && (!whole || v->v.count >= low))
				continue;
			if (found.wrong++ < 5)
				printf("# CPU %d: %s: %lu, the ledger says %lu to %lu; it ran for %lu of %lu us\n",
				       cpu, known[v->k].name, v->v.count, low, high,
				       v->v.running / 1000, v->v.enabled / 1000);
		}
	}
	found.rounds++;
}

static void test_perf(bool over, unsigned int seconds, u64 seed)
{
	const u64 bytes = 4096 * KIB;
	char *buf = map(bytes + LINE), text[200];
	struct timespec t;
	time_t last;

	ledger_open();
	run_on(2);
	rng_state = seed;
	clock_gettime(CLOCK_MONOTONIC, &t);
	last = t.tv_sec + seconds;
	do {
		one_round(over, buf, bytes);
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while (t.tv_sec < last);
	snprintf(text, sizeof(text),
		 "perf, %s, seed %lu: %lu counts in %lu rounds, %lu of all the time, %lu of what never happened, %lu wrong",
		 over ? "more events than counters" : "as many events as counters", seed,
		 found.counts, found.rounds, found.whole, found.never, found.wrong);
	check(!found.wrong && found.never && (over ? found.whole < found.counts :
					      found.whole == found.counts), text, "see above");
}

static void task(u64 tag, int cpu, const char *name, u64 bytes, u64 n)
{
	char *buf = map(bytes);

	run_on(cpu);
	membw_task(tag, name, buf, bytes, n);
}

int main(int argc, char **argv)
{
	const char *group = argc > 1 ? argv[1] : "";

	if (!strcmp(group, "task") && argc == 7) {
		task(number(argv[2]), number(argv[3]), argv[4], number(argv[5]), number(argv[6]));
		return 0;
	}
	if (!strcmp(group, "together") && argc == 4) {
		together(number(argv[2]), number(argv[3]));
		return 0;
	}
	if (!strcmp(group, "perf") && argc == 5) {
		test_perf(!strcmp(argv[2], "over"), number(argv[3]), number(argv[4]));
		return failed > 0;
	}
	prepare();
	if (!strcmp(group, "caches") && argc == 2)
		test_caches();
	else if (!strcmp(group, "erratum") && argc == 3)
		test_erratum(!strcmp(argv[2], "on"));
	else
		die("usage: smt caches | erratum on|off | together BYTES SECONDS | perf fits|over SECONDS SEED | task TAG CPU WORK BYTES N");
	all_off();
	return failed > 0;
}

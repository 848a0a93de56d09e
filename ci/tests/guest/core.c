// SPDX-License-Identifier: GPL-2.0
/*
 * core GROUP...: checks the cores' counters in the guest, by programming them
 * without a driver's help, against work of known size (core-work.S) and against
 * the ledger.
 *
 *	registers  what they keep, and what is a fault
 *	exact	   instructions and cycles, to the last one, whatever interrupts
 *	branches   kinds, predictions and speculation
 *	memory	   loads, stores and caches; needs --cpu-cache on --llc 2560K
 *	samples	   each overflow interrupts behind the instruction that made it
 *	pebs	   what the processor itself writes about precise events; needs what
 *		   memory needs
 *	pebs-code  a part of it, for one CPU
 *	pebs-lossy with --pebs ...,lossy, and --icount, so that there are few interrupts:
 *		   what is lost
 *	dram BYTES_PER_S  by the guest's clock: needs what memory needs, and --icount and
 *		   --dram-bw BYTES_PER_S
 *	losses TAG PERIOD  what pebs-lossy is about, as figures: of misses, and of all loads,
 *		   tag in the ledger (TAG, TAG + 1), period, records, what a counter beside
 *		   has, and one of hits of L1
 *	run WORK   only does the work, for another's counters; `run` lists them
 *	task TAG WORK BYTES N  does it N times to so many bytes, on one CPU after the
 *		   other if there are two, as a task with a tag in the ledger; prints what
 *		   perf counts, and what memio says that it has read and written back
 *	threads TAG BYTES N  each of N threads, one after the other, reads so many bytes and ends;
 *		   prints what memio says that the process has read
 *	windows TAG MS BYTES [signals]  reads so much memory, and prints the most bytes that it
 *		   has read in any MS milliseconds; with signals, it gets one from itself
 *		   for each page
 *	bursts TAG BYTES MS  reads so much, so often, until it is killed
 *	marks MS  puts a mark (b) into the ledger so often, until it is killed
 *
 * Prints "ok TEXT" or "not ok TEXT" for each check; the caller numbers them.
 *
 * Counters are set through /dev/cpu/0/msr and read by RDPMC, before and after the
 * work; what the reading itself adds is the same each time and is measured with
 * no work. They count user mode only, and this program has the CPU for itself (a
 * real-time priority), so all else that happens is not counted, and the figures
 * have to be exact.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
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

#define MIB		(1ul << 20)
#define PAGE		4096ul
#define LINE		64ul
#define COUNTERS	8
#define BIG		(8 * MIB)	/* far more than the LLC */

static int msr_fd;

/* ---- registers ---- */

#define MSR_CAPABILITIES 0x345
#define MSR_DEBUGCTL	0x1d9
#define MSR_OFFCORE(i)	(0x1a6 + (i))

#define CYCLES		EVENT(0x3c, 0x00)

static bool try_put(uint32_t msr, u64 val)
{
	if (pwrite(msr_fd, &val, 8, msr) == 8)
		return true;
	if (errno != EIO)
		die("MSR %#x: %m", msr);
	return false;
}

static void put(uint32_t msr, u64 val)
{
	if (!try_put(msr, val))
		die("MSR %#x: a fault, writing %#lx", msr, val);
}

static u64 get(uint32_t msr)
{
	u64 val;

	if (pread(msr_fd, &val, 8, msr) != 8)
		die("MSR %#x: %m", msr);
	return val;
}

/* Count these events from zero, at most eight. */
static void program(const unsigned int *events, size_t n, unsigned int modes)
{
	size_t i;

	put(MSR_ENABLE, 0);
	put(MSR_FIXED_CTRL, 0);
	for (i = 0; i < COUNTERS; i++) {
		put(MSR_SELECT(i), i < n ? events[i] | modes | EN : 0);
		put(MSR_PMC_FULL(i), 0);
	}
	put(MSR_CLEAR, get(MSR_STATUS));
	put(MSR_ENABLE, 0xff);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s: %m", path);
	close(fd);
}

#define FAIR_SERVER	"/sys/kernel/debug/sched/fair_server/cpu0/runtime"

/* The CPU is ours, and RDPMC allowed. */
static void prepare(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	run_on(0);
	write_file("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	/* From Linux 6.12 on the fair class has 50 ms a second all the same, if a task waits. */
	if (!access(FAIR_SERVER, F_OK))
		write_file(FAIR_SERVER, "0");
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		die("no real-time priority: %m");
	msr_fd = open("/dev/cpu/0/msr", O_RDWR);
	if (msr_fd < 0)
		die("/dev/cpu/0/msr: %m");
	write_file("/sys/bus/event_source/devices/cpu/rdpmc", "2");
	if (mlockall(MCL_CURRENT))
		die("cannot lock memory: %m");
}

static void *map(size_t bytes, int more)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);

	if (p == MAP_FAILED)
		die("no memory: %m");
	return p;
}

/* ---- work ---- */

/* What each counter counted during the work, and nothing else */
static void count(work *w, void *rdi, u64 rsi, u64 rdx, u64 sum[COUNTERS])
{
	static u64 none[2 * COUNTERS], some[2 * COUNTERS];
	int i;

	/* Once for the translation, and for predictions. */
	measure(work_empty, NULL, 0, 0, none);
	measure(work_empty, NULL, 0, 0, none);
	measure(w, rdi, rsi, rdx, some);
	for (i = 0; i < COUNTERS; i++)
		sum[i] = some[COUNTERS + i] - some[i] - (none[COUNTERS + i] - none[i]);
}

static void handle(int signal, void (*handler)(void))
{
	const struct {
		void (*handler)(void);
		u64 flags;
		void (*restorer)(void);
		u64 mask;
	} action = { handler, SA_SIGINFO | 0x04000000, handler_returns, 0 };

	if (syscall(SYS_rt_sigaction, signal, &action, NULL, 8))
		die("signal %d: %m", signal);
}

/* ---- registers ---- */

static void keeps(const char *name, uint32_t msr, u64 val, u64 want)
{
	char text[99];

	put(msr, val);
	snprintf(text, sizeof(text), "%s keeps %#lx of %#lx", name, want, val);
	check(get(msr) == want, text, "%#lx", get(msr));
}

static void faults(const char *name, uint32_t msr, u64 val)
{
	const u64 before = get(msr);
	char text[99];

	snprintf(text, sizeof(text), "%s: %#lx is a fault", name, val);
	check(!try_put(msr, val) && get(msr) == before, text, "now %#lx", get(msr));
}

static void cpuid(unsigned int leaf, unsigned int r[4])
{
	asm volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
		     : "a"(leaf), "c"(0));
}

static void test_registers(void)
{
	unsigned int r[4];

	cpuid(0xa, r);
	check((r[0] & 0xff) == 3, "CPUID: version 3", "%#x", r[0]);
	check((r[0] >> 8 & 0xff) == 8, "CPUID: 8 general counters", "%#x", r[0]);
	check((r[0] >> 16 & 0xff) == 48, "CPUID: of 48 bits", "%#x", r[0]);
	check(r[0] >> 24 == 7 && !(r[1] & 0x7f), "CPUID: all seven events", "%#x %#x", r[0], r[1]);
	check((r[3] & 0x1f) == 3 && (r[3] >> 5 & 0xff) == 48, "CPUID: 3 fixed ones, of 48 bits",
	      "%#x", r[3]);
	cpuid(1, r);
	check(r[2] & 1 << 15, "CPUID: there are capabilities", "%#x", r[2]);

	program(NULL, 0, 0);
	check(get(MSR_CAPABILITIES) & 1 << 13, "full-width writes", "%#lx",
	      get(MSR_CAPABILITIES));
	keeps("a counter, all of it,", MSR_PMC_FULL(0), 0x8123456789ab, 0x8123456789ab);
	faults("a counter, all of it", MSR_PMC_FULL(0), 1ul << 48);
	keeps("a counter", MSR_PMC(7), 0x123456789abcdef, 0xffff89abcdef);
	keeps("a fixed counter", MSR_FIXED(2), MASK_48, MASK_48);
	faults("a fixed counter", MSR_FIXED(0), MASK_48 + 1);
	keeps("a select", MSR_SELECT(7), 0xff8fffff, 0xff8fffff);
	faults("a select", MSR_SELECT(7), 1ul << 32);
	put(MSR_SELECT(7), 0);
	faults("the fixed counters' control", MSR_FIXED_CTRL, 0x1000);
	faults("the enables", MSR_ENABLE, 1 << 8);
	faults("the enables", MSR_ENABLE, 1ul << 35);
	faults("the status", MSR_STATUS, 0);
	faults("the capabilities", MSR_CAPABILITIES, 0);
	check(!try_put(MSR_CLEAR, 1ul << 40), "clearing what is not there is a fault", "no");
	keeps("debug control", MSR_DEBUGCTL, 1 << 12, 1 << 12);
	put(MSR_DEBUGCTL, 0);
	check(!try_put(0x18e, 1) || !get(0x18e), "there is no ninth select", "%#lx", get(0x18e));
}

/* ---- instructions ---- */

static void exactly(const char *name, work *w, void *rdi, u64 n, u64 want, u64 want_cycles)
{
	u64 sum[COUNTERS];

	/* work_empty's RET is in both. */
	count(w, rdi, n, 0, sum);
	check(sum[0] + 1 == want && sum[1] + 1 == want_cycles, name,
	      "%lu instructions, %lu cycles; wanted %lu, %lu", sum[0] + 1, sum[1] + 1, want,
	      want_cycles);
}

static void test_exact(void)
{
	const unsigned int events[] = { INSTRUCTIONS, CYCLES };
	const u64 bytes = 64 * PAGE;
	char *buf = map(bytes, 0), *p;

	program(events, 2, USER);
	exactly("a loop of 2 instructions, 1000 times", work_loop, NULL, 1000, 2001, 2001);
	exactly("the same, 20 million times, through many ticks", work_loop, NULL, 20000000,
		40000001, 40000001);
	exactly("5000 in a row, over pages", work_straight, NULL, 0, 5001, 5001);
	exactly("... and again, translated", work_straight, NULL, 0, 5001, 5001);

	exactly("64 page faults", work_touch, map(bytes, 0), 64, 257, 257);
	exactly("64 page faults in one block", work_touch_block, map(bytes, 0), 0, 65, 65);

	exactly("a repeated store", work_rep_stos, buf, 1000, 4, 1004);
	exactly("... of nothing", work_rep_stos, buf, 0, 4, 4);
	exactly("... with 64 page faults, through ticks", work_rep_stos, map(bytes, 0), bytes, 4,
		bytes + 4);
	exactly("a repeated copy", work_rep_movs, buf, bytes, 4, bytes + 4);
	memset(buf, 1, 200);
	exactly("a repeated comparison of what is alike", work_rep_cmps, buf, 100, 4, 104);
	buf[100 + 41] = 2;
	exactly("... that ends with the 42nd byte", work_rep_cmps, buf, 100, 4, 45);

	exactly("a locked instruction", work_locked, buf, 1000, 3001, 3001);
	exactly("... over the border of a line", work_locked, buf + LINE - 4, 1000, 3001, 3001);
	exactly("... over the border of a page", work_locked, buf + PAGE - 4, 1000, 3001, 3001);

	p = map(PAGE, 0);
	memcpy(p, work_self, work_self_end - (const char *)work_self);
	if (mprotect(p, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		die("mprotect: %m");
	exactly("code that changes itself", (work *)p, p, 300, 1502, 1502);

	handle(SIGILL, handle_fault);
	handle(SIGFPE, handle_fault);
	handle(SIGSEGV, handle_fault);
	handle(SIGTRAP, handle_trap);
	exactly("invalid instructions do not retire", work_ud2, NULL, 200, 1203, 1203);
	exactly("divisions by zero don't", work_divide, NULL, 200, 1203, 1203);
	exactly("loads from nowhere don't", work_load, NULL, 200, 1203, 1203);
	exactly("what only the kernel may do doesn't", work_privileged, NULL, 200, 1203, 1203);
	exactly("breakpoints do", work_int3, NULL, 200, 1201, 1201);
	exactly("system calls do", work_syscall, NULL, 500, 2004, 2004);
}

/* One event by the modes, in different counters, all at once */
static void test_modes(void)
{
	const unsigned int both = EVENT(0xc0, 0) | EN;
	static u64 v[2 * COUNTERS];
	u64 user, kernel, all, cycles, ref;

	program(NULL, 0, 0);
	put(MSR_ENABLE, 0);
	put(MSR_SELECT(0), both | USER);
	put(MSR_SELECT(1), both | KERNEL);
	put(MSR_SELECT(2), both | USER | KERNEL);
	put(MSR_SELECT(3), both);
	put(MSR_FIXED_CTRL, 0x333);
	put(MSR_FIXED(0), 0);
	put(MSR_FIXED(1), 0);
	put(MSR_FIXED(2), 0);
	put(MSR_ENABLE, 0x70000000f);
	measure(work_touch, map(64 * PAGE, 0), 64, 0, v);
	measure(work_syscall, NULL, 500, 0, v);
	put(MSR_ENABLE, 0);
	user = get(MSR_PMC(0));
	kernel = get(MSR_PMC(1));
	all = get(MSR_FIXED(0));
	cycles = get(MSR_FIXED(1));
	ref = get(MSR_FIXED(2));
	check(user > 2000 && kernel > 64 * 100, "each mode's instructions", "%lu, %lu", user,
	      kernel);
	check(user + kernel == all, "user and kernel are all, in the fixed counter",
	      "%lu + %lu, %lu", user, kernel, all);
	check(get(MSR_PMC(2)) == all, "... and in another", "%lu", get(MSR_PMC(2)));
	check(get(MSR_PMC(3)) == 0, "no mode is nothing", "%lu", get(MSR_PMC(3)));
	check(cycles >= all + 64 * PAGE, "cycles are more: the kernel has cleared pages",
	      "%lu, %lu instructions", cycles, all);
	check(cycles == ref, "reference cycles are cycles", "%lu, %lu", cycles, ref);
}

/* A counter that wraps, with nobody to be interrupted */
static void test_wrap(void)
{
	const unsigned int events[] = { INSTRUCTIONS, CYCLES, INSTRUCTIONS };
	static u64 v[2 * COUNTERS];
	u64 status;

	program(events, 3, USER);
	put(MSR_ENABLE, 0);
	put(MSR_PMC_FULL(0), MASK_48 - 1000000);
	put(MSR_PMC_FULL(2), 5);
	put(MSR_ENABLE, 7);
	measure(work_loop, NULL, 2000000, 0, v);
	put(MSR_ENABLE, 0);
	status = get(MSR_STATUS);
	check(status == 1, "a counter that wraps says so", "%#lx", status);
	check(get(MSR_PMC(0)) + 1000001 == get(MSR_PMC(2)) - 5, "... and goes on", "%lu, %lu",
	      get(MSR_PMC(0)), get(MSR_PMC(2)));
	put(MSR_CLEAR, 1);
	check(get(MSR_STATUS) == 0, "... until it is cleared", "%#lx", get(MSR_STATUS));
}

/* ---- branches ---- */

#define EXEC(u)		EVENT(0x88, u)
#define EXEC_MISP(u)	EVENT(0x89, u)
#define RETIRED(u)	EVENT(0xc4, u)
#define MISP(u)		EVENT(0xc5, u)

static void about(const char *work, const char *what, u64 got, double want, u64 slack)
{
	char text[99];

	snprintf(text, sizeof(text), "%s: %s", work, what);
	check(got + slack >= want && got <= want + slack, text, "%lu, wanted %.0f", got, want);
}

static void test_branches(void)
{
	/* Executed, retired, taken conditional branches; direct jumps; mispredicted */
	static const struct {
		const char *name;
		work *w;
		double executed, retired, taken, direct, mispredicted;
	} t[] = {
		{ "a", branch_a, 2, 2, 1.5, 0, 0 },
		{ "b", branch_b, 2, 2, 1, 0, 0 },
		{ "c", branch_c, 2, 2, 2, 0, 0 },
		{ "d, a random branch, the next far away", branch_d, 2, 2, 1.5, 0, 0.5 },
		{ "e, a random branch, the next near", branch_e, 2.5, 2, 1.5, 0, 0.5 },
		{ "f", branch_f, 2, 2, 1, 1, 0 },
		{ "g", branch_g, 1, 1, 1, 0, 0 },
	};
	const unsigned int categories[] = {
		EXEC(0xc1), RETIRED(0x01), EXEC(0x81), EXEC(0xc2), MISP(0x00), EXEC_MISP(0xc1),
		RETIRED(0x10), MISP(0x01),
	};
	const unsigned int kinds[] = {
		RETIRED(0x00), RETIRED(0x02), RETIRED(0x08), RETIRED(0x20), RETIRED(0x40),
		EXEC(0xd0), EXEC(0xa0), EXEC(0xc4),
	};
	const u64 n = 20000, warm = 150, random = n / 50;
	u64 c[COUNTERS];
	size_t i;

	program(categories, ARRAY_SIZE(categories), USER);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		const u64 slack = t[i].mispredicted ? random : warm;

		count(t[i].w, NULL, n, 0, c);
		about(t[i].name, "conditional branches retired", c[1], t[i].retired * n, 0);
		about(t[i].name, "conditional branches executed", c[0], t[i].executed * n, slack);
		about(t[i].name, "... of these taken", c[2], t[i].taken * n +
		      (t[i].executed - t[i].retired) * n, slack);
		about(t[i].name, "direct jumps", c[3], t[i].direct * n, warm);
		about(t[i].name, "mispredicted", c[4], t[i].mispredicted * n, slack);
		check(c[5] == c[7], "... conditional ones, as executed and as retired",
		      "%lu, %lu", c[5], c[7]);
		/* An interrupt may have used up the stack of returns. */
		check(c[4] > c[5] && c[4] < c[5] + 5, "... and the call of the work",
		      "%lu, of them conditional %lu", c[4], c[5]);
		about(t[i].name, "not taken", c[6], (t[i].retired - t[i].taken) * n,
		      t[i].mispredicted ? random : 1);
	}

	program(kinds, ARRAY_SIZE(kinds), USER);
	count(branch_calls, NULL, n, 0, c);
	check(c[0] == 6 * n, "calls: all branches", "%lu", c[0]);
	check(c[1] == 2 * n, "calls: near calls, direct and indirect", "%lu", c[1]);
	check(c[2] == 2 * n, "calls: returns", "%lu", c[2]);
	check(c[3] == 6 * n - 1, "calls: near branches taken", "%lu", c[3]);
	check(c[4] == 0, "calls: far branches", "%lu", c[4]);
	about("calls", "direct ones, in vain, too", c[5], n, 5);
	about("calls", "indirect ones", c[6], n, 5);
	about("calls", "indirect jumps", c[7], n, 5);

	count(work_syscall, NULL, n, 0, c);
	check(c[0] == 2 * n, "system calls: all branches", "%lu", c[0]);
	check(c[3] == n - 1, "system calls: near branches taken", "%lu", c[3]);
	check(c[4] == n, "system calls: far branches", "%lu", c[4]);
}

/* ---- memory ---- */

#define UOPS(u)		EVENT(0xd0, u)
#define LOAD_UOPS(u)	EVENT(0xd1, u)

/* CPU 0's figures in user mode */
enum {
	LOADS, STORES, LOCKED_LOADS, SPLIT_LOADS, SPLIT_STORES, LOAD_L1_HIT, LOAD_L2_HIT,
	LOAD_L3_HIT, LOAD_L3_OTHER, LOAD_L3_MISS, L3_REFERENCE, L3_MISS, FIGURES
};

static const char * const key[FIGURES] = {
	"loads", "stores", "locked_loads", "split_loads", "split_stores", "load_l1_hit",
	"load_l2_hit", "load_l3_hit", "load_l3_other", "load_l3_miss", "l3_reference", "l3_miss",
};

static const struct {
	const char *name;
	unsigned int event;
	unsigned int truth;		/* the figures that it is the sum of */
} memory_events[] = {
	{ "MEM_UOPS_RETIRED.ALL_LOADS", UOPS(0x81), 1 << LOADS },
	{ "MEM_UOPS_RETIRED.ALL_STORES", UOPS(0x82), 1 << STORES },
	{ "MEM_UOPS_RETIRED.LOCK_LOADS", UOPS(0x21), 1 << LOCKED_LOADS },
	{ "MEM_UOPS_RETIRED.SPLIT_LOADS", UOPS(0x41), 1 << SPLIT_LOADS },
	{ "MEM_UOPS_RETIRED.SPLIT_STORES", UOPS(0x42), 1 << SPLIT_STORES },
	{ "MEM_LOAD_UOPS_RETIRED.L1_HIT", LOAD_UOPS(0x01), 1 << LOAD_L1_HIT },
	{ "MEM_LOAD_UOPS_RETIRED.L2_HIT", LOAD_UOPS(0x02), 1 << LOAD_L2_HIT },
	{ "MEM_LOAD_UOPS_RETIRED.L3_HIT", LOAD_UOPS(0x04), 1 << LOAD_L3_HIT },
	{ "MEM_LOAD_UOPS_RETIRED.L1_MISS", LOAD_UOPS(0x08),
	  1 << LOAD_L2_HIT | 1 << LOAD_L3_HIT | 1 << LOAD_L3_OTHER | 1 << LOAD_L3_MISS },
	{ "MEM_LOAD_UOPS_RETIRED.L2_MISS", LOAD_UOPS(0x10),
	  1 << LOAD_L3_HIT | 1 << LOAD_L3_OTHER | 1 << LOAD_L3_MISS },
	{ "MEM_LOAD_UOPS_RETIRED.L3_MISS", LOAD_UOPS(0x20), 1 << LOAD_L3_MISS },
	{ "MEM_LOAD_UOPS_L3_HIT_RETIRED.XSNP_HITM", EVENT(0xd2, 0x04), 1 << LOAD_L3_OTHER },
	{ "LONGEST_LAT_CACHE.REFERENCE", EVENT(0x2e, 0x4f), 1 << L3_REFERENCE },
	{ "LONGEST_LAT_CACHE.MISS", EVENT(0x2e, 0x41), 1 << L3_MISS },
};

static void take(u64 figure[FIGURES])
{
	const char *p;
	int i;

	ledger_mark('c');
	p = json_member(json_begin(json_member(ledger_text, "cpus") + 1), "user");
	for (i = 0; i < FIGURES; i++)
		figure[i] = json_u64(p, key[i]);
}

static u64 truth(const u64 from[FIGURES], const u64 to[FIGURES], unsigned int which)
{
	u64 n = 0;
	int i;

	for (i = 0; i < FIGURES; i++)
		n += which & 1u << i ? to[i] - from[i] : 0;
	return n;
}

/* The work, in front of all counters, four at a time, and of the ledger */
static void against_ledger(const char *name, work *w, void *rdi, u64 rsi, u64 rdx)
{
	static u64 v[2 * COUNTERS];
	u64 a[FIGURES], b[FIGURES], c[FIGURES], d[FIGURES];
	const size_t all = ARRAY_SIZE(memory_events);
	size_t e, i;

	for (e = 0; e < all; e += 4) {
		const size_t n = all - e < 4 ? all - e : 4;
		unsigned int events[4];

		for (i = 0; i < n; i++)
			events[i] = memory_events[e + i].event;
		take(a);
		program(events, n, USER);
		take(b);
		measure(w, rdi, rsi, rdx, v);
		take(c);
		put(MSR_ENABLE, 0);
		take(d);
		for (i = 0; i < n; i++) {
			const u64 low = truth(b, c, memory_events[e + i].truth);
			const u64 high = truth(a, d, memory_events[e + i].truth);
			const u64 got = get(MSR_PMC(i));
			char text[150];

			snprintf(text, sizeof(text), "%s: %s is the ledger's, %lu to %lu", name,
				 memory_events[e + i].name, low, high);
			check(got >= low && got <= high, text, "%lu", got);
		}
	}
}

/* On another CPU: dirty some lines. */
static void *dirty(void *p)
{
	run_on(1);
	store_apart(p, LINE, 1000);
	return NULL;
}

static void elsewhere(void *(*f)(void *), void *p)
{
	pthread_t t;

	if (pthread_create(&t, NULL, f, p) || pthread_join(t, NULL))
		die("no thread");
}

/* One event, and work of which it is known how often that happens. */
static void one(const char *name, unsigned int event, work *w, void *rdi, u64 rsi, u64 rdx,
		u64 want, u64 slack)
{
	u64 c[COUNTERS];
	int64_t got;

	program(&event, 1, USER);
	count(w, rdi, rsi, rdx, c);
	/* It may be that only reading the counters missed. */
	got = c[0];
	check(got >= (int64_t)(want - slack) && got <= (int64_t)(want + slack), name,
	      "%ld, wanted %lu", got, want);
}

static void test_memory(void)
{
	const u64 n = 20000, big = BIG;
	char *buf = map(big, MAP_POPULATE);
	char *l3 = map(MIB, MAP_POPULATE), *l2 = map(MIB / 8, MAP_POPULATE);
	/* The kernel's own lines come between: ticks, at least. */
	const u64 few = 60;
	static u64 unused[2 * COUNTERS];

	ledger_open();

	one("a load is a load", UOPS(0x81), load_apart, buf, 0, n, n, 0);
	one("... and no store", UOPS(0x82), load_apart, buf, 0, n, 0, 0);
	one("a store is a store", UOPS(0x82), store_apart, buf, 0, n, n, 0);
	one("... and no load", UOPS(0x81), store_apart, buf, 0, n, 0, 0);
	one("a locked instruction is a load", UOPS(0x81), locked_apart, buf, 0, n, n, 0);
	one("... and a store", UOPS(0x82), locked_apart, buf, 0, n, n, 0);
	one("... and a locked load", UOPS(0x21), locked_apart, buf, 0, n, n, 0);
	one("a load that isn't locked is none", UOPS(0x21), load_apart, buf, 0, n, 0, 0);
	one("a load over the border of a line is one load", UOPS(0x81), load_apart, buf + 60, 0, n,
	    n, 0);
	one("... and a split one", UOPS(0x41), load_apart, buf + 60, 0, n, n, 0);
	one("a load up to the border is not", UOPS(0x41), load_apart, buf + 56, 0, n, 0, 0);
	one("a store over the border is a split one", UOPS(0x42), store_apart, buf + 60, 0, n, n,
	    0);

	one("loads of one line hit L1", LOAD_UOPS(0x01), load_apart, buf, 0, n, n, few);
	measure(load_apart, l2, LINE, MIB / 8 / LINE, unused);
	one("128 KiB, again: L2", LOAD_UOPS(0x02), load_apart, l2, LINE, MIB / 8 / LINE,
	    MIB / 8 / LINE, few);
	one("... not L1", LOAD_UOPS(0x01), load_apart, l2, LINE, MIB / 8 / LINE, 0, few);
	measure(load_apart, l3, LINE, MIB / LINE, unused);
	one("1 MiB, again: L3", LOAD_UOPS(0x04), load_apart, l3, LINE, MIB / LINE, MIB / LINE,
	    few);
	one("... not L2", LOAD_UOPS(0x02), load_apart, l3, LINE, MIB / LINE, 0, few);
	one("8 MiB, again: DRAM", LOAD_UOPS(0x20), load_apart, buf, LINE, big / LINE, big / LINE,
	    few);
	one("... all that L1 misses", LOAD_UOPS(0x08), load_apart, buf, LINE, big / LINE,
	    big / LINE, few);
	one("... references of L3", EVENT(0x2e, 0x4f), load_apart, buf, LINE, big / LINE,
	    big / LINE, few);
	one("... and misses", EVENT(0x2e, 0x41), load_apart, buf, LINE, big / LINE, big / LINE,
	    few);
	one("stores to 8 MiB: misses of L3, too", EVENT(0x2e, 0x41), store_apart, buf, LINE,
	    big / LINE, big / LINE, few);
	one("... but of no load", LOAD_UOPS(0x20), store_apart, buf, LINE, big / LINE, 0, few);
	one("L1D.REPLACEMENT: stores and loads", EVENT(0x51, 0x01), store_apart, buf, LINE,
	    big / LINE, big / LINE, few);
	one("L2_RQSTS.RFO_MISS", EVENT(0x24, 0x22), store_apart, buf, LINE, big / LINE, big / LINE,
	    few);
	one("L2_RQSTS.DEMAND_DATA_RD_MISS", EVENT(0x24, 0x21), load_apart, buf, LINE, big / LINE,
	    big / LINE, few);

	elsewhere(dirty, l3);
	one("what another core has modified", EVENT(0xd2, 0x04), load_apart, l3, LINE, 1000, 1000,
	    few);
	elsewhere(dirty, l3);
	one("... is no plain hit of L3", LOAD_UOPS(0x04), load_apart, l3, LINE, 1000, 0, few);

	put(MSR_OFFCORE(0), 1 | 1 << 16);
	put(MSR_OFFCORE(1), 2 | 1 << 16);
	one("OFFCORE_RESPONSE 0: reads", EVENT(0xb7, 0x01), load_apart, buf, LINE, big / LINE,
	    big / LINE, few);
	one("OFFCORE_RESPONSE 1: no writes", EVENT(0xbb, 0x01), load_apart, buf, LINE, big / LINE,
	    0, few);

	against_ledger("8 MiB loaded", load_apart, buf, LINE, big / LINE);
	against_ledger("1 MiB loaded", load_apart, l3, LINE, MIB / LINE);
	against_ledger("128 KiB loaded", load_apart, l2, LINE, MIB / 8 / LINE);
	against_ledger("8 MiB stored", store_apart, buf, LINE, big / LINE);
	against_ledger("split locked instructions", locked_apart, buf + 60, 2 * LINE, 20000);
}

/* ---- samples ---- */

static long open_event(struct perf_event_attr *a)
{
	a->size = sizeof(*a);
	a->disabled = 1;
	a->exclude_kernel = 1;
	a->exclude_hv = 1;
	return syscall(SYS_perf_event_open, a, 0, -1, -1, 0);
}

/* Each @period instructions of a loop of 99: where was that? */
static void one_period(u64 period)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = period, .sample_type = PERF_SAMPLE_IP,
	};
	const size_t ring = 256 * PAGE;
	const u64 rounds = 200000, start = (uintptr_t)sampled;
	u64 n = 0, before = 0, wrong = 0, others = 0, from = 0, to = 0, other = 0, pos, head;
	struct perf_event_mmap_page *page;
	const char *data;
	char text[99];
	int fd;

	fd = open_event(&a);
	if (fd < 0)
		die("perf_event_open: %m");
	page = mmap(NULL, ring + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		die("perf's buffer: %m");
	data = (const char *)page + PAGE;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	sampled(NULL, rounds, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);

	head = page->data_head;
	for (pos = 0; pos < head;) {
		const struct perf_event_header *h = (const void *)(data + pos % ring);
		const u64 ip = *(const u64 *)(h + 1);
		/* 97 of one byte, one of 3, and the jump */
		const u64 at = ip - start <= 97 ? ip - start : ip - start == 100 ? 98 : 99;

		pos += h->size;
		if (h->type != PERF_RECORD_SAMPLE || at == 99) {
			others++;
			other = h->type == PERF_RECORD_SAMPLE ? ip : h->type;
			continue;
		}
		if (n++ && (at + 99 - before) % 99 != period % 99 && !wrong++) {
			from = before;
			to = at;
		}
		before = at;
	}
	munmap(page, ring + PAGE);
	close(fd);

	snprintf(text, sizeof(text), "a sample each %lu instructions, at each one's place", period);
	check(!wrong && n + 2 >= 99 * rounds / period && n <= 99 * rounds / period + 1, text,
	      "%lu samples, %lu wrong (first: %lu after %lu), %lu others (last: %#lx of %#lx)", n,
	      wrong, to, from, others, other, start);
}

/* Not inlined: what is counted has to be the same instructions each time. */
static __attribute__((noinline)) void count_loop(int fd, u64 rounds)
{
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work_loop(NULL, rounds, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* An exact count beside another that interrupts all the time */
static void beside_interrupts(void)
{
	struct perf_event_attr exact = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,
	}, busy = {
		.type = PERF_TYPE_RAW, .config = RETIRED(0x01), .sample_period = 1009,
	};
	const u64 rounds = 500000;
	int fd = open_event(&exact), other = open_event(&busy);
	u64 v[3];
	int i;

	if (fd < 0 || other < 0)
		die("perf_event_open: %m");
	for (i = 0; i < 3; i++) {
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		if (i == 2)
			ioctl(other, PERF_EVENT_IOC_ENABLE, 0);
		count_loop(fd, i ? rounds : 1);
		if (read(fd, &v[i], 8) != 8)
			die("reading a counter: %m");
	}
	close(fd);
	close(other);
	check(v[1] - v[0] == 2 * (rounds - 1), "a loop's instructions", "%lu and %lu", v[0], v[1]);
	check(v[2] == v[1], "... and while its branches interrupt, each 1009th", "%lu and %lu",
	      v[1], v[2]);
}

static void test_samples(void)
{
	/* No tick has too many. The rate can be set only while it may be lowered. */
	write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "25");
	write_file("/proc/sys/kernel/perf_event_max_sample_rate", "10000000");
	write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	one_period(10007);
	one_period(99990);
	one_period(1000003);
	beside_interrupts();
}

/* ---- precise events ---- */

#define MSR_PEBS_ENABLE	0x3f1
#define MSR_LATENCY	0x3f6
#define MSR_MISC_ENABLE	0x1a0
#define MSR_STORE	0x600

#define PREC_DIST	EVENT(0xc0, 0x01)
#define LATENCY		EVENT(0xcd, 0x01)
#define BUFFER_FULL	(1ul << 62)

/* Registers in a record's order */
enum { AX, BX, CX, DX, SI, DI, BP, SP, R8 };

struct record {
	u64 flags, ip, reg[16];
	u64 status, address, source, latency;
	u64 event_ip, transaction, tsc;		/* that only in format 3 */
};

/*
 * In the program's own memory: the processor writes there as the kernel could.
 * Samples are of user mode on this CPU, so nobody else's.
 */
static struct {
	u64 branches[4];
	u64 base, index, maximum, threshold;
	u64 reset[8];
} *store;
static size_t record_bytes;
static unsigned int format;

/* Set up to four events, each with its period; 0: only count. */
static void sampling(size_t n, const unsigned int *events, const u64 *periods)
{
	u64 enable = 0;
	size_t i;

	program(events, n, USER);
	put(MSR_ENABLE, 0);
	put(MSR_PEBS_ENABLE, 0);
	for (i = 0; i < n; i++) {
		if (!periods[i])
			continue;
		enable |= 1ul << i | (events[i] == LATENCY ? 1ul << (32 + i) : 0);
		store->reset[i] = -periods[i] & MASK_48;
		put(MSR_PMC_FULL(i), store->reset[i]);
	}
	store->index = store->base;
	put(MSR_STORE, (uintptr_t)store);
	put(MSR_PEBS_ENABLE, enable);
}

static void sampling_begins(void)
{
	put(MSR_ENABLE, 0xff);
}

static void sampling_ends(void)
{
	put(MSR_ENABLE, 0);
	put(MSR_PEBS_ENABLE, 0);
}

static struct record *record(size_t i)
{
	return (struct record *)(store->base + i * record_bytes);
}

static size_t records(void)
{
	return (store->index - store->base) / record_bytes;
}

/* Parity, zero and sign, as an instruction sets them that has this result */
static u64 flags_of(u64 result)
{
	return (__builtin_parity(result & 0xff) ? 0 : 1 << 2) | (result ? 0 : 1 << 6) |
	       (result >> 63 ? 1 << 7 : 0);
}

#define FLAGS	(1 << 2 | 1 << 6 | 1 << 7)

static bool near_to(size_t got, size_t want)
{
	return got + 1 >= want && got <= want + 1;
}

/* The next sample of an instruction at @ip, from the record @k on, which is behind it then */
static const struct record *next_of(u64 ip, size_t *k)
{
	while (*k < records()) {
		const struct record *r = record((*k)++);

		if (r->event_ip == ip)
			return r;
	}
	return NULL;
}

static void pebs_registers(void)
{
	unsigned int r[4];

	cpuid(1, r);
	check(r[3] & 1 << 21 && r[2] & 1 << 2, "CPUID: a debug store, with 64 bits", "%#x %#x",
	      r[3], r[2]);
	check((get(MSR_MISC_ENABLE) & 0x1880) == 0x880,
	      "there are counters and samples, and no traces of branches", "%#lx",
	      get(MSR_MISC_ENABLE));
	check((get(MSR_CAPABILITIES) & 0xc0) == 0xc0, "records are of what has happened, in full",
	      "%#lx", get(MSR_CAPABILITIES));
	keeps("the enables of samples", MSR_PEBS_ENABLE, 0xf0000000f, 0xf0000000f);
	faults("the enables of samples", MSR_PEBS_ENABLE, 1 << 4);
	faults("the enables of samples", MSR_PEBS_ENABLE, 1ul << 63);
	put(MSR_PEBS_ENABLE, 0);
	keeps("the debug store's address", MSR_STORE, 0xffff800012345678, 0xffff800012345678);
	faults("the debug store's address", MSR_STORE, 1ul << 47);
}

/* Loads: all that there is in a record */
static void pebs_loads(char *buf)
{
	const u64 n = 20000, period = 9, first = (uintptr_t)load_apart;
	size_t i, wrong = 0, bad_ip = 0, bad_reg = 0, bad_flags = 0, bad_tsc = 0, in = 0;
	const unsigned int event = UOPS(0x81);
	const struct record *r, *before = NULL;
	u64 from, to;

	for (i = 0; i < n; i++)
		*(u64 *)(buf + i * LINE) = i * 3;
	sampling(1, &event, &period);
	sampling_begins();
	from = __builtin_ia32_rdtsc();
	load_apart(buf, LINE, n);
	to = __builtin_ia32_rdtsc();
	sampling_ends();
	i = 0;
	while ((r = next_of(first, &i))) {
		const u64 at = (r->address - (uintptr_t)buf) / LINE;

		in++;
		wrong += r->address % LINE || at >= n || r->status != 1 || r->source ||
			 r->latency || r->transaction ||
			 (before && r->address - before->address != (period + 1) * LINE);
		bad_ip += r->ip != first + 3;
		/* What was loaded is in its register, and the address not yet added to. */
		bad_reg += r->reg[AX] != at * 3 || r->reg[DI] != r->address ||
			   r->reg[SI] != LINE || r->reg[DX] != n - at ||
			   r->reg[SP] % 8 || !r->reg[SP];
		/* Of DEC, two instructions ago */
		if (at)
			bad_flags += (r->flags & FLAGS) != flags_of(r->reg[DX]);
		if (format == 3)
			bad_tsc += r->tsc < from || r->tsc > to ||
				   (before && r->tsc <= before->tsc);
		before = r;
	}
	check(near_to(in, n / (period + 1)), "each tenth load has a record", "%zu of %lu", in, n);
	check(!wrong, "... with its address, ten lines apart", "%zu wrong", wrong);
	check(!bad_ip, "... and that of the next instruction", "%zu wrong", bad_ip);
	check(!bad_reg, "... registers as the load has left them", "%zu wrong", bad_reg);
	check(!bad_flags, "... flags", "%zu wrong", bad_flags);
	if (format == 3)
		check(!bad_tsc, "... and time, that goes on", "%zu wrong", bad_tsc);
}

/* Loads that find their data at one level, and stores */
static void pebs_levels(char *big, char *l3, char *l2)
{
	static const struct {
		const char *name;
		u64 source, latency;
	} t[] = {
		{ "L1", 1, 4 }, { "L2", 3, 12 }, { "L3", 4, 40 }, { "another core", 7, 80 },
		{ "DRAM", 12, 200 },
	};
	const struct record *r;
	size_t i, k, in, good;
	static u64 unused[2 * COUNTERS];
	char text[99];

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		const unsigned int events[] = { 0, 0, 0, LATENCY };
		const u64 periods[] = { 0, 0, 0, 6 };
		char * const from[] = { l2, l2, l3, l3, big };
		const u64 bytes[] = { MIB / 8, MIB / 8, MIB, 1000 * LINE, BIG };
		const u64 apart = i ? LINE : 0, n = bytes[i] / LINE;

		if (i == 3)
			elsewhere(dirty, l3);
		else
			measure(load_apart, from[i], apart, n, unused);
		put(MSR_LATENCY, 3);
		sampling(4, events, periods);
		sampling_begins();
		load_apart(from[i], apart, n);
		sampling_ends();
		k = in = good = 0;
		while ((r = next_of((uintptr_t)load_apart, &k))) {
			in++;
			good += r->source == t[i].source && r->latency == t[i].latency &&
				r->status == 8;
		}
		snprintf(text, sizeof(text), "loads from %s: source %lu, %lu cycles", t[i].name,
			 t[i].source, t[i].latency);
		/* The kernel's own lines, and the records', come between. */
		check(near_to(in, n / 7) && good >= in - in / 10, text, "%zu, %zu of %lu", good, in,
		      n);

		/* Only what takes longer */
		if (i == 3)
			elsewhere(dirty, l3);
		put(MSR_LATENCY, t[i].latency + 1);
		sampling(4, events, periods);
		sampling_begins();
		load_apart(from[i], apart, n);
		sampling_ends();
		k = in = 0;
		while (next_of((uintptr_t)load_apart, &k))
			in++;
		snprintf(text, sizeof(text), "... and none if %lu are asked for",
			 t[i].latency + 1);
		check(in <= n / 70, text, "%zu", in);
	}
	put(MSR_LATENCY, 3);

	for (i = 0; i < 3; i++) {
		static const char * const name[] = {
			"stores to L1: said to be there", "stores to DRAM: not said to be",
			"locked ones: said to be",
		};
		const unsigned int event = UOPS(0x82);
		const u64 period = 4, apart = i == 1 ? LINE : 0, n = BIG / LINE;
		work *w = i == 2 ? locked_apart : store_apart;

		sampling(1, &event, &period);
		sampling_begins();
		w(big, apart, n);
		sampling_ends();
		k = in = good = 0;
		while ((r = next_of((uintptr_t)w, &k))) {
			in++;
			good += r->source == (i == 0 ? 1 : i == 1 ? 0 : 1 | 1 << 5) &&
				r->address - (uintptr_t)big < BIG && !r->latency;
		}
		check(near_to(in, n / 5) && good + 20 >= in, name[i], "%zu, %zu of %lu", good, in,
		      n);
	}
}

/* Branches, and instructions one by one */
static void pebs_code(void)
{
	const u64 rounds = 100000, start = (uintptr_t)sampled;
	const unsigned int branch = RETIRED(0x01), all = RETIRED(0x04);
	const unsigned int exact[] = { 0, PREC_DIST };
	u64 period = 999, periods[] = { 0, 0 };
	size_t i, k, in = 0, wrong = 0;

	sampling(1, &branch, &period);
	sampling_begins();
	work_loop(NULL, rounds, 0);
	sampling_ends();
	for (i = 0; i < records(); i++) {
		const struct record *r = record(i);

		if (r->event_ip - (uintptr_t)work_loop > 8)
			continue;
		in++;
		/* Behind the jump, which is taken but for the last round */
		wrong += r->ip != (uintptr_t)work_loop + (r->reg[SI] ? 0 : 5) ||
			 r->event_ip != (uintptr_t)work_loop + 3 ||
			 (r->flags & FLAGS) != flags_of(r->reg[SI]) || r->address || r->source;
	}
	check(near_to(in, rounds / 1000) && !wrong, "each 1000th branch, where it leads, and flags",
	      "%zu, %zu wrong", in, wrong);

	period = 6;
	sampling(1, &all, &period);
	sampling_begins();
	branch_calls(NULL, 7000, 0);
	sampling_ends();
	for (i = in = wrong = 0; i < records(); i++) {
		const struct record *r = record(i);
		const u64 at = r->event_ip - (uintptr_t)branch_calls;

		if (at > 200)
			continue;
		in++;
		/* Of each kind in its turn; the last one is the RET of it all. */
		wrong += r->ip - (uintptr_t)branch_calls > 200 || r->ip == r->event_ip;
	}
	check(near_to(in, 6000) && wrong <= 1, "each seventh branch of calls and jumps", "%zu, %zu wrong",
	      in, wrong);

	for (k = 0; k < 3; k++) {
		static const u64 p[] = { 99, 1000, 10006 };
		u64 before = 0;

		periods[1] = p[k];
		sampling(2, exact, periods);
		sampling_begins();
		sampled(NULL, rounds / 10, 0);
		sampling_ends();
		for (i = in = wrong = 0; i < records(); i++) {
			const struct record *r = record(i);
			const u64 ip = r->event_ip - start;
			/* 97 of one byte, one of 3, and the jump; the next is round again. */
			const u64 at = ip <= 97 ? ip : ip == 100 ? 98 : 99;
			const u64 next = start + (at < 97 ? at + 1 : at == 97 ? 100 : 0);

			if (ip > 100)
				continue;
			if (in++ && ((at + 99 - before) % 99 != (p[k] + 1) % 99 ||
				     r->ip != (r->reg[SI] || at != 98 ? next : start + 102)))
				wrong++;
			before = at;
		}
		check(near_to(in, 99 * (rounds / 10) / (p[k] + 1)) && !wrong,
		      "instructions, each at its place", "%zu, %zu wrong", in, wrong);
	}
}

/* Four counters at once, in the same work */
static void pebs_together(char *buf)
{
	const unsigned int events[] = { UOPS(0x81), UOPS(0x82), RETIRED(0x01), LATENCY };
	const u64 periods[] = { 6, 10, 3, 12 }, n = 30000;
	const u64 want = n / 7 + n / 13 - n / 91;
	const u64 place[] = {
		(uintptr_t)mixed_apart, (uintptr_t)mixed_store, (uintptr_t)mixed_branch,
	};
	size_t i, k, in[3] = { 0 }, bit[4] = { 0 }, shared = 0, wrong = 0;

	sampling(4, events, periods);
	sampling_begins();
	mixed_apart(buf, LINE, n);
	sampling_ends();
	for (i = 0; i < records(); i++) {
		const struct record *r = record(i);

		for (k = 0; k < 3 && r->event_ip != place[k]; k++)
			;
		if (k == 3)
			continue;
		in[k]++;
		for (k = 0; k < 4; k++)
			bit[k] += r->status >> k & 1;
		shared += (r->status & 9) == 9;
		if (r->event_ip == place[0])
			wrong += r->address != r->reg[DI] || !(r->status & 9);
		else if (r->event_ip == place[1])
			wrong += r->address != r->reg[DI] + 8 || !(r->status & 2);
		else
			wrong += r->address || !(r->status & 4);
	}
	check(near_to(in[1], n / 11) && near_to(in[2], n / 4),
	      "four counters: records of stores and of branches", "%zu, %zu", in[1], in[2]);
	check(in[0] + 2 >= want && in[0] <= want + 2 && !wrong,
	      "... and of loads, two counters' in one if they meet", "%zu, %zu wrong", in[0],
	      wrong);
	if (format == 3)
		check(near_to(bit[0], n / 7) && near_to(bit[1], n / 11) && near_to(bit[2], n / 4) &&
		      near_to(bit[3], n / 13) && near_to(shared, n / 91),
		      "... each record says whose it is", "%zu %zu %zu %zu, %zu of two", bit[0],
		      bit[1], bit[2], bit[3], shared);
}

/* Too small a buffer, one with a hole, and no debug store */
static void pebs_buffer(char *buf)
{
	const u64 whole = store->maximum, period = 9, n = 20000;
	char * const gap = (char *)store->base + 4 * PAGE;
	const unsigned int event = UOPS(0x81);
	u64 sum;

	memset((char *)store->base, 0xaa, 4 * PAGE + 101 * record_bytes);
	sampling(1, &event, &period);
	store->maximum = store->base + 100 * record_bytes + 1;
	store->threshold = store->base + 90 * record_bytes;
	check(!(get(MSR_STATUS) & BUFFER_FULL), "an empty buffer isn't full", "%#lx",
	      get(MSR_STATUS));
	sampling_begins();
	load_apart(buf, LINE, n);
	sampling_ends();
	check(records() == 100, "a buffer takes what has room", "%zu", records());
	check(*(u64 *)store->index == ~0ul / 255 * 0xaa, "... and not a byte more", "%#lx",
	      *(u64 *)store->index);
	check(get(MSR_STATUS) & BUFFER_FULL, "... and says that it is full", "%#lx",
	      get(MSR_STATUS));
	put(MSR_CLEAR, BUFFER_FULL);
	check(!(get(MSR_STATUS) & BUFFER_FULL), "... until that is cleared", "%#lx",
	      get(MSR_STATUS));
	store->maximum = whole;
	store->threshold = ~0ul;

	if (mprotect(gap, PAGE, PROT_READ))
		die("mprotect: %m");
	sampling(1, &event, &period);
	sampling_begins();
	load_apart(buf, LINE, n);
	sampling_ends();
	check(store->index <= (uintptr_t)gap && store->index + record_bytes > (uintptr_t)gap,
	      "records end where the buffer can't be written", "at %#lx of %#lx",
	      store->index - store->base, 4 * PAGE);
	if (mprotect(gap, PAGE, PROT_READ | PROT_WRITE))
		die("mprotect: %m");

	sampling(1, &event, &period);
	put(MSR_STORE, 0x1000);
	sampling_begins();
	load_apart(buf, LINE, n);
	put(MSR_ENABLE, 0);
	sum = get(MSR_PMC_FULL(0));
	check(!records() && sum >= n - period && sum < n + 1000,
	      "without a debug store the counter goes on", "%zu, %lu", records(), sum);
	sampling_ends();
}

static void prepare_store(void)
{
	const size_t bytes = 8 * MIB;

	format = get(MSR_CAPABILITIES) >> 8 & 0xf;
	record_bytes = format == 3 ? 200 : 192;
	store = map(PAGE, MAP_POPULATE);
	store->base = (uintptr_t)map(bytes, MAP_POPULATE);
	store->maximum = store->base + bytes;
	store->threshold = ~0ul;
	if (mlock(store, PAGE) || mlock((void *)store->base, bytes))
		die("cannot lock memory: %m");
}

static void test_pebs(void)
{
	char *buf = map(BIG, MAP_POPULATE), *l3 = map(MIB, MAP_POPULATE);
	char *l2 = map(MIB / 8, MAP_POPULATE);

	prepare_store();
	pebs_registers();
	pebs_loads(buf);
	pebs_levels(buf, l3, l2);
	pebs_code();
	pebs_together(buf);
	pebs_buffer(buf);
}

static void test_pebs_code(void)
{
	prepare_store();
	pebs_registers();
	pebs_loads(map(BIG, MAP_POPULATE));
	pebs_code();
}

/* Interrupts of all kinds so far, on all CPUs */
static u64 interrupts(void)
{
	FILE *f = fopen("/proc/stat", "r");
	char line[1 << 16];
	u64 n = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "intr %lu", &n) == 1)
			break;
	if (!n)
		die("/proc/stat: no interrupts");
	fclose(f);
	return n;
}

struct lossy {
	u64 records, beside, third;		/* what the other two counters have */
	u64 interrupts;
};

/* Loads, with up to three counters, of which the first makes records; a tag in the ledger, or 0 */
static struct lossy lose(u64 tag, size_t n, const unsigned int *events, u64 period, char *buf)
{
	const u64 p[] = { period, 0, 0 };
	struct lossy l = { .interrupts = interrupts() };

	sampling(n, events, p);
	sampling_begins();
	if (tag)
		ledger_tag(tag);
	load_apart(buf, LINE, BIG / LINE);
	if (tag)
		ledger_tag(0);
	sampling_ends();
	l.interrupts = interrupts() - l.interrupts;
	l.records = records();
	l.beside = get(MSR_PMC_FULL(1));
	l.third = get(MSR_PMC_FULL(2));
	return l;
}

static const unsigned int lossy_misses[] = {
	LOAD_UOPS(0x20), LOAD_UOPS(0x20), LOAD_UOPS(0x01)
};

static const unsigned int lossy_loads[] = { UOPS(0x81), UOPS(0x81) };

/*
 * Loads that all miss: what is lost with each record, as pebs.h has it. What loads
 * a counter waits for, and which a record aborts, may be the kernel's as well, in
 * an interrupt, but those of one wait, or of one record, at the most. So with i
 * interrupts, r records are between c / (period + 5) and (c + 4 i) / (period + 5) for
 * c loads counted; and they abort between 30 (r - 1 - i) and 30 r of the user's, as
 * the last one's need not have followed.
 */
static void test_pebs_lossy(void)
{
	static const u64 period[] = { 10, 100, 1000 };
	char *buf = map(BIG, MAP_POPULATE);
	const u64 n = BIG / LINE;
	struct lossy l;
	size_t i;
	char text[99];

	prepare_store();
	for (i = 0; i < ARRAY_SIZE(period); i++) {
		const u64 each = period[i] + 5;

		l = lose(0, 3, lossy_misses, period[i], buf);
		snprintf(text, sizeof(text), "misses, each %lu: a record each %lu that count",
			 period[i], each);
		check(l.records >= l.beside / each &&
		      l.records <= (l.beside + 4 * l.interrupts) / each, text,
		      "%lu of %lu, %lu interrupts", l.records, l.beside, l.interrupts);
		check(n - l.beside <= 30 * l.records &&
		      n - l.beside + 30 * (l.interrupts + 1) >= 30 * l.records &&
		      l.third >= n - l.beside, "... and for each, 30 count as hits of L1",
		      "%lu and %lu, %lu records, %lu interrupts", l.beside, l.third, l.records,
		      l.interrupts);
		check(l.interrupts < l.records / 10, "... with few interrupts in between", "%lu",
		      l.interrupts);

		l = lose(0, 2, lossy_loads, period[i], buf);
		snprintf(text, sizeof(text), "all loads, each %lu: a record each %lu", period[i],
			 each);
		/* Of two loads in one instruction, not in the loop, the reset may forget one. */
		check(l.beside >= n && l.records >= n / each &&
		      l.records <= (l.beside + 4 * l.interrupts) / each, text,
		      "%lu of %lu, %lu interrupts", l.records, l.beside, l.interrupts);
	}
}

/* losses TAG PERIOD */
static void losses(u64 tag, u64 period)
{
	char *buf = map(BIG, MAP_POPULATE);
	struct lossy l;

	ledger_open();
	prepare_store();
	l = lose(tag, 3, lossy_misses, period, buf);
	printf("misses %lu %lu %lu %lu %lu\n", tag, period, l.records, l.beside, l.third);
	l = lose(tag + 1, 2, lossy_loads, period, buf);
	printf("loads %lu %lu %lu %lu 0\n", tag + 1, period, l.records, l.beside);
}

/* ---- the DRAM's ceiling ---- */

/* How long work takes, ns: with --icount the time-stamp counter's */
static u64 duration(work *w, void *buf, u64 apart, u64 n)
{
	const u64 begin = __builtin_ia32_rdtsc();

	w(buf, apart, n);
	return __builtin_ia32_rdtsc() - begin;
}

/* Loads of one line after the other, and 1000 ns of computing behind each */
static u64 slowly(char *buf, u64 lines)
{
	const u64 begin = __builtin_ia32_rdtsc();
	u64 i;

	for (i = 0; i < lines; i++) {
		load_apart(buf + i * LINE, LINE, 1);
		work_loop(NULL, 500, 0);
	}
	return __builtin_ia32_rdtsc() - begin;
}

/* Within 1 %: there are interrupts, which move some lines themselves. */
static void takes(const char *name, u64 ns, u64 want)
{
	char text[99];

	snprintf(text, sizeof(text), "%s: %lu us of %lu", name, ns / 1000, want / 1000);
	check(ns >= want - want / 100 && ns <= want + want / 100, text, "%lu ns, wanted %lu", ns,
	      want);
}

static void test_dram(u64 bytes_per_s)
{
	char *buf = map(BIG, MAP_POPULATE), *l2 = map(MIB / 8, MAP_POPULATE);
	const u64 n = BIG / LINE, rounds = 64, few = 2 * MIB / LINE;
	const u64 all_ns = BIG * 1000000000 / bytes_per_s;
	u64 i, ns;

	/* What was written before is written back during the first loads. */
	duration(load_apart, buf, LINE, n);
	takes("8 MiB are loaded", duration(load_apart, buf, LINE, n), all_ns);
	duration(store_apart, buf, LINE, n);
	takes("8 MiB are stored, and as much written back", duration(store_apart, buf, LINE, n),
	      2 * all_ns);
	duration(load_apart, l2, LINE, MIB / 8 / LINE);
	for (i = ns = 0; i < rounds; i++)
		ns += duration(load_apart, l2, LINE, MIB / 8 / LINE);
	takes("what the caches have takes as long as its instructions", ns,
	      rounds * 4 * (MIB / 8 / LINE));
	/* The lines that are there, and those that the DRAM has in time */
	duration(load_apart, buf, LINE, few);
	ns = slowly(buf, few);
	duration(load_apart, buf + few * LINE, LINE, n - few);
	takes("who computes for longer than a line takes does not wait", slowly(buf, few), ns);
}

static const struct {
	const char *name;
	work *w;
} works[] = {
	{ "loop", work_loop }, { "syscall", work_syscall }, { "random", branch_e },
	{ "regular", branch_a }, { "load", load_apart }, { "store", store_apart },
};

/*
 * paced TAG BYTES TURNS, until it is killed: a page's lines of a buffer, then so many turns of a
 * loop that only counts. How fast it is depends on the memory in part, as with most programs.
 */
static _Noreturn void paced(u64 tag, u64 bytes, u64 turns)
{
	char *buf = map(bytes, MAP_POPULATE);
	volatile u64 i;
	u64 at;

	run_on(0);
	ledger_open();
	ledger_tag(tag);
	for (at = 0;; at = (at + 4096) % bytes) {
		load_apart(buf + at, LINE, 4096 / LINE);
		for (i = 0; i < turns; i++)
			;
	}
}

/* run WORK [N] */
static int run(const char *name, u64 n)
{
	const u64 bytes = BIG;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(works); i++) {
		if (strcmp(name, works[i].name))
			continue;
		if (works[i].w == load_apart || works[i].w == store_apart) {
			char *buf = map(bytes, MAP_POPULATE);

			while (n--)
				works[i].w(buf, LINE, bytes / LINE);
		} else {
			works[i].w(NULL, n, 0);
		}
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(works); i++)
		puts(works[i].name);
	return 2;
}

/* task TAG WORK BYTES N */
static int task(u64 tag, const char *name, u64 bytes, u64 n)
{
	static const u64 events[] = { EVENT(0x2e, 0x41), INSTRUCTIONS, UOPS(0x81), UOPS(0x82) };
	work *w = membw_work(name);
	char *buf = map(bytes, MAP_POPULATE);
	int fd[ARRAY_SIZE(events)];
	u64 i, v, begin[2], end[2];

	ledger_open();
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		struct perf_event_attr a = { .type = PERF_TYPE_RAW, .config = events[i] };

		fd[i] = open_event(&a);
		if (fd[i] < 0)
			die("perf_event_open: %m");
	}
	membw(begin);
	ledger_tag(tag);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < n; i++) {
		run_on(i % (sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1));
		w(buf, LINE, bytes / LINE);
	}
	for (i = 0; i < ARRAY_SIZE(events); i++)
		ioctl(fd[i], PERF_EVENT_IOC_DISABLE, 0);
	ledger_tag(0);
	membw(end);
	printf("%lu", tag);
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		if (read(fd[i], &v, 8) != 8)
			die("reading a counter: %m");
		printf(" %lu", v);
	}
	printf(" %lu %lu\n", end[0] - begin[0], end[1] - begin[1]);
	return 0;
}

static char *threads_at;
static u64 threads_bytes;

static void *short_thread(void *unused)
{
	(void)unused;
	load_apart(threads_at, LINE, threads_bytes / LINE);
	return NULL;
}

/* threads TAG BYTES N */
static int threads(u64 tag, u64 bytes, u64 n)
{
	char *buf = map(BIG, MAP_POPULATE);
	u64 i, begin[2], end[2];
	pthread_t t;

	ledger_open();
	membw(begin);
	ledger_tag(tag);
	threads_bytes = bytes;
	for (i = 0; i < n; i++) {
		threads_at = buf + i * bytes % (BIG - bytes);
		if (pthread_create(&t, NULL, short_thread, NULL) || pthread_join(t, NULL))
			die("a thread: %m");
	}
	ledger_tag(0);
	membw(end);
	printf("%lu %lu\n", tag, end[0] - begin[0]);
	return 0;
}

static u64 clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ul + t.tv_nsec;
}

static void on_signal(int sig)
{
	(void)sig;
}

/* windows TAG MS BYTES [signals] */
static int windows(u64 tag, u64 ms, u64 bytes, bool signals)
{
	enum { STEP = 4096, STAMPS = 1 << 16 };
	const u64 ns = ms * 1000000;
	volatile char *buf = map(BIG, MAP_POPULATE);
	u64 *stamp = map(STAMPS * sizeof(*stamp), MAP_POPULATE);
	u64 now, i, first = 0, most = 0;

	signal(SIGUSR1, on_signal);
	ledger_open();
	ledger_tag(tag);
	for (i = 0; i < bytes / STEP; i++) {
		now = clock_ns();
		if (signals)
			raise(SIGUSR1);
		for (u64 at = 0; at < STEP; at += LINE)
			(void)buf[(i * STEP + at) % BIG];
		/* What has begun in a window: its last part may end beyond. */
		stamp[i % STAMPS] = now;
		while (stamp[first % STAMPS] + ns < now)
			first++;
		if (i - first >= STAMPS)
			die("more than %lu bytes in %lu ms", (u64)STAMPS * STEP, ms);
		if (i - first > most)
			most = i - first;
	}
	printf("%lu\n", (most + 1) * STEP);
	return 0;
}

/* bursts TAG BYTES MS */
static _Noreturn void bursts(u64 tag, u64 bytes, unsigned int ms)
{
	const struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	char *buf = map(BIG, MAP_POPULATE);

	ledger_open();
	ledger_tag(tag);
	for (u64 at = 0;; at = (at + bytes) % (BIG - bytes + 1) & -LINE) {
		load_apart(buf + at, LINE, bytes / LINE);
		nanosleep(&nap, NULL);
	}
}

/* marks MS */
static __attribute__((noreturn)) void marks(unsigned int ms)
{
	const struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	for (ledger_open(); ; nanosleep(&nap, NULL))
		ledger_snapshot('b');
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2) {
		fprintf(stderr,
			"usage: core GROUP... | dram BYTES_PER_S | losses TAG PERIOD | run WORK [N] | task TAG WORK BYTES N | threads TAG BYTES N | paced TAG BYTES TURNS | windows TAG MS BYTES [signals] | bursts TAG BYTES MS | marks MS\n");
		return 2;
	}
	if (!strcmp(argv[1], "threads") && argc == 5)
		return threads(number(argv[2]), number(argv[3]), number(argv[4]));
	if (!strcmp(argv[1], "task") && argc == 6)
		return task(number(argv[2]), argv[3], number(argv[4]),
			    number(argv[5]));
	if (!strcmp(argv[1], "paced") && argc == 5)
		paced(number(argv[2]), number(argv[3]), number(argv[4]));
	if (!strcmp(argv[1], "windows") && argc >= 5)
		return windows(number(argv[2]), number(argv[3]), number(argv[4]), argc > 5);
	if (!strcmp(argv[1], "bursts") && argc == 5)
		bursts(number(argv[2]), number(argv[3]), number(argv[4]));
	if (!strcmp(argv[1], "marks") && argc == 3)
		marks(number(argv[2]));
	if (!strcmp(argv[1], "run"))
		return run(argc > 2 ? argv[2] : "", argc > 3 ? number(argv[3]) : 1);

	prepare();
	if (!strcmp(argv[1], "losses") && argc == 4) {
		losses(number(argv[2]), number(argv[3]));
		program(NULL, 0, 0);
		return 0;
	}
	if (!strcmp(argv[1], "dram") && argc == 3) {
		test_dram(number(argv[2]));
		return failed > 0;
	}
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "registers")) {
			test_registers();
		} else if (!strcmp(argv[i], "exact")) {
			test_exact();
			test_modes();
			test_wrap();
		} else if (!strcmp(argv[i], "branches")) {
			test_branches();
		} else if (!strcmp(argv[i], "memory")) {
			test_memory();
		} else if (!strcmp(argv[i], "samples")) {
			program(NULL, 0, 0);
			test_samples();
		} else if (!strcmp(argv[i], "pebs")) {
			test_pebs();
		} else if (!strcmp(argv[i], "pebs-code")) {
			test_pebs_code();
		} else if (!strcmp(argv[i], "pebs-lossy")) {
			test_pebs_lossy();
		} else {
			die("no group %s", argv[i]);
		}
	}
	program(NULL, 0, 0);
	return failed > 0;
}

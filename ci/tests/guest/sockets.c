// SPDX-License-Identifier: GPL-2.0
/*
 * sockets GROUP...: checks a machine of two sockets in the guest, CPU 0 being on the first
 * and CPU 1 on the second, against work of known size (core-work.S) and the ledger.
 * Needs --sockets 2 --smp 2 --cpu-cache on --llc 2560K, one NVMe disk.
 *
 *	msrs	the boxes' registers are each package's own
 *	misses	each CPU loads from each node: the counters of cores, boxes and memory
 *		controllers
 *	lines	what has become of the other socket's copy: read, written, by CPUs and by
 *		a device
 *	dma DISK  a device moves data from and to each node: boxes, memory controllers
 *	together BYTES SECONDS  both CPUs load and store the same few lines of both nodes,
 *		for who compares the ledger and the trace afterwards
 *	task TAG CPU NODE WORK BYTES N  does it N times to so many bytes of a node, with a
 *		tag in the ledger; prints what memio says that it has read and written back
 *
 * Prints "ok TEXT" or "not ok TEXT" for each check; the caller numbers them.
 *
 * Boxes and controllers count the kernel's accesses as well, so what they should have
 * counted is bounded: a window is
 *
 *	mark A0, start all counters, mark A1, work, mark B1, stop, mark B0
 *
 * and what is counted lies between B1 - A1 and B0 - A0 of the ledger. Cores count user
 * mode alone, where there is little beside the work; and who makes DMA is only the disk.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#define MIB		(1024ul * KIB)
#define LINE		64ul
#define SOCKETS		2		/* and CPUs, and nodes */
#define BOXES		8
#define COUNTERS	4
#define CHANNELS	4
#define LLC		(2560 * KIB)

static int msr_fd[SOCKETS];		/* of the CPU with that number */

#define check_eq(name, got, want)					\
	check((u64)(got) == (u64)(want), name, "got %#llx, wanted %#llx",	\
	      (unsigned long long)(got), (unsigned long long)(want))

static __attribute__((format(printf, 4, 5))) void within(u64 got, u64 low, u64 high,
							  const char *fmt, ...)
{
	char text[200], all[280];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(all, sizeof(all), "%s: %lu, from %lu to %lu", text, got, low, high);
	check(got >= low && got <= high, all, "it is not");
}

/* ---- memory of a node ---- */

#define MPOL_BIND	2
#define MPOL_F_NODE	1
#define MPOL_F_ADDR	2

static char *map(int node, size_t bytes)
{
	const unsigned long nodes = 1ul << node;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;
	int is;

	if (p == MAP_FAILED)
		die("no memory: %m");
	if (syscall(SYS_mbind, p, bytes, MPOL_BIND, &nodes, 8 * sizeof(nodes), 0))
		die("mbind, node %d: %m", node);
	for (i = 0; i < bytes; i += 4 * KIB) {
		p[i] = 0;
		if (syscall(SYS_get_mempolicy, &is, NULL, 0, p + i, MPOL_F_NODE | MPOL_F_ADDR))
			die("get_mempolicy: %m");
		if (is != node)
			die("memory of node %d instead of %d", is, node);
	}
	return p;
}

/* All that a CPU's caches hold has to go: with lines of its own node. */
static char *big[SOCKETS];

static void flush(int cpu)
{
	run_on(cpu);
	load_apart(big[cpu], LINE, 4 * LLC / LINE);
}

/* ---- registers ---- */

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

#define BOX(b, reg)	(0xe00 + 16 * (b) + (reg))
#define REG_CTL		0
#define REG_SEL(i)	(1 + (i))
#define REG_FILTER(i)	(5 + (i))
#define REG_CTR(i)	(8 + (i))
#define MSR_GLOBAL	0x700
#define RST_CTRL	(1u << 0)
#define RST_CTRS	(1u << 1)
#define FRZ		(1u << 8)

#define LOOKUP(um)	EVENT(0x34, um)
#define TOR(um)		EVENT(0x35, um)
#define VICTIMS(um)	EVENT(0x37, um)
#define STATE_M		(1u << 20)
#define STATE_ANY	(0x7fu << 17)
#define OPC(o)		((o) << 20)
#define NODE(n)		(1u << (n))

/* The controllers: in the configuration space of their PCI functions */
static int imc_fd[SOCKETS][CHANNELS];

#define IMC_CTR(i)	(0xa0 + 8 * (i))
#define IMC_SEL(i)	(0xd8 + 4 * (i))
#define IMC_CTL		0xf4

static void imc_put(int socket, int channel, int reg, uint32_t val)
{
	if (pwrite(imc_fd[socket][channel], &val, 4, reg) != 4)
		die("memory controller: %m");
}

static u64 imc_sum(int socket, int counter)
{
	u64 sum = 0;
	int c;

	for (c = 0; c < CHANNELS; c++) {
		uint32_t part[2];

		if (pread(imc_fd[socket][c], part, 8, IMC_CTR(counter)) != 8)
			die("memory controller: %m");
		sum += (u64)part[1] << 32 | part[0];
	}
	return sum;
}

/* On the last bus, which is the second socket's, or not */
static void find_imc(int socket)
{
	static const unsigned int id[CHANNELS] = { 0x2fb0, 0x2fb1, 0x2fb4, 0x2fb5 };
	char pattern[64];
	glob_t g;
	size_t i;
	int c;

	snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/0000:%s:*",
		 socket ? "ff" : "00");
	if (glob(pattern, 0, NULL, &g))
		die("no PCI devices %s", pattern);
	for (c = 0; c < CHANNELS; c++) {
		imc_fd[socket][c] = -1;
		for (i = 0; i < g.gl_pathc; i++)
			if (pci_read_hex(g.gl_pathv[i], "device") == id[c])
				imc_fd[socket][c] = pci_open(g.gl_pathv[i], "config");
		if (imc_fd[socket][c] < 0)
			die("no memory controller %x in %s", id[c], pattern);
	}
	globfree(&g);
}

static void prepare(void)
{
	char path[64];
	int s;

	ledger_open();
	for (s = 0; s < SOCKETS; s++) {
		snprintf(path, sizeof(path), "/dev/cpu/%d/msr", s);
		msr_fd[s] = open(path, O_RDWR);
		if (msr_fd[s] < 0)
			die("%s: %m", path);
		find_imc(s);
		run_on(s);
		big[s] = map(s, 4 * LLC);
	}
}

/* ---- the ledger ---- */

enum { RFO, DRD, RDCUR, WB, ITOM, OPCODES };

static const char * const opcode_key[OPCODES] = { "180", "182", "19e", "1c4", "1c8" };

/* Nothing but counters, so that one can be subtracted from another. By socket, all boxes */
struct ledger {
	struct cache {
		u64 tor[OPCODES][2], remote[OPCODES][2];	/* [all, missed] */
		u64 victims, snoops, snoops_m;
	} llc[SOCKETS];
	struct {						/* by home */
		u64 dram_read, dram_write;
		u64 read_miss[SOCKETS], write_miss[SOCKETS];	/* of each CPU */
		u64 wb_first[SOCKETS], wb_evictor[SOCKETS];
		u64 to_lines, to_miss, from_lines, from_miss, dev_evictor;
	} home[SOCKETS];
};

static void add_tor(const char *p, u64 tor[OPCODES][2])
{
	u64 all, missed;
	int o;

	for (o = 0; o < OPCODES; o++) {
		if (sscanf(json_member(p, opcode_key[o]), "[%lu, %lu]", &all, &missed) != 2)
			die("the ledger: %.40s", p);
		tor[o][0] += all;
		tor[o][1] += missed;
	}
}

static void mark(struct ledger *l)
{
	const char *p, *q;
	int n;

	memset(l, 0, sizeof(*l));
	ledger_mark('s');
	p = json_member(ledger_text, "cbox");
	for (p = json_begin(p + 1), n = 0; *p == '{'; p = json_begin(json_skip(p)), n++) {
		const int s = n / BOXES;

		if (s >= SOCKETS)
			die("the ledger has more than %d boxes", n);
		add_tor(json_member(p, "tor"), l->llc[s].tor);
		add_tor(json_member(p, "tor_remote"), l->llc[s].remote);
		l->llc[s].victims += json_u64(p, "victims_m") + json_u64(p, "victims_e") +
				     json_u64(p, "victims_s");
		q = json_member(p, "snoops");
		l->llc[s].snoops_m += json_u64(q, "m");
		l->llc[s].snoops += json_u64(q, "i") + json_u64(q, "s") + json_u64(q, "e") +
				    json_u64(q, "m");
	}
	p = json_member(ledger_text, "nodes");
	for (p = json_begin(p + 1), n = 0; *p == '{'; p = json_begin(json_skip(p)), n++) {
		int c = 0;

		q = json_member(p, "dram");
		l->home[n].dram_read = json_u64(q, "read_lines");
		l->home[n].dram_write = json_u64(q, "write_lines");
		q = json_member(p, "cpus");
		for (q = json_begin(q + 1); *q == '{' && c < SOCKETS;
		     q = json_begin(json_skip(q)), c++) {
			l->home[n].read_miss[c] = json_u64(q, "read_miss");
			l->home[n].write_miss[c] = json_u64(q, "write_miss");
			l->home[n].wb_first[c] = json_u64(q, "wb_first");
			l->home[n].wb_evictor[c] = json_u64(q, "wb_evictor");
		}
		q = json_member(p, "devices");
		for (q = json_begin(q + 1); *q == '"'; q = json_begin(json_skip(q))) {
			q = json_begin(strchr(q + 1, '"') + 1);
			l->home[n].to_lines += json_u64(q, "to_lines");
			l->home[n].to_miss += json_u64(q, "to_miss");
			l->home[n].from_lines += json_u64(q, "from_lines");
			l->home[n].from_miss += json_u64(q, "from_miss");
			l->home[n].dev_evictor += json_u64(q, "wb_evictor");
		}
	}
}

/* ---- windows ---- */

struct window {
	u64 box[SOCKETS][COUNTERS];	/* all boxes */
	u64 imc[SOCKETS][2];		/* all channels: reads, writes */
	struct ledger low, high;
};

static struct ledger a0, a1;

/* The same in all boxes of both sockets; and the controllers */
static void open_window(const unsigned int filter[2], const unsigned int sel[COUNTERS])
{
	int s, b, i, c;

	for (s = 0; s < SOCKETS; s++) {
		for (b = 0; b < BOXES; b++) {
			put(s, BOX(b, REG_CTL), FRZ | RST_CTRL | RST_CTRS);
			put(s, BOX(b, REG_FILTER(0)), filter[0]);
			put(s, BOX(b, REG_FILTER(1)), filter[1]);
			for (i = 0; i < COUNTERS; i++)
				put(s, BOX(b, REG_SEL(i)), sel[i] | EN);
		}
		for (c = 0; c < CHANNELS; c++) {
			imc_put(s, c, IMC_CTL, FRZ | RST_CTRL | RST_CTRS);
			imc_put(s, c, IMC_SEL(0), EVENT(0x04, 0x03) | EN);
			imc_put(s, c, IMC_SEL(1), EVENT(0x04, 0x0c) | EN);
		}
	}
	mark(&a0);
	for (s = 0; s < SOCKETS; s++) {
		for (b = 0; b < BOXES; b++)
			put(s, BOX(b, REG_CTL), 0);
		for (c = 0; c < CHANNELS; c++)
			imc_put(s, c, IMC_CTL, 0);
	}
	mark(&a1);
}

static void close_window(struct window *w)
{
	int s, b, i, c;

	memset(w, 0, sizeof(*w));
	mark(&w->low);
	for (s = 0; s < SOCKETS; s++) {
		for (b = 0; b < BOXES; b++)
			put(s, BOX(b, REG_CTL), FRZ);
		for (c = 0; c < CHANNELS; c++)
			imc_put(s, c, IMC_CTL, FRZ);
	}
	mark(&w->high);
	for (s = 0; s < SOCKETS; s++) {
		for (b = 0; b < BOXES; b++)
			for (i = 0; i < COUNTERS; i++)
				w->box[s][i] += get(s, BOX(b, REG_CTR(i)));
		w->imc[s][0] = imc_sum(s, 0);
		w->imc[s][1] = imc_sum(s, 1);
	}
	ledger_subtract(&w->low, &a1, sizeof(struct ledger));
	ledger_subtract(&w->high, &a0, sizeof(struct ledger));
}

/* ---- counters of a core ---- */

#define LOCAL_DRAM	EVENT(0xd3, 0x01)
#define REMOTE_DRAM	EVENT(0xd3, 0x04)
#define REMOTE_HITM	EVENT(0xd3, 0x10)
#define REMOTE_FWD	EVENT(0xd3, 0x20)
#define L3_MISS		EVENT(0xd1, 0x20)
#define L3_HIT		EVENT(0xd1, 0x04)
#define LONGEST_MISS	EVENT(0x2e, 0x41)

#define FEW		40		/* of what is around the work: system calls, the stack */

/* What this CPU counts in user mode while it works: of each of these events */
static void count(int cpu, const unsigned int *event, unsigned int events, u64 *n,
		  work *w, void *buf, u64 bytes)
{
	unsigned int i;

	run_on(cpu);
	put(cpu, MSR_ENABLE, 0);
	put(cpu, MSR_FIXED_CTRL, 0);
	for (i = 0; i < events; i++) {
		put(cpu, MSR_SELECT(i), event[i] | USER | EN);
		put(cpu, MSR_PMC_FULL(i), 0);
	}
	put(cpu, MSR_ENABLE, (1u << events) - 1);
	w(buf, LINE, bytes / LINE);
	put(cpu, MSR_ENABLE, 0);
	for (i = 0; i < events; i++) {
		n[i] = get(cpu, MSR_PMC_FULL(i));
		put(cpu, MSR_SELECT(i), 0);
	}
}

/* Where the loads of a buffer found their lines: but for few, in one place, or none */
static void found(const char *what, int cpu, unsigned int where, char *buf, u64 bytes)
{
	static const struct {
		unsigned int event;
		const char *name;
	} place[] = {
		{ LOCAL_DRAM, "LOCAL_DRAM" }, { REMOTE_DRAM, "REMOTE_DRAM" },
		{ REMOTE_HITM, "REMOTE_HITM" }, { REMOTE_FWD, "REMOTE_FWD" },
	};
	unsigned int event[ARRAY_SIZE(place)], i;
	u64 n[ARRAY_SIZE(place)], lines = bytes / LINE;

	for (i = 0; i < ARRAY_SIZE(place); i++)
		event[i] = place[i].event;
	count(cpu, event, ARRAY_SIZE(place), n, load_apart, buf, bytes);
	for (i = 0; i < ARRAY_SIZE(place); i++) {
		const bool most = place[i].event == where;

		within(n[i], most ? lines - FEW : 0, (most ? lines : 0) + FEW,
		       "%s, CPU %d counts %s", what, cpu, place[i].name);
	}
}

/* ---- msrs ---- */

static void test_msrs(void)
{
	const unsigned int none[2] = { 0, 0 }, all = TOR(0x08);
	const unsigned int sel[COUNTERS] = { all, all, all, all };
	struct window w;
	int s, b;
	u64 n;

	for (s = 0; s < SOCKETS; s++)
		for (b = 0; b < BOXES; b++)
			put(s, BOX(b, REG_FILTER(1)), OPC(0x100 + 16 * s + b));
	for (s = 0, n = 0; s < SOCKETS; s++)
		for (b = 0; b < BOXES; b++)
			n += get(s, BOX(b, REG_FILTER(1))) == OPC(0x100u + 16 * s + b);
	check_eq("each package's boxes keep what its CPU has written", n, SOCKETS * BOXES);

	/* What the CPU asks for, as an affine task, is its own package's. */
	for (s = 0; s < SOCKETS; s++) {
		char *buf = map(s, 64 * KIB);

		open_window(none, sel);
		flush(s);
		load_apart(buf, LINE, 64 * KIB / LINE);
		put(s, MSR_GLOBAL, 1u << 31);
		n = get(s, BOX(3, REG_CTR(0)));
		flush(!s);
		flush(s);
		check(n && get(s, BOX(3, REG_CTR(0))) == n, "a global freeze stops a package's boxes",
		      "%lu, then %lu", n, get(s, BOX(3, REG_CTR(0))));
		n = get(!s, BOX(3, REG_CTR(0)));
		flush(!s);
		check(get(!s, BOX(3, REG_CTR(0))) > n + LLC / LINE / BOXES, "... and not the other's",
		      "%lu, then %lu", n, get(!s, BOX(3, REG_CTR(0))));
		put(s, MSR_GLOBAL, 1u << 29);
		close_window(&w);
		munmap(buf, 64 * KIB);
	}
}

/* What the boxes of package @s and its memory controllers say of loads, and the ledger */
static void compare_misses(const struct window *w, int s)
{
	const struct cache *low = &w->low.llc[s], *high = &w->high.llc[s];
	const u64 low_far = low->remote[DRD][1], low_near = low->tor[DRD][1] - low_far;
	const u64 high_far = high->remote[DRD][1], high_near = high->tor[DRD][1] - high_far;

	within(w->box[s][0], low_near, high_near, "... package %d, MISS_LOCAL_OPCODE", s);
	within(w->box[s][1], low_far, high_far, "... package %d, MISS_REMOTE_OPCODE", s);
	within(w->box[s][2], s ? low_near : low_far, s ? high_near : high_far,
	       "... package %d, NID_MISS_OPCODE of node 1", s);
	within(w->box[s][3], low->snoops, high->snoops,
	       "... package %d, LLC_LOOKUP.REMOTE_SNOOP", s);
	within(w->imc[s][0], w->low.home[s].dram_read, w->high.home[s].dram_read,
	       "... memory controllers of socket %d, reads", s);
	within(w->imc[s][1], w->low.home[s].dram_write, w->high.home[s].dram_write,
	       "... and writes");
}

/* ---- misses ---- */

static void test_misses(void)
{
	const u64 bytes = MIB, lines = bytes / LINE;
	const unsigned int both[] = { L3_MISS, LONGEST_MISS };
	const unsigned int filter[2] = { STATE_ANY, OPC(0x182) | NODE(1) };
	/* DRd that missed: of local memory, of remote memory; of node 1; snoops */
	const unsigned int sel[COUNTERS] = { TOR(0x23), TOR(0x83), TOR(0x43), LOOKUP(0x09) };
	struct window w;
	int cpu, node, s;
	u64 n[2];

	for (cpu = 0; cpu < SOCKETS; cpu++) {
		for (node = 0; node < SOCKETS; node++) {
			const bool far = cpu != node;
			const unsigned int other = 1 - cpu;
			char *buf = map(node, bytes), what[60];

			snprintf(what, sizeof(what), "CPU %d loads from node %d", cpu, node);
			/* Neither cache has it, as the kernel has cleared it. */
			flush(0);
			flush(1);
			found(what, cpu, far ? REMOTE_DRAM : LOCAL_DRAM, buf, bytes);
			flush(cpu);
			count(cpu, both, 2, n, load_apart, buf, bytes);
			within(n[0], lines, lines + FEW, "... L3_MISS");
			within(n[1], lines, lines + FEW, "... LONGEST_LAT_CACHE.MISS");

			flush(cpu);
			open_window(filter, sel);
			run_on(cpu);
			load_apart(buf, LINE, lines);
			close_window(&w);
			within(w.low.home[node].read_miss[cpu], lines, lines + lines / 2,
			       "... the ledger has these misses of node %d", node);
			within(w.low.home[!node].read_miss[cpu], 0, lines / 2, "... and few of node %d",
			       !node);
			for (s = 0; s < SOCKETS; s++)
				compare_misses(&w, s);
			check(w.box[cpu][far] >= lines && w.box[cpu][!far] < lines / 2 &&
			      w.box[other][0] + w.box[other][1] < lines / 2,
			      "... they count in its package, as what they are",
			      "%lu and %lu, in the other %lu and %lu", w.box[cpu][0], w.box[cpu][1],
			      w.box[other][0], w.box[other][1]);
			check(w.imc[node][0] >= lines && w.imc[!node][0] < lines / 2,
			      "... and are read at home", "%lu, of the other %lu", w.imc[node][0],
			      w.imc[!node][0]);
			check(w.box[other][3] >= lines && w.box[cpu][3] < lines / 2,
			      "... the other package is asked", "%lu, this %lu", w.box[other][3],
			      w.box[cpu][3]);
			munmap(buf, bytes);
		}
	}
}

/* ---- lines ---- */

static u64 written(int node, const struct ledger *a, const struct ledger *b)
{
	return b->home[node].dram_write - a->home[node].dram_write;
}

static void test_lines(void)
{
	const u64 bytes = MIB, lines = bytes / LINE;
	struct ledger a, b;
	int cpu, node;

	for (node = 0; node < SOCKETS; node++) {
		for (cpu = 0; cpu < SOCKETS; cpu++) {
			const int other = !cpu;
			char *buf = map(node, bytes), *p;
			u64 wrong = 0;

			printf("# node %d, CPU %d after CPU %d\n", node, cpu, other);
			flush(0);
			flush(1);
			/* Modified there: written back, by who reads it */
			run_on(other);
			store_apart(buf, LINE, lines);
			for (p = buf; p < buf + bytes; p += LINE)
				*(volatile uint32_t *)(p + 8) = (p - buf) ^ 0x5ac3;
			mark(&a);
			found("lines that the other has modified", cpu, REMOTE_HITM, buf, bytes);
			mark(&b);
			within(written(node, &a, &b), lines, lines + lines / 2,
			       "... they are written back at home, node %d", node);
			within(b.home[node].wb_first[other] - a.home[node].wb_first[other], lines,
			       lines + lines / 2, "... as the writer's");
			within(b.home[node].wb_evictor[cpu] - a.home[node].wb_evictor[cpu], lines,
			       lines + lines / 2, "... because of the reader");
			found("then they are its own", cpu, 0, buf, bytes);
			for (p = buf; p < buf + bytes; p += LINE)
				wrong += *(volatile uint32_t *)(p + 8) != ((p - buf) ^ 0x5ac3);
			check_eq("... and what they were", wrong, 0);

			/* Shared by both: a store takes the other's away. */
			run_on(cpu);
			mark(&a);
			store_apart(buf, LINE, lines);
			mark(&b);
			within(written(node, &a, &b), 0, lines / 2, "a store to what both have writes nothing back");
			found("... and the other has it no more", other, REMOTE_HITM, buf, bytes);

			/* Modified there and stored to: it moves on, modified. */
			flush(0);
			flush(1);
			run_on(other);
			store_apart(buf, LINE, lines);
			run_on(cpu);
			mark(&a);
			store_apart(buf, LINE, lines);
			mark(&b);
			within(b.home[node].write_miss[cpu] - a.home[node].write_miss[cpu], lines,
			       lines + lines / 2, "a store to what the other has modified misses");
			within(written(node, &a, &b), 0, lines / 2, "... and writes nothing back");

			/* Clean there */
			flush(0);
			flush(1);
			run_on(other);
			load_apart(buf, LINE, lines);
			found("lines that the other has loaded", cpu, REMOTE_FWD, buf, bytes);
			munmap(buf, bytes);
		}
	}
}

/* ---- DMA ---- */

static void disk(int fd, bool to_disk, char *addr, size_t bytes)
{
	const size_t block = 32 * KIB;
	size_t off;

	for (off = 0; off < bytes; off += block)
		if ((to_disk ? pwrite(fd, addr + off, block, off) :
			       pread(fd, addr + off, block, off)) != (ssize_t)block)
			die("the disk: %m");
}

static void test_dma(const char *path)
{
	/* Little of what DDIO may fill, 256 KiB: it is all there afterwards. */
	const u64 bytes = 32 * KIB, lines = bytes / LINE, some = lines / 2;
	const unsigned int itom[2] = { STATE_ANY, OPC(0x1c8) | NODE(1) };
	const unsigned int read[2] = { STATE_ANY, OPC(0x19e) | NODE(1) };
	const unsigned int sel[COUNTERS] = { TOR(0x01), TOR(0x03), TOR(0x41), TOR(0x83) };
	int fd = open(path, O_RDWR | O_DIRECT), node;
	struct ledger a, b;
	struct window w;

	if (fd < 0)
		die("%s: %m", path);
	for (node = 0; node < SOCKETS; node++) {
		char *buf = map(node, bytes);

		printf("# a buffer of node %d\n", node);
		flush(0);
		flush(1);
		run_on(0);
		open_window(itom, sel);
		disk(fd, false, buf, bytes);
		close_window(&w);
		within(w.low.home[node].from_lines, lines, lines + some,
		       "written by the disk: the ledger, node %d", node);
		within(w.low.home[!node].from_lines, 0, some, "... the other node");
		/* Nobody else makes DMA, so all are exact. */
		check_eq("... ItoM of package 0 is the ledger's", w.box[0][0],
			 w.low.llc[0].tor[ITOM][0]);
		check_eq("... as is how many missed", w.box[0][1], w.low.llc[0].tor[ITOM][1]);
		check_eq("... and those of node 1", w.box[0][2], w.low.llc[0].remote[ITOM][0]);
		check_eq("... and those of remote memory that missed", w.box[0][3],
			 w.low.llc[0].remote[ITOM][1]);
		check_eq("... full lines of the buffer, where it is at home",
			 node ? w.box[0][2] : w.box[0][0] - w.box[0][2], lines);
		check_eq("... package 1 has none of it",
			 w.box[1][0] + w.box[1][1] + w.box[1][2], 0);
		found("... it lies in socket 0's cache: for CPU 1", 1, REMOTE_HITM, buf, bytes);

		/* A second time, CPU 1 having it modified */
		run_on(1);
		store_apart(buf, LINE, lines);
		mark(&a);
		run_on(0);
		disk(fd, false, buf, bytes);
		mark(&b);
		within(b.home[node].dev_evictor - a.home[node].dev_evictor, lines, lines + some,
		       "what CPU 1 had modified the disk writes back at node %d", node);
		found("... and takes away", 1, REMOTE_HITM, buf, bytes);

		/* Read by the disk */
		flush(0);
		flush(1);
		run_on(1);
		store_apart(buf, LINE, lines);
		run_on(0);
		open_window(read, sel);
		disk(fd, true, buf, bytes);
		close_window(&w);
		within(w.low.home[node].to_miss, lines, lines + some,
		       "read by the disk, CPU 1 having modified it: misses at node %d", node);
		check_eq("... PCIRdCur of package 0 is the ledger's", w.box[0][0],
			 w.low.llc[0].tor[RDCUR][0]);
		check_eq("... and those of node 1", w.box[0][2], w.low.llc[0].remote[RDCUR][0]);
		check_eq("... package 1 has none of it", w.box[1][0], 0);
		within(w.imc[node][0], w.low.home[node].dram_read, w.high.home[node].dram_read,
		       "... read at home");
		found("... CPU 1 has it still", 1, 0, buf, bytes);
		munmap(buf, bytes);
	}
	close(fd);
}

/* ---- both on the same lines ---- */

struct worker {
	pthread_t thread;
	int cpu;
	char *buf[SOCKETS];
	u64 bytes, seconds;
};

static void *works(void *arg)
{
	struct worker *k = arg;
	struct timespec t;
	time_t last;

	run_on(k->cpu);
	clock_gettime(CLOCK_MONOTONIC, &t);
	last = t.tv_sec + k->seconds;
	do {
		load_apart(k->buf[k->cpu], LINE, k->bytes / LINE);
		store_apart(k->buf[!k->cpu], LINE, k->bytes / LINE);
		locked_apart(k->buf[k->cpu], 8 * LINE, k->bytes / LINE / 8);
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while (t.tv_sec < last);
	return NULL;
}

static void together(u64 bytes, u64 seconds)
{
	struct worker k[SOCKETS];
	int i;

	k[0] = (struct worker){ .bytes = bytes, .seconds = seconds };
	for (i = 0; i < SOCKETS; i++)
		k[0].buf[i] = map(i, bytes);
	k[1] = k[0];
	for (i = 0; i < SOCKETS; i++) {
		k[i].cpu = i;
		if (pthread_create(&k[i].thread, NULL, works, &k[i]))
			die("no thread");
	}
	for (i = 0; i < SOCKETS; i++)
		pthread_join(k[i].thread, NULL);
}

static void task(u64 tag, int cpu, int node, const char *name, u64 bytes, u64 n)
{
	run_on(cpu);
	membw_task(tag, name, map(node, bytes), bytes, n);
}

int main(int argc, char **argv)
{
	const char *group = argc > 1 ? argv[1] : "";

	if (!strcmp(group, "task") && argc == 8) {
		task(number(argv[2]), number(argv[3]), number(argv[4]), argv[5], number(argv[6]),
		     number(argv[7]));
		return 0;
	}
	if (!strcmp(group, "together") && argc == 4) {
		together(number(argv[2]), number(argv[3]));
		return 0;
	}
	prepare();
	if (!strcmp(group, "msrs") && argc == 2)
		test_msrs();
	else if (!strcmp(group, "misses") && argc == 2)
		test_misses();
	else if (!strcmp(group, "lines") && argc == 2)
		test_lines();
	else if (!strcmp(group, "dma") && argc == 3)
		test_dma(argv[2]);
	else
		die("usage: sockets msrs | misses | lines | dma DISK | together BYTES SECONDS | "
		    "task TAG CPU NODE WORK BYTES N");
	return failed > 0;
}

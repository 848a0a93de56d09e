// SPDX-License-Identifier: GPL-2.0
/*
 * pmon GROUP DISK [LLC]: checks the emulated counters against the ledger, in the
 * guest, by programming them without a driver's help.
 *
 *	boxes	as many boxes as the machine was made with, and no more
 *	events	every event of the CBoxes, their filters, freeze, resets, wrap
 *	imc	the memory controllers' counters
 *	cores	with the CPUs' accesses fed to the caches: states, cores' tids
 *	high	with these, too: lines above 4 GiB are not those below
 *	io	only makes DMA, for another's counters
 *
 * LLC is the size of the last-level cache in bytes, for the last two groups.
 * Prints "ok TEXT" or "not ok TEXT" for each check; the caller numbers them.
 *
 * CBox registers are written through /dev/cpu/0/msr, the controllers' through
 * their configuration space in sysfs, the ledger is read from its own device.
 * A window is
 *
 *	mark A0, start all counters, mark A1, work, mark B1, stop, mark B0
 *
 * so what is counted lies between B1 - A1 and B0 - A0, whatever else the
 * machine does. If only DMA counts and nobody else makes any, the two are the
 * same, and the counters have to be, to the line and in each box.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "ledger.h"

#define KIB		1024ul
#define MIB		(1024ul * KIB)
#define LINE		64
#define PAGE		4096ul
#define MAX_BOXES	24
#define COUNTERS	4
#define CHANNELS	4
#define MASK_48		((1ull << 48) - 1)

static int msr_fd, disk_fd;
static int boxes;
static char *buf;			/* for DMA */
static char *big;			/* to push all else out of the caches */

static size_t big_bytes;

#define BUF_BYTES	(16 * MIB)

#define check_eq(name, got, want)					\
	check((u64)(got) == (u64)(want), name, "got %#llx, wanted %#llx",	\
	      (unsigned long long)(got), (unsigned long long)(want))

/* ---- the CBoxes' registers ---- */

#define REG_CTL		0
#define REG_SEL(i)	(1 + (i))
#define REG_FILTER(i)	(5 + (i))
#define REG_STATUS	7
#define REG_CTR(i)	(8 + (i))
#define REGS		16
#define MSR_GLOBAL	0x700

#define RST_CTRL	(1u << 0)
#define RST_CTRS	(1u << 1)
#define FRZ		(1u << 8)

#define SEL(ev, um)	((ev) | (um) << 8)
#define RST		(1u << 17)
#define EDGE		(1u << 18)
#define TID		(1u << 19)
#define EN		(1u << 22)
#define INVERT		(1u << 23)
#define THRESH(n)	((n) << 24)

#define LOOKUP(um)	SEL(0x34, um)
#define TOR(um)		SEL(0x35, um)
#define VICTIMS(um)	SEL(0x37, um)

/* Filter 0 and 1 */
#define IO_TID		0x3eu
#define I		(1u << 17)
#define S		(1u << 18)
#define E		(1u << 19)
#define M		(1u << 20)
#define ANY		(0x7fu << 17)
#define NODE0		1u
#define OPC(o)		((o) << 20)

static void put(int box, int reg, u64 val)
{
	if (pwrite(msr_fd, &val, 8, 0xe00 + 16 * box + reg) != 8)
		die("MSR %#x: %m", 0xe00 + 16 * box + reg);
}

static u64 get(int box, int reg)
{
	u64 val;

	if (pread(msr_fd, &val, 8, 0xe00 + 16 * box + reg) != 8)
		die("MSR %#x: %m", 0xe00 + 16 * box + reg);
	return val;
}

static void put_all(int reg, u64 val)
{
	int b;

	for (b = 0; b < boxes; b++)
		put(b, reg, val);
}

static u64 sum_all(int reg)
{
	u64 sum = 0;
	int b;

	for (b = 0; b < boxes; b++)
		sum += get(b, reg);
	return sum;
}

static void global(u64 val)
{
	if (pwrite(msr_fd, &val, 8, MSR_GLOBAL) != 8)
		die("MSR %#x: %m", MSR_GLOBAL);
}

/* All boxes: frozen, empty, with these filters and selects. */
static void program(const unsigned int filter[2], const unsigned int *sel, int n)
{
	int i;

	put_all(REG_CTL, FRZ | RST_CTRL | RST_CTRS);
	put_all(REG_STATUS, 0xf);
	put_all(REG_FILTER(0), filter[0]);
	put_all(REG_FILTER(1), filter[1]);
	for (i = 0; i < n; i++)
		put_all(REG_SEL(i), sel[i] | EN);
}

/* ---- the ledger ---- */

enum { RFO, DRD, RDCUR, WB, ITOM, OPCODES };

static const char * const opcode_key[OPCODES] = { "180", "182", "19e", "1c4", "1c8" };

struct box_account {
	u64 tor[OPCODES][2], io[OPCODES][2];	/* [all, missed] */
	u64 victims_m, victims_e, victims_s;
};

/* Nothing but counters, so that one can be subtracted from another. */
struct ledger {
	struct box_account box[MAX_BOXES];
	u64 dram_read, dram_write;
	u64 from_lines, from_miss, from_clean_hit, partial_lines;	/* of all devices */
	u64 read_miss[2], write_miss[2];				/* of CPU 0 and 1 */
};

static void parse_tor(const char *p, u64 tor[OPCODES][2])
{
	int o;

	for (o = 0; o < OPCODES; o++)
		if (sscanf(json_member(p, opcode_key[o]), "[%lu, %lu]",
			   &tor[o][0], &tor[o][1]) != 2)
			die("the ledger: %.40s", p);
}

static int parse_boxes(const char *p, struct box_account *box)
{
	int n = 0;

	for (p = json_begin(p + 1); *p == '{'; p = json_begin(json_skip(p)), n++, box++) {
		parse_tor(json_member(p, "tor"), box->tor);
		parse_tor(json_member(p, "tor_io"), box->io);
		box->victims_m = json_u64(p, "victims_m");
		box->victims_e = json_u64(p, "victims_e");
		box->victims_s = json_u64(p, "victims_s");
	}
	return n;
}

/*
 * The machine's own time, from the ACPI timer in the south bridge: 24 bits, at
 * 3.579545 MHz. The kernel's clock runs slow on a busy host when it counts by
 * ticks, of which some are lost.
 */
static uint32_t acpi_ticks(void)
{
	static uint32_t port;

	if (!port) {
		int fd = pci_open("/sys/bus/pci/devices/0000:00:1f.0", "config");

		if (pread(fd, &port, 4, 0x40) != 4)
			die("south bridge: %m");
		close(fd);
		port = (port & 0xff80) + 8;
		if (ioperm(port, 4, 1))
			die("port %#x: %m", port);
	}
	return inl(port);
}

static double ns_between(uint32_t from, uint32_t to)
{
	return ((to - from) & 0xffffff) * (1e9 / 3579545);
}

static void mark(struct ledger *l)
{
	const char *p;
	int c;

	memset(l, 0, sizeof(*l));
	ledger_mark('p');

	boxes = parse_boxes(json_member(ledger_text, "cbox"), l->box);
	p = json_member(ledger_text, "dram");
	l->dram_read = json_u64(p, "read_lines");
	l->dram_write = json_u64(p, "write_lines");

	p = json_member(ledger_text, "devices");
	for (p = json_begin(p + 1); *p == '"'; p = json_begin(json_skip(p))) {
		p = json_begin(strchr(p + 1, '"') + 1);
		l->from_lines += json_u64(p, "from_lines");
		l->from_miss += json_u64(p, "from_miss");
		l->from_clean_hit += json_u64(p, "from_clean_hit");
		l->partial_lines += json_u64(p, "partial_lines");
	}
	p = json_member(ledger_text, "cpus");
	for (p = json_begin(p + 1), c = 0; *p == '{' && c < 2; p = json_begin(json_skip(p)), c++) {
		l->read_miss[c] = json_u64(p, "read_miss");
		l->write_miss[c] = json_u64(p, "write_miss");
	}
}

/* Does the ledger list this event as not modelled? How often? */
static int times_named(const char *event)
{
	const char *p = json_member(ledger_text, "not_modelled"), *end = json_skip(p);
	int n = 0;

	for (p = strstr(p, event); p && p < end; p = strstr(p + 1, event))
		n++;
	return n;
}

/* ---- work ---- */

static void disk(bool to_disk, char *addr, size_t bytes, size_t block)
{
	size_t off;
	ssize_t n;

	for (off = 0; off < bytes; off += block) {
		n = to_disk ? pwrite(disk_fd, addr + off, block, off) :
			      pread(disk_fd, addr + off, block, off);
		if (n != (ssize_t)block)
			die("%s the disk: %m", to_disk ? "writing" : "reading");
	}
}

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("no %zu bytes of memory: %m", bytes);
	return p;
}

static void load_lines(const char *p, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i += LINE)
		(void)*(const volatile char *)(p + i);
}

static void store_lines(char *p, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i += LINE)
		*(volatile char *)(p + i) = 1;
}

/*
 * All that is in the LLC has to go: each set gets about four times what it
 * holds, and no set less than once.
 */
static void flush(void)
{
	load_lines(big, big_bytes);
}

/*
 * Of everything a bit: full lines that are written, missing and hitting, a write
 * of what is cached and what is not, and partial lines: reads into a buffer
 * that begins within a line make one at each end.
 */
static void work_mixed(void)
{
	int i;

	disk(false, buf, 8 * MIB, 256 * KIB);
	disk(false, buf + 7 * MIB, MIB, 256 * KIB);
	disk(true, buf + 2 * MIB, 6 * MIB, 256 * KIB);
	for (i = 0; i < 64; i++)
		disk(false, buf + 8 * MIB + i * 64 * KIB + 32, PAGE, PAGE);
}

static void work_read_1m(void)
{
	disk(false, buf, MIB, 256 * KIB);
}

/* DMA of what is and is not cached, victims in each state, stores of both cores. */
static void work_cores(void)
{
	load_lines(buf, MIB);
	store_lines(buf + MIB, MIB);
	run_on(1);
	load_lines(buf, 2 * MIB);
	store_lines(buf + 2 * MIB, MIB);
	run_on(0);
	flush();
	load_lines(buf, MIB / 2);
	disk(false, buf, 4 * MIB, 256 * KIB);
	disk(true, buf + 2 * MIB, 6 * MIB, 256 * KIB);
	disk(false, buf + 8 * MIB + 32, PAGE, PAGE);
}

/* ---- windows ---- */

struct window {
	u64 count[COUNTERS][MAX_BOXES];
	struct ledger low, high;
};

static struct ledger a0, a1;

static void open_window(void)
{
	mark(&a0);
	put_all(REG_CTL, 0);
	mark(&a1);
}

static void close_window(struct window *w)
{
	int i, b;

	mark(&w->low);
	put_all(REG_CTL, FRZ);
	mark(&w->high);
	for (b = 0; b < boxes; b++)
		for (i = 0; i < COUNTERS; i++)
			w->count[i][b] = get(b, REG_CTR(i));
	ledger_subtract(&w->low, &a1, sizeof(struct ledger));
	ledger_subtract(&w->high, &a0, sizeof(struct ledger));
}

static u64 sum_of(const struct window *w, int i)
{
	u64 sum = 0;
	int b;

	for (b = 0; b < boxes; b++)
		sum += w->count[i][b];
	return sum;
}

/* What a box should have counted, from its account. */
typedef u64 expect_fn(const struct box_account *a);

#define EXPECT(name) static u64 name(const struct box_account *a)

EXPECT(none) { return 0 * a->tor[0][0]; }
EXPECT(itom) { return a->tor[ITOM][0]; }
EXPECT(itom_miss) { return a->tor[ITOM][1]; }
EXPECT(rdcur) { return a->tor[RDCUR][0]; }
EXPECT(rdcur_miss) { return a->tor[RDCUR][1]; }
EXPECT(rfo) { return a->tor[RFO][0]; }
EXPECT(rfo_miss) { return a->tor[RFO][1]; }
EXPECT(io_rfo) { return a->io[RFO][0]; }
EXPECT(io_rfo_miss) { return a->io[RFO][1]; }
EXPECT(drd) { return a->tor[DRD][0]; }
EXPECT(drd_miss) { return a->tor[DRD][1]; }
EXPECT(wb) { return a->tor[WB][0]; }
EXPECT(victim_m) { return a->victims_m; }
EXPECT(victim_e) { return a->victims_e; }
EXPECT(victim_s) { return a->victims_s; }
EXPECT(eviction) { return a->victims_m + a->victims_e + a->victims_s; }
EXPECT(request) { return itom(a) + rdcur(a) + rfo(a) + drd(a) + wb(a); }
EXPECT(all) { return request(a) + eviction(a); }
EXPECT(miss) { return itom_miss(a) + rdcur_miss(a) + rfo_miss(a) + drd_miss(a); }
EXPECT(io_write) { return itom(a) + io_rfo(a); }
EXPECT(io_write_miss) { return itom_miss(a) + io_rfo_miss(a); }
EXPECT(write_all) { return io_write(a) + wb(a); }
EXPECT(read_all) { return request(a) - write_all(a); }
EXPECT(read_miss) { return miss(a) - io_write_miss(a); }
EXPECT(io_request) { return io_write(a) + a->io[RDCUR][0]; }
EXPECT(io_miss) { return io_write_miss(a) + a->io[RDCUR][1]; }
/* Without CPUs' accesses, what is in the cache was written by a device. */
EXPECT(hit) { return request(a) - miss(a); }
EXPECT(write_hit) { return write_all(a) - io_write_miss(a); }
EXPECT(read_hit) { return read_all(a) - read_miss(a); }

enum when { ALWAYS, DMA_ONLY, WITH_CORES };

struct batch {
	enum when when;
	unsigned int filter[2];
	struct {
		const char *name;
		unsigned int sel;
		expect_fn *expect;
	} row[COUNTERS];
};

static const struct batch batches[] = {
	{ ALWAYS, { IO_TID | ANY, OPC(0x1c8) }, {
		{ "TOR OPCODE ItoM, tid 0x3e", TOR(0x01) | TID, itom },
		{ "TOR MISS_OPCODE ItoM, tid 0x3e", TOR(0x03) | TID, itom_miss },
		{ "TOR ALL: requests and evictions", TOR(0x08), all },
		{ "TOR NID_OPCODE without a node is nothing", TOR(0x41), none },
	} },
	{ ALWAYS, { ANY, OPC(0x1c8) | NODE0 }, {
		{ "TOR NID_OPCODE ItoM, node 0", TOR(0x41), itom },
		{ "TOR NID_MISS_OPCODE ItoM, node 0", TOR(0x43), itom_miss },
		{ "TOR NID_ALL, node 0", TOR(0x48), all },
		{ "TOR NID_EVICTION, node 0", TOR(0x44), eviction },
	} },
	{ ALWAYS, { ANY, OPC(0x1c8) | NODE0 << 1 }, {
		{ "TOR NID_MISS_OPCODE, node 1, is nothing", TOR(0x43), none },
		{ "TOR NID_ALL, node 1, is nothing", TOR(0x48), none },
		{ "TOR NID_MISS_ALL, node 1, is nothing", TOR(0x4a), none },
		{ "LLC_LOOKUP NID, node 1, is nothing", LOOKUP(0x41), none },
	} },
	{ ALWAYS, { ANY, OPC(0x19e) | NODE0 }, {
		{ "TOR OPCODE PCIRdCur", TOR(0x01), rdcur },
		{ "TOR MISS_OPCODE PCIRdCur", TOR(0x03), rdcur_miss },
		{ "TOR NID_MISS_ALL, node 0", TOR(0x4a), miss },
		{ "LLC_LOOKUP NID, node 0", LOOKUP(0x41), request },
	} },
	{ ALWAYS, { ANY | IO_TID, OPC(0x180) }, {
		{ "TOR OPCODE RFO, tid 0x3e: partial writes", TOR(0x01) | TID, io_rfo },
		{ "TOR MISS_OPCODE RFO, tid 0x3e", TOR(0x03) | TID, io_rfo_miss },
		{ "TOR MISS_ALL", TOR(0x0a), miss },
		{ "TOR MISS_LOCAL", TOR(0x2a), miss },
	} },
	{ ALWAYS, { ANY | IO_TID, OPC(0x180) }, {
		{ "TOR OPCODE RFO of anybody: tid without tid_en is idle", TOR(0x01), rfo },
		{ "TOR MISS_OPCODE RFO of anybody", TOR(0x03), rfo_miss },
		{ "TOR MISS_ALL, tid 0x3e", TOR(0x0a) | TID, io_miss },
		{ "TOR LOCAL, tid 0x3e", TOR(0x28) | TID, io_request },
	} },
	{ ALWAYS, { ANY, OPC(0x19e) }, {
		{ "TOR LOCAL_OPCODE PCIRdCur", TOR(0x21), rdcur },
		{ "TOR MISS_LOCAL_OPCODE PCIRdCur", TOR(0x23), rdcur_miss },
		{ "TOR MISS_REMOTE is nothing", TOR(0x8a), none },
		{ "TOR MISS_REMOTE_OPCODE is nothing", TOR(0x83), none },
	} },
	{ ALWAYS, { ANY, OPC(0x181) }, {
		{ "TOR OPCODE that nobody sends is nothing", TOR(0x01), none },
		{ "TOR MISS_OPCODE that nobody sends is nothing", TOR(0x03), none },
		{ "TOR EVICTION", TOR(0x04), eviction },
		{ "TOR LOCAL: requests", TOR(0x28), request },
	} },
	{ WITH_CORES, { ANY, OPC(0x182) | NODE0 }, {
		{ "TOR OPCODE DRd", TOR(0x01), drd },
		{ "TOR MISS_OPCODE DRd", TOR(0x03), drd_miss },
		{ "TOR WB", TOR(0x10), wb },
		{ "TOR NID_WB, node 0", TOR(0x50), wb },
	} },
	{ WITH_CORES, { ANY, OPC(0x1c4) }, {
		{ "TOR OPCODE WbMtoI", TOR(0x01), wb },
		{ "TOR MISS_OPCODE WbMtoI is nothing", TOR(0x03), none },
		{ "LLC_VICTIMS E", VICTIMS(0x02), victim_e },
		{ "LLC_VICTIMS S", VICTIMS(0x04), victim_s },
	} },
	{ DMA_ONLY, { ANY | 0x00, OPC(0x1c8) | NODE0 }, {
		{ "TOR OPCODE ItoM of core 0 is nothing", TOR(0x01) | TID, none },
		{ "LLC_LOOKUP ANY of core 0 is nothing", LOOKUP(0x11) | TID, none },
		{ "LLC_VICTIMS M forced by core 0 is nothing", VICTIMS(0x01) | TID, none },
		{ "TOR WB: devices send none", TOR(0x10), none },
	} },
	{ ALWAYS, { ANY, 0 }, {
		{ "LLC_LOOKUP DATA_READ", LOOKUP(0x03), read_all },
		{ "LLC_LOOKUP WRITE", LOOKUP(0x05), write_all },
		{ "LLC_LOOKUP ANY", LOOKUP(0x11), request },
		{ "LLC_LOOKUP READ", LOOKUP(0x21), read_all },
	} },
	{ ALWAYS, { ANY | IO_TID, 0 }, {
		{ "LLC_LOOKUP WRITE, tid 0x3e", LOOKUP(0x05) | TID, io_write },
		{ "LLC_LOOKUP READ, tid 0x3e", LOOKUP(0x21) | TID, rdcur },
		{ "LLC_LOOKUP ANY, tid 0x3e", LOOKUP(0x11) | TID, io_request },
		{ "LLC_LOOKUP NID without a node is nothing", LOOKUP(0x41), none },
	} },
	{ ALWAYS, { I, OPC(0x1c8) }, {
		{ "LLC_LOOKUP WRITE in I: device writes that missed", LOOKUP(0x05), io_write_miss },
		{ "LLC_LOOKUP READ in I: reads that missed", LOOKUP(0x21), read_miss },
		{ "LLC_LOOKUP ANY in I = TOR MISS_ALL", LOOKUP(0x11), miss },
		{ "TOR MISS_OPCODE knows no state filter", TOR(0x03), itom_miss },
	} },
	{ DMA_ONLY, { M, OPC(0x1c8) }, {
		{ "LLC_LOOKUP WRITE in M: device writes that hit", LOOKUP(0x05), write_hit },
		{ "LLC_LOOKUP READ in M: device reads that hit", LOOKUP(0x21), read_hit },
		{ "LLC_LOOKUP ANY in M", LOOKUP(0x11), hit },
		{ "TOR OPCODE knows no state filter", TOR(0x01), itom },
	} },
	{ DMA_ONLY, { S | E, 0 }, {
		{ "LLC_LOOKUP WRITE in S or E is nothing without cores", LOOKUP(0x05), none },
		{ "LLC_LOOKUP ANY in S or E is nothing without cores", LOOKUP(0x11), none },
		{ "LLC_VICTIMS E is nothing without cores", VICTIMS(0x02), none },
		{ "LLC_VICTIMS S is nothing without cores", VICTIMS(0x04), none },
	} },
	{ ALWAYS, { 0, NODE0 }, {
		{ "LLC_LOOKUP ANY in no state is nothing", LOOKUP(0x11), none },
		{ "LLC_VICTIMS M", VICTIMS(0x01), victim_m },
		{ "LLC_VICTIMS M of node 0", VICTIMS(0x41), victim_m },
		{ "LLC_VICTIMS M, E, S", VICTIMS(0x07), eviction },
	} },
	{ ALWAYS, { 0, NODE0 << 1 }, {
		{ "LLC_VICTIMS M of node 1 is nothing", VICTIMS(0x41), none },
		{ "LLC_VICTIMS F: there is no such line", VICTIMS(0x08), none },
		{ "LLC_LOOKUP REMOTE_SNOOP is nothing", LOOKUP(0x09), none },
		{ "TOR REMOTE is nothing", TOR(0x88), none },
	} },
};

static void check_row(const char *name, const struct window *w, int i, expect_fn *expect)
{
	u64 low = 0, high = 0, got = 0;
	char why[200] = "";
	int b;

	for (b = 0; b < boxes; b++) {
		u64 l = expect(&w->low.box[b]), h = expect(&w->high.box[b]);
		u64 n = w->count[i][b];

		if ((n < l || n > h) && !why[0])
			snprintf(why, sizeof(why), "box %d counts %lu, the ledger says %lu to %lu",
				 b, n, l, h);
		low += l;
		high += h;
		got += n;
	}
	if (!why[0] && expect != none && !got)
		snprintf(why, sizeof(why), "nothing happened that could be counted");
	check(!why[0], name, "%s; in all %lu, %lu to %lu", why, got, low, high);
}

static void test_events(enum when now)
{
	static struct window w;
	size_t n;
	int i;

	for (n = 0; n < ARRAY_SIZE(batches); n++) {
		const struct batch *b = &batches[n];
		unsigned int sel[COUNTERS];

		if (b->when != ALWAYS && b->when != now)
			continue;
		for (i = 0; i < COUNTERS; i++)
			sel[i] = b->row[i].sel;
		program(b->filter, sel, COUNTERS);
		open_window();
		if (now == DMA_ONLY)
			work_mixed();
		else
			work_cores();
		close_window(&w);
		if (n == 0 && now == DMA_ONLY)
			check(!memcmp(&w.low, &w.high, sizeof(w.low)),
			      "the window is quiet: nobody else makes DMA",
			      "the marks around it differ");
		for (i = 0; i < COUNTERS; i++)
			check_row(b->row[i].name, &w, i, b->row[i].expect);
	}
}

/* ---- boxes: as many as there should be ---- */

static void test_missing_boxes(void)
{
	u64 wrong = 0, changed = 0;
	int b, reg;

	for (b = 0; b < boxes; b++) {
		put(b, REG_CTL, FRZ | RST_CTRL | RST_CTRS);
		for (reg = REG_CTR(0); reg <= REG_CTR(3); reg++)
			put(b, reg, 1000 * b + reg);
	}
	for (b = boxes; b < MAX_BOXES; b++)
		for (reg = 0; reg < REGS; reg++)
			put(b, reg, reg ? ~0ull >> 16 : FRZ);
	for (b = boxes; b < MAX_BOXES; b++)
		for (reg = 0; reg < REGS; reg++)
			wrong += !!get(b, reg);
	for (b = 0; b < boxes; b++)
		for (reg = REG_CTR(0); reg <= REG_CTR(3); reg++)
			changed += get(b, reg) != (u64)(1000 * b + reg);
	if (boxes < MAX_BOXES)
		check_eq("boxes that are not there ignore what is written and read 0", wrong, 0);
	check_eq("each box has counters of its own", changed, 0);
}

static void test_boxes(void)
{
	static struct window w;
	const unsigned int filter[2] = { IO_TID, OPC(0x1c8) }, sel[] = { TOR(0x01) | TID };
	char *p = map(64 * MIB);
	char name[99];
	size_t found;
	glob_t g;

	found = glob("/sys/bus/event_source/devices/uncore_cbox*", 0, NULL, &g) ? 0 : g.gl_pathc;
	snprintf(name, sizeof(name), "%d boxes: the stock driver finds as many", boxes);
	check_eq(name, found, boxes);

	program(filter, sel, 1);
	open_window();
	disk(false, p, 64 * MIB, MIB);
	close_window(&w);
	snprintf(name, sizeof(name), "%d boxes: a direct read of 64 MiB is 1048576 ItoM", boxes);
	check_eq(name, sum_of(&w, 0), 1048576);
	snprintf(name, sizeof(name), "%d boxes: each counts its own", boxes);
	check_row(name, &w, 0, itom);
	test_missing_boxes();
	munmap(p, 64 * MIB);
}

/* ---- control ---- */

static void test_freeze(void)
{
	const unsigned int filter[2] = { 0, OPC(0x1c8) };
	const unsigned int sel[] = { TOR(0x01), SEL(0x00, 0x00) };
	struct ledger before, after;
	u64 n, ticks;

	program(filter, sel, 2);
	put_all(REG_CTL, 0);
	work_read_1m();
	put_all(REG_CTL, FRZ);
	n = sum_all(REG_CTR(0));
	ticks = get(0, REG_CTR(1));
	check_eq("a box that runs counts", n, MIB / LINE);
	check(ticks > 0, "... and ticks", "%lu ticks", ticks);
	work_read_1m();
	check_eq("frozen by the box's bit, it does not", sum_all(REG_CTR(0)), n);
	check_eq("... nor ticks", get(0, REG_CTR(1)), ticks);
	put_all(REG_CTL, 0);
	work_read_1m();
	check_eq("it goes on where it was", sum_all(REG_CTR(0)), 2 * n);
	check(get(0, REG_CTR(1)) > ticks, "... and ticks again", "%lu ticks", get(0, REG_CTR(1)));

	global(1u << 31);
	ticks = get(0, REG_CTR(1));
	work_read_1m();
	check_eq("frozen globally, it does not count", sum_all(REG_CTR(0)), 2 * n);
	check_eq("... nor tick", get(0, REG_CTR(1)), ticks);
	global(0);
	work_read_1m();
	check_eq("a global write without either bit changes nothing", sum_all(REG_CTR(0)), 2 * n);
	global(1u << 29);
	work_read_1m();
	check_eq("unfrozen globally, it goes on", sum_all(REG_CTR(0)), 3 * n);

	put(0, REG_CTL, FRZ);
	n = sum_all(REG_CTR(0));
	ticks = get(0, REG_CTR(0));
	mark(&before);
	work_read_1m();
	mark(&after);
	ledger_subtract(&after, &before, sizeof(struct ledger));
	check_eq("one box that is frozen stays", get(0, REG_CTR(0)), ticks);
	check_eq("... and the others count", sum_all(REG_CTR(0)) - n,
		 MIB / LINE - after.box[0].tor[ITOM][0]);
	global(1u << 31);
	global(1u << 29);
	work_read_1m();
	check_eq("a global unfreeze leaves the box's own freeze", get(0, REG_CTR(0)), ticks);
}

/* The bits that are set in any of box 0's four selects or counters. */
static u64 any_of_four(int first)
{
	u64 bits = 0;
	int i;

	for (i = 0; i < COUNTERS; i++)
		bits |= get(0, first + i);
	return bits;
}

static void test_reset(void)
{
	const unsigned int filter[2] = { 0, OPC(0x1c8) };
	const unsigned int sel[] = { TOR(0x01), TOR(0x01), TOR(0x08), TOR(0x03) };
	u64 n;
	int i;

	program(filter, sel, COUNTERS);
	put_all(REG_CTL, 0);
	work_read_1m();
	put_all(REG_CTL, FRZ);
	n = get(0, REG_CTR(1));

	put(0, REG_SEL(0), sel[0] | EN | RST);
	check_eq("a select's reset bit empties its counter", get(0, REG_CTR(0)), 0);
	check(n && get(0, REG_CTR(1)) == n, "... and no other", "%lu", get(0, REG_CTR(1)));
	check_eq("... and reads 0", get(0, REG_SEL(0)), sel[0] | EN);

	put(0, REG_CTL, FRZ | RST_CTRL);
	check_eq("reset of controls clears the selects", any_of_four(REG_SEL(0)), 0);
	check_eq("... and no counter", get(0, REG_CTR(1)), n);
	check_eq("... and reads 0", get(0, REG_CTL), FRZ);

	for (i = 0; i < COUNTERS; i++)
		put(0, REG_SEL(i), sel[i] | EN);
	put(0, REG_CTL, FRZ | RST_CTRS);
	check_eq("reset of counters clears them", any_of_four(REG_CTR(0)), 0);
	check_eq("... and no select", get(0, REG_SEL(2)), sel[2] | EN);

	put_all(REG_CTL, FRZ | RST_CTRL | RST_CTRS);
	put_all(REG_SEL(0), sel[0]);
	put_all(REG_SEL(1), sel[1] | EN);
	put_all(REG_CTL, 0);
	work_read_1m();
	check_eq("a counter that is not enabled does not count", sum_all(REG_CTR(0)), 0);
	check_eq("... beside one that is", sum_all(REG_CTR(1)), MIB / LINE);
}

static void test_wrap(void)
{
	static struct window w;
	const unsigned int filter[2] = { 0, OPC(0x1c8) };
	const unsigned int sel[] = { TOR(0x08), TOR(0x01), TOR(0x01) };
	u64 bad = 0, status = 0, cleared = 0;
	int b;

	program(filter, sel, 3);
	put_all(REG_CTR(1), MASK_48 + 1 - 100);
	put_all(REG_CTR(3), ~0ull);
	check_eq("a counter has 48 bits", get(0, REG_CTR(3)), MASK_48);
	open_window();
	work_read_1m();
	close_window(&w);
	for (b = 0; b < boxes; b++) {
		bad += w.count[1][b] + 100 != w.low.box[b].tor[ITOM][0] ||
		       w.count[2][b] != w.low.box[b].tor[ITOM][0];
		status += get(b, REG_STATUS) == 1u << 1;
		put(b, REG_STATUS, 0xd);
		cleared += get(b, REG_STATUS) != 1u << 1;
		put(b, REG_STATUS, 1u << 1);
		cleared += get(b, REG_STATUS) != 0;
	}
	check_eq("2^48 - 100 wraps and counts on", bad, 0);
	check_eq("its status bit, and only that, is set", status, boxes);
	check_eq("a 1 clears it, a 0 does not", cleared, 0);
}

static void test_clock(void)
{
	const unsigned int filter[2] = { 0, 0 }, sel[] = { SEL(0x00, 0x00) };
	uint32_t t0, t1, t2, t3;
	double ticks;

	program(filter, sel, 1);
	t0 = acpi_ticks();
	put(0, REG_CTL, 0);
	t1 = acpi_ticks();
	usleep(200000);
	t2 = acpi_ticks();
	put(0, REG_CTL, FRZ);
	t3 = acpi_ticks();
	ticks = get(0, REG_CTR(0));
	check(ticks >= ns_between(t1, t2) * 2.5 * 0.99 && ticks <= ns_between(t0, t3) * 2.5 * 1.01,
	      "clockticks are 2.5 GHz of guest time within 1 %",
	      "%.0f ticks in %.0f to %.0f ns", ticks, ns_between(t1, t2), ns_between(t0, t3));
}

static void test_not_modelled(void)
{
	const unsigned int filter[2] = { ANY, OPC(0x1c8) | NODE0 };
	const unsigned int sel[] = {
		SEL(0x36, 0x01), TOR(0x01) | EDGE, TOR(0x01) | THRESH(2), TOR(0x01) | INVERT
	};
	const unsigned int more[] = { VICTIMS(0x40), SEL(0x1d, 0x0f) };
	struct ledger l;

	program(filter, sel, COUNTERS);
	put_all(REG_CTL, 0);
	work_read_1m();
	check_eq("TOR_OCCUPANCY is not modelled: it reads zero", sum_all(REG_CTR(0)), 0);
	check_eq("neither is edge, threshold or invert",
		 sum_all(REG_CTR(1)) + sum_all(REG_CTR(2)) + sum_all(REG_CTR(3)), 0);
	program(filter, more, 2);
	put_all(REG_CTL, 0);
	work_read_1m();
	check_eq("nor LLC_VICTIMS NID alone, nor a ring",
		 sum_all(REG_CTR(0)) + sum_all(REG_CTR(1)), 0);
	mark(&l);
	check_eq("the ledger names TOR_OCCUPANCY, once",
		 times_named("\"CBox event 0x36 umask 0x01\""), 1);
	check_eq("... and edge, threshold and invert, once",
		 times_named("\"CBox event 0x35 umask 0x01 with "), 1);
	check_eq("... and the others",
		 times_named("\"CBox event 0x37 umask 0x40\"") +
		 times_named("\"CBox event 0x1d umask 0x0f\""), 2);
	check_eq("... and none that is modelled", times_named("CBox"), 4);
}

/* ---- memory controllers ---- */

#define IMC_CTR(i)	(0xa0 + 8 * (i))
#define IMC_FIXED_CTR	0xd0
#define IMC_SEL(i)	(0xd8 + 4 * (i))
#define IMC_FIXED_SEL	0xf0
#define IMC_CTL		0xf4
#define CAS(um)		SEL(0x04, um)

static int imc_fd[CHANNELS];

static void imc_put(int c, int reg, uint32_t val)
{
	if (pwrite(imc_fd[c], &val, 4, reg) != 4)
		die("memory controller %d, register %#x: %m", c, reg);
}

static u64 imc_get(int c, int reg, int bytes)
{
	uint32_t part[2] = { 0, 0 };
	int i;

	for (i = 0; i < bytes / 4; i++)
		if (pread(imc_fd[c], &part[i], 4, reg + 4 * i) != 4)
			die("memory controller %d, register %#x: %m", c, reg);
	return (u64)part[1] << 32 | part[0];
}

static void imc_all(int reg, uint32_t val)
{
	int c;

	for (c = 0; c < CHANNELS; c++)
		imc_put(c, reg, val);
}

static u64 imc_sum(int reg)
{
	u64 sum = 0;
	int c;

	for (c = 0; c < CHANNELS; c++)
		sum += imc_get(c, reg, 8);
	return sum;
}

static void test_imc(void)
{
	static const unsigned int id[CHANNELS] = { 0xfb0, 0xfb1, 0xfb4, 0xfb5 };
	static const unsigned int sel[] = { CAS(0x03), CAS(0x0c), CAS(0x0a), CAS(0x0f) };
	struct ledger before, after;
	u64 rd, wr, uneven = 0, ticks[2];
	uint32_t t0, t1, t2, t3;
	unsigned int generation = 0x2000;	/* Haswell-EP, or Broadwell-EP */
	char *dir = pci_find(0x8086, 0x6000 | id[0]);
	int c, i;

	if (dir)
		generation = 0x6000;
	free(dir);
	for (c = 0; c < CHANNELS; c++) {
		dir = pci_need(0x8086, generation | id[c]);

		imc_fd[c] = pci_open(dir, "config");
		free(dir);
	}

	imc_all(IMC_CTL, FRZ | RST_CTRL | RST_CTRS);
	for (i = 0; i < COUNTERS; i++)
		imc_all(IMC_SEL(i), sel[i] | EN);
	mark(&before);
	imc_all(IMC_CTL, 0);
	work_mixed();
	imc_all(IMC_CTL, FRZ);
	mark(&after);
	ledger_subtract(&after, &before, sizeof(struct ledger));
	rd = imc_sum(IMC_CTR(0));
	wr = imc_sum(IMC_CTR(1));
	check(rd > 50000 && wr > 50000, "DRAM is read and written", "%lu, %lu lines", rd, wr);
	check_eq("CAS_COUNT.RD over the channels is what the ledger says", rd, after.dram_read);
	check_eq("CAS_COUNT.WR over the channels is what the ledger says", wr, after.dram_write);
	check_eq("... without underfill reads and read-major mode", imc_sum(IMC_CTR(2)), 0);
	for (c = 0; c < CHANNELS; c++) {
		u64 r = imc_get(c, IMC_CTR(0), 8), w = imc_get(c, IMC_CTR(1), 8);

		uneven += r * 10 < rd * 2 || r * 10 > rd * 3 || w * 10 < wr * 2 || w * 10 > wr * 3;
		uneven += imc_get(c, IMC_CTR(3), 8) != r + w;
	}
	check_eq("each channel takes a fair part; RD and WR add up in it", uneven, 0);

	work_mixed();
	check(imc_sum(IMC_CTR(0)) == rd && imc_sum(IMC_CTR(1)) == wr,
	      "frozen, they do not count", "%lu, %lu", imc_sum(IMC_CTR(0)), imc_sum(IMC_CTR(1)));
	mark(&before);
	imc_all(IMC_CTL, 0);
	work_mixed();
	mark(&after);
	ledger_subtract(&after, &before, sizeof(struct ledger));
	check_eq("they go on where they were: RD", imc_sum(IMC_CTR(0)), rd + after.dram_read);
	check_eq("... and WR", imc_sum(IMC_CTR(1)), wr + after.dram_write);

	imc_all(IMC_CTL, FRZ | RST_CTRS);
	check_eq("reset of counters clears them",
		 imc_sum(IMC_CTR(0)) + imc_sum(IMC_CTR(1)) + imc_sum(IMC_CTR(3)), 0);
	check_eq("... and no select", imc_get(0, IMC_SEL(1), 4), sel[1] | EN);
	check_eq("... and reads 0", imc_get(0, IMC_CTL, 4), FRZ);
	imc_all(IMC_CTR(2), 77);
	imc_all(IMC_CTL, FRZ | RST_CTRL);
	check_eq("reset of controls clears the selects", imc_get(0, IMC_SEL(1), 4), 0);
	check_eq("... and no counter", imc_get(0, IMC_CTR(2), 8), 77);

	imc_put(0, IMC_CTL, FRZ | RST_CTRL | RST_CTRS);
	imc_put(0, IMC_SEL(0), SEL(0x00, 0x00) | EN);
	imc_put(0, IMC_SEL(1), SEL(0x02, 0x01) | EN);
	imc_put(0, IMC_FIXED_SEL, EN);
	t0 = acpi_ticks();
	imc_put(0, IMC_CTL, 0);
	t1 = acpi_ticks();
	usleep(200000);
	t2 = acpi_ticks();
	imc_put(0, IMC_CTL, FRZ);
	t3 = acpi_ticks();
	ticks[0] = imc_get(0, IMC_CTR(0), 8);
	ticks[1] = imc_get(0, IMC_FIXED_CTR, 8);
	check(ticks[0] >= ns_between(t1, t2) * 16 / 15 * 0.99 &&
	      ticks[0] <= ns_between(t0, t3) * 16 / 15 * 1.01 && ticks[0] == ticks[1],
	      "clockticks and the fixed counter are 1066.7 MHz within 1 %",
	      "%lu and %lu ticks in %.0f to %.0f ns", ticks[0], ticks[1],
	      ns_between(t1, t2), ns_between(t0, t3));
	usleep(10000);
	check_eq("frozen, the fixed counter stands", imc_get(0, IMC_FIXED_CTR, 8), ticks[1]);
	mark(&before);
	check(imc_get(0, IMC_CTR(1), 8) == 0 && times_named("\"IMC event 0x02 umask 0x01\"") == 1,
	      "an event that is not modelled reads zero and is in the ledger",
	      "%lu, named %d times", imc_get(0, IMC_CTR(1), 8),
	      times_named("\"IMC event 0x02 umask 0x01\""));
	imc_all(IMC_CTL, FRZ | RST_CTRL | RST_CTRS);
}

/* ---- with the cores' accesses ---- */

#define PART	(16 * KIB)
#define PART_LINES (PART / LINE)

/*
 * Lines of four states, one after the other: two cores have loaded the first
 * ones, one has loaded the second, one has written the third, nobody has
 * touched the fourth. The device shall write them in this order, so that its
 * own lines push none of the others out.
 */
static void prepare_states(char *p)
{
	flush();
	load_lines(p, 2 * PART);
	run_on(1);
	load_lines(p, PART);
	run_on(0);
	store_lines(p + 2 * PART, PART);
}

static void test_states(void)
{
	static const struct {
		unsigned int states;
		const char *name;
		int part;		/* or -1 */
	} t[] = {
		{ I, "device writes in I: those that missed", 3 },
		{ S, "device writes in S: lines that two cores had loaded", 0 },
		{ E, "device writes in E: lines that one core had loaded", 1 },
		{ M, "device writes in M: lines that a core had written", 2 },
		{ S | E, "device writes in S or E: clean hits", -1 },
		{ I | S | E, "device writes in all states but M", -1 },
		{ ANY, "device writes in all states", -1 },
	};
	const unsigned int sel[] = {
		LOOKUP(0x05) | TID, LOOKUP(0x11) | TID, TOR(0x03) | TID, TOR(0x01) | TID
	};
	static struct window w;
	struct ledger *d = &w.low;
	char name[99];
	size_t i;
	int tries;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		const unsigned int filter[2] = { IO_TID | t[i].states, OPC(0x1c8) };
		u64 want = 0, m;

		for (tries = 0; tries < 20; tries++) {
			prepare_states(buf);
			/* The next completion goes to a line that is in M now, mostly. */
			disk(false, buf + 8 * MIB, PAGE, PAGE);
			program(filter, sel, COUNTERS);
			open_window();
			disk(false, buf, 4 * PART, 4 * PART);
			close_window(&w);
			/* Again if the queues' own lines have pushed one out, or missed. */
			if (d->from_clean_hit == 2 * PART_LINES && d->from_miss == PART_LINES &&
			    d->from_lines - d->partial_lines == 4 * PART_LINES)
				break;
		}
		if (tries == 20) {
			check(false, t[i].name, "%lu of %lu lines written hit clean ones, %lu missed",
			      d->from_clean_hit, d->from_lines, d->from_miss);
			continue;
		}
		m = d->from_lines - d->from_miss - d->from_clean_hit;
		want += t[i].states & I ? d->from_miss : 0;
		want += t[i].states & S ? PART_LINES : 0;
		want += t[i].states & E ? PART_LINES : 0;
		want += t[i].states & M ? m : 0;
		check_eq(t[i].name, sum_of(&w, 0), want);
		if (t[i].part == 3)
			check_eq("... which is TOR MISS_OPCODE", sum_of(&w, 0), sum_of(&w, 2));
		snprintf(name, sizeof(name), "... beside TOR OPCODE ItoM, which is all %lu",
			 4 * PART_LINES);
		check_eq(name, sum_of(&w, 3), 4 * PART_LINES);
	}
}

static void work_one_core(void)
{
	run_on(1);
	load_lines(buf, 4 * MIB);
	store_lines(buf + 4 * MIB, 2 * MIB);
	run_on(0);
}

static void test_tids(void)
{
	static const struct {
		unsigned int opcode;
		int core;
		const char *name;
		u64 at_least;
	} t[] = {
		{ 0x182, 1, "loads of core 1 that missed: tid 2", 4 * MIB / LINE },
		{ 0x182, 0, "loads of core 0 that missed: tid 0", 0 },
		{ 0x180, 1, "stores of core 1 that missed: tid 2", 2 * MIB / LINE },
		{ 0x180, 0, "stores of core 0 that missed: tid 0", 0 },
	};
	const unsigned int sel[] = { TOR(0x03) | TID, TOR(0x01) | TID, LOOKUP(0x21) | TID };
	static struct window w;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		const unsigned int filter[2] = { I | t[i].core << 1, OPC(t[i].opcode) };
		const u64 *low = t[i].opcode == 0x182 ? w.low.read_miss : w.low.write_miss;
		const u64 *high = t[i].opcode == 0x182 ? w.high.read_miss : w.high.write_miss;
		u64 n, l, h;
		char name[99];

		flush();
		program(filter, sel, 3);
		open_window();
		work_one_core();
		close_window(&w);
		n = sum_of(&w, 0);
		check(n >= low[t[i].core] && n <= high[t[i].core] && n >= t[i].at_least,
		      t[i].name, "%lu, the ledger says %lu to %lu, and %lu at least", n,
		      low[t[i].core], high[t[i].core], t[i].at_least);
		snprintf(name, sizeof(name), "... and LLC_LOOKUP READ in I of tid %d: both kinds",
			 t[i].core << 1);
		l = w.low.read_miss[t[i].core] + w.low.write_miss[t[i].core];
		h = w.high.read_miss[t[i].core] + w.high.write_miss[t[i].core];
		check(sum_of(&w, 2) >= l && sum_of(&w, 2) <= h, name,
		      "%lu, the ledger says %lu to %lu", sum_of(&w, 2), l, h);
	}
}

/* ---- above 4 GiB ---- */

#define PAIRS	32

/* The page frames of @pages pages, which are there. */
static void frames_of(const char *p, size_t pages, u64 *frame)
{
	static int fd = -1;
	size_t i;

	if (fd < 0)
		fd = open("/proc/self/pagemap", O_RDONLY);
	if (pread(fd, frame, 8 * pages, (uintptr_t)p / PAGE * 8) != (ssize_t)(8 * pages))
		die("pagemap: %m");
	for (i = 0; i < pages; i++)
		frame[i] &= (1ull << 55) - 1;
}

/* Pages below and above 4 GiB whose addresses have the same low 32 bits. */
static void find_pairs(char *low[PAIRS], char *high[PAIRS])
{
	const size_t pages = 8 * MIB / PAGE, frames = 1ul << 20;
	static u64 frame[8 * MIB / PAGE];
	char **at[2];
	size_t i;
	int n = 0, k;

	at[0] = calloc(frames, sizeof(char *));
	at[1] = calloc(frames, sizeof(char *));
	for (k = 0; k < 64 && n < PAIRS; k++) {
		char *p = map(8 * MIB);

		frames_of(p, pages, frame);
		for (i = 0; i < pages && n < PAIRS; i++, p += PAGE) {
			u64 f = frame[i];
			bool above = f >= frames;

			if (f >= 2 * frames)
				continue;
			f %= frames;
			at[above][f] = p;
			if (at[0][f] && at[1][f]) {
				low[n] = at[0][f];
				high[n++] = at[1][f];
			}
		}
	}
	if (n < PAIRS)
		die("only %d of %d pages above 4 GiB have a partner below", n, PAIRS);
}

static void disk_pages(char *page[PAIRS])
{
	struct iovec v[PAIRS];
	int i;

	for (i = 0; i < PAIRS; i++)
		v[i] = (struct iovec){ page[i], PAGE };
	if (preadv(disk_fd, v, PAIRS, 0) != (ssize_t)(PAIRS * PAGE))
		die("reading the disk: %m");
}

/* A core loads the pages: how many lines missed? At most this many reads of DRAM. */
static u64 misses(char *page[PAIRS], u64 *dram_read)
{
	const unsigned int filter[2] = { 0, OPC(0x182) }, sel[] = { TOR(0x03) | TID };
	static struct window w;
	int i;

	program(filter, sel, 1);
	open_window();
	for (i = 0; i < PAIRS; i++)
		load_lines(page[i], PAGE);
	close_window(&w);
	*dram_read = w.high.dram_read;
	return sum_of(&w, 0);
}

static void test_high(void)
{
	const u64 lines = PAIRS * PAGE / LINE;
	char *low[PAIRS], *high[PAIRS];
	u64 n, dram;

	find_pairs(low, high);

	flush();
	disk_pages(high);
	n = misses(high, &dram);
	check(n < lines / 4 && dram < lines / 2,
	      "above 4 GiB: a core finds what a device has written in the LLC",
	      "%lu of %lu lines missed, %lu DRAM reads in the window", n, lines, dram);
	n = misses(low, &dram);
	check(n >= lines && dram >= lines,
	      "... and not in the lines 4 GiB below, which miss",
	      "%lu of %lu lines missed, %lu DRAM reads in the window", n, lines, dram);
	n = misses(high, &dram);
	check(n < lines / 4, "... and leave the ones above where they are",
	      "%lu of %lu lines missed", n, lines);

	flush();
	disk_pages(low);
	n = misses(low, &dram);
	check(n < lines / 4 && dram < lines / 2,
	      "below 4 GiB: a core finds what a device has written in the LLC",
	      "%lu of %lu lines missed, %lu DRAM reads in the window", n, lines, dram);
	n = misses(high, &dram);
	check(n >= lines && dram >= lines, "... and not in the lines 4 GiB above",
	      "%lu of %lu lines missed, %lu DRAM reads in the window", n, lines, dram);
}

int main(int argc, char **argv)
{
	const char *group = argc > 1 ? argv[1] : "";
	struct ledger l;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: pmon boxes|events|imc|cores|high|io DISK [LLC]\n");
		return 2;
	}
	run_on(0);
	disk_fd = open(argv[2], O_RDWR | O_DIRECT);
	if (disk_fd < 0)
		die("%s: %m", argv[2]);
	buf = map(BUF_BYTES);
	if (!strcmp(group, "io")) {
		work_mixed();
		return 0;
	}

	msr_fd = open("/dev/cpu/0/msr", O_RDWR);
	if (msr_fd < 0)
		die("/dev/cpu/0/msr: %m");
	ledger_open();
	work_mixed();
	mark(&l);
	if (argc == 4) {
		big_bytes = 4 * strtoul(argv[3], NULL, 10);
		big = map(big_bytes);
	}

	if (!strcmp(group, "boxes")) {
		test_boxes();
	} else if (!strcmp(group, "events")) {
		test_events(DMA_ONLY);
		test_freeze();
		test_reset();
		test_wrap();
		test_clock();
		test_not_modelled();
	} else if (!strcmp(group, "imc")) {
		test_imc();
	} else if (!strcmp(group, "cores")) {
		test_events(WITH_CORES);
		test_states();
		test_tids();
	} else if (!strcmp(group, "high")) {
		test_high();
	} else {
		die("no group %s", group);
	}
	put_all(REG_CTL, FRZ | RST_CTRL | RST_CTRS);
	return failed > 0;
}

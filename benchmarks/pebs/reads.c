// SPDX-License-Identifier: GPL-2.0
/*
 * reads KIND TAG ARG...: reads memory in the guest, as the account TAG of the machine's
 * ledger, while somebody traces it
 *
 *	linear TAG OFFSET BYTES N TURNS  N times 8 bytes of each line of so many bytes, one
 *		after the other, OFFSET bytes into the line; behind each 64 lines so many
 *		turns of a loop that only counts
 *	streams TAG STREAMS STRIDE BYTES N  likewise, but of as many parts of the buffer at
 *		once as there are streams, by turns; each with steps of STRIDE lines, and
 *		so often that each line is read once
 *	phases TAG MARK BYTES N TURNS  N times as `linear` without turns, and then a 16th of
 *		it with so many; the ledger gets a mark of this name (a letter) for each 16th
 *
 * Prints TAG, the thread that did it, how often loads have missed as a counter of perf has it
 * (MEM_LOAD_UOPS_RETIRED.L3_MISS, user mode), how long that took by the clock, ns (with
 * ci/vm --icount these are instructions), and how many NMIs the kernel had meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "core-msr.h"
#include "core-work.h"
#include "ledger.h"

#define LINE	64ul
#define BLOCK	(64 * LINE)
#define PARTS	16

/* So far, on all CPUs */
static u64 nmis(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	char line[4096], *p = NULL, *end;
	u64 v, sum = 0;

	while (f && !p && fgets(line, sizeof(line), f))
		p = strstr(line, "NMI:");
	if (!p)
		die("/proc/interrupts: no NMIs");
	fclose(f);
	for (p += 4; v = strtoull(p, &end, 10), end != p; p = end)
		sum += v;
	return sum;
}

static int open_misses(void)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_RAW, .size = sizeof(a), .disabled = 1, .exclude_kernel = 1,
		.exclude_hv = 1, .config = EVENT(0xd1, 0x20),
	};
	const int fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);

	if (fd < 0)
		die("perf_event_open: %m");
	return fd;
}

static void linear(char *from, u64 size, u64 turns)
{
	u64 at;

	if (!turns) {
		load_apart(from, LINE, size / LINE);
		return;
	}
	for (at = 0; at < size; at += BLOCK) {
		load_apart(from + at, LINE, BLOCK / LINE);
		work_loop(NULL, turns, 0);
	}
}

static void interleaved(const char *from, u64 streams, u64 stride, u64 size)
{
	const u64 part = size / streams / LINE / stride * stride;
	u64 first, line, s;

	for (first = 0; first < stride; first++) {
		for (line = first; line < part; line += stride) {
			for (s = 0; s < streams; s++)
				(void)*(volatile const u64 *)(from + (s * part + line) * LINE);
		}
	}
}

static void phases(char *from, char mark, u64 size, u64 turns)
{
	int i;

	for (i = 0; i < PARTS; i++) {
		ledger_snapshot(mark);
		linear(from + i * (size / PARTS), size / PARTS, 0);
	}
	/* Neither what the cache still has nor what comes next */
	for (i = 0; i < PARTS; i++) {
		ledger_snapshot(mark);
		linear(from + size / 2 + i * (size / PARTS / PARTS), size / PARTS / PARTS,
		       turns);
	}
}

static char **args;		/* of main() */
static char *buf;
static u64 tag, bytes, n;

/* What came of it */
static u64 misses, ns;
static long tid;

/* A thread of its own, so that a trace tells it from what had to be done before */
static void *task(void *unused)
{
	const char kind = args[1][0];
	const int fd = open_misses();
	u64 i, begun;

	ledger_tag(tag);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	begun = now_ns();
	for (i = 0; i < n; i++) {
		if (kind == 'l')
			linear(buf + number(args[3]), bytes, number(args[6]));
		else if (kind == 's')
			interleaved(buf, number(args[3]), number(args[4]), bytes);
		else
			phases(buf, *args[3], bytes, number(args[6]));
	}
	if (kind == 'p')
		ledger_snapshot(*args[3]);
	ns = now_ns() - begun;
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ledger_tag(0);
	if (read(fd, &misses, 8) != 8)
		die("reading a counter: %m");
	tid = syscall(SYS_gettid);
	return unused;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	pthread_t thread;
	u64 interrupts;

	if (!((!strcmp(kind, "linear") || !strcmp(kind, "streams") || !strcmp(kind, "phases")) &&
	      argc == 7)) {
		fprintf(stderr,
			"usage: reads linear TAG OFFSET BYTES N TURNS | streams TAG STREAMS STRIDE BYTES N | phases TAG MARK BYTES N TURNS\n");
		return 2;
	}
	args = argv;
	tag = number(argv[2]);
	bytes = number(argv[*kind == 's' ? 5 : 4]);
	n = number(argv[*kind == 's' ? 6 : 5]);
	run_on(0);
	buf = mmap(NULL, bytes + BLOCK, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buf == MAP_FAILED)
		die("no memory: %m");
	ledger_open();
	/* What was written has been written back then. */
	load_apart(buf, LINE, bytes / LINE);
	interrupts = nmis();
	if (pthread_create(&thread, NULL, task, NULL) || pthread_join(thread, NULL))
		die("no thread");
	printf("%lu %ld %lu %lu %lu\n", tag, tid, misses, ns, nmis() - interrupts);
	return 0;
}

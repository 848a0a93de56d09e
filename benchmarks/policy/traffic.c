// SPDX-License-Identifier: GPL-2.0
/*
 * traffic KIND TAG CPU PERIOD: uses the memory in one way on one CPU until it is killed
 *
 *	stream	loads from each line of a buffer, one after the other (STREAM's sum)
 *	copy	loads from one half of the buffer and stores to the other (STREAM's copy; its
 *		scale has the same lines)
 *	add	loads from two thirds of it and stores to the last one (STREAM's add, and triad)
 *	chase	each load has the next one's address; no two next to each other
 *
 * It does 4096 lines (256 KiB) in each PERIOD of so many ns, as if it were a frame of a film, and
 * sleeps until the next one begins; if it is late by more than that, it is not made up
 * for. So it wants less than the memory gives, and how fast the emulator is does not
 * matter. 0: as fast as it can. (copy touches 4096 lines, of which half are written back as
 * well; add 4095.) TAG is who it is in the
 * machine's ledger. When it has been through its buffer once it makes /run/traffic.TAG.
 */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef uint64_t u64;
#define die(...) err(1, __VA_ARGS__)
#include "../../ci/tests/guest/ledger.h"

#define BUFFER	(4ul << 20)	/* the cache has 640 KiB */
#define LINE	64ul
#define LINES	(BUFFER / LINE)
#define STEP	4096

static volatile u64 *line(char *buf, u64 i)
{
	return (volatile u64 *)(buf + i * LINE);
}

#define NS	1000000000ull

static void pause_until_next(u64 period)
{
	static u64 begun;
	u64 now = now_ns();
	struct timespec t;

	if (!period)
		return;
	begun = now < begun + 2 * period ? begun + period : now;
	t = (struct timespec){ .tv_sec = begun / NS, .tv_nsec = begun % NS };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void stream(char *buf, u64 period)
{
	for (u64 i = 0;; i = (i + STEP) % LINES) {
		for (u64 k = 0; k < STEP; k++)
			(void)*line(buf, i + k);
		pause_until_next(period);
	}
}

static void copy(char *buf, u64 period)
{
	const u64 part = LINES / 2, step = STEP / 2;

	for (u64 i = 0;; i = (i + step) % part) {
		for (u64 k = i; k < i + step; k++)
			*line(buf, part + k) = *line(buf, k);
		pause_until_next(period);
	}
}

static void add(char *buf, u64 period)
{
	const u64 step = STEP / 3, part = LINES / 3 / step * step;

	for (u64 i = 0;; i = (i + step) % part) {
		for (u64 k = i; k < i + step; k++)
			*line(buf, 2 * part + k) = *line(buf, k) + *line(buf, part + k);
		pause_until_next(period);
	}
}

static void chase(char *buf, u64 period)
{
	for (u64 at = 0;;) {
		for (u64 k = 0; k < STEP; k++)
			at = *line(buf, at);
		pause_until_next(period);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(char *buf, u64 period);
	} kinds[] = {
		{ "stream", stream }, { "copy", copy }, { "add", add }, { "chase", chase },
	};
	char ready[64];
	cpu_set_t set;
	char *buf;

	if (argc != 5) {
		fprintf(stderr, "usage: traffic stream|copy|add|chase TAG CPU PERIOD\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[3]), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %s", argv[3]);
	buf = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buf == MAP_FAILED)
		err(1, "%lu bytes", BUFFER);
	/* One ring: LINES is a power of two, and the step is odd. */
	for (u64 i = 0; i < LINES; i++)
		*line(buf, i) = (i + (LINES * 5 / 13 | 1)) % LINES;
	ledger_open();
	ledger_tag(atoi(argv[2]));
	snprintf(ready, sizeof(ready), "/run/traffic.%s", argv[2]);
	close(open(ready, O_CREAT | O_WRONLY, 0600));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kinds[i].run(buf, strtoull(argv[4], NULL, 10));
	errx(2, "%s: stream, copy, add or chase", argv[1]);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * switch ROUNDS: what a context switch by way of a pipe takes, in ns
 *
 * Two processes on one CPU send each other a byte, as lat_ctx does; half of a
 * round trip is a switch. Prints the least of RUNS runs of ROUNDS. With ci/vm
 * --icount a nanosecond is an instruction. A run that is shorter than a tick, and than
 * the millisecond in which loads are averaged, has neither in it, if there are enough.
 *
 * Built with READS, each process reads a cache line from memory before it sends a byte.
 */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef READS
#include <sys/mman.h>
#endif
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS	500

#ifdef READS
/* More than a cache of 320 KiB holds: what was filled first is gone by the time it is read. */
#define BYTES	(4 << 20)
#define LINE	64

static volatile char *next_line;

static void begin_reads(void)
{
	next_line = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (next_line == MAP_FAILED)
		err(1, "mmap");
}

static void read_line(void)
{
	(void)*next_line;
	next_line += LINE;
}
#else
static inline void begin_reads(void)
{
}

static inline void read_line(void)
{
}
#endif

static void ping(int in, int out, long rounds, int first)
{
	char c = 0;

	for (; rounds > 0; rounds--) {
		read_line();
		if (first && write(out, &c, 1) != 1)
			err(1, "write");
		if (read(in, &c, 1) != 1)
			err(1, "read");
		if (!first && write(out, &c, 1) != 1)
			err(1, "write");
	}
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 0, least = 0, ns;
	int there[2], back[2], run;
	struct timespec a, b;
	cpu_set_t set;
	pid_t pid;

	if (argc != 2 || rounds < 1)
		errx(2, "usage: switch ROUNDS");
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || pipe(there) || pipe(back))
		err(1, "setup");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	begin_reads();
	if (!pid) {
		ping(there[0], back[1], RUNS * rounds, 0);
		return 0;
	}
	for (run = 0; run < RUNS; run++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		ping(back[0], there[1], rounds, 1);
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
		if (!run || ns < least)
			least = ns;
	}
	waitpid(pid, NULL, 0);
	printf("%.1f\n", (double)least / rounds / 2);
	return 0;
}

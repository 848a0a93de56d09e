// SPDX-License-Identifier: GPL-2.0
/*
 * moved CPU SECONDS MEMIO.LIMIT: reads memory on a CPU, whose counter of misses overflows often
 * as its group, of which this is the file, has a limit; has perf stop that until the next tick,
 * and meanwhile push it from one place to another. Prints how often it may have been stopped,
 * as perf's limit was lowered under it, and how often it was pushed.
 *
 * Events of loads (0xd0) are good in the first four counters only, and so get these before one
 * that is good in all of them, each time that places are given anew, as for an event that
 * had none before:
 *
 *	loads | the other (and what the second of these has left there, a while ago) | ...
 *	loads | loads | the other | ...
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RATE	"/proc/sys/kernel/perf_event_max_sample_rate"
#define PERCENT	"/proc/sys/kernel/perf_cpu_time_max_percent"
#define LINE	64
#define BYTES	(8 << 20)
#define PAUSE_US	20000
#define TICK_US		3000		/* one at least */
#define EVENTS		4

static int rate_fd, percent_fd, limit_fd;
static char *buf;
static size_t at;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int open_to_write(const char *path)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		die(path);
	return fd;
}

static void put(int fd, const char *text)
{
	if (pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
		die(text);
}

/* Samples in a second that perf allows; by itself it changes nothing at 0 %, which it says. */
static void rate(const char *text)
{
	put(percent_fd, "25\n");
	put(rate_fd, text);
}

/* Loads in user mode; far from an overflow, which it begins far below zero */
static int loads(int cpu)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_RAW, .size = sizeof(a), .config = 0x81d0,
		.sample_period = 1 << 29, .exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &a, -1, cpu, -1, 0);

	if (fd < 0)
		die("perf_event_open");
	return fd;
}

static unsigned long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ul + t.tv_nsec / 1000;
}

static void read_lines(int n)
{
	for (; n--; at = (at + LINE) % BYTES)
		(void)*(volatile char *)(buf + at);
}

int main(int argc, char **argv)
{
	int cpu = argc > 1 ? atoi(argv[1]) : 0, seconds = argc > 2 ? atoi(argv[2]) : 5;
	unsigned long end = now_us() + 1000000ul * seconds, until;
	unsigned long stops = 0, moves = 0;
	cpu_set_t set;
	int fd[EVENTS], i;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("that CPU");
	buf = malloc(BYTES);
	if (!buf)
		die("memory");
	memset(buf, 1, BYTES);
	rate_fd = open_to_write(RATE);
	percent_fd = open_to_write(PERCENT);
	limit_fd = open_to_write(argc > 3 ? argv[3] : "memio.limit");
	while (now_us() < end) {
		rate("100000\n");
		put(percent_fd, "0\n");
		/* Or it would take a second until its period is a short one again. */
		put(limit_fd, "cpu bps=max");
		put(limit_fd, "cpu bps=600000000");
		usleep(PAUSE_US);
		/* Several overflows in a tick are too many of a sudden. */
		read_lines(2000);
		rate("1\n");
		read_lines(150);
		stops++;
		for (i = 0; i < EVENTS; i++, moves++)
			fd[i] = loads(cpu);
		for (until = now_us() + TICK_US; now_us() < until;)
			read_lines(100);
		for (i = 0; i < EVENTS; i++)
			close(fd[i]);
	}
	rate("100000\n");
	put(percent_fd, "0\n");
	printf("%lu %lu\n", stops, moves);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * turns ROUNDS TAG GROUP...: pairs of tasks that wake each other by pipes, on one CPU
 *
 * Of each two groups the first has a task that stores to some lines, which are read from memory
 * then, in each of its turns, the second one that stores to one; the turn is over when the other is
 * woken. So what a CPU's counter has counted is of one alone, until the task is switched. As much
 * is written back as is read, from when the memory is first touched: what is written back has a
 * price for each line that is read, which is some windows late. Tasks have numbers in the ledger
 * from TAG on. Each prints a line at its end:
 *
 *	its number, the bytes that memio says it has read meanwhile and since it is in the group,
 *	how often it was switched
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "membw.h"

#define LINES	256			/* in a turn of one who reads */
#define BYTES	(4 << 20)		/* more than there is of caches */
#define FEW	(64 << 10)		/* others push it out in the meantime */

static void enter(const char *group)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1)
		die("%s: %m", path);
	close(fd);
}

/* All wait until nobody has the writing end any more. */
static void wait_for(int fd)
{
	char c;

	if (read(fd, &c, 1))
		die("there is nothing to be read");
}

static void play(unsigned int rounds, unsigned int tag, int in, int out, bool first, int begin)
{
	volatile char *buf;
	const size_t bytes = first ? BYTES : FEW;
	size_t at = 0, n;
	u64 entered[2], from[2], to[2];
	struct rusage use;
	unsigned int i, j;
	char c = 0;

	alarm(600);
	membw(entered);
	buf = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buf == MAP_FAILED)
		die("no memory: %m");
	ledger_open();
	wait_for(begin);
	n = first ? LINES : 1;
	membw(from);
	ledger_tag(tag);
	for (i = 0; i < rounds; i++) {
		if ((i || !first) && read(in, &c, 1) != 1)
			die("the other is gone");
		for (j = 0; j < n; j++, at = (at + 64) % bytes)
			buf[at] = 1;
		if (write(out, &c, 1) != 1)
			die("the other is gone: %m");
	}
	ledger_tag(0);
	membw(to);
	if (getrusage(RUSAGE_SELF, &use))
		die("getrusage: %m");
	printf("%u %lu %lu %ld\n", tag, to[0] - from[0], to[0] - entered[0],
	       use.ru_nvcsw + use.ru_nivcsw);
}

int main(int argc, char **argv)
{
	int pipes[2][2], begin[2], i, status;
	unsigned int rounds, tag;
	cpu_set_t set;

	if (argc < 5 || argc % 2 == 0)
		die("usage: turns ROUNDS TAG GROUP...");
	rounds = strtoul(argv[1], NULL, 10);
	tag = strtoul(argv[2], NULL, 10);
	CPU_ZERO(&set);
	CPU_SET(1, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || pipe(begin))
		die("setup: %m");
	for (i = 3; i < argc; i++) {
		bool first = i % 2;

		if (first && (pipe(pipes[0]) || pipe(pipes[1])))
			die("pipe: %m");
		if (!fork()) {
			close(begin[1]);
			enter(argv[i]);
			play(rounds, tag + i - 3, pipes[first][0], pipes[!first][1], first,
			     begin[0]);
			return 0;
		}
	}
	/* They have mapped their memory by then, or begin a little later. */
	sleep(1);
	close(begin[1]);
	while (wait(&status) > 0)
		failed |= status;
	return !!failed;
}

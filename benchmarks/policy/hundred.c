// SPDX-License-Identifier: GPL-2.0
/*
 * hundred GROUP DISK RUNS: how long it takes to freeze, thaw and kill 100 tasks of a group that is
 * stopped by its limit
 *
 * GROUP is a cgroup that is there, with the controller memio and nothing in it. Each run
 * makes it owe 8 MiB at 1000 bytes a second, by one that reads DISK, while the others run
 * without end in user mode; and prints, in ms of CLOCK_MONOTONIC, from the write to cgroup.freeze,
 * or cgroup.kill, until cgroup.events says that it is so; and how much processor time all
 * of them had in the 200 ms before, in us:
 *
 *	FREEZE THAW KILL USED
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TASKS	100
#define OWED	(8 << 20)

static const char *group;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void put(const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	close(fd);
}

/* The number behind a word in one of the group's files */
static long long get(const char *name, const char *word)
{
	char path[256], text[1024], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		err(1, "%s", path);
	close(fd);
	text[n] = '\0';
	at = strstr(text, word);
	return at ? atoll(at + strlen(word)) : -1;
}

/* Writes, and waits until cgroup.events says so; in ms */
static double until(const char *name, const char *text, const char *word, long long value)
{
	double begun = now_ms();

	for (put(name, text); get("cgroup.events", word) != value;)
		;
	return now_ms() - begun;
}

static void child(const char *disk)
{
	static char buffer[1 << 20] __attribute__((aligned(4096)));
	int fd;

	put("cgroup.procs", "0");
	if (disk) {
		fd = open(disk, O_RDONLY | O_DIRECT);
		for (int i = 0; i < OWED; i += sizeof(buffer))
			if (fd < 0 || pread(fd, buffer, sizeof(buffer), i) < 0)
				err(1, "%s", disk);
	}
	for (;;)
		;
}

int main(int argc, char **argv)
{
	double freeze, thaw, kill;
	long long before, used;

	if (argc != 4)
		errx(2, "hundred GROUP DISK RUNS");
	group = argv[1];
	for (int run = 0; run < atoi(argv[3]); run++) {
		put("memio.limit", "io bps=1000");
		before = get("memio.events", "throttled ");
		for (int i = 0; i < TASKS; i++)
			if (!fork())
				child(i ? NULL : argv[2]);
		/* Until all are in it, and stopped */
		while (get("memio.events", "throttled ") == before ||
		       get("pids.current", "") != TASKS)
			usleep(10000);
		usleep(500000);
		before = get("cpu.stat", "usage_usec ");
		usleep(200000);
		used = get("cpu.stat", "usage_usec ") - before;
		freeze = until("cgroup.freeze", "1", "frozen ", 1);
		thaw = until("cgroup.freeze", "0", "frozen ", 0);
		kill = until("cgroup.kill", "1", "populated ", 0);
		printf("%.2f %.2f %.2f %lld\n", freeze, thaw, kill, used);
		fflush(stdout);
		while (wait(NULL) > 0)
			;
		put("memio.limit", "io bps=max");
	}
	return 0;
}

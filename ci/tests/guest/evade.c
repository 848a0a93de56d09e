// SPDX-License-Identifier: GPL-2.0
/*
 * evade KIND TAG GROUP: reads memory in a group, and tries to get more than its limit, until
 * it is killed
 *
 *	naps	sleeps for 50 us each 16 KiB
 *	forks	a process each 32 KiB, which begins anew
 *	threads	16 of them, each of which yields each 16 KiB
 *	classes	somebody else makes it SCHED_OTHER, BATCH, IDLE, each 200 us
 *	groups	somebody else moves it to GROUP/b and back to GROUP/a, each ms
 *	cpus	somebody else moves it to CPU 1 and back, each ms, as it does itself, each 256 KiB
 *	rt	256 KiB each 3 ms, with a real-time policy
 *
 * When BEGUN bytes were read it makes /tmp/evading: from then on there is something to be seen.
 *
 * "Somebody else" is in the group that this was started in. TAG is who reads in the machine's
 * ledger; it is in GROUP/a. The buffer is larger than the cache, so each line is read from memory.
 */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t u64;
#define die(...) err(1, __VA_ARGS__)
#include "ledger.h"

#define BUFFER	(8ul << 20)
#define BEGUN	(1ul << 20)
#define LINE	64ul
#define THREADS	16
#define US	1000ul

static volatile char *buf;
static u64 *next;	/* byte to be read, of all processes */
static int tag;
static char group[2][256];

static void eat(u64 bytes)
{
	u64 at = __atomic_fetch_add(next, bytes, __ATOMIC_RELAXED) % BUFFER;

	for (u64 end = at + bytes; at < end; at += LINE)
		(void)buf[at % BUFFER];
}

static void nap(u64 ns)
{
	struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

static void join(pid_t pid, int which)
{
	FILE *f = fopen(group[which], "w");

	if (!f || fprintf(f, "%d", pid) < 0 || fclose(f))
		err(1, "%s", group[which]);
}

static void run_on(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(pid, sizeof(set), &set))
		err(1, "CPU %d", cpu);
}

/* ---- who is in the group ---- */

static void stream(void)
{
	for (;;)
		eat(4096);
}

static void naps(void)
{
	for (;; nap(50 * US))
		eat(16384);
}

/* An address space that is gone should leave no tag to the next one at its place. */
static void forks(void)
{
	pid_t pid;

	for (;;) {
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			ledger_tag(tag);
			eat(32768);
			ledger_tag(0);
			_exit(0);
		}
		if (waitpid(pid, NULL, 0) != pid)
			err(1, "waitpid");
	}
}

static void *yielding(void *unused)
{
	(void)unused;
	for (;; sched_yield())
		eat(16384);
	return NULL;
}

static void threads(void)
{
	pthread_t thread;

	for (int i = 1; i < THREADS; i++)
		if (pthread_create(&thread, NULL, yielding, NULL))
			err(1, "pthread_create");
	yielding(NULL);
}

static void migrates(void)
{
	for (int i = 0;; i++) {
		run_on(0, i % 2);
		eat(262144);
	}
}

static void rt(void)
{
	const struct sched_param one = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &one))
		err(1, "SCHED_FIFO");
	for (;; nap(3000 * US))
		eat(262144);
}

/* ---- who is not ---- */

static void nobody(pid_t pid)
{
	waitpid(pid, NULL, 0);
	exit(1);
}

static void to_classes(pid_t pid)
{
	static const int policy[] = { SCHED_BATCH, SCHED_IDLE, SCHED_OTHER };
	const struct sched_param none = {};

	for (int i = 0;; i++, nap(200 * US))
		if (sched_setscheduler(pid, policy[i % 3], &none))
			err(1, "policy %d", policy[i % 3]);
}

static void to_groups(pid_t pid)
{
	for (int i = 1;; i++, nap(1000 * US))
		join(pid, i % 2);
}

static void to_cpus(pid_t pid)
{
	for (int i = 1;; i++, nap(1000 * US))
		run_on(pid, i % 2);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		void (*help)(pid_t pid);
	} kinds[] = {
		{ "naps", naps, nobody }, { "forks", forks, nobody },
		{ "threads", threads, nobody },
		{ "classes", stream, to_classes }, { "groups", stream, to_groups },
		{ "cpus", migrates, to_cpus }, { "rt", rt, nobody },
	};
	pid_t pid;

	if (argc != 4)
		errx(2, "usage: evade KIND TAG GROUP");
	tag = atoi(argv[2]);
	for (int i = 0; i < 2; i++)
		snprintf(group[i], sizeof(group[i]), "%s/%c/cgroup.procs", argv[3], 'a' + i);
	/* Shared: a fork copies none of it. */
	buf = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	next = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED || next == MAP_FAILED)
		err(1, "mmap");
	ledger_open();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			join(getpid(), 0);
			ledger_tag(tag);
			kinds[i].run();
		}
		for (; __atomic_load_n(next, __ATOMIC_RELAXED) < BEGUN; nap(1000 * US))
			if (waitpid(pid, NULL, WNOHANG))
				errx(1, "%s: it has ended", argv[1]);
		if (!fopen("/tmp/evading", "w"))
			err(1, "/tmp/evading");
		kinds[i].help(pid);
	}
	errx(2, "%s: no such kind", argv[1]);
}

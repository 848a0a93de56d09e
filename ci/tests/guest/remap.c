// SPDX-License-Identifier: GPL-2.0
/*
 * remap READ MOVE ROUNDS: one CPU reads a device's registers all the time,
 * while another takes a second device out of the memory map and puts it back,
 * ROUNDS times.
 *
 *	READ	a PCI device in sysfs whose resource0 is memory
 *	MOVE	one without a driver
 *
 * Says "READS reads, WRONG wrong": the register at offset 8 (status, of an
 * e1000e) is to read the same all the time.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND		4		/* offset in the configuration space */
#define COMMAND_MEMORY	2
#define STATUS		2		/* index of the register */

static int open_file(const char *dir, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_SYNC);
	if (fd < 0)
		err(2, "%s", path);
	return fd;
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(2, "CPU %d", cpu);
}

static void command(int config, uint16_t value)
{
	if (pwrite(config, &value, sizeof(value), COMMAND) != sizeof(value))
		err(2, "the command register");
}

int main(int argc, char **argv)
{
	struct {
		_Atomic int stop;
		unsigned long reads, wrong;
	} *shared;
	volatile uint32_t *regs;
	uint16_t value;
	int config;
	pid_t pid;
	long i;

	if (argc != 4)
		errx(2, "usage: remap READ MOVE ROUNDS");
	regs = mmap(NULL, 4096, PROT_READ, MAP_SHARED, open_file(argv[1], "resource0"), 0);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	config = open_file(argv[2], "config");
	if (regs == MAP_FAILED || shared == MAP_FAILED ||
	    pread(config, &value, sizeof(value), COMMAND) != sizeof(value))
		err(2, "a device");

	pid = fork();
	if (pid < 0)
		err(2, "fork");
	if (!pid) {
		uint32_t status = regs[STATUS];

		run_on(1);
		for (; !shared->stop; shared->reads++)
			shared->wrong += regs[STATUS] != status;
		return 0;
	}

	run_on(0);
	for (i = atol(argv[3]); i > 0; i--) {
		command(config, value & ~COMMAND_MEMORY);
		command(config, value | COMMAND_MEMORY);
	}
	shared->stop = 1;
	if (waitpid(pid, NULL, 0) != pid)
		err(2, "wait");
	printf("%lu reads, %lu wrong\n", shared->reads, shared->wrong);
	return 0;
}

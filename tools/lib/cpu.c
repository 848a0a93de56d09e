// SPDX-License-Identifier: GPL-2.0
/*
 * What measuring on one CPU takes, see cpu.h
 */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"

#define CPUS_MOST	(1 << 20)	/* a kernel that has more is none */

bool cpus_allowed(int thread, struct cpus *cpus)
{
	/* The kernel takes no less room than it may have CPUs. */
	for (cpus->most = CPU_SETSIZE; cpus->most <= CPUS_MOST; cpus->most *= 2) {
		const size_t bytes = CPU_ALLOC_SIZE(cpus->most);

		cpus->set = CPU_ALLOC(cpus->most);
		if (!cpus->set)
			return false;
		CPU_ZERO_S(bytes, cpus->set);
		if (!sched_getaffinity(thread, bytes, cpus->set))
			return true;
		CPU_FREE(cpus->set);
		if (errno != EINVAL)
			break;
	}
	cpus->set = NULL;
	return false;
}

bool cpus_has(const struct cpus *cpus, int cpu)
{
	return cpu >= 0 && cpu < cpus->most &&
	       CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(cpus->most), cpus->set);
}

void cpus_free(struct cpus *cpus)
{
	CPU_FREE(cpus->set);
	cpus->set = NULL;
}

bool pin_to_cpus(const int *cpu, unsigned int n)
{
	int most = 0;
	cpu_set_t *set;
	unsigned int i;
	size_t bytes;
	bool good;

	for (i = 0; i < n; i++) {
		if (cpu[i] < 0) {
			errno = EINVAL;
			return false;
		}
		most = cpu[i] > most ? cpu[i] : most;
	}
	bytes = CPU_ALLOC_SIZE(most + 1);
	set = CPU_ALLOC(most + 1);
	if (!set)
		return false;
	CPU_ZERO_S(bytes, set);
	for (i = 0; i < n; i++)
		CPU_SET_S(cpu[i], bytes, set);
	good = !sched_setaffinity(0, bytes, set);
	CPU_FREE(set);
	return good;
}

bool pin_to_cpu(int cpu)
{
	return pin_to_cpus(&cpu, 1);
}

bool on_cpu(int cpu)
{
	return sched_getcpu() == cpu;
}

int perf_open(struct perf_event_attr *attr, int pid, int cpu, int group)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

double now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

double thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

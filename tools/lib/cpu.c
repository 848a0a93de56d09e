// SPDX-License-Identifier: GPL-2.0
/*
 * What measuring on one CPU takes, see cpu.h
 */
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"

bool pin_to_cpu(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return !sched_setaffinity(0, sizeof(one), &one);
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

/* SPDX-License-Identifier: GPL-2.0 */
/* What measuring on one CPU takes */
#ifndef MEMIO_CPU_H
#define MEMIO_CPU_H

#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>

#include "clock.h"

/* CPUs, however many the kernel may have: below @most */
struct cpus {
	cpu_set_t *set;
	int most;
};

/*
 * cpus_allowed: those that a thread (0: this one) may run on, now; false, with errno, if it
 * can't be told
 */
bool cpus_allowed(int thread, struct cpus *cpus);
bool cpus_has(const struct cpus *cpus, int cpu);
void cpus_free(struct cpus *cpus);
/* pin_to_cpus: this thread, to any of @n; false, with errno, if it can't be done */
bool pin_to_cpus(const int *cpu, unsigned int n);
/* pin_to_cpu: this thread; whether it could be done */
bool pin_to_cpu(int cpu);
/* on_cpu: is this thread there? A cpuset, or a CPU that goes offline, takes what was pinned. */
bool on_cpu(int cpu);
/* perf_open: perf_event_open(2), which the C library has not */
int perf_open(struct perf_event_attr *attr, int pid, int cpu, int group);
/* now_ns: of a clock that only goes forward */
double now_ns(void);
/* thread_ns: for which this thread was running */
double thread_ns(void);

#endif /* MEMIO_CPU_H */

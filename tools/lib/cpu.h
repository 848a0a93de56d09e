/* SPDX-License-Identifier: GPL-2.0 */
/* What measuring on one CPU takes */
#ifndef MEMIO_CPU_H
#define MEMIO_CPU_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "clock.h"

/* pin_to_cpu: this thread; whether it could be done */
bool pin_to_cpu(int cpu);
/* perf_open: perf_event_open(2), which the C library has not */
int perf_open(struct perf_event_attr *attr, int pid, int cpu, int group);
/* now_ns: of a clock that only goes forward */
double now_ns(void);
/* thread_ns: for which this thread was running */
double thread_ns(void);

#endif /* MEMIO_CPU_H */

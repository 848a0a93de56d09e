/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libmemio, inside: counters of the lines that each CPU reads from memory, by perf, for a kernel
 * that has no memio
 */
#ifndef MEMIO_MISSES_H
#define MEMIO_MISSES_H

#include <stddef.h>

/*
 * mio_misses_cpu: such a counter of that CPU, which does not count yet; or an error: -ENODEV,
 * -ENXIO if the CPU is not online, or there are none at all
 */
int mio_misses_cpu(int cpu);
/*
 * mio_misses_open: of each CPU that is online: @fd has one for each of @cpus, or -1. How many
 * there are; 0: not all CPUs can have one, and @why says so
 */
int mio_misses_open(int *fd, int cpus, const char *cpuinfo, char *why, size_t size);
/* mio_misses_begin: they count. mio_misses_close: of all */
void mio_misses_begin(const int *fd, int cpus);
void mio_misses_close(int *fd, int cpus);

#endif /* MEMIO_MISSES_H */

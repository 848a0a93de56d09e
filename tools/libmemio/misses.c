// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio, inside: counters of the lines that each CPU reads from memory, for a kernel that has no
 * memio
 *
 * It is the event that the kernel part counts, too (cgroup/kernel/memio/cpu.c): on Intel's
 * processors perf's cache-misses are lines that missed the last level cache. Elsewhere they are
 * something else. The event shares its counter with other programs' events, as perf does it.
 *
 * What is not counted is not to look like nothing: if one CPU that is online has no counter, none
 * is used. On hybrid processors, efficient cores have a PMU of their own.
 */
#ifdef MEMIO_BPF

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"
#include "misses.h"

static int open_event(int cpu, uint64_t type)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CACHE_MISSES | type << PERF_PMU_TYPE_SHIFT, .disabled = 1,
	};
	const int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A large machine takes more files than a process has by default. False: there are no more */
static bool more_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= r.rlim_max)
		return false;
	r.rlim_cur = r.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &r);
}

/* The number of the efficient cores' PMU; 0: there is none */
static unsigned int atom_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/cpu_atom/type", "re");
	unsigned int type = 0;

	if (f) {
		if (fscanf(f, "%u", &type) != 1)
			type = 0;
		fclose(f);
	}
	return type;
}

int mio_misses_cpu(int cpu)
{
	unsigned int type;
	int fd = open_event(cpu, 0);

	if (fd == -EMFILE && more_files())
		fd = open_event(cpu, 0);
	if (fd == -ENOENT) {
		type = atom_type();
		if (type)
			fd = open_event(cpu, type);
	}
	return fd;
}

int mio_misses_open(int *fd, int cpus, const char *cpuinfo, char *why, size_t size)
{
	int cpu, n = 0, err = -ENODEV, got;

	for (cpu = 0; cpu < cpus; cpu++)
		fd[cpu] = -1;
	if (!cpuinfo || !strstr(cpuinfo, "GenuineIntel")) {
		snprintf(why, size, "what CPUs read is counted on Intel's processors alone");
		return 0;
	}
	for (cpu = 0; cpu < cpus; cpu++) {
		got = mio_misses_cpu(cpu);
		if (got >= 0) {
			fd[cpu] = got;
			n++;
		} else if (got != -ENODEV && got != -ENXIO) {
			err = got;
			mio_misses_close(fd, cpus);
			n = 0;
			break;
		}
	}
	if (!n)
		snprintf(why, size, "what CPUs read is not counted: there is no counter of cache misses%s: %s",
			 err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV ?
			 ", as in many virtual machines" : "", strerror(-err));
	return n;
}

void mio_misses_begin(const int *fd, int cpus)
{
	int cpu;

	for (cpu = 0; fd && cpu < cpus; cpu++)
		if (fd[cpu] >= 0)
			ioctl(fd[cpu], PERF_EVENT_IOC_ENABLE, 0);
}

void mio_misses_close(int *fd, int cpus)
{
	int cpu;

	for (cpu = 0; fd && cpu < cpus; cpu++) {
		if (fd[cpu] >= 0)
			close(fd[cpu]);
		fd[cpu] = -1;
	}
}

#else

/* An empty file is none in C. */
typedef int mio_misses_are_with_bpf;

#endif

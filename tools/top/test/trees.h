/* SPDX-License-Identifier: GPL-2.0 */
/* Trees of proc/ and sys/ that tests of memio top make, each below the directory @place */
#ifndef MEMIO_TOP_TEST_TREES_H
#define MEMIO_TOP_TEST_TREES_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../libmemio/test/tree.h"

static const char *place;

static const char *root_of(const char *name)
{
	static char root[4096];

	snprintf(root, sizeof(root), "%s/%s", place, name);
	return root;
}

static void put_file(const char *tree, const char *file, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void put_file(const char *tree, const char *file, const char *format, ...)
{
	char path[8192];
	va_list args;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root_of(tree), file);
	tree_above(path);
	f = fopen(path, "w");
	if (!f)
		abort();
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

#define CG "sys/fs/cgroup"

/* A group that has moved @bytes from a disk, and the CPUs as many */
static void put_group(const char *tree, const char *group, unsigned long long bytes)
{
	char file[4096];

	char procs[8192];

	/* Its tasks stay. */
	snprintf(procs, sizeof(procs), "%s/" CG "%.2000s/cgroup.procs", root_of(tree), group);
	snprintf(file, sizeof(file), CG "%s/cgroup.procs", group);
	if (access(procs, F_OK))
		put_file(tree, file, "%s", "");
	snprintf(file, sizeof(file), CG "%s/memio.stat", group);
	put_file(tree, file,
		 "0000:00:03.0 io_to=0 io_from=%llu mem_read=0 mem_write=%llu unpriced=0\n"
		 "cpu mem_read=%llu mem_write=0 valid=1\n"
		 "total io_to=0 io_from=%llu mem_read=%llu mem_write=%llu unpriced=0\n",
		 bytes, bytes, bytes, bytes, bytes, bytes);
	snprintf(file, sizeof(file), CG "%s/memio.events", group);
	put_file(tree, file, "throttled 0\nthrottled_usec 0\n");
}

static void put_task(const char *tree, int pid, const char *comm, unsigned long long start,
		     unsigned long long bytes)
{
	char file[64];

	snprintf(file, sizeof(file), "proc/%d/stat", pid);
	put_file(tree, file,
		 "%d (%s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		 pid, comm, start);
	snprintf(file, sizeof(file), "proc/%d/status", pid);
	put_file(tree, file, "Name:\tx\nUid:\t0\t0\t0\t0\nMemioStopped:\t0\n");
	snprintf(file, sizeof(file), "proc/%d/membw", pid);
	put_file(tree, file,
		 "source hsx\nestimator device\nvalid 1\nwindow_us 1\nupdated_ns 1\n\n"
		 "0000:00:03.0 io_to=%llu io_from=0 mem_read=%llu mem_write=0\n"
		 "total io_to=%llu io_from=0 mem_read=%llu mem_write=0\n",
		 bytes, bytes, bytes, bytes);
}

static void put_machine(const char *tree)
{
	put_file(tree, "proc/self/mountinfo",
		 "30 21 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n");
	put_file(tree, CG "/cgroup.controllers", "memio\n");
	put_file(tree, CG "/cgroup.subtree_control", "memio\n");
	put_file(tree, "sys/kernel/memio/enabled", "1\n");
	put_file(tree, "sys/kernel/memio/source", "hsx\n");
	put_file(tree, "sys/kernel/memio/valid", "1\n");
	put_task(tree, 1, "init", 1, 0);
	put_group(tree, "", 0);
}

#endif /* MEMIO_TOP_TEST_TREES_H */

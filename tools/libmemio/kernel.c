// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: the backend for a kernel that has memio: its files
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static bool kernel_here(struct memio *m)
{
	char path[MIO_PATH_MOST];

	return mio_root_path(m, path, "sys/kernel/memio") && !access(path, F_OK);
}

static int kernel_group_stat(struct memio *m, const char *path, enum memio_scope scope,
			     struct memio_stat *s)
{
	const ssize_t n = mio_group_read(m, path, scope == MEMIO_LOCAL ? "memio.stat.local" :
					 "memio.stat");

	if (n < 0)
		return n;
	return memio_stat_parse(s, m->text, n);
}

static int kernel_group_events(struct memio *m, const char *path, enum memio_scope scope,
			       struct memio_flat *f)
{
	const ssize_t n = mio_group_read(m, path, scope == MEMIO_LOCAL ? "memio.events.local" :
					 "memio.events");

	return n < 0 ? n : memio_flat_parse(f, m->text, n);
}

static int kernel_group_state(struct memio *m, const char *path, struct memio_flat *f)
{
	const ssize_t n = mio_group_read(m, path, "memio.state");

	return n < 0 ? n : memio_flat_parse(f, m->text, n);
}

static int kernel_group_limits(struct memio *m, const char *path, struct memio_limits *l)
{
	const ssize_t n = mio_group_read(m, path, "memio.limit");

	return n < 0 ? n : memio_limits_parse(l, m->text, n);
}

static int kernel_task_membw(struct memio *m, pid_t pid, pid_t tid, struct memio_membw *b)
{
	char path[MIO_PATH_MOST];
	const bool good = mio_task_path(m, path, pid, tid, "membw");
	const ssize_t n = good ? mio_read(m, path) : -ENAMETOOLONG;

	if (n >= 0)
		return memio_membw_parse(b, m->text, n);
	/* It says so of a task that is gone, too. */
	if (n == -ENOENT) {
		mio_root_path(m, path, "proc/%d", pid);
		if (access(path, F_OK))
			return mio_fail(m, -ESRCH, "process %d is gone", pid);
		return mio_fail(m, -ENOENT, "/proc/%d/membw is not there: this kernel has no memio, or the thread is gone",
				pid);
	}
	if (n == -EACCES || n == -EPERM)
		return mio_fail(m, -EACCES, "/proc/%d/membw: the figures of others' processes are for root, or who may trace them",
				pid);
	return mio_fail(m, n, "/proc/%d/membw: %s", pid, strerror(-n));
}

static int kernel_device_names(struct memio *m, void (*each)(const char *name, void *arg),
			       void *arg)
{
	struct memio_stat s = { 0 };
	int err = kernel_group_stat(m, "/", MEMIO_TREE, &s);
	size_t i;

	for (i = 0; !err && i < s.n; i++)
		if (memio_is_device(&s.line[i]))
			each(s.line[i].key, arg);
	memio_stat_free(&s);
	return err;
}

const struct mio_backend mio_kernel = {
	.name = "kernel",
	.here = kernel_here,
	.group_stat = kernel_group_stat,
	.task_membw = kernel_task_membw,
	.device_names = kernel_device_names,
	.group_events = kernel_group_events,
	.group_state = kernel_group_state,
	.group_limits = kernel_group_limits,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * memio top: samples by libmemio, see source.h
 */
#include <unistd.h>

#include "source.h"

static const struct memio_capability *live_capabilities(void *m, size_t *n)
{
	return memio_capabilities(m, n);
}

static const char *live_backend(void *m)
{
	return memio_backend(m);
}

/* A process's own is readable by any user; a recording has the first process. */
static int live_words(void *m, struct memio_membw *b)
{
	return memio_task_membw(m, *memio_root(m) ? 1 : getpid(), 0, b);
}

static int live_groups(void *m, const char *path,
		       int (*each)(const struct memio_group *group, void *arg), void *arg)
{
	return memio_groups(m, path, each, arg);
}

static int live_group_stat(void *m, const char *path, struct memio_stat *s)
{
	return memio_group_stat(m, path, MEMIO_TREE, s);
}

static int live_group_events(void *m, const char *path, enum memio_scope scope,
			     struct memio_flat *f)
{
	return memio_group_events(m, path, scope, f);
}

static int live_group_limits(void *m, const char *path, struct memio_limits *l)
{
	return memio_group_limits(m, path, l);
}

static int live_group_value(void *m, const char *path, enum memio_value which, uint64_t *value)
{
	return memio_group_value(m, path, which, value);
}

static int live_group_state(void *m, const char *path, struct memio_flat *f)
{
	return memio_group_state(m, path, f);
}

static int live_group_tasks(void *m, const char *path, int (*each)(pid_t pid, void *arg),
			    void *arg)
{
	return memio_group_tasks(m, path, false, each, arg);
}

static int live_task_info(void *m, pid_t pid, struct memio_task *task)
{
	return memio_task_info(m, pid, 0, false, task);
}

static int live_task_membw(void *m, pid_t pid, struct memio_membw *b)
{
	return memio_task_membw(m, pid, 0, b);
}

static const char *live_device_alias(void *m, const char *name)
{
	return memio_device_alias(m, name);
}

static const char *live_root(void *m)
{
	return memio_root(m);
}

static const char *live_mount(void *m)
{
	return memio_mount(m);
}

static const char *live_error(void *m)
{
	return memio_error(m);
}

struct source source_live(struct memio *m)
{
	static const struct source_ops ops = {
		.capabilities	= live_capabilities,
		.backend	= live_backend,
		.words		= live_words,
		.groups		= live_groups,
		.group_stat	= live_group_stat,
		.group_events	= live_group_events,
		.group_limits	= live_group_limits,
		.group_value	= live_group_value,
		.group_state	= live_group_state,
		.group_tasks	= live_group_tasks,
		.task_info	= live_task_info,
		.task_membw	= live_task_membw,
		.device_alias	= live_device_alias,
		.root		= live_root,
		.mount		= live_mount,
		.error		= live_error,
	};

	return (struct source) { &ops, m };
}

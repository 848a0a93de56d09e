// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: tasks
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static ssize_t read_file(struct memio *m, pid_t pid, pid_t tid, const char *file)
{
	char path[MIO_PATH_MOST];
	const bool good = mio_task_path(m, path, pid, tid, file);
	const ssize_t n = good ? mio_read(m, path) : -ENAMETOOLONG;

	if (n == -ENOENT || n == -ESRCH)
		return mio_fail(m, -ESRCH, "task %d is gone", tid ? tid : pid);
	if (n < 0)
		return mio_fail(m, n, "/proc/%d/%s: %s", pid, file, strerror(-n));
	return n;
}

/*
 * "12 (a name) with) S 1 ...": the name may hold anything. Then the state is field 3, the
 * beginning field 22, and the policy field 41.
 */
static int read_stat(struct memio *m, struct memio_task *task)
{
	char *open = strchr(m->text, '('), *close = strrchr(m->text, ')'), *at, *rest;
	size_t n, i;
	int field;

	if (!open || !close || close < open)
		return mio_fail(m, -EINVAL, "/proc/%d/stat is none", task->pid);
	n = close - open - 1;
	if (n >= sizeof(task->comm))
		n = sizeof(task->comm) - 1;
	for (i = 0; i < n; i++) {
		const unsigned char c = open[1 + i];

		task->comm[i] = c < ' ' || c == 0x7f ? '?' : c;
	}
	task->comm[n] = '\0';
	at = strtok_r(close + 1, "\n ", &rest);
	for (field = 3; at; field++, at = strtok_r(NULL, "\n ", &rest)) {
		if (field == 3)
			task->state = *at;
		else if (field == 22)
			task->start = strtoull(at, NULL, 10);
		else if (field == 41)
			task->policy = strtol(at, NULL, 10);
	}
	return field > 22 ? 0 : mio_fail(m, -EINVAL, "/proc/%d/stat is none", task->pid);
}

/* The number behind a key at the beginning of a line */
static unsigned long status_of(const char *text, const char *key)
{
	const size_t n = strlen(key);
	const char *at = text;

	do {
		if (*at == '\n')
			at++;
		if (!strncmp(at, key, n))
			return strtoul(at + n, NULL, 10);
	} while ((at = strchr(at, '\n')));
	return 0;
}

static void read_group(struct memio *m, struct memio_task *task)
{
	const size_t above = m->mount_root ? strlen(m->mount_root) : 0;
	char *line = strncmp(m->text, "0::", 3) ? strstr(m->text, "\n0::") : m->text, *end;

	if (!line || !above)
		return;
	line += *line == '\n' ? 4 : 3;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	/* A container's mount begins further down. */
	if (above > 1) {
		if (strncmp(line, m->mount_root, above) || (line[above] && line[above] != '/'))
			return;
		line += above;
	}
	if (strlen(line) < sizeof(task->group) && !strstr(line, "/.."))
		stpcpy(task->group, *line ? line : "/");
}

int memio_task_info(struct memio *m, pid_t pid, pid_t tid, bool with_group,
		    struct memio_task *task)
{
	ssize_t n = read_file(m, pid, tid, "stat");

	task->pid = pid;
	task->tid = tid;
	task->start = 0;
	task->uid = -1;
	task->state = '?';
	task->stopped = false;
	task->policy = 0;
	*task->comm = *task->group = '\0';
	if (n < 0)
		return n;
	n = read_stat(m, task);
	if (n)
		return n;
	n = read_file(m, pid, tid, "status");
	if (n < 0)
		return n;
	task->uid = status_of(m->text, "Uid:");
	task->stopped = status_of(m->text, "MemioStopped:");
	if (with_group) {
		n = read_file(m, pid, tid, "cgroup");
		if (n < 0)
			return n;
		read_group(m, task);
	}
	return 0;
}

int memio_task_membw(struct memio *m, pid_t pid, pid_t tid, struct memio_membw *b)
{
	int err;

	if (!m->backend)
		return mio_fail(m, -ENOTSUP, "nothing here tells of tasks' memory bandwidth: this kernel has no memio");
	err = m->backend->task_membw(m, pid, tid, b);
	b->stat.ns = mio_now();
	return err;
}

int memio_group_tasks(struct memio *m, const char *path, bool threads,
		      int (*each)(pid_t id, void *arg), void *arg)
{
	const ssize_t n = mio_group_read(m, path, threads ? "cgroup.threads" : "cgroup.procs");
	char *text, *at, *end;
	int status = 0;

	if (n < 0)
		return n;
	/* @each may read files. */
	text = strdup(m->text);
	if (!text)
		return mio_fail(m, -ENOMEM, "no memory");
	for (at = text; *at && !status; at = end + strspn(end, "\n")) {
		const long id = strtol(at, &end, 10);

		if (end == at)
			break;
		/* 0: in a namespace that this one does not see */
		if (id > 0 && id <= INT32_MAX)
			status = each(id, arg);
	}
	free(text);
	return status;
}

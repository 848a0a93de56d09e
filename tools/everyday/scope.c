// SPDX-License-Identifier: GPL-2.0
/*
 * A scope of systemd for a command, see everyday.h
 *
 * Where systemd is the first process it owns the hierarchy, so it is asked for a group: the
 * system's manager by root, the user's own manager by a user. A scope begins with processes
 * that are there already: one that waits until it may become the command, and the keeper,
 * which waits until memio is done. systemd removes a scope when its last process ends. The
 * keeper holds it until its figures are read; and if memio is killed, the keeper ends, as the
 * pipe that it reads does.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "everyday.h"

#define SYSTEMD		"org.freedesktop.systemd1"
#define PLACED_TRIES	2000		/* of 5 ms */

/* The name of the slice that @parent is: NULL with true: the default; false: it is none */
static bool slice_of(const char *parent, const char **slice)
{
	const char *last = strrchr(parent, '/');
	const size_t n = last ? strlen(last + 1) : 0;

	*slice = NULL;
	if (!strcmp(parent, "/"))
		return true;
	if (n <= 6 || strcmp(last + 1 + n - 6, ".slice"))
		return false;
	*slice = last + 1;
	return true;
}

bool scope_wanted(struct memio *m, const char *parent)
{
	const char *slice;

	return !*memio_root(m) && sd_booted() > 0 && slice_of(parent, &slice);
}

/* ---- the two processes ---- */

static __attribute__((noreturn)) void keep(int end)
{
	char c;
	int fd;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* Nobody is to wait for the end of an output, or of a pipe, that it has inherited. */
	for (fd = 0; fd < 1024; fd++)
		if (fd != end)
			close(fd);
	while (read(end, &c, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

static __attribute__((noreturn)) void become(int go, int failed, char **argv)
{
	char c;
	int err;

	if (read(go, &c, 1) != 1)
		_exit(125);
	execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(125);
	_exit(127);
}

static bool make_processes(struct own_group *g, char **argv)
{
	int keeper[2], go[2], failed[2];

	if (pipe2(keeper, O_CLOEXEC) || pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		complain_errno("no pipe");
		return false;
	}
	g->keeper = fork();
	if (!g->keeper)
		keep(keeper[0]);
	close(keeper[0]);
	g->guard = keeper[1];
	g->pid = fork();
	if (!g->pid) {
		close(keeper[1]);
		close(go[1]);
		become(go[0], failed[1], argv);
	}
	close(go[0]);
	close(failed[1]);
	g->go = go[1];
	g->failed = failed[0];
	if (g->keeper > 0 && g->pid > 0)
		return true;
	complain_errno("no process");
	return false;
}

/* ---- the manager ---- */

static int ask(sd_bus *bus, const char *unit, const char *slice, const struct own_group *g,
	       sd_bus_error *error)
{
	sd_bus_message *q = NULL;
	int r;

	r = sd_bus_message_new_method_call(bus, &q, SYSTEMD, "/org/freedesktop/systemd1",
					   SYSTEMD ".Manager", "StartTransientUnit");
	if (r >= 0)
		r = sd_bus_message_append(q, "ss", unit, "fail");
	if (r >= 0)
		r = sd_bus_message_open_container(q, 'a', "(sv)");
	if (r >= 0)
		r = sd_bus_message_append(q, "(sv)", "Description", "s", "A command of memio run");
	if (r >= 0)
		r = sd_bus_message_append(q, "(sv)", "PIDs", "au", 2, (uint32_t)g->keeper,
					  (uint32_t)g->pid);
	if (r >= 0 && slice)
		r = sd_bus_message_append(q, "(sv)", "Slice", "s", slice);
	if (r >= 0)
		r = sd_bus_message_append(q, "(sv)", "CollectMode", "s", "inactive-or-failed");
	if (r >= 0)
		r = sd_bus_message_close_container(q);
	if (r >= 0)
		r = sd_bus_message_append(q, "a(sa(sv))", 0);
	if (r >= 0)
		r = sd_bus_call(bus, q, 0, error, NULL);
	sd_bus_message_unref(q);
	return r;
}

/* The scope's path, once systemd has put both processes there; NULL: it has not */
static char *placed(struct memio *m, const struct own_group *g, const char *unit)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	const pid_t pid[] = { g->keeper, g->pid };
	struct memio_task task;
	const char *last;
	int i, n;

	for (i = 0; i < PLACED_TRIES; i++) {
		for (n = 0; n < 2; n++) {
			if (memio_task_info(m, pid[n], 0, true, &task))
				return NULL;
			last = strrchr(task.group, '/');
			if (!last || strcmp(last + 1, unit))
				break;
		}
		if (n == 2)
			return strdup(task.group);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int scope_make(struct memio *m, const char *parent, char **argv, struct own_group *g)
{
	const bool root = !geteuid();
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus *bus = NULL;
	const char *slice;
	char unit[64];
	int r, status = STATUS_FAILED;

	*g = (struct own_group) { .guard = -1, .go = -1, .failed = -1 };
	slice_of(parent, &slice);
	r = root ? sd_bus_open_system(&bus) : sd_bus_open_user(&bus);
	if (r < 0) {
		complain("%s does not answer (%s)%s", root ? "systemd" : "this user's systemd",
			 strerror(-r), root ? "" : ". As root it needs no user's systemd");
		return STATUS_UNABLE;
	}
	snprintf(unit, sizeof(unit), "memio-%d.scope", (int)getpid());
	if (!make_processes(g, argv))
		goto out;
	r = ask(bus, unit, slice, g, &error);
	if (r < 0) {
		complain("systemd makes no scope %s: %s", unit, error.message ?: strerror(-r));
		status = r == -EACCES || r == -EPERM ? STATUS_UNABLE : STATUS_FAILED;
		goto out;
	}
	g->path = placed(m, g, unit);
	if (g->path)
		status = STATUS_OK;
	else
		complain("systemd has not put the command into the scope %s", unit);
out:
	sd_bus_error_free(&error);
	sd_bus_flush_close_unref(bus);
	return status;
}

int scope_start(struct own_group *g)
{
	int err = 0;

	if (write(g->go, "", 1) != 1)
		return -errno;
	close(g->go);
	g->go = -1;
	if (read(g->failed, &err, sizeof(err)) <= 0)
		err = 0;
	close(g->failed);
	g->failed = -1;
	return err;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void scope_cancel(struct own_group *g)
{
	close_end(&g->go);
	close_end(&g->failed);
	if (g->pid > 0)
		waitpid(g->pid, NULL, 0);
	g->pid = 0;
}

void scope_end(struct own_group *g)
{
	close_end(&g->guard);
	if (g->keeper > 0)
		waitpid(g->keeper, NULL, 0);
	g->keeper = 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A group of one's own, for a command, see everyday.h
 *
 * The group is made in cgroupfs. The command's process enters it before it becomes the command.
 * When the command has ended, processes that it left behind go to the group that memio is in, where
 * they would be without it, and the group is removed. Another process, the guard, does the same if
 * memio is killed: it waits at a pipe that closes then, until the group is empty. Where systemd has
 * the hierarchy, scope.c gets the group from it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "everyday.h"

static bool write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return good;
}

static char *file_of(struct memio *m, const char *group, const char *file)
{
	char *path;

	return asprintf(&path, "%s%s%s%s", memio_mount(m), strcmp(group, "/") ? group : "",
			*file ? "/" : "", file) < 0 ? NULL : path;
}

/* Has @group hand the controller on, unless it does. */
static int hand_on(struct memio *m, const char *group, const char *parent)
{
	int status = STATUS_OK, enables = memio_group_enables(m, group);
	char *file;

	if (enables > 0)
		return STATUS_OK;
	if (enables < 0)
		return everyday_status(m, enables, group);
	file = file_of(m, group, "cgroup.subtree_control");
	if (file && write_file(file, "+memio")) {
		complain("the controller memio is now enabled below %s; to take that back: echo -memio >%s",
			 group, file);
	} else {
		status = STATUS_UNABLE;
		if (errno == EBUSY)
			complain("processes are in %s itself, so no controller can be enabled below it; another group can be named",
				 group);
		else
			complain("the controller memio does not reach the groups below %s, and this user can't enable it (%s). As root: memio enable %s",
				 group, strerror(errno), parent);
	}
	free(file);
	return status;
}

/* "/", "/a", "/a/b": each hands it on. */
int group_enable(struct memio *m, const char *parent)
{
	char *at, *slash;
	int status;

	/* BPF programs count all groups. */
	if (!strcmp(memio_backend(m), "bpf"))
		return STATUS_OK;
	at = slash = strdup(parent);
	status = at ? hand_on(m, "/", parent) : STATUS_FAILED;

	while (status == STATUS_OK && slash && slash[1]) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		status = hand_on(m, at, parent);
		if (slash)
			*slash = '/';
	}
	free(at);
	return status;
}

static int make_scope(struct memio *m, const char *parent, char **argv, struct own_group *g)
{
	int status = scope_make(m, parent, argv, g);
	char *above;

	if (status != STATUS_OK)
		return status;
	above = strdup(g->path);
	if (!above)
		return STATUS_FAILED;
	*strrchr(above, '/') = '\0';
	status = group_enable(m, *above ? above : "/");
	free(above);
	return status;
}

int own_group_make(struct memio *m, const char *parent, char **argv, struct own_group *g)
{
	static unsigned int number;
	int status;
	char *path;

	if (scope_wanted(m, parent))
		return make_scope(m, parent, argv, g);
	*g = (struct own_group)NO_GROUP;
	status = group_enable(m, parent);
	if (status != STATUS_OK)
		return status;
	do {
		free(g->path);
		if (asprintf(&g->path, "%s/memio-%d-%u", strcmp(parent, "/") ? parent : "",
			     (int)getpid(), number++) < 0) {
			g->path = NULL;
			return STATUS_FAILED;
		}
		path = file_of(m, g->path, "");
		status = path && !mkdir(path, 0755) ? 0 : errno;
		free(path);
	} while (status == EEXIST);
	if (!status)
		return STATUS_OK;
	complain("%s: no group can be made (%s). As root, or in a group that is this user's: --parent names one",
		 g->path, strerror(status));
	free(g->path);
	g->path = NULL;
	return status == EACCES || status == EPERM || status == EROFS ? STATUS_UNABLE :
									STATUS_FAILED;
}

/* ---- it ends ---- */

static bool is_empty(struct memio *m, const char *group)
{
	char *file = file_of(m, group, "cgroup.procs"), c;
	int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
	bool empty = fd < 0 || read(fd, &c, 1) <= 0;

	if (fd >= 0)
		close(fd);
	free(file);
	return empty;
}

struct mover {
	char *to;
	pid_t keeper;
	unsigned int n, stay;
};

static int move_one(pid_t pid, void *arg)
{
	struct mover *mover = arg;
	char text[16];

	if (pid == mover->keeper)
		return 0;
	snprintf(text, sizeof(text), "%d", pid);
	if (write_file(mover->to, text))
		mover->n++;
	else
		mover->stay++;
	return 0;
}

/* The group that this process is in: what a command leaves behind goes there. */
static void home_of(struct memio *m, char *home, size_t size)
{
	struct memio_task task;

	snprintf(home, size, "/");
	if (!memio_task_info(m, getpid(), 0, true, &task) && *task.group)
		snprintf(home, size, "%s", task.group);
}

/*
 * systemd removes a scope when its last process has gone. What is left behind can stay, where this
 * user may not take it out; it is still under the scope's limits then.
 */
static void remove_scope(struct memio *m, struct own_group *g)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	char *path = g->path ? file_of(m, g->path, "") : NULL, home[4096];
	struct mover mover = { .keeper = g->keeper };
	int i;

	scope_cancel(g);
	if (path) {
		home_of(m, home, sizeof(home));
		mover.to = file_of(m, home, "cgroup.procs");
		/* What has just been killed is there for a moment. */
		nanosleep(&pause, NULL);
		memio_group_tasks(m, g->path, false, move_one, &mover);
	}
	scope_end(g);
	if (mover.n)
		complain("%u processes that the command left behind are in the group %s now",
			 mover.n, home);
	if (mover.stay)
		complain("%u processes that the command left behind stay in the group %s, with its limits",
			 mover.stay, g->path);
	for (i = 0; path && !mover.stay && i < 1000 && !access(path, F_OK); i++)
		nanosleep(&pause, NULL);
	if (path && !mover.stay && !access(path, F_OK))
		complain("the group %s is still there: systemctl stop %s", g->path,
			 strrchr(g->path, '/') + 1);
	free(mover.to);
	free(path);
}

/* @say: processes that were left behind */
static void remove_group(struct memio *m, const char *group, bool say)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	char *path = file_of(m, group, ""), home[4096];
	struct mover mover = { 0 };
	int i;

	home_of(m, home, sizeof(home));
	mover.to = file_of(m, home, "cgroup.procs");
	/* A process that has just ended is there for a moment. */
	for (i = 0; i < 1000 && path && rmdir(path) && errno == EBUSY; i++) {
		if (i >= 5 && mover.to)
			memio_group_tasks(m, group, false, move_one, &mover);
		nanosleep(&pause, NULL);
	}
	if (mover.n && say)
		complain("%u processes that the command left behind are in the group %s now",
			 mover.n, home);
	if (path && !access(path, F_OK))
		complain("the group %s is still there: rmdir %s", group, path);
	free(mover.to);
	free(path);
}

void own_group_remove(struct memio *m, struct own_group *g)
{
	if (g->keeper) {
		remove_scope(m, g);
		free(g->path);
		g->path = NULL;
		return;
	}
	if (!g->path)
		return;
	remove_group(m, g->path, true);
	/* Nothing is left to be guarded. */
	if (g->guard >= 0) {
		if (write(g->guard, "", 1) < 0)
			complain_errno("the guard");
		close(g->guard);
	}
	free(g->path);
	g->path = NULL;
}

/* A process that nobody waits for: it has no name for a shell, and no terminal. */
static void guard(struct memio *m, struct own_group *g)
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	int end[2];
	pid_t pid;
	char c;

	if (pipe2(end, O_CLOEXEC))
		return;
	pid = fork();
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		close(end[0]);
		g->guard = end[1];
		return;
	}
	if (pid < 0) {
		close(end[0]);
		close(end[1]);
		return;
	}
	setsid();
	if (fork())
		_exit(0);
	close(end[1]);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* Nobody is to wait for the end of an output that it has inherited. */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	/* Nor are the BPF programs that count to live longer than memio. */
	dup2(end[0], STDIN_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	if (read(STDIN_FILENO, &c, 1) > 0)
		_exit(0);
	while (!is_empty(m, g->path))
		nanosleep(&pause, NULL);
	remove_group(m, g->path, false);
	_exit(0);
}

/* ---- it runs ---- */

static const int passed_on[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

/* Ctrl-C and Ctrl-\ come to the command by itself, from the terminal; memio waits for its end. */
static void block(sigset_t *before)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		sigaddset(&set, passed_on[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}

int own_group_start(struct memio *m, struct own_group *g, char **argv)
{
	char *procs = g->path ? file_of(m, g->path, "cgroup.procs") : NULL;
	sigset_t before;
	int end[2], err = 0;

	if (g->path && !g->keeper)
		guard(m, g);
	block(&before);
	if (g->keeper) {
		err = scope_start(g);
		goto started;
	}
	if ((g->path && !procs) || pipe2(end, O_CLOEXEC)) {
		complain_errno("no pipe");
		free(procs);
		return STATUS_FAILED;
	}
	g->pid = fork();
	if (!g->pid) {
		bool in = !g->path || write_file(procs, "0");

		err = in ? 0 : -errno;
		if (in) {
			sigprocmask(SIG_SETMASK, &before, NULL);
			execvp(argv[0], argv);
			err = errno;
		}
		if (write(end[1], &err, sizeof(err)) < 0)
			_exit(125);
		_exit(127);
	}
	close(end[1]);
	free(procs);
	if (g->pid < 0 || read(end[0], &err, sizeof(err)) <= 0)
		err = g->pid < 0 ? -errno : 0;
	close(end[0]);
started:
	if (!err)
		return STATUS_OK;
	if (g->pid > 0)
		waitpid(g->pid, NULL, 0);
	g->pid = 0;
	if (err < 0) {
		complain("the command's process can't enter the group %s: %s", g->path,
			 strerror(-err));
		return err == -EACCES || err == -EPERM ? STATUS_UNABLE : STATUS_FAILED;
	}
	complain("%s: %s", argv[0], strerror(err));
	return err == ENOENT ? STATUS_NO_SUCH : STATUS_NOT_RUN;
}

bool own_group_wait(struct own_group *g, uint64_t ns, int *status)
{
	const struct timespec until = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	siginfo_t info;
	sigset_t set;
	size_t i;
	int is;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	for (i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		sigaddset(&set, passed_on[i]);
	if (waitpid(g->pid, &is, WNOHANG) != g->pid) {
		const int sig = sigtimedwait(&set, &info, &until);

		for (i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
			if (sig == passed_on[i])
				kill(g->pid, sig);
		/* Not of a terminal: from another process, to this one alone */
		if ((sig == SIGINT || sig == SIGQUIT) && info.si_code <= 0)
			kill(g->pid, sig);
		if (waitpid(g->pid, &is, WNOHANG) != g->pid)
			return false;
	}
	*status = WIFEXITED(is) ? WEXITSTATUS(is) : 128 + WTERMSIG(is);
	g->pid = 0;
	return true;
}

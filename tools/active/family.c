// SPDX-License-Identifier: GPL-2.0
/*
 * The command's processes, see family.h
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"
#include "family.h"
#include "interrupt.h"

#define ROUNDS	200	/* of 10 ms, until it is given up to kill somebody */

static bool read_member(const char *name, struct member *m)
{
	char path[300], text[512], state;
	const char *behind;
	ssize_t got;
	int fd;

	if (*name < '1' || *name > '9')
		return false;
	snprintf(path, sizeof(path), "/proc/%s/stat", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	/* A name may have anything in it. */
	behind = strrchr(text, ')');
	if (!behind || sscanf(behind + 1, " %c %d", &state, &m->parent) != 2)
		return false;
	m->pid = atoi(name);
	m->dead = state == 'Z' || state == 'X';
	return true;
}

/* All processes there are */
static void read_all(struct family *f)
{
	struct member *more;
	size_t room = 0;
	struct dirent *e;
	DIR *dir = opendir("/proc");

	memset(f, 0, sizeof(*f));
	while (dir && (e = readdir(dir))) {
		if (f->n == room) {
			room = room ? 2 * room : 256;
			more = reallocarray(f->member, room, sizeof(*more));
			if (!more)
				break;
			f->member = more;
		}
		f->n += read_member(e->d_name, &f->member[f->n]);
	}
	if (dir)
		closedir(dir);
}

static bool has(const struct family *f, pid_t pid)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->member[i].pid == pid)
			return true;
	return false;
}

void family_find(struct family *f, pid_t keeper)
{
	struct family found = { 0 };
	size_t before, i;

	read_all(f);
	/* The found ones go to the front; each round finds children of those found before. */
	do {
		before = found.n;
		found.member = f->member;
		for (i = found.n; i < f->n; i++) {
			const struct member m = f->member[i];

			if (m.parent != keeper && !has(&found, m.parent))
				continue;
			f->member[i] = f->member[found.n];
			f->member[found.n++] = m;
		}
	} while (found.n > before);
	f->n = found.n;
}

void family_free(struct family *f)
{
	free(f->member);
	memset(f, 0, sizeof(*f));
}

unsigned int family_leaves(const struct family *f)
{
	unsigned int leaves = 0;
	size_t i, k;

	for (i = 0; i < f->n; i++) {
		for (k = 0; k < f->n; k++)
			if (f->member[k].parent == f->member[i].pid && !f->member[k].dead)
				break;
		leaves += k == f->n && !f->member[i].dead;
	}
	return leaves;
}

/* The CPU, not one of these, that a thread may run on; -1: none */
static int strays(pid_t thread, const int *cpu, unsigned int n)
{
	struct cpus allowed;
	unsigned int i;
	int at, found = -1;

	if (!cpus_allowed(thread, &allowed))
		return -1;
	for (at = 0; at < allowed.most && found < 0; at++) {
		if (!cpus_has(&allowed, at))
			continue;
		for (i = 0; i < n && cpu[i] != at; i++)
			;
		if (i == n)
			found = at;
	}
	cpus_free(&allowed);
	return found;
}

pid_t family_strays(const struct family *f, const int *cpu, unsigned int n, int *stray)
{
	size_t i;

	*stray = -1;
	for (i = 0; i < f->n && *stray < 0; i++) {
		char path[64];
		struct dirent *e;
		DIR *dir;

		snprintf(path, sizeof(path), "/proc/%d/task", f->member[i].pid);
		dir = opendir(path);
		while (dir && *stray < 0 && (e = readdir(dir)))
			if (atoi(e->d_name) > 0)
				*stray = strays(atoi(e->d_name), cpu, n);
		if (dir)
			closedir(dir);
	}
	return *stray < 0 ? 0 : f->member[i - 1].pid;
}

/* ---- the keeper ---- */

/* False: some can't be killed */
static bool kill_all(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	unsigned int round;
	struct family f;
	size_t i, n = 1;

	/* Who was under way to a child may have one now; and who is killed leaves children. */
	for (round = 0; n && round < ROUNDS; round++) {
		if (round)
			nanosleep(&pause, NULL);
		family_find(&f, getpid());
		n = f.n;
		for (i = 0; i < n; i++)
			if (!f.member[i].dead)
				kill(f.member[i].pid, SIGKILL);
		for (i = 0; i < n; i++)
			if (f.member[i].parent == getpid())
				waitpid(f.member[i].pid, NULL, WNOHANG);
		family_free(&f);
	}
	return !n;
}

/* wait() that leaves who has ended, with what that has used, which the C library's has not */
static int look(siginfo_t *who, int options, struct rusage *used)
{
	return syscall(SYS_waitid, P_ALL, 0, who, options | WNOWAIT, used);
}

static bool wants_terminal(const siginfo_t *who)
{
	return who->si_code == CLD_STOPPED &&
	       (who->si_status == SIGTTIN || who->si_status == SIGTTOU);
}

/* False: it can't be waited for */
static bool wait_for(pid_t first, struct ending *e)
{
	siginfo_t who;

	memset(e, 0, sizeof(*e));
	for (;;) {
		if (look(&who, WEXITED | WSTOPPED, &e->used)) {
			if (errno != EINTR)
				return false;
			continue;
		}
		if (who.si_pid == first && who.si_code != CLD_STOPPED)
			break;
		if (who.si_pid == first && wants_terminal(&who)) {
			e->stopped = who.si_status;
			kill(-first, SIGKILL);
		}
		/*
		 * That it was stopped is taken note of, and one that had lost its parent buried.
		 * The first one's end is not for here: it may have come by now.
		 */
		waitid(P_PID, who.si_pid, &who,
		       (who.si_code == CLD_STOPPED ? WSTOPPED : WEXITED) | WNOHANG);
	}
	e->ns = now_ns();
	e->status = who.si_code == CLD_EXITED ? W_EXITCODE(who.si_status, 0) : who.si_status;
	/* What is left of the group has no business any more. */
	kill(-first, SIGKILL);
	return true;
}

/* Says who the command is, and how it ended; and then waits until nobody is on the line */
static void keep(int line, void (*child)(const void *arg), const void *arg)
{
	struct ending e;
	pid_t first;
	char byte;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* A terminal's signals are for who measures, and come here, too. */
	interrupts_catch();
	first = fork();
	if (!first) {
		child(arg);
		_exit(127);
	}
	if (first < 0)
		first = -errno;
	else
		setpgid(first, first);
	send(line, &first, sizeof(first), MSG_NOSIGNAL);
	if (first > 0 && wait_for(first, &e))
		send(line, &e, sizeof(e), MSG_NOSIGNAL);
	else
		shutdown(line, SHUT_WR);
	while (recv(line, &byte, sizeof(byte), 0) < 0 && errno == EINTR)
		;
	_exit(!kill_all());
}

bool keeper_start(struct keeper *k, void (*child)(const void *arg), const void *arg)
{
	const pid_t me = getpid();
	int line[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line))
		return false;
	k->line = line[0];
	k->first = 0;
	k->pid = fork();
	if (!k->pid) {
		close(line[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == me)
			keep(line[1], child, arg);
		_exit(1);
	}
	close(line[1]);
	if (k->pid < 0) {
		close(line[0]);
		return false;
	}
	while (recv(k->line, &k->first, sizeof(k->first), 0) < 0 && errno == EINTR)
		;
	if (k->first > 0)
		return true;
	keeper_end(k);
	errno = k->first ? -k->first : ECHILD;
	return false;
}

int keeper_wait(const struct keeper *k, struct ending *e)
{
	const ssize_t got = recv(k->line, e, sizeof(*e), 0);

	if (got < 0 && errno == EINTR)
		return 0;
	return got == sizeof(*e) ? 1 : -1;
}

bool keeper_end(struct keeper *k)
{
	int status;

	close(k->line);
	while (waitpid(k->pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return !WIFEXITED(status) || !WEXITSTATUS(status);
}

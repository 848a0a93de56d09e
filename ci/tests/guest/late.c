// SPDX-License-Identifier: GPL-2.0
/*
 * A library for LD_PRELOAD: SIGTERM comes just before each wait, when a program has looked for one
 * already. A program that waits without a signal mask of its own waits until its time is over.
 */
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
	raise(SIGTERM);
	return syscall(SYS_clock_nanosleep, clock, flags, t, left);
}

int nanosleep(const struct timespec *t, struct timespec *left)
{
	raise(SIGTERM);
	return syscall(SYS_nanosleep, t, left);
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	raise(SIGTERM);
	return syscall(SYS_poll, fds, n, ms);
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	struct timespec left = *t;

	raise(SIGTERM);
	return syscall(SYS_ppoll, fds, n, &left, mask, 8);
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *t)
{
	static int calls;

	/* Not before the command of memio run has begun */
	if (++calls == 2)
		raise(SIGTERM);
	return syscall(SYS_rt_sigtimedwait, set, info, t, 8);
}

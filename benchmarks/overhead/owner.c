// SPDX-License-Identifier: GPL-2.0
/*
 * owner: makes each process and thread of a program an owner of IO, before it begins
 *
 * To be preloaded (LD_PRELOAD). At the program's start, in each child that it forks and
 * in each thread that it makes: reads a block from the disk and sends a packet. Then the
 * program goes on as if nothing had been, but memio knows its tasks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "io.h"

static void become_owner(void)
{
	int saved = errno;

	/* Whether it did is seen by who counts the device's requests. */
	if (io_read(0) || send(FD_NET, "owner", 5, 0) != 5)
		abort();
	errno = saved;
}

struct start {
	void *(*routine)(void *arg);
	void *arg;
};

static void *start_thread(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	become_owner();
	return s.routine(s.arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*routine)(void *arg), void *arg)
{
	static int (*real)(pthread_t *thread, const pthread_attr_t *attr,
			   void *(*routine)(void *arg), void *arg);
	struct start *s = malloc(sizeof(*s));
	int ret = EAGAIN;

	if (!real)
		real = (typeof(real))dlsym(RTLD_NEXT, "pthread_create");
	if (!s)
		return ret;
	s->routine = routine;
	s->arg = arg;
	ret = real(thread, attr, start_thread, s);
	if (ret)
		free(s);
	return ret;
}

__attribute__((constructor)) static void at_start(void)
{
	pthread_atfork(NULL, NULL, become_owner);
	become_owner();
}

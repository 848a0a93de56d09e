// SPDX-License-Identifier: GPL-2.0
/*
 * boosted FIFO: a thread of the fair class holds a lock with priority inheritance, and makes the
 * file /tmp/running as long as it runs. Each time that somebody opens FIFO to write, a real-time
 * thread asks for the lock, which it gets as soon as the other one runs, and makes /tmp/locked
 * when it has it. Until it is killed.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock;
static atomic_bool wanted;
static const char *fifo;

static void touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
}

static void *real_time(void *arg)
{
	for (;;) {
		int fd = open(fifo, O_RDONLY);

		if (fd < 0)
			err(1, "%s", fifo);
		close(fd);
		atomic_store(&wanted, true);
		pthread_mutex_lock(&lock);
		touch("/tmp/locked");
		atomic_store(&wanted, false);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(int argc, char **argv)
{
	const struct sched_param param = { .sched_priority = 1 };
	pthread_mutexattr_t inherit;
	pthread_attr_t attr;
	pthread_t thread;

	if (argc != 2)
		errx(2, "boosted FIFO");
	fifo = argv[1];
	if (mkfifo(fifo, 0644) && errno != EEXIST)
		err(1, "%s", fifo);
	pthread_mutexattr_init(&inherit);
	pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&lock, &inherit);
	pthread_mutex_lock(&lock);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	errno = pthread_create(&thread, &attr, real_time, NULL);
	if (errno)
		err(1, "pthread_create");
	for (unsigned int i = 0;; i++) {
		if (!(i & 0xfff))
			touch("/tmp/running");
		if (!atomic_load(&wanted))
			continue;
		pthread_mutex_unlock(&lock);
		while (atomic_load(&wanted))
			sched_yield();
		pthread_mutex_lock(&lock);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * execs FIFO PROGRAM: threads of the fair class make the file /tmp/running as long as they run; one
 * with a real-time policy becomes PROGRAM as soon as somebody opens FIFO to write. To do that the
 * kernel ends the others, wherever they stand.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS	4

static void *runs(void *arg)
{
	for (;;) {
		int fd = open("/tmp/running", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		if (fd >= 0)
			close(fd);
		for (volatile int i = 0; i < 100000; i++)
			;
	}
	return arg;
}

int main(int argc, char **argv)
{
	const struct sched_param param = { .sched_priority = 1 };
	pthread_t thread;

	if (argc != 3)
		errx(2, "usage: execs FIFO PROGRAM");
	if (mkfifo(argv[1], 0644))
		err(1, "%s", argv[1]);
	/* Before there is a thread, or its group may be stopped while it has none yet. */
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		err(1, "SCHED_FIFO");
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, runs, NULL))
			err(1, "pthread_create");
	if (open(argv[1], O_RDONLY | O_CLOEXEC) < 0)
		err(1, "%s", argv[1]);
	execl(argv[2], argv[2], "/tmp/executed", NULL);
	err(1, "%s", argv[2]);
}

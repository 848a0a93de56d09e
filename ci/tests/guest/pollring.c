// SPDX-License-Identifier: GPL-2.0
/*
 * pollring FILE PROCS TOUCHED: direct reads of 64 KiB by the polling thread of a ring that this
 * process has made, four at a time, handed in by a child that goes to the group with the file
 * PROCS (cgroup.procs); until it is killed
 *
 * The child never enters the kernel to hand them in. Between them it asks the ring for how
 * many workers it may have, for which the kernel takes the polling thread's lock, and makes
 * the file TOUCHED when it has the answer.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH	4
#define READ	65536
#define SPAN	(128L << 20)

static void hand_in(struct io_uring *ring, int fd, char *buf, const char *touched)
{
	unsigned int none[2], under_way = 0;
	struct io_uring_cqe *cqe;
	long at = 0;
	int ret;

	for (;;) {
		for (; under_way < DEPTH; under_way++, at = (at + READ) % SPAN) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

			if (!sqe)
				break;
			io_uring_prep_read(sqe, fd, buf + under_way * READ, READ, at);
		}
		ret = io_uring_submit(ring);
		if (ret < 0)
			errx(1, "io_uring_submit: %s", strerror(-ret));
		while (!io_uring_peek_cqe(ring, &cqe)) {
			if (cqe->res != READ)
				errx(1, "read: %d", cqe->res);
			io_uring_cqe_seen(ring, cqe);
			under_way--;
		}
		none[0] = none[1] = 0;
		ret = io_uring_register_iowq_max_workers(ring, none);
		if (ret)
			errx(1, "io_uring_register_iowq_max_workers: %s", strerror(-ret));
		close(open(touched, O_WRONLY | O_CREAT, 0644));
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1000 };
	struct io_uring ring;
	char *buf;
	int fd, ret;
	pid_t pid;

	if (argc != 4)
		errx(2, "pollring FILE PROCS TOUCHED");
	/* The polling thread knows its own process's files and memory. */
	fd = open(argv[1], O_RDONLY | O_DIRECT);
	buf = aligned_alloc(4096, DEPTH * READ);
	if (fd < 0 || !buf)
		err(1, "%s", argv[1]);
	ret = io_uring_queue_init_params(2 * DEPTH, &ring, &params);
	if (ret < 0)
		errx(1, "io_uring_queue_init: %s", strerror(-ret));
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		int procs = open(argv[2], O_WRONLY);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (procs < 0 || write(procs, "0", 1) != 1)
			err(1, "%s", argv[2]);
		hand_in(&ring, fd, buf, argv[3]);
	}
	waitpid(pid, NULL, 0);
	return 1;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * wqchain FILE: what a worker of io_uring has done is freed, though it is stopped before it does
 * what it has taken with it for another ring. FILE is on xfs, has 16 MiB and nothing of it in
 * the page cache, the task is not stopped itself, as it has a real-time policy, and its group may
 * move a few bytes a second.
 *
 * Two rings have a request each for the same file, so that a worker takes both at once. To punch
 * a hole into a part of a block reads the block, for which the group is stopped. The first
 * request's file is locked: that ends with its last reference.
 *
 * Ends with 0 if the lock is gone soon, with 4 if it isn't, and with 3 if the worker was not
 * stopped in between.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <liburing.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void ring(struct io_uring *r, const cpu_set_t *set)
{
	int ret = io_uring_queue_init(4, r, 0);

	if (ret < 0)
		errx(1, "io_uring_queue_init: %s", strerror(-ret));
	ret = io_uring_register_iowq_aff(r, sizeof(*set), set);
	if (ret < 0)
		errx(1, "io_uring_register_iowq_aff: %s", strerror(-ret));
}

static void punch(struct io_uring *r, int fd, off_t at)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(r);
	int ret;

	io_uring_prep_fallocate(sqe, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, 100);
	io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	ret = io_uring_submit(r);
	if (ret != 1)
		errx(1, "io_uring_submit: %s", strerror(-ret));
}

static int is_done(struct io_uring *r)
{
	struct io_uring_cqe *cqe;

	if (io_uring_peek_cqe(r, &cqe))
		return 0;
	if (cqe->res)
		errx(1, "fallocate: %s", strerror(-cqe->res));
	return 1;
}

int main(int argc, char **argv)
{
	/* Its workers have none. */
	const struct sched_param param = { .sched_priority = 1 };
	struct io_uring a, b;
	int fd, other, third;
	cpu_set_t set;

	if (argc != 2)
		errx(2, "usage: wqchain FILE");
	fd = file(argv[1]), other = file(argv[1]), third = file(argv[1]);
	if (flock(fd, LOCK_EX))
		err(1, "flock");
	/* No worker gets the CPU before both are queued. */
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "sched_setaffinity");
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		err(1, "SCHED_FIFO");
	ring(&a, &set);
	ring(&b, &set);
	punch(&a, fd, 1 << 20);
	punch(&b, other, 8 << 20);
	for (int i = 0; i < 10000 && !is_done(&a); i++)
		usleep(1000);
	if (!is_done(&a) || is_done(&b))
		return 3;
	close(fd);
	io_uring_queue_exit(&a);
	for (int i = 0; i < 3000; i++) {
		if (!flock(third, LOCK_EX | LOCK_NB))
			return is_done(&b) ? 3 : 0;
		usleep(1000);
	}
	return 4;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * wqring write|read FILE close|exec AT: what workers of io_uring do for a task that is not
 * stopped itself, as it has a real-time policy: one write of 64 MiB into the page cache, or 32
 * direct reads of 64 KiB. It makes AT.ready, hands them in when there is AT.begin, and when
 * there is AT.end it closes the file and the ring, or becomes touch(1). Then there is AT.done.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <liburing.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WRITE	(64U << 20)
#define READS	32
#define READ	65536U

static const char *at(const char *prefix, const char *what)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s.%s", prefix, what);
	return path;
}

static void make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	if (fd < 0)
		err(1, "%s", path);
	close(fd);
}

static void await(const char *path)
{
	while (access(path, F_OK))
		usleep(2000);
}

int main(int argc, char **argv)
{
	/* Its workers have none. */
	const struct sched_param param = { .sched_priority = 1 };
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	int fd, n, ret;
	bool writes;
	char *buf;

	if (argc != 5)
		errx(2, "usage: wqring write|read FILE close|exec AT");
	writes = !strcmp(argv[1], "write");
	fd = open(argv[2], O_CLOEXEC | (writes ? O_WRONLY | O_CREAT : O_RDONLY | O_DIRECT), 0644);
	if (fd < 0)
		err(1, "%s", argv[2]);
	buf = mmap(NULL, WRITE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED)
		err(1, "mmap");
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		err(1, "SCHED_FIFO");
	ret = io_uring_queue_init(READS, &ring, 0);
	if (ret < 0)
		errx(1, "io_uring_queue_init: %s", strerror(-ret));
	for (n = 0; n < (writes ? 1 : READS); n++) {
		sqe = io_uring_get_sqe(&ring);
		if (writes)
			io_uring_prep_write(sqe, fd, buf, WRITE, 0);
		else
			io_uring_prep_read(sqe, fd, buf + n * READ, READ, n * READ);
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	}
	make(at(argv[4], "ready"));
	await(at(argv[4], "begin"));
	ret = io_uring_submit(&ring);
	if (ret != n)
		errx(1, "io_uring_submit: %s", strerror(-ret));
	await(at(argv[4], "end"));
	if (!strcmp(argv[3], "exec")) {
		execl("/usr/bin/touch", "touch", at(argv[4], "done"), NULL);
		err(1, "touch");
	}
	close(fd);
	io_uring_queue_exit(&ring);
	make(at(argv[4], "done"));
	pause();
	return 0;
}

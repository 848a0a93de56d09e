// SPDX-License-Identifier: GPL-2.0
/*
 * briefly KIND DISK GROUP: reads a disk past the page cache, by processes that don't stay to be
 * stopped for it, until it is killed
 *
 *	reads	64 KiB each, and it exits; four at a time
 *	aio	submits 16 reads of 64 KiB, and exits while they are under way; two at a time
 *	uring	likewise by io_uring; its ring goes on without it
 *
 * Who makes them is in the group that this was started in, and is not stopped. They begin in GROUP.
 * The buffer is larger than the cache, and shared, so that none of it was just made by the kernel.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/aio_abi.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER	(8ul << 20)
#define DISK	(256ul << 20)
#define SIZE	(64ul << 10)
#define MANY	16ul

static char *buf;
static uint64_t *next;	/* byte to be read, of all processes */
static int disk;

static uint64_t take(uint64_t bytes)
{
	return __atomic_fetch_add(next, bytes, __ATOMIC_RELAXED) % DISK;
}

static void reads(void)
{
	const uint64_t at = take(SIZE);

	if (pread(disk, buf + at % BUFFER, SIZE, at) != (ssize_t)SIZE)
		err(1, "pread");
}

static void aio(void)
{
	const uint64_t at = take(MANY * SIZE);
	struct iocb cb[MANY] = {}, *list[MANY];
	aio_context_t context = 0;

	for (uint64_t i = 0; i < MANY; i++) {
		cb[i].aio_lio_opcode = IOCB_CMD_PREAD;
		cb[i].aio_fildes = disk;
		cb[i].aio_buf = (uintptr_t)buf + (at + i * SIZE) % BUFFER;
		cb[i].aio_nbytes = SIZE;
		cb[i].aio_offset = at + i * SIZE;
		list[i] = &cb[i];
	}
	if (syscall(SYS_io_setup, MANY, &context))
		err(1, "io_setup");
	if (syscall(SYS_io_submit, context, MANY, list) != (long)MANY)
		err(1, "io_submit");
}

static void uring(void)
{
	const uint64_t at = take(MANY * SIZE);
	struct io_uring ring;
	int ret = io_uring_queue_init(MANY, &ring, 0);

	if (ret < 0)
		errx(1, "io_uring_queue_init: %s", strerror(-ret));
	for (uint64_t i = 0; i < MANY; i++)
		io_uring_prep_read(io_uring_get_sqe(&ring), disk,
				   buf + (at + i * SIZE) % BUFFER, SIZE, at + i * SIZE);
	ret = io_uring_submit(&ring);
	if (ret != (int)MANY)
		errx(1, "io_uring_submit: %d", ret);
}

/* One after the other, each in the group from its first instruction */
static _Noreturn void make(void (*run)(void), int group)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = group,
	};
	int status;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		pid = syscall(SYS_clone3, &args, sizeof(args));
		if (pid < 0)
			err(1, "clone3");
		if (!pid) {
			run();
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid)
			err(1, "waitpid");
		if (status && (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL))
			errx(1, "its child: %x", status);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		int at_a_time;
	} kinds[] = {
		{ "reads", reads, 4 }, { "aio", aio, 2 }, { "uring", uring, 2 },
	};
	int group;

	if (argc != 4)
		errx(2, "usage: briefly KIND DISK GROUP");
	disk = open(argv[2], O_RDONLY | O_DIRECT);
	group = open(argv[3], O_RDONLY | O_DIRECTORY);
	if (disk < 0 || group < 0)
		err(1, "%s", disk < 0 ? argv[2] : argv[3]);
	buf = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	next = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED || next == MAP_FAILED)
		err(1, "mmap");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		for (int n = 0; n < kinds[i].at_a_time; n++)
			if (!fork())
				make(kinds[i].run, group);
		/* They end for none but whom this ends for. */
		wait(NULL);
		errx(1, "%s: one has ended", argv[1]);
	}
	errx(2, "%s: no such kind", argv[1]);
}

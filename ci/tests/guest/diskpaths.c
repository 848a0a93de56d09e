// SPDX-License-Identifier: GPL-2.0
/*
 * diskpaths COMMAND ARG...: one way to a disk
 *
 *	write FILE BYTES [PROCS]	write(); the second half after a move to the
 *					group with the file PROCS (cgroup.procs)
 *	pages FILE BYTES FIRST		write() to every other page, from FIRST on
 *	map-read FILE BYTES [random]	load from a private mapping
 *	map-write FILE BYTES [sync|FIFO] store to a shared mapping, and sync it, or keep it until
 *					somebody has written to the FIFO
 *	willneed FILE BYTES		posix_fadvise(), until all is in memory
 *	fsync FILE TIMES
 *	copy HOW FROM TO BYTES		HOW: copy_file_range, splice, sendfile, splice-direct, or
 *					map-direct, which writes a mapping of FROM
 *	memory BYTES FIFO		store to memory, wait until somebody has
 *					written to the FIFO, load from it
 *	sqpoll FILE BYTES		direct reads by a polling thread; prints the
 *					line "total" of what its process has moved
 *	ring FILE BYTES PROCS [sqpoll]	direct reads by a ring that this process has
 *					made, handed in by a child in another group
 *	pass FILE BYTES HOW read|write	commands that the block layer passes through, a
 *					page each. HOW: ioctl, uring or fixed for NVMe,
 *					by ioctl(), by io_uring, by that with fixed
 *					buffers; copied, as ioctl, with a buffer that
 *					no disk can take; sg for SCSI
 *	migrate FILE BYTES		to another node with each page of the page cache
 *
 * A page is 4096 bytes.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/mempolicy.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096L
#define CHUNK	(64 * 1024L)
#define READ	8192L
#define SECTOR	512

static char *memory(long bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	if (madvise(p, bytes, MADV_NOHUGEPAGE))
		err(1, "madvise");
	return p;
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void move_to(const char *procs)
{
	int fd = open_file(procs, O_WRONLY);

	if (write(fd, "0", 1) != 1)
		err(1, "%s", procs);
	close(fd);
}

static void write_at(int fd, const char *buf, long bytes, long at)
{
	if (pwrite(fd, buf, bytes, at) != bytes)
		err(1, "write");
}

static void write_file(const char *path, long bytes, const char *procs)
{
	int fd = open_file(path, O_RDWR | O_CREAT);
	char *buf = memory(CHUNK);
	long at;

	memset(buf, 'w', CHUNK);
	for (at = 0; at < bytes; at += CHUNK) {
		if (procs && at == bytes / 2)
			move_to(procs);
		write_at(fd, buf, CHUNK, at);
	}
}

static void write_pages(const char *path, long bytes, long first)
{
	int fd = open_file(path, O_RDWR);
	char *buf = memory(PAGE);
	long at;

	memset(buf, 'p', PAGE);
	for (at = first * PAGE; at < bytes; at += 2 * PAGE)
		write_at(fd, buf, PAGE, at);
}

static void map_read(const char *path, long bytes, int random)
{
	int fd = open_file(path, O_RDONLY);
	char *p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	long at;

	if (p == MAP_FAILED)
		err(1, "mmap");
	if (random && madvise(p, bytes, MADV_RANDOM))
		err(1, "madvise");
	for (at = 0; at < bytes; at += PAGE)
		asm volatile("" : : "r" (p[at]));
}

static void wait_for(const char *fifo)
{
	char c;

	if (read(open_file(fifo, O_RDONLY), &c, 1) < 0)
		err(1, "%s", fifo);
}

static void map_write(const char *path, long bytes, const char *then)
{
	int fd = open_file(path, O_RDWR);
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	long at;

	if (p == MAP_FAILED)
		err(1, "mmap");
	for (at = 0; at < bytes; at += PAGE)
		p[at] = 'm';
	if (then && strcmp(then, "sync"))
		wait_for(then);
	else if (then && msync(p, bytes, MS_SYNC))
		err(1, "msync");
}

static void willneed(const char *path, long bytes)
{
	int fd = open_file(path, O_RDONLY), tries = 0;
	char *p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	unsigned char *in = (unsigned char *)memory(bytes / PAGE);
	long at;

	if (p == MAP_FAILED)
		err(1, "mmap");
	/* At once the kernel takes no more than a request of it. */
	for (at = 0; at < bytes; at += CHUNK)
		if (posix_fadvise(fd, at, CHUNK, POSIX_FADV_WILLNEED))
			errx(1, "posix_fadvise");
	for (at = 0; at < bytes / PAGE; at++) {
		while (mincore(p, bytes, in) || !(in[at] & 1)) {
			if (++tries > 1000)
				errx(1, "page %ld does not come", at);
			usleep(10000);
		}
	}
}

static void sync_file(const char *path, long times)
{
	int fd = open_file(path, O_RDWR);

	while (times--)
		if (fsync(fd))
			err(1, "fsync");
}

static void copy(const char *how, const char *from, const char *to, long bytes)
{
	int direct = strcmp(how, "splice-direct") && strcmp(how, "map-direct") ? 0 : O_DIRECT;
	int in = open_file(from, O_RDONLY), out = open_file(to, O_WRONLY | O_CREAT | direct);
	int ends[2];
	long done = 0, n;
	char *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, in, 0);

	if (map == MAP_FAILED || pipe(ends))
		err(1, "%s", from);
	for (; done < bytes; done += n) {
		if (!strcmp(how, "copy_file_range")) {
			n = copy_file_range(in, NULL, out, NULL, bytes - done, 0);
		} else if (!strcmp(how, "sendfile")) {
			n = sendfile(out, in, NULL, bytes - done);
		} else if (!strcmp(how, "map-direct")) {
			n = write(out, map + done, bytes - done);
		} else {
			n = splice(in, NULL, ends[1], NULL, CHUNK, 0);
			if (n > 0 && splice(ends[0], NULL, out, NULL, n, 0) != n)
				err(1, "splice to %s", to);
		}
		if (n <= 0)
			err(1, "%s", how);
	}
}

static void use_memory(long bytes, const char *fifo)
{
	char *p = memory(bytes);
	long at;

	/* A page that is the same all over needs no room in swap. */
	for (at = 0; at < bytes; at += sizeof(at))
		*(long *)(p + at) = at + 1;
	wait_for(fifo);
	for (at = 0; at < bytes; at += PAGE)
		if (*(long *)(p + at) != at + 1)
			errx(1, "memory at %ld has changed", at);
}

static void ring_read(struct io_uring *ring, int fd, char *buf, long bytes)
{
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	long at;
	int i;

	for (at = 0; at < bytes; at += 4 * READ) {
		for (i = 0; i < 4; i++) {
			sqe = io_uring_get_sqe(ring);
			if (!sqe)
				errx(1, "no room in the ring");
			io_uring_prep_read(sqe, fd, buf + i * READ, READ, at + i * READ);
		}
		if (io_uring_submit(ring) < 0)
			errx(1, "io_uring_submit");
		for (i = 0; i < 4; i++) {
			if (io_uring_wait_cqe(ring, &cqe) || cqe->res != READ)
				errx(1, "a read failed");
			io_uring_cqe_seen(ring, cqe);
		}
	}
}

static void make_ring(struct io_uring *ring, unsigned int flags)
{
	struct io_uring_params params = {
		.flags = flags,
		.sq_thread_idle = 50,
	};
	int ret = io_uring_queue_init_params(8, ring, &params);

	if (ret < 0)
		errx(1, "io_uring_queue_init: %s", strerror(-ret));
}

static void sqpoll(const char *path, long bytes)
{
	struct io_uring ring;
	char line[512];
	FILE *f;

	make_ring(&ring, IORING_SETUP_SQPOLL);
	ring_read(&ring, open_file(path, O_RDONLY | O_DIRECT), memory(4 * READ), bytes);
	f = fopen("/proc/self/membw", "r");
	if (!f)
		err(1, "membw");
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "total", 5))
			fputs(line, stdout);
	fclose(f);
}

static void other_ring(const char *path, long bytes, const char *procs, int poll)
{
	/* The polling thread knows its own process's files and memory. */
	int fd = open_file(path, O_RDONLY | O_DIRECT), status;
	char *buf = memory(4 * READ);
	struct io_uring ring;
	pid_t pid;

	make_ring(&ring, poll ? IORING_SETUP_SQPOLL : 0);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		move_to(procs);
		ring_read(&ring, fd, buf, bytes);
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "the child failed");
}

/* io_uring's command has the same members, but for the result. */
static struct nvme_passthru_cmd nvme_command(int fd, void *buf, long at, int is_write)
{
	int nsid = ioctl(fd, NVME_IOCTL_ID);

	if (nsid < 0)
		err(1, "NVME_IOCTL_ID");
	return (struct nvme_passthru_cmd) {
		.opcode = is_write ? 1 : 2,
		.nsid = nsid,
		.addr = (unsigned long)buf,
		.data_len = PAGE,
		.cdw10 = at / SECTOR,
		.cdw12 = PAGE / SECTOR - 1,
	};
}

static void pass_ioctl(int fd, char *buf, long at, int is_write)
{
	struct nvme_passthru_cmd command = nvme_command(fd, buf, at, is_write);

	if (ioctl(fd, NVME_IOCTL_IO_CMD, &command))
		err(1, "NVME_IOCTL_IO_CMD");
}

static void pass_uring(struct io_uring *ring, int fixed, int fd, char *buf, long at,
		       int is_write)
{
	struct nvme_passthru_cmd command = nvme_command(fd, buf, at, is_write);
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;

	if (!sqe)
		errx(1, "no room in the ring");
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = NVME_URING_CMD_IO;
	sqe->uring_cmd_flags = fixed ? IORING_URING_CMD_FIXED : 0;
	memcpy(sqe->cmd, &command, sizeof(command));
	if (io_uring_submit(ring) != 1)
		errx(1, "io_uring_submit");
	if (io_uring_wait_cqe(ring, &cqe) || cqe->res)
		errx(1, "a command failed");
	io_uring_cqe_seen(ring, cqe);
}

static void pass_sg(int fd, char *buf, long at, int is_write)
{
	long block = at / SECTOR;
	/* READ(10), WRITE(10) */
	unsigned char command[10] = {
		is_write ? 0x2a : 0x28, 0,
		block >> 24, block >> 16, block >> 8, block, 0,
		0, PAGE / SECTOR, 0,
	};
	struct sg_io_hdr io = {
		.interface_id = 'S',
		.dxfer_direction = is_write ? SG_DXFER_TO_DEV : SG_DXFER_FROM_DEV,
		.cmd_len = sizeof(command),
		.cmdp = command,
		.dxfer_len = PAGE,
		.dxferp = buf,
		.timeout = 60000,
	};

	if (ioctl(fd, SG_IO, &io))
		err(1, "SG_IO");
	if ((io.info & SG_INFO_OK_MASK) != SG_INFO_OK || io.resid)
		errx(1, "SG_IO failed");
}

static void pass(const char *path, long bytes, const char *how, int is_write)
{
	int uring = !strcmp(how, "uring"), fixed = !strcmp(how, "fixed");
	int copied = !strcmp(how, "copied");
	int fd = open_file(path, O_RDWR);
	char *buf = memory(2 * PAGE);
	struct iovec all = { buf, PAGE };
	struct io_uring ring;
	long at;

	memset(buf, 'c', 2 * PAGE);
	if (uring || fixed)
		make_ring(&ring, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	if (fixed && io_uring_register_buffers(&ring, &all, 1))
		errx(1, "io_uring_register_buffers");
	for (at = 0; at < bytes; at += PAGE) {
		if (uring || fixed)
			pass_uring(&ring, fixed, fd, buf, at, is_write);
		else if (!strcmp(how, "sg"))
			pass_sg(fd, buf, at, is_write);
		else
			pass_ioctl(fd, buf + copied, at, is_write);
	}
}

static long move_pages(long n, void **pages, const int *to, int *at)
{
	return syscall(SYS_move_pages, 0, n, pages, to, at, MPOL_MF_MOVE);
}

static void migrate(const char *path, long bytes)
{
	int fd = open_file(path, O_RDONLY), tries = 0;
	char *p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	long n = bytes / PAGE, i;
	void **pages = calloc(n, sizeof(*pages));
	int *to = calloc(n, sizeof(*to)), *at = calloc(n, sizeof(*at));

	if (p == MAP_FAILED)
		err(1, "mmap");
	if (!pages || !to || !at)
		err(1, "calloc");
	for (i = 0; i < n; i++) {
		pages[i] = p + i * PAGE;
		asm volatile("" : : "r" (p[i * PAGE]));
	}
	if (move_pages(n, pages, NULL, to))
		err(1, "move_pages");
	for (i = 0; i < n; i++) {
		if (to[i] != 0 && to[i] != 1)
			errx(1, "page %ld is nowhere: %d", i, to[i]);
		to[i] = !to[i];
	}
	/* Of a large folio it tells of the first page alone: so where they are is asked apart. */
	for (;;) {
		if (move_pages(n, pages, to, at) < 0)
			err(1, "move_pages");
		if (move_pages(n, pages, NULL, at))
			err(1, "move_pages");
		for (i = 0; i < n && at[i] == to[i]; i++)
			;
		if (i == n)
			break;
		if (++tries > 100)
			errx(1, "page %ld does not move: %d", i, at[i]);
		usleep(10000);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[1] : "";
	const char *more = argc > 4 ? argv[4] : NULL;
	long n = argc > 3 ? atol(argv[3]) : 0;

	if (!strcmp(what, "write"))
		write_file(argv[2], n, more);
	else if (!strcmp(what, "pages") && more)
		write_pages(argv[2], n, atol(more));
	else if (!strcmp(what, "map-read"))
		map_read(argv[2], n, !!more);
	else if (!strcmp(what, "map-write"))
		map_write(argv[2], n, more);
	else if (!strcmp(what, "willneed"))
		willneed(argv[2], n);
	else if (!strcmp(what, "fsync"))
		sync_file(argv[2], n);
	else if (!strcmp(what, "copy") && argc == 6)
		copy(argv[2], argv[3], argv[4], atol(argv[5]));
	else if (!strcmp(what, "memory"))
		use_memory(atol(argv[2]), argv[3]);
	else if (!strcmp(what, "sqpoll"))
		sqpoll(argv[2], n);
	else if (!strcmp(what, "ring") && more)
		other_ring(argv[2], n, more, argc > 5);
	else if (!strcmp(what, "pass") && argc == 6)
		pass(argv[2], n, more, !strcmp(argv[5], "write"));
	else if (!strcmp(what, "migrate"))
		migrate(argv[2], n);
	else
		errx(2, "usage: see the source");
	return 0;
}

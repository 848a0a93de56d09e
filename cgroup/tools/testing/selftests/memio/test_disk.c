// SPDX-License-Identifier: GPL-2.0
/*
 * Whom each way to a disk charges
 *
 * Groups a and b do IO to a file of which the sizes are known, c syncs. After each test
 * the books are closed: the test's group has what those in it have in sum, to the byte,
 * the disk's own statistics have at least the data, and nobody was charged too little for
 * want of an owner.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../cgroup/cgroup_util.h"
#include "memio_util.h"

#define GROUPS	3

/* To do something before flushers come */
#define TRIES	5

FIXTURE(disk) {
	struct memio m;
	char *a, *b, *c;
	const char *disk;
	struct disk_stat before;
};

FIXTURE_SETUP(disk)
{
	const char *why = memio_begin_disk(&self->m);

	if (why)
		SKIP(return, "%s", why);
	self->a = memio_group(&self->m, "a");
	self->b = memio_group(&self->m, "b");
	self->c = memio_group(&self->m, "c");
	ASSERT_TRUE(self->a && self->b && self->c);
	self->disk = self->m.disk.master;
	self->before = memio_disk_stat(&self->m);
}

FIXTURE_TEARDOWN(disk)
{
	char *groups[GROUPS] = { self->a, self->b, self->c };
	struct moved all, one, sum = {};
	struct disk_stat after;
	int i;

	for (i = 0; i < GROUPS; i++) {
		one = group_moved(groups[i], self->disk);
		sum.to += one.to;
		sum.from += one.from;
		EXPECT_EQ(0, group_no_slot(groups[i]));
	}
	all = group_moved(self->m.base, self->disk);
	EXPECT_EQ(sum.to, all.to);
	EXPECT_EQ(sum.from, all.from);
	/* All that is charged has moved. */
	after = memio_disk_stat(&self->m);
	EXPECT_LE(sum.to, slack(SIZE) + (long long)(after.written - self->before.written));
	EXPECT_LE(sum.from, slack(SIZE) + (long long)(after.read - self->before.read));
	memio_end(&self->m);
}

/* A group has moved its data, and hardly more. */
#define EXPECT_PAYS(bytes, seen)					\
do {									\
	long long _bytes = (bytes), _seen = (seen);			\
									\
	EXPECT_LE(_bytes, _seen);					\
	EXPECT_GE(_bytes + slack(_bytes), _seen);			\
} while (0)

#define EXPECT_PAYS_NOTHING(group)					\
do {									\
	struct moved _moved = group_moved(group, self->disk);		\
									\
	EXPECT_EQ(0, _moved.to);					\
	EXPECT_EQ(0, _moved.from);					\
} while (0)

/* For what needs pages to have owners */
#define NO_PAGES	"the kernel was not booted with memio=tasks"

/* The whole file, or half of it, in requests of 64 KiB */
static struct io io(struct memio *m, int flags)
{
	return (struct io) {
		.path = m->file,
		.flags = flags,
		.to = SIZE,
		.step = 64 * KIB,
		.block = 64 * KIB,
	};
}

/* Every other page, from the first or the second one on */
static struct io pages(struct memio *m, int first, bool map)
{
	long page = sysconf(_SC_PAGESIZE);

	return (struct io) {
		.path = m->file,
		.flags = O_WRONLY,
		.from = first * page,
		.to = SIZE,
		.step = 2 * page,
		.block = page,
		.map = map,
	};
}

/* ---- direct IO ---- */

/* In a child: its own file and its thread's have what its group has. */
struct job {
	struct io io;
	const char *disk;
	struct moved *process, *thread;
};

static int job_in(const char *group, void *arg)
{
	struct job *j = arg;

	if (do_io(&j->io))
		return 1;
	*j->process = task_moved(0, 0, j->disk);
	*j->thread = task_moved(0, gettid(), j->disk);
	return 0;
}

static int run_job(struct memio *m, const char *group, struct io io, struct moved result[2])
{
	struct moved *shared = m->shared;
	struct job job = {
		.io = io,
		.disk = m->disk.master,
		.process = &shared[0],
		.thread = &shared[1],
	};
	int ret;

	memset(shared, 0, 2 * sizeof(*shared));
	ret = cg_run(group, job_in, &job);
	memcpy(result, shared, 2 * sizeof(*shared));
	return ret;
}

MEMIO_TEST(disk, direct_read)
{
	struct moved own[2], a;
	struct disk_stat after;

	ASSERT_EQ(0, run_job(&self->m, self->a, io(&self->m, O_DIRECT), own));
	a = group_moved(self->a, self->disk);
	EXPECT_PAYS(SIZE, a.from);
	EXPECT_GE(slack(SIZE), a.to);
	EXPECT_EQ(a.from, own[0].from);
	EXPECT_EQ(a.to, own[0].to);
	EXPECT_EQ(a.from, own[1].from);
	EXPECT_EQ(a.to, own[1].to);
	EXPECT_PAYS_NOTHING(self->b);
	after = memio_disk_stat(&self->m);
	EXPECT_LE(SIZE, (long long)(after.read - self->before.read));
}

MEMIO_TEST(disk, direct_write)
{
	struct moved own[2], a;
	struct disk_stat after;

	ASSERT_EQ(0, run_job(&self->m, self->a, io(&self->m, O_WRONLY | O_DIRECT), own));
	a = group_moved(self->a, self->disk);
	EXPECT_PAYS(SIZE, a.to);
	EXPECT_GE(slack(SIZE), a.from);
	EXPECT_EQ(a.from, own[0].from);
	EXPECT_EQ(a.to, own[0].to);
	EXPECT_EQ(a.from, own[1].from);
	EXPECT_EQ(a.to, own[1].to);
	EXPECT_PAYS_NOTHING(self->b);
	after = memio_disk_stat(&self->m);
	EXPECT_LE(SIZE, (long long)(after.written - self->before.written));
}

/* The device's own line has it, too, and all of it is claimed. */
static bool nothing_waits(void *arg)
{
	struct memio *m = arg;
	struct memio_file *f = malloc(sizeof(*f));
	const struct memio_line *l;
	char path[PATH_MAX];
	bool ret = false;

	set_path(path, "%s/memio.stat", m->root);
	if (f && !memio_read(path, MEMIO_STAT, f)) {
		l = memio_line(f, m->disk.master);
		ret = l && !l->field[UNCLAIMED_TO] && !l->field[UNCLAIMED_FROM];
	}
	free(f);
	return ret;
}

MEMIO_TEST(disk, device_total)
{
	struct moved before, after;
	struct io read = io(&self->m, O_DIRECT), write = io(&self->m, O_WRONLY | O_DIRECT);

	before = group_moved(self->m.root, self->disk);
	ASSERT_EQ(0, run_io(self->a, &read));
	ASSERT_EQ(0, run_io(self->b, &write));
	after = group_moved(self->m.root, self->disk);
	EXPECT_LE(SIZE, after.from - before.from);
	EXPECT_LE(SIZE, after.to - before.to);
	/* Others' requests may be between two CPUs now and then. */
	EXPECT_TRUE(wait_for(nothing_waits, &self->m, 30));
}

/* ---- completion in batches ---- */

struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

#define DEPTH	16

static int ring_open(struct ring *r, bool polled)
{
	struct io_uring_params p = { .flags = polled ? IORING_SETUP_IOPOLL : 0 };
	size_t size;
	char *map;

	r->fd = syscall(__NR_io_uring_setup, DEPTH, &p);
	if (r->fd < 0)
		return -errno;
	size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	if (size < p.sq_off.array + p.sq_entries * sizeof(unsigned int))
		size = p.sq_off.array + p.sq_entries * sizeof(unsigned int);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
		   IORING_OFF_SQ_RING);
	r->sqes = mmap(NULL, p.sq_entries * sizeof(struct io_uring_sqe),
		       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
	if (!(p.features & IORING_FEAT_SINGLE_MMAP) || map == MAP_FAILED ||
	    r->sqes == MAP_FAILED)
		return -ENOMEM;
	r->sq_tail = (void *)(map + p.sq_off.tail);
	r->sq_mask = (void *)(map + p.sq_off.ring_mask);
	r->sq_array = (void *)(map + p.sq_off.array);
	r->cq_head = (void *)(map + p.cq_off.head);
	r->cq_tail = (void *)(map + p.cq_off.tail);
	r->cq_mask = (void *)(map + p.cq_off.ring_mask);
	r->cqes = (void *)(map + p.cq_off.cqes);
	return 0;
}

/* Reads DEPTH blocks at once; returns 0, or what the first that failed says. */
static int ring_read(struct ring *r, int fd, char *buf, long long at)
{
	unsigned int i, tail = *r->sq_tail, done = 0, head = *r->cq_head;
	int ret = 0;

	for (i = 0; i < DEPTH; i++, tail++) {
		struct io_uring_sqe *sqe = &r->sqes[tail & *r->sq_mask];

		memset(sqe, 0, sizeof(*sqe));
		sqe->opcode = IORING_OP_READ;
		sqe->fd = fd;
		sqe->addr = (unsigned long)(buf + i * BLOCK);
		sqe->len = BLOCK;
		sqe->off = at + i * BLOCK;
		r->sq_array[tail & *r->sq_mask] = tail & *r->sq_mask;
	}
	__atomic_store_n(r->sq_tail, tail, __ATOMIC_RELEASE);
	if (syscall(__NR_io_uring_enter, r->fd, DEPTH, DEPTH, IORING_ENTER_GETEVENTS, NULL, 0) !=
	    DEPTH)
		return -errno;
	while (done < DEPTH) {
		for (; head != __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE); head++, done++) {
			struct io_uring_cqe *cqe = &r->cqes[head & *r->cq_mask];

			if (cqe->res != BLOCK && !ret)
				ret = cqe->res < 0 ? cqe->res : -EIO;
		}
		__atomic_store_n(r->cq_head, head, __ATOMIC_RELEASE);
		if (done < DEPTH && syscall(__NR_io_uring_enter, r->fd, 0, 1,
					    IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			return -errno;
	}
	return ret;
}

struct batch {
	const char *path;
	bool polled;
};

#define NO_RING	255

/* Returns 0, NO_RING, or an error number. */
static int batch_in(const char *group, void *arg)
{
	const struct batch *b = arg;
	int fd = open(b->path, O_RDONLY | O_DIRECT), ret = fd < 0 ? -EIO : 0;
	char *buf = aligned_alloc(BLOCK, DEPTH * BLOCK);
	struct ring ring = {};
	long long at;

	if (ring_open(&ring, b->polled))
		return NO_RING;
	for (at = 0; at < SIZE && buf && !ret; at += DEPTH * BLOCK)
		ret = ring_read(&ring, fd, buf, at);
	return -ret;
}

static bool polled_disk(struct memio *m)
{
	char path[PATH_MAX], text[16];

	set_path(path, "/sys/block/%s/queue/io_poll", m->disk.name);
	return read_file(path, text, sizeof(text)) > 0 && text[0] == '1';
}

MEMIO_TEST(disk, trap1_batch)
{
	struct batch b = { .path = self->m.file };
	struct moved a;
	int ret;

	ret = cg_run(self->a, batch_in, &b);
	if (ret == NO_RING)
		SKIP(return, "there is no io_uring");
	ASSERT_EQ(0, ret);
	a = group_moved(self->a, self->disk);
	EXPECT_PAYS(SIZE, a.from);
}

MEMIO_TEST(disk, trap1_batch_polled)
{
	struct batch b = { .path = self->m.file, .polled = true };
	struct moved a;
	int ret;

	if (!polled_disk(&self->m))
		SKIP(return, "%s can't be polled", self->m.disk.name);
	ret = cg_run(self->a, batch_in, &b);
	if (ret == NO_RING || ret == EOPNOTSUPP)
		SKIP(return, "there is no polling by io_uring");
	ASSERT_EQ(0, ret);
	a = group_moved(self->a, self->disk);
	EXPECT_PAYS(SIZE, a.from);
}

/* ---- writeback: who made pages dirty pays ---- */

MEMIO_TEST(disk, buffered_write)
{
	struct io write = io(&self->m, O_WRONLY);

	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	ASSERT_EQ(0, run_io(self->a, &write));
	ASSERT_EQ(0, run_sync(self->c, self->m.file));
	EXPECT_PAYS(SIZE, group_moved(self->a, self->disk).to);
	EXPECT_GE(slack(SIZE), group_moved(self->c, self->disk).to);
	EXPECT_PAYS_NOTHING(self->b);
}

MEMIO_TEST(disk, mapped_write)
{
	struct io write = io(&self->m, O_WRONLY);

	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	write.map = true;
	ASSERT_EQ(0, run_io(self->a, &write));
	ASSERT_EQ(0, run_sync(self->c, self->m.file));
	EXPECT_PAYS(SIZE, group_moved(self->a, self->disk).to);
	EXPECT_GE(slack(SIZE), group_moved(self->c, self->disk).to);
	EXPECT_PAYS_NOTHING(self->b);
}

MEMIO_TEST(disk, synchronous_write)
{
	struct io write = io(&self->m, O_WRONLY | O_SYNC);

	ASSERT_EQ(0, run_io(self->a, &write));
	/* And for each request there may be a transaction of the file system. */
	EXPECT_LE(SIZE, group_moved(self->a, self->disk).to);
	EXPECT_PAYS_NOTHING(self->b);
}

/* With @large the cache first has folios as large as the file system can have. */
static int share_pages(struct memio *m, const char *a, const char *b, const char *c, bool map,
		       bool large)
{
	struct io read = io(m, O_RDONLY), even = pages(m, 0, map), odd = pages(m, 1, map);

	read.step = MIB;
	read.block = MIB;
	return uncache(m->file) || (large && do_io(&read)) || run_io(a, &even) ||
	       run_io(b, &odd) || run_sync(c, m->file);
}

MEMIO_TEST(disk, trap3_mixed_dirtiers)
{
	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	ASSERT_EQ(0, share_pages(&self->m, self->a, self->b, self->c, false, true));
	EXPECT_PAYS(SIZE / 2, group_moved(self->a, self->disk).to);
	EXPECT_PAYS(SIZE / 2, group_moved(self->b, self->disk).to);
	EXPECT_GE(slack(SIZE), group_moved(self->c, self->disk).to);
}

MEMIO_TEST(disk, trap3_mixed_mappings)
{
	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	ASSERT_EQ(0, share_pages(&self->m, self->a, self->b, self->c, true, false));
	EXPECT_PAYS(SIZE / 2, group_moved(self->a, self->disk).to);
	EXPECT_PAYS(SIZE / 2, group_moved(self->b, self->disk).to);
	EXPECT_GE(slack(SIZE), group_moved(self->c, self->disk).to);
}

/* A store to a large folio may make all of it dirty: then the first one pays for all of it. */
MEMIO_TEST(disk, trap3_mapped_large_folios)
{
	long long a, b;

	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	ASSERT_EQ(0, share_pages(&self->m, self->a, self->b, self->c, true, true));
	a = group_moved(self->a, self->disk).to;
	b = group_moved(self->b, self->disk).to;
	EXPECT_PAYS(SIZE, a + b);
	EXPECT_LE(SIZE / 2, a);
	EXPECT_GE(slack(SIZE), group_moved(self->c, self->disk).to);
}

/* One dirties what another has written before. */
MEMIO_TEST(disk, trap3_written_before)
{
	struct io all = io(&self->m, O_WRONLY), odd = pages(&self->m, 1, false);
	long long a;

	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	ASSERT_EQ(0, run_io(self->a, &all));
	ASSERT_EQ(0, run_sync(self->c, self->m.file));
	a = group_moved(self->a, self->disk).to;
	ASSERT_EQ(0, run_io(self->b, &odd));
	ASSERT_EQ(0, run_sync(self->c, self->m.file));
	EXPECT_PAYS(SIZE, a);
	EXPECT_GE(slack(0), group_moved(self->a, self->disk).to - a);
	EXPECT_PAYS(SIZE / 2, group_moved(self->b, self->disk).to);
}

/* One writes to what another has just made dirty: it is the first one's until it is written. */
MEMIO_TEST(disk, trap3_dirty_already)
{
	struct io all = io(&self->m, O_WRONLY), odd = pages(&self->m, 1, false);
	struct disk_stat since;
	struct moved a, b;
	bool flushed;
	int i;

	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	for (i = 0, flushed = true; flushed && i < TRIES; i++) {
		ASSERT_EQ(0, run_sync(self->c, self->m.file));
		a = group_moved(self->a, self->disk);
		b = group_moved(self->b, self->disk);
		since = memio_disk_stat(&self->m);
		ASSERT_EQ(0, run_io(self->a, &all));
		ASSERT_EQ(0, run_io(self->b, &odd));
		flushed = memio_flushed(&self->m, since);
	}
	if (flushed)
		SKIP(return, "pages are written as soon as they are dirty");
	ASSERT_EQ(0, run_sync(self->c, self->m.file));
	EXPECT_PAYS(SIZE, group_moved(self->a, self->disk).to - a.to);
	EXPECT_GE(slack(SIZE), group_moved(self->b, self->disk).to - b.to);
}

/* What is never written has cost nothing. */
/* One call of write(), of so many pages of a group that may write a quarter of one a second */
#define SLOW	16

static int write_slowly(const char *group, void *arg)
{
	struct memio *m = arg;
	int fd = open(m->file, O_WRONLY);
	void *data = calloc(SLOW, BLOCK);

	*(int *)m->shared = getpid();
	return fd < 0 || !data || write(fd, data, SLOW * BLOCK) != SLOW * BLOCK;
}

/*
 * A task without a limit that writes to the same file waits for the inode's lock, and so for one
 * that has a limit: for a fifth of a second for each page of its call at most, as for any disk
 * that is slow. So much does the other write meanwhile, at the least.
 * fails-on: 61c7c74
 */
MEMIO_TEST(disk, limit_and_logger)
{
	int *writer = self->m.shared;
	int fd = open(self->m.file, O_WRONLY | O_APPEND), status;
	struct statfs fs;
	char limit[128];
	double begun;
	pid_t pid;

	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fstatfs(fd, &fs));
	if (fs.f_type == BTRFS_SUPER_MAGIC)
		SKIP(return, "limits learn of pages when these are written");
	snprintf(limit, sizeof(limit), "%s rbps=1000", self->disk);
	ASSERT_EQ(0, cg_write(self->a, "memio.limit", limit));
	*writer = 0;
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(cg_run(self->a, write_slowly, &self->m));
	while (!__atomic_load_n(writer, __ATOMIC_RELAXED))
		usleep(1000);
	/* It is at it. */
	usleep(300000);
	begun = seconds_now();
	ASSERT_EQ(1, write(fd, "", 1));
	/* 3.2 s, and as much again for a machine that is slow; without the bound more than 60 s */
	EXPECT_GT(2 * SLOW * 0.2, seconds_now() - begun);
	/* What it has written beyond its limit it owes before it is in user mode again. */
	usleep(100000);
	EXPECT_EQ(0, kill(*writer, 0));
	snprintf(limit, sizeof(limit), "%s rbps=max", self->disk);
	EXPECT_EQ(0, cg_write(self->a, "memio.limit", limit));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(fd);
}

MEMIO_TEST(disk, truncated)
{
	struct io write = io(&self->m, O_WRONLY | O_CREAT);
	struct disk_stat since;
	char path[PATH_MAX];
	struct moved a;
	bool flushed;
	int i;

	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	set_path(path, "%s/memio_test.more", self->m.dir);
	write.path = path;
	for (i = 0, flushed = true; flushed && i < TRIES; i++) {
		a = group_moved(self->a, self->disk);
		since = memio_disk_stat(&self->m);
		ASSERT_EQ(0, run_io(self->a, &write));
		EXPECT_EQ(0, truncate(path, 0));
		EXPECT_EQ(0, unlink(path));
		flushed = memio_flushed(&self->m, since);
	}
	if (flushed)
		SKIP(return, "pages are written as soon as they are dirty");
	ASSERT_EQ(0, run_sync(self->c, self->m.file));
	EXPECT_GE(slack(SIZE), group_moved(self->a, self->disk).to - a.to);
}

/* ---- reading: who submits it pays ---- */

MEMIO_TEST(disk, buffered_read)
{
	struct io read = io(&self->m, O_RDONLY);

	ASSERT_EQ(0, uncache(self->m.file));
	/* All of the file, or it would be read ahead beyond what is counted. */
	read.to = 2 * SIZE;
	ASSERT_EQ(0, run_io(self->a, &read));
	EXPECT_PAYS(2 * SIZE, group_moved(self->a, self->disk).from);
	/* Who finds it in the page cache */
	ASSERT_EQ(0, run_io(self->b, &read));
	EXPECT_PAYS_NOTHING(self->b);
}

/* What the disk has moved for a group from it, when nothing is on its way any more. */
static long long settled(const char *group, const char *disk)
{
	long long before, now = group_moved(group, disk).from;

	do {
		before = now;
		usleep(500000);
		now = group_moved(group, disk).from;
	} while (now != before);
	return now;
}

/* Pages that nobody has asked for yet are for who makes them be read ahead. */
MEMIO_TEST(disk, readahead)
{
	struct io read = io(&self->m, O_RDONLY);
	long long ahead;

	ASSERT_EQ(0, uncache(self->m.file));
	read.block = sysconf(_SC_PAGESIZE);
	read.step = read.block;
	read.to = SIZE / 2;
	ASSERT_EQ(0, run_io(self->a, &read));
	ahead = settled(self->a, self->disk);
	EXPECT_LE(SIZE / 2, ahead);
	read.from = read.to;
	read.to = 2 * SIZE;
	ASSERT_EQ(0, run_io(self->b, &read));
	EXPECT_EQ(ahead, group_moved(self->a, self->disk).from);
	EXPECT_PAYS(2 * SIZE, ahead + group_moved(self->b, self->disk).from);
}

MEMIO_TEST(disk, page_faults)
{
	struct io read = io(&self->m, O_RDONLY);

	ASSERT_EQ(0, uncache(self->m.file));
	read.to = 2 * SIZE;
	read.map = true;
	ASSERT_EQ(0, run_io(self->a, &read));
	EXPECT_PAYS(2 * SIZE, group_moved(self->a, self->disk).from);
	ASSERT_EQ(0, run_io(self->b, &read));
	EXPECT_PAYS_NOTHING(self->b);
}

/* ---- no data ---- */

struct extents {
	struct fiemap map;
	struct fiemap_extent extent[64];
};

static int extents_of(const char *path, struct extents *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	memset(e, 0, sizeof(*e));
	e->map.fm_length = FIEMAP_MAX_OFFSET;
	e->map.fm_flags = FIEMAP_FLAG_SYNC;
	e->map.fm_extent_count = ARRAY_SIZE(e->extent);
	ret = ioctl(fd, FS_IOC_FIEMAP, &e->map);
	close(fd);
	return ret;
}

struct discard {
	const char *dir, *file;
	const struct extents *extents;
};

/* Gives the file's blocks back, and tells the disk. Returns 0, or an error number. */
static int discard_in(const char *group, void *arg)
{
	const struct discard *d = arg;
	struct fstrim_range range;
	unsigned int i;
	int fd;

	fd = open(d->file, O_RDWR);
	if (fd < 0 || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 2 * SIZE) ||
	    fsync(fd))
		return errno;
	close(fd);
	fd = open(d->dir, O_RDONLY);
	if (fd < 0 || syncfs(fd))
		return errno;
	for (i = 0; i < d->extents->map.fm_mapped_extents; i++) {
		range = (struct fstrim_range) {
			.start = d->extents->extent[i].fe_physical,
			.len = d->extents->extent[i].fe_length,
		};
		if (ioctl(fd, FITRIM, &range))
			return errno;
	}
	close(fd);
	return 0;
}

struct told {
	struct memio *m;
	unsigned long long before;
};

/* Some file systems don't wait for it. */
static bool disk_is_told(void *arg)
{
	const struct told *t = arg;

	return memio_disk_stat(t->m).discarded - t->before >= SIZE;
}

MEMIO_TEST(disk, trap2_discard)
{
	struct extents extents;
	struct discard d = {
		.dir = self->m.dir,
		.file = self->m.file,
		.extents = &extents,
	};
	struct told told = { &self->m, self->before.discarded };
	struct moved a;
	bool done;
	int ret;

	if (extents_of(self->m.file, &extents) || !extents.map.fm_mapped_extents)
		SKIP(return, "the file system does not say where the file is");
	ret = cg_run(self->a, discard_in, &d);
	done = !ret && wait_for(disk_is_told, &told, 5);
	a = group_moved(self->a, self->disk);
	/* Metadata of the file system, of which some write a lot: far less than the discard */
	EXPECT_GE(SIZE / 8, a.from);
	EXPECT_GE(SIZE / 8, a.to);
	if (ret == EOPNOTSUPP || ret == ENOTTY)
		SKIP(return, "neither holes nor discards: %s", strerror(ret));
	ASSERT_EQ(0, ret);
	if (!done)
		SKIP(return, "the disk was told of %llu bytes only",
		     memio_disk_stat(&self->m).discarded - self->before.discarded);
}

/* ---- stacks ---- */

static int loop_open(const char *file, char *path, bool *direct)
{
	struct loop_config config = { .info.lo_flags = LO_FLAGS_DIRECT_IO | LO_FLAGS_AUTOCLEAR };
	struct loop_info64 info;
	int control, fd, n;

	control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	if (control < 0)
		return -1;
	n = ioctl(control, LOOP_CTL_GET_FREE);
	close(control);
	snprintf(path, 32, "/dev/loop%d", n);
	config.fd = open(file, O_RDWR | O_CLOEXEC);
	fd = n < 0 || config.fd < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && (ioctl(fd, LOOP_CONFIGURE, &config) ||
			ioctl(fd, LOOP_GET_STATUS64, &info))) {
		close(fd);
		fd = -1;
	}
	if (config.fd >= 0)
		close(config.fd);
	*direct = info.lo_flags & LO_FLAGS_DIRECT_IO;
	return fd;
}

#define DM_NAME	"memio_test"

struct dm {
	struct dm_ioctl head;
	struct dm_target_spec target;
	char params[64];
};

static int dm_call(int fd, unsigned long call, struct dm *dm)
{
	dm->head.version[0] = DM_VERSION_MAJOR;
	dm->head.data_size = sizeof(*dm);
	dm->head.data_start = offsetof(struct dm, target);
	snprintf(dm->head.name, sizeof(dm->head.name), DM_NAME);
	return ioctl(fd, call, &dm->head);
}

/* A linear device on another, of which it sets the path; 0 or an error number. */
static int dm_make(int fd, const char *below, char *path)
{
	struct dm dm = {}, remove = {};

	dm_call(fd, DM_DEV_REMOVE, &remove);
	if (dm_call(fd, DM_DEV_CREATE, &dm))
		return errno;
	snprintf(path, 32, "/dev/dm-%u", minor(dm.head.dev));
	memset(&dm, 0, sizeof(dm));
	dm.head.target_count = 1;
	dm.target.length = SIZE / 512;
	snprintf(dm.target.target_type, sizeof(dm.target.target_type), "linear");
	snprintf(dm.params, sizeof(dm.params), "%s 0", below);
	if (dm_call(fd, DM_TABLE_LOAD, &dm))
		return errno;
	memset(&dm, 0, sizeof(dm));
	return dm_call(fd, DM_DEV_SUSPEND, &dm) ? errno : 0;
}

/* What goes through a device of a file on the disk is charged there, once. */
static void through_stack(struct __test_metadata *_metadata, struct memio *m, const char *group,
			  const char *syncer, const char *path)
{
	struct moved before = group_moved(group, m->disk.master), after, total;
	struct io all = io(m, O_DIRECT);

	all.path = path;
	ASSERT_EQ(0, uncache(m->file));
	EXPECT_EQ(0, run_io(group, &all)) TH_LOG("reading %s", path);
	after = group_moved(group, m->disk.master);
	EXPECT_PAYS(SIZE, after.from - before.from);

	before = after;
	all.flags = O_WRONLY | O_DIRECT;
	EXPECT_EQ(0, run_io(group, &all)) TH_LOG("writing %s", path);
	EXPECT_EQ(0, run_sync(syncer, m->file));
	after = group_moved(group, m->disk.master);
	EXPECT_PAYS(SIZE, after.to - before.to);

	/* No other device than the disk has anything. */
	total = group_moved(group, "total");
	EXPECT_EQ(after.from, total.from);
	EXPECT_EQ(after.to, total.to);
}

MEMIO_TEST(disk, trap4_stack)
{
	char loop[32], dm[32];
	struct dm remove = {};
	int control, fd, ret;
	bool direct;

	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	fd = loop_open(self->m.file, loop, &direct);
	if (fd < 0)
		SKIP(return, "there is no loop device: %s", strerror(errno));
	TH_LOG("%s does %s IO", loop, direct ? "direct" : "buffered");
	through_stack(_metadata, &self->m, self->a, self->c, loop);

	control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (control < 0)
		SKIP(goto out, "there is no device mapper: %s", strerror(errno));
	ret = dm_make(control, loop, dm);
	if (ret)
		SKIP(goto out_dm, "device mapper: %s", strerror(ret));
	through_stack(_metadata, &self->m, self->a, self->c, dm);
out_dm:
	dm_call(control, DM_DEV_REMOVE, &remove);
	close(control);
out:
	close(fd);
}

/* ---- the switch ---- */

static bool all_off(struct memio_file *before, struct memio_file *after)
{
	const struct memio_line *l;
	int i;

	for (i = 0; i < after->lines; i++) {
		l = memio_line(before, after->line[i].key);
		if (!l || l->field[IO_TO] != after->line[i].field[IO_TO] ||
		    l->field[IO_FROM] != after->line[i].field[IO_FROM])
			return false;
	}
	return true;
}

/* While it is off, nothing grows: of nobody, and on no device. */
MEMIO_TEST(disk, switched_off)
{
	struct io read = io(&self->m, O_DIRECT), write = io(&self->m, O_WRONLY | O_DIRECT);
	struct memio_file *before, *after;
	char path[PATH_MAX];

	before = malloc(sizeof(*before));
	after = malloc(sizeof(*after));
	ASSERT_TRUE(before && after);
	set_path(path, "%s/memio.stat", self->m.root);

	ASSERT_EQ(0, memio_set("enabled", "0"));
	/* Others' requests that were half accounted by then */
	usleep(300000);
	ASSERT_EQ(0, memio_read(path, MEMIO_STAT, before)) TH_LOG("%s", before->why);
	ASSERT_EQ(0, run_io(self->a, &read));
	ASSERT_EQ(0, run_io(self->a, &write));
	ASSERT_EQ(0, memio_read(path, MEMIO_STAT, after)) TH_LOG("%s", after->why);
	EXPECT_TRUE(all_off(before, after));
	EXPECT_PAYS_NOTHING(self->a);

	ASSERT_EQ(0, memio_set("enabled", "1"));
	ASSERT_EQ(0, run_io(self->a, &read));
	EXPECT_PAYS(SIZE, group_moved(self->a, self->disk).from);
	ASSERT_EQ(0, run_io(self->b, &write));
	EXPECT_PAYS(SIZE, group_moved(self->b, self->disk).to);
}

/* Nobody notes who makes pages dirty meanwhile; who had been noted is forgotten. */
MEMIO_TEST(disk, switched_off_dirty)
{
	struct io write = io(&self->m, O_WRONLY);
	struct disk_stat since;
	struct moved a;
	bool flushed;
	int i;

	if (!self->m.pages)
		SKIP(return, NO_PAGES);
	ASSERT_EQ(0, memio_set("enabled", "0"));
	ASSERT_EQ(0, run_io(self->a, &write));
	ASSERT_EQ(0, memio_set("enabled", "1"));
	ASSERT_EQ(0, run_sync(self->c, self->m.file));
	EXPECT_PAYS_NOTHING(self->a);

	for (i = 0, flushed = true; flushed && i < TRIES; i++) {
		a = group_moved(self->a, self->disk);
		since = memio_disk_stat(&self->m);
		ASSERT_EQ(0, run_io(self->a, &write));
		flushed = memio_flushed(&self->m, since);
		ASSERT_EQ(0, memio_set("enabled", "0"));
		ASSERT_EQ(0, run_sync(self->c, self->m.file));
		ASSERT_EQ(0, memio_set("enabled", "1"));
	}
	if (flushed)
		SKIP(return, "pages are written as soon as they are dirty");
	EXPECT_GE(slack(SIZE), group_moved(self->a, self->disk).to - a.to);

	a = group_moved(self->a, self->disk);
	ASSERT_EQ(0, run_io(self->b, &write));
	ASSERT_EQ(0, run_sync(self->c, self->m.file));
	EXPECT_EQ(a.to, group_moved(self->a, self->disk).to);
	EXPECT_PAYS(SIZE, group_moved(self->b, self->disk).to);
}

TEST_HARNESS_MAIN

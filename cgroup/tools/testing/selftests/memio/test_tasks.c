// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of the accounts when tasks fork, exec, split into threads, move and exit,
 * and groups are made and removed meanwhile
 *
 * Most of it is direct reads of one block each, which tasks count themselves. What comes
 * with a block (a completion, say) is the same for each, so that sums can be compared to
 * the byte: of a task and its group, of a group and those below it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../cgroup/cgroup_util.h"
#include "memio_util.h"

/* What children tell; one page. */
struct told {
	struct moved process, thread, other;
	struct moved later;
	unsigned long reads, failed;
	unsigned long reads_of[32];
	pid_t tid;
	int ready, stop;
};

static struct told *told;
static const char *disk;

FIXTURE(tasks) {
	struct memio m;
	int fd;				/* the file, for direct IO */
};

FIXTURE_SETUP(tasks)
{
	const char *why = memio_begin_disk(&self->m);

	if (why)
		SKIP(return, "%s", why);
	told = self->m.shared;
	disk = self->m.disk.master;
	self->fd = open(self->m.file, O_RDONLY | O_DIRECT);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(tasks)
{
	memio_end(&self->m);
}

#define GROUP(name)							\
({									\
	char *_group = memio_group(&self->m, name);			\
									\
	ASSERT_NE(NULL, _group);					\
	_group;								\
})

/*
 * @n blocks were read, and nothing was written. With each block come less than 64 bytes
 * from the disk and 512 to it, and perhaps some metadata once.
 */
#define EXPECT_READS(n, seen)						\
do {									\
	struct moved _m = (seen);					\
	long long _n = (n);						\
									\
	EXPECT_LE(_n * BLOCK, _m.from);					\
	EXPECT_GE(_n * (BLOCK + 64) + 64 * KIB, _m.from);		\
	EXPECT_LE(0, _m.to);						\
	EXPECT_GE(_n * 512 + 64 * KIB, _m.to);				\
} while (0)

#define EXPECT_SAME(a, b)						\
do {									\
	struct moved _a = (a), _b = (b);				\
									\
	EXPECT_EQ(_a.from, _b.from);					\
	EXPECT_EQ(_a.to, _b.to);					\
} while (0)

static struct moved plus(struct moved a, struct moved b)
{
	return (struct moved) { a.to + b.to, a.from + b.from };
}

static struct moved less(struct moved a, struct moved b)
{
	return (struct moved) { a.to - b.to, a.from - b.from };
}

static struct moved own_group(const char *group)
{
	return group_moved(group, disk);
}

static struct moved own(void)
{
	return task_moved(0, 0, disk);
}

/* Of single threads; a thread that does this has its own buffer. */
static bool read_block(int fd)
{
	static __thread unsigned long i;
	static __thread void *buf;

	if (!buf)
		buf = aligned_alloc(BLOCK, BLOCK);
	return buf && pread(fd, buf, BLOCK, i++ * BLOCK % SIZE) == BLOCK;
}

static bool read_blocks(int fd, int n)
{
	for (; n > 0; n--)
		if (!read_block(fd))
			return false;
	return true;
}

/* ---- fork, exec ---- */

static int parent_and_child(const char *group, void *arg)
{
	int fd = *(int *)arg, status;
	struct memio_file *f;
	double begun;
	pid_t pid;

	if (!read_blocks(fd, 100))
		return 1;
	told->process = own();
	begun = seconds_now() * 1e9;
	pid = fork();
	if (!pid) {
		told->later = own();
		f = malloc(sizeof(*f));
		/* Its rates are not its parent's. */
		if (!f || memio_read("/proc/self/membw", MEMIO_MEMBW, f) ||
		    (f->updated_ns && f->updated_ns < begun) ||
		    f->window_us * 1e3 > seconds_now() * 1e9 - begun)
			_exit(2);
		if (!read_blocks(fd, 10))
			_exit(3);
		told->other = own();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 4;
	told->thread = own();
	return 0;
}

MEMIO_TEST(tasks, fork_begins_with_nothing)
{
	char *a = GROUP("a");

	ASSERT_EQ(0, cg_run(a, parent_and_child, &self->fd));
	EXPECT_READS(100, told->process);
	EXPECT_SAME(((struct moved) { 0, 0 }), told->later);
	EXPECT_READS(10, told->other);
	/* What children have done is not the parent's. */
	EXPECT_SAME(told->process, told->thread);
	EXPECT_SAME(own_group(a), plus(told->process, told->other));
}

/* This program, called so by main(), says what it has, to its standard output. */
#define SAY	"--say"

static int say(const char *device)
{
	struct moved process = task_moved(0, 0, device);

	return write(STDOUT_FILENO, &process, sizeof(process)) != sizeof(process);
}

static void become_who_says(int pipe)
{
	dup2(pipe, STDOUT_FILENO);
	execl("/proc/self/exe", "test_tasks", SAY, disk, NULL);
	_exit(5);
}

struct exec {
	int fd, pipe;
	bool of_thread;
};

static void *read_and_exec(void *arg)
{
	struct exec *e = arg;

	if (!read_blocks(e->fd, 10))
		_exit(6);
	become_who_says(e->pipe);
	return NULL;
}

static int read_exec(const char *group, void *arg)
{
	struct exec *e = arg;
	pthread_t thread;

	if (!read_blocks(e->fd, 100))
		return 1;
	if (e->of_thread) {
		if (pthread_create(&thread, NULL, read_and_exec, e))
			return 2;
		pause();
	}
	read_and_exec(e);
	return 3;
}

static void check_exec(struct __test_metadata *_metadata, char *a, int fd, bool of_thread)
{
	struct exec e = { .fd = fd, .of_thread = of_thread };
	struct moved said = {};
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	e.pipe = pipes[1];
	ASSERT_EQ(0, cg_run(a, read_exec, &e));
	ASSERT_EQ(sizeof(said), read(pipes[0], &said, sizeof(said)));
	EXPECT_READS(110, said);
	EXPECT_LE(said.from, own_group(a).from);
}

MEMIO_TEST(tasks, exec_goes_on)
{
	check_exec(_metadata, GROUP("a"), self->fd, false);
}

MEMIO_TEST(tasks, exec_of_thread_goes_on)
{
	check_exec(_metadata, GROUP("a"), self->fd, true);
}

/* ---- threads ---- */

static pthread_barrier_t have_read, may_end;

static void *read_and_end(void *fd)
{
	return read_blocks(*(int *)fd, 10) ? NULL : fd;
}

static void *read_and_stay(void *fd)
{
	void *ret = read_blocks(*(int *)fd, 30) ? NULL : fd;

	told->tid = gettid();
	pthread_barrier_wait(&have_read);
	pthread_barrier_wait(&may_end);
	return ret;
}

/* A thread that was joined is perhaps not gone yet. */
static bool is_alone(void *unused)
{
	struct dirent *e;
	int n = 0;
	DIR *d;

	d = opendir("/proc/self/task");
	if (!d)
		return false;
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n == 1;
}

static int three_threads(const char *group, void *fd)
{
	pthread_t early, late;
	void *failed;

	pthread_barrier_init(&have_read, NULL, 2);
	pthread_barrier_init(&may_end, NULL, 2);
	if (!read_blocks(*(int *)fd, 100))
		return 1;
	if (pthread_create(&early, NULL, read_and_end, fd) || pthread_join(early, &failed) ||
	    failed || !wait_for(is_alone, NULL, 60))
		return 2;
	if (pthread_create(&late, NULL, read_and_stay, fd))
		return 3;
	pthread_barrier_wait(&have_read);
	told->process = own();
	told->thread = task_moved(0, gettid(), disk);
	told->other = task_moved(0, told->tid, disk);
	pthread_barrier_wait(&may_end);
	if (pthread_join(late, &failed) || failed || !wait_for(is_alone, NULL, 60))
		return 4;
	told->later = own();
	return 0;
}

MEMIO_TEST(tasks, threads)
{
	char *a = GROUP("a");

	ASSERT_EQ(0, cg_run(a, three_threads, &self->fd));
	EXPECT_READS(100, told->thread);
	EXPECT_READS(30, told->other);
	/* One had ended before. */
	EXPECT_READS(10, less(less(told->process, told->thread), told->other));
	EXPECT_SAME(told->process, told->later);
	EXPECT_SAME(own_group(a), told->later);
}

static void *read_once(void *fd)
{
	return read_block(*(int *)fd) ? NULL : fd;
}

/* A process's sum only grows, also while a thread's is being added to the dead ones'. */
static void watch(pid_t pid)
{
	long long last = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);

	while (!__atomic_load_n(&told->stop, __ATOMIC_RELAXED)) {
		struct moved m = task_moved(pid, 0, disk);

		told->reads++;
		told->failed += m.from < last;
		last = m.from;
	}
	_exit(0);
}

static int threads_come_and_go(const char *group, void *fd)
{
	pid_t parent = getpid(), watcher;
	pthread_t thread[4];
	void *failed;
	int i, j;

	watcher = fork();
	if (watcher < 0)
		return 1;
	if (!watcher)
		watch(parent);
	while (!__atomic_load_n(&told->reads, __ATOMIC_RELAXED))
		usleep(1000);
	for (i = 0; i < 250; i++) {
		for (j = 0; j < 4; j++)
			if (pthread_create(&thread[j], NULL, read_once, fd))
				return 2;
		for (j = 0; j < 4; j++)
			if (pthread_join(thread[j], &failed) || failed)
				return 3;
	}
	__atomic_store_n(&told->stop, 1, __ATOMIC_RELAXED);
	if (waitpid(watcher, NULL, 0) != watcher || !wait_for(is_alone, NULL, 60))
		return 4;
	told->process = own();
	return 0;
}

MEMIO_TEST(tasks, threads_end_while_read)
{
	char *a = GROUP("a");

	told->stop = 0;
	ASSERT_EQ(0, cg_run(a, threads_come_and_go, &self->fd));
	EXPECT_LT(1, told->reads);
	EXPECT_EQ(0, told->failed);
	EXPECT_READS(1000, told->process);
	EXPECT_SAME(own_group(a), told->process);
}

#define MANY	3000

static atomic_int sleepers;

static void *read_then_sleep(void *fd)
{
	if (!read_block(*(int *)fd))
		_exit(1);
	sleepers++;
	for (;;)
		pause();
}

static void *read_own(void *unused)
{
	for (;;)
		own();
	return NULL;
}

static void *end_at_once(void *fd)
{
	return read_block(*(int *)fd) ? NULL : fd;
}

/*
 * Who reads a process of many threads gets each byte once, while threads of it come and go. How
 * long the slowest of these takes, in the best of five rounds, and how long a reading, is only
 * said: on a machine whose processors are others', too, they don't compare.
 */
static int many_threads(const char *group, void *fd)
{
	double begun, reading, longest, best = 1e9;
	pthread_t thread, reader;
	pthread_attr_t attr;
	int i, round;
	void *failed;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * KIB);
	for (i = 0; i < MANY; i++)
		if (pthread_create(&thread, &attr, read_then_sleep, fd))
			return 2;
	for (i = 0; i < MEMIO_TIMEOUT && sleepers < MANY; i++)
		sleep(1);
	begun = seconds_now();
	for (i = 0; i < 5; i++)
		told->process = own();
	reading = (seconds_now() - begun) / 5;
	if (pthread_create(&reader, NULL, read_own, NULL))
		return 3;
	for (round = 0; round < 5; round++) {
		longest = 0;
		for (i = 0; i < 40; i++) {
			begun = seconds_now();
			if (pthread_create(&thread, NULL, end_at_once, fd) ||
			    pthread_join(thread, &failed) || failed)
				return 4;
			if (seconds_now() - begun > longest)
				longest = seconds_now() - begun;
		}
		if (longest < best)
			best = longest;
	}
	told->later = own();
	told->reads = reading * 1e6;
	told->failed = best * 1e6;
	_exit(0);
}

MEMIO_TEST(tasks, many_threads_are_read)
{
	char *a = GROUP("a");

	ASSERT_EQ(0, cg_run(a, many_threads, &self->fd));
	ksft_print_msg("a reading takes %lu us, a thread %lu us at most meanwhile\n", told->reads,
		       told->failed);
	EXPECT_READS(MANY, told->process);
	EXPECT_READS(MANY + 200, told->later);
}

static void *outlive(void *fd)
{
	char path[64], stat[256], *end = NULL;

	/* Until the leader is a zombie */
	set_path(path, "/proc/%d/stat", getpid());
	while (!end || end[2] != 'Z') {
		usleep(1000);
		if (read_file(path, stat, sizeof(stat)) < 0)
			_exit(1);
		end = strrchr(stat, ')');
	}
	if (!read_blocks(*(int *)fd, 10))
		_exit(2);
	told->process = own();
	told->thread = task_moved(0, gettid(), disk);
	exit(0);
}

static int leave_thread(const char *group, void *fd)
{
	pthread_t thread;

	if (!read_blocks(*(int *)fd, 100) || pthread_create(&thread, NULL, outlive, fd))
		return 3;
	pthread_exit(NULL);
}

MEMIO_TEST(tasks, leader_ends_first)
{
	char *a = GROUP("a");

	ASSERT_EQ(0, cg_run(a, leave_thread, &self->fd));
	EXPECT_READS(10, told->thread);
	EXPECT_READS(110, told->process);
	EXPECT_SAME(own_group(a), told->process);
}

/* ---- groups ---- */

static int read_n(const char *group, void *n)
{
	int fd = open(*(char **)n, O_RDONLY | O_DIRECT);

	return fd < 0 || !read_blocks(fd, 100);
}

MEMIO_TEST(tasks, nested_groups)
{
	char *a = GROUP("a"), *b = GROUP("a/b"), *c = GROUP("a/b/c"), *d = GROUP("a/d");
	struct moved in_c, in_d;
	char *without;

	ASSERT_EQ(0, cg_run(c, read_n, &self->m.file));
	ASSERT_EQ(0, cg_run(d, read_n, &self->m.file));
	ASSERT_EQ(0, cg_run(d, read_n, &self->m.file));
	in_c = own_group(c);
	in_d = own_group(d);
	EXPECT_READS(100, in_c);
	EXPECT_READS(200, in_d);
	EXPECT_SAME(in_c, own_group(b));
	EXPECT_SAME(plus(in_c, in_d), own_group(a));
	EXPECT_SAME(plus(in_c, in_d), own_group(self->m.base));

	/* A group without the controller is the next one's above it. */
	without = cg_name(d, "without");
	ASSERT_EQ(0, mkdir(without, 0755));
	ASSERT_EQ(0, cg_run(without, read_n, &self->m.file));
	EXPECT_READS(300, own_group(d));
	EXPECT_READS(400, own_group(a));
}

MEMIO_TEST(tasks, removed_groups)
{
	char *a = GROUP("a"), *b = GROUP("a/b"), *c = GROUP("a/b/c");
	struct moved before;

	ASSERT_EQ(0, cg_run(c, read_n, &self->m.file));
	before = own_group(a);
	EXPECT_READS(100, before);
	ASSERT_EQ(0, rmdir(c));
	EXPECT_SAME(before, own_group(b));
	ASSERT_EQ(0, cg_write(b, "cgroup.subtree_control", "-memio"));
	ASSERT_EQ(0, cg_run(b, read_n, &self->m.file));
	EXPECT_READS(200, own_group(b));
	EXPECT_SAME(own_group(b), own_group(a));
	before = own_group(a);
	ASSERT_EQ(0, rmdir(b));
	EXPECT_SAME(before, own_group(a));
	EXPECT_SAME(before, own_group(self->m.base));
	/* Made again it begins with nothing. */
	b = GROUP("a/b");
	EXPECT_SAME(((struct moved) { 0, 0 }), own_group(b));
}

/* ---- moving ---- */

static void *read_until_told(void *fd)
{
	while (!__atomic_load_n(&told->stop, __ATOMIC_RELAXED)) {
		if (!read_block(*(int *)fd)) {
			__atomic_add_fetch(&told->failed, 1, __ATOMIC_RELAXED);
			break;
		}
		__atomic_add_fetch(&told->reads, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

#define READERS	4

static int readers(const char *group, void *fd)
{
	pthread_t thread[READERS];
	int i;

	for (i = 0; i < READERS; i++)
		if (pthread_create(&thread[i], NULL, read_until_told, fd))
			return 1;
	for (i = 0; i < READERS; i++)
		pthread_join(thread[i], NULL);
	told->process = own();
	return 0;
}

static bool more_reads(void *than)
{
	return __atomic_load_n(&told->reads, __ATOMIC_RELAXED) > *(unsigned long *)than;
}

/* Waits for some more reads */
static bool reads_go_on(void)
{
	unsigned long than = __atomic_load_n(&told->reads, __ATOMIC_RELAXED) + 2 * READERS;

	return wait_for(more_reads, &than, 120);
}

static bool ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && !status;
}

MEMIO_TEST(tasks, move_while_reading)
{
	char *a = GROUP("a"), *b = GROUP("b");
	struct moved in_a, in_b, then;
	pid_t pid;
	int i;

	pid = cg_run_nowait(a, readers, &self->fd);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(reads_go_on());
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(0, cg_enter(b, pid));
		EXPECT_TRUE(reads_go_on());
		EXPECT_EQ(0, cg_enter(a, pid));
		EXPECT_TRUE(reads_go_on());
	}
	EXPECT_EQ(0, cg_enter(b, pid));
	/* What was under way was the old group's; from here on it has nothing to do with it. */
	EXPECT_TRUE(reads_go_on());
	then = own_group(a);
	EXPECT_TRUE(reads_go_on());
	told->stop = 1;
	ASSERT_TRUE(ended_well(pid));
	EXPECT_EQ(0, told->failed);

	in_a = own_group(a);
	in_b = own_group(b);
	EXPECT_SAME(then, in_a);
	EXPECT_LT(0, in_a.from);
	EXPECT_LT(0, in_b.from);
	/* The process's own file goes on, and neither loses a byte. */
	EXPECT_READS(told->reads, told->process);
	EXPECT_SAME(plus(in_a, in_b), told->process);
	EXPECT_SAME(plus(in_a, in_b), own_group(self->m.base));
	EXPECT_EQ(0, group_no_slot(a));
	EXPECT_EQ(0, group_no_slot(b));
}

static int dirty_and_sync(const char *group, void *arg)
{
	struct io write = {
		.path = *(char **)arg,
		.flags = O_WRONLY,
		.to = SIZE,
		.step = 64 * KIB,
		.block = 64 * KIB,
	};
	int fd;

	if (do_io(&write))
		return 1;
	raise(SIGSTOP);
	fd = open(write.path, O_RDWR);
	if (fd < 0 || fsync(fd))
		return 2;
	told->process = own();
	return 0;
}

static bool stopped(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
}

/* Pages that it has made dirty are the old group's, and the task's own file shows them. */
MEMIO_TEST(tasks, move_with_dirty_pages)
{
	char *a = GROUP("a"), *b = GROUP("b");
	pid_t pid;

	if (!self->m.pages)
		SKIP(return, "the kernel was not booted with memio=tasks");
	pid = cg_run_nowait(a, dirty_and_sync, &self->m.file);
	ASSERT_LT(0, pid);
	ASSERT_TRUE(stopped(pid));
	EXPECT_EQ(0, cg_enter(b, pid));
	kill(pid, SIGCONT);
	ASSERT_TRUE(ended_well(pid));
	EXPECT_LE(SIZE, own_group(a).to);
	EXPECT_GE(SIZE + slack(SIZE), own_group(a).to);
	EXPECT_GE(slack(SIZE), own_group(b).to);
	EXPECT_LE(SIZE, told->process.to);
	EXPECT_SAME(plus(own_group(a), own_group(b)), told->process);
}

/* ---- gone ---- */

/* Groups that are removed, but pinned by something */
static long dying(const char *group)
{
	return cg_read_key_long(group, "cgroup.stat", "nr_dying_descendants ");
}

static bool none_is_dying(void *group)
{
	return dying(group) == 0;
}

static int fork_readers(const char *group, void *fd)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 300; i++) {
		pid = fork();
		if (!pid)
			_exit(!read_block(*(int *)fd));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}

/* Neither the task nor its group is there when its pages are written: the parent pays. */
MEMIO_TEST(tasks, trap12_late_writeback)
{
	struct io write = {
		.path = self->m.file,
		.flags = O_WRONLY,
		.from = SIZE,		/* where nobody reads */
		.to = 2 * SIZE,
		.step = 64 * KIB,
		.block = 64 * KIB,
	};
	char *a = GROUP("a"), *gone = GROUP("a/gone"), *b = GROUP("b"), *c = GROUP("c");
	struct disk_stat since = memio_disk_stat(&self->m);

	if (!self->m.pages)
		SKIP(return, "the kernel was not booted with memio=tasks");
	ASSERT_EQ(0, run_io(gone, &write));
	ASSERT_EQ(0, rmdir(gone));
	/* The group does not wait for its pages. */
	EXPECT_TRUE(wait_for(none_is_dying, a, 60));
	if (!memio_flushed(&self->m, since)) {
		EXPECT_GE(slack(SIZE), own_group(a).to);
	}
	/* Nor does anybody get its id. */
	ASSERT_EQ(0, cg_run(b, fork_readers, &self->fd));
	ASSERT_EQ(0, run_sync(c, self->m.file));
	EXPECT_LE(SIZE, own_group(a).to);
	EXPECT_GE(SIZE + slack(SIZE), own_group(a).to);
	EXPECT_READS(300, own_group(b));
	EXPECT_GE(slack(SIZE), own_group(c).to);
	EXPECT_SAME(own_group(self->m.base),
		    plus(own_group(a), plus(own_group(b), own_group(c))));
}

/* Killed while it reads, and its group removed at once: nothing is lost. */
MEMIO_TEST(tasks, trap12_killed)
{
	char *a = GROUP("a"), *gone;
	struct moved all;
	int i, status;
	pid_t pid;

	for (i = 0; i < 5; i++) {
		gone = GROUP("a/gone");
		pid = cg_run_nowait(gone, readers, &self->fd);
		ASSERT_LT(0, pid);
		EXPECT_TRUE(reads_go_on());
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		while (rmdir(gone) && errno == EBUSY)
			usleep(1000);
		EXPECT_EQ(-1, access(gone, F_OK));
	}
	EXPECT_EQ(0, told->failed);
	all = own_group(a);
	EXPECT_LE(told->reads * BLOCK, all.from);
	/* Beside those that were counted, each reader may have done one more. */
	EXPECT_GE((told->reads + 5 * READERS) * (BLOCK + 64) + 64 * KIB, all.from);
	EXPECT_SAME(all, own_group(self->m.base));
	EXPECT_TRUE(wait_for(none_is_dying, a, 60));
}

/* ---- switches ---- */

/* Reads for a second, sleeps in between, and then for good. */
static int read_and_sleep(const char *group, void *fd)
{
	double end = seconds_now() + 1;

	while (seconds_now() < end) {
		if (!read_block(*(int *)fd))
			return 1;
		usleep(1000);
	}
	__atomic_store_n(&told->ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static bool is_ready(void *unused)
{
	return __atomic_load_n(&told->ready, __ATOMIC_ACQUIRE);
}

/*
 * Rates are taken when a task leaves the CPU, though nobody reads its file. So when somebody
 * does at last, they are over some tenths of a second, and not yet over all the task's life.
 */
MEMIO_TEST(tasks, rates_without_reader)
{
	struct memio_file *f = malloc(sizeof(*f));
	char *a = GROUP("a"), path[64];
	double begin = seconds_now();
	pid_t pid;

	ASSERT_NE(NULL, f);
	pid = cg_run_nowait(a, read_and_sleep, &self->fd);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(wait_for(is_ready, NULL, 120));
	set_path(path, "/proc/%d/membw", pid);
	EXPECT_EQ(0, memio_read(path, MEMIO_MEMBW, f)) TH_LOG("%s", f->why);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_LE(100000, f->window_us);
	EXPECT_GT((seconds_now() - begin) * 1e6, f->window_us);
	EXPECT_LT(0, f->updated_ns);
	EXPECT_LT(begin * 1e9, f->updated_ns);
	free(f);
}

struct watched {
	char path[64];
	struct memio_file *f;
	bool wrong;
};

/* Until it has a rate, which is of what has been moved in the time it is over. */
static bool has_rate(void *arg)
{
	struct watched *w = arg;
	const struct memio_line *l;

	if (memio_read(w->path, MEMIO_MEMBW, w->f))
		return false;
	l = memio_line(w->f, disk);
	if (!l)
		return false;
	if (l->field[IO_FROM_BPS] * w->f->window_us / 1000000 > l->field[IO_FROM] ||
	    (!w->f->window_us && l->field[IO_FROM_BPS]))
		w->wrong = true;
	return l->field[IO_FROM_BPS];
}

/* A process of one thread: those of others have windows of their own. */
static int one_reader(const char *group, void *fd)
{
	return !!read_until_told(fd);
}

MEMIO_TEST(tasks, rates)
{
	struct watched w = { .f = malloc(sizeof(*w.f)) };
	char *a = GROUP("a");
	pid_t pid;

	ASSERT_NE(NULL, w.f);
	pid = cg_run_nowait(a, one_reader, &self->fd);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(reads_go_on());
	snprintf(w.path, sizeof(w.path), "/proc/%d/membw", pid);
	EXPECT_TRUE(wait_for(has_rate, &w, 120));
	EXPECT_FALSE(w.wrong) TH_LOG("%s: %lld us", w.path, w.f->window_us);
	told->stop = 1;
	EXPECT_TRUE(ended_well(pid));
	free(w.f);
}

#define PAIRS	2
#define LEVELS	4

/* Two tasks throw a byte to and fro for a second, and read a block now and then. */
static void play(int fd, int in[2], int out[2], bool first, unsigned long *reads)
{
	double end = seconds_now() + 1;
	char over = 0;
	int i;

	/* So that one ends if the other does. */
	close(in[1]);
	close(out[0]);
	for (i = 0; !over; i++) {
		if (first) {
			over = i > 20 && seconds_now() > end;
			if (write(out[1], &over, 1) != 1)
				_exit(1);
		}
		if (read(in[0], &over, 1) != 1)
			_exit(2);
		if (!first && write(out[1], &over, 1) != 1)
			_exit(3);
		if (i % 10)
			continue;
		if (!read_block(fd))
			_exit(4);
		++*reads;
	}
	/* Its own file has them, switched or not. */
	_exit(own().from < (long long)*reads * BLOCK ? 5 : 0);
}

static int play_in_pairs(const char *group, void *arg)
{
	unsigned long *reads = &told->reads_of[2 * PAIRS * ((group[strlen(group) - 1] - '0'))];
	int there[2], back[2], i, status, failed = 0;

	for (i = 0; i < PAIRS; i++) {
		if (pipe(there) || pipe(back))
			return 1;
		if (!fork())
			play(*(int *)arg, back, there, true, &reads[2 * i]);
		if (!fork())
			play(*(int *)arg, there, back, false, &reads[2 * i + 1]);
		close(there[0]);
		close(there[1]);
		close(back[0]);
		close(back[1]);
	}
	while (wait(&status) > 0)
		failed |= status;
	return !!failed;
}

/*
 * Groups in groups, each with tasks that wake each other all the time: they are switched
 * to one another in all ways that the scheduler has, put to sleep late, and migrated. With
 * the controller cpu, groups are entities of the scheduler, too.
 */
MEMIO_TEST(tasks, trap9_switches)
{
	char path[PATH_MAX] = "0", *leaf[LEVELS], above[PATH_MAX];
	unsigned long n, all = 0;
	struct moved sum = {};
	pid_t pid[LEVELS];
	int i, j;

	for (i = 0; i < LEVELS; i++) {
		char name[PATH_MAX];

		/* A group has tasks or groups below it, not both. */
		set_path(name, "%s/t%d", path, i);
		leaf[i] = GROUP(name);
		set_path(above, "%s/%s", self->m.base, path);
		strcat(path, "/0");
	}
	/* From the root down */
	for (i = strlen(self->m.root); i > 0; i = strcspn(above + i + 1, "/") + i + 1) {
		char end = above[i];

		above[i] = 0;
		cg_write(above, "cgroup.subtree_control", "+cpu");
		above[i] = end;
		if (!end)
			break;
	}
	for (i = 0; i < LEVELS; i++) {
		pid[i] = cg_run_nowait(leaf[i], play_in_pairs, &self->fd);
		ASSERT_LT(0, pid[i]);
	}
	for (i = 0; i < LEVELS; i++) {
		EXPECT_TRUE(ended_well(pid[i]));
	}
	for (i = 0; i < LEVELS; i++) {
		for (j = 0, n = 0; j < 2 * PAIRS; j++)
			n += told->reads_of[2 * PAIRS * i + j];
		EXPECT_LT(0, n);
		EXPECT_READS(n, own_group(leaf[i]));
		sum = plus(sum, own_group(leaf[i]));
		all += n;
	}
	EXPECT_READS(all, sum);
	EXPECT_SAME(sum, own_group(self->m.base));
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], SAY))
		return say(argv[2]);
	return test_harness_run(argc, argv);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * All at once: tasks that fork, exit, read, dirty pages and are moved, groups that come and
 * go, and readers of all files
 *
 * It is here for what looks on: KCSAN, KASAN, lockdep. But the books have to be right
 * afterwards, and no sum may go back meanwhile. MEMIO_STRESS_SECONDS says how long it
 * takes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../cgroup/cgroup_util.h"
#include "memio_util.h"

#define GROUPS	4		/* between which tasks are moved */

struct shared {
	int stop;
	unsigned long reads;		/* of one block */
	unsigned long pages;		/* that were made dirty, perhaps more than once */
	unsigned long moves, groups, looks, switches;
	char failed[256];		/* the first that did, and why */
	int has_failed;
};

static struct shared *shared;

struct worker {
	struct memio *m;
	char **group;
	int fd, seed;
};

FIXTURE(stress) {
	struct memio m;
	char *group[GROUPS], *syncer;
	struct worker worker;		/* what all of them have */
};

FIXTURE_SETUP(stress)
{
	const char *why = memio_begin_disk(&self->m);
	char name[16];
	int i;

	if (why)
		SKIP(return, "%s", why);
	shared = self->m.shared;
	for (i = 0; i < GROUPS; i++) {
		snprintf(name, sizeof(name), "in/%d", i);
		self->group[i] = memio_group(&self->m, name);
		ASSERT_NE(NULL, self->group[i]);
	}
	self->syncer = memio_group(&self->m, "syncer");
	ASSERT_NE(NULL, self->syncer);
	self->worker.m = &self->m;
	self->worker.group = self->group;
	self->worker.fd = open(self->m.file, O_RDONLY | O_DIRECT);
	ASSERT_LE(0, self->worker.fd);
}

FIXTURE_TEARDOWN(stress)
{
	memio_end(&self->m);
}

static bool over(void)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

static void count(unsigned long *n)
{
	__atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

static __printf(1, 2) void fail(const char *format, ...)
{
	va_list args;

	if (__atomic_exchange_n(&shared->has_failed, 1, __ATOMIC_RELAXED))
		return;
	va_start(args, format);
	vsnprintf(shared->failed, sizeof(shared->failed), format, args);
	va_end(args);
}

static void read_block(int fd, void *buf, unsigned int *seed)
{
	if (pread(fd, buf, BLOCK, rand_r(seed) % (SIZE / BLOCK) * BLOCK) == BLOCK)
		count(&shared->reads);
	else
		fail("reading: %s", strerror(errno));
}

/* ---- those who do IO ---- */

static void *read_some(void *arg)
{
	struct worker *w = arg;
	void *buf = aligned_alloc(BLOCK, BLOCK);
	unsigned int seed = w->seed++;
	int i;

	for (i = 0; buf && i < 20; i++)
		read_block(w->fd, buf, &seed);
	free(buf);
	return NULL;
}

/* Children with a thread or two, which exit in any order */
static int fork_readers(const char *group, void *arg)
{
	struct worker *w = arg;
	pthread_t thread[2];
	int status;
	pid_t pid;

	while (!over()) {
		w->seed += 3;
		pid = fork();
		if (!pid) {
			read_some(w);
			if (w->seed & 1 && !pthread_create(&thread[0], NULL, read_some, w))
				pthread_join(thread[0], NULL);
			if (w->seed & 2 && !pthread_create(&thread[1], NULL, read_some, w))
				pthread_exit(NULL);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			fail("a child: %s", pid < 0 ? strerror(errno) : "its status");
	}
	return 0;
}

static int dirty_pages(const char *group, void *arg)
{
	struct worker *w = arg;
	long page = sysconf(_SC_PAGESIZE);
	char *buf = malloc(page);
	int fd = open(w->m->file, O_RDWR);
	unsigned int seed = w->seed;

	while (!over()) {
		fill_random(buf, page);
		/* The other half of the file, which nobody reads. */
		if (pwrite(fd, buf, page, SIZE + rand_r(&seed) % (SIZE / page) * page) != page)
			fail("writing: %s", strerror(errno));
		count(&shared->pages);
		if (!(rand_r(&seed) % 50) && fsync(fd))
			fail("fsync: %s", strerror(errno));
	}
	return 0;
}

/* ---- those who don't ---- */

static void *move(void *arg)
{
	struct worker *w = arg;
	unsigned int seed = w->seed;
	char procs[4096], *pid, *save;

	while (!over()) {
		char *from = w->group[rand_r(&seed) % GROUPS];
		char *to = w->group[rand_r(&seed) % GROUPS];

		if (cg_read(from, "cgroup.procs", procs, sizeof(procs))) {
			fail("cgroup.procs");
			break;
		}
		for (pid = strtok_r(procs, "\n", &save); pid; pid = strtok_r(NULL, "\n", &save)) {
			/* It may have ended. */
			if (!cg_write(to, "cgroup.procs", pid))
				count(&shared->moves);
			if (rand_r(&seed) & 1)
				break;
		}
		usleep(1000);
	}
	return NULL;
}

/* A group that lives for one or two reads, and is removed as soon as it can be */
static void *make_groups(void *arg)
{
	struct worker *w = arg;
	unsigned int seed = w->seed;
	char *group = cg_name(w->group[0], "../x");
	void *buf = aligned_alloc(BLOCK, BLOCK);
	pid_t pid;

	while (!over()) {
		if (mkdir(group, 0755)) {
			fail("mkdir: %s", strerror(errno));
			break;
		}
		pid = fork();
		if (!pid) {
			if (cg_enter_current(group))
				_exit(1);
			seed += getpid();
			read_block(w->fd, buf, &seed);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		while (rmdir(group)) {
			if (errno != EBUSY) {
				fail("rmdir: %s", strerror(errno));
				return NULL;
			}
			usleep(100);
		}
		count(&shared->groups);
	}
	return NULL;
}

static void look_at(const char *path, enum memio_kind kind, unsigned int fields,
		    struct memio_file *f, struct moved *last)
{
	const struct memio_line *total;

	if (memio_read(path, kind, f)) {
		/* Tasks and groups may be gone. */
		if (!access(path, F_OK))
			fail("%s: %s", path, f->why);
		return;
	}
	if (memio_check(f, fields))
		fail("%s: %s", path, f->why);
	count(&shared->looks);
	total = memio_line(f, "total");
	if (!last || !total)
		return;
	if (total->field[IO_TO] < last->to || total->field[IO_FROM] < last->from)
		fail("%s: a sum has gone back", path);
	last->to = total->field[IO_TO];
	last->from = total->field[IO_FROM];
}

static void *look(void *arg)
{
	struct worker *w = arg;
	struct memio_file *f = malloc(sizeof(*f));
	struct moved last[GROUPS] = {}, root = {}, base = {};
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d;
	int i;

	while (!over() && f) {
		set_path(path, "%s/memio.stat", w->m->root);
		look_at(path, MEMIO_STAT, SUMS | UNCLAIMED, f, &root);
		set_path(path, "%s/memio.stat", w->m->base);
		look_at(path, MEMIO_STAT, SUMS, f, &base);
		for (i = 0; i < GROUPS; i++) {
			set_path(path, "%s/memio.stat", w->group[i]);
			look_at(path, MEMIO_STAT, SUMS, f, &last[i]);
		}
		/* All processes there are: it does not matter whose. */
		d = opendir("/proc");
		while (d && (e = readdir(d)) && !over()) {
			if (e->d_name[0] < '1' || e->d_name[0] > '9')
				continue;
			set_path(path, "/proc/%.10s/membw", e->d_name);
			look_at(path, MEMIO_MEMBW, SUMS | RATES, f, NULL);
			set_path(path, "/proc/%.10s/task/%.10s/membw", e->d_name,
				 e->d_name);
			look_at(path, MEMIO_MEMBW, SUMS | RATES, f, NULL);
		}
		if (d)
			closedir(d);
	}
	free(f);
	return NULL;
}

static void *toggle(void *unused)
{
	bool on = false;

	for (; !over(); on = !on) {
		if (memio_set("enabled", on ? "1" : "0") ||
		    memio_set("sample_interval_us", on ? "10000" : "1000"))
			fail("/sys/kernel/memio can't be written");
		count(&shared->switches);
		usleep(on ? 50000 : 20000);
	}
	if (memio_set("enabled", "1") || memio_set("sample_interval_us", "10000"))
		fail("/sys/kernel/memio can't be written");
	return NULL;
}

static unsigned int seconds(void)
{
	const char *text = getenv("MEMIO_STRESS_SECONDS");
	int n = text ? atoi(text) : 0;

	return n > 0 ? n : 5;
}

static void stress(struct __test_metadata *_metadata, struct worker *self, const char *syncer,
		   bool switching)
{
	struct worker w[8];
	pthread_t thread[4];
	pid_t pid[4];
	int i, n = 0, status;

	for (i = 0; i < (int)ARRAY_SIZE(w); i++) {
		w[i] = *self;
		w[i].seed = 1000 * (i + 1);
	}
	for (i = 0; i < (int)ARRAY_SIZE(pid); i++) {
		pid[i] = cg_run_nowait(self->group[i % GROUPS], i & 1 ? dirty_pages : fork_readers,
				       &w[i]);
		ASSERT_LT(0, pid[i]);
	}
	ASSERT_EQ(0, pthread_create(&thread[n++], NULL, move, &w[4]));
	ASSERT_EQ(0, pthread_create(&thread[n++], NULL, make_groups, &w[5]));
	ASSERT_EQ(0, pthread_create(&thread[n++], NULL, look, &w[6]));
	if (switching) {
		ASSERT_EQ(0, pthread_create(&thread[n++], NULL, toggle, NULL));
	}
	sleep(seconds());
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < (int)ARRAY_SIZE(pid); i++) {
		EXPECT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	ASSERT_EQ(0, run_sync(syncer, self->m->file));
	TH_LOG("%lu reads, %lu pages made dirty, %lu moves, %lu groups, %lu looks, %lu switches",
	       shared->reads, shared->pages, shared->moves, shared->groups, shared->looks,
	       shared->switches);
	EXPECT_FALSE(shared->has_failed) TH_LOG("%s", shared->failed);
	EXPECT_LT(0, shared->reads);
	EXPECT_LT(0, shared->pages);
	EXPECT_LT(0, shared->moves);
	EXPECT_LT(0, shared->groups);
	EXPECT_LT(0, shared->looks);
}

MEMIO_TEST(stress, all_at_once)
{
	struct disk_stat before = memio_disk_stat(&self->m), after;
	struct moved in, syncer, base, sum = {};
	char *parent;
	int i;

	stress(_metadata, &self->worker, self->syncer, false);
	after = memio_disk_stat(&self->m);
	parent = cg_name(self->m.base, "in");
	in = group_moved(parent, self->m.disk.master);
	base = group_moved(self->m.base, self->m.disk.master);
	syncer = group_moved(self->syncer, self->m.disk.master);
	for (i = 0; i < GROUPS; i++) {
		struct moved one = group_moved(self->group[i], self->m.disk.master);

		sum.to += one.to;
		sum.from += one.from;
		EXPECT_EQ(0, group_no_slot(self->group[i]));
	}

	/* Each block that was read; a page that was dirty already is written once. */
	EXPECT_LE((long long)shared->reads * BLOCK, in.from);
	EXPECT_GE((long long)shared->reads * (BLOCK + 64) + slack(SIZE) +
		  (long long)shared->pages * 64, in.from);
	EXPECT_LT(0, in.to);
	EXPECT_GE((long long)(after.written - before.written) +
		  (long long)(after.commands - before.commands) * 512, in.to);
	/* What the groups have that are gone is their parent's. */
	EXPECT_LE(sum.to, in.to);
	EXPECT_LE(sum.from + (long long)shared->groups * BLOCK, in.from);
	EXPECT_EQ(base.to, in.to + syncer.to);
	EXPECT_EQ(base.from, in.from + syncer.from);
}

/* The same while memio is switched off and on. Sums then lack something, and no more. */
MEMIO_TEST(stress, switched_off_and_on)
{
	struct io read = {
		.path = self->m.file,
		.flags = O_RDONLY | O_DIRECT,
		.to = SIZE,
		.step = 64 * KIB,
		.block = 64 * KIB,
	};
	struct disk_stat before = memio_disk_stat(&self->m), after;
	char interval[32];
	struct moved all;
	char *last;

	ASSERT_EQ(0, memio_get("sample_interval_us", interval, sizeof(interval)));
	stress(_metadata, &self->worker, self->syncer, true);
	EXPECT_EQ(0, memio_set("sample_interval_us", interval));
	EXPECT_LT(0, shared->switches);
	after = memio_disk_stat(&self->m);
	all = group_moved(self->m.base, self->m.disk.master);
	EXPECT_GE((long long)(after.read - before.read) +
		  (long long)(after.commands - before.commands) * 64, all.from);
	EXPECT_GE((long long)(after.written - before.written) +
		  (long long)(after.commands - before.commands) * 512, all.to);
	/* And then all is as ever. */
	last = memio_group(&self->m, "last");
	ASSERT_NE(NULL, last);
	ASSERT_EQ(0, run_io(last, &read));
	all = group_moved(last, self->m.disk.master);
	EXPECT_LE(SIZE, all.from);
	EXPECT_GE(SIZE + slack(SIZE), all.from);
}

TEST_HARNESS_MAIN

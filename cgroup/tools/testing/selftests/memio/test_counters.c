// SPDX-License-Identifier: GPL-2.0
/*
 * When bytes have a price, and who may use the counters
 *
 * Without a price IO bytes are memory bytes, one for one, and said to be (unpriced). So it
 * is on machines without counters that memio can use (source none), where the other tests
 * here are skipped, and on all while sampling is "never". Who reads figures has no part in it.
 *
 * What prices are right is not to be seen here: there is nothing to compare them with.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../cgroup/cgroup_util.h"
#include "memio_util.h"

FIXTURE(counters) {
	struct memio m;
	char *group;
	char stat[PATH_MAX];
	struct io read;
	struct memio_file *f;
	bool none;
};

FIXTURE_SETUP(counters)
{
	const char *why = memio_begin_disk(&self->m);
	char source[32];

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, memio_get("source", source, sizeof(source)));
	self->none = !strcmp(source, "none");
	self->group = memio_group(&self->m, "a");
	ASSERT_NE(NULL, self->group);
	set_path(self->stat, "%s/memio.stat", self->group);
	self->read = (struct io) {
		.path = self->m.file,
		.flags = O_RDONLY | O_DIRECT,
		.to = SIZE,
		.step = 64 * KIB,
		.block = 64 * KIB,
	};
	self->f = malloc(sizeof(*self->f));
	ASSERT_NE(NULL, self->f);
}

FIXTURE_TEARDOWN(counters)
{
	memio_end(&self->m);
}

#define NO_COUNTERS	"there are no counters that memio can use"

static bool is_valid(void)
{
	char value[8];

	return !memio_get("valid", value, sizeof(value)) && !strcmp(value, "1");
}

static bool becomes_valid(void *unused)
{
	return is_valid();
}

/* From here on, until it is "auto" again */
static void disarm(void)
{
	memio_set("sampling", "never");
}

static int arm(void)
{
	return memio_set("sampling", "auto");
}

static struct memio_line line_in(enum memio_kind kind, struct memio_file *f, const char *path,
				 const char *key)
{
	const struct memio_line *l;

	if (memio_read(path, kind, f))
		return (struct memio_line) { .key = "unreadable" };
	l = memio_line(f, key);
	return l ? *l : (struct memio_line) {};
}

static struct memio_line line_of(struct memio_file *f, const char *path, const char *key)
{
	return line_in(MEMIO_STAT, f, path, key);
}

struct growth {
	const char *stat, *device;
	struct memio_file *f;
	struct memio_line before;
	long long field[MEMIO_FIELDS];
};

static void grow(struct growth *g)
{
	struct memio_line after = line_of(g->f, g->stat, g->device);
	int i;

	for (i = 0; i < MEMIO_FIELDS; i++)
		g->field[i] = after.field[i] - g->before.field[i];
}

/* Memory bytes are there when the window is closed, some time after the IO bytes. */
static bool all_unpriced(void *arg)
{
	struct growth *g = arg;

	grow(g);
	return g->field[UNPRICED] >= g->field[IO_FROM] + g->field[IO_TO];
}

MEMIO_TEST(counters, unpriced)
{
	struct growth g = {
		.stat = self->stat,
		.device = self->m.disk.master,
		.f = self->f,
	};

	disarm();
	ASSERT_EQ(0, run_io(self->group, &self->read));
	/* At once: there is no window that they wait for. */
	EXPECT_TRUE(all_unpriced(&g));
	EXPECT_LE(SIZE, g.field[IO_FROM]);
	EXPECT_EQ(g.field[IO_FROM], g.field[MEM_WRITE]);
	EXPECT_EQ(g.field[IO_TO], g.field[MEM_READ]);
	EXPECT_EQ(g.field[IO_FROM] + g.field[IO_TO], g.field[UNPRICED]);
	EXPECT_EQ(g.field[IO_TO], g.field[UNPRICED_TO]);
	EXPECT_EQ(g.field[IO_FROM], g.field[UNPRICED_FROM]);
}

/* Once windows are valid, what is accounted has a price, of 2.5 at most. */
MEMIO_TEST(counters, priced)
{
	struct memio_line before, after;
	long long io, mem;

	if (self->none)
		SKIP(return, NO_COUNTERS);
	ASSERT_EQ(0, arm());
	if (!wait_for(becomes_valid, self->stat, 30))
		SKIP(return, "the counters can't be read: somebody else has them?");
	before = line_of(self->f, self->stat, self->m.disk.master);
	ASSERT_EQ(0, run_io(self->group, &self->read));
	/* Until the last window is closed */
	usleep(300000);
	after = line_of(self->f, self->stat, self->m.disk.master);
	/* One that is late is followed by the next. */
	ASSERT_TRUE(wait_for(becomes_valid, self->stat, 30));
	EXPECT_EQ(before.field[UNPRICED], after.field[UNPRICED]);
	io = after.field[IO_FROM] - before.field[IO_FROM];
	mem = after.field[MEM_WRITE] - before.field[MEM_WRITE];
	EXPECT_LE(SIZE, io);
	EXPECT_LE(0, mem);
	EXPECT_GE(io * 5 / 2 + 64 * KIB, mem);

	disarm();
	EXPECT_FALSE(is_valid());
}

/* ---- threads that end before their window does ---- */

#define REQUESTS	48

struct requests {
	const char *file, *stat, *device;
	struct memio_file *f;
	char *buffer;
};

/* To memory of its own, so that little of it stays in the cache: status 0 or not */
static void *request(void *arg)
{
	static atomic_int next;
	struct requests *r = arg;
	int fd = open(r->file, O_RDONLY | O_DIRECT);
	ssize_t n = pread(fd, r->buffer + next++ * MIB, MIB, 0);

	close(fd);
	return n == MIB ? NULL : r;
}

static int requests(const char *group, void *arg)
{
	struct requests *r = arg;
	struct memio_line own, all;
	pthread_t thread;
	void *failed;
	int i;

	r->buffer = mmap(NULL, REQUESTS * MIB, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (r->buffer == MAP_FAILED)
		return 1;
	for (i = 0; i < REQUESTS; i++)
		if (pthread_create(&thread, NULL, request, r) || pthread_join(thread, &failed) ||
		    failed)
			return 2;
	/* Until what the last had is put to the rest, and the last window is closed */
	usleep(1500000);
	/* In this order, or a window that is closed late has bytes that only the group has. */
	all = line_of(r->f, r->stat, r->device);
	own = line_in(MEMIO_MEMBW, r->f, "/proc/self/membw", r->device);
	if (own.field[IO_FROM] != all.field[IO_FROM] || own.field[IO_FROM] < REQUESTS * MIB)
		return 3;
	/* All are rounded down. */
	if (own.field[MEM_WRITE] + 64 * REQUESTS < all.field[MEM_WRITE])
		return 4;
	return all.field[MEM_WRITE] < REQUESTS * MIB / 4 ? 5 : 0;
}

MEMIO_TEST(counters, threads_that_end)
{
	struct requests r = {
		.file = self->m.file,
		.stat = self->stat,
		.device = self->m.disk.master,
		.f = self->f,
	};
	int ret;

	if (self->none)
		SKIP(return, NO_COUNTERS);
	ASSERT_EQ(0, arm());
	ASSERT_EQ(0, memio_set("sample_interval_us", "200000"));
	if (!wait_for(becomes_valid, self->stat, 30))
		SKIP(return, "the counters can't be read: somebody else has them?");
	ret = cg_run(self->group, requests, &r);
	if (ret == 5)
		SKIP(return, "all that is read stays in the cache");
	EXPECT_EQ(0, ret);
}

static int read_stat(void *path)
{
	char text[4096];
	int i;

	for (i = 0; i < 10; i++) {
		if (read_file(path, text, sizeof(text)) <= 0 ||
		    read_file("/proc/self/membw", text, sizeof(text)) <= 0)
			return 1;
		usleep(20000);
	}
	return is_valid() ? 2 : 0;
}

/* Whoever reads figures sees them, and does not make the counters run: root no more than others. */
MEMIO_TEST(counters, readers_dont_sample)
{
	if (self->none)
		SKIP(return, NO_COUNTERS);
	disarm();
	EXPECT_EQ(0, run_as_nobody(read_stat, self->stat));
	EXPECT_EQ(0, read_stat(self->stat));
	/* Nor does it take a reader. */
	ASSERT_EQ(0, arm());
	EXPECT_TRUE(wait_for(becomes_valid, NULL, 30));
}

#define BOX	"/sys/bus/event_source/devices/uncore_cbox_0/"

/* Sets what a file like "config1:52-60" names; returns whether it does. */
static bool set_format(const char *name, unsigned long long value, struct perf_event_attr *attr)
{
	unsigned int config = 0, shift;
	char path[PATH_MAX], text[64];

	set_path(path, BOX "format/%s", name);
	if (read_file(path, text, sizeof(text)) < 0)
		return false;
	if (sscanf(text, "config%u:%u", &config, &shift) != 2 &&
	    sscanf(text, "config:%u", &shift) != 1)
		return false;
	if (config)
		attr->config1 |= value << shift;
	else
		attr->config |= value << shift;
	return true;
}

/* An event that perf has pinned in a box: one opcode, where memio looks for another. */
static int pin_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.pinned = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	char text[64];
	int cpu;

	if (read_file(BOX "type", text, sizeof(text)) < 0)
		return -1;
	attr.type = atoi(text);
	if (read_file(BOX "cpumask", text, sizeof(text)) < 0)
		return -1;
	cpu = atoi(text);
	/* TOR_INSERTS.OPCODE, RFO */
	if (!set_format("event", 0x35, &attr) || !set_format("umask", 0x1, &attr) ||
	    !set_format("filter_opc", 0x180, &attr))
		return -1;
	return syscall(__NR_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* One that lost its counter reads as the end of the file. */
static bool counts(int fd)
{
	unsigned long long v[3];

	return read(fd, v, sizeof(v)) == sizeof(v) && v[1] && v[1] == v[2];
}

/* perf gets the box some time after memio has let it go. */
static bool perf_has_it(void *fd)
{
	int *event = fd;

	if (*event >= 0)
		close(*event);
	*event = pin_event();
	if (*event < 0)
		return false;
	usleep(10000);
	return counts(*event);
}

/* Who comes first has the counters; memio says that it doesn't, and gets them back. */
MEMIO_TEST(counters, trap11_counters_taken)
{
	struct growth g = {
		.stat = self->stat,
		.device = self->m.disk.master,
		.f = self->f,
	};
	int event = -1, later;
	char state[32];

	if (self->none)
		SKIP(return, NO_COUNTERS);
	if (access(BOX "type", F_OK))
		SKIP(return, "there is no %s", BOX);
	disarm();
	ASSERT_TRUE(wait_for(perf_has_it, &event, 30))
		TH_LOG("perf can't count: %s", strerror(errno));

	ASSERT_EQ(0, arm());
	g.before = line_of(self->f, self->stat, self->m.disk.master);
	/* It tries again once a second. */
	usleep(2500000);
	EXPECT_FALSE(is_valid());
	ASSERT_EQ(0, run_io(self->group, &self->read));
	EXPECT_TRUE(wait_for(all_unpriced, &g, 30));
	EXPECT_LE(SIZE, g.field[IO_FROM]);
	EXPECT_EQ(g.field[IO_FROM] + g.field[IO_TO], g.field[UNPRICED]);
	EXPECT_FALSE(is_valid());
	EXPECT_TRUE(counts(event));
	ASSERT_EQ(0, memio_get("state", state, sizeof(state)));
	EXPECT_STREQ("held", state);
	close(event);
	EXPECT_TRUE(wait_for(becomes_valid, self->stat, 30));

	/* Who comes later has them, too: memio gives way, and says so. */
	later = pin_event();
	usleep(2500000);
	EXPECT_TRUE(later >= 0 && counts(later));
	EXPECT_FALSE(is_valid());
	ASSERT_EQ(0, memio_get("state", state, sizeof(state)));
	EXPECT_STREQ("held", state);
	if (later >= 0)
		close(later);
	EXPECT_TRUE(wait_for(becomes_valid, self->stat, 90));

	/* With "always" perf gets nothing, and does no harm. */
	ASSERT_EQ(0, memio_set("sampling", "always"));
	EXPECT_TRUE(wait_for(becomes_valid, self->stat, 30));
	later = pin_event();
	usleep(500000);
	EXPECT_FALSE(later >= 0 && counts(later));
	EXPECT_TRUE(wait_for(becomes_valid, self->stat, 30));
	if (later >= 0)
		close(later);
}

TEST_HARNESS_MAIN

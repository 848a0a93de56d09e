// SPDX-License-Identifier: GPL-2.0
/*
 * memio.limit, memio.min, memio.weight: what is written is what is shown, what is refused
 * changes nothing, and guarantees that can't be kept are scaled down
 *
 * Nothing here depends on how fast anything is. How well limits and guarantees are
 * kept can't be seen without knowing what is moved.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../cgroup/cgroup_util.h"
#include "memio_util.h"

#define KEYS	5
#define WAYS	3
#define MAX	UINT64_MAX

static const char * const ways[WAYS] = { "bps", "rbps", "wbps" };

/* how many lines are tried */
static int fuzz_lines(void)
{
	const char *text = getenv("MEMIO_FUZZ_LINES");
	int n = text ? atoi(text) : 0;

	return n > 0 ? n : 100000;
}

FIXTURE(limit) {
	struct memio m;
	char *group;
	char path[PATH_MAX];
	const char *key[KEYS];		/* in the order in which they are shown */
	int keys;
	bool cpus;			/* there is a counter for what they read */
	char device[64];
	uint64_t rate[KEYS][WAYS];	/* what should hold */
};

FIXTURE_SETUP(limit)
{
	const char *why = memio_begin(&self->m);
	static const char * const keys[] = { "default", "total", "cpu", "io" };
	struct memio_file *f;
	char path[PATH_MAX];
	int i;

	if (why)
		SKIP(return, "%s", why);
	self->group = memio_group(&self->m, "a");
	ASSERT_NE(NULL, self->group);
	set_path(self->path, "%s/memio.limit", self->group);

	i = write_file(self->path, "cpu bps=1125899906842624");
	ASSERT_TRUE(!i || i == -EOPNOTSUPP);
	self->cpus = !i;
	if (self->cpus)
		ASSERT_EQ(0, write_file(self->path, "cpu bps=max"));
	for (i = 0; i < (int)ARRAY_SIZE(keys); i++)
		if (self->cpus || strcmp(keys[i], "cpu"))
			self->key[self->keys++] = keys[i];
	/* and a device, if there is one */
	f = malloc(sizeof(*f));
	ASSERT_NE(NULL, f);
	set_path(path, "%s/memio.stat", self->m.root);
	ASSERT_EQ(0, memio_read(path, MEMIO_STAT, f)) TH_LOG("%s", f->why);
	for (i = 0; i < f->lines && self->keys < KEYS; i++)
		if (memio_is_device(&f->line[i])) {
			snprintf(self->device, sizeof(self->device), "%s", f->line[i].key);
			self->key[self->keys++] = self->device;
		}
	free(f);
	memset(self->rate, 0xff, sizeof(self->rate));
}

FIXTURE_TEARDOWN(limit)
{
	memio_end(&self->m);
}

/* What the file should say. */
static void expected(struct _test_data_limit *self, char *text)
{
	int k, w, any;

	*text = 0;
	for (k = 0; k < self->keys; k++) {
		for (any = w = 0; w < WAYS; w++) {
			if (self->rate[k][w] == MAX)
				continue;
			if (!any++)
				text += sprintf(text, "%s", self->key[k]);
			text += sprintf(text, " %s=%llu", ways[w],
					(unsigned long long)self->rate[k][w]);
		}
		if (any)
			text += sprintf(text, "%s\n",
					!self->cpus && !strcmp(self->key[k], "total") ?
					" except=cpu" : "");
	}
}

static bool as_expected(struct _test_data_limit *self)
{
	char want[4096], got[4096];

	expected(self, want);
	if (read_file(self->path, got, sizeof(got)) < 0)
		return false;
	if (!strcmp(want, got))
		return true;
	ksft_print_msg("got \"%s\", wanted \"%s\"\n", got, want);
	return false;
}

MEMIO_TEST(limit, where)
{
	char path[PATH_MAX], text[4096];
	struct stat st;

	ASSERT_EQ(0, stat(self->path, &st));
	EXPECT_EQ(0644, st.st_mode & 07777);
	EXPECT_EQ(0, read_file(self->path, text, sizeof(text)));
	set_path(path, "%s/memio.limit", self->m.root);
	EXPECT_EQ(-1, access(path, F_OK));
}

MEMIO_TEST(limit, accepted)
{
	char text[256];
	int k, w;

	for (k = 0; k < self->keys; k++) {
		for (w = 0; w < WAYS; w++) {
			self->rate[k][w] = 1000000007ULL * (k + 1) + w;
			sprintf(text, "%s %s=%llu%s", self->key[k], ways[w],
				(unsigned long long)self->rate[k][w], w ? "\n" : "");
			EXPECT_EQ(0, write_file(self->path, text)) TH_LOG("%s", text);
			EXPECT_TRUE(as_expected(self));
		}
		/* all at once, in another order */
		sprintf(text, " %s\twbps=1  bps=1125899906842624 rbps=max ", self->key[k]);
		self->rate[k][0] = 1ULL << 50;
		self->rate[k][1] = MAX;
		self->rate[k][2] = 1;
		EXPECT_EQ(0, write_file(self->path, text)) TH_LOG("%s", text);
		EXPECT_TRUE(as_expected(self));
	}
	for (k = 0; k < self->keys; k++) {
		sprintf(text, "%s bps=max rbps=max wbps=max", self->key[k]);
		memset(self->rate[k], 0xff, sizeof(self->rate[k]));
		EXPECT_EQ(0, write_file(self->path, text)) TH_LOG("%s", text);
		EXPECT_TRUE(as_expected(self));
	}
}

MEMIO_TEST(limit, refused)
{
	static const struct {
		const char *written;
		int error;
	} bad[] = {
		{ "total", EINVAL }, { "\n", EINVAL }, { "bps=1", EINVAL },
		{ "total bps=", EINVAL }, { "total bps=-1", EINVAL }, { "total bps=+1", EINVAL },
		{ "total bps=1k", EINVAL }, { "total bps=0x1", EINVAL },
		{ "total bps=1 bps=1", EINVAL }, { "total bps=1\nio bps=1", EINVAL },
		{ "total iops=1", EINVAL }, { "total 1", EINVAL },
		{ "nowhere bps", EINVAL }, { "nowhere bps=x", EINVAL },
		{ "nowhere bps=0", ERANGE },
		{ "nowhere bps=1", ENODEV }, { "0:0 bps=1", ENODEV }, { "Total bps=1", ENODEV },
		{ "lo bps=max", ENODEV },
		{ "total bps=0", ERANGE }, { "total rbps=1125899906842625", ERANGE },
		{ "io bps=18446744073709551616", ERANGE }, { "total bps=5 rbps=0", ERANGE },
	};
	unsigned int i;

	ASSERT_EQ(0, write_file(self->path, "total rbps=1234567890123"));
	self->rate[1][1] = 1234567890123;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-bad[i].error, write_file(self->path, bad[i].written))
			TH_LOG("'%s'", bad[i].written);
		EXPECT_TRUE(as_expected(self)) TH_LOG("after '%s'", bad[i].written);
	}
}

static unsigned int seed;

static unsigned int any(unsigned int below)
{
	seed = seed * 1664525 + 1013904223;
	return (unsigned long long)(seed >> 4) * below >> 28;
}

/* A line that is right, and what it sets */
static void make_line(struct _test_data_limit *self, char *text, uint64_t (*rate)[WAYS])
{
	int k = any(self->keys), w = any(WAYS), n = 1 + any(WAYS);
	uint64_t r;

	text += sprintf(text, "%s", self->key[k]);
	while (n--) {
		/* So large that nobody is stopped. */
		r = any(3) ? (1ULL << 40) + any(1 << 20) : MAX;
		rate[k][w] = r;
		if (r == MAX)
			text += sprintf(text, " %s=max", ways[w]);
		else
			text += sprintf(text, " %s=%llu", ways[w], (unsigned long long)r);
		w = (w + 1) % WAYS;
	}
}

/* A byte is changed, inserted or lost. */
static void spoil(char *text)
{
	static const char bytes[] = "0123456789=x.- \t\nmaxbpsrwtlo:e\x7f\xff";
	unsigned int at = any(strlen(text));

	switch (any(3)) {
	case 0:
		text[at] = bytes[any(sizeof(bytes) - 1)];
		break;
	case 1:
		memmove(text + at + 1, text + at, strlen(text + at) + 1);
		text[at] = bytes[any(sizeof(bytes) - 1)];
		break;
	default:
		memmove(text + at, text + at + 1, strlen(text + at));
	}
}

/* Without a model of what spoilt lines mean: those that are accepted are made good again. */
TEST_F_TIMEOUT(limit, fuzz, 3 * MEMIO_TIMEOUT)
{
	char text[512], before[4096], after[4096];
	uint64_t rate[KEYS][WAYS];
	char *other = memio_group(&self->m, "b"), *line;
	int i, n, ret, refused = 0, lines = fuzz_lines();

	ASSERT_NE(NULL, other);
	/* So that limits are not switched off and on each time. */
	ASSERT_EQ(0, cg_write(other, "memio.limit", "total bps=1125899906842624"));
	seed = 1;
	for (i = 0; i < lines; i++) {
		memcpy(rate, self->rate, sizeof(rate));
		make_line(self, text, rate);
		if (!any(8)) {
			ASSERT_EQ(0, write_file(self->path, text)) TH_LOG("'%s'", text);
			memcpy(self->rate, rate, sizeof(rate));
			ASSERT_TRUE(as_expected(self)) TH_LOG("after '%s'", text);
			continue;
		}
		for (n = 1 + any(3); n && strlen(text) > 1; n--)
			spoil(text);
		ASSERT_LE(0, read_file(self->path, before, sizeof(before)));
		ret = write_file(self->path, text);
		ASSERT_TRUE(!ret || ret == -EINVAL || ret == -ERANGE || ret == -ENODEV ||
			    (ret == -EOPNOTSUPP && !self->cpus))
			TH_LOG("'%s': %d", text, ret);
		ASSERT_LE(0, read_file(self->path, after, sizeof(after)));
		if (ret) {
			refused++;
			ASSERT_STREQ(before, after) TH_LOG("after '%s'", text);
			continue;
		}
		/* It may be a device that is not one of the keys. */
		for (line = strtok(after, "\n"); line; line = strtok(NULL, "\n")) {
			snprintf(text, sizeof(text), "%.*s bps=max rbps=max wbps=max",
				 (int)strcspn(line, " "), line);
			ASSERT_EQ(0, write_file(self->path, text)) TH_LOG("'%s'", text);
		}
		memset(self->rate, 0xff, sizeof(self->rate));
		ASSERT_TRUE(as_expected(self));
	}
	EXPECT_LT(lines / 2, refused);
}

/*
 * Who sets a limit and lifts it again, in a loop, has no code patched each time, nor waits for
 * everybody's grace periods.
 * fails-on: 61c7c74
 */
MEMIO_TEST(limit, comes_and_goes)
{
	double begun, grace;
	int i;

	/* A grace period each */
	if (syscall(SYS_membarrier, 1, 0, 0) < 0)
		SKIP(return, "no membarrier(MEMBARRIER_CMD_GLOBAL)");
	begun = seconds_now();
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, syscall(SYS_membarrier, 1, 0, 0));
	grace = seconds_now() - begun;
	begun = seconds_now();
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, write_file(self->path, "io bps=1125899906842624"));
		ASSERT_EQ(0, write_file(self->path, "io bps=max"));
	}
	EXPECT_LT(seconds_now() - begun, grace / 2);
}

/* A task of the group, of class @policy; its pid */
static pid_t task_of(const char *group, int policy)
{
	struct sched_param param = { .sched_priority = policy == SCHED_FIFO };
	pid_t pid = fork();

	if (!pid) {
		if (cg_enter_current(group) || sched_setscheduler(0, policy, &param))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	if (pid > 0 && (waitpid(pid, NULL, WUNTRACED) != pid || kill(pid, 0)))
		return -1;
	return pid;
}

/*
 * Nothing stops a real-time task: a limit for nobody else is refused, and says so if some are.
 * fails-on: 61c7c74
 */
MEMIO_TEST(limit, cannot_hold)
{
	const char *line = "io bps=1125899906842624";
	char text[4096], wanted[64];
	pid_t fifo = task_of(self->group, SCHED_FIFO), other, idle;

	ASSERT_LT(0, fifo);
	EXPECT_EQ(-EOPNOTSUPP, write_file(self->path, line));
	EXPECT_TRUE(as_expected(self));
	EXPECT_EQ(0, write_file(self->path, "io bps=max"));
	other = task_of(self->group, SCHED_OTHER);
	ASSERT_LT(0, other);
	EXPECT_EQ(0, write_file(self->path, line));
	snprintf(wanted, sizeof(wanted), "%s except=classes\n", line);
	ASSERT_LE(0, read_file(self->path, text, sizeof(text)));
	EXPECT_STREQ(wanted, text);
	/* What was read can be written. */
	EXPECT_EQ(0, write_file(self->path, text));
	kill(fifo, SIGKILL);
	ASSERT_EQ(fifo, waitpid(fifo, NULL, 0));
	snprintf(wanted, sizeof(wanted), "%s\n", line);
	ASSERT_LE(0, read_file(self->path, text, sizeof(text)));
	EXPECT_STREQ(wanted, text);
	kill(other, SIGKILL);
	ASSERT_EQ(other, waitpid(other, NULL, 0));
	/* Who runs when nobody else does is of the fair class, and stops. */
	idle = task_of(self->group, SCHED_IDLE);
	ASSERT_LT(0, idle);
	EXPECT_EQ(0, write_file(self->path, "io bps=max"));
	EXPECT_EQ(0, write_file(self->path, line));
	ASSERT_LE(0, read_file(self->path, text, sizeof(text)));
	EXPECT_STREQ(wanted, text);
	kill(idle, SIGKILL);
	ASSERT_EQ(idle, waitpid(idle, NULL, 0));
}

/* A group that goes takes its limits with it. */
MEMIO_TEST(limit, removed)
{
	char *below;
	int i;

	for (i = 0; i < 20; i++) {
		below = memio_group(&self->m, "a/below");
		ASSERT_NE(NULL, below);
		ASSERT_EQ(0, cg_write(below, "memio.limit", "default bps=1"));
		ASSERT_EQ(0, cg_write(below, "memio.limit", "total bps=1"));
		ASSERT_EQ(0, rmdir(below));
		free(below);
	}
	/* The controller is switched off, and on again. */
	below = memio_group(&self->m, "a/below");
	ASSERT_NE(NULL, below);
	ASSERT_EQ(0, cg_write(below, "memio.limit", "total bps=1"));
	ASSERT_EQ(0, cg_write(self->group, "cgroup.subtree_control", "-memio"));
	ASSERT_EQ(0, cg_write(self->group, "cgroup.subtree_control", "+memio"));
	EXPECT_EQ(0, cg_read_strcmp(below, "memio.limit", ""));
}

/* ---- guarantees and weights ---- */

FIXTURE(share) {
	struct memio m;
	char *group[2];
	char guaranteed[64];	/* as it was before */
	long long total;
};

FIXTURE_SETUP(share)
{
	const char *why = memio_begin(&self->m);
	int i;

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, memio_get("guaranteed_bps", self->guaranteed, sizeof(self->guaranteed)));
	/* So much that nobody is stopped. */
	ASSERT_EQ(0, memio_set("guaranteed_bps", "100000000000"));
	for (i = 0; i < 2; i++) {
		self->group[i] = memio_group(&self->m, i ? "b" : "a");
		ASSERT_NE(NULL, self->group[i]);
	}
	/* What is guaranteed is of what those above have. */
	ASSERT_EQ(0, cg_write(self->m.base, "memio.min", "max"));
	/* There may be several packages. */
	ASSERT_EQ(0, cg_write(self->group[0], "memio.min", "max"));
	self->total = cg_read_long(self->group[0], "memio.min.effective");
	ASSERT_LE(100000000000LL, self->total);
	EXPECT_EQ(0, self->total % 100000000000LL);
	EXPECT_EQ(0, cg_read_strcmp(self->group[0], "memio.min", "max\n"));
	ASSERT_EQ(0, cg_write(self->group[0], "memio.min", "0"));
}

FIXTURE_TEARDOWN(share)
{
	memio_set("guaranteed_bps", self->guaranteed);
	memio_end(&self->m);
}

MEMIO_TEST(share, where)
{
	static const struct {
		const char *name;
		mode_t mode;
		const char *text;
	} file[] = {
		{ "memio.min", 0644, "0\n" },
		{ "memio.min.effective", 0444, "0\n" },
		{ "memio.weight", 0644, "100\n" },
	};
	char path[PATH_MAX];
	struct stat st;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(file); i++) {
		set_path(path, "%s/%s", self->group[1], file[i].name);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(file[i].mode, st.st_mode & 07777);
		EXPECT_EQ(0, cg_read_strcmp(self->group[1], file[i].name, file[i].text));
		set_path(path, "%s/%s", self->m.root, file[i].name);
		EXPECT_EQ(-1, access(path, F_OK));
	}
}

MEMIO_TEST(share, refused)
{
	static const struct {
		const char *name, *written;
		int error;
	} bad[] = {
		{ "memio.min", "", EINVAL }, { "memio.min", "-1", EINVAL },
		{ "memio.min", "+1", EINVAL }, { "memio.min", "1k", EINVAL },
		{ "memio.min", "1 2", EINVAL }, { "memio.min", "maximum", EINVAL },
		{ "memio.min", "0x10", EINVAL }, { "memio.min", "total=1", EINVAL },
		{ "memio.min", "1125899906842625", ERANGE },
		{ "memio.min", "18446744073709551616", ERANGE },
		{ "memio.weight", "max", EINVAL }, { "memio.weight", "-1", EINVAL },
		{ "memio.weight", "default", EINVAL }, { "memio.weight", "100 100", EINVAL },
		{ "memio.weight", "0", ERANGE }, { "memio.weight", "10001", ERANGE },
		{ "memio.weight", "4294967396", ERANGE },
	};
	char path[PATH_MAX];
	unsigned int i;

	ASSERT_EQ(0, cg_write(self->group[0], "memio.min", "1234567890123\n"));
	ASSERT_EQ(0, cg_write(self->group[0], "memio.weight", " 4321 "));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		set_path(path, "%s/%s", self->group[0], bad[i].name);
		/* A write of nothing does not reach the file. */
		if (*bad[i].written)
			EXPECT_EQ(-bad[i].error, write_file(path, bad[i].written))
				TH_LOG("%s: '%s'", bad[i].name, bad[i].written);
		EXPECT_EQ(0, cg_read_strcmp(self->group[0], "memio.min", "1234567890123\n"));
		EXPECT_EQ(0, cg_read_strcmp(self->group[0], "memio.weight", "4321\n"));
	}
}

/* What a text means: a number between blanks, or "max" */
static int meaning(const char *text, bool max, uint64_t least, uint64_t most, uint64_t *value)
{
	static const char blank[] = " \t\n\v\f\r";
	const char *at = text + strspn(text, blank);
	size_t n = strspn(at, "0123456789");
	const char *behind = at + n;

	errno = 0;
	*value = most;
	if (max && !strncmp(at, "max", 3)) {
		n = 3;
		behind = at + n;
	} else {
		*value = strtoull(at, NULL, 10);
	}
	if (!n || behind[strspn(behind, blank)])
		return -EINVAL;
	if (errno == ERANGE || *value < least || *value > most)
		return -ERANGE;
	return 0;
}

TEST_F_TIMEOUT(share, fuzz, 3 * MEMIO_TIMEOUT)
{
	static const struct {
		const char *name;
		bool max;
		uint64_t least, most;
	} file[] = {
		{ "memio.min", true, 0, 1ULL << 50 },
		{ "memio.weight", false, 1, 10000 },
	};
	char text[64], wanted[64], path[2][PATH_MAX];
	int i, k, n, ret, refused[2] = {}, lines = fuzz_lines();
	uint64_t value, now[2] = { 0, 100 };

	for (k = 0; k < 2; k++)
		set_path(path[k], "%s/%s", self->group[0], file[k].name);
	seed = 1;
	for (i = 0; i < lines; i++) {
		k = any(2);
		value = any(1 << 28);
		value = value << any(36) | any(1 << 28);
		value >>= any(60);
		if (any(4))
			snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
		else
			snprintf(text, sizeof(text), any(2) ? "max" : "10000");
		for (n = any(3); n && strlen(text) > 1; n--)
			spoil(text);
		ret = meaning(text, file[k].max, file[k].least, file[k].most, &value);
		ASSERT_EQ(ret, write_file(path[k], text)) TH_LOG("%s: '%s'", file[k].name, text);
		if (ret)
			refused[k]++;
		else
			now[k] = value;
		for (n = 0; n < 2; n++) {
			snprintf(wanted, sizeof(wanted), "%llu\n", (unsigned long long)now[n]);
			if (file[n].max && now[n] == file[n].most)
				snprintf(wanted, sizeof(wanted), "max\n");
			ASSERT_EQ(0, cg_read_strcmp(self->group[0], file[n].name, wanted))
				TH_LOG("%s after %s: '%s'", file[n].name, file[k].name, text);
		}
	}
	for (k = 0; k < 2; k++) {
		EXPECT_LT(lines / 10, refused[k]);
		EXPECT_GT(lines / 2 - lines / 20, refused[k]);
	}
}

/* More is guaranteed than there is: each has the same part of its own. */
MEMIO_TEST(share, scaled)
{
	char *below[2], text[64];
	int i;

	snprintf(text, sizeof(text), "%lld", self->total / 4 * 3);
	ASSERT_EQ(0, cg_write(self->group[0], "memio.min", text));
	EXPECT_EQ(self->total / 4 * 3, cg_read_long(self->group[0], "memio.min.effective"));
	ASSERT_EQ(0, cg_write(self->group[1], "memio.min", text));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(self->total / 2, cg_read_long(self->group[i], "memio.min.effective"));
	/* And below it, of what that has */
	for (i = 0; i < 2; i++) {
		below[i] = memio_group(&self->m, i ? "a/y" : "a/x");
		ASSERT_NE(NULL, below[i]);
		snprintf(text, sizeof(text), "%lld", self->total / (i ? 2 : 4));
		ASSERT_EQ(0, cg_write(below[i], "memio.min", text));
	}
	EXPECT_EQ(self->total / 6, cg_read_long(below[0], "memio.min.effective"));
	EXPECT_EQ(self->total / 3, cg_read_long(below[1], "memio.min.effective"));
	/* Nothing is known of the memory, and nothing guaranteed. */
	ASSERT_EQ(0, memio_set("guaranteed_bps", "0"));
	EXPECT_EQ(0, cg_read_long(below[1], "memio.min.effective"));
	EXPECT_EQ(0, cg_read_long(self->group[1], "memio.min.effective"));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, rmdir(below[i]));
		free(below[i]);
	}
}

/* Tasks that come and go, while it is switched on and off, and next to nothing is there */
MEMIO_TEST(share, on_and_off)
{
	struct timespec pause = { .tv_nsec = 20000000 };
	struct pollfd alive[2];
	int i, status, pipes[2][2];
	char bytes[4096];
	pid_t pid[2];

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pipe2(pipes[i], O_NONBLOCK));
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (pid[i])
			continue;
		if (cg_enter_current(self->group[i]))
			_exit(1);
		for (;;)
			if (!fork())
				_exit(write(pipes[i][1], "", 1) != 1);
			else
				wait(NULL);
	}
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, memio_set("guaranteed_bps", i % 2 ? "0" : "1"));
		if (i % 3)
			nanosleep(&pause, NULL);
		ASSERT_EQ(0, cg_write(self->group[i % 2], "memio.weight", i % 5 ? "1" : "10000"));
		ASSERT_EQ(0, cg_write(self->group[i % 2], "memio.min", i % 7 ? "max" : "0"));
	}
	/* Nobody is left behind. */
	ASSERT_EQ(0, memio_set("guaranteed_bps", "0"));
	for (i = 0; i < 2; i++) {
		while (read(pipes[i][0], bytes, sizeof(bytes)) > 0)
			;
		alive[i] = (struct pollfd){ .fd = pipes[i][0], .events = POLLIN };
		EXPECT_EQ(1, poll(&alive[i], 1, 60000));
	}
	ASSERT_EQ(0, memio_set("guaranteed_bps", "1"));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, kill(pid[i], SIGKILL));
		EXPECT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, cg_killall(self->group[i]));
	}
}

/* ---- tasks that are stopped ---- */

FIXTURE(stopped) {
	struct memio m;
	char *group;
	atomic_int *told;
};

FIXTURE_SETUP(stopped)
{
	const char *why = memio_begin_disk(&self->m);

	if (why)
		SKIP(return, "%s", why);
	self->group = memio_group(&self->m, "a");
	ASSERT_NE(NULL, self->group);
	self->told = self->m.shared;
}

FIXTURE_TEARDOWN(stopped)
{
	memio_end(&self->m);
}

static bool was_stopped(void *group)
{
	return cg_read_key_long(group, "memio.events.local", "throttled ") > 0;
}

/* However much is read at once, it is paid for: 4 MiB are seven minutes. */
MEMIO_TEST(stopped, debt_is_kept)
{
	pid_t pid;
	void *buf;
	int fd;

	ASSERT_EQ(0, cg_write(self->group, "memio.limit", "io bps=10000"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = open(self->m.file, O_RDONLY | O_DIRECT);
		buf = aligned_alloc(BLOCK, SIZE);
		if (fd < 0 || !buf || cg_enter_current(self->group))
			_exit(1);
		_exit(read(fd, buf, SIZE) != SIZE);
	}
	EXPECT_TRUE(wait_for(was_stopped, self->group, 60));
	EXPECT_EQ(0, cg_read_key_long(self->group, "memio.events.local", "forgiven_bytes "));
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(0, cg_write(self->group, "memio.limit", "io bps=max"));
}

static bool has_read(void *told)
{
	return *(atomic_int *)told > 1;
}

/* It owes minutes, and more comes; it gets on all the same after 10 s. */
MEMIO_TEST(stopped, gets_on)
{
	int fd, i;
	void *buf;
	pid_t pid;

	ASSERT_EQ(0, cg_write(self->group, "memio.limit", "io bps=10000"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = open(self->m.file, O_RDONLY | O_DIRECT);
		buf = aligned_alloc(BLOCK, SIZE);
		if (fd < 0 || !buf || cg_enter_current(self->group))
			_exit(1);
		for (i = 0; i < 100; i++) {
			if (pread(fd, buf, SIZE, 0) != SIZE)
				_exit(1);
			++*self->told;
		}
		_exit(0);
	}
	EXPECT_TRUE(wait_for(has_read, (void *)self->told, 60));
	/* Each time for 10 s, but for what was let go at the beginning. */
	EXPECT_GT(6, *self->told);
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(0, cg_write(self->group, "memio.limit", "io bps=max"));
}

/*
 * A system call stores to a page that is clean, with a directory's lock, which costs 4 s: it
 * doesn't wait for that before it returns, as others need the directory.
 */
static void list_to_file(const char *group, const char *dir, const char *file,
			 atomic_int *told)
{
	int fd = open(file, O_RDWR), at = open(dir, O_RDONLY | O_DIRECTORY), i;
	char *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), sum = 0;

	if (fd < 0 || at < 0 || map == MAP_FAILED)
		_exit(1);
	/* The disk has nothing to read then. */
	for (i = 0; i < SIZE; i += BLOCK)
		sum += map[i];
	*told = sum & 0;
	if (cg_enter_current(group))
		_exit(1);
	for (i = 0; i < SIZE; i += BLOCK) {
		if (lseek(at, 0, SEEK_SET) || syscall(SYS_getdents64, at, map + i, BLOCK) <= 0)
			_exit(1);
		++*told;
	}
	_exit(0);
}

MEMIO_TEST(stopped, locks_are_let_go)
{
	double begin, before, most = 0;
	char path[PATH_MAX];
	pid_t pid;

	if (!self->m.pages)
		SKIP(return, "the kernel was not booted with memio=tasks");
	ASSERT_EQ(0, cg_write(self->group, "memio.limit", "io rbps=1000"));
	set_path(path, "%s/new", self->m.dir);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		list_to_file(self->group, self->m.dir, self->m.file, self->told);
	EXPECT_TRUE(wait_for(was_stopped, self->group, 60));
	begin = seconds_now();
	do {
		before = seconds_now();
		EXPECT_EQ(0, mkdir(path, 0700));
		EXPECT_EQ(0, rmdir(path));
		if (seconds_now() - before > most)
			most = seconds_now() - before;
	} while (seconds_now() - begin < 14);
	EXPECT_GT(3, most);
	/* It was stopped more than once meanwhile, and is still at it. */
	EXPECT_LT(1, *self->told);
	EXPECT_GT(SIZE / BLOCK, *self->told);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(0, cg_write(self->group, "memio.limit", "io rbps=max"));
}

TEST_HARNESS_MAIN

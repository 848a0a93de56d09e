// SPDX-License-Identifier: GPL-2.0
/*
 * memio's files: formats, what they refuse, and who may read and write them
 *
 * Nothing here needs IO; the same files with figures in them are read all over the
 * other tests, by the same strict parser, which is tested here, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../cgroup/cgroup_util.h"
#include "memio_util.h"

static const char * const settings[] = {
	"enabled", "estimator", "sample_interval_us", "sample_hold_ms", "period_us",
	"guaranteed_bps", "without_counters", "sampling",
};

static const char * const shown[] = { "source", "state", "valid" };

/* How good figures are */
static bool is_state(const char *word)
{
	static const char * const states[] = {
		"ok", "warming", "held", "absent", "disagrees", "off",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (!strcmp(word, states[i]))
			return true;
	return false;
}

static void setting_path(char *path, const char *name)
{
	set_path(path, "/sys/kernel/memio/%s", name);
}

/* ---- /sys/kernel/memio ---- */

FIXTURE(sysfs) {
	char before[ARRAY_SIZE(settings)][32];
};

FIXTURE_SETUP(sysfs)
{
	unsigned int i;

	if (geteuid())
		SKIP(return, "needs root");
	if (access("/sys/kernel/memio/enabled", F_OK))
		SKIP(return, "this kernel has no memio");
	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		ASSERT_EQ(0, memio_get(settings[i], self->before[i], sizeof(self->before[i])));
	}
}

FIXTURE_TEARDOWN(sysfs)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		EXPECT_EQ(0, memio_set(settings[i], self->before[i]));
	}
}

MEMIO_TEST(sysfs, values)
{
	static const char * const estimators[] = { "device", "dirty", "miss", "seed" };
	char value[64], path[PATH_MAX];
	struct stat st;
	unsigned int i;
	long n;

	for (i = 0; i < ARRAY_SIZE(settings) + ARRAY_SIZE(shown); i++) {
		bool rw = i < ARRAY_SIZE(settings);
		const char *name = rw ? settings[i] : shown[i - ARRAY_SIZE(settings)];

		setting_path(path, name);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(rw ? 0644 : 0444, st.st_mode & 07777) TH_LOG("%s", name);
		/* One word, and the end of the line. */
		ASSERT_LT(1, read_file(path, value, sizeof(value)));
		EXPECT_EQ(strlen(value) - 1, strcspn(value, " \t\n")) TH_LOG("%s: %s", name, value);
		EXPECT_EQ('\n', value[strlen(value) - 1]);
	}

	ASSERT_EQ(0, memio_get("enabled", value, sizeof(value)));
	EXPECT_TRUE(!strcmp(value, "0") || !strcmp(value, "1")) TH_LOG("%s", value);
	ASSERT_EQ(0, memio_get("valid", value, sizeof(value)));
	EXPECT_TRUE(!strcmp(value, "0") || !strcmp(value, "1")) TH_LOG("%s", value);
	ASSERT_EQ(0, memio_get("state", value, sizeof(value)));
	EXPECT_TRUE(is_state(value)) TH_LOG("%s", value);
	ASSERT_EQ(0, memio_get("sampling", value, sizeof(value)));
	EXPECT_TRUE(!strcmp(value, "auto") || !strcmp(value, "always") || !strcmp(value, "never"))
		TH_LOG("%s", value);
	ASSERT_EQ(0, memio_get("estimator", value, sizeof(value)));
	for (i = 0; i < ARRAY_SIZE(estimators) && strcmp(value, estimators[i]); i++)
		;
	EXPECT_LT(i, ARRAY_SIZE(estimators)) TH_LOG("%s", value);
	ASSERT_EQ(0, memio_get("sample_interval_us", value, sizeof(value)));
	n = strtol(value, NULL, 10);
	EXPECT_TRUE(n >= 1000 && n <= 1000000) TH_LOG("%s", value);
	ASSERT_EQ(0, memio_get("sample_hold_ms", value, sizeof(value)));
	n = strtol(value, NULL, 10);
	EXPECT_TRUE(n >= 100 && n <= 3600000) TH_LOG("%s", value);
	ASSERT_EQ(0, memio_get("period_us", value, sizeof(value)));
	n = strtol(value, NULL, 10);
	EXPECT_TRUE(n >= 100 && n <= 100000) TH_LOG("%s", value);
}

MEMIO_TEST(sysfs, accepted)
{
	static const struct {
		const char *name, *written, *read;
	} good[] = {
		{ "enabled", "0", "0" },
		{ "enabled", "1", "1" },
		{ "enabled", "n\n", "0" },
		{ "enabled", "Y\n", "1" },
		{ "enabled", "off", "0" },
		{ "enabled", "on\n", "1" },
		{ "estimator", "seed", "seed" },
		{ "estimator", "miss\n", "miss" },
		{ "estimator", "dirty", "dirty" },
		{ "estimator", "device\n", "device" },
		{ "sample_interval_us", "1000", "1000" },
		{ "sample_interval_us", "1000000\n", "1000000" },
		{ "sample_interval_us", "+5000\n", "5000" },
		{ "sample_hold_ms", "3600000\n", "3600000" },
		{ "sample_hold_ms", "100", "100" },
		{ "period_us", "100", "100" },
		{ "period_us", "100000\n", "100000" },
		{ "guaranteed_bps", "100000000000\n", "100000000000" },
		{ "guaranteed_bps", "0", "0" },
		{ "without_counters", "lift\n", "lift" },
		{ "without_counters", "io", "io" },
		{ "sampling", "never\n", "never" },
		{ "sampling", "always", "always" },
		{ "sampling", "auto\n", "auto" },
	};
	char value[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		EXPECT_EQ(0, memio_set(good[i].name, good[i].written))
			TH_LOG("%s: '%s'", good[i].name, good[i].written);
		ASSERT_EQ(0, memio_get(good[i].name, value, sizeof(value)));
		EXPECT_STREQ(good[i].read, value);
	}
}

MEMIO_TEST(sysfs, refused)
{
	static const struct {
		const char *name, *written;
		int error;
	} bad[] = {
		{ "enabled", "2", EINVAL },
		{ "enabled", "x", EINVAL },
		{ "enabled", "-1", EINVAL },
		{ "enabled", "\n", EINVAL },
		{ "estimator", "none", EINVAL },
		{ "estimator", "dirt", EINVAL },
		{ "estimator", "dirty miss", EINVAL },
		{ "estimator", "Dirty", EINVAL },
		{ "estimator", "\n", EINVAL },
		{ "sample_interval_us", "x", EINVAL },
		{ "sample_interval_us", "\n", EINVAL },
		{ "sample_interval_us", "-1000", EINVAL },
		{ "sample_interval_us", "0x2000", EINVAL },
		{ "sample_interval_us", "5000 5000", EINVAL },
		{ "sample_interval_us", "5000us", EINVAL },
		{ "sample_interval_us", "1e4", EINVAL },
		{ "sample_interval_us", "0", ERANGE },
		{ "sample_interval_us", "999", ERANGE },
		{ "sample_interval_us", "1000001", ERANGE },
		{ "sample_interval_us", "4294968296", ERANGE },
		{ "sample_interval_us", "18446744073709556616", ERANGE },
		{ "sample_hold_ms", "-1", EINVAL },
		{ "sample_hold_ms", "max", EINVAL },
		{ "sample_hold_ms", "0", ERANGE },
		{ "sample_hold_ms", "99", ERANGE },
		{ "sample_hold_ms", "3600001", ERANGE },
		{ "sample_hold_ms", "4294968296", ERANGE },
		{ "period_us", "1ms", EINVAL },
		{ "period_us", "99", ERANGE },
		{ "period_us", "100001", ERANGE },
		{ "guaranteed_bps", "max", EINVAL },
		{ "guaranteed_bps", "-1", EINVAL },
		{ "guaranteed_bps", "1125899906842625", ERANGE },
		{ "without_counters", "1", EINVAL },
		{ "without_counters", "lif", EINVAL },
		{ "without_counters", "io lift", EINVAL },
		{ "sampling", "1", EINVAL },
		{ "sampling", "on", EINVAL },
		{ "sampling", "alway", EINVAL },
		{ "sampling", "auto never", EINVAL },
		{ "sampling", "\n", EINVAL },
		{ "enabled", "autom", EINVAL },
	};
	/* None of them is the default, to which nothing shall fall back. */
	static const char * const values[] = { "1", "miss", "20000", "7000", "3000",
						"200000000000", "lift", "always" };
	char value[64];
	unsigned int i, j;

	for (j = 0; j < ARRAY_SIZE(settings); j++) {
		ASSERT_EQ(0, memio_set(settings[j], values[j]));
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-bad[i].error, memio_set(bad[i].name, bad[i].written))
			TH_LOG("%s: '%s'", bad[i].name, bad[i].written);
		for (j = 0; j < ARRAY_SIZE(settings); j++) {
			ASSERT_EQ(0, memio_get(settings[j], value, sizeof(value)));
			EXPECT_STREQ(values[j], value)
				TH_LOG("after '%s' to %s", bad[i].written, bad[i].name);
		}
	}
	for (i = 0; i < ARRAY_SIZE(shown); i++) {
		EXPECT_GT(0, memio_set(shown[i], "1")) TH_LOG("%s can be written", shown[i]);
	}
}

static int sysfs_as_nobody(void *unused)
{
	char value[64], path[PATH_MAX];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		setting_path(path, settings[i]);
		if (memio_get(settings[i], value, sizeof(value)))
			return 1;
		if (write_file(path, value) != -EACCES)
			return 2;
	}
	for (i = 0; i < ARRAY_SIZE(shown); i++) {
		setting_path(path, shown[i]);
		if (memio_get(shown[i], value, sizeof(value)))
			return 3;
		if (write_file(path, value) != -EACCES)
			return 4;
	}
	return 0;
}

MEMIO_TEST(sysfs, nobody_reads)
{
	EXPECT_EQ(0, run_as_nobody(sysfs_as_nobody, NULL));
}

/* ---- the parser ---- */

/* Of what CPUs read alone; more than a line, and less; and a line whose parts are wrong */
#define CPUS_TOTAL	"total io_to=0 io_from=0 mem_read=3 mem_write=4 unpriced=0 unpriced_to=0 unpriced_from=0\n"
#define MORE_TOTAL	"total io_to=1 io_from=2 mem_read=7 mem_write=4 unpriced=3 unpriced_to=1 unpriced_from=2\n"
#define LESS_TOTAL	"total io_to=1 io_from=2 mem_read=2 mem_write=4 unpriced=3 unpriced_to=1 unpriced_from=2\n"
#define OTHER_STAT	" io_to=1 io_from=2 mem_read=3 mem_write=4 unpriced=3 unpriced_to=2 unpriced_from=1\n"
#define LINE_STAT	" io_to=1 io_from=2 mem_read=3 mem_write=4 unpriced=3 unpriced_to=1 unpriced_from=2"
#define CPU_STAT	"cpu mem_read=0 mem_write=0 valid=0\n"
#define CPU_STAT_1	"cpu mem_read=1 mem_write=0 valid=1\n"
#define TOTAL_STAT	"total" LINE_STAT "\n"
#define HEAD		"source none\nestimator device\nvalid 0\nwindow_us 5\nupdated_ns 6\n"

TEST(parser)
{
	static const struct {
		bool good;
		enum memio_kind kind;
		const char *text;
	} texts[] = {
		{ true, MEMIO_STAT, CPU_STAT TOTAL_STAT },
		{ true, MEMIO_STAT, "0000:00:03.0" LINE_STAT "\n" CPU_STAT TOTAL_STAT },
		/* What is not known is skipped. */
		{ true, MEMIO_STAT, "a" LINE_STAT " new=x:y\n" CPU_STAT TOTAL_STAT },
		{ true, MEMIO_MEMBW, HEAD "state ok\nnew x\n\na alias=b,8:0" LINE_STAT "\n"
		  CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "a" LINE_STAT "\n" CPU_STAT "total" LINE_STAT },
		{ false, MEMIO_STAT, "a" LINE_STAT "\na" LINE_STAT "\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "a" LINE_STAT " io_to=1\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "a" LINE_STAT " more\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "a" LINE_STAT " =1\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "a" LINE_STAT " x=\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "a" LINE_STAT "  x=1\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "a" LINE_STAT "\040\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "a " LINE_STAT "\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, " a" LINE_STAT "\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "a\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "\na" LINE_STAT "\n" CPU_STAT TOTAL_STAT },
		{ false, MEMIO_STAT, "a io_to=-1\n" },
		{ false, MEMIO_STAT, "a io_to=+1\n" },
		{ false, MEMIO_STAT, "a io_to=0x1\n" },
		{ false, MEMIO_STAT, "a io_to=1k\n" },
		{ false, MEMIO_STAT, "a io_to=99999999999999999999\n" },
		{ false, MEMIO_MEMBW, HEAD "a" LINE_STAT "\n" },
		{ false, MEMIO_MEMBW, HEAD },
		{ false, MEMIO_MEMBW, "source none\nsource none\n\n" CPU_STAT },
		{ false, MEMIO_MEMBW, "valid\n\n" CPU_STAT },
		{ false, MEMIO_MEMBW, "valid 0 0\n\n" CPU_STAT },
		{ false, MEMIO_MEMBW, "valid -1\n\n" CPU_STAT },
	};
	struct memio_file *f = malloc(sizeof(*f));
	unsigned int i;

	ASSERT_NE(NULL, f);
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		EXPECT_EQ(texts[i].good ? 0 : -1, memio_parse(texts[i].text, texts[i].kind, f))
			TH_LOG("text %u: %s", i, f->why);
	}

	ASSERT_EQ(0, memio_parse(texts[3].text, MEMIO_MEMBW, f));
	EXPECT_STREQ("none", f->source);
	EXPECT_EQ(6, f->updated_ns);
	ASSERT_NE(NULL, memio_line(f, "a"));
	EXPECT_STREQ("b,8:0", memio_line(f, "a")->alias);
	EXPECT_EQ(2, memio_line(f, "a")->field[IO_FROM]);

	/* The figures: complete, and a sum. */
	ASSERT_EQ(0, memio_parse("a" LINE_STAT "\n" CPU_STAT TOTAL_STAT, MEMIO_STAT, f));
	EXPECT_EQ(0, memio_check(f, SUMS)) TH_LOG("%s", f->why);
	EXPECT_EQ(-1, memio_check(f, SUMS | UNCLAIMED));
	ASSERT_EQ(0, memio_parse("a" LINE_STAT "\n" CPU_STAT_1 TOTAL_STAT, MEMIO_STAT, f));
	EXPECT_EQ(-1, memio_check(f, SUMS));
	ASSERT_EQ(0, memio_parse(CPU_STAT_1 "cpu_idle mem_read=2 mem_write=4\n"
				 CPUS_TOTAL,
				 MEMIO_STAT, f));
	EXPECT_EQ(0, memio_check(f, SUMS)) TH_LOG("%s", f->why);
	ASSERT_EQ(0, memio_parse("a" LINE_STAT "\nb" LINE_STAT "\n" CPU_STAT TOTAL_STAT,
				 MEMIO_STAT, f));
	EXPECT_EQ(-1, memio_check(f, SUMS));
	/* Without a line of CPUs the total may have what they read before. */
	ASSERT_EQ(0, memio_parse("a" LINE_STAT "\n" TOTAL_STAT, MEMIO_STAT, f));
	EXPECT_EQ(0, memio_check(f, SUMS)) TH_LOG("%s", f->why);
	ASSERT_EQ(0, memio_parse("a" LINE_STAT "\n" MORE_TOTAL, MEMIO_STAT, f));
	EXPECT_EQ(0, memio_check(f, SUMS)) TH_LOG("%s", f->why);
	ASSERT_EQ(0, memio_parse("a" LINE_STAT "\n" LESS_TOTAL, MEMIO_STAT, f));
	EXPECT_EQ(-1, memio_check(f, SUMS));
	ASSERT_EQ(0, memio_parse("a" OTHER_STAT TOTAL_STAT, MEMIO_STAT, f));
	EXPECT_EQ(-1, memio_check(f, SUMS));
	ASSERT_EQ(0, memio_parse("a" LINE_STAT "\n" CPU_STAT, MEMIO_STAT, f));
	EXPECT_EQ(-1, memio_check(f, SUMS));
	ASSERT_EQ(0, memio_parse("a" LINE_STAT " unclaimed_to=-1 unclaimed_from=0\n" CPU_STAT
				 TOTAL_STAT, MEMIO_STAT, f));
	EXPECT_EQ(-1, memio_check(f, SUMS | UNCLAIMED));
	free(f);
}

/* ---- /proc and groups ---- */

FIXTURE(files) {
	struct memio m;
	char *group;
	struct memio_file *f;
};

FIXTURE_SETUP(files)
{
	const char *why = memio_begin(&self->m);

	if (why)
		SKIP(return, "%s", why);
	self->group = memio_group(&self->m, "a");
	ASSERT_NE(NULL, self->group);
	self->f = malloc(sizeof(*self->f));
	ASSERT_NE(NULL, self->f);
}

FIXTURE_TEARDOWN(files)
{
	memio_end(&self->m);
}

MEMIO_TEST(files, membw)
{
	static const char * const paths[] = { "/proc/self/membw", "/proc/thread-self/membw" };
	struct memio_file *f = self->f;
	char value[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		ASSERT_EQ(0, memio_read(paths[i], MEMIO_MEMBW, f)) TH_LOG("%s", f->why);
		EXPECT_EQ(0, memio_check(f, SUMS | RATES)) TH_LOG("%s", f->why);
		ASSERT_EQ(0, memio_get("source", value, sizeof(value)));
		EXPECT_STREQ(value, f->source);
		ASSERT_EQ(0, memio_get("estimator", value, sizeof(value)));
		EXPECT_STREQ(value, f->estimator);
		EXPECT_TRUE(f->valid == 0 || f->valid == 1);
		EXPECT_LE(0, f->window_us);
		EXPECT_LE(0, f->updated_ns);
		EXPECT_GE(seconds_now() * 1e9, f->updated_ns);
		if (!strcmp(f->source, "none")) {
			EXPECT_EQ(0, f->valid);
		}
	}
	EXPECT_GT(0, write_file(paths[0], "1"));
}

/* A group begins with nothing. */
MEMIO_TEST(files, stat_of_group)
{
	struct memio_file *f = self->f;
	char path[PATH_MAX];

	set_path(path, "%s/memio.stat", self->group);
	ASSERT_EQ(0, memio_read(path, MEMIO_STAT, f)) TH_LOG("%s", f->why);
	EXPECT_EQ(0, memio_check(f, SUMS)) TH_LOG("%s", f->why);
	EXPECT_EQ(memio_line(f, "cpu") ? 2 : 1, f->lines);
	ASSERT_NE(NULL, memio_line(f, "total"));
	EXPECT_EQ(0, memio_line(f, "total")->field[IO_TO]);
	EXPECT_EQ(0, memio_line(f, "total")->field[IO_FROM]);
	EXPECT_GT(0, write_file(path, "1"));
}

MEMIO_TEST(files, stat_of_root)
{
	struct memio_file *f = self->f;
	char path[PATH_MAX];
	int i;

	set_path(path, "%s/memio.stat", self->m.root);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, memio_read(path, MEMIO_STAT, f)) TH_LOG("%s", f->why);
		EXPECT_EQ(0, memio_check(f, SUMS | UNCLAIMED)) TH_LOG("%s", f->why);
	}
	for (i = 0; i < f->lines; i++) {
		const struct memio_line *l = &f->line[i];

		if (!memio_is_device(l))
			continue;
		EXPECT_GE(l->field[IO_TO], l->field[UNCLAIMED_TO]) TH_LOG("%s", l->key);
		EXPECT_GE(l->field[IO_FROM], l->field[UNCLAIMED_FROM]) TH_LOG("%s", l->key);
	}
}

MEMIO_TEST(files, events)
{
	char path[PATH_MAX];

	EXPECT_EQ(0, group_no_slot(self->group));
	EXPECT_LE(0, group_no_slot(self->m.root));
	set_path(path, "%s/memio.events.local", self->group);
	EXPECT_GT(0, write_file(path, "1"));
}

/* What a group's own tasks moved has the lines of memio.stat; no line is the root's alone. */
MEMIO_TEST(files, stat_local)
{
	struct memio_file *f = self->f;
	char path[PATH_MAX];
	int i;

	set_path(path, "%s/memio.stat.local", self->group);
	ASSERT_EQ(0, memio_read(path, MEMIO_STAT, f)) TH_LOG("%s", f->why);
	EXPECT_EQ(0, memio_check(f, SUMS)) TH_LOG("%s", f->why);
	EXPECT_EQ(0, memio_line(f, "total")->field[IO_TO]);
	EXPECT_GT(0, write_file(path, "1"));
	set_path(path, "%s/memio.stat.local", self->m.root);
	ASSERT_EQ(0, memio_read(path, MEMIO_STAT, f)) TH_LOG("%s", f->why);
	EXPECT_EQ(0, memio_check(f, SUMS)) TH_LOG("%s", f->why);
	for (i = 0; i < f->lines; i++) {
		EXPECT_EQ(0, f->line[i].has & UNCLAIMED) TH_LOG("%s", f->line[i].key);
	}
}

/* The value of a key in a flat-keyed file; NULL: there is none. */
static const char *flat(const char *path, const char *key)
{
	static char text[4096], value[64];
	char *line, *save;
	size_t n = strlen(key);

	if (read_file(path, text, sizeof(text)) < 0)
		return NULL;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, key, n) || line[n] != ' ')
			continue;
		snprintf(value, sizeof(value), "%s", line + n + 1);
		return value;
	}
	return NULL;
}

MEMIO_TEST(files, state)
{
	static const char * const words[] = { "cpu", "io", "total" };
	const char * const groups[] = { self->group, self->m.root };
	const char *value;
	char path[PATH_MAX], state[64];
	unsigned int g, i;

	for (g = 0; g < ARRAY_SIZE(groups); g++) {
		set_path(path, "%s/memio.state", groups[g]);
		for (i = 0; i < ARRAY_SIZE(words); i++) {
			value = flat(path, words[i]);
			ASSERT_NE(NULL, value) TH_LOG("%s", words[i]);
			EXPECT_TRUE(is_state(value)) TH_LOG("%s %s", words[i], value);
		}
		value = flat(path, "accounting");
		ASSERT_NE(NULL, value);
		EXPECT_STREQ("on", value);
		value = flat(path, "writeback");
		ASSERT_NE(NULL, value);
		EXPECT_TRUE(!strcmp(value, self->m.pages ? "tasks" : "group") ||
			    (!self->m.pages && g == 0 && !strcmp(value, "above")))
			TH_LOG("writeback %s", value);
		EXPECT_GT(0, write_file(path, "1"));
	}
	ASSERT_EQ(0, memio_set("sampling", "never"));
	ASSERT_EQ(0, memio_get("source", state, sizeof(state)));
	value = flat(path, "io");
	ASSERT_NE(NULL, value);
	EXPECT_STREQ(strcmp(state, "none") ? "off" : "absent", value);
	ASSERT_EQ(0, memio_set("enabled", "0"));
	EXPECT_STREQ("off", flat(path, "accounting") ?: "");
	EXPECT_STREQ("off", flat(path, "io") ?: "");
	EXPECT_STREQ("off", flat(path, "cpu") ?: "");
	EXPECT_STREQ("off", flat(path, "total") ?: "");
	ASSERT_EQ(0, memio_set("enabled", "1"));
}

/* What groups need: with the test's memio is on. */
MEMIO_TEST(files, enabled_auto)
{
	char value[8];

	ASSERT_EQ(0, memio_set("enabled", "0"));
	ASSERT_EQ(0, memio_get("enabled", value, sizeof(value)));
	EXPECT_STREQ("0", value);
	/* Root's word holds, whatever groups come. */
	ASSERT_NE(NULL, memio_group(&self->m, "another"));
	ASSERT_EQ(0, memio_get("enabled", value, sizeof(value)));
	EXPECT_STREQ("0", value);
	ASSERT_EQ(0, memio_set("enabled", "auto\n"));
	ASSERT_EQ(0, memio_get("enabled", value, sizeof(value)));
	EXPECT_STREQ("1", value);
}

/* The root alone says who may have CPUs' counters, and what the memory gives. */
MEMIO_TEST(files, root_settings)
{
	static const struct {
		const char *name, *written, *read;
		int error;
	} writes[] = {
		{ "memio.cpu", "on", "on\n", 0 },
		{ "memio.cpu", "off\n", "off\n", 0 },
		{ "memio.cpu", "x", "off\n", EINVAL },
		{ "memio.cpu", "1", "off\n", EINVAL },
		{ "memio.cpu", "auto", "auto\n", 0 },
		{ "memio.guaranteed", "bps=100000000000", "bps=100000000000\n", 0 },
		{ "memio.guaranteed", "bps=x", "bps=100000000000\n", EINVAL },
		{ "memio.guaranteed", "bps=", "bps=100000000000\n", EINVAL },
		{ "memio.guaranteed", "bps=-1", "bps=100000000000\n", EINVAL },
		{ "memio.guaranteed", "bps=1125899906842625", "bps=100000000000\n", ERANGE },
		{ "memio.guaranteed", "100", "bps=100000000000\n", EINVAL },
		{ "memio.guaranteed", "rbps=100", "bps=100000000000\n", EOPNOTSUPP },
		{ "memio.guaranteed", "wbps=100", "bps=100000000000\n", EOPNOTSUPP },
		{ "memio.guaranteed", "bps=0\n", "bps=0\n", 0 },
	};
	char path[PATH_MAX], value[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(writes); i++) {
		set_path(path, "%s/%s", self->m.root, writes[i].name);
		EXPECT_EQ(-writes[i].error, write_file(path, writes[i].written))
			TH_LOG("%s '%s'", writes[i].name, writes[i].written);
		ASSERT_LT(0, read_file(path, value, sizeof(value)));
		EXPECT_STREQ(writes[i].read, value) TH_LOG("after '%s'", writes[i].written);
		set_path(path, "%s/%s", self->group, writes[i].name);
		EXPECT_NE(0, access(path, F_OK)) TH_LOG("%s", path);
	}
}

/* The line of CPUs is there while they are counted, and the total does not go back after that. */
MEMIO_TEST(files, cpu_line)
{
	struct memio_file *f = self->f;
	char path[PATH_MAX], cpu[PATH_MAX];
	long long read;
	int i;

	set_path(path, "%s/memio.stat", self->m.root);
	set_path(cpu, "%s/memio.cpu", self->m.root);
	ASSERT_EQ(0, write_file(cpu, "off"));
	ASSERT_EQ(0, memio_read(path, MEMIO_STAT, f)) TH_LOG("%s", f->why);
	EXPECT_EQ(0, memio_check(f, SUMS | UNCLAIMED)) TH_LOG("%s", f->why);
	EXPECT_EQ(NULL, memio_line(f, "cpu"));
	EXPECT_EQ(NULL, memio_line(f, "cpu_idle"));
	ASSERT_EQ(0, memio_read("/proc/self/membw", MEMIO_MEMBW, f)) TH_LOG("%s", f->why);
	EXPECT_EQ(NULL, memio_line(f, "cpu"));

	ASSERT_EQ(0, write_file(cpu, "on"));
	ASSERT_EQ(0, memio_read(path, MEMIO_STAT, f)) TH_LOG("%s", f->why);
	EXPECT_EQ(0, memio_check(f, SUMS | UNCLAIMED)) TH_LOG("%s", f->why);
	if (memio_line(f, "cpu")) {
		EXPECT_NE(NULL, memio_line(f, "cpu_idle"));
	} else {
		TH_LOG("this machine can't count what CPUs read");
	}
	usleep(100000);
	ASSERT_EQ(0, memio_read(path, MEMIO_STAT, f)) TH_LOG("%s", f->why);
	read = memio_line(f, "total")->field[MEM_READ];
	ASSERT_EQ(0, write_file(cpu, "off"));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, memio_read(path, MEMIO_STAT, f)) TH_LOG("%s", f->why);
		EXPECT_LE(read, memio_line(f, "total")->field[MEM_READ]);
		EXPECT_EQ(NULL, memio_line(f, "cpu"));
	}
	ASSERT_EQ(0, write_file(cpu, "auto"));
}

/* Whoever waits for events is woken, in the group and above it. */
MEMIO_TEST(files, events_notify)
{
	static const char * const names[] = {
		"memio.events", "memio.events.local", "memio.events",
	};
	const char * const groups[] = { self->group, self->group, self->m.base };
	struct pollfd poll_fd[ARRAY_SIZE(names)], notified;
	char path[PATH_MAX], text[4096];
	unsigned int i;
	int seen = 0, n;

	/* So that a limit rests on no counters, which the group is told about once a second. */
	ASSERT_EQ(0, memio_set("sampling", "never"));
	notified.fd = inotify_init1(IN_NONBLOCK);
	notified.events = POLLIN;
	ASSERT_LE(0, notified.fd);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		set_path(path, "%s/%s", groups[i], names[i]);
		poll_fd[i].fd = open(path, O_RDONLY);
		poll_fd[i].events = POLLPRI;
		ASSERT_LE(0, poll_fd[i].fd);
		EXPECT_LT(0, read(poll_fd[i].fd, text, sizeof(text)));
		ASSERT_LE(0, inotify_add_watch(notified.fd, path, IN_MODIFY));
	}
	EXPECT_EQ(0, poll(poll_fd, 1, 0));
	set_path(path, "%s/memio.limit", self->group);
	ASSERT_EQ(0, write_file(path, "io bps=1000000000"));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		EXPECT_EQ(1, poll(&poll_fd[i], 1, 20000)) TH_LOG("%s", names[i]);
		EXPECT_EQ(POLLPRI, poll_fd[i].revents & POLLPRI) TH_LOG("%s", names[i]);
		EXPECT_LT(0, pread(poll_fd[i].fd, text, sizeof(text), 0));
		close(poll_fd[i].fd);
	}
	/* One event for each file, at least */
	while (seen < (int)ARRAY_SIZE(names) && poll(&notified, 1, 20000) == 1) {
		n = read(notified.fd, text, sizeof(text));
		if (n > 0)
			seen += n / sizeof(struct inotify_event);
	}
	EXPECT_LE(ARRAY_SIZE(names), seen);
	close(notified.fd);
	EXPECT_EQ(0, write_file(path, "io bps=max"));
}

/* A group has the files where its parent has enabled the controller; not in threaded ones. */
MEMIO_TEST(files, controller)
{
	char *below = memio_group(&self->m, "a/below");

	ASSERT_NE(NULL, below);
	EXPECT_LE(0, group_no_slot(below));
	EXPECT_EQ(0, rmdir(below));
	ASSERT_EQ(0, cg_write(self->group, "cgroup.subtree_control", "-memio"));
	ASSERT_EQ(0, mkdir(below, 0755));
	EXPECT_EQ(-1, group_no_slot(below));
	ASSERT_EQ(0, cg_write(self->group, "cgroup.subtree_control", "+memio"));
	EXPECT_EQ(0, group_no_slot(below));
	EXPECT_EQ(0, rmdir(below));
	ASSERT_EQ(0, cg_write(self->group, "cgroup.subtree_control", "-memio"));

	ASSERT_EQ(0, mkdir(below, 0755));
	ASSERT_EQ(0, cg_write(below, "cgroup.type", "threaded"));
	EXPECT_GT(0, cg_write(self->group, "cgroup.subtree_control", "+memio"));
	EXPECT_GT(0, cg_write(below, "cgroup.subtree_control", "+memio"));
	EXPECT_EQ(-1, group_no_slot(below));
}

struct reader {
	pid_t root, nobody, hidden;	/* tasks of these */
	int fd;				/* root's file, opened by root */
	const char *group, *hierarchy;
};

static int readable(pid_t pid, bool thread)
{
	char path[PATH_MAX], buf[4096];

	if (thread)
		set_path(path, "/proc/%d/task/%d/membw", pid, pid);
	else
		set_path(path, "/proc/%d/membw", pid);
	return read_file(path, buf, sizeof(buf));
}

static int read_as_nobody(void *arg)
{
	const struct reader *r = arg;
	char path[PATH_MAX], buf[4096];
	int thread;

	for (thread = 0; thread < 2; thread++) {
		if (readable(getpid(), thread) <= 0)
			return 1;
		if (readable(r->nobody, thread) <= 0)
			return 2;
		if (readable(r->root, thread) != -EACCES)
			return 3;
		if (readable(r->hidden, thread) != -EACCES)
			return 4;
	}
	/* It is who reads that counts, not who has opened it. */
	if (read(r->fd, buf, sizeof(buf)) != -1 || errno != EACCES)
		return 5;
	set_path(path, "%s/memio.stat", r->group);
	if (read_file(path, buf, sizeof(buf)) <= 0)
		return 6;
	set_path(path, "%s/memio.stat", r->hierarchy);
	if (read_file(path, buf, sizeof(buf)) <= 0)
		return 7;
	return group_no_slot(r->group) ? 8 : 0;
}

static int stay(void *dumpable)
{
	prctl(PR_SET_DUMPABLE, !!dumpable);
	raise(SIGSTOP);
	return 0;
}

/* A task of nobody's that stays until it is killed */
static pid_t nobody_stays(void *dumpable)
{
	pid_t pid = fork();
	int status;

	if (pid)
		return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) ? pid : -1;
	/* run_as_nobody() without another process between */
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	_exit(stay(dumpable));
}

MEMIO_TEST(files, nobody_reads)
{
	struct reader r = {
		.root = getpid(),
		.nobody = nobody_stays(self),
		.hidden = nobody_stays(NULL),
		.fd = open("/proc/self/membw", O_RDONLY),
		.group = self->group,
		.hierarchy = self->m.root,
	};

	EXPECT_LT(0, r.nobody);
	EXPECT_LT(0, r.hidden);
	EXPECT_LE(0, r.fd);
	EXPECT_EQ(0, run_as_nobody(read_as_nobody, &r));
	/* Root may read all of them. */
	EXPECT_LT(0, readable(r.nobody, false));
	EXPECT_LT(0, readable(r.hidden, false));
	if (r.nobody > 0)
		kill(r.nobody, SIGKILL);
	if (r.hidden > 0)
		kill(r.hidden, SIGKILL);
	while (wait(NULL) > 0)
		;
}

/* What is gone has no figures: no error that is not one of /proc's, no end of the test. */
MEMIO_TEST(files, zombie)
{
	siginfo_t info;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(0);
	ASSERT_EQ(0, waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	EXPECT_LT(0, readable(pid, false));
	EXPECT_LT(0, readable(pid, true));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_GT(0, readable(pid, false));
}

/*
 * Sockets whose recv() frees a packet that there is none of.
 * fails-on: 61c7c74
 */
MEMIO_TEST(files, no_packet)
{
	const struct timeval soon = { .tv_usec = 10000 };
	int sk = socket(AF_KCM, SOCK_DGRAM, 0), pipes[2];
	char byte;

	if (sk < 0)
		SKIP(return, "no AF_KCM: %s", strerror(errno));
	EXPECT_EQ(-1, recv(sk, &byte, 1, MSG_DONTWAIT));
	EXPECT_EQ(EAGAIN, errno);
	/* Flags of splice() mean something else there. */
	ASSERT_EQ(0, setsockopt(sk, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)));
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(-1, splice(sk, NULL, pipes[1], NULL, 1, 0));
	EXPECT_EQ(EAGAIN, errno);
	close(pipes[0]);
	close(pipes[1]);
	close(sk);
}

TEST_HARNESS_MAIN

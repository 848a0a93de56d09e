// SPDX-License-Identifier: GPL-2.0
/*
 * Who may have a trace, and how much of it is pinned memory
 *
 * It takes CAP_PERFMON, and nothing else of root but a way into debugfs. A reader that waits is
 * told when there is enough. The records are made up here, so that no counter is needed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/memio_trace.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../cgroup/cgroup_util.h"
#include "memio_util.h"

#define DEBUGFS		"/sys/kernel/debug"
#define SETTINGS	DEBUGFS "/memio/trace/settings"
#define RING		DEBUGFS "/memio/trace/cpu0"
#define SYSCTL		"/proc/sys/kernel/perf_event_"

#ifndef CAP_PERFMON
#define CAP_PERFMON	38
#endif
#define CAP(c)		(1ULL << (c))
#define PAGE		4096
#define FREE_KIB	64
#define MADE_UP		"mode=synthetic rate=1000 "

FIXTURE(trace) {
	struct memio m;
	char settings[512];		/* what to put back */
	char mlock[32];
	char paranoid[32];
	mode_t mode;
};

FIXTURE_SETUP(trace)
{
	const char *why = memio_begin(&self->m);
	struct stat st;
	char text[32];

	if (why)
		SKIP(return, "%s", why);
	if (access(RING, F_OK))
		SKIP(return, "there is no " RING);
	ASSERT_EQ(0, stat(DEBUGFS, &st));
	self->mode = st.st_mode & 07777;
	ASSERT_LT(0, read_file(SETTINGS, self->settings, sizeof(self->settings)));
	ASSERT_LT(0, read_file(SYSCTL "mlock_kb", self->mlock, sizeof(self->mlock)));
	ASSERT_LT(0, read_file(SYSCTL "paranoid", self->paranoid, sizeof(self->paranoid)));
	sprintf(text, "%d", FREE_KIB);
	ASSERT_EQ(0, write_file(SYSCTL "mlock_kb", text));
	ASSERT_EQ(0, write_file(SYSCTL "paranoid", "2"));
	ASSERT_EQ(0, chmod(DEBUGFS, 0711));
}

FIXTURE_TEARDOWN(trace)
{
	write_file(SETTINGS, self->settings);
	write_file(SYSCTL "mlock_kb", self->mlock);
	write_file(SYSCTL "paranoid", self->paranoid);
	chmod(RING, 0600);
	chmod(SETTINGS, 0600);
	chmod(DEBUGFS, self->mode);
	memio_end(&self->m);
}

/* Nobody in particular from now on, with these capabilities */
static int become(unsigned long long caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = caps, .permitted = caps },
		{ .effective = caps >> 32, .permitted = caps >> 32 },
	};

	return prctl(PR_SET_KEEPCAPS, 1) || setgroups(0, NULL) ||
	       setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY) ||
	       syscall(SYS_capset, &head, data);
}

/* Opens a file, and maps it if it is a ring: 0 or errno */
static int try(const char *path, int flags)
{
	int fd = open(path, flags);
	unsigned int *map;

	if (fd < 0)
		return errno;
	if (!strcmp(path, RING)) {
		map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			return 255;
		/* its magic */
		if (!*map)
			return 254;
		munmap(map, PAGE);
	}
	close(fd);
	return 0;
}

/*
 * What it is to who has these capabilities, and may pin so many pages. Twice, as what was pinned
 * is to be given back.
 */
static int as_user(unsigned long long caps, unsigned long pages, const char *path, int flags)
{
	struct rlimit limit = { .rlim_cur = pages * PAGE, .rlim_max = pages * PAGE };
	int status, first;
	pid_t pid = fork();

	if (!pid) {
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || become(caps))
			_exit(253);
		first = try(path, flags);
		_exit(first ?: try(path, flags));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Root lets everybody open the files, so that capabilities decide. */
static int hand_out(void)
{
	return chmod(RING, 0666) || chmod(SETTINGS, 0666);
}

MEMIO_TEST(trace, takes_perfmon)
{
	ASSERT_EQ(0, write_file(SETTINGS, MADE_UP "words=1024"));
	/* They are root's alone until root hands them to others. */
	ASSERT_EQ(0, chmod(RING, 0600));
	EXPECT_EQ(EACCES, as_user(CAP(CAP_PERFMON), 0, RING, O_RDWR));
	EXPECT_EQ(EACCES, as_user(0, 0, SETTINGS, O_RDONLY));
	ASSERT_EQ(0, hand_out());
	EXPECT_EQ(EACCES, as_user(0, 0, RING, O_RDWR));
	EXPECT_EQ(EACCES, as_user(0, 0, SETTINGS, O_RDWR));
	EXPECT_EQ(EACCES, as_user(0, 0, SETTINGS, O_WRONLY));
	EXPECT_EQ(EACCES, as_user(CAP(CAP_SYS_PTRACE), 0, RING, O_RDWR));
	EXPECT_EQ(0, as_user(0, 0, SETTINGS, O_RDONLY));
	EXPECT_EQ(0, as_user(CAP(CAP_PERFMON), 0, RING, O_RDWR));
	EXPECT_EQ(0, as_user(CAP(CAP_PERFMON), 0, SETTINGS, O_RDWR));
	/* Who has all of it but the way to it */
	ASSERT_EQ(0, chmod(DEBUGFS, 0700));
	EXPECT_EQ(EACCES, as_user(CAP(CAP_PERFMON), 0, RING, O_RDWR));
}

MEMIO_TEST(trace, pinned)
{
	const unsigned long long perfmon = CAP(CAP_PERFMON);
	char text[64];

	ASSERT_EQ(0, hand_out());
	/* With its head it is a page or so more than is free. */
	sprintf(text, MADE_UP "words=%d", FREE_KIB * 1024 / 4);
	ASSERT_EQ(0, write_file(SETTINGS, text));
	EXPECT_EQ(EPERM, as_user(perfmon, 0, RING, O_RDWR));
	EXPECT_EQ(0, as_user(perfmon, 4, RING, O_RDWR));
	EXPECT_EQ(0, as_user(perfmon | CAP(CAP_IPC_LOCK), 0, RING, O_RDWR));
	ASSERT_EQ(0, write_file(SYSCTL "paranoid", "-1"));
	EXPECT_EQ(0, as_user(perfmon, 0, RING, O_RDWR));
	ASSERT_EQ(0, write_file(SYSCTL "paranoid", "2"));

	/* Half of it is free. */
	sprintf(text, "words=%d", FREE_KIB * 1024 / 8);
	ASSERT_EQ(0, write_file(SETTINGS, text));
	EXPECT_EQ(0, as_user(perfmon, 0, RING, O_RDWR));
	/* Twice of it is not, nor is it to be had with a page too little. */
	sprintf(text, "words=%d", FREE_KIB * 1024 / 2);
	ASSERT_EQ(0, write_file(SETTINGS, text));
	EXPECT_EQ(EPERM, as_user(perfmon, FREE_KIB * 1024 / PAGE, RING, O_RDWR));
	EXPECT_EQ(0, as_user(perfmon, FREE_KIB * 1024 / PAGE + 1, RING, O_RDWR));
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Long before the time is over, after which it would be looked at in any case */
MEMIO_TEST(trace, wakes_its_reader)
{
	const unsigned int some = 256;
	struct memio_trace_ring *ring;
	struct pollfd p = { .events = POLLIN };
	double before, took;

	ASSERT_EQ(0, write_file(SETTINGS, MADE_UP "words=1024 buffer=64"));
	p.fd = open(RING, O_RDWR);
	ASSERT_LE(0, p.fd);
	ring = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0);
	ASSERT_NE(MAP_FAILED, ring);
	for (int i = 0; i < 3; i++) {
		/* What there is has been read; now for more. */
		__atomic_store_n(&ring->watermark, some, __ATOMIC_RELAXED);
		__atomic_store_n(&ring->tail, __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
		before = seconds();
		EXPECT_EQ(1, poll(&p, 1, 20000));
		took = seconds() - before;
		EXPECT_EQ(POLLIN, p.revents);
		EXPECT_LT(took, 10);
		EXPECT_LE(some, __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - ring->tail);
		/* A thousand are made up in a second, of a word or two. */
		EXPECT_GT(took, .05);
	}
	/* Nothing is to be read: it waits. */
	__atomic_store_n(&ring->watermark, 1024, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->tail, __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
	EXPECT_EQ(0, poll(&p, 1, 10));
	munmap(ring, PAGE);
	close(p.fd);
}

TEST_HARNESS_MAIN

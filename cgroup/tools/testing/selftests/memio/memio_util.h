/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of memio share
 *
 * They run as root, on any machine with CONFIG_CGROUP_MEMIO and cgroup v2, with or
 * without counters that memio can use. What a test needs beside that it looks for, and
 * is skipped if it isn't there:
 *
 *	MEMIO_TEST_DIR	a directory on a file system whose data are on one disk with a
 *			DMA master, directly or through partitions and device mapper;
 *			by default the current directory. 32 MiB are written there.
 *	MEMIO_PEER	an IPv4 address behind a network device; it is sent datagrams
 *			(port 9) and pings. Without it nothing is sent.
 *	MEMIO_STRESS_SECONDS
 *			how long the stress test takes, 5 by default
 *	MEMIO_FUZZ_LINES
 *			how many lines limits and guarantees are tried with, 100,000 by
 *			default; under KASAN in an emulated machine that takes more
 *			than twenty minutes for each
 *
 * The machine may be doing other things meanwhile: what is compared is what control
 * groups of the test have moved. It is compared with what the test knows to have moved,
 * and with the disk's and the interface's own statistics, never with memio's own
 * figures alone. Bounds allow for descriptors and metadata, see slack().
 *
 *	test_interface	files: their formats, what they refuse, who may read them
 *	test_limit	what memio.limit, memio.min and memio.weight take and refuse
 *	test_disk	whom each way to a disk charges
 *	test_tasks	what becomes of it when tasks and groups come, go and move
 *	test_net	the same for the network, as far as it can be seen from one side
 *	test_counters	when bytes have a price, and who may use the counters
 *	test_trace	who may have a trace, and how much of memory
 *	test_stress	all at once; for KASAN, KCSAN and lockdep to look at
 *
 * Mistakes that accounting of IO is prone to, and the tests which would show them:
 *
 *	completion in batches goes another way	trap1_batch
 *	discards have sizes, but move nothing	trap2_discard
 *	pages of one file, dirtied by many	trap3_*
 *	counted on each level of a stack	trap4_stack
 *	charged to who made a socket		trap5_*
 *	clones of a packet counted again	trap6_tap
 *	charged to whom an interrupt hits	trap8_bystander
 *	tasks switched on unusual ways		trap9_switches
 *	perf has taken the counters		trap11_counters_taken
 *	done when task and group are gone	trap12_*
 */
#ifndef MEMIO_UTIL_H
#define MEMIO_UTIL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../kselftest.h"

#define KIB		1024LL
#define MIB		(1024 * KIB)
#define BLOCK		4096		/* of direct IO, and a page of the page cache */
#define SIZE		(4 * MIB)	/* what most tests move */
#define NOBODY		65534

/* Emulated machines and kernels that check everything are slow. */
#define MEMIO_TIMEOUT	600
#define MEMIO_TEST(fixture, name)	TEST_F_TIMEOUT(fixture, name, MEMIO_TIMEOUT)

/* ---- files ---- */

enum memio_field {
	IO_TO,
	IO_FROM,
	MEM_READ,
	MEM_WRITE,
	UNPRICED,
	UNPRICED_TO,
	UNPRICED_FROM,
	VALID,			/* of the line "cpu" */
	UNCLAIMED_TO,
	UNCLAIMED_FROM,
	IO_TO_BPS,
	IO_FROM_BPS,
	MEM_READ_BPS,
	MEM_WRITE_BPS,
	MEMIO_FIELDS
};

#define FIELD(f)	(1U << (f))
#define SUMS		(FIELD(IO_TO) | FIELD(IO_FROM) | FIELD(MEM_READ) | \
			 FIELD(MEM_WRITE) | FIELD(UNPRICED) | \
			 FIELD(UNPRICED_TO) | FIELD(UNPRICED_FROM))
#define RATES		(FIELD(IO_TO_BPS) | FIELD(IO_FROM_BPS) | \
			 FIELD(MEM_READ_BPS) | FIELD(MEM_WRITE_BPS))
/* Of a line of CPUs, which move no IO bytes */
#define MEMORY		(FIELD(MEM_READ) | FIELD(MEM_WRITE) | FIELD(MEM_READ_BPS) | \
			 FIELD(MEM_WRITE_BPS))
#define UNCLAIMED	(FIELD(UNCLAIMED_TO) | FIELD(UNCLAIMED_FROM))

/* A nested-keyed line. */
struct memio_line {
	char key[64];
	char alias[256];
	unsigned int has;		/* FIELD()s */
	long long field[MEMIO_FIELDS];
};

enum memio_kind { MEMIO_STAT, MEMIO_MEMBW };

/* memio.stat or membw. Fields of the head that were not there are -1, or empty. */
struct memio_file {
	char why[256];			/* what is wrong with it */
	char source[32];
	char estimator[32];
	long long valid, window_us, updated_ns;
	int lines;
	struct memio_line line[300];
};

int memio_parse(const char *text, enum memio_kind kind, struct memio_file *f);
int memio_read(const char *path, enum memio_kind kind, struct memio_file *f);
const struct memio_line *memio_line(const struct memio_file *f, const char *key);
bool memio_is_device(const struct memio_line *l);
int memio_check(struct memio_file *f, unsigned int device_fields);

/* Bytes to a device and from it; -1: the file could not be read. */
struct moved {
	long long to, from;
};

struct moved moved_by(const char *path, enum memio_kind kind, const char *device);
struct moved group_moved(const char *group, const char *device);
struct moved task_moved(pid_t pid, pid_t tid, const char *device);
long long group_no_slot(const char *group);

/* ---- small things ---- */

void set_path(char *path, const char *format, ...) __printf(2, 3);
int read_file(const char *path, char *buf, size_t size);
int write_file(const char *path, const char *text);	/* 0 or -errno */
int memio_get(const char *name, char *buf, size_t size);
int memio_set(const char *name, const char *value);
bool wait_for(bool (*is)(void *arg), void *arg, int seconds);
int run_as_nobody(int (*fn)(void *arg), void *arg);
double seconds_now(void);

/* ---- where tests take place ---- */

struct disk {
	char name[64];			/* as in /sys/block */
	char master[64];		/* its DMA master's bus name */
};

struct disk_stat {
	unsigned long long commands, read, written, discarded;
};

struct memio {
	char root[PATH_MAX];		/* of the hierarchy */
	char *base;			/* the test's group */
	char *dir;			/* where files are */
	char *file;			/* 2 * SIZE bytes that can't be compressed, on disk */
	struct disk disk;
	char enabled[8];		/* what to put back */
	char hold[16];
	char interval[16];
	char sampling[16];
	bool pages;			/* memory has owners (memio=tasks) */
	void *shared;			/* a page that children see */
};

const char *memio_begin(struct memio *m);
const char *memio_begin_disk(struct memio *m);
void memio_end(struct memio *m);
char *memio_group(struct memio *m, const char *name);
struct disk_stat memio_disk_stat(const struct memio *m);
bool memio_flushed(const struct memio *m, struct disk_stat since);
char *dma_master(const char *device, char *name, size_t size);

/*
 * What a group may have to pay for beside its data: commands, lists and completions, some
 * ten bytes for each page; and metadata of file systems that nobody else has written
 * or read for it.
 */
static inline long long slack(long long bytes)
{
	return bytes / 32 + 128 * KIB;
}

/* ---- IO ---- */

/* Requests of @block bytes every @step bytes, from @from to @to. */
struct io {
	const char *path;
	int flags;			/* of open(), O_WRONLY: they are written */
	long long from, to, step;
	size_t block;
	bool map;			/* by a mapping */
	bool sync;			/* fsync() in the end */
};

int do_io(const struct io *io);
int run_io(const char *group, const struct io *io);	/* in a child that exits */
int run_sync(const char *group, const char *path);
int uncache(const char *path);
void fill_random(void *buf, size_t size);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libmemio: who uses which memory bandwidth, as the kernel tells it
 *
 * A program opens a reader, reads groups and tasks with it, and takes differences:
 *
 *	struct memio *m = memio_open("/");
 *	struct memio_stat then = { 0 }, now = { 0 }, moved = { 0 };
 *
 *	memio_group_stat(m, "/system.slice", &then);
 *	sleep(1);
 *	memio_group_stat(m, "/system.slice", &now);
 *	memio_stat_diff(&then, &now, &moved);
 *	... memio_get(memio_stat_find(&moved, "total"), MEMIO_IO_FROM) ...
 *
 * The reader finds everything below a root directory. "/" is the running machine; a test
 * opens a directory that has recorded copies of proc/ and sys/.
 *
 * Words: IO bytes are what devices move, "to" the device and "from" it. Memory bytes are
 * what reaches DRAM, "read" and "write" as seen from the memory.
 *
 * A function that can fail returns 0 or a negative error number, and memio_error() then has a
 * sentence that says what failed, and what to do where the library knows it. A reader belongs
 * to one thread at a time. Readers skip keys that they don't know.
 */
#ifndef MEMIO_MEMIO_H
#define MEMIO_MEMIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define MEMIO_NAME_MAX		32	/* a key, such as a device's bus name, with its NUL */
#define MEMIO_WORD_MAX		16	/* a word, such as a state, with its NUL */

/* ---- the reader ---- */

struct memio;

/**
 * memio_open - a reader
 * @root:	the directory that has proc/ and sys/; "/" is the running machine
 *
 * It succeeds also where the kernel has no memio: memio_capabilities() says so.
 *
 * Return: the reader; NULL with errno if @root can't be opened or there is no memory.
 */
struct memio *memio_open(const char *root);
/**
 * memio_open_backend - a reader that takes its figures from where the caller says
 * @root:	as of memio_open()
 * @backend:	"kernel": the files of a kernel with memio; "bpf": programs that this library
 *		loads into a kernel without memio, as long as the reader is open, and which
 *		count IO bytes from then on (root "/" alone; root, or CAP_BPF and CAP_PERFMON);
 *		"auto", or NULL: the first of these that is there, as memio_open() does
 *
 * Return: as memio_open(); EINVAL: there is no such backend
 */
struct memio *memio_open_backend(const char *root, const char *backend);
void memio_close(struct memio *m);

/* memio_error: what the last call that failed has to say; never NULL */
const char *memio_error(const struct memio *m);
/* memio_backend: where figures come from: "kernel", "bpf", "none" */
const char *memio_backend(const struct memio *m);
/* memio_needs_root: there is none, but for root there would be, or with CAP_BPF and CAP_PERFMON */
bool memio_needs_root(const struct memio *m);
/* memio_root: the root directory, without a slash at its end; "" is the running machine */
const char *memio_root(const struct memio *m);
/* memio_mount: where the cgroup v2 hierarchy is mounted, with the root in front; NULL: nowhere */
const char *memio_mount(const struct memio *m);

/* ---- what is there, and what is not ---- */

/**
 * struct memio_capability - a thing that figures or limits need
 * @name:	for programs: "kernel", "hierarchy", "controller", "enabled", "groups", "source",
 *		"valid", "cpu", "state", "stat.local", "unpriced", "bounds", "pressure",
 *		"guaranteed", "tasks", "limits"
 * @there:	whether it is there
 * @why:	a sentence: what is there, or why it is not, and what to do about that
 */
struct memio_capability {
	const char *name;
	bool there;
	const char *why;
};

/*
 * memio_capabilities: all of them, looked at anew; they are the reader's, until the next call.
 * memio_can: one of them, by its name; NULL: no such name
 */
const struct memio_capability *memio_capabilities(struct memio *m, size_t *n);
const struct memio_capability *memio_can(struct memio *m, const char *name);

/*
 * memio_processor: by the text of /proc/cpuinfo, the name of the counters that memio knows of that
 * processor, as "hsx", and the name of their PMUs without a number, as "uncore_cbox"; @boxes may be
 * NULL. NULL: memio knows none
 */
const char *memio_processor(const char *cpuinfo, const char **boxes);

/* ---- figures ---- */

enum memio_field {
	MEMIO_IO_TO,			/* IO bytes */
	MEMIO_IO_FROM,
	MEMIO_MEM_READ,			/* memory bytes */
	MEMIO_MEM_WRITE,
	MEMIO_UNPRICED,			/* IO bytes without a price: a bound in memory */
	MEMIO_UNPRICED_TO,
	MEMIO_UNPRICED_FROM,
	MEMIO_MEM_READ_MIN,		/* bounds of the estimate */
	MEMIO_MEM_READ_MAX,
	MEMIO_MEM_WRITE_MIN,
	MEMIO_MEM_WRITE_MAX,
	MEMIO_UNCLAIMED_TO,		/* IO bytes of no owner, on the root; may be negative */
	MEMIO_UNCLAIMED_FROM,
	MEMIO_UNSEEN_TO,		/* IO bytes that the counters saw and nobody accounted */
	MEMIO_UNSEEN_FROM,
	MEMIO_VALID,			/* 0 or 1 */
	MEMIO_IO_TO_BPS,		/* the kernel's own rates, in /proc/PID/membw */
	MEMIO_IO_FROM_BPS,
	MEMIO_MEM_READ_BPS,
	MEMIO_MEM_WRITE_BPS,
	MEMIO_FIELDS,
	MEMIO_FIELDS_MOST = 32		/* room for those to come */
};

/* memio_field_name: as the kernel's files have it, "io_to"; memio_field_of: -1: none */
const char *memio_field_name(enum memio_field field);
int memio_field_of(const char *name);

/**
 * struct memio_line - the figures of one key: a device, "cpu", "total" and others
 * @key:	as the kernel has it
 * @has:	which fields it has: bits, 1 << MEMIO_IO_TO and so on
 * @anew:	of a difference: the fields that went back, so that counting began anew; their
 *		value is what was counted since
 * @value:	of each field that it has
 * @alias:	"nvme0n1,259:0", or NULL; it is gone when the struct is used again
 */
struct memio_line {
	char key[MEMIO_NAME_MAX];
	uint32_t has, anew;
	uint64_t value[MEMIO_FIELDS_MOST];
	const char *alias;
};

/**
 * struct memio_stat - what a file says; all zeroes at first, then used again and again
 * @line:	of each key, in the file's order
 * @n:		how many
 * @ns:		when it was read, by CLOCK_MONOTONIC; of a difference, the time between
 * @gone:	of a difference: how many keys the earlier one had and the later has not
 * @skipped:	lines that were none
 * @room, @text: the library's
 */
struct memio_stat {
	struct memio_line *line;
	size_t n;
	uint64_t ns;
	unsigned int gone, skipped;
	size_t room;
	char *text;
};

/*
 * memio_refresh: figures that are read from now on are no older than this call. A backend that
 * reads all figures at once may otherwise give some that it has read up to 100 ms before.
 */
void memio_refresh(struct memio *m);
/* memio_stat_free: and all zeroes again */
void memio_stat_free(struct memio_stat *s);
/* memio_stat_find: NULL: there is no such key */
const struct memio_line *memio_stat_find(const struct memio_stat *s, const char *key);
/* memio_get: a field's value; 0 if @line is NULL or has it not */
uint64_t memio_get(const struct memio_line *line, enum memio_field field);
bool memio_has(const struct memio_line *line, enum memio_field field);
/* memio_get_signed: of those that may be negative */
int64_t memio_get_signed(const struct memio_line *line, enum memio_field field);
/*
 * memio_is_device: whether the key is that of a device, and not a sum, a kind of CPU time, or
 * a port
 */
bool memio_is_device(const struct memio_line *line);
/* memio_unpriced: IO bytes without a price, however the kernel splits them */
uint64_t memio_unpriced(const struct memio_line *line);

/* memio_stat_parse: of a text; @length without a NUL. 0, or -ENOMEM */
int memio_stat_parse(struct memio_stat *s, const char *text, size_t length);
/*
 * memio_stat_diff: @later less @earlier. Sums become differences; what is no sum (rates, @valid,
 * unclaimed bytes) is as later. A key that is new counts from 0.
 */
int memio_stat_diff(const struct memio_stat *earlier, const struct memio_stat *later,
		    struct memio_stat *diff);
/* memio_rate: bytes a second; 0 if @ns is 0 */
double memio_rate(uint64_t bytes, uint64_t ns);

/**
 * struct memio_membw - /proc/PID/membw
 * @source:	the counters; "none": there are none
 * @estimator:	how memory bytes are estimated
 * @state:	a word, or "" if this kernel has none
 * @valid:	1, 0, or -1: not said
 * @window_us:	of the kernel's own rates
 * @updated_ns:	when they were taken
 * @stat:	the lines
 */
struct memio_membw {
	char source[MEMIO_WORD_MAX], estimator[MEMIO_WORD_MAX], state[MEMIO_WORD_MAX];
	int valid;
	uint64_t window_us, updated_ns;
	struct memio_stat stat;
};

void memio_membw_free(struct memio_membw *b);
int memio_membw_parse(struct memio_membw *b, const char *text, size_t length);

/**
 * struct memio_pair - a line "KEY VALUE"
 * @key:	of a line "KEY sub=N" it is "KEY.sub"
 * @value:	if it is a number
 * @word:	as it stands there
 */
struct memio_pair {
	char key[MEMIO_NAME_MAX + MEMIO_WORD_MAX];
	uint64_t value;
	char word[MEMIO_WORD_MAX];
};

/**
 * struct memio_flat - memio.events, memio.state, memio.pressure and their like
 * @pair:	in the file's order
 * @n:		how many
 * @room:	the library's
 */
struct memio_flat {
	struct memio_pair *pair;
	size_t n, room;
};

void memio_flat_free(struct memio_flat *f);
int memio_flat_parse(struct memio_flat *f, const char *text, size_t length);
/* memio_flat_find: NULL: none; memio_flat_get: its number, 0: none */
const struct memio_pair *memio_flat_find(const struct memio_flat *f, const char *key);
uint64_t memio_flat_get(const struct memio_flat *f, const char *key);

/* ---- limits ---- */

enum memio_way {
	MEMIO_BPS,			/* reads and writes together */
	MEMIO_RBPS,			/* memory read: what is sent, and written to disks */
	MEMIO_WBPS,			/* memory written: what is received, and read from disks */
	MEMIO_WAYS
};

#define MEMIO_RATE_MAX		UINT64_MAX		/* no limit: "max" */
#define MEMIO_RATE_KEEP		(UINT64_MAX - 1)	/* of a change: as it is */
#define MEMIO_RATE_MOST		(1ull << 50)		/* the largest rate that is a limit */

/**
 * struct memio_limit - a line of memio.limit, or a change of one
 * @key:	"total", "cpu", "io", "default" or a device
 * @rate:	by &enum memio_way
 */
struct memio_limit {
	char key[MEMIO_NAME_MAX];
	uint64_t rate[MEMIO_WAYS];
};

struct memio_limits {
	struct memio_limit *limit;
	size_t n, room;
};

/* memio_way_name: "bps", "rbps", "wbps" */
const char *memio_way_name(enum memio_way way);
void memio_limits_free(struct memio_limits *l);
int memio_limits_parse(struct memio_limits *l, const char *text, size_t length);
const struct memio_limit *memio_limits_find(const struct memio_limits *l, const char *key);

/*
 * memio_rate_parse: "200M": bytes a second; K, M, G are powers of 1000, Ki, Mi, Gi of 1024, and
 * a fraction may stand before them: "1.5G". "max" is MEMIO_RATE_MAX.
 * Return: 0; -EINVAL: it is none; -ERANGE: it is 0, or more than MEMIO_RATE_MOST
 */
int memio_rate_parse(const char *text, uint64_t *rate);
/*
 * memio_limit_parse: "eth0.wbps=50M", or "total=200M", which is bps; other rates are
 * MEMIO_RATE_KEEP. memio_limits_add: a list of these, with commas; several of one key are one.
 * Return: as memio_rate_parse(); @bad, if it is not NULL, is where that stands
 */
int memio_limit_parse(const char *text, struct memio_limit *limit);
int memio_limits_add(struct memio_limits *l, const char *text, const char **bad);

/* ---- groups ---- */

/**
 * memio_group_resolve - the path of a group, as the hierarchy has it: "/" or "/a/b"
 * @m:		the reader
 * @name:	"/a/b"; a directory below the mount; "a/b"; or a unit of systemd, "foo.service",
 *		which is looked for in the tree
 * @path:	becomes a string that free() takes
 *
 * Return: 0; -ENOENT: there is no such group; -EEXIST: several units have that name;
 * -ENODEV: no hierarchy is mounted.
 */
int memio_group_resolve(struct memio *m, const char *name, char **path);

/**
 * struct memio_group - a group that memio_groups() comes to
 * @path:	"/", or "/a/b"
 * @depth:	0 is the root
 * @inode:	of its directory: another one under the same path is another group
 * @accounted:	it has a memio.stat: its figures are its own
 */
struct memio_group {
	const char *path;
	unsigned int depth;
	uint64_t inode;
	bool accounted;
};

/*
 * memio_groups: calls @each for @path and the groups below it, a parent before its children,
 * children by name. If it returns 1 those below that group are left out; if negative, that ends
 * it and is returned. Groups that go meanwhile are left out.
 */
int memio_groups(struct memio *m, const char *path,
		 int (*each)(const struct memio_group *group, void *arg), void *arg);

enum memio_scope {
	MEMIO_TREE,			/* a group, with those below it: memio.stat */
	MEMIO_LOCAL			/* its own tasks alone: memio.stat.local */
};

int memio_group_stat(struct memio *m, const char *path, enum memio_scope scope,
		     struct memio_stat *s);
int memio_group_events(struct memio *m, const char *path, enum memio_scope scope,
		       struct memio_flat *events);
int memio_group_state(struct memio *m, const char *path, struct memio_flat *state);
int memio_group_pressure(struct memio *m, const char *path, struct memio_flat *pressure);
int memio_group_limits(struct memio *m, const char *path, struct memio_limits *limits);

enum memio_value {
	MEMIO_MIN,			/* memio.min; MEMIO_RATE_MAX is "max" */
	MEMIO_MIN_EFFECTIVE,		/* memio.min.effective */
	MEMIO_WEIGHT			/* memio.weight */
};

int memio_group_value(struct memio *m, const char *path, enum memio_value which, uint64_t *value);
/*
 * memio_group_set_limit: one line, rates of MEMIO_RATE_KEEP stay. A device may be an alias.
 * memio_group_reset_limits: none of the group's own. They, and memio_group_set_value(), fail
 * with -ENOENT if the group has no controller, -ENODEV: no such device; -EACCES
 */
int memio_group_set_limit(struct memio *m, const char *path, const struct memio_limit *limit);
int memio_group_reset_limits(struct memio *m, const char *path);
int memio_group_set_value(struct memio *m, const char *path, enum memio_value which,
			  uint64_t value);
/* memio_group_enables: whether it hands the controller to the groups below it; negative: failed */
int memio_group_enables(struct memio *m, const char *path);
/*
 * memio_group_lacks: the group that keeps the controller from @path: of those above it the
 * one closest to the root that does not hand it on. @group becomes a string that free() takes.
 * Return: 1: there is one; 0: none, so @path has the controller; or an error
 */
int memio_group_lacks(struct memio *m, const char *path, char **group);

/* ---- tasks ---- */

/**
 * struct memio_task - a process or a thread
 * @pid:	the process
 * @tid:	the thread; 0: the process as a whole
 * @start:	when it began, in ticks: with the ID it names a task for good
 * @uid:	whose it is
 * @state:	a letter, as ps has it
 * @stopped:	a limit holds it: of a process, its first thread
 * @policy:	its scheduling policy, as SCHED_OTHER
 * @comm:	its name; bytes below ' ' are '?'
 * @group:	its path in the hierarchy, "" if that is not known
 */
struct memio_task {
	pid_t pid, tid;
	uint64_t start;
	uid_t uid;
	char state;
	bool stopped;
	int policy;
	char comm[32];
	char group[4096];
};

/* memio_task_info: -ESRCH: it is gone; @group only if @with_group */
int memio_task_info(struct memio *m, pid_t pid, pid_t tid, bool with_group,
		    struct memio_task *task);
/* memio_task_membw: -ESRCH: it is gone; -EACCES; -ENOENT: this kernel has no such file */
int memio_task_membw(struct memio *m, pid_t pid, pid_t tid, struct memio_membw *b);
/* memio_group_tasks: calls @each for each process or thread of the group itself, while it is 0 */
int memio_group_tasks(struct memio *m, const char *path, bool threads,
		      int (*each)(pid_t id, void *arg), void *arg);

/* ---- devices ---- */

/**
 * struct memio_device - a DMA master
 * @name:	of its bus, "0000:00:03.0"
 * @first:	what people call it: its first alias, or the name
 * @alias:	its interfaces and disks, "nvme0n1,nvme0n2"; "" if there are none
 */
struct memio_device {
	char name[MEMIO_NAME_MAX], first[MEMIO_NAME_MAX];
	char alias[128];
};

/* memio_devices: all that the kernel accounts; they are the reader's, until the next call */
const struct memio_device *memio_devices(struct memio *m, size_t *n);
/* memio_device_resolve: an alias, or a name, to the bus name; -ENODEV */
int memio_device_resolve(struct memio *m, const char *alias, char name[MEMIO_NAME_MAX]);
/* memio_device_alias: the first alias of a bus name, or the name; good until the next look-up */
const char *memio_device_alias(struct memio *m, const char *name);

/* ---- samples: many groups and tasks at once, and what became of them since ---- */

enum memio_kind { MEMIO_IS_GROUP, MEMIO_IS_TASK };

/**
 * struct memio_entry - a group or a task in a sample
 * @kind:	what it is
 * @path:	of a group
 * @pid, @tid:	of a task
 * @id:		a group's inode or a task's start: another one with that name is another
 * @stat:	its figures
 * @stopped_usec: a group: for how long limits have stopped it
 * @accounted:	it has figures; else @error says why not: -EACCES for one
 */
struct memio_entry {
	enum memio_kind kind;
	char *path;
	pid_t pid, tid;
	uint64_t id;
	struct memio_stat stat;
	uint64_t stopped_usec;
	bool accounted;
	int error;
};

struct memio_sample;

struct memio_sample *memio_sample_new(void);
void memio_sample_free(struct memio_sample *s);
/* memio_sample_begin: empties it, so that its memory is used again */
void memio_sample_begin(struct memio_sample *s);
/* memio_sample_group, _task: adds one. One that is gone is not added: -ENOENT, -ESRCH */
int memio_sample_group(struct memio *m, struct memio_sample *s, const char *path);
int memio_sample_task(struct memio *m, struct memio_sample *s, pid_t pid, pid_t tid);
/* memio_sample_tree: the group, and all below it that have figures */
int memio_sample_tree(struct memio *m, struct memio_sample *s, const char *path);
size_t memio_sample_size(const struct memio_sample *s);
const struct memio_entry *memio_sample_entry(const struct memio_sample *s, size_t i);
/* memio_sample_find: the one of that kind, name and id; NULL: there is none */
const struct memio_entry *memio_sample_find(const struct memio_sample *s,
					    const struct memio_entry *like);
/*
 * memio_sample_diff: what @entry, of a later sample, moved since the earlier one. Return: 0; 1: it
 * is new, or has begun anew under its old name, and what it moved since then is all; -ENOMEM
 */
int memio_sample_diff(const struct memio_sample *earlier, const struct memio_entry *entry,
		      struct memio_stat *diff);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* MEMIO_MEMIO_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libmemio, inside
 *
 * Data go this way:
 *
 *	reader.c	the root directory, the mount, and files -> text
 *	kernel.c	a backend: which file has what
 *	bpf.c sums.c	a backend: BPF programs that count on a kernel without memio
 *	processors.c prices.c	which counters a processor has; what an IO byte costs, by perf
 *	parse.c		text -> lines, pairs and limits; differences
 *	rate.c		"eth0.wbps=50M" -> a limit
 *	groups.c tasks.c devices.c	names -> paths, walks; and what is written
 *	capabilities.c	what is there, and why not
 *	sample.c	many groups and tasks, at two times
 *
 * A backend is a row of operations. Figures come from the first backend that is there: the
 * kernel's own files, or others (BPF programs on a kernel that has no memio). An operation
 * that a backend has not is NULL, and who asks for it is told. Names inside begin with mio_.
 */
#ifndef MEMIO_INTERNAL_H
#define MEMIO_INTERNAL_H

#include <stdarg.h>

#include <memio/memio.h>

/* A file that is larger is none of ours. 255 devices and as many ports have some 100 KiB. */
#define MIO_FILE_MOST	(4u << 20)
/* So many lines or pairs a file may have. */
#define MIO_LINES_MOST	1024
#define MIO_PATH_MOST	8192

/**
 * struct mio_backend - where figures come from
 * @name:	for memio_backend()
 * @by_sysfs:	its devices are all PCI functions that have an interface or a disk
 * @all_groups:	it has figures of all groups, with and without the controller
 * @here:	whether it can be used; it may prepare what it needs in @m->backend_data. If not,
 *		a sentence says why
 * @end:	gives that back; or NULL
 * @group_stat:	the figures of a group
 * @task_membw:	the figures of a process, or of a thread if @tid is not 0
 * @device_names: calls @each with the name of each device that it accounts
 * @group_events, @group_state, @group_limits: or NULL
 * @capability:	of a name: whether that is there, and why; false: as the files say. Or NULL
 *
 * Each returns as the functions of memio.h that are made of it.
 */
struct mio_backend {
	const char *name;
	bool by_sysfs, all_groups;
	bool (*here)(struct memio *m);
	void (*end)(struct memio *m);
	int (*group_stat)(struct memio *m, const char *path, enum memio_scope scope,
			  struct memio_stat *s);
	int (*task_membw)(struct memio *m, pid_t pid, pid_t tid, struct memio_membw *b);
	int (*device_names)(struct memio *m, void (*each)(const char *name, void *arg), void *arg);
	int (*group_events)(struct memio *m, const char *path, enum memio_scope scope,
			    struct memio_flat *f);
	int (*group_state)(struct memio *m, const char *path, struct memio_flat *f);
	int (*group_limits)(struct memio *m, const char *path, struct memio_limits *l);
	bool (*capability)(struct memio *m, const char *name, bool *there, const char **why);
};

extern const struct mio_backend mio_kernel, mio_bpf;

/* A directory that is open: what is below it is looked up from there. */
struct mio_dir {
	int fd;				/* -1: none */
	const char *path;		/* its path, of this length, without a NUL */
	size_t n;
};

struct memio {
	char *root;			/* without a slash at its end */
	char *mount;			/* of the hierarchy, with the root; or NULL */
	char *mount_root;		/* which of its directories is mounted there, "/" mostly */
	const struct mio_backend *backend;	/* NULL: there is none */
	void *backend_data;
	bool needs_root;		/* ... and this user's rights are why */
	bool stale;			/* figures from now on are to be of now, or later */
	bool only_bpf;			/* no other backend is wanted */
	char no_backend[512];		/* why another one than the kernel's is not there */
	struct mio_dir near;		/* of a walk: what the groups are in that it is at */
	char *text;			/* of the file that was read last */
	size_t room;
	struct memio_device *device;
	size_t devices, devices_room;
	uint64_t devices_ns;		/* when they were looked up; 0: never */
	struct memio_capability *capability;
	size_t capabilities;
	char error[512];
};

/* mio_fail: keeps the sentence for memio_error(); returns @err, which is negative */
int mio_fail(struct memio *m, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
uint64_t mio_now(void);
/*
 * mio_read: a file's text in m->text, with a NUL behind it; its length, or an error, without
 * a sentence. Only regular files are read.
 */
ssize_t mio_read(struct memio *m, const char *path);
/* mio_root_path: of a file below the root; false: too long */
bool mio_root_path(const struct memio *m, char path[MIO_PATH_MOST], const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* mio_task_path: of a process's file, or of a thread's if @tid is not 0; false: too long */
bool mio_task_path(const struct memio *m, char path[MIO_PATH_MOST], pid_t pid, pid_t tid,
		   const char *file);
/* mio_group_path: of a group's file; -ENODEV, -ENAMETOOLONG, -EINVAL: "..", with a sentence */
int mio_group_path(struct memio *m, const char *group, const char *file, char path[MIO_PATH_MOST]);
/* mio_group_read: a group's file, into m->text; its length, or an error with a sentence */
ssize_t mio_group_read(struct memio *m, const char *group, const char *file);
/* mio_write: one write(2); 0 or an error, without a sentence */
int mio_write(const char *path, const char *text);
/*
 * mio_refused: why root may not load BPF programs, as a sentence's end: by the texts of
 * /proc/self/status, /proc/self/uid_map and /sys/kernel/security/lockdown, each of which may be ""
 */
const char *mio_refused(const char *status, const char *uid_map, const char *lockdown);
/* mio_grow: room for one more; false: no memory */
bool mio_grow(void *array, size_t n, size_t *room, size_t size);
/* mio_word_in: whether a word stands in a text, between white space */
bool mio_word_in(const char *text, const char *word);

/* mio_cpus: of a list as "0,18" or "0-1,4", at most @most; how many they are */
size_t mio_cpus(const char *text, int *cpu, size_t most);

#endif /* MEMIO_INTERNAL_H */

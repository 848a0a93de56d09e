// SPDX-License-Identifier: GPL-2.0
/*
 * Disks and files to move data with, see target.h
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "command.h"
#include "target.h"

#define STEP	16384ul

static int open_it(const struct target *t, const char *path)
{
	int fd = -1;

	if (t->file) {
		fd = open(path, O_DIRECT | O_CLOEXEC | O_RDWR | O_CREAT | O_EXCL, 0600);
		/* It has no name any more, so it goes however this ends. */
		if (fd >= 0)
			unlink(path);
		/* Without O_DIRECT it is made, and then not opened. */
		if (fd < 0 && errno == EINVAL) {
			unlink(path);
			errno = EINVAL;
		}
		if (fd < 0 && errno == EEXIST && !t->overwrite) {
			complain("%s is there already; --overwrite says that it may be written to",
				 path);
			return -1;
		}
	}
	/* O_EXCL: a block device that is mounted, or otherwise in use, is not to be written to. */
	if (fd < 0 && (!t->file || (errno == EEXIST && t->overwrite)))
		fd = open(path, O_DIRECT | O_CLOEXEC |
			  (t->file || t->write ? O_RDWR | O_EXCL : O_RDONLY));
	if (fd < 0)
		complain_errno("%s%s", path, errno == EBUSY ?
			       " is in use, mounted perhaps, and not written to" :
			       errno == EINVAL && t->file ? ": this file system has no O_DIRECT" : "");
	return fd;
}

/* Blocks that are there: a hole would not be read from the disk. */
static bool fill(int fd, uint64_t bytes)
{
	static char zeros[STEP] __attribute__((aligned(4096)));
	uint64_t at;

	for (at = 0; at < bytes; at += STEP)
		if (pwrite(fd, zeros, STEP, at) != (ssize_t)STEP)
			return false;
	return !fsync(fd);
}

/* Since Linux 6.6 tmpfs has O_DIRECT, and copies then. */
static bool is_in_memory(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC ||
				     fs.f_type == HUGETLBFS_MAGIC);
}

/* Of disks that CPUs serve, by the names that the kernel gives them: once, as each run opens it */
static void warn_of_memory(const char *path, dev_t device)
{
	static const char *const names[] = { "ram", "zram", "loop", "nullb" };
	char link[64], real[PATH_MAX];
	static bool warned;
	const char *name;
	size_t i;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(device), minor(device));
	if (warned || !realpath(link, real))
		return;
	name = strrchr(real, '/') + 1;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strncmp(name, names[i], strlen(names[i])))
			continue;
		complain("%s (%s) is a disk that a CPU copies from and to: it may be that no device moves anything",
			 path, name);
		warned = true;
	}
}

int target_open(const struct target *t, uint64_t *size)
{
	const char *path = t->file ? t->file : t->disk;
	const int fd = open_it(t, path);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st))
		goto fail;
	*size = st.st_size;
	if (S_ISBLK(st.st_mode)) {
		if (ioctl(fd, BLKGETSIZE64, size))
			goto fail;
		warn_of_memory(path, st.st_rdev);
	} else if (!S_ISREG(st.st_mode) || !t->file) {
		complain("%s is no %s", path, t->file ? "file" : "disk; for a file say --file");
		close(fd);
		return -1;
	}
	if (S_ISREG(st.st_mode) && is_in_memory(fd)) {
		complain("%s: this file system is in memory: no device moves what is read and written there",
			 path);
		close(fd);
		return -1;
	}
	if (S_ISREG(st.st_mode) && *size < t->bytes) {
		*size = t->bytes;
		if (!fill(fd, t->bytes))
			goto fail;
	}
	return fd;
fail:
	complain_errno("%s", path);
	close(fd);
	return -1;
}

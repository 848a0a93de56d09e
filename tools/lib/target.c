// SPDX-License-Identifier: GPL-2.0
/*
 * Disks and files to move data with, see target.h
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
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
	} else if (!S_ISREG(st.st_mode) || !t->file) {
		complain("%s is no %s", path, t->file ? "file" : "disk; for a file say --file");
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

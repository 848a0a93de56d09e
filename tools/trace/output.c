// SPDX-License-Identifier: GPL-2.0
/*
 * A file that grows at its end, through a mapping where that is possible
 *
 * What is put into a mapping costs no system call, and what a killed program has put there is
 * in the file. Space is allocated in steps before it is used, as a store to a page that
 * the disk has no room for would be a SIGBUS; so a full disk is noticed in time, and
 * with room left for an end. At the end the file is cut to what was put.
 *
 * Where space can't be allocated (pipes, 9p and other file systems), it is write(). Of a pipe
 * only the end for writing is opened: who has the other one, too, never hears that its
 * reader is gone. One that stands still is waited for until there is an interruption, and
 * then for PATIENCE_MS more.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "output.h"

/* The window, and what is allocated at once; tests have it smaller. */
#ifndef OUTPUT_STEP
#define OUTPUT_STEP	(16 << 20)
#endif
#define STEP	((uint64_t)OUTPUT_STEP)
#define PATIENCE_MS	2000

static int allocate(struct output *o, uint64_t end)
{
	uint64_t steps = (end + STEP - 1) / STEP * STEP;

	if (end <= o->allocated)
		return 0;
	if (fallocate(o->fd, 0, o->allocated, steps - o->allocated) == 0) {
		o->allocated = steps;
		return 0;
	}
	/* What is left may be enough. */
	if ((errno == ENOSPC || errno == EFBIG || errno == EDQUOT) &&
	    fallocate(o->fd, 0, o->allocated, end - o->allocated) == 0) {
		o->allocated = end;
		return 0;
	}
	return -errno;
}

static int move_window(struct output *o, uint64_t at)
{
	void *window;

	if (o->window && at >= o->window_at && at < o->window_at + STEP)
		return 0;
	if (o->window)
		munmap(o->window, STEP);
	o->window = NULL;
	window = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_SHARED, o->fd, at / STEP * STEP);
	if (window == MAP_FAILED)
		return -errno;
	o->window = window;
	o->window_at = at / STEP * STEP;
	return 0;
}

/* After an interruption: as much as does not block, if there is room at all */
static ssize_t write_some(int fd, const void *data, size_t size)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	if (interrupted) {
		if (poll(&room, 1, PATIENCE_MS) <= 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		size = size < PIPE_BUF ? size : PIPE_BUF;
	}
	return write(fd, data, size);
}

static int write_all(struct output *o, const void *data, size_t size)
{
	size_t done = 0;

	if (o->broken)
		return -ETIMEDOUT;
	while (done < size) {
		ssize_t n = write_some(o->fd, (const char *)data + done, size - done);
		int err = errno;

		if (n >= 0) {
			done += n;
			continue;
		}
		if (err == EINTR)
			continue;
		/* What would come behind half a chunk is of no use, and waited for as well. */
		o->broken = err == ETIMEDOUT;
		/* Nothing, then, where it can be taken back. */
		if (done && ftruncate(o->fd, o->size) == 0)
			lseek(o->fd, o->size, SEEK_SET);
		return -err;
	}
	o->size += size;
	return 0;
}

static int put(struct output *o, const void *data, size_t size, size_t reserve)
{
	const char *from = data;
	int err;

	if (!o->mapped)
		return write_all(o, data, size);
	err = allocate(o, o->size + size + reserve);
	if (err)
		return err;
	while (size) {
		size_t at, part;

		err = move_window(o, o->size);
		if (err)
			return err;
		at = o->size - o->window_at;
		part = size < STEP - at ? size : STEP - at;
		memcpy(o->window + at, from, part);
		o->size += part;
		from += part;
		size -= part;
	}
	return 0;
}

int output_open(struct output *o, const char *path, size_t reserve)
{
	struct stat st;
	const bool file = stat(path, &st) || S_ISREG(st.st_mode);
	int err;

	memset(o, 0, sizeof(*o));
	o->reserve = reserve;
	o->fd = open(path, file ? O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC : O_WRONLY | O_CLOEXEC,
		     0666);
	if (o->fd < 0)
		return -errno;
	if (fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode)) {
		err = allocate(o, reserve);
		if (!err)
			err = move_window(o, 0);
		if (err == -EOPNOTSUPP || err == -ENOSYS || err == -ENODEV || err == -EINVAL) {
			o->allocated = 0;
			if (ftruncate(o->fd, 0) == 0)
				return 0;
			err = -errno;
		}
		if (err) {
			close(o->fd);
			return err;
		}
		o->mapped = true;
	}
	return 0;
}

int output_put(struct output *o, const void *data, size_t size)
{
	return put(o, data, size, o->reserve);
}

int output_put_last(struct output *o, const void *data, size_t size)
{
	return put(o, data, size, 0);
}

int output_close(struct output *o)
{
	int err = 0;

	if (o->window)
		munmap(o->window, STEP);
	if (o->mapped && ftruncate(o->fd, o->size))
		err = -errno;
	/* What could not be written back is known only after this. */
	if (o->mapped && fsync(o->fd) && !err)
		err = -errno;
	if (close(o->fd) && !err)
		err = -errno;
	return err;
}

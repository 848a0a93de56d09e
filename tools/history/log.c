// SPDX-License-Identifier: GPL-2.0
/*
 * memio record, replay, report: a file of records, see log.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../trace/crc32c.h"
#include "command.h"
#include "log.h"

/*
 * Names of groups and tasks are others' to choose. A name has no NUL, and the byte before it is
 * a length, so that no name can look like the beginning of a record.
 */
static const uint8_t magic[8] = { 0, 'm', 'e', 'm', 'i', 'o', 0, 'H' };

#define KIND_SAMPLE	1

/* The head, little endian: where each field is */
enum { AT_VERSION = 8, AT_KIND = 10, AT_LENGTH = 12, AT_SUM = 16, AT_HEAD_SUM = 20 };

struct head {
	uint16_t version, kind;
	uint32_t length, sum;
};

static void put_le(uint8_t *to, uint32_t value, int bytes)
{
	while (bytes--) {
		*to++ = value;
		value >>= 8;
	}
}

static uint32_t get_le(const uint8_t *from, int bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | from[bytes];
	return value;
}

static void write_head(uint8_t *to, const uint8_t *text, size_t size)
{
	memcpy(to, magic, sizeof(magic));
	put_le(to + AT_VERSION, LOG_VERSION, 2);
	put_le(to + AT_KIND, KIND_SAMPLE, 2);
	put_le(to + AT_LENGTH, size, 4);
	put_le(to + AT_SUM, crc32c(0, text, size), 4);
	put_le(to + AT_HEAD_SUM, crc32c(0, to, AT_HEAD_SUM), 4);
}

static bool read_head(const uint8_t *from, struct head *h)
{
	if (memcmp(from, magic, sizeof(magic)) ||
	    get_le(from + AT_HEAD_SUM, 4) != crc32c(0, from, AT_HEAD_SUM))
		return false;
	h->version = get_le(from + AT_VERSION, 2);
	h->kind = get_le(from + AT_KIND, 2);
	h->length = get_le(from + AT_LENGTH, 4);
	h->sum = get_le(from + AT_SUM, 4);
	return h->length <= LOG_MOST;
}

/* Bytes that were read; fewer than @size: the file ends there. Negative: errno */
static ssize_t read_at(int fd, uint8_t *to, size_t size, uint64_t at)
{
	size_t n = 0;
	ssize_t got;

	while (n < size) {
		got = pread(fd, to + n, size - n, at + n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return got;
		if (!got)
			break;
		n += got;
	}
	return n;
}

/* What next_head() has read: heads stand close to each other where little is between them. */
struct window {
	uint8_t byte[65536];
	uint64_t at;
	size_t n;
};

/* The next place from @at on where a head stands; @size: there is none. Negative: errno */
static int64_t next_head(int fd, struct window *w, uint64_t at, uint64_t size)
{
	struct head h;
	ssize_t got;
	uint8_t *p;

	while (at + LOG_HEAD <= size) {
		if (at < w->at || at + LOG_HEAD > w->at + w->n) {
			got = read_at(fd, w->byte, sizeof(w->byte), at);
			w->at = at;
			w->n = got < 0 ? 0 : got;
			if (got < 0)
				return -errno;
			if (w->n < LOG_HEAD)
				break;
		}
		p = w->byte + (at - w->at);
		while ((p = memmem(p, w->byte + w->n - p, magic, sizeof(magic)))) {
			if (p + LOG_HEAD > w->byte + w->n)
				break;
			if (read_head(p, &h))
				return w->at + (p - w->byte);
			p++;
		}
		/* A head can lie across the end of the block. */
		at = w->at + w->n - LOG_HEAD + 1;
	}
	return size;
}

int log_read(int fd, struct log_scan *scan,
	     bool (*each)(const uint8_t *text, size_t size, uint64_t at, bool lost, void *arg),
	     void *arg)
{
	static struct window window;
	uint8_t head[LOG_HEAD], *text = NULL;
	bool lost = false;
	size_t room = 0;
	struct head h;
	struct stat st;
	uint64_t at = 0;
	int64_t next;
	ssize_t got;
	int err = 0;

	*scan = (struct log_scan) { 0 };
	window.n = 0;
	if (fstat(fd, &st))
		return -errno;
	while (at < (uint64_t)st.st_size) {
		got = read_at(fd, head, LOG_HEAD, at);
		if (got < 0)
			goto failed;
		if ((size_t)got < LOG_HEAD) {
			scan->torn = st.st_size - at;
			break;
		}
		if (!read_head(head, &h)) {
			next = next_head(fd, &window, at + 1, st.st_size);
			if (next < 0) {
				err = next;
				break;
			}
			at = next;
			scan->damaged++;
			lost = true;
			continue;
		}
		if (at + LOG_HEAD + h.length > (uint64_t)st.st_size) {
			scan->torn = st.st_size - at;
			break;
		}
		if (h.length > room) {
			free(text);
			room = h.length;
			text = malloc(room);
			if (!text) {
				err = -ENOMEM;
				break;
			}
		}
		got = read_at(fd, text, h.length, at + LOG_HEAD);
		if (got < 0)
			goto failed;
		if (!h.version || h.version > LOG_VERSION || h.kind != KIND_SAMPLE) {
			scan->other++;
			lost = true;
		} else if ((size_t)got < h.length || crc32c(0, text, h.length) != h.sum ||
			   (each && !each(text, h.length, at + LOG_HEAD, lost, arg))) {
			scan->damaged++;
			lost = true;
		} else {
			scan->good++;
			lost = false;
		}
		at += LOG_HEAD + h.length;
		scan->end = at;
	}
	goto end;
failed:
	err = -errno;
end:
	scan->lost = lost || scan->torn || err;
	free(text);
	return err;
}

bool log_fetch(int fd, uint64_t at, uint8_t *text, size_t size)
{
	uint8_t head[LOG_HEAD];
	struct head h;

	return read_at(fd, head, LOG_HEAD, at - LOG_HEAD) == LOG_HEAD && read_head(head, &h) &&
	       h.length == size && read_at(fd, text, size, at) == (ssize_t)size &&
	       crc32c(0, text, size) == h.sum;
}

/* ---- writing ---- */

/* A file to write, locked and ours, named @name in the directory; negative after a complaint */
static int take_file(const struct log *l, const char *name, mode_t mode, struct stat *st)
{
	/* A pipe would wait for its reader. */
	const int fd = openat(l->dir, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY |
			      O_NONBLOCK | O_NOFOLLOW, mode);
	struct stat named;

	if (fd < 0 && errno == ELOOP) {
		complain("%s is a symbolic link; give the name of the file itself", l->path);
		return -1;
	}
	if (fd < 0 || fstat(fd, st)) {
		complain_errno("%s", l->path);
		goto failed;
	}
	if (!S_ISREG(st->st_mode)) {
		complain("%s: not a regular file", l->path);
		goto failed;
	}
	/* Who owns a file reads it, whatever its mode is. */
	if (st->st_uid != geteuid()) {
		complain("%s belongs to another user, with ID %u; give another name", l->path,
			 st->st_uid);
		goto failed;
	}
	/* The second look: a writer that ends may have written it meanwhile, or renamed it. */
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, st) &&
	    !fstatat(l->dir, name, &named, AT_SYMLINK_NOFOLLOW) &&
	    named.st_ino == st->st_ino && named.st_dev == st->st_dev)
		return fd;
	complain("%s: another memio record writes it; give another name", l->path);
failed:
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Whether a file begins as one of ours */
static bool is_history(int fd)
{
	uint8_t head[LOG_HEAD];
	struct head h;

	return read_at(fd, head, LOG_HEAD, 0) == LOG_HEAD && read_head(head, &h);
}

static void not_ours(const char *path)
{
	complain("%s is no history of memio, or its beginning is damaged; give another name", path);
}

/* A file that has something must begin as one of ours; its end may be torn. */
static bool go_on(struct log *l)
{
	struct log_scan scan;
	int err;

	if (!l->size)
		return true;
	if (!is_history(l->fd)) {
		not_ours(l->path);
		return false;
	}
	err = log_read(l->fd, &scan, NULL, NULL);
	if (err) {
		complain("%s: %s", l->path, strerror(-err));
		return false;
	}
	if (!scan.torn)
		return true;
	complain("%s: its last record is incomplete; %llu bytes are cut off", l->path,
		 (unsigned long long)scan.torn);
	if (!ftruncate(l->fd, l->size - scan.torn)) {
		l->size -= scan.torn;
		return true;
	}
	complain_errno("%s", l->path);
	return false;
}

#define NAME_ROOM	4200

static const char *name_of(const char *first, unsigned int n, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, n ? "%s.%u" : "%s", first, n);
	return name;
}

static const char *new_name(const char *first, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, "%s.new", first);
	return name;
}

/*
 * Whether rotation may rename or remove the file @name: it has nothing, or it is one of ours. @path
 * is its whole name. 1: it may; 0: there is no such file; negative after a complaint
 */
static int may_go(const struct log *l, const char *name, const char *path)
{
	const int fd = openat(l->dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
			      O_NOFOLLOW);
	struct stat st;
	bool good;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno != ELOOP && errno != ENXIO) {
		complain_errno("%s, which memio record would rename", path);
		return -1;
	}
	good = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && (!st.st_size || is_history(fd));
	if (fd >= 0)
		close(fd);
	if (good)
		return 1;
	not_ours(path);
	return -1;
}

/* All files that rotation would rename or remove, before it does */
static bool may_rotate(const struct log *l)
{
	char name[NAME_ROOM], path[NAME_ROOM];
	unsigned int n;
	struct stat st;
	int may;

	for (n = 1; n <= LOG_KEEP_MOST; n++) {
		may = may_go(l, name_of(l->name, n, name), name_of(l->path, n, path));
		if (may < 0)
			return false;
		if (!may && n > l->keep)
			break;
	}
	/* What an end between two steps of rotation left has nothing. */
	if (fstatat(l->dir, new_name(l->name, name), &st, AT_SYMLINK_NOFOLLOW) ||
	    (S_ISREG(st.st_mode) && !st.st_size))
		return true;
	complain("%s is in the way; rename it, or give another name", new_name(l->path, path));
	return false;
}

static bool open_directory(struct log *l)
{
	char *slash = strrchr(l->path, '/'), *name;

	l->name = slash ? slash + 1 : l->path;
	name = slash ? strndup(l->path, slash - l->path + 1) : strdup(".");
	if (!name) {
		complain("no memory");
		return false;
	}
	/* Held from now on: names lead to the same files, even if the directory is renamed. */
	l->dir = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(name);
	if (l->dir >= 0 && *l->name)
		return true;
	if (l->dir >= 0)
		errno = EISDIR;
	complain_errno("%s", l->path);
	return false;
}

bool log_open(struct log *l, const char *path, uint64_t most, unsigned int keep)
{
	struct stat st;

	*l = (struct log) {
		.fd = -1, .dir = -1, .most = most, .keep = keep, .path = strdup(path),
	};
	if (!l->path) {
		complain("no memory");
		return false;
	}
	/* Who moved what, and when, is not for everybody. */
	if (open_directory(l) && may_rotate(l)) {
		l->fd = take_file(l, l->name, 0600, &st);
		if (l->fd >= 0) {
			l->size = st.st_size;
			if (go_on(l))
				return true;
		}
	}
	log_close(l);
	return false;
}

/* What is FILE becomes FILE.1, and @fresh, which has the name FILE.new, becomes FILE. */
static bool change_file(struct log *l, int fresh)
{
	char first[NAME_ROOM], new[NAME_ROOM];

	name_of(l->name, 1, first);
	/*
	 * By a second name, so that FILE is there at any time: one whom a recorder keeps out
	 * must not find the name free. Where files have one name each, there is such a moment.
	 */
	if (l->keep && linkat(l->dir, l->name, l->dir, first, 0) &&
	    (errno == EEXIST || renameat(l->dir, l->name, l->dir, first)))
		return false;
	if (renameat(l->dir, new_name(l->name, new), l->dir, l->name))
		return false;
	close(l->fd);
	l->fd = fresh;
	l->size = 0;
	return true;
}

/* PATH becomes PATH.1, and so on; those beyond @keep go. */
static bool rotate(struct log *l)
{
	char from[NAME_ROOM], to[NAME_ROOM];
	struct stat st, is;
	unsigned int n;
	int fresh;

	if (fstat(l->fd, &st) || fdatasync(l->fd)) {
		complain_errno("%s", l->path);
		return false;
	}
	if (!may_rotate(l))
		return false;
	fresh = take_file(l, new_name(l->name, to), st.st_mode & 0777, &is);
	if (fresh < 0)
		return false;
	errno = EEXIST;
	if (is.st_size)
		goto failed;
	if (fchmod(fresh, st.st_mode & 0777))
		complain_errno("%s", l->path);
	/* Of an earlier recording that kept more, those go, too. */
	for (n = l->keep ? l->keep : 1; n <= LOG_KEEP_MOST; n++)
		if (unlinkat(l->dir, name_of(l->name, n, from), 0))
			break;
	for (n = l->keep; n-- > 1;) {
		name_of(l->name, n, from);
		name_of(l->name, n + 1, to);
		if (renameat(l->dir, from, l->dir, to) && errno != ENOENT)
			goto failed;
	}
	if (change_file(l, fresh))
		return true;
failed:
	complain_errno("%s cannot be renamed", l->path);
	close(fresh);
	return false;
}

int log_append(struct log *l, uint8_t *record, size_t size)
{
	const size_t all = LOG_HEAD + size;
	size_t n = 0;
	ssize_t put;

	if (size > LOG_MOST || all > l->most)
		return -EFBIG;
	if (l->size && l->size + all > l->most && !rotate(l))
		return -EIO;
	write_head(record, record + LOG_HEAD, size);
	while (n < all) {
		put = write(l->fd, record + n, all - n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			break;
		n += put;
	}
	if (n == all) {
		l->size += all;
		return 0;
	}
	complain_errno("%s", l->path);
	if (n && ftruncate(l->fd, l->size))
		complain_errno("%s: its end", l->path);
	return -EIO;
}

void log_close(struct log *l)
{
	if (l->fd >= 0)
		close(l->fd);
	if (l->dir >= 0)
		close(l->dir);
	free(l->path);
	*l = (struct log) { .fd = -1, .dir = -1 };
}

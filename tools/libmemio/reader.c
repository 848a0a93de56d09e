// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: the reader: the root directory, the hierarchy's mount, and files
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* Figures come from the first that is there. */
static const struct mio_backend *const backends[] = { &mio_kernel, &mio_bpf };

int mio_fail(struct memio *m, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(m->error, sizeof(m->error), format, args);
	va_end(args);
	return err;
}

const char *memio_error(const struct memio *m)
{
	return m->error;
}

void memio_refresh(struct memio *m)
{
	m->stale = true;
}

const char *memio_backend(const struct memio *m)
{
	return m->backend ? m->backend->name : "none";
}

bool memio_needs_root(const struct memio *m)
{
	return m->needs_root;
}

const char *memio_root(const struct memio *m)
{
	return m->root;
}

const char *memio_mount(const struct memio *m)
{
	return m->mount;
}

uint64_t mio_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

bool mio_root_path(const struct memio *m, char path[MIO_PATH_MOST], const char *format, ...)
{
	const int n = snprintf(path, MIO_PATH_MOST, "%s/", m->root);
	va_list args;
	int more;

	if (n >= MIO_PATH_MOST)
		return false;
	va_start(args, format);
	more = vsnprintf(path + n, MIO_PATH_MOST - n, format, args);
	va_end(args);
	return more < MIO_PATH_MOST - n;
}

static char *put_number(char *to, pid_t n)
{
	char digits[16], *at = digits + sizeof(digits);
	unsigned int left = n;

	do {
		*--at = '0' + left % 10;
		left /= 10;
	} while (left);
	return mempcpy(to, at, digits + sizeof(digits) - at);
}

/* Thousands of times a second, so without printf */
bool mio_task_path(const struct memio *m, char path[MIO_PATH_MOST], pid_t pid, pid_t tid,
		   const char *file)
{
	char *to = path;

	if (strlen(m->root) + strlen(file) + 64 > MIO_PATH_MOST)
		return false;
	to = put_number(stpcpy(stpcpy(to, m->root), "/proc/"), pid);
	if (tid)
		to = put_number(stpcpy(to, "/task/"), tid);
	*to++ = '/';
	stpcpy(to, file);
	return true;
}

/* The rest of a path below the directory @d; NULL: it is not below it */
static const char *below(const struct mio_dir *d, const char *path)
{
	if (d->fd < 0 || strncmp(path, d->path, d->n) || path[d->n] != '/')
		return NULL;
	return path + d->n + 1;
}

/*
 * A file of the kernel's is regular, and says at once that it has nothing. A recording may have
 * anything.
 */
static int open_regular(const struct memio *m, const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	const char *rest = below(&m->near, path);
	const int fd = rest ? openat(m->near.fd, rest, flags) : open(path, flags);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!*m->root || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -EINVAL;
}

ssize_t mio_read(struct memio *m, const char *path)
{
	const int fd = open_regular(m, path);
	size_t n = 0;
	ssize_t got = 0;

	if (fd < 0)
		return fd;
	do {
		n += got;
		if (m->room - n < 2 && m->room < MIO_FILE_MOST) {
			const size_t more = m->room ? 2 * m->room : 16384;
			char *text = realloc(m->text, more);

			if (!text) {
				errno = ENOMEM;
				got = -1;
				break;
			}
			m->text = text;
			m->room = more;
		}
		if (m->room - n < 2) {
			errno = EFBIG;
			got = -1;
			break;
		}
		do {
			got = read(fd, m->text + n, m->room - n - 1);
		} while (got < 0 && errno == EINTR);
	} while (got > 0);
	if (got < 0)
		got = -errno;
	close(fd);
	if (got < 0)
		return got;
	m->text[n] = '\0';
	return n;
}

int mio_write(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const size_t n = strlen(text);
	ssize_t put;
	int err;

	if (fd < 0)
		return -errno;
	put = write(fd, text, n);
	err = put < 0 ? -errno : (size_t)put < n ? -EIO : 0;
	close(fd);
	return err;
}

/* "\040" and the like of mountinfo, in place */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to = (s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0');
			s += 3;
		} else {
			*to = *s;
		}
	}
	*to = '\0';
}

/* The field that begins at *@at, which goes to the next one; NULL: there is none */
static char *field(char **at)
{
	char *begin = *at + strspn(*at, " ");

	if (!*begin)
		return NULL;
	*at = begin + strcspn(begin, " ");
	if (**at)
		*(*at)++ = '\0';
	return begin;
}

/*
 * "36 35 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw": beside v1 there are
 * others of type cgroup, and the one of v2 is /sys/fs/cgroup/unified.
 */
static bool take_mount(struct memio *m, char *line)
{
	char *at = line, *root = NULL, *point = NULL, *f, path[MIO_PATH_MOST];
	int i;

	for (i = 0; i < 5; i++) {
		f = field(&at);
		if (!f)
			return false;
		if (i == 3)
			root = f;
		if (i == 4)
			point = f;
	}
	do {
		f = field(&at);
	} while (f && strcmp(f, "-"));
	f = f ? field(&at) : NULL;
	if (!f || strcmp(f, "cgroup2"))
		return false;
	unescape(root);
	unescape(point);
	if (*point != '/' || !mio_root_path(m, path, "%s/cgroup.controllers", point + 1) ||
	    access(path, F_OK))
		return false;
	*strrchr(path, '/') = '\0';
	free(m->mount);
	free(m->mount_root);
	m->mount = strdup(path);
	m->mount_root = strdup(root);
	if (m->mount && m->mount_root)
		return true;
	free(m->mount);
	free(m->mount_root);
	m->mount = m->mount_root = NULL;
	return false;
}

static void find_mount(struct memio *m)
{
	char path[MIO_PATH_MOST], *line, *rest, *text;

	if (!mio_root_path(m, path, "proc/self/mountinfo") || mio_read(m, path) < 0)
		return;
	text = strdup(m->text);
	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		if (take_mount(m, line))
			break;
	free(text);
}

static bool is_backend(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(backends) / sizeof(*backends); i++)
		if (!strcmp(backends[i]->name, name))
			return true;
	return false;
}

struct memio *memio_open(const char *root)
{
	return memio_open_backend(root, NULL);
}

struct memio *memio_open_backend(const char *root, const char *backend)
{
	struct memio *m;
	struct stat st;
	size_t n;

	if (backend && !strcmp(backend, "auto"))
		backend = NULL;
	if (backend && !is_backend(backend)) {
		errno = EINVAL;
		return NULL;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->near.fd = -1;
	m->only_bpf = backend && !strcmp(backend, "bpf");
	if (stat(root, &st))
		goto fail;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		goto fail;
	}
	m->root = strdup(root);
	if (!m->root)
		goto fail;
	for (n = strlen(m->root); n && m->root[n - 1] == '/'; n--)
		m->root[n - 1] = '\0';
	find_mount(m);
	for (n = 0; n < sizeof(backends) / sizeof(*backends) && !m->backend; n++) {
		if (backend && strcmp(backend, backends[n]->name))
			continue;
		*m->error = '\0';
		if (backends[n]->here(m))
			m->backend = backends[n];
		else if (*m->error)
			memcpy(m->no_backend, m->error, sizeof(m->error));
	}
	*m->error = '\0';
	return m;
fail:
	n = errno;
	memio_close(m);
	errno = n;
	return NULL;
}

void memio_close(struct memio *m)
{
	size_t i;

	if (!m)
		return;
	if (m->backend && m->backend->end)
		m->backend->end(m);
	for (i = 0; i < m->capabilities; i++)
		free((char *)m->capability[i].why);
	free(m->capability);
	free(m->device);
	free(m->text);
	free(m->mount_root);
	free(m->mount);
	free(m->root);
	free(m);
}

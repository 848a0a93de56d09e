// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: groups: their names, walks, files, and what is written to them
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static int no_mount(struct memio *m)
{
	return mio_fail(m, -ENODEV, "no cgroup v2 hierarchy is mounted; mount -t cgroup2 none /sys/fs/cgroup");
}

static bool leads_up(const char *path)
{
	const char *at = path;

	while ((at = strstr(at, ".."))) {
		if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
		at += 2;
	}
	return false;
}

int mio_group_path(struct memio *m, const char *group, const char *file, char path[MIO_PATH_MOST])
{
	char *to = path;

	if (!m->mount)
		return no_mount(m);
	if (leads_up(group))
		return mio_fail(m, -EINVAL, "%s: a group's path has no '..'", group);
	if (strlen(m->mount) + strlen(group) + strlen(file) + 3 > MIO_PATH_MOST)
		return mio_fail(m, -ENAMETOOLONG, "the path of the group is too long");
	/* Thousands of times a second, so without printf */
	to = stpcpy(to, m->mount);
	if (*group != '/')
		*to++ = '/';
	if (strcmp(group, "/"))
		to = stpcpy(to, group);
	*to++ = '/';
	stpcpy(to, file);
	return 0;
}

int memio_group_enables(struct memio *m, const char *path)
{
	char file[MIO_PATH_MOST];
	int err = mio_group_path(m, path, "cgroup.subtree_control", file);
	ssize_t n;

	if (err)
		return err;
	n = mio_read(m, file);
	if (n < 0)
		return mio_fail(m, n, "%s: %s", file, strerror(-n));
	return mio_word_in(m->text, "memio");
}

int memio_group_lacks(struct memio *m, const char *path, char **group)
{
	char *at = strdup(path), *slash;
	int enables;

	*group = NULL;
	if (!at)
		return -ENOMEM;
	/* "/", "/a", and so on, but not the group itself */
	for (slash = at; slash && slash[1]; slash = strchr(slash + 1, '/')) {
		const char was = *slash;

		*slash = '\0';
		enables = memio_group_enables(m, *at ? at : "/");
		if (enables <= 0) {
			*group = enables ? NULL : strdup(*at ? at : "/");
			free(at);
			return enables ? enables : *group ? 1 : -ENOMEM;
		}
		*slash = was;
	}
	free(at);
	return 0;
}

/* Why a group has no such file: it is not there, or who above it keeps the controller */
static int no_file(struct memio *m, const char *group, const char *file, int err)
{
	char path[MIO_PATH_MOST], *above;

	if (err == -EACCES || err == -EPERM)
		return mio_fail(m, -EACCES, "%s: %s may not be opened by this user", group, file);
	if (err != -ENOENT)
		return mio_fail(m, err, "%s: %s: %s", group, file, strerror(-err));
	if (!mio_group_path(m, group, "cgroup.procs", path) && access(path, F_OK))
		return mio_fail(m, -ENOENT, "there is no group %s", group);
	if (!m->backend || m->backend->all_groups)
		return mio_fail(m, -ENOENT, "%s has no %s: this kernel has no memio", group, file);
	if (memio_group_lacks(m, group, &above) == 1) {
		mio_fail(m, -ENOENT, "%s has no controller memio, as %s does not hand it on: echo +memio >%s%s/cgroup.subtree_control",
			 group, above, m->mount, strcmp(above, "/") ? above : "");
		free(above);
		return -ENOENT;
	}
	return mio_fail(m, -ENOENT, "%s has no %s: this kernel's memio does not have it%s", group,
			file, strcmp(group, "/") ? "" : " for the root");
}

ssize_t mio_group_read(struct memio *m, const char *group, const char *file)
{
	char path[MIO_PATH_MOST];
	ssize_t n = mio_group_path(m, group, file, path);

	if (n)
		return n;
	n = mio_read(m, path);
	return n < 0 ? no_file(m, group, file, n) : n;
}

/* ---- names ---- */

/* One slash at the beginning, none at the end, no two beside each other, no "." */
static char *tidy(const char *name)
{
	char *path = malloc(strlen(name) + 2), *to = path;

	if (!path)
		return NULL;
	while (*name) {
		const size_t n = strcspn(name, "/");

		if (n && !(n == 1 && *name == '.')) {
			*to++ = '/';
			memcpy(to, name, n);
			to += n;
		}
		name += n + !!name[n];
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
	return path;
}

static bool is_unit(const char *name)
{
	static const char *const kinds[] = {
		".service", ".scope", ".slice", ".socket", ".mount", ".swap",
	};
	const size_t n = strlen(name);
	size_t i;

	if (strchr(name, '/'))
		return false;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (n > strlen(kinds[i]) && !strcmp(name + n - strlen(kinds[i]), kinds[i]))
			return true;
	return false;
}

struct unit {
	const char *name;
	char *path, *other;
};

static int note_unit(const struct memio_group *g, void *arg)
{
	struct unit *u = arg;

	if (strcmp(strrchr(g->path, '/') + 1, u->name))
		return 0;
	if (u->path) {
		u->other = strdup(g->path);
		return -EEXIST;
	}
	u->path = strdup(g->path);
	return u->path ? 0 : -ENOMEM;
}

static int find_unit(struct memio *m, const char *name, char **path)
{
	struct unit u = { .name = name };
	int err = memio_groups(m, "/", note_unit, &u);

	if (err == -EEXIST)
		mio_fail(m, err, "several groups are %s: %s, %s; name one by its path", name,
			 u.path, u.other ?: "");
	else if (!err && !u.path)
		err = mio_fail(m, -ENOENT, "there is no unit %s in the hierarchy; is it running?",
			       name);
	free(u.other);
	if (err) {
		free(u.path);
		return err;
	}
	*path = u.path;
	return 0;
}

int memio_group_resolve(struct memio *m, const char *name, char **path)
{
	const size_t mount = m->mount ? strlen(m->mount) : 0;
	char file[MIO_PATH_MOST], *tidied;
	struct stat st;
	int err;

	*path = NULL;
	if (!mount)
		return no_mount(m);
	if (!*name || leads_up(name) || strlen(name) >= 4096)
		return mio_fail(m, -EINVAL, "'%.40s' is no group: /a/b, a path below %s, or a unit",
				name, m->mount);
	if (!strcmp(name, "-.slice"))
		name = "/";
	/* With and without the root directory, as "/sys/fs/cgroup/a" */
	if (!strncmp(name, m->mount, mount) && (!name[mount] || name[mount] == '/'))
		name += mount;
	else if (!strncmp(name, m->mount + strlen(m->root), mount - strlen(m->root)) &&
		 (!name[mount - strlen(m->root)] || name[mount - strlen(m->root)] == '/'))
		name += mount - strlen(m->root);
	tidied = tidy(name);
	if (!tidied)
		return mio_fail(m, -ENOMEM, "no memory");
	err = mio_group_path(m, tidied, "", file);
	if (!err && !stat(file, &st) && S_ISDIR(st.st_mode)) {
		*path = tidied;
		return 0;
	}
	free(tidied);
	if (err)
		return err;
	if (is_unit(name))
		return find_unit(m, name, path);
	return mio_fail(m, -ENOENT, "there is no group %s below %s", name, m->mount);
}

/*
 * ---- walks ----
 *
 * A path below /sys/fs/cgroup is looked up a name at a time, which takes the kernel some thousand
 * instructions. So a walk has the directory open that it goes through, and looks up only the
 * group's name from there; so does mio_read(), for files of the groups in it.
 */

/* So many levels of directories are open at most. */
#define OPEN_MOST	64

struct walk {
	struct memio *m;
	int (*each)(const struct memio_group *group, void *arg);
	void *arg;
	char path[MIO_PATH_MOST];	/* of the directory, and room for "/memio.stat" */
	size_t mount;			/* length of what stands before the group's path */
	bool siblings;			/* groups in this one are accounted */
};

/*
 * A group has the controller if the one above it hands it on: of the groups in one, all or none
 * have. A recording may lack some files.
 */
static bool is_accounted(struct walk *w, int at, const char *name)
{
	const struct memio *m = w->m;
	const size_t n = strlen(w->path);
	bool accounted;

	if (m->backend && m->backend->all_groups)
		return true;
	if (w->siblings && !*m->root)
		return true;
	stpcpy(w->path + n, "/memio.stat");
	accounted = !faccessat(at, name, F_OK, 0);
	w->path[n] = '\0';
	/* One that has no file may be going away just now. */
	w->siblings |= accounted;
	return accounted;
}

static int only_groups(const struct dirent *d)
{
	if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
		return 0;
	return d->d_type == DT_DIR || d->d_type == DT_UNKNOWN;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int walk(struct walk *w, unsigned int depth);

/* The groups in the one at @w->path, which a recording may have deeper than files can be open */
static int walk_below(struct walk *w, int at, const char *name, unsigned int depth)
{
	const size_t n = strlen(w->path);
	const struct mio_dir near = w->m->near;
	const bool siblings = w->siblings;
	struct dirent **child;
	int i, children, status = 0;

	children = scandirat(at, name, &child, only_groups, by_name);
	if (children < 0)
		return errno == ENOMEM ? -ENOMEM : 0;
	w->m->near = (struct mio_dir) { .fd = -1, .path = w->path, .n = n };
	if (children && depth < OPEN_MOST)
		w->m->near.fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	w->siblings = false;
	for (i = 0; i < children; i++) {
		const size_t more = strlen(child[i]->d_name);

		/* A longer path opens nowhere. */
		if (!status && n + 1 + more < PATH_MAX) {
			w->path[n] = '/';
			memcpy(w->path + n + 1, child[i]->d_name, more + 1);
			status = walk(w, depth + 1);
			w->path[n] = '\0';
		}
		free(child[i]);
	}
	free(child);
	if (w->m->near.fd >= 0)
		close(w->m->near.fd);
	w->m->near = near;
	w->siblings = siblings;
	return status;
}

static int walk(struct walk *w, unsigned int depth)
{
	const struct mio_dir *near = &w->m->near;
	const int at = near->fd < 0 ? AT_FDCWD : near->fd;
	const char *name = near->fd < 0 ? w->path : w->path + near->n + 1;
	const size_t n = strlen(w->path);
	struct memio_group g = { .depth = depth };
	struct stat st;
	int status;

	/* d_type may be missing, and a link would lead anywhere. */
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
		return 0;
	g.accounted = is_accounted(w, at, name);
	g.path = n > w->mount ? w->path + w->mount : "/";
	g.inode = st.st_ino;
	status = w->each(&g, w->arg);
	if (status)
		return status < 0 ? status : 0;
	/* Of a directory that counts its directories, as cgroupfs does: it has none */
	return st.st_nlink == 2 ? 0 : walk_below(w, at, name, depth);
}

static unsigned int depth_of(const char *path)
{
	unsigned int depth = 0;

	for (; *path; path++)
		depth += path[0] == '/' && path[1];
	return depth;
}

int memio_groups(struct memio *m, const char *path,
		 int (*each)(const struct memio_group *group, void *arg), void *arg)
{
	const struct mio_dir near = m->near;	/* of a walk that this one is part of */
	struct walk *w = malloc(sizeof(*w));
	struct stat st;
	int err;

	if (!w)
		return mio_fail(m, -ENOMEM, "no memory");
	*w = (struct walk) { .m = m, .each = each, .arg = arg };
	m->near.fd = -1;
	err = mio_group_path(m, path, "", w->path);
	if (err)
		goto out;
	for (w->mount = strlen(w->path); w->mount && w->path[w->mount - 1] == '/'; w->mount--)
		w->path[w->mount - 1] = '\0';
	w->mount = strlen(m->mount);
	if (stat(w->path, &st))
		err = mio_fail(m, -errno, "there is no group %s", path);
	else
		err = walk(w, depth_of(path));
out:
	m->near = near;
	free(w);
	return err;
}

/* ---- figures ---- */

static int no_backend(struct memio *m)
{
	return mio_fail(m, -ENOTSUP, "nothing here tells of memory bandwidth: this kernel has no memio");
}

int memio_group_stat(struct memio *m, const char *path, enum memio_scope scope,
		     struct memio_stat *s)
{
	int err;

	if (!m->backend)
		return no_backend(m);
	err = m->backend->group_stat(m, path, scope, s);
	s->ns = mio_now();
	return err;
}

int memio_group_events(struct memio *m, const char *path, enum memio_scope scope,
		       struct memio_flat *events)
{
	if (!m->backend || !m->backend->group_events)
		return no_backend(m);
	return m->backend->group_events(m, path, scope, events);
}

int memio_group_state(struct memio *m, const char *path, struct memio_flat *state)
{
	if (!m->backend || !m->backend->group_state)
		return no_backend(m);
	return m->backend->group_state(m, path, state);
}

int memio_group_pressure(struct memio *m, const char *path, struct memio_flat *pressure)
{
	const ssize_t n = mio_group_read(m, path, "memio.pressure");

	return n < 0 ? n : memio_flat_parse(pressure, m->text, n);
}

int memio_group_limits(struct memio *m, const char *path, struct memio_limits *limits)
{
	if (!m->backend || !m->backend->group_limits)
		return no_backend(m);
	return m->backend->group_limits(m, path, limits);
}

static const char *const value_files[] = {
	[MEMIO_MIN]		= "memio.min",
	[MEMIO_MIN_EFFECTIVE]	= "memio.min.effective",
	[MEMIO_WEIGHT]		= "memio.weight",
};

int memio_group_value(struct memio *m, const char *path, enum memio_value which, uint64_t *value)
{
	const ssize_t n = mio_group_read(m, path, value_files[which]);
	char *end;

	if (n < 0)
		return n;
	if (!strcmp(m->text, "max\n") || !strcmp(m->text, "max")) {
		*value = MEMIO_RATE_MAX;
		return 0;
	}
	errno = 0;
	*value = strtoull(m->text, &end, 10);
	if (errno || end == m->text || *m->text < '0' || *m->text > '9' ||
	    (*end && *end != '\n'))
		return mio_fail(m, -EINVAL, "%s: %s is no number", path, value_files[which]);
	return 0;
}

/* ---- what is written ---- */

static int put(struct memio *m, const char *group, const char *file, const char *text)
{
	char path[MIO_PATH_MOST];
	int err = mio_group_path(m, group, file, path);

	if (err)
		return err;
	err = mio_write(path, text);
	switch (err) {
	case 0:
		return 0;
	case -ENODEV:
		return mio_fail(m, err, "%s: there is no device %.*s that moves bytes here", group,
				(int)strcspn(text, "\n "), text);
	case -ERANGE:
		return mio_fail(m, err, "%s: %s takes no '%.*s': out of range", group, file,
				(int)strcspn(text, "\n"), text);
	case -EINVAL:
		return mio_fail(m, err, "%s: %s refuses '%.*s'", group, file,
				(int)strcspn(text, "\n"), text);
	case -EOPNOTSUPP:
		return mio_fail(m, err, "%s: %s refuses '%.*s': nothing can hold it here, as memio does not count what CPUs read, or stops no task of the group",
				group, file, (int)strcspn(text, "\n"), text);
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return mio_fail(m, -EACCES, "%s: %s is not this user's to write: a limit belongs to whoever administers the group above",
				group, file);
	default:
		return no_file(m, group, file, err);
	}
}

int memio_group_set_limit(struct memio *m, const char *path, const struct memio_limit *limit)
{
	char text[MEMIO_NAME_MAX + 128];
	int n = snprintf(text, sizeof(text), "%.*s", MEMIO_NAME_MAX - 1, limit->key), way;

	for (way = 0; way < MEMIO_WAYS; way++) {
		if (limit->rate[way] == MEMIO_RATE_KEEP)
			continue;
		if (limit->rate[way] == MEMIO_RATE_MAX)
			n += snprintf(text + n, sizeof(text) - n, " %s=max", memio_way_name(way));
		else
			n += snprintf(text + n, sizeof(text) - n, " %s=%" PRIu64,
				      memio_way_name(way), limit->rate[way]);
	}
	snprintf(text + n, sizeof(text) - n, "\n");
	return put(m, path, "memio.limit", text);
}

int memio_group_reset_limits(struct memio *m, const char *path)
{
	struct memio_limits l = { 0 };
	int err = memio_group_limits(m, path, &l), way;
	size_t i;

	for (i = 0; !err && i < l.n; i++) {
		for (way = 0; way < MEMIO_WAYS; way++)
			l.limit[i].rate[way] = MEMIO_RATE_MAX;
		err = memio_group_set_limit(m, path, &l.limit[i]);
	}
	memio_limits_free(&l);
	return err;
}

int memio_group_set_value(struct memio *m, const char *path, enum memio_value which,
			  uint64_t value)
{
	char text[32];

	if (value == MEMIO_RATE_MAX)
		stpcpy(text, "max\n");
	else
		snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	return put(m, path, value_files[which], text);
}

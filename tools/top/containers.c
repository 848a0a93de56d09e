// SPDX-License-Identifier: GPL-2.0
/*
 * The names of containers
 *
 * podman runs each container in a group libpod-ID or, with systemd, libpod-ID.scope, where ID has
 * 64 hexadecimal digits. Its storage has two lists of containers for each storage driver, in
 * storage/DRIVER-containers: containers.json, and volatile-containers.json with those that `podman
 * run --rm` began. Either is an array of objects with "id" and "names". A container is in a list
 * before it starts, so a group is looked up once.
 */
#include <ctype.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "containers.h"

#define ID_DIGITS	64
#define LISTS_MOST	8		/* that are remembered */
#define LIST_MOST	(8 << 20)	/* bytes; of some 5,000 containers */

struct container {
	char id[ID_DIGITS + 1], name[64];
};

/**
 * struct list - what a file had when it was read last
 * @read:	the file at that time; of size 0: there was none
 */
struct list {
	struct stat read;
	struct container *container;
	size_t n;
};

/* The digits in a group's path, or NULL: it is no container's */
static const char *id_in(const char *group)
{
	const char *slash = strrchr(group, '/');
	const char *id = slash ? slash + 1 : group;

	if (strncmp(id, "libpod-", strlen("libpod-")))
		return NULL;
	id += strlen("libpod-");
	if (strspn(id, "0123456789abcdef") != ID_DIGITS)
		return NULL;
	if (id[ID_DIGITS] && strcmp(id + ID_DIGITS, ".scope"))
		return NULL;
	return id;
}

/* podman allows no other names; what else is there was not written by podman. */
static bool is_name(const char *name)
{
	const char *c;

	for (c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_.-", *c))
			return false;
	return *name;
}

static void take_container(struct list *l, const json_t *one)
{
	const char *id = json_string_value(json_object_get(one, "id"));
	const char *name = json_string_value(json_array_get(json_object_get(one, "names"), 0));
	struct container *c = &l->container[l->n];

	if (!id || strlen(id) != ID_DIGITS || !name || !is_name(name))
		return;
	memcpy(c->id, id, sizeof(c->id));
	snprintf(c->name, sizeof(c->name), "%s", name);
	l->n++;
}

/* What a file says anew; none of it, if it is not what podman writes */
static void read_list(struct list *l, int fd, const struct stat *st)
{
	char *text = malloc(st->st_size + 1);
	const ssize_t n = text ? read(fd, text, st->st_size) : -1;
	json_t *all = n > 0 ? json_loadb(text, n, 0, NULL) : NULL, *one;
	size_t i;

	free(text);
	free(l->container);
	l->read = *st;
	l->n = 0;
	l->container = calloc(json_array_size(all) + 1, sizeof(*l->container));
	if (l->container)
		json_array_foreach(all, i, one)
			take_container(l, one);
	json_decref(all);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The list in a file, which is read only if it has changed; NULL: it is none */
static const struct list *list_in(const char *file)
{
	static struct list lists[LISTS_MOST];
	static unsigned int next;
	const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct list *l = NULL;
	struct stat st;
	size_t i;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= LIST_MOST) {
		for (i = 0; i < LISTS_MOST && !l; i++)
			if (same_file(&lists[i].read, &st))
				l = &lists[i];
		if (!l) {
			l = &lists[next++ % LISTS_MOST];
			read_list(l, fd, &st);
		}
	}
	close(fd);
	return l;
}

static void find_name(const struct list *l, const char *id, char *name, size_t size)
{
	size_t i;

	for (i = 0; l && i < l->n; i++)
		if (!strncmp(l->container[i].id, id, ID_DIGITS))
			snprintf(name, size, "%s", l->container[i].name);
}

/*
 * Whether who owns the hierarchy, which is root, owns the group, too: in a group that was handed to
 * a user, this user could make one with the name of a container of root.
 */
static bool is_roots(const char *mount, const char *group)
{
	struct stat top, its;
	char path[8400];

	snprintf(path, sizeof(path), "%.4095s%.4200s", mount, group);
	return !stat(mount, &top) && !stat(path, &its) && its.st_uid == top.st_uid;
}

void container_name(const char *root, const char *mount, const char *group, char *name,
		    size_t size)
{
	const char *id = id_in(group);
	char pattern[4200];
	glob_t found;
	size_t i;

	*name = '\0';
	if (!id || !mount || !is_roots(mount, group))
		return;
	/* containers.json and volatile-containers.json */
	snprintf(pattern, sizeof(pattern),
		 "%s/var/lib/containers/storage/*-containers/*containers.json", root);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc && !*name; i++)
		find_name(list_in(found.gl_pathv[i]), id, name, size);
	globfree(&found);
}

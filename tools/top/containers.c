// SPDX-License-Identifier: GPL-2.0
/*
 * The names of containers
 *
 * podman runs each container in a group libpod-ID or, with systemd, libpod-ID.scope, where ID has
 * 64 hexadecimal digits. Its storage has a list of containers for each storage driver:
 * storage/DRIVER-containers/containers.json, an array of objects with "id" and "names". The list
 * is written before the container starts, so a group is looked up once.
 */
#include <ctype.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "containers.h"

#define ID_DIGITS	64

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

static void find_name(const char *file, const char *id, char *name, size_t size)
{
	json_t *list = json_load_file(file, 0, NULL), *one;
	size_t i;

	json_array_foreach(list, i, one) {
		const json_t *names = json_object_get(one, "names");
		const char *its = json_string_value(json_object_get(one, "id"));
		const char *first = json_string_value(json_array_get(names, 0));

		if (!its || strlen(its) != ID_DIGITS || strncmp(its, id, ID_DIGITS))
			continue;
		if (first && is_name(first))
			snprintf(name, size, "%s", first);
	}
	json_decref(list);
}

void container_name(const char *root, const char *group, char *name, size_t size)
{
	const char *id = id_in(group);
	char pattern[4200];
	glob_t found;
	size_t i;

	*name = '\0';
	if (!id)
		return;
	snprintf(pattern, sizeof(pattern),
		 "%s/var/lib/containers/storage/*-containers/containers.json", root);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc && !*name; i++)
		find_name(found.gl_pathv[i], id, name, size);
	globfree(&found);
}

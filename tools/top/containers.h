/* SPDX-License-Identifier: GPL-2.0 */
/* memio top: the names of containers */
#ifndef MEMIO_TOP_CONTAINERS_H
#define MEMIO_TOP_CONTAINERS_H

#include <stddef.h>

/*
 * container_name: what podman calls the container that runs in @group, a path. @root: where
 * var/lib/containers is; @mount: where the hierarchy of groups is, or NULL.
 * @name is "" if the group is no container's, if root does not own the group, or if podman's
 * storage does not name it or is not for this user.
 */
void container_name(const char *root, const char *mount, const char *group, char *name,
		    size_t size);

#endif /* MEMIO_TOP_CONTAINERS_H */

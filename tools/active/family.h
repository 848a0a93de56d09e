/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command's processes: all that descend from this one, whatever groups and sessions they
 * made for themselves. Who lost its parent is this process's child, as it is a subreaper meanwhile.
 */
#ifndef MEMIO_ACTIVE_FAMILY_H
#define MEMIO_ACTIVE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct member {
	pid_t pid, parent;
	bool dead;			/* and not buried yet */
};

struct family {
	struct member *member;
	size_t n;
};

/*
 * family_find: who descends from this process, but for @others and their descendants: NULL, or
 * what was found before. To be freed; empty where /proc can't be read.
 */
void family_find(struct family *f, const struct family *others);
void family_free(struct family *f);
/* family_leaves: so many live, and have no child that does */
unsigned int family_leaves(const struct family *f);
/* family_strays: one of them that may run on another CPU than these, and on which; 0: none */
pid_t family_strays(const struct family *f, const int *cpu, unsigned int n, int *stray);
/* family_begin: from now on, who loses its parent becomes a child of this process */
void family_begin(void);
/* family_end: no longer; and whoever there is, but for @others, is killed. False: some live on */
bool family_end(const struct family *others);

#endif /* MEMIO_ACTIVE_FAMILY_H */

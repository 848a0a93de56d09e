/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command's processes: all that descend from its keeper, whatever groups and sessions they
 * made for themselves
 *
 * The keeper is a process between this one and the command. Who loses its parent becomes the
 * keeper's child, as it is a subreaper. This process is none: then the orphans of whoever was
 * below it before would come to it as well, and nothing would tell them from the command's.
 * The keeper waits for the command, and kills what that leaves behind.
 */
#ifndef MEMIO_ACTIVE_FAMILY_H
#define MEMIO_ACTIVE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

struct member {
	pid_t pid, parent;
	bool dead;			/* and not buried yet */
};

struct family {
	struct member *member;
	size_t n;
};

/* family_find: who descends from @keeper. To be freed; empty where /proc can't be read. */
void family_find(struct family *f, pid_t keeper);
void family_free(struct family *f);
/* family_leaves: so many live, and have no child that does */
unsigned int family_leaves(const struct family *f);
/* family_strays: one of them that may run on another CPU than these, and on which; 0: none */
pid_t family_strays(const struct family *f, const int *cpu, unsigned int n, int *stray);

struct keeper {
	pid_t pid, first;	/* itself; the command's first process, a group of its own */
	int line;
};

/**
 * struct ending - of the command's first process
 * @status:	as wait() has it
 * @stopped:	0, or the signal that stopped it, as it wanted a terminal; it was killed
 * @ns:		when, by now_ns()
 * @used:	by it, and those that it has waited for
 */
struct ending {
	int status, stopped;
	double ns;
	struct rusage used;
};

/* keeper_start: with a command, which is what @child does and does not return from */
bool keeper_start(struct keeper *k, void (*child)(const void *arg), const void *arg);
/*
 * keeper_wait: until the command has ended. It is not buried until keeper_end(), so that its
 * number is its own; what was left of its group is killed. 1; 0 after a signal: to be called
 * again; -1 if the keeper is gone
 */
int keeper_wait(const struct keeper *k, struct ending *e);
/* keeper_end: who is left of the family is killed. False: some can't be */
bool keeper_end(struct keeper *k);

#endif /* MEMIO_ACTIVE_FAMILY_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What goes on, on standard error, with the time that is left: on a terminal one line that
 * changes; elsewhere a line now and then, the first after two seconds; or each step
 */
#ifndef MEMIO_PROGRESS_H
#define MEMIO_PROGRESS_H

#include <stdbool.h>

/**
 * struct progress - of steps that are of about the same length
 * @done, @all:	steps
 * @quiet:	nothing is printed
 * @verbose:	each step has a line
 * @begin_s, @said_s: when it began, and when something was printed last
 */
struct progress {
	unsigned int done, all;
	bool quiet, verbose;
	double begin_s, said_s;
};

void progress_begin(struct progress *p, unsigned int all, bool quiet, bool verbose);
/* progress: before a step that is described like printf does */
void progress(struct progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void progress_end(struct progress *p);

#endif /* MEMIO_PROGRESS_H */

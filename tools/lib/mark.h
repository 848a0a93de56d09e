/* SPDX-License-Identifier: GPL-2.0 */
/* --mark: another instrument looks at the same time */
#ifndef MEMIO_MARK_H
#define MEMIO_MARK_H

#include <stdbool.h>

/*
 * mark_run: sh -c @command with @when as its $1, on @cpu or, if that is -1, wherever there is
 * one; returns when it has ended. With @json its output goes to standard error, as
 * standard output is JSON and nothing else. NULL: nothing is done
 */
void mark_run(const char *command, const char *when, int cpu, bool json);

#endif /* MEMIO_MARK_H */

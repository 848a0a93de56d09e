// SPDX-License-Identifier: GPL-2.0
/*
 * What goes on, on standard error: on a terminal one line that changes, with --verbose a
 * line for each step
 *
 * The time left is what the steps took so far, times those that are left: all are of
 * about the same length, as interference makes the slowest some times slower, not more.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "active.h"

static bool terminal(const struct progress *p)
{
	return !p->a->quiet && isatty(STDERR_FILENO);
}

void progress_begin(struct progress *p, const struct active *a, unsigned int all)
{
	*p = (struct progress) { .a = a, .all = all, .begin = now_ns() };
}

static void time_left(const struct progress *p)
{
	const double took = (now_ns() - p->begin) / 1e9;
	const double left = took / p->done * (p->all - p->done);

	if (left < 120)
		fprintf(stderr, ", about %.0f s left", left);
	else if (left < 7200)
		fprintf(stderr, ", about %.0f min left", left / 60);
	else
		fprintf(stderr, ", about %.1f h left", left / 3600);
}

void progress(struct progress *p, const char *format, ...)
{
	va_list args;

	if (terminal(p) || p->a->verbose) {
		fprintf(stderr, "%s%u of %u: ", terminal(p) && !p->a->verbose ? "\r" : "",
			p->done + 1, p->all);
		va_start(args, format);
		vfprintf(stderr, format, args);
		va_end(args);
		if (p->done)
			time_left(p);
		fputs(p->a->verbose ? "\n" : "\033[K", stderr);
	}
	p->done++;
}

void progress_end(struct progress *p)
{
	if (terminal(p) && !p->a->verbose)
		fputs("\r\033[K", stderr);
}

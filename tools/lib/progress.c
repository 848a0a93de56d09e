// SPDX-License-Identifier: GPL-2.0
/*
 * What goes on, see progress.h
 *
 * The time left is what the steps took so far, times those that are left: all are of
 * about the same length, as interference makes the slowest some times slower, not more.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "progress.h"

#define FIRST_S	2.
#define NEXT_S	10.

static double now_s(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1e9;
}

static bool terminal(const struct progress *p)
{
	return !p->quiet && !p->verbose && isatty(STDERR_FILENO);
}

void progress_begin(struct progress *p, unsigned int all, bool quiet, bool verbose)
{
	*p = (struct progress) {
		.all = all, .quiet = quiet, .verbose = verbose, .begin_s = now_s(),
	};
}

static void time_left(const struct progress *p)
{
	const double took = now_s() - p->begin_s;
	const double left = took / p->done * (p->all - p->done);

	if (left < 120)
		fprintf(stderr, ", about %.0f s left", left);
	else if (left < 7200)
		fprintf(stderr, ", about %.0f min left", left / 60);
	else
		fprintf(stderr, ", about %.1f h left", left / 3600);
}

static bool is_time(const struct progress *p)
{
	const double now = now_s();

	return p->said_s ? now - p->said_s >= NEXT_S : now - p->begin_s >= FIRST_S;
}

void progress(struct progress *p, const char *format, ...)
{
	va_list args;

	if (p->verbose || terminal(p) || (!p->quiet && is_time(p))) {
		fprintf(stderr, "%s%u of %u: ", terminal(p) ? "\r" : "", p->done + 1, p->all);
		va_start(args, format);
		vfprintf(stderr, format, args);
		va_end(args);
		if (p->done)
			time_left(p);
		fputs(terminal(p) ? "\033[K" : "\n", stderr);
		p->said_s = now_s();
	}
	p->done++;
}

void progress_end(struct progress *p)
{
	if (terminal(p))
		fputs("\r\033[K", stderr);
}

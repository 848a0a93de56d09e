/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of this directory share: complaints that are counted, and random numbers */
#ifndef TRACE_TEST_SHARED_H
#define TRACE_TEST_SHARED_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "random.h"

/* Instead of lib/command.c's; TRACE_TEST_VERBOSE=1 shows them */
const char *command_name = "";
const struct command *command_current;
static unsigned int complaints;

void command_help(const struct command *command, FILE *to)
{
	fprintf(to, "%s\n", command->name);
}

void complain(const char *format, ...)
{
	va_list args;

	complaints++;
	if (!getenv("TRACE_TEST_VERBOSE"))
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void complain_errno(const char *format, ...)
{
	(void)format;
	complaints++;
}

static uint64_t random_state = 1;

static inline uint64_t random64(void)
{
	return random_next(&random_state);
}

static inline uint64_t random_below(uint64_t n)
{
	return random64() % n;
}

#endif /* TRACE_TEST_SHARED_H */

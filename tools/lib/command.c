// SPDX-License-Identifier: GPL-2.0
/*
 * Commands and complaints, see command.h
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

const char *command_name = "";
const struct command *command_current;

static void usage(FILE *to, const struct command *const *list)
{
	const char *space = *command_name ? " " : "";

	fprintf(to, "usage: memio%s%s COMMAND [ARG...]\n\nCommands:\n", space, command_name);
	for (; *list; list++)
		fprintf(to, "  %-10s %s\n", (*list)->name, (*list)->summary);
	fprintf(to, "\n'memio%s%s COMMAND --help' describes one command.\n", space,
		command_name);
}

int commands_run(const struct command *const *list, int argc, char **argv)
{
	const char *space = *command_name ? " " : "";
	const struct command *const *c = list;
	static char name[64];
	size_t length;

	if (argc < 2) {
		usage(stderr, list);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout, list);
		return STATUS_OK;
	}
	while (*c && strcmp(argv[1], (*c)->name))
		c++;
	if (!*c) {
		complain("no command '%s'; 'memio%s%s --help' lists them", argv[1], space,
			 command_name);
		return STATUS_USAGE;
	}
	length = strlen(name);
	snprintf(name + length, sizeof(name) - length, "%s%s", space, (*c)->name);
	command_name = name;
	command_current = *c;
	return (*c)->child ? commands_run((*c)->child, argc - 1, argv + 1) :
			     (*c)->main(argc - 1, argv + 1);
}

int command_exit(int status)
{
	return status == STATUS_FAILED ? 1 : status;
}

static void begin(const char *format, va_list args)
{
	fprintf(stderr, "memio%s%s: ", *command_name ? " " : "", command_name);
	vfprintf(stderr, format, args);
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	begin(format, args);
	va_end(args);
	fputc('\n', stderr);
}

void complain_errno(const char *format, ...)
{
	const int err = errno;
	va_list args;

	va_start(args, format);
	begin(format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(err));
}

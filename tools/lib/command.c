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

static void usage(FILE *to, const struct command *commands, size_t n)
{
	const char *space = *command_name ? " " : "";
	size_t i;

	fprintf(to, "usage: memio%s%s COMMAND [ARG...]\n\nCommands:\n", space, command_name);
	for (i = 0; i < n; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fprintf(to, "\n'memio%s%s COMMAND --help' tells about one of them.\n", space,
		command_name);
}

int commands_run(const struct command *commands, size_t n, int argc, char **argv)
{
	const char *space = *command_name ? " " : "";
	static char name[64];
	size_t i, length;

	if (argc < 2) {
		usage(stderr, commands, n);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout, commands, n);
		return STATUS_OK;
	}
	for (i = 0; i < n && strcmp(argv[1], commands[i].name); i++)
		;
	if (i == n) {
		complain("no command '%s'; 'memio%s%s --help' lists them", argv[1], space,
			 command_name);
		return STATUS_USAGE;
	}
	length = strlen(name);
	snprintf(name + length, sizeof(name) - length, "%s%s", space, commands[i].name);
	command_name = name;
	return commands[i].main(argc - 1, argv + 1);
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

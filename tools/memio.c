// SPDX-License-Identifier: GPL-2.0
/*
 * memio: the user tools, as one program
 *
 *	memio COMMAND [ARG...]
 *
 * Each command has its directory beside this file, a line in the table below, a
 * man page memio-COMMAND(1), and --help.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"

#define VERSION "0.1"

static const struct command commands[] = {
	{ "trace", "record and show traces of tasks' memory accesses", cmd_trace },
	{ "cit", "what a hardware event really counts", cmd_cit },
	{ "active", "what memory resources an application needs", cmd_active },
	{ "guarantee", "what the memory gives, whatever is asked of it", cmd_guarantee },
	{ "version", "print the version", cmd_version },
};

int cmd_version(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		complain("takes no arguments");
		return STATUS_USAGE;
	}
	puts("memio " VERSION);
	return STATUS_OK;
}

int main(int argc, char **argv)
{
	int status;

	if (argc > 1 && !strcmp(argv[1], "--version"))
		argv[1] += 2;
	status = commands_run(commands, sizeof(commands) / sizeof(*commands), argc, argv);

	/* What was printed and did not arrive, as on a full disk, is a failure. */
	if (fflush(stdout) || ferror(stdout)) {
		complain_errno("writing the output");
		if (status == STATUS_OK)
			status = STATUS_FAILED;
	}
	return status;
}

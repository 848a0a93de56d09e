// SPDX-License-Identifier: GPL-2.0
/*
 * memio: the user tools, as one program
 *
 *	memio COMMAND [ARG...]
 *
 * Each command has a row in the table below, which is all that the program says of it
 * (lib/command.h), and a man page memio-COMMAND(1).
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "options.h"

#define VERSION "0.1"

const struct command *const commands[] = {
	&command_top,
	&command_stat,
	&command_run,
	&command_limit,
	&command_record,
	&command_replay,
	&command_report,
	&command_doctor,
	&command_enable,
	&command_export,
	&command_trace,
	&command_cit,
	&command_active,
	&command_guarantee,
	&command_version,
	NULL
};

const char *const command_version_text = VERSION;

static int cmd_version(int argc, char **argv)
{
	struct options o;
	int status;

	options_begin(&o, argc, argv);
	if (options_get(&o, &status) < 0)
		return status;
	if (o.argc) {
		complain("takes no arguments");
		return STATUS_USAGE;
	}
	puts("memio " VERSION);
	return STATUS_OK;
}

const struct command command_version = {
	.name = "version",
	.summary = "print the version",
	.usage = "",
	.about = "Prints the version.",
	.main = cmd_version,
};

/* What the build makes of the table: 'memio --completion', 'memio --man NAME <SOURCE' */
static bool generated(int argc, char **argv, int *status)
{
	const struct command *c;

	if (argc == 2 && !strcmp(argv[1], "--completion")) {
		commands_completion(commands, stdout);
		return true;
	}
	if (argc != 3 || strcmp(argv[1], "--man"))
		return false;
	c = command_find(commands, argv[2]);
	*status = !c ? STATUS_USAGE : command_man(c, stdin, stdout) ? STATUS_OK : STATUS_FAILED;
	return true;
}

int main(int argc, char **argv)
{
	int status = STATUS_OK;

	if (argc > 1 && !strcmp(argv[1], "--version"))
		argv[1] += 2;
	if (!generated(argc, argv, &status))
		status = commands_run(commands, argc, argv);

	/* What was printed and did not arrive, as on a full disk, is a failure. */
	if (fflush(stdout) || ferror(stdout)) {
		complain_errno("writing the output");
		if (status == STATUS_OK)
			status = STATUS_FAILED;
	}
	return command_exit(status);
}

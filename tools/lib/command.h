/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the commands of the program memio share: how they are called, how they end,
 * and what they say when something is wrong
 */
#ifndef MEMIO_COMMAND_H
#define MEMIO_COMMAND_H

#include <stddef.h>

/*
 * How a command ends. A result of its own (a check that fails, say) is 1; whoever
 * runs memio in a script can tell it from not having been able to look.
 */
enum {
	STATUS_OK	= 0,
	STATUS_NEGATIVE	= 1,
	STATUS_USAGE	= 2,	/* the arguments are wrong; nothing was done */
	STATUS_FAILED	= 3,	/* it could not be done, and why was said */
};

/**
 * struct command - one of the program's
 * @name:	its first argument
 * @summary:	a line for memio --help
 * @main:	as a program's, from its name on; returns a STATUS_
 */
struct command {
	const char *name;
	const char *summary;
	int (*main)(int argc, char **argv);
};

/*
 * commands_run: that of the @n @commands which argv[1] names; the others are listed if it
 * asks for help. They may have commands of their own, and so on.
 */
int commands_run(const struct command *commands, size_t n, int argc, char **argv);

/* Those that are there; each is in a directory of its name. */
int cmd_trace(int argc, char **argv);
int cmd_cit(int argc, char **argv);
int cmd_active(int argc, char **argv);
int cmd_guarantee(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* complain: "memio NAME: TEXT" to stderr; with what can be done about it */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* complain_errno: the same, and strerror(errno) */
void complain_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The name that complaints begin with, as "trace plot"; commands_run() sets it. */
extern const char *command_name;

#endif /* MEMIO_COMMAND_H */

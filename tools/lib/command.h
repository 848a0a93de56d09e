/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of commands: how each is called, what it says of itself, and how it ends
 *
 * A row has all that is to be known of a command but what it does: --help, the completion of
 * bash and the man page's options are made of it, and options are parsed by it (options.h).
 */
#ifndef MEMIO_COMMAND_H
#define MEMIO_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * What became of a command. What the program exits with is command_exit()'s: 0; 1: something
 * was found, or it failed; 2: the arguments are wrong; 77: this machine can't. A command that runs
 * another one passes its status on, or 126 or 127, as a shell does.
 */
enum {
	STATUS_OK	= 0,
	STATUS_NEGATIVE	= 1,	/* it was done, and the result is negative: exit status 1 */
	STATUS_USAGE	= 2,	/* the arguments are wrong; nothing was done */
	/* It could not be done, and why was said: exit status 1. No command that is run has 256. */
	STATUS_FAILED	= 256,
	STATUS_UNABLE	= 77,	/* this machine can't, and why was said */
	STATUS_NOT_RUN	= 126,	/* a command is there, and could not be run */
	STATUS_NO_SUCH	= 127,	/* there is no such command */
};

/* What may stand as a value, for the completion */
enum completes {
	COMPLETES_NOTHING,
	COMPLETES_FILE,
	COMPLETES_GROUP,
	COMPLETES_DEVICE,
	COMPLETES_PID,
	COMPLETES_LIMIT,
	COMPLETES_COMMAND,
	COMPLETES_HOST,
	COMPLETES_WORDS,
};

/**
 * struct command_option - an option
 * @id:		what options_get() returns: its letter, or a number of its own above 255
 * @name:	after the "--"
 * @value:	the name of its value; NULL: it takes none
 * @help:	sentences, for --help and the man page
 * @completes:	what may be its value
 * @words:	if these are words: with spaces between
 * @of:		the subcommands that it means something to, by their bits; 0: all
 * @hint:	what else the others have; or NULL
 */
struct command_option {
	int id;
	const char *name, *value, *help;
	enum completes completes;
	const char *words;
	unsigned int of;
	const char *hint;
};

/* The option --backend of all commands that have figures; its id is above those of their own */
#define OPT_BACKEND	900
#define BACKEND_OPTION	\
	{ .id = OPT_BACKEND, .name = "backend", .value = "WHICH", \
	  .completes = COMPLETES_WORDS, .words = "auto kernel bpf", \
	  .help = "Take figures from the files of a kernel with memio (kernel), or count " \
		  "by BPF programs, which need root (bpf). The default, auto, takes the kernel's " \
		  "files if they are there." }

/**
 * struct subcommand - the word that follows the command
 * @name:	it
 * @bit:	for @of of options
 * @summary:	for --help
 * @runs:	the other arguments are a command, and options behind its name are its own
 */
struct subcommand {
	const char *name;
	unsigned int bit;
	const char *summary;
	bool runs;
};

/**
 * struct command - a row
 * @name:	the program's first argument
 * @summary:	a line for memio --help
 * @usage:	what follows "memio NAME ", a line for each form
 * @about:	what it does, a paragraph or some
 * @notes:	behind the options; or NULL
 * @option:	an array, to the one without a name; --help is everybody's
 * @sub:	an array, to the one without a name; or NULL
 * @child:	commands below it, to NULL; then there is no @main
 * @arguments:	what may stand behind the options
 * @runs:	as of a subcommand
 * @main:	as a program's, from its name on; returns a STATUS_
 */
struct command {
	const char *name, *summary, *usage, *about, *notes;
	const struct command_option *option;
	const struct subcommand *sub;
	const struct command *const *child;
	enum completes arguments;
	bool runs;
	int (*main)(int argc, char **argv);
};

/* commands_run: the row that argv[1] names; they are listed if it asks for help */
int commands_run(const struct command *const *commands, int argc, char **argv);
/* command_exit: what the program exits with */
int command_exit(int status);
/* command_help: to @to; commands_completion: for bash */
void command_help(const struct command *command, FILE *to);
void commands_completion(const struct command *const *commands, FILE *to);
/*
 * command_man: the man page from its source, in which a comment of roff stands for an option:
 *
 *	.\"@ NAME		its name and value; then the page's text, or @help
 *	.\"@ CHILD NAME	the same of a command with children; CHILD * is all of them
 *	.\"@@			all options that were not there yet, with --help
 *
 * False, after complaints, if it names one that there is not, or lacks one.
 */
bool command_man(const struct command *command, FILE *from, FILE *to);
/* command_find: by "limit" or "trace-plot"; NULL: there is none */
const struct command *command_find(const struct command *const *commands, const char *name);

/* Those that are there; each is in a directory of its name, or in everyday/ or history/. */
extern const struct command *const commands[];
extern const struct command command_active, command_cit, command_doctor, command_enable;
extern const struct command command_export, command_guarantee;
extern const struct command command_limit, command_run, command_stat, command_top;
extern const struct command command_record, command_replay, command_report;
extern const struct command command_trace, command_version;

/* complain: "memio NAME: TEXT" to stderr; with what can be done about it */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* complain_errno: the same, and strerror(errno) */
void complain_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The name that complaints begin with, as "trace plot"; commands_run() sets it. */
extern const char *command_name;
/* The program's version */
extern const char *const command_version_text;
/* The row that runs */
extern const struct command *command_current;

#endif /* MEMIO_COMMAND_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* Options, by the table of commands */
#ifndef MEMIO_OPTIONS_H
#define MEMIO_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "command.h"

#define OPTIONS_MOST	60

/**
 * struct options - while a command's arguments are parsed
 * @command:	its row
 * @sub:	the subcommand that it begins with; NULL: none
 * @argc, @argv: what is left when all options were taken
 * @given:	which were given: bits, by their place in the row
 * @name, @letters: for getopt_long()
 */
struct options {
	const struct command *command;
	const struct subcommand *sub;
	int argc;
	char **argv;
	uint64_t given;
	struct option name[OPTIONS_MOST + 2];
	char letters[2 * OPTIONS_MOST + 8];
};

/* options_begin: of the command that runs, from its name on */
void options_begin(struct options *o, int argc, char **argv);
/*
 * options_get: the next one's id; optarg is its value. 0: there are no more, and @argc and @argv
 * are the rest. -1: this is the command's end, with *@status: the help was printed, or it was said
 * what is wrong.
 */
int options_get(struct options *o, int *status);
/* options_had: whether that one was given */
bool options_had(const struct options *o, int id);
/* options_alone: none of those that mean something to some subcommands only, but for this one */
bool options_alone(const struct options *o, int id);
/*
 * options_suit: false, after a complaint, if one was given that means nothing to subcommand
 * @what: nobody is to think that it did something
 */
bool options_suit(const struct options *o, const char *what);

#endif /* MEMIO_OPTIONS_H */

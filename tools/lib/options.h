/* SPDX-License-Identifier: GPL-2.0 */
/* What the options of all commands have in common */
#ifndef MEMIO_OPTIONS_H
#define MEMIO_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * options_next: the next option, as of getopt_long(), whose @letters begin with ":", or
 * "+:" if nothing behind the first other argument is an option. 'h' shows how the command
 * is used; of what is no option, or lacks its value, it is said.
 *
 * Return: the option; 0: there are no more; -1: this is the command's end, with *@status.
 */
int options_next(int argc, char **argv, const char *letters, const struct option *names,
		 void (*usage)(FILE *to), int *status);

/**
 * struct options_of - which options mean something to which subcommands
 * @options:	all of them, as getopt_long() has them
 * @subcommand:	each with a bit of its own
 * @subcommands: how many
 * @whose:	options that mean something to some of them only, @of, up to 64; @hint, or NULL,
 *		is what else the others have
 * @n:		how many
 */
struct options_of {
	const struct option *options;
	const struct subcommand {
		const char *name;
		unsigned int bit;
	} *subcommand;
	size_t subcommands;
	const struct option_of {
		int option;
		unsigned int of;
		const char *hint;
	} *whose;
	size_t n;
};

/* OPTIONS_OF: its initializer, of three arrays */
#define OPTIONS_OF(options_, subcommands_, whose_) { \
	.options = options_, \
	.subcommand = subcommands_, \
	.subcommands = sizeof(subcommands_) / sizeof(*(subcommands_)), \
	.whose = whose_, \
	.n = sizeof(whose_) / sizeof(*(whose_)), \
}

/* option_bit: what stands for an option in a set of those that were given */
uint64_t option_bit(const struct options_of *all, int option);
/*
 * options_are_its: false, after a complaint, if one that was @given is none of subcommand
 * @what: nobody is to think that it did something
 */
bool options_are_its(const struct options_of *all, uint64_t given, const char *what);

#endif /* MEMIO_OPTIONS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* What the options of all commands have in common */
#ifndef MEMIO_OPTIONS_H
#define MEMIO_OPTIONS_H

#include <getopt.h>
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

#endif /* MEMIO_OPTIONS_H */

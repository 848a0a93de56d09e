// SPDX-License-Identifier: GPL-2.0
/*
 * Options of commands, see options.h
 */
#include <string.h>

#include "command.h"
#include "options.h"

int options_next(int argc, char **argv, const char *letters, const struct option *names,
		 void (*usage)(FILE *to), int *status)
{
	const int option = getopt_long(argc, argv, letters, names, NULL);

	switch (option) {
	case -1:
		return 0;
	case 'h':
		usage(stdout);
		*status = STATUS_OK;
		return -1;
	case ':':
		complain("%s needs a value", argv[optind - 1]);
		break;
	case '?':
		complain("no option '%s'; 'memio %s --help' lists them", argv[optind - 1],
			 command_name);
		break;
	default:
		return option;
	}
	*status = STATUS_USAGE;
	return -1;
}

uint64_t option_bit(const struct options_of *all, int option)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		if (all->whose[i].option == option)
			return 1ull << i;
	return 0;
}

/* "run, calibrate and plot" */
static void names_of(const struct options_of *all, unsigned int of, char *text, size_t size)
{
	size_t i, at = 0;

	*text = '\0';
	for (i = 0; i < all->subcommands && at < size; i++) {
		if (!(of & all->subcommand[i].bit))
			continue;
		of &= ~all->subcommand[i].bit;
		at += snprintf(text + at, size - at, "%s%s", !at ? "" : of ? ", " : " and ",
			       all->subcommand[i].name);
	}
}

bool options_are_its(const struct options_of *all, uint64_t given, const char *what)
{
	const struct option *o;
	unsigned int me = 0;
	char names[128];
	size_t i;

	for (i = 0; i < all->subcommands; i++)
		if (!strcmp(all->subcommand[i].name, what))
			me = all->subcommand[i].bit;
	for (i = 0; i < all->n; i++) {
		const struct option_of *w = &all->whose[i];

		if (!(given & 1ull << i) || w->of & me)
			continue;
		for (o = all->options; o->val != w->option; o++)
			;
		names_of(all, w->of, names, sizeof(names));
		complain("%s: --%s is of %s%s", what, o->name, names, w->hint ?: "");
		return false;
	}
	return true;
}

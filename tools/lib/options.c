// SPDX-License-Identifier: GPL-2.0
/*
 * Options of commands, see options.h
 */
#include <string.h>

#include "options.h"

static const struct subcommand *sub_of(const struct command *c, const char *name)
{
	const struct subcommand *s;

	for (s = c->sub; s && s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

void options_begin(struct options *o, int argc, char **argv)
{
	const struct command_option *row;
	size_t n = 0, l = 0;
	bool runs;

	memset(o, 0, sizeof(*o));
	o->command = command_current;
	o->argc = argc;
	o->argv = argv;
	if (argc > 1)
		o->sub = sub_of(o->command, argv[1]);
	runs = o->command->runs || (o->sub && o->sub->runs);
	if (runs)
		o->letters[l++] = '+';
	o->letters[l++] = ':';
	o->letters[l++] = 'h';
	for (row = o->command->option; row && row->name && n < OPTIONS_MOST; row++) {
		o->name[n++] = (struct option) {
			row->name, row->value ? required_argument : no_argument, NULL, row->id,
		};
		if (row->id >= 256)
			continue;
		o->letters[l++] = row->id;
		if (row->value)
			o->letters[l++] = ':';
	}
	o->name[n] = (struct option) { "help", no_argument, NULL, 'h' };
	opterr = 0;
	optind = o->sub ? 2 : 1;
}

static uint64_t bit_of(const struct options *o, int id)
{
	const struct command_option *row = o->command->option;
	size_t i;

	for (i = 0; row && row[i].name; i++)
		if (row[i].id == id)
			return 1ull << i;
	return 0;
}

static bool had_named(const struct options *o, const char *name)
{
	const struct command_option *row = o->command->option;
	size_t i;

	for (i = 0; row && row[i].name; i++)
		if (!strcmp(row[i].name, name))
			return o->given & 1ull << i;
	return false;
}

int options_get(struct options *o, int *status)
{
	const int id = getopt_long(o->argc, o->argv, o->letters, o->name, NULL);

	switch (id) {
	case -1:
		o->argv += optind;
		o->argc -= optind;
		return 0;
	case 'h':
		command_help(o->command, stdout);
		*status = STATUS_OK;
		return -1;
	case ':':
		complain("%s needs a value", o->argv[optind - 1]);
		break;
	case '?':
		complain("no option '%s'; 'memio %s --help' lists them", o->argv[optind - 1],
			 command_name);
		break;
	default:
		o->given |= bit_of(o, id);
		if (!had_named(o, "json") || !had_named(o, "csv"))
			return id;
		complain("--json or --csv, not both");
	}
	*status = STATUS_USAGE;
	return -1;
}

bool options_had(const struct options *o, int id)
{
	return o->given & bit_of(o, id);
}

bool options_alone(const struct options *o, int id)
{
	const struct command_option *row = o->command->option;
	size_t i;

	for (i = 0; row && row[i].name; i++)
		if (o->given & 1ull << i && row[i].of && row[i].id != id)
			return false;
	return true;
}

/* "run, calibrate and plot" */
static void names_of(const struct command *c, unsigned int of, char *text, size_t size)
{
	const struct subcommand *s;
	size_t at = 0;

	*text = '\0';
	for (s = c->sub; s && s->name && at < size; s++) {
		if (!(of & s->bit))
			continue;
		of &= ~s->bit;
		at += snprintf(text + at, size - at, "%s%s", !at ? "" : of ? ", " : " and ",
			       s->name);
	}
}

bool options_suit(const struct options *o, const char *what)
{
	const struct subcommand *s = sub_of(o->command, what);
	const struct command_option *row = o->command->option;
	char names[128];
	size_t i;

	for (i = 0; row && row[i].name; i++) {
		if (!(o->given & 1ull << i) || !row[i].of || (s && row[i].of & s->bit))
			continue;
		names_of(o->command, row[i].of, names, sizeof(names));
		complain("%s: --%s is of %s%s", what, row[i].name, names, row[i].hint ?: "");
		return false;
	}
	return true;
}

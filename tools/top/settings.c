// SPDX-License-Identifier: GPL-2.0
/*
 * memio top, memio replay: options of what is shown, see settings.h
 */
#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings.h"

#define INTERVAL_LEAST	50		/* ms */
#define INTERVAL_MOST	3600000

bool take_number(const char *text, unsigned long least, unsigned long most, unsigned long *n)
{
	char *end;

	errno = 0;
	*n = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *n >= least && *n <= most;
}

/* Return: whether the value of an option is one */
bool settings_option(struct settings *set, int option)
{
	struct view *v = &set->view;
	unsigned long n;
	int i;

	switch (option) {
	case 'b':
		set->batch = true;
		return true;
	case 'n':
		if (take_number(optarg, 1, 1000000000, &set->samples))
			return true;
		complain("--samples %s: not a number from 1 to 1000000000", optarg);
		return false;
	case 'I':
		if (!take_number(optarg, INTERVAL_LEAST, INTERVAL_MOST, &n)) {
			complain("--interval %s: not a number of milliseconds from %d to %d",
				 optarg, INTERVAL_LEAST, INTERVAL_MOST);
			return false;
		}
		v->interval_ms = n;
		return true;
	case 'v':
		for (i = 0; i < SHOWS; i++)
			if (!strcmp(optarg, show_name(i)))
				break;
		if (i == SHOWS) {
			complain("--view %s: groups, tasks or devices", optarg);
			return false;
		}
		v->show = i;
		return true;
	case 's':
		v->sort = column_of(optarg);
		if (v->sort < COLUMNS)
			return true;
		complain("--sort %s: name, to, from, read, write, cpus, share, limit or stopped",
			 optarg);
		return false;
	case 'r':
		v->reverse = true;
		return true;
	case 'f':
		if (strlen(optarg) >= sizeof(v->filter)) {
			complain("--filter: no more than %zu characters", sizeof(v->filter) - 1);
			return false;
		}
		stpcpy(v->filter, optarg);
		return true;
	case 'i':
		v->idle[SHOW_TASKS] = true;
		return true;
	case 'B':
		v->idle[SHOW_GROUPS] = v->idle[SHOW_DEVICES] = false;
		return true;
	case 'G':
		set->below = optarg;
		return true;
	case OPT_JSON:
		set->format = FORMAT_JSON;
		return true;
	case OPT_CSV:
		set->format = FORMAT_CSV;
		return true;
	case OPT_ASCII:
		v->ascii = true;
		return true;
	default:
		return false;
	}
}

/* Without a bound rows are as wide as they must be; with COLUMNS, as wide as that. */
static void batch_width(struct view *v)
{
	const char *columns = getenv("COLUMNS");
	unsigned long n;

	if (columns && take_number(columns, 20, 1000, &n))
		v->cols = n;
}

void settings_end(struct settings *set)
{
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8"))
		set->view.ascii = true;
	set->batch |= set->format != FORMAT_TABLE || !isatty(STDOUT_FILENO) ||
		      !isatty(STDIN_FILENO);
	if (set->batch)
		batch_width(&set->view);
}

bool settings_print(struct settings *set, struct model *o, struct screen *s, bool first)
{
	switch (set->format) {
	case FORMAT_JSON:
		return print_json(&set->view, o, stdout);
	case FORMAT_CSV:
		return print_csv(&set->view, o, stdout);
	default:
		if (view_draw(&set->view, o, s))
			return false;
		if (!first)
			putchar('\n');
		print_screen(s, stdout);
		return true;
	}
}

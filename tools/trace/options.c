// SPDX-License-Identifier: GPL-2.0
/*
 * What the options of the commands memio trace ... have in common
 */
#include <errno.h>
#include <stdlib.h>

#include "command.h"
#include "trace.h"

int trace_option(int argc, char **argv, const char *letters, const struct option *names,
		 void (*usage)(FILE *to), struct filter *filter, int *status)
{
	int option;

	while ((option = options_next(argc, argv, letters, names, usage, status)) > 0) {
		const int taken = filter_option(filter, option, optarg);

		if (!taken)
			return option;
		if (taken < 0) {
			*status = STATUS_USAGE;
			return -1;
		}
	}
	return option;
}

const char *trace_file(int argc, char **argv)
{
	if (optind + 1 < argc) {
		complain("one file at a time, not also '%s'", argv[optind + 1]);
		return NULL;
	}
	return optind < argc ? argv[optind] : TRACE_FILE;
}

bool trace_number(const char *option, const char *text, double least, double most, double *v)
{
	char *end;

	errno = 0;
	*v = strtod(text, &end);
	if (errno || end == text || *end || !(*v >= least && *v <= most)) {
		complain("%s '%s' is no number from %g to %g", option, text, least, most);
		return false;
	}
	return true;
}

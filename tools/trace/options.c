// SPDX-License-Identifier: GPL-2.0
/*
 * What the options of the commands memio trace ... have in common
 */
#include <errno.h>
#include <stdlib.h>

#include "command.h"
#include "trace.h"

int trace_option(struct options *o, struct filter *filter, int *status)
{
	int option;

	while ((option = options_get(o, status)) > 0) {
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

const char *trace_file(const struct options *o)
{
	if (o->argc > 1) {
		complain("one file at a time, not also '%s'", o->argv[1]);
		return NULL;
	}
	return o->argc ? o->argv[0] : TRACE_FILE;
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

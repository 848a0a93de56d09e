// SPDX-License-Identifier: GPL-2.0
/*
 * Options of commands, see options.h
 */
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

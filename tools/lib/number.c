// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers among the arguments, see number.h
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "command.h"
#include "number.h"

bool number(const char *what, const char *text, unsigned long low, unsigned long high,
	    unsigned long *n)
{
	char *end;

	errno = 0;
	*n = strtoul(text, &end, 10);
	if (!*text || *end || *text == '-' || errno || *n < low || *n > high) {
		complain("--%s '%s': a number from %lu to %lu", what, text, low, high);
		return false;
	}
	return true;
}

uint64_t size_of(const char *text, const char **end)
{
	char *at;
	double n;

	*end = text;
	if (!isdigit((unsigned char)*text))
		return 0;
	n = strtod(text, &at);
	switch (*at) {
	case 'G':
		n *= 1024;
		/* fall through */
	case 'M':
		n *= 1024;
		/* fall through */
	case 'K':
		n *= 1024;
		at++;
	}
	*end = at;
	return n < 1ull << 60 ? n : 0;
}

bool cache_sizes(const char *text, uint64_t *bytes, size_t levels)
{
	const char *at = text;
	size_t i;

	for (i = 0; i < levels; i++) {
		bytes[i] = size_of(at, &at);
		if (bytes[i] < 4096 || bytes[i] > 1ull << 40 || (i && bytes[i] <= bytes[i - 1]))
			break;
		if (*at != (i + 1 < levels ? ',' : '\0'))
			break;
		at++;
	}
	if (i == levels)
		return true;
	complain("--caches '%s': three sizes, each larger than the one before, as 32K,256K,20M",
		 text);
	return false;
}

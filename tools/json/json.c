// SPDX-License-Identifier: GPL-2.0
/*
 * JSON and CSV, see json.h
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/command.h"
#include "json.h"

json_t *json_begin(void)
{
	return json_pack("{s:i, s:s}", "memio", JSON_VERSION, "command", command_name);
}

void json_end(json_t *object, FILE *to)
{
	json_dumpf(object, to, JSON_REAL_PRECISION(12));
	fputc('\n', to);
	json_decref(object);
}

void json_head(FILE *to)
{
	fprintf(to, "{\"memio\": %d, \"command\": \"%s\"", JSON_VERSION, command_name);
}

json_t *json_number(double n)
{
	return isfinite(n) ? json_real(n) : json_null();
}

json_t *json_name(const char *name)
{
	json_t *j = json_string(name);
	char *plain, *c;

	if (j)
		return j;
	plain = strdup(name);
	for (c = plain; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	j = json_string(plain ? plain : "?");
	free(plain);
	return j;
}

json_t *json_count(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

void csv_name(FILE *to, const char *name)
{
	fputc('"', to);
	for (; *name; name++) {
		if (*name == '"')
			fputc('"', to);
		fputc((unsigned char)*name < ' ' ? '?' : *name, to);
	}
	fputc('"', to);
}

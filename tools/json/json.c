// SPDX-License-Identifier: GPL-2.0
/*
 * JSON and CSV, see json.h
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/command.h"
#include "json.h"

json_t *json_begin(void)
{
	return json_pack("{s:i, s:s}", "memio", JSON_VERSION, "command", command_name);
}

static const char *csv_rows = "";
static bool as_csv;

void json_as_csv(const char *rows)
{
	csv_rows = rows;
	as_csv = true;
}

/* The array that one of the words names; NULL: there is none */
static json_t *rows_of(json_t *object)
{
	const char *at = csv_rows;
	json_t *rows = NULL;
	char *name;

	for (; *at && !json_is_array(rows); at += strspn(at, " ")) {
		name = strndup(at, strcspn(at, " "));
		rows = name ? json_object_get(object, name) : NULL;
		free(name);
		at += strcspn(at, " ");
	}
	return json_is_array(rows) ? rows : NULL;
}

static void end(json_t *object, FILE *to, size_t flags)
{
	json_t *rows;

	if (as_csv && to == stdout) {
		rows = rows_of(object);
		json_object_del(object, "memio");
		json_object_del(object, "command");
		csv_table(rows ? rows : object, to);
		json_decref(object);
		return;
	}
	json_dumpf(object, to, flags);
	fputc('\n', to);
	json_decref(object);
}

void json_end(json_t *object, FILE *to)
{
	end(object, to, JSON_REAL_PRECISION(12));
}

void json_end_as(json_t *object, FILE *to, size_t flags)
{
	end(object, to, flags);
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

/* What stands in objects in @from, in one of its own: "seed.best" */
static void flatten(json_t *to, const char *above, json_t *from)
{
	const char *key;
	char name[256];
	json_t *value;

	json_object_foreach(from, key, value) {
		snprintf(name, sizeof(name), "%s%s%s", above, *above ? "." : "", key);
		if (json_is_object(value))
			flatten(to, name, value);
		else
			json_object_set(to, name, value);
	}
}

static void csv_value(FILE *to, json_t *value)
{
	char *text;

	if (!value || json_is_null(value))
		return;
	if (json_is_string(value)) {
		csv_name(to, json_string_value(value));
		return;
	}
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12));
	if (text && json_is_array(value))
		csv_name(to, text);
	else if (text)
		fputs(text, to);
	free(text);
}

void csv_table(json_t *rows, FILE *to)
{
	json_t *flat = json_array(), *names = json_object(), *row, *value;
	const char *key, *between = "";
	size_t i;

	for (i = 0; i < (json_is_array(rows) ? json_array_size(rows) : 1); i++) {
		row = json_object();
		flatten(row, "", json_is_array(rows) ? json_array_get(rows, i) : rows);
		json_object_update(names, row);
		json_array_append_new(flat, row);
	}
	json_object_foreach(names, key, value) {
		fprintf(to, "%s%s", between, key);
		between = ",";
	}
	fputc('\n', to);
	json_array_foreach(flat, i, row) {
		between = "";
		json_object_foreach(names, key, value) {
			fputs(between, to);
			csv_value(to, json_object_get(row, key));
			between = ",";
		}
		fputc('\n', to);
	}
	json_decref(names);
	json_decref(flat);
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

// SPDX-License-Identifier: GPL-2.0
/*
 * JSON and CSV, see json.h
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/command.h"
#include "../lib/utf8.h"
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

void json_long_begin(struct json_long *l, json_t *object, const char *name, FILE *to, size_t flags)
{
	*l = (struct json_long) { .to = to, .flags = flags };
	fputc('{', to);
	json_dumpf(object, to, flags | JSON_EMBED);
	fprintf(to, ", \"%s\": [", name);
	json_decref(object);
}

void json_long_row(struct json_long *l, json_t *row)
{
	if (l->some)
		fputs(", ", l->to);
	l->some = true;
	json_dumpf(row, l->to, l->flags);
}

void json_long_end(struct json_long *l)
{
	fputs("]}\n", l->to);
}

json_t *json_number(double n)
{
	return isfinite(n) ? json_real(n) : json_null();
}

json_t *json_text(const char *text, size_t size)
{
	static const char none[] = "\xef\xbf\xbd";	/* U+FFFD */
	const size_t length = strnlen(text, size);
	json_t *j = json_stringn(text, length);
	char *plain, *to;
	size_t i, n;

	if (j)
		return j;
	plain = malloc(3 * length + 1);
	if (!plain)
		return NULL;
	for (i = 0, to = plain; i < length; i += n ?: 1) {
		n = utf8_length(text + i, length - i);
		to = mempcpy(to, n ? text + i : none, n ?: sizeof(none) - 1);
	}
	j = json_stringn(plain, to - plain);
	free(plain);
	return j;
}

json_t *json_name(const char *name)
{
	return json_text(name, strlen(name));
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

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one writer of JSON: each object that memio prints begins with
 *
 *	{"memio": 1, "command": "stat", ...
 *
 * and is a line. Names end in what their values are: _bytes, _bps, _ns, _usec.
 */
#ifndef MEMIO_JSON_H
#define MEMIO_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_VERSION	1

/* json_begin: an object of the command that runs; json_end: prints it, and lets go of it */
json_t *json_begin(void);
void json_end(json_t *object, FILE *to);
/* json_end_as: as jansson's @flags want it */
void json_end_as(json_t *object, FILE *to, size_t flags);
/*
 * An array that can be too long to be kept, as the last of an object: json_long_begin() prints the
 * object without its end and lets go of it, json_long_row() an element, json_long_end() the end
 */
struct json_long {
	FILE *to;
	size_t flags;
	bool some;
};

void json_long_begin(struct json_long *l, json_t *object, const char *name, FILE *to, size_t flags);
void json_long_row(struct json_long *l, json_t *row);
void json_long_end(struct json_long *l);
/* json_number: null: there is none, or it has no end */
json_t *json_number(double n);
/* json_text: a string of bytes that nobody knows, to a 0 or @size: what is no UTF-8 is U+FFFD */
json_t *json_text(const char *text, size_t size);
/* json_name: the same, to its 0 */
json_t *json_name(const char *name);
/* json_count: a number; what is beyond 2^63 is as large as there is room for */
json_t *json_count(uint64_t n);
/* csv_name: in quotes, as a field */
void csv_name(FILE *to, const char *name);
/*
 * csv_table: objects as a header with all of their fields, and a line for each; fields of objects
 * in them are "seed.best". An object in place of the array is one line.
 */
void csv_table(json_t *rows, FILE *to);
/*
 * json_as_csv: json_end() prints CSV to standard output from now on: the array that one of the
 * words of @rows names, or all of an object that has none
 */
void json_as_csv(const char *rows);

#endif /* MEMIO_JSON_H */

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
#include <stdint.h>
#include <stdio.h>

#define JSON_VERSION	1

/* json_begin: an object of the command that runs; json_end: prints it, and lets go of it */
json_t *json_begin(void);
void json_end(json_t *object, FILE *to);
/* json_end_as: as jansson's @flags want it */
void json_end_as(json_t *object, FILE *to, size_t flags);
/*
 * json_head: how such an object begins, of one that is written piece by piece, as it can be too
 * long to be kept: the next piece begins with a comma
 */
void json_head(FILE *to);
/* json_number: null: there is none, or it has no end */
json_t *json_number(double n);
/* json_name: a string of bytes that nobody knows: what is no UTF-8 is '?' */
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

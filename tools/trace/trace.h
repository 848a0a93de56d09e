/* SPDX-License-Identifier: GPL-2.0 */
/* What the commands memio trace ... share */
#ifndef MEMIO_TRACE_H
#define MEMIO_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "filter.h"
#include "options.h"

#define TRACE_FILE	"memio-trace.mtr"	/* unless one is named */

extern const struct command trace_record, trace_report, trace_export, trace_plot, trace_bench;

/* As options_get(), of options that are not the filter's */
int trace_option(struct options *o, struct filter *filter, int *status);
/* The file that is named behind the options; NULL: there are more, which was said */
const char *trace_file(const struct options *o);
/* A number of an option, whole or not; what is wrong with it was said */
bool trace_number(const char *option, const char *text, double least, double most, double *v);

/* Names come from the traced and from files: nothing of them reaches a terminal or parser as is. */
#define TRACE_JSON	(JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15))
void trace_text(FILE *to, const char *name, size_t size);
void trace_csv(FILE *to, const char *name, size_t size);

#endif /* MEMIO_TRACE_H */

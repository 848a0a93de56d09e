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

/* Each as a program's main(), from its own name on; returns a STATUS_ */
int trace_record(int argc, char **argv);
int trace_report(int argc, char **argv);
int trace_export(int argc, char **argv);
int trace_plot(int argc, char **argv);
int trace_bench(int argc, char **argv);

/* As options_next(), of options that are not the filter's */
int trace_option(int argc, char **argv, const char *letters, const struct option *names,
		 void (*usage)(FILE *to), struct filter *filter, int *status);
/* The file that is named behind the options; NULL: there are more, which was said */
const char *trace_file(int argc, char **argv);
/* A number of an option, whole or not; what is wrong with it was said */
bool trace_number(const char *option, const char *text, double least, double most, double *v);

/* Names come from the traced and from files: nothing of them reaches a terminal or parser as is. */
void trace_text(FILE *to, const char *name, size_t size);
void trace_json(FILE *to, const char *name, size_t size);
void trace_csv(FILE *to, const char *name, size_t size);

#endif /* MEMIO_TRACE_H */

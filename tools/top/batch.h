/* SPDX-License-Identifier: GPL-2.0 */
/* memio top: samples as text */
#ifndef MEMIO_TOP_BATCH_H
#define MEMIO_TOP_BATCH_H

#include <stdio.h>

#include "view.h"

/* print_screen: its lines, without what is blank at their ends */
void print_screen(const struct screen *s, FILE *to);
/* print_json: an object with the rows of the view, in a line; false: no memory */
bool print_json(struct view *v, const struct model *o, FILE *to);
/* print_csv_head: the names of the columns; print_csv: a line for each row of the view */
void print_csv_head(const struct view *v, FILE *to);
bool print_csv(struct view *v, const struct model *o, FILE *to);

#endif /* MEMIO_TOP_BATCH_H */

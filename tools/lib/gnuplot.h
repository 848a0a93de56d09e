/* SPDX-License-Identifier: GPL-2.0 */
/* Pictures, drawn by gnuplot */
#ifndef MEMIO_GNUPLOT_H
#define MEMIO_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct gnuplot {
	FILE *to;		/* its script goes there */
	pid_t pid;
	const char *output;
	int picture;		/* the same, open */
	bool made;		/* it was not there before */
};

/* gnuplot_terminal: which draws a file of this name: .svg, .png or .pdf; else NULL */
const char *gnuplot_terminal(const char *file);
/* gnuplot_open: starts it; its picture goes to the file. False after a complaint */
bool gnuplot_open(struct gnuplot *g, const char *output);
/* gnuplot_close: whether there is a picture; complains if not, and leaves none that it made */
bool gnuplot_close(struct gnuplot *g);
/* gnuplot_name: text that nothing gets out of, in gnuplot's quotes of either kind */
void gnuplot_name(char *to, size_t size, const char *text);

#endif /* MEMIO_GNUPLOT_H */

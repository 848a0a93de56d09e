// SPDX-License-Identifier: GPL-2.0
/* A step that lasts is told of while it lasts; the end does not wait for the next time. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"

static FILE *said;

/* The next line, however long that takes: the test's time limit is the deadline */
static int says(const char *what)
{
	char line[256] = "";

	if (!fgets(line, sizeof(line), said))
		return 0;
	printf("# %s", line);
	return !!strstr(line, what);
}

int main(void)
{
	struct progress p;
	int ends[2], good;

	if (pipe(ends) || dup2(ends[1], STDERR_FILENO) < 0)
		return 1;
	said = fdopen(ends[0], "r");
	progress_begin_long(&p, 3, false, false);
	progress(&p, "a step, %s", "first");
	good = says("1 of 3: a step, first\n");
	printf("%sok 1 - a step that lasts is told of\n", good ? "" : "not ");
	progress_end(&p);
	progress_begin_long(&p, 1, true, false);
	progress(&p, "quiet");
	progress_end(&p);
	progress_begin_long(&p, 1, false, false);
	progress_end(&p);
	fprintf(stderr, "end\n");
	good = says("end\n");
	printf("%sok 2 - nothing is told of what is quiet, or has no step\n", good ? "" : "not ");
	return 0;
}

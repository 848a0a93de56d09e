// SPDX-License-Identifier: GPL-2.0
/*
 * A step that lasts is told of while it lasts, and with the time left if it says which part of it
 * is done; the end does not wait for the next time.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"
#include "test.h"

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

/* The next line has a time left from @least to @most seconds. */
static int says_left(double least, double most)
{
	char line[256] = "", unit = '-', *left;
	double n = 0;

	if (!fgets(line, sizeof(line), said))
		return 0;
	printf("# %s", line);
	left = strstr(line, ", about ");
	if (!left || sscanf(left, ", about %lf %c", &n, &unit) != 2)
		return 0;
	n *= unit == 'm' ? 60 : 1;
	return n >= least && n <= most;
}

int main(void)
{
	struct progress p;
	int ends[2];

	if (pipe(ends) || dup2(ends[1], STDERR_FILENO) < 0)
		return 1;
	said = fdopen(ends[0], "r");
	progress_begin_long(&p, 3, false, false);
	progress(&p, "a step, %s", "first");
	check(says("1 of 3: a step, first\n"), "a step that lasts is told of");
	progress_end(&p);
	/* Half of a tenth of all in two seconds, or in some more on a machine that is busy */
	progress_begin_long(&p, 2, false, false);
	progress_costs(&p, 100);
	progress_next(&p, 10);
	progress(&p, "a step");
	progress_part(&p, 0.5);
	check(says_left(37, 600), "... with the time left, if it tells which part is done");
	progress_end(&p);
	progress_begin_long(&p, 1, true, false);
	progress(&p, "quiet");
	progress_end(&p);
	progress_begin_long(&p, 1, false, false);
	progress_end(&p);
	fprintf(stderr, "end\n");
	check(says("end\n"), "nothing is told of what is quiet, or has no step");
	return failed > 0;
}

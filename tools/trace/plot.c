// SPDX-License-Identifier: GPL-2.0
/*
 * memio trace plot: bandwidth over time, drawn by gnuplot, or as characters on the
 * terminal
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bins.h"
#include "command.h"
#include "gnuplot.h"
#include "trace.h"

#define POINTS		600		/* of a picture, unless --bin-us says otherwise */
#define POINTS_MAX	100000
#define COLUMNS		72		/* of the terminal */
#define ROWS		12
#define LINES_MAX	64

/* A line of the picture: some series together */
struct line {
	char name[40];
	double *mb_s;		/* by bin */
	uint64_t bytes;
};

static void name_line(struct line *l, const char *format, uint32_t number, const char *comm)
{
	char name[MEMIO_TRACE_COMM + 1] = "", safe[MEMIO_TRACE_COMM + 1];

	if (comm)
		memcpy(name, comm, MEMIO_TRACE_COMM);
	gnuplot_name(safe, sizeof(safe), name);
	snprintf(l->name, sizeof(l->name), format, number, safe);
}

/*
 * Which line each series belongs to: the tasks or CPUs with the most bytes have one each,
 * the others one together. Return: how many lines.
 */
static unsigned int choose_lines(const struct bins *b, bool by_cpu, unsigned int top,
				 struct line *line, uint32_t *of_series)
{
	const uint32_t n = by_cpu ? b->cpus : b->tasks;
	unsigned int lines = 0;
	bool *taken = calloc(n + 1, sizeof(*taken));
	uint32_t i, s, best;
	bool others = false;

	if (!taken)
		return 0;
	for (s = 0; s < b->all_series; s++)
		of_series[s] = UINT32_MAX;
	while (lines < top) {
		uint64_t most = 0;

		best = n;
		for (i = 0; i < n; i++) {
			uint64_t bytes = by_cpu ? b->cpu[i].bytes : b->task[i].bytes;

			if (!taken[i] && bytes > most) {
				best = i;
				most = bytes;
			}
		}
		if (best == n)
			break;
		taken[best] = true;
		line[lines].bytes = most;
		if (by_cpu)
			name_line(&line[lines], "CPU %u%s", b->cpu[best].cpu, NULL);
		else
			name_line(&line[lines], "%u %s", b->task[best].tid, b->task[best].comm);
		for (s = 0; s < b->all_series; s++)
			if ((by_cpu ? b->series[s].cpu : b->series[s].task) == best)
				of_series[s] = lines;
		lines++;
	}
	free(taken);
	for (s = 0; s < b->all_series; s++) {
		if (of_series[s] != UINT32_MAX || !b->series[s].bytes)
			continue;
		others = true;
		of_series[s] = lines;
		line[lines].bytes += b->series[s].bytes;
	}
	if (others)
		name_line(&line[lines++], "others", 0, NULL);
	return lines;
}

/* Return: how many lines; 0: nothing to draw, or no memory */
static unsigned int make_lines(const struct bins *b, bool by_cpu, unsigned int top,
			       struct line *line)
{
	const int64_t bins = bins_number(b);
	uint32_t *of_series = calloc(b->all_series + 1, sizeof(*of_series));
	unsigned int lines, i;
	size_t k;

	if (!of_series)
		return 0;
	lines = choose_lines(b, by_cpu, top, line, of_series);
	for (i = 0; i < lines; i++) {
		line[i].mb_s = calloc(bins, sizeof(double));
		if (!line[i].mb_s)
			lines = 0;
	}
	for (k = 0; lines && k < b->bins; k++) {
		const struct bins_bin *n = &b->bin[k];

		/* MB/s are bytes by us */
		if (n->bin >= 0 && n->bin < bins && of_series[n->series] != UINT32_MAX)
			line[of_series[n->series]].mb_s[n->bin] += (double)n->bytes / b->bin_us;
	}
	free(of_series);
	return lines;
}

/* ---- on the terminal ---- */

static void draw(const struct bins *b, const struct line *line, unsigned int lines)
{
	static const char *const eighths[] = {
		" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	const int64_t bins = bins_number(b);
	const double columns = bins < COLUMNS ? bins : COLUMNS;
	double column[COLUMNS] = { 0 }, most = 0;
	unsigned int fell[COLUMNS] = { 0 };	/* bins into each column: not all have as many */
	unsigned int i, row, k;
	int64_t n;

	for (n = 0; n < bins; n++) {
		unsigned int at = n * columns / bins;

		for (i = 0; i < lines; i++)
			column[at] += line[i].mb_s[n];
		fell[at]++;
	}
	for (i = 0; i < columns; i++) {
		column[i] /= fell[i];
		most = fmax(most, column[i]);
	}
	puts("MB/s");
	for (row = ROWS; row-- > 0;) {
		printf("%9.1f ", most * (row + 1) / ROWS);
		for (i = 0; i < columns; i++) {
			double height = most > 0 ? (column[i] / most * ROWS - row) * 8 : 0;

			k = height < 0 ? 0 : height > 8 ? 8 : (unsigned int)lround(height);
			fputs(eighths[k], stdout);
		}
		putchar('\n');
	}
	printf("%9s 0%*.4g s\n", "", (int)columns - 1, b->seconds);
	for (i = 0; i < lines; i++)
		printf("%10.2f  %s\n", line[i].bytes / 1e6 / b->seconds, line[i].name);
}

/* ---- by gnuplot ---- */

static void script(FILE *to, const struct bins *b, const struct line *line, unsigned int lines,
		   const char *terminal)
{
	const int64_t bins = bins_number(b);
	unsigned int i;
	int64_t n;

	fprintf(to, "set terminal %s noenhanced size 960,480 background 'white'\n"
		"set xlabel 'time, s'\nset ylabel 'memory bandwidth, MB/s'\n"
		"set yrange [0:*]\nset xrange [0:%.9g]\nset key outside right\nset grid\n"
		"set title 'events x 64 bytes, in bins of %" PRIu64 " us'\n", terminal,
		bins * b->bin_us / 1e6, b->bin_us);
	for (i = 0; i < lines; i++) {
		fprintf(to, "$line%u << END\n", i);
		for (n = 0; n < bins; n++)
			fprintf(to, "%.9g %.6g\n", n * b->bin_us / 1e6, line[i].mb_s[n]);
		fputs("END\n", to);
	}
	fputs("plot ", to);
	for (i = 0; i < lines; i++)
		fprintf(to, "%s$line%u using 1:2 with steps linewidth 1.5 title \"%s\"",
			i ? ", " : "", i, line[i].name);
	fputs("\n", to);
}

/* Return: whether there is a picture. */
static bool draw_file(const struct bins *b, const struct line *line, unsigned int lines,
		      const char *output, const char *terminal)
{
	struct gnuplot g;

	if (!gnuplot_open(&g, output))
		return false;
	script(g.to, b, line, lines, terminal);
	return gnuplot_close(&g);
}

static int plot(const char *path, const struct filter *filter, double bin_us, bool by_cpu,
		unsigned int top, const char *output, const char *terminal)
{
	struct line line[LINES_MAX + 1] = { 0 };
	unsigned int lines = 0, i;
	bool drawn = false, whole;
	struct bins b;

	if (!bins_read(&b, path, filter, bin_us, output ? POINTS : COLUMNS))
		return STATUS_FAILED;
	whole = b.whole;
	if (bins_number(&b) > POINTS_MAX) {
		complain("more than %u bins: try a larger --bin-us", POINTS_MAX);
	} else {
		lines = make_lines(&b, by_cpu, top, line);
		if (!lines) {
			complain("%s: no records of those that are wanted", path);
		} else if (output) {
			drawn = draw_file(&b, line, lines, output, terminal);
		} else {
			draw(&b, line, lines);
			drawn = true;
		}
	}
	for (i = 0; i <= LINES_MAX; i++)
		free(line[i].mb_s);
	bins_free(&b);
	return !drawn ? STATUS_FAILED : whole ? STATUS_OK : STATUS_NEGATIVE;
}

enum { OPT_BIN = 300, OPT_TERMINAL, OPT_BY, OPT_TOP };

static const struct command_option options[] = {
	{ .id = 'o', .name = "output", .value = "PICTURE", .completes = COMPLETES_FILE,
	  .help = "Draw to this file: SVG or PNG, as its name ends." },
	{ .id = OPT_TERMINAL, .name = "terminal", .help = "Draw with characters, on the "
		  "terminal, without gnuplot." },
	{ .id = OPT_BIN, .name = "bin-us", .value = "N",
	  .help = "Draw bins of N microseconds [600 bins for the whole trace; 72 on the "
		  "terminal]." },
	{ .id = OPT_BY, .name = "by", .value = "task|cpu", .completes = COMPLETES_WORDS,
	  .words = "task cpu", .help = "Draw a line for each task or for each CPU [task]." },
	{ .id = OPT_TOP, .name = "top", .value = "N",
	  .help = "Draw lines for the N largest, and one for all others [8]." },
	FILTER_OPTIONS,
	{ }
};

static int cmd_plot(int argc, char **argv)
{
	struct options o;
	const char *path, *output = NULL, *terminal = NULL;
	bool on_terminal = false, by_cpu = false;
	struct filter filter = { 0 };
	int opt, status = STATUS_USAGE;
	double bin_us = 0, top = 8;

	options_begin(&o, argc, argv);
	while ((opt = trace_option(&o, &filter, &status)) > 0) {
		switch (opt) {
		case OPT_BIN:
			if (!trace_number("--bin-us", optarg, 1, 1e9, &bin_us))
				goto out;
			break;
		case OPT_TOP:
			if (!trace_number("--top", optarg, 1, LINES_MAX, &top))
				goto out;
			break;
		case OPT_BY:
			by_cpu = !strcmp(optarg, "cpu");
			if (!by_cpu && strcmp(optarg, "task")) {
				complain("--by task or --by cpu, not '%s'", optarg);
				goto out;
			}
			break;
		case OPT_TERMINAL:
			on_terminal = true;
			break;
		case 'o':
			output = optarg;
			break;
		}
	}
	if (opt < 0)
		goto out;
	path = trace_file(&o);
	if (!path)
		goto out;
	if (!output == !on_terminal) {
		complain("either -o PICTURE or --terminal");
		goto out;
	}
	if (output) {
		terminal = gnuplot_terminal(output);
		/* Its sizes are in pixels. */
		if (terminal && !strcmp(terminal, "pdfcairo"))
			terminal = NULL;
		if (!terminal) {
			complain("'%s' ends neither in .svg nor in .png", output);
			goto out;
		}
	}
	status = plot(path, &filter, floor(bin_us), by_cpu, top, output, terminal);
out:
	filter_free(&filter);
	return status;
}

const struct command trace_plot = {
	.name = "plot",
	.summary = "draw bandwidth over time, as SVG or PNG or on the terminal",
	.usage = "[OPTION...] -o PICTURE.svg|PICTURE.png [FILE]\n[OPTION...] --terminal [FILE]",
	.about = "Draws the bandwidth over time of FILE [" TRACE_FILE "], with gnuplot. On the "
		  "terminal it draws the sum of the chosen tasks and CPUs.",
	.notes = "If FILE is damaged, the command draws what it can read, and the status is 1.",
	.option = options,
	.arguments = COMPLETES_FILE,
	.main = cmd_plot,
};

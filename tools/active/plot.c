// SPDX-License-Identifier: GPL-2.0
/*
 * memio active plot: how much slower a command gets, drawn by gnuplot
 *
 * On the left over the cache that is left, a line for each number of BWThr; in the middle
 * over the bandwidth that is left, a line for each number of CSThr; each point with its
 * confidence interval. On the right the surface over both, as colours, of what was
 * measured; and before it, if there was DMA, over its rate: alone, and beside the most
 * interferers of each kind. Where the calibration doesn't know how much is left, the
 * interferers are counted instead.
 */
#include <math.h>
#include <string.h>

#include "active.h"
#include "command.h"
#include "gnuplot.h"

static bool capacity_known(const struct surface *s)
{
	return s->capacity[0] > 0;
}

static double cache_left(const struct surface *s, unsigned int i)
{
	return capacity_known(s) ? s->capacity[i] / 1048576 : i;
}

static void point(FILE *to, double x, const struct interval *v)
{
	if (v->n)
		fprintf(to, "%.6g %.6g %.6g %.6g\n", x, v->mean, v->low, v->high);
}

/* @s is of @n rates; with so many interferers, over the rates as they rise */
static void over_dma(FILE *to, const struct surface *s, const double *rate, size_t n,
		     unsigned int storage, unsigned int bandwidth)
{
	double last = -1;
	size_t i, next;

	for (;;) {
		for (i = 0, next = n; i < n; i++)
			if (rate[i] > last && (next == n || rate[i] < rate[next]))
				next = i;
		if (next == n)
			break;
		last = rate[next];
		point(to, last / 1e6, &s[next].slow[storage][bandwidth]);
	}
	fputs("END\n", to);
}

static void data(FILE *to, const struct surface *s, const double *rate, size_t rates)
{
	const struct unit unit = rate_unit(s->left[0]);
	unsigned int i, k;

	for (k = 0; k <= s->bandwidth; k++) {
		fprintf(to, "$bw%u << END\n", k);
		for (i = 0; i <= s->storage; i++)
			point(to, cache_left(s, i), &s->slow[i][k]);
		fputs("END\n", to);
	}
	for (i = 0; i <= s->storage; i++) {
		fprintf(to, "$cs%u << END\n", i);
		for (k = 0; k <= s->bandwidth; k++)
			point(to, s->left[k] / unit.bytes, &s->slow[i][k]);
		fputs("END\n", to);
	}
	fputs("$surface << END\n", to);
	for (i = 0; i <= s->storage; i++)
		for (k = 0; k <= s->bandwidth; k++)
			if (s->slow[i][k].n)
				fprintf(to, "%.6g %.6g %.6g\n", cache_left(s, i),
					s->left[k] / unit.bytes, s->slow[i][k].mean);
	fputs("END\n$dma << END\n", to);
	over_dma(to, s, rate, rates, 0, 0);
	fputs("$dmacs << END\n", to);
	over_dma(to, s, rate, rates, s->storage, 0);
	fputs("$dmabw << END\n", to);
	over_dma(to, s, rate, rates, 0, s->bandwidth);
}

static void curves(FILE *to, const char *name, const char *of, unsigned int n)
{
	unsigned int i;

	for (i = 0; i <= n; i++)
		fprintf(to, "%s$%s%u using 1:2:3:4 with yerrorlines title '%u %s'",
			i ? ", " : "plot ", name, i, i, of);
	putc('\n', to);
}

static void dma_curves(FILE *to, const struct surface *s)
{
	static const char with[] = "using 1:2:3:4 with yerrorlines title";

	fprintf(to, "set xlabel 'DMA, MB/s'\nplot $dma %s 'alone'", with);
	if (s->storage)
		fprintf(to, ", $dmacs %s '%u CSThr'", with, s->storage);
	if (s->bandwidth)
		fprintf(to, ", $dmabw %s '%u BWThr'", with, s->bandwidth);
	putc('\n', to);
}

static void script(FILE *to, const struct surface *s, const double *rate, size_t rates,
		   const char *title, const char *unit, const char *terminal)
{
	const char *cache = capacity_known(s) ? "cache left, MiB" : "CSThr";
	/* What was not varied is no axis. */
	const bool both = s->storage && s->bandwidth, dma = rates > 1;
	const bool over_cache = s->storage || (!s->bandwidth && !dma);
	const unsigned int panels = over_cache + !!s->bandwidth + dma + both;
	const char *const name = rate_unit(s->left[0]).name;

	fprintf(to, "set terminal %s noenhanced size %u,%u background 'white'\n", terminal,
		panels * (strcmp(terminal, "pdfcairo") ? 500 : 5),
		strcmp(terminal, "pdfcairo") ? 480 : 5);
	data(to, s, rate, rates);
	fprintf(to, "set multiplot layout 1,%u title '%s'\nset grid\nset key top right\n"
		"set offsets graph 0.05, graph 0.05, graph 0.1, graph 0.05\n"
		"set ylabel 'times as %s as alone'\nset xlabel '%s'\n", panels, title, unit, cache);
	if (over_cache)
		curves(to, "bw", "BWThr", s->bandwidth);
	fprintf(to, "set xlabel 'bandwidth left, %s'\n", name);
	if (s->bandwidth)
		curves(to, "cs", "CSThr", s->storage);
	if (dma)
		dma_curves(to, s);
	if (both)
		fprintf(to, "set xlabel '%s'\nset ylabel 'bandwidth left, %s'\nunset key\n"
			"set cblabel 'times as %s as alone'\nset palette rgb 33,13,10\n"
			"plot $surface using 1:2:3 with points pointtype 5 pointsize 3 palette\n",
			cache, name, unit);
	fputs("unset multiplot\n", to);
}

/* The command, for the title */
static void title_of(const struct run *r, char *title, size_t size)
{
	char line[160] = "";
	size_t i, at = 0;

	for (i = 0; i < json_array_size(r->command) && at < sizeof(line); i++)
		at += snprintf(line + at, sizeof(line) - at, "%s%s", i ? " " : "",
			       json_string_value(json_array_get(r->command, i)));
	gnuplot_name(title, size, line);
}

int plot(const struct active *a, const char *file, const char *output)
{
	const char *terminal = output ? gnuplot_terminal(output) : NULL;
	struct surface s[BUBBLE_MAX + 1];
	double rate[BUBBLE_MAX + 1];
	struct gnuplot g;
	const char *unit;
	size_t rates;
	char title[160];
	struct run r;

	if (!terminal) {
		complain("plot: -o PICTURE.svg, .png or .pdf says where to");
		return STATUS_USAGE;
	}
	if (!run_load_whole(file, &r))
		return STATUS_FAILED;
	if (!run_counts(a, &r, file)) {
		run_free(&r);
		return STATUS_FAILED;
	}
	rates = run_surfaces(a, &r, s, rate);
	unit = run_metric_unit(a, &r);
	title_of(&r, title, sizeof(title));
	run_free(&r);
	if (!gnuplot_open(&g, output))
		return STATUS_FAILED;
	script(g.to, s, rate, rates, title, unit, terminal);
	return gnuplot_close(&g) ? STATUS_OK : STATUS_FAILED;
}

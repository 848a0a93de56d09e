// SPDX-License-Identifier: GPL-2.0
/*
 * memio cit curve: the figures of Danalis et al. on this machine
 *
 *	size		events per load over buffer sizes (figures 12, 13)
 *	unit		one event, for several distances of the loads (figure 14)
 *	block		the same for blocks of so many pages, one after the other (figure 15)
 *	offset		one event, for access patterns that begin each lap so many blocks
 *			later, around the first level's size (figures 16, 17)
 *	misprediction	conditional branches per round, taken in all but one of k (figure 10)
 *
 * Each is a table: x in the first column, then a column for each series; those of buffers
 * end with nanoseconds per load. Above the table of sizes' steps are said: where a curve
 * crosses its middle. A curve has all its points or is none: without a count that can be
 * trusted there is no table.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../json/json.h"
#include "cit.h"
#include "clock.h"
#include "command.h"
#include "gnuplot.h"

#define ROWS	64
#define SERIES	16
#define BLOCK	4096ul
#define TRIES	3

struct table {
	const char *kind, *x_name;
	bool log_x;
	char series[SERIES][80];
	bool time[SERIES];		/* in ns, not events */
	size_t rows, columns;
	double x[ROWS], y[SERIES][ROWS];
};

/* ---- chains ---- */

/*
 * A chase, or laps over blocks of a page (each a chain of its own) of which each lap
 * begins @offset blocks later than the one before
 */
struct walk {
	uint64_t bytes;
	unsigned int unit, pages, offset;
	bool laps;
	struct chase *chase;
	char *buffer;
	uint64_t start, block;		/* of this lap; the next one in it */
};

static void laps_run(struct walk *w, uint64_t loads)
{
	const uint64_t blocks = w->bytes / BLOCK, per_block = BLOCK / w->unit;

	while (loads >= per_block) {
		void **at = (void **)(w->buffer + (w->start + w->block) % blocks * BLOCK);
		uint64_t n;

		for (n = per_block; n; n--) {
			at = *at;
			asm volatile("" : "+r"(at));
		}
		loads -= per_block;
		if (++w->block == blocks) {
			w->block = 0;
			w->start = (w->start + w->offset) % blocks;
		}
	}
}

static bool walk_setup(struct probe *probe, const struct cit *cit)
{
	struct walk *w = probe->data;
	uint64_t i, k;

	(void)cit;
	if (!w->laps) {
		w->chase = chase_new(w->bytes, w->unit, w->pages, false);
		if (w->chase)
			chase_run(w->chase, chase_units(w->chase));
		return w->chase;
	}
	w->buffer = buffer_new(w->bytes);
	if (!w->buffer)
		return false;
	for (i = 0; i < w->bytes; i += BLOCK)
		for (k = 0; k < BLOCK; k += w->unit)
			*(void **)(w->buffer + i + k) = w->buffer + i + (k + w->unit) % BLOCK;
	laps_run(w, 4 * w->bytes / w->unit);
	return true;
}

static bool walk_run(struct probe *probe, uint64_t n)
{
	struct walk *w = probe->data;

	if (w->laps)
		laps_run(w, n);
	else
		chase_run(w->chase, n);
	return true;
}

static void walk_teardown(struct probe *probe)
{
	struct walk *w = probe->data;

	chase_free(w->chase);
	buffer_free(w->buffer, w->bytes);
	w->chase = NULL;
	w->buffer = NULL;
}

/* The fastest of some tries, for each load; false after a complaint, as of a CPU that is gone */
static bool load_ns(const struct cit *cit, struct probe *probe, double *ns)
{
	const uint64_t n = probe->step * probe->points;
	bool here;
	int i;

	if (!probe->setup(probe, cit))
		return false;
	*ns = INFINITY;
	for (i = 0; i < TRIES; i++) {
		const uint64_t start = clock_ns(CLOCK_MONOTONIC);

		probe->run(probe, n);
		*ns = fmin(*ns, (double)(clock_ns(CLOCK_MONOTONIC) - start) / n);
	}
	here = on_cpu(cit->cpu);
	if (!here)
		complain_taken(cit->cpu);
	probe->teardown(probe);
	return here;
}

/* Says of which events there is no count to be had; false if there is one */
static bool all_counted(const struct events *events, const struct result *result)
{
	bool all = true;
	size_t i;

	for (i = 0; i < events->n; i++) {
		const char *name = events->e[i].name;

		if (result[i].absent)
			complain("the kernel refuses the event %s: %s. 'memio cit list' has those of this processor; leave this one out",
				 name, strerror(result[i].error));
		else if (result[i].multiplexed)
			complain("the event %s never had a counter for itself. Stop what else counts (perf; the watchdog: /proc/sys/kernel/nmi_watchdog), or leave it out",
				 name);
		all &= !result[i].absent && !result[i].multiplexed;
	}
	return all;
}

/* One point: slopes of all events, from column @first on */
static bool point(const struct cit *cit, const struct events *events, size_t n, struct probe *probe,
		  struct table *t, size_t first)
{
	const struct family family = { .name = "curve", .probe = probe, .probes = 1 };
	const struct events some = { events->e, n };
	struct result *result = calloc(n, sizeof(*result));
	struct cit quiet = *cit;
	bool good;
	size_t i;

	quiet.quiet = true;
	good = measure(&quiet, &family, &some, result) && all_counted(&some, result);
	for (i = 0; i < n; i++)
		t->y[first + i][t->rows] = result[i].fit[0].valid ? result[i].fit[0].slope : NAN;
	free(result);
	return good;
}

static struct probe walk_probe(struct walk *w)
{
	/* Whole laps of blocks, so that what a lap has at its end counts at its rate */
	const uint64_t lap = w->bytes / w->unit;
	const struct probe probe = {
		.name = "walk", .setup = walk_setup, .run = walk_run, .teardown = walk_teardown,
		.step = w->laps ? (2000 / lap + 1) * lap : 4000, .points = 4, .data = w,
	};

	return probe;
}

size_t curve_sizes(const struct cit *cit, double *size, size_t most)
{
	const uint64_t least = cit->cache_bytes[0] / 8;
	size_t n = 0;
	uint64_t s;

	for (s = least > BLOCK ? least : BLOCK; s <= 4 * cit_last_level(cit) && n + 1 < most;
	     s *= 2) {
		const uint64_t between = (s + s / 2) & ~(BLOCK - 1);

		size[n++] = s;
		/* Of a small one, whole blocks are the same again. */
		if (between > s)
			size[n++] = between;
	}
	return n;
}

static bool add_walk(const struct cit *cit, const struct events *events, size_t n, struct walk *w,
		     struct table *t, size_t first)
{
	struct probe probe = walk_probe(w);

	return point(cit, events, n, &probe, t, first);
}

static bool curve_size(const struct cit *cit, const struct events *events, struct table *t)
{
	const size_t n = events->n;
	double size[ROWS];
	size_t i, rows = curve_sizes(cit, size, ROWS);

	for (i = 0; i < n; i++)
		snprintf(t->series[i], sizeof(t->series[i]), "%s", events->e[i].name);
	snprintf(t->series[n], sizeof(t->series[n]), "ns");
	t->time[n] = true;
	t->columns = n + 1;
	for (; t->rows < rows; t->rows++) {
		struct walk w = { .bytes = size[t->rows], .unit = cit->unit_bytes };
		struct probe probe = walk_probe(&w);

		t->x[t->rows] = size[t->rows];
		if (!add_walk(cit, events, n, &w, t, 0) ||
		    !load_ns(cit, &probe, &t->y[n][t->rows]))
			return false;
	}
	return true;
}

/* One event, for several of something, over sizes */
static bool several(const struct cit *cit, const struct events *events, struct table *t,
		    const unsigned int *value, size_t n, const char *name)
{
	const bool units = !strcmp(t->kind, "unit");
	double size[ROWS];
	size_t i, rows = curve_sizes(cit, size, ROWS);

	t->columns = n;
	for (i = 0; i < n; i++)
		snprintf(t->series[i], sizeof(t->series[i]), "%u %s", value[i], name);
	for (; t->rows < rows; t->rows++) {
		t->x[t->rows] = size[t->rows];
		for (i = 0; i < n; i++) {
			struct walk w = { .bytes = size[t->rows] };

			w.unit = units ? value[i] : cit->unit_bytes;
			w.pages = units ? 0 : value[i];
			if (!add_walk(cit, events, 1, &w, t, i))
				return false;
		}
	}
	return true;
}

static bool curve_unit(const struct cit *cit, const struct events *events, struct table *t)
{
	static const unsigned int units[] = { 64, 128, 256, 512 };

	return several(cit, events, t, units, 4, "B apart");
}

static bool curve_block(const struct cit *cit, const struct events *events, struct table *t)
{
	static const unsigned int pages[] = { 1, 4, 16, 32, 64, 128 };

	return several(cit, events, t, pages, 6, "pages per block");
}

static bool curve_offset(const struct cit *cit, const struct events *events, struct table *t)
{
	static const unsigned int offset[] = { 0, 1, 2, 4 };
	const size_t n = sizeof(offset) / sizeof(*offset);
	const uint64_t l1 = cit->cache_bytes[0];
	uint64_t bytes;
	size_t i;

	t->columns = 2 * n;
	for (i = 0; i < n; i++) {
		snprintf(t->series[i], sizeof(t->series[i]), "offset %u", offset[i]);
		snprintf(t->series[n + i], sizeof(t->series[i]), "ns, offset %u", offset[i]);
		t->time[n + i] = true;
	}
	for (bytes = l1 / 2; bytes <= 2 * l1 && t->rows < ROWS; bytes += BLOCK) {
		t->x[t->rows] = bytes;
		for (i = 0; i < n; i++) {
			struct walk w = { .bytes = bytes, .unit = 64, .offset = offset[i],
					  .laps = true };
			struct probe probe = walk_probe(&w);

			if (!add_walk(cit, events, 1, &w, t, i) ||
			    !load_ns(cit, &probe, &t->y[n + i][t->rows]))
				return false;
		}
		t->rows++;
	}
	return true;
}

static bool curve_misprediction(const struct cit *cit, const struct events *events,
				struct table *t)
{
	const size_t n = events->n;
	struct probe probe = branch_misprediction;
	unsigned int k;
	size_t i;

	for (i = 0; i < n; i++)
		snprintf(t->series[i], sizeof(t->series[i]), "%s", events->e[i].name);
	/* Whoever always predicts the more frequent way is wrong in one of k rounds. */
	snprintf(t->series[n], sizeof(t->series[n]), "2 (k - 1)/k + 3/k");
	t->columns = n + 1;
	for (k = 2; k <= 20; k++) {
		probe.arg = k;
		t->x[t->rows] = k;
		if (!point(cit, events, n, &probe, t, 0))
			return false;
		t->y[n][t->rows] = 2. * (k - 1) / k + 3. / k;
		t->rows++;
	}
	return true;
}

/* ---- what comes out ---- */

static void print_table(FILE *to, const struct table *t)
{
	size_t r, c;

	fprintf(to, "# %s", t->x_name);
	for (c = 0; c < t->columns; c++)
		fprintf(to, "\t%s", t->series[c]);
	putc('\n', to);
	for (r = 0; r < t->rows; r++) {
		fprintf(to, "%.0f", t->x[r]);
		for (c = 0; c < t->columns; c++)
			fprintf(to, "\t%.4f", t->y[c][r]);
		putc('\n', to);
	}
}

static void print_steps(const struct table *t)
{
	size_t c, i, n;

	for (c = 0; c < t->columns; c++) {
		double at[8];
		bool up[8];

		if (t->time[c] || !t->log_x)
			continue;
		n = steps(t->x, t->y[c], t->rows, at, up, 8);
		printf("# %s:", t->series[c]);
		for (i = 0; i < n && i < 8; i++)
			printf(" %s at %.0f KiB", up[i] ? "up" : "down", at[i] / 1024);
		puts(n ? "" : " flat");
	}
}

/* A line for each x, with the y of each series */
static void print_csv(const struct table *t)
{
	size_t r, c;

	csv_name(stdout, t->x_name);
	for (c = 0; c < t->columns; c++) {
		putchar(',');
		csv_name(stdout, t->series[c]);
	}
	for (r = 0; r < t->rows; r++) {
		printf("\n%llu", (unsigned long long)t->x[r]);
		for (c = 0; c < t->columns; c++) {
			putchar(',');
			if (isfinite(t->y[c][r]))
				printf("%.12g", t->y[c][r]);
		}
	}
	putchar('\n');
}

static void print_json(const struct table *t)
{
	json_t *j = json_begin(), *all = json_array();
	size_t r, c;

	for (c = 0; c < t->columns; c++) {
		json_t *points = json_array();

		for (r = 0; r < t->rows; r++)
			json_array_append_new(points, json_pack("[I, o]", (json_int_t)t->x[r],
								json_number(t->y[c][r])));
		json_array_append_new(all, json_pack("{s:o, s:o}", "name",
						     json_name(t->series[c]), "points", points));
	}
	json_object_set_new(j, "curve", json_string(t->kind));
	json_object_set_new(j, "x", json_string(t->x_name));
	json_object_set_new(j, "series", all);
	json_end(j, stdout);
}

/* By gnuplot; the file's name says which kind of picture: one of those, as the command knows */
static bool plot(const struct table *t, const char *file)
{
	const char *terminal = gnuplot_terminal(file);
	struct gnuplot g;
	bool times = false;
	FILE *to;
	size_t c;

	if (!gnuplot_open(&g, file))
		return false;
	to = g.to;
	fputs("$data << EOD\n", to);
	print_table(to, t);
	fprintf(to, "EOD\nset terminal %s%s\nset xlabel '%s'\n", terminal,
		strcmp(terminal, "pdfcairo") ? " size 900,600" : "", t->x_name);
	fputs("set ylabel 'events each'\nset key outside below noenhanced\nset grid\nset datafile separator '\\t'\n",
	      to);
	if (t->log_x)
		fputs("set logscale x 2\nset format x '%.0b %B'\n", to);
	for (c = 0; c < t->columns; c++)
		times |= t->time[c];
	if (times)
		fputs("set y2label 'ns'\nset y2tics\nset ytics nomirror\n", to);
	fputs("plot", to);
	for (c = 0; c < t->columns; c++)
		fprintf(to, "%s $data using 1:%zu with linespoints %s title '%s'", c ? "," : "",
			c + 2, t->time[c] ? "axes x1y2 dashtype 2" : "", t->series[c]);
	putc('\n', to);
	return gnuplot_close(&g);
}

/* The last of the series is no event. */
#define MOST	(SERIES - 1)

static const struct kind {
	const char *name, *x_name;
	bool (*run)(const struct cit *cit, const struct events *events, struct table *t);
	size_t events;			/* at the most */
	unsigned int levels;		/* of caches, at least */
	bool log_x;
} kinds[] = {
	{ "size", "bytes", curve_size, MOST, 1, true },
	{ "unit", "bytes", curve_unit, 1, 1, true },
	{ "block", "bytes", curve_block, 1, 1, true },
	{ "offset", "bytes", curve_offset, 1, 1, false },
	{ "misprediction", "k", curve_misprediction, MOST, 0, false },
};

static const struct kind *kind_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	complain("no curve '%s': size, unit, block, offset, misprediction", name);
	return NULL;
}

bool curve_of(const char *name, size_t events)
{
	const struct kind *kind = kind_of(name);

	if (!kind || events <= kind->events)
		return kind;
	if (kind->events == 1)
		complain("curve %s: of one event, and these are %zu; 'curve size' shows several in one table",
			 name, events);
	else
		complain("curve %s: of %zu events at the most, and these are %zu", name,
			 kind->events, events);
	return false;
}

int curve(const struct cit *cit, const char *name, const struct events *events)
{
	const struct kind *kind;
	struct table *t;
	bool good;

	if (!curve_of(name, events->n))
		return STATUS_USAGE;
	kind = kind_of(name);
	if (!cit_caches(cit, kind->levels, name))
		return STATUS_UNABLE;
	t = calloc(1, sizeof(*t));
	t->kind = name;
	t->x_name = kind->x_name;
	t->log_x = kind->log_x;
	good = kind->run(cit, events, t);
	if (good) {
		if (cit->csv) {
			print_csv(t);
		} else if (cit->json) {
			print_json(t);
		} else {
			print_steps(t);
			print_table(stdout, t);
		}
		if (cit->plot)
			good = plot(t, cit->plot);
	}
	free(t);
	return good ? STATUS_OK : STATUS_FAILED;
}

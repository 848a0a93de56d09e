// SPDX-License-Identifier: GPL-2.0
/*
 * memio trace report: events and bandwidth over time, by task and CPU
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../json/json.h"
#include "bins.h"
#include "command.h"
#include "progress.h"
#include "trace.h"

#define BIN_US	10000
/* Progress is told of so many bins. */
#define STEP_BINS	16384

static const struct bins *sorting;

static int by_bytes(const void *a, const void *b)
{
	const struct bins_task *x = &sorting->task[*(const uint32_t *)a];
	const struct bins_task *y = &sorting->task[*(const uint32_t *)b];

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The tasks that did something, or ran at all, those with most bytes first */
static uint32_t *order_of(const struct bins *b, uint32_t *n)
{
	uint32_t *order = calloc(b->tasks + 1, sizeof(*order)), i;

	*n = 0;
	for (i = 0; order && i < b->tasks; i++)
		if (b->task[i].records || b->task[i].run_s > 0)
			order[(*n)++] = i;
	sorting = b;
	if (order)
		qsort(order, *n, sizeof(*order), by_bytes);
	return order;
}

static double megabytes(uint64_t bytes, double seconds)
{
	return seconds > 0 ? bytes / 1e6 / seconds : 0;
}

static const char *mode_name(uint32_t mode)
{
	static const char *const names[] = { "?", "pebs", "soft", "synthetic" };

	return names[mode < 4 ? mode : 0];
}

/*
 * There can be millions of bins: before each that is printed. To a terminal, progress would come
 * between them.
 */
static void tell(struct progress *p, const struct bins *b, size_t bin)
{
	const bool here = isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);

	if (!bin)
		progress_begin(p, b->bins / STEP_BINS, here || b->bins < 2 * STEP_BINS, false);
	if (bin % STEP_BINS == 0 && p->begun < p->all)
		progress(p, "printing bins");
	if (bin + 1 == b->bins)
		progress_end(p);
}

/* ---- as text ---- */

static void print_bins(const struct bins *b)
{
	const double second = b->bin_us / 1e6;
	struct progress p;
	size_t i;

	printf("\n%12s %4s %8s %-15s %12s %10s\n", "from, s", "CPU", "tid", "task", "events",
	       "MB/s");
	for (i = 0; i < b->bins; i++) {
		const struct bins_bin *n = &b->bin[i];
		const struct bins_series *s = &b->series[n->series];
		const struct bins_task *t = &b->task[s->task];

		tell(&p, b, i);
		printf("%12.6f %4u %8u ", n->bin * second, b->cpu[s->cpu].cpu, t->tid);
		trace_text(stdout, t->comm, sizeof(t->comm));
		printf("%*s %12" PRIu64 " %10.2f\n", 15 - (int)strnlen(t->comm, 15), "",
		       n->events, megabytes(n->bytes, second));
	}
}

static void print_text(const struct bins *b, const uint32_t *order, uint32_t tasks,
		       const char *path, bool bins)
{
	uint64_t lost = 0, throttled = 0;
	uint32_t i;

	printf("%s: %.6f s, %" PRIu64 " bytes", path, b->seconds, b->file_bytes);
	if (*b->text) {
		fputs(", recorded for: ", stdout);
		trace_text(stdout, b->text, sizeof(b->text));
	}
	printf("\n\n%4s %-9s %-28s %7s %12s %14s %10s %8s %8s %9s\n", "CPU", "source",
	       "event", "period", "records", "events", "MB/s", "switches", "lost", "throttled");
	for (i = 0; i < b->cpus; i++) {
		const struct bins_cpu *c = &b->cpu[i];
		int length = strnlen(c->stream.event_name, 28);

		printf("%4u %-9s ", c->cpu, mode_name(c->stream.mode));
		trace_text(stdout, c->stream.event_name, length);
		printf("%*s %7" PRIu64 " %12" PRIu64 " %14" PRIu64 " %10.2f %8" PRIu64 " %8"
		       PRIu64 " %9" PRIu64 "\n", 28 - length, "", c->stream.period, c->records,
		       c->events, megabytes(c->bytes, b->seconds), c->switches, c->lost,
		       c->stats.throttled);
		lost += c->lost;
		throttled += c->stats.throttled;
	}
	printf("\n%8s %8s %-15s %10s %12s %14s %10s %10s\n", "tid", "pid", "task", "ran, s",
	       "records", "events", "MB/s", "while ran");
	for (i = 0; i < tasks; i++) {
		const struct bins_task *t = &b->task[order[i]];

		printf("%8u %8u ", t->tid, t->tgid);
		trace_text(stdout, t->comm, sizeof(t->comm));
		printf("%*s %10.6f %12" PRIu64 " %14" PRIu64 " %10.2f %10.2f\n",
		       15 - (int)strnlen(t->comm, 15), "", t->run_s, t->records, t->events,
		       megabytes(t->bytes, b->seconds), megabytes(t->bytes, t->run_s));
	}
	if (bins)
		print_bins(b);
	if (lost)
		complain("%" PRIu64 " records are missing: the ring was full", lost);
	if (throttled)
		complain("%" PRIu64 " times a counter stood still: too many interrupts", throttled);
}

/* ---- for programs ---- */

static void print_csv(const struct bins *b)
{
	const double second = b->bin_us / 1e6;
	struct progress p;
	size_t i;

	puts("from_us,cpu,tid,pid,cgroup,task,records,events,bytes,bytes_per_s");
	for (i = 0; i < b->bins; i++) {
		const struct bins_bin *n = &b->bin[i];
		const struct bins_series *s = &b->series[n->series];
		const struct bins_task *t = &b->task[s->task];

		tell(&p, b, i);
		printf("%" PRId64 ",%u,%u,%u,%" PRIu64 ",", (int64_t)(n->bin * b->bin_us),
		       b->cpu[s->cpu].cpu, t->tid, t->tgid, t->cgroup);
		trace_csv(stdout, t->comm, sizeof(t->comm));
		printf(",%u,%" PRIu64 ",%" PRIu64 ",%.0f\n", n->records, n->events, n->bytes,
		       n->bytes / second);
	}
}

static json_t *stats_json(const struct format_stats *s)
{
	json_t *j = json_object();

	json_object_set_new(j, "buffers", json_count(s->buffers));
	json_object_set_new(j, "records", json_count(s->records));
	json_object_set_new(j, "switches", json_count(s->switches));
	json_object_set_new(j, "overflows", json_count(s->overflows));
	json_object_set_new(j, "dropped", json_count(s->dropped));
	json_object_set_new(j, "long_deltas", json_count(s->long_deltas));
	json_object_set_new(j, "bad_tails", json_count(s->bad_tails));
	json_object_set_new(j, "read_words", json_count(s->read_words));
	json_object_set_new(j, "read_records", json_count(s->read_records));
	json_object_set_new(j, "kept_records", json_count(s->kept_records));
	json_object_set_new(j, "lost_records", json_count(s->lost_records));
	json_object_set_new(j, "skipped_words", json_count(s->skipped_words));
	json_object_set_new(j, "throttled", json_count(s->throttled));
	json_object_set_new(j, "damaged", json_count(s->damaged));
	return j;
}

static json_t *damage_json(const struct reader_damage *d)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:b, s:b}", "chunks", json_count(d->chunks),
			 "records", json_count(d->records), "missing_chunks",
			 json_count(d->missing), "bytes", json_count(d->bytes), "cut", d->cut,
			 "ended", d->ended);
}

static json_t *cpu_json(const struct bins_cpu *c)
{
	const struct format_stream *s = &c->stream;
	json_t *j = json_pack("{s:I, s:s, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
			      "cpu", (json_int_t)c->cpu, "source", mode_name(s->mode), "event",
			      json_text(s->event_name, sizeof(s->event_name)), "period",
			      json_count(s->period), "event_bytes", (json_int_t)s->event_bytes,
			      "tsc_khz", (json_int_t)s->tsc_khz, "records",
			      json_count(c->records), "events", json_count(c->events), "bytes",
			      json_count(c->bytes), "switches", json_count(c->switches), "lost",
			      json_count(c->lost));

	if (c->has_stats)
		json_object_set_new(j, "stats", stats_json(&c->stats));
	return j;
}

static json_t *task_json(const struct bins_task *t)
{
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "tid", (json_int_t)t->tid,
			 "pid", (json_int_t)t->tgid, "cgroup", json_count(t->cgroup), "task",
			 json_text(t->comm, sizeof(t->comm)), "run_s", json_number(t->run_s),
			 "records", json_count(t->records), "events", json_count(t->events),
			 "bytes", json_count(t->bytes));
}

static json_t *bin_json(const struct bins *b, const struct bins_bin *n)
{
	const struct bins_series *s = &b->series[n->series];

	return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o}", "from_us",
			 (json_int_t)(n->bin * b->bin_us), "cpu",
			 (json_int_t)b->cpu[s->cpu].cpu, "tid", (json_int_t)b->task[s->task].tid,
			 "records", (json_int_t)n->records, "events", json_count(n->events),
			 "bytes", json_count(n->bytes));
}

static void print_json(const struct bins *b, const uint32_t *order, uint32_t tasks,
		       const char *path)
{
	json_t *j = json_begin(), *list, *row;
	struct json_long rows;
	struct progress p;
	uint32_t i;
	size_t k;

	json_object_set_new(j, "file", json_name(path));
	json_object_set_new(j, "file_bytes", json_count(b->file_bytes));
	json_object_set_new(j, "whole", json_boolean(b->whole));
	json_object_set_new(j, "filters", json_text(b->text, sizeof(b->text)));
	json_object_set_new(j, "damage", damage_json(&b->damage));
	json_object_set_new(j, "start_tsc", json_count(b->start_tsc));
	if (b->clocks) {
		json_object_set_new(j, "start_ns", json_count(b->start_ns));
		json_object_set_new(j, "start_real_ns", json_count(b->start_real_ns));
	}
	json_object_set_new(j, "seconds", json_number(b->seconds));
	json_object_set_new(j, "bin_us", json_count(b->bin_us));
	list = json_array();
	for (i = 0; i < b->cpus; i++)
		json_array_append_new(list, cpu_json(&b->cpu[i]));
	json_object_set_new(j, "cpus", list);
	list = json_array();
	for (i = 0; i < tasks; i++)
		json_array_append_new(list, task_json(&b->task[order[i]]));
	json_object_set_new(j, "tasks", list);
	/* There can be millions of bins. */
	json_long_begin(&rows, j, "bins", stdout, TRACE_JSON);
	for (k = 0; k < b->bins; k++) {
		tell(&p, b, k);
		row = bin_json(b, &b->bin[k]);
		json_long_row(&rows, row);
		json_decref(row);
	}
	json_long_end(&rows);
}

enum { OPT_BIN = 300, OPT_JSON, OPT_CSV };

static const struct command_option options[] = {
	{ .id = OPT_BIN, .name = "bin-us", .value = "N",
	  .help = "Show figures over time, too, in bins of N microseconds." },
	{ .id = OPT_JSON, .name = "json",
	  .help = "Print JSON, with the bins (of 10 ms unless --bin-us says otherwise)." },
	{ .id = OPT_CSV, .name = "csv",
	  .help = "Print the bins as CSV, without those that have no events." },
	FILTER_OPTIONS,
	{ }
};

static int cmd_report(int argc, char **argv)
{
	struct options o;
	int opt, format = 0, status = STATUS_USAGE;
	const char *path;
	struct filter filter = { 0 };
	double bin_us = 0;
	uint32_t *order, tasks;
	struct bins b;

	options_begin(&o, argc, argv);
	while ((opt = trace_option(&o, &filter, &status)) > 0) {
		switch (opt) {
		case OPT_BIN:
			if (!trace_number("--bin-us", optarg, 1, 1e9, &bin_us))
				goto out;
			break;
		case OPT_JSON:
		case OPT_CSV:
			format = opt;
			break;
		}
	}
	if (opt < 0)
		goto out;
	path = trace_file(&o);
	if (!path)
		goto out;
	status = STATUS_FAILED;
	if (!bins_read(&b, path, &filter, bin_us ? (uint64_t)bin_us : BIN_US, 0))
		goto out;
	order = order_of(&b, &tasks);
	if (!order)
		complain("no memory");
	else if (format == OPT_JSON)
		print_json(&b, order, tasks, path);
	else if (format == OPT_CSV)
		print_csv(&b);
	else
		print_text(&b, order, tasks, path, bin_us);
	if (order)
		status = b.whole ? STATUS_OK : STATUS_NEGATIVE;
	free(order);
	bins_free(&b);
out:
	filter_free(&filter);
	return status;
}

const struct command trace_report = {
	.name = "report",
	.summary = "show events and bandwidth over time, by task and CPU",
	.usage = "[OPTION...] [FILE]",
	.about = "Shows what CPUs and tasks did in FILE [" TRACE_FILE "]: records of the trace, "
		  "the events that the records stand for, and bandwidth. Bandwidth is events, "
		  "times 64 bytes for each miss, by the time; other events have none.",
	.notes = "If FILE is damaged, the command shows what it can read, and the status is 1.",
	.option = options,
	.arguments = COMPLETES_FILE,
	.main = cmd_report,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * memio trace report: events and bandwidth over time, by task and CPU
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../json/json.h"
#include "bins.h"
#include "command.h"
#include "trace.h"

#define BIN_US	10000

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

/* ---- as text ---- */

static void print_bins(const struct bins *b)
{
	const double second = b->bin_us / 1e6;
	size_t i;

	printf("\n%12s %4s %8s %-15s %12s %10s\n", "from, s", "CPU", "tid", "task", "events",
	       "MB/s");
	for (i = 0; i < b->bins; i++) {
		const struct bins_bin *n = &b->bin[i];
		const struct bins_series *s = &b->series[n->series];
		const struct bins_task *t = &b->task[s->task];

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
	size_t i;

	puts("from_us,cpu,tid,pid,cgroup,task,records,events,bytes,bytes_per_s");
	for (i = 0; i < b->bins; i++) {
		const struct bins_bin *n = &b->bin[i];
		const struct bins_series *s = &b->series[n->series];
		const struct bins_task *t = &b->task[s->task];

		printf("%" PRId64 ",%u,%u,%u,%" PRIu64 ",", (int64_t)(n->bin * b->bin_us),
		       b->cpu[s->cpu].cpu, t->tid, t->tgid, t->cgroup);
		trace_csv(stdout, t->comm, sizeof(t->comm));
		printf(",%u,%" PRIu64 ",%" PRIu64 ",%.0f\n", n->records, n->events, n->bytes,
		       n->bytes / second);
	}
}

static void json_stats(const struct format_stats *s)
{
	printf(", \"stats\": {");
#define FIELD(name)	printf("\"" #name "\": %" PRIu64 ", ", s->name)
	FIELD(buffers);
	FIELD(records);
	FIELD(switches);
	FIELD(overflows);
	FIELD(dropped);
	FIELD(long_deltas);
	FIELD(bad_tails);
	FIELD(read_words);
	FIELD(read_records);
	FIELD(kept_records);
	FIELD(lost_records);
	FIELD(skipped_words);
	FIELD(throttled);
#undef FIELD
	printf("\"damaged\": %" PRIu64 "}", s->damaged);
}

static void print_json(const struct bins *b, const uint32_t *order, uint32_t tasks,
		       const char *path)
{
	const struct reader_damage *d = &b->damage;
	uint32_t i;
	size_t k;

	/* There can be millions of bins. */
	json_head(stdout);
	printf(", \"file\": ");
	trace_json(stdout, path, strlen(path));
	printf(", \"file_bytes\": %" PRIu64 ", \"whole\": %s, \"filters\": ", b->file_bytes,
	       b->whole ? "true" : "false");
	trace_json(stdout, b->text, sizeof(b->text));
	printf(",\n \"damage\": {\"chunks\": %" PRIu64 ", \"records\": %" PRIu64
	       ", \"missing_chunks\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"cut\": %s, \"ended\": %s}",
	       d->chunks, d->records, d->missing, d->bytes, d->cut ? "true" : "false",
	       d->ended ? "true" : "false");
	printf(",\n \"start_tsc\": %" PRIu64, b->start_tsc);
	if (b->clocks)
		printf(", \"start_ns\": %" PRIu64 ", \"start_real_ns\": %" PRIu64, b->start_ns,
		       b->start_real_ns);
	printf(", \"seconds\": %.9f, \"bin_us\": %" PRIu64, b->seconds, b->bin_us);
	printf(",\n \"cpus\": [");
	for (i = 0; i < b->cpus; i++) {
		const struct bins_cpu *c = &b->cpu[i];

		printf("%s\n  {\"cpu\": %u, \"source\": \"%s\", \"event\": ", i ? "," : "", c->cpu,
		       mode_name(c->stream.mode));
		trace_json(stdout, c->stream.event_name, sizeof(c->stream.event_name));
		printf(", \"period\": %" PRIu64 ", \"event_bytes\": %u, \"tsc_khz\": %u, "
		       "\"records\": %" PRIu64 ", \"events\": %" PRIu64 ", \"bytes\": %" PRIu64
		       ", \"switches\": %" PRIu64 ", \"lost\": %" PRIu64, c->stream.period,
		       c->stream.event_bytes, c->stream.tsc_khz, c->records, c->events, c->bytes,
		       c->switches, c->lost);
		if (c->has_stats)
			json_stats(&c->stats);
		putchar('}');
	}
	printf("],\n \"tasks\": [");
	for (i = 0; i < tasks; i++) {
		const struct bins_task *t = &b->task[order[i]];

		printf("%s\n  {\"tid\": %u, \"pid\": %u, \"cgroup\": %" PRIu64 ", \"task\": ",
		       i ? "," : "", t->tid, t->tgid, t->cgroup);
		trace_json(stdout, t->comm, sizeof(t->comm));
		printf(", \"run_s\": %.9f, \"records\": %" PRIu64 ", \"events\": %" PRIu64
		       ", \"bytes\": %" PRIu64 "}", t->run_s, t->records, t->events, t->bytes);
	}
	printf("],\n \"bins\": [");
	for (k = 0; k < b->bins; k++) {
		const struct bins_bin *n = &b->bin[k];
		const struct bins_series *s = &b->series[n->series];

		printf("%s\n  {\"from_us\": %" PRId64 ", \"cpu\": %u, \"tid\": %u, "
		       "\"records\": %u, \"events\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
		       k ? "," : "", (int64_t)(n->bin * b->bin_us), b->cpu[s->cpu].cpu,
		       b->task[s->task].tid, n->records, n->events, n->bytes);
	}
	puts("]}");
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

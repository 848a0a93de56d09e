// SPDX-License-Identifier: GPL-2.0
/*
 * memio trace export: every record, as CSV or JSON lines
 *
 * A line is a record, a switch (of the task that runs from then on) or a loss, in the
 * order of the file: each CPU's are in the order of their times.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "../json/json.h"
#include "command.h"
#include "trace.h"
#include "walk.h"

struct export {
	bool json;
	struct format_stream stream;
};

static void json_line(const struct export *x, const char *what, const struct format_state *s,
		      uint64_t ns, uint64_t events, uint64_t lost)
{
	json_t *j = json_begin();

	json_object_set_new(j, "what", json_string(what));
	json_object_set_new(j, "cpu", json_count(x->stream.cpu));
	json_object_set_new(j, "tsc", json_count(s->tsc));
	json_object_set_new(j, "ns", json_count(ns));
	json_object_set_new(j, "tid", json_count(s->tid));
	json_object_set_new(j, "pid", json_count(s->tgid));
	json_object_set_new(j, "cgroup", json_count(s->cgroup));
	json_object_set_new(j, "task", json_text(s->comm, sizeof(s->comm)));
	json_object_set_new(j, "events", json_count(events));
	json_object_set_new(j, "lost", json_count(lost));
	json_end_as(j, stdout, TRACE_JSON);
}

static void line(const struct export *x, const char *what, const struct format_state *s,
		 uint64_t events, uint64_t lost)
{
	uint64_t ns = stream_ns(s, x->stream.tsc_khz, s->tsc);

	if (x->json) {
		json_line(x, what, s, ns, events, lost);
		return;
	}
	printf("%s,%u,%" PRIu64 ",%" PRIu64 ",%u,%u,%" PRIu64 ",", what, x->stream.cpu, s->tsc,
	       ns, s->tid, s->tgid, s->cgroup);
	trace_csv(stdout, s->comm, sizeof(s->comm));
	printf(",%" PRIu64 ",%" PRIu64 "\n", events, lost);
}

static void begin(void *context, const struct format_stream *stream,
		  const struct format_state *state, bool chosen)
{
	(void)state;
	(void)chosen;
	((struct export *)context)->stream = *stream;
}

static void record(void *context, const struct format_state *state)
{
	const struct export *x = context;

	line(x, "record", state, x->stream.period, 0);
}

static void marker(void *context, enum stream_kind kind, const struct format_state *before,
		   const struct format_state *after, uint64_t lost, bool chosen)
{
	(void)before;
	if (kind == STREAM_SWITCH && chosen)
		line(context, "switch", after, 0, 0);
	else if (kind == STREAM_LOST)
		line(context, "lost", after, 0, lost);
}

enum { OPT_JSON = 300, OPT_CSV };

static const struct command_option options[] = {
	{ .id = OPT_CSV, .name = "csv", .help = "Print CSV with a header; this is the default." },
	{ .id = OPT_JSON, .name = "json", .help = "Print JSON, one object in each line." },
	FILTER_OPTIONS,
	{ }
};

static int cmd_export(int argc, char **argv)
{
	struct options o;
	struct export x = { 0 };
	struct filter filter = { 0 };
	struct walk w = {
		.filter = &filter,
		.context = &x,
		.begin = begin,
		.record = record,
		.marker = marker,
		.quiet = isatty(STDOUT_FILENO) && isatty(STDERR_FILENO),
	};
	const char *path;
	int opt, status = STATUS_USAGE;
	struct reader r;

	options_begin(&o, argc, argv);
	while ((opt = trace_option(&o, &filter, &status)) > 0) {
		switch (opt) {
		case OPT_JSON:
		case OPT_CSV:
			x.json = opt == OPT_JSON;
			break;
		}
	}
	if (opt < 0)
		goto out;
	path = trace_file(&o);
	if (!path)
		goto out;
	status = STATUS_FAILED;
	if (reader_open(&r, path)) {
		if (!x.json)
			puts("what,cpu,tsc,ns,tid,pid,cgroup,task,events,lost");
		status = walk(&r, &w) ? STATUS_OK : STATUS_NEGATIVE;
		reader_close(&r);
	}
out:
	filter_free(&filter);
	return status;
}

const struct command trace_export = {
	.name = "export",
	.summary = "print every record, as CSV or JSON lines",
	.usage = "[OPTION...] [FILE]",
	.about = "Prints a line for each record, switch of tasks and loss in FILE [" TRACE_FILE "]. "
		  "A line has the time (TSC, and nanoseconds of CLOCK_MONOTONIC), the CPU, the "
		  "task, and the number of events.",
	.notes = "If FILE is damaged, the command prints what it can read, and the status is 1.",
	.option = options,
	.arguments = COMPLETES_FILE,
	.main = cmd_export,
};

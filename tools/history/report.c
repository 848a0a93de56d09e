// SPDX-License-Identifier: GPL-2.0
/*
 * memio report: a recording as a page of curves, or as sums; see log.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../json/json.h"
#include "../top/view.h"
#include "number.h"
#include "options.h"
#include "sums.h"

enum form { FORM_PAGE, FORM_JSON, FORM_CSV };

/**
 * struct settings - what the arguments say
 * @curves:	so many groups and devices have one
 */
struct settings {
	const char *file, *output, *from, *until, *below;
	unsigned long curves;
	enum form form;
};

enum { OPT_JSON = 256, OPT_CSV, OPT_FROM, OPT_UNTIL, OPT_CURVES };

static const struct command_option option_rows[] = {
	{ 'o', "output", "FILE", .help = "Write to FILE. The default is standard output.",
	  .completes = COMPLETES_FILE },
	{ OPT_FROM, "from", "TIME", .help = FROM_HELP },
	{ OPT_UNTIL, "until", "TIME", .help = UNTIL_HELP },
	{ 'G', "cgroup", "GROUP",
	  .help = "Report only GROUP and the groups below it: /a/b, a path below the mount, or the "
		  "last part of a path, as foo.service. Devices are those of the whole machine.",
	  .completes = COMPLETES_GROUP },
	{ OPT_CURVES, "curves", "N",
	  .help = "Draw curves of the N groups and the N devices that moved most bytes, 0 to 1000; "
		  "the default is 12. The tables have all that moved bytes." },
	{ OPT_JSON, "json", .help = "Print the sums as a JSON object instead of the page." },
	{ OPT_CSV, "csv", .help = "Print the sums as comma-separated values instead of the page." },
	{ .name = NULL }
};

static bool take_option(struct settings *s, int option)
{
	switch (option) {
	case 'o':
		s->output = optarg;
		return true;
	case 'G':
		s->below = optarg;
		return true;
	case OPT_FROM:
		s->from = optarg;
		return true;
	case OPT_UNTIL:
		s->until = optarg;
		return true;
	case OPT_CURVES:
		return number("curves", optarg, 0, 1000, &s->curves);
	case OPT_JSON:
		s->form = FORM_JSON;
		return true;
	default:
		s->form = FORM_CSV;
		return true;
	}
}

static const char *const bytes_names[FIGURES] = {
	[FIG_TO]	= "io_to_bytes",
	[FIG_FROM]	= "io_from_bytes",
	[FIG_READ]	= "mem_read_bytes",
	[FIG_WRITE]	= "mem_write_bytes",
	[FIG_CPU]	= "cpu_bytes",
};

/* A double that is no number of bytes any more has a word of its own in JSON: none. */
static json_t *bytes_json(double bytes)
{
	return bytes < 9e18 ? json_integer(bytes + 0.5) : json_null();
}

static const char *worth_of(const struct report *r, const struct row *w)
{
	return !r->has_memory ? "absent" : w->invalid_ns > 0 ? "invalid" :
	       w->bound_ns > 0 ? "bound" : "ok";
}

static void put_json(const struct report *r, FILE *to)
{
	json_t *all = json_begin(), *rows = json_array();
	char text[MOMENT_TEXT];
	size_t i;
	int f;

	json_object_set_new(all, "from", json_string(moment_text(r->first_ns, true, text)));
	json_object_set_new(all, "until", json_string(moment_text(r->last_ns, true, text)));
	json_object_set_new(all, "from_ns", json_count(r->first_ns));
	json_object_set_new(all, "until_ns", json_count(r->last_ns));
	json_object_set_new(all, "covered_ns", bytes_json(r->covered_ns));
	json_object_set_new(all, "samples", json_integer(r->samples));
	json_object_set_new(all, "lost", json_string(r->lost));
	for (i = 0; i < r->n; i++) {
		const struct row *w = r->row[i];
		json_t *row = json_object();

		json_object_set_new(row, "kind", json_string(w->kind == TRACK_GROUP ? "group" :
							     "device"));
		json_object_set_new(row, w->kind == TRACK_GROUP ? "group" : "device",
				    json_name(w->name));
		if (w->kind == TRACK_DEVICE)
			json_object_set_new(row, "alias", json_name(w->label));
		for (f = 0; f < FIGURES; f++)
			json_object_set_new(row, bytes_names[f], w->has & 1u << f ?
					    bytes_json(w->bytes[f]) : json_null());
		json_object_set_new(row, "peak_bps", bytes_json(w->peak_bps));
		json_object_set_new(row, "peak_time", w->peak_ns ?
				    json_string(moment_text(w->peak_ns, true, text)) :
				    json_null());
		json_object_set_new(row, "memory", json_string(worth_of(r, w)));
		if (w->kind == TRACK_GROUP)
			json_object_set_new(row, "stopped_usec", json_count(w->stopped_ns / 1000));
		json_array_append_new(rows, row);
	}
	json_object_set_new(all, "rows", rows);
	json_end(all, to);
}

static void put_csv(const struct report *r, FILE *to)
{
	char text[MOMENT_TEXT];
	size_t i;
	int f;

	fputs("kind,name,alias", to);
	for (f = 0; f < FIGURES; f++)
		fprintf(to, ",%s", bytes_names[f]);
	fputs(",peak_bps,peak_time,memory,stopped_usec\n", to);
	for (i = 0; i < r->n; i++) {
		const struct row *w = r->row[i];

		fprintf(to, "%s,", w->kind == TRACK_GROUP ? "group" : "device");
		csv_name(to, w->name);
		putc(',', to);
		if (w->kind == TRACK_DEVICE)
			csv_name(to, w->label);
		for (f = 0; f < FIGURES; f++) {
			putc(',', to);
			if (w->has & 1u << f)
				fprintf(to, "%.0f", w->bytes[f]);
		}
		fprintf(to, ",%.0f,%s,%s,", w->peak_bps,
			w->peak_ns ? moment_text(w->peak_ns, true, text) : "", worth_of(r, w));
		if (w->kind == TRACK_GROUP)
			fprintf(to, "%llu", (unsigned long long)w->stopped_ns / 1000);
		putc('\n', to);
	}
}

/* The page must not become what it is made of. */
static bool is_recording(const struct history *h, const char *output)
{
	struct stat out, in;
	unsigned int i;

	if (stat(output, &out))
		return false;
	for (i = 0; i < h->files; i++)
		if (h->part[i].fd >= 0 && !fstat(h->part[i].fd, &in) && in.st_ino == out.st_ino &&
		    in.st_dev == out.st_dev)
			return true;
	return false;
}

static int put_report(const struct settings *s, const struct history *h, const struct report *r)
{
	FILE *to = stdout;

	if (s->output) {
		if (is_recording(h, s->output)) {
			complain("%s is the recording itself", s->output);
			return STATUS_USAGE;
		}
		to = fopen(s->output, "we");
		if (!to) {
			complain_errno("%s", s->output);
			return STATUS_FAILED;
		}
	}
	if (s->form == FORM_JSON)
		put_json(r, to);
	else if (s->form == FORM_CSV)
		put_csv(r, to);
	else
		page_write(r, s->curves, s->file, to);
	if (!s->output)
		return STATUS_OK;
	if (!ferror(to) && !fclose(to))
		return STATUS_OK;
	complain_errno("%s", s->output);
	return STATUS_FAILED;
}

static int run_report(const struct settings *s)
{
	static struct report r;
	struct history h;
	struct model o;
	char *below = NULL;
	size_t first, last;
	int status;

	if (model_init(&o)) {
		complain("no memory");
		return STATUS_FAILED;
	}
	if (!history_open(&h, s->file)) {
		model_free(&o);
		return STATUS_FAILED;
	}
	status = history_range(&h, s->from, s->until, &first, &last);
	if (status == STATUS_OK && first == last) {
		complain("%s has only one sample of that time; rates take two", s->file);
		status = STATUS_FAILED;
	}
	if (status == STATUS_OK && s->below) {
		below = history_group(&h, s->below, first, last);
		if (below)
			o.below = below;
		else
			status = STATUS_FAILED;
	}
	if (status == STATUS_OK && !report_add(&r, &h, &o, first, last,
					       s->form == FORM_PAGE ? s->curves : 0))
		status = STATUS_FAILED;
	if (status == STATUS_OK)
		status = put_report(s, &h, &r);
	report_free(&r);
	history_close(&h);
	model_free(&o);
	free(below);
	return status;
}

static int cmd_report(int argc, char **argv)
{
	struct settings s = { .curves = 12 };
	struct options o;
	int option, status = STATUS_USAGE;

	options_begin(&o, argc, argv);
	while ((option = options_get(&o, &status)) > 0)
		if (!take_option(&s, option))
			return STATUS_USAGE;
	if (option < 0)
		return status;
	if (o.argc != 1) {
		complain("takes one FILE, of memio record");
		return STATUS_USAGE;
	}
	s.file = o.argv[0];
	return run_report(&s);
}

const struct command command_report = {
	.name = "report",
	.summary = "make one HTML page of a recording: curves and tables",
	.usage = "[OPTION]... FILE",
	.about = "Adds up the samples that memio record wrote to FILE, and to older files (FILE.1 "
		 "and so on), and makes one HTML page. The page has curves of the groups and "
		 "devices that moved most bytes, and tables of all that moved bytes. It needs no "
		 "network.",
	.option = option_rows,
	.arguments = COMPLETES_FILE,
	.main = cmd_report,
};

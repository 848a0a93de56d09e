// SPDX-License-Identifier: GPL-2.0
/*
 * memio run: a command in a group of its own, with limits; what it moved, at the end
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "everyday.h"
#include "number.h"

enum { OPT_LIMIT = 256, OPT_MIN, OPT_WEIGHT, OPT_PARENT, OPT_QUIET, OPT_JSON, OPT_CSV };

static const struct command_option options[] = {
	{ .id = OPT_LIMIT, .name = "limit", .value = "KEY[.WAY]=RATE[,...]",
	  .completes = COMPLETES_LIMIT,
	  .help = "Hold the command to these rates. KEY is total, cpu, io, default or a device; "
		  "WAY is bps, rbps or wbps; RATE is in bytes a second, as 200M or 1Gi. May be "
		  "repeated." },
	{ .id = OPT_MIN, .name = "min", .value = "RATE", .help = "Guarantee the command RATE bytes "
		  "a second." },
	{ .id = OPT_WEIGHT, .name = "weight", .value = "N",
	  .help = "Give the command this weight, 1 to 10000, where groups divide "
		  "what guarantees leave." },
	{ .id = OPT_PARENT, .name = "parent", .value = "GROUP", .completes = COMPLETES_GROUP,
	  .help = "Make the command's group below this one (default: systemd's choice, or the "
		  "root)." },
	{ .id = 'o', .name = "output", .value = "FILE", .completes = COMPLETES_FILE,
	  .help = "Print the summary to this file, instead of standard error." },
	{ .id = OPT_JSON, .name = "json", .help = "Print the summary as JSON." },
	{ .id = OPT_CSV, .name = "csv", .help = "Print the summary as comma-separated "
		  "values, with a header." },
	BACKEND_OPTION,
	{ .id = OPT_QUIET, .name = "quiet", .help = "Print no summary." },
	{ }
};

struct running {
	struct memio *m;
	struct memio_limits limits;
	uint64_t min, weight;
	bool has_min, has_weight, json, csv, quiet;
	const char *parent, *output, *backend;
};

static int set_up(struct running *r, const char *group)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->limits.n; i++)
		err = memio_group_set_limit(r->m, group, &r->limits.limit[i]);
	if (!err && r->has_min)
		err = memio_group_set_value(r->m, group, MEMIO_MIN, r->min);
	if (!err && r->has_weight)
		err = memio_group_set_value(r->m, group, MEMIO_WEIGHT, r->weight);
	return err ? everyday_status(r->m, err, group) : STATUS_OK;
}

/* What the group has moved since it was made is what the command has. */
static int print(struct running *r, const struct own_group *g, uint64_t began_ns, char **argv,
		 int status)
{
	struct figures f = { .kind = "command", .name = argv[0], .has_stops = true };
	FILE *to = r->output ? fopen(r->output, "we") : stderr;
	static const struct memio_stat nothing;
	struct memio_flat events = { 0 };
	struct memio_stat s = { 0 };
	json_t *j;
	int err;

	if (!to) {
		complain_errno("%s", r->output);
		return STATUS_FAILED;
	}
	memio_refresh(r->m);
	err = memio_group_stat(r->m, g->path, MEMIO_TREE, &s);
	if (!err) {
		err = memio_group_events(r->m, g->path, MEMIO_TREE, &events);
		/* BPF programs stop nothing. */
		f.has_stops = err != -ENOTSUP;
		if (!f.has_stops)
			err = 0;
	}
	if (!err)
		err = memio_stat_diff(&nothing, &s, &f.moved);
	f.moved.ns = s.ns - began_ns;
	f.stopped_usec = memio_flat_get(&events, "throttled_usec");
	f.stops = memio_flat_get(&events, "throttled");
	if (err) {
		complain("%s", memio_error(r->m));
	} else if (r->json) {
		j = json_begin();
		json_object_set_new(j, "status", json_integer(status));
		json_object_update_new(j, figures_json(r->m, &f));
		json_end(j, to);
	} else if (r->csv) {
		figures_csv_head(to);
		figures_csv(r->m, &f, to);
	} else {
		figures_table(r->m, &f, to);
	}
	memio_stat_free(&s);
	memio_stat_free(&f.moved);
	memio_flat_free(&events);
	if (r->output && fclose(to)) {
		complain_errno("%s", r->output);
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

static int run_it(struct running *r, char **argv)
{
	struct own_group g = NO_GROUP;
	struct memio_stat root = { 0 };
	uint64_t began_ns;
	char *parent;
	int err, status;

	if (!everyday_able(r->m))
		return STATUS_UNABLE;
	err = memio_group_resolve(r->m, r->parent, &parent);
	if (err)
		return everyday_status(r->m, err, NULL);
	status = own_group_make(r->m, parent, argv, &g);
	free(parent);
	if (status == STATUS_OK && !everyday_accounted(r->m))
		status = STATUS_UNABLE;
	if (status == STATUS_OK)
		status = set_up(r, g.path);
	/* The kernel reads counters only while somebody wants figures. */
	memio_group_stat(r->m, "/", MEMIO_TREE, &root);
	began_ns = clock_ns(CLOCK_MONOTONIC);
	if (status == STATUS_OK)
		status = own_group_start(r->m, &g, argv);
	if (status == STATUS_OK) {
		while (!own_group_wait(&g, 1000000000, &status))
			memio_group_stat(r->m, "/", MEMIO_TREE, &root);
		if (!r->quiet && print(r, &g, began_ns, argv, status) != STATUS_OK &&
		    status == STATUS_OK)
			status = STATUS_FAILED;
	}
	own_group_remove(r->m, &g);
	memio_stat_free(&root);
	return status;
}

static int option(struct running *r, int opt)
{
	const char *bad;
	unsigned long n;
	int err;

	switch (opt) {
	case OPT_LIMIT:
		err = memio_limits_add(&r->limits, optarg, &bad);
		if (!err)
			return STATUS_OK;
		complain("--limit '%s': %s", bad, err == -ERANGE ?
			 "from 1 to 2^50 bytes a second, or max" :
			 "KEY=RATE or KEY.bps=RATE, .rbps, .wbps; RATE as 200M, 1.5Gi or max");
		return STATUS_USAGE;
	case OPT_MIN:
		if (memio_rate_parse(optarg, &r->min)) {
			complain("--min '%s': a rate, as 200M, 1.5Gi or max", optarg);
			return STATUS_USAGE;
		}
		r->has_min = true;
		return STATUS_OK;
	case OPT_WEIGHT:
		if (!number("weight", optarg, 1, 10000, &n))
			return STATUS_USAGE;
		r->weight = n;
		r->has_weight = true;
		return STATUS_OK;
	case OPT_PARENT:
		r->parent = optarg;
		return STATUS_OK;
	case 'o':
		r->output = optarg;
		return STATUS_OK;
	case OPT_JSON:
		r->json = true;
		return STATUS_OK;
	case OPT_CSV:
		r->csv = true;
		return STATUS_OK;
	case OPT_QUIET:
		r->quiet = true;
		return STATUS_OK;
	}
	return STATUS_OK;
}

static int cmd_run(int argc, char **argv)
{
	struct running r = { .parent = "/" };
	int opt, status = STATUS_OK;
	struct options o;

	if (!everyday_backend(argc, argv, &r.backend, &status))
		return status;
	options_begin(&o, argc, argv);
	while ((opt = options_get(&o, &status)) > 0) {
		status = option(&r, opt);
		if (status != STATUS_OK)
			goto out;
	}
	if (opt < 0)
		goto out;
	if (!o.argc) {
		complain("which command? 'memio run --limit total=200M -- COMMAND'");
		status = STATUS_USAGE;
		goto out;
	}
	r.m = everyday_open(r.backend, &status);
	if (r.m)
		status = run_it(&r, o.argv);
	memio_close(r.m);
out:
	memio_limits_free(&r.limits);
	return status;
}

const struct command command_run = {
	.name = "run",
	.summary = "run a command in a group of its own, with limits",
	.usage = "[--limit KEY=RATE[,...]] [--min RATE] [--weight N] [OPTION...] -- COMMAND "
		  "[ARG...]",
	.about = "Runs COMMAND in a group of its own. When COMMAND has ended, prints a summary, and "
		 "removes the group. The summary says how many bytes COMMAND moved, and for how "
		 "long its limits stopped it.",
	.notes = "rbps is memory that is read: packets sent, data written to disks. wbps is memory "
		 "that is written: packets received, data read from disks. bps is both together.",
	.option = options,
	.arguments = COMPLETES_COMMAND,
	.runs = true,
	.main = cmd_run,
};

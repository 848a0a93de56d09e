// SPDX-License-Identifier: GPL-2.0
/*
 * memio cit: the command; cit.h has the way of the data
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../json/json.h"
#include "cit.h"
#include "command.h"
#include "gnuplot.h"
#include "number.h"
#include "options.h"

#define PROFILES	8

static void list_categories(const struct family *f)
{
	size_t i;

	printf("\n%s: events for each %s\n", f->name, f->unit);
	for (i = 0; i < f->categories; i++)
		if (strcmp(f->category[i].name, "-"))
			printf("  %-8s %s\n", f->category[i].name, f->category[i].meaning);
}

static json_t *json_categories(const struct family *f)
{
	json_t *categories = json_object();
	size_t i;

	for (i = 0; i < f->categories; i++)
		if (strcmp(f->category[i].name, "-"))
			json_object_set_new(categories, f->category[i].name,
					    json_string(f->category[i].meaning));
	return json_pack("{s:s, s:o}", "unit", f->unit, "categories", categories);
}

static int list_all(bool json)
{
	const struct family *const family[] = {
		&branch_family, cache_family(), &io_family, &shared_family,
	};
	json_t *profiles = json ? json_object() : NULL, *families, *j;
	size_t i;

	if (!json)
		puts("profiles:");
	profiles_list(stdout, profiles);
	if (!json) {
		for (i = 0; i < sizeof(family) / sizeof(*family); i++)
			list_categories(family[i]);
		return STATUS_OK;
	}
	families = json_object();
	for (i = 0; i < sizeof(family) / sizeof(*family); i++)
		json_object_set_new(families, family[i]->name, json_categories(family[i]));
	j = json_begin();
	json_object_set_new(j, "profiles", profiles);
	json_object_set_new(j, "families", families);
	json_end(j, stdout);
	return STATUS_OK;
}

static int add_events(struct events *events, int argc, char **argv)
{
	int i, status = STATUS_OK;

	for (i = 0; i < argc && status == STATUS_OK; i++)
		status = events_add(events, argv[i]);
	return status;
}

static int inspect(struct cit *cit, const struct family *family, bool uncore, int argc, char **argv)
{
	struct events events = { 0 };
	const struct events *const list = &events;
	struct result *result;
	int status;

	if (uncore && !argc) {
		complain("%s: of which events? 'memio cit list' has the uncore's", family->name);
		return STATUS_USAGE;
	}
	if (family == &io_family && !cit->disk && !cit->file && !cit->host) {
		complain("io: --disk DEVICE [--overwrite], --file FILE or --host ADDRESS says with what");
		return STATUS_USAGE;
	}
	status = cit_ready(cit);
	if (status == STATUS_OK && !cit_caches(cit, family->levels, family->name))
		status = STATUS_UNABLE;
	if (status == STATUS_OK)
		status = add_events(&events, argc, argv);
	if (!argc && status == STATUS_OK && events_add(&events, "*") != STATUS_OK)
		status = STATUS_FAILED;
	if (status == STATUS_OK && !events_allowed(&list, 1))
		status = STATUS_UNABLE;
	result = calloc(events.n + 1, sizeof(*result));
	if (status == STATUS_OK && !measure(cit, family, &events, result))
		status = STATUS_FAILED;
	if (status == STATUS_OK)
		output(cit, family, &events, result);
	free(result);
	events_free(&events);
	return status;
}

static int curves(struct cit *cit, int argc, char **argv)
{
	struct events events = { 0 };
	const struct events *const list = &events;
	int status;

	if (argc < 2) {
		complain("curve: 'curve KIND EVENT...'; KIND is size, unit, block, offset or misprediction");
		return STATUS_USAGE;
	}
	if (!curve_of(argv[0], argc - 1))
		return STATUS_USAGE;
	status = cit_ready(cit);
	if (status == STATUS_OK)
		status = add_events(&events, argc - 1, argv + 1);
	/* A pattern may be of more. */
	if (status == STATUS_OK && !curve_of(argv[0], events.n))
		status = STATUS_USAGE;
	if (status == STATUS_OK && !events_allowed(&list, 1))
		status = STATUS_UNABLE;
	if (status == STATUS_OK)
		status = curve(cit, argv[0], &events);
	events_free(&events);
	return status;
}

enum {
	OPT_CPU = 256, OPT_REPETITIONS, OPT_GROUP, OPT_CACHES, OPT_UNIT, OPT_DISK, OPT_FILE,
	OPT_HOST, OPT_OVERWRITE, OPT_PROFILE, OPT_LIST, OPT_PLOT, OPT_JSON, OPT_CSV, OPT_VERBOSE,
	OPT_QUIET
};

enum { LIST = 1, BRANCH = 2, CACHE = 4, IO = 8, SHARED = 16, VERIFY = 32, CURVE = 64 };

#define MEASURES (BRANCH | CACHE | IO | SHARED | VERIFY | CURVE)

static const struct subcommand subcommands[] = {
	{ "list", LIST, "print the names of events", false },
	{ "branch", BRANCH, "find the categories of core events, by loops with known branches",
	  false },
	{ "cache", CACHE, "the same, by loads and stores in buffers of all sizes", false },
	{ "io", IO, "the same for uncore events, by what devices move (--disk, --file, --host)",
	  false },
	{ "shared", SHARED, "the same for uncore events, by what up to 16 CPUs of a package load and "
		  "store", false },
	{ "verify", VERIFY, "check that each EVENT is of its CATEGORY; status 1 if one is not",
	  false },
	{ "curve", CURVE, "show the counts of EVENTs over KIND: size (of buffers) or "
		  "misprediction, for up to 15 events; unit, block or offset (in buffers), "
		  "for one", false },
	{ }
};

static const struct command_option options[] = {
	{ .id = OPT_CPU, .name = "cpu", .value = "N", .of = MEASURES,
	  .help = "Measure on this CPU (default: the last)." },
	{ .id = OPT_REPETITIONS, .name = "repetitions", .value = "N", .of = MEASURES,
	  .help = "Repeat each amount of work N times (default 5)." },
	{ .id = OPT_GROUP, .name = "group", .value = "N", .of = MEASURES,
	  .help = "Count at most N events at once (default 4)." },
	{ .id = OPT_CACHES, .name = "caches", .value = "L1,L2,L3", .of = MEASURES,
	  .help = "The sizes of the caches, if the machine reports wrong ones." },
	{ .id = OPT_UNIT, .name = "unit", .value = "BYTES", .of = CACHE | SHARED | VERIFY | CURVE,
	  .help = "The distance between two loads, in bytes (default 128)." },
	{ .id = OPT_DISK, .name = "disk", .value = "DEVICE", .of = IO | VERIFY,
	  .completes = COMPLETES_FILE,
	  .help = "Read from this disk; with --overwrite write to it, too." },
	{ .id = OPT_FILE, .name = "file", .value = "FILE", .of = IO | VERIFY,
	  .completes = COMPLETES_FILE,
	  .help = "Make this file, read and write it, and remove it; with --overwrite, use a "
		  "file that exists." },
	{ .id = OPT_HOST, .name = "host", .value = "ADDRESS", .of = IO | VERIFY,
	  .completes = COMPLETES_HOST, .help = "Send to this address (IPv4)." },
	{ .id = OPT_OVERWRITE, .name = "overwrite", .of = IO | VERIFY,
	  .help = "Allow the loss of the data on the disk or in the file." },
	{ .id = OPT_PROFILE, .name = "profile", .value = "NAME", .of = VERIFY,
	  .help = "Verify a set of claims; --list has them." },
	{ .id = OPT_LIST, .name = "list", .of = VERIFY,
	  .hint = "; the events are in 'memio cit list'",
	  .help = "List the profiles, and all categories." },
	{ .id = OPT_PLOT, .name = "plot", .value = "FILE", .of = CURVE,
	  .hint = "; the others have --json", .completes = COMPLETES_FILE,
	  .help = "Draw a picture, .svg, .png or .pdf." },
	{ .id = OPT_JSON, .name = "json", .help = "Print JSON instead of tables." },
	{ .id = OPT_CSV, .name = "csv", .help = "Print comma-separated values instead of tables: "
		  "a line for each event, claim or step." },
	{ .id = OPT_VERBOSE, .name = "verbose",
	  .help = "Print each slope, and events in no category." },
	{ .id = OPT_QUIET, .name = "quiet", .help = "Print no progress." },
	{ }
};

static bool is_there(const char *what)
{
	const struct subcommand *s;

	for (s = subcommands; s->name; s++)
		if (!strcmp(s->name, what))
			return true;
	return false;
}

static int cmd_cit(int argc, char **argv)
{
	struct cit cit = {
		.cpu = -1, .other = -1, .repetitions = 5, .group = 4, .unit_bytes = 128,
	};
	const char *profile[PROFILES], *what;
	unsigned long n = 0;
	struct options o;
	size_t profiles = 0;
	bool list = false;
	int opt, status;

	options_begin(&o, argc, argv);
	while ((opt = options_get(&o, &status)) > 0) {
		bool good = true;

		switch (opt) {
		case OPT_CPU:
			good = number("cpu", optarg, 0, 4095, &n);
			cit.cpu = n;
			break;
		case OPT_REPETITIONS:
			good = number("repetitions", optarg, 1, CIT_REPETITIONS, &n);
			cit.repetitions = n;
			break;
		case OPT_GROUP:
			good = number("group", optarg, 1, 16, &n);
			cit.group = n;
			break;
		case OPT_CACHES:
			good = cache_sizes(optarg, cit.cache_bytes, CIT_LEVELS);
			break;
		case OPT_UNIT:
			good = number("unit", optarg, 64, 4096, &n);
			cit.unit_bytes = n;
			if (good && n & (n - 1)) {
				complain("--unit %lu: a power of two", n);
				good = false;
			}
			break;
		case OPT_DISK:
			cit.disk = optarg;
			break;
		case OPT_FILE:
			cit.file = optarg;
			break;
		case OPT_HOST:
			cit.host = optarg;
			break;
		case OPT_OVERWRITE:
			cit.overwrite = true;
			break;
		case OPT_PROFILE:
			good = profiles < PROFILES;
			if (good)
				profile[profiles++] = optarg;
			else
				complain("too many profiles");
			break;
		case OPT_LIST:
			list = true;
			break;
		case OPT_PLOT:
			cit.plot = optarg;
			good = gnuplot_terminal(optarg);
			if (!good)
				complain("--plot '%s': a file .svg, .png or .pdf", optarg);
			break;
		case OPT_CSV:
			cit.csv = true;
			break;
		case OPT_JSON:
			cit.json = true;
			break;
		case OPT_VERBOSE:
			cit.verbose = true;
			break;
		case OPT_QUIET:
			cit.quiet = true;
			break;
		}
		if (!good)
			return STATUS_USAGE;
	}
	if (opt < 0)
		return status;
	what = o.sub ? o.sub->name : *o.argv;
	if (!what) {
		complain("what? list, branch, cache, io, shared, verify or curve; 'memio cit --help' tells more");
		return STATUS_USAGE;
	}
	/* It may stand behind the options, too. */
	argc = o.argc - !o.sub;
	argv = o.argv + !o.sub;
	if (!is_there(what)) {
		complain("no '%s'; 'memio cit --help' has what there is", what);
		return STATUS_USAGE;
	}
	if (!options_suit(&o, what))
		return STATUS_USAGE;
	if (cit.csv) {
		json_as_csv(!strcmp(what, "verify") ? "claims" : "events");
		cit.json = true;
	}
	if (!strcmp(what, "list")) {
		if (argc > 1) {
			complain("list: one pattern");
			return STATUS_USAGE;
		}
		return events_list(stdout, argc ? argv[0] : NULL, cit.json);
	}
	if (!strcmp(what, "branch"))
		return inspect(&cit, &branch_family, false, argc, argv);
	if (!strcmp(what, "cache"))
		return inspect(&cit, cache_family(), false, argc, argv);
	if (!strcmp(what, "io"))
		return inspect(&cit, &io_family, true, argc, argv);
	if (!strcmp(what, "shared"))
		return inspect(&cit, &shared_family, true, argc, argv);
	if (!strcmp(what, "curve"))
		return curves(&cit, argc, argv);
	if (list && (argc || !options_alone(&o, OPT_LIST))) {
		complain("verify --list: it says what there is, by itself or with --json");
		return STATUS_USAGE;
	}
	if (list)
		return list_all(cit.json);
	if (!argc && !profiles) {
		complain("verify: --profile NAME or EVENT=CATEGORY; --list has them");
		return STATUS_USAGE;
	}
	/* What is malformed is so on any machine. */
	status = verify_arguments(argc, argv, profile, profiles);
	if (status == STATUS_OK)
		status = cit_ready(&cit);
	return status == STATUS_OK ? verify(&cit, argc, argv, profile, profiles) : status;
}

const struct command command_cit = {
	.name = "cit",
	.summary = "find out what a hardware event really counts",
	.usage = "list [PATTERN]\n"
		 "branch|cache|io|shared [OPTION...] [EVENT...]\n"
		 "verify [OPTION...] [--profile NAME]... [EVENT=CATEGORY...]\n"
		 "curve KIND [OPTION...] EVENT...",
	.about = "What does a hardware event really count? Runs work of known size, and compares "
		  "the counts of the event with it.",
	.notes = "EVENT: a name from 'memio cit list', rCODE, PMU/term=value,.../, or a pattern. "
		  "A pattern matches events of the cores; if it matches none, events of other "
		  "PMUs. Without EVENT, branch and cache take all events of the cores.",
	.option = options,
	.sub = subcommands,
	.main = cmd_cit,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * memio cit: the command; cit.h has the way of the data
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cit.h"
#include "command.h"
#include "gnuplot.h"
#include "number.h"
#include "options.h"

#define PROFILES	8

static void usage(FILE *to)
{
	fputs("usage: memio cit list [PATTERN]\n"
	      "       memio cit branch|cache|io|shared [OPTION...] [EVENT...]\n"
	      "       memio cit verify [OPTION...] [--profile NAME]... [EVENT=CATEGORY...]\n"
	      "       memio cit curve KIND [OPTION...] EVENT...\n"
	      "\n"
	      "What does a hardware event really count? Runs work of known size and looks at what\n"
	      "the event makes of it.\n"
	      "\n"
	      "  list      the names of events\n"
	      "  branch    put core events into categories by branch kernels\n"
	      "  cache     by loads and stores in buffers of all sizes\n"
	      "  io        uncore events by what devices move (--disk, --file, --host)\n"
	      "  shared    uncore events by what a package's CPUs load and store, up to 16\n"
	      "  verify    is this event of that category? Status 1 if one is not\n"
	      "  curve     size (of buffers) or misprediction, of 15 events at the most; unit, block or\n"
	      "            offset (in buffers), of one\n"
	      "\n"
	      "EVENT: a name as list has it, rCODE, PMU/term=value,.../, or a pattern that list takes,\n"
	      "which is for the cores' events; if it matches none, for those of other PMUs. Without\n"
	      "one branch and cache take all of the cores\n"
	      "\n"
	      "  --cpu N             measure on this one (default: the last)\n"
	      "  --repetitions N     of each amount of work (default 5)\n"
	      "  --group N           events counted at once, at the most (default 4)\n"
	      "  --caches L1,L2,L3   sizes, if the machine does not say the right ones\n"
	      "  --unit BYTES        distance of loads (default 128)\n"
	      "  --disk DEVICE       read from it; with --overwrite write to it, too\n"
	      "  --file FILE         read and write this file, which is made and removed; with\n"
	      "                      --overwrite one that is there\n"
	      "  --host ADDRESS      send to it (IPv4)\n"
	      "  --profile NAME      verify: a set of claims; --list has them\n"
	      "  --list              verify: the profiles, and all categories\n"
	      "  --plot FILE         curve: a picture, .svg, .png or .pdf\n"
	      "  --json              instead of tables\n"
	      "  --verbose           each slope, and events in no category\n"
	      "  --quiet             no progress\n"
	      "  --help\n"
	      "\n"
	      "Status: 0 done, 1 a claim is wrong, 2 wrong arguments, 3 it failed, 77 this machine\n"
	      "has no counters\n", to);
}

static void list_categories(const struct family *f)
{
	size_t i;

	printf("\n%s: events for each %s\n", f->name, f->unit);
	for (i = 0; i < f->categories; i++)
		if (strcmp(f->category[i].name, "-"))
			printf("  %-8s %s\n", f->category[i].name, f->category[i].meaning);
}

static void json_categories(const struct family *f, const char *comma)
{
	size_t i;

	printf("%s\n  ", comma);
	json_quoted(stdout, f->name);
	fputs(": {\"unit\": ", stdout);
	json_quoted(stdout, f->unit);
	fputs(", \"categories\": {", stdout);
	comma = "";
	for (i = 0; i < f->categories; i++) {
		if (!strcmp(f->category[i].name, "-"))
			continue;
		printf("%s\n    ", comma);
		json_quoted(stdout, f->category[i].name);
		fputs(": ", stdout);
		json_quoted(stdout, f->category[i].meaning);
		comma = ",";
	}
	fputs("}}", stdout);
}

static int list_all(bool json)
{
	const struct family *const family[] = {
		&branch_family, cache_family(), &io_family, &shared_family,
	};
	size_t i;

	fputs(json ? "{\"profiles\": {" : "profiles:\n", stdout);
	profiles_list(stdout, json);
	fputs(json ? "},\n \"families\": {" : "", stdout);
	for (i = 0; i < sizeof(family) / sizeof(*family); i++) {
		if (json)
			json_categories(family[i], i ? "," : "");
		else
			list_categories(family[i]);
	}
	fputs(json ? "}}\n" : "", stdout);
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
		status = STATUS_FAILED;
	if (status == STATUS_OK)
		status = add_events(&events, argc, argv);
	if (!argc && status == STATUS_OK && events_add(&events, "*") != STATUS_OK)
		status = STATUS_FAILED;
	if (status == STATUS_OK && !events_allowed(&list, 1))
		status = CIT_UNABLE;
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
		status = CIT_UNABLE;
	if (status == STATUS_OK)
		status = curve(cit, argv[0], &events);
	events_free(&events);
	return status;
}

enum {
	OPT_CPU = 256, OPT_REPETITIONS, OPT_GROUP, OPT_CACHES, OPT_UNIT, OPT_DISK, OPT_FILE,
	OPT_HOST, OPT_OVERWRITE, OPT_PROFILE, OPT_LIST, OPT_PLOT, OPT_JSON, OPT_VERBOSE,
	OPT_QUIET
};

enum { LIST = 1, BRANCH = 2, CACHE = 4, IO = 8, SHARED = 16, VERIFY = 32, CURVE = 64 };

#define MEASURES (BRANCH | CACHE | IO | SHARED | VERIFY | CURVE)

static const struct option options[] = {
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "repetitions", required_argument, NULL, OPT_REPETITIONS },
	{ "group", required_argument, NULL, OPT_GROUP },
	{ "caches", required_argument, NULL, OPT_CACHES },
	{ "unit", required_argument, NULL, OPT_UNIT },
	{ "disk", required_argument, NULL, OPT_DISK },
	{ "file", required_argument, NULL, OPT_FILE },
	{ "host", required_argument, NULL, OPT_HOST },
	{ "overwrite", no_argument, NULL, OPT_OVERWRITE },
	{ "profile", required_argument, NULL, OPT_PROFILE },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "plot", required_argument, NULL, OPT_PLOT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

static const struct subcommand subcommands[] = {
	{ "list", LIST }, { "branch", BRANCH }, { "cache", CACHE }, { "io", IO },
	{ "shared", SHARED }, { "verify", VERIFY }, { "curve", CURVE },
};

/* --json, --quiet and --verbose mean no harm to any. */
static const struct option_of whose[] = {
	{ OPT_CPU, MEASURES, NULL },
	{ OPT_REPETITIONS, MEASURES, NULL },
	{ OPT_GROUP, MEASURES, NULL },
	{ OPT_CACHES, MEASURES, NULL },
	{ OPT_UNIT, CACHE | SHARED | VERIFY | CURVE, NULL },
	{ OPT_DISK, IO | VERIFY, NULL },
	{ OPT_FILE, IO | VERIFY, NULL },
	{ OPT_HOST, IO | VERIFY, NULL },
	{ OPT_OVERWRITE, IO | VERIFY, NULL },
	{ OPT_PROFILE, VERIFY, NULL },
	{ OPT_LIST, VERIFY, "; the events are in 'memio cit list'" },
	{ OPT_PLOT, CURVE, "; the others have --json" },
};

static const struct options_of all_options = OPTIONS_OF(options, subcommands, whose);

static bool is_there(const char *what)
{
	size_t i;

	for (i = 0; i < all_options.subcommands; i++)
		if (!strcmp(subcommands[i].name, what))
			return true;
	return false;
}

int cmd_cit(int argc, char **argv)
{
	struct cit cit = {
		.cpu = -1, .other = -1, .repetitions = 5, .group = 4, .unit_bytes = 128,
	};
	const char *profile[PROFILES], *what;
	unsigned long n = 0;
	uint64_t given = 0;
	size_t profiles = 0;
	bool list = false;
	int opt, status;

	while ((opt = options_next(argc, argv, ":h", options, usage, &status)) > 0) {
		bool good = true;

		given |= option_bit(&all_options, opt);
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
	argc -= optind;
	argv += optind;
	if (!argc) {
		complain("what? list, branch, cache, io, shared, verify or curve; 'memio cit --help' tells more");
		return STATUS_USAGE;
	}
	what = argv[0];
	argc--;
	argv++;
	if (!is_there(what)) {
		complain("no '%s'; 'memio cit --help' has what there is", what);
		return STATUS_USAGE;
	}
	if (!options_are_its(&all_options, given, what))
		return STATUS_USAGE;
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
	if (list && (argc || given & ~option_bit(&all_options, OPT_LIST))) {
		complain("verify --list: it says what there is, by itself or with --json");
		return STATUS_USAGE;
	}
	if (list)
		return list_all(cit.json);
	if (!argc && !profiles) {
		complain("verify: --profile NAME or EVENT=CATEGORY; --list has them");
		return STATUS_USAGE;
	}
	status = cit_ready(&cit);
	return status == STATUS_OK ? verify(&cit, argc, argv, profile, profiles) : status;
}

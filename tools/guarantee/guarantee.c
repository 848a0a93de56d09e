// SPDX-License-Identifier: GPL-2.0
/*
 * memio guarantee: the command; guarantee.h has the way of the data
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../json/json.h"
#include "command.h"
#include "guarantee.h"
#include "interrupt.h"
#include "number.h"
#include "options.h"

#define GUARANTEED	"/sys/kernel/memio/guaranteed_bps"
#define SPREAD_MOST	0.1	/* of windows; with more, something else goes on */
#define RAN_LEAST	0.95	/* of the time */

enum {
	OPT_SECONDS = 256, OPT_MARGIN, OPT_CORES, OPT_BUFFER, OPT_CACHES, OPT_MARK, OPT_SET,
	OPT_FORCE, OPT_YES, OPT_QUIET, OPT_JSON, OPT_CSV
};

static const struct command_option options[] = {
	{ .id = OPT_SECONDS, .name = "seconds", .value = "N",
	  .help = "Measure each of the 5 patterns for N seconds: 0.1 to 3600 (default 2)." },
	{ .id = OPT_MARGIN, .name = "margin", .value = "PERCENT",
	  .help = "Subtract PERCENT of the result, 0 to 99 (default 10)." },
	{ .id = OPT_CORES, .name = "cores", .value = "N",
	  .help = "Run on N cores of each package (default: all)." },
	{ .id = OPT_BUFFER, .name = "buffer", .value = "SIZE",
	  .help = "Give each thread a buffer of SIZE, a power of two (default: all buffers "
		  "together are 16 times as large as the caches). K, M and G are powers of "
		  "1024." },
	{ .id = OPT_CACHES, .name = "caches", .value = "L1,L2,L3",
	  .help = "The sizes of the caches, if the machine reports wrong ones." },
	{ .id = OPT_MARK, .name = "mark", .value = "COMMAND", .completes = COMPLETES_COMMAND,
	  .help = "Run sh -c COMMAND before and after each pattern." },
	{ .id = OPT_SET, .name = "set",
	  .help = "Write the result to guaranteed_bps. Needs root and a kernel with memio. On a "
		  "terminal memio asks first, as the measurement loads all cores." },
	{ .id = 'y', .name = "yes", .help = "Don't ask." },
	{ .id = OPT_FORCE, .name = "force",
	  .help = "Write the result although there were warnings." },
	{ .id = OPT_QUIET, .name = "quiet", .help = "Print no progress." },
	{ .id = OPT_JSON, .name = "json", .help = "Print JSON instead of a table." },
	{ .id = OPT_CSV, .name = "csv", .help = "Print comma-separated values instead of a "
		  "table: a line for each pattern on each package." },
	{ }
};

static bool buffer_size(const char *text, uint64_t *bytes)
{
	const char *end;

	*bytes = size_of(text, &end);
	if (!*end && *bytes >= BUFFER_MIN && *bytes <= BUFFER_MAX && !(*bytes & (*bytes - 1)))
		return true;
	complain("--buffer '%s': a power of two from %lluM to %lluG", text, BUFFER_MIN >> 20,
		 BUFFER_MAX >> 30);
	return false;
}

static bool duration(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	/* No "infinity", nor what C takes for a number besides */
	if (!text[strspn(text, "0123456789.")] && !*end && *seconds >= 0.1 && *seconds <= 3600)
		return true;
	complain("--seconds '%s': a number from 0.1 to 3600", text);
	return false;
}

static bool option(struct guarantee *g, int opt)
{
	unsigned long n = 0;

	switch (opt) {
	case OPT_SECONDS:
		return duration(optarg, &g->seconds);
	case OPT_MARGIN:
		if (!number("margin", optarg, 0, 99, &n))
			return false;
		g->margin = n;
		return true;
	case OPT_CORES:
		if (!number("cores", optarg, 1, CORES_MAX, &n))
			return false;
		g->cores = n;
		return true;
	case OPT_BUFFER:
		return buffer_size(optarg, &g->buffer);
	case OPT_CACHES:
		return cache_sizes(optarg, g->caches, CACHE_LEVELS);
	case OPT_MARK:
		g->mark = optarg;
		return true;
	case OPT_SET:
		g->set = true;
		return true;
	case OPT_FORCE:
		g->force = true;
		return true;
	case 'y':
		g->yes = true;
		return true;
	case OPT_QUIET:
		g->quiet = true;
		return true;
	case OPT_CSV:
		json_as_csv("patterns");
		g->json = true;
		return true;
	case OPT_JSON:
		g->json = true;
		return true;
	}
	return false;
}

/* ---- before ---- */

/* Nobody is to wait for figures that can't be set then. A STATUS_ */
static int may_set(const struct guarantee *g)
{
	const int fd = open(GUARANTEED, O_WRONLY | O_CLOEXEC);

	if (fd < 0) {
		if (errno == ENOENT)
			complain("--set: this kernel has no memio: " GUARANTEED " is not there. Nothing was measured or set");
		else
			complain_errno("--set: " GUARANTEED " (it takes root). Nothing was measured or set");
		return STATUS_UNABLE;
	}
	close(fd);
	if (!g->at.missed)
		return STATUS_OK;
	complain("--set: it is for each package, and this process may not run on %u of them. Nothing was measured or set",
		 g->at.missed);
	return STATUS_UNABLE;
}

/* All cores are about to have no time for anything else. Nobody can be asked off a terminal. */
static bool agreed(const struct guarantee *g)
{
	char answer[16] = "";

	if (g->yes || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return true;
	fprintf(stderr, "memio guarantee: this loads all cores and the memory for %.0f s; other programs will be slow meanwhile. Go on? [y/N] ",
		PATTERNS * (g->seconds + 1));
	if (fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y'))
		return true;
	complain("--set: nothing was measured or set; --yes does not ask");
	return false;
}

/* Where: hwloc says, within what this process may use. A STATUS_ */
static int find_spots(struct guarantee *g)
{
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	bool good;

	if (!allowed || hwloc_topology_init(&g->topology) ||
	    hwloc_topology_set_flags(g->topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
	    hwloc_topology_set_cache_types_filter(g->topology, HWLOC_TYPE_FILTER_KEEP_ALL) ||
	    hwloc_topology_load(g->topology) ||
	    hwloc_get_cpubind(g->topology, allowed, HWLOC_CPUBIND_THREAD)) {
		complain_errno("looking at the machine");
		return STATUS_FAILED;
	}
	good = spots_find(g->topology, allowed, g->cores, g->caches, &g->at);
	if (!good)
		complain("%s", g->at.error);
	hwloc_bitmap_free(allowed);
	return good ? STATUS_OK : STATUS_UNABLE;
}

static int size_buffers(struct guarantee *g)
{
	uint64_t all = 0;
	unsigned int k, i;

	for (k = 0; k < g->at.packages; k++) {
		const struct package *p = &g->at.package[k];
		uint64_t bytes;

		g->bytes[k] = g->buffer ? g->buffer : buffer_bytes(p->cache_bytes, p->threads);
		bytes = g->bytes[k] * p->threads;
		all += bytes;
		for (i = 0; i < PATTERNS; i++) {
			if (from_memory(&patterns[i], p->cache_bytes, bytes) >= 0.5)
				continue;
			complain("package %u: its caches hold %llu of the %llu KiB of its buffers: too few lines come from memory for sure. See --buffer and --caches",
				 p->number, (unsigned long long)p->cache_bytes >> 10,
				 (unsigned long long)bytes >> 10);
			return g->buffer ? STATUS_USAGE : STATUS_FAILED;
		}
	}
	if (buffer_fits(all))
		return STATUS_OK;
	complain("--buffer has smaller ones, of which less is known to come from memory");
	return STATUS_FAILED;
}

/* ---- after ---- */

static bool read_back(uint64_t *value)
{
	FILE *f = fopen(GUARANTEED, "r");
	bool good = f && fscanf(f, "%" SCNu64, value) == 1;

	if (f)
		fclose(f);
	return good;
}

static bool set(uint64_t value)
{
	const int fd = open(GUARANTEED, O_WRONLY | O_CLOEXEC);
	char text[24];
	uint64_t is;
	int n;

	if (!value) {
		complain("--set: 0 would say that it is not known. Nothing was set");
		if (fd >= 0)
			close(fd);
		return false;
	}
	n = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	if (fd < 0 || write(fd, text, n) != n) {
		complain_errno("--set: %" PRIu64 " to " GUARANTEED " was refused. Nothing was set",
			       value);
		if (fd >= 0)
			close(fd);
		return false;
	}
	close(fd);
	if (read_back(&is) && is == value)
		return true;
	complain("--set: " GUARANTEED " does not have the value that was written to it, %" PRIu64,
		 value);
	return false;
}

/* Told, and kept for the JSON */
static void warn(json_t *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn(json_t *list, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	complain("%s", text);
	json_array_append_new(list, json_string(text));
}

/* What cannot be seen here */
static void warn_of_machine(const struct guarantee *g, json_t *list)
{
	unsigned int k;

	for (k = 0; k < g->at.packages; k++) {
		const struct package *p = &g->at.package[k];

		if (p->threads == 1)
			warn(list, "package %u: one core, which may not ask for all that the memory gives, and what cores do to each other is not seen: it may give more, or to several less",
			     p->number);
		else if (p->threads < p->cores)
			warn(list, "package %u: %u of its %u cores, which may not ask for all that the memory gives, nor as badly as all would",
			     p->number, p->threads, p->cores);
	}
	if (g->at.missed)
		warn(list, "not measured: %u packages, on which this process may not run. The guarantee is for each",
		     g->at.missed);
}

static void warn_of_others(const struct guarantee *g, json_t *list)
{
	unsigned int i, k;

	for (i = 0; i < PATTERNS; i++) {
		for (k = 0; k < g->at.packages; k++) {
			const struct rate *r = &g->rate[i][k];

			if (r->ran < RAN_LEAST)
				warn(list, "%s, package %u: the threads were running for %.0f %% of the time only: other programs, or machines, have these processors, too",
				     patterns[i].name, g->at.package[k].number, r->ran * 100);
			else if (r->spread > SPREAD_MOST)
				warn(list, "%s, package %u: from one window to the other it differs by %.0f %%: does something else use the memory?",
				     patterns[i].name, g->at.package[k].number, r->spread * 100);
		}
	}
}

static void least(const struct guarantee *g, unsigned int *pattern, unsigned int *package)
{
	struct rate all[PATTERNS * PACKAGES_MAX];
	size_t n = 0, at;
	unsigned int i, k;

	for (i = 0; i < PATTERNS; i++)
		for (k = 0; k < g->at.packages; k++)
			all[n++] = g->rate[i][k];
	at = least_of(all, n);
	*pattern = at / g->at.packages;
	*package = at % g->at.packages;
}

static void print(const struct guarantee *g, uint64_t value, bool was_set)
{
	unsigned int i, k, pattern, package;

	least(g, &pattern, &package);
	for (k = 0; k < g->at.packages; k++) {
		const struct package *p = &g->at.package[k];

		printf("Package %u: %u thread%s, each with a buffer of %.0f MiB; caches of %.2f MiB\n",
		       p->number, p->threads, p->threads > 1 ? "s" : "", g->bytes[k] / 1048576.,
		       p->cache_bytes / 1048576.);
	}
	printf("\n%-8s %-32s %8s %10s %8s\n", "pattern", "", "package", "GB/s", "spread");
	for (i = 0; i < PATTERNS; i++)
		for (k = 0; k < g->at.packages; k++)
			printf("%-8s %-32s %8u %10.4f %6.1f %%\n", patterns[i].name,
			       patterns[i].about, g->at.package[k].number,
			       g->rate[i][k].bytes_s / 1e9, g->rate[i][k].spread * 100);
	printf("\nThe least is %s, package %u. Less %u %%:\n\n", patterns[pattern].name,
	       g->at.package[package].number, g->margin);
	printf("    echo %" PRIu64 " >" GUARANTEED "\n", value);
	if (was_set)
		puts("\nThis was set.");
}

static json_t *rate_json(const struct guarantee *g, unsigned int i, unsigned int k)
{
	const struct rate *r = &g->rate[i][k];
	json_t *windows = json_array();
	unsigned int n;

	for (n = 0; n < WINDOWS; n++) {
		const struct window *w = &g->window[i][k][n];

		json_array_append_new(windows, json_pack("{s:f, s:I}", "ns", w->ns, "lines",
							 (json_int_t)w->lines));
	}
	return json_pack("{s:s, s:i, s:I, s:f, s:f, s:o}", "pattern", patterns[i].name,
			 "package", (int)g->at.package[k].number, "bytes_per_s",
			 (json_int_t)r->bytes_s,
			 "spread", r->spread, "ran", r->ran, "windows", windows);
}

static void print_json(const struct guarantee *g, uint64_t value, bool was_set, json_t *warnings)
{
	json_t *packages = json_array(), *rates = json_array(), *j, *head;
	unsigned int i, k, pattern, package;

	least(g, &pattern, &package);
	for (k = 0; k < g->at.packages; k++) {
		const struct package *p = &g->at.package[k];
		json_t *cpus = json_array();

		for (i = 0; i < p->threads; i++)
			json_array_append_new(cpus, json_integer(p->cpu[i]));
		j = json_pack("{s:i, s:i, s:o, s:I, s:I}", "package", (int)p->number,
			      "cores", (int)p->cores, "cpus", cpus,
			      "buffer_bytes", (json_int_t)g->bytes[k],
			      "cache_bytes", (json_int_t)p->cache_bytes);
		json_array_append_new(packages, j);
	}
	for (i = 0; i < PATTERNS; i++)
		for (k = 0; k < g->at.packages; k++)
			json_array_append_new(rates, rate_json(g, i, k));
	j = json_pack("{s:f, s:i, s:i, s:o, s:o, s:{s:s, s:i, s:I}, s:I, s:b, s:O}",
		      "seconds", g->seconds, "margin_percent", (int)g->margin,
		      "line_bytes", (int)LINE_BYTES, "packages", packages, "patterns", rates,
		      "least", "pattern", patterns[pattern].name,
		      "package", (int)g->at.package[package].number,
		      "bytes_per_s", (json_int_t)g->rate[pattern][package].bytes_s,
		      "guaranteed_bps", (json_int_t)value, "set", was_set, "warnings", warnings);
	head = json_begin();
	json_object_update_new(head, j);
	json_end(head, stdout);
}

/*
 * A figure that others have spoilt is not to become what all groups share. Those that the machine
 * is the reason for were there before, and hold each time: they don't keep anybody.
 */
static bool may_be_set(const struct guarantee *g, size_t doubts)
{
	if (!g->set || interrupted)
		return false;
	if (!doubts || g->force)
		return true;
	complain("--set: not set, as the measurement was warned of, see above. Measure on an idle machine, or say --force");
	return false;
}

static int guarantee(struct guarantee *g)
{
	json_t *warnings = json_array();
	unsigned int pattern, package;
	bool was_set;
	uint64_t value;
	size_t before;

	warn_of_machine(g, warnings);
	before = json_array_size(warnings);
	if (!measure_patterns(g)) {
		json_decref(warnings);
		return STATUS_FAILED;
	}
	warn_of_others(g, warnings);
	least(g, &pattern, &package);
	value = guarantee_of(g->rate[pattern][package].bytes_s, g->margin);
	was_set = may_be_set(g, json_array_size(warnings) - before) && set(value);
	if (g->json)
		print_json(g, value, was_set, warnings);
	else
		print(g, value, was_set);
	json_decref(warnings);
	return was_set || !g->set ? STATUS_OK : STATUS_FAILED;
}

static int cmd_guarantee(int argc, char **argv)
{
	static struct guarantee g = { .seconds = 2, .margin = 10 };
	struct options o;
	int opt, status;

	options_begin(&o, argc, argv);
	while ((opt = options_get(&o, &status)) > 0)
		if (!option(&g, opt))
			return STATUS_USAGE;
	if (opt < 0)
		return status;
	if (o.argc) {
		complain("'%s' is too much; 'memio guarantee --help' has what there is",
			 o.argv[0]);
		return STATUS_USAGE;
	}
	if (g.force && !g.set) {
		complain("--force is of --set");
		return STATUS_USAGE;
	}
	interrupts_catch();
	status = find_spots(&g);
	if (status == STATUS_OK && g.set)
		status = may_set(&g);
	if (status != STATUS_OK)
		return status;
	status = size_buffers(&g);
	if (status == STATUS_OK && g.set && !agreed(&g))
		return STATUS_FAILED;
	if (status == STATUS_OK)
		status = guarantee(&g);
	interrupts_end();
	hwloc_topology_destroy(g.topology);
	return status;
}

const struct command command_guarantee = {
	.name = "guarantee",
	.summary = "measure the bandwidth that the memory gives in the worst case",
	.usage = "[OPTION...]",
	.about = "How much bandwidth does the memory of each package give in the worst case? "
		  "Runs patterns of accesses on all cores at once, some of which are slow for "
		  "DRAM. The result is the lowest bandwidth of all patterns, less a margin, a "
		  "value for " GUARANTEED ".",
	.notes = "Printed GB/s are powers of 1000. After signal N, the status is 128 + N.",
	.option = options,
	.main = cmd_guarantee,
};

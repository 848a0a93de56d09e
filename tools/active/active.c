// SPDX-License-Identifier: GPL-2.0
/*
 * memio active: the command; active.h has the way of the data
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../json/json.h"
#include "active.h"
#include "command.h"
#include "number.h"
#include "options.h"

/* Where: hwloc says, within what this process may use. A STATUS_ */
static int find_place(struct active *a, bool io)
{
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	hwloc_topology_t topology;
	unsigned int i;
	bool good;

	if (!allowed || hwloc_topology_init(&topology) ||
	    hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) ||
	    hwloc_topology_load(topology) ||
	    hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD)) {
		complain_errno("looking at the machine");
		return STATUS_FAILED;
	}
	good = place(topology, allowed, a->cores, a->cpu, io, &a->at);
	if (!good)
		complain("%s. What it may use is said by taskset, and by cpuset.cpus.effective of its cgroup",
			 a->at.error);
	for (i = 0; i < PLACE_LEVELS; i++)
		if (a->caches[i])
			a->at.bytes[i] = a->caches[i];
	if (good && !a->at.bytes[LLC]) {
		complain("the sizes of the caches are not known here; say --caches L1,L2,L3, for example 32K,256K,20M");
		good = false;
	}
	if (good && a->at.bytes[LLC] < PATTERN_MIN) {
		complain("a last cache of %lu bytes: less than %u is not looked at",
			 (unsigned long)a->at.bytes[LLC], PATTERN_MIN);
		good = false;
	}
	/* read_times() has the largest buffer: eight times that. */
	if (good && a->at.bytes[LLC] > PATTERN_MAX / 8) {
		complain("a last cache of %llu MiB: more than %llu is not looked at",
			 (unsigned long long)a->at.bytes[LLC] >> 20, PATTERN_MAX >> 23);
		good = false;
	}
	/* Its core's own L2 is as large as the command's. */
	if (good && a->storage && interference_bytes(a, STORAGE) <= a->at.bytes[L2])
		complain("a CSThr has %llu KiB, and its core's own L2 %llu: it may leave the last cache alone. Are the sizes of the caches right? See --caches",
			 (unsigned long long)interference_bytes(a, STORAGE) >> 10,
			 (unsigned long long)a->at.bytes[L2] >> 10);
	hwloc_topology_destroy(topology);
	hwloc_bitmap_free(allowed);
	return good ? STATUS_OK : a->caches[LLC] && !*a->at.error ? STATUS_USAGE : STATUS_UNABLE;
}

static bool rates(const char *text, struct active *a)
{
	a->bubble.rates = 0;
	while (a->bubble.rates < BUBBLE_MAX) {
		const uint64_t rate = size_of(text, &text);

		if (rate < 1000)
			break;
		a->bubble.rate[a->bubble.rates++] = rate;
		if (!*text)
			return true;
		if (*text++ != ',')
			break;
	}
	complain("--dma: up to %d rates in bytes a second, as 100M,400M", BUBBLE_MAX);
	return false;
}

static bool bubble_makes_sense(const struct active *a)
{
	const int with = !!a->bubble.disk + !!a->bubble.file + !!a->bubble.host;
	struct in_addr host = { 0 };

	if (!a->bubble.rates && !with)
		return true;
	if (!a->bubble.rates || with != 1) {
		complain("DMA takes --dma RATE and one of --disk DEVICE, --file FILE, --host ADDRESS");
		return false;
	}
	if (a->bubble.host && !a->bubble.to) {
		complain("--host: what is sent is read by the device: --direction to");
		return false;
	}
	if (a->bubble.host && inet_pton(AF_INET, a->bubble.host, &host) != 1) {
		complain("--host '%s' is no IPv4 address", a->bubble.host);
		return false;
	}
	if (a->bubble.host && ntohl(host.s_addr) >> 24 == IN_LOOPBACKNET)
		complain("--host %s is this machine: nothing is moved by a device", a->bubble.host);
	if (a->bubble.disk && a->bubble.to && !a->bubble.overwrite) {
		complain("--direction to writes to %s, and what is on it is lost; --overwrite says that it may be",
			 a->bubble.disk);
		return false;
	}
	return true;
}

/* A calibration takes a file for itself: hours of runs are not to be lost to it. */
static bool may_replace(const struct active *a)
{
	struct run r;
	bool there, good;

	if (!a->file || a->fresh || !run_is_kept(a->file))
		return true;
	if (!run_load(a->file, &r, &there))
		return false;
	good = !r.samples;
	if (!good)
		complain("%s has %zu runs in it; -o FILE names another file, --fresh says that they may be lost",
			 a->file, r.samples);
	run_free(&r);
	return good;
}

static int calibrate_it(const struct active *a)
{
	struct run r = { .calibrated = true };

	if (!may_replace(a))
		return STATUS_FAILED;
	if (!calibrate(a, &r.calibration))
		return STATUS_FAILED;
	if (a->file && !run_save(a, &r))
		return STATUS_FAILED;
	if (a->json) {
		json_t *j = json_begin(), *calibration = calibration_json(&r.calibration);

		json_object_update(j, calibration);
		json_decref(calibration);
		json_end(j, stdout);
	} else {
		calibration_print(a, &r.calibration);
	}
	return !a->strict || kinds_are_apart(a, &r.calibration) ? STATUS_OK : STATUS_FAILED;
}

static int just_calibrate(const struct active *a)
{
	struct lock lock = { .fd = -1 };
	int status;

	if (a->metric && !strcmp(a->metric, "misses") && !counters_here(a)) {
		complain("--metric misses: there are no counters of them here; time or cpu");
		return STATUS_UNABLE;
	}
	if (a->file && !run_lock(a->file, &lock))
		return STATUS_FAILED;
	status = calibrate_it(a);
	run_unlock(&lock);
	return status;
}

enum {
	OPT_STORAGE = 256, OPT_BANDWIDTH, OPT_REPS, OPT_AXES, OPT_FRESH, OPT_CALIBRATION,
	OPT_QUICK, OPT_METRIC, OPT_PACE, OPT_THRESHOLD, OPT_PROCESSES, OPT_CORES, OPT_CPU,
	OPT_CACHES, OPT_MISSES, OPT_STRICT, OPT_ANY, OPT_SHOW, OPT_DMA, OPT_DISK, OPT_FILE,
	OPT_HOST, OPT_DIRECTION, OPT_OVERWRITE, OPT_BUFFER, OPT_ADDITIONS, OPT_MARK, OPT_LLC,
	OPT_JSON, OPT_CSV, OPT_QUIET, OPT_VERBOSE
};

/* What the subcommands' defaults and their limits depend on */
struct asked {
	int storage;
	const char *bandwidth_text, *llc;
};

enum { RUN = 1, CALIBRATE = 2, PROBE = 4, PREDICT = 8, PLOT = 16 };

#define MEASURES (RUN | CALIBRATE | PROBE)

static const struct subcommand subcommands[] = {
	{ "run", RUN, "run COMMAND beside all combinations of interferers; after an interruption, "
		  "the same command line goes on", true },
	{ "calibrate", CALIBRATE, "measure how much the interferers leave; 'run' does this first",
	  false },
	{ "probe", PROBE, "compare the cache hits of a benchmark with the expected hits", false },
	{ "predict", PREDICT, "predict the speed of COMMAND with less cache and bandwidth", false },
	{ "plot", PLOT, "draw what 'run' has measured", false },
	{ }
};

/* --quiet and --verbose mean no harm to any. */
static const struct command_option options[] = {
	{ .id = OPT_STORAGE, .name = "storage", .value = "N", .of = MEASURES,
	  .help = "Run up to N CSThr, 0 to 5 (default 5; probe: 0)." },
	{ .id = OPT_BANDWIDTH, .name = "bandwidth", .value = "N", .of = MEASURES | PREDICT,
	  .help = "Run up to N BWThr, 0 to 3 (default 3; probe: 0). predict: with N bytes a "
		  "second." },
	{ .id = OPT_REPS, .name = "reps", .value = "N", .of = RUN,
	  .help = "Run each combination N times (default 3)." },
	{ .id = OPT_PACE, .name = "pace", .value = "RATE", .of = RUN | CALIBRATE,
	  .help = "Each BWThr takes at most RATE bytes a second." },
	{ .id = OPT_AXES, .name = "axes", .of = RUN,
	  .help = "Run one kind of interferer at a time, no combinations." },
	{ .id = 'o', .name = "output", .value = "FILE", .of = RUN | CALIBRATE | PLOT,
	  .hint = "; the others have --json", .completes = COMPLETES_FILE,
	  .help = "Write the results to this file, as JSON (default " ACTIVE_FILE "; calibrate: "
		  "none). plot: write the picture to it." },
	{ .id = OPT_FRESH, .name = "fresh", .of = RUN | CALIBRATE,
	  .help = "Begin anew, and overwrite the file of results." },
	{ .id = OPT_CALIBRATION, .name = "calibration", .value = "FILE", .of = RUN,
	  .completes = COMPLETES_FILE, .help = "Use the calibration of an earlier run." },
	{ .id = OPT_QUICK, .name = "quick", .of = MEASURES,
	  .help = "Calibrate in a tenth of the time; probe in a third." },
	{ .id = OPT_METRIC, .name = "metric", .value = "M", .of = RUN | CALIBRATE | PREDICT | PLOT,
	  .completes = COMPLETES_WORDS, .words = "time cpu misses",
	  .help = "Compare runs by time, cpu or misses (default: as in the file, else time)." },
	{ .id = OPT_THRESHOLD, .name = "threshold", .value = "P", .of = RUN,
	  .help = "Call a run slower if it takes P % longer (default 5)." },
	{ .id = OPT_PROCESSES, .name = "processes", .value = "N", .of = RUN,
	  .help = "Divide cache and bandwidth by N processes (default: as many as COMMAND has)." },
	{ .id = OPT_CORES, .name = "cores", .value = "N", .of = MEASURES,
	  .help = "Give N cores to COMMAND (default 1)." },
	{ .id = OPT_CPU, .name = "cpu", .value = "N", .of = MEASURES,
	  .help = "Run COMMAND on this CPU (default: the last)." },
	{ .id = OPT_CACHES, .name = "caches", .value = "L1,L2,L3", .of = MEASURES,
	  .help = "The sizes of the caches, if the machine reports wrong ones." },
	{ .id = OPT_MISSES, .name = "misses", .value = "rCODE", .of = MEASURES,
	  .help = "Count misses of the last cache by this event." },
	{ .id = OPT_STRICT, .name = "strict", .of = RUN | CALIBRATE,
	  .help = "Refuse interferers that take from both resources at once. calibrate: fail "
		  "if one does." },
	{ .id = OPT_ANY, .name = "any-status", .of = RUN, .help = "Go on if COMMAND fails." },
	{ .id = OPT_SHOW, .name = "show", .of = RUN,
	  .help = "Show COMMAND's output; on standard error with --json." },
	{ .id = OPT_DMA, .name = "dma", .value = "RATE[,RATE]", .of = RUN | PREDICT,
	  .help = "Run beside devices, too, that move RATE bytes a second. predict: with such "
		  "devices, at a rate within those that were run." },
	{ .id = OPT_DISK, .name = "disk", .value = "DEVICE", .of = RUN, .completes = COMPLETES_FILE,
	  .help = "Read and write this disk for --dma, with O_DIRECT." },
	{ .id = OPT_FILE, .name = "file", .value = "FILE", .of = RUN, .completes = COMPLETES_FILE,
	  .help = "Read and write this file for --dma, with O_DIRECT." },
	{ .id = OPT_HOST, .name = "host", .value = "ADDRESS", .of = RUN,
	  .completes = COMPLETES_HOST, .help = "Send UDP to this host for --dma." },
	{ .id = OPT_DIRECTION, .name = "direction", .value = "D", .of = RUN,
	  .completes = COMPLETES_WORDS, .words = "from to",
	  .help = "Move data from the device (the default) or to it." },
	{ .id = OPT_OVERWRITE, .name = "overwrite", .of = RUN,
	  .help = "Allow the loss of the data on the disk or in the file." },
	{ .id = OPT_BUFFER, .name = "buffer", .value = "SIZE", .of = PROBE,
	  .help = "Probe this size only; it must exceed the last cache." },
	{ .id = OPT_ADDITIONS, .name = "additions", .value = "N", .of = PROBE,
	  .help = "Do 1, 10 or 100 additions after each read (default 1)." },
	{ .id = OPT_MARK, .name = "mark", .value = "COMMAND", .of = PROBE,
	  .completes = COMPLETES_COMMAND,
	  .help = "Run sh -c COMMAND before and after each measurement." },
	{ .id = OPT_LLC, .name = "llc", .value = "SIZE", .of = PREDICT,
	  .hint = "; the caches' sizes are --caches L1,L2,L3",
	  .help = "Predict with this much of the last cache." },
	{ .id = OPT_JSON, .name = "json", .of = MEASURES | PREDICT, .help = "Print JSON." },
	{ .id = OPT_CSV, .name = "csv", .of = MEASURES | PREDICT,
	  .help = "Print comma-separated values. run: a line for each combination of "
		  "interferers." },
	{ .id = OPT_QUIET, .name = "quiet", .help = "Print no progress." },
	{ .id = OPT_VERBOSE, .name = "verbose", .help = "Print each step." },
	{ }
};

static bool buffer_size(const char *text, uint64_t *bytes)
{
	const char *end;

	*bytes = size_of(text, &end);
	if (!*end && *bytes >= PATTERN_MIN && *bytes <= PATTERN_MAX)
		return true;
	complain("--buffer '%s': from %uM to %lluG", text, PATTERN_MIN >> 20, PATTERN_MAX >> 30);
	return false;
}

static bool pace_of(const char *text, double *pace)
{
	const char *end;

	*pace = size_of(text, &end);
	if (!*end && *pace >= PACE_MIN)
		return true;
	complain("--pace '%s': bytes a second, %uM or more", text, PACE_MIN >> 20);
	return false;
}

static bool raw_event(const char *text, uint64_t *event)
{
	char *end = NULL;

	errno = 0;
	*event = *text == 'r' ? strtoull(text + 1, &end, 16) : 0;
	if (*event && !errno && !*end)
		return true;
	complain("--misses '%s': a raw event of the core, as r412e", text);
	return false;
}

static bool one_of(const char *option, const char *text, const char *const *words, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(text, words[i]))
			return true;
	complain("--%s '%s': there is %s, %s%s%s", option, text, words[0], words[1],
		 n > 2 ? ", " : "", n > 2 ? words[2] : "");
	return false;
}

static bool option(struct active *a, struct asked *asked, int opt)
{
	static const char *const metrics[] = { "time", "cpu", "misses" };
	static const char *const directions[] = { "from", "to" };
	unsigned long n = 0;

	switch (opt) {
	case OPT_STORAGE:
		if (!number("storage", optarg, 0, STORAGE_MAX, &n))
			return false;
		asked->storage = n;
		return true;
	case OPT_BANDWIDTH:
		/* Of predict, bytes a second */
		asked->bandwidth_text = optarg;
		return true;
	case OPT_REPS:
		if (!number("reps", optarg, 1, STATISTICS_MAX, &n))
			return false;
		a->repetitions = n;
		return true;
	case OPT_THRESHOLD:
		if (!number("threshold", optarg, 1, 1000, &n))
			return false;
		a->threshold = n / 100.;
		return true;
	case OPT_PROCESSES:
		if (!number("processes", optarg, 1, PROCESSES_MAX, &n))
			return false;
		a->processes = n;
		return true;
	case OPT_CORES:
		if (!number("cores", optarg, 1, PLACE_MAX, &n))
			return false;
		a->cores = n;
		return true;
	case OPT_CPU:
		if (!number("cpu", optarg, 0, 4095, &n))
			return false;
		a->cpu = n;
		return true;
	case OPT_ADDITIONS:
		if (!number("additions", optarg, 0, 10000, &n))
			return false;
		a->additions = n;
		return true;
	case OPT_BUFFER:
		return buffer_size(optarg, &a->buffer);
	case OPT_CACHES:
		return cache_sizes(optarg, a->caches, PLACE_LEVELS);
	case OPT_MISSES:
		return raw_event(optarg, &a->miss_event);
	case OPT_METRIC:
		a->metric = optarg;
		return one_of("metric", optarg, metrics, 3);
	case OPT_DIRECTION:
		a->bubble.to = !strcmp(optarg, "to");
		return one_of("direction", optarg, directions, 2);
	case OPT_DMA:
		return rates(optarg, a);
	case OPT_DISK:
		a->bubble.disk = optarg;
		return true;
	case OPT_FILE:
		a->bubble.file = optarg;
		return true;
	case OPT_HOST:
		a->bubble.host = optarg;
		return true;
	case OPT_OVERWRITE:
		a->bubble.overwrite = true;
		return true;
	case 'o':
		a->file = optarg;
		return true;
	case OPT_CALIBRATION:
		a->calibration = optarg;
		return true;
	case OPT_MARK:
		a->mark = optarg;
		return true;
	case OPT_LLC:
		asked->llc = optarg;
		return true;
	case OPT_PACE:
		return pace_of(optarg, &a->pace);
	case OPT_AXES:
		a->axes = true;
		return true;
	case OPT_FRESH:
		a->fresh = true;
		return true;
	case OPT_QUICK:
		a->quick = true;
		return true;
	case OPT_STRICT:
		a->strict = true;
		return true;
	case OPT_ANY:
		a->any_status = true;
		return true;
	case OPT_SHOW:
		a->show = true;
		return true;
	case OPT_CSV:
		json_as_csv("points probes");
		a->json = true;
		return true;
	case OPT_JSON:
		a->json = true;
		return true;
	case OPT_QUIET:
		a->quiet = true;
		return true;
	case OPT_VERBOSE:
		a->verbose = true;
		return true;
	}
	return false;
}

/* On the machine: calibrate, probe, run */
static int measure_it(struct active *a, const struct asked *asked, const struct options *o,
		      int argc, char **argv)
{
	const char *what = o->sub->name;
	const bool probing = !strcmp(what, "probe"), running = !strcmp(what, "run");
	unsigned long n;
	int status;

	if (!options_suit(o, what))
		return STATUS_USAGE;
	a->storage = asked->storage >= 0 ? asked->storage : probing ? 0 : STORAGE_MAX;
	a->bandwidth = probing ? 0 : BANDWIDTH_MAX;
	if (asked->bandwidth_text) {
		if (!number("bandwidth", asked->bandwidth_text, 0, BANDWIDTH_MAX, &n))
			return STATUS_USAGE;
		a->bandwidth = n;
	}
	if (running && !argc) {
		complain("run: of which command? 'memio active run -- COMMAND'");
		return STATUS_USAGE;
	}
	if (!running && argc) {
		complain("%s: '%s' is too much", what, argv[0]);
		return STATUS_USAGE;
	}
	if (!bubble_makes_sense(a))
		return STATUS_USAGE;
	status = find_place(a, running && a->bubble.rates);
	if (status != STATUS_OK)
		return status;
	if (a->buffer && a->buffer <= a->at.bytes[LLC]) {
		complain("--buffer: more than the last cache, which has %llu KiB",
			 (unsigned long long)a->at.bytes[LLC] >> 10);
		return STATUS_USAGE;
	}
	if (running && !a->file)
		a->file = ACTIVE_FILE;
	return running ? run(a, argv) : probing ? probe_all(a) : just_calibrate(a);
}

static int cmd_active(int argc, char **argv)
{
	struct active a = {
		.cores = 1, .cpu = -1, .repetitions = 3, .additions = 1, .threshold = 0.05,
	};
	struct asked asked = { .storage = -1 };
	int opt, status = STATUS_USAGE;
	struct options o;

	options_begin(&o, argc, argv);
	while ((opt = options_get(&o, &status)) > 0)
		if (!option(&a, &asked, opt))
			return STATUS_USAGE;
	if (opt < 0)
		return status;
	status = STATUS_USAGE;
	if (!o.sub) {
		if (o.argc)
			complain("no '%s'; 'memio active --help' has what there is", o.argv[0]);
		else
			complain("what? run, calibrate, probe, predict or plot; 'memio active --help' tells more");
		return STATUS_USAGE;
	}
	catch_interrupts();
	if (o.sub->bit & MEASURES) {
		status = measure_it(&a, &asked, &o, o.argc, o.argv);
	} else {
		const char *file = o.argc ? o.argv[0] : ACTIVE_FILE;

		if (o.argc > 1)
			complain("%s: one file", o.sub->name);
		else if (options_suit(&o, o.sub->name))
			status = o.sub->bit == PLOT ? plot(&a, file, a.file) :
				 predict(&a, asked.llc, asked.bandwidth_text, file);
	}
	interrupts_end();
	return status;
}

const struct command command_active = {
	.name = "active",
	.summary = "measure how much cache and bandwidth an application needs",
	.usage = "run [OPTION...] -- COMMAND [ARG...]\n"
		 "calibrate|probe [OPTION...]\n"
		 "predict [--llc SIZE] [--bandwidth SIZE] [--dma RATE] [FILE]\n"
		 "plot -o PICTURE [FILE]",
	.about = "How much cache and bandwidth does COMMAND need? Runs interferers on other "
		  "cores, which take cache (CSThr) or bandwidth (BWThr) away, and measures how "
		  "much slower COMMAND gets.",
	.notes = "SIZE and RATE: bytes; K, M and G are powers of 1024. Printed MB/s and GB/s are "
		  "powers of 1000. predict: the status is 1 if a prediction goes beyond what "
		  "was measured. run: if COMMAND fails and nothing says that it may, the "
		  "status is COMMAND's. After signal N, the status is 128 + N.",
	.option = options,
	.sub = subcommands,
	.main = cmd_active,
};

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio active: what memory resources does an application need?
 *
 * After Casas and Bronevetsky, "Active Measurement of Memory Resource Consumption": take
 * some of a resource away, and see whether it hurts. Data go this way:
 *
 *	place.c		the machine -> who runs where
 *	kernels.c	loops: interference, and the probabilistic benchmark
 *	threads.c	interferers: started, watched, stopped;	effect.c	each on the other
 *	bubble.c	the same for DMA
 *	model.c		hits <-> cache
 *	calibrate.c	interferers -> how much they leave
 *	run.c		a command among interferers -> samples
 *	family.c	the command's processes
 *	result.c	samples <-> a file;	surface.c	samples -> bounds, predictions
 *	plot.c		-> figures
 *	active.c	the command
 */
#ifndef MEMIO_ACTIVE_H
#define MEMIO_ACTIVE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "cpu.h"
#include "effect.h"
#include "interrupt.h"
#include "model.h"
#include "place.h"
#include "progress.h"
#include "statistics.h"
#include "surface.h"

#define ACTIVE_FILE	"memio-active.json"
#define PROCESSES_MAX	4096
#define BUBBLE_MAX	4		/* rates of DMA, none included */
#define ENOUGH		0.9		/* of what was to be; with less of it, that is said */
#define PACE_MIN	(1u << 20)	/* with less, a round takes longer than looks */
/* What files are written with: what is read back is what was written, to the last bit */
#define JSON_FORMAT	(JSON_INDENT(1) | JSON_REAL_PRECISION(17))
#define L2		(PLACE_LEVELS - 2)
#define LLC		(PLACE_LEVELS - 1)

/* ---- the loops (kernels.c, identity.c) ---- */

#define BW_BUFFERS	44

/* What a thread and who watches it share; each on lines of its own */
struct loop {
	char *buffer;
	uint64_t bytes;
	uint64_t end;			/* BWThr: ends after so many lines of each buffer */
	volatile bool stop;
	char apart[64];
	volatile uint64_t done;		/* lines, or accesses */
	char further[64];
};

uint64_t active_identity(uint64_t n);
void active_bandwidth(struct loop *l);
void active_storage(struct loop *l);
void active_stream(struct loop *l);
/* active_probe: reads so often, with so many additions after each; returns their sum */
uint64_t active_probe(const struct pattern *p, const char *buffer, uint64_t *random,
		      uint64_t reads, unsigned int additions);

/* ---- interferers ---- */

enum kind { STORAGE, BANDWIDTH, STREAM, KINDS };

/*
 * Bandwidth is bytes that the memory moves, to it and from it. A BWThr makes each line dirty
 * that it misses, so it is read, and another one written back. STREAM's triad reads three lines,
 * one of them as it is stored to, and writes one back, for each three that it counts.
 */
#define MOVED_BANDWIDTH	(2 * LINE_BYTES)
#define MOVED_STREAM	(LINE_BYTES * 4 / 3.)

/**
 * struct usage - what interferers of a kind did in a time
 * @ns:		how long they were running, on the average
 * @least_ns:	the one that was running least; negative: there is none, or they rest (--pace)
 * @done:	lines or accesses
 * @least_done:	of the one that did least; negative: there is none
 * @misses:	of the last cache; negative: not counted
 */
struct usage {
	double ns, least_ns, done, least_done, misses;
};

/* What the options say, and what was found of the machine */
struct active {
	struct placement at;
	unsigned int cores, storage, bandwidth, repetitions, processes, additions;
	int cpu;
	bool quick, quiet, verbose, json, strict, fresh, show, any_status, axes;
	uint64_t caches[PLACE_LEVELS];	/* as --caches says */
	uint64_t buffer;		/* the only one to probe with; 0: several */
	uint64_t miss_event;		/* raw; 0: the processor's own */
	double threshold;
	double pace;			/* bytes a second that a BWThr moves; 0: all it can */
	const char *file, *calibration, *mark;
	const char *metric;			/* NULL: that of the file, or time */
	struct {
		const char *disk, *file, *host;
		bool overwrite, to;
		double rate[BUBBLE_MAX];
		unsigned int rates;
	} bubble;
};

static inline unsigned int least(unsigned int x, unsigned int y)
{
	return x < y ? x : y;
}

static inline unsigned int greatest(unsigned int x, unsigned int y)
{
	return x > y ? x : y;
}

struct interference;
/*
 * interference_start: on the placement's interferers in turn, storage first. They are at
 * work, and have been through their buffers, when it returns. NULL after a complaint.
 * @stream: on all cores, the command's, too: for when it does not run, and nobody else does
 */
struct interference *interference_start(const struct active *a, unsigned int storage,
					unsigned int bandwidth, bool stream);
void interference_stop(struct interference *i);
/* interference_usage: of a kind since the last call, or the start */
struct usage interference_usage(struct interference *i, enum kind kind);
/* interference_has: are there any of this kind? */
bool interference_has(const struct interference *i, enum kind kind);
/* interference_bytes: of a buffer of this kind */
uint64_t interference_bytes(const struct active *a, enum kind kind);
/*
 * wait_until: what is due at a time of now_ns(); sooner if it is to stop. Returns that time, or
 * a tenth of a second ago: what is later than that is not made up for.
 */
double wait_until(double due, const volatile bool *stop);
/* misses_open: of the calling thread, in user mode; -1 without counters */
int misses_open(const struct active *a);
#define MISSES_FORMAT	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
/* counters_here: misses_open() has one, now */
bool counters_here(const struct active *a);
/*
 * misses_read: of a counter that was opened with MISSES_FORMAT; -1 without, or if it was not
 * counting all the time, as others wanted the processor's counters, too
 */
double misses_read(int fd);

/* ---- calibration ---- */

struct calibration {
	bool counters;
	uint64_t bytes[PLACE_LEVELS];
	unsigned int storage, bandwidth;	/* the most of each that were looked at */
	/* Bytes of cache, by the probabilistic benchmark, beside so many CSThr; n = 0: unknown */
	struct interval capacity[STORAGE_MAX + 1];
	/*
	 * Bytes a second that are moved: what all cores get by STREAM, what so many BWThr take,
	 * what is left; 0: not known
	 */
	double total, taken[BANDWIDTH_MAX + 1], left[BANDWIDTH_MAX + 1];
	double pace;				/* as in struct active */
	bool by_rate;				/* times meant something */
	/* One BWThr beside so many CSThr, one CSThr beside so many BWThr */
	struct effect bandwidth_beside[STORAGE_MAX + 1], storage_beside[BANDWIDTH_MAX + 1];
	/* So many of them leave the other kind alone, as far as it was looked at */
	unsigned int clean_storage, clean_bandwidth;
};

/* What rates are printed in, where there is so much in all */
struct unit {
	double bytes;
	const char *name;
};

static inline struct unit rate_unit(double total)
{
	return total < 1e9 ? (struct unit) { 1e6, "MB/s" } : (struct unit) { 1e9, "GB/s" };
}

/* capacities_known: how much is left of the cache beside 0 to @storage CSThr */
static inline bool capacities_known(const struct calibration *c, unsigned int storage)
{
	unsigned int i;

	for (i = 0; i <= storage; i++)
		if (!c->capacity[i].n)
			return false;
	return true;
}

/* calibrate: false after a complaint, or when interrupted */
bool calibrate(const struct active *a, struct calibration *c);
void calibration_print(const struct active *a, const struct calibration *c);
/*
 * kinds_are_apart: each leaves the other's resource alone, as many as are asked for; says of
 * which that is not so, or was not looked at
 */
bool kinds_are_apart(const struct active *a, const struct calibration *c);

/**
 * struct probed - the probabilistic benchmark, run once
 * @hits:	of each read that was measured
 * @ns:		how long one took
 * @reads:	that were measured
 * @all_reads:	warming up included
 * @all_misses:	of those; negative: not counted
 * @all_held:	as @held, and while warming up
 * @held:	part of their buffers that CSThr found in the cache meanwhile, as they read
 *		at random; negative: not counted
 */
struct probed {
	double hits, ns, all_misses, held, all_held;
	uint64_t reads, all_reads;
};

/* What a read takes from the cache and from memory, for machines without counters */
struct read_times {
	double hit_ns, miss_ns;
	bool known;		/* they are far enough apart */
};

bool probe(const struct active *a, const struct pattern *p, unsigned int additions,
	   const struct read_times *t, struct interference *in, struct progress *said,
	   struct probed *r);
/* probe_all: figures 5 and 6 as a table */
int probe_all(const struct active *a);

/* ---- a command ---- */

struct sample {
	unsigned int storage, bandwidth, bubble, repetition;
	double time_ns, cpu_ns, misses, instructions;	/* the last two < 0: not counted */
	double interference_misses, bubble_bytes_s, bubble_bytes;
	double ran;		/* of the time, the interferer that did least; < 0: not known */
	double kept;		/* of its pace, the BWThr that did least; < 0: they have none */
};

/* Samples are of one command in one place: what says so is compared before others are added */
struct run {
	struct calibration calibration;
	bool calibrated;
	struct sample *sample;
	size_t samples;
	unsigned int processes;
	json_t *command;
	json_t *place;			/* --cores, --cpu and --misses; and CPUs */
	json_t *bubble;			/* a text: what with, and which way; empty: without */
	double rate[BUBBLE_MAX];
	unsigned int rates;
	const char *metric;		/* that it was run with; NULL: none yet */
	int failed;			/* the command's STATUS_, if it ended what was run; or 0 */
};

int run(const struct active *a, char **command);
int predict(const struct active *a, const char *llc, const char *bandwidth, const char *file);
int plot(const struct active *a, const char *file, const char *output);

/* run_metric_name: what counts: as --metric says, or the file; or time */
const char *run_metric_name(const struct active *a, const struct run *r);
/* run_metric_unit: for "so many times as ... as alone" */
const char *run_metric_unit(const struct active *a, const struct run *r);
/* run_counts: false after a complaint: what counts was not counted of any run alone */
bool run_counts(const struct active *a, const struct run *r, const char *file);
/* metric_named: one of --metric's, or NULL */
const char *metric_named(const char *name);
/* The value that counts of all samples of a point; n = 0: none */
struct interval run_metric(const struct active *a, const struct run *r, unsigned int storage,
			   unsigned int bandwidth, unsigned int bubble);
/* run_reached: bytes a second that DMA came to, of those asked for; 0: not known */
double run_reached(const struct run *r, unsigned int bubble);
/* run_slow: that, as so many times as alone; which alone is 1, and nothing else */
struct interval run_slow(const struct active *a, const struct run *r, unsigned int storage,
			 unsigned int bandwidth, unsigned int bubble);
/* run_surface: beside DMA of that rate, or without (0) */
void run_surface(const struct active *a, const struct run *r, unsigned int bubble,
		 struct surface *s);
/*
 * run_surfaces: without DMA, and beside each rate that it was measured with; returns how many
 * there are, and their rates: what was reached, if it was less than what was to be
 */
size_t run_surfaces(const struct active *a, const struct run *r, struct surface *s,
		    double *rate);
/* run_bounds: @missed is what bound_missed() has of it; n is 0: not known, or never slower */
void run_bounds(const struct active *a, const struct run *r, struct bound *storage,
		struct bound *bandwidth, struct interval *missed);
void run_free(struct run *r);

/* ---- files (result.c) ---- */

json_t *calibration_json(const struct calibration *c);
bool calibration_load(const char *file, struct calibration *c);
json_t *run_json(const struct active *a, const struct run *r);
bool run_save(const struct active *a, const struct run *r);

struct lock {
	int fd;
	char name[PATH_MAX + 8];
};

/* run_lock: nobody else writes to the file until run_unlock(); false after a complaint */
bool run_lock(const char *file, struct lock *l);
void run_unlock(struct lock *l);
/*
 * text_json: a string, no two the same: bytes of what is not UTF-8 are \xNN from 80 on, and
 * a backslash is two
 */
json_t *text_json(const char *text);
/* run_is_kept: what is there, or will be, is a file; a device or pipe is written to only */
bool run_is_kept(const char *file);
/* run_load: false after a complaint; *there says whether there is such a file */
bool run_load(const char *file, struct run *r, bool *there);
/* run_load_whole: with a calibration and samples */
bool run_load_whole(const char *file, struct run *r);

/* catch_interrupts: what runs ends soon, and the command with it */
void catch_interrupts(void);

#endif /* MEMIO_ACTIVE_H */

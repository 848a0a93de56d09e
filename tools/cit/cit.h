/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio cit: what does a hardware event really count?
 *
 * After Danalis et al., "Counter Inspection Toolkit". Data go this way:
 *
 *	event.c		names -> what perf_event_open() wants
 *	branch.c, cache.c, io.c, shared.c: four families of probes and categories
 *	measure.c	events x probes -> counts -> slopes
 *	fit.c		slopes -> category, goodness, runner-up
 *	output.c	-> table or JSON;	curve.c	-> figures
 *	verify.c	an event and what it is claimed to count -> pass or fail
 *	cit.c		the command
 */
#ifndef MEMIO_CIT_H
#define MEMIO_CIT_H

#include <jansson.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "buffer.h"
#include "cpu.h"
#include "fit.h"
#include "statistics.h"

#define CIT_POINTS	8	/* amounts of work of a probe */
#define CIT_REPETITIONS	64
#define CIT_UNITS	256	/* of an uncore PMU that comes many times */
#define CIT_LEVELS	3

/* ---- events ---- */

/* An event of a core, or of every unit of an uncore PMU (their counts are summed up) */
struct event {
	char *name;
	struct perf_event_attr attr;
	bool uncore;
	unsigned int per;		/* so many of its counts are one */
	unsigned int units;
	struct {
		uint32_t type;
		int cpu;
	} unit[CIT_UNITS];
};

struct events {
	struct event *e;
	size_t n;
};

/*
 * events_add: by name, by pattern (the cores' that match, of the processor; if there are none,
 * those of its other PMUs, or those that sysfs names), raw (rXXXX) or pmu/term=value,.../.
 * A STATUS_, after a complaint: USAGE if there is none of that name here, FAILED if nobody
 * can tell, or it can't be counted.
 */
int events_add(struct events *events, const char *name);
void events_free(struct events *events);
/* read_pmu: the first line of a file of a PMU in sysfs, for free(), or NULL */
char *read_pmu(const char *pmu, const char *file);
/* events_list: print those that match, or all; a STATUS_: NEGATIVE if there are none */
int events_list(FILE *to, const char *pattern, bool json);

/* ---- the machine ---- */

struct cit {
	int cpu;			/* to measure on; -1: the last one allowed */
	int other;			/* its neighbour, to disturb it; -1: none */
	struct cpus allowed;		/* that this process may run on, before it was pinned */
	int at;				/* where the events are counted: measure() says it */
	int on;				/* where this thread is while it measures, as well */
	unsigned int repetitions;
	unsigned int group;		/* events that are counted at once, at the most */
	uint64_t cache_bytes[CIT_LEVELS];	/* 0: there is no such level, or nobody knows */
	unsigned int unit_bytes;	/* distance of the loads of a chase */
	const char *disk, *file, *host;	/* IO: what to move data with */
	bool overwrite;
	bool json, csv, verbose, quiet;
	const char *plot;
};

/* cit_ready: finds the CPUs and caches; another status than OK, and a complaint, if it can't */
int cit_ready(struct cit *cit);
/* complain_taken: that a thread was no longer on its CPU when it had done its work */
void complain_taken(int cpu);
/* cpus_together: are two CPUs in one package, as far as the kernel tells? */
bool cpus_together(int a, int b);
/*
 * cit_neighbour: of those allowed the first one of another core that shares the last level of
 * cache with cit->cpu, and no other; -1: there is none
 */
int cit_neighbour(const struct cit *cit);
/* cit_levels: of caches, whose sizes are known; cit_last_level: the size of the last of them */
unsigned int cit_levels(const struct cit *cit);
uint64_t cit_last_level(const struct cit *cit);
/* cit_caches: are there so many? Complains if not; @what wants them. */
bool cit_caches(const struct cit *cit, unsigned int levels, const char *what);

/* ---- probes ---- */

struct probe {
	const char *name, *text;
	/* Each may be absent. @setup returns false if it can't run here, having said why. */
	bool (*setup)(struct probe *probe, const struct cit *cit);
	void (*prepare)(struct probe *probe, uint64_t n);	/* not counted */
	bool (*run)(struct probe *probe, uint64_t n);
	void (*teardown)(struct probe *probe);
	uint64_t step;			/* work is step, 2 step, ... */
	unsigned int points;
	uint64_t arg;
	void *data;
};

struct family {
	const char *name, *unit;	/* what a slope is per */
	unsigned int levels;		/* of caches that it makes use of */
	struct probe *probe;
	size_t probes;
	const struct category *category;
	size_t categories;
	/* Those at the front that are the seed's own, by its own probes at the front */
	size_t seed_categories, seed_probes;
};

extern const struct family branch_family;
const struct family *cache_family(void);
extern const struct family io_family, shared_family;
/* What else is measured with the branch kernels: figure 10 */
extern struct probe branch_misprediction;

/* A chase through a buffer, for the caches' probes and for curves */
struct chase;
struct chase *chase_new(uint64_t bytes, unsigned int unit_bytes, unsigned int block_pages,
			bool in_order);
void chase_run(struct chase *chase, uint64_t loads);
uint64_t chase_units(const struct chase *chase);
/*
 * cache_plateau: the size of a buffer, a power of two, that is well inside of level @level
 * (CIT_LEVELS: memory) and well outside of the one before. 0: there is none.
 */
uint64_t cache_plateau(const struct cit *cit, unsigned int level);
void chase_free(struct chase *chase);

/* shared_cpus: up to @most of those allowed that are in the package of cit->at */
unsigned int shared_cpus(const struct cit *cit, int *cpu, unsigned int most);

/* ---- measuring ---- */

struct result {
	struct fit fit[CIT_PROBES];
	double count[CIT_PROBES][CIT_POINTS];
	uint64_t work[CIT_PROBES][CIT_POINTS];
	unsigned int dropped;		/* repetitions, by the rule of robust_mean() */
	bool multiplexed;		/* it never had its counter for itself */
	bool absent;			/* the kernel refuses it */
	int error;
};

/* events_allowed: false after a complaint: this process has no right to any in @n lists */
bool events_allowed(const struct events *const *lists, size_t n);
/* measure: every event with every probe; result[] is the caller's, one for each event */
bool measure(const struct cit *cit, const struct family *family, const struct events *events,
	     struct result *result);

/* ---- what comes out ---- */

void output(const struct cit *cit, const struct family *family, const struct events *events,
	    const struct result *result);
/*
 * curve_sizes: of buffers: two for each doubling, from an eighth of L1 (a page at least) to
 * four times the last level; how many they are
 */
size_t curve_sizes(const struct cit *cit, double *size, size_t most);
/* curve_of: is there such a kind, for so many events? Complains if not. */
bool curve_of(const char *kind, size_t events);
int curve(const struct cit *cit, const char *kind, const struct events *events);
/* verify_arguments: a STATUS_: whether claims and profiles are such */
int verify_arguments(int argc, char **argv, const char *const *profiles, size_t n);
int verify(const struct cit *cit, int argc, char **argv, const char *const *profiles,
	   size_t n_profiles);
/* profiles_list: to @list, if there is one; else printed */
void profiles_list(FILE *to, json_t *list);
/* what_is_open: "what tells them apart did not run: other's", of @n categories */
void what_is_open(const struct family *family, const struct result *result,
		  const struct category *const *candidate, size_t n, char *text, size_t size);

#endif /* MEMIO_CIT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio guarantee: what does the memory give whatever is asked of it?
 *
 * That is MemGuard's r_min (Yun et al., RTAS 2013): the bandwidth that is left when
 * accesses come as the DRAM likes them least, far below the peak. All cores of all packages
 * run one pattern after the other. Data go this way:
 *
 *	spots.c		the machine -> packages, their cores and caches
 *	patterns.c	loops that count the lines which they move
 *	measure.c	threads, windows -> lines and time
 *	least.c		-> rates, the least of them, what can be guaranteed
 *	guarantee.c	the command: what it says, what it sets
 */
#ifndef MEMIO_GUARANTEE_H
#define MEMIO_GUARANTEE_H

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "clock.h"

#define PACKAGES_MAX	64
#define CORES_MAX	1024
#define CACHE_LEVELS	3
#define WINDOWS		8
#define BUFFER_MIN	(1ull << 20)
#define BUFFER_MAX	(64ull << 30)
/* So many times what a package's caches hold, its threads' buffers have at least. */
#define BUFFER_CACHES	16

/* ---- where (spots.c) ---- */

/**
 * struct package - one with cores that are used
 * @number:	the kernel's
 * @cores:	that it has
 * @cpu:	of each thread, one of a core of its own
 * @near:	with which memory each has the shortest way
 * @threads:	how many
 * @caches:	above the used cores, of each level
 * @cache_bytes: of all of these
 */
struct package {
	unsigned int number, cores, threads, caches[CACHE_LEVELS];
	int cpu[CORES_MAX];
	hwloc_obj_t near[CORES_MAX];
	uint64_t cache_bytes;
};

/**
 * struct spots - all that is used
 * @missed:	packages of which no core may be used
 * @error:	why it can't be done
 */
struct spots {
	struct package package[PACKAGES_MAX];
	unsigned int packages, missed;
	char error[256];
};

/*
 * spots_find: one CPU of each core that has one among @allowed, of @cores cores of each package
 * at most if that is not 0. @caches: sizes that count instead of the machine's, if the last
 * is not 0. False, with @s->error, if there are not that many or the caches are not known
 */
bool spots_find(hwloc_topology_t topology, hwloc_const_cpuset_t allowed, unsigned int cores,
		const uint64_t *caches, struct spots *s);

/* ---- what (patterns.c) ---- */

/* What a thread and who watches it share; each on lines of its own */
struct stream {
	char *buffer;
	unsigned int bits;		/* of the number of its lines */
	uint64_t first;			/* where it begins */
	volatile bool stop;
	char apart[64];
	volatile uint64_t lines;	/* that it has moved */
	char further[64];
};

/**
 * struct pattern - what is asked of the memory
 * @name:	for people and scripts
 * @about:	what it does
 * @run:	until @stop
 * @pass:	lines that a pass moves, for each line of the buffer
 * @hit:	lines that are not moved if the cache had one, at most
 */
struct pattern {
	const char *name, *about;
	void (*run)(struct stream *s);
	double pass, hit;
};

#define PATTERNS	5
extern const struct pattern patterns[PATTERNS];

/* ---- how fast (least.c) ---- */

/**
 * struct window - of one pattern, in one package
 * @ns:		how long
 * @lines:	that its threads have counted
 * @ran:	for which part of that they were running
 */
struct window {
	double ns, lines, ran;
};

/**
 * struct rate - of one pattern, in one package
 * @bytes_s:	the median over windows of what has come from and gone to memory for sure;
 *		whole bytes, so that what is printed is what the guarantee was computed from
 * @spread:	of the windows: the largest less the smallest, in parts of the median
 * @ran:	the least of theirs
 */
struct rate {
	uint64_t bytes_s;
	double spread, ran;
};

/* buffer_bytes: of each of @threads: a power of two */
uint64_t buffer_bytes(uint64_t cache_bytes, unsigned int threads);
/*
 * from_memory: the part of the lines of @p that was moved for sure, with so much in buffers
 * and so much that caches may hold of it; 0 or less if that is none
 */
double from_memory(const struct pattern *p, uint64_t cache_bytes, uint64_t buffers_bytes);
struct rate rate_of(const struct window *w, size_t n, double part);
/* least_of: its index */
size_t least_of(const struct rate *r, size_t n);
/* guarantee_of: bytes a second, less @margin percent */
uint64_t guarantee_of(uint64_t bytes_s, unsigned int margin);

/* ---- measured (measure.c) ---- */

/* What the options say, and what was found of the machine */
struct guarantee {
	double seconds;				/* for each pattern */
	unsigned int margin, cores;
	uint64_t caches[CACHE_LEVELS], buffer;	/* 0: as the machine says; by the caches */
	bool set, force, yes, quiet, json;
	const char *mark;
	hwloc_topology_t topology;
	struct spots at;
	uint64_t bytes[PACKAGES_MAX];		/* of each thread's buffer */
	struct window window[PATTERNS][PACKAGES_MAX][WINDOWS];
	struct rate rate[PATTERNS][PACKAGES_MAX];
};

/* measure_patterns: all patterns; false after a complaint, or when interrupted */
bool measure_patterns(struct guarantee *g);

#endif /* MEMIO_GUARANTEE_H */

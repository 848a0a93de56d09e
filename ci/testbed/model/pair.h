/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The library and the naive model, run in step and compared
 *
 * A pair is a machine built twice: a last level cache and the private caches
 * of some cores, once with llc.c and once with refmodel.c. Each function does
 * the same to both and compares what came back, field by field; pair_check()
 * compares all that they hold, and what must be true whatever was done. Each
 * half is glued together by its own answers only.
 *
 * At the first difference pair_failed() is called with a line of text that
 * says which access it was and what differed; it must not return.
 */
#ifndef PAIR_H
#define PAIR_H

#include "llc.h"
#include "refmodel.h"

struct pair {
	struct llc_geometry geo;
	unsigned int cores;		/* with private caches; CPUs are threads times more */
	struct llc_slice lib[LLC_MAX_SOCKETS * LLC_MAX_SLICES];	/* socket by socket */
	struct ref_llc ref;
	struct priv_cache *lib_priv;	/* [cores] */
	struct ref_priv *ref_priv;
	uint64_t accesses;		/* so far, for messages */
	uint64_t victims_m;		/* as the library's results say */
};

extern void (*pair_failed)(const char *text);

void pair_init(struct pair *p, unsigned int slices, unsigned int sets, unsigned int ways,
	       unsigned int ddio_ways, unsigned int cores);
void pair_free(struct pair *p);

/* From the start: each core has two threads. */
void pair_siblings(struct pair *p);
unsigned int pair_core(const struct pair *p, unsigned int cpu);

/* From the start: two sockets with so many CPUs each; lines from @node1 are socket 1's. */
void pair_sockets(struct pair *p, unsigned int cpus, uint64_t node1);

/* The last level cache alone; masks are returned, not obeyed. */
struct llc_result pair_access(struct pair *p, enum llc_op op, uint64_t line, unsigned int who);

/*
 * A load or store as a CPU makes it: private caches, then the LLC; other
 * cores lose their copies at once. Return: where it hit.
 */
enum priv_hit pair_cpu(struct pair *p, unsigned int cpu, uint64_t line, bool store);

/* A device's access, obeyed by the private caches. */
void pair_dev(struct pair *p, enum llc_op op, uint64_t line, unsigned int who);

/* Private caches alone. */
enum priv_hit pair_lookup(struct pair *p, unsigned int core, uint64_t line, bool store,
			  bool *upgrade);
bool pair_fill(struct pair *p, unsigned int core, uint64_t line, bool modified,
	       uint64_t *victim, bool *victim_modified);
void pair_dirty(struct pair *p, unsigned int core, uint64_t line);
void pair_clean(struct pair *p, unsigned int core, uint64_t line);
void pair_invalidate(struct pair *p, unsigned int core, uint64_t line);

/* Where a line lies in the library, on a socket (else 0), or NULL; and all of its slice. */
const struct llc_way *pair_way(const struct pair *p, uint64_t line, unsigned int *way);
const struct llc_way *pair_way_in(const struct pair *p, unsigned int socket, uint64_t line,
				  unsigned int *way);
const struct llc_slice *pair_slice(const struct pair *p, uint64_t line);

/* One actor, summed over a socket's slices, or all; of either half, they are compared. */
struct ref_count pair_count_at(const struct pair *p, unsigned int socket, unsigned int who);
struct ref_count pair_count(const struct pair *p, unsigned int who);
uint64_t pair_dirty_lines_at(const struct pair *p, unsigned int socket, unsigned int who);
uint64_t pair_dirty_lines(const struct pair *p, unsigned int who);

/* Everything in both: contents, accounts, conservation. */
void pair_check(const struct pair *p);

/*
 * Every private copy is in the LLC and known there; modified ones are the
 * owner's. Only for machines that were driven by pair_cpu() and pair_dev().
 */
void pair_check_inclusion(const struct pair *p);

#endif /* PAIR_H */

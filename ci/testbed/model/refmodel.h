/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A naive model of the emulated caches, to check the fast one against
 *
 * Written from the text in llc.h and nothing else, in the plainest data
 * structures that hold it: a set is a list of lines, most recent first, and is
 * searched from one end to the other; a line knows its way; a set of cores is
 * an array of bools. So a reader can hold each function beside its paragraph
 * of the text. From llc.h come only the names of operations and states, the
 * limits and (for llc-replay.c) the trace format.
 *
 * One struct ref_llc is the whole last level cache, of both sockets if there are
 * two: it finds socket, slice, set and channel of an access itself. One struct
 * ref_priv is what one core has for itself. How accesses go from one to the other
 * is the caller's business, as with the library (see pair.c).
 *
 * What the text leaves open, and how it is read here:
 *
 *	CPU_UPGRADE of a line that the LLC does not hold ("always a hit")
 *	is taken for a CPU_STORE and counted in upgrade_miss.
 *	CPU_LOAD and CPU_STORE by the owner, which has the line, and CPU_UPGRADE by it
 *	or by a core that is no sharer are done as it says, and counted in
 *	asked_wrongly.
 *	A line that leaves because DDIO is off is no victim of a replacement:
 *	it is written back, but `victim` stays false.
 */
#ifndef REFMODEL_H
#define REFMODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "llc.h"

#define REF_NO_CORE	(-1)

struct ref_cores {
	bool has[LLC_MAX_CORES];
};

struct ref_line {
	uint64_t line;
	unsigned int way;
	bool dirty;
	unsigned int first, last;	/* actors, while dirty */
	struct ref_cores sharers;
	int owner;			/* core, or REF_NO_CORE */
};

struct ref_set {
	unsigned int used;
	struct ref_line *list;		/* [used], most recent first */
};

/* What one actor did in one slice, in lines; named as in the ledger. */
#define REF_FIELDS(F)							\
	F(to_lines) F(to_miss)						\
	F(from_lines) F(from_miss) F(from_clean_hit) F(from_owned_hit)	\
	F(partial_lines) F(partial_miss) F(fill_lines)			\
	F(read_miss) F(write_miss)					\
	F(made_dirty)							\
	F(wb_first) F(wb_last) F(wb_evictor)

struct ref_count {
#define REF_FIELD(name)	uint64_t name;
	REF_FIELDS(REF_FIELD)
#undef REF_FIELD
};

struct ref_slice {
	struct ref_set *set;
	struct ref_count count[LLC_ACTORS];
	uint64_t dram_read[LLC_CHANNELS], dram_write[LLC_CHANNELS];
	uint64_t victims_m;		/* replaced lines that were M */
};

struct ref_llc {
	unsigned int slices, sets, ways, ddio_ways;
	unsigned int threads;		/* of each core: 1 or 2 */
	unsigned int sockets;
	unsigned int socket_cpus;	/* of two sockets: CPUs of each */
	uint64_t node1;			/* likewise: the first line of socket 1's memory */
	struct ref_slice slice[LLC_MAX_SOCKETS * LLC_MAX_SLICES];	/* socket by socket */
	uint64_t upgrade_miss;
	uint64_t asked_wrongly;
};

struct ref_result {
	enum llc_state before;
	bool asked;
	enum llc_state other;
	bool silent;
	struct ref_cores invalidate, downgrade;
	bool victim;
	enum llc_state victim_state;
	uint64_t victim_line;
	struct ref_cores victim_sharers;
};

unsigned int ref_slice_of(unsigned int slices, uint64_t line);
unsigned int ref_channel_of(uint64_t line);

/* Return: NULL, or what is wrong with the geometry. */
const char *ref_llc_init(struct ref_llc *llc, unsigned int slices, unsigned int sets,
			 unsigned int ways, unsigned int ddio_ways, unsigned int threads);
/* Right after that: two sockets with so many CPUs each. Return: likewise. */
const char *ref_llc_sockets(struct ref_llc *llc, unsigned int socket_cpus, uint64_t node1);
void ref_llc_free(struct ref_llc *llc);
void ref_access(struct ref_llc *llc, enum llc_op op, uint64_t line, unsigned int who,
		struct ref_result *r);

/* The socket of a CPU or a device. */
unsigned int ref_socket_of(const struct ref_llc *llc, unsigned int who);

/* The line's entry in its socket's cache, untouched, or NULL. */
const struct ref_line *ref_peek(const struct ref_llc *llc, unsigned int socket, uint64_t line);

/* Lines whose home's slice it is that @who made dirty. */
uint64_t ref_dirty_lines(const struct ref_llc *llc, unsigned int slice, unsigned int who);

/*
 * A core's private caches. L1 holds a part of what L2 holds, so whether a copy
 * is modified is kept once, in L2, for both.
 */
struct ref_copy {
	uint64_t line;
	bool modified;
};

struct ref_l1_set {
	unsigned int used;
	uint64_t line[PRIV_WAYS];	/* most recent first */
};

struct ref_l2_set {
	unsigned int used;
	struct ref_copy copy[PRIV_WAYS];	/* most recent first */
};

struct ref_priv {
	struct ref_l1_set l1[PRIV_L1_SETS];
	struct ref_l2_set l2[PRIV_L2_SETS];
	uint64_t l1_miss, l2_miss;
};

enum priv_hit ref_priv_lookup(struct ref_priv *p, uint64_t line, bool store, bool *upgrade);

/* Return: true if L2 had to drop a line: *victim, *victim_modified. */
bool ref_priv_fill(struct ref_priv *p, uint64_t line, bool modified,
		   uint64_t *victim, bool *victim_modified);
bool ref_priv_holds(const struct ref_priv *p, uint64_t line);
void ref_priv_dirty(struct ref_priv *p, uint64_t line);
void ref_priv_clean(struct ref_priv *p, uint64_t line);
void ref_priv_invalidate(struct ref_priv *p, uint64_t line);

#endif /* REFMODEL_H */

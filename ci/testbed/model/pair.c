// SPDX-License-Identifier: GPL-2.0
/*
 * The library and the naive model, run in step and compared; see pair.h
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

static const char * const op_name[LLC_OPS] = {
	"DEV_READ", "DEV_WRITE", "DEV_WRITE_PART", "CPU_LOAD", "CPU_STORE", "CPU_UPGRADE", "CPU_WB",
};

static void say_and_exit(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(1);
}

void (*pair_failed)(const char *text) = say_and_exit;

__attribute__((format(printf, 2, 3), noreturn))
static void differ(const struct pair *p, const char *format, ...)
{
	char what[300], text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(text, sizeof(text),
		 "access %" PRIu64 " (sockets %u, slices %u, sets %u, ways %u, ddio %u, "
		 "threads %u): %s", p->accesses, p->ref.sockets, p->geo.slices, p->geo.sets,
		 p->geo.ways, p->geo.ddio_ways, p->ref.threads, what);
	pair_failed(text);
	abort();
}

void pair_init(struct pair *p, unsigned int slices, unsigned int sets, unsigned int ways,
	       unsigned int ddio_ways, unsigned int cores)
{
	const char *wrong;
	unsigned int i;

	memset(p, 0, sizeof(*p));
	p->geo = (struct llc_geometry){
		.slices = slices, .sets = sets, .ways = ways, .ddio_ways = ddio_ways,
	};
	wrong = ref_llc_init(&p->ref, slices, sets, ways, ddio_ways, 1);
	if (wrong)
		differ(p, "refmodel: %s", wrong);
	for (i = 0; i < slices; i++)
		if (llc_slice_init(&p->lib[i], &p->geo))
			differ(p, "llc_slice_init() failed");
	p->cores = cores;
	if (cores) {
		p->lib_priv = calloc(cores, sizeof(*p->lib_priv));
		p->ref_priv = calloc(cores, sizeof(*p->ref_priv));
		if (!p->lib_priv || !p->ref_priv)
			differ(p, "out of memory");
	}
}

/* Of all sockets */
static unsigned int all_slices(const struct pair *p)
{
	return p->ref.sockets * p->geo.slices;
}

void pair_siblings(struct pair *p)
{
	unsigned int i;

	p->ref.threads = 2;
	p->geo.thread_bits = 1;
	for (i = 0; i < all_slices(p); i++)
		p->lib[i].geo.thread_bits = 1;
}

void pair_sockets(struct pair *p, unsigned int cpus, uint64_t node1)
{
	const unsigned int n = p->geo.slices;
	const char *wrong = ref_llc_sockets(&p->ref, cpus, node1);
	unsigned int i;

	if (wrong)
		differ(p, "refmodel: %s", wrong);
	p->geo.node1 = node1;
	for (i = 0; i < n; i++) {
		p->lib[i].geo.node1 = node1;
		if (llc_slice_init(&p->lib[n + i], &p->geo))
			differ(p, "llc_slice_init() failed");
		llc_slice_pair(&p->lib[i], &p->lib[n + i]);
	}
}

unsigned int pair_core(const struct pair *p, unsigned int cpu)
{
	return cpu / p->ref.threads;
}

void pair_free(struct pair *p)
{
	unsigned int i;

	for (i = 0; i < all_slices(p); i++)
		llc_slice_free(&p->lib[i]);
	ref_llc_free(&p->ref);
	free(p->lib_priv);
	free(p->ref_priv);
	p->lib_priv = NULL;
	p->ref_priv = NULL;
}

static uint32_t mask_of(const struct ref_cores *cores)
{
	uint32_t mask = 0;
	unsigned int core;

	for (core = 0; core < LLC_MAX_CORES; core++)
		if (cores->has[core])
			mask |= 1u << core;
	return mask;
}

/* All that the model's slice, and its peer, have moved so far */
static uint64_t dram_lines(const struct pair *p, unsigned int slice)
{
	uint64_t n = 0;
	unsigned int ch;

	for (; slice < all_slices(p); slice += p->geo.slices) {
		const struct ref_slice *s = &p->ref.slice[slice];

		for (ch = 0; ch < LLC_CHANNELS; ch++)
			n += s->dram_read[ch] + s->dram_write[ch];
	}
	return n;
}

static void both_access(struct pair *p, enum llc_op op, uint64_t line, unsigned int who,
			struct llc_result *lib, struct ref_result *ref)
{
	const unsigned int slice = ref_slice_of(p->geo.slices, line);
	const unsigned int socket = ref_socket_of(&p->ref, who);
	const uint64_t moved = dram_lines(p, slice);

	p->accesses++;
	/* A field that the library forgets to set must not look right. */
	memset(lib, 0xa5, sizeof(*lib));
	lib->silent = lib->victim = lib->asked = true;

	ref_access(&p->ref, op, line, who, ref);
	llc_access(&p->lib[socket * p->geo.slices + slice], op, line, who, lib);

#define SAME(field, expected) do {						\
	uint64_t is_ = lib->field, should_ = expected;				\
										\
	if (is_ != should_)							\
		differ(p, "%s line 0x%" PRIx64 " by %u: " #field " is 0x%" PRIx64 \
		       ", the model has 0x%" PRIx64,				\
		       op_name[op], line, who, is_, should_);			\
} while (0)
	SAME(before, ref->before);
	SAME(asked, ref->asked);
	SAME(other, ref->other);
	SAME(silent, ref->silent);
	SAME(invalidate, mask_of(&ref->invalidate));
	SAME(downgrade, mask_of(&ref->downgrade));
	SAME(dram_lines, dram_lines(p, slice) - moved);
	SAME(victim, ref->victim);
	if (ref->victim) {
		SAME(victim_state, ref->victim_state);
		SAME(victim_line, ref->victim_line);
		SAME(victim_sharers, mask_of(&ref->victim_sharers));
		p->victims_m += lib->victim_state == LLC_M;
	}
#undef SAME
}

struct llc_result pair_access(struct pair *p, enum llc_op op, uint64_t line, unsigned int who)
{
	struct llc_result lib;
	struct ref_result ref;

	both_access(p, op, line, who, &lib, &ref);
	return lib;
}

/* An access whose masks the private caches obey at once. */
static void obeyed_access(struct pair *p, enum llc_op op, uint64_t line, unsigned int who)
{
	struct llc_result lib;
	struct ref_result ref;
	unsigned int core;

	both_access(p, op, line, who, &lib, &ref);
	for (core = 0; core < p->cores; core++) {
		if (lib.invalidate >> core & 1)
			priv_invalidate(&p->lib_priv[core], line);
		if (lib.downgrade >> core & 1)
			priv_clean(&p->lib_priv[core], line);
		if (lib.victim && lib.victim_sharers >> core & 1)
			priv_invalidate(&p->lib_priv[core], lib.victim_line);

		if (ref.invalidate.has[core])
			ref_priv_invalidate(&p->ref_priv[core], line);
		if (ref.downgrade.has[core])
			ref_priv_clean(&p->ref_priv[core], line);
		if (ref.victim && ref.victim_sharers.has[core])
			ref_priv_invalidate(&p->ref_priv[core], ref.victim_line);
	}
}

void pair_dev(struct pair *p, enum llc_op op, uint64_t line, unsigned int who)
{
	obeyed_access(p, op, line, who);
}

enum priv_hit pair_cpu(struct pair *p, unsigned int cpu, uint64_t line, bool store)
{
	const unsigned int core = pair_core(p, cpu);
	bool upgrade, victim_modified;
	enum priv_hit hit;
	uint64_t victim;

	hit = pair_lookup(p, core, line, store, &upgrade);
	if (upgrade) {
		obeyed_access(p, LLC_CPU_UPGRADE, line, cpu);
		pair_dirty(p, core, line);
	} else if (hit == PRIV_MISS) {
		obeyed_access(p, store ? LLC_CPU_STORE : LLC_CPU_LOAD, line, cpu);
		if (pair_fill(p, core, line, store, &victim, &victim_modified) && victim_modified)
			obeyed_access(p, LLC_CPU_WB, victim, cpu);
	}
	return hit;
}

enum priv_hit pair_lookup(struct pair *p, unsigned int core, uint64_t line, bool store,
			  bool *upgrade)
{
	const struct priv_cache *lib_priv = &p->lib_priv[core];
	bool mru = priv_hit_mru(lib_priv, line, store), ref_upgrade;
	enum priv_hit ref, lib;

	p->accesses++;
	*upgrade = true;
	if (priv_holds(lib_priv, line) != ref_priv_holds(&p->ref_priv[core], line))
		differ(p, "core %u, line 0x%" PRIx64 ": priv_holds() says %d", core, line,
		       priv_holds(lib_priv, line));
	ref = ref_priv_lookup(&p->ref_priv[core], line, store, &ref_upgrade);
	if (mru && (ref != PRIV_L1 || ref_upgrade))
		differ(p, "core %u, line 0x%" PRIx64 ", store %d: priv_hit_mru() is wrong",
		       core, line, store);
	/* The short cut must be as good as the way round: take turns. */
	if (mru && p->accesses % 2) {
		*upgrade = false;
		return ref;
	}
	lib = priv_lookup(&p->lib_priv[core], line, store, upgrade);
	if (lib != ref || *upgrade != ref_upgrade)
		differ(p, "core %u, line 0x%" PRIx64 ", store %d: priv_lookup() says %d, "
		       "upgrade %d; the model %d, %d",
		       core, line, store, lib, *upgrade, ref, ref_upgrade);
	return ref;
}

bool pair_fill(struct pair *p, unsigned int core, uint64_t line, bool modified,
	       uint64_t *victim, bool *victim_modified)
{
	uint64_t ref_victim = 0;
	bool ref_modified = false;
	bool ref = ref_priv_fill(&p->ref_priv[core], line, modified, &ref_victim, &ref_modified);
	bool lib = priv_fill(&p->lib_priv[core], line, modified, victim, victim_modified);

	if (lib != ref || (ref && (*victim != ref_victim || *victim_modified != ref_modified)))
		differ(p, "core %u, line 0x%" PRIx64 ": priv_fill() says %d (0x%" PRIx64 ", %d); "
		       "the model %d (0x%" PRIx64 ", %d)", core, line,
		       lib, lib ? *victim : 0, lib && *victim_modified,
		       ref, ref_victim, ref_modified);
	return ref;
}

void pair_dirty(struct pair *p, unsigned int core, uint64_t line)
{
	priv_dirty(&p->lib_priv[core], line);
	ref_priv_dirty(&p->ref_priv[core], line);
}

void pair_clean(struct pair *p, unsigned int core, uint64_t line)
{
	priv_clean(&p->lib_priv[core], line);
	ref_priv_clean(&p->ref_priv[core], line);
}

void pair_invalidate(struct pair *p, unsigned int core, uint64_t line)
{
	priv_invalidate(&p->lib_priv[core], line);
	ref_priv_invalidate(&p->ref_priv[core], line);
}

const struct llc_slice *pair_slice(const struct pair *p, uint64_t line)
{
	return &p->lib[ref_slice_of(p->geo.slices, line)];
}

const struct llc_way *pair_way(const struct pair *p, uint64_t line, unsigned int *way)
{
	return pair_way_in(p, 0, line, way);
}

const struct llc_way *pair_way_in(const struct pair *p, unsigned int socket, uint64_t line,
				  unsigned int *way)
{
	const struct llc_slice *s = pair_slice(p, line) + socket * p->geo.slices;
	size_t base = (size_t)(line % p->geo.sets) * p->geo.ways;
	unsigned int i;

	for (i = 0; i < p->geo.ways; i++) {
		if (s->tag[base + i] != line + 1)
			continue;
		if (way)
			*way = i;
		return &s->way[base + i];
	}
	return NULL;
}

struct ref_count pair_count_at(const struct pair *p, unsigned int socket, unsigned int who)
{
	const unsigned int first = socket * p->geo.slices;
	struct ref_count sum = { 0 };
	unsigned int i;

	for (i = first; i < first + p->geo.slices; i++) {
		const struct llc_account *lib = &p->lib[i].account[who];
		const struct ref_count *ref = &p->ref.slice[i].count[who];

#define ADD(field)								\
		if (lib->field != ref->field)					\
			differ(p, "slice %u, actor %u: " #field " is %" PRIu64	\
			       ", the model has %" PRIu64,			\
			       i, who, lib->field, ref->field);			\
		sum.field += ref->field;
		REF_FIELDS(ADD)
#undef ADD
	}
	return sum;
}

struct ref_count pair_count(const struct pair *p, unsigned int who)
{
	struct ref_count sum = { 0 };
	unsigned int socket;

	for (socket = 0; socket < p->ref.sockets; socket++) {
		const struct ref_count c = pair_count_at(p, socket, who);

#define ADD(field)	sum.field += c.field;
		REF_FIELDS(ADD)
#undef ADD
	}
	return sum;
}

uint64_t pair_dirty_lines(const struct pair *p, unsigned int who)
{
	uint64_t sum = 0;
	unsigned int socket;

	for (socket = 0; socket < p->ref.sockets; socket++)
		sum += pair_dirty_lines_at(p, socket, who);
	return sum;
}

uint64_t pair_dirty_lines_at(const struct pair *p, unsigned int socket, unsigned int who)
{
	const unsigned int begin = socket * p->geo.slices;
	uint64_t sum = 0;
	unsigned int i;

	for (i = begin; i < begin + p->geo.slices; i++) {
		uint64_t lib[LLC_ACTORS] = { 0 }, ref = ref_dirty_lines(&p->ref, i, who);

		llc_dirty_lines(&p->lib[i], lib);
		if (lib[who] != ref)
			differ(p, "slice %u, actor %u: %" PRIu64 " dirty lines, the model has %"
			       PRIu64, i, who, lib[who], ref);
		sum += ref;
	}
	return sum;
}

/* Contents of one slice: every line of one half is the same in the other. */
static void check_slice(const struct pair *p, unsigned int slice)
{
	const struct llc_slice *lib = &p->lib[slice];
	const unsigned int socket = slice / p->geo.slices;
	unsigned int set, i, way;

	for (set = 0; set < p->geo.sets; set++) {
		const struct ref_set *ref = &p->ref.slice[slice].set[set];
		unsigned int used = 0;

		for (way = 0; way < p->geo.ways; way++)
			used += lib->tag[(size_t)set * p->geo.ways + way] != 0;
		if (used != ref->used)
			differ(p, "slice %u, set %u: %u lines, the model has %u",
			       slice, set, used, ref->used);

		for (i = 0; i < ref->used; i++) {
			const struct ref_line *l = &ref->list[i];
			const struct llc_way *w = pair_way_in(p, socket, l->line, &way);

			if (!w)
				differ(p, "line 0x%" PRIx64 " is not there", l->line);
			if (w->dirty && p->ref.sockets == 2 &&
			    pair_way_in(p, !socket, l->line, NULL))
				differ(p, "line 0x%" PRIx64 " is dirty, and in both LLCs",
				       l->line);
			if (way != l->way)
				differ(p, "line 0x%" PRIx64 " is in way %u, the model has %u",
				       l->line, way, l->way);
			if (w->dirty != l->dirty || w->owner != l->owner ||
			    w->sharers != mask_of(&l->sharers) ||
			    (l->dirty && (w->first != l->first || w->last != l->last)))
				differ(p, "line 0x%" PRIx64 " differs: dirty %d:%d, first %u:%u, "
				       "last %u:%u, owner %d:%d, sharers %x:%x", l->line,
				       w->dirty, l->dirty, w->first, l->first, w->last, l->last,
				       w->owner, l->owner, w->sharers, mask_of(&l->sharers));
			if (l->owner != REF_NO_CORE &&
			    (!w->dirty || w->sharers != 1u << l->owner))
				differ(p, "line 0x%" PRIx64 ": its owner is not the only sharer, "
				       "or it is clean", l->line);
		}
	}
}

/* One set of a private cache of the library: its lines, most recent first. */
static unsigned int valid_of(const uint64_t entry[PRIV_WAYS], uint64_t line[PRIV_WAYS],
			     bool modified[PRIV_WAYS])
{
	unsigned int i, n = 0;

	for (i = 0; i < PRIV_WAYS; i++) {
		if (!(entry[i] & 1))
			continue;
		line[n] = entry[i] >> 2;
		modified[n++] = entry[i] >> 1 & 1;
	}
	return n;
}

static void check_priv(const struct pair *p, unsigned int core)
{
	const struct priv_cache *lib = &p->lib_priv[core];
	const struct ref_priv *ref = &p->ref_priv[core];
	uint64_t line[PRIV_WAYS], l1_line[PRIV_WAYS];
	bool modified[PRIV_WAYS], l1_modified[PRIV_WAYS];
	unsigned int set, i, j, n, n1;

	if (lib->l1_miss != ref->l1_miss || lib->l2_miss != ref->l2_miss)
		differ(p, "core %u: misses L1 %" PRIu64 ":%" PRIu64 ", L2 %" PRIu64 ":%" PRIu64,
		       core, lib->l1_miss, ref->l1_miss, lib->l2_miss, ref->l2_miss);

	for (set = 0; set < PRIV_L1_SETS; set++) {
		const struct ref_l1_set *r = &ref->l1[set];

		n = valid_of(lib->l1[set], line, modified);
		if (n != r->used || memcmp(line, r->line, n * sizeof(line[0])))
			differ(p, "core %u: L1 set %u differs", core, set);
	}
	for (set = 0; set < PRIV_L2_SETS; set++) {
		const struct ref_l2_set *r = &ref->l2[set];

		n = valid_of(lib->l2[set], line, modified);
		if (n != r->used)
			differ(p, "core %u: L2 set %u has %u lines, the model %u",
			       core, set, n, r->used);
		n1 = valid_of(lib->l1[set % PRIV_L1_SETS], l1_line, l1_modified);
		for (i = 0; i < n; i++) {
			bool is = modified[i];

			/* The state of a line that L1 has is what L1 says. */
			for (j = 0; j < n1; j++) {
				if (l1_line[j] != line[i])
					continue;
				if (is && !l1_modified[j])
					differ(p, "core %u, line 0x%" PRIx64
					       ": modified in L2, clean in L1", core, line[i]);
				is = l1_modified[j];
			}
			if (line[i] != r->copy[i].line || is != r->copy[i].modified)
				differ(p, "core %u: L2 set %u, %uth: line 0x%" PRIx64 " %d, "
				       "the model has 0x%" PRIx64 " %d", core, set, i, line[i],
				       is, r->copy[i].line, r->copy[i].modified);
		}
	}

	/* L2 holds what L1 holds. */
	for (set = 0; set < PRIV_L1_SETS; set++) {
		for (i = 0; i < PRIV_WAYS; i++) {
			uint64_t e = lib->l1[set][i];
			bool found = false;

			for (j = 0; j < PRIV_WAYS; j++)
				found |= (lib->l2[(e >> 2) % PRIV_L2_SETS][j] | 2) == (e | 2);
			if (e & 1 && !found)
				differ(p, "core %u: line 0x%" PRIx64 " is in L1, but not in L2",
				       core, e >> 2);
		}
	}
}

/* All that is at home on a socket */
static void check_home(const struct pair *p, unsigned int home)
{
	uint64_t first = 0, last = 0, evictor = 0, reads = 0, writes = 0, read_causes = 0;
	unsigned int i, who, ch;

	for (who = 0; who < LLC_ACTORS; who++) {
		struct ref_count c = pair_count_at(p, home, who);
		uint64_t dirty = pair_dirty_lines_at(p, home, who);

		if (c.made_dirty != c.wb_first + dirty)
			differ(p, "actor %u: made dirty %" PRIu64 ", but %" PRIu64
			       " written back and %" PRIu64 " still dirty",
			       who, c.made_dirty, c.wb_first, dirty);
		first += c.wb_first;
		last += c.wb_last;
		evictor += c.wb_evictor;
		read_causes += c.to_miss + c.fill_lines + c.read_miss + c.write_miss;
	}
	for (i = home * p->geo.slices; i < (home + 1) * p->geo.slices; i++) {
		for (ch = 0; ch < LLC_CHANNELS; ch++) {
			if (p->lib[i].dram_read[ch] != p->ref.slice[i].dram_read[ch] ||
			    p->lib[i].dram_write[ch] != p->ref.slice[i].dram_write[ch])
				differ(p, "slice %u, channel %u: DRAM reads or writes differ",
				       i, ch);
			reads += p->lib[i].dram_read[ch];
			writes += p->lib[i].dram_write[ch];
		}
	}
	if (first != writes || last != writes || evictor != writes)
		differ(p, "DRAM %u writes %" PRIu64 ", but first %" PRIu64 ", last %" PRIu64
		       ", evictor %" PRIu64, home, writes, first, last, evictor);
	if (read_causes != reads)
		differ(p, "DRAM %u reads %" PRIu64 ", but misses and fills %" PRIu64,
		       home, reads, read_causes);
}

void pair_check(const struct pair *p)
{
	uint64_t victims_m = 0;
	unsigned int i;

	for (i = 0; i < p->ref.sockets; i++)
		check_home(p, i);
	for (i = 0; i < all_slices(p); i++) {
		victims_m += p->ref.slice[i].victims_m;
		check_slice(p, i);
	}
	if (victims_m != p->victims_m)
		differ(p, "M victims %" PRIu64 ", the model has %" PRIu64,
		       p->victims_m, victims_m);
	for (i = 0; i < p->cores; i++)
		check_priv(p, i);
}

void pair_check_inclusion(const struct pair *p)
{
	unsigned int core, set, i, way;

	for (core = 0; core < p->cores; core++) {
		const unsigned int socket = ref_socket_of(&p->ref, core * p->ref.threads);

		for (set = 0; set < PRIV_L2_SETS; set++) {
			const struct ref_l2_set *l2 = &p->ref_priv[core].l2[set];

			for (i = 0; i < l2->used; i++) {
				uint64_t line = l2->copy[i].line;
				const struct llc_way *w = pair_way_in(p, socket, line, &way);
				bool owned;

				if (!w || !(w->sharers >> core & 1))
					differ(p, "core %u has line 0x%" PRIx64
					       ", but the LLC does not know", core, line);
				owned = w->owner == (int)core;
				if (l2->copy[i].modified != owned)
					differ(p, "core %u, line 0x%" PRIx64
					       ": modified %d, the owner is %d", core, line,
					       l2->copy[i].modified, w->owner);
			}
		}
	}
	/* And an owner holds its line: it would have said if it had dropped it. */
	for (i = 0; i < all_slices(p); i++) {
		for (set = 0; set < p->geo.sets; set++) {
			const struct ref_set *s = &p->ref.slice[i].set[set];
			unsigned int j;

			for (j = 0; j < s->used; j++) {
				int owner = s->list[j].owner;
				uint64_t line = s->list[j].line;

				if (owner != REF_NO_CORE && !priv_holds(&p->lib_priv[owner], line))
					differ(p, "core %d owns line 0x%" PRIx64
					       ", but has it not", owner, line);
			}
		}
	}
}

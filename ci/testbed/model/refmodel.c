// SPDX-License-Identifier: GPL-2.0
/*
 * A naive model of the emulated caches; see refmodel.h
 *
 * Top to bottom: where a line belongs, sets of cores, a set's list, what
 * happens to one line, one function for each kind of access, private caches.
 */
#include <stdlib.h>
#include <string.h>

#include "refmodel.h"

/* Where a line belongs */

unsigned int ref_slice_of(unsigned int slices, uint64_t line)
{
	uint64_t product = line * 0x9E3779B97F4A7C15ull;	/* mod 2^64 */
	uint64_t top = product >> 32;

	return (top * slices) >> 32;
}

unsigned int ref_channel_of(uint64_t line)
{
	uint64_t stirred = line ^ (line / 16) ^ (line / 512);

	return stirred % 4;
}

/* Sets of cores */

static bool is_cpu(unsigned int who)
{
	return who < LLC_MAX_CORES;
}

static unsigned int how_many(const struct ref_cores *cores)
{
	unsigned int n = 0, core;

	for (core = 0; core < LLC_MAX_CORES; core++)
		n += cores->has[core];
	return n;
}

static const struct ref_cores nobody;

/* One access, under way */
struct access {
	struct ref_llc *llc;
	struct ref_slice *slice;
	struct ref_set *set;
	uint64_t line;
	unsigned int who;
	unsigned int core;		/* of who, if it is a CPU */
	struct ref_count *count;	/* of who */
	struct ref_result *result;
};

/* The list of a set */

static struct ref_line *find(struct ref_set *set, uint64_t line)
{
	unsigned int i;

	for (i = 0; i < set->used; i++)
		if (set->list[i].line == line)
			return &set->list[i];
	return NULL;
}

/* Return: where the entry is now. */
static struct ref_line *make_most_recent(struct ref_set *set, struct ref_line *l)
{
	struct ref_line moved;

	if (l == set->list)
		return l;
	moved = *l;
	memmove(set->list + 1, set->list, (l - set->list) * sizeof(*l));
	set->list[0] = moved;
	return set->list;
}

static void remove_line(struct ref_set *set, struct ref_line *l)
{
	struct ref_line *end = set->list + set->used;

	memmove(l, l + 1, (end - (l + 1)) * sizeof(*l));
	set->used--;
}

static enum llc_state state_of(const struct ref_line *l)
{
	if (!l)
		return LLC_I;
	if (l->dirty)
		return LLC_M;
	return how_many(&l->sharers) >= 2 ? LLC_S : LLC_E;
}

/* What happens to one line */

static void read_dram(struct access *a)
{
	a->slice->dram_read[ref_channel_of(a->line)]++;
}

static void dirtied(struct access *a, struct ref_line *l)
{
	if (!l->dirty) {
		l->dirty = true;
		l->first = a->who;
		a->count->made_dirty++;
	}
	l->last = a->who;
}

/* The access @a sends line @l, which is dirty, to DRAM. */
static void write_back(struct access *a, const struct ref_line *l)
{
	a->slice->dram_write[ref_channel_of(l->line)]++;
	a->slice->count[l->first].wb_first++;
	a->slice->count[l->last].wb_last++;
	a->count->wb_evictor++;
}

static void replace(struct access *a, struct ref_line *victim)
{
	a->result->victim = true;
	a->result->victim_state = state_of(victim);
	a->result->victim_line = victim->line;
	a->result->victim_sharers = victim->sharers;
	if (victim->dirty) {
		a->slice->victims_m++;
		write_back(a, victim);
	}
	remove_line(a->set, victim);
}

/* A place for the line in one of the ways from @lowest up; clean, nobody's. */
static struct ref_line *allocate(struct access *a, unsigned int lowest)
{
	bool taken[LLC_MAX_WAYS] = { false };
	struct ref_line *oldest = NULL, *l;
	unsigned int i, way;

	for (i = 0; i < a->set->used; i++) {
		l = &a->set->list[i];
		taken[l->way] = true;
		if (l->way >= lowest)
			oldest = l;	/* until an older one comes */
	}
	for (way = lowest; way < a->llc->ways; way++)
		if (!taken[way])
			break;
	if (way == a->llc->ways) {
		way = oldest->way;
		replace(a, oldest);
	}

	a->set->used++;
	l = make_most_recent(a->set, &a->set->list[a->set->used - 1]);
	*l = (struct ref_line){
		.line = a->line,
		.way = way,
		.owner = REF_NO_CORE,
	};
	return l;
}

/* Accesses */

static void device_read(struct access *a, struct ref_line *l)
{
	a->count->to_lines++;
	if (l) {
		make_most_recent(a->set, l);
	} else {
		a->count->to_miss++;
		read_dram(a);
	}
}

static void device_write(struct access *a, struct ref_line *l, bool partial)
{
	bool ddio = a->llc->ddio_ways > 0;
	struct ref_line passing = { .line = a->line };

	a->count->from_lines++;
	if (partial)
		a->count->partial_lines++;

	if (l) {
		if (!l->dirty)
			a->count->from_clean_hit++;
		if (l->owner != REF_NO_CORE)
			a->count->from_owned_hit++;
		a->result->invalidate = l->sharers;
		l->sharers = nobody;
		l->owner = REF_NO_CORE;
		dirtied(a, l);
		if (ddio) {
			make_most_recent(a->set, l);
		} else {
			write_back(a, l);
			remove_line(a->set, l);
		}
		return;
	}

	a->count->from_miss++;
	if (partial) {
		a->count->partial_miss++;
		a->count->fill_lines++;
		read_dram(a);
	}
	if (ddio) {
		dirtied(a, allocate(a, a->llc->ways - a->llc->ddio_ways));
	} else {
		dirtied(a, &passing);
		write_back(a, &passing);
	}
}

static void cpu_load(struct access *a, struct ref_line *l)
{
	if (l) {
		a->llc->asked_wrongly += l->owner == (int)a->core;
		if (l->owner != REF_NO_CORE && l->owner != (int)a->core) {
			a->result->downgrade.has[l->owner] = true;
			l->owner = REF_NO_CORE;
		}
		l = make_most_recent(a->set, l);
	} else {
		a->count->read_miss++;
		read_dram(a);
		l = allocate(a, 0);
	}
	l->sharers.has[a->core] = true;
}

/* The core becomes the only sharer and the owner, and dirties the line. */
static void own(struct access *a, struct ref_line *l)
{
	a->result->invalidate = l->sharers;
	a->result->invalidate.has[a->core] = false;
	l->sharers = nobody;
	l->sharers.has[a->core] = true;
	l->owner = a->core;
	dirtied(a, l);
}

static void cpu_store(struct access *a, struct ref_line *l)
{
	if (l) {
		a->llc->asked_wrongly += l->owner == (int)a->core;
		l = make_most_recent(a->set, l);
	} else {
		a->count->write_miss++;
		read_dram(a);
		l = allocate(a, 0);
	}
	own(a, l);
}

static void cpu_upgrade(struct access *a, struct ref_line *l)
{
	if (!l) {
		a->llc->upgrade_miss++;
		cpu_store(a, l);
		return;
	}
	a->llc->asked_wrongly += !l->sharers.has[a->core] || l->owner == (int)a->core;
	if (how_many(&l->sharers) == 1 && l->sharers.has[a->core])
		a->result->silent = true;
	else
		l = make_most_recent(a->set, l);
	own(a, l);
}

static void cpu_write_back(struct access *a, struct ref_line *l)
{
	if (!l || l->owner != (int)a->core) {
		a->result->silent = true;
		return;
	}
	l->owner = REF_NO_CORE;
	l->sharers = nobody;
}

void ref_access(struct ref_llc *llc, enum llc_op op, uint64_t line, unsigned int who,
		struct ref_result *r)
{
	struct ref_slice *slice = &llc->slice[ref_slice_of(llc->slices, line)];
	struct access a = {
		.llc = llc,
		.slice = slice,
		.set = &slice->set[line % llc->sets],
		.line = line,
		.who = who,
		.core = who / llc->threads,
		.count = &slice->count[who],
		.result = r,
	};
	struct ref_line *l = find(a.set, line);

	*r = (struct ref_result){ .before = state_of(l) };
	if (op >= LLC_CPU_LOAD && !is_cpu(who))
		abort();

	switch (op) {
	case LLC_DEV_READ:
		device_read(&a, l);
		break;
	case LLC_DEV_WRITE:
		device_write(&a, l, false);
		break;
	case LLC_DEV_WRITE_PART:
		device_write(&a, l, true);
		break;
	case LLC_CPU_LOAD:
		cpu_load(&a, l);
		break;
	case LLC_CPU_STORE:
		cpu_store(&a, l);
		break;
	case LLC_CPU_UPGRADE:
		cpu_upgrade(&a, l);
		break;
	case LLC_CPU_WB:
		cpu_write_back(&a, l);
		break;
	default:
		abort();
	}
}

const struct ref_line *ref_peek(const struct ref_llc *llc, uint64_t line)
{
	const struct ref_slice *slice = &llc->slice[ref_slice_of(llc->slices, line)];

	return find(&slice->set[line % llc->sets], line);
}

uint64_t ref_dirty_lines(const struct ref_llc *llc, unsigned int slice, unsigned int who)
{
	uint64_t n = 0;
	unsigned int i, j;

	for (i = 0; i < llc->sets; i++) {
		const struct ref_set *set = &llc->slice[slice].set[i];

		for (j = 0; j < set->used; j++)
			n += set->list[j].dirty && set->list[j].first == who;
	}
	return n;
}

const char *ref_llc_init(struct ref_llc *llc, unsigned int slices, unsigned int sets,
			 unsigned int ways, unsigned int ddio_ways, unsigned int threads)
{
	unsigned int i, j;

	memset(llc, 0, sizeof(*llc));
	if (slices < 1 || slices > LLC_MAX_SLICES)
		return "slices: not 1 to 18";
	if (ways < 1 || ways > LLC_MAX_WAYS)
		return "ways: not 1 to 32";
	if (ddio_ways > ways)
		return "ddio_ways: more than ways";
	if (sets < 1 || sets > 1u << 20)
		return "sets: none, or more than 2^20";
	if (threads < 1 || threads > 2)
		return "threads: not 1 or 2";

	llc->slices = slices;
	llc->sets = sets;
	llc->ways = ways;
	llc->ddio_ways = ddio_ways;
	llc->threads = threads;
	for (i = 0; i < slices; i++) {
		struct ref_set *set = calloc(sets, sizeof(*set));
		struct ref_line *list = calloc((size_t)sets * ways, sizeof(*list));

		if (!set || !list) {
			free(set);
			free(list);
			ref_llc_free(llc);
			return "out of memory";
		}
		for (j = 0; j < sets; j++)
			set[j].list = list + (size_t)j * ways;
		llc->slice[i].set = set;
	}
	return NULL;
}

void ref_llc_free(struct ref_llc *llc)
{
	unsigned int i;

	for (i = 0; i < LLC_MAX_SLICES; i++) {
		if (!llc->slice[i].set)
			continue;
		free(llc->slice[i].set[0].list);
		free(llc->slice[i].set);
		llc->slice[i].set = NULL;
	}
}

/* Private caches */

static struct ref_l1_set *l1_set(struct ref_priv *p, uint64_t line)
{
	return &p->l1[line % PRIV_L1_SETS];
}

static struct ref_l2_set *l2_set(struct ref_priv *p, uint64_t line)
{
	return &p->l2[line % PRIV_L2_SETS];
}

/* Return: true if it was there. */
static bool l1_remove(struct ref_priv *p, uint64_t line)
{
	struct ref_l1_set *s = l1_set(p, line);
	unsigned int i;

	for (i = 0; i < s->used; i++)
		if (s->line[i] == line)
			break;
	if (i == s->used)
		return false;
	for (; i + 1 < s->used; i++)
		s->line[i] = s->line[i + 1];
	s->used--;
	return true;
}

/* Most recent; the oldest line of a full set goes (its state is in L2). */
static void l1_insert(struct ref_priv *p, uint64_t line)
{
	struct ref_l1_set *s = l1_set(p, line);
	unsigned int i;

	if (s->used < PRIV_WAYS)
		s->used++;
	for (i = s->used - 1; i > 0; i--)
		s->line[i] = s->line[i - 1];
	s->line[0] = line;
}

static struct ref_copy *l2_find(struct ref_priv *p, uint64_t line)
{
	struct ref_l2_set *s = l2_set(p, line);
	unsigned int i;

	for (i = 0; i < s->used; i++)
		if (s->copy[i].line == line)
			return &s->copy[i];
	return NULL;
}

static void l2_remove(struct ref_priv *p, struct ref_copy *c)
{
	struct ref_l2_set *s = l2_set(p, c->line);

	for (; c + 1 < s->copy + s->used; c++)
		c[0] = c[1];
	s->used--;
}

/* Most recent; there is room. */
static void l2_insert(struct ref_priv *p, struct ref_copy copy)
{
	struct ref_l2_set *s = l2_set(p, copy.line);
	unsigned int i;

	for (i = s->used++; i > 0; i--)
		s->copy[i] = s->copy[i - 1];
	s->copy[0] = copy;
}

enum priv_hit ref_priv_lookup(struct ref_priv *p, uint64_t line, bool store, bool *upgrade)
{
	struct ref_copy *c = l2_find(p, line), copy;

	*upgrade = false;
	if (!c) {
		p->l1_miss++;
		p->l2_miss++;
		return PRIV_MISS;
	}
	*upgrade = store && !c->modified;
	if (l1_remove(p, line)) {
		l1_insert(p, line);
		return PRIV_L1;
	}
	p->l1_miss++;
	copy = *c;
	l2_remove(p, c);
	l2_insert(p, copy);
	l1_insert(p, line);
	return PRIV_L2;
}

bool ref_priv_fill(struct ref_priv *p, uint64_t line, bool modified,
		   uint64_t *victim, bool *victim_modified)
{
	struct ref_l2_set *s = l2_set(p, line);
	bool full = s->used == PRIV_WAYS;

	if (full) {
		struct ref_copy *oldest = &s->copy[PRIV_WAYS - 1];

		*victim = oldest->line;
		*victim_modified = oldest->modified;
		l1_remove(p, oldest->line);
		l2_remove(p, oldest);
	}
	l2_insert(p, (struct ref_copy){ line, modified });
	l1_insert(p, line);
	return full;
}

bool ref_priv_holds(const struct ref_priv *p, uint64_t line)
{
	const struct ref_l2_set *s = &p->l2[line % PRIV_L2_SETS];
	unsigned int i;

	for (i = 0; i < s->used; i++)
		if (s->copy[i].line == line)
			return true;
	return false;
}

void ref_priv_dirty(struct ref_priv *p, uint64_t line)
{
	struct ref_copy *c = l2_find(p, line);

	if (c)
		c->modified = true;
}

void ref_priv_clean(struct ref_priv *p, uint64_t line)
{
	struct ref_copy *c = l2_find(p, line);

	if (c)
		c->modified = false;
}

void ref_priv_invalidate(struct ref_priv *p, uint64_t line)
{
	struct ref_copy *c = l2_find(p, line);

	if (!c)
		return;
	l1_remove(p, line);
	l2_remove(p, c);
}

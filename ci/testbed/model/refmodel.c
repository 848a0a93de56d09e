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

static void add_all(struct ref_cores *to, const struct ref_cores *cores)
{
	unsigned int core;

	for (core = 0; core < LLC_MAX_CORES; core++)
		to->has[core] |= cores->has[core];
}

static const struct ref_cores nobody;

/* Sockets */

unsigned int ref_socket_of(const struct ref_llc *llc, unsigned int who)
{
	return llc->sockets == 2 && is_cpu(who) ? who / llc->socket_cpus : 0;
}

static unsigned int home_socket(const struct ref_llc *llc, uint64_t line)
{
	return llc->sockets == 2 && line >= llc->node1;
}

static struct ref_slice *slice_in(struct ref_llc *llc, unsigned int socket, uint64_t line)
{
	return &llc->slice[socket * llc->slices + ref_slice_of(llc->slices, line)];
}

static struct ref_slice *home_slice(struct ref_llc *llc, uint64_t line)
{
	return slice_in(llc, home_socket(llc, line), line);
}

/* One access, under way */
struct access {
	struct ref_llc *llc;
	struct ref_slice *slice;	/* of the socket that asks */
	struct ref_set *set;
	struct ref_set *other_set;	/* in the other socket's LLC, or NULL */
	bool comes_dirty;		/* from there, with this first and last: */
	unsigned int first, last;
	uint64_t line;
	unsigned int who;
	unsigned int core;		/* of who, if it is a CPU */
	struct ref_count *count;	/* of who, where the line is at home */
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

/* @twin: the other LLC has it as well */
static enum llc_state state_of(const struct ref_line *l, bool twin)
{
	if (!l)
		return LLC_I;
	if (l->dirty)
		return LLC_M;
	return how_many(&l->sharers) >= 2 || twin ? LLC_S : LLC_E;
}

static bool other_has(const struct access *a, uint64_t line)
{
	return a->other_set && find(a->other_set, line);
}

/* What happens to one line */

static void read_dram(struct access *a)
{
	home_slice(a->llc, a->line)->dram_read[ref_channel_of(a->line)]++;
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
	struct ref_slice *home = home_slice(a->llc, l->line);

	home->dram_write[ref_channel_of(l->line)]++;
	home->count[l->first].wb_first++;
	home->count[l->last].wb_last++;
	home->count[a->who].wb_evictor++;
}

static void replace(struct access *a, struct ref_line *victim)
{
	a->result->victim = true;
	a->result->victim_state = state_of(victim, other_has(a, victim->line));
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
		.dirty = a->comes_dirty,
		.first = a->first,
		.last = a->last,
	};
	return l;
}

/* The other socket's LLC */

/* Its copy leaves, with all private ones. */
static void leave_other(struct access *a, struct ref_line *o)
{
	add_all(&a->result->invalidate, &o->sharers);
	remove_line(a->other_set, o);
}

/* @l is this socket's copy, or NULL. */
static void ask_other(struct access *a, enum llc_op op, const struct ref_line *l)
{
	const bool device_writes = op == LLC_DEV_WRITE || op == LLC_DEV_WRITE_PART;
	const bool cpu_writes = op == LLC_CPU_STORE || op == LLC_CPU_UPGRADE;
	struct ref_line *o;

	if (!a->other_set || op == LLC_CPU_WB)
		return;
	o = find(a->other_set, a->line);
	if (l && !((device_writes || cpu_writes) && !l->dirty && o))
		return;

	a->result->asked = true;
	a->result->other = state_of(o, l);
	if (!o)
		return;
	if (device_writes) {
		if (o->dirty)
			write_back(a, o);
		leave_other(a, o);
	} else if (cpu_writes) {
		a->comes_dirty = o->dirty;
		a->first = o->first;
		a->last = o->last;
		leave_other(a, o);
	} else if (op == LLC_CPU_LOAD && o->dirty) {
		write_back(a, o);
		o->dirty = false;
		if (o->owner != REF_NO_CORE)
			a->result->downgrade.has[o->owner] = true;
		o->owner = REF_NO_CORE;
	}
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
		add_all(&a->result->invalidate, &l->sharers);
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
	add_all(&a->result->invalidate, &l->sharers);
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
	if (how_many(&l->sharers) == 1 && l->sharers.has[a->core] && !a->result->asked)
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
	const unsigned int socket = ref_socket_of(llc, who);
	struct ref_slice *slice = slice_in(llc, socket, line);
	struct access a = {
		.llc = llc,
		.slice = slice,
		.set = &slice->set[line % llc->sets],
		.other_set = llc->sockets == 2 ?
			&slice_in(llc, !socket, line)->set[line % llc->sets] : NULL,
		.line = line,
		.who = who,
		.core = who / llc->threads,
		.count = &home_slice(llc, line)->count[who],
		.result = r,
	};
	struct ref_line *l = find(a.set, line);

	*r = (struct ref_result){ .before = state_of(l, other_has(&a, line)) };
	if (op >= LLC_CPU_LOAD && !is_cpu(who))
		abort();
	ask_other(&a, op, l);

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

const struct ref_line *ref_peek(const struct ref_llc *llc, unsigned int socket, uint64_t line)
{
	const struct ref_slice *slice = &llc->slice[socket * llc->slices +
						    ref_slice_of(llc->slices, line)];

	return find(&slice->set[line % llc->sets], line);
}

uint64_t ref_dirty_lines(const struct ref_llc *llc, unsigned int slice, unsigned int who)
{
	const unsigned int home = slice / llc->slices;
	uint64_t n = 0;
	unsigned int socket, i, j;

	for (socket = 0; socket < llc->sockets; socket++) {
		const struct ref_slice *s = &llc->slice[socket * llc->slices +
							slice % llc->slices];

		for (i = 0; i < llc->sets; i++) {
			const struct ref_set *set = &s->set[i];

			for (j = 0; j < set->used; j++)
				n += set->list[j].dirty && set->list[j].first == who &&
				     home_socket(llc, set->list[j].line) == home;
		}
	}
	return n;
}

/* The slices of a socket, from slice @first. Return: as below. */
static const char *make_slices(struct ref_llc *llc, unsigned int first)
{
	unsigned int i, j;

	for (i = first; i < first + llc->slices; i++) {
		struct ref_set *set = calloc(llc->sets, sizeof(*set));
		struct ref_line *list = calloc((size_t)llc->sets * llc->ways, sizeof(*list));

		if (!set || !list) {
			free(set);
			free(list);
			ref_llc_free(llc);
			return "out of memory";
		}
		for (j = 0; j < llc->sets; j++)
			set[j].list = list + (size_t)j * llc->ways;
		llc->slice[i].set = set;
	}
	return NULL;
}

const char *ref_llc_init(struct ref_llc *llc, unsigned int slices, unsigned int sets,
			 unsigned int ways, unsigned int ddio_ways, unsigned int threads)
{
	memset(llc, 0, sizeof(*llc));
	if (slices < 1 || slices > LLC_MAX_SLICES)
		return "slices: not 1 to 24";
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
	llc->sockets = 1;
	return make_slices(llc, 0);
}

const char *ref_llc_sockets(struct ref_llc *llc, unsigned int socket_cpus, uint64_t node1)
{
	if (!socket_cpus || socket_cpus > LLC_MAX_CORES)
		return "CPUs of a socket: not 1 to 32";
	llc->sockets = 2;
	llc->socket_cpus = socket_cpus;
	llc->node1 = node1;
	return make_slices(llc, llc->slices);
}

void ref_llc_free(struct ref_llc *llc)
{
	unsigned int i;

	for (i = 0; i < LLC_MAX_SOCKETS * LLC_MAX_SLICES; i++) {
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

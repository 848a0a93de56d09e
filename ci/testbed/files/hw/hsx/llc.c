// SPDX-License-Identifier: GPL-2.0
/*
 * The caches of the emulated Haswell-EP; llc.h has the model.
 *
 * A set is kept as an array of tags, scanned in one go, and an array of what
 * else is known of each way. Age is a stamp from the set's own clock: the
 * smallest is the least recently used. Stamps are compared by their difference,
 * so the clock may wrap; a way would have to stay untouched for 2^31 accesses
 * of its set to be mistaken for a young one.
 */
#include <stdlib.h>
#include <string.h>

#include "llc.h"

/**
 * llc_slice_init() - an empty slice
 *
 * Return: 0, or -1 if the geometry is out of range or memory is short.
 */
int llc_slice_init(struct llc_slice *s, const struct llc_geometry *geo)
{
	size_t n;

	memset(s, 0, sizeof(*s));
	if (!geo->slices || geo->slices > LLC_MAX_SLICES || !geo->sets ||
	    !geo->ways || geo->ways > LLC_MAX_WAYS || geo->ddio_ways > geo->ways ||
	    geo->thread_bits > 1)
		return -1;

	n = (size_t)geo->sets * geo->ways;
	s->geo = *geo;
	s->tag = calloc(n, sizeof(*s->tag));
	s->way = calloc(n, sizeof(*s->way));
	s->clock = calloc(geo->sets, sizeof(*s->clock));
	if (!s->tag || !s->way || !s->clock) {
		llc_slice_free(s);
		return -1;
	}
	return 0;
}

void llc_slice_free(struct llc_slice *s)
{
	free(s->tag);
	free(s->way);
	free(s->clock);
	s->tag = NULL;
	s->way = NULL;
	s->clock = NULL;
}

/**
 * llc_slice_pair() - these hold the same lines, each for its socket
 */
void llc_slice_pair(struct llc_slice *socket0, struct llc_slice *socket1)
{
	socket0->peer = socket1;
	socket1->peer = socket0;
	socket1->socket = 1;
}

/* Where a line is accounted for. */
static struct llc_slice *home_of(struct llc_slice *s, uint64_t line)
{
	return llc_home_of(s, line) == s->socket ? s : s->peer;
}

/* The way that a line is in, or NULL. */
static struct llc_way *find(const struct llc_slice *s, uint64_t line)
{
	const size_t first = line % s->geo.sets * s->geo.ways;
	const uint64_t *tag = s->tag + first;
	unsigned int i;

	for (i = 0; i < s->geo.ways; i++) {
		if (tag[i] == line + 1)
			return &s->way[first + i];
	}
	return NULL;
}

static enum llc_state state_of(const struct llc_slice *s, const struct llc_way *w,
			       uint64_t line)
{
	if (w->dirty)
		return LLC_M;
	if (w->sharers & (w->sharers - 1) || (s->peer && find(s->peer, line)))
		return LLC_S;
	return LLC_E;
}

static void make_dirty(struct llc_slice *home, struct llc_way *w, unsigned int who)
{
	if (!w->dirty) {
		w->dirty = true;
		w->first = who;
		home->account[who].made_dirty++;
	}
	w->last = who;
}

static void write_back(struct llc_slice *s, struct llc_way *w, uint64_t line,
		       unsigned int evictor, struct llc_result *r)
{
	struct llc_slice *home = home_of(s, line);

	home->account[w->first].wb_first++;
	home->account[w->last].wb_last++;
	home->account[evictor].wb_evictor++;
	home->dram_write[llc_channel_of(line)]++;
	w->dirty = false;
	r->dram_lines++;
}

/* The way to replace: the lowest invalid one, or the least recently used. */
static unsigned int choose(const uint64_t *tag, const struct llc_way *way,
			   unsigned int from, unsigned int to)
{
	unsigned int i, v = from;

	for (i = from; i < to; i++) {
		if (!tag[i])
			return i;
		if ((int32_t)(way[i].stamp - way[v].stamp) < 0)
			v = i;
	}
	return v;
}

/*
 * The part of the other socket's LLC in an access. @w is our copy, or NULL; a dirty copy
 * that comes over is put into @over.
 */
static void ask_other(struct llc_slice *s, enum llc_op op, uint64_t line, unsigned int who,
		      const struct llc_way *w, struct llc_way *over, struct llc_result *r)
{
	struct llc_slice *peer = s->peer;
	struct llc_way *o;

	if (w && (w->dirty || op == LLC_DEV_READ || op == LLC_CPU_LOAD))
		return;
	o = find(peer, line);
	if (w && !o)
		return;
	r->asked = true;
	if (!o)
		return;
	r->other = state_of(peer, o, line);

	switch (op) {
	case LLC_DEV_READ:
		return;
	case LLC_CPU_LOAD:
		if (o->dirty)
			write_back(peer, o, line, who, r);
		if (o->owner >= 0)
			r->downgrade = 1u << o->owner;
		o->owner = -1;
		return;
	case LLC_DEV_WRITE:
	case LLC_DEV_WRITE_PART:
		if (o->dirty)
			write_back(peer, o, line, who, r);
		break;
	default:
		*over = *o;
		break;
	}
	r->invalidate = o->sharers;
	peer->tag[o - peer->way] = 0;
}

/**
 * llc_access() - one access of one line
 * @s:		the slice that the line belongs to, of the socket that asks
 * @op:		what is done
 * @line:	physical address / 64
 * @who:	the actor: a CPU for CPU accesses, any other for a device's
 * @r:		filled in: what was met, and which private copies are gone
 *
 * Context: the caller serialises accesses to a slice, and its peer. The private copies named
 * in @r must be gone before the cores concerned use them again.
 */
void llc_access(struct llc_slice *s, enum llc_op op, uint64_t line,
		unsigned int who, struct llc_result *r)
{
	const unsigned int ways = s->geo.ways, ddio = s->geo.ddio_ways;
	const size_t set = line % s->geo.sets;
	uint64_t *tag = s->tag + set * ways;
	struct llc_way *way = s->way + set * ways, *w = NULL;
	struct llc_slice *home = home_of(s, line);
	struct llc_account *a = &home->account[who];
	const bool device = op <= LLC_DEV_WRITE_PART;
	const bool partial = op == LLC_DEV_WRITE_PART;
	const unsigned int core = who >> s->geo.thread_bits;	/* of a CPU */
	const uint32_t self = device ? 0 : 1u << core;
	struct llc_way over = { .dirty = false };
	unsigned int i;

	memset(r, 0, sizeof(*r));
	for (i = 0; i < ways; i++) {
		if (tag[i] == line + 1) {
			w = &way[i];
			r->before = state_of(s, w, line);
			break;
		}
	}
	if (s->peer && op < LLC_CPU_WB)
		ask_other(s, op, line, who, w, &over, r);

	/* Who asked for what. */
	switch (op) {
	case LLC_DEV_READ:
		a->to_lines++;
		a->to_miss += !w;
		break;
	case LLC_DEV_WRITE:
	case LLC_DEV_WRITE_PART:
		a->from_lines++;
		a->from_miss += !w;
		a->partial_lines += partial;
		a->partial_miss += partial && !w;
		a->fill_lines += partial && !w;
		if (w) {
			a->from_clean_hit += !w->dirty;
			a->from_owned_hit += w->owner >= 0;
		}
		break;
	case LLC_CPU_LOAD:
		a->read_miss += !w;
		break;
	case LLC_CPU_STORE:
		a->write_miss += !w;
		break;
	case LLC_CPU_UPGRADE:
		a->write_miss += !w;
		r->silent = w && w->sharers == self && !r->asked;
		break;
	case LLC_CPU_WB:
		r->silent = !w || w->owner != (int)core;
		if (!r->silent) {
			w->owner = -1;
			w->sharers = 0;
		}
		return;
	case LLC_OPS:
		return;
	}

	if (!w) {
		/* A full line that a device writes needs no read. */
		if (op != LLC_DEV_WRITE) {
			home->dram_read[llc_channel_of(line)]++;
			r->dram_lines++;
		}
		if (op == LLC_DEV_READ)
			return;
		if (device && !ddio) {
			struct llc_way passing = { .owner = -1 };

			make_dirty(home, &passing, who);
			write_back(s, &passing, line, who, r);
			return;
		}

		i = choose(tag, way, device ? ways - ddio : 0, ways);
		w = &way[i];
		if (tag[i]) {
			r->victim = true;
			r->victim_line = tag[i] - 1;
			r->victim_state = state_of(s, w, r->victim_line);
			r->victim_sharers = w->sharers;
			if (w->dirty)
				write_back(s, w, r->victim_line, who, r);
		}
		tag[i] = line + 1;
		w->dirty = over.dirty;
		w->first = over.first;
		w->last = over.last;
		w->sharers = 0;
		w->owner = -1;
	}

	if (!r->silent)
		w->stamp = ++s->clock[set];

	switch (op) {
	case LLC_DEV_WRITE:
	case LLC_DEV_WRITE_PART:
		r->invalidate |= w->sharers;
		w->sharers = 0;
		w->owner = -1;
		make_dirty(home, w, who);
		if (!ddio) {
			write_back(s, w, line, who, r);
			tag[i] = 0;
		}
		break;
	case LLC_CPU_LOAD:
		if (w->owner >= 0 && w->owner != (int)core) {
			r->downgrade = 1u << w->owner;
			w->owner = -1;
		}
		w->sharers |= self;
		break;
	case LLC_CPU_STORE:
	case LLC_CPU_UPGRADE:
		r->invalidate |= w->sharers & ~self;
		w->sharers = self;
		w->owner = core;
		make_dirty(home, w, who);
		break;
	default:
		break;
	}
}

/**
 * llc_dirty_lines() - how many lines are dirty now, by who made them so (first)
 * @s:		their home's slice; they may be in its peer
 * @lines:	added to, an entry for each actor
 */
void llc_dirty_lines(const struct llc_slice *s, uint64_t lines[LLC_ACTORS])
{
	const size_t n = (size_t)s->geo.sets * s->geo.ways;
	const struct llc_slice *in[] = { s, s->peer };
	size_t i, j;

	for (j = 0; j < 2 && in[j]; j++) {
		for (i = 0; i < n; i++) {
			if (in[j]->tag[i] && in[j]->way[i].dirty &&
			    llc_home_of(s, in[j]->tag[i] - 1) == s->socket)
				lines[in[j]->way[i].first]++;
		}
	}
}

#define PRIV_VALID	1ull
#define PRIV_MODIFIED	2ull

/* The way of a line in its set, or PRIV_WAYS. */
static unsigned int priv_find(const uint64_t *set, uint64_t line)
{
	unsigned int i;

	for (i = 0; i < PRIV_WAYS; i++) {
		if ((set[i] | PRIV_MODIFIED) ==
		    (line << 2 | PRIV_MODIFIED | PRIV_VALID))
			break;
	}
	return i;
}

/* Put an entry in front; the ways before @i move back, @i is overwritten. */
static void priv_front(uint64_t *set, unsigned int i, uint64_t entry)
{
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = entry;
}

/* The way to give up: an invalid one, else the oldest. */
static unsigned int priv_choose(const uint64_t *set)
{
	unsigned int i;

	for (i = 0; i < PRIV_WAYS - 1; i++) {
		if (!(set[i] & PRIV_VALID))
			break;
	}
	return i;
}

static void priv_fill_l1(struct priv_cache *p, uint64_t entry)
{
	uint64_t *set = p->l1[(entry >> 2) % PRIV_L1_SETS];

	/* The victim stays in L2, in the state that it has there, too. */
	priv_front(set, priv_choose(set), entry);
}

/**
 * priv_lookup() - a core's load or store looks into its private caches
 * @upgrade:	set if it is a store to a clean copy: tell the LLC, then call
 *		priv_dirty()
 *
 * Return: where it hit; PRIV_MISS: ask the LLC, then call priv_fill().
 */
enum priv_hit priv_lookup(struct priv_cache *p, uint64_t line, bool store,
			  bool *upgrade)
{
	uint64_t *l1 = p->l1[line % PRIV_L1_SETS];
	uint64_t *l2 = p->l2[line % PRIV_L2_SETS];
	unsigned int i = priv_find(l1, line);

	if (i < PRIV_WAYS) {
		priv_front(l1, i, l1[i]);
		*upgrade = store && !(l1[0] & PRIV_MODIFIED);
		return PRIV_L1;
	}

	p->l1_miss++;
	i = priv_find(l2, line);
	if (i < PRIV_WAYS) {
		priv_front(l2, i, l2[i]);
		priv_fill_l1(p, l2[0]);
		*upgrade = store && !(l1[0] & PRIV_MODIFIED);
		return PRIV_L2;
	}

	p->l2_miss++;
	*upgrade = false;
	return PRIV_MISS;
}

/**
 * priv_fill() - a line that missed has come
 * @modified:	it was fetched for a store
 * @victim:	the line that left the core to make room
 *
 * Return: true if a line left; the LLC wants to know if it was modified.
 */
bool priv_fill(struct priv_cache *p, uint64_t line, bool modified,
	       uint64_t *victim, bool *victim_modified)
{
	uint64_t entry = line << 2 | (modified ? PRIV_MODIFIED : 0) | PRIV_VALID;
	uint64_t *l2 = p->l2[line % PRIV_L2_SETS];
	unsigned int i = priv_choose(l2);
	uint64_t old = l2[i];

	if (old & PRIV_VALID) {
		uint64_t *l1 = p->l1[(old >> 2) % PRIV_L1_SETS];
		unsigned int j = priv_find(l1, old >> 2);

		if (j < PRIV_WAYS)
			l1[j] = 0;
		*victim = old >> 2;
		*victim_modified = old & PRIV_MODIFIED;
	}
	priv_front(l2, i, entry);
	priv_fill_l1(p, entry);
	return old & PRIV_VALID;
}

/**
 * priv_holds() - is there a copy of the line? No look-up: nothing moves
 */
bool priv_holds(const struct priv_cache *p, uint64_t line)
{
	/* L2 holds all that L1 holds */
	return priv_find(p->l2[line % PRIV_L2_SETS], line) < PRIV_WAYS;
}

static void priv_change(struct priv_cache *p, uint64_t line, uint64_t keep,
			uint64_t add)
{
	uint64_t *l1 = p->l1[line % PRIV_L1_SETS];
	uint64_t *l2 = p->l2[line % PRIV_L2_SETS];
	unsigned int i = priv_find(l1, line);

	if (i < PRIV_WAYS)
		l1[i] = (l1[i] & keep) | add;
	i = priv_find(l2, line);
	if (i < PRIV_WAYS)
		l2[i] = (l2[i] & keep) | add;
}

/**
 * priv_dirty() - the core may write its copy now: after an upgrade
 */
void priv_dirty(struct priv_cache *p, uint64_t line)
{
	priv_change(p, line, ~0ull, PRIV_MODIFIED);
}

/**
 * priv_clean() - another core reads the line: the copy stays, clean
 */
void priv_clean(struct priv_cache *p, uint64_t line)
{
	priv_change(p, line, ~PRIV_MODIFIED, 0);
}

/**
 * priv_invalidate() - the copy is gone
 */
void priv_invalidate(struct priv_cache *p, uint64_t line)
{
	priv_change(p, line, 0, 0);
}

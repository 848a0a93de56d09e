// SPDX-License-Identifier: GPL-2.0
/*
 * The cache family: loads that follow a chain of pointers, and stores, each in buffers
 * that fit into the first, second, third level and into none
 *
 * The chain visits each unit of the buffer once, in random order, and begins again, so
 * with any replacement that is near to LRU a buffer of twice a cache's size misses it
 * at every load, and one of half its size at none. Sizes in between, where the order of
 * the pages in memory matters, are left to the curves (curve.c): a signature has the
 * plateaus only. A position is kept from run to run; the first lap is not counted.
 *
 * Stores take the units in the order of a linear congruential generator of full period,
 * so that no load is needed to know where to store.
 *
 * The last four probes have what the plateaus don't: atomic and split accesses, and lines
 * that another CPU has just written: one of another core, at the same last level.
 *
 * Prefetchers make a level look closer than it is; what they leave alone is a distance
 * of 128 bytes or more between loads (--unit). In the probe "in order" they may do what
 * they can. Its slope belongs to no category: beside that of "load mem" it says how much
 * they did (prefetch_share()).
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cit.h"
#include "command.h"
#include "random.h"

#define PAGE	4096ul
#define LINE	64ul
#define KEEP(x)	asm volatile("" : "+r"(x))

struct chase {
	uint64_t bytes, units;
	char *buffer;
	void **at;
};

/*
 * One cycle through all units (Sattolo's shuffle); with blocks, each block's units
 * before the next block's.
 */
struct chase *chase_new(uint64_t bytes, unsigned int unit_bytes, unsigned int block_pages,
			bool in_order)
{
	const uint64_t units = bytes / unit_bytes;
	uint64_t per_block = block_pages * PAGE / unit_bytes, state = RANDOM_SEED, i, k;
	struct chase *c;
	uint64_t *order;

	/* Before the order is made, which is an eighth of it */
	if (!buffer_fits(bytes))
		return NULL;
	c = calloc(1, sizeof(*c));
	order = malloc(units * sizeof(*order));
	if (!c || !order)
		complain_errno("a chain of %llu loads", (unsigned long long)units);
	if (c)
		c->buffer = units && order ? buffer_new(bytes) : NULL;
	if (!c || !c->buffer) {
		free(order);
		free(c);
		return NULL;
	}
	c->bytes = bytes;
	c->units = units;
	if (!per_block || per_block > units)
		per_block = units;
	for (i = 0; i < units; i++)
		order[i] = i;
	for (i = 0; i < units && !in_order; i += per_block) {
		const uint64_t n = i + per_block < units ? per_block : units - i;

		for (k = n - 1; k > 0; k--) {
			const uint64_t other = i + random_next(&state) % k, swap = order[i + k];

			order[i + k] = order[other];
			order[other] = swap;
		}
	}
	for (i = 0; i < units; i++)
		*(void **)(c->buffer + order[i] * unit_bytes) =
			c->buffer + order[(i + 1) % units] * unit_bytes;
	c->at = (void **)(c->buffer + order[0] * unit_bytes);
	free(order);
	return c;
}

void chase_run(struct chase *c, uint64_t loads)
{
	void **at = c->at;

	while (loads--) {
		at = *at;
		KEEP(at);
	}
	c->at = at;
}

uint64_t chase_units(const struct chase *c)
{
	return c->units;
}

void chase_free(struct chase *c)
{
	if (!c)
		return;
	buffer_free(c->buffer, c->bytes);
	free(c);
}

/* ---- the sizes of the plateaus ---- */

static uint64_t power_of_two(uint64_t n)
{
	uint64_t p = PAGE;

	while (p * 2 <= n)
		p *= 2;
	return p;
}

/*
 * Between two levels: near their geometric mean, at least half as large again as the
 * smaller one and no more than half of the larger one. From six times the smaller one on
 * there always is such a power of two, below three times never.
 */
uint64_t cache_plateau(const struct cit *cit, unsigned int level)
{
	const uint64_t *c = cit->cache_bytes;
	uint64_t bytes;

	if (!level)
		return power_of_two(c[0] / 2);
	if (level == CIT_LEVELS)
		return power_of_two(8 * c[CIT_LEVELS - 1] - 1);
	bytes = power_of_two(sqrt((double)c[level - 1] * c[level]));
	if (bytes < c[level - 1] + c[level - 1] / 2)
		bytes *= 2;
	return bytes <= c[level] / 2 ? bytes : 0;
}

/* The same for a probe; 0 after it was said why there is none */
static uint64_t plateau(const struct probe *probe, const struct cit *cit, unsigned int level)
{
	const uint64_t bytes = cache_plateau(cit, level), *c = cit->cache_bytes;

	if (!bytes)
		complain("%s is left out: with an L%u of %llu KiB and an L%u of %llu no buffer is well outside of one and well inside of the other",
			 probe->name, level, (unsigned long long)c[level - 1] >> 10, level + 1,
			 (unsigned long long)c[level] >> 10);
	return bytes;
}

/* ---- loads ---- */

static bool load_setup(struct probe *probe, const struct cit *cit)
{
	const uint64_t bytes = plateau(probe, cit, probe->arg);
	struct chase *c = bytes ? chase_new(bytes, cit->unit_bytes, 0, false) : NULL;

	probe->data = c;
	if (c)
		chase_run(c, c->units);
	return c;
}

static bool order_setup(struct probe *probe, const struct cit *cit)
{
	struct chase *c = chase_new(cache_plateau(cit, CIT_LEVELS), LINE, 0, true);

	probe->data = c;
	return c;
}

static bool load_run(struct probe *probe, uint64_t n)
{
	chase_run(probe->data, n);
	return true;
}

static void load_teardown(struct probe *probe)
{
	chase_free(probe->data);
}

/* ---- stores, and accesses of other kinds to a small buffer ---- */

struct stores {
	char *buffer;
	uint64_t bytes, mask, at, unit;
};

static struct stores *stores_new(uint64_t bytes, uint64_t unit)
{
	struct stores *s = calloc(1, sizeof(*s));

	if (s)
		s->buffer = buffer_new(bytes);
	if (!s || !s->buffer) {
		free(s);
		return NULL;
	}
	s->bytes = bytes;
	s->unit = unit;
	s->mask = bytes / unit - 1;
	return s;
}

static bool store_run(struct probe *probe, uint64_t n)
{
	struct stores *s = probe->data;
	char *const buffer = s->buffer;
	const uint64_t mask = s->mask, unit = s->unit;
	uint64_t at = s->at;

	while (n--) {
		/* A multiplier of 4 k + 1 and an odd addend: all of a power of two, in turn */
		at = (at * 5 + 12345) & mask;
		*(volatile uint64_t *)(buffer + at * unit) = n;
	}
	s->at = at;
	return true;
}

static bool store_setup(struct probe *probe, const struct cit *cit)
{
	const uint64_t bytes = plateau(probe, cit, probe->arg);
	struct stores *s = bytes ? stores_new(bytes, cit->unit_bytes) : NULL;

	probe->data = s;
	if (s)
		store_run(probe, s->mask + 1);
	return s;
}

static void stores_free(struct stores *s)
{
	if (s)
		buffer_free(s->buffer, s->bytes);
	free(s);
}

static void store_teardown(struct probe *probe)
{
	stores_free(probe->data);
}

static bool small_setup(struct probe *probe, const struct cit *cit)
{
	probe->data = stores_new(cache_plateau(cit, 0), cit->unit_bytes);
	return probe->data;
}

/* Atomic additions */
static bool locked_run(struct probe *probe, uint64_t n)
{
	struct stores *s = probe->data;
	char *const buffer = s->buffer;
	const uint64_t mask = s->mask, unit = s->unit;
	uint64_t i;

	for (i = 0; i < n; i++)
		__atomic_fetch_add((uint64_t *)(buffer + (i & mask) * unit), 1, __ATOMIC_SEQ_CST);
	return true;
}

/* Across the border between two lines; the last unit stays free */
static bool split_load_run(struct probe *probe, uint64_t n)
{
	struct stores *s = probe->data;
	const char *const buffer = s->buffer + LINE - 4;
	const uint64_t mask = s->mask >> 1, unit = s->unit;
	uint64_t i;

	for (i = 0; i < n; i++) {
#ifdef __x86_64__
		uint64_t value;

		asm volatile("mov %1, %0" : "=r"(value)
			     : "m"(*(const uint64_t *)(buffer + (i & mask) * unit)));
#else
		uint64_t value;

		memcpy(&value, buffer + (i & mask) * unit, sizeof(value));
		KEEP(value);
#endif
	}
	return true;
}

static bool split_store_run(struct probe *probe, uint64_t n)
{
	struct stores *s = probe->data;
	char *const buffer = s->buffer + LINE - 4;
	const uint64_t mask = s->mask >> 1, unit = s->unit;
	uint64_t i;

	for (i = 0; i < n; i++) {
#ifdef __x86_64__
		asm volatile("mov %1, %0" : "=m"(*(uint64_t *)(buffer + (i & mask) * unit))
			     : "r"(i));
#else
		memcpy(buffer + (i & mask) * unit, &i, sizeof(i));
		asm volatile("" : : : "memory");
#endif
	}
	return true;
}

/* ---- lines that another CPU has just written ---- */

/*
 * Before each run, the other thread writes the lines that will be read. They wait for
 * each other on futexes inside of pthreads, not by spinning, so that two threads on one
 * CPU would get on, too.
 */
struct other {
	struct stores *s;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint64_t wanted;		/* lines to write; 0: none */
	bool stop, astray;		/* it was elsewhere when it had written them */
	int cpu;
};

static void *other_main(void *arg)
{
	struct other *o = arg;

	pin_to_cpu(o->cpu);
	pthread_mutex_lock(&o->mutex);
	while (!o->stop) {
		while (o->wanted) {
			o->wanted--;
			*(volatile uint64_t *)(o->s->buffer + o->wanted * o->s->unit) = o->wanted;
		}
		o->astray = !on_cpu(o->cpu);
		pthread_cond_broadcast(&o->cond);
		pthread_cond_wait(&o->cond, &o->mutex);
	}
	pthread_mutex_unlock(&o->mutex);
	return NULL;
}

static void other_free(struct other *o)
{
	pthread_cond_destroy(&o->cond);
	pthread_mutex_destroy(&o->mutex);
	stores_free(o->s);
	free(o);
}

static bool other_setup(struct probe *probe, const struct cit *cit)
{
	struct other *o;

	probe->data = NULL;
	if (cit->other < 0) {
		complain("%s is left out: of the CPUs that this process may run on none is another core's at the same last level of cache as CPU %d",
			 probe->name, cit->cpu);
		return false;
	}
	o = calloc(1, sizeof(*o));
	if (!o) {
		complain_errno("%s", probe->name);
		return false;
	}
	o->s = stores_new(probe->step * probe->points * cit->unit_bytes, cit->unit_bytes);
	o->cpu = cit->other;
	pthread_mutex_init(&o->mutex, NULL);
	pthread_cond_init(&o->cond, NULL);
	if (!o->s || pthread_create(&o->thread, NULL, other_main, o)) {
		complain("no second thread");
		other_free(o);
		return false;
	}
	probe->data = o;
	return true;
}

static void other_prepare(struct probe *probe, uint64_t n)
{
	struct other *o = probe->data;

	pthread_mutex_lock(&o->mutex);
	o->wanted = n;
	pthread_cond_broadcast(&o->cond);
	while (o->wanted)
		pthread_cond_wait(&o->cond, &o->mutex);
	pthread_mutex_unlock(&o->mutex);
}

static bool other_run(struct probe *probe, uint64_t n)
{
	struct other *o = probe->data;
	char *const buffer = o->s->buffer;
	const uint64_t unit = o->s->unit;

	if (o->astray) {
		complain_taken(o->cpu);
		return false;
	}
	while (n--) {
		uint64_t value = *(volatile uint64_t *)(buffer + n * unit);

		KEEP(value);
	}
	return true;
}

static void other_teardown(struct probe *probe)
{
	struct other *o = probe->data;

	pthread_mutex_lock(&o->mutex);
	o->stop = true;
	pthread_cond_broadcast(&o->cond);
	pthread_mutex_unlock(&o->mutex);
	pthread_join(o->thread, NULL);
	other_free(o);
}

#define ACCESSES .step = 4000, .points = 5
#define LOADS .setup = load_setup, .run = load_run, .teardown = load_teardown, ACCESSES
#define STORES .setup = store_setup, .run = store_run, .teardown = store_teardown, ACCESSES
#define SMALL(f) .setup = small_setup, .run = f, .teardown = store_teardown, ACCESSES

enum {
	LOAD, STORE = LOAD + CIT_LEVELS + 1, LOCKED = STORE + CIT_LEVELS + 1, SPLIT_LOAD,
	SPLIT_STORE, OTHER, ORDER, PROBES
};

static struct probe probe[PROBES] = {
	{ "load L1", "chase in half of the first level", LOADS, .arg = 0 },
	{ "load L2", "chase that fits into the second level", LOADS, .arg = 1 },
	{ "load L3", "chase that fits into the third level", LOADS, .arg = 2 },
	{ "load mem", "chase that fits into no cache", LOADS, .arg = 3 },
	{ "store L1", "stores to half of the first level", STORES, .arg = 0 },
	{ "store L2", "stores that fit into the second level", STORES, .arg = 1 },
	{ "store L3", "stores that fit into the third level", STORES, .arg = 2 },
	{ "store mem", "stores that fit into no cache", STORES, .arg = 3 },
	{ "locked", "atomic additions, first level", SMALL(locked_run) },
	{ "split load", "loads across lines, first level", SMALL(split_load_run) },
	{ "split store", "stores across lines, first level", SMALL(split_store_run) },
	{ "other's", "loads of what another CPU has written", .setup = other_setup,
	  .prepare = other_prepare, .run = other_run, .teardown = other_teardown,
	  .step = 50, .points = 5 },
	{ "in order", "each line of a buffer that fits into no cache, one by one",
	  .setup = order_setup, .run = load_run, .teardown = load_teardown, ACCESSES },
};

/*
 * Categories: an event of level k counts hits (its plateau) or misses (all later ones),
 * of loads, stores or both. Misses of a level are what the next one is asked for. An
 * access to a small buffer hits the first level; what another CPU has written misses the
 * first two, is in the third and is no plain hit there.
 */
static struct category category[3 * (2 * CIT_LEVELS + 1) + 5];
static char names[3 * (2 * CIT_LEVELS + 1)][2][80];

static void fill(struct category *c, char (*text)[80], int level, bool hit, int kind)
{
	static const char *const kinds[] = { "loads", "stores", "loads and stores" };
	static const char *const suffix[] = { "r", "w", "rw" };
	const bool loads = kind != 1, stores = kind != 0;
	int p;

	for (p = 0; p <= CIT_LEVELS; p++) {
		const bool counts = level < 0 || (hit ? p == level : p > level);

		c->expected[LOAD + p] = loads && counts;
		c->expected[STORE + p] = stores && counts;
	}
	if (level < 0 || (hit && !level)) {
		c->expected[LOCKED] = loads + stores;
		c->expected[SPLIT_LOAD] = loads;
		c->expected[SPLIT_STORE] = stores;
	}
	c->expected[OTHER] = loads && (level < 0 || (!hit && level < 2));
	c->expected[ORDER] = CIT_ANY;
	if (level < 0) {
		sprintf(text[0], "A/%s", suffix[kind]);
		sprintf(text[1], "%s", kinds[kind]);
	} else {
		sprintf(text[0], "L%d%c/%s", level + 1, hit ? 'H' : 'M', suffix[kind]);
		sprintf(text[1], "%s that %s L%d%s", kinds[kind], hit ? "hit" : "miss", level + 1,
			hit ? "" : level == CIT_LEVELS - 1 ? ": reach memory" :
			level == 1 ? ": reach L3" : ": reach L2");
	}
	c->name = text[0];
	c->meaning = text[1];
}

static void only(struct category *c, const char *name, const char *meaning, int p)
{
	c->name = name;
	c->meaning = meaning;
	if (p >= 0)
		c->expected[p] = 1;
	c->expected[ORDER] = CIT_ANY;
}

const struct family *cache_family(void)
{
	static struct family family;
	int level, kind, n = 0;

	if (family.name)
		return &family;
	for (level = -1; level < CIT_LEVELS; level++) {
		for (kind = 0; kind < 3; kind++) {
			fill(&category[n], names[n], level, false, kind);
			n++;
			if (level < 0)
				continue;
			fill(&category[n], names[n], level, true, kind);
			n++;
		}
	}
	only(&category[n++], "LOCK", "atomic accesses", LOCKED);
	only(&category[n++], "SPLIT/r", "loads across two lines", SPLIT_LOAD);
	only(&category[n++], "SPLIT/w", "stores across two lines", SPLIT_STORE);
	only(&category[n++], "HITM", "loads of lines modified in another core's cache", OTHER);
	only(&category[n++], "-", "nothing of this", -1);
	family = (struct family) {
		.name = "cache",
		.unit = "access",
		.levels = CIT_LEVELS,
		.probe = probe,
		.probes = PROBES,
		.category = category,
		.categories = n,
	};
	return &family;
}

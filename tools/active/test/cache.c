// SPDX-License-Identifier: GPL-2.0
/*
 * memio active on the cache of the emulated machine, without the machine: its library
 * (ci/testbed/files/hw/hsx/llc.h) gets the accesses that the benchmark and the interferers
 * make, one each in turn, each from a core of its own with private caches. Nothing is
 * timed, and each run is the same.
 *
 *	cache hits	figure 5: hits by distribution and buffer, against what is expected
 *	cache left	figure 6: the cache that CSThr leave, by the benchmark's hits, against
 *			what is in the cache and not theirs, line by line
 *	cache beside	figures 7 and 8: misses of one kind beside the other
 *
 * Prints a table in lines that begin with #, and checks, "ok TEXT" or "not ok TEXT".
 */
#include <stdlib.h>
#include <string.h>

#include "../effect.h"
#include "../model.h"
#include "llc.h"
#include "random.h"
#include "statistics.h"
#include "test.h"

#define CORES	6
#define SLICES	8
#define WAYS	20
#define LLC	(2560ull << 10)
#define BW_BUFFERS 44
#define PRIME	2654435761ull
#define PAGE_LINES 64

/* What the machine says that its last cache has */
static uint64_t claimed = LLC;
static struct llc_slice slice[SLICES];
static struct priv_cache core[CORES];

static void machine_new(void)
{
	const struct llc_geometry geo = {
		.slices = SLICES, .sets = LLC / LINE_BYTES / WAYS / SLICES, .ways = WAYS,
		.ddio_ways = 2,
	};
	unsigned int i;

	memset(core, 0, sizeof(core));
	for (i = 0; i < SLICES; i++)
		if (llc_slice_init(&slice[i], &geo))
			exit(3);
}

static void machine_free(void)
{
	unsigned int i;

	for (i = 0; i < SLICES; i++)
		llc_slice_free(&slice[i]);
}

static void tell(uint32_t cores, uint64_t line, bool clean)
{
	for (; cores; cores &= cores - 1) {
		struct priv_cache *p = &core[__builtin_ctz(cores)];

		if (clean)
			priv_clean(p, line);
		else
			priv_invalidate(p, line);
	}
}

static struct llc_result at_llc(enum llc_op op, uint64_t line, unsigned int who)
{
	struct llc_result r;

	llc_access(&slice[llc_slice_of(SLICES, line)], op, line, who, &r);
	tell(r.invalidate, line, false);
	tell(r.downgrade, line, true);
	if (r.victim)
		tell(r.victim_sharers, r.victim_line, false);
	return r;
}

/* Pages lie anywhere in memory: a core's are told from others' by bits that are left */
static uint64_t physical(unsigned int who, uint64_t line)
{
	const uint64_t page = line / PAGE_LINES;

	return ((uint64_t)who << 30 | (page * 40503 & 0xffffff) * PAGE_LINES) + line % PAGE_LINES;
}

/* One access; whether it missed the last cache */
static bool access(unsigned int who, uint64_t at, bool store)
{
	const uint64_t line = physical(who, at);
	bool clean, modified;
	struct llc_result r;
	uint64_t victim;

	if (priv_lookup(&core[who], line, store, &clean) != PRIV_MISS) {
		if (clean) {
			at_llc(LLC_CPU_UPGRADE, line, who);
			priv_dirty(&core[who], line);
		}
		return false;
	}
	r = at_llc(store ? LLC_CPU_STORE : LLC_CPU_LOAD, line, who);
	if (priv_fill(&core[who], line, store, &victim, &modified) && modified)
		at_llc(LLC_CPU_WB, victim, who);
	return r.before == LLC_I;
}

/* Lines of a core's buffer that are in the last cache */
static uint64_t lines_of(unsigned int who)
{
	uint64_t n = 0;
	unsigned int i;
	size_t k;

	for (i = 0; i < SLICES; i++)
		for (k = 0; k < (size_t)slice[i].geo.sets * WAYS; k++)
			n += slice[i].tag[k] && (slice[i].tag[k] - 1) >> 30 == who;
	return n;
}

/* ---- who makes accesses ---- */

struct actor {
	unsigned int core;
	enum { PROBE, CS, BW } kind;
	const struct pattern *pattern;
	uint64_t lines, state, n, made, missed;
};

static void step(struct actor *a)
{
	const uint64_t each = a->lines / BW_BUFFERS;
	uint64_t at = 0;

	switch (a->kind) {
	case PROBE:
		at = pattern_element(a->pattern, a->state) * 4ull / LINE_BYTES;
		random_next(&a->state);
		break;
	case CS:
		at = (random_next(&a->state) >> 32) * a->lines >> 32;
		break;
	case BW:
		at = PRIME * (a->n / BW_BUFFERS + 1) % each + a->n % BW_BUFFERS * each;
		a->n++;
	}
	a->made++;
	a->missed += access(a->core, at, a->kind != PROBE);
}

static struct actor actor_new(unsigned int at, int kind, const struct pattern *p)
{
	return (struct actor) {
		.core = at, .kind = kind, .pattern = p, .state = RANDOM_SEED + at,
		.lines = (kind == PROBE ? p->bytes : kind == CS ? claimed / 5 :
			  2 * claimed) / LINE_BYTES,
	};
}

/* All of them in turn, the first @rounds times; the others @faster times as often */
static void run(struct actor *a, unsigned int n, uint64_t rounds, unsigned int faster)
{
	unsigned int i, k;

	while (rounds--) {
		step(&a[0]);
		for (k = 0; k < faster; k++)
			for (i = 1; i < n; i++)
				step(&a[i]);
	}
}

static void forget(struct actor *a, unsigned int n)
{
	while (n--) {
		a[n].made = 0;
		a[n].missed = 0;
	}
}

static double misses(const struct actor *a)
{
	return (double)a->missed / a->made;
}

/* The benchmark as memio runs it */
static double probe_hits(struct actor *a, unsigned int n, unsigned int faster)
{
	run(a, n, reads_to_warm_up(a[0].pattern, LLC), faster);
	forget(a, n);
	run(a, n, a[0].lines, faster);
	return 1 - misses(&a[0]);
}

/* ---- figures ---- */

static void figure_5(void)
{
	static const double size[] = { 1.5, 1.8, 2.1, 2.4, 2.7, 3.0, 3.35, 3.7 };
	double all = 0, all_seed = 0, many = 0, worst = 0, fewest = 1, most = 0;
	unsigned int i, k, n_many = 0;

	printf("# %-8s %8s %10s %10s %10s\n", "", "buffer", "missed", "expected", "equation 4");
	for (k = 0; k < N(size); k++) {
		for (i = 0; i < DISTRIBUTIONS; i++) {
			static struct pattern p;
			struct actor a;
			double miss, expected, seed, error;

			pattern_init(&p, &distribution[i], size[k] * LLC);
			machine_new();
			a = actor_new(0, PROBE, &p);
			miss = 1 - probe_hits(&a, 1, 1);
			machine_free();
			expected = 1 - hit_rate(&p, LRU, LLC);
			seed = 1 - hit_rate(&p, SEED, LLC);
			error = fabs(miss - expected);
			printf("# %-8s %8.2f %10.4f %10.4f %10.4f\n", distribution[i].name, size[k],
			       miss, expected, seed);
			all += error;
			all_seed += fabs(miss - seed);
			worst = fmax(worst, error);
			fewest = fmin(fewest, miss);
			most = fmax(most, miss);
			if (miss > 0.5) {
				many += error;
				n_many++;
			}
		}
	}
	all /= N(size) * DISTRIBUTIONS;
	all_seed /= N(size) * DISTRIBUTIONS;
	check(fewest < 0.1 && most > 0.7, "misses from %.1f to %.1f %%", fewest * 100, most * 100);
	check(all <= 0.01, "mean error: %.2f %% of all reads; equation 4 has %.2f", all * 100,
	      all_seed * 100);
	check(worst <= 0.03, "... largest %.2f", worst * 100);
	check(many / n_many <= 0.005, "... above 50 %% misses, of %u: %.2f", n_many,
	      many / n_many * 100);
}

static void figure_6(void)
{
	static const unsigned int faster[] = { 1, 4 };
	unsigned int f, k, i;

	for (f = 0; f < N(faster); f++) {
		double last = 2;

		printf("# each CSThr %u times as often; parts of the cache\n# %5s %9s %18s %10s\n",
		       faster[f], "CSThr", "estimate", "95 % interval", "is left");
		for (k = 0; k <= 5; k++) {
			double estimate[DISTRIBUTIONS], left = 0;
			struct interval v;
			unsigned int n = 0;

			for (i = 0; i < DISTRIBUTIONS; i++) {
				static struct pattern p;
				struct actor a[CORES];
				double hits;
				unsigned int c;

				pattern_init(&p, &distribution[i], 2 * LLC);
				/* The faster ones are the slower ones here: four are enough. */
				if (hit_rate(&p, LRU, LLC) > 0.92 || (f && i % 3))
					continue;
				machine_new();
				a[0] = actor_new(0, PROBE, &p);
				for (c = 1; c <= k; c++)
					a[c] = actor_new(c, CS, NULL);
				hits = probe_hits(a, k + 1, faster[f]);
				if (hits < 0.9) {
					double theirs = 0;

					for (c = 1; c <= k; c++)
						theirs += lines_of(c);
					left += 1 - theirs * LINE_BYTES / LLC;
					estimate[n++] = capacity(&p, LRU, hits) / LLC;
				}
				machine_free();
			}
			v = interval_of(estimate, n);
			left /= n;
			printf("# %5u %9.3f %9.3f %8.3f %10.3f\n", k, v.mean, v.low, v.high, left);
			check(fabs(v.mean - left) <= 0.02, "%u CSThr leave %.3f of the cache, found: %.3f",
			      k, left, v.mean);
			check(v.mean < last, "... less than one fewer");
			last = v.mean;
		}
	}
}

/* How often one misses beside so many of the other kind, and these for each that it does */
static struct effect beside(int kind, int other, unsigned int others, unsigned int passes)
{
	struct effect e = { .rate = 1 };
	struct actor a[CORES];
	unsigned int i;

	machine_new();
	a[0] = actor_new(0, kind, NULL);
	for (i = 1; i <= others; i++)
		a[i] = actor_new(i, other, NULL);
	run(a, others + 1, 2 * passes * a[0].lines, 1);
	forget(a, others + 1);
	run(a, others + 1, passes * a[0].lines, 1);
	machine_free();
	e.misses = misses(&a[0]);
	for (i = 1; i <= others; i++)
		e.others += (double)a[i].missed / a[0].made;
	printf("# %5u %9.4f %9.4f\n", others, e.misses, e.others);
	return e;
}

static void figures_7_and_8(void)
{
	struct effect of_bw[CORES];
	double missed[CORES];
	unsigned int k;

	puts("# misses of one BWThr beside so many CSThr, and theirs");
	for (k = 0; k < CORES; k++) {
		of_bw[k] = beside(BW, CS, k, 2);
		check(of_bw[k].misses > 0.99, "one BWThr beside %u CSThr misses each time: %.4f", k,
		      of_bw[k].misses);
	}
	k = effects_clean(of_bw, CORES - 1, OF_BANDWIDTH);
	check(k >= 3, "%u CSThr leave the bandwidth alone", k);
	claimed = 5 * LLC;
	puts("# the same, where there is a fifth of the cache that the machine says");
	for (k = 0; k < 3; k++)
		of_bw[k] = beside(BW, CS, k, 2);
	check(effects_clean(of_bw, 2, OF_BANDWIDTH) == 0, "none does, of a cache five times as large as there is: %.2f",
	      of_bw[1].others);
	claimed = LLC;
	puts("# misses of one CSThr beside so many BWThr");
	for (k = 0; k < CORES; k++)
		missed[k] = beside(CS, BW, k, 20).misses;
	check(missed[0] < 0.01 && missed[1] < 0.1 && missed[2] < 0.2,
	      "one CSThr keeps its buffer beside none, one, two BWThr: %.3f, %.3f, %.3f",
	      missed[0], missed[1], missed[2]);
	check(missed[5] > missed[2] + 0.1, "... and not beside five: %.3f", missed[5]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "hits"))
		figure_5();
	else if (!strcmp(what, "left"))
		figure_6();
	else if (!strcmp(what, "beside"))
		figures_7_and_8();
	else
		return 2;
	return failed ? 1 : 0;
}

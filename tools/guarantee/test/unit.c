// SPDX-License-Identifier: GPL-2.0
/*
 * memio guarantee on paper: the orders in which lines are touched, what a pattern counts and
 * what caches of different kinds would have kept of that, statistics, the least and the
 * margin, sizes of buffers, and cores on machines made up by hwloc.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../guarantee.h"
#include "../order.h"
#include "test.h"

#define MIB (1ull << 20)

/* Does it touch each of the lines once? */
static bool each_once(uint64_t (*order)(uint64_t i, unsigned int bits), unsigned int bits)
{
	const uint64_t n = 1ull << bits;
	unsigned char *seen = calloc(n, 1);
	bool good = seen;
	uint64_t i;

	for (i = 0; i < n && good; i++) {
		const uint64_t line = order(i, bits);

		good = line < n && !seen[line];
		if (good)
			seen[line] = 1;
	}
	free(seen);
	return good;
}

static void orders(void)
{
	unsigned int bits, near = 0, once = 0;
	uint64_t i;

	for (bits = 14; bits <= 20; bits++)
		once += each_once(order_random, bits) && each_once(order_stride, bits);
	check(once == 7, "each line once, from 1 to 64 MiB");
	/* In the same 8 KiB, the row of a bank, as the one before: 1 of 2048 by chance */
	for (i = 1; i < 1 << 18; i++)
		near += order_random(i, 18) >> 7 == order_random(i - 1, 18) >> 7;
	check(near < 3 * (1 << 18) / 2048, "no order: %u of %u in the row before", near, 1 << 18);
	check(order_stride(1, 14) * LINE_BYTES == 131072, "a stride of 128 KiB");
	check(order_stride(8, 14) == 1, "... and behind the last one, the next lines");
}

struct running {
	const struct pattern *p;
	struct stream s;
};

static void *run(void *arg)
{
	struct running *r = arg;

	r->p->run(&r->s);
	return NULL;
}

/* The lines that a pattern counts, and what it has changed meanwhile in every first word */
static uint64_t counted(const struct pattern *p, unsigned int bits, uint64_t *changed)
{
	struct running r = { .p = p, .s.bits = bits };
	uint64_t *words = aligned_alloc(4096, LINE_BYTES << bits);
	pthread_t id;
	uint64_t i;

	r.s.buffer = (char *)words;
	for (i = 0; i < 8ull << bits; i++)
		words[i] = 0;
	/* What copy reads is not what is there. */
	for (i = 0; i < 8ull << (bits - 1); i += 8)
		words[i] = !strcmp(p->name, "copy");
	pthread_create(&id, NULL, run, &r);
	while (r.s.lines < 3 * p->pass * (1 << bits))
		sched_yield();
	r.s.stop = true;
	pthread_join(id, NULL);
	for (*changed = 0, i = 0; i < 8ull << bits; i += 8)
		*changed += words[i];
	free(words);
	return r.s.lines;
}

static void counts(void)
{
	const unsigned int bits = 14;
	unsigned int i;

	for (i = 0; i < PATTERNS; i++) {
		const struct pattern *p = &patterns[i];
		uint64_t changed, lines = counted(p, bits, &changed);

		if (!strcmp(p->name, "copy"))
			check(changed == 1ull << bits, "copy: one half is as the other");
		else if (p->hit > 1)
			check(changed * 2 == lines, "%s: two lines for each that is stored to",
			      p->name);
		else
			check(!changed, "%s: nothing is stored", p->name);
	}
}

/* Of lines in a circle: what a cache that keeps as many as it can would have moved */
static void kept(void)
{
	const double cache = 1000, n = 16000;
	const struct pattern *p;
	unsigned int i;

	for (i = 0, p = patterns; i < PATTERNS; i++, p++) {
		const double moved = p->pass * n - p->hit * cache;
		const double part = from_memory(p, cache * LINE_BYTES, n * LINE_BYTES);

		near(p->name, part, moved / (p->pass * n), EXACT);
	}
	near("read: a sixteenth less", from_memory(&patterns[0], MIB, 16 * MIB), 15 / 16., EXACT);
	near("copy: a twelfth", from_memory(&patterns[1], MIB, 16 * MIB), 11 / 12., EXACT);
	check(from_memory(&patterns[0], 4 * MIB, 4 * MIB) <= 0, "what fits is not moved");
}

static void sizes(void)
{
	check(buffer_bytes(20 * MIB, 8) == 64 * MIB, "20 MiB, 8 threads: 40 MiB, so 64");
	check(buffer_bytes(32 * MIB, 2) == 256 * MIB, "32 MiB, 2 threads: 256 MiB");
	check(buffer_bytes(640 * 1024, 2) == 8 * MIB, "640 KiB, 2 threads: 5 MiB, so 8");
	check(buffer_bytes(4096, 4) == BUFFER_MIN, "no less than 1 MiB");
	check(buffer_bytes(1ull << 50, 1) == BUFFER_MAX, "no more than 64 GiB");
}

static void rates(void)
{
	/* 64 MB in a second, and what an interrupt, or a neighbour, makes of it */
	static const struct window w[] = {
		{ 1e9, 1000000, 1 }, { 1e9, 990000, 0.97 }, { 2e9, 2000000, 1 },
		{ 1e9, 1020000, 1 }, { 5e8, 250000, 0.6 },
	};
	struct rate r = rate_of(w, N(w), 1);
	struct rate all[] = { { .bytes_s = 3 }, { .bytes_s = 1 }, { .bytes_s = 1 },
			      { .bytes_s = 2 } };

	near("the median of windows", r.bytes_s, 64e6, EXACT);
	near("... their spread", r.spread, 0.52, EXACT);
	near("... how long they ran", r.ran, 0.6, EXACT);
	near("what caches may have kept", rate_of(w, N(w), 0.75).bytes_s, 48e6, EXACT);
	near("... changes no spread", rate_of(w, N(w), 0.75).spread, 0.52, EXACT);
	near("nothing moved", rate_of((const struct window[]){ { 1e9, 0, 1 } }, 1, 1).spread, 0, 0);
	check(least_of(all, 4) == 1, "the least, the first of them");
	check(least_of(all, 1) == 0, "... of one");
	check(guarantee_of(1e9, 10) == 900000000, "10 %% less");
	check(guarantee_of(1e9, 0) == 1000000000, "nothing less");
	check(guarantee_of(1e9, 99) == 10000000, "99 %% less");
	check(guarantee_of(19, 10) == 17, "never more than was measured");
	check(rate_of((const struct window[]){ { 3e9, 1, 1 } }, 1, 1).bytes_s == 21,
	      "whole bytes, and no more than moved");
}

static struct spots s;

/* found: whether there are spots; @machine as hwloc describes one, @allowed as taskset */
static bool found(const char *machine, const char *allowed, unsigned int cores,
		  const uint64_t *caches)
{
	static const uint64_t machines[CACHE_LEVELS];
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	hwloc_topology_t t;
	bool good;

	hwloc_topology_init(&t);
	hwloc_topology_set_synthetic(t, machine);
	hwloc_topology_set_cache_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_load(t);
	hwloc_bitmap_list_sscanf(set, allowed);
	good = spots_find(t, set, cores, caches ? caches : machines, &s);
	hwloc_topology_destroy(t);
	hwloc_bitmap_free(set);
	return good;
}

static void places(void)
{
	static const char two[] =
		"package:2 l3:1(size=20971520) l2:4(size=262144) l1d:1(size=32768) core:1 pu:2";
	/* As AMD's: two L3 in a package */
	static const char ccx[] =
		"package:1 l3:2(size=33554432) l2:2(size=1048576) l1d:1(size=32768) core:1 pu:1";
	static const uint64_t caches[] = { 32768, 262144, 655360 };
	struct package *p = s.package;

	check(found(two, "0-15", 0, NULL) && s.packages == 2, "two packages");
	check(p[0].threads == 4 && p[1].threads == 4, "... a thread for each core");
	check(p[0].cpu[0] == 0 && p[0].cpu[3] == 6 && p[1].cpu[0] == 8, "... not for its sibling");
	check(p[0].number == 0 && p[1].number == 1 && p[1].cores == 4, "... with their numbers");
	check(p[0].cache_bytes == 20 * MIB + 4 * (262144 + 32768), "... and caches");
	check(found(two, "1,3,9", 0, NULL) && p[0].threads == 2 && p[1].threads == 1,
	      "what is allowed");
	check(p[0].cpu[1] == 3 && p[1].cpu[0] == 9, "... siblings, if nothing else is");
	check(p[0].cache_bytes == 20 * MIB + 2 * (262144 + 32768), "... and what is above them");
	check(p[0].cores == 4 && !s.missed, "... of all that there are");
	check(found(two, "9,10", 0, NULL) && s.packages == 1 && p[0].number == 1 && s.missed == 1,
	      "one package of two");
	check(found(two, "0-15", 3, NULL) && p[0].threads == 3 && p[1].threads == 3,
	      "three cores of each");
	check(!found(two, "0-7,8", 3, NULL) && strstr(s.error, "package 1: of its cores"),
	      "... of which there is one: %s", s.error);
	check(!found(two, "63", 0, NULL), "no core: %s", s.error);
	check(found(ccx, "0-3", 0, NULL) && p[0].cache_bytes == 64 * MIB + 4 * MIB + 4 * 32768,
	      "two last caches in a package");
	check(found(ccx, "0-1", 0, NULL) && p[0].cache_bytes == 32 * MIB + 2 * MIB + 2 * 32768,
	      "... of which one is used");
	check(found(ccx, "0-3", 0, caches) && p[0].cache_bytes == 2 * 655360 + 4 * (262144 + 32768),
	      "other sizes");
	check(!found("package:1 core:2 pu:1", "0-1", 0, NULL) && strstr(s.error, "--caches"),
	      "caches that nobody knows");
	check(found("package:1 core:2 pu:1", "0-1", 0, caches) &&
	      p[0].cache_bytes == 655360 + 2 * (262144 + 32768), "... and somebody says");
	check(found("core:2 pu:1", "0-1", 0, caches) && s.packages == 1, "a machine of no package");
}

int main(void)
{
	orders();
	counts();
	kept();
	sizes();
	rates();
	places();
	return failed ? 1 : 0;
}

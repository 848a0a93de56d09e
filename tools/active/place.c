// SPDX-License-Identifier: GPL-2.0
/*
 * Who runs where
 *
 * Interference is to reach the command by the cache and the memory that they share, and by
 * nothing else. So they are below one last-level cache, each on a core of its own: two
 * threads of a core share its pipeline and its private caches, and the siblings of the
 * command's CPUs are the command's or stay idle. So do cores that share the command's L2, where
 * that is not the last cache and there are others. Of several caches the one with most
 * cores that are allowed is taken; of its cores the command gets the last ones, as
 * most interrupts go to the first. Where no cache has enough of them, any cores are taken,
 * and that they share none is said: virtual machines often hide what is shared. Who moves
 * data by DMA loads and stores little, but for UDP (bubble.c); it gets a core that is not
 * below this cache, if there is one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cores.h"
#include "place.h"

/* What the cores of a domain share: a cache, or nothing known, and then their package */
static hwloc_obj_t domain_of(hwloc_topology_t topology, const struct core *core)
{
	hwloc_obj_t package;

	if (core->cache && core->cache->type != HWLOC_OBJ_L1CACHE)
		return core->cache;
	package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core->unit);
	return package ? package : hwloc_get_root_obj(topology);
}

static bool is_in(const struct core *core, hwloc_obj_t domain)
{
	return hwloc_bitmap_isincluded(core->unit->cpuset, domain->cpuset);
}

static bool has_cpu(const struct core *core, int cpu)
{
	unsigned int i;

	for (i = 0; i < core->cpus; i++)
		if (core->cpu[i] == cpu)
			return true;
	return false;
}

static bool is_of(const struct core *core, const int *cpu, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n && !has_cpu(core, cpu[i]); i++)
		;
	return i < n;
}

/* A cache that only some of those below the last one share, or NULL */
static hwloc_obj_t own_l2(hwloc_topology_t topology, const struct core *core)
{
	hwloc_obj_t l2 = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_L2CACHE, core->unit);

	return l2 == core->cache ? NULL : l2;
}

/*
 * Interferers are all but the command's and that of IO; @near: those that share an L2 with the
 * command, too
 */
static void take_interferers(hwloc_topology_t topology, const struct core *core, unsigned int n,
			     hwloc_obj_t domain, bool near, struct placement *p)
{
	unsigned int i, k;

	p->interferers = 0;
	for (i = 0; i < n; i++) {
		hwloc_obj_t l2 = own_l2(topology, &core[i]);

		if (!is_in(&core[i], domain) || is_of(&core[i], p->command, p->commands) ||
		    has_cpu(&core[i], p->io))
			continue;
		for (k = 0; k < n && !near && l2; k++)
			if (own_l2(topology, &core[k]) == l2 &&
			    is_of(&core[k], p->command, p->commands))
				break;
		if (near || !l2 || k == n)
			p->interferer[p->interferers++] = core[i].cpu[0];
	}
}

static void caches_above(const struct core *core, uint64_t *bytes)
{
	hwloc_obj_t o;

	for (o = core->unit; o; o = o->parent) {
		unsigned int level;

		if (!hwloc_obj_type_is_dcache(o->type))
			continue;
		level = o->attr->cache.depth;
		bytes[level < PLACE_LEVELS ? level - 1 : PLACE_LEVELS - 1] = o->attr->cache.size;
	}
	/* Of a machine with two levels, the second is the last. */
	if (!bytes[PLACE_LEVELS - 1] && bytes[PLACE_LEVELS - 2]) {
		bytes[PLACE_LEVELS - 1] = bytes[PLACE_LEVELS - 2];
		bytes[PLACE_LEVELS - 2] = 0;
	}
}

static void give(struct placement *p, const struct core *core)
{
	unsigned int i;

	for (i = 0; i < core->cpus && p->commands < PLACE_MAX; i++)
		p->command[p->commands++] = core->cpu[i];
}

static bool place_cores(hwloc_topology_t topology, const struct core *core, unsigned int n,
			unsigned int cores, int cpu, bool io, struct placement *p)
{
	unsigned int i, k, most = 0, first = n, outside = n, left;
	hwloc_obj_t domain = NULL;

	for (i = 0; i < n; i++) {
		hwloc_obj_t d = domain_of(topology, &core[i]);
		unsigned int members = 0;

		for (k = 0; k < n; k++)
			members += domain_of(topology, &core[k]) == d;
		if (cpu >= 0 ? has_cpu(&core[i], cpu) : members > most) {
			most = members;
			domain = d;
			if (cpu >= 0)
				first = i;
		}
	}
	if (!domain) {
		snprintf(p->error, sizeof(p->error), "CPU %d is none that this process may run on",
			 cpu);
		return false;
	}
	p->shared = hwloc_obj_type_is_dcache(domain->type) && most > cores;
	if (most <= cores)
		domain = hwloc_get_root_obj(topology);
	for (i = 0; i < n; i++)
		if (!is_in(&core[i], domain))
			outside = i;
	/* One for interference at least, or for IO, which may be all the interference there is */
	if (n <= cores) {
		snprintf(p->error, sizeof(p->error),
			 "it takes %u cores, %u for the command and 1 for interference, and this process may run on %u (%u CPU%s)",
			 cores + 1, cores, n, p->allowed, p->allowed == 1 ? "" : "s");
		return false;
	}
	left = cores;
	if (first < n) {
		give(p, &core[first]);
		caches_above(&core[first], p->bytes);
		left--;
	}
	for (i = n; i-- > 0;) {
		if (!left || i == first || !is_in(&core[i], domain))
			continue;
		if (!p->commands)
			caches_above(&core[i], p->bytes);
		give(p, &core[i]);
		left--;
	}
	for (i = 0; i < n; i++)
		if (is_in(&core[i], domain))
			p->core[p->cores++] = core[i].cpu[0];
	take_interferers(topology, core, n, domain, false, p);
	if (!p->interferers)
		take_interferers(topology, core, n, domain, true, p);
	if (!io)
		return true;
	if (outside < n) {
		p->io = core[outside].cpu[0];
		return true;
	}
	/* If that was the only one, those that were spared are better than none. */
	p->io = p->interferer[--p->interferers];
	if (!p->interferers)
		take_interferers(topology, core, n, domain, true, p);
	return true;
}

bool place(hwloc_topology_t topology, hwloc_const_cpuset_t allowed, unsigned int cores, int cpu,
	   bool io, struct placement *p)
{
	struct core *core = calloc(PLACE_MAX, sizeof(*core));
	unsigned int n;
	bool good;

	memset(p, 0, sizeof(*p));
	p->io = -1;
	if (!core) {
		snprintf(p->error, sizeof(p->error), "no memory");
		return false;
	}
	n = cores_find(topology, allowed, core, PLACE_MAX);
	p->allowed = hwloc_bitmap_weight(allowed);
	good = place_cores(topology, core, n, cores, cpu, io, p);
	free(core);
	return good;
}

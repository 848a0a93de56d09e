// SPDX-License-Identifier: GPL-2.0
/*
 * Where: one thread for each core
 *
 * A second thread of a core asks for no more than the first one can. What caches hold is
 * added up over all levels, though some include others: no more than that can be in
 * any of them, which is what counts (least.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cores.h"
#include "guarantee.h"

static unsigned int package_number(hwloc_topology_t topology, hwloc_obj_t unit)
{
	hwloc_obj_t o = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, unit);

	return o && o->os_index != HWLOC_UNKNOWN_INDEX ? o->os_index : 0;
}

static struct package *package_of(struct spots *s, unsigned int number)
{
	unsigned int i;

	for (i = 0; i < s->packages; i++)
		if (s->package[i].number == number)
			return &s->package[i];
	if (i == PACKAGES_MAX)
		return NULL;
	s->package[i].number = number;
	s->packages++;
	return &s->package[i];
}

static bool is_above_any(hwloc_obj_t cache, const hwloc_obj_t *unit, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (hwloc_bitmap_isincluded(unit[i]->cpuset, cache->cpuset))
			return true;
	return false;
}

static void add_caches(struct package *p, const hwloc_obj_t *unit, const uint64_t *caches)
{
	unsigned int i, level;
	hwloc_obj_t o;

	for (i = 0; i < p->threads; i++) {
		for (o = unit[i]->parent; o; o = o->parent) {
			/* Each once */
			if (!hwloc_obj_type_is_dcache(o->type) || is_above_any(o, unit, i))
				continue;
			level = o->attr->cache.depth ? o->attr->cache.depth - 1 : 0;
			p->caches[level < CACHE_LEVELS ? level : CACHE_LEVELS - 1]++;
			p->cache_bytes += o->attr->cache.size;
		}
	}
	if (!caches[CACHE_LEVELS - 1])
		return;
	p->cache_bytes = 0;
	for (level = 0; level < CACHE_LEVELS; level++) {
		/* Where the machine tells of none: the last one is shared, the others are not. */
		if (!p->caches[level])
			p->caches[level] = level < CACHE_LEVELS - 1 ? p->threads : 1;
		p->cache_bytes += p->caches[level] * caches[level];
	}
}

static bool take(hwloc_topology_t topology, const struct core *core, unsigned int n,
		 unsigned int cores, const uint64_t *caches, struct spots *s)
{
	hwloc_obj_t unit[CORES_MAX];
	unsigned int i, k;

	for (i = 0; i < n; i++) {
		if (!package_of(s, package_number(topology, core[i].unit))) {
			snprintf(s->error, sizeof(s->error), "more than %d packages", PACKAGES_MAX);
			return false;
		}
	}
	for (k = 0; k < s->packages; k++) {
		struct package *p = &s->package[k];
		unsigned int usable = 0;

		for (i = 0; i < n; i++) {
			if (package_number(topology, core[i].unit) != p->number)
				continue;
			usable++;
			if (cores && p->threads == cores)
				continue;
			unit[p->threads] = core[i].unit;
			p->near[p->threads] = core[i].unit;
			p->cpu[p->threads++] = core[i].cpu[0];
		}
		if (p->threads < cores) {
			snprintf(s->error, sizeof(s->error),
				 "package %u: of its cores this process may run on %u, not %u",
				 p->number, usable, cores);
			return false;
		}
		add_caches(p, unit, caches);
		if (!p->cache_bytes) {
			snprintf(s->error, sizeof(s->error),
				 "the sizes of the caches are not known here; say --caches L1,L2,L3, for example 32K,256K,20M");
			return false;
		}
	}
	return true;
}

/* What there is, whoever may use it */
static void count_all(hwloc_topology_t topology, struct core *core, struct spots *s)
{
	const unsigned int n = cores_find(topology, hwloc_topology_get_complete_cpuset(topology),
					  core, CORES_MAX);
	const int all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
	unsigned int i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < s->packages; k++)
			if (package_number(topology, core[i].unit) == s->package[k].number)
				s->package[k].cores++;
	s->missed = all > (int)s->packages ? all - s->packages : 0;
}

bool spots_find(hwloc_topology_t topology, hwloc_const_cpuset_t allowed, unsigned int cores,
		const uint64_t *caches, struct spots *s)
{
	struct core *core = calloc(CORES_MAX, sizeof(*core));
	unsigned int n;
	bool good;

	memset(s, 0, sizeof(*s));
	if (!core) {
		snprintf(s->error, sizeof(s->error), "no memory");
		return false;
	}
	n = cores_find(topology, allowed, core, CORES_MAX);
	if (!n)
		snprintf(s->error, sizeof(s->error), "there is no core that may be used");
	good = n && take(topology, core, n, cores, caches, s);
	if (good)
		count_all(topology, core, s);
	free(core);
	return good;
}

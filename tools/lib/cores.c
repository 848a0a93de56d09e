// SPDX-License-Identifier: GPL-2.0
/*
 * The machine's cores, see cores.h
 */
#include "cores.h"

/* The data cache that is farthest from a core, or NULL */
static hwloc_obj_t last_cache(hwloc_obj_t unit)
{
	hwloc_obj_t found = NULL, o;

	for (o = unit; o; o = o->parent)
		if (hwloc_obj_type_is_dcache(o->type))
			found = o;
	return found;
}

unsigned int cores_find(hwloc_topology_t topology, hwloc_const_cpuset_t allowed,
			struct core *core, unsigned int most)
{
	const int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
	unsigned int cores = 0;
	int i;

	for (i = 0; i < n; i++) {
		hwloc_obj_t pu = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, i), unit;
		unsigned int k;

		if (!hwloc_bitmap_isset(allowed, pu->os_index))
			continue;
		unit = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
		if (!unit)
			unit = pu;
		for (k = 0; k < cores && core[k].unit != unit; k++)
			;
		if (k == most)
			break;
		if (k == cores) {
			cores++;
			core[k].unit = unit;
			core[k].cache = last_cache(unit);
			core[k].cpus = 0;
		}
		if (core[k].cpus < CORE_CPUS)
			core[k].cpu[core[k].cpus++] = pu->os_index;
	}
	return cores;
}

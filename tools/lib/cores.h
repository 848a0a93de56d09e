/* SPDX-License-Identifier: GPL-2.0 */
/* The machine's cores, as far as they may be used: by hwloc */
#ifndef MEMIO_CORES_H
#define MEMIO_CORES_H

#include <hwloc.h>

#define CORE_CPUS	16	/* of one core; those beyond are not used */

/**
 * struct core - one with a CPU that may be used
 * @cpu:	those of its CPUs that may be, by the kernel's numbers
 * @cpus:	how many
 * @cache:	the last level above it, or NULL
 * @unit:	the core; the PU, where the machine tells of no cores
 */
struct core {
	int cpu[CORE_CPUS];
	unsigned int cpus;
	hwloc_obj_t cache, unit;
};

/* cores_find: up to @most of those with a CPU among @allowed; how many they are */
unsigned int cores_find(hwloc_topology_t topology, hwloc_const_cpuset_t allowed,
			struct core *core, unsigned int most);

#endif /* MEMIO_CORES_H */

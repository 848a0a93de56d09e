/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who runs where: the command and its interference on cores that share the last cache
 */
#ifndef MEMIO_ACTIVE_PLACE_H
#define MEMIO_ACTIVE_PLACE_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#define PLACE_MAX	4096
#define PLACE_LEVELS	3

/**
 * struct placement - CPUs by the kernel's numbers
 * @command:	of the command: all that are allowed of its cores
 * @interferer:	one of each other core below the same cache, but of those that share the command's
 *		L2, too, only if there are no others; none if IO got the only one
 * @io:		of who moves data by DMA; -1: not asked for
 * @core:	one of each core below the cache, the command's and that of IO among them
 * @shared:	there is a cache that they share, as far as the machine says
 * @bytes:	of the data caches above the command's core, 0 if not known; the
 *		last one is the one that is shared, whatever its level
 * @allowed:	CPUs that this process may run on
 * @error:	why it can't be done
 */
struct placement {
	int command[PLACE_MAX], interferer[PLACE_MAX], core[PLACE_MAX], io;
	unsigned int commands, interferers, cores, allowed;
	bool shared;
	uint64_t bytes[PLACE_LEVELS];
	char error[256];
};

/*
 * place: @allowed are the CPUs that may be used; @cores those of the command; @cpu is one
 * that it is to have, or -1; @io: somebody moves data, too. False, with @p->error, if there
 * is none left beside the command's.
 */
bool place(hwloc_topology_t topology, hwloc_const_cpuset_t allowed, unsigned int cores, int cpu,
	   bool io, struct placement *p);

#endif /* MEMIO_ACTIVE_PLACE_H */

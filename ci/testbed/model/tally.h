/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The outcome of a trace, as JSON: the ledger's shape, keyed by actor number
 */
#ifndef TALLY_H
#define TALLY_H

#include <stdio.h>

#include "refmodel.h"

struct tally {
	struct ref_count count[LLC_ACTORS];
	uint64_t dirty_lines[LLC_ACTORS];
	unsigned int sockets;
	uint64_t dram_read[LLC_MAX_SOCKETS], dram_write[LLC_MAX_SOCKETS];
	unsigned int slices;		/* of all sockets */
	uint64_t victims_m[LLC_MAX_SOCKETS * LLC_MAX_SLICES];
	uint64_t records;
};

void tally_print(const struct tally *t, FILE *to);

#endif /* TALLY_H */

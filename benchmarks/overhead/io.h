/* SPDX-License-Identifier: GPL-2.0 */
/* What load.c and owner.c share: descriptors of the devices, and a read of the disk. */
#ifndef OVERHEAD_IO_H
#define OVERHEAD_IO_H

#include <unistd.h>

/* As high as closers of all files seldom look. */
#define FD_DISK	200
#define FD_NET	201

/* Reads the @nth block of 4 KiB, round and round in the first MiB. */
static inline int io_read(long nth)
{
	static _Thread_local char buffer[2 * 4096];
	char *aligned = (char *)(((unsigned long)buffer + 4095) & ~4095ul);

	return pread(FD_DISK, aligned, 4096, nth % 256 * 4096) == 4096 ? 0 : -1;
}

#endif

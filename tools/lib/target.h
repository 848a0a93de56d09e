/* SPDX-License-Identifier: GPL-2.0 */
/* Disks and files to move data with, past the page cache */
#ifndef MEMIO_TARGET_H
#define MEMIO_TARGET_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct target - what --disk, --file and --overwrite say
 * @disk:	a block device, or NULL
 * @file:	a file: made, and gone when it is closed; or one that is there
 * @overwrite:	what is there may be written to
 * @write:	it will be
 * @bytes:	a file is made that large at least
 */
struct target {
	const char *disk, *file;
	bool overwrite, write;
	uint64_t bytes;
};

/*
 * target_open: with O_DIRECT; how large it is. -1 after a complaint, as of a disk that is to
 * be written and is in use, whatever @overwrite says, or of a file that is in memory. Of a
 * disk that is in memory, or may be, it is said.
 */
int target_open(const struct target *t, uint64_t *size);

#endif /* MEMIO_TARGET_H */

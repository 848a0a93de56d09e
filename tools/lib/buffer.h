/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory to load from and store to, there in full before anything is measured
 */
#ifndef MEMIO_BUFFER_H
#define MEMIO_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#define LINE_BYTES	64u	/* of a cache */

/*
 * buffer_fits: half of what is free, here and for this cgroup, is enough for @bytes;
 * complains otherwise. A machine that swaps, or kills, measures nothing.
 */
bool buffer_fits(uint64_t bytes);
/* buffer_new: zeroed pages, large ones if there are any; NULL after a complaint */
void *buffer_new(uint64_t bytes);
void buffer_free(void *buffer, uint64_t bytes);

#endif /* MEMIO_BUFFER_H */

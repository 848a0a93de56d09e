/* SPDX-License-Identifier: GPL-2.0 */
/* The reader's end of a ring, see uapi/linux/memio_trace.h */
#ifndef MEMIO_TRACE_RING_H
#define MEMIO_TRACE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct ring {
	const char *path;
	int fd;
	bool ordinary;			/* a file: nobody tells when there is something */
	struct memio_trace_ring *map;
	size_t map_size;
	const uint32_t *data;
	uint32_t words;
	uint32_t tail;
	struct format_stream stream;
};

/*
 * Return: false: it is none, and why was said; or its CPU is offline (errno is ENODEV),
 * and nothing was said. If the file was not opened, errno says why not.
 */
bool ring_open(struct ring *r, const char *path);
void ring_close(struct ring *r);

/*
 * ring_read: up to @max words that were not read, and frees their room. Return: how
 * many, whole records and markers; 0: there are none now; -1: @head can't be, and
 * what there was is passed over. Sets whether no more will come.
 */
long ring_read(struct ring *r, uint32_t *words, size_t max, bool *stopped);

/* What the hardware still holds comes into the ring. */
void ring_flush(struct ring *r);

/* The kernel's part of the statistics */
void ring_stats(const struct ring *r, struct format_stats *s);

#endif /* MEMIO_TRACE_RING_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* A file that grows at its end, through a mapping where that is possible */
#ifndef MEMIO_TRACE_OUTPUT_H
#define MEMIO_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
	int fd;
	bool mapped;		/* or written with write() */
	bool broken;		/* who reads it stands still: nothing more is written */
	uint8_t *window;	/* what of the file is mapped, */
	uint64_t window_at;	/* from there on */
	uint64_t size;		/* bytes put */
	uint64_t allocated;
	size_t reserve;		/* bytes kept for output_put_last() */
};

/*
 * All return 0, or a negative errno. output_put() puts all or nothing; -ENOSPC leaves
 * @reserve bytes for output_put_last().
 */
int output_open(struct output *o, const char *path, size_t reserve);
int output_put(struct output *o, const void *data, size_t size);
int output_put_last(struct output *o, const void *data, size_t size);
int output_close(struct output *o);

#endif /* MEMIO_TRACE_OUTPUT_H */

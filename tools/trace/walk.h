/* SPDX-License-Identifier: GPL-2.0 */
/* A file's records, one by one, those that are wanted */
#ifndef MEMIO_TRACE_WALK_H
#define MEMIO_TRACE_WALK_H

#include "filter.h"
#include "reader.h"
#include "stream.h"

/* Who is told what. Any may be NULL; of CPUs that are not wanted nothing is told. */
struct walk {
	const struct filter *filter;
	void *context;
	bool quiet;	/* what is told of goes to the terminal, between which progress would be */
	/* A block begins: of that stream, with that state */
	void (*begin)(void *context, const struct format_stream *stream,
		      const struct format_state *state, bool chosen);
	/* A record of a task that is wanted */
	void (*record)(void *context, const struct format_state *state);
	/* Anything else; @chosen: whether who runs from now on is wanted */
	void (*marker)(void *context, enum stream_kind kind, const struct format_state *before,
		       const struct format_state *after, uint64_t lost, bool chosen);
	void (*end)(void *context, const struct format_state *state);
	void (*stats)(void *context, const struct format_stats *stats);
	void (*file)(void *context, const struct format_file *file, const char *text, size_t size);
};

/* From the reader's place on. Return: whether all that was there was whole. */
bool walk(struct reader *r, const struct walk *w);

#endif /* MEMIO_TRACE_WALK_H */

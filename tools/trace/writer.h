/* SPDX-License-Identifier: GPL-2.0 */
/* Traces into files, chunk by chunk */
#ifndef MEMIO_TRACE_WRITER_H
#define MEMIO_TRACE_WRITER_H

#include "format.h"
#include "output.h"

struct writer {
	struct output out;
	struct codec *codec;
	uint8_t *buffer;	/* a chunk in the making */
	uint64_t chunks;
	uint64_t words;		/* in DATA chunks */
	uint64_t data_bytes;	/* that these chunks take */
};

/* All return 0, or a negative errno. @streams: for how many an end has to be kept. */
int writer_open(struct writer *w, const char *path, unsigned int streams, const char *text);
int writer_data(struct writer *w, const struct format_stream *stream,
		const struct format_state *before, const struct format_state *after,
		const uint32_t *words, size_t n, uint32_t records);
int writer_stats(struct writer *w, const struct format_stats *stats);
int writer_end(struct writer *w);
/* After all else, whatever went wrong */
int writer_close(struct writer *w);

#endif /* MEMIO_TRACE_WRITER_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * A file's records, one by one, those that are wanted
 */
#include "progress.h"
#include "walk.h"

/* Progress is told of pieces of so much of a file. */
#define PIECE_BYTES	(128u << 10)

static void walk_block(struct reader *r, const struct walk *w, const struct reader_chunk *c,
		       const struct reader_block *b)
{
	struct format_state state = b->state;
	bool chosen = filter_task(w->filter, &state);
	uint32_t records = 0;
	size_t i, words;

	if (w->begin)
		w->begin(w->context, &b->stream, &state, chosen);
	for (i = 0; i < b->n; i += words) {
		struct format_state before;
		uint64_t lost = 0;
		enum stream_kind kind;

		if (b->words[i] < MEMIO_TRACE_ESCAPE) {
			state.tsc += b->words[i];
			words = 1;
			kind = STREAM_RECORD;
		} else {
			before = state;
			kind = stream_next(&state, b->words + i, b->n - i, &words, &lost);
		}
		if (kind == STREAM_RECORD) {
			records++;
			if (chosen && w->record)
				w->record(w->context, &state);
			continue;
		}
		if (kind == STREAM_BROKEN) {
			reader_broken(r, c, b->records > records ? b->records - records : 0);
			break;
		}
		if (kind == STREAM_SWITCH)
			chosen = filter_task(w->filter, &state);
		if (w->marker)
			w->marker(w->context, kind, &before, &state, lost, chosen);
	}
	if (w->end)
		w->end(w->context, &state);
}

bool walk(struct reader *r, const struct walk *w)
{
	const uint64_t pieces = r->size / PIECE_BYTES;
	struct progress p;
	struct reader_chunk c;
	struct reader_block b;
	struct format_stats s;
	struct format_file f;

	progress_begin(&p, pieces, pieces < 2 || w->quiet, false);
	while (reader_next(r, &c)) {
		if (p.begun < pieces && c.at >= p.begun * PIECE_BYTES)
			progress(&p, "reading %s", r->path);
		switch (c.head.type) {
		case FORMAT_FILE:
			if (w->file && c.head.size >= sizeof(f)) {
				memcpy(&f, c.payload, sizeof(f));
				w->file(w->context, &f, (const char *)c.payload + sizeof(f),
					c.head.size - sizeof(f));
			}
			break;
		case FORMAT_DATA:
			if (filter_cpu(w->filter, c.head.cpu) && reader_block(r, &c, &b))
				walk_block(r, w, &c, &b);
			break;
		case FORMAT_STATS:
			if (w->stats && filter_cpu(w->filter, c.head.cpu) &&
			    reader_stats(r, &c, &s))
				w->stats(w->context, &s);
			break;
		}
	}
	progress_end(&p);
	return !reader_summary(r);
}

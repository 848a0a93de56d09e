// SPDX-License-Identifier: GPL-2.0
/*
 * Traces into files, chunk by chunk: see FORMAT.md
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crc32c.h"
#include "writer.h"

#define CHUNK_MAX	(sizeof(struct format_chunk) + FORMAT_PAYLOAD_MAX + FORMAT_ALIGN)

static uint8_t *payload_of(struct writer *w)
{
	return w->buffer + sizeof(struct format_chunk);
}

/* The payload is in the buffer, behind room for the header. */
static int put_chunk(struct writer *w, struct format_chunk *c, size_t size, bool last)
{
	size_t bytes = sizeof(*c) + (size + FORMAT_ALIGN - 1) / FORMAT_ALIGN * FORMAT_ALIGN;
	int err;

	memcpy(c->magic, FORMAT_MAGIC, sizeof(c->magic));
	c->size = size;
	c->number = w->chunks;
	c->version = FORMAT_VERSION;
	c->payload_crc = crc32c(0, payload_of(w), size);
	c->header_crc = crc32c(0, (char *)c + FORMAT_CRC_FROM, sizeof(*c) - FORMAT_CRC_FROM);
	memcpy(w->buffer, c, sizeof(*c));
	memset(payload_of(w) + size, 0, bytes - sizeof(*c) - size);
	err = last ? output_put_last(&w->out, w->buffer, bytes) :
		     output_put(&w->out, w->buffer, bytes);
	if (!err)
		w->chunks++;
	return err;
}

int writer_open(struct writer *w, const char *path, unsigned int streams, const char *text)
{
	struct format_chunk c = { .type = FORMAT_FILE };
	struct format_file file = { 0 };
	size_t length = strlen(text);
	int err;

	memset(w, 0, sizeof(*w));
	err = output_open(&w->out, path, (streams + 1) *
			  (sizeof(struct format_chunk) + sizeof(struct format_stats)));
	if (err)
		return err;
	w->codec = codec_new();
	w->buffer = calloc(1, CHUNK_MAX);
	if (!w->codec || !w->buffer)
		return -ENOMEM;
	file.real_ns = clock_ns(CLOCK_REALTIME);
	file.mono_ns = clock_ns(CLOCK_MONOTONIC);
	if (length > FORMAT_PAYLOAD_MAX - sizeof(file))
		length = FORMAT_PAYLOAD_MAX - sizeof(file);
	memcpy(payload_of(w), &file, sizeof(file));
	memcpy(payload_of(w) + sizeof(file), text, length);
	return put_chunk(w, &c, sizeof(file) + length, false);
}

int writer_data(struct writer *w, const struct format_stream *stream,
		const struct format_state *before, const struct format_state *after,
		const uint32_t *words, size_t n, uint32_t records)
{
	struct format_chunk c = {
		.type = FORMAT_DATA,
		.cpu = stream->cpu,
		.records = records,
		.first_tsc = before->tsc,
		.last_tsc = after->tsc,
	};
	struct format_data data = { .stream = *stream, .state = *before, .words = n };
	size_t size = codec_encode(w->codec, words, n, payload_of(w) + sizeof(data));
	uint64_t from = w->out.size;
	int err;

	memcpy(payload_of(w), &data, sizeof(data));
	err = put_chunk(w, &c, sizeof(data) + size, false);
	if (!err) {
		w->words += n;
		w->data_bytes += w->out.size - from;
	}
	return err;
}

int writer_stats(struct writer *w, const struct format_stats *stats)
{
	struct format_chunk c = { .type = FORMAT_STATS, .cpu = stats->stream.cpu };

	memcpy(payload_of(w), stats, sizeof(*stats));
	return put_chunk(w, &c, sizeof(*stats), true);
}

int writer_end(struct writer *w)
{
	struct format_chunk c = { .type = FORMAT_END };
	struct format_end end = { .chunks = w->chunks, .bytes = w->out.size };

	memcpy(payload_of(w), &end, sizeof(end));
	return put_chunk(w, &c, sizeof(end), true);
}

int writer_close(struct writer *w)
{
	int err = output_close(&w->out);

	codec_free(w->codec);
	free(w->buffer);
	return err;
}

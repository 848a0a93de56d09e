/* SPDX-License-Identifier: GPL-2.0 */
/* Traces from files: what is whole, and how much is not */
#ifndef MEMIO_TRACE_READER_H
#define MEMIO_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "format.h"

/* What of a file could not be read; all 0 and @ended: nothing. */
struct reader_damage {
	uint64_t chunks;	/* that were there, and were not what they should be */
	uint64_t records;	/* in them, as far as that is known */
	uint64_t missing;	/* chunks that were not there at all, by their numbers */
	uint64_t bytes;		/* that belong to no chunk */
	uint64_t unfinished;	/* zeros at the end, of a recorder that was killed */
	bool cut;		/* in the middle of a chunk */
	bool ended;		/* there was the end, and all before it */
};

struct reader {
	const char *path;
	int fd;
	bool quiet;		/* no words about single places */
	uint64_t size;
	uint64_t at;		/* the next chunk, if all is well */
	uint64_t expected;	/* its number */
	unsigned int told;
	struct reader_damage damage;
	struct codec *codec;
	uint8_t *payload;
	uint32_t *words;
};

struct reader_chunk {
	uint64_t at;
	struct format_chunk head;
	const uint8_t *payload;
};

/* What a DATA chunk has; @words is the reader's, until the next one is read */
struct reader_block {
	struct format_stream stream;
	struct format_state state;
	const uint32_t *words;
	size_t n;
	uint32_t records;
};

/* Return: false: it can't be read, or is no trace, which was said. */
bool reader_open(struct reader *r, const char *path);
void reader_close(struct reader *r);
/* Again from the beginning */
void reader_rewind(struct reader *r);

/* The next chunk that is whole. Return: false at the end. */
bool reader_next(struct reader *r, struct reader_chunk *c);

/*
 * reader_scan: the next DATA chunk's head alone, which costs little. Return: false at
 * the end. What is damaged is passed over in silence.
 */
bool reader_scan(struct reader *r, struct format_chunk *head);

/* The words of a DATA chunk. Return: false: it is damaged, which was noted. */
bool reader_block(struct reader *r, const struct reader_chunk *c, struct reader_block *b);
/* Likewise of a STATS chunk */
bool reader_stats(struct reader *r, const struct reader_chunk *c, struct format_stats *s);

/* A block's words turn out to be none from some place on: @records are lost. */
void reader_broken(struct reader *r, const struct reader_chunk *c, uint32_t records);

/* After the last chunk: says what is lost. Return: whether something is. */
bool reader_summary(const struct reader *r);

#endif /* MEMIO_TRACE_READER_H */

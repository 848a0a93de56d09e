/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A block of a ring's words, compressed without loss
 *
 * Pure functions; how it works is in codec.c, and the layout in FORMAT.md. The words
 * that come out are those that went in, bit by bit, whatever they were.
 */
#ifndef MEMIO_TRACE_CODEC_H
#define MEMIO_TRACE_CODEC_H

#include <stddef.h>
#include <stdint.h>

/* Words in a block, at most. */
#define CODEC_WORDS	(1u << 16)

/* Bytes that a block of so many words may take. */
#define CODEC_BOUND(words)	(4 * (size_t)(words) + 1)

/* Room to work in; one at a time uses it. NULL: no memory. */
struct codec *codec_new(void);
void codec_free(struct codec *c);

/*
 * codec_encode: n words, at most CODEC_WORDS, to at most CODEC_BOUND(n) bytes. Return:
 * how many.
 */
size_t codec_encode(struct codec *c, const uint32_t *words, size_t n, uint8_t *out);

/*
 * codec_decode: n words, which must be how many were encoded, at most CODEC_WORDS; size is
 * any number. Return: NULL, or what is wrong with the input, and then words are anything.
 */
const char *codec_decode(struct codec *c, const uint8_t *in, size_t size, uint32_t *words,
			 size_t n);

#endif /* MEMIO_TRACE_CODEC_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * codecs FILE.u32...: what memio trace's code for blocks is measured against
 *
 * Each file has words as memio trace bench --dump writes them. They are cut into blocks of
 * 65,536, as in a trace's file, and each block is compressed and decompressed by
 *
 *	word16	one, two or four words of 16 bits (Larysch, section 4.8, see bench.c)
 *	svb	streamvbyte: 1 to 4 bytes a number, by SIMD
 *	lz4	LZ4 at its default
 *	zstd1	Zstandard, level 1; zstd3: level 3
 *	zstd1t	level 1, of all lowest bytes, then the next ones, and so on
 *	memio	tools/trace/codec.c
 *
 * A line for each of them and file: percent of the words' bytes, and millions of words
 * by second of processor time to encode and to decode, medians of 7.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lz4.h>
#include <streamvbyte.h>
#include <zstd.h>

#include "clock.h"
#include "codec.h"
#include "statistics.h"

#define BLOCK	CODEC_WORDS
#define WORDS	(4 * BLOCK)
#define BYTES	(4 * BLOCK)
#define ROOM	(8 * BLOCK + 4096)
#define ROUNDS	7
#define SECONDS	0.02	/* of a round, at least */

static uint32_t words[WORDS], again[BLOCK];
static uint8_t coded[WORDS / BLOCK][ROOM], turned[BYTES];
static size_t coded_size[WORDS / BLOCK];
static struct codec *codec;
static ZSTD_CCtx *zc;
static ZSTD_DCtx *zd;

static size_t word16_encode(const uint32_t *from, size_t n, uint8_t *to)
{
	uint16_t *p = (uint16_t *)to;
	size_t i;

	for (i = 0; i < n; i++) {
		uint32_t v = from[i];

		if (v < 0x8000) {
			*p++ = v;
		} else if (v < 0x7fffffff) {
			*p++ = 0x8000 | v >> 16;
			*p++ = v;
		} else {
			*p++ = 0xffff;
			*p++ = 0xffff;
			*p++ = v >> 16;
			*p++ = v;
		}
	}
	return (uint8_t *)p - to;
}

static void word16_decode(const uint8_t *from, size_t size, uint32_t *to, size_t n)
{
	const uint16_t *p = (const uint16_t *)from;
	size_t i;

	(void)size;
	for (i = 0; i < n; i++) {
		uint32_t v = *p++;

		if (v & 0x8000) {
			v = (v & 0x7fff) << 16 | *p++;
			if (v == 0x7fffffff) {
				v = (uint32_t)p[0] << 16 | p[1];
				p += 2;
			}
		}
		to[i] = v;
	}
}

static size_t svb_encode(const uint32_t *from, size_t n, uint8_t *to)
{
	return streamvbyte_encode(from, n, to);
}

static void svb_decode(const uint8_t *from, size_t size, uint32_t *to, size_t n)
{
	(void)size;
	streamvbyte_decode(from, to, n);
}

static size_t lz4_encode(const uint32_t *from, size_t n, uint8_t *to)
{
	return LZ4_compress_default((const char *)from, (char *)to, 4 * n, ROOM);
}

static void lz4_decode(const uint8_t *from, size_t size, uint32_t *to, size_t n)
{
	LZ4_decompress_safe((const char *)from, (char *)to, size, 4 * n);
}

static size_t zstd1_encode(const uint32_t *from, size_t n, uint8_t *to)
{
	return ZSTD_compressCCtx(zc, to, ROOM, from, 4 * n, 1);
}

static size_t zstd3_encode(const uint32_t *from, size_t n, uint8_t *to)
{
	return ZSTD_compressCCtx(zc, to, ROOM, from, 4 * n, 3);
}

static void zstd_decode(const uint8_t *from, size_t size, uint32_t *to, size_t n)
{
	ZSTD_decompressDCtx(zd, to, 4 * n, from, size);
}

static size_t zstd1t_encode(const uint32_t *from, size_t n, uint8_t *to)
{
	size_t i;

	for (i = 0; i < n; i++) {
		turned[i] = from[i];
		turned[n + i] = from[i] >> 8;
		turned[2 * n + i] = from[i] >> 16;
		turned[3 * n + i] = from[i] >> 24;
	}
	return ZSTD_compressCCtx(zc, to, ROOM, turned, 4 * n, 1);
}

static void zstd1t_decode(const uint8_t *from, size_t size, uint32_t *to, size_t n)
{
	size_t i;

	ZSTD_decompressDCtx(zd, turned, 4 * n, from, size);
	for (i = 0; i < n; i++)
		to[i] = turned[i] | turned[n + i] << 8 | turned[2 * n + i] << 16 |
			(uint32_t)turned[3 * n + i] << 24;
}

static size_t memio_encode(const uint32_t *from, size_t n, uint8_t *to)
{
	return codec_encode(codec, from, n, to);
}

static void memio_decode(const uint8_t *from, size_t size, uint32_t *to, size_t n)
{
	codec_decode(codec, from, size, to, n);
}

static const struct {
	const char *name;
	size_t (*encode)(const uint32_t *from, size_t n, uint8_t *to);
	void (*decode)(const uint8_t *from, size_t size, uint32_t *to, size_t n);
} codecs[] = {
	{ "word16", word16_encode, word16_decode },
	{ "svb", svb_encode, svb_decode },
	{ "lz4", lz4_encode, lz4_decode },
	{ "zstd1", zstd1_encode, zstd_decode },
	{ "zstd3", zstd3_encode, zstd_decode },
	{ "zstd1t", zstd1t_encode, zstd1t_decode },
	{ "memio", memio_encode, memio_decode },
};

static double cpu_s(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
}

static void measure(const char *file, size_t n, unsigned int c)
{
	double encode[ROUNDS], decode[ROUNDS], start, rounds;
	size_t size = 0, at, k, part;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		start = cpu_s();
		rounds = 0;
		do {
			size = 0;
			for (at = 0, k = 0; at < n; at += BLOCK, k++) {
				part = n - at < BLOCK ? n - at : BLOCK;
				coded_size[k] = codecs[c].encode(words + at, part, coded[k]);
				size += coded_size[k];
			}
			rounds++;
		} while (cpu_s() - start < SECONDS);
		encode[round] = (cpu_s() - start) / rounds;
		start = cpu_s();
		rounds = 0;
		do {
			for (at = 0, k = 0; at < n; at += BLOCK, k++) {
				part = n - at < BLOCK ? n - at : BLOCK;
				codecs[c].decode(coded[k], coded_size[k], again, part);
				if (!round && memcmp(again, words + at, 4 * part)) {
					fprintf(stderr, "codecs: %s: %s: not what went in\n", file,
						codecs[c].name);
					exit(1);
				}
			}
			rounds++;
		} while (cpu_s() - start < SECONDS);
		decode[round] = (cpu_s() - start) / rounds;
	}
	printf("%-20s %-7s %6.1f %7.0f %7.0f\n", file, codecs[c].name, 25.0 * size / n,
	       n / median(encode, ROUNDS) / 1e6, n / median(decode, ROUNDS) / 1e6);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned int c;
	int i;

	codec = codec_new();
	zc = ZSTD_createCCtx();
	zd = ZSTD_createDCtx();
	printf("%-20s %-7s %6s %7s %7s\n", "trace", "code", "%", "enc M/s", "dec M/s");
	for (i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "r");
		const char *name = strrchr(argv[i], '/');
		char file[64];
		size_t n;

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		n = fread(words, 4, WORDS, f);
		fclose(f);
		snprintf(file, sizeof(file), "%.*s",
			 (int)strcspn(name ? name + 1 : argv[i], "."), name ? name + 1 : argv[i]);
		for (c = 0; n && c < sizeof(codecs) / sizeof(*codecs); c++)
			measure(file, n, c);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A block of a ring's words, compressed without loss
 *
 * Nearly all words are differences of times, of which the high digits repeat and the
 * low ones are noise. So a difference is cut in two: its order of magnitude (a token:
 * the highest bit set, and the MANTISSA bits below it) in a code whose lengths
 * follow how often each token is in the block (Huffman's), and the bits below as
 * they are. For differences of about 1,000 ticks that vary by a tenth this is some 8
 * bits of 32. A token and its bits are found with a shift and two look-ups; there are
 * four streams of bits, each with a quarter of the differences, so that a
 * processor decodes four at once, which do not wait for each other.
 *
 * Many machines' TSC moves in steps, say of 26 ticks. Nearly all differences are
 * multiples of it then, and its digits need not be stored. The encoder looks for such a
 * scale; what is no multiple is an exception, told apart.
 *
 * Markers are rare. They are told apart too, with how many differences lie between
 * them. As switches come again and again between the same tasks, one that is like
 * another in the block in all but its time takes a reference to that.
 *
 * What does not become smaller stays as it is.
 *
 * Why not a library's code: over the 18 traces of `make bench-trace` words come to 24 %
 * on average; by Zstandard's level 1 to 35 %, with bytes of a kind put together to 32 %,
 * by LZ4 to 50 %, by streamvbyte to 51 %, by words of 16 bits to 54 %. The median of
 * the 18 for encoding is 63 million words a second for Zstandard's level 1, and 177 for
 * this (an EPYC's virtual processors, shared with others). What is drawn at random comes
 * to within 1 % of its entropy.
 *
 * Decoding trusts nothing: sizes and codes are checked before they are used, and bits
 * are taken from a copy that is longer than what can be asked of it in vain.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <linux/memio_trace.h>

#include "codec.h"

#define MANTISSA	4
#define TOKENS		(((31 - MANTISSA) << MANTISSA) + (2 << MANTISSA))
#define CODE_BITS	11
#define STREAMS		4
#define SCALE_MAX	0xffff
#define RECENT		64		/* markers that can be referred to */
#define REF_SKIP	2		/* payload words that no reference covers: the time */
#define SLACK		64		/* bytes behind a stream: more than a round takes */

enum { METHOD_RAW = 0, METHOD_CODED = 1 };

/* What a coded block begins with, after the method. */
struct head {
	uint32_t deltas;		/* differences: words that are in no marker */
	uint32_t side;			/* bytes of markers and exceptions */
	uint32_t exceptions;
	uint32_t scale;
	uint16_t first;			/* first token that is there */
	uint16_t tokens;		/* how many, with those between that are not */
	uint32_t stream[STREAMS];	/* bytes of each */
};

#define HEAD_BYTES	(4 * 4 + 2 * 2 + 4 * STREAMS)

struct entry {			/* a token, for encoding */
	uint16_t code;
	uint8_t length;
	uint8_t extra;		/* bits below it */
};

struct decoding {		/* what bits mean */
	uint32_t base;
	uint8_t length;		/* of the code */
	uint8_t extra;
	uint8_t total;
	uint8_t unused;
};

struct codec {
	uint32_t delta[CODEC_WORDS + 16];
	uint8_t side[6 * CODEC_WORDS + 64];
	uint8_t bits[8 * CODEC_WORDS + STREAMS * SLACK];
	struct entry entry[TOKENS];
	struct decoding table[1 << CODE_BITS];
	uint32_t count[4][TOKENS];
	uint32_t recent[RECENT];	/* where markers begin, in words */
};

struct codec *codec_new(void)
{
	return calloc(1, sizeof(struct codec));
}

void codec_free(struct codec *c)
{
	free(c);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = v;
	p[1] = v >> 8;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v);
	put16(p + 2, v >> 16);
}

static uint16_t get16(const uint8_t *p)
{
	return p[0] | p[1] << 8;
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

/* Seven bits a byte, the low ones first. */
static uint8_t *put_varint(uint8_t *p, uint32_t v)
{
	while (v >= 0x80) {
		*p++ = v | 0x80;
		v >>= 7;
	}
	*p++ = v;
	return p;
}

/* Return: where it ends; NULL if it doesn't, or is no number of 32 bits. */
static const uint8_t *get_varint(const uint8_t *p, const uint8_t *end, uint32_t *v)
{
	unsigned int shift;

	*v = 0;
	for (shift = 0; shift < 35 && p < end; shift += 7) {
		uint8_t byte = *p++;

		if (shift == 28 && byte > 0xf)
			return NULL;
		*v |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return p;
	}
	return NULL;
}

/* ---- tokens ---- */

static inline unsigned int extra_bits(uint32_t v)
{
	return 31 - MANTISSA - __builtin_clz(v | 1 << MANTISSA);
}

static inline unsigned int token_of(uint32_t v)
{
	unsigned int extra = extra_bits(v);

	return (extra << MANTISSA) + (v >> extra);
}

static unsigned int token_extra(unsigned int token)
{
	return token < 2 << MANTISSA ? 0 : (token >> MANTISSA) - 1;
}

static uint32_t token_base(unsigned int token)
{
	unsigned int extra = token_extra(token);

	return (uint32_t)(token - (extra << MANTISSA)) << extra;
}

/* ---- code lengths ---- */

struct weight {
	uint32_t count;
	uint16_t token;
};

static int by_count(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->token < y->token ? -1 : x->token > y->token;
}

/*
 * Lengths of at most CODE_BITS for the tokens that are there: Huffman's, and where one
 * is too long, others give way. Return: how many tokens there are.
 */
static unsigned int code_lengths(const uint32_t *count, uint8_t *length)
{
	struct weight w[TOKENS];
	uint32_t sum[TOKENS];		/* of two subtrees */
	uint16_t parent[2 * TOKENS];
	uint8_t depth[2 * TOKENS];
	unsigned int number[64] = { 0 };
	unsigned int n = 0, leaf = 0, tree = 0, i, k, bits;
	uint32_t total = 0;

	memset(length, 0, TOKENS);
	for (i = 0; i < TOKENS; i++) {
		if (!count[i])
			continue;
		w[n].count = count[i];
		w[n++].token = i;
	}
	if (n < 2)
		return n;
	qsort(w, n, sizeof(*w), by_count);

	/* Both leaves and subtrees come in the order of their weights. */
	for (i = 0; i < n - 1; i++) {
		sum[i] = 0;
		for (k = 0; k < 2; k++) {
			if (tree >= i || (leaf < n && w[leaf].count <= sum[tree])) {
				sum[i] += w[leaf].count;
				parent[leaf++] = i;
			} else {
				sum[i] += sum[tree];
				parent[TOKENS + tree++] = i;
			}
		}
	}
	depth[TOKENS + n - 2] = 0;
	for (i = n - 2; i-- > 0;)
		depth[TOKENS + i] = depth[TOKENS + parent[TOKENS + i]] + 1;
	for (i = 0; i < n; i++) {
		bits = depth[TOKENS + parent[i]] + 1;
		number[bits < CODE_BITS ? bits : CODE_BITS]++;
	}

	/* Too many of CODE_BITS: a shorter code makes room by becoming longer. */
	for (bits = 1; bits <= CODE_BITS; bits++)
		total += number[bits] << (CODE_BITS - bits);
	while (total > 1 << CODE_BITS) {
		number[CODE_BITS]--;
		for (bits = CODE_BITS - 1; !number[bits]; bits--)
			;
		number[bits]--;
		number[bits + 1] += 2;
		total--;
	}
	for (bits = CODE_BITS, i = 0; bits; bits--)
		for (k = 0; k < number[bits]; k++)
			length[w[i++].token] = bits;
	return n;
}

/* The lengths give the codes: in the order of length and token, low bits first. */
static void codes(const uint8_t *length, uint16_t *code)
{
	unsigned int bits, token, next = 0, i;

	for (bits = 1; bits <= CODE_BITS; bits++) {
		for (token = 0; token < TOKENS; token++) {
			if (length[token] != bits)
				continue;
			code[token] = 0;
			for (i = 0; i < bits; i++)
				code[token] |= (next >> i & 1) << (bits - 1 - i);
			next++;
		}
		next <<= 1;
	}
}

/* ---- encoding ---- */

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/*
 * A number that nearly all differences are multiples of: the common divisors of some
 * groups of them are candidates, and samples vote. An exception costs about 20 bits.
 */
static uint32_t find_scale(const uint32_t *delta, size_t n)
{
	const size_t groups = 16, size = 8, step = n / (groups * size);
	uint32_t best = 1, tried[16];
	unsigned int tries = 0, i, k;
	long best_gain = 0;

	if (n < 2 * groups * size)
		return 1;
	for (i = 0; i < groups; i++) {
		uint32_t g = 0;
		long gain = 0;

		for (k = 0; k < size && g != 1; k++)
			g = gcd(g, delta[(i * size + k) * step]);
		for (k = 0; k < tries && tried[k] != g; k++)
			;
		if (g < 2 || g > SCALE_MAX || k < tries)
			continue;
		tried[tries++] = g;
		for (k = 0; k < groups * size; k++)
			gain += delta[k * step] % g ? -20 : 31 - __builtin_clz(g);
		if (gain > best_gain) {
			best_gain = gain;
			best = g;
		}
	}
	return best;
}

/* Divides all; remainders go to the side. Return: where that ends. */
static uint8_t *divide(uint32_t *delta, size_t n, uint32_t scale, uint8_t *side,
		       uint32_t *exceptions)
{
	const uint64_t inverse = (1ull << 32) / scale;
	size_t i, last = 0;

	*exceptions = 0;
	for (i = 0; i < n; i++) {
		/* At most one too small, as is v times what was cut off, over 2^32. */
		uint32_t v = delta[i], quotient = v * inverse >> 32;
		uint32_t rest = v - quotient * scale;

		if (rest >= scale) {
			rest -= scale;
			quotient++;
		}
		delta[i] = quotient;
		if (__builtin_expect(rest != 0, 0)) {
			side = put_varint(side, i - last);
			side = put_varint(side, rest);
			last = i;
			(*exceptions)++;
		}
	}
	return side;
}

static bool alike(const uint32_t *a, const uint32_t *b)
{
	const unsigned int length = MEMIO_TRACE_LENGTH(*a);

	return *a == *b && !memcmp(a + 1 + REF_SKIP, b + 1 + REF_SKIP,
				   4 * (size_t)(length - REF_SKIP));
}

/* Takes words apart. Return: where the side ends; NULL if a marker is cut off. */
static uint8_t *split(struct codec *c, const uint32_t *words, size_t n, uint8_t *side,
		      size_t *deltas)
{
	size_t i = 0, from = 0, d = 0, markers = 0, begin;
	unsigned int length, k;

	while (i < n) {
		/* 16 at a time, as long as there is no marker. */
		while (n - i >= 16) {
			uint32_t most = 0;

			for (k = 0; k < 16; k++)
				most = words[i + k] > most ? words[i + k] : most;
			if (most >= MEMIO_TRACE_ESCAPE)
				break;
			i += 16;
		}
		while (i < n && words[i] < MEMIO_TRACE_ESCAPE)
			i++;
		memcpy(c->delta + d, words + from, 4 * (i - from));
		d += i - from;
		if (i == n)
			break;
		length = MEMIO_TRACE_LENGTH(words[i]);
		if (length >= n - i)
			return NULL;
		side = put_varint(side, i - from);
		side = put_varint(side, words[i] - MEMIO_TRACE_ESCAPE);
		begin = i + 1;
		if (length > REF_SKIP) {
			for (k = 1; k <= RECENT && k <= markers; k++)
				if (alike(words + i, words + c->recent[(markers - k) % RECENT]))
					break;
			if (k > RECENT || k > markers) {
				c->recent[markers++ % RECENT] = i;
				k = 0;
			}
			*side++ = k;
			if (k)
				length = REF_SKIP;
		}
		for (k = 0; k < length; k++)
			side = put_varint(side, words[begin + k]);
		i += 1 + MEMIO_TRACE_LENGTH(words[i]);
		from = i;
	}
	*deltas = d;
	return side;
}

/* Return: where the bits end. There is room for 8 bytes more than they take. */
static uint8_t *put_bits(const struct entry *entry, const uint32_t *delta, size_t n, uint8_t *p)
{
	uint64_t bits = 0;
	unsigned int fill = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		uint32_t v = delta[i];
		const struct entry e = entry[token_of(v)];
		uint64_t low = v & ((1u << e.extra) - 1);

		bits |= (e.code | low << e.length) << fill;
		fill += e.length + e.extra;
		memcpy(p, &bits, 8);
		p += fill >> 3;
		bits >>= fill & ~7u;
		fill &= 7;
	}
	return p + (fill > 0);
}

/* The q-th of STREAMS parts of n. */
static size_t part(size_t n, unsigned int q)
{
	return n * q / STREAMS;
}

static void count_tokens(struct codec *c, size_t n)
{
	size_t i;

	memset(c->count, 0, sizeof(c->count));
	/* Four tables: the same token again does not wait for its own count. */
	for (i = 0; i + 4 <= n; i += 4) {
		c->count[0][token_of(c->delta[i])]++;
		c->count[1][token_of(c->delta[i + 1])]++;
		c->count[2][token_of(c->delta[i + 2])]++;
		c->count[3][token_of(c->delta[i + 3])]++;
	}
	for (; i < n; i++)
		c->count[0][token_of(c->delta[i])]++;
	for (i = 0; i < TOKENS; i++)
		c->count[0][i] += c->count[1][i] + c->count[2][i] + c->count[3][i];
}

static size_t raw(const uint32_t *words, size_t n, uint8_t *out)
{
	*out = METHOD_RAW;
	if (n)
		memcpy(out + 1, words, 4 * n);
	return CODEC_BOUND(n);
}

size_t codec_encode(struct codec *c, const uint32_t *words, size_t n, uint8_t *out)
{
	struct head h = { .scale = 1 };
	unsigned int tokens, last = 0, i;
	uint8_t length[TOKENS], *side, *p;
	uint16_t code[TOKENS];
	size_t deltas, size;

	side = split(c, words, n, c->side, &deltas);
	if (!side)
		return raw(words, n, out);
	h.deltas = deltas;
	h.scale = find_scale(c->delta, deltas);
	if (h.scale > 1)
		side = divide(c->delta, deltas, h.scale, side, &h.exceptions);
	h.side = side - c->side;

	count_tokens(c, deltas);
	tokens = code_lengths(c->count[0], length);
	codes(length, code);
	for (i = 0; i < TOKENS; i++) {
		if (!c->count[0][i])
			continue;
		if (!h.tokens)
			h.first = i;
		h.tokens = i - h.first + 1;
		last = i;
		c->entry[i].code = tokens > 1 ? code[i] : 0;
		c->entry[i].length = length[i];
		c->entry[i].extra = token_extra(i);
	}

	p = c->bits;
	for (i = 0; i < STREAMS; i++) {
		uint8_t *begin = p;

		p = put_bits(c->entry, c->delta + part(deltas, i),
			     part(deltas, i + 1) - part(deltas, i), p);
		h.stream[i] = p - begin;
	}
	size = 1 + HEAD_BYTES + (h.tokens + 1) / 2 + h.side + (p - c->bits);
	if (size >= CODEC_BOUND(n))
		return raw(words, n, out);

	*out++ = METHOD_CODED;
	put32(out, h.deltas);
	put32(out + 4, h.side);
	put32(out + 8, h.exceptions);
	put32(out + 12, h.scale);
	put16(out + 16, h.first);
	put16(out + 18, h.tokens);
	for (i = 0; i < STREAMS; i++)
		put32(out + 20 + 4 * i, h.stream[i]);
	out += HEAD_BYTES;
	memset(out, 0, (h.tokens + 1) / 2);
	/* Half a byte for a length; a token that is alone needs no bits, and gets 15. */
	for (i = h.first; h.tokens && i <= last; i++) {
		unsigned int at = i - h.first;
		unsigned int bits = tokens == 1 ? 15 : length[i];

		out[at / 2] |= bits << (at % 2 * 4);
	}
	out += (h.tokens + 1) / 2;
	memcpy(out, c->side, h.side);
	memcpy(out + h.side, c->bits, p - c->bits);
	return size;
}

/* ---- decoding ---- */

/* Return: NULL, or what is wrong. */
static const char *read_code(struct codec *c, const struct head *h, const uint8_t *in)
{
	uint8_t length[TOKENS] = { 0 };
	uint16_t code[TOKENS];
	unsigned int alone = 0, room = 1 << CODE_BITS, i, at;

	for (i = 0; i < h->tokens; i++) {
		unsigned int bits = in[i / 2] >> (i % 2 * 4) & 15;

		if (bits == 15)
			alone++;
		else if (bits > CODE_BITS || (bits && 1u << (CODE_BITS - bits) > room))
			return "a code that cannot be";
		else if (bits)
			room -= 1 << (CODE_BITS - bits);
		length[h->first + i] = bits;
	}
	if (alone ? alone > 1 || room != 1 << CODE_BITS : room != 0)
		return "a code that cannot be";
	if (!alone)
		codes(length, code);
	for (i = h->first; i < h->first + h->tokens; i++) {
		struct decoding d = { .base = token_base(i), .extra = token_extra(i) };

		if (!length[i])
			continue;
		d.length = alone ? 0 : length[i];
		d.total = d.length + d.extra;
		for (at = alone ? 0 : code[i]; at < 1 << CODE_BITS; at += 1 << d.length)
			c->table[at] = d;
	}
	return NULL;
}

static inline uint32_t get_bits(const struct decoding *table, const uint8_t *in, uint64_t *at)
{
	struct decoding d;
	uint64_t bits;

	memcpy(&bits, in + (*at >> 3), 8);
	bits >>= *at & 7;
	d = table[bits & ((1 << CODE_BITS) - 1)];
	*at += d.total;
	return d.base + (uint32_t)((bits >> d.length) & ((1u << d.extra) - 1));
}

/*
 * All streams at once, as long as the shortest; what is left of the others then.
 * Return: NULL, or what is wrong.
 */
static const char *read_deltas(const struct codec *c, const struct head *h, uint32_t *delta)
{
	const struct decoding *table = c->table;
	const size_t n = h->deltas, each = n / STREAMS;
	const uint8_t *in[STREAMS];
	uint64_t at[STREAMS] = { 0 }, end[STREAMS];
	uint32_t *to[STREAMS];
	const uint8_t *p = c->bits;
	unsigned int q;
	size_t i = 0, k;

	for (q = 0; q < STREAMS; q++) {
		in[q] = p;
		end[q] = 8ull * h->stream[q];
		p += h->stream[q] + SLACK;
		to[q] = delta + part(n, q);
	}
	while (i < each) {
		uint64_t a0 = at[0], a1 = at[1], a2 = at[2], a3 = at[3];
		/* Eight take less than SLACK bytes, so that one look at the end is enough. */
		size_t stop = i + 8 < each ? i + 8 : each;

		for (; i < stop; i++) {
			to[0][i] = get_bits(table, in[0], &a0);
			to[1][i] = get_bits(table, in[1], &a1);
			to[2][i] = get_bits(table, in[2], &a2);
			to[3][i] = get_bits(table, in[3], &a3);
		}
		if (a0 > end[0] || a1 > end[1] || a2 > end[2] || a3 > end[3])
			return "a stream that is too short";
		at[0] = a0;
		at[1] = a1;
		at[2] = a2;
		at[3] = a3;
	}
	for (q = 0; q < STREAMS; q++) {
		for (k = each; k < part(n, q + 1) - part(n, q); k++)
			to[q][k] = get_bits(table, in[q], &at[q]);
		if (at[q] > end[q] || end[q] - at[q] > 7)
			return "a stream of another length";
	}
	return NULL;
}

/* Multiplies by the scale; no difference may look like a marker. Return: likewise. */
static const char *multiply(const struct head *h, uint32_t *delta)
{
	uint32_t most = 0;
	size_t i;

	for (i = 0; i < h->deltas; i++)
		most = delta[i] > most ? delta[i] : most;
	if ((uint64_t)most * h->scale >= MEMIO_TRACE_ESCAPE)
		return "a difference that is too large";
	for (i = 0; h->scale > 1 && i < h->deltas; i++)
		delta[i] *= h->scale;
	return NULL;
}

/*
 * Exceptions are behind the markers, of which only reading tells where they end: so
 * markers are stepped over first. Return: where they end; NULL: they are damaged.
 */
static const uint8_t *skip_markers(const uint8_t *p, const uint8_t *end, size_t words)
{
	uint32_t tag, skip;

	while (words) {
		unsigned int length;

		p = get_varint(p, end, &skip);
		if (p)
			p = get_varint(p, end, &tag);
		if (!p || tag > 0xffff)
			return NULL;
		length = MEMIO_TRACE_LENGTH(tag);
		if (length >= words)
			return NULL;
		words -= 1 + length;
		if (length > REF_SKIP) {
			if (p == end)
				return NULL;
			if (*p++)
				length = REF_SKIP;
		}
		while (length--) {
			p = get_varint(p, end, &skip);
			if (!p)
				return NULL;
		}
	}
	return p;
}

static const char *read_exceptions(const struct head *h, const uint8_t *p, const uint8_t *end,
				   uint32_t *delta)
{
	uint32_t i, skip, rest, at = 0;
	uint64_t v;

	for (i = 0; i < h->exceptions; i++) {
		p = get_varint(p, end, &skip);
		if (p)
			p = get_varint(p, end, &rest);
		if (!p || skip >= h->deltas - at)
			return "an exception that is nowhere";
		at += skip;
		v = (uint64_t)delta[at] + rest;
		if (rest >= h->scale || v >= MEMIO_TRACE_ESCAPE)
			return "an exception that cannot be";
		delta[at] = v;
	}
	return p == end ? NULL : "more than is needed";
}

/* Markers between the deltas, which are at the end of the words. */
static const char *merge(struct codec *c, const struct head *h, const uint8_t *p,
			 const uint8_t *end, uint32_t *words, size_t n)
{
	size_t deltas = h->deltas, to = 0, from = n - deltas, markers = 0;
	uint32_t skip, tag;

	while (from > to) {
		unsigned int length, k, ref = 0, literal;

		/* skip_markers() saw that all this is there. */
		p = get_varint(p, end, &skip);
		if (skip > n - from)
			return "a marker behind the end";
		memmove(words + to, words + from, 4 * (size_t)skip);
		to += skip;
		from += skip;
		p = get_varint(p, end, &tag);
		length = MEMIO_TRACE_LENGTH(tag);
		words[to] = MEMIO_TRACE_ESCAPE + tag;
		literal = length;
		if (length > REF_SKIP) {
			ref = *p++;
			if (ref > RECENT || ref > markers)
				return "a reference to nothing";
			if (ref) {
				const uint32_t *other =
					words + c->recent[(markers - ref) % RECENT];

				if (*other != words[to])
					return "a reference to another type";
				literal = REF_SKIP;
				memcpy(words + to + 1 + REF_SKIP, other + 1 + REF_SKIP,
				       4 * (size_t)(length - REF_SKIP));
			} else {
				c->recent[markers++ % RECENT] = to;
			}
		}
		for (k = 0; k < literal; k++)
			p = get_varint(p, end, &words[to + 1 + k]);
		to += 1 + length;
	}
	return NULL;
}

const char *codec_decode(struct codec *c, const uint8_t *in, size_t size, uint32_t *words,
			 size_t n)
{
	const uint8_t *side, *side_end, *rest;
	const char *wrong;
	struct head h;
	uint32_t *delta;
	uint64_t need;
	uint8_t *to;
	size_t i;

	if (n > CODEC_WORDS)
		return "too many words";
	if (!size)
		return "nothing";
	if (*in == METHOD_RAW) {
		if (size != CODEC_BOUND(n))
			return "plain words of another number";
		if (n)
			memcpy(words, in + 1, 4 * n);
		return NULL;
	}
	if (*in != METHOD_CODED)
		return "a method that is not known";
	in++;
	size--;
	if (size < HEAD_BYTES)
		return "shorter than its head";
	h.deltas = get32(in);
	h.side = get32(in + 4);
	h.exceptions = get32(in + 8);
	h.scale = get32(in + 12);
	h.first = get16(in + 16);
	h.tokens = get16(in + 18);
	for (i = 0; i < STREAMS; i++)
		h.stream[i] = get32(in + 20 + 4 * i);
	in += HEAD_BYTES;
	size -= HEAD_BYTES;
	if (h.deltas > n || h.first + h.tokens > TOKENS || !h.tokens != !h.deltas ||
	    !h.scale || h.scale > SCALE_MAX || h.exceptions > h.deltas)
		return "a head that cannot be";
	need = (h.tokens + 1) / 2 + (uint64_t)h.side;
	for (i = 0; i < STREAMS; i++)
		need += h.stream[i];
	if (need != size || need > sizeof(c->bits) - STREAMS * SLACK)
		return "parts that are not what there is";

	/* To the end of the words: markers are put in front of each. */
	delta = words + (n - h.deltas);
	side = in + (h.tokens + 1) / 2;
	side_end = side + h.side;
	if (h.deltas) {
		wrong = read_code(c, &h, in);
		if (wrong)
			return wrong;
		in = side_end;
		to = c->bits;
		for (i = 0; i < STREAMS; i++) {
			memcpy(to, in, h.stream[i]);
			memset(to + h.stream[i], 0, SLACK);
			in += h.stream[i];
			to += h.stream[i] + SLACK;
		}
		wrong = read_deltas(c, &h, delta);
		if (!wrong)
			wrong = multiply(&h, delta);
		if (wrong)
			return wrong;
	} else if (side_end != in + size) {
		return "streams of nothing";
	}
	rest = skip_markers(side, side_end, n - h.deltas);
	if (!rest)
		return "markers that cannot be";
	wrong = read_exceptions(&h, rest, side_end, delta);
	if (wrong)
		return wrong;
	return merge(c, &h, side, rest, words, n);
}

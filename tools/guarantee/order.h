/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In which order patterns go through a buffer of 2^bits lines: each line once in a pass,
 * so that a cache has no more hits in a pass than it has lines
 */
#ifndef MEMIO_GUARANTEE_ORDER_H
#define MEMIO_GUARANTEE_ORDER_H

#include <stdint.h>

#include "buffer.h"

#define STRIDE_BITS	11	/* lines: 128 KiB */

/* order_random: a permutation: both of its steps, an odd factor and a shift, have an inverse */
static inline uint64_t order_random(uint64_t i, unsigned int bits)
{
	const uint64_t mask = (1ull << bits) - 1;

	i = i * 0x9e3779b97f4a7c15ull & mask;
	i ^= i >> (bits / 2);
	i = i * 0xd6e8feb86659fd93ull & mask;
	i ^= i >> (bits / 2);
	return i * 0x2545f4914f6cdd1dull & mask;
}

/* order_stride: with a stride of a power of two; then the lines behind those */
static inline uint64_t order_stride(uint64_t i, unsigned int bits)
{
	const unsigned int rows = bits - STRIDE_BITS;

	return (i & ((1ull << rows) - 1)) << STRIDE_BITS | i >> rows;
}

#endif /* MEMIO_GUARANTEE_ORDER_H */

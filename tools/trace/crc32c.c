// SPDX-License-Identifier: GPL-2.0
/*
 * CRC-32C, by the instruction that SSE 4.2 has for it, or by a table
 */
#include <string.h>

#include "crc32c.h"

#define POLYNOMIAL	0x82f63b78u	/* bits reversed */

uint32_t crc32c_table(uint32_t crc, const void *data, size_t size)
{
	static uint32_t table[256];
	const uint8_t *p = data;
	unsigned int i, k;

	/* Whoever comes second writes what is there already. */
	if (!table[255]) {
		for (i = 0; i < 256; i++) {
			uint32_t v = i;

			for (k = 0; k < 8; k++)
				v = v >> 1 ^ (v & 1 ? POLYNOMIAL : 0);
			table[i] = v;
		}
	}
	crc = ~crc;
	while (size--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2")))
static uint32_t crc32c_sse42(uint32_t crc, const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t sum = (uint32_t)~crc, word;

	for (; size >= 8; size -= 8, p += 8) {
		memcpy(&word, p, 8);
		sum = __builtin_ia32_crc32di(sum, word);
	}
	while (size--)
		sum = __builtin_ia32_crc32qi(sum, *p++);
	return ~(uint32_t)sum;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse42(crc, data, size);
#endif
	return crc32c_table(crc, data, size);
}

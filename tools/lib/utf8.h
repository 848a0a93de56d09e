/* SPDX-License-Identifier: GPL-2.0 */
/* Characters of UTF-8 in bytes that others chose, as names of groups and tasks are */
#ifndef MEMIO_UTF8_H
#define MEMIO_UTF8_H

#include <stddef.h>
#include <stdint.h>

/**
 * utf8_length - how many bytes the character at the beginning of a text has
 * @text:	the text
 * @size:	of the text, in bytes, 1 or more; of one that ends with 0, any number will do
 *
 * Return: 1 to 4, or 0 if it is none: a surrogate, a longer form than needed, or beyond U+10FFFF
 */
static inline size_t utf8_length(const char *text, size_t size)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char first = text[0];
	const size_t n = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 :
			 first >> 3 == 30 ? 4 : 0;
	uint32_t c = n < 2 ? first : first & (0xff >> (n + 1));
	size_t i;

	if (!n || n > size)
		return 0;
	for (i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (text[i] & 0x3f);
	}
	return c < least[n] || c > 0x10ffff || c >> 11 == 0xd800 >> 11 ? 0 : n;
}

#endif /* MEMIO_UTF8_H */

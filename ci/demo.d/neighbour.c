// SPDX-License-Identifier: GPL-2.0
/*
 * neighbour: streams through a buffer larger than the last-level cache, with a
 * load and a store to each line, until it is killed
 *
 * It is what a cache cannot help, and what drives out what devices have put
 * there. It does no IO at all.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFER		(64ul << 20)	/* the cache has 20 MiB by default */
#define LINE_BYTES	64

int main(void)
{
	volatile unsigned char *buffer = malloc(BUFFER);
	size_t i;

	if (!buffer) {
		perror("neighbour");
		return 1;
	}
	for (;;)
		for (i = 0; i < BUFFER; i += LINE_BYTES)
			buffer[i]++;
}

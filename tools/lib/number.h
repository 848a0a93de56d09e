/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers among the arguments; each complains and returns false if there is none */
#ifndef MEMIO_NUMBER_H
#define MEMIO_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* number: of option --@what, from @low to @high */
bool number(const char *what, const char *text, unsigned long low, unsigned long high,
	    unsigned long *n);
/* size_of: bytes, with K, M or G (powers of 1024); *end is behind it; 0 if there is none */
uint64_t size_of(const char *text, const char **end);
/* cache_sizes: 32K,256K,20M: @levels of them, each larger than the one before */
bool cache_sizes(const char *text, uint64_t *bytes, size_t levels);

#endif /* MEMIO_NUMBER_H */

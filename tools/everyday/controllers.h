/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the memory controllers count themselves, by perf: bytes that were read from and written to
 * DRAM, whoever wanted them. No figure of memio's is made of these.
 */
#ifndef MEMIO_CONTROLLERS_H
#define MEMIO_CONTROLLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct controllers;

/*
 * controllers_open: all of this machine; counting begins. NULL: there are none, or this user may
 * not count, and @why says so
 */
struct controllers *controllers_open(char *why, size_t size);
/*
 * controllers_read: bytes since the last call, or since counting began; false: others had a counter
 * all that time, and the bytes are too few
 */
bool controllers_read(struct controllers *c, uint64_t *read, uint64_t *write);
void controllers_close(struct controllers *c);

#endif /* MEMIO_CONTROLLERS_H */

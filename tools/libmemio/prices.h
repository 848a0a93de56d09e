/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libmemio, inside: what an IO byte costs in memory, by the caches' counters of a kernel that has
 * no memio
 */
#ifndef MEMIO_PRICES_H
#define MEMIO_PRICES_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct mio_price - memory bytes for an IO byte
 * @known:	else the bytes have no price
 * @to_read:	read, for a byte to a device
 * @from_read:	read, for a byte from a device, of which a part of a line was written
 * @from_write:	written, for a byte from a device
 */
struct mio_price {
	int known;
	double to_read, from_read, from_write;
};

struct mio_prices;

/*
 * mio_prices_open: of the counters "hsx" and so on, whose PMUs are called so; counting begins.
 * NULL: it can't, and @why says so. mio_prices_source: that name
 */
struct mio_prices *mio_prices_open(const char *source, const char *boxes, char *why, size_t size);
void mio_prices_close(struct mio_prices *p);
const char *mio_prices_source(const struct mio_prices *p);
/*
 * mio_prices_window: the price of what was moved since the last call; devices moved so many bytes.
 * It is not known if others held the counters all that time.
 */
struct mio_price mio_prices_window(struct mio_prices *p, uint64_t to, uint64_t from);

#endif /* MEMIO_PRICES_H */

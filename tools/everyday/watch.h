/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio doctor --watch: what memio says of the machine and what its memory controllers count,
 * second by second, as histograms
 */
#ifndef MEMIO_WATCH_H
#define MEMIO_WATCH_H

#include <memio/memio.h>

#include "../json/json.h"

#define WATCH_RATES	24	/* below 1 MB/s, from 1, 2, 4, ... MB/s on */
#define WATCH_SHARES	16	/* of 10 percent; in the last, 150 and more */

/**
 * struct watch_way - one direction of memory
 * @bytes, @least, @most: by memio, and its bounds, or its figure where there are none
 * @controllers: by the controllers, in the seconds in which they were counted
 * @beside, @beside_least: by memio in these seconds, and its lower bound
 * @rates, @controllers_rates, @shares: histograms, of seconds
 */
struct watch_way {
	uint64_t bytes, least, most, controllers, beside, beside_least;
	unsigned int rates[WATCH_RATES], controllers_rates[WATCH_RATES], shares[WATCH_SHARES];
};

/**
 * struct watch - while it watches
 * @read, @write: of the memory
 * @io:		bytes that devices moved
 * @seconds:	how many there were
 * @valid:	how many of them had estimates that are valid
 * @counted:	in how many the controllers were counted; 0: @no_controllers says why
 */
struct watch {
	struct watch_way read, write;
	uint64_t io;
	unsigned int seconds, valid, counted;
	char no_controllers[256];
};

/* watch: for @seconds, or until a signal */
void watch(struct memio *m, unsigned int seconds, struct watch *w);
/* watch_second: adds a second with these figures; @counted: the controllers' are among them */
void watch_second(struct watch *w, const struct memio_line *total, bool counted, uint64_t read,
		  uint64_t write);
/* watch_json: of the report: no name is in it */
json_t *watch_json(const struct watch *w);
/* watch_over: memio's lower bound is above what the controllers counted, by more than 2 % */
bool watch_over(const struct watch_way *way);

#endif /* MEMIO_WATCH_H */

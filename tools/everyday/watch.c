// SPDX-License-Identifier: GPL-2.0
/*
 * memio doctor --watch, see watch.h
 *
 * The controllers count each line that reaches DRAM, so memio's figures can be checked by an
 * instrument that has no part in them. Lines that memio does not explain (DMA that nobody accounts,
 * what CPUs read while nobody counts that) make the controllers' sum larger. The sum is never
 * smaller than memio's lower bound. An example: 90 MB/s by the controllers and 88 to 91 by memio is
 * well; 60 MB/s by the controllers and a lower bound of 88 is a fault of memio's, or of a counter.
 */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "controllers.h"
#include "everyday.h"
#include "interrupt.h"
#include "progress.h"
#include "watch.h"

#define MB		1000000
#define COMPARED	MB	/* the least of a second in which the two are compared */
#define SLACK		(256 << 10)	/* the two are read one after the other */
#define SLACK_PERMILLE	20

static unsigned int rate_of(uint64_t bytes)
{
	unsigned int i = 0;
	uint64_t mb;

	for (mb = bytes / MB; mb && i < WATCH_RATES - 1; mb /= 2)
		i++;
	return i;
}

static void add(struct watch_way *way, const struct memio_line *total, enum memio_field field,
		enum memio_field least, enum memio_field most, bool counted, uint64_t controllers)
{
	const uint64_t bytes = memio_get(total, field);
	const uint64_t at_least = memio_has(total, least) ? memio_get(total, least) : bytes;

	way->bytes += bytes;
	way->least += at_least;
	way->most += memio_has(total, most) ? memio_get(total, most) : bytes;
	way->rates[rate_of(bytes)]++;
	if (!counted)
		return;
	way->controllers += controllers;
	way->beside += bytes;
	way->beside_least += at_least;
	way->controllers_rates[rate_of(controllers)]++;
	if (controllers >= COMPARED) {
		const uint64_t tenths = bytes * 10 / controllers;

		way->shares[tenths < WATCH_SHARES ? tenths : WATCH_SHARES - 1]++;
	}
}

void watch_second(struct watch *w, const struct memio_line *total, bool counted, uint64_t read,
		  uint64_t write)
{
	add(&w->read, total, MEMIO_MEM_READ, MEMIO_MEM_READ_MIN, MEMIO_MEM_READ_MAX, counted, read);
	add(&w->write, total, MEMIO_MEM_WRITE, MEMIO_MEM_WRITE_MIN, MEMIO_MEM_WRITE_MAX, counted,
	    write);
	w->io += memio_get(total, MEMIO_IO_TO) + memio_get(total, MEMIO_IO_FROM);
	w->seconds++;
	w->counted += counted;
}

bool watch_over(const struct watch_way *way)
{
	const uint64_t most = way->controllers + SLACK +
			      way->controllers / 1000 * SLACK_PERMILLE;

	return way->beside_least > most;
}

/* A row of a histogram, if it has something */
static void append(json_t *list, const char *what, unsigned int from, unsigned int seconds)
{
	if (seconds)
		json_array_append_new(list, json_pack("{s:i, s:i}", what, (int)from, "seconds",
						      (int)seconds));
}

static json_t *rates_json(const unsigned int *seconds)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < WATCH_RATES; i++)
		append(list, "from_mb_s", i ? 1u << (i - 1) : 0, seconds[i]);
	return list;
}

static json_t *shares_json(const unsigned int *seconds)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < WATCH_SHARES; i++)
		append(list, "from_percent", i * 10, seconds[i]);
	return list;
}

static json_t *way_json(const struct watch_way *way, bool counted)
{
	json_t *j = json_pack("{s:I, s:I, s:I, s:o}", "bytes", (json_int_t)way->bytes, "least_bytes",
			      (json_int_t)way->least, "most_bytes", (json_int_t)way->most, "rates",
			      rates_json(way->rates));

	json_object_set_new(j, "controllers_bytes", counted ?
			    json_integer((json_int_t)way->controllers) : json_null());
	if (counted) {
		json_object_set_new(j, "controllers_rates",
				    rates_json(way->controllers_rates));
		json_object_set_new(j, "explained", shares_json(way->shares));
	}
	return j;
}

json_t *watch_json(const struct watch *w)
{
	return json_pack("{s:i, s:i, s:i, s:I, s:o, s:o}", "seconds", (int)w->seconds,
			 "valid_seconds", (int)w->valid, "controllers_seconds", (int)w->counted,
			 "io_bytes", (json_int_t)w->io, "read", way_json(&w->read, w->counted),
			 "write", way_json(&w->write, w->counted));
}

/* A second: what both have counted since the last one */
struct looks {
	struct memio_stat then, now, moved;
	struct memio_flat state;
};

static void look(struct memio *m, struct controllers *c, struct looks *l, struct watch *w,
		 bool first)
{
	const struct memio_pair *io;
	uint64_t read = 0, write = 0;
	struct memio_stat was;
	bool ran;

	memio_refresh(m);
	if (memio_group_stat(m, "/", MEMIO_TREE, &l->now))
		return;
	ran = c && controllers_read(c, &read, &write);
	if (!first && !memio_stat_diff(&l->then, &l->now, &l->moved)) {
		watch_second(w, memio_stat_find(&l->moved, "total"), ran, read, write);
		if (!memio_group_state(m, "/", &l->state)) {
			io = memio_flat_find(&l->state, "io");
			w->valid += io && !strcmp(io->word, "ok");
		}
	}
	was = l->then;
	l->then = l->now;
	l->now = was;
}

void watch(struct memio *m, unsigned int seconds, struct watch *w)
{
	struct controllers *c = NULL;
	uint64_t next = clock_ns(CLOCK_MONOTONIC);
	struct looks l = { 0 };
	struct progress p;
	unsigned int i;

	if (*memio_root(m))
		snprintf(w->no_controllers, sizeof(w->no_controllers),
			 "they count on the running machine alone, and not below %s",
			 memio_root(m));
	else
		c = controllers_open(w->no_controllers, sizeof(w->no_controllers));
	interrupts_catch();
	progress_begin(&p, seconds, false, false);
	look(m, c, &l, w, true);
	for (i = 0; i < seconds && !interrupted; i++) {
		progress(&p, "seconds of memory");
		next += 1000000000;
		interrupts_wait(next);
		look(m, c, &l, w, false);
	}
	progress_end(&p);
	controllers_close(c);
	memio_stat_free(&l.then);
	memio_stat_free(&l.now);
	memio_stat_free(&l.moved);
	memio_flat_free(&l.state);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From times of records to events over time, by task and CPU
 *
 * Time is cut into bins, and each record in one stands for as many events as the
 * counter's period (Larysch, section 4.9, see bench.c). An event is a line of the cache,
 * so that bytes are events times event_bytes, and bandwidth is bytes by the time.
 */
#ifndef MEMIO_TRACE_BINS_H
#define MEMIO_TRACE_BINS_H

#include "walk.h"

struct bins_cpu {
	uint32_t cpu;
	struct format_stream stream;	/* as it was last */
	uint64_t records;
	uint64_t events;
	uint64_t bytes;
	uint64_t lost;			/* records that a LOST told of, or more that were dropped */
	uint64_t switches;
	bool has_stats;
	struct format_stats stats;
};

struct bins_task {
	uint32_t tid;
	uint32_t tgid;
	uint64_t cgroup;
	char comm[MEMIO_TRACE_COMM];	/* as it was last */
	uint64_t records;
	uint64_t events;
	uint64_t bytes;
	double run_s;			/* that it ran while traced */
	uint32_t first;			/* of its series, index + 1 */
};

/* A task on a CPU */
struct bins_series {
	uint32_t cpu;			/* of bins.cpu */
	uint32_t task;			/* of bins.task */
	uint32_t next;			/* of the same task, index + 1 */
	uint64_t records;
	uint64_t events;
	uint64_t bytes;
};

struct bins_bin {
	uint32_t series;
	uint32_t records;
	int64_t bin;			/* 0 begins at bins.start_tsc */
	uint64_t events;
	uint64_t bytes;
};

struct bins {
	uint64_t bin_us;
	uint64_t start_tsc;
	uint64_t start_ns;		/* CLOCK_MONOTONIC then, */
	uint64_t start_real_ns;		/* and CLOCK_REALTIME */
	bool clocks;			/* these two are known */
	double seconds;			/* from there to the end */
	uint64_t real_ns;		/* when the file was begun */
	char text[256];			/* the filters it was made with */
	uint64_t file_bytes;
	bool whole;
	struct reader_damage damage;

	struct bins_cpu *cpu;
	struct bins_task *task;
	struct bins_series *series;
	struct bins_bin *bin;		/* by series, then by time; none twice */
	uint32_t cpus, tasks, all_series;
	size_t bins;
};

/*
 * Reads all of a file. @bin_us: how long a bin is; 0: so that there are @points or a few
 * less. Return: false: it can't, which was said. What is not whole is said too, and in
 * bins.whole.
 */
bool bins_read(struct bins *b, const char *path, const struct filter *filter, uint64_t bin_us,
	       unsigned int points);
/* The bins from 0 on that cover the time */
int64_t bins_number(const struct bins *b);
void bins_free(struct bins *b);

#endif /* MEMIO_TRACE_BINS_H */

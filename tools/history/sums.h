/* SPDX-License-Identifier: GPL-2.0 */
/* memio report: what each group and device moved in all, and its curves; see log.h */
#ifndef MEMIO_HISTORY_SUMS_H
#define MEMIO_HISTORY_SUMS_H

#include <stdio.h>

#include "history.h"

#define SLOTS	480		/* points of a curve */
#define ROWS_MOST	100000	/* rows of a report, with some 2 KiB each */
#define CURVES_MOST	4096	/* curves of a report, with some 10 KiB each */

/**
 * struct row - a group or a device
 * @name, @label: a path, or a bus name and what people call it
 * @bytes:	by &enum figure, of all samples
 * @has:	the figures that it had: bits
 * @peak_bps, @peak_ns: the most that a sample had of what its share is made of, and when
 * @stopped_ns:	of a group
 * @bound, @invalid: time in which its memory figures were worth less
 * @moved:	it moved something
 * @curve:	bytes, by figure and time; NULL: it moved nothing, or is none of the largest
 * @chain:	the table's
 */
struct row {
	enum track_kind kind;
	char *name, label[MEMIO_NAME_MAX];
	double bytes[FIGURES];
	unsigned int has;
	double peak_bps;
	uint64_t peak_ns, stopped_ns;
	double bound_ns, invalid_ns;
	bool moved;
	float (*curve)[SLOTS];
	struct row *chain;
};

/**
 * struct report - all of them
 * @row:	the machine, groups, devices; each of these two sorted, the largest first
 * @first_ns, @last_ns: by CLOCK_REALTIME
 * @covered_ns:	time that samples tell of; @covered: of each point of the curves
 * @has_memory:	memory bytes are known, and not IO bytes alone
 * @samples:	how many had rates
 * @lost:	what is lost, as a sentence; or ""
 * @below:	the group that was asked for
 */
struct report {
	struct row **row;
	size_t n, room;
	uint64_t first_ns, last_ns;
	double covered_ns, covered[SLOTS];
	bool has_memory;
	size_t samples;
	char lost[256];
	const char *below;

	/* the report's own */
	struct row *slot[1 << 16];
	size_t curves;
	bool again, more_rows, more_curves;
};

/* What rows are sorted by, and what a peak is of: memory bytes, or IO bytes */
double row_bytes(const struct report *r, const struct row *w);
/*
 * report_add: the samples of a history from @first to @last; the @curves largest groups and as many
 * devices have curves. What is new behind ROWS_MOST groups and devices is left out, and @lost says
 * so. False after a complaint
 */
bool report_add(struct report *r, struct history *h, struct model *o, size_t first, size_t last,
		size_t curves);
void report_free(struct report *r);
/* page_write: as HTML, with curves of @curves groups and as many devices */
void page_write(const struct report *r, size_t curves, const char *title, FILE *to);

#endif /* MEMIO_HISTORY_SUMS_H */

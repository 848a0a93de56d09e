/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio export: the figures of groups as metrics
 *
 * Data go this way:
 *
 *	metrics.c	libmemio -> text, in one of two formats
 *	slots.c		which groups are named: a bound of how many names there are in an hour
 *	http.c		a scrape -> the text
 *	export.c	options; the textfile
 */
#ifndef MEMIO_EXPORT_METRICS_H
#define MEMIO_EXPORT_METRICS_H

#include <stdio.h>

#include <memio/memio.h>

/* The text format of Prometheus, 0.0.4, which node_exporter reads, too; or OpenMetrics 1.0 */
enum metrics_format { METRICS_TEXT, METRICS_OPEN };

struct slots;

/**
 * struct metrics - what is exported
 * @m:		the reader
 * @depth:	groups deeper in the tree are a part of the one above them; 0 is the root alone
 * @match:	a glob of paths, or NULL: only these are named, and the root
 * @slots:	which names there may be
 * @version:	of the program
 */
struct metrics {
	struct memio *m;
	unsigned int depth;
	const char *match;
	struct slots *slots;
	const char *version;
};

/*
 * metrics_print: all there is now, into *@text, which free() takes. 0, or a negative error:
 * -ENOMEM; else memio_error() says what
 */
int metrics_print(struct metrics *x, enum metrics_format format, char **text, size_t *length);

/* slots_new: for @most names; NULL: no memory */
struct slots *slots_new(unsigned int most);
void slots_free(struct slots *s);
/*
 * slots_take: whether the name may be exported at @now_s, which never goes back. A name has its
 * slot for SLOTS_HOLD_S after it was exported last, so that in that time there are never
 * more than @most names.
 */
bool slots_take(struct slots *s, const char *name, uint64_t now_s);
/* slots_used: how many names have a slot */
unsigned int slots_used(const struct slots *s);

#define SLOTS_HOLD_S	3600

/* http_serve: on @address, "127.0.0.1:9814" or "[::1]:9814", until a signal comes; a STATUS_ */
int http_serve(struct metrics *x, const char *address);

#endif /* MEMIO_EXPORT_METRICS_H */

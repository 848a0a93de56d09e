/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio record, replay, report: a sample and its record; see log.h and FORMAT.md
 *
 * A record has what the model (../top) asked the kernel: sums, not rates. So the record that
 * follows one that was lost has the bytes of both intervals.
 */
#ifndef MEMIO_HISTORY_PAST_H
#define MEMIO_HISTORY_PAST_H

#include "../top/model.h"

/**
 * struct bytes - a text that grows
 * @failed: there was no memory
 */
struct bytes {
	uint8_t *data;
	size_t n, room;
	bool failed;
};

void bytes_add(struct bytes *b, const void *data, size_t n);

/**
 * struct instant - when and by whom a sample was taken
 * @wall_ns:	by CLOCK_REALTIME
 * @mono_ns:	by CLOCK_MONOTONIC
 * @epoch:	where this is another one, sums began anew: the machine was started, or BPF
 *		programs were loaded
 * @interval_ms: what the recorder was asked for
 */
struct instant {
	uint64_t wall_ns, mono_ns, epoch;
	unsigned int interval_ms;
};

/*
 * A sample takes no more memory than that when it is read; a record that would take more is neither
 * written nor read. That are some 38,000 groups and tasks of up to 8 lines. A few bytes of a record
 * become some thousand in the model, and a record has 8 MiB.
 */
#define PAST_MOST	(256ull << 20)

/*
 * past_write: the last sample of a model, as a record's text behind what @to has. @from is the
 * model's source.
 * Return: 0, -ENOMEM, or -EFBIG: it would take more than PAST_MOST
 */
int past_write(struct bytes *to, const struct model *o, const struct source *from,
	       const struct instant *when);
/* past_when: the beginning of a record's text; false: it makes no sense */
bool past_when(const uint8_t *text, size_t size, struct instant *when);

struct past;

struct past *past_new(void);
void past_free(struct past *p);
/*
 * past_read: a record's text, which stays the caller's and has to stay where it is as long as
 * @p is asked. False: it makes no sense, or there is no memory
 */
bool past_read(struct past *p, const uint8_t *text, size_t size);
const struct instant *past_instant(const struct past *p);
/* past_groups, past_tasks: how many it has; past_has_tasks: whether tasks were recorded */
size_t past_groups(const struct past *p);
bool past_has_tasks(const struct past *p);
/*
 * past_group: the path of the group @name: "/a/b", "a/b", or a unit as "foo.service"; NULL: the
 * sample has none, or several
 */
const char *past_group(const struct past *p, const char *name);
struct source past_source(struct past *p);

#endif /* MEMIO_HISTORY_PAST_H */

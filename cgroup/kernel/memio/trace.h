/* SPDX-License-Identifier: GPL-2.0-only */
/* memio: what the parts of traces know of each other; how they work is in trace.c. */
#ifndef _MEMIO_TRACE_H
#define _MEMIO_TRACE_H

#include <linux/types.h>

struct memio_trace;
struct perf_event_attr;

struct memio_trace *memio_trace_here(void);
int memio_trace_counter(const struct memio_trace *t);
u64 *memio_trace_stage(struct memio_trace *t, unsigned int want, unsigned int *got);

/* pebs.c */
int memio_pebs_attr(struct perf_event_attr *attr);
void memio_pebs_begin(void);
void memio_pebs_end(void);

#endif

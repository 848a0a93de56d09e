/* SPDX-License-Identifier: GPL-2.0 */
/* Which tasks and CPUs are wanted */
#ifndef MEMIO_TRACE_FILTER_H
#define MEMIO_TRACE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct filter_list {
	uint64_t *id;
	size_t n;
};

/* Empty lists choose everything. */
struct filter {
	struct filter_list pids;	/* tgid */
	struct filter_list tids;
	struct filter_list cgroups;
	struct filter_list cpus;
};

/* 1: taken, it is one of those below; 0: it is not; -1: it is, and its value wrong, as was said */
int filter_option(struct filter *f, int option, const char *value);
void filter_free(struct filter *f);

bool filter_cpu(const struct filter *f, uint32_t cpu);
/* Is any task not wanted? Then filter_task() tells which are. */
bool filter_tasks(const struct filter *f);
bool filter_task(const struct filter *f, const struct format_state *state);
/* As words, for the file; returns @text */
const char *filter_text(const struct filter *f, char *text, size_t size);

#define FILTER_CGROUP	256
/* FILTER_OPTIONS: rows of the table of options */
#define FILTER_OPTIONS \
	{ .id = 'p', .name = "pid", .value = "PID[,...]", .completes = COMPLETES_PID, \
	  .help = "Take only these processes, with all their threads." }, \
	{ .id = 't', .name = "tid", .value = "TID[,...]", \
	  .help = "Take only these threads." }, \
	{ .id = FILTER_CGROUP, .name = "cgroup", .value = "GROUP", .completes = COMPLETES_FILE, \
	  .help = "Take only tasks of this group (a directory, or the group's id) and of the " \
		  "groups in it now." }, \
	{ .id = 'C', .name = "cpu", .value = "LIST", \
	  .help = "Take only these CPUs, as in 0,4-7." }

#endif /* MEMIO_TRACE_FILTER_H */

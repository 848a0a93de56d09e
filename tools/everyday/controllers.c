// SPDX-License-Identifier: GPL-2.0
/*
 * The memory controllers' own counts, see controllers.h
 *
 * perf's drivers have a PMU for each channel, uncore_imc_N, with events that are named
 * cas_count_read and cas_count_write; some processors have several of each, as
 * cas_count_read_sch0. A count is a line of 64 bytes. A PMU counts for each package, on a CPU of
 * that package.
 */
#include <dirent.h>
#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cit/cit.h"
#include "command.h"
#include "controllers.h"
#include "cpu.h"

#define PMUS		"/sys/bus/event_source/devices"
#define PMU		"uncore_imc"
#define COUNTERS_MOST	1024

/* As perf_event_open(2) reads them */
struct counts {
	uint64_t n, enabled, running;
};

struct counter {
	int fd;
	bool write;
	struct counts last;
};

struct controllers {
	struct counter counter[COUNTERS_MOST];
	size_t n;
	int error;
};

static void open_counter(struct controllers *c, struct perf_event_attr *attr, int cpu, bool write)
{
	const int fd = c->n < COUNTERS_MOST ? perf_open(attr, -1, cpu, -1) : -1;

	if (fd >= 0)
		c->counter[c->n++] = (struct counter) { .fd = fd, .write = write };
	else if (c->n == COUNTERS_MOST)
		c->error = E2BIG;
	else if (errno != ENODEV)	/* A package may lack the channel. */
		c->error = errno;
}

/* One event of a PMU, on a CPU of each package */
static void open_event(struct controllers *c, const char *pmu, const char *event, bool write)
{
	char *type = read_pmu(pmu, "type"), *mask = read_pmu(pmu, "cpumask");
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	struct events events = { 0 };
	struct perf_event_attr attr;
	char name[600];
	int cpu;

	snprintf(name, sizeof(name), "%s/%s/", pmu, event);
	if (type && mask && cpus && !hwloc_bitmap_list_sscanf(cpus, mask) &&
	    events_add(&events, name) == STATUS_OK) {
		attr = (struct perf_event_attr) {
			.size = sizeof(attr), .type = atoi(type),
			.config = events.e->attr.config, .config1 = events.e->attr.config1,
			.config2 = events.e->attr.config2,
			.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING,
		};
		hwloc_bitmap_foreach_begin(cpu, cpus)
			open_counter(c, &attr, cpu, write);
		hwloc_bitmap_foreach_end();
	} else {
		c->error = EINVAL;
	}
	events_free(&events);
	hwloc_bitmap_free(cpus);
	free(type);
	free(mask);
}

static void open_pmu(struct controllers *c, const char *pmu)
{
	struct dirent **entry;
	char path[512];
	int n, i;

	snprintf(path, sizeof(path), PMUS "/%s/events", pmu);
	n = scandir(path, &entry, NULL, alphasort);
	for (i = 0; i < n; i++) {
		const char *event = entry[i]->d_name;

		/* cas_count_read.unit is how to show it. */
		if (strchr(event, '.'))
			;
		else if (!strncmp(event, "cas_count_read", 14))
			open_event(c, pmu, event, false);
		else if (!strncmp(event, "cas_count_write", 15))
			open_event(c, pmu, event, true);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
}

void controllers_close(struct controllers *c)
{
	while (c && c->n)
		close(c->counter[--c->n].fd);
	free(c);
}

struct controllers *controllers_open(char *why, size_t size)
{
	struct controllers *c = calloc(1, sizeof(*c));
	struct dirent **entry;
	int n, i;

	n = c ? scandir(PMUS, &entry, NULL, versionsort) : -1;
	for (i = 0; i < n; i++) {
		if (!strncmp(entry[i]->d_name, PMU "_", sizeof(PMU)))
			open_pmu(c, entry[i]->d_name);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	if (c && c->n && !c->error)
		return c;
	if (c && c->error)
		snprintf(why, size, "perf can't count events of " PMU ": %s", strerror(c->error));
	else
		snprintf(why, size, "there is no PMU " PMU "_* with events cas_count_read and cas_count_write");
	controllers_close(c);
	return NULL;
}

/* What one has counted since it was read last; false: others had it all that time */
static bool grew(struct counter *c, uint64_t *n)
{
	struct counts now;
	uint64_t enabled, running;

	*n = 0;
	if (read(c->fd, &now, sizeof(now)) != sizeof(now))
		return false;
	*n = now.n - c->last.n;
	enabled = now.enabled - c->last.enabled;
	running = now.running - c->last.running;
	c->last = now;
	/* Others had it for a part of the time, as in perf's own figures. */
	if (running && running < enabled)
		*n *= (double)enabled / running;
	return running || !enabled;
}

bool controllers_read(struct controllers *c, uint64_t *read_bytes, uint64_t *write_bytes)
{
	uint64_t lines;
	bool ran = true;
	size_t i;

	*read_bytes = *write_bytes = 0;
	for (i = 0; i < c->n; i++) {
		ran &= grew(&c->counter[i], &lines);
		*(c->counter[i].write ? write_bytes : read_bytes) += lines * LINE_BYTES;
	}
	return ran;
}

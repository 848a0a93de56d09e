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

struct counter {
	int fd;
	bool write;
};

struct controllers {
	struct counter counter[COUNTERS_MOST];
	size_t n;
	int error;
};

static bool file_of(const char *pmu, const char *file, char *text, size_t size)
{
	char path[512];
	bool good;
	FILE *f;

	snprintf(path, sizeof(path), PMUS "/%s/%s", pmu, file);
	f = fopen(path, "re");
	good = f && fgets(text, size, f);
	if (f)
		fclose(f);
	return good;
}

/* One event of a PMU, on a CPU of each package: "0,18" */
static void open_event(struct controllers *c, const char *pmu, const char *event, bool write)
{
	struct events events = { 0 };
	struct perf_event_attr attr = { .size = sizeof(attr), .read_format =
			PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING };
	char name[600], text[256], *at, *end;

	snprintf(name, sizeof(name), "%s/%s/", pmu, event);
	if (events_add(&events, name) == STATUS_OK) {
		attr.config = events.e->attr.config;
		attr.config1 = events.e->attr.config1;
		attr.config2 = events.e->attr.config2;
	} else {
		c->error = EINVAL;
	}
	events_free(&events);
	if (c->error || !file_of(pmu, "type", text, sizeof(text)))
		return;
	attr.type = atoi(text);
	if (!file_of(pmu, "cpumask", text, sizeof(text)))
		return;
	for (at = text; c->n < COUNTERS_MOST; at = end + 1) {
		const long cpu = strtol(at, &end, 10);
		struct counter *one = &c->counter[c->n];

		if (end == at)
			break;
		*one = (struct counter) { .fd = perf_open(&attr, -1, cpu, -1), .write = write };
		if (one->fd >= 0)
			c->n++;
		else if (errno != ENODEV)	/* A package may lack the channel. */
			c->error = errno;
		if (*end != ',')
			break;
	}
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

bool controllers_read(struct controllers *c, uint64_t *read_bytes, uint64_t *write_bytes)
{
	struct { uint64_t count, enabled, running; } now;
	bool ran = true;
	size_t i;

	*read_bytes = *write_bytes = 0;
	for (i = 0; i < c->n; i++) {
		uint64_t *sum = c->counter[i].write ? write_bytes : read_bytes;

		if (read(c->counter[i].fd, &now, sizeof(now)) != sizeof(now) ||
		    (now.enabled && !now.running)) {
			ran = false;
			continue;
		}
		/* Others had the counter for a part of the time, as in perf's own figures. */
		if (now.running < now.enabled)
			now.count *= (double)now.enabled / now.running;
		*sum += now.count * LINE_BYTES;
	}
	return ran;
}

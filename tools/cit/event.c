// SPDX-License-Identifier: GPL-2.0
/*
 * Events: from names to what perf_event_open() wants
 *
 * Names come from libpfm4, which knows the tables of the processor makers: EVENT:UMASK
 * or EVENT.UMASK, with pmu:: in front or without. Other sources: a PMU of sysfs with
 * its terms, as perf writes them (cpu/event=0x2e,umask=0x41/,
 * uncore_cbox/event=0x37,umask=0x1/), and raw codes of the core (r412e).
 *
 * A PMU that comes many times, as those of the slices of a cache do (uncore_cbox_0,
 * uncore_cbox_1, ...), is counted in all of them, also if libpfm4 or the user named
 * one of its events in the first only: what is inspected is spread over them by a hash.
 * A pattern that names PMUs (hswep_unc_cbo*::*) so finds each of their events once.
 *
 * Some count in other units than what a category is of: per=N among the terms has N of its
 * counts be one.
 *
 * Core events count user mode only: interrupts come at any time.
 */
#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../json/json.h"
#include "cit.h"
#include "command.h"

/* libpfm4's copy of the kernel's header clashes with the kernel's, which cit.h has. */
#define __PERFMON_PERF_EVENT_H__
#include <perfmon/pfmlib_perf_event.h>

#define PMUS "/sys/bus/event_source/devices"
#define PER_MOST	65536

static bool ready(void)
{
	static int state;

	if (!state)
		state = pfm_initialize() == PFM_SUCCESS ? 1 : -1;
	if (state < 0)
		complain("libpfm4 does not start; event names are not known");
	return state > 0;
}

char *read_pmu(const char *pmu, const char *file)
{
	char path[512];
	char *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), PMUS "/%s/%s", pmu, file);
	f = fopen(path, "r");
	if (!f)
		return NULL;
	if (getline(&line, &size, f) < 0) {
		free(line);
		line = NULL;
	} else {
		line[strcspn(line, "\n")] = '\0';
	}
	fclose(f);
	return line;
}

/* "config1:0-5,8": put the bits of @value there. */
static bool put_bits(struct perf_event_attr *attr, const char *format, uint64_t value)
{
	const char *bits = strchr(format, ':');
	uint64_t *field;

	if (!bits)
		return false;
	if (!strncmp(format, "config1:", 8))
		field = (uint64_t *)&attr->config1;
	else if (!strncmp(format, "config2:", 8))
		field = (uint64_t *)&attr->config2;
	else
		field = (uint64_t *)&attr->config;
	for (bits++; *bits;) {
		char *end;
		unsigned long low = strtoul(bits, &end, 10), high = low, width;

		if (*end == '-')
			high = strtoul(end + 1, &end, 10);
		if (high < low || high > 63 || end == bits)
			return false;
		width = high - low + 1;
		*field |= (width < 64 ? value & ((1ull << width) - 1) : value) << low;
		value = width < 64 ? value >> width : 0;
		bits = *end == ',' ? end + 1 : end;
	}
	return !value;
}

/* Terms of sysfs: name=value, or a name: a flag, or one of the PMU's own events; and per=N, ours */
static bool put_terms(struct event *e, const char *pmu, const char *terms, int depth)
{
	struct perf_event_attr *attr = &e->attr;
	char *copy = strdup(terms), *save = NULL, *term;
	bool good = true;

	for (term = strtok_r(copy, ",", &save); term && good; term = strtok_r(NULL, ",", &save)) {
		char *value = strchr(term, '='), *end = NULL, *format, file[300];
		uint64_t number = 1;

		if (value) {
			*value++ = '\0';
			number = strtoull(value, &end, 0);
			if (!*value || *end) {
				complain("'%s=%s': not a number", term, value);
				good = false;
				break;
			}
		}
		if (!strcmp(term, "config")) {
			attr->config |= number;
			continue;
		}
		if (!strcmp(term, "config1")) {
			attr->config1 |= number;
			continue;
		}
		if (!strcmp(term, "config2")) {
			attr->config2 |= number;
			continue;
		}
		if (!strcmp(term, "per") && value && !depth) {
			good = number > 0 && number <= PER_MOST;
			if (!good)
				complain("'per=%s': from 1 to %d", value, PER_MOST);
			e->per = number;
			continue;
		}
		snprintf(file, sizeof(file), "format/%s", term);
		format = read_pmu(pmu, file);
		if (format) {
			good = put_bits(attr, format, number);
			if (!good)
				complain("'%s=%#llx' does not fit into %s of %s", term,
					 (unsigned long long)number, format, pmu);
			free(format);
			continue;
		}
		snprintf(file, sizeof(file), "events/%s", term);
		format = value || depth ? NULL : read_pmu(pmu, file);
		good = format && put_terms(e, pmu, format, depth + 1);
		if (!format)
			complain("the PMU %s has no term '%s'; see " PMUS "/%s/format", pmu, term,
				 pmu);
		free(format);
	}
	free(copy);
	return good;
}

/* uncore_cbox for uncore_cbox_0; itself for others */
static void stem_of(const char *pmu, char *stem, size_t size)
{
	char *end;

	snprintf(stem, size, "%s", pmu);
	end = strrchr(stem, '_');
	if (end && end[1] && strspn(end + 1, "0123456789") == strlen(end + 1))
		*end = '\0';
}

/*
 * All PMUs of sysfs that are @stem, or @stem and a number; the first one's name. A STATUS_,
 * after a complaint: USAGE if there is none; FAILED if there are more than there is room for,
 * of which some would count a part.
 */
static int find_units(struct event *e, const char *stem, char *first, size_t size)
{
	struct dirent **list;
	int i, n = scandir(PMUS, &list, NULL, versionsort);
	bool all = true;

	e->units = 0;
	for (i = 0; i < n; i++) {
		const char *pmu = list[i]->d_name;
		char of[256], *type, *mask;

		stem_of(pmu, of, sizeof(of));
		if (strcmp(pmu, stem) && strcmp(of, stem))
			continue;
		type = read_pmu(pmu, "type");
		if (!type)
			continue;
		if (e->units == CIT_UNITS) {
			free(type);
			all = false;
			break;
		}
		if (!e->units)
			snprintf(first, size, "%s", pmu);
		/* One CPU of each package does; there is one package, or the first counts. */
		mask = read_pmu(pmu, "cpumask");
		e->uncore = mask;
		e->unit[e->units].type = atoi(type);
		e->unit[e->units].cpu = mask ? atoi(mask) : -1;
		e->units++;
		free(mask);
		free(type);
	}
	while (n > 0)
		free(list[--n]);
	if (i > 0)
		free(list);
	if (!all) {
		complain("the PMU '%s' comes more than %u times, which is not counted", stem,
			 CIT_UNITS);
		return STATUS_FAILED;
	}
	if (!e->units) {
		complain("no PMU '%s' in " PMUS, stem);
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

static bool pmu_of_type(uint32_t type, char *pmu, size_t size)
{
	DIR *d = opendir(PMUS);
	struct dirent *entry;
	bool found = false;

	while (d && !found && (entry = readdir(d))) {
		char *t = *entry->d_name == '.' ? NULL : read_pmu(entry->d_name, "type");

		found = t && (uint32_t)atoi(t) == type;
		if (found)
			snprintf(pmu, size, "%s", entry->d_name);
		free(t);
	}
	if (d)
		closedir(d);
	return found;
}

static void user_mode(struct event *e)
{
	e->attr.size = sizeof(e->attr);
	e->attr.disabled = 1;
	/* The uncore knows no modes, and its drivers refuse to leave one out. */
	e->attr.exclude_user = 0;
	e->attr.exclude_kernel = !e->uncore;
	e->attr.exclude_hv = !e->uncore;
}

static void append(struct events *events, const struct event *e, const char *name)
{
	events->e = realloc(events->e, (events->n + 1) * sizeof(*e));
	events->e[events->n] = *e;
	events->e[events->n].name = strdup(name);
	events->e[events->n].per = e->per ?: 1;
	events->n++;
}

/* A STATUS_, as that of events_add() */
static int add_sysfs(struct events *events, const char *name)
{
	struct event e = { 0 };
	char pmu[256], stem[256], name_of[256];
	const char *terms = strchr(name, '/') + 1;
	size_t length = strlen(terms);
	char *copy;
	int status;
	bool good;

	if (terms - name > (long)sizeof(stem) || !length || terms[length - 1] != '/') {
		complain("'%s': a PMU and its terms are written pmu/term=value,.../", name);
		return STATUS_USAGE;
	}
	snprintf(name_of, sizeof(name_of), "%.*s", (int)(terms - name - 1), name);
	stem_of(name_of, stem, sizeof(stem));
	status = find_units(&e, stem, pmu, sizeof(pmu));
	if (status != STATUS_OK)
		return status;
	copy = strndup(terms, length - 1);
	good = put_terms(&e, pmu, copy, 0);
	free(copy);
	if (!good)
		return STATUS_USAGE;
	e.attr.type = e.unit[0].type;
	user_mode(&e);
	append(events, &e, name);
	return STATUS_OK;
}

/* By libpfm4; @why_not is its error */
static bool add_named(struct events *events, const char *name, int *why_not)
{
	struct event e = { 0 };
	pfm_perf_encode_arg_t arg = { .attr = &e.attr, .size = sizeof(arg) };
	char pmu[256], stem[256];

	e.attr.size = sizeof(e.attr);
	*why_not = pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	if (*why_not != PFM_SUCCESS)
		return false;
	e.units = 1;
	e.unit[0].type = e.attr.type;
	e.unit[0].cpu = -1;
	/* The types of the kernel's own are below 6; sysfs numbers the others. */
	if (e.attr.type >= PERF_TYPE_MAX && pmu_of_type(e.attr.type, pmu, sizeof(pmu))) {
		stem_of(pmu, stem, sizeof(stem));
		if (find_units(&e, stem, pmu, sizeof(pmu)) != STATUS_OK) {
			*why_not = PFM_ERR_NOTSUPP;
			return false;
		}
	}
	user_mode(&e);
	append(events, &e, name);
	return true;
}

/*
 * Calls @each with the full name and description of each event of libpfm4, and each of
 * its unit masks. @cores: of the processor's cores only, without the generic names.
 */
static void all_events(bool cores, bool (*each)(void *arg, const char *name, const char *text),
		       void *arg)
{
	pfm_pmu_info_t pmu = { .size = sizeof(pmu) };
	int i, e, a;

	for (i = 0; i < PFM_PMU_MAX; i++) {
		const int found = pfm_get_pmu_info(i, &pmu);

		if (found != PFM_SUCCESS || !pmu.is_present)
			continue;
		if (pmu.type != PFM_PMU_TYPE_CORE && (cores || pmu.type != PFM_PMU_TYPE_UNCORE))
			continue;
		/* Of the architectural events each has a name of its own in the model's table. */
		if (!strcmp(pmu.name, "ix86arch"))
			continue;
		for (e = pmu.first_event; e != -1; e = pfm_get_event_next(e)) {
			pfm_event_info_t info = { .size = sizeof(info) };
			char name[512];
			bool masks = false;

			if (pfm_get_event_info(e, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS ||
			    info.equiv)
				continue;
			for (a = 0; a < info.nattrs; a++) {
				pfm_event_attr_info_t attr = { .size = sizeof(attr) };

				if (pfm_get_event_attr_info(e, a, PFM_OS_PERF_EVENT, &attr) !=
				    PFM_SUCCESS || attr.type != PFM_ATTR_UMASK)
					continue;
				masks = true;
				if (attr.equiv)
					continue;
				snprintf(name, sizeof(name), "%s%s%s:%s", cores ? "" : pmu.name,
					 cores ? "" : "::", info.name, attr.name);
				if (!each(arg, name, attr.desc))
					return;
			}
			snprintf(name, sizeof(name), "%s%s%s", cores ? "" : pmu.name,
				 cores ? "" : "::", info.name);
			if (!masks && !each(arg, name, info.desc))
				return;
		}
	}
}

struct pattern {
	struct events *events;
	FILE *to;
	json_t *list;
	const char *pattern;
	size_t found;
};

static bool matches(const struct pattern *p, const char *name)
{
	const char *plain = strstr(name, "::");
	char *dot;
	int no;

	if (!p->pattern || !fnmatch(p->pattern, name, FNM_CASEFOLD) ||
	    (plain && !fnmatch(p->pattern, plain + 2, FNM_CASEFOLD)))
		return true;
	dot = strdup(plain ? plain + 2 : name);
	if (strchr(dot, ':'))
		*strchr(dot, ':') = '.';
	no = fnmatch(p->pattern, dot, FNM_CASEFOLD);
	free(dot);
	return !no;
}

/* Two names of one code are one event. */
static bool known(const struct events *events, const struct event *e)
{
	size_t i;

	for (i = 0; i < events->n; i++) {
		const struct perf_event_attr *a = &events->e[i].attr;

		/* Of a PMU that comes many times all are counted, whichever it was named of. */
		if (&events->e[i] != e && events->e[i].unit[0].type == e->unit[0].type &&
		    a->config == e->attr.config && a->config1 == e->attr.config1 &&
		    a->config2 == e->attr.config2 && events->e[i].per == e->per)
			return true;
	}
	return false;
}

static bool add_matching(void *arg, const char *name, const char *text)
{
	struct pattern *p = arg;
	int error;

	(void)text;
	if (!matches(p, name) || !add_named(p->events, name, &error))
		return true;
	p->found++;
	if (known(p->events, &p->events->e[p->events->n - 1]))
		free(p->events->e[--p->events->n].name);
	return true;
}

/* Calls @each for what the kernel itself names, of PMUs that libpfm4 may not know */
static void all_sysfs(bool (*each)(void *arg, const char *name, const char *text), void *arg)
{
	struct dirent **pmus, **names;
	int i, k, n = scandir(PMUS, &pmus, NULL, versionsort), m;

	for (i = 0; i < n; i++) {
		char path[512], name[600];

		snprintf(path, sizeof(path), PMUS "/%s/events", pmus[i]->d_name);
		m = *pmus[i]->d_name == '.' ? -1 : scandir(path, &names, NULL, alphasort);
		for (k = 0; k < m; k++) {
			const char *entry = names[k]->d_name;

			snprintf(name, sizeof(name), "%s/%s/", pmus[i]->d_name, entry);
			/* name.unit and name.scale describe the event beside them. */
			if (!strchr(entry, '.'))
				each(arg, name, "(sysfs)");
			free(names[k]);
		}
		if (m >= 0)
			free(names);
		free(pmus[i]);
	}
	if (n >= 0)
		free(pmus);
}

/* A pattern of uncore_imc is for all of uncore_imc_0, uncore_imc_1, ... */
static bool matches_sysfs(const struct pattern *p, const char *name)
{
	char pmu[256], stem[256], of_all[900];
	const char *terms = strchr(name, '/');

	snprintf(pmu, sizeof(pmu), "%.*s", (int)(terms - name), name);
	stem_of(pmu, stem, sizeof(stem));
	snprintf(of_all, sizeof(of_all), "%s%s", stem, terms);
	return matches(p, name) || matches(p, of_all);
}

static bool add_sysfs_matching(void *arg, const char *name, const char *text)
{
	struct pattern *p = arg;

	(void)text;
	if (!matches_sysfs(p, name) || add_sysfs(p->events, name) != STATUS_OK)
		return true;
	p->found++;
	if (known(p->events, &p->events->e[p->events->n - 1]))
		free(p->events->e[--p->events->n].name);
	return true;
}

static bool print_event(struct pattern *p, const char *name, const char *text)
{
	if (p->list)
		json_array_append_new(p->list, json_pack("{s:o, s:o}", "event", json_name(name),
							 "text", json_name(text ? text : "")));
	else
		fprintf(p->to, "%-52s %s\n", name, text ? text : "");
	p->found++;
	return !ferror(p->to);
}

static bool print_matching(void *arg, const char *name, const char *text)
{
	return !matches(arg, name) || print_event(arg, name, text);
}

static bool print_sysfs_matching(void *arg, const char *name, const char *text)
{
	return !matches_sysfs(arg, name) || print_event(arg, name, text);
}

int events_add(struct events *events, const char *name)
{
	struct pattern p = { .events = events, .pattern = name };
	const bool pattern = strpbrk(name, "*?[");
	int error = 0;

	if (strchr(name, '/') && pattern) {
		all_sysfs(add_sysfs_matching, &p);
		if (!p.found)
			complain("no event of " PMUS " matches '%s'; 'memio cit list' has them",
				 name);
		return p.found ? STATUS_OK : STATUS_USAGE;
	}
	if (strchr(name, '/'))
		return add_sysfs(events, name);
	if (*name == 'r' && name[1] && strspn(name + 1, "0123456789abcdefABCDEF") ==
	    strlen(name + 1) && strlen(name) <= 17) {
		struct event e = { .units = 1 };

		e.attr.type = PERF_TYPE_RAW;
		e.attr.config = strtoull(name + 1, NULL, 16);
		e.unit[0].type = PERF_TYPE_RAW;
		e.unit[0].cpu = -1;
		user_mode(&e);
		append(events, &e, name);
		return STATUS_OK;
	}
	/* Whether there is one of that name, only libpfm4 knows. */
	if (!ready())
		return STATUS_FAILED;
	if (!pattern) {
		if (add_named(events, name, &error))
			return STATUS_OK;
		complain("no event '%s' here (%s); 'memio cit list' has them", name,
			 pfm_strerror(error));
		return STATUS_USAGE;
	}
	/* What list has of several kinds: the cores' and others are not counted together. */
	all_events(true, add_matching, &p);
	if (!p.found)
		all_events(false, add_matching, &p);
	if (!p.found)
		all_sysfs(add_sysfs_matching, &p);
	if (!p.found)
		complain("no event that can be counted here matches '%s'; 'memio cit list' has them",
			 name);
	return p.found ? STATUS_OK : STATUS_USAGE;
}

void events_free(struct events *events)
{
	while (events->n)
		free(events->e[--events->n].name);
	free(events->e);
	events->e = NULL;
}

int events_list(FILE *to, const char *pattern, bool json)
{
	struct pattern p = { .to = to, .pattern = pattern };
	json_t *j;

	if (!ready())
		return STATUS_FAILED;
	p.list = json ? json_array() : NULL;
	all_events(false, print_matching, &p);
	all_sysfs(print_sysfs_matching, &p);
	if (!p.found)
		complain(pattern ? "nothing matches '%s'" : "no events are known here%s",
			 pattern ? pattern : "");
	if (json) {
		j = json_begin();
		json_object_set_new(j, "events", p.list);
		json_end(j, to);
	}
	return p.found ? STATUS_OK : STATUS_NEGATIVE;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Figures: as a table, as rows, as CSV and as JSON, see everyday.h
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "everyday.h"
#include "wide.h"

bool everyday_backend(int argc, char **argv, const char **backend, int *status)
{
	struct options o;
	int opt;

	*backend = NULL;
	options_begin(&o, argc, argv);
	while ((opt = options_get(&o, status)) > 0)
		if (opt == OPT_BACKEND)
			*backend = optarg;
	if (opt < 0)
		return false;
	if (!*backend || !strcmp(*backend, "auto") || !strcmp(*backend, "kernel") ||
	    !strcmp(*backend, "bpf"))
		return true;
	complain("--backend '%s': auto, kernel or bpf", *backend);
	*status = STATUS_USAGE;
	return false;
}

struct memio *everyday_open(const char *backend, int *status)
{
	const char *root = getenv("MEMIO_ROOT");
	struct memio *m = memio_open_backend(root && *root ? root : "/", backend);

	if (!m) {
		complain_errno("MEMIO_ROOT %s", root ?: "");
		*status = STATUS_FAILED;
	}
	return m;
}

int everyday_status(struct memio *m, int err, const char *group)
{
	char *lacks = NULL;
	int status = STATUS_FAILED;

	complain("%s", memio_error(m));
	if (err == -EACCES || err == -ENOTSUP || (err == -ENODEV && !memio_mount(m)))
		status = STATUS_UNABLE;
	else if (err == -ENOENT && group && memio_group_lacks(m, group, &lacks) == 1)
		status = STATUS_UNABLE;
	free(lacks);
	return status;
}

/* The same command as root, if that would do */
static void say_sudo(struct memio *m)
{
	char text[1024];
	size_t n, i;
	FILE *f;

	if (!memio_needs_root(m))
		return;
	f = fopen("/proc/self/cmdline", "re");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	if (!n || n == sizeof(text) - 1)
		return;
	text[n] = '\0';
	for (i = 0; i + 1 < n; i++)
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	complain("type: sudo %s", text);
}

void everyday_lost(struct memio *m)
{
	struct memio_flat state = { 0 };
	char text[FIGURE_TEXT];
	uint64_t lost;

	if (!memio_group_state(m, "/", &state)) {
		lost = memio_flat_get(&state, "lost_group_bytes");
		if (lost)
			complain("there was no room for so many groups and devices: figures of groups lack %s",
				 bytes_text(lost, text));
		lost = memio_flat_get(&state, "lost_task_bytes");
		if (lost)
			complain("there was no room for so many tasks: their figures lack %s",
				 bytes_text(lost, text));
	}
	memio_flat_free(&state);
}

bool everyday_able(struct memio *m)
{
	const struct memio_capability *c = memio_can(m, "kernel");

	if (c && c->there)
		c = memio_can(m, "hierarchy");
	if (c && c->there)
		return true;
	complain("%s", c ? c->why : "no memory");
	say_sudo(m);
	return false;
}

bool everyday_accounted(struct memio *m)
{
	const struct memio_capability *c = memio_can(m, "enabled");

	if (c && c->there)
		return true;
	complain("%s", c ? c->why : "no memory");
	return false;
}

/* ---- numbers ---- */

const char *bytes_text(uint64_t bytes, char text[FIGURE_TEXT])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	double n = bytes;
	size_t i = 0;

	/* What would be rounded to 1000 is 1.00 of the next. */
	while (n >= 999.5 && i + 1 < sizeof(units) / sizeof(*units)) {
		n /= 1000;
		i++;
	}
	snprintf(text, FIGURE_TEXT, "%.*f %s", !i || n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2, n,
		 units[i]);
	return text;
}

const char *rate_text(uint64_t bps, char text[FIGURE_TEXT])
{
	if (bps == MEMIO_RATE_MAX)
		return "max";
	bytes_text(bps, text);
	stpcpy(text + strlen(text), "/s");
	return text;
}

const char *way_meaning(enum memio_way way)
{
	switch (way) {
	case MEMIO_RBPS:
		return "memory read (send, disk writes)";
	case MEMIO_WBPS:
		return "memory written (receive, disk reads)";
	default:
		return "memory read and written";
	}
}

static uint64_t bps_of(uint64_t bytes, uint64_t ns)
{
	const double rate = memio_rate(bytes, ns);

	return rate < (double)INT64_MAX ? (uint64_t)(rate + 0.5) : (uint64_t)INT64_MAX;
}

static const struct column {
	enum memio_field field;
	const char *head, *name;
} columns[] = {
	{ MEMIO_IO_TO, "to dev", "io_to" },
	{ MEMIO_IO_FROM, "from dev", "io_from" },
	{ MEMIO_MEM_READ, "mem rd", "mem_read" },
	{ MEMIO_MEM_WRITE, "mem wr", "mem_write" },
};

#define COLUMNS	(sizeof(columns) / sizeof(*columns))

/* ---- how far a figure can be off ---- */

static const enum memio_field bounds[] = {
	MEMIO_MEM_READ_MIN, MEMIO_MEM_READ_MAX, MEMIO_MEM_WRITE_MIN, MEMIO_MEM_WRITE_MAX,
};

#define BOUNDS	(sizeof(bounds) / sizeof(*bounds))

/*
 * "-5 +12 %" of a memory figure, or "to 3 MB" of one that is 0; with @ns, "to 3 MB/s". False: it is
 * that, or nearly so
 */
static bool wide_text(const struct memio_line *l, enum memio_field field, uint64_t ns,
		      char text[FIGURE_TEXT])
{
	const size_t i = field == MEMIO_MEM_READ ? 0 : 2;
	const uint64_t figure = memio_get(l, field), least = memio_get(l, bounds[i]);
	const uint64_t most = memio_get(l, bounds[i + 1]);
	char number[FIGURE_TEXT];

	if ((field != MEMIO_MEM_READ && field != MEMIO_MEM_WRITE) || !memio_has(l, bounds[i]) ||
	    !memio_has(l, bounds[i + 1]) || !bounds_wide(figure, least, most))
		return false;
	if (!figure || most / 10 > figure)
		snprintf(text, FIGURE_TEXT, "to %s", ns ? rate_text(bps_of(most, ns), number) :
			 bytes_text(most, number));
	else
		snprintf(text, FIGURE_TEXT, "-%.0f +%.0f %%",
			 figure > least ? (figure - least) * 100. / figure : 0,
			 most > figure ? (most - figure) * 100. / figure : 0);
	return true;
}

static bool any_wide(const struct memio_line *l)
{
	char text[FIGURE_TEXT];

	return wide_text(l, MEMIO_MEM_READ, 0, text) || wide_text(l, MEMIO_MEM_WRITE, 0, text);
}

static const char *name_of(struct memio *m, const struct memio_line *l)
{
	return memio_is_device(l) ? memio_device_alias(m, l->key) : l->key;
}

/* A line that has moved nothing tells nothing; but "total" says so. */
static bool is_shown(const struct memio_line *l)
{
	size_t i;

	for (i = 0; i < COLUMNS; i++)
		if (memio_get(l, columns[i].field))
			return true;
	return !strcmp(l->key, "total");
}

/* ---- the table ---- */

/* IO bytes alone are counted: there is no figure of memory. */
static bool lacks_memory(struct memio *m)
{
	const struct memio_capability *c;

	if (strcmp(memio_backend(m), "bpf"))
		return false;
	c = memio_can(m, "source");
	return !c || !c->there;
}

static void notes(struct memio *m, const struct figures *f, FILE *to)
{
	const struct memio_line *total = memio_stat_find(&f->moved, "total");
	const struct memio_line *cpu = memio_stat_find(&f->moved, "cpu");
	uint64_t io, unpriced;
	size_t i;

	if (!total && f->moved.n)
		total = &f->moved.line[0];
	io = memio_get(total, MEMIO_IO_TO) + memio_get(total, MEMIO_IO_FROM);
	unpriced = memio_unpriced(total);
	if (lacks_memory(m))
		fputs("  memory bytes of devices are absent: BPF programs count IO bytes\n", to);
	if (io && unpriced)
		fprintf(to, "  %.0f %% of the IO bytes have no price: they count as memory bytes, which is an upper bound\n",
			unpriced * 100. / io);
	if (cpu && memio_has(cpu, MEMIO_VALID) && !memio_get(cpu, MEMIO_VALID))
		fputs("  what CPUs read is not counted, or only in part\n", to);
	for (i = 0; i < f->moved.n; i++)
		if (f->moved.line[i].anew)
			fprintf(to, "  %s: counting began anew meanwhile\n", f->moved.line[i].key);
	if (f->has_stops && f->stops)
		fprintf(to, "  limits stopped it %" PRIu64 " times, for %.3f s (%.1f %% of the time)\n",
			f->stops, f->stopped_usec / 1e6,
			f->moved.ns ? f->stopped_usec * 1e5 / f->moved.ns : 0);
}

void figures_table(struct memio *m, const struct figures *f, FILE *to)
{
	char text[FIGURE_TEXT];
	size_t i, c;

	fprintf(to, "\n%s %s, %.3f s\n\n  %-16s", f->kind, f->name, f->moved.ns / 1e9, "");
	for (c = 0; c < COLUMNS; c++)
		fprintf(to, " %12s", columns[c].head);
	fputc('\n', to);
	for (i = 0; i < f->moved.n; i++) {
		const struct memio_line *l = &f->moved.line[i];

		if (!is_shown(l) && f->moved.n > 1)
			continue;
		fprintf(to, "  %-16s", name_of(m, l));
		for (c = 0; c < COLUMNS; c++)
			fprintf(to, " %12s", memio_has(l, columns[c].field) ?
				bytes_text(memio_get(l, columns[c].field), text) : "-");
		fprintf(to, "\n  %-16s", "");
		for (c = 0; c < COLUMNS; c++)
			fprintf(to, " %12s", memio_has(l, columns[c].field) ?
				rate_text(bps_of(memio_get(l, columns[c].field), f->moved.ns),
					  text) : "-");
		fputc('\n', to);
		if (!any_wide(l))
			continue;
		fprintf(to, "  %-16s", "  bounds");
		for (c = 0; c < COLUMNS; c++)
			fprintf(to, " %12s", wide_text(l, columns[c].field, 0, text) ? text : "");
		fputc('\n', to);
	}
	fputc('\n', to);
	notes(m, f, to);
}

/* ---- rows ---- */

void figures_rows_head(FILE *to)
{
	size_t c;

	fprintf(to, "%10s %-24s %-12s", "s", "", "");
	for (c = 0; c < COLUMNS; c++)
		fprintf(to, " %12s", columns[c].head);
	fputc('\n', to);
}

void figures_rows(struct memio *m, const struct figures *f, FILE *to)
{
	char text[FIGURE_TEXT];
	size_t i, c;

	for (i = 0; i < f->moved.n; i++) {
		const struct memio_line *l = &f->moved.line[i];

		if (!is_shown(l) && f->moved.n > 1)
			continue;
		fprintf(to, "%10.3f %-24s %-12s", (f->time_ns + f->moved.ns) / 1e9, f->name,
			name_of(m, l));
		for (c = 0; c < COLUMNS; c++)
			fprintf(to, " %12s", memio_has(l, columns[c].field) ?
				rate_text(bps_of(memio_get(l, columns[c].field), f->moved.ns),
					  text) : "-");
		for (c = 0; c < COLUMNS; c++)
			if (wide_text(l, columns[c].field, f->moved.ns, text))
				fprintf(to, "  %s %s", columns[c].head, text);
		fputc('\n', to);
	}
}

/* ---- CSV and JSON ---- */

void figures_csv_head(FILE *to)
{
	size_t c;

	fputs("time_ns,interval_ns,kind,name,key,alias", to);
	for (c = 0; c < COLUMNS; c++)
		fprintf(to, ",%s_bytes", columns[c].name);
	for (c = 0; c < COLUMNS; c++)
		fprintf(to, ",%s_bps", columns[c].name);
	fputs(",unpriced_bytes,stopped_usec", to);
	for (c = 0; c < BOUNDS; c++)
		fprintf(to, ",%s_bytes", memio_field_name(bounds[c]));
	fputc('\n', to);
}

void figures_csv(struct memio *m, const struct figures *f, FILE *to)
{
	size_t i, c;

	for (i = 0; i < f->moved.n; i++) {
		const struct memio_line *l = &f->moved.line[i];

		fprintf(to, "%" PRIu64 ",%" PRIu64 ",%s,", f->time_ns, f->moved.ns, f->kind);
		csv_name(to, f->name);
		fprintf(to, ",%s,%s", l->key, name_of(m, l));
		for (c = 0; c < COLUMNS; c++) {
			fputc(',', to);
			if (memio_has(l, columns[c].field))
				fprintf(to, "%" PRIu64, memio_get(l, columns[c].field));
		}
		for (c = 0; c < COLUMNS; c++) {
			fputc(',', to);
			if (memio_has(l, columns[c].field))
				fprintf(to, "%" PRIu64,
					bps_of(memio_get(l, columns[c].field), f->moved.ns));
		}
		fprintf(to, ",%" PRIu64 ",", memio_unpriced(l));
		if (f->has_stops && !strcmp(l->key, "total"))
			fprintf(to, "%" PRIu64, f->stopped_usec);
		for (c = 0; c < BOUNDS; c++) {
			fputc(',', to);
			if (memio_has(l, bounds[c]))
				fprintf(to, "%" PRIu64, memio_get(l, bounds[c]));
		}
		fputc('\n', to);
	}
}

json_t *figures_json(struct memio *m, const struct figures *f)
{
	json_t *j = json_object(), *lines = json_array();
	char name[64];
	size_t i;
	int field;

	json_object_set_new(j, "kind", json_string(f->kind));
	json_object_set_new(j, "name", json_name(f->name));
	json_object_set_new(j, "time_ns", json_count(f->time_ns));
	json_object_set_new(j, "interval_ns", json_count(f->moved.ns));
	if (lacks_memory(m))
		json_object_set_new(j, "memory", json_string("absent"));
	if (f->has_stops) {
		json_object_set_new(j, "stopped_usec", json_count(f->stopped_usec));
		json_object_set_new(j, "stops", json_count(f->stops));
	}
	for (i = 0; i < f->moved.n; i++) {
		const struct memio_line *l = &f->moved.line[i];
		json_t *line = json_object();

		json_object_set_new(line, "key", json_string(l->key));
		if (memio_is_device(l))
			json_object_set_new(line, "alias", json_name(name_of(m, l)));
		for (field = 0; field <= MEMIO_UNSEEN_FROM; field++) {
			if (!memio_has(l, field))
				continue;
			snprintf(name, sizeof(name), "%s_bytes", memio_field_name(field));
			json_object_set_new(line, name,
					    json_integer((json_int_t)memio_get(l, field)));
		}
		for (field = 0; field < (int)COLUMNS; field++) {
			if (!memio_has(l, columns[field].field))
				continue;
			snprintf(name, sizeof(name), "%s_bps", columns[field].name);
			json_object_set_new(line, name,
					    json_count(bps_of(memio_get(l, columns[field].field),
							      f->moved.ns)));
		}
		if (memio_has(l, MEMIO_VALID))
			json_object_set_new(line, "valid",
					    json_boolean(memio_get(l, MEMIO_VALID)));
		if (l->anew)
			json_object_set_new(line, "anew", json_true());
		json_array_append_new(lines, line);
	}
	json_object_set_new(j, "lines", lines);
	return j;
}

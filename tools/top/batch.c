// SPDX-License-Identifier: GPL-2.0
/*
 * memio top: samples as tables, JSON and CSV
 */
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "batch.h"

static const char *const figure_names[FIGURES] = {
	[FIG_TO]	= "io_to_bps",
	[FIG_FROM]	= "io_from_bps",
	[FIG_READ]	= "mem_read_bps",
	[FIG_WRITE]	= "mem_write_bps",
	[FIG_CPU]	= "cpu_bps",
};

static const char *const bound_names[BOUNDS] = {
	[BOUND_READ_MIN]	= "mem_read_min_bps",
	[BOUND_READ_MAX]	= "mem_read_max_bps",
	[BOUND_WRITE_MIN]	= "mem_write_min_bps",
	[BOUND_WRITE_MAX]	= "mem_write_max_bps",
};

static const char *const kind_names[] = {
	[TRACK_GROUP]	= "group",
	[TRACK_TASK]	= "task",
	[TRACK_DEVICE]	= "device",
};

static const char *const worth_names[] = {
	[WORTH_OK]	= "ok",
	[WORTH_BOUND]	= "bound",
	[WORTH_INVALID]	= "invalid",
};

void print_screen(const struct screen *s, FILE *to)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct screen_line *l = &s->line[i];
		size_t n = l->bytes;

		while (n && l->text[n - 1] == ' ')
			n--;
		fprintf(to, "%.*s\n", (int)n, l->text);
	}
}

/* ---- JSON ---- */

/* "2026-11-28T03:12:05+0100" */
static const char *time_text(uint64_t wall_ns, char text[40])
{
	const time_t s = wall_ns / 1000000000;
	struct tm t;

	if (!localtime_r(&s, &t) || !strftime(text, 40, "%Y-%m-%dT%H:%M:%S%z", &t))
		*text = '\0';
	return text;
}

/* Names are bytes, and JSON is UTF-8. */
static json_t *text_of(const char *text)
{
	char clean[8192];
	json_t *j = json_string(text);

	if (j)
		return j;
	view_fit(clean, sizeof(clean), text, sizeof(clean), true);
	return json_string(clean);
}

static json_t *json_limits(const struct track *t)
{
	json_t *all = json_object();
	size_t i;
	int way;

	for (i = 0; i < t->limits.n; i++) {
		const struct memio_limit *l = &t->limits.limit[i];
		json_t *one = json_object();

		for (way = 0; way < MEMIO_WAYS; way++)
			if (l->rate[way] < MEMIO_RATE_KEEP)
				json_object_set_new(one, memio_way_name(way),
						    json_integer(l->rate[way]));
		json_object_set_new(all, l->key, one);
	}
	return all;
}

/* What memory figures are worth; without any, that they are absent */
static const char *memory_word(const struct model *o, const struct track *t)
{
	return o->has_memory ? worth_names[t->worth] : "absent";
}

static json_t *json_row(const struct model *o, const struct track *t)
{
	json_t *row = json_object();
	int f;

	json_object_set_new(row, "kind", json_string(kind_names[t->kind]));
	switch (t->kind) {
	case TRACK_TASK:
		json_object_set_new(row, "pid", json_integer(t->pid));
		json_object_set_new(row, "comm", text_of(t->info->comm));
		json_object_set_new(row, "group", text_of(t->group->name));
		break;
	case TRACK_DEVICE:
		json_object_set_new(row, "device", text_of(t->name));
		json_object_set_new(row, "alias", text_of(t->label));
		break;
	default:
		json_object_set_new(row, "group", text_of(t->name));
		if (*t->label)
			json_object_set_new(row, "container", text_of(t->label));
		break;
	}
	for (f = 0; f < FIGURES; f++)
		json_object_set_new(row, figure_names[f], t->figures & 1u << f ?
				    json_integer(t->rate[f] + 0.5) : json_null());
	json_object_set_new(row, "share", t->figures & SHARE_FIGURES ? json_real(t->share) :
			    json_null());
	json_object_set_new(row, "memory", json_string(memory_word(o, t)));
	if (t->half >= 0)
		json_object_set_new(row, "half_width", json_real(t->half));
	if (t->bounded)
		for (f = 0; f < BOUNDS; f++)
			json_object_set_new(row, bound_names[f], json_integer(t->bound[f] + 0.5));
	if (t->besides) {
		json_t *beside = json_object();

		for (f = 0; f < FIG_CPU; f++)
			if (t->besides & 1u << f)
				json_object_set_new(beside, figure_names[f],
						    json_integer(t->beside[f] + 0.5));
		json_object_set_new(row, "beside", beside);
	}
	if (t->anew)
		json_object_set_new(row, "anew", json_true());
	if (t->denied)
		json_object_set_new(row, "denied", json_true());
	if (t->kind == TRACK_GROUP) {
		json_object_set_new(row, "stopped_usec",
				    json_integer(t->stopped * o->interval_ns / 1000 + 0.5));
		json_object_set_new(row, "limit", json_limits(t));
	}
	if (t->kind == TRACK_TASK)
		json_object_set_new(row, "stopped", json_boolean(t->stopped > 0));
	return row;
}

bool print_json(struct view *v, const struct model *o, FILE *to)
{
	json_t *all = json_object(), *notes = json_array(), *rows = json_array();
	char when[40];
	bool good;
	size_t i;

	if (view_list(v, o))
		return false;
	json_object_set_new(all, "memio", json_integer(1));
	json_object_set_new(all, "command", json_string(v->command));
	if (v->timed) {
		json_object_set_new(all, "time", json_string(time_text(o->wall_ns, when)));
		json_object_set_new(all, "time_ns", json_integer(o->wall_ns));
	}
	json_object_set_new(all, "rows_are", json_string(show_name(v->show)));
	json_object_set_new(all, "sample", json_integer(o->samples - 1));
	json_object_set_new(all, "interval_ns", json_integer(o->interval_ns));
	json_object_set_new(all, "source", json_string(o->source));
	json_object_set_new(all, "estimator", json_string(o->estimator));
	if (o->beside.path)
		json_object_set_new(all, "beside", text_of(o->beside.name));
	for (i = 0; i < o->notes; i++) {
		json_t *n = json_object();

		json_object_set_new(n, "about", json_string(o->note[i].about));
		json_object_set_new(n, "why", text_of(o->note[i].why));
		json_array_append_new(notes, n);
	}
	json_object_set_new(all, "notes", notes);
	for (i = 0; i < v->list.n; i++)
		json_array_append_new(rows, json_row(o, v->list.track[i]));
	json_object_set_new(all, "rows", rows);
	good = !json_dumpf(all, to, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
	putc('\n', to);
	json_decref(all);
	return good;
}

/* ---- CSV ---- */

void print_csv_head(const struct view *v, FILE *to)
{
	int f;

	fputs("sample,interval_ns,kind,name,pid,group", to);
	for (f = 0; f < FIGURES; f++)
		fprintf(to, ",%s", figure_names[f]);
	fprintf(to, ",share,memory,limit,stopped_usec%s", v->timed ? ",time" : "");
	for (f = 0; f < BOUNDS; f++)
		fprintf(to, ",%s", bound_names[f]);
	putc('\n', to);
}

static void print_quoted(const char *text, bool ascii, FILE *to)
{
	char clean[8192], *c;

	view_fit(clean, sizeof(clean), text, sizeof(clean), ascii);
	putc('"', to);
	for (c = clean; *c; c++) {
		if (*c == '"')
			putc('"', to);
		putc(*c, to);
	}
	putc('"', to);
}

bool print_csv(struct view *v, const struct model *o, FILE *to)
{
	char limit[32], when[40];
	size_t i;
	int f;

	if (view_list(v, o))
		return false;
	time_text(o->wall_ns, when);
	for (i = 0; i < v->list.n; i++) {
		const struct track *t = v->list.track[i];
		const char *name;

		fprintf(to, "%llu,%llu,%s,", (unsigned long long)o->samples - 1,
			(unsigned long long)o->interval_ns, kind_names[t->kind]);
		name = t->kind == TRACK_TASK ? t->info->comm :
		       t->kind == TRACK_DEVICE && *t->label ? t->label : t->name;
		print_quoted(name, v->ascii, to);
		if (t->kind == TRACK_TASK)
			fprintf(to, ",%d,", t->pid);
		else
			fputs(",,", to);
		if (t->kind == TRACK_TASK)
			print_quoted(t->group->name, v->ascii, to);
		for (f = 0; f < FIGURES; f++) {
			putc(',', to);
			if (t->figures & 1u << f)
				fprintf(to, "%.0f", t->rate[f]);
		}
		putc(',', to);
		if (t->figures & SHARE_FIGURES)
			fprintf(to, "%.4f", t->share);
		*limit = '\0';
		if (t->kind == TRACK_GROUP)
			view_limit(t, limit, sizeof(limit));
		fprintf(to, ",%s,%s,", memory_word(o, t), limit);
		if (t->kind == TRACK_GROUP)
			fprintf(to, "%.0f", t->stopped * o->interval_ns / 1000);
		if (v->timed)
			fprintf(to, ",%s", when);
		for (f = 0; f < BOUNDS; f++) {
			putc(',', to);
			if (t->bounded)
				fprintf(to, "%.0f", t->bound[f]);
		}
		putc('\n', to);
	}
	return true;
}

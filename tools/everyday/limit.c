// SPDX-License-Identifier: GPL-2.0
/*
 * memio limit: which limits hold for a group, its own and those above it; and setting them
 *
 * Rates are never added up: each that is set holds, so of one key and way the least along the path
 * is what counts. "default" is each device's that has no line of its own in the same group.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>

#include "everyday.h"

#ifndef SCHED_EXT
#define SCHED_EXT	7
#endif

enum { SHOW = 1, SET = 2, RESET = 4 };
enum { OPT_JSON = 256, OPT_CSV };

static const struct subcommand subcommands[] = {
	{ "show", SHOW, "show the limits of GROUP and of the groups above it, and which of them "
		  "cannot hold", false },
	{ "set", SET, "set limits of GROUP; KEY=max lifts one", false },
	{ "reset", RESET, "lift all limits of GROUP, or those of KEYs", false },
	{ }
};

static const struct command_option options[] = {
	{ .id = OPT_CSV, .name = "csv", .of = SHOW,
	  .help = "Print comma-separated values, with a header." },
	{ .id = OPT_JSON, .name = "json", .of = SHOW, .help = "Print JSON." },
	{ }
};

/* A rate, and the group that sets it */
struct held {
	struct memio_limit limit;
	char *from[MEMIO_WAYS];
};

struct shown {
	struct memio *m;
	const char *group;
	struct held held[512];
	size_t n;
	json_t *note;
};

static void note(struct shown *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct shown *s, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_array_append_new(s->note, json_name(text));
}

static struct held *held_of(struct shown *s, const char *key)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (!strcmp(s->held[i].limit.key, key))
			return &s->held[i];
	if (s->n == sizeof(s->held) / sizeof(*s->held))
		return NULL;
	s->held[s->n] = (struct held) { .limit.rate = {
		MEMIO_RATE_MAX, MEMIO_RATE_MAX, MEMIO_RATE_MAX } };
	stpcpy(s->held[s->n].limit.key, key);
	return &s->held[s->n++];
}

/* Those of one group join those that hold. */
static int take(struct shown *s, const char *group)
{
	struct memio_limits l = { 0 };
	int err = memio_group_limits(s->m, group, &l), way;
	struct held *h;
	size_t i;

	for (i = 0; !err && i < l.n; i++) {
		h = held_of(s, l.limit[i].key);
		for (way = 0; h && way < MEMIO_WAYS; way++) {
			if (l.limit[i].rate[way] >= h->limit.rate[way])
				continue;
			h->limit.rate[way] = l.limit[i].rate[way];
			free(h->from[way]);
			h->from[way] = strdup(group);
		}
	}
	memio_limits_free(&l);
	return err;
}

/* "/a/b", "/a", but not the root, which has no limits */
static int take_all(struct shown *s)
{
	char *at = strdup(s->group), *slash;
	int err = 0;

	while (!err && at && strcmp(at, "/")) {
		err = take(s, at);
		slash = strrchr(at, '/');
		*(slash == at ? slash + 1 : slash) = '\0';
	}
	free(at);
	return err;
}

/* ---- what can't hold ---- */

struct free_tasks {
	struct memio *m;
	unsigned int n;
	char names[256];
};

static int look_at_task(pid_t tid, void *arg)
{
	struct free_tasks *f = arg;
	struct memio_task t;
	size_t n;

	if (memio_task_info(f->m, tid, 0, false, &t))
		return 0;
	if (t.policy == SCHED_OTHER || t.policy == SCHED_BATCH || t.policy == SCHED_IDLE)
		return 0;
	n = strlen(f->names);
	if (n + strlen(t.comm) + 24 < sizeof(f->names))
		sprintf(f->names + n, "%s%s (%d)", n ? ", " : "", t.comm, tid);
	f->n++;
	return 0;
}

static int look_at_group(const struct memio_group *g, void *arg)
{
	struct free_tasks *f = arg;

	memio_group_tasks(f->m, g->path, true, look_at_task, f);
	return 0;
}

static bool any_of(const struct shown *s, const char *key)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (!strcmp(s->held[i].limit.key, key))
			return true;
	return false;
}

static void what_cannot_hold(struct shown *s, uint64_t min, uint64_t effective)
{
	const struct memio_capability *c;
	struct free_tasks f = { .m = s->m };
	char text[FIGURE_TEXT], name[MEMIO_NAME_MAX];
	size_t i;

	if (s->n) {
		memio_groups(s->m, s->group, look_at_group, &f);
		if (f.n)
			note(s, "%u tasks can't be stopped, as their scheduling policy is a real-time one or sched_ext: %s. They are charged, and the group's other tasks are stopped for them",
			     f.n, f.names);
		c = memio_can(s->m, "enabled");
		if (c && !c->there)
			note(s, "no limit holds: %s", c->why);
		c = memio_can(s->m, "source");
		if (c && !c->there)
			note(s, "an IO byte counts as a memory byte, so the group moves less memory than its limit: %s",
			     c->why);
	}
	if (any_of(s, "cpu") || any_of(s, "total")) {
		c = memio_can(s->m, "cpu");
		if (c && !c->there)
			note(s, "%s does not hold what CPUs read: %s",
			     any_of(s, "cpu") ? "cpu" : "total", c->why);
	}
	for (i = 0; i < s->n; i++) {
		const char *key = s->held[i].limit.key;

		if (strcmp(key, "total") && strcmp(key, "cpu") && strcmp(key, "io") &&
		    strcmp(key, "default") && memio_device_resolve(s->m, key, name))
			note(s, "%s: there is no such device now", key);
	}
	if (min && !effective) {
		c = memio_can(s->m, "guaranteed");
		note(s, "the guarantee (memio.min) has no effect: %s", c && !c->there ? c->why :
		     "the groups above have none");
	} else if (min != MEMIO_RATE_MAX && min > effective) {
		note(s, "of the guarantee, %s hold: the groups above, or those beside it, leave no more",
		     rate_text(effective, text));
	}
}

/* ---- show ---- */

static const char *name_of(struct shown *s, const char *key)
{
	return strchr(key, ':') ? memio_device_alias(s->m, key) : key;
}

static void print_text(struct shown *s, uint64_t min, uint64_t effective, uint64_t weight)
{
	char text[FIGURE_TEXT];
	bool meant[MEMIO_WAYS] = { 0 };
	size_t i;
	int way;

	printf("%s\n\n", s->group);
	if (!s->n)
		puts("  no limits, neither of its own nor from the groups above");
	else
		printf("  %-16s %-5s %14s  %s\n", "key", "way", "rate", "set by");
	for (i = 0; i < s->n; i++) {
		for (way = 0; way < MEMIO_WAYS; way++) {
			const struct held *h = &s->held[i];

			if (h->limit.rate[way] == MEMIO_RATE_MAX)
				continue;
			printf("  %-16s %-5s %14s  %s\n", name_of(s, h->limit.key),
			       memio_way_name(way), rate_text(h->limit.rate[way], text),
			       h->from[way]);
			meant[way] = true;
		}
	}
	printf("\n  guarantee (memio.min) %s", rate_text(min, text));
	printf(", of which %s hold; weight %" PRIu64 "\n", rate_text(effective, text), weight);
	for (way = 0; way < MEMIO_WAYS; way++)
		if (meant[way])
			printf("  %s: %s\n", memio_way_name(way), way_meaning(way));
	for (i = 0; i < json_array_size(s->note); i++)
		printf("  ! %s\n", json_string_value(json_array_get(s->note, i)));
}

static json_t *rate_json(uint64_t rate)
{
	return rate == MEMIO_RATE_MAX ? json_null() : json_count(rate);
}

static void print_json(struct shown *s, uint64_t min, uint64_t effective, uint64_t weight)
{
	json_t *j = json_begin(), *limits = json_array(), *one;
	size_t i;
	int way;

	json_object_set_new(j, "group", json_name(s->group));
	for (i = 0; i < s->n; i++) {
		const struct held *h = &s->held[i];

		for (way = 0; way < MEMIO_WAYS; way++) {
			if (h->limit.rate[way] == MEMIO_RATE_MAX)
				continue;
			one = json_pack("{s:s, s:o, s:s, s:o, s:o}", "key", h->limit.key,
					"alias", json_name(name_of(s, h->limit.key)),
					"way", memio_way_name(way),
					"rate_bps", json_count(h->limit.rate[way]),
					"group", json_name(h->from[way]));
			json_array_append_new(limits, one);
		}
	}
	json_object_set_new(j, "limits", limits);
	json_object_set_new(j, "min_bps", rate_json(min));
	json_object_set_new(j, "min_effective_bps", rate_json(effective));
	json_object_set_new(j, "weight", json_count(weight));
	json_object_set(j, "notes", s->note);
	json_end(j, stdout);
}

static void print_csv(struct shown *s)
{
	size_t i;
	int way;

	puts("group,key,alias,way,rate_bps,set_by");
	for (i = 0; i < s->n; i++) {
		const struct held *h = &s->held[i];

		for (way = 0; way < MEMIO_WAYS; way++) {
			if (h->limit.rate[way] == MEMIO_RATE_MAX)
				continue;
			csv_name(stdout, s->group);
			printf(",%s,%s,%s,%" PRIu64 ",", h->limit.key, name_of(s, h->limit.key),
			       memio_way_name(way), h->limit.rate[way]);
			csv_name(stdout, h->from[way]);
			putchar('\n');
		}
	}
}

static int show(struct memio *m, const char *group, const struct options *o)
{
	static struct shown s;
	uint64_t min = 0, effective = 0, weight = 100;
	int err, way;
	size_t i;

	s = (struct shown) { .m = m, .group = group, .note = json_array() };
	err = take_all(&s);
	if (!err && strcmp(group, "/")) {
		err = memio_group_value(m, group, MEMIO_MIN, &min);
		if (!err)
			err = memio_group_value(m, group, MEMIO_WEIGHT, &weight);
		/* One that this kernel does not tell is none. */
		if (!err && memio_group_value(m, group, MEMIO_MIN_EFFECTIVE, &effective))
			effective = 0;
	}
	if (!err) {
		what_cannot_hold(&s, min, effective);
		if (options_had(o, OPT_JSON))
			print_json(&s, min, effective, weight);
		else if (options_had(o, OPT_CSV))
			print_csv(&s);
		else
			print_text(&s, min, effective, weight);
	}
	for (i = 0; i < s.n; i++)
		for (way = 0; way < MEMIO_WAYS; way++)
			free(s.held[i].from[way]);
	json_decref(s.note);
	return err ? everyday_status(m, err, group) : STATUS_OK;
}

/* ---- set and reset ---- */

/* Of a device people name what they know: a partition's disk is what moves its bytes. */
static bool resolve(struct memio *m, struct memio_limit *l)
{
	static const char *const keys[] = { "total", "cpu", "io", "default" };
	char name[MEMIO_NAME_MAX];
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(l->key, keys[i]))
			return true;
	if (memio_device_resolve(m, l->key, name)) {
		complain("%s", memio_error(m));
		return false;
	}
	memcpy(l->key, name, sizeof(name));
	return true;
}

/* As it was: of @now, those that @before has or had not. What fails now has failed before. */
static void back(struct memio *m, const char *group, const struct memio_limits *before,
		 const struct memio_limits *now, size_t n)
{
	size_t i;
	int way;

	for (i = 0; i < n; i++) {
		const struct memio_limit *was = memio_limits_find(before, now->limit[i].key);
		struct memio_limit l = now->limit[i];

		for (way = 0; way < MEMIO_WAYS; way++)
			if (l.rate[way] != MEMIO_RATE_KEEP)
				l.rate[way] = was ? was->rate[way] : MEMIO_RATE_MAX;
		memio_group_set_limit(m, group, &l);
	}
}

static int set_all(struct memio *m, const char *group, const struct memio_limits *l)
{
	struct memio_limits before = { 0 };
	int err = memio_group_limits(m, group, &before), way;
	char text[FIGURE_TEXT];
	size_t i;

	for (i = 0; !err && i < l->n; i++)
		err = memio_group_set_limit(m, group, &l->limit[i]);
	if (err) {
		err = everyday_status(m, err, group);
		if (i > 1)
			back(m, group, &before, l, i - 1);
		complain("nothing was changed");
		memio_limits_free(&before);
		return err;
	}
	for (i = 0; i < l->n; i++)
		for (way = 0; way < MEMIO_WAYS; way++)
			if (l->limit[i].rate[way] != MEMIO_RATE_KEEP)
				printf("%s: %s.%s %s: %s\n", group,
				       strchr(l->limit[i].key, ':') ?
				       memio_device_alias(m, l->limit[i].key) : l->limit[i].key,
				       memio_way_name(way), rate_text(l->limit[i].rate[way], text),
				       way_meaning(way));
	memio_limits_free(&before);
	return STATUS_OK;
}

static int set(struct memio *m, const char *group, int argc, char **argv)
{
	struct memio_limits l = { 0 };
	int i, err = 0, status = STATUS_OK;
	const char *bad = NULL;
	size_t k;

	for (i = 0; i < argc && !err; i++)
		err = memio_limits_add(&l, argv[i], &bad);
	if (err) {
		complain("'%s': %s", bad, err == -ERANGE ? "from 1 to 2^50 bytes a second, or max" :
			 "KEY=RATE or KEY.bps=RATE, .rbps, .wbps; RATE as 200M, 1.5Gi or max");
		status = STATUS_USAGE;
	}
	for (k = 0; status == STATUS_OK && k < l.n; k++)
		if (!resolve(m, &l.limit[k]))
			status = STATUS_FAILED;
	if (status == STATUS_OK)
		status = set_all(m, group, &l);
	memio_limits_free(&l);
	return status;
}

static int reset(struct memio *m, const char *group, int argc, char **argv)
{
	struct memio_limit l = { "", { MEMIO_RATE_MAX, MEMIO_RATE_MAX, MEMIO_RATE_MAX } };
	int i, err = 0;

	if (!argc)
		err = memio_group_reset_limits(m, group);
	for (i = 0; i < argc && !err; i++) {
		if (strlen(argv[i]) >= sizeof(l.key)) {
			complain("'%s' is no key", argv[i]);
			return STATUS_USAGE;
		}
		stpcpy(l.key, argv[i]);
		if (!resolve(m, &l))
			return STATUS_FAILED;
		err = memio_group_set_limit(m, group, &l);
	}
	return err ? everyday_status(m, err, group) : STATUS_OK;
}

static int cmd_limit(int argc, char **argv)
{
	struct options o;
	struct memio *m;
	char *group;
	int opt, status, err;

	options_begin(&o, argc, argv);
	while ((opt = options_get(&o, &status)) > 0)
		;
	if (opt < 0)
		return status;
	if (!o.sub || !o.argc) {
		complain("%s", o.sub ? "of which group?" :
			 "what? show, set or reset; 'memio limit --help' tells more");
		return STATUS_USAGE;
	}
	if (!options_suit(&o, o.sub->name))
		return STATUS_USAGE;
	if ((o.sub->bit == SET && o.argc < 2) || (o.sub->bit == SHOW && o.argc > 1)) {
		complain("%s", o.sub->bit == SET ? "set what? KEY=RATE, as total=200M" :
			 "one group at a time");
		return STATUS_USAGE;
	}
	/* Limits are a patched kernel's. */
	m = everyday_open("kernel", &status);
	if (!m)
		return status;
	status = STATUS_UNABLE;
	if (everyday_able(m)) {
		err = memio_group_resolve(m, o.argv[0], &group);
		if (err)
			status = everyday_status(m, err, NULL);
		else if (o.sub->bit == SHOW)
			status = show(m, group, &o);
		else if (!strcmp(group, "/"))
			complain("the root has no limits: name a group below it");
		else if (o.sub->bit == SET)
			status = set(m, group, o.argc - 1, o.argv + 1);
		else
			status = reset(m, group, o.argc - 1, o.argv + 1);
		if (!err && !strcmp(group, "/") && o.sub->bit != SHOW)
			status = STATUS_USAGE;
		free(group);
	}
	memio_close(m);
	return status;
}

const struct command command_limit = {
	.name = "limit",
	.summary = "show and set limits of a group",
	.usage = "show [OPTION...] GROUP\nset GROUP KEY[.WAY]=RATE...\nreset GROUP [KEY...]",
	.about = "Shows the limits that hold for a group, also those of the groups above it, "
		 "and sets or lifts limits of the group itself.",
	.notes = "GROUP: /a/b, a directory below the mount, or a unit of systemd. KEY: total, "
		 "cpu, io, default (each device without a limit of its own) or a device (eth0, "
		 "nvme0n1, 0000:00:03.0). WAY: bps, memory read and written (the default); rbps, "
		 "memory read (send, disk writes); wbps, memory written (receive, disk reads). "
		 "RATE: bytes a second; K, M and G are powers of 1000, Ki, Mi and Gi of 1024; max "
		 "is no limit.",
	.option = options,
	.sub = subcommands,
	.arguments = COMPLETES_GROUP,
	.main = cmd_limit,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * memio top: the model, see model.h
 *
 * What a sample costs is what it reads, so it reads what can have changed:
 *
 * - memio.stat of a group has what the groups below it moved. If it says the same as a sample
 *   ago, theirs say the same, and are not read.
 * - memio.events of a group likewise has the stops of the groups below it.
 * - memio.limit is read of the groups on the screen, and of each other group every 8th sample.
 * - Tasks are read in groups that moved bytes themselves, or whose tasks the user has unfolded.
 *   What else there is to know of a task (its name, its user) is read of the tasks on the
 *   screen, and of each other task every 16th sample.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "containers.h"
#include "model.h"

#define LIMITS_EVERY	8
#define INFO_EVERY	16
#define KEEP_TASKS	16	/* samples that a task is remembered without being read */
#define KEEP_MOST	65536	/* with more groups, tasks and devices, for none */

/* More than this part of the IO bytes without a price: the figure is an upper bound. */
#define UNPRICED_MOST	0.01

int model_init(struct model *o)
{
	memset(o, 0, sizeof(*o));
	o->below = "/";
	stpcpy(o->beside.name, "beside");
	o->store = store_new();
	return o->store ? 0 : -ENOMEM;
}

void model_free(struct model *o)
{
	store_free(o->store);
	free(o->group.track);
	free(o->task.track);
	free(o->device.track);
	free(o->above.track);
	memio_stat_free(&o->diff);
	memio_flat_free(&o->flat);
	memio_membw_free(&o->membw);
	memio_stat_free(&o->beside.now);
	memio_stat_free(&o->beside.then);
	memio_flat_free(&o->looked.events);
	memio_flat_free(&o->looked.state);
	memset(o, 0, sizeof(*o));
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static int no_memory(struct model *o)
{
	snprintf(o->error, sizeof(o->error), "no memory");
	return -ENOMEM;
}

static int push(struct model *o, struct tracks *list, struct track *t)
{
	if (list->n == list->room) {
		const size_t room = list->room ? 2 * list->room : 64;
		struct track **more = realloc(list->track, room * sizeof(*more));

		if (!more)
			return no_memory(o);
		list->track = more;
		list->room = room;
	}
	list->track[list->n++] = t;
	return 0;
}

void model_note(struct model *o, char mark, const char *about, const char *why)
{
	struct note *n = &o->note[o->notes];

	if (o->notes == MODEL_NOTES)
		return;
	o->notes++;
	n->mark = mark;
	n->about = about;
	snprintf(n->why, sizeof(n->why), "%s", why);
}

/* ---- figures ---- */

static bool is_cpu(const char *key)
{
	return !strcmp(key, "cpu") || !strncmp(key, "cpu_", 4);
}

static void set_figure(struct track *t, enum figure f, uint64_t bytes, uint64_t ns)
{
	t->figures |= 1u << f;
	t->rate[f] = memio_rate(bytes, ns);
}

/* The bounds of a line's memory bytes; and half of what lies between them, beside the bytes */
static void set_bounds(struct track *t, const struct memio_line *l, uint64_t ns)
{
	static const enum memio_field fields[BOUNDS] = {
		MEMIO_MEM_READ_MIN, MEMIO_MEM_READ_MAX, MEMIO_MEM_WRITE_MIN, MEMIO_MEM_WRITE_MAX,
	};
	const uint64_t most = memio_get(l, MEMIO_MEM_READ_MAX) + memio_get(l, MEMIO_MEM_WRITE_MAX);
	const uint64_t least = memio_get(l, MEMIO_MEM_READ_MIN) + memio_get(l, MEMIO_MEM_WRITE_MIN);
	const uint64_t memory = memio_get(l, MEMIO_MEM_READ) + memio_get(l, MEMIO_MEM_WRITE);
	int b;

	if (!(t->figures & 1u << FIG_READ) || !memio_has(l, MEMIO_MEM_READ_MAX) ||
	    !memio_has(l, MEMIO_MEM_WRITE_MAX))
		return;
	t->bounded = true;
	for (b = 0; b < BOUNDS; b++)
		t->bound[b] = memio_rate(memio_get(l, fields[b]), ns);
	if (memory)
		t->half = most > least ? (most - least) / 2.0 / memory : 0;
}

/* The figures of a whole file: of its line "total", and of its lines of CPUs */
static void set_figures(struct model *o, struct track *t, uint64_t ns)
{
	const struct memio_line *total = memio_stat_find(&o->diff, "total");
	uint64_t cpu = 0, io;
	bool has_cpu = false;
	size_t i;

	t->figures = 0;
	t->anew = false;
	t->worth = o->worth;
	t->half = -1;
	t->bounded = false;
	for (i = 0; i < o->diff.n; i++) {
		const struct memio_line *l = &o->diff.line[i];

		t->anew |= l->anew != 0;
		if (!is_cpu(l->key))
			continue;
		cpu += memio_get(l, MEMIO_MEM_READ) + memio_get(l, MEMIO_MEM_WRITE);
		if (!strcmp(l->key, "cpu"))
			has_cpu = !memio_has(l, MEMIO_VALID) || memio_get(l, MEMIO_VALID);
	}
	io = memio_get(total, MEMIO_IO_TO) + memio_get(total, MEMIO_IO_FROM);
	/* Where those of devices are absent, all memory bytes are the CPUs'. */
	t->moved = io + (memio_has(total, MEMIO_MEM_READ) ? memio_get(total, MEMIO_MEM_READ) +
			 memio_get(total, MEMIO_MEM_WRITE) : cpu);
	if (!ns)
		return;
	set_figure(t, FIG_TO, memio_get(total, MEMIO_IO_TO), ns);
	set_figure(t, FIG_FROM, memio_get(total, MEMIO_IO_FROM), ns);
	if (o->has_memory) {
		set_figure(t, FIG_READ, memio_get(total, MEMIO_MEM_READ), ns);
		set_figure(t, FIG_WRITE, memio_get(total, MEMIO_MEM_WRITE), ns);
		if (total)
			set_bounds(t, total, ns);
	}
	if (has_cpu)
		set_figure(t, FIG_CPU, cpu, ns);
	if (t->worth == WORTH_OK && io && (double)memio_unpriced(total) / io > UNPRICED_MOST)
		t->worth = WORTH_BOUND;
}

static uint64_t interval_of(const struct model *o, uint64_t recorded_ns, uint64_t ns)
{
	if (o->samples < 2)
		return 0;
	return recorded_ns ? recorded_ns : ns;
}

/* It says the same as in the sample before: nothing moved. */
static void stand_still(struct model *o, struct track *t, uint64_t ns)
{
	int i;

	t->now.ns = ns;
	t->still = true;
	t->fresh = t->anew = false;
	t->moved = 0;
	t->half = -1;
	t->bounded = false;
	t->worth = o->worth;
	/* The first interval has come to its end. */
	if (o->samples == 2)
		t->figures = 1u << FIG_TO | 1u << FIG_FROM |
			     (o->has_memory ? 1u << FIG_READ | 1u << FIG_WRITE : 0) |
			     (o->has_cpu ? 1u << FIG_CPU : 0);
	for (i = 0; i < FIGURES; i++)
		t->rate[i] = 0;
}

/* Its file goes to @t->now; what it said before is in @t->then. */
static int read_stat(struct model *o, const struct source *from, struct track *t,
		     uint64_t recorded_ns)
{
	const struct memio_stat old = t->then;
	const bool first = !t->now.ns;
	int err;

	t->then = t->now;
	t->now = old;
	err = from->ops->group_stat(from->data, t->name, &t->now);
	if (err)
		return err;
	t->still = false;
	t->fresh = first;
	err = memio_stat_diff(&t->then, &t->now, &o->diff);
	if (err)
		return no_memory(o);
	/* A group that was made since the sample before has moved since then what it has. */
	set_figures(o, t, interval_of(o, recorded_ns, first ? o->interval_ns : o->diff.ns));
	return 0;
}

/* ---- groups ---- */

static void read_stops(struct model *o, const struct source *from, struct track *t, uint64_t ns)
{
	uint64_t was = t->events_usec, local = t->stopped_usec;

	t->events_moved = false;
	t->stopped = 0;
	if (t->parent && !t->parent->events_moved && !t->fresh)
		return;
	if (from->ops->group_events(from->data, t->name, MEMIO_TREE, &o->flat))
		return;
	t->events_usec = memio_flat_get(&o->flat, "throttled_usec");
	t->events_moved = t->fresh || t->events_usec != was;
	if (!t->events_moved)
		return;
	if (from->ops->group_events(from->data, t->name, MEMIO_LOCAL, &o->flat))
		return;
	t->stopped_usec = memio_flat_get(&o->flat, "throttled_usec");
	if (t->fresh && o->samples < 2)
		local = t->stopped_usec;
	if (!ns || t->stopped_usec < local)
		return;
	/* A stop counts when it ends, so that one interval can have more than its own time. */
	t->stopped = (double)(t->stopped_usec - local) * 1000 / ns;
	if (t->stopped > 1)
		t->stopped = 1;
}

static void read_limits(struct model *o, const struct source *from, struct track *t)
{
	if (t->limits_at && !t->visible &&
	    (o->samples - t->limits_at < LIMITS_EVERY ||
	     (o->samples + t->serial) % LIMITS_EVERY))
		return;
	t->limits_at = o->samples;
	if (t == o->root || from->ops->group_limits(from->data, t->name, &t->limits))
		t->limits.n = 0;
	t->limited = t->limits.n;
}

struct visit {
	struct model *o;
	const struct source *from;
	uint64_t recorded_ns;
};

static int read_group(struct visit *v, struct track *t)
{
	struct model *o = v->o;
	int err;

	t->denied = false;
	if (t->parent && !t->parent->moved && t->now.ns && !t->parent->anew) {
		stand_still(o, t, o->root->now.ns);
	} else {
		err = read_stat(o, v->from, t, v->recorded_ns);
		if (err == -ENOMEM || err == -ENOENT || err == -ENODEV)
			return err;
		t->denied = err;
		if (err) {
			t->figures = 0;
			t->moved = 0;
		}
	}
	read_stops(o, v->from, t, interval_of(o, v->recorded_ns, o->interval_ns));
	read_limits(o, v->from, t);
	t->own = t->moved;
	if (t->figures)
		track_remember(t, track_share(t));
	return 0;
}

static int visit_group(const struct memio_group *g, void *arg)
{
	struct visit *v = arg;
	struct model *o = v->o;
	struct track *t;
	int err;

	if (!strcmp(g->path, "/")) {
		o->root->depth = 0;
		o->above.n = 0;
		err = push(o, &o->above, o->root);
		return err ? err : push(o, &o->group, o->root);
	}
	if (!g->accounted)
		return 1;
	t = store_get(o->store, TRACK_GROUP, g->path, 0, o->recorded ? 1 : g->inode, o->samples);
	if (!t)
		return no_memory(o);
	if (t->fresh && o->containers)
		container_name(o->containers, v->from->ops->mount(v->from->data), t->name, t->label,
			       sizeof(t->label));
	while (o->above.n > 1 && o->above.track[o->above.n - 1]->depth >= g->depth)
		o->above.n--;
	t->parent = o->above.track[o->above.n - 1];
	t->depth = g->depth;
	err = read_group(v, t);
	/* It went away just now. */
	if (err == -ENOENT || err == -ENODEV)
		return 1;
	if (err)
		return err;
	t->parent->own -= t->moved;
	err = push(o, &o->above, t);
	return err ? err : push(o, &o->group, t);
}

static int read_groups(struct model *o, const struct source *from, uint64_t recorded_ns)
{
	struct visit v = { o, from, recorded_ns };
	int err;

	o->root = store_get(o->store, TRACK_GROUP, "/", 0, 1, o->samples);
	if (!o->root)
		return no_memory(o);
	o->above.n = 0;
	err = push(o, &o->above, o->root);
	if (!err)
		err = read_group(&v, o->root);
	if (!err)
		err = from->ops->groups(from->data, o->below, visit_group, &v);
	if (err && err != -ENOMEM)
		snprintf(o->error, sizeof(o->error), "%s", from->ops->error(from->data));
	return err;
}

/* ---- tasks ---- */

struct members {
	struct model *o;
	const struct source *from;
	struct track *group;
	uint64_t recorded_ns;
	bool again;		/* the sample before read them, too */
	int err;
};

static int read_info(struct members *v, pid_t pid, struct memio_task *info)
{
	return v->from->ops->task_info(v->from->data, pid, info);
}

/* The track of a task; NULL: it is gone, or @v->err */
static struct track *find_task(struct members *v, pid_t pid)
{
	struct model *o = v->o;
	struct track *t = store_find(o->store, TRACK_TASK, "", pid);
	struct memio_task info;

	/* Its ID was in use without a break, and so it is the same task. */
	if (t && t->seen + 1 == o->samples && !t->visible &&
	    (o->samples + t->serial) % INFO_EVERY) {
		t->seen = o->samples;
		return t;
	}
	if (read_info(v, pid, &info))
		return NULL;
	t = store_get(o->store, TRACK_TASK, "", pid, info.start, o->samples);
	if (t && !t->info)
		t->info = malloc(sizeof(*t->info));
	if (!t || !t->info) {
		v->err = no_memory(o);
		return NULL;
	}
	*t->info = (struct task_info) {
		.start = info.start, .uid = info.uid, .state = info.state, .policy = info.policy,
	};
	memcpy(t->info->comm, info.comm, sizeof(t->info->comm));
	t->info_at = o->samples;
	t->stopped = info.stopped;
	return t;
}

static void count_task(struct members *v, struct track *t, bool first)
{
	struct model *o = v->o;
	uint64_t ns = o->diff.ns;

	/* What it moved before it was first read is of this interval only if it is new. */
	if (first)
		ns = v->again ? o->interval_ns : 0;
	else if (v->recorded_ns)
		ns = v->recorded_ns;
	set_figures(o, t, ns);
	if (ns)
		track_remember(t, track_share(t));
	if (o->membw.valid == 0 && t->worth == WORTH_OK && strcmp(o->membw.source, "none"))
		t->worth = WORTH_INVALID;
}

static int note_task(pid_t pid, void *arg)
{
	struct members *v = arg;
	struct model *o = v->o;
	struct track *t = store_find(o->store, TRACK_TASK, "", pid);
	struct memio_stat old;
	bool first;
	int err;

	/* It went from one group to another while the sample was taken. */
	if (t && t->tasks_at == o->samples)
		return 0;
	t = find_task(v, pid);
	if (!t)
		return v->err;
	t->tasks_at = o->samples;
	err = v->from->ops->task_membw(v->from->data, pid, &o->membw);
	if (err == -ESRCH)
		return 0;
	o->tasks_read++;
	t->group = v->group;
	t->denied = err;
	if (err) {
		t->figures = 0;
		o->denied++;
		snprintf(o->denied_why, sizeof(o->denied_why), "%s",
			 v->from->ops->error(v->from->data));
		/* Where the user asked for the tasks of this group, each is shown. */
		return v->group->open ? push(o, &o->task, t) : 0;
	}
	first = !t->now.ns;
	old = t->then;
	t->then = t->now;
	t->now = o->membw.stat;
	o->membw.stat = old;
	t->fresh = first;
	if (memio_stat_diff(&t->then, &t->now, &o->diff))
		return no_memory(o);
	count_task(v, t, first);
	/* Another task may have its ID now: the next sample looks at it anew. */
	if (t->anew)
		t->seen = o->samples - 1;
	return push(o, &o->task, t);
}

static int read_tasks(struct model *o, const struct source *from, uint64_t recorded_ns)
{
	struct members v = { .o = o, .from = from, .recorded_ns = recorded_ns };
	size_t i;
	int err;

	for (i = 0; i < o->group.n; i++) {
		struct track *g = o->group.track[i];

		if (!g->open && !(o->want_tasks && (g->own || g->fresh || o->want_idle)))
			continue;
		v.group = g;
		/* In a group that had not moved, a task that is new to us has moved just now. */
		v.again = o->samples > 1 && g->tasks_at + 1 == o->samples;
		g->tasks_at = o->samples;
		err = from->ops->group_tasks(from->data, g->name, note_task, &v);
		if (v.err || err == -ENOMEM)
			return no_memory(o);
	}
	return 0;
}

/* ---- what another account says ---- */

/* The value of a line "KEY VALUE", up to @size; false: there is none */
static bool flat_value(const char *text, const char *key, char *value, size_t size)
{
	const size_t n = strlen(key);
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) || line[n] != ' ')
			continue;
		snprintf(value, size, "%.*s", (int)strcspn(line + n + 1, "\n "), line + n + 1);
		return true;
	}
	return false;
}

/* Its text; free() takes it. NULL: errno */
static char *beside_text(struct model *o, const struct source *from, size_t *length)
{
	const bool program = *o->beside.path == '|';
	const size_t most = 1 << 20;
	char path[8192], *text;
	int status = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s%s%s", o->recorded ? from->ops->root(from->data) : "",
		 o->recorded ? "/" : "", o->beside.path);
	f = program ? popen(o->beside.path + 1, "re") : fopen(path, "re");
	text = f ? malloc(most) : NULL;
	if (text) {
		*length = fread(text, 1, most - 1, f);
		text[*length] = '\0';
	}
	if (f)
		status = program ? pclose(f) : fclose(f);
	if (!text || !status)
		return text;
	/* What it printed before it failed is no account. */
	free(text);
	errno = EIO;
	return NULL;
}

static int read_beside(struct model *o, const struct source *from)
{
	struct beside *b = &o->beside;
	const struct memio_stat old = b->then;
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
	char number[24], word[MEMIO_WORD_MAX], why[512], *text;
	size_t n;
	uint64_t ns;
	int err;

	if (!b->path)
		return 0;
	text = beside_text(o, from, &n);
	if (!text) {
		snprintf(why, sizeof(why), "%.400s: %s", b->path, strerror(errno));
		model_note(o, '-', b->name, why);
		return 0;
	}
	if (flat_value(text, "name", word, sizeof(word)))
		snprintf(b->name, sizeof(b->name), "%.*s", (int)strspn(word, letters), word);
	ns = flat_value(text, "time_ns", number, sizeof(number)) ? strtoull(number, NULL, 10) :
	     now_ns();
	err = 0;
	/* The writer may be slower than top: the last rates stand until there is something new. */
	if (ns != b->now_ns) {
		b->then = b->now;
		b->now = old;
		b->then_ns = b->now_ns;
		b->now_ns = ns;
		err = memio_stat_parse(&b->now, text, n);
	}
	free(text);
	return err ? no_memory(o) : 0;
}

static void count_beside(struct model *o, struct track *t)
{
	static const enum memio_field fields[] = {
		MEMIO_IO_TO, MEMIO_IO_FROM, MEMIO_MEM_READ, MEMIO_MEM_WRITE,
	};
	const struct beside *b = &o->beside;
	const struct memio_line *now = memio_stat_find(&b->now, t->name);
	const struct memio_line *then = memio_stat_find(&b->then, t->name);
	int f;

	t->besides = 0;
	if (!b->then_ns || b->now_ns <= b->then_ns || !now || !then)
		return;
	for (f = 0; f < FIG_CPU; f++) {
		const uint64_t is = memio_get(now, fields[f]), was = memio_get(then, fields[f]);

		if (!memio_has(now, fields[f]))
			continue;
		t->besides |= 1u << f;
		t->beside[f] = memio_rate(is > was ? is - was : 0, b->now_ns - b->then_ns);
	}
}

/* ---- devices ---- */

static int read_devices(struct model *o, const struct source *from, uint64_t recorded_ns)
{
	uint64_t ns;
	size_t i;
	int err;

	err = memio_stat_diff(&o->root->then, &o->root->now, &o->diff);
	if (err)
		return no_memory(o);
	ns = interval_of(o, recorded_ns, o->root->fresh ? 0 : o->diff.ns);
	for (i = 0; i < o->diff.n; i++) {
		const struct memio_line *l = &o->diff.line[i];
		struct track *t;

		if (!strcmp(l->key, "total"))
			continue;
		t = store_get(o->store, TRACK_DEVICE, l->key, 0, 1, o->samples);
		if (!t)
			return no_memory(o);
		if (!*t->label)
			snprintf(t->label, sizeof(t->label), "%s",
				 from->ops->device_alias(from->data, l->key));
		t->figures = 0;
		t->anew = l->anew;
		t->worth = o->worth;
		t->half = -1;
		t->bounded = false;
		count_beside(o, t);
		o->has_bounds |= memio_has(l, MEMIO_MEM_READ_MAX);
		if (ns) {
			const uint64_t io = memio_get(l, MEMIO_IO_TO) + memio_get(l, MEMIO_IO_FROM);
			const uint64_t memory = memio_get(l, MEMIO_MEM_READ) +
						memio_get(l, MEMIO_MEM_WRITE);

			if (memio_has(l, MEMIO_IO_TO))
				set_figure(t, FIG_TO, memio_get(l, MEMIO_IO_TO), ns);
			if (memio_has(l, MEMIO_IO_FROM))
				set_figure(t, FIG_FROM, memio_get(l, MEMIO_IO_FROM), ns);
			if (o->has_memory && (!is_cpu(l->key) || o->has_cpu)) {
				set_figure(t, FIG_READ, memio_get(l, MEMIO_MEM_READ), ns);
				/* What CPUs write may be absent. */
				if (memio_has(l, MEMIO_MEM_WRITE))
					set_figure(t, FIG_WRITE, memio_get(l, MEMIO_MEM_WRITE), ns);
			}
			if (is_cpu(l->key) && o->has_cpu)
				set_figure(t, FIG_CPU, memory, ns);
			if (t->worth == WORTH_OK && io &&
			    (double)memio_unpriced(l) / io > UNPRICED_MOST)
				t->worth = WORTH_BOUND;
			t->moved = io + memory;
			set_bounds(t, l, ns);
			if (t->figures & SHARE_FIGURES)
				track_remember(t, track_share(t));
		}
		err = push(o, &o->device, t);
		if (err)
			return err;
	}
	return 0;
}

/* ---- what figures are worth ---- */

static const struct memio_capability *can(const struct memio_capability *c, size_t n,
					  const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(c[i].name, name))
			return &c[i];
	return NULL;
}

static bool lacks(const struct memio_capability *c)
{
	return c && !c->there;
}

static void read_worth(struct model *o, const struct source *from)
{
	const struct memio_capability *c, *why;
	size_t n;

	o->notes = 0;
	o->worth = WORTH_OK;
	c = from->ops->capabilities(from->data, &n);
	why = can(c, n, "enabled");
	if (lacks(why))
		model_note(o, 0, "all figures", why->why);
	why = can(c, n, "source");
	o->has_memory = strcmp(from->ops->backend(from->data), "bpf") || !lacks(why);
	if (!o->has_memory) {
		model_note(o, '-', "mem rd, mem wr", why ? why->why : "");
	} else if (lacks(why)) {
		o->worth = WORTH_BOUND;
		model_note(o, '<', "mem rd, mem wr", why->why);
	} else {
		why = can(c, n, "valid");
		if (lacks(why)) {
			o->worth = WORTH_INVALID;
			model_note(o, '?', "mem rd, mem wr", why->why);
		}
	}
	why = can(c, n, "cpu");
	o->has_cpu = why && why->there;
	if (lacks(why))
		model_note(o, '-', "cpus", why->why);
	why = can(c, n, "groups");
	if (lacks(why))
		model_note(o, 0, "groups", why->why);
	why = can(c, n, "tasks");
	if (lacks(why))
		model_note(o, 0, "tasks", why->why);
	if (!from->ops->words(from->data, &o->membw)) {
		memcpy(o->source, o->membw.source, sizeof(o->source));
		memcpy(o->estimator, o->membw.estimator, sizeof(o->estimator));
		memcpy(o->state, o->membw.state, sizeof(o->state));
	}
}

static void share_out(struct model *o, struct tracks *list)
{
	const double all = track_share(o->root);
	size_t i;

	for (i = 0; i < list->n; i++) {
		struct track *t = list->track[i];

		/* Files are read one after the other, and a later one can have more than all. */
		t->share = all > 0 ? track_share(t) / all : 0;
		if (t->share > 1)
			t->share = 1;
	}
}

static void note_marks(struct model *o)
{
	bool bound = false, invalid = false;
	size_t i;
	char why[512];

	for (i = 0; i < o->group.n; i++)
		bound |= o->group.track[i]->worth == WORTH_BOUND;
	for (i = 0; i < o->task.n; i++) {
		bound |= o->task.track[i]->worth == WORTH_BOUND;
		invalid |= o->task.track[i]->worth == WORTH_INVALID;
	}
	if (o->worth == WORTH_OK && bound)
		model_note(o, '<', "mem rd, mem wr",
			   "more than 1 % of the IO bytes have no price, and count as one memory byte each: upper bounds");
	if (o->worth == WORTH_OK && invalid)
		model_note(o, '?', "mem rd, mem wr", "the task's membw says valid 0");
	if (!o->denied)
		return;
	snprintf(why, sizeof(why), "%zu of %zu processes are not shown: %.400s", o->denied,
		 o->tasks_read, o->denied_why);
	model_note(o, 0, "tasks", why);
}

/* ---- what the user looks at ---- */

static void read_looked(struct model *o, const struct source *from)
{
	struct looked *l = &o->looked;
	struct track *t = NULL;
	size_t i;

	for (i = 0; o->look && i < o->group.n && !t; i++)
		if (o->group.track[i]->serial == o->look)
			t = o->group.track[i];
	l->serial = t ? t->serial : 0;
	l->events.n = l->state.n = 0;
	if (!t)
		return;
	l->has_min = !from->ops->group_value(from->data, t->name, MEMIO_MIN, &l->min);
	l->has_effective = !from->ops->group_value(from->data, t->name, MEMIO_MIN_EFFECTIVE,
					      &l->min_effective);
	l->has_weight = !from->ops->group_value(from->data, t->name, MEMIO_WEIGHT, &l->weight);
	if (from->ops->group_events(from->data, t->name, MEMIO_TREE, &l->events))
		l->events.n = 0;
	if (from->ops->group_state(from->data, t->name, &l->state))
		l->state.n = 0;
}

static void forget_track(struct track *t)
{
	t->now.n = t->then.n = 0;
	t->now.ns = t->then.ns = 0;
	t->seen = t->tasks_at = t->limits_at = t->info_at = t->histories = 0;
	t->events_usec = t->stopped_usec = 0;
	t->figures = 0;
	t->fresh = true;
	t->anew = t->still = false;
	/* Whether it is the same task is looked at. */
	t->visible |= t->kind == TRACK_TASK;
}

void model_forget(struct model *o)
{
	store_each(o->store, forget_track);
	o->samples = o->last_ns = o->interval_ns = 0;
	o->group.n = o->task.n = o->device.n = 0;
}

int model_sample(struct model *o, struct memio *m, uint64_t recorded_ns)
{
	const struct source from = source_live(m);

	return model_sample_from(o, &from, recorded_ns);
}

int model_sample_from(struct model *o, const struct source *from, uint64_t recorded_ns)
{
	const uint64_t ns = now_ns();
	int err;

	o->samples++;
	o->interval_ns = o->last_ns ? recorded_ns ? recorded_ns : ns - o->last_ns : 0;
	o->last_ns = ns;
	o->group.n = o->task.n = o->device.n = 0;
	o->denied = o->tasks_read = 0;
	read_worth(o, from);
	/* Just before the root's file, so that both are of nearly one instant */
	err = read_beside(o, from);
	if (!err)
		err = read_groups(o, from, recorded_ns);
	if (!err)
		err = read_tasks(o, from, recorded_ns);
	if (!err)
		err = read_devices(o, from, recorded_ns);
	if (err)
		return err;
	share_out(o, &o->group);
	share_out(o, &o->task);
	share_out(o, &o->device);
	note_marks(o);
	read_looked(o, from);
	if (store_size(o->store) > KEEP_MOST)
		store_sweep(o->store, o->samples, o->samples);
	else
		store_sweep(o->store, o->samples,
			    o->samples > KEEP_TASKS ? o->samples - KEEP_TASKS : 0);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * memio record, replay, report: a sample and its record, see past.h
 *
 * Whatever a record has, reading it takes no more memory than PAST_MOST says, and gives the model
 * groups that are in order and stand there once: the model makes lists of them.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "past.h"

/* Fields are numbered as in memio.h; a number that a record has never changes its meaning. */
_Static_assert(MEMIO_IO_TO == 0 && MEMIO_MEM_WRITE == 3 && MEMIO_UNPRICED_FROM == 6 &&
	       MEMIO_MEM_WRITE_MAX == 10 && MEMIO_UNSEEN_FROM == 14 && MEMIO_VALID == 15,
	       "fields keep their numbers");
/* The kernel's own rates are not kept: sums are. */
#define KEPT_FIELDS	((1u << (MEMIO_VALID + 1)) - 1)

#define PATHS_MOST	(64u << 20)	/* bytes of all paths of a sample */
#define PATH_MOST	4096
#define KEYS_MOST	1024
#define WHY_MOST	512

enum { GROUP_FIGURES = 1, GROUP_LISTED = 2 };
enum { TASK_STOPPED = 1 };
enum { SAMPLE_TASKS = 1, SAMPLE_STANDING = 2 };
/*
 * What is known of a group's standing: the three of &enum memio_value, and its memio.state, which
 * can be the same as of the last group that has one
 */
enum {
	STANDING_STATE = 1 << (MEMIO_WEIGHT + 1),
	STANDING_SAME = 2 * STANDING_STATE,
	STANDING_ALL = 2 * STANDING_SAME - 1,
};

_Static_assert(MEMIO_MIN == 0 && MEMIO_MIN_EFFECTIVE == 1 && MEMIO_WEIGHT == 2,
	       "values keep their numbers");

/* ---- what a sample takes ---- */

#define ROW_COST	2048u		/* a group or a task: its track, its curve, lists with it */
#define LIMIT_COST	128u

/* The figures of a group or task: those of two samples, in arrays that grow from 8 lines */
static uint64_t cost_of_lines(uint64_t n)
{
	uint64_t room = 8;

	while (room < n)
		room *= 2;
	return 2 * room * sizeof(struct memio_line);
}

/* ---- texts that grow ---- */

void bytes_add(struct bytes *b, const void *data, size_t n)
{
	if (b->n + n > b->room) {
		const size_t room = 2 * (b->n + n) + 256;
		uint8_t *more = realloc(b->data, room);

		if (!more) {
			b->failed = true;
			return;
		}
		b->data = more;
		b->room = room;
	}
	if (n)
		memcpy(b->data + b->n, data, n);
	b->n += n;
}

static void add_number(struct bytes *b, uint64_t n)
{
	uint8_t text[10], *at = text;

	while (n >= 0x80) {
		*at++ = n | 0x80;
		n >>= 7;
	}
	*at++ = n;
	bytes_add(b, text, at - text);
}

static void add_text(struct bytes *b, const char *text)
{
	const size_t n = strlen(text);

	add_number(b, n);
	bytes_add(b, text, n);
}

/* ---- writing ---- */

/**
 * struct keys - the keys of lines and the words of states, each of which a record has once
 * @own:	copies of those that stand nowhere else
 * @next:	the one that is likely: files have them in one order
 */
struct keys {
	const char *key[KEYS_MOST];
	char *own[KEYS_MOST];
	unsigned int n, owned, next;
};

static unsigned int key_of(struct keys *k, const char *key)
{
	unsigned int i;

	if (k->next < k->n && !strcmp(k->key[k->next], key))
		return k->next++;
	for (i = 0; i < k->n; i++)
		if (!strcmp(k->key[i], key))
			break;
	if (i == KEYS_MOST)
		return i;
	if (i == k->n)
		k->key[k->n++] = key;
	k->next = i + 1;
	return i;
}

/* Of a text that does not stay */
static unsigned int key_of_copy(struct keys *k, const char *key)
{
	const unsigned int n = k->n, i = key_of(k, key);

	if (i == n && i < KEYS_MOST) {
		k->key[i] = k->own[k->owned] = strdup(key);
		/* Without memory, there is one key less. */
		if (!k->own[k->owned++]) {
			k->owned--;
			k->n--;
			return KEYS_MOST;
		}
	}
	return i;
}

static void add_stat(struct bytes *b, struct keys *k, const struct memio_stat *s)
{
	size_t i, n = 0;
	int f;

	k->next = 0;
	for (i = 0; i < s->n; i++)
		n += key_of(k, s->line[i].key) < KEYS_MOST;
	add_number(b, n);
	k->next = 0;
	for (i = 0; i < s->n; i++) {
		const struct memio_line *l = &s->line[i];
		const unsigned int key = key_of(k, l->key);
		const uint32_t has = l->has & KEPT_FIELDS;

		if (key == KEYS_MOST)
			continue;
		add_number(b, key);
		add_number(b, has);
		for (f = 0; f <= MEMIO_VALID; f++)
			if (has & 1u << f)
				add_number(b, l->value[f]);
	}
}

static void add_path(struct bytes *b, const char *before, const char *path)
{
	size_t same = 0;

	while (before[same] && before[same] == path[same])
		same++;
	add_number(b, same);
	add_text(b, path + same);
}

static void add_state(struct bytes *b, struct keys *k, const struct memio_flat *state)
{
	size_t i, n = 0;

	/* First those that have no room: after them, all that is asked for is there. */
	for (i = 0; i < state->n; i++)
		n += key_of_copy(k, state->pair[i].key) < KEYS_MOST &&
		     key_of_copy(k, state->pair[i].word) < KEYS_MOST;
	add_number(b, n);
	for (i = 0; i < state->n; i++) {
		const unsigned int key = key_of_copy(k, state->pair[i].key);
		const unsigned int word = key_of_copy(k, state->pair[i].word);

		if (key == KEYS_MOST || word == KEYS_MOST)
			continue;
		add_number(b, key);
		add_number(b, word);
	}
}

static bool same_state(const struct memio_flat *a, const struct memio_flat *b)
{
	size_t i;

	if (a->n != b->n)
		return false;
	for (i = 0; i < a->n; i++)
		if (strcmp(a->pair[i].key, b->pair[i].key) ||
		    strcmp(a->pair[i].word, b->pair[i].word))
			return false;
	return true;
}

/*
 * Guarantee, weight and state. Four files take as long as all others of a group, so that they are
 * read only where the group has a limit or moved bytes since the sample before, and in its first
 * sample. Of no guarantee there is no effect. @state: that of the last group, and one to spare
 */
static void add_standing(struct bytes *b, struct keys *k, const struct track *t,
			 const struct source *from, struct memio_flat state[2])
{
	const struct memio_flat last = state[0];
	uint64_t value[MEMIO_WEIGHT + 1] = { 0 };
	unsigned int has = 0;
	int i;

	if (!t->denied && (t->moved || t->fresh || t->limited)) {
		for (i = 0; i <= MEMIO_WEIGHT; i++)
			if (i != MEMIO_MIN_EFFECTIVE || value[MEMIO_MIN])
				has |= !from->ops->group_value(from->data, t->name, i,
							       &value[i]) << i;
		if (!from->ops->group_state(from->data, t->name, &state[1]) && state[1].n)
			has |= same_state(&state[1], &last) ? STANDING_SAME : STANDING_STATE;
	}
	add_number(b, has);
	for (i = 0; i <= MEMIO_WEIGHT; i++)
		if (has & 1u << i)
			add_number(b, value[i]);
	if (!(has & STANDING_STATE))
		return;
	add_state(b, k, &state[1]);
	state[0] = state[1];
	state[1] = last;
}

static void add_group(struct bytes *b, struct keys *k, const struct track *t, const char *before,
		      bool listed)
{
	size_t i;
	int way;

	add_path(b, before, t->name);
	add_number(b, (t->denied ? 0 : GROUP_FIGURES) | (listed ? GROUP_LISTED : 0));
	add_number(b, t->id);
	if (!t->denied)
		add_stat(b, k, &t->now);
	add_number(b, t->events_usec);
	add_number(b, t->stopped_usec);
	add_number(b, t->limits.n);
	for (i = 0; i < t->limits.n; i++) {
		const struct memio_limit *l = &t->limits.limit[i];
		unsigned int ways = 0;

		for (way = 0; way < MEMIO_WAYS; way++)
			ways |= (l->rate[way] < MEMIO_RATE_KEEP) << way;
		add_text(b, l->key);
		add_number(b, ways);
		for (way = 0; way < MEMIO_WAYS; way++)
			if (ways & 1u << way)
				add_number(b, l->rate[way]);
	}
}

static void add_task(struct bytes *b, struct keys *k, const struct track *t)
{
	add_number(b, t->group->order);
	add_number(b, t->pid);
	add_number(b, t->info->start);
	add_number(b, t->info->uid);
	add_number(b, (unsigned char)t->info->state);
	add_number(b, t->stopped > 0 ? TASK_STOPPED : 0);
	add_number(b, t->info->policy);
	add_number(b, t->worth != WORTH_INVALID);
	add_text(b, t->info->comm);
	add_stat(b, k, &t->now);
}

static void add_groups(struct bytes *b, struct keys *k, const struct model *o,
		       const struct source *from)
{
	struct memio_flat state[2] = { 0 };
	const bool root = o->group.n && o->group.track[0] == o->root;
	const char *before = "";
	size_t i;

	/* The root is there in any case: shares are of its bytes, and devices are its lines. */
	add_number(b, o->group.n + !root);
	if (!root) {
		add_group(b, k, o->root, before, false);
		add_standing(b, k, o->root, from, state);
		before = o->root->name;
	}
	for (i = 0; i < o->group.n; i++) {
		struct track *t = o->group.track[i];

		t->order = i + !root;
		add_group(b, k, t, before, true);
		add_standing(b, k, t, from, state);
		before = t->name;
	}
	memio_flat_free(&state[0]);
	memio_flat_free(&state[1]);
}

static bool is_recorded(const struct track *t)
{
	return !t->denied && t->now.ns;
}

static void add_tasks(struct bytes *b, struct keys *k, const struct model *o)
{
	size_t i, n = 0;

	for (i = 0; i < o->task.n; i++)
		n += is_recorded(o->task.track[i]);
	add_number(b, n);
	for (i = 0; i < o->task.n; i++)
		if (is_recorded(o->task.track[i]))
			add_task(b, k, o->task.track[i]);
}

static const char *label_of(const struct model *o, const char *key)
{
	size_t i;

	for (i = 0; i < o->device.n; i++)
		if (!strcmp(o->device.track[i]->name, key))
			return o->device.track[i]->label;
	return "";
}

/* What the model asks for */
static bool is_known(const char *capability)
{
	static const char *const names[] = {
		"enabled", "source", "valid", "cpu", "groups", "tasks",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], capability))
			return true;
	return false;
}

static uint64_t cost_of_group(const struct track *t)
{
	return ROW_COST + 2 * strlen(t->name) + LIMIT_COST * t->limits.n +
	       (t->denied ? 0 : cost_of_lines(t->now.n));
}

static uint64_t cost_of_model(const struct model *o)
{
	uint64_t cost = cost_of_group(o->root);
	size_t i;

	for (i = 0; i < o->group.n; i++)
		cost += cost_of_group(o->group.track[i]);
	for (i = 0; i < o->task.n; i++)
		if (is_recorded(o->task.track[i]))
			cost += ROW_COST + cost_of_lines(o->task.track[i]->now.n);
	return cost;
}

int past_write(struct bytes *to, const struct model *o, const struct source *from,
	       const struct instant *when)
{
	const struct memio_capability *c;
	struct bytes body = { 0 };
	struct keys k = { .n = 0 };
	size_t n, i, known;
	bool good;

	if (cost_of_model(o) > PAST_MOST)
		return -EFBIG;
	add_number(to, when->wall_ns);
	add_number(to, when->mono_ns);
	add_number(to, when->epoch);
	add_number(to, when->interval_ms);
	add_number(to, SAMPLE_STANDING | (o->want_tasks ? SAMPLE_TASKS : 0));
	add_text(to, from->ops->backend(from->data));
	add_text(to, o->source);
	add_text(to, o->estimator);
	add_text(to, o->state);
	c = from->ops->capabilities(from->data, &n);
	for (i = 0, known = 0; i < n; i++)
		known += is_known(c[i].name);
	add_number(to, known);
	for (i = 0; i < n; i++) {
		if (!is_known(c[i].name))
			continue;
		add_text(to, c[i].name);
		add_number(to, c[i].there);
		/* What is wrong is said again; what is right is not. */
		add_text(to, c[i].there ? "" : c[i].why);
	}
	add_groups(&body, &k, o, from);
	add_tasks(&body, &k, o);
	add_number(to, k.n);
	for (i = 0; i < k.n; i++) {
		add_text(to, k.key[i]);
		add_text(to, label_of(o, k.key[i]));
	}
	bytes_add(to, body.data, body.n);
	good = !to->failed && !body.failed;
	free(body.data);
	while (k.owned)
		free(k.own[--k.owned]);
	return good ? 0 : -ENOMEM;
}

/* ---- reading ---- */

/**
 * struct cursor - where reading is
 * @bad:	something made no sense; all that is read from then on is 0
 */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t get_number(struct cursor *c)
{
	uint64_t n = 0;
	int shift;

	for (shift = 0; shift < 64 && !c->bad && c->at < c->end; shift += 7) {
		const uint8_t byte = *c->at++;

		/* The tenth byte has one bit. */
		if (shift == 63 && byte > 1)
			break;
		n |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return n;
	}
	c->bad = true;
	return 0;
}

static uint64_t get_number_to(struct cursor *c, uint64_t most)
{
	const uint64_t n = get_number(c);

	if (n <= most)
		return n;
	c->bad = true;
	return 0;
}

/* Bytes that are no more than @most, none of which is 0; *@n is how many */
static const char *get_bytes(struct cursor *c, size_t most, size_t *n)
{
	const uint8_t *text;

	*n = get_number_to(c, most);
	if (c->bad || *n > (size_t)(c->end - c->at) || memchr(c->at, 0, *n)) {
		c->bad = true;
		*n = 0;
		return "";
	}
	text = c->at;
	c->at += *n;
	return (const char *)text;
}

static void get_text(struct cursor *c, char *text, size_t size)
{
	size_t n;
	const char *from = get_bytes(c, size - 1, &n);

	memcpy(text, from, n);
	text[n] = '\0';
}

/* As the kernel's files have them: there, a space or an end of line is something else. */
static void get_key(struct cursor *c, char key[MEMIO_NAME_MAX])
{
	const char *at;

	get_text(c, key, MEMIO_NAME_MAX);
	for (at = key; *at; at++)
		c->bad |= *at <= ' ' || *at > '~' || *at == '=';
	c->bad |= !*key;
}

struct past_key {
	char name[MEMIO_NAME_MAX], label[MEMIO_NAME_MAX];
};

/**
 * struct past_group - a group of the sample
 * @path:	where it begins in the sample's paths
 * @stat, @limits, @standing, @state: where these stand in the text; NULL: they do not
 * @task, @tasks: the first of its tasks, and how many
 */
struct past_group {
	size_t path;
	unsigned int flags;
	uint64_t inode, events_usec, stopped_usec;
	const uint8_t *stat, *limits, *standing, *state;
	size_t task, tasks;
};

struct past_task {
	pid_t pid;
	uint64_t start;
	uid_t uid;
	char state, comm[32];
	int policy;
	bool stopped, valid;
	const uint8_t *stat;
};

/**
 * struct past - a sample
 * @end:	of its text
 * @cost:	bytes that it takes in the model, at most PAST_MOST
 * @stood:	the task that the model asks for, for now
 */
struct past {
	struct instant when;
	bool has_tasks, has_standing;
	char backend[MEMIO_WORD_MAX], words[3][MEMIO_WORD_MAX];
	struct memio_capability capability[32];
	char capability_name[32][32], capability_why[32][WHY_MOST];
	size_t capabilities;
	struct past_key *key;
	size_t keys;
	struct past_group *group;
	size_t groups, groups_room;
	struct past_task *task;
	size_t tasks, tasks_room;
	struct bytes paths, text;
	const uint8_t *end;
	uint64_t cost;
	size_t stood;
	const char *error;
};

static const char *path_of(const struct past *p, size_t group)
{
	return (const char *)p->paths.data + p->group[group].path;
}

/* A parent before its children, and these by their names: '/' comes before all else. */
static int compare_paths(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	if (!*a || !*b)
		return *a ? 1 : -1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static void read_path(struct past *p, struct cursor *c, struct past_group *g)
{
	const char *before = p->groups ? path_of(p, p->groups - 1) : "", *rest, *path;
	const size_t same = get_number_to(c, strlen(before));
	const size_t old = p->groups ? p->group[p->groups - 1].path : 0;
	size_t n;

	rest = get_bytes(c, PATH_MOST, &n);
	if (c->bad || same + n >= PATH_MOST || p->paths.n + same + n + 1 > PATHS_MOST) {
		c->bad = true;
		return;
	}
	g->path = p->paths.n;
	if (p->paths.n + same + n + 1 > p->paths.room) {
		const size_t room = 2 * (p->paths.n + same + n + 1) + 256;
		uint8_t *more = realloc(p->paths.data, room);

		if (!more) {
			c->bad = true;
			return;
		}
		p->paths.data = more;
		p->paths.room = room;
	}
	if (same)
		memcpy(p->paths.data + p->paths.n, p->paths.data + old, same);
	memcpy(p->paths.data + p->paths.n + same, rest, n);
	p->paths.data[p->paths.n + same + n] = '\0';
	p->paths.n += same + n + 1;
	path = (const char *)p->paths.data + g->path;
	if (!p->groups)
		c->bad |= strcmp(path, "/") != 0;
	else
		c->bad |= *path != '/' || !path[1] || path[same + n - 1] == '/' ||
			  strstr(path, "//") ||
			  compare_paths((const char *)p->paths.data + old, path) >= 0;
}

static void add_cost(struct past *p, struct cursor *c, uint64_t cost)
{
	p->cost += cost;
	c->bad |= p->cost > PAST_MOST;
}

/* Over a stat, which is read when it is asked for; false: it makes no sense */
static const uint8_t *skip_stat(struct past *p, struct cursor *c)
{
	const uint8_t *at = c->at;
	uint64_t n = get_number_to(c, KEYS_MOST);
	uint64_t has;

	add_cost(p, c, cost_of_lines(n));
	while (n-- && !c->bad) {
		c->bad |= get_number(c) >= p->keys;
		for (has = get_number_to(c, KEPT_FIELDS); has && !c->bad; has &= has - 1)
			get_number(c);
	}
	return at;
}

static const uint8_t *skip_limits(struct past *p, struct cursor *c)
{
	const uint8_t *at = c->at;
	uint64_t n = get_number_to(c, KEYS_MOST), ways;
	char key[MEMIO_NAME_MAX];

	add_cost(p, c, LIMIT_COST * n);
	while (n-- && !c->bad) {
		get_key(c, key);
		for (ways = get_number_to(c, (1u << MEMIO_WAYS) - 1); ways; ways &= ways - 1)
			get_number(c);
	}
	return at;
}

/* @state: where that of the last group stands */
static void read_standing(struct past *p, struct cursor *c, struct past_group *g,
			  const uint8_t **state)
{
	uint64_t has, n;
	int i;

	g->standing = c->at;
	has = get_number_to(c, STANDING_ALL);
	for (i = 0; i <= MEMIO_WEIGHT; i++)
		if (has & 1u << i)
			get_number(c);
	if (has & STANDING_STATE) {
		*state = c->at;
		for (n = get_number_to(c, KEYS_MOST); n && !c->bad; n--) {
			c->bad |= get_number(c) >= p->keys;
			c->bad |= get_number(c) >= p->keys;
		}
	}
	if (!(has & (STANDING_STATE | STANDING_SAME)))
		return;
	g->state = *state;
	c->bad |= !g->state;
}

static bool grow(void *array, size_t n, size_t *room, size_t size)
{
	void **at = array, *more;

	if (n < *room)
		return true;
	more = realloc(*at, (2 * n + 16) * size);
	if (!more)
		return false;
	*at = more;
	*room = 2 * n + 16;
	return true;
}

static void read_groups(struct past *p, struct cursor *c)
{
	uint64_t n = get_number_to(c, c->end - c->at);
	const uint8_t *state = NULL;

	c->bad |= !n;
	while (n-- && !c->bad) {
		struct past_group *g;

		if (!grow(&p->group, p->groups, &p->groups_room, sizeof(*p->group))) {
			c->bad = true;
			return;
		}
		g = &p->group[p->groups];
		*g = (struct past_group) { 0 };
		read_path(p, c, g);
		add_cost(p, c, ROW_COST + 2 * (p->paths.n - g->path));
		g->flags = get_number(c);
		g->inode = get_number(c);
		if (g->flags & GROUP_FIGURES)
			g->stat = skip_stat(p, c);
		g->events_usec = get_number(c);
		g->stopped_usec = get_number(c);
		g->limits = skip_limits(p, c);
		if (p->has_standing)
			read_standing(p, c, g, &state);
		p->groups += !c->bad;
	}
}

static void read_tasks(struct past *p, struct cursor *c)
{
	uint64_t n = get_number_to(c, c->end - c->at), group = 0, is;

	while (n-- && !c->bad) {
		struct past_task *t;

		if (!grow(&p->task, p->tasks, &p->tasks_room, sizeof(*p->task))) {
			c->bad = true;
			return;
		}
		t = &p->task[p->tasks];
		add_cost(p, c, ROW_COST);
		is = get_number_to(c, p->groups - 1);
		/* They stand by groups. */
		c->bad |= is < group;
		group = is;
		t->pid = get_number_to(c, INT32_MAX);
		t->start = get_number(c);
		t->uid = get_number(c);
		t->state = get_number_to(c, 0x7f);
		t->stopped = get_number(c) & TASK_STOPPED;
		t->policy = get_number_to(c, 0xff);
		t->valid = get_number(c);
		get_text(c, t->comm, sizeof(t->comm));
		t->stat = skip_stat(p, c);
		if (c->bad)
			return;
		if (!p->group[group].tasks++)
			p->group[group].task = p->tasks;
		p->tasks++;
	}
}

static void read_capabilities(struct past *p, struct cursor *c)
{
	const size_t n = get_number_to(c, sizeof(p->capability) / sizeof(*p->capability));
	size_t i;

	for (i = 0; i < n && !c->bad; i++) {
		get_text(c, p->capability_name[i], sizeof(p->capability_name[i]));
		p->capability[i].name = p->capability_name[i];
		p->capability[i].there = get_number(c);
		get_text(c, p->capability_why[i], sizeof(p->capability_why[i]));
		p->capability[i].why = p->capability_why[i];
	}
	p->capabilities = i;
}

static void read_keys(struct past *p, struct cursor *c)
{
	const size_t n = get_number_to(c, KEYS_MOST);
	size_t i;

	for (i = 0; i < n && !c->bad; i++) {
		get_key(c, p->key[i].name);
		get_text(c, p->key[i].label, sizeof(p->key[i].label));
	}
	p->keys = i;
}

static void read_when(struct cursor *c, struct instant *when)
{
	when->wall_ns = get_number(c);
	when->mono_ns = get_number(c);
	when->epoch = get_number(c);
	when->interval_ms = get_number_to(c, UINT32_MAX);
	/* A figure that was never read has 0. */
	c->bad |= !when->mono_ns;
}

bool past_when(const uint8_t *text, size_t size, struct instant *when)
{
	struct cursor c = { text, text + size, false };

	read_when(&c, when);
	return !c.bad;
}

struct past *past_new(void)
{
	struct past *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->error = "";
	p->key = calloc(KEYS_MOST, sizeof(*p->key));
	if (p->key)
		return p;
	free(p);
	return NULL;
}

void past_free(struct past *p)
{
	if (!p)
		return;
	free(p->key);
	free(p->group);
	free(p->task);
	free(p->paths.data);
	free(p->text.data);
	free(p);
}

bool past_read(struct past *p, const uint8_t *text, size_t size)
{
	struct cursor c = { text, text + size, false };
	uint64_t flags;
	int i;

	p->groups = p->tasks = p->keys = p->capabilities = p->stood = 0;
	p->cost = 0;
	p->paths.n = 0;
	p->end = text + size;
	read_when(&c, &p->when);
	flags = get_number(&c);
	p->has_tasks = flags & SAMPLE_TASKS;
	p->has_standing = flags & SAMPLE_STANDING;
	get_text(&c, p->backend, sizeof(p->backend));
	for (i = 0; i < 3; i++)
		get_text(&c, p->words[i], sizeof(p->words[i]));
	read_capabilities(p, &c);
	read_keys(p, &c);
	if (!c.bad)
		read_groups(p, &c);
	if (!c.bad)
		read_tasks(p, &c);
	return !c.bad && c.at == c.end;
}

const struct instant *past_instant(const struct past *p)
{
	return &p->when;
}

size_t past_groups(const struct past *p)
{
	return p->groups;
}

bool past_has_tasks(const struct past *p)
{
	return p->has_tasks;
}

/* The group of that path; negative: there is none */
static ssize_t find_group(const struct past *p, const char *path)
{
	size_t low = 0, high = p->groups;

	while (low < high) {
		const size_t middle = (low + high) / 2;
		const int order = compare_paths(path_of(p, middle), path);

		if (!order)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

const char *past_group(const struct past *p, const char *name)
{
	const char *found = NULL, *slash;
	char path[PATH_MOST + 2];
	ssize_t at;
	size_t i;

	snprintf(path, sizeof(path), "%s%.4095s", *name == '/' ? "" : "/", name);
	at = find_group(p, path);
	if (at >= 0 || strchr(name, '/'))
		return at < 0 ? NULL : path_of(p, at);
	for (i = 0; i < p->groups; i++) {
		slash = strrchr(path_of(p, i), '/');
		if (strcmp(slash + 1, name))
			continue;
		if (found)
			return NULL;
		found = path_of(p, i);
	}
	return found;
}

/* ---- as a source of the model: in the kernel's own grammar, through libmemio's parsers ---- */

static void say(struct bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct bytes *b, const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	bytes_add(b, text, strlen(text));
}

static int give_stat(struct past *p, const uint8_t *at, struct memio_stat *s)
{
	struct cursor c = { at, p->end, false };
	uint64_t n = get_number(&c);
	int err, f;

	p->text.n = 0;
	while (n-- && !c.bad) {
		const uint64_t key = get_number(&c), has = get_number(&c);

		say(&p->text, "%s", p->key[key < p->keys ? key : 0].name);
		for (f = 0; f <= MEMIO_VALID; f++)
			if (has & 1u << f)
				say(&p->text, " %s=%lld", memio_field_name(f),
				    (long long)get_number(&c));
		say(&p->text, "\n");
	}
	if (p->text.failed)
		return -ENOMEM;
	err = memio_stat_parse(s, (const char *)p->text.data, p->text.n);
	s->ns = p->when.mono_ns;
	return err;
}

static const struct memio_capability *past_capabilities(void *data, size_t *n)
{
	struct past *p = data;

	*n = p->capabilities;
	return p->capability;
}

static const char *past_backend(void *data)
{
	return ((struct past *)data)->backend;
}

static int past_words(void *data, struct memio_membw *b)
{
	struct past *p = data;

	stpcpy(b->source, p->words[0]);
	stpcpy(b->estimator, p->words[1]);
	stpcpy(b->state, p->words[2]);
	return 0;
}

static int no_such(struct past *p)
{
	p->error = "the sample has no such group or task";
	return -ENOENT;
}

static unsigned int depth_of(const char *path)
{
	unsigned int n = 0;

	if (!path[1])
		return 0;
	while ((path = strchr(path, '/'))) {
		n++;
		path++;
	}
	return n;
}

static bool is_below(const char *path, const char *top)
{
	const size_t n = strlen(top);

	return !top[1] || (!strncmp(path, top, n) && (!path[n] || path[n] == '/'));
}

static int past_each_group(void *data, const char *top,
			   int (*each)(const struct memio_group *group, void *arg), void *arg)
{
	struct past *p = data;
	size_t i;

	for (i = 0; i < p->groups; i++) {
		const struct past_group *g = &p->group[i];
		const char *path = path_of(p, i);
		const struct memio_group group = {
			.path = path, .depth = depth_of(path), .inode = g->inode,
			.accounted = true,
		};
		int err;

		if (!(g->flags & GROUP_LISTED) || !is_below(path, top))
			continue;
		err = each(&group, arg);
		if (err < 0)
			return err;
	}
	return 0;
}

static int past_group_stat(void *data, const char *path, struct memio_stat *s)
{
	struct past *p = data;
	const ssize_t i = find_group(p, path);

	if (i < 0)
		return no_such(p);
	if (p->group[i].flags & GROUP_FIGURES)
		return give_stat(p, p->group[i].stat, s);
	p->error = "who recorded this could not read the figures";
	return -EACCES;
}

static int past_group_events(void *data, const char *path, enum memio_scope scope,
			     struct memio_flat *f)
{
	struct past *p = data;
	const ssize_t i = find_group(p, path);
	char text[64];

	if (i < 0)
		return no_such(p);
	snprintf(text, sizeof(text), "throttled_usec %llu\n",
		 (unsigned long long)(scope == MEMIO_TREE ? p->group[i].events_usec :
				      p->group[i].stopped_usec));
	return memio_flat_parse(f, text, strlen(text));
}

static int past_group_limits(void *data, const char *path, struct memio_limits *l)
{
	struct past *p = data;
	const ssize_t i = find_group(p, path);
	char key[MEMIO_NAME_MAX];
	struct cursor c;
	uint64_t n;
	int way;

	if (i < 0)
		return no_such(p);
	c = (struct cursor) { p->group[i].limits, p->end, false };
	p->text.n = 0;
	for (n = get_number(&c); n-- && !c.bad;) {
		unsigned int ways;

		get_key(&c, key);
		ways = get_number(&c);
		say(&p->text, "%s", key);
		for (way = 0; way < MEMIO_WAYS; way++)
			if (ways & 1u << way)
				say(&p->text, " %s=%llu", memio_way_name(way),
				    (unsigned long long)get_number(&c));
		say(&p->text, "\n");
	}
	if (p->text.failed)
		return -ENOMEM;
	return memio_limits_parse(l, p->text.n ? (const char *)p->text.data : "", p->text.n);
}

static int past_group_value(void *data, const char *path, enum memio_value which, uint64_t *value)
{
	struct past *p = data;
	const ssize_t g = find_group(p, path);
	struct cursor c;
	uint64_t has;
	int i;

	if (g < 0 || !p->group[g].standing)
		return no_such(p);
	c = (struct cursor) { p->group[g].standing, p->end, false };
	has = get_number(&c);
	if (!(has & 1u << which))
		return no_such(p);
	for (i = 0; i <= (int)which; i++)
		if (has & 1u << i)
			*value = get_number(&c);
	return 0;
}

static int past_group_state(void *data, const char *path, struct memio_flat *f)
{
	struct past *p = data;
	const ssize_t g = find_group(p, path);
	struct cursor c;
	uint64_t n;

	if (g < 0 || !p->group[g].state)
		return no_such(p);
	c = (struct cursor) { p->group[g].state, p->end, false };
	p->text.n = 0;
	for (n = get_number(&c); n && !c.bad; n--) {
		const uint64_t key = get_number(&c), word = get_number(&c);

		say(&p->text, "%s %s\n", p->key[key].name, p->key[word].name);
	}
	if (p->text.failed)
		return -ENOMEM;
	return memio_flat_parse(f, (const char *)p->text.data, p->text.n);
}

static int past_group_tasks(void *data, const char *path, int (*each)(pid_t pid, void *arg),
			    void *arg)
{
	struct past *p = data;
	const ssize_t at = find_group(p, path);
	size_t i;
	int err = 0;

	if (at < 0)
		return no_such(p);
	for (i = 0; i < p->group[at].tasks && !err; i++) {
		p->stood = p->group[at].task + i;
		err = each(p->task[p->stood].pid, arg);
	}
	return err;
}

static const struct past_task *stood(struct past *p, pid_t pid)
{
	return p->stood < p->tasks && p->task[p->stood].pid == pid ? &p->task[p->stood] : NULL;
}

static int past_task_info(void *data, pid_t pid, struct memio_task *task)
{
	const struct past_task *t = stood(data, pid);

	if (!t)
		return -ESRCH;
	task->pid = t->pid;
	task->tid = 0;
	task->start = t->start;
	task->uid = t->uid;
	task->state = t->state;
	task->stopped = t->stopped;
	task->policy = t->policy;
	memcpy(task->comm, t->comm, sizeof(t->comm));
	*task->group = '\0';
	return 0;
}

static int past_task_membw(void *data, pid_t pid, struct memio_membw *b)
{
	const struct past_task *t = stood(data, pid);

	if (!t)
		return -ESRCH;
	past_words(data, b);
	b->valid = t->valid;
	return give_stat(data, t->stat, &b->stat);
}

static const char *past_device_alias(void *data, const char *name)
{
	struct past *p = data;
	size_t i;

	for (i = 0; i < p->keys; i++)
		if (!strcmp(p->key[i].name, name) && *p->key[i].label)
			return p->key[i].label;
	return name;
}

static const char *past_root(void *data)
{
	(void)data;
	return "";
}

static const char *past_mount(void *data)
{
	(void)data;
	return NULL;
}

static const char *past_error(void *data)
{
	return ((struct past *)data)->error;
}

struct source past_source(struct past *p)
{
	static const struct source_ops ops = {
		.capabilities	= past_capabilities,
		.backend	= past_backend,
		.words		= past_words,
		.groups		= past_each_group,
		.group_stat	= past_group_stat,
		.group_events	= past_group_events,
		.group_limits	= past_group_limits,
		.group_value	= past_group_value,
		.group_state	= past_group_state,
		.group_tasks	= past_group_tasks,
		.task_info	= past_task_info,
		.task_membw	= past_task_membw,
		.device_alias	= past_device_alias,
		.root		= past_root,
		.mount		= past_mount,
		.error		= past_error,
	};

	return (struct source) { &ops, p };
}

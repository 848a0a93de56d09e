// SPDX-License-Identifier: GPL-2.0
/*
 * memio enable: the controller reaches groups, and these get limits by the names that they have
 *
 * Rules are lines of /etc/memio.d/NAME.conf, in the order of names, so that the last one that
 * matches a group has the say in what it names:
 *
 *	GLOB WORD...
 *
 * A word is a limit as of memio limit ("total=200M", "eth0.wbps=50M"), "min=RATE", "weight=N" or
 * "enable": the groups below one that matches have the controller. A '*' of GLOB matches no '/'.
 * From a '#' on a line is a comment.
 *
 * A group gets its limits once, when it is first seen, so that an administrator can change them.
 * --watch sees groups when they are made (inotify), and looks at all of them now and then.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "everyday.h"
#include "number.h"

#define CONFIG		"/etc/memio.d"
#define WORDS_MOST	64
#define SETTLE_MS	20		/* one look for groups that are made together */

enum { OPT_CONFIG = 256, OPT_CHECK };

static const struct command_option options[] = {
	{ 'w', "watch", .help = "Go on until a signal comes: look at groups as they are made. "
			"SIGHUP reads the rules again." },
	{ OPT_CONFIG, "config", "DIR", .completes = COMPLETES_FILE,
	  .help = "Read the rules DIR/*.conf; the default is " CONFIG "." },
	{ 'I', "interval", "MS",
	  .help = "With --watch: look at all groups every MS milliseconds, too, 100 to 3600000; "
			"the default is 10000." },
	{ OPT_CHECK, "check", .help = "Read the rules, say what is wrong with them, and do "
			"nothing." },
	{ .name = NULL }
};

/**
 * struct rule - a line
 * @glob:	of paths
 * @enable:	groups below it have the controller
 * @limits, @min, @weight: what it sets; has_: it does
 */
struct rule {
	char *glob;
	bool enable, has_min, has_weight;
	struct memio_limits limits;
	uint64_t min, weight;
};

/* A group that rules were applied to, and the round that saw it last */
struct seen {
	char *path;
	uint64_t inode, round;
};

struct enabling {
	struct memio *m;
	const char *config;
	bool watch;
	unsigned long interval_ms;
	char **named;			/* groups from the command line: "enable" for these */
	size_t nameds;
	struct rule *rule;
	size_t rules;
	struct seen *seen;		/* by path */
	size_t seens, seens_room;
	uint64_t round;
	int inotify;
	int status;
};

/* ---- rules ---- */

static void rules_free(struct enabling *e)
{
	size_t i;

	for (i = 0; i < e->rules; i++) {
		free(e->rule[i].glob);
		memio_limits_free(&e->rule[i].limits);
	}
	free(e->rule);
	e->rule = NULL;
	e->rules = 0;
}

/* NULL: the word is taken; else what is wrong with it */
static const char *take_word(struct rule *r, const char *word)
{
	const char *bad;
	char *end;
	int err;

	if (!strcmp(word, "enable")) {
		r->enable = true;
		return NULL;
	}
	if (!strncmp(word, "min=", 4)) {
		r->has_min = true;
		return memio_rate_parse(word + 4, &r->min) ? "a rate, as 200M, 1.5Gi or max" : NULL;
	}
	if (!strncmp(word, "weight=", 7)) {
		r->has_weight = true;
		r->weight = strtoul(word + 7, &end, 10);
		if (word[7] < '0' || word[7] > '9' || *end || r->weight < 1 || r->weight > 10000)
			return "a weight is from 1 to 10000";
		return NULL;
	}
	err = memio_limits_add(&r->limits, word, &bad);
	if (!err)
		return NULL;
	return err == -ERANGE ? "from 1 to 2^50 bytes a second, or max" :
	       "KEY=RATE, KEY.bps=RATE, .rbps, .wbps, min=RATE, weight=N or enable";
}

static bool take_line(struct enabling *e, const char *file, unsigned int number, char *line)
{
	char *rest, *word, *comment = strchr(line, '#');
	struct rule *more, r = { 0 };
	const char *wrong = NULL;

	if (comment)
		*comment = '\0';
	word = strtok_r(line, " \t\r\n", &rest);
	if (!word)
		return true;
	if (*word != '/') {
		complain("%s:%u: '%s': a path begins with '/'", file, number, word);
		return false;
	}
	r.glob = strdup(word);
	while (!wrong && (word = strtok_r(NULL, " \t\r\n", &rest)))
		wrong = take_word(&r, word);
	if (!wrong && !r.enable && !r.has_min && !r.has_weight && !r.limits.n) {
		wrong = "it says nothing of these groups";
		word = r.glob;
	}
	more = r.glob ? realloc(e->rule, (e->rules + 1) * sizeof(*more)) : NULL;
	if (more)
		e->rule = more;
	if (wrong || !more) {
		complain("%s:%u: '%s': %s", file, number, word ?: "", wrong ?: "no memory");
		free(r.glob);
		memio_limits_free(&r.limits);
		return false;
	}
	e->rule[e->rules++] = r;
	return true;
}

static bool read_file(struct enabling *e, const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned int number = 0;
	bool good = true;
	char *line = NULL;
	size_t room = 0;

	if (!f) {
		complain_errno("%s", path);
		return false;
	}
	while (getline(&line, &room, f) > 0)
		good &= take_line(e, path, ++number, line);
	free(line);
	fclose(f);
	return good;
}

static int is_conf(const struct dirent *d)
{
	const size_t n = strlen(d->d_name);

	return n > 5 && *d->d_name != '.' && !strcmp(d->d_name + n - 5, ".conf");
}

/* False: a line is wrong; the others hold. */
static bool read_rules(struct enabling *e)
{
	struct dirent **found = NULL;
	int n = scandir(e->config, &found, is_conf, alphasort), i;
	bool good = true;
	char *path;

	rules_free(e);
	if (n < 0) {
		/* Without rules there may still be groups on the command line. */
		if (errno == ENOENT && !strcmp(e->config, CONFIG))
			return true;
		complain_errno("%s", e->config);
		return false;
	}
	for (i = 0; i < n; i++) {
		if (asprintf(&path, "%s/%s", e->config, found[i]->d_name) < 0)
			path = NULL;
		good &= path && read_file(e, path);
		free(path);
		free(found[i]);
	}
	free(found);
	return good;
}

/* ---- groups ---- */

static void failed(struct enabling *e, int status)
{
	if (e->status == STATUS_OK)
		e->status = status;
}

static struct seen *seen_of(struct enabling *e, const char *path, size_t *at)
{
	size_t low = 0, high = e->seens;

	while (low < high) {
		const size_t mid = (low + high) / 2;
		const int order = strcmp(e->seen[mid].path, path);

		if (!order)
			return &e->seen[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*at = low;
	return NULL;
}

/* Whether the group is another one than at the last look */
static bool is_new(struct enabling *e, const struct memio_group *g)
{
	size_t at = 0;
	struct seen *s = seen_of(e, g->path, &at), *more;
	char *path;
	bool new;

	if (s) {
		new = s->inode != g->inode;
		s->inode = g->inode;
		s->round = e->round;
		return new;
	}
	if (e->seens == e->seens_room) {
		const size_t room = e->seens_room ? 2 * e->seens_room : 64;

		more = realloc(e->seen, room * sizeof(*more));
		if (!more)
			return true;
		e->seen = more;
		e->seens_room = room;
	}
	path = strdup(g->path);
	if (!path)
		return true;
	memmove(e->seen + at + 1, e->seen + at, (e->seens - at) * sizeof(*e->seen));
	e->seen[at] = (struct seen) { path, g->inode, e->round };
	e->seens++;
	return true;
}

static void forget_gone(struct enabling *e)
{
	size_t i, kept = 0;

	for (i = 0; i < e->seens; i++) {
		if (e->seen[i].round == e->round)
			e->seen[kept++] = e->seen[i];
		else
			free(e->seen[i].path);
	}
	e->seens = kept;
}

static void say_group(struct enabling *e, const char *path, int err)
{
	/* It went away just now. */
	if (err == -ENOENT && e->watch)
		return;
	failed(e, everyday_status(e->m, err, path));
}

/* What people call a device, to its name; false: there is none */
static bool resolve(struct enabling *e, struct memio_limit *l)
{
	char name[MEMIO_NAME_MAX];

	if (!strcmp(l->key, "total") || !strcmp(l->key, "cpu") || !strcmp(l->key, "io") ||
	    !strcmp(l->key, "default"))
		return true;
	if (memio_device_resolve(e->m, l->key, name))
		return false;
	memcpy(l->key, name, sizeof(l->key));
	return true;
}

static void apply(struct enabling *e, const char *path, const struct rule *r)
{
	struct memio_limit limit;
	size_t i;
	int err;

	for (i = 0; i < r->limits.n; i++) {
		limit = r->limits.limit[i];
		if (!resolve(e, &limit)) {
			complain("%s: no device %s", path, limit.key);
			failed(e, STATUS_FAILED);
			continue;
		}
		err = memio_group_set_limit(e->m, path, &limit);
		if (err)
			say_group(e, path, err);
	}
	err = r->has_min ? memio_group_set_value(e->m, path, MEMIO_MIN, r->min) : 0;
	if (err)
		say_group(e, path, err);
	err = r->has_weight ? memio_group_set_value(e->m, path, MEMIO_WEIGHT, r->weight) : 0;
	if (err)
		say_group(e, path, err);
}

static bool is_named(const struct enabling *e, const char *path)
{
	size_t i;

	for (i = 0; i < e->nameds; i++)
		if (!strcmp(e->named[i], path))
			return true;
	return false;
}

/* Events say that there are new groups, and one look finds them. */
static void watch_group(struct enabling *e, const char *path)
{
	char *dir;

	if (e->inotify < 0 || asprintf(&dir, "%s%s", memio_mount(e->m), path) < 0)
		return;
	/* The same directory has one watch, however often that is asked. */
	if (inotify_add_watch(e->inotify, dir, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0 &&
	    errno == ENOSPC) {
		complain("no more watches (fs.inotify.max_user_watches): groups are seen every "
				"%lu ms",
			 e->interval_ms);
		close(e->inotify);
		e->inotify = -1;
	}
	free(dir);
}

static int reach(struct enabling *e, const char *path)
{
	char *above, *slash;
	int status;

	if (!strcmp(path, "/"))
		return STATUS_OK;
	above = strdup(path);
	if (!above)
		return STATUS_FAILED;
	slash = strrchr(above, '/');
	slash[slash == above] = '\0';
	status = group_enable(e->m, above);
	free(above);
	return status;
}

static int visit(const struct memio_group *g, void *arg)
{
	struct enabling *e = arg;
	const bool new = is_new(e, g);
	bool below = is_named(e, g->path), here = false;
	size_t i;
	int status;

	watch_group(e, g->path);
	for (i = 0; i < e->rules; i++) {
		const struct rule *r = &e->rule[i];

		if (fnmatch(r->glob, g->path, FNM_PATHNAME | FNM_PERIOD))
			continue;
		below |= r->enable;
		here |= r->has_min || r->has_weight || r->limits.n;
	}
	if (below)
		failed(e, group_enable(e->m, g->path));
	if (!here || !new)
		return 0;
	status = reach(e, g->path);
	if (status != STATUS_OK) {
		failed(e, status);
		return 0;
	}
	for (i = 0; i < e->rules; i++)
		if (!fnmatch(e->rule[i].glob, g->path, FNM_PATHNAME | FNM_PERIOD))
			apply(e, g->path, &e->rule[i]);
	return 0;
}

static void look(struct enabling *e)
{
	int err;

	e->round++;
	err = memio_groups(e->m, "/", visit, e);
	if (err)
		failed(e, everyday_status(e->m, err, NULL));
	forget_gone(e);
}

/* ---- until a signal comes ---- */

static void drain(int fd)
{
	char events[16384];

	while (read(fd, events, sizeof(events)) > 0)
		;
}

static int watch(struct enabling *e)
{
	struct signalfd_siginfo info;
	struct pollfd fd[2] = { { .events = POLLIN }, { .events = POLLIN } };
	sigset_t set;
	int n;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd[0].fd = signalfd(-1, &set, SFD_CLOEXEC);
	e->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	look(e);
	for (;;) {
		/* What failed once is said once, and tried again. */
		e->status = STATUS_OK;
		fd[1].fd = e->inotify;
		n = poll(fd, 2, e->interval_ms);
		if (n > 0 && fd[0].revents) {
			if (read(fd[0].fd, &info, sizeof(info)) != sizeof(info) ||
			    info.ssi_signo != SIGHUP)
				break;
			read_rules(e);
			/* All groups are new to them. */
			e->round++;
			forget_gone(e);
		} else if (n > 0) {
			poll(fd, 1, SETTLE_MS);
			drain(e->inotify);
		}
		look(e);
	}
	close(fd[0].fd);
	return STATUS_OK;
}

static int enable(struct enabling *e, int argc, char **argv)
{
	const bool good = read_rules(e);
	int i, err, status = good ? STATUS_OK : STATUS_FAILED;

	if (e->status == OPT_CHECK)
		return status;
	e->status = status;
	e->m = everyday_open("kernel", &status);
	if (!e->m)
		return status;
	if (!everyday_able(e->m))
		return STATUS_UNABLE;
	e->named = calloc(argc + 1, sizeof(*e->named));
	for (i = 0; e->named && i < argc; i++) {
		err = memio_group_resolve(e->m, argv[i], &e->named[i]);
		if (err)
			return everyday_status(e->m, err, NULL);
		e->nameds++;
	}
	if (!e->rules && !e->nameds && !e->watch) {
		if (!good)
			return STATUS_FAILED;
		complain("no group is named, and no rule is in %s", e->config);
		return STATUS_USAGE;
	}
	if (e->watch)
		return watch(e);
	look(e);
	return e->status;
}

static int cmd_enable(int argc, char **argv)
{
	struct enabling e = { .config = CONFIG, .interval_ms = 10000, .inotify = -1 };
	int opt, status = STATUS_OK;
	bool check = false;
	struct options o;
	size_t i;

	options_begin(&o, argc, argv);
	while ((opt = options_get(&o, &status)) > 0) {
		switch (opt) {
		case 'w':
			e.watch = true;
			break;
		case OPT_CONFIG:
			e.config = optarg;
			break;
		case OPT_CHECK:
			check = true;
			break;
		case 'I':
			if (!number("interval", optarg, 100, 3600000, &e.interval_ms))
				return STATUS_USAGE;
			break;
		}
	}
	if (opt < 0)
		return status;
	if (options_had(&o, 'I') && !e.watch) {
		complain("--interval is for --watch");
		return STATUS_USAGE;
	}
	e.status = check ? OPT_CHECK : STATUS_OK;
	status = enable(&e, o.argc, o.argv);
	rules_free(&e);
	for (i = 0; i < e.nameds; i++)
		free(e.named[i]);
	free(e.named);
	for (i = 0; i < e.seens; i++)
		free(e.seen[i].path);
	free(e.seen);
	if (e.inotify >= 0)
		close(e.inotify);
	memio_close(e.m);
	return status;
}

const struct command command_enable = {
	.name = "enable",
	.summary = "hand the controller to groups, and give them limits by their names",
	.usage = "[--watch] [--config DIR] [OPTION]... [GROUP]...",
	.about = "Enables the controller memio for the groups below each GROUP, and applies the "
			"rules of "
		 CONFIG "/*.conf, which give limits, guarantees and weights to groups.",
	.notes = "A rule is a line: a pattern of paths, and words. A word is a limit in the form "
			"of 'memio limit', min=RATE, weight=N, or enable. With enable, the groups "
			"below have the controller.\n\n/system.slice/backup-*.service total=200M eth0.wbps=50M "
			"weight=50",
	.option = options,
	.arguments = COMPLETES_GROUP,
	.main = cmd_enable,
};

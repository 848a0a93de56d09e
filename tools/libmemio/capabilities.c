// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: what is there and what is not, and why
 *
 * Each answer is a row of a table, and is looked for in the files that would have it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* What several rows look at */
struct looked {
	struct memio *m;
	struct memio_stat root;
	struct memio_flat state;
	bool has_root, has_state;
	char source[64], enabled[16], valid[16];
};

static bool say(char why[512], bool there, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static bool say(char why[512], bool there, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, 512, format, args);
	va_end(args);
	return there;
}

const char *mio_refused(const char *status, const char *uid_map, const char *lockdown)
{
	/* CAP_SYS_ADMIN, which has both others' rights; CAP_PERFMON and CAP_BPF */
	const unsigned long long admin = 1ull << 21, both = 1ull << 38 | 1ull << 39;
	unsigned long long inside, outside, ids, held = admin;
	const char *line = strstr(status, "\nCapEff:");

	if (line)
		sscanf(line, " CapEff: %llx", &held);
	if (sscanf(uid_map, "%llu %llu %llu", &inside, &outside, &ids) == 3 && ids != UINT32_MAX)
		return "this process is root in a user namespace alone, as in a rootless container: "
		       "run memio outside of it";
	if (!(held & admin) && (held & both) != both)
		return "this process is root without CAP_BPF and CAP_PERFMON, as in a container: "
		       "give it both, or run memio on the container's host";
	if (strstr(lockdown, "[confidentiality]"))
		return "the kernel is locked down (confidentiality), which forbids them";
	return "the kernel refuses them to root, too";
}

static void read_word(struct memio *m, const char *file, char *word, size_t size)
{
	char path[MIO_PATH_MOST];

	*word = '\0';
	if (mio_root_path(m, path, "sys/kernel/memio/%s", file) && mio_read(m, path) > 0)
		snprintf(word, size, "%.*s", (int)strcspn(m->text, "\n "), m->text);
}

static bool kernel(struct looked *l, char why[512])
{
	if (l->m->backend)
		return say(why, true, "figures come from the backend '%s'", l->m->backend->name);
	if (l->m->only_bpf)
		return say(why, false, "%s", l->m->no_backend);
	return say(why, false, "this kernel has no memio: there is no /sys/kernel/memio. %s%sBoot a kernel that was built with the patches and CONFIG_CGROUP_MEMIO=y",
		   l->m->no_backend, *l->m->no_backend ? ". " : "");
}

static bool enabled(struct looked *l, char why[512])
{
	if (!*l->enabled)
		return say(why, false, "there is no /sys/kernel/memio/enabled");
	/* A kernel that is off until it is used is on when a group has the controller, unless root
	 * switched it off.
	 */
	if ((!strcmp(l->enabled, "0") || !strcmp(l->enabled, "off")) && l->has_state &&
	    memio_group_enables(l->m, "/") != 1)
		return say(why, false, "nothing is accounted until a group below the root has the controller memio, or root types: echo 1 >/sys/kernel/memio/enabled");
	if (!strcmp(l->enabled, "0") || !strcmp(l->enabled, "off"))
		return say(why, false, "memio is switched off: nothing is accounted. echo 1 >/sys/kernel/memio/enabled");
	return say(why, true, "/sys/kernel/memio/enabled says %s", l->enabled);
}

static bool hierarchy(struct looked *l, char why[512])
{
	if (!l->m->mount)
		return say(why, false, "no cgroup v2 hierarchy is mounted: mount -t cgroup2 none /sys/fs/cgroup");
	return say(why, true, "cgroup v2 is mounted at %s", l->m->mount);
}

static bool controller(struct looked *l, char why[512])
{
	if (!l->m->mount)
		return hierarchy(l, why);
	if (mio_group_read(l->m, "/", "cgroup.controllers") < 0)
		return say(why, false, "cgroup.controllers can't be read: %s", l->m->error);
	if (mio_word_in(l->m->text, "memio"))
		return say(why, true, "the controller memio is in %s/cgroup.controllers",
			   l->m->mount);
	return say(why, false, "the controller memio is not in %s/cgroup.controllers: the kernel has none, or a group above keeps it, or cgroup_disable=memio was given at boot",
		   l->m->mount);
}

static bool groups(struct looked *l, char why[512])
{
	if (!controller(l, why))
		return false;
	if (memio_group_enables(l->m, "/") == 1)
		return say(why, true, "the groups below the root have the controller memio");
	return say(why, false, "no group below the root has the controller memio: echo +memio >%s/cgroup.subtree_control",
		   l->m->mount);
}

static bool source(struct looked *l, char why[512])
{
	if (!*l->source)
		return say(why, false, "there is no /sys/kernel/memio/source");
	if (strcmp(l->source, "none"))
		return say(why, true, "memory bytes are estimated from the counters '%s'",
			   l->source);
	return say(why, false, "there are no counters that memio knows: an IO byte counts as a memory byte, which is an upper bound. It may be the processor, a virtual machine, or that the driver intel_uncore is not loaded");
}

static bool valid(struct looked *l, char why[512])
{
	const struct memio_pair *io = memio_flat_find(&l->state, "io");

	if (io && strcmp(io->word, "ok"))
		return say(why, false, "estimates are not valid now: memio.state says io %s",
			   io->word);
	if (io)
		return say(why, true, "memio.state says io ok");
	if (!strcmp(l->valid, "1"))
		return say(why, true, "the counters were read throughout the last window");
	return say(why, false, "estimates are not valid now: the counters are not being read, or others hold them");
}

static bool cpu(struct looked *l, char why[512])
{
	const struct memio_line *line = memio_stat_find(&l->root, "cpu");
	const struct memio_pair *word = memio_flat_find(&l->state, "cpu");

	if (word)
		return say(why, !strcmp(word->word, "ok"), "memio.state says cpu %s", word->word);
	if (!line)
		return say(why, false, "what CPUs read is not counted: memio.stat has no line cpu");
	if (memio_has(line, MEMIO_VALID) && !memio_get(line, MEMIO_VALID))
		return say(why, false, "what CPUs read is not counted now: memio.stat says cpu valid=0");
	return say(why, true, "what CPUs read is counted");
}

static bool state(struct looked *l, char why[512])
{
	if (l->has_state)
		return say(why, true, "memio.state says what each figure is worth");
	return say(why, false, "there is no memio.state: this kernel does not say what each figure is worth");
}

static bool a_file(struct looked *l, char why[512], const char *file, const char *what)
{
	char path[MIO_PATH_MOST];

	if (!mio_group_path(l->m, "/", file, path) && !access(path, F_OK))
		return say(why, true, "%s is there", file);
	return say(why, false, "there is no %s: %s", file, what);
}

static bool stat_local(struct looked *l, char why[512])
{
	return a_file(l, why, "memio.stat.local",
		      "what a group's own tasks moved is not told apart from the groups below it");
}

static bool pressure(struct looked *l, char why[512])
{
	return a_file(l, why, "memio.pressure",
		      "the time that limits cost is in memio.events and in CPU pressure alone");
}

static bool has_field(struct looked *l, enum memio_field field)
{
	size_t i;

	for (i = 0; i < l->root.n; i++)
		if (memio_has(&l->root.line[i], field))
			return true;
	return false;
}

static bool unpriced(struct looked *l, char why[512])
{
	if (has_field(l, MEMIO_UNPRICED_TO))
		return say(why, true, "memio.stat tells unpriced bytes by direction");
	return say(why, false, "memio.stat does not tell unpriced bytes by direction");
}

static bool bounds(struct looked *l, char why[512])
{
	if (has_field(l, MEMIO_MEM_READ_MIN))
		return say(why, true, "memio.stat has bounds of each estimate");
	return say(why, false, "this kernel gives no bounds of its estimates");
}

static bool guaranteed(struct looked *l, char why[512])
{
	char word[32];

	/* "bps=N" of the root's file, or N of the older one */
	if (mio_group_read(l->m, "/", "memio.guaranteed") > 4 && !strncmp(l->m->text, "bps=", 4))
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(l->m->text + 4, "\n "),
			 l->m->text + 4);
	else
		read_word(l->m, "guaranteed_bps", word, sizeof(word));
	if (*word && strcmp(word, "0"))
		return say(why, true, "guarantees and weights share %s B/s a package", word);
	return say(why, false, "memio.min and memio.weight have no effect: nobody has said what the memory gives. 'memio guarantee --set' measures it");
}

static bool tasks(struct looked *l, char why[512])
{
	char path[MIO_PATH_MOST];

	if (mio_root_path(l->m, path, "proc/self/membw") && !access(path, F_OK))
		return say(why, true, "tasks have /proc/PID/membw");
	return say(why, false, "there is no /proc/self/membw: tasks have no figures of their own");
}

static bool limits(struct looked *l, char why[512])
{
	if (!groups(l, why))
		return false;
	if (!l->m->backend || !l->m->backend->group_limits)
		return say(why, false, "this backend has no limits");
	return say(why, true, "groups have memio.limit");
}

static const struct row {
	const char *name;
	bool (*look)(struct looked *l, char why[512]);
} rows[] = {
	{ "kernel", kernel },
	{ "enabled", enabled },
	{ "hierarchy", hierarchy },
	{ "controller", controller },
	{ "groups", groups },
	{ "source", source },
	{ "valid", valid },
	{ "cpu", cpu },
	{ "state", state },
	{ "stat.local", stat_local },
	{ "unpriced", unpriced },
	{ "bounds", bounds },
	{ "pressure", pressure },
	{ "guaranteed", guaranteed },
	{ "tasks", tasks },
	{ "limits", limits },
};

#define ROWS	(sizeof(rows) / sizeof(*rows))

const struct memio_capability *memio_capabilities(struct memio *m, size_t *n)
{
	struct looked l = { .m = m };
	const char *known;
	char why[512];
	size_t i;

	*n = 0;
	if (!m->capability) {
		m->capability = calloc(ROWS, sizeof(*m->capability));
		if (!m->capability)
			return NULL;
		m->capabilities = ROWS;
	}
	l.has_root = !memio_group_stat(m, "/", MEMIO_TREE, &l.root);
	l.has_state = !memio_group_state(m, "/", &l.state);
	read_word(m, "enabled", l.enabled, sizeof(l.enabled));
	read_word(m, "source", l.source, sizeof(l.source));
	read_word(m, "valid", l.valid, sizeof(l.valid));
	for (i = 0; i < ROWS; i++) {
		struct memio_capability *c = &m->capability[i];

		free((char *)c->why);
		*why = '\0';
		c->name = rows[i].name;
		known = why;
		if (!m->backend || !m->backend->capability ||
		    !m->backend->capability(m, c->name, &c->there, &known))
			c->there = rows[i].look(&l, why);
		c->why = strdup(known);
		if (!c->why)
			break;
	}
	memio_stat_free(&l.root);
	memio_flat_free(&l.state);
	*n = i;
	return m->capability;
}

const struct memio_capability *memio_can(struct memio *m, const char *name)
{
	size_t n, i;
	const struct memio_capability *c = memio_capabilities(m, &n);

	for (i = 0; i < n; i++)
		if (!strcmp(c[i].name, name))
			return &c[i];
	return NULL;
}

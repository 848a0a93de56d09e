// SPDX-License-Identifier: GPL-2.0
/*
 * Which tasks and CPUs are wanted
 */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "command.h"
#include "filter.h"

#define CGROUPS		"/sys/fs/cgroup/"
#define CPUS_MAX	(1u << 16)

static bool add(struct filter_list *l, uint64_t id)
{
	uint64_t *more = realloc(l->id, (l->n + 1) * sizeof(*l->id));

	if (!more) {
		complain("no memory");
		return false;
	}
	l->id = more;
	l->id[l->n++] = id;
	return true;
}

static bool has(const struct filter_list *l, uint64_t id)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->id[i] == id)
			return true;
	return false;
}

/* A number at *p, moved behind it */
static bool number(const char **p, uint64_t most, uint64_t *v)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*v = strtoull(*p, &end, 10);
	*p = end;
	return !errno && *v <= most;
}

/* 1,2,5-7; ranges if there may be some */
static bool add_numbers(struct filter_list *l, const char *text, uint64_t most, bool ranges)
{
	const char *p = text;
	uint64_t from, to;

	do {
		if (!number(&p, most, &from))
			goto wrong;
		to = from;
		if (ranges && *p == '-') {
			p++;
			if (!number(&p, most, &to) || to < from)
				goto wrong;
		}
		for (; from <= to; from++)
			if (!add(l, from))
				return false;
	} while (*p++ == ',');
	if (!p[-1])
		return true;
wrong:
	complain("'%s' is no list of numbers up to %" PRIu64, text, most);
	return false;
}

static struct filter_list *found;

static int add_group(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	return type == FTW_D && !add(found, st->st_ino);
}

static bool is_group(const char *path)
{
	struct stat st;
	struct statfs fs;

	return !stat(path, &st) && S_ISDIR(st.st_mode) && !statfs(path, &fs) &&
	       fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* The id of a group is its directory's inode; that of another directory is of no group. */
static bool add_cgroup(struct filter_list *l, const char *group)
{
	char path[4096], *real;
	int err;

	if (*group && strspn(group, "0123456789") == strlen(group))
		return add_numbers(l, group, UINT64_MAX, false);
	snprintf(path, sizeof(path), "%s", group);
	if (!is_group(path) && *group)
		snprintf(path, sizeof(path), CGROUPS "%s", group);
	if (!is_group(path)) {
		complain("no group of cgroup v2 '%s', neither there nor below " CGROUPS, group);
		return false;
	}
	/* Of a symbolic link to a group nftw() would see the link only. */
	real = realpath(path, NULL);
	found = l;
	err = real ? nftw(real, add_group, 16, FTW_PHYS) : -1;
	free(real);
	if (err) {
		complain_errno("looking for the groups in '%s'", path);
		return false;
	}
	return true;
}

int filter_option(struct filter *f, int option, const char *value)
{
	bool good;

	switch (option) {
	case 'p':
		good = add_numbers(&f->pids, value, INT32_MAX, false);
		break;
	case 't':
		good = add_numbers(&f->tids, value, INT32_MAX, false);
		break;
	case 'C':
		good = add_numbers(&f->cpus, value, CPUS_MAX - 1, true);
		break;
	case FILTER_CGROUP:
		good = add_cgroup(&f->cgroups, value);
		break;
	default:
		return 0;
	}
	return good ? 1 : -1;
}

void filter_free(struct filter *f)
{
	free(f->pids.id);
	free(f->tids.id);
	free(f->cgroups.id);
	free(f->cpus.id);
}

bool filter_cpu(const struct filter *f, uint32_t cpu)
{
	return !f->cpus.n || has(&f->cpus, cpu);
}

bool filter_tasks(const struct filter *f)
{
	return f->pids.n || f->tids.n || f->cgroups.n;
}

bool filter_task(const struct filter *f, const struct format_state *state)
{
	return (!f->pids.n || has(&f->pids, state->tgid)) &&
	       (!f->tids.n || has(&f->tids, state->tid)) &&
	       (!f->cgroups.n || has(&f->cgroups, state->cgroup));
}

const char *filter_text(const struct filter *f, char *text, size_t size)
{
	const struct {
		const char *name;
		const struct filter_list *list;
	} lists[] = {
		{ "pid", &f->pids }, { "tid", &f->tids }, { "cgroup", &f->cgroups },
		{ "cpu", &f->cpus },
	};
	size_t i, k, n = 0;

	text[0] = '\0';
	for (i = 0; i < 4; i++)
		for (k = 0; k < lists[i].list->n && n < size; k++)
			n += snprintf(text + n, size - n, "%s%s%s%" PRIu64,
				      k ? "," : n ? " " : "", k ? "" : lists[i].name, k ? "" : " ",
				      lists[i].list->id[k]);
	return text;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * memio top: readers of libmemio, see feed.h
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "feed.h"

static void read_time(struct feed *f, const char *root)
{
	unsigned long long was = f->taken_ns, is = 0;
	char path[4200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/time_ns", root);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%llu", &is) != 1)
		is = 0;
	if (file)
		fclose(file);
	f->since_ns = was && is > was ? is - was : 0;
	f->taken_ns = is;
}

static bool open_reader(struct feed *f, const char *root)
{
	memio_close(f->m);
	f->m = memio_open_backend(root, f->backend);
	if (!f->m)
		complain_errno("%s", root);
	return f->m;
}

static bool is_there(const char *root, unsigned int n, char *path, size_t size)
{
	snprintf(path, size, "%s/%u", root, n);
	return !access(path, F_OK);
}

bool feed_begin(struct feed *f, const char *root)
{
	char path[4096];

	f->root = root;
	f->recorded = is_there(root, 0, path, sizeof(path));
	return open_reader(f, f->recorded ? path : root);
}

bool feed_next(struct feed *f)
{
	char path[4096];

	if (!f->recorded)
		return true;
	if (!is_there(f->root, f->next, path, sizeof(path))) {
		f->ended = true;
		return true;
	}
	read_time(f, path);
	return f->next++ == 0 || open_reader(f, path);
}

int feed_able(struct feed *f)
{
	if (strcmp(memio_backend(f->m), "none") && memio_mount(f->m))
		return STATUS_OK;
	complain("%s", memio_can(f->m, memio_mount(f->m) ? "kernel" : "hierarchy")->why);
	return STATUS_UNABLE;
}

bool feed_group(struct feed *f, const char *name, char **path)
{
	*path = NULL;
	if (!name || !memio_group_resolve(f->m, name, path))
		return true;
	complain("%s", memio_error(f->m));
	return false;
}

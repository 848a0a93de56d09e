// SPDX-License-Identifier: GPL-2.0
/*
 * How much memory there is, see room.h
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "room.h"

static uint64_t least(uint64_t x, uint64_t y)
{
	return x < y ? x : y;
}

/* The numbers in a file's lines "KEY NUMBER" that have this key, added up; 0: none */
static uint64_t sum_of(const char *file, const char *key)
{
	unsigned long long n;
	uint64_t sum = 0;
	char line[256];
	FILE *f = fopen(file, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) && sscanf(line + strlen(key), "%llu", &n) == 1)
			sum += n;
	if (f)
		fclose(f);
	return sum;
}

/* Of a cgroup's file; "max", or without such a file: @otherwise */
static uint64_t value_of(const char *group, const char *name, uint64_t otherwise)
{
	char file[PATH_MAX + 32];
	unsigned long long n;
	bool good;
	FILE *f;

	snprintf(file, sizeof(file), "%s/%s", group, name);
	f = fopen(file, "r");
	good = f && fscanf(f, "%llu", &n) == 1;
	if (f)
		fclose(f);
	return good ? n : otherwise;
}

static uint64_t room_in(const char *group)
{
	const uint64_t limit = least(value_of(group, "memory.max", ROOM_UNKNOWN),
				     value_of(group, "memory.high", ROOM_UNKNOWN));
	uint64_t used, files;
	char stat[PATH_MAX + 32];

	if (limit == ROOM_UNKNOWN)
		return ROOM_UNKNOWN;
	used = value_of(group, "memory.current", 0);
	snprintf(stat, sizeof(stat), "%s/memory.stat", group);
	files = sum_of(stat, "inactive_file ") + sum_of(stat, "active_file ");
	used -= least(used, files);
	return limit - least(limit, used);
}

bool room_cgroup(const char *text, char *path, size_t size)
{
	const char *line = text, *end;

	for (;;) {
		end = strchrnul(line, '\n');
		if (!strncmp(line, "0::/", 4))
			break;
		if (!*end)
			return false;
		line = end + 1;
	}
	line += 3;
	/* Outside of what this process sees of the tree, nothing can be looked at. */
	if ((size_t)(end - line) >= size || !strncmp(line, "/..", 3))
		return false;
	memcpy(path, line, end - line);
	path[end - line] = '\0';
	return true;
}

uint64_t room_below(const char *root, const char *path)
{
	uint64_t room = ROOM_UNKNOWN;
	char group[PATH_MAX];

	if (snprintf(group, sizeof(group), "%s%s", root, path) >= (int)sizeof(group))
		return room;
	while (strlen(group) > strlen(root)) {
		room = least(room, room_in(group));
		*strrchr(group, '/') = '\0';
	}
	return least(room, room_in(root));
}

uint64_t room_here(void)
{
	/* The second one is where v2 is beside v1. */
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	const uint64_t free_kib = sum_of("/proc/meminfo", "MemAvailable:");
	uint64_t room = free_kib ? free_kib << 10 : ROOM_UNKNOWN;
	char text[2 * PATH_MAX], path[PATH_MAX];
	FILE *f = fopen("/proc/self/cgroup", "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0, i;

	if (f)
		fclose(f);
	text[n] = '\0';
	for (i = 0; room_cgroup(text, path, sizeof(path)) && i < 2; i++)
		room = least(room, room_below(roots[i], path));
	return room;
}

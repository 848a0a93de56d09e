// SPDX-License-Identifier: GPL-2.0
/*
 * more SECONDS charged GROUP KEY N	KEY of the group's memio.stat has N more memory bytes
 * more SECONDS reads|writes DISK N	N more requests have read, written the disk
 * more SECONDS event GROUP NAME N	NAME of the group's memio.events has grown by N
 *
 * Waits for that, for so many seconds of the machine's at most: then it ends with 1. In virtual
 * time a program that looks is much cheaper than a script that does. It looks each ms, and later
 * each 32nd of what it has waited for.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS	1000000ull

static char path[256], text[1 << 16];
static const char *kind, *key;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The number behind the first "NAME=" of the line */
static uint64_t field(const char *line, const char *name)
{
	const char *end = line + strcspn(line, "\n"), *p = strstr(line, name);

	return p && p < end ? strtoull(p + strlen(name), NULL, 10) : 0;
}

static uint64_t look(void)
{
	const size_t length = key ? strlen(key) : 0;
	ssize_t n;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		err(1, "%s", path);
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		err(1, "%s", path);
	close(fd);
	text[n] = '\0';
	if (!key) {
		unsigned long number[5] = {};

		if (sscanf(text, "%lu %lu %lu %lu %lu", &number[0], &number[1], &number[2],
			   &number[3], &number[4]) != 5)
			errx(1, "%s: %s", path, text);
		return number[*kind == 'w' ? 4 : 0];
	}
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		if (strncmp(line, key, length) || line[length] != ' ')
			continue;
		if (!strcmp(kind, "event"))
			return strtoull(line + length, NULL, 10);
		return field(line, "mem_read=") + field(line, "mem_write=");
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t begin, from, goal, waited, pause;
	double seconds;

	if (argc < 5)
		errx(2, "usage: more SECONDS charged GROUP KEY N | reads|writes DISK N | event GROUP NAME N");
	seconds = atof(argv[1]);
	kind = argv[2];
	if (!strcmp(kind, "reads") || !strcmp(kind, "writes")) {
		snprintf(path, sizeof(path), "/sys/block/%s/stat", argv[3]);
	} else if ((!strcmp(kind, "charged") || !strcmp(kind, "event")) && argc == 6) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/memio.%s", argv[3],
			 *kind == 'c' ? "stat" : "events");
		key = argv[4];
	} else {
		errx(2, "%s: no such kind", kind);
	}
	begin = now_ns();
	from = look();
	goal = from + strtoull(argv[argc - 1], NULL, 10);
	for (;;) {
		const uint64_t n = look();

		if (n >= goal)
			return 0;
		waited = now_ns() - begin;
		if (waited > seconds * 1e9)
			errx(1, "%s %s %s: not in time: %lu of %lu", kind, path, key ? key : "",
			     n - from, goal - from);
		pause = waited / 32 < MS ? MS : waited / 32 > 50 * MS ? 50 * MS : waited / 32;
		nanosleep(&(struct timespec){ .tv_nsec = pause }, NULL);
	}
}

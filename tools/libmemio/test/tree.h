/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recorded trees: a directory in a text
 *
 *	== sys/fs/cgroup/memio.stat	a file, until the next line that begins with "=="
 *	=> sys/block/sda ../a/b		a symbolic link
 *	=d sys/fs/cgroup/empty		a directory
 *
 * Directories above are made. The text is a file, beside this one.
 */
#ifndef MEMIO_TEST_TREE_H
#define MEMIO_TEST_TREE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void tree_above(char *path)
{
	char *slash = path;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
}

/* tree_unpack: to the directory @to; false: that is no tree */
__attribute__((unused))
static bool tree_unpack(const char *from, const char *to)
{
	char line[65536], path[8192], name[4096], target[4096];
	FILE *in = fopen(from, "r"), *out = NULL;
	bool good = in;

	while (good && fgets(line, sizeof(line), in)) {
		const bool head = line[0] == '=' && strchr("=>d", line[1]) && line[2] == ' ';

		if (!head) {
			if (out)
				good = fputs(line, out) >= 0;
			continue;
		}
		if (out)
			fclose(out);
		out = NULL;
		good = sscanf(line + 3, "%4095s %4095s", name, target) >= 1;
		snprintf(path, sizeof(path), "%s/%s", to, name);
		tree_above(path);
		if (line[1] == '>')
			good = good && !symlink(target, path);
		else if (line[1] == 'd')
			mkdir(path, 0755);
		else
			good = good && (out = fopen(path, "w"));
	}
	if (out)
		fclose(out);
	if (in)
		fclose(in);
	return good;
}

#endif /* MEMIO_TEST_TREE_H */

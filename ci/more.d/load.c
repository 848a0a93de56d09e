// SPDX-License-Identifier: GPL-2.0
/*
 * The first program of a kernel that has its drivers as modules: loads all in /modules, in the
 * order of their names, and becomes /init. Static, in the guest's first file system.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMPRESSED	4	/* MODULE_INIT_COMPRESSED_FILE */

int main(int argc, char **argv)
{
	struct dirent **list;
	int n = scandir("/modules", &list, NULL, alphasort), i, fd, flags;
	char path[300];

	(void)argc;
	for (i = 0; i < n; i++) {
		if (list[i]->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/modules/%s", list[i]->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		flags = strstr(path, ".ko.") ? COMPRESSED : 0;
		if (fd < 0 || syscall(SYS_finit_module, fd, "", flags))
			fprintf(stderr, "load: %s: %s\n", path, strerror(errno));
		close(fd);
	}
	argv[0] = "/init";
	execv("/init", argv);
	return 1;
}

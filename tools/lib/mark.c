// SPDX-License-Identifier: GPL-2.0
/*
 * --mark, see mark.h
 */
#include <sys/wait.h>
#include <unistd.h>

#include "cpu.h"
#include "mark.h"

void mark_run(const char *command, const char *when, int cpu, bool json)
{
	pid_t pid;

	if (!command)
		return;
	pid = fork();
	if (!pid) {
		if (cpu >= 0)
			pin_to_cpu(cpu);
		if (json)
			dup2(STDERR_FILENO, STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", command, "sh", when, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

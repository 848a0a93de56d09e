// SPDX-License-Identifier: GPL-2.0
/*
 * attach PID: attaches to a task with ptrace, waits until it stands still for that, reads its
 * registers, and lets it go
 */
#include <err.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	const pid_t pid = argc == 2 ? atoi(argv[1]) : 0;
	struct user_regs_struct regs;
	int status;

	if (pid <= 0)
		errx(2, "attach PID");
	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL))
		err(1, "PTRACE_ATTACH");
	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		err(1, "waitpid: %x", status);
	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		err(1, "PTRACE_GETREGS");
	if (ptrace(PTRACE_DETACH, pid, NULL, NULL))
		err(1, "PTRACE_DETACH");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Interruptions, see interrupt.h
 */
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "interrupt.h"

volatile sig_atomic_t interrupted;

static void note(int sig)
{
	interrupted = sig;
}

void interrupts_to(void (*handler)(int sig))
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_handler = handler }, was;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &was) && was.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
}

void interrupts_catch(void)
{
	interrupts_to(note);
}

void interrupts_end(void)
{
	const int sig = interrupted;

	if (!sig)
		return;
	fflush(stdout);
	/* That SIGQUIT ends it says nothing about its memory. */
	prctl(PR_SET_DUMPABLE, 0);
	signal(sig, SIG_DFL);
	raise(sig);
}

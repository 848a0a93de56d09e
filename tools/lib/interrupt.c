// SPDX-License-Identifier: GPL-2.0
/*
 * Interruptions, see interrupt.h
 */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "clock.h"
#include "interrupt.h"

volatile sig_atomic_t interrupted;

static void note(int sig)
{
	interrupted = sig;
}

static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

void interrupts_to(void (*handler)(int sig))
{
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

void interrupts_wait(uint64_t until_ns)
{
	sigset_t these, was;
	uint64_t now;
	size_t i;

	sigemptyset(&these);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&these, signals[i]);
	/* One that comes between the look and the wait would be waited for in vain. */
	sigprocmask(SIG_BLOCK, &these, &was);
	while (!interrupted && (now = clock_ns(CLOCK_MONOTONIC)) < until_ns) {
		const uint64_t left = until_ns - now;
		const struct timespec t = { left / 1000000000, left % 1000000000 };

		ppoll(NULL, 0, &t, &was);
	}
	sigprocmask(SIG_SETMASK, &was, NULL);
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

// SPDX-License-Identifier: GPL-2.0
/*
 * What goes on, see progress.h
 *
 * The time left is what the steps took so far, times those that are left: all are of
 * about the same length, as interference makes the slowest some times slower, not more. What is
 * longer by what it does has a cost, and a step that tells which part of it is done counts as that.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "progress.h"

#define FIRST_S	2.
#define NEXT_S	10.

static double now_s(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1e9;
}

static bool terminal(const struct progress *p)
{
	return !p->quiet && !p->verbose && isatty(STDERR_FILENO);
}

static void time_left(const struct progress *p)
{
	double part, done, now = now_s(), left;

	__atomic_load(&p->part, &part, __ATOMIC_RELAXED);
	done = p->done_cost + part * p->cost;
	if (done <= 0)
		return;
	if (part > 0)
		left = (now - p->begin_s) / done * (p->all_cost - done);
	else
		left = (p->step_s - p->begin_s) / done * (p->all_cost - done) - (now - p->step_s);
	if (left < 0)
		return;
	if (left < 120)
		fprintf(stderr, ", about %.0f s left", left);
	else if (left < 7200)
		fprintf(stderr, ", about %.0f min left", left / 60);
	else
		fprintf(stderr, ", about %.1f h left", left / 3600);
}

static double next_s(const struct progress *p)
{
	return p->said_s ? p->said_s + NEXT_S : p->begin_s + FIRST_S;
}

static void tell(struct progress *p)
{
	fprintf(stderr, "%s%u of %u: %s", terminal(p) ? "\r" : "", p->begun, p->all, p->step);
	time_left(p);
	fputs(terminal(p) ? "\033[K" : "\n", stderr);
	p->said_s = now_s();
}

static void *tick(void *arg)
{
	struct progress *p = arg;
	struct timespec t;
	double next;

	pthread_setname_np(pthread_self(), "progress");
	pthread_mutex_lock(&p->lock);
	while (!p->ending) {
		next = next_s(p);
		if (p->begun && now_s() >= next) {
			tell(p);
			continue;
		}
		/* Before the first step, there is nothing to tell: it comes soon. */
		if (next < now_s())
			next = now_s() + FIRST_S;
		t = (struct timespec) { next, (next - (time_t)next) * 1e9 };
		pthread_cond_timedwait(&p->end, &p->lock, &t);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void progress_begin(struct progress *p, unsigned int all, bool quiet, bool verbose)
{
	pthread_condattr_t attr;

	*p = (struct progress) {
		.all = all, .quiet = quiet, .verbose = verbose, .begin_s = now_s(),
		.all_cost = all, .next_cost = 1,
	};
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->end, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&p->lock, NULL);
}

void progress_begin_long(struct progress *p, unsigned int all, bool quiet, bool verbose)
{
	sigset_t every, was;

	progress_begin(p, all, quiet, verbose);
	if (quiet)
		return;
	/* Signals are for the thread that works. */
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &was);
	p->ticks = !pthread_create(&p->ticker, NULL, tick, p);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

void progress_costs(struct progress *p, double all)
{
	p->all_cost = all;
}

void progress_next(struct progress *p, double cost)
{
	p->next_cost = cost;
}

/* Between accesses that are measured: no lock */
void progress_part(struct progress *p, double part)
{
	__atomic_store(&p->part, &part, __ATOMIC_RELAXED);
}

void progress(struct progress *p, const char *format, ...)
{
	va_list args;

	if (p->quiet)
		return;
	pthread_mutex_lock(&p->lock);
	va_start(args, format);
	vsnprintf(p->step, sizeof(p->step), format, args);
	va_end(args);
	p->begun++;
	p->done_cost += p->cost;
	p->cost = p->next_cost;
	p->part = 0;
	p->step_s = now_s();
	if (p->verbose || terminal(p) || p->step_s >= next_s(p))
		tell(p);
	pthread_mutex_unlock(&p->lock);
}

void progress_end(struct progress *p)
{
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_signal(&p->end);
	pthread_mutex_unlock(&p->lock);
	if (p->ticks)
		pthread_join(p->ticker, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->end);
	if (terminal(p))
		fputs("\r\033[K", stderr);
}

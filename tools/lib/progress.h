/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What goes on, on standard error, with the time that is left: on a terminal one line that
 * changes; elsewhere a line now and then, the first after two seconds; or each step
 */
#ifndef MEMIO_PROGRESS_H
#define MEMIO_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>

/**
 * struct progress - of steps that are of about the same length, unless they have costs
 * @begun, @all: steps
 * @all_cost, @done_cost: of all steps, and of those before this one
 * @cost, @next_cost: of this step, and of the next one
 * @part:	of this step that is done, if it says so
 * @quiet:	nothing is printed
 * @verbose:	each step has a line
 * @begin_s, @step_s, @said_s: when it began, when this step did, when something was printed last
 * @step:	what this step is
 * @lock, @end, @ticker, @ticks, @ending: of the thread
 */
struct progress {
	unsigned int begun, all;
	bool quiet, verbose;
	double all_cost, done_cost, cost, next_cost, part;
	double begin_s, step_s, said_s;
	char step[160];
	pthread_mutex_t lock;
	pthread_cond_t end;
	pthread_t ticker;
	bool ticks, ending;
};

void progress_begin(struct progress *p, unsigned int all, bool quiet, bool verbose);
/*
 * progress_begin_long: steps may take long, and are told of while they last, by a thread that
 * sleeps otherwise, and runs where this one may. Until progress_end(), @p stays where it is. With a
 * second thread, the C library locks: this is not for what counts its own instructions.
 */
void progress_begin_long(struct progress *p, unsigned int all, bool quiet, bool verbose);
/*
 * progress_costs: steps are of different lengths, which have these costs in all, in any unit;
 * progress_next: and the next one has this
 */
void progress_costs(struct progress *p, double all);
void progress_next(struct progress *p, double cost);
/* progress: before a step that is described like printf does */
void progress(struct progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* progress_part: so much of the step is done, from 0 to 1, which says how long the rest takes */
void progress_part(struct progress *p, double part);
void progress_end(struct progress *p);

#endif /* MEMIO_PROGRESS_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Patterns, one after the other, on all cores of all packages at once
 *
 * For each pattern the threads are started anew. A thread is pinned before it makes its
 * buffer, which is near to its core then and stays for the next patterns. When all have moved
 * twice what the caches hold, these have nothing but this pattern's lines, as many to be
 * written back as will always be. Then so many windows follow each other; the threads go on
 * between them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "cpu.h"
#include "guarantee.h"
#include "interrupt.h"
#include "mark.h"
#include "progress.h"

struct thread {
	struct stream stream;
	pthread_t id;
	clockid_t clock;		/* of the time that it was running */
	const struct guarantee *g;
	const struct pattern *pattern;
	hwloc_obj_t near;
	unsigned int package;
	int cpu;
	volatile int state;		/* 0: beginning, 1: at work, -1: failed */
};

struct threads {
	unsigned int n;
	struct thread *thread;
};

/* What all threads of a package have done since they were started */
struct look {
	double ns, lines[PACKAGES_MAX], ran_ns[PACKAGES_MAX];
};

static void *work(void *arg)
{
	struct thread *t = arg;

	if (!pin_to_cpu(t->cpu)) {
		complain_errno("pinning to CPU %d", t->cpu);
		t->state = -1;
		return NULL;
	}
	if (!t->stream.buffer) {
		/* Whatever policy was inherited; without one, it is like that anyway. */
		hwloc_set_membind(t->g->topology, t->near->nodeset, HWLOC_MEMBIND_BIND,
				  HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
		t->stream.buffer = buffer_new((uint64_t)LINE_BYTES << t->stream.bits);
	}
	if (!t->stream.buffer) {
		t->state = -1;
		return NULL;
	}
	t->state = 1;
	t->pattern->run(&t->stream);
	return NULL;
}

static void stop(struct threads *all, unsigned int running)
{
	unsigned int i;

	for (i = 0; i < running; i++)
		all->thread[i].stream.stop = true;
	for (i = 0; i < running; i++)
		pthread_join(all->thread[i].id, NULL);
}

static void pause_ms(unsigned int ms)
{
	const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	nanosleep(&t, NULL);
}

static bool wait_for(const struct thread *t, uint64_t lines)
{
	while (!interrupted && t->state >= 0 && (!t->state || t->stream.lines < lines))
		pause_ms(1);
	return t->state > 0 && !interrupted;
}

static bool start(struct threads *all, const struct pattern *p)
{
	const struct guarantee *g = all->thread[0].g;
	bool good = true;
	unsigned int i;

	for (i = 0; i < all->n; i++) {
		struct thread *t = &all->thread[i];
		int error;

		t->pattern = p;
		t->state = 0;
		t->stream.stop = false;
		t->stream.lines = 0;
		error = pthread_create(&t->id, NULL, work, t);
		if (error) {
			errno = error;
			complain_errno("a thread for CPU %d", t->cpu);
			stop(all, i);
			return false;
		}
		pthread_getcpuclockid(t->id, &t->clock);
	}
	/* All of them, before one of them counts: what warms up alone has more than its part. */
	for (i = 0; i < all->n && good; i++)
		good = wait_for(&all->thread[i], 0);
	for (i = 0; i < all->n && good; i++) {
		const struct thread *t = &all->thread[i];
		const struct package *k = &g->at.package[t->package];
		const uint64_t cached = k->cache_bytes / LINE_BYTES / k->threads + 1;

		good = wait_for(t, t->stream.lines + 2 * p->pass * cached);
	}
	/* Who was interrupted does not wait for gigabytes of zeros; the process ends. */
	if (!good && !interrupted)
		stop(all, all->n);
	return good;
}

static void look(const struct threads *all, struct look *l)
{
	unsigned int i;

	memset(l, 0, sizeof(*l));
	l->ns = now_ns();
	for (i = 0; i < all->n; i++) {
		const struct thread *t = &all->thread[i];

		l->lines[t->package] += t->stream.lines;
		l->ran_ns[t->package] += clock_ns(t->clock);
	}
}

static bool windows(struct guarantee *g, const struct threads *all, unsigned int p)
{
	struct look before, after;
	unsigned int i, k;

	look(all, &before);
	for (i = 0; i < WINDOWS; i++) {
		const double end = before.ns + g->seconds * 1e9 / WINDOWS;

		do {
			pause_ms(5);
			if (interrupted)
				return false;
		} while (now_ns() < end);
		look(all, &after);
		for (k = 0; k < g->at.packages; k++) {
			struct window *w = &g->window[p][k][i];

			w->ns = after.ns - before.ns;
			w->lines = after.lines[k] - before.lines[k];
			w->ran = (after.ran_ns[k] - before.ran_ns[k]) / w->ns /
				 g->at.package[k].threads;
		}
		before = after;
	}
	return true;
}

static bool measure_one(struct guarantee *g, struct threads *all, unsigned int p)
{
	char when[32];
	unsigned int k;
	bool good;

	if (!start(all, &patterns[p]))
		return false;
	snprintf(when, sizeof(when), "%s:begin", patterns[p].name);
	mark_run(g->mark, when, -1, g->json);
	good = windows(g, all, p);
	if (interrupted)
		return false;
	snprintf(when, sizeof(when), "%s:end", patterns[p].name);
	mark_run(g->mark, when, -1, g->json);
	stop(all, all->n);
	for (k = 0; k < g->at.packages; k++) {
		const struct package *at = &g->at.package[k];
		const uint64_t bytes = g->bytes[k] * at->threads;

		g->rate[p][k] = rate_of(g->window[p][k], WINDOWS,
					from_memory(&patterns[p], at->cache_bytes, bytes));
	}
	return good;
}

static void give_up(struct threads *all)
{
	unsigned int i;

	for (i = 0; i < all->n; i++)
		buffer_free(all->thread[i].stream.buffer,
			    (uint64_t)LINE_BYTES << all->thread[i].stream.bits);
	free(all->thread);
}

static bool prepare(const struct guarantee *g, struct threads *all)
{
	unsigned int i, k;

	for (k = 0; k < g->at.packages; k++)
		all->n += g->at.package[k].threads;
	all->thread = calloc(all->n, sizeof(*all->thread));
	if (!all->thread) {
		complain("no memory for %u threads", all->n);
		return false;
	}
	all->n = 0;
	for (k = 0; k < g->at.packages; k++) {
		for (i = 0; i < g->at.package[k].threads; i++) {
			struct thread *t = &all->thread[all->n];

			t->g = g;
			t->package = k;
			t->cpu = g->at.package[k].cpu[i];
			t->near = g->at.package[k].near[i];
			t->stream.bits = __builtin_ctzll(g->bytes[k] / LINE_BYTES);
			/* Not all at the same place of their buffers */
			t->stream.first = (1ull << t->stream.bits) / 8 * 5 * all->n;
			all->n++;
		}
	}
	return true;
}

bool measure_patterns(struct guarantee *g)
{
	struct progress said;
	struct threads all = { 0 };
	bool good = prepare(g, &all);
	unsigned int p;

	progress_begin_long(&said, PATTERNS, g->quiet, false);
	for (p = 0; p < PATTERNS && good; p++) {
		progress(&said, "%s", patterns[p].about);
		good = measure_one(g, &all, p);
	}
	progress_end(&said);
	/* Threads that nobody has stopped are still in their buffers. */
	if (!interrupted)
		give_up(&all);
	return good;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The family of shared resources: threads on all CPUs at once, and uncore events, which
 * count what they all do
 *
 * All CPUs are up to THREADS of those that this process may run on, in the package where
 * the events are counted: what others load goes by other counters.
 *
 * Each CPU has a thread with a buffer of its own; the lines of all of them together are
 * the work. With as many threads as CPUs it is seen whether an event counts all cores
 * or one.
 *
 *	load L3		chases whose buffers fit into the last level together, but not
 *			into any core's own caches
 *	load mem	chases that fit nowhere
 *	store L3	stores to buffers as of the first: each line is asked for, and an
 *			older one written back to the last level
 *	store mem	stores that fit nowhere: the older one goes on to memory
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cit.h"
#include "command.h"

#define THREADS	16

enum { MEMORY = 1, STORE = 2 };

struct worker {
	pthread_t thread;
	struct team *team;
	struct chase *chase;
	char *buffer;
	uint64_t bytes, at;
	int cpu;
	bool astray;			/* it was elsewhere when it had done its part */
};

struct team {
	struct worker worker[THREADS];
	unsigned int n;
	pthread_mutex_t gate;		/* closed until all of them are there */
	pthread_barrier_t begin, end;
	uint64_t each;			/* lines of one thread in this run */
	bool store, stop, dissolved;
	uint64_t unit;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct team *t = w->team;

	pin_to_cpu(w->cpu);
	pthread_mutex_lock(&t->gate);
	pthread_mutex_unlock(&t->gate);
	while (!t->dissolved) {
		uint64_t i;

		pthread_barrier_wait(&t->begin);
		if (t->stop)
			break;
		if (!t->store) {
			chase_run(w->chase, t->each);
		} else {
			const uint64_t mask = w->bytes / t->unit - 1;

			for (i = 0; i < t->each; i++) {
				w->at = (w->at * 5 + 12345) & mask;
				*(volatile uint64_t *)(w->buffer + w->at * t->unit) = i;
			}
		}
		w->astray = !on_cpu(w->cpu);
		pthread_barrier_wait(&t->end);
	}
	return NULL;
}

/* Once the first @threads of it are about to end */
static void team_free(struct team *t, unsigned int threads)
{
	unsigned int i;

	for (i = 0; i < threads; i++)
		pthread_join(t->worker[i].thread, NULL);
	for (i = 0; i < t->n; i++) {
		chase_free(t->worker[i].chase);
		buffer_free(t->worker[i].buffer, t->worker[i].bytes);
	}
	pthread_barrier_destroy(&t->end);
	pthread_barrier_destroy(&t->begin);
	pthread_mutex_destroy(&t->gate);
	free(t);
}

static void teardown(struct probe *probe)
{
	struct team *t = probe->data;

	t->stop = true;
	pthread_barrier_wait(&t->begin);
	team_free(t, t->n);
}

static void go(struct team *t, uint64_t n)
{
	t->each = n / t->n;
	pthread_barrier_wait(&t->begin);
	pthread_barrier_wait(&t->end);
}

static bool run(struct probe *probe, uint64_t n)
{
	struct team *t = probe->data;
	unsigned int i;

	go(t, n);
	for (i = 0; i < t->n && !t->worker[i].astray; i++)
		;
	if (i < t->n)
		complain_taken(t->worker[i].cpu);
	return i == t->n;
}

unsigned int shared_cpus(const struct cit *cit, int *cpu, unsigned int most)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < cit->allowed.most && n < most; i++)
		if (cpus_has(&cit->allowed, i) && cpus_together(cit->at, i))
			cpu[n++] = i;
	return n;
}

/* A buffer for each */
static bool equip(struct team *t, uint64_t bytes)
{
	unsigned int i;

	for (i = 0; i < t->n; i++) {
		struct worker *w = &t->worker[i];

		if (t->store) {
			w->bytes = bytes;
			w->buffer = buffer_new(bytes);
		} else {
			w->chase = chase_new(bytes, t->unit, 0, false);
		}
		if (!w->chase && !w->buffer)
			return false;
	}
	return true;
}

/* Those that were there before one failed have not met at a barrier, which is for all. */
static unsigned int start(struct team *t)
{
	unsigned int i;

	pthread_mutex_lock(&t->gate);
	for (i = 0; i < t->n; i++) {
		const int error = pthread_create(&t->worker[i].thread, NULL, work, &t->worker[i]);

		if (error) {
			complain("no thread for CPU %d: %s", t->worker[i].cpu, strerror(error));
			t->dissolved = true;
			break;
		}
	}
	pthread_mutex_unlock(&t->gate);
	return i;
}

static bool setup(struct probe *probe, const struct cit *cit)
{
	const uint64_t llc = cit->cache_bytes[CIT_LEVELS - 1];
	const uint64_t l2 = cit->cache_bytes[CIT_LEVELS - 2];
	uint64_t bytes = probe->arg & MEMORY ? 4 * llc : 2 * l2, power;
	unsigned int i, n, threads = 0;
	int cpu[THREADS];
	struct team *t;

	for (power = 4096; power < bytes; power *= 2)
		;
	n = shared_cpus(cit, cpu, THREADS);
	if (!n) {
		complain("%s: this process may run on no CPU of the package where the events are counted (by CPU %d)",
			 probe->name, cit->at);
		return false;
	}
	if (!(probe->arg & MEMORY) && power > llc / 2) {
		complain("%s is left out: an L3 of %llu KiB is too small for a buffer that is well outside of an L2 of %llu",
			 probe->name, (unsigned long long)llc >> 10, (unsigned long long)l2 >> 10);
		return false;
	}
	if (!(probe->arg & MEMORY) && n * power > llc / 2)
		n = llc / 2 / power;
	/* Each of them may fit where all do not. */
	if (!buffer_fits(n * power))
		return false;
	t = calloc(1, sizeof(*t));
	if (!t) {
		complain_errno("%s", probe->name);
		return false;
	}
	t->store = probe->arg & STORE;
	t->unit = cit->unit_bytes;
	t->n = n;
	pthread_mutex_init(&t->gate, NULL);
	pthread_barrier_init(&t->begin, NULL, n + 1);
	pthread_barrier_init(&t->end, NULL, n + 1);
	for (i = 0; i < n; i++) {
		t->worker[i].team = t;
		t->worker[i].cpu = cpu[i];
	}
	if (equip(t, power))
		threads = start(t);
	if (threads < n) {
		team_free(t, threads);
		return false;
	}
	probe->data = t;
	go(t, power / cit->unit_bytes * n);
	return true;
}

#define SHARED(kind) .setup = setup, .run = run, .teardown = teardown, .arg = (kind), \
	.step = 16384, .points = 5

static struct probe probe[] = {
	{ "load L3", "chases in the last level, all CPUs", SHARED(0) },
	{ "load mem", "chases in memory, all CPUs", SHARED(MEMORY) },
	{ "store L3", "stores in the last level, all CPUs", SHARED(STORE) },
	{ "store mem", "stores to memory, all CPUs", SHARED(STORE | MEMORY) },
};

static const struct category category[] = {
	{ "L3R", "lines that cores ask the last level for", { 1, 1, 1, 1 } },
	{ "L3R+W", "lines asked for, and written back to the last level", { 1, 1, 2, 2 } },
	{ "L3W", "lines that cores write back to the last level", { 0, 0, 1, 1 } },
	{ "MR", "lines read from memory", { 0, 1, 0, 1 } },
	{ "MW", "lines written to memory; modified victims", { 0, 0, 0, 1 } },
	{ "MRW", "lines read from or written to memory", { 0, 1, 0, 2 } },
	{ "VE", "victims that are not modified", { 0, 1, 0, 0 } },
	{ "-", "nothing of this", { 0 } },
};

const struct family shared_family = {
	.name = "shared",
	.unit = "line",
	.levels = CIT_LEVELS,
	.probe = probe,
	.probes = sizeof(probe) / sizeof(*probe),
	.category = category,
	.categories = sizeof(category) / sizeof(*category),
};

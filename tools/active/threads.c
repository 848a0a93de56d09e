// SPDX-License-Identifier: GPL-2.0
/*
 * Interferers: threads of this process, each pinned to a core of its own
 *
 * Sizes follow the last cache, as the paper's follow its 20 MB:
 *
 *	CSThr	a fifth of it (4 of 20 MB)
 *	BWThr	44 buffers, together twice as much. The paper's have 1.12 times (520 KB
 *		each), where a cache that is not strictly LRU would keep a part.
 *	stream	four times
 *
 * Each thread counts its own misses of the last cache, if the processor can: what they
 * take is known while they run beside something else, too. They die with the process,
 * however it ends.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "active.h"
#include "command.h"

#define LATE_NS		1e8

struct thread {
	struct loop loop;
	pthread_t id;
	const struct active *a;
	enum kind kind;
	int cpu, counter;
	volatile int state;		/* 0: beginning, 1: at work, -1: failed */
	clockid_t clock;		/* of the time that it was running */
	double ns, done, misses;	/* when usage was last asked */
};

struct interference {
	unsigned int n;
	struct thread *thread;
};

static const char *const kind_name[KINDS] = { "storage", "bandwidth", "stream" };

uint64_t interference_bytes(const struct active *a, enum kind kind)
{
	const uint64_t llc = a->at.bytes[LLC];

	switch (kind) {
	case STORAGE:
		return llc / 5 & ~(uint64_t)(LINE_BYTES - 1);
	case BANDWIDTH:
		return 2 * llc / BW_BUFFERS / LINE_BYTES * LINE_BYTES * BW_BUFFERS;
	default:
		return 4 * llc;
	}
}

/* Are the processor's own cache misses those of its last cache? */
static bool misses_are_of_last(void)
{
	char line[128];
	bool intel = false;
	FILE *f = fopen("/proc/cpuinfo", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "vendor_id", 9)) {
			intel = strstr(line, "GenuineIntel");
			break;
		}
	}
	if (f)
		fclose(f);
	return intel;
}

int misses_open(const struct active *a)
{
	struct perf_event_attr attr = {
		.type = a->miss_event ? PERF_TYPE_RAW : PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = a->miss_event ? a->miss_event : PERF_COUNT_HW_CACHE_MISSES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.read_format = MISSES_FORMAT,
	};
	static int last = -1;

	if (last < 0)
		last = misses_are_of_last();
	if (!a->miss_event && !last)
		return -1;
	return perf_open(&attr, 0, -1, -1);
}

bool counters_here(const struct active *a)
{
	const int fd = misses_open(a);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

double misses_read(int fd)
{
	struct {
		uint64_t n, enabled_ns, running_ns;
	} v;

	if (fd < 0 || read(fd, &v, sizeof(v)) != sizeof(v))
		return -1;
	/* A thousandth is less than anything here differs by. */
	return v.running_ns >= v.enabled_ns * 0.999 ? (double)v.n : -1;
}

double wait_until(double due, const volatile bool *stop)
{
	double now = now_ns();

	if (due < now - LATE_NS)
		return now - LATE_NS;
	for (; now < due && !*stop; now = now_ns()) {
		const double left = due - now;
		const struct timespec pause = {
			.tv_nsec = left < 1000 ? 1000 : left < 1e7 ? left : 1e7,
		};

		nanosleep(&pause, NULL);
	}
	return due;
}

/*
 * A line of each buffer at a time, and then a rest until that is due: such a thread moves
 * no more than --pace. It begins when it has been through its buffer.
 */
static void bandwidth_at_pace(struct thread *t)
{
	const double each_ns = BW_BUFFERS * MOVED_BANDWIDTH / t->a->pace * 1e9;
	struct loop *const l = &t->loop;
	double due;

	l->end = l->bytes / LINE_BYTES / BW_BUFFERS;
	active_bandwidth(l);
	for (due = now_ns(); !l->stop; due += each_ns) {
		due = wait_until(due, &l->stop);
		l->end++;
		active_bandwidth(l);
	}
}

static void *work(void *arg)
{
	struct thread *t = arg;

	/* Its memory is to be near to it, so it is made there. */
	if (!pin_to_cpu(t->cpu)) {
		complain_errno("pinning to CPU %d", t->cpu);
		t->state = -1;
		return NULL;
	}
	t->loop.buffer = buffer_new(t->loop.bytes);
	if (!t->loop.buffer) {
		t->state = -1;
		return NULL;
	}
	t->counter = misses_open(t->a);
	t->state = 1;
	if (t->kind == STORAGE)
		active_storage(&t->loop);
	else if (t->kind == BANDWIDTH && t->a->pace)
		bandwidth_at_pace(t);
	else if (t->kind == BANDWIDTH)
		active_bandwidth(&t->loop);
	else
		active_stream(&t->loop);
	return NULL;
}

static double misses_of(const struct thread *t)
{
	return t->counter >= 0 ? misses_read(t->counter) : -1;
}

/* Until each has been through its buffer: three times over what is random */
static bool wait_for_all(struct interference *in)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned int i;

	for (i = 0; i < in->n; i++) {
		struct thread *t = &in->thread[i];
		const uint64_t lines = t->loop.bytes / LINE_BYTES;
		const uint64_t enough = t->kind == STORAGE ? 3 * lines :
					t->kind == BANDWIDTH ? lines : lines / 4;

		while (t->state >= 0 && t->loop.done < enough && !interrupted)
			nanosleep(&pause, NULL);
		if (t->state < 0 || interrupted)
			return false;
	}
	return true;
}

struct interference *interference_start(const struct active *a, unsigned int storage,
					unsigned int bandwidth, bool stream)
{
	const unsigned int streams = stream ? a->at.cores : 0;
	const unsigned int n = storage + bandwidth + streams;
	struct interference *in = calloc(1, sizeof(*in));
	uint64_t bytes = storage * interference_bytes(a, STORAGE) +
			 bandwidth * interference_bytes(a, BANDWIDTH) +
			 streams * interference_bytes(a, STREAM);
	unsigned int i;

	if (storage + bandwidth > a->at.interferers) {
		complain("%u interferers take %u cores beside the command's, and there are %u",
			 storage + bandwidth, storage + bandwidth, a->at.interferers);
		free(in);
		return NULL;
	}
	if (in)
		in->thread = calloc(n + 1, sizeof(*in->thread));
	if (!in || !in->thread || !buffer_fits(bytes)) {
		if (in)
			free(in->thread);
		free(in);
		return NULL;
	}
	for (i = 0; i < n; i++) {
		struct thread *t = &in->thread[i];
		int error;

		t->a = a;
		t->kind = i < storage ? STORAGE : i < storage + bandwidth ? BANDWIDTH : STREAM;
		t->cpu = t->kind == STREAM ? a->at.core[i - storage - bandwidth] :
					     a->at.interferer[i];
		t->counter = -1;
		t->loop.bytes = interference_bytes(a, t->kind);
		t->loop.end = UINT64_MAX;
		error = pthread_create(&t->id, NULL, work, t);
		if (error) {
			errno = error;
			complain_errno("a %s interferer", kind_name[t->kind]);
			interference_stop(in);
			return NULL;
		}
		pthread_getcpuclockid(t->id, &t->clock);
		/* Who rests takes nothing meanwhile. */
		if (t->kind == BANDWIDTH && a->pace)
			t->clock = CLOCK_MONOTONIC;
		in->n++;
	}
	if (!wait_for_all(in)) {
		interference_stop(in);
		return NULL;
	}
	for (i = 0; i < KINDS; i++)
		interference_usage(in, i);
	return in;
}

void interference_stop(struct interference *in)
{
	unsigned int i;

	if (!in)
		return;
	for (i = 0; i < in->n; i++)
		in->thread[i].loop.stop = true;
	for (i = 0; i < in->n; i++) {
		struct thread *t = &in->thread[i];

		pthread_join(t->id, NULL);
		if (t->counter >= 0)
			close(t->counter);
		buffer_free(t->loop.buffer, t->loop.bytes);
	}
	free(in->thread);
	free(in);
}

bool interference_has(const struct interference *in, enum kind kind)
{
	unsigned int i;

	for (i = 0; i < in->n; i++)
		if (in->thread[i].kind == kind)
			return true;
	return false;
}

struct usage interference_usage(struct interference *in, enum kind kind)
{
	unsigned int i, threads = 0;
	struct usage u = { .least_ns = -1, .least_done = -1 };

	for (i = 0; i < in->n; i++) {
		struct thread *t = &in->thread[i];
		double ns, done, misses;

		if (t->kind != kind)
			continue;
		threads++;
		ns = clock_ns(t->clock);
		done = t->loop.done;
		misses = misses_of(t);
		u.ns += ns - t->ns;
		if (t->clock != CLOCK_MONOTONIC && (u.least_ns < 0 || ns - t->ns < u.least_ns))
			u.least_ns = ns - t->ns;
		u.done += done - t->done;
		if (u.least_done < 0 || done - t->done < u.least_done)
			u.least_done = done - t->done;
		if (misses < 0 || t->misses < 0 || u.misses < 0)
			u.misses = -1;
		else
			u.misses += misses - t->misses;
		t->ns = ns;
		t->done = done;
		t->misses = misses;
	}
	if (threads)
		u.ns /= threads;
	return u;
}

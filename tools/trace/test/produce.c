// SPDX-License-Identifier: GPL-2.0
/*
 * produce FILE [KEY=VALUE...]: a ring as the kernel would have it, in an ordinary file,
 * filled with records that are known; for tests of memio trace record
 *
 *	cpu=0 words=65536	the ring
 *	records=100000 batch=500	how many, and in one batch
 *	mean=600 khz=2600000 period=100
 *	tasks=3 turn=2000	of which each has so many records at a time, more or less
 *	comm=TEXT		their name, and a number
 *	long=0 back=0 other=0	each so many records a long difference, one below 0, a
 *				marker of a type that nobody knows; 0: none
 *	wait=1			for room in the ring; 0: let the ring drop batches
 *	pause_us=0		after each batch
 *	seed=1
 *	truth=FILE		there, for each record that was not dropped: its TSC and tid
 *	bad=WHAT at=N		after N records, once: head (more than the ring has), cut (a
 *				marker that goes beyond head), type (marker 0), short
 *				(a switch of two words)
 *	throttled=0		times that perf would have stopped the counter
 *	stop=1			in the end no more will come
 *
 * At the end it prints the records that were not dropped, and those that were.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "random.h"
#include "trace_ring.h"

#define START_TSC	1000000000000ull
#define START_NS	5000000000000ull
#define REAL_NS		1700000000000000000ull

static struct {
	const char *name;
	uint64_t value;
	const char *text;
} settings[] = {
	{ "cpu", 0, NULL }, { "words", 65536, NULL }, { "records", 100000, NULL },
	{ "batch", 500, NULL }, { "mean", 600, NULL }, { "khz", 2600000, NULL },
	{ "period", 100, NULL }, { "tasks", 3, NULL }, { "turn", 2000, NULL },
	{ "comm", 0, "task" },
	{ "long", 0, NULL }, { "back", 0, NULL }, { "other", 0, NULL }, { "wait", 1, NULL },
	{ "pause_us", 0, NULL }, { "seed", 1, NULL }, { "truth", 0, NULL },
	{ "bad", 0, "" }, { "at", 0, NULL }, { "stop", 1, NULL },
	{ "throttled", 0, NULL },
};

#define SETTINGS	(sizeof(settings) / sizeof(*settings))

static unsigned int find(const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < SETTINGS; i++)
		if (strlen(settings[i].name) == length && !strncmp(settings[i].name, name, length))
			return i;
	fprintf(stderr, "produce: no setting %s\n", name);
	exit(2);
}

static uint64_t get(const char *name)
{
	return settings[find(name, strlen(name))].value;
}

static const char *get_text(const char *name)
{
	return settings[find(name, strlen(name))].text;
}

static uint64_t random_state;

static uint64_t random64(void)
{
	return random_next(&random_state);
}

static struct memio_trace_ring *make_ring(const char *path, uint32_t words)
{
	const size_t offset = 4096, size = offset + 4 * (size_t)words;
	struct memio_trace_ring *ring;
	char temporary[4096];
	int fd;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, size)) {
		perror(temporary);
		exit(1);
	}
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	ring->magic = MEMIO_TRACE_MAGIC;
	ring->version = MEMIO_TRACE_VERSION;
	ring->data_offset = offset;
	ring->data_words = words;
	ring->cpu = get("cpu");
	ring->mode = MEMIO_TRACE_SYNTHETIC;
	ring->tsc_khz = get("khz");
	ring->event_bytes = 64;
	ring->period = get("period");
	memcpy(ring->event_name, "made up", 8);
	ring->start_tsc = START_TSC;
	ring->start_mono_ns = START_NS;
	ring->start_real_ns = REAL_NS;
	ring->stats.throttled = get("throttled");
	/* Whoever sees the name sees a whole ring. */
	if (rename(temporary, path)) {
		perror(path);
		exit(1);
	}
	close(fd);
	return ring;
}

static struct memio_trace_task task_number(unsigned int i)
{
	struct memio_trace_task task = {
		.tid = 1000 + i, .tgid = 1000 + i / 2 * 2, .cgroup = 50 + i,
	};

	snprintf(task.comm, sizeof(task.comm), "%.12s %u", get_text("comm"), i % 100);
	return task;
}

/* What a damaged kernel would leave in the ring */
static void damage(struct memio_trace_writer *w, const char *how)
{
	static const uint32_t cut[] = { 5, MEMIO_TRACE_MARKER(MEMIO_TRACE_SWITCH, 200) };
	static const uint32_t type[] = { 5, MEMIO_TRACE_MARKER(0, 1), 7 };
	static const uint32_t shorter[] = { 5, MEMIO_TRACE_MARKER(MEMIO_TRACE_SWITCH, 2), 1, 2 };
	const uint32_t *words = cut;
	unsigned int n = 2, i;

	/* What was good is not to be damaged. */
	while (smp_load_acquire(&w->ring->tail) != w->head)
		usleep(1000);
	if (!strcmp(how, "head")) {
		__atomic_store_n(&w->ring->head, w->head + 3 * (w->mask + 1), __ATOMIC_RELEASE);
		usleep(300000);
		/* What the reader makes of it is the tail from now on. */
		w->head += 3 * (w->mask + 1);
		w->synced = false;
		return;
	}
	if (!strcmp(how, "type")) {
		words = type;
		n = 3;
	} else if (!strcmp(how, "short")) {
		words = shorter;
		n = 4;
	}
	for (i = 0; i < n; i++)
		w->data[w->head++ & w->mask] = words[i];
	w->synced = false;
	smp_store_release(&w->ring->head, w->head);
	usleep(300000);
}

static void wait_for_room(const struct memio_trace_writer *w, uint32_t words)
{
	const struct timespec nap = { .tv_nsec = 50000 };

	while (w->mask + 1 - (w->head - smp_load_acquire(&w->ring->tail)) < words)
		nanosleep(&nap, NULL);
}

int main(int argc, char **argv)
{
	uint64_t tsc, records, done = 0, kept = 0, dropped = 0, next_turn, batch, *times;
	uint64_t longs, backs, others, khz, mean;
	struct memio_trace_writer w;
	struct memio_trace_task task;
	struct memio_trace_ring *ring;
	unsigned int i, running = 0;
	const char *bad;
	uint32_t *tids;
	FILE *truth = NULL;

	if (argc < 2)
		return 2;
	for (i = 2; i < (unsigned int)argc; i++) {
		const char *equals = strchr(argv[i], '=');
		unsigned int at = find(argv[i], equals ? equals - argv[i] : 0);

		settings[at].value = strtoull(equals + 1, NULL, 0);
		settings[at].text = equals + 1;
	}
	random_state = get("seed") * 7919 + get("cpu");
	records = get("records");
	batch = get("batch");
	longs = get("long");
	backs = get("back");
	others = get("other");
	khz = get("khz");
	mean = get("mean");
	bad = get_text("bad");
	times = calloc(batch, sizeof(*times));
	tids = calloc(batch, sizeof(*tids));
	if (get_text("truth")) {
		truth = fopen(get_text("truth"), "w");
		if (!truth) {
			perror(get_text("truth"));
			return 1;
		}
	}
	ring = make_ring(argv[1], get("words"));
	task = task_number(0);
	memio_trace_init(&w, ring, (uint32_t *)((char *)ring + ring->data_offset),
			 ring->data_words, &task);
	tsc = START_TSC + get("cpu") * 1000;
	next_turn = get("turn");
	while (done < records) {
		struct memio_trace_clocks now = {
			.tsc = tsc + 777,
			.mono_ns = START_NS + (tsc + 777 - START_TSC) * 1000000 / khz,
			.real_ns = REAL_NS + (tsc + 777 - START_TSC) * 1000000 / khz,
		};
		uint64_t n = records - done < batch ? records - done : batch, k;

		if (*bad && done >= get("at")) {
			damage(&w, bad);
			bad = "";
		}
		if (get("wait"))
			wait_for_room(&w, 8 * batch + MEMIO_TRACE_PREFIX);
		memio_trace_begin(&w, tsc, &now);
		for (k = 0; k < n; k++) {
			done++;
			if (longs && done % longs == 0)
				tsc += 5000000000ull;
			if (backs && done % backs == 0)
				tsc -= 100;
			else
				tsc += mean / 2 + random64() % (mean + 1);
			if (done == next_turn) {
				running = (running + 1 + random64() % 2) % get("tasks");
				task = task_number(running);
				memio_trace_switch(&w, tsc, &task);
				next_turn += get("turn") / 2 + random64() % get("turn") + 1;
				tsc += 40;
			}
			if (others && done % others == 0 && memio_trace_take(&w, 4)) {
				*memio_trace_word(&w) = MEMIO_TRACE_MARKER(77, 3);
				memio_trace_put(&w, (uint32_t[]) { 1, 2, 3 }, 3);
			}
			memio_trace_record(&w, tsc);
			times[k] = tsc;
			tids[k] = task.tid;
		}
		if (memio_trace_commit(&w)) {
			kept += n;
			for (k = 0; truth && k < n; k++)
				fprintf(truth, "%" PRIu64 ",%u\n", times[k], tids[k]);
		} else {
			dropped += n;
		}
		if (get("pause_us"))
			usleep(get("pause_us"));
	}
	if (get("stop"))
		memio_trace_stop(&w);
	if (truth && fclose(truth))
		return 1;
	printf("%" PRIu64 " %" PRIu64 "\n", kept, dropped);
	return 0;
}

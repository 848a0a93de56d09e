// SPDX-License-Identifier: GPL-2.0
/*
 * Known DMA beside known CPU accesses, for the tests of the cache model
 *
 *	dma-pattern DISK RING LAG TOTAL [zero] [walk LINES STORES] [stream STORES]
 *
 * Reads TOTAL bytes from DISK with O_DIRECT into a ring of RING bytes, 64 KiB at
 * a time, and loads every line of what came LAG bytes ago (0: at once; none if
 * LAG is RING or more). `zero`: before each read the CPU stores zeroes to the
 * pages that the device will write, as a kernel that clears pages does.
 * `walk`: after each read the CPU walks on by LINES lines in a buffer of 64 MiB,
 * of which it stores to STORES percent and loads the others. `stream`: a second
 * thread does the same all the time, as fast as it can.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINE	64
#define CHUNK	(64 << 10)
#define STREAM	(64 << 20)

static bool stop;

static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap of %zu bytes", bytes);
	return p;
}

struct walker {
	volatile char *buffer;
	size_t at, lines;
	unsigned int stores;		/* percent */
};

static void walk(struct walker *w, size_t lines)
{
	while (lines--) {
		if (w->lines++ * 61 % 100 < w->stores)
			w->buffer[w->at] = 1;
		else
			(void)w->buffer[w->at];
		w->at = (w->at + LINE) % STREAM;
	}
}

static void *stream(void *walker)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		walk(walker, CHUNK / LINE);
	return NULL;
}

static void load(const volatile char *p, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i += LINE)
		(void)p[i];
}

static size_t number(const char *s)
{
	char *end;
	size_t n = strtoull(s, &end, 0);

	if (*end || n % CHUNK)
		errx(2, "%s: not a multiple of %d", s, CHUNK);
	return n;
}

int main(int argc, char **argv)
{
	struct walker beside = { 0 }, other = { 0 };
	size_t ring, lag, total, done, step = 0;
	bool zero = false;
	pthread_t thread;
	off_t end;
	char *b;
	int fd, i;

	if (argc < 5)
		errx(2, "usage: dma-pattern DISK RING LAG TOTAL [zero] [walk LINES STORES] [stream STORES]");
	ring = number(argv[2]);
	lag = number(argv[3]);
	total = number(argv[4]);
	for (i = 5; i < argc; i++) {
		if (!strcmp(argv[i], "zero")) {
			zero = true;
		} else if (!strcmp(argv[i], "walk") && i + 2 < argc) {
			step = atoi(argv[++i]);
			beside.stores = atoi(argv[++i]);
			beside.buffer = pages(STREAM);
		} else if (!strcmp(argv[i], "stream") && i + 1 < argc) {
			other.stores = atoi(argv[++i]);
			other.buffer = pages(STREAM);
		} else {
			errx(2, "%s: zero, walk LINES STORES or stream STORES", argv[i]);
		}
	}

	fd = open(argv[1], O_RDONLY | O_DIRECT);
	if (fd < 0)
		err(1, "%s", argv[1]);
	end = lseek(fd, 0, SEEK_END);
	b = pages(ring);
	if (other.buffer) {
		errno = pthread_create(&thread, NULL, stream, &other);
		if (errno)
			err(1, "pthread_create");
	}

	for (done = 0; done < total; done += CHUNK) {
		char *to = b + done % ring;

		if (zero)
			memset(to, 0, CHUNK);
		if (pread(fd, to, CHUNK, done % end) != CHUNK)
			err(1, "read");
		if (lag < ring && done >= lag)
			load(b + (done - lag) % ring, CHUNK);
		walk(&beside, step);
	}

	if (other.buffer) {
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	return 0;
}

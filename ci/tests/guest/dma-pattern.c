// SPDX-License-Identifier: GPL-2.0
/*
 * Known DMA beside known CPU accesses, for the tests of the cache model
 *
 *	dma-pattern DISK RING LAG TOTAL [zero] [stream STORES]
 *
 * Reads TOTAL bytes from DISK with O_DIRECT into a ring of RING bytes, 64 KiB at
 * a time, and loads every line of what came LAG bytes ago (0: at once; none if
 * LAG is RING or more). `zero`: before each read the CPU stores zeroes to the
 * pages that the device will write, as a kernel that clears pages does.
 * `stream`: a second thread walks 64 MiB meanwhile, of whose lines it stores to
 * STORES percent and loads the others.
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
static unsigned int stores;

static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap of %zu bytes", bytes);
	return p;
}

static void *stream(void *buffer)
{
	volatile char *b = buffer;
	size_t i = 0, n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (n++ * 61 % 100 < stores)
			b[i] = 1;
		else
			(void)b[i];
		i = (i + LINE) % STREAM;
	}
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
	size_t ring, lag, total, done;
	bool zero = false, streaming = false;
	pthread_t thread;
	off_t end;
	char *b;
	int fd, i;

	if (argc < 5)
		errx(2, "usage: dma-pattern DISK RING LAG TOTAL [zero] [stream STORES]");
	ring = number(argv[2]);
	lag = number(argv[3]);
	total = number(argv[4]);
	for (i = 5; i < argc; i++) {
		if (!strcmp(argv[i], "zero")) {
			zero = true;
		} else if (!strcmp(argv[i], "stream") && i + 1 < argc) {
			streaming = true;
			stores = atoi(argv[++i]);
		} else {
			errx(2, "%s: zero or stream STORES", argv[i]);
		}
	}

	fd = open(argv[1], O_RDONLY | O_DIRECT);
	if (fd < 0)
		err(1, "%s", argv[1]);
	end = lseek(fd, 0, SEEK_END);
	b = pages(ring);
	if (streaming) {
		errno = pthread_create(&thread, NULL, stream, pages(STREAM));
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
	}

	if (streaming) {
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	return 0;
}

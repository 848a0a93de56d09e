// SPDX-License-Identifier: GPL-2.0
/*
 * A disk and the CPUs at work, for a given time or so many requests of each disk, and with known
 * buffers
 *
 *	load SECONDS|REQUESTSx [disk FILE read|write RING [LAG] [cold] [zero|touch]
 *		[walk LINES STORES]]... [stream STORES]
 *
 * `disk` is a thread that moves 64 KiB at a time with O_DIRECT between FILE and a
 * ring of RING bytes. The CPU reads what came from the disk LAG bytes ago (0: at
 * once); by default never. A new ring is in the cache in part, as the kernel has
 * cleared its pages; `cold` drives it out before the first request. Before each request
 * the CPU may store to all lines of its chunk (`zero`: they are modified when the
 * device comes) or load them (`touch`: they are in the cache, and not modified
 * unless they were). After each it may `walk` on by LINES lines in a buffer of 64 MiB,
 * storing to STORES percent of them and loading the others. `stream` is a thread
 * that walks all the time. Sizes are in KiB. Prints the bytes that each disk thread
 * moved, and the seconds it took.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LINE	64
#define CHUNK	(64 << 10)
#define WALK	(64 << 20)
#define DISKS	4

struct walker {
	volatile char *buffer;
	size_t at, lines;
	int stores;			/* percent */
};

struct disk {
	pthread_t thread;
	const char *file;
	bool write, cold, zero, touch;
	size_t ring, lag;
	size_t step;			/* lines to walk after each request */
	struct walker walker;
	unsigned long long bytes;
	double seconds;
};

static struct disk disks[DISKS];
static double duration;
static size_t requests;			/* of each disk; 0: for the duration */
static bool stop;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap of %zu bytes", bytes);
	/*
	 * Requests of pages that lie together have no list of pages. What a controller
	 * reads of such a list is 6 % of a request's bytes here, or nothing, as it
	 * happens.
	 */
	madvise(p, bytes, MADV_HUGEPAGE);
	for (size_t i = 0; i < bytes; i += 4096)
		((volatile char *)p)[i] = 0;
	return p;
}

static void walk(struct walker *w, size_t lines)
{
	while (lines--) {
		if (w->lines++ * 61 % 100 < (size_t)w->stores)
			w->buffer[w->at] = 1;
		else
			(void)w->buffer[w->at];
		w->at = (w->at + LINE) % WALK;
	}
}

static void touch(const volatile char *p)
{
	for (size_t i = 0; i < CHUNK; i += LINE)
		(void)p[i];
}

static void *do_stream(void *walker)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		walk(walker, CHUNK / LINE);
	return NULL;
}

static void *do_disk(void *disk)
{
	struct disk *d = disk;
	char *ring = pages(d->ring);
	int fd = open(d->file, (d->write ? O_WRONLY : O_RDONLY) | O_DIRECT);
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	double start;

	if (end < CHUNK)
		err(1, "%s", d->file);
	if (d->cold)
		walk(&(struct walker){ .buffer = pages(WALK) }, WALK / LINE);

	start = now();
	do {
		char *at = ring + d->bytes % d->ring;
		off_t offset = d->bytes % (end - end % CHUNK);
		ssize_t n;

		if (d->zero)
			memset(at, 0, CHUNK);
		if (d->touch)
			touch(at);
		n = d->write ? pwrite(fd, at, CHUNK, offset) : pread(fd, at, CHUNK, offset);
		if (n != CHUNK)
			err(1, "%s", d->file);
		if (d->lag < d->ring && d->bytes >= d->lag)
			touch(ring + (d->bytes - d->lag) % d->ring);
		walk(&d->walker, d->step);
		d->bytes += CHUNK;
		d->seconds = now() - start;
	} while (requests ? d->bytes / CHUNK < requests : d->seconds < duration);
	return NULL;
}

static char **args;

static const char *word(void)
{
	if (!*args)
		errx(2, "an argument is missing");
	return *args++;
}

static bool is(const char *what)
{
	if (!*args || strcmp(*args, what))
		return false;
	args++;
	return true;
}

static size_t number(void)
{
	const char *s = word();
	char *end;
	size_t n = strtoul(s, &end, 10);

	if (!*s || *end)
		errx(2, "%s: not a number", s);
	return n;
}

static size_t chunks(void)
{
	size_t n = number() << 10;

	if (n % CHUNK)
		errx(2, "%zu: not a multiple of %d", n, CHUNK);
	return n;
}

static void parse_disk(struct disk *d)
{
	d->file = word();
	d->write = is("write");
	if (!d->write && !is("read"))
		errx(2, "read or write?");
	d->ring = chunks();
	if (!d->ring)
		errx(2, "a ring of nothing");
	d->lag = d->ring;
	if (*args && **args >= '0' && **args <= '9')
		d->lag = chunks();
	d->cold = is("cold");
	d->zero = is("zero");
	d->touch = is("touch");
	if (is("walk")) {
		d->step = number();
		d->walker.stores = number();
		d->walker.buffer = pages(WALK);
	}
}

static void start(pthread_t *thread, void *(*f)(void *), void *arg)
{
	errno = pthread_create(thread, NULL, f, arg);
	if (errno)
		err(1, "pthread_create");
}

int main(int argc, char **argv)
{
	struct walker stream = { 0 };
	pthread_t streamer;
	int n = 0;

	(void)argc;
	args = argv + 1;
	if (*args && **args && (*args)[strlen(*args) - 1] == 'x') {
		(*args)[strlen(*args) - 1] = '\0';
		requests = number();
	} else {
		duration = number();
	}
	while (*args) {
		if (is("disk") && n < DISKS) {
			parse_disk(&disks[n++]);
		} else if (is("stream")) {
			stream.stores = number();
			stream.buffer = pages(WALK);
		} else {
			errx(2, "%s: disk or stream?", *args);
		}
	}

	if (stream.buffer)
		start(&streamer, do_stream, &stream);
	for (int i = 0; i < n; i++)
		start(&disks[i].thread, do_disk, &disks[i]);
	if (!n)
		usleep(duration * 1e6);
	for (int i = 0; i < n; i++) {
		pthread_join(disks[i].thread, NULL);
		printf("%s %s %llu %.6f\n", disks[i].file, disks[i].write ? "write" : "read",
		       disks[i].bytes, disks[i].seconds);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	if (stream.buffer)
		pthread_join(streamer, NULL);
	return 0;
}

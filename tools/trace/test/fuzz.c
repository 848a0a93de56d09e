// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz SECONDS [SEED]: damaged and hostile input for all that memio trace reads
 *
 * Four kinds of input, in turn, made of good ones by flipped bits, numbers that are
 * replaced by interesting ones, parts that are copied, left out or cut off:
 *
 *	files	as they are, and with checksums that are right again, so that what is
 *		behind these is reached
 *	blocks	for the decoder alone
 *	words	that a ring might hold, through the recorder and back from its file: what
 *		the recorder takes for a stream must come back from a file that is whole
 *	rings	whose header and words are anything
 *
 * It is built with the sanitizers, which end it; then it says with which SEED the same
 * happens at once. Nothing is asked of the results but what is said above.
 */
#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>

/* The recorder's functions are static: they are its business, and this test's. */
#include "../record.c"
#include "bins.h"
#include "clock.h"
#include "crc32c.h"
#include "shared.h"
#include "walk.h"

#define SIZE_MAX_FUZZ	(1u << 18)

static uint64_t seed;
static unsigned int runs[4], opened, whole;
static uint8_t good_file[SIZE_MAX_FUZZ], bytes[SIZE_MAX_FUZZ];
static size_t good_size;
static int file_fd, ring_fd;
static char file_path[64], ring_path[64];
static struct codec *codec;

static void on_death(void)
{
	fprintf(stderr, "fuzz: the same at once: fuzz 0 %llu\n", (unsigned long long)seed);
}

static void fail(const char *what)
{
	fprintf(stderr, "fuzz: %s\n", what);
	on_death();
	exit(1);
}

static uint64_t interesting(void)
{
	static const uint64_t values[] = {
		0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
		0xffff0000, 0xfffeffff, 0xffffffff, 0x100000000, INT64_MAX, 1ull << 63, UINT64_MAX,
	};

	return values[random_below(sizeof(values) / sizeof(*values))] + random_below(3) - 1;
}

/* Return: the new size */
static size_t mutate(uint8_t *p, size_t size, size_t room)
{
	unsigned int times = 1 + random_below(4);
	uint64_t v;
	size_t at, to, n;

	while (times-- && size > 16) {
		at = random_below(size - 8);
		switch (random_below(7)) {
		case 0:
			p[at] ^= 1 << random_below(8);
			break;
		case 1:
			p[at] = random64();
			break;
		case 2:
			v = interesting();
			memcpy(p + at / 8 * 8, &v, 1 << random_below(4));
			break;
		case 3:
			v = interesting();
			memcpy(p + at, &v, 1 << random_below(4));
			break;
		case 4:		/* copied to elsewhere */
			n = 1 + random_below(size - at);
			to = random_below(size);
			if (to + n > room)
				n = room - to;
			memmove(p + to, p + at, n);
			if (to + n > size)
				size = to + n;
			break;
		case 5:		/* left out */
			n = random_below(3) ? random_below(64) : random_below(size - at);
			if (n > size - at)
				n = size - at;
			memmove(p + at, p + at + n, size - at - n);
			size -= n;
			break;
		case 6:
			size = random_below(4) ? size : at;
			break;
		}
	}
	return size;
}

/* Sums are right again, where there is a chunk. */
static void mend(uint8_t *p, size_t size)
{
	struct format_chunk c;
	size_t at;

	for (at = 0; at + sizeof(c) <= size; at += FORMAT_ALIGN) {
		memcpy(&c, p + at, sizeof(c));
		if (memcmp(c.magic, FORMAT_MAGIC, sizeof(c.magic)))
			continue;
		if (c.size > size - at - sizeof(c) && random_below(4))
			c.size = size - at - sizeof(c);
		if (c.size <= size - at - sizeof(c))
			c.payload_crc = crc32c(0, p + at + sizeof(c), c.size);
		c.header_crc = crc32c(0, (char *)&c + FORMAT_CRC_FROM, sizeof(c) - FORMAT_CRC_FROM);
		memcpy(p + at, &c, sizeof(c));
	}
}

static void put_file(int fd, const uint8_t *p, size_t size)
{
	if (ftruncate(fd, 0) || pwrite(fd, p, size, 0) != (ssize_t)size)
		fail("writing a file in memory");
}

static bool read_file(const char *path, struct bins *b)
{
	struct filter filter = { 0 };
	uint64_t pid = 1002;

	if (!random_below(4))
		filter.pids = (struct filter_list) { .id = &pid, .n = 1 };
	return bins_read(b, path, &filter, 1 + random_below(100000), 0);
}

/* ---- the four kinds ---- */

static void fuzz_file(void)
{
	size_t size = good_size;
	struct bins b;

	memcpy(bytes, good_file, good_size);
	if (random_below(3)) {
		/* Within a payload, mostly, and then in its first part */
		size_t at = 0, chunk = random_below(8);
		struct format_chunk c;

		for (;;) {
			memcpy(&c, bytes + at, sizeof(c));
			if (!chunk-- || at + sizeof(c) + c.size + 8 >= size)
				break;
			at += sizeof(c) + (c.size + 7) / 8 * 8;
		}
		mutate(bytes + at + 8, random_below(2) ? 300 : sizeof(c) + c.size - 8,
		       size - at - 8);
	} else {
		size = mutate(bytes, size, sizeof(bytes));
	}
	if (random_below(4))
		mend(bytes, size);
	put_file(file_fd, bytes, size);
	if (read_file(file_path, &b)) {
		opened++;
		whole += b.whole;
		bins_free(&b);
	}
}

/* Words that are mostly a stream. Return: how many */
static size_t make_words(uint32_t *w, size_t room)
{
	const size_t n = 1 + random_below(random_below(10) ? 500 : room - 1);
	static const unsigned int lengths[] = { 2, 10, 8, 2, 3 };
	const unsigned int markers = 2 + random_below(50);
	size_t i = 0, k;

	while (i < n) {
		unsigned int type, length;

		if (random_below(markers)) {
			w[i++] = (uint32_t)random64() >> random_below(32);
			continue;
		}
		length = random_below(8) ? lengths[random_below(5)] : random_below(256);
		type = random_below(random_below(4) ? 6 : 256);
		w[i++] = MEMIO_TRACE_MARKER(type, length);
		for (k = 0; k < length && i < n; k++)
			w[i++] = random_below(2) ? random_below(4) : (uint32_t)random64();
	}
	return n;
}

/* Bytes of a coded block before its streams, which are less of interest */
static size_t front_of(const uint8_t *p, size_t size)
{
	uint32_t side;
	uint16_t tokens;
	size_t front;

	if (size < 37 || *p != 1)
		return size;
	memcpy(&side, p + 5, 4);
	memcpy(&tokens, p + 19, 2);
	front = 37 + (tokens + 1) / 2 + side;
	return front < size ? front : size;
}

static void fuzz_block(void)
{
	static uint32_t w[CODEC_WORDS];
	size_t n = make_words(w, 20000), coded, size, i;
	uint8_t *copy = bytes + sizeof(bytes) / 2;
	unsigned int times;

	/* Numbers of all sizes would be left as they are. */
	for (i = 0; i < n; i++)
		w[i] = w[i] < MEMIO_TRACE_ESCAPE ? w[i] % 5000 : w[i];
	coded = codec_encode(codec, w, n, bytes);
	for (times = 0; times < 30; times++) {
		/* No longer than need be: who goes beyond is seen. */
		uint32_t *to = malloc(4 * n);
		uint8_t *from;

		memcpy(copy, bytes, coded);
		size = coded;
		if (random_below(4)) {
			copy[random_below(front_of(copy, size))] = random64();
			copy[random_below(front_of(copy, size))] ^= 1 << random_below(8);
		} else {
			size = mutate(copy, coded, sizeof(bytes) / 2);
		}
		from = malloc(size);
		if (!to || !from)
			fail("no memory");
		memcpy(from, copy, size);
		codec_decode(codec, from, size, to, random_below(8) ? n : random_below(n + 1));
		free(to);
		free(from);
	}
}

static void fuzz_words(void)
{
	static uint32_t w[CODEC_WORDS], block[CODEC_WORDS];
	struct recorder r = { .path = file_path };
	struct stream s = { .block = block };
	uint64_t pid = 1, kept;
	unsigned int rounds;
	struct filter all = { 0 };
	struct bins b;

	if (random_below(2))
		r.filter.pids = (struct filter_list) { .id = &pid, .n = 1 };
	r.choose = filter_tasks(&r.filter);
	s.ring.path = "fuzz";
	s.ring.stream = (struct format_stream) {
		.tsc_khz = 2000000, .period = 1 + random_below(1000), .event_bytes = 64,
	};
	s.stats.stream = s.ring.stream;
	if (writer_open(&r.writer, file_path, 1, ""))
		fail("no file");
	for (rounds = 1 + random_below(4); rounds; rounds--) {
		size_t n = make_words(w, CODEC_WORDS);
		uint32_t *exact = malloc(4 * n);

		/* Else nearly nothing would be synchronised. */
		if (n > 30 && random_below(4)) {
			w[0] = MEMIO_TRACE_MARKER(MEMIO_TRACE_SYNC, 8);
			w[9] = MEMIO_TRACE_MARKER(MEMIO_TRACE_SWITCH, 10);
			w[12] = random_below(2);
			w[13] = random_below(2);
		}
		if (!exact)
			fail("no memory");
		memcpy(exact, w, 4 * n);
		take(&r, &s, exact, n);
		free(exact);
	}
	put_block(&r, &s);
	kept = s.stats.kept_records;
	if (r.err || writer_stats(&r.writer, &s.stats) || writer_end(&r.writer) ||
	    writer_close(&r.writer))
		fail("the recorder could not write");
	if (!bins_read(&b, file_path, &all, 1000000000, 0)) {
		/* Times can be anything, and so too many bins. */
		return;
	}
	if (!b.whole)
		fail("what the recorder wrote is not whole");
	if (b.cpus && b.cpu[0].records != kept)
		fail("other records than the recorder counted");
	bins_free(&b);
}

static void fuzz_ring(void)
{
	static uint32_t w[CODEC_WORDS];
	const uint32_t words = 1024;
	struct memio_trace_ring *head = (void *)bytes;
	unsigned int i;
	bool stopped;
	struct ring r;

	memset(bytes, 0, 4096 + 4 * words);
	head->magic = MEMIO_TRACE_MAGIC;
	head->version = MEMIO_TRACE_VERSION;
	head->data_offset = 4096;
	head->data_words = words;
	head->tsc_khz = 2000000;
	head->period = 1;
	head->event_bytes = 64;
	head->tail = random64();
	head->head = head->tail + random_below(words + 2);
	make_words((uint32_t *)(bytes + 4096), words);
	if (random_below(2))
		mutate(bytes, random_below(2) ? 32 : 4096 + 4 * words, 4096 + 4 * words);
	put_file(ring_fd, bytes, random_below(8) ? 4096 + 4 * words : random_below(8192));
	if (!ring_open(&r, ring_path))
		return;
	for (i = 0; i < 20; i++) {
		if (ring_read(&r, w, CODEC_WORDS, &stopped) <= 0)
			r.map->head += random_below(2) ? random64() : random_below(words);
		if (r.tail != r.map->tail)
			fail("the reader does not say how far it is");
	}
	ring_close(&r);
}

static void make_good_file(void)
{
	static uint32_t w[3000];
	struct format_state before = { .tid = 1000, .tgid = 1000, .comm = "one" }, after;
	struct format_stats stats = { 0 };
	struct writer out;
	unsigned int i, k;
	int err;

	err = writer_open(&out, file_path, 2, "pid 1000");
	for (i = 0; i < 6; i++) {
		struct format_stream stream = {
			.cpu = i % 2, .tsc_khz = 2000000, .event_bytes = 64, .period = 10,
		};
		unsigned int records = 0;
		uint64_t lost = 0;
		size_t n = 300 + i * 500, at, step;

		before.tsc = 1000000 * (i + 1);
		for (k = 0; k < n; k++)
			w[k] = 500 + random_below(200);
		/* A SYNC, a switch and a LOST */
		w[0] = MEMIO_TRACE_MARKER(MEMIO_TRACE_SYNC, 8);
		w[100] = MEMIO_TRACE_MARKER(MEMIO_TRACE_SWITCH, 10);
		w[200] = MEMIO_TRACE_MARKER(MEMIO_TRACE_LOST, 2);
		after = before;
		for (at = 0; at < n; at += step)
			records += stream_next(&after, w + at, n - at, &step, &lost) ==
				   STREAM_RECORD;
		err |= writer_data(&out, &stream, &before, &after, w, n, records);
		stats.stream = stream;
	}
	err |= writer_stats(&out, &stats) | writer_end(&out) | writer_close(&out);
	good_size = pread(file_fd, good_file, sizeof(good_file), 0);
	if (err || good_size < 3000 || good_size > sizeof(good_file) / 2)
		fail("no file to begin with");
}

static double seconds_now(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1e9;
}

int main(int argc, char **argv)
{
	static void (*const kinds[4])(void) = { fuzz_file, fuzz_block, fuzz_words, fuzz_ring };
	const double seconds = argc > 1 ? atof(argv[1]) : 5, start = seconds_now();
	struct bins b;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	codec = codec_new();
	file_fd = memfd_create("file", 0);
	ring_fd = memfd_create("ring", 0);
	snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file_fd);
	snprintf(ring_path, sizeof(ring_path), "/proc/self/fd/%d", ring_fd);
	__sanitizer_set_death_callback(on_death);
	make_good_file();
	if (!bins_read(&b, file_path, &(struct filter) { 0 }, 1000, 0) || !b.whole)
		fail("the file to begin with is not whole");
	bins_free(&b);
	do {
		random_state = seed * 0x9e3779b97f4a7c15ull | 1;
		random64();
		kinds[seed % 4]();
		runs[seed % 4]++;
		seed++;
	} while (seconds_now() - start < seconds);
	codec_free(codec);
	printf("files %u (%u could be read, %u whole), blocks %u, words %u, rings %u\n", runs[0],
	       opened, whole, runs[1], runs[2], runs[3]);
	return 0;
}

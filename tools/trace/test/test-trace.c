// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of memio trace: checksums, codec, ring and file
 *
 * The codec by a property, that what comes out is what went in, on streams of many kinds
 * and lengths. The ring with producer and reader at once, against what the producer
 * says it did. The file cut off at every byte and with every byte changed: all chunks but
 * one are still there, word by word, and that one is missed.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "codec.h"
#include "crc32c.h"
#include "ring.h"
#include "shared.h"
#include "stream.h"
#include "test.h"
#include "trace_ring.h"
#include "walk.h"
#include "writer.h"

/* What user space was compiled with must not move, for 32 and 64 bits alike. */
static_assert(offsetof(struct memio_trace_ring, period) == 32, "layout");
static_assert(offsetof(struct memio_trace_ring, event_name) == 64, "layout");
static_assert(offsetof(struct memio_trace_ring, start_tsc) == 128, "layout");
static_assert(offsetof(struct memio_trace_ring, head) == 256, "layout");
static_assert(offsetof(struct memio_trace_ring, stats) == 384, "layout");
static_assert(offsetof(struct memio_trace_ring, tail) == 512, "layout");
static_assert(sizeof(struct memio_trace_ring) == 640, "layout");
static_assert(sizeof(struct memio_trace_switch) == 40, "layout");
static_assert(sizeof(struct memio_trace_sync) == 32, "layout");

/* ---- checksums ---- */

static void test_crc(void)
{
	static const uint8_t zeros[32];
	uint8_t data[300];
	bool alike = true;
	size_t i, n;

	/* These two are in the iSCSI standard, and in everybody's tests. */
	check(crc32c(0, "123456789", 9) == 0xe3069283, "crc32c: of 123456789");
	check(crc32c(0, zeros, 32) == 0x8a9136aa, "crc32c: of zeros");
	for (i = 0; i < sizeof(data); i++)
		data[i] = random64();
	for (n = 0; n <= sizeof(data); n++) {
		i = random_below(n + 1);
		alike &= crc32c(0, data, n) == crc32c_table(0, data, n);
		alike &= crc32c(crc32c(0, data, i), data + i, n - i) == crc32c(0, data, n);
	}
	check(alike, "crc32c: by table and in parts the same");
}

/* ---- codec ---- */

static struct codec *codec;
static uint32_t words[CODEC_WORDS], again[CODEC_WORDS + 1];
static uint8_t coded[CODEC_BOUND(CODEC_WORDS) + 1];

/* Return: bytes; 0: it went wrong */
static size_t round_trip(size_t n)
{
	size_t size;
	const char *wrong;

	coded[CODEC_BOUND(n)] = 0xa5;
	again[n] = 0xdeadbeef;
	size = codec_encode(codec, words, n, coded);
	if (!size || size > CODEC_BOUND(n) || coded[CODEC_BOUND(n)] != 0xa5)
		return 0;
	memset(again, 0x5a, 4 * n);
	wrong = codec_decode(codec, coded, size, again, n);
	if (wrong || memcmp(words, again, 4 * n) || again[n] != 0xdeadbeef) {
		printf("# %zu words, %zu bytes: %s\n", n, size, wrong ? wrong : "not the same");
		return 0;
	}
	return size;
}

static size_t put_marker(size_t i, size_t n, unsigned int type, unsigned int length)
{
	if (length >= n - i)
		return i;
	words[i++] = MEMIO_TRACE_MARKER(type, length);
	while (length--)
		words[i++] = random64();
	return i;
}

static double exponential(double mean)
{
	return -mean * log(((random64() >> 11) + 1) / 0x1p53);
}

/* A stream of some kind; markers, where there are some, are whole. */
static void make_words(unsigned int kind, size_t n)
{
	uint32_t scale = 2 + random_below(100), value = random64() >> random_below(64);
	double mean = exp(random_below(20));
	size_t i = 0, from;

	while (i < n) {
		switch (kind) {
		case 0:			/* one value */
			words[i++] = value;
			break;
		case 1:			/* of any size */
			words[i++] = (uint32_t)random64() >> random_below(32);
			break;
		case 2:			/* misses at random */
			words[i++] = exponential(mean);
			break;
		case 3:			/* a TSC that moves in steps, mostly */
			words[i++] = (uint32_t)exponential(mean / scale) * scale +
				     !random_below(50);
			break;
		case 4:			/* phases */
			words[i] = exponential(i / 3000 % 2 ? mean : 20);
			i++;
			break;
		case 5:			/* powers of two and their neighbours */
			words[i++] = (1u << random_below(32)) + random_below(3) - 1;
			break;
		case 6:			/* counts that double: codes that grow too long */
			words[i++] = 40u << __builtin_ctzll(random64() | 1ull << 24);
			break;
		case 7:			/* the same few tasks again and again */
			words[i++] = exponential(mean);
			if (random_below(20) || n - i < 11)
				break;
			from = random_below(i);
			random_state += from;
			words[i] = MEMIO_TRACE_MARKER(MEMIO_TRACE_SWITCH, 10);
			words[i + 1] = random64();
			words[i + 2] = random64();
			for (from = 3; from < 11; from++)
				words[i + from] = value + random_below(2) * !random_below(8);
			i += 11;
			break;
		case 8:			/* markers of all lengths */
			if (random_below(3))
				words[i++] = random_below(1000);
			else
				i = put_marker(i, n, random_below(256), random_below(256));
			break;
		case 9:			/* nothing but markers */
			from = i;
			i = put_marker(i, n, 1 + random_below(4), random_below(4));
			if (i == from)
				words[i++] = 3;
			break;
		case 10:		/* no stream at all, but words */
			words[i++] = random64();
			break;
		case 11:		/* from the least to the most */
			words[i++] = random_below(2) ? MEMIO_TRACE_ESCAPE - 1 : 0;
			break;
		}
		if (i && words[i - 1] >= MEMIO_TRACE_ESCAPE && (kind < 7 || kind == 11))
			words[i - 1] = MEMIO_TRACE_ESCAPE - 1;
	}
}

#define KINDS	12

static void test_codec(void)
{
	static const size_t lengths[] = {
		0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 255, 256, 257, 1000, 4095, 30000,
		CODEC_WORDS - 1, CODEC_WORDS,
	};
	unsigned int kind, i, seed;
	size_t size, half;

	for (kind = 0; kind < KINDS; kind++) {
		unsigned int good = 0, all = 0;

		for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
			for (seed = 0; seed < (lengths[i] > 5000 ? 3 : 20); seed++, all++) {
				make_words(kind, lengths[i]);
				good += round_trip(lengths[i]) > 0;
			}
		}
		for (seed = 0; seed < 300; seed++, all++) {
			size_t n = random_below(3000);

			make_words(kind, n);
			good += round_trip(n) > 0;
		}
		check(good == all, "codec: kind %u comes out as it went in: %u of %u", kind, good,
		      all);
	}

	/* The entropy of differences with mean m is log2(e m) bits, if m is large. */
	for (i = 100; i <= 10000; i *= 10) {
		double bits = log2(M_E * i);

		for (half = 0; half < CODEC_WORDS; half++)
			words[half] = exponential(i);
		size = round_trip(CODEC_WORDS);
		check(size && 8.0 * size / CODEC_WORDS < bits * 1.02,
		      "codec: mean %u: %.2f bits a record, of %.2f that there are", i,
		      8.0 * size / CODEC_WORDS, bits);
	}
	/* Ten misses each, that is a period of 10; 99 % are below 2^15 */
	for (half = 0; half < CODEC_WORDS; half++) {
		words[half] = 0;
		for (i = 0; i < 10; i++)
			words[half] += exponential(60);
	}
	size = round_trip(CODEC_WORDS);
	check(size && size < 0.35 * 4 * CODEC_WORDS,
	      "codec: ten misses a record: %.1f %% of the words", 25.0 * size / CODEC_WORDS);
	/* 26 ticks are a step of the TSC on the machine where this was seen first. */
	for (half = 0; half < CODEC_WORDS; half++)
		words[half] = (uint32_t)exponential(1000) * 26 + !random_below(1000);
	size = round_trip(CODEC_WORDS);
	check(size && 8.0 * size / CODEC_WORDS < log2(M_E * 1000) * 1.02,
	      "codec: ... and the same in steps of 26: %.2f bits", 8.0 * size / CODEC_WORDS);
	for (half = 0; half < CODEC_WORDS; half++)
		words[half] = 3;
	size = round_trip(CODEC_WORDS);
	check(size && size < 100, "codec: one small value: %zu bytes", size);
	/* Three tasks that take turns, 3 records each time */
	for (half = 0, i = 0; half < 14 * 1000; i++) {
		memset(words + half, i % 3, 11 * 4);
		words[half] = MEMIO_TRACE_MARKER(MEMIO_TRACE_SWITCH, 10);
		words[half + 2] = 0;
		for (size = 11; size < 14; size++)
			words[half + size] = 1;
		half += 14;
	}
	size = round_trip(half);
	check(size && size < 1000 * 14, "codec: switches between the same tasks: %.1f bytes each",
	      size / 1000.0);

	/* Any other number of words or bytes is refused, or at least does no harm. */
	make_words(7, 3000);
	size = codec_encode(codec, words, 3000, coded);
	check(codec_decode(codec, coded, size, again, 2999) &&
	      codec_decode(codec, coded, size, again, 3001), "codec: another number of words");
	check(codec_decode(codec, coded, size, again, CODEC_WORDS + 1), "codec: too many words");
	for (i = 0; i < size && codec_decode(codec, coded, i, again, 3000); i++)
		;
	check(i == size, "codec: cut off at any byte, of %zu", size);
	check(codec_decode(codec, coded, size + 1, again, 3000), "codec: with a byte more");
}

/* ---- ring ---- */

#define RING_WORDS	1024

struct shared {
	struct memio_trace_ring ring;
	uint32_t data[RING_WORDS];
};

struct producer {
	struct shared *shared;
	uint32_t head;			/* where the ring begins */
	unsigned int batches;
	uint64_t kept_sum;		/* of the times of the records that were kept, */
	uint64_t kept, dropped;		/* how many there are, and were not kept */
};

static void *produce(void *context)
{
	struct producer *p = context;
	struct memio_trace_task task = { .tid = 1, .tgid = 1, .cgroup = 1 };
	struct memio_trace_clocks now = { 0 };
	struct memio_trace_writer w;
	uint64_t state = 42, tsc = 1000, sum;
	unsigned int i, k, n;

	memio_trace_init(&w, &p->shared->ring, p->shared->data, RING_WORDS, &task);
	w.head = p->head;
	w.sync = p->head;
	for (i = 0; i < p->batches; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		n = state >> 40 & 255;
		now.tsc = tsc;
		now.mono_ns = tsc;
		sum = 0;
		memio_trace_begin(&w, tsc, &now);
		for (k = 0; k < n; k++) {
			tsc += k % 97 ? (state >> 20 & 1023) + k : 5000000000ull;
			if (k % 50 == 7) {
				task.tid = 1 + (k + i) % 3;
				memio_trace_switch(&w, tsc, &task);
				tsc += 3;
			}
			memio_trace_record(&w, tsc);
			sum += tsc * task.tid;
		}
		if (memio_trace_commit(&w)) {
			p->kept += n;
			p->kept_sum += sum;
		} else {
			p->dropped += n;
			usleep(20);
		}
	}
	/* What was dropped last is told by nobody, unless something follows. */
	do {
		memio_trace_begin(&w, tsc, &now);
	} while (!memio_trace_commit(&w));
	memio_trace_stop(&w);
	return NULL;
}

static void test_ring(const char *name, uint32_t head, unsigned int batches, bool lazy)
{
	struct shared *shared = aligned_alloc(4096, (sizeof(*shared) + 4095) / 4096 * 4096);
	struct producer p = { .shared = shared, .head = head, .batches = batches };
	struct format_state state = { 0 };
	uint64_t records = 0, sum = 0, lost = 0, number;
	struct ring r = { 0 };
	bool stopped = false, broken = false, synced = false;
	unsigned int rounds = 0;
	pthread_t thread;

	memset(shared, 0, sizeof(*shared));
	shared->ring.head = head;
	shared->ring.tail = head;
	r.map = &shared->ring;
	r.data = shared->data;
	r.words = RING_WORDS;
	r.tail = head;
	pthread_create(&thread, NULL, produce, &p);
	while (!stopped && !broken) {
		long n = ring_read(&r, words, lazy ? 300 : CODEC_WORDS, &stopped);
		size_t i = 0, step;

		if (lazy && rounds++ % 50 == 0)
			usleep(100);
		broken = n < 0;
		for (; n > 0 && i < (size_t)n; i += step) {
			enum stream_kind kind = stream_next(&state, words + i, n - i, &step,
							    &number);

			broken |= kind == STREAM_BROKEN || kind == STREAM_OTHER ||
				  (kind == STREAM_RECORD && !synced);
			if (broken)
				break;
			if (kind == STREAM_SYNC)
				synced = true;
			if (kind == STREAM_LOST)
				lost += number;
			if (kind == STREAM_RECORD) {
				records++;
				sum += state.tsc * state.tid;
			}
		}
	}
	pthread_join(thread, NULL);
	check(!broken, "ring, %s: nothing that is no stream", name);
	check(records == p.kept && sum == p.kept_sum,
	      "ring, %s: %llu records, each with its time and task", name,
	      (unsigned long long)records);
	check(lost == p.dropped, "ring, %s: %llu lost, as the producer says", name,
	      (unsigned long long)lost);
	check(shared->ring.stats.records == p.kept && shared->ring.stats.dropped == p.dropped,
	      "ring, %s: statistics", name);
	free(shared);
}

static void test_ring_tail(void)
{
	struct memio_trace_task task = { .tid = 1 };
	struct memio_trace_clocks now = { .tsc = 5 };
	struct memio_trace_writer w;
	static struct shared s;

	memio_trace_init(&w, &s.ring, s.data, RING_WORDS, &task);
	s.ring.tail = 5;
	memio_trace_begin(&w, 1, &now);
	memio_trace_record(&w, 1);
	check(!memio_trace_commit(&w) && s.ring.stats.bad_tails == 1 && !s.ring.head,
	      "ring: a tail before the head's beginning is no room");
	s.ring.tail = -RING_WORDS - 1;
	memio_trace_begin(&w, 1, &now);
	check(!memio_trace_commit(&w) && s.ring.stats.bad_tails == 2,
	      "ring: nor is one too far behind");
	s.ring.tail = 0;
	memio_trace_begin(&w, 1, &now);
	memio_trace_record(&w, 9);
	check(memio_trace_commit(&w) && s.data[0] == MEMIO_TRACE_MARKER(MEMIO_TRACE_LOST, 2) &&
	      s.data[1] == 1 && s.ring.sync == 0, "ring: what was lost meanwhile is told");
}

/* ---- file ---- */

#define BLOCKS		6
#define BLOCK_WORDS	40

static uint8_t file[1 << 16];
static size_t file_size;
static struct {
	size_t begin, end;	/* in the file */
} chunk[BLOCKS + 4];
static unsigned int chunks;

static uint32_t block_word(unsigned int block, unsigned int i)
{
	return (block * 7919 + i * i * 31) % 5000;
}

static struct format_stream a_stream(unsigned int cpu)
{
	struct format_stream s = {
		.cpu = cpu, .mode = 1, .tsc_khz = 2000000, .event_bytes = 64, .period = 10,
	};

	return s;
}

/* FILE, blocks of two CPUs in turn, STATS of both, END */
static void make_file(const char *path)
{
	struct format_state before = { .tsc = 1000, .tid = 7, .comm = "a\"b" }, after;
	struct format_stats stats = { 0 };
	struct writer w;
	unsigned int i, k;
	uint32_t block[BLOCK_WORDS];
	size_t at;
	int fd, err;

	err = writer_open(&w, path, 2, "pid 7");
	for (i = 0; i < BLOCKS; i++) {
		struct format_stream stream = a_stream(i % 2);

		before.tsc = 1000000 * (i + 1);
		after = before;
		for (k = 0; k < BLOCK_WORDS; k++) {
			block[k] = block_word(i, k);
			after.tsc += block[k];
		}
		err |= writer_data(&w, &stream, &before, &after, block, BLOCK_WORDS, BLOCK_WORDS);
	}
	for (i = 0; i < 2; i++) {
		stats.stream = a_stream(i);
		err |= writer_stats(&w, &stats);
	}
	err |= writer_end(&w);
	err |= writer_close(&w);
	fd = open(path, O_RDONLY);
	file_size = read(fd, file, sizeof(file));
	close(fd);
	for (at = 0, chunks = 0; at < file_size; chunks++) {
		struct format_chunk c;

		memcpy(&c, file + at, sizeof(c));
		chunk[chunks].begin = at;
		at += sizeof(c) + (c.size + 7) / 8 * 8;
		chunk[chunks].end = at;
	}
	check(!err && chunks == BLOCKS + 4, "file: written: %zu bytes, %u chunks", file_size,
	      chunks);
}

/* Reads what is in @bytes. Return: a bit for each block that is there as it was written. */
static unsigned int blocks_of(const uint8_t *bytes, size_t size, bool *whole, bool *foreign,
			      struct reader_damage *damage)
{
	static int fd = -1;
	struct reader_chunk c;
	struct reader_block b;
	struct reader r;
	unsigned int there = 0, i, k;
	char path[64];

	*foreign = false;
	*whole = false;
	if (fd < 0)
		fd = memfd_create("trace", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (ftruncate(fd, 0) || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		abort();
	if (!reader_open(&r, path))
		return 0;
	while (reader_next(&r, &c)) {
		if (c.head.type != FORMAT_DATA || !reader_block(&r, &c, &b))
			continue;
		i = b.state.tsc / 1000000 - 1;
		for (k = 0; i < BLOCKS && k < b.n && b.words[k] == block_word(i, k); k++)
			;
		if (i >= BLOCKS || b.n != BLOCK_WORDS || k < BLOCK_WORDS || b.stream.cpu != i % 2)
			*foreign = true;
		else
			there |= 1 << i;
	}
	*whole = !reader_summary(&r);
	*damage = r.damage;
	reader_close(&r);
	return there;
}

static void test_file(void)
{
	const unsigned int all = (1 << BLOCKS) - 1;
	static uint8_t other[sizeof(file)];
	struct reader_damage d;
	char path[] = "/tmp/memio-trace-test.XXXXXX";
	bool whole, foreign;
	unsigned int bad = 0, silent = 0, wrong = 0, i;
	size_t at;
	int fd = mkstemp(path);

	close(fd);
	make_file(path);
	unlink(path);
	check(blocks_of(file, file_size, &whole, &foreign, &d) == all && whole && !foreign,
	      "file: all is there");

	for (at = 0; at < file_size; at++) {
		unsigned int want = 0;

		for (i = 0; i < BLOCKS; i++)
			if (chunk[1 + i].end <= at)
				want |= 1 << i;
		complaints = 0;
		bad += blocks_of(file, at, &whole, &foreign, &d) != want || foreign;
		silent += whole || !complaints;
	}
	check(!bad, "file: cut off at any byte, all whole blocks are there: %u times not", bad);
	check(!silent, "file: ... and it is said: %u times not", silent);

	bad = 0;
	for (at = 0; at < file_size; at++) {
		unsigned int want = all, at_chunk = 0, there, padding;
		struct format_chunk c;

		while (chunk[at_chunk].end <= at)
			at_chunk++;
		memcpy(&c, file + chunk[at_chunk].begin, sizeof(c));
		padding = at >= chunk[at_chunk].begin + sizeof(c) + c.size;
		memcpy(other, file, file_size);
		other[at] ^= 1 << random_below(8);
		if (at_chunk >= 1 && at_chunk <= BLOCKS && !padding)
			want &= ~(1u << (at_chunk - 1));
		complaints = 0;
		there = blocks_of(other, file_size, &whole, &foreign, &d);
		bad += there != want;
		wrong += foreign;
		silent += whole != padding || (!padding && !complaints);
	}
	check(!bad && !wrong,
	      "file: any byte damaged, all other blocks are there: %u times not, %u wrong", bad,
	      wrong);
	check(!silent, "file: ... and it is said: %u times not", silent);

	/* What a recorder that was killed leaves: the file was allocated further. */
	memcpy(other, file, file_size);
	memset(other + chunk[3].end, 0, sizeof(other) - chunk[3].end);
	check(blocks_of(other, sizeof(other), &whole, &foreign, &d) == 7 && !whole &&
	      d.unfinished && !d.bytes, "file: zeros at the end are a recorder that was killed");

	/* A chunk that is gone, comes twice, or in another place */
	memcpy(other, file, chunk[2].begin);
	memcpy(other + chunk[2].begin, file + chunk[2].end, file_size - chunk[2].end);
	check(blocks_of(other, file_size - (chunk[2].end - chunk[2].begin), &whole, &foreign, &d) ==
	      (all & ~2u) && !whole && d.missing == 1, "file: a chunk that is gone is missed");
	memcpy(other, file, chunk[2].end);
	memcpy(other + chunk[2].end, file + chunk[2].begin, file_size - chunk[2].begin);
	at = file_size + chunk[2].end - chunk[2].begin;
	check(blocks_of(other, at, &whole, &foreign, &d) == all && !whole &&
	      d.chunks == 1, "file: one that comes twice counts once");

	/* Garbage in the middle, and in front */
	memcpy(other, file, chunk[2].begin);
	for (i = 0; i < 1000; i++)
		other[chunk[2].begin + i] = random64();
	memcpy(other + chunk[2].begin + 1000, file + chunk[2].begin, file_size - chunk[2].begin);
	check(blocks_of(other, file_size + 1000, &whole, &foreign, &d) == all && !whole &&
	      d.bytes == 1000, "file: garbage between chunks is passed over");
	memset(other, 'x', 512);
	memcpy(other + 512, file, file_size);
	check(blocks_of(other, file_size + 512, &whole, &foreign, &d) == all && !whole,
	      "file: ... and in front");

	/* A newer version */
	memcpy(other, file, file_size);
	for (i = 0; i < chunks; i++) {
		struct format_chunk c;

		memcpy(&c, other + chunk[i].begin, sizeof(c));
		c.version++;
		c.header_crc = crc32c(0, (char *)&c + FORMAT_CRC_FROM, sizeof(c) - FORMAT_CRC_FROM);
		memcpy(other + chunk[i].begin, &c, sizeof(c));
	}
	complaints = 0;
	check(!blocks_of(other, file_size, &whole, &foreign, &d) && complaints,
	      "file: a later version is refused");
}

/* What later recorders count is behind what there always was. */
static void test_stats(void)
{
	const struct format_stats written = {
		.stream = a_stream(3), .dropped = 5, .damaged = 6, .throttled = 7,
	};
	uint8_t payload[sizeof(written) + 16] = { 0 };
	struct reader_chunk c = { .head.cpu = 3, .payload = payload };
	struct reader r = { .quiet = true };
	struct format_stats s;

	memcpy(payload, &written, sizeof(written));
	c.head.size = sizeof(written);
	check(reader_stats(&r, &c, &s) && !memcmp(&s, &written, sizeof(s)), "stats: as written");
	c.head.size = sizeof(payload);
	check(reader_stats(&r, &c, &s) && s.throttled == 7, "stats: of a later recorder");
	c.head.size = 240;
	check(reader_stats(&r, &c, &s) && s.dropped == 5 && s.damaged == 6 && !s.throttled,
	      "stats: of the first recorders, which knew of no throttling");
	c.head.size = 239;
	check(!reader_stats(&r, &c, &s) && r.damage.chunks == 1, "stats: too short");
}

/*
 * A disk that is full at any byte: blocks, then no more of them, but an end. The limit
 * of a file's size is an error like that of a full disk, and exact.
 */
static void test_full(void)
{
	struct format_state before = { .tsc = 1000000 }, after = { .tsc = 2000000 };
	struct format_stats stats = { .stream = a_stream(0) };
	static uint8_t bytes_there[1 << 16];
	unsigned int tried = 0, bad = 0, blocks, i;
	char path[] = "/tmp/memio-trace-test.XXXXXX";
	struct format_stream stream = a_stream(0);
	uint32_t block[BLOCK_WORDS];
	struct rlimit limit, old;
	struct reader_damage d;
	bool whole, foreign;
	struct writer w;
	ssize_t size;
	int fd = mkstemp(path), err;

	for (i = 0; i < BLOCK_WORDS; i++)
		block[i] = block_word(0, i);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	for (i = 2000; i < 4000; i += 13, tried++) {
		limit = (struct rlimit) { .rlim_cur = i, .rlim_max = old.rlim_max };
		setrlimit(RLIMIT_FSIZE, &limit);
		err = writer_open(&w, path, 1, "");
		for (blocks = 0; !err; blocks++)
			err = writer_data(&w, &stream, &before, &after, block, BLOCK_WORDS,
					  BLOCK_WORDS);
		bad += err != -EFBIG || !blocks;
		bad += writer_stats(&w, &stats) || writer_end(&w) || writer_close(&w);
		setrlimit(RLIMIT_FSIZE, &old);
		size = pread(fd, bytes_there, sizeof(bytes_there), 0);
		bad += !blocks_of(bytes_there, size, &whole, &foreign, &d) || !whole || foreign;
		bad += size > i;
	}
	close(fd);
	unlink(path);
	check(!bad, "file: a disk that is full, %u times at another byte, has whole files: %u not",
	      tried, bad);
}

/* ---- time ---- */

static void test_time(void)
{
	struct format_state s = { .clock_tsc = 1000000, .mono_ns = 500000 };

	check(stream_ns(&s, 2000000, 1002000) == 501000, "time: 2000 ticks of 2 GHz later");
	check(stream_ns(&s, 2000000, 998000) == 499000, "time: and before");
	s.clock_tsc = 1ull << 63;
	check(stream_ns(&s, 1000, (1ull << 63) + 3600000000ull) == 3600000000000ull + 500000,
	      "time: an hour of 1 MHz");
}

int main(int argc, char **argv)
{
	bool only_ring = argc > 1 && !strcmp(argv[1], "ring");

	setvbuf(stdout, NULL, _IOLBF, 0);
	codec = codec_new();
	if (!only_ring) {
		test_crc();
		test_codec();
		test_file();
		test_stats();
		test_full();
		test_time();
		test_ring_tail();
	}
	test_ring("at once", 0, 30000, false);
	test_ring("over the end of 32 bits", -100000u, 3000, false);
	test_ring("a lazy reader", 0, 10000, true);
	codec_free(codec);
	return failed > 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * memio trace bench: how well and how fast blocks are compressed here
 *
 * On three kinds of traces:
 *
 *	live	memory accesses of this program, timed by the TSC each 1, 10 or 100 of them,
 *		as an overflow of a counter with that period would: real times of a real
 *		machine, though of accesses and not of misses
 *	model	drawn from distributions, whose entropy is known: what no code can beat
 *	files	that memio trace record has written
 *
 * Beside each is what words of 16 bits would take, one, two or four for a difference:
 * the code of Larysch, Fine-Grained Estimation of Memory Bandwidth Utilization, section
 * 4.8. Rates are of processor time, so that others on the machine don't count, and
 * include checksums, but not the file.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "clock.h"
#include "codec.h"
#include "command.h"
#include "crc32c.h"
#include "random.h"
#include "reader.h"
#include "statistics.h"
#include "stream.h"
#include "trace.h"

#define WORDS		(4 * CODEC_WORDS)
#define LIVE_BYTES	(256u << 20)
#define LINE		64
#define ROUNDS		9

struct bench {
	struct codec *codec;
	uint32_t *words;	/* WORDS */
	uint32_t *again;
	uint8_t *coded;
	const char *dump;
	double seconds;		/* for each trace and direction */
};

static double cpu_s(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Bytes that a difference takes in words of 16 bits */
static size_t word16_bytes(uint32_t v)
{
	return v < 0x8000 ? 2 : v < 0x7fffffff ? 4 : 8;
}

static void dump(const struct bench *b, const char *name, size_t n)
{
	const char *slash = strrchr(name, '/');
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.u32", b->dump, slash ? slash + 1 : name);
	f = fopen(path, "w");
	if (!f || fwrite(b->words, 4, n, f) != n || fclose(f))
		complain_errno("%s", path);
}

/* Return: whether what came out was what went in. */
static bool measure(struct bench *b, const char *name, size_t n)
{
	double encode[ROUNDS], decode[ROUNDS], start, rounds;
	const size_t blocks = (n + CODEC_WORDS - 1) / CODEC_WORDS, bound = CODEC_BOUND(CODEC_WORDS);
	size_t size[WORDS / CODEC_WORDS], total = 0, word16 = 0, records = 0, small = 0, i, k;
	uint32_t *sorted = b->again;
	uint32_t middle, p99;
	volatile uint32_t sum;
	unsigned int round;

	if (!n)
		return true;
	if (b->dump)
		dump(b, name, n);
	for (i = 0; i < n; i++) {
		uint32_t v = b->words[i];

		if (v >= MEMIO_TRACE_ESCAPE) {	/* a marker: as it is */
			word16 += 4 + 4 * MEMIO_TRACE_LENGTH(v);
			i += MEMIO_TRACE_LENGTH(v);
			continue;
		}
		sorted[records++] = v;
		word16 += word16_bytes(v);
		small += v < 0x8000;
	}
	if (!records)
		return true;
	qsort(sorted, records, sizeof(*sorted), by_value);
	middle = sorted[records / 2];
	p99 = sorted[records - 1 - records / 100];

	for (round = 0; round < ROUNDS; round++) {
		rounds = 0;
		start = cpu_s();
		do {
			total = 0;
			for (k = 0; k < blocks; k++) {
				size_t at = k * CODEC_WORDS;
				size_t part = n - at < CODEC_WORDS ? n - at : CODEC_WORDS;

				size[k] = codec_encode(b->codec, b->words + at, part,
						       b->coded + k * bound);
				sum = crc32c(0, b->coded + k * bound, size[k]);
				total += size[k];
			}
			rounds++;
		} while (cpu_s() - start < b->seconds / ROUNDS);
		encode[round] = (cpu_s() - start) / rounds;

		rounds = 0;
		start = cpu_s();
		do {
			for (k = 0; k < blocks; k++) {
				size_t at = k * CODEC_WORDS;
				size_t part = n - at < CODEC_WORDS ? n - at : CODEC_WORDS;
				const char *wrong;

				sum = crc32c(0, b->coded + k * bound, size[k]);
				wrong = codec_decode(b->codec, b->coded + k * bound, size[k],
						     b->again + at, part);
				if (wrong) {
					complain("%s: %s", name, wrong);
					return false;
				}
			}
			rounds++;
		} while (cpu_s() - start < b->seconds / ROUNDS);
		decode[round] = (cpu_s() - start) / rounds;
	}
	(void)sum;
	if (memcmp(b->words, b->again, 4 * n)) {
		complain("%s: not what went in", name);
		return false;
	}
	printf("%-20s %8zu %9u %9u %7.2f %7.1f %7.1f %8.0f %8.0f\n", name, records, middle, p99,
	       100.0 * small / records, 25.0 * word16 / n, 25.0 * total / n,
	       records / median(encode, ROUNDS) / 1e6, records / median(decode, ROUNDS) / 1e6);
	return true;
}

/* ---- models ---- */

static uint64_t random_state;

static uint64_t random64(void)
{
	return random_next(&random_state);
}

/* In (0, 1] */
static double random01(void)
{
	return ((random64() >> 11) + 1) / 0x1p53;
}

static double exponential(double mean)
{
	return -mean * log(random01());
}

/* A sum of exponential ones: the time of as many misses at random */
static double gamma_of(unsigned int misses, double mean)
{
	double sum = 0;
	unsigned int i;

	for (i = 0; i < misses; i++)
		sum += exponential(mean / misses);
	return sum;
}

static size_t put_switch(uint32_t *to, uint32_t delta, uint32_t tid)
{
	struct memio_trace_switch s = {
		.delta = { delta },
		.tid = tid,
		.tgid = tid,
		.cgroup = { 4711 },
		.comm = "bench",
	};

	to[0] = MEMIO_TRACE_MARKER(MEMIO_TRACE_SWITCH, sizeof(s) / 4);
	memcpy(to + 1, &s, sizeof(s));
	return 1 + sizeof(s) / 4;
}

static bool models(struct bench *b)
{
	static const struct {
		const char *name;
		unsigned int misses;	/* for each record */
		double mean;
		unsigned int burst;	/* records of a phase; the next one is 16 times slower */
		unsigned int turn;	/* records between switches */
	} model[] = {
		{ "model-random-100", 1, 100, 0, 0 },
		{ "model-random-1000", 1, 1000, 0, 0 },
		{ "model-10-600", 10, 600, 0, 0 },
		{ "model-100-6000", 100, 6000, 0, 0 },
		{ "model-phases", 10, 200, 5000, 0 },
		{ "model-switches", 10, 600, 0, 1000 },
	};
	bool good = true;
	size_t i, n;

	for (i = 0; i < sizeof(model) / sizeof(*model); i++) {
		size_t records = 0;

		random_state = 1 + i;
		for (n = 0; n + 16 < WORDS; records++) {
			double mean = model[i].mean;

			if (model[i].burst && records / model[i].burst % 2)
				mean *= 16;
			/* No marker is cut by the end of a block. */
			if (model[i].turn && records % model[i].turn == 0 &&
			    n % CODEC_WORDS + 16 < CODEC_WORDS)
				n += put_switch(b->words + n, 1000 + records % 77,
						100 + records / model[i].turn % 3);
			b->words[n++] = gamma_of(model[i].misses, mean);
		}
		good &= measure(b, model[i].name, n);
	}
	return good;
}

/* ---- live ---- */

#ifdef __x86_64__
enum pattern { LINEAR, CHASE, GATHER, PHASES, KINDS };

static size_t time_accesses(struct bench *b, enum pattern kind, unsigned int period,
			    uint64_t *memory, volatile uint64_t *sink)
{
	const size_t lines = LIVE_BYTES / LINE, step = LINE / sizeof(*memory);
	uint64_t last = __rdtsc(), sum = 0;
	size_t at = 0, n;
	unsigned int k, spin;

	random_state = 88172645463325252ull;
	for (n = 0; n < WORDS; n++) {
		bool slow = kind == PHASES && n >> 12 & 1;
		uint64_t now;

		for (k = 0; k < period; k++) {
			if (kind == CHASE) {
				at = memory[at * step];
			} else if (kind == GATHER || slow) {
				sum += memory[random64() % lines * step];
				for (spin = slow ? random64() % 64 : 0; spin; spin--)
					sum = sum * 3 + spin;
			} else {
				sum += memory[at * step];
				at = at + 1 < lines ? at + 1 : 0;
			}
		}
		now = __rdtsc();
		b->words[n] = now - last < MEMIO_TRACE_ESCAPE ? now - last : MEMIO_TRACE_ESCAPE - 1;
		last = now;
	}
	*sink = sum + at;
	return n;
}

/* All lines in one circle, in an order that no prefetcher guesses */
static void link_lines(uint64_t *memory)
{
	const size_t lines = LIVE_BYTES / LINE, step = LINE / sizeof(*memory);
	size_t i, k;

	for (i = 0; i < lines; i++)
		memory[i * step] = i;
	for (i = lines - 1; i; i--) {
		uint64_t swap = memory[i * step];

		k = random64() % i;
		memory[i * step] = memory[k * step];
		memory[k * step] = swap;
	}
}

static bool live(struct bench *b)
{
	static const char *const names[] = { "linear", "chase", "gather", "phases" };
	static const unsigned int periods[] = { 1, 10, 100 };
	static volatile uint64_t sink;
	uint64_t *memory = mmap(NULL, LIVE_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	bool good = true;
	char name[40];
	unsigned int kind, p;

	if (memory == MAP_FAILED) {
		complain_errno("%u MB to read from", LIVE_BYTES >> 20);
		return false;
	}
	random_state = 1;
	link_lines(memory);
	for (kind = 0; kind < KINDS; kind++) {
		for (p = 0; p < 3; p++) {
			snprintf(name, sizeof(name), "live-%s-%u", names[kind], periods[p]);
			good &= measure(b, name, time_accesses(b, kind, periods[p], memory, &sink));
		}
	}
	munmap(memory, LIVE_BYTES);
	return good;
}
#else
static bool live(struct bench *b)
{
	(void)b;
	return true;
}
#endif

/* ---- files ---- */

static bool file(struct bench *b, const char *path)
{
	struct reader_chunk c;
	struct reader_block block;
	struct reader r;
	size_t n = 0;

	if (!reader_open(&r, path))
		return false;
	while (n + CODEC_WORDS <= WORDS && reader_next(&r, &c)) {
		if (c.head.type != FORMAT_DATA || !reader_block(&r, &c, &block))
			continue;
		memcpy(b->words + n, block.words, 4 * block.n);
		n += block.n;
		/* Blocks are cut where the next one would be: a short one is the last. */
		if (block.n < CODEC_WORDS - 32)
			break;
		while (n % CODEC_WORDS)
			b->words[n++] = 0;
	}
	reader_close(&r);
	return measure(b, path, n);
}

enum { OPT_SECONDS = 300, OPT_DUMP };

static const struct command_option options[] = {
	{ .id = OPT_SECONDS, .name = "seconds", .value = "S",
	  .help = "Take S seconds for each trace and direction [0.1]." },
	{ .id = OPT_DUMP, .name = "dump", .value = "DIR", .completes = COMPLETES_FILE,
	  .help = "Write the words as files into DIR, for other tools to measure." },
	{ }
};

static int cmd_bench(int argc, char **argv)
{
	struct options o;
	struct bench b = { .seconds = 0.1 };
	int opt, status = STATUS_OK;
	double load[3] = { 0 };
	bool good = true;

	options_begin(&o, argc, argv);
	while ((opt = options_get(&o, &status)) > 0) {
		switch (opt) {
		case OPT_SECONDS:
			if (!trace_number("--seconds", optarg, 0, 1000, &b.seconds))
				return STATUS_USAGE;
			break;
		case OPT_DUMP:
			b.dump = optarg;
			break;
		}
	}
	if (opt < 0)
		return status;
	b.codec = codec_new();
	b.words = calloc(WORDS, sizeof(*b.words));
	b.again = calloc(WORDS, sizeof(*b.again));
	b.coded = calloc(WORDS / CODEC_WORDS, CODEC_BOUND(CODEC_WORDS));
	if (!b.codec || !b.words || !b.again || !b.coded) {
		complain("no memory");
		status = STATUS_FAILED;
		goto out;
	}
	if (getloadavg(load, 3) > 0)
		printf("# load of the machine: %.2f\n", load[0]);
	printf("%-20s %8s %9s %9s %7s %7s %7s %8s %8s\n", "trace", "records", "median", "99 %",
	       "<2^15 %", "16bit %", "memio %", "enc M/s", "dec M/s");
	if (!o.argc) {
		good &= live(&b);
		good &= models(&b);
	}
	for (; o.argc; o.argc--, o.argv++)
		good &= file(&b, *o.argv);
	status = good ? STATUS_OK : STATUS_FAILED;
out:
	codec_free(b.codec);
	free(b.words);
	free(b.again);
	free(b.coded);
	return status;
}

const struct command trace_bench = {
	.name = "bench",
	.summary = "measure how well and how fast traces are compressed",
	.usage = "[OPTION...] [FILE...]",
	.about = "Compresses and decompresses the traces in FILEs. Without FILEs it takes memory accesses of its own, and random ones. Percentages are of the size of the 32-bit words. Rates are medians, in million records a second of processor time.",
	.option = options,
	.arguments = COMPLETES_FILE,
	.main = cmd_bench,
};

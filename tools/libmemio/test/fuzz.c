// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio's parsers on texts that are none
 *
 *	fuzz [-s SEED] [-n RUNS]	so many, made from texts that are; the same on every host
 *
 * With -DLIBFUZZER it is a target for libFuzzer (clang -fsanitize=fuzzer,address). Of each
 * text it is seen, besides that nothing is read beyond it, that keys can be printed, that
 * figures add up again (earlier + difference = later), and that a limit that was parsed is
 * parsed again from what the kernel would show.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <memio/memio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what)
{
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static void look_at(const struct memio_stat *s)
{
	const char *c;
	size_t i, j;

	for (i = 0; i < s->n; i++) {
		if (!*s->line[i].key || !s->line[i].has)
			fail("a line that is none");
		for (c = s->line[i].key; *c; c++)
			if (*c <= ' ' || *c > '~')
				fail("a key that can't be printed");
		for (c = s->line[i].alias; c && *c; c++)
			if (*c <= ' ' || *c > '~')
				fail("an alias that can't be printed");
		if (memio_stat_find(s, s->line[i].key) != &s->line[i])
			fail("a key that is there twice");
		for (j = 0; j < MEMIO_FIELDS_MOST; j++)
			if (!(s->line[i].has & 1u << j) && s->line[i].value[j])
				fail("a value that is not there");
	}
}

static void add_up(const struct memio_stat *a, const struct memio_stat *b)
{
	struct memio_stat d = { 0 };
	size_t i;
	int f;

	if (memio_stat_diff(a, b, &d))
		fail("no memory");
	look_at(&d);
	if (d.n != b->n)
		fail("a difference has other lines");
	for (i = 0; i < d.n; i++) {
		const struct memio_line *then = memio_stat_find(a, d.line[i].key);

		for (f = 0; f <= MEMIO_MEM_WRITE_MAX; f++) {
			const uint64_t was = memio_get(then, f), is = memio_get(&b->line[i], f);
			const bool anew = d.line[i].anew & 1u << f;

			if (anew != (is < was && memio_has(&b->line[i], f)))
				fail("a counter that began anew");
			if (memio_has(&b->line[i], f) &&
			    memio_get(&d.line[i], f) + (anew ? 0 : was) != is)
				fail("a difference");
		}
	}
	memio_stat_free(&d);
}

static void limits(const char *text)
{
	struct memio_limits l = { 0 }, again = { 0 };
	char shown[65536] = "";
	const char *bad;
	size_t i, n = 0;
	int way;

	if (memio_limits_add(&l, text, &bad) && (bad < text || bad > text + strlen(text)))
		fail("a fault that is elsewhere");
	for (i = 0; i < l.n && n < sizeof(shown) - 200; i++) {
		n += sprintf(shown + n, "%s", l.limit[i].key);
		for (way = 0; way < MEMIO_WAYS; way++) {
			if (l.limit[i].rate[way] >= MEMIO_RATE_KEEP)
				l.limit[i].rate[way] = MEMIO_RATE_MAX;
			else if (!l.limit[i].rate[way] || l.limit[i].rate[way] > MEMIO_RATE_MOST)
				fail("a rate out of range");
			if (l.limit[i].rate[way] == MEMIO_RATE_MAX)
				n += sprintf(shown + n, " %s=max", memio_way_name(way));
			else
				n += sprintf(shown + n, " %s=%" PRIu64, memio_way_name(way),
					     l.limit[i].rate[way]);
		}
		n += sprintf(shown + n, "\n");
	}
	memio_limits_parse(&again, shown, n);
	for (i = 0; i < again.n; i++) {
		const struct memio_limit *was = memio_limits_find(&l, again.limit[i].key);

		for (way = 0; way < MEMIO_WAYS; way++) {
			uint64_t is = again.limit[i].rate[way];

			if (!was || was->rate[way] != is)
				fail("a limit that comes back as another");
		}
	}
	memio_limits_free(&l);
	memio_limits_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of exactly that size, so that a read beyond it is seen */
	char *text = malloc(size), *string = malloc(size + 1);
	static struct memio_stat then;
	struct memio_stat now = { 0 };
	struct memio_membw b = { 0 };
	struct memio_flat f = { 0 };
	struct memio_limits l = { 0 };

	if (!text || !string)
		abort();
	memcpy(text, data, size);
	memcpy(string, data, size);
	string[size] = '\0';
	if (memio_stat_parse(&now, text, size) || memio_membw_parse(&b, text, size) ||
	    memio_flat_parse(&f, text, size) || memio_limits_parse(&l, text, size))
		fail("no memory");
	look_at(&now);
	look_at(&b.stat);
	if (!then.room)
		memio_stat_parse(&then, "total io_to=5 io_from=9\n0000:00:03.0 io_to=66\n", 46);
	add_up(&then, &now);
	add_up(&now, &b.stat);
	add_up(&now, &now);
	limits(string);
	memio_stat_free(&now);
	memio_membw_free(&b);
	memio_flat_free(&f);
	memio_limits_free(&l);
	free(text);
	free(string);
	return 0;
}

#ifndef LIBFUZZER
static uint64_t state;

/* splitmix64 */
static uint64_t number(uint64_t below)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % below;
}

static const char *const texts[] = {
	"0000:00:03.0 alias=nvme0n1,259:0 io_to=609024280 io_from=1677791360 mem_read=302719543 mem_write=1535184341 unpriced=0 unclaimed_to=-64\n"
	"cpu mem_read=1 mem_write=2 valid=1\ntotal io_to=609024280 io_from=1677791360\n",
	"source hsx\nestimator device\nvalid 1\nwindow_us 102673\nupdated_ns 16769403088\n\n0000:00:03.0 alias=a,b io_to=1 io_to_bps=2\n",
	"total bps=200000000\n0000:00:04.0 rbps=max wbps=50000000\n",
	"no_slot 0\nthrottled 117\ntotal throttled=17\nsome avg10=0.00 avg60=1.20 total=99\n",
	"total=200M,eth0.wbps=50Mi,0000:00:03.0=1.5G,io.rbps=max",
	"accounting on\nio ok\ncpu held\n0000:00:03.0 warming\n",
};

static const char *const bits[] = {
	"=", " ", "\n", "\n\n", "18446744073709551615", "18446744073709551616", "-", "-9223372036854775808",
	"9223372036854775808", "io_to=", "alias=", "total", ".wbps=", ",", "max", "Gi", "1125899906842624",
	"\t", "\r", "\0", "\377", "\033[2J",
};

static void change(uint8_t *text, size_t *n, size_t room)
{
	const size_t at = number(*n + 1), length = number(20);
	const char *bit;
	size_t k;

	switch (number(6)) {
	case 0:				/* a byte */
		if (at < *n)
			text[at] = number(256);
		return;
	case 1:				/* some of it goes */
		k = at + length < *n ? length : *n - at;
		memmove(text + at, text + at + k, *n - at - k);
		*n -= k;
		return;
	case 2:				/* it ends here */
		*n = at;
		return;
	case 3:				/* some of it comes twice */
		k = at + length < *n ? length : *n - at;
		if (*n + k > room)
			return;
		memmove(text + at + k, text + at, *n - at);
		*n += k;
		return;
	default:			/* something that means something */
		bit = bits[number(sizeof(bits) / sizeof(*bits))];
		k = *bit ? strlen(bit) : 1;
		if (*n + k > room)
			return;
		memmove(text + at + k, text + at, *n - at);
		memcpy(text + at, bit, k);
		*n += k;
	}
}

int main(int argc, char **argv)
{
	unsigned long runs = 100000, i;
	static uint8_t text[8192];
	int opt;

	while ((opt = getopt(argc, argv, "s:n:")) != -1) {
		if (opt == 's')
			state = strtoull(optarg, NULL, 0);
		else if (opt == 'n')
			runs = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	for (i = 0; i < runs; i++) {
		const char *from = texts[number(sizeof(texts) / sizeof(*texts))];
		uint64_t changes = 1 + number(8);
		size_t n = strlen(from);

		memcpy(text, from, n);
		while (changes--)
			change(text, &n, sizeof(text));
		LLVMFuzzerTestOneInput(text, n);
	}
	printf("%lu texts, and nothing was wrong\n", runs);
	return 0;
}
#endif

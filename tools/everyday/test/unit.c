// SPDX-License-Identifier: GPL-2.0
/* memio doctor --watch: sums, histograms, and when memio's figure can't be right */
#include <stdio.h>
#include <string.h>

#include "../controllers.h"
#include "../watch.h"

static int n;

static void same(const char *what, double got, double wanted)
{
	printf("%sok %d - %s\n", got == wanted ? "" : "not ", ++n, what);
	if (got != wanted)
		printf("# got %.17g, wanted %.17g\n", got, wanted);
}

/* No machine is here. */
struct controllers *controllers_open(char *why, size_t size)
{
	snprintf(why, size, "none");
	return NULL;
}

bool controllers_read(struct controllers *c, uint64_t *read, uint64_t *write)
{
	(void)c;
	*read = *write = 0;
	return false;
}

void controllers_close(struct controllers *c)
{
	(void)c;
}

static struct memio_line second(uint64_t read, uint64_t least, uint64_t write)
{
	struct memio_line l = { .has = 1u << MEMIO_MEM_READ | 1u << MEMIO_MEM_READ_MIN |
				       1u << MEMIO_MEM_WRITE };

	l.value[MEMIO_MEM_READ] = read;
	l.value[MEMIO_MEM_READ_MIN] = least;
	l.value[MEMIO_MEM_WRITE] = write;
	return l;
}

int main(void)
{
	struct watch w = { 0 };
	struct memio_line l = second(90000000, 80000000, 500000);
	json_t *j, *read;

	watch_second(&w, &l, true, 100000000, 1000000);
	same("read: memio's bound is below what was counted", watch_over(&w.read), 0);
	same("... 64 to 127 MB/s", w.read.rates[7], 1);
	same("... of which memio explains 90 %", w.read.shares[9], 1);
	same("written: without bounds, the figure is both", w.write.least + w.write.most, 1000000);
	same("... below 1 MB/s", w.write.rates[0], 1);

	/* While others hold the counters, memio's bytes are compared with nothing. */
	l = second(4000000000, 4000000000, 0);
	watch_second(&w, &l, false, 0, 0);
	same("a second that nobody counted", watch_over(&w.read), 0);
	same("... is memio's", w.read.bytes, 4090000000);
	same("... two seconds, one of them counted", w.seconds * 10 + w.counted, 21);

	/* 2 % of 200 MB, and 256 KiB for what is read one after the other */
	l = second(124000000, 124000000, 0);
	watch_second(&w, &l, true, 100000000, 0);
	same("204 MB for sure, of 200 that were counted", watch_over(&w.read), 0);
	l = second(500000, 500000, 0);
	watch_second(&w, &l, true, 0, 0);
	same("... and 500 KB: a fault", watch_over(&w.read), 1);
	same("... which is none of the other direction", watch_over(&w.write), 0);

	l = second(3000000, 3000000, 1ull << 60);
	watch_second(&w, &l, true, 1000000, 1000000);
	same("three times what was counted is in the last row", w.read.shares[WATCH_SHARES - 1], 1);
	same("... and so is more than any memory moves", w.write.rates[WATCH_RATES - 1], 1);
	j = watch_json(&w);
	read = json_object_get(j, "read");
	same("the report has what the controllers counted",
	     json_integer_value(json_object_get(read, "controllers_bytes")), 201000000);
	json_decref(j);
	printf("1..%d\n", n);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* memio: tests of bounds.c */

#include <kunit/test.h>

#include "bounds.h"

#define ONE	MEMIO_PRICE_ONE
#define BOXES	8
#define SECOND	100		/* windows */
#define DIRTIED	(MEMIO_COUNTS(MEMIO_WRITES, MEMIO_DIRTIED) |	\
		 MEMIO_COUNTS(MEMIO_PARTIALS, MEMIO_DIRTIED))

/**
 * struct device - a device of the world
 * @waiting:	lines that it has moved and that are not accounted
 * @late:	some of them are of the window before
 * @io:		bytes of lines accounted in this second
 * @cost:	what lines moved in it cost
 * @least:	the least that those accounted cost, by the bounds
 * @most:	the most
 */
struct device {
	u64 waiting;
	bool late;
	u64 io;
	u64 cost;
	u64 least;
	u64 most;
};

/**
 * struct world - a package, of which all is known
 * @b:		what is tested
 * @out:	its last result
 * @agrees:	likewise
 * @can:	what is counted
 * @reads:	devices read memory; else they write it
 * @seen:	the window
 * @by_box:	likewise
 * @dev:	devices: two, and one that is not accounted
 * @seed:	of what is random
 */
struct world {
	struct memio_bounding b;
	struct memio_bounds out;
	bool agrees;
	unsigned long can;
	bool reads;
	struct memio_seen seen;
	struct memio_by_box by_box[MEMIO_GROUPS];
	struct device dev[3];
	u64 seed;
};

static u32 any(struct world *w, u32 below)
{
	w->seed = w->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (w->seed >> 33) % below;
}

static struct world *new_world(struct kunit *test, bool reads)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	memio_bounds_init(&w->b);
	w->can = DIRTIED;
	w->reads = reads;
	w->seed = 1;
	return w;
}

/* A line that goes through a box, of which three in turn look for each kind of request */
static void line(struct world *w, u32 box, bool cost)
{
	enum memio_box_group g = box % MEMIO_GROUPS;
	u32 i = box / MEMIO_GROUPS;

	w->seen.dram_read += cost && w->reads;
	w->seen.dram_write += cost && !w->reads;
	if (w->reads ? g == MEMIO_READS : g == MEMIO_WRITES) {
		w->seen.lines[g][MEMIO_ALL]++;
		w->by_box[g].all[i]++;
		w->seen.lines[g][MEMIO_MISSES] += cost;
		w->by_box[g].misses[i] += cost;
	}
	if (!w->reads && g != MEMIO_READS) {
		w->seen.lines[g][MEMIO_DIRTIED] += cost;
		w->by_box[g].dirtied[i] += cost;
	}
}

static void lines(struct world *w, struct device *d, u32 n, u32 permille)
{
	bool cost;

	while (n--) {
		cost = any(w, 1000) < permille;
		line(w, any(w, BOXES), cost);
		d->cost += MEMIO_LINE_BYTES * cost;
		d->waiting++;
	}
}

/* What lies in a window becomes bounds, and what is accounted in it has them. */
static void end_window(struct world *w, bool all)
{
	static const u16 places[MEMIO_LEARNT] = { 0, 7, 9 };
	struct memio_moved moved[2] = { { .dev = 7 }, { .dev = 9 } };
	enum memio_bound_kind kind = w->reads ? MEMIO_BOUND_TO_READ : MEMIO_BOUND_FROM_WRITE;
	struct memio_span span;
	u64 bytes;

	w->seen.total = BOXES;
	for (int g = 0; g < MEMIO_GROUPS; g++) {
		w->seen.boxes[g] = (BOXES + MEMIO_GROUPS - 1 - g) / MEMIO_GROUPS;
		w->by_box[g].nr = w->seen.boxes[g];
	}
	for (int i = 0; i < 2; i++) {
		w->dev[i].late = !all && !w->dev[i].late && any(w, 2);
		if (w->dev[i].late)
			continue;
		*(w->reads ? &moved[i].to : &moved[i].from) =
			MEMIO_LINE_BYTES * w->dev[i].waiting;
		w->dev[i].waiting = 0;
	}
	w->agrees = memio_bounds_window(&w->b, w->can, &w->seen, w->by_box, places, moved, 2,
					&w->out);
	for (int i = 0; i < 2; i++) {
		bytes = moved[i].to + moved[i].from;
		memio_bounds_of(&w->out, moved[i].dev, kind, &span);
		w->dev[i].io += bytes;
		w->dev[i].least += mul_u64_u32_shr(bytes, span.least, MEMIO_PRICE_SHIFT);
		w->dev[i].most += mul_u64_u32_shr(bytes, span.most, MEMIO_PRICE_SHIFT);
	}
	memset(&w->seen, 0, sizeof(w->seen));
	memset(w->by_box, 0, sizeof(w->by_box));
}

static void begin(struct world *w)
{
	memset(w->dev, 0, sizeof(w->dev));
}

/* A second, in which windows have so many lines of each device, or a part of them */
static void second(struct world *w, u32 a, u32 a_permille, u32 b, u32 b_permille)
{
	begin(w);
	for (int i = 0; i < SECOND; i++) {
		lines(w, &w->dev[0], a ? a / 2 + any(w, a) : 0, a_permille);
		lines(w, &w->dev[1], b ? b / 2 + any(w, b) : 0, b_permille);
		end_window(w, i == SECOND - 1);
	}
}

/* What the first device cost is between its bounds, which are so far apart at most. */
static void expect(struct kunit *test, const struct world *w, int i, u32 width_permille)
{
	const struct device *d = &w->dev[i];

	KUNIT_EXPECT_LE(test, d->least, d->cost);
	KUNIT_EXPECT_GE(test, d->most, d->cost);
	KUNIT_EXPECT_LE(test, (d->most - d->least) * 1000, d->io * width_permille);
}

static void a_device_alone(struct kunit *test)
{
	static const u32 prices[] = { 0, 3, 100, 500, 900, 997, 1000 };

	for (int reads = 0; reads < 2; reads++) {
		struct world *w = new_world(test, reads);

		for (int i = 0; i < ARRAY_SIZE(prices); i++) {
			/* the second of the change, and one after it */
			second(w, 2000, prices[i], 0, 0);
			expect(test, w, 0, 250);
			second(w, 2000, prices[i], 0, 0);
			expect(test, w, 0, 100);
			KUNIT_EXPECT_TRUE(test, w->agrees);
		}
	}
}

static void few_lines(struct kunit *test)
{
	struct world *w = new_world(test, false);

	for (int i = 0; i < 5; i++) {
		second(w, 100, 300, 0, 0);
		expect(test, w, 0, 350);
	}
}

/* Each window costs everything or nothing. */
static void it_changes_all_the_time(struct kunit *test)
{
	struct world *w = new_world(test, false);

	for (int n = 0; n < 5; n++) {
		begin(w);
		for (int i = 0; i < SECOND; i++) {
			lines(w, &w->dev[0], 1000, any(w, 3) ? 0 : 1000);
			end_window(w, i == SECOND - 1);
		}
		expect(test, w, 0, 1000);
	}
}

static void two_that_cost_alike(struct kunit *test)
{
	struct world *w = new_world(test, false);

	second(w, 1000, 1000, 1000, 1000);
	second(w, 1000, 1000, 1000, 1000);
	expect(test, w, 0, 100);
	expect(test, w, 1, 100);
	second(w, 1000, 0, 1000, 0);
	second(w, 1000, 0, 1000, 0);
	expect(test, w, 0, 100);
	expect(test, w, 1, 100);
}

/* One costs nothing and the other all: with half of the lines each nobody can tell. */
static void two_that_do_not(struct kunit *test)
{
	struct world *w = new_world(test, false);

	/* The first to be accounted seems to be alone, for a window. */
	second(w, 1000, 0, 1000, 1000);
	for (int i = 0; i < 3; i++) {
		second(w, 1000, 0, 1000, 1000);
		expect(test, w, 0, 1100);
		expect(test, w, 1, 1100);
	}
	KUNIT_EXPECT_GE(test, w->dev[0].most, w->dev[0].io / 2);
	/* As one has a tenth only, most of the other's are known. */
	for (int i = 0; i < 3; i++)
		second(w, 200, 0, 1800, 1000);
	expect(test, w, 0, 1100);
	expect(test, w, 1, 250);
	/* In turns, each alone */
	for (int i = 0; i < 3; i++) {
		second(w, 2000, 0, 0, 0);
		expect(test, w, 0, 300);
		second(w, 0, 0, 2000, 1000);
		expect(test, w, 1, 300);
	}
}

/* A third device, that nobody accounts */
static void beside(struct kunit *test)
{
	struct world *w = new_world(test, true);

	for (int n = 0; n < 3; n++) {
		begin(w);
		for (int i = 0; i < SECOND; i++) {
			lines(w, &w->dev[0], 1000, 900);
			lines(w, &w->dev[2], 500, n == 1 ? 1000 : 0);
			end_window(w, i == SECOND - 1);
		}
		expect(test, w, 0, 1000);
		KUNIT_EXPECT_TRUE(test, w->agrees);
	}
	/* All of its lines may have been caused by the first one's IO. */
	KUNIT_EXPECT_GE(test, w->b.to.all, w->b.to.io * 14 / 10);
}

/* One box has a line that is looked at again and again, and misses. */
static void a_box_of_its_own(struct kunit *test)
{
	struct world *w = new_world(test, true);

	for (int n = 0; n < 3; n++) {
		begin(w);
		for (int i = 0; i < SECOND; i++) {
			lines(w, &w->dev[0], 200, 1000);
			for (int k = 0; k < 50; k++) {
				line(w, 0, true);
				w->dev[0].cost += MEMIO_LINE_BYTES;
			}
			end_window(w, i == SECOND - 1);
		}
	}
	expect(test, w, 0, 2000);
	KUNIT_EXPECT_TRUE(test, w->agrees);
	for (int i = 0; i < SECOND; i++) {
		for (int k = 0; k < 5000; k++)
			line(w, 0, true);
		end_window(w, false);
	}
	KUNIT_EXPECT_FALSE(test, w->agrees);
}

/* What makes lines dirty is not counted; what the DRAM writes is, or isn't. */
static void without_dirtied(struct kunit *test)
{
	struct world *w = new_world(test, false);

	w->can = 0;
	for (int n = 0; n < 4; n++) {
		begin(w);
		for (int i = 0; i < SECOND; i++) {
			lines(w, &w->dev[0], 5000, 0);
			w->seen.dram = n > 1;
			w->seen.cache = 256U << 10;
			end_window(w, i == SECOND - 1);
		}
		expect(test, w, 0, n < 3 ? 1001 : 350);
	}
	KUNIT_EXPECT_LE(test, w->dev[0].most, 8ULL << 20);
}

/* Caches take all that a device writes before they write any of it back. */
static void lines_stay_in_caches(struct kunit *test)
{
	struct world *w = new_world(test, false);
	u32 dirty = 0;

	w->can = 0;
	begin(w);
	for (int i = 0; i < SECOND; i++) {
		u32 n = i < 10 ? 0 : 5000, room = (8U << 20) / MEMIO_LINE_BYTES - dirty;

		lines(w, &w->dev[0], n, 1000);
		dirty += min(n, room);
		w->seen.dram_write = n - min(n, room);
		w->seen.dram = true;
		w->seen.cache = 8U << 20;
		end_window(w, i == SECOND - 1);
	}
	expect(test, w, 0, 1000);
}

/* Some windows have no count of what the DRAM wrote. */
static void windows_without_dram(struct kunit *test)
{
	struct world *w = new_world(test, false);

	w->can = 0;
	begin(w);
	for (int i = 0; i < SECOND; i++) {
		lines(w, &w->dev[0], 5000, 1000);
		w->seen.dram = i % 2;
		w->seen.cache = 64U << 10;
		if (!w->seen.dram)
			w->seen.dram_write = 0;
		end_window(w, i == SECOND - 1);
	}
	expect(test, w, 0, 1000);
}

/* Reads that the memory did not have */
static void more_than_there_was(struct kunit *test)
{
	struct world *w = new_world(test, true);

	for (int i = 0; i < 50; i++) {
		lines(w, &w->dev[0], 2000, 1000);
		w->seen.dram = true;
		w->seen.cache = 1U << 20;
		end_window(w, false);
		KUNIT_EXPECT_TRUE(test, w->agrees);
	}
	lines(w, &w->dev[0], 30000, 1000);
	w->seen.dram = true;
	w->seen.cache = 1U << 20;
	w->seen.dram_read = 0;
	end_window(w, false);
	KUNIT_EXPECT_FALSE(test, w->agrees);
	/* Another package's memory may have had them. */
	for (int i = 0; i < 50; i++) {
		lines(w, &w->dev[0], 30000, 1000);
		w->seen.dram = true;
		w->seen.dram_read = 0;
		end_window(w, false);
	}
	KUNIT_EXPECT_TRUE(test, w->agrees);
}

/* Counts that stay 0, and one that runs backwards */
static void counters_that_lie(struct kunit *test)
{
	struct world *w = new_world(test, true);
	struct memio_span span;

	for (int i = 0; i < 50; i++) {
		lines(w, &w->dev[0], 3000, 500);
		end_window(w, false);
	}
	KUNIT_EXPECT_TRUE(test, w->agrees);
	for (int i = 0; i < 2; i++) {
		lines(w, &w->dev[0], 3000, 500);
		memset(&w->seen, 0, sizeof(w->seen));
		memset(w->by_box, 0, sizeof(w->by_box));
		end_window(w, true);
	}
	KUNIT_EXPECT_FALSE(test, w->agrees);
	for (int i = 0; i < 6; i++) {
		lines(w, &w->dev[0], 3000, 500);
		memset(&w->seen, 0, sizeof(w->seen));
		memset(w->by_box, 0, sizeof(w->by_box));
		end_window(w, true);
		KUNIT_EXPECT_FALSE(test, w->agrees);
	}
	/* Some of what is accounted now was counted, and half of that cost something. */
	memio_bounds_of(&w->out, 7, MEMIO_BOUND_TO_READ, &span);
	KUNIT_EXPECT_LT(test, span.least, ONE / 2);
	KUNIT_EXPECT_GT(test, span.most, ONE / 2);

	memio_bounds_init(&w->b);
	for (int i = 0; i < 50; i++) {
		lines(w, &w->dev[0], 3000, 500);
		end_window(w, true);
	}
	KUNIT_EXPECT_TRUE(test, w->agrees);
	lines(w, &w->dev[0], 3000, 500);
	w->seen.lines[MEMIO_READS][MEMIO_ALL] = 64ULL << 20;
	end_window(w, true);
	KUNIT_EXPECT_FALSE(test, w->agrees);
}

/* A count that runs backwards in one window, which is left out, and no longer than that in doubt */
static void a_count_runs_backwards(struct kunit *test)
{
	struct world *w = new_world(test, true);
	int i;

	for (i = 0; i < 50; i++) {
		lines(w, &w->dev[0], 3000, 500);
		KUNIT_EXPECT_TRUE(test, memio_seen_possible(&w->seen, NSEC_PER_SEC / 100));
		end_window(w, true);
	}
	KUNIT_EXPECT_TRUE(test, w->agrees);

	w->seen.lines[MEMIO_READS][MEMIO_MISSES] = (1ULL << 36) - 1000;
	KUNIT_EXPECT_FALSE(test, memio_seen_possible(&w->seen, NSEC_PER_SEC / 100));
	w->seen.lines[MEMIO_READS][MEMIO_MISSES] = 0;
	w->seen.dram_write = (1ULL << 48) - 1000;
	KUNIT_EXPECT_FALSE(test, memio_seen_possible(&w->seen, NSEC_PER_SEC / 100));
	w->seen.dram_write = 0;
	memio_bounds_doubt(&w->b);

	for (i = 0; i < 50; i++) {
		lines(w, &w->dev[0], 3000, 500);
		end_window(w, true);
		KUNIT_EXPECT_EQ(test, w->agrees, i >= 31);
	}
}

/* A burst ends: what is accounted then was counted before. */
static void the_end_of_a_burst(struct kunit *test)
{
	struct world *w = new_world(test, false);

	for (int n = 0; n < 20; n++) {
		for (int i = 0; i < 10; i++) {
			lines(w, &w->dev[0], 8000, 500);
			end_window(w, false);
			KUNIT_EXPECT_TRUE(test, w->agrees);
		}
		for (int i = 0; i < 10; i++) {
			end_window(w, false);
			KUNIT_EXPECT_TRUE(test, w->agrees);
		}
	}
}

/* More misses than lines: they are not of the same. */
static void more_misses_than_lines(struct kunit *test)
{
	struct world *w = new_world(test, true);

	for (int i = 0; i < 20; i++) {
		lines(w, &w->dev[0], 4000, 500);
		w->seen.lines[MEMIO_READS][MEMIO_MISSES] *= 4;
		end_window(w, true);
	}
	KUNIT_EXPECT_FALSE(test, w->agrees);
}

static void after_a_pause(struct kunit *test)
{
	struct world *w = new_world(test, false);

	second(w, 2000, 1000, 0, 0);
	for (int n = 0; n < 4; n++) {
		for (int i = 0; i < 30; i++)
			end_window(w, true);
		second(w, 2000, n % 2 ? 1000 : 0, 0, 0);
		expect(test, w, 0, 150);
	}
}

static void nothing_is_known(struct kunit *test)
{
	struct world *w = new_world(test, false);
	struct memio_span span;

	end_window(w, true);
	memio_bounds_of(&w->out, 7, MEMIO_BOUND_FROM_WRITE, &span);
	KUNIT_EXPECT_EQ(test, span.least, 0);
	KUNIT_EXPECT_GE(test, span.most, ONE);
	memio_bounds_of(&w->out, 8, MEMIO_BOUND_FROM_WRITE, &span);
	KUNIT_EXPECT_EQ(test, span.least, 0);
	KUNIT_EXPECT_GE(test, span.most, ONE);
}

static void shares(struct kunit *test)
{
	struct memio_span s = { ONE * 9 / 10, ONE * 95 / 100 };

	memio_span_share(&s, 100, 100);
	KUNIT_EXPECT_EQ(test, s.least, ONE * 9 / 10);
	memio_span_share(&s, 50, 100);
	KUNIT_EXPECT_LE(test, s.least, ONE * 8 / 10);
	KUNIT_EXPECT_GE(test, s.least, ONE * 8 / 10 - 4);
	KUNIT_EXPECT_EQ(test, s.most, ONE);

	s = (struct memio_span){ ONE / 10, ONE / 5 };
	memio_span_share(&s, 50, 100);
	KUNIT_EXPECT_EQ(test, s.least, 0);
	KUNIT_EXPECT_GE(test, s.most, ONE * 2 / 5);
	KUNIT_EXPECT_LE(test, s.most, ONE * 2 / 5 + 4);
	/* What is beside may be another's, too. */
	s = (struct memio_span){ ONE, ONE * 3 / 2 };
	memio_span_share(&s, 1, 100);
	KUNIT_EXPECT_LE(test, s.least, ONE);
	KUNIT_EXPECT_EQ(test, s.most, ONE * 3 / 2);
	memio_span_share(&s, 0, 100);
	KUNIT_EXPECT_EQ(test, s.most, ONE * 3 / 2);
}

static struct kunit_case bounds_cases[] = {
	KUNIT_CASE(a_device_alone),
	KUNIT_CASE(few_lines),
	KUNIT_CASE(it_changes_all_the_time),
	KUNIT_CASE(two_that_cost_alike),
	KUNIT_CASE(two_that_do_not),
	KUNIT_CASE(beside),
	KUNIT_CASE(a_box_of_its_own),
	KUNIT_CASE(without_dirtied),
	KUNIT_CASE(lines_stay_in_caches),
	KUNIT_CASE(windows_without_dram),
	KUNIT_CASE(more_than_there_was),
	KUNIT_CASE(counters_that_lie),
	KUNIT_CASE(a_count_runs_backwards),
	KUNIT_CASE(the_end_of_a_burst),
	KUNIT_CASE(more_misses_than_lines),
	KUNIT_CASE(after_a_pause),
	KUNIT_CASE(nothing_is_known),
	KUNIT_CASE(shares),
	{}
};

static struct kunit_suite bounds_suite = {
	.name = "memio_bounds",
	.test_cases = bounds_cases,
};

kunit_test_suite(bounds_suite);

MODULE_DESCRIPTION("KUnit tests of memio's bounds");
MODULE_LICENSE("GPL");

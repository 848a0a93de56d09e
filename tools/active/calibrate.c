// SPDX-License-Identifier: GPL-2.0
/*
 * Calibration: how much interferers leave
 *
 *	bandwidth	STREAM's triad on all cores, the command's among them, as it does not
 *			run yet, says how much there is; the misses of BWThr (equation 1), how
 *			much they take
 *	storage		the probabilistic benchmark runs beside 0, 1, ... CSThr, with several
 *			distributions and buffers larger than the cache; from its hits follows
 *			the cache that it had (model.h, LRU). The mean over all is taken, and
 *			their spread says how far it can be relied on.
 *	each other	one BWThr beside CSThr, and the other way round (figures 7 and 8):
 *			who misses more often then is robbed of what the other is not to touch;
 *			and CSThr that miss much themselves take bandwidth
 *
 * Bandwidth is what the memory moves, to it and from it, as all of it is taken from others. The
 * paper counts what programs ask for: 64 bytes for a miss of a BWThr, which dirties its lines,
 * so that 128 move; 24 for what STREAM does to an element, where 32 move, as it stores to lines
 * that are read before. What is left would be a difference of different things then.
 * Where a processor writes whole lines without reading them, STREAM moves as much as it
 * counts, and what there is comes out a third too large: a counter of the memory controller
 * would tell, but not all machines have one that anybody may read.
 *
 * A distribution of which nearly all reads hit says little about the cache: at 97 %, one
 * percent more or less is a third of the cache. Those above 90 % don't count.
 *
 * Without counters a read's time tells hits from misses: with h of reads hitting, it is
 * h times that of a read from the cache and 1 - h times that of one from memory, both
 * measured before, alone. A neighbour who makes memory slower looks like one who takes
 * cache then, and BWThr is taken to miss each time. What a read takes depends on more than
 * that (the TLB, other machines' shares of a cache): alone it has all of the cache, so
 * what it seems to have alone is the unit in which what interferers leave is told. So it
 * is done, too, where others want the counters, and they turn out not to count all the time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../json/json.h"
#include "active.h"
#include "command.h"
#include "mark.h"
#include "random.h"

#define CHUNKS		32
#define SIZES		8
#define TOO_SURE	0.9
#define WINDOW_NS	2e8
/* Who is late makes up for a tenth of a second: no more than a tenth of what is seen */
#define PACED_NS	1e9
/* What reads take, more or less: of steps that are told of, how long they are among others */
#define HIT_NS		20
#define MISS_NS		80
/* To have the memory for a line */
#define FILL_NS		20

/* Buffers, in last caches: the paper's 30 to 74 MB of 20 */
static const double paper[SIZES] = { 1.5, 1.8, 2.1, 2.4, 2.7, 3.0, 3.35, 3.7 };
static const double some[] = { 1.5, 2.4, 3.7 };
static const double one[] = { 2 };

static bool is_quick(const struct distribution *d)
{
	return d->shape == UNIFORM || !strcmp(d->name, "Norm 4") || !strcmp(d->name, "Exp 4") ||
	       !strcmp(d->name, "Tri 2");
}

/* --mark: another instrument looks, from another CPU */
static void mark(const struct active *a, const struct read_times *t, const char *when)
{
	/* What a read takes is found out before anything is measured. */
	if (a->mark && (!t || t->known))
		mark_run(a->mark, when, a->at.interferer[a->at.interferers - 1], a->json);
}

/* Reads of a pattern: so many are to come, and were done */
struct reading {
	const struct pattern *p;
	const char *buffer;
	uint64_t state, all, done;
	unsigned int additions;
	struct progress *said;
	double before;		/* the part of the step that was done before */
};

/*
 * In chunks, of which the one in the middle tells the time of a read: what somebody else did
 * on this CPU, or an interrupt, is in others.
 */
static bool reads(struct reading *r, uint64_t n, double *ns)
{
	double took[CHUNKS];
	unsigned int i;

	for (i = 0; i < CHUNKS; i++) {
		const double begin = thread_ns();

		if (interrupted)
			return false;
		active_probe(r->p, r->buffer, &r->state, n / CHUNKS, r->additions);
		took[i] = (thread_ns() - begin) / (n / CHUNKS);
		r->done += n / CHUNKS;
		progress_part(r->said, r->before + (1 - r->before) * r->done / r->all);
	}
	*ns = median(took, CHUNKS);
	return true;
}

static uint64_t reads_before(const struct active *a, const struct pattern *p)
{
	return reads_to_warm_up(p, a->at.bytes[LLC]) / CHUNKS * CHUNKS;
}

/* One of each line, on the average, is measured. */
static uint64_t reads_measured(const struct pattern *p)
{
	return p->bytes / LINE_BYTES / CHUNKS * CHUNKS;
}

static double fill_cost(const struct pattern *p)
{
	return (double)p->bytes / LINE_BYTES * FILL_NS;
}

/* What probe() takes, more or less */
static double probe_cost(const struct active *a, const struct pattern *p)
{
	const double misses = fmax(0, 1 - (double)a->at.bytes[LLC] / p->bytes);

	return fill_cost(p) + (reads_before(a, p) + reads_measured(p)) *
			      (HIT_NS + misses * (MISS_NS - HIT_NS));
}

static bool counter_lost;	/* which is no reason not to calibrate without it */

static void lost_counter(void)
{
	counter_lost = true;
	complain("the counter of misses did not count all the time: others use the processor's counters, too; to have misses counted, stop what they count with (perf; the NMI watchdog by 'sysctl kernel.nmi_watchdog=0')");
}

bool probe(const struct active *a, const struct pattern *p, unsigned int additions,
	   const struct read_times *t, struct interference *in, struct progress *said,
	   struct probed *r)
{
	const uint64_t warm = reads_before(a, p);
	char *buffer = buffer_new(p->bytes), when[64], *space;
	struct reading reading = {
		.p = p, .buffer = buffer, .state = RANDOM_SEED, .additions = additions,
		.all = warm + reads_measured(p), .said = said,
		.before = fill_cost(p) / probe_cost(a, p),
	};
	double before, between, after;
	struct usage warming = { 0 }, u;
	bool good;
	int fd;

	if (!buffer)
		return false;
	*r = (struct probed) { .reads = reads_measured(p), .held = -1, .all_held = -1 };
	progress_part(said, reading.before);
	fd = t ? -1 : misses_open(a);
	if (!t && fd < 0) {
		complain_errno("the counter of misses, which was there before");
		buffer_free(buffer, p->bytes);
		return false;
	}
	snprintf(when, sizeof(when), "begin:%s:%lu", p->d->name, (unsigned long)p->bytes);
	space = strchr(when, ' ');
	if (space)
		*space = '_';
	/* Whoever looks makes use of the cache, too, so it is warmed up behind that. */
	mark(a, t, when);
	if (in)
		interference_usage(in, STORAGE);
	before = misses_read(fd);
	good = reads(&reading, warm, &r->ns);
	between = misses_read(fd);
	if (in)
		warming = interference_usage(in, STORAGE);
	good = good && reads(&reading, r->reads, &r->ns);
	after = misses_read(fd);
	if (in) {
		u = interference_usage(in, STORAGE);
		if (u.misses >= 0 && u.done > 0)
			r->held = 1 - u.misses / u.done;
		if (u.misses >= 0 && warming.misses >= 0 && u.done + warming.done > 0)
			r->all_held = 1 - (u.misses + warming.misses) / (u.done + warming.done);
	}
	mark(a, t, "end");
	if (fd >= 0 && good && (before < 0 || between < 0 || after < 0)) {
		lost_counter();
		good = false;
	}
	r->all_reads = warm + r->reads;
	r->all_misses = fd >= 0 ? after - before : -1;
	if (fd >= 0)
		r->hits = 1 - (after - between) / r->reads;
	else if (t && t->known)
		r->hits = (t->miss_ns - r->ns) / (t->miss_ns - t->hit_ns);
	r->hits = fmin(1, fmax(0, r->hits));
	if (fd >= 0)
		close(fd);
	buffer_free(buffer, p->bytes);
	return good;
}

/* The patterns of read_times(): of the cache, and of memory */
static void read_patterns(const struct active *a, struct pattern *cache, struct pattern *memory)
{
	const uint64_t llc = a->at.bytes[LLC];
	uint64_t small = llc / 4;

	if (small < 2 * a->at.bytes[L2])
		small = llc / 2;
	if (small < PATTERN_MIN)
		small = PATTERN_MIN;
	pattern_init(cache, &distribution[DISTRIBUTIONS - 1], small);
	pattern_init(memory, &distribution[DISTRIBUTIONS - 1], 8 * llc);
}

/* How many steps read_times() has, and what they take */
#define READ_TIMES	2

static double read_times_cost(const struct active *a)
{
	static struct pattern cache, memory;

	read_patterns(a, &cache, &memory);
	return probe_cost(a, &cache) + probe_cost(a, &memory);
}

static bool read_times(const struct active *a, struct read_times *t, struct progress *said)
{
	static struct pattern cache, memory;
	struct probed r;

	read_patterns(a, &cache, &memory);
	*t = (struct read_times) { 0 };
	progress_next(said, probe_cost(a, &cache));
	progress(said, "calibration: reads of the cache alone");
	if (!probe(a, &cache, 1, t, NULL, said, &r))
		return false;
	t->hit_ns = r.ns;
	progress_next(said, probe_cost(a, &memory));
	progress(said, "calibration: reads of memory alone");
	if (!probe(a, &memory, 1, t, NULL, said, &r))
		return false;
	/* An eighth of them still hits. */
	t->miss_ns = (r.ns - t->hit_ns / 8) * 8 / 7;
	t->known = t->miss_ns > 1.2 * t->hit_ns;
	if (!t->known)
		complain("a read from memory takes %.1f ns, one from the cache %.1f: that is too near to tell hits from misses, and there are no counters. How much cache interferers leave stays unknown. Are the sizes of the caches right? See --caches",
			 t->miss_ns, t->hit_ns);
	return true;
}

static double window_ns(const struct active *a)
{
	return a->pace ? PACED_NS : WINDOW_NS;
}

/* What a kind does in a while in which all that run get on */
static bool usage_in_window(const struct active *a, struct interference *in, enum kind kind,
			    struct effect *e)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const enum kind other = kind == STORAGE ? BANDWIDTH : STORAGE;
	struct usage all[KINDS] = { 0 };
	bool enough;
	unsigned int k;

	for (k = 0; k < KINDS; k++)
		interference_usage(in, k);
	do {
		if (interrupted)
			return false;
		nanosleep(&pause, NULL);
		enough = true;
		for (k = 0; k < KINDS; k++) {
			const struct usage u = interference_usage(in, k);

			all[k].ns += u.ns;
			all[k].done += u.done;
			all[k].misses = u.misses < 0 || all[k].misses < 0 ? -1 :
					all[k].misses + u.misses;
			/* Who is held to a pace has been through its buffer before it was. */
			if (interference_has(in, k) && !(k == BANDWIDTH && a->pace))
				enough &= all[k].done >= 2 * interference_bytes(a, k) / LINE_BYTES;
		}
	} while (!enough || all[kind].ns < window_ns(a));
	e->rate = all[kind].done / all[kind].ns * 1e9;
	e->misses = all[kind].misses < 0 ? -1 : all[kind].misses / all[kind].done;
	e->others = all[other].misses < 0 ? -1 : all[other].misses / all[kind].done;
	return true;
}

/* What BWThr take, or STREAM; without counters a BWThr is taken to miss each time */
static bool moved(const struct effect *e, bool stream, bool counters, double *bytes_s)
{
	if (stream) {
		*bytes_s = e->rate * MOVED_STREAM;
		return true;
	}
	if (counters && e->misses < 0) {
		lost_counter();
		return false;
	}
	*bytes_s = (counters ? e->misses : 1) * e->rate * MOVED_BANDWIDTH;
	return true;
}

static bool look_at(const struct active *a, unsigned int storage, unsigned int bandwidth,
		    bool stream, enum kind kind, struct effect *e)
{
	struct interference *in = interference_start(a, storage, bandwidth, stream);
	bool good;

	if (!in)
		return false;
	good = usage_in_window(a, in, kind, e);
	interference_stop(in);
	return good;
}

/* How a BWThr is judged */
static unsigned int of_bandwidth(const struct calibration *c)
{
	return OF_BANDWIDTH | (c->pace ? PACED : 0) | (c->by_rate ? BY_RATE : 0);
}

static bool bandwidths(const struct active *a, struct calibration *c, struct progress *p)
{
	const unsigned int cores = a->at.interferers;
	struct effect e;
	double most = 0;
	unsigned int i;

	progress_next(p, window_ns(a));
	progress(p, "calibration: all bandwidth");
	if (!look_at(a, 0, 0, true, STREAM, &e) || !moved(&e, true, c->counters, &c->total))
		return false;
	for (i = 1; i <= c->bandwidth; i++) {
		progress_next(p, window_ns(a));
		progress(p, "calibration: %u BWThr", i);
		if (!look_at(a, 0, i, false, BANDWIDTH, &e) ||
		    !moved(&e, false, c->counters, &c->taken[i]))
			return false;
		if (i == 1)
			c->bandwidth_beside[0] = e;
	}
	/* What anybody took is there: STREAM was held up, by others on its CPUs perhaps. */
	for (i = 1; i <= c->bandwidth; i++)
		most = fmax(most, c->taken[i]);
	if (most > c->total) {
		complain("STREAM on all cores moves %.2f MB/s, and BWThr %.2f: there is so much at the least, and more may be left beside BWThr than is said. Are others busy here?",
			 c->total / 1e6, most / 1e6);
		c->total = most;
	}
	for (i = 0; i <= c->bandwidth; i++)
		c->left[i] = c->total - c->taken[i];
	/* Each other: where there are cores for both */
	for (i = 1; c->bandwidth && i <= c->storage && i + 1 <= cores; i++) {
		progress_next(p, window_ns(a));
		progress(p, "calibration: 1 BWThr beside %u CSThr", i);
		if (!look_at(a, i, 1, false, BANDWIDTH, &c->bandwidth_beside[i]))
			return false;
	}
	for (i = 0; c->storage && i <= c->bandwidth && i + 1 <= cores; i++) {
		progress_next(p, window_ns(a));
		progress(p, "calibration: 1 CSThr beside %u BWThr", i);
		if (!look_at(a, 1, i, false, STORAGE, &c->storage_beside[i]))
			return false;
	}
	c->clean_storage = effects_clean(c->bandwidth_beside, c->storage, of_bandwidth(c));
	c->clean_bandwidth = effects_clean(c->storage_beside, c->bandwidth, 0);
	return true;
}

/* Beside them will be a buffer of so many bytes: both together are to fit. */
static struct interference *start_beside(const struct active *a, unsigned int storage,
					 unsigned int bandwidth, double buffer)
{
	if (!buffer_fits(buffer + storage * interference_bytes(a, STORAGE) +
			 bandwidth * interference_bytes(a, BANDWIDTH)))
		return NULL;
	return interference_start(a, storage, bandwidth, false);
}

static double largest(const double *size, size_t n)
{
	double most = 0;
	size_t i;

	for (i = 0; i < n; i++)
		most = fmax(most, size[i]);
	return most;
}

/* The cache that the benchmark has now, by each distribution and size */
static bool capacities(const struct active *a, const struct read_times *t, struct progress *p,
		       unsigned int storage, struct interval *c)
{
	const double *size = a->quick ? one : some;
	const size_t sizes = a->quick ? 1 : sizeof(some) / sizeof(*some);
	double v[DISTRIBUTIONS * SIZES];
	static struct pattern pattern;
	size_t n = 0, i, k;

	if (t && !t->known) {
		*c = (struct interval) { 0 };
		return true;
	}
	for (i = 0; i < DISTRIBUTIONS; i++) {
		if (a->quick && !is_quick(&distribution[i]))
			continue;
		for (k = 0; k < sizes; k++) {
			struct probed r;

			pattern_init(&pattern, &distribution[i], size[k] * a->at.bytes[LLC]);
			progress_next(p, probe_cost(a, &pattern));
			progress(p, "calibration: cache beside %u CSThr, %s", storage,
				 distribution[i].name);
			if (!probe(a, &pattern, 1, t, NULL, p, &r))
				return false;
			if (r.hits < TOO_SURE)
				v[n++] = capacity(&pattern, LRU, r.hits);
		}
	}
	*c = interval_of(v, n);
	return true;
}

static unsigned int distributions(const struct active *a)
{
	unsigned int n = 0, i;

	for (i = 0; i < DISTRIBUTIONS; i++)
		n += !a->quick || is_quick(&distribution[i]);
	return n;
}

/* What it takes to probe each distribution with these buffers, in last caches */
static double probes_cost(const struct active *a, const double *size, size_t sizes)
{
	static struct pattern pattern;
	double sum = 0;
	size_t i, k;

	for (i = 0; i < DISTRIBUTIONS; i++) {
		for (k = 0; k < sizes && (!a->quick || is_quick(&distribution[i])); k++) {
			pattern_init(&pattern, &distribution[i], size[k] * a->at.bytes[LLC]);
			sum += probe_cost(a, &pattern);
		}
	}
	return sum;
}

static void alone_is_all(const struct active *a, struct calibration *c)
{
	const double alone = c->capacity[0].mean;
	unsigned int i;

	for (i = 0; i <= c->storage; i++) {
		const double unit = alone > 0 ? a->at.bytes[LLC] / alone : 0;

		/* Of nothing there is no part. */
		if (!unit)
			c->capacity[i].n = 0;
		c->capacity[i].mean *= unit;
		c->capacity[i].low *= unit;
		c->capacity[i].high *= unit;
	}
}

static bool calibrate_by(const struct active *a, struct calibration *c, bool counters)
{
	const double most = a->quick ? *one : largest(some, sizeof(some) / sizeof(*some));
	const unsigned int cores = a->at.interferers;
	struct read_times times, *t = NULL;
	struct progress p;
	unsigned int i, sizes, windows;
	bool good = true;

	memset(c, 0, sizeof(*c));
	for (i = 0; i <= STORAGE_MAX; i++)
		c->bandwidth_beside[i] = EFFECT_UNKNOWN;
	for (i = 0; i <= BANDWIDTH_MAX; i++)
		c->storage_beside[i] = EFFECT_UNKNOWN;
	memcpy(c->bytes, a->at.bytes, sizeof(c->bytes));
	c->pace = a->pace;
	c->by_rate = !a->metric || strcmp(a->metric, "misses");
	c->storage = least(a->storage, cores);
	c->bandwidth = least(a->bandwidth, cores);
	pin_to_cpu(a->at.command[0]);
	c->counters = counters;
	sizes = a->quick ? 1 : sizeof(some) / sizeof(*some);
	windows = 1 + c->bandwidth + (c->bandwidth ? least(c->storage, cores - 1) : 0) +
		  (c->storage ? least(c->bandwidth, cores - 1) + 1 : 0);
	progress_begin_long(&p, !c->counters * READ_TIMES + windows +
			    (c->storage + 1) * distributions(a) * sizes, a->quiet, a->verbose);
	progress_costs(&p, !c->counters * read_times_cost(a) + windows * window_ns(a) +
		       (c->storage + 1) * probes_cost(a, a->quick ? one : some, sizes));
	if (!c->counters) {
		t = &times;
		good = read_times(a, t, &p);
	}
	good = good && bandwidths(a, c, &p);
	for (i = 0; i <= c->storage && good; i++) {
		struct interference *in = start_beside(a, i, 0, most * c->bytes[LLC]);

		good = in && capacities(a, t, &p, i, &c->capacity[i]);
		interference_stop(in);
	}
	progress_end(&p);
	if (good && t)
		alone_is_all(a, c);
	return good;
}

bool calibrate(const struct active *a, struct calibration *c)
{
	counter_lost = false;
	if (calibrate_by(a, c, counters_here(a)))
		return true;
	if (!counter_lost || interrupted)
		return false;
	complain("calibrating anew, by the time of reads, as without counters");
	return calibrate_by(a, c, false);
}

static void size_text(double bytes, char text[16])
{
	if (bytes < 10 * 1048576.)
		snprintf(text, 16, "%.0fK", bytes / 1024);
	else
		snprintf(text, 16, "%.1fM", bytes / 1048576);
}

static void misses_text(double misses, char text[16])
{
	if (misses < 0)
		snprintf(text, 16, "-");
	else
		snprintf(text, 16, "%.1f %%", misses * 100);
}

/* Of those that are more than @clean */
static const char *of_more(const struct effect *beside, unsigned int clean, unsigned int most,
			   unsigned int how)
{
	if (clean >= most)
		return "";
	switch (effect_judge(&beside[0], &beside[clean + 1], how)) {
	case NOT_MEASURED:
		return " (more were not looked at)";
	case NOT_COUNTED:
	case AT_PACE:
		return " (of more it can't be told)";
	default:
		return " (more do not)";
	}
}

void calibration_print(const struct active *a, const struct calibration *c)
{
	const struct unit unit = rate_unit(c->total);
	char x[16], y[16], z[16];
	unsigned int i;

	size_text(c->bytes[LLC], x);
	printf("Cache: %s, misses by %s\n", x, c->counters ? "counters" : "the time of reads");
	for (i = 0; i <= c->storage; i++) {
		if (!c->capacity[i].n) {
			printf("  %u CSThr leave an unknown part of it\n", i);
			continue;
		}
		size_text(c->capacity[i].mean, x);
		size_text(c->capacity[i].low, y);
		size_text(c->capacity[i].high, z);
		printf("  %u CSThr leave %8s of it (%s to %s, by %zu estimates)\n", i, x, y, z,
		       c->capacity[i].n);
	}
	printf("Bandwidth: %.2f %s on %u cores (STREAM)\n", c->total / unit.bytes, unit.name,
	       a->at.cores);
	for (i = 1; i <= c->bandwidth; i++)
		printf("  %u BWThr take %6.2f %s and leave %6.2f\n", i, c->taken[i] / unit.bytes,
		       unit.name, c->left[i] / unit.bytes);
	puts("Each beside the other: million accesses a second, and how many miss");
	for (i = 0; i <= c->storage; i++) {
		if (!effect_known(&c->bandwidth_beside[i]))
			continue;
		misses_text(c->bandwidth_beside[i].misses, x);
		misses_text(i ? c->bandwidth_beside[i].others : -1, y);
		printf("  1 BWThr beside %u CSThr: %8.2f %8s%s%s\n", i,
		       c->bandwidth_beside[i].rate / 1e6, x, *y == '-' ? "" : "; by all CSThr ",
		       *y == '-' ? "" : y);
	}
	for (i = 0; i <= c->bandwidth; i++) {
		if (!effect_known(&c->storage_beside[i]))
			continue;
		misses_text(c->storage_beside[i].misses, x);
		printf("  1 CSThr beside %u BWThr: %8.2f %8s\n", i, c->storage_beside[i].rate / 1e6,
		       x);
	}
	printf("Told apart: up to %u CSThr leave the bandwidth alone%s, up to %u BWThr the cache%s\n",
	       c->clean_storage,
	       of_more(c->bandwidth_beside, c->clean_storage, c->storage,
		       of_bandwidth(c)),
	       c->clean_bandwidth,
	       of_more(c->storage_beside, c->clean_bandwidth, c->bandwidth, 0));
}

/* Of those that are more than @clean; @check: how it would be looked at, or NULL */
static void warn_of(const char *kind, const char *other, unsigned int clean, const char *check,
		    enum judgement judgement)
{
	char why[128] = "";

	switch (judgement) {
	case NOT_MEASURED:
		if (check)
			snprintf(why, sizeof(why), "was not checked, as only one kind was asked for (%s checks it)",
				 check);
		else
			snprintf(why, sizeof(why), "was not checked, as there were no cores for both kinds");
		break;
	case NOT_COUNTED:
		snprintf(why, sizeof(why), "can't be told, as others had the counters a part of the time");
		break;
	case AT_PACE:
		snprintf(why, sizeof(why), "can't be told, as a BWThr that keeps its pace (--pace) gets no slower, and there are no counters");
		break;
	default:
		complain("more than %u %s take %s, too: what is slower with %u may lack %s", clean,
			 kind, other, clean + 1, other);
		return;
	}
	complain("whether more than %u %s take %s, too, %s: what is slower with %u may lack %s",
		 clean, kind, other, why, clean + 1, other);
}

bool kinds_are_apart(const struct active *a, const struct calibration *c)
{
	const bool storage = least(a->storage, c->storage) > c->clean_storage;
	const bool bandwidth = least(a->bandwidth, c->bandwidth) > c->clean_bandwidth;
	/* One of each takes two cores. */
	const bool room = a->at.interferers > 1;

	if (storage)
		warn_of("CSThr", "bandwidth", c->clean_storage,
			room && !c->bandwidth ? "--bandwidth 1" : NULL,
			effect_judge(&c->bandwidth_beside[0],
				     &c->bandwidth_beside[c->clean_storage + 1],
				     of_bandwidth(c)));
	if (bandwidth)
		warn_of("BWThr", "cache", c->clean_bandwidth,
			room && !c->storage ? "--storage 1" : NULL,
			effect_judge(&c->storage_beside[0],
				     &c->storage_beside[c->clean_bandwidth + 1], 0));
	return !storage && !bandwidth;
}

/* ---- figures 5 and 6 ---- */

static void probe_json(json_t *list, const struct pattern *p, unsigned int storage,
		       unsigned int additions, const struct probed *r, double cache)
{
	json_t *j = json_pack("{s:s, s:I, s:i, s:i, s:I, s:f, s:f}", "distribution", p->d->name,
			      "bytes", (json_int_t)p->bytes, "storage", storage, "additions",
			      additions, "reads", (json_int_t)r->reads, "ns", r->ns, "hits",
			      r->hits);

	json_object_set_new(j, "expected", json_real(hit_rate(p, LRU, cache)));
	json_object_set_new(j, "expected_seed", json_real(hit_rate(p, SEED, cache)));
	json_object_set_new(j, "capacity", json_real(capacity(p, LRU, r->hits)));
	json_object_set_new(j, "capacity_seed", json_real(capacity(p, SEED, r->hits)));
	json_object_set_new(j, "all_reads", json_integer(r->all_reads));
	json_object_set_new(j, "all_misses", r->all_misses < 0 ? json_null() :
			    json_real(r->all_misses));
	json_object_set_new(j, "held", r->held < 0 ? json_null() : json_real(r->held));
	json_object_set_new(j, "all_held", r->all_held < 0 ? json_null() : json_real(r->all_held));
	json_array_append_new(list, j);
}

int probe_all(const struct active *a)
{
	const double only = (double)a->buffer / a->at.bytes[LLC];
	const size_t sizes = a->buffer ? 1 : SIZES;
	const double *size = a->buffer ? &only : paper;
	const double llc = a->at.bytes[LLC];
	struct read_times times, *t = NULL;
	json_t *list = json_array();
	static struct pattern pattern;
	struct interference *in;
	bool good = true;
	struct progress p;
	size_t i, k;
	bool by_time;

	pin_to_cpu(a->at.command[0]);
	by_time = !counters_here(a);
	progress_begin_long(&p, by_time * READ_TIMES + sizes * distributions(a), a->quiet,
			    a->verbose);
	progress_costs(&p, by_time * read_times_cost(a) + probes_cost(a, size, sizes));
	if (by_time) {
		t = &times;
		/* It has said what is wrong if they are not known. */
		good = read_times(a, t, &p) && t->known;
	}
	in = good ? start_beside(a, a->storage, a->bandwidth, largest(size, sizes) * llc) : NULL;
	good = in;
	if (!a->json)
		printf("%-8s %10s %8s %10s %10s %12s\n", "", "buffer", "hits", "expected",
		       "equation 4", "cache it had");
	for (k = 0; k < sizes && good; k++) {
		for (i = 0; i < DISTRIBUTIONS && good; i++) {
			char buffer[16], had[16];
			struct probed r;

			if (a->quick && !is_quick(&distribution[i]))
				continue;
			pattern_init(&pattern, &distribution[i], size[k] * llc);
			progress_next(&p, probe_cost(a, &pattern));
			progress(&p, "%s", distribution[i].name);
			good = probe(a, &pattern, a->additions, t, in, &p, &r);
			if (!good)
				break;
			probe_json(list, &pattern, a->storage, a->additions, &r, llc);
			size_text(pattern.bytes, buffer);
			size_text(capacity(&pattern, LRU, r.hits), had);
			if (!a->json)
				printf("%-8s %10s %8.4f %10.4f %10.4f %12s\n", distribution[i].name,
				       buffer, r.hits, hit_rate(&pattern, LRU, llc),
				       hit_rate(&pattern, SEED, llc), had);
		}
	}
	progress_end(&p);
	interference_stop(in);
	if (good && a->json) {
		json_t *j = json_begin();

		json_object_set(j, "probes", list);
		json_end(j, stdout);
	}
	json_decref(list);
	return good ? STATUS_OK : STATUS_FAILED;
}

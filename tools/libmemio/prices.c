// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio, inside: what an IO byte costs in memory, by the caches' counters of a kernel that has
 * no memio
 *
 * The tables of events are the kernel's (cgroup/kernel/memio/counters_*.c), and so is what becomes
 * of the counts (estimate.c): lines that missed, or that devices made dirty, for each line that
 * devices moved. perf's drivers of the uncore count them, on any kernel.
 *
 * What differs: a window is as long as the reader's interval, so a window's own ratio is the price,
 * and earlier windows count only where this one has moved less than LASTING bytes
 * (memio_lasting_window()). All devices and packages have one price in each direction, where a
 * kernel with memio learns one for each device.
 */
#ifdef MEMIO_BPF

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../cgroup/kernel/memio/counters.h"

/* The kernel reads boxes by functions of its own. */
#undef MEMIO_BOX_OPERATIONS
#define MEMIO_BOX_OPERATIONS	.probe = NULL

#include "../../cgroup/kernel/memio/counters_hsx.c"
#undef EVENT
#undef CAN
#include "../../cgroup/kernel/memio/counters_cha.c"
#include "../../cgroup/kernel/memio/estimate.c"

#include "internal.h"
#include "prices.h"

#define PACKAGES_MOST	16

/* A box of a package: its events are a group of perf's, and are counted at the same time. */
struct box {
	int fd[MEMIO_BOX_EVENTS];
	unsigned int set, n, nth[MEMIO_GROUPS];
	struct {
		uint64_t n, enabled, running, count[MEMIO_BOX_EVENTS];
	} last;
};

struct mio_prices {
	const struct memio_source *source;
	struct box *box;
	unsigned int boxes, groups[MEMIO_GROUPS];
	struct memio_hot hot_to, hot_from;
	struct memio_lasting lasting;
	bool begun_to, begun_from;	/* something was moved, so @lasting has a price */
	struct mio_ahead ahead_to, ahead_from;
};

static const struct memio_source *const sources[] = {
	&memio_hsx, &memio_bdx, &memio_icx, &memio_spr, &memio_gnr,
};

static const struct memio_source *source_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		if (!strcmp(sources[i]->name, name))
			return sources[i];
	return NULL;
}

/* A small file of a PMU; false: there is none */
static bool pmu_file(const char *boxes, unsigned int id, const char *file, char *text, size_t size)
{
	char path[256];
	bool good;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s_%u/%s", boxes, id, file);
	f = fopen(path, "re");
	good = f && fgets(text, size, f);
	if (f)
		fclose(f);
	return good;
}

/* The events of a box on a package. 0; 1: the package does not have the box; or an error */
static int open_box(struct mio_prices *p, unsigned int nth, int type, int cpu)
{
	const struct memio_box_table *table = p->source->table;
	const unsigned int set = nth % table->sets;
	struct box *b = &p->box[p->boxes];
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = type,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	bool has[MEMIO_GROUPS] = { 0 };
	unsigned int i, g;
	int err;

	*b = (struct box) { .set = set };
	for (i = 0; i < table->events[set]; i++) {
		attr.config = table->event[set][i].config;
		attr.config1 = table->event[set][i].config1;
		b->fd[i] = syscall(SYS_perf_event_open, &attr, -1, cpu, i ? b->fd[0] : -1,
				   PERF_FLAG_FD_CLOEXEC);
		if (b->fd[i] < 0) {
			err = -errno;
			while (i)
				close(b->fd[--i]);
			return err == -EINVAL || err == -ENODEV ? 1 : err;
		}
		has[table->event[set][i].group] = true;
	}
	b->n = i;
	for (g = 0; g < MEMIO_GROUPS; g++)
		b->nth[g] = has[g] ? p->groups[g]++ : 0;
	p->boxes++;
	return 0;
}

static int open_all(struct mio_prices *p, const char *boxes)
{
	int cpu[PACKAGES_MOST], type, err;
	unsigned int id, n, i, nth = 0;
	char text[256];
	bool had;

	for (id = 0; id < MEMIO_BOX_IDS; id++) {
		if (!pmu_file(boxes, id, "type", text, sizeof(text)))
			continue;
		type = atoi(text);
		n = pmu_file(boxes, id, "cpumask", text, sizeof(text)) ?
			mio_cpus(text, cpu, PACKAGES_MOST) : 0;
		had = false;
		for (i = 0; i < n && p->boxes < MEMIO_BOX_IDS * PACKAGES_MOST; i++) {
			err = open_box(p, nth, type, cpu[i]);
			if (err < 0)
				return err;
			had |= !err;
		}
		nth += had;
	}
	return 0;
}

void mio_prices_close(struct mio_prices *p)
{
	unsigned int i, k;

	for (i = 0; p && i < p->boxes; i++)
		for (k = 0; k < p->box[i].n; k++)
			close(p->box[i].fd[k]);
	if (p)
		free(p->box);
	free(p);
}

const char *mio_prices_source(const struct mio_prices *p)
{
	return p->source->name;
}

/* What counters saw since the last time; false: one of them did not run */
static bool see(struct mio_prices *p, struct memio_seen *seen,
		struct memio_by_box by_box[MEMIO_GROUPS])
{
	const struct memio_box_table *table = p->source->table;
	unsigned int i, k;
	bool ran = true;

	memset(seen, 0, sizeof(*seen));
	memset(by_box, 0, MEMIO_GROUPS * sizeof(*by_box));
	for (i = 0; i < p->boxes; i++) {
		struct box *b = &p->box[i];
		typeof(b->last) now;
		uint64_t enabled, running;

		if (read(b->fd[0], &now, sizeof(now)) < (ssize_t)(3 + b->n) * 8 || now.n != b->n) {
			ran = false;
			continue;
		}
		enabled = now.enabled - b->last.enabled;
		running = now.running - b->last.running;
		ran &= running || !enabled;
		for (k = 0; k < b->n; k++) {
			const struct memio_box_event *e = &table->event[b->set][k];
			uint64_t lines = now.count[k] - b->last.count[k];
			const unsigned int nth = e->group < MEMIO_GROUPS ? b->nth[e->group] : 0;

			/* Others had the counters for a part of the time, as perf's own figures. */
			if (running && running < enabled)
				lines = mul_u64_u64_div_u64(lines, enabled, running);
			seen->lines[e->group][e->role] += lines;
			if (nth >= MEMIO_BOXES)
				continue;
			if (e->role == MEMIO_ALL)
				by_box[e->group].all[nth] = lines;
			else if (e->role == MEMIO_MISSES)
				by_box[e->group].misses[nth] = lines;
			else if (e->role == MEMIO_DIRTIED)
				by_box[e->group].dirtied[nth] = lines;
		}
		b->last = now;
	}
	seen->total = p->boxes;
	for (i = 0; i < MEMIO_GROUPS; i++) {
		seen->boxes[i] = p->groups[i];
		by_box[i].nr = p->groups[i] < MEMIO_BOXES ? p->groups[i] : MEMIO_BOXES;
	}
	return ran;
}

struct mio_prices *mio_prices_open(const char *source, const char *boxes, char *why, size_t size)
{
	struct mio_prices *p = calloc(1, sizeof(*p));
	struct memio_by_box by_box[MEMIO_GROUPS];
	const struct memio_box_table *table;
	struct memio_seen seen;
	int err = -ENOMEM;

	if (p)
		p->box = calloc(MEMIO_BOX_IDS * PACKAGES_MOST, sizeof(*p->box));
	if (p && p->box) {
		p->source = source_of(source);
		err = p->source ? open_all(p, boxes) : -ENOENT;
	}
	if (err) {
		snprintf(why, size, "the counters of the caches can't be had: %s",
			 err == -EMFILE ? "too many open files; 'ulimit -n 4096' allows more" :
			 strerror(-err));
		mio_prices_close(p);
		return NULL;
	}
	table = p->source->table;
	if (p->boxes < table->sets) {
		snprintf(why, size, "there are no counters %s: modprobe intel_uncore loads their driver; a virtual machine has none",
			 boxes);
		mio_prices_close(p);
		return NULL;
	}
	memio_lasting_init(&p->lasting);
	see(p, &seen, by_box);
	return p;
}

static u32 ratio_of(u64 mem, u64 lines)
{
	return lines ? least(ratio(mem, lines), MEMIO_PRICE_ONE) : 0;
}

/* So many bytes of lines may cost otherwise than the boxes say that look for them */
#define FEW		(4. * MEMIO_LINE_BYTES)

/*
 * All boxes by those that look for a kind of request: each other has no fewer lines than the one
 * with the fewest, and no more than the one with the most (bounds.c, 4). Added to @sum: the least,
 * the most, and what estimates are made of
 */
static void spread(const u64 *lines, unsigned int nr, unsigned int total, double sum[3])
{
	double few = nr ? lines[0] : 0, many = few, all = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		few = lines[i] < few ? lines[i] : few;
		many = lines[i] > many ? lines[i] : many;
		all += lines[i];
	}
	sum[0] += all + (total - nr) * few;
	sum[1] += all + (total - nr) * many;
	sum[2] += nr ? all * total / nr : 0;
}

/* A cost that is known to be from @least to @most if all boxes are like those that look */
static void extend(const double sum[3], double least, double most, double cost[2])
{
	const double low = sum[2] ? sum[0] / sum[2] : 1, high = sum[2] ? sum[1] / sum[2] : 1;

	cost[0] = least * low > FEW ? least * low - FEW : 0;
	cost[1] = most * high + FEW;
}

/* What the lines cost for certain, and what they can have cost */
static void see_bounds(const struct mio_prices *p, const struct memio_seen *seen,
		       const struct memio_by_box by_box[MEMIO_GROUPS], struct mio_moved *to,
		       struct mio_moved *from)
{
	const bool dirtied = p->source->can & MEMIO_COUNTS(MEMIO_WRITES, MEMIO_DIRTIED);
	double reads[3] = { 0 }, fills[3] = { 0 }, writes[3] = { 0 };
	struct memio_cost certain, all;
	unsigned int i;

	memio_window_cost(MEMIO_MISS, seen, &certain);
	memio_window_cost(MEMIO_DIRTY, seen, &all);
	spread(by_box[MEMIO_READS].misses, by_box[MEMIO_READS].nr, seen->total, reads);
	spread(by_box[MEMIO_PARTIALS].misses, by_box[MEMIO_PARTIALS].nr, seen->total, fills);
	for (i = MEMIO_WRITES; i <= MEMIO_PARTIALS; i++)
		spread(dirtied ? by_box[i].dirtied : by_box[i].misses, by_box[i].nr, seen->total,
		       writes);
	to->all = (struct mio_extent) { .bytes = to->bytes };
	from->all = (struct mio_extent) { .bytes = from->bytes };
	extend(reads, certain.to_read, certain.to_read, to->all.read);
	extend(fills, certain.from_read, certain.from_read, from->all.read);
	/* Without the count of lines that writes made dirty, each may have been one. */
	if (dirtied) {
		extend(writes, all.from_write, all.from_write, from->all.write);
	} else {
		extend(writes, certain.from_write, certain.from_write, from->all.write);
		from->all.write[1] = from->bytes;
	}
}

bool mio_prices_window(struct mio_prices *p, struct mio_moved *to, struct mio_moved *from)
{
	struct memio_by_box by_box[MEMIO_GROUPS];
	struct memio_price ratios = { 0 }, last = p->lasting.price;
	struct memio_seen seen;
	struct memio_cost cost;
	u64 all_to, all_from;

	if (!see(p, &seen, by_box))
		return false;
	memio_hot_window(&p->hot_to, &seen, MEMIO_READS, &by_box[MEMIO_READS], to->accounted);
	memio_hot_window(&p->hot_from, &seen, MEMIO_PARTIALS, &by_box[MEMIO_PARTIALS],
			 from->accounted);
	memio_window_lines(&seen, &all_to, &all_from);
	memio_window_cost(memio_estimator_for(MEMIO_DIRTY, p->source->can), &seen, &cost);
	to->bytes = all_to;
	from->bytes = all_from;
	to->read = cost.to_read;
	to->write = cost.to_write;
	from->read = cost.from_read;
	from->write = cost.from_write;
	see_bounds(p, &seen, by_box, to, from);
	ratios.to_read = ratio_of(cost.to_read, to->bytes);
	ratios.to_write = ratio_of(cost.to_write, to->bytes);
	ratios.from_read = ratio_of(cost.from_read, from->bytes);
	ratios.from_write = ratio_of(cost.from_write, from->bytes);
	memio_lasting_window(&p->lasting, &ratios, all_to, all_from);
	to->last_read = last.to_read / (double)MEMIO_PRICE_ONE;
	to->last_write = last.to_write / (double)MEMIO_PRICE_ONE;
	from->last_read = last.from_read / (double)MEMIO_PRICE_ONE;
	from->last_write = last.from_write / (double)MEMIO_PRICE_ONE;
	mio_begin(to, &p->begun_to);
	mio_begin(from, &p->begun_from);
	mio_settle(to, &p->ahead_to, to->accounted + from->accounted);
	mio_settle(from, &p->ahead_from, to->accounted + from->accounted);
	return true;
}

#else

/* An empty file is none in C. */
typedef int mio_prices_are_with_bpf;

#endif

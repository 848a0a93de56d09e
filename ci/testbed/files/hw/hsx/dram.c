// SPDX-License-Identifier: GPL-2.0
/*
 * A DRAM with a ceiling of bandwidth; dram.h has the model.
 */
#include "dram.h"
#include "llc.h"

#define PS_PER_NS	1000ull
#define PS_PER_S	1000000000000ull

/**
 * dram_init() - a DRAM that has done nothing so far
 * @bytes_per_s:	its ceiling; 0: it has none
 *
 * Return: false if a picosecond is too coarse for it: 1 TiB/s is the most.
 */
bool dram_init(struct dram *d, uint64_t bytes_per_s)
{
	*d = (struct dram){ 0 };
	if (!bytes_per_s)
		return true;
	d->line_ps = (LLC_LINE_BYTES * PS_PER_S + bytes_per_s / 2) / bytes_per_s;
	return bytes_per_s <= 1ull << 40;
}

/**
 * dram_slack() - how far a CPU may be ahead, and how much the DRAM makes up for
 */
void dram_slack(struct dram *d, uint64_t ahead_ns, uint64_t behind_ns)
{
	d->ahead_ps = ahead_ns * PS_PER_NS;
	d->behind_ps = behind_ns * PS_PER_NS;
}

/*
 * CPUs ask for so much more, or for nothing. Returns for how long there has been nothing
 * of theirs before.
 */
static uint64_t ask(struct dram *d, uint64_t now_ns, uint64_t own_ps)
{
	const uint64_t now = now_ns * PS_PER_NS;
	const uint64_t first = now > d->behind_ps ? now - d->behind_ps : 0;
	uint64_t before = __atomic_load_n(&d->done_ps, __ATOMIC_RELAXED), done;

	do {
		done = (before > first ? before : first) + own_ps;
	} while (!__atomic_compare_exchange_n(&d->done_ps, &before, done, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return first > before ? first - before : 0;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The devices' lines have had @gap_ps for themselves; then come more of them, or a turn of
 * at most @turn_ps. Returns what that took.
 */
static uint64_t serve_devices(struct dram *d, uint64_t gap_ps, uint64_t more_ps, uint64_t turn_ps)
{
	uint64_t before = __atomic_load_n(&d->devices_ps, __ATOMIC_RELAXED), left, turn;

	do {
		if (!before && !more_ps)
			return 0;
		left = before - min_u64(before, gap_ps);
		left = min_u64(left + more_ps, DRAM_DEVICES_NS * PS_PER_NS);
		turn = min_u64(left, turn_ps);
	} while (!__atomic_compare_exchange_n(&d->devices_ps, &before, left - turn, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return turn;
}

/**
 * dram_move_cpu() - a CPU has these lines to be moved
 *
 * Context: any number of threads at once.
 * Return: when they will have been, in ps.
 */
uint64_t dram_move_cpu(struct dram *d, uint64_t now_ns, unsigned int lines)
{
	const uint64_t own = lines * d->line_ps;
	const uint64_t gap = ask(d, now_ns, own);
	const uint64_t turn = serve_devices(d, gap, 0, own);

	/* Two CPUs that ask at once may each see the other's line: they are behind both. */
	return __atomic_add_fetch(&d->done_ps, turn, __ATOMIC_RELAXED);
}

/**
 * dram_move_device() - a device has these lines to be moved
 *
 * Context: any number of threads at once.
 */
void dram_move_device(struct dram *d, uint64_t now_ns, unsigned int lines)
{
	/*
	 * What was free before is not for these. (Who finds it free at once with another
	 * may count it after the other's lines have come, which are served by it then.)
	 */
	const uint64_t gap = ask(d, now_ns, 0);

	serve_devices(d, gap, lines * d->line_ps, 0);
}

/**
 * dram_wait_ns() - how long a CPU waits, whose last line is done at @done_ps
 */
uint64_t dram_wait_ns(const struct dram *d, uint64_t done_ps, uint64_t now_ns)
{
	const uint64_t free = now_ns * PS_PER_NS + d->ahead_ps;

	return done_ps > free ? (done_ps - free + PS_PER_NS - 1) / PS_PER_NS : 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: how good figures are, in a word
 *
 *	# cat memio.state
 *	accounting on
 *	writeback group
 *	cpu off
 *	io ok
 *	total ok
 *	0000:00:03.0 ok
 *
 *	ok		estimated from counters that were read all of the time
 *	warming		counters are read from now on, but no window is complete yet
 *	held		others have the counters: bytes have no price meanwhile
 *	absent		the machine has no counters that memio knows: each byte counts as one
 *	disagrees	counters are read, and saw something else than what was accounted
 *	off		not accounted, or counters are not to be read
 *
 * "io" is the worst of all packages, a device its package's. "total" is the worse of "io" and
 * "cpu", unless CPUs are not counted: then it has what devices moved.
 *
 * "writeback" says to whom writes of the page cache are charged: to the task ("tasks", with
 * memio=tasks), to the group ("group"), or, as "memory" is not enabled for this one, to a group
 * above it ("above").
 */

#include <linux/seq_file.h>

#include "internal.h"

const char *const memio_state_names[MEMIO_STATES] = {
	[MEMIO_STATE_OK]	= "ok",
	[MEMIO_STATE_WARMING]	= "warming",
	[MEMIO_STATE_HELD]	= "held",
	[MEMIO_STATE_ABSENT]	= "absent",
	[MEMIO_STATE_DISAGREES]	= "disagrees",
	[MEMIO_STATE_OFF]	= "off",
};

/**
 * memio_state - the word for a condition
 * @c:	the condition
 *
 * Context: any.
 * Return: the first that holds, of those after which the next ones mean nothing.
 */
enum memio_state memio_state(const struct memio_condition *c)
{
	if (!c->on)
		return MEMIO_STATE_OFF;
	if (!c->there)
		return MEMIO_STATE_ABSENT;
	if (!c->wanted)
		return MEMIO_STATE_OFF;
	if (c->held)
		return MEMIO_STATE_HELD;
	if (!c->valid)
		return MEMIO_STATE_WARMING;
	return c->agrees ? MEMIO_STATE_OK : MEMIO_STATE_DISAGREES;
}

/**
 * memio_state_worse - the worse of two states
 * @a:	a state
 * @b:	another
 *
 * Context: any.
 * Return: the one that says less for a figure.
 */
enum memio_state memio_state_worse(enum memio_state a, enum memio_state b)
{
	static const u8 badness[MEMIO_STATES] = {
		[MEMIO_STATE_OK]	= 0,
		[MEMIO_STATE_DISAGREES]	= 1,
		[MEMIO_STATE_WARMING]	= 2,
		[MEMIO_STATE_HELD]	= 3,
		[MEMIO_STATE_ABSENT]	= 4,
		[MEMIO_STATE_OFF]	= 5,
	};

	return badness[a] >= badness[b] ? a : b;
}

/**
 * memio_state_total - the state of a total
 * @io:		that of devices
 * @cpu:	that of CPUs; MEMIO_STATE_OFF: the total has nothing of them
 *
 * Context: any.
 * Return: the state.
 */
enum memio_state memio_state_total(enum memio_state io, enum memio_state cpu)
{
	return cpu == MEMIO_STATE_OFF ? io : memio_state_worse(io, cpu);
}

/**
 * memio_state_io - the worst state of all packages
 *
 * Context: process, may sleep.
 * Return: the state.
 */
enum memio_state memio_state_io(void)
{
	enum memio_state worst = MEMIO_STATE_OK;

	for (unsigned int i = 0; i < min_t(unsigned int, memio_packages(), MEMIO_PACKAGES); i++)
		worst = memio_state_worse(worst, memio_package_state(i));
	return worst;
}

static const char *writeback_state(const struct memio_cgroup *g)
{
	if (memio_page_owners)
		return "tasks";
	return g == &memio_root || memio_memcg_exact(g) ? "group" : "above";
}

/**
 * memio_state_show - print memio.state
 * @sf:	where
 * @g:	the group
 *
 * Context: process, may sleep.
 */
void memio_state_show(struct seq_file *sf, struct memio_cgroup *g)
{
	enum memio_state cpu = memio_cpu_state(), io = memio_state_io();
	struct memio_device *dev;

	seq_printf(sf, "accounting %s\nwriteback %s\ncpu %s\nio %s\ntotal %s\n",
		   memio_enabled() ? "on" : "off", writeback_state(g), memio_state_names[cpu],
		   memio_state_names[io], memio_state_names[memio_state_total(io, cpu)]);
	for (u16 id = 1; id < MEMIO_DEVICES && (dev = memio_device(id)); id++)
		if (g == &memio_root || READ_ONCE(g->meter[id]))
			seq_printf(sf, "%s %s\n", dev->name,
				   memio_state_names[memio_package_state(dev->package)]);
}

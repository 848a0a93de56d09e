// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: who pays by whom memory is charged to: for swapping out, and for writeback
 *
 * A page that is swapped out has no task that made it dirty, and the task that writes it
 * (kswapd, or a task that happens to need memory) has nothing to do with it. But memcg
 * knows which group the page is charged to: this group is short of memory, or holds
 * what others are short of, and it pays; with a task only if one of its own swaps.
 * Swapping in is paid for by the task that needs the page.
 *
 * Pages of the page cache have an owner of their own with memio=tasks alone (bio.c). Without it
 * memio takes no memory for pages, and the same group pays for writing them. That is exact by
 * group for what a group's tasks create. A file's page that another group had read before is
 * charged to that group's memory, and so is writing it.
 *
 * Where "memory" is not enabled for a group, its memory is that of the closest group above that
 * has it, and so are its writes: memio.state says so (memio_writeback_state()).
 */

#include <linux/cgroup.h>
#include <linux/memcontrol.h>

#include "internal.h"

/* The nearest group that has the controller, if memory is accounted in more detail. */
static struct memio_cgroup *group_of(struct folio *folio)
{
	return memio_css_cgroup(cgroup_e_css(mem_cgroup_css_from_folio(folio)->cgroup,
					     &memio_cgrp_subsys));
}

/**
 * memio_folio_owner - the group whose memory a folio is
 * @folio:	the folio, of the page cache; under writeback or locked, so that it stays charged
 *
 * Context: any.
 * Return: the id of the group as an owner.
 */
u32 memio_folio_owner(struct folio *folio)
{
	struct memio_cgroup *g;
	u32 id;

	rcu_read_lock();
	g = group_of(folio);
	id = g ? memio_group_owner(g) : 0;
	rcu_read_unlock();
	return id;
}

/**
 * memio_memcg_exact - whether a group's memory is charged to itself
 * @g:	the group
 *
 * Context: process.
 * Return: false if "memory" is not enabled for it.
 */
bool memio_memcg_exact(const struct memio_cgroup *g)
{
	bool exact;

	if (mem_cgroup_disabled())
		return false;
	rcu_read_lock();
	exact = rcu_access_pointer(g->css.cgroup->subsys[memory_cgrp_id]);
	rcu_read_unlock();
	return exact;
}

/**
 * memio_swap_owner - who pays for a folio that is swapped out
 * @folio:	the folio, under writeback and so charged to its group until that ends
 * @id:		the owner that swaps it out; 0: nobody
 *
 * One of the group pays itself: the group has the same, and the task shows what it did.
 *
 * Context: any.
 * Return: the id of an owner; 0: the root's.
 */
u32 memio_swap_owner(struct folio *folio, u32 id)
{
	struct memio_cgroup *g;
	struct memio_owner *o;

	rcu_read_lock();
	g = group_of(folio);
	o = memio_owner(id);
	if (!o || rcu_dereference(o->home->group) != g)
		id = g ? memio_group_owner(g) : 0;
	rcu_read_unlock();
	return id;
}

/**
 * memio_memory_of - whose memory it is that accounts of a group take
 * @g:	the group
 *
 * Context: in an RCU read-side critical section.
 * Return: the group's memory cgroup, or that of the nearest one above.
 */
struct mem_cgroup *memio_memory_of(struct memio_cgroup *g)
{
	return mem_cgroup_from_css(cgroup_e_css(g->css.cgroup, &memory_cgrp_subsys));
}

/**
 * memio_get_memory_of - as memio_memory_of(), with a reference
 * @g:	the group
 *
 * Context: any.
 * Return: the memory cgroup, for mem_cgroup_put().
 */
struct mem_cgroup *memio_get_memory_of(struct memio_cgroup *g)
{
	return mem_cgroup_from_css(cgroup_get_e_css(g->css.cgroup, &memory_cgrp_subsys));
}

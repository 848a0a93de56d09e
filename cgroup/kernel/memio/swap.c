// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: who pays for swapping out
 *
 * A page that is swapped out has no task that made it dirty, and who writes it
 * (kswapd, or a task that happens to need memory) has nothing to do with it. But memcg
 * knows which group the page is charged to: this group is short of memory, or holds
 * what others are short of, and it pays; with a task only if one of its own swaps.
 * Swapping in is paid for by the task that needs the page.
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
 * memio_folio_group - the owner id of the group whose memory a folio is
 * @folio:	the folio, under writeback and so charged to its group until that ends
 *
 * Context: any.
 * Return: the id; 0: the root's.
 */
u32 memio_folio_group(struct folio *folio)
{
	struct memio_cgroup *g;
	u32 owner;

	rcu_read_lock();
	g = group_of(folio);
	owner = g ? g->owner : 0;
	rcu_read_unlock();
	return owner;
}

/**
 * memio_swapper_pays - whether who swaps a folio out belongs to the group that pays
 * @folio:	the folio, as in memio_folio_group()
 * @id:		the owner that swaps it out; 0: nobody
 *
 * Then it pays itself: the group has the same, and the task shows what it did.
 *
 * Context: any.
 * Return: true if it pays.
 */
bool memio_swapper_pays(struct folio *folio, u32 id)
{
	struct memio_owner *o;
	bool pays;

	rcu_read_lock();
	o = memio_owner(id);
	pays = o && rcu_dereference(o->group) == group_of(folio);
	rcu_read_unlock();
	return pays;
}

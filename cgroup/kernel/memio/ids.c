// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: ids for objects that come and go
 *
 * Tags in packets, bios and pages outlive what they name, and are too many to
 * hold references. So a tag is an id of 31 bits: 20 of slot and 11 of generation; the
 * 32nd bit is the tag's. The generation changes each time the slot is freed, and an id whose
 * generation is not its slot's names nobody.
 *
 * 11 bits come round after 2,048 uses of a slot. What keeps that from happening
 * while a tag is under way is the queue of free slots: a freed slot goes to its end,
 * and the first is taken only when more than min_free wait. With 1,000 waiting, 2
 * million owners have to come and go until a generation returns. That takes more than 17
 * hours, as each slot rests for half a minute before it is freed (owner.c), while a packet's
 * tag is seconds old. Pages that stay dirty for longer hold their owner's slot
 * themselves. A socket that nobody has used for so long may be taken for somebody else's,
 * until somebody uses it.
 *
 * A look-up takes no lock: chunks of slots are never freed, and what a slot names is
 * freed after a grace period.
 *
 * Ids are given with raw locks held, where no memory can be had. So there is a chunk in stock
 * (memio_ids_prepare()), which whoever is going to want an id sees to before.
 */

#include <linux/slab.h>

#include "internal.h"

#define SLOT_MASK	(MEMIO_SLOTS - 1)
#define GENERATION_MASK	((1u << (MEMIO_ID_BITS - MEMIO_SLOT_BITS)) - 1)

/**
 * memio_ids_init - begin with no id in use
 * @ids:	the ids
 * @slots:	so many at a time, one less; at most MEMIO_SLOTS
 * @min_free:	freed slots that rest before the first is taken again
 */
void memio_ids_init(struct memio_ids *ids, u32 slots, u32 min_free)
{
	memset(ids, 0, sizeof(*ids));
	raw_spin_lock_init(&ids->lock);
	ids->slots = min(slots, MEMIO_SLOTS);
	ids->min_free = min_free;
	ids->fresh = 1;
}

/**
 * memio_ids_destroy - free the slots
 * @ids:	the ids, of which nobody looks one up any more
 */
void memio_ids_destroy(struct memio_ids *ids)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ids->chunk); i++)
		kfree(ids->chunk[i]);
	kfree(ids->spare);
}

/**
 * memio_ids_prepare - have a chunk of slots in stock
 * @ids:	the ids
 * @gfp:	how it may be had
 *
 * Context: as @gfp allows; no raw lock must be held. Without memory, memio_ids_alloc() may fail.
 */
void memio_ids_prepare(struct memio_ids *ids, gfp_t gfp)
{
	struct memio_slot *new;

	if (READ_ONCE(ids->spare) || READ_ONCE(ids->fresh) >= ids->slots)
		return;
	new = kcalloc(MEMIO_IDS_CHUNK, sizeof(*new), gfp | __GFP_NOWARN);
	if (new && cmpxchg(&ids->spare, NULL, new))
		kfree(new);
}

static struct memio_slot *slot_of(struct memio_ids *ids, u32 slot)
{
	/* Pairs with the release in memio_ids_alloc(): the chunk is zeroed. */
	struct memio_slot *chunk = smp_load_acquire(&ids->chunk[slot / MEMIO_IDS_CHUNK]);

	return chunk ? &chunk[slot % MEMIO_IDS_CHUNK] : NULL;
}

/* A slot that was never used, or 0. */
static u32 take_fresh(struct memio_ids *ids)
{
	struct memio_slot **chunk = &ids->chunk[ids->fresh / MEMIO_IDS_CHUNK];
	struct memio_slot *new;

	if (ids->fresh >= ids->slots)
		return 0;
	if (!*chunk) {
		new = xchg(&ids->spare, NULL);
		if (!new)
			return 0;
		/* Pairs with the acquire in slot_of(). */
		smp_store_release(chunk, new);
	}
	WRITE_ONCE(ids->fresh, ids->fresh + 1);
	return ids->fresh - 1;
}

/* The slot that has waited longest, or 0. */
static u32 take_freed(struct memio_ids *ids)
{
	u32 slot = ids->head;

	if (slot) {
		ids->head = slot_of(ids, slot)->next_free;
		ids->nr_free--;
	}
	return slot;
}

/**
 * memio_ids_alloc - an id for an object
 * @ids:	the ids
 * @object:	what memio_ids_lookup() is to return for it
 *
 * Context: any; memio_ids_prepare() should have been called before.
 * Return: the id, or 0 if there is no slot or no memory.
 */
u32 memio_ids_alloc(struct memio_ids *ids, void *object)
{
	struct memio_slot *s;
	unsigned long flags;
	u32 slot = 0, id = 0;

	raw_spin_lock_irqsave(&ids->lock, flags);
	if (ids->nr_free > ids->min_free)
		slot = take_freed(ids);
	if (!slot)
		slot = take_fresh(ids);
	if (slot) {
		s = slot_of(ids, slot);
		rcu_assign_pointer(s->object, object);
		id = s->generation << MEMIO_SLOT_BITS | slot;
		ids->nr_used++;
	}
	raw_spin_unlock_irqrestore(&ids->lock, flags);
	return id;
}

/**
 * memio_ids_free - from here on an id names nobody
 * @ids:	the ids
 * @id:		the id; its object may be freed after a grace period
 *
 * Context: any.
 */
void memio_ids_free(struct memio_ids *ids, u32 id)
{
	u32 slot = id & SLOT_MASK;
	struct memio_slot *s = slot_of(ids, slot);
	unsigned long flags;

	raw_spin_lock_irqsave(&ids->lock, flags);
	RCU_INIT_POINTER(s->object, NULL);
	WRITE_ONCE(s->generation, (s->generation + 1) & GENERATION_MASK);
	s->next_free = 0;
	if (ids->head)
		slot_of(ids, ids->tail)->next_free = slot;
	else
		ids->head = slot;
	ids->tail = slot;
	ids->nr_free++;
	ids->nr_used--;
	raw_spin_unlock_irqrestore(&ids->lock, flags);
}

/**
 * memio_ids_lookup - whom an id names
 * @ids:	the ids
 * @id:		an id, perhaps one that was freed
 *
 * Context: in an RCU read-side critical section.
 * Return: the object, or NULL.
 */
void *memio_ids_lookup(struct memio_ids *ids, u32 id)
{
	struct memio_slot *s = slot_of(ids, id & SLOT_MASK);
	void *object;

	if (!s)
		return NULL;

	object = rcu_dereference(s->object);
	/*
	 * Read after the object: the slot may be freed in between, and then the
	 * object is still the id's, but it cannot be another's.
	 */
	smp_rmb();
	return READ_ONCE(s->generation) == id >> MEMIO_SLOT_BITS ? object : NULL;
}

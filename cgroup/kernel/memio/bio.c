// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: bios and the page cache
 *
 * A bio is its submitter's, and is charged when the device has moved it, part by
 * part, to the device and the owner at once. Stacked devices (dm, md, loop) pass
 * the tag on in clones; only the bottom one has a DMA master, so that the bytes
 * count once. Discards and the like move next to nothing and are not charged.
 *
 * Writeback is another matter: it is submitted by a flusher thread or by
 * whoever calls sync, for those who wrote to the pages long before. So a page of
 * the page cache has an owner, four bytes beside struct page (page_ext), set when
 * it becomes dirty. When its bytes have been written, they are charged page by
 * page, whatever bio they were gathered in. While a page has an
 * owner's tag the owner's id is not used again, even if its task exits and
 * its group is gone.
 *
 *	task A dirties pages 0, 2, 4; task B pages 1, 3, 5; a flusher writes them:
 *	one bio of 24 KiB, three pages for A and three for B
 *
 * A page that is dirtied again while it is being written keeps its tag, or has
 * the new dirtier's: then both writes are the latter's. Pages that something else took the place of
 * (encryption, compression) have no owner, and the bio's is taken; a bio
 * that has none, of a kernel thread on its own account, is the root's.
 *
 * Without memio at boot (memio=off) there is no page_ext, and all bytes are
 * the bios' submitters'.
 */

#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/mm.h>
#include <linux/page_ext.h>
#include <linux/sched.h>

#include "internal.h"

static bool need_page_owner(void)
{
	return memio_at_boot;
}

/* The owner of a dirty page. */
struct page_tag {
	u32 owner;
};

struct page_ext_operations page_memio_ops = {
	.size = sizeof(struct page_tag),
	.need = need_page_owner,
};

static u32 submitter(void)
{
	if (!in_task() || current->flags & PF_KTHREAD)
		return 0;
	return READ_ONCE(current->memio_owner) ?: __memio_task_owner(current);
}

/*
 * Sets a page's owner. Returns the one before. Two CPUs do this at once only
 * if a page becomes dirty while its write ends.
 */
static u32 set_page_owner(struct page *page, u32 owner)
{
	struct page_ext *ext = page_ext_get(page);
	struct page_tag *tag;
	u32 old = 0;

	if (!ext)
		return 0;
	tag = page_ext_data(ext, &page_memio_ops);
	if (READ_ONCE(tag->owner) != owner)
		old = xchg(&tag->owner, owner);
	page_ext_put(ext);
	return old;
}

static u32 page_owner_of(struct page *page)
{
	struct page_ext *ext = page_ext_get(page);
	u32 owner = 0;

	if (ext) {
		owner = READ_ONCE(((struct page_tag *)page_ext_data(ext, &page_memio_ops))->owner);
		page_ext_put(ext);
	}
	return owner;
}

/* Sets the owner of a folio's pages and keeps the owners' counts of them. */
static void set_folio_owner(struct folio *folio, u32 owner)
{
	long i, nr = folio_nr_pages(folio), tagged = 0;
	u32 old;

	for (i = 0; i < nr; i++) {
		if (owner && page_owner_of(folio_page(folio, i)) == owner)
			continue;
		old = set_page_owner(folio_page(folio, i), owner);
		if (old)
			memio_owner_dirty(old, -1);
		tagged++;
	}
	if (owner && tagged)
		memio_owner_dirty(owner, tagged);
}

void __memio_folio_dirtied(struct folio *folio)
{
	u32 owner = submitter();

	/* A flusher that puts a folio back is not who made it dirty. */
	if (owner && memio_at_boot)
		set_folio_owner(folio, owner);
}

void __memio_folio_cleaned(struct folio *folio)
{
	set_folio_owner(folio, 0);
}

void __memio_folio_moved(struct folio *to, struct folio *from)
{
	long i, nr = folio_nr_pages(from);
	u32 owner;

	if (!folio_test_dirty(from) && !folio_test_dirty(to) &&
	    !folio_test_writeback(from))
		return;
	for (i = 0; i < nr; i++) {
		owner = set_page_owner(folio_page(from, i), 0);
		if (owner)
			set_page_owner(folio_page(to, i), owner);
	}
}

void __memio_bio_submit(struct bio *bio)
{
	if (!bio->bi_memio)
		bio->bi_memio = submitter();
}

static bool moves_data(struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
	case REQ_OP_ZONE_APPEND:
	case REQ_OP_DRV_IN:
	case REQ_OP_DRV_OUT:
		return true;
	default:
		return false;
	}
}

/* Charges what was written, page by page. */
static void written(u16 dev, struct bio *bio, unsigned int bytes)
{
	struct bvec_iter iter, start = bio->bi_iter;
	u32 owner, run_owner = bio->bi_memio, run = 0;
	struct bio_vec bv;

	start.bi_size = bytes;
	__bio_for_each_segment(bv, bio, iter, start) {
		owner = page_owner_of(bv.bv_page);
		if (owner) {
			struct folio *folio = page_folio(bv.bv_page);

			/* The rest of the page may be in the next segment. */
			if (bv.bv_offset + bv.bv_len == PAGE_SIZE &&
			    !folio_test_dirty(folio) &&
			    set_page_owner(bv.bv_page, 0))
				memio_owner_dirty(owner, -1);
		} else {
			owner = bio->bi_memio;
		}
		if (owner != run_owner) {
			if (run)
				memio_charge(dev, run_owner, run, 0, MEMIO_TOTAL | MEMIO_CLAIM);
			run_owner = owner;
			run = 0;
		}
		run += bv.bv_len;
	}
	memio_charge(dev, run_owner, run, 0, MEMIO_TOTAL | MEMIO_CLAIM);
}

void __memio_bio_done(struct request *rq, struct bio *bio, unsigned int bytes)
{
	u16 dev = rq->q->memio_dev;

	if (!dev || !bytes || !moves_data(rq))
		return;

	if (!op_is_write(req_op(rq)))
		memio_charge(dev, bio->bi_memio, 0, bytes, MEMIO_TOTAL | MEMIO_CLAIM);
	else if (memio_at_boot && !bio_flagged(bio, BIO_PAGE_PINNED))
		written(dev, bio, bytes);
	else
		memio_charge(dev, bio->bi_memio, bytes, 0, MEMIO_TOTAL | MEMIO_CLAIM);
}

void __memio_descriptors(struct request *rq, unsigned int to, unsigned int from)
{
	memio_charge(rq->q->memio_dev, rq->bio ? rq->bio->bi_memio : 0, to, from,
		     MEMIO_TOTAL | MEMIO_CLAIM);
}

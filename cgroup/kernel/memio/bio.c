// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: bios and the page cache
 *
 * A bio is its submitter's, and is charged when the device has moved it, part by
 * part, to the device and the owner at once. Stacked devices (dm, md) pass the
 * tag on in clones; only the bottom one has a DMA master, so that the bytes
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
 * A page loses its owner when its writeback ends, if it is not dirty again by
 * then, when it is not to be written after all, and at the latest when it leaves the page
 * cache: file systems make some clean without telling. One that is dirtied again while it is
 * being written has the new dirtier's tag: then both writes are the latter's.
 *
 * Something else may take the place of pages on the way down (dm-crypt): then their
 * owners are handed on, page by page (memio_bio_replaced). A bio of pages under writeback
 * has the tag of its first page's owner, not of the flusher, and whoever makes another
 * in its place hands it on. Kernel threads that do what a bio asks for (loop) act for its
 * owner meanwhile. Pages that are swapped out have nobody who made them dirty: they are
 * paid for by the group that the memory is charged to. What a kernel thread does on its
 * own account is the root's.
 *
 * Without memio at boot (memio=off) there is no page_ext, and all bytes are
 * the bios' submitters'.
 */

#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/export.h>
#include <linux/iomap.h>
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

/* Where a page's owner is kept; NULL: nowhere. To be put with page_ext_put(). */
static u32 *page_tag(struct page *page, struct page_ext **ext)
{
	*ext = memio_at_boot ? page_ext_get(page) : NULL;
	return *ext ? &((struct page_tag *)page_ext_data(*ext, &page_memio_ops))->owner : NULL;
}

/* Sets a page's owner; owners' counts of pages follow. */
static void set_page_owner(struct page *page, u32 owner)
{
	struct page_ext *ext;
	u32 *tag = page_tag(page, &ext);
	u32 old;

	if (!tag)
		return;
	if (READ_ONCE(*tag) != owner) {
		old = xchg(tag, owner);
		if (owner)
			memio_owner_dirty(owner, 1);
		if (old)
			memio_owner_dirty(old, -1);
	}
	page_ext_put(ext);
}

static u32 page_owner_of(struct page *page)
{
	struct page_ext *ext;
	u32 *tag = page_tag(page, &ext);
	u32 owner = 0;

	if (tag) {
		owner = READ_ONCE(*tag);
		page_ext_put(ext);
	}
	return owner;
}

void __memio_folio_dirtied(struct folio *folio)
{
	long i, nr = folio_nr_pages(folio);
	u32 owner = memio_current_owner();

	/* A flusher that puts a folio back is not who made it dirty. */
	if (!owner || !memio_at_boot)
		return;
	/* Then only a part of it is, and __memio_folio_range_dirtied() knows which. */
	if (IS_ENABLED(CONFIG_FS_IOMAP) && nr > 1 && folio->mapping &&
	    folio->mapping->a_ops->dirty_folio == iomap_dirty_folio)
		return;
	for (i = 0; i < nr; i++)
		set_page_owner(folio_page(folio, i), owner);
}

void __memio_folio_range_dirtied(struct folio *folio, size_t off, size_t len)
{
	u32 owner = memio_current_owner();
	size_t i;

	if (!owner || !memio_at_boot)
		return;
	for (i = off >> PAGE_SHIFT; i <= (off + len - 1) >> PAGE_SHIFT; i++)
		set_page_owner(folio_page(folio, i), owner);
}

void __memio_folio_range_is_dirty(struct folio *folio, size_t off, size_t len)
{
	u32 owner = memio_current_owner();
	struct page_ext *ext;
	size_t i;
	u32 *tag;

	if (!owner || !memio_at_boot)
		return;
	for (i = off >> PAGE_SHIFT; i <= (off + len - 1) >> PAGE_SHIFT; i++) {
		tag = page_tag(folio_page(folio, i), &ext);
		if (!tag)
			continue;
		if (!READ_ONCE(*tag) && !cmpxchg(tag, 0, owner))
			memio_owner_dirty(owner, 1);
		page_ext_put(ext);
	}
}

/*
 * A folio may become dirty again at any time: first its flag is set, then its owner.
 * So after an owner was taken away, look at the flag once more and put it back.
 */
void __memio_folio_cleaned(struct folio *folio)
{
	long i, nr = folio_nr_pages(folio);
	struct page_ext *ext;
	u32 *tag, owner;

	if (!memio_at_boot || folio_test_dirty(folio) || folio_test_anon(folio))
		return;
	for (i = 0; i < nr; i++) {
		tag = page_tag(folio_page(folio, i), &ext);
		if (!tag)
			continue;
		owner = READ_ONCE(*tag);
		if (owner && cmpxchg(tag, owner, 0) == owner &&
		    (!folio_test_dirty(folio) || cmpxchg(tag, 0, owner)))
			memio_owner_dirty(owner, -1);
		page_ext_put(ext);
	}
}
EXPORT_SYMBOL_GPL(__memio_folio_cleaned);

void __memio_folio_removed(struct folio *folio)
{
	long i, nr = folio_nr_pages(folio);

	for (i = 0; memio_at_boot && i < nr; i++)
		set_page_owner(folio_page(folio, i), 0);
}

void __memio_folio_moved(struct folio *to, struct folio *from)
{
	long i, nr = folio_nr_pages(from);

	/* Pages of memory that is not a file's have none. */
	if (!memio_at_boot || folio_test_anon(from))
		return;
	for (i = 0; i < nr; i++) {
		set_page_owner(folio_page(to, i), page_owner_of(folio_page(from, i)));
		set_page_owner(folio_page(from, i), 0);
	}
}

/* Whose a bio is that is written for somebody else than its submitter; 0: it isn't. */
static u32 written_for(struct bio *bio)
{
	struct folio *folio;
	struct page *page;

	if (!op_is_write(bio_op(bio)) || !bio_has_data(bio))
		return 0;
	page = bio_page(bio);
	folio = page_folio(page);
	if (!folio_test_writeback(folio))
		return 0;
	if (!folio_test_swapcache(folio))
		return page_owner_of(page);
	return memio_swap_owner(folio, memio_current_owner());
}

void __memio_bio_submit(struct bio *bio)
{
	if (!bio->bi_memio)
		bio->bi_memio = written_for(bio) ?: memio_current_owner();
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

/*
 * Who pays for writing a page. Not under writeback, it is not the page cache's; but it may
 * be the kernel's own, in place of such a one.
 */
static u32 writer_of(struct page *page, struct bio *bio)
{
	struct folio *folio = page_folio(page);
	u32 owner = 0;

	if (folio_test_writeback(folio) || !folio->mapping)
		owner = page_owner_of(page);
	return owner ?: bio->bi_memio;
}

void __memio_bio_replaced(struct bio *bio, struct bio *src)
{
	struct bvec_iter to = bio->bi_iter, from = src->bi_iter;
	struct bio_vec t, f;
	unsigned int len;

	while (memio_at_boot && to.bi_size && from.bi_size) {
		t = bio_iter_iovec(bio, to);
		f = bio_iter_iovec(src, from);
		len = min(t.bv_len, f.bv_len);
		set_page_owner(t.bv_page, writer_of(f.bv_page, src));
		bio_advance_iter_single(bio, &to, len);
		bio_advance_iter_single(src, &from, len);
	}
}
EXPORT_SYMBOL_GPL(__memio_bio_replaced);

/* Data lie in pages, in whole lines. */
static void charge_data(u16 dev, u32 owner, u32 to, u32 from)
{
	struct memio_move move = { to, from, to, from };

	if (to || from)
		memio_charge(dev, owner, &move, &move);
}

/* Charges what was written, page by page. */
static void written(u16 dev, struct bio *bio, unsigned int bytes)
{
	struct bvec_iter iter, start = bio->bi_iter;
	u32 owner, run_owner = bio->bi_memio, run = 0;
	struct bio_vec bv;

	start.bi_size = bytes;
	__bio_for_each_segment(bv, bio, iter, start) {
		owner = writer_of(bv.bv_page, bio);
		if (owner != run_owner) {
			charge_data(dev, run_owner, run, 0);
			run_owner = owner;
			run = 0;
		}
		run += bv.bv_len;
	}
	charge_data(dev, run_owner, run, 0);
}

void __memio_bio_done(struct request *rq, struct bio *bio, unsigned int bytes)
{
	u16 dev = rq->q->memio_dev;

	if (!dev || !bytes || !moves_data(rq))
		return;

	if (!op_is_write(req_op(rq)))
		charge_data(dev, bio->bi_memio, 0, bytes);
	else if (memio_at_boot)
		written(dev, bio, bytes);
	else
		charge_data(dev, bio->bi_memio, bytes, 0);
}

void __memio_descriptors(struct request *rq, unsigned int to, unsigned int from)
{
	struct memio_move move = {
		.to = to,
		.from = from,
		.to_lines = round_up(to, MEMIO_LINE),
		.from_lines = round_up(from, MEMIO_LINE),
	};

	memio_charge(rq->q->memio_dev, rq->bio ? rq->bio->bi_memio : 0, &move, &move);
}
EXPORT_SYMBOL_GPL(__memio_descriptors);

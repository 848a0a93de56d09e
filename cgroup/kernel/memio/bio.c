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
 * Limits can't wait for that: by then gigabytes may be dirty. So if there are limits
 * a page is charged to them when it becomes dirty, and the owner's tag says that it is paid for
 * (PAGE_PAID). Whose group is over a limit then waits in balance_dirty_pages(), folio by
 * folio (throttle.c). If the page is never written, as its file is truncated or removed, the limits
 * get that back. This needs the device, so it goes for file systems that lie on a disk or a
 * partition; with others, as on dm, limits are charged when the pages are written.
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
 * own account is the root's. Direct IO is always its submitter's: pages that it takes from a
 * mapping may be under writeback for somebody else.
 *
 * All that is with memio=tasks at boot. Without it there is no page_ext: what is written of
 * the page cache is charged, page by page, to the group that the page's memory is charged to
 * (memcg.c), and limits are charged then, not before.
 */

#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/iomap.h>
#include <linux/memcontrol.h>
#include <linux/memio_stop.h>
#include <linux/mm.h>
#include <linux/page_ext.h>
#include <linux/sched.h>

#include "internal.h"

static bool need_page_owner(void)
{
	return memio_page_owners;
}

/* The owner of a dirty page, and PAGE_PAID */
struct page_tag {
	u32 owner;
};

/* Limits have been charged with writing it. No id has this bit. */
#define PAGE_PAID	BIT(MEMIO_ID_BITS)

struct page_ext_operations page_memio_ops = {
	.size = sizeof(struct page_tag),
	.need = need_page_owner,
};

/* Where a page's tag is kept; NULL: nowhere. To be put with page_ext_put(). */
static u32 *page_tag(struct page *page, struct page_ext **ext)
{
	*ext = memio_page_owners ? page_ext_get(page) : NULL;
	return *ext ? &((struct page_tag *)page_ext_data(*ext, &page_memio_ops))->owner : NULL;
}

/* Sets a page's tag; owners' counts of pages follow. */
static void set_page_tag(struct page *page, u32 tag)
{
	struct page_ext *ext;
	u32 *at = page_tag(page, &ext);
	u32 old;

	if (!at)
		return;
	if (READ_ONCE(*at) != tag) {
		/* Before others can take it away */
		if (tag)
			memio_owner_dirty(tag & ~PAGE_PAID, 1);
		old = xchg(at, tag);
		if (old)
			memio_owner_dirty(old & ~PAGE_PAID, -1);
	}
	page_ext_put(ext);
}

static u32 page_tag_of(struct page *page)
{
	struct page_ext *ext;
	u32 *at = page_tag(page, &ext);
	u32 tag = 0;

	if (at) {
		tag = READ_ONCE(*at);
		page_ext_put(ext);
	}
	return tag;
}

/*
 * The file that a folio is of; NULL: it is none's, or none's any more. In RCU's read side, as
 * inodes are freed after a grace period: the folio may leave the page cache at any time.
 */
static struct address_space *mapping_of(const struct folio *folio)
{
	struct address_space *mapping = READ_ONCE(folio->mapping);

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "a folio's mapping may be freed");
	return (unsigned long)mapping & PAGE_MAPPING_FLAGS ? NULL : mapping;
}

/* The device that a folio will be written to; 0: it isn't known. */
static u16 device_of(const struct folio *folio)
{
	struct address_space *mapping;
	struct block_device *bdev;
	struct inode *inode;

	/* A folio that is locked keeps its mapping; that of another is not freed yet. */
	guard(rcu)();
	mapping = mapping_of(folio);
	if (!mapping)
		return 0;
	inode = mapping->host;
	bdev = sb_is_blkdev_sb(inode->i_sb) ? I_BDEV(inode) : inode->i_sb->s_bdev;
	return bdev ? bdev_get_queue(bdev)->memio_dev : 0;
}

/*
 * @len bytes from @off have become dirty, for which @owner pays. A page that was dirty without
 * being paid for will be charged when it is written, and then as a whole. One that is put back
 * before it was written (@again) has been charged.
 */
static void range_dirtied(struct folio *folio, size_t off, size_t len, u32 owner, bool again)
{
	size_t first = off >> PAGE_SHIFT, last = (off + len - 1) >> PAGE_SHIFT, i;
	u16 dev = memio_limits_on() ? device_of(folio) : 0;
	u32 bytes = 0, paid, old;

	for (i = first; dev && i <= last; i++) {
		old = page_tag_of(folio_page(folio, i));
		if (!old || (old & PAGE_PAID && !again))
			bytes += min(off + len, (i + 1) << PAGE_SHIFT) - max(off, i << PAGE_SHIFT);
	}
	paid = bytes && memio_limit_reserve(owner, dev, bytes) ? PAGE_PAID : 0;
	for (i = first; i <= last; i++) {
		old = dev ? page_tag_of(folio_page(folio, i)) : 0;
		set_page_tag(folio_page(folio, i), owner | (old ? old & PAGE_PAID : paid));
	}
}

void __memio_folio_dirtied(struct folio *folio)
{
	u32 owner = memio_current_owner();

	/* Who puts a folio back, a flusher or who syncs, has not made it dirty. */
	if (!owner || current->memio_puts_back)
		return;
	/* Then only a part of it is, and __memio_folio_range_dirtied() knows which. */
	if (IS_ENABLED(CONFIG_FS_IOMAP) && folio_test_large(folio) && folio->mapping &&
	    folio->mapping->a_ops->dirty_folio == iomap_dirty_folio)
		return;
	/* It may be under writeback: what was paid for is being written. */
	range_dirtied(folio, 0, folio_size(folio), owner, !folio_test_writeback(folio));
}

void __memio_folio_range_dirtied(struct folio *folio, size_t off, size_t len)
{
	u32 owner = memio_current_owner();

	if (owner)
		range_dirtied(folio, off, len, owner, false);
}

void __memio_folio_range_is_dirty(struct folio *folio, size_t off, size_t len)
{
	u32 owner = memio_current_owner();
	struct page_ext *ext;
	u32 paid, *tag;
	size_t i;

	if (!owner)
		return;
	/* As it was, but for groups without a limit: for them it makes no difference. */
	paid = memio_limits_on() && device_of(folio) ? PAGE_PAID : 0;
	for (i = off >> PAGE_SHIFT; i <= (off + len - 1) >> PAGE_SHIFT; i++) {
		tag = page_tag(folio_page(folio, i), &ext);
		if (!tag)
			continue;
		if (!READ_ONCE(*tag)) {
			memio_owner_dirty(owner, 1);
			if (cmpxchg(tag, 0, owner | paid))
				memio_owner_dirty(owner, -1);
		}
		page_ext_put(ext);
	}
}

/*
 * How much of a page limits were charged with, at least: of a large folio that iomap keeps track
 * of, perhaps one block.
 */
static u32 reserved_of(const struct folio *folio)
{
	struct address_space *mapping;

	guard(rcu)();
	mapping = mapping_of(folio);
	if (!IS_ENABLED(CONFIG_FS_IOMAP) || !mapping || !folio_test_large(folio) ||
	    mapping->a_ops->dirty_folio != iomap_dirty_folio)
		return PAGE_SIZE;
	return min(PAGE_SIZE, i_blocksize(mapping->host));
}

/*
 * A folio may become dirty again at any time: first its flag is set, then its owner.
 * So after an owner was taken away, look at the flag once more and put it back.
 *
 * One that is clean and was not under writeback won't be written: its file was truncated, or is
 * gone. What limits were charged with when it became dirty is given back.
 */
void __memio_folio_cleaned(struct folio *folio)
{
	bool gone = memio_limits_on() && !folio_test_writeback(folio) && folio->mapping;
	u32 *at, tag, given_to = 0, bytes = 0, each;
	long i, nr = folio_nr_pages(folio);
	struct page_ext *ext;

	if (folio_test_dirty(folio) || folio_test_anon(folio))
		return;
	each = gone ? reserved_of(folio) : 0;
	for (i = 0; i < nr; i++) {
		at = page_tag(folio_page(folio, i), &ext);
		if (!at)
			continue;
		tag = READ_ONCE(*at);
		if (tag && cmpxchg(at, tag, 0) == tag &&
		    (!folio_test_dirty(folio) || cmpxchg(at, 0, tag))) {
			if (each && tag & PAGE_PAID) {
				if (bytes && given_to != (tag & ~PAGE_PAID)) {
					memio_limit_give_back(given_to, device_of(folio), bytes);
					bytes = 0;
				}
				given_to = tag & ~PAGE_PAID;
				bytes += each;
			}
			memio_owner_dirty(tag & ~PAGE_PAID, -1);
		}
		page_ext_put(ext);
	}
	if (bytes)
		memio_limit_give_back(given_to, device_of(folio), bytes);
}
EXPORT_SYMBOL_GPL(__memio_folio_cleaned);

void __memio_folio_removed(struct folio *folio)
{
	long i, nr = folio_nr_pages(folio);

	/* Huge pages are never written, and there may be 262,144 in a folio. */
	if (folio_test_hugetlb(folio))
		return;
	for (i = 0; i < nr; i++)
		set_page_tag(folio_page(folio, i), 0);
}

void __memio_folio_moved(struct folio *to, struct folio *from)
{
	long i, nr = folio_nr_pages(from);

	/* Pages of memory that is not a file's have none. */
	if (folio_test_anon(from) || folio_test_hugetlb(from))
		return;
	for (i = 0; i < nr; i++) {
		set_page_tag(folio_page(to, i), page_tag_of(folio_page(from, i)));
		set_page_tag(folio_page(from, i), 0);
	}
}

/*
 * Who has to make room in a journal writes what others have logged, as it lies in the page
 * cache: it is dirty, and no writeback. What a kernel thread writes so goes to the journal.
 * Only a file's data: a device's page stays dirty, and its first dirtier's, however often
 * others write their part of it (sync_dirty_buffer()). The inode may be on its way out.
 */
static bool written_in_place(const struct folio *folio)
{
	struct address_space *mapping;

	if (!folio_test_dirty(folio) || current->flags & PF_KTHREAD)
		return false;
	guard(rcu)();
	mapping = mapping_of(folio);
	return mapping && mapping->host->i_sb->s_bdev;
}

/* Who has made a page dirty, and PAGE_PAID; its memory's group, where pages have no tag. */
static u32 dirty_owner(struct page *page, struct folio *folio)
{
	return memio_page_owners ? page_tag_of(page) : memio_folio_owner(folio);
}

/*
 * Whose a bio is that is written for somebody else than its submitter; 0: it isn't. The root has
 * a name here, or what is nobody's would be whoever's comes by later.
 */
static noinline u32 written_for(struct bio *bio)
{
	struct folio *folio;
	struct page *page;

	if (!bio_has_data(bio))
		return 0;
	page = bio_page(bio);
	folio = page_folio(page);
	if (folio_test_writeback(folio) && folio_test_swapcache(folio))
		return memio_swap_owner(folio, memio_current_owner());
	if (!folio_test_writeback(folio) && !written_in_place(folio))
		return 0;
	return (dirty_owner(page, folio) & ~PAGE_PAID) ?: memio_root.owner;
}

void __memio_bio_submit(struct bio *bio)
{
	u32 owner;

	if (memio_bio_owner(bio))
		return;
	/* Direct IO, of pinned pages or not: perhaps of a file that another writes back. */
	if (bio_flagged(bio, BIO_PAGE_PINNED))
		bio->bi_memio = MEMIO_BIO_DIRECT;
	owner = bio->bi_memio || !op_is_write(bio_op(bio)) ? 0 : written_for(bio);
	bio->bi_memio |= owner ?: memio_current_owner();
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

/* Whether a folio is the page cache's and being written. */
static bool cached_written(const struct folio *folio)
{
	return folio_test_writeback(folio) && folio->mapping && !folio_test_swapcache(folio);
}

/*
 * Who pays for writing a page, and whether limits are paid. Not under writeback, it is not
 * the page cache's; but it may be the kernel's own, in place of such a one. A page of a file
 * that a kernel thread has made dirty is nobody's, also beside those of others in a bio.
 */
static u32 writer_of(struct page *page, struct bio *bio)
{
	struct folio *folio = page_folio(page);

	if (bio->bi_memio & MEMIO_BIO_DIRECT)
		return memio_bio_owner(bio);
	if (cached_written(folio))
		return dirty_owner(page, folio);
	if (folio_test_writeback(folio) || !folio->mapping)
		return page_tag_of(page) ?: memio_bio_owner(bio);
	return memio_bio_owner(bio);
}

void __memio_bio_replaced(struct bio *bio, struct bio *src)
{
	struct bvec_iter to = bio->bi_iter, from = src->bi_iter;
	struct bio_vec t, f;
	unsigned int len;

	while (to.bi_size && from.bi_size) {
		t = bio_iter_iovec(bio, to);
		f = bio_iter_iovec(src, from);
		len = min(t.bv_len, f.bv_len);
		set_page_tag(t.bv_page, writer_of(f.bv_page, src) ?: memio_root.owner);
		bio_advance_iter_single(bio, &to, len);
		bio_advance_iter_single(src, &from, len);
	}
}
EXPORT_SYMBOL_GPL(__memio_bio_replaced);

/* Data lie in pages, in whole lines. @tag: the owner, and PAGE_PAID */
static noinline void charge_data(u16 dev, u32 tag, u32 to, u32 from)
{
	struct memio_move move;

	/* A stock has 32 bits for what it gathers, and a bio may have almost as much. */
	for (; to || from; to -= move.to, from -= move.from) {
		move.to = min(to, SZ_1G);
		move.from = min(from, SZ_1G);
		move.to_lines = move.to;
		move.from_lines = move.from;
		if (tag & PAGE_PAID)
			memio_charge_paid(dev, tag & ~PAGE_PAID, &move);
		else
			memio_charge(dev, tag, &move, &move);
	}
}

/*
 * Whether two folios of a bio have one writer for certain, so that writer_of() need not look up the
 * group of each: pages without tags are their memory's group's. A bio of 1 MiB has 256 pages, and
 * may end in a hard interrupt.
 */
static bool same_writer(struct folio *folio, struct folio *last)
{
	if (memio_page_owners || !last)
		return false;
	return folio == last || (cached_written(folio) && cached_written(last) &&
				 folio_memcg(folio) == folio_memcg(last));
}

/* Charges what was written, page by page. */
static noinline void written(u16 dev, struct bio *bio, unsigned int bytes)
{
	struct bvec_iter iter, start = bio->bi_iter;
	u32 tag = 0, run_tag = memio_bio_owner(bio), run = 0;
	struct folio *folio, *last = NULL;
	struct bio_vec bv;

	start.bi_size = bytes;
	__bio_for_each_segment(bv, bio, iter, start) {
		folio = page_folio(bv.bv_page);
		if (!same_writer(folio, last))
			tag = writer_of(bv.bv_page, bio);
		last = folio;
		if (tag != run_tag) {
			charge_data(dev, run_tag, run, 0);
			run_tag = tag;
			run = 0;
		}
		run += bv.bv_len;
	}
	charge_data(dev, run_tag, run, 0);
}

void __memio_bio_done(struct request *rq, struct bio *bio, unsigned int bytes)
{
	bool write = op_is_write(req_op(rq));
	u16 dev = rq->q->memio_dev;
	u64 pair;

	if (!dev || !bytes || !moves_data(rq))
		return;
	if (write && !(bio->bi_memio & MEMIO_BIO_DIRECT)) {
		written(dev, bio, bytes);
		return;
	}
	if (unlikely(bytes > SZ_1G)) {
		charge_data(dev, memio_bio_owner(bio), write ? bytes : 0, write ? 0 : bytes);
		return;
	}
	pair = write ? memio_pair(bytes, 0) : memio_pair(0, bytes);
	memio_charge_own(dev, memio_bio_owner(bio), pair, pair);
}

void __memio_descriptors(struct request *rq, unsigned int to, unsigned int from)
{
	u16 dev = rq->q->memio_dev;

	if (dev)
		memio_charge_own(dev, rq->bio ? memio_bio_owner(rq->bio) : 0, memio_pair(to, from),
				 memio_pair(round_up(to, MEMIO_LINE), round_up(from, MEMIO_LINE)));
}
EXPORT_SYMBOL_GPL(__memio_descriptors);

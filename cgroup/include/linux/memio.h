/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: memory bandwidth of tasks, control groups and devices
 *
 * What the rest of the kernel calls. Each hook is one inline function of this file, or of
 * memio_sock.h if it looks into packets or sockets, which is nothing without CONFIG_CGROUP_MEMIO
 * and a no-op instruction while memio is off. Functions whose names begin with __ do the work.
 *
 * Tags: a bio has its owner's id in bi_memio, and so has a packet in memio on its
 * way out. One that has come in (memio_rx) has there the device and the bytes that are
 * still to be claimed by whoever reads it; a copy of it has none of them.
 */
#ifndef _LINUX_MEMIO_H
#define _LINUX_MEMIO_H

#include <linux/blk_types.h>
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/memio_cpu.h>
#include <linux/sched.h>
#include <linux/types.h>

struct folio;
struct gendisk;
struct net_device;
struct page_ext_operations;
struct pid;
struct pid_namespace;
struct request;
struct seq_file;
struct signal_struct;
struct sk_buff;
struct sock;

/**
 * struct memio_tx - what a driver is about to send
 * @bytes:		bytes that are read for it, and above them those written when it is sent
 * @lines:		likewise, in whole lines of the cache
 * @owner:		whose it is; 0: the kernel's own
 * @dev:		the device; 0: it is not to be charged
 * @forwarded:		it has come in from outside
 */
struct memio_tx {
	u64 bytes;
	u64 lines;
	u32 owner;
	u16 dev;
	bool forwarded;
};

/**
 * struct memio_ring - what a network device moves beside a packet's data, in bytes
 * @tx_packet:		read for each packet that is sent
 * @tx_piece:		read for each of its pieces
 * @tx_list:		read for one that has several, of where the list of them is
 * @tx_offload:		read for what is to be computed (checksum, segmentation)
 * @tx_done:		written for a packet when it is sent
 * @rx_free:		read for each packet that comes in, of the buffer it is for
 * @rx_packet:		written for each packet that comes in, beside its bytes
 * @tx_reads:		at how many places what is beside a packet's pieces is read: each is a
 *			line, however few of its bytes are wanted
 * @tx_writes:		at how many places it is written when it is sent
 * @rx_reads:		at how many places is read for each packet that comes in
 */
struct memio_ring {
	u16 tx_packet;
	u16 tx_piece;
	u16 tx_list;
	u16 tx_offload;
	u16 tx_done;
	u16 rx_free;
	u16 rx_packet;
	u8 tx_reads;
	u8 tx_writes;
	u8 rx_reads;
};

/*
 * Descriptors of 16 bytes, one for each piece and one for offloads, of which the status
 * is written back when a packet is sent (8 bytes), or the whole. A device whose driver
 * does not say is taken for one of the former.
 */
extern const struct memio_ring memio_ring_status;
extern const struct memio_ring memio_ring_whole;

extern struct page_ext_operations page_memio_ops;

#ifdef CONFIG_CGROUP_MEMIO

/* A driver says which its device has, before the device is registered. */
#define memio_set_ring(netdev, ring)	((netdev)->memio_ring = (ring))

DECLARE_STATIC_KEY_FALSE(memio_key);
DECLARE_STATIC_KEY_FALSE(memio_tags_key);
DECLARE_STATIC_KEY_FALSE(memio_pages_key);

/**
 * memio_enabled - whether anything is to be accounted
 *
 * Context: Any.
 * Return: true while memio is on; without CONFIG_CGROUP_MEMIO a constant, so that hooks
 * are nothing.
 */
static inline bool memio_enabled(void)
{
	return static_branch_unlikely(&memio_key);
}

/**
 * memio_tags - whether packets and bios may have tags
 *
 * Context: Any.
 * Return: true once memio has been on.
 */
static inline bool memio_tags(void)
{
	return static_branch_unlikely(&memio_tags_key);
}

/**
 * memio_pages - whether pages may have tags
 *
 * Context: Any.
 * Return: true with memio=tasks at boot, once memio has been on.
 */
static inline bool memio_pages(void)
{
	return static_branch_unlikely(&memio_pages_key);
}

void memio_signal_free(struct signal_struct *sig);
void memio_disk_add(struct gendisk *disk);
void memio_disk_del(struct gendisk *disk);
int proc_tid_membw(struct seq_file *m, struct pid_namespace *ns, struct pid *pid,
		   struct task_struct *task);
int proc_tgid_membw(struct seq_file *m, struct pid_namespace *ns, struct pid *pid,
		    struct task_struct *task);
void memio_task_status(struct seq_file *m, struct task_struct *p);

#else /* !CONFIG_CGROUP_MEMIO */

#define memio_set_ring(netdev, ring)					\
do {									\
	(void)(netdev);							\
	(void)(ring);							\
} while (0)

static inline bool memio_enabled(void)
{
	return false;
}

static inline bool memio_tags(void)
{
	return false;
}

static inline bool memio_pages(void)
{
	return false;
}

static inline void memio_signal_free(struct signal_struct *sig)
{
}

static inline void memio_disk_add(struct gendisk *disk)
{
}

static inline void memio_disk_del(struct gendisk *disk)
{
}

#endif /* CONFIG_CGROUP_MEMIO */

void __memio_skb_rx(struct sk_buff *skb);
void __memio_skb_merge(struct sk_buff *to, struct sk_buff *from);
bool __memio_skb_mergeable(const struct sk_buff *to, const struct sk_buff *from);
void __memio_skb_clear(struct sk_buff *skb);
void __memio_tx_begin(struct memio_tx *tx, struct sk_buff *skb,
		      const struct net_device *dev);
void __memio_tx_done(const struct memio_tx *tx);
u32 __memio_skb_lend(struct sk_buff *clone, struct sk_buff *skb);
void __memio_skb_lent_back(struct sk_buff *skb, u32 lent);
void __memio_skb_piece(struct sk_buff *to, const struct sk_buff *from);
void __memio_bio_submit(struct bio *bio);
void __memio_bio_replaced(struct bio *bio, struct bio *src);
void __memio_bio_done(struct request *rq, struct bio *bio, unsigned int bytes);
void __memio_descriptors(struct request *rq, unsigned int to, unsigned int from);
void __memio_folio_dirtied(struct folio *folio);
void __memio_folio_range_dirtied(struct folio *folio, size_t off, size_t len);
void __memio_folio_range_is_dirty(struct folio *folio, size_t off, size_t len);
void __memio_folio_cleaned(struct folio *folio);
void __memio_folio_removed(struct folio *folio);
void __memio_folio_moved(struct folio *to, struct folio *from);
void memio_task_update(struct task_struct *p);
void __memio_exit(struct task_struct *p);

/**
 * memio_skb_rx - a packet has come in
 * @skb:	the packet, with its device, before it may be merged with others
 *
 * Charges the device, and tags the packet. A packet that has a tag keeps it.
 *
 * Context: Any.
 */
static inline void memio_skb_rx(struct sk_buff *skb)
{
	if (memio_enabled())
		__memio_skb_rx(skb);
}

/**
 * memio_skb_lend - a clone goes to a socket that may be all that reads the packet
 * @clone:	the clone
 * @skb:	the packet
 * @only:	only such sockets read it: the clone gets what is to be claimed
 *
 * Context: Softirq.
 * Return: for memio_skb_lent_back().
 */
static inline u32 memio_skb_lend(struct sk_buff *clone, struct sk_buff *skb, bool only)
{
	return memio_enabled() && only ? __memio_skb_lend(clone, skb) : 0;
}

/**
 * memio_skb_lent_back - the socket did not take the clone
 * @skb:	the packet
 * @lent:	from memio_skb_lend()
 *
 * Context: Softirq.
 */
static inline void memio_skb_lent_back(struct sk_buff *skb, u32 lent)
{
	if (memio_enabled() && lent)
		__memio_skb_lent_back(skb, lent);
}

/**
 * memio_skb_merge - a packet's bytes go on in another
 * @to:		has them from here on, unless it has some of another device: a packet has one
 * @from:	has been merged into @to, or is given up for it
 *
 * Context: Any.
 */
static inline void memio_skb_merge(struct sk_buff *to, struct sk_buff *from)
{
	if (memio_enabled())
		__memio_skb_merge(to, from);
}

/**
 * memio_skb_mergeable - may two packets become one?
 * @to:		a packet
 * @from:	another
 *
 * Context: Any.
 * Return: true if they are of one process and group, or of one device.
 */
static inline bool memio_skb_mergeable(const struct sk_buff *to,
				       const struct sk_buff *from)
{
	return !memio_enabled() || __memio_skb_mergeable(to, from);
}

/**
 * memio_skb_clear - a packet begins anew
 * @skb:	the packet, which is used again without being freed
 *
 * Context: Any.
 */
static inline void memio_skb_clear(struct sk_buff *skb)
{
	if (memio_tags())
		__memio_skb_clear(skb);
}

/**
 * memio_skb_piece - a packet is cut into pieces, each a packet of its own
 * @to:		a piece: as @from it has an owner, or has come in
 * @from:	the packet; if it has come in, its bytes are not claimed
 *
 * Context: Any.
 */
static inline void memio_skb_piece(struct sk_buff *to, const struct sk_buff *from)
{
	if (memio_enabled())
		__memio_skb_piece(to, from);
}

/**
 * memio_tx_begin - a driver gets a packet to send
 * @tx:		what memio_tx_done() is to be given: the packet may be gone then
 * @skb:	the packet, which from here on has an owner if the device is none that moves
 *		bytes, be it the root
 * @dev:	the driver's device
 *
 * Context: Any.
 */
static inline void memio_tx_begin(struct memio_tx *tx, struct sk_buff *skb,
				  const struct net_device *dev)
{
	tx->dev = 0;
	if (memio_enabled())
		__memio_tx_begin(tx, skb, dev);
}

/**
 * memio_tx_done - a driver has taken a packet
 * @tx:	from memio_tx_begin(): the device is charged, and the packet's owner
 *
 * Context: Any.
 */
static inline void memio_tx_done(const struct memio_tx *tx)
{
	if (memio_enabled() && tx->dev)
		__memio_tx_done(tx);
}

/**
 * memio_bio_submit - a bio goes on its way
 * @bio:	the bio. Unless it has an owner: if its first page is written back,
 *		whoever made that dirty, the root if that isn't known; if it is swapped
 *		out, the group that it is charged to; the current task otherwise
 *
 * Context: Process.
 */
static inline void memio_bio_submit(struct bio *bio)
{
	if (memio_enabled())
		__memio_bio_submit(bio);
}

/**
 * memio_bio_done - a device has moved a part of a bio
 * @rq:		the request
 * @bio:	the bio, whose iterator is still at the beginning of the part
 * @bytes:	how long the part is
 *
 * Charges the device, and the bio's owner; what is written from the page cache
 * is charged to those who made its pages dirty.
 *
 * Context: Any; pages of the page cache are still under writeback.
 */
static inline void memio_bio_done(struct request *rq, struct bio *bio,
				  unsigned int bytes)
{
	if (memio_enabled())
		__memio_bio_done(rq, bio, bytes);
}

/**
 * memio_descriptors - what a request moves beside its data
 * @rq:		the request, with its bio
 * @to:		bytes of commands and lists, which the device reads
 * @from:	bytes of completions, which it writes
 *
 * Context: Any.
 */
static inline void memio_descriptors(struct request *rq, unsigned int to,
				     unsigned int from)
{
	if (memio_enabled())
		__memio_descriptors(rq, to, from);
}

/**
 * memio_folio_dirtied - a clean folio has become dirty
 * @folio:	the folio: the current task pays for writing it
 *
 * Context: Process, with the lock of the mapping's pages and interrupts off.
 */
static inline void memio_folio_dirtied(struct folio *folio)
{
	if (memio_pages() && memio_enabled())
		__memio_folio_dirtied(folio);
}

/**
 * memio_folio_range_dirtied - a clean part of a large folio has become dirty
 * @folio:	the folio, of a file system that keeps track of parts (iomap)
 * @off:	where the part begins, in bytes
 * @len:	its length, or 0: the current task pays for writing it
 *
 * Context: Process, or with a spinlock held.
 */
static inline void memio_folio_range_dirtied(struct folio *folio, size_t off, size_t len)
{
	if (memio_pages() && memio_enabled() && len)
		__memio_folio_range_dirtied(folio, off, len);
}

/**
 * memio_folio_range_is_dirty - a part of a large folio has become dirty, as is known by now
 * @folio:	the folio, which has been made dirty
 * @off:	where the part begins, in bytes
 * @len:	its length
 *
 * Writeback that ended before the folio was dirty has taken away what
 * memio_folio_range_dirtied() gave to pages: those without an owner get it again.
 *
 * Context: Process.
 */
static inline void memio_folio_range_is_dirty(struct folio *folio, size_t off, size_t len)
{
	if (memio_pages() && memio_enabled() && len)
		__memio_folio_range_is_dirty(folio, off, len);
}

/**
 * memio_folio_cleaned - a folio has been written, or will not be
 * @folio:	the folio; if it is dirty again, its pages keep their owners
 *
 * While memio is switched off, too, or who had made pages dirty would pay for them later.
 *
 * Context: Any.
 */
static inline void memio_folio_cleaned(struct folio *folio)
{
	if (memio_pages())
		__memio_folio_cleaned(folio);
}

/**
 * memio_folio_removed - a folio leaves the page cache
 * @folio:	the folio; its pages are nobody's
 *
 * Context: With the mapping's lock, interrupts off.
 */
static inline void memio_folio_removed(struct folio *folio)
{
	if (memio_pages())
		__memio_folio_removed(folio);
}

/**
 * memio_folio_moved - what a folio held lies elsewhere
 * @to:		where
 * @from:	where it was
 *
 * Context: Process.
 */
static inline void memio_folio_moved(struct folio *to, struct folio *from)
{
	if (memio_pages())
		__memio_folio_moved(to, from);
}

#ifdef CONFIG_CGROUP_MEMIO

/**
 * memio_fork - a task begins without an owner
 * @p:	the new task, a copy of its parent
 *
 * Context: Process.
 */
static inline void memio_fork(struct task_struct *p)
{
	p->memio_owner = 0;
	p->memio_limbo = false;
}

/**
 * memio_switch - a task leaves the CPU, blocked or preempted, of any class
 * @p:		the task: if it has an owner, what it has moved is turned into bandwidth, no
 *		more than ten times a second
 * @next:	the task that comes
 *
 * Context: With the run queue's lock, interrupts off.
 */
static inline void memio_switch(struct task_struct *p, struct task_struct *next)
{
	memio_cpu_switch(p, next);
	if (memio_enabled() && unlikely(READ_ONCE(p->memio_owner)) &&
	    time_after_eq(jiffies, p->memio_due))
		memio_task_update(p);
}

/**
 * memio_exit - a task is gone
 * @p:	the task
 *
 * Context: With its sighand's lock.
 */
static inline void memio_exit(struct task_struct *p)
{
	if (p->memio_owner)
		__memio_exit(p);
}

/* In bi_memio beside the owner: the pages are the submitter's choice, they don't tell whose. */
#define MEMIO_BIO_DIRECT	BIT(31)

static inline u32 memio_bio_owner(const struct bio *bio)
{
	return bio->bi_memio & ~MEMIO_BIO_DIRECT;
}

/**
 * memio_bio_init - a bio begins without an owner, whether memio is on or not
 * @bio:	the bio
 *
 * Context: Any.
 */
static inline void memio_bio_init(struct bio *bio)
{
	bio->bi_memio = 0;
}

/**
 * memio_bio_bvec - a bio takes over pages of an iterator
 * @bio:	the bio, which has no owner yet
 *
 * A task that has these has got them from somewhere else, as splice() does. A kernel thread
 * writes them for those who made them dirty, as a loop device does.
 *
 * Context: Process.
 */
static inline void memio_bio_bvec(struct bio *bio)
{
	if (memio_tags() && !(current->flags & PF_KTHREAD))
		bio->bi_memio |= MEMIO_BIO_DIRECT;
}

/**
 * memio_bio_clone - a bio is for whom another is
 * @bio:	the bio
 * @src:	the other
 *
 * Context: Any.
 */
static inline void memio_bio_clone(struct bio *bio, const struct bio *src)
{
	if (!memio_tags())
		return;
	bio->bi_memio = src->bi_memio;
	/* btrfs clones what was not submitted yet, and clones don't tell that pages are pinned. */
	if (src->bi_flags & BIT(BIO_PAGE_PINNED))
		bio->bi_memio |= MEMIO_BIO_DIRECT;
}

/**
 * memio_bio_replaced - a bio is for whom another is, in pages of its own
 * @bio:	the bio, with its pages, which hold as many bytes as those of
 * @src:	the other; owners of its pages go with them. memio_folio_cleaned() has
 *		to be called for the new ones before they are freed
 *
 * Context: Process.
 */
static inline void memio_bio_replaced(struct bio *bio, struct bio *src)
{
	if (!memio_tags())
		return;
	bio->bi_memio = src->bi_memio;
	if (memio_pages() && memio_enabled())
		__memio_bio_replaced(bio, src);
}

/**
 * memio_act_for - a kernel thread does what a bio asks for
 * @bio:	whose owner pays for what the thread does from here on; NULL: the thread
 *		is itself again
 *
 * Context: Process, a kernel thread or a work item.
 */
static inline void memio_act_for(const struct bio *bio)
{
	if (memio_tags())
		WRITE_ONCE(current->memio_owner, bio ? memio_bio_owner(bio) : 0);
}

/**
 * memio_puts_back - pages become dirty again that could not be written
 * @on:		from here on; false: no longer. They stay whose they are
 *
 * Context: Process.
 */
static inline void memio_puts_back(bool on)
{
	if (memio_tags())
		current->memio_puts_back = on;
}

#else /* !CONFIG_CGROUP_MEMIO */

static inline void memio_fork(struct task_struct *p)
{
}

static inline void memio_switch(struct task_struct *p, struct task_struct *next)
{
}

static inline void memio_exit(struct task_struct *p)
{
}

static inline void memio_bio_init(struct bio *bio)
{
}

static inline void memio_bio_bvec(struct bio *bio)
{
}

static inline void memio_bio_clone(struct bio *bio, const struct bio *src)
{
}

static inline void memio_bio_replaced(struct bio *bio, struct bio *src)
{
}

static inline void memio_act_for(const struct bio *bio)
{
}

static inline void memio_puts_back(bool on)
{
}

static inline void memio_task_status(struct seq_file *m, struct task_struct *p)
{
}

#endif /* CONFIG_CGROUP_MEMIO */

#endif /* _LINUX_MEMIO_H */

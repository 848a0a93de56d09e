// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio's programs for a kernel that has no memio: they count the bytes that devices move, by
 * group and by thread. They look on, and change nothing.
 *
 *	disks		A bio is charged once, when it becomes part of a request of a disk
 *			(block_getrq, or a merge), in the context of the task that submits it.
 *			What is written back is charged page by page: to the group whose memory
 *			the page is, and to the task that made the page dirty
 *			(writeback_dirty_folio).
 *	sent		A packet is charged when the driver gets it (net_dev_start_xmit), to the
 *			task that last sent by its socket.
 *	received	A device's bytes are counted when the stack gets a packet
 *			(netif_receive_skb). An owner is charged when a task reads it. TCP
 *			puts segments together before they are read, and the headers are lost
 *			then: a connection has the sum of those that came and whose data
 *			nobody has read yet, and each read takes its part.
 *
 *	CPUs		Each CPU has a counter of lines that missed the last level cache. What it
 *			has counted is charged to the task that ran since it was last looked at:
 *			when the task leaves the CPU (sched_switch), and when the library looks.
 *
 * The declarations below have only the fields that the programs read. Where these are in the
 * kernel that runs, libbpf finds out when it loads the programs (CO-RE).
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "count.h"

char LICENSE[] SEC("license") = "GPL";

typedef __u64 u64;
typedef __u32 u32;
typedef __u16 u16;
typedef __u8 u8;

#define CO_RE	__attribute__((preserve_access_index))
/* The verifier looks at a global function once, and not anew for each call. */
#define ALONE	__attribute__((noinline))

#define OP_MASK		0xff		/* REQ_OP_MASK */
#define OP_READ		0
#define OP_WRITE	1
#define OP_ZONE_APPEND	7
#define OP_DRV_IN	34
#define OP_DRV_OUT	35
#define FAMILY_INET	2
#define FAMILY_INET6	10
#define FAMILY_PACKET	17
#define PROTOCOL_TCP	6
#define PROTOCOL_UDP	17
#define PROTOCOL_MPTCP	262
#define FLAG_KTHREAD	0x00200000	/* PF_KTHREAD */
#define GSO_TCP		(1 << 0 | 1 << 4)	/* SKB_GSO_TCPV4, SKB_GSO_TCPV6 */
#define MEMCG_FLAGS	7ul
#define MAPPING_FLAGS	3ul
#define PAGES_MOST	(1u << 16)	/* of a bio */
#define LEVELS		12		/* directories above a device that are looked at */
#define GROUPS_DEEP	24
#define LINE		64

/* ---- the kernel's types ---- */

struct kernfs_node {
	u64 id;
} CO_RE;

struct cgroup_root {
	int hierarchy_id;
} CO_RE;

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} CO_RE;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
} CO_RE;

struct css_set {
	struct cgroup *dfl_cgrp;
} CO_RE;

struct task_struct {
	unsigned int flags;
	struct task_struct *group_leader;
	u64 start_boottime;
	struct css_set *cgroups;
} CO_RE;

struct kobject {
	const char *name;
} CO_RE;

struct bus_type {
	const char *name;
} CO_RE;

struct device {
	struct kobject kobj;
	struct device *parent;
	struct bus_type *bus;
} CO_RE;

struct block_device;

struct gendisk {
	struct block_device *part0;
	u64 diskseq;
} CO_RE;

struct block_device {
	struct gendisk *bd_disk;
	struct device bd_device;
} CO_RE;

enum req_flag_bits {
	__REQ_SWAP = 24,
};

struct bvec_iter {
	unsigned int bi_size, bi_idx, bi_bvec_done;
} CO_RE;

enum pageflags {
	PG_writeback = 15,
};

struct page {
	unsigned long flags;
	unsigned long compound_head;
	unsigned long memcg_data;
	void *mapping;
} CO_RE;

/* Of three words, in all kernels: it is copied as a whole. */
struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
} CO_RE;

struct blkcg {
	struct cgroup_subsys_state css;
} CO_RE;

struct blkcg_gq {
	struct blkcg *blkcg;
} CO_RE;

struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	struct blkcg_gq *bi_blkg;
	struct bio_vec *bi_io_vec;
} CO_RE;

struct request_queue {
	struct gendisk *disk;
} CO_RE;

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	struct bio *bio;
} CO_RE;

struct ns_common {
	unsigned int inum;
} CO_RE;

struct net {
	struct ns_common ns;
} CO_RE;

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
	struct device dev;
} CO_RE;

struct sock_common {
	u16 skc_family;
	possible_net_t skc_net;
} CO_RE;

struct sock_cgroup_data {
	struct cgroup *cgroup;
} CO_RE;

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	struct sock_cgroup_data sk_cgrp_data;
} CO_RE;

struct socket {
	struct sock *sk;
} CO_RE;

struct skb_shared_info {
	u16 gso_size, gso_segs;
	unsigned int gso_type;
} CO_RE;

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned int len, data_len;
	int skb_iif;
	u32 napi_id;
	u16 transport_header, mac_header;
	unsigned int end;
	unsigned char *head, *data;
} CO_RE;

struct msghdr;

/* ---- maps ---- */

/* Each CPU has its own bytes: a group's tasks run on many at once. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, COUNT_GROUPS);
	__type(key, struct count_group_key);
	__type(value, struct count_bytes);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_SLOTS + 1);	/* and COUNT_CPU */
	__type(key, u32);
	__type(value, struct count_bytes);
} totals SEC(".maps");

/* A group's id -> that of the group above it */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_GROUPS);
	__type(key, u64);
	__type(value, u64);
} parents SEC(".maps");

/* A thread's bytes can come from several CPUs: others write its pages out. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_TASKS);
	__type(key, struct count_task_key);
	__type(value, struct count_task);
} tasks SEC(".maps");

/* Of what CPUs read, a thread's bytes: nearly all threads have some. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_READERS);
	__type(key, struct count_task_key);
	__type(value, struct count_task);
} readers SEC(".maps");

/* The number of a disk, which no other has until the next boot -> its slot */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_SLOTS);
	__type(key, u64);
	__type(value, u32);
} disks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_SLOTS);
	__type(key, struct count_net_key);
	__type(value, u32);
} interfaces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COUNT_SLOTS);
	__type(key, u32);
	__type(value, char[COUNT_NAME]);
} names SEC(".maps");

/* Who sent by a socket last */
struct sender {
	u64 group, start, leader;
	u32 pid, tid;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sender);
} senders SEC(".maps");

/* A thread's number -> what else is known of a thread that made pages dirty */
struct writer {
	u64 start, leader;
	u32 pid;
};

/* No @tid: the task that runs */
struct thread {
	struct writer writer;
	u32 tid;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COUNT_WRITERS);
	__type(key, u32);
	__type(value, struct writer);
} writers SEC(".maps");

/* The thread that made a page dirty last on a CPU: most are made dirty by the same thread. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} last_writer SEC(".maps");

/*
 * Of each page, who made it dirty: the thread's number, and above it a tag. Pages that are side by
 * side in memory are so here, too. In a machine with more pages than this has room for, two pages may
 * want the same place. The later one has it, and the tag says so.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);		/* the library says how many: a power of two */
	__type(key, u32);
	__type(value, u64);
} dirtied SEC(".maps");

const volatile unsigned int dirtied_mask, page_shift = 12;

/*
 * What came to a connection and was not read yet: bytes of data, and of the headers before them.
 * @slot: by which device the last of them came, if it went through others after that
 */
struct unread {
	u64 data, headers;
	u32 slot;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct unread);
} arrivals SEC(".maps");

/*
 * A packet that came by a device and goes on to a virtual one, such as a container's: where its
 * data begin, which stays, -> the device's slot. Most are read, and leave the map, soon after.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COUNT_PASSING);
	__type(key, u64);
	__type(value, u32);
} passing SEC(".maps");

/* The number of a device's queue, which a packet keeps in a VLAN -> the device's slot */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COUNT_QUEUES);
	__type(key, u32);
	__type(value, u32);
} queues SEC(".maps");

/* The queue that a CPU looked at last */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} queue_seen SEC(".maps");

/* Each CPU's counter; the library knows how many CPUs there are. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct count_look);
} counted SEC(".maps");

struct count_lost lost;
unsigned int slots_used = 1;
bool any_passed;
/*
 * It is 0, and the verifier does not know. Before Linux 6.7, the verifier looks at the first turn
 * of bpf_loop() alone, and takes out what can't happen in this turn.
 */
unsigned long long nothing;

/* ---- devices ---- */

/*
 * The name of the closest PCI function above a device: it does the DMA. @device is the first that
 * is looked at. A slot; 0: there is none, or no room.
 */
ALONE u32 slot_of_device(u64 device)
{
	char name[COUNT_NAME] = {}, bus[8];
	struct device *d = (struct device *)device;
	const char *text;
	u32 slot;
	int i;

	for (i = 0; i < LEVELS && d; i++) {
		text = BPF_CORE_READ(d, bus, name);
		__builtin_memset(bus, 0, sizeof(bus));
		if (text)
			bpf_probe_read_kernel_str(bus, sizeof(bus), text);
		if (bus[0] == 'p' && bus[1] == 'c' && bus[2] == 'i' && !bus[3])
			break;
		d = BPF_CORE_READ(d, parent);
	}
	if (i == LEVELS || !d)
		return 0;
	text = BPF_CORE_READ(d, kobj.name);
	if (bpf_probe_read_kernel_str(name, sizeof(name), text) <= 1)
		return 0;
	slot = __sync_fetch_and_add(&slots_used, 1);
	if (slot >= COUNT_SLOTS) {
		__sync_fetch_and_add(&lost.slots, 1);
		return 0;
	}
	bpf_map_update_elem(&names, &slot, name, BPF_ANY);
	return slot;
}

static __always_inline u32 slot_of_disk(struct gendisk *disk)
{
	u64 seq = disk->diskseq;
	u32 *found, slot;

	/* loop, dm, md: there may be many of them, one after the other */
	if (!disk->part0->bd_device.parent)
		return 0;
	found = bpf_map_lookup_elem(&disks, &seq);
	if (found)
		return *found;
	slot = slot_of_device((u64)BPF_CORE_READ(disk, part0, bd_device.parent));
	bpf_map_update_elem(&disks, &seq, &slot, BPF_ANY);
	return slot;
}

static __always_inline u32 slot_of_interface(struct net_device *dev)
{
	struct device *above = dev->dev.parent;
	struct count_net_key key = {};
	u32 *found, slot;

	/* lo, veth, bridges */
	if (!above)
		return 0;
	key.space = dev->nd_net.net->ns.inum;
	key.ifindex = dev->ifindex;
	found = bpf_map_lookup_elem(&interfaces, &key);
	if (found)
		return *found;
	slot = slot_of_device((u64)BPF_CORE_READ(dev, dev.parent));
	bpf_map_update_elem(&interfaces, &key, &slot, BPF_ANY);
	return slot;
}

/* ---- charges ---- */

/*
 * The group of the task that runs. It is read as a number: a global function takes no pointers
 * of the verifier's.
 */
static __always_inline struct cgroup *group_of(struct task_struct *task)
{
	return BPF_CORE_READ(task->cgroups, dfl_cgrp);
}

/* An interrupt may come, and charge the same group on this CPU. */
static __always_inline void add_bytes(struct count_bytes *b, u64 to, u64 from)
{
	if (to)
		__sync_fetch_and_add(&b->to, to);
	if (from)
		__sync_fetch_and_add(&b->from, from);
}

static __always_inline void add_total(u32 slot, u64 to, u64 from)
{
	struct count_bytes *b = bpf_map_lookup_elem(&totals, &slot);

	if (b)
		add_bytes(b, to, from);
}

static __always_inline u64 id_of(struct cgroup *group)
{
	return BPF_CORE_READ(group, kn, id);
}

/* Where each of the groups above belongs, so that a group may go before it is looked for */
ALONE int note_parents(u64 address)
{
	struct cgroup *group = (struct cgroup *)address, *above;
	struct cgroup_subsys_state *css;
	u64 id, parent;
	int i;

	id = id_of(group);
	for (i = 0; i < GROUPS_DEEP; i++) {
		css = BPF_CORE_READ(group, self.parent);
		above = css ? BPF_CORE_READ(css, cgroup) : NULL;
		if (!above)
			break;
		parent = id_of(above);
		if (bpf_map_update_elem(&parents, &id, &parent, BPF_NOEXIST))
			break;
		group = above;
		id = parent;
	}
	return 0;
}

/* @group may be NULL, if its row is there already */
ALONE int add_group(u64 id, u64 group, u32 slot, u64 to, u64 from)
{
	struct count_group_key key = { .id = id, .slot = slot };
	struct count_bytes *b = bpf_map_lookup_elem(&groups, &key), fresh = {};

	if (!b) {
		bpf_map_update_elem(&groups, &key, &fresh, BPF_NOEXIST);
		b = bpf_map_lookup_elem(&groups, &key);
		if (!b) {
			__sync_fetch_and_add(&lost.group_bytes, to + from);
			return 0;
		}
		if (group)
			note_parents(group);
	}
	add_bytes(b, to, from);
	return 0;
}

/* The first time that it moves something through the slot */
ALONE int add_own_group(u32 slot, u64 to, u64 from)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct cgroup *mine = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	return add_group(id_of(mine), (u64)mine, slot, to, from);
}

/* To the group of the task that runs */
static __always_inline int add_own(u32 slot, u64 to, u64 from)
{
	struct count_group_key key = { .id = bpf_get_current_cgroup_id(), .slot = slot };
	struct count_bytes *b = bpf_map_lookup_elem(&groups, &key);

	if (!b)
		return add_own_group(slot, to, from);
	add_bytes(b, to, from);
	return 0;
}

/* @map: tasks, or readers */
static __always_inline void add_row(void *map, u32 tid, u32 pid, u64 start, u64 leader, u32 slot,
				    u64 to, u64 from)
{
	struct count_task_key key = { .tid = tid, .slot = slot };
	struct count_task *t = bpf_map_lookup_elem(map, &key), fresh = {};

	/* The thread has ended, and another one has its number; or the other way round. */
	if (t && t->start > start)
		return;
	if (t && t->start != start) {
		bpf_map_delete_elem(map, &key);
		t = NULL;
	}
	if (!t) {
		fresh.start = start;
		fresh.leader = leader;
		fresh.pid = pid;
		bpf_map_update_elem(map, &key, &fresh, BPF_NOEXIST);
		t = bpf_map_lookup_elem(map, &key);
		if (!t) {
			__sync_fetch_and_add(&lost.task_bytes, to + from);
			return;
		}
	}
	add_bytes(&t->bytes, to, from);
}

static __always_inline void add_task(u32 tid, u32 pid, u64 start, u64 leader, u32 slot, u64 to,
				     u64 from)
{
	add_row(&tasks, tid, pid, start, leader, slot, to, from);
}

/* The task that runs */
ALONE int add_current(u32 slot, u64 to, u64 from)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 ids = bpf_get_current_pid_tgid();

	add_task((u32)ids, ids >> 32, task->start_boottime, task->group_leader->start_boottime,
		 slot, to, from);
	return 0;
}

/* ---- disks ---- */

/* The group that a css belongs to, if that is in the hierarchy of version 2; else NULL */
static __always_inline struct cgroup *in_hierarchy(struct cgroup *group, struct cgroup *like)
{
	if (group == like || (group && BPF_CORE_READ(group, root) == BPF_CORE_READ(like, root)))
		return group;
	return NULL;
}

/* The first page of those that are kept together: it says whose they are. */
static __always_inline struct page *head_of(struct page *page)
{
	unsigned long head;

	if (!bpf_core_field_exists(page->compound_head))
		return page;
	head = BPF_CORE_READ(page, compound_head);
	return head & 1 ? (struct page *)(head - 1) : page;
}

/* A page without a file, as of a program's own memory: the task writes it itself. */
static __always_inline bool is_of_file(struct page *page)
{
	unsigned long mapping;

	if (!bpf_core_field_exists(page->mapping))
		return true;
	page = head_of(page);
	mapping = (unsigned long)BPF_CORE_READ(page, mapping);
	return mapping && !(mapping & MAPPING_FLAGS);
}

/* Where the table has a page; of two files, two threads or two pages there, the tags differ. */
static __always_inline u64 *entry_of(u64 page)
{
	u32 key = page >> 6 & dirtied_mask;

	return bpf_map_lookup_elem(&dirtied, &key);
}

static __always_inline u64 dirtied_by(u64 page, u64 mapping, u32 tid, u64 start)
{
	return tid | (u64)(u32)((mapping >> 4) + (page >> 6) + start) << 32;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(count_dirty)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const u64 ids = bpf_get_current_pid_tgid(), start = task->start_boottime;
	struct writer w = {};
	u64 page[2], *entry, *last;	/* the first page, and the file's mapping, as numbers */
	u32 tid = (u32)ids, zero = 0;

	last = bpf_map_lookup_elem(&last_writer, &zero);
	if (!last || bpf_probe_read_kernel(page, sizeof(page), ctx))
		return 0;
	entry = entry_of(page[0]);
	if (!entry)
		return 0;
	/* Now and then anew, as the map forgets those that nobody looks for. */
	if (*last != dirtied_by(0, 0, tid, start) || !(page[0] >> 6 & 255)) {
		w.start = start;
		w.leader = task->group_leader->start_boottime;
		w.pid = ids >> 32;
		if (bpf_map_update_elem(&writers, &tid, &w, BPF_ANY)) {
			*entry = 0;
			return 0;
		}
		*last = dirtied_by(0, 0, tid, start);
	}
	*entry = dirtied_by(page[0], page[1], tid, start);
	return 0;
}

/*
 * A walk over the pages of a bio. Pages that are side by side and have the same owner are charged
 * together, as a run.
 * @vec, @in:	the next piece of the bio, and what is left of this one
 * @page, @offset: where this piece goes on
 * @head: of the page before, the first of those that are kept together with it
 * @group, @thread: whose the run is
 */
struct walk {
	u64 vec, page, head, like, group, memcg, group_of_memcg;
	struct thread thread;
	u32 slot, in, offset, left, run;
};

/* Bytes that were written for a thread */
ALONE int add_written(const struct thread *t, u32 slot, u64 bytes)
{
	if (!t)
		return 0;
	if (!t->tid)
		return add_current(slot, bytes, 0);
	add_task(t->tid, t->writer.pid, t->writer.start, t->writer.leader, slot, bytes, 0);
	return 0;
}

static __always_inline void end_run(struct walk *w)
{
	struct cgroup *group = (struct cgroup *)(w->group ?: w->like);

	if (!w->run)
		return;
	add_group(id_of(group), (u64)group, w->slot, w->run, 0);
	add_written(&w->thread, w->slot, w->run);
	w->run = 0;
}

/* Whose memory the page is, if it is anybody's in the hierarchy of version 2 */
static __always_inline u64 group_of_page(struct walk *w)
{
	struct page *page = (struct page *)w->head;
	struct cgroup *group = NULL;
	unsigned long data;

	if (!bpf_core_field_exists(page->memcg_data))
		return w->like;
	data = BPF_CORE_READ(page, memcg_data);
	if (data != w->memcg) {
		if (data && !(data & MEMCG_FLAGS))
			group = in_hierarchy(BPF_CORE_READ((struct mem_cgroup *)data, css.cgroup),
					     (struct cgroup *)w->like);
		w->memcg = data;
		w->group_of_memcg = (u64)group ?: w->like;
	}
	return w->group_of_memcg;
}

/* Sets @t, the thread of the page before, to the one that made the page dirty. 1: it is another */
ALONE int find_thread(u64 address, struct thread *t)
{
	struct page *page = (struct page *)address;
	struct writer *found = NULL;
	u64 *entry, mapping = 0, flags = -1ull;
	u32 tid;

	if (!t)
		return 0;
	if (bpf_core_field_exists(page->mapping))
		mapping = (u64)BPF_CORE_READ(page, mapping);
	entry = entry_of(address);
	if (!entry)
		return 0;
	tid = (u32)*entry;
	/* A page that a task writes directly, from a file's mapping, is not written back. */
	if (bpf_core_field_exists(page->flags))
		flags = BPF_CORE_READ(page, flags);
	if (mapping & MAPPING_FLAGS || !(flags >> bpf_core_enum_value(enum pageflags, PG_writeback) & 1))
		mapping = 0;
	if (mapping && tid == t->tid &&
	    *entry == dirtied_by(address, mapping, tid, t->writer.start))
		return 0;
	if (mapping && tid)
		found = bpf_map_lookup_elem(&writers, &tid);
	if (found && *entry == dirtied_by(address, mapping, tid, found->start)) {
		t->writer = *found;
		t->tid = tid;
		return 1;
	}
	if (!t->tid)
		return 0;
	t->tid = 0;
	return 1;
}

/* The page at @w->page goes on with the run, or ends it and begins another. */
static __always_inline void look_at_page(struct walk *w)
{
	const u64 head = (u64)head_of((struct page *)w->page);
	struct thread thread = w->thread;
	bool other;
	u64 group;

	if (head == w->head)
		return;
	w->head = head;
	group = group_of_page(w);
	other = find_thread(head, &thread);
	if (group == w->group && !other)
		return;
	end_run(w);
	w->group = group;
	w->thread = thread;
}

static int charge_page(u32 i, struct walk *w)
{
	const u32 bytes = 1u << (page_shift & 31);
	struct bio_vec v;
	u32 n;

	if (!w->left)
		return 1;
	if (!w->in) {
		if (bpf_probe_read_kernel(&v, sizeof(v), (void *)w->vec) ||
		    v.bv_len <= w->offset)
			return 1;
		w->vec += sizeof(v);
		w->in = v.bv_len - w->offset;
		w->offset += v.bv_offset;
		w->page = (u64)v.bv_page + (w->offset / bytes) * bpf_core_type_size(struct page);
		w->offset %= bytes;
	}
	look_at_page(w);
	n = bytes - w->offset;
	if (n > w->in)
		n = w->in;
	if (n > w->left)
		n = w->left;
	w->run += n;
	w->in -= n;
	w->left -= n;
	w->offset = 0;
	w->page += bpf_core_type_size(struct page);
	return 0;
}

/*
 * Write-back: each page to the group whose memory it is, as that wrote it, and to the thread that
 * made it dirty. The second choice is the group that the file's pages belong to by the block
 * layer's view, and the task that runs.
 * @vec, @done: the bio's first piece, and what of it was done
 */
ALONE int charge_pages(u64 vec, u32 bytes, u32 done, u64 fallback, u32 slot)
{
	const u64 zero = nothing;
	struct walk w = {
		.vec = vec, .page = zero, .head = zero, .like = fallback, .group = zero,
		.memcg = zero, .group_of_memcg = zero, .thread = { { zero, zero, zero }, zero },
		.slot = slot, .in = zero, .offset = done, .left = bytes, .run = zero,
	};

	bpf_loop(PAGES_MOST, charge_page, &w, 0);
	w.run += w.left;
	end_run(&w);
	return 0;
}

static __always_inline int charge_bio(struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cgroup *mine, *group;
	const unsigned int op = bio->bi_opf & OP_MASK;
	const u64 bytes = bio->bi_iter.bi_size;
	const bool write = op == OP_WRITE || op == OP_ZONE_APPEND;
	const bool kernel = task->flags & FLAG_KTHREAD;
	/* Whoever takes the memory, its owner has caused it. */
	const bool swap = bio->bi_opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_SWAP) & 1;
	u64 vec;
	u32 slot;

	/* Flushes have no bytes, and of what is discarded or zeroed none are moved. */
	if (!bytes || (!write && op != OP_READ))
		return 0;
	slot = slot_of_disk(bio->bi_bdev->bd_disk);
	if (!slot)
		return 0;
	add_total(slot, write ? bytes : 0, write ? 0 : bytes);
	if (!kernel &&
	    (!write || (!swap && !is_of_file(BPF_CORE_READ(bio, bi_io_vec, bv_page))))) {
		add_current(slot, write ? bytes : 0, write ? 0 : bytes);
		return add_own(slot, write ? bytes : 0, write ? 0 : bytes);
	}
	mine = group_of(task);
	if (kernel && bpf_core_field_exists(bio->bi_blkg)) {
		/* For whom: the block layer knows a group, which may be the root. */
		bpf_core_read(&group, sizeof(group), &bio->bi_blkg->blkcg->css.cgroup);
		group = in_hierarchy(group, mine);
		if (group)
			mine = group;
	}
	if (write && !bpf_core_read(&vec, sizeof(vec), &bio->bi_io_vec))
		return charge_pages(vec + bio->bi_iter.bi_idx * sizeof(struct bio_vec), bytes,
				    bio->bi_iter.bi_bvec_done, (u64)mine, slot);
	add_current(slot, write ? bytes : 0, write ? 0 : bytes);
	add_group(id_of(mine), (u64)mine, slot, write ? bytes : 0, write ? 0 : bytes);
	return 0;
}

SEC("tp_btf/block_getrq")
int BPF_PROG(count_getrq, struct bio *bio)
{
	return charge_bio(bio);
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(count_backmerge, struct bio *bio)
{
	return charge_bio(bio);
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(count_frontmerge, struct bio *bio)
{
	return charge_bio(bio);
}

/* Commands that do not come from a file or a disk's file, as of nvme-cli: they have no bio above */
SEC("tp_btf/block_rq_issue")
int BPF_PROG(count_issue, struct request *rq)
{
	const unsigned int op = rq->cmd_flags & OP_MASK;
	struct gendisk *disk;
	u64 to, from;
	u32 slot;

	if (op != OP_DRV_IN && op != OP_DRV_OUT)
		return 0;
	disk = rq->q->disk;
	if (!disk || !rq->__data_len)
		return 0;
	slot = slot_of_disk(disk);
	if (!slot)
		return 0;
	to = op == OP_DRV_OUT ? rq->__data_len : 0;
	from = op == OP_DRV_IN ? rq->__data_len : 0;
	add_total(slot, to, from);
	add_current(slot, to, from);
	return add_own(slot, to, from);
}

/* ---- the network: sent ---- */

static __always_inline int note_sender(struct sock *sk)
{
	struct task_struct *task;
	struct sender *s;
	u64 ids, id;
	u16 family;

	if (!sk)
		return 0;
	family = sk->__sk_common.skc_family;
	if (family != FAMILY_INET && family != FAMILY_INET6 && family != FAMILY_PACKET)
		return 0;
	s = bpf_sk_storage_get(&senders, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s)
		return 0;
	task = bpf_get_current_task_btf();
	ids = bpf_get_current_pid_tgid();
	id = bpf_get_current_cgroup_id();
	if (s->tid == (u32)ids && s->start == task->start_boottime && s->group == id)
		return 0;
	if (s->group != id)
		note_parents((u64)group_of(task));
	s->group = id;
	s->start = task->start_boottime;
	s->leader = task->group_leader->start_boottime;
	s->pid = ids >> 32;
	s->tid = (u32)ids;
	return 0;
}

SEC("fentry/security_socket_sendmsg")
int BPF_PROG(count_sendmsg, struct socket *sock)
{
	return note_sender(sock->sk);
}

/* Before 6.5, sendfile() and splice() take this way. */
SEC("fentry/inet_sendpage")
int BPF_PROG(count_sendpage, struct socket *sock)
{
	return note_sender(sock->sk);
}

/*
 * A packet goes to an interface that is no device's. If a task here sends it, it did not come by a
 * device, though another packet's data may have been there.
 */
static __always_inline int note_passing(const struct sk_buff *skb, const struct net_device *dev)
{
	struct count_net_key key = { .ifindex = skb->skb_iif };
	u64 head = (u64)skb->head;
	u32 *slot;

	if (skb->sk) {
		if (any_passed)
			bpf_map_delete_elem(&passing, &head);
		return 0;
	}
	if (!key.ifindex)
		return 0;
	key.space = dev->nd_net.net->ns.inum;
	slot = bpf_map_lookup_elem(&interfaces, &key);
	if (!slot || !*slot)
		return 0;
	/* All CPUs read it for each packet. */
	if (!any_passed)
		any_passed = true;
	bpf_map_update_elem(&passing, &head, slot, BPF_ANY);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(count_xmit, const struct sk_buff *skb, const struct net_device *dev)
{
	const u32 slot = slot_of_interface((struct net_device *)dev);
	const u64 bytes = skb->len;
	struct cgroup *group = NULL;
	struct sock *sk;
	struct sender *s;
	u64 id = 1;

	if (!slot)
		return note_passing(skb, dev);
	add_total(slot, bytes, 0);
	sk = skb->sk;
	if (sk) {
		/* NULL of what is no full socket, too: a request, or TIME_WAIT */
		s = bpf_sk_storage_get(&senders, sk, NULL, 0);
		if (s && s->tid) {
			add_task(s->tid, s->pid, s->start, s->leader, slot, bytes, 0);
			add_group(s->group, 0, slot, bytes, 0);
			return 0;
		}
		if (bpf_core_field_exists(sk->sk_cgrp_data) &&
		    (sk->__sk_common.skc_family == FAMILY_INET ||
		     sk->__sk_common.skc_family == FAMILY_INET6))
			group = BPF_CORE_READ(sk, sk_cgrp_data.cgroup);
		if (group)
			id = id_of(group);
	}
	add_group(id ? id : 1, (u64)group, slot, bytes, 0);
	return 0;
}

/* ---- the network: received ---- */

/* Bytes of the headers in front of a packet's data; 0: not known any more */
static __always_inline u32 headers_of(const struct sk_buff *skb)
{
	const u64 before = (u64)skb->data - (u64)skb->head;
	const u16 mac = skb->mac_header;

	if (mac == 0xffff || before < mac || before - mac > 512)
		return 0;
	return before - mac;
}

static __always_inline struct skb_shared_info *shared_of(const struct sk_buff *skb)
{
	return (struct skb_shared_info *)((u64)skb->head + skb->end);
}

/* The length of the TCP header at @th */
static __always_inline u32 tcp_header(u64 th)
{
	u8 offset = 0;

	bpf_probe_read_kernel(&offset, 1, (void *)(th + 12));
	return offset >> 4 << 2;
}

/* Packets of @slot come by this queue. */
static __always_inline void note_queue(const struct sk_buff *skb, u32 slot)
{
	u32 first = 0, queue, *seen;

	if (!bpf_core_field_exists(skb->napi_id))
		return;
	queue = skb->napi_id;
	seen = bpf_map_lookup_elem(&queue_seen, &first);
	if (!seen || *seen == queue)
		return;
	*seen = queue;
	if (queue)
		bpf_map_update_elem(&queues, &queue, &slot, BPF_ANY);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(count_receive, struct sk_buff *skb)
{
	const u32 slot = slot_of_interface(skb->dev);
	struct skb_shared_info *shared;
	u64 bytes;
	u16 segments;
	u32 headers;

	if (!slot)
		return 0;
	bytes = skb->len + headers_of(skb);
	shared = shared_of(skb);
	segments = BPF_CORE_READ(shared, gso_segs);
	/* Several packets that were put together: each had its headers. */
	if (segments > 1 && skb->transport_header != 0xffff &&
	    skb->transport_header > skb->mac_header) {
		headers = skb->transport_header - skb->mac_header;
		if (BPF_CORE_READ(shared, gso_type) & GSO_TCP)
			headers += tcp_header((u64)skb->head + skb->transport_header);
		else
			headers += 8;
		bytes += (u64)headers * (segments - 1);
	}
	add_total(slot, 0, bytes);
	note_queue(skb, slot);
	return 0;
}

/* The device that a packet has passed, which is asked for once; 0: none */
static __always_inline u32 passed_by(const struct sk_buff *skb)
{
	u64 head = (u64)skb->head;
	u32 *found, slot;

	if (!any_passed)
		return 0;
	found = bpf_map_lookup_elem(&passing, &head);
	if (!found)
		return 0;
	slot = *found;
	bpf_map_delete_elem(&passing, &head);
	return slot;
}

/*
 * A segment comes to its connection, whose lock is held: several that the stack has put together
 * had a header each, and one that the other end never cut had a single one.
 */
static __always_inline int note_arrival(struct sock *sk, struct sk_buff *skb)
{
	const u32 header = tcp_header((u64)skb->data);
	struct unread *u;
	u64 segments;
	u32 slot;

	if (skb->len <= header)
		return 0;
	u = bpf_sk_storage_get(&arrivals, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!u)
		return 0;
	segments = BPF_CORE_READ(shared_of(skb), gso_segs) ?: 1;
	/* Of MPTCP, they are taken away meanwhile. */
	__sync_fetch_and_add(&u->data, skb->len - header);
	__sync_fetch_and_add(&u->headers, (headers_of(skb) + header) * segments);
	slot = passed_by(skb);
	if (slot)
		u->slot = slot;
	return 0;
}

SEC("fentry/tcp_v4_do_rcv")
int BPF_PROG(count_arrival, struct sock *sk, struct sk_buff *skb)
{
	return note_arrival(sk, skb);
}

SEC("fentry/tcp_v6_do_rcv")
int BPF_PROG(count_arrival6, struct sock *sk, struct sk_buff *skb)
{
	return note_arrival(sk, skb);
}

/* What has come to @flow, one of a connection's of MPTCP, is read from @sk. */
SEC("fentry/mptcp_data_ready")
int BPF_PROG(count_flow, struct sock *sk, struct sock *flow)
{
	struct unread *from = bpf_sk_storage_get(&arrivals, flow, NULL, 0), *to;
	u64 data, headers;

	if (!from || !from->data)
		return 0;
	to = bpf_sk_storage_get(&arrivals, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!to)
		return 0;
	data = from->data;
	headers = from->headers;
	__sync_fetch_and_add(&from->data, -data);
	__sync_fetch_and_add(&from->headers, -headers);
	__sync_fetch_and_add(&to->data, data);
	__sync_fetch_and_add(&to->headers, headers);
	to->slot = from->slot;
	return 0;
}

/*
 * The headers of @bytes that are read from a connection. What came twice, and is never read, stays
 * in the sum, where its headers are in proportion to its data, too.
 */
static __always_inline u64 headers_read(struct unread *u, u64 bytes)
{
	u64 headers;

	if (!u || !u->data)
		return 0;
	if (bytes > u->data)
		bytes = u->data;
	headers = u->headers * bytes / u->data;
	__sync_fetch_and_add(&u->data, -bytes);
	__sync_fetch_and_add(&u->headers, -headers);
	return headers;
}

/* The slot of the device by which a packet came into the socket's network; 0: none is known */
static __always_inline u32 came_by(const struct sk_buff *skb, struct sock *sk)
{
	struct count_net_key key = {};
	u32 *slot, queue;

	key.space = sk->__sk_common.skc_net.net->ns.inum;
	key.ifindex = skb->skb_iif;
	slot = bpf_map_lookup_elem(&interfaces, &key);
	if (slot && *slot)
		return *slot;
	/* Of an interface above the device, as of a VLAN */
	if (!bpf_core_field_exists(skb->napi_id))
		return 0;
	queue = skb->napi_id;
	slot = bpf_map_lookup_elem(&queues, &queue);
	return slot ? *slot : 0;
}

/* @bytes, with headers, which came by @slot, were read by this task from a socket. */
static __always_inline int charge_read(u32 slot, u64 bytes)
{
	if (!slot)
		return 0;
	add_current(slot, 0, bytes);
	return add_own(slot, 0, bytes);
}

static __always_inline int charge_stream(const struct sk_buff *skb, struct sock *sk, u64 bytes)
{
	struct unread *u = bpf_sk_storage_get(&arrivals, sk, NULL, 0);
	u32 slot = came_by(skb, sk);

	if (!slot && u)
		slot = u->slot;
	return charge_read(slot, bytes + headers_read(u, bytes));
}

static __always_inline int charge_packet(const struct sk_buff *skb, struct sock *sk, u64 bytes)
{
	u32 slot = came_by(skb, sk);

	return charge_read(slot ? slot : passed_by(skb), bytes);
}

/* TCP, and raw sockets. Of a long segment, parts are read one after the other. */
SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(count_read, const struct sk_buff *skb, int len)
{
	struct sock *sk = skb->sk;
	u16 family;

	if (!sk || len <= 0)
		return 0;
	family = sk->__sk_common.skc_family;
	if ((family != FAMILY_INET && family != FAMILY_INET6) || sk->sk_protocol == PROTOCOL_UDP)
		return 0;
	if (sk->sk_protocol == PROTOCOL_TCP || sk->sk_protocol == PROTOCOL_MPTCP)
		return charge_stream(skb, sk, len);
	return charge_packet(skb, sk, len + headers_of(skb));
}

/* splice(), from a connection into a pipe */
SEC("fexit/skb_splice_bits")
int BPF_PROG(count_splice, struct sk_buff *skb, struct sock *sk, unsigned int offset, void *pipe,
	     unsigned int most, unsigned int flags, int len)
{
	u16 family;

	if (!sk || len <= 0)
		return 0;
	family = sk->__sk_common.skc_family;
	if ((family != FAMILY_INET && family != FAMILY_INET6) || sk->sk_protocol != PROTOCOL_TCP)
		return 0;
	return charge_stream(skb, sk, len);
}

/* UDP, when a datagram is done with. It was moved as a whole, however much was read of it. */
SEC("fentry/skb_consume_udp")
int BPF_PROG(count_udp, struct sock *sk, struct sk_buff *skb, int len)
{
	const u32 segment = BPF_CORE_READ(shared_of(skb), gso_size);
	const u64 bytes = skb->len, headers = headers_of(skb);

	/* It was only peeked at. */
	if (len < 0)
		return 0;
	/* Several that were put together had a header each. */
	if (segment && segment < bytes)
		return charge_packet(skb, sk, bytes + headers * bytes / segment);
	return charge_packet(skb, sk, bytes + headers);
}

/* ---- what CPUs read ---- */

/*
 * What it counted since the last look. Other programs' events have the counter for a part of the
 * time, and perf passes it on each 4 ms; tasks change more often. So how much is missing is a mean,
 * of which 2^26 ns or more are an eighth, and no more than 63 of 64. A mean of less time would be
 * too high: when the counter was there for less than its part, it is there for more next.
 */
static __always_inline u64 lines_of(struct count_look *l, const struct bpf_perf_event_value *v)
{
	u64 lines = v->counter - l->counter, enabled, running;

	/* It is another event than last time: the CPU was offline. */
	if (v->counter < l->counter || v->enabled < l->enabled) {
		lines = 0;
		l->since_enabled = v->enabled;
		l->since_running = v->running;
		l->sum_enabled = 0;
		l->sum_running = 0;
	}
	l->counter = v->counter;
	l->enabled = v->enabled;
	l->running = v->running;
	enabled = v->enabled - l->since_enabled;
	running = v->running - l->since_running;
	if (enabled >> 26) {
		l->sum_enabled += enabled - (l->sum_enabled >> 3);
		l->sum_running += running - (l->sum_running >> 3);
		if (l->sum_running)
			l->ratio = (l->sum_enabled << 10) / l->sum_running;
		if (l->ratio > 64 << 10)
			l->ratio = 64 << 10;
		l->since_enabled = v->enabled;
		l->since_running = v->running;
	}
	return l->ratio > 1024 ? lines * l->ratio >> 10 : lines;
}

/* To the task that runs, and its group. The idle task reads for interrupts, and is the root's. */
static __always_inline int charge_counted(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const u64 ids = bpf_get_current_pid_tgid();
	struct bpf_perf_event_value now = {};
	struct count_look *last;
	u64 bytes;
	u32 first = 0;

	last = bpf_map_lookup_elem(&counted, &first);
	if (!last || bpf_perf_event_read_value(&counters, BPF_F_CURRENT_CPU, &now, sizeof(now)))
		return 0;
	bytes = LINE * lines_of(last, &now);
	if (!bytes)
		return 0;
	add_total(COUNT_CPU, 0, bytes);
	if (ids)
		add_row(&readers, (u32)ids, ids >> 32, task->start_boottime,
			task->group_leader->start_boottime, COUNT_CPU, 0, bytes);
	return add_own(COUNT_CPU, 0, bytes);
}

/* The task that leaves the CPU is still the one that runs. */
SEC("tp_btf/sched_switch")
int BPF_PROG(count_switch)
{
	return charge_counted();
}

/* Run by the library, on each CPU in turn, so that a task which stays there is charged, too */
SEC("raw_tp")
int count_look(void *context)
{
	return charge_counted();
}

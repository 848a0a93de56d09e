/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The caches of the emulated Haswell-EP, as a pure library
 *
 * No QEMU, no locks, no allocation behind the caller's back: the same files
 * are linked into QEMU (which adds the locks, hsx-llc.c), and into the unit
 * tests, which compare them with an independent model.
 *
 * Model
 *
 * A cache line is a number: the physical address divided by 64. The last
 * level cache (LLC) is cut into slices, one for each CBox; a slice has sets of
 * `ways` lines. A line has one place:
 *
 *	slice = ((line * 0x9E3779B97F4A7C15 mod 2^64) >> 32) * slices >> 32
 *	set   = line mod sets
 *
 * Intel's slice hash is not published; a multiplicative one spreads as evenly
 * and is as good for counting. Within a set the least recently used way is
 * replaced; an invalid way is taken first, the lowest one.
 *
 * The LLC is inclusive: what a core holds in its private caches, the LLC
 * holds too. For each line it keeps
 *
 *	dirty	the newest copy, wherever it is, is not what DRAM has
 *	first	who made it dirty (clean -> dirty), while it is dirty
 *	last	who wrote it last, while it is dirty
 *	sharers	the cores that may have a private copy (a core drops a clean
 *		copy without a word, so the bit may be stale)
 *	owner	the core that may write its copy without asking, or none; it
 *		is then the only sharer and the line is dirty
 *
 * so `dirty` is the truth for all levels together, known at the store, not
 * when the line trickles down. The state that the LLC's counters see follows
 * from it: M if dirty, else S with two sharers or more, else E. Real hardware
 * learns of a store to a line that the core had in E only when the line is
 * written back; how often that matters for a device is counted
 * (from_owned_hit).
 *
 * Threads
 *
 * With `thread_bits` 1, two CPUs, 2 n and 2 n + 1, are the threads of core n, and
 * have its private caches together: what one has loaded, the other hits, and
 * one's modified copy is as good as the other's own. So sharers, owner and what
 * a core loses are cores; actors, and so all accounts, are CPUs: `first` is the
 * CPU that dirtied the line, `last` the one that asked for it last in order to
 * write, as the LLC does not hear of what its sibling writes to it then. With
 * `thread_bits` 0 each CPU is a core.
 *
 * Accesses
 *
 *	DEV_READ	hit: the line becomes most recent, nothing else
 *			changes. Miss: read from DRAM, nothing allocated.
 *	DEV_WRITE	a full line. Hit: all private copies are invalidated
 *	(DDIO)		(no sharers, no owner), the line is dirtied by the
 *			device and becomes most recent, in the way where it is.
 *			Miss: allocated in one of the last `ddio_ways` ways,
 *			dirty, first = last = the device. DRAM is not read.
 *	DEV_WRITE_PART	less than a full line: the same, but a miss reads the
 *			line from DRAM first (the fill).
 *	(no DDIO)	With ddio_ways = 0 a device write goes to DRAM. Hit:
 *			the line is dirtied by the device as above, written
 *			back at once (evictor: the device) and leaves the
 *			cache. Miss: one DRAM write by the device (which made
 *			the line dirty, wrote it last and evicted it), after a
 *			DRAM read if partial.
 *	CPU_LOAD	the core had it in no private cache. Hit: the core
 *			becomes a sharer, another owner loses ownership (its
 *			copy becomes clean, the line stays dirty), most recent.
 *			Miss: read from DRAM, allocated in any way, clean,
 *			the core the only sharer.
 *	CPU_STORE	the core had it in no private cache. As CPU_LOAD, but
 *			all other private copies are invalidated, the core is
 *			the only sharer and the owner, and dirties the line.
 *	CPU_UPGRADE	the core has a clean copy and stores to it: a hit, as
 *			the LLC is inclusive. As CPU_STORE (also if the line is
 *			not there after all). But where the core is the only
 *			sharer it sends no message on real hardware (E -> M is
 *			silent), so the line does not become most recent and
 *			`silent` is returned: the counters do not see it.
 *	CPU_WB		a core drops its modified copy (a victim of its L2). If
 *			the core is not the owner, the message crossed an
 *			invalidation: nothing happens and `silent` is returned.
 *			Otherwise no owner, no sharers; the line stays dirty and
 *			keeps its age. `before` is the state that it had.
 *
 * Two sockets
 *
 * Each socket has an LLC, for its own cores; devices are those of socket 0. Both have
 * the same geometry, and a line has the same place in both: a slice and its `peer`, that of
 * the other socket, hold the same lines and no others. A line's home is the socket
 * whose memory it is in: socket 1 for lines from `node1` up. All that is counted of
 * a line, accounts and DRAM, is counted in its home's slice, whoever has asked.
 *
 * A dirty line is in one LLC only. A clean one may be in both, and then is S in both.
 * An access that its own LLC can't answer alone asks the other one first (`asked`;
 * `other` is the state that the line has there): at a miss; and in order to write,
 * where its own copy is clean and the other LLC has one as well. Then
 *
 *	DEV_READ	the other's copy stays as it is, dirty or not.
 *	DEV_WRITE	the other's copy leaves, with all private copies. If it is
 *	DEV_WRITE_PART	dirty it is written back before (evictor: the device).
 *	CPU_LOAD	the other's copy stays. If it is dirty it is written back
 *			(evictor: the CPU), and its owner, if any, loses ownership.
 *	CPU_STORE	the other's copy leaves, with all private copies. If it is
 *	CPU_UPGRADE	dirty it comes over as it is, with its `first`: nothing
 *			is written back, nor made dirty.
 *
 * and all else is done as above. The other LLC's copy does not become recent. Home
 * does not wait for the other LLC's answer, so a miss reads DRAM whatever that has,
 * as above. An upgrade for which the other LLC was asked is not silent.
 *
 * "Dirtied by W": if the line is clean, it becomes dirty with first = W; in
 * either case last = W.
 *
 * A line that has to go leaves with all its private copies (the `victim`; one
 * that leaves because DDIO is off made no room for another and is none). If it
 * is dirty it is one write-back: counted once for its first dirtier, once for
 * its last writer, and once for the evictor, who made the access that needed
 * the room.
 *
 * Worked example: slices 1, sets 1, ways 2, ddio_ways 1, empty. A core loads
 * line 1 (miss, way 0), a device writes line 2 (miss, way 1) and line 3 (miss:
 * it may only take way 1, line 2 is written back: wb_first, wb_last and
 * wb_evictor of the device). The core stores to line 1 (upgrade, silent), the
 * device writes line 1 (hit, dirty already: no clean hit; the core stays
 * `first`, the device becomes `last`).
 *
 * Two sockets, slices and sets 1, node1 16, empty. A core of socket 1 stores to line 3
 * (miss, DRAM read of socket 0), and is its owner. A core of socket 0 loads it: a miss
 * again, asks, `other` is M: it is written back (wb_first and wb_last of the first
 * core, wb_evictor of the second, DRAM write of socket 0), DRAM is read, both LLCs have
 * it, S. The first core stores to it (upgrade, heard): socket 0's copy leaves. The
 * second stores to it: miss, asks, M; nothing is written back, the line is dirty in
 * socket 0 now, its first the first core, its last the second.
 */
#ifndef HSX_LLC_H
#define HSX_LLC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LLC_LINE_SHIFT	6
#define LLC_LINE_BYTES	(1u << LLC_LINE_SHIFT)
#define LLC_MAX_SOCKETS	2
#define LLC_MAX_SLICES	24	/* of a socket */
#define LLC_MAX_WAYS	32
#define LLC_CHANNELS	4

/* Who makes an access: CPUs first (as many as there may be cores), then devices. */
#define LLC_MAX_CORES	32
#define LLC_ACTORS	64

enum llc_op {
	LLC_DEV_READ,
	LLC_DEV_WRITE,
	LLC_DEV_WRITE_PART,
	LLC_CPU_LOAD,
	LLC_CPU_STORE,
	LLC_CPU_UPGRADE,
	LLC_CPU_WB,
	LLC_OPS
};

/* In the order of the state field of a CBox filter, from bit 17 up. */
enum llc_state { LLC_I, LLC_S, LLC_E, LLC_M };

struct llc_geometry {
	unsigned int slices;	/* 1 to LLC_MAX_SLICES */
	unsigned int sets;	/* of a slice */
	unsigned int ways;	/* 1 to LLC_MAX_WAYS */
	unsigned int ddio_ways;	/* 0 (off) to ways */
	unsigned int thread_bits; /* of a CPU's number, below its core's: 0 or 1 */
	uint64_t node1;		/* of two sockets: the first line of socket 1's memory */
};

/* What one actor did in one slice, in lines. */
struct llc_account {
	uint64_t to_lines;		/* DEV_READ */
	uint64_t to_miss;
	uint64_t from_lines;		/* DEV_WRITE and DEV_WRITE_PART */
	uint64_t from_miss;		/* of from_lines */
	uint64_t from_clean_hit;	/* of from_lines: clean -> dirty by a hit */
	uint64_t from_owned_hit;	/* of from_lines: a core was the owner */
	uint64_t partial_lines;		/* of from_lines: DEV_WRITE_PART */
	uint64_t partial_miss;		/* of from_miss: DEV_WRITE_PART */
	uint64_t fill_lines;		/* DRAM reads for partial_miss */
	uint64_t read_miss;		/* CPU_LOAD */
	uint64_t write_miss;		/* CPU_STORE */
	uint64_t made_dirty;		/* clean -> dirty, misses included */
	uint64_t wb_first;		/* write-backs of what it made dirty */
	uint64_t wb_last;		/* ... of what it wrote last */
	uint64_t wb_evictor;		/* ... that it forced */
};

struct llc_way {
	uint32_t stamp;
	uint32_t sharers;
	int8_t owner;			/* core, or -1 */
	uint8_t first, last;		/* actors, while dirty */
	bool dirty;
};

struct llc_slice {
	struct llc_geometry geo;
	unsigned int socket;
	struct llc_slice *peer;		/* of two sockets: the other's, else NULL */
	uint64_t *tag;			/* [sets][ways]: line + 1, or 0 */
	struct llc_way *way;		/* [sets][ways] */
	uint32_t *clock;		/* [sets] */
	struct llc_account account[LLC_ACTORS];	/* of its home's lines, as DRAM is */
	uint64_t dram_read[LLC_CHANNELS], dram_write[LLC_CHANNELS];
};

/* What an access met and did, for counters and private caches. */
struct llc_result {
	enum llc_state before;		/* of the line; LLC_I: a miss */
	bool asked;			/* the other socket's LLC */
	enum llc_state other;		/* of the line there; LLC_I if not asked */
	bool silent;			/* no message reached the LLC */
	uint32_t invalidate;		/* cores that lose their copy of the line */
	uint32_t downgrade;		/* cores whose copy becomes clean */
	bool victim;			/* a line was replaced: */
	enum llc_state victim_state;
	uint64_t victim_line;
	uint32_t victim_sharers;	/* cores that lose their copy of it */
	uint8_t dram_lines;		/* read from DRAM and written back for it */
};

/**
 * llc_slice_of() - the slice (CBox) that a line belongs to
 */
static inline unsigned int llc_slice_of(unsigned int slices, uint64_t line)
{
	return (line * 0x9E3779B97F4A7C15ull >> 32) * slices >> 32;
}

/**
 * llc_home_of() - the socket whose memory a line is in
 */
static inline unsigned int llc_home_of(const struct llc_slice *s, uint64_t line)
{
	return s->peer && line >= s->geo.node1;
}

/**
 * llc_channel_of() - the memory channel that a line belongs to
 *
 * Real interleaving is configurable; this one takes lines in turn and stirs
 * in higher bits, so that no power-of-two stride stays on one channel.
 */
static inline unsigned int llc_channel_of(uint64_t line)
{
	return (line ^ line >> 4 ^ line >> 9) % LLC_CHANNELS;
}

int llc_slice_init(struct llc_slice *s, const struct llc_geometry *geo);
void llc_slice_free(struct llc_slice *s);
void llc_slice_pair(struct llc_slice *socket0, struct llc_slice *socket1);
void llc_access(struct llc_slice *s, enum llc_op op, uint64_t line,
		unsigned int who, struct llc_result *r);
void llc_dirty_lines(const struct llc_slice *s, uint64_t lines[LLC_ACTORS]);

/*
 * Private caches of a core: L1D 32 KiB, 64 sets of 8; L2 256 KiB, 512 sets of
 * 8; set = line mod sets; LRU; L2 holds all that L1 holds (on real Haswell L2
 * is neither inclusive nor exclusive). A copy is clean or modified; modified
 * means that the core is the LLC's owner of the line.
 *
 *	lookup	L1, then L2. Hit in either: most recent there (a hit in L1
 *		does not touch L2); a hit in L2 only is copied to L1 with its
 *		state. A store to a clean copy is an upgrade: the caller tells
 *		the LLC, then calls priv_dirty(). Nothing else moves at a miss.
 *	fill	into L2, then into L1, most recent in both. The victim of L2,
 *		clean or modified, leaves L1 as well and is returned.
 *
 * A line in both has the same state in both. l1_miss and l2_miss count the
 * look-ups that missed.
 */
#define PRIV_WAYS	8
#define PRIV_L1_SETS	64
#define PRIV_L2_SETS	512

enum priv_hit { PRIV_L1, PRIV_L2, PRIV_MISS };

struct priv_cache {
	/* most recent first: line << 2 | modified << 1 | valid */
	uint64_t l1[PRIV_L1_SETS][PRIV_WAYS];
	uint64_t l2[PRIV_L2_SETS][PRIV_WAYS];
	uint64_t l1_miss, l2_miss;
};

/**
 * priv_hit_mru() - the commonest case, inline: most recent in its L1 set
 * @store:	true if the access is a store
 *
 * Return: true if the access is done: a load of any copy, or a store to a
 * modified one.
 */
static inline bool priv_hit_mru(const struct priv_cache *p, uint64_t line,
				bool store)
{
	uint64_t e = p->l1[line % PRIV_L1_SETS][0];

	return (store ? e : e | 2) == (line << 2 | 3);
}

enum priv_hit priv_lookup(struct priv_cache *p, uint64_t line, bool store,
			  bool *upgrade);
bool priv_fill(struct priv_cache *p, uint64_t line, bool modified,
	       uint64_t *victim, bool *victim_modified);
bool priv_holds(const struct priv_cache *p, uint64_t line);
void priv_dirty(struct priv_cache *p, uint64_t line);
void priv_clean(struct priv_cache *p, uint64_t line);
void priv_invalidate(struct priv_cache *p, uint64_t line);

/*
 * A trace of all accesses that reached the LLC, in the order that each slice
 * saw them. A file starts with struct llc_trace_header; then blocks follow,
 * each a struct llc_trace_block and its records, in the machine's byte order:
 *
 *	bits 0-43	line (physical addresses of 50 bits)
 *	bits 44-51	who (actor)
 *	bits 52-55	op (enum llc_op)
 *
 * Order holds within a slice only; slices share nothing.
 *
 * With two sockets, a slice and its peer are one here: their accesses are in one order,
 * and whose they are is told by who makes them. The header has another magic then,
 * and struct llc_trace_sockets follows it.
 */
#define LLC_TRACE_MAGIC	0x6563617274636c6cull	/* "llctrace" */
#define LLC_TRACE_MAGIC_2 0x3263617274636c6cull	/* "llctrac2" */

struct llc_trace_header {
	uint64_t magic;
	uint32_t slices, sets, ways;
	uint16_t ddio_ways, thread_bits;
};

struct llc_trace_sockets {
	uint64_t node1;
	uint32_t cpus;			/* of a socket: who = 0 to cpus - 1 are socket 0's */
	uint32_t zero;
};

struct llc_trace_block {
	uint32_t slice;
	uint32_t records;
};

static inline uint64_t llc_trace_record(enum llc_op op, uint64_t line,
					unsigned int who)
{
	return (uint64_t)op << 52 | (uint64_t)who << 44 | line;
}

#endif /* HSX_LLC_H */

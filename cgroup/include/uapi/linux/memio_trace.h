/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * memio: traces of memory events, a ring of words from the kernel to one reader
 *
 * A counter of each CPU overflows every @period events, and the time stamp counter
 * (TSC) says when. What is handed out is a stream of these times, a ring for each
 * CPU, with markers where the task changes. A ring's file is mapped, readable and
 * writable, from offset 0: first struct memio_trace_ring, then from @data_offset on
 * @data_words words of 32 bits in the machine's byte order. A ring has one reader: as
 * long as it is open, another open() is -EBUSY. It is -ENODEV if the CPU is offline,
 * -EOPNOTSUPP if it can't write records with time stamps (MEMIO_TRACE_PEBS), -ENOSPC if
 * others have pinned the counters that the event could have, -EPERM if the ring is more
 * than may be pinned (perf_event_mlock_kb and RLIMIT_MEMLOCK), -EACCES without
 * CAP_PERFMON, and what perf says of the event otherwise.
 *
 * Words
 *
 * Whatever happens has a time, and is told as the difference to the time of what came
 * before it. A word below MEMIO_TRACE_ESCAPE is a record: the counter has overflown
 * that many ticks later. Any other word is the first of a marker,
 *
 *	0xffff0000 | type << 8 | words of payload that follow
 *
 * so that a reader can step over a type that it does not know (none of those to come
 * will move the time), and over what a newer kernel adds to the end of a payload.
 * 64-bit numbers are two words, the low one first.
 *
 *	LONG	a record, whose difference does not fit into a word: delta (64 bits)
 *	SWITCH	from then on another task runs: struct memio_trace_switch
 *	SYNC	the time as such: struct memio_trace_sync
 *	LOST	so many records (64 bits) are missing here
 *
 * 64-bit differences are modulo 2^64: time may go back, as where a record and a
 * switch were made at nearly the same time.
 *
 * Losses, and readers that are late
 *
 * The kernel never overwrites what was not read: it drops what is new, always a whole
 * batch (a hardware buffer's records and the switches between them). Then the next
 * batch that there is room for begins with LOST, SYNC, and SWITCH with a difference of
 * 0: the reader needs nothing from before. So does the first of a ring (without
 * LOST), and SYNC and SWITCH come again after MEMIO_TRACE_SYNC_WORDS words, with clocks
 * read anew.
 *
 * @head and @tail are always between two records or markers, and never within a
 * batch. A reader that begins where another one ended, or that does not want what
 * piled up before it came, may set @tail to @sync: the last SYNC is there, with all
 * that one has to know. It is in the ring as long as @sync - @tail <= @head - @tail.
 *
 * Order
 *
 * @head and @tail count words from the beginning, modulo 2^32; the word i is at
 * i & (@data_words - 1). Both fit into a register of any machine.
 *
 *	kernel					reader
 *
 *	load-acquire @tail	(A)		load-acquire @head	(C)
 *	write words				read words from @tail to @head
 *	store-release @head	(B)		store-release @tail	(D)
 *
 * (C) pairs with (B): who sees @head sees the words before it, @sync and the
 * statistics. (A) pairs with (D): words are written over only once they were read.
 * poll() tells when at least @watermark words (or any, if that is 0) are unread, and
 * POLLHUP when no more will come. fsync() brings what the hardware still holds into
 * the ring.
 *
 * Trust
 *
 * Of what is mapped the kernel reads @tail and @watermark only, and remembers the rest
 * itself. A @tail that cannot be (more than @data_words behind @head) is a ring without
 * room: the reader who wrote it loses records, and @bad_tails counts. A reader checks
 * @head in the same way, and as the words may be changed by whoever has them mapped,
 * one that does not trust them copies first and looks then.
 *
 * Extension
 *
 * Fields are added where there is __reserved, which is 0, and types of markers as
 * they come; @version then stays. It changes if a reader of before would
 * misunderstand what it reads. Layout and alignment are the same for 32 and 64 bits;
 * the 64-bit statistics may be read torn by 32-bit readers, which read them twice.
 */
#ifndef _UAPI_LINUX_MEMIO_TRACE_H
#define _UAPI_LINUX_MEMIO_TRACE_H

#include <linux/types.h>

#define MEMIO_TRACE_MAGIC	0x524f494dU	/* "MIOR" in memory, low byte first */
#define MEMIO_TRACE_VERSION	1

/* Words of data in a ring: a power of two, between these (4 KiB and 1 GiB). */
#define MEMIO_TRACE_WORDS_MIN	0x400U
#define MEMIO_TRACE_WORDS_MAX	0x10000000U

#define MEMIO_TRACE_SYNC_WORDS	0x10000U

/* The first word of a marker, and what is in it. */
#define MEMIO_TRACE_ESCAPE		0xffff0000U
#define MEMIO_TRACE_MARKER(type, words)	(MEMIO_TRACE_ESCAPE | (type) << 8 | (words))
#define MEMIO_TRACE_TYPE(word)		((word) >> 8 & 0xff)
#define MEMIO_TRACE_LENGTH(word)	((word) & 0xff)

/* What a marker is. */
enum memio_trace_type {
	MEMIO_TRACE_LONG	= 1,
	MEMIO_TRACE_SWITCH	= 2,
	MEMIO_TRACE_SYNC	= 3,
	MEMIO_TRACE_LOST	= 4,
};

#define MEMIO_TRACE_COMM	16

/**
 * struct memio_trace_switch - the payload of MEMIO_TRACE_SWITCH
 * @delta:	ticks since the record or marker before, 64 bits
 * @tid:	the task that runs from now on, in the first pid namespace; 0: idle
 * @tgid:	its process
 * @cgroup:	the id of its group in cgroup v2, 64 bits
 * @comm:	its name, up to a NUL or the end
 */
struct memio_trace_switch {
	__u32 delta[2];
	__u32 tid;
	__u32 tgid;
	__u32 cgroup[2];
	char comm[MEMIO_TRACE_COMM];
};

/**
 * struct memio_trace_sync - the payload of MEMIO_TRACE_SYNC
 * @tsc:	the TSC to which the next difference is to be added
 * @clock_tsc:	the TSC when the clocks were read
 * @mono_ns:	CLOCK_MONOTONIC then
 * @real_ns:	CLOCK_REALTIME then
 *
 * All are 64 bits. Records are older than the clocks, as they are collected when a
 * buffer is full.
 */
struct memio_trace_sync {
	__u32 tsc[2];
	__u32 clock_tsc[2];
	__u32 mono_ns[2];
	__u32 real_ns[2];
};

/* Where the time stamps come from. */
enum memio_trace_mode {
	MEMIO_TRACE_PEBS	= 1,	/* written by the hardware */
	MEMIO_TRACE_SOFT	= 2,	/* an interrupt for each overflow */
	MEMIO_TRACE_SYNTHETIC	= 3,	/* made up, by a timer */
};

/* In memio_trace_ring.state */
#define MEMIO_TRACE_STOPPED	1U	/* after @head there will be no more */

/**
 * struct memio_trace_stats - what a ring's producer has done since it was opened
 * @buffers:	batches, dropped ones too
 * @records:	records in the ring
 * @switches:	switches of tasks, in the ring
 * @overflows:	batches that the ring had no room for
 * @dropped:	records in them
 * @long_deltas: records that took a MEMIO_TRACE_LONG
 * @bad_tails:	batches that met a tail that cannot be
 * @throttled:	times that perf stopped the counter until the next tick, because of too many
 *		interrupts (kernel.perf_event_max_sample_rate): events are missing then
 * @__reserved:	0
 */
struct memio_trace_stats {
	__aligned_u64 buffers;
	__aligned_u64 records;
	__aligned_u64 switches;
	__aligned_u64 overflows;
	__aligned_u64 dropped;
	__aligned_u64 long_deltas;
	__aligned_u64 bad_tails;
	__aligned_u64 throttled;
	__aligned_u64 __reserved[8];
};

/**
 * struct memio_trace_ring - what a ring's mapping begins with
 * @magic:	MEMIO_TRACE_MAGIC
 * @version:	MEMIO_TRACE_VERSION
 * @data_offset: where the words begin, in bytes, a multiple of the page size
 * @data_words:	how many there are, a power of two
 * @cpu:	whose ring it is
 * @mode:	one of enum memio_trace_mode
 * @tsc_khz:	ticks of the TSC in a millisecond
 * @event_bytes: memory bytes that an event stands for: 64, a line of the cache; 0 if
 *		it stands for none
 * @period:	events for each record
 * @event_type:	perf_event_attr.type of the event
 * @event_flags: 1: in user mode, 2: in the kernel
 * @event_config: perf_event_attr.config of the event
 * @event_config1: perf_event_attr.config1 of the event
 * @event_name:	its name, up to a NUL or the end
 * @start_tsc:	the TSC when the trace began, before all records
 * @start_mono_ns: CLOCK_MONOTONIC then
 * @start_real_ns: CLOCK_REALTIME then
 * @__reserved0: 0
 * @head:	words written
 * @sync:	where the last MEMIO_TRACE_SYNC is (or the LOST before it)
 * @state:	MEMIO_TRACE_STOPPED, or 0
 * @__reserved1: 0
 * @stats:	statistics
 * @tail:	words read
 * @watermark:	words that poll() waits for
 * @__reserved2: 0
 *
 * Up to @__reserved0 nothing changes while the ring is open. From @tail on the
 * reader writes; all else is the kernel's. @head, @stats and @tail have lines of
 * the cache of their own.
 */
struct memio_trace_ring {
	__u32 magic;
	__u32 version;
	__u32 data_offset;
	__u32 data_words;
	__u32 cpu;
	__u32 mode;
	__u32 tsc_khz;
	__u32 event_bytes;
	__aligned_u64 period;
	__u32 event_type;
	__u32 event_flags;
	__aligned_u64 event_config;
	__aligned_u64 event_config1;
	char event_name[64];
	__aligned_u64 start_tsc;
	__aligned_u64 start_mono_ns;
	__aligned_u64 start_real_ns;
	__aligned_u64 __reserved0[13];

	__u32 head;
	__u32 sync;
	__u32 state;
	__u32 __reserved1[29];

	struct memio_trace_stats stats;

	__u32 tail;
	__u32 watermark;
	__u32 __reserved2[30];
};

#endif /* _UAPI_LINUX_MEMIO_TRACE_H */

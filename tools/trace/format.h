/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file of a trace, as it is on disk; FORMAT.md tells what it means
 */
#ifndef MEMIO_TRACE_FORMAT_H
#define MEMIO_TRACE_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/memio_trace.h>

#include "codec.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are little-endian"
#endif

#define FORMAT_MAGIC	"memiotrc"
#define FORMAT_VERSION	1
#define FORMAT_ALIGN	8

enum format_type {
	FORMAT_FILE	= 1,
	FORMAT_DATA	= 2,
	FORMAT_STATS	= 3,
	FORMAT_END	= 4,
};

/* What each chunk begins with; its payload follows, and zeros up to FORMAT_ALIGN. */
struct format_chunk {
	char magic[8];
	uint32_t header_crc;		/* of all that follows in the header */
	uint32_t size;			/* of the payload */
	uint64_t number;		/* 0, 1, ... in the file */
	uint32_t payload_crc;
	uint16_t type;
	uint16_t version;
	uint32_t cpu;			/* DATA and STATS */
	uint32_t records;		/* DATA */
	uint64_t first_tsc;		/* DATA: time before the first of its words */
	uint64_t last_tsc;		/* DATA: and after the last one */
	uint64_t reserved;
};

#define FORMAT_CRC_FROM	offsetof(struct format_chunk, size)

/* FILE: this, and a line of text that tells how the trace was made, without NUL. */
struct format_file {
	uint64_t real_ns;		/* CLOCK_REALTIME when it was begun */
	uint64_t mono_ns;
};

/* What a ring tells of itself, as in struct memio_trace_ring. */
struct format_stream {
	uint32_t cpu;
	uint32_t mode;
	uint32_t tsc_khz;
	uint32_t event_bytes;
	uint64_t period;
	uint32_t event_type;
	uint32_t event_flags;
	uint64_t event_config;
	uint64_t event_config1;
	char event_name[64];
	uint64_t start_tsc;
	uint64_t start_mono_ns;
	uint64_t start_real_ns;
};

/* All that is known between two words. */
struct format_state {
	uint64_t tsc;
	uint64_t cgroup;
	uint32_t tid;
	uint32_t tgid;
	char comm[MEMIO_TRACE_COMM];
	uint64_t clock_tsc;		/* a SYNC's */
	uint64_t mono_ns;
	uint64_t real_ns;
};

/* DATA: this, and the words as codec.c encodes them. */
struct format_data {
	struct format_stream stream;
	struct format_state state;	/* before the first of the words */
	uint32_t words;
	uint32_t reserved;
};

/* STATS: what the kernel and the recorder counted of one ring. */
struct format_stats {
	struct format_stream stream;
	uint64_t buffers;		/* as in struct memio_trace_stats */
	uint64_t records;
	uint64_t switches;
	uint64_t overflows;
	uint64_t dropped;
	uint64_t long_deltas;
	uint64_t bad_tails;
	uint64_t read_words;		/* from the ring */
	uint64_t read_records;
	uint64_t kept_records;		/* in the file: the filters' choice */
	uint64_t lost_records;		/* that a LOST told of; @dropped may be more, at the end */
	uint64_t skipped_words;		/* before the first SYNC, or after damage */
	uint64_t damaged;		/* times that the ring was not what it should be */
	uint64_t throttled;		/* as in struct memio_trace_stats; older files have none */
};

/* END: the file is whole. */
struct format_end {
	uint64_t chunks;		/* before this one */
	uint64_t bytes;
};

/* What the first recorders wrote of it */
#define FORMAT_STATS_MIN	240

#define FORMAT_PAYLOAD_MAX	(sizeof(struct format_data) + CODEC_BOUND(CODEC_WORDS))

static_assert(sizeof(struct format_chunk) == 64, "no holes");
static_assert(sizeof(struct format_stream) == 136, "no holes");
static_assert(sizeof(struct format_state) == 64, "no holes");
static_assert(sizeof(struct format_data) == 208, "no holes");
static_assert(offsetof(struct format_stats, throttled) == FORMAT_STATS_MIN, "no holes");
static_assert(sizeof(struct format_stats) == 248, "no holes");

#endif /* MEMIO_TRACE_FORMAT_H */

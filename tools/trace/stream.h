/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Words of a ring or of a file, one by one, and what is known after each
 */
#ifndef MEMIO_TRACE_STREAM_H
#define MEMIO_TRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format.h"

enum stream_kind {
	STREAM_BROKEN = -1,	/* a marker that is cut off, or too short */
	STREAM_RECORD,
	STREAM_SWITCH,
	STREAM_SYNC,
	STREAM_LOST,
	STREAM_OTHER,		/* of a type that came later */
};

static inline uint64_t stream_u64(const uint32_t *word)
{
	return word[0] | (uint64_t)word[1] << 32;
}

/*
 * stream_next: steps over a record or marker. Moves @state along, and @words words were
 * it; @number is how many records are lost, if it is a LOST. There is at least one
 * word. If the return value is STREAM_BROKEN, nothing has changed.
 */
static inline enum stream_kind stream_next(struct format_state *state, const uint32_t *word,
					   size_t left, size_t *words, uint64_t *number)
{
	size_t length;

	if (word[0] < MEMIO_TRACE_ESCAPE) {
		state->tsc += word[0];
		*words = 1;
		return STREAM_RECORD;
	}
	length = MEMIO_TRACE_LENGTH(word[0]);
	if (length >= left)
		return STREAM_BROKEN;
	*words = 1 + length;
	switch (MEMIO_TRACE_TYPE(word[0])) {
	case MEMIO_TRACE_LONG:
		if (length < 2)
			return STREAM_BROKEN;
		state->tsc += stream_u64(word + 1);
		return STREAM_RECORD;
	case MEMIO_TRACE_SWITCH:
		if (4 * length < sizeof(struct memio_trace_switch))
			return STREAM_BROKEN;
		state->tsc += stream_u64(word + 1);
		state->tid = word[3];
		state->tgid = word[4];
		state->cgroup = stream_u64(word + 5);
		memcpy(state->comm, word + 7, sizeof(state->comm));
		return STREAM_SWITCH;
	case MEMIO_TRACE_SYNC:
		if (4 * length < sizeof(struct memio_trace_sync))
			return STREAM_BROKEN;
		state->tsc = stream_u64(word + 1);
		state->clock_tsc = stream_u64(word + 3);
		state->mono_ns = stream_u64(word + 5);
		state->real_ns = stream_u64(word + 7);
		return STREAM_SYNC;
	case MEMIO_TRACE_LOST:
		if (length < 2)
			return STREAM_BROKEN;
		*number = stream_u64(word + 1);
		return STREAM_LOST;
	case 0:
		return STREAM_BROKEN;
	}
	return STREAM_OTHER;
}

/* CLOCK_MONOTONIC at a time; with what came last before, or after, as the reference. */
static inline uint64_t stream_ns(const struct format_state *state, uint32_t tsc_khz,
				 uint64_t tsc)
{
	__int128 ticks = (__int128)tsc - state->clock_tsc;

	return state->mono_ns + (uint64_t)(int64_t)(ticks * 1000000 / tsc_khz);
}

#endif /* MEMIO_TRACE_STREAM_H */

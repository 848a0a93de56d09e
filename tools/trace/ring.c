// SPDX-License-Identifier: GPL-2.0
/*
 * The reader's end of a ring, see uapi/linux/memio_trace.h
 *
 * What is mapped can change at any time if the ring is not the kernel's: so what is
 * constant is read once, when the ring is opened, and words are copied before anyone looks
 * at them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "command.h"
#include "ring.h"

/* Once more than the header, as what a page is differs. */
#define HEADER_MAP	(64u << 10)

static const char *wrong_with(const struct memio_trace_ring *h)
{
	if (h->magic != MEMIO_TRACE_MAGIC)
		return "no ring of a trace";
	if (h->version != MEMIO_TRACE_VERSION)
		return "a ring of another version than this program knows";
	if (h->data_words < MEMIO_TRACE_WORDS_MIN || h->data_words > MEMIO_TRACE_WORDS_MAX ||
	    h->data_words & (h->data_words - 1) || h->data_offset < sizeof(*h) ||
	    h->data_offset > HEADER_MAP || h->data_offset % sysconf(_SC_PAGESIZE))
		return "a ring of a size that cannot be";
	if (h->tsc_khz < 1000 || h->tsc_khz > 100000000 || !h->period || h->period > 1ull << 40 ||
	    h->event_bytes > 1 << 20)
		return "a ring without a clock or a period";
	return NULL;
}

/* What the kernel means when it does not open a ring. */
static void complain_open(const char *path, int err)
{
	switch (err) {
	case ENODEV:
		return;
	case EBUSY:
		complain("%s: somebody reads it already", path);
		return;
	case EOPNOTSUPP:
		complain("%s: this processor's own records have no time stamps: set mode=soft",
			 path);
		return;
	case EINVAL:
		complain("%s: perf does not take the event that is set, or not with this period",
			 path);
		return;
	case EPERM:
		complain("%s: the ring is more than may be pinned: set fewer words, or raise RLIMIT_MEMLOCK or kernel.perf_event_mlock_kb",
			 path);
		return;
	case EACCES:
		complain("%s: no access: a CPU's ring takes CAP_PERFMON", path);
		return;
	case ENOSPC:
		complain("%s: others have all counters that the event could have", path);
		return;
	default:
		complain("%s: %s", path, strerror(err));
	}
}

bool ring_open(struct ring *r, const char *path)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct memio_trace_ring head;
	const char *wrong;
	struct statfs fs;
	struct stat st;
	void *map;
	int err;

	memset(r, 0, sizeof(*r));
	r->path = path;
	r->fd = open(path, O_RDWR | O_CLOEXEC);
	if (r->fd < 0 || fstat(r->fd, &st) || fstatfs(r->fd, &fs)) {
		err = errno;
		if (r->fd >= 0) {
			complain_errno("%s", path);
			goto close;
		}
		complain_open(path, err);
		errno = err;
		return false;
	}
	/* The kernel's files have no size, and are mapped as large as they are. */
	r->ordinary = S_ISREG(st.st_mode) && fs.f_type != DEBUGFS_MAGIC &&
		      fs.f_type != SYSFS_MAGIC;
	if (r->ordinary && (size_t)st.st_size < sizeof(head)) {
		complain("%s: no ring of a trace: too short", path);
		goto close;
	}
	map = mmap(NULL, page, PROT_READ, MAP_SHARED, r->fd, 0);
	if (map == MAP_FAILED) {
		complain_errno("%s: mapping it", path);
		goto close;
	}
	memcpy(&head, map, sizeof(head));
	munmap(map, page);
	wrong = wrong_with(&head);
	if (wrong) {
		complain("%s: %s", path, wrong);
		goto close;
	}
	r->map_size = head.data_offset + 4 * (size_t)head.data_words;
	if (r->ordinary && (size_t)st.st_size < r->map_size) {
		complain("%s: shorter than its header says", path);
		goto close;
	}
	map = mmap(NULL, r->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (map == MAP_FAILED) {
		complain_errno("%s: mapping it", path);
		goto close;
	}
	r->map = map;
	r->data = (const uint32_t *)((char *)map + head.data_offset);
	r->words = head.data_words;
	r->tail = head.tail;
	/* Whoever waits looks every now and then, even if there is less. */
	__atomic_store_n(&r->map->watermark, r->words / 4, __ATOMIC_RELAXED);
	r->stream = (struct format_stream) {
		.cpu = head.cpu,
		.mode = head.mode,
		.tsc_khz = head.tsc_khz,
		.event_bytes = head.event_bytes,
		.period = head.period,
		.event_type = head.event_type,
		.event_flags = head.event_flags,
		.event_config = head.event_config,
		.event_config1 = head.event_config1,
		.start_tsc = head.start_tsc,
		.start_mono_ns = head.start_mono_ns,
		.start_real_ns = head.start_real_ns,
	};
	memcpy(r->stream.event_name, head.event_name, sizeof(r->stream.event_name));
	return true;
close:
	close(r->fd);
	errno = 0;
	return false;
}

void ring_close(struct ring *r)
{
	munmap(r->map, r->map_size);
	close(r->fd);
}

/* How many of the words are whole records and markers */
static size_t whole(const uint32_t *words, size_t n)
{
	size_t i = 0;

	for (;;) {
		while (i < n && words[i] < MEMIO_TRACE_ESCAPE)
			i++;
		if (i == n || MEMIO_TRACE_LENGTH(words[i]) >= n - i)
			return i;
		i += 1 + MEMIO_TRACE_LENGTH(words[i]);
	}
}

long ring_read(struct ring *r, uint32_t *words, size_t max, bool *stopped)
{
	uint32_t state, head, at, first;
	size_t n;

	/* In this order: what came before the end is below the head. */
	state = __atomic_load_n(&r->map->state, __ATOMIC_ACQUIRE);
	head = __atomic_load_n(&r->map->head, __ATOMIC_ACQUIRE);	/* (C) */
	n = head - r->tail;
	*stopped = state & MEMIO_TRACE_STOPPED && !n;
	if (!n)
		return 0;
	if (n > r->words)
		goto damaged;
	if (n > max)
		n = max;
	at = r->tail & (r->words - 1);
	first = n < r->words - at ? n : r->words - at;
	memcpy(words, r->data + at, 4 * (size_t)first);
	memcpy(words + first, r->data, 4 * (n - first));
	n = whole(words, n);
	if (!n)
		goto damaged;
	r->tail += n;
	__atomic_store_n(&r->map->tail, r->tail, __ATOMIC_RELEASE);	/* (D) */
	return n;

damaged:
	r->tail = head;
	__atomic_store_n(&r->map->tail, r->tail, __ATOMIC_RELEASE);
	return -1;
}

void ring_flush(struct ring *r)
{
	if (!r->ordinary)
		fsync(r->fd);
}

void ring_stats(const struct ring *r, struct format_stats *s)
{
	const struct memio_trace_stats *from = &r->map->stats;

#define GET(field)	(s->field = __atomic_load_n(&from->field, __ATOMIC_RELAXED))
	GET(buffers);
	GET(records);
	GET(switches);
	GET(overflows);
	GET(dropped);
	GET(long_deltas);
	GET(bad_tails);
	GET(throttled);
#undef GET
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Traces from files: what is whole, and how much is not
 *
 * A file is read from the beginning to the end, a chunk at a time, and nothing is
 * believed: a header is one if its sum is right, its size is checked before the payload
 * is read, the payload's sum before it is looked at. Where there should be a header and
 * is none, the next place that has one goes on. Sums can be right in a file
 * that was made to do harm, so all numbers are checked as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "crc32c.h"
#include "reader.h"
#include "stream.h"

#define TELL		5		/* places that are told one by one */
#define SCAN_BYTES	(256u << 10)

/* Return: bytes read; fewer than asked for at the end, or if there is an error. */
static size_t read_at(struct reader *r, void *to, size_t size, uint64_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(r->fd, (char *)to + done, size - done, at + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += n;
	}
	return done;
}

__attribute__((format(printf, 3, 4)))
static void tell(struct reader *r, uint64_t at, const char *format, ...)
{
	char text[160];
	va_list args;

	if (r->quiet)
		return;
	if (r->told++ >= TELL) {
		if (r->told == TELL + 1)
			complain("%s: more of that kind", r->path);
		return;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	complain("%s: at byte %" PRIu64 ": %s", r->path, at, text);
}

static bool is_header(const struct format_chunk *c)
{
	return !memcmp(c->magic, FORMAT_MAGIC, sizeof(c->magic)) &&
	       c->header_crc == crc32c(0, (const char *)c + FORMAT_CRC_FROM,
				       sizeof(*c) - FORMAT_CRC_FROM) &&
	       c->size <= FORMAT_PAYLOAD_MAX;
}

static uint64_t end_of(uint64_t at, const struct format_chunk *c)
{
	return at + sizeof(*c) + ((uint64_t)c->size + FORMAT_ALIGN - 1) / FORMAT_ALIGN *
		FORMAT_ALIGN;
}

/*
 * The next place from @at on that has a header, or the end of the file. Sets whether
 * there are only zeros on the way.
 */
static uint64_t find_header(struct reader *r, uint64_t at, bool *zeros)
{
	struct format_chunk c;
	static const uint8_t nothing[FORMAT_ALIGN];
	uint8_t *buffer = malloc(SCAN_BYTES);
	size_t n, i;

	*zeros = true;
	if (!buffer)
		return r->size;
	for (;; at += i) {
		n = read_at(r, buffer, SCAN_BYTES, at);
		for (i = 0; i + sizeof(c) <= n; i += FORMAT_ALIGN) {
			memcpy(&c, buffer + i, sizeof(c));
			if (is_header(&c)) {
				free(buffer);
				return at + i;
			}
			if (*zeros && memcmp(buffer + i, nothing, FORMAT_ALIGN))
				*zeros = false;
		}
		if (n < SCAN_BYTES)
			break;
	}
	for (; i < n; i++)
		*zeros &= !buffer[i];
	free(buffer);
	return r->size;
}

void reader_rewind(struct reader *r)
{
	r->at = 0;
	r->expected = 0;
	r->told = 0;
	memset(&r->damage, 0, sizeof(r->damage));
}

bool reader_open(struct reader *r, const char *path)
{
	struct format_chunk c;
	struct stat st;
	uint64_t first;
	bool zeros;

	memset(r, 0, sizeof(*r));
	r->path = path;
	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0 || fstat(r->fd, &st)) {
		complain_errno("%s", path);
		if (r->fd >= 0)
			close(r->fd);
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		complain("%s: not an ordinary file", path);
		close(r->fd);
		return false;
	}
	r->size = st.st_size;
	r->codec = codec_new();
	r->payload = malloc(FORMAT_PAYLOAD_MAX);
	r->words = calloc(CODEC_WORDS, sizeof(*r->words));
	if (!r->codec || !r->payload || !r->words) {
		complain("no memory");
		reader_close(r);
		return false;
	}
	first = find_header(r, 0, &zeros);
	if (first == r->size || read_at(r, &c, sizeof(c), first) < sizeof(c)) {
		complain("%s: %s", path, !r->size ? "empty, so no trace" : "no trace of memio's");
		reader_close(r);
		return false;
	}
	if (c.version > FORMAT_VERSION) {
		complain("%s: version %u of the format, and this program knows up to %u",
			 path, c.version, FORMAT_VERSION);
		reader_close(r);
		return false;
	}
	return true;
}

void reader_close(struct reader *r)
{
	close(r->fd);
	codec_free(r->codec);
	free(r->payload);
	free(r->words);
}

/* A chunk's header at r->at, or behind what is damaged there. Return: false at the end. */
static bool next_header(struct reader *r, struct format_chunk *c)
{
	bool zeros;
	uint64_t next;

	while (r->at < r->size) {
		size_t n = read_at(r, c, sizeof(*c), r->at);

		if (n == sizeof(*c) && is_header(c)) {
			if (end_of(r->at, c) <= r->size)
				return true;
			tell(r, r->at, "cut off: %" PRIu64 " of the last chunk's %" PRIu64 " bytes",
			     r->size - r->at, end_of(r->at, c) - r->at);
			r->damage.cut = true;
			r->damage.records += c->type == FORMAT_DATA ? c->records : 0;
			r->at = r->size;
			return false;
		}
		next = find_header(r, r->at, &zeros);
		if (next == r->size && zeros) {
			r->damage.unfinished = r->size - r->at;
		} else {
			tell(r, r->at, "%" PRIu64 " bytes that are no chunk", next - r->at);
			r->damage.bytes += next - r->at;
		}
		r->at = next;
	}
	return false;
}

static void note(struct reader *r, const struct reader_chunk *c, uint32_t records,
		 const char *what)
{
	tell(r, c->at, "chunk %" PRIu64 " of CPU %u with %u records: %s", c->head.number,
	     c->head.cpu, records, what);
	r->damage.chunks++;
	r->damage.records += records;
}

void reader_broken(struct reader *r, const struct reader_chunk *c, uint32_t records)
{
	note(r, c, records, "a marker that cannot be");
}

static uint32_t records_of(const struct format_chunk *c)
{
	return c->type == FORMAT_DATA ? c->records : 0;
}

bool reader_next(struct reader *r, struct reader_chunk *c)
{
	while (next_header(r, &c->head)) {
		size_t n;

		c->at = r->at;
		c->payload = r->payload;
		n = read_at(r, r->payload, c->head.size, r->at + sizeof(c->head));
		r->at = end_of(r->at, &c->head);
		/* What comes twice, or too late, was copied there. */
		if (c->head.number < r->expected) {
			note(r, c, 0, "it should have come before");
			continue;
		}
		r->damage.missing += c->head.number - r->expected;
		r->expected = c->head.number + 1;
		r->damage.ended = false;
		if (n < c->head.size || crc32c(0, r->payload, n) != c->head.payload_crc) {
			note(r, c, records_of(&c->head), "damaged");
			continue;
		}
		if (c->head.version > FORMAT_VERSION) {
			note(r, c, records_of(&c->head), "of a version that is not known");
			continue;
		}
		if (c->head.type == FORMAT_END) {
			const struct format_end *end = (const void *)r->payload;

			r->damage.ended = n >= sizeof(*end) && end->chunks == c->head.number &&
					  end->bytes == c->at && r->at == r->size;
		}
		return true;
	}
	return false;
}

bool reader_scan(struct reader *r, struct format_chunk *head)
{
	const bool quiet = r->quiet;
	bool there;

	r->quiet = true;
	do {
		there = next_header(r, head);
		if (there)
			r->at = end_of(r->at, head);
	} while (there && head->type != FORMAT_DATA);
	r->quiet = quiet;
	return there;
}

static bool stream_ok(const struct format_chunk *head, const struct format_stream *s)
{
	return s->cpu == head->cpu && s->tsc_khz >= 1000 && s->tsc_khz <= 100000000 && s->period &&
	       s->period <= 1ull << 40 && s->event_bytes <= 1 << 20;
}

bool reader_block(struct reader *r, const struct reader_chunk *c, struct reader_block *b)
{
	struct format_data data;
	const char *wrong;

	if (c->head.size < sizeof(data)) {
		note(r, c, c->head.records, "too short");
		return false;
	}
	memcpy(&data, c->payload, sizeof(data));
	if (!stream_ok(&c->head, &data.stream) || data.words > CODEC_WORDS ||
	    c->head.records > data.words) {
		note(r, c, c->head.records, "a description that cannot be");
		return false;
	}
	wrong = codec_decode(r->codec, c->payload + sizeof(data), c->head.size - sizeof(data),
			     r->words, data.words);
	if (wrong) {
		note(r, c, c->head.records, wrong);
		return false;
	}
	b->stream = data.stream;
	b->state = data.state;
	b->words = r->words;
	b->n = data.words;
	b->records = c->head.records;
	return true;
}

bool reader_stats(struct reader *r, const struct reader_chunk *c, struct format_stats *s)
{
	/* What came later is behind what there always was. */
	if (c->head.size < FORMAT_STATS_MIN) {
		note(r, c, 0, "too short");
		return false;
	}
	memset(s, 0, sizeof(*s));
	memcpy(s, c->payload, c->head.size < sizeof(*s) ? c->head.size : sizeof(*s));
	if (!stream_ok(&c->head, &s->stream)) {
		note(r, c, 0, "a description that cannot be");
		return false;
	}
	return true;
}

bool reader_summary(const struct reader *r)
{
	const struct reader_damage *d = &r->damage;
	char text[400];
	int n = 0;

	if (d->ended && !d->chunks && !d->missing && !d->bytes)
		return false;
#define ADD(...)	(n += snprintf(text + n, sizeof(text) - n, __VA_ARGS__))
	text[0] = '\0';
	if (d->chunks)
		ADD(", %" PRIu64 " damaged chunks", d->chunks);
	if (d->missing)
		ADD(", %" PRIu64 " missing chunks", d->missing);
	if (d->bytes)
		ADD(", %" PRIu64 " bytes of nothing known", d->bytes);
	if (d->cut)
		ADD(", cut off in a chunk");
	else if (!d->ended)
		ADD(", no end: the recorder was killed, or the file cut off");
	if (d->records)
		ADD(", at least %" PRIu64 " records lost", d->records);
#undef ADD
	complain("%s: not whole: %s", r->path, text + 2);
	return true;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * memio replay, report: the files of a recording as one list of samples, see history.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "history.h"
#include "progress.h"

#define PROGRESS_BYTES	(32u << 20)

#define NAME_ROOM	4200
#define NOT_REGULAR		1000	/* no regular file */
#define TRIES		8	/* to open the files, while memio record renames them */

/* A file of samples; or a negative error */
static int open_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	int err;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -NOT_REGULAR;
	else
		return fd;
	close(fd);
	return err;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static const char *file_name(const char *path, unsigned int n, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, n ? "%s.%u" : "%s", path, n);
	return name;
}

static void say_file(const char *path, unsigned int n, int err)
{
	char name[NAME_ROOM];

	complain("%s: %s", file_name(path, n, name),
		 err == -NOT_REGULAR ? "not a regular file" : strerror(-err));
}

static void close_files(struct history *h)
{
	while (h->files)
		if (h->part[--h->files].fd >= 0)
			close(h->part[h->files].fd);
}

static bool add_file(struct history *h, int fd, unsigned int n)
{
	struct part *more = realloc(h->part, (h->files + 1) * sizeof(*more));

	if (!more) {
		complain("no memory");
		return false;
	}
	h->part = more;
	h->part[h->files++] = (struct part) { .fd = fd, .n = n };
	return true;
}

/* PATH, PATH.1 and so on. @begin_again: memio record has put another file to PATH meanwhile. */
static bool try_files(struct history *h, const char *path, bool *begin_again)
{
	char name[NAME_ROOM];
	bool gap = false;
	struct stat is, was;
	unsigned int n;
	int fd;

	for (n = 0; n <= LOG_KEEP_MOST; n++) {
		fd = open_file(file_name(path, n, name));
		if (fd == -ENOENT) {
			/* Files are renamed one by one: the one of this name may be the next. */
			if (gap)
				break;
			gap = true;
			continue;
		}
		gap = false;
		/* It was renamed between two looks. */
		if (h->files && fd >= 0 && same_file(fd, h->part[h->files - 1].fd)) {
			close(fd);
			continue;
		}
		if (!add_file(h, fd, n)) {
			if (fd >= 0)
				close(fd);
			return false;
		}
	}
	*begin_again = h->files && !stat(path, &is) &&
		       (h->part[0].n || (h->part[0].fd >= 0 && !fstat(h->part[0].fd, &was) &&
					 (is.st_ino != was.st_ino || is.st_dev != was.st_dev)));
	return true;
}

/* All files, the oldest first. One that can't be read has an error for a descriptor. */
static bool open_files(struct history *h, const char *path)
{
	bool begin_again = true;
	unsigned int n;

	for (n = 0; n < TRIES && begin_again; n++) {
		close_files(h);
		if (!try_files(h, path, &begin_again))
			return false;
	}
	if (!h->files || (!h->part[0].n && h->part[0].fd < 0)) {
		say_file(path, 0, h->files ? h->part[0].fd : -ENOENT);
		return false;
	}
	for (n = 0; n < h->files / 2; n++) {
		const struct part part = h->part[n];

		h->part[n] = h->part[h->files - 1 - n];
		h->part[h->files - 1 - n] = part;
	}
	return true;
}

struct listing {
	struct history *h;
	struct progress progress;
	uint64_t bytes;
	unsigned int file;
	bool lost, no_memory;
};

static bool note_record(const uint8_t *text, size_t size, uint64_t at, bool lost, void *arg)
{
	struct listing *l = arg;
	struct history *h = l->h;

	l->bytes += size;
	if (l->bytes >= PROGRESS_BYTES) {
		l->bytes = 0;
		if (l->progress.begun < l->progress.all)
			progress(&l->progress, "reading the recording");
	}
	if (!past_read(h->past, text, size)) {
		l->lost = true;
		return false;
	}
	if (h->n == h->room) {
		const size_t room = 2 * h->room + 1024;
		struct moment *more = realloc(h->moment, room * sizeof(*more));

		if (!more) {
			l->no_memory = true;
			return false;
		}
		h->moment = more;
		h->room = room;
	}
	h->moment[h->n++] = (struct moment) {
		.when = *past_instant(h->past), .file = l->file, .size = size, .at = at,
		.lost = lost || l->lost,
	};
	l->lost = false;
	return true;
}

const char *history_lost(const struct history *h, char *text, size_t size)
{
	const struct log_scan *s = &h->scan;
	size_t n = 0;

	*text = '\0';
	if (s->damaged)
		n += snprintf(text, size, "%llu damaged record%s left out",
			      (unsigned long long)s->damaged, s->damaged == 1 ? " is" : "s are");
	if (s->torn && n < size)
		n += snprintf(text + n, size - n, "%sthe last record is incomplete (%llu bytes)",
			      n ? "; " : "", (unsigned long long)s->torn);
	if (s->other && n < size)
		n += snprintf(text + n, size - n, "%s%llu record%s of another version of memio",
			 n ? "; " : "", (unsigned long long)s->other,
			 s->other == 1 ? " is" : "s are");
	if (h->unread && n < size)
		snprintf(text + n, size - n, "%s%u file%s of the recording cannot be read",
			 n ? "; " : "", h->unread, h->unread == 1 ? "" : "s");
	return text;
}

static bool list_samples(struct history *h, const char *path)
{
	struct listing l = { .h = h };
	uint64_t all = 0;
	struct stat st;
	unsigned int i;
	int err;

	for (i = 0; i < h->files; i++)
		all += h->part[i].fd < 0 || fstat(h->part[i].fd, &st) ? 0 : st.st_size;
	progress_begin(&l.progress, all / PROGRESS_BYTES, all < 2 * PROGRESS_BYTES, false);
	for (i = 0; i < h->files; i++) {
		struct log_scan scan;

		l.file = i;
		scan = (struct log_scan) { .lost = true };
		err = h->part[i].fd;
		if (err >= 0)
			err = log_read(h->part[i].fd, &scan, note_record, &l);
		if (l.no_memory || err == -ENOMEM) {
			progress_end(&l.progress);
			complain("no memory");
			return false;
		}
		/* The other files have their samples all the same. */
		if (err) {
			progress_end(&l.progress);
			say_file(path, h->part[i].n, err);
			h->unread++;
		}
		/* What the end of a file lost, the next sample is told, whichever file has it. */
		l.lost |= scan.lost;
		h->scan.good += scan.good;
		h->scan.damaged += scan.damaged;
		h->scan.other += scan.other;
		h->scan.torn += scan.torn;
	}
	progress_end(&l.progress);
	return true;
}

bool history_open(struct history *h, const char *path)
{
	char text[256];

	*h = (struct history) { .past = past_new() };
	if (!h->past) {
		complain("no memory");
		return false;
	}
	h->source = past_source(h->past);
	if (!open_files(h, path) || !list_samples(h, path)) {
		history_close(h);
		return false;
	}
	if (*history_lost(h, text, sizeof(text)))
		complain("%s: %s", path, text);
	h->current = h->n;
	if (h->n)
		return true;
	complain("%s has no sample of memio record", path);
	history_close(h);
	return false;
}

void history_close(struct history *h)
{
	close_files(h);
	free(h->part);
	free(h->moment);
	free(h->text);
	past_free(h->past);
	*h = (struct history) { 0 };
}

uint64_t history_since(const struct history *h, size_t i)
{
	const struct instant *now = &h->moment[i].when, *then;

	if (!i)
		return 0;
	then = &h->moment[i - 1].when;
	return now->epoch == then->epoch && now->mono_ns > then->mono_ns ?
	       now->mono_ns - then->mono_ns : 0;
}

bool history_load(struct history *h, size_t i)
{
	const struct moment *m = &h->moment[i];

	if (m->size > h->text_room) {
		uint8_t *more = realloc(h->text, m->size);

		if (!more) {
			complain("no memory");
			return false;
		}
		h->text = more;
		h->text_room = m->size;
	}
	if (log_fetch(h->part[m->file].fd, m->at, h->text, m->size) &&
	    past_read(h->past, h->text, m->size))
		return true;
	complain("the recording was changed meanwhile");
	return false;
}

static int play(struct history *h, struct model *o, size_t i)
{
	const uint64_t since = history_since(h, i);

	if (!history_load(h, i))
		return -EIO;
	/* The first of a run has sums, and no rates. */
	if (!since)
		model_forget(o);
	h->current = i;
	return model_sample_from(o, &h->source, since);
}

int history_step(struct history *h, struct model *o, size_t i)
{
	return i && h->current == i - 1 ? play(h, o, i) : history_seek(h, o, i);
}

int history_seek(struct history *h, struct model *o, size_t i)
{
	size_t from = i;
	int err = 0;

	while (from && i - from < HISTORY && history_since(h, from))
		from--;
	model_forget(o);
	for (; from <= i && !err; from++)
		err = play(h, o, from);
	return err;
}

size_t history_at(const struct history *h, uint64_t wall_ns)
{
	size_t i;

	for (i = h->n; i-- > 0;)
		if (h->moment[i].when.wall_ns <= wall_ns)
			return i;
	return 0;
}

size_t history_from(const struct history *h, uint64_t wall_ns)
{
	size_t i;

	for (i = 0; i < h->n; i++)
		if (h->moment[i].when.wall_ns >= wall_ns)
			break;
	return i;
}

int history_range(const struct history *h, const char *from, const char *until, size_t *first,
		  size_t *last)
{
	const struct moment *m = h->moment;
	uint64_t ns;

	*first = 0;
	*last = h->n - 1;
	if (from) {
		if (!moment_parse(from, m[*last].when.wall_ns, MOMENT_BEFORE, &ns)) {
			complain("--from '%s': no time, as 22:00, 2026-11-28 or -2h", from);
			return STATUS_USAGE;
		}
		*first = history_from(h, ns);
		if (*first == h->n) {
			complain("no sample from %s on", from);
			return STATUS_FAILED;
		}
	}
	if (!until)
		return STATUS_OK;
	if (!moment_parse(until, m[*first].when.wall_ns, MOMENT_AFTER, &ns)) {
		complain("--until '%s': no time, as 22:00, 2026-11-28 or +2h", until);
		return STATUS_USAGE;
	}
	*last = history_at(h, ns);
	if (m[*first].when.wall_ns <= ns && *last >= *first)
		return STATUS_OK;
	complain("no sample until %s", until);
	return STATUS_FAILED;
}

char *history_group(struct history *h, const char *name, size_t first, size_t last)
{
	const char *path;
	char *copy;
	size_t i;

	for (i = last + 1; i-- > first;) {
		if (!history_load(h, i))
			return NULL;
		path = past_group(h->past, name);
		if (!path)
			continue;
		copy = strdup(path);
		if (!copy)
			complain("no memory");
		return copy;
	}
	complain("no sample has a group '%s', or several have that name", name);
	return NULL;
}

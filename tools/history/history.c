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

/* A file of samples; -1 after a complaint, -2: there is none of that name */
static int open_file(const char *path, bool older)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT && older)
		return -2;
	if (fd < 0 || fstat(fd, &st)) {
		complain_errno("%s", path);
		return -1;
	}
	if (S_ISREG(st.st_mode))
		return fd;
	complain("%s: not a regular file", path);
	close(fd);
	return -1;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

/* PATH, PATH.1 and so on, then the other way round */
static bool open_files(struct history *h, const char *path)
{
	char name[4200];
	unsigned int n;
	int fd;

	for (n = 0; n <= LOG_KEEP_MOST; n++) {
		int *more = realloc(h->fd, (h->files + 1) * sizeof(*h->fd));

		if (!more) {
			complain("no memory");
			return false;
		}
		h->fd = more;
		snprintf(name, sizeof(name), n ? "%s.%u" : "%s", path, n);
		fd = open_file(name, n);
		if (fd == -2)
			break;
		if (fd < 0)
			return false;
		/* It was renamed between two looks. */
		if (h->files && same_file(fd, h->fd[h->files - 1])) {
			close(fd);
			continue;
		}
		h->fd[h->files++] = fd;
	}
	for (n = 0; n < h->files / 2; n++) {
		fd = h->fd[n];
		h->fd[n] = h->fd[h->files - 1 - n];
		h->fd[h->files - 1 - n] = fd;
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
		if (l->progress.done < l->progress.all)
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
		snprintf(text + n, size - n, "%s%llu record%s of another version of memio",
			 n ? "; " : "", (unsigned long long)s->other,
			 s->other == 1 ? " is" : "s are");
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
		all += fstat(h->fd[i], &st) ? 0 : st.st_size;
	progress_begin(&l.progress, all / PROGRESS_BYTES, all < 2 * PROGRESS_BYTES, false);
	for (i = 0; i < h->files; i++) {
		struct log_scan scan;

		l.file = i;
		err = log_read(h->fd[i], &scan, note_record, &l);
		if (err || l.no_memory) {
			progress_end(&l.progress);
			complain("%s: %s", path, strerror(err ? -err : ENOMEM));
			return false;
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
	while (h->files)
		close(h->fd[--h->files]);
	free(h->fd);
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
	if (log_fetch(h->fd[m->file], m->at, h->text, m->size) &&
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

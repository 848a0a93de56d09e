/* SPDX-License-Identifier: GPL-2.0 */
/* memio replay, report: the files of a recording as one list of samples; see log.h */
#ifndef MEMIO_HISTORY_HISTORY_H
#define MEMIO_HISTORY_HISTORY_H

#include "log.h"
#include "past.h"

/**
 * struct moment - a sample that can be loaded
 * @file, @at, @size: where its text stands
 * @lost:	something between the sample before and this one is lost
 */
struct moment {
	struct instant when;
	unsigned int file;
	uint32_t size;
	uint64_t at;
	bool lost;
};

/**
 * struct part - a file of a recording
 * @fd:		it; or a negative error: it can't be read
 * @n:		the number in its name; 0: it has none
 */
struct part {
	int fd;
	unsigned int n;
};

/**
 * struct history - a recording
 * @part:	its files, the oldest first
 * @moment:	its samples, in order
 * @scan:	what all its files have
 * @unread:	files that can't be read, or not to their ends
 * @current:	the sample that the model had last; @n: none
 */
struct history {
	struct part *part;
	unsigned int files, unread;
	struct moment *moment;
	size_t n, room, current;
	struct log_scan scan;

	/* the history's own */
	struct past *past;
	struct source source;
	uint8_t *text;
	size_t text_room;
};

/*
 * history_open: the file @path, and older ones: PATH.1 and so on. It says what is lost. False
 * after a complaint: there is no sample
 */
bool history_open(struct history *h, const char *path);
void history_close(struct history *h);
/* history_lost: what is lost, as a sentence; "" if nothing is */
const char *history_lost(const struct history *h, char *text, size_t size);
/* history_since: time from the sample before to this one; 0: sums began anew, or it is the first */
uint64_t history_since(const struct history *h, size_t i);
/* history_load: sample @i into h->past; false after a complaint: it can't be read any more */
bool history_load(struct history *h, size_t i);
/* history_step: sample @i, which follows the last one, into the model; 0 or a negative error */
int history_step(struct history *h, struct model *o, size_t i);
/* history_seek: the same for any sample, with as many before it as curves have */
int history_seek(struct history *h, struct model *o, size_t i);
/*
 * history_at: the last sample at @wall_ns or before, else the first; history_from: the first one
 * at @wall_ns or after, or @n
 */
size_t history_at(const struct history *h, uint64_t wall_ns);
size_t history_from(const struct history *h, uint64_t wall_ns);

/* Of options */
#define FROM_HELP \
	"Begin at TIME: 2026-11-28, '2026-11-28 22:00', 22:00 or 22:00:30 (the last such time " \
	"before the recording's end), or -2h (two hours before its end)."
#define UNTIL_HELP \
	"End at TIME, in the forms of --from; without a date, it is the first such time after " \
	"the beginning, and +2h is two hours after the beginning."

/*
 * history_range: the samples that --from and --until mean, which may be NULL; a STATUS_, after a
 * complaint. history_group: the path of the group @name in any of these, which free() takes; NULL
 * after a complaint
 */
int history_range(const struct history *h, const char *from, const char *until, size_t *first,
		  size_t *last);
char *history_group(struct history *h, const char *name, size_t first, size_t last);

enum moment_side { MOMENT_BEFORE, MOMENT_AFTER };

/*
 * moment_parse: "2026-11-28 03:12:05", "2026-11-28", "03:12", "-10m", "+2h". A time without
 * a date is the last one before @base_ns, or the first one after it; others are apart from it by so
 * much. False: it is none
 */
bool moment_parse(const char *text, uint64_t base_ns, enum moment_side side, uint64_t *ns);
/* moment_text: as people read it, by the local time; with the difference from UTC if @zone */
#define MOMENT_TEXT	40
const char *moment_text(uint64_t wall_ns, bool zone, char text[MOMENT_TEXT]);

#endif /* MEMIO_HISTORY_HISTORY_H */

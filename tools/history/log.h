/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio record, replay, report: a file of records; FORMAT.md has the bytes
 *
 * Data go this way:
 *
 *	log.c		records <-> files, their sums, their rotation
 *	past.c		a sample <-> a record; a record as a source of the model (../top)
 *	history.c	the files of a recording -> one list of samples
 *	moment.c	what users type as a time
 *	record.c replay.c report.c	the commands
 *	sums.c page.c	the report: what was moved in all; as HTML
 *
 * A record has a head with a sum of its own, so that its length can be trusted or not. What
 * goes wrong in a record is lost with this record alone.
 */
#ifndef MEMIO_HISTORY_LOG_H
#define MEMIO_HISTORY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOG_HEAD	24u		/* bytes before a record's text */
#define LOG_MOST	(8u << 20)	/* no record is longer */
#define LOG_VERSION	2		/* that is written; older ones are read, too */
#define LOG_KEEP_MOST	1000

/**
 * struct log - a file that records are appended to, while nobody else does
 * @fd:		it
 * @dir:	its directory, which may get another name meanwhile
 * @path:	its name; older files are PATH.1, PATH.2 and so on. PATH.new is the next one, while
 *		files are renamed
 * @name:	its name in the directory
 * @most:	no file becomes larger
 * @keep:	so many older files stay
 * @size:	of the file
 */
struct log {
	int fd, dir;
	char *path;
	const char *name;
	uint64_t most, size;
	unsigned int keep;
};

/*
 * log_open: begins a file, or goes on with one. It refuses, after a complaint, a file that is none
 * of ours, that somebody else owns, that a link leads to, or that another process writes; and
 * older files that are none of ours. A record at its end that is incomplete is cut off.
 */
bool log_open(struct log *l, const char *path, uint64_t most, unsigned int keep);
/*
 * log_append: a record of @size bytes behind LOG_HEAD bytes of room at @record.
 * Return: 0; -EFBIG without a complaint: no file may have so large a record; another negative error
 * after a complaint. The file ends with the record before, if this one is not in it
 */
int log_append(struct log *l, uint8_t *record, size_t size);
void log_close(struct log *l);

/**
 * struct log_scan - what a file has
 * @good:	records
 * @damaged:	records, or stretches without any, that are lost
 * @other:	records of another version
 * @torn:	the bytes of a record at the end that is incomplete
 * @end:	where the last record ends
 * @lost:	something is lost behind the last good record
 */
struct log_scan {
	uint64_t good, damaged, other, torn, end;
	bool lost;
};

/*
 * log_read: calls @each for each record, with its text, the place of this text, and whether
 * something before it is lost. @each says whether the text makes sense; else the record
 * counts as damaged.
 * Return: 0, or an error number
 */
int log_read(int fd, struct log_scan *scan,
	     bool (*each)(const uint8_t *text, size_t size, uint64_t at, bool lost, void *arg),
	     void *arg);
/* log_fetch: the text of a record at @at, once more; false: it has changed */
bool log_fetch(int fd, uint64_t at, uint8_t *text, size_t size);

#endif /* MEMIO_HISTORY_LOG_H */

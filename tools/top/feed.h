/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio top: readers of libmemio, one sample after the other: of the running machine, or of
 * directories 0, 1 and so on, each of which has copies of proc/ and sys/
 */
#ifndef MEMIO_TOP_FEED_H
#define MEMIO_TOP_FEED_H

#include <memio/memio.h>

/**
 * struct feed - where samples come from
 * @m:		the reader
 * @recorded:	the root has directories 0, 1, and so on, each a sample
 * @taken_ns:	when the last one of these was taken, by its file time_ns; 0: it has none
 * @since_ns:	from the one before to the last one; 0: not known
 * @next:	the next of these
 * @ended:	there is none
 */
struct feed {
	const char *root, *backend;
	struct memio *m;
	bool recorded, ended;
	unsigned int next;
	uint64_t taken_ns, since_ns;
};

/* feed_begin: false after a complaint */
bool feed_begin(struct feed *f, const char *root);
/* feed_next: the reader for the next sample; of directories that have ended, the last one */
bool feed_next(struct feed *f);
/* feed_able: whether it has figures; STATUS_OK, or a complaint and STATUS_UNABLE */
int feed_able(struct feed *f);
/*
 * feed_group: the group @name, in a string that free() takes; NULL is the root. False after a
 * complaint
 */
bool feed_group(struct feed *f, const char *name, char **path);

#endif /* MEMIO_TOP_FEED_H */

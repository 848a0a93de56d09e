/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio top: the store: what is remembered of each group, task and device from one sample to
 * the next
 *
 * Data go this way:
 *
 *	source.c	libmemio, or a history (../history), as one
 *	model.c		a source -> tracks: figures, histories, and notes on their worth
 *	store.c		keeps the tracks
 *	view.c		tracks and settings -> a screen of text; keys -> settings
 *	terminal.c	a screen -> ncurses
 *	batch.c		a screen or tracks -> a table, JSON, CSV
 *	feed.c		readers of libmemio: the machine, or recorded trees
 *	settings.c	options
 *	top.c		the loop
 *
 * Only sources read files, and only terminal.c knows a terminal.
 */
#ifndef MEMIO_TOP_STORE_H
#define MEMIO_TOP_STORE_H

#include <memio/memio.h>

enum track_kind { TRACK_GROUP, TRACK_TASK, TRACK_DEVICE };

/* Rates, in bytes per second */
enum figure {
	FIG_TO,			/* IO bytes to devices */
	FIG_FROM,		/* IO bytes from devices */
	FIG_READ,		/* memory bytes read, by devices and CPUs */
	FIG_WRITE,		/* memory bytes written, by devices and CPUs */
	FIG_CPU,		/* the CPUs' part of these two */
	FIGURES
};

/* What a memory figure is worth */
enum worth {
	WORTH_OK,
	WORTH_BOUND,		/* an upper bound: a part of the IO bytes has no price */
	WORTH_INVALID,		/* the counters were not read throughout the interval */
};

#define HISTORY	128		/* samples that a track remembers */

/**
 * struct task_info - what is known of a task, as &struct memio_task, whose path takes 4 KiB, has it
 */
struct task_info {
	uint64_t start;
	uid_t uid;
	char state, comm[32];
	int policy;
};

enum bound {
	BOUND_READ_MIN,
	BOUND_READ_MAX,
	BOUND_WRITE_MIN,
	BOUND_WRITE_MAX,
	BOUNDS
};

/**
 * struct track - a group, a task or a device, over time
 * @kind:	which
 * @name:	a group's path, a device's bus name or the key of another line; "" for a task
 * @label:	of a device: what people call it; of a group: the name of its container, or ""
 * @pid:	of a task
 * @id:		a group's inode, or a task's start
 * @serial:	no other track ever has the same
 * @seen:	the last sample that had it
 * @now, @then: what its file said in the last sample, and in the one before
 * @fresh:	the last sample is the first that has it
 * @still:	the last sample has the same figures as the one before; @then is older
 * @anew:	a counter went back, so that its rate counts from zero
 * @denied:	this user may not read its figures
 * @figures:	which figures there are: bits
 * @rate:	the figures
 * @moved:	bytes that it moved in the interval, of all kinds
 * @own:	of a group: the same without the groups below it
 * @worth:	of the memory figures
 * @half:	half the distance of the bounds of its memory bytes, as a part of them;
 *		negative: it moved none, or the kernel tells of no bounds
 * @bounded:	the kernel tells of bounds
 * @bound:	what it has read at least and at most, and written, as rates; if @bounded
 * @besides, @beside: of a device: the same figures by the file of --beside, up to FIG_WRITE
 * @share:	of the machine's memory bytes, 0 to 1
 * @stopped:	of a group: the share of the interval for which its own limits stopped it;
 *		of a task: 1 if a limit holds it now
 * @events_usec, @stopped_usec: of a group: the counters behind @stopped, with the groups below
 *		it and without
 * @limits, @limits_at: of a group, and the sample that read them
 * @limited:	a limit is set
 * @info, @info_at: of a task, and the sample that read it
 * @group:	of a task
 * @depth, @parent: of a group: its place in the tree
 * @tasks_at:	of a group: the last sample that read its tasks; of a task: that had it in a group
 * @history:	memory bytes per second of the last samples, a ring
 * @histories:	how many samples it ever had
 * @folded, @open: the view's: groups below it are not shown; its tasks are shown
 * @visible:	the view's: it is on the screen
 * @match, @first, @next, @order: the view's, while it makes a list
 * @chain:	the store's
 */
struct track {
	enum track_kind kind;
	char *name;
	char label[64];
	pid_t pid;
	uint64_t id, serial, seen;
	struct memio_stat now, then;
	bool fresh, still, anew, denied;
	unsigned int figures;
	double rate[FIGURES];
	uint64_t moved;
	int64_t own;
	enum worth worth;
	double half;
	bool bounded;
	double bound[BOUNDS];
	unsigned int besides;
	double beside[FIG_CPU];
	double share, stopped;
	uint64_t events_usec, stopped_usec;
	bool events_moved;
	struct memio_limits limits;
	uint64_t limits_at;
	bool limited;
	struct task_info *info;
	uint64_t info_at;
	struct track *group;
	unsigned int depth;
	struct track *parent;
	uint64_t tasks_at;
	float history[HISTORY];
	uint64_t histories;
	bool folded, open, visible, match;
	struct track *first, *next;
	size_t order;
	struct track *chain;
};

struct store;

struct store *store_new(void);
void store_free(struct store *s);
/* store_find: NULL: there is none */
struct track *store_find(struct store *s, enum track_kind kind, const char *name, pid_t pid);
/*
 * store_get: the track of that name; a new one if there is none, or if its id is another.
 * It counts as seen by @sample. NULL: no memory
 */
struct track *store_get(struct store *s, enum track_kind kind, const char *name, pid_t pid,
			uint64_t id, uint64_t sample);
/* store_sweep: forgets tracks that no sample from @sample on has seen; tasks: from @tasks_sample */
void store_sweep(struct store *s, uint64_t sample, uint64_t tasks_sample);
/* store_each: calls @each for all tracks, in no order */
void store_each(struct store *s, void (*each)(struct track *t));
size_t store_size(const struct store *s);

/* What has a share of the machine's bytes has one of these. */
#define SHARE_FIGURES	(1u << FIG_READ | 1u << FIG_TO)
/*
 * track_share: what its share of the machine, its place and its history are made of: memory
 * bytes; where there are none, IO bytes
 */
double track_share(const struct track *t);
/* track_remember: one more figure for its history */
void track_remember(struct track *t, double bps);
/* track_history: @n samples ago, 0 is the last; negative: none */
double track_history(const struct track *t, unsigned int n);

#endif /* MEMIO_TOP_STORE_H */

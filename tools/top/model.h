/* SPDX-License-Identifier: GPL-2.0 */
/* memio top: the model: one sample after the other, by libmemio; see store.h */
#ifndef MEMIO_TOP_MODEL_H
#define MEMIO_TOP_MODEL_H

#include "source.h"
#include "store.h"

#define MODEL_NOTES	8

/**
 * struct note - what is to be said of figures
 * @mark:	stands behind each such figure: '?', '<', '-'; 0: none
 * @about:	which figures
 * @why:	what is wrong, and what to do
 */
struct note {
	char mark;
	const char *about;
	char why[512];
};

/**
 * struct looked - what only the track that the user looks at needs
 * @serial:	of which; 0: nothing
 * @min, @min_effective, @weight: of a group; has_: the kernel has that file
 * @events:	memio.events
 * @state:	memio.state; empty where the kernel has none
 */
struct looked {
	uint64_t serial;
	uint64_t min, min_effective, weight;
	bool has_min, has_effective, has_weight;
	struct memio_flat events, state;
};

/**
 * struct beside - another account of the devices, in the grammar of memio.stat
 * @path:	a file; or behind a '|' a command of the shell that prints it. NULL: there is none.
 *		In a recording the file is below each sample
 * @name:	what it is called, for titles: its line "name WORD", else "beside"
 * @now, @then:	the last two texts that differed
 * @now_ns, @then_ns: when they were taken: its line "time_ns N", else when top read them
 */
struct beside {
	const char *path;
	char name[MEMIO_WORD_MAX];
	struct memio_stat now, then;
	uint64_t now_ns, then_ns;
};

/* A list of tracks */
struct tracks {
	struct track **track;
	size_t n, room;
};

/**
 * struct model - the last sample
 * @below:	the group whose tree is shown, "/" mostly
 * @containers:	below this directory, var/lib/containers has the names of containers; or NULL
 * @want_tasks:	read the tasks of each group that moved bytes
 * @want_idle:	read those of the others, too
 * @recorded:	each sample is a tree of its own, so that inodes are no names
 * @look:	the serial of the track that the user looks at; 0: none
 * @samples:	how many were taken; the first has no rates
 * @interval_ns: between the last two
 * @root:	the machine
 * @group, @task, @device: what the last sample had; groups as a tree, parents first
 * @denied:	so many tasks' figures this user may not read
 * @tasks_read:	so many tasks the last sample read
 * @source, @estimator, @state: where the figures come from, in words
 * @worth:	of all memory figures
 * @has_cpu:	what CPUs read is counted
 * @has_memory:	memory bytes are known, and not IO bytes alone
 * @has_bounds:	the kernel tells of bounds
 * @beside:	figures of somebody else
 * @wall_ns:	when it was taken, by CLOCK_REALTIME; 0: now
 * @note:	what is to be said of figures
 */
struct model {
	const char *below, *containers;
	bool want_tasks, want_idle, recorded;
	uint64_t look;

	uint64_t samples, interval_ns, wall_ns;
	struct track *root;
	struct tracks group, task, device;
	size_t denied, tasks_read;
	char source[MEMIO_WORD_MAX], estimator[MEMIO_WORD_MAX], state[MEMIO_WORD_MAX];
	enum worth worth;
	bool has_cpu, has_memory, has_bounds;
	struct beside beside;
	struct note note[MODEL_NOTES];
	size_t notes;
	struct looked looked;

	/* the model's own */
	struct store *store;
	struct memio_stat diff;
	struct memio_flat flat;
	struct memio_membw membw;
	struct tracks above;
	uint64_t last_ns;
	char denied_why[512];
	char error[512];
};

/* model_init: 0 or -ENOMEM */
int model_init(struct model *o);
void model_free(struct model *o);
/*
 * model_sample: reads what there is. @recorded_ns: of a recording, the time since the sample
 * before; 0: by the clock.
 * Return: 0, or a negative error, and @o->error says why
 */
int model_sample(struct model *o, struct memio *m, uint64_t recorded_ns);
/* model_sample_from: the same, from any source */
int model_sample_from(struct model *o, const struct source *from, uint64_t recorded_ns);
/* model_note: of the last sample; @mark as of &struct note */
void model_note(struct model *o, char mark, const char *about, const char *why);
/*
 * model_forget: the next sample is the first one again. What the user folded, chose or looks at
 * stays so.
 */
void model_forget(struct model *o);

#endif /* MEMIO_TOP_MODEL_H */

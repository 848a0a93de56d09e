/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio top: where the model's samples come from: libmemio, or a history that was recorded
 *
 * The model asks only for what it needs (model.c says what that is), and gets from either the
 * same answers: 0, or the error numbers of libmemio.
 */
#ifndef MEMIO_TOP_SOURCE_H
#define MEMIO_TOP_SOURCE_H

#include <memio/memio.h>

/**
 * struct source_ops - as libmemio's functions of like names; @data is the source's
 * @capabilities: what is there, and what is not
 * @backend:	"kernel", "bpf", "none"
 * @words:	the first lines of a membw: counters, estimator, state
 * @groups:	the groups of a tree
 * @group_stat:	a group's figures, with the groups below it
 * @group_events, @group_limits, @group_value, @group_state: of a group
 * @group_tasks: the processes of a group
 * @task_info, @task_membw: of a process that @group_tasks tells of
 * @device_alias: what people call a device
 * @root:	the directory with proc/ and sys/
 * @mount:	the directory with the groups; NULL: there is none
 * @error:	what the last call that failed has to say
 */
struct source_ops {
	const struct memio_capability *(*capabilities)(void *data, size_t *n);
	const char *(*backend)(void *data);
	int (*words)(void *data, struct memio_membw *b);
	int (*groups)(void *data, const char *path,
		      int (*each)(const struct memio_group *group, void *arg), void *arg);
	int (*group_stat)(void *data, const char *path, struct memio_stat *s);
	int (*group_events)(void *data, const char *path, enum memio_scope scope,
			    struct memio_flat *f);
	int (*group_limits)(void *data, const char *path, struct memio_limits *l);
	int (*group_value)(void *data, const char *path, enum memio_value which, uint64_t *value);
	int (*group_state)(void *data, const char *path, struct memio_flat *f);
	int (*group_tasks)(void *data, const char *path, int (*each)(pid_t pid, void *arg),
			   void *arg);
	int (*task_info)(void *data, pid_t pid, struct memio_task *task);
	int (*task_membw)(void *data, pid_t pid, struct memio_membw *b);
	const char *(*device_alias)(void *data, const char *name);
	const char *(*root)(void *data);
	const char *(*mount)(void *data);
	const char *(*error)(void *data);
};

struct source {
	const struct source_ops *ops;
	void *data;
};

/* source_live: by a reader of libmemio */
struct source source_live(struct memio *m);

#endif /* MEMIO_TOP_SOURCE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one types every day: memio stat, limit, run and doctor. They are made of libmemio and of
 *
 *	figures.c	figures -> a table, CSV, JSON
 *	group.c		a group of one's own, for a command: in cgroupfs, or
 *	scope.c		by systemd
 *	watch.c		memory, second by second, beside
 *	controllers.c	what the memory controllers count
 *
 * MEMIO_ROOT, in the environment, is the directory that has proc/ and sys/: recorded trees
 * test the commands that only read.
 */
#ifndef MEMIO_EVERYDAY_H
#define MEMIO_EVERYDAY_H

#include <memio/memio.h>

#include "../json/json.h"
#include "command.h"
#include "options.h"

/* everyday_open: a reader, as of memio_open_backend(); NULL after a complaint, with *@status */
struct memio *everyday_open(const char *backend, int *status);
/*
 * everyday_backend: *@backend is the value of --backend among the arguments of the command that
 * runs, or NULL. False: this is the command's end, as options_get() has it
 */
bool everyday_backend(int argc, char **argv, const char **backend, int *status);
/* everyday_lost: says what the backend had no room for, if anything */
void everyday_lost(struct memio *m);
/* everyday_status: of an error of the library, which is complained of; @group may be NULL */
int everyday_status(struct memio *m, int err, const char *group);
/* everyday_able: false, after a complaint, where nothing tells of memory bandwidth */
bool everyday_able(struct memio *m);
/* everyday_accounted: false, after a complaint, while nothing is: all figures would be 0 */
bool everyday_accounted(struct memio *m);

/* ---- figures ---- */

/* bytes_text: "609 MB", powers of 1000; rate_text: "60.9 MB/s", or "max" */
#define FIGURE_TEXT	24
const char *bytes_text(uint64_t bytes, char text[FIGURE_TEXT]);
const char *rate_text(uint64_t bps, char text[FIGURE_TEXT]);
/* way_meaning: "memory written (receive, disk reads)" */
const char *way_meaning(enum memio_way way);

/**
 * struct figures - what was moved in some time
 * @kind:	"group", "process", "device" or "machine"
 * @name:	of that
 * @moved:	the difference
 * @stopped_usec, @stops: by limits, if @has_stops
 * @has_stops:	it is a group
 * @time_ns:	when the time began, since the command did
 */
struct figures {
	const char *kind, *name;
	struct memio_stat moved;
	uint64_t stopped_usec, stops, time_ns;
	bool has_stops;
};

void figures_table(struct memio *m, const struct figures *f, FILE *to);
/* figures_rows: short: a row for each key, after the time */
void figures_rows_head(FILE *to);
void figures_rows(struct memio *m, const struct figures *f, FILE *to);
void figures_csv_head(FILE *to);
void figures_csv(struct memio *m, const struct figures *f, FILE *to);
json_t *figures_json(struct memio *m, const struct figures *f);

/* ---- a group of one's own (group.c, scope.c) ---- */

/**
 * struct own_group - while a command runs in it
 * @path:	in the hierarchy; NULL: the command stays where memio is
 * @pid:	the command's process
 * @guard:	the pipe of the process that removes the group if this one is killed; or of @keeper
 * @keeper:	a scope: the process that holds it
 * @go, @failed: a scope: pipes of the process that waits until it may become the command
 */
struct own_group {
	char *path;
	pid_t pid, keeper;
	int guard, go, failed;
};

#define NO_GROUP	{ .guard = -1, .go = -1, .failed = -1 }

/*
 * own_group_make: below the group @parent, with the controller; for the command @argv, which does
 * not run yet. A STATUS_, after a complaint with the line to type
 */
int own_group_make(struct memio *m, const char *parent, char **argv, struct own_group *g);
/* own_group_start: the command; 0, or STATUS_NOT_RUN, STATUS_NO_SUCH, STATUS_FAILED */
int own_group_start(struct memio *m, struct own_group *g, char **argv);
/*
 * own_group_wait: at most @ns; whether it has ended, with *@status as a shell has it: signals that
 * came to this process are passed on
 */
bool own_group_wait(struct own_group *g, uint64_t ns, int *status);
/* own_group_remove: what is still in it goes to where this process is */
void own_group_remove(struct memio *m, struct own_group *g);

/* group_enable: the controller is to reach the groups below @parent. A STATUS_ */
int group_enable(struct memio *m, const char *parent);

/* scope_wanted: systemd has the hierarchy, and @parent is its root or a slice */
bool scope_wanted(struct memio *m, const char *parent);
/* scope_make: a STATUS_, after a complaint; whatever it is, own_group_remove() is to follow */
int scope_make(struct memio *m, const char *parent, char **argv, struct own_group *g);
/* scope_start: lets the command go; 0, or the error of exec, or a negative one */
int scope_start(struct own_group *g);
/* scope_cancel: the process that waits to become the command, if there still is one, ends */
void scope_cancel(struct own_group *g);
/* scope_end: so does the keeper */
void scope_end(struct own_group *g);

#endif /* MEMIO_EVERYDAY_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libmemio, inside: rows that say how many bytes a group or a thread moved through a slot -> the
 * figures of groups with those below them, and of processes
 *
 * A snapshot begins, gets rows in any order, and ends; then it can be asked. What rows of groups
 * and threads had that are gone for good is settled: it goes to who is above them, and stays
 * there over all snapshots.
 */
#ifndef MEMIO_SUMS_H
#define MEMIO_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <memio/memio.h>

#include "prices.h"

#define SUMS_ROOT	1		/* the id of the hierarchy's root */
#define SUMS_CPU	(-2)		/* no device's number: what CPUs read, as bytes "from" */

struct sums;

struct sums *sums_new(void);
void sums_free(struct sums *s);

/* sums_device: the number of a device, which is new or known; -1: no memory */
int sums_device(struct sums *s, const char *name);
size_t sums_devices(const struct sums *s);
const char *sums_device_name(const struct sums *s, size_t i);

/* sums_with_cpu: there is a line "cpu" from now on; @valid: of all CPUs, in this snapshot */
void sums_with_cpu(struct sums *s, bool valid);
/* sums_begin: forgets all but devices and what is settled */
void sums_begin(struct sums *s);
/* Each is false if there is no memory. sums_total: of the machine */
bool sums_total(struct sums *s, int device, uint64_t to, uint64_t from);
bool sums_parent(struct sums *s, uint64_t id, uint64_t parent);
bool sums_group(struct sums *s, uint64_t id, int device, uint64_t to, uint64_t from);
bool sums_task(struct sums *s, pid_t pid, pid_t tid, uint64_t leader, int device, uint64_t to,
	       uint64_t from);
/* sums_moved: what devices moved since the snapshot before, of sums_total() so far */
void sums_moved(struct sums *s, uint64_t *to, uint64_t *from);
/* sums_claimed: of sums_group() */
void sums_claimed(struct sums *s, uint64_t *to, uint64_t *from);
/*
 * sums_end: what was moved since the snapshot before has @price in sums_total(), and @claimed in
 * sums_group() and sums_task(); NULL: there are no prices
 */
bool sums_end(struct sums *s, const struct mio_price *price, const struct mio_price *claimed);

/*
 * sums_settle_group: what the group @id had, which is gone, is of @above from now on.
 * sums_settle_task: what the thread @tid had, which has ended, is of its process.
 */
bool sums_settle_group(struct sums *s, uint64_t id, uint64_t above, int device, uint64_t to,
		       uint64_t from);
bool sums_settle_task(struct sums *s, pid_t pid, pid_t tid, uint64_t leader, int device,
		      uint64_t to, uint64_t from);
/* sums_forget: a process that has ended, or another one that had its number */
void sums_forget(struct sums *s, pid_t pid);

/* sums_group_stat, sums_task_stat: 0 or -ENOMEM. Who has moved nothing has zeroes. */
int sums_group_stat(const struct sums *s, uint64_t id, enum memio_scope scope,
		    struct memio_stat *stat);
/* Of the process @pid, or of its thread @tid if that is not 0 */
int sums_task_stat(const struct sums *s, pid_t pid, pid_t tid, struct memio_stat *stat);

#endif /* MEMIO_SUMS_H */

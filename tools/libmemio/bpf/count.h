/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the BPF programs (count.bpf.c) and the library (bpf.c) have in common: the keys and
 * values of the maps.
 *
 * A slot stands for a disk or an interface. Slot 0 is what is not a device: loop, veth, dm. Several
 * slots may have the name of one device, and the library adds them up.
 */
#ifndef MEMIO_COUNT_H
#define MEMIO_COUNT_H

#define COUNT_SLOTS	512
#define COUNT_CPU	COUNT_SLOTS	/* in keys: what CPUs read from memory, as bytes "from" */
#define COUNT_NAME	32
#define COUNT_GROUPS	16384		/* rows: groups times devices that they used, or the CPUs */
#define COUNT_TASKS	16384		/* rows: threads times devices */
#define COUNT_READERS	65536		/* rows: threads that read something */
#define COUNT_PASSING	8192		/* packets on their way through virtual interfaces */
#define COUNT_QUEUES	1024		/* of network devices */
#define COUNT_WRITERS	16384		/* threads that made pages dirty */
#define COUNT_PAGES	(4u << 20)	/* pages whose writers are known, at most */

struct count_bytes {
	unsigned long long to, from;
};

struct count_group_key {
	unsigned long long id;		/* of the group: the inode of its directory */
	unsigned int slot, pad;
};

struct count_task_key {
	unsigned int tid, slot;
};

struct count_task {
	struct count_bytes bytes;
	unsigned long long start;	/* of the thread, ns since boot */
	unsigned long long leader;	/* of its process */
	unsigned int pid, pad;		/* the process */
};

struct count_net_key {
	unsigned int space, ifindex;	/* the network namespace's number */
};

/*
 * A CPU's counter when it was last looked at: what it has counted, and for how long it was there,
 * and counted. @since is when @ratio was made: of 1024ths, how much more it would have counted in
 * all of that time, of which @sum has the last half second or so.
 */
struct count_look {
	unsigned long long counter, enabled, running;
	unsigned long long since_enabled, since_running;
	unsigned long long sum_enabled, sum_running, ratio;
};

/* What found no room */
struct count_lost {
	unsigned long long group_bytes, task_bytes, slots;
};

#endif /* MEMIO_COUNT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For programs in the guest that compare what memio says of themselves with the ledger.
 */
#ifndef TEST_MEMBW_H
#define TEST_MEMBW_H

#include <string.h>

#include "check.h"
#include "core-work.h"
#include "ledger.h"

/* The line "cpu" of /proc/self/membw: bytes read, written; 0 without memio */
static inline void membw(u64 v[2])
{
	FILE *f = fopen("/proc/self/membw", "r");
	char line[1024];

	v[0] = 0;
	v[1] = 0;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu mem_read=%lu mem_write=%lu", &v[0], &v[1]) == 2)
			break;
	if (f)
		fclose(f);
}

/* The work that a command line names: one access to each line, `load` or `store` */
static inline work *membw_work(const char *name)
{
	return strcmp(name, "store") ? load_apart : store_apart;
}

/*
 * Does it @n times to @bytes at @buf, with a tag in the ledger; prints the tag and the bytes
 * that memio says it has read and written back.
 */
static inline void membw_task(u64 tag, const char *name, char *buf, u64 bytes, u64 n)
{
	work *w = membw_work(name);
	u64 begin[2], end[2];

	ledger_open();
	membw(begin);
	ledger_tag(tag);
	while (n--)
		w(buf, 64, bytes / 64);
	ledger_tag(0);
	membw(end);
	printf("%lu %lu %lu\n", tag, end[0] - begin[0], end[1] - begin[1]);
}

#endif /* TEST_MEMBW_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * boxes set N | boxes wrapped: the CBoxes' counters, beside whoever uses them
 *
 *	set N		all of them are N lines before they wrap
 *	wrapped		of those that count, which have wrapped since that was last asked:
 *			lines of BOX, event and umask, opcode of the box's filter, and 1 or 0
 *
 * By the boxes' registers (as pmon.c has them), of the package of CPU 0.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define BOXES		8
#define COUNTERS	4
#define MSR(box, reg)	(0xe00 + 16 * (box) + (reg))
#define SELECT		1
#define FILTER1		6
#define STATUS		7
#define COUNTER		8
#define ENABLED		(1u << 22)

static int msr;

static u64 get(int box, int reg)
{
	u64 value;

	if (pread(msr, &value, 8, MSR(box, reg)) != 8)
		die("MSR %#x: %m", MSR(box, reg));
	return value;
}

static void put(int box, int reg, u64 value)
{
	if (pwrite(msr, &value, 8, MSR(box, reg)) != 8)
		die("MSR %#x: %m", MSR(box, reg));
}

int main(int argc, char **argv)
{
	const bool set = argc == 3 && !strcmp(argv[1], "set");
	u64 status, select;
	int box, i;

	if (!set && (argc != 2 || strcmp(argv[1], "wrapped")))
		die("see boxes.c");
	msr = open("/dev/cpu/0/msr", O_RDWR);
	if (msr < 0)
		die("/dev/cpu/0/msr: %m");

	for (box = 0; box < BOXES; box++) {
		status = get(box, STATUS);
		for (i = 0; i < COUNTERS; i++) {
			select = get(box, SELECT + i);
			if (set)
				put(box, COUNTER + i, (1ull << 48) - number(argv[2]));
			else if (select & ENABLED)
				printf("%d %#lx %#lx %lu\n", box, select & 0xffff,
				       get(box, FILTER1) >> 20 & 0x1ff, status >> i & 1);
		}
		put(box, STATUS, 0xf);
	}
	return 0;
}

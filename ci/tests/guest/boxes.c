// SPDX-License-Identifier: GPL-2.0
/*
 * The CBoxes' counters, beside whoever uses them, as another tool would be that knows of nobody:
 *
 * boxes set N		all of them are N lines before they wrap
 *	back N		all of them have N lines less
 *	opcode A B	boxes whose filter has the opcode A look for B
 *	select EVENT	those that are on count this event (umask << 8 | code)
 *	stop EVENT A	those that count this event, in boxes whose filter has the opcode A, do not
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

/* An opcode or an event */
static u64 code(const char *text)
{
	return strtoull(text, NULL, 16);
}

static u64 opcode_of(int box)
{
	return get(box, FILTER1) >> 20 & 0x1ff;
}

/* What a counter that counts has to do with COMMAND */
static void disturb(int box, int i, char **argv)
{
	const u64 select = get(box, SELECT + i);

	if (!(select & ENABLED))
		return;
	if (!strcmp(argv[1], "back"))
		put(box, COUNTER + i,
		    (get(box, COUNTER + i) - number(argv[2])) & ((1ull << 48) - 1));
	else if (!strcmp(argv[1], "select"))
		put(box, SELECT + i, (select & ~0xffffull) | code(argv[2]));
	else if (!strcmp(argv[1], "stop") && (select & 0xffff) == code(argv[2]) &&
		 opcode_of(box) == code(argv[3]))
		put(box, SELECT + i, select & ~(u64)ENABLED);
}

static void other_opcode(int box, u64 from, u64 to)
{
	const u64 filter = get(box, FILTER1);

	if (opcode_of(box) == from)
		put(box, FILTER1, (filter & ~(0x1ffull << 20)) | to << 20);
}

int main(int argc, char **argv)
{
	const bool set = argc == 3 && !strcmp(argv[1], "set");
	const bool opcode = argc == 4 && !strcmp(argv[1], "opcode");
	const bool fault = (argc == 3 && !strcmp(argv[1], "back")) ||
			   (argc == 3 && !strcmp(argv[1], "select")) ||
			   (argc == 4 && !strcmp(argv[1], "stop"));
	u64 status, select;
	int box, i;

	if (!set && !opcode && !fault && (argc != 2 || strcmp(argv[1], "wrapped")))
		die("see boxes.c");
	msr = open("/dev/cpu/0/msr", O_RDWR);
	if (msr < 0)
		die("/dev/cpu/0/msr: %m");

	for (box = 0; box < BOXES; box++) {
		if (opcode)
			other_opcode(box, code(argv[2]), code(argv[3]));
		for (i = 0; fault && i < COUNTERS; i++)
			disturb(box, i, argv);
		if (opcode || fault)
			continue;
		status = get(box, STATUS);
		for (i = 0; i < COUNTERS; i++) {
			select = get(box, SELECT + i);
			if (set)
				put(box, COUNTER + i, (1ull << 48) - number(argv[2]));
			else if (select & ENABLED)
				printf("%d %#lx %#lx %lu\n", box, select & 0xffff,
				       opcode_of(box), status >> i & 1);
		}
		put(box, STATUS, 0xf);
	}
	return 0;
}

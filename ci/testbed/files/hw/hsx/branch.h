/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Branch prediction and speculation in a core, as a pure library
 *
 * Intel's predictor is not published. This one is from textbooks, of about the
 * same reach, and said here in full, so that what it mispredicts can be derived.
 * It sees the branches that retire, in order, of all modes and address spaces; a
 * switch of tasks flushes nothing.
 *
 * Prediction
 *
 *	conditional	gshare: BRANCH_COUNTERS counters of two bits, which one is
 *			bits 0-11 of the branch's address xor the outcomes of the
 *			last BRANCH_HISTORY conditional branches (the last is bit
 *			0; taken: 1). Taken if 2 or 3. Then the counter goes up if
 *			taken, down if not, at most to 3, 0. They begin as 1.
 *	direct jump, direct call
 *			always right
 *	indirect jump, indirect call
 *			to where this branch went last, if the table of
 *			BRANCH_TARGETS targets still has it (which one is bits
 *			0-9 of the branch's address xor bits 10-19); else wrong
 *	return		to behind the last call that has not returned; the stack
 *			holds BRANCH_RETURNS, then the oldest go. Empty: wrong
 *	far		not predicted and never wrong
 *
 * Speculation
 *
 * After a wrong prediction the core fetches from where it thought the branch
 * would go, until the branch is resolved: BRANCH_WINDOW instructions. Branches
 * among them execute and never retire. As nothing is decoded here, only code that
 * has been seen is followed: for each address that a branch has led to, the first
 * branch behind it and how many instructions it is away (up to the window, the
 * branch included; the last BRANCH_RUNS such addresses, one for each value of
 * bits 0-11 xor bits 12-23). Speculation goes on behind a conditional branch as
 * the counters predict, with the history as it would be; behind a direct jump or
 * call at its target; it ends at any other branch, which still executes, and
 * where nothing was seen. It changes nothing that the predictor knows.
 *
 * Worked example: a loop that draws a random number in 40 instructions without a
 * branch. A first branch skips three instructions or not, at the whim of the
 * number; a second one, three instructions later, closes the loop. The first
 * is mispredicted half of the time; then the second executes speculatively, and
 * once more for real: 2.5 conditional branches execute where 2 retire. With 40
 * more instructions between the two it is 2.
 */
#ifndef HSX_BRANCH_H
#define HSX_BRANCH_H

#include <stdbool.h>
#include <stdint.h>

#include "corepmu.h"

#define BRANCH_COUNTERS	4096
#define BRANCH_HISTORY	12
#define BRANCH_TARGETS	1024
#define BRANCH_RETURNS	16
#define BRANCH_RUNS	4096
#define BRANCH_WINDOW	32

/* A branch that retires */
struct branch {
	uint64_t from, next;		/* its address, and of what follows it */
	uint64_t to;			/* where it leads if it is taken */
	enum core_branch_kind kind;
	bool taken;
	/*
	 * Instructions since the last branch, this one included; 0 if this is not
	 * known, as after an interrupt
	 */
	uint32_t distance;
};

/* From an address that a branch led to, to the first branch */
struct branch_run {
	uint64_t start;			/* 0: none */
	uint64_t from, to, next;	/* of the branch */
	uint8_t kind, distance;
};

struct branch_unit {
	uint8_t counter[BRANCH_COUNTERS];
	uint32_t history;
	struct {
		uint64_t from, to;
	} target[BRANCH_TARGETS];
	uint64_t returns[BRANCH_RETURNS];
	unsigned int top, returns_held;
	struct branch_run run[BRANCH_RUNS];
	uint64_t led_to;		/* by the last branch */
};

/* What executed in vain */
struct branch_path {
	unsigned int n;
	struct {
		uint8_t kind;
		bool taken;
	} branch[BRANCH_WINDOW];
};

void branch_reset(struct branch_unit *u);
bool branch_retire(struct branch_unit *u, const struct branch *b, struct branch_path *path);

#endif /* HSX_BRANCH_H */

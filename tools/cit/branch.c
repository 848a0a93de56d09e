// SPDX-License-Identifier: GPL-2.0
/*
 * The branch family: the kernels of kernels.S, and what each kind of event counts in
 * one round of each of them
 *
 * The first five categories and seven kernels are table 1 of Danalis et al. Theirs leave
 * out what their kernels don't have (calls, returns, indirect and far jumps), and all
 * sums: an event that counts every branch is in no category there. With three kernels
 * more these have rows of their own; whatever a core has as a branch event is one of them.
 * A fourth has what is no branch, but comes with calls and returns: loads and stores.
 *
 * T is the table's: taken, retired. TE counts executed ones, that is one more wherever
 * the loop's end executes in vain (the kernel's authors: executed and retired differ by
 * architecture).
 */
#include <stdlib.h>

#include "cit.h"
#include "command.h"

typedef void kernel(uint64_t rounds, uint64_t *random, uint64_t k);

#ifdef __x86_64__
kernel cit_branch_a, cit_branch_b, cit_branch_c, cit_branch_d, cit_branch_e, cit_branch_f;
kernel cit_branch_g, cit_branch_h, cit_branch_i, cit_branch_j, cit_branch_k, cit_branch_l;

static uint64_t random_number = 88172645463325252;

static bool run(struct probe *probe, uint64_t n)
{
	kernel *const k = (kernel *)probe->data;

	k(n, &random_number, probe->arg);
	return true;
}

#define KERNEL(f) .run = run, .data = (void *)(f)
#else
static bool missing(struct probe *probe, const struct cit *cit)
{
	(void)probe;
	(void)cit;
	complain("the branch kernels are for x86-64");
	return false;
}

#define KERNEL(...) .setup = missing
#endif

#define ROUNDS .step = 200, .points = 5
/* Of n random branches, sqrt(n)/2 more or less than half go one way. */
#define RANDOM_ROUNDS .step = 500, .points = 5
#define SYSTEM_CALLS .step = 100, .points = 5

static struct probe probe[] = {
	{ "bench1", "if taken in the second half", KERNEL(cit_branch_a), ROUNDS },
	{ "bench2", "if never taken", KERNEL(cit_branch_b), ROUNDS },
	{ "bench3", "if always taken", KERNEL(cit_branch_c), ROUNDS },
	{ "bench4", "if at random, loop's end far away", KERNEL(cit_branch_d),
	  RANDOM_ROUNDS },
	{ "bench5", "if at random, loop's end near", KERNEL(cit_branch_e),
	  RANDOM_ROUNDS },
	{ "bench6", "direct jump", KERNEL(cit_branch_f), ROUNDS },
	{ "bench7", "loop only", KERNEL(cit_branch_g), ROUNDS },
	{ "kinds", "2 calls, 3 indirect, 4 returns, 5 indirect jumps", KERNEL(cit_branch_h),
	  ROUNDS },
	{ "astray", "indirect jump, calls, returns, mispredicted", KERNEL(cit_branch_i),
	  RANDOM_ROUNDS },
	{ "syscall", "system call", KERNEL(cit_branch_j), SYSTEM_CALLS },
	{ "memory", "2 loads, 3 stores", KERNEL(cit_branch_l), ROUNDS },
};

static const struct category category[] = {
	/* Table 1; it says nothing of kernels that it doesn't have */
	{ "CE", "conditional branches executed",
	  { 2, 2, 2, 2, 2.5, 2, 1, 1, 1, 1, 1 } },
	{ "CR", "conditional branches retired",
	  { 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1 } },
	{ "T", "conditional branches taken (retired)",
	  { 1.5, 1, 2, 1.5, 1.5, 1, 1, 1, 1, 1, 1 } },
	{ "D", "direct jumps",
	  { 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0 } },
	{ "M", "conditional branches mispredicted",
	  { 0, 0, 0, .5, .5, 0, 0, 0, 0, 0, 0 } },
	/* Ours */
	{ "TE", "conditional branches taken (executed)",
	  { 1.5, 1, 2, 1.5, 2, 1, 1, 1, 1, 1, 1 } },
	{ "N", "conditional branches not taken",
	  { .5, 1, 0, .5, .5, 1, 0, 0, 0, 0, 0 } },
	{ "BR", "branches of all kinds retired, far ones too",
	  { 2, 2, 2, 2, 2, 3, 1, 15, 10, 2, 1 } },
	{ "BNR", "near branches of all kinds retired",
	  { 2, 2, 2, 2, 2, 3, 1, 15, 10, 1, 1 } },
	{ "BE", "near branches of all kinds executed",
	  { 2, 2, 2, 2, 2.5, 3, 1, 15, 10, 1, 1 } },
	{ "BT", "near branches of all kinds taken (retired)",
	  { 1.5, 1, 2, 1.5, 1.5, 2, 1, 15, 10, 1, 1 } },
	{ "BTE", "near branches of all kinds taken (executed)",
	  { 1.5, 1, 2, 1.5, 2, 2, 1, 15, 10, 1, 1 } },
	{ "CALL", "calls, direct and indirect",
	  { 0, 0, 0, 0, 0, 0, 0, 5, 4, 0, 0 } },
	{ "DCALL", "direct calls",
	  { 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0 } },
	{ "ICALL", "indirect calls",
	  { 0, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0 } },
	{ "RET", "returns",
	  { 0, 0, 0, 0, 0, 0, 0, 4, 4, 0, 0 } },
	{ "IJ", "indirect jumps",
	  { 0, 0, 0, 0, 0, 0, 0, 5, 1, 0, 0 } },
	{ "FAR", "far branches",
	  { 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0 } },
	{ "MB", "branches of all kinds mispredicted",
	  { 0, 0, 0, .5, .5, 0, 0, 0, 3.5, 0, 0 } },
	{ "MBT", "branches of all kinds mispredicted, and taken",
	  { 0, 0, 0, .25, .25, 0, 0, 0, 3.5, 0, 0 } },
	{ "MH", "conditional branches mispredicted, of one direction",
	  { 0, 0, 0, .25, .25, 0, 0, 0, 0, 0, 0 } },
	{ "MIJ", "indirect jumps mispredicted",
	  { 0, 0, 0, 0, 0, 0, 0, 0, .5, 0, 0 } },
	{ "MICALL", "indirect calls mispredicted",
	  { 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0 } },
	{ "MRET", "returns mispredicted",
	  { 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0 } },
	{ "-", "nothing of this",
	  { 0 } },
};

const struct family branch_family = {
	.name = "branch",
	.unit = "round",
	.probe = probe,
	.probes = sizeof(probe) / sizeof(*probe),
	.category = category,
	.categories = sizeof(category) / sizeof(*category),
	.seed_categories = 5,
	.seed_probes = 7,
};

struct probe branch_misprediction = {
	"misprediction", "if taken in all but one of k rounds", KERNEL(cit_branch_k),
	RANDOM_ROUNDS,
	.arg = 2,
};

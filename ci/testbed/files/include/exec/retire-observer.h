/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a core retires: what translated code tells to a model of its counters
 *
 * Instructions. A CPU with CF_RETIRE in its tcg_cflags runs code that counts. A
 * block begins by taking the number of its instructions from env->retire.left
 * of its mode (0: kernel, 1: user); if there are not so many left, it does
 * not begin, and retire_expired (a helper) decides: a block that is just as
 * long as what is left, or a new stock. So whoever sets `left` is called exactly
 * when it is used up. A block that an exception ends early gives back what did not
 * retire (cpu_unretire); so does an instruction that is translated to a fault.
 * Each round of a repeated string instruction is taken from `left`; those that
 * are not the last are counted in `again` as well.
 *
 * An instruction that reads or changes counters is the last of its block, so
 * what has retired is known there.
 *
 * Branches. With CF_BRANCH, which needs CF_RETIRE, each branch calls
 * retire_branch, just before it goes where it goes.
 *
 * Ends. With CF_PRECISE, env->retire.pc is the address of the instruction that a
 * block is in, and retire_due is called behind an instruction in which somebody
 * has set env->retire.due: before anything of the next one. Registers are then as
 * the instruction has left them. Before an interrupt or a fault cpu_retire_end is
 * called for the same reason.
 *
 * Without the flags the generated code is the same as without all this. As blocks
 * are found by their flags, a CPU may change them at any time on its own
 * thread; it must leave the chain of blocks then (cpu_leave_chain).
 */
#ifndef EXEC_RETIRE_OBSERVER_H
#define EXEC_RETIRE_OBSERVER_H

#include "exec/exec-all.h"

typedef enum {
    RETIRE_CONDITIONAL,
    RETIRE_JUMP,            /* unconditional, direct */
    RETIRE_INDIRECT_JUMP,
    RETIRE_RETURN,
    RETIRE_CALL,            /* direct */
    RETIRE_INDIRECT_CALL,
    RETIRE_FAR,
} RetireBranch;

/* What the translator knows of a branch, in one constant */
#define RETIRE_BRANCH_KIND      7u          /* RetireBranch */
#define RETIRE_BRANCH_TAKEN     (1u << 3)
#define RETIRE_BRANCH_USER      (1u << 4)
#define RETIRE_BRANCH_LENGTH    8           /* of the instruction, bytes */

#ifdef TARGET_I386
static inline unsigned cpu_retire_mode(uint32_t tb_flags)
{
    return (tb_flags & HF_CPL_MASK) != 0;
}

/* The last @n instructions of a block have not retired. */
static inline void cpu_unretire(CPUArchState *env, const TranslationBlock *tb,
                                int n)
{
    env->retire.left[cpu_retire_mode(tb->flags)] += n;
}
#endif

/* The CPU is between two instructions, and the next is not the next block's. */
#ifndef CONFIG_USER_ONLY
void cpu_retire_settle(CPUState *cs);

static inline void cpu_retire_end(CPUState *cs)
{
    if (unlikely(cs->tcg_cflags & CF_PRECISE)) {
        cpu_retire_settle(cs);
    }
}
#endif

/* The CPU looks for its next block in its main loop. On its own thread. */
static inline void cpu_leave_chain(CPUState *cs)
{
    qatomic_set(&cpu_neg(cs)->icount_decr.u16.high, -1);
}

#endif

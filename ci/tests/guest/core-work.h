/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The work of core-work.S, where each one's size is said.
 */
#ifndef CORE_WORK_H
#define CORE_WORK_H

#include <stdint.h>

typedef void work(void *rdi, uint64_t rsi, uint64_t rdx);

work work_empty, work_loop, work_straight, work_touch, work_touch_block;
work work_rep_stos, work_rep_movs, work_rep_cmps, work_locked, work_self;
work work_ud2, work_divide, work_load, work_privileged, work_int3, work_syscall;
work branch_a, branch_b, branch_c, branch_d, branch_e, branch_f, branch_g, branch_calls;
work load_apart, store_apart, locked_apart, mixed_apart, sampled;

extern const char work_self_end[], mixed_store[], mixed_branch[];

void handle_fault(void);
void handle_trap(void);
void handler_returns(void);

void measure(work *w, void *rdi, uint64_t rsi, uint64_t rdx, uint64_t out[16]);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SIGINT, SIGQUIT, SIGTERM and SIGHUP: what runs is to end soon, and as if it had not caught them
 */
#ifndef MEMIO_INTERRUPT_H
#define MEMIO_INTERRUPT_H

#include <signal.h>
#include <stdint.h>

/* The one that came; 0: none */
extern volatile sig_atomic_t interrupted;

/* interrupts_to: a handler for them; one that is ignored stays so, as nohup has it */
void interrupts_to(void (*handler)(int sig));
/* interrupts_catch: from now on @interrupted has it */
void interrupts_catch(void);
/* interrupts_wait: until @until_ns by CLOCK_MONOTONIC, or until one comes, whenever it does */
void interrupts_wait(uint64_t until_ns);
/* interrupts_end: the process, by the signal that came, as a shell expects it; if one did */
void interrupts_end(void);

#endif /* MEMIO_INTERRUPT_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCG vCPUs in virtual time: -icount shift=N,virtual=on[,turn=M]
 *
 * What the guest does and when it does it depend on the guest alone. The clock is what the vCPUs
 * have executed. They share a thread and take turns of M instructions. Time in which all of them
 * are idle, or wait for a memory, is skipped at once.
 *
 * The rest is about who else could change what the guest sees, and when:
 *
 *	Bottom halves, and what devices have asked the host for. A vCPU that schedules a bottom
 *	half leaves its loop at the end of the block. A device's access is the last
 *	instruction of a block, so no other instruction comes between. Before the next one,
 *	settle() runs all bottom halves of the main context, and waits for the host's
 *	threads (icount_host_begin()) until nothing is left.
 *
 *	Timers of the virtual clock. The vCPU's budget ends where the first timer is due, of all
 *	lists; settle() runs them in the thread of the vCPUs.
 *
 *	The main loop's thread, which handles what comes from the host. It is let in between
 *	instructions only, and is at the guest's devices then or never: virtual_gate(). The
 *	thread of the vCPUs stops at the end of a block for it, at a place that depends on
 *	the host, and then goes on with the same turn: the guest can't tell.
 */
#include "qemu/osdep.h"
#include "sysemu/tcg.h"
#include "sysemu/cpu-timers.h"
#include "sysemu/runstate.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "block/aio.h"
#include "exec/exec-all.h"

#include "tcg-accel-ops.h"
#include "tcg-accel-ops-icount.h"
#include "tcg-accel-ops-virtual.h"

/* All of it under the big lock */
static struct {
    bool started;           /* there is a thread of vCPUs */
    bool executing;         /* it may be anywhere in the guest */
    bool main_wants;        /* the main loop waits for it to stop */
    bool main_in;           /* the main loop has what it waited for */
    QemuCond main_cond;
    CPUState *cpu;          /* whose turn it is */
    int64_t turn_end;       /* in instructions of all */
} virtual;

/* The main loop goes on to its handlers, or has done with them. It has the big lock. */
static void virtual_gate(bool enter)
{
    if (!virtual.started) {
        return;
    }
    if (!enter) {
        virtual.main_in = false;
        qemu_cond_broadcast(first_cpu->halt_cond);
        return;
    }
    while (virtual.executing) {
        virtual.main_wants = true;
        cpu_exit(virtual.cpu);
        qemu_cond_wait_iothread(&virtual.main_cond);
    }
    virtual.main_wants = false;
    virtual.main_in = true;
}

static bool somebody_has_work(void)
{
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (cpu->stop || !cpu_work_list_empty(cpu)) {
            return true;
        }
    }
    return false;
}

/*
 * Nothing is executing: the main loop may come. With wait, it is waited for, or for anything
 * else that wakes vCPUs.
 */
static void let_main_in(bool wait)
{
    if (!virtual.main_wants && !virtual.main_in && !wait) {
        return;
    }
    virtual.executing = false;
    qemu_cond_broadcast(&virtual.main_cond);
    while ((virtual.main_wants || virtual.main_in || wait) && !somebody_has_work()) {
        qemu_cond_wait_iothread(first_cpu->halt_cond);
        wait = false;
    }
    virtual.executing = true;
    /* It may have left something to do. */
    qatomic_set(&icount_unsettled, true);
}

/* All that is due, or is under way in the host, comes to its end. */
static void settle(void)
{
    AioContext *ctx = qemu_get_aio_context();
    bool again;

    do {
        again = false;
        while (qatomic_xchg(&icount_unsettled, false) || icount_host_requests()) {
            while (aio_poll(ctx, icount_host_requests())) {
                /* more of it */
            }
        }
        if (!qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL)) {
            qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL);
            /* The context's own timers are run where it is polled. */
            qatomic_set(&icount_unsettled, true);
            again = true;
        }
    } while (again);
}

/* Whose turn it is now; NULL: everybody is idle, or waits. */
static CPUState *whose_turn(void)
{
    const int64_t now = icount_get();
    CPUState *cpu = virtual.cpu, *last;
    bool over = icount_turn_over || icount_get_raw() >= virtual.turn_end;

    icount_turn_over = false;
    /* One that waited need not any more: it is not to be late by the rest of this turn. */
    CPU_FOREACH(last) {
        if (last->icount_until && last->icount_until <= now) {
            last->icount_until = 0;
            over = true;
        }
    }
    if (!over && !cpu->icount_until && !cpu_thread_is_idle(cpu)) {
        return cpu;
    }
    last = cpu;
    do {
        cpu = CPU_NEXT(cpu);
        if (!cpu) {
            cpu = first_cpu;
        }
        if (!cpu->icount_until && !cpu_thread_is_idle(cpu) && cpu_can_run(cpu)) {
            virtual.cpu = cpu;
            virtual.turn_end = icount_get_raw() + icount_turn;
            return cpu;
        }
    } while (cpu != last);
    return NULL;
}

static void execute(CPUState *cpu)
{
    int r;

    current_cpu = cpu;
    qatomic_set(&cpu->exit_request, 0);
    qemu_mutex_unlock_iothread();
    icount_prepare_for_run(cpu);
    r = tcg_cpus_exec(cpu);
    icount_process_data(cpu);
    qemu_mutex_lock_iothread();

    if (r == EXCP_DEBUG) {
        cpu_handle_guest_debug(cpu);
    } else if (r == EXCP_ATOMIC) {
        qemu_mutex_unlock_iothread();
        cpu_exec_step_atomic(cpu);
        qemu_mutex_lock_iothread();
    }
}

/* What one may execute now: the rest of its turn, or less if one that waits need not before */
int64_t icount_virtual_budget(void)
{
    const int64_t now = icount_get();
    int64_t left = virtual.turn_end - icount_get_raw();
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (cpu->icount_until) {
            left = MIN(left, icount_round(cpu->icount_until - now));
        }
    }
    return left;
}

/**
 * rr_virtual_loop: what the thread of the vCPUs does, with the big lock; it does not return
 */
void rr_virtual_loop(void)
{
    CPUState *cpu;

    qemu_cond_init(&virtual.main_cond);
    virtual.cpu = current_cpu = first_cpu;
    virtual.turn_end = icount_get_raw() + icount_turn;
    /* The main loop has let go of the big lock, and so has no handler under way. */
    virtual.executing = true;
    virtual.started = true;
    main_loop_gate = virtual_gate;
    qatomic_set(&icount_unsettled, true);

    for (;;) {
        settle();
        CPU_FOREACH(cpu) {
            if (cpu->stop || !cpu_work_list_empty(cpu)) {
                qemu_wait_io_event_common(cpu);
            }
        }
        if (qatomic_read(&icount_unsettled)) {
            continue;
        }
        if (virtual.main_wants || virtual.main_in) {
            let_main_in(false);
            continue;
        }
        /* The machine is to end, and that is the main loop's: until then, nobody goes on. */
        if (qemu_shutdown_requested_get() || qemu_reset_requested_get() ||
            !runstate_is_running()) {
            let_main_in(true);
            continue;
        }
        cpu = whose_turn();
        if (cpu) {
            execute(cpu);
        } else if (!icount_skip()) {
            /* No timer: only the host can wake them. */
            let_main_in(true);
        }
    }
}

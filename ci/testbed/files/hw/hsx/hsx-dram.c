/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs wait for the DRAM, and guest time passes; dram.h has the model
 *
 * With -icount guest time is what we say: a CPU that waits moves the clock on by
 * just that, in no instruction. Time within a block is that of its end. Where CPUs take
 * turns, others go on meanwhile, and the clock with them; it has no turn until then.
 *
 * Else guest time is real time, and a CPU that waits sleeps. That can't be done for
 * some nanoseconds, so it runs ahead by a quantum, then sleeps until the DRAM is
 * free; where it sleeps longer than it meant to, the DRAM makes up for a quantum
 * of it. So the ceiling holds for times of some quanta, and is reached unless the
 * host has no processor for us. A quantum is the time of HSX_DRAM_QUANTUM_LINES, so
 * that a slow DRAM does not have CPUs wake for each handful of lines, and
 * HSX_DRAM_QUANTUM_NS at least.
 *
 * A CPU does not sleep in the middle of an interrupt's delivery, nor where
 * else it holds the big lock; it waits at its next miss. Nor does it wait for longer than
 * HSX_DRAM_NAP_NS at once, however much has been moved, so that its timers are
 * not that late, and who wants it to stop need not wait for the DRAM as well.
 */
#include "qemu/osdep.h"
#include <sys/prctl.h>
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "hw/core/cpu.h"
#include "sysemu/cpu-timers.h"
#include "hsx.h"

#define FILL_BUFFERS            10          /* of a core */
#define HSX_DRAM_QUANTUM_NS     50000
#define HSX_DRAM_QUANTUM_LINES  256
#define HSX_DRAM_NAP_NS         1000000

static int64_t now_ns(void)
{
    CPUState *cs = current_cpu;
    int can_do_io;
    int64_t ns;

    if (!cs || !icount_enabled()) {
        return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    }
    can_do_io = cs->can_do_io;
    cs->can_do_io = 1;
    ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    cs->can_do_io = can_do_io;
    return ns;
}

static uint64_t quantum_ns(void)
{
    return MAX(HSX_DRAM_QUANTUM_NS,
               HSX_DRAM_QUANTUM_LINES * hsx.dram.line_ps / 1000);
}

static void sleep_ns(HsxCore *core, int64_t now, int64_t ns)
{
    static __thread bool prepared;
    struct timespec t = { .tv_nsec = ns };

    if (!prepared) {
        /* No later than need be: the default is 50 us. */
        prctl(PR_SET_TIMERSLACK, 1);
        prepared = true;
    }
    nanosleep(&t, NULL);
    qatomic_set(&core->dram_wait_ns, core->dram_wait_ns + now_ns() - now);
}

/**
 * hsx_dram_cpu: a miss of a CPU has moved so many lines; it waits for the first
 * of them. On its own thread, no box locked.
 */
void hsx_dram_cpu(HsxCore *core, unsigned lines)
{
    const int64_t now = now_ns();
    const uint64_t done = dram_move_cpu(&hsx.dram, now, lines);
    const int64_t ns = MIN(dram_wait_ns(&hsx.dram, done, now),
                           HSX_DRAM_NAP_NS);

    if (!ns) {
        return;
    }
    if (icount_enabled()) {
        CPUState *cs = current_cpu;
        int can_do_io = cs->can_do_io;

        cs->can_do_io = 1;
        icount_wait(cs, ns);
        cs->can_do_io = can_do_io;
        qatomic_set(&core->dram_wait_ns, core->dram_wait_ns + ns);
    } else if (!qemu_mutex_iothread_locked()) {
        /* Until the DRAM is free: what was ahead as well. */
        sleep_ns(core, now, ns + quantum_ns());
    }
}

/**
 * hsx_dram_device: a device's access has moved so many lines, and waits for
 * nothing
 */
void hsx_dram_device(unsigned lines)
{
    dram_move_device(&hsx.dram, now_ns(), lines);
}

/**
 * hsx_dram_start: from now on the DRAM has a ceiling; 0: none
 */
bool hsx_dram_start(uint64_t bytes_per_s)
{
    if (!dram_init(&hsx.dram, bytes_per_s)) {
        return false;
    }
    if (icount_enabled()) {
        dram_slack(&hsx.dram, FILL_BUFFERS * hsx.dram.line_ps / 1000, 0);
    } else {
        dram_slack(&hsx.dram, quantum_ns(), quantum_ns());
    }
    return true;
}

/**
 * hsx_dram_set: the same, of a machine that runs, under the big lock; nothing changes if it
 * can't have one
 */
void hsx_dram_set(uint64_t bytes_per_s)
{
    if (bytes_per_s && (!hsx.cpu_cache || hsx.sockets == 2 ||
                        bytes_per_s > 1ull << 40)) {
        return;
    }
    hsx_dram_start(bytes_per_s);
    hsx.dram_bw = bytes_per_s;
}

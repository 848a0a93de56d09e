/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The devices' clock: the virtual one, less the time for which it was held
 *
 * While it is held, devices under test stand still: no request of theirs completes, and what
 * the guest writes to their registers waits, in order, until the clock goes on. So
 * nothing moves by DMA, while the guest goes on and may look.
 */
#ifndef SYSEMU_DEVICE_CLOCK_H
#define SYSEMU_DEVICE_CLOCK_H

#include "qemu/notify.h"

bool device_clock_held(void);
int64_t device_clock_ns(void);

/* When it will be that late, by the virtual clock, if it is not held before */
int64_t device_clock_to_virtual(int64_t ns);

/* Stops it, or lets it go on; those that have asked for it are told. */
void device_clock_hold(bool hold);
void device_clock_add_notifier(Notifier *n);

/*
 * Somebody waits within an instruction, and so no time passes: what is under way completes now.
 * False: nothing is.
 */
bool device_clock_expedite(void);

/* What those that are told are told */
typedef struct {
    bool expedite;      /* else the clock has stopped, or goes on */
    bool done;          /* out: something has completed */
} DeviceClockEvent;

#endif

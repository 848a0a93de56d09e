/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The devices' clock: see the header */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "sysemu/device-clock.h"

static NotifierList notifiers = NOTIFIER_LIST_INITIALIZER(notifiers);
static bool held;
static int64_t held_at;         /* of the virtual clock */
static int64_t behind;          /* the virtual clock: how long it was held before */

bool device_clock_held(void)
{
    return held;
}

int64_t device_clock_ns(void)
{
    return (held ? held_at : qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL)) - behind;
}

int64_t device_clock_to_virtual(int64_t ns)
{
    return ns + behind;
}

void device_clock_hold(bool hold)
{
    const int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    if (hold == held) {
        return;
    }
    if (hold) {
        held_at = now;
    } else {
        behind += now - held_at;
    }
    held = hold;
    notifier_list_notify(&notifiers, &(DeviceClockEvent) { });
}

bool device_clock_expedite(void)
{
    DeviceClockEvent event = { .expedite = true };

    notifier_list_notify(&notifiers, &event);
    return event.done;
}

void device_clock_add_notifier(Notifier *n)
{
    notifier_list_add(&notifiers, n);
}

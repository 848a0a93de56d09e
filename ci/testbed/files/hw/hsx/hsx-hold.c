/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * While the devices' clock is held, what the guest writes to a device under test waits
 *
 * So a doorbell rings when the clock goes on, in its turn, as if the link to the device had no
 * room for a while; and a device that is not told anything moves nothing. Reads are answered from
 * what the device is now. Plumbing goes on, as do a device's interrupts, and the tables
 * that they are sent by.
 */
#include "qemu/osdep.h"
#include "exec/memory.h"
#include "hw/pci/pci.h"
#include "sysemu/device-clock.h"
#include "hsx.h"

#define FIRST_SLOT  0x03
#define LAST_SLOT   0x0f

typedef struct Write {
    MemoryRegion *mr;
    hwaddr addr;
    uint64_t data;
    MemOp op;
    MemTxAttrs attrs;
    QSIMPLEQ_ENTRY(Write) next;
} Write;

static QSIMPLEQ_HEAD(, Write) writes = QSIMPLEQ_HEAD_INITIALIZER(writes);

static bool under_test(const MemoryRegion *mr)
{
    PCIDevice *pci = (PCIDevice *)object_dynamic_cast(mr->owner,
                                                      TYPE_PCI_DEVICE);

    return pci && !pci_dev_bus_num(pci) &&
           PCI_SLOT(pci->devfn) >= FIRST_SLOT &&
           PCI_SLOT(pci->devfn) <= LAST_SLOT &&
           (!mr->name || !g_str_has_prefix(mr->name, "msix-"));
}

/**
 * hsx_hold_write: of a write, with the clock held: whether it waits
 */
bool hsx_hold_write(MemoryRegion *mr, hwaddr addr, uint64_t data, MemOp op,
                    MemTxAttrs attrs)
{
    Write *w;

    if (!mr->owner || !under_test(mr)) {
        return false;
    }
    w = g_new(Write, 1);
    *w = (Write) {
        .mr = mr, .addr = addr, .data = data, .op = op, .attrs = attrs,
    };
    memory_region_ref(mr);
    QSIMPLEQ_INSERT_TAIL(&writes, w, next);
    return true;
}

/**
 * hsx_hold: devices stand still, or go on
 */
void hsx_hold(bool hold)
{
    Write *w;

    device_clock_hold(hold);
    while (!hold && (w = QSIMPLEQ_FIRST(&writes))) {
        QSIMPLEQ_REMOVE_HEAD(&writes, next);
        memory_region_dispatch_write(w->mr, w->addr, w->data, w->op, w->attrs);
        memory_region_unref(w->mr);
        g_free(w);
    }
}

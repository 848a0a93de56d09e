/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What QEMU's bridge to another root bus (pxb) has linked with it: CXL hosts, and by
 * these the memory devices behind them. There are none in this machine.
 */
#include "qemu/osdep.h"
#include "hw/cxl/cxl.h"
#include "hw/cxl/cxl_device.h"

MemTxResult cxl_type3_read(PCIDevice *d, hwaddr host_addr, uint64_t *data,
                           unsigned size, MemTxAttrs attrs)
{
    return MEMTX_ERROR;
}

MemTxResult cxl_type3_write(PCIDevice *d, hwaddr host_addr, uint64_t data,
                            unsigned size, MemTxAttrs attrs)
{
    return MEMTX_ERROR;
}

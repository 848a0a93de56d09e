/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who moves memory: what QEMU's memory paths tell to a model of the caches
 *
 * DMA. The bus master view of a PCI device (its AddressSpace) has a DmaMaster;
 * each access that reaches RAM through it, by whatever path, is reported with
 * it once: loads and stores, reads and writes, the cached rings of virtio when
 * they happen; a mapping that the device reads when it is mapped (some devices
 * unmap it with an access length of 0), one that it writes when it is unmapped,
 * with the length that it wrote. Accesses to MMIO (an MSI, for one) are no DMA.
 * A device that uses the system's address space instead (virtio without
 * iommu_platform) has no master there and is not seen. The path is told as well:
 * disks map their payload and nothing else, so mapped bytes are payload, and the
 * others are descriptors.
 *
 * CPU. With cpu_access_observed set (before the first vCPU runs, never changed
 * after), each load and store that a vCPU has completed is reported.
 *
 * Addresses are ram_addr_t, so that both sides mean the same byte.
 */
#ifndef EXEC_MEM_OBSERVER_H
#define EXEC_MEM_OBSERVER_H

#include "exec/cpu-common.h"
#include "exec/hwaddr.h"
#include "qemu/queue.h"

typedef enum {
    DMA_COPIED,         /* a read, write, load or store */
    DMA_MAPPED,
    DMA_RING,           /* a virtio ring, through its cache */
    DMA_PATHS
} DmaPath;

typedef struct DmaMaster {
    DeviceState *dev;           /* NULL once it is unplugged */
    char *address, *model;      /* of a device that is unplugged */
    bool peer;                  /* the network's other end, in the same machine */
    int actor;                  /* in the cache model; -1: no DMA so far */
    /* written and read under the big lock, like all DMA */
    uint64_t to_bytes[DMA_PATHS], to_ops;       /* the device read memory */
    uint64_t from_bytes[DMA_PATHS], from_ops;   /* the device wrote memory */
    QTAILQ_ENTRY(DmaMaster) next;
} DmaMaster;

typedef void DmaObserver(DmaMaster *m, DmaPath path, ram_addr_t addr,
                         hwaddr len, bool is_write);

extern DmaObserver *dma_observer;   /* NULL: nobody looks */
extern bool cpu_access_observed;

/* Of a write to a register, while the devices' clock is held: whether it waits */
bool hsx_hold_write(MemoryRegion *mr, hwaddr addr, uint64_t data, MemOp op,
                    MemTxAttrs attrs);

DmaMaster *dma_master_new(DeviceState *dev);
void dma_master_gone(DmaMaster *m);

static inline bool dma_observed(const DmaMaster *m)
{
    return unlikely(m != NULL) && dma_observer;
}

#ifdef NEED_CPU_H
#include "cpu.h"
#include "exec/memopidx.h"

/* What the translator knows of an access, in one constant */
#define CPU_ACCESS_LOAD     (1u << 0)
#define CPU_ACCESS_STORE    (1u << 1)
#define CPU_ACCESS_RMW      (CPU_ACCESS_LOAD | CPU_ACCESS_STORE) /* atomic */
#define CPU_ACCESS_SIZE     2           /* 7 bits, bytes */
#define CPU_ACCESS_MMU      9           /* MMU index */

static inline uint32_t cpu_access_info(MemOpIdx oi, uint32_t what)
{
    return what | memop_size(get_memop(oi)) << CPU_ACCESS_SIZE |
           get_mmuidx(oi) << CPU_ACCESS_MMU;
}

void cpu_access_observe(CPUArchState *env, target_ulong va, uint32_t info);
#endif

#endif

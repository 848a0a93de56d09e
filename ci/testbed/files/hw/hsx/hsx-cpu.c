/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a guest's load or store to a line of the cache
 *
 * Called after each access of a vCPU, on its own thread, with the virtual
 * address. The access has just succeeded, so the page's translation is in the
 * TLB: the physical address costs a look-up, no walk. Page walks, instruction
 * fetches and accesses to anything but system memory are not counted.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/exec-all.h"
#include "exec/cpu_ldst.h"
#include "exec/helper-proto.h"
#include "exec/mem-observer.h"
#include "hsx.h"

static inline void observe(CPUArchState *env, HsxCore *core, unsigned index,
                           target_ulong va, unsigned mmu_idx, bool store)
{
    CPUTLBEntry *entry = tlb_entry(env, mmu_idx, va);
    target_ulong have = store ? tlb_addr_write(entry) : entry->addr_read;
    uint64_t line;

    if (unlikely(!tlb_hit(have, va))) {
        core->untracked++;
        return;
    }
    if (unlikely(have & TLB_MMIO)) {
        return;
    }
    if (hsx_line(env_tlb(env)->d[mmu_idx].
                 fulltlb[tlb_index(env, mmu_idx, va)].xlat_section + va,
                 &line)) {
        hsx_cpu_line(core, index, line, store);
    }
}

void cpu_access_observe(CPUArchState *env, target_ulong va, uint32_t info)
{
    unsigned index = env_cpu(env)->cpu_index;
    HsxCore *core = &hsx.core[index];
    bool store = info & 1;
    unsigned size = info >> 1 & 0x7f, mmu_idx = info >> 8;

    if (store) {
        core->stores++;
    } else {
        core->loads++;
    }
    observe(env, core, index, va, mmu_idx, store);
    if (unlikely((va & (LLC_LINE_BYTES - 1)) + size > LLC_LINE_BYTES)) {
        observe(env, core, index, ROUND_UP(va + 1, LLC_LINE_BYTES), mmu_idx,
                store);
    }
}

void HELPER(cpu_access)(CPUArchState *env, target_ulong va, uint32_t info)
{
    cpu_access_observe(env, va, info);
}

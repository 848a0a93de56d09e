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

static inline enum core_level observe(CPUArchState *env, HsxCore *core,
                                      unsigned index, target_ulong va,
                                      unsigned mmu_idx, bool store)
{
    CPUTLBEntry *entry = tlb_entry(env, mmu_idx, va);
    target_ulong have = store ? tlb_addr_write(entry) : entry->addr_read;
    enum core_mode mode = is_mmu_index_user(mmu_idx);
    HsxLine found;
    uint64_t line;

    if (unlikely(!tlb_hit(have, va))) {
        core->untracked++;
        return CORE_UNCACHED;
    }
    if (unlikely(have & TLB_MMIO) ||
        !hsx_line(env_tlb(env)->d[mmu_idx].
                  fulltlb[tlb_index(env, mmu_idx, va)].xlat_section + va,
                  &line)) {
        return CORE_UNCACHED;
    }
    found = hsx_cpu_line(core, index, line, store);
    if (found.level != CORE_L1 || found.made_dirty || found.upgrade) {
        HsxWork *work = &core->now[mode];

        work->reference += found.level > CORE_L2 || found.upgrade;
        work->miss += core_missed_l3(found.level);
        work->made_dirty += found.made_dirty;
        hsx_core_signals(env, core, mode,
                         core_line_signals(store, found.level, found.upgrade) |
                         core_offcore_signals(&core->pmu, store, found.level,
                                              found.upgrade));
    }
    return found.level;
}

void cpu_access_observe(CPUArchState *env, target_ulong va, uint32_t info)
{
    unsigned index = env_cpu(env)->cpu_index;
    HsxCore *core = &hsx.core[index];
    bool store = info & CPU_ACCESS_STORE, load = info & CPU_ACCESS_LOAD;
    unsigned size = info >> CPU_ACCESS_SIZE & 0x7f;
    unsigned mmu_idx = info >> CPU_ACCESS_MMU;
    bool split = (va & (LLC_LINE_BYTES - 1)) + size > LLC_LINE_BYTES;
    enum core_mode mode = is_mmu_index_user(mmu_idx);
    enum core_level level;

    level = observe(env, core, index, va, mmu_idx, store);
    if (unlikely(split)) {
        enum core_level second = observe(env, core, index,
                                         ROUND_UP(va + 1, LLC_LINE_BYTES),
                                         mmu_idx, store);
        level = MAX(level, second);
        core->now[mode].split[info & CPU_ACCESS_RMW]++;
    }
    core->now[mode].access[info & CPU_ACCESS_RMW][level]++;
    if (unlikely(core->pmu.wanted[mode] & CORE_CACHE_SIGNALS)) {
        level = core_pmu_retires_as(&core->pmu, load, level);
        hsx_core_signals(env, core, mode,
                         core_access_signals(load, store, load && store, split,
                                             level) |
                         (load ? core_latency_signal(&core->pmu, level) : 0));
        if (unlikely(env->retire.due)) {
            core_pmu_accessed(&core->pmu, va, load && store, level);
        }
    }
}

/**
 * hsx_cpu_assist: the processor itself has read or written memory, in no
 * instruction: lines, but no loads or stores
 */
void hsx_cpu_assist(CPUX86State *env, HsxCore *core, uint64_t va,
                    unsigned size, bool store)
{
    const uint64_t end = va + size;

    for (; va < end; va = ROUND_DOWN(va, LLC_LINE_BYTES) + LLC_LINE_BYTES) {
        observe(env, core, env_cpu(env)->cpu_index, va, MMU_KNOSMAP64_IDX,
                store);
    }
}

void HELPER(cpu_access)(CPUArchState *env, target_ulong va, uint32_t info)
{
    cpu_access_observe(env, va, info);
}

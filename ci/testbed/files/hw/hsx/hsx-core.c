/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cores' performance counters: from what a vCPU does to corepmu.c
 *
 * A vCPU's counters belong to its thread alone. What retires is counted by
 * translated code (exec/retire-observer.h) only while a counter wants it, and is
 * added up here when somebody looks, and when the first counter is due to wrap.
 * Loads and stores come from hsx-cpu.c, which looks at them anyway, with
 * cpu-cache=on.
 *
 * A sample (pebs.h) is known in the middle of its instruction, and written at its
 * end, by translated code that looks whether one is due; only while a counter can
 * have samples.
 *
 * What the erratum of threads lets go astray (corepmu.h) goes to the other vCPU
 * thread: see hsx.h. That takes it in whenever it reads or writes one of these
 * registers, so whoever looks finds it there; but a counter that wraps by it does
 * so up to ASTRAY_BATCH happenings late.
 *
 * Present with the CPU property `pmu`, and the uncore, which this is a part of.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "exec/retire-observer.h"
#include "hw/i386/apic.h"
#include "tcg/helper-tcg.h"
#include "hsx.h"

/* What fits into the window of speculation, at the most */
#define BRANCH_BYTES    (15 * BRANCH_WINDOW)

/* How much may go astray until the other thread is told */
#define ASTRAY_BATCH    1024

#define MISC_ENABLE_PMU     (1u << 7)
#define MISC_ENABLE_NO_BTS  (1u << 11)
#define MISC_ENABLE_NO_PEBS (1u << 12)

QEMU_BUILD_BUG_ON((int)RETIRE_CONDITIONAL != (int)CORE_CONDITIONAL ||
                  (int)RETIRE_INDIRECT_CALL != (int)CORE_INDIRECT_CALL ||
                  (int)RETIRE_FAR != (int)CORE_FAR);

static HsxCore *core_of(CPUX86State *env)
{
    return &hsx.core[env_cpu(env)->cpu_index];
}

/* What has retired in a mode and has not been counted */
static int64_t cycles_of(CPUX86State *env, const HsxCore *c, enum core_mode m)
{
    return qatomic_read(&c->retire_from[m]) -
           qatomic_read(&env->retire.left[m]);
}

static int64_t again_of(CPUX86State *env, const HsxCore *c, enum core_mode m)
{
    return qatomic_read(&env->retire.again[m]) -
           qatomic_read(&c->retire_again[m]);
}

/* A sample is written as soon as its instruction has ended. */
static void note_due(CPUX86State *env, HsxCore *c)
{
    if (unlikely(c->pmu.pebs.due)) {
        env->retire.due = true;
    }
}

/* Count what has retired up to here. */
static void core_sync(CPUX86State *env, HsxCore *c)
{
    seqlock_write_begin(&c->retire_lock);
    for (unsigned m = 0; m < CORE_MODES; m++) {
        int64_t cycles = cycles_of(env, c, m), again = again_of(env, c, m);

        if (cycles) {
            core_pmu_clock(&c->pmu, m, cycles - again, cycles);
        }
        c->now[m].instructions += cycles - again;
        c->now[m].cycles += cycles;
        c->cycles[m] += cycles;
        c->retire_from[m] = env->retire.left[m];
        c->retire_again[m] = env->retire.again[m];
    }
    seqlock_write_end(&c->retire_lock);
    note_due(env, c);
}

static HsxCore *sibling_of(HsxCore *c)
{
    return &hsx.core[(c - hsx.core) ^ 1];
}

/* Say which counters can be corrupted; what came too late is no new one's. */
static void open_counters(HsxCore *c)
{
    unsigned open = core_pmu_open(&c->pmu);

    for (unsigned i = 0; i < CORE_THREAD_GENERAL; i++) {
        if (open & ~c->open & 1u << i) {
            qatomic_set(&c->astray[i], 0);
        }
    }
    qatomic_set(&c->open, open);
}

/* Translated code counts what counters want now, up to where one wraps. */
static void core_arm(CPUX86State *env, HsxCore *c)
{
    CPUState *cs = env_cpu(env);
    uint64_t wanted = c->pmu.wanted[CORE_KERNEL] | c->pmu.wanted[CORE_USER];
    uint32_t flags = cs->tcg_cflags & ~(CF_RETIRE | CF_BRANCH | CF_PRECISE);

    seqlock_write_begin(&c->retire_lock);
    core_pmu_left(&c->pmu, cpu_retire_mode(env->hflags), env->retire.left);
    memcpy(c->retire_from, env->retire.left, sizeof(c->retire_from));
    seqlock_write_end(&c->retire_lock);

    if (wanted & (CORE_CLOCK_SIGNALS | CORE_BRANCH_SIGNALS) ||
        hsx.cpu_ledger) {
        flags |= CF_RETIRE;
    }
    if (wanted & CORE_BRANCH_SIGNALS || hsx.cpu_ledger) {
        flags |= CF_BRANCH;
    }
    if (core_pmu_precise(&c->pmu)) {
        flags |= CF_PRECISE;
    }
    if (flags != cs->tcg_cflags) {
        cs->tcg_cflags = flags;
        cpu_leave_chain(cs);
    }
    if (hsx.ht_erratum) {
        open_counters(c);
    }
}

/* Deliver the interrupt that a counter has raised. */
static void core_interrupt(CPUX86State *env, HsxCore *c)
{
    CPUState *cs = env_cpu(env);
    bool locked = qemu_mutex_iothread_locked();
    int can_do_io = cs->can_do_io;

    if (likely(!c->pmu.interrupt)) {
        return;
    }
    c->pmu.interrupt = false;
    if (!locked) {
        qemu_mutex_lock_iothread();
    }
    /* With -icount: the interrupt is due here, wherever in a block that is. */
    cs->can_do_io = 1;
    apic_deliver_pmi(env_archcpu(env)->apic_state);
    cs->can_do_io = can_do_io;
    if (!locked) {
        qemu_mutex_unlock_iothread();
    }
}

/* Take in what has gone astray to here. */
static void core_take_astray(CPUX86State *env, HsxCore *c)
{
    bool some = false;

    if (likely(!hsx.ht_erratum)) {
        return;
    }
    for (unsigned i = 0; i < CORE_THREAD_GENERAL; i++) {
        if (qatomic_read(&c->astray[i])) {
            core_pmu_corrupt(&c->pmu, i, qatomic_xchg(&c->astray[i], 0));
            some = true;
        }
    }
    if (some) {
        /* It is not as far to a counter's end as it was. */
        core_arm(env, c);
    }
}

static void astray_due(CPUState *cs, run_on_cpu_data data)
{
    CPUX86State *env = cs->env_ptr;
    HsxCore *c = core_of(env);

    core_sync(env, c);
    core_take_astray(env, c);
    core_interrupt(env, c);
}

/* Some of what has happened here goes astray, to the other thread. */
static void core_let_astray(HsxCore *c, enum core_mode mode, uint64_t signals)
{
    HsxCore *other = sibling_of(c);
    unsigned which = core_pmu_astray(&c->pmu, mode, signals) &
                     qatomic_read(&other->open);

    for (; which; which &= which - 1) {
        uint64_t n = qatomic_fetch_inc(&other->astray[ctz32(which)]);

        if (n == ASTRAY_BATCH) {
            async_run_on_cpu(qemu_get_cpu(other - hsx.core), astray_due,
                             RUN_ON_CPU_NULL);
        }
    }
}

void HELPER(retire_expired)(CPUX86State *env, uint32_t insns)
{
    CPUState *cs = env_cpu(env);
    HsxCore *c = core_of(env);
    int64_t *left = &env->retire.left[cpu_retire_mode(env->hflags)];

    *left += insns;
    if (*left > 0) {
        cs->cflags_next_tb = curr_cflags(cs) | *left;
    } else {
        core_sync(env, c);
        core_arm(env, c);
        core_interrupt(env, c);
    }
    cpu_leave_chain(cs);
}

void HELPER(retire_branch)(CPUX86State *env, target_ulong from,
                           target_ulong to, uint32_t info)
{
    HsxCore *c = core_of(env);
    enum core_mode mode = !!(info & RETIRE_BRANCH_USER);
    uint64_t now = 0;
    struct branch_path path;
    struct branch b = {
        .from = from,
        .next = from + (info >> RETIRE_BRANCH_LENGTH),
        .to = to,
        .kind = info & RETIRE_BRANCH_KIND,
        .taken = info & RETIRE_BRANCH_TAKEN,
    };
    bool wrong;

    for (unsigned m = 0; m < CORE_MODES; m++) {
        now += c->cycles[m] + c->retire_from[m] - env->retire.left[m];
    }
    if (mode == c->branch_mode && from - c->branch.led_to < BRANCH_BYTES) {
        b.distance = MIN(now - c->branch_cycles, BRANCH_WINDOW + 1);
    }
    c->branch_cycles = now;
    c->branch_mode = mode;

    wrong = branch_retire(&c->branch, &b, &path);
    c->now[mode].branches++;
    c->now[mode].mispredicted += wrong;
    hsx_core_signals(env, c, mode,
                     core_branch_signals(b.kind, b.taken, wrong, true));
    for (unsigned i = 0; i < path.n; i++) {
        hsx_core_signals(env, c, mode,
                         core_branch_signals(path.branch[i].kind,
                                             path.branch[i].taken, false,
                                             false));
    }
}

/**
 * hsx_core_signals: something has happened that a counter may want
 */
void hsx_core_signals(CPUX86State *env, HsxCore *c, enum core_mode mode,
                      uint64_t signals)
{
    if (!(c->pmu.wanted[mode] & signals)) {
        return;
    }
    if (unlikely(hsx.ht_erratum)) {
        core_let_astray(c, mode, signals);
    }
    if (core_pmu_freezes(&c->pmu)) {
        /* What has retired before counts. */
        core_sync(env, c);
    }
    core_pmu_count(&c->pmu, mode, signals);
    note_due(env, c);
    if (unlikely(c->pmu.interrupt)) {
        /* Only a freeze changes what counts. */
        if (core_pmu_freezes(&c->pmu)) {
            core_arm(env, c);
        }
        core_interrupt(env, c);
    }
}

/*
 * Read or write the guest's memory at a linear address, as the processor itself
 * does it: not in any instruction, and without a fault, which would come too
 * late. False if some of it is not mapped so, or no memory.
 */
static bool assist_access(CPUX86State *env, HsxCore *c, uint64_t va,
                          void *data, unsigned size, bool store)
{
    const MMUAccessType type = store ? MMU_DATA_STORE : MMU_DATA_LOAD;
    const uint64_t start = va;
    unsigned left, n;
    void *host;

    /* All of it or nothing. */
    for (int copy = 0; copy <= 1; copy++) {
        for (va = start, left = size; left; va += n, left -= n) {
            n = MIN(left, -(va | TARGET_PAGE_MASK));
            if (probe_access_flags(env, va, type, MMU_KNOSMAP64_IDX, true,
                                   &host, 0) & (TLB_INVALID_MASK | TLB_MMIO)) {
                return false;
            }
            if (copy && store) {
                memcpy(host, data + (va - start), n);
            } else if (copy) {
                memcpy(data + (va - start), host, n);
            }
        }
    }
    if (hsx.cpu_cache) {
        hsx_cpu_assist(env, c, start, size, store);
    }
    return true;
}

/* Does a counter whose sample is due count what translated code counts? */
static bool due_by_clock(const struct core_pmu *p)
{
    for (unsigned i = 0; i < PEBS_COUNTERS; i++) {
        if (p->pebs.due & 1u << i &&
            (p->counts[CORE_KERNEL][i] | p->counts[CORE_USER][i]) &
            CORE_CLOCK_SIGNALS) {
            return true;
        }
    }
    return false;
}

/* Write the sample's record: the instruction is behind us, @eip before us. */
void HELPER(retire_due)(CPUX86State *env, target_ulong eip, uint32_t cc_op)
{
    CPUState *cs = env_cpu(env);
    HsxCore *c = core_of(env);
    const uint64_t store = c->pmu.pebs.store;
    const int can_do_io = cs->can_do_io;
    struct pebs_cpu cpu = {
        .ip = env->segs[R_CS].base + eip,
        .event_ip = env->segs[R_CS].base + env->retire.pc,
    };
    struct pebs_area area = { };
    uint64_t record[PEBS_WORDS], at;
    bool found, settle, placed, done;

    env->retire.due = false;
    if (!c->pmu.pebs.due) {
        return;
    }
    /* Only if need be, as we may be in the middle of a block. */
    settle = !c->pmu.pebs.able || core_pmu_freezes(&c->pmu) ||
             due_by_clock(&c->pmu);
    if (settle) {
        core_sync(env, c);
    }

    cpu.flags = env->eflags | (env->df & DF_MASK) |
                cpu_cc_compute_all(env, cc_op == CC_OP_DYNAMIC ?
                                        env->cc_op : cc_op);
    for (unsigned i = 0; i < CPU_NB_REGS; i++) {
        cpu.reg[i] = env->regs[i];
    }
    /* With -icount: of the end of the block. */
    cs->can_do_io = 1;
    cpu.tsc = cpu_get_tsc(env) + env->tsc_offset;
    cs->can_do_io = can_do_io;

    found = assist_access(env, c, store + PEBS_AREA, &area, sizeof(area),
                          false);
    at = area.index;
    placed = core_pmu_sample(&c->pmu, &cpu, found ? &area : NULL, record);
    done = placed &&
           assist_access(env, c, at, record, area.index - at, true) &&
           assist_access(env, c, store + PEBS_INDEX, &area.index,
                         sizeof(area.index), true);
    c->pebs_records += done;
    c->pebs_full += found && !placed;
    c->pebs_unmapped += !found || (placed && !done);

    env->retire.due = false;
    if (settle) {
        core_arm(env, c);
    }
    core_interrupt(env, c);
}

/* Whatever the last instruction has made is made now. */
void cpu_retire_settle(CPUState *cs)
{
    CPUX86State *env = cs->env_ptr;
    HsxCore *c = core_of(env);

    core_sync(env, c);
    core_interrupt(env, c);
    if (env->retire.due) {
        helper_retire_due(env, env->eip, env->cc_op);
    }
}

/**
 * hsx_core_wrmsr: a vCPU writes an MSR that the CPU itself does not have
 *
 * Returns: true if it is one of the counters'. A fault does not return.
 */
bool hsx_core_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val, uintptr_t ra)
{
    HsxCore *c;
    enum core_msr done;

    if (!hsx_core_present(env) || !core_pmu_has(&core_of(env)->pmu, msr)) {
        return false;
    }
    c = core_of(env);
    core_sync(env, c);
    core_take_astray(env, c);
    done = core_pmu_write(&c->pmu, msr, val);
    core_arm(env, c);
    core_interrupt(env, c);
    if (done == CORE_MSR_FAULT) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }

    if (msr - MSR_P6_EVNTSEL0 < CORE_GENERAL && val & 1u << 22) {
        uint64_t signals = core_event_signals(val, msr - MSR_P6_EVNTSEL0);

        if (!signals || (signals & CORE_CACHE_SIGNALS && !hsx.cpu_cache)) {
            hsx_not_modelled("core", val);
        }
    }
    return true;
}

/**
 * hsx_core_rdmsr: a vCPU reads an MSR that the CPU itself does not have
 *
 * Returns: true if it is one of the counters'.
 */
bool hsx_core_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    HsxCore *c;

    if (!hsx_core_present(env) || !core_pmu_has(&core_of(env)->pmu, msr)) {
        return false;
    }
    c = core_of(env);
    core_sync(env, c);
    core_take_astray(env, c);
    core_interrupt(env, c);
    return core_pmu_read(&c->pmu, msr, val) == CORE_MSR_DONE;
}

/**
 * hsx_core_rdpmc: a vCPU reads a counter
 *
 * Returns: false if there are no counters. A fault does not return.
 */
bool hsx_core_rdpmc(CPUX86State *env, uint32_t index, uint64_t *val,
                    uintptr_t ra)
{
    HsxCore *c;

    if (!hsx_core_present(env)) {
        return false;
    }
    c = core_of(env);
    core_sync(env, c);
    core_take_astray(env, c);
    core_interrupt(env, c);
    if (!core_pmu_rdpmc(&c->pmu, index, val)) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }
    return true;
}

static unsigned general_counters(void)
{
    return hsx.geo.thread_bits ? CORE_THREAD_GENERAL : CORE_GENERAL;
}

/**
 * hsx_core_cpuid: leaf 0xa, architectural performance monitoring, if present
 */
void hsx_core_cpuid(CPUX86State *env, uint32_t *eax, uint32_t *ebx,
                    uint32_t *ecx, uint32_t *edx)
{
    if (hsx_core_present(env)) {
        /* version 3; 7 events are enumerated, and none is missing */
        *eax = 7 << 24 | CORE_WIDTH << 16 | general_counters() << 8 | 3;
        *ebx = 0;
        *ecx = 0;
        *edx = CORE_WIDTH << 5 | CORE_FIXED;
    }
}

/* Which CR3 has which tag; written under the big lock */
static struct {
    target_ulong cr3;
    unsigned tag;
} tagged[HSX_TAGGED];
static unsigned n_tagged;

/**
 * hsx_core_cr3: the address space of a vCPU may have changed, or its tag has
 *
 * On the vCPU's own thread; what it has retired so far is the old one's.
 */
void hsx_core_cr3(CPUX86State *env)
{
    unsigned n = qatomic_load_acquire(&n_tagged), tag = 0;
    HsxCore *c;

    if (likely(!n)) {
        return;
    }
    c = core_of(env);
    core_sync(env, c);
    for (unsigned i = 0; i < n; i++) {
        if (qatomic_read(&tagged[i].cr3) == env->cr[3]) {
            tag = qatomic_read(&tagged[i].tag);
        }
    }
    seqlock_write_begin(&c->retire_lock);
    c->now = c->work[tag];
    seqlock_write_end(&c->retire_lock);
}

static void look_again(CPUState *cs, run_on_cpu_data data)
{
    hsx_core_cr3(cs->env_ptr);
}

/**
 * hsx_core_set_tag: the address space that a vCPU is in has this tag from now on
 * @cs: NULL if it is not a vCPU that asks
 *
 * Under the big lock. Each CPU sees it at the end of its block.
 */
void hsx_core_set_tag(CPUState *cs, uint64_t tag)
{
    unsigned i, free = n_tagged;
    target_ulong cr3;

    if (!cs) {
        return;
    }
    cr3 = ((CPUX86State *)cs->env_ptr)->cr[3];

    for (i = 0; i < n_tagged && tagged[i].cr3 != cr3; i++) {
        if (!tagged[i].tag && free == n_tagged) {
            free = i;
        }
    }
    if (i == n_tagged) {
        i = free;
    }
    if (tag >= HSX_TAGS || i == HSX_TAGGED) {
        warn_report("hsx: no tag %" PRIu64 ": tags are below %d, and %d address "
                    "spaces may have one", tag, HSX_TAGS, HSX_TAGGED);
        return;
    }
    qatomic_set(&tagged[i].cr3, cr3);
    qatomic_set(&tagged[i].tag, tag);
    hsx.tags = MAX(hsx.tags, (unsigned)tag + 1);
    qatomic_store_release(&n_tagged, MAX(n_tagged, i + 1));
    CPU_FOREACH(cs) {
        async_run_on_cpu(cs, look_again, RUN_ON_CPU_NULL);
    }
}

/**
 * hsx_core_work: add what a core has done with a tag, up to now
 */
void hsx_core_work(unsigned core, unsigned tag, enum core_mode mode,
                   HsxWork *sum)
{
    CPUX86State *env = qemu_get_cpu(core)->env_ptr;
    const HsxCore *c = &hsx.core[core];
    const uint64_t *from;
    uint64_t *to = (uint64_t *)sum;
    HsxWork w;
    unsigned start;

    do {
        start = seqlock_read_begin(&c->retire_lock);
        w = c->work[tag][mode];
        if (c->now == c->work[tag]) {
            int64_t cycles = cycles_of(env, c, mode);

            w.cycles += cycles;
            w.instructions += cycles - again_of(env, c, mode);
        }
    } while (seqlock_read_retry(&c->retire_lock, start));

    from = (const uint64_t *)&w;
    for (size_t i = 0; i < sizeof(w) / sizeof(*from); i++) {
        to[i] += from[i];
    }
}

/**
 * hsx_core_misc_enable: IA32_MISC_ENABLE, with the bits that say what there is
 */
uint64_t hsx_core_misc_enable(CPUX86State *env, uint64_t val)
{
    val &= ~(MISC_ENABLE_PMU | MISC_ENABLE_NO_BTS | MISC_ENABLE_NO_PEBS);
    if (!hsx_core_present(env)) {
        return val | MISC_ENABLE_NO_BTS | MISC_ENABLE_NO_PEBS;
    }
    if (!core_of(env)->pmu.pebs.format) {
        val |= MISC_ENABLE_NO_PEBS;
    }
    return val | MISC_ENABLE_PMU | MISC_ENABLE_NO_BTS;
}

/**
 * hsx_core_reset: as at power-up. No vCPU runs.
 */
void hsx_core_reset(void)
{
    CPUState *cs;

    CPU_FOREACH(cs) {
        CPUX86State *env = cs->env_ptr;
        HsxCore *c = core_of(env);

        core_sync(env, c);
        core_pmu_reset(&c->pmu, general_counters(), hsx.pebs,
                       hsx.pebs_lossy);
        branch_reset(&c->branch);
        core_arm(env, c);
    }
}

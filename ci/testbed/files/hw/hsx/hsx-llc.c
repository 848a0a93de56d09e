/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulated Haswell-EP's caches, driven by the machine's memory traffic
 *
 * DMA arrives from the devices' threads, guest loads and stores from the vCPU
 * threads; each is cut into lines and put through the box that the line
 * belongs to. hsx.h has the locking, llc.h the model.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/memalign.h"
#include "hw/boards.h"
#include "hw/i386/x86.h"
#include "sysemu/hostmem.h"
#include "sysemu/numa.h"
#include "exec/memory.h"
#include "hsx.h"

Hsx hsx;

DmaObserver *dma_observer;
bool cpu_access_observed;

const uint16_t hsx_opcode[HSX_OPCODES] = {
    [HSX_RFO] = 0x180,
    [HSX_DRD] = 0x182,
    [HSX_PCIRDCUR] = 0x19e,
    [HSX_WBMTOI] = 0x1c4,
    [HSX_ITOM] = 0x1c8,
};

static const struct {
    HsxOpcode opcode;
    bool write;
} request_of[LLC_OPS] = {
    [LLC_DEV_READ] = { HSX_PCIRDCUR, false },
    [LLC_DEV_WRITE] = { HSX_ITOM, true },
    [LLC_DEV_WRITE_PART] = { HSX_RFO, true },
    [LLC_CPU_LOAD] = { HSX_DRD, false },
    [LLC_CPU_STORE] = { HSX_RFO, false },
    [LLC_CPU_UPGRADE] = { HSX_RFO, false },
    [LLC_CPU_WB] = { HSX_WBMTOI, true },
};

static void trace_flush(HsxBox *box)
{
    struct llc_trace_block head = {
        .slice = box - hsx.box,
        .records = box->trace_records,
    };

    qemu_mutex_lock(&hsx.trace_lock);
    fwrite(&head, sizeof(head), 1, hsx.trace_file);
    fwrite(box->trace, sizeof(*box->trace), head.records, hsx.trace_file);
    qemu_mutex_unlock(&hsx.trace_lock);
    box->trace_records = 0;
}

/* Put the taken copies' notice into the cores' mailboxes. Box lock held. */
static void post(uint32_t cores, uint64_t line, bool downgrade)
{
    for (; cores; cores &= cores - 1) {
        HsxCaches *c = &hsx.caches[ctz32(cores)];

        qemu_spin_lock(&c->mail_lock);
        if (c->mails == c->mail_room) {
            c->mail_room = c->mail_room ? 2 * c->mail_room : 256;
            c->mailbox = g_renew(uint64_t, c->mailbox, c->mail_room);
        }
        c->mailbox[c->mails++] = line << 1 | downgrade;
        qatomic_set(&c->mail, true);
        qemu_spin_unlock(&c->mail_lock);
    }
}

/* A core reads its mail. On a thread of its own, with two of them under the lock. */
static void read_mail(HsxCaches *c)
{
    qemu_spin_lock(&c->mail_lock);
    for (unsigned i = 0; i < c->mails; i++) {
        if (c->mailbox[i] & 1) {
            priv_clean(&c->priv, c->mailbox[i] >> 1);
        } else {
            priv_invalidate(&c->priv, c->mailbox[i] >> 1);
        }
    }
    c->mails = 0;
    /* A sibling that sees it looks at what is left without the lock. */
    qatomic_store_release(&c->mail, false);
    qemu_spin_unlock(&c->mail_lock);
}

/**
 * hsx_channel_lines: what a memory channel of a socket has read and written so far
 */
void hsx_channel_lines(unsigned socket, unsigned channel, uint64_t *reads,
                       uint64_t *writes)
{
    *reads = 0;
    *writes = 0;
    hsx_lock_all();
    for (unsigned i = 0; i < hsx.geo.slices; i++) {
        HsxBox *box = &hsx.box[socket * hsx.geo.slices + i];

        *reads += box->slice.dram_read[channel];
        *writes += box->slice.dram_write[channel];
    }
    hsx_unlock_all();
}

/* The other socket's LLC has been asked for the line. */
static void snooped(HsxBox *box, uint64_t line, const struct llc_result *r)
{
    struct llc_result there = { .before = r->other };
    HsxRequest req = {
        .snoop = true,
        .home = llc_home_of(&box->slice, line),
        .r = &there,
    };

    box->snoops[there.before]++;
    if (box->pmon.active) {
        hsx.gen->count(box, &req);
    }
}

/* One access at its box, whose lock is held. */
static struct llc_result access_locked(HsxBox *box, enum llc_op op,
                                       uint64_t line, unsigned who)
{
    struct llc_result r;
    bool io = who >= LLC_MAX_CORES;

    llc_access(&box->slice, op, line, who, &r);
    if (unlikely(hsx.trace_file)) {
        /* Of two sockets, the two boxes have one trace. */
        HsxBox *t = &hsx.box[(box - hsx.box) % hsx.geo.slices];

        t->trace[t->trace_records++] = llc_trace_record(op, line, who);
        if (t->trace_records == HSX_TRACE_RECORDS) {
            trace_flush(t);
        }
    }

    post(r.invalidate, line, false);
    post(r.downgrade, line, true);
    if (r.victim) {
        post(r.victim_sharers, r.victim_line, false);
        box->victims[r.victim_state]++;
    }

    if (!r.silent) {
        HsxRequest req = {
            .opcode = request_of[op].opcode,
            .io = io,
            .tid = io ? HSX_TID_IO :
                        (who - box->slice.socket * hsx.socket_cpus) <<
                        (1 - hsx.geo.thread_bits),
            .write = request_of[op].write,
            .home = llc_home_of(&box->slice, line),
            .victim_home = llc_home_of(&box->slice, r.victim_line),
            .r = &r,
        };
        bool miss = r.before == LLC_I && op != LLC_CPU_WB;

        box->tor[io][req.opcode][0]++;
        box->tor[io][req.opcode][1] += miss;
        if (req.home != box->slice.socket) {
            box->tor_remote[req.opcode][0]++;
            box->tor_remote[req.opcode][1] += miss;
        }
        if (box->pmon.active) {
            hsx.gen->count(box, &req);
        }
    }
    if (unlikely(r.asked)) {
        snooped(box + (box->slice.socket ? -(int)hsx.geo.slices :
                                           (int)hsx.geo.slices), line, &r);
    }
    return r;
}

/* @first: of the boxes of the socket that asks */
static HsxBox *box_of(HsxBox *first, uint64_t line)
{
    return &first[llc_slice_of(hsx.geo.slices, line)];
}

static void hsx_dma(DmaMaster *m, DmaPath path, ram_addr_t addr, hwaddr len,
                    bool is_write)
{
    ram_addr_t end = addr + len;
    unsigned moved = 0;
    uint64_t line;

    if (!len || !hsx_line(addr, &line)) {
        return;
    }

    if (m->actor < 0) {
        /* The last actor stands for all that are too many. */
        m->actor = MIN(hsx.actors, LLC_ACTORS - 1);
        hsx.actors++;
    }
    if (is_write) {
        m->from_ops++;
        m->from_bytes[path] += len;
    } else {
        m->to_ops++;
        m->to_bytes[path] += len;
    }

    while (addr < end && hsx_line(addr, &line)) {
        ram_addr_t next = MIN(ROUND_DOWN(addr, LLC_LINE_BYTES) +
                              LLC_LINE_BYTES, end);
        bool full = next - addr == LLC_LINE_BYTES;
        HsxBox *box = box_of(hsx.box, line);

        qemu_spin_lock(box->lock);
        moved += access_locked(box, !is_write ? LLC_DEV_READ :
                               full ? LLC_DEV_WRITE : LLC_DEV_WRITE_PART,
                               line, m->actor).dram_lines;
        qemu_spin_unlock(box->lock);
        addr = next;
    }
    if (moved && hsx.dram_bw) {
        hsx_dram_device(moved);
    }
}

static void lock_caches(HsxCaches *c)
{
    if (unlikely(hsx.geo.thread_bits)) {
        qemu_spin_lock(&c->lock);
    }
}

static void unlock_caches(HsxCaches *c)
{
    if (unlikely(hsx.geo.thread_bits)) {
        qemu_spin_unlock(&c->lock);
    }
}

/*
 * A thread has the line's box and its caches, whose sibling may have been at them
 * since @hit. False: the line is on its way out.
 */
static bool look_again(HsxCaches *c, unsigned index, uint64_t line, bool store,
                       enum priv_hit *hit, bool *clean)
{
    enum priv_hit now;

    if (qatomic_read(&c->leaving[~index & 1]) == line + 1) {
        return false;
    }
    now = priv_lookup(&c->priv, line, store, clean);
    /* It may be in L1 because of the first look-up. */
    *hit = now == PRIV_L1 && *hit == PRIV_L2 ? PRIV_L2 : now;
    return true;
}

/* Where an access found its line */
static enum core_level level_of(const HsxBox *box, uint64_t line,
                                const struct llc_result *r)
{
    if (r->before != LLC_I) {
        return r->downgrade ? CORE_L3_OTHER : CORE_L3;
    }
    if (r->other != LLC_I) {
        return r->other == LLC_M ? CORE_REMOTE_OTHER : CORE_REMOTE_CACHE;
    }
    return llc_home_of(&box->slice, line) == box->slice.socket ?
           CORE_DRAM : CORE_REMOTE_DRAM;
}

/**
 * hsx_cpu_line: a guest load or store of a line, on the vCPU's own thread
 */
HsxLine hsx_cpu_line(HsxCore *core, unsigned index, uint64_t line, bool store)
{
    static const enum core_level level[] = {
        [PRIV_L1] = CORE_L1, [PRIV_L2] = CORE_L2, [PRIV_MISS] = CORE_L3,
    };
    HsxCaches *c = core->caches;
    uint64_t victim;
    bool clean, victim_modified, left = false;
    struct llc_result r;
    enum priv_hit hit;
    enum llc_op op;
    HsxBox *box;

    if (unlikely(qatomic_load_acquire(&c->mail))) {
        lock_caches(c);
        read_mail(c);
        unlock_caches(c);
    }
    if (likely(priv_hit_mru(&c->priv, line, store))) {
        return (HsxLine) { CORE_L1 };
    }
    lock_caches(c);
    hit = priv_lookup(&c->priv, line, store, &clean);
    unlock_caches(c);
    if (hit != PRIV_MISS && !clean) {
        goto found;
    }

    box = box_of(core->box, line);
again:
    qemu_spin_lock(box->lock);
    lock_caches(c);
    if (unlikely(qatomic_read(&c->mail))) {
        read_mail(c);
        clean = clean && priv_holds(&c->priv, line);
    }
    if (unlikely(hsx.geo.thread_bits)) {
        bool there = look_again(c, index, line, store, &hit, &clean);

        if (!there || (hit != PRIV_MISS && !clean)) {
            unlock_caches(c);
            qemu_spin_unlock(box->lock);
            if (there) {
                goto found;
            }
            cpu_relax();
            goto again;
        }
    }
    op = clean ? LLC_CPU_UPGRADE : store ? LLC_CPU_STORE : LLC_CPU_LOAD;
    r = access_locked(box, op, line, index);
    if (clean) {
        priv_dirty(&c->priv, line);
    } else {
        left = priv_fill(&c->priv, line, store, &victim, &victim_modified);
        if (left && victim_modified) {
            qatomic_set(&c->leaving[index & 1], victim + 1);
        }
    }
    unlock_caches(c);
    qemu_spin_unlock(box->lock);

    if (left && victim_modified) {
        HsxBox *to = box_of(core->box, victim);

        qemu_spin_lock(to->lock);
        access_locked(to, LLC_CPU_WB, victim, index);
        qatomic_set(&c->leaving[index & 1], 0);
        qemu_spin_unlock(to->lock);
    }
    core->l1_miss += hit != PRIV_L1;
    core->l2_miss += hit == PRIV_MISS;
    if (r.dram_lines && unlikely(hsx.dram_bw)) {
        hsx_dram_cpu(core, r.dram_lines);
    }

    return (HsxLine) {
        .level = clean ? level[hit] : level_of(box, line, &r),
        .upgrade = clean && !r.silent,
        .made_dirty = store && r.before != LLC_M && r.other != LLC_M,
    };

found:
    core->l1_miss += hit != PRIV_L1;
    return (HsxLine) { level[hit] };
}

void hsx_lock_all(void)
{
    for (unsigned i = 0; i < hsx.geo.slices; i++) {
        qemu_spin_lock(hsx.box[i].lock);
    }
}

void hsx_unlock_all(void)
{
    for (unsigned i = hsx.geo.slices; i-- > 0; ) {
        qemu_spin_unlock(hsx.box[i].lock);
    }
}

/* Write what is left of the trace. All boxes locked. */
void hsx_trace_finish(void)
{
    if (!hsx.trace_file) {
        return;
    }
    for (unsigned i = 0; i < hsx.geo.slices; i++) {
        if (hsx.box[i].trace_records) {
            trace_flush(&hsx.box[i]);
        }
    }
    if (fclose(hsx.trace_file)) {
        perror("hsx: writing the trace");
    }
    hsx.trace_file = NULL;
}

/* Where RAM is, and which socket's each of it. False: not as we want it. */
static bool find_ram(Error **errp)
{
    MachineState *ms = MACHINE(qdev_get_machine());
    X86MachineState *x86ms = X86_MACHINE(ms);
    const NumaState *numa = ms->numa_state;
    uint64_t size = memory_region_size(ms->ram), first;

    hsx.ram_below_4g = x86ms->below_4g_mem_size;
    hsx.above_4g = x86ms->above_4g_mem_start;
    if (hsx.sockets == 1) {
        hsx.ram_start = memory_region_get_ram_addr(ms->ram);
    } else {
        HostMemoryBackend *m[2];

        if (!numa || numa->num_nodes != 2 || !numa->nodes[0].node_memdev ||
            !numa->nodes[1].node_memdev) {
            error_setg(errp, "two sockets need two nodes, each with a memdev");
            return false;
        }
        for (unsigned i = 0; i < 2; i++) {
            m[i] = numa->nodes[i].node_memdev;
        }
        /* RAM blocks lie side by side: their sizes are round. */
        first = numa->nodes[0].node_mem;
        hsx.ram_start =
            memory_region_get_ram_addr(host_memory_backend_get_memory(m[0]));
        if (memory_region_get_ram_addr(host_memory_backend_get_memory(m[1])) !=
            hsx.ram_start + first) {
            error_setg(errp, "the nodes' memory is not in one piece");
            return false;
        }
        if (first > hsx.ram_below_4g) {
            first += hsx.above_4g - hsx.ram_below_4g;
        }
        hsx.geo.node1 = first >> LLC_LINE_SHIFT;
    }
    hsx.ram_end = hsx.ram_start + size;
    return true;
}

bool hsx_llc_start(const struct llc_geometry *geo, bool cpu_cache,
                   bool cpu_ledger, const char *trace, Error **errp)
{
    MachineState *ms = MACHINE(qdev_get_machine());

    if ((cpu_cache || cpu_ledger) && ms->smp.max_cpus > LLC_MAX_CORES) {
        error_setg(errp, "cpu-cache, cpu-ledger: at most %d CPUs",
                   LLC_MAX_CORES);
        return false;
    }
    if (ms->smp.threads > 2) {
        error_setg(errp, "at most two threads a core");
        return false;
    }
    if (hsx.ht_erratum && ms->smp.threads == 1) {
        error_setg(errp, "ht-erratum: needs two threads a core");
        return false;
    }

    if (ms->smp.sockets > LLC_MAX_SOCKETS) {
        error_setg(errp, "at most %d sockets", LLC_MAX_SOCKETS);
        return false;
    }

    hsx.geo = *geo;
    hsx.geo.thread_bits = ms->smp.threads - 1;
    hsx.sockets = ms->smp.sockets;
    hsx.socket_cpus = ms->smp.max_cpus / hsx.sockets;
    hsx.boxes = hsx.sockets * geo->slices;
    hsx.cpu_cache = cpu_cache;
    hsx.cpu_ledger = cpu_ledger;
    hsx.actors = LLC_MAX_CORES;
    hsx.tags = 1;
    if (!find_ram(errp)) {
        return false;
    }

    hsx.box = g_new0(HsxBox, hsx.boxes);
    for (unsigned i = 0; i < hsx.boxes; i++) {
        qemu_spin_init(&hsx.box[i].own_lock);
        hsx.box[i].lock = &hsx.box[i % geo->slices].own_lock;
        if (llc_slice_init(&hsx.box[i].slice, &hsx.geo)) {
            error_setg(errp, "no LLC of %u sets and %u ways a slice",
                       geo->sets, geo->ways);
            return false;
        }
        if (i >= geo->slices) {
            llc_slice_pair(&hsx.box[i - geo->slices].slice, &hsx.box[i].slice);
        }
    }

    hsx.cores = cpu_cache || cpu_ledger ? ms->smp.max_cpus : 0;
    hsx.core = qemu_memalign(64, sizeof(HsxCore) * ms->smp.max_cpus);
    memset(hsx.core, 0, sizeof(HsxCore) * ms->smp.max_cpus);
    hsx.caches = qemu_memalign(64, sizeof(HsxCaches) * ms->smp.max_cpus);
    memset(hsx.caches, 0, sizeof(HsxCaches) * ms->smp.max_cpus);
    for (unsigned i = 0; i < ms->smp.max_cpus; i++) {
        qemu_spin_init(&hsx.caches[i].mail_lock);
        qemu_spin_init(&hsx.caches[i].lock);
        seqlock_init(&hsx.core[i].retire_lock);
        hsx.core[i].now = hsx.core[i].work[0];
        hsx.core[i].caches = &hsx.caches[i >> hsx.geo.thread_bits];
        hsx.core[i].box = &hsx.box[hsx_socket_of(i) * geo->slices];
    }
    hsx_core_reset();

    if (trace) {
        struct llc_trace_header head = {
            .magic = hsx.sockets == 2 ? LLC_TRACE_MAGIC_2 : LLC_TRACE_MAGIC,
            .slices = geo->slices,
            .sets = geo->sets,
            .ways = geo->ways,
            .ddio_ways = geo->ddio_ways,
            .thread_bits = hsx.geo.thread_bits,
        };
        struct llc_trace_sockets two = {
            .node1 = hsx.geo.node1,
            .cpus = hsx.socket_cpus,
        };

        qemu_mutex_init(&hsx.trace_lock);
        hsx.trace_file = fopen(trace, "wb");
        if (!hsx.trace_file ||
            fwrite(&head, sizeof(head), 1, hsx.trace_file) != 1 ||
            (hsx.sockets == 2 &&
             fwrite(&two, sizeof(two), 1, hsx.trace_file) != 1)) {
            error_setg_errno(errp, errno, "cannot write the trace '%s'",
                             trace);
            return false;
        }
        for (unsigned i = 0; i < geo->slices; i++) {
            hsx.box[i].trace = g_new(uint64_t, HSX_TRACE_RECORDS);
        }
    }

    cpu_access_observed = cpu_cache;
    dma_observer = hsx_dma;
    return true;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The performance counters of the CBoxes of Haswell-EP and Broadwell-EP, and their MSRs
 *
 * Register layout and events: Intel, "Xeon Processor E5 v3 and E7 v3 Family
 * Uncore Performance Monitoring Reference Manual", as Linux' uncore_snbep.c
 * and libpfm4's event tables use them. Box n has 16 MSRs from 0xe00 + 16 n:
 *
 *	0	box control: reset of controls (bit 0) and counters (bit 1),
 *		freeze (bit 8)
 *	1-4	event selects: event 7:0, umask 15:8, reset 17, edge 18,
 *		tid_en 19, overflow enable 20, enable 22, invert 23, threshold 31:24
 *	5, 6	filter 0: tid 5:0, state 23:17 (I S E M F D M'); filter 1: node
 *		15:0, opcode 28:20
 *	7	status: an overflow of counter n sets bit n; write 1 to clear
 *	8-11	48-bit counters
 *
 * 0x700 freezes (bit 31) and unfreezes (bit 29) all boxes. All these registers are
 * each socket's own: a CPU reaches those of the socket that it is on.
 *
 * Counted, per request (what a request is: HsxRequest):
 *
 *	0x00	CLOCKTICKS, 2.5 GHz of guest time
 *	0x34	LLC_LOOKUP: DATA_READ 0x03 and READ 0x21 (requests that read),
 *		WRITE 0x05 (device writes and cores' write-backs),
 *		REMOTE_SNOOP 0x09 (the other socket's LLC asks for the line),
 *		ANY 0x11 (requests and snoops), NID 0x41 (as ANY, of lines whose
 *		home is a node of the filter); only lines in a state of the filter
 *	0x35	TOR_INSERTS: by opcode, all or misses; WB, EVICTION (a line was
 *		replaced), ALL; LOCAL and REMOTE, requests for lines whose home is
 *		this or the other socket; NID_*, a node of the filter (EVICTION:
 *		the replaced line's home). No snoops
 *	0x37	LLC_VICTIMS by state: M 0x01, E 0x02, S and I 0x04; with NID
 *		0x40 as well, only of lines whose home is a node of the filter
 *
 * A node is a socket, with the same number.
 *
 * with tid_en only for requests of the filter's tid: 0x3e is PCIe, a core is
 * twice its number in its socket. All else reads zero, and is named once on stderr and in the
 * ledger: other events and sub-events, edge detection, threshold and invert, and
 * the events of UBOX, SBOX and PCU.
 *
 * The box's lock is held while it counts; MSR accesses take it.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "hw/core/cpu.h"
#include "hsx.h"

#define MASK_48         ((1ull << 48) - 1)

#define MSR_U_FIRST     0x700   /* UBOX, PCU and SBOX */
#define MSR_U_LAST      0x77f
#define MSR_GLOBAL_CTL  0x700
#define MSR_GLOBAL_STATUS 0x701
#define MSR_GLOBAL_CONFIG 0x702
#define MSR_CBOX        0xe00
#define MSR_CBOX_STEP   0x10

#define GLOBAL_FRZ_ALL  (1u << 31)
#define GLOBAL_UNFRZ_ALL (1u << 29)

#define BOX_RST_CTRL    (1u << 0)
#define BOX_RST_CTRS    (1u << 1)
#define BOX_FRZ         (1u << 8)

#define CTL_EVENT(c)    ((c) & 0xff)
#define CTL_UMASK(c)    ((c) >> 8 & 0xff)
#define CTL_RST         (1u << 17)
#define CTL_EDGE        (1u << 18)
#define CTL_TID_EN      (1u << 19)
#define CTL_EN          (1u << 22)
#define CTL_INVERT      (1u << 23)
#define CTL_THRESH(c)   ((c) >> 24 & 0xff)

#define EV_CLOCKTICKS   0x00
#define EV_LLC_LOOKUP   0x34
#define EV_TOR_INSERTS  0x35
#define EV_LLC_VICTIMS  0x37

#define UCLK_PER_10NS   25

/* By socket */
static bool frozen_all[LLC_MAX_SOCKETS];
static uint64_t umisc[LLC_MAX_SOCKETS][MSR_U_LAST - MSR_U_FIRST + 1];

/* What was asked for and is not modelled, in the order of first use */
static QemuSpin unknown_lock;
static GPtrArray *unknown;

/**
 * hsx_not_modelled: note an event that nothing counts; say so the first time
 */
void hsx_not_modelled(const char *what, uint64_t ctl)
{
    char *key = g_strdup_printf("%s event 0x%02x umask 0x%02x%s", what,
                                (unsigned)CTL_EVENT(ctl),
                                (unsigned)CTL_UMASK(ctl),
                                ctl & (CTL_EDGE | CTL_INVERT) ||
                                CTL_THRESH(ctl) ? " with edge, invert or "
                                                  "threshold" : "");
    bool first;

    qemu_spin_lock(&unknown_lock);
    if (!unknown) {
        unknown = g_ptr_array_new();
    }
    first = !g_ptr_array_find_with_equal_func(unknown, key, g_str_equal, NULL);
    if (first) {
        g_ptr_array_add(unknown, g_strdup(key));
    }
    qemu_spin_unlock(&unknown_lock);

    if (first) {
        warn_report("hsx: %s is not modelled and reads zero", key);
    }
    g_free(key);
}

/**
 * hsx_put_not_modelled: the events that were asked for in vain, as a JSON list
 */
void hsx_put_not_modelled(GString *j)
{
    g_string_append_c(j, '[');
    qemu_spin_lock(&unknown_lock);
    for (unsigned i = 0; unknown && i < unknown->len; i++) {
        g_string_append_printf(j, "%s\"%s\"", i ? ", " : "",
                               (char *)g_ptr_array_index(unknown, i));
    }
    qemu_spin_unlock(&unknown_lock);
    g_string_append_c(j, ']');
}

static bool modelled(uint64_t ctl)
{
    if (ctl & (CTL_EDGE | CTL_INVERT) || CTL_THRESH(ctl)) {
        return false;
    }
    switch (CTL_EVENT(ctl)) {
    case EV_CLOCKTICKS:
        return true;
    case EV_LLC_LOOKUP:
        switch (CTL_UMASK(ctl)) {
        case 0x03: case 0x05: case 0x09: case 0x11: case 0x21: case 0x41:
            return true;
        }
        return false;
    case EV_TOR_INSERTS:
        switch (CTL_UMASK(ctl)) {
        case 0x01: case 0x03: case 0x04: case 0x08: case 0x0a: case 0x10:
        case 0x21: case 0x23: case 0x28: case 0x2a:
        case 0x41: case 0x43: case 0x44: case 0x48: case 0x4a: case 0x50:
        case 0x81: case 0x83: case 0x88: case 0x8a:
            return true;
        }
        return false;
    case EV_LLC_VICTIMS:
        return CTL_UMASK(ctl) & 0x0f && !(CTL_UMASK(ctl) & 0x90);
    }
    return false;
}

static unsigned count_lookup(unsigned umask, unsigned states, unsigned nodes,
                             const HsxRequest *req)
{
    bool kind;

    switch (umask) {
    case 0x03: case 0x21:
        kind = !req->write && !req->snoop;
        break;
    case 0x05:
        kind = req->write;
        break;
    case 0x11:
        kind = true;
        break;
    case 0x41:
        kind = nodes >> req->home & 1;
        break;
    default:
        kind = req->snoop;
    }
    return kind && states & 1u << req->r->before;
}

static unsigned count_tor(unsigned umask, unsigned opcode, unsigned nodes,
                          unsigned socket, const HsxRequest *req)
{
    bool wb = req->opcode == HSX_WBMTOI;
    bool miss = req->r->before == LLC_I && !wb;
    bool same = hsx_opcode[req->opcode] == opcode;
    bool local = req->home == socket;
    unsigned evicted;

    if (req->snoop) {
        return 0;
    }
    evicted = req->r->victim &&
              (!(umask & 0x40) || nodes >> req->victim_home & 1);
    if ((umask & 0x1f) == 0x04) {
        return evicted;
    }
    if ((umask & 0x1f) == 0x08 && !(umask & 0xa0)) {
        /* ALL: requests and evictions, each by its own node */
        return (!(umask & 0x40) || nodes >> req->home & 1) + evicted;
    }
    if ((umask & 0x20 && !local) || (umask & 0x80 && local) ||
        (umask & 0x40 && !(nodes >> req->home & 1))) {
        return 0;
    }
    switch (umask & 0x1f) {
    case 0x01:
        return same;
    case 0x03:
        return same && miss;
    case 0x08:
        return 1;
    case 0x0a:
        return miss;
    case 0x10:
        return wb;
    }
    return 0;
}

static unsigned count_victims(unsigned umask, unsigned nodes,
                              const HsxRequest *req)
{
    static const uint8_t bit[] = {
        [LLC_M] = 0x01, [LLC_E] = 0x02, [LLC_S] = 0x04,
    };

    return req->r->victim &&
           (!(umask & 0x40) || nodes >> req->victim_home & 1) &&
           umask & bit[req->r->victim_state];
}

/**
 * hsx_cbox_count: a request passes through a box whose counters are active
 */
void hsx_cbox_count(HsxBox *box, const HsxRequest *req)
{
    HsxPmon *p = &box->pmon;
    unsigned nodes = p->filter[1] & 0xffff;

    for (unsigned i = 0; i < ARRAY_SIZE(p->counter); i++) {
        uint64_t ctl = p->counter[i].ctl;
        unsigned umask = CTL_UMASK(ctl), n = 0;

        if (!(ctl & CTL_EN) ||
            (ctl & CTL_TID_EN &&
             (req->snoop || (p->filter[0] & 0x3f) != req->tid)) ||
            !modelled(ctl)) {
            continue;
        }
        switch (CTL_EVENT(ctl)) {
        case EV_LLC_LOOKUP:
            n = count_lookup(umask, p->filter[0] >> 17 & 0x7f, nodes, req);
            break;
        case EV_TOR_INSERTS:
            n = count_tor(umask, p->filter[1] >> 20 & 0x1ff, nodes,
                          box->slice.socket, req);
            break;
        case EV_LLC_VICTIMS:
            n = count_victims(umask, nodes, req);
            break;
        }
        if (n) {
            hsx_pmon_add(p, i, n);
        }
    }
}

/* Count the clockticks so far; before anything about the box changes. */
static void count_clock(HsxPmon *p)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    if (p->active) {
        for (unsigned i = 0; i < ARRAY_SIZE(p->counter); i++) {
            uint64_t ctl = p->counter[i].ctl;

            if (ctl & CTL_EN && CTL_EVENT(ctl) == EV_CLOCKTICKS &&
                modelled(ctl)) {
                hsx_pmon_add(p, i, now * UCLK_PER_10NS / 10 -
                    p->clock_ns * UCLK_PER_10NS / 10);
            }
        }
    }
    p->clock_ns = now;
}

static void update_active(HsxBox *box)
{
    HsxPmon *p = &box->pmon;

    p->active = false;
    if (frozen_all[box->slice.socket] || p->box_ctl & BOX_FRZ) {
        return;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(p->counter); i++) {
        p->active |= !!(p->counter[i].ctl & CTL_EN);
    }
}

static void box_write(HsxBox *box, unsigned reg, uint64_t val)
{
    HsxPmon *p = &box->pmon;

    count_clock(p);
    switch (reg) {
    case 0x0:
        for (unsigned i = 0; i < ARRAY_SIZE(p->counter); i++) {
            if (val & BOX_RST_CTRL) {
                p->counter[i].ctl = 0;
            }
            if (val & BOX_RST_CTRS) {
                p->counter[i].ctr = 0;
            }
        }
        p->box_ctl = val & ~(uint64_t)(BOX_RST_CTRL | BOX_RST_CTRS);
        break;
    case 0x1 ... 0x4:
        if (val & CTL_RST) {
            p->counter[reg - 1].ctr = 0;
        }
        p->counter[reg - 1].ctl = val & ~(uint64_t)CTL_RST;
        if (val & CTL_EN && !modelled(val)) {
            hsx_not_modelled("CBox", val);
        }
        break;
    case 0x5: case 0x6:
        p->filter[reg - 5] = val;
        break;
    case 0x7:
        p->status &= ~val;
        break;
    case 0x8 ... 0xb:
        p->counter[reg - 8].ctr = val & MASK_48;
        break;
    }
    update_active(box);
}

static uint64_t box_read(HsxPmon *p, unsigned reg)
{
    count_clock(p);
    switch (reg) {
    case 0x0:
        return p->box_ctl;
    case 0x1 ... 0x4:
        return p->counter[reg - 1].ctl;
    case 0x5: case 0x6:
        return p->filter[reg - 5];
    case 0x7:
        return p->status;
    case 0x8 ... 0xb:
        return p->counter[reg - 8].ctr;
    }
    return 0;
}

/* UBOX, PCU and SBOX: registers that keep what is written; nothing counts. */
static void umisc_write(uint32_t msr, uint64_t val)
{
    HsxBox *box = &hsx.box[hsx_here() * hsx.geo.slices];

    if (msr == MSR_GLOBAL_CTL) {
        hsx_lock_all();
        if (val & (GLOBAL_FRZ_ALL | GLOBAL_UNFRZ_ALL)) {
            for (unsigned i = 0; i < hsx.geo.slices; i++) {
                count_clock(&box[i].pmon);
            }
            frozen_all[hsx_here()] = val & GLOBAL_FRZ_ALL;
            for (unsigned i = 0; i < hsx.geo.slices; i++) {
                update_active(&box[i]);
            }
        }
        hsx_unlock_all();
        return;
    }
    if (msr == MSR_GLOBAL_STATUS || msr == MSR_GLOBAL_CONFIG) {
        return;
    }
    /* event selects of the UBOX, the PCU and the four SBOXes */
    if (val & CTL_EN &&
        ((msr >= 0x705 && msr <= 0x706) || (msr >= 0x711 && msr <= 0x714) ||
         (msr >= 0x720 && msr <= 0x747 && (msr - 0x720) % 10 >= 1 &&
          (msr - 0x720) % 10 <= 4))) {
        hsx_not_modelled(msr < 0x710 ? "UBOX" : msr < 0x720 ? "PCU" : "SBOX", val);
    }
    umisc[hsx_here()][msr - MSR_U_FIRST] = val;
}

/**
 * hsx_cbox_wrmsr: HsxGeneration.wrmsr, where there are CBoxes
 *
 * Returns: true if it is one of the uncore's.
 */
bool hsx_cbox_wrmsr(uint32_t msr, uint64_t val)
{
    unsigned n = (msr - MSR_CBOX) / MSR_CBOX_STEP;

    if (msr >= MSR_CBOX && n < hsx.gen->boxes) {
        if (n < hsx.geo.slices) {
            HsxBox *box = &hsx.box[hsx_here() * hsx.geo.slices + n];

            qemu_spin_lock(box->lock);
            box_write(box, msr % MSR_CBOX_STEP, val);
            qemu_spin_unlock(box->lock);
        }
        return true;
    }
    if (msr >= MSR_U_FIRST && msr <= MSR_U_LAST) {
        umisc_write(msr, val);
        return true;
    }
    return false;
}

/**
 * hsx_cbox_rdmsr: HsxGeneration.rdmsr, likewise
 *
 * Returns: true if it is one of the uncore's.
 */
bool hsx_cbox_rdmsr(uint32_t msr, uint64_t *val)
{
    unsigned n = (msr - MSR_CBOX) / MSR_CBOX_STEP;

    if (msr >= MSR_CBOX && n < hsx.gen->boxes) {
        *val = 0;
        if (n < hsx.geo.slices) {
            HsxBox *box = &hsx.box[hsx_here() * hsx.geo.slices + n];

            qemu_spin_lock(box->lock);
            *val = box_read(&box->pmon, msr % MSR_CBOX_STEP);
            qemu_spin_unlock(box->lock);
        }
        return true;
    }
    if (msr >= MSR_U_FIRST && msr <= MSR_U_LAST) {
        *val = msr == MSR_GLOBAL_CONFIG ? hsx.geo.slices :
               umisc[hsx_here()][msr - MSR_U_FIRST];
        return true;
    }
    return false;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sapphire Rapids: 4th generation Xeon Scalable, family 6, model 143
 *
 * Registers, events and bits of umasks: Intel, "4th Gen Intel Xeon Processor Scalable Family Uncore
 * Performance Monitoring Programming Guide" and, for the bits of TOR_INSERTS, 639778, "3rd Gen ...
 * Uncore Performance Monitoring Reference Manual", as Linux' uncore_discovery.c, uncore_snbep.c
 * (spr_*) and pmu-events/arch/x86/sapphirerapids use them. The caches are the model's own (llc.h):
 * inclusive, which the processor's are not.
 *
 * Discovery
 *
 * The kernel finds the counters by a table in memory. The device 8086:09a7 has a DVSEC (extended
 * capability 0x23) with the ID 1, whose last word says which BAR the table is in: the first. It
 * begins there with the global state, and has 32 bytes for each unit that a die may have. Units
 * that are fused off are zero; so ids have holes:
 *
 *	type	unit		id		control		registers
 *	0	CHA		0 to 25, but	MSR 0x2000	control, status at 1, selects
 *			for 5 and 17	+ 16 id		from 2, counters from 8
 *	6	IMC channel	0 to 3		BAR + 64 KiB	control, counters from 0x08, fixed
 *					+ 16 KiB id	counter 0x38, selects from 0x40,
 *							fixed select 0x54
 *
 * MSR 0x2ffe is the number of CHAs. A control freezes (bit 0), and resets selects (bit 8) and
 * counters (bit 9). A counter counts if its event is not 0; there is no bit to enable it, but for the
 * IMC's fixed one (22).
 *
 * Counted by a CHA, per request (what a request is: HsxRequest):
 *
 *	0x01	CLOCKTICKS, 2.5 GHz of guest time
 *	0x35	TOR_INSERTS. Umask: cores 0x01, devices 0x04. Of the bits from 32 up: hits 0, misses 1,
 *		DRAM 2 (all is), home here 7 or at the other socket 8, opcode 9 or 10 (either has the
 *		opcode of bits 11 to 21), near and other memory 22 and 23 (both)
 *	0x37	LLC_VICTIMS by state: M 0x01, E 0x02, S 0x04; only of requests of devices with 0x10, of
 *		cores with 0x20
 *
 * and by an IMC CLOCKTICKS (0x01, and the fixed counter: 1,066.7 MHz of guest time) and CAS_COUNT
 * (0x05; both pseudo channels: 0xc0; reads 0x01, writes 0x10; others do not occur). All else reads
 * zero, and is named once on stderr and in the ledger: other events, edge detection, threshold and
 * invert, TIDs. The kernel makes free running counters of clocks up by itself
 * (uncore_imc_free_running_*), which read zero.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "hw/pci/pci.h"
#include "hw/qdev-properties.h"
#include "hsx.h"

#define TYPE_SPR_DISCOVERY "hsx-spr-discovery"
OBJECT_DECLARE_SIMPLE_TYPE(SprDiscovery, SPR_DISCOVERY)

#define IMC_COUNTERS    4
#define IMC_CTL         0x00
#define IMC_CTR(i)      (0x08 + 8 * (i))
#define IMC_FIXED_CTR   0x38
#define IMC_SELECT(i)   (0x40 + 4 * (i))
#define IMC_FIXED_SELECT 0x54
#define IMC_REGISTERS   0x58

typedef struct {
    uint8_t reg[IMC_REGISTERS];
    uint64_t reads, writes;     /* counted up to here */
    int64_t clock_ns;
} SprImc;

struct SprDiscovery {
    PCIDevice pci;
    MemoryRegion mmio;
    uint32_t socket;
    SprImc imc[LLC_CHANNELS];
};

#define UNITS           (26 + LLC_CHANNELS)
#define TABLE_STEP      32
#define IMC_FIRST       0x10000
#define IMC_STEP        0x4000
#define BAR_SIZE        0x20000

#define CHA_TYPE        0
#define IMC_TYPE        6
#define ACCESS_MMIO     (1ull << 62)    /* MSRs: 0 */

#define MSR_GLOBAL_CTL  0x2ff0
#define MSR_CHA         0x2000
#define MSR_CHA_STEP    0x10
#define MSR_CHAS        0x2ffe

#define CTL_FRZ         (1u << 0)
#define CTL_RST_SELECTS (1u << 8)
#define CTL_RST_CTRS    (1u << 9)

#define SEL_EVENT(s)    ((s) & 0xff)
#define SEL_UMASK(s)    ((s) >> 8 & 0xff)
#define SEL_EXT(s)      ((s) >> 32)
#define SEL_PLAIN       0xffffffff0000ffffull   /* no edge, invert, threshold, TID */
#define SEL_FIXED_EN    (1u << 22)

#define EV_CHA_CLOCKTICKS 0x01
#define EV_TOR_INSERTS  0x35
#define EV_LLC_VICTIMS  0x37
#define EV_IMC_CLOCKTICKS 0x01
#define EV_CAS_COUNT    0x05

#define TOR_IA          0x01
#define TOR_IO          0x04
#define TOR_HIT         (1u << 0)
#define TOR_MISS        (1u << 1)
#define TOR_DRAM        (1u << 2)
#define TOR_LOCAL       (1u << 7)
#define TOR_REMOTE      (1u << 8)
#define TOR_OPCODE      (3u << 9)
#define TOR_OPCODE_OF(ext) ((ext) >> 11 & 0x7ff)
#define TOR_ANY_MEMORY  (3u << 22)
#define TOR_MODELLED    0xffffffu

#define UCLK_PER_10NS   25

/* What a CHA calls a request; what devices write in part is an ItoMCacheNear. */
static unsigned opcode_of(const HsxRequest *req)
{
    static const uint16_t opcode[HSX_OPCODES] = {
        [HSX_RFO] = 0x100,
        [HSX_DRD] = 0x102,
        [HSX_PCIRDCUR] = 0x11e,
        [HSX_WBMTOI] = 0x184,
        [HSX_ITOM] = 0x188,
    };

    return req->io && req->opcode == HSX_RFO ? 0x1a8 : opcode[req->opcode];
}

/* Ids that a CHA of the die may have, but for those that are fused off */
static bool fused_off(unsigned id)
{
    return id == 5 || id == 17;
}

/* Which CHA of a socket has an id; as many as there are if none has */
static unsigned cha_of(unsigned id)
{
    unsigned n = 0;

    if (fused_off(id)) {
        return hsx.geo.slices;
    }
    for (unsigned i = 0; i < id; i++) {
        n += !fused_off(i);
    }
    return MIN(n, hsx.geo.slices);
}

static bool modelled(uint64_t sel)
{
    uint32_t ext = SEL_EXT(sel);

    if (sel & ~SEL_PLAIN) {
        return false;
    }
    switch (SEL_EVENT(sel)) {
    case EV_CHA_CLOCKTICKS:
        return true;
    case EV_TOR_INSERTS:
        return SEL_UMASK(sel) && !(SEL_UMASK(sel) & ~(TOR_IA | TOR_IO)) &&
               !(ext & ~TOR_MODELLED) && ext & TOR_DRAM &&
               (ext & TOR_ANY_MEMORY) == TOR_ANY_MEMORY;
    case EV_LLC_VICTIMS:
        return SEL_UMASK(sel) & 0x0f && !(SEL_UMASK(sel) & 0xc0) && !ext;
    }
    return false;
}

static unsigned count_tor(unsigned umask, uint32_t ext, unsigned socket,
                          const HsxRequest *req)
{
    bool miss = req->r->before == LLC_I && req->opcode != HSX_WBMTOI;

    return !req->snoop && umask & (req->io ? TOR_IO : TOR_IA) &&
           ext & (miss ? TOR_MISS : TOR_HIT) &&
           ext & (req->home == socket ? TOR_LOCAL : TOR_REMOTE) &&
           (!(ext & TOR_OPCODE) || TOR_OPCODE_OF(ext) == opcode_of(req));
}

static unsigned count_victims(unsigned umask, const HsxRequest *req)
{
    static const uint8_t bit[] = {
        [LLC_M] = 0x01, [LLC_E] = 0x02, [LLC_S] = 0x04,
    };

    return !req->snoop && req->r->victim && umask & bit[req->r->victim_state] &&
           (!(umask & 0x30) || umask & (req->io ? 0x10 : 0x20));
}

/* HsxGeneration.count */
static void spr_count(HsxBox *box, const HsxRequest *req)
{
    HsxPmon *p = &box->pmon;

    for (unsigned i = 0; i < ARRAY_SIZE(p->counter); i++) {
        uint64_t sel = p->counter[i].ctl;
        unsigned n = 0;

        if (!modelled(sel)) {
            continue;
        }
        switch (SEL_EVENT(sel)) {
        case EV_TOR_INSERTS:
            n = count_tor(SEL_UMASK(sel), SEL_EXT(sel), box->slice.socket, req);
            break;
        case EV_LLC_VICTIMS:
            n = count_victims(SEL_UMASK(sel), req);
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

    for (unsigned i = 0; p->active && i < ARRAY_SIZE(p->counter); i++) {
        uint64_t sel = p->counter[i].ctl;

        if (SEL_EVENT(sel) == EV_CHA_CLOCKTICKS && modelled(sel)) {
            hsx_pmon_add(p, i, now * UCLK_PER_10NS / 10 -
                         p->clock_ns * UCLK_PER_10NS / 10);
        }
    }
    p->clock_ns = now;
}

static void cha_write(HsxPmon *p, unsigned reg, uint64_t val)
{
    count_clock(p);
    switch (reg) {
    case 0x0:
        for (unsigned i = 0; i < ARRAY_SIZE(p->counter); i++) {
            if (val & CTL_RST_SELECTS) {
                p->counter[i].ctl = 0;
            }
            if (val & CTL_RST_CTRS) {
                p->counter[i].ctr = 0;
            }
        }
        p->box_ctl = val & ~(uint64_t)(CTL_RST_SELECTS | CTL_RST_CTRS);
        break;
    case 0x1:
        p->status &= ~val;
        break;
    case 0x2 ... 0x5:
        p->counter[reg - 2].ctl = val;
        if (SEL_EVENT(val) && !modelled(val)) {
            hsx_not_modelled("CHA", val);
        }
        break;
    case 0x8 ... 0xb:
        p->counter[reg - 8].ctr = val & ((1ull << 48) - 1);
        break;
    case 0xe:
        p->filter[0] = val;
        break;
    }

    p->active = false;
    for (unsigned i = 0; i < ARRAY_SIZE(p->counter); i++) {
        p->active |= !(p->box_ctl & CTL_FRZ) && SEL_EVENT(p->counter[i].ctl);
    }
}

static uint64_t cha_read(HsxPmon *p, unsigned reg)
{
    count_clock(p);
    switch (reg) {
    case 0x0:
        return p->box_ctl;
    case 0x1:
        return p->status;
    case 0x2 ... 0x5:
        return p->counter[reg - 2].ctl;
    case 0x8 ... 0xb:
        return p->counter[reg - 8].ctr;
    case 0xe:
        return p->filter[0];
    }
    return 0;
}

/* The CHA that an MSR belongs to. Null: none, or not one that is there */
static HsxBox *cha_at(uint32_t msr)
{
    unsigned id = (msr - MSR_CHA) / MSR_CHA_STEP, n;

    if (msr < MSR_CHA || msr >= MSR_GLOBAL_CTL) {
        return NULL;
    }
    n = cha_of(id);
    return n < hsx.geo.slices ? &hsx.box[hsx_here() * hsx.geo.slices + n] : NULL;
}

/* HsxGeneration.wrmsr */
static bool spr_wrmsr(uint32_t msr, uint64_t val)
{
    HsxBox *box = cha_at(msr);

    if (!box) {
        return false;
    }
    qemu_spin_lock(box->lock);
    cha_write(&box->pmon, msr % MSR_CHA_STEP, val);
    qemu_spin_unlock(box->lock);
    return true;
}

/* HsxGeneration.rdmsr */
static bool spr_rdmsr(uint32_t msr, uint64_t *val)
{
    HsxBox *box = cha_at(msr);

    if (msr == MSR_CHAS) {
        *val = hsx.geo.slices;
        return true;
    }
    if (!box) {
        return false;
    }
    qemu_spin_lock(box->lock);
    *val = cha_read(&box->pmon, msr % MSR_CHA_STEP);
    qemu_spin_unlock(box->lock);
    return true;
}

static bool imc_modelled(uint32_t sel)
{
    return !(sel & ~SEL_PLAIN) &&
           (SEL_EVENT(sel) == EV_IMC_CLOCKTICKS ||
            (SEL_EVENT(sel) == EV_CAS_COUNT && (SEL_UMASK(sel) & 0xc0) == 0xc0));
}

static void imc_add(SprImc *m, unsigned reg, uint64_t n)
{
    stq_le_p(m->reg + reg, (ldq_le_p(m->reg + reg) + n) & ((1ull << 48) - 1));
}

/* Bring the counters up to date. Under the big lock, as all accesses to BARs. */
static void imc_count(SprDiscovery *d, unsigned channel)
{
    SprImc *m = &d->imc[channel];
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint64_t ticks = now * 16 / 15 - m->clock_ns * 16 / 15;
    uint64_t reads, writes;

    hsx_channel_lines(d->socket, channel, &reads, &writes);
    if (!(ldl_le_p(m->reg + IMC_CTL) & CTL_FRZ)) {
        for (unsigned i = 0; i < IMC_COUNTERS; i++) {
            uint32_t sel = ldl_le_p(m->reg + IMC_SELECT(i));

            if (!imc_modelled(sel)) {
                continue;
            }
            if (SEL_EVENT(sel) == EV_IMC_CLOCKTICKS) {
                imc_add(m, IMC_CTR(i), ticks);
            } else {
                imc_add(m, IMC_CTR(i),
                        (sel & 0x0100 ? reads - m->reads : 0) +
                        (sel & 0x1000 ? writes - m->writes : 0));
            }
        }
        if (ldl_le_p(m->reg + IMC_FIXED_SELECT) & SEL_FIXED_EN) {
            imc_add(m, IMC_FIXED_CTR, ticks);
        }
    }
    m->reads = reads;
    m->writes = writes;
    m->clock_ns = now;
}

static void imc_written(SprImc *m)
{
    uint32_t ctl = ldl_le_p(m->reg + IMC_CTL);

    for (unsigned i = 0; i < IMC_COUNTERS; i++) {
        uint32_t sel = ldl_le_p(m->reg + IMC_SELECT(i));

        if (SEL_EVENT(sel) && !imc_modelled(sel)) {
            hsx_not_modelled("IMC", sel);
        }
    }
    if (ctl & CTL_RST_SELECTS) {
        memset(m->reg + IMC_SELECT(0), 0, 4 * IMC_COUNTERS);
        stl_le_p(m->reg + IMC_FIXED_SELECT, 0);
    }
    if (ctl & CTL_RST_CTRS) {
        memset(m->reg + IMC_CTR(0), 0, 8 * IMC_COUNTERS);
        stq_le_p(m->reg + IMC_FIXED_CTR, 0);
    }
    stl_le_p(m->reg + IMC_CTL, ctl & ~(CTL_RST_SELECTS | CTL_RST_CTRS));
}

/* A word of the table: of the global state, or of unit @n */
static uint64_t global_word(unsigned word)
{
    switch (word) {
    case 0:     /* the length of an entry in words, and how many units follow */
        return (TABLE_STEP / 8) << 8 | UNITS << 16;
    case 1:
        return MSR_GLOBAL_CTL;
    }
    return 0;
}

static uint64_t unit_word(SprDiscovery *d, unsigned n, unsigned word)
{
    unsigned imc = n - (UNITS - LLC_CHANNELS);

    if (n >= UNITS - LLC_CHANNELS) {
        switch (word) {
        case 0: /* counters; selects and counters from; bits of a counter */
            return IMC_COUNTERS | IMC_SELECT(0) << 8 | 48 << 16 |
                   (uint64_t)IMC_CTR(0) << 24 | ACCESS_MMIO;
        case 1:
            return pci_get_bar_addr(&d->pci, 0) + IMC_FIRST + IMC_STEP * imc;
        case 2:
            return IMC_TYPE | imc << 16;
        }
    } else if (cha_of(n) < hsx.geo.slices) {
        switch (word) {
        case 0:
            return 4 | 2 << 8 | 48 << 16 | 8ull << 24 | 1ull << 32;
        case 1:
            return MSR_CHA + MSR_CHA_STEP * n;
        case 2:
            return CHA_TYPE | n << 16;
        }
    }
    return 0;
}

/* Where in an IMC's registers an access is. False: in none */
static bool imc_at(hwaddr addr, unsigned size, unsigned *channel, unsigned *reg)
{
    if (addr < IMC_FIRST) {
        return false;
    }
    *channel = (addr - IMC_FIRST) / IMC_STEP;
    *reg = (addr - IMC_FIRST) % IMC_STEP;
    return *channel < LLC_CHANNELS && *reg + size <= IMC_REGISTERS;
}

static uint64_t mmio_read(void *opaque, hwaddr addr, unsigned size)
{
    SprDiscovery *d = opaque;
    unsigned channel, reg, word = addr % TABLE_STEP / 8;
    uint64_t val = 0;

    if (imc_at(addr, size, &channel, &reg)) {
        imc_count(d, channel);
        return ldn_le_p(d->imc[channel].reg + reg, size);
    }
    if (addr < TABLE_STEP) {
        val = global_word(word);
    } else if (addr < TABLE_STEP * (1 + UNITS)) {
        val = unit_word(d, addr / TABLE_STEP - 1, word);
    }
    return val >> 8 * (addr % 8);
}

static void mmio_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    SprDiscovery *d = opaque;
    unsigned channel, reg;

    if (imc_at(addr, size, &channel, &reg)) {
        imc_count(d, channel);
        stn_le_p(d->imc[channel].reg + reg, size, val);
        imc_written(&d->imc[channel]);
    }
}

static const MemoryRegionOps mmio_ops = {
    .read = mmio_read,
    .write = mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

static void discovery_realize(PCIDevice *pci, Error **errp)
{
    SprDiscovery *d = SPR_DISCOVERY(pci);

    if (pcie_endpoint_cap_init(pci, 0x80) < 0) {
        error_setg(errp, "no room for the capability of PCI Express");
        return;
    }
    pcie_add_capability(pci, 0x23, 1, PCI_CONFIG_SPACE_SIZE, 0x10);
    pci_set_long(pci->config + PCI_CONFIG_SPACE_SIZE + 0x4,
                 PCI_VENDOR_ID_INTEL | 0x10 << 20);
    pci_set_long(pci->config + PCI_CONFIG_SPACE_SIZE + 0x8, 1);     /* counters */
    pci_set_long(pci->config + PCI_CONFIG_SPACE_SIZE + 0xc, 0);     /* in BAR 0 */

    memory_region_init_io(&d->mmio, OBJECT(d), &mmio_ops, d, "hsx-spr-discovery", BAR_SIZE);
    pci_register_bar(pci, 0, PCI_BASE_ADDRESS_SPACE_MEMORY, &d->mmio);
}

/* HsxGeneration.pci */
static void spr_pci(PCIDevice *ubox, unsigned socket, Error **errp)
{
    PCIDevice *p = hsx_pci_sibling(ubox, 1, 0, TYPE_SPR_DISCOVERY);

    pci_set_long(ubox->config + 0xc0, socket);              /* CPUNODEID */
    pci_set_long(ubox->config + 0xd4, hsx.sockets == 2 ? 1 << 3 : 0); /* GIDNIDMAP */

    qdev_prop_set_uint32(DEVICE(p), "socket", socket);
    pci_realize_and_unref(p, pci_get_bus(ubox), errp);
}

static Property discovery_properties[] = {
    DEFINE_PROP_UINT32("socket", SprDiscovery, socket, 0),
    DEFINE_PROP_END_OF_LIST(),
};

static void discovery_class_init(ObjectClass *klass, void *data)
{
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);
    DeviceClass *dc = DEVICE_CLASS(klass);

    k->vendor_id = PCI_VENDOR_ID_INTEL;
    k->device_id = 0x09a7;
    k->class_id = PCI_CLASS_SYSTEM_OTHER;
    k->realize = discovery_realize;
    device_class_set_props(dc, discovery_properties);
    dc->user_creatable = false;
}

static const TypeInfo spr_types[] = {
    {
        .name = TYPE_SPR_DISCOVERY,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(SprDiscovery),
        .class_init = discovery_class_init,
        .interfaces = (InterfaceInfo[]) { { INTERFACE_PCIE_DEVICE }, { } },
    },
};

DEFINE_TYPES(spr_types)

const HsxGeneration hsx_gen_spr = {
    .name = "spr",
    .boxes = 24,
    .ubox = 0x3250,
    .pci = spr_pci,
    .rdmsr = spr_rdmsr,
    .wrmsr = spr_wrmsr,
    .count = spr_count,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulated uncore on the PCI bus
 *
 * `-device hsx-uncore` is the UBOX (by which Linux maps buses to sockets; node
 * 0, socket 0: CPUNODEID has the node, GIDNIDMAP three bits with the node of each
 * socket) and brings the rest of the machine with it, in the slots after
 * its own:
 *
 *	slot	device
 *	n	UBOX, with the properties of the whole uncore
 *	n+1	PCU; its CAPID4 says that it is a die with the fewest SBOXes
 *	n+2.c	memory controller channel c
 *	n+4	1234:6d69 the ledger (hsx-ledger.c)
 *
 * Their device IDs are those of the generation (gen-*.c), which the property `cpu` names. A
 * generation without CBoxes has devices of its own in slots n+1 to n+3.
 *
 * `-device hsx-socket` is the UBOX of a second socket, and brings the same but for the
 * ledger. It has to be on another root bus, behind a pxb-pcie: on such machines, it
 * is the last, 0xff.
 *
 * Memory controllers count CAS_COUNT (event 0x04; RD_REG 0x01, WR_WMM 0x04;
 * underfill reads 0x02 and writes in read major mode 0x08 do not occur) and
 * clockticks (event 0x00 and the fixed counter, 1,066.7 MHz of guest time). All
 * else reads zero and is named once, as in hsx-pmon.c.
 * Registers are in configuration space: counters 0xa0, fixed counter 0xd0,
 * selects 0xd8, fixed select 0xf0, box control 0xf4. What has passed since the
 * last look is added at each access to them.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "hw/pci/pci.h"
#include "hw/qdev-properties.h"
#include "hsx.h"

#define TYPE_HSX_UNCORE "hsx-uncore"
#define TYPE_HSX_SOCKET "hsx-socket"
#define TYPE_HSX_PCU "hsx-pcu"
#define TYPE_HSX_IMC "hsx-imc"

OBJECT_DECLARE_SIMPLE_TYPE(HsxUncore, HSX_UNCORE)
OBJECT_DECLARE_SIMPLE_TYPE(HsxImc, HSX_IMC)

struct HsxUncore {
    PCIDevice pci;
    uint32_t boxes, ways, ddio_ways;
    uint64_t llc_size, dram_bw;
    bool dram_bw_later;
    bool cpu_cache, cpu_ledger;
    bool pebs_lossy, ht_erratum;
    char *cpu, *ledger, *trace, *pebs;
};

struct HsxImc {
    PCIDevice pci;
    uint32_t socket, channel;
    uint64_t reads, writes;     /* counted up to here */
    int64_t clock_ns;
};

static const HsxGeneration *const generations[] = {
    &hsx_gen_hsx, &hsx_gen_bdx, &hsx_gen_spr,
};

#define MASK_48         ((1ull << 48) - 1)
#define IMC_COUNTERS    4
#define IMC_CTR(i)      (0xa0 + 8 * (i))
#define IMC_FIXED_CTR   0xd0
#define IMC_CTL(i)      (0xd8 + 4 * (i))
#define IMC_FIXED_CTL   0xf0
#define IMC_BOX_CTL     0xf4
#define IMC_FIRST       0xa0
#define IMC_END         0xf8

#define CTL_EN          (1u << 22)
#define BOX_RST_CTRL    (1u << 0)
#define BOX_RST_CTRS    (1u << 1)
#define BOX_FRZ         (1u << 8)

/* What all devices of the uncore are */
static void hsx_class_init(ObjectClass *klass,
                           void (*realize)(PCIDevice *pci, Error **errp))
{
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);

    k->vendor_id = PCI_VENDOR_ID_INTEL;
    k->class_id = PCI_CLASS_SYSTEM_OTHER;
    k->revision = 2;
    k->realize = realize;
}

static void imc_add(HsxImc *d, unsigned reg, uint64_t n)
{
    uint8_t *p = d->pci.config + reg;

    pci_set_quad(p, (pci_get_quad(p) + n) & MASK_48);
}

/* Only events without edge detection, threshold and invert (bits 18, 23-31) */
static bool imc_modelled(uint32_t ctl)
{
    if (ctl & 0xff840000) {
        return false;
    }
    return (ctl & 0xff) == 0x00 || ((ctl & 0xff) == 0x04 && !(ctl & 0xf000));
}

/* Bring the counters up to date. Under the big lock, as all PCI accesses. */
static void imc_count(HsxImc *d)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint64_t ticks = now * 16 / 15 - d->clock_ns * 16 / 15;
    uint64_t reads, writes;

    hsx_channel_lines(d->socket, d->channel, &reads, &writes);
    if (!(pci_get_long(d->pci.config + IMC_BOX_CTL) & BOX_FRZ)) {
        for (unsigned i = 0; i < IMC_COUNTERS; i++) {
            uint32_t ctl = pci_get_long(d->pci.config + IMC_CTL(i));

            if (!(ctl & CTL_EN) || !imc_modelled(ctl)) {
                continue;
            }
            switch (ctl & 0xff) {
            case 0x00:
                imc_add(d, IMC_CTR(i), ticks);
                break;
            case 0x04:
                imc_add(d, IMC_CTR(i),
                        (ctl & 0x100 ? reads - d->reads : 0) +
                        (ctl & 0x400 ? writes - d->writes : 0));
                break;
            }
        }
        if (pci_get_long(d->pci.config + IMC_FIXED_CTL) & CTL_EN) {
            imc_add(d, IMC_FIXED_CTR, ticks);
        }
    }
    d->reads = reads;
    d->writes = writes;
    d->clock_ns = now;
}

static uint32_t imc_read(PCIDevice *pci, uint32_t addr, int len)
{
    if (addr >= IMC_FIRST && addr < IMC_END) {
        imc_count(HSX_IMC(pci));
    }
    return pci_default_read_config(pci, addr, len);
}

static void imc_write(PCIDevice *pci, uint32_t addr, uint32_t val, int len)
{
    uint8_t *c = pci->config;

    if (addr < IMC_FIRST || addr + len > IMC_END) {
        pci_default_write_config(pci, addr, val, len);
        return;
    }

    imc_count(HSX_IMC(pci));
    for (int i = 0; i < len; i++) {
        c[addr + i] = val >> 8 * i;
    }
    for (int i = 0; i < IMC_COUNTERS; i++) {
        uint32_t ctl = pci_get_long(c + IMC_CTL(i));

        if (ctl & CTL_EN && !imc_modelled(ctl)) {
            hsx_not_modelled("IMC", ctl);
        }
    }
    val = pci_get_long(c + IMC_BOX_CTL);
    if (val & BOX_RST_CTRL) {
        memset(c + IMC_CTL(0), 0, 4 * IMC_COUNTERS);
        pci_set_long(c + IMC_FIXED_CTL, 0);
    }
    if (val & BOX_RST_CTRS) {
        memset(c + IMC_CTR(0), 0, 8 * IMC_COUNTERS);
        pci_set_quad(c + IMC_FIXED_CTR, 0);
    }
    pci_set_long(c + IMC_BOX_CTL, val & ~(BOX_RST_CTRL | BOX_RST_CTRS));
}

static void imc_realize(PCIDevice *pci, Error **errp)
{
    pci_config_set_device_id(pci->config, hsx.gen->imc[HSX_IMC(pci)->channel]);
    pci_set_word(pci->config + PCI_STATUS, 0);
}

static Property imc_properties[] = {
    DEFINE_PROP_UINT32("socket", HsxImc, socket, 0),
    DEFINE_PROP_UINT32("channel", HsxImc, channel, 0),
    DEFINE_PROP_END_OF_LIST(),
};

static void imc_class_init(ObjectClass *klass, void *data)
{
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);

    hsx_class_init(klass, imc_realize);
    k->config_read = imc_read;
    k->config_write = imc_write;
    device_class_set_props(DEVICE_CLASS(klass), imc_properties);
    DEVICE_CLASS(klass)->user_creatable = false;
}

static void pcu_realize(PCIDevice *pci, Error **errp)
{
    pci_config_set_device_id(pci->config, hsx.gen->pcu);
    pci_set_word(pci->config + PCI_STATUS, 0);
    /* CAPID4: chop 0 (bits 7:6), a die with two SBOXes, or none */
    pci_set_long(pci->config + 0x94, 0);
}

static void pcu_class_init(ObjectClass *klass, void *data)
{
    hsx_class_init(klass, pcu_realize);
    DEVICE_CLASS(klass)->user_creatable = false;
}

/**
 * hsx_pci_sibling: a new device in a slot behind the UBOX
 */
PCIDevice *hsx_pci_sibling(PCIDevice *ubox, unsigned slot, unsigned fn,
                           const char *type)
{
    unsigned devfn = PCI_DEVFN(PCI_SLOT(ubox->devfn) + slot, fn);

    return pci_new_multifunction(devfn, true, type);
}

/**
 * hsx_cbox_pci: HsxGeneration.pci, where there are CBoxes
 */
void hsx_cbox_pci(PCIDevice *ubox, unsigned socket, Error **errp)
{
    ERRP_GUARD();
    PCIBus *bus = pci_get_bus(ubox);
    PCIDevice *p;

    pci_set_long(ubox->config + 0x40, socket);              /* CPUNODEID */
    pci_set_long(ubox->config + 0x54, hsx.sockets == 2 ? 1 << 3 : 0); /* GIDNIDMAP */

    pci_realize_and_unref(hsx_pci_sibling(ubox, 1, 0, TYPE_HSX_PCU), bus, errp);
    for (unsigned i = 0; i < LLC_CHANNELS && !*errp; i++) {
        p = hsx_pci_sibling(ubox, 2, i, TYPE_HSX_IMC);
        qdev_prop_set_uint32(DEVICE(p), "socket", socket);
        qdev_prop_set_uint32(DEVICE(p), "channel", i);
        pci_realize_and_unref(p, bus, errp);
    }
}

/* A socket's UBOX, and the devices that are with it. */
static void socket_realize(PCIDevice *pci, unsigned socket, Error **errp)
{
    pci_config_set_device_id(pci->config, hsx.gen->ubox);
    pci_set_word(pci->config + PCI_STATUS, 0);
    hsx.gen->pci(pci, socket, errp);
}

static void second_realize(PCIDevice *pci, Error **errp)
{
    if (!hsx.present || hsx.sockets != 2) {
        error_setg(errp, "needs an hsx-uncore before it, and two sockets");
        return;
    }
    socket_realize(pci, 1, errp);
}

static void uncore_realize(PCIDevice *pci, Error **errp)
{
    ERRP_GUARD();
    HsxUncore *d = HSX_UNCORE(pci);
    struct llc_geometry geo = {
        .slices = d->boxes,
        .ways = d->ways,
        .ddio_ways = d->ddio_ways,
    };
    uint64_t row = (uint64_t)d->boxes * d->ways * LLC_LINE_BYTES;

    if (hsx.present) {
        error_setg(errp, "there is one uncore already");
        return;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(generations); i++) {
        if (!strcmp(d->cpu ?: "hsx", generations[i]->name)) {
            hsx.gen = generations[i];
        }
    }
    if (!hsx.gen) {
        error_setg(errp, "cpu: hsx, bdx or spr");
        return;
    }
    if (d->boxes < 1 || d->boxes > hsx.gen->boxes) {
        error_setg(errp, "boxes: 1 to %u", hsx.gen->boxes);
        return;
    }
    if (d->ways < 1 || d->ways > LLC_MAX_WAYS || d->ddio_ways > d->ways) {
        error_setg(errp, "llc-ways: 1 to %d; ddio-ways: 0 to llc-ways",
                   LLC_MAX_WAYS);
        return;
    }
    if (!d->llc_size || d->llc_size % row || d->llc_size / row > UINT32_MAX) {
        error_setg(errp, "llc-size: a multiple of boxes * llc-ways * %u = %"
                   PRIu64, LLC_LINE_BYTES, row);
        return;
    }
    geo.sets = d->llc_size / row;
    if (!d->pebs || !strcmp(d->pebs, "off")) {
        hsx.pebs = PEBS_OFF;
    } else if (!strcmp(d->pebs, "hsw")) {
        hsx.pebs = PEBS_HSW;
    } else if (!strcmp(d->pebs, "skl")) {
        hsx.pebs = PEBS_SKL;
    } else {
        error_setg(errp, "pebs: hsw, skl or off");
        return;
    }
    hsx.pebs_lossy = d->pebs_lossy;
    hsx.ht_erratum = d->ht_erratum;
    if (d->dram_bw > 1ull << 40) {
        error_setg(errp, "dram-bw: at most 1 TiB/s");
        return;
    }
    if (d->dram_bw_later) {
        hsx.dram_bw_later = d->dram_bw;
    } else {
        hsx_dram_start(d->dram_bw);
        hsx.dram_bw = d->dram_bw;
    }
    if (!hsx_llc_start(&geo, d->cpu_cache, d->cpu_ledger, d->trace, errp)) {
        return;
    }
    if (hsx.sockets == 2 && d->dram_bw) {
        error_setg(errp, "dram-bw: only of one socket");
        return;
    }
    hsx.present = true;
    hsx_ledger_start(d->ledger);

    socket_realize(pci, 0, errp);
    if (!*errp) {
        pci_realize_and_unref(hsx_pci_sibling(pci, 4, 0, "hsx-ledger"),
                              pci_get_bus(pci), errp);
    }
}

static Property uncore_properties[] = {
    DEFINE_PROP_STRING("cpu", HsxUncore, cpu),
    DEFINE_PROP_UINT32("boxes", HsxUncore, boxes, 8),
    DEFINE_PROP_SIZE("llc-size", HsxUncore, llc_size, 20 * MiB),
    DEFINE_PROP_UINT32("llc-ways", HsxUncore, ways, 20),
    DEFINE_PROP_UINT32("ddio-ways", HsxUncore, ddio_ways, 2),
    DEFINE_PROP_UINT64("dram-bw", HsxUncore, dram_bw, 0),
    DEFINE_PROP_BOOL("dram-bw-later", HsxUncore, dram_bw_later, false),
    DEFINE_PROP_BOOL("cpu-cache", HsxUncore, cpu_cache, false),
    DEFINE_PROP_BOOL("cpu-ledger", HsxUncore, cpu_ledger, false),
    DEFINE_PROP_STRING("pebs", HsxUncore, pebs),
    DEFINE_PROP_BOOL("pebs-lossy", HsxUncore, pebs_lossy, false),
    DEFINE_PROP_BOOL("ht-erratum", HsxUncore, ht_erratum, false),
    DEFINE_PROP_STRING("ledger", HsxUncore, ledger),
    DEFINE_PROP_STRING("trace", HsxUncore, trace),
    DEFINE_PROP_END_OF_LIST(),
};

/* A UBOX is what the command line names; the others come with it. */
static void ubox_class_init(DeviceClass *dc, const char *desc)
{
    dc->desc = desc;
    dc->hotpluggable = false;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static void uncore_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);

    hsx_class_init(klass, uncore_realize);
    ubox_class_init(dc, "uncore: CBox and IMC counters, LLC, ledger");
    device_class_set_props(dc, uncore_properties);
}

static void second_class_init(ObjectClass *klass, void *data)
{
    hsx_class_init(klass, second_realize);
    ubox_class_init(DEVICE_CLASS(klass), "uncore of the second socket");
}

#define HSX_PCI_TYPE(n, size, init) {                           \
    .name = n,                                                  \
    .parent = TYPE_PCI_DEVICE,                                  \
    .instance_size = size,                                      \
    .class_init = init,                                         \
    .interfaces = (InterfaceInfo[]) {                           \
        { INTERFACE_CONVENTIONAL_PCI_DEVICE }, { }              \
    },                                                          \
}

static const TypeInfo hsx_types[] = {
    HSX_PCI_TYPE(TYPE_HSX_UNCORE, sizeof(HsxUncore), uncore_class_init),
    HSX_PCI_TYPE(TYPE_HSX_SOCKET, sizeof(PCIDevice), second_class_init),
    HSX_PCI_TYPE(TYPE_HSX_PCU, sizeof(PCIDevice), pcu_class_init),
    HSX_PCI_TYPE(TYPE_HSX_IMC, sizeof(HsxImc), imc_class_init),
};

DEFINE_TYPES(hsx_types)

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger of the emulated Haswell-EP: what really happened
 *
 * Everything that devices and CPUs moved, to the line, and who paid for it at
 * the DRAM, as JSON; llc.h has the meaning of each figure. `cbox` is what the
 * counters would have read, had each counted one thing from the start: `tor`
 * by opcode, [all, missed], `tor_io` those of devices.
 *
 * A snapshot (a mark) is taken with all boxes locked and under the big lock, so
 * that no line is between two accounts. The guest asks for one through a PCI
 * device, 1234:6d69, whose BAR 0 has 64-bit registers:
 *
 *	0x00 R	magic: "emiomark"
 *	0x08 W	the guest's CLOCK_MONOTONIC of the mark, ns
 *	0x10 W	one more byte of the mark's name
 *	0x18 W	take the snapshot
 *	0x20 R	length of its text, bytes
 *	0x28 R	the next 8 bytes of the text
 *	0x30 W	the tag, below 32, of the address space that the CPU is in which
 *		writes this; 0 to end it, before another gets the same tables
 *	0x38 RW	1: devices stand still (hsx-hold.c); 0: they go on
 *	0x40 RW	the ceiling of the DRAM's bandwidth, bytes/s; 0: none. Nothing changes if the
 *		machine can't have it
 *
 * With the property dram-bw-later, the first snapshot sets the ceiling, too.
 *
 * At exit all marks and the final account are written to the ledger file.
 *
 * Of two sockets, `cpus` are in the guest's order, and `cbox` has socket 0's boxes
 * first; `nodes` has all accounts once more, apart by the home of the line.
 *
 * `clock_ns` is the virtual clock's, which the guest's clocks are made from.
 *
 * `block` is QEMU's own count of what it moved between each disk and its
 * backing file, made without us: the payload of the disk's DMA.
 *
 * `not_modelled` names the events that the guest counted in vain.
 *
 * What a device moved stays on the books when it is unplugged.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/notify.h"
#include "qemu/timer.h"
#include "sysemu/sysemu.h"
#include "sysemu/block-backend.h"
#include "sysemu/device-clock.h"
#include "hw/pci/pci.h"
#include "hsx.h"

#define MARK_MAGIC 0x6b72616d6f696d65ull
#define MARK_NAME_MAX 256

#define TYPE_HSX_LEDGER "hsx-ledger"
OBJECT_DECLARE_SIMPLE_TYPE(HsxLedger, HSX_LEDGER)

struct HsxLedger {
    PCIDevice pci;
    MemoryRegion mmio;
    uint64_t ns;
    GString *name, *text;
    uint64_t pos;
};

static QTAILQ_HEAD(, DmaMaster) masters = QTAILQ_HEAD_INITIALIZER(masters);
static GString *marks;      /* all so far, separated by commas */

static char *address_of(DeviceState *dev)
{
    PCIDevice *pci = PCI_DEVICE(dev);

    return g_strdup_printf("0000:%02x:%02x.%x", pci_dev_bus_num(pci),
                           PCI_SLOT(pci->devfn), PCI_FUNC(pci->devfn));
}

DmaMaster *dma_master_new(DeviceState *dev)
{
    DmaMaster *m = g_new0(DmaMaster, 1);

    m->dev = dev;
    m->actor = -1;
    m->model = g_strdup(object_get_typename(OBJECT(dev)));
    m->peer = dev->id && g_str_has_prefix(dev->id, "peer");
    QTAILQ_INSERT_TAIL(&masters, m, next);
    return m;
}

/* The device is being unplugged; what it moved stays on the books. */
void dma_master_gone(DmaMaster *m)
{
    m->address = address_of(m->dev);
    m->dev = NULL;
}

/* The accounts of all slices together, or of those of a socket */
typedef struct {
    struct llc_account a[LLC_ACTORS];
    uint64_t dirty[LLC_ACTORS];
    uint64_t dram_read, dram_write;
} Sums;

static void sum_up(Sums *s, unsigned first, unsigned boxes)
{
    memset(s, 0, sizeof(*s));
    for (unsigned i = first; i < first + boxes; i++) {
        const struct llc_slice *slice = &hsx.box[i].slice;
        /* an account is nothing but counters */
        const uint64_t *from = (const uint64_t *)slice->account;
        uint64_t *to = (uint64_t *)s->a;

        for (size_t j = 0; j < sizeof(s->a) / (sizeof(uint64_t)); j++) {
            to[j] += from[j];
        }
        llc_dirty_lines(slice, s->dirty);
        for (unsigned c = 0; c < LLC_CHANNELS; c++) {
            s->dram_read += slice->dram_read[c];
            s->dram_write += slice->dram_write[c];
        }
    }
}

static void put(GString *j, const char *key, uint64_t val)
{
    g_string_append_printf(j, "%s\"%s\": %" PRIu64,
                           j->str[j->len - 1] == '{' ? "" : ", ", key, val);
}

static void add_account(struct llc_account *to, const struct llc_account *a)
{
    to->read_miss += a->read_miss;
    to->write_miss += a->write_miss;
    to->made_dirty += a->made_dirty;
    to->wb_first += a->wb_first;
    to->wb_last += a->wb_last;
    to->wb_evictor += a->wb_evictor;
}

static void put_write_backs(GString *j, const struct llc_account *a,
                            uint64_t dirty)
{
    put(j, "made_dirty", a->made_dirty);
    put(j, "wb_first", a->wb_first);
    put(j, "wb_last", a->wb_last);
    put(j, "wb_evictor", a->wb_evictor);
    put(j, "dirty_lines", dirty);
}

static void put_bytes(GString *j, const char *way,
                      const uint64_t bytes[DMA_PATHS])
{
    static const char *path[] = {
        [DMA_COPIED] = "copied", [DMA_MAPPED] = "mapped", [DMA_RING] = "ring",
    };
    uint64_t all = 0;

    for (unsigned p = 0; p < DMA_PATHS; p++) {
        g_autofree char *key = g_strdup_printf("%s_%s_bytes", way, path[p]);

        put(j, key, bytes[p]);
        all += bytes[p];
    }
    g_string_append_printf(j, ", \"%s_bytes\": %" PRIu64, way, all);
}

/* What a device has done to lines */
static void put_dma(GString *j, const DmaMaster *m, const Sums *s)
{
    const struct llc_account *a = &s->a[m->actor];

    put(j, "to_lines", a->to_lines);
    put(j, "to_miss", a->to_miss);
    put(j, "from_lines", a->from_lines);
    put(j, "from_miss", a->from_miss);
    put(j, "from_clean_hit", a->from_clean_hit);
    put(j, "from_owned_hit", a->from_owned_hit);
    put(j, "partial_lines", a->partial_lines);
    put(j, "partial_miss", a->partial_miss);
    put(j, "fill_lines", a->fill_lines);
    put_write_backs(j, a, s->dirty[m->actor]);
    g_string_append_c(j, '}');
}

static void put_device(GString *j, const DmaMaster *m, const Sums *s)
{
    g_autofree char *address = m->dev ? address_of(m->dev) :
                                        g_strdup(m->address);

    g_string_append_printf(j, "\n  \"%s\": {\"model\": \"%s\"", address,
                           m->model);
    if (m->peer) {
        g_string_append(j, ", \"role\": \"peer\"");
    }
    put(j, "actor", m->actor);
    put(j, "to_ops", m->to_ops);
    put_bytes(j, "to", m->to_bytes);
    put(j, "from_ops", m->from_ops);
    put_bytes(j, "from", m->from_bytes);
    put_dma(j, m, s);
}

/* Accesses of a kind, a load or a store: a read-modify-write is both */
static uint64_t accesses(const HsxWork *w, unsigned kind, enum core_level level)
{
    return w->access[kind][level] + w->access[CPU_ACCESS_RMW][level];
}

static uint64_t all_accesses(const HsxWork *w, unsigned kind)
{
    uint64_t n = 0;

    for (unsigned l = 0; l < CORE_LEVELS; l++) {
        n += accesses(w, kind, l);
    }
    return n;
}

static void put_work(GString *j, const char *mode, const HsxWork *w)
{
    static const char *found[CORE_LEVELS] = {
        [CORE_L1] = "load_l1_hit",
        [CORE_L2] = "load_l2_hit",
        [CORE_L3] = "load_l3_hit",
        [CORE_L3_OTHER] = "load_l3_other",
        [CORE_REMOTE_CACHE] = "load_remote_cache",
        [CORE_REMOTE_OTHER] = "load_remote_other",
        [CORE_REMOTE_DRAM] = "load_remote_dram",
    };
    uint64_t locked = 0, missed = 0;

    for (unsigned l = 0; l < CORE_LEVELS; l++) {
        locked += w->access[CPU_ACCESS_RMW][l];
    }
    g_string_append_printf(j, "%s\"%s\": {",
                           j->str[j->len - 1] == '{' ? "" : ", ", mode);
    if (hsx.cpu_cache) {
        put(j, "loads", all_accesses(w, CPU_ACCESS_LOAD));
        put(j, "stores", all_accesses(w, CPU_ACCESS_STORE));
        put(j, "locked_loads", locked);
        put(j, "split_loads",
            w->split[CPU_ACCESS_LOAD] + w->split[CPU_ACCESS_RMW]);
        put(j, "split_stores",
            w->split[CPU_ACCESS_STORE] + w->split[CPU_ACCESS_RMW]);
        for (unsigned l = 0; l < CORE_LEVELS; l++) {
            uint64_t n = accesses(w, CPU_ACCESS_LOAD, l);

            missed += core_missed_l3(l) ? n : 0;
            if (found[l] && (l < CORE_DRAM || hsx.sockets == 2)) {
                put(j, found[l], n);
            }
        }
        put(j, "load_l3_miss", missed);
        put(j, "l3_reference", w->reference);
        put(j, "l3_miss", w->miss);
        put(j, "made_dirty", w->made_dirty);
    }
    if (hsx.cpu_ledger) {
        put(j, "instructions", w->instructions);
        put(j, "cycles", w->cycles);
        put(j, "branches", w->branches);
        put(j, "mispredicted", w->mispredicted);
    }
    g_string_append_c(j, '}');
}

static void put_modes(GString *j, const HsxWork w[CORE_MODES])
{
    put_work(j, "kernel", &w[CORE_KERNEL]);
    put_work(j, "user", &w[CORE_USER]);
}

/* What all cores have done, by the tag of the address space */
static void put_tags(GString *j)
{
    const char *sep = "";

    g_string_append(j, ",\n \"tags\": {");
    for (unsigned tag = 1; tag < hsx.tags; tag++) {
        HsxWork w[CORE_MODES] = { }, none[CORE_MODES] = { };

        for (unsigned i = 0; i < hsx.cores; i++) {
            for (unsigned m = 0; m < CORE_MODES; m++) {
                hsx_core_work(i, tag, m, &w[m]);
            }
        }
        if (memcmp(w, none, sizeof(w))) {
            g_string_append_printf(j, "%s\n  \"%u\": {", sep, tag);
            put_modes(j, w);
            g_string_append_c(j, '}');
            sep = ",";
        }
    }
    g_string_append_c(j, '}');
}

static void put_cpus(GString *j, const Sums *s)
{
    struct llc_account all = { };
    uint64_t loads = 0, stores = 0, dirty = 0, untracked = 0;
    GString *each = g_string_new("");

    for (unsigned n = 0; n < hsx.cores; n++) {
        const unsigned i = hsx_index_of(n);
        const HsxCore *c = &hsx.core[i];
        const struct llc_account *a = &s->a[i];
        HsxWork w[CORE_MODES] = { };
        uint64_t l, st;

        for (unsigned tag = 0; tag < hsx.tags; tag++) {
            for (unsigned m = 0; m < CORE_MODES; m++) {
                hsx_core_work(i, tag, m, &w[m]);
            }
        }
        l = all_accesses(&w[CORE_KERNEL], CPU_ACCESS_LOAD) +
            all_accesses(&w[CORE_USER], CPU_ACCESS_LOAD);
        st = all_accesses(&w[CORE_KERNEL], CPU_ACCESS_STORE) +
             all_accesses(&w[CORE_USER], CPU_ACCESS_STORE);
        loads += l;
        stores += st;
        untracked += c->untracked;
        dirty += s->dirty[i];
        add_account(&all, a);

        g_string_append_printf(each, "%s\n  {", n ? "," : "");
        if (hsx.sockets == 2) {
            put(each, "socket", hsx_socket_of(i));
            put(each, "actor", i);
        }
        put(each, "loads", l);
        put(each, "stores", st);
        put(each, "l1_miss", c->l1_miss);
        put(each, "l2_miss", c->l2_miss);
        put(each, "read_miss", a->read_miss);
        put(each, "write_miss", a->write_miss);
        put_write_backs(each, a, s->dirty[i]);
        put(each, "dram_wait_ns", qatomic_read(&c->dram_wait_ns));
        put(each, "pebs_records", c->pebs_records);
        put(each, "pebs_full", c->pebs_full);
        put(each, "pebs_unmapped", c->pebs_unmapped);
        put_modes(each, w);
        g_string_append_c(each, '}');
    }

    g_string_append(j, ",\n \"cpu\": {");
    put(j, "loads", loads);
    put(j, "stores", stores);
    put(j, "untracked", untracked);
    put(j, "read_miss", all.read_miss);
    put(j, "write_miss", all.write_miss);
    put_write_backs(j, &all, dirty);
    g_string_append_printf(j, "},\n \"cpus\": [%s]", each->str);
    g_string_free(each, true);
}

static void put_tor(GString *j, const char *key, uint64_t tor[HSX_OPCODES][2],
                    uint64_t more[HSX_OPCODES][2])
{
    g_string_append_printf(j, "\"%s\": {", key);
    for (unsigned o = 0; o < HSX_OPCODES; o++) {
        g_string_append_printf(j, "%s\"%x\": [%" PRIu64 ", %" PRIu64 "]",
                               o ? ", " : "", hsx_opcode[o],
                               tor[o][0] + (more ? more[o][0] : 0),
                               tor[o][1] + (more ? more[o][1] : 0));
    }
    g_string_append_c(j, '}');
}

/* The PCI device that a disk's controller is, or NULL. */
static DeviceState *pci_of(DeviceState *dev)
{
    while (dev && !object_dynamic_cast(OBJECT(dev), TYPE_PCI_DEVICE)) {
        dev = dev->parent_bus ? dev->parent_bus->parent : NULL;
    }
    return dev;
}

static void put_block(GString *j)
{
    const char *sep = "";

    g_string_append(j, ",\n \"block\": {");
    for (BlockBackend *blk = blk_all_next(NULL); blk; blk = blk_all_next(blk)) {
        DeviceState *dev = pci_of(blk_get_attached_dev(blk));
        const BlockAcctStats *stats = blk_get_stats(blk);

        if (dev) {
            g_autofree char *address = address_of(dev);

            g_string_append_printf(j, "%s\n  \"%s\": {", sep, address);
            put(j, "read_bytes", stats->nr_bytes[BLOCK_ACCT_READ]);
            put(j, "write_bytes", stats->nr_bytes[BLOCK_ACCT_WRITE]);
            g_string_append_c(j, '}');
            sep = ",";
        }
    }
    g_string_append_c(j, '}');
}

/* The accounts by the home of the lines. @s is overwritten. */
static void put_nodes(GString *j, Sums *s)
{
    DmaMaster *m;

    g_string_append(j, ",\n \"nodes\": [");
    for (unsigned node = 0; node < hsx.sockets; node++) {
        struct llc_account all = { };
        uint64_t dirty = 0;
        const char *sep = "";

        sum_up(s, node * hsx.geo.slices, hsx.geo.slices);
        g_string_append_printf(j, "%s{\"devices\": {", node ? ",\n  " : "\n  ");
        QTAILQ_FOREACH(m, &masters, next) {
            g_autofree char *address = m->dev ? address_of(m->dev) :
                                                g_strdup(m->address);

            if (m->actor < 0) {
                continue;
            }
            g_string_append_printf(j, "%s\n   \"%s\": {", sep, address);
            put_dma(j, m, s);
            sep = ",";
        }
        g_string_append(j, "},\n   \"cpus\": [");
        for (unsigned n = 0; n < hsx.cores; n++) {
            const unsigned i = hsx_index_of(n);
            const struct llc_account *a = &s->a[i];

            g_string_append_printf(j, "%s\n    {", n ? "," : "");
            put(j, "read_miss", a->read_miss);
            put(j, "write_miss", a->write_miss);
            put_write_backs(j, a, s->dirty[i]);
            g_string_append_c(j, '}');
            add_account(&all, a);
            dirty += s->dirty[i];
        }
        g_string_append(j, "],\n   \"cpu\": {");
        put(j, "read_miss", all.read_miss);
        put(j, "write_miss", all.write_miss);
        put_write_backs(j, &all, dirty);
        g_string_append(j, "},\n   \"dram\": {");
        put(j, "read_lines", s->dram_read);
        put(j, "write_lines", s->dram_write);
        g_string_append(j, "}}");
    }
    g_string_append_c(j, ']');
}

/* All accounts, without the enclosing braces. Under the big lock. */
static void put_accounts(GString *j)
{
    Sums *s = g_new(Sums, 1);
    const char *sep = "";
    DmaMaster *m;

    hsx_lock_all();
    sum_up(s, 0, hsx.boxes);
    g_string_append_printf(j, "\"line_bytes\": %u,\n \"clock_ns\": %" PRId64
                           ",\n \"devices\": {", LLC_LINE_BYTES,
                           qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    QTAILQ_FOREACH(m, &masters, next) {
        if (m->actor >= 0) {
            g_string_append(j, sep);
            put_device(j, m, s);
            sep = ",";
        }
    }
    g_string_append(j, "}");
    put_cpus(j, s);
    put_tags(j);
    g_string_append(j, ",\n \"dram\": {");
    put(j, "read_lines", s->dram_read);
    put(j, "write_lines", s->dram_write);
    put(j, "bytes_per_s", hsx.dram_bw);
    g_string_append(j, "},\n \"cbox\": [");
    for (unsigned i = 0; i < hsx.boxes; i++) {
        HsxBox *b = &hsx.box[i];

        g_string_append_printf(j, "%s\n  {", i ? "," : "");
        put_tor(j, "tor", b->tor[false], b->tor[true]);
        g_string_append(j, ", ");
        put_tor(j, "tor_io", b->tor[true], NULL);
        if (hsx.sockets == 2) {
            g_string_append(j, ", ");
            put_tor(j, "tor_remote", b->tor_remote, NULL);
            g_string_append_printf(j, ", \"snoops\": {\"i\": %" PRIu64
                                   ", \"s\": %" PRIu64 ", \"e\": %" PRIu64
                                   ", \"m\": %" PRIu64 "}",
                                   b->snoops[LLC_I], b->snoops[LLC_S],
                                   b->snoops[LLC_E], b->snoops[LLC_M]);
        }
        put(j, "victims_m", b->victims[LLC_M]);
        put(j, "victims_e", b->victims[LLC_E]);
        put(j, "victims_s", b->victims[LLC_S]);
        g_string_append_c(j, '}');
    }
    g_string_append(j, "]");
    if (hsx.sockets == 2) {
        put_nodes(j, s);
    }
    hsx_unlock_all();
    put_block(j);
    g_string_append(j, ",\n \"not_modelled\": ");
    hsx_put_not_modelled(j);
    g_free(s);
}

static void put_string(GString *j, const char *s)
{
    g_string_append_c(j, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') {
            g_string_append_printf(j, "\\%c", *s);
        } else if ((unsigned char)*s < ' ') {
            g_string_append_printf(j, "\\u%04x", *s);
        } else {
            g_string_append_c(j, *s);
        }
    }
    g_string_append_c(j, '"');
}

static void take_mark(HsxLedger *d)
{
    if (hsx.dram_bw_later) {
        hsx_dram_set(hsx.dram_bw_later);
        hsx.dram_bw_later = 0;
    }
    g_string_assign(d->text, "{\"name\": ");
    put_string(d->text, d->name->str);
    g_string_append_printf(d->text, ", \"ns\": %" PRIu64 ",\n ", d->ns);
    put_accounts(d->text);
    g_string_append(d->text, "}\n");
    d->pos = 0;

    if (hsx.ledger_path) {
        g_string_append(marks, marks->len ? ",\n" : "");
        g_string_append_len(marks, d->text->str, d->text->len - 1);
    }
    g_string_truncate(d->name, 0);
}

static uint64_t ledger_read(void *opaque, hwaddr addr, unsigned size)
{
    HsxLedger *d = opaque;
    uint64_t val = 0;

    switch (addr) {
    case 0x00:
        return MARK_MAGIC;
    case 0x20:
        return d->text->len;
    case 0x38:
        return device_clock_held();
    case 0x40:
        return hsx.dram_bw;
    case 0x28:
        for (unsigned i = 0; i < 8 && d->pos < d->text->len; i++) {
            val |= (uint64_t)(uint8_t)d->text->str[d->pos++] << 8 * i;
        }
        return val;
    }
    return 0;
}

static void ledger_write(void *opaque, hwaddr addr, uint64_t val,
                         unsigned size)
{
    HsxLedger *d = opaque;

    switch (addr) {
    case 0x08:
        d->ns = val;
        break;
    case 0x10:
        if (d->name->len < MARK_NAME_MAX) {
            g_string_append_c(d->name, val);
        }
        break;
    case 0x18:
        take_mark(d);
        break;
    case 0x30:
        hsx_core_set_tag(current_cpu, val);
        break;
    case 0x38:
        hsx_hold(val);
        break;
    case 0x40:
        hsx_dram_set(val);
        break;
    }
}

static const MemoryRegionOps ledger_ops = {
    .read = ledger_read,
    .write = ledger_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 8, .max_access_size = 8 },
    .impl = { .min_access_size = 8, .max_access_size = 8 },
};

static void ledger_exit(Notifier *n, void *data)
{
    GString *j = g_string_new("{");
    g_autoptr(GError) err = NULL;

    hsx_lock_all();
    hsx_trace_finish();
    hsx_unlock_all();
    if (hsx.ledger_path) {
        put_accounts(j);
        g_string_append_printf(j, ",\n \"marks\": [%s]}\n", marks->str);
        if (!g_file_set_contents(hsx.ledger_path, j->str, j->len, &err)) {
            error_report("hsx: %s", err->message);
        }
    }
    g_string_free(j, true);
}

static Notifier exit_notifier = { .notify = ledger_exit };

void hsx_ledger_start(const char *path)
{
    hsx.ledger_path = g_strdup(path);
    marks = g_string_new("");
    qemu_add_exit_notifier(&exit_notifier);
}

static void ledger_realize(PCIDevice *pci, Error **errp)
{
    HsxLedger *d = HSX_LEDGER(pci);

    d->name = g_string_new("");
    d->text = g_string_new("");
    memory_region_init_io(&d->mmio, OBJECT(d), &ledger_ops, d, "hsx-ledger",
                          4096);
    pci_register_bar(pci, 0, PCI_BASE_ADDRESS_SPACE_MEMORY, &d->mmio);
}

static void ledger_class_init(ObjectClass *klass, void *data)
{
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);

    k->vendor_id = 0x1234;
    k->device_id = 0x6d69;
    k->class_id = PCI_CLASS_OTHERS;
    k->realize = ledger_realize;
    DEVICE_CLASS(klass)->user_creatable = false;
}

static const TypeInfo ledger_types[] = {
    {
        .name = TYPE_HSX_LEDGER,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(HsxLedger),
        .class_init = ledger_class_init,
        .interfaces = (InterfaceInfo[]) {
            { INTERFACE_CONVENTIONAL_PCI_DEVICE }, { }
        },
    },
};

DEFINE_TYPES(ledger_types)

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A functional uncore of a Xeon for q35: what its parts share
 *
 *	llc.c		the caches, as a pure library
 *	corepmu.c	a core's counters, as a pure library
 *	pebs.c		their samples, as a pure library
 *	branch.c	its branch predictor, as a pure library
 *	dram.c		a DRAM with a ceiling of bandwidth, as a pure library
 *	hsx-llc.c	their locks; DMA and CPU accesses come in here
 *	hsx-cpu.c	from a guest load or store to a line
 *	hsx-core.c	the cores' counters, their MSRs and their interrupt
 *	hsx-dram.c	CPUs that wait for the DRAM
 *	hsx-hold.c	devices that stand still
 *	gen-*.c		what makes a generation of processors: Haswell-EP, Broadwell-EP,
 *			Sapphire Rapids (with its counters)
 *	hsx-pmon.c	the CBox counters of the former two, and their MSRs
 *	hsx-pci.c	the uncore on the PCI bus; UBOX, PCU and memory controllers of the
 *			former two in configuration space
 *	hsx-ledger.c	the exact account, and the guest's door to it
 *
 * Locks. Each box has a lock for its slice, counters and trace; nobody holds
 * two of them, but for a snapshot, which takes all in order. Of two sockets, the two
 * boxes that hold the same lines have one lock together, as an access to either may
 * change both. A core's private
 * caches belong to its vCPU thread alone. Whoever takes a copy away from
 * another core puts a message into that core's mailbox, holding the box of the
 * line; the core reads its mail before each access, and once more when it
 * holds the box, before it fills. As a message about a line is only written
 * and a fill of it only done under the line's box, a core never uses a copy
 * that was taken away before its access, nor loses one that came after. The
 * mailbox has a lock of its own, taken last.
 *
 * Siblings: where a core has two threads, two vCPU threads have its caches and its
 * mailbox together. With the caches' lock, taken behind a box's, each look-up, each
 * fill and the reading of mail is one step; between two steps the sibling may do
 * anything. So who has got the box looks once more what is there. The line is
 * then nobody else's to bring or to make writable; but the sibling may have
 * pushed it out and be on the way to that very box to write it back. The LLC must
 * not be asked for a line by its owner, so that is waited for, with nothing
 * held (`leaving`). The commonest hit needs no lock: it changes nothing, and an entry is
 * one word, which is there or not. Nothing of this is done for a core of one
 * thread, whose caches are its own.
 *
 * The counters are each thread's own, too. What the erratum lets go astray is left
 * at the sibling's door, `astray`, for those counters that it says are `open`; it
 * takes it in before it looks at its counters or changes them.
 */
#ifndef HW_HSX_H
#define HW_HSX_H

#include "qemu/seqlock.h"
#include "qemu/thread.h"
#include "hw/core/cpu.h"
#include "exec/mem-observer.h"
#include "branch.h"
#include "corepmu.h"
#include "dram.h"
#include "llc.h"

#define HSX_TRACE_RECORDS 4096

/* Requests that the CBoxes tell apart, by IDI opcode */
typedef enum {
    HSX_RFO,            /* 0x180: a store by a core; a partial write by a device */
    HSX_DRD,            /* 0x182: a load by a core */
    HSX_PCIRDCUR,       /* 0x19e: a read by a device */
    HSX_WBMTOI,         /* 0x1c4: a core writes back a line */
    HSX_ITOM,           /* 0x1c8: a full line written by a device */
    HSX_OPCODES
} HsxOpcode;

extern const uint16_t hsx_opcode[HSX_OPCODES];

#define HSX_TID_IO 0x3e

/* One access as a box's counters see it */
typedef struct {
    HsxOpcode opcode;
    bool io;            /* by a device */
    uint8_t tid;
    bool write;         /* the LLC looks it up as a write */
    bool snoop;         /* no request: the other socket's LLC asks */
    uint8_t home, victim_home;  /* sockets */
    const struct llc_result *r;
} HsxRequest;

typedef struct {
    uint64_t ctl, ctr;
} HsxCounter;

typedef struct {
    uint64_t box_ctl, filter[2], status;
    HsxCounter counter[4];
    bool active;        /* a counter is enabled and the box not frozen */
    int64_t clock_ns;   /* clockticks are counted up to here */
} HsxPmon;

typedef struct HsxBox {
    QemuSpin *lock;                     /* socket 0's box has it */
    QemuSpin own_lock;
    struct llc_slice slice;
    HsxPmon pmon;
    /* What the counters would have seen, had they counted from the start */
    uint64_t tor[2][HSX_OPCODES][2];    /* [by a device][opcode][missed] */
    uint64_t tor_remote[HSX_OPCODES][2];    /* of tor: the home is the other's */
    uint64_t victims[LLC_M + 1];
    uint64_t snoops[LLC_M + 1];         /* by the other socket */
    unsigned trace_records;
    uint64_t *trace;
} HsxBox;

/* The private caches of a core */
typedef struct {
    struct priv_cache priv;
    bool mail;                          /* there is some; read without the lock */
    QemuSpin mail_lock;
    unsigned mails, mail_room;
    uint64_t *mailbox;                  /* line << 1 | downgrade only */
    /* Of two threads only */
    QemuSpin lock;                      /* of priv */
    uint64_t leaving[2];                /* a line + 1 that a thread writes back */
} QEMU_ALIGNED(64) HsxCaches;

/* What a CPU has done in one mode, for the ledger. Nothing but counters */
typedef struct {
    uint64_t access[CPU_ACCESS_RMW + 1][CORE_LEVELS];   /* [CPU_ACCESS_...] */
    uint64_t split[CPU_ACCESS_RMW + 1];
    uint64_t reference, miss;           /* of the LLC, lines */
    uint64_t made_dirty;                /* lines, clean to dirty */
    /* with cpu-ledger, or while counters count them */
    uint64_t instructions, cycles, branches, mispredicted;
} HsxWork;

/* Address spaces that a program in the guest has given a number; 0: none has */
#define HSX_TAGS 32
#define HSX_TAGGED 64

/* A CPU: a core, or one of its two threads */
typedef struct HsxCore {
    struct core_pmu pmu;
    /* What of env->retire has been counted */
    int64_t retire_from[CORE_MODES];
    uint64_t retire_again[CORE_MODES];
    uint64_t cycles[CORE_MODES];        /* counted so far */
    QemuSeqLock retire_lock;            /* for others that read these */
    struct branch_unit branch;
    uint64_t branch_cycles;             /* up to the last one */
    enum core_mode branch_mode;
    /* Samples: written, without room, without a mapping */
    uint64_t pebs_records, pebs_full, pebs_unmapped;

    HsxBox *box;                        /* the first one of its socket */
    HsxCaches *caches;
    HsxWork *now;                       /* of the tag of its address space */
    HsxWork work[HSX_TAGS][CORE_MODES];
    uint64_t l1_miss, l2_miss;
    uint64_t untracked;                 /* not found in the TLB afterwards */
    uint64_t dram_wait_ns;

    /* With the erratum of threads; for the sibling's thread, and from it */
    unsigned open;                      /* general counters, a set */
    uint64_t astray[CORE_THREAD_GENERAL];
} QEMU_ALIGNED(64) HsxCore;

/*
 * A generation of processors. All else asks it, and knows none by name. The processor itself (CPUID)
 * is the command line's.
 */
typedef struct HsxGeneration {
    const char *name;
    unsigned boxes;                     /* of a socket, at most */
    uint16_t ubox, pcu, imc[LLC_CHANNELS];  /* PCI device IDs; the latter are hsx_cbox_pci()'s */
    /*
     * A socket comes: which socket the UBOX says that it is of, and the devices that are with
     * it, in slots 1 to 3 behind its own. Registers in memory are theirs.
     */
    void (*pci)(PCIDevice *ubox, unsigned socket, Error **errp);
    /* An MSR that the CPU itself does not have. True: it is the uncore's */
    bool (*rdmsr)(uint32_t msr, uint64_t *val);
    bool (*wrmsr)(uint32_t msr, uint64_t val);
    /* A request passes through a box whose counters are active; its lock is held */
    void (*count)(HsxBox *box, const HsxRequest *req);
} HsxGeneration;

extern const HsxGeneration hsx_gen_hsx, hsx_gen_bdx, hsx_gen_spr;

typedef struct {
    bool present;
    const HsxGeneration *gen;
    struct llc_geometry geo;
    unsigned sockets;                   /* devices are all on socket 0 */
    unsigned socket_cpus;               /* that each may have */
    unsigned boxes;                     /* of all sockets, one after the other */
    bool cpu_cache, cpu_ledger;
    bool ht_erratum;
    enum pebs_format pebs;
    bool pebs_lossy;
    uint64_t dram_bw;                   /* bytes/s; 0: no ceiling */
    uint64_t dram_bw_later;             /* the ceiling from the first mark on */
    struct dram dram;
    HsxBox *box;
    HsxCore *core;                      /* of each CPU that there may be */
    HsxCaches *caches;                  /* of each core */
    unsigned cores;                     /* of them in the ledger */
    unsigned tags;                      /* the largest used so far + 1 */
    unsigned actors;                    /* LLC_MAX_CORES + devices so far */
    /* RAM's place in the guest's physical address space */
    ram_addr_t ram_start, ram_below_4g, ram_end;
    hwaddr above_4g;
    char *ledger_path;
    FILE *trace_file;
    QemuMutex trace_lock;
} Hsx;

extern Hsx hsx;

/* The socket of a CPU, by its index in QEMU: they are numbered socket by socket */
static inline unsigned hsx_socket_of(unsigned index)
{
    return index / hsx.socket_cpus;
}

/*
 * The index in QEMU of the guest's n-th CPU. Of two sockets the MADT names cores in
 * turn, as the firmware of many such machines does.
 */
static inline unsigned hsx_index_of(unsigned n)
{
    unsigned core = n >> hsx.geo.thread_bits;
    unsigned thread = n - (core << hsx.geo.thread_bits);

    return (core % hsx.sockets) * hsx.socket_cpus +
           (core / hsx.sockets << hsx.geo.thread_bits) + thread;
}

bool hsx_llc_start(const struct llc_geometry *geo, bool cpu_cache,
                   bool cpu_ledger, const char *trace, Error **errp);
void hsx_lock_all(void);
void hsx_unlock_all(void);
void hsx_trace_finish(void);

/* What a CPU's access to a line came to */
typedef struct {
    enum core_level level;  /* where it was */
    bool upgrade;           /* the core had it, and asked the LLC to write it */
    bool made_dirty;        /* it was clean */
} HsxLine;

HsxLine hsx_cpu_line(HsxCore *core, unsigned index, uint64_t line, bool store);

/* The line of a byte of RAM. False: not system memory (a ROM, a frame buffer) */
static inline bool hsx_line(ram_addr_t addr, uint64_t *line)
{
    hwaddr a = addr - hsx.ram_start;

    if (addr < hsx.ram_start || addr >= hsx.ram_end) {
        return false;
    }
    if (a >= hsx.ram_below_4g) {
        a = a - hsx.ram_below_4g + hsx.above_4g;
    }
    *line = a >> LLC_LINE_SHIFT;
    return true;
}

bool hsx_dram_start(uint64_t bytes_per_s);
void hsx_dram_set(uint64_t bytes_per_s);
void hsx_dram_cpu(HsxCore *core, unsigned lines);
void hsx_dram_device(unsigned lines);

void hsx_hold(bool hold);

/* The socket whose registers a vCPU reaches: its own */
static inline unsigned hsx_here(void)
{
    return current_cpu ? hsx_socket_of(current_cpu->cpu_index) : 0;
}

/* A counter of 48 bits, as all of the uncore's are, counts. */
static inline void hsx_pmon_add(HsxPmon *p, unsigned i, uint64_t n)
{
    HsxCounter *c = &p->counter[i];

    c->ctr += n;
    if (c->ctr >> 48) {
        c->ctr &= (1ull << 48) - 1;
        p->status |= 1u << i;
    }
}

PCIDevice *hsx_pci_sibling(PCIDevice *ubox, unsigned slot, unsigned fn,
                           const char *type);
void hsx_channel_lines(unsigned socket, unsigned channel, uint64_t *reads,
                       uint64_t *writes);
void hsx_cbox_pci(PCIDevice *ubox, unsigned socket, Error **errp);
void hsx_cbox_count(HsxBox *box, const HsxRequest *req);
bool hsx_cbox_rdmsr(uint32_t msr, uint64_t *val);
bool hsx_cbox_wrmsr(uint32_t msr, uint64_t val);
void hsx_not_modelled(const char *what, uint64_t ctl);
void hsx_put_not_modelled(GString *j);

/**
 * hsx_rdmsr: a vCPU reads an MSR that the CPU itself does not have
 *
 * Returns: true if it is one of the uncore's.
 */
static inline bool hsx_rdmsr(uint32_t msr, uint64_t *val)
{
    return hsx.present && hsx.gen->rdmsr(msr, val);
}

/**
 * hsx_wrmsr: a vCPU writes an MSR that the CPU itself does not have
 *
 * Returns: true if it is one of the uncore's.
 */
static inline bool hsx_wrmsr(uint32_t msr, uint64_t val)
{
    return hsx.present && hsx.gen->wrmsr(msr, val);
}

void hsx_ledger_start(const char *path);

#ifdef NEED_CPU_H
#include "cpu.h"

static inline bool hsx_core_present(CPUX86State *env)
{
    return hsx.present && env_archcpu(env)->enable_pmu;
}

void hsx_core_signals(CPUX86State *env, HsxCore *c, enum core_mode mode,
                      uint64_t signals);
bool hsx_core_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val, uintptr_t ra);
bool hsx_core_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val);
bool hsx_core_rdpmc(CPUX86State *env, uint32_t index, uint64_t *val,
                    uintptr_t ra);
void hsx_core_cpuid(CPUX86State *env, uint32_t *eax, uint32_t *ebx,
                    uint32_t *ecx, uint32_t *edx);
void hsx_core_cr3(CPUX86State *env);
uint64_t hsx_core_misc_enable(CPUX86State *env, uint64_t val);
void hsx_cpu_assist(CPUX86State *env, HsxCore *core, uint64_t va,
                    unsigned size, bool store);
#endif
void hsx_core_reset(void);
void hsx_core_set_tag(CPUState *cs, uint64_t tag);
void hsx_core_work(unsigned core, unsigned tag, enum core_mode mode,
                   HsxWork *sum);

#endif

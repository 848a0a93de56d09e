/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk whose data are in RAM, and whose time is the machine's own
 *
 *	-drive driver=hsx-ram,size=SIZE[,latency-us=US][,bandwidth=BYTES/S]
 *
 * The disk takes one request after the other and moves its bytes at the bandwidth. A request
 * is complete the latency later:
 *
 *	busy_until = max(now, busy_until) + bytes / bandwidth
 *	complete at  busy_until + latency
 *
 * So many requests that are under way share the bandwidth, and none of them the latency. A flush
 * is a request without bytes. `now` is the device clock (sysemu/device-clock.h): while it is
 * held, no request completes, nor do they get nearer to it.
 *
 * Data are copied when the request comes; nobody can tell, as the guest may not look at a buffer
 * before the request is complete. What has never been written takes no memory, nor does what
 * was discarded.
 *
 * Whoever waits for requests within one instruction (a reset; a controller that is shut down, which
 * flushes) gets them at once, as does the machine's end.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include "qapi/error.h"
#include "qemu/module.h"
#include "qemu/option.h"
#include "qemu/timer.h"
#include "block/block_int.h"
#include "sysemu/device-clock.h"
#include "sysemu/runstate.h"

typedef struct RamDisk RamDisk;

typedef struct Request {
    RamDisk *disk;
    Coroutine *co;
    QEMUTimer timer;
    int64_t due;                    /* of the device clock, ns */
    QTAILQ_ENTRY(Request) next;
} Request;

struct RamDisk {
    uint8_t *data;
    int64_t size, latency_ns, bandwidth;
    int64_t busy_until;             /* of the device clock, ns */
    unsigned drains;
    QTAILQ_HEAD(, Request) requests;
    Notifier clock;
};

static QemuOptsList runtime_opts = {
    .name = "hsx-ram",
    .head = QTAILQ_HEAD_INITIALIZER(runtime_opts.head),
    .desc = {
        {
            .name = BLOCK_OPT_SIZE,
            .type = QEMU_OPT_SIZE,
            .help = "bytes",
        },
        {
            .name = "latency-us",
            .type = QEMU_OPT_NUMBER,
            .help = "from its last byte to a request's completion",
        },
        {
            .name = "bandwidth",
            .type = QEMU_OPT_SIZE,
            .help = "bytes per second; 0: no bound",
        },
        { /* end of list */ }
    },
};

static void complete(void *opaque)
{
    Request *r = opaque;

    QTAILQ_REMOVE(&r->disk->requests, r, next);
    timer_del(&r->timer);
    aio_co_wake(r->co);
}

static void complete_all(RamDisk *s)
{
    while (!QTAILQ_EMPTY(&s->requests)) {
        complete(QTAILQ_FIRST(&s->requests));
    }
}

static void set_timer(Request *r)
{
    if (!device_clock_held()) {
        timer_mod_ns(&r->timer, device_clock_to_virtual(r->due));
    }
}

/* The device clock stops, or goes on, or can't. */
static void clock_changed(Notifier *n, void *data)
{
    RamDisk *s = container_of(n, RamDisk, clock);
    DeviceClockEvent *event = data;
    Request *r;

    if (event->expedite) {
        event->done |= !QTAILQ_EMPTY(&s->requests);
        complete_all(s);
        return;
    }
    QTAILQ_FOREACH(r, &s->requests, next) {
        if (device_clock_held()) {
            timer_del(&r->timer);
        } else {
            set_timer(r);
        }
    }
}

/* Until the request for so many bytes is complete */
static void coroutine_fn take_time(RamDisk *s, int64_t bytes)
{
    Request r = { .disk = s, .co = qemu_coroutine_self() };

    s->busy_until = MAX(s->busy_until, device_clock_ns());
    if (s->bandwidth) {
        s->busy_until += muldiv64(bytes, NANOSECONDS_PER_SECOND, s->bandwidth);
    }
    /* Without a guest that runs there is no time. */
    if (s->drains || !runstate_is_running()) {
        return;
    }
    r.due = s->busy_until + s->latency_ns;
    timer_init_ns(&r.timer, QEMU_CLOCK_VIRTUAL, complete, &r);
    QTAILQ_INSERT_TAIL(&s->requests, &r, next);
    set_timer(&r);
    qemu_coroutine_yield();
}

static int coroutine_fn ram_co_preadv(BlockDriverState *bs, int64_t offset,
                                      int64_t bytes, QEMUIOVector *qiov,
                                      BdrvRequestFlags flags)
{
    RamDisk *s = bs->opaque;

    qemu_iovec_from_buf(qiov, 0, s->data + offset, bytes);
    take_time(s, bytes);
    return 0;
}

static int coroutine_fn ram_co_pwritev(BlockDriverState *bs, int64_t offset,
                                       int64_t bytes, QEMUIOVector *qiov,
                                       BdrvRequestFlags flags)
{
    RamDisk *s = bs->opaque;

    qemu_iovec_to_buf(qiov, 0, s->data + offset, bytes);
    take_time(s, bytes);
    return 0;
}

static void clear(RamDisk *s, int64_t offset, int64_t bytes)
{
    const int64_t page = qemu_real_host_page_size();
    const int64_t first = QEMU_ALIGN_UP(offset, page);
    const int64_t last = QEMU_ALIGN_DOWN(offset + bytes, page);

    if (first >= last) {
        memset(s->data + offset, 0, bytes);
        return;
    }
    memset(s->data + offset, 0, first - offset);
    if (madvise(s->data + first, last - first, MADV_DONTNEED)) {
        memset(s->data + first, 0, last - first);
    }
    memset(s->data + last, 0, offset + bytes - last);
}

static int coroutine_fn ram_co_pwrite_zeroes(BlockDriverState *bs,
                                             int64_t offset, int64_t bytes,
                                             BdrvRequestFlags flags)
{
    RamDisk *s = bs->opaque;

    clear(s, offset, bytes);
    take_time(s, 0);
    return 0;
}

static int coroutine_fn ram_co_pdiscard(BlockDriverState *bs, int64_t offset,
                                        int64_t bytes)
{
    return ram_co_pwrite_zeroes(bs, offset, bytes, 0);
}

static int coroutine_fn ram_co_flush(BlockDriverState *bs)
{
    take_time(bs->opaque, 0);
    return 0;
}

static void coroutine_fn ram_co_drain_begin(BlockDriverState *bs)
{
    RamDisk *s = bs->opaque;

    s->drains++;
    complete_all(s);
}

static void coroutine_fn ram_co_drain_end(BlockDriverState *bs)
{
    RamDisk *s = bs->opaque;

    s->drains--;
}

static int64_t ram_getlength(BlockDriverState *bs)
{
    RamDisk *s = bs->opaque;

    return s->size;
}

static int ram_open(BlockDriverState *bs, QDict *options, int flags,
                    Error **errp)
{
    RamDisk *s = bs->opaque;
    QemuOpts *opts = qemu_opts_create(&runtime_opts, NULL, 0, &error_abort);
    int64_t us;

    if (!qemu_opts_absorb_qdict(opts, options, errp)) {
        qemu_opts_del(opts);
        return -EINVAL;
    }
    s->size = qemu_opt_get_size(opts, BLOCK_OPT_SIZE, 0);
    s->bandwidth = qemu_opt_get_size(opts, "bandwidth", 0);
    us = qemu_opt_get_number(opts, "latency-us", 0);
    qemu_opts_del(opts);
    if (s->size <= 0 || s->size % BDRV_SECTOR_SIZE || s->bandwidth < 0 ||
        us < 0 || us > NANOSECONDS_PER_SECOND) {
        error_setg(errp, "hsx-ram: wrong size, bandwidth or latency-us");
        return -EINVAL;
    }
    s->latency_ns = us * SCALE_US;
    s->data = mmap(NULL, s->size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->data == MAP_FAILED) {
        s->data = NULL;
        error_setg_errno(errp, errno, "hsx-ram: no %" PRId64 " bytes", s->size);
        return -ENOMEM;
    }
    QTAILQ_INIT(&s->requests);
    s->clock.notify = clock_changed;
    device_clock_add_notifier(&s->clock);
    bs->supported_write_flags = BDRV_REQ_FUA;
    bs->supported_zero_flags = BDRV_REQ_FUA | BDRV_REQ_MAY_UNMAP |
                               BDRV_REQ_NO_FALLBACK;
    return 0;
}

static void ram_close(BlockDriverState *bs)
{
    RamDisk *s = bs->opaque;

    notifier_remove(&s->clock);
    munmap(s->data, s->size);
}

static const char *const strong_runtime_opts[] = {
    BLOCK_OPT_SIZE, "latency-us", "bandwidth", NULL
};

static BlockDriver bdrv_hsx_ram = {
    .format_name            = "hsx-ram",
    .protocol_name          = "hsx-ram",
    .instance_size          = sizeof(RamDisk),

    .bdrv_file_open         = ram_open,
    .bdrv_close             = ram_close,
    .bdrv_getlength         = ram_getlength,

    .bdrv_co_preadv         = ram_co_preadv,
    .bdrv_co_pwritev        = ram_co_pwritev,
    .bdrv_co_pwrite_zeroes  = ram_co_pwrite_zeroes,
    .bdrv_co_pdiscard       = ram_co_pdiscard,
    .bdrv_co_flush_to_disk  = ram_co_flush,
    .bdrv_co_drain_begin    = ram_co_drain_begin,
    .bdrv_co_drain_end      = ram_co_drain_end,

    .strong_runtime_opts    = strong_runtime_opts,
};

static void hsx_ram_init(void)
{
    bdrv_register(&bdrv_hsx_ram);
}

block_init(hsx_ram_init);

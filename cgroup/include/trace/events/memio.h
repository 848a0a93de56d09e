/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM memio

#if !defined(_TRACE_MEMIO_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MEMIO_H

#include <linux/tracepoint.h>

struct memio_moment;

/* Who traces them makes that counters are read. */
int memio_trace_begin(void);
void memio_trace_end(void);
int memio_trace_cpus_begin(void);
void memio_trace_cpus_end(void);

/* A stock's entry is handed on: so many bytes, of several packets or bios. */
TRACE_EVENT(memio_charge,
	TP_PROTO(u32 owner, const char *dev, u64 to, u64 from),
	TP_ARGS(owner, dev, to, from),
	TP_STRUCT__entry(
		__field(u32, owner)
		__string(dev, dev)
		__field(u64, to)
		__field(u64, from)
	),
	TP_fast_assign(
		__entry->owner = owner;
		__assign_str(dev);
		__entry->to = to;
		__entry->from = from;
	),
	TP_printk("owner=%x dev=%s to=%llu from=%llu", __entry->owner,
		  __get_str(dev), __entry->to, __entry->from)
);

/* What an owner has moved since its last update; "cpu": what CPUs have read for it. */
TRACE_EVENT_FN(memio_update,
	TP_PROTO(u32 owner, const char *dev, u64 ns,
		 const struct memio_moment *then, const struct memio_moment *now),
	TP_ARGS(owner, dev, ns, then, now),
	TP_STRUCT__entry(
		__field(u32, owner)
		__string(dev, dev)
		__field(u64, ns)
		__field(u64, to)
		__field(u64, from)
		__field(u64, read)
		__field(u64, write)
	),
	TP_fast_assign(
		__entry->owner = owner;
		__assign_str(dev);
		__entry->ns = ns;
		__entry->to = now->to - then->to;
		__entry->from = now->from - then->from;
		__entry->read = now->read - then->read;
		__entry->write = now->write - then->write;
	),
	TP_printk("owner=%x dev=%s ns=%llu to=%llu from=%llu mem_read=%llu mem_write=%llu",
		  __entry->owner, __get_str(dev), __entry->ns, __entry->to,
		  __entry->from, __entry->read, __entry->write),
	memio_trace_cpus_begin, memio_trace_cpus_end
);

/* A window is closed; the prices in memory bytes for 65536 IO bytes. */
TRACE_EVENT_FN(memio_sample,
	TP_PROTO(unsigned int package, u32 window, bool valid, u32 to_read,
		 u32 to_write, u32 from_read, u32 from_write),
	TP_ARGS(package, window, valid, to_read, to_write, from_read, from_write),
	TP_STRUCT__entry(
		__field(unsigned int, package)
		__field(u32, window)
		__field(bool, valid)
		__field(u32, to_read)
		__field(u32, to_write)
		__field(u32, from_read)
		__field(u32, from_write)
	),
	TP_fast_assign(
		__entry->package = package;
		__entry->window = window;
		__entry->valid = valid;
		__entry->to_read = to_read;
		__entry->to_write = to_write;
		__entry->from_read = from_read;
		__entry->from_write = from_write;
	),
	TP_printk("package=%u window=%u valid=%d to_read=%u to_write=%u from_read=%u from_write=%u",
		  __entry->package, __entry->window, __entry->valid,
		  __entry->to_read, __entry->to_write, __entry->from_read,
		  __entry->from_write),
	memio_trace_begin, memio_trace_end
);

/* A group has spent its limit; group is the inode of its directory. */
TRACE_EVENT(memio_throttle,
	TP_PROTO(u64 group, unsigned int cpus),
	TP_ARGS(group, cpus),
	TP_STRUCT__entry(
		__field(u64, group)
		__field(unsigned int, cpus)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->cpus = cpus;
	),
	TP_printk("group=%llu cpus=%u", __entry->group, __entry->cpus)
);

/* It runs again, after so long. */
TRACE_EVENT(memio_unthrottle,
	TP_PROTO(u64 group, u64 ns),
	TP_ARGS(group, ns),
	TP_STRUCT__entry(
		__field(u64, group)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->ns = ns;
	),
	TP_printk("group=%llu ns=%llu", __entry->group, __entry->ns)
);

#endif

#include <trace/define_trace.h>

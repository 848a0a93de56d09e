// SPDX-License-Identifier: GPL-2.0
/*
 * view SECONDS LOAD: what the counters and the ledger of the emulated machine
 * say, once a second, while the program LOAD (called as LOAD SECONDS) runs
 *
 * Runs in the guest, as root. On a terminal it is a table that is painted over;
 * elsewhere a block of lines a second. At the end, which is when LOAD ends, or
 * at Ctrl-C, a summary. Exit status: 0; 1 if something failed: LOAD, or
 * counters that were not counting all the time.
 *
 * Counters. A CBox has one filter register for its four counters, so it can
 * count one opcode. The boxes are dealt out to three opcodes in turn, and what
 * a third of the boxes saw is scaled to all:
 *
 *	PCIRdCur	a device reads a line
 *	ItoM		a device writes a full line (tid 0x3e: a device's only)
 *	RFO		a device writes a part of a line (tid 0x3e)
 *
 * The hash that spreads lines over the boxes is even, but a ring of descriptors
 * has few lines, so the scaled figure of a few lines used often is a rough one.
 * What needs no opcode is counted in all boxes: device writes that make a clean
 * line dirty, and the dirty lines that are pushed out. The memory controllers
 * count each read and write of DRAM.
 *
 * The ledger comes from ledger-mark; what is read here is its text, not JSON in
 * general. They cannot be read at one instant: the counters are read before and
 * after the ledger, and the mean is taken. So the figures of a moment may differ
 * a little; the summary is made when the devices are quiet, and is exact for them.
 * With the CPUs in the cache, reading makes traffic, too.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>

#define LINE_BYTES	64
#define MAX_BOXES	18
#define MAX_CHANNELS	8
#define MAX_DEVICES	8
#define TEXT_MAX	(64 << 10)

/* ---- what is counted ---- */

#define TID_EN		(1ull << 19)
#define FILTER_TID_IO	0x3eull
/* The state field has a bit each for I S E F M D M'; all but the modified. */
#define FILTER_NOT_M	(0x37ull << 17)
#define FILTER_OPC(o)	((uint64_t)(o) << 52)

enum group { G_RDCUR, G_ITOM, G_RFO, GROUPS, G_ALL = GROUPS, G_IMC };

static const struct {
	const char *name;
	unsigned int opcode;
} groups[GROUPS] = {
	[G_RDCUR] = { "PCIRdCur", 0x19e },
	[G_ITOM] = { "ItoM", 0x1c8 },
	[G_RFO] = { "RFO", 0x180 },
};

/* A box's four events, in the order in which they are opened. */
enum { EV_OPCODE, EV_MISS, EV_DIRTIED, EV_VICTIMS, BOX_EVENTS };

static const uint64_t box_config[BOX_EVENTS] = {
	[EV_OPCODE] = 0x0135 | TID_EN,	/* TOR_INSERTS.OPCODE */
	[EV_MISS] = 0x0335 | TID_EN,	/* TOR_INSERTS.MISS_OPCODE */
	[EV_DIRTIED] = 0x0534 | TID_EN,	/* LLC_LOOKUP.WRITE, lines not in M */
	[EV_VICTIMS] = 0x0137,		/* LLC_VICTIMS.M_STATE */
};

enum { EV_CAS_READ, EV_CAS_WRITE, IMC_EVENTS };

static const uint64_t imc_config[IMC_EVENTS] = {
	[EV_CAS_READ] = 0x0304,
	[EV_CAS_WRITE] = 0x0c04,
};

/* A PMU and its events, which perf schedules together or not at all. */
struct unit {
	int leader;
	enum group group;
	unsigned int events;
	uint64_t count[BOX_EVENTS];
};

static struct unit box[MAX_BOXES], imc[MAX_CHANNELS];
static unsigned int boxes, channels, boxes_of[GROUPS];

/* What is shown of it, each from the counters and from the ledger. */
enum row {
	R_RDCUR, R_RDCUR_MISS, R_ITOM, R_ITOM_MISS, R_RFO, R_RFO_MISS,
	R_DIRTIED, R_VICTIMS, R_CAS_READ, R_CAS_WRITE, ROWS
};

static const struct {
	const char *name, *meaning;
	enum group group;
} rows[ROWS] = {
	[R_RDCUR] = { "PCIRdCur", "devices read", G_RDCUR },
	[R_RDCUR_MISS] = { "PCIRdCur missed", "  from DRAM", G_RDCUR },
	[R_ITOM] = { "ItoM", "devices write", G_ITOM },
	[R_ITOM_MISS] = { "ItoM missed", "  allocated", G_ITOM },
	[R_RFO] = { "RFO", "partly write", G_RFO },
	[R_RFO_MISS] = { "RFO missed", "  filled", G_RFO },
	[R_DIRTIED] = { "LLC_LOOKUP.WRITE", "made dirty", G_ALL },
	[R_VICTIMS] = { "LLC_VICTIMS.M", "pushed out", G_ALL },
	[R_CAS_READ] = { "CAS_COUNT.RD", "DRAM read", G_IMC },
	[R_CAS_WRITE] = { "CAS_COUNT.WR", "DRAM written", G_IMC },
};

struct device {
	char address[16], model[16];
	uint64_t to_bytes, from_bytes;		/* IO */
	uint64_t read_lines, write_lines;	/* memory: misses and fills; first dirtier */
};

/* All that is known at one moment; or between two. */
struct sample {
	uint64_t ns, counted_ns;	/* of the ledger, of the counters */
	uint64_t counted[ROWS];		/* by the boxes that count it */
	uint64_t same[ROWS];		/* the ledger's figure for the same boxes */
	uint64_t truth[ROWS];		/* ... and for all boxes */
	struct device dev[MAX_DEVICES], cpu;
	unsigned int devs;
};

static volatile sig_atomic_t interrupted;
static bool tty, cpu_shown;
static unsigned int seconds;
static pid_t load_pid;
static int load_err;

static void leave_screen(void)
{
	if (!tty)
		return;
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
}

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...)
{
	va_list ap;

	if (load_pid)
		kill(-load_pid, SIGTERM);
	leave_screen();
	fputs("demo: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* ---- the counters ---- */

/* A number in a PMU's directory; -1 if there is none. */
static int pmu_number(const char *pmu, const char *file)
{
	char path[256];
	int v = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/%s", pmu, file);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%d", &v) != 1)
			v = -1;
		fclose(f);
	}
	return v;
}

/* Return: false if there is no such PMU. */
static bool open_unit(struct unit *u, const char *pmu, const uint64_t *config,
		      unsigned int events, uint64_t filter)
{
	int type = pmu_number(pmu, "type"), cpu = pmu_number(pmu, "cpumask");
	unsigned int i;

	if (type < 0)
		return false;
	u->leader = -1;
	u->events = events;
	for (i = 0; i < events; i++) {
		struct perf_event_attr attr = {
			.type = type,
			.size = sizeof(attr),
			.config = config[i],
			.config1 = filter,
			.disabled = i == 0,
			.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING,
		};
		int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, u->leader,
				 PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			die("%s: event %#" PRIx64 ": %m", pmu, config[i]);
		if (u->leader < 0)
			u->leader = fd;
	}
	return true;
}

static void open_counters(void)
{
	char pmu[32];
	unsigned int i;

	for (; boxes < MAX_BOXES; boxes++) {
		enum group g = boxes % GROUPS;
		uint64_t filter = FILTER_OPC(groups[g].opcode) | FILTER_NOT_M | FILTER_TID_IO;

		snprintf(pmu, sizeof(pmu), "uncore_cbox_%u", boxes);
		box[boxes].group = g;
		if (!open_unit(&box[boxes], pmu, box_config, BOX_EVENTS, filter))
			break;
		boxes_of[g]++;
	}
	for (; channels < MAX_CHANNELS; channels++) {
		snprintf(pmu, sizeof(pmu), "uncore_imc_%u", channels);
		if (!open_unit(&imc[channels], pmu, imc_config, IMC_EVENTS, 0))
			break;
	}
	if (boxes < GROUPS || !channels)
		die("%u CBoxes and %u memory channels: at least 3 and 1 are needed (run this in ci/vm)",
		    boxes, channels);
	for (i = 0; i < boxes; i++)
		ioctl(box[i].leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	for (i = 0; i < channels; i++)
		ioctl(imc[i].leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static void read_unit(struct unit *u)
{
	struct {
		uint64_t nr, enabled, running, value[BOX_EVENTS];
	} r;

	if (read(u->leader, &r, sizeof(r)) < (ssize_t)(3 + u->events) * 8)
		die("reading a counter: %m");
	if (r.running != r.enabled)
		die("somebody else uses the counters, too: they were multiplexed");
	memcpy(u->count, r.value, u->events * sizeof(uint64_t));
}

static void read_counters(struct sample *s)
{
	unsigned int i;

	s->counted_ns = now_ns();
	for (i = 0; i < boxes; i++) {
		read_unit(&box[i]);
		s->counted[R_RDCUR + 2 * box[i].group] += box[i].count[EV_OPCODE];
		s->counted[R_RDCUR_MISS + 2 * box[i].group] += box[i].count[EV_MISS];
		s->counted[R_DIRTIED] += box[i].count[EV_DIRTIED];
		s->counted[R_VICTIMS] += box[i].count[EV_VICTIMS];
	}
	for (i = 0; i < channels; i++) {
		read_unit(&imc[i]);
		s->counted[R_CAS_READ] += imc[i].count[EV_CAS_READ];
		s->counted[R_CAS_WRITE] += imc[i].count[EV_CAS_WRITE];
	}
}

/* From the boxes that counted it to all of them. */
static double scaled(const struct sample *s, enum row r)
{
	enum group g = rows[r].group;

	return g < GROUPS ? (double)s->counted[r] * boxes / boxes_of[g] : s->counted[r];
}

/* ---- the ledger ---- */

/* The number after "KEY": in the text from @p to @end. */
static uint64_t number(const char *p, const char *end, const char *key)
{
	char quoted[40];

	snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
	p = strstr(p, quoted);
	if (!p || p >= end)
		die("the ledger has no \"%s\" where it is expected", key);
	p += strlen(quoted);
	return strtoull(p + (*p == '['), NULL, 10);
}

/* The second of the two numbers "KEY": [a, b]. */
static uint64_t second_number(const char *p, const char *end, const char *key)
{
	char quoted[40];

	number(p, end, key);
	snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
	p = strchr(strstr(p, quoted), ',');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* Where "KEY": begins after @p. */
static const char *section(const char *p, const char *key)
{
	char quoted[40];

	snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
	p = strstr(p, quoted);
	if (!p)
		die("the ledger has no \"%s\"", key);
	return p + strlen(quoted);
}

static void read_devices(struct sample *s, const char *p, const char *end)
{
	while ((p = strstr(p, "\n  \"")) && p < end && s->devs < MAX_DEVICES) {
		struct device *d = &s->dev[s->devs++];
		const char *e = strchr(p, '}');

		if (!e || sscanf(p, " \"%15[^\"]\": {\"model\": \"%15[^\"]", d->address,
				 d->model) != 2)
			die("the ledger's devices cannot be read");
		d->to_bytes = number(p, e, "to_bytes");
		d->from_bytes = number(p, e, "from_bytes");
		d->read_lines = number(p, e, "to_miss") + number(p, e, "fill_lines");
		d->write_lines = number(p, e, "wb_first");
		s->truth[R_DIRTIED] += number(p, e, "made_dirty");
		p = e;
	}
}

static void read_boxes(struct sample *s, const char *p)
{
	unsigned int i, g;

	for (i = 0; i < boxes; i++) {
		const char *end;

		p = section(p, "tor_io");
		end = strstr(p, "victims_e");
		if (!end)
			die("the ledger has not as many boxes as the kernel");
		for (g = 0; g < GROUPS; g++) {
			char opcode[8];
			uint64_t all, miss;

			snprintf(opcode, sizeof(opcode), "%x", groups[g].opcode);
			all = number(p, end, opcode);
			miss = second_number(p, end, opcode);
			s->truth[R_RDCUR + 2 * g] += all;
			s->truth[R_RDCUR_MISS + 2 * g] += miss;
			if (box[i].group == g) {
				s->same[R_RDCUR + 2 * g] += all;
				s->same[R_RDCUR_MISS + 2 * g] += miss;
			}
		}
		s->truth[R_VICTIMS] += number(p, end, "victims_m");
	}
}

static void read_ledger(struct sample *s)
{
	static char text[TEXT_MAX];
	const char *devices, *cpu, *dram, *end;
	FILE *f = popen("exec ledger-mark demo", "r");
	size_t n;
	int status;

	if (!f)
		die("ledger-mark: %m");
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	status = pclose(f);
	if (interrupted && status)
		return;		/* Ctrl-C reached it, too */
	if (status)
		die("ledger-mark failed");

	s->ns = number(text, text + n, "ns");
	devices = section(text, "devices");
	cpu = section(devices, "cpu");
	dram = section(cpu, "dram");
	end = strchr(dram, '}');
	if (!end)
		die("the ledger's text is cut off");
	read_devices(s, devices, cpu);
	s->cpu.read_lines = number(cpu, dram, "read_miss") + number(cpu, dram, "write_miss");
	s->cpu.write_lines = number(cpu, dram, "wb_first");
	if (number(cpu, dram, "loads"))
		cpu_shown = true;
	s->truth[R_CAS_READ] = number(dram, end, "read_lines");
	s->truth[R_CAS_WRITE] = number(dram, end, "write_lines");
	read_boxes(s, end);
	for (n = R_DIRTIED; n < ROWS; n++)
		s->same[n] = s->truth[n];
}

/* Return: false if it was cut short by Ctrl-C. */
static bool take(struct sample *s)
{
	struct sample after = { };
	unsigned int r;

	memset(s, 0, sizeof(*s));
	read_counters(s);
	read_ledger(s);
	read_counters(&after);
	for (r = 0; r < ROWS; r++)
		s->counted[r] += (after.counted[r] - s->counted[r]) / 2;
	s->counted_ns += (after.counted_ns - s->counted_ns) / 2;
	return s->ns;
}

/* ---- arithmetic ---- */

static void device_minus(struct device *d, const struct device *a)
{
	d->to_bytes -= a->to_bytes;
	d->from_bytes -= a->from_bytes;
	d->read_lines -= a->read_lines;
	d->write_lines -= a->write_lines;
}

/* @d = @b - @a. A device that moved nothing until @a is not in it. */
static void between(struct sample *d, const struct sample *a, const struct sample *b)
{
	unsigned int i, j;

	*d = *b;
	d->ns -= a->ns;
	d->counted_ns -= a->counted_ns;
	for (i = 0; i < ROWS; i++) {
		d->counted[i] -= a->counted[i];
		d->same[i] -= a->same[i];
		d->truth[i] -= a->truth[i];
	}
	for (i = 0; i < d->devs; i++)
		for (j = 0; j < a->devs; j++)
			if (!strcmp(d->dev[i].address, a->dev[j].address))
				device_minus(&d->dev[i], &a->dev[j]);
	device_minus(&d->cpu, &a->cpu);
}

static double percent(double is, double should)
{
	if (should == 0)
		return is == 0 ? 0 : 100;
	return (is - should) / should * 100;
}

/* ---- what is seen ---- */

/* eth0, nvme0n1: what the kernel calls a device; "" if nothing. */
static const char *alias(const char *address)
{
	static const char * const where[] = { "net/*", "nvme/nvme*/nvme*n*", "virtio*/net/*",
					      "virtio*/block/*" };
	static char name[16];
	char pattern[128];
	unsigned int i;
	glob_t g;

	for (i = 0; i < sizeof(where) / sizeof(*where); i++) {
		snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/%s/%s", address, where[i]);
		if (glob(pattern, 0, NULL, &g))
			continue;
		snprintf(name, sizeof(name), "%s", strrchr(g.gl_pathv[0], '/') + 1);
		globfree(&g);
		return name;
	}
	return "";
}

/* A line of text; on a terminal the rest of the old one goes. */
static __attribute__((format(printf, 1, 2))) void line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	fputs(tty ? "\033[K\n" : "\n", stdout);
}

static double mb(double bytes)
{
	return bytes / 1e6;
}

static void show_heading(const char *io, const char *memory)
{
	line("%-28s %25s %24s", "", io, memory);
	line("%-28s %12s %12s %12s %11s", "device, by the ledger", "to device", "from device", "read",
	     "write");
}

/* Megabytes per second, or, with @s = 1, megabytes. */
static void show_devices(const struct sample *d, double s)
{
	unsigned int i;

	for (i = 0; i < d->devs; i++) {
		const struct device *v = &d->dev[i];

		line("%-12s %-7s %-7s %12.2f %12.2f %12.2f %11.2f", v->address, v->model,
		     alias(v->address), mb(v->to_bytes) / s, mb(v->from_bytes) / s,
		     mb(v->read_lines * LINE_BYTES) / s, mb(v->write_lines * LINE_BYTES) / s);
	}
	if (cpu_shown)
		line("%-28s %12s %12s %12.2f %11.2f", "cpu", "", "",
		     mb(d->cpu.read_lines * LINE_BYTES) / s,
		     mb(d->cpu.write_lines * LINE_BYTES) / s);
}

static void show_sum(const char *what, double to, double from, double read, double write,
		     double s)
{
	s /= LINE_BYTES;
	line("%-28s %12.2f %12.2f %12.2f %11.2f", what, mb(to) / s, mb(from) / s, mb(read) / s,
	     mb(write) / s);
}

/* In whole lines, so a little more than the devices' bytes. */
static void show_sums(const struct sample *d, double s, double counted_s)
{
	show_sum("sum in lines, by the ledger", d->truth[R_RDCUR],
		 d->truth[R_ITOM] + d->truth[R_RFO], d->truth[R_CAS_READ],
		 d->truth[R_CAS_WRITE], s);
	show_sum("  ... by the counters", scaled(d, R_RDCUR),
		 scaled(d, R_ITOM) + scaled(d, R_RFO), d->counted[R_CAS_READ],
		 d->counted[R_CAS_WRITE], counted_s);
}

static void show_counters(const struct sample *d)
{
	char where[16], off[32];
	unsigned int r;

	line("%-31s %5s %11s %11s %9s %8s", "LINES, since the start", "boxes", "counted", "ledger",
	     "error %", "scaled %");
	for (r = 0; r < ROWS; r++) {
		enum group g = rows[r].group;
		double error = percent(d->counted[r], d->same[r]);

		if (g == G_IMC)
			snprintf(where, sizeof(where), "%u ch.", channels);
		else
			snprintf(where, sizeof(where), "%u/%u", g == G_ALL ? boxes : boxes_of[g],
				 boxes);
		snprintf(off, sizeof(off), " %8.2f", percent(scaled(d, r), d->truth[r]));
		line("%-17s %-13s %5s %11" PRIu64 " %11" PRIu64 " %9.3f%s", rows[r].name,
		     rows[r].meaning, where, d->counted[r], d->same[r], error,
		     g < GROUPS ? off : "");
	}
}

static void show_title(void)
{
	line("memio demo: the machine that memio is developed on, an emulated Haswell-EP.");
	line("Its kernel is a stock one: memio's own parts are not shown here. The counters");
	line("are read by perf; the ledger is the machine's own account of what happened.");
}

static void show(const struct sample *last, const struct sample *all, unsigned int second)
{
	double s = last->ns / 1e9;

	if (tty) {
		fputs("\033[H", stdout);
		show_title();
	}
	line("second %u of about %u   fio writes, then reads; iperf3 receives, then sends", second,
	     seconds);
	show_heading("IO, MB/s", "memory, MB/s");
	show_devices(last, s);
	show_sums(last, s, last->counted_ns / 1e9);
	if (tty) {
		line("%s", "");
		show_counters(all);
		fputs("\033[J", stdout);
	}
	fflush(stdout);
}

static void show_price(const char *what, uint64_t memory, uint64_t io)
{
	if (io)
		line("  %-49s %8.3f", what, (double)memory * LINE_BYTES / io);
}

/* Return: true if no counter is off by more than 0.5 %. */
static bool show_summary(const struct sample *all)
{
	double error, worst = 0;
	unsigned int r, i, of = 0;

	/* A few stray lines are no percentage. */
	for (r = 0; r < ROWS; r++) {
		error = percent(all->counted[r], all->same[r]);
		if (error < 0)
			error = -error;
		if (all->same[r] >= 1000 && error > worst) {
			worst = error;
			of = r;
		}
	}

	show_title();
	line("%s", "");
	line("summary of %.1f s%s", all->ns / 1e9, interrupted ? " (stopped by Ctrl-C)" : "");
	show_heading("IO, MB", "memory, MB");
	show_devices(all, 1);
	show_sums(all, 1, 1);
	line("%s", "");
	show_counters(all);
	line("%s", "");
	line("Memory bytes per IO byte (memio's name for it is price):");
	for (i = 0; i < all->devs; i++) {
		const struct device *d = &all->dev[i];
		char what[64];

		snprintf(what, sizeof(what), "%s %s: read per byte to it", d->address, d->model);
		show_price(what, d->read_lines, d->to_bytes);
		snprintf(what, sizeof(what), "%s %s: written per byte from it", d->address,
			 d->model);
		show_price(what, d->write_lines, d->from_bytes);
	}
	line("%s", "");
	if (worst == 0)
		line("verdict: the counters agree with the ledger to the line");
	else
		line("verdict: the counters agree with the ledger within %.4f %% (%s)", worst,
		     rows[of].name);
	line("A box has one filter, so a third of them counts an opcode; scaled %% is how far");
	line("that third, taken for all, is off. A line is %d bytes.", LINE_BYTES);
	line("%s", "");
	line("next: ci/demo --cpu-cache on     the CPUs share the cache with the devices");
	line("      ci/vm --kernel stock       a shell in the machine: perf, ledger-mark");
	fflush(stdout);
	return worst <= 0.5;
}

/* ---- the load ---- */

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* In a process group of its own, so that Ctrl-C is ours to handle. */
static void start_load(const char *path)
{
	int err[2];
	char s[16];

	snprintf(s, sizeof(s), "%u", seconds);
	if (pipe2(err, O_CLOEXEC))
		die("pipe: %m");
	load_pid = fork();
	if (load_pid < 0)
		die("fork: %m");
	if (!load_pid) {
		setpgid(0, 0);
		setpriority(PRIO_PROCESS, 0, 0);
		dup2(err[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		execl(path, path, s, (char *)NULL);
		perror(path);
		_exit(127);
	}
	setpgid(load_pid, load_pid);
	close(err[1]);
	load_err = err[0];
	fcntl(load_err, F_SETFL, O_NONBLOCK);
}

/* Return: true once it has ended; it died of our signal, or with status 0. */
static bool load_ended(void)
{
	char buf[4096];
	int status;
	ssize_t n;

	if (waitpid(load_pid, &status, WNOHANG) != load_pid)
		return false;
	if (status && !interrupted) {
		leave_screen();
		tty = false;
		fprintf(stderr, "demo: the load failed:\n");
		while ((n = read(load_err, buf, sizeof(buf))) > 0)
			fwrite(buf, 1, n, stderr);
		load_pid = 0;
		die("status %#x", status);
	}
	load_pid = 0;
	return true;
}

static void sleep_until(uint64_t ns)
{
	struct timespec ts = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

int main(int argc, char **argv)
{
	struct sample start, before, now, last, all;
	struct sigaction sa = { .sa_handler = on_signal };
	uint64_t began, limit_ns;
	unsigned int second;
	bool good;

	seconds = argc == 3 ? atoi(argv[1]) : 0;
	if (seconds < 2) {
		fprintf(stderr, "usage: view SECONDS LOAD   (2 seconds at least)\n");
		return 2;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	/* The load must not keep it from looking once a second. */
	setpriority(PRIO_PROCESS, 0, -20);

	open_counters();
	/* The first time, ledger-mark has to be fetched. */
	if (!take(&now) || !take(&start))
		return 1;
	tty = isatty(STDOUT_FILENO);
	if (tty)
		fputs("\033[?1049h\033[2J\033[?25l", stdout);
	else
		show_title();

	start_load(argv[2]);
	before = start;
	began = now_ns();
	limit_ns = (3ull * seconds + 60) * 1000000000;
	for (second = 1; !interrupted; second++) {
		sleep_until(began + second * 1000000000ull);
		/* Where the machine is slow, seconds are left out. */
		second = (now_ns() - began) / 1000000000;
		if (interrupted || !take(&now))
			break;
		between(&last, &before, &now);
		between(&all, &start, &now);
		show(&last, &all, second);
		before = now;
		if (load_ended())
			break;
		if (now_ns() - began > limit_ns)
			die("the load does not end");
	}
	if (load_pid) {
		kill(-load_pid, SIGTERM);
		while (!load_ended())
			usleep(10000);
	}
	leave_screen();
	tty = false;

	/* Late packets, late completions. */
	usleep(200000);
	if (!take(&now))
		die("stopped");
	between(&all, &start, &now);
	good = show_summary(&all);
	return good ? 0 : 1;
}

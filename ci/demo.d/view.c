// SPDX-License-Identifier: GPL-2.0
/*
 * view SECONDS on|off LOAD [ARG...]: which task uses how much memory bandwidth,
 * its devices' included, once a second, while LOAD SECONDS [ARG...] runs
 *
 * Runs in the guest, as root. It makes three groups, in which LOAD starts its
 * tasks (ci/demo.d/load), and reads nothing but what anybody can read who has a
 * patched kernel: /proc/PID/membw, memio.stat of the groups and of the root, and
 * cgroup.procs for who is there. Beside it stands what ledger-mark says, which
 * only the emulated machine has: the truth.
 *
 * On a terminal it is a table that is painted over; elsewhere a table a second.
 * The end is when LOAD ends, or Ctrl-C: a summary, with the devices at rest.
 *
 * Bandwidths are differences of counters between two looks, not the _bps of
 * membw: all tasks and groups then have one interval, and figures can be added
 * up. Nothing can read all files and the ledger at one instant, so while data
 * flows they differ a little; the summary is of a machine at rest.
 *
 * Exit status: 0 if each group that does IO moved bytes both ways, and the
 * devices' estimates in total agree with the ledger; else 1. "on|off" is what
 * the machine's --cpu-cache is, for the header only.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "parse.h"

#define CGROUP		"/sys/fs/cgroup"
#define TEXT_MAX	(128 << 10)
#define MAX_TASKS	32
#define TASK_ROWS	6	/* on a terminal of 24 rows */

/* How far the sum over all devices may be off, in percent. */
#define IO_BOUND	2.0
#define MEMORY_BOUND	5.0
/* A byte without a price is an upper bound, and no estimate. */
#define UNPRICED_BOUND	1.0

static const struct {
	const char *name;
	bool io;		/* its tasks use devices */
} groups[] = {
	{ "net", true },
	{ "disk", true },
	{ "cache", false },
};

#define GROUPS	(sizeof(groups) / sizeof(groups[0]))

struct task {
	int pid;
	unsigned int group;
	char comm[16];
	struct account sum;
};

/* All that is known at one moment. */
struct moment {
	uint64_t ns;			/* of tasks and groups */
	struct task task[MAX_TASKS];
	unsigned int tasks;
	struct account self, group[GROUPS];
	struct account root;		/* as it was at the ledger's time */
	struct ledger ledger;
};

/* Four figures in the order of the columns, in bytes: IO to, from; memory. */
enum { TO, FROM, READ, WRITE, FIGURES };

static volatile sig_atomic_t interrupted;
static bool tty, cpu_cache;
static unsigned int seconds, invalid_seconds;
static pid_t load_pid;
static int load_err;

/* Names of devices, as far as a membw file has told them. */
static struct entry known[MAX_DEVICES];

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

/* ---- reading ---- */

/* Return: false, and errno, if the file is not there or its task has ended. */
static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = read(fd, text + len, size - 1 - len)) > 0)
		len += n;
	if (n < 0) {
		int err = errno;

		close(fd);
		errno = err;
		return false;
	}
	close(fd);
	text[len] = '\0';
	return true;
}

/* Return: false, and errno, as read_text(); whoever cannot be parsed is fatal. */
static bool read_account(struct account *a, const char *path)
{
	static char text[TEXT_MAX];
	const char *wrong;

	if (!read_text(path, text, sizeof(text)))
		return false;
	wrong = account_parse(a, text);
	if (wrong)
		die("%s: %s:\n%s", path, wrong, text);
	return true;
}

static void learn_names(const struct account *a)
{
	unsigned int i, j;

	for (i = 0; i < a->devs; i++) {
		for (j = 0; j < MAX_DEVICES && known[j].device[0]; j++)
			if (!strcmp(known[j].device, a->dev[i].device))
				break;
		if (j < MAX_DEVICES && a->dev[i].alias[0])
			known[j] = a->dev[i];
	}
}

static const char *name_of(const char *device, const char *otherwise)
{
	unsigned int i;

	for (i = 0; i < MAX_DEVICES && known[i].device[0]; i++)
		if (!strcmp(known[i].device, device))
			return known[i].alias;
	return otherwise;
}

/* A task that has ended since it was listed is left out: that is no error. */
static void read_task(struct moment *m, int pid, unsigned int group)
{
	struct task *t = &m->task[m->tasks];
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (!read_text(path, t->comm, sizeof(t->comm)))
		return;
	t->comm[strcspn(t->comm, "\n")] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/membw", pid);
	if (!read_account(&t->sum, path)) {
		if (errno == ENOENT || errno == ESRCH)
			return;
		die("%s: %m", path);
	}
	t->pid = pid;
	t->group = group;
	learn_names(&t->sum);
	m->tasks++;
}

static void read_group(struct moment *m, unsigned int group)
{
	char path[64], procs[4096], *p, *end;
	long pid;

	snprintf(path, sizeof(path), CGROUP "/%s/cgroup.procs", groups[group].name);
	if (!read_text(path, procs, sizeof(procs)))
		die("%s: %m", path);
	for (p = procs; m->tasks < MAX_TASKS; p = end) {
		pid = strtol(p, &end, 10);
		if (end == p)
			break;
		if (pid > 0)
			read_task(m, pid, group);
	}
	/* After its tasks, so that it has at least what they have. */
	snprintf(path, sizeof(path), CGROUP "/%s/memio.stat", groups[group].name);
	if (!read_account(&m->group[group], path))
		die("%s: %m", path);
}

/* Return: false if Ctrl-C, which reaches ledger-mark as well, cut it short. */
static bool read_ledger(struct ledger *l)
{
	static char text[TEXT_MAX];
	FILE *f = popen("exec ledger-mark demo", "r");
	const char *wrong;
	size_t n;
	int status;

	if (!f)
		die("ledger-mark: %m");
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	status = pclose(f);
	if (status && interrupted)
		return false;
	if (status)
		die("ledger-mark failed");
	wrong = ledger_parse(l, text);
	if (wrong)
		die("%s", wrong);
	return true;
}

static void read_self(struct account *a)
{
	if (!read_account(a, "/proc/self/membw"))
		die("/proc/self/membw: %m: is this kernel a patched one?");
	if (!a->source[0])
		die("/proc/self/membw names no source");
}

static void read_root(struct account *a)
{
	if (!read_account(a, CGROUP "/memio.stat"))
		die(CGROUP "/memio.stat: %m");
}

static uint64_t part(uint64_t a, uint64_t b, double share)
{
	return a + (int64_t)((double)(int64_t)(b - a) * share);
}

/*
 * ledger-mark is a program that has to be started: on a busy machine half a second
 * goes by, which is much IO. So the root is read before and after it, and taken
 * to have moved evenly in between. Return: false if Ctrl-C cut it short.
 */
static bool read_root_and_ledger(struct moment *m)
{
	static struct account after;
	uint64_t from, to;
	double share;
	unsigned int i;

	from = now_ns();
	read_root(&m->root);
	if (!read_ledger(&m->ledger))
		return false;
	to = now_ns();
	read_root(&after);
	share = change(from, m->ledger.ns) / change(from, to);
	/* A device that has come up in between has no before. */
	for (i = 0; i < m->root.devs && i < after.devs; i++) {
		struct meter *a = &m->root.dev[i].sum, *b = &after.dev[i].sum;

		a->to = part(a->to, b->to, share);
		a->from = part(a->from, b->from, share);
		a->read = part(a->read, b->read, share);
		a->write = part(a->write, b->write, share);
	}
	return true;
}

/* Return: false if it was cut short by Ctrl-C. */
static bool look(struct moment *m)
{
	unsigned int g;

	memset(m, 0, sizeof(*m));
	m->ns = now_ns();
	read_self(&m->self);
	for (g = 0; g < GROUPS; g++)
		read_group(m, g);
	return read_root_and_ledger(m);
}

/* ---- arithmetic ---- */

static void meter_change(double *f, const struct meter *before, const struct meter *now)
{
	f[TO] = change(before->to, now->to);
	f[FROM] = change(before->from, now->from);
	f[READ] = change(before->read, now->read);
	f[WRITE] = change(before->write, now->write);
}

static void truth_change(double *f, const struct ledger *before, const struct truth *now)
{
	struct truth none = { }, *b = &none;
	unsigned int i;

	for (i = 0; i < before->devs; i++)
		if (!strcmp(before->dev[i].device, now->device))
			none = before->dev[i];
	f[TO] = change(b->to, now->to);
	f[FROM] = change(b->from, now->from);
	f[READ] = change(b->read, now->read);
	f[WRITE] = change(b->write, now->write);
}

/* What a file says of a device more than it said before. */
static void device_change(double *f, const struct account *before, const struct account *now,
			  const char *device)
{
	struct entry a = account_device(before, device), b = account_device(now, device);

	meter_change(f, &a.sum, &b.sum);
}

static void add(double *sum, const double *f)
{
	unsigned int i;

	for (i = 0; i < FIGURES; i++)
		sum[i] += f[i];
}

/* Of all its devices. */
static void account_change(double *f, const struct account *before, const struct account *now)
{
	double one[FIGURES];
	unsigned int i;

	memset(f, 0, FIGURES * sizeof(*f));
	for (i = 0; i < now->devs; i++) {
		device_change(one, before, now, now->dev[i].device);
		add(f, one);
	}
}

static double unpriced_change(const struct account *before, const struct account *now)
{
	double sum = 0;
	unsigned int i;

	for (i = 0; i < now->devs; i++)
		sum += change(account_device(before, now->dev[i].device).sum.unpriced,
			      now->dev[i].sum.unpriced);
	return sum;
}

/* Its account at the last look; of one that is new, an empty one. */
static const struct account *before_of(const struct moment *before, const struct task *t)
{
	static const struct account none;
	unsigned int i;

	for (i = 0; i < before->tasks; i++)
		if (before->task[i].pid == t->pid)
			return &before->task[i].sum;
	return &none;
}

static bool went_down(const struct account *before, const struct account *now)
{
	unsigned int i;

	for (i = 0; i < before->devs; i++) {
		const struct meter *b = &before->dev[i].sum;
		struct meter n = account_device(now, before->dev[i].device).sum;

		if (n.to < b->to || n.from < b->from)
			return true;
	}
	return false;
}

/* A task that has been reaped while its file was read has lost its figures. */
static void drop_reaped(const struct moment *before, struct moment *now)
{
	unsigned int i, kept = 0;

	for (i = 0; i < now->tasks; i++)
		if (!went_down(before_of(before, &now->task[i]), &now->task[i].sum))
			now->task[kept++] = now->task[i];
	now->tasks = kept;
}

/* ---- what is seen ---- */

/* A line of text; on a terminal the rest of the old one goes. */
static __attribute__((format(printf, 1, 2))) void line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	fputs(tty ? "\033[K\n" : "\n", stdout);
}

/* What would be shown as -0.00 is 0. */
static double shown(double v)
{
	return fabs(v) < 0.005 ? 0 : v;
}

static double mb(double bytes)
{
	return shown(bytes / 1e6);
}

static void show_title(void)
{
	line("memio demo: the memory bandwidth of IO, per task, on an emulated Haswell-EP");
	line("--cpu-cache %s", cpu_cache ?
	     "on: the CPUs' loads and stores share the cache with the devices" :
	     "off: only devices use the cache; the neighbour does not disturb them");
}

static bool has_counters(const struct account *self)
{
	return strcmp(self->source, "none");
}

/* Without a source or a recent sample no figure is an estimate. */
static const char *standing(const struct account *self)
{
	static char text[96];

	if (!has_counters(self))
		return "no counters: memory figures are an upper bound";
	snprintf(text, sizeof(text), "counters %s, estimator %s: %s", self->source,
		 self->estimator, self->valid ? "valid" : "NOT VALID (stale)");
	return text;
}

/* A row of the upper table; nothing is shown until the sum is known. */
struct row {
	const struct task *task;	/* NULL: those of the group that have ended */
	unsigned int group;
	char device[16];
	double figure[FIGURES];
	bool io, memory;		/* there are such figures */
};

static struct row *new_row(struct row *rows, unsigned int *n, const struct task *t,
			   unsigned int group, const char *device)
{
	struct row *r = &rows[(*n)++];

	*r = (struct row) { .task = t, .group = group, .io = true, .memory = true };
	snprintf(r->device, sizeof(r->device), "%s", device);
	return r;
}

#define MAX_ROWS	(MAX_TASKS * (MAX_DEVICES + 1) + GROUPS)

static unsigned int task_rows(struct row *rows, unsigned int n, const struct moment *before,
			      const struct task *t)
{
	const struct account *a = before_of(before, t);
	unsigned int i, first = n;
	struct row *r;
	bool known;

	for (i = 0; i < t->sum.devs; i++) {
		const char *device = t->sum.dev[i].device;

		r = new_row(rows, &n, t, t->group, name_of(device, device));
		device_change(r->figure, a, &t->sum, device);
	}
	/* While the CPUs' share is not known, it is a row only where no other is. */
	known = t->sum.cpu_valid && cpu_cache;
	if (known || n == first) {
		r = new_row(rows, &n, t, t->group, "cpu");
		r->io = false;
		r->memory = known;
		meter_change(r->figure, &a->cpu, &t->sum.cpu);
	}
	return n;
}

static bool has_lost_task(const struct moment *before, const struct moment *now,
			  unsigned int group)
{
	unsigned int i, j;

	for (i = 0; i < before->tasks; i++) {
		if (before->task[i].group != group)
			continue;
		for (j = 0; j < now->tasks && now->task[j].pid != before->task[i].pid; j++)
			;
		if (j == now->tasks)
			return true;
	}
	return false;
}

/*
 * What a group has more than its tasks: of those that have ended since the last
 * look. If none has, it is what moved between reading a task and the group.
 */
static unsigned int ended_row(struct row *rows, unsigned int n, const struct moment *before,
			      const struct moment *now, unsigned int group)
{
	double rest[FIGURES], f[FIGURES];
	unsigned int i, j;
	bool moved = false;

	if (!has_lost_task(before, now, group))
		return n;
	account_change(rest, &before->group[group], &now->group[group]);
	for (i = 0; i < now->tasks; i++) {
		if (now->task[i].group != group)
			continue;
		account_change(f, before_of(before, &now->task[i]), &now->task[i].sum);
		for (j = 0; j < FIGURES; j++)
			rest[j] -= f[j];
	}
	for (i = 0; i < FIGURES; i++)
		moved |= rest[i] > 0;
	if (moved)
		memcpy(new_row(rows, &n, NULL, group, "-")->figure, rest, sizeof(rest));
	return n;
}

/* Over @s seconds; all rows have @memory bytes. */
static void show_row(const struct row *r, double s, double memory)
{
	char c[FIGURES][16], pid[16] = "-", share[16];
	unsigned int i;

	for (i = 0; i < FIGURES; i++)
		if (i < READ ? r->io : r->memory)
			snprintf(c[i], sizeof(c[i]), "%.2f", mb(r->figure[i] / s));
		else
			snprintf(c[i], sizeof(c[i]), "%s", i < READ ? "-" : "n/a");
	if (r->task)
		snprintf(pid, sizeof(pid), "%d", r->task->pid);
	if (r->memory)
		snprintf(share, sizeof(share), "%.1f%%", memory > 0 ?
			 mb(r->figure[READ] + r->figure[WRITE]) / (memory / 1e6) * 100 : 0);
	else
		snprintf(share, sizeof(share), "n/a");
	line("%-10.10s %5s %-6s %-12.12s %8s %8s %8s %8s %6s",
	     r->task ? r->task->comm : "(ended)", pid, groups[r->group].name, r->device,
	     c[TO], c[FROM], c[READ], c[WRITE], share);
}

static void show_tasks(const struct moment *before, const struct moment *now)
{
	static struct row rows[MAX_ROWS];
	double s = change(before->ns, now->ns) / 1e9, memory = 0;
	unsigned int g, i, n = 0, shown;

	for (g = 0; g < GROUPS; g++) {
		for (i = 0; i < now->tasks; i++)
			if (now->task[i].group == g)
				n = task_rows(rows, n, before, &now->task[i]);
		n = ended_row(rows, n, before, now, g);
	}
	for (i = 0; i < n; i++)
		if (rows[i].memory)
			memory += rows[i].figure[READ] + rows[i].figure[WRITE];

	line("%36s %17s %17s %6s", "", "IO, MB/s", "memory, MB/s", "of all");
	line("%-10s %5s %-6s %-12s %8s %8s %8s %8s %6s", "task", "pid", "cgroup", "device", "to",
	     "from", "read", "write", "memory");
	shown = tty && n > TASK_ROWS ? TASK_ROWS - 1 : n;
	for (i = 0; i < shown; i++)
		show_row(&rows[i], s, memory);
	if (shown < n)
		line("... and %u more", n - shown);
}

static void show_three(const char *address, const char *name, const double *estimate,
		       const double *truth)
{
	char e[FIGURES][16];
	unsigned int i;

	for (i = 0; i < FIGURES; i++) {
		double error = error_percent(estimate[i], truth[i]);

		if (fabs(error) >= 1000)
			snprintf(e[i], sizeof(e[i]), "%s", error > 0 ? "> 999" : "< -999");
		else
			snprintf(e[i], sizeof(e[i]), "%.2f", shown(error));
	}
	line("%-12s %-14s %-7s %10.2f %10.2f %10.2f %10.2f", address, name, "memio",
	     mb(estimate[TO]), mb(estimate[FROM]), mb(estimate[READ]), mb(estimate[WRITE]));
	line("%-12s %-14s %-7s %10.2f %10.2f %10.2f %10.2f", "", "", "ledger", mb(truth[TO]),
	     mb(truth[FROM]), mb(truth[READ]), mb(truth[WRITE]));
	line("%-12s %-14s %-7s %10s %10s %10s %10s", "", "", "error %", e[TO], e[FROM], e[READ],
	     e[WRITE]);
}

/* The devices' totals since the start beside the ledger's; and the sum of all. */
static void show_devices(const struct moment *start, const struct moment *now, double *estimates,
			 double *truths)
{
	unsigned int i;

	memset(estimates, 0, FIGURES * sizeof(*estimates));
	memset(truths, 0, FIGURES * sizeof(*truths));
	line("%-35s %10s %10s %10s %10s", "MB, since the start", "IO to", "IO from", "mem. read",
	     "written");
	for (i = 0; i < now->ledger.devs; i++) {
		const struct truth *t = &now->ledger.dev[i];
		double estimate[FIGURES], truth[FIGURES];

		device_change(estimate, &start->root, &now->root, t->device);
		truth_change(truth, &start->ledger, t);
		show_three(t->device, name_of(t->device, t->model), estimate, truth);
		add(estimates, estimate);
		add(truths, truth);
	}
	show_three("all devices", "", estimates, truths);
}

static void show(const struct moment *start, const struct moment *before,
		 const struct moment *now, unsigned int second)
{
	double estimates[FIGURES], truths[FIGURES];

	if (tty) {
		fputs("\033[H", stdout);
		show_title();
	}
	line("second %u of about %u   %s", second, seconds, standing(&now->self));
	if (tty)
		line("%s", "");
	show_tasks(before, now);
	line("%s", "");
	show_devices(start, now, estimates, truths);
	fputs(tty ? "\033[J" : "\n", stdout);
	fflush(stdout);
}

/* ---- the summary ---- */

/* Who moved the devices' bytes. Return: false if a group that does IO moved none. */
static bool show_owners(const struct moment *start, const struct moment *now, const double *all)
{
	double rest[FIGURES], f[FIGURES], unclaimed[READ] = { };
	unsigned int g, i;
	bool moved = true;

	memcpy(rest, all, sizeof(rest));
	line("%-35s %10s %10s %10s %10s", "MB, by memio", "IO to", "IO from", "mem. read",
	     "written");
	for (g = 0; g < GROUPS; g++) {
		account_change(f, &start->group[g], &now->group[g]);
		line("cgroup %-28s %10.2f %10.2f %10.2f %10.2f", groups[g].name, mb(f[TO]),
		     mb(f[FROM]), mb(f[READ]), mb(f[WRITE]));
		for (i = 0; i < FIGURES; i++)
			rest[i] -= f[i];
		if (groups[g].io && (f[TO] < 1e6 || f[FROM] < 1e6))
			moved = false;
	}
	for (i = 0; i < now->root.devs; i++) {
		const struct entry *b = &now->root.dev[i];
		struct entry a = account_device(&start->root, b->device);

		unclaimed[TO] += change(a.unclaimed_to, b->unclaimed_to);
		unclaimed[FROM] += change(a.unclaimed_from, b->unclaimed_from);
	}
	line("%-35s %10.2f %10.2f %10.2f %10.2f", "all others, the kernel among them",
	     mb(rest[TO]), mb(rest[FROM]), mb(rest[READ]), mb(rest[WRITE]));
	line("%-35s %10.2f %10.2f", "  unclaimed (dropped, or unread)", mb(unclaimed[TO]),
	     mb(unclaimed[FROM]));
	if (!cpu_cache)
		line("What the CPUs load and store does not pass these caches (n/a).");
	return moved;
}

/* Return: what the exit status says. */
static bool show_verdict(const struct moment *start, const struct moment *now, bool moved,
			 const double *estimates, const double *truths)
{
	double io = estimates[TO] + estimates[FROM], unpriced, worst[2] = { }, error;
	unsigned int i;

	for (i = 0; i < FIGURES; i++) {
		error = fabs(error_percent(estimates[i], truths[i]));
		if (error > worst[i >= READ])
			worst[i >= READ] = error;
	}
	unpriced = unpriced_change(&start->root, &now->root);
	unpriced = io > 0 ? unpriced / io * 100 : 0;

	if (invalid_seconds)
		line("In %u of the seconds there was no recent sample.", invalid_seconds);
	if (unpriced > 0)
		line("%.2f %% of the IO bytes have no price: there memory is an upper bound.",
		     unpriced);
	if (!moved) {
		line("verdict: %s: net or disk moved less than 1 MB to or from its device",
		     interrupted ? "none, stopped too early" : "failed");
		return false;
	}
	if (!has_counters(&now->self) || unpriced > UNPRICED_BOUND) {
		line("verdict: failed: an upper bound is no estimate");
		return false;
	}
	if (worst[0] <= IO_BOUND && worst[1] <= MEMORY_BOUND) {
		line("verdict: the estimates agree with the ledger: all devices' IO within %.2f %%,",
		     worst[0]);
		line("         their memory bytes within %.2f %% (bounds: %.0f and %.0f %%)",
		     worst[1], IO_BOUND, MEMORY_BOUND);
		return true;
	}
	line("verdict: failed: all devices' IO is off by %.2f %%, memory by %.2f %% (%.0f, %.0f)",
	     worst[0], worst[1], IO_BOUND, MEMORY_BOUND);
	return false;
}

static bool show_summary(const struct moment *start, const struct moment *now)
{
	double estimates[FIGURES], truths[FIGURES];
	bool moved;

	show_title();
	line("%s", "");
	line("summary of %.1f s%s   %s", change(start->ns, now->ns) / 1e9,
	     interrupted ? " (stopped)" : "", standing(&now->self));
	show_devices(start, now, estimates, truths);
	line("%s", "");
	moved = show_owners(start, now, estimates);
	line("%s", "");
	return show_verdict(start, now, moved, estimates, truths);
}

static void show_next(void)
{
	line("%s", "");
	line("A byte has one price, whichever device moves it: the sum over all devices is");
	line("what the counters saw, but one device may be given some of another's.");
	line("next: ci/demo --cpu-cache on     the neighbour shares the cache with the devices");
	line("      ci/vm                      a shell in the machine: cat /proc/self/membw");
	fflush(stdout);
}

/* ---- the groups and the load ---- */

static void make_groups(void)
{
	char path[64];
	unsigned int g;
	int fd = open(CGROUP "/cgroup.subtree_control", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "+memio", 6) != 6)
		die(CGROUP "/cgroup.subtree_control: +memio: %m: is this kernel a patched one?");
	close(fd);
	/* What CPUs read is counted without a limit, too. */
	fd = open(CGROUP "/memio.cpu", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "on", 2) != 2)
		die(CGROUP "/memio.cpu: %m");
	close(fd);
	for (g = 0; g < GROUPS; g++) {
		snprintf(path, sizeof(path), CGROUP "/%s", groups[g].name);
		if (mkdir(path, 0755) && errno != EEXIST)
			die("%s: %m", path);
	}
}

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* In a process group of its own, so that Ctrl-C is ours to handle. */
static void start_load(char **argv)
{
	int err[2];

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
		execv(argv[0], argv);
		perror(argv[0]);
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

	if (!load_pid)
		return true;
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

/* How many groups have tasks. */
static unsigned int groups_at_work(void)
{
	char path[64], text[16];
	unsigned int g, n = 0;

	for (g = 0; g < GROUPS; g++) {
		snprintf(path, sizeof(path), CGROUP "/%s/cgroup.procs", groups[g].name);
		n += read_text(path, text, sizeof(text)) && text[0];
	}
	return n;
}

/*
 * Not shown is what comes before: the load makes a file system, and programs
 * take seconds to start. What moves meanwhile is counted.
 */
static void wait_for_tasks(unsigned int n)
{
	while (!interrupted && !load_ended() && groups_at_work() < n)
		usleep(50000);
}

static void sleep_until(uint64_t ns)
{
	struct timespec ts = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* The sampler runs for who looks; what moves before its first sample has no price. */
static void wait_for_sample(void)
{
	struct account self;
	unsigned int i;

	for (i = 0; i < 30 && !interrupted; i++) {
		read_self(&self);
		if (self.valid || !has_counters(&self))
			return;
		usleep(100000);
	}
}

int main(int argc, char **argv)
{
	static struct moment start, before, now;
	struct sigaction sa = { .sa_handler = on_signal };
	char count[16];
	uint64_t began, limit_ns;
	unsigned int second;
	bool good;

	seconds = argc >= 4 ? atoi(argv[1]) : 0;
	if (!seconds || (strcmp(argv[2], "on") && strcmp(argv[2], "off"))) {
		fprintf(stderr, "usage: view SECONDS on|off LOAD [ARG]...\n");
		return 2;
	}
	cpu_cache = !strcmp(argv[2], "on");
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	/* The load must not keep it from looking once a second. */
	setpriority(PRIO_PROCESS, 0, -20);

	read_self(&now.self);
	make_groups();
	wait_for_sample();
	tty = isatty(STDOUT_FILENO);
	if (tty)
		fputs("\033[?1049h\033[2J\033[?25l", stdout);
	show_title();
	fflush(stdout);

	/* LOAD's arguments: its name, SECONDS, and what was given. */
	snprintf(count, sizeof(count), "%u", seconds);
	argv[2] = argv[3];
	argv[3] = count;
	start_load(argv + 2);
	/* The first time, ledger-mark has to be fetched. */
	read_ledger(&now.ledger);
	wait_for_tasks(1);
	look(&start);
	wait_for_tasks(GROUPS);
	look(&before);
	began = now_ns();
	limit_ns = (3ull * seconds + 60) * 1000000000;
	for (second = 1; load_pid && !interrupted; second++) {
		sleep_until(began + second * 1000000000ull);
		/* Where the machine is slow, seconds are left out. */
		second = (now_ns() - began) / 1000000000;
		if (interrupted || !look(&now))
			break;
		drop_reaped(&before, &now);
		invalid_seconds += has_counters(&now.self) && !now.self.valid;
		show(&start, &before, &now, second);
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

	/* Late packets, late completions, and the price of the last window. */
	usleep(500000);
	if (!start.ledger.ns || !look(&now))
		die("stopped before there was anything to see");
	good = show_summary(&start, &now);
	show_next();
	/* As a shell says of who is ended by Ctrl-C: nothing is to follow. */
	if (good && interrupted)
		return 130;
	return good ? 0 : 1;
}

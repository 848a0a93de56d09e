// SPDX-License-Identifier: GPL-2.0
/*
 * Measuring: every event with every probe of a family
 *
 * The thread is pinned to one CPU; for events of the uncore to the one that the kernel
 * counts them on, or, if its cpuset has not that one, to another of the same package. A
 * probe is set up and run once to warm up, for every group of events; then each amount of
 * work is done several times, all amounts in turn, so that what drifts hits all of them;
 * after level(), robust_mean() of the repetitions is a point, fit_line() of the points a
 * slope. Events of a core are counted in groups that the kernel schedules as a whole; what
 * a group cannot have, each event gets alone. Events of the uncore are the whole machine's
 * and are counted one at a time: they share filters, and the second opcode in a box would
 * make them take turns.
 *
 * A count of which the kernel says that it did not run all the time is an estimate; it is
 * thrown away, and the event is marked.
 *
 * A cpuset that changes and a CPU that goes offline move a thread whatever it is pinned to, and
 * the lines that it has in its caches stay behind. So each thread that takes part looks where it
 * is when it has done its work; if it is elsewhere, that was all in vain.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cit.h"
#include "command.h"
#include "progress.h"

/* A word of what the kernel says of a CPU's cache; empty if it says nothing */
static void cache_word(int cpu, int index, const char *file, char word[32])
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index,
		 file);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%31s", word) != 1)
		*word = '\0';
	if (f)
		fclose(f);
}

/* Bytes of the data caches of a CPU, by level */
static void find_caches(int cpu, uint64_t *bytes)
{
	int i;

	for (i = 0; i < 16; i++) {
		char type[32], level[32], size[32];
		unsigned int k;
		uint64_t n;
		char unit = 0;

		cache_word(cpu, i, "type", type);
		cache_word(cpu, i, "level", level);
		cache_word(cpu, i, "size", size);
		k = atoi(level);
		if (k < 1 || k > CIT_LEVELS || !strcmp(type, "Instruction") ||
		    sscanf(size, "%lu%c", &n, &unit) < 1)
			continue;
		if (!bytes[k - 1])
			bytes[k - 1] = n << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
	}
}

/* Has a list of the kernel's, as 0-3,8, this CPU in it? -1: the kernel has no such list. */
static int listed(int cpu, const char *file, int other)
{
	char path[128], comma = ',';
	int low, high, found = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
	f = fopen(path, "r");
	while (f && comma == ',' && fscanf(f, "%d", &low) == 1) {
		high = low;
		if (fscanf(f, "%c", &comma) == 1 && comma == '-' &&
		    fscanf(f, "%d%c", &high, &comma) < 2)
			comma = '\0';
		if (found < 1)
			found = other >= low && other <= high;
	}
	if (f)
		fclose(f);
	return found;
}

/* Where a CPU is; -1: nobody knows */
static int package_of(int cpu)
{
	char path[128];
	int package = -1;
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
	f = fopen(path, "r");
	if (f && fscanf(f, "%d", &package) != 1)
		package = -1;
	if (f)
		fclose(f);
	return package;
}

bool cpus_together(int a, int b)
{
	const int package = package_of(a);

	return package < 0 || package_of(b) == package;
}

/*
 * Does what @other writes come to @cpu by way of the last level? A sibling's, or that of cores
 * which share more, is in a cache before it; that of another package comes from there, and
 * counts as a miss of the last level. What the kernel does not tell is no obstacle.
 */
static bool is_neighbour(int cpu, int other)
{
	int i, last = 0, shared = -1, nearer = 0;

	if (cpu == other || listed(cpu, "topology/thread_siblings_list", other) > 0 ||
	    !cpus_together(cpu, other))
		return false;
	for (i = 0; i < 16; i++) {
		char type[32], level[32], file[64];
		int at, k;

		cache_word(cpu, i, "type", type);
		cache_word(cpu, i, "level", level);
		snprintf(file, sizeof(file), "cache/index%d/shared_cpu_list", i);
		at = atoi(level);
		k = listed(cpu, file, other);
		if (at < 1 || k < 0 || !strcmp(type, "Instruction"))
			continue;
		if (at > last) {
			nearer |= shared > 0;
			last = at;
			shared = k;
		} else {
			nearer |= k;
		}
	}
	return shared && !nearer;
}

int cit_neighbour(const struct cit *cit)
{
	int i;

	for (i = 0; i < cit->allowed.most; i++)
		if (cpus_has(&cit->allowed, i) && is_neighbour(cit->cpu, i))
			return i;
	return -1;
}

static bool forbidden(int error)
{
	return error == EACCES || error == EPERM;
}

static void complain_forbidden(void)
{
	complain("counting is not allowed: run it as root, or set /proc/sys/kernel/perf_event_paranoid to 2 or less (0 or less for uncore events)");
}

void complain_taken(int cpu)
{
	complain("CPU %d was taken away while it measured (a cpuset, taskset, a CPU that went offline): what it counted means nothing. Run it again",
		 cpu);
}

/* Can anything be counted here? */
static bool counters_there(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const int fd = perf_open(&attr, 0, -1, -1);

	if (fd >= 0) {
		close(fd);
		return true;
	}
	if (forbidden(errno))
		complain_forbidden();
	else
		complain("this machine has no hardware counters (%s). In a virtual machine: give it a virtual PMU (QEMU: -cpu host,pmu=on); otherwise see 'dmesg | grep \"Performance Events\"'",
			 strerror(errno));
	return false;
}

int cit_ready(struct cit *cit)
{
	bool grow = true;
	int i;

	if (!counters_there())
		return STATUS_UNABLE;
	if (!cpus_allowed(0, &cit->allowed)) {
		complain_errno("sched_getaffinity");
		return STATUS_FAILED;
	}
	if (cit->cpu >= 0 && !cpus_has(&cit->allowed, cit->cpu)) {
		complain("CPU %d is none that this process may run on; see taskset -p %d",
			 cit->cpu, (int)getpid());
		return STATUS_UNABLE;
	}
	/* The last one: most interrupts go to the first. */
	for (i = cit->allowed.most - 1; i >= 0 && cit->cpu < 0; i--)
		if (cpus_has(&cit->allowed, i))
			cit->cpu = i;
	cit->other = cit_neighbour(cit);
	if (!cit->cache_bytes[0])
		find_caches(cit->cpu, cit->cache_bytes);
	/* One that is no larger than the one before it is none. */
	for (i = 0; i < CIT_LEVELS; i++) {
		grow &= cit->cache_bytes[i] &&
			(!i || cit->cache_bytes[i] > cit->cache_bytes[i - 1]);
		if (!grow)
			cit->cache_bytes[i] = 0;
	}
	if (!pin_to_cpu(cit->cpu)) {
		complain_errno("pinning to CPU %d", cit->cpu);
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

unsigned int cit_levels(const struct cit *cit)
{
	unsigned int n = 0;

	while (n < CIT_LEVELS && cit->cache_bytes[n])
		n++;
	return n;
}

uint64_t cit_last_level(const struct cit *cit)
{
	const unsigned int n = cit_levels(cit);

	return n ? cit->cache_bytes[n - 1] : 0;
}

bool cit_caches(const struct cit *cit, unsigned int levels, const char *what)
{
	const unsigned int n = cit_levels(cit);
	const unsigned long long kib = 1024, l1 = cit->cache_bytes[0] / kib,
				 l2 = cit->cache_bytes[1] / kib;

	if (n >= levels)
		return true;
	if (n == 2)
		complain("%s: three levels of caches are wanted, and this machine tells of two, %lluK and %lluK. If there is a third that it hides, say --caches %lluK,%lluK,SIZE. If there is none, say --caches %lluK,%lluK,%lluK: what is called L3 is then memory, L2M is what goes there, and nothing is said by L3H, L3M and L3R",
			 what, l1, l2, l1, l2, l1, l2, 8 * l2);
	else
		complain("%s: the sizes of the caches are not known here; say --caches L1,L2,L3, for example 32K,256K,20M",
			 what);
	return false;
}

/* ---- a group of events that count together ---- */

struct group {
	const struct event *event;	/* consecutive ones */
	size_t n;
	int fd[CIT_UNITS];
	size_t fds;
	uint64_t enabled, running;	/* of the first, when last read */
};

static void group_close(struct group *g)
{
	while (g->fds)
		close(g->fd[--g->fds]);
}

/*
 * Opens up to @max events as a group; how many those are is known afterwards: g->n. With
 * none, errno says why.
 */
static bool group_open(struct group *g, const struct event *e, size_t max)
{
	size_t i;

	memset(g, 0, sizeof(*g));
	g->event = e;
	if (e->uncore) {
		for (i = 0; i < e->units; i++) {
			struct perf_event_attr attr = e->attr;
			int fd;

			attr.type = e->unit[i].type;
			attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
					   PERF_FORMAT_TOTAL_TIME_RUNNING;
			fd = perf_open(&attr, -1, e->unit[i].cpu, -1);
			if (fd < 0) {
				const int error = errno;

				group_close(g);
				errno = error;
				return false;
			}
			g->fd[g->fds++] = fd;
		}
		g->n = 1;
		return true;
	}
	for (i = 0; i < max && !e[i].uncore; i++) {
		struct perf_event_attr attr = e[i].attr;
		int fd;

		attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
				   PERF_FORMAT_TOTAL_TIME_RUNNING;
		attr.disabled = !i;
		attr.pinned = 0;
		fd = perf_open(&attr, 0, -1, i ? g->fd[0] : -1);
		if (fd < 0)
			break;
		g->fd[g->fds++] = fd;
	}
	g->n = i;
	return i;
}

static bool group_read(struct group *g, double *value, bool *whole)
{
	uint64_t buffer[3 + CIT_UNITS], enabled = 0, running = 0;
	size_t i;

	if (g->event->uncore) {
		*value = 0;
		for (i = 0; i < g->fds; i++) {
			if (read(g->fd[i], buffer, 24) != 24)
				return false;
			*value += buffer[0];
			enabled += buffer[1];
			running += buffer[2];
		}
	} else {
		const ssize_t bytes = (3 + g->n) * sizeof(*buffer);

		if (read(g->fd[0], buffer, bytes) != bytes)
			return false;
		enabled = buffer[1];
		running = buffer[2];
		for (i = 0; i < g->n; i++)
			value[i] = buffer[3 + i];
	}
	*whole = enabled - g->enabled == running - g->running && enabled != g->enabled;
	g->enabled = enabled;
	g->running = running;
	return true;
}

static void group_switch(struct group *g, bool on)
{
	const unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
	const int flag = g->event->uncore ? 0 : PERF_IOC_FLAG_GROUP;
	const size_t n = g->event->uncore ? g->fds : 1;
	size_t i;

	for (i = 0; i < n; i++)
		ioctl(g->fd[i], request, flag);
}

enum outcome { DONE, SHARED, BROKEN, TAKEN };

/* One run of a probe with a group; what was counted, in value[] */
static enum outcome sample(const struct cit *cit, struct probe *probe, struct group *g, uint64_t n,
			   double *value)
{
	double before[CIT_UNITS];
	bool whole, good;
	size_t i;

	if (probe->prepare)
		probe->prepare(probe, n);
	/* Counts go on over the runs: nothing is reset between reading and starting. */
	if (!group_read(g, before, &whole))
		return BROKEN;
	group_switch(g, true);
	good = probe->run(probe, n);
	group_switch(g, false);
	if (!on_cpu(cit->on))
		return TAKEN;
	if (!group_read(g, value, &whole) || !good)
		return BROKEN;
	for (i = 0; i < g->n; i++)
		value[i] = (value[i] - before[i]) / g->event[i].per;
	return whole ? DONE : SHARED;
}

/* All amounts of a probe's work with a group */
static enum outcome fit_group(const struct cit *cit, struct probe *probe, struct group *g,
			      size_t p, struct result *r)
{
	static double value[CIT_UNITS][CIT_POINTS][CIT_REPETITIONS];
	double x[CIT_POINTS], y[CIT_POINTS], now[CIT_UNITS];
	unsigned int k, rep;
	enum outcome end;
	size_t i;

	/* Warm up, with the most there is to do. */
	end = sample(cit, probe, g, probe->step * probe->points, now);
	for (rep = 0; rep < cit->repetitions && end == DONE; rep++) {
		for (k = 0; k < probe->points && end == DONE; k++) {
			end = sample(cit, probe, g, probe->step * (k + 1), now);
			for (i = 0; i < g->n; i++)
				value[i][k][rep] = now[i];
		}
	}
	if (end != DONE)
		return end;
	for (i = 0; i < g->n; i++) {
		level(value[i][0], CIT_REPETITIONS, probe->points, cit->repetitions);
		for (k = 0; k < probe->points; k++) {
			size_t dropped;

			x[k] = probe->step * (k + 1);
			y[k] = robust_mean(value[i][k], cit->repetitions, &dropped);
			r[i].dropped += dropped;
			r[i].work[p][k] = probe->step * (k + 1);
			r[i].count[p][k] = y[k];
		}
		r[i].fit[p] = fit_line(x, y, probe->points);
	}
	return DONE;
}

bool events_allowed(const struct events *const *lists, size_t n)
{
	bool none = true;
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < lists[i]->n; k++) {
			struct group g;

			if (group_open(&g, &lists[i]->e[k], 1)) {
				group_close(&g);
				return true;
			}
			if (!forbidden(errno))
				return true;
			none = false;
		}
	}
	if (!none)
		complain_forbidden();
	return none;
}

/* One probe, all events */
static bool measure_probe(const struct cit *cit, const struct family *family, size_t p,
			  const struct events *events, struct result *result)
{
	struct probe *probe = &family->probe[p];
	size_t i = 0, alone_until = 0;

	while (i < events->n) {
		size_t max = i < alone_until ? 1 : cit->group;
		enum outcome end;
		struct group g;

		if (max > events->n - i)
			max = events->n - i;
		if (result[i].absent || result[i].multiplexed) {
			i++;
			continue;
		}
		if (!group_open(&g, &events->e[i], max)) {
			result[i].absent = true;
			result[i].error = errno;
			i++;
			continue;
		}
		end = fit_group(cit, probe, &g, p, &result[i]);
		group_close(&g);
		if (end == BROKEN)
			complain("%s: the work failed", probe->name);
		if (end == TAKEN)
			complain_taken(cit->on);
		if (end == BROKEN || end == TAKEN)
			return false;
		if (end == DONE) {
			i += g.n;
		} else if (g.n > 1) {
			alone_until = i + g.n;
		} else {
			result[i].multiplexed = true;
			i++;
		}
	}
	return true;
}

/*
 * To the CPU that the uncore is counted on: starting and reading from another one is an
 * interrupt each time, and what another package moves goes by other counters. A complaint
 * about what is not as it should be; false: so that nothing can be measured
 */
static bool pin_to_counters(struct cit *here)
{
	static bool said;	/* a curve measures many times */
	int instead;

	here->on = here->at;
	if (pin_to_cpu(here->at))
		return true;
	if (!shared_cpus(here, &instead, 1) || !pin_to_cpu(instead)) {
		complain("these events are counted by CPU %d, and this process may run on no CPU of its package; give its cpuset one",
			 here->at);
		return false;
	}
	here->on = instead;
	if (!said)
		complain("these events are counted by CPU %d, which is not in this process's cpuset; they are read from CPU %d, by an interrupt each time",
			 here->at, instead);
	said = true;
	return true;
}

bool measure(const struct cit *cit, const struct family *family, const struct events *events,
	     struct result *result)
{
	struct cit here = *cit;
	struct progress said;
	size_t p, ran = 0;
	bool good = true;

	memset(result, 0, events->n * sizeof(*result));
	here.at = cit->cpu;
	here.on = cit->cpu;
	if (events->n && events->e[0].uncore) {
		here.at = events->e[0].unit[0].cpu;
		if (!pin_to_counters(&here))
			return false;
	}
	progress_begin_long(&said, family->probes, cit->quiet, false);
	for (p = 0; p < family->probes && good; p++) {
		struct probe *probe = &family->probe[p];

		if (probe->setup && !probe->setup(probe, &here))
			continue;
		progress(&said, "%s, %s", family->name, probe->name);
		good = measure_probe(&here, family, p, events, result);
		if (probe->teardown)
			probe->teardown(probe);
		ran++;
	}
	/* Its thread looks at what is on this stack. */
	progress_end(&said);
	if (!good)
		return false;
	pin_to_cpu(cit->cpu);
	if (!ran)
		complain("none of the kernels of '%s' can run here", family->name);
	return ran;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * memio doctor: what there is on this machine, what is wrong, and what to do about it
 *
 * Each check is a row of a table. It says what it found in a sentence, which may have names of
 * groups and tasks, and in a code, which has none: the report is made of codes.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "everyday.h"
#include "number.h"
#include "watch.h"

#define WATCH_MOST	86400		/* seconds: a day */

enum { OPT_REPORT = 256, OPT_WATCH, OPT_JSON, OPT_CSV };

static const struct command_option options[] = {
	{ .id = OPT_REPORT, .name = "report", .value = "FILE", .completes = COMPLETES_FILE,
	  .help = "Write a report to this file. The report has no names of groups, tasks, users "
		  "or files, so you can send it to others." },
	{ .id = OPT_WATCH, .name = "watch", .value = "S",
	  .help = "Watch memory for S seconds, beside the counts of the memory controllers. A "
		  "report has the histograms; 3600 seconds make a good one." },
	{ .id = OPT_JSON, .name = "json", .help = "Print JSON." },
	{ .id = OPT_CSV, .name = "csv", .help = "Print comma-separated values, with a header." },
	BACKEND_OPTION,
	{ }
};

enum level { GOOD, HINT, WRONG, UNABLE };

static const char *const level_names[] = { "ok", "hint", "wrong", "unable" };

struct finding {
	const char *check;
	enum level level;
	char code[48], text[700], todo[500];
};

struct doctor {
	struct memio *m;
	const char *group;
	char root[1024];
	struct memio_stat figures;
	struct memio_flat state;
	bool has_state, is_root;
	struct finding found[64];
	size_t n;
	json_t *report;
	unsigned long seconds;		/* to watch */
	struct watch watch;
};

static void say(struct doctor *d, const char *check, enum level level, const char *code,
		const char *todo, const char *format, ...) __attribute__((format(printf, 6, 7)));
static void say(struct doctor *d, const char *check, enum level level, const char *code,
		const char *todo, const char *format, ...)
{
	struct finding *f = &d->found[d->n];
	va_list args;

	if (d->n == sizeof(d->found) / sizeof(*d->found))
		return;
	d->n++;
	f->check = check;
	f->level = level;
	snprintf(f->code, sizeof(f->code), "%s", code);
	snprintf(f->todo, sizeof(f->todo), "%s", todo);
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
}

/* A file below the root, of so many bytes at most; "" if there is none */
static char *read_text(struct doctor *d, const char *file, char *text, size_t size)
{
	char path[2048];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", memio_root(d->m), file);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, size - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	return text;
}

static bool there(struct doctor *d, const char *file)
{
	char path[2048];

	snprintf(path, sizeof(path), "%s/%s", memio_root(d->m), file);
	return !access(path, F_OK);
}

static char *first_word(char *text)
{
	text[strcspn(text, " \t\n")] = '\0';
	return text;
}

static bool is_bpf(const struct doctor *d)
{
	return !strcmp(memio_backend(d->m), "bpf");
}

/* ---- the kernel ---- */

static void kernel(struct doctor *d)
{
	const struct memio_capability *c = memio_can(d->m, "kernel");

	if (is_bpf(d))
		say(d, "kernel", HINT, "bpf",
		    "a kernel with memio's patches adds memory bytes with their bounds, limits and guarantees, the owners of written-back pages by task, and figures from before a command began",
		    there(d, "sys/kernel/memio") ?
		    "BPF programs count while a command runs, as --backend bpf wants it" :
		    "this kernel has no memio; BPF programs count what devices move, while a command runs");
	else if (c && c->there)
		say(d, "kernel", GOOD, "memio", "",
		    "this kernel has memio: figures are its own (backend kernel), and BPF programs would add nothing");
	else if (memio_needs_root(d->m))
		say(d, "kernel", UNABLE, "not-root",
		    "sudo memio doctor; or boot a kernel that was built with memio's patches",
		    "this kernel has no memio, and this user may not load the BPF programs that can count instead");
	else
		say(d, "kernel", UNABLE, "no-memio",
		    "boot a kernel that was built with memio's patches and CONFIG_CGROUP_MEMIO=y",
		    "%s", c ? c->why : "this kernel has no memio: there is no /sys/kernel/memio");
}

static void enabled(struct doctor *d)
{
	char text[4096], *off;

	if (is_bpf(d) || !there(d, "sys/kernel/memio"))
		return;
	read_text(d, "proc/cmdline", text, sizeof(text));
	off = strstr(text, "memio=off");
	if (off && (off == text || off[-1] == ' '))
		say(d, "boot", HINT, "off-at-boot",
		    "take memio=off from the kernel's command line; memio then accounts as soon as a group has the controller",
		    "memio was off at boot");
	first_word(read_text(d, "sys/kernel/memio/enabled", text, sizeof(text)));
	if (!strcmp(text, "0") && d->has_state && !off && memio_group_enables(d->m, "/") != 1)
		say(d, "enabled", HINT, "not-used",
		    "give a group the controller; or, to account at once: echo 1 >/sys/kernel/memio/enabled",
		    "nothing is accounted yet: memio begins when the first group gets the controller");
	else if (!strcmp(text, "0") || !strcmp(text, "off"))
		say(d, "enabled", WRONG, "off", "echo 1 >/sys/kernel/memio/enabled",
		    "memio is switched off: nothing is accounted, and no limit holds");
	else
		say(d, "enabled", GOOD, "on", "", "memio is switched on");
}

/* ---- groups ---- */

static void hierarchy(struct doctor *d)
{
	const struct memio_capability *c = memio_can(d->m, "hierarchy");

	if (c && c->there)
		say(d, "hierarchy", GOOD, "v2", "", "%s", c->why);
	else
		say(d, "hierarchy", UNABLE, "no-v2", "mount -t cgroup2 none /sys/fs/cgroup",
		    "no cgroup v2 hierarchy is mounted");
}

static void controller(struct doctor *d)
{
	const struct memio_capability *c = memio_can(d->m, "controller");
	char *lacks, todo[500];
	int is;

	/* A kernel without memio has no controller, and the first check has said so. */
	if (!memio_mount(d->m) || is_bpf(d) || !there(d, "sys/kernel/memio"))
		return;
	if (!c || !c->there) {
		say(d, "controller", WRONG, "none",
		    "look for cgroup_disable= on the kernel's command line; in a container, ask its host",
		    "the controller memio is not in %s/cgroup.controllers", memio_mount(d->m));
		return;
	}
	is = memio_group_lacks(d->m, d->group, &lacks);
	if (is < 0) {
		say(d, "controller", WRONG, "no-group", "", "%s", memio_error(d->m));
	} else if (!is) {
		say(d, "controller", GOOD, "enabled", "", "the controller reaches the group %s",
		    d->group);
	} else {
		snprintf(todo, sizeof(todo), "echo +memio >%s%s/cgroup.subtree_control",
			 memio_mount(d->m), strcmp(lacks, "/") ? lacks : "");
		say(d, "controller", WRONG, "not-enabled", todo,
		    "the controller does not reach the group %s: %s does not hand it on",
		    d->group, lacks);
		free(lacks);
	}
}

/* ---- the processor, and its counters ---- */

static unsigned long field_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	at = at ? strchr(at, ':') : NULL;
	return at ? strtoul(at + 1, NULL, 10) : 0;
}

/* What stands behind "KEY	: " */
static void text_of(const char *text, const char *key, char *value, size_t size)
{
	const char *at = strstr(text, key);

	at = at ? strstr(at, ": ") : NULL;
	if (at)
		snprintf(value, size, "%.*s", (int)strcspn(at + 2, "\n"), at + 2);
}

static void processor(struct doctor *d)
{
	static char text[16384];
	char vendor[64] = "?", name[128] = "?";
	json_t *j;
	unsigned long family, model, stepping;
	const char *counters;
	bool virtual;

	read_text(d, "proc/cpuinfo", text, sizeof(text));
	counters = memio_processor(text, NULL);
	text_of(text, "vendor_id", vendor, sizeof(vendor));
	text_of(text, "model name", name, sizeof(name));
	family = field_of(text, "cpu family");
	model = field_of(text, "\nmodel\t");
	stepping = field_of(text, "stepping");
	virtual = strstr(text, " hypervisor");
	j = json_pack("{s:o, s:o, s:i, s:i, s:i, s:b}", "vendor", json_name(vendor), "name",
		      json_name(name), "family", (int)family, "model", (int)model, "stepping",
		      (int)stepping, "virtual", virtual);
	json_object_set_new(d->report, "processor", j);
	if (counters)
		say(d, "processor", GOOD, "known", "",
		    "memio knows the counters of this processor (%s): %s", counters, name);
	else
		say(d, "processor", HINT, "unknown",
		    "IO bytes are exact all the same. 'memio doctor --report FILE' writes what memio's authors would need",
		    "memio has no counters for this processor (%s, family %lu, model %lu): %s",
		    vendor, family, model, is_bpf(d) ? "there are no memory bytes" :
		    "an IO byte counts as a memory byte, which is an upper bound");
	if (virtual)
		say(d, "virtual", HINT, "virtual-machine",
		    "run memio on the host, which charges this machine's process",
		    "this is a virtual machine: it has no counters of the caches, and its devices' bytes are copied by the host");
}

static void pmus(struct doctor *d)
{
	const char *counters, *name = NULL;
	json_t *list = json_array();
	char path[2048], text[4096];
	struct dirent **entry;
	int n, i, boxes = 0;
	size_t length;

	counters = memio_processor(read_text(d, "proc/cpuinfo", text, sizeof(text)), &name);
	length = name ? strlen(name) : 0;
	snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices", memio_root(d->m));
	n = scandir(path, &entry, NULL, versionsort);
	for (i = 0; i < n; i++) {
		const char *pmu = entry[i]->d_name;

		if (*pmu != '.')
			json_array_append_new(list, json_name(pmu));
		boxes += counters && !strncmp(pmu, name, length) && pmu[length] == '_';
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	json_object_set_new(d->report, "pmus", list);
	if (!counters)
		return;
	if (boxes)
		say(d, "uncore", GOOD, "loaded", "",
		    "the driver of the caches' counters is loaded: %d boxes", boxes);
	else
		say(d, "uncore", HINT, "not-loaded", "modprobe intel_uncore",
		    "there is no PMU %s_*: the driver of the caches' counters is not loaded, or this is a virtual machine",
		    name);
}

static void source(struct doctor *d)
{
	const struct memio_capability *c = memio_can(d->m, "source");
	char text[64];

	if (is_bpf(d) && c) {
		json_object_set_new(d->report, "source", json_string(c->there ? "perf" : "none"));
		say(d, "source", c->there ? GOOD : HINT, c->there ? "perf" : "none", c->there ? "" :
		    "see the processor and the driver above; IO bytes are right all the same",
		    "%s", c->why);
		return;
	}
	if (!there(d, "sys/kernel/memio/source"))
		return;
	first_word(read_text(d, "sys/kernel/memio/source", text, sizeof(text)));
	json_object_set_new(d->report, "source", json_name(text));
	if (strcmp(text, "none"))
		say(d, "source", GOOD, text, "", "memory bytes are estimated from the counters '%s'",
		    text);
	else
		say(d, "source", HINT, "none", "see the processor and the driver above",
		    "there is no source of estimates: all IO bytes are without a price");
}

static bool has_events(struct doctor *d, const char *pid)
{
	char path[2048], target[64];
	struct dirent *e;
	bool has = false;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc/%s/fd", memio_root(d->m), pid);
	dir = opendir(path);
	while (dir && !has && (e = readdir(dir))) {
		n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		has = !strcmp(target, "anon_inode:[perf_event]");
	}
	if (dir)
		closedir(dir);
	return has;
}

/*
 * Processes that have events of perf open, this one left out: "; events are open in perf (12)".
 * Which PMU an event is of is not to be seen from outside.
 */
static const char *holders(struct doctor *d, char *text, size_t size)
{
	char path[2048], file[64], comm[64];
	size_t at = 0;
	struct dirent *e;
	DIR *dir;

	*text = '\0';
	snprintf(path, sizeof(path), "%s/proc", memio_root(d->m));
	dir = opendir(path);
	while (dir && (e = readdir(dir)) && at < size) {
		if (!isdigit(*e->d_name) || atoi(e->d_name) == getpid() ||
		    !has_events(d, e->d_name))
			continue;
		snprintf(file, sizeof(file), "proc/%.20s/comm", e->d_name);
		read_text(d, file, comm, sizeof(comm));
		comm[strcspn(comm, "\n")] = '\0';
		at += snprintf(text + at, size - at, "%s%s (%s)", at ? ", " :
			       "; events of perf are open in ", comm, e->d_name);
	}
	if (dir)
		closedir(dir);
	return text;
}

/* The kernel reads the counters while memio accounts; the first windows take some milliseconds. */
static void valid(struct doctor *d)
{
	const struct memio_pair *io = memio_flat_find(&d->state, "io");
	const struct timespec pause = { .tv_nsec = 50000000 };
	char text[300], src[64];
	int i;

	first_word(read_text(d, "sys/kernel/memio/source", src, sizeof(src)));
	if (is_bpf(d) || !*src || !strcmp(src, "none"))
		return;
	/* Why nothing is accounted is said above. */
	if (!strcmp(first_word(read_text(d, "sys/kernel/memio/enabled", text, sizeof(text))), "0"))
		return;
	first_word(read_text(d, "sys/kernel/memio/sampling", text, sizeof(text)));
	if (!strcmp(text, "never")) {
		say(d, "valid", WRONG, "never", "echo auto >/sys/kernel/memio/sampling",
		    "root has forbidden memio to read the caches' counters: an IO byte counts as a memory byte");
		return;
	}
	for (i = 0; i < 20; i++) {
		first_word(read_text(d, "sys/kernel/memio/valid", text, sizeof(text)));
		if (!strcmp(text, "1") || (io && !strcmp(io->word, "ok")) ||
		    *memio_root(d->m))
			break;
		nanosleep(&pause, NULL);
		if (d->has_state)
			memio_group_state(d->m, "/", &d->state);
		io = memio_flat_find(&d->state, "io");
	}
	if (!strcmp(text, "1") || (io && !strcmp(io->word, "ok")))
		say(d, "valid", GOOD, "ok", "", "the counters are being read, and estimates are valid");
	else if (io && strcmp(io->word, "held"))
		say(d, "valid", WRONG, io->word, strcmp(io->word, "warming") ?
		    "memio(7) has the words of memio.state" :
		    "run memio doctor again in a second: the kernel has just begun to read the counters",
		    "estimates are not valid: memio.state says io %s%s", io->word,
		    holders(d, text, sizeof(text)));
	else
		say(d, "valid", WRONG, "held",
		    "end what counts events of the uncore, such as perf stat -a, pcm or a profiler",
		    "other programs hold the caches' counters: estimates are not valid%s",
		    holders(d, text, sizeof(text)));
}

static void cpu(struct doctor *d)
{
	const struct memio_capability *c = memio_can(d->m, "cpu");
	const struct memio_pair *word = memio_flat_find(&d->state, "cpu");
	char todo[500];

	if (!memio_mount(d->m) || !c)
		return;
	if (is_bpf(d) || !there(d, "sys/kernel/memio")) {
		if (c->there)
			say(d, "cpu", GOOD, "counted", "", "%s", c->why);
		else if (is_bpf(d))
			say(d, "cpu", HINT, "not-counted", "", "%s", c->why);
		return;
	}
	if (word && !strcmp(word->word, "absent")) {
		say(d, "cpu", HINT, "absent",
		    "limit io instead: the kernel refuses a limit of cpu, and one of total holds IO bytes alone",
		    "this machine has no counter of what CPUs read: %s", c->why);
	} else if (word && !strcmp(word->word, "held")) {
		say(d, "cpu", HINT, "held",
		    "end what counts events of CPUs, such as perf stat or a profiler",
		    "other programs hold the counter of what CPUs read: %s", c->why);
	} else if (c->there) {
		say(d, "cpu", GOOD, "counted", "", "what CPUs read is counted");
	} else {
		snprintf(todo, sizeof(todo),
			 "echo on >%s/memio.cpu has the kernel count it; so does a limit of cpu or total, a guarantee or a weight",
			 memio_mount(d->m));
		say(d, "cpu", HINT, "not-counted", todo, "%s", c->why);
	}
}

/* ---- DMA that nobody accounts ---- */

#define DISAGREES_TODO \
	"look for RDMA, VFIO, DPDK, AF_XDP with zero copy, graphics or accelerators; figures of IO bytes lack what they move"

/* A number behind a key, in a line; @otherwise without the key */
static long number_behind(const char *line, const char *key, long otherwise)
{
	const char *at = strstr(line, key);

	return at ? strtol(at + strlen(key), NULL, 10) : otherwise;
}

static void agrees(struct doctor *d)
{
	const struct memio_pair *io = memio_flat_find(&d->state, "io");
	static char text[65536];
	char *line, *left = NULL;
	long to = 0, from = 0, ok = -1;

	read_text(d, "sys/kernel/debug/memio/samples", text, sizeof(text));
	/* Each package has a line with it: the first one that disagrees, or the last one */
	for (line = strtok_r(text, "\n", &left); line && ok; line = strtok_r(NULL, "\n", &left)) {
		if (!strstr(line, "check_to="))
			continue;
		to = number_behind(line, "check_to=", 0);
		from = number_behind(line, "check_from=", 0);
		ok = number_behind(line, " ok=", 1);
	}
	if (ok >= 0) {
		json_object_set_new(d->report, "check_to", json_integer(to));
		json_object_set_new(d->report, "check_from", json_integer(from));
	}
	if (!ok)
		say(d, "agrees", WRONG, "disagrees", DISAGREES_TODO,
		    "devices do DMA that memio does not account, or the other way round: the counters saw %ld bytes to devices and %ld from them for 1000 accounted",
		    to, from);
	else if (io && !strcmp(io->word, "disagrees"))
		say(d, "agrees", WRONG, "disagrees", DISAGREES_TODO,
		    "devices do DMA that memio does not account, or the counts cannot be right: memio.state says io disagrees");
	else if (ok > 0)
		say(d, "agrees", GOOD, "agrees", "",
		    "the counters agree with what is accounted: %ld and %ld bytes for 1000 to and from devices",
		    to, from);
	else if (!d->is_root && there(d, "sys/kernel/memio"))
		say(d, "agrees", HINT, "not-seen", "run memio doctor as root",
		    "whether the counters agree with what is accounted is in debugfs, which is root's");
}

static void unpriced(struct doctor *d)
{
	const struct memio_line *total = memio_stat_find(&d->figures, "total");
	const uint64_t io = memio_get(total, MEMIO_IO_TO) + memio_get(total, MEMIO_IO_FROM);

	if (io)
		json_object_set_new(d->report, "unpriced_permille",
				    json_integer(memio_unpriced(total) * 1000. / io));
	json_object_set_new(d->report, "devices", json_integer((json_int_t)d->figures.n));
}

/* ---- limits ---- */

struct limited {
	struct doctor *d;
	unsigned int groups, limits, free_tasks, mins;
	uint64_t invalid, no_slot;
	char names[300], under[4096];
};

static int look_at_task(pid_t tid, void *arg)
{
	struct limited *l = arg;
	struct memio_task t;
	char name[sizeof(l->names)];
	size_t n = strlen(l->names);
	int length;

	if (memio_task_info(l->d->m, tid, 0, true, &t) || t.policy == SCHED_OTHER ||
	    t.policy == SCHED_BATCH || t.policy == SCHED_IDLE)
		return 0;
	length = snprintf(name, sizeof(name), "%s%s (%d, in %s)", n ? ", " : "", t.comm, tid,
			  t.group);
	if (length > 0 && n + length < sizeof(l->names))
		memcpy(l->names + n, name, length + 1);
	l->free_tasks++;
	return 0;
}

static int look_at_tasks(const struct memio_group *g, void *arg)
{
	struct limited *l = arg;

	memio_group_tasks(l->d->m, g->path, true, look_at_task, l);
	return 0;
}

static int look_at_group(const struct memio_group *g, void *arg)
{
	struct limited *l = arg;
	struct memio_limits limits = { 0 };
	struct memio_flat events = { 0 };
	uint64_t min;

	l->groups++;
	if (!g->accounted)
		return 0;
	if (!memio_group_events(l->d->m, g->path, MEMIO_LOCAL, &events)) {
		l->invalid += memio_flat_get(&events, "invalid");
		l->no_slot += memio_flat_get(&events, "no_slot");
	}
	memio_flat_free(&events);
	if (!strcmp(g->path, "/"))
		return 0;
	if (!memio_group_limits(l->d->m, g->path, &limits) && limits.n) {
		const size_t n = strlen(l->under);

		l->limits++;
		/* All tasks below it at once: a limit of a group below it is not another reason. */
		if (!n || strncmp(g->path, l->under, n) || g->path[n] != '/') {
			snprintf(l->under, sizeof(l->under), "%s", g->path);
			memio_groups(l->d->m, g->path, look_at_tasks, l);
		}
	}
	memio_limits_free(&limits);
	if (!memio_group_value(l->d->m, g->path, MEMIO_MIN, &min) && min)
		l->mins++;
	return 0;
}

static void limits(struct doctor *d)
{
	const struct memio_capability *c = memio_can(d->m, "guaranteed");
	struct limited l = { .d = d };
	const bool can_guarantee = c && c->there;

	if (!memio_mount(d->m) || !there(d, "sys/kernel/memio"))
		return;
	memio_groups(d->m, "/", look_at_group, &l);
	json_object_set_new(d->report, "groups", json_integer(l.groups));
	json_object_set_new(d->report, "groups_with_limits", json_integer(l.limits));
	json_object_set_new(d->report, "tasks_no_limit_stops", json_integer(l.free_tasks));
	if (l.free_tasks)
		say(d, "tasks", WRONG, "not-stopped",
		    "chrt -o -p 0 TID gives a task an ordinary policy; or leave it out of the group",
		    "%u tasks in groups with limits can't be stopped, as their policy is a real-time one or sched_ext: %s",
		    l.free_tasks, l.names);
	else if (l.limits)
		say(d, "tasks", GOOD, "all-stopped", "",
		    "%u groups have limits, which can stop all of their tasks", l.limits);
	if (l.mins && !can_guarantee)
		say(d, "guarantee", WRONG, "no-guarantee", "memio guarantee --set",
		    "%u groups have a guarantee (memio.min), which has no effect: nobody has said what the memory gives",
		    l.mins);
	if (l.no_slot)
		say(d, "slots", WRONG, "no-slot",
		    "look which group it is: no_slot in memio.events.local; it takes fewer tasks in this group, or a higher memory.max, or a boot without memio_owners=",
		    "%" PRIu64 " times there was no id or no memory to charge a task: some figures are too low",
		    l.no_slot);
	if (l.invalid)
		say(d, "invalid", HINT, "invalid", "see whether the counters are held, above",
		    "groups with limits had estimates that were not valid %" PRIu64 " times",
		    l.invalid);
}

/* ---- the memory controllers ---- */

static void say_over(struct doctor *d, const struct watch_way *way, const char *what)
{
	char least[FIGURE_TEXT], counted[FIGURE_TEXT];

	say(d, "controllers", WRONG, "too-much",
	    "please send the report of 'memio doctor --watch 60 --report FILE' to memio's authors",
	    "memio says that %s or more were %s, and the memory controllers counted %s",
	    bytes_text(way->beside_least, least), what, bytes_text(way->controllers, counted));
}

static void controllers(struct doctor *d)
{
	const struct watch *w = &d->watch;
	char text[2][2][FIGURE_TEXT];

	if (!d->seconds)
		return;
	if (!strcmp(memio_backend(d->m), "none")) {
		say(d, "controllers", HINT, "no-figures", "see the kernel above",
		    "the memory controllers were not watched: memio has no figures to compare with them");
		return;
	}
	watch(d->m, d->seconds, &d->watch);
	json_object_set_new(d->report, "watch", watch_json(w));
	if (!w->counted)
		say(d, "controllers", HINT, "none", d->is_root ? "" : "run memio doctor as root",
		    "the memory controllers can't be asked: %s", *w->no_controllers ?
		    w->no_controllers : "other programs hold their counters");
	if (w->counted && watch_over(&w->read))
		say_over(d, &w->read, "read");
	if (w->counted && watch_over(&w->write))
		say_over(d, &w->write, "written");
	if (w->counted && !watch_over(&w->read) && !watch_over(&w->write))
		say(d, "controllers", GOOD, "agree", "",
		    "in %u seconds the memory controllers counted %s read and %s written, of which memio explains %s and %s",
		    w->counted, bytes_text(w->read.controllers, text[0][0]),
		    bytes_text(w->write.controllers, text[0][1]),
		    bytes_text(w->read.beside, text[1][0]),
		    bytes_text(w->write.beside, text[1][1]));
}

/* In the order in which one depends on another */
static void (*const checks[])(struct doctor *d) = {
	kernel, enabled, hierarchy, controller, processor, pmus, source, valid, cpu, agrees,
	unpriced, limits, controllers,
};

/* ---- what it says ---- */

static void print(const struct doctor *d)
{
	size_t i;

	for (i = 0; i < d->n; i++) {
		const struct finding *f = &d->found[i];

		printf("%-6s %s\n", level_names[f->level], f->text);
		if (*f->todo)
			printf("       -> %s\n", f->todo);
	}
}

static json_t *findings_json(const struct doctor *d, bool with_texts)
{
	json_t *list = json_array(), *one;
	size_t i;

	for (i = 0; i < d->n; i++) {
		const struct finding *f = &d->found[i];

		one = json_pack("{s:s, s:s, s:o}", "check", f->check, "level",
				level_names[f->level], "code", json_name(f->code));
		if (with_texts) {
			json_object_set_new(one, "text", json_name(f->text));
			json_object_set_new(one, "todo", json_name(f->todo));
		}
		json_array_append_new(list, one);
	}
	return list;
}

/* Of the kernel's version without what a builder may have put behind it */
static int write_report(struct doctor *d, const char *path)
{
	FILE *to = fopen(path, "we");
	json_t *j = json_begin();
	struct utsname u;

	if (!to) {
		complain_errno("%s", path);
		json_decref(j);
		return STATUS_FAILED;
	}
	uname(&u);
	u.release[strspn(u.release, "0123456789.")] = '\0';
	json_object_set_new(j, "kernel", json_string(u.release));
	json_object_update(j, d->report);
	json_object_set_new(j, "findings", findings_json(d, false));
	json_end(j, to);
	if (fclose(to)) {
		complain_errno("%s", path);
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

/* Before an hour of watching; an earlier report stays until there is another. */
static bool can_write(const char *path)
{
	FILE *f = fopen(path, "ae");

	if (f)
		fclose(f);
	else
		complain_errno("%s", path);
	return f;
}

static int examine(struct doctor *d, const char *report, bool json, bool csv)
{
	enum level worst = GOOD;
	int status = STATUS_OK;
	json_t *j;
	size_t i;

	if (report && !can_write(report))
		return STATUS_FAILED;
	for (i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		checks[i](d);
	for (i = 0; i < d->n; i++)
		if (d->found[i].level > worst)
			worst = d->found[i].level;
	if (json) {
		j = json_begin();
		json_object_set_new(j, "backend", json_string(memio_backend(d->m)));
		json_object_set_new(j, "worst", json_string(level_names[worst]));
		json_object_set_new(j, "findings", findings_json(d, true));
		json_end(j, stdout);
	} else if (csv) {
		j = findings_json(d, true);
		csv_table(j, stdout);
		json_decref(j);
	} else {
		print(d);
	}
	if (report)
		status = write_report(d, report);
	if (status != STATUS_OK)
		return status;
	/* A hint is no fault: all works, as far as this machine goes. */
	return worst == UNABLE ? STATUS_UNABLE : worst == WRONG ? STATUS_NEGATIVE : STATUS_OK;
}

static int cmd_doctor(int argc, char **argv)
{
	static struct doctor d;
	const char *report = NULL, *backend;
	char *group = NULL;
	struct options o;
	int opt, status = STATUS_OK, err;
	struct memio_task self;

	if (!everyday_backend(argc, argv, &backend, &status))
		return status;
	options_begin(&o, argc, argv);
	while ((opt = options_get(&o, &status)) > 0)
		if (opt == OPT_REPORT)
			report = optarg;
		else if (opt == OPT_WATCH && !number("watch", optarg, 1, WATCH_MOST, &d.seconds))
			return STATUS_USAGE;
	if (opt < 0)
		return status;
	if (o.argc > 1) {
		complain("one group at a time");
		return STATUS_USAGE;
	}
	d.m = everyday_open(backend, &status);
	if (!d.m)
		return status;
	d.is_root = !geteuid();
	d.report = json_object();
	if (o.argc) {
		err = memio_group_resolve(d.m, o.argv[0], &group);
		if (err) {
			status = everyday_status(d.m, err, NULL);
			goto out;
		}
	} else if (!memio_task_info(d.m, getpid(), 0, true, &self) && *self.group) {
		group = strdup(self.group);
	}
	d.group = group ?: "/";
	memio_group_stat(d.m, "/", MEMIO_TREE, &d.figures);
	d.has_state = !memio_group_state(d.m, "/", &d.state);
	status = examine(&d, report, options_had(&o, OPT_JSON), options_had(&o, OPT_CSV));
out:
	free(group);
	memio_stat_free(&d.figures);
	memio_flat_free(&d.state);
	json_decref(d.report);
	memio_close(d.m);
	return status;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "check what memio needs on this machine, and say what to do",
	.usage = "[OPTION...] [GROUP]",
	.about = "Checks all that memio's figures and limits need: the kernel, and the controller "
		 "down to GROUP (default: the group in which this command runs). Also checks the "
		 "processor and its counters, DMA that memio does not see, and tasks that no "
		 "limit can stop. Says what to do if a check finds something.",
	.notes = "The status is 0 if all that this machine can do works, and 1 if something is "
		 "wrong. The status is 77 if neither the kernel nor BPF programs can count, or "
		 "no cgroup v2 hierarchy is mounted.",
	.option = options,
	.arguments = COMPLETES_GROUP,
	.main = cmd_doctor,
};

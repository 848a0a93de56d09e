// SPDX-License-Identifier: GPL-2.0
/*
 * In the guest: those actors of the stress (ci/soak.d/stress) that do nothing but write
 * and read the kernel's files, and do it too often for a shell
 *
 *	actors groups SECONDS SEED DIRECTORY DISK FILES ADDRESS
 *		makes groups below DIRECTORY, four deep, with tasks in them that do IO: read
 *		DISK, make pages of files in FILES dirty, send to ADDRESS; moves, freezes and
 *		kills the tasks, takes controllers away, and removes the groups
 *	actors moves SECONDS SEED DIRECTORY
 *		moves whatever runs in one of DIRECTORY's groups to another
 *	actors cpus SECONDS SEED CPU...
 *		takes one of them offline or back, all are online in the end
 *	actors settings SECONDS SEED
 *		writes /sys/kernel/memio, good values and bad
 *	actors readers SECONDS SEED GROUP...
 *		reads memio.stat of all groups, membw of all tasks, settings and samples. Sums of
 *		the root and of the GROUPs, which stay, never go back; nothing unclaimed is
 *		less than nothing
 *	actors traces SECONDS SEED
 *		switches tracepoints, and reads what they say
 *
 * What they try follows from the SEED; when, and what comes of it, does not. In the end each
 * prints how often it did what (`KIND COUNT`). The status is 1 if something was wrong,
 * which is told.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE		4096
#define TRACING		"/sys/kernel/tracing/"
#define SETTINGS	"/sys/kernel/memio/"
#define CGROUP		"/sys/fs/cgroup"

static const char *role;
static double until;
static uint64_t seed;
static bool failed;
static volatile sig_atomic_t stopped;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static bool more(void)
{
	return !stopped && now() < until;
}

static void on_term(int sig)
{
	stopped = sig;
}

/* splitmix64 */
static uint64_t rnd(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* from 0 to @n - 1 */
static unsigned int below(unsigned int n)
{
	return rnd() % n;
}

static __attribute__((format(printf, 1, 2))) void wrong(const char *fmt, ...)
{
	va_list ap;

	failed = true;
	fprintf(stderr, "%s: ", role);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* ---- how often what was done ---- */

static struct {
	const char *kind;
	unsigned long count;
} counts[64];

static void did(const char *kind, unsigned long n)
{
	unsigned int i;

	for (i = 0; counts[i].kind && strcmp(counts[i].kind, kind); i++)
		if (i == sizeof(counts) / sizeof(counts[0]) - 2)
			abort();
	counts[i].kind = kind;
	counts[i].count += n;
}

static void show_counts(void)
{
	unsigned int i;

	for (i = 0; counts[i].kind; i++)
		printf("%s %lu\n", counts[i].kind, counts[i].count);
}

/* ---- files ---- */

static char *path(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *path(const char *fmt, ...)
{
	static char paths[4][PATH_MAX];
	static unsigned int next;
	char *p = paths[next++ % 4];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p, PATH_MAX, fmt, ap);
	va_end(ap);
	return p;
}

/* 0, or what the kernel says */
static int put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = errno;
	close(fd);
	return ret;
}

/*
 * How many bytes it has; -1: it can't be read. @text: where they go, as a string; NULL: they are
 * not wanted, and some MiB are enough.
 */
static ssize_t get(const char *file, char *text, size_t size)
{
	int fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	static char nowhere[65536];
	ssize_t n, all = 0;

	if (fd < 0)
		return -1;
	do {
		n = text ? read(fd, text + all, size - 1 - all) :
			   read(fd, nowhere, sizeof(nowhere));
		if (n > 0)
			all += n;
	} while (n > 0 && all < (text ? (ssize_t)size - 1 : 1 << 22));
	close(fd);
	if (text)
		text[all] = '\0';
	return all || n >= 0 ? all : -1;
}

/* Any line of a file, which is a number; -1: there is none. */
static long any_number(const char *file)
{
	char text[65536], *p;
	unsigned int lines = 0, n;

	if (get(file, text, sizeof(text)) <= 0)
		return -1;
	for (p = text; (p = strchr(p, '\n')); p++)
		lines++;
	if (!lines)
		return -1;
	n = below(lines);
	for (p = text; n--; p++)
		p = strchr(p, '\n');
	return atol(p);
}

/* ---- groups ---- */

#define GROUPS		24
#define DEPTH		4
#define TASKS		12

static struct group {
	bool used;
	int parent;		/* -1: the directory */
	int depth;
	unsigned int children;
	char path[256];
} groups[GROUPS];

static pid_t tasks[TASKS];		/* 0: none */

static const char *directory, *disk, *files, *address;

static const char *group_path(int g)
{
	return g < 0 ? directory : groups[g].path;
}

/* -1 if there is none */
static int any_group(void)
{
	unsigned int i, n = below(GROUPS);

	for (i = 0; i < GROUPS; i++)
		if (groups[(n + i) % GROUPS].used)
			return (n + i) % GROUPS;
	return -1;
}

static void make_group(void)
{
	static unsigned long made;
	int parent = below(3) ? any_group() : -1;
	int i;

	if (parent >= 0 && groups[parent].depth == DEPTH)
		parent = -1;
	for (i = 0; i < GROUPS && groups[i].used; i++)
		;
	if (i == GROUPS)
		return;
	/* Refused if there are tasks in it. */
	if (below(3) && put(path("%s/cgroup.subtree_control", group_path(parent)),
			    below(2) ? "+memio" : "+memio +memory +io"))
		did("controllers-refused", 1);
	snprintf(groups[i].path, sizeof(groups[i].path), "%s/%lu", group_path(parent), made++);
	if (mkdir(groups[i].path, 0755)) {
		wrong("mkdir %s: %s", groups[i].path, strerror(errno));
		return;
	}
	groups[i].used = true;
	groups[i].parent = parent;
	groups[i].depth = parent < 0 ? 1 : groups[parent].depth + 1;
	groups[i].children = 0;
	if (parent >= 0)
		groups[parent].children++;
	did("groups-made", 1);
}

static void remove_group(void)
{
	int g = any_group(), tries = 50;

	while (g >= 0 && groups[g].children)
		for (g = 0; !groups[g].used || groups[g].children; g++)
			;
	if (g < 0)
		return;
	while (rmdir(groups[g].path)) {
		if (errno != EBUSY) {
			wrong("rmdir %s: %s", groups[g].path, strerror(errno));
			return;
		}
		if (!tries-- || put(path("%s/cgroup.kill", groups[g].path), "1")) {
			did("groups-busy", 1);
			return;
		}
		usleep(10000);
	}
	groups[g].used = false;
	if (groups[g].parent >= 0)
		groups[groups[g].parent].children--;
	did("groups-removed", 1);
}

static void *page(void)
{
	void *p = aligned_alloc(PAGE, PAGE);

	if (!p)
		_exit(0);
	memset(p, 1, PAGE);
	return p;
}

static void *read_disk(void *unused)
{
	int fd = open(disk, O_RDONLY | O_DIRECT), n = 20 + below(200);
	char *to = page();

	while (n-- && pread(fd, to, PAGE, (off_t)below(4096) * PAGE) == PAGE)
		;
	close(fd);
	free(to);
	return unused;
}

/* What one leaves behind: pages that are still dirty. */
static void make_dirty(bool mapped)
{
	size_t size = (1 + below(512)) * PAGE;
	int fd = open(path("%s/dirty.%u", files, below(8)), O_RDWR | O_CREAT, 0600);
	char *p = page();
	size_t i;

	if (mapped && !ftruncate(fd, size)) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		/* Another may have made it shorter meanwhile: that is the end of this task. */
		for (i = 0; p != MAP_FAILED && i < size; i += PAGE)
			p[i] = i;
	} else {
		for (i = 0; i < size; i += PAGE)
			if (write(fd, p, PAGE) < 0)
				break;
	}
	if (!below(4))
		fdatasync(fd);
	else if (!below(4) && ftruncate(fd, 0))
		_exit(0);
}

static void send_packets(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), n = 20 + below(200);
	char *p = page();

	inet_pton(AF_INET, address, &to.sin_addr);
	while (n--)
		/* Nobody listens, which comes back as an error now and then. */
		if (sendto(fd, p, 1 + below(1400), 0, (void *)&to, sizeof(to)) < 0 &&
		    errno != ECONNREFUSED)
			break;
}

static void read_in_children(void)
{
	int n = 5 + below(20);
	pid_t pid;

	while (n--) {
		pid = fork();
		if (!pid) {
			read_disk(NULL);
			_exit(0);
		}
		if (pid > 0 && below(2))
			waitpid(pid, NULL, 0);
	}
}

static __attribute__((noreturn)) void task(void)
{
	pthread_t thread[4];
	unsigned int i, n;

	signal(SIGTERM, SIG_DFL);
	switch (below(6)) {
	case 0:
		/* It goes on until it is killed. */
		for (i = 0; i < 1000; i++)
			read_disk(NULL);
		break;
	case 1:
		make_dirty(false);
		break;
	case 2:
		make_dirty(true);
		break;
	case 3:
		send_packets();
		break;
	case 4:
		read_in_children();
		break;
	default:
		n = 1 + below(4);
		for (i = 0; i < n; i++)
			if (pthread_create(&thread[i], NULL, read_disk, NULL))
				_exit(0);
		if (below(2))
			pthread_exit(NULL);
	}
	_exit(0);
}

static void start_task(void)
{
	int g = any_group(), i;
	uint64_t its_seed = rnd();
	const char *procs;

	for (i = 0; i < TASKS && tasks[i]; i++)
		;
	if (g < 0 || i == TASKS)
		return;
	procs = path("%s/cgroup.procs", group_path(g));
	tasks[i] = fork();
	if (tasks[i] < 0)
		err(1, "fork");
	if (!tasks[i]) {
		seed = its_seed;
		/* Not where controllers are on for the groups below. */
		if (put(procs, "0"))
			_exit(1);
		task();
	}
	did("tasks", 1);
}

static void bury_tasks(void)
{
	unsigned int i;

	for (i = 0; i < TASKS; i++)
		if (tasks[i] && waitpid(tasks[i], NULL, WNOHANG) == tasks[i])
			tasks[i] = 0;
}

static void move_task(void)
{
	int g = any_group(), i = below(TASKS);

	if (g < 0 || !tasks[i])
		return;
	did(put(path("%s/cgroup.procs", group_path(g)), path("%d", tasks[i])) ?
	    "moves-refused" : "moves", 1);
}

static void freeze_group(void)
{
	int g = any_group();
	const char *freeze = path("%s/cgroup.freeze", group_path(g));

	if (g < 0 || put(freeze, "1"))
		return;
	usleep(below(50000));
	if (below(2))
		move_task();
	put(freeze, "0");
	did("freezes", 1);
}

static void take_controllers(void)
{
	int g = any_group();

	if (g >= 0)
		did(put(path("%s/cgroup.subtree_control", group_path(g)),
			below(2) ? "-memio" : "-memio -memory -io") ?
		    "controllers-refused" : "controllers-taken", 1);
}

static void reclaim_memory(void)
{
	int g = any_group();

	if (g >= 0 && !put(path("%s/memory.reclaim", group_path(g)), "1M"))
		did("reclaims", 1);
}

static void act_groups(char **args)
{
	unsigned int what, i;
	int tries;

	directory = args[0];
	disk = args[1];
	files = args[2];
	address = args[3];
	while (more()) {
		bury_tasks();
		what = below(100);
		if (what < 20)
			make_group();
		else if (what < 50)
			start_task();
		else if (what < 70)
			move_task();
		else if (what < 88)
			remove_group();
		else if (what < 92)
			freeze_group();
		else if (what < 97)
			take_controllers();
		else
			reclaim_memory();
		if (!below(4))
			usleep(below(20000));
	}
	put(path("%s/cgroup.kill", directory), "1");
	for (i = 0; i < TASKS; i++)
		if (tasks[i])
			waitpid(tasks[i], NULL, 0);
	for (i = 0; i < GROUPS; i++)
		for (tries = 0; any_group() >= 0 && tries < 100; tries++)
			remove_group();
	if (any_group() >= 0)
		wrong("%s can't be removed", group_path(any_group()));
}

/* ---- moves ---- */

static void act_moves(char **args)
{
	char name[64][64];
	unsigned int n = 0;
	struct dirent *e;
	long pid;
	DIR *d;

	d = opendir(args[0]);
	while (d && (e = readdir(d)))
		if (e->d_type == DT_DIR && e->d_name[0] != '.' && n < 64)
			snprintf(name[n++], sizeof(name[0]), "%.63s", e->d_name);
	if (d)
		closedir(d);
	if (n < 2)
		errx(2, "%s: no groups", args[0]);
	while (more()) {
		pid = any_number(path("%s/%s/cgroup.procs", args[0], name[below(n)]));
		/* It may be gone. */
		if (pid > 0 && !put(path("%s/%s/cgroup.procs", args[0], name[below(n)]),
				    path("%ld", pid)))
			did("moves", 1);
		usleep(below(100000));
	}
}

/* ---- cpus ---- */

static void act_cpus(char **args)
{
	unsigned int n = 0, i, tries;
	char value[8];
	const char *file;
	int ret;

	while (args[n])
		n++;
	while (more()) {
		file = path("/sys/devices/system/cpu/cpu%s/online", args[below(n)]);
		get(file, value, sizeof(value));
		ret = put(file, value[0] == '1' ? "0" : "1");
		if (!ret)
			did(value[0] == '1' ? "cpus-offline" : "cpus-online", 1);
		else if (ret == EBUSY)
			did("cpus-busy", 1);
		else
			wrong("%s: %s", file, strerror(ret));
		usleep(20000 + below(1000000));
	}
	for (i = 0; i < n; i++) {
		file = path("/sys/devices/system/cpu/cpu%s/online", args[i]);
		for (tries = 0; tries < 100; tries++) {
			if (get(file, value, sizeof(value)) > 0 && value[0] == '1')
				break;
			put(file, "1");
			usleep(10000);
		}
		if (tries == 100)
			wrong("CPU %s does not come back", args[i]);
	}
}

/* ---- settings ---- */

static void set(const char *name, const char *value, int wanted)
{
	int ret = put(path(SETTINGS "%s", name), value);

	if (ret != wanted)
		wrong("%s to %s: %s", value, name, strerror(ret));
	did(wanted ? "settings-refused" : "settings", 1);
}

static void act_settings(char **args)
{
	static const char * const estimators[] = { "seed", "miss", "dirty", "device" };

	(void)args;
	while (more()) {
		switch (below(8)) {
		case 0:
			set("enabled", "0", 0);
			usleep(below(300000));
			set("enabled", "1", 0);
			break;
		case 1:
			set("estimator", estimators[below(4)], 0);
			break;
		case 2:
			set("sample_interval_us", path("%u", 1000 << below(10)), 0);
			break;
		case 3:
			set("sample_hold_ms", path("%u", 100 << below(8)), 0);
			break;
		case 4:
			set("estimator", "none", EINVAL);
			break;
		case 5:
			set("sample_interval_us", path("%u", below(1000)), ERANGE);
			break;
		case 6:
			set("sample_hold_ms", path("%u", 3600001 + below(1000)), ERANGE);
			break;
		case 7:
			set("enabled", "maybe", EINVAL);
			break;
		}
		usleep(below(300000));
	}
	set("enabled", "1", 0);
	set("estimator", "device", 0);
	set("sample_interval_us", "10000", 0);
	set("sample_hold_ms", "5000", 0);
}

/* ---- readers ---- */

enum { TO, FROM, READ, WRITE, UNPRICED, UNCLAIMED_TO, UNCLAIMED_FROM, FIELDS };

/* Others, as "valid" of what CPUs read, are no sums. */
static const char * const field_name[FIELDS] = {
	"io_to", "io_from", "mem_read", "mem_write", "unpriced",
	"unclaimed_to", "unclaimed_from",
};

#define SUMS		512

/* What was seen last, of a group and a line of its file. */
static struct sums {
	char key[128];
	long long v[FIELDS];
} sums[SUMS];

static struct sums *sums_of(const char *key)
{
	unsigned int i;

	for (i = 0; i < SUMS && sums[i].key[0]; i++)
		if (!strcmp(sums[i].key, key))
			return &sums[i];
	if (i == SUMS)
		errx(2, "more than %d sums", SUMS);
	snprintf(sums[i].key, sizeof(sums[i].key), "%s", key);
	return &sums[i];
}

static void check_line(const char *group, char *line)
{
	char *word, *save, *value, was[256];
	struct sums *s;
	long long v;
	int i;

	snprintf(was, sizeof(was), "%s", line);
	word = strtok_r(line, " ", &save);
	if (!word)
		return;
	s = sums_of(path("%s %s", group, word));
	while ((word = strtok_r(NULL, " ", &save))) {
		value = strchr(word, '=');
		if (!value)
			continue;
		*value++ = '\0';
		for (i = 0; i < FIELDS && strcmp(word, field_name[i]); i++)
			;
		if (i == FIELDS)
			continue;
		v = strtoll(value, NULL, 10);
		if (i >= UNCLAIMED_TO && v < 0)
			wrong("%s: less than nothing is unclaimed: %s", group, was);
		if (i < UNCLAIMED_TO && v < s->v[i])
			wrong("%s: %s was %lld: %s", group, word, s->v[i], was);
		s->v[i] = v;
	}
}

static void check_stat(const char *group)
{
	static char text[65536];
	char *line, *save;

	if (get(path("%s/memio.stat", group), text, sizeof(text)) <= 0) {
		wrong("%s: memio.stat can't be read", group);
		return;
	}
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		check_line(group, line);
	did("reads-checked", 1);
}

/* What is read may be gone by now. */
static int read_group(const char *dir, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type != FTW_D)
		return 0;
	if (get(path("%s/memio.stat", dir), NULL, 0) > 0)
		did("reads-of-groups", 1);
	get(path("%s/memio.events.local", dir), NULL, 0);
	return !more();
}

static void read_tasks(void)
{
	DIR *proc = opendir("/proc"), *threads;
	struct dirent *p, *t;

	while (proc && more() && (p = readdir(proc))) {
		if (p->d_name[0] < '0' || p->d_name[0] > '9')
			continue;
		if (get(path("/proc/%s/membw", p->d_name), NULL, 0) > 0)
			did("reads-of-tasks", 1);
		threads = below(4) ? NULL : opendir(path("/proc/%s/task", p->d_name));
		while (threads && (t = readdir(threads)))
			if (t->d_name[0] != '.' &&
			    get(path("/proc/%s/task/%s/membw", p->d_name, t->d_name), NULL, 0) > 0)
				did("reads-of-tasks", 1);
		if (threads)
			closedir(threads);
	}
	if (proc)
		closedir(proc);
}

/* As who may not make the sampler run, nor have stocks drained as often as he likes. */
static void be_nobody(bool nobody)
{
	if (seteuid(nobody ? 65534 : 0))
		err(1, "seteuid");
}

static void act_readers(char **groups_that_stay)
{
	static const char * const settings[] = {
		"enabled", "source", "valid", "estimator", "sample_interval_us", "sample_hold_ms",
	};
	unsigned int i;

	while (more()) {
		switch (below(6)) {
		case 0:
			be_nobody(below(2));
			nftw(CGROUP, read_group, 16, FTW_PHYS);
			be_nobody(false);
			break;
		case 1:
			read_tasks();
			break;
		case 2:
			if (get("/sys/kernel/debug/memio/samples", NULL, 0) > 0)
				did("reads-of-samples", 1);
			break;
		case 3:
			for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
				if (get(path(SETTINGS "%s", settings[i]), NULL, 0) > 0)
					did("reads-of-settings", 1);
			break;
		default:
			be_nobody(!below(4));
			check_stat(CGROUP);
			for (i = 0; groups_that_stay[i]; i++)
				check_stat(groups_that_stay[i]);
			be_nobody(false);
		}
		usleep(below(50000));
	}
}

/* ---- traces ---- */

static void act_traces(char **args)
{
	static const char * const events[] = {
		"memio", "memio/memio_charge", "memio/memio_update", "memio/memio_sample",
	};
	const char *event;
	ssize_t n;
	int ret;

	(void)args;
	while (more()) {
		event = events[below(4)];
		switch (below(6)) {
		case 0:
			ret = put(TRACING "events/memio/memio_charge/filter",
				  below(2) ? "0" : "to > 4096 || from > 4096");
			if (ret)
				wrong("filter: %s", strerror(ret));
			did("traces-filtered", 1);
			break;
		case 1:
			n = get(TRACING "trace_pipe", NULL, 0);
			did("trace-bytes", n > 0 ? n : 0);
			break;
		case 2:
			put(TRACING "trace", "");
			break;
		default:
			ret = put(path(TRACING "events/%s/enable", event), below(2) ? "1" : "0");
			if (ret)
				wrong("%s: %s", event, strerror(ret));
			did("traces-switched", 1);
		}
		usleep(below(200000));
	}
	put(TRACING "events/memio/enable", "0");
	put(TRACING "events/memio/memio_charge/filter", "0");
	put(TRACING "trace", "");
}

static const struct {
	const char *name;
	void (*act)(char **args);
	int args;		/* at least */
} roles[] = {
	{ "groups", act_groups, 4 },
	{ "moves", act_moves, 1 },
	{ "cpus", act_cpus, 1 },
	{ "settings", act_settings, 0 },
	{ "readers", act_readers, 0 },
	{ "traces", act_traces, 0 },
};

int main(int argc, char **argv)
{
	unsigned int i;

	for (i = 0; argc > 1 && i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (strcmp(argv[1], roles[i].name) || argc < 4 + roles[i].args)
			continue;
		role = argv[1];
		until = now() + atof(argv[2]);
		seed = strtoull(argv[3], NULL, 0);
		signal(SIGTERM, on_term);
		roles[i].act(argv + 4);
		show_counts();
		return failed;
	}
	errx(2, "usage: see actors.c");
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests of memio share: memio_util.h says what there is.
 *
 * The parser is as strict as Documentation/admin-guide/memio.rst allows: what it knows has
 * to be there in the form it knows, once; what it doesn't know is skipped.
 *
 * The disk below a directory is found by sysfs: from the mount's device through
 * partitions and device mapper down to one that hardware is behind. Its DMA master
 * is one of the devices above it there.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../cgroup/cgroup_util.h"
#include "memio_util.h"

#define SYSFS		"/sys/kernel/memio/"
#define TEXT		(512 * KIB)	/* more than any file here */

/* ---- small things ---- */

/* Of PATH_MAX bytes */
void set_path(char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(path, PATH_MAX, format, args);
	va_end(args);
}

/* Returns its length, without the final zero; or -errno. */
int read_file(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf + len, size - 1 - len)) > 0)
		len += n;
	if (n < 0)
		n = -errno;
	close(fd);
	buf[len] = 0;
	return n < 0 ? n : (ssize_t)len;
}

int write_file(const char *path, const char *text)
{
	int fd, ret = 0;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ret = -errno;
	close(fd);
	return ret;
}

/* A file of /sys/kernel/memio, without the end of its line. */
int memio_get(const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];
	int len;

	set_path(path, SYSFS "%s", name);
	len = read_file(path, buf, size);
	if (len > 0 && buf[len - 1] == '\n')
		buf[len - 1] = 0;
	return len < 0 ? len : 0;
}

int memio_set(const char *name, const char *value)
{
	char path[PATH_MAX];

	set_path(path, SYSFS "%s", name);
	return write_file(path, value);
}

double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

bool wait_for(bool (*is)(void *arg), void *arg, int seconds)
{
	double end = seconds_now() + seconds;

	while (!is(arg)) {
		if (seconds_now() > end)
			return false;
		usleep(20000);
	}
	return true;
}

/* In a child without any privilege; returns what @fn does, or -1. */
int run_as_nobody(int (*fn)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		/* What changes its credentials belongs to root until it says otherwise. */
		if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		    setresuid(NOBODY, NOBODY, NOBODY) || prctl(PR_SET_DUMPABLE, 1))
			_exit(255);
		_exit(fn(arg));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

/* ---- files ---- */

static const char * const field_names[] = {
	[IO_TO] = "io_to",
	[IO_FROM] = "io_from",
	[MEM_READ] = "mem_read",
	[MEM_WRITE] = "mem_write",
	[UNPRICED] = "unpriced",
	[UNPRICED_TO] = "unpriced_to",
	[UNPRICED_FROM] = "unpriced_from",
	[VALID] = "valid",
	[UNCLAIMED_TO] = "unclaimed_to",
	[UNCLAIMED_FROM] = "unclaimed_from",
	[IO_TO_BPS] = "io_to_bps",
	[IO_FROM_BPS] = "io_from_bps",
	[MEM_READ_BPS] = "mem_read_bps",
	[MEM_WRITE_BPS] = "mem_write_bps",
};

static __printf(2, 3) int wrong(struct memio_file *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->why, sizeof(f->why), format, args);
	va_end(args);
	return -1;
}

/* Decimal digits, nothing else; unclaimed bytes may have a sign, to be complained of. */
static bool number(const char *s, bool sign, long long *v)
{
	char *end;

	if (!isdigit(*s) && !(sign && *s == '-' && isdigit(s[1])))
		return false;
	errno = 0;
	*v = strtoll(s, &end, 10);
	return !errno && !*end;
}

static bool word(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!isgraph(*s))
			return false;
	return true;
}

/* The part up to the next space, of which there is one between parts. */
static char *next_part(char **line)
{
	char *part = *line, *space;

	if (!part)
		return NULL;
	space = strchr(part, ' ');
	if (space)
		*space++ = 0;
	*line = space;
	return part;
}

static int parse_field(struct memio_file *f, struct memio_line *l, char *part)
{
	char *value = strchr(part, '=');
	unsigned int i;

	if (!value || value == part)
		return wrong(f, "%s: '%s' is not KEY=VALUE", l->key, part);
	*value++ = 0;
	if (!word(part) || !word(value))
		return wrong(f, "%s: %s has no value", l->key, part);
	if (!strcmp(part, "alias")) {
		if (*l->alias)
			return wrong(f, "%s: alias= twice", l->key);
		snprintf(l->alias, sizeof(l->alias), "%s", value);
		return 0;
	}
	for (i = 0; i < MEMIO_FIELDS; i++)
		if (!strcmp(part, field_names[i]))
			break;
	if (i == MEMIO_FIELDS)
		return 0;
	if (l->has & FIELD(i))
		return wrong(f, "%s: %s= twice", l->key, part);
	if (!number(value, FIELD(i) & UNCLAIMED, &l->field[i]))
		return wrong(f, "%s: %s=%s is no number", l->key, part, value);
	l->has |= FIELD(i);
	return 0;
}

static int parse_line(struct memio_file *f, char *text)
{
	struct memio_line *l;
	char *key, *part;

	key = next_part(&text);
	if (!word(key) || strchr(key, '='))
		return wrong(f, "'%s' is no key", key);
	if (memio_line(f, key))
		return wrong(f, "two lines '%s'", key);
	if (f->lines == ARRAY_SIZE(f->line))
		return wrong(f, "too many lines");
	l = &f->line[f->lines++];
	snprintf(l->key, sizeof(l->key), "%s", key);
	part = next_part(&text);
	if (!part)
		return wrong(f, "'%s' has no fields", key);
	for (; part; part = next_part(&text))
		if (parse_field(f, l, part))
			return -1;
	return 0;
}

static int parse_head(struct memio_file *f, char *text)
{
	struct {
		const char *key;
		long long *value;
	} numbers[] = {
		{ "valid", &f->valid },
		{ "window_us", &f->window_us },
		{ "updated_ns", &f->updated_ns },
	};
	char *key = next_part(&text), *value = next_part(&text);
	char *to = NULL;
	unsigned int i;

	if (!word(key) || !value || !word(value) || text)
		return wrong(f, "'%s ...' is not KEY VALUE", key);
	if (!strcmp(key, "source"))
		to = f->source;
	if (!strcmp(key, "estimator"))
		to = f->estimator;
	if (to) {
		if (*to)
			return wrong(f, "two lines '%s'", key);
		snprintf(to, sizeof(f->source), "%s", value);
	}
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(key, numbers[i].key))
			continue;
		if (*numbers[i].value != -1)
			return wrong(f, "two lines '%s'", key);
		if (!number(value, false, numbers[i].value))
			return wrong(f, "%s %s is no number", key, value);
	}
	return 0;
}

/* Returns 0, or -1, and @f->why says why. */
int memio_parse(const char *text, enum memio_kind kind, struct memio_file *f)
{
	bool head = kind == MEMIO_MEMBW;
	char *copy, *line, *end;
	int ret = 0;

	memset(f, 0, sizeof(*f));
	f->valid = -1;
	f->window_us = -1;
	f->updated_ns = -1;
	copy = strdup(text);
	if (!copy)
		return wrong(f, "no memory");
	for (line = copy; *line && !ret; line = end + 1) {
		end = strchr(line, '\n');
		if (!end) {
			ret = wrong(f, "the last line has no end");
			break;
		}
		*end = 0;
		if (head && !*line)
			head = false;
		else if (head)
			ret = parse_head(f, line);
		else
			ret = parse_line(f, line);
	}
	free(copy);
	if (!ret && head)
		ret = wrong(f, "no empty line after the head");
	return ret;
}

int memio_read(const char *path, enum memio_kind kind, struct memio_file *f)
{
	char *text = malloc(TEXT);
	int ret;

	if (!text)
		return wrong(f, "no memory");
	ret = read_file(path, text, TEXT);
	if (ret < 0)
		ret = wrong(f, "%s: %s", path, strerror(-ret));
	else
		ret = memio_parse(text, kind, f);
	free(text);
	return ret;
}

const struct memio_line *memio_line(const struct memio_file *f, const char *key)
{
	int i;

	for (i = 0; i < f->lines; i++)
		if (!strcmp(f->line[i].key, key))
			return &f->line[i];
	return NULL;
}

/* What CPUs read, for tasks; on the root also cpu_idle and so on */
static bool is_cpu(const struct memio_line *l)
{
	return !strcmp(l->key, "cpu") || !strncmp(l->key, "cpu_", 4);
}

bool memio_is_device(const struct memio_line *l)
{
	return !is_cpu(l) && strcmp(l->key, "total");
}

/* Has each line what it should have, and do they add up? @f->why says why not. */
int memio_check(struct memio_file *f, unsigned int device_fields)
{
	const struct memio_line *cpu = memio_line(f, "cpu"), *total = memio_line(f, "total");
	unsigned int total_fields = device_fields & ~UNCLAIMED, field;
	long long sum[MEMIO_FIELDS] = {};
	int i;

	if (cpu && cpu->has != (FIELD(VALID) | (device_fields & MEMORY)))
		return wrong(f, "cpu: not its fields");
	if (cpu && cpu->field[VALID] > 1)
		return wrong(f, "cpu: valid=%lld", cpu->field[VALID]);
	if (!total || total->has != total_fields)
		return wrong(f, "total: not its fields");
	if ((cpu && *cpu->alias) || *total->alias)
		return wrong(f, "cpu or total: no device has these names");
	for (i = 0; i < f->lines; i++) {
		const struct memio_line *l = &f->line[i];

		if (is_cpu(l)) {
			if ((l->has & ~FIELD(VALID)) != (device_fields & MEMORY))
				return wrong(f, "%s: not a CPU's fields", l->key);
			for (field = 0; field < MEMIO_FIELDS; field++)
				if (MEMORY & FIELD(field))
					sum[field] += l->field[field];
		}
		if (!memio_is_device(l))
			continue;
		if (l->has != device_fields)
			return wrong(f, "%s: not a device's fields", l->key);
		if (l->field[UNPRICED] > l->field[IO_TO] + l->field[IO_FROM])
			return wrong(f, "%s: more is unpriced than was moved", l->key);
		if (l->field[UNPRICED_TO] > l->field[IO_TO] ||
		    l->field[UNPRICED_FROM] > l->field[IO_FROM] ||
		    l->field[UNPRICED_TO] + l->field[UNPRICED_FROM] != l->field[UNPRICED])
			return wrong(f, "%s: what is unpriced in each direction", l->key);
		if (l->field[UNCLAIMED_TO] < 0 || l->field[UNCLAIMED_FROM] < 0)
			return wrong(f, "%s: less than nothing is unclaimed", l->key);
		for (field = 0; field < MEMIO_FIELDS; field++)
			sum[field] += l->field[field];
	}
	for (field = 0; field < MEMIO_FIELDS; field++) {
		/* While CPUs are not counted there is no line of what they read before. */
		if (!cpu && MEMORY & FIELD(field) && sum[field] <= total->field[field])
			continue;
		if (total_fields & FIELD(field) && sum[field] != total->field[field])
			return wrong(f, "total: %s=%lld, but the lines' sum is %lld",
				     field_names[field], total->field[field], sum[field]);
	}
	return 0;
}

struct moved moved_by(const char *path, enum memio_kind kind, const char *device)
{
	struct memio_file *f = malloc(sizeof(*f));
	struct moved moved = { -1, -1 };
	const struct memio_line *l;

	if (!f)
		return moved;
	if (!memio_read(path, kind, f)) {
		l = memio_line(f, device);
		moved.to = l ? l->field[IO_TO] : 0;
		moved.from = l ? l->field[IO_FROM] : 0;
	} else {
		ksft_print_msg("%s: %s\n", path, f->why);
	}
	free(f);
	return moved;
}

struct moved group_moved(const char *group, const char *device)
{
	char path[PATH_MAX];

	set_path(path, "%s/memio.stat", group);
	return moved_by(path, MEMIO_STAT, device);
}

/* 0 is oneself, and the whole process. */
struct moved task_moved(pid_t pid, pid_t tid, const char *device)
{
	char path[PATH_MAX];

	if (!pid)
		pid = getpid();
	if (tid)
		set_path(path, "/proc/%d/task/%d/membw", pid, tid);
	else
		set_path(path, "/proc/%d/membw", pid);
	return moved_by(path, MEMIO_MEMBW, device);
}

/* -1: not readable. Flat-keyed; keys that are not known are skipped. */
long long group_no_slot(const char *group)
{
	char text[4096], path[PATH_MAX], *line, *save, *value;
	long long n = -1;

	set_path(path, "%s/memio.events.local", group);
	if (read_file(path, text, sizeof(text)) < 0)
		return -1;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		value = strchr(line, ' ');
		if (!value)
			return -1;
		*value++ = 0;
		if (!strcmp(line, "no_slot") && (n != -1 || !number(value, false, &n)))
			return -1;
	}
	return n;
}

/* ---- where tests take place ---- */

/* What the command line says of memio, the last time that it does */
static void boot_mode(char *mode, size_t size)
{
	char line[8192], *word, *save;

	snprintf(mode, size, "auto");
	if (read_file("/proc/cmdline", line, sizeof(line)) < 0)
		return;
	line[strcspn(line, "\n")] = 0;
	for (word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!strncmp(word, "memio=", strlen("memio=")))
			snprintf(mode, size, "%s", word + strlen("memio="));
}

static void remove_groups(const char *group)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d;

	d = opendir(group);
	if (!d)
		return;
	while ((e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		set_path(path, "%s/%s", group, e->d_name);
		remove_groups(path);
	}
	closedir(d);
	cg_destroy(group);
}

/* Returns why tests of groups can't be done, or NULL. */
const char *memio_begin(struct memio *m)
{
	char controllers[4096], mode[16];

	memset(m, 0, sizeof(*m));
	if (geteuid())
		return "needs root";
	if (access(SYSFS "enabled", F_OK))
		return "this kernel has no memio";
	if (cg_find_unified_root(m->root, sizeof(m->root), NULL))
		return "cgroup v2 is not mounted";
	if (cg_read(m->root, "cgroup.controllers", controllers, sizeof(controllers)) ||
	    !strstr(controllers, "memio"))
		return "the hierarchy does not have the controller memio";
	m->shared = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (m->shared == MAP_FAILED)
		return "no memory";
	m->base = cg_name(m->root, "memio_test");
	remove_groups(m->base);
	if (memio_get("enabled", m->enabled, sizeof(m->enabled)) ||
	    memio_get("sample_hold_ms", m->hold, sizeof(m->hold)) ||
	    memio_get("sample_interval_us", m->interval, sizeof(m->interval)) ||
	    memio_get("sampling", m->sampling, sizeof(m->sampling)) ||
	    memio_set("enabled", "1"))
		return "memio can't be switched on";
	boot_mode(mode, sizeof(mode));
	m->pages = !strcmp(mode, "tasks") || !strcmp(mode, "on");
	/* It is as groups need it, and the test's are no more then. */
	if (!strcmp(mode, "auto"))
		snprintf(m->enabled, sizeof(m->enabled), "auto");
	return NULL;
}

void memio_end(struct memio *m)
{
	remove_groups(m->base);
	memio_set("enabled", m->enabled);
	memio_set("sample_hold_ms", m->hold);
	memio_set("sample_interval_us", m->interval);
	memio_set("sampling", m->sampling);
	if (m->file)
		unlink(m->file);
	munmap(m->shared, BLOCK);
}

/* A group below the test's, with all between; NULL: it can't be made. */
char *memio_group(struct memio *m, const char *name)
{
	char path[PATH_MAX], *slash;

	set_path(path, "%s/%s", m->base, name);
	slash = path + strlen(m->root);
	for (; slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			return NULL;
		if (cg_write(path, "cgroup.subtree_control", "+memio"))
			return NULL;
		*slash = '/';
	}
	if (mkdir(path, 0755) && errno != EEXIST)
		return NULL;
	return strdup(path);
}

static bool has(const char *dir, const char *name)
{
	char path[PATH_MAX];

	set_path(path, "%s/%s", dir, name);
	return !access(path, F_OK);
}

/* The first entry of a directory; returns how many there are. */
static int first_of(const char *dir, const char *name, char *first)
{
	char path[PATH_MAX], full[PATH_MAX];
	struct dirent *e;
	int n = 0;
	DIR *d;

	set_path(path, "%s/%s", dir, name);
	d = opendir(path);
	if (!d)
		return 0;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		set_path(full, "%s/%s", path, e->d_name);
		if (!n++ && !realpath(full, first))
			n = 0;
	}
	closedir(d);
	return n;
}

/* The head of an NVMe multipath has one disk for each path, which does the IO. */
static bool follow_path(char *path)
{
	int subsystem, namespace, s, c, n, paths = 0;
	char full[PATH_MAX], end;
	struct dirent *e;
	DIR *d;

	if (sscanf(basename(path), "nvme%dn%d%c", &subsystem, &namespace, &end) != 2)
		return false;
	d = opendir("/sys/block");
	if (!d)
		return false;
	while ((e = readdir(d))) {
		if (sscanf(e->d_name, "nvme%dc%dn%d%c", &s, &c, &n, &end) != 3 ||
		    s != subsystem || n != namespace)
			continue;
		set_path(full, "/sys/block/%s", e->d_name);
		paths += !!realpath(full, path);
	}
	closedir(d);
	return paths == 1;
}

/* The device that a directory's file system is mounted from. */
static bool device_of(const char *dir, unsigned int *major, unsigned int *minor)
{
	char line[8192], source[PATH_MAX], *rest;
	struct statx stx;
	struct stat st;
	bool found = false;
	unsigned long id;
	FILE *f;

	if (statx(AT_FDCWD, dir, 0, STATX_MNT_ID, &stx) || !(stx.stx_mask & STATX_MNT_ID))
		return false;
	f = fopen("/proc/self/mountinfo", "r");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lu %*d %u:%u", &id, major, minor) != 3 || id != stx.stx_mnt_id)
			continue;
		rest = strstr(line, " - ");
		found = *major;
		/* Where a file system can have several, the number is not a device's. */
		if (!found && rest && sscanf(rest, " - %*s %4095s", source) == 1 &&
		    !stat(source, &st) && S_ISBLK(st.st_mode)) {
			*major = major(st.st_rdev);
			*minor = minor(st.st_rdev);
			found = true;
		}
		break;
	}
	fclose(f);
	return found;
}

/* Whether a path has a directory of that name in it. */
static bool passes(const char *path, const char *name)
{
	const char *at = path;
	size_t len = strlen(name);

	while ((at = strstr(at, name))) {
		if (at > path && at[-1] == '/' && (at[len] == '/' || !at[len]))
			return true;
		at++;
	}
	return false;
}

static bool is_alias(const char *list, const char *name)
{
	char copy[256], *one, *save;

	snprintf(copy, sizeof(copy), "%s", list);
	for (one = strtok_r(copy, ",", &save); one; one = strtok_r(NULL, ",", &save))
		if (!strcmp(one, name))
			return true;
	return false;
}

/*
 * The bus name of the DMA master of a disk or an interface: one of those above it
 * in sysfs, which memio says it is (that of /proc/self/membw that has it as an alias), or
 * else the PCI function. NULL: there is none.
 */
char *dma_master(const char *device, char *name, size_t size)
{
	char path[PATH_MAX], full[PATH_MAX];
	struct memio_file *f;
	int i;

	set_path(full, "%s/device", device);
	if (!realpath(full, path))
		return NULL;
	f = malloc(sizeof(*f));
	if (f && !memio_read("/proc/self/membw", MEMIO_MEMBW, f)) {
		for (i = 0; i < f->lines; i++) {
			if (!is_alias(f->line[i].alias, strrchr(device, '/') + 1) ||
			    !passes(path, f->line[i].key))
				continue;
			snprintf(name, size, "%s", f->line[i].key);
			free(f);
			return name;
		}
	}
	free(f);
	for (; strlen(path) > strlen("/sys/devices"); *strrchr(path, '/') = 0) {
		if (!has(path, "dma_mask_bits"))
			continue;
		snprintf(name, size, "%s", strrchr(path, '/') + 1);
		return name;
	}
	return NULL;
}

static const char *find_disk(struct memio *m)
{
	static char why[PATH_MAX + 100];
	char path[PATH_MAX], full[PATH_MAX];
	unsigned int major, minor;
	int n;

	if (!device_of(m->dir, &major, &minor)) {
		snprintf(why, sizeof(why), "%s is not on a disk; MEMIO_TEST_DIR= names another",
			 m->dir);
		return why;
	}
	set_path(full, "/sys/dev/block/%u:%u", major, minor);
	if (!realpath(full, path))
		return "the disk is not in sysfs";
	for (;;) {
		if (has(path, "partition"))
			*strrchr(path, '/') = 0;
		n = first_of(path, "slaves", full);
		if (!n)
			break;
		if (n > 1) {
			snprintf(why, sizeof(why), "%s is on several disks", m->dir);
			return why;
		}
		set_path(path, "%s", full);
	}
	if (passes(path, "virtual") && !follow_path(path)) {
		snprintf(why, sizeof(why), "%s is on %s, which has no DMA master; "
			 "MEMIO_TEST_DIR= names another", m->dir, basename(path));
		return why;
	}
	snprintf(m->disk.name, sizeof(m->disk.name), "%s", basename(path));
	return NULL;
}

struct disk_stat memio_disk_stat(const struct memio *m)
{
	struct disk_stat s = {};
	unsigned long long v[17] = {};
	char path[PATH_MAX], text[512], *at = text;
	unsigned int i;

	set_path(path, "/sys/block/%s/stat", m->disk.name);
	if (read_file(path, text, sizeof(text)) < 0)
		return s;
	for (i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = strtoull(at, &at, 10);
	s.commands = v[0] + v[4] + v[11] + v[15];
	s.read = v[2] * 512;
	s.written = v[6] * 512;
	s.discarded = v[13] * 512;
	return s;
}

/*
 * Whether some of the test's pages may have been written since then, without anybody having
 * asked for it: flushers do after half a minute, which may be soon on a slow machine, and a file
 * system may still be busy with itself, as a new ext4 is with its tables of inodes. If so, waits
 * for the disk to be quiet, so that it is worth another try.
 */
bool memio_flushed(const struct memio *m, struct disk_stat since)
{
	unsigned long long last, now = memio_disk_stat(m).written;
	int i, quiet;

	if (now - since.written <= SIZE / 8)
		return false;
	for (i = quiet = 0; i < 1200 && quiet < 20; i++) {
		usleep(50000);
		last = now;
		now = memio_disk_stat(m).written;
		quiet = now == last ? quiet + 1 : 0;
	}
	return true;
}

static const char *make_file(struct memio *m)
{
	struct io all = {
		.path = m->file,
		.flags = O_WRONLY | O_CREAT | O_TRUNC,
		.to = 2 * SIZE,
		.step = MIB,
		.block = MIB,
		.sync = true,
	};
	struct io direct = {
		.path = m->file,
		.flags = O_WRONLY | O_DIRECT,
		.to = SIZE,
		.step = 64 * KIB,
		.block = 64 * KIB,
		.sync = true,
	};
	struct disk_stat before, after;

	if (do_io(&all))
		return "can't write a file there";
	before = memio_disk_stat(m);
	if (do_io(&direct))
		return "the file system does not do direct IO";
	after = memio_disk_stat(m);
	if (after.written - before.written < SIZE)
		return "the disk does not write what the file system is given";
	return NULL;
}

/* Like memio_begin(), with a file on a disk. */
const char *memio_begin_disk(struct memio *m)
{
	const char *dir = getenv("MEMIO_TEST_DIR"), *why;
	char path[PATH_MAX];

	why = memio_begin(m);
	if (why)
		return why;
	m->dir = realpath(dir && *dir ? dir : ".", NULL);
	if (!m->dir)
		return "there is no such directory as MEMIO_TEST_DIR says";
	why = find_disk(m);
	if (why)
		goto out;
	set_path(path, "%s/memio_test.data", m->dir);
	m->file = strdup(path);
	why = make_file(m);
	if (why)
		goto out;
	set_path(path, "/sys/block/%s", m->disk.name);
	if (!dma_master(path, m->disk.master, sizeof(m->disk.master)))
		why = "the disk has no DMA master";
out:
	if (why)
		memio_end(m);
	return why;
}

/* ---- IO ---- */

/* So that no file system finds a way to write less. */
void fill_random(void *buf, size_t size)
{
	static uint64_t x = 88172645463325252ULL;
	uint64_t *word = buf;
	size_t i;

	for (i = 0; i < size / sizeof(*word); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		word[i] = x;
	}
}

static int do_requests(const struct io *io, int fd, void *buf, char *map)
{
	bool write = io->flags & O_ACCMODE;
	long long at;
	ssize_t n;

	for (at = io->from; at + (long long)io->block <= io->to; at += io->step) {
		if (write)
			fill_random(buf, io->block);
		if (map && write) {
			memcpy(map + at, buf, io->block);
			continue;
		} else if (map) {
			memcpy(buf, map + at, io->block);
			continue;
		}
		n = write ? pwrite(fd, buf, io->block, at) : pread(fd, buf, io->block, at);
		if (n != (ssize_t)io->block)
			return -1;
	}
	return 0;
}

int do_io(const struct io *io)
{
	int flags = io->flags, fd, ret = -1;
	char *map = NULL;
	void *buf;

	if (io->map && flags & O_WRONLY)
		flags ^= O_WRONLY | O_RDWR;
	fd = open(io->path, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	buf = aligned_alloc(BLOCK, io->block);
	if (!buf)
		goto out_fd;
	if (io->map) {
		map = mmap(NULL, io->to, PROT_READ | (flags & O_RDWR ? PROT_WRITE : 0),
			   MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			goto out_buf;
		/* Single pages shall lie in the cache as such, not in folios read ahead. */
		if (io->block == (size_t)sysconf(_SC_PAGESIZE))
			madvise(map, io->to, MADV_RANDOM);
	}
	ret = do_requests(io, fd, buf, map);
	if (!ret && io->sync)
		ret = fsync(fd);
	if (map)
		munmap(map, io->to);
out_buf:
	free(buf);
out_fd:
	close(fd);
	return ret;
}

static int do_io_in(const char *group, void *io)
{
	return !!do_io(io);
}

int run_io(const char *group, const struct io *io)
{
	return cg_run(group, do_io_in, (void *)io);
}

static int sync_in(const char *group, void *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 || fsync(fd);
}

int run_sync(const char *group, const char *path)
{
	return cg_run(group, sync_in, (void *)path);
}

static long long cached(int fd, long long size)
{
	size_t pages = size / sysconf(_SC_PAGESIZE), i;
	unsigned char *in = malloc(pages);
	long long n = -1;
	void *map;

	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (in && map != MAP_FAILED && !mincore(map, size, in))
		for (i = 0, n = 0; i < pages; i++)
			n += in[i] & 1;
	if (map != MAP_FAILED)
		munmap(map, size);
	free(in);
	return n;
}

/* None of its pages is in the page cache any more. */
int uncache(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), i, ret = -1;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fsync(fd) || fstat(fd, &st))
		goto out;
	for (i = 0; i < 100 && ret; i++) {
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (!cached(fd, st.st_size))
			ret = 0;
		else
			usleep(50000);
	}
out:
	close(fd);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: the backend for a kernel that has no memio: BPF programs count (bpf/count.bpf.c), and
 * the maps that they fill are read here
 *
 * The programs are there as long as the reader is, and figures begin at 0 with it. Nothing is
 * pinned: who holds the programs are this process's files.
 *
 * Where perf counts what the caches saw of devices, memory bytes are estimated (prices.c). Where it
 * counts what each CPU missed, tasks and groups have what they read (misses.c).
 *
 * A snapshot of the maps serves many questions. Who asks for the same group or task again wants
 * what is new, and gets another snapshot, as does who says so (memio_refresh()).
 */
#include <errno.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "internal.h"

#ifdef MEMIO_BPF

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/count.h"
#include "libmemio/bpf/count.skel.h"
#include "misses.h"
#include "prices.h"
#include "sums.h"

#define OLD_NS		100000000ull	/* an older snapshot is not used */
#define ASKED_BITS	(1u << 20)
#define CHUNK		512
#define JUDGED_NS	50000000ull	/* perf passes counters on several times in this time */

/* Whether a CPU's counter ran, when this was last judged */
struct judged {
	uint64_t ns, enabled, running;
	bool ran;
};

struct counted {
	struct count *skel;
	struct sums *sums;
	struct mio_prices *prices;	/* NULL: @no_prices says why */
	struct mio_price price;		/* of the last snapshot */
	char no_prices[256], source[400];
	int *miss;			/* of each CPU, its counter, or -1 */
	bool *alone;			/* it is isolated: it is not interrupted to be looked at */
	bool *online;			/* it was looked at */
	int misses;			/* how many CPUs are counted; 0: @no_misses says why */
	bool running;			/* ... and they all ran lately */
	bool no_writers;		/* who makes pages dirty is not noted: there is no memory */
	struct judged *judged;		/* of each CPU */
	struct count_look *looks;	/* likewise: room for a row of the map */
	char no_misses[256];
	int cpus, device[COUNT_SLOTS];	/* of each slot; -1: not known yet */
	uint64_t taken_ns;
	uint64_t asked[ASKED_BITS / 64];	/* since the snapshot: by hash, so some too many */
	size_t group_rows, task_rows, reader_rows;
	size_t groups_most, tasks_most, readers_most;	/* of more, the ended ones are looked for */
};

/* libbpf's complaint that came last */
static __thread char complaint[256];

static int note_complaint(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && !*complaint) {
		vsnprintf(complaint, sizeof(complaint), format, args);
		complaint[strcspn(complaint, "\n")] = '\0';
	}
	return 0;
}

/* ---- maps ---- */

/*
 * All entries of a map, a chunk after the other; false: no memory, or @each says so. Entries that
 * come and go meanwhile may be missed, and are seen by the next snapshot.
 */
static bool each_entry(struct counted *c, int fd, size_t key, size_t value,
		       bool (*each)(struct counted *c, const void *key, const void *value))
{
	unsigned char in[64], out[64];
	unsigned int room = CHUNK, n, i;
	char *keys = NULL, *values = NULL, *more;
	bool first = true, good = false;
	int err;

	for (;;) {
		if (!keys || !values) {
			more = realloc(keys, room * key);
			if (!more)
				break;
			keys = more;
			more = realloc(values, room * value);
			if (!more)
				break;
			values = more;
		}
		n = room;
		err = bpf_map_lookup_batch(fd, first ? NULL : in, out, keys, values, &n, NULL);
		/* A bucket has more entries than there is room for. */
		if (err == -ENOSPC) {
			room *= 2;
			free(values);
			values = NULL;
			continue;
		}
		if (err && err != -ENOENT)
			break;
		for (i = 0; i < n; i++)
			if (!each(c, keys + i * key, values + i * value))
				goto out;
		if (err == -ENOENT) {
			good = true;
			break;
		}
		memcpy(in, out, sizeof(in));
		first = false;
	}
out:
	free(keys);
	free(values);
	return good;
}

static struct count_bytes sum_of(const struct counted *c, const void *value)
{
	const struct count_bytes *b = value;
	struct count_bytes all = { 0 };
	int i;

	for (i = 0; i < c->cpus; i++) {
		all.to += b[i].to;
		all.from += b[i].from;
	}
	return all;
}

/* The device that a slot stands for, or SUMS_CPU; -1: none */
static int device_of(struct counted *c, unsigned int slot)
{
	char name[COUNT_NAME];

	if (slot == COUNT_CPU)
		return SUMS_CPU;
	if (slot >= COUNT_SLOTS)
		return -1;
	if (c->device[slot] < 0 &&
	    !bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.names), &slot, name) && *name) {
		name[COUNT_NAME - 1] = '\0';
		c->device[slot] = sums_device(c->sums, name);
	}
	return c->device[slot];
}

static bool take_parent(struct counted *c, const void *key, const void *value)
{
	return sums_parent(c->sums, *(const uint64_t *)key, *(const uint64_t *)value);
}

static bool take_group(struct counted *c, const void *key, const void *value)
{
	const struct count_group_key *k = key;
	const struct count_bytes b = sum_of(c, value);

	c->group_rows++;
	return sums_group(c->sums, k->id, device_of(c, k->slot), b.to, b.from);
}

static bool take_task(struct counted *c, const void *key, const void *value)
{
	const struct count_task_key *k = key;
	const struct count_task *t = value;

	if (k->slot == COUNT_CPU)
		c->reader_rows++;
	else
		c->task_rows++;
	return sums_task(c->sums, t->pid, k->tid, t->leader, device_of(c, k->slot), t->bytes.to,
			 t->bytes.from);
}

static bool take_totals(struct counted *c)
{
	struct count_bytes *values = calloc(c->cpus, sizeof(*values)), b;
	unsigned int slots = c->skel->data->slots_used, i;
	bool good = values;

	for (i = 1; good && i <= COUNT_CPU; i++) {
		if (i >= slots && i < COUNT_CPU)
			continue;
		if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.totals), &i, values))
			continue;
		b = sum_of(c, values);
		good = sums_total(c->sums, device_of(c, i), b.to, b.from);
	}
	free(values);
	return good;
}

/* ---- rows of who is gone ---- */

struct living {
	uint64_t *id;
	size_t n, room;
	bool failed;
};

static int note_living(const struct memio_group *g, void *arg)
{
	struct living *l = arg;

	l->failed |= !mio_grow(&l->id, l->n, &l->room, sizeof(*l->id));
	if (!l->failed)
		l->id[l->n++] = g->inode;
	return l->failed ? -ENOMEM : 0;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool lives(const struct living *l, uint64_t id)
{
	return id == SUMS_ROOT || bsearch(&id, l->id, l->n, sizeof(id), by_number);
}

/* What groups had that were removed goes to the group above that is there. */
static void sweep_groups(struct memio *m, struct counted *c)
{
	const int groups = bpf_map__fd(c->skel->maps.groups);
	const int parents = bpf_map__fd(c->skel->maps.parents);
	struct count_bytes *values = calloc(c->cpus, sizeof(*values)), b;
	struct count_group_key key, *dead = NULL;
	struct living l = { 0 };
	size_t n = 0, room = 0, i;
	void *at = NULL;
	uint64_t id;
	int deep;

	/* Not from within a container: it does not see all groups. */
	if (!values || !m->mount_root || strcmp(m->mount_root, "/") ||
	    memio_groups(m, "/", note_living, &l) || l.failed)
		goto out;
	qsort(l.id, l.n, sizeof(*l.id), by_number);
	while (!bpf_map_get_next_key(groups, at, &key)) {
		at = &key;
		if (lives(&l, key.id))
			continue;
		if (!mio_grow(&dead, n, &room, sizeof(*dead)))
			goto out;
		dead[n++] = key;
	}
	for (i = 0; i < n; i++) {
		if (bpf_map_lookup_and_delete_elem(groups, &dead[i], values))
			continue;
		b = sum_of(c, values);
		id = dead[i].id;
		for (deep = 0; deep < 64 && !lives(&l, id); deep++)
			if (bpf_map_lookup_elem(parents, &id, &id))
				id = SUMS_ROOT;
		sums_settle_group(c->sums, dead[i].id, id, device_of(c, dead[i].slot), b.to,
				  b.from);
	}
	for (i = 0; i < n; i++)
		bpf_map_delete_elem(parents, &dead[i].id);
out:
	free(dead);
	free(l.id);
	free(values);
}

/* Of tasks, or of readers */
static void sweep_tasks(struct counted *c, int tasks)
{
	struct count_task_key key, *all = NULL;
	struct count_task t;
	size_t n = 0, room = 0, i;
	void *at = NULL;
	char path[64];

	while (!bpf_map_get_next_key(tasks, at, &key)) {
		at = &key;
		if (!mio_grow(&all, n, &room, sizeof(*all)))
			goto out;
		all[n++] = key;
	}
	for (i = 0; i < n; i++) {
		if (bpf_map_lookup_elem(tasks, &all[i], &t))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/task/%u", t.pid, all[i].tid);
		if (!access(path, F_OK) ||
		    bpf_map_lookup_and_delete_elem(tasks, &all[i], &t))
			continue;
		snprintf(path, sizeof(path), "/proc/%u", t.pid);
		if (access(path, F_OK))
			sums_forget(c->sums, t.pid);
		else
			sums_settle_task(c->sums, t.pid, all[i].tid, t.leader,
					 device_of(c, all[i].slot), t.bytes.to, t.bytes.from);
	}
out:
	free(all);
}

/* ---- what CPUs read ---- */

/* Those that tasks are kept from, in the text of a file as /sys/devices/system/cpu/isolated */
static void leave_alone(struct memio *m, struct counted *c, const char *path)
{
	int cpu[1024];
	size_t n, i;

	n = mio_read(m, path) > 0 ? mio_cpus(m->text, cpu, sizeof(cpu) / sizeof(*cpu)) : 0;
	for (i = 0; i < n; i++)
		if (cpu[i] >= 0 && cpu[i] < c->cpus)
			c->alone[cpu[i]] = true;
}

static void open_misses(struct memio *m, struct counted *c)
{
	c->miss = calloc(c->cpus, sizeof(*c->miss));
	c->alone = calloc(c->cpus, sizeof(*c->alone));
	c->online = calloc(c->cpus, sizeof(*c->online));
	c->judged = calloc(c->cpus, sizeof(*c->judged));
	c->looks = calloc(c->cpus, sizeof(*c->looks));
	if (!c->miss || !c->alone || !c->online || !c->judged || !c->looks) {
		free(c->miss);
		c->miss = NULL;
		stpcpy(c->no_misses, "what CPUs read is not counted: no memory");
		return;
	}
	c->misses = mio_misses_open(c->miss, c->cpus, mio_read(m, "/proc/cpuinfo") > 0 ?
				    m->text : NULL, c->no_misses, sizeof(c->no_misses));
	if (!c->misses)
		return;
	leave_alone(m, c, "/sys/devices/system/cpu/isolated");
	leave_alone(m, c, "/sys/devices/system/cpu/nohz_full");
	c->running = true;
}

/* A CPU that came online has no counter, or one that does not count any more. */
static void open_again(struct counted *c, int cpu)
{
	int fd = mio_misses_cpu(cpu);

	if (fd < 0)
		return;
	if (bpf_map_update_elem(bpf_map__fd(c->skel->maps.counters), &cpu, &fd, BPF_ANY)) {
		close(fd);
		return;
	}
	if (c->miss[cpu] >= 0)
		close(c->miss[cpu]);
	c->miss[cpu] = fd;
	mio_misses_begin(&fd, 1);
}

/*
 * Did a CPU's counter run? Snapshots may follow each other at once, and perf passes counters on
 * each 4 ms, so that this is judged over a longer time.
 */
static bool ran(struct counted *c, int cpu, bool online)
{
	const struct count_look *look = &c->looks[cpu];
	struct judged *j = &c->judged[cpu];
	const uint64_t now = mio_now();

	if (!j->ns)
		j->ran = true;
	if (!online || c->alone[cpu] || (j->ns && now - j->ns < JUDGED_NS))
		return !online || j->ran;
	if (j->ns)
		j->ran = look->running != j->running;
	if (j->ns && look->enabled == j->enabled)
		open_again(c, cpu);
	j->ns = now;
	j->enabled = look->enabled;
	j->running = look->running;
	return j->ran;
}

/* What each CPU has counted up to now is charged to the task that runs there. */
static void look_at_cpus(struct counted *c)
{
	const int fd = bpf_program__fd(c->skel->progs.count_look), zero = 0;
	int cpu;

	if (!c->misses)
		return;
	for (cpu = 0; cpu < c->cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .cpu = cpu, .flags = BPF_F_TEST_RUN_ON_CPU);

		c->online[cpu] = !c->alone[cpu] && !bpf_prog_test_run_opts(fd, &opts);
	}
	if (!bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.counted), &zero, c->looks)) {
		c->running = true;
		for (cpu = 0; cpu < c->cpus; cpu++)
			c->running &= ran(c, cpu, c->online[cpu]);
	}
	sums_with_cpu(c->sums, c->running);
}

/* What their reads are worth */
static const char *reads_worth(const struct counted *c)
{
	return !c->misses ? "absent" : c->running ? "ok" : "held";
}

/* ---- snapshots ---- */

/* Half of a map is in use, and more than an eighth of it since it was last swept */
static bool many(size_t rows, size_t room, size_t *most)
{
	if (rows <= room / 2)
		*most = 0;
	if (rows <= room / 2 || rows <= *most)
		return false;
	*most = rows + room / 8;
	return true;
}

static int take(struct memio *m, struct counted *c)
{
	struct mio_moved to = { 0 }, from = { 0 };
	struct mio_price claimed = { 0 };
	bool good, counted = false;

	if (many(c->group_rows, COUNT_GROUPS, &c->groups_most))
		sweep_groups(m, c);
	if (many(c->task_rows, COUNT_TASKS, &c->tasks_most))
		sweep_tasks(c, bpf_map__fd(c->skel->maps.tasks));
	if (many(c->reader_rows, COUNT_READERS, &c->readers_most))
		sweep_tasks(c, bpf_map__fd(c->skel->maps.readers));
	c->group_rows = c->task_rows = c->reader_rows = 0;
	memset(c->asked, 0, sizeof(c->asked));
	look_at_cpus(c);
	sums_begin(c->sums);
	good = take_totals(c);
	if (good && c->prices) {
		sums_moved(c->sums, &to.accounted, &from.accounted);
		counted = mio_prices_window(c->prices, &to, &from);
	}
	good = good &&
	       each_entry(c, bpf_map__fd(c->skel->maps.parents), sizeof(uint64_t),
			  sizeof(uint64_t), take_parent) &&
	       each_entry(c, bpf_map__fd(c->skel->maps.groups), sizeof(struct count_group_key),
			  c->cpus * sizeof(struct count_bytes), take_group) &&
	       each_entry(c, bpf_map__fd(c->skel->maps.tasks), sizeof(struct count_task_key),
			  sizeof(struct count_task), take_task) &&
	       each_entry(c, bpf_map__fd(c->skel->maps.readers), sizeof(struct count_task_key),
			  sizeof(struct count_task), take_task);
	sums_claimed(c->sums, &to.claimed, &from.claimed);
	c->price = counted ? mio_price_of(&to, &from) : claimed;
	if (counted)
		claimed = mio_price_claimed(&to, &from);
	good = good && sums_end(c->sums, c->prices ? &c->price : NULL, &claimed);
	c->taken_ns = good ? mio_now() : 0;
	return good ? 0 : mio_fail(m, -ENOMEM, "the maps of the BPF programs can't be read: %s",
				   strerror(errno));
}

/* What memory bytes are worth */
static const char *worth(const struct counted *c)
{
	return !c->prices ? "absent" : !c->taken_ns ? "warming" : c->price.known ? "ok" : "held";
}

/* A snapshot in which this was not yet asked for */
static int current(struct memio *m, uint64_t what)
{
	struct counted *c = m->backend_data;
	const uint32_t bit = what * 0x9e3779b97f4a7c15ull >> 44;
	uint64_t *word = &c->asked[bit / 64];
	int err = 0;

	if (m->stale || !c->taken_ns || *word & 1ull << bit % 64 ||
	    mio_now() - c->taken_ns > OLD_NS)
		err = take(m, c);
	m->stale = false;
	*word |= 1ull << bit % 64;
	return err;
}

/* ---- the backend's operations ---- */

static int id_of(struct memio *m, const char *path, uint64_t *id)
{
	char file[MIO_PATH_MOST];
	struct stat st;
	int err = mio_group_path(m, path, "", file);

	if (err)
		return err;
	if (stat(file, &st))
		return mio_fail(m, errno == ENOENT ? -ENOENT : -errno,
				errno == ENOENT ? "there is no group %s" : "%s can't be looked at",
				path);
	*id = st.st_ino;
	return 0;
}

static int bpf_group_stat(struct memio *m, const char *path, enum memio_scope scope,
			  struct memio_stat *s)
{
	struct counted *c = m->backend_data;
	uint64_t id;
	int err = id_of(m, path, &id);

	if (!err)
		err = current(m, id << 1 | (scope == MEMIO_LOCAL ? 1ull << 63 : 0));
	if (err)
		return err;
	return sums_group_stat(c->sums, id, scope, s) ? mio_fail(m, -ENOMEM, "no memory") : 0;
}

static int bpf_task_membw(struct memio *m, pid_t pid, pid_t tid, struct memio_membw *b)
{
	struct counted *c = m->backend_data;
	char path[MIO_PATH_MOST];
	int err;

	if (!mio_task_path(m, path, pid, tid, "stat") || access(path, F_OK))
		return mio_fail(m, -ESRCH, "task %d is gone", tid ? tid : pid);
	err = current(m, (uint64_t)pid << 32 | (uint64_t)tid << 1 | 1);
	if (err)
		return err;
	stpcpy(b->source, c->prices ? mio_prices_source(c->prices) : "none");
	stpcpy(b->estimator, c->prices ? "dirty" : "none");
	stpcpy(b->state, worth(c));
	b->valid = c->prices && c->price.known;
	b->window_us = 0;
	b->updated_ns = c->taken_ns;
	return sums_task_stat(c->sums, pid, tid, &b->stat) ? mio_fail(m, -ENOMEM, "no memory") : 0;
}

static int bpf_device_names(struct memio *m, void (*each)(const char *name, void *arg), void *arg)
{
	struct counted *c = m->backend_data;
	size_t i;

	for (i = 0; i < sums_devices(c->sums); i++)
		each(sums_device_name(c->sums, i), arg);
	return 0;
}

static bool add_pair(struct memio_flat *f, const char *key, const char *word, uint64_t value)
{
	struct memio_pair *p;

	if (!mio_grow(&f->pair, f->n, &f->room, sizeof(*f->pair)))
		return false;
	p = &f->pair[f->n++];
	snprintf(p->key, sizeof(p->key), "%s", key);
	snprintf(p->word, sizeof(p->word), "%s", word);
	p->value = value;
	return true;
}

/* And what found no room, since the beginning */
static int bpf_group_state(struct memio *m, const char *path, struct memio_flat *f)
{
	struct counted *c = m->backend_data;
	const struct count_lost *lost = &c->skel->bss->lost;
	const uint64_t groups = lost->group_bytes, tasks = lost->task_bytes;
	char word[24];
	bool good;
	size_t i;

	(void)path;
	f->n = 0;
	good = add_pair(f, "accounting", "on", 0) && add_pair(f, "cpu", reads_worth(c), 0) &&
	       add_pair(f, "io", worth(c), 0) && add_pair(f, "total", worth(c), 0);
	for (i = 0; good && i < sums_devices(c->sums); i++)
		good = add_pair(f, sums_device_name(c->sums, i), worth(c), 0);
	snprintf(word, sizeof(word), "%llu", (unsigned long long)groups);
	good = good && add_pair(f, "lost_group_bytes", word, groups);
	snprintf(word, sizeof(word), "%llu", (unsigned long long)tasks);
	good = good && add_pair(f, "lost_task_bytes", word, tasks);
	return good ? 0 : mio_fail(m, -ENOMEM, "no memory");
}

static const struct {
	const char *name;
	bool there;
	const char *why;
} capabilities[] = {
	{ "enabled", true, "BPF programs count while this program runs" },
	{ "controller", false, "this kernel has no controller memio: BPF programs count, and "
			"limit nothing" },
	{ "groups", true, "all groups of the hierarchy are counted" },
	{ "state", true, "the backend says what is absent" },
	{ "stat.local", true, "what a group's own tasks moved is known" },
	{ "pressure", false, "nothing is limited, so that there is no memio.pressure" },
	{ "guaranteed", false, "memio.min and memio.weight are a patched kernel's" },
	{ "tasks", true, "threads are counted since this program began" },
	{ "limits", false, "limits need a kernel with memio's patches" },
};

static bool bpf_capability(struct memio *m, const char *name, bool *there, const char **why)
{
	const struct counted *c = m->backend_data;
	size_t i;

	if (!strcmp(name, "source") || !strcmp(name, "valid") || !strcmp(name, "unpriced") ||
	    !strcmp(name, "bounds")) {
		*there = c->prices && (strcmp(name, "valid") || c->price.known || !c->taken_ns);
		*why = c->prices && !*there ?
		       "estimates are not valid now: other programs hold the caches' counters" :
		       c->source;
		return true;
	}

	if (!strcmp(name, "cpu")) {
		*there = c->misses && c->running;
		*why = !c->misses ? c->no_misses : c->running ?
		       "what CPUs read is counted, and not what they write" :
		       "what CPUs read is not counted now: other programs hold the cores' counters";
		return true;
	}
	for (i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++) {
		if (strcmp(name, capabilities[i].name))
			continue;
		*there = capabilities[i].there;
		*why = capabilities[i].why;
		return true;
	}
	return false;
}

/* ---- the beginning and the end ---- */

static void forget(struct counted *c)
{
	if (!c)
		return;
	count__destroy(c->skel);
	sums_free(c->sums);
	mio_prices_close(c->prices);
	mio_misses_close(c->miss, c->cpus);
	free(c->miss);
	free(c->alone);
	free(c->online);
	free(c->judged);
	free(c->looks);
	free(c);
}

static void bpf_end(struct memio *m)
{
	forget(m->backend_data);
	m->backend_data = NULL;
}

static bool is_before(unsigned int version, unsigned int part)
{
	unsigned int v = 0, p = 0;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &v, &p) == 2 &&
	       (v < version || (v == version && p < part));
}

/*
 * Leaves out the programs of functions that the kernel has not. @btf: all that it has; NULL: by the
 * kernel's number, which costs nothing.
 */
static void leave_out(struct count *skel, const struct btf *btf)
{
	const struct {
		struct bpf_program *program;
		const char *function;
		bool usual;
	} rows[] = {
		{ skel->progs.count_sendpage, "inet_sendpage", is_before(6, 5) },
		{ skel->progs.count_arrival, "tcp_v4_do_rcv", true },
		{ skel->progs.count_arrival6, "tcp_v6_do_rcv", true },
		{ skel->progs.count_flow, "mptcp_data_ready", true },
		{ skel->progs.count_splice, "skb_splice_bits", true },
	};
	size_t i;

	if (btf && btf__find_by_name_kind(btf, "btf_trace_writeback_dirty_folio",
					  BTF_KIND_TYPEDEF) <= 0)
		bpf_program__set_autoload(skel->progs.count_dirty, false);
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		bpf_program__set_autoload(rows[i].program, btf ?
			btf__find_by_name_kind(btf, rows[i].function, BTF_KIND_FUNC) > 0 :
			rows[i].usual);
}

/* Room for each page of the machine, and for the hole below 4 GiB, up to COUNT_PAGES */
static unsigned int pages_of(const struct counted *c, unsigned int shift)
{
	const long pages = sysconf(_SC_PHYS_PAGES) + (2l << 30 >> shift);
	unsigned int n = 1;

	while (!c->no_writers && n < COUNT_PAGES && n < pages)
		n *= 2;
	return n;
}

/* Loads the programs and lets them begin; 0 or an error */
static int begin(struct counted *c, const struct btf *btf)
{
	const unsigned int shift = __builtin_ctzl(sysconf(_SC_PAGESIZE));
	const unsigned int pages = pages_of(c, shift);
	int err, cpu;

	c->skel = count__open();
	if (!c->skel)
		return -errno;
	leave_out(c->skel, btf);
	if (c->no_writers)
		bpf_program__set_autoload(c->skel->progs.count_dirty, false);
	bpf_map__set_max_entries(c->skel->maps.dirtied, pages);
	c->skel->rodata->dirtied_mask = pages - 1;
	c->skel->rodata->page_shift = shift;
	/* Without these, all threads fit into a page. */
	if (!c->misses)
		bpf_map__set_max_entries(c->skel->maps.readers, 1);
	bpf_program__set_autoload(c->skel->progs.count_switch, c->misses);
	bpf_program__set_autoload(c->skel->progs.count_look, c->misses);
	bpf_program__set_autoattach(c->skel->progs.count_look, false);
	err = count__load(c->skel);
	for (cpu = 0; !err && c->misses && cpu < c->cpus; cpu++)
		if (c->miss[cpu] >= 0)
			err = bpf_map_update_elem(bpf_map__fd(c->skel->maps.counters), &cpu,
						  &c->miss[cpu], BPF_ANY) ? -errno : 0;
	if (!err)
		err = count__attach(c->skel);
	if (!err)
		mio_misses_begin(c->miss, c->cpus);
	if (err) {
		count__destroy(c->skel);
		c->skel = NULL;
	}
	return err;
}

/* What stands in a small file, or "" */
static void head_of(struct memio *m, const char *path, char *text, size_t size)
{
	*text = '\0';
	if (mio_read(m, path) > 0)
		snprintf(text, size, "%s", m->text);
}

static const char *why_refused(struct memio *m)
{
	char status[4096], uid_map[256], lockdown[256];

	head_of(m, "/proc/self/status", status, sizeof(status));
	head_of(m, "/proc/self/uid_map", uid_map, sizeof(uid_map));
	head_of(m, "/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	return mio_refused(status, uid_map, lockdown);
}

/* Memory bytes are estimated if there are counters that memio knows. */
static void open_prices(struct memio *m, struct counted *c)
{
	const char *source, *boxes = NULL;

	source = mio_read(m, "/proc/cpuinfo") > 0 ? memio_processor(m->text, &boxes) : NULL;
	if (source)
		c->prices = mio_prices_open(source, boxes, c->no_prices, sizeof(c->no_prices));
	else
		stpcpy(c->no_prices, "memio has no counters for this processor");
	if (c->prices)
		snprintf(c->source, sizeof(c->source),
			 "memory bytes are estimated from the counters '%s', by perf; all devices have one price",
			 source);
	else
		snprintf(c->source, sizeof(c->source),
			 "memory bytes of devices are absent: BPF programs see what they move, and not what of it reaches DRAM; %s",
			 c->no_prices);
}

static bool bpf_here(struct memio *m)
{
	const struct memio_device *d;
	libbpf_print_fn_t old;
	struct counted *c;
	struct btf *btf;
	bool refused;
	size_t n, i;
	int err;

	if (*m->root) {
		mio_fail(m, -ENOTSUP, "BPF programs count on the running machine alone, and not "
			"below %s",
			 m->root);
		return false;
	}
	if (access("/sys/kernel/btf/vmlinux", F_OK)) {
		mio_fail(m, -ENOTSUP, "BPF programs can't count here either: there is no "
			"/sys/kernel/btf/vmlinux, as the kernel was built without "
			"CONFIG_DEBUG_INFO_BTF");
		return false;
	}
	c = calloc(1, sizeof(*c));
	if (c)
		c->sums = sums_new();
	if (!c || !c->sums) {
		free(c);
		mio_fail(m, -ENOMEM, "no memory");
		return false;
	}
	c->cpus = libbpf_num_possible_cpus();
	for (i = 0; i < COUNT_SLOTS; i++)
		c->device[i] = -1;
	*complaint = '\0';
	old = libbpf_set_print(note_complaint);
	if (c->cpus > 0)
		open_misses(m, c);
	err = c->cpus < 0 ? c->cpus : begin(c, NULL);
	/* The table of pages is the largest, and this command's control group may have little memory. */
	if (err == -ENOMEM) {
		c->no_writers = true;
		err = begin(c, NULL);
	}
	/* A kernel that has, or has not, what kernels of its number have */
	if (err && err != -EPERM && err != -EACCES) {
		btf = btf__load_vmlinux_btf();
		if (btf)
			err = begin(c, btf);
		/* Rather devices alone than nothing */
		if (btf && err && c->misses) {
			mio_misses_close(c->miss, c->cpus);
			c->misses = 0;
			snprintf(c->no_misses, sizeof(c->no_misses),
				 "what CPUs read is not counted: %s (%s)", strerror(-err),
				 complaint);
			*complaint = '\0';
			err = begin(c, btf);
		}
		btf__free(btf);
	}
	libbpf_set_print(old);
	if (err) {
		forget(c);
		refused = err == -EPERM || err == -EACCES;
		m->needs_root = geteuid() && refused;
		if (m->needs_root)
			mio_fail(m, -EACCES, "BPF programs could count instead, but this user "
				"may not load them: it takes root, or CAP_BPF and CAP_PERFMON");
		else if (refused)
			mio_fail(m, err, "BPF programs could count instead, but %s (%s)",
				 why_refused(m), complaint);
		else
			mio_fail(m, err, "BPF programs can't count here either: %s (%s)",
				 strerror(-err), complaint);
		return false;
	}
	/* Devices that have not moved a byte yet are there, too. */
	d = memio_devices(m, &n);
	for (i = 0; i < n; i++)
		sums_device(c->sums, d[i].name);
	m->devices_ns = 0;
	open_prices(m, c);
	m->backend_data = c;
	return true;
}

#else /* !MEMIO_BPF */

static bool bpf_here(struct memio *m)
{
	mio_fail(m, -ENOTSUP, "This libmemio was built without its BPF programs, which could "
		"count: clang, bpftool or libbpf was missing");
	return false;
}

#endif

const struct mio_backend mio_bpf = {
	.name = "bpf",
	.by_sysfs = true,
	.all_groups = true,
	.here = bpf_here,
#ifdef MEMIO_BPF
	.end = bpf_end,
	.group_stat = bpf_group_stat,
	.task_membw = bpf_task_membw,
	.device_names = bpf_device_names,
	.group_state = bpf_group_state,
	.capability = bpf_capability,
#endif
};

// SPDX-License-Identifier: GPL-2.0
/*
 * memio record, replay and report, without a machine: trees that are made here become a file, and
 * the file is cut off at each byte, has each of its bits turned round, and is made up of nonsense
 * with right sums
 *
 *	unit EMPTY-DIRECTORY [SEED]
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "../../trace/crc32c.h"
#include "batch.h"
#include "command.h"
#include "sums.h"
#include "test.h"
#include "trees.h"

/* For complaints, whose text nobody reads here */
const struct command *const commands[] = { NULL };

#define SAMPLES	5
#define SECOND	1000000000ull

static int loud = -1;

static void quiet(bool be)
{
	static int nowhere = -1;

	fflush(stderr);
	if (loud < 0) {
		loud = dup(2);
		nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	dup2(be ? nowhere : loud, 2);
}

static const char *file_of(const char *name)
{
	static char path[4][4200];
	static int next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", place, name);
	return p;
}

static size_t get_file(const char *path, uint8_t *to, size_t room)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(to, 1, room, f) : 0;

	if (f)
		fclose(f);
	return n;
}

static void put_bytes(const char *path, const uint8_t *from, size_t n)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(from, 1, n, f) != n || fclose(f))
		abort();
}

/* ---- a recording ---- */

static uint64_t moved(int sample)
{
	return 1000000ull * sample * sample;
}

static void put_sample(int i)
{
	put_group("tree", "", 3 * moved(i));
	put_group("tree", "/a", 2 * moved(i));
	put_group("tree", "/a/x", 2 * moved(i));
	put_group("tree", "/a-b", moved(i));
	put_group("tree", "/a-b/\x1b[31mred", 0);
	put_file("tree", CG "/a/x/cgroup.procs", "10\n11\n");
	put_file("tree", CG "/a/x/memio.limit", "total bps=200000000\n0000:00:03.0 wbps=5\n");
	put_file("tree", CG "/memio.events", "throttled_usec %d\n", 100000 * i);
	put_file("tree", CG "/a/memio.events", "throttled_usec %d\n", 100000 * i);
	put_file("tree", CG "/a/x/memio.events", "throttled_usec %d\n", 100000 * i);
	put_file("tree", CG "/a/x/memio.events.local", "throttled_usec %d\n", 100000 * i);
	put_file("tree", CG "/a/x/memio.min", "5000000\n");
	put_file("tree", CG "/a/x/memio.min.effective", "max\n");
	put_file("tree", CG "/a/x/memio.weight", "%d\n", 300 + i);
	put_file("tree", CG "/a/x/memio.state", "accounting on\ncpu off\n0000:00:03.0 held\n");
	put_file("tree", CG "/a-b/memio.weight", "50\n");
	put_file("tree", CG "/a/memio.min", "0\n");
	put_file("tree", CG "/a/memio.min.effective", "0\n");
	put_file("tree", CG "/a/memio.state", "accounting on\ncpu off\n0000:00:03.0 held\n");
	put_file("tree", CG "/a-b/\x1b[31mred/memio.weight", "50\n");
	put_task("tree", 10, "dd", 5, 2 * moved(i));
	put_task("tree", 11, "idle", 6, 0);
}

/* @from to @to: their sums go on, unless the epoch is another one */
static void record(const char *path, int from, int to, uint64_t epoch, uint64_t most,
		   unsigned int keep)
{
	static const uint8_t head[LOG_HEAD];
	struct bytes text = { 0 };
	struct source source;
	struct model o;
	struct memio *m;
	struct log l;
	int i;

	if (!log_open(&l, path, most, keep) || model_init(&o))
		abort();
	o.want_tasks = true;
	m = memio_open(root_of("tree"));
	source = source_live(m);
	for (i = from; i < to; i++) {
		struct instant when = {
			.wall_ns = (1000000000 + 10ull * i) * SECOND,
			.mono_ns = (100 + 10ull * i) * SECOND, .epoch = epoch,
			.interval_ms = 10000,
		};

		put_sample(i);
		if (model_sample(&o, m, 10 * SECOND))
			abort();
		text.n = 0;
		bytes_add(&text, head, sizeof(head));
		if (past_write(&text, &o, &source, &when) ||
		    log_append(&l, text.data, text.n - LOG_HEAD))
			abort();
	}
	log_close(&l);
	memio_close(m);
	model_free(&o);
	free(text.data);
}

static struct track *track(struct model *o, enum track_kind kind, const char *name, pid_t pid)
{
	struct track *t = store_find(o->store, kind, name, pid);

	if (!t)
		abort();
	return t;
}

static const char *drawn(struct view *v, struct model *o)
{
	static char text[2][1 << 18];
	static int next;
	char *to = text[next++ % 2];
	struct screen s = { 0 };
	FILE *f = fmemopen(to, sizeof(text[0]), "w");

	if (view_draw(v, o, &s))
		abort();
	print_screen(&s, f);
	fclose(f);
	screen_free(&s);
	return to;
}

static void there_and_back(void)
{
	struct history h;
	struct model o;
	struct view v;
	struct track *t;
	char whole[1 << 16];
	int i;

	record(file_of("h"), 0, SAMPLES, 7, 1 << 20, 0);
	if (model_init(&o) || !history_open(&h, file_of("h")))
		abort();
	view_init(&v);
	v.cols = 100;
	o.want_tasks = true;
	check(h.n == SAMPLES && !h.scan.damaged && !h.scan.torn, "all samples are there: %zu",
	      h.n);
	for (i = 0; i < SAMPLES; i++)
		if (history_step(&h, &o, i))
			abort();
	check(o.samples == SAMPLES && o.interval_ns == 10 * SECOND, "the time between them");
	t = track(&o, TRACK_GROUP, "/a/x", 0);
	near("a group's rate", t->rate[FIG_FROM], 2 * (moved(4) - moved(3)) / 10., 0.001);
	near("... what CPUs read", t->rate[FIG_CPU], 2 * (moved(4) - moved(3)) / 10., 0.001);
	check(t->limits.n == 2 && t->limits.limit[1].rate[MEMIO_WBPS] == 5, "... its limits");
	near("... its stops", t->stopped, 0.01, EXACT);
	o.look = t->serial;
	if (history_seek(&h, &o, SAMPLES - 1))
		abort();
	check(o.looked.has_min && o.looked.min == 5000000 && o.looked.has_effective &&
	      o.looked.min_effective == MEMIO_RATE_MAX && o.looked.has_weight &&
	      o.looked.weight == 300 + SAMPLES - 1, "... its guarantee and its weight");
	check(o.looked.state.n == 3 && !strcmp(o.looked.state.pair[2].key, "0000:00:03.0") &&
	      !strcmp(o.looked.state.pair[2].word, "held"), "... what its figures are worth");
	o.look = track(&o, TRACK_GROUP, "/a", 0)->serial;
	if (history_seek(&h, &o, SAMPLES - 1))
		abort();
	check(o.looked.has_min && !o.looked.min && !o.looked.has_effective &&
	      !o.looked.has_weight &&
	      o.looked.state.n == 3 && !strcmp(o.looked.state.pair[1].word, "off"),
	      "... of the group above, which has the same state");
	o.look = track(&o, TRACK_GROUP, "/a-b", 0)->serial;
	if (history_seek(&h, &o, SAMPLES - 1))
		abort();
	check(!o.looked.has_min && o.looked.weight == 50 && !o.looked.state.n,
	      "... of another group, what there is");
	o.look = track(&o, TRACK_GROUP, "/a-b/\x1b[31mred", 0)->serial;
	if (history_seek(&h, &o, 1))
		abort();
	check(o.looked.serial == o.look && !o.looked.has_weight,
	      "... of one that moved nothing, none was read");
	o.look = 0;
	if (history_seek(&h, &o, SAMPLES - 1))
		abort();
	t = track(&o, TRACK_TASK, "", 10);
	near("a task's rate", t->rate[FIG_TO], 2 * (moved(4) - moved(3)) / 10., 0.001);
	check(!strcmp(t->info->comm, "dd") && t->group == track(&o, TRACK_GROUP, "/a/x", 0),
	      "... its name and its group");
	t = track(&o, TRACK_DEVICE, "0000:00:03.0", 0);
	near("a device's rate", t->rate[FIG_FROM], 3 * (moved(4) - moved(3)) / 10., 0.001);
	check(t->histories == SAMPLES - 1, "... and its curve");
	check(!strchr(drawn(&v, &o), 033), "a group's name does not control the terminal");
	snprintf(whole, sizeof(whole), "%s", drawn(&v, &o));
	for (i = SAMPLES - 2; i >= 0; i--)
		if (history_seek(&h, &o, i))
			abort();
	check(o.samples == 1 && !track(&o, TRACK_GROUP, "/a/x", 0)->figures,
	      "back to the first one, which has no rates");
	track(&o, TRACK_GROUP, "/a", 0)->folded = true;
	if (history_seek(&h, &o, SAMPLES - 1))
		abort();
	check(!strstr(drawn(&v, &o), "    x "), "what is folded stays so");
	track(&o, TRACK_GROUP, "/a", 0)->folded = false;
	check(!strcmp(whole, drawn(&v, &o)), "to the last one: it is as it was");
	check(history_at(&h, (1000000000 + 25) * SECOND) == 2 && !history_at(&h, 5) &&
	      history_from(&h, (1000000000 + 25) * SECOND) == 3 &&
	      history_from(&h, UINT64_MAX) == SAMPLES, "samples by their time");
	history_load(&h, 1);
	check(!strcmp(past_group(h.past, "a-b") ?: "", "/a-b") &&
	      !strcmp(past_group(h.past, "x") ?: "", "/a/x") && !past_group(h.past, "/x"),
	      "groups by their names");
	history_close(&h);

	/* The machine was started anew. */
	record(file_of("h"), SAMPLES, SAMPLES + 2, 8, 1 << 20, 0);
	if (!history_open(&h, file_of("h")))
		abort();
	check(h.n == SAMPLES + 2 && !history_since(&h, SAMPLES) &&
	      history_since(&h, SAMPLES + 1) == 10 * SECOND, "an epoch ends");
	for (i = 0; i <= SAMPLES; i++)
		if (history_step(&h, &o, i))
			abort();
	check(o.samples == 1, "... the next sample is a first one");
	history_close(&h);
	view_free(&v);
	model_free(&o);
}

/* ---- damage ---- */

static uint8_t good[1 << 16], bad[1 << 16];
static uint64_t ends[SAMPLES + 1];

static bool note_end(const uint8_t *text, size_t size, uint64_t at, bool lost, void *arg)
{
	int *n = arg;

	(void)text;
	(void)lost;
	ends[++*n] = at + size;
	return true;
}

static int open_bytes(const uint8_t *from, size_t n)
{
	const int fd = memfd_create("bytes", MFD_CLOEXEC);

	if (fd < 0 || pwrite(fd, from, n, 0) != (ssize_t)n)
		abort();
	return fd;
}

static bool note_place(const uint8_t *text, size_t size, uint64_t at, bool lost, void *arg)
{
	uint64_t *found = arg;
	int i;

	(void)lost;
	for (i = 0; i < SAMPLES; i++)
		if (at == ends[i] + LOG_HEAD && !memcmp(text, good + at, size))
			*found |= 1ull << i;
	return true;
}

static void damage(void)
{
	const char *path = file_of("d");
	uint64_t found;
	struct log_scan s;
	size_t size, at, cut_bad = 0, flip_bad = 0, flips = 0;
	int fd, n = 0, i, bit;

	record(path, 0, SAMPLES, 7, 1 << 20, 0);
	size = get_file(path, good, sizeof(good));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	log_read(fd, &s, note_end, &n);
	close(fd);
	check(n == SAMPLES && ends[SAMPLES] == size && size < sizeof(good), "a file of %zu bytes",
	      size);

	/* Cut off at each byte */
	for (at = 0; at < size; at++) {
		uint64_t wanted = 0;

		for (i = 0; i < SAMPLES; i++)
			wanted |= (uint64_t)(ends[i + 1] <= at) << i;
		for (i = 0; i < SAMPLES && ends[i + 1] <= at; i++)
			;
		fd = open_bytes(good, at);
		found = 0;
		if (log_read(fd, &s, note_place, &found) || found != wanted ||
		    s.torn != at - ends[i] || s.damaged)
			cut_bad++;
		close(fd);
	}
	check(!cut_bad, "cut off at each byte, it has all records that are whole, and says so: %zu",
	      cut_bad);

	/* Each bit */
	memcpy(bad, good, size);
	for (at = 0; at < size; at++) {
		for (i = 0; ends[i + 1] <= at; i++)
			;
		for (bit = 0; bit < 8; bit++) {
			bad[at] ^= 1 << bit;
			fd = open_bytes(bad, size);
			found = 0;
			flips++;
			if (log_read(fd, &s, note_place, &found) || s.damaged != 1 || s.torn ||
			    found != (((1ull << SAMPLES) - 1) & ~(1ull << i)))
				flip_bad++;
			close(fd);
			bad[at] ^= 1 << bit;
		}
	}
	check(!flip_bad, "each of %zu bits turned round loses its record alone, and that is said: "
	      "%zu", flips, flip_bad);

	/* Zeroes in the middle, as a crash leaves them; rubbish before and behind */
	memset(bad + ends[1], 0, ends[3] - ends[1]);
	fd = open_bytes(bad, size);
	found = 0;
	check(!log_read(fd, &s, note_place, &found) && found == 0x19 && s.damaged == 1,
	      "zeroes instead of two records lose these");
	close(fd);
	memset(bad, 'x', 100);
	memcpy(bad + 100, good, size);
	memcpy(bad + 100 + size, good, 100);
	fd = open_bytes(bad, size + 200 - 1);
	check(!log_read(fd, &s, NULL, NULL) && s.good == SAMPLES && s.damaged == 1 && s.torn == 99,
	      "rubbish before is passed over");
	close(fd);
}

/* ---- the samples around one that is lost ---- */

static void lost_one(void)
{
	struct history h;
	struct model o;
	char text[256];
	struct track *t;
	int i;

	memcpy(bad, good, ends[SAMPLES]);
	bad[ends[2] + LOG_HEAD + 5] ^= 4;
	put_bytes(file_of("l"), bad, ends[SAMPLES]);
	quiet(true);
	i = history_open(&h, file_of("l"));
	quiet(false);
	if (!i || model_init(&o))
		abort();
	check(h.n == SAMPLES - 1 && h.moment[2].lost && !h.moment[1].lost && !h.moment[3].lost,
	      "the sample behind one that is lost knows it");
	check(!strcmp(history_lost(&h, text, sizeof(text)), "1 damaged record is left out"),
	      "... and it is said: %s", text);
	for (i = 0; i < 3; i++)
		if (history_step(&h, &o, i))
			abort();
	t = track(&o, TRACK_GROUP, "/a", 0);
	near("... its rate is of both intervals", t->rate[FIG_FROM],
	     2 * (moved(3) - moved(1)) / 20., 0.001);
	history_close(&h);
	model_free(&o);
}

/* ---- writing ---- */

static void writing(void)
{
	const char *path = file_of("w");
	struct log l, other;
	struct log_scan s;
	struct stat st;
	char name[4300];
	int fd, i;
	bool opened;

	/* What a crash leaves is cut off, and the next record can be found. */
	put_bytes(path, good, ends[3] - 1);
	quiet(true);
	record(path, 3, SAMPLES, 7, 1 << 20, 0);
	quiet(false);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(!log_read(fd, &s, NULL, NULL) && s.good == 2 + SAMPLES - 3 && !s.torn && !s.damaged,
	      "behind a torn record it goes on: %llu", (unsigned long long)s.good);
	close(fd);

	if (!log_open(&l, path, 1 << 20, 0))
		abort();
	quiet(true);
	opened = log_open(&other, path, 1 << 20, 0);
	quiet(false);
	check(!opened, "nobody else writes it meanwhile");
	log_close(&l);

	put_bytes(path, (const uint8_t *)"precious, and longer than a head", 32);
	quiet(true);
	opened = log_open(&l, path, 1 << 20, 0);
	quiet(false);
	check(!opened && !stat(path, &st) && st.st_size == 32, "a file of another kind stays");
	unlink(path);

	/* Five files of two samples each, of which three are kept */
	st.st_size = 2 * (ends[2] - ends[1]) + 200;
	for (i = 0; i < 5; i++)
		record(path, 2 * i, 2 * i + 2, 7, st.st_size, 2);
	for (i = 0; i < 4; i++) {
		struct stat is;

		snprintf(name, sizeof(name), i ? "%s.%d" : "%s", path, i);
		if (i == 3)
			check(stat(name, &is), "no more than are to be kept");
		else
			check(!stat(name, &is) && is.st_size <= st.st_size &&
			      (is.st_mode & 07777) == 0600, "a file that is not too large: %d", i);
	}
	for (i = 0; i < 3; i++) {
		struct history h;

		snprintf(name, sizeof(name), i ? "%s.%d" : "%s", path, i);
		if (i || !history_open(&h, name))
			continue;
		check(h.files == 3 && h.n == 6 && h.moment[0].when.mono_ns == 140 * SECOND &&
		      h.moment[5].when.mono_ns == 190 * SECOND,
		      "they are one recording, in order: %zu", h.n);
		history_close(&h);
	}
	/* Less is kept from now on. */
	record(path, 10, 12, 7, st.st_size, 0);
	snprintf(name, sizeof(name), "%s.1", path);
	check(access(name, F_OK), "... and none of them, if that is wanted");
}

/* ---- files that are somebody else's, or something else ---- */

static bool opens(const char *path, unsigned int keep)
{
	struct log l;
	bool opened;

	quiet(true);
	opened = log_open(&l, path, 1 << 20, keep);
	quiet(false);
	if (opened)
		log_close(&l);
	return opened;
}

static bool append(struct log *l, int sample)
{
	static uint8_t text[1 << 16];
	const size_t size = ends[sample + 1] - ends[sample];
	bool done;

	memcpy(text, good + ends[sample], size);
	quiet(true);
	done = !log_append(l, text, size - LOG_HEAD);
	quiet(false);
	return done;
}

static off_t size_of_file(const char *name)
{
	struct stat st;

	return lstat(file_of(name), &st) ? -1 : st.st_size;
}

static void others_files(void)
{
	static const uint8_t theirs[] = "a page of theirs, which is longer than a head";
	char path[4200];
	struct log l, other;
	int i, dir;

	snprintf(path, sizeof(path), "%s", file_of("o/f"));
	if (mkdir(file_of("o"), 0755) || mkdir(file_of("p"), 0755))
		abort();

	/* A link leads to a file that is empty, and would pass as a new one. */
	put_bytes(file_of("o/empty"), theirs, 0);
	if (symlink("empty", path))
		abort();
	check(!opens(path, 2) && !size_of_file("o/empty"),
	      "a file that a link leads to is refused");
	unlink(path);
	if (symlink("nothing", path))
		abort();
	check(!opens(path, 2) && access(file_of("o/nothing"), F_OK),
	      "... and none is made where a link leads");
	unlink(path);
	put_bytes(path, theirs, 0);
	if (!geteuid() && (chown(path, 65534, 65534) || opens(path, 2)))
		check(false, "an empty file of another user is refused");
	else
		check(!size_of_file("o/f"), "an empty file of another user is refused");
	unlink(path);

	/* Files that rotation would remove or rename */
	for (i = 1; i <= 3; i++) {
		char name[32];

		snprintf(name, sizeof(name), "o/f.%d", i);
		put_bytes(file_of(name), theirs, sizeof(theirs));
		if (i == 3)
			put_bytes(file_of("o/f.2"), good, ends[1]);
		check(!opens(path, 2) && size_of_file(name) == sizeof(theirs) &&
		      access(path, F_OK), "FILE.%d that is no history is refused, and stays", i);
		unlink(file_of(name));
	}
	unlink(file_of("o/f.2"));
	mkdir(file_of("o/f.1"), 0755);
	check(!opens(path, 2), "... as is a directory");
	rmdir(file_of("o/f.1"));
	if (symlink("empty", file_of("o/f.1")))
		abort();
	check(!opens(path, 2), "... and a link");
	unlink(file_of("o/f.1"));
	put_bytes(file_of("o/f.new"), theirs, sizeof(theirs));
	check(!opens(path, 2) && size_of_file("o/f.new") == sizeof(theirs), "... and FILE.new");
	put_bytes(file_of("o/f.new"), theirs, 0);
	put_bytes(file_of("o/f.1"), theirs, 0);

	/* What comes later is looked at, too. */
	if (!log_open(&l, path, ends[2] - ends[1] + 100, 2))
		abort();
	check(append(&l, 1) && append(&l, 2) && size_of_file("o/f.1") > 0 &&
	      size_of_file("o/f.new") < 0, "empty ones are in nobody's way");
	put_bytes(file_of("o/f.2"), theirs, sizeof(theirs));
	check(!append(&l, 3) && size_of_file("o/f.2") == sizeof(theirs),
	      "... and one that comes while it records stays");
	unlink(file_of("o/f.2"));

	/* Another directory has this name now. */
	if (rename(file_of("o"), file_of("q")) || rename(file_of("p"), file_of("o")))
		abort();
	put_bytes(file_of("o/f.1"), theirs, sizeof(theirs));
	put_bytes(file_of("o/f.2"), theirs, sizeof(theirs));
	check(append(&l, 3) && append(&l, 1) && size_of_file("o/f.1") == sizeof(theirs) &&
	      size_of_file("o/f.2") == sizeof(theirs) && size_of_file("o/f") < 0 &&
	      size_of_file("q/f.2") > 0, "a directory that is replaced stays as it is");

	/* Who waits for the name finds it taken at any time. */
	dir = open(file_of("q"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	i = openat(dir, "f", O_RDWR | O_CLOEXEC);
	check(append(&l, 2) && flock(i, LOCK_EX | LOCK_NB) == 0, "a file that was renamed is free");
	close(i);
	quiet(true);
	check(!log_open(&other, file_of("q/f"), 1 << 20, 2), "... and the new one is not");
	quiet(false);
	close(dir);
	log_close(&l);
}

/* ---- a recorder that comes while another one changes files ---- */

static void always_there(void)
{
	static char text[1 << 14] __attribute__((aligned(8)));
	char path[4200];
	unsigned int i, came = 0, went = 0;
	struct log l;
	ssize_t n, at;
	int watch;

	if (mkdir(file_of("two"), 0755))
		abort();
	snprintf(path, sizeof(path), "%s", file_of("two/f"));
	watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (!log_open(&l, path, ends[2] - ends[1] + 100, 2) || watch < 0 ||
	    inotify_add_watch(watch, file_of("two"), IN_MOVE | IN_DELETE) < 0)
		abort();
	for (i = 0; i < 10; i++)
		if (!append(&l, 1))
			abort();
	log_close(&l);
	n = read(watch, text, sizeof(text));
	for (at = 0; at < n;) {
		const struct inotify_event *e = (const void *)(text + at);

		came += !strcmp(e->name, "f") && e->mask & IN_MOVED_TO;
		went += !strcmp(e->name, "f") && e->mask & (IN_MOVED_FROM | IN_DELETE);
		at += sizeof(*e) + e->len;
	}
	close(watch);
	check(came == 9 && !went, "another FILE takes its place: %u, and it is never gone: %u",
	      came, went);
	check(size_of_file("two/f.2") > 0 && size_of_file("two/f.3") < 0 &&
	      size_of_file("two/f.new") < 0, "... and older ones are as many as are kept");
}

/* The sum of a head that was changed */
static void put_sum(uint8_t *head)
{
	const uint32_t sum = crc32c(0, head, LOG_HEAD - 4);

	memcpy(head + LOG_HEAD - 4, &sum, sizeof(sum));
}

/* ---- rubbish between many heads ---- */

static uint64_t bytes_read(void)
{
	unsigned long long n = 0;
	FILE *f = fopen("/proc/self/io", "re");

	if (!f || fscanf(f, "rchar: %llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

static void many_heads(void)
{
	static uint8_t file[1 << 20];
	static const uint8_t head[] = { 0, 'm', 'e', 'm', 'i', 'o', 0, 'H', LOG_VERSION, 0, 1 };
	struct log_scan s;
	uint64_t before, most = 3 * sizeof(file);
	size_t at, n = 0;
	int fd;

	for (at = 0; at + 1 + LOG_HEAD <= sizeof(file); at += 1 + LOG_HEAD, n++) {
		file[at] = 'x';
		memcpy(file + at + 1, head, sizeof(head));
		put_sum(file + at + 1);
	}
	fd = open_bytes(file, at);
	before = bytes_read();
	check(!log_read(fd, &s, NULL, NULL) && s.good == n && s.damaged == n,
	      "a byte of rubbish before each of %zu records is passed over", n);
	most += before;
	check(bytes_read() <= most, "... which reads no byte often: %llu of %zu",
	      (unsigned long long)(bytes_read() - before), at);
	close(fd);
}

/* ---- what the end of a file lost ---- */

static void lost_at_end(void)
{
	static const char *const what[] = {
		"damaged", "of another version", "torn", "rubbish",
	};
	struct history h;
	unsigned int i;
	bool empty;

	for (i = 0; i < 2 * N(what); i++) {
		const size_t last = ends[2], end = ends[3];

		/* A file between, with or without the sample, does not hide it. */
		empty = i % 2;
		memcpy(bad, good, end);
		switch (i / 2) {
		case 0:
			bad[end - 1] ^= 1;
			break;
		case 1:
			bad[last + 8]++;
			put_sum(bad + last);
			break;
		case 3:
			memset(bad + last, 'x', end - last);
			break;
		}
		put_bytes(file_of("e.2"), bad, end - (i / 2 == 2));
		put_bytes(file_of("e.1"), good + ends[3], empty ? 0 : ends[4] - ends[3]);
		put_bytes(file_of("e"), good + ends[4], ends[5] - ends[4]);
		quiet(true);
		if (!history_open(&h, file_of("e")))
			abort();
		quiet(false);
		check(h.n == (empty ? 3 : 4) && !h.moment[1].lost && h.moment[2].lost &&
		      (empty || !h.moment[3].lost), "an older file ends with a record that is %s: "
		      "the sample behind it knows", what[i / 2]);
		history_close(&h);
	}
}

/* ---- files that are not there, or can't be read ---- */

static size_t samples_of(const char *path, struct history *h, char *text, size_t size)
{
	size_t n = 0;

	*text = '\0';
	quiet(true);
	if (history_open(h, path)) {
		n = h->n;
		history_lost(h, text, size);
	}
	quiet(false);
	return n;
}

static void unread_files(void)
{
	struct history h;
	char path[4200], text[256];
	int i;

	snprintf(path, sizeof(path), "%s", file_of("u"));
	for (i = 0; i < 4; i++) {
		char name[8];

		snprintf(name, sizeof(name), i ? "u.%d" : "u", i);
		put_bytes(file_of(name), good + ends[3 - i], ends[4 - i] - ends[3 - i]);
	}
	check(samples_of(path, &h, text, sizeof(text)) == 4 && !*text, "four files");
	history_close(&h);

	/* A recorder renames files one by one, the oldest first; then there is another FILE. */
	if (rename(file_of("u.3"), file_of("u.4")))
		abort();
	check(samples_of(path, &h, text, sizeof(text)) == 4 && !*text,
	      "... while the oldest is renamed");
	history_close(&h);
	if (rename(file_of("u.2"), file_of("u.3")) || rename(file_of("u.1"), file_of("u.2")))
		abort();
	check(samples_of(path, &h, text, sizeof(text)) == 4 && !*text, "... and the next ones");
	history_close(&h);
	if (rename(file_of("u"), file_of("u.1")))
		abort();
	check(samples_of(path, &h, text, sizeof(text)) == 4 && !*text, "... and FILE");
	history_close(&h);

	unlink(file_of("u.2"));
	mkdir(file_of("u.2"), 0755);
	check(samples_of(path, &h, text, sizeof(text)) == 3 && !h.moment[1].lost &&
	      h.moment[2].lost, "one that can't be read does not hide the others");
	check(!strcmp(text, "1 file of the recording cannot be read"), "... and is said: %s", text);
	history_close(&h);
	rmdir(file_of("u.2"));
	mkdir(file_of("u"), 0755);
	check(!samples_of(path, &h, text, sizeof(text)), "FILE that can't be read is a failure");
	rmdir(file_of("u"));
}

/* ---- a sample that no file can have ---- */

static void too_large(void)
{
	static uint8_t text[LOG_HEAD + LOG_MOST + 1];
	char path[4200];
	struct log_scan s;
	struct log l;
	int fd;

	snprintf(path, sizeof(path), "%s", file_of("large"));
	if (!log_open(&l, path, 1 << 16, 1))
		abort();
	check(append(&l, 0) && log_append(&l, text, (1 << 16) - LOG_HEAD + 1) == -EFBIG,
	      "a record that is larger than a file is told apart");
	l.most = 1ull << 40;
	check(log_append(&l, text, LOG_MOST + 1) == -EFBIG,
	      "... and one that is too large for all");
	check(append(&l, 1), "... the next one is written");
	log_close(&l);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(!log_read(fd, &s, NULL, NULL) && s.good == 2 && !s.damaged && !s.torn,
	      "... behind the one before");
	close(fd);
}

/* ---- nonsense with right sums ---- */

static uint64_t random_state;

static unsigned int draw_random(unsigned int below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % below;
}

static void nonsense(uint64_t seed)
{
	struct past *p = past_new();
	struct source from;
	struct model o;
	struct view v;
	unsigned int i, n, taken = 0;
	static uint8_t text[1 << 16];

	random_state = seed;
	if (!p || model_init(&o))
		abort();
	view_init(&v);
	v.cols = 80;
	v.rows = 24;
	from = past_source(p);
	o.want_tasks = o.want_idle = true;
	for (i = 0; i < 20000; i++) {
		const unsigned int which = draw_random(SAMPLES);
		size_t size = ends[which + 1] - ends[which] - LOG_HEAD;
		char *exact;

		memcpy(text, good + ends[which] + LOG_HEAD, size);
		for (n = draw_random(4) + 1; n--;) {
			const size_t at = draw_random(size);

			switch (draw_random(4)) {
			case 0:
				text[at] = draw_random(256);
				break;
			case 1:
				text[at] ^= 1 << draw_random(8);
				break;
			case 2:
				memmove(text + at, text + at + 1, size - at - 1);
				size -= size > 1;
				break;
			default:
				memmove(text + at, text + draw_random(at + 1),
					size - at < 8 ? size - at : 8);
			}
		}
		/* The sanitizer sees a byte too many. */
		exact = malloc(size);
		memcpy(exact, text, size);
		if (past_read(p, (uint8_t *)exact, size)) {
			taken++;
			if (!draw_random(8))
				model_forget(&o);
			model_sample_from(&o, &from, SECOND);
			v.show = draw_random(SHOWS);
			if (o.group.n)
				o.group.track[draw_random(o.group.n)]->open = true;
			drawn(&v, &o);
		}
		free(exact);
	}
	check(taken > 1000 && taken < 20000, "of 20000 records of nonsense %u made sense, and did "
	      "no harm", taken);
	/* Random bytes behind a right head */
	for (i = 0, taken = 0; i < 20000; i++) {
		const size_t size = draw_random(300);
		uint8_t *exact = malloc(size + !size);

		for (n = 0; n < size; n++)
			exact[n] = draw_random(draw_random(2) ? 256 : 4);
		taken += past_read(p, exact, size);
		free(exact);
	}
	check(true, "nor did random ones: %u", taken);
	past_free(p);
	view_free(&v);
	model_free(&o);
}

/* A group that stands there twice would be below itself. */
static void twice(void)
{
	struct past *p = past_new();
	struct bytes b = { 0 };
	static const uint8_t head[] = {
		1, 1, 1, 1, 0,			/* time, epoch, interval, flags */
		1, 'k', 1, 's', 1, 'e', 0,	/* words */
		0,				/* capabilities */
		1, 5, 't', 'o', 't', 'a', 'l', 0,	/* a key */
	};
	static const uint8_t one[] = {
		2,				/* groups */
		0, 1, '/', 3, 1, 0, 0, 0, 0,
		1, 1, 'a', 3, 1, 0, 0, 0, 0,
		0,				/* tasks */
	};
	static const uint8_t both[] = {
		3,
		0, 1, '/', 3, 1, 0, 0, 0, 0,
		1, 1, 'a', 3, 1, 0, 0, 0, 0,
		2, 0, 3, 1, 0, 0, 0, 0,
		0,
	};

	bytes_add(&b, head, sizeof(head));
	bytes_add(&b, one, sizeof(one));
	check(past_read(p, b.data, b.n) && past_groups(p) == 2, "a record by hand");
	b.n = sizeof(head);
	bytes_add(&b, both, sizeof(both));
	check(!past_read(p, b.data, b.n), "... with a group that is there twice is none");
	free(b.data);
	past_free(p);
}

/* ---- many groups ---- */

size_t __sanitizer_get_current_allocated_bytes(void);

static void add_varint(struct bytes *b, uint64_t n)
{
	uint8_t byte;

	do {
		byte = (n & 0x7f) | (n > 0x7f ? 0x80 : 0);
		bytes_add(b, &byte, 1);
		n >>= 7;
	} while (n);
}

static void add_numbers(struct bytes *b, const unsigned int *n, size_t count)
{
	while (count--)
		add_varint(b, *n++);
}

#define ADD(b, ...) \
	add_numbers(b, (const unsigned int[]) { __VA_ARGS__ }, \
		    sizeof((const unsigned int[]) { __VA_ARGS__ }) / sizeof(unsigned int))

/*
 * A sample of @groups groups and @tasks tasks, each with @lines lines: in the @sample-th one, group
 * N has moved N * @sample bytes. Names and process IDs are from @first on.
 */
static void hand_made(struct bytes *b, unsigned int sample, unsigned int groups,
		      unsigned int tasks, unsigned int lines, unsigned int first)
{
	unsigned int i, l;
	char name[16];

	b->n = LOG_HEAD;
	add_varint(b, (2000000000ull + sample) * SECOND);
	add_varint(b, (sample + 1) * SECOND);
	ADD(b, 1, 1, 1, 1, 'k', 1, 's', 1, 'e', 0, 0, lines);
	for (l = 0; l < lines; l++) {
		snprintf(name, sizeof(name), l ? "k%04u" : "total", l);
		add_varint(b, 5);
		bytes_add(b, name, 5);
		add_varint(b, 0);
	}
	add_varint(b, groups);
	for (i = 0; i < groups; i++) {
		snprintf(name, sizeof(name), i ? "%07u" : "/", first + i);
		ADD(b, !!i, strlen(name));
		bytes_add(b, name, strlen(name));
		ADD(b, 3, 1, lines);
		/* The root has more than all. */
		for (l = 0; l < lines; l++)
			ADD(b, l, 1, l ? 0 : (i ?: 1000000) * sample);
		ADD(b, 0, 0, 0);
	}
	add_varint(b, tasks);
	for (i = 0; i < tasks; i++) {
		ADD(b, 0, first + i, 1, 0, 'R', 0, 0, 1, 1, 't', lines);
		for (l = 0; l < lines; l++)
			ADD(b, l, 1, l ? 0 : sample);
	}
}

static void bounds(void)
{
	static const struct {
		const char *what;
		unsigned int groups, tasks, lines;
		bool fits;
	} rows[] = {
		{ "38,000 groups", 38000, 0, 1, true },
		{ "39,000 groups", 39000, 0, 1, false },
		{ "38,000 tasks", 1, 38000, 1, true },
		{ "39,000 tasks", 1, 39000, 1, false },
		{ "400 groups of 1,000 lines", 400, 0, 1000, true },
		{ "430 groups of 1,000 lines", 430, 0, 1000, false },
	};
	struct past *p = past_new();
	const struct source from = past_source(p);
	struct bytes b = { 0 }, again = { 0 };
	struct model o;
	unsigned int i, sample;

	for (i = 0; i < N(rows); i++) {
		const size_t before = __sanitizer_get_current_allocated_bytes();
		size_t most = 0, is;
		bool fits = true;
		int wrote = -EFBIG;

		if (model_init(&o))
			abort();
		o.want_tasks = o.want_idle = true;
		/* Tasks are other ones each time, and the model remembers tasks. */
		for (sample = 1; sample < 5 && fits; sample++) {
			hand_made(&b, sample, rows[i].groups, rows[i].tasks, rows[i].lines,
				  sample * 100000);
			fits = past_read(p, b.data + LOG_HEAD, b.n - LOG_HEAD);
			if (fits && model_sample_from(&o, &from, SECOND))
				abort();
			is = __sanitizer_get_current_allocated_bytes() - before;
			most = is > most ? is : most;
		}
		if (fits) {
			again.n = 0;
			wrote = past_write(&again, &o, &from, past_instant(p));
			o.root->now.n += 1 << 20;
			if (wrote || past_write(&again, &o, &from, past_instant(p)) != -EFBIG)
				fits = false;
			o.root->now.n -= 1 << 20;
		}
		check(fits == rows[i].fits, "a sample of %s is %s", rows[i].what,
		      rows[i].fits ? "read, and written" : "neither");
		check(most < 3 * PAST_MOST, "... and takes no more than is said: %zu MiB",
		      most >> 20);
		model_free(&o);
	}
	free(b.data);
	free(again.data);
	past_free(p);
}

/* More groups than have curves: those of the largest are drawn. */
static void many_rows(void)
{
	static const unsigned int groups = CURVES_MOST + 1000;
	static struct report r;
	struct bytes b = { 0 };
	struct history h;
	struct model o;
	struct log l;
	size_t i, curves = 0;
	double all = 0;

	if (!log_open(&l, file_of("rows"), 1 << 24, 0))
		abort();
	bytes_add(&b, good, LOG_HEAD);
	for (i = 1; i < 5; i++) {
		hand_made(&b, i, groups, 0, 1, 0);
		if (log_append(&l, b.data, b.n - LOG_HEAD))
			abort();
	}
	log_close(&l);
	if (!history_open(&h, file_of("rows")) || model_init(&o) ||
	    !report_add(&r, &h, &o, 0, 3, 7))
		abort();
	for (i = 0; i < r.n; i++)
		curves += !!r.row[i]->curve;
	check(r.n == groups && curves == 7 && r.samples == 3 && r.row[6]->curve,
	      "of %zu groups the largest have curves: %zu", r.n, curves);
	for (i = 0; i < SLOTS; i++)
		all += r.row[1]->curve[FIG_TO][i];
	near("... the curve has all of it, once", all, 3. * (groups - 1), 1);
	near("... as the sums have", r.row[1]->bytes[FIG_TO], 3. * (groups - 1), 1);
	report_free(&r);
	history_close(&h);

	/* Others in each sample, and more of them than a report takes */
	if (!log_open(&l, file_of("rows2"), 1 << 24, 0))
		abort();
	for (i = 0; i < 4; i++) {
		hand_made(&b, i, 37000, 0, 1, 100000 * i);
		if (log_append(&l, b.data, b.n - LOG_HEAD))
			abort();
	}
	log_close(&l);
	free(b.data);
	memset(&r, 0, sizeof(r));
	quiet(true);
	if (!history_open(&h, file_of("rows2")) || !report_add(&r, &h, &o, 0, 3, 0))
		abort();
	quiet(false);
	check(r.n == ROWS_MOST && strstr(r.lost, "more than 100000 groups and devices"),
	      "more groups than a report takes are left out: %s", r.lost);
	report_free(&r);
	history_close(&h);
	model_free(&o);
}

/* ---- times ---- */

static void time_is(const char *text, const char *base, enum moment_side side, const char *wanted)
{
	char got[MOMENT_TEXT] = "none";
	uint64_t base_ns, ns;

	if (!moment_parse(base, 0, side, &base_ns))
		abort();
	if (moment_parse(text, base_ns, side, &ns))
		moment_text(ns, false, got);
	check(!strcmp(got, wanted), "'%s' at %s is %s, wanted %s", text, base, got, wanted);
}

static void times(void)
{
	static const char *const none[] = {
		"", "-", "+", "-x", "+5y", "3", "25:00", "12:60", "12:00:61", "12:0", "12:00:",
		"2026-13-01", "2026-11-28 ", "2026-11-28x12:00", "2026-11-28 12", "12:00 ", "now",
		"2026-1-01", "-5mm", "99999999999999999999",
	};
	const char *now = "2026-11-28 09:30:00";
	uint64_t ns;
	size_t i, bad_ones = 0;

	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	time_is("2026-11-27 22:00", now, MOMENT_BEFORE, "2026-11-27 22:00:00");
	time_is("2026-11-27T22:00:05", now, MOMENT_BEFORE, "2026-11-27 22:00:05");
	time_is("2026-11-27", now, MOMENT_BEFORE, "2026-11-27 00:00:00");
	time_is("03:12", now, MOMENT_BEFORE, "2026-11-28 03:12:00");
	time_is("22:00", now, MOMENT_BEFORE, "2026-11-27 22:00:00");
	time_is("09:30", now, MOMENT_BEFORE, "2026-11-28 09:30:00");
	time_is("09:30", now, MOMENT_AFTER, "2026-11-29 09:30:00");
	time_is("10:00:01", now, MOMENT_AFTER, "2026-11-28 10:00:01");
	time_is("-10m", now, MOMENT_BEFORE, "2026-11-28 09:20:00");
	time_is("+1.5h", now, MOMENT_BEFORE, "2026-11-28 11:00:00");
	time_is("-90", now, MOMENT_BEFORE, "2026-11-28 09:28:30");
	time_is("-1d", now, MOMENT_BEFORE, "2026-11-27 09:30:00");
	/* The night in which clocks go back has an hour more. */
	time_is("12:00", "2026-10-25 11:00", MOMENT_BEFORE, "2026-10-24 12:00:00");
	for (i = 0; i < N(none); i++)
		bad_ones += moment_parse(none[i], SECOND, MOMENT_BEFORE, &ns);
	check(!bad_ones, "what is no time is none: %zu", bad_ones);
	setenv("TZ", "UTC", 1);
	tzset();
}

/* ---- sums ---- */

static struct row *row(struct report *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (!strcmp(r->row[i]->name, name))
			return r->row[i];
	abort();
}

static void sums(void)
{
	static struct report r;
	static char page[1 << 20];
	struct history h;
	struct model o;
	double all = 0;
	FILE *f;
	int i;

	if (!history_open(&h, file_of("d")) || model_init(&o) ||
	    !report_add(&r, &h, &o, 0, SAMPLES - 1, 12))
		abort();
	near("the machine's bytes", row(&r, "/")->bytes[FIG_FROM], 3. * moved(4), 1);
	near("a group's", row(&r, "/a/x")->bytes[FIG_READ], 2. * moved(4), 1);
	near("a device's", row(&r, "0000:00:03.0")->bytes[FIG_WRITE], 3. * moved(4), 1);
	near("its most", row(&r, "/a")->peak_bps, 2 * 2 * (moved(4) - moved(3)) / 10., 1);
	check(row(&r, "/a")->peak_ns == (1000000000 + 40) * SECOND, "... and when");
	near("its stops", row(&r, "/a/x")->stopped_ns, 4 * 100000000., 1000);
	for (i = 0; i < SLOTS; i++)
		all += row(&r, "/a/x")->curve[FIG_READ][i];
	near("its curve has all of it", all / (2. * moved(4)), 1, 0.0001);
	check(r.samples == 4 && r.covered_ns == 40. * SECOND, "over all of the time");
	check(!strcmp(r.row[0]->name, "/") && !strcmp(r.row[1]->name, "/a"),
	      "the machine, then the largest");
	f = fmemopen(page, sizeof(page), "w");
	page_write(&r, 12, "a<b>&\"c\"", f);
	fclose(f);
	check(strstr(page, "a&lt;b&gt;&amp;&quot;c&quot;") && !strstr(page, "<b>"),
	      "names in a page are text");
	check(!strchr(page, 033), "... without characters that control a terminal");
	report_free(&r);
	history_close(&h);
	model_free(&o);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	place = argv[1];
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 2;
	times();
	put_machine("tree");
	put_file("tree", "proc/sys/kernel/random/boot_id", "1-2-3\n");
	there_and_back();
	damage();
	lost_one();
	writing();
	others_files();
	always_there();
	many_heads();
	lost_at_end();
	unread_files();
	too_large();
	twice();
	sums();
	many_rows();
	bounds();
	nonsense(argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
	return failed > 0;
}

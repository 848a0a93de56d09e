// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio on texts and on recorded trees, hostile ones too
 *
 *	unit DIRECTORY-OF-TREES EMPTY-DIRECTORY
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/sysmacros.h>

#include <memio/memio.h>

#include "../internal.h"

#include "test.h"
#include "tree.h"

#define DB	"/system.slice/db.service"
#define DEEP	DB "/nested/deep"

static const char *trees, *place;

static void same(const char *what, uint64_t got, uint64_t wanted)
{
	check(got == wanted, "%s: %" PRIu64 ", wanted %" PRIu64, what, got, wanted);
}

static void text_is(const char *what, const char *got, const char *wanted)
{
	check(got && !strcmp(got, wanted), "%s: '%s', wanted '%s'", what, got ? got : "(none)",
	      wanted);
}

/* Why root may not load BPF programs */
static void refused(void)
{
#define STATUS(caps)	"Name:\tmemio\nCapPrm:\t000001ffffffffff\nCapEff:\t" caps "\nCapBnd:\t0\n"
#define HOST_IDS	"         0          0 4294967295\n"
	static const struct {
		const char *what, *status, *ids, *lockdown, *wanted;
	} cases[] = {
		{ "a rootless container", STATUS("000001ffffffffff"),
		  "         0       1000          1\n         1     100000      65536\n", "",
		  "user namespace" },
		{ "a container's root", STATUS("00000000a80425fb"), HOST_IDS, "", "CAP_BPF" },
		{ "root with one of two", STATUS("0000008000000000"), HOST_IDS, "", "CAP_BPF" },
		{ "root with both", STATUS("000000c000000000"), HOST_IDS, "", "to root, too" },
		{ "an older container's root", STATUS("0000000000200000"), HOST_IDS, "",
		  "to root, too" },
		{ "a kernel that is locked down", STATUS("000001ffffffffff"), HOST_IDS,
		  "none integrity [confidentiality]\n", "locked down" },
		{ "a kernel that is less so", STATUS("000001ffffffffff"), HOST_IDS,
		  "none [integrity] confidentiality\n", "to root, too" },
		{ "nothing to read", "", "", "", "to root, too" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *why = mio_refused(cases[i].status, cases[i].ids, cases[i].lockdown);

		check(strstr(why, cases[i].wanted), "%s: %s", cases[i].what, why);
	}
}

static void parsed(struct memio_stat *s, const char *text)
{
	if (memio_stat_parse(s, text, strlen(text)))
		abort();
}

/* ---- texts ---- */

static void figures(void)
{
	struct memio_stat s = { 0 };
	const struct memio_line *l;
	char many[65536];
	size_t i, n;

	parsed(&s, "0000:00:03.0 io_to=1 io_from=18446744073709551615 new_key=5 mem_read=7 unclaimed_to=-5\n"
		   "cpu mem_read=3 mem_write=4 valid=1\n\ntotal io_to=1");
	same("lines", s.n, 3);
	l = memio_stat_find(&s, "0000:00:03.0");
	same("a field", memio_get(l, MEMIO_IO_TO), 1);
	same("the largest", memio_get(l, MEMIO_IO_FROM), UINT64_MAX);
	check(!memio_has(l, MEMIO_MEM_WRITE), "a field that is not there");
	check(memio_get_signed(l, MEMIO_UNCLAIMED_TO) == -5, "a negative one");
	check(memio_is_device(l), "a device");
	check(!memio_is_device(memio_stat_find(&s, "cpu")), "cpu is none");
	l = memio_stat_find(&s, "total");
	same("the last line, without its end", memio_get(l, MEMIO_IO_TO), 1);
	same("none is 0", memio_get(memio_stat_find(&s, "nothing"), MEMIO_IO_TO), 0);

	parsed(&s, "a io_to=18446744073709551616\nb io_to=-1 io_from=2\nc io_to= io_from=x1 mem_read=1x\n"
		   "d io_to=1\nd io_to=2\n"
		   "a-name-that-is-longer-than-any-device io_to=1\nesc\033[2J io_to=1\n=\n io_to=3\n");
	check(!memio_stat_find(&s, "a"), "a number that is too large is none");
	l = memio_stat_find(&s, "b");
	check(l && !memio_has(l, MEMIO_IO_TO) && memio_has(l, MEMIO_IO_FROM), "nor is a negative one");
	check(!memio_stat_find(&s, "c"), "a line without any is left out");
	same("the first of two counts", memio_get(memio_stat_find(&s, "d"), MEMIO_IO_TO), 1);
	same("keys that can't be", s.n, 2);
	same("... are counted", s.skipped, 7);

	for (i = n = 0; i < 2000; i++)
		n += snprintf(many + n, sizeof(many) - n, "dev%zu io_to=%zu\n", i, i);
	parsed(&s, many);
	same("lines are bounded", s.n, 1024);
	same("... the rest is counted", s.skipped, 2000 - 1024);

	parsed(&s, "new:p unpriced_to=3 unpriced_from=4 io_to=9\nold io_to=9 unpriced=5\n");
	same("unpriced, by direction", memio_unpriced(memio_stat_find(&s, "new:p")), 7);
	same("unpriced, as one", memio_unpriced(memio_stat_find(&s, "old")), 5);
	memio_stat_free(&s);
	for (i = 0; i < MEMIO_FIELDS; i++)
		if (memio_field_of(memio_field_name(i)) != (int)i)
			break;
	same("names of fields", i, MEMIO_FIELDS);
	check(memio_field_of("nonsense") < 0 && !memio_field_name(MEMIO_FIELDS), "no such field");
}

static void differences(void)
{
	struct memio_stat a = { 0 }, b = { 0 }, d = { 0 };
	const struct memio_line *l;

	parsed(&a, "x io_to=100 io_from=7 unclaimed_to=3\ngone io_to=5\ntotal io_to=105\n");
	parsed(&b, "new io_to=4\nx io_to=150 io_from=3 mem_read=9 unclaimed_to=-2 io_to_bps=77\ntotal io_to=4\n");
	a.ns = 1000000000;
	b.ns = 3500000000;
	same("a difference", memio_stat_diff(&a, &b, &d), 0);
	same("... its time", d.ns, 2500000000);
	same("... of lines that are there", d.n, 3);
	same("... one is gone", d.gone, 1);
	l = memio_stat_find(&d, "x");
	same("a sum", memio_get(l, MEMIO_IO_TO), 50);
	same("one that went back counts from 0", memio_get(l, MEMIO_IO_FROM), 3);
	same("... which is said", l->anew, 1u << MEMIO_IO_FROM);
	same("a field that is new", memio_get(l, MEMIO_MEM_READ), 9);
	check(memio_get_signed(l, MEMIO_UNCLAIMED_TO) == -2, "what is no sum");
	same("... nor a rate", memio_get(l, MEMIO_IO_TO_BPS), 77);
	same("a line that is new", memio_get(memio_stat_find(&d, "new"), MEMIO_IO_TO), 4);
	near("a rate", memio_rate(50, d.ns), 20, EXACT);
	near("... over no time", memio_rate(50, 0), 0, EXACT);
	memio_stat_diff(&b, &a, &d);
	same("time does not go back", d.ns, 0);
	memio_stat_free(&a);
	memio_stat_free(&b);
	memio_stat_free(&d);
}

static void heads(void)
{
	static const char text[] = "source hsx\nvalid 1\nstate a-word-of-more-than-sixteen\nnonsense\n\n"
				   "x alias=a,b io_to=1\ny alias= io_to=2\nz alias=\001c io_to=3\n";
	struct memio_membw b = { 0 };
	size_t n;

	same("a membw", memio_membw_parse(&b, text, strlen(text)), 0);
	text_is("... source", b.source, "hsx");
	text_is("... a word is cut", b.state, "a-word-of-more-");
	same("... valid", b.valid, 1);
	same("... lines", b.stat.n, 3);
	text_is("... alias", memio_stat_find(&b.stat, "x")->alias, "a,b");
	check(!memio_stat_find(&b.stat, "y")->alias, "... an empty one is none");
	text_is("... what can't be printed", memio_stat_find(&b.stat, "z")->alias, "?c");
	/* Cut off anywhere, in memory that ends there */
	for (n = 0; n <= strlen(text); n++) {
		char *cut = malloc(n);

		memcpy(cut, text, n);
		if (memio_membw_parse(&b, cut, n) || memio_stat_parse(&b.stat, cut, n))
			break;
		free(cut);
	}
	same("cut off anywhere", n, strlen(text) + 1);
	memio_membw_parse(&b, "valid 2\n", 8);
	same("no valid", b.valid, -1);
	memio_membw_free(&b);
}

static void pairs(void)
{
	static const char text[] = "throttled 5\ntotal throttled=3 more=4\n"
				   "some avg10=0.12 total=99\naccounting on\nthrottled 9\nlone\n";
	struct memio_flat f = { 0 };

	same("pairs", memio_flat_parse(&f, text, strlen(text)), 0);
	same("... as many", f.n, 6);
	same("... a number", memio_flat_get(&f, "throttled"), 5);
	same("... of a key", memio_flat_get(&f, "total.more"), 4);
	text_is("... as it stands", memio_flat_find(&f, "some.avg10")->word, "0.12");
	text_is("... a word", memio_flat_find(&f, "accounting")->word, "on");
	same("... none", memio_flat_get(&f, "nothing"), 0);
	memio_flat_free(&f);
}

static void rate(const char *text, int err, uint64_t wanted)
{
	uint64_t got = 12345;
	int is = memio_rate_parse(text, &got);

	check(is == err && (err || got == wanted), "rate '%s': %d %" PRIu64 ", wanted %d %" PRIu64,
	      text, is, got, err, wanted);
}

static void limit(const char *text, int err, const char *key, enum memio_way way, uint64_t wanted)
{
	struct memio_limit l;
	int is = memio_limit_parse(text, &l);

	check(is == err && (err || (!strcmp(l.key, key) && l.rate[way] == wanted)),
	      "limit '%s': %d %s, wanted %d %s", text, is, is ? "" : l.key, err, key);
}

static void rates(void)
{
	static const char file[] = "total bps=5 rbps=max new=3\nx wbps=7\nempty\ny foo=1\n";
	struct memio_limits l = { 0 };
	const char *bad = NULL;

	rate("1", 0, 1);
	rate("200M", 0, 200000000);
	rate("1.5G", 0, 1500000000);
	rate("3K", 0, 3000);
	rate("3Ki", 0, 3072);
	rate("2Mi", 0, 2 << 20);
	rate("0.5Gi", 0, 1 << 29);
	rate("1.0000000001G", 0, 1000000000);
	rate("1125899906842624", 0, MEMIO_RATE_MOST);
	rate("max", 0, MEMIO_RATE_MAX);
	rate("1125899906842625", -ERANGE, 0);
	rate("1125900G", -ERANGE, 0);
	rate("18446744074G", -ERANGE, 0);
	rate("99999999999999999999999999", -ERANGE, 0);
	rate("0", -ERANGE, 0);
	rate("0.4", -ERANGE, 0);
	rate("", -EINVAL, 0);
	rate("-1", -EINVAL, 0);
	rate("+1", -EINVAL, 0);
	rate(" 1", -EINVAL, 0);
	rate("1.", -EINVAL, 0);
	rate("1 M", -EINVAL, 0);
	rate("1m", -EINVAL, 0);
	rate("1MB", -EINVAL, 0);
	rate("1e9", -EINVAL, 0);
	rate("0x10", -EINVAL, 0);
	rate("maximum", -EINVAL, 0);

	limit("total=200M", 0, "total", MEMIO_BPS, 200000000);
	limit("eth0.wbps=50M", 0, "eth0", MEMIO_WBPS, 50000000);
	limit("eth0.100.rbps=1", 0, "eth0.100", MEMIO_RBPS, 1);
	limit("0000:00:03.0=1", 0, "0000:00:03.0", MEMIO_BPS, 1);
	limit("0000:00:03.0.bps=max", 0, "0000:00:03.0", MEMIO_BPS, MEMIO_RATE_MAX);
	limit("x.wbps=1", 0, "x", MEMIO_RBPS, MEMIO_RATE_KEEP);
	limit("=1", -EINVAL, "", 0, 0);
	limit(".bps=1", -EINVAL, "", 0, 0);
	limit("total", -EINVAL, "", 0, 0);
	limit("total=", -EINVAL, "", 0, 0);
	limit("a b=1", -EINVAL, "", 0, 0);
	limit("a\t=1", -EINVAL, "", 0, 0);
	limit("a-name-that-is-longer-than-any-device=1", -EINVAL, "", 0, 0);
	limit("total=0", -ERANGE, "", 0, 0);
	limit("total=1111111111111111111111111111111111111111111111111111111111111111111", -EINVAL,
	      "", 0, 0);

	same("a list", memio_limits_add(&l, "total=200M,eth0.wbps=5,total.rbps=7", &bad), 0);
	same("... of two keys", l.n, 2);
	same("... one has two rates", l.limit[0].rate[MEMIO_RBPS], 7);
	same("... the other one", l.limit[1].rate[MEMIO_WBPS], 5);
	same("a list with a fault", memio_limits_add(&l, "io=1,nonsense", &bad), -EINVAL);
	text_is("... which is found", bad, "nonsense");
	same("an empty one", memio_limits_add(&l, "", &bad), -EINVAL);
	same("what the kernel has", memio_limits_parse(&l, file, strlen(file)), 0);
	same("... lines", l.n, 2);
	same("... max is none", l.limit[0].rate[MEMIO_RBPS], MEMIO_RATE_MAX);
	same("... what is not there neither", l.limit[1].rate[MEMIO_BPS], MEMIO_RATE_MAX);
	memio_limits_free(&l);
}

/* ---- trees ---- */

static struct memio *opened(const char *tree, char *root)
{
	char from[4096];

	sprintf(root, "%s/%s", place, tree);
	sprintf(from, "%s/%s.txt", trees, tree);
	mkdir(root, 0755);
	if (!tree_unpack(from, root)) {
		check(false, "the tree %s is there", tree);
		exit(1);
	}
	return memio_open(root);
}

static int note(const struct memio_group *g, void *arg)
{
	strcat(strcat(arg, g->path), g->accounted ? " " : "- ");
	return !strcmp(g->path, "/user.slice");
}

static void group_is(struct memio *m, const char *name, int err, const char *wanted)
{
	char *path;
	int is = memio_group_resolve(m, name, &path);

	check(is == err && (err || !strcmp(path, wanted)), "group '%s': %d %s, wanted %d %s", name,
	      is, is ? memio_error(m) : path, err, wanted);
	free(path);
}

static void device_is(struct memio *m, const char *alias, int err, const char *wanted)
{
	char name[MEMIO_NAME_MAX];
	int is = memio_device_resolve(m, alias, name);

	check(is == err && (err || !strcmp(name, wanted)), "device '%s': %d %s, wanted %d %s",
	      alias, is, is ? memio_error(m) : name, err, wanted);
}

static int add_task(pid_t id, void *arg)
{
	sprintf((char *)arg + strlen(arg), "%d ", id);
	return 0;
}

static void write_to(const char *root, const char *file, const char *text)
{
	char path[8192];
	FILE *f;

	sprintf(path, "%s/%s", root, file);
	tree_above(path);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static const char *read_from(const char *root, const char *file)
{
	static char text[256];
	char path[8192];
	size_t n;
	FILE *f;

	sprintf(path, "%s/%s", root, file);
	f = fopen(path, "r");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

static void whole(void)
{
	char root[1024], long_name[5000], all[4096] = "", tasks[256] = "", *lacks;
	const char *const stat = "sys/fs/cgroup/system.slice/db.service/memio.stat";
	struct memio *m = opened("haswell", root);
	struct memio_sample *then = memio_sample_new(), *now = memio_sample_new();
	struct memio_limit limit = {
		"total", { MEMIO_RATE_KEEP, 5, MEMIO_RATE_MAX },
	};
	struct memio_entry like = { .kind = MEMIO_IS_GROUP, .path = DB };
	const struct memio_capability *c;
	const struct memio_entry *e;
	struct memio_limits l = { 0 };
	struct memio_membw b = { 0 };
	struct memio_stat s = { 0 };
	struct memio_flat f = { 0 };
	struct memio_task t;
	size_t n, i;
	uint64_t v;

	check(m, "a reader");
	text_is("its backend", memio_backend(m), "kernel");
	check(!strcmp(memio_mount(m) + strlen(root), "/sys/fs/cgroup"), "the mount");
	same("the root's figures", memio_group_stat(m, "/", MEMIO_TREE, &s), 0);
	same("... lines", s.n, 7);
	check(s.ns, "... have their time");
	same("a group's", memio_group_stat(m, DB, MEMIO_TREE, &s), 0);
	same("its own alone", memio_group_stat(m, "/", MEMIO_LOCAL, &s), -ENOENT);
	check(strstr(memio_error(m), "does not have it"), "... which is not there: %s",
	      memio_error(m));
	same("one without the controller", memio_group_stat(m, DEEP, MEMIO_TREE, &s), -ENOENT);
	check(strstr(memio_error(m), "echo +memio >") &&
	      strstr(memio_error(m), "/system.slice/db.service/cgroup.subtree_control"),
	      "... with what to type: %s", memio_error(m));
	same("which keeps it", memio_group_lacks(m, DEEP, &lacks), 1);
	text_is("... that one", lacks, DB);
	free(lacks);
	same("which keeps it from this one", memio_group_lacks(m, DB, &lacks), 0);
	same("no such group", memio_group_stat(m, "/no", MEMIO_TREE, &s), -ENOENT);
	text_is("... is said", memio_error(m), "there is no group /no");
	same("one above the mount", memio_group_stat(m, "/../../kernel", MEMIO_TREE, &s), -EINVAL);

	same("a walk", memio_groups(m, "/", note, all), 0);
	text_is("... parents first, by name, pruned", all,
		"/ /system.slice /system.slice/db.service /system.slice/db.service/nested- /system.slice/db.service/nested/deep- /system.slice/twice.scope- /user.slice ");
	*all = '\0';
	memio_groups(m, "/system.slice/db.service/nested/", note, all);
	text_is("... of a part", all, "/system.slice/db.service/nested- /system.slice/db.service/nested/deep- ");
	same("... of none", memio_groups(m, "/no", note, all), -ENOENT);

	group_is(m, "/", 0, "/");
	group_is(m, "/system.slice/", 0, "/system.slice");
	group_is(m, "system.slice//./db.service", 0, DB);
	group_is(m, "db.service", 0, DB);
	group_is(m, "/sys/fs/cgroup/user.slice", 0, "/user.slice");
	group_is(m, "/sys/fs/cgroup", 0, "/");
	group_is(m, "-.slice", 0, "/");
	group_is(m, "twice.scope", -EEXIST, "");
	group_is(m, "no.service", -ENOENT, "");
	group_is(m, "nested", -ENOENT, "");
	group_is(m, "", -EINVAL, "");
	group_is(m, "../kernel", -EINVAL, "");
	group_is(m, "user.slice/..", -EINVAL, "");
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	group_is(m, long_name, -EINVAL, "");

	device_is(m, "eth0", 0, "0000:00:04.0");
	device_is(m, "vda", 0, "0000:00:03.0");
	device_is(m, "/dev/vda1", 0, "0000:00:03.0");
	device_is(m, "254:0", 0, "0000:00:03.0");
	device_is(m, "0000:00:03.0", 0, "0000:00:03.0");
	device_is(m, "lo", -ENODEV, "");
	device_is(m, "eth9", -ENODEV, "");
	device_is(m, "../net/eth0", -ENODEV, "");
	device_is(m, "", -ENODEV, "");
	text_is("an alias", memio_device_alias(m, "0000:00:04.0"), "eth0");
	text_is("... of none", memio_device_alias(m, "0000:00:09.0"), "0000:00:09.0");

	same("limits", memio_group_limits(m, DB, &l), 0);
	same("... lines", l.n, 2);
	same("... a rate", memio_limits_find(&l, "0000:00:03.0")->rate[MEMIO_WBPS], 50000000);
	same("a guarantee", memio_group_value(m, DB, MEMIO_MIN, &v), 0);
	same("... of all", v, MEMIO_RATE_MAX);
	same("a weight", memio_group_value(m, DB, MEMIO_WEIGHT, &v), 0);
	same("... of 100", v, 100);
	same("events", memio_group_events(m, DB, MEMIO_TREE, &f), 0);
	same("... for how long", memio_flat_get(&f, "throttled_usec"), 8329061);
	same("... of a key", memio_flat_get(&f, "0000:00:03.0.throttled"), 17);
	same("a limit is set", memio_group_set_limit(m, DB, &limit), 0);
	check(!strncmp(read_from(root, "sys/fs/cgroup/system.slice/db.service/memio.limit"),
		       "total rbps=5 wbps=max\n", 22), "... in the file's words");
	same("a weight is set", memio_group_set_value(m, DB, MEMIO_WEIGHT, 7), 0);
	same("one without a controller", memio_group_set_limit(m, DEEP, &limit), -ENOENT);

	same("tasks", memio_group_tasks(m, DB, false, add_task, tasks), 0);
	text_is("... that this namespace sees", tasks, "76 77 ");
	same("a task", memio_task_info(m, 76, 0, true, &t), 0);
	text_is("... its name", t.comm, "a) S 1 (b");
	same("... when it began", t.start, 4711);
	same("... its policy", t.policy, 3);
	check(t.state == 'S' && t.stopped && t.uid == 1000, "... its state");
	text_is("... its group", t.group, DB);
	same("one that is gone", memio_task_info(m, 77, 0, true, &t), -ESRCH);
	same("its figures", memio_task_membw(m, 76, 0, &b), 0);
	text_is("... source", b.source, "hsx");
	same("... of the process",
	     memio_get(memio_stat_find(&b.stat, "total"), MEMIO_MEM_WRITE_BPS), 143801173);
	same("... of one that is gone", memio_task_membw(m, 77, 0, &b), -ESRCH);

	c = memio_capabilities(m, &n);
	for (i = 0; i < n; i++)
		check(c[i].why && *c[i].why, "%s %s: %s", c[i].name,
		      c[i].there ? "is there" : "is not there", c[i].why);
	same("capabilities", n, 16);
	check(memio_can(m, "limits")->there, "limits are there");
	check(!memio_can(m, "state")->there, "memio.state is not");
	check(!memio_can(m, "nonsense"), "no such capability");

	/* Two samples: counters grow, a group is another one under its name, a task is. */
	same("a sample", memio_sample_tree(m, then, "/"), 0);
	same("... of a task", memio_sample_task(m, then, 76, 0), 0);
	same("... of one that is gone", memio_sample_task(m, then, 77, 0), -ESRCH);
	same("... has groups with figures, and the task", memio_sample_size(then), 5);
	write_to(root, stat, "0000:00:03.0 io_to=11 io_from=5096\ntotal io_to=11 io_from=5096\n");
	memio_sample_tree(m, now, "/");
	memio_sample_task(m, now, 76, 0);
	for (i = 0; i < memio_sample_size(now); i++) {
		e = memio_sample_entry(now, i);
		if (e->kind == MEMIO_IS_GROUP && !strcmp(e->path, like.path)) {
			like.id = e->id;
			same("... then and now", memio_sample_diff(then, e, &s), 0);
			same("... has moved",
			     memio_get(memio_stat_find(&s, "total"), MEMIO_IO_FROM), 1000);
			same("... and was stopped", e->stopped_usec, 8329061);
		}
	}
	check(memio_sample_find(now, &like), "one is found");
	like.id++;
	check(!memio_sample_find(now, &like), "another one under its name is not");
	like.id--;
	check(!memio_sample_entry(now, 5), "there are no more");
	setenv("ROOT", root, 1);
	if (system("cd \"$ROOT/sys/fs/cgroup\" && mv system.slice/db.service old && "
		   "cp -r old system.slice/db.service && rm -r user.slice old"))
		abort();
	memio_sample_begin(then);
	memio_sample_tree(m, then, "/");
	same("a group that is gone is not in it", memio_sample_size(then), 3);
	e = memio_sample_find(now, &like);
	check(e && !memio_sample_find(then, e), "one that was made anew is another one");
	same("... which is said", memio_sample_diff(then, e, &s), 1);
	same("... and has no time", s.ns, 0);

	memio_sample_free(then);
	memio_sample_free(now);
	memio_flat_free(&f);
	memio_stat_free(&s);
	memio_membw_free(&b);
	memio_limits_free(&l);
	memio_close(m);
}

static void no_memio(void)
{
	char root[1024], *path;
	struct memio_membw b = { 0 };
	struct memio_stat s = { 0 };
	struct memio_task t;
	struct memio *m = opened("hybrid", root);
	size_t n;

	check(m && !memio_mount(m), "a mount without its files is none");
	memio_close(m);
	write_to(root, "sys/fs/cgroup/uni fied/cgroup.controllers", "cpu\n");
	write_to(root, "sys/fs/cgroup/uni fied/cgroup.subtree_control", "");
	write_to(root, "sys/fs/cgroup/uni fied/inner/cgroup.procs", "");
	m = memio_open(root);
	check(memio_mount(m) && strstr(memio_mount(m), "/uni fied"), "the hierarchy beside v1, with a space");
	text_is("no backend", memio_backend(m), "none");
	same("no figures", memio_group_stat(m, "/", MEMIO_TREE, &s), -ENOTSUP);
	check(strstr(memio_error(m), "no memio"), "... is said: %s", memio_error(m));
	same("none of tasks", memio_task_membw(m, 11, 0, &b), -ENOTSUP);
	group_is(m, "inner", 0, "/inner");
	same("a task in a container", memio_task_info(m, 11, 0, true, &t), 0);
	text_is("... its group as seen here", t.group, "/inner");
	same("a stat that is cut", memio_task_info(m, 9, 0, true, &t), -EINVAL);
	same("a stat that is none", memio_task_info(m, 10, 0, true, &t), -EINVAL);
	check(!memio_can(m, "kernel")->there && !memio_can(m, "controller")->there, "nothing is there");
	memio_devices(m, &n);
	same("devices", n, 0);
	memio_close(m);
	memio_membw_free(&b);
	memio_stat_free(&s);
	m = memio_open("/nonexistent");
	check(!m && errno == ENOENT, "a root that is not there");
	sprintf(root, "%s/void", place);
	mkdir(root, 0755);
	m = memio_open(root);
	check(m && !memio_mount(m), "an empty root");
	same("... has no groups", memio_group_resolve(m, "/", &path), -ENODEV);
	check(memio_capabilities(m, &n) && n == 16, "... and says what is missing");
	memio_close(m);
}

/* Files that are none, links in circles, names that are too long */
static void hostile(void)
{
	char root[1024], file[8192], deep[4096];
	struct memio *m = opened("haswell", root);
	struct memio_stat s = { 0 };
	char all[65536] = "";
	struct memio_task t;
	uint64_t v;
	int i;

	sprintf(file, "%s/sys/fs/cgroup/fifo", root);
	mkdir(file, 0755);
	strcat(file, "/memio.stat");
	mkfifo(file, 0600);
	same("a FIFO is no file, and is not waited for",
	     memio_group_stat(m, "/fifo", MEMIO_TREE, &s), -EINVAL);
	sprintf(file, "%s/sys/fs/cgroup/dir/memio.stat/x", root);
	tree_above(file);
	same("nor is a directory", memio_group_stat(m, "/dir", MEMIO_TREE, &s), -EINVAL);
	sprintf(file, "%s/sys/fs/cgroup/large", root);
	mkdir(file, 0755);
	strcat(file, "/memio.stat");
	if (mknod(file, S_IFREG | 0600, makedev(0, 0)) || truncate(file, 1ull << 40))
		abort();
	same("a file of a TiB is not read", memio_group_stat(m, "/large", MEMIO_TREE, &s), -EFBIG);
	write_to(root, "sys/fs/cgroup/empty/memio.stat", "");
	same("an empty one", memio_group_stat(m, "/empty", MEMIO_TREE, &s), 0);
	same("... has nothing", s.n, 0);
	sprintf(file, "%s/sys/fs/cgroup/circle", root);
	if (symlink(".", file))
		abort();
	*all = '\0';
	same("a link in a circle", memio_groups(m, "/", note, all), 0);
	check(!strstr(all, "circle"), "... is no group");
	sprintf(deep, "%s/sys/fs/cgroup/deep", root);
	mkdir(deep, 0755);
	if (chdir(deep))
		abort();
	*all = '\0';
	memset(file, 'd', 200);
	file[200] = '\0';
	for (i = 0; i < 60; i++)
		if (mkdir(file, 0755) || chdir(file))
			break;
	same("groups below each other, beyond what a path has", i, 60);
	same("... end it", memio_groups(m, "/deep", note, all), 0);
	if (chdir("/"))
		abort();
	write_to(root, "proc/5/stat", "5 (x) S 1 5 5 0 -1 4194304 100 0 0 0 5 6 0 0 20 0 3 0 99999999999999999999999999 1000\n");
	write_to(root, "proc/5/status", "Uid:");
	write_to(root, "proc/5/cgroup", "0::/../..");
	same("a task with numbers that are none", memio_task_info(m, 5, 0, true, &t), 0);
	text_is("... and a group above what is seen", t.group, "");
	write_to(root, "sys/fs/cgroup/system.slice/db.service/memio.weight", "12x\n");
	same("a weight that is none", memio_group_value(m, DB, MEMIO_WEIGHT, &v), -EINVAL);
	memio_stat_free(&s);
	memio_close(m);
}

/* Lists of CPUs, as of cpumask of a PMU */
static void lists(void)
{
	int cpu[4] = { -1, -1, -1, -1 };

	same("a CPU of each of two packages", mio_cpus("0,18\n", cpu, 4), 2);
	same("... the second", cpu[1], 18);
	same("CPUs that are neighbours", mio_cpus("0-1,4", cpu, 4), 3);
	same("... the second", cpu[1], 1);
	same("... the third", cpu[2], 4);
	same("more than there is room for", mio_cpus("0-99999999999", cpu, 4), 4);
	same("none", mio_cpus("\n", cpu, 4), 0);
}

int main(int argc, char **argv)
{
	char *again;

	if (argc != 3)
		return 2;
	trees = argv[1];
	place = argv[2];
	refused();
	figures();
	differences();
	heads();
	pairs();
	rates();
	lists();
	whole();
	no_memio();
	if (asprintf(&again, "%s/again", argv[2]) < 0)
		return 2;
	place = again;
	mkdir(place, 0755);
	hostile();
	free(again);
	return failed > 0;
}

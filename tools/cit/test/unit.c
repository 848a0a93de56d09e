// SPDX-License-Identifier: GPL-2.0
/*
 * The mathematics of memio cit against known figures: published data, table 1 of Danalis
 * et al., and curves of the shapes of their figures. Prints "ok TEXT" or "not ok TEXT".
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cit.h"
#include "command.h"
#include "gnuplot.h"
#include "test.h"

static void lines(void)
{
	/* Anscombe's first set, and its published line */
	static const double x[] = { 10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5 };
	static const double y[] = { 8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82,
				    5.68 };
	static const double exact[] = { 25, 21, 31, 23, 27, 33, 17, 13, 29, 19, 15 };
	static const double flat[] = { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 };
	struct fit f = fit_line(x, y, N(x));

	near("Anscombe: slope", f.slope, 0.500091, 0.000001);
	near("... intercept", f.intercept, 3.000091, 0.000001);
	near("... r2", f.r2, 0.666542, 0.000001);
	f = fit_line(x, exact, N(x));
	near("2 x + 5: slope", f.slope, 2, EXACT);
	near("... intercept", f.intercept, 5, EXACT);
	near("... r2", f.r2, 1, EXACT);
	f = fit_line(x, flat, N(x));
	check(f.valid && !f.slope && f.r2 == 1, "counts that don't change: slope 0, a good fit");
	check(!fit_line(x, y, 1).valid, "one point is no line");
	check(!fit_line(flat, y, N(flat)).valid, "one amount of work is no line");
}

static void equation_1(void)
{
	struct fit f = { .slope = 2, .r2 = 1, .valid = true };

	near("equation 1: right", fit_goodness(&f, 2), 1, 0);
	near("... half an event off", fit_goodness(&f, 2.5), exp(-0.5), EXACT);
	near("... one off", fit_goodness(&f, 1), exp(-2.), EXACT);
	f.r2 = 0.75;
	near("... a slope of 2 of a bad fit is 1.5", fit_goodness(&f, 1.5), 1, EXACT);
	f.slope = 0;
	near("... nothing at all", fit_goodness(&f, 0), 1, 0);
}

/* A perfect event of a category */
static void imitate(struct fit *f, const double *slope, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		f[i] = (struct fit) { .slope = isnan(slope[i]) ? 0 : slope[i], .r2 = 1,
				      .valid = true };
}

static void table_1(void)
{
	static const struct {
		const char *name;
		double slope[7];
		const char *second;
		double second_goodness;
	} row[] = {
		{ "CE", { 2, 2, 2, 2, 2.5, 2, 1 }, "CR", 0.60653066 },
		{ "CR", { 2, 2, 2, 2, 2, 2, 1 }, "CE", 0.60653066 },
		{ "T", { 1.5, 1, 2, 1.5, 1.5, 1, 1 }, "CR", 0.00408677 },
		{ "D", { 0, 0, 0, 0, 0, 1, 0 }, "M", 0.04978707 },
		{ "M", { 0, 0, 0, .5, .5, 0, 0 }, "D", 0.04978707 },
	};
	const struct family *b = &branch_family;
	struct fit f[CIT_PROBES];
	size_t i, k;

	check(b->seed_probes == 7 && b->seed_categories == 5, "table 1 has 7 kernels, 5 rows");
	for (i = 0; i < N(row); i++) {
		struct match m;

		for (k = 0; k < 7 && b->category[i].expected[k] == row[i].slope[k]; k++)
			;
		check(k == 7 && !strcmp(b->category[i].name, row[i].name), "row %s is as printed",
		      row[i].name);
		imitate(f, row[i].slope, 7);
		m = classify(f, 7, b->category, 5);
		check(!strcmp(m.best->name, row[i].name) && m.goodness == 1,
		      "its slopes are of category %s", row[i].name);
		check(!strcmp(m.second->name, row[i].second), "... the runner-up is %s",
		      row[i].second);
		near("... with goodness", m.second_goodness, row[i].second_goodness, 0.000001);
	}
	/* Measured slopes have noise; a kernel that could not run says nothing. */
	imitate(f, row[0].slope, 7);
	for (i = 0; i < 7; i++)
		f[i].slope *= 1.01;
	check(classify(f, 7, b->category, 5).best == &b->category[0], "1 %% more is the same");
	near("... with goodness", classify(f, 7, b->category, 5).goodness,
	     exp(-2 * 0.0001 * (5 * 4 + 6.25 + 1)), EXACT);
	f[4].valid = false;
	near("without the fifth kernel CE and CR are one",
	     classify(f, 7, b->category, 5).second_goodness,
	     classify(f, 7, b->category, 5).goodness, EXACT);
}

/* No two categories may be taken for each other. */
static void apart(const struct family *f)
{
	size_t i, k, alike = 0;

	for (i = 0; i < f->categories; i++) {
		struct fit fit[CIT_PROBES];

		imitate(fit, f->category[i].expected, f->probes);
		for (k = 0; k < f->categories; k++) {
			const double g = signature_goodness(fit, f->category[k].expected, f->probes,
							    NULL);
			const bool taken = g >= CIT_KILL, same = i == k;

			if (taken == same)
				continue;
			alike++;
			printf("# %s as %s: %.3f\n", f->category[i].name, f->category[k].name, g);
		}
	}
	check(!alike, "%s: each of %zu categories is itself and no other", f->name, f->categories);
}

static void repetitions(void)
{
	static const double v[] = { 1000, 1001, 999, 1000, 1400 };
	static const double random[] = { 480, 520, 500, 510, 490 };
	static const double half[] = { 0, 0, 0, 100000, 100000 };
	size_t dropped;

	near("an interrupt in one of five", robust_mean(v, 5, &dropped), 1000, EXACT);
	check(dropped == 1, "... is dropped: %zu", dropped);
	near("random branches", robust_mean(random, 5, &dropped), 500, EXACT);
	check(!dropped, "... all count: %zu dropped", dropped);
	near("the larger half wins", robust_mean(half, 5, &dropped), 0, 0);
	check(dropped == 2, "... %zu dropped", dropped);
	near("one is its own mean", robust_mean(half + 4, 1, &dropped), 100000, 0);
}

/* A slope of 1, five amounts, five times; from the middle of the third, 64 more each time */
static void a_step(void)
{
	static const double x[] = { 1024, 2048, 3072, 4096, 5120 };
	double value[5][5], y[5];
	size_t k, r, from, dropped;

	for (from = 0; from <= 5; from++) {
		for (k = 0; k < 5; k++)
			for (r = 0; r < 5; r++)
				value[k][r] = x[k] + (r * 5 + k >= 10 + from ? 64 : 0);
		/* An interrupt, too */
		value[1][4] += 400;
		level(value[0], 5, 5, 5);
		for (k = 0; k < 5; k++)
			y[k] = robust_mean(value[k], 5, &dropped);
		near("a step between repetitions is in no slope", fit_line(x, y, 5).slope, 1,
		     EXACT);
	}
	/* All do the same: nothing changes, but one is left out of line. */
	for (k = 0; k < 5; k++)
		for (r = 0; r < 5; r++)
			value[k][r] = x[k] + (k == 3 && r == 2 ? 100 : 0);
	level(value[0], 5, 5, 5);
	near("what is level stays", value[4][2], 5120, 0);
	near("... and so does one alone", value[3][2], 4196, 0);
	level(value[0], 5, 2, 5);
	near("... and two points", value[0][0], 1024, 0);
}

static size_t probe_of(const struct family *f, const char *name)
{
	size_t p;

	for (p = 0; p < f->probes && strcmp(f->probe[p].name, name); p++)
		;
	return p;
}

static const struct category *category_of(const struct family *f, const char *name)
{
	size_t c;

	for (c = 0; c < f->categories && strcmp(f->category[c].name, name); c++)
		;
	return &f->category[c];
}

/* What an event may be, by a family of which some probes did not run; names with spaces */
static void may_be(const char *what, const struct family *f, const struct fit *fit,
		   const char *wanted)
{
	const struct category *c[CIT_CATEGORIES];
	const size_t n = candidates(fit, f->probes, f->category, f->categories, c);
	char got[400] = "";
	size_t i;

	for (i = 0; i < n; i++)
		sprintf(got + strlen(got), "%s%s", i ? " " : "", c[i]->name);
	check(!strcmp(got, wanted), "%s: '%s', wanted '%s'", what, got, wanted);
}

/* What would decide did not run: no first one of the list is the answer. */
static void undecided(void)
{
	const struct family *cache = cache_family(), *io = &io_family;
	struct fit fit[CIT_PROBES] = { 0 };
	size_t i;

	may_be("no probe ran", cache, fit, "");

	imitate(fit, category_of(cache, "-")->expected, cache->probes);
	may_be("a dead event", cache, fit, "-");
	fit[probe_of(cache, "other's")].valid = false;
	may_be("... with one CPU", cache, fit, "HITM -");
	for (i = 0; i < cache->probes; i++)
		fit[i].slope = i ? 0.001 : 0.25;
	may_be("... and with noise, none of them good", cache, fit, "HITM -");
	for (i = 0; i < cache->probes; i++)
		fit[i].slope = 0.001;
	fit[probe_of(cache, "load mem")].valid = false;
	fit[probe_of(cache, "store mem")].valid = false;
	fit[probe_of(cache, "in order")].valid = false;
	may_be("... and no memory for large buffers", cache, fit, "L3M/r L3M/w L3M/rw HITM -");

	imitate(fit, category_of(cache, "L2H/r")->expected, cache->probes);
	fit[probe_of(cache, "other's")].valid = false;
	may_be("what the others decide, with one CPU", cache, fit, "L2H/r");

	imitate(fit, category_of(io, "-")->expected, io->probes);
	may_be("a dead event of the uncore", io, fit, "-");
	for (i = 2; i < io->probes; i++)
		fit[i].valid = false;
	may_be("... and a disk that is only read", io, fit, "IOR IORM -");
	imitate(fit, category_of(io, "IOW")->expected, io->probes);
	for (i = 2; i < io->probes; i++)
		fit[i].valid = false;
	may_be("writes of a disk that is only read", io, fit, "IOW IO");
}

/* Curves as figures 12 and 13: caches of 32 KiB, 256 KiB and 32 MiB */
static void step_functions(void)
{
	double size[32], l1_hit[32], l2_hit[32], flat[32], at[4];
	bool up[4];
	size_t i;

	for (i = 0; i < 32; i++) {
		size[i] = 4096 * pow(2, i / 2.);
		l1_hit[i] = size[i] < 32768 * 1.2 ? 0.99 : 0.01;
		l2_hit[i] = size[i] > 32768 * 1.2 && size[i] < 262144 * 1.2 ? 0.98 : 0.02;
		flat[i] = 0.01 * (i % 3);
	}
	check(steps(size, l1_hit, 32, at, up, 4) == 1 && !up[0] && at[0] > 32768 &&
	      at[0] < 46400, "hits of L1: one step down, behind 32 KiB");
	check(steps(size, l2_hit, 32, at, up, 4) == 2 && up[0] && !up[1] && at[1] > 262144 &&
	      at[1] < 371000, "hits of L2: up and, behind 256 KiB, down");
	check(!steps(size, flat, 32, at, up, 4), "noise has no steps");
	check(steps(size, l2_hit, 32, at, up, 1) == 2, "more steps than room are counted");

	/* Figure 14: small units hit although they don't fit, far ones don't. */
	near("a prefetcher's share", prefetch_share(0.95, 0.38), 0.6, EXACT);
	near("... without one", prefetch_share(1, 1), 0, 0);
	near("... more than apart is none", prefetch_share(0.5, 0.9), 0, 0);
	near("... of no misses", prefetch_share(0.01, 0), 0, 0);
	check(counts_prefetches(0, 0.9), "nothing far apart, much in order: it counts prefetches");
	check(!counts_prefetches(0, 0.1) && !counts_prefetches(0.9, 0.9) &&
	      !counts_prefetches(1, 0.2), "... which misses don't, nor what never counts");
}

/* ---- a kernel with more CPUs than cpu_set_t has room for, instead of this one ---- */

#define KERNEL_CPUS	4096

static int pinned_to;

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	(void)pid;
	if (8 * bytes < KERNEL_CPUS) {
		errno = EINVAL;
		return -1;
	}
	CPU_ZERO_S(bytes, set);
	CPU_SET_S(0, bytes, set);
	CPU_SET_S(1500, bytes, set);
	return 0;
}

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
	int i;

	(void)pid;
	pinned_to = -1;
	for (i = 0; i < KERNEL_CPUS; i++)
		if (CPU_ISSET_S(i, bytes, set))
			pinned_to = i;
	return pinned_to < 0 ? -1 : 0;
}

static void many_cpus(void)
{
	const int here = 0, nowhere = 1500;
	struct cit cit = { .at = here };
	int cpu[4];

	check(cpus_allowed(0, &cit.allowed) && cpus_has(&cit.allowed, 0) &&
	      cpus_has(&cit.allowed, 1500), "CPUs of a kernel with %d", KERNEL_CPUS);
	check(!cpus_has(&cit.allowed, 1) && !cpus_has(&cit.allowed, -1) &&
	      !cpus_has(&cit.allowed, 1 << 24), "... no others");
	check(pin_to_cpu(1500) && pinned_to == 1500, "... one to be pinned to");
	check(!pin_to_cpu(-1), "... CPU -1 is none");
	/* CPU 1500 is in no package, as there is none here. */
	check(shared_cpus(&cit, cpu, 4) == 1 && cpu[0] == 0, "of a package, those that are allowed");
	cit.at = nowhere;
	check(shared_cpus(&cit, cpu, 4) == 2 && cpu[1] == 1500, "... all, if nobody knows packages");
	check(shared_cpus(&cit, cpu, 1) == 1, "... but no more than there is room for");
	CPU_CLR_S(0, CPU_ALLOC_SIZE(cit.allowed.most), cit.allowed.set);
	cit.at = here;
	check(!shared_cpus(&cit, cpu, 4), "... none, where none is allowed");
	cpus_free(&cit.allowed);
}

static void sizes_of_curves(void)
{
	static const uint64_t l1[] = { 4096, 16384, 49152, 32768 };
	double size[64];
	size_t i, k, n;

	for (i = 0; i < N(l1); i++) {
		const struct cit cit = { .cache_bytes = { l1[i], 1 << 18, 1 << 21 } };
		bool grow = true;

		n = curve_sizes(&cit, size, 64);
		for (k = 0; k < n; k++)
			grow &= size[k] >= 4096 && (!k || size[k] > size[k - 1]);
		check(grow && n > 10 && size[n - 1] >= 1 << 22, "L1 of %zu KiB: %zu sizes, each larger",
		      (size_t)l1[i] >> 10, n);
	}
	check(size[0] == 4096 && size[1] == 8192 && size[2] == 12288, "... 4, 8, 12 KiB");
}

/* Buffers of the cache's probes: well outside of one level, well inside of the next, or none */
static void plateaus(void)
{
	static const struct { unsigned int l2, l3, wanted; } kib[] = {
		{ 256, 2560, 512 }, { 1024, 32768, 4096 }, { 1024, 4096, 2048 },
		{ 2048, 12288, 4096 }, { 1280, 8192, 2048 },
		/* What is near would lie in L2, or beside it. */
		{ 1536, 12288, 4096 }, { 1536, 9216, 4096 },
		{ 1024, 3072, 0 }, { 1024, 1408, 0 }, { 2048, 3072, 0 }, { 1536, 6144, 0 },
	};
	size_t i;

	for (i = 0; i < N(kib); i++) {
		const struct cit cit = { .cache_bytes = { 32 << 10, (uint64_t)kib[i].l2 << 10,
							  (uint64_t)kib[i].l3 << 10 } };
		const uint64_t got = cache_plateau(&cit, 2) >> 10;

		check(got == kib[i].wanted, "L2 of %u KiB, L3 of %u: %u in L3, wanted %u",
		      kib[i].l2, kib[i].l3, (unsigned int)got, kib[i].wanted);
	}
}

/* ---- no memory for a stream, which is all that gnuplot_open() wants one for ---- */

FILE *fdopen(int fd, const char *mode)
{
	(void)fd;
	(void)mode;
	errno = ENOMEM;
	return NULL;
}

static size_t descriptors(void)
{
	size_t n = 0;
	int fd;

	for (fd = 0; fd < 100; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void no_picture(void)
{
	char file[] = "/tmp/memio-unit.XXXXXX", picture[sizeof(file) + 4];
	const int fd = mkstemp(file);
	const size_t before = descriptors();
	struct gnuplot g;
	struct stat st;

	sprintf(picture, "%s.svg", file);
	check(fd >= 0 && write(fd, "kept", 4) == 4 && !gnuplot_open(&g, picture) &&
	      access(picture, F_OK), "a picture that was not begun is not there");
	check(!gnuplot_open(&g, file) && !stat(file, &st) && st.st_size == 4,
	      "... one that was there is as it was");
	check(descriptors() == before, "... none stays open");
	check(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "... and no gnuplot is left");
	close(fd);
	unlink(file);
}

/* ---- modes ---- */

/*
 * unit output|json: what is said of three events on a machine with one CPU: one that counts
 * nothing, misses of the last level of which prefetchers take 60 %, and what counts prefetches
 */
static int show(bool json)
{
	static char name[3][8] = { "dead", "misses", "ahead" };
	const struct family *f = cache_family();
	struct event e[3] = { { 0 } };
	static struct result r[3];
	const struct events events = { e, 3 };
	const struct cit cit = { .json = json };
	size_t i;

	for (i = 0; i < 3; i++) {
		e[i].name = name[i];
		e[i].attr.config = 0x1b7;
		e[i].attr.config1 = 0x10001 + i;
		e[i].attr.config2 = 7 * i;
		imitate(r[i].fit, category_of(f, i == 1 ? "L3M/r" : "-")->expected, f->probes);
		r[i].fit[probe_of(f, "in order")].slope = i == 2 ? 0.9 : i * 0.4;
		r[i].fit[probe_of(f, "other's")].valid = false;
	}
	output(&cit, f, &events, r);
	return 0;
}

/* unit long: of 41 events, of which one counts prefetches and the others nothing */
static int show_long(void)
{
	static char name[41][8];
	static struct event e[N(name)];
	static struct result r[N(name)];
	const struct family *f = cache_family();
	const struct events events = { e, N(name) };
	const struct cit cit = { 0 };
	size_t i;

	for (i = 0; i < N(name); i++) {
		sprintf(name[i], i == 20 ? "ahead" : "dead%zu", i);
		e[i].name = name[i];
		imitate(r[i].fit, category_of(f, "-")->expected, f->probes);
	}
	r[20].fit[probe_of(f, "in order")].slope = 0.9;
	output(&cit, f, &events, r);
	return 0;
}

/* unit NAME: of how many PMUs an event of that name is; what events_add() says */
static int units_of(const char *name)
{
	struct events events = { 0 };
	const int status = events_add(&events, name);
	size_t i;

	for (i = 0; i < events.n && !status; i++)
		printf("%u\n", events.e[i].units);
	events_free(&events);
	return status == STATUS_FAILED ? STATUS_NEGATIVE : status;
}

/* unit neighbour CPU: of the CPUs 0 to 7 the one that writes what that one loads */
static int neighbour_of(const char *cpu)
{
	struct cit cit = { .cpu = atoi(cpu), .allowed = { .most = 8 } };
	int i;

	cit.allowed.set = CPU_ALLOC(8);
	CPU_ZERO_S(CPU_ALLOC_SIZE(8), cit.allowed.set);
	for (i = 0; i < 8; i++)
		CPU_SET_S(i, CPU_ALLOC_SIZE(8), cit.allowed.set);
	printf("%d\n", cit_neighbour(&cit));
	cpus_free(&cit.allowed);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "output") || !strcmp(argv[1], "json")))
		return show(*argv[1] == 'j');
	if (argc > 1 && !strcmp(argv[1], "long"))
		return show_long();
	if (argc > 2 && !strcmp(argv[1], "neighbour"))
		return neighbour_of(argv[2]);
	if (argc > 1)
		return units_of(argv[1]);
	lines();
	equation_1();
	table_1();
	apart(&branch_family);
	apart(cache_family());
	apart(&io_family);
	apart(&shared_family);
	undecided();
	repetitions();
	a_step();
	step_functions();
	many_cpus();
	sizes_of_curves();
	plateaus();
	no_picture();
	return failed ? 1 : 0;
}

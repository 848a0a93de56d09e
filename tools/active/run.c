// SPDX-License-Identifier: GPL-2.0
/*
 * memio active run: a command among interferers
 *
 * Every point of the grid (so many CSThr, so many BWThr, a rate of DMA) is run so many
 * times. A repetition goes through all points before the next begins, so what drifts in
 * hours hits all of them. The first run of all is not counted: it brings programs and data
 * into memory, and shows how many processes the command is. Before each run the
 * interferers are started and have been through their buffers; they run until the command
 * has ended: its first process, that is. The command is a process group of its own; what is
 * left of it is killed then, of that group and of others that it made (family.h).
 *
 * What the command does is its wall-clock time (--metric time), its processor time, or its
 * misses of the last cache; slower is the mean over repetitions beside that of its runs
 * alone. Time is of no use where interferers and command share real cores, as in a
 * virtual machine with too many CPUs; misses are, there as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "active.h"
#include "bubble.h"
#include "command.h"
#include "family.h"
#include "../json/json.h"

/* --metric; the first one is the default */
static const struct {
	const char *name, *unit;
} metrics[] = {
	{ "time", "long" }, { "cpu", "much processor time" }, { "misses", "many misses" },
};

#define METRICS	(sizeof(metrics) / sizeof(*metrics))

static volatile pid_t group;		/* of the command, while it runs */
static volatile sig_atomic_t killed;	/* as it did not listen */

static void interrupt(int sig)
{
	/* The second time, whoever does not listen is killed. */
	if (group > 0) {
		killed = !!interrupted;
		kill(-group, killed ? SIGKILL : sig);
	}
	interrupted = sig;
}

void catch_interrupts(void)
{
	/* With SIGCHLD ignored, as it may be inherited, nobody could be waited for. */
	signal(SIGCHLD, SIG_DFL);
	/* nohup lets the command go on, too. */
	interrupts_to(interrupt);
}

/* ---- one run ---- */

/*
 * How many processes the command is, at the most, and whether all stay where they were put: on
 * another core, and only once
 */
struct census {
	pthread_t thread;
	const struct active *a;
	pid_t keeper;
	volatile bool stop;
	unsigned int most;
	pid_t stray;
	int stray_cpu;
};

static void *take_census(void *arg)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct census *c = arg;

	while (!c->stop) {
		struct family f;

		family_find(&f, c->keeper);
		c->most = greatest(c->most, family_leaves(&f));
		if (!c->stray)
			c->stray = family_strays(&f, c->a->at.command, c->a->at.commands,
						 &c->stray_cpu);
		family_free(&f);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static bool census_begin(struct census *c)
{
	const struct active *a = c->a;
	bool good;

	/* It is there, too, from its first moment on. */
	pin_to_cpu(a->at.interferers ? a->at.interferer[0] : a->at.io);
	good = !pthread_create(&c->thread, NULL, take_census, c);
	pin_to_cpu(a->at.command[0]);
	return good;
}

static unsigned int census_end(struct census *c, const char *name)
{
	c->stop = true;
	pthread_join(c->thread, NULL);
	if (c->stray)
		complain("%s: process %d may run on CPU %d, which is none of the command's: it must not choose CPUs by itself (--cores, --cpu). Beside an interferer on its own core it lacks more than cache and bandwidth, and results are not of those alone",
			 name, c->stray, c->stray_cpu);
	return greatest(c->most, 1);
}

/* Counters of the command and all its children, from its exec() on; -1 without */
static int count_child(const struct active *a, pid_t pid, bool misses)
{
	struct perf_event_attr attr = {
		.type = misses && a->miss_event ? PERF_TYPE_RAW : PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = !misses ? PERF_COUNT_HW_INSTRUCTIONS :
			  a->miss_event ? a->miss_event : PERF_COUNT_HW_CACHE_MISSES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.read_format = MISSES_FORMAT,
	};

	return perf_open(&attr, pid, -1, -1);
}

/* With --json, standard output is JSON and nothing else. */
static bool show(const struct active *a, int null)
{
	return (a->show && !a->json) ||
	       dup2(a->show ? STDERR_FILENO : null, STDOUT_FILENO) >= 0;
}

/* What the command's first process begins with */
struct start {
	const struct active *a;
	char **command;
	/* Its ends of what tells it to begin (and the other one), and of what says that it can't */
	int go, result, other;
};

static void child(const void *arg)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct start *start = arg;
	const struct active *a = start->a;
	char byte;
	int error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	/* With it open nobody would see that the one who has it is gone. */
	close(start->other);
	interrupts_to(SIG_DFL);
	/* One that came before was only taken note of. */
	if (interrupted)
		_exit(127);
	if (null < 0 || !pin_to_cpus(a->at.command, a->at.commands) ||
	    dup2(null, STDIN_FILENO) < 0 || !show(a, null))
		goto fail;
	if (read(start->go, &byte, 1) != 1)
		_exit(127);
	execvp(start->command[0], start->command);
fail:
	error = errno;
	if (write(start->result, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* How it ended; complains, and what memio ends with then is in @failed */
static bool ended_well(const struct active *a, const char *name, int status, int *failed)
{
	if (WIFSIGNALED(status)) {
		*failed = 128 + WTERMSIG(status);
		if (!interrupted)
			complain("%s was killed by signal %d (%s): this run does not count", name,
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
		return false;
	}
	if (!WEXITSTATUS(status) || a->any_status)
		return !interrupted;
	*failed = WEXITSTATUS(status);
	if (!interrupted)
		complain("%s ended with status %d, so its time means nothing; if that is how it ends when all is well, --any-status",
			 name, WEXITSTATUS(status));
	return false;
}

static double timeval_ns(const struct timeval *t)
{
	return t->tv_sec * 1e9 + t->tv_usec * 1e3;
}

/* False: it waited for a terminal, in vain, or nobody knows how it ended */
static bool wait_for(const struct keeper *k, const char *name, struct ending *e)
{
	bool said = false;
	int known;

	for (;;) {
		known = keeper_wait(k, e);
		if (known)
			break;
		if (interrupted && !said) {
			complain("waiting for %s to end; a second signal kills it", name);
			said = true;
		}
	}
	group = 0;
	if (known < 0) {
		complain("who waits for %s is gone, killed perhaps: this run does not count", name);
		return false;
	}
	if (e->stopped)
		complain("%s wants the terminal, which it does not have, and was stopped (%s): it is killed, and this run does not count; 'setsid --wait' runs what can do without",
			 name, strsignal(e->stopped));
	if (killed)
		complain("%s did not end by itself, and was killed", name);
	return !e->stopped;
}

/* With a keeper, if it returns one, which has to end; @failed is as of ended_well() */
static bool run_child(const struct active *a, char **command, struct keeper *keeper,
		      struct sample *s, unsigned int *processes, int *failed)
{
	struct start start = { .a = a, .command = command };
	int go[2] = { -1, -1 }, result[2], misses = -1, instructions = -1, error;
	struct census census = { .a = a };
	struct ending end;
	double begin;
	bool good;

	keeper->pid = 0;
	if (interrupted)
		return false;
	/* Not a pipe: of a child that is gone an error is to be had, and no SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) ||
	    pipe2(result, O_CLOEXEC | O_NONBLOCK)) {
		complain_errno("a pipe");
		if (go[0] >= 0) {
			close(go[0]);
			close(go[1]);
		}
		return false;
	}
	start.go = go[0];
	start.other = go[1];
	start.result = result[1];
	fflush(stdout);
	good = keeper_start(keeper, child, &start);
	close(go[0]);
	close(result[1]);
	if (!good) {
		complain_errno("a process for %s", command[0]);
		keeper->pid = 0;
		close(go[1]);
		close(result[0]);
		return false;
	}
	group = keeper->first;
	if (interrupted)
		kill(-group, SIGKILL);
	/* Only where they mean what they say: as for the interferers */
	if (counters_here(a)) {
		misses = count_child(a, keeper->first, true);
		instructions = count_child(a, keeper->first, false);
	}
	census.keeper = keeper->pid;
	if (processes && !census_begin(&census))
		processes = NULL;
	begin = now_ns();
	/* Who was killed before that, or could not begin, says so by its end. */
	send(go[1], "", 1, MSG_NOSIGNAL);
	close(go[1]);
	good = wait_for(keeper, command[0], &end);
	if (good) {
		s->time_ns = end.ns - begin;
		s->cpu_ns = timeval_ns(&end.used.ru_utime) + timeval_ns(&end.used.ru_stime);
	}
	s->misses = misses_read(misses);
	s->instructions = misses_read(instructions);
	if (misses >= 0)
		close(misses);
	if (instructions >= 0)
		close(instructions);
	if (processes)
		*processes = census_end(&census, command[0]);
	error = 0;
	/* Nobody waits for one: who is kept has the other end, too. */
	if (read(result[0], &error, sizeof(error)) != sizeof(error))
		error = 0;
	close(result[0]);
	if (error) {
		errno = error;
		complain_errno("%s", command[0]);
		*failed = error == ENOENT ? STATUS_NO_SUCH : STATUS_NOT_RUN;
		return false;
	}
	return good && ended_well(a, command[0], end.status, failed);
}

/* How many processes the command is goes to @processes, unless that is NULL. */
static bool run_sample(const struct active *a, struct run *r, char **command, struct sample *s,
		       unsigned int *processes)
{
	struct interference *in = NULL;
	struct bubble *bubble = NULL;
	struct keeper keeper;
	double begin;
	bool good;

	if (s->storage || s->bandwidth) {
		in = interference_start(a, s->storage, s->bandwidth, false);
		if (!in)
			return false;
	}
	if (s->bubble) {
		bubble = bubble_start(a, r->rate[s->bubble - 1]);
		if (!bubble) {
			interference_stop(in);
			return false;
		}
	}
	s->interference_misses = -1;
	s->bubble_bytes_s = -1;
	s->bubble_bytes = -1;
	s->ran = -1;
	s->kept = -1;
	if (in) {
		interference_usage(in, STORAGE);
		interference_usage(in, BANDWIDTH);
	}
	begin = now_ns();
	good = run_child(a, command, &keeper, s, processes, &r->failed);
	if (in) {
		const double took = now_ns() - begin;
		const struct usage x = interference_usage(in, STORAGE);
		const struct usage y = interference_usage(in, BANDWIDTH);
		const double ran_ns = x.least_ns < 0 ? y.least_ns : y.least_ns < 0 ? x.least_ns :
				      fmin(x.least_ns, y.least_ns);

		if (ran_ns >= 0)
			s->ran = fmin(1, ran_ns / took);
		/* The round that is under way may be about to end. */
		if (a->pace && y.least_done >= 0)
			s->kept = fmin(1, (y.least_done + BW_BUFFERS) * MOVED_BANDWIDTH /
				       (took / 1e9) / a->pace);
		s->interference_misses = x.misses < 0 || y.misses < 0 ? -1 : x.misses + y.misses;
	}
	if (bubble)
		good &= bubble_stop(bubble, &s->bubble_bytes_s, &s->bubble_bytes);
	interference_stop(in);
	/* Looking for them takes a while, in which nothing is measured any more. */
	if (keeper.pid && !keeper_end(&keeper))
		complain("%s has left processes that can't be killed", command[0]);
	return good;
}

/* ---- what counts ---- */

const char *metric_named(const char *name)
{
	size_t i;

	for (i = 0; i < METRICS; i++)
		if (!strcmp(name, metrics[i].name))
			return metrics[i].name;
	return NULL;
}

const char *run_metric_name(const struct active *a, const struct run *r)
{
	return a->metric ?: r->metric ?: metrics[0].name;
}

static bool is_metric(const struct active *a, const struct run *r, const char *name)
{
	return !strcmp(run_metric_name(a, r), name);
}

const char *run_metric_unit(const struct active *a, const struct run *r)
{
	size_t i;

	for (i = 0; !is_metric(a, r, metrics[i].name); i++)
		;
	return metrics[i].unit;
}

/* Negative: not counted */
static double metric_of(const struct active *a, const struct run *r, const struct sample *s)
{
	return is_metric(a, r, "cpu") ? s->cpu_ns :
	       is_metric(a, r, "misses") ? s->misses : s->time_ns;
}

/* ---- the grid ---- */

static bool wanted(const struct active *a, const struct run *r, unsigned int s, unsigned int b,
		   unsigned int k)
{
	if (s + b > a->at.interferers || s > r->calibration.storage || b > r->calibration.bandwidth)
		return false;
	return !a->axes || !!s + !!b + !!k <= 1;
}

/* Where it is, or would be */
static size_t place_of_sample(const struct run *r, const struct sample *s)
{
	size_t i;

	for (i = 0; i < r->samples; i++) {
		const struct sample *o = &r->sample[i];

		if (o->storage == s->storage && o->bandwidth == s->bandwidth &&
		    o->bubble == s->bubble && o->repetition == s->repetition)
			break;
	}
	return i;
}

/* One in which what counts was not counted is run again. */
static bool sample_there(const struct active *a, const struct run *r, const struct sample *s)
{
	const size_t i = place_of_sample(r, s);

	return i < r->samples && metric_of(a, r, &r->sample[i]) >= 0;
}

/* Each point that is wanted and not there yet, to @each; false ends it */
static unsigned int grid(const struct active *a, const struct run *r, struct sample *todo)
{
	unsigned int n = 0, rep, s, b, k;

	for (rep = 0; rep < a->repetitions; rep++) {
		for (k = 0; k <= r->rates; k++) {
			for (s = 0; s <= a->storage; s++) {
				for (b = 0; b <= a->bandwidth; b++) {
					const struct sample v = { .storage = s, .bandwidth = b,
								  .bubble = k, .repetition = rep };

					if (!wanted(a, r, s, b, k) || sample_there(a, r, &v))
						continue;
					if (todo)
						todo[n] = v;
					n++;
				}
			}
		}
	}
	return n;
}

/* A run like those that count, but that what it needs is not in memory yet */
static bool warm_up(const struct active *a, struct run *r, char **command)
{
	struct sample s = { 0 };
	unsigned int seen = 1;
	const bool good = run_sample(a, r, command, &s, &seen);

	if (!r->processes)
		r->processes = seen;
	return good;
}

static bool run_grid(const struct active *a, struct run *r, char **command)
{
	const unsigned int n = grid(a, r, NULL);
	struct sample *todo = calloc(n + 1, sizeof(*todo));
	struct sample *all = reallocarray(r->sample, r->samples + n + 1, sizeof(*all));
	struct progress p;
	bool good = true;
	unsigned int i;
	size_t at;

	if (all)
		r->sample = all;
	if (!todo || !all) {
		complain("no memory for %u runs", n);
		free(todo);
		return false;
	}
	grid(a, r, todo);
	progress_begin_long(&p, n + !!n, a->quiet, a->verbose);
	if (n) {
		progress(&p, "once before, not counted");
		good = warm_up(a, r, command);
	}
	for (i = 0; i < n && good; i++) {
		struct sample *s = &todo[i];

		progress(&p, "%u storage, %u bandwidth%s, repetition %u", s->storage, s->bandwidth,
			 s->bubble ? ", DMA" : "", s->repetition + 1);
		good = run_sample(a, r, command, s, NULL);
		if (!good)
			break;
		at = place_of_sample(r, s);
		r->samples += at == r->samples;
		r->sample[at] = *s;
		good = run_save(a, r);
	}
	progress_end(&p);
	free(todo);
	return good;
}

bool run_counts(const struct active *a, const struct run *r, const char *file)
{
	if (run_metric(a, r, 0, 0, 0).n)
		return true;
	complain("%s: no run alone has %s in it; --metric has others", file,
		 run_metric_name(a, r));
	return false;
}

struct interval run_metric(const struct active *a, const struct run *r, unsigned int storage,
			   unsigned int bandwidth, unsigned int bubble)
{
	double v[STATISTICS_MAX];
	size_t n = 0, i;

	for (i = 0; i < r->samples && n < STATISTICS_MAX; i++) {
		const struct sample *s = &r->sample[i];
		const double x = metric_of(a, r, s);

		if (s->storage == storage && s->bandwidth == bandwidth && s->bubble == bubble &&
		    x >= 0)
			v[n++] = x;
	}
	return interval_of(v, n);
}

double run_reached(const struct run *r, unsigned int bubble)
{
	double sum = 0;
	size_t n = 0, i;

	for (i = 0; i < r->samples; i++) {
		if (r->sample[i].bubble != bubble || r->sample[i].bubble_bytes_s < 0)
			continue;
		sum += r->sample[i].bubble_bytes_s;
		n++;
	}
	return n ? sum / n : 0;
}

struct interval run_slow(const struct active *a, const struct run *r, unsigned int storage,
			 unsigned int bandwidth, unsigned int bubble)
{
	const struct interval alone = run_metric(a, r, 0, 0, 0);
	const struct interval v = run_metric(a, r, storage, bandwidth, bubble);

	if (!storage && !bandwidth && !bubble)
		return (struct interval) { 1, 1, 1, alone.n };
	return ratio_of(&v, &alone);
}

void run_surface(const struct active *a, const struct run *r, unsigned int bubble,
		 struct surface *s)
{
	unsigned int i, k;

	memset(s, 0, sizeof(*s));
	for (i = 0; i <= r->calibration.storage; i++) {
		for (k = 0; k <= r->calibration.bandwidth; k++) {
			s->slow[i][k] = run_slow(a, r, i, k, bubble);
			if (s->slow[i][k].n && i > s->storage)
				s->storage = i;
			if (s->slow[i][k].n && k > s->bandwidth)
				s->bandwidth = k;
		}
	}
	for (i = 0; i <= s->storage && capacities_known(&r->calibration, s->storage); i++)
		s->capacity[i] = r->calibration.capacity[i].mean;
	for (k = 0; k <= s->bandwidth; k++)
		s->left[k] = r->calibration.left[k];
}

size_t run_surfaces(const struct active *a, const struct run *r, struct surface *s,
		    double *rate)
{
	size_t n = 1;
	unsigned int k;

	run_surface(a, r, 0, &s[0]);
	rate[0] = 0;
	for (k = 1; k <= r->rates; k++) {
		const double reached = run_reached(r, k), asked = r->rate[k - 1];

		run_surface(a, r, k, &s[n]);
		if (!s[n].slow[0][0].n)
			continue;
		rate[n++] = reached && reached < ENOUGH * asked ? reached : asked;
	}
	return n;
}

/* Misses beside @bandwidth BWThr, of runs that count, as so many times as alone */
static struct interval run_missed(const struct run *r, unsigned int bandwidth)
{
	double v[2][STATISTICS_MAX];
	struct interval misses[2];
	size_t n[2] = { 0 }, i;

	for (i = 0; i < r->samples; i++) {
		const struct sample *s = &r->sample[i];
		const int beside = s->bandwidth == bandwidth;

		if (s->storage || s->bubble || s->misses < 0 || (!beside && s->bandwidth) ||
		    n[beside] == STATISTICS_MAX)
			continue;
		v[beside][n[beside]++] = s->misses;
	}
	for (i = 0; i < 2; i++)
		misses[i] = interval_of(v[i], n[i]);
	/* As if there had been one, or nobody would know that there are more. */
	if (misses[0].n && misses[0].mean <= 0)
		misses[0].mean = misses[0].low = misses[0].high = 1;
	return ratio_of(&misses[1], &misses[0]);
}

/* By one resource at a time, as the paper does; but for misses, of which that has no more */
void run_bounds(const struct active *a, const struct run *r, struct bound *storage,
		struct bound *bandwidth, struct interval *missed)
{
	struct interval slow[BANDWIDTH_MAX + 1], other[STORAGE_MAX + 1];
	struct surface s;
	unsigned int i, n;

	run_surface(a, r, 0, &s);
	for (n = 0; n <= s.storage && s.slow[n][0].n; n++)
		other[n] = s.slow[n][0];
	*storage = bound_of(s.capacity, other, n, a->threshold);
	for (i = 0; i <= s.bandwidth && s.slow[0][i].n; i++)
		slow[i] = s.slow[0][i];
	*bandwidth = bound_of(s.left, slow, i, a->threshold);
	*missed = (struct interval) { 0 };
	if (bandwidth->level)
		*missed = run_missed(r, bandwidth->level);
	/* What gets more misses is short of cache. */
	if (is_metric(a, r, "misses"))
		bandwidth->at_least = 0;
	else
		bound_missed(bandwidth, &slow[bandwidth->level], missed);
}

/* ---- what comes out ---- */

static void print_slow(const struct interval *v)
{
	if (v->n)
		printf("  %7.3f (%6.3f to %6.3f)", v->mean, v->low, v->high);
	else
		printf("  %26s", "-");
}

/* As far as it was measured: @most has the numbers of interferers */
static void print_table(const struct active *a, const struct run *r, const struct surface *most,
			unsigned int k)
{
	const struct unit unit = rate_unit(r->calibration.total);
	unsigned int s, b;

	if (k)
		printf("\nbeside DMA of %.1f MB/s, %s (reached: %.1f)", r->rate[k - 1] / 1e6,
		       json_string_value(r->bubble), run_reached(r, k) / 1e6);
	printf("\n%-26s", "");
	for (b = 0; b <= most->bandwidth; b++) {
		if (r->calibration.total)
			printf("  %u BWThr: %6.2f %s left   ", b,
			       r->calibration.left[b] / unit.bytes, unit.name);
		else
			printf("  %u BWThr                    ", b);
	}
	putchar('\n');
	for (s = 0; s <= most->storage; s++) {
		if (r->calibration.capacity[s].n)
			printf("%u CSThr: %9.2f MiB left  ", s,
			       r->calibration.capacity[s].mean / 1048576);
		else
			printf("%u CSThr:                  ", s);
		for (b = 0; b <= most->bandwidth; b++) {
			const struct interval slow = run_slow(a, r, s, b, k);

			print_slow(&slow);
		}
		putchar('\n');
	}
}

static void print_undecided(const struct bound *b, size_t repetitions)
{
	printf("  %zu repetition%s %s not decide whether it is slower at %zu level%s;",
	       repetitions, repetitions > 1 ? "s" : "", repetitions > 1 ? "do" : "does",
	       b->undecided, b->undecided > 1 ? "s" : "");
	if (b->repetitions)
		printf(" about %zu may (--reps)\n", b->repetitions);
	else
		puts(repetitions < 2 ? " how many may, two and more will tell (--reps)" :
		     " nor may as many as are run at the most, as they vary so much");
}

static void print_bound(const char *what, const struct bound *b, double unit, const char *name,
			unsigned int processes, size_t repetitions)
{
	const double each = unit * (processes ? processes : 1);

	printf("%s: ", what);
	/* How much it is, nobody knows; whether, is known. */
	if (!b->at_most) {
		puts(b->suffers == SLOWER ?
		     "it got slower with less; how much that was is not known" :
		     b->suffers == WELL ? "it never got slower with less" :
		     "whether it gets slower with less is not decided");
	} else {
		if (b->suffers == SLOWER && b->at_least <= 0)
			printf("no more than %.2f %s is used: why it gets slower is not decided",
			       b->at_most / each, name);
		else if (b->suffers == SLOWER)
			printf("between %.2f and %.2f %s are used", b->at_least / each,
			       b->at_most / each, name);
		else
			printf("no more than %.2f %s is used, if any: %s", b->at_most / each, name,
			       b->suffers == WELL ? "it never got slower" :
			       "whether it gets slower with less is not decided");
		puts(processes > 1 ? " by each process" : "");
	}
	if (b->undecided)
		print_undecided(b, repetitions);
}

/* Repetitions of the point that has fewest */
static size_t fewest(const struct surface *s)
{
	size_t n = s->slow[0][0].n;
	unsigned int i, k;

	for (i = 0; i <= s->storage; i++)
		for (k = 0; k <= s->bandwidth; k++)
			if (s->slow[i][k].n && s->slow[i][k].n < n)
				n = s->slow[i][k].n;
	return n;
}

static void print_run(const struct active *a, const struct run *r)
{
	const struct interval alone = run_metric(a, r, 0, 0, 0);
	const struct unit unit = rate_unit(r->calibration.total);
	struct bound storage, bandwidth;
	struct interval missed;
	struct surface s;
	unsigned int k;

	run_surface(a, r, 0, &s);
	if (is_metric(a, r, "misses"))
		printf("Alone: %.0f misses of the last cache (%.0f to %.0f), %zu repetitions\n",
		       alone.mean, alone.low, alone.high, alone.n);
	else
		printf("Alone: %.4f s%s (%.4f to %.4f), %zu repetitions; %u process%s\n",
		       alone.mean / 1e9, is_metric(a, r, "cpu") ? " of processors" : "",
		       alone.low / 1e9, alone.high / 1e9, alone.n, r->processes,
		       r->processes > 1 ? "es" : "");
	printf("So many times as %s, and the 95 %% confidence interval:\n",
	       run_metric_unit(a, r));
	for (k = 0; k <= r->rates; k++)
		print_table(a, r, &s, k);
	run_bounds(a, r, &storage, &bandwidth, &missed);
	putchar('\n');
	if (s.storage)
		print_bound("Cache", &storage, 1048576, "MiB", r->processes, fewest(&s));
	if (s.bandwidth)
		print_bound("Bandwidth", &bandwidth, unit.bytes, unit.name, r->processes,
			    fewest(&s));
	if (bandwidth.at_most && is_metric(a, r, "misses") && bandwidth.level)
		puts("  misses don't tell how much bandwidth is used; --metric time does");
	else if (bandwidth.at_most && missed.n && missed.low > 1)
		printf("  beside %zu BWThr, which take cache, too, it misses the last cache %.2f times as often%s\n",
		       bandwidth.level, missed.mean,
		       bandwidth.at_least > 0 ?
		       ": it uses no less than that part of what was left" :
		       ", which may be why it is slower");
	else if (bandwidth.at_most && missed.n > 1 && bandwidth.at_least <= 0)
		printf("  beside %zu BWThr it may miss the last cache %.2f times as often, or none more, as that varies (--reps)\n",
		       bandwidth.level, missed.high);
	if (fewest(&s) < 2)
		puts("One repetition says nothing about chance; --reps 3 or more does.");
}

/* What cannot be seen here */
static bool warn(const struct active *a, const struct calibration *c)
{
	/* Of those that there are cores for */
	const unsigned int most = least(a->storage, c->storage);
	const double all = c->capacity[0].mean;

	if (!a->at.shared)
		complain("this machine does not say which cores share a cache: interference with storage may show nothing");
	if (c->counters && !counters_here(a))
		complain("no counters that tell misses of the last cache here, other than when it was calibrated: those of runs are not known");
	if (!c->counters)
		complain("no counters that tell misses of the last cache here: what interferers leave is taken from the time of reads, and which resource is short is not told apart as well");
	if (a->at.interferers < a->storage || a->at.interferers < a->bandwidth)
		complain("%u core%s for interference: no more than %u at a time; how much is used can't be bounded closely, and the use of cache and bandwidth together is added up, not measured",
			 a->at.interferers, a->at.interferers > 1 ? "s" : "", a->at.interferers);
	if (most && c->capacity[0].n && c->capacity[most].mean > 0.9 * all)
		complain("%u CSThr leave all of the cache: what they do here does not take it away",
			 most);
	if (kinds_are_apart(a, c) || !a->strict)
		return true;
	complain("--strict: not run; --storage %u --bandwidth %u can be told apart",
		 least(c->clean_storage, a->storage), least(c->clean_bandwidth, a->bandwidth));
	return false;
}

/* What the runs turned out not to be */
static void warn_after(const struct run *r)
{
	size_t known = 0, few = 0, paced = 0, slow = 0, i;
	double least_ran = 1, least_kept = 1;
	unsigned int k;

	for (i = 0; i < r->samples; i++) {
		const double ran = r->sample[i].ran, kept = r->sample[i].kept;

		known += ran >= 0;
		few += ran >= 0 && ran < ENOUGH;
		if (ran >= 0)
			least_ran = fmin(least_ran, ran);
		paced += kept >= 0;
		slow += kept >= 0 && kept < ENOUGH;
		if (kept >= 0)
			least_kept = fmin(least_kept, kept);
	}
	if (few)
		complain("in %zu of %zu runs interferers were running for less than %.0f %% of the time (%.0f %% at the least), as of a quota (cpu.max) or of others on their CPUs: they left more than was calibrated",
			 few, known, ENOUGH * 100, least_ran * 100);
	if (slow)
		complain("in %zu of %zu runs a BWThr moved less than %.0f %% of its --pace (%.0f %% at the least), as it can't, or got no processor: they left more than was calibrated",
			 slow, paced, ENOUGH * 100, least_kept * 100);
	for (k = 1; k <= r->rates; k++) {
		const double reached = run_reached(r, k);

		if (reached && reached < ENOUGH * r->rate[k - 1])
			complain("DMA of %.1f MB/s was asked for, and %.1f reached: what is slower beside it is so beside that",
				 r->rate[k - 1] / 1e6, reached / 1e6);
	}
}

/* A STATUS_, as a shell has it */
static int file_runs(const char *file)
{
	struct stat st;

	if (stat(file, &st))
		return errno == ENOENT || errno == ENOTDIR ? STATUS_NO_SUCH : STATUS_NOT_RUN;
	return S_ISREG(st.st_mode) && !access(file, X_OK) ? STATUS_OK : STATUS_NOT_RUN;
}

/* The same of a command, after a complaint if it can't be run */
static int command_runs(const char *name)
{
	const char *path = getenv("PATH"), *end;
	int status = STATUS_NO_SUCH;
	char file[4096];

	if (strchr(name, '/')) {
		status = file_runs(name);
		path = NULL;
	}
	for (; path && *path && status != STATUS_OK; path = *end ? end + 1 : end) {
		int found;

		end = strchrnul(path, ':');
		snprintf(file, sizeof(file), "%.*s/%s", (int)(end - path), path, name);
		found = file_runs(file);
		if (found != STATUS_NO_SUCH)
			status = found;
	}
	if (status != STATUS_OK)
		complain("%s: %s", name, status == STATUS_NO_SUCH ? "no such command" :
			 "not to be executed");
	return status;
}

static json_t *words(char **command)
{
	json_t *list = json_array();

	for (; *command; command++)
		json_array_append_new(list, text_json(*command));
	return list;
}

static bool same_caches(const struct active *a, const struct calibration *c)
{
	return !memcmp(c->bytes, a->at.bytes, sizeof(c->bytes));
}

static json_t *cpus_json(const int *cpu, unsigned int n)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < n; i++)
		json_array_append_new(list, json_integer(cpu[i]));
	return list;
}

/* What was asked for, where null is as it comes, and the CPUs that it came to */
static json_t *place_json(const struct active *a)
{
	json_t *cpu = a->cpu < 0 ? json_null() : json_integer(a->cpu);
	json_t *misses = a->miss_event ? json_sprintf("r%llx", (unsigned long long)a->miss_event) :
			 json_null();

	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "cores", a->cores, "cpu", cpu, "misses",
			 misses, "command", cpus_json(a->at.command, a->at.commands),
			 "interferers", cpus_json(a->at.interferer, a->at.interferers), "io",
			 a->at.io < 0 ? json_null() : json_integer(a->at.io));
}

/* Files of before don't have the CPUs: what they have must be the same. */
static bool same_place(json_t *was, json_t *now)
{
	const char *key;
	json_t *value;

	if (!json_is_object(was) || !json_object_get(was, "cores"))
		return false;
	json_object_foreach(was, key, value)
		if (!json_equal(value, json_object_get(now, key)))
			return false;
	return true;
}

/* What was begun goes on, if it is the same. */
static bool take_up(const struct active *a, struct run *r, char **command)
{
	json_t *now = words(command), *place = place_json(a), *bubble = bubble_name(a);
	bool was = false, same = true, good = false;
	unsigned int i;

	if (a->fresh || !run_is_kept(a->file))
		memset(r, 0, sizeof(*r));
	else if (!run_load(a->file, r, &was))
		goto fail;
	if (r->command) {
		same = json_equal(r->command, now) && same_place(r->place, place) &&
		       json_equal(r->bubble, bubble) && r->rates == a->bubble.rates;
		for (i = 0; i < r->rates && same; i++)
			same = r->rate[i] == a->bubble.rate[i];
	}
	if (r->calibrated)
		same &= same_caches(a, &r->calibration) && r->calibration.pace == a->pace;
	if (!same) {
		complain("%s is of another run (command, --cores, --cpu, --misses, --pace, caches, CPUs or DMA differ); -o FILE names another file, --fresh begins anew",
			 a->file);
		run_free(r);
		goto fail;
	}
	if (was && r->samples && !a->quiet)
		fprintf(stderr, "memio active: going on with the %zu runs in %s\n", r->samples,
			a->file);
	if (!r->command) {
		r->command = json_incref(now);
		r->place = json_incref(place);
		r->bubble = json_incref(bubble);
		r->rates = a->bubble.rates;
		memcpy(r->rate, a->bubble.rate, sizeof(r->rate));
	}
	good = true;
fail:
	json_decref(now);
	json_decref(place);
	json_decref(bubble);
	return good;
}

/* That of --calibration, with so many of each at least */
static bool given_calibration(const struct active *a, struct run *r, unsigned int storage,
			      unsigned int bandwidth)
{
	struct calibration *c = &r->calibration;

	if (!calibration_load(a->calibration, c))
		return false;
	if (!same_caches(a, c)) {
		complain("%s is of a machine with other caches", a->calibration);
		return false;
	}
	if (c->pace != a->pace) {
		complain("%s is of BWThr of another --pace", a->calibration);
		return false;
	}
	if (c->storage >= storage && c->bandwidth >= bandwidth)
		return true;
	complain("%s has up to %u CSThr and %u BWThr, and %u and %u are asked for, or in %s already: calibrate with as many, or --storage %u --bandwidth %u",
		 a->calibration, c->storage, c->bandwidth, storage, bandwidth, a->file,
		 least(storage, c->storage), least(bandwidth, c->bandwidth));
	return false;
}

static bool have_calibration(const struct active *a, struct run *r)
{
	unsigned int storage = least(a->storage, a->at.interferers);
	unsigned int bandwidth = least(a->bandwidth, a->at.interferers);
	struct active all = *a;
	size_t i;

	/* Without what was left beside them, runs that are there already would mean nothing. */
	for (i = 0; i < r->samples; i++) {
		storage = greatest(storage, r->sample[i].storage);
		bandwidth = greatest(bandwidth, r->sample[i].bandwidth);
	}
	if (a->calibration) {
		r->calibrated = given_calibration(a, r, storage, bandwidth);
		return r->calibrated;
	}
	/* One that is in the file counts if it has what is needed. */
	if (r->calibrated && r->calibration.storage >= storage &&
	    r->calibration.bandwidth >= bandwidth)
		return true;
	if (storage > a->at.interferers || bandwidth > a->at.interferers) {
		complain("%s has runs beside %u CSThr or %u BWThr, and there are cores for %u here: how much they leave can't be found out",
			 a->file, storage, bandwidth, a->at.interferers);
		return false;
	}
	/* It is judged by what counts, which the file may say. */
	all.metric = run_metric_name(a, r);
	/* Nor is what is known already to be lost. */
	all.storage = greatest(storage, r->calibration.storage);
	all.bandwidth = greatest(bandwidth, r->calibration.bandwidth);
	r->calibrated = calibrate(&all, &r->calibration);
	return r->calibrated;
}

static bool pin(const struct active *a)
{
	if (pin_to_cpu(a->at.command[0]))
		return true;
	complain_errno("pinning to CPU %d", a->at.command[0]);
	return false;
}

static int run_it(const struct active *a, char **command)
{
	int status = STATUS_FAILED;
	struct run r;

	if (!take_up(a, &r, command))
		return STATUS_FAILED;
	if (a->processes)
		r.processes = a->processes;
	if (is_metric(a, &r, "misses") && !counters_here(a)) {
		complain("--metric misses: there are no counters of them here; time or cpu");
		run_free(&r);
		return STATUS_UNABLE;
	}
	if (have_calibration(a, &r) && run_save(a, &r) && warn(a, &r.calibration))
		if (pin(a) && run_grid(a, &r, command) && run_counts(a, &r, a->file))
			status = STATUS_OK;
	if (status == STATUS_OK) {
		warn_after(&r);
		if (a->json) {
			json_t *j = json_begin(), *run = run_json(a, &r);

			/* In all outputs, "command" is memio's; the file has the one that ran. */
			json_object_set(j, "argv", json_object_get(run, "command"));
			json_object_update_missing(j, run);
			json_decref(run);
			json_end_as(j, stdout, JSON_FORMAT);
		} else {
			print_run(a, &r);
		}
	} else if (r.samples && run_is_kept(a->file)) {
		complain("%zu runs are in %s; the same command goes on from there", r.samples,
			 a->file);
	}
	if (status == STATUS_FAILED && r.failed)
		status = r.failed;
	run_free(&r);
	return status;
}

int run(const struct active *a, char **command)
{
	struct lock lock;
	int status;

	status = command_runs(command[0]);
	if (status != STATUS_OK)
		return status;
	/* Calibrating takes minutes: nobody is to wait for them to hear of a wrong name. */
	if (a->bubble.rates && !bubble_try(a))
		return STATUS_FAILED;
	if (!run_lock(a->file, &lock))
		return STATUS_FAILED;
	status = run_it(a, command);
	run_unlock(&lock);
	return status;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * memio trace record: the kernel's rings into a file
 *
 * One thread goes round the rings. What it takes out of one is cut into blocks of
 * CODEC_WORDS words, which are compressed and put into the file; one that has not filled up
 * after a second is put there as well, so that a recorder that is killed loses
 * little. Nothing is ever waited for but records: the file's space is allocated before
 * it is needed, and the thread has a realtime priority, if it may.
 *
 * Tasks that the filters don't choose are left out here: their records become a longer
 * difference to what is next, and switches stay, so that the file's words are like
 * a ring's.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "filter.h"
#include "interrupt.h"
#include "ring.h"
#include "stream.h"
#include "trace.h"
#include "writer.h"

#define DIRECTORY	"/sys/kernel/debug/memio/trace"
#define RINGS		DIRECTORY "/cpu*"
#define BLOCK_NS	1000000000ull	/* a block that is not full is not older */
#define NAP_NS		200000		/* between looks at rings that nobody tells of */
#define WAIT_MS		100		/* for rings that somebody does */

struct stream {
	struct ring ring;
	bool gone;			/* poll() says that no more will come */
	bool stopped;			/* and nothing is left */
	bool synced;			/* the time is known */
	bool chosen;			/* by the filters: the task that runs */
	bool told;			/* that the ring was damaged */
	struct format_state state;	/* after the last word that was taken */
	uint64_t pending;		/* ticks since the last word that was kept */
	uint64_t lost;			/* told by LOST before the time was known */
	struct format_state block_state;	/* before the first word of the block */
	uint64_t block_ns;		/* since when there is something in the block */
	uint32_t *block;
	size_t n;
	uint32_t records;		/* in the block */
	struct format_stats stats;
};

struct recorder {
	struct stream *stream;
	unsigned int streams;
	struct filter filter;
	bool choose;			/* some tasks are not wanted */
	bool named;			/* the rings are: not just all there are */
	struct writer writer;
	const char *path;
	int err;			/* of the writer: nothing more is put */
	uint64_t now_ns;
	uint32_t *words;
};

/* COMMAND, when it was told to end: a process, or below 0 a group */
static volatile pid_t ending;

static void on_signal(int number)
{
	interrupted = number;
	/* The second time, whoever does not listen is killed. */
	if (ending)
		kill(ending, SIGKILL);
}

/* ---- blocks ---- */

/* What the file knows of the time, which stands still for those who are not chosen */
static struct format_state file_state(const struct stream *s)
{
	struct format_state state = s->state;

	state.tsc -= s->pending;
	return state;
}

static void put_block(struct recorder *r, struct stream *s)
{
	struct format_state after = file_state(s);

	if (s->n && !r->err)
		r->err = writer_data(&r->writer, &s->ring.stream, &s->block_state, &after,
				     s->block, s->n, s->records);
	if (!r->err)
		s->stats.kept_records += s->records;
	s->n = 0;
	s->records = 0;
}

/* Room for a number of words in the block */
static uint32_t *room(struct recorder *r, struct stream *s, size_t words)
{
	if (s->n + words > CODEC_WORDS)
		put_block(r, s);
	if (!s->n) {
		s->block_state = file_state(s);
		s->block_ns = r->now_ns;
	}
	return s->block + s->n;
}

/* A marker or record in words, before the state moves; @delta: it has one */
static void keep(struct recorder *r, struct stream *s, const uint32_t *word, size_t words,
		 bool delta)
{
	uint32_t *to = room(r, s, words);
	uint64_t sum;

	memcpy(to, word, 4 * words);
	if (delta && s->pending) {
		sum = stream_u64(word + 1) + s->pending;
		to[1] = (uint32_t)sum;
		to[2] = sum >> 32;
		s->pending = 0;
	}
	s->n += words;
}

/* Differences from @word on, as many as there are; moves the state. Return: how many. */
static size_t take_records(struct recorder *r, struct stream *s, const uint32_t *word, size_t n)
{
	uint64_t sum = 0;
	size_t i = 0, k;

	if (s->chosen) {
		uint32_t *to = room(r, s, 1);

		if (n > CODEC_WORDS - s->n)
			n = CODEC_WORDS - s->n;
		while (n - i >= 16) {
			uint32_t most = 0;
			uint64_t part = 0;

			for (k = 0; k < 16; k++) {
				most = word[i + k] > most ? word[i + k] : most;
				part += word[i + k];
			}
			if (most >= MEMIO_TRACE_ESCAPE)
				break;
			sum += part;
			i += 16;
		}
		for (; i < n && word[i] < MEMIO_TRACE_ESCAPE; i++)
			sum += word[i];
		memcpy(to, word, 4 * i);
		s->n += i;
		s->records += i;
	} else {
		for (; i < n && word[i] < MEMIO_TRACE_ESCAPE; i++)
			sum += word[i];
		s->pending += sum;
	}
	s->state.tsc += sum;
	s->stats.read_records += i;
	return i;
}

static void damaged(struct stream *s)
{
	s->stats.damaged++;
	s->synced = false;
	if (!s->told)
		complain("%s: not what a ring should be; going on at its next SYNC",
			 s->ring.path);
	s->told = true;
}

/*
 * The time is known from this SYNC on. What was lost before is told as if there
 * had been a LOST right here.
 */
static void synchronise(struct recorder *r, struct stream *s, const uint32_t *sync)
{
	uint32_t lost[3] = {
		MEMIO_TRACE_MARKER(MEMIO_TRACE_LOST, 2), (uint32_t)s->lost, s->lost >> 32,
	};

	/* What is in the block does not lead here. */
	put_block(r, s);
	memset(&s->state, 0, sizeof(s->state));
	s->state.tsc = stream_u64(sync + 1);
	s->state.clock_tsc = stream_u64(sync + 3);
	s->state.mono_ns = stream_u64(sync + 5);
	s->state.real_ns = stream_u64(sync + 7);
	s->pending = 0;
	s->synced = true;
	s->chosen = !r->choose;
	if (s->lost)
		keep(r, s, lost, 3, false);
	s->lost = 0;
}

static void take(struct recorder *r, struct stream *s, const uint32_t *word, size_t n)
{
	struct format_state state;
	enum stream_kind kind;
	uint64_t number = 0;
	size_t i = 0, words;

	s->stats.read_words += n;
	for (; i < n; i += words) {
		if (s->synced && word[i] < MEMIO_TRACE_ESCAPE) {
			words = take_records(r, s, word + i, n - i);
			continue;
		}
		state = s->state;
		kind = stream_next(&state, word + i, n - i, &words, &number);
		if (kind == STREAM_BROKEN) {
			s->stats.skipped_words += n - i;
			damaged(s);
			return;
		}
		if (kind == STREAM_LOST)
			s->stats.lost_records += number;
		if (!s->synced) {
			if (kind == STREAM_LOST) {
				s->lost += number;
				continue;
			}
			if (kind != STREAM_SYNC) {
				s->stats.skipped_words += words;
				continue;
			}
			synchronise(r, s, word + i);
		}
		if (kind == STREAM_RECORD) {	/* a LONG */
			s->stats.read_records++;
			if (!s->chosen) {
				s->pending += state.tsc - s->state.tsc;
				s->state = state;
				continue;
			}
			keep(r, s, word + i, words, true);
			s->records++;
		} else {
			if (kind == STREAM_SYNC)
				s->pending = 0;
			keep(r, s, word + i, words, kind == STREAM_SWITCH);
		}
		s->state = state;
		if (kind == STREAM_SWITCH && r->choose)
			s->chosen = filter_task(&r->filter, &s->state);
	}
}

/* Return: whether there was something. */
static bool read_stream(struct recorder *r, struct stream *s)
{
	bool some = false;
	unsigned int rounds;

	/* The others' turn comes, however fast this one is filled. */
	for (rounds = 0; rounds < 4 && !r->err; rounds++) {
		long n = ring_read(&s->ring, r->words, CODEC_WORDS, &s->stopped);

		if (n <= 0) {
			if (n < 0)
				damaged(s);
			s->stopped |= s->gone;
			break;
		}
		some = true;
		take(r, s, r->words, n);
	}
	if (s->n && r->now_ns - s->block_ns >= BLOCK_NS)
		put_block(r, s);
	return some;
}

/* ---- the beginning and the end ---- */

/* Errors of writes, of which these would be the end; COMMAND has them as they were. */
static const int fatal[] = { SIGXFSZ, SIGPIPE };

#define FATAL	(sizeof(fatal) / sizeof(*fatal))

/* What this process had before, and COMMAND is to have */
struct before {
	struct sigaction act[FATAL];
	struct rlimit files;
};

static void prepare(struct before *was)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct rlimit files;
	unsigned int i;

	for (i = 0; i < FATAL; i++)
		sigaction(fatal[i], &ignore, &was->act[i]);
	/* A file for each CPU may be more than there are by default. */
	getrlimit(RLIMIT_NOFILE, &was->files);
	files = was->files;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/*
 * A child that waits until all is ready. In a group of its own all its processes can be told
 * to end; but a terminal is to be read by who is in front there, which is our group.
 * Return: its pid, or 0.
 */
static pid_t start_command(char **argv, int go[2], int failed[2], const struct before *was,
			   bool own_group)
{
	unsigned int i;
	pid_t pid;
	char byte;
	int err;

	/* What is started must not keep them open: its end would be waited for. */
	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		complain_errno("starting %s", argv[0]);
		return 0;
	}
	pid = fork();
	if (pid < 0) {
		complain_errno("starting %s", argv[0]);
		return 0;
	}
	if (pid) {
		/* Here as well, as whoever is first may need it. */
		if (own_group)
			setpgid(pid, pid);
		close(go[0]);
		close(failed[1]);
		return pid;
	}
	close(go[1]);
	close(failed[0]);
	for (i = 0; i < FATAL; i++)
		sigaction(fatal[i], &was->act[i], NULL);
	setrlimit(RLIMIT_NOFILE, &was->files);
	if (own_group)
		setpgid(0, 0);
	/* The recorder may be gone before. */
	if (read(go[0], &byte, 1) != 1)
		_exit(127);
	close(go[0]);
	execvp(argv[0], argv);
	err = errno;
	while (write(failed[1], &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* A STATUS_: OK, it runs; or why not, as a shell has it */
static int let_go(const char *name, int go[2], int failed[2])
{
	int err;
	ssize_t n;

	if (write(go[1], "", 1) != 1) {
		complain_errno("starting %s", name);
		return STATUS_FAILED;
	}
	close(go[1]);
	/* Closed by a successful exec: nothing to read */
	do
		n = read(failed[0], &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(failed[0]);
	if (n == sizeof(err)) {
		errno = err;
		complain_errno("%s", name);
		return err == ENOENT ? STATUS_NO_SUCH : STATUS_NOT_RUN;
	}
	return STATUS_OK;
}

static void be_fifo(double priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (priority < 1)
		return;
	/* A command's priority is its own. */
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		complain("no realtime priority (%s): records may be lost when the CPUs are busy",
			 strerror(errno));
}

/*
 * Those that are wanted of @paths, and if they were not named, whose CPUs are online.
 * A STATUS_; what is wrong was said.
 */
static int open_rings(struct recorder *r, char **paths, unsigned int n)
{
	unsigned int i, cpu;

	r->stream = calloc(n, sizeof(*r->stream));
	r->words = malloc(4 * CODEC_WORDS);
	if (!r->stream || !r->words) {
		complain("no memory");
		return STATUS_FAILED;
	}
	for (i = 0; i < n; i++) {
		struct stream *s = &r->stream[r->streams];

		/* To open a ring takes its counter, and its pages, from others. */
		if (!r->named && sscanf(strrchr(paths[i], '/'), "/cpu%u", &cpu) == 1 &&
		    !filter_cpu(&r->filter, cpu))
			continue;
		errno = 0;
		if (!ring_open(&s->ring, paths[i])) {
			if (errno != ENODEV)
				return errno == EACCES || errno == EOPNOTSUPP ? STATUS_UNABLE :
										STATUS_FAILED;
			if (!r->named)
				continue;
			complain("%s: the CPU is offline", paths[i]);
			return STATUS_FAILED;
		}
		if (!filter_cpu(&r->filter, s->ring.stream.cpu)) {
			ring_close(&s->ring);
			continue;
		}
		r->streams++;
		s->stats.stream = s->ring.stream;
		s->block = malloc(4 * CODEC_WORDS);
		if (!s->block) {
			complain("no memory");
			return STATUS_FAILED;
		}
	}
	if (!r->streams)
		complain("no ring of the CPUs that are wanted");
	return r->streams ? STATUS_OK : STATUS_FAILED;
}

static bool stopped(const struct recorder *r)
{
	unsigned int i;

	for (i = 0; i < r->streams; i++)
		if (!r->stream[i].stopped)
			return false;
	return true;
}

/* Until something is in a ring, or might be */
static void wait_for_records(struct recorder *r, struct pollfd *fds)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	unsigned int i;

	for (i = 0; i < r->streams; i++) {
		if (r->stream[i].ring.ordinary && !r->stream[i].stopped) {
			nanosleep(&nap, NULL);
			return;
		}
		/* Below 0, poll() does not look. */
		fds[i].fd = r->stream[i].stopped ? -1 : r->stream[i].ring.fd;
		fds[i].events = POLLIN;
		fds[i].revents = 0;
	}
	if (poll(fds, r->streams, WAIT_MS) <= 0)
		return;
	for (i = 0; i < r->streams; i++)
		if (fds[i].revents && !(fds[i].revents & POLLIN))
			r->stream[i].gone = true;
}

/* @end_ns: when it is to end; 0: not by time. Return: as wait() of @command. */
static int go_round(struct recorder *r, uint64_t end_ns, pid_t *command)
{
	struct pollfd *fds = calloc(r->streams, sizeof(*fds));
	int command_status = 0;
	unsigned int i;
	bool some;

	for (;;) {
		r->now_ns = clock_ns(CLOCK_MONOTONIC);
		some = false;
		for (i = 0; i < r->streams; i++)
			some |= read_stream(r, &r->stream[i]);
		if (r->err || interrupted || stopped(r) || (end_ns && r->now_ns >= end_ns))
			break;
		if (*command && waitpid(*command, &command_status, WNOHANG) == *command) {
			*command = 0;
			break;
		}
		if (!some && fds)
			wait_for_records(r, fds);
	}
	free(fds);

	/* What was there when the end came: no more than a ring's fill, lest it never end. */
	for (i = 0; i < r->streams; i++) {
		struct stream *s = &r->stream[i];
		uint64_t most;

		ring_flush(&s->ring);
		most = s->stats.read_words + s->ring.words;
		while (s->stats.read_words < most && read_stream(r, s))
			;
		put_block(r, s);
	}
	return command_status;
}

/* ---- what it came to ---- */

/* LOST tells of what was dropped only when there is room again; the kernel counts at once. */
static uint64_t lost_of(const struct format_stats *s)
{
	return s->dropped > s->lost_records ? s->dropped : s->lost_records;
}

static void summary(const struct recorder *r, double seconds)
{
	struct format_stats sum = { 0 };
	const struct writer *w = &r->writer;
	unsigned int i;

	for (i = 0; i < r->streams; i++) {
		const struct format_stats *s = &r->stream[i].stats;

		fprintf(stderr, "CPU %u: %" PRIu64 " records, %" PRIu64 " kept, %" PRIu64
			" lost (%" PRIu64 " of %" PRIu64 " buffers), %" PRIu64 " long",
			s->stream.cpu, s->read_records, s->kept_records, lost_of(s),
			s->overflows, s->buffers, s->long_deltas);
		if (s->throttled)
			fprintf(stderr, ", %" PRIu64 " times throttled", s->throttled);
		if (s->skipped_words)
			fprintf(stderr, ", %" PRIu64 " words skipped", s->skipped_words);
		if (s->damaged)
			fprintf(stderr, ", %" PRIu64 " times damaged", s->damaged);
		fputc('\n', stderr);
		sum.kept_records += s->kept_records;
		sum.lost_records += lost_of(s);
		sum.throttled += s->throttled;
	}
	fprintf(stderr, "%s: %" PRIu64 " records in %.3f s, %" PRIu64 " bytes", r->path,
		sum.kept_records, seconds, w->out.size);
	if (w->words)
		fprintf(stderr, ", %.1f %% of the words", 25.0 * w->data_bytes / w->words);
	fputc('\n', stderr);
	if (sum.lost_records)
		complain("%" PRIu64 " records were lost: a ring was full, or a batch before the kernel came to it: a longer period, larger words or buffer in the settings, or, where few CPUs are traced and read at once, --priority 0",
			 sum.lost_records);
	if (sum.throttled)
		complain("%" PRIu64 " times perf stopped a counter (too many interrupts), and what came then is missing: a longer period, or a higher kernel.perf_event_max_sample_rate",
			 sum.throttled);
}

static int record(struct recorder *r, char **rings, unsigned int n, double seconds,
		  double priority, char **argv, bool quiet)
{
	int go[2], failed[2], err, status, command_status = 0;
	const bool own_group = !isatty(STDIN_FILENO);
	struct before was;
	char text[256];
	uint64_t start;
	pid_t pid = 0;
	unsigned int i;

	prepare(&was);
	status = open_rings(r, rings, n);
	if (status != STATUS_OK)
		return status;
	r->choose = filter_tasks(&r->filter);
	r->err = writer_open(&r->writer, r->path, r->streams,
			     filter_text(&r->filter, text, sizeof(text)));
	if (r->err) {
		errno = -r->err;
		complain_errno("%s", r->path);
		return STATUS_FAILED;
	}
	if (argv) {
		pid = start_command(argv, go, failed, &was, own_group);
		if (!pid) {
			status = STATUS_FAILED;
			goto close;
		}
	}
	interrupts_to(on_signal);
	be_fifo(priority);
	start = clock_ns(CLOCK_MONOTONIC);
	if (argv)
		status = let_go(argv[0], go, failed);
	if (status != STATUS_OK) {
		waitpid(pid, NULL, 0);
		pid = 0;
		goto close;
	}
	command_status = go_round(r, seconds ? start + (uint64_t)(seconds * 1e9) : 0, &pid);
	for (i = 0; i < r->streams; i++) {
		struct stream *s = &r->stream[i];

		ring_stats(&s->ring, &s->stats);
		/* Also after an error: room is kept for this. */
		err = writer_stats(&r->writer, &s->stats);
		r->err = r->err ? r->err : err;
	}
	err = writer_end(&r->writer);
	r->err = r->err ? r->err : err;
	if (!quiet)
		summary(r, (clock_ns(CLOCK_MONOTONIC) - start) / 1e9);
close:
	err = writer_close(&r->writer);
	r->err = r->err ? r->err : err;
	if (r->err) {
		errno = -r->err;
		complain_errno("%s: writing it; what it has so far can be read", r->path);
		status = STATUS_FAILED;
	}
	if (pid) {	/* the end came before COMMAND's */
		ending = own_group ? -pid : pid;
		kill(ending, SIGTERM);
		while (waitpid(pid, &command_status, 0) < 0 && errno == EINTR)
			;
		ending = 0;
	} else if (command_status) {
		const bool exited = WIFEXITED(command_status);
		const int n = exited ? WEXITSTATUS(command_status) : WTERMSIG(command_status);

		complain("%s ended with %s %d", argv[0], exited ? "status" : "signal", n);
		status = exited ? n : 128 + n;
	}
	return status;
}

enum { OPT_RING = 300, OPT_SECONDS, OPT_PRIORITY };

static const struct command_option options[] = {
	{ .id = 'o', .name = "output", .value = "FILE", .completes = COMPLETES_FILE,
	  .help = "Write to this file [" TRACE_FILE "]." },
	{ .id = OPT_RING, .name = "ring", .value = "FILE", .completes = COMPLETES_FILE,
	  .help = "Read this ring of the kernel; may be repeated [" RINGS "]." },
	{ .id = OPT_SECONDS, .name = "seconds", .value = "S", .help = "End after S seconds." },
	{ .id = OPT_PRIORITY, .name = "priority", .value = "N",
	  .help = "Record at this priority of SCHED_FIFO; 0: as an ordinary task [1]." },
	{ .id = 'q', .name = "quiet", .help = "Print no statistics at the end." },
	FILTER_OPTIONS,
	{ }
};

static int cmd_record(int argc, char **argv)
{
	struct options o;
	struct recorder r = { .path = TRACE_FILE };
	double seconds = 0, priority = 1;
	unsigned int n = 0, i;
	char **rings = calloc(argc + 1, sizeof(*rings));
	bool quiet = false;
	glob_t found = { 0 };
	int opt, status = STATUS_USAGE;

	if (!rings)
		return STATUS_FAILED;
	options_begin(&o, argc, argv);
	while ((opt = trace_option(&o, &r.filter, &status)) > 0) {
		switch (opt) {
		case 'o':
			r.path = optarg;
			break;
		case 'q':
			quiet = true;
			break;
		case OPT_RING:
			rings[n++] = optarg;
			break;
		case OPT_SECONDS:
			if (!trace_number("--seconds", optarg, 0.001, 1e9, &seconds))
				goto out;
			break;
		case OPT_PRIORITY:
			if (!trace_number("--priority", optarg, 0, 99, &priority))
				goto out;
			break;
		}
	}
	if (opt < 0)
		goto out;
	if (o.argc && strcmp(o.argv[-1], "--")) {
		complain("'%s': a command comes after --", o.argv[0]);
		goto out;
	}
	r.named = n;
	if (!n) {
		if (glob(RINGS, 0, NULL, &found)) {
			/* debugfs is mostly root's: glob() sees nothing there. */
			if (access(DIRECTORY, X_OK) && errno == EACCES)
				complain("no access to " RINGS ": it takes root, or CAP_PERFMON and debugfs mounted so that others may enter it");
			else
				complain("no traces in " RINGS ": does this kernel have memio's, and is debugfs mounted? --ring names others");
			status = STATUS_UNABLE;
			goto out;
		}
		free(rings);
		rings = calloc(found.gl_pathc, sizeof(*rings));
		for (i = 0; rings && i < found.gl_pathc; i++)
			rings[n++] = found.gl_pathv[i];
	}
	status = record(&r, rings, n, seconds, priority, o.argc ? o.argv : NULL,
			quiet);
	for (i = 0; i < r.streams; i++) {
		ring_close(&r.stream[i].ring);
		free(r.stream[i].block);
	}
	free(r.stream);
	free(r.words);
	globfree(&found);
out:
	free(rings);
	filter_free(&r.filter);
	return status;
}

const struct command trace_record = {
	.name = "record",
	.summary = "write the kernel's traces to a file",
	.usage = "[OPTION...] [-- COMMAND [ARG...]]",
	.about = "Writes the kernel's traces to a file until COMMAND ends, the time is over, "
		  "Ctrl-C, or the kernel stops tracing. The traces have all tasks that run "
		  "meanwhile.",
	.option = options,
	.arguments = COMPLETES_COMMAND,
	.runs = true,
	.main = cmd_record,
};

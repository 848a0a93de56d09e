// SPDX-License-Identifier: GPL-2.0
/*
 * load: in the guest, small loads for benchmarks/overhead/overhead, and what counts them
 *
 *	load count UNITS COMMAND [ARG...]
 *		runs COMMAND; prints how many instructions the processor has executed
 *		meanwhile, in tasks, interrupts and kernel threads, for each unit; with
 *		$MEMIO_PMU also how many its counter of retired instructions has seen, "-"
 *		if there is none
 *	load open COMMAND [ARG...]
 *	load pipe ROUNDS	two processes send each other a byte
 *	load ring ROUNDS N	a byte goes round among N processes, as in lat_ctx
 *	load ring ROUNDS N packet
 *		... and each sends a packet before it hands it on
 *	load rr N ADDRESS	sends 100 bytes by TCP to `load serve`, and gets them back
 *	load serve 1		its other end, for ever
 *	load message N		100 bytes through a pair of sockets, in one process: what
 *				hackbench does, but for waiting and switches
 *	load syscall N		getppid()
 *	load packet N		packets of 100 bytes of data
 *	load disk N		reads of 4 KiB of the disk, past the page cache; prints
 *				the instructions for one that is answered at once, and
 *				for one that has to sleep; "-" if there were too few
 *
 * Under ci/vm --icount one instruction takes a nanosecond of the guest's time, and idle
 * time is skipped. So what was executed is the time that has passed less that which the
 * processor was idle, and /proc/timer_list has the latter to the nanosecond. It is
 * exact but for the some hundred instructions on the way into and out of each idle time,
 * where no part of memio is.
 *
 * The processor's counter of retired instructions says the same. The clock is used as it
 * needs nothing of the PMU, which memio itself uses once there are readers or limits.
 * A ring is counted in both ways, and the two are to agree.
 *
 * That does not do for reads of a disk, which wait for the host: the guest's clock jumps
 * to its next timer, perhaps to several until the host has answered, and each takes
 * instructions. So while the disk is read a process of the idle class counts in a loop,
 * and the processor is never idle. What that took is its count, by the pace that it has
 * while nothing else runs. If the host is quick, the answer is there before
 * the reader sleeps, which makes for another path. Therefore each read is counted by
 * itself, and printed are the medians of those that did not sleep, and of those that did.
 *
 * Packets and reads use the descriptors FD_NET and FD_DISK, if they are open; owner.c has
 * the same. `load open` opens them, for $MEMIO_DISK and for the address $MEMIO_SINK, and
 * becomes a command that has them.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io.h"

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t idle(void)
{
	FILE *f = fopen("/proc/timer_list", "r");
	int64_t sum = 0, ns;
	char line[256];

	if (!f)
		err(1, "/proc/timer_list");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " .idle_sleeptime : %ld", &ns) == 1 ||
		    sscanf(line, " .iowait_sleeptime: %ld", &ns) == 1)
			sum += ns;
	fclose(f);
	return sum;
}

/* Open for all processes to come, wherever they find themselves. */
static void open_devices(void)
{
	const char *disk = getenv("MEMIO_DISK"), *sink = getenv("MEMIO_SINK");
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd;

	if (disk && fcntl(FD_DISK, F_GETFD) < 0) {
		fd = open(disk, O_RDONLY | O_DIRECT);
		if (fd < 0 || dup2(fd, FD_DISK) < 0)
			err(1, "%s", disk);
		close(fd);
	}
	if (sink && fcntl(FD_NET, F_GETFD) < 0) {
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		if (fd < 0 || inet_pton(AF_INET, sink, &to.sin_addr) != 1 ||
		    connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
		    dup2(fd, FD_NET) < 0)
			err(1, "%s", sink);
		close(fd);
	}
}

static void on_one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "sched_setaffinity");
}

/* Begins to count, while nobody else wants the processor. */
static volatile uint64_t *soak(pid_t *pid)
{
	volatile uint64_t *n = mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sched_param zero = {};

	if (n == MAP_FAILED)
		err(1, "mmap");
	*pid = fork();
	if (*pid < 0)
		err(1, "fork");
	if (*pid)
		return n;
	if (sched_setscheduler(0, SCHED_IDLE, &zero))
		err(1, "SCHED_IDLE");
	for (;;)
		++*n;
}

/* How many ns a count takes. */
static double pace(volatile uint64_t *n)
{
	int64_t t;
	uint64_t c;

	usleep(50000);
	t = now();
	c = *n;
	usleep(200000);
	c = *n - c;
	t = now() - t;
	if (!c)
		errx(1, "nothing was counted");
	return (double)t / c;
}

/* Counts what retires on the one processor, whoever it is; -1: it can't. */
static int retired_open(void)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.pinned = 1,
	};

	return syscall(SYS_perf_event_open, &a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

/* -1: it does not count, or has not all the time. */
static int64_t retired(int fd)
{
	int64_t n;

	return fd >= 0 && read(fd, &n, sizeof(n)) == sizeof(n) ? n : -1;
}

static int count(int argc, char **argv)
{
	int64_t took, i, before, after;
	int status, pmu = -1;
	pid_t pid;

	if (argc < 3)
		errx(2, "usage: load count UNITS COMMAND [ARG...]");
	if (getenv("MEMIO_PMU"))
		pmu = retired_open();
	i = idle();
	before = retired(pmu);
	took = now();
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		/* Not for us: for COMMAND and what it starts. */
		if (getenv("MEMIO_PRELOAD"))
			setenv("LD_PRELOAD", getenv("MEMIO_PRELOAD"), 1);
		dup2(2, 1);
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	took = now() - took;
	after = retired(pmu);
	took -= idle() - i;
	if (status)
		errx(1, "%s: status %x", argv[2], status);
	printf("%.3f", took / atof(argv[1]));
	if (before >= 0 && after >= 0)
		printf(" %.3f", (after - before) / atof(argv[1]));
	else if (getenv("MEMIO_PMU"))
		printf(" -");
	printf("\n");
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static long sleeps(void)
{
	struct rusage r;

	if (getrusage(RUSAGE_SELF, &r))
		err(1, "getrusage");
	return r.ru_nvcsw;
}

#define FEW	20

static void print_median(double *v, long n, char end)
{
	qsort(v, n, sizeof(*v), by_value);
	if (n < FEW)
		printf("-%c", end);
	else
		printf("%.3f%c", v[n / 2], end);
}

static void disk(long n)
{
	double ns, *took[2] = { calloc(n, sizeof(double)), calloc(n, sizeof(double)) };
	volatile uint64_t *others;
	long i, m[2] = {}, slept;
	pid_t soaker;
	uint64_t c;
	int64_t t;

	if (!took[0] || !took[1])
		err(1, "calloc");
	others = soak(&soaker);
	ns = pace(others);
	for (i = 0; i < n; i++) {
		slept = sleeps();
		c = *others;
		t = now();
		if (io_read(i))
			err(1, "read");
		t = now() - t;
		c = *others - c;
		slept = sleeps() - slept;
		if (slept <= 1)
			took[slept][m[slept]++] = t - c * ns;
	}
	kill(soaker, SIGKILL);
	waitpid(soaker, NULL, 0);
	print_median(took[0], m[0], ' ');
	print_median(took[1], m[1], '\n');
}

static void get(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		err(1, "read");
}

static void put(int fd)
{
	char c = 0;

	if (write(fd, &c, 1) != 1)
		err(1, "write");
}

static void message(int from, int to)
{
	static char data[100];

	if (write(from, data, sizeof(data)) != sizeof(data))
		err(1, "write");
	if (read(to, data, sizeof(data)) != sizeof(data))
		err(1, "read");
}

static void packet(void)
{
	static const char data[100];

	if (send(FD_NET, data, sizeof(data), 0) != sizeof(data))
		err(1, "send");
}

/* Member 0 lets the byte loose; with two of them it is a ping-pong. */
static void ring(long rounds, int members, int packets)
{
	int fd[members][2], first = 1, i;
	long r;

	for (i = 0; i < members; i++)
		if (pipe(fd[i]))
			err(1, "pipe");
	for (i = 1; i < members; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (!pid)
			break;
	}
	i %= members;
	for (r = 0; r < rounds; r++) {
		if (i || !first)
			get(fd[i][0]);
		first = 0;
		if (packets)
			packet();
		put(fd[(i + 1) % members][1]);
	}
	if (i)
		_exit(0);
	get(fd[0][0]);
	while (wait(NULL) > 0)
		;
}

#define RR_BYTES	100

static void get_all(int fd, char *data)
{
	ssize_t n = recv(fd, data, RR_BYTES, MSG_WAITALL);

	if (!n)
		_exit(0);
	if (n != RR_BYTES)
		err(1, "recv");
}

static void put_all(int fd, const char *data)
{
	if (send(fd, data, RR_BYTES, 0) != RR_BYTES)
		err(1, "send");
}

/* A hundred bytes there and back; without @address, back and there, for whoever comes. */
static void request_response(long n, const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(5202) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, client;
	char data[RR_BYTES] = {};

	if (fd < 0 || (address && inet_pton(AF_INET, address, &at.sin_addr) != 1))
		err(1, "%s", address);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (address) {
		if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
			err(1, "connect");
		for (; n > 0; n--) {
			put_all(fd, data);
			get_all(fd, data);
		}
		return;
	}
	signal(SIGCHLD, SIG_IGN);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1))
		err(1, "bind");
	for (;;) {
		client = accept(fd, NULL, NULL);
		if (client < 0)
			err(1, "accept");
		if (!fork()) {
			setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			for (;;) {
				get_all(client, data);
				put_all(client, data);
			}
		}
		close(client);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0, i;
	int ends[2];

	if (!strcmp(what, "count"))
		return count(argc - 1, argv + 1);
	if (!strcmp(what, "open")) {
		open_devices();
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	on_one_cpu();
	if (!strcmp(what, "pipe")) {
		ring(n, 2, 0);
	} else if (!strcmp(what, "ring") && argc > 3) {
		ring(n, atoi(argv[3]), argc > 4);
	} else if (!strcmp(what, "rr") && argc > 3) {
		request_response(n, argv[3]);
	} else if (!strcmp(what, "serve")) {
		request_response(0, NULL);
	} else if (!strcmp(what, "message")) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			err(1, "socketpair");
		for (i = 0; i < n; i++)
			message(ends[0], ends[1]);
	} else if (!strcmp(what, "syscall")) {
		for (i = 0; i < n; i++)
			syscall(SYS_getppid);
	} else if (!strcmp(what, "disk")) {
		disk(n);
	} else if (!strcmp(what, "packet")) {
		for (i = 0; i < n; i++)
			packet();
	} else {
		errx(2, "usage: load count|open|pipe|ring|rr|serve|message|syscall|disk|packet ...; "
		     "see load.c");
	}
	return 0;
}

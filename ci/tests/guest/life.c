// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that come, go and change, each with a known number of direct reads of 4 KiB
 *
 *	life read DISK N		N reads
 *	life exec DISK N TIMES		N reads in each of TIMES programs, by exec
 *	life threads DISK N		N reads in each of four threads, of which one
 *					ends before the others
 *	life threadexec DISK N		N reads in each of two threads, then the one that
 *					is not the leader does the exec
 *	life leader DISK N		N reads in each of two threads, of which the leader
 *					ends first
 *	life forks DISK N WORKERS	N children that read once, every second one by a thread
 *					that ends first, and exit, one after the
 *					other in each worker; prints how many
 *	life stream DISK SECONDS THREADS
 *					reads until time is over, one fails, or SIGTERM
 *					comes; prints how many succeeded, and how many failed
 *	life lasting DISK SECONDS THREADS
 *					the same, but it ends with SIGTERM alone
 *	life waiting DISK N THREADS	stops itself when all threads are ready; N reads in
 *					each when it is continued; and all that again
 *	life crowd DISK N		one read in each of N threads; then they end, one after
 *					the other, while the file of their process is read
 *					again and again; prints how often, and the least and
 *					the most that it said to have been read
 *	life dirty DISK MIB [FROM]	writes through the page cache, from MiB FROM on, stops
 *					itself, and calls fsync() when it is continued
 *	life ring DISK N		N reads by workers of io_uring, all at once
 *	life aio DISK N			N reads, all at once, by the task alone
 *	life serve PORT			sends without an end by TCP, to one after the other
 *	life receive ADDRESS PORT	reads that until SIGTERM comes, and then what is left;
 *					prints how many bytes, and how many segments have
 *					come, and were sent, by TCP's count
 *	life show			nothing of all that
 *
 * At certain times, those of a process with a name each, it shows the figures of
 * memio: lines of /proc/PID/membw, with "WHEN process" in front, and those of each
 * task's file, with "WHEN thread". They are read only then, as reading has an
 * effect: it makes CPUs hand on what they have gathered.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/aio_abi.h>
#include <linux/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK		4096
#define BLOCKS		4096	/* of the disk that are read */
#define THREADS		64
#define CHUNK		65536
#define WINDOW		131072	/* of what is received: less than waits in any queue */

static int disk;
static long number;
static double until;
static int stop;
static long have_read;
static pthread_barrier_t all_done, may_end;
static char **args;

struct work {
	pthread_t thread;
	unsigned long good, bad;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *buffer(void)
{
	void *p = aligned_alloc(BLOCK, BLOCK);

	if (!p)
		errx(1, "no memory");
	return p;
}

static bool read_block(void *to, unsigned long i)
{
	return pread(disk, to, BLOCK, (off_t)(i % BLOCKS) * BLOCK) == BLOCK;
}

static void read_blocks(long n)
{
	void *to = buffer();
	long i;

	for (i = 0; i < n; i++)
		if (!read_block(to, i))
			err(1, "read");
	free(to);
}

static void show_file(const char *when, const char *what, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[1024];

	if (!f)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), f))
		printf("%s %s %s", when, what, line);
	if (ferror(f))
		err(1, "%s", path);
	fclose(f);
}

static void show(const char *when)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	char path[300];

	snprintf(path, sizeof(path), "/proc/%d/membw", getpid());
	show_file(when, "process", path);
	if (!d)
		err(1, "/proc/self/task");
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/membw", e->d_name);
		show_file(when, "thread", path);
	}
	closedir(d);
	fflush(stdout);
}

/* A thread that was joined may not be gone yet. */
static void wait_for_threads(int wanted)
{
	struct dirent *e;
	int n = 0;
	DIR *d;

	while (n != wanted) {
		usleep(1000);
		d = opendir("/proc/self/task");
		if (!d)
			err(1, "/proc/self/task");
		for (n = 0; (e = readdir(d));)
			n += e->d_name[0] != '.';
		closedir(d);
	}
}

static pthread_t start(void *(*what)(void *), void *with)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, what, with);
	if (errno)
		err(1, "pthread_create");
	return thread;
}

static void *read_and_end(void *unused)
{
	read_blocks(number);
	return unused;
}

static void *read_and_stay(void *unused)
{
	read_blocks(number);
	pthread_barrier_wait(&all_done);
	pthread_barrier_wait(&may_end);
	return unused;
}

static void threads(void)
{
	pthread_t early, late[2];
	int i;

	pthread_barrier_init(&all_done, NULL, 3);
	pthread_barrier_init(&may_end, NULL, 3);
	early = start(read_and_end, NULL);
	for (i = 0; i < 2; i++)
		late[i] = start(read_and_stay, NULL);
	read_blocks(number);
	pthread_join(early, NULL);
	pthread_barrier_wait(&all_done);
	wait_for_threads(3);
	show("three");
	pthread_barrier_wait(&may_end);
	for (i = 0; i < 2; i++)
		pthread_join(late[i], NULL);
	wait_for_threads(1);
	show("one");
}

static void become_show(void)
{
	execl("/proc/self/exe", "life", "show", NULL);
	err(1, "exec");
}

static void *read_and_exec(void *unused)
{
	read_blocks(number);
	become_show();
	return unused;
}

static void *outlive(void *unused)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", getpid());
	while (state != 'Z') {
		usleep(1000);
		f = fopen(path, "r");
		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			err(1, "%s", path);
		fclose(f);
	}
	read_blocks(number);
	show("orphan");
	exit(0);
	return unused;
}

static void exec_again(long times)
{
	char left[24];

	if (times <= 1) {
		show("end");
		return;
	}
	snprintf(left, sizeof(left), "%ld", times - 1);
	execl("/proc/self/exe", "life", "exec", args[2], args[3], left, NULL);
	err(1, "exec");
}

static void *read_once(void *to)
{
	return read_block(to, getpid()) ? to : NULL;
}

/* What a thread leaves behind is its process's, and goes with that. */
static bool read_by_thread(void *to)
{
	void *read;

	errno = pthread_join(start(read_once, to), &read);
	if (errno)
		err(1, "pthread_join");
	return read;
}

static unsigned long fork_each(unsigned long children)
{
	void *to = buffer();
	unsigned long n;
	int status;
	pid_t pid;

	for (n = 0; n < children; n++) {
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid)
			_exit(!(n % 2 ? read_by_thread(to) : read_block(to, n)));
		if (waitpid(pid, &status, 0) != pid || status)
			errx(1, "a child could not read");
	}
	return n;
}

static void forks(long children, long workers)
{
	unsigned long *n, sum = 0;
	int status = 0, failed = 0;
	long i;

	n = mmap(NULL, workers * sizeof(*n), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (n == MAP_FAILED)
		err(1, "mmap");
	for (i = 0; i < workers; i++) {
		switch (fork()) {
		case -1:
			err(1, "fork");
		case 0:
			n[i] = fork_each((children + i) / workers);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		failed |= status;
	if (failed)
		errx(1, "a worker failed");
	for (i = 0; i < workers; i++)
		sum += n[i];
	printf("%lu\n", sum);
}

static void on_term(int sig)
{
	__atomic_store_n(&stop, sig, __ATOMIC_RELAXED);
}

static void *read_until(void *arg)
{
	struct work *w = arg;
	void *to = buffer();

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) && !w->bad && now() < until) {
		if (read_block(to, w->good + w->bad))
			w->good++;
		else
			w->bad++;
	}
	pthread_barrier_wait(&all_done);
	pthread_barrier_wait(&may_end);
	return NULL;
}

/* So many threads, which meet where all are done, and where all may end */
static void begin_all(struct work *work, long n, void *(*what)(void *))
{
	long i;

	if (n > THREADS)
		errx(2, "at most %d threads", THREADS);
	pthread_barrier_init(&all_done, NULL, n + 1);
	pthread_barrier_init(&may_end, NULL, n + 1);
	for (i = 0; i < n; i++)
		work[i].thread = start(what, &work[i]);
}

/* When all are done: says what they have read, and lets them end. */
static void end_all(struct work *work, long n)
{
	unsigned long good = 0, bad = 0;
	long i;

	pthread_barrier_wait(&all_done);
	for (i = 0; i < n; i++) {
		good += work[i].good;
		bad += work[i].bad;
	}
	printf("done %lu %lu\n", good, bad);
	show("end");
	pthread_barrier_wait(&may_end);
	for (i = 0; i < n; i++)
		pthread_join(work[i].thread, NULL);
}

static void stream(long n, bool lasting)
{
	struct work work[THREADS] = {};

	signal(SIGTERM, on_term);
	begin_all(work, n, read_until);
	while (lasting && !__atomic_load_n(&stop, __ATOMIC_RELAXED))
		usleep(10000);
	end_all(work, n);
}

/* What it needs it has before it stops: where a page is missing, there is no memory for it. */
static void *read_twice(void *arg)
{
	struct work *w = arg;
	void *to = buffer();
	long i;
	int n;

	memset(to, 0, BLOCK);
	pthread_barrier_wait(&all_done);
	for (n = 0; n < 2; n++) {
		pthread_barrier_wait(&may_end);
		for (i = 0; i < number; i++) {
			if (read_block(to, i))
				w->good++;
			else
				w->bad++;
		}
		pthread_barrier_wait(&all_done);
	}
	pthread_barrier_wait(&may_end);
	return NULL;
}

static void waiting(long n)
{
	struct work work[THREADS] = {};
	int i;

	begin_all(work, n, read_twice);
	for (i = 0; i < 2; i++) {
		pthread_barrier_wait(&all_done);
		raise(SIGSTOP);
		pthread_barrier_wait(&may_end);
	}
	end_all(work, n);
}

static void *read_and_leave(void *unused)
{
	struct timespec wait = {};
	unsigned int seed = gettid();
	void *to = buffer();

	if (!read_block(to, seed))
		err(1, "read");
	free(to);
	__atomic_add_fetch(&have_read, 1, __ATOMIC_SEQ_CST);
	pthread_barrier_wait(&may_end);
	wait.tv_sec = rand_r(&seed) % 3;
	wait.tv_nsec = rand_r(&seed) % 1000000000;
	nanosleep(&wait, NULL);
	__atomic_sub_fetch(&have_read, 1, __ATOMIC_SEQ_CST);
	return unused;
}

/* io_from of a process's only device, by its file */
static unsigned long long io_from(const char *path)
{
	unsigned long long bytes = 0;
	char line[1024], *at;
	FILE *f = fopen(path, "r");

	if (!f)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, " io_from=");
		if (at && !strncmp(line, "total ", 6))
			bytes = strtoull(at + 9, NULL, 10);
	}
	if (ferror(f))
		err(1, "%s", path);
	fclose(f);
	return bytes;
}

static void crowd(long n)
{
	unsigned long long bytes, least = -1ULL, most = 0;
	unsigned long looks = 0;
	pthread_attr_t attr;
	pthread_t thread;
	char path[64];
	long i;

	snprintf(path, sizeof(path), "/proc/%d/membw", getpid());
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_barrier_init(&may_end, NULL, n + 1);
	for (i = 0; i < n; i++) {
		errno = pthread_create(&thread, &attr, read_and_leave, NULL);
		if (errno)
			err(1, "pthread_create");
	}
	while (__atomic_load_n(&have_read, __ATOMIC_SEQ_CST) != n)
		usleep(1000);
	pthread_barrier_wait(&may_end);
	do {
		bytes = io_from(path);
		if (bytes < least)
			least = bytes;
		if (bytes > most)
			most = bytes;
		looks++;
	} while (__atomic_load_n(&have_read, __ATOMIC_SEQ_CST));
	wait_for_threads(1);
	printf("looks %lu %llu %llu\n", looks, least, most);
	show("end");
}

static void dirty(long mib, long from)
{
	void *page = buffer();
	long i;

	memset(page, 1, BLOCK);
	if (lseek(disk, from << 20, SEEK_SET) < 0)
		err(1, "lseek");
	for (i = 0; i < mib * (1 << 20) / BLOCK; i++)
		if (write(disk, page, BLOCK) != BLOCK)
			err(1, "write");
	raise(SIGSTOP);
	if (fsync(disk))
		err(1, "fsync");
	show("end");
}

/* Every other block, so that none is put together with the next one. */
static void ring_reads(long n)
{
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	long i;

	errno = -io_uring_queue_init(n, &ring, 0);
	if (errno)
		err(1, "io_uring_queue_init");
	for (i = 0; i < n; i++) {
		sqe = io_uring_get_sqe(&ring);
		if (!sqe)
			errx(1, "no room in the ring");
		io_uring_prep_read(sqe, disk, buffer(), BLOCK, (off_t)2 * i * BLOCK);
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	}
	if (io_uring_submit(&ring) != n)
		errx(1, "io_uring_submit");
	for (i = 0; i < n; i++) {
		if (io_uring_wait_cqe(&ring, &cqe) || cqe->res != BLOCK)
			errx(1, "a read failed");
		io_uring_cqe_seen(&ring, cqe);
	}
	show("end");
}

/* The same blocks */
static void aio_reads(long n)
{
	struct iocb *cb = calloc(n, sizeof(*cb)), *submit;
	struct io_event *done = calloc(n, sizeof(*done));
	aio_context_t ctx = 0;
	long i;

	if (!cb || !done || syscall(SYS_io_setup, n, &ctx))
		err(1, "io_setup");
	for (i = 0; i < n; i++) {
		cb[i].aio_lio_opcode = IOCB_CMD_PREAD;
		cb[i].aio_fildes = disk;
		cb[i].aio_buf = (unsigned long)buffer();
		cb[i].aio_nbytes = BLOCK;
		cb[i].aio_offset = 2 * i * BLOCK;
		submit = &cb[i];
		if (syscall(SYS_io_submit, ctx, 1, &submit) != 1)
			err(1, "io_submit");
	}
	if (syscall(SYS_io_getevents, ctx, n, n, done, NULL) != n)
		err(1, "io_getevents");
	for (i = 0; i < n; i++)
		if (done[i].res != BLOCK)
			errx(1, "a read failed");
	show("end");
}

static int tcp_socket(const char *port, struct sockaddr_in *addr)
{
	int s = socket(AF_INET, SOCK_STREAM, 0);

	if (s < 0)
		err(1, "socket");
	*addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	return s;
}

static void serve(const char *port)
{
	static char data[CHUNK];
	struct sockaddr_in addr;
	int s = tcp_socket(port, &addr), one = 1, to;

	signal(SIGPIPE, SIG_IGN);
	if (setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(s, (struct sockaddr *)&addr, sizeof(addr)) || listen(s, 1))
		err(1, "port %s", port);
	for (;;) {
		to = accept(s, NULL, NULL);
		if (to < 0)
			err(1, "accept");
		while (write(to, data, sizeof(data)) > 0)
			;
		close(to);
	}
}

static void receive(const char *address, const char *port)
{
	static char data[CHUNK];
	struct sockaddr_in addr;
	int s = tcp_socket(port, &addr), window = WINDOW;
	struct pollfd more = { .fd = s, .events = POLLIN };
	unsigned long long bytes = 0;
	struct tcp_info info = {};
	socklen_t len = sizeof(info);
	ssize_t n;

	signal(SIGTERM, on_term);
	if (inet_pton(AF_INET, address, &addr.sin_addr) != 1)
		errx(2, "%s: no address", address);
	if (setsockopt(s, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)) ||
	    connect(s, (struct sockaddr *)&addr, sizeof(addr)))
		err(1, "%s", address);
	for (;;) {
		n = recv(s, data, sizeof(data), MSG_DONTWAIT);
		if (n > 0) {
			bytes += n;
			continue;
		}
		if (!n || errno != EAGAIN)
			err(1, "recv");
		if (__atomic_load_n(&stop, __ATOMIC_RELAXED))
			break;
		poll(&more, 1, 100);
	}
	if (getsockopt(s, IPPROTO_TCP, TCP_INFO, &info, &len))
		err(1, "TCP_INFO");
	printf("received %llu %u %u\n", bytes, info.tcpi_segs_in, info.tcpi_segs_out);
	show("end");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool cached = !strcmp(what, "dirty");
	long more = argc > 4 ? atol(argv[4]) : 0;

	args = argv;
	if (argc == 2 && !strcmp(what, "show")) {
		show("show");
		return 0;
	}
	if (argc == 3 && !strcmp(what, "serve"))
		serve(argv[2]);
	if (argc < 4)
		errx(2, "usage: see life.c");
	if (!strcmp(what, "receive")) {
		receive(argv[2], argv[3]);
		return 0;
	}
	disk = open(argv[2], cached ? O_RDWR : O_RDONLY | O_DIRECT);
	if (disk < 0)
		err(1, "%s", argv[2]);
	number = atol(argv[3]);
	until = now() + number;

	if (!strcmp(what, "read")) {
		read_blocks(number);
	} else if (!strcmp(what, "exec")) {
		read_blocks(number);
		exec_again(more);
	} else if (!strcmp(what, "threads")) {
		threads();
	} else if (!strcmp(what, "threadexec")) {
		read_blocks(number);
		start(read_and_exec, NULL);
		pause();
	} else if (!strcmp(what, "leader")) {
		read_blocks(number);
		start(outlive, NULL);
		pthread_exit(NULL);
	} else if (!strcmp(what, "forks")) {
		forks(number, more);
	} else if (!strcmp(what, "stream") || !strcmp(what, "lasting")) {
		stream(more, !strcmp(what, "lasting"));
	} else if (!strcmp(what, "waiting")) {
		waiting(more);
	} else if (!strcmp(what, "crowd")) {
		crowd(number);
	} else if (cached) {
		dirty(number, more);
	} else if (!strcmp(what, "ring")) {
		ring_reads(number);
	} else if (!strcmp(what, "aio")) {
		aio_reads(number);
	} else {
		errx(2, "%s: what?", what);
	}
	return 0;
}

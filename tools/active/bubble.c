// SPDX-License-Identifier: GPL-2.0
/*
 * The IO bubble
 *
 * A third resource that a neighbour may take: devices move data by DMA, which takes
 * bandwidth of the memory and, where devices write into the last cache, some of its
 * lines. The bubble takes it at a rate that is set, in one direction:
 *
 *	from	a disk or file is read (O_DIRECT): the device writes memory
 *	to	it is written, or UDP is sent to a host: the device reads memory
 *
 * Its memory is a ring of twice the last cache, so that no line is still there when its
 * turn comes again; several requests are on their way at once. It has a core of its own,
 * apart from the command's and the interferers'. With disks and files the CPU does little.
 * With UDP it does more: it loads each byte of the ring and stores it to the kernel's
 * buffers, which are what the device reads, and which the kernel uses again while they are in
 * the cache. So UDP takes bandwidth and cache by that core, too, and what the device
 * itself takes of memory is less than the rate. Loopback has no device.
 *
 * Pace: what may be moved until now is the rate times the time. Who is late by more than
 * a tenth of a second is not let off to catch up: a bubble that bursts is no rate.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bubble.h"
#include "command.h"
#include "target.h"

#define REQUEST		(256ul << 10)
#define DEPTH		8
#define PACKET		1400
#define PACKETS		16	/* between looks at the clock */
#define DISCARD		9
#define FILE_BYTES	(64ul << 20)

struct bubble {
	pthread_t thread;
	const struct active *a;
	double rate, begin, due;	/* due: bytes before this moment are not asked for */
	int fd, error;
	bool net;
	char *ring;
	uint64_t bytes, at, size, offset;
	aio_context_t aio;
	unsigned int inflight;
	volatile uint64_t moved;
	volatile bool stop;
};

json_t *bubble_name(const struct active *a)
{
	const char *with = a->bubble.host ? a->bubble.host :
			   a->bubble.file ? a->bubble.file : a->bubble.disk;
	const char *way = a->bubble.to ? "to" : "from";
	json_t *name, *text;

	if (!a->bubble.rates)
		return json_string("");
	name = text_json(with);
	text = json_sprintf("%s %s", way, json_string_value(name));
	json_decref(name);
	return text;
}

/* Until the next @bytes may be moved; false: stopped */
static bool pace(struct bubble *b, uint64_t bytes)
{
	b->due = wait_until(b->due, &b->stop) + bytes / b->rate * 1e9;
	return !b->stop;
}

/* What is done; waits for one of them, or not at all. False if it can't be told */
static bool reap(struct bubble *b, bool wait)
{
	struct timespec none = { 0 };
	struct io_event event[DEPTH];
	long n = syscall(SYS_io_getevents, b->aio, wait, DEPTH, event, wait ? NULL : &none), i;

	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0)
		b->error = errno;
	for (i = 0; i < n; i++) {
		b->inflight--;
		if (event[i].res < 0 || event[i].res != REQUEST)
			b->error = event[i].res < 0 ? -event[i].res : EIO;
		else
			b->moved += REQUEST;
	}
	return n >= 0;
}

static void move_disk(struct bubble *b)
{
	while (!b->error && pace(b, REQUEST)) {
		struct iocb request, *one = &request;

		if (b->offset + REQUEST > b->size)
			b->offset = 0;
		if (b->at + REQUEST > b->bytes)
			b->at = 0;
		request = (struct iocb) {
			.aio_lio_opcode = b->a->bubble.to ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
			.aio_fildes = b->fd,
			.aio_buf = (uintptr_t)(b->ring + b->at),
			.aio_nbytes = REQUEST,
			.aio_offset = b->offset,
		};
		b->at += REQUEST;
		b->offset += REQUEST;
		if (syscall(SYS_io_submit, b->aio, 1, &one) != 1) {
			b->error = errno;
			break;
		}
		b->inflight++;
		/* At a low rate the next is due long after all have been done. */
		reap(b, false);
		while (b->inflight >= DEPTH && reap(b, true))
			;
	}
	while (b->inflight && reap(b, true))
		;
}

static void move_net(struct bubble *b)
{
	while (!b->error && pace(b, PACKETS * PACKET)) {
		unsigned int i;

		for (i = 0; i < PACKETS; i++) {
			if (b->at + PACKET > b->bytes)
				b->at = 0;
			/* Nobody has to listen; what the queue has no room for is not sent. */
			if (send(b->fd, b->ring + b->at, PACKET, 0) == PACKET)
				b->moved += PACKET;
			else if (errno != ENOBUFS && errno != ECONNREFUSED && errno != EINTR)
				b->error = errno;
			b->at += PACKET;
		}
	}
}

static void *move(void *arg)
{
	struct bubble *b = arg;

	pin_to_cpu(b->a->at.io);
	b->begin = now_ns();
	b->due = b->begin;
	if (b->net)
		move_net(b);
	else
		move_disk(b);
	return NULL;
}

static int udp_to(const char *host)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(DISCARD) };
	int fd;

	/* That it is an address has been looked at. */
	inet_pton(AF_INET, host, &to.sin_addr);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	complain_errno("UDP to %s", host);
	if (fd >= 0)
		close(fd);
	return -1;
}

static void bubble_free(struct bubble *b)
{
	if (b->aio)
		syscall(SYS_io_destroy, b->aio);
	if (b->fd >= 0)
		close(b->fd);
	buffer_free(b->ring, b->bytes);
	free(b);
}

static bool open_it(struct bubble *b)
{
	const struct active *a = b->a;
	const struct target target = {
		.disk = a->bubble.disk, .file = a->bubble.file, .overwrite = a->bubble.overwrite,
		.write = a->bubble.to, .bytes = FILE_BYTES,
	};

	if (b->net) {
		b->fd = udp_to(a->bubble.host);
		return b->fd >= 0;
	}
	b->fd = target_open(&target, &b->size);
	if (b->fd < 0)
		return false;
	if (b->size < REQUEST) {
		complain("%s is too small", target.file ? target.file : target.disk);
		return false;
	}
	if (syscall(SYS_io_setup, DEPTH, &b->aio)) {
		complain_errno("asynchronous IO");
		return false;
	}
	return true;
}

bool bubble_try(const struct active *a)
{
	struct bubble b = { .a = a, .fd = -1, .net = a->bubble.host };
	const struct target target = {
		.disk = a->bubble.disk, .file = a->bubble.file, .overwrite = a->bubble.overwrite,
		.write = a->bubble.to,
	};

	if (b.net)
		b.fd = udp_to(a->bubble.host);
	else
		b.fd = target_open(&target, &b.size);
	if (b.fd < 0)
		return false;
	close(b.fd);
	return true;
}

bool bubble_stop(struct bubble *b, double *bytes_s, double *bytes)
{
	const double took = now_ns() - b->begin;
	int error;

	b->stop = true;
	pthread_join(b->thread, NULL);
	error = b->error;
	*bytes = b->moved;
	/* What was on its way is of that time, too. */
	*bytes_s = b->moved / took * 1e9;
	bubble_free(b);
	if (!error)
		return true;
	errno = error;
	complain_errno("DMA");
	return false;
}

struct bubble *bubble_start(const struct active *a, double rate)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct bubble *b = calloc(1, sizeof(*b));
	double none;

	if (!b)
		return NULL;
	b->a = a;
	b->rate = rate;
	b->fd = -1;
	b->net = a->bubble.host;
	b->bytes = (2 * a->at.bytes[LLC] + REQUEST - 1) / REQUEST * REQUEST;
	if (open_it(b))
		b->ring = buffer_new(b->bytes);
	if (b->ring && pthread_create(&b->thread, NULL, move, b)) {
		complain("no thread for DMA");
		buffer_free(b->ring, b->bytes);
		b->ring = NULL;
	}
	if (!b->ring) {
		bubble_free(b);
		return NULL;
	}
	while (!b->moved && !b->error && !interrupted)
		nanosleep(&pause, NULL);
	if (b->error || interrupted) {
		bubble_stop(b, &none, &none);
		return NULL;
	}
	return b;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The IO family: devices move a known number of bytes by DMA, and uncore events count
 * the cache lines
 *
 *	read small	from a disk (O_DIRECT) into 80 KiB, again and again: the device
 *			writes lines that the last-level cache has
 *	read large	into four times the cache: each line that comes pushes out one that
 *			a device wrote before
 *	write small	to the disk, from 80 KiB that this CPU has just written: the device
 *			reads lines that the cache has
 *	write large	from memory that has been pushed out of the cache long ago
 *	send		UDP to a host: the network device reads the packets
 *	echo		ICMP echo: it reads them, and writes the answers
 *
 * One unit of work is a line, 64 bytes, of payload. Whatever n is, it is moved by the same
 * number of requests or packets, larger ones for a larger n: descriptors, headers and
 * the lines in which something begins or ends are in the intercept, not in the slope.
 *
 * The events are the whole machine's: others at work on it show as a bad r2.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cit.h"
#include "command.h"
#include "target.h"

#define LINE		64ul
#define POINTS		5
/* A run is so many requests; of n, 16 KiB or 64 KiB each, 32 KiB or 128 KiB, ... */
#define REQUESTS	4
#define SMALL_STEP	16384ul
#define LARGE_STEP	65536ul
#define SMALL		(POINTS * SMALL_STEP)
#define LARGE_PAGE	(2ul << 20)
#define FILE_BYTES	(16ul << 20)
/* So many packets, with 256 bytes each, 512, ...: 1280 at the most, in one frame */
#define PACKETS		20
#define PACKET_STEP	256ul
#define PAYLOAD		(POINTS * PACKET_STEP)
#define DISCARD		9

enum { LARGE = 1, WRITE = 2, ECHO = 4 };

struct disk {
	int fd;
	char *buffer;
	uint64_t bytes, used, at;	/* of the buffer; of it that are moved, and where */
	uint64_t size, offset;		/* of the disk */
};

static void disk_teardown(struct probe *probe)
{
	struct disk *d = probe->data;

	if (!d)
		return;
	if (d->fd >= 0)
		close(d->fd);
	buffer_free(d->buffer, d->bytes);
	free(d);
	probe->data = NULL;
}

static bool disk_run(struct probe *probe, uint64_t lines)
{
	struct disk *d = probe->data;
	const uint64_t request = lines * LINE / REQUESTS;
	unsigned int i;

	for (i = 0; i < REQUESTS; i++) {
		ssize_t done;

		if (d->offset + request > d->size)
			d->offset = 0;
		if (d->at + request > d->used)
			d->at = 0;
		done = probe->arg & WRITE ?
			pwrite(d->fd, d->buffer + d->at, request, d->offset) :
			pread(d->fd, d->buffer + d->at, request, d->offset);
		if (done != (ssize_t)request) {
			complain_errno("%s: %zd of %zu bytes", probe->name, done, (size_t)request);
			return false;
		}
		d->offset += request;
		d->at += request;
	}
	return true;
}

static bool disk_setup(struct probe *probe, const struct cit *cit)
{
	const bool write = probe->arg & WRITE;
	const struct target target = {
		.disk = cit->disk, .file = cit->file, .overwrite = cit->overwrite, .write = write,
		.bytes = FILE_BYTES,
	};
	const uint64_t llc = cit->cache_bytes[CIT_LEVELS - 1];
	struct disk *d;

	probe->data = NULL;
	/* Not asked for; a disk is only written with leave to lose what is on it. */
	if ((!cit->file && !cit->disk) || (write && !cit->file && !cit->overwrite))
		return false;
	d = calloc(1, sizeof(*d));
	if (!d) {
		complain_errno("%s", probe->name);
		return false;
	}
	probe->data = d;
	d->fd = target_open(&target, &d->size);
	if (d->fd < 0)
		goto fail;
	d->used = !(probe->arg & LARGE) ? SMALL : write ? llc * 2 : llc * 4;
	/*
	 * What this CPU filled last is still in the cache; what is moved is not: of lines
	 * that it has in ways which devices don't fill, it keeps what they write.
	 * A small buffer is of one large page, if there are any: in how many pieces a request
	 * is told to the device depends on where pages lie.
	 */
	d->bytes = probe->arg & LARGE ? d->used + 2 * llc : LARGE_PAGE;
	d->buffer = buffer_new(d->bytes);
	if (!d->buffer)
		goto fail;
	if (d->size < POINTS * LARGE_STEP) {
		complain("%s is too small", cit->file ? cit->file : cit->disk);
		goto fail;
	}
	if (!write && probe->arg & LARGE) {
		uint64_t moved;

		/* So that a device has written all of it once */
		for (moved = 0; moved < d->used; moved += REQUESTS * LARGE_STEP)
			if (!disk_run(probe, REQUESTS * LARGE_STEP / LINE))
				goto fail;
	}
	return true;
fail:
	disk_teardown(probe);
	return false;
}

/* What the device is to find in the cache, this CPU writes. */
static void disk_prepare(struct probe *probe, uint64_t lines)
{
	struct disk *d = probe->data;

	if (probe->arg == WRITE)
		memset(d->buffer, lines, d->used);
}

/* ---- network ---- */

struct net {
	int fd;
	struct sockaddr_in to;
	uint16_t sequence;
};

static void net_teardown(struct probe *probe)
{
	struct net *n = probe->data;

	if (n)
		close(n->fd);
	free(n);
}

static bool net_setup(struct probe *probe, const struct cit *cit)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const int small = 4096;
	struct net *n;
	int fd;

	probe->data = NULL;
	if (!cit->host)
		return false;
	if (inet_pton(AF_INET, cit->host, &to.sin_addr) != 1) {
		complain("'%s' is no IPv4 address", cit->host);
		return false;
	}
	fd = probe->arg & ECHO ? socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP) :
		socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		complain_errno("%s to %s", probe->name, cit->host);
		return false;
	}
	if (!(probe->arg & ECHO))
		to.sin_port = htons(DISCARD);
	/* Two frames at a time: hardly any is still on its way when counting stops. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	n = calloc(1, sizeof(*n));
	if (!n) {
		complain_errno("%s", probe->name);
		close(fd);
		return false;
	}
	n->fd = fd;
	n->to = to;
	probe->data = n;
	return true;
}

static uint16_t checksum(const void *data, size_t bytes)
{
	const uint16_t *p = data;
	uint32_t sum = 0;

	for (; bytes > 1; bytes -= 2)
		sum += *p++;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* One packet there, and, of an echo, back */
static bool echo(struct net *n, size_t payload)
{
	static char packet[PAYLOAD + 8] __attribute__((aligned(8)));
	static char answer[2048] __attribute__((aligned(8)));
	struct icmphdr *h = (struct icmphdr *)packet;
	struct pollfd p = { .fd = n->fd, .events = POLLIN };
	const ssize_t bytes = sizeof(*h) + payload;

	memset(h, 0, sizeof(*h));
	h->type = ICMP_ECHO;
	h->un.echo.id = htons(getpid());
	h->un.echo.sequence = htons(++n->sequence);
	h->checksum = checksum(packet, bytes);
	if (sendto(n->fd, packet, bytes, 0, (struct sockaddr *)&n->to, sizeof(n->to)) != bytes)
		return false;
	for (;;) {
		const struct iphdr *ip = (struct iphdr *)answer;
		const struct icmphdr *back;

		if (poll(&p, 1, 1000) != 1) {
			errno = ETIMEDOUT;
			return false;
		}
		if (recv(n->fd, answer, sizeof(answer), 0) < bytes)
			continue;
		back = (struct icmphdr *)(answer + 4 * ip->ihl);
		if (back->type == ICMP_ECHOREPLY && back->un.echo.id == h->un.echo.id &&
		    back->un.echo.sequence == h->un.echo.sequence)
			return true;
	}
}

/*
 * Until the device has taken a packet: the kernel keeps it until then. How often the
 * device looks for more in its ring, and how many are on their way when counting stops,
 * would depend on their size.
 */
static void drain(struct net *n)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	int tries, left = 1;

	for (tries = 0; tries < 10000 && left > 0; tries++) {
		if (ioctl(n->fd, SIOCOUTQ, &left))
			break;
		nanosleep(&pause, NULL);
	}
}

static bool net_run(struct probe *probe, uint64_t lines)
{
	static const char payload[PAYLOAD];
	const ssize_t bytes = lines * LINE / PACKETS;
	struct net *n = probe->data;
	int i;

	for (i = 0; i < PACKETS; i++) {
		/* Nobody listens there, and need not: the socket is not connected. */
		const bool good = probe->arg & ECHO ? echo(n, bytes) :
			sendto(n->fd, payload, bytes, 0, (struct sockaddr *)&n->to,
			       sizeof(n->to)) == bytes;

		if (!good) {
			complain_errno("%s", probe->name);
			return false;
		}
		if (!(probe->arg & ECHO))
			drain(n);
	}
	return true;
}

#define DISK(flags) .setup = disk_setup, .prepare = disk_prepare, .run = disk_run, \
	.teardown = disk_teardown, .arg = (flags), .points = POINTS, \
	.step = REQUESTS * ((flags) & LARGE ? LARGE_STEP : SMALL_STEP) / LINE
#define NET(flags) .setup = net_setup, .run = net_run, .teardown = net_teardown, \
	.arg = (flags), .points = POINTS, .step = PACKETS * PACKET_STEP / LINE

static struct probe probe[] = {
	{ "read small", "from a disk into 80 KiB", DISK(0) },
	{ "read large", "from a disk into four times the cache", DISK(LARGE) },
	{ "write small", "to a disk from 80 KiB that are in the cache", DISK(WRITE) },
	{ "write large", "to a disk from memory", DISK(WRITE | LARGE) },
	{ "send", "UDP to a host", NET(0) },
	{ "echo", "ICMP echo", NET(ECHO) },
};

#define X CIT_ANY
static const struct category category[] = {
	{ "IOW", "lines that devices write", { 1, 1, 0, 0, 0, 1 } },
	{ "IOWM", "lines that devices write and the cache has not; write-backs for them",
	  { 0, 1, 0, 0, X, X } },
	{ "IOR", "lines that devices read", { 0, 0, 1, 1, 1, 1 } },
	{ "IORM", "lines that devices read from memory", { 0, 0, 0, 1, X, X } },
	{ "IO", "lines that devices read or write", { 1, 1, 1, 1, 1, 2 } },
	{ "IOM", "lines that devices read or write and the cache has not", { 0, 1, 0, 1, X, X } },
	{ "IO+V", "lines that devices read or write, and what is pushed out for them",
	  { 1, 2, 1, 1, X, X } },
	{ "-", "nothing of this", { 0 } },
};

const struct family io_family = {
	.name = "io",
	.unit = "line",
	.levels = CIT_LEVELS,
	.probe = probe,
	.probes = sizeof(probe) / sizeof(*probe),
	.category = category,
	.categories = sizeof(category) / sizeof(*category),
};

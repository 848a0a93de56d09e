// SPDX-License-Identifier: GPL-2.0
/*
 * Whom the network charges, as far as it can be seen from one side
 *
 * Loopback has no DMA master: nobody pays for it. For the rest MEMIO_PEER has to name
 * an IPv4 address behind a network device. It gets datagrams, which nobody there has to
 * want, and pings, which its kernel answers. How many bytes that takes is known: payload
 * and headers, which the interface counts, too. memio adds descriptors.
 *
 * Groups: p makes sockets and looks on, c uses them, d is another party, idle has
 * nothing to do with the network.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../cgroup/cgroup_util.h"
#include "memio_util.h"

#define COUNT		400	/* datagrams, and pings */
#define PAYLOAD		1000	/* bytes in each: no fragments */
#define HEADERS		(14 + 20 + 8)
#define FRAME		(PAYLOAD + HEADERS)
#define DESCRIPTORS	64	/* what a frame in one piece takes at most */
#define PORT		9	/* discard */

/* What others, and the kernel by itself, may do to a group's figures: nothing much. */
#define FEW		4096

/* ---- loopback ---- */

FIXTURE(loopback) {
	struct memio m;
	char *a, *b;
	struct sockaddr_in addr;
	int fd;
};

static int lo_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	ret = fd < 0 || ioctl(fd, SIOCGIFFLAGS, &ifr);
	ifr.ifr_flags |= IFF_UP;
	ret = ret || ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
	return ret;
}

FIXTURE_SETUP(loopback)
{
	const char *why = memio_begin(&self->m);

	if (why)
		SKIP(return, "%s", why);
	self->a = memio_group(&self->m, "a");
	self->b = memio_group(&self->m, "b");
	ASSERT_TRUE(self->a && self->b);
	/* Its own, or else that of the machine */
	unshare(CLONE_NEWNET);
	ASSERT_EQ(0, lo_up());
	self->addr = (struct sockaddr_in) {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

FIXTURE_TEARDOWN(loopback)
{
	memio_end(&self->m);
}

/* No bytes, and not even a line for a device */
#define EXPECT_NO_DEVICE(group)						\
do {									\
	struct memio_file *_f = malloc(sizeof(*_f));			\
	const char *_group = (group);					\
	char _path[PATH_MAX];						\
									\
	ASSERT_NE(NULL, _f);						\
	set_path(_path, "%s/memio.stat", _group);			\
	EXPECT_EQ(0, memio_read(_path, MEMIO_STAT, _f)) TH_LOG("%s", _f->why); \
	EXPECT_EQ(0, memio_check(_f, SUMS)) TH_LOG("%s", _f->why);	\
	EXPECT_EQ(memio_line(_f, "cpu") ? 2 : 1, _f->lines)		\
		TH_LOG("%s has %s", _group, _f->line[0].key);		\
	free(_f);							\
} while (0)

static bool move_stream(int fd, long long bytes, bool send)
{
	static char buf[64 * KIB];
	ssize_t n;

	for (; bytes > 0; bytes -= n) {
		n = send ? write(fd, buf, sizeof(buf)) : read(fd, buf, sizeof(buf));
		if (n <= 0)
			return false;
	}
	return true;
}

static int tcp_client(const char *group, void *arg)
{
	struct sockaddr_in *addr = arg;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return connect(fd, (void *)addr, sizeof(*addr)) || !move_stream(fd, SIZE, true) ||
	       !move_stream(fd, SIZE, false);
}

static int accept_and_fork(const char *group, void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL), status;
	pid_t pid = fork();

	if (!pid)
		_exit(fd < 0 || !move_stream(fd, SIZE, false) || !move_stream(fd, SIZE, true));
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

MEMIO_TEST(loopback, accept_and_fork)
{
	socklen_t len = sizeof(self->addr);
	int status;
	pid_t pid;

	self->fd = socket(AF_INET, SOCK_STREAM, 0);
	ASSERT_EQ(0, bind(self->fd, (void *)&self->addr, len));
	ASSERT_EQ(0, listen(self->fd, 1));
	ASSERT_EQ(0, getsockname(self->fd, (void *)&self->addr, &len));
	pid = cg_run_nowait(self->b, tcp_client, &self->addr);
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, cg_run(self->a, accept_and_fork, &self->fd));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_NO_DEVICE(self->a);
	EXPECT_NO_DEVICE(self->b);
	EXPECT_NO_DEVICE(self->m.base);
}

struct datagrams {
	int fd, count;
	struct sockaddr_in to;
};

static int send_datagrams(const char *group, void *arg)
{
	const struct datagrams *d = arg;
	char buf[PAYLOAD] = {};
	int i = 0;

	while (i < d->count) {
		if (sendto(d->fd, buf, PAYLOAD, 0, (void *)&d->to, sizeof(d->to)) == PAYLOAD)
			i++;
		else if (errno != ECONNREFUSED && errno != ENOBUFS)
			return 1;
		/* Not more at once than interfaces queue. */
		if (!(i % 50))
			usleep(1000);
	}
	return 0;
}

static int receive_datagrams(const char *group, void *arg)
{
	const struct datagrams *d = arg;
	char buf[2 * PAYLOAD];
	int i;

	for (i = 0; i < d->count; i++)
		if (recv(d->fd, buf, sizeof(buf), MSG_DONTWAIT) < PAYLOAD)
			return 1;
	return 0;
}

MEMIO_TEST(loopback, datagrams)
{
	socklen_t len = sizeof(self->addr);
	struct datagrams d = { .count = 20 };

	d.fd = socket(AF_INET, SOCK_DGRAM, 0);
	ASSERT_EQ(0, bind(d.fd, (void *)&self->addr, len));
	ASSERT_EQ(0, getsockname(d.fd, (void *)&d.to, &len));
	EXPECT_EQ(0, cg_run(self->a, send_datagrams, &d));
	EXPECT_EQ(0, cg_run(self->b, receive_datagrams, &d));
	EXPECT_NO_DEVICE(self->a);
	EXPECT_NO_DEVICE(self->b);
}

/* ---- the peer ---- */

FIXTURE(peer) {
	struct memio m;
	char *p, *c, *d, *idle;
	struct datagrams send;
	char interface[IF_NAMESIZE];
	char master[64];		/* or "total" */
	char ping_range[64];
	bool answers;
};

#define PING_RANGE "/proc/sys/net/ipv4/ping_group_range"

/* The interface that datagrams to the peer leave by */
static bool find_interface(const struct sockaddr_in *to, char *name)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in from, *addr;
	socklen_t len = sizeof(from);
	struct ifaddrs *all, *i;
	bool found = false;

	if (!connect(fd, (void *)to, sizeof(*to)) && !getsockname(fd, (void *)&from, &len) &&
	    !getifaddrs(&all)) {
		for (i = all; i && !found; i = i->ifa_next) {
			addr = (void *)i->ifa_addr;
			if (!addr || addr->sin_family != AF_INET ||
			    addr->sin_addr.s_addr != from.sin_addr.s_addr)
				continue;
			snprintf(name, IF_NAMESIZE, "%s", i->ifa_name);
			found = true;
		}
		freeifaddrs(all);
	}
	close(fd);
	return found;
}

static unsigned long long sent_by(const char *interface)
{
	char path[PATH_MAX], text[32];

	set_path(path, "/sys/class/net/%s/statistics/tx_bytes", interface);
	return read_file(path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0;
}

/* A ping socket: its answers are nobody else's. */
static int ping_socket(void)
{
	struct timeval second = { .tv_sec = 1 };
	int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), size = 8 * MIB;

	if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)) ||
			setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool send_ping(int fd, const struct sockaddr_in *to, int i)
{
	char buf[sizeof(struct icmphdr) + PAYLOAD] = {};
	struct icmphdr *icmp = (void *)buf;

	icmp->type = ICMP_ECHO;
	icmp->un.echo.sequence = htons(i);
	return sendto(fd, buf, sizeof(buf), 0, (void *)to, sizeof(*to)) == sizeof(buf);
}

static bool receive_ping(int fd, int flags)
{
	char buf[2 * PAYLOAD];

	return recv(fd, buf, sizeof(buf), flags) == sizeof(struct icmphdr) + PAYLOAD;
}

FIXTURE_SETUP(peer)
{
	const char *peer = getenv("MEMIO_PEER"), *why;
	char path[PATH_MAX];
	int fd, i;

	if (!peer || !*peer)
		SKIP(return, "MEMIO_PEER= names no address behind a network device");
	self->send.to.sin_family = AF_INET;
	self->send.to.sin_port = htons(PORT);
	ASSERT_EQ(1, inet_pton(AF_INET, peer, &self->send.to.sin_addr));
	self->send.count = COUNT;
	self->send.fd = socket(AF_INET, SOCK_DGRAM, 0);
	ASSERT_LE(0, self->send.fd);
	if (!find_interface(&self->send.to, self->interface))
		SKIP(return, "no interface leads to %s", peer);
	if (!strcmp(self->interface, "lo"))
		SKIP(return, "%s is this machine itself", peer);
	why = memio_begin(&self->m);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_LT(0, read_file(PING_RANGE, self->ping_range, sizeof(self->ping_range)));
	ASSERT_EQ(0, write_file(PING_RANGE, "0 0"));

	/* By then there is somebody who knows the address, if anybody is there. */
	fd = ping_socket();
	ASSERT_LE(0, fd);
	for (i = 0; i < 10 && !self->answers; i++)
		self->answers = send_ping(fd, &self->send.to, i) && receive_ping(fd, 0);
	close(fd);

	set_path(path, "/sys/class/net/%s", self->interface);
	/* It may be a bridge or a bond: then it is the one below, and so all there is. */
	if (!dma_master(path, self->master, sizeof(self->master)))
		snprintf(self->master, sizeof(self->master), "total");
	self->p = memio_group(&self->m, "p");
	self->c = memio_group(&self->m, "c");
	self->d = memio_group(&self->m, "d");
	self->idle = memio_group(&self->m, "idle");
	ASSERT_TRUE(self->p && self->c && self->d && self->idle);
}

FIXTURE_TEARDOWN(peer)
{
	const char *groups[4] = { self->p, self->c, self->d, self->idle };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		struct moved here = group_moved(groups[i], self->master);
		struct moved all = group_moved(groups[i], "total");

		/* No other device has anything to do with it. */
		EXPECT_EQ(here.to, all.to);
		EXPECT_EQ(here.from, all.from);
		EXPECT_EQ(0, group_no_slot(groups[i]));
	}
	EXPECT_EQ(0, write_file(PING_RANGE, self->ping_range));
	memio_end(&self->m);
}

struct sent {
	const char *group, *device;
	long long bytes;
};

static bool has_sent(void *arg)
{
	struct sent *s = arg;

	return group_moved(s->group, s->device).to >= s->bytes;
}

/* @frames were sent for the group, and nothing else. What waits for the device takes time. */
#define EXPECT_SENT(frames, grp)					\
do {									\
	long long _n = (frames);					\
	struct sent _s = { (grp), self->master, _n * FRAME };		\
	struct moved _m;						\
									\
	EXPECT_TRUE(wait_for(has_sent, &_s, 30));			\
	_m = group_moved(_s.group, self->master);			\
	EXPECT_LE(_n * FRAME, _m.to);					\
	EXPECT_GE(_n * (FRAME + DESCRIPTORS) + FEW, _m.to);		\
} while (0)

#define EXPECT_NOT_RECEIVED(frames, grp)				\
	EXPECT_GE((frames) * DESCRIPTORS + FEW, group_moved(grp, self->master).from)

#define EXPECT_IDLE(grp)						\
do {									\
	struct moved _m = group_moved(grp, "total");			\
									\
	EXPECT_EQ(0, _m.to);						\
	EXPECT_EQ(0, _m.from);						\
} while (0)

MEMIO_TEST(peer, sender_pays)
{
	unsigned long long before = sent_by(self->interface);

	ASSERT_EQ(0, cg_run(self->c, send_datagrams, &self->send));
	EXPECT_SENT(COUNT, self->c);
	EXPECT_NOT_RECEIVED(COUNT, self->c);
	EXPECT_IDLE(self->d);
	EXPECT_LE(COUNT * FRAME, (long long)(sent_by(self->interface) - before));
}

struct hand_over {
	struct datagrams send;
	const char *to;
	int own;			/* how many the first one sends itself */
};

/* Makes a socket; who gets it uses it. */
static int make_and_hand_over(const char *group, void *arg)
{
	struct hand_over *h = arg;

	h->send.fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (h->send.fd < 0 || connect(h->send.fd, (void *)&h->send.to, sizeof(h->send.to)))
		return 1;
	if (cg_run(h->to, send_datagrams, &h->send))
		return 2;
	h->send.count = h->own;
	return send_datagrams(group, &h->send);
}

MEMIO_TEST(peer, trap5_made_by_another)
{
	struct hand_over h = { .send = self->send, .to = self->c };

	ASSERT_EQ(0, cg_run(self->p, make_and_hand_over, &h));
	EXPECT_SENT(COUNT, self->c);
	EXPECT_IDLE(self->p);
}

MEMIO_TEST(peer, trap5_shared)
{
	struct hand_over h = { .send = self->send, .to = self->c, .own = COUNT / 4 };

	ASSERT_EQ(0, cg_run(self->p, make_and_hand_over, &h));
	EXPECT_SENT(COUNT, self->c);
	EXPECT_SENT(COUNT / 4, self->p);
}

struct pings {
	struct sockaddr_in to;
	int fd, count;
};

static int ask(const char *group, void *arg)
{
	const struct pings *p = arg;
	int i;

	for (i = 0; i < p->count; i++) {
		if (!send_ping(p->fd, &p->to, i))
			return 1;
		if (!(i % 50))
			usleep(1000);
	}
	return 0;
}

static int peek(const char *group, void *arg)
{
	const struct pings *p = arg;
	int i;

	for (i = 0; i < 10; i++)
		if (!receive_ping(p->fd, MSG_PEEK))
			return 1;
	return 0;
}

/* Returns how many in a hundred did not come. */
static int take(const char *group, void *arg)
{
	const struct pings *p = arg;
	int n = 0;

	while (n < p->count && receive_ping(p->fd, 0))
		n++;
	return (p->count - n) * 100 / p->count;
}

/* One after the other; returns how many in a hundred did not come. */
static int ask_and_take(const char *group, void *arg)
{
	const struct pings *p = arg;
	int i, n = 0;

	for (i = 0; i < p->count; i++)
		n += send_ping(p->fd, &p->to, i) && receive_ping(p->fd, 0);
	return (p->count - n) * 100 / p->count;
}

/* Who reads the answers pays for them, not who has asked or looked at them before. */
MEMIO_TEST(peer, trap5_reader_pays)
{
	struct pings p = { .to = self->send.to, .count = COUNT };
	long long from;

	if (!self->answers)
		SKIP(return, "the peer does not answer pings");
	p.fd = ping_socket();
	ASSERT_LE(0, p.fd);
	ASSERT_EQ(0, cg_run(self->c, ask, &p));
	ASSERT_EQ(0, cg_run(self->p, peek, &p));
	EXPECT_IDLE(self->p);
	/* On the way some may be lost. */
	EXPECT_GE(10, cg_run(self->d, take, &p));
	EXPECT_SENT(COUNT, self->c);
	EXPECT_NOT_RECEIVED(COUNT, self->c);
	EXPECT_IDLE(self->p);
	from = group_moved(self->d, self->master).from;
	EXPECT_LE(COUNT * 9 / 10 * FRAME, from);
	EXPECT_GE(COUNT * (FRAME + DESCRIPTORS) + FEW, from);
	EXPECT_EQ(0, group_moved(self->d, self->master).to);
}

/* ---- copies ---- */

struct tap {
	int interface, ready;
	unsigned long sent, received;	/* frames of our size */
};

static struct tap *tap;

static int listen_in(const char *group, void *unused)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = tap->interface,
	};
	struct sockaddr_ll from;
	int fd, size = 8 * MIB;
	char buf[2 * PAYLOAD];
	socklen_t len;

	fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(fd, (void *)&addr, sizeof(addr)))
		return 1;
	__atomic_store_n(&tap->ready, 1, __ATOMIC_RELEASE);
	for (;;) {
		len = sizeof(from);
		if (recvfrom(fd, buf, sizeof(buf), 0, (void *)&from, &len) != FRAME)
			continue;
		if (from.sll_pkttype == PACKET_OUTGOING)
			__atomic_add_fetch(&tap->sent, 1, __ATOMIC_RELAXED);
		else
			__atomic_add_fetch(&tap->received, 1, __ATOMIC_RELAXED);
	}
}

static bool tap_is_ready(void *unused)
{
	return __atomic_load_n(&tap->ready, __ATOMIC_ACQUIRE);
}

static bool tap_has_all(void *unused)
{
	return __atomic_load_n(&tap->sent, __ATOMIC_RELAXED) >= 2 * COUNT &&
	       __atomic_load_n(&tap->received, __ATOMIC_RELAXED) >= COUNT * 9 / 10;
}

/* Sends, asks and takes the answers */
static int all_of_it(const char *group, void *arg)
{
	struct pings p = *(struct pings *)arg;
	struct datagrams d = { .to = p.to, .count = p.count };

	d.fd = socket(AF_INET, SOCK_DGRAM, 0);
	p.fd = ping_socket();
	return send_datagrams(group, &d) ? 100 : ask_and_take(group, &p);
}

/* Somebody listens in: who sends and reads pays what it pays alone, who listens nothing. */
MEMIO_TEST(peer, trap6_tap)
{
	struct pings p = { .to = self->send.to, .count = COUNT };
	struct moved alone, tapped;
	pid_t pid;

	if (!self->answers)
		SKIP(return, "the peer does not answer pings");
	ASSERT_GE(10, cg_run(self->c, all_of_it, &p));
	EXPECT_SENT(2 * COUNT, self->c);
	alone = group_moved(self->c, self->master);

	tap = self->m.shared;
	tap->interface = if_nametoindex(self->interface);
	pid = cg_run_nowait(self->d, listen_in, NULL);
	ASSERT_LT(0, pid);
	if (!wait_for(tap_is_ready, NULL, 30)) {
		kill(pid, SIGKILL);
		SKIP(return, "there are no packet sockets");
	}
	ASSERT_GE(10, cg_run(self->c, all_of_it, &p));
	EXPECT_TRUE(wait_for(tap_has_all, NULL, 60)) TH_LOG("%lu, %lu", tap->sent, tap->received);
	EXPECT_SENT(4 * COUNT, self->c);
	tapped = group_moved(self->c, self->master);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	/* A tenth of the answers may be lost, each time. */
	EXPECT_GE(FEW, llabs(tapped.to - 2 * alone.to));
	EXPECT_GE(COUNT / 10 * (FRAME + DESCRIPTORS) + FEW, llabs(tapped.from - 2 * alone.from));
	EXPECT_EQ(0, group_moved(self->d, self->master).to);
	/* Nobody else may want what a switch says to the machine. */
	EXPECT_GE(FEW, group_moved(self->d, self->master).from);
}

/* ---- interrupts ---- */

static int spin(const char *group, void *stop)
{
	cpu_set_t set;
	long cpu, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int i;

	for (cpu = 1; cpu < cpus; cpu++)
		if (!fork())
			break;
	CPU_ZERO(&set);
	/* The last one that is left is the parent's. */
	CPU_SET(cpu % cpus, &set);
	sched_setaffinity(0, sizeof(set), &set);
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
		for (i = 0; i < 1000; i++)
			__asm__ volatile("" : : : "memory");
	while (wait(NULL) > 0)
		;
	return 0;
}

/*
 * Connections to a port where nobody listens: of each there is a packet in both directions,
 * and what comes back is dealt with in an interrupt. Returns how many in a hundred were
 * not refused.
 */
static int be_refused(const char *group, void *arg)
{
	struct timeval second = { .tv_sec = 1 };
	const struct pings *p = arg;
	int i, fd, n = 0;

	for (i = 0; i < p->count && n == i; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		/* Of connect(), too */
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
		n += connect(fd, (void *)&p->to, sizeof(p->to)) && errno == ECONNREFUSED;
		close(fd);
	}
	return (p->count - n) * 100 / p->count;
}

/* Who happens to run when packets come and go has nothing to do with them. */
MEMIO_TEST(peer, trap8_bystander)
{
	struct pings p = { .to = self->send.to, .count = COUNT };
	int *stop = self->m.shared, status;
	pid_t pid;

	pid = cg_run_nowait(self->idle, spin, stop);
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, cg_run(self->c, send_datagrams, &self->send));
	EXPECT_SENT(COUNT, self->c);
	if (self->answers) {
		p.fd = ping_socket();
		EXPECT_GE(10, cg_run(self->d, ask_and_take, &p));
		EXPECT_LE(COUNT * 9 / 10 * FRAME, group_moved(self->d, self->master).from);
	}
	if (!cg_run(self->p, be_refused, &p)) {
		/* Headers of Ethernet, IP and TCP, without and with options */
		EXPECT_LE(COUNT * 54, group_moved(self->p, self->master).from);
		EXPECT_GE(COUNT * (80 + 2 * DESCRIPTORS), group_moved(self->p, self->master).from);
		EXPECT_LE(COUNT * 54, group_moved(self->p, self->master).to);
	} else {
		TH_LOG("the peer does not refuse connections");
	}
	*stop = 1;
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_IDLE(self->idle);
}

TEST_HARNESS_MAIN

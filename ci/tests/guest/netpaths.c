// SPDX-License-Identifier: GPL-2.0
/*
 * Both ends of the network's paths, for ci/tests/memio-net-paths
 *
 *	netpaths COMMAND [ARG...]
 *
 * In the peer's namespace runs `peer`, which does what it is asked for. In the guest
 * run all others. Tasks put themselves into groups below /sys/fs/cgroup/net: `ask` is
 * who asks the peer, `p`, `c` and `d` are those a case is about.
 *
 * tcp HOST WAY HOW HAND BYTES sends to or receives from the peer so many bytes. HAND
 * says how the task in `c` that does so comes by its socket: `self` connects it,
 * `fork` has it from its parent in `p` that has connected it, `asked` from one that has
 * asked for the bytes as well, `accept` from one that has accepted it, `scm` gets it in
 * a message from a task in `p`. udp HOST WAY HOW COUNT
 * SIZE is about datagrams. HOW is the way that they are sent or received; the table of
 * commands has those of the others. Prints `KEY VALUE` lines: what it moved, by its own
 * count.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <liburing.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/mptcp.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/vhost.h>
#include <linux/virtio_ring.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PORT		7000		/* the peer's: TCP */
#define PORT_MPTCP	7001
#define PORT_ASK	7002		/* UDP */
#define PORT_SINK	7003
#define PORT_HERE	9000		/* the guest's */
#define REQUEST		64		/* bytes */
#define CHUNK		(64 << 10)
#define ETHERTYPE	0x88b5		/* for local experiments */
#define PROTOCOL	253		/* likewise */
#define VLAN		5
#define OTHER		"\x02\0\0\0\0\1"	/* a hardware address of nobody's */
#define GROUP		"239.1.1.1"
#define GROUP6		"ff15::1"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#ifndef UDP_SEGMENT
#define UDP_SEGMENT	103
#endif
#ifndef UDP_GRO
#define UDP_GRO		104
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL	69
#endif
#ifndef IORING_SEND_ZC_REPORT_USAGE
#define IORING_SEND_ZC_REPORT_USAGE	(1U << 3)
#define IORING_NOTIF_USAGE_ZC_COPIED	(1U << 31)
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP	284
#endif

static char buffer[CHUNK];
static volatile sig_atomic_t ended;

static void on_term(int sig)
{
	(void)sig;
	ended = 1;
}

static void until_term(void)
{
	struct sigaction action = { .sa_handler = on_term };

	sigaction(SIGTERM, &action, NULL);
}

/* ---- groups and processes ---- */

static void enter(const char *group)
{
	char name[128];
	int fd;

	snprintf(name, sizeof(name), "/sys/fs/cgroup/net/%s/cgroup.procs", group);
	fd = open(name, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1)
		err(1, "%s", name);
	close(fd);
}

/*
 * Goes on in `c`. A group below `p` is then removed: what is under way for it is `p`'s from
 * there on.
 */
static void leave(const char *group)
{
	char name[128];

	enter("c");
	snprintf(name, sizeof(name), "/sys/fs/cgroup/net/%s", group);
	if (strchr(group, '/') && rmdir(name))
		err(1, "%s", name);
}

static pid_t start(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void finish(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a child failed: %x", status);
}

/* Goes on as a task in another group, while its parent, without @fd, waits for it. */
static void child_in(const char *group, int fd)
{
	pid_t pid = start();

	if (!pid) {
		enter(group);
		return;
	}
	close(fd);
	finish(pid);
	exit(0);
}

/* ---- addresses and sockets ---- */

static socklen_t address(const char *host, int port, struct sockaddr_storage *to)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *found;
	char service[8];
	socklen_t length;

	snprintf(service, sizeof(service), "%d", port);
	hints.ai_socktype = SOCK_DGRAM;
	if (getaddrinfo(host, service, &hints, &found))
		errx(1, "%s: no address", host);
	length = found->ai_addrlen;
	memcpy(to, found->ai_addr, length);
	freeaddrinfo(found);
	return length;
}

static int new_socket(int family, int type, int protocol)
{
	int fd = socket(family, type, protocol);

	if (fd < 0)
		err(1, "socket %d %d %d", family, type, protocol);
	return fd;
}

static void set(int fd, int level, int name, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		err(1, "setsockopt %d %d", level, name);
}

/* Who waits in it polls the device for a while, which need not interrupt meanwhile. */
static void poll_device(int fd)
{
	set(fd, SOL_SOCKET, SO_BUSY_POLL, 20000);
	set(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, 1);
}

static void set_timeout(int fd, int ms)
{
	struct timeval t = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)))
		err(1, "SO_RCVTIMEO");
}

static int connect_to(const char *host, int port, int protocol)
{
	struct sockaddr_storage to;
	socklen_t length = address(host, port, &to);
	int fd;

	/* Where allocations are made to fail, it may need more than one. */
	for (int i = 0; i < 20; i++) {
		fd = new_socket(to.ss_family, SOCK_STREAM, protocol);
		if (!connect(fd, (struct sockaddr *)&to, length))
			return fd;
		if (errno != ENOMEM && errno != ENOBUFS)
			break;
		close(fd);
	}
	err(1, "connect to %s", host);
}

/* For both families. -1: there is no such protocol. */
static int listen_on(int port, int protocol, bool reuse)
{
	struct sockaddr_in6 here = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int fd = socket(AF_INET6, SOCK_STREAM, protocol);

	if (fd < 0)
		return -1;
	set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (reuse)
		set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (bind(fd, (struct sockaddr *)&here, sizeof(here)) || listen(fd, 64))
		err(1, "port %d", port);
	return fd;
}

static int datagrams_on(int family, int port, bool reuse)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	bool is_six = family == AF_INET6;
	int fd = new_socket(family, SOCK_DGRAM, 0);

	if (reuse)
		set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20);
	if (bind(fd, is_six ? (void *)&six : (void *)&four,
		 is_six ? sizeof(six) : sizeof(four)))
		err(1, "UDP port %d", port);
	return fd;
}

static int family_of(const char *host)
{
	return strchr(host, ':') ? AF_INET6 : AF_INET;
}

/* Asks the peer for something, at the expense of the group `ask`. */
static void ask(const char *host, const char *what)
{
	char request[REQUEST] = {};
	struct sockaddr_storage to;
	socklen_t length;
	pid_t pid;
	int fd;

	snprintf(request, sizeof(request), "%s", what);
	pid = start();
	if (pid) {
		finish(pid);
		return;
	}
	enter("ask");
	length = address(host, PORT_ASK, &to);
	fd = new_socket(to.ss_family, SOCK_DGRAM, 0);
	if (sendto(fd, request, sizeof(request), 0, (struct sockaddr *)&to, length) < 0)
		err(1, "asking for %s", what);
	_exit(0);
}

static void put(int fd, const void *from, size_t bytes)
{
	ssize_t n;

	for (; bytes; bytes -= n, from = (const char *)from + n) {
		n = send(fd, from, bytes, MSG_NOSIGNAL);
		if (n < 0)
			err(1, "send");
	}
}

/* Until so many bytes, or the end. */
static size_t get(int fd, size_t bytes)
{
	size_t left = bytes;
	ssize_t n = 1;

	for (; left && n; left -= n) {
		n = recv(fd, buffer, left < CHUNK ? left : CHUNK, 0);
		if (n < 0)
			err(1, "recv");
	}
	return bytes - left;
}

static void put_much(int fd, size_t bytes)
{
	size_t n;

	for (; bytes; bytes -= n) {
		n = bytes < CHUNK ? bytes : CHUNK;
		put(fd, buffer, n);
	}
}

/* ---- the peer ---- */

/* One packet in 48 that has some data gets lost. */
static void lose_some(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 200, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_RANDOM),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 0xffffffff / 48, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
		err(1, "SO_ATTACH_FILTER");
}

/* Whatever comes to it is lost. */
static int lose_all(int fd)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	struct sock_fprog program = { .len = 1, .filter = code };

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
		err(1, "SO_ATTACH_FILTER");
	return fd;
}

static void pause_after(int i)
{
	if (i % 16 == 15)
		usleep(3000);
}

/*
 * A raw socket doesn't wait for room: if more is on the way than it may have, which is so where
 * packets take long to be done with, the kernel takes no more for a while.
 */
static void send_raw(int fd, const void *to, socklen_t length, int size)
{
	int tries = 0;

	while (sendto(fd, buffer, size, 0, to, length) != size) {
		if (errno != ENOBUFS || tries++ == 10000)
			err(1, "raw");
		usleep(1000);
	}
}

/* Somebody asks for bytes by way of the connection. */
static void serve(int fd)
{
	char request[REQUEST] = {};
	unsigned long bytes;
	char op;

	if (recv(fd, request, sizeof(request), MSG_WAITALL) != sizeof(request) ||
	    sscanf(request, "%c %lu", &op, &bytes) != 2)
		return;
	switch (op) {
	case 'D':			/* send, but not at once */
		usleep(300 * 1000);
		/* fall through */
	case 'S':			/* send */
		put_much(fd, bytes);
		shutdown(fd, SHUT_WR);
		break;
	case 'N':			/* send, each 100 bytes in a packet */
		set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
		for (unsigned long i = 0; i < bytes / 100; i++) {
			if (send(fd, buffer, 100, MSG_EOR) != 100)
				err(1, "send");
			pause_after(i);
		}
		break;
	case 'L':			/* receive, and lose some */
		lose_some(fd);
		/* fall through */
	case 'R':			/* receive, and say so */
		if (get(fd, bytes) == bytes)
			put(fd, "", 1);
		break;
	case 'W':			/* receive, but not at once */
		usleep(700 * 1000);
		get(fd, bytes);
		break;
	}
	get(fd, ~0UL);
}

static void serve_all(int port, int protocol)
{
	int fd = listen_on(port, protocol, false);
	int connection;

	if (fd < 0)
		return;
	if (start())
		return;
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		connection = accept(fd, NULL, NULL);
		if (connection < 0)
			continue;
		if (!start()) {
			close(fd);
			serve(connection);
			_exit(0);
		}
		close(connection);
	}
}

/* udp ADDRESS PORT COUNT SIZE SOURCES [INTERFACE]; "-" is who asks */
static void peer_udp(const char *request, struct sockaddr_in6 *who)
{
	char host[INET6_ADDRSTRLEN], interface[IFNAMSIZ] = "";
	struct sockaddr_storage to;
	socklen_t length = sizeof(*who);
	int port, count, size, sources, fd[16];

	if (sscanf(request, "udp %45s %d %d %d %d %15s", host, &port, &count, &size,
		   &sources, interface) < 5 || sources > 16)
		return;
	if (strcmp(host, "-")) {
		length = address(host, port, &to);
	} else {
		who->sin6_port = htons(port);
		memcpy(&to, who, length);
	}
	for (int i = 0; i < sources; i++) {
		fd[i] = new_socket(to.ss_family, SOCK_DGRAM, 0);
		/* Who forwards may cut. */
		set(fd[i], IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
		if (*interface && setsockopt(fd[i], SOL_SOCKET, SO_BINDTODEVICE, interface,
					     strlen(interface)))
			err(1, "%s", interface);
	}
	for (int i = 0; i < count; i++) {
		/* A closed port is answered with errors, which are of no interest. */
		sendto(fd[i % sources], buffer, size, 0, (struct sockaddr *)&to, length);
		pause_after(i);
	}
}

/* connect PORT TIMES PROTOCOL */
static void peer_connect(const char *request, struct sockaddr_in6 *who)
{
	int port, times, protocol, fd;

	if (sscanf(request, "connect %d %d %d", &port, &times, &protocol) != 3)
		return;
	who->sin6_port = htons(port);
	while (times--) {
		fd = new_socket(AF_INET6, SOCK_STREAM, protocol);
		if (connect(fd, (struct sockaddr *)who, sizeof(*who)))
			err(1, "connecting to port %d", port);
		if (!start()) {
			serve(fd);
			_exit(0);
		}
		close(fd);
	}
	while (wait(NULL) > 0)
		;
}

/* fast PORT COUNT SIZE: connections, each with so many bytes in its SYN */
static void peer_fast(const char *request, struct sockaddr_in6 *who)
{
	int port, count, size, fd;

	if (sscanf(request, "fast %d %d %d", &port, &count, &size) != 3)
		return;
	who->sin6_port = htons(port);
	while (count--) {
		fd = new_socket(AF_INET6, SOCK_STREAM, 0);
		set(fd, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, 1);
		if (sendto(fd, buffer, size, MSG_FASTOPEN, (struct sockaddr *)who,
			   sizeof(*who)) != size)
			err(1, "TCP Fast Open");
		shutdown(fd, SHUT_WR);
		while (recv(fd, buffer, CHUNK, 0) > 0)
			;
		close(fd);
	}
}

/* raw COUNT SIZE */
static void peer_raw(const char *request, struct sockaddr_in6 *who)
{
	struct sockaddr_in four = { .sin_family = AF_INET };
	bool is_four = IN6_IS_ADDR_V4MAPPED(&who->sin6_addr);
	int count, size, fd;

	if (sscanf(request, "raw %d %d", &count, &size) != 2)
		return;
	memcpy(&four.sin_addr, who->sin6_addr.s6_addr + 12, 4);
	who->sin6_port = 0;
	fd = new_socket(is_four ? AF_INET : AF_INET6, SOCK_RAW, PROTOCOL);
	for (int i = 0; i < count; i++) {
		send_raw(fd, is_four ? (void *)&four : (void *)who,
			 is_four ? sizeof(four) : sizeof(*who), size);
		pause_after(i);
	}
}

static __u16 checksum(const void *from, size_t bytes)
{
	__u32 sum = 0;
	__u16 word;

	for (size_t i = 0; i < bytes / 2; i++) {
		memcpy(&word, (const char *)from + 2 * i, 2);
		sum += word;
	}
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Waits until a raw socket has the answer of number @sequence, or for a second. */
static void await_answer(int fd, int sequence)
{
	static unsigned char in[65536];
	const struct icmphdr *icmp;
	size_t header;
	ssize_t n;

	while ((n = recv(fd, in, sizeof(in), 0)) > 0) {
		header = 4 * (in[0] & 15);
		icmp = (const struct icmphdr *)(in + header);
		if (n >= (ssize_t)(header + sizeof(*icmp)) && icmp->type == ICMP_ECHOREPLY &&
		    icmp->un.echo.sequence == htons(sequence))
			return;
	}
}

/*
 * echo COUNT SIZE: what the kernel answers, over IPv4. One after the other, as the kernel gives up
 * an answer while others take all of its socket's buffer.
 */
static void peer_echo(const char *request, struct sockaddr_in6 *who)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct icmphdr *echo = (struct icmphdr *)buffer;
	struct timeval patience = { .tv_sec = 1 };
	int count, size, fd;

	if (sscanf(request, "echo %d %d", &count, &size) != 2)
		return;
	memcpy(&to.sin_addr, who->sin6_addr.s6_addr + 12, 4);
	fd = new_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		err(1, "SO_RCVTIMEO");
	for (int i = 0; i < count; i++) {
		*echo = (struct icmphdr){ .type = ICMP_ECHO, .un.echo.sequence = htons(i) };
		echo->checksum = checksum(buffer, size);
		send_raw(fd, &to, sizeof(to), size);
		await_answer(fd, i);
	}
}

/* knock COUNT PORT: nobody listens there */
static void peer_knock(const char *request, struct sockaddr_in6 *who)
{
	int count, port, fd;

	if (sscanf(request, "knock %d %d", &count, &port) != 2)
		return;
	who->sin6_port = htons(port);
	while (count--) {
		fd = new_socket(AF_INET6, SOCK_STREAM, 0);
		if (!connect(fd, (struct sockaddr *)who, sizeof(*who)) || errno != ECONNREFUSED)
			err(1, "port %d", port);
		close(fd);
	}
}

static struct sockaddr_ll link_of(const char *interface)
{
	struct sockaddr_ll l = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETHERTYPE),
		.sll_ifindex = if_nametoindex(interface),
		.sll_halen = ETH_ALEN,
	};

	if (!l.sll_ifindex)
		err(1, "%s", interface);
	memset(l.sll_addr, 0xff, ETH_ALEN);
	return l;
}

/*
 * segments ADDRESS COUNT SIZE: of a TCP stream that nobody has asked for, nor answers: what
 * comes of it is as many packets as were sent. Who forwards them sees one stream, and merges
 * what has come when it looks: between two groups of 16 nothing comes for longer than it waits
 * before it looks (merge_late() in memio-net-paths).
 */
static void peer_segments(const char *request)
{
	struct {
		struct {
			__be32 from, to;
			__be16 protocol, length;
		} pseudo;
		struct tcphdr header;
		char data[1460];
	} segment = {};
	struct sockaddr_in here, to = { .sin_family = AF_INET };
	socklen_t length = sizeof(here);
	int count, size, fd;
	char host[INET_ADDRSTRLEN];

	if (sscanf(request, "segments %15s %d %d", host, &count, &size) != 3 ||
	    size > (int)sizeof(segment.data) || size % 2)
		return;
	inet_pton(AF_INET, host, &to.sin_addr);
	fd = new_socket(AF_INET, SOCK_RAW, IPPROTO_TCP);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    getsockname(fd, (struct sockaddr *)&here, &length))
		err(1, "%s", host);
	segment.pseudo.from = here.sin_addr.s_addr;
	segment.pseudo.to = to.sin_addr.s_addr;
	segment.pseudo.protocol = htons(IPPROTO_TCP);
	segment.pseudo.length = htons(sizeof(segment.header) + size);
	segment.header.source = htons(PORT);
	segment.header.dest = htons(PORT_HERE);
	segment.header.doff = sizeof(segment.header) / 4;
	segment.header.ack = 1;
	segment.header.window = htons(1000);
	memcpy(segment.data, buffer, size);
	for (int i = 0; i < count; i++) {
		segment.header.seq = htonl(i * size);
		segment.header.check = 0;
		segment.header.check = checksum(&segment, sizeof(segment) - sizeof(segment.data) +
						size);
		if (send(fd, &segment.header, sizeof(segment.header) + size, 0) < 0)
			err(1, "segments");
		if (i % 16 == 15)
			usleep(12 * 1000);
	}
}

/* packet|tagged|other INTERFACE COUNT SIZE: to everybody there, or in its VLAN, or to OTHER */
static void peer_packet(const char *request)
{
	__be16 tag[2] = { htons(VLAN), htons(ETHERTYPE) };
	char interface[IFNAMSIZ], how[8];
	struct iovec iov[2] = { { tag, 0 }, { buffer, 0 } };
	struct sockaddr_ll to;
	struct msghdr msg = {
		.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_iov = iov,
		.msg_iovlen = 2,
	};
	int count, size, fd;

	if (sscanf(request, "%7s %15s %d %d", how, interface, &count, &size) != 4 ||
	    (strcmp(how, "packet") && strcmp(how, "tagged") && strcmp(how, "other")))
		return;
	to = link_of(interface);
	iov[1].iov_len = size;
	if (!strcmp(how, "other"))
		memcpy(to.sll_addr, OTHER, ETH_ALEN);
	if (!strcmp(how, "tagged")) {
		to.sll_protocol = htons(ETH_P_8021Q);
		iov[0].iov_len = sizeof(tag);
	}
	fd = new_socket(AF_PACKET, SOCK_DGRAM, 0);
	for (int i = 0; i < count; i++) {
		if (sendmsg(fd, &msg, 0) < size)
			err(1, "packet");
		pause_after(i);
	}
}

static int run_peer(char **arg)
{
	struct sockaddr_in6 who;
	char request[REQUEST + 1] = {};
	socklen_t length;
	int fd;

	(void)arg;
	signal(SIGPIPE, SIG_IGN);
	serve_all(PORT, 0);
	serve_all(PORT_MPTCP, IPPROTO_MPTCP);
	signal(SIGCHLD, SIG_IGN);
	/* There is somebody to send to, who never reads. */
	lose_all(datagrams_on(AF_INET6, PORT_SINK, false));
	lose_all(new_socket(AF_INET, SOCK_RAW, PROTOCOL));
	lose_all(new_socket(AF_INET6, SOCK_RAW, PROTOCOL));
	fd = datagrams_on(AF_INET6, PORT_ASK, false);
	for (;;) {
		length = sizeof(who);
		if (recvfrom(fd, request, REQUEST, 0, (struct sockaddr *)&who, &length) < 0)
			continue;
		if (start())
			continue;
		signal(SIGCHLD, SIG_DFL);
		peer_udp(request, &who);
		peer_connect(request, &who);
		peer_fast(request, &who);
		peer_raw(request, &who);
		peer_echo(request, &who);
		peer_knock(request, &who);
		peer_segments(request);
		peer_packet(request);
		_exit(0);
	}
}

/* ---- streams ---- */

/* Whose calls are done by a ring: by who calls, by its thread that polls, by one of its workers */
static bool by_ring(const char *how)
{
	return !strcmp(how, "uring") || !strcmp(how, "sqpoll") || !strcmp(how, "worker");
}

static void ring_init(struct io_uring *ring, const char *how)
{
	int ret = io_uring_queue_init(8, ring, strcmp(how, "sqpoll") ? 0 : IORING_SETUP_SQPOLL);

	if (ret < 0)
		errx(1, "io_uring: %s", strerror(-ret));
}

static ssize_t ring_do(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int ret;

	io_uring_submit(ring);
	if (io_uring_wait_cqe(ring, &cqe))
		errx(1, "io_uring");
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	if (ret < 0 && ret != -EAGAIN)
		errx(1, "io_uring: %s", strerror(-ret));
	return ret;
}

/* What was to be sent without being copied: how many calls were, and were not, by the kernel */
static unsigned long copied, not_copied;

/* Once it was sent, and once more when the data are no longer needed. */
static ssize_t ring_send_zc(struct io_uring *ring, int fd, size_t bytes)
{
	struct io_uring_cqe *cqe;
	bool more;
	int ret;

	io_uring_prep_send_zc(io_uring_get_sqe(ring), fd, buffer, bytes, 0,
			      IORING_SEND_ZC_REPORT_USAGE);
	io_uring_submit(ring);
	if (io_uring_wait_cqe(ring, &cqe))
		errx(1, "io_uring");
	ret = cqe->res;
	more = cqe->flags & IORING_CQE_F_MORE;
	io_uring_cqe_seen(ring, cqe);
	if (ret < 0)
		errx(1, "SEND_ZC: %s", strerror(-ret));
	if (more) {
		if (io_uring_wait_cqe(ring, &cqe) || !(cqe->flags & IORING_CQE_F_NOTIF))
			errx(1, "SEND_ZC: no notification");
		if ((unsigned int)cqe->res & IORING_NOTIF_USAGE_ZC_COPIED)
			copied++;
		else
			not_copied++;
		io_uring_cqe_seen(ring, cqe);
	}
	return ret;
}

static void zerocopy_done(int fd)
{
	union {
		char room[128];
		struct cmsghdr header;
	} control;
	struct msghdr msg = { .msg_control = &control, .msg_controllen = sizeof(control) };
	struct sock_extended_err *e = (void *)CMSG_DATA(&control.header);

	while (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
		if (!msg.msg_controllen || e->ee_origin != SO_EE_ORIGIN_ZEROCOPY)
			errx(1, "no message of MSG_ZEROCOPY");
		if (e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
			copied += e->ee_data - e->ee_info + 1;
		else
			not_copied += e->ee_data - e->ee_info + 1;
		msg.msg_controllen = sizeof(control);
	}
}

/* Others are to find it at work: some is left to be done until there is the file BACK. */
static void slowly(const char *how, size_t left)
{
	if (strcmp(how, "slow"))
		return;
	do {
		usleep(10000);
	} while (left <= 1 << 20 && access(getenv("BACK"), F_OK));
}

/* Another task is to have looked at what there is now, or will be soon. */
static void let_look(const volatile unsigned long *looks)
{
	const unsigned long before = *looks;

	for (int i = 0; i < 2000 && *looks == before; i++)
		usleep(100);
}

/* In the middle of it, the task goes to another network namespace: that of the process BOX. */
static void move_away(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%s/ns/net", getenv("BOX"));
	fd = open(name, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(1, "%s", name);
	close(fd);
}

static void send_by(int fd, const char *how, size_t bytes)
{
	size_t away = strcmp(how, "away") ? 0 : bytes / 2;
	struct iovec iov[4];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 4 };
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	int file = -1, pipes[2];
	size_t n;
	ssize_t sent;

	if (!strcmp(how, "sendfile") || !strcmp(how, "splice")) {
		file = memfd_create("data", 0);
		if (file < 0 || ftruncate(file, CHUNK) || pwrite(file, buffer, CHUNK, 0) != CHUNK)
			err(1, "memfd");
	}
	if (pipe(pipes))
		err(1, "pipe");
	if (by_ring(how) || !strcmp(how, "zc"))
		ring_init(&ring, how);
	if (!strcmp(how, "zerocopy"))
		set(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
	if (!strcmp(how, "pace"))
		set(fd, SOL_SOCKET, SO_MAX_PACING_RATE, 4 << 20);
	for (int i = 0; i < 4; i++)
		iov[i] = (struct iovec){ buffer, CHUNK / 4 };

	for (; bytes; bytes -= sent) {
		if (away && bytes <= away) {
			move_away();
			away = 0;
		}
		n = bytes < CHUNK ? bytes : CHUNK;
		if (!strcmp(how, "sendfile")) {
			off_t at = 0;

			sent = sendfile(fd, file, &at, n);
		} else if (!strcmp(how, "splice")) {
			loff_t at = 0;
			ssize_t left, done;

			sent = splice(file, &at, pipes[1], NULL, n, 0);
			for (left = sent; left > 0; left -= done) {
				done = splice(pipes[0], NULL, fd, NULL, left, SPLICE_F_MORE);
				if (done <= 0)
					err(1, "splice");
			}
		} else if (!strcmp(how, "zerocopy")) {
			sent = send(fd, buffer, n, MSG_ZEROCOPY);
			if (sent < 0 && errno == ENOBUFS)
				sent = 0;
			zerocopy_done(fd);
		} else if (by_ring(how)) {
			sqe = io_uring_get_sqe(&ring);
			io_uring_prep_send(sqe, fd, buffer, n, 0);
			io_uring_sqe_set_flags(sqe, strcmp(how, "worker") ? 0 : IOSQE_ASYNC);
			sent = ring_do(&ring);
		} else if (!strcmp(how, "zc")) {
			sent = ring_send_zc(&ring, fd, n);
		} else if (!strcmp(how, "msg") && n == CHUNK) {
			sent = sendmsg(fd, &msg, 0);
		} else {
			slowly(how, bytes);
			sent = send(fd, buffer, n, 0);
		}
		if (sent < 0)
			err(1, "%s", how);
	}
}

/*
 * What has come is mapped or, as these devices' packets cannot be, copied by the same call. No
 * other tells the kernel who uses the socket.
 */
static ssize_t map_some(int fd, void *map, size_t bytes)
{
	struct tcp_zerocopy_receive z;
	socklen_t length;
	size_t got = 0;

	while (!got) {
		z = (struct tcp_zerocopy_receive){
			.address = (unsigned long)map,
			.length = bytes & ~4095UL,
			.copybuf_address = (unsigned long)buffer,
			.copybuf_len = bytes,
		};
		length = sizeof(z);
		if (getsockopt(fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &z, &length) ||
		    z.copybuf_len < 0)
			err(1, "TCP_ZEROCOPY_RECEIVE");
		got = z.length + z.copybuf_len;
		if (!got)
			usleep(1000);
	}
	return got;
}

/* Until it is killed, a task in `d` looks at what there is, and counts. */
static pid_t look_on(int fd, unsigned long *looks)
{
	pid_t pid = start();
	char byte;

	if (pid)
		return pid;
	enter("d");
	for (;; usleep(1000))
		if (recv(fd, &byte, 1, MSG_PEEK) == 1)
			++*looks;
}

static void receive_by(int fd, const char *how, size_t bytes)
{
	struct iovec iov[4];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 4 };
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	int nowhere = open("/dev/null", O_WRONLY), pipes[2];
	void *map = NULL;
	size_t away = strcmp(how, "away") ? 0 : bytes / 2;
	unsigned long *looks = NULL;
	pid_t peeker = 0;
	ssize_t got = 1;
	size_t n;

	if (nowhere < 0 || pipe(pipes))
		err(1, "pipe");
	if (by_ring(how))
		ring_init(&ring, how);
	if (!strcmp(how, "busy"))
		poll_device(fd);
	if (!strcmp(how, "lossy"))
		lose_some(fd);
	if (!strcmp(how, "peeked")) {
		looks = mmap(NULL, sizeof(*looks), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (looks == MAP_FAILED)
			err(1, "mmap");
		peeker = look_on(fd, looks);
	}
	if (!strcmp(how, "map")) {
		map = mmap(NULL, CHUNK, PROT_READ, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			err(1, "mmap");
	}
	/* Nor does much wait in the socket. */
	if (!strcmp(how, "slow"))
		set(fd, SOL_SOCKET, SO_RCVBUF, 128 << 10);
	for (int i = 0; i < 4; i++)
		iov[i] = (struct iovec){ buffer, CHUNK / 4 };

	for (; bytes; bytes -= got) {
		if (away && bytes <= away) {
			move_away();
			away = 0;
		}
		n = bytes < CHUNK ? bytes : CHUNK;
		if (!strcmp(how, "splice")) {
			ssize_t left, done;

			got = splice(fd, NULL, pipes[1], NULL, n, 0);
			for (left = got; left > 0; left -= done) {
				done = splice(pipes[0], NULL, nowhere, NULL, left, 0);
				if (done <= 0)
					err(1, "splice");
			}
		} else if (by_ring(how)) {
			sqe = io_uring_get_sqe(&ring);
			io_uring_prep_recv(sqe, fd, buffer, n, 0);
			io_uring_sqe_set_flags(sqe, strcmp(how, "worker") ? 0 : IOSQE_ASYNC);
			got = ring_do(&ring);
		} else if (!strcmp(how, "msg") && n == CHUNK) {
			got = recvmsg(fd, &msg, 0);
		} else if (map) {
			got = map_some(fd, map, n);
		} else if (!strcmp(how, "peek")) {
			for (int i = 0; i < 10; i++)
				if (recv(fd, buffer, n, MSG_PEEK) <= 0)
					err(1, "peek");
			got = recv(fd, buffer, n, 0);
		} else {
			slowly(how, bytes);
			if (looks)
				let_look(looks);
			got = recv(fd, buffer, n, 0);
		}
		if (got <= 0)
			err(1, "%s: %zd, %zu left", how, got, bytes);
	}
	if (peeker) {
		kill(peeker, SIGKILL);
		waitpid(peeker, NULL, 0);
		printf("looks %lu\n", *looks);
	}
}

static void request(int fd, char op, size_t bytes)
{
	char text[REQUEST] = {};

	snprintf(text, sizeof(text), "%c %zu", op, bytes);
	put(fd, text, sizeof(text));
}

/* A connected socket, in a task in `c`, by the way of @hand. */
static int handed(const char *host, const char *hand, int port, int protocol, size_t bytes)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = {};
	struct iovec iov = { "", 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd, pair[2], listener;
	char what[REQUEST];
	pid_t pid;

	if (!strcmp(hand, "self")) {
		enter("c");
		return connect_to(host, port, protocol);
	}
	enter("p");
	if (!strcmp(hand, "fork") || !strcmp(hand, "asked")) {
		fd = connect_to(host, port, protocol);
		if (!strcmp(hand, "asked"))
			request(fd, 'D', bytes);
	} else if (!strcmp(hand, "accept")) {
		listener = listen_on(PORT_HERE, protocol, false);
		snprintf(what, sizeof(what), "connect %d 1 %d", PORT_HERE, protocol);
		ask(host, what);
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			err(1, "accept");
		close(listener);
	} else {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			err(1, "socketpair");
		pid = start();
		if (!pid) {
			char byte;

			close(pair[0]);
			enter("c");
			iov.iov_base = &byte;
			if (recvmsg(pair[1], &msg, 0) != 1)
				err(1, "no message");
			memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
			return fd;
		}
		fd = connect_to(host, port, protocol);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		if (sendmsg(pair[0], &msg, 0) != 1)
			err(1, "message");
		close(fd);
		finish(pid);
		exit(0);
	}
	child_in("c", fd);
	return fd;
}

static unsigned long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000UL + t.tv_nsec / 1000000;
}

static struct mptcp_info mptcp_info(int fd)
{
	struct mptcp_info info = {};
	socklen_t length = sizeof(info);

	if (getsockopt(fd, SOL_MPTCP, MPTCP_INFO, &info, &length))
		err(1, "MPTCP_INFO");
	return info;
}

/* Whether it is plain TCP that came of it */
static bool fallback(int fd)
{
	return mptcp_info(fd).mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK;
}

static int protocol_of(const char *name)
{
	return strcmp(name, "mptcp") ? 0 : IPPROTO_MPTCP;
}

/* It joins only when the first has moved something. */
static void second_subflow(int fd)
{
	for (int i = 0; i < 200 && !mptcp_info(fd).mptcpi_subflows; i++)
		usleep(10000);
}

static void move(char **arg, int port, int protocol)
{
	const char *host = arg[0], *way = arg[1], *how = arg[2], *hand = arg[3];
	bool two = !strcmp(how, "two");		/* subflows */
	size_t bytes = strtoul(arg[4], NULL, 0);
	int fd = handed(host, hand, port, protocol, bytes);
	unsigned long begin = now_ms();
	struct tcp_info info = {};
	socklen_t length = sizeof(info);

	if (!strcmp(way, "receive")) {
		if (strcmp(hand, "asked"))
			request(fd, two ? 'D' : 'S', bytes);
		if (two)
			second_subflow(fd);
		receive_by(fd, how, bytes);
	} else {
		request(fd, strcmp(how, "lossy") ? 'R' : 'L', bytes);
		if (two)
			second_subflow(fd);
		send_by(fd, how, bytes);
		if (get(fd, 1) != 1)
			errx(1, "the peer does not say that all has arrived");
		if (!strcmp(how, "zerocopy"))
			zerocopy_done(fd);
		if (copied + not_copied)
			printf("copied %lu\nnot_copied %lu\n", copied, not_copied);
	}
	printf("bytes %zu\ntook %lu\n", bytes, now_ms() - begin);
	if (protocol == IPPROTO_MPTCP)
		printf("subflows %d\nfallback %d\n", mptcp_info(fd).mptcpi_subflows,
		       fallback(fd));
	if (!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length))
		printf("retransmitted %llu\n", (unsigned long long)info.tcpi_bytes_retrans);
}

/* tcp HOST WAY HOW HAND BYTES */
static int run_tcp(char **arg)
{
	move(arg, PORT, 0);
	return 0;
}

/* mptcp HOST WAY HOW HAND BYTES */
static int run_mptcp(char **arg)
{
	move(arg, PORT_MPTCP, IPPROTO_MPTCP);
	return 0;
}

/* reuse HOST BYTES: two listeners in `c` and `d`, each of which gets BYTES times some */
static int run_reuse_tcp(char **arg)
{
	static const char *const group[] = { "c", "d" };
	size_t bytes = strtoul(arg[1], NULL, 0), sum;
	pid_t pid[2];
	int fd, connection, ready[2];
	char byte;

	if (pipe(ready))
		err(1, "pipe");
	for (int i = 0; i < 2; i++) {
		pid[i] = start();
		if (pid[i])
			continue;
		enter(group[i]);
		fd = listen_on(PORT_HERE, 0, true);
		set_timeout(fd, 1500);
		if (write(ready[1], "", 1) != 1)
			err(1, "pipe");
		for (sum = 0; (connection = accept(fd, NULL, NULL)) >= 0; close(connection)) {
			request(connection, 'S', bytes);
			sum += get(connection, bytes);
		}
		printf("%s %zu\n", group[i], sum);
		fflush(stdout);
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1 || read(ready[0], &byte, 1) != 1)
		err(1, "pipe");
	ask(arg[0], "connect 9000 16 0");
	finish(pid[0]);
	finish(pid[1]);
	return 0;
}

static long sent_by_eth0(void)
{
	FILE *f = fopen("/sys/class/net/eth0/statistics/tx_packets", "r");
	long packets;

	if (!f || fscanf(f, "%ld", &packets) != 1)
		err(1, "tx_packets");
	fclose(f);
	return packets;
}

/* How many bytes are still to be sent: of UDP a queue may have taken what the socket had. */
static int to_be_sent(int fd, bool tcp, int size, long last)
{
	int left;

	if (!tcp)
		return (last - sent_by_eth0()) * size;
	if (ioctl(fd, SIOCOUTQ, &left))
		err(1, "SIOCOUTQ");
	return left;
}

/*
 * shared HOST WAY TURNS tcp|mptcp: two tasks in `p` and `c` use one socket in turns: p
 * moves 10000 bytes each time, c 30000.
 */
static int run_shared(char **arg)
{
	int turns = atoi(arg[2]), protocol = protocol_of(arg[3]), there[2], back[2], fd;
	bool receive = !strcmp(arg[1], "receive");
	size_t bytes = turns * 40000UL;
	char byte = 0;
	pid_t pid;

	if (pipe(there) || pipe(back))
		err(1, "pipe");
	enter("p");
	fd = connect_to(arg[0], protocol ? PORT_MPTCP : PORT, protocol);
	request(fd, receive ? 'S' : 'R', bytes);
	pid = start();
	if (!pid)
		enter("c");
	for (int i = 0; i < turns; i++) {
		size_t n = pid ? 10000 : 30000;

		if (!pid && read(there[0], &byte, 1) != 1)
			err(1, "pipe");
		if (receive && get(fd, n) != n)
			errx(1, "short");
		if (!receive)
			put(fd, buffer, n);
		if (write(pid ? there[1] : back[1], &byte, 1) != 1)
			err(1, "pipe");
		if (pid && read(back[0], &byte, 1) != 1)
			err(1, "pipe");
	}
	if (!pid)
		_exit(0);
	finish(pid);
	if (!receive && get(fd, 1) != 1)
		errx(1, "short");
	if (protocol)
		printf("fallback %d\n", fallback(fd));
	return 0;
}

/* connects HOST COUNT: connections by MPTCP, and nothing else */
static int run_connects(char **arg)
{
	enter("c");
	for (int i = 0; i < atoi(arg[1]); i++)
		close(connect_to(arg[0], PORT_MPTCP, IPPROTO_MPTCP));
	return 0;
}

/* resets HOST COUNT: a task in `c` connects to a port that nobody listens at. */
static int run_resets(char **arg)
{
	struct sockaddr_storage to;
	socklen_t length = address(arg[0], PORT_HERE, &to);
	int count = atoi(arg[1]), refused = 0, fd;

	enter("c");
	for (int i = 0; i < count; i++) {
		fd = new_socket(to.ss_family, SOCK_STREAM, 0);
		refused += connect(fd, (struct sockaddr *)&to, length) && errno == ECONNREFUSED;
		close(fd);
	}
	printf("refused %d\n", refused);
	return 0;
}

/*
 * octets HOST: receives between the reads of a counter's halves, and prints how much of that is
 * there the next time. The driver may read it meanwhile, but does not often. What is read here
 * the interface does not count.
 */
static int run_octets(char **arg)
{
	enum { GORCL = 0x4088 / 4, GORCH = 0x408c / 4, BYTES = 65536 };
	int fd = open("/sys/class/net/eth0/device/resource0", O_RDWR);
	volatile const uint32_t *reg;
	uint32_t octets, most = 0;

	if (fd < 0)
		err(1, "the device's registers");
	reg = mmap(NULL, 0x20000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (reg == MAP_FAILED)
		err(1, "the device's registers");
	for (int i = 0; i < 5; i++) {
		fd = connect_to(arg[0], PORT, 0);
		(void)reg[GORCL];
		request(fd, 'S', BYTES);
		if (get(fd, BYTES) != BYTES)
			errx(1, "short");
		(void)reg[GORCH];
		octets = reg[GORCL];
		(void)reg[GORCH];
		close(fd);
		if (octets > most)
			most = octets;
	}
	printf("octets %u\n", most);
	return 0;
}

static void look(const char *file);

static void splice_away(int fd, int bytes)
{
	int nowhere = open("/dev/null", O_WRONLY), pipes[2], got;

	if (nowhere < 0 || pipe(pipes))
		err(1, "pipe");
	for (; bytes; bytes -= got) {
		got = splice(fd, NULL, pipes[1], NULL, bytes, 0);
		if (got <= 0)
			err(1, "splice");
		if (splice(pipes[0], NULL, nowhere, NULL, got, 0) != got)
			err(1, "splice to nowhere");
	}
}

/*
 * unread HOST BYTES READ DIR NAME GROUP: bytes wait in a socket of a task in GROUP, `c` or `p` or
 * below, which then goes to `c`, reads READ of them, with SPLICE in its environment by splice, and
 * closes it. Looks as DIR/NAME.waiting between.
 */
static int run_unread(char **arg)
{
	int bytes = atoi(arg[1]), wanted = atoi(arg[2]), waiting = 0, fd;
	char name[256];

	snprintf(name, sizeof(name), "%s/%s.waiting", arg[3], arg[4]);
	enter(arg[5]);
	fd = connect_to(arg[0], PORT, 0);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20);
	request(fd, 'S', bytes);
	for (int i = 0; i < 200 && waiting < bytes; i++) {
		usleep(10000);
		if (ioctl(fd, FIONREAD, &waiting))
			err(1, "FIONREAD");
	}
	if (waiting != bytes)
		errx(1, "%d bytes wait", waiting);
	usleep(200000);
	look(name);
	leave(arg[5]);
	if (getenv("SPLICE"))
		splice_away(fd, wanted);
	else if ((int)get(fd, wanted) != wanted)
		errx(1, "short");
	close(fd);
	return 0;
}

/* One of the counters of TCP */
static unsigned long counter(const char *name)
{
	FILE *f = fopen("/proc/net/netstat", "r");
	char names[8192], values[8192], *n, *v, *next_n, *next_v;
	unsigned long found = 0;

	if (!f || !fgets(names, sizeof(names), f) || !fgets(values, sizeof(values), f))
		err(1, "/proc/net/netstat");
	fclose(f);
	for (n = strtok_r(names, " ", &next_n), v = strtok_r(values, " ", &next_v); n && v;
	     n = strtok_r(NULL, " ", &next_n), v = strtok_r(NULL, " ", &next_v))
		if (!strcmp(n, name))
			found = strtoul(v, NULL, 0);
	return found;
}

/*
 * queued HOST tcp|mptcp|udp COUNT SIZE other|GROUP: a task in `p` sends COUNT times SIZE bytes,
 * which have to wait, and another in `c` SIZE more by the same socket before they are on their
 * way: the peer doesn't read yet, or the device's queue is slow. Or it is the same task in both
 * cases, which goes from GROUP, `p` or below, to `c`.
 */
static int run_queued(char **arg)
{
	int count = atoi(arg[2]), size = atoi(arg[3]), protocol = protocol_of(arg[1]), fd;
	bool stream = strcmp(arg[1], "udp"), other = !strcmp(arg[4], "other");
	/* By IPv6, after Ethernet's, its and the piece's header; UDP's is data here */
	int pieces = stream || size < 1400 ? 1 : (size + 8 + 1447) / 1448;
	unsigned long probes = counter("TCPMTUPSuccess");
	struct sockaddr_storage to;
	socklen_t length;
	pid_t pid = 0;
	int go[2];
	long last;
	char byte;

	enter(other ? "p" : arg[4]);
	last = sent_by_eth0() + (count + 1) * pieces;
	if (stream) {
		fd = connect_to(arg[0], protocol ? PORT_MPTCP : PORT, protocol);
		request(fd, 'W', (count + 1) * (unsigned long)size);
	} else {
		length = address(arg[0], PORT_SINK, &to);
		fd = new_socket(to.ss_family, SOCK_DGRAM, 0);
		if (connect(fd, (struct sockaddr *)&to, length))
			err(1, "connect");
	}
	set(fd, SOL_SOCKET, SO_SNDBUFFORCE, 16 << 20);
	if (pipe(go))
		err(1, "pipe");
	if (other) {
		pid = start();
		if (!pid) {
			enter("c");
			if (read(go[0], &byte, 1) != 1)
				err(1, "pipe");
			put(fd, buffer, size);
			_exit(0);
		}
		/* It is there, too. */
		usleep(100000);
	}
	for (int i = 0; i < count; i++)
		put(fd, buffer, size);
	if (other) {
		if (write(go[1], "", 1) != 1)
			err(1, "pipe");
		finish(pid);
	} else {
		leave(arg[4]);
		put(fd, buffer, size);
	}
	printf("waited %d\n", to_be_sent(fd, stream, size / pieces, last));
	for (int i = 0; i < 500 && to_be_sent(fd, stream, size / pieces, last) > 0; i++)
		usleep(10000);
	if (to_be_sent(fd, stream, size / pieces, last) > 0)
		errx(1, "not sent");
	printf("probes %lu\n", counter("TCPMTUPSuccess") - probes);
	if (protocol)
		printf("fallback %d\n", fallback(fd));
	return 0;
}

/*
 * collapse HOST BYTES: so many come in packets of 100, which are too large for what is in them:
 * TCP moves it to others before it is read. They are not merged as they come, since somebody
 * listens in who never reads.
 */
static int run_collapse(char **arg)
{
	struct sockaddr_ll link = link_of("eth0");
	int bytes = atoi(arg[1]), waiting = 0, tap, fd;
	unsigned long before = counter("TCPRcvCollapsed");

	enter("c");
	tap = new_socket(AF_PACKET, SOCK_RAW, 0);
	set(tap, SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20);
	link.sll_protocol = htons(ETH_P_ALL);
	if (bind(tap, (struct sockaddr *)&link, sizeof(link)))
		err(1, "bind");
	fd = connect_to(arg[0], PORT, 0);
	set(fd, SOL_SOCKET, SO_RCVBUF, bytes);
	request(fd, 'N', bytes);
	for (int i = 0; i < 300 && waiting < bytes; i++) {
		usleep(10000);
		if (ioctl(fd, FIONREAD, &waiting))
			err(1, "FIONREAD");
	}
	printf("collapsed %lu\n", counter("TCPRcvCollapsed") - before);
	if ((int)get(fd, bytes) != bytes)
		errx(1, "short");
	close(fd);
	close(tap);
	return 0;
}

/* exit HOST BYTES: a task in `c` is gone before what it has written is sent. */
static int run_exit(char **arg)
{
	size_t bytes = strtoul(arg[1], NULL, 0);
	int fd;

	enter("c");
	fd = connect_to(arg[0], PORT, 0);
	set(fd, SOL_SOCKET, SO_SNDBUFFORCE, 16 << 20);
	request(fd, 'W', bytes);
	send_by(fd, "plain", bytes);
	return 0;
}

/* ---- datagrams ---- */

#define BATCH	8

/* How many datagrams one call has had: several if they were merged as they came in */
static int merged_datagrams(int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	struct iovec iov = { buffer, CHUNK };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t bytes = recvmsg(fd, &msg, 0);
	int size;

	if (bytes < 0 || !msg.msg_controllen)
		return bytes < 0 ? -1 : 1;
	if (control.header.cmsg_level != IPPROTO_UDP || control.header.cmsg_type != UDP_GRO)
		errx(1, "no message of UDP_GRO");
	memcpy(&size, CMSG_DATA(&control.header), sizeof(size));
	return (bytes + size - 1) / size;
}

/* How many datagrams come until there have been @count, or there is silence. */
static int drain(int fd, const char *how, int count)
{
	struct mmsghdr msg[BATCH] = {};
	struct iovec iov[BATCH];
	struct io_uring ring;
	int got = 0, most = 0, calls = 0, n;

	for (int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){ buffer + i * CHUNK / BATCH, CHUNK / BATCH };
		msg[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
	}
	if (by_ring(how))
		ring_init(&ring, how);
	if (!strcmp(how, "busy"))
		poll_device(fd);
	/* A machine that has other work may stand still for a while, above all at first. */
	set_timeout(fd, 10000);
	for (; got < count; got += n) {
		if (got)
			set_timeout(fd, 3000);
		if (!strcmp(how, "mmsg")) {
			n = count - got < BATCH ? count - got : BATCH;
			n = recvmmsg(fd, msg, n, MSG_WAITFORONE, NULL);
		} else if (!strcmp(how, "uring")) {
			struct pollfd poll_in = { .fd = fd, .events = POLLIN };

			if (poll(&poll_in, 1, got ? 3000 : 10000) != 1)
				break;
			io_uring_prep_recv(io_uring_get_sqe(&ring), fd, buffer, CHUNK, 0);
			n = ring_do(&ring) >= 0;
		} else if (!strcmp(how, "splice")) {
			int pipes[2];

			if (pipe(pipes))
				err(1, "pipe");
			n = splice(fd, NULL, pipes[1], NULL, CHUNK, 0) > 0 ? 1 : -1;
			close(pipes[0]);
			close(pipes[1]);
		} else if (!strcmp(how, "gro")) {
			n = merged_datagrams(fd);
			calls++;
			most = n > most ? n : most;
		} else {
			n = recv(fd, buffer, CHUNK, 0) < 0 ? -1 : 1;
		}
		if (n <= 0)
			break;
	}
	if (calls)
		printf("calls %d\nmost %d\n", calls, most);
	return got;
}

static pid_t reader(const char *group, int fd, const char *how, int count)
{
	pid_t pid = start();

	if (pid)
		return pid;
	enter(group);
	printf("%s %d\n", group, drain(fd, how, count));
	fflush(stdout);
	_exit(0);
}

/* By which interface groups are joined */
static const char *joined(void)
{
	const char *interface = getenv("JOIN");

	return interface ? interface : "eth0";
}

static void join(int fd, int family, const char *interface)
{
	struct ipv6_mreq six = { .ipv6mr_interface = if_nametoindex(interface) };
	struct ip_mreqn group = { .imr_ifindex = if_nametoindex(interface) };

	inet_pton(AF_INET, GROUP, &group.imr_multiaddr);
	inet_pton(AF_INET6, GROUP6, &six.ipv6mr_multiaddr);
	if (family == AF_INET6 ?
	    setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &six, sizeof(six)) :
	    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)))
		err(1, "joining");
}

/* Two that are in the multicast group, don't read, and have next to no room */
static void deaf_sockets(const char *host)
{
	for (int i = 0; i < 2; i++) {
		int fd = datagrams_on(family_of(host), PORT_HERE, true);

		set(fd, SOL_SOCKET, SO_RCVBUF, 1);
		join(fd, family_of(host), "eth0");
	}
}

static void udp_receive(const char *host, const char *how, int count, int size)
{
	bool deaf = !strcmp(how, "deaf"), multicast = deaf || !strcmp(how, "multicast");
	bool several = !strcmp(how, "reuse") || multicast;
	const char *to = "-", *interface = "";
	int fd, other = -1;
	char what[REQUEST];
	pid_t pid[3] = {};

	/*
	 * The kernel goes through sockets from the last to come to the first, of IPv6 the other
	 * way round, and gives the packet itself to the first it has found, when all others
	 * have copies. So deaf ones are first and second in either case, before those who read:
	 * the packet and a copy find no room.
	 */
	if (deaf)
		deaf_sockets(host);
	fd = datagrams_on(family_of(host), PORT_HERE, several);
	if (!strcmp(how, "gro"))
		set(fd, IPPROTO_UDP, UDP_GRO, 1);
	if (several) {
		other = datagrams_on(family_of(host), PORT_HERE, true);
		pid[0] = reader("c", fd, "plain", count);
		pid[1] = reader("d", other, "plain", count);
		if (multicast) {
			to = family_of(host) == AF_INET6 ? GROUP6 : GROUP;
			interface = " eth0";
			join(fd, family_of(host), joined());
			join(other, family_of(host), joined());
		}
		if (deaf)
			deaf_sockets(host);
	} else if (!strcmp(how, "readers")) {
		pid[0] = reader("p", fd, "plain", count / 5);
		pid[1] = reader("c", fd, "plain", count / 5 * 2);
		pid[2] = reader("d", fd, "plain", count - count / 5 * 3);
	} else if (strcmp(how, "peek") && strcmp(how, "unread")) {
		pid[0] = reader("c", fd, how, count);
	}
	snprintf(what, sizeof(what), "udp %s %d %d %d %d%s", to, PORT_HERE, count, size,
		 !strcmp(how, "reuse") ? 16 : 1, interface);
	ask(host, what);
	if (!strcmp(how, "peek")) {
		pid_t peeker = start();

		if (!peeker) {
			enter("d");
			for (int i = 0; i < 10; i++)
				if (recv(fd, buffer, CHUNK, MSG_PEEK) != size)
					err(1, "peek");
			_exit(0);
		}
		finish(peeker);
		pid[0] = reader("c", fd, "plain", count);
	}
	for (int i = 0; i < 3; i++)
		if (pid[i])
			finish(pid[i]);
	/* When all have come, the socket is closed. */
	if (!strcmp(how, "unread"))
		usleep(500000);
}

static void udp_send(const char *host, const char *how, int count, int size)
{
	struct mmsghdr msg[BATCH] = {};
	struct iovec iov = { buffer, size };
	struct sockaddr_storage to;
	socklen_t length = address(host, PORT_SINK, &to);
	struct io_uring ring;
	int fd, n;

	enter("c");
	fd = new_socket(to.ss_family, SOCK_DGRAM, 0);
	for (int i = 0; i < BATCH; i++)
		msg[i].msg_hdr = (struct msghdr){
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_name = &to,
			.msg_namelen = length,
		};
	if (by_ring(how))
		ring_init(&ring, how);
	if (!strcmp(how, "gso"))
		set(fd, IPPROTO_UDP, UDP_SEGMENT, size);
	for (int sent = 0; sent < count; sent += n) {
		if (!strcmp(how, "mmsg")) {
			n = sendmmsg(fd, msg, count - sent < BATCH ? count - sent : BATCH, 0);
		} else if (!strcmp(how, "uring")) {
			io_uring_prep_sendmsg(io_uring_get_sqe(&ring), fd, &msg[0].msg_hdr, 0);
			n = ring_do(&ring) == size;
		} else if (!strcmp(how, "gso")) {
			n = count - sent < BATCH ? count - sent : BATCH;
			if (sendto(fd, buffer, n * size, 0, (struct sockaddr *)&to, length) < 0)
				n = -1;
		} else {
			n = sendto(fd, buffer, size, 0, (struct sockaddr *)&to, length) == size;
		}
		if (n <= 0)
			err(1, "%s", how);
		/* No more than what its queue holds. */
		pause_after(sent / BATCH * 2 + 1);
	}
	printf("c %d\n", count);
}

/*
 * looped HOST COUNT SIZE: a task in `c` sends to everybody by eth0, and one in `d` is among them,
 * on the same host
 */
static int run_looped(char **arg)
{
	int family = family_of(arg[0]), count = atoi(arg[1]), size = atoi(arg[2]);
	int here = datagrams_on(family, PORT_HERE, true), interface = if_nametoindex("eth0"), fd;
	struct ip_mreqn by = { .imr_ifindex = interface };
	struct sockaddr_storage to;
	socklen_t length = address(family == AF_INET6 ? GROUP6 : GROUP, PORT_HERE, &to);
	pid_t pid;

	join(here, family, "eth0");
	pid = reader("d", here, "plain", count);
	enter("c");
	fd = new_socket(family, SOCK_DGRAM, 0);
	if (family == AF_INET6)
		set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, interface);
	else if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)))
		err(1, "IP_MULTICAST_IF");
	for (int i = 0; i < count; i++) {
		if (sendto(fd, buffer, size, 0, (struct sockaddr *)&to, length) != size)
			err(1, "sending to all");
		pause_after(i);
	}
	finish(pid);
	return 0;
}

/* member INTERFACE COUNT: a task in `d` reads what is sent to everybody by its interface */
static int run_member(char **arg)
{
	int fd = datagrams_on(AF_INET, PORT_HERE, true);

	join(fd, AF_INET, arg[0]);
	enter("d");
	printf("there %d\n", drain(fd, "plain", atoi(arg[1])));
	return 0;
}

/* udp HOST WAY HOW COUNT SIZE */
static int run_udp(char **arg)
{
	(strcmp(arg[1], "send") ? udp_receive : udp_send)(arg[0], arg[2], atoi(arg[3]),
							  atoi(arg[4]));
	return 0;
}

/* fast HOST COUNT SIZE: connections that come with data */
static int run_fast(char **arg)
{
	int listener = listen_on(PORT_HERE, IPPROTO_TCP, false), count = atoi(arg[1]), syns = 0;
	char what[REQUEST];
	long got = 0, n;
	pid_t pid;

	set(listener, IPPROTO_TCP, TCP_FASTOPEN, 16);
	set(listener, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, 1);
	pid = start();
	if (!pid) {
		enter("c");
		for (int i = 0; i < count; i++) {
			int fd = accept(listener, NULL, NULL);
			struct tcp_info info = {};
			socklen_t length = sizeof(info);

			if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length))
				err(1, "accept");
			syns += !!(info.tcpi_options & TCPI_OPT_SYN_DATA);
			while ((n = recv(fd, buffer, CHUNK, 0)) > 0)
				got += n;
			close(fd);
		}
		printf("c %ld\nsyns %d\n", got, syns);
		fflush(stdout);
		_exit(0);
	}
	snprintf(what, sizeof(what), "fast %d %d %s", PORT_HERE, count, arg[2]);
	ask(arg[0], what);
	finish(pid);
	return 0;
}

/* What the peer sends is for nobody here, who would know when all has come. */
static int ask_and_wait(const char *host, const char *what)
{
	ask(host, what);
	usleep(500000);
	return 0;
}

/* flood HOST TO PORT COUNT SIZE: the peer sends, and nobody here reads */
static int run_flood(char **arg)
{
	char what[REQUEST];

	snprintf(what, sizeof(what), "udp %s %s %s %s 1", arg[1], arg[2], arg[3], arg[4]);
	return ask_and_wait(arg[0], what);
}

/* segments HOST TO COUNT SIZE: the peer sends a TCP stream that is for nobody here */
static int run_segments(char **arg)
{
	char what[REQUEST];

	snprintf(what, sizeof(what), "segments %s %s %s", arg[1], arg[2], arg[3]);
	return ask_and_wait(arg[0], what);
}

/* answered HOST WHAT...: the kernel alone answers what the peer sends */
static int run_answered(char **arg)
{
	char what[REQUEST];

	snprintf(what, sizeof(what), "%s %s %s", arg[1], arg[2], arg[3]);
	return ask_and_wait(arg[0], what);
}

/* spy: taps all packets, as tcpdump did when it was young, and reads none */
static int run_spy(char **arg)
{
	(void)arg;
	new_socket(AF_PACKET, SOCK_PACKET, htons(ETH_P_ALL));
	pause();
	return 0;
}

/* frames HOST COUNT SIZE: the peer sends to OTHER */
static int run_frames(char **arg)
{
	char what[REQUEST];

	snprintf(what, sizeof(what), "other eth0 %s %s", arg[1], arg[2]);
	return ask_and_wait(arg[0], what);
}

/* full HOST COUNT SIZE: more comes than a socket of `c` has room for, which is read then. */
static int run_full(char **arg)
{
	char what[REQUEST];
	int fd, size;

	enter("c");
	fd = datagrams_on(AF_INET, PORT_HERE, false);
	size = 16 << 10;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)))
		err(1, "SO_RCVBUF");
	snprintf(what, sizeof(what), "udp - %d %s %s 1", PORT_HERE, arg[1], arg[2]);
	ask(arg[0], what);
	usleep(500000);
	printf("c %d\n", drain(fd, "plain", atoi(arg[1])));
	return 0;
}

/*
 * spin HOST: a task in `d` that has had one datagram of 1000 bytes waits for another,
 * and polls the device for all meanwhile
 */
static int run_spin(char **arg)
{
	char what[REQUEST];
	int fd;

	until_term();
	enter("d");
	fd = datagrams_on(family_of(arg[0]), PORT_HERE + 1, false);
	set(fd, SOL_SOCKET, SO_BUSY_POLL, 100000);
	set(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, 1);
	snprintf(what, sizeof(what), "udp - %d 1 1000 1", PORT_HERE + 1);
	ask(arg[0], what);
	set_timeout(fd, 10);
	while (!ended)
		recv(fd, buffer, CHUNK, 0);
	return 0;
}

/* ---- without a transport ---- */

/* raw HOST WAY COUNT SIZE */
static int run_raw(char **arg)
{
	int count = atoi(arg[2]), size = atoi(arg[3]);
	struct sockaddr_storage to;
	socklen_t length = address(arg[0], 0, &to);
	char what[REQUEST];
	int fd;

	enter("c");
	fd = new_socket(to.ss_family, SOCK_RAW, PROTOCOL);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20);
	if (!strcmp(arg[1], "receive")) {
		snprintf(what, sizeof(what), "raw %d %d", count, size);
		ask(arg[0], what);
		printf("c %d\n", drain(fd, "plain", count));
		return 0;
	}
	for (int i = 0; i < count; i++) {
		send_raw(fd, &to, length, size);
		pause_after(i);
	}
	printf("c %d\n", count);
	return 0;
}

/*
 * refused HOST COUNT SIZE: two have sockets for the same packets, of whom the one that is asked
 * first, in `d`, has a filter that takes none.
 */
static int run_refused(char **arg)
{
	int count = atoi(arg[1]), size = atoi(arg[2]), fd;
	char what[REQUEST];
	pid_t pid;

	enter("c");
	fd = new_socket(family_of(arg[0]), SOCK_RAW, PROTOCOL);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20);
	pid = start();
	if (!pid) {
		enter("d");
		lose_all(new_socket(family_of(arg[0]), SOCK_RAW, PROTOCOL));
		snprintf(what, sizeof(what), "raw %d %d", count, size);
		ask(arg[0], what);
		pause();
	}
	printf("c %d\n", drain(fd, "plain", count));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

/* icmp HOST raw|ping COUNT SIZE: requests, and their answers */
static int run_icmp(char **arg)
{
	int count = atoi(arg[2]), size = atoi(arg[3]), got = 0;
	struct sockaddr_storage to;
	socklen_t length = address(arg[0], 0, &to);
	bool six = to.ss_family == AF_INET6, raw = !strcmp(arg[1], "raw");
	struct icmphdr *echo = (struct icmphdr *)buffer;
	struct icmp6_filter filter;
	int fd;

	enter("c");
	fd = new_socket(to.ss_family, raw ? SOCK_RAW : SOCK_DGRAM,
			six ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
	set_timeout(fd, 1000);
	if (raw && six) {
		ICMP6_FILTER_SETBLOCKALL(&filter);
		ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
		if (setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof(filter)))
			err(1, "ICMP6_FILTER");
	}
	for (int i = 0; i < count; i++) {
		memset(buffer, 0, sizeof(*echo));
		echo->type = six ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
		echo->un.echo.sequence = htons(i);
		if (!six)
			echo->checksum = checksum(buffer, sizeof(*echo) + size);
		if (sendto(fd, buffer, sizeof(*echo) + size, 0, (struct sockaddr *)&to,
			   length) < 0)
			err(1, "icmp");
		got += recv(fd, buffer, CHUNK, 0) > size;
		memset(buffer, 0, 100);
	}
	printf("c %d\n", got);
	return 0;
}

/* The ring is the kernel's second kind; a frame has room for a packet and its header. */
static int ring_receive(int fd, int count)
{
	struct tpacket_req size = {
		.tp_block_size = 1 << 16,
		.tp_block_nr = 32,
		.tp_frame_size = 2048,
		.tp_frame_nr = 32 << 5,
	};
	struct pollfd poll_in = { .fd = fd, .events = POLLIN };
	char *ring;
	int got = 0;

	set(fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2);
	if (setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &size, sizeof(size)))
		err(1, "PACKET_RX_RING");
	ring = mmap(NULL, size.tp_block_size * size.tp_block_nr, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		err(1, "mmap");
	while (got < count) {
		volatile struct tpacket2_hdr *frame = (void *)(ring + got * 2048);

		if (frame->tp_status & TP_STATUS_USER)
			got++;
		else if (poll(&poll_in, 1, 1000) <= 0)
			break;
	}
	return got;
}

/*
 * packet INTERFACE HOST WAY COUNT SIZE: with a type of its own, by eth0 or by its VLAN; WAY
 * may be `ring`
 */
static int run_packet(char **arg)
{
	const char *interface = *arg++;
	struct sockaddr_ll link = link_of(interface);
	int count = atoi(arg[2]), size = atoi(arg[3]), fd;
	bool ring = !strcmp(arg[1], "ring");
	char what[REQUEST];
	pid_t asker;

	enter("c");
	fd = new_socket(AF_PACKET, SOCK_DGRAM, 0);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20);
	if (!strcmp(arg[1], "send")) {
		for (int i = 0; i < count; i++) {
			if (sendto(fd, buffer, size, 0, (struct sockaddr *)&link,
				   sizeof(link)) != size)
				err(1, "packet");
			pause_after(i);
		}
		printf("c %d\n", count);
		return 0;
	}
	asker = start();
	if (!asker) {
		usleep(200000);
		snprintf(what, sizeof(what), "%s eth0 %d %d",
			 strcmp(interface, "eth0") ? "tagged" : "packet", count, size);
		ask(arg[0], what);
		_exit(0);
	}
	if (bind(fd, (struct sockaddr *)&link, sizeof(link)))
		err(1, "bind");
	printf("c %d\n", ring ? ring_receive(fd, count) : drain(fd, "plain", count));
	finish(asker);
	return 0;
}

/* A socket of a task in `d` that is told to end, for whatever comes and goes by an interface */
static int tap_on(const char *interface, bool refuse)
{
	struct sockaddr_ll link = link_of(interface);
	int fd;

	until_term();
	enter("d");
	fd = new_socket(AF_PACKET, SOCK_RAW, 0);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20);
	set_timeout(fd, 50);
	if (refuse)
		lose_all(fd);
	link.sll_protocol = htons(refuse ? ETH_P_IP : ETH_P_ALL);
	if (bind(fd, (struct sockaddr *)&link, sizeof(link)))
		err(1, "bind");
	return fd;
}

/* tap: a task in `d` reads whatever comes and goes by eth0, until it is told to end */
/* Listens to eth0: to all, or to IP alone, which it then refuses */
static int listen_in(bool refuse)
{
	int fd = tap_on("eth0", refuse);
	unsigned long packets = 0, bytes = 0;
	ssize_t n;

	while (!ended) {
		n = recv(fd, buffer, CHUNK, 0);
		if (n <= 0)
			continue;
		packets++;
		bytes += n;
	}
	printf("packets %lu\ntapped %lu\n", packets, bytes);
	return 0;
}

static int run_tap(char **arg)
{
	(void)arg;
	return listen_in(false);
}

static int run_refusing_tap(char **arg)
{
	(void)arg;
	return listen_in(true);
}

/* holding-tap INTERFACE: has a clone of each packet in its socket until it is told to end */
static int run_holding_tap(char **arg)
{
	int fd = tap_on(arg[0], false);
	struct sockaddr_ll link;
	unsigned long out = 0;
	socklen_t length;

	while (!ended)
		usleep(10000);
	for (;;) {
		length = sizeof(link);
		if (recvfrom(fd, buffer, CHUNK, MSG_DONTWAIT, (struct sockaddr *)&link,
			     &length) < 0)
			break;
		out += link.sll_pkttype == PACKET_OUTGOING;
	}
	printf("held %lu\n", out);
	return 0;
}

/*
 * One of a virtual machine's ends: what it reads and writes are whole packets. A path is that of
 * a macvtap.
 */
static int open_tap(const char *name)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	const char *path = *name == '/' ? name : "/dev/net/tun";
	int fd = open(path, O_RDWR), all = INT_MAX;

	if (fd < 0)
		err(1, "%s", path);
	if (*name != '/')
		snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	/* The latter as a machine does, too: as much as there is may be under way. */
	if (ioctl(fd, TUNSETIFF, &request) || ioctl(fd, TUNSETSNDBUF, &all))
		err(1, "%s", name);
	return fd;
}

/* ---- the kernel's part of virtio, at one of a machine's ends ---- */

#define RING		64
#define ROOM		2048		/* for a packet, with its header */
#define HEADER		10		/* bytes: struct virtio_net_hdr */

static struct queue {
	struct vring ring;
	char *room;			/* RING of them */
	int kick, call;
	__u16 seen;			/* of what is used */
} queues[2];				/* what comes in, what goes out */

static void offer(struct queue *q, int i, size_t bytes, int flags)
{
	q->ring.desc[i] = (struct vring_desc){
		.addr = (unsigned long)(q->room + i * ROOM),
		.len = bytes,
		.flags = flags,
	};
	q->ring.avail->ring[q->ring.avail->idx % RING] = i;
	__atomic_store_n(&q->ring.avail->idx, q->ring.avail->idx + 1, __ATOMIC_RELEASE);
	if (eventfd_write(q->kick, 1))
		err(1, "eventfd");
}

static void vhost(int vhost, unsigned long request, const void *arg)
{
	if (ioctl(vhost, request, arg))
		err(1, "vhost %lx", request);
}

static void vhost_start(int tap)
{
	size_t bytes = 2 * (vring_size(RING, 4096) + 4096 + RING * ROOM);
	__u64 features = 1ULL << VHOST_NET_F_VIRTIO_NET_HDR;
	int fd = open("/dev/vhost-net", O_RDWR);
	struct {
		struct vhost_memory memory;
		struct vhost_memory_region region;
	} all = { .memory.nregions = 1 };
	char *at;

	if (fd < 0)
		err(1, "/dev/vhost-net");
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		err(1, "mmap");
	all.region = (struct vhost_memory_region){
		.guest_phys_addr = (unsigned long)at,
		.memory_size = bytes,
		.userspace_addr = (unsigned long)at,
	};
	vhost(fd, VHOST_SET_OWNER, NULL);
	vhost(fd, VHOST_SET_FEATURES, &features);
	vhost(fd, VHOST_SET_MEM_TABLE, &all);
	for (unsigned int i = 0; i < 2; i++) {
		struct queue *q = &queues[i];
		struct vhost_vring_state size = { i, RING }, base = { i, 0 };
		struct vhost_vring_addr addr = { .index = i };
		struct vhost_vring_file file = { .index = i };

		vring_init(&q->ring, RING, at, 4096);
		at += (vring_size(RING, 4096) + 4095) & ~4095UL;
		q->room = at;
		at += RING * ROOM;
		addr.desc_user_addr = (unsigned long)q->ring.desc;
		addr.avail_user_addr = (unsigned long)q->ring.avail;
		addr.used_user_addr = (unsigned long)q->ring.used;
		q->kick = eventfd(0, 0);
		q->call = eventfd(0, EFD_NONBLOCK);
		vhost(fd, VHOST_SET_VRING_NUM, &size);
		vhost(fd, VHOST_SET_VRING_BASE, &base);
		vhost(fd, VHOST_SET_VRING_ADDR, &addr);
		file.fd = q->kick;
		vhost(fd, VHOST_SET_VRING_KICK, &file);
		file.fd = q->call;
		vhost(fd, VHOST_SET_VRING_CALL, &file);
		file.fd = tap;
		vhost(fd, VHOST_NET_SET_BACKEND, &file);
	}
	for (int i = 0; i < RING; i++)
		offer(&queues[0], i, ROOM, VRING_DESC_F_WRITE);
}

static __u16 used(struct queue *q)
{
	return __atomic_load_n(&q->ring.used->idx, __ATOMIC_ACQUIRE);
}

static void vhost_send(size_t bytes)
{
	struct queue *q = &queues[1];
	int i = q->ring.avail->idx % RING;

	while ((__u16)(q->ring.avail->idx - used(q)) >= RING)
		usleep(100);
	memset(q->room + i * ROOM, 0, HEADER);
	memcpy(q->room + i * ROOM + HEADER, buffer, bytes);
	offer(q, i, HEADER + bytes, 0);
}

/* What has come, in the buffer; 0: nothing has. */
static size_t vhost_receive(void)
{
	struct queue *q = &queues[0];
	struct vring_used_elem *e;
	eventfd_t calls;
	size_t bytes;

	if (q->seen == used(q)) {
		eventfd_read(q->call, &calls);
		if (q->seen == used(q))
			return 0;
	}
	e = &q->ring.used->ring[q->seen++ % RING];
	bytes = e->len - HEADER;
	memcpy(buffer, q->room + e->id * ROOM + HEADER, bytes);
	offer(q, e->id, ROOM, VRING_DESC_F_WRITE);
	return bytes;
}

/*
 * machine A B plain|vhost: a task in `p` is a virtual machine with an interface at A, by itself or
 * by the kernel's part of virtio, and what runs in it is what uses B. It hands on packets from
 * one to the other until it is told to end.
 */
static int run_machine(char **arg)
{
	bool by_vhost = !strcmp(arg[2], "vhost");
	struct pollfd ends[2];
	int fd[2];
	ssize_t n;

	until_term();
	enter("p");
	for (int i = 0; i < 2; i++) {
		fd[i] = open_tap(arg[i]);
		ends[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	}
	if (by_vhost) {
		vhost_start(fd[0]);
		ends[0].fd = queues[0].call;
	}
	while (!ended) {
		if (poll(ends, 2, 50) <= 0)
			continue;
		for (int i = 0; i < 2; i++) {
			if (!(ends[i].revents & POLLIN))
				continue;
			n = by_vhost && !i ? (ssize_t)vhost_receive() : read(fd[i], buffer, CHUNK);
			if (n > 0 && by_vhost && i)
				vhost_send(n);
			/* One that is down takes nothing. */
			else if (n > 0 && write(fd[!i], buffer, n) != n && errno != EIO)
				err(1, "%s", arg[!i]);
		}
	}
	return 0;
}

/* ---- looking, and what runs beside ---- */

/* Packets of all devices with a parent: they are quiet if it stays as it is. */
static unsigned long packets_moved(FILE *to)
{
	unsigned long rx_bytes, rx, tx_bytes, tx, sum = 0;
	FILE *f = fopen("/proc/net/dev", "r");
	char line[512], name[32];

	if (!f)
		err(1, "/proc/net/dev");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %31[^:]: %lu %lu %*u %*u %*u %*u %*u %*u %lu %lu", name,
			   &rx_bytes, &rx, &tx_bytes, &tx) != 5 || strncmp(name, "eth", 3))
			continue;
		sum += rx + tx;
		if (to)
			fprintf(to, "if %s rx_bytes=%lu rx_packets=%lu tx_bytes=%lu "
				"tx_packets=%lu\n", name, rx_bytes, rx, tx_bytes, tx);
	}
	fclose(f);
	return sum;
}

static void copy_lines(FILE *to, const char *prefix, const char *file)
{
	FILE *f = fopen(file, "r");
	char line[8192];		/* the names of TCP's counters */

	if (!f)
		err(1, "%s", file);
	while (fgets(line, sizeof(line), f))
		fprintf(to, "%s %s", prefix, line);
	fclose(f);
}

static void look(const char *file)
{
	static const char *const group[] = { "ask", "p", "c", "d", "idle" };
	FILE *to = fopen(file, "w");
	char name[128];

	if (!to)
		err(1, "%s", file);
	for (size_t i = 0; i < ARRAY_SIZE(group); i++) {
		snprintf(name, sizeof(name), "/sys/fs/cgroup/net/%s/memio.stat", group[i]);
		copy_lines(to, group[i], name);
	}
	copy_lines(to, "net", "/sys/fs/cgroup/net/memio.stat");
	copy_lines(to, "root", "/sys/fs/cgroup/memio.stat");
	packets_moved(to);
	copy_lines(to, "tcp", "/proc/net/netstat");
	if (getenv("BOX")) {
		snprintf(name, sizeof(name), "/proc/%s/net/netstat", getenv("BOX"));
		copy_lines(to, "tcp", name);
	}
	if (fclose(to))
		err(1, "%s", file);
}

/* look FILE: at what memio, the interfaces and TCP have counted */
static int run_look(char **arg)
{
	look(arg[0]);
	return 0;
}

/*
 * quiet: waits until all has been said: nothing has come or gone for 120 ms, which is longer than
 * TCP waits with an acknowledgment.
 */
static int run_quiet(char **arg)
{
	unsigned long now = packets_moved(NULL), before;

	(void)arg;
	for (int i = 0; i < 100; i++) {
		usleep(120000);
		before = now;
		now = packets_moved(NULL);
		if (now == before)
			return 0;
	}
	errx(1, "there is no end of packets");
}

/* watch: counts looks at the root, and how many of them were bad */
static int run_watch(char **arg)
{
	unsigned long long last_to[2] = {}, last_from[2] = {}, to, from;
	unsigned long looks = 0, bad = 0;
	long long left_to, left_from;
	char line[1024];
	FILE *in;
	int dev;

	(void)arg;
	until_term();
	while (!ended) {
		in = fopen("/sys/fs/cgroup/memio.stat", "r");
		while (in && fgets(line, sizeof(line), in)) {
			if (sscanf(line, "0000:00:0%d.0 io_to=%llu io_from=%llu mem_read=%*u "
				   "mem_write=%*u unpriced=%*u unclaimed_to=%lld "
				   "unclaimed_from=%lld", &dev, &to, &from, &left_to,
				   &left_from) != 5 || dev < 3 || dev > 4)
				continue;
			dev -= 3;
			looks++;
			if (left_to < 0 || left_from < 0 || to < last_to[dev] ||
			    from < last_from[dev]) {
				bad++;
				printf("# %s", line);
			}
			last_to[dev] = to;
			last_from[dev] = from;
		}
		if (in)
			fclose(in);
		usleep(100000);
	}
	printf("looks %lu\nbad %lu\n", looks, bad);
	return 0;
}

/* burn: two tasks in `idle` that do nothing but compute */
static int run_burn(char **arg)
{
	(void)arg;
	enter("idle");
	until_term();
	if (nice(19) == -1)
		err(1, "nice");
	start();
	while (!ended)
		;
	return 0;
}

static const struct command {
	const char *name;
	int (*run)(char **arg);
	int args;
} commands[] = {
	{ "peer", run_peer, 0 },
	{ "tcp", run_tcp, 5 },		/* HOST WAY HOW HAND BYTES */
	{ "mptcp", run_mptcp, 5 },
	{ "reuse", run_reuse_tcp, 2 },	/* HOST BYTES */
	{ "shared", run_shared, 4 },	/* HOST WAY TURNS tcp|mptcp */
	{ "connects", run_connects, 2 },	/* HOST COUNT */
	{ "resets", run_resets, 2 },	/* HOST COUNT */
	{ "octets", run_octets, 1 },	/* HOST */
	{ "unread", run_unread, 6 },	/* HOST BYTES READ DIR NAME GROUP */
	{ "exit", run_exit, 2 },	/* HOST BYTES */
	{ "queued", run_queued, 5 },	/* HOST tcp|mptcp|udp COUNT SIZE other|GROUP */
	{ "collapse", run_collapse, 2 },	/* HOST BYTES */
	{ "udp", run_udp, 5 },		/* HOST WAY HOW COUNT SIZE */
	{ "member", run_member, 2 },	/* INTERFACE COUNT */
	{ "looped", run_looped, 3 },	/* HOST COUNT SIZE */
	{ "flood", run_flood, 5 },	/* HOST TO PORT COUNT SIZE */
	{ "segments", run_segments, 4 },	/* HOST TO COUNT SIZE */
	{ "spy", run_spy, 0 },
	{ "answered", run_answered, 4 },	/* HOST echo|knock COUNT SIZE|PORT */
	{ "frames", run_frames, 3 },	/* HOST COUNT SIZE */
	{ "full", run_full, 3 },	/* HOST COUNT SIZE */
	{ "spin", run_spin, 1 },	/* HOST */
	{ "raw", run_raw, 4 },		/* HOST WAY COUNT SIZE */
	{ "refused", run_refused, 3 },	/* HOST COUNT SIZE */
	{ "icmp", run_icmp, 4 },	/* HOST raw|ping COUNT SIZE */
	{ "packet", run_packet, 5 },	/* INTERFACE HOST WAY COUNT SIZE */
	{ "fast", run_fast, 3 },
	{ "tap", run_tap, 0 },
	{ "refusing-tap", run_refusing_tap, 0 },
	{ "holding-tap", run_holding_tap, 1 },	/* INTERFACE */
	{ "machine", run_machine, 3 },	/* A B plain|vhost */
	{ "look", run_look, 1 },	/* FILE */
	{ "quiet", run_quiet, 0 },
	{ "watch", run_watch, 0 },
	{ "burn", run_burn, 0 },
};

int main(int argc, char **argv)
{
	memset(buffer, 'm', sizeof(buffer));
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, argv[1]) && commands[i].args == argc - 2)
			return commands[i].run(argv + 2);
	errx(2, "usage: netpaths COMMAND [ARG...]");
}

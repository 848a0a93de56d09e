// SPDX-License-Identifier: GPL-2.0
/*
 * init: the first process in the guest of ci/vm, alone in its initramfs.
 *
 * 1. Makes the file system: the host's / over 9p, read-only, under an overlay
 *    whose upper layer is a tmpfs; then what a kernel offers (proc, sys, dev,
 *    cgroup2 with every controller on, debugfs, ...). Network devices get their
 *    addresses by the last byte of their MAC address, so that the order in
 *    which drivers find them does not matter.
 * 2. Tells vmio on the host, over a virtio-serial port (protocol.h), that it
 *    is ready, and receives the command.
 * 3. Runs it with three pipes, or a terminal, and carries the bytes.
 * 4. When the command has ended: sends what it wrote, then its status, kills
 *    what is left, and switches the machine off. Disks are not synced, as they
 *    end with the machine, and as late writes would only blur the ledger.
 *
 * In virtual time steps 2 and 4 take no answer of the host: what it has to say is in the
 * initramfs (protocol.h).
 *
 * With --init systemd, step 1 ends with systemd as the first process; steps 2 to 4 are those of
 * memio-init, the same program, in a service (ci/guest/systemd).
 *
 * Where something essential fails, FAIL tells the host why. Something optional
 * that this kernel lacks (debugfs, say) is noted in the kernel log.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#include "protocol.h"

#define TOOLS	"/run/memio/bin"	/* first in PATH */

static int kmsg = -1;
static int port = -1;
static struct vm_queue in, out;
static bool virtual_time;	/* the host says nothing over the port */
static struct vm_queue run_request, run_stdin;

static __attribute__((format(printf, 1, 2))) void note(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	n = snprintf(line, sizeof(line), "<6>memio-init: ");
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	if (kmsg >= 0 && write(kmsg, line, strlen(line)) < 0)
		return;		/* nowhere left to say it */
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void nap(void)
{
	usleep(2000);
}

/*
 * NVMe's queues stay frozen when the kernel goes down. To lockdep a frozen queue is a lock that is
 * held, and then CPUs are kept from coming and going, with another. perf takes a mutex when CPUs
 * come, and holds it while it writes what a user reads, which may take IO of that queue: once all
 * that was seen, lockdep of Linux 6.12 has a circle, though nobody else is left. So it has to prove
 * no more.
 */
static void stop_proving(void)
{
	int fd = open("/proc/sys/kernel/prove_locking", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;		/* a kernel without it */
	if (write(fd, "0", 1) != 1)
		note("prove_locking: %m");
	close(fd);
}

static __attribute__((noreturn)) void power_off(void)
{
	kill(-1, SIGKILL);
	stop_proving();
	reboot(RB_POWER_OFF);
	reboot(RB_AUTOBOOT);	/* no ACPI: QEMU ends on a reset, too */
	for (;;)
		pause();
}

/*
 * Send what is queued and wait for BYE: the host has it all. In virtual time it has what is
 * sent.
 */
static __attribute__((noreturn)) void finish(void)
{
	long end = now_ms() + 10000;
	struct vm_head h;
	char *data;

	while (now_ms() < end) {
		if (virtual_time && !out.len)
			power_off();
		struct pollfd p = { port, POLLIN | (out.len ? POLLOUT : 0), 0 };

		if (poll(&p, 1, 100) <= 0)
			continue;
		if (p.revents & POLLHUP)
			break;
		if (p.revents & POLLOUT)
			vm_drain(&out, port, VM_CHUNK);
		if (p.revents & POLLIN)
			vm_fill(&in, port, VM_CHUNK);
		while (vm_next(&in, &h, &data) > 0)
			if (h.type == VM_BYE)
				power_off();
	}
	note("the host did not acknowledge the end");
	power_off();
}

static __attribute__((noreturn, format(printf, 1, 2))) void fail(const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note("failed: %s", text);
	if (port < 0)
		power_off();
	vm_send(&out, VM_FAIL, 0, text, strlen(text));
	finish();
}

static void make_dirs(const char *path, mode_t mode)
{
	char p[PATH_MAX], *s;

	snprintf(p, sizeof(p), "%s", path);
	for (s = p + 1; *s; s++)
		if (*s == '/') {
			*s = '\0';
			mkdir(p, 0755);
			*s = '/';
		}
	mkdir(p, mode);
}

static bool put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static ssize_t get_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return n;
}

/* Is the host's systemd to be the first process? The kernel makes that word of its line this. */
static bool by_systemd(void)
{
	const char *name = getenv("MEMIO_INIT");

	return name && !strcmp(name, "systemd");
}

/* ---- file systems ---- */

static void must_mount(const char *src, const char *dir, const char *type, unsigned long flags,
		       const char *opts)
{
	make_dirs(dir, 0755);
	if (mount(src, dir, type, flags, opts))
		fail("cannot mount %s on %s (%s): %s", type, dir, opts ? opts : "",
		     strerror(errno));
}

static void may_mount(const char *type, const char *dir, unsigned long flags, const char *opts)
{
	mkdir(dir, 0755);
	if (mount(type, dir, type, flags, opts))
		note("no %s on %s: %s", type, dir, strerror(errno));
}

/* The program stays in memory; what else is needed of the initramfs is copied out of it. */
static void install_tool(const char *from, const char *name)
{
	char to[PATH_MAX], buf[65536];
	int src, dst;
	ssize_t n;

	snprintf(to, sizeof(to), "/root" TOOLS "/%s", name);
	src = open(from, O_RDONLY | O_CLOEXEC);
	dst = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (src < 0 || dst < 0)
		fail("cannot install %s: %s", name, strerror(errno));
	while ((n = read(src, buf, sizeof(buf))) > 0)
		if (write(dst, buf, n) != n)
			fail("cannot install %s: %s", name, strerror(errno));
	close(src);
	close(dst);
}

/* What the host has put into the initramfs; false: nothing */
static bool take_file(const char *name, struct vm_queue *q)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = vm_fill(q, fd, 1 << 20)) > 0)
		;
	if (n < 0)
		fail("%s: %s", name, strerror(errno));
	close(fd);
	unlink(name);
	return true;
}

/*
 * Scripts that set PATH find the tool in /usr/bin as the guest sees it: the link is in the upper
 * layer of the overlay. A file of that name on the host stays what the guest finds.
 */
static void link_tool(const char *name)
{
	char to[PATH_MAX], from[PATH_MAX];

	snprintf(to, sizeof(to), TOOLS "/%s", name);
	snprintf(from, sizeof(from), "/root/usr/bin/%s", name);
	if (symlink(to, from))
		note("%s: %s", from, strerror(errno));
}

static void make_root(void)
{
	must_mount("tmpfs", "/over", "tmpfs", 0, "size=90%,mode=755");
	make_dirs("/over/upper", 0755);
	make_dirs("/over/work", 0755);
	/* The host's access times would decide what the guest executes, in virtual time, too. */
	must_mount("root", "/host", "9p", MS_RDONLY | MS_NOATIME,
		   "trans=virtio,version=9p2000.L,msize=512000,cache=loose");
	must_mount("overlay", "/root", "overlay", MS_NOATIME,
		   "lowerdir=/host,upperdir=/over/upper,workdir=/over/work");

	must_mount("tmpfs", "/root/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755");
	make_dirs("/root/run/lock", 01777);
	make_dirs("/root" TOOLS, 0755);
	install_tool("/bin/ledger-mark", "ledger-mark");
	link_tool("ledger-mark");
	if (by_systemd()) {
		install_tool("/init", "memio-init");
		install_tool("/bin/systemd", "systemd");
	}

	if (mount("/dev", "/root/dev", NULL, MS_MOVE, NULL) ||
	    mount("/proc", "/root/proc", NULL, MS_MOVE, NULL) ||
	    mount("/sys", "/root/sys", NULL, MS_MOVE, NULL))
		fail("cannot move /dev, /proc and /sys: %s", strerror(errno));
	if (chdir("/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot("."))
		fail("cannot change root: %s", strerror(errno));

	umask(0);
	must_mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		   "gid=5,mode=620,ptmxmode=666");
	must_mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
	umask(022);
	if (symlink("/proc/self/fd", "/dev/fd") || symlink("fd/0", "/dev/stdin") ||
	    symlink("fd/1", "/dev/stdout") || symlink("fd/2", "/dev/stderr"))
		note("links in /dev: %s", strerror(errno));
	may_mount("mqueue", "/dev/mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	may_mount("hugetlbfs", "/dev/hugepages", MS_NOSUID | MS_NODEV, NULL);
	may_mount("debugfs", "/sys/kernel/debug", 0, NULL);
	may_mount("tracefs", "/sys/kernel/tracing", 0, NULL);
	may_mount("configfs", "/sys/kernel/config", 0, NULL);
	may_mount("cgroup2", "/sys/fs/cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

static void enable_controllers(void)
{
	char list[512], name[64], *save, *p;

	get_file("/sys/fs/cgroup/cgroup.controllers", list, sizeof(list));
	for (p = strtok_r(list, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
		snprintf(name, sizeof(name), "+%s", p);
		if (!put_file("/sys/fs/cgroup/cgroup.subtree_control", name))
			note("cgroup controller %s: %s", p, strerror(errno));
	}
}

/* ---- network ---- */

/* Ours, and the peer's that is inside */
static const struct { const char *v4[2], *v6[2]; } address[] = {
	{ { "192.0.2.2", "192.0.2.1" }, { "2001:db8::2", "2001:db8::1" } },
	{ { "198.51.100.2", "198.51.100.1" }, { "2001:db8:1::2", "2001:db8:1::1" } },
	{ { "203.0.113.2", "203.0.113.1" }, { "2001:db8:2::2", "2001:db8:2::1" } },
};

#define NICS		(sizeof(address) / sizeof(address[0]))
#define NIC_MAC		"52:54:00:4d:49:"	/* and the index, as ci/vm gives it */
#define PEER_MAC	"52:54:00:4d:50:"

static void nic_sysctl(const char *nic, const char *key, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/%s", nic, key);
	if (!put_file(path, value))
		note("%s: %s", path, strerror(errno));
}

static void nic_up(int sock, const char *nic)
{
	struct ifreq r = { 0 };

	snprintf(r.ifr_name, IFNAMSIZ, "%s", nic);
	if (ioctl(sock, SIOCGIFFLAGS, &r))
		fail("%s: flags: %s", nic, strerror(errno));
	r.ifr_flags |= IFF_UP;
	if (ioctl(sock, SIOCSIFFLAGS, &r))
		fail("%s: up: %s", nic, strerror(errno));
}

static void nic_v4(int sock, const char *nic, const char *addr)
{
	struct ifreq r = { 0 };
	struct sockaddr_in *sin = (struct sockaddr_in *)&r.ifr_addr;

	snprintf(r.ifr_name, IFNAMSIZ, "%s", nic);
	sin->sin_family = AF_INET;
	inet_pton(AF_INET, addr, &sin->sin_addr);
	if (ioctl(sock, SIOCSIFADDR, &r))
		fail("%s: %s: %s", nic, addr, strerror(errno));
	inet_pton(AF_INET, "255.255.255.0", &sin->sin_addr);
	if (ioctl(sock, SIOCSIFNETMASK, &r))
		fail("%s: netmask: %s", nic, strerror(errno));
}

static void nic_v6(const char *nic, const char *addr)
{
	struct in6_ifreq r = { 0 };
	int sock = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (sock < 0) {
		note("no IPv6: %s", strerror(errno));
		return;
	}
	inet_pton(AF_INET6, addr, &r.ifr6_addr);
	r.ifr6_prefixlen = 64;
	r.ifr6_ifindex = if_nametoindex(nic);
	if (ioctl(sock, SIOCSIFADDR, &r))
		fail("%s: %s: %s", nic, addr, strerror(errno));
	close(sock);
}

static void nic_rename(int sock, const char *from, const char *to)
{
	struct ifreq r = { 0 };

	snprintf(r.ifr_name, IFNAMSIZ, "%s", from);
	snprintf(r.ifr_newname, IFNAMSIZ, "%s", to);
	if (strcmp(from, to) && ioctl(sock, SIOCSIFNAME, &r))
		fail("cannot rename %s to %s: %s", from, to, strerror(errno));
}

static bool nics[NICS], peer_nics[NICS];	/* which ones there are */

/*
 * The devices whose MAC address begins so, as NAME0, NAME1, ...: first out of the way, as eth0
 * may be the name of what is to be eth1. Which ones there are is in have.
 */
static void find_nics(int sock, const char *mac_start, const char *name, bool have[NICS])
{
	char path[300], mac[64], tmp[IFNAMSIZ];
	struct dirent *e;
	unsigned int i;
	DIR *d;

	d = opendir("/sys/class/net");
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/address", e->d_name);
		get_file(path, mac, sizeof(mac));
		if (strncmp(mac, mac_start, strlen(mac_start)))
			continue;
		i = strtoul(mac + strlen(mac_start), NULL, 16);
		/* One that is below another has its address. */
		snprintf(path, sizeof(path), "/sys/class/net/%s/master", e->d_name);
		if (i >= NICS || !access(path, F_OK))
			continue;
		snprintf(tmp, sizeof(tmp), "%s%u", name, i);
		nic_rename(sock, e->d_name, tmp);
		have[i] = true;
	}
	if (d)
		closedir(d);
}

static int net_socket(void)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (sock < 0)
		note("no network: %s", strerror(errno));
	return sock;
}

/* NAME0, NAME1, ... as eth0, eth1, ..., with their addresses */
static void nics_up(int sock, const char *name, const bool have[NICS], bool peer)
{
	char tmp[IFNAMSIZ], nic[IFNAMSIZ];
	unsigned int i;

	nic_up(sock, "lo");
	for (i = 0; i < NICS; i++) {
		if (!have[i])
			continue;
		snprintf(tmp, sizeof(tmp), "%s%u", name, i);
		snprintf(nic, sizeof(nic), "eth%u", i);
		nic_rename(sock, tmp, nic);
		/* An address must be good at once: nobody else is on this link. */
		nic_sysctl(nic, "accept_dad", "0");
		nic_sysctl(nic, "dad_transmits", "0");
		if (peer)
			nic_sysctl(nic, "router_solicitations", "0");
		nic_v4(sock, nic, address[i].v4[peer]);
		nic_up(sock, nic);
		nic_v6(nic, address[i].v6[peer]);
	}
}

/* Our devices, in the order of ci/vm's options */
static void make_network(void)
{
	int sock = net_socket();

	if (sock < 0)
		return;
	find_nics(sock, NIC_MAC, "memio", nics);
	find_nics(sock, PEER_MAC, "peer", peer_nics);
	nics_up(sock, "memio", nics, false);
	close(sock);
}

/* Wants the kernel to move the device to the network namespace netns. */
static void nic_move(const char *nic, int netns)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg link;
		struct rtattr a;
		uint32_t netns;
	} request = {
		.h = { sizeof(request), RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 0, 0 },
		.link = { .ifi_index = if_nametoindex(nic) },
		.a = { RTA_LENGTH(sizeof(uint32_t)), IFLA_NET_NS_FD },
		.netns = netns,
	};
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
	} reply = { 0 };
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (sock < 0 || send(sock, &request, sizeof(request), 0) < 0 ||
	    recv(sock, &reply, sizeof(reply), 0) < (ssize_t)sizeof(reply.h) + 4)
		fail("%s: cannot be moved: %s", nic, strerror(errno));
	if (reply.h.nlmsg_type != NLMSG_ERROR || reply.e.error)
		fail("%s: cannot be moved: %s", nic, strerror(-reply.e.error));
	close(sock);
}

static int open_netns(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail("no network namespaces: %s", strerror(errno));
	return fd;
}

static void enter_netns(int fd)
{
	if (setns(fd, CLONE_NEWNET))
		fail("network namespace: %s", strerror(errno));
}

/* The peer inside: its devices, in a namespace that `ip netns exec peer` finds */
static int make_peer(void)
{
	int sock, ours, theirs;
	char tmp[IFNAMSIZ];
	unsigned int i;

	ours = open_netns();
	if (unshare(CLONE_NEWNET))
		fail("no network namespace for the peer: %s", strerror(errno));
	theirs = open_netns();
	make_dirs("/run/netns", 0755);
	close(open("/run/netns/" VM_PEER, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	if (mount("/proc/self/ns/net", "/run/netns/" VM_PEER, NULL, MS_BIND, NULL))
		fail("cannot name the peer's network namespace: %s", strerror(errno));
	enter_netns(ours);
	for (i = 0; i < NICS; i++) {
		snprintf(tmp, sizeof(tmp), "peer%u", i);
		if (peer_nics[i])
			nic_move(tmp, theirs);
	}
	enter_netns(theirs);
	sock = net_socket();
	nics_up(sock, "peer", peer_nics, true);
	close(sock);
	enter_netns(ours);
	close(ours);
	return theirs;
}

/* Without carrier, what the command sends first would be dropped. */
static void wait_for_carrier(unsigned int nics)
{
	long end = now_ms() + 20000;
	char path[64], v[8];
	unsigned int i;

	for (i = 0; i < nics; i++) {
		snprintf(path, sizeof(path), "/sys/class/net/eth%u/carrier", i);
		for (;;) {
			get_file(path, v, sizeof(v));
			if (v[0] == '1')
				break;
			if (access(path, F_OK))
				fail("no network device eth%u: has this kernel its driver?", i);
			if (now_ms() > end)
				fail("eth%u: no carrier", i);
			nap();
		}
	}
}

/* ---- disks ---- */

/*
 * NVMe disks come up in parallel, so they are not there at once, and the
 * numbers in their names are in no order. So wait for them, and give each a name that
 * says where it is, like udev's: /dev/disk/by-path/pci-0000:00:03.0
 */
static unsigned int name_disks(void)
{
	char path[300], real[PATH_MAX], target[300], *p, *pci;
	unsigned int n = 0;
	struct dirent *e;
	DIR *d;

	d = opendir("/sys/block");
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/sys/block/%s", e->d_name);
		/* ../../devices/pci0000:00/0000:00:03.0/nvme/nvme0/nvme0n1 */
		if (!realpath(path, real))
			continue;
		pci = strstr(real, "/pci0000:00/");
		if (!pci)
			continue;
		pci += strlen("/pci0000:00/");
		p = strchr(pci, '/');
		if (!p)
			continue;
		*p = '\0';
		snprintf(path, sizeof(path), "/dev/disk/by-path/pci-%.200s", pci);
		snprintf(target, sizeof(target), "/dev/%s", e->d_name);
		if (access(target, F_OK))
			continue;
		make_dirs("/dev/disk/by-path", 0755);
		if (symlink(target, path) && errno != EEXIST)
			note("%s: %s", path, strerror(errno));
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

static void wait_for_disks(unsigned int disks)
{
	long end = now_ms() + 20000;

	while (disks && name_disks() < disks) {
		if (now_ms() > end)
			fail("not all of %u disks are there: has this kernel their drivers?",
			     disks);
		nap();
	}
}

/* ---- the port ---- */

static void open_port(void)
{
	long end = now_ms() + 20000;
	char path[300], name[64];
	struct pollfd p;
	struct dirent *e;
	DIR *d;

	/* The driver learns its ports from the device after it has been bound. */
	while (port < 0) {
		d = opendir("/sys/class/virtio-ports");
		while (d && (e = readdir(d))) {
			snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", e->d_name);
			get_file(path, name, sizeof(name));
			if (strcmp(name, VM_PORT))
				continue;
			snprintf(path, sizeof(path), "/dev/%s", e->d_name);
			port = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
			break;
		}
		if (d)
			closedir(d);
		if (port < 0) {
			if (now_ms() > end)
				fail("no virtio-serial port: has this kernel CONFIG_VIRTIO_CONSOLE?");
			nap();
		}
	}
	for (;;) {
		p = (struct pollfd){ port, POLLIN | POLLOUT, 0 };
		if (poll(&p, 1, 100) > 0 && !(p.revents & POLLHUP))
			return;
		if (now_ms() > end)
			fail("nobody is at the other end of the port");
		nap();
	}
}

/* ---- the command ---- */

static struct {
	pid_t pid;
	bool ended;
	int status;
	int fd[3];		/* our ends: its stdin, stdout, stderr; -1 when closed */
	bool tty;		/* fd[0] and fd[1] are the terminal's master */
	struct vm_queue in;	/* for its stdin */
	bool in_eof;		/* no more will come */
	size_t credit[3];	/* what we may send of its output */
	size_t left[3];		/* after its end: what is still to be read */
} cmd = { .fd = { -1, -1, -1 } };

/* Does nothing, but ends a ppoll. */
static void on_child(int sig)
{
	(void)sig;
}

static pid_t peer_pid;		/* of the peer inside, and its process group */

static const char *next_string(char **p, char *end)
{
	char *s = *p, *nul = s < end ? memchr(s, '\0', end - s) : NULL;

	if (!nul)
		fail("the request to run is cut short");
	*p = nul + 1;
	return s;
}

static void set_size(const struct vm_winch *w)
{
	struct winsize ws = { .ws_row = w->rows, .ws_col = w->cols };

	if (cmd.tty && cmd.fd[1] >= 0)
		ioctl(cmd.fd[1], TIOCSWINSZ, &ws);
}

static void exec_command(char **argv, char **envp, int fd[3])
{
	sigset_t none;
	int i;

	setsid();
	if (cmd.tty)
		ioctl(fd[0], TIOCSCTTY, 0);
	for (i = 0; i < 3; i++)
		dup2(fd[i], i);
	close_range(3, ~0u, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	environ = envp;		/* where execvp looks for PATH */
	execvp(argv[0], argv);
	dprintf(2, "ci/vm: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/*
 * The peer's command, if the peer is inside: it is ready when it has exited with 0, or after
 * 0.5 s.
 */
static void start_peer(const char *text, int netns, char **envp, int err)
{
	long end = now_ms() + 500;
	int status;

	peer_pid = fork();
	if (peer_pid < 0)
		fail("fork: %s", strerror(errno));
	if (!peer_pid) {
		char *argv[] = { "sh", "-c", (char *)text, NULL };
		int fd[3] = { open("/dev/null", O_RDONLY), err, err };

		enter_netns(netns);
		exec_command(argv, envp, fd);
	}
	while (now_ms() < end) {
		if (waitpid(peer_pid, &status, WNOHANG) == peer_pid) {
			if (status)
				fail("the peer ended with status %d before the command began",
				     WIFEXITED(status) ? WEXITSTATUS(status) :
				     128 + WTERMSIG(status));
			return;
		}
		nap();
	}
}

/* It may be about to write its results. */
static void end_peer(void)
{
	long end = now_ms() + 2000;

	if (!peer_pid || kill(-peer_pid, SIGTERM))
		return;
	while (!kill(-peer_pid, 0) && now_ms() < end) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nap();
	}
}

static void start(char *data, size_t len)
{
	char *p = data + sizeof(struct vm_run), *end = data + len;
	int theirs[3], pipefd[2], i, n;
	char **argv, **envp;
	const char *cwd, *dir, *peer;
	int peer_netns = -1;
	struct vm_run run;
	size_t strings;

	if (len < sizeof(run))
		fail("the request to run is cut short");
	memcpy(&run, data, sizeof(run));
	cwd = next_string(&p, end);
	dir = next_string(&p, end);
	peer = next_string(&p, end);
	strings = end - p;	/* no more than that: each has a NUL */
	argv = calloc(strings + 1, sizeof(*argv));
	envp = calloc(strings + 1, sizeof(*envp));
	if (!argv || !envp || !run.argc)
		fail("cannot take the request to run");
	for (n = 0; n < (int)run.argc; n++)
		argv[n] = (char *)next_string(&p, end);
	for (n = 0; p < end; n++)
		envp[n] = (char *)next_string(&p, end);

	if (run.peers)
		peer_netns = make_peer();
	wait_for_carrier(run.nics);
	if (run.peers) {
		int ours = open_netns();

		enter_netns(peer_netns);
		wait_for_carrier(run.peers);
		enter_netns(ours);
		close(ours);
	}
	wait_for_disks(run.disks);
	/* No cache: a byte written is a byte on the host, whatever comes next. */
	if (*dir)
		must_mount("out", dir, "9p", 0,
			   "trans=virtio,version=9p2000.L,msize=512000,cache=none");
	if (chdir(cwd))
		fail("no working directory %s in the guest (/run, /dev, /proc and /sys are its own)",
		     cwd);

	cmd.tty = run.tty;
	if (run.tty) {
		int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

		if (master < 0 || unlockpt(master))
			fail("no terminal: %s", strerror(errno));
		theirs[0] = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (theirs[0] < 0)
			fail("no terminal: %s", strerror(errno));
		theirs[1] = theirs[2] = theirs[0];
		cmd.fd[0] = cmd.fd[1] = master;
		set_size(&run.size);
	}
	for (i = run.tty ? 2 : 0; i < 3; i++) {
		if (i == 2 && run.tty && run.tty_stderr)
			continue;
		if (pipe2(pipefd, O_CLOEXEC))
			fail("pipe: %s", strerror(errno));
		cmd.fd[i] = pipefd[!i];
		theirs[i] = pipefd[!!i];
		/* Fewer, larger turns; a smaller pipe does as well. */
		fcntl(pipefd[0], F_SETPIPE_SZ, 256 << 10);
	}
	for (i = 0; i < 3; i++) {
		if (cmd.fd[i] >= 0)
			fcntl(cmd.fd[i], F_SETFL, O_NONBLOCK);
		cmd.credit[i] = virtual_time ? SIZE_MAX : VM_WINDOW;
	}
	if (virtual_time) {
		cmd.in = run_stdin;
		cmd.in_eof = true;
	}

	if (*peer)
		start_peer(peer, peer_netns, envp, theirs[2]);
	cmd.pid = fork();
	if (cmd.pid < 0)
		fail("fork: %s", strerror(errno));
	if (!cmd.pid)
		exec_command(argv, envp, theirs);
	for (i = 0; i < 3; i++)
		close(theirs[i]);
}

static void close_stdin(void)
{
	if (cmd.fd[0] >= 0 && !cmd.tty)
		close(cmd.fd[0]);
	cmd.fd[0] = -1;
	vm_take(&cmd.in, cmd.in.len);
}

static void close_output(int i)
{
	if (cmd.fd[i] < 0)
		return;
	if (i == 1 && cmd.tty)
		cmd.fd[0] = -1;
	close(cmd.fd[i]);
	cmd.fd[i] = -1;
}

/* Bytes for the command. */
static void feed(void)
{
	uint32_t credit;
	ssize_t n;

	if (cmd.in.len) {
		n = vm_drain(&cmd.in, cmd.fd[0], cmd.in.len);
		if (n > 0) {
			credit = n;
			vm_send(&out, VM_CREDIT, 0, &credit, sizeof(credit));
		} else if (errno != EAGAIN && errno != EINTR) {
			vm_send(&out, VM_CLOSE, 0, NULL, 0);
			close_stdin();
			return;
		}
	}
	if (!cmd.in.len && cmd.in_eof) {
		if (cmd.tty) {
			/* A terminal has no end, only a key for it. */
			vm_put(&cmd.in, "\004", 1);
			cmd.in_eof = false;
		} else {
			close_stdin();
		}
	}
}

/* Bytes from the command: false when there are no more for now. */
static bool collect(int i)
{
	char buf[VM_CHUNK];
	size_t max = sizeof(buf);
	ssize_t n;

	if (max > cmd.credit[i])
		max = cmd.credit[i];
	if (cmd.ended && max > cmd.left[i])
		max = cmd.left[i];
	if (!max)
		return false;
	n = read(cmd.fd[i], buf, max);
	if (n > 0) {
		vm_send(&out, VM_DATA, i, buf, n);
		if (!virtual_time)
			cmd.credit[i] -= n;
		if (cmd.ended && !cmd.tty)
			cmd.left[i] -= n;
		return true;
	}
	/* A terminal that nobody has open gives EIO; but only its end is final. */
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0 && errno == EIO && i == 1 && cmd.tty && !cmd.ended) {
		nap();
		return false;
	}
	close_output(i);
	return false;
}

static void reap(void)
{
	int status, i, n;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != cmd.pid)
			continue;
		cmd.ended = true;
		cmd.status = status;
		close_stdin();
		/*
		 * What it has written is in the pipes by now. What others whom
		 * it left behind may yet write is not waited for.
		 */
		for (i = 1; i < 3; i++) {
			n = 0;
			if (cmd.fd[i] >= 0 && !(cmd.tty && i == 1))
				ioctl(cmd.fd[i], FIONREAD, &n);
			cmd.left[i] = cmd.tty && i == 1 ? SIZE_MAX : (size_t)n;
		}
	}
}

static void receive(void)
{
	struct vm_head h;
	struct vm_winch w;
	char *data;
	int r;

	vm_fill(&in, port, VM_CHUNK);
	while ((r = vm_next(&in, &h, &data)) > 0) {
		switch (h.type) {
		case VM_RUN:
			start(data, h.len);
			break;
		case VM_DATA:
			if (cmd.fd[0] >= 0)
				vm_put(&cmd.in, data, h.len);
			break;
		case VM_EOF:
			cmd.in_eof = true;
			break;
		case VM_CLOSE:
			if (h.stream)
				close_output(h.stream);
			break;
		case VM_CREDIT:
			cmd.credit[h.stream] += vm_u32(&h, data);
			break;
		case VM_WINCH:
			memcpy(&w, data, sizeof(w));
			set_size(&w);
			break;
		case VM_BYE:
			power_off();	/* the host wants no more of it */
		}
	}
	if (r < 0)
		fail("lost track of the host's frames");
}

static void greet(void)
{
	note("ready");
	vm_send(&out, VM_HELLO, 0, VM_MAGIC, strlen(VM_MAGIC));
}

static __attribute__((noreturn)) void serve(void)
{
	struct sigaction sa = { .sa_handler = on_child };
	sigset_t block, open;
	struct pollfd p[4];
	struct timespec blink = { 0, 50000000 };
	int i, n;

	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, &open);
	sigaction(SIGCHLD, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);

	for (;;) {
		bool draining = cmd.ended && (cmd.fd[1] >= 0 || cmd.fd[2] >= 0);

		if (cmd.ended && !draining && !out.len) {
			end_peer();
			vm_send(&out, VM_EXIT, 0, &cmd.status, sizeof(cmd.status));
			finish();
		}
		p[0] = (struct pollfd){ port, POLLIN | (out.len ? POLLOUT : 0), 0 };
		/* Also asked when there is nothing to write: has its reader gone? */
		p[1] = (struct pollfd){ cmd.tty && !cmd.in.len ? -1 : cmd.fd[0],
					cmd.in.len || cmd.in_eof ? POLLOUT : 0, 0 };
		for (i = 1; i < 3; i++)
			p[1 + i] = (struct pollfd){ cmd.credit[i] ? cmd.fd[i] : -1, POLLIN, 0 };
		n = ppoll(p, 4, draining ? &blink : NULL, &open);
		/* Always: ppoll lets no signal in when a descriptor is ready. */
		reap();
		if (n < 0)
			continue;

		if (p[0].revents & POLLHUP)
			fail("the host has left");
		if (p[0].revents & POLLOUT)
			vm_drain(&out, port, VM_CHUNK);
		if (cmd.fd[0] >= 0 && p[1].revents) {
			if (p[1].revents & POLLERR && !cmd.tty) {
				vm_send(&out, VM_CLOSE, 0, NULL, 0);
				close_stdin();
			} else {
				feed();
			}
		}
		for (i = 1; i < 3; i++) {
			if (cmd.fd[i] < 0)
				continue;
			if (p[1 + i].revents || (cmd.ended && cmd.credit[i]))
				if (!collect(i) && cmd.ended && cmd.credit[i] &&
				    (!cmd.left[i] || (cmd.tty && !n)))
					close_output(i);
		}
		if (p[0].revents & POLLIN)
			receive();
	}
}

static __attribute__((noreturn)) void become_systemd(void)
{
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	execl("/bin/sh", "sh", TOOLS "/systemd", NULL);
	fail("cannot run /bin/sh: %s", strerror(errno));
}

/* As a service of systemd, which has a file system already */
static void open_again(void)
{
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	open_port();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "serve")) {
		open_again();
		greet();
		serve();
	}
	must_mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=755");
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	must_mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	must_mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	sethostname("memio", 5);
	virtual_time = take_file("/" VM_RUN_FILE, &run_request) &&
		       take_file("/" VM_STDIN_FILE, &run_stdin);
	make_network();
	open_port();
	make_root();
	/* systemd enables those that it knows, where it needs them. */
	if (by_systemd())
		become_systemd();
	enable_controllers();
	greet();
	if (virtual_time)
		start(vm_peek(&run_request), run_request.len);
	serve();
}

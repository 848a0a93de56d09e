// SPDX-License-Identifier: GPL-2.0
/*
 * vmio: runs one machine for ci/vm, which execs it, and carries the command's
 * stdin, stdout and stderr to and from the guest's init (protocol.h).
 *
 * Nothing is to be left behind, whoever is killed and however. So nothing gets
 * a name outside: vmio makes a PID namespace (and a mount namespace, and with
 * network devices a network namespace) and runs QEMU and the peer in it. Disks
 * are files without a name. Everything thus hangs on the first process of that
 * namespace, the inner vmio, which dies with the outer one:
 *
 *	outer	what the caller sees and waits for; passes signals on and
 *		restores the terminal
 *	inner	PID 1 of the namespace: the loop below; when it dies, the kernel
 *		kills QEMU, the peer and whatever they started, and drops the
 *		network devices, mounts and disks
 *
 * The inner one has sockets to QEMU instead of files: one for the frames, one
 * for the kernel's console, whose lines are kept and searched for reports of
 * trouble. It ends the machine when its time is up, or it should have ended.
 *
 * A machine in virtual time is told all at once, in its initramfs, and answered nothing.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#include "protocol.h"

/* Exit codes; the command's own beside them. */
#define STATUS_REPORT	70
#define STATUS_TIMEOUT	124
#define STATUS_MACHINE	125

/* QEMU's file descriptors, as ci/vm names them to it. */
#define FD_PORT		3
#define FD_CONSOLE	4
#define FD_INITRD	5
#define FD_DISK		10

#define MAX_DISKS	16
#define END_MS		60000	/* from EXIT to QEMU's end: it may have a ledger to write */
#define TERM_MS		20000	/* from SIGTERM to SIGKILL, likewise */
#define PEER_MS		500	/* a peer that has not exited by then is taken as ready */
#define PEER_END_MS	2000	/* from SIGTERM to the peer's end */
#define REPORT_LINES	150
#define LOG_BYTES	(8u << 20)

static struct {
	long timeout_s, boot_s;
	const char *peer, *setup, *log, *ledger, *out, *disk_dir;
	const char *virtual_time;	/* the initramfs of a machine in virtual time */
	unsigned int peers;		/* network devices of the peer inside */
	unsigned long long disk[MAX_DISKS];
	unsigned int disks, nics;
	char **qemu, **argv;
	int argc;
	bool foreground;	/* the terminal is ours to change */
} opt = { .timeout_s = 1800, .boot_s = 300 };

static struct {
	pid_t qemu, peer;
	int port, console, qemu_err;	/* our ends; -1 when closed */
	int qemu_status;
	bool qemu_ended, peer_ended, peer_ready;
	bool hello, running, exited, timed_out, terminated;
	int status;			/* the command's wait status */
	char reason[600];		/* the machine failed; "" as long as it has not */
	int signal;			/* that ends us */
	struct vm_queue in, out;
	struct vm_queue copy[3];	/* for our stdout and stderr */
	bool shut[3];			/* stdin has ended, or nobody reads */
	size_t credit;			/* for stdin */
	struct vm_queue messages;	/* QEMU's stderr */
} vm;

static struct {
	char *text;		/* the console's last LOG_BYTES or so */
	size_t len;
	char line[1024];	/* the one that is being received */
	size_t line_len;
	char previous[1024];
	char *report;		/* the first report's lines */
	size_t report_len;
	int report_lines;	/* still to be added to it */
	int reports;
	char first[200];	/* what the first report said */
	char panic[200];
	int quiet_traces;	/* lines in which a trace is no trouble */
	int fd;			/* --log */
} klog = { .fd = -1 };

static pid_t outer_pid;		/* as the caller knows us */
static struct termios saved_tty;
static bool raw_tty;

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void cook_tty(void)
{
	if (raw_tty)
		tcsetattr(0, TCSADRAIN, &saved_tty);
	raw_tty = false;
}

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...)
{
	va_list ap;

	cook_tty();
	fputs("ci/vm: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(STATUS_MACHINE);
}

/* The machine failed: the first reason counts. */
static __attribute__((format(printf, 1, 2))) void failed(const char *fmt, ...)
{
	va_list ap;

	if (vm.reason[0])
		return;
	va_start(ap, fmt);
	vsnprintf(vm.reason, sizeof(vm.reason), fmt, ap);
	va_end(ap);
}

/* ---- signals: noted here, looked at in the loop ---- */

static volatile sig_atomic_t got_signal, got_winch;
static volatile sig_atomic_t forward_to;

static void on_signal(int sig)
{
	if (sig == SIGWINCH)
		got_winch = 1;
	else if (sig != SIGCHLD && sig != SIGALRM)
		got_signal = sig;
	if (forward_to && sig != SIGCHLD)
		kill(forward_to, sig);
}

static void catch_signals(void)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCHLD, SIGALRM };
	struct sigaction sa = { .sa_handler = on_signal };
	size_t i;

	/* No SA_RESTART: a signal ends a wait, also that of a write. */
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		sigaction(sigs[i], &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
}

/* ---- the kernel's console ---- */

/*
 * How reports begin, at the start of a line's text. What user space does
 * ("traps: ... general protection fault") begins otherwise.
 */
static const char * const report_starts[] = {
	"WARNING: ", "BUG: ", "BUG ", "kernel BUG at ", "Oops", "UBSAN: ", "KASAN: ", "KCSAN: ",
	"INFO: task ", "INFO: rcu", "INFO: possible ", "INFO: suspicious ",
	"INFO: trying to register non-static key", "INFO: inconsistent ",
	"rcu: INFO: ", "watchdog: BUG: ", "watchdog: Watchdog detected hard LOCKUP",
	"Kernel panic - not syncing", "Call Trace:", "general protection fault",
	"divide error:", "invalid opcode:", "stack segment:", "double fault:",
	"unable to handle ", "unreferenced object ", "DEBUG_LOCKS_WARN_ON",
	"list_add corruption", "list_del corruption", "refcount_t: ",
	"Internal error: ", "hung_task: ", "NMI watchdog: Watchdog detected",
};

/* These print a trace, too, and nothing is wrong with the kernel. */
static const char * const quiet_starts[] = { "invoked oom-killer: " };

static bool starts_with(const char *s, const char *start)
{
	return !strncmp(s, start, strlen(start));
}

/* Behind "[   12.345678] " and, with CONFIG_PRINTK_CALLER, "[    T1] ". */
static const char *line_text(const char *s)
{
	const char *close;

	while (*s == '[') {
		close = strchr(s, ']');
		if (!close || close - s > 24)
			break;
		s = close + 1;
		while (*s == ' ')
			s++;
	}
	return s;
}

static void report_add(const char *line)
{
	size_t n = strlen(line);

	klog.report = realloc(klog.report, klog.report_len + n + 2);
	if (!klog.report)
		abort();
	memcpy(klog.report + klog.report_len, line, n);
	klog.report_len += n;
	klog.report[klog.report_len++] = '\n';
}

static void klog_line(const char *line)
{
	const char *text = line_text(line);
	size_t i;

	for (i = 0; i < sizeof(quiet_starts) / sizeof(quiet_starts[0]); i++)
		if (strstr(text, quiet_starts[i]))
			klog.quiet_traces = 20;
	if (klog.quiet_traces && klog.quiet_traces--)
		if (starts_with(text, "Call Trace:"))
			goto out;

	for (i = 0; i < sizeof(report_starts) / sizeof(report_starts[0]); i++)
		if (starts_with(text, report_starts[i]))
			break;
	if (i < sizeof(report_starts) / sizeof(report_starts[0])) {
		if (!klog.reports++) {
			snprintf(klog.first, sizeof(klog.first), "%.*s",
				 (int)sizeof(klog.first) - 1, text);
			if (strstr(klog.previous, "cut here") || strstr(klog.previous, "====="))
				report_add(klog.previous);
			klog.report_lines = REPORT_LINES;
		}
		if (starts_with(text, "Kernel panic") && !klog.panic[0])
			snprintf(klog.panic, sizeof(klog.panic), "%.*s",
				 (int)sizeof(klog.panic) - 1, text);
	}
out:
	if (klog.report_lines) {
		report_add(line);
		klog.report_lines--;
		if (starts_with(text, "---[ end "))
			klog.report_lines = klog.report_lines ? 1 : 0;
	}
	snprintf(klog.previous, sizeof(klog.previous), "%s", line);
}

static void klog_bytes(const char *buf, size_t n)
{
	size_t i;

	if (klog.fd >= 0 && write(klog.fd, buf, n) != (ssize_t)n)
		failed("cannot write the kernel's log: %s", strerror(errno));
	if (klog.len + n > LOG_BYTES) {
		memmove(klog.text, klog.text + klog.len / 2, klog.len - klog.len / 2);
		klog.len -= klog.len / 2;
	}
	memcpy(klog.text + klog.len, buf, n);
	klog.len += n;

	for (i = 0; i < n; i++) {
		if (buf[i] == '\n' || klog.line_len == sizeof(klog.line) - 1) {
			klog.line[klog.line_len] = '\0';
			klog_line(klog.line);
			klog.line_len = 0;
		}
		if (buf[i] != '\n' && buf[i] != '\r')
			klog.line[klog.line_len++] = buf[i];
	}
}

static void show_lines(const char *title, const char *text, size_t len, int lines)
{
	size_t start = len;

	while (start && text[start - 1] == '\n')
		start--;
	len = start;
	while (start && lines)
		if (text[--start] == '\n' && !--lines)
			start++;
	if (len > start)
		fprintf(stderr, "ci/vm: %s:\n%.*s\n", title, (int)(len - start), text + start);
}

/* ---- the inner process: what it starts ---- */

static void put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

static void default_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGTTIN, SIG_DFL);
	signal(SIGTTOU, SIG_DFL);
}

/* sh -c TEXT with its output on our stderr. */
static pid_t start_shell(const char *text)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		int null = open("/dev/null", O_RDONLY);

		setsid();
		default_signals();
		dup2(null, 0);
		dup2(2, 1);
		close_range(3, ~0u, 0);
		execl("/bin/sh", "sh", "-c", text, NULL);
		_exit(127);
	}
	return pid;
}

/*
 * /proc of this PID namespace; with network devices, /sys and the namespace's
 * name for `ip netns exec` as well. All of it only in our mount namespace.
 */
static void make_namespace(void)
{
	char name[64], path[128];
	int status;
	pid_t pid;

	if (mount("none", "/", NULL, MS_SLAVE | MS_REC, NULL)) {
		if (errno == EINVAL)
			die("/ is no mount point: this is a chroot; bind its directory to itself (mount --rbind DIR DIR) before you enter it");
		die("cannot make a mount namespace: %s", strerror(errno));
	}
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		die("cannot mount /proc in a namespace: %s", strerror(errno));
	if (!opt.setup)
		return;

	if (mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		die("cannot mount /sys in a namespace: %s", strerror(errno));
	snprintf(name, sizeof(name), "memio-%d", outer_pid);
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	mkdir("/run/netns", 0755);
	if (mount("netns", "/run/netns", "tmpfs", 0, "mode=755,size=64k"))
		die("cannot mount /run/netns in a namespace: %s", strerror(errno));
	put_text(path, "");
	if (mount("/proc/self/ns/net", path, NULL, MS_BIND, NULL))
		die("cannot name the network namespace: %s", strerror(errno));
	setenv("MEMIO_NETNS", name, 1);

	pid = start_shell(opt.setup);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR || got_signal)
			exit(STATUS_MACHINE);
	if (status)
		die("cannot set up the host's side of the network");
}

/* A file that no directory knows: it ends with the last process that has it open. */
static int make_disk(unsigned long long size)
{
	char path[PATH_MAX];
	int fd = open(opt.disk_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) {
		/* Not every file system can. */
		snprintf(path, sizeof(path), "%s/memio-disk.XXXXXX", opt.disk_dir);
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0 || ftruncate(fd, size))
		die("cannot make a disk of %llu bytes in %s: %s", size, opt.disk_dir,
		    strerror(errno));
	return fd;
}

static void socket_pair(int sv[2])
{
	int size = 1 << 20;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		die("socketpair: %s", strerror(errno));
	setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(sv[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	fcntl(sv[0], F_SETFL, O_NONBLOCK);
}

static void put_string(struct vm_queue *q, const char *s)
{
	vm_put(q, s, strlen(s) + 1);
}

static void put_env(struct vm_queue *q, const char *name, const char *value)
{
	vm_put(q, name, strlen(name));
	vm_put(q, "=", 1);
	put_string(q, value);
}

/* What MEMIO_* says of this host alone must not make a difference in virtual time. */
static bool host_only(const char *var)
{
	static const char * const names[] = {
		"MEMIO_CACHE=", "MEMIO_QEMU=", "MEMIO_LOG=", "MEMIO_NETNS=",
	};
	size_t i;

	for (i = 0; opt.virtual_time && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(var, names[i], strlen(names[i])))
			return true;
	return false;
}

/* RUN's payload; false, with the reason: there can be none. */
static bool make_run(struct vm_queue *q, struct vm_run *run)
{
	char *cwd = getcwd(NULL, 0);
	int i;

	if (!cwd) {
		failed("the working directory is gone: %s", strerror(errno));
		return false;
	}
	run->argc = opt.argc;
	run->nics = opt.nics;
	run->peers = opt.peers;
	run->disks = opt.disks;
	vm_put(q, run, sizeof(*run));
	put_string(q, cwd);
	put_string(q, opt.out ? opt.out : "");
	put_string(q, opt.virtual_time && opt.peer ? opt.peer : "");
	for (i = 0; i < opt.argc; i++)
		put_string(q, opt.argv[i]);
	put_env(q, "PATH", "/run/memio/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	put_env(q, "HOME", "/root");
	put_env(q, "USER", "root");
	put_env(q, "LOGNAME", "root");
	put_env(q, "SHELL", "/bin/bash");
	/* Of a locale each program opens a dozen files at its start: longer than all else. */
	put_env(q, "LANG", run->tty ? "C.UTF-8" : "C");
	put_env(q, "TERM", run->tty && getenv("TERM") ? getenv("TERM") : "dumb");
	if (opt.peers)
		put_env(q, "MEMIO_NETNS", VM_PEER);
	for (i = 0; environ[i]; i++)
		if (starts_with(environ[i], "MEMIO_") && !host_only(environ[i]))
			put_string(q, environ[i]);
	if (q->len > VM_MAX_LEN) {
		failed("the command line is too long");
		return false;
	}
	return true;
}

/* A file of an initramfs, in cpio's new format; NULL: the end of all files */
static void put_archived(struct vm_queue *q, const char *name, const struct vm_queue *data)
{
	static const char zeros[512];
	static unsigned int ino = 1;
	unsigned int len = data ? data->len : 0, name_len;
	char head[128];

	name = name ? name : "TRAILER!!!";
	name_len = strlen(name) + 1;
	snprintf(head, sizeof(head), "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		 data ? ino++ : 0, data ? S_IFREG | 0600 : 0, 0, 0, 1, 0, len, 0, 0, 0, 0,
		 name_len, 0);
	vm_put(q, head, strlen(head));
	vm_put(q, name, name_len);
	vm_put(q, zeros, -q->len & 3);
	if (data) {
		vm_put(q, data->buf + data->head, len);
		vm_put(q, zeros, -q->len & 3);
	}
}

static void read_all(struct vm_queue *q, int fd, const char *what)
{
	ssize_t n;

	while ((n = vm_fill(q, fd, 1 << 20)) != 0) {
		if (got_signal)
			exit(128 + got_signal);
		if (n < 0 && errno != EINTR)
			die("%s: %s", what, strerror(errno));
		if (q->len > VM_MOST_STDIN)
			die("%s: more than %u bytes", what, VM_MOST_STDIN);
	}
}

/*
 * Stdin's bytes, for a machine that can't wait for them. A terminal's, and a device's, would have
 * no end.
 */
static void read_whole_stdin(struct vm_queue *q)
{
	struct stat st;

	if (!fstat(0, &st) && (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		read_all(q, 0, "stdin");
	vm.shut[0] = true;
}

/* The initramfs, with what else the guest is to know, as a file without a name */
static int make_initramfs(void)
{
	struct vm_queue all = { 0 }, run = { 0 }, in = { 0 };
	struct vm_run r = { 0 };
	int fd = open(opt.virtual_time, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", opt.virtual_time, strerror(errno));
	read_all(&all, fd, opt.virtual_time);
	close(fd);
	if (!make_run(&run, &r))
		die("%s", vm.reason);
	read_whole_stdin(&in);
	put_archived(&all, VM_RUN_FILE, &run);
	put_archived(&all, VM_STDIN_FILE, &in);
	put_archived(&all, NULL, NULL);
	/* Where things are in memory is not to depend on how long a path is. */
	while (all.len % (64 << 10))
		vm_put(&all, "", 1);

	fd = memfd_create("initramfs", MFD_CLOEXEC);
	while (fd >= 0 && all.len)
		if (vm_drain(&all, fd, all.len) < 0 && errno != EINTR)
			break;
	if (fd < 0 || all.len)
		die("cannot make an initramfs: %s", strerror(errno));
	return fd;
}

static void start_qemu(void)
{
	int port[2], console[2], err[2], fd[FD_DISK + MAX_DISKS], i, n = FD_DISK + opt.disks;

	socket_pair(port);
	socket_pair(console);
	if (pipe2(err, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	for (i = 0; i < n; i++)
		fd[i] = -1;
	fd[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fd[1] = fd[2] = err[1];
	fd[FD_PORT] = port[1];
	fd[FD_CONSOLE] = console[1];
	if (opt.virtual_time)
		fd[FD_INITRD] = make_initramfs();
	for (i = 0; i < (int)opt.disks; i++)
		fd[FD_DISK + i] = opt.virtual_time ? -1 : make_disk(opt.disk[i]);

	vm.qemu = fork();
	if (vm.qemu < 0)
		die("fork: %s", strerror(errno));
	if (!vm.qemu) {
		/* Not in the terminal's process group: Ctrl-C is for us, who end it orderly. */
		setsid();
		default_signals();
		/* First out of the way of each other, then where they belong. */
		for (i = 0; i < n; i++)
			if (fd[i] >= 0)
				fd[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, 100);
		for (i = 0; i < n; i++)
			if (fd[i] >= 0)
				dup2(fd[i], i);
			else
				close(i);
		execv(opt.qemu[0], opt.qemu);
		fprintf(stderr, "cannot run %s: %s\n", opt.qemu[0], strerror(errno));
		_exit(127);
	}
	for (i = 0; i < n; i++)
		if (fd[i] >= 0 && fd[i] != err[1])
			close(fd[i]);
	close(err[1]);
	vm.port = port[0];
	vm.console = console[0];
	vm.qemu_err = err[0];
}

/* ---- the inner process: the command ---- */

static struct vm_winch window_size(void)
{
	struct winsize ws = { .ws_row = 24, .ws_col = 80 };

	ioctl(0, TIOCGWINSZ, &ws);
	return (struct vm_winch){ ws.ws_row, ws.ws_col };
}

static void send_run(void)
{
	struct vm_queue q = { 0 };
	struct vm_run run = { 0 };
	struct termios raw;

	run.tty = isatty(0) && isatty(1) && opt.foreground;
	run.tty_stderr = run.tty && isatty(2);
	run.size = window_size();
	if (!make_run(&q, &run))
		return;
	vm_send(&vm.out, VM_RUN, 0, q.buf, q.len);
	vm.running = true;
	vm.credit = VM_WINDOW;

	if (run.tty && !tcgetattr(0, &saved_tty)) {
		raw = saved_tty;
		cfmakeraw(&raw);
		raw_tty = true;
		tcsetattr(0, TCSADRAIN, &raw);
	}
}

/* As with ssh: Enter ~ . ends it when nothing else does. */
static void look_for_escape(const char *buf, size_t n)
{
	static int state = 1;	/* 0: within a line, 1: at its start, 2: after ~ */
	size_t i;

	for (i = 0; i < n; i++) {
		if (state == 2 && buf[i] == '.')
			got_signal = SIGHUP;
		if (buf[i] == '\r' || buf[i] == '\n')
			state = 1;
		else
			state = state == 1 && buf[i] == '~' ? 2 : 0;
	}
}

static void read_stdin(void)
{
	char buf[VM_CHUNK];
	ssize_t n = read(0, buf, vm.credit < sizeof(buf) ? vm.credit : sizeof(buf));

	if (n > 0) {
		if (raw_tty)
			look_for_escape(buf, n);
		vm_send(&vm.out, VM_DATA, 0, buf, n);
		vm.credit -= n;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		vm_send(&vm.out, VM_EOF, 0, NULL, 0);
		vm.shut[0] = true;
	}
}

/*
 * The caller's files may be shared with others, so they stay blocking; what
 * poll has promised does not block: PIPE_BUF bytes in a pipe.
 */
static void write_output(int i)
{
	struct vm_queue *q = &vm.copy[i];
	struct stat st;
	uint32_t credit;
	size_t max = PIPE_BUF;
	ssize_t n;

	if (!fstat(i, &st) && S_ISREG(st.st_mode))
		max = q->len;
	if (!fstat(i, &st) && S_ISSOCK(st.st_mode)) {
		n = send(i, vm_peek(q), q->len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0)
			vm_take(q, n);
	} else {
		n = vm_drain(q, i, max);
	}
	if (n > 0) {
		credit = n;
		vm_send(&vm.out, VM_CREDIT, i, &credit, sizeof(credit));
	} else if (errno != EINTR && errno != EAGAIN) {
		if (errno != EPIPE)
			failed("cannot write to std%s: %s", i == 1 ? "out" : "err",
			       strerror(errno));
		vm_send(&vm.out, VM_CLOSE, i, NULL, 0);
		vm.shut[i] = true;
		vm_take(q, q->len);
	}
}

/* All that goes into the command's output is here, or is not wanted. */
static bool has_enough(void)
{
	return opt.virtual_time && vm.copy[1].len + vm.copy[2].len > VM_WINDOW;
}

static void receive(void)
{
	struct vm_head h;
	char *data;
	ssize_t n = vm_fill(&vm.in, vm.port, 2 * VM_CHUNK);
	int r;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close(vm.port);
		vm.port = -1;
	}
	while ((r = vm_next(&vm.in, &h, &data)) > 0) {
		switch (h.type) {
		case VM_HELLO:
			if (h.len != strlen(VM_MAGIC) || memcmp(data, VM_MAGIC, h.len))
				failed("the guest's init speaks another protocol");
			vm.hello = true;
			break;
		case VM_FAIL:
			failed("the guest: %.*s", (int)h.len, data);
			vm_send(&vm.out, VM_BYE, 0, NULL, 0);
			vm.exited = true;
			break;
		case VM_DATA:
			if (h.stream && !vm.shut[h.stream])
				vm_put(&vm.copy[h.stream], data, h.len);
			break;
		case VM_CLOSE:
			vm.shut[0] = true;
			break;
		case VM_CREDIT:
			vm.credit += vm_u32(&h, data);
			break;
		case VM_EXIT:
			vm.status = vm_u32(&h, data);
			vm.exited = true;
			vm.shut[0] = true;
			vm_send(&vm.out, VM_BYE, 0, NULL, 0);
			break;
		}
	}
	if (r < 0 && vm.port >= 0) {
		failed("lost track of the guest's frames");
		close(vm.port);
		vm.port = -1;
	}
}

/* ---- the inner process: the loop ---- */

static void reap(void)
{
	int status;
	pid_t pid;

	/* Also those whom a peer left behind: we are their init. */
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == vm.qemu) {
			vm.qemu_ended = true;
			vm.qemu_status = status;
		}
		if (pid == vm.peer) {
			vm.peer_ended = true;
			if (status && !vm.running && !vm.terminated)
				failed("the peer ended with status %d before the command began",
				       WIFEXITED(status) ? WEXITSTATUS(status) :
				       128 + WTERMSIG(status));
		}
	}
}

static void terminate_qemu(void)
{
	if (!vm.terminated && !vm.qemu_ended)
		kill(vm.qemu, SIGTERM);
	vm.terminated = true;
}

static void poll_once(long timeout, const sigset_t *waiting)
{
	struct timespec ts = { timeout / 1000, timeout % 1000 * 1000000 };
	enum { PORT, CONSOLE, QEMU_ERR, IN, OUT, ERR, N };
	struct pollfd p[N] = {
		[PORT] = { has_enough() ? -1 : vm.port, POLLIN | (vm.out.len ? POLLOUT : 0), 0 },
		[CONSOLE] = { vm.console, POLLIN, 0 },
		[QEMU_ERR] = { vm.qemu_err, POLLIN, 0 },
		[IN] = { vm.running && !vm.shut[0] && vm.credit ? 0 : -1, POLLIN, 0 },
		/* Asked for without need, too: POLLERR tells that its reader has gone. */
		[OUT] = { vm.running && !vm.shut[1] ? 1 : -1, vm.copy[1].len ? POLLOUT : 0, 0 },
		[ERR] = { vm.running && !vm.shut[2] ? 2 : -1, vm.copy[2].len ? POLLOUT : 0, 0 },
	};
	static char buf[VM_CHUNK];
	ssize_t n;
	int i;

	if (ppoll(p, N, &ts, waiting) < 0)
		return;
	if (p[CONSOLE].revents) {
		n = read(vm.console, buf, sizeof(buf));
		if (n > 0) {
			klog_bytes(buf, n);
		} else if (n == 0 || errno != EAGAIN) {
			close(vm.console);
			vm.console = -1;
		}
	}
	if (p[QEMU_ERR].revents) {
		n = vm_fill(&vm.messages, vm.qemu_err, 4096);
		if (vm.messages.len > 65536)
			vm_take(&vm.messages, vm.messages.len - 32768);
		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			close(vm.qemu_err);
			vm.qemu_err = -1;
		}
	}
	if (p[IN].revents)
		read_stdin();
	for (i = 1; i < 3; i++) {
		if (!p[OUT - 1 + i].revents)
			continue;
		if (vm.copy[i].len) {
			write_output(i);
		} else if (p[OUT - 1 + i].revents & (POLLERR | POLLNVAL)) {
			vm_send(&vm.out, VM_CLOSE, i, NULL, 0);
			vm.shut[i] = true;
		}
	}
	if (p[PORT].revents & (POLLIN | POLLHUP | POLLERR))
		receive();
	if (opt.virtual_time)
		vm_take(&vm.out, vm.out.len);
	if (vm.port >= 0 && vm.out.len) {
		n = send(vm.port, vm_peek(&vm.out), vm.out.len, MSG_NOSIGNAL);
		if (n > 0)
			vm_take(&vm.out, n);
	}
}

/* QEMU has ended, and all that it and the command wrote has been handed on. */
static bool over(void)
{
	return vm.qemu_ended && vm.console < 0 && vm.qemu_err < 0 &&
	       !vm.copy[1].len && !vm.copy[2].len && (vm.port < 0 || vm.terminated);
}

static void run_machine(void)
{
	long start = now_ms(), deadline = start + opt.timeout_s * 1000;
	struct itimerval beat = { { 1, 0 }, { 1, 0 } };
	long boot = start + opt.boot_s * 1000, killed_by = 0, ended_by = 0, now, next;
	struct vm_winch size;
	sigset_t child, waiting;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);

	/* Wakes a blocked write, so that deadlines hold even then. */
	setitimer(ITIMER_REAL, &beat, NULL);

	/* A child that ends between reap() and the wait for it wakes us, too. */
	sigprocmask(SIG_BLOCK, &child, &waiting);

	for (;;) {
		reap();
		if (over())
			break;
		now = now_ms();
		next = deadline;
		if (got_signal && !vm.signal) {
			vm.signal = got_signal;
			terminate_qemu();
		}
		if (got_winch) {
			got_winch = 0;
			size = window_size();
			if (vm.running && raw_tty)
				vm_send(&vm.out, VM_WINCH, 0, &size, sizeof(size));
		}
		if (now >= deadline && !vm.timed_out) {
			vm.timed_out = true;
			terminate_qemu();
		}
		if (!vm.hello && !vm.terminated && boot < next) {
			next = boot;
			if (now >= boot) {
				failed("the guest did not come up within %ld s", opt.boot_s);
				terminate_qemu();
			}
		}
		if (vm.reason[0] && !vm.exited)
			terminate_qemu();
		if (vm.hello && !vm.running && !vm.terminated && !vm.exited) {
			if (opt.virtual_time)
				vm.running = true;
			else if (!opt.peer || vm.peer_ended || now >= start + PEER_MS)
				send_run();
			else if (start + PEER_MS < next)
				next = start + PEER_MS;
		}
		if (vm.exited && !vm.qemu_ended && !vm.terminated) {
			if (!ended_by)
				ended_by = now + END_MS;
			if (ended_by < next)
				next = ended_by;
			if (now >= ended_by) {
				failed("the machine did not switch itself off");
				terminate_qemu();
			}
		}
		if (vm.terminated) {
			/* Whoever should read our output may be what is stuck. */
			if (vm.qemu_ended && (vm.timed_out || vm.signal)) {
				vm_take(&vm.copy[1], vm.copy[1].len);
				vm_take(&vm.copy[2], vm.copy[2].len);
			}
			if (!killed_by)
				killed_by = now + TERM_MS;
			if (now >= killed_by && !vm.qemu_ended)
				kill(vm.qemu, SIGKILL);
			next = killed_by > now ? killed_by : now + 100;
		}
		/* The time-out has been noted: it is no date to wait for any more. */
		poll_once(next > now ? next - now : 100, &waiting);
	}
	sigprocmask(SIG_SETMASK, &waiting, NULL);
}

static void end_peer(void)
{
	long end = now_ms() + PEER_END_MS;

	/* All of its process group: the shell itself may be gone first. */
	if (!vm.peer || kill(-vm.peer, SIGTERM))
		return;
	/* It may be about to write its results. */
	while (!kill(-vm.peer, 0) && now_ms() < end) {
		usleep(2000);
		reap();
	}
}

/* What it all comes to: the exit code, said on stderr unless it is the command's. */
static int verdict(void)
{
	struct stat st;

	if (!vm.exited && !vm.timed_out && !vm.signal) {
		if (klog.panic[0])
			failed("the kernel died: %s", klog.panic);
		else if (WIFSIGNALED(vm.qemu_status))
			failed("QEMU was killed by signal %d", WTERMSIG(vm.qemu_status));
		else if (vm.qemu_status)
			failed("QEMU ended with status %d", WEXITSTATUS(vm.qemu_status));
		else
			failed("the machine went off before the command had ended");
	}
	if (vm.exited && vm.qemu_status)
		failed("QEMU ended badly: %s %d",
		       WIFSIGNALED(vm.qemu_status) ? "signal" : "status",
		       WIFSIGNALED(vm.qemu_status) ? WTERMSIG(vm.qemu_status) :
		       WEXITSTATUS(vm.qemu_status));
	if (vm.exited && opt.ledger && (stat(opt.ledger, &st) || !st.st_size))
		failed("QEMU wrote no ledger to %s", opt.ledger);

	if (klog.reports) {
		fprintf(stderr, "ci/vm: the kernel's %s:\n%.*s",
			klog.reports > 1 ? "first report of trouble" : "report of trouble",
			(int)klog.report_len, klog.report);
	}
	if (vm.reason[0] || vm.timed_out) {
		if (vm.messages.len)
			show_lines("QEMU's last words", vm_peek(&vm.messages), vm.messages.len, 10);
		if (!klog.reports)
			show_lines("the kernel's last words", klog.text, klog.len,
				   vm.running ? 10 : 40);
	}
	if (vm.reason[0]) {
		fprintf(stderr, "ci/vm: %s\n", vm.reason);
		return STATUS_MACHINE;
	}
	if (vm.signal) {
		fprintf(stderr, "ci/vm: ended by signal %d\n", vm.signal);
		return 128 + vm.signal;
	}
	if (vm.timed_out) {
		fprintf(stderr, "ci/vm: no end after %ld s (--timeout)\n", opt.timeout_s);
		return STATUS_TIMEOUT;
	}
	if (klog.reports) {
		fprintf(stderr, "ci/vm: the kernel reported: %s\n", klog.first);
		return STATUS_REPORT;
	}
	return WIFSIGNALED(vm.status) ? 128 + WTERMSIG(vm.status) : WEXITSTATUS(vm.status);
}

static int inner(int lifeline)
{
	struct pollfd p = { lifeline, POLLIN, 0 };

	/* From here on the outer one's death is ours; was it before? */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&p, 1, 0))
		return STATUS_MACHINE;
	klog.text = malloc(LOG_BYTES);
	if (!klog.text)
		die("no memory");
	if (opt.log) {
		klog.fd = open(opt.log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (klog.fd < 0)
			die("%s: %s", opt.log, strerror(errno));
	}
	make_namespace();
	if (opt.peer && !opt.virtual_time)
		vm.peer = start_shell(opt.peer);
	start_qemu();
	run_machine();
	cook_tty();
	end_peer();
	return verdict();
}

/* ---- the outer process ---- */

static void enter_namespaces(void)
{
	int flags = CLONE_NEWPID | CLONE_NEWNS | (opt.setup ? CLONE_NEWNET : 0);
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (!unshare(flags))
		return;
	/* Without the right to, a user namespace gives it, where that is allowed. */
	if (errno != EPERM || unshare(flags | CLONE_NEWUSER))
		die("cannot make namespaces: %s; run it as root, or allow user namespaces",
		    strerror(errno));
	put_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	put_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	put_text("/proc/self/gid_map", map);
}

static unsigned long long number(const char *s)
{
	char *end;
	unsigned long long v = strtoull(s, &end, 10);

	if (*end || !*s)
		die("vmio: not a number: %s", s);
	return v;
}

enum {
	TIMEOUT = 1, BOOT, PEER, SETUP, NETS, LOG, LEDGER, OUT, DISK, DISK_DIR, VIRTUAL, PEERS, QEMU
};

static const struct option options[] = {
	{ "timeout", required_argument, NULL, TIMEOUT },	/* s */
	{ "boot-timeout", required_argument, NULL, BOOT },	/* s */
	{ "nics", required_argument, NULL, NETS },		/* to come up before the command */
	{ "setup", required_argument, NULL, SETUP },		/* sh, in the network namespace */
	{ "peer", required_argument, NULL, PEER },		/* sh, beside QEMU */
	{ "log", required_argument, NULL, LOG },		/* file for the kernel's console */
	{ "ledger", required_argument, NULL, LEDGER },		/* file that QEMU must leave */
	{ "out", required_argument, NULL, OUT },		/* directory that init mounts */
	{ "disk-dir", required_argument, NULL, DISK_DIR },
	{ "disk", required_argument, NULL, DISK },		/* bytes; fd FD_DISK, and so on */
	{ "virtual", required_argument, NULL, VIRTUAL },	/* initramfs; FD_INITRD has more */
	{ "peers", required_argument, NULL, PEERS },		/* NICs of the peer inside */
	{ "qemu", required_argument, NULL, QEMU },		/* an argument of QEMU's; repeat */
	{ 0 }
};

/* ci/vm has checked what its user gave; here are no niceties. */
static void parse(int argc, char **argv)
{
	int c, n = 0;

	opt.qemu = calloc(argc + 1, sizeof(*opt.qemu));
	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (c) {
		case TIMEOUT:
			opt.timeout_s = number(optarg);
			break;
		case BOOT:
			opt.boot_s = number(optarg);
			break;
		case PEER:
			opt.peer = optarg;
			break;
		case SETUP:
			opt.setup = optarg;
			break;
		case NETS:
			opt.nics = number(optarg);
			break;
		case LOG:
			opt.log = optarg;
			break;
		case LEDGER:
			opt.ledger = optarg;
			break;
		case OUT:
			opt.out = optarg;
			break;
		case DISK_DIR:
			opt.disk_dir = optarg;
			break;
		case DISK:
			if (opt.disks == MAX_DISKS)
				die("vmio: at most %d disks", MAX_DISKS);
			opt.disk[opt.disks++] = number(optarg);
			break;
		case VIRTUAL:
			opt.virtual_time = optarg;
			break;
		case PEERS:
			opt.peers = number(optarg);
			break;
		case QEMU:
			opt.qemu[n++] = optarg;
			break;
		default:
			die("vmio is part of ci/vm: run that");
		}
	}
	opt.argv = argv + optind;
	opt.argc = argc - optind;
	if (!n || !opt.argc || (opt.nics && !opt.setup && !opt.virtual_time) ||
	    (opt.disks && !opt.disk_dir))
		die("vmio is part of ci/vm: run that");
}

int main(int argc, char **argv)
{
	struct termios tty;
	bool have_tty;
	int lifeline[2], i, status;
	pid_t pid;

	/* Closed ones would be taken by the next file that is opened. */
	for (i = 0; i < 3; i++)
		if (fcntl(i, F_GETFD) < 0 && open("/dev/null", i ? O_WRONLY : O_RDONLY) != i)
			return STATUS_MACHINE;
	parse(argc, argv);

	have_tty = !tcgetattr(0, &tty);
	opt.foreground = have_tty && tcgetpgrp(0) == getpgrp();
	outer_pid = getpid();

	catch_signals();
	enter_namespaces();
	if (pipe2(lifeline, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		close(lifeline[1]);
		exit(inner(lifeline[0]));
	}
	forward_to = pid;
	if (got_signal)
		kill(pid, got_signal);

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid: %s", strerror(errno));
	forward_to = 0;
	if (WIFSIGNALED(status)) {
		/* No chance to put it right itself. */
		if (opt.foreground)
			tcsetattr(0, TCSADRAIN, &tty);
		die("vmio was killed by signal %d", WTERMSIG(status));
	}
	if (got_signal && WEXITSTATUS(status) == 128 + got_signal) {
		/* As if by default, so that a calling script stops as well. */
		signal(got_signal, SIG_DFL);
		kill(getpid(), got_signal);
	}
	return WEXITSTATUS(status);
}

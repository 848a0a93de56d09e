// SPDX-License-Identifier: GPL-2.0-only
/*
 * To be loaded before a program's libraries (LD_PRELOAD): what it does with TCP, by the kernel's
 * own count, and its membw at the end
 *
 * COUNTED names a file. For each socket of TCP that the program closes it gets a line:
 *
 *	socket sent=N again=N unsent=N received=N unread=N read=N late=N early=N
 *
 * sent is payload, with what was sent again; unsent was written, but not sent; received has
 * come, of which unread was not read; read is what read() has returned, of it late after the
 * program had said on any of them that the test is over, as iperf3 does (a byte, TEST_END);
 * early are the segments that had come when it had first read.
 * Before the program is gone /proc/self/membw is added, when what its sockets had still to say is
 * said. When it listens, there is a file COUNTED.listens.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS		1024
#define TEST_END	4		/* iperf_api.h */

static uintmax_t had[SOCKETS], late[SOCKETS];
static unsigned int early[SOCKETS];
static int over;

static void *next(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f)
		abort();
	return f;
}

static FILE *log_file(const char *more)
{
	static char name[4096];
	const char *to = getenv("COUNTED");

	if (!to)
		return NULL;
	snprintf(name, sizeof(name), "%s%s", to, more);
	return fopen(name, "a");
}

static int is_tcp(int fd, struct tcp_info *info)
{
	socklen_t size = sizeof(*info);

	return fd >= 0 && fd < SOCKETS &&
	       !getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) && size == sizeof(*info) &&
	       info->tcpi_state != 10 /* it listens */;
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
	typeof(read) *f = next("read");
	struct tcp_info info;
	ssize_t n;

	n = f(fd, buffer, bytes);
	/* Only now it is its user's, and many may come between two calls. */
	if (fd >= 0 && fd < SOCKETS && !early[fd] && is_tcp(fd, &info))
		early[fd] = info.tcpi_segs_in;
	if (n > 0 && fd < SOCKETS) {
		had[fd] += n;
		if (over)
			late[fd] += n;
	}
	return n;
}

ssize_t write(int fd, const void *buffer, size_t bytes)
{
	typeof(write) *f = next("write");
	struct tcp_info info;

	if (bytes == 1 && *(const char *)buffer == TEST_END && is_tcp(fd, &info))
		over = 1;
	return f(fd, buffer, bytes);
}

int listen(int fd, int backlog)
{
	typeof(listen) *f = next("listen");
	int ret = f(fd, backlog);
	FILE *log = log_file(".listens");

	if (log)
		fclose(log);
	return ret;
}

int close(int fd)
{
	typeof(close) *f = next("close");
	struct tcp_info info = {};
	int unread = 0;
	FILE *log;

	if (is_tcp(fd, &info) && !ioctl(fd, FIONREAD, &unread)) {
		log = log_file("");
		if (log) {
			fprintf(log, "socket sent=%ju again=%ju unsent=%u received=%ju unread=%d read=%ju late=%ju early=%u\n",
				(uintmax_t)info.tcpi_bytes_sent, (uintmax_t)info.tcpi_bytes_retrans,
				info.tcpi_notsent_bytes, (uintmax_t)info.tcpi_bytes_received,
				unread, had[fd], late[fd], early[fd]);
			fclose(log);
		}
	}
	if (fd >= 0 && fd < SOCKETS) {
		had[fd] = 0;
		early[fd] = 0;
		late[fd] = 0;
	}
	return f(fd);
}

__attribute__((destructor)) static void at_the_end(void)
{
	const struct timespec pause = { .tv_nsec = 200 * 1000 * 1000 };
	FILE *log = log_file(""), *membw;
	char line[4096];

	if (!log)
		return;
	nanosleep(&pause, NULL);
	membw = fopen("/proc/self/membw", "r");
	while (membw && fgets(line, sizeof(line), membw))
		fputs(line, log);
	fclose(log);
}

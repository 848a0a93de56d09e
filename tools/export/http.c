// SPDX-License-Identifier: GPL-2.0
/*
 * memio export: a small HTTP server, see metrics.h
 *
 * One thread of libmicrohttpd answers, so scrapes come one after the other, and the reader belongs
 * to that thread. Nothing that a client sends is kept, and nothing of it decides what is read.
 */
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "command.h"
#include "metrics.h"

#define CONNECTIONS_MOST	16
#define IDLE_S			15

static const char front[] =
	"<!doctype html><title>memio export</title><h1>memio export</h1>"
	"<p>Memory bandwidth by control group and device: <a href=\"/metrics\">/metrics</a></p>\n";

static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, const char *type,
			      char *text, size_t length, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(length, text, mode);
	enum MHD_Result done;

	if (!r) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	done = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return done;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned int status, const char *type,
			   const char *text)
{
	return answer(c, status, type, (char *)text, strlen(text), MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result serve_metrics(struct MHD_Connection *c, struct metrics *x)
{
	static const char *const types[] = {
		[METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
		[METRICS_OPEN] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
	};
	const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
	const bool open = accept && strstr(accept, "application/openmetrics-text");
	const enum metrics_format format = open ? METRICS_OPEN : METRICS_TEXT;
	size_t length;
	char *text;
	int err = metrics_print(x, format, &text, &length);

	if (!err)
		return answer(c, MHD_HTTP_OK, types[format], text, length, MHD_RESPMEM_MUST_FREE);
	return say(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8",
		   err == -ENOMEM ? "no memory\n" : "the figures can't be read\n");
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **state)
{
	static int begun;

	(void)version;
	(void)data;
	/* First the head comes alone; an answer then would close the connection. */
	if (!*state) {
		*state = &begun;
		return MHD_YES;
	}
	if (*size) {
		*size = 0;
		return MHD_YES;
	}
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8",
			   "GET and HEAD are answered\n");
	if (!strcmp(url, "/metrics"))
		return serve_metrics(c, arg);
	if (!strcmp(url, "/"))
		return say(c, MHD_HTTP_OK, "text/html; charset=utf-8", front);
	return say(c, MHD_HTTP_NOT_FOUND, "text/plain; charset=utf-8", "only /metrics is here\n");
}

/* "127.0.0.1:9814", "[::1]:9814": numbers, so that nobody is asked for a name */
static struct addrinfo *address_of(const char *text)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE };
	struct addrinfo *found = NULL;
	const char *colon = strrchr(text, ':');
	char host[64] = "";
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (n > 2 && *text == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	} else if (memchr(text, ':', n)) {
		return NULL;
	}
	if (!n || n >= sizeof(host) || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
		return NULL;
	memcpy(host, text, n);
	return getaddrinfo(host, colon + 1, &hints, &found) ? NULL : found;
}

int http_serve(struct metrics *x, const char *address)
{
	struct addrinfo *to = address_of(address);
	struct MHD_Daemon *d;
	sigset_t signals;
	int sig, err;

	if (!to) {
		complain("--listen %s: an address and a port, as 127.0.0.1:9814 or "
				"[::1]:9814", address);
		return STATUS_USAGE;
	}
	/* Before there is a thread, so that all have them blocked */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	errno = 0;
	d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD |
			     (to->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0),
			     0, NULL, NULL, handle, x, MHD_OPTION_SOCK_ADDR, to->ai_addr,
			     MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MOST,
			     MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_END);
	err = errno;
	freeaddrinfo(to);
	if (!d) {
		complain("no server on %s%s%s", address, err ? ": " : "", err ? strerror(err) : "");
		return STATUS_FAILED;
	}
	fprintf(stderr, "memio export: http://%s/metrics\n", address);
	sigwait(&signals, &sig);
	MHD_stop_daemon(d);
	return STATUS_OK;
}

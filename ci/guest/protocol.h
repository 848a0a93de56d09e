/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two ends of ci/vm say to each other: init in the guest and vmio on
 * the host, over one virtio-serial port, a plain byte stream both ways.
 *
 * The stream is cut into frames: a header {type, stream, len} and len bytes.
 *
 *	guest to host				host to guest
 *	HELLO  text: magic and version		RUN    what to run, see vm_run
 *	FAIL   text: why it cannot run		DATA   stream 0: bytes of stdin
 *	DATA   stream 1, 2: output		EOF    stream 0: no more of it
 *	CLOSE  stream 0: nobody reads it	CLOSE  stream 1, 2: nobody reads it
 *	CREDIT stream 0				CREDIT stream 1, 2
 *	EXIT   wait status of the command	WINCH  new size of the window
 *						BYE    EXIT has arrived
 *
 * Three streams share one port, so a stream whose reader is slow must not be
 * let into it: it would keep the others, and EXIT, behind it. Hence credit: a
 * sender has VM_WINDOW bytes per stream, which DATA spends and the receiver's
 * CREDIT (sent when bytes have gone on to their reader) returns. So each end
 * always reads all that comes, and needs no more memory than the windows.
 *
 * A machine in virtual time (ci/vm --virtual) must not notice when the host says something. So the
 * host says nothing over the port: the guest finds RUN's payload and the bytes of stdin as files in
 * its initramfs, has credit without end (the host reads no more while it has enough), and switches
 * itself off behind EXIT or FAIL.
 *
 * Both ends are x86-64 and built together: numbers are in host byte order.
 */
#ifndef MEMIO_VM_PROTOCOL_H
#define MEMIO_VM_PROTOCOL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VM_MAGIC	"memio-vm 2"	/* with the version: change it with the protocol */
#define VM_PORT		"memio"		/* name of the virtio-serial port */
#define VM_RUN_FILE	"memio-run"	/* in the initramfs, of a machine in virtual time */
#define VM_STDIN_FILE	"memio-stdin"

#define VM_PEER		"peer"		/* network namespace in the guest, with the peer inside */

#define VM_WINDOW	(512u << 10)	/* bytes under way per stream */
#define VM_CHUNK	(32u << 10)	/* bytes per DATA: what the guest's driver takes at once */
#define VM_MOST_STDIN	(64u << 20)	/* bytes of stdin in virtual time */
#define VM_MAX_LEN	(4u << 20)	/* longest frame: RUN with a full argument list */

enum vm_type {
	VM_HELLO = 1, VM_FAIL, VM_RUN, VM_DATA, VM_EOF, VM_CLOSE, VM_CREDIT,
	VM_WINCH, VM_EXIT, VM_BYE,
};

struct vm_head {
	uint16_t type;
	uint16_t stream;
	uint32_t len;
};

struct vm_winch {
	uint16_t rows, cols;
};

/*
 * RUN: this, then NUL-terminated strings: the working directory, the output
 * directory ("": none), the peer's command ("": none, or not in the guest), argc arguments,
 * and the environment to the frame's end.
 */
struct vm_run {
	struct vm_winch size;
	uint8_t tty;		/* stdin and stdout are a terminal */
	uint8_t tty_stderr;	/* and stderr is the same one */
	uint16_t nics, disks;	/* devices that must have come up first */
	uint16_t peers;		/* NICs that go to the network namespace VM_PEER, first, too */
	uint32_t argc;
};

/* A queue of bytes. Frees nothing: it lives as long as the program. */
struct vm_queue {
	char *buf;
	size_t head, len, cap;
};

static inline char *vm_peek(struct vm_queue *q)
{
	return q->buf + q->head;
}

static inline void vm_take(struct vm_queue *q, size_t n)
{
	q->head += n;
	q->len -= n;
	if (!q->len)
		q->head = 0;
}

/* Room for n more bytes at the end; aborts when there is no memory at all. */
static inline char *vm_room(struct vm_queue *q, size_t n)
{
	if (q->head + q->len + n > q->cap) {
		if (q->head) {
			memmove(q->buf, q->buf + q->head, q->len);
			q->head = 0;
		}
		if (q->len + n > q->cap) {
			q->cap = 2 * (q->len + n);
			q->buf = realloc(q->buf, q->cap);
			if (!q->buf)
				abort();
		}
	}
	return q->buf + q->head + q->len;
}

static inline void vm_put(struct vm_queue *q, const void *data, size_t n)
{
	if (n)
		memcpy(vm_room(q, n), data, n);
	q->len += n;
}

static inline void vm_send(struct vm_queue *q, enum vm_type type, unsigned int stream,
			   const void *data, size_t len)
{
	struct vm_head h = { type, stream, len };

	vm_put(q, &h, sizeof(h));
	vm_put(q, data, len);
}

/* Read what there is, at most max bytes. Like read(2), with errno. */
static inline ssize_t vm_fill(struct vm_queue *q, int fd, size_t max)
{
	ssize_t n = read(fd, vm_room(q, max), max);

	if (n > 0)
		q->len += n;
	return n;
}

/* Write what goes, at most max bytes. Like write(2), with errno. */
static inline ssize_t vm_drain(struct vm_queue *q, int fd, size_t max)
{
	ssize_t n = write(fd, vm_peek(q), q->len < max ? q->len : max);

	if (n > 0)
		vm_take(q, n);
	return n;
}

/*
 * The next whole frame, if there is one: 1, with its payload (good until the
 * queue is filled again); 0 if more bytes are needed; -1 if these are no frames.
 */
static inline int vm_next(struct vm_queue *q, struct vm_head *h, char **data)
{
	if (q->len < sizeof(*h))
		return 0;
	memcpy(h, vm_peek(q), sizeof(*h));
	if (h->type < VM_HELLO || h->type > VM_BYE || h->stream > 2 || h->len > VM_MAX_LEN)
		return -1;
	if (q->len < sizeof(*h) + h->len)
		return 0;
	*data = vm_peek(q) + sizeof(*h);
	vm_take(q, sizeof(*h) + h->len);
	return 1;
}

/* A number that is the whole payload. */
static inline uint32_t vm_u32(const struct vm_head *h, const char *data)
{
	uint32_t v = 0;

	if (h->len == sizeof(v))
		memcpy(&v, data, sizeof(v));
	return v;
}

#endif

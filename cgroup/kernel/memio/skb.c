// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: packets
 *
 * Sending: a packet gets its owner when it is made, the task that sends, keeps it
 * through clones, segments and retransmissions, and is charged when a driver has
 * taken it: to the device and to the owner at once. A packet that the stack makes by
 * itself, such as an acknowledgment, has none of its own. It has the socket's, which
 * remembers who used it last, by connect, send, receive, or by waiting for packets (never who made
 * or accepted it: servers accept in one task and serve in another). A socket of the kernel's
 * own (NFS) is nobody's, whoever runs when it is used: it works for many. So is one that was
 * handed over to the kernel (nbd).
 *
 * Receiving: the device is charged when its driver hands a packet in, and the
 * packet is tagged with the device and its bytes. They are claimed when somebody
 * reads them, by the task that does; of TCP, the headers (and with them the whole of an
 * acknowledgment) already when the packet has found its socket, by the
 * socket's last user. What nobody claims (forwarded, dropped, purged) stays on the device
 * as unclaimed: the difference between its total and what was claimed, so that nothing has
 * to be done when a packet is freed.
 *
 *	device 0000:00:03.0	1514	1514	66	54
 *	claimed			1514	1514	66	-	a packet was dropped
 *	unclaimed						54
 *
 * Beside its data a packet costs descriptors. What a device reads and writes of them
 * its driver says (struct memio_ring). Of one that does not, what is common among
 * Ethernet devices is taken. Sending: 16 bytes are read for each piece, and for
 * what is to be computed (checksum, segmentation); 8 are written when it is done.
 * Receiving: 16 are read for the buffer, and written with its length.
 */

#include <linux/bits.h>
#include <linux/export.h>
#include <linux/memio_mptcp.h>
#include <linux/netdevice.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "internal.h"

#define DESCRIPTOR	16		/* bytes */

const struct memio_ring memio_ring_status = {
	.tx_piece = DESCRIPTOR,
	.tx_offload = DESCRIPTOR,
	.tx_done = DESCRIPTOR / 2,
	.rx_free = DESCRIPTOR,
	.rx_packet = DESCRIPTOR,
	.tx_reads = 1,
	.tx_writes = 1,
	.rx_reads = 1,
};
EXPORT_SYMBOL_GPL(memio_ring_status);

const struct memio_ring memio_ring_whole = {
	.tx_piece = DESCRIPTOR,
	.tx_offload = DESCRIPTOR,
	.tx_done = DESCRIPTOR,
	.rx_free = DESCRIPTOR,
	.rx_packet = DESCRIPTOR,
	.tx_reads = 1,
	.tx_writes = 1,
	.rx_reads = 1,
};
EXPORT_SYMBOL_GPL(memio_ring_whole);

static const struct memio_ring *ring_of(const struct net_device *dev)
{
	return dev->memio_ring ?: &memio_ring_status;
}

/*
 * How many bytes the lines of a received packet have beside its own: half a line at its
 * end, and the rest of the descriptor's.
 */
#define RX_REST		(MEMIO_LINE / 2 + MEMIO_LINE - DESCRIPTOR)

/* The tag of a packet that has come in: its device, and bytes to be claimed. */
#define RX_BYTES	24		/* bits: up to 16 MiB, of packets that were merged */
#define RX_MOST		(BIT(RX_BYTES) - 1)

static_assert(BIT(32 - RX_BYTES) >= MEMIO_DEVICES);

static u16 rx_dev(const struct sk_buff *skb)
{
	return skb->memio_rx ? skb->memio >> RX_BYTES : 0;
}

static u32 rx_bytes(const struct sk_buff *skb)
{
	return skb->memio_rx ? skb->memio & RX_MOST : 0;
}

static void set_rx(struct sk_buff *skb, u16 dev, u32 bytes)
{
	skb->memio_rx = true;
	skb->memio = (u32)dev << RX_BYTES | min(bytes, RX_MOST);
}

void __memio_skb_rx(struct sk_buff *skb)
{
	const struct memio_ring *ring;
	u16 id = READ_ONCE(skb->dev->memio_dev);
	u32 bytes = skb->len, lines;

	/* With an owner, it has come back from a device that it was sent to (loopback). */
	if (!id || skb->memio || skb->pkt_type == PACKET_LOOPBACK)
		return;

	/* The driver has taken the Ethernet header off. */
	if (skb_mac_header_was_set(skb))
		bytes += skb->data - skb_mac_header(skb);
	ring = ring_of(skb->dev);
	lines = round_up(bytes, MEMIO_LINE) + MEMIO_LINE;
	bytes += ring->rx_packet;
	set_rx(skb, id, bytes);
	/* Filling the ring is the driver's business, not the reader's. */
	memio_charge_in(id, memio_pair(ring->rx_free, 0),
			memio_pair(ring->rx_reads * MEMIO_LINE, 0),
			memio_pair(0, bytes), memio_pair(0, lines));
}

/* Claims a part of what a packet has left, and @rest for its lines. */
static void claim(struct sk_buff *skb, u32 owner, u32 bytes, u32 rest)
{
	u32 left = rx_bytes(skb);
	u16 dev = rx_dev(skb);

	bytes = min(bytes, left);
	if (bytes) {
		set_rx(skb, dev, left - bytes);
		memio_charge_late(dev, owner, bytes, bytes + rest);
	}
}

/* What the lines of all packets that were merged into one have beside their bytes. */
static u32 rest_of(const struct sk_buff *skb)
{
	return max(skb_shinfo(skb)->gso_segs, 1) * RX_REST;
}

/*
 * A socket of the kernel's own, or one that it works with for many, in whatever task happens to
 * run. Most have no file. Those of NFS and of NVMe over TCP have; but as memory may be reclaimed
 * by them they don't touch a task's page_frag, and nor do nbd's and iSCSI's.
 */
static bool kernels(const struct sock *sk)
{
	return !sk->sk_use_task_frag || !sk->sk_socket || !READ_ONCE(sk->sk_socket->file);
}

/* A socket's last user; 0: nobody. In softirqs, where it may have lost its file */
static u32 user_of(const struct sock *sk)
{
	return sk->sk_use_task_frag ? READ_ONCE(sk->sk_memio) : 0;
}

void __memio_skb_headers(struct sock *sk, struct sk_buff *skb)
{
	u32 payload = skb->len - tcp_hdrlen(skb);
	u32 left = rx_bytes(skb);

	if (left > payload)
		claim(skb, user_of(sk), left - payload, rest_of(skb));
}

void __memio_skb_read(struct sock *sk, struct sk_buff *skb, u32 bytes)
{
	u32 owner = 0;

	if (!rx_bytes(skb))
		return;
	/* A task that polls a device may come upon others' packets. */
	if (sk->sk_use_task_frag && !softirq_count())
		owner = memio_current_owner();
	claim(skb, owner ?: user_of(sk), bytes,
	      sk->sk_type == SOCK_STREAM ? 0 : rest_of(skb));
}
EXPORT_SYMBOL(__memio_skb_read);

void __memio_skb_consumed(struct sock *sk, struct sk_buff *skb)
{
	if (!skb_shared(skb))
		__memio_skb_read(sk, skb, U32_MAX);
}

void __memio_skb_delivered(struct sock *sk, struct sk_buff *skb)
{
	/* Not by the current task, whatever runs: it may only poll the device. */
	if (!skb_shared(skb))
		claim(skb, user_of(sk), U32_MAX, rest_of(skb));
}
EXPORT_SYMBOL(__memio_skb_delivered);

u32 __memio_skb_lend(struct sk_buff *clone, struct sk_buff *skb)
{
	u32 lent = rx_bytes(skb) ? skb->memio : 0;

	__memio_skb_merge(clone, skb);
	return lent;
}
EXPORT_SYMBOL(__memio_skb_lend);

void __memio_skb_lent_back(struct sk_buff *skb, u32 lent)
{
	skb->memio = lent;
}
EXPORT_SYMBOL(__memio_skb_lent_back);

void __memio_skb_copied(struct sk_buff *skb)
{
	if (skb->memio_rx)
		set_rx(skb, rx_dev(skb), 0);
}

void __memio_skb_merge(struct sk_buff *to, struct sk_buff *from)
{
	if (!from->memio_rx)
		return;
	if (!to->memio_rx)
		set_rx(to, rx_dev(from), 0);
	if (rx_dev(to) == rx_dev(from)) {
		set_rx(to, rx_dev(to), rx_bytes(to) + rx_bytes(from));
		set_rx(from, rx_dev(from), 0);
	}
}
EXPORT_SYMBOL(__memio_skb_merge);

bool __memio_skb_mergeable(const struct sk_buff *to, const struct sk_buff *from)
{
	if (to->memio_rx || from->memio_rx)
		return rx_dev(to) == rx_dev(from);
	return memio_owner_alike(to->memio, from->memio);
}

void __memio_skb_clear(struct sk_buff *skb)
{
	skb->memio_rx = false;
	skb->memio = 0;
}

/*
 * The current task, if the socket is anybody's (see __memio_sock_used()). Softirqs, and
 * tasks that poll devices in their place, send for the last user.
 */
static u32 sender(const struct sock *sk)
{
	u32 owner = user_of(sk);

	return owner && !softirq_count() ? memio_current_owner() ?: owner : owner;
}

void __memio_skb_tx(struct sk_buff *skb, const struct sock *sk)
{
	/* Whoever looks at a socket (MSG_PEEK) sends an acknowledgment that is due. */
	if (!skb->memio && !skb->memio_rx)
		skb->memio = skb_is_tcp_pure_ack(skb) ? user_of(sk) : sender(sk);
}
EXPORT_SYMBOL(__memio_skb_tx);

void __memio_skb_piece(struct sk_buff *to, const struct sk_buff *from)
{
	to->memio_rx = from->memio_rx;
	to->memio = from->memio;
	__memio_skb_copied(to);
}
EXPORT_SYMBOL(__memio_skb_piece);

bool __memio_skb_of(const struct sk_buff *skb, const struct sock *sk)
{
	return memio_owner_alike(skb->memio, sender(sk));
}

void __memio_data_sent(struct memio_data *data, const struct sock *sk)
{
	data->owner = sender(sk);
}

bool __memio_data_of(const struct memio_data *data, const struct sock *sk)
{
	return memio_owner_alike(data->owner, sender(sk));
}

bool __memio_data_mergeable(const struct sk_buff *skb, const struct memio_data *data)
{
	return memio_owner_alike(skb->memio, data->owner);
}

/* Of the socket that a packet without an owner comes from */
static u32 last_user(const struct sk_buff *skb)
{
	return skb->sk && sk_fullsock(skb->sk) ? user_of(skb->sk) : 0;
}

/*
 * What the kernel makes by itself (ARP, ND) is the root's; what is forwarded, nobody's.
 *
 * Pieces mostly begin with a page and end within a line, but for the first, and the device reads
 * where each is by itself.
 */
void __memio_tx_begin(struct memio_tx *tx, struct sk_buff *skb, const struct net_device *dev)
{
	const struct memio_ring *ring = ring_of(dev);
	u32 pieces, to;

	tx->dev = READ_ONCE(dev->memio_dev);
	if (!tx->dev) {
		/* A device may hand it to another as if it had come in there (macvlan). */
		if (!skb->memio && !skb->memio_rx)
			skb->memio = last_user(skb) ?: memio_root.owner;
		return;
	}
	tx->forwarded = skb->memio_rx;
	tx->owner = tx->forwarded ? 0 : skb->memio;
	if (unlikely(!tx->owner) && !tx->forwarded)
		tx->owner = last_user(skb);
	pieces = 1 + skb_shinfo(skb)->nr_frags;
	to = skb->len + ring->tx_packet + pieces * ring->tx_piece;
	if (pieces > 1)
		to += ring->tx_list;
	if (skb->ip_summed == CHECKSUM_PARTIAL)
		to += ring->tx_offload;
	tx->bytes = memio_pair(to, ring->tx_done);
	tx->lines = memio_pair(skb->len + pieces * (MEMIO_LINE + MEMIO_LINE / 2) + MEMIO_LINE / 2 +
			       ring->tx_reads * MEMIO_LINE, ring->tx_writes * MEMIO_LINE);
}
EXPORT_SYMBOL(__memio_tx_begin);

void __memio_tx_done(const struct memio_tx *tx)
{
	if (unlikely(tx->forwarded))
		memio_charge_in(tx->dev, 0, 0, tx->bytes, tx->lines);
	else
		memio_charge_own(tx->dev, tx->owner, tx->bytes, tx->lines);
}
EXPORT_SYMBOL(__memio_tx_done);

void __memio_sock_follow(struct sock *sk, const struct sock *used)
{
	u32 owner = READ_ONCE(used->sk_memio);

	if (READ_ONCE(sk->sk_memio) != owner)
		WRITE_ONCE(sk->sk_memio, owner);
}

/* Who only looks at what there is (MSG_PEEK) has no part in it, and does not come by. */
void __memio_sock_used(struct sock *sk)
{
	u32 owner;

	/* These never reach a device; nor do AF_UNIX's, which don't come here. */
	if (sk->sk_family == AF_NETLINK || kernels(sk))
		return;
	owner = memio_current_owner();
	if (owner && READ_ONCE(sk->sk_memio) != owner)
		WRITE_ONCE(sk->sk_memio, owner);
}
EXPORT_SYMBOL(__memio_sock_used);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: packets
 *
 * Sending: the socket remembers who used it last, by send or receive (never who
 * made or accepted it: servers accept in one task and serve in another). A
 * packet gets that owner when it is made, keeps it through clones, segments
 * and retransmissions, and is charged when a driver has taken it: to the device
 * and to the owner at once. A packet that the stack makes by itself, such as an
 * acknowledgment, has no owner of its own, and its socket's is taken then.
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
 * Beside its data a packet costs descriptors. What a driver reads and writes of
 * them is its own affair; taken here is what is common among Ethernet devices: 16
 * bytes read and 16 written for each piece of a packet.
 */

#include <linux/if_ether.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "internal.h"

#define DESCRIPTOR	16		/* bytes */

/* The owner that the current task is, 0 if it can't be one. */
static u32 current_owner(void)
{
	if (!in_task() || current->flags & PF_KTHREAD)
		return 0;
	return READ_ONCE(current->memio_owner) ?: __memio_task_owner(current);
}

void __memio_skb_rx(struct sk_buff *skb)
{
	u16 id = skb->dev->memio_dev;
	u32 bytes = skb->len;

	if (!id || skb->memio_dev)
		return;

	/* The driver has taken the Ethernet header off. */
	if (skb_mac_header_was_set(skb))
		bytes += skb->data - skb_mac_header(skb);
	bytes += DESCRIPTOR;
	skb->memio_dev = id;
	skb->memio = bytes;
	memio_charge(id, 0, 0, bytes, MEMIO_TOTAL);
	/* Filling the ring is the driver's business, not the reader's. */
	memio_charge(id, 0, DESCRIPTOR, 0, MEMIO_TOTAL | MEMIO_CLAIM);
}

/* Claims a part of what a packet has left. */
static void claim(struct sk_buff *skb, u32 owner, u32 bytes)
{
	bytes = min(bytes, skb->memio);
	if (bytes) {
		skb->memio -= bytes;
		memio_charge(skb->memio_dev, owner, 0, bytes, MEMIO_CLAIM);
	}
}

void __memio_skb_headers(struct sock *sk, struct sk_buff *skb)
{
	u32 payload = skb->len - tcp_hdrlen(skb);

	if (skb->memio_dev && skb->memio > payload)
		claim(skb, READ_ONCE(sk->sk_memio), skb->memio - payload);
}

void __memio_skb_read(struct sock *sk, struct sk_buff *skb, u32 bytes)
{
	if (skb->memio_dev && skb->memio)
		claim(skb, current_owner() ?: READ_ONCE(sk->sk_memio), bytes);
}

void __memio_skb_copied(struct sk_buff *skb)
{
	if (skb->memio_dev)
		skb->memio = 0;
}

void __memio_skb_merge(struct sk_buff *to, struct sk_buff *from)
{
	if (!from->memio_dev)
		return;
	if (!to->memio_dev)
		to->memio_dev = from->memio_dev;
	if (to->memio_dev == from->memio_dev) {
		to->memio += from->memio;
		from->memio = 0;
	}
}

bool __memio_skb_mergeable(const struct sk_buff *to, const struct sk_buff *from)
{
	if (to->memio_dev != from->memio_dev)
		return false;
	return to->memio_dev || to->memio == from->memio;
}

void __memio_skb_split(struct sk_buff *skb, const struct sk_buff *from)
{
	if (!from->memio_dev)
		skb->memio = from->memio;
}

void __memio_skb_clear(struct sk_buff *skb)
{
	skb->memio_dev = 0;
	skb->memio = 0;
}

void __memio_skb_tx(struct sk_buff *skb, const struct sock *sk)
{
	if (!skb->memio_dev)
		skb->memio = READ_ONCE(sk->sk_memio);
}

bool __memio_skb_of(const struct sk_buff *skb, const struct sock *sk)
{
	return skb->memio == READ_ONCE(sk->sk_memio);
}

void __memio_tx_begin(struct memio_tx *tx, const struct sk_buff *skb)
{
	tx->owner = skb->memio_dev ? 0 : skb->memio;
	if (!tx->owner && !skb->memio_dev && skb->sk && sk_fullsock(skb->sk))
		tx->owner = READ_ONCE(skb->sk->sk_memio);
	tx->bytes = skb->len;
	tx->descriptors = 1 + skb_shinfo(skb)->nr_frags + !!skb_is_gso(skb);
}

void __memio_tx_done(const struct net_device *dev, const struct memio_tx *tx)
{
	u32 read = tx->bytes + tx->descriptors * DESCRIPTOR;
	u32 written = tx->descriptors * DESCRIPTOR;

	memio_charge(dev->memio_dev, tx->owner, read, written,
		     tx->owner ? MEMIO_TOTAL | MEMIO_CLAIM : MEMIO_TOTAL);
}

void __memio_sock_used(struct sock *sk)
{
	u32 owner = current_owner();

	if (sk && owner && READ_ONCE(sk->sk_memio) != owner)
		WRITE_ONCE(sk->sk_memio, owner);
}

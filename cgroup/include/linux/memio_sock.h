/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: hooks that look at a socket or a packet before they call anything
 *
 * Apart from memio.h, which <linux/skbuff.h> needs before it has a packet: this is a part of
 * <net/sock.h>. Most packets of a kernel never see a device. Those have no tag and their sockets
 * no user, and cost a load and a test here.
 */
#ifndef _LINUX_MEMIO_SOCK_H
#define _LINUX_MEMIO_SOCK_H

#include <linux/memio.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/socket.h>

#ifdef CONFIG_CGROUP_MEMIO

void __memio_skb_headers(struct sock *sk, struct sk_buff *skb);
void __memio_skb_read(struct sock *sk, struct sk_buff *skb, u32 bytes);
void __memio_skb_consumed(struct sock *sk, struct sk_buff *skb);
void __memio_skb_copied(struct sk_buff *skb);
void __memio_skb_tx(struct sk_buff *skb, const struct sock *sk);
bool __memio_skb_of(const struct sk_buff *skb, const struct sock *sk);
void __memio_skb_delivered(struct sock *sk, struct sk_buff *skb);
void __memio_sock_follow(struct sock *sk, const struct sock *used);
void __memio_sock_used(struct sock *sk);

/**
 * memio_skb_headers - a packet has reached its TCP socket
 * @sk:		the socket
 * @skb:	the packet, from its TCP header on
 *
 * What is not payload (of an acknowledgment, all) is claimed by the socket's
 * last user.
 *
 * Context: Softirq or process.
 */
static inline void memio_skb_headers(struct sock *sk, struct sk_buff *skb)
{
	if (memio_enabled() && skb->memio_rx)
		__memio_skb_headers(sk, skb);
}

/**
 * memio_skb_read - somebody takes a packet's bytes
 * @sk:		the socket they come from
 * @skb:	the packet
 * @bytes:	how many; U32_MAX: all that are left
 *
 * The current task claims them; in interrupts and kernel threads, the socket's
 * last user does.
 *
 * Context: Any.
 */
static inline void memio_skb_read(struct sock *sk, struct sk_buff *skb, u32 bytes)
{
	if (memio_enabled() && skb->memio_rx)
		__memio_skb_read(sk, skb, bytes);
}

/**
 * memio_skb_consumed - somebody is done with a packet
 * @sk:		the socket
 * @skb:	the packet: what is still to be claimed of it is read by whoever is done with it
 *		last. May be NULL, as consume_skb()'s
 *
 * Context: Process or softirq.
 */
static inline void memio_skb_consumed(struct sock *sk, struct sk_buff *skb)
{
	if (memio_enabled() && skb && skb->memio_rx)
		__memio_skb_consumed(sk, skb);
}

/**
 * memio_skb_delivered - a packet's bytes were copied to where a task sees them
 * @sk:		the task's socket; its last user claims them
 * @skb:	the packet; if others still hold it, they claim it
 *
 * Context: Softirq.
 */
static inline void memio_skb_delivered(struct sock *sk, struct sk_buff *skb)
{
	if (memio_enabled() && skb->memio_rx)
		__memio_skb_delivered(sk, skb);
}

/**
 * memio_skb_tx - a socket makes a packet, or sends one that nobody has asked for
 * @skb:	the packet; unless it has an owner, that is the current task, or in softirqs
 *		the socket's last user; nobody, if nobody has used it
 * @sk:		the socket
 *
 * Context: Any.
 */
static inline void memio_skb_tx(struct sk_buff *skb, const struct sock *sk)
{
	u32 owner;

	if (!memio_enabled())
		return;
	owner = READ_ONCE(sk->sk_memio);
	if (!owner)
		return;
	/* Whether it is the task or the last user: they are one. */
	if (likely(owner == READ_ONCE(current->memio_owner) && sk->sk_use_task_frag &&
		   !skb->memio && !skb->memio_rx))
		skb->memio = owner;
	else
		__memio_skb_tx(skb, sk);
}

/**
 * memio_skb_of - may a socket's user add to a packet?
 * @skb:	a packet that waits to be sent
 * @sk:		the socket
 *
 * Context: Process, with the socket's lock.
 * Return: true if the packet is of the current task's process and group.
 */
static inline bool memio_skb_of(const struct sk_buff *skb, const struct sock *sk)
{
	return !memio_enabled() || __memio_skb_of(skb, sk);
}

/**
 * memio_sock_used - the current task sends to or receives from a socket
 * @sk:		the socket; may be NULL. One that the kernel works with is nobody's.
 *
 * Context: Process.
 */
static inline void memio_sock_used(struct sock *sk)
{
	u32 owner;

	/* What goes through a socket of AF_UNIX never reaches a device. */
	if (!memio_enabled() || !sk || sk->sk_family == AF_UNIX)
		return;
	owner = READ_ONCE(current->memio_owner);
	if (unlikely(!owner || READ_ONCE(sk->sk_memio) != owner))
		__memio_sock_used(sk);
}

/**
 * memio_sock_follow - a socket works for another
 * @sk:		the socket; its last user is that of
 * @used:	the other
 *
 * Context: Any.
 */
static inline void memio_sock_follow(struct sock *sk, const struct sock *used)
{
	if (memio_enabled())
		__memio_sock_follow(sk, used);
}

/**
 * memio_skb_copied - a packet is a copy
 * @skb:	the copy: if it has come in, the original pays
 *
 * Context: Any.
 */
static inline void memio_skb_copied(struct sk_buff *skb)
{
	if (memio_tags() && skb->memio_rx)
		__memio_skb_copied(skb);
}

#else /* !CONFIG_CGROUP_MEMIO */

static inline void memio_skb_headers(struct sock *sk, struct sk_buff *skb)
{
}

static inline void memio_skb_read(struct sock *sk, struct sk_buff *skb, u32 bytes)
{
}

static inline void memio_skb_consumed(struct sock *sk, struct sk_buff *skb)
{
}

static inline void memio_skb_delivered(struct sock *sk, struct sk_buff *skb)
{
}

static inline void memio_skb_tx(struct sk_buff *skb, const struct sock *sk)
{
}

static inline bool memio_skb_of(const struct sk_buff *skb, const struct sock *sk)
{
	return true;
}

static inline void memio_sock_used(struct sock *sk)
{
}

static inline void memio_sock_follow(struct sock *sk, const struct sock *used)
{
}

static inline void memio_skb_copied(struct sk_buff *skb)
{
}

#endif /* CONFIG_CGROUP_MEMIO */

#endif /* _LINUX_MEMIO_SOCK_H */

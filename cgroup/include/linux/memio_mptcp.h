/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memio: data of MPTCP that wait.
 *
 * TCP makes packets of data as soon as they are sent, and a packet has an owner. MPTCP keeps data
 * in fragments, and makes packets of these when the peer has room, once more on another path if
 * need be: whenever that is, and whoever happens to do it. So a fragment has the owner of who sent
 * what is in it, which packets that are made of it get. Data of two owners are in two fragments,
 * as they are in two packets.
 */
#ifndef _LINUX_MEMIO_MPTCP_H
#define _LINUX_MEMIO_MPTCP_H

#include <linux/memio.h>
#include <linux/skbuff.h>

struct sock;

/**
 * struct memio_data - whose the data of a fragment are; nothing without memio
 * @owner:	who has sent them, 0 if memio was off
 */
struct memio_data {
#ifdef CONFIG_CGROUP_MEMIO
	u32 owner;
#endif
};

#ifdef CONFIG_CGROUP_MEMIO

void __memio_data_sent(struct memio_data *data, const struct sock *sk);
bool __memio_data_of(const struct memio_data *data, const struct sock *sk);
bool __memio_data_mergeable(const struct sk_buff *skb, const struct memio_data *data);

/**
 * memio_data_sent - a fragment is made for what a socket's user sends
 * @data:	the fragment's
 * @sk:		the socket
 *
 * Context: Process, with the socket's lock.
 */
static inline void memio_data_sent(struct memio_data *data, const struct sock *sk)
{
	data->owner = 0;
	if (memio_enabled())
		__memio_data_sent(data, sk);
}

/**
 * memio_data_of - may a socket's user add to a fragment?
 * @data:	the fragment's
 * @sk:		the socket
 *
 * Context: Process, with the socket's lock.
 * Return: true if the fragment is of the current task's process and group.
 */
static inline bool memio_data_of(const struct memio_data *data, const struct sock *sk)
{
	return !memio_enabled() || __memio_data_of(data, sk);
}

/**
 * memio_data_mergeable - may a fragment's data be added to a packet?
 * @skb:	a packet that waits to be sent
 * @data:	the fragment's
 *
 * Context: Any.
 * Return: true if both are of one process and group.
 */
static inline bool memio_data_mergeable(const struct sk_buff *skb, const struct memio_data *data)
{
	return !memio_enabled() || __memio_data_mergeable(skb, data);
}

/**
 * memio_data_tx - a packet is made for a fragment's data
 * @skb:	the packet, which has no owner yet
 * @data:	the fragment's
 *
 * Context: Any.
 */
static inline void memio_data_tx(struct sk_buff *skb, const struct memio_data *data)
{
	if (memio_enabled())
		skb->memio = data->owner;
}

#else

static inline void memio_data_sent(struct memio_data *data, const struct sock *sk)
{
}

static inline bool memio_data_of(const struct memio_data *data, const struct sock *sk)
{
	return true;
}

static inline bool memio_data_mergeable(const struct sk_buff *skb, const struct memio_data *data)
{
	return true;
}

static inline void memio_data_tx(struct sk_buff *skb, const struct memio_data *data)
{
}

#endif

#endif /* _LINUX_MEMIO_MPTCP_H */

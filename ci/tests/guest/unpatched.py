# SPDX-License-Identifier: GPL-2.0
"""What cases of guest/unpatched do that no command does, and their peer's side.

        unpatched.py moved-read|mmap-read|mmap-write|inherited-read|exec-read|threaded-read DISK
        unpatched.py readahead-other FILE
        unpatched.py swap-own|swap-other
        unpatched.py child-send|passed-receive|tcp-serve|fd-passed-send|shared-udp|splice-receive HOST
        unpatched.py mptcp-send|mptcp-receive|vlan-send|vlan-receive|packet-send HOST
        unpatched.py sendfile-send HOST DISK
        unpatched.py call HOST WHAT             the peer is asked for that, and has done it at the end
        unpatched.py peer

The groups are a and b, as there.
"""

import mmap
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time

MIB = 1 << 20
CALL_BACK, SOURCE, SINK, SERVER, ORDER, TCP_SINK, MP_SOURCE, MP_SINK, SHARED, TAGGED = range(5300, 5310)
MPTCP = 262
DATAGRAM = bytes(1400)


def enter(group):
    """This task goes into the group."""
    with open(f"/sys/fs/cgroup/{group}/cgroup.procs", "w", encoding="ascii") as f:
        f.write("0")


def moved_read(disk):
    """Half of what a task reads it reads in another group."""
    fd = os.open(disk, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, MIB)
    for i in range(16):
        if i % 8 == 0:
            enter("ab"[i // 8])
        os.preadv(fd, [buffer], i * MIB)


def mmap_read(disk):
    """Faults read pages in."""
    enter("a")
    fd = os.open(disk, os.O_RDONLY)
    pages = mmap.mmap(fd, 16 * MIB, prot=mmap.PROT_READ)
    sum(pages[i] for i in range(0, 16 * MIB, 4096))


def mmap_write(disk):
    """Pages are dirtied by stores."""
    enter("a")
    fd = os.open(disk, os.O_RDWR)
    pages = mmap.mmap(fd, 8 * MIB)
    for i in range(0, 8 * MIB, 4096):
        pages[i] = 1
    pages.flush()


def in_child(group, work):
    """The work is done by a child in that group."""
    child = os.fork()
    if not child:
        enter(group)
        work()
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"the child in {group} failed")


def child_send(host):
    """A socket that one task has made, another one sends by."""
    enter("a")
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((host, SINK))
    in_child("b", lambda: [s.send(bytes(1400)) for _ in range(2000)])


def passed_receive(host):
    """What comes while one task has the socket, another one reads."""
    enter("a")
    s = socket.create_connection((host, SOURCE))
    select.select([s], [], [])

    def read():
        while s.recv(65536):
            pass

    in_child("b", read)


def tcp_serve(host):
    """A server, to which the peer connects when it is asked."""
    enter("b")
    server = socket.create_server(("", SERVER))
    socket.create_connection((host, CALL_BACK)).close()
    s = server.accept()[0]
    while s.recv(65536):
        pass


def direct(fd, start, count):
    """Reads so many MiB from there on."""
    buffer = mmap.mmap(-1, MIB)
    for i in range(start, start + count):
        os.preadv(fd, [buffer], i * MIB)


def inherited_read(disk):
    """A child reads by what its parent has opened."""
    enter("a")
    fd = os.open(disk, os.O_RDONLY | os.O_DIRECT)
    in_child("b", lambda: direct(fd, 400, 8))


def exec_read(disk):
    """A task reads, moves, and becomes another program, which goes on."""
    enter("a")
    direct(os.open(disk, os.O_RDONLY | os.O_DIRECT), 420, 8)
    enter("b")
    os.execvp("dd", ["dd", f"if={disk}", "bs=1M", "count=8", "skip=430", "iflag=direct", "of=/dev/null",
                     "status=none"])


def threaded_read(disk):
    """Two threads of a process, each in a group of its own."""
    enter("t")
    fd = os.open(disk, os.O_RDONLY | os.O_DIRECT)

    def read(group, start):
        with open(f"/sys/fs/cgroup/t/{group}/cgroup.threads", "w", encoding="ascii") as f:
            f.write(str(threading.get_native_id()))
        direct(fd, start, 8)

    threads = [threading.Thread(target=read, args=args) for args in (("x", 440), ("y", 450))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def readahead_other(file):
    """One has all read ahead, and another one reads it from memory."""
    def ahead():
        fd = os.open(file, os.O_RDONLY)
        for i in range(0, 16 * MIB, MIB // 8):
            os.posix_fadvise(fd, i, MIB // 8, os.POSIX_FADV_WILLNEED)

    def read():
        with open(file, "rb") as f:
            while f.read(MIB):
                pass

    in_child("a", ahead)
    time.sleep(1)
    in_child("b", read)


def fill():
    """Of this task's own memory 48 MiB, none of which is like another"""
    memory = mmap.mmap(-1, 48 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(0, 48 * MIB, MIB):
        memory[i:i + MIB] = os.urandom(MIB)
    return memory


def swap_own():
    """A group has more memory than it may."""
    enter("a")
    fill()


def swap_other():
    """One has memory, and another one takes it."""
    enter("a")
    memory = fill()

    def reclaim():
        # It may be less than was asked for.
        try:
            with open("/sys/fs/cgroup/a/memory.reclaim", "w", encoding="ascii") as f:
                f.write("16M")
        except OSError:
            pass

    in_child("b", reclaim)
    del memory


def connected(host, port, protocol=0):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    s.connect((host, port))
    return s


def call(host, what):
    """The peer does something, and hangs up."""
    s = connected(host, ORDER)
    s.sendall(what.encode())
    s.shutdown(socket.SHUT_WR)
    while s.recv(1):
        pass


def fd_passed_send(host):
    """A socket that goes to another task by a message"""
    enter("a")
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)

    def send():
        fd = socket.recv_fds(there, 1, 1)[1][0]
        s = socket.socket(fileno=fd)
        for _ in range(2000):
            s.send(DATAGRAM)

    child = os.fork()
    if not child:
        here.close()
        enter("b")
        send()
        os._exit(0)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((host, SINK))
    socket.send_fds(here, [b"x"], [s.fileno()])
    s.close()
    if os.waitpid(child, 0)[1]:
        sys.exit("the child failed")


def shared_udp(host):
    """Two read from one socket, one after the other: 1024 datagrams, and 512."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, 33, 16 * MIB)  # SO_RCVBUFFORCE
    s.bind(("", SHARED))
    s.settimeout(20)
    order = threading.Thread(target=call, args=(host, "datagrams"))
    order.start()
    for group, n in (("a", 1024), ("b", 512)):
        in_child(group, lambda n=n: [s.recv(2000) for _ in range(n)])
    order.join()


def splice_receive(host):
    """From a socket into a pipe, and on to nowhere"""
    enter("b")
    s = connected(host, SOURCE)
    out, into = os.pipe()
    null = os.open("/dev/null", os.O_WRONLY)
    while n := os.splice(s.fileno(), into, 65536):
        while n:
            n -= os.splice(out, null, n)


def sendfile_send(host, disk):
    """A disk's pages go to a connection as they are."""
    enter("a")
    s = connected(host, TCP_SINK)
    fd, at = os.open(disk, os.O_RDONLY), 460 * MIB
    while at < 468 * MIB:
        at += os.sendfile(s.fileno(), fd, at, 468 * MIB - at)
    s.shutdown(socket.SHUT_WR)
    while s.recv(1):
        pass


def mptcp_send(host):
    enter("a")
    s = connected(host, MP_SINK, MPTCP)
    s.sendall(bytes(4 * MIB))
    s.shutdown(socket.SHUT_WR)
    while s.recv(1):
        pass


def mptcp_receive(host):
    enter("b")
    s = connected(host, MP_SOURCE, MPTCP)
    while s.recv(65536):
        pass


def vlan_send(_):
    enter("a")
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("192.0.5.1", TAGGED))
    for i in range(2000):
        s.send(DATAGRAM)
        if i % 32 == 0:
            time.sleep(0.01)


def vlan_receive(host):
    """Until the peer has sent all, and all have come"""
    enter("b")
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, 33, 16 * MIB)  # SO_RCVBUFFORCE
    s.bind(("192.0.5.2", TAGGED))
    call(host, "tagged")
    s.settimeout(2)
    try:
        for _ in range(2000):
            s.recv(2000)
    except TimeoutError:
        pass


def packet_send(_):
    """Frames that this task has made, of a protocol that nobody knows"""
    enter("a")
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind(("eth0", 0))
    for i in range(2000):
        s.send(bytes.fromhex("020000000006 5254004d4900 88b5") + DATAGRAM)
        if i % 32 == 0:
            time.sleep(0.01)


def paced(send):
    """2000 datagrams, not all at once"""
    for i in range(2000):
        send()
        if i % 32 == 0:
            time.sleep(0.01)


def tagged():
    """Datagrams in VLAN 5, which need no driver here"""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind(("tap0", 0))
    udp = struct.pack(">HHHH", TAGGED, TAGGED, 8 + len(DATAGRAM), 0) + DATAGRAM
    ip = bytearray(struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0,
                               bytes([192, 0, 5, 1]), bytes([192, 0, 5, 2])))
    total = sum(struct.unpack(">10H", ip))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    ip[10:12] = struct.pack(">H", ~total & 0xffff)
    frame = bytes.fromhex("5254004d4900 020000000005 8100 0005 0800") + ip + udp
    paced(lambda: s.send(frame))


def told(what, address):
    """What guests ask for"""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if what == "datagrams":
        paced(lambda: s.sendto(DATAGRAM, (address, SHARED)))
    elif what == "tagged":
        tagged()
    elif what == "route":
        subprocess.run(["ip", "route", "replace", "203.0.113.0/25", "via", address], check=True)
    elif what == "forward":
        # Out by one interface, and in again by the other
        subprocess.run(["ip", "route", "replace", "203.0.113.128/25", "via", address], check=True)
        paced(lambda: s.sendto(DATAGRAM, ("203.0.113.130", SINK)))


def served(s, address, port):
    """One connection of the peer's"""
    if port == CALL_BACK:
        s.close()
        s = connected(address, SERVER)
    if port == ORDER:
        told(s.recv(100).decode(), address)
    elif port in (TCP_SINK, MP_SINK):
        while s.recv(65536):
            pass
    else:
        s.sendall(bytes(4 * MIB))
    s.close()


def peer():
    """iperf3's server, sources, sinks, a client that comes when it is asked, and what else is asked for."""
    subprocess.run(["iperf3", "-s", "-D"], check=True, stdout=subprocess.DEVNULL)
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("", SINK))
    servers = {}
    for port in (CALL_BACK, SOURCE, ORDER, TCP_SINK, MP_SOURCE, MP_SINK):
        server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP if port in (MP_SOURCE, MP_SINK) else 0)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", port))
        server.listen()
        servers[server] = port
    while True:
        for server in select.select(list(servers), [], [])[0]:
            s, address = server.accept()
            threading.Thread(target=served, args=(s, address[0], servers[server])).start()


WHAT = {"moved-read": moved_read, "mmap-read": mmap_read, "mmap-write": mmap_write,
        "inherited-read": inherited_read, "exec-read": exec_read, "threaded-read": threaded_read,
        "readahead-other": readahead_other, "swap-own": swap_own, "swap-other": swap_other,
        "child-send": child_send, "passed-receive": passed_receive, "tcp-serve": tcp_serve,
        "fd-passed-send": fd_passed_send, "shared-udp": shared_udp, "splice-receive": splice_receive,
        "sendfile-send": sendfile_send, "mptcp-send": mptcp_send, "mptcp-receive": mptcp_receive,
        "vlan-send": vlan_send, "vlan-receive": vlan_receive, "packet-send": packet_send,
        "call": call, "peer": peer}
WHAT[sys.argv[1]](*sys.argv[2:])

# SPDX-License-Identifier: GPL-2.0
"""What cases of guest/unpatched do that no command does, and their peer's side.

        unpatched.py moved-read|mmap-read|mmap-write DISK
        unpatched.py child-send|passed-receive|tcp-serve HOST
        unpatched.py peer

The groups are a and b, as there.
"""

import mmap
import os
import select
import socket
import subprocess
import sys

MIB = 1 << 20
CALL_BACK, SOURCE, SINK, SERVER = range(5300, 5304)


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


def peer():
    """iperf3's server, a source, a sink, and a client that comes when it is asked."""
    subprocess.run(["iperf3", "-s", "-D"], check=True, stdout=subprocess.DEVNULL)
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("", SINK))
    source = socket.create_server(("", SOURCE))
    calls = socket.create_server(("", CALL_BACK))
    while True:
        for server in select.select([source, calls], [], [])[0]:
            s, address = server.accept()
            if server is calls:
                s.close()
                s = socket.create_connection((address[0], SERVER))
            s.sendall(bytes(4 * MIB))
            s.close()


WHAT = {"moved-read": moved_read, "mmap-read": mmap_read, "mmap-write": mmap_write,
        "child-send": child_send, "passed-receive": passed_receive, "tcp-serve": tcp_serve, "peer": peer}
WHAT[sys.argv[1]](*sys.argv[2:])

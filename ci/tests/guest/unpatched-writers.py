#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# In the guest, on a kernel without memio: what `memio stat` says of tasks whose pages another task
# writes out.
#
#	unpatched-writers.py MEMIO DIR
#
# The tasks are one, two and out, in groups a, b and n; only out calls fsync(). DIR has CASE.json of
# memio stat for each case, CASE.counter with the bytes that the disk's own count grew by, and tasks
# with a line for each task: name and process number.

import mmap
import os
import subprocess
import sys
import time

memio, directory = sys.argv[1:]
DISK = "/dev/nvme0n1"
GROUPS = "/sys/fs/cgroup"
PAGE = 4096
MIB = 1 << 20


def join(group):
    os.makedirs(f"{GROUPS}/{group}", exist_ok=True)
    with open(f"{GROUPS}/{group}/cgroup.procs", "w") as f:
        f.write("0")


def write(path, *pieces):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    for at, length in pieces:
        while length:
            n = os.pwrite(fd, bytes(min(length, MIB)), at)
            at, length = at + n, length - n
    os.close(fd)


def store(path, length):
    fd = os.open(path, os.O_RDWR)
    with mmap.mmap(fd, length) as m:
        for at in range(0, length, PAGE):
            m[at] = 1
    os.close(fd)


def out(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


STEPS = {"write": write, "store": store, "out": out}


class Task:
    """A process in a group, which takes steps when it is told to"""

    def __init__(self, group):
        self.steps, steps = os.pipe()
        done, self.done = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            join(group)
            os.write(self.done, b".")
            while True:
                name, *more = eval(os.read(self.steps, 65536).decode())
                STEPS[name](*more)
                os.write(self.done, b".")
        self.steps, self.done = steps, done
        os.read(self.done, 1)

    def take(self, *step):
        os.write(self.steps, repr(step).encode())
        os.read(self.done, 1)


def written():
    with open("/sys/block/nvme0n1/stat") as f:
        return int(f.read().split()[6]) * 512


def measure(name, pids, body):
    for f in ("/run/go", "/run/done"):
        if os.path.exists(f):
            os.remove(f)
    os.sync()
    command = [memio, "stat", "--json", "-o", f"{directory}/{name}.json", "--backend", "bpf"]
    for group in ("/a", "/b", "/n"):
        command += ["--cgroup", group]
    for pid in pids:
        command += ["--pid", str(pid)]
    stat = subprocess.Popen(command + ["--", "sh", "-c",
                                       ": >/run/go; until [ -e /run/done ]; do sleep 0.1; done"])
    while not os.path.exists("/run/go"):
        if stat.poll() is not None:
            sys.exit(f"{name}: memio stat has status {stat.returncode}")
        time.sleep(0.1)
    begin = written()
    body()
    with open(f"{directory}/{name}.counter", "w") as f:
        f.write(f"{written() - begin}\n")
    open("/run/done", "w").close()
    if stat.wait():
        sys.exit(f"{name}: memio stat has status {stat.returncode}")


with open(f"{GROUPS}/cgroup.subtree_control", "w") as f:
    f.write("+memory")
one, two, three = Task("a"), Task("b"), Task("n")
with open(f"{directory}/tasks", "w") as f:
    f.write(f"one {one.pid}\ntwo {two.pid}\nout {three.pid}\n")
pids = [one.pid, two.pid, three.pid]


# Two tasks write to a disk's file, and a third one has both written out.
def disk():
    one.take("write", DISK, (0, 8 * MIB))
    two.take("write", DISK, (64 * MIB, 4 * MIB))
    three.take("out", DISK)


# The tasks' pages take turns, as do the groups whose memory the pages are.
def pages(path, at):
    for i in range(0, 512, 32):
        one.take("write", path, *[(at + n * PAGE, PAGE) for n in range(i, i + 32) if n % 4])
        two.take("write", path, *[(at + n * PAGE, PAGE) for n in range(i, i + 32) if n % 4 == 0])
    three.take("out", path)


# A page that was written out and is made dirty again is another's.
def again():
    one.take("write", DISK, (256 * MIB, 4 * MIB))
    three.take("out", DISK)
    two.take("write", DISK, (256 * MIB, 4 * MIB))
    three.take("out", DISK)


# The task that wrote has gone: its bytes are not those of the task that has them written out.
def gone():
    dead = Task("a")
    dead.take("write", DISK, (300 * MIB, 8 * MIB))
    os.kill(dead.pid, 9)
    os.waitpid(dead.pid, 0)
    three.take("out", DISK)


# By a mapping, on a file system
def mapped():
    one.take("store", "/run/fs/file", 8 * MIB)
    two.take("write", "/run/fs/file", (12 * MIB, 4 * MIB))
    three.take("out", "/run/fs/file")


measure("disk", pids, disk)
measure("pages", pids, lambda: pages(DISK, 128 * MIB))
measure("again", pids, again)
measure("gone", pids, gone)
os.makedirs("/run/fs", exist_ok=True)
subprocess.run(["addpart", DISK, "1", str(2048 * 2048), str(512 * 2048)], check=True)
subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", DISK + "p1"], check=True)
subprocess.run(["mount", "-o", "noatime,no_prefetch_block_bitmaps,commit=1000", DISK + "p1", "/run/fs"], check=True)
write("/run/fs/file", (0, 16 * MIB))
os.sync()
measure("mapped", pids, mapped)
measure("together", pids, lambda: pages("/run/fs/new", 0))
for t in (one, two, three):
    os.kill(t.pid, 9)

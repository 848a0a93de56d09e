# SPDX-License-Identifier: GPL-2.0
#
# Where memio's hooks are in a kernel that is compiled, and what they are while they are off:
#
#	sites.py count VMLINUX			lines `FUNCTION N`: no-ops that are hooks
#	sites.py hooks VMLINUX FUNCTION...	them, lines `FUNCTION INSTRUCTION  <- KEY`
#	sites.py show STOCK VMLINUX FUNCTION...	what is around them, the stock kernel's beside it
#
# A hook is an entry of the kernel's jump table whose key is one of memio's. The linker's file
# has the instructions that run as long as the key is off.

import bisect
import collections
import difflib
import re
import struct
import subprocess
import sys

KEYS = ("memio_key", "memio_tags_key", "memio_cpu_key", "memio_limit_key")
BESIDE = 2


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def symbols(vmlinux):
    for line in run("nm", "-n", vmlinux).splitlines():
        w = line.split()
        if len(w) == 3:
            yield int(w[0], 16), w[1], w[2]


def hooks(vmlinux):
    """Pairs of the address and the key's name, and the table of functions."""
    table = list(symbols(vmlinux))
    at = {name: address for address, _, name in table}
    keys = {at[key]: key for key in KEYS if key in at}
    start = at["__start___jump_table"]
    data = b""
    for line in run("objdump", "-s", "--start-address=%#x" % start,
                    "--stop-address=%#x" % at["__stop___jump_table"], vmlinux).splitlines():
        if re.match(r" ffffffff", line):
            data += bytes.fromhex(line[18:53].replace(" ", ""))
    found = []
    # An entry: where the code is and where it jumps to (32 bits each), the key (64), all
    # relative to themselves; the key's last bits are flags.
    for o in range(0, len(data) - 15, 16):
        code, _, key = struct.unpack_from("<iiq", data, o)
        key = (start + o + 8 + key) & ~3
        if key in keys:
            found.append((start + o + code, keys[key]))
    return found, [(address, name) for address, kind, name in table if kind in "tT"]


def count(vmlinux):
    found, functions = hooks(vmlinux)
    begins = [address for address, _ in functions]
    n = collections.Counter(functions[bisect.bisect(begins, address) - 1][1]
                            for address, _ in found)
    for name in sorted(n):
        print(name, n[name])


def code(vmlinux, function):
    """Pairs of the address and the instruction."""
    out = run("objdump", "-d", "--no-show-raw-insn", "--disassemble=" + function, vmlinux)
    return [(int(m[1], 16), " ".join(m[2].split("#")[0].split()))
            for m in re.finditer(r"^(ffffffff[0-9a-f]+):\s+(.*)$", out, re.M)]


def alike(text):
    """What is the same in both kernels: not where code and members are."""
    return re.sub(r"<.*>|(0x)?[0-9a-f]{2,}", "", text)


def show(stock, vmlinux, function):
    found = dict(hooks(vmlinux)[0])
    old, new = code(stock, function), code(vmlinux, function)
    if not old or not new:
        return
    rows = []
    # The stock kernel has no-ops, too, of other keys: a hook is like none of them.
    matcher = difflib.SequenceMatcher(None, [alike(t) for _, t in old],
                                      [found.get(a) or alike(t) for a, t in new],
                                      autojunk=False)
    for _, i, to_i, j, to_j in matcher.get_opcodes():
        for k in range(max(to_i - i, to_j - j)):
            rows.append((old[i + k] if i + k < to_i else None,
                         new[j + k] if j + k < to_j else None))

    def text(line, begin):
        if not line:
            return ""
        # Where in the kernel a jump goes is known by the function.
        return "+%x: " % (line[0] - begin) + re.sub(r"ffffffff[0-9a-f]+ (<.*>)", r"\1", line[1])

    at = [n for n, (_, line) in enumerate(rows) if line and line[0] in found]
    print("%-50s  %s" % (function + ", stock", function + ", patched"))
    last = None
    for n in range(len(rows)):
        if not any(abs(n - a) <= BESIDE for a in at):
            continue
        if last is not None and n != last + 1:
            print("...")
        last = n
        left, right = rows[n]
        line = "%-50s  %s" % (text(left, old[0][0]), text(right, new[0][0]))
        if right and right[0] in found:
            line += "  <- " + found[right[0]]
        print(line.rstrip())


def only(vmlinux, functions):
    found = dict(hooks(vmlinux)[0])
    for function in functions:
        for address, text in code(vmlinux, function):
            if address in found:
                print("%s %s  <- %s" % (function, text, found[address]))


if sys.argv[1] == "count":
    count(sys.argv[2])
elif sys.argv[1] == "hooks":
    only(sys.argv[2], sys.argv[3:])
else:
    for f in sys.argv[4:]:
        show(sys.argv[2], sys.argv[3], f)

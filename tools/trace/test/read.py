#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
read.py FILE: the records of a trace, as CPU,TSC,TID lines

Written from FORMAT.md alone, to see that it says all that one has to know; slow. Checks
what can be checked, and fails if something is not as that text has it.
"""
import struct
import sys

ESCAPE = 0xffff0000


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


def make_table():
    for v in range(256):
        for _ in range(8):
            v = v >> 1 ^ (0x82f63b78 if v & 1 else 0)
        yield v


TABLE = list(make_table())


class Side:
    """Variable-length numbers and bytes"""

    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        v = shift = 0
        while True:
            b = self.byte()
            v |= (b & 0x7f) << shift
            shift += 7
            if b < 0x80:
                return v


def codes(lengths, first):
    """{(length, code): token}, canonical"""
    if 15 in lengths:
        assert [x for x in lengths if x] == [15]
        return {(0, 0): first + lengths.index(15)}
    table, code = {}, 0
    for bits in range(1, 12):
        for i, length in enumerate(lengths):
            if length == bits:
                table[bits, code] = first + i
                code += 1
        code <<= 1
    assert not lengths or code == 1 << 12
    return table


def stream(data, n, table):
    at = 0
    for _ in range(n):
        # A code and its extra bits are 38 at most.
        bits = int.from_bytes(data[at // 8:at // 8 + 8], 'little') >> at % 8
        length = code = 0
        while (length, code) not in table:
            code = code << 1 | bits >> length & 1
            length += 1
            assert length <= 11
        token = table[length, code]
        extra = max(0, token // 16 - 1)
        yield (token - 16 * extra << extra) | (bits >> length & (1 << extra) - 1)
        at += length + extra
    assert len(data) == (at + 7) // 8


def block(data, n):
    if data[0] == 0:
        return list(struct.unpack('<%dI' % n, data[1:]))
    deltas, side, exceptions, scale, first, tokens = struct.unpack_from('<4I2H', data, 1)
    sizes = struct.unpack_from('<4I', data, 21)
    at = 37
    lengths = [data[at + i // 2] >> i % 2 * 4 & 15 for i in range(tokens)]
    at += (tokens + 1) // 2
    side = Side(data[at:at + side])
    at += len(side.data)
    table = codes(lengths, first)
    values = []
    for q in range(4):
        count = deltas * (q + 1) // 4 - deltas * q // 4
        values += [v * scale for v in stream(data[at:at + sizes[q]], count, table)]
        at += sizes[q]
    assert at == len(data)

    # Markers: (differences before it, its words)
    markers, recent, left = [], [], n - deltas
    while left:
        skip = side.number()
        words = [ESCAPE + side.number()]
        length = words[0] & 0xff
        k = side.byte() if length > 2 else 0
        if k:
            words += [side.number(), side.number()] + recent[-k][3:]
        else:
            words += [side.number() for _ in range(length)]
            if length > 2:
                recent.append(words)
        markers.append((skip, words))
        left -= len(words)
    where = 0
    for _ in range(exceptions):
        where += side.number()
        values[where] += side.number()
    assert side.at == len(side.data)

    out, at = [], 0
    for skip, words in markers:
        out += values[at:at + skip] + words
        at += skip
    return out + values[at:]


def records(cpu, tsc, tid, words):
    i = 0
    while i < len(words):
        w = words[i]
        if w < ESCAPE:
            tsc += w
            print('%d,%d,%d' % (cpu, tsc, tid))
            i += 1
            continue
        kind, length = w >> 8 & 0xff, w & 0xff
        delta = words[i + 1] | words[i + 2] << 32 if length > 1 else 0
        if kind == 1:
            tsc = tsc + delta & (1 << 64) - 1
            print('%d,%d,%d' % (cpu, tsc, tid))
        elif kind == 2:
            tsc = tsc + delta & (1 << 64) - 1
            tid = words[i + 3]
        elif kind == 3:
            tsc = delta
        i += 1 + length
    return tsc


def main():
    data = open(sys.argv[1], 'rb').read()
    at = number = 0
    while at < len(data):
        (magic, header_crc, size, n, payload_crc, kind, version, cpu, count, first, last,
         reserved) = struct.unpack_from('<8sIIQIHHIIQQQ', data, at)
        payload = data[at + 64:at + 64 + size]
        assert magic == b'memiotrc' and version == 1 and n == number and not reserved
        assert crc32c(data[at + 12:at + 64]) == header_crc and crc32c(payload) == payload_crc
        if kind == 2:
            tsc, _, tid = struct.unpack_from('<QQI', payload, 136)
            n = struct.unpack_from('<I', payload, 200)[0]
            assert tsc == first
            assert records(cpu, tsc, tid, block(payload[208:], n)) == last
        if kind == 4:
            assert struct.unpack_from('<QQ', payload) == (number, at)
        at += 64 + (size + 7) // 8 * 8
        number += 1
    assert kind == 4


main()

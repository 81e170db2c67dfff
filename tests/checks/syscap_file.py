# SPDX-License-Identifier: GPL-2.0-or-later
"""A capture of Sysprof, taken apart by sysprof-capture-types.h; ValueError says what is wrong with it."""

import struct

MAGIC = 0xFDCA975E
SAMPLE, PROCESS, EXIT, JITMAP, DEFINE, SET, MARK, LOG = 2, 4, 6, 7, 8, 9, 10, 12
JITMAP_MARK = 0xE << 60


def require(condition, what):
    if not condition:
        raise ValueError(what)


def text(data):
    """To its NUL, which must be there, and behind it nothing but zeros."""
    value, nul, rest = data.partition(b"\0")
    require(nul and not rest.strip(b"\0"), f"a text has no end, or something behind it: {data[:60]}")
    return value.decode("utf-8")


class SyscapFile:
    def __init__(self, data):
        magic, version, flags, when, self.start, self.end, suffix = struct.unpack_from("<IBB2x64sqq168s", data)
        require((magic, version, flags) == (MAGIC, 1, 1), "the head is another")
        require(len(text(when)) == len("2020-06-30T14:34:00Z") and not suffix.strip(b"\0"), "the head has no date")
        require(0 <= self.start <= self.end, "it ends before it begins")
        self.names, self.counters, self.processes = {}, set(), set()
        at = 256
        while at < len(data):
            length, cpu, pid, time, kind = struct.unpack_from("<HhiqB7x", data, at)
            require(length >= 24 and length % 8 == 0 and at + length <= len(data), f"a frame at {at} has {length} bytes")
            require(cpu >= -1 and pid >= -1 and time >= 0, f"a frame at {at} is of no CPU, process or time")
            self.take(kind, pid, time, data[at + 24:at + length])
            at += length

    def take(self, kind, pid, time, data):
        require(kind in (JITMAP, PROCESS, DEFINE) or pid in (-1, *self.processes), f"process {pid} is not told of")
        if kind == SAMPLE:
            n, _ = struct.unpack_from("<Hxxi", data)
            require(n and len(data) == 8 + 8 * n, "a sample has another size")
            require(self.names.keys() >= set(struct.unpack_from(f"<{n}Q", data, 8)), "a function is not named")
        elif kind == PROCESS:
            require(text(data), "a process has no name")
            require(pid not in self.processes, f"process {pid} is told of twice")
            self.processes.add(pid)
        elif kind == JITMAP:
            count, address = struct.unpack_from("<IQ", data)
            require(count == 1 and address >> 32 == JITMAP_MARK >> 32 and address not in self.names,
                    "an address is named twice, or is none")
            self.names[address] = text(data[12:])
        elif kind == MARK:
            duration, group, name = struct.unpack_from("<q24s40s", data)
            require(duration >= 0 and time + duration < 1 << 63, "a mark has no end")
            for field in (group, name, data[72:]):
                text(field)
        elif kind == LOG:
            text(data[8:40])
            text(data[40:])
        elif kind == DEFINE:
            count, category, name, description, number, _ = struct.unpack("<H6x32s32s52sIQ", data)
            require(count == 1 and number >> 24 == 1 and number & 0xFFFFFF not in self.counters, "a counter comes twice")
            require(text(category) + text(name), "a counter has no name")
            text(description)
            self.counters.add(number & 0xFFFFFF)
        elif kind == SET:
            groups, first, *others = struct.unpack_from("<H6x8I", data)
            require(groups == 1 and first in self.counters and not any(others), "a value is of no counter")
        else:
            require(kind == EXIT and not data, f"there are no frames of kind {kind}")

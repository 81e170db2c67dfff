# SPDX-License-Identifier: GPL-2.0-or-later
"""Does to a recorder, through Sysprof's protocols, what no library does; says at last that it is
still heard. Prints how many rings it was given, and refused."""

import ctypes
import fcntl
import mmap
import os
import random
import socket
import struct
import time

PAGE = mmap.PAGESIZE
MARK, LOG, DEFINE, SET = 10, 12, 8, 9
LAST = 2 ** 63 - 1
random.seed(1)
control = socket.socket(fileno=int(os.environ["SYSPROF_CONTROL_FD"]))
trace = int(os.environ["SYSPROF_TRACE_FD"])


def ask():
    """A ring's descriptor, or None."""
    control.sendall(b"CreatRing\0")
    _, fds, _, _ = socket.recv_fds(control, 1, 4)
    return fds[0] if fds else None


def frame(kind, body, length=None, when=None):
    body += bytes(-len(body) % 8)
    return struct.pack("=HhiqQ", 24 + len(body) if length is None else length, -1, os.getpid(),
                       time.monotonic_ns() if when is None else when, kind) + body


def mark(name, duration=0, **options):
    body = struct.pack("=q24s40s", duration, b"Hostile", name)
    return frame(MARK, body + b"x\0", **options)


class Ring:
    def __init__(self):
        fd = ask()
        self.map = mmap.mmap(fd, 0)
        self.size = len(self.map) - PAGE
        self.fd = fd
        self.at = 0

    def write(self, data, tail=None):
        for byte in data:
            self.map[PAGE + self.at % self.size] = byte
            self.at += 1
        self.set_tail(self.at % self.size if tail is None else tail)

    def set_tail(self, tail):
        ctypes.c_uint32.from_buffer(self.map, 4).value = tail


def frames_that_are_none():
    for data in (frame(MARK, b"", 0), frame(MARK, b"", 8), frame(MARK, bytes(72), 65528),
                 frame(MARK, b"", 25), frame(77, b""), frame(0, b""), b"\xff" * 4096,
                 os.urandom(65536)):
        Ring().write(data)
    # Shorter than what they are to hold, or with more than they hold.
    Ring().write(frame(MARK, b"") + frame(LOG, bytes(8)) + frame(DEFINE, struct.pack("=Q", 65535))
                 + frame(SET, struct.pack("=Q", 65535)) + frame(SET, b""))
    # Not terminated.
    Ring().write(frame(MARK, bytes(8) + b"g" * 24 + b"n" * 40 + b"m" * 65000))
    # A value nobody defined.
    Ring().write(frame(SET, struct.pack("=Q8I8q", 1, 7, *[0] * 7, 5, *[0] * 7)))


def headers_that_lie():
    for tail in (1, 4, 0xfffffff8, 0xffffffff, Ring().size):
        Ring().set_tail(tail)
    ring = Ring()
    ring.map[0:16] = b"\xff" * 16
    ring = Ring()
    for resize in (0, PAGE, 1 << 30):
        try:
            os.ftruncate(ring.fd, resize)
            print("resized")
        except PermissionError:
            pass
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate(ring.fd, 3, ctypes.c_long(0), ctypes.c_long(len(ring.map)))
    # All the time another.
    ring, end = Ring(), time.monotonic() + 0.3
    while time.monotonic() < end:
        ring.map[PAGE:PAGE + 4096] = os.urandom(4096)
        ring.set_tail(random.randrange(0, ring.size, 8))


def times_that_cannot_be():
    Ring().write(mark(b"past", when=0) + mark(b"past", when=-LAST)
                 + mark(b"future", when=LAST, duration=LAST) + mark(b"long", duration=LAST)
                 + mark(b"backwards", duration=-5))


def file_of_rubbish():
    try:
        os.ftruncate(trace, 0)
    except PermissionError:
        pass
    os.write(trace, os.urandom(100_000))
    os.write(trace, frame(MARK, bytes(72), 65528))
    os.write(trace, bytes(70_000))
    os.pwrite(trace, os.urandom(8), 80)
    os.lseek(trace, 1 << 40, os.SEEK_SET)
    os.write(trace, b"far away")


def too_many():
    rings = []
    refused = 0
    for _ in range(3000):
        fd = ask()
        refused += fd is None
        if fd is not None:
            rings.append(fd)
            # They are few here, and each is mapped there.
            os.close(fd)
    print(f"rings {len(rings)} refused {refused}")


def deaf():
    """Asks and asks, and takes no answer until nothing goes any more."""
    control.setblocking(False)
    asked = 0
    try:
        while asked < 100_000:
            asked += control.send(b"CreatRing\0" if asked % 3 else b"rubbish...") == 10
    except BlockingIOError:
        pass
    time.sleep(0.5)
    control.setblocking(True)
    control.settimeout(1)
    try:
        while True:
            _, fds, _, _ = socket.recv_fds(control, 1, 4)
            for fd in fds:
                os.close(fd)
    except TimeoutError:
        pass
    control.settimeout(None)


def main():
    survivor = Ring()
    os.set_blocking(trace, True)
    fcntl.fcntl(trace, fcntl.F_GETFD)
    frames_that_are_none()
    headers_that_lie()
    times_that_cannot_be()
    file_of_rubbish()
    time.sleep(0.1)
    deaf()
    too_many()
    survivor.write(mark(b"survivor"))
    time.sleep(0.1)


main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""A file as slow as one likes: slowdisk.py FOLDER MIB MILLISECONDS mounts a file system there, with one
file, `disk`, of zeroes. Each read and write of it takes so long; those of its last MiB fail (EIO).

Speaks FUSE (linux/fuse.h) itself: it needs root, and no library. Ends when it is unmounted.
"""

import ctypes
import errno
import os
import stat
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE = 1, 2, 3, 4, 14, 15, 16
RELEASE, FSYNC, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 18, 20, 25, 26, 36, 42
NO_REPLY = (FORGET, INTERRUPT, BATCH_FORGET)

ROOT, DISK = 1, 2
HEADER = struct.Struct("<IIQQIIIHH")
MAX_WRITE = 1 << 17
FOPEN_DIRECT_IO = 1
BAD = 1 << 20


class Disk:
    def __init__(self, size, delay):
        self.content = bytearray(size)
        self.delay = delay

    def attributes(self, node):
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o600
        size = 0 if node == ROOT else len(self.content)
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0,
                           0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        """Bytes of the reply, or an error number."""
        if opcode == INIT:
            return struct.pack("<IIIIHHIII28x", 7, 31, 0, 0, 0, 0, MAX_WRITE, 1, 0)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != b"disk":
                return errno.ENOENT
            return struct.pack("<QQQQII", DISK, 0, 1, 1, 0, 0) + self.attributes(DISK)
        if opcode in (GETATTR, SETATTR):
            return struct.pack("<QII", 1, 0, 0) + self.attributes(node)
        if opcode == OPEN:
            return struct.pack("<QII", 0, FOPEN_DIRECT_IO, 0)
        if opcode in (READ, WRITE):
            _, offset, size = struct.unpack_from("<QQI", body)
            time.sleep(self.delay)
            if offset >= len(self.content) - BAD:
                return errno.EIO
            if opcode == READ:
                return bytes(self.content[offset:offset + size])
            self.content[offset:offset + size] = body[40:40 + size]
            return struct.pack("<II", size, 0)
        return b"" if opcode in (RELEASE, FSYNC, FLUSH) else errno.ENOSYS

    def serve(self, fd):
        while True:
            try:
                request = os.read(fd, MAX_WRITE + 8192)
            except OSError as e:
                if e.errno == errno.ENODEV:  # unmounted
                    return
                if e.errno in (errno.EINTR, errno.ENOENT):
                    continue
                raise
            _, opcode, unique, node, *_ = HEADER.unpack_from(request)
            if opcode in NO_REPLY:
                continue
            reply = self.answer(opcode, node, request[HEADER.size:])
            error = -reply if isinstance(reply, int) else 0
            data = b"" if error else reply
            os.write(fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


def main(folder, mib, milliseconds):
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"slowdisk", folder.encode(), b"fuse", 0, options.encode()):
        sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    Disk(int(mib) << 20, int(milliseconds) / 1000).serve(fd)


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-License-Identifier: GPL-2.0-or-later
"""Overwrites what an interpreter of Python knows of itself, in children, while they run: threads,
frames, code objects, names, line tables, lists of threads that go in circles. Argument: children.
"""

import random
import struct
import subprocess
import sys

CHILD = r"""
import ctypes, sys, threading
api = ctypes.pythonapi
api.PyThreadState_Get.restype = ctypes.c_void_p
def work(n):
    return sum(i * i for i in range(n))
def deep(n):
    return deep(n - 1) if n else work(20000)
code = work.__code__
print(api.PyThreadState_Get(), ctypes.addressof(ctypes.c_char.in_dll(api, "_PyRuntime")),
      id(code), id(deep.__code__), id(code.co_qualname), id(code.co_filename),
      id(code.co_linetable), flush=True)
threading.Thread(target=lambda: [deep(50) for _ in range(10000)], daemon=True).start()
while True:
    deep(100)
"""


def values(chance, addresses):
    return [0, 1, 2**64 - 1, 2**63, 2**47 - 8, 2**48, 0xffffffff81000000, chance.getrandbits(64),
            chance.getrandbits(47), *addresses]


def scribble(chance, pid, addresses):
    """False: the child has gone."""
    thread, runtime, *objects = addresses
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        def read(address):
            memory.seek(address)
            return struct.unpack("Q", memory.read(8))[0]
        frame = read(thread + 56)  # a cframe, up to 3.12
        places = [thread + 8 * i for i in range(24)] + [runtime + 8 * i for i in range(100)]
        places += [o + 8 * i for o in objects for i in range(24)]
        places += [(frame & 2**47 - 8) + 8 * i for i in range(10)]
        for place in chance.sample(places, chance.randrange(1, 6)):
            memory.seek(place)
            memory.write(struct.pack("Q", chance.choice(values(chance, addresses + places[:3]))))


def main():
    chance = random.Random(1)
    for _ in range(int(sys.argv[1])):
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", CHILD], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        addresses = list(map(int, child.stdout.readline().split()))
        try:
            for _ in range(20):
                scribble(chance, child.pid, addresses)
                try:
                    child.wait(0.01)
                    break
                except subprocess.TimeoutExpired:
                    pass
        except (OSError, struct.error):
            pass  # it has ended, and has no bytes, or the address was nowhere
        child.kill()
        child.wait()


main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Sleeps in many ways, and writes down what Python itself says the stack is each time: one JSON
object a sleep, with the tid and for each frame, the innermost first, its function, file, first line
and line.
"""

import functools
import json
import sys
import threading
import time

FILE = open(sys.argv[1], "w", encoding="utf-8")
LOCK = threading.Lock()


def note(frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append([code.co_qualname, code.co_filename, code.co_firstlineno, frame.f_lineno])
        frame = frame.f_back
    with LOCK:
        FILE.write(json.dumps({"tid": threading.get_native_id(), "stack": stack}) + "\n")
        FILE.flush()


def nap():
    note(sys._getframe()), time.sleep(0.02)


def recurse(depth):
    if depth:
        recurse(depth - 1)
    else:
        nap()


class Thing:
    nap()  # while the class is being made

    def __init__(self):
        nap()

    @property
    def property(self):
        return nap()

    @classmethod
    def of_class(cls):
        nap()

    def __lt__(self, other):
        nap()
        return False

    def __enter__(self):
        nap()
        return self

    def __exit__(self, *args):
        nap()

    def __del__(self):
        nap()


def numbers():
    for i in range(2):
        nap()
        yield i


def from_numbers():
    yield from numbers()


def handlers():
    try:
        raise ValueError
    except ValueError:
        nap()
    finally:
        nap()
    try:
        def inner():
            nap()
            raise KeyError
        inner()
    except KeyError:
        pass


async def waits():
    nap()


async def coroutine():
    await waits()
    async for _ in agen():
        pass


async def agen():
    nap()
    yield 1


def drive(awaitable):
    try:
        awaitable.send(None)
    except StopIteration:
        pass


@functools.lru_cache
def cached():
    nap()


def größe():
    nap()


def 名前():
    nap()


def 𝔣():
    nap()


def many_lines():
    x = [
        1,
        2,
        nap(),
        3,
    ]
    return (
        x,
        nap(),
    )


def all_ways():
    nap()
    recurse(30)
    thing = Thing()
    thing.property
    Thing.of_class()
    sorted([thing, Thing()])
    sorted([2, 1], key=lambda x: nap() or x)
    list(map(lambda x: nap(), [1]))
    with thing:
        pass
    del thing
    list(numbers())
    sum(x for x in from_numbers())
    [nap() for _ in range(1)]
    handlers()
    drive(coroutine())
    cached()
    json.dumps(object(), default=lambda o: nap())
    functools.partial(recurse, 2)()
    functools.reduce(lambda a, b: nap(), [1, 2])
    größe(), 名前(), 𝔣()
    many_lines()
    exec("def generated():\n\n    nap()\ngenerated()\n", {"nap": nap})
    for i in range(20):
        exec(f"def generated_{i:02}(): nap()\ngenerated_{i:02}()\n", {"nap": nap})


all_ways()
threads = [threading.Thread(target=target) for target in (nap, all_ways, lambda: recurse(5))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

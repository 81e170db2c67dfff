# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that wait for ever, each in its own way, and through C functions that call Python. On
SIGUSR1 Python says where they are, into the file that is named: faulthandler, which needs none of
them to run. Before that the file has a line for each thread, its own id and Python's."""

import faulthandler
import signal
import socket
import sys
import threading
import time

ONE, OTHER = socket.socketpair()
LOCK = threading.Lock()


def read_answer(connection):
    return connection.recv(1)


def ask_upstream(connection):
    answer = read_answer(connection)
    return answer


class Handler:
    def serve(self):
        for _ in range(2):
            ask_upstream(
                ONE,
            )


def take():
    with LOCK:
        pass


def sort():
    return sorted([1, 2], key=lambda _: take())


def naps():
    yield 1
    time.sleep(1000)


def nap():
    return max(nap for nap in naps())


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    return list(map(recurse_in_c, [20]))


def recurse_in_c(depth):
    if depth:
        return list(map(recurse_in_c, [depth - 1]))
    return threading.Event().wait()


def main():
    LOCK.acquire()
    threads = [threading.Thread(target=target, daemon=True)
               for target in (Handler().serve, sort, nap, lambda: recurse(20))]
    for thread in threads:
        thread.start()
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        for thread in threads + [threading.main_thread()]:
            print(thread.native_id, f"0x{thread.ident:016x}", file=f, flush=True)
        faulthandler.register(signal.SIGUSR1, file=f, all_threads=True)
        print("ready", flush=True)
        threads[0].join()


main()

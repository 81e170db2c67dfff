# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts children that end in all sorts of ways, and prints what the kernel says of each, as JSON.

    children.py FOLDER

A child that has ended is left unreaped until it cannot use any more time; then /proc/PID/sched,
/proc/PID/stat and /proc/PID/io are read, and wait4() gives its status and struct rusage.
"""

import json
import os
import resource
import signal
import sys
import threading
import time

FOLDER = sys.argv[1]
SETTLE_S = 0.1


def read(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8") as f:
        return f.read()


def sched(pid):
    """Figures of /proc/PID/sched, times in ns."""
    figures = {}
    for line in read(pid, "sched").splitlines():
        key, colon, value = line.partition(":")
        if colon and " " not in key.strip() and value.strip()[-1:].isdigit():
            value = value.strip()
            whole, _, part = value.partition(".")
            figures[key.strip()] = int(whole + part) if part else int(value)
    return figures


def settled(pid):
    """Of a child that has left its CPU: the same twice, with its last switch in it."""
    before = None
    while True:
        now = sched(pid)
        if now == before:
            return now
        before = now
        time.sleep(SETTLE_S)


def burn(rounds=300000):
    total = 0
    for i in range(rounds):
        total += i * i
    return total


def touch(mebibytes):
    block = bytearray(mebibytes << 20)
    for i in range(0, len(block), 4096):
        block[i] = 1
    del block


def own_end(name):
    """What the child itself sees at its end."""
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as f:
        json.dump(sched(os.getpid())["se.sum_exec_runtime"], f)


def exit_three():
    burn()
    touch(24)
    own_end("exit_three")
    os._exit(3)


def segfault():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    burn(1000)
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(0)


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def niced():
    os.nice(7)
    burn()
    os._exit(0)


def batch():
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    burn(1000)
    os._exit(0)


def idle():
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    burn(1000)
    os._exit(0)


def fifo():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(11))
    burn(1000)
    os._exit(0)


def round_robin():
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(12))
    burn(1000)
    os._exit(0)


def threads():
    workers = [threading.Thread(target=burn) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    os._exit(0)


def sleeper():
    for _ in range(20):
        time.sleep(0.002)
    os._exit(0)


def writer():
    path = os.path.join(FOLDER, "written")
    with open(path, "wb", buffering=0) as f:
        for _ in range(16):
            f.write(bytes(1 << 16))
    with open(path, "rb", buffering=0) as f:
        f.read(100000)
    os._exit(0)


def chain():
    os.execvp("sh", ["sh", "-c", "exec nice -n 3 env A=b sh -c 'exit 4'"])


CHILDREN = [exit_three, segfault, killed, niced, batch, idle, fifo, round_robin, threads, sleeper,
            writer, chain]


def start(function):
    pid = os.fork()
    if not pid:
        try:
            function()
        finally:
            os._exit(99)
    return pid


def of_child(name, pid):
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    figures = settled(pid)
    stat = read(pid, "stat").rpartition(")")[2].split()
    io = dict(line.split(": ") for line in read(pid, "io").splitlines())
    _, status, usage = os.wait4(pid, 0)
    return {"name": name, "pid": pid, "status": status, "sched": figures,
            "nice": int(stat[16]), "io": {key: int(value) for key, value in io.items()},
            "maxrss": usage.ru_maxrss * 1024, "minflt": usage.ru_minflt,
            "majflt": usage.ru_majflt, "nvcsw": usage.ru_nvcsw, "nivcsw": usage.ru_nivcsw,
            "utime_ns": int((usage.ru_utime + usage.ru_stime) * 1e9)}


def main():
    for function in CHILDREN:
        print(json.dumps(of_child(function.__name__, start(function))), flush=True)
    # One that lives on; its standard output is not ours, or whoever reads that would wait for it.
    null = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawnp("sleep", ["sleep", "1000"], os.environ,
                          file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)])
    while "sleep" not in read(pid, "comm") or sched(pid)["nr_voluntary_switches"] == 0:
        time.sleep(0.01)
    print(json.dumps({"name": "left", "pid": pid, "sched": settled(pid)}))
    maps = [line for line in read("self", "maps").splitlines() if "x" in line.split()[1]]
    print(json.dumps({"name": "self", "pid": os.getpid(), "ppid": os.getppid(), "maps": maps,
                      "mounts": read("self", "mountinfo").splitlines()}))


main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport offcpu --by file`: against what a program says of its own waits, how long each took and which
file /proc/PID/fd had for it; and against /proc/PID/fd of programs that waited before the recording began."""

import json
import os
import re
import subprocess
import sys
import time

import e2e

WORK = r"""
import fcntl, json, os, select, socket, subprocess, sys, time
folder, waits = sys.argv[1], {}

def wait(name, function, *args):
    begin = time.monotonic_ns()
    function(*args)
    waits[name] = waits.get(name, 0) + time.monotonic_ns() - begin

def later(function, *args):
    child = os.fork()
    if not child:
        time.sleep(0.05)
        function(*args)
        os._exit(0)
    return child

def name_of(fd):
    return os.readlink(f"/proc/self/fd/{fd}")

children = []
r, w = os.pipe()
for _ in range(4):
    children.append(later(os.write, w, b"x"))
    wait(name_of(r), os.read, r, 1)
server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]
client = socket.socket()
client.bind(("127.0.0.1", 0))
children.append(later(client.connect, ("127.0.0.1", port)))
wait(f"TCP:[127.0.0.1:{port}]", server.accept)
second = socket.socket()
second.bind(("127.0.0.1", 0))
second.connect(("127.0.0.1", port))
accepted = server.accept()[0]
children.append(later(second.send, b"y"))
wait(f"TCP:[127.0.0.1:{port}->127.0.0.1:{second.getsockname()[1]}]", accepted.recv, 1)
lock = open(folder + "/lock", "w")
holder = subprocess.Popen(["flock", folder + "/lock", "sh", "-c", "echo; sleep 0.1"], stdout=subprocess.PIPE)
holder.stdout.read(1)
wait(folder + "/lock", fcntl.flock, lock, fcntl.LOCK_EX)
poll = select.epoll()
poll.register(r, select.EPOLLIN)
children.append(later(os.write, w, b"z"))
wait("anon_inode:[eventpoll]", poll.poll)
wait("[clock_nanosleep]", time.sleep, 0.05)
children.append(later(os.write, w, b"z"))
for child in [*children, holder.pid]:
    wait("[wait4]", os.waitpid, child, 0)
print(json.dumps({"tid": os.getpid(), "waits": waits}))
"""
# What waits before the recording begins, and goes on after it has ended.
BEFORE = r"""
import os, socket, sys, threading
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname()[:2])
accepted = server.accept()[0]
r, w = os.pipe()
reader = threading.Thread(target=os.read, args=(r, 1))
reader.start()
print(f"TCP:[127.0.0.1:{server.getsockname()[1]}->127.0.0.1:{client.getsockname()[1]}]", r, flush=True)
accepted.recv(1)
"""
NS = 10**9


def waits_of(trace, *options):
    return json.loads(e2e.ebreport("offcpu", "--json", *options, trace))["rows"]


def until_all_sleep(pid):
    """All its threads, in calls that nothing ends."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        for _ in range(100 * e2e.SECONDS):
            with open(f"/proc/{pid}/task/{tid}/wchan", encoding="ascii") as f:
                if re.search("read|wait_woken", f.read()):
                    break
            time.sleep(0.01)


class WaitFiles(e2e.TestCase):
    def record_work(self):
        trace = self.record("-e", "default,syscalls:args", "--", sys.executable, "-c", WORK, self.folder)
        return trace, json.loads(self.recorded.stdout)

    @e2e.exact
    def test_waits(self):
        """While a thread waited it was off CPU for no longer than it says, and hardly shorter: it is the
        same thread that looks at its clock."""
        trace, said = self.record_work()
        rows = {row["path"]: row for row in waits_of(trace, "--by", "file,thread") if row["tid"] == said["tid"]}
        long = {name: ns for name, ns in said["waits"].items() if ns > NS // 50}
        self.assertGreaterEqual(len(long), 5, said)
        for name, ns in long.items():
            self.assertIn(name, rows)
            self.assertLessEqual(rows[name]["sleep_ns"], ns, name)
            self.assertGreater(rows[name]["total_ns"], ns / 2, name)

    def test_sums(self):
        """No time is lost, and none is twice."""
        trace, said = self.record_work()
        by_thread = {row["tid"]: row["total_ns"] for row in waits_of(trace, "--all")}
        by_file = {}
        for row in waits_of(trace, "--by", "file,state,thread"):
            by_file[row["tid"]] = by_file.get(row["tid"], 0) + row["total_ns"]
            self.assertEqual(row["path"] == "(preempted)", row["state"] in ("runnable", "new"), row)
        self.assertEqual(by_file, {tid: ns for tid, ns in by_thread.items() if ns})
        frames = {}
        for line in e2e.ebreport("folded", "--event", "offcpu", "--files", trace).splitlines():
            stack, ns = line.rsplit(" ", 1)
            name = stack.rsplit(";", 1)[1]
            frames[name] = frames.get(name, 0) + int(ns)
        self.assertEqual(frames, {row["path"]: row["total_ns"] for row in waits_of(trace, "--by", "file")
                                  if row["total_ns"]})
        part = {row["path"]: row["total_ns"] for row in waits_of(trace, "--by", "file", "--tid", str(said["tid"]),
                                                                "--to", "100ms")}
        self.assertLessEqual(sum(part.values()), NS // 10)

    def test_from_before(self):
        """The calls of waits that began before the recording are in no row, but in stacks of threads."""
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        cat = self.start("cat", fifo)
        before = self.start(sys.executable, "-c", BEFORE, stdout=subprocess.PIPE, text=True)
        with open(fifo, "wb"):
            socket, pipe = before.stdout.readline().split()
            pipe = os.readlink(f"/proc/{before.pid}/fd/{pipe}")
            for pid in cat.pid, before.pid:
                until_all_sleep(pid)
            trace = self.record("-a", "-e", "default,syscalls:args", "--", "sleep", "0.3")
        rows = {(row["pid"], row["path"]): row for row in waits_of(trace, "--by", "file,process", "--all")}
        for key in (cat.pid, fifo), (before.pid, socket), (before.pid, pipe):
            self.assertIn(key, rows)
            self.assertGreater(rows[key]["total_ns"], 3 * NS // 10)

    def test_no_arguments(self):
        """Calls alone were recorded: they stand for files, and the user is told."""
        trace = self.record("-e", "default,syscalls:raw", "--", "sleep", "0.1")
        result = e2e.run(e2e.EBREPORT, "offcpu", "--by", "file", "--json", trace)
        self.assertIn(b"not of syscalls:raw", result.stderr)
        self.assertIn("[clock_nanosleep]", {row["path"] for row in json.loads(result.stdout)["rows"]})
        result = e2e.run(e2e.EBREPORT, "folded", "--event", "offcpu", "--files", trace)
        self.assertIn(b"not of syscalls:raw", result.stderr)
        self.assertIn(b";[clock_nanosleep] ", result.stdout)


if __name__ == "__main__":
    e2e.main()

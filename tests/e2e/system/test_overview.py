# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport` and `ebreport FILE`: one screen that says where time went and which command says more.
Truth is the program that is recorded: it burns, sleeps, waits for a pipe, a lock, a child and a
socket, and fails, for times that it measures itself."""

import collections
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
import unittest

import e2e

WORK = """
import json, os, resource, socket, sys, threading, time
took = {}
def timed(name, fn):
    begin = time.monotonic_ns()
    fn()
    took[name] = time.monotonic_ns() - begin
def burn():
    end = time.thread_time_ns() + 200_000_000
    while time.thread_time_ns() < end:
        pass
def pipe():
    r, w = os.pipe()
    if not os.fork():
        time.sleep(0.11)
        os.write(w, b"x")
        os._exit(0)
    os.read(r, 1)
def child():
    if not os.fork():
        time.sleep(0.15)
        os._exit(3)
    os.wait(); os.wait()
def sockets():
    a, b = socket.socketpair()
    threading.Timer(0.13, lambda: a.send(b"x")).start()
    b.recv(1)
timed("cpu", burn)
timed("timer", lambda: time.sleep(0.25))
timed("pipe", pipe)
timed("child", child)
timed("network", sockets)
try:
    open("/proc/1/mem", "rb").read(1) and None
    socket.create_connection(("127.0.0.1", 1))
except OSError:
    pass
json.dump(took, open(sys.argv[1], "w"))
sys.exit(7)
"""

# Threads that map and unmap memory of one process, and read and write no disk.
MAPS = """
import ctypes, mmap, resource, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
def work():
    end = time.monotonic() + 1
    while time.monotonic() < end:
        p = libc.mmap(None, 8 << 20, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        libc.memset(p, 1, 8 << 20)
        libc.munmap(p, 8 << 20)
before = resource.getrusage(resource.RUSAGE_SELF)
threads = [threading.Thread(target=work) for _ in range(6)]
for t in threads: t.start()
for t in threads: t.join()
after = resource.getrusage(resource.RUSAGE_SELF)
sys.exit((after.ru_inblock, after.ru_oublock) != (before.ru_inblock, before.ru_oublock))
"""


def terminal(*command, cwd, columns=80):
    """What a program writes to a terminal, and its status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = dict(os.environ, TERM="dumb", PAGER="cat", NO_COLOR="1")
    with subprocess.Popen([str(c) for c in command], stdin=slave, stdout=slave, stderr=slave,
                          cwd=cwd, env=env) as child:
        os.close(slave)
        text = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        status = child.wait(e2e.SECONDS)
    os.close(master)
    return text.decode().replace("\r\n", "\n"), status


def cpu_hierarchy():
    """The folder of the cgroups that limit CPU time, and what limits it to a tenth of one CPU."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        for _, folder, kind, options, *_ in map(str.split, f):
            if kind == "cgroup" and "cpu" in options.split(","):
                return folder, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000"}
            if kind == "cgroup2":
                with open(f"{folder}/cgroup.subtree_control", encoding="utf-8") as control:
                    if "cpu" in control.read().split():
                        return folder, {"cpu.max": "10000 100000"}
    return None, {}


def idle_s():
    """Seconds for which CPUs had nothing to do, since the machine started."""
    with open("/proc/uptime", encoding="utf-8") as f:
        return float(f.read().split()[1])


def sleeps(pid, state="S"):
    """Waits until the process does nothing but sleep."""
    end = time.monotonic() + e2e.SECONDS
    while time.monotonic() < end:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            if f.read().rsplit(")", 1)[1].split()[0] == state:
                return
        time.sleep(0.01)
    raise AssertionError("sleep does not sleep")


class Overview(e2e.TestCase):
    def work(self, *options, name="trace.ebt"):
        script = self.path("work.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write(WORK)
        took = self.path("took.json")
        trace = self.record(*options, "--", "/usr/bin/python3", script, took, name=name, status=7)
        with open(took, encoding="utf-8") as f:
            return trace, json.load(f)

    def test_times(self):
        trace, took = self.work("-e", "default,syscalls")
        report = e2e.report_json("overview", trace)
        places = {row["place"]: row for row in report["rows"]}
        for place in ("timer", "pipe", "child", "network"):
            # others wait there too: the children, for a time, and nobody less than this
            self.assertGreaterEqual(places[place]["spent_ns"], took[place] * 0.7, place)
        cpu = places["cpu"]
        self.assertGreaterEqual(cpu["spent_ns"], 190_000_000)
        self.assertEqual(cpu["comm"], "python3")
        self.assertLessEqual(sum(f["spent_ns"] for f in cpu["functions"]), cpu["spent_ns"] * 1.5)
        wall = e2e.rows("wall", trace)
        self.assertEqual(cpu["spent_ns"], sum(row["on_cpu_ns"] for row in wall))
        self.assertEqual(places["runqueue"]["spent_ns"], sum(row["runqueue_ns"] for row in wall))
        for row in report["rows"]:
            self.assertAlmostEqual(row["window_percent"],
                                   100 * row["spent_ns"] / report["duration_ns"], delta=1)
        kinds = [row["kind"] for row in report["findings"]]
        texts = "\n".join(row["text"] for row in report["findings"])
        self.assertRegex(texts, r"python3 \(\d+\) exited with status 7")
        self.assertRegex(texts, r"python3 \(\d+\) exited with status 3")
        self.assertIn("slow_syscall", kinds)

    def test_crowd(self):
        """Many processes that live shortly are told as their program; one that waits is itself."""
        big = self.path("big")
        with open(big, "wb") as f:
            f.truncate(4 << 20)
        loop = "for i in $(seq 40); do cksum \"$0\" >\"$0.sum\"; done; exit 0"
        trace = self.record("--", "/bin/sh", "-c", loop, big)
        places = {row["place"]: row for row in e2e.report_json("overview", trace)["rows"]}
        self.assertEqual((places["cpu"]["comm"], places["cpu"]["processes"]), ("cksum", 40))
        self.assertEqual((places["child"]["comm"], places["child"]["processes"]), ("sh", 1))
        text, status = terminal(e2e.EBREPORT, trace, cwd=self.folder)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"(?m)^on a CPU .* 40 × cksum +callgraph$")
        self.assertRegex(text, rf"(?m)^waiting for children .* sh \({places['child']['pid']}\) ")

    def test_memory_map(self):
        """Threads of a process that map memory wait for each other, and not for a disk."""
        for _ in range(5):  # it says of a run whether the process did without the disk
            trace = self.record("--", "/usr/bin/python3", "-c", MAPS, status=None)
            if not self.recorded.returncode:
                break
        self.assertEqual(self.recorded.returncode, 0, "each time something was read or written")
        # The main thread reads what it imports, before that run.
        wall = [row for row in e2e.rows("wall", trace) if row["tid"] != row["pid"]]
        self.assertEqual(len(wall), 6)
        threads = ",".join(str(row["tid"]) for row in wall)
        spent = {row["place"]: row["spent_ns"]
                 for row in e2e.report_json("overview", trace, "--tid", threads)["rows"]}
        self.assertGreater(spent.get("lock", 0), 4 * spent.get("disk", 0), spent)
        self.assertGreater(sum(row["lock_ns"] for row in wall),
                           4 * sum(row["disk_ns"] for row in wall))

    def test_reasons(self):
        """Nine threads that hang in known calls: one of them, by what it waits for, in each."""
        with subprocess.Popen([e2e.program("hangs")], stdout=subprocess.PIPE, text=True) as child:
            self.addCleanup(child.kill)
            self.assertIn("ready\n", child.stdout)
            trace = self.record("-p", str(child.pid), "-d", "300ms")
            child.kill()
        self.assertEqual({row["place"]: row["count"]
                          for row in e2e.report_json("overview", trace)["rows"] if row["count"]},
                         {"pipe": 1, "lock": 2, "condition": 1, "thread": 1, "poll": 2,
                          "network": 1, "timer": 1})

    def test_crowding(self):
        """Who shares a CPU with others waits for it: who they are, a trace of the system knows."""
        cpu = str(min(os.sched_getaffinity(0)))
        for _ in range(4):
            child = subprocess.Popen(["taskset", "-c", cpu, "python3", "-c", "while True: pass"])
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
        for target, told in ((("-p", str(child.pid)), 1), (("-a",), 0)):
            trace = self.record("-f", *target, "-d", "2s")
            kinds = [row["kind"] for row in e2e.report_json("overview", trace)["findings"]]
            self.assertEqual(kinds.count("crowding"), told, target)

    def test_quota(self):
        """Who is stopped by the quota of a cgroup waits for no CPU that others have."""
        root, files = cpu_hierarchy()
        if not root:
            raise unittest.SkipTest("no cgroups limit CPU time here")
        group = f"{root}/ebt-quota-{os.getpid()}"
        os.mkdir(group)
        self.addCleanup(os.rmdir, group)
        for name, value in files.items():
            with open(f"{group}/{name}", "w", encoding="utf-8") as f:
                f.write(value)
        idle = idle_s()
        trace = self.record("-d", "2s", "--", "/bin/sh", "-c",
                            'echo $$ >"$0/cgroup.procs"; while :; do :; done', group, status=143)
        idle = idle_s() - idle
        with open(f"{group}/cpu.stat", encoding="utf-8") as f:
            stat = dict(line.split() for line in f)
        self.assertGreater(int(stat["nr_throttled"]), 2)
        told = {row["kind"]: row.get("count") for row in
                e2e.report_json("overview", trace)["findings"]}
        self.assertLessEqual(told.get("quota", 0), int(stat["nr_throttled"]))
        # where other programs take what the quota leaves it cannot be told from a crowded machine
        if idle < os.cpu_count():
            print(f"\n    CPUs were idle for {idle:.1f} s only: a quota need not show", file=sys.stderr)
            return
        self.assertIn("quota", told)
        self.assertNotIn("crowding", told)

    def test_frozen(self):
        """Who writes to a frozen file system waits for no lock of a program, and for no disk."""
        image, folder = self.path("image"), self.path("frozen")
        with open(image, "wb") as f:
            f.truncate(32 << 20)
        e2e.run("mkfs.ext4", "-q", image)
        os.mkdir(folder)
        e2e.run("mount", "-o", "loop", image, folder)
        self.addCleanup(e2e.run, "umount", folder)
        place, there = f"{folder}/new", f"{folder}/there"
        with open(there, "wb"):
            pass
        e2e.run("fsfreeze", "-f", folder)
        self.addCleanup(e2e.run, "fsfreeze", "-u", folder, status=None)
        code = ("import os, sys; to = os.open(sys.argv[1], os.O_WRONLY); "
                "source = os.open(sys.executable, os.O_RDONLY); print(flush=True); "
                "os.sendfile(to, source, 0, 100)")
        with subprocess.Popen(["/bin/sh", "-c", 'echo >"$0"', place]) as child, \
             subprocess.Popen([sys.executable, "-c", code, there],
                              stdout=subprocess.PIPE) as sender:
            self.addCleanup(child.kill)
            self.addCleanup(sender.kill)
            sender.stdout.readline()
            for process in (child, sender):
                sleeps(process.pid, "D")
            trace = self.record("-p", f"{child.pid},{sender.pid}", "-d", "300ms")
            e2e.run("fsfreeze", "-u", folder)
            child.wait()
            sender.wait()
        self.assertEqual({row["place"]: row["count"]
                          for row in e2e.report_json("overview", trace)["rows"] if row["count"]},
                         {"freeze": 2})
        self.assertEqual(e2e.ebreport("threads", trace).count(": disk (frozen file system) for "), 2)

    def test_kinds_of_waits(self):
        """Of calls whose functions of the kernel have names that mislead, or none of their own."""
        code = """if True:
            import ctypes, fcntl, os, sys
            libc, kind = ctypes.CDLL(None), sys.argv[1]
            IPC_PRIVATE, TEXT = 0, ctypes.create_string_buffer(1 << 16)
            if kind == "eventfd":
                os.read(os.eventfd(0), 8)
            elif kind == "timerfd":
                fd = libc.timerfd_create(1, 0)
                libc.timerfd_settime(fd, 0, (ctypes.c_long * 4)(0, 0, 1000, 0), None)
                os.read(fd, 8)
            elif kind in ("flock", "lockf"):
                getattr(fcntl, kind)(open(sys.argv[2] + kind, "w"), fcntl.LOCK_EX)
            elif kind == "semop":
                libc.semop(libc.semget(IPC_PRIVATE, 1, 0o600), (ctypes.c_short * 3)(0, -1, 0), 1)
            elif kind == "msgrcv":
                libc.msgrcv(libc.msgget(IPC_PRIVATE, 0o600), TEXT, 100, 0, 0)
            elif kind == "mq_receive":
                queue = libc.mq_open(b"/ebrec-test", os.O_RDONLY | os.O_CREAT, 0o600, None)
                libc.mq_unlink(b"/ebrec-test")
                libc.mq_receive(queue, TEXT, len(TEXT), None)
            """
        kinds = {"eventfd": "poll", "timerfd": "timer", "flock": "filelock", "lockf": "filelock",
                 "semop": "semaphore", "msgrcv": "queue", "mq_receive": "queue"}
        locks, ids = self.path("lock"), []
        for kind in ("flock", "lockf"):
            file = open(locks + kind, "w", encoding="utf-8")
            self.addCleanup(file.close)
            getattr(fcntl, kind)(file, fcntl.LOCK_EX)
        for kind in kinds:
            # What they make of System V goes with the namespace.
            child = self.start("unshare", "--ipc", "/usr/bin/python3", "-c", code, kind, locks)
            ids.append(child.pid)
        time.sleep(1)
        for pid in ids:
            sleeps(pid)
        trace = self.record("-p", ",".join(map(str, ids)), "-d", "300ms")
        found = {row["place"]: row["count"] for row in e2e.rows("overview", trace) if row["count"]}
        self.assertEqual(found, collections.Counter(kinds.values()))

    def test_waits_for_recorder(self):
        """A command waits until it is recorded: that is known, and no wait of its program."""
        trace = self.record("--", "sleep", "0.2")
        places = {row["place"]: row for row in e2e.report_json("overview", trace)["rows"]}
        self.assertEqual(places["recorder"]["count"], 1)
        self.assertEqual("waiting for ebrec to begin" in e2e.ebreport("overview", trace),
                         places["recorder"]["window_percent"] >= 1)
        self.assertNotIn("more", places["recorder"])
        self.assertEqual(places["timer"]["count"], 1)
        self.assertNotIn("unknown", places)
        # Those that were there already wait for something else.
        with subprocess.Popen(["sleep", "100"]) as child:
            self.addCleanup(child.kill)
            sleeps(child.pid)
            trace = self.record("-f", "-p", str(child.pid), "-d", "300ms")
            child.kill()
        self.assertNotIn("recorder", {row["place"] for row in e2e.rows("overview", trace)
                                      if row["spent_ns"]})

    def test_screen(self):
        """Alone, with a file, and through every command that it names."""
        self.work("-e", "default,syscalls,block")
        alone, status = terminal(e2e.EBREPORT, cwd=self.folder)
        self.assertEqual(status, 0, alone)
        # Warnings stand behind the screen, and may take several lines; on a busy machine there is one line more.
        screen = [line for line in alone.partition("ebreport: ")[0].splitlines()
                  if not line.startswith("threads wait for CPUs that others have")]
        self.assertLessEqual(len(screen), 32, alone)
        lines = [line for line in alone.splitlines() if not line.startswith("ebreport: ")]
        self.assertLessEqual(max(map(len, lines)), 80, alone)
        self.assertTrue(lines[0].startswith("/usr/bin/python3 "), alone)
        self.assertRegex(lines[1], r"^[\d.]+ m?s on .*, Linux \d")
        self.assertRegex(lines[2], r"^3 processes, .*exit status 7$")
        with_file, _ = terminal(e2e.EBREPORT, "trace.ebt", cwd=self.folder)
        self.assertEqual(alone, with_file)
        more = {row.get("more") for key in ("rows", "findings")
                for row in e2e.report_json("overview", self.path("trace.ebt"))[key]} - {None}
        self.assertIn("offcpu --stacks", more)
        for command in more:
            text, status = terminal(e2e.EBREPORT, *command.split(), cwd=self.folder)
            self.assertEqual(status, 0, f"{command}: {text}")

    def test_any_sources(self):
        """Whatever was recorded, what is there is told and what is not is a line."""
        for sources, places in (("sample", {"cpu"}), ("syscalls", set()),
                                ("sched", {"cpu", "runqueue"}), ("task", set())):
            trace, _ = self.work("-e", sources, name=sources + ".ebt")
            report = e2e.report_json("overview", trace)
            self.assertLessEqual(places, {row["place"] for row in report["rows"]}, sources)
            absent = [row["text"] for row in report["findings"] if row["kind"] == "not_recorded"]
            self.assertEqual(len(absent), 1, sources)
            self.assertNotRegex(absent[0], rf"\b{sources}\b")
            text, status = terminal(e2e.EBREPORT, trace, cwd=self.folder)
            self.assertEqual(status, 0, text)
            self.assertLess(len(text.splitlines()), 25, text)

    def test_neither_command_nor_file(self):
        text, status = terminal(e2e.EBREPORT, cwd=self.folder)
        self.assertEqual(status, 2)
        self.assertIn("there is no trace.ebt in this folder", text)
        self.assertLessEqual(len(text.splitlines()), 3, text)
        text, status = terminal(e2e.EBREPORT, "sycalls", cwd=self.folder)
        self.assertEqual(status, 2)
        self.assertIn("no command, and there is no such file: did you mean syscalls?",
                      " ".join(text.split()))
        with open(self.path("other.ebt"), "wb"):
            pass
        text, status = terminal(e2e.EBREPORT, "othr.ebt", cwd=self.folder)
        self.assertEqual(status, 2)
        self.assertIn("did you mean other.ebt?", " ".join(text.split()))
        self.assertTrue(re.search("which file", terminal(e2e.EBREPORT, "diff", cwd=self.folder)[0]))

    def test_hang(self):
        """A process that does nothing: what it waits for, and the command that shows where."""
        with subprocess.Popen(["sleep", "100"]) as child:
            self.addCleanup(child.kill)
            sleeps(child.pid)
            trace = self.record("-p", str(child.pid), "-d", "500ms")
            child.kill()
        report = e2e.report_json("overview", trace)
        timer = [row for row in report["rows"] if row["place"] == "timer"]
        self.assertEqual([row["pid"] for row in timer], [child.pid])
        self.assertGreaterEqual(timer[0]["spent_ns"], 490_000_000)
        self.assertEqual(timer[0]["more"], "threads")
        self.assertEqual([w for w in report["warnings"] if "switches" in w], [])
        self.nothing(trace, "no switches in this trace: source sched was on, and saw none", "sched")
        self.nothing(trace, "no samples in this trace: source sample was on, and saw none",
                     "callgraph")
        for command, source in (("block", "block"), ("net", "net"), ("locks", "lock"),
                                ("faults", "fault"), ("cache", "pagecache"), ("dbus", "dbus"),
                                ("mem", "kmem"), ("syscalls", "syscalls")):
            self.nothing(trace, f"ebrec records them with -e {source}", command)

    def nothing(self, trace, why, command, *options):
        """Why a report is empty is one of three, and it is said once."""
        warnings = e2e.report_json(command, trace, *options)["warnings"]
        about = [w for w in warnings if w.startswith("no ")]
        self.assertEqual(len(about), 1, f"{command}: {warnings}")
        self.assertIn(why, about[0], command)

    def test_filtered(self):
        trace, _ = self.work("-e", "sample,sched,fault")
        for command, what in (("callgraph", "samples"), ("faults", "page faults")):
            self.assertEqual([w for w in e2e.report_json(command, trace)["warnings"]
                              if w.startswith("no ")], [])
            self.nothing(trace, f"no {what} pass --cpu: the trace has some", command,
                         "--cpu", "4000")
            self.nothing(trace, f"no {what} pass --from and --to: the trace has some", command,
                         "--to", "1ns")

    def test_help(self):
        """What stands in the help of a command is what the command takes, and examples are first."""
        trace = self.record("--", "true")
        values = {"pid": "1", "tid": "1", "comm": "x", "cpu": "0", "from": "1ns", "to": "100%",
                  "interval": "1s", "json": None, "csv": None, "top": "1"}
        text = e2e.run(e2e.EBREPORT, "--help").stdout.decode()
        self.assertLess(text.index("Examples:"), text.index("Commands:"))
        for command in re.findall(r"(?m)^  ([a-z]+)  ", text[text.index("Commands:"):]):
            text = e2e.run(e2e.EBREPORT, command, "--help").stdout.decode()
            self.assertTrue(text.split("\n\n")[2].startswith("Examples:\n  eb"), command)
            for option, value in values.items():
                words = [f"--{option}" + (f"={value}" if value else "")]
                files = [trace] * (2 if "FILE FILE" in text else 1)
                if command == "serve":
                    words += ["--timeout", "200ms"]  # else it waits for somebody
                done = e2e.run(e2e.EBREPORT, command, *words, "-o", self.path("out"), *files,
                               status=None)
                refused = done.returncode == 2 and b" not apply" in done.stderr
                self.assertEqual(re.search(rf"(?m)^ +(-p, )?--{option}\b", text) is None, refused,
                                 f"{command} {words}: {done.stderr}")
        text = e2e.run(e2e.EBREC, "--help").stdout.decode()
        self.assertLess(text.index("Examples:"), text.index("--output"))


if __name__ == "__main__":
    e2e.main()

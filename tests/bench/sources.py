# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of tests/bench/run that are about event sources: each alone beside work that makes its
events, and all of them at once beside a compiler and stress-ng, next to perf on the same tracepoints.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

STATS = "/proc/sys/kernel/bpf_stats_enabled"

# Runs a command below the recorder, and tells what the kernel has counted for its programs.
WATCH = """
import glob, json, os, re, subprocess, sys, time
begin = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
seconds = time.monotonic() - begin
ids = set()
for f in glob.glob(f"/proc/{os.getppid()}/fdinfo/*"):
    ids.update(map(int, re.findall(r"^prog_id:\\s+(\\d+)", open(f).read(), re.M)))
programs = json.loads(subprocess.run(["bpftool", "prog", "show", "-j"], check=True,
                                     capture_output=True).stdout)
print("watched", json.dumps({"seconds": seconds, "programs": {
    p["name"]: [p.get("run_time_ns", 0), p.get("run_cnt", 0)] for p in programs
    if p["id"] in ids}}))
"""

TOUCH = """
import mmap, sys
for i in range(int(sys.argv[1])):
    with mmap.mmap(-1, 8 << 20) as m:
        m.madvise(mmap.MADV_NOHUGEPAGE)
        for at in range(0, len(m), 4096):
            m[at] = 1
"""
PIPES = """
import os, sys
for i in range(int(sys.argv[1])):
    for fd in os.pipe():
        os.close(fd)
"""
TCP = """
import socket, sys, threading
server = socket.create_server(("127.0.0.1", 0))
def serve():
    peer = server.accept()[0]
    while peer.recv(1 << 20):
        pass
threading.Thread(target=serve).start()
client = socket.create_connection(server.getsockname())
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for i in range(int(sys.argv[1])):
    client.sendall(b"x" * 1000)
client.close()
"""
LOCKS = """
import sys, threading
lock = threading.Lock()
def work():
    for i in range(int(sys.argv[1])):
        with lock:
            sum(range(300))
threads = [threading.Thread(target=work) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
"""


def python(text, count):
    return [sys.executable, "-c", text, str(count)]


def workloads(bench):
    """What makes events of a source. Others get SHELL."""
    n = 1.0 / bench.scale
    disk = bench.path("disk")
    shell = ["sh", "-c", f"for i in $(seq {int(1000 * n)}); do /bin/true; done"]
    switches = ["perf", "bench", "sched", "pipe", "-l", str(int(200000 * n))]
    calls = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={int(2000000 * n)}"]
    return {
        "sched": switches, "offcpu": switches, "task": shell, "syscalls": calls,
        "sample": python("import sys\nfor i in range(int(sys.argv[1])): pass", int(2e8 * n)),
        "fault": python(TOUCH, int(100 * n)), "kmem": python(PIPES, int(200000 * n)),
        "net": python(TCP, int(200000 * n)), "lock": python(LOCKS, int(100000 * n)),
        "irq": switches, "counter": ["sleep", str(10 * n)],
        "pagecache": ["sh", "-c", f"dd if=/dev/zero of={disk} bs=1M count={int(1000 * n)} && "
                                  f"cat {disk} {disk} >/dev/null"],
        "block": ["dd", "if=/dev/zero", f"of={disk}", "bs=4k", "oflag=direct",
                  f"count={int(20000 * n)}"],
    }, shell


class Stats:
    """The kernel counts the runs of BPF programs, and takes its time for it."""

    def __enter__(self):
        with open(STATS, encoding="ascii") as f:
            self.before = f.read()
        with open(STATS, "w", encoding="ascii") as f:
            f.write("1")

    def __exit__(self, *_):
        with open(STATS, "w", encoding="ascii") as f:
            f.write(self.before)


def watch(bench, usage, source, work):
    """What the programs did, and the tables that came of it."""
    said = usage(bench.record(source, sys.executable, "-c", WATCH, *work))
    found = json.loads(re.search(r"watched (.*)", said)[1])
    info = bench.info()
    return found, {t["name"]: t for t in info["rows"]}


def states(bench, usage):
    text = usage([bench.ebrec, "--list-events"])
    return re.findall(r"(?m)^(\S+).*\n(?: +(?!here).*\n)* +here: (\w+)", text)


def sources(bench, usage, table):
    """Each source alone. What is there without it, the always-on part, is not its own."""
    work, shell = workloads(bench)
    rows = []
    with Stats():
        always, always_tables = watch(bench, usage, "task", shell)
        for source, here in states(bench, usage):
            if here == "no":
                rows.append([source, "not here"] + [""] * 6)
                continue
            found, tables = watch(bench, usage, source, work.get(source, shell))
            own = {n: v for n, v in found["programs"].items()
                   if source == "task" or n not in always["programs"]}
            mine = [t for n, t in tables.items() if source == "task" or n not in always_tables]
            events = sum(t["row_count"] for t in mine)
            ns, runs = (sum(v[i] for v in own.values()) for i in (0, 1))
            rows.append([source, f"{events / found['seconds']:.0f}", events,
                         ns / events if events and own else "", ns / runs if runs else "",
                         sum(t["bytes"] for t in mine) / events if events else "",
                         sum(t["lost_rows"] for t in mine),
                         " ".join(os.path.basename(w) for w in work.get(source, shell)[:1])])
    table("Sources: events of the work beside, time in BPF programs (with kernel.bpf_stats_enabled)",
          ["", "events/s", "events", "ns an event", "ns a run", "bytes an event", "lost", "work"],
          rows)


# --- all of them at once ---

class Load:
    """A compiler and stress-ng, over and over; how much they got done is the measure."""

    def __init__(self, root, folder, seconds):
        self.seconds, self.folder = seconds, folder
        self.files = sorted(glob.glob(os.path.join(root, "format", "*", "*.c")))
        self.flags = ["-O2", "-D_GNU_SOURCE", "-I", root, "-c", "-o", "/dev/null"]

    def run(self):
        """(files compiled, operations of stress-ng)"""
        end, compiled, running = time.monotonic() + self.seconds, 0, []
        stress = subprocess.Popen(
            ["stress-ng", "--metrics-brief", "--timeout", str(self.seconds), "--temp-path",
             self.folder, "--pipe", "1", "--open", "1", "--vm", "1", "--vm-bytes", "64M", "--sock",
             "1", "--futex", "1", "--hdd", "1", "--hdd-bytes", "64M"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while time.monotonic() < end:
            while len(running) < os.cpu_count():
                name = self.files[(compiled + len(running)) % len(self.files)]
                running.append(subprocess.Popen(["cc", *self.flags, name]))
            running.pop(0).wait()
            compiled += 1
        for child in running:
            child.kill()
            child.wait()
        text = stress.communicate()[0]
        found = re.findall(r"metrc:.*\] (\w+) +(\d+) ", text) or re.findall(
            r"info: .*\] (\w+) +(\d+) +[\d.]+ +[\d.]+ +[\d.]+", text)
        return compiled, {name: int(n) for name, n in found}


def score(done, bare):
    """What was done, as a share of what was done with nothing beside: files, and the mean of the
    stressors, each of which counts alike."""
    ratios = [done[1][n] / bare[1][n] for n in bare[1] if bare[1][n] and n in done[1]]
    return [done[0], bare[0] / done[0] if done[0] else "",
            len(ratios) / sum(ratios) if sum(ratios) else ""]


def cpu_seconds(pid):
    return sum(int(open(f, encoding="ascii").read().split()[0])
               for f in glob.glob(f"/proc/{pid}/task/*/schedstat")) / 1e9


def tracepoints(pid):
    """Those that the recorder's programs are attached to, as the kernel names them."""
    names = set()
    for f in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            with open(f, encoding="ascii", errors="replace") as info:
                names.update(re.findall(r"^tp_name:\s+(\w+)", info.read(), re.M))
        except FileNotFoundError:
            pass  # it has closed that meanwhile
    return names


def wait_until_busy(child, output, ours):
    """Until it is attached and writes: loading programs takes its time beside other work."""
    end = time.monotonic() + 120
    size = 0
    while time.monotonic() < end and child.poll() is None:
        time.sleep(2)
        before, size = size, os.path.getsize(output) if os.path.exists(output) else 0
        if size > before > 4096 and (tracepoints(child.pid) or not ours):
            return


def beside(command, output, load, ours):
    """Starts a recorder, runs the load, ends it: what was done, CPU seconds, tracepoints, output."""
    child = subprocess.Popen([*command, "-o", output], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_until_busy(child, output, ours)
        before, points = cpu_seconds(child.pid), tracepoints(child.pid)
        done = load.run()
        cpu = cpu_seconds(child.pid) - before
    finally:
        child.send_signal(2)
        said = child.communicate()[0]
    return done, cpu, points, said


def perf_events(folder, points):
    """perf's names of tracepoints. Those of system calls are two tracepoints with many names."""
    os.makedirs(folder, exist_ok=True)
    text = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tracefs t {folder} && "
                           f"cat {folder}/available_events"], check=True,
                          capture_output=True, text=True).stdout
    # The kernel lets nobody sample at the end of what perf itself uses to wake up.
    return [e for e in text.split() if e.split(":")[1] in points - {"irq_work_exit"}]


def everything(bench, usage, table):
    if not shutil.which("stress-ng"):
        sys.exit("part all needs stress-ng")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    load = Load(root, bench.folder, max(60 // bench.scale, 6))
    bare = load.run()
    trace, data = bench.path("all.ebt"), bench.path("perf.data")
    ours, cpu, points, said = beside([bench.ebrec, "-f", "-e", "all", "-a"], trace, load, True)
    events = perf_events(bench.path("tracing"), points)
    perf, perf_cpu, _, perf_said = beside(
        ["unshare", "-m", "perf", "record", "--buildid-mmap", "-a"] +
        [w for e in events for w in ("-e", e)], data, load, False)
    info = bench.info("all.ebt")
    print(f"\nebrec said: {said.strip()}\nperf said: {' '.join(perf_said.split())[-300:]}")
    table(f"All sources, whole system, {load.seconds} s beside a compiler and stress-ng; perf: "
          f"{len(events)} tracepoints",
          ["", "CPU s", "files", "x", "x of stress-ng", "events", "file MB", "lost"],
          [["bare", "", *score(bare, bare), "", "", ""],
           ["ebrec -e all -a", cpu, *score(ours, bare), sum(t["row_count"] for t in info["rows"]),
            os.path.getsize(trace) / 1e6, bench.lost(info)],
           ["perf record -a", perf_cpu, *score(perf, bare),
            "", os.path.getsize(data) / 1e6, lost_by_perf(data)]])
    table("Losses, and when they were", ["source", "table", "reason", "rows", "from s", "to s"],
          losses(info))


def lost_by_perf(data):
    text = subprocess.run(["perf", "report", "--stats", "-i", data], capture_output=True, text=True,
                          check=False).stdout
    found = re.findall(r"LOST(?:_SAMPLES)? events: +(\d+)", text)
    return sum(map(int, found)) if found else "?"


def losses(info):
    """By table and reason, with the time between the first and the last."""
    return [[x["source"] or "-", x["table"], x["reason"], x["count"],
             x["from_ns"] / 1e9, x["to_ns"] / 1e9]
            for x in info["losses"]] or [["none", "", "", "", "", ""]]

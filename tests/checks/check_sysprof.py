#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What Sysprof's own library reads of `ebreport export --to sysprof`, beside the reports of the same trace.

    check_sysprof.py EBTGEN EBREPORT SYSPROF_READER FIXTURE.txt|TRACE.ebt…

Samples with their stacks, root first and with what is inlined; time off CPU, system calls, marks, lines of logs,
counters and processes. `sysprof-cli --merge` reads it as well. Exit status: 0; 1 with what is wrong.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
from failed import fail, status  # noqa: E402

SECONDS = 300  # for anything; far more than it needs
MOST = (1 << 63) - 1  # a time; what is longer ends then
HOSTILE = 1 << 62  # from here on sums are not what they were
OWN_NUMBERS = 1 << 30  # from here on: of processes whose own number came again
GROUP, NAME = 23, 39  # bytes that they have room for
ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
PERF_SAMPLE = re.compile(r"\S.*? +(\d+)/(\d+) +\[(\d+)\] +(\d+)\.(\d{6}): +(\d+) \S+:")


def run(*command):
    done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS,
                          env={**os.environ, "DEBUGINFOD_URLS": ""})
    if done.returncode:
        raise ValueError(f"{command} ends with {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout


def unescaped(text):
    return re.sub(r"\\([0-7]{1,3}|.)", lambda m: chr(int(m[1], 8)) if m[1].isdigit() else ESCAPES.get(m[1], m[1]), text)


def escaped(name):
    """As `folded` prints it."""
    return "".join(f"\\x{ord(char):02x}" if ord(char) < 32 or 127 <= ord(char) < 160 else char
                   for char in name.replace(";", ":"))


def cut(name, most):
    return name.encode()[:most].decode(errors="ignore")


class Capture:
    """Lines of sysprof_reader, by kind."""

    def __init__(self, reader, path):
        self.lines = collections.defaultdict(list)
        for line in run(reader, path).decode().split("\n")[:-1]:
            kind, *words = line.split("\t")
            self.lines[kind].append([unescaped(word) for word in words])

    def marks(self):
        for _, cpu, pid, duration, group, name, message in self.lines["mark"]:
            yield int(cpu), int(pid), int(duration), group, name, message


class Compared:
    def __init__(self, what, ebreport, trace):
        self.what, self.ebreport, self.trace = what, ebreport, trace
        self.n = 0

    def rows(self, command, *words):
        return json.loads(run(self.ebreport, command, "--json", *words, self.trace))["rows"]

    def equal(self, kind, got, wanted):
        self.n += len(wanted)
        for key in got.keys() | wanted.keys():
            if min(got.get(key, 0), HOSTILE) != min(wanted.get(key, 0), HOSTILE):
                fail(self.what, f"{kind} of {key}: {got.get(key, 0)}, and in the report {wanted.get(key, 0)}")


def number(row):
    return int(row.get("pid", 0)) or int(row.get("tid", 0))


def check_samples(c, capture):
    """Sysprof counts samples: the time that each stands for comes from the same one of another export."""
    others = [match.groups() for line in run(c.ebreport, "export", "--to", "perf-script", c.trace).decode().splitlines()
              if (match := PERF_SAMPLE.fullmatch(line))]
    samples = capture.lines["sample"]
    if len(samples) != len(others):
        fail(c.what, f"{len(samples)} samples, and in the other export {len(others)}")
        return
    got, wanted = collections.Counter(), collections.Counter()
    for (time, cpu, pid, tid, *stack), (other_pid, other_tid, other_cpu, seconds, us, ns) in zip(samples, others):
        key = (int(time) // 1000, int(cpu), int(tid))
        other = (int(seconds) * 1000000 + int(us), int(other_cpu), int(other_tid))
        if key != other or int(pid) < OWN_NUMBERS and pid != other_pid:
            fail(c.what, f"a sample of {key} in {pid}, and in the other export {other} in {other_pid}")
        got[";".join([other_pid] + [escaped(name) for name in stack])] += int(ns)
    for line in run(c.ebreport, "folded", "--by", "process", "--kernel-threads", c.trace).decode().splitlines():
        stack, weight = line.rsplit(" ", 1)
        root, _, frames = stack.partition(";")
        pid = re.search(r"\((\d+)\)$", root)
        wanted[f"{pid[1] if pid else 0};{frames or '[no frames]'}"] += int(weight)
    c.equal("time", +got, +wanted)


def check_off(c, capture):
    got, wanted = collections.Counter(), collections.Counter()
    for _, _, duration, group, name, message in capture.marks():
        if group == "off CPU":
            got[re.match(r".*? \((\d+)\)", message, re.DOTALL)[1], name] += duration
    for row in c.rows("offcpu", "--by", "thread,state", "--all", "--kernel-threads"):
        wanted[str(row["tid"]), row["state"]] += int(row["total_ns"])
    c.equal("time off CPU", +got, +wanted)


def check_calls(c, capture):
    """By process, where no number came again."""
    again = any(pid >= OWN_NUMBERS for _, pid, *_ in capture.marks())
    counts, times = collections.Counter(), collections.Counter()
    wanted_counts, wanted_times = collections.Counter(), collections.Counter()
    for _, pid, duration, group, name, _ in capture.marks():
        if group == "syscall":
            counts[again or pid, name] += 1
            times[again or pid, name] += duration
    for row in c.rows("syscalls", "--by", "process,call"):
        name = cut(row["name"] + ("[32]" if row["abi"] == "compat" else ""), NAME)
        wanted_counts[again or number(row) or -1, name] += row["count"]
        wanted_times[again or number(row) or -1, name] += int(row["total_ns"])
    c.equal("system calls", counts, wanted_counts)
    c.equal("time in system calls", times, wanted_times)


def check_marks(c, capture):
    got, wanted = collections.Counter(), collections.Counter()
    for _, _, duration, group, name, _ in capture.marks():
        got[group, name] += duration + 1
    for row in c.rows("marks"):
        wanted[cut(row.get("group", ""), GROUP), cut(row["name"], NAME)] += int(row["duration_ns"]) + 1
    c.equal("marks", {key: got[key] for key in wanted}, wanted)


def check_logs(c, capture):
    """A line of a unit of the journal has that before it, and one that is cut says so behind it."""
    lines, rows = capture.lines["log"], c.rows("logs")
    c.n += len(rows)
    if len(lines) != len(rows):
        fail(c.what, f"{len(lines)} lines, and in the report {len(rows)}")
    for (*_, message), row in zip(lines, rows):
        if row["message"].replace("\0", "\ufffd") not in message:
            fail(c.what, f"a line is {message!r}, and in the report {row['message']!r}")


def check_counters(c, capture):
    """Values as they are; of what grows, as many speeds as there are steps. Names may be cut to the same."""
    got, wanted, values = collections.Counter(), collections.Counter(), collections.Counter()
    for _, _, _, category, name, _, value in capture.lines["value"]:
        got[category, name] += 1
        values[category, name] += float(value)
    sums = collections.Counter()
    for row in c.rows("counters"):
        key = cut(row["category"], 31), cut(row["name"].removeprefix(row["category"] + ".") or row["name"], 31)
        grows = row["kind"] == "cumulative"
        wanted[key] += len(row["series"]) - grows if row["series"] else 0
        series = [float("nan") if grows or value is None else value for _, value in row["series"]]
        sums[key] += sum(series)
    c.equal("number of values", +got, +wanted)
    for key, value in sums.items():
        if abs(values[key] - value) > 1e-9 * abs(value):
            fail(c.what, f"counter {key}: a sum of {values[key]}, and in the report {value}")


def check_processes(c, capture):
    processes = {int(pid): cmdline for _, _, pid, cmdline in capture.lines["process"]}
    exits = {int(pid): int(time) for time, _, pid, _ in capture.lines["exit"]}
    start = int(json.loads(run(c.ebreport, "info", "--json", c.trace))["start_ns"])
    for row in c.rows("procs", "--kernel-threads"):
        pid = number(row)
        c.n += 1
        if pid not in processes:
            fail(c.what, f"process {pid} is not there")
        elif row.get("args") and cut(" ".join(row["args"]), 60000) != processes[pid] and max(processes) < OWN_NUMBERS:
            fail(c.what, f"process {pid} is {processes[pid]!r}, and in the report {row['args']}")
        if pid in exits and "exit_code" in row and max(processes) < OWN_NUMBERS and \
                exits[pid] != min(max(start, start + int(row["end_ns"])), MOST):
            fail(c.what, f"process {pid} ends at {exits[pid]}, and in the report {row['end_ns']}")


def check(ebreport, reader, trace, what):
    path = os.path.join(os.path.dirname(trace), "t.syscap")
    run(ebreport, "export", "--to", "sysprof", "-f", "-o", path, trace)
    capture = Capture(reader, path)
    c = Compared(what, ebreport, trace)
    for part in (check_samples, check_off, check_calls, check_marks, check_logs, check_counters, check_processes):
        part(c, capture)
    merged = os.path.join(os.path.dirname(trace), "merged.syscap")
    with open(merged, "wb") as file:
        file.write(run("sysprof-cli", "--merge", path, path))
    twice = Capture(reader, merged).lines
    for kind in ("sample", "mark", "log", "process"):
        if len(twice[kind]) != 2 * len(capture.lines[kind]):
            fail(what, f"sysprof-cli takes {len(twice[kind])} of twice {len(capture.lines[kind])} {kind}s over")
    print(f"{what}: {c.n} numbers compared")
    if not c.n:
        fail(what, "nothing was compared")


def main():
    ebtgen, ebreport, reader, *traces = sys.argv[1:]
    for trace in traces:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.ebt")
            if trace.endswith(".txt"):
                subprocess.run([ebtgen, trace, path], check=True)
            else:
                os.symlink(os.path.abspath(trace), path)
            check(ebreport, reader, path, os.path.basename(trace))
    return status()


if __name__ == "__main__":
    sys.exit(main())

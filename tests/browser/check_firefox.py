#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport export --to firefox` as the Firefox Profiler reads it, beside the reports: its own code, without
a browser, has the same functions of each thread, times off CPU, system calls and marks. Of `folded` with counts,
and of `export --to perf-script`, it has the same functions and counts.

    check_firefox.py BUILD_FOLDER EBTGEN EBREPORT TRACE…

TRACE is a name of TRACES of check_page.py, or a recording, *.ebt. Exit status: 0; 1 with what is wrong on standard error.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
import check_page  # noqa: E402
import npm  # noqa: E402
from check_speedscope import NAMELESS, report  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from failed import fail, status  # noqa: E402, pylint: disable=wrong-import-position

SECONDS = 300  # for anything; far more than it needs
ROUNDED = 1e-6  # ms: times are doubles


class Profiler:
    """Its command line, with one profile open."""

    def __init__(self, folder, build):
        modules = npm.modules(build)
        self.command = [npm.program("node", "nodejs"),
                        os.path.join(modules, "node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js")]
        self.env = {**os.environ, "PROFILER_CLI_SESSION_DIR": folder}
        self.folder, self.session = folder, None

    def run(self, *words, must=True):
        done = subprocess.run([*self.command, *words], env=self.env, capture_output=True, timeout=SECONDS,
                              check=False, stdin=subprocess.DEVNULL, text=True)
        if must and done.returncode:
            sys.exit(f"profiler-cli {' '.join(words)}: {done.stderr}")
        return done

    def json(self, *words):
        return json.loads(self.run(*words, "--session", self.session, "--json").stdout)

    def load(self, path):
        """A daemon that did not answer within half a second goes on, and is asked again."""
        done = self.run("load", path, must=False)
        late = re.search(r"/(\w+)\.log\b", done.stderr) if "still be running as pid" in done.stderr else None
        if late:
            self.session = late[1]
        elif done.returncode:
            sys.exit(f"profiler-cli load {path}: {done.stderr}")
        else:
            with open(os.path.join(self.folder, "current.txt"), encoding="utf-8") as file:
                self.session = file.read().strip()
        end = time.monotonic() + SECONDS
        while self.run("thread", "list", "--session", self.session, must=False).returncode:
            if time.monotonic() > end:
                sys.exit(f"profiler-cli load {path}: it did not answer for {SECONDS} s")
            time.sleep(0.5)

    def stop(self):
        if self.session:
            self.run("stop", "--session", self.session, must=False)


def wide(value):
    return int(value) if isinstance(value, str) else value


def ms(ns):
    return ns / 1e6


class Compared:
    def __init__(self, what, ebreport, trace, profiler):
        self.what, self.ebreport, self.trace, self.profiler = what, ebreport, trace, profiler
        self.threads = profiler.json("thread", "list")["threads"]
        self.compared = 0

    def rows(self, command, *words):
        return json.loads(report(self.ebreport, command, "--json", *words, self.trace))["rows"]

    def equal(self, kind, got, wanted):
        self.compared += len(wanted)
        for key in got.keys() | wanted.keys():
            a, b = got.get(key, 0), wanted.get(key, 0)
            if abs(a - b) > ROUNDED * max(1, abs(b)):
                fail(self.what, f"{kind} of {key}: {a}, and in the report {b}")

    @staticmethod
    def key(thread):
        """Numbers as they were; one that came again has a point behind it."""
        return tuple(int(thread[name].split(".")[0]) if thread["pid"] != "machine" else 0 for name in ("pid", "tid"))

    def markers(self):
        for thread in self.threads:
            if thread["markerCount"]:
                listed = self.profiler.json("thread", "markers", "--list", "--limit", "0",
                                            "--thread", thread["threadHandle"])["flatMarkers"]
                yield thread, listed


def add_totals(got, totals, wanted):
    """Functions of one name, in the vDSO and in libc, are one in `folded`, and may call each other."""
    for key, several in totals.items():
        got[key] = max(max(several), min(wanted[key], sum(several)))


def check_functions(c):
    """Self and total of each function, by thread: who calls whom, and in which order frames stand."""
    wanted, got, totals = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    for line in report(c.ebreport, "folded", "--by", "thread", "--kernel-threads", c.trace).decode().splitlines():
        stack, weight = line.rsplit(" ", 1)
        frames = stack.split(";")[1:]
        thread = re.fullmatch(r".*?([0-9/]+)\)?", stack.split(";")[0])
        tid = int(thread[1].split("/")[-1]) if thread else 0
        if frames == ["[no frames]"]:
            continue
        wanted[tid, frames[-1], "self"] += ms(int(weight))
        for name in set(frames):
            wanted[tid, name, "total"] += ms(int(weight))
    for thread in c.threads:
        found = c.profiler.json("thread", "functions", "--include-idle", "--limit", "0",
                                "--thread", thread["threadHandle"])["functions"]
        for function in found:
            name = function["name"].replace(";", ":")
            got[c.key(thread)[1], name, "self"] += function["selfSamples"]
            totals[c.key(thread)[1], name, "total"].append(function["totalSamples"])
    add_totals(got, totals, wanted)
    c.equal("time", +got, +wanted)


def check_names(c):
    wanted = {(row["pid"], row["tid"]): row["comm"] for row in c.rows("sched", "--kernel-threads")}
    for thread in c.threads:
        name = wanted.get(c.key(thread))
        c.compared += name is not None
        if name not in (None, thread["name"]):
            fail(c.what, f"{c.key(thread)} is called {thread['name']}, and in the report {name}")


def check_markers(c):
    off, runqueue = collections.Counter(), collections.Counter()
    calls, call_times = collections.Counter(), collections.Counter()
    marks, mark_times = collections.Counter(), collections.Counter()
    for thread, listed in c.markers():
        for marker in listed:
            kind, duration = marker["markerType"], marker.get("duration") or 0
            key = c.key(thread)
            if kind == "offcpu":
                off[key] += duration
                runqueue[key] += ms(wide(marker.get("data", {}).get("runqueue", 0)))
            elif kind == "syscall":
                calls[*key, marker["name"]] += 1
                call_times[*key, marker["name"]] += duration
            elif kind == "mark":
                marks[marker["name"]] += 1
                mark_times[marker["name"]] += duration
    rows = [(row.get("pid", 0), row.get("tid", 0), row) for row in c.rows("offcpu", "--all", "--kernel-threads")]
    wanted_off, wanted_queue = collections.Counter(), collections.Counter()
    for pid, tid, row in rows:
        wanted_off[pid, tid] += ms(wide(row["total_ns"]))
        wanted_queue[pid, tid] += ms(wide(row["wait_ns"]))
    c.equal("time off CPU", off, wanted_off)
    c.equal("time on run queues", runqueue, wanted_queue)
    wanted_calls, wanted_times = collections.Counter(), collections.Counter()
    for row in c.rows("syscalls", "--by", "thread,call"):
        name = row["name"] + ("[32]" if row["abi"] == "compat" else "")
        wanted_calls[row.get("pid", 0), row.get("tid", 0), name] += row["count"]
        wanted_times[row.get("pid", 0), row.get("tid", 0), name] += ms(wide(row["total_ns"]))
    c.equal("system calls", calls, wanted_calls)
    c.equal("time in system calls", call_times, wanted_times)
    wanted_marks, wanted_times = collections.Counter(), collections.Counter()
    for row in c.rows("marks"):
        wanted_marks[row["name"]] += 1
        wanted_times[row["name"]] += ms(wide(row["duration_ns"]))
    c.equal("marks", marks, wanted_marks)
    c.equal("time of marks", mark_times, wanted_times)


def counts_of(stacks):
    """Self and total of each function, of the lines that `folded` prints; what has no name is one."""
    counts = collections.Counter()
    for line in stacks:
        stack, count = line.rsplit(" ", 1)
        frames = ["?" if NAMELESS.fullmatch(name) else name for name in stack.split(";")]
        counts[frames[-1], "self"] += int(count)
        for name in set(frames):
            counts[name, "total"] += int(count)
    return counts


def check_counts(profiler, c, path, data, wanted):
    """Those of a file that is no profile of its own format: it takes a line, or a sample, for one each."""
    with open(path, "wb") as file:
        file.write(data)
    profiler.load(path)
    got, totals = collections.Counter(), collections.defaultdict(collections.Counter)
    for thread in profiler.json("thread", "list")["threads"]:
        for function in profiler.json("thread", "functions", "--include-idle", "--limit", "0", "--thread",
                                      thread["threadHandle"])["functions"]:
            name = function["name"].replace(";", ":")
            name = "?" if NAMELESS.fullmatch(name) else name
            got[name, "self"] += function["selfSamples"]
            totals[name, "total"][function.get("library")] += function["totalSamples"]
    add_totals(got, {key: several.values() for key, several in totals.items()}, wanted)
    profiler.stop()
    # Of several functions without a name in a stack, each counts.
    c.equal(os.path.basename(path), {key: got[key] for key in got if key != ("?", "total")},
            {key: wanted[key] for key in wanted if key != ("?", "total")})


def check_other_formats(profiler, c, folder):
    words = ["folded", "--event", "sample", "--weight", "rows", "--kernel-threads", c.trace]
    data = report(c.ebreport, *words)
    check_counts(profiler, c, os.path.join(folder, "folded.txt"), data, counts_of(data.decode().splitlines()))
    lines = report(c.ebreport, *words, "--by", "none").decode().splitlines()
    check_counts(profiler, c, os.path.join(folder, "perf.txt"), report(c.ebreport, "export", "--to", "perf-script",
                                                                       c.trace),
                 counts_of(line for line in lines if not line.startswith("[no frames] ")))


def check(profiler, ebreport, trace, what, folder):
    path = os.path.join(folder, what + ".json")
    with open(path, "wb") as file:
        file.write(report(ebreport, "export", "--to", "firefox", trace))
    profiler.load(path)
    c = Compared(what, ebreport, trace, profiler)
    check_names(c)
    check_functions(c)
    check_markers(c)
    profiler.stop()
    check_other_formats(profiler, c, folder)
    print(f"{what}: {len(c.threads)} threads, {c.compared} numbers compared")
    if not c.compared:
        fail(what, "nothing was compared")


def main():
    build, ebtgen, ebreport, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="ebt-firefox-") as folder:
        profiler = Profiler(folder, build)
        try:
            for name in names:
                trace = check_page.make_trace(ebtgen, folder, name)
                check(profiler, ebreport, trace, os.path.basename(name), folder)
        finally:
            profiler.stop()
    return status()


if __name__ == "__main__":
    sys.exit(main())

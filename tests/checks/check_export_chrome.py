#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport export --to chrome` beside the reports: the same sums, of each thread and kind.

    check_export_chrome.py EBTGEN EBREPORT [RECORDING.ebt]

The traces are the machines of tests/browser, or a recording, whole and in part. Numbers of the
file are added up here. Exit status: 0; 1 with what is wrong on standard error.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
from chrome_file import ChromeFile  # noqa: E402
from failed import fail, status  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../browser"))
import painted  # noqa: E402, pylint: disable=wrong-import-position
import traces  # noqa: E402, pylint: disable=wrong-import-position

TRACES = {**traces.TRACES, "painted": painted.painted}
PARTS = [], ["--from", "20%", "--to", "70%"]


def run(*words):
    done = subprocess.run(words, capture_output=True, check=False, timeout=600,
                          env={**os.environ, "DEBUGINFOD_URLS": ""})
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: status {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def wide(value):
    return int(value) if isinstance(value, str) else value


class Compared:
    """A file beside the reports; read: what makes a ChromeFile, or what is alike, of its bytes."""

    def __init__(self, ebreport, path, what, options, charged, to="chrome", read=ChromeFile):
        self.charged = charged
        self.ebreport, self.path, self.what, self.options = ebreport, path, what, options
        self.compared = 0
        self.data = run(ebreport, "export", "--to", to, *options, path)
        self.file = read(self.data)

    def rows(self, command, *words, table="rows"):
        return json.loads(run(self.ebreport, command, "--json", *words, *self.options, self.path)).get(table, [])

    def of(self, category):
        return [span for span in self.file.spans if span.category == category]

    def equal(self, kind, got, wanted):
        self.compared += len(wanted)
        for key in got.keys() | wanted.keys():
            if got[key] != wanted[key]:
                fail(self.what, f"{kind} of {key}: {got[key]}, and in the report {wanted[key]}")

    def sums(self, category, key):
        sums = collections.Counter()
        for span in self.of(category):
            sums[key(span)] += span.duration
        return sums


def by_thread(rows, value):
    sums = collections.Counter()
    for row in rows:
        sums[row.get("pid", 0), row.get("tid", 0)] += wide(row[value])
    return +sums


def check_sched(c):
    ran = c.sums("sched", lambda span: (span.args["pid"], span.args["tid"]))
    # What `sched` has is what the kernel charged, where it says that: in recordings, and across losses.
    if not c.charged:
        c.equal("time on CPUs", +ran, by_thread(c.rows("sched", "--kernel-threads"), "run_ns"))
    c.equal("time off CPUs", +c.sums("offcpu", c.file.thread), by_thread(c.rows("offcpu", "--all", "--kernel-threads"), "total_ns"))
    queue = collections.Counter()
    for span in c.of("offcpu"):
        queue[c.file.thread(span)] += span.args.get("runqueue_ns", 0)
    c.equal("time on run queues", +queue, by_thread(c.rows("offcpu", "--all", "--kernel-threads"), "wait_ns"))
    for cpu in {(span.pid, span.tid) for span in c.of("sched")}:
        ends = 0
        for span in sorted((span for span in c.of("sched") if (span.pid, span.tid) == cpu), key=lambda s: s.time):
            if span.time < ends:
                fail(c.what, f"{c.file.threads[cpu]} runs two threads at {span.time}")
            ends = span.time + span.duration


def call_key(c):
    def key(span):
        return *c.file.thread(span), span.name.removesuffix("[32]"), "compat" if "[32]" in span.name else "native"
    return key


def check_calls(c):
    counts, failures = collections.Counter(), collections.Counter()
    sums, wanted = c.sums("syscall", call_key(c)), collections.Counter()
    rows = c.rows("syscalls", "--by", "thread,call")
    for span in c.of("syscall"):
        counts[call_key(c)(span)] += 1
        failures[call_key(c)(span)] += span.args.get("failed", False)
    keys = [(row.get("pid", 0), row.get("tid", 0), row["name"], row["abi"]) for row in rows]
    for key, row in zip(keys, rows):
        wanted[key] += wide(row["total_ns"])
    c.equal("time in system calls", +sums, +wanted)
    c.equal("system calls", counts, collections.Counter(dict(zip(keys, (row["count"] for row in rows)))))
    c.equal("failed system calls", +failures, +collections.Counter(dict(zip(keys, (row["errors"] for row in rows)))))


def check_marks(c):
    got = collections.Counter((span.time, span.duration, span.name, span.args.get("detail", ""))
                              for span in c.of("mark"))
    wanted = collections.Counter((row["time_ns"], row["duration_ns"], row["name"], row["message"])
                                 for row in c.rows("marks"))
    c.equal("marks", got, wanted)


def check_faults(c):
    c.equal("time in page faults", +c.sums("fault", c.file.thread),
            by_thread(c.rows("faults", "--by", "thread"), "duration_ns"))


def check_requests(c):
    rows = [row for row in c.rows("block") if row["ios"]]
    names = {pid: name.removeprefix("disk ") for pid, name in c.file.processes.items()}
    for member, value in (("total_ns", lambda span: span.duration), ("ios", lambda _: 1),
                          ("bytes", lambda span: wide(span.args["bytes"]))):
        got, wanted = collections.Counter(), collections.Counter()
        for span in c.of("block"):
            if "state" not in span.args and not span.args.get("open"):
                got[names[span.pid]] += value(span)
        for row in rows:
            wanted[row["device"]] += wide(row[member])
        c.equal(f"{member} of requests", +got, +wanted)


def check_connections(c):
    got = collections.Counter((span.name, span.args["detail"].partition(",")[0]) for span in c.of("net"))
    wanted = collections.Counter()
    for row in c.rows("net", table="connections"):
        ends = [f"[{row[a]}]:{row[p]}" if ":" in row.get(a, "") else f"{row.get(a, '?')}:{row[p]}"
                for a, p in (("saddr", "sport"), ("daddr", "dport"))]
        wanted[row["kind"], " -> ".join(ends)] += 1
    c.equal("connections", got, wanted)


def check_lines(c):
    got = collections.Counter((span.time, span.name) for span in c.of("log"))
    c.equal("lines", got, collections.Counter((row["time_ns"], row["severity"]) for row in c.rows("logs")))


def check_counters(c):
    """Of one that grows: the speeds times how long each was make what it has grown."""
    points = collections.defaultdict(list)
    for span in c.of("counter"):
        points[span.name].append((span.time, float(span.args["value"])))
    for row in c.rows("counters"):
        grows = row["kind"] == "cumulative"
        unit = row["unit"] or ("1" if grows else "")
        got = points[row["name"] + (f" ({unit}{'/s' if grows else ''})" if unit else "")]
        wanted = [point for point in row["series"] if point[1] is not None]
        c.compared += len(wanted)
        if grows:
            wanted = [(b[1] - (a[1] if b[1] >= a[1] else 0)) / max(b[0] - a[0], 1) * 1e9
                      for a, b in zip(wanted, wanted[1:])]
        else:
            wanted = [value for _, value in wanted]
        if len(got) != len(wanted) or any(abs(x[1] - y) > 1e-6 * max(1, abs(y)) for x, y in zip(got, wanted)):
            fail(c.what, f"counter {row['name']}: {got[:5]}, not {wanted[:5]}")


CHECKS = (check_sched, check_calls, check_marks, check_lines, check_counters)


RECORDED = (*CHECKS, check_faults, check_requests, check_connections)


def check_trace(ebreport, path, name, checks, parts=PARTS, **form):
    """How much was compared, by check."""
    compared = collections.Counter()
    for options in parts:
        c = Compared(ebreport, path, " ".join([name, *options]), options, name in ("holes", "lossy", "recording"),
                     **form)
        for check in checks:
            before = c.compared
            check(c)
            compared[check.__name__] += c.compared - before
    return compared


def main():
    ebtgen, ebreport, *recording = sys.argv[1:]
    compared = collections.Counter()
    for path in recording:
        compared += check_trace(ebreport, path, "recording", RECORDED)
    for name in [] if recording else ["work", "crowd", "lossy", "holes", "painted"]:
        with tempfile.TemporaryDirectory() as folder:
            path, rows = os.path.join(folder, "t.ebt"), os.path.join(folder, "t.txt")
            traces.write(rows, TRACES[name]())
            run(ebtgen, rows, path)
            compared += check_trace(ebreport, path, name, CHECKS)
    for check in RECORDED if recording else CHECKS:
        if not compared[check.__name__]:
            fail(check.__name__, "no trace has anything of it")
    print(dict(compared))
    return status()


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-or-later
"""Part `tasks` of tests/bench/run: what threads and programs cost that come and go, recorded by ebrec
and by perf sched record, in turn, as other load on the machine changes; how long it takes until a
command begins, and from its end on; and what page faults cost, with other sources and without.
"""

import os
import re
import statistics
import sys
import time

RUNS = 7


def said(usage, command):
    """Seconds of wall time and of CPU time that the program itself counted, and the CPU time of what
    recorded it."""
    done = usage(command)
    wall, cpu = map(float, re.search(r"took ([\d.]+) cpu ([\d.]+)", done.output).groups())
    return wall, cpu, done.cpu - cpu


def whole_stacks(info):
    """Share of the user stacks that reach the root, without those taken in exec."""
    stops = info["unwinding"]["stops"]
    stacks = info["unwinding"]["stack_count"] - stops.get("in exec", 0)
    return 100 * stops.get("root", 0) / stacks if stacks else ""


def churn(bench, usage, perf_sched, table):
    program, data, trace = f"{bench.programs}/churn", bench.path("perf.data"), bench.path("t.ebt")
    threads = [program, "threads", str(30000 // bench.scale)]
    cpu = str(min(os.sched_getaffinity(0)))
    work = {"threads, one CPU": ["taskset", "-c", cpu, *threads],
            "threads, all CPUs": threads,
            "fork and exec": [program, "exec", str(3000 // bench.scale), "/bin/true"]}
    lines = []
    for name, command in work.items():
        ways = {"bare": command,
                "ebrec": [bench.ebrec, "-q", "-f", "-o", trace, "--", *command],
                "ebrec -e task": bench.record("task", *command, name="task.ebt"),
                "perf sched record": perf_sched("-o", data, *command)}
        found, stacks = {way: [] for way in ways}, []
        for _ in range(RUNS):
            for way, with_recorder in ways.items():
                found[way].append(said(usage, with_recorder))
            info = bench.info()
            stacks.append(whole_stacks(info))
        median = {way: [statistics.median(column) for column in zip(*rows)]
                  for way, rows in found.items()}
        for way, (wall, cpu_time, recorder) in median.items():
            ours = way == "ebrec"
            lines.append([f"{name}: {way}", wall, wall / median["bare"][0], cpu_time,
                          cpu_time / median["bare"][1], "" if way == "bare" else recorder,
                          f"{statistics.median(stacks):.2f} %" if ours else "",
                          bench.lost(info) if ours else ""])
        os.remove(data)
    table(f"Threads made and joined, programs run, medians of {RUNS} alternating runs",
          ["", "seconds", "x", "CPU s", "x", "CPU s of the recorder", "whole stacks", "lost"], lines)


# Prints when it begins, and ends at once.
CLOCK = "import time; print('now', time.monotonic())"


def begin(bench, usage, perf_record, table):
    """The command's own start is in it: that of the bare run is subtracted."""
    command = [sys.executable, "-S", "-c", CLOCK]
    ways = {"bare": command,
            "ebrec": [bench.ebrec, "-q", "-f", "-o", bench.path("t.ebt"), "--", *command],
            "perf record -g": perf_record("-g", "-o", bench.path("perf.data"), *command)}
    found = {way: [] for way in ways}
    for _ in range(RUNS):
        for way, with_recorder in ways.items():
            before = time.monotonic()
            done = usage(with_recorder)
            there = float(re.search(r"now ([\d.]+)", done.output)[1])
            found[way].append((there - before, before + done.seconds - there, done.cpu))
    median = {way: [statistics.median(column) for column in zip(*rows)]
              for way, rows in found.items()}
    table(f"A command that ends at once, medians of {RUNS} alternating runs",
          ["", "ms until it begins", "ms from its end on", "CPU ms"],
          [[way, *(1e3 * (value - bare) for value, bare in zip(values, median["bare"]))]
           for way, values in median.items() if way != "bare"])


def faults(bench, usage, perf_record, table):
    """CPU time of the program alone, which touches new memory all the time from one place."""
    rounds, size = max(1, 16 // bench.scale), 32 << 20
    touch = f'for (1..{rounds}) {{ my $x = "a" x ({size} + $_); undef $x }}'
    command = ["bash", "-c", 'TIMEFORMAT="took %R cpu %U %S"; time "$@"', "bash", "perl", "-e",
               touch]
    ways = {"bare": command}
    for sources in ("sample", "fault", "fault --call-graph none", "fault,sample", "default,fault"):
        events, *options = sources.split()
        ways[f"ebrec -e {sources}"] = [bench.ebrec, "-q", "-f", "-e", events, *options, "-o",
                                       bench.path("t.ebt"), "--", *command]
    ways["perf record -g -e faults -c 1"] = perf_record("-g", "-e", "faults", "-c", "1", "-o",
                                                        bench.path("perf.data"), *command)
    found = {way: [] for way in ways}
    for _ in range(RUNS):
        for way, with_recorder in ways.items():
            times = re.search(r"took ([\d.]+) cpu ([\d.]+) ([\d.]+)", usage(with_recorder).output)
            found[way].append((float(times[1]), float(times[2]) + float(times[3])))
    median = {way: [statistics.median(column) for column in zip(*rows)]
              for way, rows in found.items()}
    count = rounds * size // os.sysconf("SC_PAGE_SIZE")
    table(f"{count} page faults, medians of {RUNS} alternating runs",
          ["", "seconds", "CPU s", "us a fault"],
          [[way, wall, cpu, (cpu - median["bare"][1]) * 1e6 / count]
           for way, (wall, cpu) in median.items()])

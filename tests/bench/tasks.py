# SPDX-License-Identifier: GPL-2.0-or-later
"""Part `tasks` of tests/bench/run: what threads and programs cost that come and go, recorded by ebrec
and by perf sched record, in turn, as other load on the machine changes.
"""

import os
import re
import statistics

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

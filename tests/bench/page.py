# SPDX-License-Identifier: GPL-2.0-or-later
"""Part `page` of tests/bench/run: the page of a trace of some 20 million events: its size, time and
memory of `ebreport html`, and what it costs in Chromium. What a browser needs is got as the tests of
the page do, from npm.
"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "browser"))
import npm  # noqa: E402

ROUNDS = 3100000  # of pingpong: ten million system calls, ten million rows of the scheduler's


def drive(bench, page, trace):
    """What page.mjs measures."""
    setting = {**npm.driver(os.path.join(bench.build, "tests/browser")), "ebreport": bench.ebreport,
               "pages": {"page": {"html": page, "traces": [trace]}}}
    with open(bench.path("setting.json"), "w", encoding="utf-8") as file:
        json.dump(setting, file)
    done = subprocess.run([setting["node"], os.path.join(HERE, "page.mjs"), file.name], capture_output=True,
                          text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("figures ")]
    if not lines:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    return json.loads(lines[0].split(" ", 1)[1])


def run(bench, usage, table):
    trace, page = bench.path("t.ebt"), bench.path("page.html")
    work = [f"{bench.programs}/pingpong", str(ROUNDS // bench.scale)]
    usage(bench.record("sched,task,syscalls,sample", *work))
    info = bench.info()
    events = sum(row["row_count"] for row in info["rows"]
                 if row["name"] in ("syscall", "sched_switch", "sched_waking", "sched_migrate", "sample"))
    made = usage([bench.ebreport, "html", "-f", "-o", page, trace])
    found = drive(bench, page, trace)
    zoomed = found["zoomed"]
    table(f"A page: {events} events, lost {bench.lost(info)}: {' '.join(work)}",
          ["", "", "unit"],
          [["trace", os.path.getsize(trace) / 1e6, "MB"],
           ["page", os.path.getsize(page) / 1e6, "MB"],
           ["ebreport html", made.seconds, "s"],
           ["its memory (16 is Python's)", made.mebibytes, "MiB"],
           ["Chromium: first paint", found["first_ms"], "ms"],
           ["first view, all of it", found["ready_ms"], "ms"],
           ["tasks of more than 50 ms meanwhile", len(found["loading_tasks_ms"]), ""],
           ["the longest", max(found["loading_tasks_ms"], default=0.0), "ms"],
           *[[f"view {name}", ms, "ms"] for name, ms in found["views"].items()],
           [f"zoom of {zoomed['intervals']} intervals: frame, median", zoomed["median_ms"], "ms"],
           ["99 % of the frames", zoomed["p99_ms"], "ms"],
           ["the longest frame", zoomed["worst_ms"], "ms"],
           ["frames", zoomed["frames"], ""],
           ["frames of more than 50 ms", zoomed["over_50"], ""],
           ["memory of the tab", found["bytes"] / (1 << 20), "MiB"]])

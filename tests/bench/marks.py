# SPDX-License-Identifier: GPL-2.0-or-later
"""Part `marks` of tests/bench/run: what a mark costs that nobody records, and one that is recorded,
next to sys/sdt.h with perf, and to LTTng's tracepoints where its packages are.
"""

import os
import re
import shutil
import subprocess

RUNS = 7

LTTNG = """
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER bench
#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "./bench_lttng.h"
#if !defined(BENCH_LTTNG_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_H
#include <lttng/tracepoint.h>
TRACEPOINT_EVENT(bench, mark,
    TP_ARGS(const char *, group, const char *, name, const char *, message),
    TP_FIELDS(ctf_string(group, group) ctf_string(name, name) ctf_string(message, message)))
#endif
#include <lttng/tracepoint-event.h>
"""

# Its daemon ends with the session, as it is the only one of this home.
LTTNG_SESSION = """
export HOME=$PWD LTTNG_HOME=$PWD
lttng-sessiond --no-kernel --pidfile="$PWD/pid" >/dev/null 2>&1 & daemon=$!
trap 'kill $daemon; wait $daemon' EXIT
until lttng --no-sessiond list >/dev/null 2>&1; do sleep 0.1; done
{ lttng create bench --output="$PWD/out" && lttng enable-channel -u c --subbuf-size 8M --num-subbuf 8 &&
  lttng enable-event -u bench:mark -c c && lttng start; } >/dev/null
"$@"
{ lttng stop && lttng destroy; } >/dev/null
"""

PERF = """
perf="perf --buildid-dir $PWD/cache"
$perf buildid-cache --add "$1"
$perf probe -q sdt_bench:mark >/dev/null 2>&1
trap '$perf probe -q -d "sdt_bench:*" >/dev/null 2>&1' EXIT
$perf record -q --buildid-mmap -e sdt_bench:mark -o perf.data "$@"
"""


def build(bench, source, name, *options):
    """Path of the program, or None where it cannot be built here."""
    program = bench.path("bench_" + name)
    done = subprocess.run(["cc", "-O2", *options, "-I", bench.folder, source, "-o", program,
                           *(["-llttng-ust", "-ldl"] if name == "lttng" else [])],
                          capture_output=True, check=False)
    return None if done.returncode else program


def cost(command, folder):
    """ns a mark, as the program says; None: it could not be done."""
    done = subprocess.run([str(c) for c in command], capture_output=True, cwd=folder, check=False)
    found = re.search(r"([\d.]+) ns a mark", done.stdout.decode())
    return float(found[1]) if found else None


def least(command, folder):
    """Of several runs: what else the machine does only adds to it."""
    found = [c for c in (cost(command, folder) for _ in range(RUNS)) if c is not None]
    return min(found) if found else None


def run(bench, table, root):
    source = os.path.join(root, "tests/bench/bench_marks.c")
    with open(bench.path("bench_lttng.h"), "w", encoding="ascii") as file:
        file.write(LTTNG)
    programs = {
        "the loop alone": build(bench, source, "none"),
        "ebmark.h": build(bench, source, "ebmark", "-DEBMARK", "-I", os.path.join(root, "include")),
        "sys/sdt.h": build(bench, source, "sdt", "-DSDT"),
        "LTTng": build(bench, source, "lttng", "-DLTTNG") if shutil.which("lttng") else None,
    }
    silent = {name: least([program, 200000000 // bench.scale], bench.folder)
              for name, program in programs.items() if program}
    count = 1000000 // bench.scale
    recorded = {
        "ebmark.h": least([bench.ebrec, "-q", "-f", "-e", "mark", "-o", bench.path("m.ebt"), "--",
                           programs["ebmark.h"], count], bench.folder),
        "sys/sdt.h": programs["sys/sdt.h"] and
        cost(["unshare", "-m", "bash", "-c", PERF, "bash", programs["sys/sdt.h"], count],
             bench.folder),
        "LTTng": programs["LTTng"] and
        least(["bash", "-c", LTTNG_SESSION, "bash", programs["LTTng"], count], bench.folder),
    }
    by = {"ebmark.h": "ebrec -e mark", "sys/sdt.h": "perf record", "LTTng": "lttng"}
    ours = recorded["ebmark.h"]
    table("A mark with group, name and message, in ns",
          ["", "nobody records", "recorded", "by", "x of ebrec"],
          [[name, silent[name], recorded.get(name) or "",
            by.get(name, "") if recorded.get(name) else "",
            recorded[name] / ours if recorded.get(name) else ""] for name in silent])

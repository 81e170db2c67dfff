# SPDX-License-Identifier: GPL-2.0-or-later
"""Part `export` of tests/bench/run: every format of `ebreport export`: seconds, memory, bytes and rows a
second, of samples beside `perf script` and `perf data convert`, and of a machine with all sources.
"""

import os
import re

SAMPLES = 30  # seconds
ALL = 60
PER_SAMPLE = {"perf-script", "speedscope", "pprof", "otlp", "firefox", "ndjson", "sysprof"}


def formats(bench, usage):
    said = usage([bench.ebreport, "export", "--to", "no format"], must_succeed=False).output
    return re.findall(r"[a-z-]+", said.rpartition("formats are ")[2])


def export(bench, usage, name, rows):
    output, options = bench.path("out"), ["--symbols"] if name == "ndjson" else []
    if name == "csv":
        options = ["--table", "syscall"]
    usage(["rm", "-rf", output])
    done = usage([bench.ebreport, "export", "--to", name, *options, "-f", "-o", output, bench.path("t.ebt")])
    size = sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(output)
               for file in files) if os.path.isdir(output) else os.path.getsize(output)
    return [f"--to {name}", done.seconds, rows / done.seconds / 1e6, done.mebibytes, size / 1e6]


def rows_of(bench):
    return sum(row["row_count"] for row in bench.info()["rows"])


def peer(bench, usage, command, rows, output=None):
    done = usage(command, must_succeed=False)
    if done.failed:
        return [" ".join(command[:3]), "fails"]
    size = os.path.getsize(output) if output else len(done.output)
    return [" ".join(command[:3]), done.seconds, rows / done.seconds / 1e6, done.mebibytes, size / 1e6]


def samples(bench, usage, perf_record, table, work):
    header = ["", "s", "M rows/s", "MiB", "MB"]
    data, converted = bench.path("perf.data"), bench.path("perf.json")
    work = ["timeout", str(max(SAMPLES // bench.scale, 3)), *work]
    usage([bench.ebrec, "-q", "-f", "-F", "9999", "-e", "sample", "-o", bench.path("t.ebt"), "--", *work],
          must_succeed=False)
    usage(perf_record("-F", "9999", "-g", "-o", data, *work), must_succeed=False)
    ours, theirs = rows_of(bench), bench.perf_events(data)
    names = [name for name in formats(bench, usage) if name in PER_SAMPLE]
    table(f"Exports of samples: {ours} of ours, {theirs} of perf; memory is with 16 MiB of Python's", header,
          [*[export(bench, usage, name, ours) for name in names],
           peer(bench, usage, ["perf", "script", "-i", data], theirs),
           peer(bench, usage, ["perf", "data", "convert", "-f", "-i", data, "--to-json", converted], theirs,
                converted)])


def run(bench, usage, perf_record, table, deep):
    samples(bench, usage, perf_record, table, ["perl", "-e", deep])
    seconds = max(ALL // bench.scale, 5)
    usage([bench.ebrec, "-q", "-f", "-a", "-e", "all", "-F", "999", "-o", bench.path("t.ebt"), "--", "stress-ng",
           "--pipe", "1", "--fault", "1", "--hdd", "1", "--mmap", "1", "--fork", "1", "--sock", "1", "-t",
           str(seconds)])
    rows = rows_of(bench)
    table(f"Exports of all sources: {rows} rows, {os.path.getsize(bench.path('t.ebt')) / 1e6:.0f} MB",
          ["", "s", "M rows/s", "MiB", "MB"],
          [export(bench, usage, name, rows) for name in formats(bench, usage)])

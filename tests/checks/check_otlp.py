#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport export --to otlp` beside `ebreport folded` and rows of the same trace.

    check_otlp.py EBTGEN EBREPORT PROTOC FIXTURE.txt|TRACE.ebt…

Stacks, root first and with what is inlined, by thread and to the nanosecond; times of samples; and that
protoc decodes it. Exit status: 0; 1 with what is wrong on standard error.
"""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
from check_pprof import compare_folded, each_trace, escaped, folded_of, run  # noqa: E402
from failed import fail, status  # noqa: E402
from otlp_file import PROTO, Otlp  # noqa: E402


def check_times(ebreport, trace, what, otlp):
    """Of samples, in CLOCK_REALTIME."""
    info = json.loads(run(ebreport, "info", "--json", trace))
    begin, length = int(info["start_realtime_ns"]), info["duration_ns"]
    rows = map(json.loads, run(ebreport, "export", "--table", "sample", trace).splitlines())
    times = [begin + row["time_ns"] for row in rows if row["kind"] == "row" and 0 <= row["time_ns"] <= length]
    got = [time for _, kind, _, profile in otlp.profiles if kind == "cpu"
           for sample in profile["samples"] for time in sample["timestamps_unix_nano"]]
    if sorted(got) != sorted(times):
        fail(what, f"{len(got)} times of samples, not the {len(times)} of the rows")
    for _, kind, _, profile in otlp.profiles:
        if profile["time_unix_nano"] != begin or profile["duration_nano"] != length:
            fail(what, f"the profile of {kind} is of another time")


def check_trace(ebreport, protoc, trace, what):
    output = os.path.join(os.path.dirname(trace), "t.otlp")
    run(ebreport, "export", "--to", "otlp", "-o", output, trace)
    with open(output, "rb") as file:
        data = file.read()
    otlp = Otlp(data)
    for kind, event in ("cpu", "cpu"), ("off_cpu", "offcpu"):
        compare_folded(f"{what}, {kind}", otlp.folded(kind, escaped), folded_of(ebreport, ["--event", event], trace))
    if {(kind, unit) for _, kind, unit, _ in otlp.profiles} - {("cpu", "nanoseconds"), ("off_cpu", "nanoseconds")}:
        fail(what, "a profile is of something else")
    check_times(ebreport, trace, what, otlp)
    done = subprocess.run([protoc, "--proto_path", os.path.dirname(PROTO), "--decode", "otlp.ProfilesData", PROTO],
                          input=data, capture_output=True, check=False)
    if done.returncode or done.stdout.count(b"\n      samples {") != sum(len(p[3]["samples"]) for p in otlp.profiles):
        fail(what, f"protoc: {done.stderr.decode()}")
    return len(otlp.profiles)


if __name__ == "__main__":
    each_trace(sys.argv[1:], check_trace)
    sys.exit(status())

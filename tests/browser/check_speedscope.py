#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports as speedscope reads them, in a browser: what it saves in its own format has the stacks, names and
times of the reports.

    check_speedscope.py BUILD_FOLDER EBTGEN EBREPORT TRACE…

TRACE is a name of TRACES of check_page.py, or a recording, *.ebt. Exit status: 0; 1 with what is wrong.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
import check_page  # noqa: E402
import npm  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from failed import fail, status  # noqa: E402, pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 900  # for anything; far more than it needs
# How each is made, without the trace. What is called *.chrome.json, speedscope takes for something else; of the
# functions that are inlined into each other it reads one from pprof's file.
FILES = {"speedscope.json": ["export", "--to", "speedscope"], "pb": ["export", "--to", "pprof", "--no-inline"],
         "perf.txt": ["export", "--to", "perf-script"], "folded.txt": ["folded", "--by", "process"],
         "trace.json": ["export", "--to", "chrome"]}
# What stands for a function without a name, there and here.
NAMELESS = re.compile(r"(?<![^;])(\?\?\? \([^;]*\)|[^;]*\+0x[0-9a-f]+|0x[0-9a-f]+|\[unknown[^;]*\])(?![^;])")


def report(ebreport, *words):
    done = subprocess.run([ebreport, *words], capture_output=True, check=False, timeout=SECONDS,
                          env={**os.environ, "DEBUGINFOD_URLS": ""})
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr.decode(errors='replace')}")
    return done.stdout


class Saved:
    """What speedscope has understood of a file: profiles with stacks, root first, and their weights."""

    def __init__(self, path):
        with open(path + ".saved", encoding="utf-8") as file:
            self.file = json.load(file)
        self.names = [frame["name"] for frame in self.file["shared"]["frames"]]
        self.profiles = self.file["profiles"]

    def stacks(self, profile):
        """Its beginnings and ends of frames as stacks, with the time that each was the whole of it."""
        sums, begun, last = collections.Counter(), [], 0
        for event in profile["events"]:
            if begun and event["at"] > last:
                sums[";".join(self.names[i].replace(";", ":") for i in begun)] += event["at"] - last
            last = event["at"]
            if event["type"] == "O":
                begun.append(event["frame"])
            elif begun.pop() != event["frame"]:
                raise ValueError("frames do not nest")
        return sums

    def spans(self, profile):
        """Of one with beginnings and ends: how long each name is open in all."""
        sums, begun = collections.Counter(), []
        for event in profile["events"]:
            if event["type"] == "O":
                begun.append((event["frame"], event["at"]))
            else:
                frame, at = begun.pop()
                if frame != event["frame"]:
                    raise ValueError("frames do not nest")
                sums[self.names[frame]] += event["at"] - at
        return sums


def equal(what, got, wanted, rounded=0.5):
    if not wanted:
        fail(what, "there is nothing to compare")
    for key in got.keys() | wanted.keys():
        if abs(got.get(key, 0) - wanted.get(key, 0)) > rounded:
            fail(what, f"{key[-200:]}: {got.get(key, 0)}, and in the report {wanted.get(key, 0)}")


def folded(ebreport, trace, *words):
    sums = collections.Counter()
    for line in report(ebreport, "folded", *words, trace).decode().splitlines():
        stack, weight = line.rsplit(" ", 1)
        sums[stack] += int(weight)
    return sums


def below(stacks):
    """Without the process."""
    sums = collections.Counter()
    for stack, weight in stacks.items():
        sums[stack.partition(";")[2]] += weight
    return sums


def check_trace(what, ebreport, trace, saved):
    by_process = folded(ebreport, trace, "--by", "process", "--kernel-threads")
    wanted = below(by_process)
    profile, = saved["folded.txt"].profiles
    equal(f"{what}: folded", saved["folded.txt"].stacks(profile), folded(ebreport, trace, "--by", "process"))
    equal(f"{what}: speedscope", saved["speedscope.json"].stacks(saved["speedscope.json"].profiles[0]), wanted)
    profile, = saved["pb"].profiles
    got = saved["pb"].stacks(profile)
    plain = below(folded(ebreport, trace, "--by", "process", "--kernel-threads", "--no-inline"))
    equal(f"{what}: pprof", got, {stack: ns for stack, ns in plain.items() if stack != "[no frames]"})
    # Of these it takes times instead of weights.
    got = set().union(*(saved["perf.txt"].stacks(profile) for profile in saved["perf.txt"].profiles))
    got, plain = ({NAMELESS.sub("?", stack) for stack in stacks} for stacks in (got, wanted))
    if got != plain - {"[no frames]"}:
        fail(f"{what}: perf-script", f"stacks are {sorted(got ^ plain)[:3]}")
    off = collections.Counter()
    for profile in saved["trace.json"].profiles:
        for name, us in saved["trace.json"].spans(profile).items():
            if name.startswith("[off CPU: "):
                off[name.partition(" {")[0]] += us  # arguments are behind the name
    wanted = collections.Counter()
    for row in json.loads(report(ebreport, "offcpu", "--json", "--by", "thread,state", "--all", "--kernel-threads",
                                 trace))["rows"]:
        wanted[f"[off CPU: {row['state']}]"] += int(row["total_ns"]) / 1000
    equal(f"{what}: chrome", off, wanted)


def main():
    build, ebtgen, ebreport, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="ebt-speedscope-") as folder:
        traces = {os.path.basename(name): check_page.make_trace(ebtgen, folder, name) for name in names}
        paths = {}
        for what, trace in traces.items():
            for ending, words in FILES.items():
                paths[what, ending] = os.path.join(folder, f"{what}.{ending}")
                with open(paths[what, ending], "wb") as file:
                    file.write(report(ebreport, *words, trace))
        setting = os.path.join(folder, "setting.json")
        with open(setting, "w", encoding="utf-8") as file:
            json.dump({**npm.driver(build), "files": list(paths.values())}, file)
        done = subprocess.run([npm.program("node", "nodejs"), os.path.join(HERE, "speedscope.mjs"), setting],
                              stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
        if done.returncode:
            return done.returncode
        for what, trace in traces.items():
            check_trace(what, ebreport, trace, {ending: Saved(paths[what, ending]) for ending in FILES})
    return status()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `go tool pprof` reads of `ebreport export --to pprof`, beside `ebreport folded` of the same trace.

    check_pprof.py EBTGEN EBREPORT GO FIXTURE.txt|TRACE.ebt…

Stacks, root first and with what is inlined, by thread and to the nanosecond; labels; build-ids of files.
Exit status: 0; 1 with what is wrong on standard error.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
from failed import fail, status  # noqa: E402

EVENTS = (("cpu",), ("offcpu",), ("fault", "rows"), ("kmem_alloc", "bytes"), ("kmem_alloc", "rows"),
          ("futex_wait", "duration"))
MOST = (1 << 63) - 1  # of a value, which has a sign
LABEL = re.compile(r"(\w+):\[(.*?)\](?= \w+:\[|$)")
LOCATION = re.compile(r" +(\d+): 0x[0-9a-f]+ (?:M=(\d+) )?(.*)")
LINE = re.compile(r" *(.*?) (?:<frozen [^ ]*|[^ ]*):(\d+) s=0\(\)")
MAPPING = re.compile(r"(\d+): 0x([0-9a-f]+)/0x([0-9a-f]+)/0x0 (.*?) ([0-9a-f]*) ((?:\[..\])*)")


def escaped(name):
    """As `folded` prints it."""
    return "".join(f"\\x{ord(char):02x}" if ord(char) < 32 else char for char in name.replace(";", ":"))


class Profile:
    """The text of -raw: samples (values, stack, labels), functions by location, mappings by number."""

    def __init__(self, text):
        self.types, self.samples, self.locations, self.mappings, self.head = [], [], {}, {}, {}
        part = "head"
        for line in text.splitlines():
            if line in ("Samples:", "Locations", "Mappings"):
                part = line
            elif part == "head":
                key, _, value = line.partition(": ")
                self.head[key] = value
            elif part == "Samples:":
                self.sample(line)
            elif part == "Locations":
                self.location(line)
            else:
                match = MAPPING.fullmatch(line)
                if not match:
                    raise ValueError(f"a mapping: {line!r}")
                self.mappings[int(match[1])] = match[4], match[5], match[6]

    def sample(self, line):
        if not self.types:
            self.types = line.replace("[dflt]", "").split()
        elif match := re.fullmatch(r" *(\d+(?: +\d+)*): ([\d ]*)", line):
            self.samples.append(([int(value) for value in match[1].split()],
                                 [int(i) for i in match[2].split()], {}))
        else:
            self.samples[-1][2].update(LABEL.findall(line.strip()))

    def location(self, line):
        match = LOCATION.fullmatch(line)
        if match:
            self.locations[int(match[1])] = []
            line = match[3]
        name = LINE.fullmatch(line)
        if not name:
            raise ValueError(f"a function: {line!r}")
        list(self.locations.values())[-1].append(name[1])

    def folded(self, value):
        """Weights by stack, the thread first, as `folded --by thread` has them."""
        weights = collections.Counter()
        for values, stack, labels in self.samples:
            frames = [escaped(name) for i in stack for name in self.locations[i] if name != "[no frames]"]
            root = f"{labels['thread']} ({labels['pid']}/{labels['tid']})" if "tid" in labels else labels["thread"]
            weights[";".join([escaped(root)] + frames[::-1])] += values[value]
        return weights


def run(*command):
    env = {**os.environ, "DEBUGINFOD_URLS": "", "PPROF_BINARY_PATH": "/nonexistent"}
    done = subprocess.run(command, capture_output=True, check=False, timeout=300, env=env)
    if done.returncode:
        raise ValueError(f"{command} ends with {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout.decode()


def folded_of(ebreport, arguments, trace):
    weights = collections.Counter()
    for line in run(ebreport, "folded", "--by", "thread", "--kernel-threads", *arguments, trace).splitlines():
        stack, weight = line.rsplit(" ", 1)
        weights[stack] += int(weight)
    return collections.Counter({stack: min(weight, MOST) for stack, weight in weights.items() if weight})


def compare_folded(what, got, expected):
    got = collections.Counter({stack: min(weight, MOST) for stack, weight in got.items() if weight})
    for stack in sorted(got.keys() | expected.keys()):
        if got[stack] != expected[stack]:
            fail(what, f"…{stack[-200:]}: {got[stack]}, not {expected[stack]}")


def check_event(ebreport, go, trace, what, event):
    output = os.path.join(os.path.dirname(trace), "t.pb.gz")
    arguments = ["--event", event[0], *(("--weight", event[1]) if len(event) > 1 else ())]
    run(ebreport, "export", "--to", "pprof", "-o", output, *arguments, trace)
    profile = Profile(run(go, "tool", "pprof", "-symbolize=none", "-raw", output))
    compare_folded(what, profile.folded(-1), folded_of(ebreport, arguments, trace))
    types = {"cpu": ["samples/count", "cpu/nanoseconds"], "offcpu": ["intervals/count", "offcpu/nanoseconds"],
             "fault rows": ["fault/count"], "kmem_alloc bytes": ["alloc_objects/count", "alloc_space/bytes"],
             "futex_wait duration": ["futex_wait/count", "duration/nanoseconds"]}
    if profile.types != types.get(" ".join(event), profile.types):
        fail(what, f"values are {profile.types}")
    if event[0] == "offcpu" and not all("state" in labels for _, _, labels in profile.samples):
        fail(what, "a time off CPU has no state")
    return len(profile.samples)


def check_trace(ebreport, go, trace, what):
    tables = run(ebreport, "info", "--csv", "--columns", "name,row_count", trace)
    with_rows = {line.split(",")[0] for line in tables.splitlines() if not line.endswith(",0")}
    n = 0
    for event in EVENTS:
        if event[0] in ("cpu", "offcpu") or event[0] in with_rows:
            n += check_event(ebreport, go, trace, f"{what}, {' '.join(event)}", event)
    return n


def each_trace(arguments, check):
    """check(ebreport, tool, trace, what it is called): how much there was to compare."""
    ebtgen, ebreport, tool, *fixtures = arguments
    n = 0
    for fixture in fixtures:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.ebt")
            if fixture.endswith(".txt"):
                subprocess.run([ebtgen, fixture, path], check=True)
            else:
                os.symlink(os.path.abspath(fixture), path)
            try:
                n += check(ebreport, tool, path, os.path.basename(fixture))
            except (ValueError, KeyError) as error:
                fail(os.path.basename(fixture), f"{type(error).__name__}: {error}")
    if not n:
        fail("all", "no sample to compare")


if __name__ == "__main__":
    each_trace(sys.argv[1:], check_trace)
    sys.exit(status())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a page says of events and counters is what the reports say.

    check_page_data.py EBTGEN EBREPORT FIXTURE…

The sections `events` and `points` of `ebreport html` against --json of syscalls, marks, block, net,
dbus, logs, sched --irq, faults and counters, and `path` and `shares` against that of why, with and
without filters, of the fixtures and of machines of tests/browser/traces.py. Of damaged files,
whatever comes out is a page whose numbers refer to what is there, or an error. Exit status: 0; 1
with what is wrong on standard error.
"""

import collections
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
from failed import fail, status  # noqa: E402
from page_file import Page  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../browser"))
import traces  # noqa: E402

FILTERS = [
    [], ["--pid", "300"], ["--comm", "<*"], ["--from", "1us"], ["--to", "50%"],
    ["--from", "10%", "--to", "60%"],
]
FAILED, OPEN, JOINED = 1, 2, 4
MOST_LINES = 12  # sentences of a page
# With a path, part of which is told by none of these, and where several have the CPU that it waits for.
MADE = {"work": traces.work, "lossy": traces.lossy,
        "markup": lambda: traces.hostile("markup"), "bytes": lambda: traces.hostile("bytes")}


def run(ebreport, *words):
    return subprocess.run([ebreport, *words], capture_output=True, check=False, timeout=300,
                          env={**os.environ, "DEBUGINFOD_URLS": ""})


def read_page(ebreport, path, filters, out):
    """None: there is no page, which is an error that says why."""
    done = run(ebreport, "html", "-f", "-o", out, *filters, path)
    if done.returncode not in (0, 1):
        fail(f"html {' '.join(filters)} on {os.path.basename(path)}",
             f"status {done.returncode}: {done.stderr.decode(errors='replace')}")
    if done.returncode:
        return None
    if os.stat(out).st_mode & 0o077:
        fail("html", f"others can read the page of {os.path.basename(path)}")
    with open(out, encoding="utf-8") as f:
        return Page(f.read())


# --- numbers refer to what is there ---

def check_below(what, values, n):
    wrong = [value for value in values if not 0 <= value < n]
    if wrong:
        fail(what, f"{len(wrong)} numbers are not below {n}, as {wrong[0]}")


def check_events(what, page):
    events = page.section("events")
    if not events:
        return
    tracks = page.head["tracks"]
    n_strings = len(page.section("strings")["length"])
    n_threads = page.head["sections"].get("threads", {"rows": 0})["rows"]
    for column, n in (("track", len(tracks)), ("name", n_strings), ("detail", n_strings),
                      ("node", page.head["sections"]["nodes"]["rows"]), ("other", n_threads + 1),
                      ("dur", (1 << 53) + 1), ("count", 1 << 32), ("flags", 8)):
        check_below(f"{what}: events.{column}", events[column], n)
    check_below(f"{what}: threads of tracks",
                [track["thread"] for track in tracks if track["thread"] is not None], n_threads)
    places = list(zip(events["track"], events["time"]))
    if places != sorted(places):
        fail(what, "events are not in order")
    if set(events["track"]) != set(range(len(tracks))):
        fail(what, "a track has no event")
    if len(places) > 500000:
        fail(what, f"{len(places)} events")


def check_points(what, page):
    points = page.section("points")
    if not points:
        return
    check_below(f"{what}: points.series", points["series"], len(page.head["series"]))
    places = list(zip(points["series"], points["time"]))
    if places != sorted(places):
        fail(what, "points are not in order")


def check_path(what, page):
    """A step that several sentences share is of none of them alone, and waited for a CPU."""
    lines = len(page.head.get("why", {"lines": []})["lines"])
    steps, shares = page.rows("path"), page.rows("shares")
    check_below(f"{what}: path.line", [step["line"] for step in steps], lines + 1)
    check_below(f"{what}: shares.line", [share["line"] for share in shares], lines + 1)
    check_below(f"{what}: shares.step", [share["step"] for share in shares], len(steps))
    places = [(share["step"], share["line"]) for share in shares]
    if places != sorted(set(places)):
        fail(what, "shares are not in order")
    if any(share["line"] == 0 or steps[share["step"]]["line"] for share in shares):
        fail(what, "shares of no line, or of a step that a line has alone")
    left = [step["dur"] for step in steps]
    for share in shares:
        left[share["step"]] -= share["ns"]
    if min(left, default=0) < 0:
        fail(what, "shares are longer than their step")


# --- what reports say ---

class Comparison:
    def __init__(self, ebreport, path, filters, page):
        self.ebreport, self.path, self.filters, self.page = ebreport, path, filters, page
        self.texts = page.strings()
        self.kinds = [track["kind"] for track in page.head["tracks"]]
        self.events = collections.defaultdict(list)
        for event in page.rows("events"):
            self.events[self.kinds[event["track"]]].append(event)

    def report(self, *words):
        """None: it refuses the filters."""
        done = run(self.ebreport, *words, *self.filters, "--json", self.path)
        if done.returncode == 2:
            return None
        return json.loads(done.stdout.decode())

    def equal(self, what, ours, theirs):
        if ours != theirs:
            fail(f"{what} {' '.join(self.filters)} on {os.path.basename(self.path)}",
                 f"{ours} in the page, {theirs} in the report")

    def count(self, kind):
        return sum(event["count"] for event in self.events[kind])

    def time(self, kind):
        return sum(event["value"] if event["flags"] & JOINED else event["dur"]
                   for event in self.events[kind])


def huge(document, key):
    """Of clocks that lie: no double holds them."""
    return any(row.get(key, 0) > 1 << 53 for row in document["rows"])


def compare_syscalls(c):
    document = c.report("syscalls")
    if document is None:
        return
    calls = c.events["syscall"]
    c.equal("syscalls: count", c.count("syscall"), sum(r["count"] for r in document["rows"]))
    c.equal("syscalls: errors", sum(e["count"] for e in calls if e["flags"] & FAILED),
            sum(r["errors"] for r in document["rows"]))
    if not any(e["flags"] & OPEN for e in calls) and not huge(document, "total_ns"):
        c.equal("syscalls: total_ns", c.time("syscall"),
                sum(r["total_ns"] for r in document["rows"]))
    if c.page.head["summarised"]["events"].get("syscall"):
        return
    shown = c.report("syscalls", "--trace")["rows"]
    names = collections.Counter(c.texts[e["name"]].removesuffix("[32]") for e in calls)
    c.equal("syscalls --trace: names", names, collections.Counter(r["name"] for r in shown))
    c.equal("syscalls --trace: results", sorted(e["value"] for e in calls),
            sorted(max(-(1 << 53), min(1 << 53, int(r["ret"]))) for r in shown))
    if c.page.head["summarised"]["details_ns"]:
        return
    details = collections.Counter(c.texts[e["detail"]].split(" = ")[0][:1000] for e in calls)
    expected = collections.Counter(
        ("(" + ", ".join(r["args"]) + ")").split(" = ")[0][:1000] for r in shown)
    c.equal("syscalls --trace: texts", details, expected)


def compare_marks(c):
    document = c.report("marks")
    if document is None:
        return
    c.equal("marks: count", c.count("mark"), len(document["rows"]))
    c.equal("marks: times", sorted((e["time"], e["dur"]) for e in c.events["mark"]),
            sorted((r["time_ns"], min(r["duration_ns"], 1 << 53)) for r in document["rows"]))


def compare_block(c):
    document = c.report("block", "--trace")
    if document is None:
        return
    c.equal("block: requests",
            sorted((e["time"] + e["dur"], min(e["value"], 1 << 53)) for e in c.events["block"]),
            sorted((r["end_ns"], min(r["bytes"], 1 << 53)) for r in document["rows"]))
    if not huge(document, "duration_ns"):
        c.equal("block: time", c.time("block"), sum(r["duration_ns"] for r in document["rows"]))


def compare_net(c):
    document = c.report("net")
    if document is None:
        return
    rows = document.get("connections", [])
    c.equal("net: connections", c.count("net"), len(rows))
    if not any(r.get("tx_bytes", 0) + r.get("rx_bytes", 0) > 1 << 53 for r in rows):
        c.equal("net: bytes", sum(e["value"] for e in c.events["net"]),
                sum(r.get("tx_bytes", 0) + r.get("rx_bytes", 0) for r in rows))


def compare_dbus(c):
    document = c.report("dbus", "--trace")
    if document is None:
        return
    c.equal("dbus: messages", c.count("dbus"),
            sum(r["type"] not in ("return", "error") for r in document["rows"]))


def compare_logs(c):
    document = c.report("logs")
    if document is None:
        return
    c.equal("logs: lines", sorted(e["time"] for e in c.events["log"]),
            sorted(r["time_ns"] for r in document["rows"]))


def compare_irqs(c):
    document = c.report("sched", "--irq")
    if document is None:
        return
    lists = [document.get(key, []) for key in ("rows", "timers", "works")]
    c.equal("sched --irq: count", c.count("irq"), sum(r["count"] for l in lists for r in l))
    if not any(huge({"rows": l}, "total_ns") for l in lists):
        joined = c.page.head["summarised"]["events"].get("irq")
        if not joined:
            c.equal("sched --irq: total_ns", sum(e["value"] for e in c.events["irq"]),
                    sum(r["total_ns"] for l in lists for r in l))


def compare_faults(c):
    document = c.report("faults")
    if document is None:
        return
    rows = document["rows"]
    c.equal("faults: count", c.count("fault"), sum(r["total"] - r["silent"] for r in rows))
    if not huge(document, "duration_ns"):
        c.equal("faults: time", c.time("fault"), sum(r["duration_ns"] for r in rows))


def compare_stacks(c):
    """Where faults were, by the innermost function."""
    document = c.report("callgraph", "--event", "fault", "--weight", "rows")
    if document is None:
        return
    nodes, funcs = c.page.section("nodes"), c.page.section("funcs")
    ours, theirs = collections.Counter(), collections.Counter()
    for event in c.events["fault"]:
        if event["node"]:
            func = nodes["func"][event["node"]]
            ours[c.texts[funcs["name"][func]], c.texts[funcs["object"][func]]] += event["count"]
    for row in document["rows"]:
        if row["self"]:
            theirs[row["function"], row.get("object", "")] += row["self"]
    c.equal("callgraph --event fault", ours, theirs)


def bounded(times):
    return [max(-(1 << 53), min(1 << 53, time)) for time in times]


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)


def compare_counters(c):
    document = c.report("counters")
    if document is None or c.page.head["summarised"]["points_ns"]:
        return
    series = c.page.head["series"]
    c.equal("counters: names", [s["name"] for s in series], [r["name"] for r in document["rows"]])
    points = collections.defaultdict(list)
    for point in c.page.rows("points"):
        points[point["series"]].append((point["time"], point["value"]))
    for i, row in enumerate(document["rows"]):
        ours = points[i]
        if row["kind"] != "cumulative":
            theirs = [tuple(point) for point in row["series"]]
            c.equal(f"counters: times of {row['name']}", [t for t, _ in ours],
                    bounded(t for t, _ in theirs))
            wrong = [p for p, q in zip(ours, theirs)
                     if q[1] is not None and not close(p[1], q[1])]
            c.equal(f"counters: {row['name']}", wrong, [])
            continue
        c.equal(f"counters: times of {row['name']}", [t for t, _ in ours],
                bounded(t for t, _ in row["series"][1:]))
        times = [t for t, _ in row["series"]]
        grown = sum(rate * (b - a) / 1e9 for (_, rate), a, b in zip(ours, times, times[1:]))
        if len(times) > 1 and not close(grown, row["delta"]):
            c.equal(f"counters: delta of {row['name']}", grown, row["delta"])


def topic_of(row):
    """What is common to the rows of `ebreport why` that a sentence tells."""
    by = row.get("by", "")
    if row["kind"] == "runqueue":
        by = re.sub(r" \(\d+\)$", "", by)
    return row["kind"], row.get("comm", ""), by if row["kind"] in ("runqueue", "unknown") else ""


def compare_line(c, line, steps, shares, totals):
    """Its steps are its time, and of one topic. Rows of --path do not tell who had the CPU."""
    what = f"why: '{line['text']}'"
    topics = {topic_of(row)[:2] if row["kind"] == "runqueue" else topic_of(row)
              for _, row in steps + shares}
    c.equal(f"{what}: time of its steps",
            sum(step["dur"] for step, _ in steps) + sum(share["ns"] for share, _ in shares),
            line["ns"])
    c.equal(f"{what}: topics of its steps", len(topics), 1)
    same = [topic for topic, ns in totals.items()
            if ns == line["ns"] and (topic in topics or topic[:2] in topics)]
    if not same:
        c.equal(f"{what}: its time in all", line["ns"], totals)
    ends = [f" that {by} had" if by else " waited for a CPU"
            for kind, comm, by in same if kind == "runqueue" and (comm + by).isalnum()]
    if ends and not line["text"].endswith(tuple(ends)):
        c.equal(f"{what}: who had the CPU", line["text"], ends)


def compare_path(c):
    causes, path = c.report("why"), c.report("why", "--path")
    if causes is None or path is None:
        return
    steps, shares, why = c.page.rows("path"), c.page.rows("shares"), c.page.head.get("why")
    if not why:
        c.equal("why: there is none", [], causes["rows"])
        return
    tids = c.page.section("threads")["tid"]
    c.equal("why: steps",
            [(s["time"], s["dur"], tids[s["thread"] - 1] if s["thread"] else None) for s in steps],
            [(r["time_ns"], r["duration_ns"], r.get("tid")) for r in path["rows"]])
    totals = collections.Counter()
    for row in causes["rows"]:
        totals[topic_of(row)] += row["duration_ns"]
    c.equal("why: times", [line["ns"] for line in why["lines"]],
            sorted(totals.values(), reverse=True)[:MOST_LINES])
    if len(steps) != len(path["rows"]):
        return
    for number, line in enumerate(why["lines"], 1):
        compare_line(c, line,
                     [(s, r) for s, r in zip(steps, path["rows"]) if s["line"] == number],
                     [(s, path["rows"][s["step"]]) for s in shares if s["line"] == number], totals)
        percent = 100 * line["ns"] / causes["wall_ns"]
        if not math.isclose(line["percent"], percent, rel_tol=1e-5):  # it has six digits
            c.equal(f"why: share of '{line['text']}'", line["percent"], percent)


COMPARE = (compare_path, compare_syscalls, compare_marks, compare_block, compare_net, compare_dbus, compare_logs,
           compare_irqs, compare_faults, compare_stacks, compare_counters)


def check_page(what, page):
    for name in page.head["sections"]:
        try:
            page.section(name)
        except (ValueError, IndexError, OSError) as e:
            fail(what, f"section {name}: {e}")
            return False
    check_events(what, page)
    check_points(what, page)
    check_path(what, page)
    return True


def check_damaged(ebreport, path, out, rounds):
    with open(path, "rb") as f:
        whole = f.read()
    rng = random.Random(2)
    broken = os.path.join(os.path.dirname(out), "broken.ebt")
    for i in range(rounds):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with open(broken, "wb") as f:
            f.write(data[:rng.randint(1, len(data))] if rng.random() < 0.3 else data)
        page = read_page(ebreport, broken, [], out)
        if page:
            check_page(f"damaged {os.path.basename(path)}, round {i}", page)


def made_fixtures(directory):
    for name, make in MADE.items():
        text = os.path.join(directory, name + ".txt")
        traces.write(text, make())
        yield text


def main():
    ebtgen, ebreport, *fixtures = sys.argv[1:]
    os.umask(0)
    told = shared = 0
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "page.html")
        for fixture in [*fixtures, *made_fixtures(directory)]:
            path = fixture
            if fixture.endswith(".txt"):
                path = os.path.join(directory, os.path.basename(fixture)[:-4] + ".ebt")
                subprocess.run([ebtgen, fixture, path], check=True)
            for filters in FILTERS:
                what = f"html {' '.join(filters)} on {os.path.basename(path)}"
                page = read_page(ebreport, path, filters, out)
                if not page:
                    fail(what, "no page")
                elif check_page(what, page):
                    told += len(page.head.get("why", {"lines": []})["lines"])
                    shared += len(page.rows("shares"))
                    for compare in COMPARE:
                        compare(Comparison(ebreport, path, filters, page))
            if os.path.getsize(path) < 1 << 20:
                check_damaged(ebreport, path, out, 40)
    if told < 50 or shared < 50:
        fail("why", f"{told} sentences and {shared} shares are too few")
    return status()


if __name__ == "__main__":
    sys.exit(main())

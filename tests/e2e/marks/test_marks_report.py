# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport marks` on a recording, next to Python's own pairs and statistics of the same rows."""

import math
import statistics
import sys

import e2e

N = 2000
THREADS = 4

# Sleeps by libc's nanosleep(), and says how long it took by its own clock.
SLEEPER = """
import ctypes, time
libc = ctypes.CDLL("libc.so.6")
class Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
for i in range(60):
    t = Timespec(0, 1000000 * (1 + i % 3))
    a = time.monotonic_ns()
    libc.nanosleep(ctypes.byref(t), None)
    print(a, time.monotonic_ns())
"""


def number(text):
    """Of a dump: 12, or 0x12."""
    return int(text, 0)


def tid_of(row):
    return row["task"].split("/")[0]


def pairs(rows):
    """(group, name) to durations: ends belong to the latest begin of their thread, or of their key."""
    durations, stacks = {}, {}
    for row in rows:
        what = (row["group"].strip('"'), row["name"].strip('"'))
        key = number(row["key"])
        place = (key, *what) if key else (tid_of(row), *what)
        time = row["time"] - number(row["late"])
        if row["kind"] == "begin":
            stacks.setdefault(place, []).append(time)
        else:
            assert row["kind"] == "end", row
            durations.setdefault(what, []).append(time - stacks[place].pop())
    assert not any(stacks.values())
    return durations


def figures(durations):
    ordered = sorted(durations)
    n = len(ordered)
    return {
        "count": n, "sum_ns": sum(ordered), "min_ns": ordered[0], "max_ns": ordered[-1],
        "mean_ns": sum(ordered) // n, "median_ns": math.floor(statistics.median(ordered)),
        "p90_ns": ordered[math.ceil(90 * n / 100) - 1],
        "p99_ns": ordered[math.ceil(99 * n / 100) - 1],
    }


class MarksReport(e2e.TestCase):
    def compare(self, trace, durations):
        summary = {(row["group"], row["name"]): row for row in e2e.rows("marks", trace, "--summary")}
        self.assertEqual(set(summary), set(durations))
        for what, list_ in durations.items():
            ours = summary[what]
            self.assertEqual(ours["open_count"], 0, what)
            self.assertEqual({k: ours[k] for k in figures(list_)}, figures(list_), what)

    def test_marks(self):
        trace = self.record("-e", "mark", "--", e2e.program("marks"), "threads", N)
        self.assert_no_loss(trace)
        rows = list(e2e.Dump(trace).rows("mark"))
        durations = pairs(rows)
        self.assertEqual(len(durations["handed on", "work"]), THREADS * N)
        self.assertEqual(len(durations["threads", "inner"]), THREADS * N)
        self.compare(trace, durations)

        table = e2e.rows("marks", trace)
        self.assertEqual(len(table), 2 * THREADS * N + THREADS * N)
        starts = [row["time_ns"] for row in table]
        self.assertEqual(starts, sorted(starts))
        found = {}
        for row in table:
            found.setdefault((row["group"], row["name"]), []).append(row["duration_ns"])
        self.assertEqual({k: sorted(v) for k, v in found.items()},
                         {k: sorted(v) for k, v in durations.items()})
        # Each inner one lies in the one of its thread that began before it.
        outer = {}
        for row in table:
            end = row["time_ns"] + row["duration_ns"]
            if row["name"].startswith("thread "):
                outer[row["tid"]] = end
            elif row["name"] == "inner":
                self.assertLessEqual(end, outer[row["tid"]])

        # Gaps are of the process: from one beginning to the next, whichever thread.
        series = e2e.report_json("marks", trace, "--series", "handed on/work")
        starts = sorted(row["time_ns"] for row in table if row["name"] == "work")
        gaps = [b - a for a, b in zip(starts, starts[1:])]
        self.assertEqual([row["gap_ns"] for row in series["rows"][1:]], gaps)
        of_gaps = {row["what"]: row for row in series["figures"]}["gap"]
        for key in ("min_ns", "median_ns", "p99_ns", "max_ns"):
            self.assertEqual(of_gaps[key], figures(gaps)[key])

    def test_calls_of_a_function(self):
        trace = self.record("-e", "uprobe:libc.so.6:nanosleep", "--", sys.executable, "-c", SLEEPER)
        self.assert_no_loss(trace)
        own = [tuple(map(int, line.split())) for line in self.recorded.stdout.split(b"\n") if line]
        self.assertEqual(len(own), 60)
        calls = e2e.rows("marks", trace, "--name", "nanosleep")
        self.assertEqual(len(calls), len(own))
        start = e2e.start_ns(trace)
        for call, (before, after) in zip(calls, own):
            self.assertLess(before, start + call["time_ns"])
            self.assertLess(start + call["time_ns"] + call["duration_ns"], after)
        durations = [number(row["duration"]) for row in e2e.Dump(trace).rows("probe_hit")]
        for index, duration in enumerate(durations):
            self.assertGreaterEqual(duration, 1000000 * (1 + index % 3))
        self.compare(trace, {("libc.so.6", "nanosleep"): durations})

        # All gaps are longer than the shortest sleep: that is by how much each is late.
        report = e2e.report_json("marks", trace, "--series", "nanosleep", "--expect", "1ms")
        for row in report["rows"][1:]:
            self.assertEqual(row["late_ns"], row["gap_ns"] - 1000000)
        late = {row["over_ns"]: row["count"] for row in report["late"]}
        gaps = [b["time_ns"] - a["time_ns"] for a, b in zip(calls, calls[1:])]
        for over, count in late.items():
            self.assertEqual(count, sum(gap - 1000000 > over for gap in gaps), over)
        # Two of three sleep for at least a millisecond more.
        self.assertGreaterEqual(sum(gap > 2000000 for gap in gaps), 39)


if __name__ == "__main__":
    e2e.main()

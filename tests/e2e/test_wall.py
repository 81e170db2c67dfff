# SPDX-License-Identifier: GPL-2.0-or-later
"""Wall-clock time: threads that each do one thing only, and say for how long they did."""

import collections
import glob
import os
import xml.etree.ElementTree

import e2e

SECONDS = 2
MEBIBYTE = 1 << 20
PARTS = ("on_cpu_ns", "runqueue_ns", "off_cpu_ns")
KINDS = {"compute": "on_cpu_ns", "doze": "sleep_ns", "want": "lock_ns", "load": "disk_ns"}
FUNCTIONS = {"compute": "compute_[c]", "doze": ";doze;", "want": ";want;", "load": ";load;"}
NAPS_NS = 20_000_000 + 4_000_000 * SECONDS * 10  # what `want` sleeps between its locks, at most


def all_is_told(report):
    """The kernels of some sandboxes do not tell of every switch; then the report says so."""
    return not any("no beginning or no end" in w for w in report["warnings"])


def sum_rule(test, row, report):
    """On CPU, on a run queue and off CPU are the whole life of the thread."""
    known = sum(row[part] for part in PARTS)
    share = known / row["lifetime_ns"]
    test.assertAlmostEqual(row["coverage"], 100 * share, delta=0.01)
    test.assertLess(share, 1.005, row)
    if all_is_told(report):  # as on the kernels of suite `kernels`
        test.assertGreater(share, 0.995, row)


def plans(test, report, said):
    """Each thread spent its time as it was told to."""
    rows, told = report["rows"], all_is_told(report)
    for name, (tid, wall_ns, cpu_ns) in said.items():
        kind = KINDS[name]
        row = next(r for r in rows if r["tid"] == tid)
        test.assertEqual(row["comm"], name)
        test.assertAlmostEqual(row["lifetime_ns"] / wall_ns, 1, delta=0.05)
        known = sum(row[part] for part in PARTS)
        spent = row[kind] + row["runqueue_ns"]
        if name in ("want", "load"):
            spent += row["on_cpu_ns"] + row["sleep_ns"]
            test.assertLess(row["sleep_ns"], NAPS_NS + wall_ns * 0.15)
            test.assertGreater(row[kind], known * 0.3, row)
        if name == "doze":
            spent += row["on_cpu_ns"]
        if name == "compute":
            test.assertGreaterEqual(row["on_cpu_ns"], cpu_ns * (0.99 if told else 0.1))
            test.assertLess(row["off_cpu_ns"], wall_ns * 0.01)
        test.assertAlmostEqual(spent / known, 1, delta=0.01, msg=row)


def read_said(text):
    said = {}
    for line in text.splitlines():
        name, tid, wall_ns, cpu_ns = line.split()
        said[name] = (int(tid), int(wall_ns), int(cpu_ns))
    return said


class Wall(e2e.TestCase):
    def record_plan(self):
        path = self.path("file")
        with open(path, "wb") as f:
            f.write(os.urandom(8 * MEBIBYTE))
            f.flush()
            os.fsync(f.fileno())
        trace = self.record("-F", "997", "--", e2e.program("planned"), SECONDS, path)
        self.assert_no_loss(trace)
        said = read_said(self.recorded.stdout.decode())
        self.assertEqual(set(said), set(KINDS))
        return trace, said

    def test_plans(self):
        trace, said = self.record_plan()
        report = e2e.report_json("wall", trace)
        plans(self, report, said)
        for row in report["rows"]:
            sum_rule(self, row, report)
        self.check_folded(trace, report["rows"], said)
        self.check_choices(trace, said)
        self.check_files(trace, said)
        self.check_intervals(trace, report["rows"])

    def check_intervals(self, trace, rows):
        sums = collections.defaultdict(collections.Counter)
        for part in e2e.report_json("wall", trace, "--interval", "250ms")["intervals"]:
            for row in part["rows"]:
                sums[row["tid"]].update({k: v for k, v in row.items() if k.endswith("_ns")})
        for row in rows:
            self.assertEqual({k: v for k, v in row.items() if k.endswith("_ns")},
                             dict(sums[row["tid"]]))
        error = e2e.run(e2e.EBREPORT, "wall", "--folded", "--interval", "1s", trace, status=2)
        self.assertIn(b"--interval is for the table", error.stderr)

    def check_folded(self, trace, rows, said):
        weights = {}
        for line in e2e.ebreport("wall", "--folded", "--by", "thread", trace).splitlines():
            stack, weight = line.rsplit(" ", 1)
            self.assertRegex(stack, r"_\[[co]\]$")
            weights[stack] = int(weight)
        for name, function in FUNCTIONS.items():
            tid = said[name][0]
            mine = {s: w for s, w in weights.items() if f"/{tid})" in s.split(";")[0]}
            row = next(r for r in rows if r["tid"] == tid)
            # To the nanosecond.
            self.assertEqual(sum(w for s, w in mine.items() if s.endswith("_[c]")),
                             row["on_cpu_ns"])
            self.assertEqual(sum(w for s, w in mine.items() if s.endswith("_[o]")),
                             row["runqueue_ns"] + row["off_cpu_ns"])
            there = sum(w for s, w in mine.items() if function.strip("_[c];") in s)
            self.assertGreater(there, 0.9 * sum(mine.values()), name)

    def check_choices(self, trace, said):
        lock = e2e.ebreport("wall", "--folded", "--state", "lock", "--under", "want", trace)
        self.assertTrue(lock)
        for line in lock.splitlines():
            self.assertIn(";want;", line)
            self.assertIn("_[o] ", line)
        text = e2e.ebreport("wall", "--hide-idle", trace)
        tid = said["compute"][0]
        self.assertRegex(text, rf"(?m)^ *{tid} ")
        error = e2e.run(e2e.EBREPORT, "wall", "--state", "asleep", trace, status=2).stderr.decode()
        self.assertIn("'asleep'", error)

    def check_files(self, trace, said):
        folder = self.path("threads")
        e2e.ebreport("wall", "--per-thread", folder, trace)
        for name in KINDS:
            begin = os.path.join(folder, f"thread_{said[name][0]}_{name}")
            self.assertEqual(len(glob.glob(begin + "*")), 3)
            xml.etree.ElementTree.parse(begin + ".svg")
            with open(begin + "_analysis.txt", encoding="utf-8") as f:
                self.assertIn(f"Thread {said[name][0]} ({name})", f.read())
        error = e2e.run(e2e.EBREPORT, "wall", "--per-thread", folder, trace, status=2)
        self.assertIn(b"--force", error.stderr)
        e2e.ebreport("wall", "--per-thread", folder, "--force", trace)

    def test_threads_that_come_and_go(self):
        script = "import threading, time\n" \
                 "for i in range(40):\n" \
                 "    t = threading.Thread(target=time.sleep, args=(0.02,)); t.start(); t.join()\n"
        trace = self.record("--", "python3", "-c", script)
        self.assert_no_loss(trace)
        report = e2e.report_json("wall", trace)
        short = [r for r in report["rows"] if r["tid"] != r["pid"]]
        self.assertEqual(len(short), 40)
        for row in short:
            sum_rule(self, row, report)
        slept = [row for row in short if row["sleep_ns"] > 19_000_000]
        self.assertGreaterEqual(len(slept), 40 if all_is_told(report) else 20)


if __name__ == "__main__":
    e2e.main()

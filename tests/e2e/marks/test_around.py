# SPDX-License-Identifier: GPL-2.0-or-later
"""What happened during marks: a program that does the same things in its marks, between them and in
another thread, and says what it did in them by its own clocks."""

import collections
import xml.etree.ElementTree

import e2e

FRAMES = 10
SOURCES = "sample,sched,offcpu,mark,syscalls,fault"
MILLISECOND = 1_000_000
LONG_SLEEP_NS, LONG_COMPUTE_NS = 120 * MILLISECOND, 90 * MILLISECOND


def interrupts_ns(stat):
    """Of /proc/stat: interrupts, and what the hypervisor gave to others."""
    return sum(int(word) for word in stat.split("\n", 1)[0].split()[6:9]) * 10 * MILLISECOND


Said = collections.namedtuple(
    "Said", "tid frames calls wall_ns cpu_ns outer_wall_ns outer_cpu_ns slept_ns computed_ns")


def read_said(text):
    return Said(*map(int, text.split()))


def sums(test, report, said, stolen=None):
    """The time of a thread in its marks, in all and by state, and its calls. `stolen`: time on a CPU that
    no thread has on its clock, where all that took it is known, as it is in an emulated machine."""
    marks, time = report["marks"], {r["state"]: r["total_ns"] for r in report["states"]}
    test.assertEqual((marks["scope"], marks["count"], marks["thread_count"]),
                     ("thread", 2 * said.frames, 1))
    # The inner mark is the same time again; the program's clock is read within the outer and around.
    covered = marks["covered_ns"]
    waits = time["runqueue"] + time["preempted"]
    test.assertGreaterEqual(covered, said.wall_ns)
    test.assertLessEqual(covered, said.outer_wall_ns)
    test.assertGreater(marks["sum_ns"], covered + said.frames * 20 * MILLISECOND)
    test.assertEqual(sum(time.values()), covered)
    calls = {row["call"]: row for row in report["syscalls"]}
    test.assertEqual(calls["getppid"]["count"], said.calls)
    if e2e.hidden_runs(report):
        print("some switches were not told: their time is not compared")
        return
    test.assertLess(time["unknown"], covered * 0.005)
    test.assertGreater(time["cpu"], said.cpu_ns * 0.99)
    if stolen is not None:
        test.assertLess(time["cpu"], said.outer_cpu_ns * 1.05 + stolen)
    # A sleep of the program's clock is one of the kernel's, the way into it and out of it, which is
    # long where the machine is emulated, and the wait for a CPU behind it.
    ways = time["cpu"] - said.computed_ns + time["unknown"]
    test.assertLess(time["sleep"], said.slept_ns)
    test.assertGreater(time["sleep"], (said.frames * 30 + 90) * MILLISECOND * 0.98 - waits - ways)
    test.assertGreaterEqual(time["sleep"] + waits + ways, said.slept_ns)


class Around(e2e.TestCase):
    def test_frames(self):
        trace = self.record("-F", "997", "-e", SOURCES, "--", e2e.program("framed"), FRAMES)
        self.assert_no_loss(trace)
        self.said = read_said(self.recorded.stdout.decode())
        self.assertEqual(self.said.frames, FRAMES)
        report = e2e.report_json("marks", trace, "--around", "plan/frame")
        self.told = not e2e.hidden_runs(report)
        sums(self, report, self.said)
        self.check_calls(report)
        self.check_functions(trace, report)
        self.check_process(trace, report)
        self.check_slowest(trace)
        self.check_pictures(trace)

    def check_calls(self, report):
        calls = {row["call"]: row for row in report["syscalls"]}
        sleeps = calls["clock_nanosleep"]
        self.assertEqual((sleeps["count"], sleeps["errors"]), (FRAMES, 0))
        self.assertLessEqual(sleeps["total_ns"], self.said.slept_ns)
        # A thread may lose its CPU between its clock and the call.
        self.assertGreater(sleeps["total_ns"], self.said.slept_ns * 0.98 - self.waits(report))
        self.assertGreaterEqual(sleeps["max_ns"], LONG_SLEEP_NS)

    @staticmethod
    def waits(report):
        """For a CPU."""
        return sum(r["total_ns"] for r in report["states"] if r["state"] in ("runqueue", "preempted"))

    def check_functions(self, trace, report):
        functions = {row["function"]: row for row in report["rows"]}
        self.assertIn("main", functions)
        self.assertNotIn("disturb", functions)
        if self.told:
            share = functions["compute"]["total_ns"] / self.said.cpu_ns
            self.assertGreater(share, 0.8)
            self.assertGreater(functions["doze"]["total_ns"], self.said.slept_ns * 0.95)
        folded = [line.rsplit(" ", 1) for line in
                  e2e.ebreport("marks", "--around", "frame", "--folded", trace).splitlines()]
        known = sum(r["total_ns"] for r in report["states"] if r["state"] != "unknown")
        self.assertEqual(sum(int(weight) for _, weight in folded), known)

    def check_process(self, trace, report):
        process = e2e.report_json("marks", trace, "--around", "frame", "--around-scope", "process")
        self.assertEqual(process["marks"]["thread_count"], 2)
        self.assertEqual(process["marks"]["covered_ns"], report["marks"]["covered_ns"])
        calls = {row["call"]: row["count"] for row in process["syscalls"]}
        self.assertGreater(calls["getppid"], self.said.calls)
        self.assertIn("disturb", {row["function"] for row in process["rows"]})

    def check_slowest(self, trace):
        rows = e2e.rows("marks", trace, "--around", "frame", "--slowest", "6")
        self.assertEqual({row["tid"] for row in rows}, {self.said.tid})
        sleepy = max(rows, key=lambda row: row["syscall_ns"])
        self.assertEqual(sleepy["syscall"], "clock_nanosleep")
        self.assertGreaterEqual(sleepy["syscall_ns"], LONG_SLEEP_NS)
        if self.told:
            self.assertGreater(sleepy["sleep_ns"], LONG_SLEEP_NS * 0.98)
            self.assertIn("nanosleep", sleepy["blocked_in"])
            for row in rows:
                parts = sum(row[key] for key in ("on_cpu_ns", "runqueue_ns", "off_cpu_ns"))
                self.assertAlmostEqual(parts / row["duration_ns"], 1, delta=0.005)
            busy = max(e2e.rows("marks", trace, "--around", "frame", "--slowest", "9"),
                       key=lambda row: row["on_cpu_ns"])
            self.assertEqual(busy["function"], "compute")

    def check_pictures(self, trace):
        rows = e2e.rows("marks", trace, "--waterfall", "--group", "plan")
        self.assertEqual([row["level"] for row in rows], [0, 1] * FRAMES)
        chart = self.path("chart.svg")
        e2e.ebreport("marks", "--chart", "-o", chart, trace)
        marks = next(g for g in xml.etree.ElementTree.parse(chart).iter()
                     if g.get("id") == "marks")
        self.assertEqual(sum(int(g.get("data-n")) for g in marks), 2 * FRAMES)
        flame = self.path("flame.svg")
        e2e.ebreport("marks", "--around", "frame", "--flame", "-o", flame, trace)
        self.assertIn("compute", e2e.run("cat", flame).stdout.decode())

    def test_probe(self):
        """Calls of a function are marks, too."""
        trace = self.record("-e", "sched,offcpu,syscalls,uprobe:" + e2e.program("framed") + ":doze",
                            "--", e2e.program("framed"), "5")
        self.assert_no_loss(trace)
        said = read_said(self.recorded.stdout.decode())
        report = e2e.report_json("marks", trace, "--around", "framed/doze", "--tid", said.tid)
        self.assertEqual(report["marks"]["count"], 2 * said.frames)  # one within each mark, one behind
        self.assertGreater(report["marks"]["covered_ns"], said.slept_ns)
        calls = {row["call"]: row for row in report["syscalls"]}
        self.assertEqual(calls["clock_nanosleep"]["count"], 2 * said.frames)
        self.assertEqual(sum(row["total_ns"] for row in report["states"]),
                         report["marks"]["covered_ns"])
        if not e2e.hidden_runs(report):
            time = {row["state"]: row["total_ns"] for row in report["states"]}
            # A thread may lose its CPU after it worked out when to wake: it sleeps for what is left.
            self.assertGreater(time["sleep"] + self.waits(report),
                               (said.frames * 35 + 90) * MILLISECOND * 0.98)


if __name__ == "__main__":
    e2e.main()

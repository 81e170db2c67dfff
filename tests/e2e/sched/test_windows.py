# SPDX-License-Identifier: GPL-2.0-or-later
"""--from and --to: what each thread does when a window begins is known, also of a thread that does
nothing in it, and windows together are the recording, to the nanosecond."""

import collections
import os
import random
import shutil
import tempfile

import e2e

ROUNDS, ROUND_MS = 6, 400
MARGIN_NS = 100_000_000  # from the call that blocks until the thread does, on a busy machine
WINDOWS = 70             # for each of three reports

FIGURES = {
    "sched": ["run_ns", "wait_ns", "sleep_ns", "disk_ns", "blocked_other_ns",
              "switches_voluntary", "switches_involuntary", "migrations", "latency_count"],
    "wall": ["on_cpu_ns", "runqueue_ns", "off_cpu_ns", "sleep_ns", "lock_ns", "disk_ns",
             "other_ns", "preempted_ns", "lifetime_ns"],
    "offcpu": ["total_ns", "wait_ns", "sleep_ns", "disk_ns", "preempted_ns", "other_ns"],
}
Phase = collections.namedtuple("Phase", "tid name what start end")


def arguments(command):
    return [] if command == "wall" else ["--all"]


def sums(command, rows):
    found = collections.Counter()
    for row in rows:
        for field in FIGURES[command]:
            found[row["tid"], field] += row[field]
    return +found


def overlap(phase, start, end):
    """How long, of the window, the phase was what it says for certain."""
    settled = phase.start + (MARGIN_NS if phase.what == "wait" else 0)
    return max(0, min(phase.end, end) - max(settled, start))


def is_whole(trace):
    """Where the kernel hides a switch, a wait may turn out later not to have been one."""
    return not e2e.hidden_runs(e2e.report_json("sched", trace))


class Windows(e2e.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="ebt-e2e-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.trace = os.path.join(folder, "t.ebt")
        for _ in range(8 if e2e.process_1_is_hidden() else 1):
            done = e2e.run(e2e.EBREC, "-f", "-o", cls.trace, "--", e2e.program("timetable"),
                           str(ROUNDS), str(ROUND_MS))
            if is_whole(cls.trace):
                break
        begin = e2e.start_ns(cls.trace)
        cls.phases = []
        for line in done.stdout.decode().splitlines():
            tid, name, what, start, end = line.split()
            cls.phases.append(Phase(int(tid), name, what, int(start) - begin, int(end) - begin))

    def setUp(self):
        super().setUp()
        self.assert_no_loss(self.trace)
        self.assertTrue(is_whole(self.trace))

    def whole(self, command):
        return e2e.report_json(command, self.trace, *arguments(command))

    def windows(self, command):
        """Windows of any length that make up the recording, with their rows by thread."""
        duration = self.whole(command)["duration_ns"]
        cuts = sorted(random.Random(command).sample(range(1, duration), WINDOWS - 1))
        for start, end in zip([0, *cuts], [*cuts, duration + 1]):
            rows = e2e.rows(command, self.trace, *arguments(command),
                            "--from", f"{start}ns", "--to", f"{end}ns")
            yield start, end, {row["tid"]: row for row in rows}

    def check_plan(self, ran, waited, start, end, rows):
        """What the threads say of themselves. ran() and waited() are figures of a row."""
        for name in {phase.name for phase in self.phases}:
            phases = [phase for phase in self.phases if phase.name == name]
            row = rows.get(phases[0].tid)
            run, wait = (sum(overlap(phase, start, end) for phase in phases if phase.what == what)
                         for what in ("run", "wait"))
            if run or wait:
                self.assertIsNotNone(row, (name, start, end))
                self.assertGreaterEqual(ran(row), run, (name, start, end, row))
                self.assertGreaterEqual(waited(row), wait, (name, start, end, row))
                # There is nothing besides.
                self.assertLessEqual(ran(row), end - start - wait)
                self.assertLessEqual(waited(row), end - start - run)

    def check_sums(self, command, rows):
        self.assertEqual(sums(command, rows), sums(command, self.whole(command)["rows"]))

    def test_wall(self):
        all_rows = []
        for start, end, rows in self.windows("wall"):
            self.check_plan(lambda row: row["on_cpu_ns"] + row["runqueue_ns"],
                            lambda row: row["off_cpu_ns"], start, end, rows)
            for row in rows.values():
                self.assertEqual(row["on_cpu_ns"] + row["runqueue_ns"] + row["off_cpu_ns"],
                                 row["lifetime_ns"])
            all_rows += rows.values()
        self.check_sums("wall", all_rows)

    def test_offcpu(self):
        all_rows = []
        for start, end, rows in self.windows("offcpu"):
            # A thread that is never off CPU has no row.
            for name in ("still", "locked", "reader", "waiter", "dozy", "timetable"):
                phases = [phase for phase in self.phases if phase.name == name]
                wait = sum(overlap(phase, start, end) for phase in phases if phase.what == "wait")
                if wait:
                    row = rows[phases[0].tid]
                    self.assertGreaterEqual(row["total_ns"] - row["wait_ns"], wait, row)
            all_rows += rows.values()
        self.check_sums("offcpu", all_rows)

    def test_sched(self):
        all_rows = []
        for start, end, rows in self.windows("sched"):
            # RUN is what the kernel charged, by another clock.
            for name in ("still", "locked", "reader", "waiter", "timetable"):
                phases = [phase for phase in self.phases if phase.name == name]
                wait = sum(overlap(phase, start, end) for phase in phases)
                if wait:
                    self.assertGreaterEqual(rows[phases[0].tid]["sleep_ns"], wait)
            all_rows += rows.values()
        self.check_sums("sched", all_rows)

    def test_interval(self):
        """Parts are as windows of the same times, and make up what they are parts of."""
        for command in FIGURES:
            whole = e2e.rows(command, self.trace, *arguments(command), "--from", "700ms")
            parts = e2e.report_json(command, self.trace, *arguments(command), "--from", "700ms",
                                    "--interval", "170ms")["intervals"]
            self.assertEqual(sums(command, [row for part in parts for row in part["rows"]]),
                             sums(command, whole))
            one = parts[3]
            window = e2e.rows(command, self.trace, *arguments(command),
                              "--from", f"{one['from_ns']}ns", "--to", f"{one['to_ns']}ns")
            self.assertEqual(sums(command, one["rows"]), sums(command, window))

    def test_stacks(self):
        """A wait through the window has the stack with which it began."""
        phase = max((p for p in self.phases if p.name == "locked"), key=lambda p: p.end - p.start)
        middle = (phase.start + phase.end) // 2
        window = ("--from", f"{middle}ns", "--to", f"{middle + 1000}ns", "--tid", str(phase.tid))
        row, = e2e.rows("wall", self.trace, *window)
        self.assertEqual((row["lock_ns"], row["lifetime_ns"]), (1000, 1000))
        stack, = e2e.report_json("offcpu", self.trace, "--all", "--stacks", *window)["stacks"]
        self.assertEqual(stack["total_ns"], 1000)
        self.assertIn(";pthread_mutex_lock;locked;", stack["stack"])


if __name__ == "__main__":
    e2e.main()

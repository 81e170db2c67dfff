# SPDX-License-Identifier: GPL-2.0-or-later
"""The scheduler: switches and run time equal to what the kernel counts; a file far below perf's."""

import os
import sys

import e2e

ROUNDS = 200000
SWITCHES = 4  # those between the kernel's answer and the end of a process
EXIT_NS = 500000  # what a thread still does between task_exit and its last switch


class Sched(e2e.TestCase):
    @e2e.exact
    def test_counts_of_the_kernel(self):
        trace = self.record("-e", "sched,task,offcpu", "--", e2e.program("pingpong"), ROUNDS)
        self.assert_no_loss(trace)
        tasks = {r["tid"]: r for r in e2e.rows("sched", trace)}
        lines = self.recorded.stdout.decode().split("\n")
        kernel = [tuple(map(int, line.split())) for line in lines if line]
        self.assertEqual(len(kernel), 2)
        for pid, voluntary, involuntary, run_ns in kernel:
            task = tasks[pid]
            self.assertAlmostEqual(task["switches_voluntary"], voluntary, delta=SWITCHES)
            self.assertAlmostEqual(task["switches_involuntary"], involuntary, delta=SWITCHES)
            self.assertAlmostEqual(task["run_ns"], run_ns, delta=run_ns / 100)

    @e2e.exact
    def test_run_time_of_every_thread(self):
        # sum_exec_runtime travels in the rows of task_exit; the report adds up switches.
        trace = self.record("-e", "sched,task", "--", e2e.program("shares"), "1", "2")
        self.assert_no_loss(trace)
        tasks = {r["tid"]: r for r in e2e.rows("sched", trace)}
        run_times = {int(row["task"].split("/")[0]): int(row["run_time"])
                     for row in e2e.Dump(trace, "--table", "task_exit").rows("task_exit")}
        self.assertGreaterEqual(len(run_times), 2)
        for tid, run_time in run_times.items():
            self.assertAlmostEqual(tasks[tid]["run_ns"], run_time,
                                   delta=run_time / 100 + EXIT_NS)

    def test_file_is_a_tenth_of_perfs(self):
        work = ["perf", "bench", "sched", "pipe", "-l", "20000"]
        trace = self.record("-e", "sched,task,offcpu", "--", *work)
        self.assert_no_loss(trace)
        theirs = self.path("perf.data")
        # perf mounts tracefs; not on the machine, please. --buildid-mmap: see test_shares.py.
        e2e.run("unshare", "-m", "perf", "sched", "record", "--buildid-mmap", "-o", theirs, *work)
        # What describes the machine (kernel symbols and so on) does not grow with the work.
        ours = sum(t["bytes"] for name, t in e2e.tables(trace).items()
                   if name not in ("file", "file_data"))
        self.assertLess(ours * 10, os.path.getsize(theirs))

    def test_busy_cpus(self):
        trace = self.record("-a", "-e", "sched,task", "-d", "1s")
        self.assert_no_loss(trace, whole_system=True)
        report = e2e.report_json("sched", trace)
        self.assertTrue(report["rows"])
        self.assertGreater(report["duration_ns"] / 1e9, 0.8)

    @e2e.exact
    def test_blocked_time(self):
        trace = self.record("--", "sh", "-c", "sleep 2; sleep 0.25")
        sleeps = [r for r in e2e.rows("offcpu", trace) if r["comm"] == "sleep"]
        longest = sorted(r["max_ns"] for r in sleeps)
        self.assertEqual(len(longest), 2)
        # The kernel never wakes early; how late it is, is not ours to say.
        self.assertGreaterEqual(longest[0], 250000000)
        self.assertGreaterEqual(longest[1], 2000000000)
        self.assertLess(longest[0], 2000000000)

    @e2e.exact
    def test_blocked_by_key(self):
        code = ("import os, resource, time\nfor i in range(100): time.sleep(0.001)\n"
                "print(os.getpid(), resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw)")
        trace = self.record("--", "sh", "-c", '"$0" -c "$1"; sleep 0.3; :', sys.executable, code)
        pid, waits = map(int, self.recorded.stdout.split())
        states = {row["state"]: row for row in e2e.rows("offcpu", trace, "--by", "process,state")
                  if row["pid"] == pid}
        # No more than the kernel counts, and one as it ends.
        asleep = [states[name] for name in ("sleep", "disk") if name in states]
        self.assertLessEqual(sum(row["count"] for row in asleep), waits + 1)
        self.assertGreaterEqual(sum(row["count"] for row in states.values()), 100)
        self.assertGreaterEqual(sum(row["total_ns"] for row in states.values()), 100 * 1000000)
        # The shell goes on when its child has ended.
        shell = [(row["waker"], row["total_ns"])
                 for row in e2e.rows("offcpu", trace, "--by", "program,waker")
                 if row["program"] == "sh"]
        self.assertGreater(sum(ns for waker, ns in shell if waker.startswith("sleep/")), 250000000,
                           shell)
        # Whatever the keys, it is all of the time.
        sums = {keys: sum(row["total_ns"] for row in e2e.rows("offcpu", trace, "--by", keys))
                for keys in ("state", "waker", "user,stack")}
        self.assertEqual(set(sums.values()), {sum(row["total_ns"] for row in e2e.rows(
            "offcpu", trace, "--all"))}, sums)


if __name__ == "__main__":
    e2e.main()

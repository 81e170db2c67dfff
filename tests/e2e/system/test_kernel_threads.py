# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads of the kernel are left out of tables of tasks, and said to be. The truth is PF_KTHREAD in
/proc/PID/stat."""

import os
import tempfile

import e2e

PF_KTHREAD = 0x200000
TABLES = (("sched",), ("sched", "--all"), ("sched", "--by", "process"), ("offcpu",),
          ("offcpu", "--by", "thread,state"), ("wall",), ("procs",), ("procs", "--threads"),
          ("procs", "--tree"), ("summary",), ("threads",), ("threads", "--at", "end"))


def processes():
    """Kernel threads, and others."""
    found = set(), set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                flags = int(stat.read().rpartition(")")[2].split()[6])
                found[not flags & PF_KTHREAD].add(int(pid))
        except OSError:  # it has ended
            pass
    return found


class KernelThreads(e2e.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory(prefix="ebt-e2e-")
        cls.addClassCleanup(cls.shared.cleanup)
        cls.trace = os.path.join(cls.shared.name, "t.ebt")
        before = processes()
        e2e.run(e2e.EBREC, "-q", "-a", "-d", "500ms", "-o", cls.trace,
                "-e", "task,sched,offcpu,sample")
        after = processes()
        cls.kernel, cls.users = before[0] & after[0], before[1] | after[1]

    @staticmethod
    def ids(report):
        key = "tid" if report["rows"] and "tid" in report["rows"][0] else "pid"
        return {row[key] for row in report["rows"]}

    def test_left_out_unless_asked_for(self):
        self.assertTrue(self.kernel)
        for command, *options in TABLES:
            with self.subTest(command=[command, *options]):
                most = e2e.report_json(command, self.trace, *options)
                every = e2e.report_json(command, self.trace, *options, "--kernel-threads")
                self.assertFalse(self.ids(most) & self.kernel)
                self.assertTrue(self.ids(every) & self.kernel)
                # Nobody else is left out.
                gone = self.ids(every) - self.ids(most)
                self.assertFalse(gone & self.users)
                self.assertGreaterEqual(most["kernel_threads_left_out"], len(gone))
                self.assertNotIn("kernel_threads_left_out", every)

    def test_sums(self):
        rows = e2e.rows("sched", self.trace, "--all")
        for by in ("program", "user", "cgroup"):
            with self.subTest(by):
                sums = e2e.rows("sched", self.trace, "--by", by, "--all")
                self.assertEqual(sum(row["run_ns"] for row in sums),
                                 sum(row["run_ns"] for row in rows))
        # CPUs are as busy as they were, whoever ran.
        self.assertEqual(e2e.report_json("sched", self.trace)["cpus"],
                         e2e.report_json("sched", self.trace, "--kernel-threads")["cpus"])

    def test_one_that_is_asked_for(self):
        ran = e2e.rows("sched", self.trace, "--kernel-threads")
        row = next(row for row in ran if row["tid"] in self.kernel)
        for option, value in (("--pid", row["pid"]), ("--tid", row["tid"]),
                              ("--comm", row["comm"].replace("[", "?"))):
            with self.subTest(option):
                report = e2e.report_json("sched", self.trace, option, value)
                self.assertIn(row["tid"], self.ids(report))
                self.assertNotIn("kernel_threads_left_out", report)

    def test_is_said(self):
        n = e2e.report_json("offcpu", self.trace)["kernel_threads_left_out"]
        text = f"{n} kernel thread{'s' if n > 1 else ''} left out: --kernel-threads"
        for options in ([], ["--by", "program"], ["--stacks"], ["--interval", "100ms"]):
            with self.subTest(options):
                self.assertEqual(e2e.ebreport("offcpu", *options, "--no-symbols",
                                              self.trace).splitlines()[-1], text)
        for options in (["offcpu", "--csv"], ["folded", "--event", "offcpu"],
                        ["wall", "--folded"]):
            with self.subTest(options):
                done = e2e.run(e2e.EBREPORT, *options, "--no-symbols", self.trace)
                self.assertNotIn(b"left out", done.stdout)
                self.assertRegex(done.stderr.decode(), r"\d+ kernel threads? left out")
        self.assertNotIn("left out", e2e.ebreport("offcpu", "--kernel-threads", self.trace))

    def test_threads(self):
        """Where threads were; both formats leave out the same ones, and tell them alike."""
        rows = e2e.rows("threads", self.trace, "--kernel-threads", "--at", "end")
        self.assertEqual(rows, e2e.rows("threads", self.trace, "--all", "--at", "end"))
        told = {row["tid"] for row in rows if row["kernel"]}
        self.assertTrue(self.kernel <= told)
        self.assertFalse({row["pid"] for row in rows if row["tid"] in told} & self.users)
        n = e2e.report_json("threads", self.trace, "--at", "end")["kernel_threads_left_out"]
        self.assertEqual(n, len(told))
        text = e2e.ebreport("threads", "--at", "end", self.trace)
        self.assertEqual(text.splitlines()[-1], f"{n} kernel threads left out: --kernel-threads")

    def test_overview(self):
        """What kernel threads that ran waited for counts where they are asked for."""
        def waits(*options):
            report = e2e.report_json("overview", self.trace, *options)
            return report, sum(row["spent_ns"] for row in report["rows"]
                               if row["place"] not in ("cpu", "runqueue"))
        most, waited = waits()
        every, waited_all = waits("--kernel-threads")
        rows = e2e.rows("wall", self.trace, "--kernel-threads")
        theirs = sum(row["off_cpu_ns"] for row in rows
                     if row["tid"] in self.kernel and row["on_cpu_ns"])
        self.assertGreaterEqual(waited_all - waited, theirs)
        self.assertGreater(theirs, 0)
        n = most["kernel_threads_left_out"]
        self.assertGreater(n, 0)
        self.assertNotIn("kernel_threads_left_out", every)
        self.assertEqual(e2e.ebreport("overview", self.trace).splitlines()[-1],
                         f"the waits of {n} kernel thread{'s' if n > 1 else ''} left out: "
                         "--kernel-threads")

    def test_stacks(self):
        names = {row["comm"] for row in e2e.rows("sched", self.trace, "--kernel-threads", "--all")
                 if row["tid"] in self.kernel}
        names -= {row["comm"] for row in e2e.rows("sched", self.trace, "--all")}
        self.assertTrue(names)
        roots = {stack.split(";")[0]
                 for stack in e2e.folded(self.trace, "--no-symbols", "--event", "offcpu")}
        self.assertFalse(roots & names)
        roots = {stack.split(";")[0]
                 for stack in e2e.folded(self.trace, "--no-symbols", "--event", "offcpu",
                                         "--kernel-threads")}
        self.assertTrue(roots & names)


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Page faults: as many of each process as the kernel's own counters say, and of the right kind."""

import os
import signal
import tempfile

import e2e

PAGES = 1000  # that a job of tests/programs/faults.c touches
FILE_PAGES = 256
JOBS = ("fresh", "populate", "cow", "threads", "read")


class Faults(e2e.TestCase):
    def setUp(self):
        super().setUp()
        # A file system in memory has nothing to wait for; /var/tmp is never one.
        folder = tempfile.TemporaryDirectory(prefix="ebt-e2e-", dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "file of pages")
        with open(self.file, "wb") as f:
            f.write(os.urandom(FILE_PAGES * os.sysconf("SC_PAGESIZE")))
            os.fsync(f.fileno())

    def record_jobs(self, *jobs, options=()):
        """The trace, and what wait4() said of each job: {job: (pid, minor, major)}."""
        trace = self.record("-q", "-e", "fault", *options, "--", e2e.program("faults"), *jobs)
        self.assert_no_loss(trace)
        words = [line.split() for line in self.recorded.stdout.decode().splitlines()]
        self.assertEqual([w[0] for w in words], [job.split("=")[0] for job in jobs])
        return trace, {w[0]: tuple(int(x) for x in w[1:]) for w in words}

    def test_equal_to_getrusage(self):
        trace, truth = self.record_jobs(*JOBS, f"cold={self.file}", f"warm={self.file}")
        ours = {row["pid"]: row for row in e2e.rows("faults", trace)}
        for job, (pid, minor, major) in truth.items():
            self.assertEqual((ours[pid]["minor"], ours[pid]["major"]), (minor, major), job)
        of = {job: ours[pid] for job, (pid, _, _) in truth.items()}
        # The truth is what it was meant to be.
        self.assertGreaterEqual(of["threads"]["minor"], 4 * PAGES)
        self.assertEqual(of["cold"]["major"], FILE_PAGES)
        self.assertEqual(of["warm"]["major"], 0)
        # A write is no major fault, nor is one of the kernel's.
        for job in ("fresh", "cow"):
            self.assertEqual(of[job]["major"], 0)
            self.assertGreaterEqual(of[job]["writes"], PAGES)
            self.assertLess(of[job]["in_kernel"], 100)
        self.assertGreaterEqual(of["read"]["in_kernel"], PAGES)
        self.assertLess(of["cold"]["writes"], 100)
        # Memory that the kernel filled ahead is counted, without a fault.
        self.assertGreaterEqual(of["populate"]["silent"], PAGES)
        self.assertLess(of["populate"]["writes"], 100)
        self.assertEqual(of["fresh"]["silent"], 0)
        # The longest one of the cold file is as long as the rest of them together, or shorter.
        self.assertGreater(of["cold"]["major_ns"], of["cold"]["max_ns"])

    def test_other_keys(self):
        """The kernel's own figures of processes add up to those of their program and user, and a
        picture of one process has all of them."""
        trace, truth = self.record_jobs("fresh", "cow", "read")
        pids = ",".join(str(pid) for pid, _, _ in truth.values())
        minor = sum(minor for _, minor, _ in truth.values())
        row, = e2e.rows("faults", trace, "--by", "user,program", "--pid", pids)
        self.assertEqual((row["uid"], row["program"], row["minor"]), (os.getuid(), "faults", minor))
        rows = e2e.rows("faults", trace, "--by", "process,mapping", "--pid", pids)
        for pid, minor, major in truth.values():
            self.assertEqual(sum(row["total"] for row in rows if row["pid"] == pid), minor + major)
        picture = self.path("faults.svg")
        pid, minor, major = truth["fresh"]
        e2e.ebreport("faults", "--flame", picture, "--pid", pid, trace)
        with open(picture, encoding="utf-8") as f:
            self.assertIn(f"{minor + major} faults", f.read())
        again = e2e.run(e2e.EBREPORT, "faults", "--flame", trace, trace, status=2)
        self.assertIn(b"that is the trace itself", again.stderr)
        # Frames of stacks, a line each, are no table whose columns could be chosen.
        frames = e2e.run(e2e.EBREPORT, "faults", "--stacks", "--columns", "total", trace)
        self.assertIn(b"--columns: there is no table in this output", frames.stderr)
        chosen = e2e.run(e2e.EBREPORT, "faults", "--columns", "total", trace)
        self.assertNotIn(b"--columns", chosen.stderr)

    def test_equal_to_perf_stat(self):
        counts = self.path("counts")
        trace = self.record("-q", "-e", "fault", "--", "perf", "stat", "-x", ",", "-o", counts,
                            "-e", "minor-faults,major-faults", "--", e2e.program("faults"),
                            "fresh", f"cold={self.file}")
        self.assert_no_loss(trace)
        with open(counts, encoding="utf-8") as f:
            theirs = {line.split(",")[2]: int(line.split(",")[0]) for line in f
                      if "faults" in line and not line.startswith("#")}
        ours = {"minor-faults": 0, "major-faults": 0}
        # perf counts from the exec on, which is when the name changes.
        for row in e2e.Dump(trace).rows("fault"):
            if row["task"].endswith('/"faults"'):
                ours[row["kind"] + "-faults"] += 1
        self.assertEqual(ours, theirs)
        self.assertGreaterEqual(ours["major-faults"], FILE_PAGES)

    def test_mappings(self):
        trace, truth = self.record_jobs("fresh", f"cold={self.file}")
        pid, _, major = truth["cold"]
        rows = {row["mapping"]: row for row in e2e.rows("faults", trace, "--by", "mapping",
                                                        "--pid", str(pid))}
        self.assertEqual(rows[self.file]["major"], major)
        self.assertEqual(rows[self.file]["inode"], str(os.stat(self.file).st_ino))
        device = os.stat(self.file).st_dev
        self.assertEqual(rows[self.file]["device"], f"{os.major(device)}:{os.minor(device)}")
        self.assertIn(os.path.realpath(e2e.program("faults")), rows)
        self.assertIn("[stack]", rows)
        pid, minor, _ = truth["fresh"]
        rows = {row["mapping"]: row for row in e2e.rows("faults", trace, "--by", "mapping",
                                                        "--pid", str(pid))}
        self.assertGreaterEqual(rows["[anon]"]["minor"], PAGES)
        self.assertEqual(sum(row["minor"] for row in rows.values()), minor)

    def test_stacks(self):
        trace, truth = self.record_jobs("fresh", "read")
        for job, function, count in (("fresh", "touch", "writes"), ("read", "read_into", "minor")):
            report = e2e.report_json("faults", trace, "--stacks", "--pid", str(truth[job][0]))
            found = sum(stack[count] for stack in report["stacks"]
                        if function in stack["stack"].split(";"))
            self.assertGreaterEqual(found, PAGES, job)
        # Faults in a system call have a kernel stack on top of it.
        self.assertTrue(any("vfs_read" in stack["stack"] for stack in report["stacks"]))

    def test_threads_and_intervals(self):
        trace, truth = self.record_jobs("threads", f"cold={self.file}")
        pid, minor, _ = truth["threads"]
        rows = e2e.rows("faults", trace, "--by", "thread", "--pid", str(pid))
        self.assertEqual(len(rows), 5)
        self.assertEqual(sum(row["minor"] for row in rows), minor)
        self.assertEqual(sum(row["minor"] >= PAGES for row in rows), 4)
        report = e2e.report_json("faults", trace, "--interval", "10ms")
        self.assertGreater(len(report["intervals"]), 1)
        parts = [row for interval in report["intervals"] for row in interval["rows"]]
        whole = e2e.rows("faults", trace)
        for key in ("minor", "major"):
            self.assertEqual(sum(row[key] for row in parts), sum(row[key] for row in whole))

    def test_whole_system(self):
        trace = self.path("t.ebt")
        child = self.start(e2e.EBREC, "-f", "-q", "-o", trace, "-a", "-e", "fault",
                           "--call-graph", "none")
        self.wait_for_rows(trace, child, "fault")
        done = e2e.run(e2e.program("faults"), "fresh", "cow").stdout.decode()
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(e2e.SECONDS), 0)
        self.assert_no_loss(trace, whole_system=True)
        ours = {row["pid"]: row["minor"] for row in e2e.rows("faults", trace)}
        for words in (line.split() for line in done.splitlines()):
            self.assertEqual(ours[int(words[1])], int(words[2]), words[0])


if __name__ == "__main__":
    e2e.main()

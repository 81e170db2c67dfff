# SPDX-License-Identifier: GPL-2.0-or-later
"""Wall-clock time: threads that each do one thing only, and say for how long they did."""

import collections
import glob
import os
import subprocess
import xml.etree.ElementTree

import e2e

SECONDS = 2
MEBIBYTE = 1 << 20
PARTS = ("on_cpu_ns", "runqueue_ns", "off_cpu_ns")
KINDS = {"compute": "on_cpu_ns", "doze": "sleep_ns", "want": "lock_ns", "load": "disk_ns"}
FUNCTIONS = {"compute": "compute_[c]", "doze": ";doze;", "want": ";want;", "load": ";load;"}


def sum_rule(test, row, report):
    """On CPU, on a run queue and off CPU are the whole life of the thread."""
    known = sum(row[part] for part in PARTS)
    share = known / row["lifetime_ns"]
    test.assertAlmostEqual(row["coverage_percent"], 100 * share, delta=0.01)
    test.assertLess(share, 1.005, row)
    if not e2e.hidden_runs(report):  # as on the kernels of suite `kernels`
        test.assertGreater(share, 0.995, row)


def exits(trace):
    """Of each thread, ns from its exit to when it leaves its CPU for ever. In between, others see it
    gone, although it may still have to wait for a CPU."""
    dump = e2e.Dump(trace, "--table", "task_exit,task_end")
    begins, ends = ({int(row["task"].split("/")[0]): row["time"] for row in dump.rows(table)}
                    for table in ("task_exit", "task_end"))
    return {tid: ends[tid] - begin for tid, begin in begins.items() if tid in ends}


def plans(test, report, said, exit_ns):
    """Each thread spent its time as it was told to; exit_ns is what exits() found."""
    rows, told = report["rows"], not e2e.hidden_runs(report)
    for name, (tid, wall_ns, cpu_ns, waited_ns, napped_ns, outer_ns) in said.items():
        kind = KINDS[name]
        row = next(r for r in rows if r["tid"] == tid)
        test.assertEqual(row["comm"], name)
        # Its life begins before its loop, with a wait for a CPU where that is busy.
        test.assertGreaterEqual(row["lifetime_ns"], wall_ns)
        test.assertLessEqual(row["lifetime_ns"], outer_ns + exit_ns.get(tid, 0))
        known = sum(row[part] for part in PARTS)
        spent = row[kind] + row["runqueue_ns"]
        if name in ("want", "load"):
            spent += row["on_cpu_ns"] + row["sleep_ns"]
            test.assertLess(row["sleep_ns"], napped_ns + wall_ns * 0.01)
            # On a busy machine most of a wait is for the CPU afterwards.
            test.assertGreater(row[kind] + row["runqueue_ns"], known * 0.3, row)
            test.assertGreater(row[kind], 0)
        if name == "doze":
            spent += row["on_cpu_ns"]
        if name != "compute" and told:
            # By the program's own clock; on its way into and out of a wait it is on a CPU.
            test.assertLess(row[kind], waited_ns)
            test.assertGreater(row[kind] + row["runqueue_ns"] + row["on_cpu_ns"],
                               waited_ns - wall_ns * 0.01, row)
        if name == "compute":
            test.assertGreaterEqual(row["on_cpu_ns"], cpu_ns * (0.99 if told else 0.1))
            test.assertLess(row["off_cpu_ns"], wall_ns * 0.01)
        test.assertAlmostEqual(spent / known, 1, delta=0.01, msg=row)


def intervals_add_up(test, parts, report):
    """To the nanosecond; a wait whose end is not told is one up to the end of its interval."""
    sums = collections.defaultdict(collections.Counter)
    for part in parts["intervals"]:
        for row in part["rows"]:
            sums[row["tid"]].update({k: v for k, v in row.items() if k.endswith("_ns")})
    for row in report["rows"]:
        names = ["lifetime_ns"]
        if not e2e.hidden_runs(report):
            names = [k for k in row if k.endswith("_ns")]
        test.assertEqual({k: row[k] for k in names}, {k: sums[row["tid"]][k] for k in names})


def read_said(text):
    said = {}
    for line in text.splitlines():
        name, tid, *numbers = line.split()
        said[name] = (int(tid), *map(int, numbers))
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
        plans(self, report, said, exits(trace))
        for row in report["rows"]:
            sum_rule(self, row, report)
        self.check_folded(trace, report["rows"], said)
        self.check_choices(trace, said)
        self.check_files(trace, said)
        self.check_intervals(trace, report)

    def check_intervals(self, trace, report):
        intervals_add_up(self, e2e.report_json("wall", trace, "--interval", "250ms"), report)
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
            outside = row["lifetime_ns"] - said[name][1]  # of its loop
            self.assertGreater(there, 0.9 * (sum(mine.values()) - outside), name)

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
        nothing = e2e.run(e2e.EBREPORT, "wall", "--folded", "--under", "nix", trace)
        self.assertEqual((nothing.stdout, b"no stacks that pass" in nothing.stderr), (b"", True))
        for option in ("--under=want", "--state=lock", "--by=thread"):
            error = e2e.run(e2e.EBREPORT, "wall", option, trace, status=2).stderr.decode()
            self.assertIn(option.split("=")[0] + " is for", error)

    def check_files(self, trace, said):
        folder = self.path("threads")
        e2e.ebreport("wall", "--per-thread", folder, trace)
        for name in KINDS:
            begin = os.path.join(folder, f"thread_{said[name][0]}_{name}")
            self.assertEqual(len(glob.glob(begin + "*")), 3)
            xml.etree.ElementTree.parse(begin + ".svg")
            with open(begin + "_analysis.txt", encoding="utf-8") as f:
                self.assertIn(f"Thread {said[name][0]} ({name})", f.read())
        with open(os.path.join(folder, "summary.txt"), encoding="utf-8") as f:
            lines = {line.split()[0]: line.split() for line in f}
        for row in e2e.rows("wall", trace):
            line = lines.pop(str(row["tid"]))
            for n, key in enumerate(("on_cpu_ns", "runqueue_ns", "off_cpu_ns", "lifetime_ns")):
                self.assertEqual(round(float(line[2 + n]) * 1e9), row[key])
        self.assertEqual(list(lines), ["TID"])
        error = e2e.run(e2e.EBREPORT, "wall", "--per-thread", folder, trace, status=2)
        self.assertIn(b"--force", error.stderr)
        e2e.ebreport("wall", "--per-thread", folder, "--force", trace)

    def test_idle(self):
        """Who waits for the end of a thread, or for a lock, waits for no work."""
        child = self.start(e2e.program("hangs"), stdout=subprocess.PIPE, text=True)
        for line in child.stdout:
            if line.split() == ["ready"]:
                break
        trace = self.record("-p", child.pid, "-d", "200ms")
        rows = e2e.rows("wall", trace)
        self.assertEqual({row["comm"] for row in rows if not row["idle"]}, {"hangs", "mutex", "sem"})
        self.assertEqual({row["comm"] for row in rows if row["idle"]},
                         {"read", "cond", "poll", "epoll", "accept", "nanosleep"})
        joins, = [row for row in rows if row["comm"] == "hangs"]
        self.assertEqual(joins["sleep_ns"], joins["lifetime_ns"])
        self.assertRegex(e2e.ebreport("wall", "--hide-idle", trace), rf"(?m)^ *{child.pid} ")

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
        # Who loses its CPU after it worked out when to wake sleeps for what is left.
        slept = [row for row in short if row["sleep_ns"] > 19_000_000 - row["runqueue_ns"]]
        self.assertGreaterEqual(len(slept), 40 if not e2e.hidden_runs(report) else 20)


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Call trees of tables with stacks: their weights are the sums of what the rows hold."""

import collections
import fnmatch
import os
import re
import shutil
import tempfile

import e2e

# Faults and, as four threads want one lock and begin each turn together, waits: three wait for the
# last one each time, however the machine runs them.
WORKLOAD = ["python3", "-c", """
import threading, time
lock, together = threading.Lock(), threading.Barrier(4)
def work():
    for i in range(20):
        together.wait()
        with lock:
            time.sleep(0.002)
threads = [threading.Thread(target=work) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
bytearray(50 << 20)
"""]


class Trees(e2e.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="ebt-e2e-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.trace = os.path.join(folder, "t.ebt")
        e2e.run(e2e.EBREC, "-o", cls.trace, "-e", "fault,lock", "--", *WORKLOAD)

    def setUp(self):
        super().setUp()
        self.assert_no_loss(self.trace)

    def folded(self, *arguments):
        return e2e.folded(self.trace, *arguments)

    def check(self, table, column):
        rows = list(e2e.Dump(self.trace).rows(table))
        self.assertGreater(len(rows), 5)
        total = sum(int(row[column]) for row in rows)
        self.assertGreater(total, 0)
        by_rows = self.folded("--event", table, "--weight", "rows")
        self.assertEqual(sum(by_rows.values()), len(rows))
        self.assertEqual(sum(self.folded("--event", table, "--weight", column).values()), total)
        # Without --weight it is the duration.
        self.assertEqual(sum(self.folded("--event", table).values()), total)
        return by_rows

    def test_faults(self):
        stacks = self.check("fault", "duration")
        self.assertTrue(any(stack.startswith("python3") and ";" in stack for stack in stacks))

    def test_locks(self):
        stacks = self.check("futex_wait", "duration")
        waits = sum(n for stack, n in stacks.items() if "futex" in stack or "sem_" in stack
                    or "pthread_cond" in stack or "PyThread" in stack)
        self.assertGreater(waits, 5)

    def test_units(self):
        for weight, unit in (("rows", "events"), ("duration", "ns")):
            svg = e2e.ebreport("flame", "--event", "fault", "--weight", weight, self.trace)
            self.assertIn(f'data-unit="{unit}"', svg)
            total = int(re.search(r'data-total="(\d+)"', svg)[1])
            self.assertEqual(total, sum(self.folded("--event", "fault", "--weight",
                                                    weight).values()))
        report = e2e.report_json("callgraph", self.trace, "--event", "fault", "--weight", "rows")
        self.assertEqual((report["event"], report["weight"], report["unit"]),
                         ("fault", "rows", "events"))
        self.assertTrue(all(row["self"] == row["count"] for row in report["rows"]))
        report = e2e.report_json("callgraph", self.trace, "--event", "fault")
        self.assertIn("self_ns", report["rows"][0])

    def test_categories(self):
        """Sums are those that follow from folded stacks and the rules of the file."""
        rules = [("PyThread_acquire_lock*", "lock", True), ("*Py*Vectorcall*", "call", True),
                 ("*PyEval_*", "loop", True), ("Py*", "py", False), ("mem*", "copy", False)]
        path = self.path("categories")
        with open(path, "w", encoding="utf-8") as f:
            f.write("*:\n" + "".join(f"{pattern} {category}{' inherit' if inherit else ''}\n"
                                     for pattern, category, inherit in rules) + "* uncategorized\n")

        def rule_of(name):
            if name == "[truncated]":
                return "unwindable", True
            for pattern, category, inherit in rules:
                if fnmatch.fnmatchcase(name.split(".isra.")[0].split(".constprop.")[0], pattern):
                    return category, inherit and category != "uncategorized"
            return "uncategorized", False

        for event in "fault", "futex_wait":
            own, total = collections.Counter(), collections.Counter()
            for stack, weight in self.folded("--event", event, "--weight", "rows").items():
                found = [rule_of(frame) for frame in stack.split(";")[1:]]
                passed = [category for category, inherit in found if inherit]
                leaf = found[-1][0] if found else "uncategorized"
                if leaf == "uncategorized" and passed:
                    leaf = passed[-1]
                own[leaf] += weight
                for category in {leaf, *passed}:
                    total[category] += weight
            options = ("--event", event, "--weight", "rows", "--category-file", path)
            rows = e2e.rows("callgraph", self.trace, *options, "--categories")
            self.assertEqual({row["category"]: (row["self"], row["total"]) for row in rows},
                             {category: (own[category], n) for category, n in total.items()})
            for category, n in total.items():
                self.assertEqual(sum(self.folded(*options, "--category", category).values()), n)
        self.assertGreater(total["lock"], 5)
        self.assertGreater(total["loop"], 5)
        # By what is built in, Python did it. The first waits are long on a busy machine, and come
        # before all that their stacks need is read.
        rows = e2e.rows("callgraph", self.trace, "--event", "futex_wait", "--weight", "rows",
                        "--categories")
        totals = {row["category"]: row["total"] for row in rows}
        print("waits by category:", totals)
        self.assertGreater(totals["python"], 0.9 * max(totals.values()))

    def test_wrong_names(self):
        done = e2e.run(e2e.EBREPORT, "folded", "--event", "nothing", self.trace, status=2)
        self.assertRegex(done.stderr.decode(), r"there are cpu, offcpu.*, fault.*futex_wait")
        done = e2e.run(e2e.EBREPORT, "folded", "--event", "fault", "--weight", "ip", self.trace,
                       status=2)
        self.assertRegex(done.stderr.decode(), r"no number 'ip'; there are rows, .*duration")
        done = e2e.run(e2e.EBREPORT, "folded", "--event", "fault", "--focus", "^nobody$", self.trace)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"no stack passes --focus", done.stderr)


class Processes(e2e.TestCase):
    def test_similar_processes(self):
        """Three shells by two names of the program are one; so are their threads' names."""
        trace = self.record("-e", "fault", "--", "sh", "-c",
                            "sh -c 'sh -c :; exec -a other sh -c :'; true", name="sh.ebt")
        rows = list(e2e.Dump(trace).rows("fault"))
        for by, first in (("program", r"[a-z]+"), ("process", r".+ \(\d+\)"), ("comm", r"[a-z]+")):
            out = e2e.ebreport("folded", "--event", "fault", "--weight", "rows", "--by", by,
                               "--threads", trace).splitlines()
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in out), len(rows))
            roots = {line.rsplit(" ", 1)[0].split(";")[0] for line in out}
            self.assertTrue(all(re.fullmatch(first, root) for root in roots), roots)
            if by == "process":
                self.assertEqual(len(roots), len({row["task"].split("/")[1] for row in rows}))
            if by == "program":
                shell = os.path.basename(os.path.realpath(shutil.which("sh")))
                self.assertTrue(roots <= {shell, "sh", "ebrec"}, roots)


if __name__ == "__main__":
    e2e.main()

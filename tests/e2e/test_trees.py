# SPDX-License-Identifier: GPL-2.0-or-later
"""Call trees of tables with stacks: their weights are the sums of what the rows hold."""

import collections
import re

import e2e

# Faults and, as four threads want one lock, waits.
WORKLOAD = ["python3", "-c", """
import threading, time
lock = threading.Lock()
def work():
    for i in range(5):
        with lock:
            time.sleep(0.002)
threads = [threading.Thread(target=work) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
bytearray(50 << 20)
"""]


class Trees(e2e.TestCase):
    def setUp(self):
        super().setUp()
        self.trace = self.record("-e", "fault,lock", "--", *WORKLOAD)
        self.assert_no_loss(self.trace)

    def folded(self, *arguments):
        weights = collections.Counter()
        for line in e2e.ebreport("folded", *arguments, self.trace).splitlines():
            stack, weight = line.rsplit(" ", 1)
            weights[stack] += int(weight)
        return weights

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

    def test_wrong_names(self):
        done = e2e.run(e2e.EBREPORT, "folded", "--event", "nothing", self.trace, status=2)
        self.assertRegex(done.stderr.decode(), r"there are cpu, offcpu.*, fault.*futex_wait")
        done = e2e.run(e2e.EBREPORT, "folded", "--event", "fault", "--weight", "ip", self.trace,
                       status=2)
        self.assertRegex(done.stderr.decode(), r"no number 'ip'; there are rows, .*duration")


if __name__ == "__main__":
    e2e.main()

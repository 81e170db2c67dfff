# SPDX-License-Identifier: GPL-2.0-or-later
"""--interval: the parts of a recording make up the whole, also for what lasts through several."""

import collections

import e2e

WORKLOAD = ["sh", "-c", "for i in 1 2 3 4; do ls -R /usr/lib >/dev/null; sleep 0.2; done"]


def sums(rows, key, fields):
    found = collections.Counter()
    for row in rows:
        for field in fields:
            found[row[key], field] += row.get(field, 0)
    return collections.Counter({k: v for k, v in found.items() if v})


class Interval(e2e.TestCase):
    def setUp(self):
        super().setUp()
        self.trace = self.record("-e", "sched,syscalls", "--", *WORKLOAD)
        self.assert_no_loss(self.trace)

    def intervals(self, command, interval, *arguments):
        report = e2e.report_json(command, self.trace, "--interval", interval, *arguments)
        parts = report["intervals"]
        self.assertGreater(len(parts), 1)
        self.assertEqual(parts[0]["from_ns"], 0)
        self.assertEqual(parts[-1]["to_ns"], report["duration_ns"])
        for part, following in zip(parts, parts[1:]):
            self.assertEqual(part["to_ns"] - part["from_ns"], report["interval_ns"])
            self.assertEqual(part["to_ns"], following["from_ns"])
        return parts

    def check(self, command, key, fields, array="rows", arguments=(), interval="100ms"):
        report = e2e.report_json(command, self.trace, *arguments)
        whole = report[array]
        parts = [row for part in self.intervals(command, interval, *arguments)
                 for row in part[array]]
        ours, total = sums(parts, key, fields), sums(whole, key, fields)
        differ = {k[0] for k in ours.keys() | total.keys() if ours[k] != total[k]}
        # Where a kernel hides a switch, a run or a wait that a part has shown turns out not to have
        # been one; the report as a whole knows better: of so many threads at most. Such time
        # changes stacks.
        if len(differ) > e2e.hidden_runs(report) * (2 if array == "stacks" else 1):
            self.assertEqual(ours, total)
        return report, parts

    def test_syscalls(self):
        self.check("syscalls", "name", ["count", "errors", "total_ns"])
        self.check("syscalls", "pid", ["count", "errors", "total_ns"], arguments=["--by", "process"])

    def test_sched(self):
        for interval in ("250ms", "3ms"):
            report, parts = self.check(
                "sched", "tid", ["run_ns", "wait_ns", "switches_voluntary",
                                 "switches_involuntary", "migrations", "sleep_ns", "disk_ns",
                                 "latency_count"],
                arguments=["--all"], interval=interval)
            whole = report["rows"]
            # A wait belongs to the part in which it ends, with all of its length.
            self.assertEqual(max(row.get("latency_max_ns", 0) for row in parts),
                             max(row.get("latency_max_ns", 0) for row in whole))

    def test_offcpu(self):
        fields = ["total_ns", "wait_ns", "sleep_ns", "disk_ns", "preempted_ns"]
        self.check("offcpu", "tid", fields, arguments=["--all"], interval="50ms")
        # The shell waits 0.2 s for `sleep`: through several parts, and with its stack in each.
        self.check("offcpu", "stack", ["total_ns"], array="stacks", arguments=["--stacks"],
                   interval="50ms")

    def test_csv(self):
        rows = e2e.report_csv("syscalls", self.trace, "--interval", "100ms")
        self.assertEqual(list(rows[0])[:2], ["from_ns", "to_ns"])
        counts = collections.Counter()
        for row in rows:
            counts[row["name"]] += int(row["count"])
        self.assertEqual(counts, {r["name"]: r["count"]
                                  for r in e2e.rows("syscalls", self.trace)})


if __name__ == "__main__":
    e2e.main()

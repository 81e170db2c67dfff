# SPDX-License-Identifier: GPL-2.0-or-later
"""Who woke whom: a ring of processes in which each is woken by the one before it, as often as the
kernel counts that it slept; and the share of a CPU that each got, against what the kernel counts."""

import collections
import re

import e2e

PROCESSES = 4
ROUNDS = 30000
EDGE = 12  # before the recording begins, and after a process has asked the kernel


def name_of(row):
    return "[interrupt]" if row["interrupt"] else row["comm"]


def edges(rows):
    """Wake-ups of the tree by names of waker and wakee."""
    found = collections.Counter()
    for row in rows:
        if "parent" in row:
            found[name_of(rows[row["parent"]]), name_of(row)] += row.get("count", 0)
    return found


def paths(rows):
    """Of each row, those from the outermost to it."""
    found = []
    for row in rows:
        above = found[row["parent"]] if "parent" in row else ()
        found.append(above + (row,))
    return found


def hidden(trace):
    """How often a process began to run and no program was told, by pid: kernels of some sandboxes are
    silent where process 1 runs, up to the switch that ends it."""
    found = collections.Counter()
    for line in e2e.Dump(trace, "--table", "sched_switch").lines:
        switch = re.match(r"\d+ sched_switch .*? ?prev=(\d+)/.*? next=(\d+)/", line)
        if switch:
            found[int(switch[1])] += 1
            found[int(switch[2])] -= 1
    return found


class WakeTree(e2e.TestCase):
    def record_ring(self):
        trace = self.record("-e", "sched,task", "--", e2e.program("relay"), PROCESSES, ROUNDS)
        self.assert_no_loss(trace)
        lines = self.recorded.stdout.decode().splitlines()
        self.truth = {}
        for line in lines:
            number, pid, slept, run_ns, wait_ns = map(int, line.split())
            self.truth[number] = {"pid": pid, "slept": slept, "run": run_ns, "wait": wait_ns}
        self.assertEqual(len(self.truth), PROCESSES)
        return trace

    def test_ring(self):
        trace = self.record_ring()
        tree = e2e.rows("sched", trace, "--tree")
        found, untold = edges(tree), hidden(trace)
        for i, truth in self.truth.items():
            before = f"relay{(i - 1) % PROCESSES}"
            self.assertGreater(truth["slept"], EDGE)
            self.assertAlmostEqual(found[before, f"relay{i}"], truth["slept"],
                                   delta=EDGE + untold[truth["pid"]])
        # One chain has nearly all of it: 0, 1, 2, 3, and 0 again.
        ring = [f"relay{i}" for i in range(PROCESSES)] + ["relay0"]
        chain = max((path for path in paths(tree)
                     if [row.get("comm") for row in path][-len(ring):] == ring),
                    key=lambda path: path[-1]["count"])
        self.assertTrue(chain[-1]["again"])
        for row in chain[-PROCESSES:]:
            number = int(row["comm"][len("relay"):])
            self.assertGreaterEqual(row["count"], self.truth[number]["slept"] * 0.9)
            self.assertGreater(row["latency_total_ns"], 0)
            self.assertLessEqual(row["latency_total_ns"], row["count"] * row["latency_max_ns"])
            self.assertEqual(row["latency_avg_ns"], row["latency_total_ns"] // row["count"])
        chain_ns = [row["chain_avg_ns"] for row in chain[-PROCESSES:]]
        self.assertEqual(chain_ns, sorted(chain_ns))

    def test_timers(self):
        # Nobody is blamed for a sleep that ends by itself, whoever ran there.
        trace = self.record("-e", "sched,task", "--", "sh", "-c",
                            "(while :; do :; done) & i=0; "
                            "while [ $i -lt 60 ]; do sleep 0.01; i=$((i+1)); done; kill $!")
        self.assert_no_loss(trace)
        found = edges(e2e.rows("sched", trace, "--tree"))
        # Some may be over before they begin, and some are hidden.
        self.assertGreaterEqual(found["[interrupt]", "sleep"], 60 / 2)

    def test_filter(self):
        trace = self.record_ring()
        pid = self.truth[2]["pid"]
        tree = e2e.rows("sched", trace, "--tree", "--pid", pid)
        counted = {key for key, count in edges(tree).items() if count}
        self.assertIn(("relay1", "relay2"), counted)
        self.assertIn(("relay2", "relay3"), counted)
        self.assertTrue(all("relay2" in key for key in counted), counted)

    @e2e.exact
    def test_by_process(self):
        trace = self.record_ring()
        rows = {row["pid"]: row for row in e2e.rows("sched", trace, "--by", "process")}
        tasks = {row["tid"]: row for row in e2e.rows("sched", trace)}
        for number, truth in self.truth.items():
            row = rows[truth["pid"]]
            self.assertEqual(row["comm"], f"relay{number}")
            self.assertEqual((row["prio"], row["nice"], row["policy"]),
                             (120 + number, number, "other"))
            self.assertEqual((row["run_ns"], row["wait_ns"]),
                             (tasks[truth["pid"]]["run_ns"], tasks[truth["pid"]]["wait_ns"]))
            self.assertAlmostEqual(row["cpu_percent"],
                                   100 * row["run_ns"] / (row["run_ns"] + row["wait_ns"]), places=2)
            self.assertAlmostEqual(row["run_ns"], truth["run"], delta=truth["run"] / 50)
            # Ours has the time between waking and queueing too, and what the process waited after
            # it had asked the kernel.
            self.assertGreaterEqual(row["wait_ns"], truth["wait"] * 0.9)
            kernel = 100 * truth["run"] / (truth["run"] + truth["wait"])
            self.assertLessEqual(row["cpu_percent"], kernel + 3)

    def test_histogram_of_one(self):
        trace = self.record_ring()
        pid = self.truth[1]["pid"]
        report = e2e.report_json("sched", trace, "--histogram", "--pid", pid)
        waits = sum(row["count"] for row in report["latency_histogram"])
        runs = sum(row["count"] for row in report["run_histogram"])
        row = report["rows"][0]
        self.assertEqual(waits, row["latency_count"])
        self.assertAlmostEqual(runs, row["switches_voluntary"] + row["switches_involuntary"],
                               delta=EDGE + hidden(trace)[pid])
        for bucket in report["latency_histogram"] + report["run_histogram"]:
            self.assertIn(bucket["below_ns"], (2 * bucket["least_ns"], 1))


if __name__ == "__main__":
    e2e.main()

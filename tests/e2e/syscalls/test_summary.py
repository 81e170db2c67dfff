# SPDX-License-Identifier: GPL-2.0-or-later
"""The summary for programs: equal to what strace and the kernel count."""

import json
import re
import resource
import sys

import e2e

# Sockets, memory and a signal handler; the same calls each time.
SCRIPT = """
import mmap, signal, socket, time
a, b = socket.socketpair()
for i in range(2000):
    a.send(b'x'); b.recv(1)
for i in range(300):
    m = mmap.mmap(-1, 1 << 16); m.close()
for i in range(50):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
for i in range(20):
    time.sleep(0.001)
x = 0
for i in range(10_000_000):
    x += i
print(time.process_time_ns())
"""
COMMAND = [sys.executable, "-I", "-c", SCRIPT]


class Summary(e2e.TestCase):
    def strace(self, calls):
        """How many of a class, as strace divides them."""
        out = self.path("strace")
        e2e.run("strace", "-f", "-c", "-e", f"trace={calls}", "-o", out, *COMMAND)
        with open(out, encoding="utf-8") as f:
            return int(re.search(r"(?m)^100\.00 +\S+ +\S+ +(\d+) .*total$", f.read()).group(1))

    @e2e.exact
    def test_one_object(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        trace = self.record("-e", "default,syscalls", "--", *COMMAND)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assert_no_loss(trace)
        report = e2e.report_json("summary", trace)
        process, = report["rows"]
        self.assertTrue(process["target"])
        self.assertTrue(process["comm"].startswith("python3"))
        # What the program itself says just before its end, and with it the recorder's own.
        cpu = process["run_ns"]
        self.assertGreater(cpu, 0.98 * int(self.recorded.stdout))
        self.assertLess(cpu / 1e9, after.ru_utime + after.ru_stime - before.ru_utime
                        - before.ru_stime)
        totals, = report["totals"]
        self.assertEqual((totals["process_count"], totals["run_ns"]), (1, cpu))
        categories = {row["category"]: row["count"] for row in report["categories"]}
        self.assertEqual(totals["syscall_count"], sum(categories.values()))
        self.assertEqual(totals["syscall_count"],
                         sum(r["count"] for r in e2e.rows("syscalls", trace)))
        self.assertEqual(categories["network"], self.strace("%network"))
        self.assertGreaterEqual(categories["network"], 4001)
        # Where an allocator asks for memory is a matter of a few calls.
        self.assertAlmostEqual(categories["memory"], self.strace("%memory"), delta=10)
        self.assertAlmostEqual(categories["signal"],
                               self.strace("rt_sigaction,rt_sigprocmask,rt_sigreturn,sigaltstack"),
                               delta=1)
        thread = report["threads"][0]
        self.assertEqual((thread["pid"], thread["tid"]), (process["pid"], process["pid"]))
        self.assertGreaterEqual(thread["count"], 20)
        self.assertGreaterEqual(thread["total_ns"], 20_000_000)

    @e2e.exact
    def test_intervals(self):
        trace = self.record("-e", "default,syscalls", "--", *COMMAND)
        whole = e2e.report_json("summary", trace)
        report = e2e.report_json("summary", trace, "--interval", "100ms")
        parts = report["intervals"]
        self.assertGreater(len(parts), 2)
        for row in whole["categories"]:
            self.assertEqual(sum(r["count"] for part in parts for r in part["categories"]
                                 if r["category"] == row["category"]), row["count"])
        self.assertAlmostEqual(sum(part["totals"][0]["run_ns"] for part in parts),
                               whole["totals"][0]["run_ns"], delta=1000)
        # As lines: the same objects, numbered, the last one marked.
        lines = [json.loads(line) for line in e2e.ebreport(
            "summary", trace, "--ndjson", "--interval", "100ms").splitlines()]
        self.assertEqual([line["seq"] for line in lines], list(range(len(parts))))
        self.assertEqual([line["more"] for line in lines], [True] * (len(parts) - 1) + [False])
        self.assertEqual([{key: line[key] for key in part} for line, part in zip(lines, parts)],
                         parts)

    def test_classification(self):
        trace = self.record("-e", "syscalls,sched", "--", *COMMAND)
        found = e2e.report_json("syscalls", trace, "--classify")["classification"]
        self.assertEqual(found["verdict"], "network_bound")
        self.assertGreater(found["cpu_percent"], 0)
        text = e2e.ebreport("syscalls", "--classify", trace)
        self.assertIn("Verdict: network_bound", text)
        self.assertIn("network > 40 % of calls", text)
        self.assertIn("read", {r["name"] for r in e2e.rows("syscalls", trace)
                               if r["category"] == "file_io"})


if __name__ == "__main__":
    e2e.main()

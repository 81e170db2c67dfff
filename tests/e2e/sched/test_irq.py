# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts: on each CPU as many as /proc/interrupts and /proc/softirqs count between two readings
during the recording, and no more than between two around it; timers and work items against perf."""

import collections
import os
import re
import signal

import e2e

# What of /proc/interrupts has a tracepoint on x86, by the kinds of our rows.
VECTORS = {"LOC": {"local_timer"}, "RES": {"reschedule"}, "IWI": {"irq_work"},
           "CAL": {"call_function", "call_function_single"}}
PERF = {"workqueue:workqueue_execute_end": "works", "timer:hrtimer_expire_exit": "hrtimer",
        "timer:timer_expire_exit": "timer"}

# Packets over the loopback device, each a soft interrupt; and sleep, which takes timers.
WORK = """
import socket, time
receive = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receive.bind(("127.0.0.1", 0))
send = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(2000):
    send.sendto(b"x", receive.getsockname())
    receive.recv(9)
    if i % 20 == 0:
        time.sleep(0.005)
"""

# perf finds tracepoints by tracefs, in a mount namespace of its own where it is not mounted.
WITH_TRACEFS = ("unshare", "-m", "sh", "-c",
                'grep -q " /sys/kernel/tracing tracefs" /proc/mounts || '
                'mount -t tracefs none /sys/kernel/tracing && exec "$@"', "sh")


def read_counts(text, known=None):
    """{(cpu, name): count} of /proc/interrupts or /proc/softirqs; names are those before the colon."""
    lines = text.splitlines()
    cpus = [int(word[3:]) for word in lines[0].split()]
    counts = {}
    for line in lines[1:]:
        name, _, rest = line.strip().partition(":")
        numbers = rest.split()[:len(cpus)]
        if len(numbers) < len(cpus) or not all(n.isdigit() for n in numbers):
            continue
        if known is None or name in known or name.isdigit():
            counts.update({(cpu, name): int(n) for cpu, n in zip(cpus, numbers)})
    return counts


def between(first, second):
    return {key: second[key] - first.get(key, 0) for key in second}


class Irq(e2e.TestCase):
    def read(self, suffix):
        with open(self.path("interrupts" + suffix), encoding="utf-8") as f:
            interrupts = read_counts(f.read(), VECTORS)
        with open(self.path("softirqs" + suffix), encoding="utf-8") as f:
            softirqs = read_counts(f.read())
        return interrupts, softirqs

    def reading(self, suffix):
        return (f"cat /proc/softirqs >{self.path('softirqs' + suffix)}; "
                f"cat /proc/interrupts >{self.path('interrupts' + suffix)}; ")

    def perf(self, name):
        """Options of perf stat, and what it will have counted."""
        file = self.path(name)
        command = ("perf", "stat", "-a", "-x,", "-o", file, "-e", ",".join(PERF), "--")

        def counts():
            with open(file, encoding="utf-8") as f:
                found = {m[2]: int(m[1]) for m in re.finditer(r"(?m)^(\d+),,([\w:]+),", f.read())}
            return {PERF[event]: n for event, n in found.items()}

        return command, counts

    def record_all(self):
        """The report of all interrupts while the work runs; readings inside and around it."""
        inner, self.inner_counts = self.perf("inner.csv")
        outer, self.outer_counts = self.perf("outer.csv")
        trace = self.path("t.ebt")
        e2e.run("sh", "-c", self.reading(".outer0"))
        perf = self.start(*WITH_TRACEFS, *outer, e2e.EBREC, "-q", "-f", "-o", trace, "-a", "-e",
                          "irq")
        self.wait_for_rows(trace, perf, "irq")
        e2e.run(*WITH_TRACEFS, *inner, "sh", "-c",
                self.reading(".inner0") + '"$@"; ' + self.reading(".inner1"), "sh", "python3", "-c",
                WORK)
        with open(f"/proc/{perf.pid}/task/{perf.pid}/children", encoding="ascii") as f:
            os.kill(int(f.read().split()[0]), signal.SIGINT)
        self.assertEqual(perf.wait(timeout=e2e.SECONDS), 0)
        e2e.run("sh", "-c", self.reading(".outer1"))
        self.assert_no_loss(trace, whole_system=True)
        return trace, e2e.report_json("sched", trace, "--irq")

    def assert_between(self, ours, kind):
        index = ("interrupts", "softirqs").index(kind)
        inner0, inner1 = self.read(".inner0")[index], self.read(".inner1")[index]
        outer0, outer1 = self.read(".outer0")[index], self.read(".outer1")[index]
        least, most = between(inner0, inner1), between(outer0, outer1)
        wrong = {key: (least.get(key, 0), ours.get(key, 0), most.get(key, 0))
                 for key in set(least) | set(ours)
                 if not least.get(key, 0) <= ours.get(key, 0) <= most.get(key, 0)}
        self.assertEqual(wrong, {})
        return least

    @e2e.exact
    def test_counts_of_the_kernel(self):
        trace, report = self.record_all()
        names = collections.defaultdict(set)
        for row in e2e.Dump(trace, "--table", "irq_name").rows("irq_name"):
            names[row["number"]].add(row["name"])
        interrupts, softirqs = collections.Counter(), collections.Counter()
        for row in report["rows"]:
            if row["kind"] == "soft":
                softirqs[row["cpu"], row["name"]] += row["count"]
            elif row["kind"] == "line":
                # Every handler of a shared line has a row; one interrupt calls all.
                number = str(row["number"])
                self.assertTrue(names[number], number)
                self.assertEqual(row["count"] % len(names[number]), 0)
                interrupts[row["cpu"], number] += row["count"] // len(names[number])
            else:
                label = [name for name, kinds in VECTORS.items() if row["kind"] in kinds]
                if label:
                    self.assertEqual(row["name"], label[0])
                    interrupts[row["cpu"], label[0]] += row["count"]
        least = self.assert_between(interrupts, "interrupts")
        self.assertGreater(sum(n for (_, name), n in least.items() if name == "LOC"), 0)
        least = self.assert_between(softirqs, "softirqs")
        # A packet over the loopback device is received in a soft interrupt.
        self.assertGreater(sum(n for (_, name), n in least.items() if name == "NET_RX"), 0)
        self.assertGreater(sum(n for (_, name), n in least.items() if name == "TIMER"), 0)

    @e2e.exact
    def test_timers_and_work_items(self):
        _, report = self.record_all()
        ours = collections.Counter({"works": sum(w["count"] for w in report["works"])})
        for timer in report["timers"]:
            ours[timer["kind"]] += timer["count"]
        least, most = self.inner_counts(), self.outer_counts()
        self.assertEqual(set(least), {"works", "hrtimer", "timer"})
        for kind, count in least.items():
            self.assertLessEqual(count, ours[kind], kind)
            self.assertLessEqual(ours[kind], most[kind], kind)
        self.assertGreater(least["hrtimer"], 100)  # the sleeps
        functions = {t["function"] for t in report["timers"] if t["kind"] == "hrtimer"}
        self.assertIn("hrtimer_wakeup", functions)

    def test_times_add_up(self):
        trace, report = self.record_all()
        span, cpus = report["duration_ns"], collections.Counter()
        for row in report["rows"]:
            cpus[row["cpu"]] += row["total_ns"]
            self.assertLessEqual(row["taken_ns"], row["total_ns"])
            self.assertLessEqual(row["max_ns"], row["total_ns"])
        self.assertEqual(len(cpus), os.cpu_count())
        for total in cpus.values():
            self.assertLess(total, span)
        taken = sum(row["taken_ns"] for row in report["rows"])
        self.assertEqual(sum(row["irq_ns"] for row in report["irq_tasks"]), taken)
        for row in e2e.Dump(trace, "--table", "irq").rows("irq"):
            self.assertLessEqual(int(row["self"]), int(row["duration"]))
        python = [r for r in report["irq_tasks"] if r["comm"].startswith("python3")]
        self.assertTrue(python, "interrupts took no time from the work")

    def test_one_process(self):
        # Only interrupts while its tasks run, which are all blamed on them.
        trace = self.record("-e", "irq", "--", "python3", "-c", WORK)
        self.assert_no_loss(trace)
        tids = {row["task"].split("/")[0] for row in e2e.Dump(trace, "--table", "irq").rows("irq")}
        self.assertEqual(len(tids), 1, tids)
        names = {row["name"] for row in e2e.report_json("sched", trace, "--irq")["rows"]}
        self.assertIn("NET_RX", names)


if __name__ == "__main__":
    e2e.main()

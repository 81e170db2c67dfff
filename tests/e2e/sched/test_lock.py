# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks: waits as long as the waiting program measured, at the address that it says, of the threads
that waited, because of the thread that had the lock; and what the kernel's own tools count."""

import collections
import json
import re

import e2e

ROUNDS, HOLD_US = 60, 10000
WAITERS = 2
READ, WRITE = 2, 4  # LCB_F_*: of a semaphore

# perf finds tracepoints by tracefs, in a mount namespace of its own where it is not mounted.
WITH_TRACEFS = ("unshare", "-m", "sh", "-c",
                'grep -q " /sys/kernel/tracing tracefs" /proc/mounts || '
                'mount -t tracefs none /sys/kernel/tracing && exec "$@"', "sh")


class Lock(e2e.TestCase):
    def contend(self, what, *arguments, events="lock:wakes"):
        """Records the program; gives the trace, its locks {what: (address, waits, ns, least, delayed)}, and the tids
        of its threads by name."""
        trace = self.record("-e", events, "--", e2e.program("contended"), what,
                            *(arguments or (str(ROUNDS), str(HOLD_US))))
        self.assert_no_loss(trace)
        return trace, self.said(), self.threads()

    def said(self):
        """{what: (address, waits, ns, least, delayed)} of the program's locks."""
        words = [line.split() for line in self.recorded.stdout.decode().splitlines()]
        return {w[0]: (int(w[1], 16), *map(int, w[2:])) for w in words if w[0] != "thread"}

    def threads(self):
        """{name: tid} of the program's threads."""
        words = [line.split() for line in self.recorded.stdout.decode().splitlines()]
        return {w[1]: int(w[2]) for w in words if w[0] == "thread"}

    def row_at(self, rows, address):
        found = [r for r in rows if r.get("address") == hex(address)]
        self.assertEqual(len(found), 1, (hex(address), rows))
        return found[0]

    def people(self, row, role):
        return {p["comm"]: p for p in row["threads"] if p["role"] == role}

    def assert_between(self, wait_ns, ns, least, delayed):
        """Within the calls that the waiters timed; all of the time that the holder saw them sleep; and
        of what they timed nearly all but that in which they had no CPU."""
        self.assertLessEqual(wait_ns, ns)
        self.assertGreaterEqual(wait_ns, least)
        self.assertGreaterEqual(wait_ns, 0.98 * ns - delayed)
        self.assertGreater(least, 0)

    def assert_same_wait(self, row, locks, what):
        _, waits, *times = locks[what]
        self.assertEqual(row["count"], waits)
        self.assert_between(row["wait_ns"], *times)
        self.assertGreaterEqual(row["max_ns"], HOLD_US * 1000)
        self.assertLessEqual(row["p99_ns"], row["max_ns"])
        self.assertEqual(row["waiters"], WAITERS)

    def check_mutex(self, what, kind):
        trace, locks, threads = self.contend(what)
        rows = e2e.rows("locks", trace, "--user", "--threads")
        row = self.row_at(rows, locks[what][0])
        self.assert_same_wait(row, locks, what)
        self.assertEqual(row["kind"], kind)
        waiters = self.people(row, "waiter")
        self.assertEqual({name: p["tid"] for name, p in waiters.items()},
                         {name: tid for name, tid in threads.items() if name != "holder"})
        self.assertEqual(sum(p["count"] for p in waiters.values()), ROUNDS * WAITERS)
        self.assertEqual(row["holder_tid"], threads["holder"])
        # It has the mutex whenever a wait begins, and each round it wakes the first that waits.
        holder = self.people(row, "holder")["holder"]
        self.assertEqual(holder["owned"], ROUNDS * WAITERS)
        self.assertGreaterEqual(holder["woke"], ROUNDS)
        # The one that nobody ever waits for is not there at all.
        self.assertNotIn(hex(locks["quiet"][0]), [r.get("address") for r in rows])
        return trace, row

    def test_mutex(self):
        trace, row = self.check_mutex("mutex", "mutex")
        stacks = e2e.report_json("locks", trace, "--stacks", "--user")["stacks"]
        there = [s for s in stacks
                 if re.search("pthread_mutex_lock.*;wait_for_mutex;", s["stack"])]
        self.assertEqual(sum(s["count"] for s in there), row["count"])
        self.assertEqual(sum(s["wait_ns"] for s in there), row["wait_ns"])
        self.assertEqual({s["kind"] for s in there}, {"mutex"})
        text = e2e.ebreport("locks", "--threads", trace)
        self.assertRegex(text, r"the_mutex.* mutex .* holder/\d+")
        self.assertRegex(text, r"(?m)^ +waiter0/\d+ +waiter ")

    def test_robust_mutex(self):
        self.check_mutex("robust", "mutex")

    def test_priority_inheritance(self):
        self.check_mutex("pi", "pi mutex")

    def test_rwlock(self):
        # Where the futex is in a rwlock is glibc's affair: somewhere in its 56 bytes.
        trace, locks, threads = self.contend("rwlock")
        rows = [r for r in e2e.rows("locks", trace, "--user", "--threads")
                if 0 <= int(r["address"], 16) - locks["rwlock"][0] < 56]
        self.assertEqual(len(rows), 1, rows)
        self.assert_same_wait(rows[0], locks, "rwlock")
        self.assertEqual(rows[0]["holder_tid"], threads["writer"])
        self.assertEqual(set(self.people(rows[0], "waiter")), {"reader0", "reader1"})

    def test_condition(self):
        # A condition has two groups of waiters in turn, each with a futex of its own.
        trace, locks, threads = self.contend("cond")
        rows = [r for r in e2e.rows("locks", trace, "--user", "--threads")
                if 0 <= int(r["address"], 16) - locks["cond"][0] < 48]
        _, waits, *times = locks["cond"]
        self.assertGreaterEqual(sum(r["count"] for r in rows), waits)
        self.assert_between(sum(r["wait_ns"] for r in rows), *times)
        for row in rows:
            self.assertEqual(row["kind"], "futex")
            self.assertEqual(row["holder_tid"], threads["signaller"])

    def test_shared_between_processes(self):
        trace, locks, _ = self.contend("shared", "1", "200000")
        self.assertNotEqual(locks["child"][0], locks["parent"][0])
        rows = [r for r in e2e.rows("locks", trace, "--user", "--threads")
                if r["lock"].endswith("+0x1000")]
        self.assertEqual(len(rows), 1, rows)
        self.assert_between(rows[0]["wait_ns"], locks["child"][2], locks["parent"][3],
                            locks["child"][4])
        waiter, = self.people(rows[0], "waiter").values()
        holder, = self.people(rows[0], "holder").values()
        self.assertNotEqual(waiter["pid"], holder["pid"])
        self.assertEqual((holder["owned"], holder["woke"]), (1, 1))

    def test_counts_equal_strace(self):
        # Calls of futex that wait and wake, by another tool, of the same work.
        command = [e2e.program("contended"), "mutex", "20", "2000"]
        trace = self.record("-e", "lock:wakes,syscalls", "--", *command)
        self.assert_no_loss(trace)
        tables = e2e.tables(trace)
        calls = {r["name"]: r["count"] for r in e2e.rows("syscalls", trace)}
        self.assertEqual(tables["futex_wait"]["row_count"] + tables["futex_wake"]["row_count"],
                         calls["futex"])
        ours = self.row_at(e2e.rows("locks", trace, "--user"), self.said()["mutex"][0])
        strace = e2e.run("strace", "-f", "-e", "trace=futex", "-o", "/dev/stderr", *command)
        mutex = re.search(r"(?m)^mutex (0x[0-9a-f]+)", strace.stdout.decode())[1]
        # Each thread waits once a round in either run; -f cuts calls in two.
        theirs = re.findall(rf"futex\({mutex}, FUTEX_WAIT_PRIVATE, 2", strace.stderr.decode())
        self.assertEqual(ours["count"] + ours["at_once"], len(theirs))
        # And each thread by itself, in one run and in the other.
        by_thread = [r["count"] + r["at_once"]
                     for r in e2e.rows("locks", trace, "--user", "--by", "thread,lock")
                     if r["address"] == ours["address"]]
        by_pid = collections.Counter(re.findall(
            rf"(?m)^(\d+) +futex\({mutex}, FUTEX_WAIT_PRIVATE, 2", strace.stderr.decode()))
        self.assertEqual(sorted(by_thread), sorted(by_pid.values()))

    def test_without_wakes(self):
        trace, locks, threads = self.contend("mutex", "10", "2000", events="lock")
        self.assertNotIn("futex_wake",
                         [name for name, t in e2e.tables(trace).items() if t["row_count"]])
        row = self.row_at(e2e.rows("locks", trace, "--user"), locks["mutex"][0])
        self.assertEqual(row["holder_tid"], threads["holder"])

    def test_kernel_lock(self):
        # Threads that map and unmap memory of one process wait for its mmap_lock. perf counts those
        # waits of the same run; of others, not those in which it changes its own counters.
        counts = self.path("counts")
        trace = self.record("-e", "lock", "--", *WITH_TRACEFS, "perf", "stat", "-x,", "-o", counts,
                            "-e", "lock:contention_begin", "--filter",
                            f"flags == {READ} || flags == {WRITE}", "--", e2e.program("contended"), "mmap",
                            "2000")
        self.assert_no_loss(trace)
        with open(counts, encoding="utf-8") as f:
            theirs = int(re.search(r"(?m)^(\d+),,lock:contention_begin", f.read())[1])
        report = e2e.report_json("locks", trace, "--stacks", "--kernel", "--comm", "contended")
        ours = sum(r["count"] for r in report["rows"])
        waits = [r for r in report["rows"] if r["kind"] in ("rwsem write", "rwsem read")]
        self.assertTrue(waits, report["rows"])
        # It counts those within BPF programs too.
        self.assertAlmostEqual(sum(r["count"] for r in waits), theirs, delta=2 + theirs // 50)
        by_kind = {r["kind"]: r["count"] for r in e2e.rows("locks", trace, "--kernel", "--by",
                                                           "kind", "--comm", "contended")}
        self.assertEqual(sum(n for kind, n in by_kind.items() if kind.startswith("rwsem")),
                         sum(r["count"] for r in waits))
        self.assertEqual(sum(by_kind.values()), ours)
        stacks = [s["stack"] for s in report["stacks"] if s["kind"] == "rwsem write"]
        self.assertTrue([s for s in stacks if re.search("vm_mmap_pgoff|vm_munmap", s)], stacks)
        self.assertTrue(all(r["kernel"] for r in report["rows"]))
        self.assertEqual(sum(s["count"] for s in report["stacks"]), ours)

    def test_json_and_csv_agree(self):
        trace, _, _ = self.contend("mutex", "5", "1000")
        from_json = sorted((r["lock"], r["count"], r["wait_ns"]) for r in e2e.rows("locks", trace))
        from_csv = sorted((r["lock"], int(r["count"]), int(r["wait_ns"]))
                          for r in e2e.report_csv("locks", trace))
        self.assertEqual(from_json, from_csv)
        self.assertTrue(json.dumps(from_json))


if __name__ == "__main__":
    e2e.main()

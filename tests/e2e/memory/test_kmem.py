# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory of the kernel, against what a program did and what /proc/slabinfo and /proc/PID/status say."""

import math
import os
import re
import resource
import signal
import time
import unittest

import e2e

KEPT, DROPPED = 10000, 30000
TENTH = KEPT // 10
FILES = KEPT + TENTH + 2 * TENTH  # a socket has one, a pipe two


def slab(name, attribute):
    with open(f"/sys/kernel/slab/{name}/{attribute}", encoding="ascii") as f:
        return int(f.read().split()[0])


def slack(name):
    """Objects that /proc/slabinfo counts as active though nobody has them: those of slabs that are
    some CPU's. And what the rest of the machine may do meanwhile."""
    return os.cpu_count() * (slab(name, "objs_per_slab") + slab(name, "cpu_partial")) + 500


class Kmem(e2e.TestCase):
    def hoard(self, source, kept=KEPT, dropped=DROPPED, ready=1.0):
        """Records a program that keeps so many objects, for as long as it has them. Gives the
        trace; sets pid, slabs {step: {cache: active}} and status, /proc/PID/status at the end."""
        need = FILES + 1000
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard != resource.RLIM_INFINITY:
            self.assertGreaterEqual(hard, need, "ulimit -n is too low for this test")
        child = self.start("prlimit", f"--nofile={need}", e2e.program("hoarder"), kept, dropped,
                           "wait", stdout=-1, stdin=-1)
        self.pid = int(child.stdout.readline().split()[1])
        trace = self.path(source.replace(":", "-") + ".ebt")
        recorder = self.start(e2e.EBREC, "-f", "-o", trace, "-e", source, "-p", self.pid,
                              stderr=-1)
        self.wait_for_rows(trace, recorder, "process_memory")
        child.stdin.write(b"\n")
        child.stdin.flush()
        self.slabs = {}
        for line in iter(child.stdout.readline, b"done\n"):
            self.assertTrue(line, "the program ended")
            _, step, cache, active = line.decode().split()
            self.slabs.setdefault(step, {})[cache] = int(active)
        time.sleep(ready)  # for what is freed a little later
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            self.status = dict(re.findall(r"(\w+):\s+(\d+) kB", f.read()))
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(e2e.SECONDS), 0, recorder.stderr.read())
        child.stdin.write(b"\n")
        child.stdin.close()
        self.assertEqual(child.wait(e2e.SECONDS), 0)
        return trace

    def caches(self, trace):
        return {row["cache"]: row for row in e2e.rows("mem", trace, "--by", "cache", "--pid",
                                                      self.pid)}

    def through(self, report, pattern):
        """Live objects whose stack matches; the innermost function comes first."""
        return sum(s["live_count"] for s in report["stacks"] if re.search(pattern, s["stack"]))

    def test_objects(self):
        trace = self.hoard("kmem")
        self.assert_no_loss(trace)
        caches = self.caches(trace)
        # What the program did, exactly; what it read of /proc is closed again.
        self.assertEqual(caches["filp"]["live_count"], FILES)
        self.assertEqual(caches["sock_inode_cache"]["live_count"], TENTH)
        self.assertGreaterEqual(caches["filp"]["freed_count"], DROPPED)
        self.assertLess(caches["filp"]["freed_count"], DROPPED + 10)
        for name in "filp", "sock_inode_cache":
            row = caches[name]
            self.assertEqual(row["allocated_count"] - row["freed_count"], row["live_count"])
            self.assertEqual(row["live_bytes"], row["live_count"] * slab(name, "slab_size"))
            self.assertEqual(row["live_waste_bytes"], row["live_count"]
                             * (slab(name, "slab_size") - slab(name, "object_size")))
            # What the kernel counts.
            grown = self.slabs["after"][name] - self.slabs["before"][name]
            self.assertAlmostEqual(grown, row["live_count"], delta=slack(name), msg=name)

        # Of each thread and cache: there is one thread, and nothing else that it kept.
        both = [row for row in e2e.rows("mem", trace, "--by", "thread,cache", "--pid", self.pid)
                if row.get("tid")]
        self.assertEqual({row["tid"] for row in both}, {self.pid})
        self.assertEqual({row["cache"]: row["live_count"] for row in both}["filp"], FILES)
        self.assertEqual(sum(row["allocated_bytes"] for row in both),
                         sum(row["allocated_bytes"] for row in caches.values()))
        said = e2e.run(e2e.EBREPORT, "mem", "--caches", trace, status=2).stderr
        self.assertIn(b"--by cache", said)
        # Over all stacks, live or not, it is as much.
        stacks = e2e.rows("mem", trace, "--by", "stack", "--pid", self.pid)
        self.assertEqual(sum(row["allocated_count"] for row in stacks),
                         sum(row["allocated_count"] for row in both))
        self.assertEqual(self.through({"stacks": stacks}, r"^kmem_cache_alloc\w*;alloc_empty_file;"
                                                          r".*;open;keep_files;main;"), KEPT)

        # Where: all that is kept, and nothing that was closed.
        report = e2e.report_json("mem", trace)
        self.assertEqual(self.through(report, r"^kmem_cache_alloc\w*;alloc_empty_file;"
                                              r".*;do_sys_open\w*;.*;open;keep_files;main;"), KEPT)
        self.assertEqual(self.through(report, r"^kmem_cache_alloc\w*;sock_alloc_inode;"
                                              r".*;socket;keep_sockets;main;"), TENTH)
        self.assertEqual(self.through(report, r"^kmem_cache_alloc\w*;alloc_empty_file;.*"
                                              r";drop_files;"), 0)
        self.check_process(report)
        old = e2e.report_json("mem", trace, "--min-age", "1h")
        self.assertEqual(old["stacks"], [])
        self.assertEqual(old["rows"], report["rows"])

    def check_process(self, report):
        row = next(r for r in report["rows"] if r["pid"] == self.pid)
        self.assertEqual(row["comm"], "hoarder")
        self.assertEqual(row["rate_bytes"], 0)
        self.assertEqual(row["allocated_bytes"] - row["freed_bytes"], row["live_bytes"])
        self.assertEqual(sum(s["live_bytes"] for s in report["stacks"]), row["live_bytes"])
        self.assertEqual(row["vm_bytes"], int(self.status["VmSize"]) * 1024)
        self.assertEqual(row["rss_bytes"], int(self.status["VmRSS"]) * 1024)
        # Pages of slabs: no fewer than the objects need that are counted exactly.
        self.assertGreater(row["page_live_bytes"], FILES * slab("filp", "slab_size") * 0.9)
        self.assertEqual(len(report["system"]), 2)
        with open("/proc/meminfo", encoding="ascii") as f:
            total = int(re.search(r"MemTotal: +(\d+)", f.read())[1]) * 1024
        self.assertEqual(report["system"][0]["total_bytes"], total)

    def test_sampled(self):
        rate = 16384
        trace = self.hoard(f"kmem:slab:nostack:rate={rate}")
        self.assert_no_loss(trace)
        row = self.caches(trace)["filp"]
        size = slab("filp", "slab_size")
        # Each of n is there with probability p and stands for 1/p: a standard deviation of
        # sqrt(n (1 - p) / p). Chance goes beyond six of them once in 500 million times.
        for n, count in (FILES, row["live_count"]), (FILES + DROPPED, row["allocated_count"]):
            p = size / rate
            deviation = math.sqrt(n * (1 - p) / p)
            self.assertLess(deviation * 6, n / 2, "the test would tell nothing")
            self.assertAlmostEqual(count, n, delta=6 * deviation)
        self.assertAlmostEqual(row["live_bytes"], row["live_count"] * size, delta=size)
        self.assertEqual(row["rate_bytes"], rate)
        expected = math.sqrt(FILES * (1 - p) / p) * size
        self.assertAlmostEqual(row["live_error_bytes"], expected, delta=expected / 2)
        # Few are recorded, and of frees those of recorded ones only.
        tables = e2e.tables(trace)
        total = sum(row["allocated_count"] for row in self.caches(trace).values())
        self.assertLess(tables["kmem_alloc"]["row_count"], total / 5)
        self.assertLessEqual(tables["kmem_free"]["row_count"], tables["kmem_alloc"]["row_count"])
        self.assertNotIn("page_alloc", tables)
        self.assertIn("estimates", e2e.ebreport("mem", trace))

    def test_freed_at_the_end(self):
        # A process that ends leaves nothing, though much of it is freed by others.
        trace = self.record("-e", "kmem", "--", "prlimit", f"--nofile={FILES + 1000}",
                            e2e.program("hoarder"), KEPT, 0)
        self.assert_no_loss(trace)
        report = e2e.report_json("mem", trace)
        self.assertGreater(sum(r["allocated_count"] for r in report["rows"]), 2 * FILES)
        # A file is freed when its process ends at the latest, or soon after the recording.
        self.assertLess(self.through(report, r"^kmem_cache_alloc\w*;alloc_empty_file;"), KEPT / 100)

    def test_pages(self):
        # Pages of a process are there for as long as it has them, and as many as it touched.
        mib = 64
        code = (f"import mmap,sys\nm = mmap.mmap(-1, {mib} << 20)\nm.madvise(mmap.MADV_NOHUGEPAGE)\n"
                f"for i in range(0, {mib} << 20, 4096): m[i] = 1\nprint(flush=True)\n"
                "sys.stdin.readline()\n")
        child = self.start("python3", "-c", "import sys; sys.stdin.readline()\n" + code, stdout=-1,
                           stdin=-1)
        trace = self.path("pages.ebt")
        recorder = self.start(e2e.EBREC, "-f", "-o", trace, "-e", "kmem:pages:rss", "-p", child.pid)
        self.wait_for_rows(trace, recorder, "process_memory")
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(e2e.SECONDS), 0)
        with open(f"/proc/{child.pid}/smaps_rollup", encoding="ascii") as f:
            anonymous = int(re.search(r"Anonymous: +(\d+)", f.read())[1]) << 10
        child.stdin.close()
        child.wait(e2e.SECONDS)
        self.assert_no_loss(trace)
        row = next(r for r in e2e.rows("mem", trace) if r["pid"] == child.pid)
        self.assertGreaterEqual(row["page_live_bytes"], mib << 20)
        self.assertLess(row["page_live_bytes"], (mib + 4) << 20)  # page tables, for one
        self.assertGreaterEqual(row["rss_bytes"], anonymous)
        self.assertEqual(row["live_count"], 0)
        # Over time: the kernel counts in batches for each CPU.
        most = max(int(r["bytes"]) for r in e2e.Dump(trace, "--table", "rss_stat").rows("rss_stat")
                   if r["kind"] == "anon")
        batch = max(32, 2 * os.cpu_count()) * 4096 * os.cpu_count()
        self.assertAlmostEqual(most, anonymous, delta=2 * batch)

    def test_whole_system(self):
        trace = self.path("all.ebt")
        recorder = self.start(e2e.EBREC, "-f", "-o", trace, "-e", "kmem:slab:nostack", "-a")
        self.wait_for_rows(trace, recorder, "kmem_alloc")
        e2e.run("prlimit", f"--nofile={FILES + 1000}", e2e.program("hoarder"), KEPT, 0)
        time.sleep(1)
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(e2e.SECONDS), 0)
        hoarder = [r for r in e2e.rows("mem", trace) if r["comm"] == "hoarder"]
        self.assertEqual(len(hoarder), 1)
        self.assertGreater(hoarder[0]["allocated_count"], 2 * FILES)
        if not e2e.lost(trace):
            # Its objects have gone with it, whoever freed them.
            self.assertLess(hoarder[0]["live_count"], hoarder[0]["allocated_count"] / 20)

    def test_arguments(self):
        for wrong in "kmem:rate=0", "kmem:rate=3G", "kmem:nothing", "kmem:":
            done = e2e.run(e2e.EBREC, "-f", "-o", self.path("t.ebt"), "-e", wrong, "--", "true",
                           status=125)
            self.assertIn(b"source kmem", done.stderr)


if __name__ == "__main__":
    e2e.main()

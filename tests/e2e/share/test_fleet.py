# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of three hosts in a real ClickHouse: `upload` sends them twice, and once the connection breaks; each
counts once, frames get names by build-id, and the queries of docs/FLEET.md answer what the reports of the traces say."""

import collections
import csv
import io
import os
import re
import subprocess
import sys
import urllib.request

import e2e

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/fleet"))
import clickhouse  # noqa: E402

BUILD = os.path.join(os.path.dirname(e2e.PROGRAMS), "fleet")
HOSTS = "web-1", "web-2", "web-3"
# Calls, a disk, and a thread that waits for another.
WORK = ("dd if=/dev/zero of=$1/file bs=64K count=40 oflag=dsync 2>/dev/null; ls -lR /usr/include >/dev/null; "
        "python3 -c 'import threading as t; l = t.Lock(); l.acquire(); t.Timer(0.05, l.release).start(); l.acquire()'; "
        "find /usr/share/doc | sort | tail -n 1")
# Tables that hold what others say as well, or nothing of the trace's own.
MADE = {"trace", "host", "frame", "stack", "offcpu"}
EVENTS = {"sample", "sched_switch", "sched_waking", "syscall", "fault", "block_io", "futex_wait", "kmem_alloc", "irq"}


def without_places(stack):
    """A place in a file that has no name there: where a file is linked to is not known without it."""
    return re.sub(r"\+0x[0-9a-f]+(?=;|$)", "", stack)


class Fleet(e2e.TestCase):
    def setUp(self):
        super().setUp()
        try:
            self.server = clickhouse.ClickHouse(BUILD, self.path("clickhouse"))
        except SystemExit as left_out:
            if left_out.code == clickhouse.npm.SKIP:
                self.skipTest("npm did not give ClickHouse, as it says above")
            raise
        self.addCleanup(self.server.close)
        self.url = self.server.url

    def ask(self, sql):
        return self.server.ask(sql, e2e.SECONDS)

    def query(self, name, **parameters):
        return self.server.query(name, e2e.SECONDS, **parameters)

    def rows(self, name, **parameters):
        return list(csv.DictReader(io.StringIO(self.query(name, **parameters)), delimiter="\t",
                                   quoting=csv.QUOTE_NONE))

    def upload(self, *words, status=0):
        done = subprocess.run([os.path.join(clickhouse.SHARE, "upload"), *words], capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=e2e.SECONDS,
                              env={**e2e.CLEAN, "CLICKHOUSE_URL": self.url, "EBT_UPLOAD_TRIES": "1"})
        self.assertEqual(done.returncode, status, done.stderr.decode())

    def record_hosts(self):
        """Names of hosts are the kernel's, of a UTS namespace of each."""
        traces = []
        for host in HOSTS:
            traces.append(self.path(host + ".ebt"))
            e2e.run("unshare", "--uts", "sh", "-c", 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"', host, e2e.EBREC, "-q", "-e",
                    "all", "-F", "499", "-o", traces[-1], "--", "bash", "-c", WORK, "work", self.folder)
        return traces

    def send(self, traces):
        """The first two twice, the last until the connection breaks, and what is left of it once more."""
        spool = self.path("spool")
        os.mkdir(spool)
        for turn in range(2):
            for trace in traces[:2]:
                e2e.ebreport("export", "--to", "clickhouse", "-o", os.path.join(spool, f"{turn}-{os.path.basename(trace)}"),
                             trace)
            self.upload(spool)
            self.assertEqual(os.listdir(spool), [])
        e2e.ebreport("export", "--to", "clickhouse", "-o", os.path.join(spool, "last"), traces[2])
        tables = len(os.listdir(os.path.join(spool, "last")))
        for n in range(3, tables, max(1, tables // 3)):
            urllib.request.urlopen(f"{self.url}&broken={n}", timeout=e2e.SECONDS).close()
            self.upload(spool, status=1)
            self.assertEqual(os.listdir(spool), ["last"])
            self.assertEqual(self.ask("SELECT count() FROM trace FINAL").strip(), "2")
        urllib.request.urlopen(f"{self.url}&broken=1000", timeout=e2e.SECONDS).close()
        self.upload(spool)
        self.assertEqual(os.listdir(spool), [])

    def check_rows(self, traces):
        """Events are those of the time that was recorded; of what they refer to, older rows are there as well."""
        recorded, every = collections.Counter(), collections.Counter()
        for trace in traces:
            duration = e2e.report_json("info", trace)["duration_ns"]
            recorded.update(line.split(" ", 2)[1] for line in
                            e2e.ebreport("dump", "--from", "0s", "--to", f"{duration}ns", trace).splitlines())
            for name, row in e2e.tables(trace).items():
                every[name] += row["row_count"]
        names = set(self.ask("SHOW TABLES").split()) & every.keys() - MADE
        self.assertGreater(names, EVENTS)
        for name in names:
            got = int(self.ask(f"SELECT count() FROM {name} FINAL"))
            self.assertGreaterEqual(got, recorded[name], name)
            self.assertLessEqual(got, recorded[name] if name in EVENTS else every[name], name)
        self.assertTrue(all(recorded[name] for name in EVENTS), recorded)
        self.assertEqual(self.ask("SELECT host FROM trace FINAL ORDER BY host").split(), list(HOSTS))

    def check_flame(self, traces):
        wanted = collections.Counter()
        for trace in traces:
            wanted += e2e.folded(trace, "--by", "none")
        total = sum(wanted.values())
        wanted.pop("[no frames]", None)
        tsv = self.path("flame.tsv")
        with open(tsv, "w", encoding="utf-8") as file:
            file.write(self.query("flame", comm="%", build=""))
        got = collections.Counter()
        with open(tsv, encoding="utf-8") as file:
            for line in file:
                stack, ns = line.rsplit("\t", 1)
                got[stack] += int(ns)
        self.assertEqual((got - wanted, wanted - got), ({}, {}))
        self.assertGreater(len(wanted), 20)
        svg = e2e.ebreport("flame", "--from-sql", tsv)
        self.assertIn(re.sub(r".*;", "", max(wanted, key=wanted.get)), svg)
        self.check_callers(wanted)
        self.check_difference(wanted, total)

    def check_names(self, traces):
        """Frames that came without names get them all at once, by build-id; those that no file here has one for stay."""
        def named():
            return {line for line in self.ask("SELECT build_id, object, offset FROM frame FINAL WHERE named AND offset > 0 "
                                              "ORDER BY ALL FORMAT TSV").splitlines()}

        wanted, folded = named(), collections.Counter()
        self.assertGreater(len(wanted), 50)
        for trace in traces:
            for stack, ns in e2e.folded(trace, "--by", "none").items():
                folded[without_places(stack)] += ns
        folded.pop("[no frames]", None)
        self.ask("TRUNCATE TABLE frame")
        spool, tsv = self.path("spool"), self.path("unnamed.tsv")
        for trace in traces:
            e2e.ebreport("export", "--to", "clickhouse", "--no-symbols", "-o", os.path.join(spool, os.path.basename(trace)), trace)
        self.upload(spool)
        self.assertEqual(named(), set())
        for turn in range(2):
            unnamed = self.query("unnamed", file="%")
            with open(tsv, "w", encoding="utf-8") as file:
                file.write(unnamed)
            if turn == 0:
                self.assertGreaterEqual(set(unnamed.splitlines()), wanted)
            else:
                self.assertEqual(set(unnamed.splitlines()) & wanted, set())
            e2e.ebreport("export", "--to", "clickhouse", "--from-sql", "-o", os.path.join(spool, "names"), tsv)
            self.assertEqual(os.listdir(os.path.join(spool, "names")), ["frame.native"])
            self.upload(spool)
            self.assertEqual(os.listdir(spool), [])
            self.assertEqual(named(), wanted)
        got = collections.Counter()
        for line in self.query("flame", comm="%", build="").splitlines():
            stack, ns = line.rsplit("\t", 1)
            got[without_places(stack)] += int(ns)
        self.assertEqual((got - folded, folded - got), ({}, {}))
        self.check_rows(traces)

    def check_callers(self, stacks):
        wanted = collections.Counter()
        for stack, ns in stacks.items():
            names = stack.split(";")
            if "do_syscall_64" in names:
                wanted[names[names.index("do_syscall_64") - 1]] += ns
        got = self.rows("callers", function="do_syscall_64", n=1000)
        self.assertEqual({row["caller"]: float(row["ms"]) for row in got},
                         {name: round(ns / 1e6, 3) for name, ns in wanted.items()})

    def check_difference(self, stacks, total):
        """Of a kernel to itself there is none, and its stacks are a whole."""
        kernel = os.uname().release
        lines = [line.rsplit("\t", 2) for line in self.query("difference", what="kernel", before=kernel, after=kernel,
                                                              comm="%").splitlines()]
        self.assertEqual([line for line in lines if line[1] != line[2]], [])
        for stack, before, _ in lines:
            self.assertAlmostEqual(int(before), 1e6 * stacks[stack] / total, delta=0.51, msg=stack)
        self.assertAlmostEqual(sum(int(before) for _, before, _ in lines), 1e6 * sum(stacks.values()) / total,
                               delta=len(stacks))

    def check_waits(self, traces):
        runq = self.rows("runq", n=10)
        wanted = {}
        for host, trace in zip(HOSTS, traces):
            wanted[host] = sum(int(row["wait_ns"]) for row in e2e.rows("offcpu", trace, "--all", "--kernel-threads"))
        self.assertEqual({row["host"]: float(row["total_ms"]) for row in runq},
                         {host: round(ns / 1e6, 3) for host, ns in wanted.items()})
        worst = [float(row["p99_ms"]) for row in runq]
        self.assertEqual(worst, sorted(worst, reverse=True))
        for row in runq:
            self.assertLessEqual(float(row["p99_ms"]), float(row["longest_ms"]))

    def check_disks(self, traces):
        wanted = {}
        for host, trace in zip(HOSTS, traces):
            for row in e2e.Dump(trace, "--table", "block_io").rows("block_io"):
                if row["layer"] == "request" and row["state"] != "in flight":
                    key = host, row["op"]
                    requests, size = wanted.get(key, (0, 0))
                    wanted[key] = requests + 1, size + int(row["bytes"])
        got = collections.defaultdict(lambda: (0, 0))
        for row in self.rows("disks", n=1000):
            requests, size = got[row["host"], row["op"]]
            got[row["host"], row["op"]] = requests + int(row["requests"]), size + int(row["bytes"])
        self.assertEqual(got, wanted)
        self.assertTrue(wanted)

    def check_locks(self, traces):
        wanted = collections.Counter()
        for trace in traces:
            for name, row in e2e.tables(trace).items():
                if name in ("futex_wait", "lock_wait"):
                    wanted["futex" if name == "futex_wait" else "kernel"] += row["row_count"]
        got = collections.Counter()
        for row in self.rows("locks", n=1000):
            got[row["kind"]] += int(row["waits"])
        self.assertEqual(+got, +wanted)
        self.assertTrue(got["futex"])

    def test_uploads(self):
        traces = self.record_hosts()
        self.upload("--tables")
        self.send(traces)
        self.check_rows(traces)
        self.check_flame(traces)
        self.check_waits(traces)
        self.check_disks(traces)
        self.check_locks(traces)
        self.check_names(traces)


if __name__ == "__main__":
    e2e.main()

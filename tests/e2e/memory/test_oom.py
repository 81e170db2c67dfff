# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes killed for lack of memory, beside what the kernel writes to its log and counts for the
cgroup whose limit was reached.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import e2e

LIMIT = 40 << 20
HUNGRY = "bytearray(100 << 20)"  # more than the limit
# Says that it has 20 MiB, and keeps them.
HOLDER = "import time; b = bytearray(20 << 20); print('ready', flush=True); time.sleep(300)"
KIB = 1024
LINE = re.compile(r"(\w[\w ]*): Killed process (\d+) \((.*?)\) total-vm:(\d+)kB, anon-rss:(\d+)kB, "
                  r"file-rss:(\d+)kB, shmem-rss:(\d+)kB, UID:(\d+) pgtables:(\d+)kB "
                  r"oom_score_adj:(-?\d+)")
CHOICE = re.compile(r"oom-kill:constraint=CONSTRAINT_(\w+),.*?"
                    r"(?:,oom_memcg=(.*?)|,global_oom),task_memcg=(.*?),task=.*,pid=(\d+),uid=")
REQUEST = re.compile(r"(?:^|\] )(.{1,15}) invoked oom-killer: gfp_mask=(0x[0-9a-f]+)\(.*?\), "
                     r"order=(-?\d+),")
CONSTRAINTS = {"NONE": "machine", "CPUSET": "cpuset", "MEMORY_POLICY": "memory policy",
               "MEMCG": "cgroup"}
# Pages that each CPU may keep for itself before a sum has them.
BATCH = max(32, 2 * os.cpu_count()) * os.cpu_count() * os.sysconf("SC_PAGESIZE")


def killed(log):
    """{pid: what the kernel's log says of the kill}; of one whose choice it did not explain, less."""
    found, request, choice = {}, {}, {}
    for line in log.splitlines():
        if match := REQUEST.search(line):
            request = {"by_comm": match[1], "gfp": match[2], "order": int(match[3])}
        elif match := CHOICE.search(line):
            choice[int(match[4])] = {"constraint": CONSTRAINTS[match[1]], "limit": match[2] or "",
                                     "cgroup": match[3], **request}
        elif match := LINE.search(line):
            total, anon, file, shmem = (int(n) * KIB for n in match.group(4, 5, 6, 7))
            pid = int(match[2])
            # Who was killed first is killed again with its group.
            found.setdefault(pid, {
                "message": match[1], "comm": match[3], "total_vm_bytes": total, "anon_bytes": anon,
                "file_bytes": file, "shmem_bytes": shmem, "uid": int(match[8]),
                "page_table_bytes": int(match[9]) * KIB, "score_adj": int(match[10]),
                **choice.pop(pid, {})})
    return found


def check(test, rows, log):
    """Each row is what the log says of its process."""
    said = killed(log)
    for row in rows:
        test.assertIn(row["pid"], said)
        for key, value in said[row["pid"]].items():
            got = row.get(key, "")
            if key == "message" and not got:
                continue  # known only where functions can be traced
            if key in ("anon_bytes", "file_bytes", "shmem_bytes"):
                # Another one goes on, from when it is chosen until the log has its line.
                if row["pid"] == row["by_pid"]:
                    test.assertAlmostEqual(got, value, delta=BATCH, msg=key)
            else:
                test.assertEqual(got, value, key)
        test.assertEqual(row["resident_bytes"],
                         row["anon_bytes"] + row["file_bytes"] + row["shmem_bytes"])


def memory_hierarchy():
    """(folder, version) of the cgroups that limit memory."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        for _, folder, kind, options, *_ in map(str.split, f):
            if kind == "cgroup" and "memory" in options.split(","):
                return folder, 1
            if kind == "cgroup2":
                with open(f"{folder}/cgroup.controllers", encoding="utf-8") as controllers:
                    if "memory" in controllers.read().split():
                        return folder, 2
    return None, 0


class Oom(e2e.TestCase):
    def setUp(self):
        super().setUp()
        root, self.version = memory_hierarchy()
        if not root:
            raise unittest.SkipTest("no cgroups limit memory here")
        self.cgroup = f"/ebt-oom-{os.getpid()}"
        self.group = root + self.cgroup
        if self.version == 2:
            with open(f"{root}/cgroup.subtree_control", "w", encoding="utf-8") as f:
                f.write("+memory")
        os.mkdir(self.group)
        self.addCleanup(self.remove)
        self.set("memory.max" if self.version == 2 else "memory.limit_in_bytes", LIMIT)
        for name in "memory.swap.max", "memory.memsw.limit_in_bytes":
            with contextlib.suppress(OSError):
                self.set(name, 0 if self.version == 2 else LIMIT)

    def remove(self):
        with open(f"{self.group}/cgroup.procs", encoding="utf-8") as f:
            for pid in map(int, f):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 60  # it is empty when what was killed is gone
        while True:
            try:
                os.rmdir(self.group)
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def set(self, name, value):
        # The kernel makes one that is not there if it is asked to.
        with open(os.open(f"{self.group}/{name}", os.O_WRONLY), "w", encoding="utf-8") as f:
            f.write(str(value))

    def counted(self):
        """Kills that the kernel counts for the cgroup."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        with open(f"{self.group}/{name}", encoding="utf-8") as f:
            return int(re.search(r"^oom_kill (\d+)$", f.read(), re.M)[1])

    def inside(self, code, adj=0):
        """A command that becomes a Python program in the cgroup."""
        return ["sh", "-ec", f"echo $$ >{self.group}/cgroup.procs; echo {adj} >/proc/$$/oom_score_adj; "
                'exec "$@"', "sh", sys.executable, "-c", code]

    def log(self):
        return e2e.run("dmesg").stdout.decode(errors="replace")

    def holder(self, adj):
        holder = self.start(*self.inside(HOLDER, adj), stdout=subprocess.PIPE)
        self.assertEqual(holder.stdout.readline(), b"ready\n")
        return holder

    def test_each(self):
        """Several, one after the other; each wanted memory for itself."""
        trace = self.record("-e", "oom", "--", "sh", "-c", 'for i in 1 2 3; do "$@"; done; true', "sh",
                            *self.inside(HUNGRY, 17))
        self.assert_no_loss(trace)
        rows = e2e.rows("oom", trace)
        self.assertEqual(len(rows), 3)
        self.assertEqual(self.counted(), 3)
        check(self, rows, self.log())
        for row in rows:
            self.assertEqual((row["pid"], row["tid"]), (row["by_pid"], row["by_tid"]))
            self.assertEqual(row["score_adj"], 17)
            self.assertGreater(row["total_vm_bytes"], 100 << 20)
            self.assertEqual(row["constraint"], "cgroup")
            self.assertEqual((row["limit"], row["cgroup"]), (self.cgroup, self.cgroup))
            self.assertLess(row["resident_bytes"], LIMIT + (20 << 20))  # files are others'
            self.assertGreater(row["anon_bytes"], LIMIT // 2)

    def test_for_another(self):
        """The victim is not who wanted memory. It alone is recorded."""
        holder = self.holder(900)
        trace = self.path("t.ebt")
        ebrec = self.start(e2e.EBREC, "-q", "-e", "oom", "-o", trace, "-p", holder.pid)
        self.wait_for_rows(trace, ebrec, "process")
        # Too much beside the other one, and well below the limit once that is gone.
        hungry = subprocess.Popen(self.inside("b = bytearray(24 << 20)"))
        late = hungry.wait(e2e.SECONDS)
        if late:
            # Linux 6.18 was seen to look for the next victim while the first one, dead, was still charged
            # for its 20 MiB: the limit is reached with so much less, and who asks, and is not recorded, goes.
            self.assertEqual(late, -signal.SIGKILL)
            self.assertLess(killed(self.log())[hungry.pid]["anon_bytes"], LIMIT - (20 << 20))
        self.assertEqual(holder.wait(e2e.SECONDS), -signal.SIGKILL)
        self.assertEqual(ebrec.wait(e2e.SECONDS), 0)
        row, = e2e.rows("oom", trace)
        self.assertEqual((row["pid"], row["by_pid"]), (holder.pid, hungry.pid))
        self.assertEqual(self.counted(), 1 if late == 0 else 2)
        check(self, [row], self.log())

    def test_of_others(self):
        """What happens to processes that are not followed is in no trace, unless -a is given."""
        other = self.inside(HUNGRY)
        for target, n in (["--", "sleep", "300"], 0), (["-a"], 1):
            trace = self.path(f"{n}.ebt")
            ebrec = self.start(e2e.EBREC, "-q", "-e", "oom", "-o", trace, *target)
            self.wait_for_rows(trace, ebrec, "process")
            self.assertEqual(e2e.run(*other, status=None).returncode, -signal.SIGKILL)
            ebrec.send_signal(signal.SIGINT)
            ebrec.wait(e2e.SECONDS)
            mine = [row for row in e2e.rows("oom", trace) if row.get("limit") == self.cgroup]
            self.assertEqual(len(mine), n)
        self.assertEqual(self.counted(), 2)

    def test_said(self):
        """Whether somebody looked is told apart from nobody was killed."""
        self.record("-e", "oom", "--", "true", name="none.ebt")
        self.assertEqual(e2e.report_json("oom", self.path("none.ebt"))["warnings"], [])
        self.record("-e", "sched", "--", "true", name="other.ebt")
        warning, = e2e.report_json("oom", self.path("other.ebt"))["warnings"]
        self.assertIn("-e oom", warning)


if __name__ == "__main__":
    e2e.main()

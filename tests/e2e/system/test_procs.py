# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes: what each used, how it was scheduled and how it ended, equal to wait4(), /proc/PID/sched,
/proc/PID/io and what /proc/self said to the program itself."""

import json
import os
import signal
import subprocess
import sys

import e2e

CHILDREN = os.path.join(e2e.SOURCE, "tests/programs/children.py")
POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle"}
# The kernel clears a word of a thread's memory and closes its files after task_exit.
FAULTS_BEHIND = 4


class Procs(e2e.TestCase):
    def record_children(self, *sources):
        # What others mount meanwhile is not to be seen.
        trace = self.record(*sources, "--", "unshare", "-m", sys.executable, CHILDREN, self.folder)
        lines = self.recorded.stdout.decode().splitlines()
        self.truth = {child["name"]: child for child in map(json.loads, lines)}
        self.addCleanup(os.kill, self.truth["left"]["pid"], signal.SIGKILL)
        self.assert_no_loss(trace)
        self.rows = {row["pid"]: row for row in e2e.rows("procs", trace)}
        return trace

    def ended(self):
        """(truth, row) of each child that has ended."""
        for truth in self.truth.values():
            if "status" in truth:
                yield truth, self.rows[truth["pid"]]

    def own_sum(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return json.load(f)

    def check_ends(self):
        for truth, row in self.ended():
            number = truth["status"] & 0x7f
            code = 128 + number if number else truth["status"] >> 8
            self.assertEqual(row["exit_code"], code, truth["name"])
            self.assertEqual(row.get("signal", 0), number)
            self.assertEqual(row["ppid"], self.truth["self"]["pid"])
            self.assertLess(row["begin_ns"], row["end_ns"])
        codes = {truth["name"]: row["exit_code"] for truth, row in self.ended()}
        self.assertEqual(codes["exit_three"], 3)
        self.assertEqual(codes["segfault"], 128 + signal.SIGSEGV)
        self.assertEqual(codes["chain"], 4)

    def check_scheduling(self):
        for truth, row in self.ended():
            self.assertEqual(row["prio"], truth["sched"]["prio"], truth["name"])
            self.assertEqual(row["policy"], POLICIES[truth["sched"]["policy"]])
            self.assertEqual(row["nice"], truth["nice"])
        named = {truth["name"]: row for truth, row in self.ended()}
        self.assertEqual((named["niced"]["nice"], named["niced"]["prio"]), (7, 127))
        self.assertEqual((named["fifo"]["rt_priority"], named["fifo"]["prio"]), (11, 88))
        self.assertEqual(named["chain"]["nice"], 3)

    def check_usage(self):
        for truth, row in self.ended():
            name = truth["name"]
            self.assertEqual(row["max_rss_bytes"], truth["maxrss"], name)
            self.assertLessEqual(row["minor"], truth["minflt"], name)
            self.assertLessEqual(truth["minflt"] - row["minor"], FAULTS_BEHIND, name)
            self.assertLessEqual(row["major"], truth["majflt"], name)
            self.assertLessEqual(truth["majflt"] - row["major"], FAULTS_BEHIND, name)
            self.assertEqual(row["read_bytes"], truth["io"]["read_bytes"], name)
            self.assertEqual(row["write_bytes"], truth["io"]["write_bytes"], name)
        named = {truth["name"]: row for truth, row in self.ended()}
        self.assertGreaterEqual(named["exit_three"]["minor"], 24 * 256)
        self.assertGreaterEqual(named["exit_three"]["max_rss_bytes"], 24 << 20)

    def test_at_exit(self):
        trace = self.record_children("-e", "sched,task")
        self.check_ends()
        self.check_scheduling()
        self.check_usage()
        # A kernel may hide switches: then the last one of a process may be missing.
        final = {int(row["task"].split("/")[0])
                 for row in e2e.Dump(trace, "--table", "task_end").rows("task_end")}
        exact = 0
        for truth, row in self.ended():
            kernel = truth["sched"]
            if truth["name"] == "threads" or truth["pid"] not in final:
                # wait4() has threads without their last switch.
                self.assertLessEqual(row["nvcsw"], truth["nvcsw"] + row["thread_count"])
                self.assertGreaterEqual(row["nvcsw"] + 1, truth["nvcsw"])
                continue
            exact += 1
            self.assertEqual(row["run_ns"], kernel["se.sum_exec_runtime"], truth["name"])
            self.assertEqual(row["nvcsw"], kernel["nr_voluntary_switches"], truth["name"])
            self.assertEqual(row["nivcsw"], kernel["nr_involuntary_switches"], truth["name"])
        self.assertGreater(exact, 5)
        sleeper = self.rows[self.truth["sleeper"]["pid"]]
        self.assertGreaterEqual(sleeper["nvcsw"], 20)

    def test_threads(self):
        trace = self.record_children("-e", "sched,task")
        pid = self.truth["threads"]["pid"]
        threads = [row for row in e2e.rows("procs", trace, "--threads") if row["pid"] == pid]
        self.assertEqual(len(threads), 4)
        self.assertEqual(sum(row["run_ns"] for row in threads), self.rows[pid]["run_ns"])
        self.assertEqual(sum(row["nvcsw"] for row in threads), self.rows[pid]["nvcsw"])
        first = next(row for row in threads if row["tid"] == pid)
        for row in threads:
            self.assertGreaterEqual(row["begin_ns"], first["begin_ns"])
            self.assertLessEqual(row["end_ns"], self.rows[pid]["end_ns"])

    def test_without_switches(self):
        # What the kernel has charged by then: not less than the child itself could see.
        self.record_children("-e", "task")
        self.check_ends()
        self.check_scheduling()
        self.check_usage()
        for truth, row in self.ended():
            if row["thread_count"] == 1:
                self.assertLessEqual(row["run_ns"], truth["sched"]["se.sum_exec_runtime"])
        self.assertGreaterEqual(self.rows[self.truth["exit_three"]["pid"]]["run_ns"],
                                self.own_sum("exit_three"))

    def test_that_live_on(self):
        self.record_children("-e", "task")
        left = self.truth["left"]
        row = self.rows[left["pid"]]
        self.assertNotIn("end_ns", row)
        self.assertNotIn("exit_code", row)
        self.assertEqual(row["comm"], "sleep")
        self.assertEqual(row["args"], ["sleep", "1000"])
        self.assertEqual(row["run_ns"], left["sched"]["se.sum_exec_runtime"])
        self.assertEqual(row["nvcsw"], left["sched"]["nr_voluntary_switches"])
        self.assertEqual(row["prio"], left["sched"]["prio"])
        with open(f"/proc/{left['pid']}/status", encoding="utf-8") as f:
            status = dict(line.split(":", 1) for line in f)
        self.assertEqual(row["max_rss_bytes"], int(status["VmHWM"].split()[0]) * 1024)

    def test_one_that_was_there(self):
        # Its sums begin before the recording does.
        child = self.start("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; read x",
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"\n")
        trace = self.record("-e", "task", "-p", child.pid, "-d", "200ms")
        row = next(r for r in e2e.rows("procs", trace) if r["pid"] == child.pid)
        with open(f"/proc/{child.pid}/schedstat", encoding="utf-8") as f:
            self.assertLessEqual(row["run_ns"], int(f.read().split()[0]))
        self.assertGreater(row["run_ns"], 1000000)
        self.assertEqual(row["ppid"], os.getpid())

    def test_tree_and_details(self):
        trace = self.record_children("-e", "task")
        own = self.truth["self"]
        tree = e2e.rows("procs", trace, "--tree")
        self.assertEqual([row["pid"] for row in tree if "parent" not in row], [own["pid"]])
        below = {row["pid"] for row in tree if row.get("parent") == tree[0]["id"]}
        self.assertEqual(below, {c["pid"] for c in self.truth.values()} - {own["pid"]})

        details = e2e.report_json("procs", trace, "--pid", self.truth["chain"]["pid"])
        self.assertEqual([p["comm"] for p in details["programs"]], ["sh", "nice", "env", "sh"])
        self.assertEqual(details["programs"][0]["args"],
                         ["sh", "-c", "exec nice -n 3 env A=b sh -c 'exit 4'"])
        self.assertEqual(len(details["threads"]), 1)
        self.assertEqual([row["pid"] for row in details["rows"]], [self.truth["chain"]["pid"]])

        details = e2e.report_json("procs", trace, "--pid", own["pid"])
        end = details["rows"][0]["end_ns"]
        ours = {(int(m["start"], 0), int(m["end"], 0), m["file"])
                for m in details["mappings"] if m["to_ns"] == end}
        for line in own["maps"]:
            words = line.split()
            start, stop = (int(word, 16) for word in words[0].split("-"))
            if words[-1] != "[vsyscall]":  # the kernel's own, the same for all
                self.assertIn((start, stop, words[5] if len(words) > 5 else "//anon"), ours)
        mounts = {(m["mount_id"], m["parent_mount_id"], m["device"]) for m in details["mounts"]}
        truth = {(int(w[0]), int(w[1]), w[2]) for w in map(str.split, own["mounts"])}
        self.assertEqual(mounts, truth)

    def test_text(self):
        trace = self.record("-e", "task", "--", "sh", "-c", "(exit 3); nice -n 4 true; kill -9 $$",
                            status=137)
        text = e2e.ebreport("procs", "--tree", trace)
        self.assertRegex(text, r"SIGKILL.* sh -c ")
        self.assertRegex(text, r"(?m) 124 +4 +other .*   true$")
        bars = e2e.ebreport("procs", "--timeline", trace)
        self.assertRegex(bars, r"(?m)^ *\d+ sh +=+x$")


if __name__ == "__main__":
    e2e.main()

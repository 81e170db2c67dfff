# SPDX-License-Identifier: GPL-2.0-or-later
"""What the recorder itself does while others run, as samples of these show it."""

import os
import re
import signal

import e2e

# A minor fault for each page, for each of which a BPF program of the recorder runs.
TOUCH = """
import mmap
for _ in range(40):
    memory = mmap.mmap(-1, 4 << 20)
    for at in range(0, len(memory), 4096):
        memory[at] = 1
    memory.close()
"""
MARK = "[ebrec]"
INTERRUPT = re.compile("asm_(sysvec|common_interrupt)")
OURS = re.compile("bpf_prog_[0-9a-f]{16}_ebrec_")


class Recorder(e2e.TestCase):
    def weights(self, trace, *arguments):
        """Of stacks with the mark, and of all."""
        stacks = e2e.folded(trace, *arguments)
        marked = sum(weight for stack, weight in stacks.items() if MARK in stack.split(";"))
        return marked, sum(stacks.values())

    def check_info(self, trace, marked, total):
        """`info` has the same share. Samples have one weight each, as they are of a clock."""
        naming = e2e.report_json("info", trace, "--frames")["naming"]
        samples = e2e.tables(trace)["sample"]["row_count"]
        self.assertAlmostEqual(naming["recorder_samples"] / samples, marked / total)
        share = f"{100 * marked / total:.1f} % of "
        self.assertRegex(e2e.ebreport("info", "--all", "--frames", trace),
                         f"(?m)^Recorder +{re.escape(share)}{samples} samples")
        if marked:
            self.assertIn(share + "samples are below [ebrec]",
                          e2e.ebreport("info", "--frames", trace))

    def test_marked(self):
        """All that our programs do is below the mark, and can be left out."""
        trace = self.record("-F", "2999", "-e", "sample,syscalls,fault", "--",
                            "python3", "-c", TOUCH)
        for stack in e2e.folded(trace):
            frames = stack.split(";")
            self.assertLessEqual(frames.count(MARK), 1, stack)
            ours = [i for i, name in enumerate(frames) if OURS.match(name)]
            if ours and not any(map(INTERRUPT.match, frames[ours[-1]:])):
                self.assertIn(MARK, frames)
                self.assertLess(frames.index(MARK), ours[-1], stack)
            if MARK in frames:
                self.assertFalse(any(map(INTERRUPT.match, frames[frames.index(MARK):])), stack)
        marked, total = self.weights(trace)
        # A program at each of 40,960 faults takes about as long as what is done there without it.
        self.assertGreater(marked, total / 20)
        self.assertLess(marked, total)
        self.assertEqual(self.weights(trace, "--no-recorder"), (0, total - marked))
        places = {row.get("place"): row for row in e2e.report_json("overview", trace)["rows"]}
        self.assertEqual([row["spent_ns"] for row in places["cpu"]["functions"]
                          if row["function"] == MARK], [marked])
        functions = {row["function"]: row for row in e2e.rows("callgraph", trace, "--all")}
        self.assertEqual(functions[MARK]["total_ns"], marked)
        self.assertEqual(functions[MARK]["self_ns"], 0)
        for command in (("callgraph", "--all"), ("diff", trace, "--all")):
            left = e2e.ebreport(command[0], "--no-recorder", *command[1:], trace)
            self.assertFalse(MARK in left, command)
        self.check_info(trace, marked, total)

    def test_wall(self):
        trace = self.record("-F", "2999", "-e", "sample,sched,fault", "--", "python3", "-c", TOUCH)
        whole = e2e.ebreport("wall", "--folded", trace).splitlines()
        left = e2e.ebreport("wall", "--folded", "--no-recorder", trace).splitlines()
        self.assertTrue(any(MARK in line for line in whole))
        self.assertEqual(left, [line for line in whole if MARK not in line])
        self.assertTrue(any("_[c]" in line for line in left))

    def test_programs_of_others(self):
        """BPF programs that were recorded, and are none of ours, are not the recorder."""
        trace = self.record("-F", "999", "-e", "sample", "--", e2e.program("bpfspin"), "0.3",
                            "ebt_other")
        others = [stack for stack in e2e.folded(trace) if "_ebt_other" in stack]
        self.assertTrue(others)
        for stack in others:
            self.assertNotIn(MARK, stack)
        self.check_info(trace, *self.weights(trace))


    def test_own_time(self):
        """What ebrec itself used is told, though its threads are no tasks of the trace: between what
        /proc says while it records, and the whole that whoever waits for it is told."""
        trace = self.path("own.ebt")
        child = self.start(e2e.EBREC, "-q", "-a", "-e", "syscalls", "-o", trace)
        self.wait_for_rows(trace, child, "syscall", 1000)
        with open(f"/proc/{child.pid}/stat", encoding="utf-8") as f:
            before = [int(n) / os.sysconf("SC_CLK_TCK") for n in f.read().split()[13:15]]
        child.send_signal(signal.SIGINT)
        _, status, whole = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        told = e2e.report_json("info", trace)["meta"]
        user, system = (int(told[f"recorder.{kind}_ns"]) / 1e9 for kind in ("user", "system"))
        self.assertGreater(user, 0)
        self.assertGreater(system, 0)
        # Each of the two is the kernel's share of an exact sum, and may be corrected later.
        self.assertGreaterEqual(user + system, sum(before) - 0.02)
        self.assertLessEqual(user + system, whole.ru_utime + whole.ru_stime)
        self.assertRegex(e2e.ebreport("info", trace), r"(?m)^Recorded .* by ebrec [^ ]+ \(CPU ")
        self.assertRegex(e2e.ebreport("info", "--all", trace),
                         "(?m)^Recorder .* of its own in user space, .* in the kernel$")


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel frames outside of the kernel's own text: BPF programs that come and go."""

import os
import re
import signal
import subprocess

import e2e

SPIN = e2e.program("bpfspin")


class KernelCode(e2e.TestCase):
    def shares(self, trace):
        """Of the functions of BPF programs: their share of each other, by name without the tag."""
        found = {}
        for row in e2e.rows("callgraph", trace):
            name = re.fullmatch("bpf_prog_[0-9a-f]{16}_(.*)", row["function"])
            if name:
                self.assertEqual(row["object"], "[bpf]")
                found[name.group(1)] = found.get(name.group(1), 0) + row["self_ns"]
        total = sum(found.values())
        return {name: ns / total for name, ns in found.items() if ns > total / 50}

    def spinning(self, trace):
        """Share of the samples below the system call that are in named programs."""
        inside = total = 0
        for line in e2e.ebreport("folded", trace).splitlines():
            stack, weight = line.rsplit(" ", 1)
            if "bpf_test_run" in stack or "bpf_prog_test_run" in stack:
                total += int(weight)
                inside += int(weight) * (";bpf_prog_" in re.sub("bpf_prog_test_run[^;]*", "", stack))
        self.assertGreater(total, 0)
        return inside / total

    def test_programs(self):
        """One after the other, perhaps at the same address: none is there when kernel symbols are
        read."""
        turns = ["ebt_one", "ebt_two", "ebt_three"] * 5
        trace = self.record("-F", "999", "-e", "sample", "--", SPIN, "0.1", *turns)
        found = self.shares(trace)
        self.assertEqual(sorted(found), ["ebt_one", "ebt_three", "ebt_two"])
        for share in found.values():
            # A machine whose host is busy loses samples, and more of one turn than of another.
            self.assertAlmostEqual(share, 1 / 3, delta=0.2, msg=found)
        self.assertGreater(self.spinning(trace), 0.8)

    def test_ended(self):
        """A program that was there before, and of which only the end is seen."""
        child = self.start(SPIN, "1000", "ebt_early", stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"burning\n")
        trace = self.path("t.ebt")
        recorder = self.start(e2e.EBREC, "-f", "-o", trace, "-F", "999", "-e", "sample",
                              "-p", child.pid, stderr=subprocess.PIPE)
        self.wait_for_rows(trace, recorder, "sample")
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        _, said = recorder.communicate(timeout=e2e.SECONDS)
        self.assertEqual(recorder.returncode, 0, said)
        self.assertEqual(list(self.shares(trace)), ["ebt_early"])
        self.assertGreater(self.spinning(trace), 0.8)


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""System calls: counts and errors equal to what strace counts, none lost, few bytes each."""

import re

import e2e

# Under strace the first call seen is execve itself, and the last has no return; ebrec records
# calls that return, from the return of execve on.
APART = {"execve", "exit_group"}


def strace_counts(command):
    """{name: (calls, errors)} of `strace -c -f`."""
    text = e2e.run("strace", "-c", "-f", "-o", "/dev/stderr", *command).stderr.decode()
    counts = {}
    for line in text.splitlines():
        #  % time     seconds  usecs/call     calls    errors syscall
        m = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:(\d+)\s+)?([a-z]\w*)$", line)
        if m and m[3] != "total":
            counts[m[3]] = (int(m[1]), int(m[2] or 0))
    return counts


class Syscalls(e2e.TestCase):
    def check(self, command, apart=frozenset()):
        trace = self.record("-e", "syscalls", "--", *command)
        self.assert_no_loss(trace)
        ours = {r["name"]: (r["count"], r["errors"]) for r in e2e.rows("syscalls", trace)}
        theirs = strace_counts(command)
        for name in APART | apart:
            ours.pop(name, None)
            theirs.pop(name, None)
        self.assertEqual(ours, theirs)
        return trace

    def test_one_process(self):
        self.check(["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=20000", "status=none"])

    def test_many_processes(self):
        # Descendants are followed; every call of a failing program counts too.
        self.check(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do ls /no-such-file-$i 2>/dev/null; done; "
                    "cat /proc/self/stat | tr ' ' '\\n' | wc -l >/dev/null"],
                   # How often SIGCHLD interrupts a shell is a matter of luck.
                   apart={"rt_sigreturn", "wait4"})

    def test_bytes_per_call(self):
        count = 500000
        trace = self.record("-e", "syscalls", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1",
                            f"count={count}", "status=none")
        self.assert_no_loss(trace)
        counts = {r["name"]: r["count"] for r in e2e.rows("syscalls", trace)}
        self.assertEqual(counts["write"], count)
        self.assertGreaterEqual(counts["read"], count)
        self.assertLess(counts["read"], count + 20)  # the dynamic linker reads libraries
        table = e2e.tables(trace)["syscall"]
        self.assertLessEqual(table["bytes"] / table["row_count"], 6)

    def test_result_and_arguments(self):
        trace = self.record("-e", "syscalls", "--", "sh", "-c", "kill -0 $$; cat /no-such-file",
                            status=1)
        text = e2e.ebreport("syscalls", "--trace", trace)
        self.assertRegex(text, r"openat\(.*\) += -1 ENOENT")
        self.assertRegex(text, r"kill\(.*\) += 0")
        self.assertEqual(self.recorded.returncode, 1)

    def test_json_and_csv_agree(self):
        trace = self.record("-e", "syscalls", "--", "ls", "/")
        from_json = {r["name"]: r["count"] for r in e2e.rows("syscalls", trace)}
        from_csv = {r["name"]: int(r["count"]) for r in e2e.report_csv("syscalls", trace)}
        self.assertEqual(from_json, from_csv)
        self.assertTrue(from_json)


if __name__ == "__main__":
    e2e.main()

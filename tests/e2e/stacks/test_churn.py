# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks that come and go: they wake the recorder a bounded number of times a second, and what a
program or a library that nobody knew needs for its stacks is there within milliseconds.
"""

import re
import time

import e2e

# A pass when the kernel's buffers are half full or something is due, and one when the readers of
# rings pass on what they found, both far below this.
QUIET = 60
# BPF programs may wake the recorder 200 times a second, and twenty times more at once; each is
# followed by a pass some milliseconds later.
BUSY = 500
# What else runs on the machine can only make a run worse, and a program that lives for 40 ms is
# over before a recorder that waits for a CPU has looked.
RUNS = 10


def wake_ups(pid):
    """How often the recorder's first thread, which reads the side-band, went to sleep."""
    with open(f"/proc/{pid}/task/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", f.read(), re.M)[1])


def unknown(trace):
    """Share of the user stacks that ended for want of a mapping or a table."""
    found = e2e.report_json("info", trace)["unwinding"]
    return sum(found["stops"].get(stop, 0) for stop in ("no mapping", "no table")) / \
        found["stack_count"]


class Churn(e2e.TestCase):
    def wake_ups_beside(self, *arguments):
        """How often a recorder woke a second beside programs and threads that come and go."""
        trace = self.path("t.ebt")
        recorder = self.start(e2e.EBREC, "-q", "-f", "-o", trace, *arguments)
        self.wait_for_rows(trace, recorder, "clock")
        time.sleep(1)
        before, begin = wake_ups(recorder.pid), time.monotonic()
        e2e.run(e2e.program("churn"), "exec", 700, "/bin/true")
        e2e.run(e2e.program("churn"), "threads", 10000)
        return (wake_ups(recorder.pid) - before - 20) / (time.monotonic() - begin)

    def test_of_others(self):
        sleeper = self.start("sleep", "100")
        self.assertLess(self.wake_ups_beside("-e", "task", "-p", sleeper.pid), QUIET)

    def test_of_all(self):
        self.assertLess(self.wake_ups_beside("-e", "task", "-a"), BUSY)

    def least_unknown(self, enough, *arguments):
        """Least share of the stacks that nothing was known for; no dump helps them out."""
        least = 1
        for _ in range(RUNS):
            least = min(least, unknown(self.record("-q", "--no-stack-dump", *arguments)))
            if least < enough:
                break
        return least

    def test_new_program(self):
        churn = f"{e2e.program('churn')} threads 1000; true"
        self.assertLess(self.least_unknown(0.05, "-e", "offcpu", "--", "sh", "-c", churn), 0.05)

    def test_new_library(self):
        """Each comes long after anything else has happened."""
        libraries = [e2e.program(f"reloaded_{n}.so") for n in ("one", "two")]
        self.assertLess(self.least_unknown(0.1, "-e", "sample", "-F", "999", "--",
                                           e2e.program("unwound"), "-r", "2", "fresh", *libraries),
                        0.1)


if __name__ == "__main__":
    e2e.main()

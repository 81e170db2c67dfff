# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that live for 5 ms have symbols: their mappings are recorded as they come."""

import e2e

PROCESSES = 1000


class ShortLived(e2e.TestCase):
    def test_symbols(self):
        loop = f"i=0; while [ $i -lt {PROCESSES} ]; do {e2e.program('shares')} 0.005; i=$((i+1)); done"
        trace = self.record("-F", "999", "--", "sh", "-c", loop)
        # Reading /proc of new processes has a budget; what is left out is counted.
        lost = e2e.lost(trace)
        self.assertLess(lost.pop("process", 0), PROCESSES / 4)
        self.assertEqual(lost, {})
        folded = [line for line in e2e.ebreport("folded", trace).splitlines()
                  if line.startswith("shares;")]
        named = sum(int(line.rsplit(" ", 1)[1]) for line in folded if ";burn_half" in line)
        total = sum(int(line.rsplit(" ", 1)[1]) for line in folded)
        # Half of 5 ms, and what is not of the three functions is starting and ending.
        self.assertGreater(named / total, 0.25)
        execs = sum('"shares"' in row["comm"] for row in e2e.Dump(trace).rows("task_exec"))
        self.assertEqual(execs, PROCESSES)
        # Every frame in a file has a name, or at least the file. (Walks through code without frame
        # pointers end at any number, which is in no mapping.)
        reasons = e2e.report_json("info", trace)["naming"]["unnamed"]
        self.assertEqual(set(reasons) - {"no mapping", "no symbol"}, set())
        nameless = sum(int(line.rsplit(" ", 1)[1]) for line in folded if "shares+0x" in line)
        self.assertLess(nameless, total / 100)


if __name__ == "__main__":
    e2e.main()

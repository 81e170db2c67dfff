# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile that is known: shares of three functions, inlined helpers, and perf beside it."""

import json
import re

import e2e

SHARES = {"burn_half": 50, "burn_third": 30, "burn_fifth": 20}


def total_shares(folded):
    """Percentage of all weight that stands on stacks with each function of SHARES."""
    total, per = 0, dict.fromkeys(SHARES, 0)
    for line in folded.splitlines():
        stack, weight = line.rsplit(" ", 1)
        frames = {re.sub(r"_\[\w+\]$", "", frame) for frame in stack.split(";")}
        if "shares" not in frames:
            continue
        total += int(weight)
        for name in frames & per.keys():
            per[name] += int(weight)
    return {name: 100 * weight / total for name, weight in per.items()}


def perf_shares(data):
    """The same from `perf script`."""
    text = e2e.run("perf", "script", "-i", data, "-F", "comm,ip,sym").stdout.decode()
    samples = [s for s in text.split("\n\n") if s.strip().startswith("shares")]
    return {name: 100 * sum(f" {name}" in s for s in samples) / len(samples) for name in SHARES}


class Shares(e2e.TestCase):
    def assert_shares(self, have, want, delta):
        for name in SHARES:
            self.assertAlmostEqual(have[name], want[name], delta=delta, msg=name)

    def test_shares(self):
        trace = self.record("-F", "999", "--", e2e.program("shares"), "10", "2")
        self.assert_no_loss(trace)
        shares = total_shares(e2e.ebreport("folded", trace))
        self.assert_shares(shares, SHARES, 2)

    def test_as_perf_has_it(self):
        trace, data = self.path("t.ebt"), self.path("perf.data")
        # --buildid-mmap: the kernel tells every reader that there is a build-id where one asks
        # for them, as ebrec does, and perf without it takes an inode number for one.
        e2e.run(e2e.EBREC, "-q", "-F", "999", "-o", trace, "--", "perf", "record", "-q",
                "--buildid-mmap", "-F", "999", "-g", "-e", "cpu-clock", "-o", data,
                e2e.program("shares"), "10", "2")
        self.assert_shares(total_shares(e2e.ebreport("folded", trace)), perf_shares(data), 2)

    def test_callgraph(self):
        trace = self.record("-F", "999", "--", e2e.program("shares"), "2")
        text = e2e.ebreport("callgraph", trace)
        for name in SHARES:
            self.assertIn(name, text)
        self.assertIn("callgraph", json.dumps(e2e.report_json("callgraph", trace)))

    def test_inlined_frames(self):
        trace = self.record("-F", "999", "--", e2e.program("shares"), "2")
        with open(e2e.SOURCE + "/tests/programs/shares.c", encoding="utf-8") as source:
            body = next(i for i, line in enumerate(source, 1) if "uint64_t mix(" in line)
        folded = e2e.ebreport("folded", trace)
        self.assertRegex(folded, r"burn_half;mix\b")
        found = {int(n) for n in re.findall(r"shares\.c:(\d+)", e2e.ebreport("callgraph", trace))}
        self.assertTrue(found & set(range(body, body + 7)), f"lines {found}, mix() is at {body}")

    def test_frames_have_names(self):
        trace = self.record("-F", "999", "--", e2e.program("shares"), "1")
        naming = e2e.report_json("info", trace)["naming"]
        # Debian's libraries have no symbols of their static functions, and where a walk fails it
        # may end at any number.
        reasons = naming["unnamed"]
        self.assertEqual(set(reasons) - {"no symbol", "no mapping"}, set())
        self.assertLess(reasons.get("no mapping", 0), naming["named"] / 100)


if __name__ == "__main__":
    e2e.main()

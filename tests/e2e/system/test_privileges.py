# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording with capabilities and not as root: with six of them it is the same, and each that is
missing is named, as is what that costs."""

import os
import shutil
import subprocess
import sys

import e2e

NEEDED = "bpf", "perfmon"
OF_STACKS = "sys_ptrace", "dac_read_search", "checkpoint_restore"
SIX = (*NEEDED, *OF_STACKS, "syslog")
FAILED = 125
NOBODY = "65534"
SECONDS = "2"
# Programs of root that all recordings see: one with deep stacks, one that is in the kernel.
ROUNDS = "4000"
SHARE = 0.01  # by which two recordings may differ


def everybody_sees_addresses():
    """Of kernel functions, without CAP_SYSLOG?"""
    values = []
    for name in "kptr_restrict", "perf_event_paranoid":
        with open(f"/proc/sys/kernel/{name}", encoding="ascii") as f:
            values.append(int(f.read()))
    return values[0] == 0 and values[1] <= 1


class Privileges(e2e.TestCase):
    def setUp(self):
        super().setUp()
        # Nobody may not go where it was built.
        os.chmod(self.folder, 0o755)
        self.ebrec = shutil.copy(e2e.EBREC, self.folder)

    def capture(self, name, caps=None, status=0):
        """A trace of the machine, by root or by nobody with these capabilities, and what ebrec said."""
        who = []
        if caps is not None:
            caps = ",".join(["-all"] + ["+" + cap for cap in caps])
            who = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                   f"--inh-caps={caps}", f"--ambient-caps={caps}", "--no-new-privs"]
        with open(self.path(name), "wb") as trace:
            done = subprocess.run([*who, self.ebrec, "-q", "-a", "-F", "499", "-d", SECONDS, "-o", "-"],
                                  stdin=subprocess.DEVNULL, stdout=trace, stderr=subprocess.PIPE,
                                  text=True, check=False, timeout=e2e.SECONDS)
        self.assertEqual(done.returncode, status, done.stderr)
        return self.path(name), done.stderr

    def sources(self, trace):
        return {s["name"]: (s["status"], s["detail"]) for s in e2e.report_json("info", trace)["sources"]}

    def shares(self, trace):
        """Of `unwound` the share of samples whose stack is whole; of `dd` that of frames of which more
        than the address is known."""
        deep = e2e.folded(trace, "--comm", "unwound")
        whole = sum(weight for stack, weight in deep.items() if ";main;recurse;" in stack)
        frames = named = 0
        for stack, weight in e2e.folded(trace, "--comm", "dd").items():
            names = stack.split(";")[1:]
            frames += weight * len(names)
            named += weight * sum(not name.startswith("0x") for name in names)
        self.assertGreater(min(sum(deep.values()), frames), 0)
        return whole / sum(deep.values()), named / frames

    def test_capabilities(self):
        self.start(e2e.program("unwound"), "-r", ROUNDS, "recurse")
        self.start("dd", "if=/dev/zero", "of=/dev/null", stderr=subprocess.DEVNULL)
        root, said = self.capture("root.ebt")
        self.assertEqual(said, "")
        six, said = self.capture("six.ebt", SIX)
        self.assertEqual(said, "")
        self.assertEqual(self.sources(six), self.sources(root))
        shares = self.shares(root), self.shares(six)
        self.assertGreater(min(shares[0]), 0.9)
        print("root, nobody:", shares, file=sys.stderr)
        for mine, theirs in zip(*shares):
            self.assertAlmostEqual(mine, theirs, delta=SHARE)
        for cap in OF_STACKS if everybody_sees_addresses() else (*OF_STACKS, "syslog"):
            trace, said = self.capture("without.ebt", [name for name in SIX if name != cap])
            name, sources = "CAP_" + cap.upper(), self.sources(trace)
            cost = "no kernel function has a name" if cap == "syslog" else "many user stacks end early"
            self.assertRegex(said, f"without {name} {cost}")
            for source in "sample", "offcpu":
                self.assertEqual(sources[source][0], "partial", cap)
                self.assertIn(f"without {name} {cost}", sources[source][1])
            self.assertLess(self.shares(trace)[cap == "syslog"], shares[0][cap == "syslog"] - 0.1, cap)
        trace, said = self.capture("least.ebt", NEEDED)
        self.assertIn("without CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE many", said)
        for cap in NEEDED:
            said = self.capture("none.ebt", [name for name in SIX if name != cap], FAILED)[1]
            self.assertIn("CAP_" + cap.upper(), said)


if __name__ == "__main__":
    e2e.main()

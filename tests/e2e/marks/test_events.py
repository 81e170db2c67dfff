# SPDX-License-Identifier: GPL-2.0-or-later
"""Call trees of one probe among several, and patterns of functions: as many hits as strace and the
program itself count."""

import collections
import os
import re
import shutil
import tempfile

import e2e

PROBED = e2e.program("probed")
CALLS = ("clock_nanosleep", "clone3", "openat")
PROBES = [*(f"tp:syscalls:sys_enter_{name}" for name in CALLS),
          f"uprobe:{PROBED}:probed_sleep", f"uprobe:{PROBED}:probed_factorial+0",
          f"usdt:{PROBED}:probed:numbers", f"usdt:{PROBED}:probed:texts"]


class Events(e2e.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="ebt-e2e-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.trace = os.path.join(folder, "t.ebt")
        sources = [word for probe in PROBES for word in ("-e", probe)]
        done = e2e.run(e2e.EBREC, "-o", cls.trace, *sources, "--", PROBED, status=3)
        cls.calls = [line.split() for line in done.stdout.decode().splitlines()]

    def setUp(self):
        super().setUp()
        self.assert_no_loss(self.trace)

    def folded(self, event, *arguments):
        return e2e.folded(self.trace, "--event", event, *arguments)

    def test_tracepoints_as_strace_counts(self):
        path = self.path("strace")
        e2e.run("strace", "-f", "-c", "-o", path, "-e", "trace=" + ",".join(CALLS), PROBED,
                status=3)
        with open(path, encoding="utf-8") as f:
            counts = {line[-1]: int(line[3]) for line in map(str.split, f)
                      if line and line[-1] in CALLS}
        stacks = {name: self.folded(f"tp:syscalls:sys_enter_{name}") for name in CALLS}
        self.assertEqual({name: sum(stacks[name].values()) for name in CALLS}, counts)
        for stack in stacks["clock_nanosleep"]:
            self.assertRegex(stack, ";main;probed_sleep;.*nanosleep$")
        self.assertNotIn("probed_sleep", "".join(stacks["clone3"]))

    def test_functions_as_they_count(self):
        count = collections.Counter(call[0] for call in self.calls)
        took = sum(int(after) - int(before) for name, _, before, after, _ in self.calls
                   if name == "probed_sleep")
        stacks = self.folded("uprobe:probed_sleep")
        self.assertTrue(all(stack.endswith("main;probed_sleep") for stack in stacks), stacks)
        self.assertLessEqual(sum(stacks.values()), took)
        self.assertGreaterEqual(sum(stacks.values()),
                                1_000_000 * sum(-int(call[4]) for call in self.calls
                                                if call[0] == "probed_sleep"))
        self.assertEqual(sum(self.folded("probed_sleep", "--weight", "rows").values()),
                         count["probed_sleep"])
        # Of places, that take no time, hits: it calls itself.
        self.assertGreater(sum(self.folded("probed_factorial+0").values()),
                           count["probed_factorial"])
        for name in ("numbers", "texts"):
            self.assertEqual(sum(self.folded(f"probed:{name}").values()), 100)

    def test_spellings(self):
        """However it is written, it is the same probe, and what it is called is as for ebrec."""
        texts = self.folded("usdt:probed:probed:texts", "--no-symbols")
        for event in (f"usdt:{PROBED}:probed:texts", "usdt:../x/probed:probed:texts",
                      "usdt:probed:texts", "probed:texts", "texts", "te?ts", "usdt:*:texts"):
            self.assertEqual(self.folded(event, "--no-symbols"), texts, event)
        all_texts = self.folded("usdt:*", "--no-symbols")
        self.assertEqual(sum(all_texts.values()), 200)
        self.assertEqual(self.folded("num*", "--no-symbols") + texts, all_texts)
        every = self.folded("*:*", "--weight", "rows", "--no-symbols")
        self.assertEqual(every, self.folded("probe_hit", "--weight", "rows", "--no-symbols"))
        for event, said, weight in (
                ("sys_enter_clone3", "tp:syscalls:sys_enter_clone3", "rows"),
                ("probed:probed_sleep", "uprobe:probed:probed_sleep", "duration"),
                ("tp:syscalls:*", "tp:syscalls:*", "rows")):
            report = e2e.report_json("callgraph", self.trace, "--event", event)
            self.assertEqual((report["event"], report["weight"]), (said, weight))
        svg = e2e.ebreport("flame", "--event", "tp:syscalls:sys_enter_clone3", self.trace)
        self.assertIn("tp:syscalls:sys_enter_clone3", svg)
        self.assertIn('data-unit="events"', svg)

    def test_what_there_is(self):
        for event, said in (
                ("clone4", r"there are cpu, offcpu, probe_hit, "
                           r"tp:syscalls:sys_enter_clock_nanosleep, .*, "
                           r"uprobe:probed:probed_sleep.*, usdt:probed:probed:texts$"),
                ("sys_enter_clone", r"did you mean tp:syscalls:sys_enter_clone3\?$"),
                ("probed_slep", r"did you mean uprobe:probed:probed_sleep\?$"),
                ("probe_hits", r"did you mean probe_hit\?$"),
                ("u*", r"no probe 'u\*'"), ("uprobe:texts", r"no probe 'uprobe:texts'")):
            done = e2e.run(e2e.EBREPORT, "folded", "--event", event, self.trace, status=2)
            self.assertRegex(done.stderr.decode().strip(), said)
        done = e2e.run(e2e.EBREPORT, "folded", "--event", "texts", "--weight", "bytes",
                       self.trace, status=2)
        self.assertIn("no number 'bytes'", done.stderr.decode())


class Patterns(e2e.TestCase):
    def probes(self, trace):
        """{offset: name} of those that were recorded."""
        found = [(int(row["offset"], 0), row["name"].strip('"'))
                 for row in e2e.Dump(trace).rows("probe")]
        self.assertEqual(len(found), len(dict(found)), "a function is probed twice")
        return dict(found)

    def test_program(self):
        """The program does as without, and each function was called as often as it says."""
        trace = self.record("-e", f"uprobe:{PROBED}:*", "--", PROBED, status=3)
        self.assert_no_loss(trace)
        counts = collections.Counter(
            line.split()[0] for line in self.recorded.stdout.decode().splitlines())
        self.assertGreater(len(counts), 4)
        dump, hits = e2e.Dump(trace), collections.Counter()
        names = {row["probe"]: row["name"].strip('"') for row in dump.rows("probe")}
        for row in dump.rows("probe_hit"):
            hits[names[row["probe"]]] += 1
        # Of calls of one by itself the program counts the first.
        counts.pop("probed_factorial")
        self.assertEqual({name: hits[name] for name in counts}, counts)
        for name in ("probed_mixed", "probed_sleep"):
            out = e2e.ebreport("folded", "--event", name, "--weight", "rows", trace)
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in out.splitlines()),
                             counts[name])
        # What has no return address keeps what is in its place.
        self.assertLessEqual({"main", "_start+0", "probed_thread", "probed_never"},
                             set(names.values()))
        self.assertFalse([name for name in names.values() if ".cold" in name])
        # It would return something else, of which the program would die.
        self.assertNotIn("probed_vector", names.values())

    def test_library(self):
        """Of all names of libc that the linker knows: each function once."""
        trace = self.record("-v", "-e", "uprobe:libc.so.6:str[a-f]*,uprobe:libc.so.6:strdup:1/s,"
                            "uprobe:libc.so.6:pthread_spin_[lu]*", "--", "true")
        probes = self.probes(trace)
        [path] = {row["path"].strip('"') for row in e2e.Dump(trace).rows("probe")}
        kinds = collections.defaultdict(set)
        for line in e2e.run("readelf", "--dyn-syms", "-W", path).stdout.decode().splitlines():
            word = line.split()
            if len(word) > 7 and re.match("str[a-f].*@@", word[7]):
                kinds[word[3]].add(int(word[1], 16))
        self.assertGreater(len(kinds["FUNC"]), 5)
        self.assertLessEqual(kinds["FUNC"], set(probes))
        self.assertFalse(kinds["IFUNC"] & set(probes))
        # One that is named has its arguments, and is not there a second time.
        [number] = [row["probe"] for row in e2e.Dump(trace).rows("probe")
                    if row["name"] == '"strdup"']
        self.assertEqual([row["kind"] for row in e2e.Dump(trace).rows("probe_arg")
                          if row["probe"] == number], ["string"])
        said = r"(\d+) left out \(IFUNC, or .*\): .*strcat.*, pthread_spin_lock"
        self.assertRegex(self.recorded.stderr.decode(), "source uprobe: " + said)
        [row] = [row for row in e2e.report_json("info", trace)["sources"]
                 if row["name"].startswith("uprobe")]
        self.assertRegex(row["detail"], said)

    def test_entries(self):
        """NAME+0 of a pattern has no returns, nor has what the program would not survive; a call of
        one that is named by itself has."""
        trace = self.record("-e", f"uprobe:{PROBED}:probed_s*+0,uprobe:{PROBED}:probed_[fm]*+0,"
                            f"uprobe:{PROBED}:probed_mixed,uprobe:libc.so.6:_setjm[p]", "--",
                            PROBED, status=3)
        names = self.probes(trace).values()
        self.assertEqual(sorted(names), ["_setjmp+0", "probed_factorial+0", "probed_float+0",
                                         "probed_mixed", "probed_sleep+0"])
        numbers = {row["probe"]: row["name"].strip('"') for row in e2e.Dump(trace).rows("probe")}
        self.assertEqual({(numbers[row["probe"]], row["kind"])
                          for row in e2e.Dump(trace).rows("probe_hit")},
                         {(name, "instant" if "+" in name else "span") for name in names})

    def test_what_is_wrong(self):
        for source, said in (
                (f"uprobe:{PROBED}:nosuch*", r"has no function that matches 'nosuch\*'"),
                ("uprobe:libc.so.6:*", r"stands for \d+ functions of \S+; all together, 256 "),
                ("uprobe:libc.so.6:memcp[y]", "only chooses functions .*: memcpy$"),
                (f"uprobe:{PROBED}:main*+0:1/s@ret", r"'main\+0' .* is an address, which does not return"),
                *((f"uprobe:{PROBED}:{name}", r"vector instruction at 'probed_vector|no function ")
                  for name in ("probed_vector", "probed_vector+0"))):
            trace = self.path("x.ebt")
            done = e2e.run(e2e.EBREC, "-o", trace, "-e", source, "--", "true", status=None)
            self.assertNotEqual(done.returncode, 0, source)
            self.assertRegex(done.stderr.decode(), said)
            self.assertFalse(os.path.exists(trace))


if __name__ == "__main__":
    e2e.main()

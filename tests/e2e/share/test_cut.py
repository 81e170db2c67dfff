# SPDX-License-Identifier: GPL-2.0-or-later
"""A part of a trace reads as the whole does with --from, --to and --pid; and what may be replaced."""

import json
import os
import random
import re
import subprocess
import sys

import e2e

EBTDUMP = os.path.join(e2e.SOURCE, "tests/tools/ebtdump.py")
WORK = ("for i in 1 2; do {pingpong} 1000; (sleep 0.1 & sleep 0.2; wait); {shares} 0.1; "
        "{marks} timed 20; done")
# Calls something until its input ends.
GROWS = "import select\nwhile not select.select([0], [], [], 0.001)[0]: pass"
REPORTS = [
    ["sched"], ["sched", "--by", "process", "--all"], ["offcpu"], ["offcpu", "--by", "thread,state"],
    ["offcpu", "--stacks"], ["wall"], ["syscalls"], ["syscalls", "--by", "thread,error"], ["procs"],
    ["procs", "--threads"], ["callgraph"], ["callgraph", "--event", "fault"], ["locks"], ["faults"],
    ["counters"], ["marks"], ["logs"], ["modules"], ["summary"], ["block"], ["net"],
]
# Times that count from the start of the file, which is another in a part.
TIMES = ("time_ns", "begin_ns", "end_ns", "from_ns", "to_ns")


def moved(value, by):
    """A report with its times counted from elsewhere, and without what is about the file."""
    if isinstance(value, dict):
        return {k: [[p[0] + by, *p[1:]] for p in v] if k == "series" and v and isinstance(v[0], list)
                else v + by if isinstance(v, int) and (k in TIMES or k.endswith("_at_ns"))
                else moved(v, by)
                for k, v in value.items() if k not in ("file", "start_ns", "duration_ns")}
    if isinstance(value, list):
        return [moved(v, by) for v in value]
    # A sentence of the overview.
    return re.sub(r" at \d+\.\d+ s\b", "", value) if isinstance(value, str) else value


def every_command():
    """Those that make tables of what passes --pid, but for rows as they are, for two traces, and for
    the critical path."""
    text = e2e.run(e2e.EBREPORT, "--help").stdout.decode()
    names = re.findall(r"(?m)^  ([a-z]+)  ", text[text.index("Commands:"):])
    helps = {c: e2e.run(e2e.EBREPORT, c, "--help").stdout.decode()
             for c in names if c not in ("dump", "info", "diff", "why")}
    return [[c] for c, text in helps.items() if "--pid" in text and "--json" in text]


def in_order(rows):
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


class Cut(e2e.TestCase):
    recording = None  # one for all

    def setUp(self):
        super().setUp()
        self.part = self.path("part.ebt")
        self.trace = self.path("t.ebt")
        if Cut.recording is None:
            self.begin()
        with open(self.trace, "wb") as f:
            f.write(Cut.recording)

    def begin(self):
        names = {name: e2e.program(name) for name in ("pingpong", "shares", "marks")}
        trace = self.record("-F", "999", "-e", "default,syscalls,lock,fault,block,net,mark",
                            "--", "sh", "-c", WORK.format(**names))
        with open(trace, "rb") as f:
            Cut.recording = f.read()

    def cut(self, *options):
        e2e.run(e2e.EBREPORT, "cut", *options, self.trace, "-o", self.part)
        e2e.run(sys.executable, EBTDUMP, "--check", self.part)

    def same_reports(self, selection, commands=()):
        """Of the whole with the selection, and of the part."""
        for command, *options in REPORTS + [c for c in commands if c not in REPORTS]:
            whole = e2e.report_json(command, self.trace, *options, *selection)
            part = e2e.report_json(command, self.part, *options)
            by = int(part["start_ns"]) - int(whole["start_ns"])
            whole, part = moved(whole, 0), moved(part, by)
            # Runs of other processes are not in the part, and so have no edges either.
            if "--pid" in selection:
                for report in (whole, part):
                    for key in ("warnings", "remarks"):
                        report[key] = [w for w in report.get(key, [])
                                       if "no beginning or no end in the trace" not in w]
            # Rows that are equal by what sorts them have no order. The critical path is of a whole
            # recording, and leads through processes that a part does not have.
            for key in (set(whole) | set(part)) - {"path", "critical_path"}:
                if isinstance(whole.get(key), list) and isinstance(part.get(key), list):
                    whole[key], part[key] = in_order(whole[key]), in_order(part[key])
                self.assertEqual(part.get(key), whole.get(key), f"{command} {options} {selection}")

    def test_windows(self):
        chosen = random.Random(13)
        length = e2e.report_json("info", self.trace)["duration_ns"]
        windows = [["--from", "30%"], ["--to", "60%"]]
        for _ in range(3):
            begin, end = sorted(chosen.sample(range(length), 2))
            windows.append(["--from", f"{begin}ns", "--to", f"{end}ns"])
        found = 0
        for window in windows:
            self.cut(*window)
            self.same_reports(window)
            found += self.same_dump(*window)
        self.assertGreater(found, 1000)

    def same_dump(self, *selection):
        """Both readers see the same rows, and of what happened those of the whole."""
        rows = e2e.Dump(self.part).lines
        dumped = e2e.run(sys.executable, EBTDUMP, self.part).stdout.decode().splitlines()
        self.assertEqual(dumped, rows)
        wanted = e2e.Dump(self.trace, *selection).lines
        self.assertEqual(rows[len(rows) - len(wanted):], wanted)
        return len(wanted)

    def test_processes(self):
        """A part of some processes needs no --pid any more, for whichever command."""
        procs = {r["comm"]: str(r["pid"]) for r in e2e.rows("procs", self.trace)}
        whole = os.path.getsize(self.trace)
        self.cut("--pid", procs["shares"])
        self.assertLess(os.path.getsize(self.part), whole)
        self.same_reports(["--pid", procs["shares"]], commands=every_command())
        self.assertEqual({str(r["pid"]) for r in e2e.rows("procs", self.part)}, {procs["shares"]})
        selection = ["--pid", f"{procs['sh']},{procs['pingpong']}", "--from", "10%", "--to", "90%"]
        self.cut(*selection)
        self.same_reports(selection, commands=every_command())
        self.same_dump(*selection)
        # Of these, one; and of others, nobody.
        inner = self.path("inner.ebt")
        e2e.run(e2e.EBREPORT, "cut", "--pid", f"{procs['sh']},{procs['shares']}", self.part,
                "-o", inner)
        self.assertEqual({str(r["pid"]) for r in e2e.rows("procs", inner)}, {procs["sh"]})
        done = e2e.run(e2e.EBREPORT, "cut", "--pid", procs["shares"], self.part, "-o", inner,
                       status=2)
        self.assertIn("none of these processes", done.stderr.decode())

    def test_part_of_a_part(self):
        self.cut("--from", "20%", "--to", "80%")
        inner, direct = self.path("inner.ebt"), self.path("direct.ebt")
        info = e2e.report_json("info", self.part)
        start = int(info["start_ns"]) - e2e.start_ns(self.trace)
        begin, end = info["duration_ns"] // 4, info["duration_ns"] // 2
        e2e.run(e2e.EBREPORT, "cut", "--from", f"{begin}ns", "--to", f"{end}ns", self.part,
                "-o", inner)
        e2e.run(e2e.EBREPORT, "cut", "--from", f"{start + begin}ns", "--to", f"{start + end}ns",
                self.trace, "-o", direct)
        for command in (["sched"], ["offcpu", "--stacks"], ["syscalls"], ["callgraph"]):
            self.assertEqual(e2e.ebreport(*command, inner), e2e.ebreport(*command, direct))
        # And a bundle, or what scrub leaves, of a part is of that part.
        for copy in ("bundle", "scrub"):
            e2e.run(e2e.EBREPORT, copy, inner, "-o", self.path("copy.ebt"))
            self.assertEqual(len(e2e.rows("syscalls", self.path("copy.ebt"))),
                             len(e2e.rows("syscalls", inner)))

    def test_of_copies(self):
        """A part of a bundle or of what scrub leaves is a part of that, on a pipe too."""
        window = ["--from", "20%", "--to", "80%"]
        recorded = self.trace
        for copy in ("bundle", "scrub"):
            self.trace = self.path(f"{copy}.ebt")
            e2e.run(e2e.EBREPORT, copy, recorded, "-o", self.trace)
            self.cut(*window)
            self.same_reports(window)
            self.assertGreater(self.same_dump(*window), 100)
            piped = e2e.run("sh", "-c", '"$0" cut "$@" | "$0" dump -', e2e.EBREPORT, *window,
                            self.trace).stdout.decode().splitlines()
            self.assertEqual(piped, e2e.Dump(self.part).lines)

    def test_growing(self):
        """Of what is still recorded: what is there by then."""
        self.trace = self.path("growing.ebt")
        child = self.start(e2e.EBREC, "-f", "-q", "-o", self.trace, "-e", "sched,syscalls", "--",
                           sys.executable, "-c", GROWS, stdin=subprocess.PIPE)
        self.wait_for_rows(self.trace, child, "syscall")
        self.cut("--to", "1h")
        self.assertIsNone(child.poll())
        rows = [line for line in e2e.Dump(self.part).lines if " syscall " in line]
        said = e2e.run(e2e.EBREPORT, "sched", self.part).stderr.decode()
        self.assertIn("had no end", said)
        child.communicate(b"end\n", timeout=e2e.SECONDS)
        self.assertEqual(child.returncode, 0)
        whole = [line for line in e2e.Dump(self.trace).lines if " syscall " in line]
        self.assertTrue(rows)
        self.assertLess(len(rows), len(whole))
        self.assertEqual(set(rows) - set(whole), set())

    def test_damaged(self):
        """A cut of what is damaged says so, and is whole itself; or nothing is left to cut."""
        size = os.path.getsize(self.trace)
        chosen = random.Random(4)
        for damaged in range(15):
            with open(self.trace, "rb") as f:
                content = bytearray(f.read())
            for _ in range(damaged):
                content[chosen.randrange(200, size)] = chosen.randrange(256)
            bad, part = self.path("bad.ebt"), self.path("good.ebt")
            with open(bad, "wb") as f:
                f.write(content[: size - 1 - damaged * size // 50])
            done = e2e.run(e2e.EBREPORT, "cut", "--from", "10%", "--to", "70%", bad, "-o", part,
                           status=None)
            if done.returncode and damaged:
                self.assertIn(done.returncode, (1, 2))
                self.assertRegex(done.stderr.decode(), "^ebreport: ")
                continue
            self.assertEqual(done.returncode, 0)
            e2e.run(sys.executable, EBTDUMP, "--check", part)
            done = e2e.run(e2e.EBREPORT, "sched", part)
            self.assertIn("the trace that this is a copy of had no end", done.stderr.decode())

    def test_refused(self):
        for options, said in (
                ([], "which part?"), (["--cpu", "0", "--to", "50%"], "--cpu"),
                (["--from", "1000s"], "nothing was recorded"),
                (["--from", "2s", "--to", "1s"], "--to is not later")):
            done = e2e.run(e2e.EBREPORT, "cut", *options, self.trace, "-o", self.part, status=2)
            self.assertIn(said, done.stderr.decode())
            self.assertFalse(os.path.exists(self.part))

    def test_replaces_traces_only(self):
        source, picture, old = self.path("a.c"), self.path("a.svg"), self.path("old.ebt")
        text = b"int main(void) { return 0; }\n"
        copies = (["bundle"], ["scrub"], ["cut", "--to", "50%"])
        for command in (*copies, ["flame"]):
            with open(source, "wb") as f:
                f.write(text)
            done = e2e.run(e2e.EBREPORT, *command, self.trace, "-o", source, status=2)
            self.assertIn("-f replaces it", done.stderr.decode())
            with open(source, "rb") as f:
                self.assertEqual(f.read(), text)
            e2e.run(e2e.EBREPORT, *command, "-f", self.trace, "-o", source)
            with open(source, "rb") as f:
                self.assertNotEqual(f.read(4), text[:4])
        for _ in range(2):  # its like
            e2e.run(e2e.EBREPORT, "flame", self.trace, "-o", picture)
            e2e.run(e2e.EBREPORT, "cut", "--to", "50%", self.trace, "-o", old)
        size = os.path.getsize(old)
        e2e.run(e2e.EBREPORT, "sched", self.trace, "-o", old, status=2)
        packed = self.path("old.ebt.zst")
        e2e.run("zstd", "-q", old, "-o", packed)
        e2e.run(e2e.EBREPORT, "sched", self.trace, "-o", packed, status=2)
        # What cannot be begun costs nothing.
        e2e.run(e2e.EBREPORT, "cut", self.trace, "-o", old, status=2)
        self.assertEqual(os.path.getsize(old), size)
        with open(self.path("fifo.ebt"), "wb") as f:
            subprocess.run([e2e.EBREPORT, "cut", "--to", "50%", self.trace], stdout=f, check=True,
                           timeout=e2e.SECONDS)
        self.assertEqual(os.path.getsize(self.path("fifo.ebt")), size)


if __name__ == "__main__":
    e2e.main()

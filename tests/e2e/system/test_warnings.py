# SPDX-License-Identifier: GPL-2.0-or-later
"""What reports say of what they do not know, where it matters and where it does not. What is not
known was taken out of a recording here, row by row."""
import collections
import json
import math
import os
import re
import subprocess

import e2e

EBTGEN = os.path.join(os.environ["EBT_PROGRAMS"], "../../tools/ebtgen")
EDGES = re.compile(r"(\d+) of (\d+) runs? (?:have|has) no beginning or no end")
REPORTS = ("sched", "offcpu", "wall", "summary")
PING_PONG = """
import os
here, there = os.pipe(), os.pipe()
if os.fork():
    for _ in range(400):
        os.write(here[1], b"x")
        os.read(there[0], 1)
else:
    for _ in range(400):
        os.read(here[0], 1)
        os.write(there[1], b"x")
"""


def edges(texts):
    return [(int(m[1]), int(m[2])) for m in map(EDGES.match, texts) if m]


class Changed(e2e.TestCase):
    """A recording whose rows are not those that were recorded."""

    def write(self, lines, name):
        text, trace = self.path(name + ".txt"), self.path(name + ".ebt")
        with open(text, "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)
        e2e.run(EBTGEN, text, trace)
        return trace

    def without(self, lines, drop, name):
        return self.write([line for i, line in enumerate(lines) if i not in drop], name)

    def record_text(self, sources="task,sched"):
        trace = self.record("-e", sources, "--", "/usr/bin/python3", "-c", PING_PONG)
        return e2e.ebreport("dump", trace).splitlines()


class Edges(Changed):
    def switches(self, lines):
        """Those by which a thread stopped: without one of them it seems to run on."""
        return [i for i, line in enumerate(lines)
                if " sched_switch " in line and "prev=-" not in line and "prev_state=0x1 " in line]

    def check(self, trace, told):
        """All reports of switches say the same, and say it in the one place or in the other."""
        found = set()
        for command in REPORTS:
            report = e2e.report_json(command, trace)
            here = edges(report["warnings"]), edges(report.get("remarks", []))
            self.assertEqual([len(here[0]), len(here[1])], [1, 0] if told else [0, 1], command)
            found.update(here[0] + here[1])
            done = e2e.run(e2e.EBREPORT, command, trace)
            self.assertEqual(b"no beginning or no end" in done.stderr, told, done.stderr)
        self.assertEqual(len(found), 1, found)
        return found.pop()

    def test_few_and_many(self):
        lines = self.record_text()
        switches = self.switches(lines)
        self.assertGreater(len(switches), 400)
        before = e2e.hidden_runs(e2e.report_json("sched", self.path("t.ebt")))
        few, n = self.check(self.without(lines, {switches[300]}, "few"), False)
        self.assertTrue(before < few < n / 100, (before, few, n))
        many, n = self.check(self.without(lines, set(switches[100:400:10]), "many"), True)
        self.assertTrue(max(before + 30, n / 100) <= many <= before + 100, (before, many, n))

    def test_info(self):
        """The place where what is silent elsewhere is told; its screen is of 12 lines."""
        lines = self.record_text()
        few = self.without(lines, {self.switches(lines)[300]}, "few")
        for options, start in (((), "Lost "), (("--all",), "Remarks ")):
            text = e2e.ebreport("info", *options, few)
            found = [line for line in text.splitlines() if EDGES.search(line)]
            self.assertEqual([line.startswith(start) for line in found], [True], text)
        self.assertLessEqual(len(e2e.ebreport("info", few).splitlines()), 12)


class Losses(Changed):
    def test_told_once(self):
        """On the first screen as on others: what was lost stands in one place."""
        lines = self.record_text()
        tables = {name: int(re.search(rf" schema table_id=(\d+) .*table_name=\"{name}\"",
                                      "\n".join(lines))[1])
                  for name in ("sched_switch", "sched_waking", "task_exit")}
        last = max(i for i, line in enumerate(lines) if " sched_switch " in line)
        time = lines[last].split()[0]
        lost = [f"{time} lost from={time} count={n} table_id={tables[name]} "
                'reason="ring buffer full" ring=0 unused=0 source="sched" detail=""'
                for name, n in (("sched_switch", 900), ("sched_waking", 300), ("task_exit", 1))]
        trace = self.write(lines + lost, "lost")
        done = e2e.run(e2e.EBREPORT, "overview", trace)
        text = (done.stdout + done.stderr).decode()
        self.assertEqual(text.count("900 rows of sched_switch lost"), 1, text)
        self.assertRegex(text, r"300 rows of sched_waking lost while recording \([\d.]+ %\), "
                               "and of 1 more")
        self.assertNotIn(b"lost while", done.stderr)
        # Where the table of findings is none for people, as everywhere.
        self.assertEqual(len([w for w in e2e.report_json("overview", trace)["warnings"]
                              if "lost while recording" in w]), 3)

    def test_share_in_a_part(self):
        """Of the rows of the recording a share was lost, however few of them a part has."""
        lines = self.record_text("sched")
        table = re.search(r' schema table_id=(\d+) .*table_name="sched_switch"',
                          "\n".join(lines))[1]
        last = max(i for i, line in enumerate(lines) if " sched_switch " in line)
        time = lines[last].split()[0]
        lost = (f'{time} lost from={time} count=900 table_id={table} reason="ring buffer full" '
                'ring=0 unused=0 source="sched" detail=""')
        whole, part = self.write(lines + [lost], "lost"), self.path("part.ebt")
        said = [w for w in e2e.report_json("sched", whole)["warnings"] if "900 rows of" in w]
        self.assertRegex("".join(said),
                         r"^900 rows of sched_switch lost while recording \([\d.]+ %\)$")
        inner, scrubbed = self.path("inner.ebt"), self.path("scrubbed.ebt")
        e2e.run(e2e.EBREPORT, "cut", "--to", "50%", whole, "-o", part)
        e2e.run(e2e.EBREPORT, "cut", "--to", "50%", part, "-o", inner)
        e2e.run(e2e.EBREPORT, "scrub", inner, "-o", scrubbed)
        for trace in (part, inner, scrubbed):
            self.assertEqual([w for w in e2e.report_json("sched", trace)["warnings"]
                              if "900 rows of" in w], said)

    def test_part_without_calls(self):
        """A part that has none says of system calls what the whole says of that time."""
        lines = self.record_text("sched,syscalls")
        switches = [int(line.split()[0]) for line in lines if " sched_switch " in line]
        middle = (min(switches) + max(switches)) // 2
        whole = self.write([line for line in lines
                            if " syscall " not in line or int(line.split()[0]) < middle], "few")
        window = ["--from", "80%"]
        part = self.path("part.ebt")
        e2e.run(e2e.EBREPORT, "cut", *window, whole, "-o", part)
        self.assertTrue(e2e.rows("syscalls", whole))
        self.assertFalse(e2e.rows("syscalls", part))
        for command in ("syscalls", "summary"):
            said = [e2e.report_json(command, *of)["warnings"] for of in ((whole, *window), (part,))]
            self.assertEqual(said[1], said[0], command)

    def test_processes_that_proc_did_not_tell_of(self):
        """Events told of them: what is missing is said where it is shown."""
        for _ in range(e2e.ATTEMPTS):  # until the kernel of this sandbox tells of each switch
            lines = self.record_text("task,sched")
            if not e2e.hidden_runs(e2e.report_json("sched", self.path("t.ebt"))):
                break
        table = re.search(r' schema table_id=(\d+) .*table_name="process"', "\n".join(lines))[1]
        time = next(line for line in lines if " task_exec " in line).split()[0]
        lost = (f'{time} lost from={time} count=185 table_id={table} reason="other" ring=0 unused=0 '
                'source="snapshot" detail="too many new processes"')
        trace = self.write(lines + [lost], "lost")
        told = "185 processes are not described whole: user, cgroup and namespaces are the parent's"
        for arguments, tells in ((["overview"], False), (["sched"], False), (["procs"], True),
                                 (["sched", "--by", "user"], True),
                                 (["sched", "--by", "cgroup"], True)):
            done = e2e.run(e2e.EBREPORT, *arguments, trace)
            text = (done.stdout + done.stderr).decode()
            self.assertEqual(text.count(told), tells, (arguments, text))
            self.assertNotIn("of process lost", text)
            report = e2e.report_json(arguments[0], trace, *arguments[1:])
            self.assertEqual([w.startswith(told) for w in report["warnings"]], [True] * tells)
            self.assertEqual(report["lost"], {"process": 185} if tells else {})
        info = e2e.ebreport("info", trace)
        self.assertRegex(info, r"Processes   \d+ described, 185 not described whole, \d+ forks?\n")
        self.assertIn("Lost        no events, as far as the file knows\n", info)
        info = e2e.ebreport("info", "--all", trace)
        self.assertIn(" described, 185 not described whole, ", info)
        self.assertIn("too many new processes", info)


class Unknown(e2e.TestCase):
    TIMES = ("on_cpu_ns", "runqueue_ns", "off_cpu_ns", "sleep_ns", "coverage_percent", "run_ns",
             "wait_ns", "total_ns")

    def test_without_switches(self):
        """Who did not see switches knows who was there, and not what they did."""
        child = self.start("/usr/bin/python3", "-c", "while True: pass")
        trace = self.record("-e", "task,sample", "-p", str(child.pid), "-d", "400ms")
        for command in ("wall", "sched", "offcpu"):
            report = e2e.report_json(command, trace, *([] if command == "wall" else ["--all"]))
            for row in report["rows"]:
                self.assertFalse([key for key in self.TIMES if key in row], (command, row))
            self.assertEqual(report["warnings"],
                             ["no switches in this trace: ebrec records them with -e sched"])
            self.assertNotIn("never ran", e2e.ebreport(command, trace))
        row, = e2e.rows("wall", trace)
        self.assertEqual(row["tid"], child.pid)
        self.assertGreater(row["samples"], 0)
        self.assertEqual(row["samples"], len(list(e2e.Dump(trace, "--table", "sample").rows("sample"))))
        self.assertEqual(e2e.run(e2e.EBREPORT, "wall", "--folded", trace).stdout, b"")
        for totals, in (e2e.report_json("summary", trace)["totals"],
                        json.loads(e2e.ebreport("summary", "--ndjson", trace))["totals"]):
            self.assertEqual(set(totals), {"end_realtime_ns", "duration_ns", "syscall_count",
                                           "syscalls_per_s"})
        files = e2e.ebreport("wall", "--per-thread", self.path("threads"), trace).split()
        texts = {name: open(name, encoding="utf-8").read() for name in files
                 if name.endswith(".txt")}
        summary = texts.pop(self.path("threads/summary.txt")).splitlines()[1]
        self.assertRegex(summary, rf"^ *{child.pid} +{child.pid} +[\d.]+ +python3$")
        analysis, = texts.values()
        self.assertRegex(analysis, r"life in the recording .* 100\.00 %\nsamples +[1-9]\d*\n$")

    def test_sleeper_without_sched(self):
        """Who has nothing on but offcpu sees switches: a thread without one slept."""
        child = self.start("/usr/bin/sleep", "60")
        trace = self.record("-e", "offcpu", "-p", str(child.pid), "-d", "300ms")
        self.assertEqual(list(e2e.Dump(trace, "--table", "sched_switch").rows("sched_switch")), [])
        report = e2e.report_json("offcpu", trace, "--all")
        row, = report["rows"]
        self.assertEqual(row["tid"], child.pid)
        self.assertGreaterEqual(row["total_ns"], 290_000_000)
        stack, = e2e.report_json("offcpu", trace, "--all", "--stacks")["stacks"]
        self.assertEqual(stack["total_ns"], row["total_ns"])
        wall, = e2e.rows("wall", trace)
        self.assertEqual(wall["sleep_ns"], row["total_ns"])
        part = self.path("part.ebt")
        e2e.run(e2e.EBREPORT, "cut", "--pid", str(child.pid), trace, "-o", part)
        self.assertEqual(e2e.rows("wall", part), [wall])


class Doubts(e2e.TestCase):
    """Few samples, and frames without a name."""
    OF_SAMPLES = (["callgraph"], ["folded"], ["flame", "-o", "/dev/null"], ["wall", "--folded"])

    def told(self, trace, *command):
        """What is said below a report, by what it begins with."""
        done = e2e.run(e2e.EBREPORT, *command, "--no-symbol-cache", trace)
        return re.findall(r"^ebreport: warning: (.*(?:samples?: ±|have no name).*)$",
                          done.stderr.decode(), re.M)

    def samples(self, trace, *options):
        return len(list(e2e.Dump(trace, "--table", "sample", *options).rows("sample")))

    def test_few(self):
        """As many as the file has; what would give more is said where it would."""
        trace = self.record("-e", "sample,sched,task", "-F", "37", "--", e2e.program("shares"), "0.3")
        n = self.samples(trace)
        self.assertTrue(0 < n < 50, n)
        text = f"{n} sample{'s' if n > 1 else ''}: ±{100 / math.sqrt(n):.0f} %; -F 999 gives more"
        for command in self.OF_SAMPLES:
            self.assertEqual([line for line in self.told(trace, *command) if "±" in line], [text])
        findings = {row["kind"]: row for row in e2e.report_json("overview", trace)["findings"]}
        self.assertEqual(findings["few_samples"]["text"], text)

    def test_enough(self):
        trace = self.record("-e", "sample,sched,task", "-F", "999", "--", e2e.program("shares"), "1")
        self.assertGreater(self.samples(trace), 50)
        for command in self.OF_SAMPLES:
            self.assertFalse([line for line in self.told(trace, *command) if "±" in line])
        # A window may have few of them. More a second would have been dear.
        first = next(e2e.Dump(trace, "--table", "sample").rows("sample"))["time"]
        to = f"{first - e2e.start_ns(trace) + 10_000_000}ns"
        n = self.samples(trace, "--to", to)
        self.assertTrue(0 < n < 50, n)
        self.assertIn(f"{n} sample{'s' if n > 1 else ''}: ±{100 / math.sqrt(n):.0f} %",
                      self.told(trace, "callgraph", "--to", to))

    def test_column(self):
        """SAMPLES are those that a function is in, and in the trees those of a path."""
        trace = self.record("-F", "199", "--", e2e.program("shares"), "0.5")
        report = e2e.report_json("callgraph", trace, "--function", "burn_half")
        paths = []
        for line in e2e.folded(trace, "--event", "sample", "--weight", "rows").items():
            paths.append((line[0].split(";")[1:], line[1]))
        self.assertEqual(sum(n for _, n in paths), self.samples(trace))
        names = collections.defaultdict(list)
        for row in report["rows"]:
            names[row["function"]].append(row["samples"])
        for name, samples in names.items():
            of_name = sum(n for path, n in paths if name in path)
            # A path has no files: _start of a program and of ld.so are one there, and may be in one.
            self.assertTrue(max(samples) <= of_name <= sum(samples), (name, samples, of_name))
        for tree in ("callers", "descendants"):
            root = report[tree][0]
            self.assertEqual((root["function"], root["samples"]),
                             ("burn_half", sum(n for path, n in paths if "burn_half" in path)))
        self.assertIn(" SAMPLES ", e2e.ebreport("callgraph", trace))
        # What is not sampled has none.
        self.assertNotIn("SAMPLES", e2e.ebreport("callgraph", "--event", "offcpu", trace))

    def test_names(self):
        """Weighted by what is shown, told once a report, and only where it matters."""
        stripped = self.path("stripped")
        e2e.run("strip", "-o", stripped, e2e.program("shares"))
        for program in (stripped, e2e.program("shares")):
            trace = self.record("-F", "199", "--", program, "0.5")
            stacks = e2e.folded(trace)
            frames = sum(n * (path.count(";")) for path, n in stacks.items())
            bad = sum(n * len(re.findall(r"\+0x[0-9a-f]+(?=;|$)", path))
                      for path, n in stacks.items())
            expected = [] if bad * 100 < frames else [f"{100 * bad / frames:.0f} % of frames"]
            if program == stripped:
                self.assertGreater(bad * 4, frames)
                waits = ["offcpu", "--stacks", "--all"]
                whole, = self.told(trace, *waits)
                self.assertEqual(self.told(trace, *waits, "--interval", "50ms"), [whole])
                self.assertRegex(" ".join(self.told(trace, "callgraph")),
                                 r"frames have no name \(stripped\b.*\): ebreport modules")
            for command in self.OF_SAMPLES[:3]:
                told = [line for line in self.told(trace, *command) if "no name" in line]
                self.assertEqual([line.split(" have")[0] for line in told], expected)
            self.assertFalse([line for line in self.told(trace, "callgraph", "--no-symbols")
                              if "no name" in line])

    def test_names_of_waits(self):
        stripped = self.path("stripped")
        e2e.run("strip", "-o", stripped, e2e.program("hangs"))
        child = self.start(stripped, stdout=subprocess.PIPE, text=True)
        for line in child.stdout:
            if line.split() == ["ready"]:
                break
        trace = self.record("-p", child.pid, "-d", "200ms")
        frames = [frame for row in e2e.rows("threads", trace) for frame in row.get("calls", [])]
        bad = sum(bool(re.search(r"\+0x[0-9a-f]+$", frame["function"])) for frame in frames)
        self.assertGreater(bad * 4, len(frames))
        told, = self.told(trace, "threads")
        self.assertTrue(told.startswith(f"{100 * bad / len(frames):.0f} % of frames have no name "
                                        "(stripped"), told)
        for command in (["offcpu", "--stacks", "--all"], ["wall", "--folded"],
                        ["folded", "--event", "offcpu"], ["offcpu", "--all", "--flame", "/dev/null"]):
            told, = self.told(trace, *command)
            self.assertIn("have no name (stripped", told)


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Python functions in stacks, compared with what Python itself says, for each CPython 3.11 to 3.13
that is here."""

import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import debugger
import e2e

HANGS = os.path.join(e2e.SOURCE, "tests/programs/python_hangs.py")
FRAMES = os.path.join(e2e.SOURCE, "tests/programs/python_frames.py")
LOOP = "_PyEval_EvalFrameDefault"
ENTRY, ID, INSTRUCTION = 1 << 63, (1 << 32) - 1, (1 << 28) - 1
VERSION = "import sys; print(sys.implementation.name, '%d.%d.%d' % sys.version_info[:3])"


INTERPRETERS = """try:
    import _interpreters as them
except ImportError:
    import _xxsubinterpreters as them
CODE = "import time\\n\\ndef inside():\\n    for i in range(5): time.sleep(0.01)\\ninside()\\n"

def outside():
    one = them.create()
    (them.run_string if hasattr(them, "run_string") else them.exec)(one, CODE)

outside()
"""


def pythons():
    """Programs of CPython 3.11 to 3.13, by version; Debian's is one of them."""
    names = [f"python3.{minor}" for minor in (11, 12, 13)]
    found = {}
    paths = [path for name in names
             for path in ["/usr/bin/" + name, shutil.which(name) or ""]
             + sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/3.*/bin/{name}")))]
    for path in paths:
        if os.path.exists(path) and "/shims/" not in path:
            words = e2e.run(path, "-c", VERSION).stdout.decode().split()
            if words[0] == "cpython":
                found.setdefault(words[1], path)
    return found


def line_of(row, index):
    """By Python's own reading of the line table."""
    first = int(row["first_line"])
    if index == INSTRUCTION:
        return first
    size = 2 * (index + 1)
    code = (lambda: None).__code__.replace(co_firstlineno=first, co_code=b"\x09\x00" * (index + 1),
                                           co_linetable=bytes.fromhex(row["lines"][1:]))
    for start, end, line in code.co_lines():
        if start <= size - 2 < end:
            return line
    return None


class Trace:
    """Python frames of a trace's stacks: [function, file, first line, line], the innermost first."""

    def __init__(self, path):
        self.dump = e2e.Dump(path)
        self.codes = {int(row["id"]): row for row in self.dump.rows("interp_code")}

    def frames(self, stack):
        """None: some have no name."""
        frames = []
        for address in stack.removeprefix("u:").rstrip("+").split(","):
            entry = int(address, 16) if address != "-" else 0
            if not entry & ENTRY:
                continue
            row = self.codes.get(entry >> 28 & ID)
            if not row:
                return None
            name, file = (json.loads(row[key]) for key in ("name", "file"))
            frames.append((name, file, int(row["first_line"]), line_of(row, entry & INSTRUCTION)))
        return tuple(frames)

    def switches(self):
        """(tid, frames) of each."""
        for row in self.dump.rows("sched_switch"):
            if row["ustack"] != "-":
                yield int(row["prev"].split("/")[0]), self.frames(row["ustack"])

    def sleeps(self, comm):
        """By process of this name, frames of each switch at which it waits to be woken."""
        found = collections.defaultdict(list)
        for row in self.dump.rows("sched_switch"):
            if row["prev"].endswith(f'/"{comm}"') and int(row["prev_state"], 0) & 1:
                found[row["prev"]].append(self.frames(row["ustack"]))
        return found

    def unfinished(self):
        """Frames of stacks that could not be walked to the root in time: the innermost ones."""
        for row in self.dump.rows("sched_switch"):
            if row["udump"] != "x":
                yield self.frames(row["ustack"])

    def blocks(self):
        """Frames of each stay off a CPU that has a beginning and an end."""
        begun = {}
        for row in self.dump.rows("sched_switch"):
            stack = begun.pop(row["next"], "-")
            if stack != "-":
                yield self.frames(stack)
            begun[row["prev"]] = row["ustack"]


def name(frame):
    """As reports show it."""
    function, file, first, _ = frame
    return f"{function} ({os.path.basename(file)}:{first})"


def settle(pid, n):
    """Waits until all of its n threads wait for something that does not come."""
    before, end = None, time.monotonic() + e2e.SECONDS
    while time.monotonic() < end:
        now = {}
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8") as f:
                text = f.read()
            now[tid] = re.findall(r"(?m)^(?:State:\t\w|\w*ctxt_switches:.*)", text)
        if len(now) == n and now == before and all(seen[0][-1] == "S" for seen in now.values()):
            return
        before = now
        time.sleep(0.3)
    raise AssertionError(f"threads that do not wait: {now}")


def tracebacks(path):
    """What faulthandler said: [function, file, line], the innermost first, by thread id."""
    with open(path, encoding="utf-8") as f:
        head, *parts = re.split(r"(?m)^(?:Current thread|Thread) (0x\w+)[^\n]*\n", f.read())
    ids = {line.split()[1]: int(line.split()[0]) for line in head.splitlines() if line}
    return {ids[ident]: [(name, file, int(line)) for file, line, name in
                         re.findall(r'(?m)^  File "(.*)", line (\d+) in (.*)$', said)]
            for ident, said in zip(parts[::2], parts[1::2])}


class Python(e2e.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pythons = pythons()
        print(f"\n    CPython {', '.join(cls.pythons)}", file=sys.stderr)
        assert cls.pythons, "there is no CPython 3.11 to 3.13"

    def naps(self, python, *options, switches=()):
        """Records a program that sleeps; gives the trace and {(tid, frames): times}. A task may lose
        its CPU after it worked out when to wake, and sleep for what is left: 1 ms is a nap."""
        said = self.path("said")
        trace = self.record("-e", "offcpu,sched", *options, "--", python, *switches,
                            FRAMES, said)
        expected = collections.Counter()
        with open(said, encoding="utf-8") as f:
            for nap in map(json.loads, f):
                expected[nap["tid"], tuple(map(tuple, nap["stack"]))] += 1
        self.assertGreater(sum(expected.values()), 100)
        return trace, expected

    def test_same_as_python_says(self):
        for version, python in self.pythons.items():
            trace, expected = self.naps(python)
            found = collections.Counter(
                (tid, frames) for tid, frames in Trace(trace).switches()
                if frames is None or frames and frames[0][:2] == ("nap", FRAMES))
            # A nap may be preempted besides, on the same line or where it writes down the stack.
            for key, times in expected.items():
                self.assertGreaterEqual(found[key], times, key)
            known = {(tid, frames[1:]) for tid, frames in expected}
            for tid, frames in found:
                self.assertIsNotNone(frames, "no name")
                self.assertIn((tid, frames[1:]), known)
            print(f"\n    {version}: {sum(expected.values())} stacks as Python says",
                  file=sys.stderr)

    def check_reports(self, python, switches):
        trace, naps = self.naps(python, "--max-stack", "300", switches=switches)
        folded = e2e.ebreport("folded", "--event", "offcpu", trace)
        naps = {frames for _, frames in naps}
        # Of a stay without an end reports know no length. This kernel hides some switches from BPF.
        known = Trace(trace)
        blocks = naps.intersection(known.blocks())
        self.assertGreater(len(blocks), len(naps) * 0.8)
        expected = {tuple(map(name, reversed(frames))) for frames in blocks}
        found = set()
        for line in folded.splitlines():
            frames = line.rsplit(" ", 1)[0].split(";")
            ours = tuple(f for f in frames if re.search(r" \(.*\)$", f))
            if ours and ours[-1] == f"nap ({os.path.basename(FRAMES)}:28)":
                found.add(ours)
                self.assertNotIn("_PyEval_EvalFrameDefault", frames)
        self.assertEqual(expected - found, set())
        # Beside load the table of a library may come after the first stacks that need it.
        parts = set(known.unfinished())
        self.assertEqual(found - {tuple(map(name, reversed(frames))) for frames in naps | parts},
                         set())

    def test_reports(self):
        """The same frames, as names, in place of the interpreter's loop."""
        for version, python in self.pythons.items():
            self.check_reports(python, [])
            if not version.startswith("3.11."):
                # Each function is run by generated code of its name.
                self.check_reports(python, ["-X", "perf"])

    def test_min_block(self):
        for _, python in self.pythons.items():
            trace, naps = self.naps(python, "--min-block", "1ms")
            trace = Trace(trace)
            found = {trace.frames(row["ustack"]) for row in trace.dump.rows("offcpu_stack")}
            # The row is made at the switch back, which this kernel hides from BPF at times.
            naps = {frames for _, frames in naps}
            self.assertGreater(len(naps & found), len(naps) * 0.9)

    def test_short_lived(self):
        """A process of tens of milliseconds has names: they come with the first stack, or with a
        later one where the recorder, which waits for a CPU, had not heard of the process's
        libraries. From then on all have them."""
        wanted = (("brief", "<string>", 2, 3), ("<module>", "<string>", 1, 4))
        for version, python in self.pythons.items():
            script = "import time\ndef brief():\n    for i in range(5): time.sleep(0.01)\nbrief()"
            loop = "for i in $(seq 40); do \"$0\" -I -S -c \"$1\"; done"
            trace = Trace(self.record("--", "sh", "-c", loop, python, script))
            self.assertNotIn(None, [frames for _, frames in trace.switches()])
            slept = trace.sleeps(os.path.basename(python))
            first = [stacks[0] for stacks in slept.values()]
            print(f"\n    {version}: {first.count(wanted)} of {len(slept)} short processes",
                  file=sys.stderr)
            self.assertEqual(len(slept), 40)
            self.assertGreaterEqual(first.count(wanted), 20)
            # Of an interpreter that is new to it, the recorder makes tables first.
            self.assertGreaterEqual(sum(wanted in stacks for stacks in slept.values()), 38)
            for stacks in slept.values():
                unnamed = stacks.index(wanted) if wanted in stacks else len(stacks)
                self.assertEqual(stacks,
                                 [()] * unnamed + [wanted] * (len(stacks) - unnamed))

    def test_subinterpreter(self):
        """Functions of one interpreter that run another one's."""
        for version, python in self.pythons.items():
            script = self.path("script.py")
            with open(script, "w", encoding="utf-8") as f:
                f.write(INTERPRETERS)
            trace = self.record("-e", "offcpu,sched", "--", python, script)
            wanted = [("inside", "<string>", 3, 4), ("<module>", "<string>", 1, 5),
                      ("outside", script, 7, 9), ("<module>", script, 1, 11)]
            self.assertIn(tuple(wanted), [frames for _, frames in Trace(trace).switches()],
                          version)

    def test_scribbled(self):
        """Interpreters whose memory is overwritten while they run harm nobody else."""
        script = os.path.join(e2e.SOURCE, "tests/programs/python_scribble.py")
        for version, python in self.pythons.items():
            trace = self.record("-F", "4999", "--", "sh", "-c",
                                'ulimit -c 0; "$0" "$1" 30', python, script)
            for command in "info", "dump":
                e2e.ebreport(command, trace)
            self.assertIn("main (python_scribble.py:", e2e.ebreport("folded", trace), version)

    def start_hanging(self, python, *arguments):
        child = self.start(python, *arguments, stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    def tell_where(self, child, said):
        """From the program itself. The last line is there when all of it is."""
        child.send_signal(signal.SIGUSR1)
        end = time.monotonic() + e2e.SECONDS
        while True:
            with open(said, encoding="utf-8") as f:
                if re.search(r"Current thread .*(?:\n  File .*)*in <module>\n", f.read()):
                    return tracebacks(said)
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def python_frames(self, row):
        """Functions of Python, as tracebacks() has them."""
        frames = []
        for frame in row["calls"]:
            match = re.fullmatch(r"(.*) \((.*):\d+\)", frame["function"])
            if "address" in frame or frame["inlined"] or frame["kernel"]:
                continue
            file, line = frame["lines"].rsplit(":", 1)
            self.assertEqual(match[2], os.path.basename(file))
            frames.append((match[1].rsplit(".", 1)[-1], file, int(line)))
        return frames

    def check_loops(self, trace, at, native):
        """Python's functions stand behind each loop of the interpreter that a debugger finds, and
        nowhere else."""
        for tid, stack in debugger.entries(trace, at).items():
            loops = {pc for pc, name, _, _ in native[tid] if (name or "").startswith(LOOP)}
            self.assertTrue(loops)
            for entry, following in zip(stack, stack[1:] + [0]):
                if debugger.is_address(entry):
                    self.assertEqual(entry in loops, not debugger.is_address(following), tid)

    def test_threads(self):
        """Where threads wait that did so before the recording: as faulthandler says it."""
        for version, python in self.pythons.items():
            said = self.path("said")
            child = self.start_hanging(python, HANGS, said)
            settle(child.pid, 5)
            trace = self.record("-p", child.pid, "-d", "0.3", "--max-stack", "400")
            native = debugger.frames(self.folder, "-p", child.pid)
            expected = self.tell_where(child, said)
            self.assertEqual(len(expected), 5)
            for at in "begin", "end":
                rows = debugger.compare(self, trace, native, at)
                for tid, frames in expected.items():
                    self.assertEqual(self.python_frames(rows[tid]), frames, (version, at))
                self.check_loops(trace, at, native)
            self.check_words(trace)
            child.kill()
            child.wait()

    def check_words(self, trace):
        self.assertRegex(e2e.ebreport("threads", trace),
                         r"(?m)^#\d+ +read_answer \(python_hangs.py:17\)  python_hangs.py:18\n"
                         r"#\d+ +ask_upstream \(python_hangs.py:21\)  python_hangs.py:22\n"
                         r"#\d+ +Handler.serve \(python_hangs.py:27\)  python_hangs.py:29\n")
        self.assertIn(";Handler.serve (python_hangs.py:27);ask_upstream (python_hangs.py:21);"
                      "read_answer (python_hangs.py:17);",
                      e2e.ebreport("wall", "--folded", trace))

    def test_threads_of_interpreters(self):
        script = self.path("script.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write(INTERPRETERS.replace("sleep(0.01)", "sleep(1000)")
                    .replace("outside()\n\n", "outside()\n").replace(
                        "import time", "import time; print('ready', flush=True)"))
        for version, python in self.pythons.items():
            child = self.start_hanging(python, script)
            settle(child.pid, 1)
            trace = self.record("-p", child.pid, "-d", "0.3")
            for row in e2e.rows("threads", trace):
                self.assertEqual(self.python_frames(row), [
                    ("inside", "<string>", 4), ("<module>", "<string>", 5),
                    ("outside", script, 9), ("<module>", script, 11)], version)
            child.kill()
            child.wait()

    def test_threads_off(self):
        python = list(self.pythons.values())[0]
        child = self.start_hanging(python, HANGS, self.path("said"))
        settle(child.pid, 5)
        for options in ["--no-python"], ["--call-graph", "fp"]:
            trace = self.record("-p", child.pid, "-d", "0.3", *options)
            self.assertEqual([stack for stack in debugger.entries(trace).values()
                              if not all(map(debugger.is_address, stack))], [])
            self.assertEqual(list(e2e.Dump(trace).rows("interp_code")), [])

    def test_off(self):
        python = list(self.pythons.values())[0]
        trace, _ = self.naps(python, "--no-python")
        self.assertNotIn("nap (", e2e.ebreport("folded", "--event", "offcpu", trace))
        self.assertEqual(list(e2e.Dump(trace).rows("interp_code")), [])


if __name__ == "__main__":
    e2e.main()

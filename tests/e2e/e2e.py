# SPDX-License-Identifier: GPL-2.0-or-later
"""What the end-to-end tests share: running ebrec and ebreport, and finding out whether they can.

Environment: EBREC and EBREPORT (programs), EBT_SOURCE (the source tree), EBT_PROGRAMS (a folder
with the test programs); PYTHONPATH is this folder. A test is a unittest module that ends with
e2e.main(), in the folder of its topic.
"""

import collections
import csv
import functools
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EBREC = os.environ.get("EBREC", "ebrec")
EBREPORT = os.environ.get("EBREPORT", "ebreport")
SOURCE = os.environ.get("EBT_SOURCE", ".")
PROGRAMS = os.environ.get("EBT_PROGRAMS", ".")
SECONDS = 300  # for anything; far more than it needs
HANGING = 600  # of a test, which is ended then: what one waits for may never come

# Linux: no tools/ may inherit the settings of who runs the tests.
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD")}
ATTEMPTS = 5  # of a test that the sandbox's kernel may disturb


def program(name):
    """Path of a program of tests/programs."""
    return os.path.join(PROGRAMS, name)


def run(*command, status=0, timeout=SECONDS, **options):
    """Runs a command to its end. Standard output and error are bytes in the result."""
    done = subprocess.run([str(c) for c in command], capture_output=True, timeout=timeout,
                          env=CLEAN, stdin=subprocess.DEVNULL, check=False, **options)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}, not {status}\n"
                             + (done.stdout + done.stderr).decode(errors="replace")[-3000:])
    return done


def ebreport(*arguments, **options):
    """Text of a report. What an earlier one found is not known to it."""
    return run(EBREPORT, *arguments, "--no-symbol-cache", **options).stdout.decode()


def report_json(command, trace, *arguments):
    """The JSON object of a report, after the checks that hold for each."""
    report = json.loads(ebreport(command, "--json", *arguments, trace))
    assert report["command"] == command, report["command"]
    for key in ("version", "file", "start_ns", "duration_ns", "lost"):
        assert key in report, f"{command} --json has no {key}"
    return report


def machines(report):
    """Of a file of several machines, the report of each."""
    return report.get("hosts", [report])


def hidden_runs(report):
    """The kernels of some sandboxes do not tell of every switch. The report says of how many runs,
    among its warnings or, where they are few, its remarks."""
    found = (re.match(r"(\d+) of \d+ runs? (?:have|has) no beginning or no end", text)
             for text in report["warnings"] + report.get("remarks", []))
    return sum(int(m[1]) for m in found if m)


def start_ns(trace):
    """CLOCK_MONOTONIC at the start of the trace, which times in JSON count from."""
    return int(report_json("info", trace)["start_ns"])


def report_csv(command, trace, *arguments):
    return list(csv.DictReader(io.StringIO(ebreport(command, "--csv", *arguments, trace))))


def rows(command, trace, *arguments):
    return report_json(command, trace, *arguments)["rows"]


def tables(trace):
    """Rows of `info`'s list of tables, by name."""
    return {row["name"]: row for row in report_json("info", trace)["rows"]}


def lost(trace):
    """Rows lost, by table, where some were."""
    return {name: row["lost_rows"] for name, row in tables(trace).items() if row["lost_rows"]}


def folded(trace, *arguments):
    """Weights by stack, from `ebreport folded`."""
    weights = collections.Counter()
    for line in ebreport("folded", *arguments, trace).splitlines():
        stack, weight = line.rsplit(" ", 1)
        weights[stack] += int(weight)
    return weights


class Dump:
    """Rows of a table, from `ebreport dump`: each a dictionary of texts, `time` included."""

    def __init__(self, trace, *arguments):
        self.lines = ebreport("dump", *arguments, trace).splitlines()

    @staticmethod
    def words(line):
        """Splits at spaces outside quotes."""
        words, word, quoted, escaped = [], "", False, False
        for char in line:
            if char == " " and not quoted:
                words.append(word)
                word = ""
                continue
            word += char
            if escaped:
                escaped = False
            elif char == "\\" and quoted:
                escaped = True
            elif char == '"':
                quoted = not quoted
        return words + [word]

    def rows(self, table):
        for line in self.lines:
            words = self.words(line) if line.split(" ", 2)[1] == table else None
            if words:
                row = dict(word.split("=", 1) for word in words[2:])
                row["time"] = int(words[0])
                yield row


def process_1_is_hidden():
    """Is this a sandbox that lets not even root look at process 1?"""
    try:
        with open("/proc/1/maps", encoding="utf-8") as f:
            f.read(1)
    except PermissionError:
        return True
    return False


def say_again(name, why):
    """A line for tools/test."""
    print(f"tried again: {os.path.basename(sys.argv[0])} {name}: {why[:200]}", file=sys.stderr)


def exact(test):
    """Such a sandbox's kernel runs no BPF programs while process 1 has the CPU, and so none of an
    interrupt that comes just then: tracefs has these completions of a disk, no program sees them. A
    test that wants every request, packet or switch is tried again there, and there only; once all
    have to be right.
    """
    @functools.wraps(test)
    def tried(self):
        for left in reversed(range(ATTEMPTS if process_1_is_hidden() else 1)):
            try:
                return test(self)
            except (AssertionError, LookupError, TypeError, ValueError) as e:  # a row is missing
                if not left:
                    raise
                say_again(self.id().removeprefix("__main__."), repr(e).splitlines()[0])
                self.doCleanups()
                self.setUp()
        return None
    return tried


def describe_processes():
    """This one and its descendants: what they are and where in the kernel they wait."""
    parents, lines = {}, []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                state, parent = f.read().rpartition(")")[2].split()[:2]
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                command = f.read().replace(b"\0", b" ").decode(errors="replace")[:150]
            with open(f"/proc/{pid}/wchan", encoding="ascii") as f:
                place = f.read()
        except OSError:
            continue  # it has gone
        parents[int(pid)] = int(parent)
        lines.append((int(pid), f"{pid} of {parent} {state} {place} {command}"))
    return "\n".join(line for pid, line in lines if os.getpid() in ancestors(parents, pid))


def ancestors(parents, pid):
    """Of a process, with itself."""
    while pid:
        yield pid
        pid = parents.get(pid, 0)


def end_hanging(_number, _frame):
    arm()  # what cleans up may hang, too
    raise AssertionError(f"{describe_processes()}\nIt hung for {HANGING} s, with these processes.")


def arm():
    """From here on a test has its time."""
    signal.signal(signal.SIGALRM, end_hanging)
    signal.alarm(HANGING)


class TestCase(unittest.TestCase):
    """A test with a folder of its own, which goes with it."""

    maxDiff = None

    def run(self, result=None):
        arm()
        try:
            return super().run(result)
        finally:
            arm()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ebt-e2e-")
        self.recordings = []  # that are to be looked at when the test has ended
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, *arguments, name="t.ebt", status=0, **options):
        """Records; arguments are those between `-o FILE` and the end. Gives the trace's path."""
        trace = self.path(name)
        self.recorded = run(EBREC, "-f", "-o", trace, *arguments, status=status, **options)
        if trace not in self.recordings:
            self.recordings.append(trace)
            self.addCleanup(self.path_adds_up, trace)
        return trace

    def path_adds_up(self, trace):
        """Whatever was recorded, and lost, the critical path is the time of the command."""
        done = run(EBREPORT, "why", "--json", "--no-symbols", trace, status=None)
        if done.returncode:
            # One that a test has damaged since.
            self.assertNotEqual(run(EBREPORT, "info", trace, status=None).returncode, 0, done.stderr)
            return
        for report in machines(json.loads(done.stdout)):
            self.assertEqual(sum(row["duration_ns"] for row in report["rows"]), report["wall_ns"])

    def start(self, *command, **options):
        """Starts a command in a session of its own, which is killed when the test ends."""
        options.setdefault("stdin", subprocess.DEVNULL)
        child = subprocess.Popen([str(c) for c in command], env=CLEAN, start_new_session=True,
                                 **options)

        def stop():
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream:
                    stream.close()

        self.addCleanup(stop)
        return child

    def slow_file(self, milliseconds):
        """The path of a file of 16 MiB each of whose reads and writes takes that long; its last MiB is
        bad."""
        folder = self.path("slow")
        os.mkdir(folder)
        server = self.start(sys.executable, os.path.join(SOURCE, "tests/e2e/io/slowdisk.py"), folder, 16,
                            milliseconds, stdout=subprocess.PIPE)
        self.assertEqual(server.stdout.readline(), b"mounted\n")
        self.addCleanup(run, "umount", "-l", folder)
        return os.path.join(folder, "disk")

    def wait_for_rows(self, trace, child, table, at_least=1, seconds=SECONDS):
        """Waits until the file has rows of the table: the recording is under way."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if child.poll() is not None:
                self.fail(f"recording ended with {child.returncode}")
            if os.path.exists(trace) and os.path.getsize(trace) > 96:
                done = run(EBREPORT, "info", "--json", trace, status=None)
                if done.returncode == 0:
                    found = {t["name"]: t["row_count"] for t in json.loads(done.stdout)["rows"]}
                    if found.get(table, 0) >= at_least:
                        return
            time.sleep(0.2)
        self.fail(f"not {at_least} rows of {table} after {seconds} s")

    def assert_no_loss(self, trace, whole_system=False):
        found = lost(trace)
        if whole_system:
            # A machine may have a process whose address space not even root may see.
            for table in ("mmap", "process"):
                found.pop(table, None)
        self.assertEqual(found, {})


def run_again(result):
    """Where the kernel of a sandbox disturbs what is measured (see exact()), also by taking the
    page cache of programs that are running, what failed runs a second time, with a new class and
    a new folder. tools/test lists it at the end: what is there often has to be looked into."""
    names = set()
    for test, why in result.failures + result.errors:
        name = getattr(test, "test_case", test).id().removeprefix("__main__.")
        names.add(name)
        say_again(name, why.strip().splitlines()[-1])
    module = sys.modules["__main__"]
    if any(" " in name for name in names):  # "setUpClass (__main__.Class)": which tests is unknown
        tests = unittest.defaultTestLoader.loadTestsFromModule(module)
    else:
        tests = unittest.defaultTestLoader.loadTestsFromNames(sorted(names), module)
    return unittest.TextTestRunner(verbosity=2).run(tests)


def main():
    """Runs the tests of the calling module, or says why that is not possible (status 77)."""
    reason = None
    if os.geteuid() != 0:
        reason = "needs root"
    elif not os.path.exists("/sys/kernel/btf/vmlinux"):
        reason = "this kernel has no BTF"
    if reason:
        print("skipped:", reason)
        sys.exit(77)
    # Whoever started this may have ignored it, as nohup does, and children inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    arm()
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful() and process_1_is_hidden():
        result = run_again(result)
    sys.exit(not result.wasSuccessful())

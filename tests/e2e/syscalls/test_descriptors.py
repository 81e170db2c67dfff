# SPDX-License-Identifier: GPL-2.0-or-later
"""`-e syscalls:args`: paths, names of files behind descriptors, addresses: against `strace -yy` of the
same execution, and against programs that know which file they read."""

import bisect
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

import e2e
import test_arguments

FILES = 50  # of tests/programs/descriptors.c
SECONDS = os.environ.get("EBT_DESCRIPTORS_SECONDS", "2")  # that they change for
WINDOW_NS = 2_000_000_000  # of a trace that is looked at at once
AROUND_NS = 100_000_000  # longer than calls last that change descriptors
# Calls without buffers and structs.
WHOLE = {"access", "brk", "close", "dup2", "getpid", "getuid", "kill", "lseek", "mmap", "mprotect", "munmap",
         "openat", "umask"}
LINE = re.compile(r"(\d+ +)(\d+)\.(\d{6})( (\w+)\(.* = .*<)\d+\.\d{6}>")
CLOCK_US = 1000  # to which a reading of two clocks at the start tells one from the other, later
CHANGES = ("close", "dup2", "fcntl", "io_uring_enter", "openat", "recvmsg")
# Reads a descriptor that it has had for long, opens as many files as it is told, or sleeps so often if that
# is negative, and says so.
OPENS = """
import os, sys, time
kept = os.open(sys.argv[1], os.O_RDONLY)
for line in iter(sys.stdin.readline, ""):
    os.pread(kept, 1, 0)
    for _ in range(-int(line)):
        time.sleep(0.0001)
    for _ in range(int(line)):
        os.close(os.open(sys.argv[1], os.O_RDONLY))
    print(line, end="", flush=True)
"""


class Names(test_arguments.Arguments):
    """With texts, addresses and names of files. What is passed over now are structs, buffers, and
    arguments of programs that could not be run."""

    source = "syscalls:args"
    strace = ["strace", "-f", "-yy", "-s", "100000"]
    contents = re.compile(r"STRUCT_.*|BUFFER.*|LIST")
    known = {"rt_sigreturn"}

    def parse(self, line):
        """Environments are not recorded, nor are descriptors named where one of them is bad."""
        line = re.sub(r"(execve\(.*, )(0x\w+ )?/\* .* \*/", r"\1ENVIRONMENT", line)
        if " EBADF " in line:
            line = re.sub(r"\b(\d+|AT_FDCWD)<[^>]*>(\(deleted\))?", r"\1", line)
        line = re.sub(r"<(char|block) \d+:\d+>", "", line)
        # Linux 6.9 gave these a file system of their own, which has no names.
        line = re.sub(r"<(anon_inode:\[pidfd\]|pid:\d+|\[0:\d+\]/)>", "", line)
        return super().parse(line)


class Form(e2e.TestCase):
    def lines(self, text):
        """Of each thread: time, the line without its times, name of the call; of what is not whole none."""
        found = collections.defaultdict(list)
        for line in text.splitlines():
            match = LINE.fullmatch(line)
            thread, seconds, us, rest, name = match.groups() if match else (line.split()[0], 0, 0, "", "")
            found[thread.strip()].append((int(seconds) * 1000000 + int(us), thread + rest, name))
        return found

    def test_strace(self):
        """--strace: lines that are byte for byte those of strace but for durations, and times that are
        between strace's of the same call, when it saw it, and of the thread's next one."""
        output = self.path("strace.txt")
        trace = self.record("-e", "syscalls:args", "--", "strace", "-f", "-ttt", "-T", "-yy", "-s", "100000",
                            "-o", output, "sh", "-c",
                            "ls / </dev/zero | cat; cat /etc/hostname >/dev/null; kill -0 1; umask 77")
        self.assert_no_loss(trace)
        with open(output, encoding="utf-8") as f:
            theirs = self.lines(f.read())
        mine = self.lines(e2e.ebreport("syscalls", "--strace", trace))
        count = 0
        for thread, lines in theirs.items():
            rest = iter(mine[thread])
            for (time_us, text, name), (next_us, _, _) in zip(lines, lines[1:]):
                if name not in WHOLE:
                    continue
                ours = next(line for line in rest if line[1] == text)
                self.assertGreaterEqual(ours[0], time_us - CLOCK_US, text)
                if next_us:
                    self.assertLessEqual(ours[0], next_us + CLOCK_US, text)
                count += 1
        print(f"\n    {count} lines", file=sys.stderr)
        self.assertGreater(count, 100)


class Random(e2e.TestCase):
    """Descriptors that change at any time, in threads and in processes that share them."""

    def setUp(self):
        super().setUp()
        self.files = self.path("files")
        os.mkdir(self.files)
        for i in range(FILES):
            with open(f"{self.files}/file{i:04}", "w", encoding="ascii") as f:
                f.write(f"file{i:04}")

    def calls(self, trace, begin, end):
        return json.loads(e2e.ebreport("syscalls", "--trace", "--json", "--from", f"{max(begin, 0)}ns", "--to",
                                       f"{end}ns", trace))["rows"]

    def changes(self, calls):
        """When calls may have changed a descriptor: by number, in order of their beginnings; None: of any."""
        found = collections.defaultdict(list)
        for call in calls:
            if call["name"] not in CHANGES:
                continue
            times = (call["time_ns"], call["time_ns"] + call["duration_ns"], call["tid"])
            if call["name"] in ("recvmsg", "io_uring_enter"):
                found[None].append(times)
            elif call["name"] == "close":
                found[int(re.match(r"\d+", call["args"][0])[0])].append(times)
            elif int(call["ret"]) >= 0:
                found[int(call["ret"])].append(times)
        return {fd: (sorted(times), max(end - begin for begin, end, _ in times))
                for fd, times in found.items()}

    def is_changing(self, changes, fd, call):
        """Does another thread change it while this call lasts?"""
        begin, end = call["time_ns"], call["time_ns"] + call["duration_ns"]
        for number in fd, None:
            times, longest = changes.get(number, ([], 0))
            for other in times[bisect.bisect_left(times, (begin - longest, 0, 0)):]:
                if other[0] > end:
                    break
                if other[1] >= begin and other[2] != call["tid"]:
                    return True
        return False

    def read(self, trace, begin, reads):
        """Reads of a window, and whether each is in a change, which may have begun before."""
        end = begin + WINDOW_NS
        calls = self.calls(trace, begin - AROUND_NS, end + AROUND_NS)
        changes = self.changes(calls)
        for call in calls:
            returned = call["time_ns"] + call["duration_ns"]
            if begin <= returned < end and call["name"] == "pread64" and call["args"][2:] == ["8", "0"] and \
                    call["ret"] == "8":
                number, file = re.fullmatch(r"(\d+)(?:<(.*)>)?", call["args"][0]).groups()
                reads[call["tid"]].append((number, file, self.is_changing(changes, int(number), call)))

    def compare(self, trace, said, whole):
        """Each read has the name of the file that it read, or none. Where another thread changes the
        descriptor in just that moment, nobody outside of the kernel knows which of the files it was."""
        if e2e.lost(trace):
            # A busy machine; then it is said, and names may be those of before.
            self.assertIn(" lost", " ".join(e2e.report_json("syscalls", trace, "--trace")["warnings"]))
            print("\n    rows were lost", e2e.lost(trace), file=sys.stderr)
            return
        logs = collections.defaultdict(list)
        for line in said.splitlines():
            tid, fd, name = line.split()
            logs[int(tid)].append((fd, name))
        count = collections.Counter()
        reads = collections.defaultdict(list)
        duration = int(e2e.report_json("info", trace)["duration_ns"])
        for begin in range(0, duration, WINDOW_NS):
            self.read(trace, begin, reads)
        for tid, mine in reads.items():
            # A recording that began later has the last ones.
            for (number, file, is_changing), (fd, name) in zip(reversed(mine), reversed(logs[tid])):
                self.assertEqual(number, fd)
                if is_changing:
                    count["in a change"] += 1
                elif file is None:
                    count["not known"] += 1
                else:
                    self.assertEqual(os.path.basename(file), name)
                    count["right"] += 1
        print(f"\n    {dict(count)}", file=sys.stderr)
        self.assertGreater(count["right"], 10 * count["not known"])
        self.assertGreater(count["right"], 1000)
        if whole:
            self.assertEqual(sum(map(len, reads.values())), sum(map(len, logs.values())))

    def test_from_the_beginning(self):
        trace = self.record("-b", "32M", "-e", "syscalls:args", "--", e2e.program("descriptors"), self.files, SECONDS)
        self.compare(trace, self.recorded.stdout.decode(), True)

    def test_io_uring(self):
        """Descriptors change without calls."""
        trace = self.record("-b", "64M", "-e", "syscalls", "--", e2e.program("descriptors"), self.files, SECONDS,
                            "uring")
        self.compare(trace, self.recorded.stdout.decode(), True)

    def test_begun_in_the_middle(self):
        child = self.start(e2e.program("descriptors"), self.files, "4", stdout=subprocess.PIPE)
        time.sleep(1)
        trace = self.path("t.ebt")
        recorder = self.start(e2e.EBREC, "-q", "-b", "32M", "-e", "syscalls:args", "-p", child.pid, "-o", trace)
        said = child.communicate(timeout=e2e.SECONDS)[0].decode()
        self.assertEqual(recorder.wait(e2e.SECONDS), 0)
        self.compare(trace, said, False)


class Rewritten(e2e.TestCase):
    opens = 300000

    def test_file_is_the_kernel_s(self):
        """Another thread changes the path while it is opened: the text is what it was at the return, the
        name of the descriptor is the file that the kernel opened."""
        trace = self.record("-b", "128M", "-e", "syscalls:args", "--", e2e.program("rewritten"), self.folder,
                            str(self.opens))
        truth = self.recorded.stdout.decode()
        self.assertEqual(len(truth), self.opens)
        line = re.compile(rf'"{self.folder}/([ab])", O_RDONLY\|O_CLOEXEC\) = \d+<{self.folder}/([ab])>')
        said = line.findall(e2e.ebreport("syscalls", "--trace", trace))
        self.assertEqual("".join(file for _, file in said), truth)
        others = sum(text != file for text, file in said)
        print(f"\n    {others} of {self.opens} paths had changed", file=sys.stderr)
        self.assertGreater(others, 0)
        self.assertFalse(e2e.lost(trace))


class Losses(e2e.TestCase):
    def count(self, events, naps):
        """Each row of a record that found no room counts, and what it told is told again."""
        kept, trace, n = self.path("kept"), self.path("t.ebt"), 5000
        with open(kept, "w", encoding="ascii") as f:
            f.write("a")
        work = self.start(sys.executable, "-c", OPENS, kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          bufsize=0)

        def opens(number):
            work.stdin.write(b"%d\n" % number)
            self.assertEqual(work.stdout.readline(), b"%d\n" % number)

        opens(1)
        recorder = self.start(e2e.EBREC, "-q", "-b", "64K", "-e", events, "-p", work.pid, "-o", trace)
        self.wait_for_rows(trace, recorder, "clock")
        recorder.send_signal(signal.SIGSTOP)
        if naps:
            opens(-naps)
        opens(n)
        recorder.send_signal(signal.SIGCONT)
        self.wait_for_rows(trace, recorder, "syscall_arg")  # there is room again
        opens(0)
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(e2e.SECONDS), 0)
        tables, lost = e2e.tables(trace), e2e.lost(trace)
        self.assertGreater(lost["syscall_arg"], 0)
        self.assertEqual(tables["syscall_arg"]["row_count"] + lost["syscall_arg"], n)
        # Each is told when it is returned, or when it is closed.
        self.assertGreaterEqual(tables["fd"]["row_count"] + lost["fd"], n)
        last = [line for line in e2e.ebreport("syscalls", "--trace", trace).splitlines() if "pread64" in line][-1]
        self.assertIn(f"<{kept}>, ", last)
        return lost

    def test_counts(self):
        self.count("syscalls:args", 0)

    def test_full_ring(self):
        """Rows of another source fill the ring before calls fill their queue."""
        self.assertIn("sched_switch", self.count("syscalls,sched", 600))


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Source `mark`, against what programs with ebmark.h know themselves of what they said.

The notes of the probes are read by readelf and perf too. tests/programs/marks.c says what it does.
"""

import collections
import os
import re
import shutil
import struct
import subprocess
import unittest

import e2e

MARKS = e2e.program("marks")
INCLUDE = os.path.join(e2e.SOURCE, "include")
N = 100000
SLACK_NS = 2000


def text(value):
    """What `dump` has in quotes."""
    assert value[0] == '"' and value[-1] == '"', value
    return re.sub(r"\\(.)", r"\1", value[1:-1])


def bits(number):
    return struct.unpack("=q", struct.pack("=d", number))[0]


def marks(trace, group=None):
    found = [row for row in e2e.Dump(trace).rows("mark")]
    for row in found:
        for key in "group", "name", "message":
            row[key] = text(row[key])
    return [row for row in found if group is None or row["group"] == group]


def said_late(trace):
    """Files whose marks before some time are not known to be there: (from, to, path)."""
    found = []
    for row in e2e.Dump(trace).rows("lost"):
        match = re.match(r"marks of (.*) before it was met", text(row["detail"]))
        if match:
            assert row["count"] == "0" and text(row["source"]) == "mark", row
            found.append((int(row["from"]), row["time"], match[1]))
    return found


def pairs(content):
    """Times before and after each mark, as the program wrote them."""
    return list(struct.iter_unpack("=QQ", content))


def assert_times(test, rows, times):
    """Each row lies between the clock before its mark and after it; none is missing."""
    test.assertEqual([row["message"] for row in rows], [str(i) for i in range(len(times))])
    wrong = [(row["time"], pair) for row, pair in zip(rows, times)
             if not pair[0] - SLACK_NS <= row["time"] <= pair[1] + SLACK_NS]
    test.assertEqual(wrong, [])


def assert_texts(test, trace):
    """What `marks kinds` says of texts that are hard to record."""
    logs = [(r["severity"], text(r["domain"]), text(r["message"]), int(r["cut"]))
            for r in e2e.Dump(trace).rows("log")]
    long = "".join(chr(ord("a") + i % 26) for i in range(3000))
    test.assertEqual(logs, [
        ("emergency", "domain", "the worst", 0),
        ("warning", "domain", 'line with "quotes"', 0),
        ("debug", long[:60] + "…", long[:1023], 3000 - 1023),
        ("info", "(unreadable)", "(unreadable)", 0)])
    others = [(r["group"], r["name"], r["message"]) for r in marks(trace)
              if r["group"] != "kinds"]
    test.assertEqual(others, [
        (long[:60] + "…", long[:124] + "…", long[:1020] + "…"),
        (long[:63], "63", ""),
        (("ä" * 30) + "…", "umlauts", ""),
        ("", "", ""),
        ("texts", "unreadable", "(unreadable)"),
        ("texts", "no address", "(unreadable)"),
        ("texts", "untouched", "brought in"),
        ("texts", "untouched twice", "two pages")])


class Marks(e2e.TestCase):
    def test_hundred_thousand(self):
        for program, sources in (MARKS, "default"), (e2e.program("marks_static"), "mark"):
            trace = self.record("-e", sources, "--", program, "timed", N)
            rows = marks(trace, "timed")
            times = pairs(self.recorded.stdout)
            self.assertEqual(len(times), N)
            assert_times(self, rows, times)
            self.assertEqual({(row["kind"], row["name"], row["origin"], row["key"], row["late"])
                              for row in rows}, {("instant", "tick", "ebmark", "0x0", "0")})
            self.assert_no_loss(trace)
            self.assertEqual(said_late(trace), [])

    def record_kinds(self):
        with open(self.path("pages"), "wb") as file:
            pages = bytearray(b"\0" * 4 * 4096)
            pages[:10] = b"brought in"
            pages[3 * 4096 - 4:3 * 4096 + 5] = b"two pages"
            file.write(pages)
            file.flush()
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        trace = self.record("-e", "mark", "--", MARKS, "kinds", self.path("pages"))
        self.assert_no_loss(trace)
        return trace

    def test_kinds(self):
        trace = self.record_kinds()
        start, end, enabled = map(int, self.recorded.stdout.split())
        self.assertEqual(enabled, 1)
        rows = marks(trace, "kinds")
        self.assertEqual(
            [(r["kind"], r["name"], int(r["key"], 16), r["message"]) for r in rows if
             r["kind"] != "span"],
            [("begin", "pair", 0, ""), ("begin", "within", 0, ""), ("end", "within", 0, ""),
             ("end", "pair", 0, "said at the end"),
             ("begin", "keyed", 0xfeedfacecafebeef, ""), ("end", "keyed", 0xfeedfacecafebeef, ""),
             ("begin", "keyed", 2, ""), ("end", "keyed", 2, "with words")])
        span, backwards = (r for r in rows if r["kind"] == "span")
        self.assertEqual(span["message"], "timed by itself")
        self.assertEqual(span["time"] - int(span["late"]), end)
        self.assertEqual(int(span["duration"]), end - start)
        self.assertEqual(int(backwards["duration"]), 0)
        counters = [(text(r["group"]), text(r["name"]), r["type"], int(r["value"]))
                    for r in e2e.Dump(trace).rows("mark_counter")]
        self.assertEqual(counters, [
            ("numbers", "least", "integer", -2**63), ("numbers", "most", "integer", 2**63 - 1),
            ("numbers", "pi", "double", bits(3.141592653589793)),
            ("numbers", "minus zero", "double", bits(-0.0))])

    def test_texts(self):
        assert_texts(self, self.record_kinds())

    def test_threads(self):
        n = 5000
        trace = self.record("-e", "mark", "--", MARKS, "threads", n)
        self.assert_no_loss(trace)
        of_thread = collections.defaultdict(list)
        for row in marks(trace, "threads"):
            of_thread[row["task"].split("/")[0]].append((row["kind"], row["name"]))
        self.assertEqual(len(of_thread), 4)
        names = set()
        for rows in of_thread.values():
            name = rows[0][1]
            names.add(name)
            self.assertEqual(rows, [("begin", name), ("begin", "inner"), ("end", "inner"),
                                    ("end", name)] * n)
        self.assertEqual(names, {f"thread {i}" for i in range(4)})
        handed = {"begin": {}, "end": {}}
        for row in marks(trace, "handed on"):
            handed[row["kind"]][int(row["key"], 16)] = row
        for rows in handed.values():
            self.assertEqual(set(rows), set(range(1, 4 * n + 1)))
        for key, row in handed["begin"].items():
            self.assertLess(row["time"], handed["end"][key]["time"])
            self.assertNotEqual(row["task"], handed["end"][key]["task"])

    def test_full_buffer(self):
        """What the buffer has no room for is counted."""
        n = 20000
        trace = self.record("-e", "mark", "-b", "64k", "--", MARKS, "threads", n)
        table = e2e.tables(trace)["mark"]
        self.assertEqual(table["row_count"] + table["lost_rows"], 4 * n * 6)

    def test_cpp(self):
        e2e.run("c++", "-std=c++11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I",
                INCLUDE, "-o", self.path("scope"),
                os.path.join(e2e.SOURCE, "tests/programs/marks_scope.cc"))
        trace = self.record("-e", "mark", "--", self.path("scope"))
        said = "said in between"
        self.assertEqual([(r["kind"], r["name"], r["message"]) for r in marks(trace, "scope")], [
            ("begin", "returns", ""), ("end", "returns", said),
            ("begin", "throws", ""), ("end", "throws", said), ("instant", "caught", "")])
        self.assertEqual(self.recorded.stdout.strip(), b"1")

    def test_script_and_what_it_runs(self):
        """A program that only a script knows of is met when it is run; this is said."""
        script, trace = self.path("script"), self.path("t.ebt")
        copy = shutil.copy(MARKS, self.path("copy"))
        with open(script, "w", encoding="ascii") as file:
            # The second run is of a file that was met before.
            file.write(f"#!/bin/sh\n{copy} timed 10 >/dev/null\nread met\n{copy} timed 1000\n")
        os.chmod(script, 0o755)
        child = self.start(e2e.EBREC, "-e", "mark", "-o", trace, "--", script,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.wait_for_rows(trace, child, "lost")
        times = pairs(child.communicate(b"yes\n")[0])
        self.assertEqual(child.returncode, 0)
        late = said_late(trace)
        self.assertEqual([path for _, _, path in late], [copy])
        rows = marks(trace, "timed")
        self.assertGreater(times[0][0], late[0][1])
        assert_times(self, [r for r in rows if r["time"] > times[0][0] - SLACK_NS], times)
        self.assert_no_loss(trace)

    def test_late_library(self):
        trace, plugin = self.path("t.ebt"), e2e.program("marks_plugin.so")
        child = self.start(e2e.EBREC, "-e", "mark", "-o", trace, "--", MARKS, "late", plugin, 1000,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        child.stdin.write(b"load it\n")
        child.stdin.flush()
        self.assertEqual(child.stdout.readline(), b"loaded\n")
        self.wait_for_rows(trace, child, "lost")
        child.stdin.write(b"run it\n")
        child.stdin.flush()
        child.communicate()
        self.assertEqual(child.returncode, 0)
        rows = marks(trace, "plugin")
        self.assertEqual([r["message"] for r in rows if r["name"] == "attached"],
                         [str(i) for i in range(1000)])
        [(start, end, path)] = said_late(trace)
        self.assertEqual(path, os.path.realpath(plugin))
        self.assertLess(start, end)
        # What was missed was before that.
        early = [r for r in rows if r["name"] == "early"]
        self.assertEqual([r["message"] for r in early],
                         [str(i) for i in range(1000 - len(early), 1000)])
        for row in early:
            self.assertGreater(row["time"], start)
        self.assertIn("before it was met", e2e.ebreport("info", "--all", trace))
        self.assertIn("how many is not known", e2e.report_json("marks", trace)["warnings"][0])

    def running(self, *arguments):
        """Records what runs already: marks of it between two lines it gets are all there."""
        child = self.start(MARKS, "waits", 1000, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        trace = self.path("t.ebt")
        recorder = self.start(e2e.EBREC, "-f", "-e", "mark,task", "-o", trace,
                              *[str(child.pid) if a == "PID" else a for a in arguments])
        self.wait_for_rows(trace, recorder, "source")
        child.stdin.write(b"go\n")
        child.stdin.flush()
        first = child.stdout.read(16 * 1000)
        again = self.start(MARKS, "timed", 1000, stdout=subprocess.PIPE)
        other = again.communicate()[0]
        second = child.communicate(b"go\n")[0]
        recorder.terminate()
        recorder.wait()
        rows = [r for r in marks(trace, "timed") if r["task"].startswith(f"{child.pid}/")]
        assert_times(self, [r for r in rows if r["name"] == "first"], pairs(first))
        assert_times(self, [r for r in rows if r["name"] == "second"], pairs(second))
        # Files that processes had mapped then are said to be there from the beginning.
        self.assertNotIn(os.path.realpath(MARKS), [path for _, _, path in said_late(trace)])
        return [r for r in marks(trace, "timed")
                if r["task"].startswith(f"{again.pid}/")], pairs(other)

    def test_running_process(self):
        rows, _ = self.running("-p", "PID")
        self.assertEqual(rows, [])  # another process, with the same file

    def test_whole_system(self):
        assert_times(self, *self.running("-a"))

    def test_refused_place(self):
        """What the kernel does not probe is said, and the other marks of the file are there."""
        child = self.start(e2e.program("refused"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        child.stdout.readline()
        trace = self.path("t.ebt")
        recorder = self.start(e2e.EBREC, "-f", "-e", "mark,task", "-o", trace, "-p",
                              str(child.pid))
        self.wait_for_rows(trace, recorder, "source")
        child.communicate(b"go\n")
        recorder.wait()
        self.assertEqual([(r["name"], r["message"]) for r in marks(trace, "refused")],
                         [("before", "1"), ("before", "2"), ("before", "3"), ("behind", "1"),
                          ("behind", "2")])
        self.assertRegex(e2e.ebreport("info", "--all", trace),
                         "marks of .*/refused: 1 of 6 places: the kernel cannot probe")

    def test_readelf_and_perf(self):
        notes = e2e.run("readelf", "-nW", MARKS).stdout.decode()
        found = re.findall(r"Provider: (\S+)\n +Name: (\S+)\n +Location: \S+, Base: \S+, "
                           r"Semaphore: (\S+)\n +Arguments: (.*)", notes)
        names = {"begin", "end", "instant", "span", "counter", "counter_double", "log"}
        self.assertEqual({(provider, name) for provider, name, _, _ in found},
                         {("ebmark", name) for name in names})
        self.assertEqual(len({semaphore for _, _, semaphore, _ in found}), 1)
        self.assertEqual({len(arguments.split()) for _, _, _, arguments in found}, {5})
        perf = "perf", "--buildid-dir", self.path("perf")
        e2e.run(*perf, "buildid-cache", "--add", MARKS)
        listed = e2e.run(*perf, "list", "sdt").stdout.decode()
        self.assertEqual(set(re.findall(r"sdt_ebmark:(\w+)", listed)), names)


if __name__ == "__main__":
    e2e.main()

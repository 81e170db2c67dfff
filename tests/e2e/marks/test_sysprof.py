# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that know Sysprof: what sysprof-cli makes of the same ones, and one that means ill."""

import collections
import os
import re
import signal
import struct
import time

import e2e

CLIENT = e2e.program("sysprof_client")
LIST = e2e.program("sysprof_list")
GTK = e2e.program("sysprof_gtk")
HOSTILE = os.path.join(e2e.SOURCE, "tests/programs/sysprof_hostile.py")
# GLib's, in both forms.
SEVERITIES = {4: "error", 8: "warning", 16: "warning", 32: "notice", 64: "info", 128: "debug"}


def without_time(message):
    return re.sub(r"^tid .*", "tid", message)


def value_of(row):
    value = int(row["value"])
    if row["type"] == "double":
        return struct.unpack("d", struct.pack("q", value))[0]
    return value


def text(row, field):
    return row[field].strip('"')


class Sysprof(e2e.TestCase):
    def setUp(self):
        super().setUp()
        if not os.path.exists(CLIENT):
            self.fail("built without libsysprof-capture")

    def messages(self):
        with open(self.path("messages"), "rb") as f:
            return f.read()

    def lost(self, trace):
        """How much of what; there is a row of each for every while in which some was lost."""
        found = collections.Counter()
        for row in e2e.Dump(trace).rows("lost"):
            if text(row, "source") == "sysprof":
                found[text(row, "detail")] += int(row["count"])
        return found

    def ours(self, *command):
        """All that was said: the marks, the values of counters, the lines of logs."""
        trace = self.record("-e", "sysprof", "--", *command)
        dump = e2e.Dump(trace)
        self.assertEqual(self.lost(trace), {})
        said = collections.Counter()
        for row in dump.rows("mark"):
            said["mark", text(row, "group"), text(row, "name"), without_time(text(row, "message")),
                 int(row["duration"])] += 1
            self.assertEqual(row["kind"], "span" if int(row["duration"]) else "instant")
        for row in dump.rows("mark_counter"):
            said["counter", text(row, "group"), text(row, "name"), text(row, "doc"),
                 value_of(row)] += 1
        for row in dump.rows("log"):
            said["log", text(row, "domain"), text(row, "message"), row["severity"]] += 1
        return said

    def theirs(self, *command, pause=0.5):
        """The same, of sysprof-cli. It cannot end by itself where there is no polkit; what it has
        not read by the time that it is told to is not in its file."""
        capture, done = self.path("t.syscap"), self.path("done")
        with open(self.path("messages"), "wb") as messages:
            child = self.start("env", "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent",
                               "sysprof-cli", "-f", "--use-trace-fd", "--no-cpu", "--no-disk",
                               "--no-battery", "--no-memory", "--no-perf", "--no-network",
                               "--no-decode", capture, "--", "sh", "-c",
                               f"{' '.join(map(str, command))}; sleep {pause}; : >{done}",
                               stdout=messages, stderr=messages)
        end = time.monotonic() + e2e.SECONDS
        while not os.path.exists(done):
            self.assertLess(time.monotonic(), end, "sysprof-cli runs nothing")
            self.assertIsNone(child.poll(), self.messages())
            time.sleep(0.05)
        time.sleep(pause)
        while child.poll() is None:
            child.send_signal(signal.SIGINT)
            time.sleep(0.2)
        said = collections.Counter()
        for line in e2e.run(LIST, capture).stdout.decode().splitlines():
            kind, *words = line.split("\t")
            if kind == "log":
                words[2] = SEVERITIES[int(words[2])]
            elif kind == "mark":
                words[2:] = [without_time(words[2]), int(words[3])]
            else:
                words[3] = float(words[3])
            said[(kind, *words)] += 1
        return said

    def assert_same(self, ours, *command):
        """On a busy machine the other one takes its time: it gets more."""
        for pause in (0.5, 2, 8):
            theirs = self.theirs(*command, pause=pause)
            if theirs.total() >= ours.total():
                break
            os.remove(self.path("done"))
        self.assertEqual(ours, theirs)

    def test_control_as_sysprof_shows_it(self):
        ours = self.ours(CLIENT, "control", "1", "200")
        self.assert_same(ours, CLIENT, "control", "1", "200")
        # 200 turns, of which each has a mark, two values and a line.
        self.assertEqual(sum(ours.values()), 1 + 200 * 4)

    def test_trace_as_sysprof_shows_it(self):
        ours = self.ours(CLIENT, "trace")
        self.assert_same(ours, CLIENT, "trace")
        self.assertEqual(sum(ours.values()), 3)

    def test_several_processes_write_one_file(self):
        said = self.ours(CLIENT, "trace", "4")
        self.assertEqual(said["mark", "Writer", "mark", "a child", 1_000_000], 3)
        for i in range(4):
            self.assertEqual(
                said["counter", "Client", f"written {i}", f"The written of {i}", -5 - i], 1)

    def test_threads_and_times(self):
        trace = self.record("-e", "sysprof:control", "--", CLIENT, "control", "8", "300")
        dump = e2e.Dump(trace)
        self.assertEqual(self.lost(trace), {})
        marks = list(dump.rows("mark"))
        turns = collections.Counter(text(m, "message").split()[-1] for m in marks
                                    if text(m, "name") == "turn")
        self.assertEqual(turns, {str(i): 300 for i in range(8)})
        tasks = set()
        for mark in marks:
            if text(mark, "name") != "begins":
                continue
            tid, when = re.match(r"tid (\d+) at (\d+)", text(mark, "message")).groups()
            self.assertEqual(int(mark["time"]) - int(mark["late"]), int(when))
            # The kernel says which process it was; the thread is found where it can be.
            task, pid = mark["task"].split("/")[:2]
            tasks.add(pid)
            self.assertIn(task, (tid, pid))
        self.assertEqual(len(tasks), 1)
        # Threads number their counters alike; each value is of its own thread's.
        wholes = collections.defaultdict(set)
        for row in dump.rows("mark_counter"):
            if text(row, "name").startswith("whole"):
                wholes[text(row, "name")].add(int(row["value"]))
        for i in range(8):
            self.assertEqual(wholes[f"whole {i}"], {i * 1000 - n for n in range(300)})

    def test_other_pid_namespace(self):
        trace = self.record("-e", "sysprof", "--", "unshare", "-p", "-f", "sh", "-c",
                            f"{CLIENT} control 2; true")
        marks = list(e2e.Dump(trace).rows("mark"))
        self.assertEqual(len(marks), 2 * 4)
        for mark in marks:
            self.assertIn('/"sysprof_client"', mark["task"])

    def test_what_is_too_fast_is_said(self):
        trace = self.record("-e", "sysprof:control", "--", CLIENT, "control", "1", "40000")
        turns = sum(text(m, "name") == "turn" for m in e2e.Dump(trace).rows("mark"))
        self.assertGreater(turns, 1000)
        if turns < 40000:
            self.assertIn("times that a ring was full: its thread may have lost some",
                          self.lost(trace))

    def test_frames_of_gtk(self):
        self.assertTrue(os.path.exists(GTK), "built without GTK 4")
        run = self.path("run")
        os.mkdir(run, 0o700)
        environment = ["env", f"XDG_RUNTIME_DIR={run}", f"HOME={run}", "GDK_BACKEND=broadway",
                       "BROADWAY_DISPLAY=:7", "GSETTINGS_BACKEND=memory"]
        with open(self.path("messages"), "wb") as messages:
            self.start(*environment, "gtk4-broadwayd", "--unixsocket", self.path("socket"), ":7",
                       stdout=messages, stderr=messages)
        end = time.monotonic() + e2e.SECONDS
        while not os.path.exists(os.path.join(run, "broadway8.socket")):
            self.assertLess(time.monotonic(), end, self.messages())
            time.sleep(0.05)
        frames = 3
        trace = self.record("-e", "sysprof", "--", *environment, GTK, frames)
        dump = e2e.Dump(trace)
        self.assertEqual(self.lost(trace), {})
        marks = [m for m in dump.rows("mark") if text(m, "group") == "gtk"]
        names = collections.Counter(text(m, "name") for m in marks)
        for name in ("gtk init", "gtk application startup"):
            self.assertEqual(names[name], 1, names)
        for name in ("frameclock paint", "widget snapshot", "widget render"):
            self.assertGreaterEqual(names[name], frames - 1, names)
        spans = {}
        for m in marks:
            at = int(m["time"]) - int(m["late"])
            spans.setdefault(text(m, "name"), []).append((at - int(m["duration"]), at))
        for begin, end in spans["frameclock paint"]:
            self.assertTrue(any(b <= begin and end <= e for b, e in spans["frameclock cycle"]))
        self.assertIn('"created-styles"', {r["name"] for r in dump.rows("mark_counter")})

    def test_only_a_command(self):
        trace = self.record("-e", "sched,sysprof", "-p", str(os.getpid()), "-d", "0.1")
        sources = e2e.report_json("info", trace)["sources"]
        self.assertEqual(next(s for s in sources if s["name"] == "sysprof")["status"],
                         "unavailable")

    def test_programs_that_mean_ill(self):
        trace = self.record("-e", "sysprof", "--", "python3", HOSTILE)
        said = self.recorded.stdout.decode()
        rings, refused = map(int, re.fullmatch(r"rings (\d+) refused (\d+)\n", said).groups())
        self.assertEqual(rings + refused, 3000)
        self.assertLessEqual(rings, 1024)
        names = collections.Counter(text(m, "name") for m in e2e.Dump(trace).rows("mark"))
        for name, n in (("survivor", 1), ("past", 2), ("future", 1), ("long", 1),
                        ("backwards", 1)):
            self.assertEqual(names[name], n, names)
        for m in e2e.Dump(trace).rows("mark"):
            self.assertLess(int(m["late"]) + int(m["duration"]), 3600_000_000_000)
        lost = self.lost(trace)
        for detail in ("frames shorter than what they are to hold",
                       "rings with what is no frame, not read on",
                       "rings refused: too many are open",
                       "messages at the socket that ask for nothing known",
                       "values of counters that nobody defined",
                       "places in the capture file with what is no frame"):
            self.assertIn(detail, lost)
        moved = [text(m, "value") for m in e2e.Dump(trace).rows("meta")
                 if text(m, "key") == "sysprof.times_moved"]
        self.assertGreaterEqual(int(moved[0]), 5)
        self.assertGreaterEqual(lost["rings refused: too many are open"], refused)


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording begins when the command is let go, and ends when its end is asked for: what the
recorder does before and behind that is in no report."""

import json
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time

import e2e

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/tools"))
import ebtdump  # noqa: E402

# Says when it begins and ends, and does something between.
COMMAND = ("import os, time\n"
           "begin = time.monotonic_ns()\n"
           "for _ in range(100): os.getppid()\n"
           "time.sleep(0.3)\n"
           "print(begin, time.monotonic_ns(), flush=True)\n"
           "os._exit(3)")
WORK = "while :; do sleep 0.01; done"
SLEEPER = "import time; time.sleep(600)"
CLOSING = re.compile(rb"; ([0-9.]+) s, ([0-9,]+) events? \(([0-9,]+) CPU sample")


EBTGEN = os.path.join(os.environ["EBT_PROGRAMS"], "../../tools/ebtgen")
EBTDUMP = os.path.join(e2e.SOURCE, "tests/tools/ebtdump.py")
HEADER_LOST, HEADER_CRC = 76, 92  # of a chunk
OF_CLASS = re.compile(r'^\d+ schema .* table_class=(\w+) .* table_name="(\w+)"')


def event_rows(trace, second_reader=False):
    """Times of all rows of class event, by table."""
    lines = e2e.Dump(trace).lines
    if second_reader:
        dumped = e2e.run(sys.executable, EBTDUMP, trace).stdout.decode().splitlines()
        assert dumped == lines, trace
    classes = {m[2]: m[1] for m in map(OF_CLASS.match, lines) if m}
    times = {}
    for line in lines:
        time_ns, table = line.split(" ", 2)[:2]
        if classes[table] == "event":
            times.setdefault(table, []).append(int(time_ns))
    return times


class Bounds(e2e.TestCase):
    def all_moments(self, trace):
        """Of the rows of table clock."""
        return [(row["moment"], row["time"]) for row in e2e.Dump(trace, "--table", "clock").rows("clock")
                if row["moment"] != "none"]

    def moments(self, trace):
        """The same of one recording, which begins and ends once."""
        found = self.all_moments(trace)
        self.assertEqual(len(dict(found)), len(found))
        return dict(found)

    @staticmethod
    def states(row):
        return row["on_cpu_ns"] + row["runqueue_ns"] + row["off_cpu_ns"]

    def check_reports(self, trace, begin, end):
        """All of them agree; *end* is the last time that counts."""
        info = e2e.report_json("info", trace)
        self.assertEqual(int(info["start_ns"]), begin)
        self.assertEqual(info["duration_ns"], end - begin)
        times = event_rows(trace)
        inside = {table: sum(begin <= t <= end for t in rows) for table, rows in times.items()}
        self.assertEqual(info["event_count"], sum(inside.values()))
        self.assertEqual(info["sample_count"], inside.get("sample", 0))
        calls = sum(r["count"] for r in e2e.rows("syscalls", trace, "--kernel-threads"))
        self.assertEqual(calls, inside["syscall"])
        # Somebody who asks for all of it gets no more.
        for window in (["--from", "0s"], ["--to", "100h"], ["--from", "0s", "--to", "100h"]):
            again = e2e.rows("syscalls", trace, "--kernel-threads", *window)
            self.assertEqual(sum(r["count"] for r in again), calls, window)
        return times, inside

    def check_closing(self, trace, said):
        """The recorder's last line says the same."""
        info = e2e.report_json("info", trace)
        seconds, events, samples = (text.replace(b",", b"") for text in
                                    CLOSING.search(said).groups())
        self.assertAlmostEqual(float(seconds), info["duration_ns"] / 1e9, delta=0.00501)
        self.assertEqual(int(events), info["event_count"])
        self.assertEqual(int(samples), info["sample_count"])

    def test_system(self):
        sleeper = self.start(sys.executable, "-c", SLEEPER)
        trace = self.record("-a", "-e", "sched,syscalls,sample", "--", sys.executable, "-c", COMMAND,
                            status=3)
        began, ended = (int(n) for n in self.recorded.stdout.split())
        moments = self.moments(trace)
        begin, end = moments["begin"], moments["end"]
        self.assertLess(begin, began)
        self.assertGreater(end, ended)
        times, inside = self.check_reports(trace, begin, end)
        self.check_closing(trace, self.recorded.stderr)
        # The file has what came before, and no report.
        self.assertGreater(sum(t < begin for t in times["syscall"]), 0)
        self.assertLess(inside["syscall"], len(times["syscall"]))
        # States of who is there all the time make up the whole of it.
        threads = {r["tid"]: r for r in e2e.rows("wall", trace)}
        self.assertEqual(self.states(threads[sleeper.pid]), end - begin)
        here, = e2e.rows("wall", trace, "--tid", threading.get_native_id())
        self.assertEqual(self.states(here), end - begin)
        # The command's own end lies within.
        command, = (r for r in e2e.rows("procs", trace) if COMMAND in r.get("args", ()))
        self.assertEqual(command["exit_code"], 3)
        exits = [row for row in e2e.Dump(trace, "--table", "task_exit").rows("task_exit")
                 if row["task"].startswith(f"{command['pid']}/")]
        self.assertEqual(len(exits), 1)
        self.assertLess(exits[0]["time"], end)
        lived = self.states(threads[command["pid"]])
        self.assertLessEqual(exits[0]["time"] - begin, lived)
        self.assertLessEqual(lived, end - begin)

    def test_process(self):
        worker = self.start("sh", "-c", WORK)
        trace = self.record("-p", worker.pid, "-e", "sched,syscalls,sample", "--", "sleep", "0.3")
        moments = self.moments(trace)
        self.check_reports(trace, moments["begin"], moments["end"])
        self.check_closing(trace, self.recorded.stderr)
        self.assertGreaterEqual(moments["end"] - moments["begin"], 300_000_000)

    def test_duration(self):
        trace = self.record("-a", "-e", "sched,syscalls,sample", "-d", "0.3")
        moments = self.moments(trace)
        self.check_reports(trace, moments["begin"], moments["end"])
        self.check_closing(trace, self.recorded.stderr)
        self.assertGreaterEqual(moments["end"] - moments["begin"], 300_000_000)

    def test_all_of_it(self):
        """Who asks for all of the recording's time gets what was found out just before it, too."""
        worker = self.start("sh", "-c", WORK)
        trace = self.record("-p", worker.pid, "-d", "0.3")
        threads = e2e.rows("threads", trace)
        self.assertIn("begin", [row["at"] for row in threads])
        for window in (["--from", "0s"], ["--to", "100h"], ["--from", "0%", "--to", "100h"]):
            self.assertEqual(e2e.rows("threads", trace, *window), threads, window)
        self.assertNotIn("begin", [row["at"] for row in
                                   e2e.rows("threads", trace, "--from", "100ms")])

    def begin(self, *target, name="t.ebt"):
        """A recorder that has begun and has events, and its trace."""
        trace = self.path(name)
        child = self.start(e2e.EBREC, "-f", "-o", trace, *target, "-e", "sched,syscalls,sample",
                           stderr=subprocess.PIPE)
        for table in ("clock", "syscall"):
            self.wait_for_rows(trace, child, table)
        return child, trace

    def record_until(self, number):
        child, trace = self.begin("-a")
        time.sleep(1.5)  # what has been recorded is written each second
        asked = time.monotonic_ns()
        child.send_signal(number)
        said = child.communicate()[1]
        return trace, asked, said

    def test_interrupt(self):
        trace, asked, said = self.record_until(signal.SIGINT)
        moments = self.moments(trace)
        self.assertGreater(moments["end"], asked)
        self.check_reports(trace, moments["begin"], moments["end"])
        self.check_closing(trace, said)

    def test_killed(self):
        trace, _, _ = self.record_until(signal.SIGKILL)
        moments = self.moments(trace)
        self.assertEqual(list(moments), ["begin"])
        last = max(max(times) for times in event_rows(trace).values())
        self.check_reports(trace, moments["begin"], last)

    def test_parts_and_copies(self):
        """A part is told of as the whole is with its window; a copy has all rows."""
        trace = self.record("-a", "-e", "sched,syscalls", "--", sys.executable, "-c", COMMAND,
                            status=3)
        whole, part = self.path("whole.ebt"), self.path("part.ebt")
        e2e.ebreport("bundle", trace, "-o", whole)
        e2e.ebreport("cut", "--to", "100ms", trace, "-o", part)
        self.assertEqual(self.moments(whole), self.moments(trace))
        counts = {name: len(times) for name, times in event_rows(trace).items()}
        copied = {name: len(times) for name, times in event_rows(whole).items()
                  if not name.startswith("name_")}
        self.assertEqual(counts, copied)
        for command in ("syscalls", "sched"):
            self.assertEqual(e2e.rows(command, trace, "--to", "100ms"), e2e.rows(command, part))
        info = e2e.report_json("info", part)
        self.assertEqual(int(info["start_ns"]), self.moments(trace)["begin"])
        self.assertEqual(info["duration_ns"], 100_000_000)

    def merge(self, *traces, name="merged.ebt"):
        merged = self.path(name)
        e2e.run(e2e.EBREPORT, "merge", *traces, "-f", "-o", merged)
        e2e.run(sys.executable, EBTDUMP, "--check", merged)
        return merged

    def span(self, trace):
        """When a recording began and ended that need not say so."""
        said = self.moments(trace)
        last = max(said["begin"], *(max(times) for times in event_rows(trace).values()))
        return said["begin"], said.get("end", last)

    def wait_for_call(self, trace, child, after):
        """Until the file has a call from behind this time."""
        times = []
        while not times or max(times) <= after:
            self.wait_for_rows(trace, child, "syscall", len(times) + 1)
            times = event_rows(trace)["syscall"]

    def test_merged_killed(self):
        """A recorder that is killed later than the other one ended keeps what it has."""
        worker = self.start("sh", "-c", WORK)
        killed, a = self.begin("-p", worker.pid, name="a.ebt")
        b = self.record("-p", worker.pid, "-e", "sched,syscalls,sample", "-d", "0.3", name="b.ebt")
        self.wait_for_call(a, killed, self.moments(b)["end"] + 10 ** 9)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        begin, end = (pick(*both) for pick, both in zip((min, max), zip(self.span(a), self.span(b))))
        self.assertGreater(end, self.moments(b)["end"])
        of_worker = "--pid", str(worker.pid)
        calls = sum(row["count"] for row in e2e.rows("syscalls", a, *of_worker))
        self.assertGreater(calls, 100)
        for order in ((a, b), (b, a)):
            merged = self.merge(*order)
            self.assertEqual(sorted(name for name, _ in self.all_moments(merged)),
                             ["begin", "begin", "end", "end"])
            self.check_reports(merged, begin, end)
            self.assertEqual(sum(row["count"] for row in e2e.rows("syscalls", merged, *of_worker)),
                             calls)
        # What is merged is merged on.
        c = self.record("-p", worker.pid, "-e", "syscalls", "-d", "0.3", name="c.ebt")
        merged = self.merge(merged, c, name="more.ebt")
        self.check_reports(merged, begin, self.moments(c)["end"])

    def test_merged_one_after_the_other(self):
        """Rows in between are of the merged recording's time, each once."""
        worker = self.start("sh", "-c", WORK)
        a, b = (self.record("-p", worker.pid, "-e", "syscalls,sample", "-d", "0.3", name=name)
                for name in ("a.ebt", "b.ebt"))
        times = {}
        for trace in (a, b):
            for table, rows in event_rows(trace, second_reader=True).items():
                times.setdefault(table, []).extend(rows)
        merged = self.merge(b, a)
        found = event_rows(merged, second_reader=True)
        for table in ("syscall", "sample"):  # of a table of names each has its own
            self.assertEqual(sorted(found.get(table, [])), sorted(times.get(table, [])))
        self.check_reports(merged, self.moments(a)["begin"], self.moments(b)["end"])

    def write_old(self, name, clock, calls):
        """Of a recorder that tells of no moments."""
        text, trace = self.path(name + ".txt"), self.path(name + ".ebt")
        row = ('task=7/7/50/"one" nr=39 abi=native duration=5 ret=7 '
               "arg0=0x0 arg1=0x0 arg2=0x0 arg3=0x0 arg4=0x0 arg5=0x0")
        with open(text, "w", encoding="utf-8") as f:
            for key in ("host.boot_id", "host.pid_ns"):
                f.write(f'{clock} meta key="{key}" value="one"\n')
            f.write(f"{clock} clock boottime={clock} realtime={10 ** 18 + clock} tai={clock} "
                    "uncertainty=10 moment=none unused=0\n")
            f.writelines(f"{time_ns} syscall cpu=0 {row}\n" for time_ns in calls)
        e2e.run(EBTGEN, text, trace)
        return trace

    def test_merged_old(self):
        """Those of recorders that tell of no moments, with each other and with one that does."""
        a = self.write_old("a", 1000, [900, 1100, 1900])
        b = self.write_old("b", 3000, [3000, 3100])
        for order in ((a, b), (b, a)):
            merged = self.merge(*order)
            self.check_reports(merged, 900, 3100)
            self.assertEqual(sorted(self.all_moments(merged)),
                             [("begin", 900), ("begin", 3000), ("end", 1900), ("end", 3100)])
            # The clocks are those of the readings.
            for row in e2e.Dump(merged, "--table", "clock").rows("clock"):
                self.assertEqual(int(row["realtime"]), 10 ** 18 + row["time"])
                self.assertEqual(int(row["boottime"]), row["time"])
        new = self.path("new.ebt")
        with open(self.path("b.txt"), encoding="utf-8") as f:
            text = f.read()
        with open(self.path("new.txt"), "w", encoding="utf-8") as f:
            f.write(text.replace("moment=none", "moment=begin").replace("3000 syscall", "2950 syscall"))
        e2e.run(EBTGEN, self.path("new.txt"), new)
        self.check_reports(new, 3000, 3100)
        for order in ((a, new), (new, a)):
            merged = self.merge(*order)
            self.check_reports(merged, 900, 3100)

    def test_old(self):
        """A file that tells of no moments lasts from the first event or reading to the last."""
        trace = self.write_old("t", 1000, [900, 1100, 1900])
        self.check_reports(trace, 900, 1900)
        part = self.path("part.ebt")
        e2e.ebreport("cut", "--from", "100ns", trace, "-o", part)
        self.assertEqual([r["count"] for r in e2e.rows("syscalls", part)], [2])
        for name, begin, end in (("epochs", 100, 210), ("streams", 999999997485, 1000000056349)):
            info = e2e.report_json("info", f"{e2e.SOURCE}/tests/fixtures/v1.0-{name}.ebt")
            self.assertEqual((int(info["start_ns"]), info["duration_ns"]), (begin, end - begin))

    def test_fixture(self):
        """A file of this version is read so by those to come: four calls, two of the recording."""
        trace = f"{e2e.SOURCE}/tests/fixtures/v1.0-bounds.ebt"
        info = e2e.report_json("info", trace)
        self.assertEqual((int(info["start_ns"]), info["duration_ns"], info["event_count"]),
                         (100, 100, 2))
        self.assertEqual({row["name"]: row["count"] for row in e2e.rows("syscalls", trace)},
                         {"syscall_0": 1, "syscall_39": 1})
        self.assertEqual([(row["wait_ns"], row.get("holder"))
                          for row in e2e.rows("threads", trace)], [(5, None), (40, "two/8")])
        # It was recorded then, and not when the file was made.
        self.assertEqual(info["start_realtime_ns"], "1700000000000000100")
        began = "2023-11-14 22:13:20"
        self.assertIn(f", {began}", e2e.ebreport(trace).splitlines()[0])
        for options in ([], ["--all"]):
            self.assertRegex(e2e.ebreport("info", trace, *options), f"(?m)^Recorded +{began}")
        picture = self.path("flame.svg")
        e2e.ebreport("flame", "--event", "thread_stack", trace, "-o", picture)
        with open(picture, encoding="utf-8") as f:
            self.assertIn(f"{began} UTC", f.read())

    def write_bounds(self, name, rows):
        """A recording from 100 to 200 ns, and these rows."""
        text, trace = self.path(name + ".txt"), self.path(name + ".ebt")
        with open(text, "w", encoding="utf-8") as f:
            for moment, time_ns in (("begin", 100), ("end", 200)):
                f.write(f"{time_ns} clock boottime={time_ns} realtime={10 ** 18 + time_ns} "
                        f"tai={time_ns} uncertainty=10 moment={moment} unused=0\n")
            f.writelines(row + "\n" for row in rows)
        e2e.run(EBTGEN, text, trace)
        return trace

    def test_losses(self):
        """What the recorder tells of them behind the end is of the last window."""
        calls = [f'{time_ns} syscall cpu=0 task=7/7/50/"one" nr=39 abi=native duration=5 ret=7 '
                 "arg0=0x0 arg1=0x0 arg2=0x0 arg3=0x0 arg4=0x0 arg5=0x0" for time_ns in (110, 190)]
        trace = self.write_bounds("lost", calls + [
            f'{time_ns} lost from=105 count={count} table_id=104 reason="ring buffer full" ring=0 '
            'unused=0 source="syscalls" detail=""' for time_ns, count in ((120, 3), (230, 40))])

        def lost(*args):
            return [json.loads(line)["lost_rows"] for line in
                    e2e.ebreport("summary", "--ndjson", trace, *args).splitlines()]
        self.assertEqual(lost(), [43])
        self.assertEqual(lost("--interval", "50ns"), [3, 40])
        self.assertEqual(lost("--to", "50ns"), [3])

    def test_gap(self):
        """Rows may be missing from before the beginning and behind the end, where an export has rows."""
        rows = [f'{time_ns} {row}' for time_ns in (80, 260) for row in (
            'syscall cpu=0 task=7/7/50/"one" nr=39 abi=native duration=5 ret=7 '
            "arg0=0x0 arg1=0x0 arg2=0x0 arg3=0x0 arg4=0x0 arg5=0x0",
            'mark cpu=0 task=7/7/50/"one" kind=instant origin=ebmark duration=0 late=0 key=0x0 '
            'group="app" name="a" message=""')]
        trace = self.write_bounds("gap", rows)
        with open(trace, "rb") as f:
            content = bytearray(f.read())
        *_, calls, marks, index = (m.start() for m in re.finditer(ebtdump.CHUNK_MAGIC, content))
        content[marks] ^= 0xff
        # The header of the other one says that five are missing besides.
        struct.pack_into("<I", content, calls + HEADER_LOST, 5)
        struct.pack_into("<I", content, calls + HEADER_CRC,
                         ebtdump.crc32c(bytes(content[calls:calls + HEADER_CRC])))
        with open(trace, "wb") as f:
            f.write(content[:index])
        found = [(line["reason"], line["count"], line["from_ns"], line["to_ns"])
                 for line in map(json.loads, e2e.ebreport("export", trace).splitlines())
                 if line["kind"] == "lost"]
        self.assertEqual(found, [("damaged file", None, -100, 160),
                                 ("counted in heads of chunks alone", 5, -20, 160)])

    def test_marks(self):
        """Those of the time count, and spans that reach into it."""
        trace = self.write_bounds("marks", [
            f'{time_ns} mark cpu=0 task=7/7/50/"one" kind={kind} origin=ebmark duration={duration} '
            f'late=0 key=0x0 group="app" name="{kind}" message=""' for kind, time_ns, duration in (
                ("instant", 80, 0), ("instant", 90, 0), ("span", 95, 10), ("span", 120, 30),
                ("instant", 150, 0), ("instant", 210, 0), ("span", 230, 60), ("span", 240, 30))])

        def counts(*args):
            return [(row["name"], row["count"]) for row in e2e.rows("marks", trace, "--summary", *args)]
        self.assertEqual(sorted(counts()), [("instant", 1), ("span", 2)])
        self.assertEqual(sorted(counts("--from", "0s")), [("instant", 1), ("span", 2)])
        self.assertEqual(sorted(counts("--to", "40ns")), [("span", 1)])

    def test_growing(self):
        """While it is recorded, all that is there since the beginning counts."""
        worker = self.start("sh", "-c", WORK)
        child, trace = self.begin("-p", worker.pid)
        copy = self.path("copy.ebt")
        for _ in range(3):
            with open(trace, "rb") as f, open(copy, "wb") as to:
                to.write(f.read())
            begin, end = self.span(copy)
            self.assertEqual(self.moments(copy), {"begin": begin})
            self.check_reports(copy, begin, end)
            time.sleep(1)
        child.send_signal(signal.SIGINT)
        child.communicate()

    def test_live(self):
        """An export from a pipe has all rows, as one from the file."""
        trace = self.path("t.ebt")
        recorder = self.start(e2e.EBREC, "-o", "-", "-a", "-e", "syscalls", "--", sys.executable, "-c",
                              COMMAND.replace("print(", "("), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        tee = self.start("tee", trace, stdin=recorder.stdout, stdout=subprocess.PIPE)
        export = self.start(e2e.EBREPORT, "export", "--table", "syscall", "-", stdin=tee.stdout,
                            stdout=subprocess.PIPE)
        said = export.communicate(timeout=e2e.SECONDS)[0]
        self.assertEqual((export.returncode, tee.wait(timeout=e2e.SECONDS)), (0, 0))
        found = [json.loads(line) for line in said.splitlines()]
        times = event_rows(trace)["syscall"]
        self.assertEqual(sum(line.get("table") == "syscall" and "values" in line for line in found),
                         len(times))
        begin = self.moments(trace)["begin"]
        self.assertGreater(sum(t < begin for t in times), 0)

    def test_nested_parts(self):
        """A part of a part ends where the recording does, and a part without times does not say more."""
        trace = self.record("-a", "-e", "syscalls", "--", sys.executable, "-c", COMMAND, status=3)
        begin, end = self.span(trace)
        late, later = self.path("late.ebt"), self.path("later.ebt")
        e2e.ebreport("cut", "--from", "100ms", trace, "-o", late)
        self.check_reports(late, begin + 100_000_000, end)
        e2e.ebreport("cut", "--from", "100ms", late, "-o", later)
        self.check_reports(later, begin + 200_000_000, end)
        self.assertEqual(*({(r["name"], r["count"], r["total_ns"]) for r in rows} for rows in (
            e2e.rows("syscalls", trace, "--from", "200ms"), e2e.rows("syscalls", later))))
        first = e2e.rows("procs", trace)[0]["pid"]
        of_one = self.path("one.ebt")
        e2e.ebreport("cut", "--pid", str(first), trace, "-o", of_one)
        info = e2e.report_json("info", of_one)
        self.assertEqual((int(info["start_ns"]), info["duration_ns"]), (begin, end - begin))


if __name__ == "__main__":
    e2e.main()

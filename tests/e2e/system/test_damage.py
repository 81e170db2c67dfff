# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that did not end well: a killed recorder, a cut file, a pipe whose reader leaves."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import e2e


class Damage(e2e.TestCase):
    def assert_incomplete(self, trace, at_least_ns):
        """The trace is reported on as far as it goes, and every report says what is missing."""
        info = e2e.report_json("info", trace)
        self.assertGreaterEqual(info["duration_ns"], at_least_ns)
        for command in ("info", "sched"):
            done = e2e.run(e2e.EBREPORT, command, trace)
            self.assertTrue(done.stdout)
            self.assertRegex(done.stderr.decode(), r"(?i)missing|incomplete|not complete|ends early")
        self.assertTrue(e2e.rows("sched", trace))

    def test_killed(self):
        trace = self.path("t.ebt")
        child = self.start(e2e.EBREC, "-q", "-F", "999", "-e", "default,syscalls", "-o", trace, "--",
                           "sh", "-c", e2e.program("shares") + " 300 & exec " +
                           e2e.program("pingpong") + " 100000000", stdout=subprocess.DEVNULL)
        self.wait_for_rows(trace, child, "sample", at_least=1000)
        # About a second is missing at the end; on a busy machine, up to four, or it is tried again.
        end = time.monotonic() + e2e.SECONDS
        written, least = 0, 1
        while written < least:
            self.assertLess(time.monotonic(), end, "more than four seconds are missing")
            time.sleep(6)
            least = time.monotonic_ns() - 4_000_000_000
            info = e2e.report_json("info", trace)
            written = int(info["start_ns"]) + info["duration_ns"]
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.assert_incomplete(trace, info["duration_ns"])
        self.assertGreater(e2e.tables(trace)["sample"]["row_count"], 1000)

    def test_cut(self):
        trace = self.record("-F", "999", "-e", "default,syscalls", "--", "sh", "-c",
                            e2e.program("shares") + " 2 & " + e2e.program("pingpong") +
                            " 50000; wait")
        whole = e2e.tables(trace)["syscall"]
        last = [row for row in e2e.Dump(trace, "--table", "index").rows("index")
                if int(row["table_id"]) == whole["table_id"]][-1]
        os.truncate(trace, int(last["offset"]) + int(last["stored"]) // 2)
        self.assert_incomplete(trace, 1)
        rows = e2e.tables(trace)["syscall"]["row_count"]
        self.assertGreater(rows, 0)
        self.assertLess(rows, whole["row_count"])

    def test_reader_of_the_pipe_leaves(self):
        trace = self.path("t.ebt")
        with open(trace, "wb") as out:
            recorder = self.start(e2e.EBREC, "-q", "-e", "default,syscalls", "-o", "-", "--",
                                  e2e.program("pingpong"), 10000000, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            head = subprocess.Popen(["head", "-c", "1500000"], stdin=recorder.stdout, stdout=out)
            recorder.stdout.close()
            head.wait(timeout=e2e.SECONDS)
            self.assertEqual(recorder.wait(timeout=e2e.SECONDS), 125)
        self.assertEqual(os.path.getsize(trace), 1500000)
        self.assertIn("pipe", recorder.stderr.read().decode().lower())
        done = e2e.run(e2e.EBREPORT, "info", trace)
        self.assertTrue(done.stderr)

    def test_verify(self):
        """Every byte counts: whichever is flipped, --verify says so, by its exit status and where."""
        trace = self.record("-e", "default,syscalls", "--", "ls", "/")
        done = e2e.run(e2e.EBREPORT, "info", "--verify", trace)
        self.assertRegex(done.stdout.decode(), r"(?m)^Verified +\d+ chunks")
        self.assertLessEqual(len(done.stdout.splitlines()), 13)
        with open(trace, "rb") as f:
            whole = f.read()
        rng = random.Random(13)
        broken = self.path("broken.ebt")
        for at in [rng.randrange(len(whole)) for _ in range(120)] + [9, len(whole) - 1]:
            data = bytearray(whole)
            data[at] ^= 1 << rng.randrange(8)
            with open(broken, "wb") as f:
                f.write(data)
            done = e2e.run(e2e.EBREPORT, "info", "--verify", "--json", broken, status=1)
            self.assertTrue(done.stderr, at)
            if done.stdout:
                for row in json.loads(done.stdout)["damage"]:
                    begin = int(row["offset"], 16)
                    self.assertTrue(begin <= at < begin + row["bytes"] + 8 or not row["bytes"],
                                    f"{at}: {row}")
        with open(broken, "wb") as f:
            f.write(whole[:-64])
        self.assertIn(b"has no end", e2e.run(e2e.EBREPORT, "info", "--verify", broken,
                                             status=1).stderr)

    def test_pipe_and_file_have_the_same_form(self):
        trace = self.path("t.ebt")
        with open(trace, "wb") as out:
            subprocess.run([e2e.EBREC, "-q", "-o", "-", "--", "sleep", "0.1"], stdout=out,
                           check=True, timeout=e2e.SECONDS)
        e2e.run(sys.executable, e2e.SOURCE + "/tests/tools/ebtdump.py", "--check", trace)
        # And is read from a pipe.
        with open(trace, "rb") as f:
            done = subprocess.run([e2e.EBREPORT, "info", "-"], stdin=f, capture_output=True,
                                  check=True, timeout=e2e.SECONDS)
        self.assertTrue(done.stdout)


if __name__ == "__main__":
    e2e.main()

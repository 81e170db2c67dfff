# SPDX-License-Identifier: GPL-2.0-or-later
"""Every way to end leaves a readable file or a clear error, and the documented exit status."""

import os
import signal
import subprocess
import sys

import e2e

FAILED = 125  # ebrec itself


class Ends(e2e.TestCase):
    def assert_complete(self, trace, whole_system=False):
        self.assert_no_loss(trace, whole_system)
        e2e.run(sys.executable, e2e.SOURCE + "/tests/tools/ebtdump.py", "--check", trace)

    def test_status_of_the_command(self):
        for script, status in (("exit 0", 0), ("exit 7", 7), ("exit 125", 125)):
            self.assert_complete(self.record("--", "sh", "-c", script, status=status))
        # Killed by a signal: as a shell says it.
        self.assert_complete(self.record("--", "sh", "-c", "kill -TERM $$", status=128 + 15))

    def test_no_such_command(self):
        self.record("--", "/no/such/command", status=None)
        self.assertEqual(self.recorded.returncode, 127)
        self.assertIn("/no/such/command", self.recorded.stderr.decode())

    def test_duration(self):
        trace = self.record("-a", "-d", "500ms")
        self.assert_complete(trace, whole_system=True)
        duration = e2e.report_json("info", trace)["duration_ns"]
        self.assertGreater(duration, 400_000_000)

    def test_duration_ends_the_command(self):
        trace = self.record("-d", "300ms", "--", "sleep", "60", status=128 + signal.SIGTERM)
        self.assert_complete(trace)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number.name):
                trace = self.path(f"{number.name}.ebt")
                child = self.start(e2e.EBREC, "-q", "-F", "999", "-o", trace, "-a")
                busy = self.start(e2e.program("shares"), "60")
                self.wait_for_rows(trace, child, "sample")
                child.send_signal(number)
                self.assertEqual(child.wait(timeout=e2e.SECONDS), 0)
                busy.kill()
                self.assert_complete(trace, whole_system=True)

    def on_small_disk(self, options, command, reason):
        disk = self.path("disk")
        os.makedirs(disk, exist_ok=True)
        # A mount namespace of its own: nothing is left over, however the test ends.
        script = (f"mount -t tmpfs -o size=2m none {disk} && cd {disk} && "
                  f"{e2e.EBREC} -o t.ebt {options} -- {command} >/dev/null; status=$?; "
                  f"cp t.ebt {self.folder}/t.ebt; exit $status")
        done = e2e.run("unshare", "-m", "sh", "-c", script, status=FAILED)
        self.assertIn("No space left", done.stderr.decode())
        self.assertRegex(done.stderr.decode(), f"ebrec: ({reason}); ")
        self.assertTrue(e2e.report_json("info", self.path("t.ebt"))["rows"])

    def test_full_disk(self):
        self.on_small_disk("-e default,syscalls", f"{e2e.program('pingpong')} 1000000", "failed")

    def test_full_disk_at_the_end(self):
        """That the command had ended well by then does not make the recording whole."""
        self.on_small_disk("-e sched", "sh -c 'head -c 9m /dev/zero >fill; true'",
                           "the command ended|failed")

    def test_dev_full(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([e2e.EBREC, "-q", "-o", "-", "--", "true"], stdout=full,
                                  stderr=subprocess.PIPE, check=False, timeout=e2e.SECONDS)
        self.assertEqual(done.returncode, FAILED)
        self.assertIn("No space left", done.stderr.decode())

    def test_reader_of_the_pipe_is_gone(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([e2e.EBREC, "-q", "-o", "-", "--", "true"], stdout=write,
                              stderr=subprocess.PIPE, check=False, timeout=e2e.SECONDS)
        os.close(write)
        self.assertEqual(done.returncode, FAILED)
        self.assertIn("pipe", done.stderr.decode().lower())

    def test_pids(self):
        busy = self.start(e2e.program("shares"), "30")
        trace = self.record("-F", "999", "-d", "1s", "-p", busy.pid)
        self.assert_complete(trace)
        pids = {row["task"].split("/")[1] for row in e2e.Dump(trace).rows("sample")}
        self.assertEqual(pids, {str(busy.pid)})
        # The process was there before: its mappings are those of the snapshot.
        self.assertIn("burn_half", e2e.ebreport("folded", trace))

    def test_second_epoch(self):
        """Every ten seconds all that is known is told again."""
        busy = self.start(e2e.program("shares"), "60")
        trace = self.record("-F", "999", "-d", "15s", "-p", busy.pid)
        self.assert_complete(trace)
        self.assertGreaterEqual(e2e.report_json("info", trace)["epochs"], 2)
        begin = e2e.start_ns(trace)
        last = max(row["time"] for row in e2e.Dump(trace, "--table", "object").rows("object"))
        self.assertGreaterEqual(last - begin, 9_000_000_000)
        self.assertIn("burn_half", e2e.ebreport("folded", "--from", "11s", trace))

    def test_process_that_ends(self):
        """The recording ends with it, by itself."""
        busy = self.start("sh", "-c", "read line; exec " + e2e.program("shares") + " 0.5",
                          stdin=subprocess.PIPE)
        trace = self.path("t.ebt")
        child = self.start(e2e.EBREC, "-q", "-o", trace, "-p", busy.pid)
        self.wait_for_rows(trace, child, "object")
        busy.communicate(b"go on\n", timeout=e2e.SECONDS)
        self.assertEqual(busy.returncode, 0)
        self.assertEqual(child.wait(timeout=e2e.SECONDS), 0)
        self.assert_complete(trace)
        self.assertIn("burn_half", e2e.ebreport("folded", trace))


if __name__ == "__main__":
    e2e.main()

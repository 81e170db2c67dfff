# SPDX-License-Identifier: GPL-2.0-or-later
"""Where ebrec writes to, and where it refuses to; what it says before it records anything."""

import json
import os
import re
import stat
import subprocess
import sys
import threading
import time

import e2e

FAILED = 125


class Output(e2e.TestCase):
    def refused(self, *arguments):
        done = e2e.run(e2e.EBREC, *arguments, "--", "true", status=FAILED)
        self.assertTrue(done.stderr)
        return done.stderr.decode()

    def test_mode(self):
        trace = self.path("t.ebt")
        os.umask(0o022)
        e2e.run(e2e.EBREC, "-o", trace, "--", "true")
        self.assertEqual(stat.S_IMODE(os.stat(trace).st_mode), 0o600)

    def test_a_trace_is_replaced(self):
        trace = self.path("t.ebt")
        for _ in range(2):
            e2e.run(e2e.EBREC, "-o", trace, "--", "true")
        self.assertTrue(e2e.rows("sched", trace))

    def test_another_file_is_not_replaced(self):
        precious = self.path("precious")
        with open(precious, "w", encoding="utf-8") as f:
            f.write("precious\n")
        message = self.refused("-o", precious)
        self.assertIn("precious", message)
        with open(precious, encoding="utf-8") as f:
            self.assertEqual(f.read(), "precious\n")
        e2e.run(e2e.EBREC, "-f", "-o", precious, "--", "true")
        self.assertTrue(e2e.rows("sched", precious))

    def test_symbolic_link(self):
        target, link = self.path("target.ebt"), self.path("link.ebt")
        os.symlink(target, link)
        for force in ([], ["-f"]):
            self.assertIn("link.ebt", self.refused(*force, "-o", link))
            self.assertFalse(os.path.exists(target))

    def test_no_such_folder(self):
        self.assertIn("/no/such/folder", self.refused("-o", "/no/such/folder/t.ebt"))

    def test_list_events(self):
        text = e2e.run(e2e.EBREC, "--list-events").stdout.decode()
        for source in ("sample", "sched", "task", "offcpu", "syscalls"):
            self.assertIn(source, text)

    def test_usage(self):
        for arguments in ([], ["-o", self.path("t.ebt")], ["--no-such-option"],
                          ["-e", "nonsense", "-o", self.path("t.ebt"), "--", "true"]):
            done = e2e.run(e2e.EBREC, *arguments, status=FAILED)
            self.assertTrue(done.stderr)
            self.assertFalse(os.path.exists(self.path("t.ebt")))
        for option in ("--help", "--version"):
            self.assertTrue(e2e.run(e2e.EBREC, option).stdout)

    def test_help_fits(self):
        """80 columns, of each command; also where a terminal is wider."""
        text = e2e.run(e2e.EBREPORT, "--help").stdout.decode()
        commands = re.findall(r"(?m)^  ([a-z]+) ", text.split("Commands:")[1].split("\n\n")[0])
        self.assertGreater(len(commands), 20)
        for words in [[e2e.EBREC], [e2e.EBREPORT]] + [[e2e.EBREPORT, c] for c in commands]:
            text = e2e.run(*words, "--help").stdout.decode()
            self.assertEqual([line for line in text.split("\n") if len(line) > 80], [], words)

    def test_without_privileges(self):
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
             "--bounding-set=-all", e2e.EBREC, "-o", "-", "--", "true"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=e2e.SECONDS)
        self.assertEqual(done.returncode, FAILED)
        self.assertRegex(done.stderr.decode(), "CAP_|root")

    def test_user(self):
        trace = self.record("--user", "nobody", "--", "id", "-un")
        self.assertEqual(self.recorded.stdout.decode(), "nobody\n")
        self.assertEqual(os.stat(trace).st_uid, 0)

    def test_second_reader(self):
        trace = self.record("-F", "999", "-e", "default,syscalls", "--", "sh", "-c",
                            e2e.program("shares") + " 0.3; ls -R /etc >/dev/null 2>&1")
        theirs = e2e.run(sys.executable, e2e.SOURCE + "/tests/tools/ebtdump.py", trace).stdout
        ours = e2e.run(e2e.EBREPORT, "dump", trace).stdout
        self.assertTrue(ours == theirs, "the dumps differ")
        e2e.run(sys.executable, e2e.SOURCE + "/tests/tools/ebtdump.py", "--check", trace)

    def test_rows_while_recording(self):
        """The command waits until a row of it has come through the pipe and the export."""
        command = "/bin/true; read line; exit 3"
        recorder = self.start(e2e.EBREC, "-o", "-", "-e", "sched", "--", "sh", "-c", command,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        export = self.start(e2e.EBREPORT, "export", "-", stdin=recorder.stdout,
                            stdout=subprocess.PIPE)
        timer = threading.Timer(e2e.SECONDS, recorder.kill)
        timer.start()
        self.addCleanup(timer.cancel)
        lines = []
        for text in export.stdout:
            lines.append(json.loads(text))
            if (lines[-1].get("table") == "task_exec" and lines[-1]["kind"] == "row"
                    and lines[-1]["values"]["filename"] == "/bin/true"):
                self.assertIsNone(recorder.poll())
                recorder.stdin.write(b"go on\n")
                recorder.stdin.flush()
        self.assertEqual((recorder.wait(), export.wait()), (3, 0))
        self.assertEqual([line["seq"] for line in lines], list(range(len(lines))))
        self.assertTrue(lines[0]["live"])
        self.assertEqual((lines[-1]["kind"], lines[-1]["complete"]), ("end", True))

    @staticmethod
    def remove_group(group):
        """What ran in it is gone; a kernel may take a moment to see that."""
        end = time.monotonic() + 60
        while os.path.isdir(group):
            try:
                os.rmdir(group)
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def test_cgroup(self):
        group = f"/sys/fs/cgroup/ebt-e2e-{os.getpid()}"
        if not os.path.exists("/sys/fs/cgroup/cgroup.procs"):
            group = f"/sys/fs/cgroup/unified/ebt-e2e-{os.getpid()}"
        if not os.path.isdir(os.path.dirname(group)):
            self.skipTest("no cgroup2 hierarchy is mounted")
        os.mkdir(group)
        self.addCleanup(self.remove_group, group)
        child = self.start("sh", "-c", f"echo $$ >{group}/cgroup.procs; exec "
                           + e2e.program("shares") + " 30")
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        end = time.monotonic() + e2e.SECONDS
        while os.path.realpath(f"/proc/{child.pid}/exe") != os.path.realpath(e2e.program("shares")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        other = self.start(e2e.program("shares"), "30")
        trace = self.record("-F", "999", "-d", "1s", "--cgroup", group)
        pids = {row["task"].split("/")[1] for row in e2e.Dump(trace).rows("sample")}
        self.assertEqual(pids, {str(child.pid)})
        self.assertNotIn(str(other.pid), pids)


if __name__ == "__main__":
    e2e.main()

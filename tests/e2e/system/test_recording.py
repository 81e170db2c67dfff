# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user meets at the command line of ebrec: targets with a command, the end of a recording,
the file that was there before, and what is said on a terminal."""

import collections
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import termios
import time

import e2e

FAILED = 125
NOBODY = 65534
COLUMNS = 60

# Holds the first thread when the beginning has been noted, and only this one.
HOLD = """
set non-stop on
tbreak clocks_emit
run
tbreak ebt_stream_flush thread 1
continue
shell sleep 2.5
continue -a
"""


class Terminal:
    """A command on a terminal of its own. What it shows is in `shown`."""

    def __init__(self, test, *command, cwd=None, env=None):
        self.shown = ""
        pid, self.master = pty.fork()
        if not pid:
            os.chdir(cwd or test.folder)
            os.execve(command[0], [str(c) for c in command], {**e2e.CLEAN, **(env or {})})
        self.pid, self.status = pid, None
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        test.addCleanup(self.close)

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)

    def read(self, until=None, seconds=e2e.SECONDS):
        """Until a text is shown, or to the end."""
        end = time.monotonic() + seconds
        while until is None or until not in self.shown:
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"not shown: {until}\n{self.shown}")
            try:
                data = os.read(self.master, 4096)
            except OSError:  # nobody is there any more
                data = b""
            if not data:
                if until is not None:
                    raise AssertionError(f"ended without {until}\n{self.shown}")
                break
            self.shown += data.decode(errors="replace").replace("\r\n", "\n")
        return self

    def wait_for_child(self, seconds=e2e.SECONDS):
        """Until there is a command that signals end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="utf-8") as f:
                children = f.read().split()
            if children:
                with open(f"/proc/{children[0]}/status", encoding="utf-8") as f:
                    caught = int(re.search(r"SigCgt:\t(\w+)", f.read())[1], 16)
                if not caught & sum(1 << n - 1 for n in (signal.SIGINT, signal.SIGTERM,
                                                         signal.SIGHUP)):
                    return
            time.sleep(0.001)
        raise AssertionError("no command waits")

    def type(self, data):
        os.write(self.master, data)

    def wait(self):
        self.read()
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status


def pids(trace, table="sample"):
    return {int(row["task"].split("/")[1]) for row in e2e.Dump(trace, "--table", table).rows(table)}


def commands(trace):
    """Of processes that were executed."""
    return [row["filename"].strip('"').split("/")[-1]
            for row in e2e.Dump(trace, "--table", "task_exec").rows("task_exec")]


class Targets(e2e.TestCase):
    """-a, -p and --cgroup while a command runs."""

    def test_all(self):
        busy = self.start(e2e.program("shares"), "30")
        trace = self.record("-a", "-F", "999", "--", "sh", "-c", "/bin/sleep 0.5; exit 3", status=3)
        self.assertGreater(e2e.report_json("info", trace)["duration_ns"], 500_000_000)
        self.assertIn(busy.pid, pids(trace))
        # The command is a part of the whole system.
        self.assertTrue({"sh", "sleep"} <= set(commands(trace)))
        self.assertIn("the command ended", self.recorded.stderr.decode())

    def test_pid(self):
        """The command says for how long, and is not recorded, though ebrec's parent is followed."""
        busy = self.start(e2e.program("shares"), "30")
        trace = self.record("-p", f"{busy.pid},{os.getpid()}", "-F", "999", "--",
                            "sh", "-c", "/bin/sleep 0.5; exit 4", status=4)
        self.assertGreater(e2e.report_json("info", trace)["duration_ns"], 500_000_000)
        self.assertIn(busy.pid, pids(trace))
        self.assertEqual(commands(trace), [])
        comms = {row["comm"] for row in e2e.rows("sched", trace)}
        self.assertFalse(comms & {"sh", "sleep"}, comms)

    def test_a_target_that_ends_first(self):
        short = self.start("sleep", "0.2")
        self.record("-p", short.pid, "--", "sh", "-c", "sleep 0.8; exit 5", status=5)
        self.assertIn("the command ended", self.recorded.stderr.decode())

    def test_output_of_a_command_beside_a_target(self):
        busy = self.start(e2e.program("shares"), "30")
        trace = self.record("--capture-output", "-p", busy.pid, "--", "echo", "under way")
        self.assertEqual([row["message"] for row in e2e.rows("logs", trace)], ["under way"])

    def test_duration_ends_the_command(self):
        self.record("-a", "-d", "300ms", "--", "sleep", "60", status=128 + signal.SIGTERM)

    def test_two_targets(self):
        done = e2e.run(e2e.EBREC, "-a", "-p", "1", "-o", self.path("t.ebt"), status=FAILED)
        self.assertIn("one of -p, --cgroup and -a", done.stderr.decode())


# How nice it is itself, and the recorder's threads when those have ended that only begin a recording.
NICE = """
import os, time

def nice(tid):
    try:
        return os.getpriority(os.PRIO_PROCESS, int(tid))
    except ProcessLookupError:
        return nice(0)

end = time.monotonic() + 20
while True:
    time.sleep(0.5)
    found = [nice(tid) for tid in os.listdir(f"/proc/{os.getppid()}/task")]
    if set(found) == {-15} or time.monotonic() > end:
        break
print(nice(0), *found)
"""


class Nice(e2e.TestCase):
    """The threads that rows and stacks wait for are served before others, and nobody else is."""

    def check(self, *target, threads, nice=0):
        done = e2e.run("nice", "-n", nice, e2e.EBREC, "-q", "-o", self.path("t.ebt"), "-f", *target,
                       "--", sys.executable, "-c", NICE)
        command, *recorder = map(int, done.stdout.split())
        self.assertEqual(command, os.getpriority(os.PRIO_PROCESS, 0) + nice)
        self.assertGreaterEqual(len(recorder), threads)
        self.assertEqual(set(recorder), {-15})

    def test_command(self):
        self.check(threads=2)
        self.check(threads=2, nice=5)

    def test_tables_made_before(self):
        """The thread that makes large unwind tables is there before the command is let go."""
        crowd = self.start(e2e.program("crowd"), "100", e2e.program("crowded_most.so"))
        self.check("-p", crowd.pid, "-e", "sample", threads=3, nice=5)


class Path(e2e.TestCase):
    """Nothing of how the command is found is in the trace."""

    COMMAND = ("ls", "/etc")

    def path_with(self, *folders):
        return {**e2e.CLEAN, "PATH": ":".join([*folders, e2e.CLEAN["PATH"]])}

    def run_with(self, env, *arguments, status=0):
        done = e2e.run("env", "PATH=" + env["PATH"], *arguments, status=status)
        return done

    @e2e.exact
    def test_equal_to_strace(self):
        """To the call, however long PATH is."""
        os.mkdir(self.path("ls"))
        env = self.path_with("/no/such", "/nor/this", self.folder, "/etc/passwd")
        trace, out = self.path("t.ebt"), self.path("strace")
        self.run_with(env, e2e.EBREC, "-f", "-o", trace, "-e", "syscalls", "--", *self.COMMAND)
        self.run_with(env, "strace", "-c", "-f", "-o", out, *self.COMMAND)
        theirs = {}
        with open(out, encoding="utf-8") as f:
            for line in f:
                words = line.split()
                if re.match(r"\d", line.lstrip()) and words[-1] != "total":
                    theirs[words[-1]] = int(words[3])
        ours = {row["name"]: row["count"] for row in e2e.rows("syscalls", trace)}
        # That one does not return; strace counts what does.
        ours.pop("exit_group", None)
        theirs.pop("exit_group", None)
        self.assertEqual(ours, theirs)
        self.assertEqual(ours["execve"], 1)

    def test_as_another_user(self):
        """Nor is how ebrec becomes that user."""
        trace = self.record("-e", "syscalls", "--user", "nobody", "--", "id", "-un")
        self.assertEqual(self.recorded.stdout.decode(), "nobody\n")
        calls = collections.Counter({row["name"]: row["count"] for row in e2e.rows("syscalls", trace)})
        self.assertEqual([calls[c] for c in ("execve", "setuid", "setgid", "setgroups")],
                         [1, 0, 0, 0])

    def test_what_has_no_interpreter(self):
        """As execvp() has it: the shell's."""
        script = self.path("script")
        with open(script, "w", encoding="utf-8") as f:
            f.write('echo "$1 $2"; exit 6\n')
        os.chmod(script, 0o755)
        self.record("--", script, "a", "b c", status=6)
        self.assertEqual(self.recorded.stdout.decode(), "a b c\n")

    def test_not_executable_is_passed_over(self):
        for folder, mode in (("first", 0o644), ("second", 0o755)):
            os.mkdir(self.path(folder))
            with open(self.path(folder + "/probe-me"), "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\necho {folder}\n")
            os.chmod(self.path(folder + "/probe-me"), mode)
        trace = self.path("t.ebt")
        env = self.path_with(self.path("first"), self.path("second"))
        done = self.run_with(env, e2e.EBREC, "-q", "-o", trace, "--", "probe-me")
        self.assertEqual(done.stdout, b"second\n")
        os.chmod(self.path("second/probe-me"), 0o644)
        done = self.run_with(env, e2e.EBREC, "-o", trace, "--", "probe-me", status=126)
        self.assertIn("cannot run probe-me: Permission denied", done.stderr.decode())


    def test_no_interpreter_is_passed_over(self):
        """As by execvp(): the next of the name is run."""
        for folder, interpreter in (("first", "/no/such"), ("second", "/bin/sh")):
            os.mkdir(self.path(folder))
            with open(self.path(folder + "/probe-me"), "w", encoding="utf-8") as f:
                f.write(f"#!{interpreter}\necho {folder}\n")
            os.chmod(self.path(folder + "/probe-me"), 0o755)
        env = self.path_with(self.path("first"), self.path("second"))
        done = self.run_with(env, e2e.EBREC, "-q", "-o", self.path("t.ebt"), "--", "probe-me")
        self.assertEqual(done.stdout, b"second\n")
        os.unlink(self.path("second/probe-me"))
        done = self.run_with(env, e2e.EBREC, "-o", self.path("t.ebt"), "--", "probe-me", status=127)
        self.assertIn("cannot run probe-me: No such file", done.stderr.decode())


class File(e2e.TestCase):
    """The trace's file, and the one before it."""

    def contents(self):
        return {name: os.stat(self.path(name)).st_ino for name in os.listdir(self.folder)}

    def test_the_trace_before_is_kept(self):
        trace = self.path("t.ebt")
        e2e.run(e2e.EBREC, "-o", trace, "--", "true")
        first = self.contents()
        done = e2e.run(e2e.EBREC, "-o", trace, "--", "true")
        self.assertIn("the trace before it is " + trace + ".old", done.stderr.decode())
        second = self.contents()
        self.assertEqual(second["t.ebt.old"], first["t.ebt"])
        self.assertTrue(e2e.rows("sched", trace) and e2e.rows("sched", trace + ".old"))
        done = e2e.run(e2e.EBREC, "-f", "-o", trace, "--", "true")
        self.assertNotIn(".old", done.stderr.decode())
        third = self.contents()
        self.assertEqual(third["t.ebt.old"], first["t.ebt"])
        self.assertEqual(set(third), {"t.ebt", "t.ebt.old"})

    def test_what_is_no_trace_is_not_replaced(self):
        trace = self.path("t.ebt")
        e2e.run(e2e.EBREC, "-o", trace, "--", "true")
        with open(trace + ".old", "w", encoding="utf-8") as f:
            f.write("precious\n")
        before = self.contents()
        done = e2e.run(e2e.EBREC, "-o", trace, "--", "true", status=FAILED)
        self.assertIn("t.ebt.old is there and is not a trace", done.stderr.decode())
        self.assertEqual(self.contents(), before)

    def test_a_command_that_cannot_be_run(self):
        """Leaves no file, and the one before and the one before that as they are."""
        script = self.path("script")
        with open(script, "w", encoding="utf-8") as f:
            f.write("#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        attempts = (("no-such-command", 127), ("/no/such/command", 127), ("/etc/passwd", 126),
                    ("/etc", 126), (script, 127))
        for target in ([], ["-a"]):
            for command, status in attempts:
                with self.subTest(command=command, target=target):
                    done = e2e.run(e2e.EBREC, *target, "-o", self.path("t.ebt"), "--", command,
                                   status=status)
                    self.assertRegex(done.stderr.decode(), f"^ebrec: cannot run {command}: .*\n$")
                    self.assertEqual(set(self.contents()), {"script"})
        for _ in range(2):
            e2e.run(e2e.EBREC, "-o", self.path("t.ebt"), "--", "true")
        before = self.contents()
        self.assertEqual(len(before), 3)
        for command, status in attempts:
            e2e.run(e2e.EBREC, "-o", self.path("t.ebt"), "--", command, status=status)
            self.assertEqual(self.contents(), before)

    def test_what_fails_before_it_begins(self):
        e2e.run(e2e.EBREC, "-o", self.path("t.ebt"), "--", "true")
        before = self.contents()
        for options in (["-e", "uprobe:/no/such:f"], ["-p", "4194303"], ["--user", "no-such-user"]):
            command = [] if "-p" in options else ["--", "true"]
            e2e.run(e2e.EBREC, "-o", self.path("t.ebt"), *options, *command, status=FAILED)
            self.assertEqual(self.contents(), before)

    def held(self, *arguments):
        """A recorder that is stopped when it has a file, and no command that runs."""
        child = self.start(e2e.EBREC, "-o", self.path("t.ebt"), *arguments, stderr=subprocess.PIPE)
        before, end = self.contents(), time.monotonic() + e2e.SECONDS
        while not self.has_file(child.pid) and time.monotonic() < end:
            time.sleep(0.0005)
        child.send_signal(signal.SIGSTOP)
        self.assertEqual(self.contents(), before)
        return child

    def has_file(self, pid):
        """Of the folder."""
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                if os.readlink(f"/proc/{pid}/fd/{fd}").startswith(self.folder):
                    return True
            except FileNotFoundError:  # closed meanwhile
                pass
        return False

    def test_a_file_that_comes_meanwhile(self):
        """Is not replaced, and nobody says that the trace has its name."""
        child = self.held("--", "sleep", "60")
        with open(self.path("t.ebt"), "w", encoding="utf-8") as f:
            f.write("precious\n")
        before = self.contents()["t.ebt"]
        child.send_signal(signal.SIGCONT)
        said = child.communicate(timeout=e2e.SECONDS)[1].decode()
        self.assertEqual(child.returncode, FAILED)
        self.assertEqual(said, f"ebrec: {self.path('t.ebt')} is there and is not a trace; "
                         "-f replaces it\n")
        self.assertEqual(self.contents(), {"t.ebt": before})

    def test_a_trace_that_comes_meanwhile(self):
        """Of two recorders with one name neither trace is lost."""
        child = self.held("--", "sh", "-c", "exit 3")
        e2e.run(e2e.EBREC, "-o", self.path("t.ebt"), "--", "sh", "-c", "exit 4", status=4)
        before = self.contents()["t.ebt"]
        child.send_signal(signal.SIGCONT)
        said = child.communicate(timeout=e2e.SECONDS)[1].decode()
        self.assertEqual(child.returncode, 3, said)
        self.assertIn("the trace before it is", said)
        self.assertEqual(set(self.contents()), {"t.ebt", "t.ebt.old"})
        self.assertEqual(self.contents()["t.ebt.old"], before)

    def test_interrupted_before_the_command_runs(self):
        """Ctrl-C while ebrec starts leaves the traces there are, however often."""
        for _ in range(2):
            e2e.run(e2e.EBREC, "-o", self.path("t.ebt"), "--", "true")
        before = self.contents()
        self.assertEqual(len(before), 2)
        for _ in range(2):
            terminal = Terminal(self, e2e.EBREC, "-o", "t.ebt", "--", "sleep", "60")
            terminal.wait_for_child()
            terminal.type(b"\x03")
            self.assertEqual(terminal.wait(), 128 + signal.SIGINT)
            self.assertEqual(terminal.shown, "^Cebrec: interrupted before sleep ran\n")
            self.assertEqual(self.contents(), before)

    def test_a_signal_to_the_recorder_alone(self):
        """Before it has let the command go: the command never runs."""
        e2e.run(e2e.EBREC, "-o", self.path("t.ebt"), "--", "true")
        before = self.contents()
        for target in ([], ["-a"]):
            for number, word in ((signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")):
                with self.subTest(target=target, number=number):
                    child = self.held(*target, "--", "touch", self.path("ran"))
                    child.send_signal(number)
                    child.send_signal(signal.SIGCONT)
                    said = child.communicate(timeout=e2e.SECONDS)[1].decode()
                    self.assertEqual(child.returncode, 128 + number, said)
                    self.assertEqual(said, f"ebrec: {word} before touch ran\n")
                    self.assertEqual(self.contents(), before)

    def test_interrupted_before_anything_is_recorded(self):
        """Without a command, likewise."""
        e2e.run(e2e.EBREC, "-o", self.path("t.ebt"), "--", "true")
        before = self.contents()
        for number, word in ((signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")):
            for _ in range(20):
                child = self.held("-a")
                child.send_signal(number)
                child.send_signal(signal.SIGCONT)
                said = child.communicate(timeout=e2e.SECONDS)[1].decode()
                if child.returncode:
                    break
                # This process was late, and the recording had begun.
                os.replace(self.path("t.ebt.old"), self.path("t.ebt"))
            self.assertEqual((child.returncode, said),
                             (128 + number, f"ebrec: {word} before anything was recorded\n"))
            self.assertEqual(self.contents(), before)

    def test_killed_before_the_command_runs(self):
        child = self.held("--", "true")
        child.kill()
        child.communicate(timeout=e2e.SECONDS)
        self.assertEqual(self.contents(), {})

    def test_rings_one_by_one(self):
        """As before Linux 5.19, where a map of maps takes no batch."""
        command = [e2e.EBREC, "-q", "-f", "-o", self.path("t.ebt"), "--", "sh", "-c", "exit 3"]
        log, strace = self.path("log"), ["strace", "-f", "-e", "trace=bpf", "-o", self.path("log")]
        for _ in range(5):
            e2e.run(*strace, *command, status=3)
            with open(log, encoding="utf-8") as f:
                calls = [line.split() for line in f if " bpf(" in line]
            thread = next(words[0] for words in calls if "UPDATE_BATCH" in words[1])
            number = [words[1] for words in calls if words[0] == thread].index(
                "bpf(BPF_MAP_UPDATE_BATCH,") + 1
            e2e.run(*strace, "-e", f"inject=bpf:error=EOPNOTSUPP:when={number}", *command, status=3)
            with open(log, encoding="utf-8") as f:
                injected = [line for line in f if "(INJECTED)" in line]
            if "UPDATE_BATCH" in injected[0]:
                break
        self.assertIn("UPDATE_BATCH", injected[0])
        self.assertEqual(len(list(e2e.Dump(self.path("t.ebt")).rows("task_exit"))), 1)

    def test_a_file_system_without_unnamed_files(self):
        """As FAT and NFS. The file has a name of its own until the command runs."""
        trace = self.path("t.ebt")
        for options, names in (([], {"t.ebt"}), ([], {"t.ebt", "t.ebt.old"}),
                               (["-f"], {"t.ebt", "t.ebt.old"})):
            done = e2e.run("strace", "-f", "-P", self.folder + "/", "-e",
                           "inject=openat:error=EOPNOTSUPP", e2e.EBREC, *options, "-o", trace,
                           "--", "true")
            self.assertRegex(done.stderr.decode(), "O_TMPFILE.*INJECTED")
            self.assertEqual(set(self.contents()), names)
            self.assertTrue(e2e.rows("sched", trace))

    def test_a_beginning_that_is_held_up(self):
        """What other threads write while the one that begins waits for a disk is counted."""
        trace, script = self.path("t.ebt"), self.path("hold.gdb")
        with open(script, "w", encoding="utf-8") as f:
            f.write(HOLD)
        self.start("sh", "-c", "while :; do sleep 0.01; done")
        done = e2e.run("gdb", "-nx", "-batch", "-iex", "set auto-load safe-path /", "-iex",
                       "set debuginfod enabled off", "-x", script, "--args", e2e.EBREC, "-o", trace,
                       "-a", "-e", "sched", "-d", "0.1")
        said = (done.stdout + done.stderr).decode()
        self.assertIn("breakpoint 2, ebt_stream_flush", said)
        self.assertIn(f"{e2e.report_json('info', trace)['event_count']:,} events,", said)

    def test_a_folder_that_takes_no_file(self):
        """What is said is about the file that was asked for."""
        done = e2e.run(e2e.EBREC, "-o", "/sys/t.ebt", "--", "true", status=FAILED)
        self.assertEqual(done.stderr.decode(),
                         "ebrec: cannot make /sys/t.ebt (-o FILE writes elsewhere): "
                         "Permission denied\n")

    def test_longest_name(self):
        name = "t" * 255
        e2e.run(e2e.EBREC, "-f", "-o", self.path(name), "--", "true")
        e2e.run(e2e.EBREC, "-f", "-o", name, "--", "true", cwd=self.folder)
        self.assertEqual(set(self.contents()), {name})

    def test_a_file_system_without_owners(self):
        """The trace is root's then; a disk that fails is an error."""
        for error, status in (("ENOSYS", 0), ("EOPNOTSUPP", 0), ("EACCES", 0), ("EINVAL", 0),
                              ("EPERM", 0), ("EIO", FAILED)):
            with self.subTest(error):
                trace = self.path(error)
                e2e.run("env", f"SUDO_UID={NOBODY}", f"SUDO_GID={NOBODY}", "strace", "-o",
                        "/dev/null", "-e", f"inject=fchown:error={error}", e2e.EBREC,
                        "-e", "sched", "-o", trace, "--", "true", status=status)
                self.assertEqual(os.path.exists(trace), not status)
                if not status:
                    self.assertEqual(os.stat(trace).st_uid, os.getuid())

    def test_sudo(self):
        """The file is of who asked, and of nobody else to read."""
        trace = self.path("t.ebt")
        sudo = ["env", f"SUDO_UID={NOBODY}", f"SUDO_GID={NOBODY}"]
        e2e.run(*sudo, e2e.EBREC, "-o", trace, "--", "true")
        st = os.stat(trace)
        self.assertEqual((st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)), (NOBODY, NOBODY, 0o600))
        e2e.run(e2e.EBREC, "-f", "-o", trace, "--", "true")
        self.assertEqual(os.stat(trace).st_uid, os.getuid())
        os.symlink("/etc/passwd", self.path("link"))
        e2e.run(*sudo, e2e.EBREC, "-f", "-o", self.path("link"), "--", "true", status=FAILED)
        self.assertEqual(os.stat("/etc/passwd").st_uid, 0)
        for wrong in ("-1", "4294967295", "x", ""):
            e2e.run("env", f"SUDO_UID={wrong}", "SUDO_GID=0", e2e.EBREC, "-f", "-o", trace,
                    "--", "true")
            self.assertEqual(os.stat(trace).st_uid, os.getuid())


class Bundle(e2e.TestCase):
    """--bundle, where ebreport is not beside ebrec."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        os.mkdir(self.path("elsewhere"))
        shutil.copy(e2e.EBREC, self.path("bin/ebrec"))
        os.symlink(os.path.abspath(e2e.EBREPORT), self.path("elsewhere/ebreport"))

    def bundle(self, path, status=0, **options):
        return e2e.run("env", "PATH=" + path, f"SUDO_UID={NOBODY}", f"SUDO_GID={NOBODY}",
                       self.path("bin/ebrec"), "--bundle", "-o", self.path("t.ebt"), "--",
                       "/bin/true", status=status, cwd=self.folder, **options)

    def test_in_path(self):
        os.mkdir(self.path("relative"))
        shutil.copy("/bin/false", self.path("relative/ebreport"))
        self.bundle("relative:" + self.path("elsewhere") + ":/usr/bin")
        keys = {row["key"] for row in e2e.Dump(self.path("t.ebt"), "--table", "meta").rows("meta")}
        self.assertIn('"bundle.version"', keys)
        self.assertEqual(os.stat(self.path("t.ebt")).st_uid, NOBODY)

    def test_nowhere(self):
        """Nor does a folder of PATH count that depends on where ebrec was called."""
        for path in ("/no/such", "elsewhere", "./elsewhere:/usr/bin"):
            done = self.bundle(path, status=FAILED)
            self.assertIn("there is no ebreport", done.stderr.decode())
            self.assertFalse(os.path.exists(self.path("t.ebt")))


class OnTerminal(e2e.TestCase):
    SUMMARY = (r"ebrec: the command ended; (\d+\.\d\d) s, ([\d,]+) events? \(([\d,]+) CPU samples?\), "
               r"([\d.]+) (KiB|MiB) in ")

    def test_summary(self):
        """Its figures are those of the trace, and it leads on."""
        terminal = Terminal(self, e2e.EBREC, "-F", "999", "--", e2e.program("shares"), "0.5")
        self.assertEqual(terminal.wait(), 0)
        found = re.search(self.SUMMARY + r"trace\.ebt\n", terminal.shown)
        self.assertTrue(found, terminal.shown)
        trace = self.path("trace.ebt")
        samples = e2e.tables(trace)["sample"]["row_count"]
        self.assertEqual(int(found[3].replace(",", "")), samples)
        self.assertGreaterEqual(int(found[2].replace(",", "")), samples)
        size = float(found[4]) * {"KiB": 1 << 10, "MiB": 1 << 20}[found[5]]
        self.assertAlmostEqual(size / os.path.getsize(trace), 1, delta=0.05)
        duration = e2e.report_json("info", trace)["duration_ns"] / 1e9
        self.assertLessEqual(float(found[1]), duration + 0.02)
        # Each command that the next line names reads the trace.
        named = re.findall(r"`ebreport ?([^`]*)`", terminal.shown.split("\n", 1)[1])
        self.assertGreaterEqual(len(named), 2)
        for arguments in named:
            e2e.run("sh", "-c", f"{e2e.EBREPORT} {arguments}", cwd=self.folder)

    def test_name_for_a_shell(self):
        terminal = Terminal(self, e2e.EBREC, "-o", "it's a $(trace)", "--", "true")
        terminal.wait()
        arguments = re.search(r"`ebreport ([^`]*)` shows", terminal.shown)[1]
        self.assertTrue(e2e.run("sh", "-c", f"{e2e.EBREPORT} {arguments}", cwd=self.folder).stdout)

    def test_nothing_leads_on(self):
        """Where nobody looks, or wants to."""
        done = e2e.run(e2e.EBREC, "-o", self.path("t.ebt"), "--", "true")
        self.assertRegex(done.stderr.decode(), "^" + self.SUMMARY + r".*t\.ebt\n$")
        terminal = Terminal(self, e2e.EBREC, "-q", "-f", "-o", "t.ebt", "--", "true")
        terminal.wait()
        self.assertEqual(terminal.shown, "")

    def test_status_leaves_the_command_alone(self):
        """What a command writes stays as it is, however long it takes for a line."""
        for options in ([], ["--capture-output"]):
            terminal = Terminal(self, e2e.EBREC, *options, "-f", "-o", "t.ebt", "--", "sh", "-c",
                                "printf begin-; sleep 2.3; echo end")
            self.assertEqual(terminal.wait(), 0)
            self.assertTrue(terminal.shown.startswith("begin-end\nebrec: the command ended"),
                            terminal.shown)
            self.assertNotIn("\x1b", terminal.shown)

    def test_status_fits(self):
        """A line that were wrapped could not be taken away again."""
        terminal = Terminal(self, e2e.EBREC, "-a", "-d", "2300ms", "-o", "t.ebt")
        self.assertEqual(terminal.wait(), 0)
        lines = terminal.shown.split("\r\x1b[K")
        self.assertGreaterEqual(len(lines), 3)
        self.assertEqual(lines[0], "")
        for line in lines[1:-1]:
            self.assertRegex(line, r"^ebrec: \d+ s, ")
            self.assertLess(len(line), COLUMNS)
        self.assertRegex(lines[-1], r"^ebrec: the time was up; ")

    def test_interrupts_in_haste(self):
        """The file is whole, however often Ctrl-C is pressed within a second."""
        terminal = Terminal(self, e2e.EBREC, "-a", "-o", "t.ebt")
        terminal.read(until="ebrec: 1 s")
        begin = time.monotonic()
        for _ in range(5):
            terminal.type(b"\x03")
            time.sleep(0.02)
        self.assertLess(time.monotonic() - begin, 1)
        self.assertEqual(terminal.wait(), 0)
        # Where the file was whole before the second, it need not be said.
        self.assertLessEqual(terminal.shown.count("ebrec: finishing; once more abandons it\n"), 1)
        self.assertIn("ebrec: interrupted; ", terminal.shown)
        e2e.run(sys.executable, e2e.SOURCE + "/tests/tools/ebtdump.py", "--check",
                self.path("t.ebt"))


class Interrupts(e2e.TestCase):
    def test_abandoned(self):
        """Where the file cannot be finished, as nobody reads the pipe. -q hides no question."""
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        with open(self.path("stderr"), "w+", encoding="utf-8") as stderr:
            child = self.start(e2e.EBREC, "-q", "-a", "-o", "-", stdout=write, stderr=stderr)
            os.close(write)
            time.sleep(2)
            for _ in range(3):
                child.send_signal(signal.SIGINT)
                time.sleep(0.1)
            time.sleep(1.5)
            self.assertIsNone(child.poll())
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(timeout=e2e.SECONDS), -signal.SIGINT)
            stderr.seek(0)
            self.assertEqual(stderr.read(), "ebrec: finishing; once more abandons it\n")


    def test_finished(self):
        """What is said once, while nobody reads the pipe, and then somebody does."""
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        with open(self.path("stderr"), "w+", encoding="utf-8") as stderr:
            child = self.start(e2e.EBREC, "-a", "-o", "-", stdout=write, stderr=stderr)
            os.close(write)
            time.sleep(2)
            for _ in range(5):
                child.send_signal(signal.SIGINT)
                time.sleep(0.1)
            with open(self.path("t.ebt"), "wb") as trace:
                while data := os.read(read, 1 << 16):
                    trace.write(data)
            self.assertEqual(child.wait(timeout=e2e.SECONDS), 0)
            stderr.seek(0)
            self.assertEqual(stderr.read().count("ebrec: finishing; once more abandons it\n"), 1)
        e2e.run(sys.executable, e2e.SOURCE + "/tests/tools/ebtdump.py", "--check",
                self.path("t.ebt"))

    def test_killed(self):
        """What there is by then names the kernel."""
        trace = self.path("t.ebt")
        child = self.start(e2e.EBREC, "-q", "-F", "999", "-o", trace, "--", "dd", "if=/dev/zero",
                           "of=/dev/null", "bs=1M", stderr=subprocess.DEVNULL)
        self.wait_for_rows(trace, child, "sample", at_least=100)
        time.sleep(1.5)  # what is written a moment later is not promised
        child.kill()
        child.wait(timeout=e2e.SECONDS)
        leaves = collections.Counter()
        for stack, weight in e2e.folded(trace).items():
            leaves[stack.split(";")[-1].removesuffix("_[k]")] += weight
        named = sum(n for leaf, n in leaves.items() if not re.search(r"0x[0-9a-f]+|\[unknown", leaf))
        self.assertGreater(named, 0.9 * sum(leaves.values()), leaves)
        with open("/proc/kallsyms", encoding="utf-8") as f:
            kernel = {line.split()[2] for line in f}
        self.assertGreater(sum(n for leaf, n in leaves.items() if leaf in kernel),
                           0.5 * sum(leaves.values()), leaves)

    def with_ebreport(self, script):
        """An ebrec that has this ebreport beside it."""
        os.mkdir(self.path("bin"))
        shutil.copy(e2e.EBREC, self.path("bin/ebrec"))
        with open(self.path("bin/ebreport"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + script)
        os.chmod(self.path("bin/ebreport"), 0o755)

    def test_bundling(self):
        """Ctrl-C does not reach the ebreport that makes the bundle; twice answered it is given up."""
        self.with_ebreport(f"sleep 1.5\nexec {os.path.abspath(e2e.EBREPORT)} \"$@\"\n")
        terminal = Terminal(self, self.path("bin/ebrec"), "--bundle", "-o", "t.ebt", "--", "true")
        terminal.read(until="the command ended")
        for _ in range(3):
            terminal.type(b"\x03")
            time.sleep(0.1)
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual(terminal.shown.count("finishing; once more abandons it"), 1)
        keys = {row["key"] for row in e2e.Dump(self.path("t.ebt"), "--table", "meta").rows("meta")}
        self.assertIn('"bundle.version"', keys)
        terminal = Terminal(self, self.path("bin/ebrec"), "--bundle", "-f", "-o", "t.ebt", "--", "true")
        terminal.read(until="the command ended")
        terminal.type(b"\x03")
        time.sleep(1.1)
        terminal.type(b"\x03")
        self.assertEqual(terminal.wait(), 0)
        self.assertIn("abandoned: the trace has no names in it", terminal.shown)
        self.assertEqual(sorted(os.listdir(self.folder)), ["bin", "t.ebt"])
        self.assertTrue(e2e.tables(self.path("t.ebt")))
    def test_a_terminal_that_stops_the_background(self):
        """As after `stty tostop`: ebreport says there what it has to say."""
        self.with_ebreport("echo under way >&2\nexit 1\n")
        with open(self.path("tostop"), "w", encoding="utf-8") as f:
            f.write('stty tostop\nexec "$@"\n')
        terminal = Terminal(self, "/bin/sh", self.path("tostop"), self.path("bin/ebrec"),
                            "--bundle", "-o", "t.ebt", "--", "true")
        terminal.read(until="under way")
        self.assertEqual(terminal.wait(), 0)

    def test_bundling_what_is_no_longer_there(self):
        """A file that takes the trace's name meanwhile is somebody else's."""
        self.with_ebreport(f"mv t.ebt moved.ebt\necho precious > t.ebt\n"
                           f"exec {os.path.abspath(e2e.EBREPORT)} \"$@\"\n")
        done = e2e.run(self.path("bin/ebrec"), "--bundle", "-o", "t.ebt", "--", "true",
                       cwd=self.folder)
        self.assertIn("t.ebt is another file now: the trace has no names in it",
                      done.stderr.decode())
        with open(self.path("t.ebt"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "precious\n")
        self.assertEqual(sorted(os.listdir(self.folder)), ["bin", "moved.ebt", "t.ebt"])


class Words(e2e.TestCase):
    def test_near_misses(self):
        for arguments, meant in ((["--duraton", "5"], "--duration"), (["-freq", "9"], "--freq"),
                                 (["-e", "syscals"], "syscalls"), (["-e", "-smaple"], "sample"),
                                 (["-e", "sched,defualt"], "default"),
                                 (["--call-graph", "tabel"], "table"),
                                 (["--capture-output=stderror"], "stderr")):
            with self.subTest(arguments):
                done = e2e.run(e2e.EBREC, *arguments, "--", "true", status=FAILED, cwd=self.folder)
                self.assertIn(f": did you mean {meant}?\n", done.stderr.decode())
                self.assertEqual(os.listdir(self.folder), [])

    def test_nothing_to_record(self):
        for arguments in (["-d", "0"], ["-d", "0ms"], ["-b", "0"]):
            done = e2e.run(e2e.EBREC, *arguments, "--", "true", status=FAILED, cwd=self.folder)
            self.assertIn("'" + arguments[1] + "'", done.stderr.decode())


if __name__ == "__main__":
    e2e.main()

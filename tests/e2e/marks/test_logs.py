# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of the command's output and of the journal: what is recorded is what was written, and what
was written arrives as if nobody had recorded it."""

import errno
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
import tty

import e2e

# A program that says when it wrote what: "before after" of its own clock, in ns, for each line.
WRITER = """
import os, sys, time
for i in range(int(sys.argv[1])):
    before = time.monotonic_ns()
    os.write(1 + i % 2, b'line %d %d\\n' % (i, before))
"""

# Each line waits until the one before has been read at the other end.
ECHO = """
import os, time
for i in range(20):
    os.write(1, b'%d %d' % (i, time.monotonic_ns()))
    os.read(0, 1)
    os.write(1, b' end\\n')
    os.read(0, 1)
"""

TERMINAL = """
import os, signal, sys, time
def show(*_):
    size = os.get_terminal_size(1)
    os.write(1, b'size %d %d\\n' % (size.columns, size.lines))
signal.signal(signal.SIGWINCH, show)
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # of the recorder, at ^C
print([os.isatty(i) for i in range(3)])
sys.stderr.write('to standard error\\n')
print('\\x1b[1mbold\\x1b[0m\\ttab')
try:
    sys.stdout.write('prompt: ')
    sys.stdout.flush()
    while True:
        time.sleep(0.1)
except KeyboardInterrupt:
    sys.exit(7)
"""


def source_of(text):
    return ["python3", "-c", text]


class Output(e2e.TestCase):
    def logs(self, trace, *arguments):
        return e2e.rows("logs", trace, *arguments)

    def capture(self, *arguments, **options):
        return self.record("-q", "-e", "task", *arguments, **options)

    def popen(self, *arguments, **options):
        """Starts ebrec, of which the trace is t.ebt."""
        options.setdefault("stdout", subprocess.PIPE)
        return self.start(e2e.EBREC, "-q", "-f", "-o", self.path("t.ebt"), "-e", "task",
                          *arguments, **options)

    def test_bytes(self):
        # 32 MB that are no text, through a pipe and into a file; and errors in between.
        with open(self.path("in"), "wb") as file:
            file.write(os.urandom(1 << 20) * 32)
        with open(self.path("in"), "rb") as file:
            wanted = file.read()
        script = f"cat {self.path('in')}; echo over >&2; exit 3"
        self.capture("--capture-output", "--", "sh", "-c", script, status=3)
        self.assertTrue(self.recorded.stdout == wanted)
        self.assertEqual(self.recorded.stderr.splitlines()[0], b"over")
        with open(self.path("out"), "wb") as out:
            child = self.popen("--capture-output", "--", "cat", self.path("in"), stdout=out,
                               stderr=subprocess.DEVNULL)
            self.assertEqual(child.wait(e2e.SECONDS), 0)
        with open(self.path("out"), "rb") as out:
            self.assertTrue(out.read() == wanted)

    def test_lines(self):
        # Every line is a row, none before it was written, none behind a later one of its stream.
        trace = self.capture("--capture-output", "--", *source_of(WRITER), "3000")
        written = self.recorded.stdout + self.recorded.stderr
        rows, start = self.logs(trace), e2e.start_ns(trace)
        self.assertEqual(e2e.lost(trace), {})
        for stream, lines in (("stdout", self.recorded.stdout), ("stderr", self.recorded.stderr)):
            ours = [r for r in rows if r["origin"] == stream]
            self.assertEqual([r["message"].encode() for r in ours], lines.splitlines())
            self.assertEqual(len(ours), 1500)
            for row in ours:
                self.assertGreaterEqual(start + row["time_ns"], int(row["message"].split()[2]))
        self.assertEqual(len(rows), len(written.splitlines()))
        task = {(r["pid"], r["tid"], r["comm"], r["severity"]) for r in rows}
        self.assertEqual(len(task), 1)
        self.assertEqual(task.pop()[2:], ("python3", "none"))

    def test_at_once(self):
        # What has no end of line arrives too, and the recorder has heard of it by then.
        child = self.popen("--capture-output=stdout", "--", *source_of(ECHO),
                           stdin=subprocess.PIPE)
        bounds = []
        for i in range(20):
            text = b""
            while len(text.split()) < 2 or len(text.split()[1]) < len(str(time.monotonic_ns())) - 1:
                text += os.read(child.stdout.fileno(), 100)
            start = int(text.split()[1])
            child.stdin.write(b".")
            child.stdin.flush()
            self.assertEqual(os.read(child.stdout.fileno(), 100), b" end\n")
            bounds.append((f"{i} {start} end", start, time.monotonic_ns()))
            child.stdin.write(b".")
            child.stdin.flush()
        self.assertEqual(child.wait(e2e.SECONDS), 0)
        rows = self.logs(self.path("t.ebt"), "--grep", "end$")
        self.assertEqual(len(rows), len(bounds))
        start = e2e.start_ns(self.path("t.ebt"))
        for row, (text, begin, end) in zip(rows, bounds):
            at = start + row["time_ns"]
            # After a second without an end the beginning is a row of its own.
            self.assertIn(row["message"], (text, " end"))
            self.assertTrue(begin <= at <= end, (begin, at, end))

    def test_one_place(self):
        # Both streams in one pipe stay in order, and then one cannot tell which it was.
        def record(what):
            trace = self.path("t.ebt")
            done = subprocess.run([e2e.EBREC, "-q", "-f", "-o", trace, "-e", "task", what, "--",
                                   *source_of(WRITER), "2000"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, env=e2e.CLEAN, check=True,
                                  timeout=e2e.SECONDS)
            numbers = [int(line.split()[1]) for line in done.stdout.splitlines()]
            return numbers, self.logs(trace)

        numbers, rows = record("--capture-output")
        self.assertEqual(numbers, list(range(2000)))
        self.assertEqual([int(r["message"].split()[1]) for r in rows], numbers)
        self.assertEqual({r["origin"] for r in rows}, {"output"})
        numbers, rows = record("--capture-output=apart")
        self.assertEqual(sorted(numbers), list(range(2000)))
        self.assertEqual({r["origin"] for r in rows}, {"stdout", "stderr"})

    def test_what_a_line_is(self):
        script = ("printf '10%%\\r20%%\\r30%%\\n\\n'; printf 'dos\\r\\n\\r\\n'; "
                  "head -c 100000 /dev/zero | tr '\\0' x; printf '\\n\\033[31mred\\0\\377\\nlast'")
        trace = self.capture("--capture-output", "--", "sh", "-c", script)
        rows = self.logs(trace)
        self.assertEqual([r["message"] for r in rows[:6]], ["10%", "20%", "30%", "", "dos", ""])
        self.assertEqual((rows[6]["message"], rows[6]["cut"]), ("x" * 4096, 100000 - 4096))
        self.assertEqual([r["message"] for r in rows[8:]], ["last"])
        self.assertNotIn("cut", rows[8])
        text = e2e.ebreport("logs", trace)
        self.assertIn("\\x1b[31mred\\x00\\xff", text)
        self.assertIn("x… (95904 bytes more)", text)
        self.assertEqual(e2e.ebreport("logs", "--severity", "debug", trace).count("\n"), 1)
        self.assertEqual([r["message"] for r in self.logs(trace, "--grep", "^[0-9]0%$", "--top",
                                                          "2")], ["10%", "20%"])

    def test_reader_has_gone(self):
        child = self.popen("--capture-output", "--", "yes")
        child.stdout.read(4)
        child.stdout.close()
        child.stdout = None
        self.assertEqual(child.wait(e2e.SECONDS), 128 + signal.SIGPIPE)

    def test_reader_is_slow(self):
        # Who is not read is held up, and nothing else is: time ends the recording, long after it was,
        # and all that was written is still there for who reads at last.
        count = self.path("count")
        program = ("import os, sys\n"
                   "count = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\n"
                   "n = 0\n"
                   "while True:\n"
                   "    os.pwrite(count, b'%9d' % n, 0)\n"
                   "    os.write(1, b'%0511d\\n' % n)\n"
                   "    n += 1\n")
        child = self.popen("-d", "10", "--capture-output", "--", *source_of(program), count)
        self.assertEqual(child.wait(e2e.SECONDS), 128 + signal.SIGTERM)
        with open(count, encoding="ascii") as file:
            wrote = int(file.read())
        # Two pipes are full, and what is between them.
        self.assertLess(wrote * 512, 1 << 20)
        read = child.stdout.read().split()
        self.assertIn(len(read), (wrote, wrote + 1))
        self.assertEqual(read, [b"%0511d" % i for i in range(len(read))])
        # The line in which it was held up may be two rows.
        rows = "".join(r["message"] for r in self.logs(self.path("t.ebt"))).encode()
        self.assertTrue(b"".join(read).startswith(rows))
        self.assertGreater(len(rows), 100 * 511)

    def wait_for_child(self, script, **options):
        """A shell whose child writes when there is a file; gives ebrec and that file."""
        go = self.path("go")
        script = script.replace("WAIT", f"while ! [ -e {go} ]; do sleep 0.1; done")
        return self.popen("--capture-output", "--", "sh", "-c", script, **options), go

    def test_children_that_outlive(self):
        child, go = self.wait_for_child("(WAIT; echo later; echo more) & echo now")
        self.assertEqual(child.wait(e2e.SECONDS), 0)
        self.assertEqual(os.read(child.stdout.fileno(), 100), b"now\n")
        self.assertEqual([r["message"] for r in self.logs(self.path("t.ebt"))], ["now"])
        with open(go, "w", encoding="ascii"):
            pass
        self.assertEqual(child.stdout.read(), b"later\nmore\n")

    def test_recorder_is_killed(self):
        child, go = self.wait_for_child("echo now; WAIT; echo later; seq 100000")
        self.assertEqual(os.read(child.stdout.fileno(), 100), b"now\n")
        child.kill()
        child.wait(e2e.SECONDS)
        with open(go, "w", encoding="ascii"):
            pass
        read = child.stdout.read().split()
        self.assertEqual(read, [b"later"] + [b"%d" % i for i in range(1, 100001)])

    def test_trace_to_standard_output(self):
        done = e2e.run(e2e.EBREC, "-q", "-o", "-", "-e", "task", "--capture-output", "--",
                       "sh", "-c", "echo out; echo err >&2; echo again")
        self.assertEqual(done.stderr, b"out\nerr\nagain\n")
        with open(self.path("t.ebt"), "wb") as file:
            file.write(done.stdout)
        self.assertEqual([(r["origin"], r["message"]) for r in self.logs(self.path("t.ebt"))],
                         [("output", text) for text in ("out", "err", "again")])

    # --- a terminal ---

    def on_terminal(self, command):
        """What a terminal is told, with its size changed, and how the command ends at ^C."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                                 env=e2e.CLEAN, preexec_fn=own_terminal)
        os.close(slave)

        def kill():
            child.kill()
            child.wait()

        self.addCleanup(kill)
        text = self.read_until(master, b"prompt: ")
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 77, 0, 0))
        text += self.read_until(master, b"size 77 44\r\n")
        os.write(master, b"\x03")
        while True:
            try:
                data = os.read(master, 1000)
            except OSError as err:
                self.assertEqual(err.errno, errno.EIO)
                break
            if not data:
                break
            text += data
        # It may be told of its size several times, and after ^C.
        before, size, after = re.sub(rb"size [0-9 ]*\r\n", b"size\n", text).partition(b"size\n")
        return before + size + after.replace(size, b""), child.wait(e2e.SECONDS)

    def read_until(self, fd, end):
        text = b""
        while not text.endswith(end):
            text += os.read(fd, 1000)
        return text

    def test_terminal(self):
        plain, status = self.on_terminal(source_of(TERMINAL))
        self.assertEqual(status, 7)
        self.assertIn(b"[True, True, True]\r\nto standard error\r\n", plain)
        recorded, status = self.on_terminal([e2e.EBREC, "-q", "-f", "-o", self.path("t.ebt"),
                                             "-e", "task", "--capture-output", "--",
                                             *source_of(TERMINAL)])
        self.assertEqual(status, 7)
        self.assertEqual(recorded, plain)
        rows = self.logs(self.path("t.ebt"))
        self.assertEqual([r["message"] for r in rows[:3]],
                         ["[True, True, True]", "to standard error", "\x1b[1mbold\x1b[0m\ttab"])

    def test_stop_and_go_on(self):
        # A shell with jobs, and ^Z.
        program = ("import sys\n"
                   "print('ready', flush=True)\n"
                   "print('had', sys.stdin.readline().strip(), flush=True)\n")
        shell = ('"$@"; echo stopped with $?; fg >/dev/null; echo ended with $?')
        pid, master = pty.fork()
        if not pid:
            os.execvpe("bash", ["bash", "-mc", shell, "bash", e2e.EBREC, "-q", "-f", "-o",
                                self.path("t.ebt"), "-e", "task", "--capture-output", "--",
                                *source_of(program)], e2e.CLEAN)
        self.addCleanup(os.close, master)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        self.read_until(master, b"ready\r\n")
        os.write(master, b"\x1a")
        self.read_until(master, b"stopped with 148\r\n")
        os.write(master, b"line\n")
        self.assertIn(b"had line\r\n", self.read_until(master, b"ended with 0\r\n"))
        self.assertEqual([r["message"] for r in self.logs(self.path("t.ebt"))],
                         ["ready", "had line"])

    def test_modes_of_the_terminal(self):
        # A program that fills the screen sets them through its standard output.
        program = ("import termios, tty, sys\n"
                   "before = termios.tcgetattr(1)\n"
                   "tty.setcbreak(1)\n"
                   "print('ready', flush=True)\n"
                   "print(repr(sys.stdin.read(1)), flush=True)\n"
                   "termios.tcsetattr(1, termios.TCSADRAIN, before)\n")
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        before = termios.tcgetattr(slave)
        child = self.start(e2e.EBREC, "-q", "-f", "-o", self.path("t.ebt"), "-e", "task",
                           "--capture-output=stdout", "--", *source_of(program), stdin=slave,
                           stdout=slave, stderr=subprocess.DEVNULL)
        self.assertEqual(self.read_until(master, b"ready\r\n"), b"ready\r\n")
        self.assertFalse(termios.tcgetattr(slave)[tty.LFLAG] & termios.ICANON)
        os.write(master, b"q")
        self.assertEqual(self.read_until(master, b"'q'\r\n"), b"'q'\r\n")
        self.assertEqual(child.wait(e2e.SECONDS), 0)
        self.assertEqual(termios.tcgetattr(slave)[tty.LFLAG], before[tty.LFLAG])


# With a /run and a journald of its own.
JOURNALD = """
set -e
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /run/systemd/journal /run/log/journal
/lib/systemd/systemd-journald &
journald=$!
trap 'kill $journald; wait $journald' EXIT
until [ -S /run/systemd/journal/socket ] && [ -n "$(journalctl -q -n1 -o cat 2>/dev/null)" ]; do
	sleep 0.1
done
systemd-cat -t before echo 'before the recording'
"$@"
journalctl -o json --all --no-pager
"""

TALKER = r"""
import socket, struct, subprocess, time
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.connect('/run/systemd/journal/socket')
def field(name, value):
    return name + b'\n' + struct.pack('<Q', len(value)) + value + b'\n'
for i in range(500):
    journal.send(b'SYSLOG_IDENTIFIER=talker\nPRIORITY=%d\nMESSAGE=number %d at %d\n'
                 % (i % 8, i, time.monotonic_ns()))
journal.send(field(b'MESSAGE', b'two\nlines \x1b[2J\xff') + b'SYSLOG_IDENTIFIER=talker\n')
journal.send(field(b'MESSAGE', b'x' * 60000) + field(b'GARBAGE', b'y' * 60000)
             + b'SYSLOG_IDENTIFIER=talker\nPRIORITY=nonsense\n')
subprocess.run(['systemd-cat', '-t', 'talker', '-p', 'err', 'echo', 'last'], check=True)
"""


class Journal(e2e.TestCase):
    def test_journald(self):
        trace = self.path("t.ebt")
        done = e2e.run("unshare", "-m", "sh", "-c", JOURNALD, "sh", e2e.EBREC, "-q", "-f", "-o",
                       trace, "-e", "journal", "--", *source_of(TALKER))
        theirs = [json.loads(line) for line in done.stdout.decode().splitlines()]
        theirs = [e for e in theirs if e.get("SYSLOG_IDENTIFIER") == "talker"]
        rows = e2e.rows("logs", trace, "--origin", "journal", "--domain", "talker")
        self.assertEqual(len(theirs), 503)
        self.assertEqual(len(rows), len(theirs))
        names = ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"]
        start = e2e.start_ns(trace)
        for row, entry in zip(rows, theirs):
            row["time_ns"] += start
            sent = int(entry.get("_SOURCE_REALTIME_TIMESTAMP", entry["__REALTIME_TIMESTAMP"]))
            late = int(entry["__REALTIME_TIMESTAMP"]) - sent
            self.assertEqual(row["time_ns"], (int(entry["__MONOTONIC_TIMESTAMP"]) - late) * 1000)
            self.assertEqual(row["pid"], int(entry["_PID"]))
            if row["message"].startswith("number"):
                _, number, _, at = row["message"].split()
                self.assertEqual(row["message"], entry["MESSAGE"])
                self.assertEqual(row["severity"], names[int(number) % 8])
                # The wall clock may be turned meanwhile, by a little.
                self.assertGreater(row["time_ns"], int(at) - 100000000)
        self.assertEqual(rows[500]["message"], "two\nlines \x1b[2J\ufffd")
        self.assertEqual(bytes(theirs[500]["MESSAGE"]), b"two\nlines \x1b[2J\xff")
        self.assertEqual((len(rows[501]["message"]), rows[501]["cut"], rows[501]["severity"]),
                         (8192, 60000 - 8192, "none"))
        self.assertEqual((rows[502]["message"], rows[502]["severity"]), ("last", "error"))
        self.assertIn("talker: two\\x0alines \\x1b[2J\\xff", e2e.ebreport("logs", trace))
        self.assertNotIn("before the recording", e2e.ebreport("logs", trace))
        worse = e2e.rows("logs", trace, "--severity", "error", "--domain", "talker")
        self.assertEqual(len(worse), 500 // 8 * 4 + 4 + 1)

    def test_none_here(self):
        done = e2e.run("unshare", "-m", "sh", "-c",
                       'mount --make-rprivate / && mount -t tmpfs none /run && exec "$@"', "sh",
                       e2e.EBREC, "-q", "-f", "-o", self.path("t.ebt"), "-e", "journal,task", "--",
                       "true")
        self.assertIn(b"no events of source journal: no systemd-journald runs here", done.stderr)


if __name__ == "__main__":
    e2e.main()

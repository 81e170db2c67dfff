# SPDX-License-Identifier: GPL-2.0-or-later
"""ebreport on a terminal: the pager, and tables as wide as the terminal."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time

import e2e

ROWS = 24
PROMPT = rb":\x1b\[K$"  # of less, which waits for a key


class Terminal:
    """A command with a terminal of its own, of so many columns."""

    def __init__(self, *command, columns=100, **environment):
        self.text = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        env = {k: v for k, v in e2e.CLEAN.items()
               if k not in ("PAGER", "EBREPORT_PAGER", "LESS", "NO_COLOR", "COLUMNS")}
        env.update({"TERM": "xterm", "LC_ALL": "C.UTF-8"}, **environment)
        self.child = subprocess.Popen([str(c) for c in command], stdin=slave, stdout=slave,
                                      stderr=slave, env=env, preexec_fn=own_terminal)
        os.close(slave)

    def read(self, until=None, seconds=60):
        """All that comes until a pattern does, or all."""
        end = time.monotonic() + seconds
        while until is None or not re.search(until, self.text):
            left = end - time.monotonic()
            if left < 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"no {until} in {self.text[-1000:]}")
            try:
                data = os.read(self.master, 65536)
            except OSError:  # nobody has the other end any more
                data = b""
            if not data:
                break
            self.text += data
        return self.text

    def press(self, keys):
        os.write(self.master, keys)

    def end(self):
        """The rest, and the exit status."""
        self.read()
        return self.child.wait(e2e.SECONDS)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        os.close(self.master)


def plain(text):
    """Lines as they look, without colours."""
    text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r", b"", text)
    return text.decode(errors="replace").splitlines()


class Trace(e2e.TestCase):
    """One of a small program, for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory(prefix="ebt-e2e-")
        cls.addClassCleanup(cls.shared.cleanup)
        cls.trace = os.path.join(cls.shared.name, "t.ebt")
        e2e.run(e2e.EBREC, "-q", "-o", cls.trace, "-e", "task,sched,offcpu,syscalls,sample,fault", "--",
                "sh", "-c", "for i in $(seq 40); do ls -l / >/dev/null; done")

    def terminal(self, *arguments, **options):
        terminal = Terminal(e2e.EBREPORT, *arguments, **options)
        self.addCleanup(terminal.close)
        return terminal


class Pager(Trace):
    """Which one it is, what it is given, and how it ends."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Whose chunks have lost rows, so that there is a warning.
        with open(cls.trace, "rb") as whole:
            data = whole.read()
        cls.cut = os.path.join(cls.shared.name, "cut.ebt")
        with open(cls.cut, "wb") as file:
            file.write(data[:len(data) * 9 // 10])

    def noting(self, then="cat"):
        """A pager that writes what it gets into a file, and the file."""
        return f"tee {self.path('paged')} | {then}", self.path("paged")

    def paged(self):
        with contextlib.suppress(FileNotFoundError), open(self.path("paged"), "rb") as file:
            return file.read()
        return None

    def test_which(self):
        note, _ = self.noting()
        for environment, used in (({"PAGER": note}, True),
                                  ({"PAGER": "cat", "EBREPORT_PAGER": note}, True),
                                  ({"PAGER": note, "EBREPORT_PAGER": "cat"}, False),
                                  ({"PAGER": note, "EBREPORT_PAGER": ""}, False),
                                  ({"PAGER": note, "TERM": "dumb"}, False)):
            with self.subTest(environment):
                terminal = self.terminal("procs", self.trace, **environment)
                self.assertEqual(terminal.end(), 0)
                self.assertEqual(self.paged() is not None, used)
                shown = terminal.text.replace(b"\r\n", b"\n")
                if used:
                    self.assertEqual(self.paged(), shown)
                    os.unlink(self.path("paged"))
                self.assertIn("sh", " ".join(plain(shown)))
        terminal = self.terminal("procs", "--no-pager", self.trace, PAGER=note)
        self.assertEqual((terminal.end(), self.paged()), (0, None))
        for absent in ("no-such-pager -x", "/no/such/pager"):
            terminal = self.terminal("procs", self.trace, PAGER=absent)
            self.assertEqual(terminal.end(), 0)
            self.assertIn(f"there is no pager '{absent}'".encode(), terminal.text)
            self.assertIn(b"COMM", terminal.text)

    def test_not_elsewhere(self):
        note, _ = self.noting()
        out = self.path("out")
        terminal = self.terminal("procs", "-o", out, self.trace, PAGER=note)
        self.assertEqual(terminal.end(), 0)
        terminal = self.terminal("wall", "--flame", "-o", self.path("a.svg"), self.trace,
                                 PAGER=note)
        self.assertEqual(terminal.end(), 0)
        self.terminal("sh", "-c", f"{e2e.EBREPORT} procs {self.trace} | cat", PAGER=note).end()
        terminal = Terminal("sh", "-c", f"{e2e.EBREPORT} procs {self.trace} >{out}", PAGER=note)
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.end(), 0)
        self.assertIsNone(self.paged())

    def test_environment_width_colours(self):
        note, _ = self.noting('sh -c \'cat >/dev/null; echo "LESS is $LESS"\'')
        terminal = self.terminal("syscalls", self.trace, columns=91, PAGER=note)
        terminal.end()
        self.assertIn(b"LESS is FRX\r\n", terminal.text)
        self.assertIn(b"\x1b[1m", self.paged())
        terminal = self.terminal("syscalls", self.trace, PAGER=note, LESS="-i")
        terminal.end()
        self.assertIn(b"LESS is -i\r\n", terminal.text)

    def test_short_is_printed(self):
        # less is left by itself where all is on one screen.
        terminal = self.terminal("procs", "--top", 3, self.trace)
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn(b"\x1b[?1049h", terminal.text)

    def test_leaving_early(self):
        terminal = self.terminal("dump", "--table", "syscall", self.trace)
        terminal.read(PROMPT)
        terminal.press(b"q")
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn(b"ebreport:", terminal.text)
        terminal = self.terminal("dump", self.trace, PAGER="true")
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn(b"ebreport:", terminal.text)

    def test_leaving_early_loses_no_warning(self):
        """What is wrong with the file is told; what was not read because of the key is not."""
        last = list(e2e.Dump(self.trace, "--table", "syscall").rows("syscall"))[-1]
        tid = int(last["task"].split("/")[0])
        for options in ([], ["--tid", tid]):
            terminal = self.terminal("dump", "--table", "syscall,sched_switch", *options, self.cut,
                                     PAGER="head -n 1")
            self.assertEqual(terminal.end(), 0)
            told = [line for line in plain(terminal.text) if line.startswith("ebreport:")]
            self.assertIn("has no end", told[0])
            self.assertFalse([line for line in told if "pass" in line or "in this trace" in line])
        terminal = self.terminal("dump", "--table", "syscall", self.cut)
        terminal.read(PROMPT)
        terminal.press(b"q")
        self.assertEqual(terminal.end(), 0)
        self.assertIn(b"warning: the file has no end", terminal.text)

    def test_several_machines(self):
        """One pager for all; what is wrong with each stands below it, and says of which."""
        other, both = self.path("other.ebt"), self.path("both.ebt")
        e2e.run(e2e.EBREPORT, "scrub", self.cut, "-o", other)
        e2e.run(e2e.EBREPORT, "merge", self.trace, other, "-o", both)
        note, _ = self.noting()
        terminal = self.terminal("procs", "--top", 3, both, PAGER=note)
        self.assertEqual(terminal.end(), 0)
        machines = [line for line in plain(self.paged()) if re.match(r"host-\d: ", line)]
        self.assertEqual([line[:7] for line in machines], ["host-1:", "host-2:"])
        told = [line for line in plain(terminal.text) if line.startswith("ebreport: ")]
        self.assertTrue(all(re.match("ebreport: warning: host-[12]: ", line) for line in told), told)
        # The next is not begun for who reads no more of the first.
        terminal = self.terminal("dump", both, PAGER="true")
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn(b"host-2: ", terminal.text.replace(b"warning: host-2: ", b""))

    def test_left_early_goes_on_writing_files(self):
        svg = self.path("off.svg")
        terminal = self.terminal("offcpu", "--flame", svg, self.trace, PAGER="true")
        self.assertEqual(terminal.end(), 0)
        with open(svg, encoding="utf-8") as file:
            self.assertTrue(file.read().rstrip().endswith("</svg>"))

    def test_interrupt(self):
        # less goes on, the shell waits for it, and the status says what happened.
        terminal = Terminal("sh", "-c", f'trap : INT; "{e2e.EBREPORT}" dump "{self.trace}"; '
                            'echo "status $?"')
        self.addCleanup(terminal.close)
        terminal.read(PROMPT)
        terminal.press(b"\x03")
        time.sleep(0.5)
        self.assertIsNone(terminal.child.poll())
        self.assertNotIn(b"status", terminal.text)
        terminal.press(b"q")
        terminal.end()
        self.assertRegex(terminal.text, rb"status 130\r\n")

    def test_warnings_stand_below(self):
        for pager in ("less -FRX", "cat -", "true"):
            with self.subTest(pager):
                terminal = self.terminal("procs", "--top", 3, self.cut, PAGER=pager)
                self.assertEqual(terminal.end(), 0)
                lines = plain(terminal.text)
                first = min(i for i, line in enumerate(lines) if "warning:" in line)
                if pager != "true":
                    self.assertGreater(first, [i for i, line in enumerate(lines)
                                               if "COMM" in line or "PROCESS" in line][0])
                self.assertTrue(all(re.match(".*warning:|  ", line) for line in lines[first:]),
                                lines)

    def test_warnings_fit(self):
        """Wrapped at words on a terminal, a line each elsewhere."""
        done = e2e.run(e2e.EBREPORT, "procs", "--no-symbols", self.cut)
        told = done.stderr.decode().splitlines()
        self.assertTrue(all(line.startswith("ebreport: warning: ") for line in told), told)
        for columns in (30, 60, 80, 400):
            terminal = self.terminal("procs", "--no-symbols", self.cut, columns=columns, PAGER="")
            self.assertEqual(terminal.end(), 0)
            lines = plain(terminal.text)
            lines = lines[min(i for i, line in enumerate(lines) if "warning:" in line):]
            self.assertEqual(len(lines) > len(told), columns < max(map(len, told)))
            for line in lines:
                self.assertTrue(len(line) <= columns or " " not in line.strip(), line)
            self.assertEqual("\n".join(lines).replace("\n  ", " ").split("\n"), told)

    def test_errors_have_their_status(self):
        terminal = self.terminal("procs", self.path("none.ebt"))
        self.assertEqual(terminal.end(), 1)
        terminal = self.terminal("procs", "--sort", "nothing", self.trace)
        self.assertEqual(terminal.end(), 2)

    def test_help(self):
        note, _ = self.noting()
        terminal = self.terminal("flame", "--help", PAGER=note)
        self.assertEqual(terminal.end(), 0)
        self.assertIn(b"--no-pager", self.paged())


class Tables(Trace):
    """As wide as the terminal, and no longer than asked for."""

    def lines(self, columns, *arguments):
        terminal = self.terminal(*arguments, "--no-symbols", self.trace, columns=columns,
                                 PAGER="")
        self.assertEqual(terminal.end(), 0)
        return plain(terminal.text)

    def test_widths(self):
        for command in ("sched", "offcpu", "wall", "procs", "callgraph"):
            every = self.lines(40, command, "--wide", "--top", 2)[0].split()
            for columns in (40, 60, 80, 120, 200, 250):
                with self.subTest(command=command, columns=columns):
                    lines = self.lines(columns, command, "--top", 2)
                    self.assertLessEqual(max(map(len, lines[:3])), columns)
                    note = [re.match(r"(\d+) columns? left out: --wide", line) for line in lines]
                    left_out = sum(int(match[1]) for match in note if match)
                    shown = lines[0].split()
                    self.assertEqual(shown, [word for word in every if word in shown])
                    self.assertLessEqual(len(every) - len(shown), left_out)
                    self.assertEqual(left_out > 0, any(note))
                    # What fits is there.
                    if columns == 250:
                        self.assertEqual((shown, left_out), (every, 0))

    def test_text_fits(self):
        """Lines that are no rows of a table go on in others; no word is lost or broken."""
        share = ("share", "-f", "-o", self.path("share.ebt"))
        for command in (("info", "--all"), ("faults",), ("faults", "--stacks"), share, ("wall",),
                        ("wall", "--hide-idle"), ("threads",), ("offcpu", "--stacks", "--all"),
                        ("procs", "--timeline"), ("procs",), ("overview",)):
            for columns in (60, 80):
                with self.subTest(command=command, columns=columns):
                    for line in self.lines(columns, *command):
                        alone = len(line.split()[-1]) + 14 > columns if line else False
                        self.assertTrue(len(line) <= columns or alone, line)
        for command in (("offcpu", "--stacks", "--all"), ("faults", "--stacks"), share):
            narrow, wide = (self.lines(40, *command, *option) for option in ((), ("--wide",)))
            self.assertEqual(" ".join(narrow).split(), " ".join(wide).split())
            self.assertGreater(len(narrow), len(wide))
            self.assertGreater(max(map(len, wide)), 40)

    def test_modules_say_what_to_do(self):
        told = re.compile(r"  (ebreport modules --debuginfod=|apt-get install |dnf )")
        for columns in (40, 80, 200):
            lines = self.lines(columns, "modules")
            self.assertTrue(any(map(told.match, lines)), lines)

    def longest(self, found):
        """Of arrays of rows, and of those below rows."""
        if isinstance(found, dict):
            return max(map(self.longest, found.values()), default=0)
        if isinstance(found, list) and found and isinstance(found[0], dict):
            return max(len(found), *map(self.longest, found))
        return 0

    def test_top(self):
        words = e2e.run(e2e.EBREPORT, "--help").stdout.decode().split("Commands:")[1]
        commands = re.findall(r"^  ([a-z]+) ", words.split("\n\n")[0], re.M)
        self.assertGreater(len(commands), 20)
        tried = 0
        for command in commands:
            for options in ([], ["--stacks"], ["--tree"], ["--by", "thread"]):
                done = e2e.run(e2e.EBREPORT, command, "--json", "--top", 2, *options,
                               "--no-symbols", self.trace, status=None)
                # No table, no such option; a callgraph has so many functions, and of each so much.
                if done.returncode or not done.stdout.startswith(b"{") or command == "info":
                    continue
                with self.subTest([command, *options]):
                    self.assertLessEqual(self.longest(json.loads(done.stdout)),
                                         4 if command == "callgraph" else 2)
                    tried += 1
        self.assertGreater(tried, 25)

    def test_callgraph_is_short(self):
        lines = e2e.ebreport("callgraph", self.trace).splitlines()
        whole = e2e.ebreport("callgraph", "--all", self.trace).splitlines()
        self.assertLess(len(lines), 170)
        self.assertLess(len(lines), len(whole))
        self.assertIn("FUNCTION", lines[0])
        self.assertTrue(any(re.match(r"\d+ more functions: --top N, --all", line)
                            for line in lines))
        few = e2e.ebreport("callgraph", "--top", 3, self.trace).splitlines()
        self.assertLess(len(few), 40)

    def test_callgraph_names(self):
        """Nothing is printed above nothing; names are cut when what stands beside them has been."""
        terminal = self.terminal("callgraph", self.trace, columns=60, PAGER="")
        self.assertEqual(terminal.end(), 0)
        tables = "\n".join(plain(terminal.text)).split("\n\n")
        cut = 0
        for table in tables:
            lines = table.splitlines()
            header = next(line for line in lines if " FUNCTION" in line)
            if "LINES" not in header:
                continue
            name, beside = header.index("FUNCTION"), header.index("LINES")
            end = header.index("OBJECT") if "OBJECT" in header else beside
            if any("…" in line[name:end] for line in lines):
                cut += 1
                self.assertLessEqual(max(len(line) - beside for line in lines
                                         if re.search(r"\d%", line)), 16, table)
        self.assertGreater(cut, 0, tables)
        done = e2e.run(e2e.EBREPORT, "callgraph", "--comm", "nobody", self.trace)
        self.assertEqual(len(done.stdout.splitlines()), 1)


if __name__ == "__main__":
    e2e.main()

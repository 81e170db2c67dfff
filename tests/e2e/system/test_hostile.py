# SPDX-License-Identifier: GPL-2.0-or-later
"""Names from strangers are harmless on the terminal, in SVG, in JSON and in CSV."""

import os
import re
import shutil
import xml.etree.ElementTree

import e2e

SCRIPT = "<script>alert(1)</script>"
ESCAPES = "\x1b[31m\x1b]0;owned\x07\r\n\"'&,;\\"
# What no text report may hold: control characters but the newline, in UTF-8 too.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
TEXT = ("info", "sched", "offcpu", "syscalls", "callgraph", "folded", "dump")
TABLES = ("sched", "offcpu", "syscalls", "callgraph")

# Marks that turn the direction of text; U+2028 and U+2029 are lines to some.
LAYOUT = re.compile("[\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Opens, and looks for in vain, each name and a path of the longest length, and one that is longer.
PATHS = r"""
import os, socket, sys
folder = os.fsencode(sys.argv[1])
names = [b"\x1b[31m\x1b]0;owned\x07", b"a\nb\r\n", "cod\u202egpj.exe \u2066 \u2028".encode(), b"bad\xff\xfe\xc3",
         b"<script>alert(1)<\\script>", b"'\"&,;\\`$(id)", b"=1+1", b" ", b"n" * 255]
for name in names:
    for path in folder + b"/" + name, name:
        os.chdir(folder)
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        os.write(fd, b"abc")
        os.close(fd)
    try:
        os.stat(name + b".missing")
    except OSError:
        pass
    server = socket.socket(socket.AF_UNIX)
    server.bind(name[:90] + b".sock")
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect(name[:90] + b".sock")
    client.send(b"to a socket")
    server.accept()[0].recv(100)
for n in 4095, 4096:
    path = folder + b"/." * ((n - len(folder) - 2) // 2) + b"/xx"[:2 + (n - len(folder)) % 2]
    path = path[:n - 1] + b"x" if len(path) >= n else path + b"x" * (n - len(path))
    assert len(path) == n
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT))
    except OSError:
        pass
"""
# Of system calls and their files.
COMMANDS = [("syscalls", "--trace"), ("syscalls", "--strace"), ("io",), ("io", "--by", "directory"), ("io", "--missing"),
            ("io", "--leaks"), ("io", "--open", "100%"), ("io", "--peers"), ("io", "--peers", "--folded"), ("dump",)]


class Paths(e2e.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.folder, "files")
        os.mkdir(self.folder)
        self.trace = self.record("-e", "syscalls:args", "--", "/usr/bin/python3", "-c", PATHS, self.folder,
                                 name="../t.ebt")
        self.names = {os.fsencode(name) for name in os.listdir(self.folder)}

    def test_text(self):
        for command in COMMANDS:
            done = e2e.run(e2e.EBREPORT, *command, self.trace)
            text = done.stdout.decode()  # valid, whatever the names were
            for pattern in CONTROL, LAYOUT:
                found = pattern.search(text)
                self.assertIsNone(found, f"{command}: {found and text[found.start() - 40:][:80]!r}")
        lines = e2e.ebreport("syscalls", "--trace", self.trace).splitlines()
        self.assertEqual([line for line in lines if not line.startswith("[pid ")], [])

    def test_names(self):
        """Each file is there under its own name, as bytes where it is text, and with what was written to it."""
        def shown(name):
            return (os.fsencode(self.folder) + b"/" + name).decode(errors="replace")
        written = {row["path"]: row["write_bytes"] for row in e2e.rows("io", self.trace) if row["write_bytes"]}
        names = [name for name in self.names if not name.endswith(b".sock") and name != b"x"]
        self.assertGreater(len(names), 8)
        for name in names:
            self.assertEqual(written.get(shown(name)), 6, name)
        missing = {row["path"]: row["count"] for row in e2e.rows("io", self.trace, "--missing", "--by", "file")}
        for name in names:
            if len(name) < 240:
                self.assertEqual(missing.get(shown(name + b".missing")), 1, name)
        csv = {row["path"] for row in e2e.report_csv("io", self.trace)}
        self.assertTrue({shown(b"<script>alert(1)<\\script>"), shown(b"a\\x0ab\\x0d\\x0a")} <= csv)

    def test_lengths(self):
        """4,095 bytes are a path; of one more the kernel takes none."""
        calls = [row for row in e2e.rows("syscalls", self.trace, "--trace") if row["name"].startswith("open")]
        long = {len(row["args"][1]) - 2: row for row in calls if len(row["args"][1]) > 4000}
        self.assertEqual(int(long[4095]["ret"]) >= 0, True)
        self.assertEqual(long.get(4096, {}).get("errno", "ENAMETOOLONG"), "ENAMETOOLONG")


class Hostile(e2e.TestCase):
    def setUp(self):
        super().setUp()
        # Names of programs, of threads (comm has 15 bytes) and of arguments. The slash of </script>
        # cannot be in a file name, so that part of it is an argument.
        names = [SCRIPT.replace("/", ":"), ESCAPES]
        for name in names:
            shutil.copy(e2e.program("shares"), os.path.join(self.folder, name))
        script = "".join(f"'{self.folder}/$N{i}' 0.2 '{SCRIPT}' & " for i in range(len(names)))
        script = script.replace("'", '"')
        env = {f"N{i}": name for i, name in enumerate(names)}
        trace = os.path.join(self.folder, "t.ebt")
        e2e.run("env", *[f"{k}={v}" for k, v in env.items()], e2e.EBREC, "-q", "-f", "-F", "999", "-e",
                "default,syscalls", "-o", trace, "--", "sh", "-c", script + "wait")
        self.trace = trace

    def test_terminal(self):
        for command in TEXT:
            text = e2e.ebreport(command, self.trace)
            found = CONTROL.search(text)
            self.assertIsNone(found, f"{command}: {found and text[found.start() - 40:][:80]!r}")

    def test_json_and_csv(self):
        comms = {r["comm"] for r in e2e.rows("sched", self.trace)}
        self.assertTrue(any(c.startswith("<script>alert(") for c in comms), comms)
        self.assertTrue(any(c.startswith("\x1b[31m") for c in comms), comms)
        for command in TABLES:
            text = e2e.ebreport(command, "--json", self.trace)
            self.assertIsNone(CONTROL.search(text), command)
        comms = {r["comm"] for r in e2e.report_csv("sched", self.trace)}
        self.assertTrue(any(c.startswith("<script>alert(") for c in comms), comms)

    def test_svg(self):
        svg = self.path("flame.svg")
        e2e.ebreport("flame", "-o", svg, self.trace)
        tree = xml.etree.ElementTree.parse(svg)
        scripts = [e for e in tree.iter() if e.tag.endswith("}script")]
        self.assertLessEqual(len(scripts), 1)
        for element in scripts:
            self.assertNotIn("alert(", element.text or "")
        with open(svg, encoding="utf-8") as f:
            self.assertIsNone(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", f.read()))


class Recorder(e2e.TestCase):
    def test_messages(self):
        """A program's functions are named in what the recorder says of it."""
        with open(e2e.program("probed"), "rb") as f:
            content = f.read()
        program = self.path("program")
        name = b"\x1b[31m_factorial\x07"
        with open(program, "wb") as f:
            f.write(content.replace(b"probed_factorial", name))
        self.record("-e", f"uprobe:{program}:_factoria", "--", "true", status=125)
        said = self.recorded.stderr.decode()
        self.assertIsNone(CONTROL.search(said), repr(said))
        self.assertIn("similar names: \\x1b[31m_factorial\\x07", said)


if __name__ == "__main__":
    e2e.main()

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

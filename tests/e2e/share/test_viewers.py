# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports of a recording in programs that show them: speedscope, in a browser, the Firefox Profiler, and Sysprof's
library. What they have understood has the stacks, inlined functions and times of the reports."""

import os
import sys

import e2e
from test_exports import SOURCE

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/browser"))
import npm  # noqa: E402

BUILD = os.path.join(os.path.dirname(e2e.PROGRAMS), "browser")


class Viewers(e2e.TestCase):
    def setUp(self):
        super().setUp()
        with open(self.path("inlines.cc"), "w", encoding="ascii") as file:
            file.write(SOURCE)
        e2e.run("g++", "-O2", "-g", "-pthread", "-o", self.path("inlines"), file.name)
        self.trace = self.record("-e", "default,syscalls", "-F", "999", "--", "sh", "-c",
                                 f"{self.path('inlines')}; ls -l /")

    def check(self, name):
        done = e2e.run("python3", "-B", os.path.join(e2e.SOURCE, f"tests/browser/check_{name}.py"), BUILD, "none",
                       e2e.EBREPORT, self.trace, status=None)
        said = done.stdout.decode() + done.stderr.decode()
        if done.returncode == npm.SKIP:
            self.skipTest(said)
        self.assertEqual(done.returncode, 0, said)

    def test_speedscope(self):
        self.check("speedscope")

    def test_firefox(self):
        self.check("firefox")

    def test_sysprof(self):
        done = e2e.run("python3", "-B", os.path.join(e2e.SOURCE, "tests/checks/check_sysprof.py"), "none", e2e.EBREPORT,
                       e2e.program("sysprof_reader"), self.trace, status=None)
        self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())


if __name__ == "__main__":
    e2e.main()

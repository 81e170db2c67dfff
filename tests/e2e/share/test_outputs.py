# SPDX-License-Identifier: GPL-2.0-or-later
"""What -o names: no command replaces a file of another kind, and none takes what it could not write
for written."""

import os
import signal
import subprocess

import e2e

# Command: its words behind FILE, and the kind of what it writes.
COMMANDS = {
    "bundle": ([], "trace"),
    "scrub": ([], "trace"),
    "share": ([], "trace"),
    "cut": (["--from", "10%"], "trace"),
    "merge": ([], "trace"),
    "flame": ([], "picture"),
    "export": ([], "text"),
    "sched": ([], "text"),
}
# A file that is there: its kind, and its bytes.
FILES = {
    "a.c": ("text", b"int main(void) { return 0; }\n"),
    "binary": ("text", b"\x7fELF" + bytes(60)),
    "t.ebt.gz": ("packed", b"\x1f\x8b\x08\0\0\0\0\0\0\3" + bytes(60)),
}


class Outputs(e2e.TestCase):
    def setUp(self):
        super().setUp()
        self.trace = self.record("-e", "sample,sched,task", "--", e2e.program("shares"), "1")

    def command(self, name, output):
        words = [self.trace]
        if name == "merge":
            words.append(self.other)
        return [e2e.EBREPORT, name, *COMMANDS[name][0], *words, "-o", output]

    def each(self):
        self.other = self.path("other.ebt")
        e2e.run(e2e.EBREC, "-q", "-f", "-e", "task", "-o", self.other, "--", "true")
        return [(name, kind) for name, (_, kind) in COMMANDS.items()]

    def read(self, path):
        with open(path, "rb") as f:
            return f.read()

    def write(self, path, data):
        with open(path, "wb") as f:
            f.write(data)

    def test_other_kinds_stay(self):
        for name, kind in self.each():
            for file, (old, data) in FILES.items():
                if kind == old:
                    continue
                path, link = self.path(file), self.path("link")
                self.write(path, data)
                os.symlink(path, link)
                for output in path, link:
                    done = e2e.run(*self.command(name, output), status=2)
                    self.assertIn(b"-f replaces it", done.stderr)
                    self.assertEqual(self.read(path), data)
                os.unlink(link)
            if kind != "trace":
                data = self.read(self.other)
                e2e.run(*self.command(name, self.other), status=2)
                self.assertEqual(self.read(self.other), data)

    def test_the_trace_itself_stays(self):
        before = self.read(self.trace)
        os.symlink(self.trace, self.path("self"))
        for name, _ in self.each():
            for output in self.trace, self.path("self"):
                e2e.run(*self.command(name, output), "-f", status=2)
                self.assertEqual(self.read(self.trace), before)

    def test_force_and_own_kind(self):
        for name, _ in self.each():
            path = self.path(name + ".out")
            self.write(path, FILES["a.c"][1] * 100000)
            e2e.run(*self.command(name, path), "-f")
            once = self.read(path)
            self.assertNotIn(FILES["a.c"][1], once)
            link = self.path(name + ".link")
            os.symlink(path, link)
            e2e.run(*self.command(name, link))
            self.assertTrue(os.path.islink(link))
            # Copies for strangers have a number of their own.
            self.assertEqual(self.read(path)[:8], once[:8])

    def test_what_cannot_be_written(self):
        folder = self.path("folder")
        os.mkdir(folder)
        small = self.path("small")
        os.mkdir(small)
        e2e.run("mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small)
        self.addCleanup(subprocess.run, ["umount", small], check=False, timeout=60)
        for name, _ in self.each():
            if name == "sched":  # a table of a few lines
                continue
            outputs = {folder: b"irectory", self.path("none/x"): b"No such file",
                       os.path.join(small, "x"): b"No space left"}
            if name != "share":
                outputs["/dev/full"] = b"No space left"
            for output, why in outputs.items():
                done = e2e.run(*self.command(name, output), status=None)
                self.assertIn(done.returncode, (1, 2), (name, output))
                self.assertIn(why, done.stderr, (name, output))
                rest = os.path.join(small, "x")
                if COMMANDS[name][1] != "trace" and os.path.exists(rest):
                    os.unlink(rest)
                self.assertEqual(os.listdir(small), [], (name, output))
            # What was there before stays, and a link stays one.
            path, link = os.path.join(small, "x"), self.path("small-link")
            self.write(path, b"")
            os.symlink(path, link)
            for output in path, link:
                e2e.run(*self.command(name, output), status=1)
                self.assertTrue(os.path.exists(link), (name, output))
            os.unlink(path)
            e2e.run(*self.command(name, link), status=1)
            self.assertTrue(os.path.islink(link), name)
            os.unlink(link)
            if os.path.exists(path):
                os.unlink(path)

    def test_pipes(self):
        for name, _ in self.each():
            if name == "share":  # it reads again what it wrote
                continue
            self.assertTrue(e2e.run(*self.command(name, "/dev/stdout")).stdout)
            if name == "sched":  # all of it fits into the pipe
                continue
            child = subprocess.Popen(self.command(name, "/dev/stdout"), stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, env=e2e.CLEAN)
            child.stdout.close()
            self.assertIn(child.wait(timeout=120), (1, -signal.SIGPIPE))


if __name__ == "__main__":
    e2e.main()

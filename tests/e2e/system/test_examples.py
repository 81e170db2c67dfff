# SPDX-License-Identifier: GPL-2.0-or-later
"""Each example of --help runs as it stands there, but for the names of processes and the like, which are
those of this machine."""

import http.server
import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading

import e2e

SOURCES = "all,uprobe:libc.so.6:malloc,tp:block:block_rq_issue"
# Traces of the examples that are not the first one.
RECORDED = {"after": "second", "syscalls": "second", "db": "second", "cache": "third"}
# What stands behind the name of an example that is called so; all of them end by themselves.
PROGRAMS = {"less": "cat", "collector": "cat >/dev/null",
            "./server": "echo served", "./load-test.sh": "sleep 0.2"}
# Names, times and functions that are in the traces.
NAMES = [("'nginx*'", "'planned*'"), (r"\b(nginx|postgres|worker|fio)\b(?!\.)", "planned"),
         (r"\bgtk\b", "plan"), (r"\bmain/dispatch\b", "plan/frame"), (r"\bload\b(?![.-])", "frame"),
         (r"';malloc'", "';main'"), (r"-d (10s|5s|5)\b", "-d 1"), ("--from (2s|10s)", "--from 50ms"),
         (r"--to (2\.1s|2\.5s|3s|12s)", "--to 400ms"),
         (r"^ebreport serve( --timeout \w+)?", "ebreport serve --timeout 1s")]


def examples(*words):
    """Without what is said of them."""
    text = e2e.run(*words, "--help").stdout.decode()
    listed = text.split("\nExamples:\n")[1].split("\n\n")[0]
    return [re.split(" {2,}", line.strip())[0]
            for line in listed.splitlines()]


class Nothing(http.server.BaseHTTPRequestHandler):
    """A server that has no file."""

    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


class Examples(e2e.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="ebt-examples-")
        cls.addClassCleanup(holder.cleanup)
        cls.home = holder.name
        cls.traces = {name: os.path.join(cls.home, name) for name in ("first", "second", "third")}
        command = f'"{e2e.program("planned")}"; "{e2e.program("shares")}" 0.3; ' \
                  f'"{e2e.program("requests")}" 20; ls / | sort; dd if=/dev/zero of="{cls.home}/x" ' \
                  'bs=64k count=4 conv=fsync 2>/dev/null; sleep 0.1'
        e2e.run(e2e.EBREC, "-o", cls.traces["first"], "-F", 999, "-e", SOURCES, "--",
                "sh", "-c", command)
        for name in ("second", "third"):
            e2e.run(e2e.EBREC, "-o", cls.traces[name], "-e", "default,syscalls", "--", "ls", "/")
        cls.pid = next(row["pid"] for row in e2e.rows("procs", cls.traces["first"])
                       if row["comm"] == "planned")
        cls.server = http.server.HTTPServer(("127.0.0.1", 0), Nothing)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.server_close)
        cls.addClassCleanup(cls.server.shutdown)

    def folder_of(self, number):
        """With everything that an example may name."""
        folder = self.path(f"example-{number}")
        os.makedirs(folder + "/bin")
        os.mkdir(folder + "/traces")
        for name, program in (("ebrec", e2e.EBREC), ("ebreport", e2e.EBREPORT)):
            os.symlink(os.path.abspath(program), f"{folder}/bin/{name}")
        for name, does in PROGRAMS.items():
            path = os.path.join(folder, name if "/" in name else f"bin/{name}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{does}\n")
            os.chmod(path, stat.S_IRWXU)
        with open(f"{folder}/Makefile", "w", encoding="utf-8") as file:
            file.write("all:\n\ttrue\n")
        with open(f"{folder}/unnamed.tsv", "w", encoding="utf-8") as file:
            file.write("abcd\t/usr/bin/nowhere\t4096\n")
        return folder

    def here(self, example):
        for before, after in NAMES:
            example = re.sub(before, after, example)
        example = re.sub(r"\b(1234|4711)\b", str(self.pid), example)
        return example.replace("https://debuginfod.elfutils.org",
                               f"http://127.0.0.1:{self.server.server_port}")

    def run_example(self, number, example):
        folder = self.folder_of(number)
        command = self.here(example)
        made = re.findall(r"-o ([\w./-]+)", command)
        if not command.startswith("ebrec"):
            for name in set(re.findall(r"\b([\w]+)\.ebt\b", command + " trace.ebt")):
                if f"{name}.ebt" not in made:
                    shutil.copy(self.traces[RECORDED.get(name, "first")], f"{folder}/{name}.ebt")
        if "ebrec" in command and "-p " in command:
            sleeper = self.start("sleep", "1.5")
            command = re.sub(r"-p (PID|\d+|\"\$\([^)]*\)\")", f"-p {sleeper.pid}", command)
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder,
                              env={**e2e.CLEAN, "PATH": f"{folder}/bin:{os.environ['PATH']}",
                                   "HOME": self.home, "NO_COLOR": "1"},
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=e2e.SECONDS)
        said = f"{command}\n{done.stderr.decode(errors='replace')[-2000:]}"
        self.assertEqual(done.returncode, 0, said)
        for path in made:
            self.assertTrue(path == "-" or os.path.exists(os.path.join(folder, path)), said)
        shutil.rmtree(folder)

    def run_all(self, found):
        for number, example in enumerate(found):
            with self.subTest(example):
                self.run_example(number, example)

    def test_ebreport(self):
        text = e2e.run(e2e.EBREPORT, "--help").stdout.decode()
        commands = re.findall(r"(?m)^  ([a-z]+) ", text.split("Commands:")[1].split("\n\n")[0])
        self.assertGreater(len(commands), 20)
        found = dict.fromkeys(examples(e2e.EBREPORT))
        for command in commands:
            own = examples(e2e.EBREPORT, command)
            self.assertTrue(any(re.search(rf"\b{command}\b", line) for line in own)
                            or command == "overview", command)
            found.update(dict.fromkeys(own))
        self.assertGreater(len(found), 100)
        self.run_all(found)

    def test_ebrec(self):
        self.run_all(examples(e2e.EBREC))


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""`-e syscalls:structs`: arguments with structs, against `strace -yy` of the same execution; `:stacks`: where
calls are made that fail or make a descriptor."""

import collections
import os
import re
import signal
import sys

import e2e
import test_arguments
import test_descriptors

# What strace reads when the call begins, or knows otherwise.
AT_ENTRY = ("timespec_inout", "timespec64_inout")
# Kinds that may be other than a number, which is what is recorded.
OPTIONS = ("sockopt_in", "sockopt_out")


def recorded():
    """Kinds of structs that are compared."""
    with open(os.path.join(e2e.SOURCE, "format/calls/structs.def"), encoding="utf-8") as f:
        return set(re.findall(r"\nSTRUCT\((\w+),", f.read())) - set(AT_ENTRY) - set(OPTIONS)


class Structs(test_descriptors.Names):
    test_ls = test_shell = test_dd = test_git = test_gcc = test_tar = None  # as in the others
    source = "syscalls:structs"
    no_names = False  # of sockets

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.classes = test_arguments.kinds(recorded())

    @classmethod
    def of(cls, output, trace, said, least=25):
        """Compares those, wherever they were recorded."""
        case = cls("test_programs")
        case.classes = test_arguments.kinds(recorded())
        case.count, case.differing, case.no_names = collections.Counter(), [], False
        case.compare_all(output, trace, said, least)

    def parse(self, line):
        line = re.sub(r"\[\d+ => (\d+)\]", r"[\1]", line)
        if self.no_names:
            line = re.sub(r"<(TCP|UDP|UNIX-STREAM):\[[^]]*\]>", r"<\1>", line)
        return super().parse(line)

    def test_programs(self):
        """40 programs, each of one subject. What strace prints otherwise is left out below and in parse():
        contents of buffers, which are not recorded; times that the kernel has changed by the return; other
        options than numbers; lengths at the entry; environments. It asks for names of sockets at each call,
        and those that have no connection have none there; ours are of when the program called bind(),
        connect() or accept()."""
        program = e2e.program("calls_made")
        names = e2e.run(program).stdout.decode().split()
        self.assertEqual(len(names), 40)
        if e2e.run(program, "compat", status=None).returncode == -signal.SIGSEGV:
            print("compat: only on emulated kernels, as this one takes no 32-bit calls", file=sys.stderr)
            names.remove("compat")
        total = collections.Counter()
        for name in names:
            with self.subTest(name):
                self.count.clear()
                self.differing.clear()
                self.no_names = name in ("udp", "unix_sockets", "bad_sockets")
                self.check(program, name, least=25)
                total += self.count
        print(f"\n    {dict(total)}", file=sys.stderr)

    def test_curl(self):
        self.check("sh", "-c", "cd $0; echo hello >f; python3 -m http.server -b 127.0.0.1 0 >port 2>&1 & "
                   "until grep -o 'port [0-9]*' port; do sleep 0.1; done; read -r _ _ _ _ _ port _ <port; "
                   "curl -s -o out http://127.0.0.1:$port/f; kill $!; wait; cat out", self.folder, least=1000)

    def test_system_tools(self):
        for command in (["systemctl", "list-unit-files", "--no-pager", "--root=/"], ["journalctl", "-n", "3"],
                        ["systemd-tmpfiles", "--cat-config"], ["ip", "address"],
                        ["find", "/etc", "-name", "host*"]):
            with self.subTest(command[0]):
                self.check(*command)


class Stacks(e2e.TestCase):
    program = "leaves_open"

    def own(self, frames):
        """The program's own functions, from main() on."""
        names = ("main", "calls_it", "keeps", "closes", "keeps_pipe", "keeps_one_of_two", "fails")
        return tuple(frame for frame in frames if frame in names)

    def of_strace(self, path):
        """How often calls that failed or made a descriptor came from where."""
        found, wanted, frames = collections.Counter(), False, []
        with open(path, encoding="utf-8") as f:
            for line in [*f, "0 end()"]:
                frame = re.match(r" > \S+\((\w+)\+0x", line)
                if frame:
                    frames.append(frame[1])
                    continue
                if wanted and self.own(frames):
                    found[self.own(reversed(frames))] += 1
                frames = []
                wanted = re.search(r"^\d+ +((open|openat|socket|dup|dup2)\(.* = \d|pipe2?\(.* = 0|.* = -1 E)", line)
        return found

    def test_where(self):
        """As `strace -k` of the same execution."""
        output = self.path("strace.txt")
        trace = self.record("-e", "syscalls:stacks", "--", "strace", "-f", "-k", "-o", output,
                            e2e.program(self.program))
        ours = collections.Counter()
        for stack, count in e2e.folded(trace, "--event", "syscall_stack", "--weight", "rows").items():
            if self.own(stack.split(";")):
                ours[self.own(stack.split(";"))] += count
        theirs = self.of_strace(output)
        print(f"\n    {dict(theirs)}", file=sys.stderr)
        self.assertEqual(theirs["main", "fails"], 10)
        self.assertEqual(ours, theirs)

    def test_leaks(self):
        """What is closed again, and what failed, is not among them."""
        trace = self.record("-e", "syscalls:stacks", "--", e2e.program(self.program))
        report = e2e.report_json("io", trace, "--leaks", "--stacks")
        left = {self.own(reversed(row["stack"].split(";"))): row["count"] for row in report["stacks"]}
        self.assertEqual(left, {("main", "calls_it", "keeps"): 5, ("main", "keeps_pipe"): 2,
                                ("main", "calls_it", "keeps_one_of_two"): 1})
        e2e.ebreport("io", "--leaks", "--flame", self.path("leaks.svg"), trace)
        with open(self.path("leaks.svg"), encoding="utf-8") as f:
            self.assertIn("keeps_one_of_two", f.read())

    def test_none(self):
        """They are asked for."""
        trace = self.record("-e", "syscalls", "--", e2e.program(self.program))
        report = e2e.report_json("io", trace, "--leaks", "--stacks")
        self.assertIn("syscalls:stacks", " ".join(report["warnings"]))


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments and results of system calls: the text that strace prints of the same execution.

strace runs inside of the recording, so both see the same calls, with the same pointers and process
ids. Lines are compared by process, in their order, argument by argument. Arguments of kinds whose
contents are not recorded (texts, structs, buffers) are passed over and counted.
"""

import collections
import os
import platform
import re
import sys

import e2e

# Kinds that strace prints the contents of. Of the others, these depend on an operation.
CONTENTS = re.compile(r"STRING_IN|STRING_OUT|STRUCT_.*|LIST|BUFFER.*")
POINTER = re.compile(r"(\w+=)?0x[0-9a-f]+$")
SHOWN = re.compile(r'(\w+=)?[\[{"~]')
# Of a call that another thread interrupted in strace's output.
UNFINISHED = " <unfinished ...>"
CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "any_calls.txt")
PYTHON = """
import fcntl, mmap, os, select, signal, socket, tempfile, threading, time
threads = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR1)
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
peer = server.accept()[0]
client.sendall(b"abc")
peer.recv(10, socket.MSG_PEEK)
peer.shutdown(socket.SHUT_RDWR)
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
epoll = select.epoll()
epoll.register(a, select.EPOLLIN)
epoll.poll(0.001)
epoll.modify(a, select.EPOLLOUT)
epoll.unregister(a)
select.select([a], [], [], 0)
select.poll().poll(1)
with tempfile.TemporaryFile() as f:
    fcntl.fcntl(f, fcntl.F_GETFL)
    fcntl.fcntl(f, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    fcntl.fcntl(f, fcntl.F_DUPFD_CLOEXEC, 50)
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    f.truncate(8192)
    f.seek(-5, os.SEEK_END)
    os.posix_fallocate(f.fileno(), 0, 10)
    m = mmap.mmap(f.fileno(), 8192)
    m.madvise(mmap.MADV_DONTNEED)
    m.flush()
os.memfd_create("a", os.MFD_CLOEXEC)
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.getpriority(os.PRIO_PROCESS, 0)
r, w = os.pipe2(os.O_NONBLOCK)
os.eventfd(0)
if not os.fork():
    os.setsid()
    os._exit(3)
os.wait()
time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)
"""
# What strace 6.1 prints otherwise, and why.
KNOWN = {
    "execve": "a program that begins has new registers: its arguments are gone",
    "rt_sigreturn": "strace reads the mask of signals from the stack",
}


def kinds(recorded=()):
    """{call: [classes of its arguments]}; those of kinds that are recorded: RECORDED."""
    def rows(path, macro):
        with open(os.path.join(e2e.SOURCE, path), encoding="utf-8") as f:
            return [[w.strip() for w in m.split(",")]
                    for m in re.findall(macro + r"\(([^)]*)\)", f.read().split("*/", 2)[2])]
    classes = {row[0]: row[1] for row in rows("format/calls/kinds.def", r"\nKIND")}
    classes.update(dict.fromkeys(recorded, "RECORDED"))
    return {row[0]: [classes[k] for k in row[2:]]
            for row in rows("format/calls/arguments.def", r"\nCALL")}


def split(text):
    """Arguments of a call: commas outside of brackets and strings separate them."""
    parts, depth, start, quoted, i = [], 0, 0, False, 0
    while i < len(text):
        c = text[i]
        if quoted:
            if c == "\\":
                i += 1
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
        i += 1
    last = text[start:].strip()
    return parts + [last] if last or parts else []


def parse(line):
    """(name, arguments, result) of `name(…) = …`."""
    match = re.match(r"(\w+)(?:\[32\])?\((.*)\)\s+= (.*)$", line)
    return match and (match[1], split(match[2]), match[3])


def of_strace(path):
    """{pid: [line]}"""
    lines, begun = collections.defaultdict(list), {}
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            pid, text = line.rstrip("\n").split(None, 1)
            if text.startswith(("---", "+++", "strace:")):
                continue
            if text.endswith(UNFINISHED):
                begun[pid] = text[:-len(UNFINISHED)]
                continue
            resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
            lines[int(pid)].append(begun.pop(pid, "") + resumed[1] if resumed else text)
    return lines


def of_report(text):
    lines = collections.defaultdict(list)
    for line in text.splitlines():
        match = re.match(r"\[pid +(\d+)\] +\S+ (.*) <[\d.]+>$", line)
        if match:
            lines[int(match[1])].append(match[2])
    return lines


class Arguments(e2e.TestCase):
    source = "syscalls:raw"
    strace = ["strace", "-f"]
    contents = CONTENTS  # kinds that are passed over
    known = KNOWN

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.classes = kinds()

    def setUp(self):
        super().setUp()
        self.count = collections.Counter()
        self.differing = []

    def parse(self, line):
        return parse(line)

    def differs(self, theirs, ours):
        self.count["different"] += 1
        self.differing.append(f"strace {theirs}\n  ours {ours}")

    def compare_arguments(self, name, theirs, ours):
        """Whether all that is compared is equal."""
        if len(theirs) != len(ours):
            return False
        classes = self.classes.get(name, [])
        if name == "clone":
            classes = ["OTHER"] * 5
        for i, (a, b) in enumerate(zip(theirs, ours)):
            kind = classes[i] if i < len(classes) else "OTHER"
            if self.contents.fullmatch(kind) and (a == "NULL") == (b == "NULL") or \
                    kind == "OTHER" and POINTER.match(b) and SHOWN.match(a):
                self.count["passed over"] += a != b
            elif a != b:
                return False
            self.count["equal"] += a == b
        return True

    def compare(self, theirs, ours):
        a, b = self.parse(theirs), self.parse(ours)
        self.count["calls"] += 1
        if a == b:
            self.count["equal"] += len(a[1])
            return
        # Behind the result of poll() and the like, strace prints what is ready.
        result = a[2] if a[2] == b[2] else re.sub(r" \((\[|in|out|except|left|mask).*", "", a[2])
        if a[0] in self.known and a[2] == b[2] and not b[1]:
            self.count["known"] += 1
        elif result != b[2] or not self.compare_arguments(a[0], a[1], b[1]):
            self.differs(theirs, ours)

    def check(self, *command, least=1):
        output = self.path("strace.txt")
        trace = self.record("-e", self.source, "--", *self.strace, "-o", output, *command)
        self.assert_no_loss(trace)
        self.compare_all(output, trace, " ".join(command)[:40], least)

    def compare_all(self, output, trace, said, least):
        """What strace wrote, and what is in the trace of the same execution."""
        theirs = of_strace(output)
        ours = of_report(e2e.ebreport("syscalls", "--trace", trace))
        for pid, lines in theirs.items():
            have = iter(ours.get(pid, []))
            for line in lines:
                # What did not return: exit(), and what a killed task was in.
                if not parse(line) or re.search(r"\) += \?$", line):
                    continue
                # What strace has its tracee do, before it is its tracee, is in the trace as well.
                name = parse(line)[0]
                mine = next((o for o in have if parse(o)[0] == name), None)
                self.assertIsNotNone(mine, f"{pid}: {line} is not in the trace")
                self.compare(line, mine)
        print(said, dict(self.count), file=sys.stderr)
        self.assertGreaterEqual(self.count["calls"], least)
        self.assertFalse(self.differing, "\n".join(self.differing[:40]))

    def test_ls(self):
        self.check("ls", "-l", "/", least=50)

    def test_shell(self):
        self.check("sh", "-c", "for i in 1 2 3; do ls / | cat >/dev/null; done; kill -0 $$; umask 77; "
                   "umask; sleep 0.01; ls /no-such-file 2>/dev/null; exit 0", least=300)

    def test_dd(self):
        self.check("dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=20", "status=none", least=60)

    def test_git(self):
        folder = self.path("repository")
        self.check("sh", "-c", f"git init -q {folder} && cd {folder} && echo a >a && git add a && "
                   "git -c user.name=a -c user.email=a@b commit -qm a && git log >/dev/null && "
                   "git status >/dev/null", least=1000)

    def test_gcc(self):
        source = self.path("a.c")
        with open(source, "w", encoding="utf-8") as f:
            f.write("#include <stdio.h>\nint main(void) { return puts(\"a\") < 0; }\n")
        self.check("gcc", "-o", self.path("a"), source, least=500)

    def test_tar(self):
        self.check("sh", "-c", "cp -r /usr/include/linux/netfilter $0/from && tar czf $0/x.tgz -C $0 from && "
                   "mkdir $0/to && tar xzf $0/x.tgz -C $0/to && rm -r $0/to", self.folder, least=1500)

    def test_python(self):
        script = self.path("calls.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write(PYTHON)
        self.check("python3", script, least=500)

    def test_flags(self):
        """All bits of flags, numbers that nothing has, and each operation: calls that fail."""
        if platform.machine() != "x86_64":
            self.skipTest("numbers of calls are those of x86_64")
        script = self.path("calls.txt")
        with open(CALLS, encoding="utf-8") as f, open(script, "w", encoding="utf-8") as to:
            to.writelines(line for line in f if not line.startswith("#"))
        self.check(e2e.program("any_calls"), script, least=500)


if __name__ == "__main__":
    e2e.main()

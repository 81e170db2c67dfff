# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport io`: against the kernel's counters of each process, the program's own, and strace."""

import collections
import json
import os
import re
import subprocess
import sys

import e2e

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/e2e/memory"))
import test_cache  # noqa: E402

# A process without exec, whose counters begin at zero: all that it reads and writes is below. It
# tells its own counts, then what the kernel has counted up to then.
WORK = r"""
import json, os, sys
folder = sys.argv[1]
if os.fork():
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
counts = {}
def count(name, act, n):
    key = name + " " + act
    counts[key] = counts.get(key, 0) + n
data = bytes(range(256)) * 400
a = os.open(folder + "/a", os.O_RDWR | os.O_CREAT)
for n in 1, 4096, 100000, 77:
    count("a", "write", os.write(a, data[:n]))
count("a", "write", os.pwrite(a, data[:5000], 1 << 20))
count("a", "write", os.writev(a, [data[:10], data[:20]]))
count("a", "write", os.pwritev(a, [data[:11], data[:22]], 7))
os.lseek(a, 0, os.SEEK_SET)
for n in 10, 5000, 60000:
    count("a", "read", len(os.read(a, n)))
count("a", "read", len(os.pread(a, 1234, 999)))
count("a", "read", os.preadv(a, [bytearray(100), bytearray(200)], 50))
count("a", "read", os.readv(a, [bytearray(33)]))
b = os.open(folder + "/b", os.O_RDWR | os.O_CREAT)
n = os.sendfile(b, a, 0, 3000)
count("a", "read", n)
count("b", "write", n)
n = os.copy_file_range(a, b, 2000, 0, 3000)
count("a", "read", n)
count("b", "write", n)
r, w = os.pipe()
count("pipe", "write", os.write(w, data[:500]))
count("pipe", "read", len(os.read(r, 1000)))
os.close(b)
io = os.open("/proc/self/io", os.O_RDONLY)
text = os.read(io, 4096).decode()
said = os.open(folder + "/said", os.O_WRONLY | os.O_CREAT)
os.write(said, json.dumps([os.getpid(), counts, dict(line.split(": ") for line in text.splitlines())]).encode())
os._exit(0)
"""
# Reads a file in order, then from its end to its beginning.
ORDER = r"""
import os, sys
open(sys.argv[1], "wb").write(bytes(1 << 20))
for name, offsets in ("up", range(256)), ("down", range(255, -1, -1)):
    os.link(sys.argv[1], sys.argv[1] + name)
    fd = os.open(sys.argv[1] + name, os.O_RDONLY)
    for i in offsets:
        os.lseek(fd, i * 4096, os.SEEK_SET)
        os.read(fd, 4096)
    os.close(fd)
"""
# Two processes that say what they have open, at a time when neither changes it; then one leaves it so.
HOLD = r"""
import json, os, select, socket, sys, time
folder = sys.argv[1]
def say(name):
    names = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            names[fd] = os.readlink("/proc/self/fd/" + fd)
        except FileNotFoundError:
            pass
    names["cwd"] = os.getcwd()
    with open(folder + name, "w") as f:
        json.dump([os.getpid(), names, time.monotonic_ns()], f)
def make(name):
    return os.open(folder + name, os.O_RDWR | os.O_CREAT)
for fd in 0, 1, 2:
    os.fstat(fd)
many = [make(f"/file{i}") for i in range(300)]
os.dup2(many[0], 500)
os.set_inheritable(many[5], True)
kept = os.pipe(), os.pipe()
epoll = select.epoll()
pair = socket.socketpair()
os.chdir(folder)
os.write(many[1], b"a" * 10)
for fd in many[10:20]:
    os.close(fd)
if not os.fork():
    os.closerange(many[100], many[200])
    os.close(many[2])
    os.dup2(many[3], many[4])
    os.write(many[1], b"b" * 30)
    os.write(make("/child"), b"c")
    say("/child.json")
    os.write(kept[0][1], b"a")
    os.read(kept[1][0], 1)
    os._exit(0)
os.read(kept[0][0], 1)
say("/parent.json")
time.sleep(0.05)
os.write(kept[1][1], b"a")
os.wait()
for fd in many[50:]:
    os.close(fd) if fd in range(1000) else None
os._exit(0)
"""
# Has much open, and then only waits.
IDLE = r"""
import os, select, socket, sys, threading, time
folder = sys.argv[1]
files = [open(f"{folder}/{i}", "w") for i in range(300)]
os.dup2(files[0].fileno(), 700)
os.unlink(folder + "/7")
more = os.pipe(), select.epoll(), socket.create_server(("127.0.0.1", 0)), socket.socketpair()
client = socket.create_connection(more[2].getsockname())
threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
print("ready", flush=True)
time.sleep(100)
"""
# Waits for its child in two pipes, and says what CPU time the kernel charged it.
WAIT = r"""
import os, resource, time
one, two = os.pipe(), os.pipe()
if not os.fork():
    for _ in range(10):
        time.sleep(0.03)
        os.write(one[1], b"a")
        time.sleep(0.01)
        os.write(two[1], b"a")
    os._exit(0)
for _ in range(10):
    os.read(one[0], 1)
    os.read(two[0], 1)
usage = resource.getrusage(resource.RUSAGE_SELF)
print(os.getpid(), os.readlink("/proc/self/fd/%d" % one[0]), os.readlink("/proc/self/fd/%d" % two[0]),
      round((usage.ru_utime + usage.ru_stime) * 1e9))
"""
# Processes that talk. Whoever reads knows from the bytes who wrote them, and says it at its end.
TALK = r"""
import collections, json, os, socket, sys
folder = sys.argv[1]
names = {os.getpid(): b"0"}
def child(work, *arguments):
    letter = bytes([48 + len(names)])
    pid = os.fork()
    if not pid:
        names[os.getpid()] = letter
        work(*arguments)
        os._exit(0)
    names[pid] = letter
    return pid
def mine(n):
    return names[os.getpid()] * n
def read_all(via, read):
    got = collections.Counter()
    for data in iter(read, b""):
        got.update(chr(byte) for byte in data)
    with open(folder + "/got", "a") as f:
        f.write(json.dumps([os.getpid(), via, got]) + "\n")
def wait(*pids):
    for pid in pids:
        assert not os.waitpid(pid, 0)[1]

def write_pipe(fd, sizes):
    for n in sizes:
        os.write(fd, mine(n))
for n_writers, n_readers in (5, 1), (1, 4), (3, 3):
    r, w = os.pipe()
    turns = n_writers > 1 and n_readers > 1
    readers = [child(lambda: (os.close(w), read_all("pipe", lambda: os.read(r, 1000))))
               for _ in range(n_readers if not turns else 0)]
    writers = []
    for i in range(n_writers):
        writers.append(child(write_pipe, w, [1, 500, 4096, 70 * (i + 1)] * (1 if turns else 20)))
        if turns:
            wait(writers.pop())
    os.close(w)
    if turns:  # each reads a part of what is there; the last one the rest
        for i in range(n_readers):
            data = [3000]
            wait(child(read_all, "pipe", lambda: os.read(r, data.pop() if data else 0)
                       if i < n_readers - 1 else os.read(r, 1 << 20)))
    os.close(r)
    wait(*writers, *readers)

def serve(server, via):
    connection = server.accept()[0]
    read_all(via, lambda: connection.recv(999))
    connection.sendall(mine(7))
for family, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0)),
                        (socket.AF_UNIX, folder + "/a.sock")):
    server = socket.socket(family)
    server.bind(address)
    server.listen()
    via = folder + "/a.sock" if family == socket.AF_UNIX else "TCP %s:%d" % (
        "[::1]" if family == socket.AF_INET6 else "127.0.0.1", server.getsockname()[1])
    client = socket.socket(family)
    client.connect(server.getsockname())
    client.sendall(mine(10))
    other = child(serve, server, via)
    for n in 1, 50000, 3:
        client.sendall(mine(n))
    client.shutdown(socket.SHUT_WR)
    read_all(via, lambda: client.recv(100))
    wait(other)

bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
bound.bind(("", 0))
port = bound.getsockname()[1]
def answer():
    for _ in range(3):
        data, sender = bound.recvfrom(100)
        read_all("UDP 127.0.0.1:%d" % port, iter((data, b"")).__next__)
        bound.sendto(mine(9), sender)
other = child(answer)
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.connect(("127.0.0.1", port))
for n in 10, 20, 30:
    client.send(mine(n))
    read_all("UDP 0.0.0.0:%d" % port, iter((client.recv(100), b"")).__next__)
wait(other)

one, two = socket.socketpair()
def reply():
    read_all("socketpair", iter((two.recv(100), b"")).__next__)
    two.send(mine(11))
other = child(reply)
one.send(mine(5))
read_all("socketpair", iter((one.recv(100), b"")).__next__)
wait(other)
with open(folder + "/names", "w") as f:
    json.dump({name.decode(): pid for pid, name in names.items()}, f)
"""
COMMANDS = r"""
git init -q repository && cd repository && echo a > a && git add a && git -c user.name=a -c user.email=a@b commit -qm a
git status > /dev/null
cd .. && echo 'int main(void) { return 0; }' > a.c && gcc -o a a.c
python3 -S -c 'import json'
cat nothing nothing/else a/b 2> /dev/null
ls /no/such/folder 2> /dev/null
true
"""
STRACE = re.compile(r"\d+ +\w+\((.*)\) += -1 (?:ENOENT|ENOTDIR) ")
RELATIVE = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>(?:\(deleted\))?, )?"((?:[^"\\]|\\.)*)"')


# Reads a file that is not in memory, and looks at each page of another one; says the faults of that.
MAPPED = """
import mmap, resource, sys
with open(sys.argv[1], "rb", 0) as f:
    while f.read(65536):
        pass
with open(sys.argv[2], "rb") as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    before, sum = resource.getrusage(resource.RUSAGE_SELF), 0
    for i in range(0, len(m), 4096):
        sum += m[i]
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt)
"""


class Io(e2e.TestCase):
    def rows(self, trace, *arguments):
        return e2e.report_json("io", trace, *arguments)["rows"]

    def test_counts(self):
        """Bytes are those of the kernel's counters of the process, and of the program's own, by file."""
        trace = self.record("-e", "syscalls:args", "--", sys.executable, "-c", WORK, self.path("."))
        pid, counts, kernel = self.said("said")
        mine = collections.Counter()
        for row in self.rows(trace, "--by", "process,file"):
            name = os.path.basename(row["path"])
            if row["pid"] != pid or name in ("io", "said"):
                continue
            name = "pipe" if name.startswith("pipe:") else name
            mine[name + " read"] += row["read_bytes"]
            mine[name + " write"] += row["write_bytes"]
        self.assertEqual(+mine, counts)
        for act, counter in ("read", "rchar"), ("write", "wchar"):
            self.assertEqual(sum(n for name, n in mine.items() if name.endswith(act)), int(kernel[counter]))

    def test_other_sources(self):
        """Faults, pages and disk requests of a file stand with its calls."""
        read, mapped, size = self.path("read"), self.path("mapped"), 4 << 20
        for path in read, mapped:
            with open(path, "wb") as f:
                f.write(os.urandom(size))
            test_cache.forget(path)
        trace = self.record("-e", "syscalls,fault,pagecache,block", "--", sys.executable, "-c", MAPPED, read, mapped)
        faults = int(self.recorded.stdout)
        rows = {row["path"]: row for row in self.rows(trace)}
        for path, row in rows.items():
            # Some pages go and come again where memory is short.
            if path in (read, mapped):
                self.assertGreaterEqual(row["pages_in"], size // 4096)
                self.assertEqual(row["disk_bytes"], row["pages_in"] * 4096, path)
        self.assertEqual((rows[read]["read_bytes"], rows[read]["faults"]), (size, 0))
        self.assertEqual(rows[mapped]["read_bytes"], 0)
        # The loop makes an object or two.
        self.assertAlmostEqual(rows[mapped]["faults"], faults, delta=4)
        plain = self.record("-e", "syscalls", "--", "true", name="plain.ebt")
        self.assertNotIn("faults", self.rows(plain)[0])

    def test_order(self):
        """Of a file that is read from its end to its beginning no read goes on where another ended."""
        trace = self.record("-e", "syscalls:args", "--", sys.executable, "-c", ORDER, self.path("file"))
        rows = {row["path"]: row for row in self.rows(trace)}
        up, down = rows[self.path("fileup")], rows[self.path("filedown")]
        self.assertEqual((up["in_order_percent"], down["in_order_percent"]), (100, 0))
        for row in up, down:
            self.assertEqual((row["opens"], row["reads"], row["read_bytes"], row["avg_bytes"], row["max_bytes"]),
                             (1, 256, 1 << 20, 4096, 4096))

    def said(self, name):
        with open(self.path(name), encoding="ascii") as f:
            return json.load(f)

    def test_open(self):
        """What was open is what /proc/PID/fd said then; what was left at the end, and who wrote the same file."""
        trace = self.record("-e", "syscalls:args", "--", sys.executable, "-c", HOLD, self.folder)
        child, names_of_child, _ = self.said("child.json")
        parent, names_of_parent, now = self.said("parent.json")
        start = int(e2e.report_json("info", trace)["start_ns"])
        rows = self.rows(trace, "--open", f"{now - start}ns")
        for pid, names, name in (child, names_of_child, "child"), (parent, names_of_parent, "parent"):
            # /proc has the inode of a socket alone; its name here begins with that.
            mine = {row["fd"]: re.sub(r"^UNIX-STREAM:\[(\d+)->\d+\]$", r"socket:[\1]", row["path"])
                    for row in rows if row["pid"] == pid}
            # Which /proc/PID/fd was read through, and which the list was written to.
            self.assertEqual({fd: path for fd, path in mine.items() if not path.endswith(f"/{name}.json")},
                             {fd: path for fd, path in names.items() if not path.endswith("/fd")}, name)
        counts = {(row["pid"], row["directory"]): row["count"]
                  for row in self.rows(trace, "--leaks", "--by", "process,directory")}
        self.assertEqual(counts[parent, self.folder], 41)
        self.assertEqual(counts[child, self.folder], 2)
        shared = {row["pid"]: row["write_bytes"] for row in self.rows(trace, "--shared")}
        self.assertEqual(shared, {parent: 10, child: 30})

    def test_held(self):
        """What a process has that makes no calls is what /proc/PID/fd says, of all and of it alone."""
        child = self.start("/usr/bin/python3", "-c", IDLE, self.folder, stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        theirs = {}
        for fd in os.listdir(f"/proc/{child.pid}/fd"):
            name = os.readlink(f"/proc/{child.pid}/fd/{fd}")
            theirs[fd] = re.sub(r" \(deleted\)$", "", name)
        self.assertGreater(len(theirs), 300)
        for target in ("-p", str(child.pid)), ("-a", "-b", "32M"):
            trace = self.record("-e", "syscalls:args", *target, "-d", "300ms")
            self.assertFalse({"fd", "socket", "inode_path"} & e2e.lost(trace).keys())
            rows = self.rows(trace, "--open", "100%", "-p", str(child.pid))
            # /proc has the inode of a socket alone.
            mine = {row["fd"]: re.sub(r"^(?:TCP|UNIX-STREAM):\[.*", "socket", row["path"]) for row in rows}
            self.assertEqual(mine, {fd: re.sub(r"^socket:.*", "socket", name) for fd, name in theirs.items()})
            self.assertEqual([row["path"] for row in rows if row["path"].startswith("TCP")][1:],
                             [f"TCP:[{name}]" for name in self.connections(child.pid)])
            self.assertFalse([row for row in self.rows(trace, "--leaks", "--by", "process")
                              if row["pid"] == child.pid])

    def connections(self, pid):
        """Of the process, as the kernel lists them."""
        said = subprocess.run(["ss", "-tnpH"], capture_output=True, check=True, text=True).stdout
        return ["->".join(line.split()[3:5]) for line in said.splitlines() if f"pid={pid}," in line]

    def test_off_cpu(self):
        """Time in a call is time off CPU but for what the kernel charged the process."""
        trace = self.record("-e", "default,syscalls:args", "--", "/usr/bin/python3", "-c", WAIT)
        pid, *pipes, cpu_ns = self.recorded.stdout.decode().split()
        rows = {row["path"]: row for row in self.rows(trace, "--by", "process,file") if row["pid"] == int(pid)}
        for pipe in pipes:
            total, off = rows[pipe]["total_ns"], rows[pipe]["off_cpu_ns"]
            self.assertEqual(rows[pipe]["reads"], 10)
            self.assertLessEqual(off, total)
            self.assertGreaterEqual(off, total - int(cpu_ns))
            self.assertGreater(off, 0)
        trace = self.record("-e", "syscalls:args", "--", "/bin/true")
        self.assertFalse([row for row in self.rows(trace) if "off_cpu_ns" in row])

    def test_peers(self):
        """Who reads knows from each byte who wrote it: that is who the report says, and as many of them."""
        trace = self.record("-e", "syscalls:args", "--", "/usr/bin/python3", "-c", TALK, self.folder)
        with open(self.path("names"), encoding="ascii") as f:
            pids = json.load(f)
        theirs = collections.Counter()
        with open(self.path("got"), encoding="ascii") as f:
            for reader, via, letters in map(json.loads, f):
                for letter, count in letters.items():
                    theirs[pids[letter], reader, via] += count
        mine = collections.Counter()
        for row in self.rows(trace, "--peers"):
            pair = [int(re.search(r"\((\d+)\)$", row[end])[1]) for end in ("from", "to")]
            mine[pair[0], pair[1], row["via"]] += row["bytes"]
        print(f"\n    {len(theirs)} edges, {theirs.total()} bytes", file=sys.stderr)
        self.assertGreater(len(theirs), 20)
        self.assertEqual(mine, theirs)
        folded = e2e.ebreport("io", "--peers", "--folded", "--by", "program", trace)
        self.assertIn(f"python3;pipe;python3 {sum(n for key, n in theirs.items() if key[2] == 'pipe')}\n", folded)
        child = sorted(pids.values())[1]
        self.assertEqual({tuple(row[end] for end in ("from", "to")) for row in self.rows(trace, "--peers")
                          if f"({child})" in row["from"] + row["to"]},
                         {tuple(row[end] for end in ("from", "to"))
                          for row in self.rows(trace, "--peers", "-p", child)})

    def strace_names(self):
        """Names in vain of each process, as strace has them: behind the folder that they are relative to."""
        found = collections.Counter()
        folders = {}
        with open(self.path("strace"), encoding="utf-8", errors="surrogateescape") as f:
            for line in f:
                pid = int(line.split()[0])
                for said in re.findall(r"AT_FDCWD<(.*?)>", line):
                    folders[pid] = said
                match = STRACE.match(line)
                if not match:
                    continue
                folder, name = RELATIVE.search(match[1]).groups()
                name = name.encode().decode("unicode_escape")
                if not name.startswith("/"):
                    name = f"{folder or folders[pid]}/{name}"
                found[pid, name] += 1
        return found

    def test_missing(self):
        """Names that were not there are those of strace's lines with ENOENT, each as often."""
        trace = self.record("-e", "syscalls:args", "--", "strace", "-f", "-y", "-s", "5000", "-e", "trace=%file",
                            "-o", self.path("strace"), "sh", "-c", COMMANDS, cwd=self.folder)
        theirs = self.strace_names()
        mine = collections.Counter()
        for row in self.rows(trace, "--missing", "--by", "process,file"):
            if row["comm"] != "strace":
                mine[row["pid"], row["path"]] += row["count"]
        print(f"\n    {theirs.total()} names", file=sys.stderr)
        self.assertGreater(theirs.total(), 200)
        self.assertEqual((mine - theirs, theirs - mine), (collections.Counter(), collections.Counter()))


if __name__ == "__main__":
    e2e.main()

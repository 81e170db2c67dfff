# SPDX-License-Identifier: GPL-2.0-or-later
"""strace's own test programs, which print the lines that strace has to print of them: so has --trace.
They come from Debian's source package and are built here; nothing of them is in the tree.

To add a program: one that strace's tests/gen_tests.in runs without options that change lines, such as
-xx or -y, and whose calls have no structs.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import time

import e2e

PROGRAMS = """access acct chdir chmod chown chroot creat faccessat faccessat2 fchmodat fchownat fspick lchown link
    linkat mkdir mkdirat mknod mknodat move_mount open open_tree openat rename renameat renameat2 rmdir symlink
    symlinkat truncate unlink unlinkat close_range fadvise64 fallocate fchdir fchmod fchown fdatasync flock fsync
    ftruncate getcwd inotify inotify_init1 kill lseek madvise mlock mlock2 mmap pkey_free umask""".split()
# Lines with flags that Linux has got since strace 6.1, by the names that they have now.
NEWER = re.compile(r"OPEN_TREE_NAMESPACE|MOVE_MOUNT_BENEATH")
FD = re.compile(r"(\b\d+|\bAT_FDCWD)<(?:[^<>\"]|\"(?:[^\"\\]|\\.)*\")*>(?:\(deleted\))?")
LINE = re.compile(r"\[pid +(\d+)\] +\S+ (.*) <[\d.]+>")
EXPECTED = re.compile(r"(?:\d+ +)?(\w+\(.*)")
PAUSES = 10, 30
BUILD_SECONDS = 1800  # far more than a loaded machine needs


def fetch(folder):
    """The sources, of the strace that this machine's Debian has."""
    found = re.search(r"\d (http\S+) (\w+)/main \w+ Packages", e2e.run("apt-cache", "policy", "strace").stdout.decode())
    lists = os.path.join(folder, "lists")
    os.makedirs(lists + "/partial", exist_ok=True)
    with open(folder + "/source.list", "w", encoding="ascii") as f:
        f.write(f"deb-src {found[1]} {found[2]} main\n")
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={folder}/source.list", "-o", "Dir::Etc::sourceparts=-",
           "-o", f"Dir::State::lists={lists}"]
    for pause in *PAUSES, None:
        done = subprocess.run(["sh", "-c", '"$@" update && "$@" source --download-only strace', "sh", *apt],
                              cwd=folder, capture_output=True, check=False, text=True)
        if done.returncode == 0:
            break
        if pause is None:
            raise AssertionError(f"no source of strace can be had: {done.stdout}{done.stderr}")
        time.sleep(pause)
    e2e.run("tar", "-xf", glob.glob(folder + "/strace_*.orig.tar.xz")[0], cwd=folder)
    return glob.glob(folder + "/strace-*/")[0]


def build(folder):
    def make(where, *targets):
        e2e.run("make", "-k", "-j2", "-C", where, *targets, cwd=folder, timeout=BUILD_SECONDS)

    e2e.run("./configure", "--enable-mpers=no", "--disable-gcc-Werror", cwd=folder, timeout=BUILD_SECONDS)
    make("src", "scno.h")
    make("tests", "scno.h", "libtests.a")
    make("tests", *PROGRAMS)


def plain(line):
    """As strace prints it without -y, and with one space before the result."""
    return re.sub(r"\)\s+= ", ") = ", FD.sub(r"\1", line))


class Programs(e2e.TestCase):
    @classmethod
    def setUpClass(cls):
        """Before a test's time begins: where processes are dear, configure alone takes minutes."""
        super().setUpClass()
        holder = tempfile.TemporaryDirectory(prefix="ebt-strace-")
        cls.addClassCleanup(holder.cleanup)
        cls.source = fetch(holder.name)
        build(cls.source)

    def test_lines(self):
        """Each line that the programs expect is there, in their order."""
        script = 'cd tests && for i in "$@"; do ./$i >$i.expected & echo $! >$i.pid; wait $!; done'
        trace = self.record("-b", "128M", "-e", "syscalls:args", "--", "sh", "-c", script, "sh", *PROGRAMS,
                            cwd=self.source)
        self.assert_no_loss(trace)
        by_pid = {}
        for line in e2e.run(e2e.EBREPORT, "syscalls", "--trace", trace).stdout.decode("latin-1").splitlines():
            match = LINE.fullmatch(line)
            by_pid.setdefault(match[1], []).append(plain(match[2]))
        count, differing = 0, []
        for program in PROGRAMS:
            with open(f"{self.source}/tests/{program}.pid", encoding="ascii") as f:
                lines = iter(by_pid[f.read().strip()])
            with open(f"{self.source}/tests/{program}.expected", encoding="latin-1") as f:
                expected = [plain(match[1]) for match in map(EXPECTED.fullmatch, f.read().splitlines()) if match]
            self.assertTrue(expected, program)
            for line in expected:
                seen = []
                if not any(seen.append(mine) or mine == line for mine in lines):
                    call = line[:line.index("(") + 1]
                    lines = iter(seen)  # from where it was looked for
                    near = next((mine for mine in seen if mine.startswith(call)), "")
                    if not NEWER.search(near):
                        differing.append(f"strace {line}\n  ours {near}")
                    else:
                        next(mine for mine in lines if mine == near)
                count += 1
        print(f"\n    {count} lines of {len(PROGRAMS)} programs", file=sys.stderr)
        self.assertGreater(count, 6000)
        self.assertFalse(differing, "\n".join(differing[:40]))


if __name__ == "__main__":
    e2e.main()

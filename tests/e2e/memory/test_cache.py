# SPDX-License-Identifier: GPL-2.0-or-later
"""The page cache: hits, misses, readahead and dirty pages, beside fincore, wait4() and /proc/vmstat.

A kernel takes pages of files that nobody has mapped whenever it likes, and some machines make it do
so though memory is free: what is in memory after a read is not known. What has been read from a
disk, the kernel counts for each process.
"""

import contextlib
import ctypes
import mmap
import os
import subprocess
import sys
import tempfile
import time

import e2e

PAGE = os.sysconf("SC_PAGESIZE")
PAGES = 1000
BLOCK = 512  # of ru_inblock

# Says its process and the blocks that it read.
READER = """
import os, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(pid, usage.ru_inblock)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def resident(path):
    """Pages of the file in memory, by fincore."""
    return int(e2e.run("fincore", "-n", "-o", "PAGES", path).stdout)


def vmstat(name):
    with open("/proc/sys/vm/stat_refresh", "w", encoding="ascii") as f:
        f.write("1")  # what each CPU has not told yet
    with open("/proc/vmstat", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.split()[0] == name)


def forget(path):
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        end = time.monotonic() + e2e.SECONDS
        while time.monotonic() < end:  # pages that somebody is looking at stay
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if not resident(path):
                return
            time.sleep(0.01)
    raise AssertionError(f"{path} stays in memory")


@contextlib.contextmanager
def kept(path):
    """All of the file is in memory, and stays there, whatever others do."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0, mmap.MAP_SHARED) as memory:
        view = ctypes.c_char.from_buffer(memory)
        where = ctypes.c_void_p(ctypes.addressof(view)), ctypes.c_size_t(len(memory))
        del view  # the mapping could not be closed
        if libc.mlock(*where):
            raise OSError(ctypes.get_errno(), "mlock")
        yield


class Cache(e2e.TestCase):
    def setUp(self):
        super().setUp()
        # A file system in memory has nothing to read; /var/tmp is never one.
        folder = tempfile.TemporaryDirectory(prefix="ebt-e2e-", dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "a file")
        self.other = os.path.join(folder.name, "another")
        with open(self.file, "wb") as f:
            f.write(os.urandom(PAGES * PAGE - 1))
        forget(self.file)

    def record_cache(self, *command):
        trace = self.record("-q", "-e", "pagecache", "--", *command)
        self.assert_no_loss(trace)
        return trace

    def record_reader(self, *command):
        """The trace of a command that only reads, and its process."""
        trace = self.record_cache(sys.executable, "-c", READER, *command)
        pid, blocks = map(int, self.recorded.stdout.split())
        row, = [row for row in e2e.rows("cache", trace) if row["pid"] == pid]
        # Its program and the folders on the way to the file, too.
        self.assertEqual(row["added"] * PAGE, blocks * BLOCK)
        return trace, pid

    def of_file(self, trace, path, *options):
        files = e2e.report_json("cache", trace, "--by", "file", *options)["rows"]
        return next((f for f in files if f["path"] == path), None)

    def test_read_cold_and_warm(self):
        self.assertEqual(resident(self.file), 0)
        trace, _ = self.record_reader("dd", f"if={self.file}", "of=/dev/null", "bs=64k",
                                      "status=none")
        cold = self.of_file(trace, self.file)
        self.assertEqual((cold["misses"], cold["hits"]), (PAGES, 0))
        self.assertGreaterEqual(cold["added"], PAGES)
        # Nobody asked for more than 16 pages at once.
        self.assertGreater(cold["readahead"], 0)
        if cold["added"] == PAGES:  # none went before it was wanted
            self.assertEqual(cold["misses_ahead"], cold["readahead"])
        self.assertGreater(cold["misses_ahead"], 0)
        self.assertEqual(cold["inode"], str(os.stat(self.file).st_ino))
        device = os.stat(self.file).st_dev
        self.assertEqual(cold["device"], f"{os.major(device)}:{os.minor(device)}")
        with kept(self.file):
            trace = self.record_cache("dd", f"if={self.file}", "of=/dev/null", "bs=64k",
                                      "status=none")
        warm = self.of_file(trace, self.file)
        self.assertEqual((warm["hits"], warm["misses"], warm["added"], warm["hit_percent"]),
                         (PAGES, 0, 0, 100))

    def test_one_read_of_everything(self):
        # The kernel tells of one read() many times, and each time of all that is left of it.
        trace = self.record_cache("dd", f"if={self.file}", "of=/dev/null", "bs=64M", "status=none")
        cold = self.of_file(trace, self.file)
        self.assertEqual((cold["misses"], cold["hits"]), (PAGES, 0))
        with kept(self.file):
            trace = self.record_cache("dd", f"if={self.file}", "of=/dev/null", "bs=64M",
                                      "status=none")
        warm = self.of_file(trace, self.file)
        self.assertEqual((warm["misses"], warm["hits"]), (0, PAGES))

    def test_readahead(self):
        trace, pid = self.record_reader("dd", f"if={self.file}", "of=/dev/null", f"bs={PAGE}",
                                        "count=1", "status=none")
        row = self.of_file(trace, self.file)
        self.assertEqual((row["misses"], row["misses_ahead"], row["hits"]), (1, 0, 0))
        self.assertGreater(row["readahead"], 0)
        self.assertEqual(self.of_file(trace, self.file, "--pid", pid), row)
        # Only the first page was wanted, whatever was added with it.
        inode = str(os.stat(self.file).st_ino)
        wanted = [r for r in e2e.Dump(trace).rows("page_cache")
                  if (r["inode"], r["kind"], r["index"]) == (inode, "add", "0")]
        self.assertEqual(row["readahead"], row["added"] - len(wanted))

    def test_mapped(self):
        # One page after the other, read ahead of nothing; then with what is around them.
        trace = self.record_cache(e2e.program("faults"), f"cold={self.file}")
        cold = self.of_file(trace, self.file)
        self.assertEqual(int(self.recorded.stdout.split()[3]), PAGES)  # major faults
        self.assertEqual((cold["misses"], cold["hits"], cold["readahead"]), (PAGES, 0, 0))
        with kept(self.file):
            trace = self.record_cache(e2e.program("faults"), f"warm={self.file}")
        warm = self.of_file(trace, self.file)
        self.assertEqual((warm["misses"], warm["hit_percent"]), (0, 100))

    def test_written(self):
        before = vmstat("nr_dirtied")
        trace = self.record_cache("dd", "if=/dev/zero", f"of={self.other}", "bs=64k", "count=50",
                                  "status=none")
        pages = 50 * 65536 // PAGE
        row = self.of_file(trace, self.other)
        self.assertEqual((row["dirtied"], row["added"]), (pages, pages))
        self.assertEqual((row["hits"], row["misses"], row["readahead"]), (0, 0, 0))
        mine = [r for r in e2e.rows("cache", trace) if r["comm"] == "dd"]
        self.assertGreaterEqual(sum(r["dirtied"] for r in mine), pages)
        self.assertLessEqual(sum(r["dirtied"] for r in mine), vmstat("nr_dirtied") - before)
        # What is there is dirtied, and not added.
        trace = self.record_cache("dd", "if=/dev/zero", f"of={self.file}", "bs=64k", "count=1",
                                  "conv=notrunc,fsync", "status=none")
        self.assertEqual(self.of_file(trace, self.file)["dirtied"], 65536 // PAGE)

    def test_of_each_program(self):
        with kept(self.file):
            trace = self.record_cache("sh", "-c", 'cat "$0" "$0" >/dev/null; exec dd if="$0" '
                                      "of=/dev/null bs=64k status=none", self.file)
        found = {row["program"]: row for row in e2e.rows("cache", trace, "--by", "program,file")
                 if row["path"] == self.file}
        self.assertEqual({name: row["hits"] for name, row in found.items()},
                         {"cat": 2 * PAGES, "dd": PAGES})
        self.assertEqual(found["dd"]["inode"], str(os.stat(self.file).st_ino))
        for old, new in (("--files", "--by file"), ("--by-thread", "--by thread")):
            said = e2e.run(e2e.EBREPORT, "cache", old, trace, status=2).stderr.decode()
            self.assertIn(new, said)

    def test_removed(self):
        with kept(self.file):
            self.assertEqual(resident(self.file), PAGES)
            trace = self.record_cache("truncate", "-s", "0", self.file)
        self.assertEqual(self.of_file(trace, self.file)["deleted"], PAGES)

    def test_names(self):
        # The kernel knows what it has open, even if it has no name any more.
        trace = self.record_cache("sh", "-c", 'exec <"$0"; rm "$0"; exec cat >/dev/null', self.file)
        row = self.of_file(trace, self.file + " (deleted)") or self.of_file(trace, self.file)
        self.assertEqual((row["misses"], row["hits"]), (PAGES, 0))

    def test_memory(self):
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as f:
            trace = self.record_cache("sh", "-c", 'dd if="$0" of="$1" bs=64k status=none; '
                                      'cat "$1" >/dev/null', self.file, f.name)
            self.assertIsNone(self.of_file(trace, f.name))
        self.assertEqual(self.of_file(trace, self.file)["misses"], PAGES)

    def test_intervals(self):
        # Read, then something else, and read again: all of it is there by then.
        trace = self.path("t.ebt")
        script = 'cat "$0" >/dev/null; echo >"$1"; echo; read line; cat "$0" "$1" >/dev/null'
        child = self.start(e2e.EBREC, "-f", "-q", "-o", trace, "-e", "pagecache", "--", "sh", "-c",
                           script, self.file, self.other, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"\n")
        with kept(self.file):
            time.sleep(0.3)
            child.communicate(b"\n", e2e.SECONDS)
        self.assertEqual(child.returncode, 0)
        self.assert_no_loss(trace)
        whole = self.of_file(trace, self.file)
        self.assertEqual((whole["misses"], whole["hits"]), (PAGES, PAGES))
        intervals = e2e.report_json("cache", trace, "--by", "file", "--interval",
                                    "50ms")["intervals"]
        parts = [f for i in intervals for f in i["rows"] if f["path"] == self.file]
        self.assertGreater(len(parts), 1)
        for key in ("misses", "hits", "added", "dirtied"):
            self.assertEqual(sum(part[key] for part in parts), whole[key], key)
        # What was added before the window is not new in it.
        inode = str(os.stat(self.other).st_ino)
        written = [row["time"] for row in e2e.Dump(trace).rows("page_cache")
                   if row["inode"] == inode and row["kind"] == "dirty"]
        start = e2e.start_ns(trace)
        late = self.of_file(trace, self.file, "--from", f"{written[0] - start}ns")
        self.assertEqual((late["misses"], late["hits"]), (0, PAGES))


if __name__ == "__main__":
    e2e.main()

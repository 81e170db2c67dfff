# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever a process runs from, its frames have the names and lines of that very build: bind mounts,
chroot, a pid namespace, a memfd, a deleted file, a library replaced under a running program, a fork
without exec. Each program is compiled with a name and lines of its own; nm and addr2line say which."""

import binascii
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import e2e

SOURCE = os.path.join(e2e.SOURCE, "tests/programs/identity.c")
SYSTEM = ("/usr/", "/lib", "/bin/", "/sbin/")
MEMFD = """
import os, sys
fd = os.memfd_create("runs from memory")
with open(sys.argv[1], "rb") as f:
    os.write(fd, f.read())
os.execve(fd, sys.argv[1:], os.environ)
"""


class Identity(e2e.TestCase):
    def build(self, path, name, line, *options):
        """A build whose function is called `name`, and begins at `line`."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        e2e.run("gcc", "-g", "-O1", f"-DNAME={name}", f"-DLINE={line}", *options, "-o", path, SOURCE)
        return path

    def lines_of(self, build, name):
        """Lines of the function, from the symbol table and DWARF, as binutils read them."""
        symbols = e2e.run("nm", "-S", build).stdout.decode().splitlines()
        start, size = next((int(s.split()[0], 16), int(s.split()[1], 16))
                           for s in symbols if s.split()[-1] == name)
        addresses = [hex(start + i) for i in range(size)]
        found = e2e.run("addr2line", "-e", build, *addresses).stdout.decode().splitlines()
        return {int(re.search(r":(\d+)", line).group(1)) for line in found if ":?" not in line}

    def leaves(self, trace, *arguments):
        """Self time and lines of functions of programs, of those with a name that begins like ours,
        and of what has no name: programs of the system, which start ours, may have lost theirs."""
        ours, nameless = {}, 0
        for row in e2e.rows("callgraph", trace, "--all", *arguments):
            if row["function"].startswith("burn_"):
                ours[row["function"]] = (row["self_ns"], row.get("lines", ""))
            elif "+0x" in row["function"] and not row["object"].startswith(SYSTEM):
                nameless += row["self_ns"]
        return ours, nameless

    def assert_named(self, trace, builds, *arguments):
        """All of the functions, and no other of ours; each with lines of its build."""
        ours, nameless = self.leaves(trace, *arguments)
        self.assertEqual(set(ours), set(builds), ours)
        for name, build in builds.items():
            self_ns, lines = ours[name]
            self.assertGreater(self_ns, 10 * nameless, f"{name}: {ours}, nameless {nameless}")
            numbers = {int(n) for n in re.findall(r"\d+", lines.rsplit(":", 1)[1])} if build else set()
            if build:
                self.assertTrue(numbers, lines)
                self.assertLessEqual(numbers, self.lines_of(build, name), name)

    def objects(self, trace):
        return list(e2e.Dump(trace).rows("object"))

    def wait_for_embedded(self, trace, recorder, seconds=e2e.SECONDS):
        """Until the recorder has put an ELF file into the trace."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if recorder.poll() is not None:
                self.fail(f"recording ended with {recorder.returncode}")
            if os.path.exists(trace):
                done = e2e.run(e2e.EBREPORT, "dump", "--table", "file", trace, status=None)
                if b'role="elf"' in done.stdout:
                    return
            time.sleep(0.3)
        self.fail("no embedded file")

    def stop_recorder(self, recorder, status=0):
        recorder.terminate()
        self.assertEqual(recorder.wait(e2e.SECONDS), status)

    def test_bind_mount(self):
        right = self.build(self.path("real/program"), "burn_bound", 1000)
        point = self.build(self.path("point/program"), "burn_hidden", 2000)
        script = f"mount --bind {self.path('real')} {self.path('point')} && exec {point} 1"
        trace = self.record("-F", "499", "--", "unshare", "-m", "sh", "-c", script)
        self.assert_named(trace, {"burn_bound": right})

    def test_bind_mount_later(self):
        """A mount over the file itself, after the shell of the namespace has run for a while."""
        right = self.build(self.path("real"), "burn_bound", 1000)
        point = self.build(self.path("program"), "burn_hidden", 2000)
        script = f"sleep 0.5; mount --bind {right} {point}; {point} 1; true"
        trace = self.record("-F", "499", "--", "unshare", "-m", "sh", "-c", script)
        self.assert_named(trace, {"burn_bound": right})

    def test_chroot(self):
        """The same path is another build outside."""
        outside = self.build(self.path("program"), "burn_outside", 2000)
        inside = self.build(self.path("jail") + outside, "burn_inside", 1000, "-static")
        trace = self.record("-F", "499", "--", "sh", "-c",
                            f"chroot {self.path('jail')} {outside} 1 & {outside} 1; wait")
        self.assert_named(trace, {"burn_inside": inside, "burn_outside": outside})
        execs = {row["filename"] for row in e2e.Dump(trace).rows("task_exec")}
        self.assertIn(f'"{outside}"', execs)

    def test_chroot_of_running_process(self):
        outside = self.build(self.path("program"), "burn_outside", 2000)
        inside = self.build(self.path("jail") + outside, "burn_inside", 1000, "-static")
        child = self.start("chroot", self.path("jail"), outside, "0.01", "wait",
                           stdout=subprocess.DEVNULL)
        while os.readlink(f"/proc/{child.pid}/exe") != inside:
            time.sleep(0.05)
        trace = self.record("-F", "499", "-p", child.pid, "-d", "2")
        self.assert_named(trace, {"burn_inside": inside})

    def test_pid_namespace(self):
        right = self.build(self.path("program"), "burn_first", 1000)
        trace = self.record("-F", "499", "--", "unshare", "--pid", "--fork", "--mount-proc", right, "1")
        self.assert_named(trace, {"burn_first": right})
        process = [row for row in e2e.Dump(trace).rows("process") if f'"{right}"' == row["exe"]]
        self.assertRegex(process[-1]["nspid"], r'^"\d+ 1"$')

    def test_memfd(self):
        right = self.build(self.path("program"), "burn_in_memory", 1000)
        for name, options in ("without build-id", ["-Wl,--build-id=none"]), ("with", []):
            with self.subTest(name):
                right = self.build(self.path("program"), "burn_in_memory", 1000, *options)
                copy = shutil.copy(right, self.path("copy"))
                trace = self.record("-F", "499", "--", sys.executable, "-c", MEMFD, copy, "1")
                os.unlink(copy)
                self.assert_named(trace, {"burn_in_memory": right})
                row = next(row for row in self.objects(trace) if "memfd:" in row["path"])
                self.assertEqual(row["links"], "0")
                self.assertNotEqual(row["file_id"], "0")

    def test_deleted(self):
        """Deleted while it is recorded, and another build takes its place."""
        kept = self.build(self.path("kept/program"), "burn_deleted", 1000)
        for name in "deleted before", "deleted later":
            with self.subTest(name):
                program = shutil.copy(kept, self.path("program"))
                child = self.start(program, "0.5", "wait", stdout=subprocess.DEVNULL)
                trace = self.path("t.ebt")
                if name == "deleted before":
                    while os.readlink(f"/proc/{child.pid}/exe") != program:
                        time.sleep(0.05)
                    os.unlink(program)
                recorder = self.start(e2e.EBREC, "-q", "-f", "-o", trace, "-F", "499", "-p", child.pid)
                if name == "deleted later":
                    self.wait_for_rows(trace, recorder, "object")
                    os.unlink(program)
                self.build(program, "burn_rebuilt", 2000)
                self.wait_for_embedded(trace, recorder)
                time.sleep(1)
                self.stop_recorder(recorder)
                child.kill()
                self.assert_named(trace, {"burn_deleted": kept})
                os.unlink(trace)

    def test_replaced_library(self):
        program = self.build(self.path("program"), "burn_main", 3000)
        old = self.build(self.path("kept/old.so"), "burn_old", 1000, "-shared", "-fPIC", "-DLIBRARY")
        new = self.build(self.path("kept/new.so"), "burn_new", 2000, "-shared", "-fPIC", "-DLIBRARY")
        library = shutil.copy(old, self.path("library.so"))
        coming = shutil.copy(new, self.path("coming.so"))
        trace = self.path("t.ebt")
        recorder = self.start(e2e.EBREC, "-q", "-f", "-o", trace, "-F", "499", "--", program, "2",
                              "dlopen", library, coming, self.folder + "/./library.so", "wait",
                              stdout=subprocess.PIPE)
        self.assertEqual(recorder.stdout.readline(), b"done\n")
        self.wait_for_embedded(trace, recorder)
        self.stop_recorder(recorder, 128 + signal.SIGTERM)
        self.assert_named(trace, {"burn_old": old, "burn_new": new})

    def test_fork_without_exec(self):
        right = self.build(self.path("program"), "burn_child", 1000)
        trace = self.record("-F", "499", "--", right, "1", "fork")
        parent, child = [row for row in e2e.Dump(trace).rows("task_exit")]
        pids = {row["task"].split("/")[1] for row in (parent, child)}
        forked = next(row["child_pid"] for row in e2e.Dump(trace).rows("task_fork"))
        self.assertIn(forked, pids)
        self.assert_named(trace, {"burn_child": right}, "--pid", forked)

    def test_no_build_id(self):
        """Embedded, and found again by its content only."""
        right = self.build(self.path("program"), "burn_anonymous", 1000, "-Wl,--build-id=none")
        trace = self.record("-F", "499", "--", right, "1")
        row = next(row for row in self.objects(trace) if row["path"] == f'"{right}"')
        self.assertEqual(row["build_id"], "x")
        self.assertEqual(row["hash"], "x" + e2e.run("xxh128sum", right).stdout.decode().split()[0])
        self.assertEqual(int(row["size"]), os.path.getsize(right))
        self.assertEqual(int(row["mtime"]), os.stat(right).st_mtime_ns)
        kept = shutil.copy(right, self.path("kept"))
        self.build(right, "burn_rebuilt", 2000, "-Wl,--build-id=none")
        self.assert_named(trace, {"burn_anonymous": kept})

    def test_row(self):
        """Everything that a row of `object` says, by other programs."""
        program = self.build(self.path("program"), "burn_row", 1000)
        debug = self.path("program.debug")
        e2e.run("objcopy", "--only-keep-debug", program, debug)
        e2e.run("strip", program)
        e2e.run("objcopy", f"--add-gnu-debuglink={debug}", program)
        os.link(program, self.path("other name"))
        trace = self.record("--", program, "0.2")
        row = next(row for row in self.objects(trace) if row["path"] == f'"{program}"')
        status = os.stat(program)
        self.assertEqual(row["links"], "2")
        self.assertEqual(int(row["inode"]), status.st_ino)
        self.assertEqual((int(row["dev_major"]), int(row["dev_minor"])),
                         (os.major(status.st_dev), os.minor(status.st_dev)))
        self.assertEqual(int(row["size"]), status.st_size)
        self.assertEqual(row["file_id"], "0")
        self.assertEqual(row["debuglink"], '"program.debug"')
        with open(debug, "rb") as f:
            self.assertEqual(int(row["debuglink_crc"], 16), binascii.crc32(f.read()))
        headers = e2e.run("readelf", "-lW", program).stdout.decode()
        loads = re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) (0x\w+) ([R ])([W ])([E ])", headers)
        expected = b"".join(
            int(n).to_bytes(8, "little") for offset, address, in_file, in_memory, r, w, x in loads
            for n in (int(offset, 16), int(address, 16), int(in_file, 16), int(in_memory, 16),
                      4 * (r == "R") + 2 * (w == "W") + (x == "E")))
        self.assertEqual(row["segments"], "x" + expected.hex())


if __name__ == "__main__":
    e2e.main()

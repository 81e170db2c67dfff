# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording is read where nothing is as it was: the layers of an overlay have moved, with the
program's own build in one of them and others above and below; then only a copy of what the process
saw is left, among files that want to be opened."""

import os
import shutil
import signal
import time

import e2e
import symbol_files

SOURCE = """
#include <time.h>
static volatile unsigned sum;
__attribute__((noinline)) static void NAME(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sum += i * i;
}
int main(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC;

	while (clock() < end)
		NAME(100000);
	return 0;
}
"""


class Elsewhere(symbol_files.TestCase):
    def ebreport(self, *arguments, status=0):
        # What was found once is not forgotten otherwise.
        return super().ebreport(arguments[0], "--no-symbol-cache", *arguments[1:], status=status)

    def make(self, output, name):
        return self.build(output, self.write(f"{name}.c", f"#define NAME {name}\n{SOURCE}"), "-static")

    def record_in_overlay(self):
        """Records /opt/app/prog of an overlay in a mount namespace; gives trace, pid and build."""
        disk = self.path("disk")
        os.mkdir(disk)
        e2e.run("mount", "-t", "tmpfs", "none", disk)
        self.addCleanup(e2e.run, "umount", "-l", disk, status=None)
        for folder in ("low/app", "mid/app", "up", "work"):
            os.makedirs(f"{disk}/{folder}")
        self.make(f"{disk}/low/app/prog", "lowest_one")
        self.make(f"{disk}/low/app/hidden", "hidden_one")
        build = shutil.copy(self.make(f"{disk}/mid/app/prog", "right_one"), self.path("right"))
        setup = (f"mount -t overlay -o lowerdir={disk}/mid:{disk}/low,upperdir={disk}/up,"
                 f"workdir={disk}/work none /opt && rm /opt/app/hidden && exec sleep 1000")
        holder = self.start("unshare", "-m", "sh", "-c", setup)
        sleep = os.path.realpath(shutil.which("sleep"))
        end = time.monotonic() + e2e.SECONDS
        while os.path.realpath(f"/proc/{holder.pid}/exe") != sleep:
            self.assertLess(time.monotonic(), end, "no mount namespace")
            time.sleep(0.05)
        trace = self.record("-F", "499", "--", "nsenter", "-m", "-t", holder.pid, "/opt/app/prog")
        pids = {row["task"].split("/")[1] for row in e2e.Dump(trace).rows("mmap")
                if row["path"] == '"/opt/app/prog"'}
        self.assertEqual(len(pids), 1, pids)
        os.killpg(holder.pid, signal.SIGKILL)
        holder.wait()
        return trace, pids.pop(), build, disk

    def assert_right(self, trace, build, place, *arguments):
        row = self.modules(trace, *arguments)["/opt/app/prog"]
        self.assertEqual((row["file_found"], row["named"]), (place, row["frames"]), row)
        self.assertGreater(int(row["frames"]), 100)
        self.assert_names(self.names(trace, "/opt/app/prog", *arguments), build)
        folded = self.folded(trace, *arguments)
        self.assertIn(";main;right_one", folded)
        for other in ("lowest_one", "hidden_one"):
            self.assertNotIn(other, folded)

    def test_layers(self):
        trace, pid, build, disk = self.record_in_overlay()
        # The layers are where they were.
        self.assert_right(trace, build, "container")

        # All of the machine's disk is below a folder.
        root = self.path("sysroot")
        os.makedirs(os.path.dirname(root + disk))
        e2e.run("cp", "-a", disk, root + disk)
        e2e.run("umount", "-l", disk)
        row = self.modules(trace)["/opt/app/prog"]
        self.assertEqual((row["file_found"], row["named"]), ("no such file", "0"))
        self.assert_right(trace, build, "container", "--sysroot", root)

        # Only what the process saw is left, by its pid; with links as their owner meant them.
        seen = self.path("seen")
        os.makedirs(f"{seen}/opt/real")
        os.symlink("/opt/real", f"{seen}/opt/app")
        shutil.copy(build, f"{seen}/opt/real/prog")
        self.assert_right(trace, build, "root", "--root", f"{pid}={seen}")
        row = self.modules(trace, "--root", f"{int(pid) + 1}={seen}")["/opt/app/prog"]
        self.assertEqual(row["file_found"], "no such file")

        # Links that lead out of it, and what would wait or fill memory, are no files.
        shutil.copy(build, self.path("outside"))
        for make in (lambda path: os.symlink(self.path("outside"), path),
                     lambda path: os.symlink("../../../outside", path), os.mkfifo,
                     lambda path: os.symlink("/dev/zero", path),
                     lambda path: os.symlink("/proc/self/exe", path)):
            os.unlink(f"{seen}/opt/real/prog")
            make(f"{seen}/opt/real/prog")
            for option in (("--root", f"{pid}={seen}"), ("--sysroot", seen)):
                row = self.modules(trace, *option)["/opt/app/prog"]
                self.assertEqual((row["file_found"], row["named"]), ("no such file", "0"))

        # Another build there is refused, and said to be there.
        os.unlink(f"{seen}/opt/real/prog")
        self.make(f"{seen}/opt/real/prog", "other_one")
        row = self.modules(trace, "--root", f"{pid}={seen}")["/opt/app/prog"]
        self.assertEqual((row["file_found"], row["named"]), ("build-id differs", "0"))
        self.assertEqual(row["refused"], f"{seen}/opt/real/prog")


if __name__ == "__main__":
    e2e.main()

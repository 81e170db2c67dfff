# SPDX-License-Identifier: GPL-2.0-or-later
"""Disk requests: their number, size and time as /proc/diskstats has them, blamed on who caused them."""

import os
import re
import shutil
import signal
import subprocess

import e2e

SLOW_MS = 30
LONG_S = 12  # longer than other sources remember a task
# Between the kernel's two looks at the clock, ours and its own, for each request: a program that
# records, and whatever takes the CPU away.
SLACK_NS = 300_000
NS_PER_MS = 1_000_000

# Of /proc/diskstats, behind the name.
FIELDS = ("read_ios", "read_merges", "read_sectors", "read_ms", "write_ios", "write_merges",
          "write_sectors", "write_ms", "in_flight", "busy_ms", "weighted_ms", "discard_ios",
          "discard_merges", "discard_sectors", "discard_ms", "flush_ios", "flush_ms")


def diskstats(name):
    with open("/proc/diskstats", encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if words[2] == name:
                return dict(zip(FIELDS, map(int, words[3:])))
    raise AssertionError(f"{name} is not in /proc/diskstats")


def since(before, name):
    after = diskstats(name)
    return {key: after[key] - before[key] for key in FIELDS}


def settle():
    """udev looks into new disks, where there is one."""
    if shutil.which("udevadm"):
        e2e.run("udevadm", "settle", status=None)


class Block(e2e.TestCase):
    def loop(self, path, *arguments):
        """A loop device on a file; its path in /dev."""
        device = e2e.run("losetup", "-f", "--show", "--direct-io=on", *arguments, path).stdout
        device = device.decode().strip()
        self.addCleanup(e2e.run, "losetup", "-d", device, status=None)
        settle()
        return device

    def disk(self, mib=64, *arguments):
        path = self.path("disk")
        with open(path, "wb") as f:
            f.truncate(mib << 20)
        return self.loop(path, *arguments)

    def slow_disk(self, milliseconds=SLOW_MS):
        """A loop device each of whose requests takes that long; its last MiB of 16 is bad."""
        return self.loop(self.slow_file(milliseconds))

    def rows(self, trace, device, *arguments):
        """Rows of the report that are of this device."""
        return [row for row in e2e.rows("block", trace, *arguments)
                if row["device"] == os.path.basename(device)]

    def listed(self, trace, device, *arguments):
        return self.rows(trace, device, "--trace", *arguments)

    def check(self, trace, device, truth):
        """All that the kernel counted, and nothing else."""
        row, = self.rows(trace, device, "--by", "device")
        operations = {row["operation"]: row for row in row["rows"]}
        discard = operations.get("discard", {"ios": 0, "bytes": 0, "merges": 0})
        ours = {
            "read_ios": row["read_ios"], "read_sectors": row["read_bytes"] // 512,
            "write_ios": row["write_ios"], "write_sectors": row["write_bytes"] // 512,
            "merges": row["merges"], "discard_ios": discard["ios"],
            "discard_sectors": discard["bytes"] // 512,
        }
        theirs = {key: truth[key] for key in ours if key != "merges"}
        theirs["merges"] = (truth["read_merges"] + truth["write_merges"]
                            + truth["discard_merges"])
        self.assertEqual(ours, theirs)
        for name in "read", "write", "discard":
            took = sum(r["total_ns"] for r in row["rows"] if r["operation"] == name)
            ios = truth[f"{name}_ios"]
            # Each of their sums is cut to milliseconds.
            self.assertLessEqual(took, (truth[f"{name}_ms"] + 1) * NS_PER_MS + ios * 1000, name)
            self.assertGreaterEqual(took, truth[f"{name}_ms"] * NS_PER_MS - ios * SLACK_NS, name)
        return row

    def recorded_on(self, device, *command, options=()):
        """Records the command; the trace, and what the kernel counted meanwhile."""
        before = diskstats(os.path.basename(device))
        trace = self.record("-e", "block", *options, "--", *command)
        self.assert_no_loss(trace)
        return trace, since(before, os.path.basename(device))

    # --- the kernel's numbers ---

    @e2e.exact
    def test_dd(self):
        device = self.disk()
        trace, truth = self.recorded_on(device, "sh", "-c", f"""
            dd if=/dev/zero of={device} oflag=direct bs=64k count=100 status=none
            dd if={device} of=/dev/null iflag=direct bs=4k count=300 status=none""")
        self.assertEqual((truth["write_sectors"], truth["read_sectors"]), (12800, 2400))
        row = self.check(trace, device, truth)
        self.assertEqual((row["write_ios"], row["read_ios"]), (100, 300))
        # One at a time.
        self.assertEqual(row["depth_max"], 1)
        self.assertEqual(row["in_flight"], 0)

    @e2e.exact
    def test_fio(self):
        # Many at a time, which merge, and a scheduler that keeps them in a queue.
        device = self.disk()
        scheduler = f"/sys/block/{os.path.basename(device)}/queue/scheduler"
        with open(scheduler, encoding="utf-8") as f:
            chosen = re.search(r"\[(.*)\]", f.read())[1]
        self.addCleanup(self.write, scheduler, chosen)
        self.write(scheduler, "mq-deadline")
        common = ["fio", f"--filename={device}", "--ioengine=libaio", "--direct=1", "--thread",
                  "--iodepth=32", "--iodepth_batch=16", "--iodepth_batch_complete_min=16", "--size=16M",
                  "--minimal"]
        trace, truth = self.recorded_on(
            device, *common, "--name=random", "--rw=randrw", "--bsrange=4k-64k", "--name=sequence",
            "--stonewall", "--rw=write", "--bs=4k", "--name=gone", "--stonewall", "--rw=trim", "--bs=64k")
        row = self.check(trace, device, truth)
        self.assertGreater(row["merges"], 100)
        self.assertGreater(row["depth_max"], 4)
        self.assertGreater(truth["discard_ios"], 0)
        parts = [r for interval in e2e.report_json("block", trace, "--by", "device", "--interval",
                                                   "100ms")["intervals"]
                 for r in interval["rows"] if r["device"] == row["device"]]
        for key in "ios", "bytes", "merges", "total_ns":
            self.assertEqual(sum(r[key] for r in parts), row[key])
        for r in self.listed(trace, device):
            self.assertEqual(r["cause"], "submitter", r)
            self.assertEqual(r["comm"], "fio", r)

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    @e2e.exact
    def test_whole_system(self):
        device = self.disk()
        name = os.path.basename(device)
        recorder = self.start(e2e.EBREC, "-e", "block", "-a", "-o", self.path("t.ebt"))
        # Its own rows of what is there say that it records.
        self.wait_for_rows(self.path("t.ebt"), recorder, "block_device")
        before = diskstats(name)
        e2e.run("dd", f"if={device}", "of=/dev/null", "bs=16k", "count=200", "iflag=direct")
        e2e.run("dd", "if=/dev/zero", f"of={device}", "bs=1M", "count=8", "conv=fsync")
        truth = since(before, name)
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(), 0)
        row = self.check(self.path("t.ebt"), device, truth)
        flush, = [r for r in row["rows"] if r["operation"] == "flush"]
        self.assertEqual(flush["ios"], truth["flush_ios"])
        self.assertGreater(flush["ios"], 0)
        self.assertEqual(row["in_flight"], 0)

    @e2e.exact
    def test_device_without_requests(self):
        control = "/sys/class/zram-control/hot_add"
        if not os.path.exists(control):
            self.skipTest("this kernel has no zram")
        with open(control, encoding="utf-8") as f:
            number = int(f.read())
        self.addCleanup(self.write, "/sys/class/zram-control/hot_remove", str(number))
        device = f"/dev/zram{number}"
        self.write(f"/sys/block/zram{number}/disksize", "16M")
        settle()
        trace, truth = self.recorded_on(
            device, "sh", "-c", f"""
            dd if=/dev/urandom of={device} oflag=direct bs=16k count=50 status=none
            dd if={device} of=/dev/null iflag=direct bs=4k count=70 status=none""")
        self.assertEqual((truth["write_sectors"], truth["read_sectors"]), (1600, 560))
        row, = self.rows(trace, device, "--by", "device")
        for name in "read", "write":
            self.assertEqual(row[f"{name}_bytes"] // 512, truth[f"{name}_sectors"])
            self.assertEqual(row[f"{name}_ios"], truth[f"{name}_ios"])
        number = os.stat(device).st_rdev
        self.assertEqual({r["layer"] for r in e2e.Dump(trace).rows("block_io")
                          if (int(r["dev_major"]), int(r["dev_minor"]))
                          == (os.major(number), os.minor(number))}, {"bio"})

    # --- times ---

    @e2e.exact
    def test_slow_device(self):
        device = self.slow_disk()
        trace, truth = self.recorded_on(device, "sh", "-c", f"""
            dd if={device} of=/dev/null iflag=direct bs=4k count=12 status=none
            dd if=/dev/zero of={device} oflag=direct bs=4k count=8 status=none""")
        self.check(trace, device, truth)
        listed = self.listed(trace, device)
        self.assertEqual(len(listed), 20)
        for r in listed:
            self.assertGreaterEqual(r["device_ns"], SLOW_MS * NS_PER_MS)
        row, = self.rows(trace, device, "--by", "device", "--histogram")
        self.assertGreaterEqual(row["device_p50_ns"], SLOW_MS * NS_PER_MS)
        self.assertGreaterEqual(row["p99_ns"], row["device_p50_ns"])
        # It is the device that is slow.
        self.assertLess(row["queue_p50_ns"], row["device_p50_ns"])
        histogram = e2e.report_json("block", trace, "--histogram")["read_device_histogram"]
        self.assertEqual(sum(b["count"] for b in histogram if b["below_ns"] > SLOW_MS * NS_PER_MS), 12)

    @e2e.exact
    def test_errors(self):
        device = self.slow_disk(1)
        trace, _ = self.recorded_on(device, "sh", "-c", f"""
            dd if={device} of=/dev/null iflag=direct bs=4k count=3 skip=3900 status=none || :
            dd if={device} of=/dev/null iflag=direct bs=4k count=3 status=none""")
        found = [r.get("error") for r in self.listed(trace, device)]
        self.assertEqual(found, ["EIO", None, None, None])
        row, = self.rows(trace, device, "--by", "device")
        self.assertEqual(row["errors"], 1)

    @e2e.exact
    def test_in_flight_at_the_end(self):
        device = self.slow_disk(8000)
        recorder = self.start(e2e.EBREC, "-e", "block", "-a", "-o", self.path("t.ebt"))
        self.wait_for_rows(self.path("t.ebt"), recorder, "block_device")
        before = diskstats(os.path.basename(device))["in_flight"]
        self.assertEqual(before, 0)
        reader = self.start("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=8k", "count=1",
                            stderr=subprocess.DEVNULL)
        while not diskstats(os.path.basename(device))["in_flight"]:
            self.assertIsNone(reader.poll())
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(), 0)
        row, = self.listed(self.path("t.ebt"), device)
        self.assertEqual((row["state"], row["bytes"], row["pid"], row["comm"]),
                         ("in flight", 8192, reader.pid, "dd"))
        self.assertRegex(e2e.ebreport("block", self.path("t.ebt")),
                         r"requests? (was|were) in flight when recording ended")
        row, = self.rows(self.path("t.ebt"), device, "--by", "device")
        self.assertEqual((row["ios"], row["in_flight"], row["depth_max"]), (0, 1, 1))

    # --- who ---

    def file_system(self):
        """A mounted file system of the test's own: its device and its folder."""
        device = self.disk(256)
        e2e.run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", device)
        folder = self.path("mounted")
        os.mkdir(folder)
        e2e.run("mount", device, folder)
        self.addCleanup(e2e.run, "umount", folder, status=None)
        e2e.run("sync")
        return device, folder

    @e2e.exact
    def test_writeback(self):
        # Written by one that has ended, brought to the disk by a kernel thread, for another.
        device, folder = self.file_system()
        trace, truth = self.recorded_on(device, "sh", "-c", f"""
            dd if=/dev/zero of={folder}/file bs=1M count=16 status=none
            sleep {LONG_S}
            sync""")
        self.assertGreaterEqual(truth["write_sectors"], 16 << 11)
        written = [r for r in self.listed(trace, device) if r["operation"] == "write"]
        data = [r for r in written if r["inode"] == str(os.stat(f"{folder}/file").st_ino)]
        self.assertEqual(sum(r["bytes"] for r in data), 16 << 20)
        for r in data:
            self.assertEqual(r["comm"], "dd", r)
            self.assertEqual(r["cause"], "dirtier", r)
            self.assertNotEqual(r["submitter_tid"], r["tid"])
            self.assertGreater(r["dirtied_ns"], r["duration_ns"])
        by_comm = {r["comm"]: r for r in self.rows(trace, device)}
        self.assertEqual(by_comm["dd"]["dirtier_ios"], by_comm["dd"]["write_ios"])
        self.assertLess(by_comm.get("sync", {"write_bytes": 0})["write_bytes"], 1 << 20)
        self.assertFalse([comm for comm in by_comm if comm.startswith("kworker")])

    @e2e.exact
    def test_dirty_before(self):
        # What it wrote before the recording is not known, and said to be so.
        device, folder = self.file_system()
        with open(f"{folder}/file", "wb") as f:
            f.write(bytes(8 << 20))
        trace, _ = self.recorded_on(device, "sync", f"{folder}/file")
        data = [r for r in self.listed(trace, device)
                if r["inode"] == str(os.stat(f"{folder}/file").st_ino)]
        self.assertEqual(sum(r["bytes"] for r in data), 8 << 20)
        self.assertEqual({(r["comm"], r["cause"]) for r in data}, {("sync", "unknown")})
        self.assertIn("for whom is not known", e2e.ebreport("block", trace))

    @e2e.exact
    def test_two_processes(self):
        device = self.disk()
        trace, truth = self.recorded_on(device, "sh", "-c", f"""
            dd if=/dev/zero of={device} oflag=direct bs=4k count=150 status=none &
            dd if=/dev/zero of={device} oflag=direct bs=128k count=60 seek=100 status=none &
            dd if={device} of=/dev/null iflag=direct bs=32k count=90 status=none &
            wait""")
        self.check(trace, device, truth)
        rows = self.rows(trace, device)
        self.assertEqual(sorted((r["write_ios"], r["write_bytes"], r["read_ios"], r["read_bytes"])
                                for r in rows),
                         [(0, 0, 90, 90 << 15), (60, 60 << 17, 0, 0), (150, 150 << 12, 0, 0)])
        self.assertEqual(len({r["pid"] for r in rows}), 3)
        for r in rows:
            self.assertEqual(r["comm"], "dd")
            listed = self.listed(trace, device, "--pid", str(r["pid"]))
            self.assertEqual(len(listed), r["ios"])

    @e2e.exact
    def test_users_and_operations(self):
        # Each user has what it was told to read and write, and together what the kernel counted.
        device = self.disk()
        os.chmod(device, 0o666)
        dd = ["dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=4k", "status=none"]
        trace, truth = self.recorded_on(device, "sh", "-c", f"""
            {" ".join(dd)} count=30
            setpriv --reuid=1234 --clear-groups {" ".join(dd)} count=50
            setpriv --reuid=1234 --clear-groups dd if=/dev/zero of={device} oflag=direct bs=16k \
                count=20 status=none""")
        self.assertEqual((truth["read_ios"], truth["write_ios"]), (80, 20))
        self.assertEqual({(r["uid"], r["operation"]): r["ios"]
                          for r in self.rows(trace, device, "--by", "user,device,operation")},
                         {(0, "read"): 30, (1234, "read"): 50, (1234, "write"): 20})
        self.assertEqual({r["uid"]: (r["read_ios"], r["write_ios"])
                          for r in self.rows(trace, device, "--by", "user,device")},
                         {0: (30, 0), 1234: (50, 20)})
        self.assertEqual({r["operation"]: r["bytes"] // 512
                          for r in self.rows(trace, device, "--by", "operation,device")},
                         {"read": truth["read_sectors"], "write": truth["write_sectors"]})

    def test_old_spelling(self):
        trace = self.record("-e", "block", "--", "true")
        for old, new in (("--devices", "--by device"), ("--by-thread", "--by thread,device")):
            self.assertIn(f"{old} is {new} now",
                          e2e.run(e2e.EBREPORT, "block", old, trace, status=2).stderr.decode())

    @e2e.exact
    def test_only_followed_tasks(self):
        device = self.disk()
        other = self.start("sh", "-c", f"while :; do dd if={device} of=/dev/null iflag=direct bs=4k "
                           "count=100 status=none; done")
        trace, _ = self.recorded_on(device, "dd", f"if={device}", "of=/dev/null", "iflag=direct",
                                    "bs=8k", "count=200", "status=none")
        self.assertIsNone(other.poll())
        row, = self.rows(trace, device)
        self.assertEqual((row["comm"], row["read_ios"], row["read_bytes"]), ("dd", 200, 200 << 13))

    # --- names ---

    @e2e.exact
    def test_names(self):
        # A partition appears, is used and goes while recording.
        path = self.path("disk")
        with open(path, "wb") as f:
            f.truncate(64 << 20)
        trace = self.record("-e", "block", "--", "sh", "-c", f"""
            device=$(losetup -f --show --direct-io=on -P {path}) || exit 1
            addpart $device 1 8192 16384 || exit 1
            dd if=${{device}}p1 of=/dev/null iflag=direct bs=4k count=20 status=none
            dd if=$device of=/dev/null iflag=direct bs=64k count=10 status=none
            delpart $device 1
            losetup -d $device
            echo $device >{path}.name""")
        with open(path + ".name", encoding="utf-8") as f:
            device = f.read().strip()
        disk = os.path.basename(device)
        rows = {r["device"]: r for r in e2e.rows("block", trace, "--by", "device")}
        partition = rows[disk + "p1"]
        self.assertEqual((partition["disk"], partition["size"]), (disk, 8 << 20))
        read = [r for r in self.listed(trace, device + "p1") if r["comm"] == "dd"]
        self.assertEqual(sum(r["bytes"] for r in read), 20 << 12)
        # The disk has what its partition has.
        own = sum(r["bytes"] for r in self.listed(trace, device))
        self.assertEqual(rows[disk]["bytes"], own + partition["bytes"])
        self.assertEqual(min(r["sector"] for r in read), 8192)
        self.assertEqual([r for r in rows if "unknown" in r or ":" in r], [])


if __name__ == "__main__":
    e2e.main()

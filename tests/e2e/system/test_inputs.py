# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces that somebody compressed, and files of other programs, which are named."""
import gzip
import os
import shutil
import subprocess

import e2e


class Inputs(e2e.TestCase):
    def refused(self, path):
        done = e2e.run(e2e.EBREPORT, "info", path, status=1)
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode()

    def write(self, name, data):
        path = self.path(name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def test_compressed(self):
        trace = self.record("-e", "default,syscalls", "--", "ls", "/")
        expected = e2e.rows("syscalls", trace)
        with open(trace, "rb") as f:
            data = f.read()
        half = len(data) // 2
        members = gzip.compress(data[:half]) + gzip.compress(data[half:])
        packed = [self.write("t.ebt.gz", gzip.compress(data)), self.write("two.ebt.gz", members)]
        if shutil.which("zstd"):
            packed += [self.path("t.ebt.zst")]
            e2e.run("zstd", "-q", trace, "-o", packed[-1])
        for path in packed:
            self.assertEqual(e2e.rows("syscalls", path), expected, path)
            with open(path, "rb") as f:
                pipe = subprocess.run(["cat"], stdin=f, capture_output=True, check=True).stdout
            for command in ("syscalls", "dump"):
                done = subprocess.run([e2e.EBREPORT, command, "-"], input=pipe, check=True,
                                      capture_output=True, timeout=e2e.SECONDS)
                self.assertEqual(done.stdout.decode(), e2e.ebreport(command, trace), path)
            e2e.run(e2e.EBREPORT, "info", "--verify", path)
            cut = self.write("cut", pipe[:len(pipe) // 2])
            self.assertIn(b"the file has no end", e2e.run(e2e.EBREPORT, "info", cut).stderr)

    def test_bomb(self):
        """Memory and disk are not what an attacker wants."""
        bomb = gzip.compress(b"\211EBT\r\n\x1a\n" + bytes(300 << 20))
        self.assertIn("no trace grows like that", self.refused(self.write("bomb", bomb)))
        zeros = self.write("zeros.gz", gzip.compress(bytes(1 << 20)))
        self.assertIn("(unpacked): not an .ebt file", self.refused(zeros))
        damaged = bytearray(gzip.compress(os.urandom(100000)))
        damaged[3] = 0xff
        self.assertIn("gzip", self.refused(self.write("damaged.gz", bytes(damaged))))

    def test_others(self):
        perf = self.path("perf.data")
        if not shutil.which("perf") or subprocess.run(
                ["perf", "record", "-q", "-e", "cpu-clock", "-o", perf, "--", "true"],
                capture_output=True, check=False, timeout=e2e.SECONDS).returncode:
            self.write("perf.data", b"PERFILE2" + bytes(96))
        core = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x04\0" + bytes(46)
        for path, name in (
                (perf, "perf.data: `perf report"), ("/bin/ls", "ELF program or library"),
                (self.write("core", core), "core dump: `gdb"),
                (self.write("a.pcap", b"\xd4\xc3\xb2\xa1" + bytes(20)), "a pcap: `tcpdump -r`"),
                (self.write("a.pcapng", b"\n\r\r\n" + bytes(24)), "a pcapng: `tcpdump -r`"),
                (self.write("trace.dat", b"\x17\x08\x44tracing6\0" + bytes(9)), "trace-cmd report"),
                (self.write("a.syscap", b"\x5e\x97\xca\xfd" + bytes(252)), "`sysprof` reads it"),
                (self.write("a.json", b'\n {"traceEvents": []}'), "JSON"),
                (self.write("perf.data.gz", gzip.compress(b"PERFILE2" + bytes(96))),
                 "perf.data: `perf report")):
            self.assertIn(name, self.refused(path))
            with open(path, "rb") as f:
                self.assertIn(name, self.piped(f.read()))

    def piped(self, data):
        done = subprocess.run([e2e.EBREPORT, "info", "-"], input=data, capture_output=True,
                              check=False, timeout=e2e.SECONDS)
        self.assertEqual(done.returncode, 1)
        return done.stderr.decode()


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""A bundle reads without any other file as its trace does with them; files get in and out."""

import os
import shutil
import subprocess
import sys

import e2e

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/tools"))
import ebtdump  # noqa: E402

REPORTS = (["callgraph"], ["callgraph", "--event", "offcpu"], ["folded", "--by", "thread"],
           ["folded", "--event", "offcpu"], ["offcpu"], ["info"], ["sched"])
SOURCE_TABLE = 19  # its id in FORMAT.md


class Bundle(e2e.TestCase):
    def bundle(self, trace, *options, name="bundle.ebt"):
        path = self.path(name)
        self.bundled = e2e.run(e2e.EBREPORT, "bundle", trace, *options,
                               "--no-symbol-cache", "-o", path)
        return path

    def program_with_lines(self):
        """A stripped program with its debug information elsewhere, which can go away."""
        program, debug = self.path("program"), self.path("debug")
        os.mkdir(debug)
        shutil.copy(e2e.program("shares"), program)
        e2e.run("objcopy", "--only-keep-debug", program, os.path.join(debug, "program.debug"))
        e2e.run("strip", program)
        done = e2e.run("readelf", "-n", program).stdout.decode()
        build_id = done.split("Build ID: ")[1].split()[0]
        folder = os.path.join(debug, ".build-id", build_id[:2])
        os.makedirs(folder)
        os.rename(os.path.join(debug, "program.debug"),
                  os.path.join(folder, build_id[2:] + ".debug"))
        return program, debug

    def test_reads_the_same(self):
        program, debug = self.program_with_lines()
        trace = self.record("--", "sh", "-c", f"{program} 1; ls -l /usr/bin >/dev/null")
        bundle = self.bundle(trace, "--debug-dir", debug)
        wanted = [e2e.ebreport(*report, "--debug-dir", debug, trace) for report in REPORTS[:-2]]
        self.assertIn("burn_half", wanted[0])
        self.assertIn("shares.c:", wanted[0])
        os.unlink(program)
        shutil.rmtree(debug)
        without = e2e.ebreport(*REPORTS[0], trace)
        self.assertNotIn("burn_half", without)
        for report, text in zip(REPORTS, wanted):
            self.assertEqual(e2e.ebreport(*report, bundle), text)
        modules = {row["module"]: row for row in e2e.rows("modules", bundle, "--used")}
        self.assertEqual(modules[program]["file_found"], "names only")
        self.assertEqual(modules[program]["named"], modules[program]["frames"])
        self.assertNotIn("command", modules[program])
        modules = {row["module"]: row for row in e2e.rows("modules", trace, "--used")}
        self.assertEqual(modules[program]["file_found"], "no such file")
        # Inlined functions go where they are not wanted.
        self.assertIn("mix (inlined)", wanted[0])
        self.assertNotRegex(e2e.ebreport(*REPORTS[0], "--no-inline", bundle), r"\bmix\b")
        self.assertNotIn("burn_half", e2e.ebreport(*REPORTS[0], "--no-symbols", bundle))
        self.same_rows(trace, bundle)

    def same_rows(self, trace, bundle):
        """All rows but those of a file's own layout, and the names."""
        def rows(path):
            own = ("schema", "schema_value", "index", "name_object", "name_frame")
            return [line for line in e2e.ebreport("dump", path).splitlines()
                    if line.split(" ", 2)[1] not in own and 'key="bundle.' not in line]

        self.assertEqual(rows(trace), rows(bundle))
        e2e.run("python3", os.path.join(e2e.SOURCE, "tests/tools/ebtdump.py"), "--check", bundle)

    def test_exactly_the_addresses_that_occur(self):
        trace = self.record("-e", "sample,task", "--", e2e.program("shares"), "1")
        bundle = self.bundle(trace)
        dump = e2e.Dump(bundle)
        mapped = {(row["path"], row["build_id"]) for row in dump.rows("mmap")}
        for row in dump.rows("name_object"):
            self.assertIn((row["path"], row["build_id"]), mapped)
        addresses = set()
        for row in dump.rows("sample"):
            stack = row["ustack"]
            addresses |= {stack[:1] + part for part in stack[2:].rstrip("+").split(",")}
        places = {(row["object_id"], row["offset"], row["caller"])
                  for row in dump.rows("name_frame")}
        self.assertTrue(places)
        # An address may be a return address in one stack and not in another.
        self.assertLessEqual(len(places), 2 * len(addresses))

    def test_again(self):
        """What had no name gets one; names that are there stay."""
        program, debug = self.program_with_lines()
        trace = self.record("-e", "sample,task", "--", program, "1")
        poor = self.bundle(trace, name="poor.ebt")
        self.assertIn("have no name", self.bundled.stderr.decode())
        self.assertNotIn("burn_half", e2e.ebreport("callgraph", poor))
        rich = self.bundle(poor, "--debug-dir", debug, name="rich.ebt")
        wanted = e2e.ebreport("callgraph", "--debug-dir", debug, trace)
        shutil.rmtree(debug)
        os.unlink(program)
        self.assertEqual(e2e.ebreport("callgraph", rich), wanted)
        same = self.bundle(rich, name="same.ebt")
        self.assertEqual(len(list(e2e.Dump(same).rows("name_frame"))),
                         len(list(e2e.Dump(rich).rows("name_frame"))))
        self.assertEqual(e2e.ebreport("callgraph", same), wanted)
        anew = self.bundle(rich, "--anew", name="anew.ebt")
        self.assertNotIn("burn_half", e2e.ebreport("callgraph", anew))

    def test_pipe_and_damage(self):
        trace = self.record("--", e2e.program("shares"), "1")
        bundle = self.bundle(trace)
        with open(bundle, "rb") as f, open(trace, "rb") as g:
            whole, original = f.read(), g.read()
        self.assertEqual(e2e.run(e2e.EBREPORT, "bundle", trace).stdout, whole)
        self.assertEqual(os.stat(bundle).st_mode & 0o777, 0o600)
        # of a table that `info` reads
        place = next(c for c in ebtdump.scan(original) if c.table_id == SOURCE_TABLE).next - 9
        for name, data in (("cut", original[:len(original) * 2 // 3]),
                           ("flipped", original[:place] + bytes([original[place] ^ 0xff])
                            + original[place + 1:])):
            with self.subTest(name):
                damaged = self.path(name)
                with open(damaged, "wb") as f:
                    f.write(data)
                copy = self.bundle(damaged, name=name + ".ebt")
                e2e.run("python3", os.path.join(e2e.SOURCE, "tests/tools/ebtdump.py"), "--check", copy)
                for path in (damaged, copy):
                    done = e2e.run(e2e.EBREPORT, "info", "--json", path)
                    self.assertIn("warning", done.stderr.decode())
                self.assertIn("copy", done.stderr.decode())

    def test_dumps_are_finished(self):
        """Stacks are whole in the bundle, and memory has gone from it."""
        trace = self.record("-e", "sample,task", "--call-graph", "dump", "--keep-stack-dumps",
                            "--", e2e.program("callbacks"), "1")
        dumps = [row for row in e2e.Dump(trace).rows("sample") if row["udump"] != "x"]
        self.assertTrue(dumps)
        bundle = self.bundle(trace)
        left = [row for row in e2e.Dump(bundle).rows("sample") if row["udump"] != "x"]
        self.assertLess(len(left), len(dumps) / 2)
        self.assertEqual(e2e.ebreport("folded", trace), e2e.ebreport("folded", bundle))

    def test_ebrec_bundle(self):
        folder = self.path("bin")
        os.mkdir(folder)
        trace = self.path("t.ebt")
        ebrec = os.path.join(folder, "ebrec")
        shutil.copy(e2e.EBREC, ebrec)
        command = [ebrec, "--bundle", "-o", trace, "--", e2e.program("shares"), "1"]
        done = e2e.run("env", "PATH=" + folder, *command, status=125)
        self.assertIn("there is no ebreport", done.stderr.decode())
        self.assertFalse(os.path.exists(trace))
        shutil.copy(e2e.EBREPORT, folder)
        e2e.run(*command)
        self.assertTrue(list(e2e.Dump(trace).rows("name_frame")))
        self.assertEqual(os.stat(trace).st_mode & 0o777, 0o600)
        self.assertEqual(sorted(os.listdir(self.folder)), ["bin", "t.ebt"])
        # A bundle that fails leaves the trace, and the status of the command.
        with open(os.path.join(folder, "ebreport"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexit 3\n")
        done = e2e.run(*command[:-2], "sh", "-c", "exit 7", status=7)
        self.assertIn("no names", done.stderr.decode())
        self.assertFalse(list(e2e.Dump(trace).rows("name_frame")))
        self.assertEqual(sorted(os.listdir(self.folder)), ["bin", "t.ebt", "t.ebt.old"])
        e2e.run(ebrec, "--bundle", "-o", "-", "--", "true", status=125)


class Files(e2e.TestCase):
    def test_files(self):
        trace = self.record("--", "true")
        files = {row["role"]: row for row in e2e.rows("files", trace)}
        with open("/proc/kallsyms", "rb") as f:
            kallsyms = f.read()
        folder = self.path("out")
        e2e.run(e2e.EBREPORT, "extract", trace, "-o", folder)
        self.assertEqual(len(os.listdir(folder)), len(e2e.rows("files", trace)))
        for row in e2e.rows("files", trace):
            path, = (os.path.join(folder, name) for name in os.listdir(folder)
                     if name.startswith(f"{row['file_id']}-"))
            self.assertEqual(os.path.getsize(path), row["size"])
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            self.assertLessEqual(row["stored"], row["size"] + 4096)
            with open(path, "rb") as f:
                content = f.read()
            self.assertEqual(e2e.run(e2e.EBREPORT, "extract", trace, row["file_id"]).stdout, content)
            if row["role"] == "cpuinfo":
                self.assertIn(b"processor", content)
            if row["role"] == "kallsyms":
                # Text symbols of the kernel proper, as they are there.
                known = set(kallsyms.splitlines())
                lines = content.splitlines()
                self.assertGreater(sum(line in known for line in lines), len(lines) * 0.9)
        self.assertEqual(files["kallsyms"]["sensitivity"], "public")
        e2e.run(e2e.EBREPORT, "extract", trace, "kallsyms", "-o", folder, status=2)
        e2e.run(e2e.EBREPORT, "extract", trace, "kallsyms", "-o", folder, "--force")
        e2e.run(e2e.EBREPORT, "extract", trace, "no such role", status=1)
        e2e.run(e2e.EBREPORT, "extract", trace, status=2)

    def test_links_are_not_followed(self):
        trace = self.record("--", "true")
        folder, precious = self.path("out"), self.path("precious")
        os.mkdir(folder)
        with open(precious, "w", encoding="utf-8") as f:
            f.write("precious")
        number = next(row["file_id"] for row in e2e.rows("files", trace) if row["role"] == "cpuinfo")
        os.symlink(precious, os.path.join(folder, f"{number}-cpuinfo"))
        for force in ([], ["--force"]):
            e2e.run(e2e.EBREPORT, "extract", trace, number, "-o", folder, *force,
                    status=0 if force else 2)
            with open(precious, encoding="utf-8") as f:
                self.assertEqual(f.read(), "precious")
        self.assertFalse(os.path.islink(os.path.join(folder, f"{number}-cpuinfo")))

    def test_terminal(self):
        """A terminal gets no control characters."""
        trace = self.record("--", "true")
        number = next(row["file_id"] for row in e2e.rows("files", trace) if row["role"] == "vdso")
        done = subprocess.run(["script", "-qec", f"{e2e.EBREPORT} extract {trace} {number}",
                               "/dev/null"], capture_output=True, check=True,
                              env={**e2e.CLEAN, "EBREPORT_PAGER": "cat"},
                              stdin=subprocess.DEVNULL, timeout=e2e.SECONDS)
        self.assertIn(b"\\x7fELF", done.stdout)
        self.assertFalse(set(done.stdout) & (set(range(32)) - {9, 10, 13}))


if __name__ == "__main__":
    e2e.main()

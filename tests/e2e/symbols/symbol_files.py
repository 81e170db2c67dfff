# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of recorded frames, address by address, beside what addr2line says of the same build."""

import os
import re
import shutil

import e2e


class TestCase(e2e.TestCase):
    """Builds programs, and asks ebreport with a home of its own: no cache of anybody else."""

    def setUp(self):
        super().setUp()
        self.home = self.path("home")
        os.mkdir(self.home)

    def ebreport(self, *arguments, status=0):
        """Runs ebreport; what it says is in stdout and stderr of the result."""
        return e2e.run("env", f"HOME={self.home}", f"XDG_CACHE_HOME={self.home}/cache", e2e.EBREPORT,
                       *arguments, status=status)

    def folded(self, trace, *arguments):
        return self.ebreport("folded", *arguments, trace).stdout.decode()

    def modules(self, trace, *arguments):
        """Rows of `modules`, by path."""
        done = self.ebreport("modules", "--csv", *arguments, trace)
        lines = done.stdout.decode().splitlines()
        keys = lines[0].split(",")
        # Paths of these tests have neither commas nor quotes.
        return {row["module"]: row for row in (dict(zip(keys, line.split(","))) for line in lines[1:])}

    def names(self, trace, path, *arguments):
        """Frames at each address of a file, as a bundle has them: {(offset, caller): [(name, file,
        line), …]}, innermost first; [] where there is no name."""
        bundle = self.path("bundle.ebt")
        if os.path.exists(bundle):
            os.unlink(bundle)
        self.ebreport("bundle", "-o", bundle, *arguments, trace)
        dump = e2e.Dump(bundle, "--table", "name_object,name_frame")
        ids = [row["object_id"] for row in dump.rows("name_object") if row["path"] == f'"{path}"']
        found = {}
        for row in dump.rows("name_frame"):
            if row["object_id"] not in ids:
                continue
            frames = found.setdefault((int(row["offset"], 16), int(row["caller"])), [])
            if row["name"] != '""':
                frames.append((row["name"].strip('"'), os.path.basename(row["file"].strip('"')),
                               int(row["line"])))
        return found

    def assert_names(self, names, build):
        """They are those that addr2line finds in a file of the build, lines and inlines too."""
        segments = re.findall(r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) ",
                              e2e.run("readelf", "-lW", build).stdout.decode())
        segments = [[int(word, 16) for word in segment] for segment in segments]
        self.assertTrue(names)
        table = [line.split() for line in e2e.run("nm", build).stdout.decode().splitlines()]
        symbols = {words[-1]: words[0] for words in table}
        starts = [(int(words[0], 16), words[1:]) for words in table if len(words) == 3]
        for (offset, caller), frames in sorted(names.items()):
            address = next(vaddr + offset - caller - start for start, vaddr, size in segments
                           if start <= offset - caller < start + size)
            said = e2e.run("addr2line", "-i", "-f", "-C", "-e", build, hex(address)).stdout.decode()
            said = said.splitlines()
            want = []
            for function, place in zip(said[::2], said[1::2]):
                file, line = re.match(r"(.*):(\d+|\?)", place).groups()
                # Where there is no line, binutils give the file that a symbol table names.
                want.append((function, os.path.basename(file) if line not in "0?" else "",
                             int(line.replace("?", "0"))))
            if want[0][0] == "??" and (not frames or frames[0][0].endswith("@plt")):
                continue  # addr2line has no names for stubs
            last = max((start for start, _ in starts if start <= address), default=None)
            if len(frames) == 1 and (last, ["i", frames[0][0]]) in starts:
                continue  # addr2line looks past what chooses one of several functions
            if len(frames) == len(want) == 1 and frames[0][1:] == want[0][1:] == ("", 0) and \
                    symbols.get(frames[0][0], 0) == symbols.get(want[0][0]):
                continue  # two names of one function
            self.assertEqual(frames, want, f"{build} at {offset:#x}")

    def assert_unnamed(self, names):
        self.assertEqual({place: frames for place, frames in names.items() if frames}, {})

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def build(self, output, source, *options):
        os.makedirs(os.path.dirname(output), exist_ok=True)
        e2e.run("gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", output, source, *options)
        return output

    def take_debug(self, build, debug):
        """The build's debug information to a file of its own; the build loses it, and its symbols.
        Gives the path of a copy that has everything."""
        os.makedirs(os.path.dirname(debug), exist_ok=True)
        whole = self.path(os.path.basename(debug) + ".whole")
        shutil.copy(build, whole)
        e2e.run("objcopy", "--only-keep-debug", build, debug)
        e2e.run("strip", build)
        return whole

# SPDX-License-Identifier: GPL-2.0-or-later
"""A program is recorded, deleted, and rebuilt differently at the same path: no frame is ever named
by the new one. With the old one's debug file all have their names and lines."""

import os
import shutil

import e2e
import symbol_files

SOURCE = """
#include <time.h>
static volatile unsigned sum;
static inline __attribute__((always_inline)) void NAME(step)(unsigned i)
{
	sum += i * i;
}
__attribute__((noinline)) static void NAME(leaf)(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		NAME(step)(i);
}
__attribute__((noinline)) static void NAME(middle)(void)
{
	NAME(leaf)(100000);
	sum++;
}
int main(void)
{
	struct timespec t, end;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	end.tv_sec++;
	do {
		NAME(middle)();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec < end.tv_sec || (t.tv_sec == end.tv_sec && t.tv_nsec < end.tv_nsec));
	return 0;
}
"""

# Functions in another order and of another size: old addresses lie in functions of other names.
NEW = SOURCE.replace("static volatile unsigned sum;",
                     "static volatile unsigned sum;\n__attribute__((used, noinline)) static void "
                     "NAME(other)(void)\n{\n\tfor (int i = 0; i < 3; i++)\n\t\tsum += 7;\n}\n")


class Rebuilt(symbol_files.TestCase):
    def make(self, output, name, source, *options):
        text = f"#define NAME(x) {name}_##x\n{source}"
        return self.build(output, self.write(f"{name}.c", text), *options)

    def assert_only(self, names, prefix):
        """Whatever has a name has that of one build, or none of ours."""
        found = {name for frames in names.values() for name, _, _ in frames}
        for name in found:
            if name.endswith(("_step", "_leaf", "_middle", "_other")):
                self.assertTrue(name.startswith(prefix), f"{name}: {names}")
        return found

    def test_after_recording(self):
        prog = self.make(self.path("app/prog"), "old", SOURCE)
        os.mkdir(self.path("kept"))
        shutil.copy(prog, self.path("kept/prog"))
        old = self.take_debug(self.path("kept/prog"), self.path("debug/prog.debug"))
        trace = self.record("-F", "499", "--", prog)
        os.unlink(prog)

        self.assert_unnamed(self.names(trace, prog))
        row = self.modules(trace)[prog]
        self.assertEqual((row["file_found"], row["named"]), ("no such file", "0"))
        self.assertGreater(int(row["frames"]), 100)

        self.make(prog, "new", NEW)
        self.assert_unnamed(self.names(trace, prog))
        row = self.modules(trace)[prog]
        self.assertEqual(row["file_found"], "build-id differs")
        self.assertEqual(row["refused"], prog)
        self.assertEqual(row["named"], "0")
        self.assertNotRegex(self.folded(trace), "new_(step|leaf|middle|other)")
        reasons = e2e.report_json("info", trace)["naming"]["unnamed"]
        self.assertGreater(reasons["build-id differs"], 0)

        names = self.names(trace, prog, "--debug-dir", self.path("debug"))
        self.assert_names(names, old)
        self.assertGreaterEqual(self.assert_only(names, "old"),
                                {"old_step", "old_leaf", "old_middle", "main"})
        row = self.modules(trace, "--debug-dir", self.path("debug"))[prog]
        self.assertEqual((row["debug_info"], row["named"]), ("debug-dir", row["frames"]))

    def test_while_recording(self):
        prog = self.make(self.path("app/prog"), "old", SOURCE)
        new = self.make(self.path("next/prog"), "new", NEW)
        for build in (prog, new):
            shutil.copy(build, build + ".whole")
        script = f"{prog}; rm {prog}; cp {new} {prog}; {prog}"
        trace = self.record("-F", "499", "--", "sh", "-c", script)
        debug = self.path("debug")
        for name, build in (("old", prog), ("new", new)):
            self.take_debug(build + ".whole", f"{debug}/{name}.debug")

        # Both builds were at one path: the object's build-id tells them apart.
        dump = e2e.Dump(trace, "--table", "mmap")
        ids = {row["build_id"] for row in dump.rows("mmap") if row["path"] == f'"{prog}"'}
        self.assertEqual(len(ids), 2, ids)
        stacks = [line for line in self.folded(trace).splitlines() if "prog" in line]
        self.assertTrue(any("new_leaf" in line for line in stacks), stacks)
        for line in stacks:
            self.assertFalse(";old_leaf" in line and ";new_leaf" in line, line)

        # The old one is named by its debug file, which is not called as the program is.
        os.makedirs(f"{debug}/.build-id")
        for name in ("old", "new"):
            notes = e2e.run("readelf", "-n", f"{debug}/{name}.debug").stdout.decode()
            build_id = notes.split("Build ID: ")[1].split()[0]
            os.makedirs(f"{debug}/.build-id/{build_id[:2]}", exist_ok=True)
            os.rename(f"{debug}/{name}.debug", f"{debug}/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
        stacks = [line for line in self.folded(trace, "--debug-dir", debug).splitlines()
                  if "prog" in line]
        time = {name: sum(int(line.rsplit(" ", 1)[1]) for line in stacks if f";{name}_leaf" in line)
                for name in ("old", "new")}
        self.assertGreater(min(time.values()), max(time.values()) / 10, time)
        for line in stacks:
            self.assertNotIn("prog+0x", line)

    def test_without_build_id(self):
        prog = self.make(self.path("app/prog"), "old", SOURCE, "-Wl,--build-id=none")
        trace = self.record("-F", "499", "--", prog)
        self.assertGreater(len(self.names(trace, prog)), 0)
        shutil.move(prog, self.path("old"))
        self.make(prog, "new", NEW, "-Wl,--build-id=none")
        # Of another size, and then of the same.
        for _ in range(2):
            row = self.modules(trace)[prog]
            if row["file_found"] == "trace":
                # It travels in the trace, as nobody could get it again: it is the old one.
                self.assertEqual(row["match"], "content")
            else:
                self.assertEqual(row["file_found"], "content differs")
            self.assert_only(self.names(trace, prog), "old")
            with open(self.path("old"), "rb") as f:
                content = bytearray(f.read())
            content = content.replace(b"old_leaf", b"new_leaf")
            with open(prog, "wb") as f:
                f.write(content)
        shutil.copy(self.path("old"), prog)
        row = self.modules(trace)[prog]
        self.assertEqual(row["match"], "content")
        self.assertEqual(row["named"], row["frames"])
        self.assert_names(self.names(trace, prog), self.path("old"))


if __name__ == "__main__":
    e2e.main()

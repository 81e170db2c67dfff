# SPDX-License-Identifier: GPL-2.0-or-later
"""What `share` writes has no secret, reads as the trace does, and is what its verdict says."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import e2e
import test_scrub

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/tools"))
import ebtdump  # noqa: E402


INLINED = r"""
#include <cstdint>
static volatile uint64_t sink;
static inline __attribute__((always_inline)) uint64_t step(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}
#define PLACE(n) __attribute__((noinline)) void place##n(uint64_t x) \
	{ for (int i = 0; i < 3000000; i++) x = step(x); sink += x; }
PLACE(0) PLACE(1) PLACE(2) PLACE(3)
__attribute__((noinline)) void last(uint64_t x)
{
	for (int i = 0; i < 3000000; i++)
		x = step(x);
	sink += x;
}
int main()
{
	for (int i = 1; i < 20; i++) {
		place0(i);
		place1(i);
		place2(i);
		place3(i);
		last(i);
	}
}
"""


class Share(e2e.TestCase):
    record_secrets = test_scrub.Scrub.record_secrets
    make_program = test_scrub.Scrub.make_program
    make_cgroup = test_scrub.Scrub.make_cgroup
    found = test_scrub.Scrub.found

    def share(self, trace, *options):
        """The rows of the verdict, by what they are about."""
        done = e2e.run(e2e.EBREPORT, "share", "--json", "--no-symbol-cache", *options, trace)
        self.verdict = json.loads(done.stdout)
        return {row["what"]: row for row in self.verdict["rows"]}

    def shares(self):
        return self.record("--", e2e.program("shares"), "1")

    def test_secrets(self):
        trace = self.record_secrets()
        bundle = self.path("bundle.ebt")
        e2e.run(e2e.EBREPORT, "bundle", trace, "-o", bundle)
        self.assertEqual(self.found(trace) | self.found(bundle), set(test_scrub.PLANTED))
        public = self.path("public.ebt")
        rows = self.share(trace, "-o", public)
        self.assertEqual(self.found(public), set())
        e2e.run("python3", os.path.join(e2e.SOURCE, "tests/tools/ebtdump.py"), "--check", public)
        for what in "command_lines", "host", "users", "texts", "arguments", "files", "stack_memory":
            self.assertEqual(rows[what]["readable_count"], 0, what)
            self.assertGreater(rows[what]["before_count"], 0, what)
        self.assertEqual(self.verdict["output_bytes"], os.path.getsize(public))
        # What is kept is what was asked for, and no more.
        rows = self.share(trace, "-o", public, "--keep", "args,host")
        self.assertEqual({w for w in ("command_lines", "host") if rows[w]["readable_count"]},
                         {"command_lines", "host"})
        found = self.found(public)
        self.assertLessEqual({"argument of the command", "argument of a child", "host name"}, found)
        self.assertFalse(found & {"text of a mark", "line of output", "memory of a stack",
                                  "name of the source", "control group", "name of a thread"})

    def test_verdict_counts(self):
        """Against the texts that the second reader finds in the copy."""
        trace = self.record("-a", "-e", "sample,sched,task", "-d", "1s")
        public = self.path("t.share.ebt")
        rows = self.share(trace)
        text = e2e.run("python3", os.path.join(e2e.SOURCE, "tests/tools/ebtdump.py"),
                       public).stdout.decode()
        alias = re.compile(r"(prog|thread)-[0-9]+")
        comms = set(re.findall(r' comm="((?:[^"\\]|\\.)+)"', text))
        comms |= set(re.findall(r'=[0-9]+/[0-9]+/[0-9]+/"((?:[^"\\]|\\.)+)"', text))
        self.assertTrue(comms)
        self.assertEqual((rows["programs"]["readable_count"], rows["programs"]["alias_count"]),
                         (sum(not alias.fullmatch(c) for c in comms),
                          sum(bool(alias.fullmatch(c)) for c in comms)))
        lines = set(re.findall(r' cmdline="((?:[^"\\]|\\.)+)"', text))
        self.assertFalse({line for line in lines if not re.fullmatch(r"command-[0-9]+", line)})
        frames = [line for line in text.splitlines() if line.split(" ", 2)[1] == "name_frame"]
        self.assertEqual(self.verdict["named_places"],
                         sum(' depth=0 ' in f and ' name=""' not in f for f in frames))

    def test_large_user_ids(self):
        """As of a domain or a user namespace: they look as those that scrubbing gives."""
        trace = self.record("--", "setpriv", "--reuid", "200123", "--clear-groups",
                            e2e.program("shares"), "1")
        public, users = self.path("t.share.ebt"), ("before_count", "readable_count", "alias_count")
        for options, count in ((), (1, 0, 1)), (("--keep", "users"), (1, 1, 0)):
            row = self.share(trace, *options)["users"]
            self.assertEqual(tuple(row[key] for key in users), count, options)
        again = self.path("again.ebt")
        e2e.run(e2e.EBREPORT, "scrub", trace, "-f", "-o", public)
        row = self.share(public, "-o", again)["users"]
        self.assertEqual(tuple(row[key] for key in users), (0, 0, 1))

    def lines(self, trace):
        """Time and lines of each function; without the names of files, which have aliases."""
        return {row["function"]: (row["self_ns"], row["total_ns"],
                                  row["lines"].rsplit(":", 1)[1] if "lines" in row else None)
                for row in e2e.rows("callgraph", trace)}

    def same_lines(self, trace, public):
        lines = self.lines(trace)
        self.assertTrue(any(line for _, _, line in lines.values()))
        self.assertEqual(lines, self.lines(public))
        return lines

    def test_lines(self):
        """Inlined many times, with equal weights: the lines are those of the trace, and each place
        has the lines that addr2line finds."""
        program, source = self.path("program"), self.path("p.cpp")
        with open(source, "w", encoding="utf-8") as f:
            f.write(INLINED)
        e2e.run("g++", "-g", "-O2", "-o", program, source)
        trace = self.record("-e", "sample,task", "--", program)
        self.share(trace)
        public = self.path("t.share.ebt")
        self.assertIn("step", self.same_lines(trace, public))
        dump = e2e.Dump(public)
        alias = next(row["filename"] for row in dump.rows("task_exec"))
        objects = {row["object_id"] for row in dump.rows("name_object") if row["path"] == alias}
        self.assertEqual(len(objects), 1)
        places = {}
        for row in dump.rows("name_frame"):
            if row["object_id"] in objects and row["line"] != "0":
                offset = int(row["offset"], 16) - int(row["caller"])
                places.setdefault(offset, {})[int(row["depth"])] = row["line"]
        self.assertTrue(any(len(lines) > 1 for lines in places.values()))
        for offset, lines in places.items():
            found = e2e.run("addr2line", "-i", "-e", program, hex(offset)).stdout.decode()
            found = [line.split(" ")[0].rsplit(":", 1)[1] for line in found.splitlines()]
            self.assertEqual([lines[depth] for depth in sorted(lines)], found, hex(offset))

    def test_reads_the_same(self):
        trace = self.shares()
        self.share(trace)
        public = self.path("t.share.ebt")
        self.assertIn("burn_half", self.same_lines(trace, public))
        for report in ("sched", "offcpu", "procs"):
            before, after = e2e.rows(report, trace), e2e.rows(report, public)
            numbers = [[{k: v for k, v in row.items() if isinstance(v, (int, float))}
                        for row in rows] for rows in (before, after)]
            self.assertEqual(*numbers, report)
        self.assertRegex(e2e.ebreport("overview", public), r"burn_half \(prog-[0-9]+\)")

    def test_five_lines(self):
        trace = self.shares()
        lines = e2e.ebreport("share", trace).splitlines()
        self.assertEqual(len(lines), 5, lines)
        self.assertTrue(lines[0].startswith(self.path("t.share.ebt") + ": "), lines[0])
        self.assertEqual([line.split()[0] for line in lines[1:]],
                         ["readable", "aliases", "gone", "look"])
        named = self.path("it's a $copy.ebt")
        lines = e2e.ebreport("share", trace, "-o", named).splitlines()
        word = re.fullmatch(r"look +ebreport (.*) reads it; ebreport dump (.*) has .*", lines[4])
        for quoted in word.groups():
            self.assertEqual(e2e.run("sh", "-c", f"printf %s {quoted}").stdout.decode(), named)

    def test_words_that_stay_are_told(self):
        """A function has the name of the user: the verdict says so."""
        source, home = self.path("x.c"), self.path("home")
        os.makedirs(os.path.join(home, "zquser"))
        with open(source, "w", encoding="utf-8") as f:
            f.write("volatile long n; __attribute__((noinline)) void of_zquser_burn(void)"
                    "{ for (long i = 0; i < 300000000; i++) n += i; }"
                    "int main(void) { of_zquser_burn(); }")
        built = self.path("built")
        e2e.run("gcc", "-g", "-O1", "-o", built, source)
        program = "/home/zquser/prog"
        e2e.run("unshare", "-m", "sh", "-c", f"mount --bind {home} /home && cp {built} {program} && "
                f"{e2e.EBREC} -q -e sample,task -o {self.path('t.ebt')} -- {program}")
        self.share(self.path("t.ebt"))
        self.assertIn("'zquser'", "".join(self.verdict["warnings"]))
        self.assertIn("of_zquser_burn", "".join(self.verdict["warnings"]))
        self.share(self.path("t.ebt"), "--drop", "names")
        self.assertEqual(self.verdict["warnings"], [])

    def test_output(self):
        trace = self.shares()
        for output in "/dev/stdout", "-":
            refused = e2e.run(e2e.EBREPORT, "share", trace, "-o", output, status=2)
            self.assertIn(f"-o {output} is no file".encode(), refused.stderr)
            self.assertIn(b"reads again what it wrote", refused.stderr)
            self.assertEqual(refused.stdout, b"")
        self.assertFalse(os.path.exists(self.path("t.share.ebt")))
        with open(trace, "rb") as f:
            refused = subprocess.run([e2e.EBREPORT, "share", "-"], stdin=f, capture_output=True,
                                     timeout=60, check=False)
        self.assertEqual((refused.returncode, b"-o FILE" in refused.stderr), (2, True))
        note = self.path("t.share.ebt")
        with open(note, "w", encoding="utf-8") as f:
            f.write("mine\n")
        e2e.run(e2e.EBREPORT, "share", trace, status=2)
        with open(note, encoding="utf-8") as f:
            self.assertEqual(f.read(), "mine\n")
        e2e.run(e2e.EBREPORT, "share", "-f", trace)
        with open(note, "rb") as f:
            self.assertEqual(f.read(8), ebtdump.FILE_MAGIC)

    def test_nothing_is_left(self):
        """No temporary file, whenever it ends."""
        trace = self.shares()
        folder = self.path("out")
        os.mkdir(folder)
        for number in range(8):
            child = self.start(e2e.EBREPORT, "share", trace, "-o", os.path.join(folder, "o.ebt"),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.05 * number)
            child.send_signal((signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[number % 3])
            child.wait(timeout=60)
            self.assertLessEqual(set(os.listdir(folder)), {"o.ebt"})
            shutil.rmtree(folder)
            os.mkdir(folder)


if __name__ == "__main__":
    e2e.main()

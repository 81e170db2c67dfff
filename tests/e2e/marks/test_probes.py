# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes of functions and of USDT: arguments, results and times as the program itself knows them.

What rows hold is taken apart here by what docs/FORMAT.md says, not by the reports' own reader.
"""

import collections
import json
import os
import re
import shutil
import struct
import subprocess
import time

import e2e

PROBED = e2e.program("probed")
# Not one of somebody's own in PATH, which may lack the probes.
PYTHON = "/usr/bin/python3"

Hit = collections.namedtuple("Hit", "kind task depth begin end result values stack")

FUNCTIONS = {
    "probed_mixed": "1/d32+byte=2/u8+text=3/s+4@0/d32+inner=4@8/s+raw=4/m4+5/b+6/d+%rsp/x",
    "probed_sleep": "1/d32+ret/d32",
    "probed_factorial": "n=1/d32+ret",
    "probed_leap": "1/d32",
    "probed_text": "which=1/d32+before=2/s+after=2/s@ret+ret/s",
    "probed_jump": "1/d32",
    "probed_thread": "1/d32",
    "probed_float": None,
    "probed_never": "1/d32",
}


def unquoted(text):
    return re.sub(r'\\(?:x([0-9a-f]{2})|(.))',
                  lambda m: chr(int(m[1], 16)) if m[1] else m[2], text[1:-1])


def value(arg, data):
    """What an argument is, and the bytes behind it."""
    kind, elements = arg["kind"], int(arg["elements"])
    if kind not in ("string", "bytes") and not elements:
        return struct.unpack_from("<q" if kind == "signed" else "<Q", data)[0], data[8:]
    length = struct.unpack_from("<H", data)[0]
    if length == 65535:
        return None, data[2:]
    data, rest = data[2:2 + length], data[2 + length:]
    if kind == "string":
        return data.decode(), rest
    if kind == "bytes":
        return data, rest
    return int.from_bytes(data, "little", signed=kind == "signed"), rest


def hits(trace):
    """{name of the probe: [Hit]}, in order of time."""
    dump = e2e.Dump(trace)
    names = {row["probe"]: unquoted(row["name"]) for row in dump.rows("probe")}
    args = collections.defaultdict(list)
    for row in dump.rows("probe_arg"):
        args[row["probe"]].append(dict(row, name=unquoted(row["name"])))
    found = collections.defaultdict(list)
    for row in dump.rows("probe_hit"):
        data, values = bytes.fromhex(row["args"][1:]), {}
        for i, arg in enumerate(args[row["probe"]]):
            assert i == int(arg["index"])
            values[arg["name"] or i + 1], data = value(arg, data)
        assert not data, f"{len(data)} bytes are left of {row}"
        found[names[row["probe"]]].append(
            Hit(row["kind"], int(row["task"].split("/")[0]), int(row["depth"]),
                row["time"] - int(row["duration"]), row["time"], int(row["result"], 16), values,
                row["ustack"]))
    return found


def signed(number, bits=32):
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


class Probes(e2e.TestCase):
    def probed(self, sources, *arguments, status=0):
        """Rows, and [(function, thread, before, after, result)] of the program."""
        trace = self.record("-e", sources, "--", PROBED, *arguments, status=status)
        self.assert_no_loss(trace)
        calls = [line.split() for line in self.recorded.stdout.decode().splitlines()]
        return trace, [(name, *map(int, numbers)) for name, *numbers in calls]

    def match(self, spans, calls, name):
        """Each call that the program saw is a span within it, with the same result."""
        calls = [call for call in calls if call[0] == name]
        outer = [span for span in spans if not span.depth]
        self.assertEqual(len(outer), len(calls), name)
        for span, (_, tid, before, after, result) in zip(outer, calls):
            self.assertEqual((span.kind, span.task), ("span", tid), name)
            self.assertGreaterEqual(span.begin, before, name)
            self.assertLessEqual(span.end, after, name)
            self.assertEqual(signed(span.result), signed(result), name)

    def test_functions(self):
        trace, calls = self.probed(",".join(
            f"uprobe:{PROBED}:{name}" + (f":{args}" if args else "")
            for name, args in FUNCTIONS.items()), status=3)
        found = hits(trace)
        self.assertEqual(set(found), set(FUNCTIONS))
        self.check_mixed(found["probed_mixed"], calls)
        self.check_sleep(found["probed_sleep"], calls)
        self.check_recursion(found["probed_factorial"], calls)
        self.check_leaps(found["probed_leap"], found["probed_factorial"])
        self.check_texts(found["probed_text"], calls)
        self.check_jump(found["probed_jump"], found["probed_thread"], calls)
        self.check_threads(found["probed_thread"])
        # Numbers with a point are in other registers: the first whole number is the second.
        self.assertEqual([signed(hit.values[1]) for hit in found["probed_float"]], [3])
        self.assertEqual([(hit.kind, hit.values[1]) for hit in found["probed_never"]],
                         [("entered", 3)])
        # Stacks are of the entry: the function, then who called it, to the end; also where callers
        # are functions whose return addresses the kernel has replaced.
        stacks = e2e.ebreport("folded", "--event", "probe_hit", "--weight", "rows",
                              trace)
        self.assertRegex(stacks, r"(?m);main;probed_sleep 3$")
        self.assertRegex(stacks, r"(?m);run_thread;probed_thread 800$")
        self.assertRegex(stacks, r"(?m);main" + 12 * ";probed_factorial" + " 1$")
        self.assertNotIn("0x7ff", stacks)

    def check_mixed(self, spans, calls):
        self.match(spans, calls, "probed_mixed")
        for i, span in enumerate(spans[:3]):
            self.assertGreater(span.values.pop("rsp"), 0)
            self.assertEqual(span.values,
                             {1: -i, "byte": 200 + i, "text": "a text", 4: -5,
                              "inner": "in a struct", "raw": struct.pack("<i", -5), 7: i & 1,
                              8: -(1 << 40)})
        self.assertRegex(spans[3].values["text"], "^x{200,255}…$")

    def check_sleep(self, spans, calls):
        self.match(spans, calls, "probed_sleep")
        for i, span in enumerate(spans, 1):
            self.assertGreaterEqual(span.end - span.begin, i * 10_000_000)
            self.assertEqual(span.values, {1: 10 * i, "ret": -10 * i})

    def check_recursion(self, spans, calls):
        self.match(spans, calls, "probed_factorial")
        first = [span for span in spans if span.end <= spans[11].end]
        self.assertEqual([span.depth for span in first], list(range(11, -1, -1)))
        product = 1
        for n, span in enumerate(first, 1):
            product *= n
            self.assertEqual((span.values["n"], span.values["ret"]), (n, product))
        for inner, outer in zip(first, first[1:]):
            self.assertLess(outer.begin, inner.begin)
            self.assertLess(inner.end, outer.end)
        self.assertEqual([(span.depth, span.values["n"]) for span in spans[12:]],
                         [(1, 1), (0, 2)] * 3)

    def check_leaps(self, left, spans):
        """What longjmp() left is known at the next call at the latest."""
        self.assertEqual(sorted((hit.kind, hit.values[1], hit.depth) for hit in left),
                         sorted([("entered", n, 3 - n) for n in range(4)] * 3))
        for i in range(3):
            for hit in left[4 * i:4 * i + 4]:
                self.assertLessEqual(hit.end, spans[12 + 2 * i].end)

    def check_texts(self, spans, calls):
        self.match(spans, calls, "probed_text")
        self.assertEqual([span.values for span in spans],
                         [{"which": 0, "before": "", "after": "number 0", "ret": None},
                          {"which": 41, "before": "number 0", "after": "number 41",
                           "ret": "something"}])

    def check_jump(self, jumps, jumped, calls):
        self.match(jumps, calls, "probed_jump")
        inner = [hit for hit in jumped if hit.values[1] == 5]
        self.assertEqual([(hit.kind, hit.result) for hit in inner], [("span", 15)])
        self.assertLess(jumps[0].begin, inner[0].begin)
        self.assertLessEqual(inner[0].end, jumps[0].end)

    def check_threads(self, spans):
        by_task = collections.defaultdict(list)
        for span in spans:
            if span.values[1] >= 1000:
                by_task[span.task].append(span)
                self.assertEqual((span.kind, span.depth, signed(span.result)),
                                 ("span", 0, 3 * span.values[1]))
        self.assertEqual(sorted([span.values[1] for span in one] for one in by_task.values()),
                         [[1000 * thread + i for i in range(200)] for thread in range(1, 5)])

    def test_names_from_debug_information(self):
        """Of registers alone: names, signs and widths; what is in no register is left out."""
        names = ("probed_mixed", "probed_float", "probed_text", "probed_leap")
        trace, _ = self.probed(",".join(f"uprobe:{PROBED}:{name}" for name in names), status=3)
        said = {row["name"]: row["message"] for row in reversed(e2e.rows("marks", trace))}
        self.assertRegex(said["probed_mixed"], r"^number=0 byte=200 text=0x[0-9a-f]+ "
                         r"pair=0x[0-9a-f]+ flag=false wide=-1099511627776 -> -1099511627477$")
        self.assertEqual(said["probed_float"], "n=3")
        self.assertRegex(said["probed_text"], r"^which=0 out=0x[0-9a-f]+ -> (0|0x0)$")
        self.assertEqual(said["probed_leap"], "n=3")

    def test_names_of_cxx(self):
        """As the source has them, against what the linker knows."""
        library = e2e.run("gcc", "-print-file-name=libstdc++.so.6").stdout.decode().strip()
        symbols = e2e.run("readelf", "--dyn-syms", "-W", library).stdout.decode()
        trace = self.record("-e", f"uprobe:{library}:std::terminate", "--", "true")
        [probe] = e2e.Dump(trace).rows("probe")
        address = re.search(r" ([0-9a-f]{16}) .* _ZSt9terminatev@", symbols)[1]
        # Code of a library is where its address says.
        self.assertEqual(int(probe["offset"], 0), int(address, 16))

    def test_entries_only(self):
        """NAME+0 has no return, which exceptions would not survive; the place is the same."""
        trace, calls = self.probed(f"uprobe:{PROBED}:probed_factorial+0,uprobe:{PROBED}:"
                                   "probed_sleep+0:1/d32", status=3)
        found = hits(trace)
        self.assertEqual({(hit.kind, hit.depth) for rows in found.values() for hit in rows},
                         {("instant", 0)})
        slept = [call for call in calls if call[0] == "probed_sleep"]
        self.assertEqual([hit.values[1] for hit in found["probed_sleep+0"]],
                         [-result for *_, result in slept])
        outer = [call for call in calls if call[0] == "probed_factorial"]
        self.assertGreater(len(found["probed_factorial+0"]), len(outer))

    def test_other_stacks(self):
        """Who waits in a function that is followed has its whole stack."""
        trace, _ = self.probed(f"offcpu,uprobe:{PROBED}:probed_sleep,"
                               "uprobe:libc.so.6:nanosleep", status=3)
        stacks = e2e.ebreport("folded", "--event", "offcpu", trace)
        self.assertRegex(stacks, r"(?m);__libc_start_main.*;main;probed_sleep;.*nanosleep")

    def test_usdt(self):
        trace, _ = self.probed(f"usdt:{PROBED}:probed:*[!t]s,usdt:{PROBED}:probed:plain,"
                               f"usdt:{PROBED}:pro*:texts:from=1/s+2/d+to=3/s", status=3)
        found = hits(trace)
        self.assertEqual({name: len(rows) for name, rows in found.items()},
                         {"plain": 100, "numbers": 100, "texts": 100})
        words = ["zero", "one", "two", "three"]
        for i in range(100):
            self.assertEqual(found["numbers"][i].values,
                             {"arg1": -i, "arg2": 65535 - i, "arg3": -300,
                              "arg4": 1234567890123})
            self.assertEqual(found["texts"][i].values,
                             {"from": words[i % 4], "arg2": i, "to": words[(i + 1) % 4]})
            self.assertEqual(found["plain"][i].values, {})
        self.assertTrue(all(hit.kind == "instant" for rows in found.values() for hit in rows))
        stacks = e2e.ebreport("folded", "--event", "probe_hit", "--weight", "rows",
                              trace)
        self.assertRegex(stacks, r"(?m);main;run_usdt \d+$")

    def test_library_that_comes_later(self):
        plugin = e2e.program("plugin_one.so")
        trace, calls = self.probed(f"uprobe:{plugin}:work", plugin)
        self.match(hits(trace)["work"], [call[:4] + (hit.result,) for call, hit
                                         in zip(calls, hits(trace)["work"])], "work")

    def test_library_as_strace_counts(self):
        """Calls of libc, by its name, with results; also of a child."""
        command = [PYTHON, "-c", "import os\nfor i in range(500): os.getppid()\n"
                                 "if os.fork():\n os.wait()\nelse: os.getppid()"]
        trace = self.record("-e", "uprobe:libc.so.6:getppid:ret/d32", "--", *command)
        self.assert_no_loss(trace)
        spans = hits(trace)["getppid"]
        text = e2e.run("strace", "-f", "-c", "-e", "trace=getppid", "-o", "/dev/stderr",
                       *command).stderr.decode()
        self.assertEqual(len(spans), int(re.search(r"(\d+)\s+getppid$", text, re.M)[1]))
        self.assertEqual(len({span.task for span in spans}), 2)
        self.assertEqual(spans[-1].values["ret"], spans[0].task)

    def test_library_below_chroot(self):
        """A soname is the file that the process has mapped, wherever its root is."""
        root = self.path("root")
        needed = re.findall(r"/\S+", e2e.run("ldd", "/bin/sleep").stdout.decode())
        for name in ["/bin/sleep", *needed]:
            os.makedirs(root + os.path.dirname(name), exist_ok=True)
            shutil.copy(name, root + name)
        copy = root + next(name for name in needed if name.endswith("/libc.so.6"))
        sleeper = self.start("chroot", root, "/bin/sleep", "60")
        for _ in range(1000):
            with open(f"/proc/{sleeper.pid}/maps", encoding="utf-8") as f:
                if copy in f.read():
                    break
            time.sleep(0.01)
        trace = self.record("-e", "uprobe:libc.so.6:nanosleep", "-d", "100ms", "-p", sleeper.pid)
        [probe] = e2e.Dump(trace).rows("probe")
        self.assertTrue(os.path.samefile(unquoted(probe["path"]), copy), probe["path"])

    def test_python(self):
        """Python's own probe of returns, against sys.setprofile(); that of entries is broken in
        CPython 3.11, which reaches it for generators only."""
        script = self.path("script.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write("import sys, json\n"
                    "def leaf(n): return n\n"
                    "def twice(n): return leaf(n) + leaf(n + 1)\n"
                    "def fail(n): raise ValueError(twice(n))\n"
                    "def work():\n"
                    "    for i in range(20):\n"
                    "        twice(i)\n"
                    "        try: fail(i)\n"
                    "        except ValueError: pass\n"
                    "    return sorted(range(3), key=lambda x: -x)\n"
                    "seen = []\n"
                    "def note(frame, event, arg):\n"
                    "    if event == 'return': seen.append(frame.f_code.co_name)\n"
                    "if len(sys.argv) > 1: sys.setprofile(note)\n"
                    "work()\n"
                    "sys.setprofile(None)\n"
                    "if len(sys.argv) > 1: print(json.dumps(seen))\n")
        truth = json.loads(e2e.run(PYTHON, script, "truth").stdout)
        trace = self.record("-e", f"usdt:{PYTHON}:python:function__return:"
                            "file=1/s+name=2/s+line=3/d", "--", PYTHON, script)
        self.assert_no_loss(trace)
        names = [hit.values["name"] for hit in hits(trace)["function__return"]
                 if hit.values["file"] == script]
        self.assertEqual(names, truth + ["<module>"])

    def test_refused_place(self):
        """The kernel looks at instructions of what runs: which it does not probe is said."""
        program = e2e.program("refused")
        child = self.start(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        child.stdout.readline()
        names = [f"uprobe:{program}:refused_{name}" for name in ("before", "here", "behind")]
        done = e2e.run(e2e.EBREC, "-f", "-e", ",".join(names), "-o", self.path("t.ebt"), "-p",
                       str(child.pid), status=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"cannot probe refused_here at \S+/refused "
                         r"\(0x[0-9a-f]+\): the kernel cannot probe this instruction")
        child.communicate(b"go\n")

    def test_refused_place_of_a_pattern(self):
        """It is left out and told, unless it was named or nothing is left."""
        program, said = e2e.program("refused"), r"\(the kernel cannot probe this instruction\)"
        child = self.start(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        child.stdout.readline()
        for sources in (f"uprobe:{program}:refused_h*",
                        f"uprobe:{program}:refused_*,uprobe:{program}:refused_here"):
            done = e2e.run(e2e.EBREC, "-f", "-e", sources, "-o", self.path("x.ebt"), "-p",
                           str(child.pid), status=None)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr.decode(), r"cannot probe refused_here at \S+/refused "
                             r"\(0x[0-9a-f]+\): the kernel cannot probe this instruction")
        trace = self.path("t.ebt")
        recorder = self.start(e2e.EBREC, "-v", "-f", "-e", f"uprobe:{program}:refused_*:1/d32",
                              "-o", trace, "-p", str(child.pid), stderr=subprocess.PIPE)
        self.wait_for_rows(trace, recorder, "source")
        child.communicate(b"go\n")
        self.assertRegex(recorder.communicate()[1].decode(),
                         "source uprobe: 1 refused " + said + ": refused_here")
        self.assertEqual({name: [(hit.kind, hit.values[1], signed(hit.result)) for hit in rows]
                          for name, rows in hits(trace).items()},
                         {"refused_before": [("span", -3, -2)],
                          "refused_behind": [("span", -2, 0)]})
        self.assertEqual([unquoted(row["name"]) for row in e2e.Dump(trace).rows("probe")],
                         ["refused_before", "refused_behind"])
        [row] = [row for row in e2e.report_json("info", trace)["sources"]
                 if row["name"].startswith("uprobe")]
        self.assertEqual(row["status"], "partial")
        self.assertRegex(row["detail"], "^1 refused " + said + ": refused_here$")

    def test_what_is_wrong(self):
        for source, said in {
                "uprobe:/no/such/file:main": "cannot open /no/such/file",
                "uprobe:/etc/passwd:main": "not an ELF file",
                "uprobe:libnosuch.so.1:main": "no library or program 'libnosuch.so.1'",
                f"uprobe:{PROBED}:probed_sleeep": "probed_sleep",
                f"uprobe:{PROBED}:0x10": "no code at '0x10'",
                f"uprobe:{PROBED}": "not PATH:FUNCTION",
                f"uprobe:{PROBED}:main:7/d": "no argument 7",
                f"uprobe:{PROBED}:main:1/q": "'/q' is no format",
                f"uprobe:{PROBED}:main:1/d12": "8, 16, 32 or 64 bits",
                f"uprobe:{PROBED}:main:%foo": "'%foo' is no register",
                f"uprobe:{PROBED}:main,uprobe:{PROBED}:main:1/d": "are the same function",
                "uprobe:libc.so.6:memcpy": "__memcpy_avx",
                "uprobe:libstdc++.so.6:std::terminate(int)": "_ZSt9terminatev",
                "uprobe:libstdc++.so.6:std::random_device::_M_init":
                    "_ZNSt13random_device7_M_init",
                f"usdt:{PROBED}:probed:nothing": "it has probed:plain, probed:numbers",
                f"usdt:{PROBED}:probed": "not PATH:PROVIDER:NAME",
                "usdt:/bin/true:probed:plain": "has no USDT probe"}.items():
            with self.subTest(source):
                trace = self.path("x.ebt")
                done = e2e.run(e2e.EBREC, "-o", trace, "-e", source, "--", "true", status=None)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(said, done.stderr.decode())
                self.assertFalse(os.path.exists(trace))


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Code generated at run time: names by perf maps and jitdump files of node, CPython and a program
whose names and shares are known, in namespaces of their own, and files that must not be believed."""

import collections
import glob
import os
import re
import shutil
import subprocess

import e2e

GENERATED = e2e.program("generated")
TMP_MAP = "/tmp/perf-{}.map"

JAVASCRIPT = """
function alpha(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
function beta(n) { let s = 1; for (let i = 0; i < n; i++) s = (s * 17 + i) % 999983; return s; }
const cpu = () => process.cpuUsage().user / 1e6;
let x = 0, time = { alpha: 0, beta: 0 };
while (cpu() < 2.5) {
    const a = cpu(); x += alpha(300000);
    const b = cpu(); x += beta(100000);
    time.alpha += b - a; time.beta += cpu() - b;
}
console.log(time.alpha, time.beta, process.pid);
"""

PYTHON = """
import time
def alpha(n):
    for i in range(n): n = (n * 31 + i) % 1000003
def beta(n):
    for i in range(n): n = (n * 17 + i) % 999983
class Runner:
    def run(self):
        spent = [0, 0]
        while sum(spent) < 2:
            a = time.process_time(); alpha(30000)
            b = time.process_time(); beta(10000)
            spent[0] += b - a; spent[1] += time.process_time() - b
        print(*spent)
Runner().run()
"""


def pythons():
    """Interpreters that can write perf maps."""
    found = [shutil.which(f"python3.{minor}") for minor in range(12, 20)]
    found += glob.glob("/root/.pyenv/versions/3.1[2-9].*/bin/python3.1[2-9]")
    good = {}
    for path in filter(None, found):
        done = e2e.run(path, "-X", "perf", "-c", "import sys; print(sys.version_info[:2], "
                       "sys.is_stack_trampoline_active())", status=None)
        if done.returncode == 0 and done.stdout.strip().endswith(b"True"):
            good.setdefault(done.stdout.split(b")")[0], path)
    return sorted(good.values())


class Jit(e2e.TestCase):
    def setUp(self):
        super().setUp()
        self.maps = set(glob.glob(TMP_MAP.format("*")) + glob.glob("/tmp/jit-*.dump"))
        self.addCleanup(self.remove_maps)

    def remove_maps(self):
        for path in set(glob.glob(TMP_MAP.format("*")) + glob.glob("/tmp/jit-*.dump")) - self.maps:
            if not os.path.exists("/proc/" + re.search("[0-9]+", path).group()):
                os.unlink(path)

    def record(self, *arguments, **options):
        return super().record("-F", "999", "-e", "sample", *arguments, **options)

    def shares(self, trace, below="burn"):
        """By name, a function's share of what `below` calls; what it calls itself counts too."""
        found = collections.defaultdict(float)
        total = 0
        for line in e2e.ebreport("folded", trace).splitlines():
            stack, weight = line.rsplit(" ", 1)
            if f";{below};" not in stack:
                continue
            total += int(weight)
            for frame in set(stack.split(";")):
                found[frame] += int(weight)
        self.assertGreater(total, 0)
        return {name: weight / total for name, weight in found.items()}

    def generated(self, *arguments, **options):
        return self.shares(self.record("--", GENERATED, *arguments, **options))

    def assert_named(self, found, name, at_least=0.7):
        self.assertGreater(found.get(name, 0), at_least, found)

    def assert_nameless(self, found):
        """Nearly all is in one address."""
        self.assertGreater(sum(share for name, share in found.items()
                               if name.startswith("0x")), 0.7, found)

    def files(self, trace, role):
        return [row for row in e2e.Dump(trace, "--table", "file").rows("file")
                if row["role"] == f'"{role}"']

    def check_roots(self, trace, least):
        unwinding = e2e.report_json("info", trace, "--frames")["unwinding"]
        self.assertGreater(unwinding["stops"]["root"] / unwinding["stack_count"], least, unwinding)

    # --- programs as they are ---

    def test_node(self):
        if not shutil.which("node"):
            self.skipTest("no node here")
        script = self.path("script.js")
        with open(script, "w", encoding="utf-8") as f:
            f.write(JAVASCRIPT)
        # Node leaves a file where it runs.
        trace = self.record("--", "node", "--perf-basic-prof", script, cwd=self.folder)
        alpha, beta, pid = self.recorded.stdout.split()
        self.assertEqual([row["pid"] for row in self.files(trace, "perf_map")], [pid.decode()])
        found = collections.Counter()
        for row in e2e.rows("callgraph", trace):
            for name in ("alpha", "beta"):
                # As V8 writes it, for instance "JS:*alpha FILE:2:15".
                if f"{name} {script}:" in row["function"]:
                    found[name] += row["self_ns"]
                    self.assertEqual(row["object"], "[jit]")
        total = found["alpha"] + found["beta"]
        self.assertGreater(total, 1.5e9)
        self.assertAlmostEqual(found["alpha"] / total,
                               float(alpha) / (float(alpha) + float(beta)), delta=0.08)
        self.check_roots(trace, 0.97)

    def check_python(self, python, option, role):
        script = self.path("script.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write(PYTHON)
        # By default the interpreter's own frames say it, and the generated code is left out.
        trace = self.record("--no-python", "--", python, "-X", option, script)
        alpha, beta = map(float, self.recorded.stdout.split())
        self.assertEqual(len(self.files(trace, role)), 1)
        found = self.shares(trace, "Runner.run (script.py)")
        self.assertAlmostEqual(found["alpha (script.py)"] / (found["alpha (script.py)"]
                                                            + found["beta (script.py)"]),
                               alpha / (alpha + beta), delta=0.08)
        self.check_roots(trace, 0.97)

    def test_python(self):
        found = pythons()
        if not found:
            self.skipTest("no Python with -X perf here")
        for python in found:
            with self.subTest(python):
                self.check_python(python, "perf", "perf_map")
                done = e2e.run(python, "-X", "perf_jit", "-c",
                               "import sys; print(sys.version_info >= (3, 13))")
                if done.stdout.strip() == b"True":
                    self.check_python(python, "perf_jit", "jitdump")

    # --- a program whose names are known ---

    def test_jitdump(self):
        trace = self.record("--", GENERATED, "dump", self.folder)
        found = self.shares(trace)
        # The same addresses, one after the other: without times one would have all. A machine whose
        # host is busy loses samples, and more of one turn than of another.
        for name in ("generated_first", "generated_second", "generated_moved"):
            self.assertAlmostEqual(found.get(name, 0), 1 / 3, delta=0.2, msg=found)
        self.assertEqual([row for row in found if row.startswith("0x")], [])
        lines = [row for row in e2e.ebreport("dump", trace).splitlines() if "jit-" in row]
        self.assertTrue(lines)

    def test_map(self):
        found = self.generated("map", "generated_by_name")
        self.assert_named(found, "generated_by_name")
        found = self.generated("nameless")
        self.assert_nameless(found)

    def test_deleted(self):
        self.assert_named(self.generated("deleted", "generated_deleted"), "generated_deleted")

    def test_forked(self):
        """The child has the code, and its parent the map."""
        self.assert_named(self.generated("forked", "generated_forked"), "generated_forked")

    def start_recording(self, trace, *arguments):
        """Begins to record, and waits until that is so."""
        recorder = self.start(e2e.EBREC, "-f", "-o", trace, "-F", "999", "-e", "sample",
                              *arguments, stderr=subprocess.DEVNULL)
        self.wait_for_rows(trace, recorder, "sample")
        return recorder

    def test_running(self):
        """One that was there before, and is afterwards."""
        for arguments in (("map", "generated_running"), ("dump", self.folder)):
            child = self.start(GENERATED, *arguments, "wait", stdout=subprocess.PIPE)
            for _ in range(3 if arguments[0] == "dump" else 1):
                self.assertEqual(child.stdout.readline(), b"burning\n")
            trace = self.record("-d", "1", "-p", child.pid)
            self.assert_named(self.shares(trace), "generated_moved" if arguments[0] == "dump"
                              else "generated_running", 0.9)
            os.killpg(child.pid, 9)

    def test_hint(self):
        """Who has code without a name, and what would help."""
        trace = self.record("--", GENERATED, "nameless")
        told, = e2e.report_json("info", trace, "--frames")["naming"]["anonymous"]
        self.assertEqual((told["process"], told["hint"]), ("generated", None))
        # A program is known by its name.
        node = self.path("node")
        os.symlink(GENERATED, node)
        trace = self.record("--", node, "nameless")
        info = e2e.ebreport("info", "--all", "--frames", trace)
        self.assertRegex(info, r"\d+ of them in anonymous memory of node: run it with "
                               "--perf-basic-prof\n")

    # --- somewhere else ---

    def test_namespaces(self):
        """Two processes that are number 1, each with a /tmp of its own; the host has another map
        for that number."""
        decoy = TMP_MAP.format(1)
        self.assertFalse(os.path.exists(decoy))
        self.addCleanup(os.unlink, decoy)
        with open(decoy, "w", encoding="ascii") as f:
            f.write("0 fffffffffffffff0 decoy\n")
        inner = 'exec 9<"$0"; mount -t tmpfs none /tmp && exec /proc/self/fd/9 "$@"'
        each = f'unshare -p -f --mount-proc sh -c \'{inner}\' {GENERATED}'
        trace = self.record("--", "sh", "-c",
                            f"{each} map generated_one & {each} deleted generated_two; wait")
        found = self.shares(trace)
        self.assert_named(found, "generated_one", 0.3)
        self.assert_named(found, "generated_two", 0.3)
        self.assertNotIn("decoy", found)
        rows = self.files(trace, "perf_map")
        self.assertEqual([row["path"] for row in rows], ['"/tmp/perf-1.map"'] * 2)
        self.assertNotIn("1", [row["pid"] for row in rows])
        self.assertEqual(len({row["pid"] for row in rows}), 2)

    def test_chroot(self):
        root = self.path("root")
        os.makedirs(os.path.join(root, "tmp"))
        for path in e2e.run("ldd", GENERATED).stdout.decode().split():
            if path.startswith("/"):
                os.makedirs(root + os.path.dirname(path), exist_ok=True)
                shutil.copy(path, root + path)
        shutil.copy(GENERATED, os.path.join(root, "generated"))
        found = self.shares(self.record("--", "chroot", root, "/generated", "deleted",
                                        "generated_chrooted"))
        self.assert_named(found, "generated_chrooted")

    # --- what must not be believed ---

    def test_owner(self):
        trace = self.record("--", GENERATED, "foreign", "generated_foreign")
        self.assert_nameless(self.shares(trace))
        self.assertEqual(self.files(trace, "perf_map"), [])
        # The same user is another thing.
        trace = self.record("--", "setpriv", "--reuid=4321", "--regid=4321", "--clear-groups",
                            GENERATED, "map", "generated_own")
        self.assert_named(self.shares(trace), "generated_own")

    def check_not_taken(self, place):
        """`place` puts something where the map of the process should be."""
        child = self.start(GENERATED, "nameless", "wait", stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"burning\n")
        path = TMP_MAP.format(child.pid)
        place(path)
        try:
            trace = self.record("-d", "1", "-p", child.pid)
        finally:
            os.unlink(path)
        self.assertEqual(self.files(trace, "perf_map"), [])
        self.assert_nameless(self.shares(trace))
        os.killpg(child.pid, 9)

    def test_other_files(self):
        """Links, pipes, and what is no map: none is read, or waited for."""
        secret = self.path("secret")
        with open(secret, "w", encoding="ascii") as f:
            f.write("0 ffffffffffffff00 secret\n")

        def write(path):
            with open(path, "w", encoding="ascii") as f:
                f.write("root:*:19000:0:99999:7:::\n")

        for place in (lambda path: os.symlink(secret, path), lambda path: os.link(secret, path),
                      os.mkfifo, write):
            self.check_not_taken(place)

    def check_behind(self, content, name="generated_good"):
        path = self.path("content")
        with open(path, "wb") as f:
            f.write(content)
        trace = self.record("--", GENERATED, "after", path, name)
        return trace, self.shares(trace)

    def test_hostile(self):
        for content in (b"1 1 " + b"x" * (3 << 20) + b"\n",
                        b"0 ffffffffffffffff everything\n",
                        b"ffffffffffffffff ffffffffffffffff wraps\n",
                        b"1 1 \xff\xfe\x00\x1b[31m\n" + os.urandom(100000).replace(b"\n", b"") + b"\n",
                        b"".join(b"%x %x n%d\n" % (n, 200000 - n, n) for n in range(100000))):
            _, found = self.check_behind(content)
            self.assert_named(found, "generated_good")
        # What is shown of a name has an end.
        _, found = self.check_behind(b"1 1 n\n", "y" * 100000)
        self.assert_named(found, "y" * 512)

    def test_large(self):
        """The beginning of one that is too large, and not the whole."""
        line = b"1000 10 " + b"n" * 91 + b"\n"
        trace, found = self.check_behind(line * 1048576)
        self.assert_nameless(found)
        rows = self.files(trace, "perf_map")
        self.assertEqual([(row["size"], row["truncated"]) for row in rows],
                         [(str(64 << 20), "1")])


if __name__ == "__main__":
    e2e.main()

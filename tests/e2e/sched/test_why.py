# SPDX-License-Identifier: GPL-2.0-or-later
"""The critical path: of programs that hand work on by a plan, of make on a graph of dependencies, of
a pipeline, of a client and its server; and that its parts add up."""

import collections
import os
import subprocess
import xml.etree.ElementTree

import e2e

PLANS = int(os.environ.get("EBT_WHY_PLANS", 6))
STEPS = 12
STEP_NS = 200_000  # or 1 %
BESIDE_NS = 300_000  # what a step takes besides its work, as faults behind a fork
TRIES = 5
DISK_MS = 4
BUSY = "import time\nt = time.process_time()\nwhile time.process_time() - t < {seconds}:\n    pass\n"
SERVER = """
import os, socket, time
def burn(seconds):
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        pass
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen()
if not os.fork():
    served, _ = listening.accept()
    while served.recv(100):
        burn(0.02)
        served.sendall(b"x")
    os._exit(0)
asking = socket.create_connection(listening.getsockname())
for _ in range(10):
    asking.sendall(b"?")
    asking.recv(1)
    burn(0.005)
"""
# Two threads have three tasks: one has the first, the other one the other two.
POOL = """
import concurrent.futures, time
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for seconds in (0.2, 0.1, 0.15):
        pool.submit(time.sleep, seconds)
"""


def sums(report):
    """ns of the path by thread and kind."""
    found = collections.Counter()
    for row in report["rows"]:
        found[row["tid"], row["kind"]] += row["duration_ns"]
    return found


def why(test, trace, *arguments):
    """Of one trace both tables, whose parts are the time of the whole."""
    report = e2e.report_json("why", trace, *arguments)
    path = e2e.report_json("why", trace, "--path", *arguments)
    test.assertGreater(report["wall_ns"], 0)
    for table in (report, path):
        test.assertEqual(sum(row["duration_ns"] for row in table["rows"]), table["wall_ns"])
    at = path["rows"][0]["time_ns"]
    for row in path["rows"]:
        test.assertEqual(row["time_ns"], at)
        at += row["duration_ns"]
    test.assertEqual(+sums(report), +sums(path))
    return report


def hidden_ns(report):
    """Time that nothing is known of: kernels of some sandboxes do not tell of all switches."""
    return sum(row["duration_ns"] for row in report["rows"] if row["kind"] == "unknown")


def uncharged(trace):
    """ns that threads were on CPUs and were not charged for, by tid: in interrupts, or as the host of
    this machine had the CPU."""
    found, since = collections.Counter(), {}
    for row in e2e.Dump(trace, "--table", "sched_switch").rows("sched_switch"):
        if row["cpu"] in since and int(row["prev_run"]) > 1:
            beside = row["time"] - since[row["cpu"]] - int(row["prev_run"])
            found[int(row["prev"].split("/")[0])] += max(0, beside)
        since[row["cpu"]] = row["time"]
    return found


def plan(test, report, said, beside_ns, beside=collections.Counter()):
    """Threads on the path did what `handed_on` says. beside_ns: what a step takes besides its work;
    beside: what threads were on CPUs besides."""
    found = sums(report)
    least, most, steps = (collections.Counter() for _ in range(3))
    for line in said.splitlines():
        tid, work, at_least, at_most, _, parent, fork_took = line.split()
        key = int(tid), {"sleep": "timer", "disk": "disk"}.get(work, "cpu")
        least[key] += int(at_least)
        most[key] += int(at_most)
        steps[key] += 1
        if work == "child":
            most[int(parent), "cpu"] += int(fork_took)
            steps[int(parent), "cpu"] += 1
    test.assertGreater(len(most), 3)
    for key, ns in most.items():
        free = max(ns // 100, STEP_NS * steps[key]) + hidden_ns(report)
        # Clocks of programs go on while they wait for a CPU, and in interrupts, for which they are not
        # charged.
        queued = found[key[0], "runqueue"]
        if key[1] == "disk":
            queued += max(0, found[key[0], "cpu"] - least[key[0], "cpu"])
        # Who had no CPU, as this one had it, came too late to wait for it.
        queued += sum(row["duration_ns"] for row in report["rows"] if row["kind"] == "runqueue"
                      and row.get("by", "").endswith(f" ({key[0]})"))
        what = f"{key} {least[key]} to {ns}, found {dict(found)}"
        more = beside_ns * steps[key] + beside[key[0]] if key[1] == "cpu" else 0
        test.assertLess(found[key], ns + free + more, what)
        test.assertGreater(found[key] + queued, least[key] - free, what)


class Why(e2e.TestCase):
    def why(self, trace, *arguments):
        return why(self, trace, *arguments)

    def check_plan(self, seed, disk):
        for _ in range(TRIES):
            trace = self.record("--", e2e.program("handed_on"), seed, STEPS, disk)
            self.assert_no_loss(trace)
            report = self.why(trace)
            if not hidden_ns(report) and not e2e.hidden_runs(report):
                break
        plan(self, report, self.recorded.stdout.decode(), BESIDE_NS, uncharged(trace))
        return {row["kind"] for row in report["rows"]}

    @e2e.exact
    def test_plans(self):
        disk = self.slow_file(DISK_MS)
        kinds = set()
        for seed in range(1, PLANS + 1):
            with self.subTest(seed=seed):
                kinds |= self.check_plan(seed, disk)
        self.assertGreaterEqual(kinds, {"cpu", "runqueue", "timer", "disk"})

    @e2e.exact
    def test_make(self):
        """a, then c, then d; b is ready long before."""
        with open(self.path("Makefile"), "w", encoding="ascii") as f:
            f.write("all: d\na:\n\t@./a.py\nb:\n\t@./b.py\nc: a\n\t@./c.py\nd: b c\n\t@./d.py\n")
        for name, seconds in {"a": 0.3, "b": 0.1, "c": 0.1, "d": 0.2}.items():
            with open(self.path(f"{name}.py"), "w", encoding="ascii") as f:
                f.write("#!/usr/bin/python3\n" + BUSY.format(seconds=seconds))
            os.chmod(f.name, 0o755)
        for jobs in (2, 4):
            trace = self.record("--", "make", "-s", f"-j{jobs}", cwd=self.folder)
            report = self.why(trace)
            ran = collections.Counter()
            for row in report["rows"]:
                if row["kind"] == "cpu":
                    ran[row["comm"]] += row["duration_ns"]
            for name, seconds in {"a.py": 0.3, "c.py": 0.1, "d.py": 0.2}.items():
                self.assertGreater(ran[name], seconds * 0.99e9, ran)
            # Who makes a process with vfork() waits until it runs a program.
            self.assertLess(ran["b.py"], 0.02e9, ran)

    @e2e.exact
    def test_pipeline(self):
        """What was sorted is compressed while it is written: gzip is the last to end, and before
        there was anything to compress, it is sort that it waited for."""
        trace = self.record("--", "sh", "-c", "seq 1 200000 | sort -r | gzip >out", cwd=self.folder)
        found = collections.Counter()
        for row in self.why(trace)["rows"]:
            found[row.get("comm"), row["kind"]] += row["duration_ns"]
        self.assertGreater(found["sort", "cpu"], 0)
        self.assertGreater(found["gzip", "cpu"], 0)
        self.assertEqual(found["sh", "child"], 0)
        self.assertEqual(found["gzip", "pipe"], 0)

    @e2e.exact
    def test_server(self):
        """Who asks has the time of who answers, which the kernel delivers in a soft interrupt."""
        trace = self.record("--", "/usr/bin/python3", "-c", SERVER)
        report = self.why(trace)
        main = report["wall_tid"]
        # Who asked and had no CPU before it could wait was not faster for the answer.
        found = sums(report)
        served = found[main, "runqueue"] + sum(
            ns for (tid, kind), ns in found.items()
            if kind == "unknown" or (kind == "cpu" and tid != main))
        self.assertGreater(served, 10 * 0.02e9 * 0.99)
        self.assertGreater(found[main, "cpu"], 10 * 0.005e9 * 0.99)
        self.assertLess(sum(ns for (_, kind), ns in found.items() if kind == "network"), 0.02e9, found)

    @e2e.exact
    def test_pool(self):
        """The end waits for who has most to do."""
        report = self.why(self.record("--", "/usr/bin/python3", "-c", POOL))
        timers = {key[0]: ns for key, ns in sums(report).items() if key[1] == "timer"}
        self.assertEqual(len(timers), 1, timers)
        self.assertGreater(sum(timers.values()), 0.25e9)
        self.assertLess(sum(timers.values()), 0.45e9)

    def test_files(self):
        """Reads of a file that takes its time, by its name; and of a disk that is this file."""
        file = self.slow_file(DISK_MS)
        trace = self.record("-e", "default,syscalls", "--", "dd", f"if={file}", "of=/dev/null", "bs=4k",
                            "count=20")
        waits = [row for row in self.why(trace)["rows"] if row.get("object") == file]
        self.assertEqual({row["kind"] for row in waits}, {"disk"})
        self.assertGreater(sum(row["duration_ns"] for row in waits), 20 * DISK_MS * 1e6)
        device = e2e.run("losetup", "-f", "--show", file).stdout.decode().strip()
        self.addCleanup(e2e.run, "losetup", "-d", device)
        trace = self.record("-e", "default,block", "--", "dd", f"if={device}", "of=/dev/null", "bs=4k",
                            "count=20", "iflag=direct")
        waits = [row for row in self.why(trace)["rows"]
                 if row.get("device") == os.path.basename(device)]
        self.assertEqual({row["kind"] for row in waits}, {"disk"})
        self.assertGreater(sum(row["duration_ns"] for row in waits), 20 * DISK_MS * 1e6 * 0.9)
        gone, = e2e.report_json("why", trace, "--what-if", os.path.basename(device) + "=0")["rows"]
        self.assertGreater(gone["saved_ns"], 20 * DISK_MS * 1e6 * 0.9)

    @e2e.exact
    def test_tree(self):
        """Below who waits stands who was waited for."""
        trace = self.record("--", "sh", "-c", "(sleep 0.2; sleep 0.1; :); :")
        wall = self.why(trace)["wall_ns"]
        tree = e2e.report_json("why", trace, "--tree")["rows"]
        self.assertEqual(tree[0]["duration_ns"], wall)
        sleeps = next(row for row in tree if row["comm"] == "sleep" and row.get("waited"))
        between = next(row for row in tree if row["id"] == sleeps["parent"])
        self.assertEqual((sleeps["waited"], between["waited"]), ("child", "child"))
        self.assertEqual(sleeps["thread_count"], 2)
        self.assertEqual(between["parent"], tree[0]["id"])
        # But for what they slept before somebody began to wait for them.
        self.assertGreater(sleeps["wait_ns"], 0.15e9)
        self.assertGreater(between["duration_ns"], sleeps["duration_ns"])

    @e2e.exact
    def test_requests(self):
        """Each tenth sleeps, and asks for more; the longest one is the path --around tells."""
        trace = self.record("--", e2e.program("requests"), 50)
        report = e2e.report_json("why", trace, "--request", "request")
        head = report["requests"]
        self.assertEqual([head["count"], head["slow_count"], head["fast_count"], head["open_count"]],
                         [50, 5, 25, 0])
        rows = report["rows"]
        for speed in ("fast_ns", "slow_ns"):
            self.assertAlmostEqual(sum(row[speed] for row in rows), head[speed], delta=len(rows) + 1)
        timer, = [row for row in rows if row["kind"] == "timer"]
        self.assertGreater(timer["more_ns"], 49.9e6)
        for speed, least in {"fast_ns": 3e6, "slow_ns": 9e6}.items():
            self.assertGreater(sum(row[speed] for row in rows
                                   if row["kind"] in ("cpu", "runqueue", "unknown")), least * 0.99)
        longest = self.why(trace, "--around", "request")
        self.assertEqual(longest["wall_ns"], head["max_ns"])
        tried = e2e.report_json("why", trace, "--opportunities")["rows"]
        self.assertIn("wait:timer=0.5", [row["change"] for row in tried])

    def test_requests_without_switches(self):
        """Of threads that nothing tells of, nothing is known."""
        trace = self.record("-e", "mark", "--", e2e.program("requests"), 10)
        report = e2e.report_json("why", trace, "--request", "request")
        row, = report["rows"]
        self.assertEqual((row["kind"], row["comm"]), ("unknown", "requests"))
        self.assertEqual([row["fast_ns"], row["slow_ns"]],
                         [report["requests"][speed] for speed in ("fast_ns", "slow_ns")])
        self.assertIn("no switches", " ".join(report["warnings"]))

    def test_parallelism(self):
        """Two that run at the same time, and one before."""
        trace = self.record("--", "sh", "-c", f"/usr/bin/python3 -c '{BUSY.format(seconds=0.1)}'; "
                            f"for i in 1 2; do /usr/bin/python3 -c '{BUSY.format(seconds=0.1)}' & done; "
                            "wait")
        report = self.why(trace)
        ns = {int(n): of for n, of in report["parallelism"].items()}
        self.assertEqual(sum(ns.values()), report["wall_ns"])
        self.assertEqual(sum(n * of for n, of in ns.items()), report["threads_run_ns"])
        self.assertGreater(ns[1], 0.1e9 * 0.9)

    def test_first_screen(self):
        """The overview and the summary say the same."""
        trace = self.record("--", "sh", "-c", "sleep 0.5; ls -lR /usr/include >/dev/null")
        report = self.why(trace)
        first = e2e.report_json("overview", trace)["path"]
        self.assertIn("timer", " ".join(line["sentence"] for line in first))
        kinds = collections.Counter()
        for row in report["rows"]:
            known = row["kind"] in ("cpu", "runqueue", "unknown")
            kinds[row["kind"] if known else "wait"] += row["duration_ns"]
        summary = e2e.report_json("summary", trace)["critical_path"]
        self.assertEqual(+collections.Counter({row["kind"]: row["duration_ns"] for row in summary}),
                         +kinds)

    def test_parts(self):
        """Of a part of the time, and of another thread."""
        trace = self.record("--", "sh", "-c", "sleep 0.2; sleep 0.1")
        report = self.why(trace, "--from", "0.1", "--to", "0.15")
        self.assertEqual(report["wall_ns"], 50_000_000)
        timers = [row for row in report["rows"] if row["kind"] == "timer"]
        self.assertEqual([row["comm"] for row in timers], ["sleep"])
        self.assertEqual(self.why(trace, "--tid", str(timers[0]["tid"]))["wall_tid"],
                         timers[0]["tid"])

    def test_what_if(self):
        """Of a program that sleeps twice, and does little else."""
        trace = self.record("--", "sh", "-c", "sleep 0.4; sleep 0.2")
        timers = sum(row["duration_ns"] for row in self.why(trace)["rows"] if row["kind"] == "timer")
        row, = e2e.report_json("why", trace, "--what-if", "timer=0.5")["rows"]
        self.assertGreater(row["saved_ns"], timers // 2 * 0.9)
        tried = e2e.report_json("why", trace, "--opportunities")["rows"]
        self.assertEqual(tried[0]["change"], "wait:timer=0.5")
        self.assertEqual(tried[0]["saved_ns"], row["saved_ns"])

    def test_flame(self):
        """All of the time is in the picture."""
        trace = self.record("--", "sh", "-c", "sleep 0.1; head -c 5000000 /dev/urandom | sort | wc -c")
        wall = self.why(trace)["wall_ns"]
        e2e.ebreport("why", "--flame", "-o", self.path("why.svg"), trace)
        title = next(element.text for element in xml.etree.ElementTree.parse(self.path("why.svg")).iter()
                     if element.tag.endswith("title") and element.text.startswith("all\n"))
        self.assertIn(f"{wall / 1e6:#.4g} ms" if wall < 1e9 else f"{wall / 1e9:#.4g} s", title)

    def test_no_command(self):
        """Of nothing in particular there is nothing to say."""
        trace = self.record("-a", "-d", "0.2")
        done = subprocess.run([e2e.EBREPORT, "why", trace], capture_output=True, check=True)
        self.assertIn(b"no command was recorded", done.stderr)
        self.why(trace, "--pid", str(os.getpid()))


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Tracepoints: every field as perf sees it in the same run, and as the program knows it itself.

perf needs a mounted tracefs and mounts it, in a mount namespace of its own here. What rows hold is
taken apart here by what docs/FORMAT.md says, not by the reports' own reader.
"""

import collections
import os
import re
import struct
import sys

import e2e

PYTHON = os.path.realpath(sys.executable)
SCALARS = {"unsigned": "Q", "signed": "q", "hex": "Q", "bool": "Q"}

# Does what fires tracepoints, and says who did it. Its name has all letters that a name can have.
WORK = r"""
import ctypes, os, shutil, signal, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None)
libc.prctl(15, b"fifteen letters", 0, 0, 0)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
os.kill(os.getpid(), signal.SIGUSR1)
libc.sigqueue(os.getpid(), signal.SIGUSR1, 7)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.connect(("127.1.2.3", 4242))
udp.send(b"x")
for name in sys.argv[1:]:
    shutil.copy("/bin/true", name)
    subprocess.run([name])
time.sleep(0.01)
def run():
    print(os.getpid(), threading.get_native_id(), flush=True)
    os.execv(sys.argv[1], sys.argv[1:2])
threading.Thread(target=run).start()
"""

# How perf prints each of them, from our fields: what the kernel says in `print fmt`.
PRINTED = {
    "sched_process_exec": "filename={filename} pid={pid} old_pid={old_pid}",
    "signal_generate": "sig={sig} errno={errno} code={code} comm={comm} pid={pid} grp={group} "
                       "res={result}",
    "task_rename": "pid={pid} oldcomm={oldcomm} newcomm={newcomm} oom_score_adj={oom_score_adj}",
    "sched_process_fork": "comm={parent_comm} pid={parent_pid} child_comm={child_comm} "
                          "child_pid={child_pid}",
    "sched_wakeup_new": "comm={comm} pid={pid} prio={prio} target_cpu={target_cpu:03d}",
    "sys_enter": "NR {id} ({args[0]:x}, {args[1]:x}, {args[2]:x}, {args[3]:x}, {args[4]:x}, "
                 "{args[5]:x})",
    "sys_enter_openat": "dfd: {dfd32:#010x}, filename: {filename:#010x}, flags: {flags:#010x}, "
                        "mode: {mode:#010x}",
    "sys_exit_openat": "{ret64:#x}",
    "fib_table_lookup": "table {tb_id} oif {oif} iif {iif} proto {proto} {src4}/{sport} -> "
                        "{dst4}/{dport} tos {tos} scope {scope} flags {flags:x} ==> dev {name} "
                        "gw {gw}/:: err {err}",
}


def addresses(stack):
    """What a column of stacks says: of user stacks, the innermost first."""
    assert stack == "-" or stack.startswith("u:"), stack
    return [int(address, 16) for address in stack[2:].rstrip("+").split(",") if address]


def unquoted(text):
    return re.sub(r'\\(?:x([0-9a-f]{2})|(.))',
                  lambda m: chr(int(m[1], 16)) if m[1] else m[2], text[1:-1])


# What tests/programs/called.c makes happen.
CALLED = ["task:task_rename", "signal:signal_generate", "syscalls:sys_enter_getppid"]


class Hits:
    """Rows of probe_hit with what they read, taken apart."""

    def __init__(self, trace):
        dump = e2e.Dump(trace)
        self.probes = {row["probe"]: (unquoted(row["group"]), unquoted(row["name"]))
                       for row in dump.rows("probe")}
        self.args = {}
        for row in dump.rows("probe_arg"):
            args = self.args.setdefault(row["probe"], {})
            args[int(row["index"])] = dict(row, name=unquoted(row["name"]),
                                           type=unquoted(row["type"]))
        self.rows = []
        self.stacks = []  # of each row: addresses of its user stack
        for row in dump.rows("probe_hit"):
            data = bytes.fromhex(row["args"][1:])
            values = {}
            for _, arg in sorted(self.args[row["probe"]].items()):
                values[arg["name"]], data = self.value(arg, data)
            assert not data, f"{len(data)} bytes are left of {row}"
            task = row["task"].split("/")[0]
            self.rows.append((self.probes[row["probe"]][1], int(task) if task.isdigit() else 0,
                              values))
            self.stacks.append(addresses(row["ustack"]))

    @staticmethod
    def value(arg, data):
        kind, size = arg["kind"], int(arg["size"])
        if kind in SCALARS and not int(arg["elements"]):
            return struct.unpack_from("<" + SCALARS[kind], data)[0], data[8:]
        length = struct.unpack_from("<H", data)[0]
        if length == 65535:
            return None, data[2:]
        data, rest = data[2:2 + length], data[2 + length:]
        if kind == "string":
            return data.decode(errors="surrogateescape"), rest
        code = {1: "B", 2: "H", 4: "I", 8: "Q"}[size]
        return list(struct.unpack(f"<{length // size}{code}", data)), rest

    def of(self, name, tid=None):
        return [values for found, task, values in self.rows
                if found == name and tid in (None, task)]


def printed(name, values):
    """The line of perf for our row."""
    values = dict(values)
    for field, shown in (("src", "src4"), ("dst", "dst4"), ("gw4", "gw")):
        if field in values:
            values[shown] = ".".join(map(str, values[field]))
    for field, bits in (("dfd", 32), ("ret", 64)):
        if field in values:
            values[f"{field}{bits}"] = values[field] % (1 << bits)
    return PRINTED[name].format(**values)


def ways(trace):
    """The ways to act() of tests/programs/called.c: how many rows of probes have come each."""
    found = collections.Counter()
    for line in e2e.ebreport("folded", "--event", "probe_hit", "--weight", "rows",
                             trace).splitlines():
        stack, weight = line.rsplit(" ", 1)
        # What is expanded in act() has the system calls, except where nothing follows.
        match = re.search(";main;(.*;act)(;call)?$", stack)
        if match:
            found[match[1]] += int(weight)
    return found


class Tracepoints(e2e.TestCase):
    def setUp(self):
        super().setUp()
        with open(self.path("work.py"), "w", encoding="utf-8") as f:
            f.write(WORK)
        # Spaces, quotes, letters beyond ASCII, and longer than any array of a record.
        self.names = [self.path('a "program" ä ' + "x" * 180), self.path("short")]
        self.work = [PYTHON, self.path("work.py"), *self.names]

    @staticmethod
    def sources(names):
        return ",".join("tp:" + name for name in names)

    def hidden(self, *command):
        """Without tracefs: no mount of it is to be seen, and no right to make one."""
        return ["unshare", "-m", "sh", "-c",
                "umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug/tracing; "
                "umount -l /sys/kernel/debug; "
                'exec setpriv --bounding-set=-sys_admin "$@"', "sh", *command]

    @staticmethod
    def comparable(name, lines):
        """The kernel fills in a gateway only where there is one."""
        return [re.sub(r" gw \S+", "", line) if name == "fib_table_lookup" else line
                for line in lines]

    def test_as_perf(self):
        names = ["sched:sched_process_exec", "sched:sched_process_fork", "sched:sched_wakeup_new",
                 "signal:signal_generate", "task:task_rename", "fib:fib_table_lookup",
                 "raw_syscalls:sys_enter", "syscalls:sys_enter_openat", "syscalls:sys_exit_openat"]
        data = self.path("perf.data")
        # --buildid-mmap: the kernel marks mappings as ebrec's events want them in perf's too.
        trace = self.record("-e", self.sources(names), "--", "unshare", "-m", "perf", "record",
                            "-q", "--buildid-mmap", "--synth=no", "-m", "4M", "-o", data, "-e",
                            ",".join(names), "--", *self.work)
        self.assert_no_loss(trace)
        pid = int(self.recorded.stdout.split()[0])
        text = e2e.run("perf", "script", "-i", data, "-F", "tid,event,trace").stdout.decode()
        hits = Hits(trace)
        self.assertEqual(sorted(map(":".join, hits.probes.values())), sorted(names))
        theirs = {}
        for line in text.splitlines():
            match = re.match(r"\s*(\d+)\s+(\w+):(\w+):\s(.*)", line)
            self.assertTrue(match, line)
            theirs.setdefault((int(match[1]), match[3]), []).append(match[4].strip())
        self.assertIn((pid, "sched_process_exec"), theirs)
        compared = {}
        for (tid, name), lines in theirs.items():
            # perf gives a task what interrupts do.
            ours, nobody = (self.comparable(name, (printed(name, v).strip() for v in
                                                   hits.of(name, who))) for who in (tid, 0))
            lines = [line for line in self.comparable(name, lines)
                     if line in ours or line not in nobody]
            # perf begins at its first exec, and forgets a thread a little before it has ended.
            first = ours.index(lines[0]) if lines and lines[0] in ours else 0
            self.assertEqual(ours[first:first + len(lines)], lines, (tid, name))
            compared[name] = compared.get(name, 0) + len(lines)
        self.assertEqual(set(compared), set(PRINTED))
        self.assertGreater(compared["sys_enter"], 100)
        self.check_known(hits, pid)

    def check_known(self, hits, pid):
        """What the program knows of itself. Its last exec was by another thread."""
        said = self.recorded.stdout.split()
        execs = [(v["filename"], v["pid"], v["old_pid"]) for v in hits.of("sched_process_exec", pid)]
        self.assertIn((PYTHON, pid, pid), execs)
        self.assertEqual(execs[-1], (self.names[0], pid, int(said[1])))
        signals = [v for v in hits.of("signal_generate", pid) if v["sig"] == 10]
        self.assertEqual([(v["comm"], v["pid"]) for v in signals], 2 * [("fifteen letters", pid)])
        if "code" in signals[0]:  # SI_USER, SI_QUEUE
            self.assertEqual([values["code"] for values in signals], [0, -1])
            self.assertIn([127, 1, 2, 3], [v["dst"] for v in hits.of("fib_table_lookup", pid)])

    def test_switches(self):
        trace = self.record("-e", "tp:sched:sched_switch", "--", *self.work)
        self.assert_no_loss(trace)
        rows = [row for row in Hits(trace).rows]
        self.assertGreater(len(rows), 1)
        # The task that runs when it fires is the one that stops; no other's are recorded.
        for _, tid, values in rows:
            self.assertEqual(tid, values["prev_pid"])
            self.assertNotEqual(tid, values["next_pid"])
        self.assertIn("fifteen letters", [values["prev_comm"] for _, _, values in rows])

    def test_without_tracefs(self):
        names = ["sched:sched_process_exec", "signal:signal_generate", "sched:sched_switch"]
        trace = self.path("t.ebt")
        self.recorded = e2e.run(*self.hidden(e2e.EBREC, "-f", "-o", trace, "-e",
                                             self.sources(names), "--", *self.work))
        self.assert_no_loss(trace)
        hits = Hits(trace)
        self.check_known(hits, int(self.recorded.stdout.split()[0]))
        for _, tid, values in (row for row in hits.rows if row[0] == "sched_switch"):
            self.assertEqual(tid, values["prev_pid"])
        # Where each value comes from, and how it came to that.
        types = {arg["name"]: arg["type"] for arg in hits.args["1"].values()}
        self.assertEqual((types["filename"], types["pid"]), ("bprm->filename", "p->pid"))
        state = {s["name"]: s for s in e2e.report_json("info", trace)["sources"]}["tp"]
        self.assertEqual(state["status"], "partial")
        self.assertRegex(state["detail"], "tracefs: .*: arguments of tracepoints in place of fields; "
                                          "2 fields are not there")

    def test_without_trace_event(self):
        trace = self.record("-e", "tp:sched:pelt_cfs_tp", "--", *self.work)
        hits = Hits(trace)
        self.assertTrue(hits.of("pelt_cfs_tp"))
        for values in hits.of("pelt_cfs_tp"):
            self.assertGreater(values["cfs_rq"], 1 << 63)

    def test_interrupts(self):
        trace = self.path("t.ebt")
        recorder = self.start(e2e.EBREC, "-q", "-o", trace, "-a", "-d", "0.5", "-e",
                              "tp:irq:softirq_*,tp:sched:sched_wak*,tp:syscalls:sys_enter_write")
        self.assertEqual(recorder.wait(e2e.SECONDS), 0)
        # Of none of its threads; other recorders of the machine are processes like any other.
        pids = {row["task"].split("/")[1] for row in e2e.Dump(trace).rows("probe_hit")
                if "/" in row["task"]}
        self.assertNotIn(str(recorder.pid), pids)
        hits = Hits(trace)
        self.assertIn(("irq", "softirq_raise"), hits.probes.values())
        self.assertTrue(hits.of("softirq_entry"))
        self.assertTrue(hits.of("sched_waking"))
        for (name, tid, _), stack in zip(hits.rows, hits.stacks):
            # ksoftirqd does them too.
            if tid == 0 or name == "softirq_entry":
                self.assertEqual(stack, [], name)
        inside = [tid for name, tid, _ in hits.rows if name == "softirq_entry"]
        self.assertIn(0, inside)

    def test_user_stacks(self):
        """As often as the program says, along each of its ways."""
        trace = self.record("-e", self.sources(CALLED), "--", e2e.program("called"), "200")
        self.assert_no_loss(trace)
        self.assertEqual(ways(trace), {"outer;inner;act": 600, "inner;act": 1200})
        # They take no time, which is what weighs rows of probes unless somebody says otherwise.
        said = e2e.run(e2e.EBREPORT, "callgraph", "--event", "probe_hit", trace).stderr.decode()
        self.assertIn("the duration of each row of probe_hit is zero: --weight rows", said)

    def test_user_stacks_as_perf(self):
        """Each frame, by frame pointers, in the same run."""
        data = self.path("perf.data")
        trace = self.record("--call-graph", "fp", "-e", self.sources(CALLED), "--",
                            "unshare", "-m", "perf", "record", "-q", "-g", "--buildid-mmap",
                            "--synth=no", "-m", "4M", "-o", data, "-e", ",".join(CALLED), "--",
                            e2e.program("called"), "200")
        self.assert_no_loss(trace)
        self.assertEqual(ways(trace), {"outer;inner;act": 600, "inner;act": 1200})
        hits = Hits(trace)
        text = e2e.run("perf", "script", "--no-inline", "-i", data, "-F",
                       "tid,event,ip,sym").stdout.decode()
        theirs = {}
        for block in text.strip().split("\n\n"):
            head, *frames = block.splitlines()
            tid, name = re.match(r"\s*(\d+)\s+\w+:(\w+):", head).groups()
            frames = [(int(words[0], 16), words[1]) for words in map(str.split, frames)]
            frames = [frame for frame in frames if frame[0] < 1 << 63]
            if frames and frames[0][1] == "act":
                theirs.setdefault((name, int(tid)), []).append(frames)
        self.assertEqual({name for name, _ in theirs}, {name.split(":")[1] for name in CALLED})
        for (name, tid), stacks in theirs.items():
            self.assertEqual(len(stacks), 600)
            ours = [stack for row, stack in zip(hits.rows, hits.stacks)
                    if row[:2] == (name, tid) and len(stack) > 3]
            # Its exec has a hit, too.
            for our, their in zip(ours[-600:], stacks, strict=True):
                # Theirs are counted from where the file is mapped.
                depth = [symbol for _, symbol in their].index("main") + 1
                self.assertEqual([address - our[0] for address in our[:depth]],
                                 [address - their[0][0] for address, _ in their[:depth]])

    def test_user_stacks_without_tracefs(self):
        """By the other kind of program."""
        trace = self.path("t.ebt")
        e2e.run(*self.hidden(e2e.EBREC, "-f", "-o", trace, "-e", self.sources(
            ["task:task_rename", "signal:signal_generate"]), "--", e2e.program("called"), "100"))
        self.assertEqual(ways(trace), {"outer;inner;act": 200, "inner;act": 400})

    def test_no_stacks(self):
        trace = self.record("--call-graph", "none", "-e", "tp:task:task_rename", "--",
                            e2e.program("called"), "100")
        stacks = Hits(trace).stacks
        self.assertGreaterEqual(len(stacks), 300)
        self.assertFalse(any(stacks))

    def test_names(self):
        """Errors say what was meant; nothing is left behind."""
        for names, text in (
                ("tp:sched:sched_swich", "there is no tracepoint sched:sched_swich; there is "
                                         "sched:sched_switch"),
                ("tp:shed:sched_switch", "there is sched:sched_switch"),
                ("tp:sched", "'sched' is not a tracepoint; it takes CATEGORY:NAME"),
                ("tp", "source tp has to be told what: tp:CATEGORY:NAME"),
                ("tp:nothing:*", "there is no tracepoint nothing:"),
                ("tp:*:*", "stands for [0-9]+ tracepoints; all together, 256 are the most")):
            with self.subTest(names=names):
                trace = self.record("-e", names, "--", "true", status=125)
                self.assertRegex(self.recorded.stderr.decode(), text)
                self.assertFalse(os.path.exists(trace))
        for names, text in (
                ("tp:sched:no_such", "the kernel's types have no tracepoint sched:no_such"),
                ("tp:syscalls:sys_enter_read", "others need tracefs: "),
                ("tp:sched:*", r"what sched:\* stands for is not known without tracefs: ")):
            with self.subTest(hidden=names):
                done = e2e.run(*self.hidden(e2e.EBREC, "-o", self.path("t.ebt"), "-e", names,
                                            "--", "true"), status=125)
                self.assertRegex(done.stderr.decode(), text)

    def test_list(self):
        """Each name and field of tracefs, as the kernel's types have them."""
        names = e2e.run(e2e.EBREC, "--list-events=tp").stdout.decode().split()
        self.assertGreater(len(names), 500)
        self.assertIn("tp:sched:sched_switch", names)
        text = e2e.run(e2e.EBREC, "--list-events=tp:*:*").stdout.decode()
        listed, name = {}, None
        for line in text.splitlines():
            if line.startswith("tp:"):
                name = line
                listed[name] = []
            else:
                listed[name].append(line.split()[0])
        self.assertEqual(list(listed), names)
        types = e2e.run("bpftool", "btf", "dump", "file", "/sys/kernel/btf/vmlinux").stdout.decode()
        n = 0
        for match in re.finditer(r"STRUCT 'trace_event_raw_(\w+)' .*\n((?:\t.*\n)+)", types):
            fields = [re.sub("^__(data|rel)_loc_", "", field)
                      for field in re.findall(r"^\t'(\w+)'", match[2], re.M)]
            fields = [field for field in fields if field not in ("ent", "__data")]
            for name in listed:
                if name.split(":")[2] == match[1] and not name.startswith("tp:ftrace:"):
                    self.assertEqual(sorted(listed[name]), sorted(fields), name)
                    n += 1
        self.assertGreater(n, 200)


if __name__ == "__main__":
    e2e.main()

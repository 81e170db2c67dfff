# SPDX-License-Identifier: GPL-2.0-or-later
"""User stacks of programs without frame pointers: how many reach the program's root, and whether
the frames between are the right ones. Rates by `--call-graph fp` are printed beside them."""

import collections
import functools
import os
import re
import shutil
import sys

import e2e

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/tools"))
import ebtdump  # noqa: E402  an independent reader: stop reasons are not its author's

STOPS = ("unknown root truncated no-mapping no-table no-row rule fault loop frame-pointer busy "
         "exec").split()


def columns(trace, table, *wanted):
    """These values of each row of a table."""
    with open(trace, "rb") as f:
        chunks = ebtdump.read_file(f.read())
    schemas = ebtdump.read_schema(chunks)
    for chunk, payload in chunks:
        schema = schemas.get(chunk.table_id)
        if schema is None or schema.name != table:
            continue
        fields = {f.name: f for f in schema.fields.values()}
        yield from zip(*([payload.value(fields[name].type, v)
                          for v in payload.column(fields[name].id, chunk.rows)]
                         for name in wanted))


@functools.cache
def execs():
    """Where the kernel's execve() and execveat() are: (begin, end)."""
    with open("/proc/kallsyms", encoding="ascii") as f:
        symbols = sorted((int(address, 16), name) for address, kind, name, *_ in map(str.split, f)
                         if kind in "tT")
    return [(begin, end) for (begin, name), (end, _) in zip(symbols, symbols[1:])
            if re.fullmatch(r"__\w+_sys_execve(at)?", name)]


def stops(trace, table="sample"):
    """How often user stacks ended for which reason. Once exec has taken the old memory away, a stack
    that the recorder still looks for there ends at its first frame."""
    counts = collections.Counter()
    for kernel, stack in columns(trace, table, "kstack", "ustack"):
        if stack:
            stop = STOPS[stack[0] >> 16 & 255]
            if stop == "fault" and len(stack[1]) == 1 and kernel and any(
                    begin < address <= end for address in kernel[1] for begin, end in execs()):
                stop = "exec"
            counts[stop] += 1
    return counts


def rate(counts):
    """Share of stacks that reach the root; in exec there is no stack."""
    total = sum(counts.values()) - counts["exec"]
    return counts["root"] / total if total else 0.0


class Unwind(e2e.TestCase):
    def check(self, least, *command, fp=True, **options):
        """Records; at least this share of the stacks is whole."""
        trace = self.record("-e", "sample", "-F", "999", "--", *command, **options)
        counts = stops(trace)
        self.assertGreater(sum(counts.values()), 20)
        words = f"{rate(counts):.2%} of {sum(counts.values())} {dict(counts)}"
        if fp:
            with_fp = self.record("-e", "sample", "-F", "999", "--call-graph", "fp", "--",
                                  *command, name="fp.ebt", **options)
            folded = [line.rsplit(" ", 1) for line in
                      e2e.ebreport("folded", with_fp).splitlines()]
            total = sum(int(n) for _, n in folded)
            whole = sum(int(n) for stack, n in folded
                        if ";_start" in stack or ";clone" in stack)
            words += f", by frame pointers {whole / total:.2%}"
        print(f"\n    {self.id().rsplit('.', 1)[1]}: {words}", file=sys.stderr)
        self.assertGreaterEqual(rate(counts), least, words)
        # ebreport counts the same, and those that it finishes itself.
        unwinding = e2e.report_json("info", trace, "--frames")["unwinding"]
        self.assertGreaterEqual(unwinding["stops"].get("root", 0), counts["root"])
        self.assertEqual(unwinding["stack_count"], sum(counts.values()))
        return trace

    def ways(self, trace, burn=";burn"):
        """Folded stacks that burn, without the process: weights by stack."""
        weights = collections.Counter()
        for line in e2e.ebreport("folded", trace).splitlines():
            stack, weight = line.rsplit(" ", 1)
            if burn in stack:
                weights[stack.split(";", 1)[1]] += int(weight)
        return weights

    def check_way(self, way, frames, *arguments, program="unwound", least=0.97, run=()):
        """All stacks that burn have come this way."""
        trace = self.check(least, *run, e2e.program(program), way, *arguments, fp=False)
        weights = self.ways(trace)
        right = sum(w for stack, w in weights.items() if frames in stack)
        self.assertGreaterEqual(right, 0.98 * sum(weights.values()),
                                f"{frames}: {weights.most_common(5)}")
        return trace

    def test_plain(self):
        self.check(0.99, e2e.program("unwound"), "plain")

    def test_recursion(self):
        self.check_way("recurse", ";main;" + "recurse;" * 61 + "plain;work;burn", least=0.99)

    def deep(self, *options):
        """Records a recursion of 401 calls: trace, attributes and length of the stacks in it."""
        trace = self.record("-e", "sample,offcpu", "-F", "499", *options, "--",
                            e2e.program("unwound"), "recurse", "400")
        return trace, [(stack[0], len(stack[1]))
                       for stack, in columns(trace, "sample", "ustack")
                       if stack and len(stack[1]) > 15]

    def test_max_stack(self):
        trace, stacks = self.deep("--max-stack", "512")
        whole = sum(attrs >> 16 & 255 == STOPS.index("root") and n > 401 for attrs, n in stacks)
        self.assertGreaterEqual(whole, 0.97 * len(stacks), collections.Counter(stacks))
        self.assertGreater(len(stacks), 20)
        weights = self.ways(trace)
        right = sum(w for stack, w in weights.items()
                    if ";main;" + "recurse;" * 401 + "plain;work;burn" in stack)
        self.assertGreaterEqual(right, 0.95 * sum(weights.values()))

    def test_stacks_that_are_too_deep(self):
        """Cut at their outer end, and marked; also where each task holds its stack."""
        for most, *options in ((127,), (20, "--max-stack", "20"),
                               (300, "--max-stack", "300", "--min-block", "1us")):
            _, stacks = self.deep(*options)
            self.assertGreater(len(stacks), 20)
            cut = [n for attrs, n in stacks
                   if attrs & 2 and attrs >> 16 & 255 == STOPS.index("truncated")]
            self.assertEqual(set(cut), {most})
            self.assertGreaterEqual(len(cut), 0.9 * len(stacks), collections.Counter(stacks))

    def test_tables_that_do_not_fit(self):
        """Two libraries of which either one's table fits: that which is in use is there, once those
        that were used before it (the recorder's, which the command is before its exec) have gone:
        after two seconds."""
        trace = self.record("-e", "sample", "-F", "199", "--unwind-mem", "1M", "--no-stack-dump",
                            "--", e2e.program("crowd"), "10", e2e.program("crowded_one.so"),
                            e2e.program("crowded_two.so"))
        ends = [(time, STOPS[stack[0] >> 16 & 255])
                for time, stack in columns(trace, "sample", "time", "ustack") if stack]
        begin, end = ends[0][0], ends[-1][0]
        for name, part in (("first", [stop for time, stop in ends
                                      if begin + 75 * 10**8 < time < begin + 95 * 10**8]),
                           ("last", [stop for time, stop in ends if time > end - 10**9])):
            self.assertGreater(len(part), 10, name)
            self.assertGreaterEqual(part.count("root"), 0.95 * len(part), (name, ends))
        meta = dict(columns(trace, "meta", "key", "value"))
        self.assertGreaterEqual(int(meta[b"stacks.tables_evicted"]), 1)
        self.assertIn("evicted", e2e.ebreport("info", "--all", trace))

    def test_callback_of_libc(self):
        self.check_way("sort", "compare;work;burn", least=0.99)

    def test_signal_handler(self):
        self.check_way("signal", ";handler;work;burn")

    def test_alternate_stack(self):
        self.check_way("altstack", ";handler;work;burn")

    def test_aligned_frame(self):
        self.check_way("aligned", ";main;aligned;plain;work;burn")

    def test_threads(self):
        self.check_way("threads", ";thread;plain;work;burn")

    def test_vfork(self):
        self.check_way("vfork", "plain;work;burn")

    def test_vdso(self):
        self.check(0.97, e2e.program("unwound"), "vdso")

    def test_static(self):
        self.check_way("plain", ";main;plain;work;burn", program="unwound_static")

    def test_static_pie(self):
        self.check_way("plain", ";main;plain;work;burn", program="unwound_static_pie")

    def test_libraries_at_one_address(self):
        trace = self.check_way("reload", ";run;reloaded_", e2e.program("reloaded_one.so"),
                               e2e.program("reloaded_two.so"))
        weights = self.ways(trace)
        for name in ("reloaded_one", "reloaded_two"):
            share = sum(w for stack, w in weights.items()
                        if f";main;reloaded;run;{name};work;burn" in stack
                        or f";main;run;{name};work;burn" in stack)
            self.assertAlmostEqual(share / sum(weights.values()), 0.5, delta=0.15, msg=name)

    def test_missed_mapping(self):
        """The recorder finds out that a library has taken another's place without its hearing."""
        two = e2e.program("reloaded_two.so")
        trace = self.record("-e", "sample", "-F", "199", "--", e2e.program("unwound"), "missed",
                            e2e.program("reloaded_one.so"), two)
        rows = [row for row in e2e.Dump(trace, "--table", "mmap").rows("mmap")
                if row["path"].strip('"').endswith("reloaded_two.so")]
        self.assertTrue(rows)
        self.assertNotIn("event", {row["origin"] for row in rows}, "it was heard of after all")
        ends = [(time, STOPS[stack[0] >> 16 & 255], len(stack[1]))
                for time, stack in columns(trace, "sample", "time", "ustack") if stack]
        last = [end for end in ends if end[0] > ends[-1][0] - 10**9]
        self.assertGreater(len(last), 10)
        whole = [stop for _, stop, n in last if stop == "root" and n >= 8]
        self.assertGreaterEqual(len(whole), 0.95 * len(last), ends)
        weights = collections.Counter()
        for line in e2e.ebreport("folded", "--from", "85%", trace).splitlines():
            stack, weight = line.rsplit(" ", 1)
            weights[";main;missed;run;reloaded_two;work;burn" in stack
                    or ";main;run;reloaded_two;work;burn" in stack] += int(weight)
        self.assertGreaterEqual(weights[True], 0.9 * weights.total(), weights)

    def test_deleted_program(self):
        copy = self.path("gone")
        shutil.copy(e2e.program("unwound"), copy)
        counts = stops(self.record("-e", "sample", "-F", "999", "--", copy, "deleted"))
        self.assertGreaterEqual(rate(counts), 0.97, counts)

    def test_mount_namespace(self):
        self.check_way("plain", "plain;work;burn", run=("unshare", "-m"))

    def test_python(self):
        self.check(0.99, "/usr/bin/python3", "-c",
                   "import json, re\n"
                   "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
                   "for i in range(300): f(22); json.dumps(list(range(20000)))\n")

    def test_perl(self):
        self.check(0.99, "perl", "-e",
                   'my %h; for my $i (1..3000000) '
                   '{ $h{$i % 1000} .= sprintf("%d", $i) =~ s/1/2/r; }')

    def test_compiler(self):
        source = os.path.join(e2e.SOURCE, "tests/programs/unwound.c")
        self.check(0.97, "sh", "-c", f"for i in $(seq 25); do gcc -O2 -c {source} "
                                     f"-o {self.path('x.o')}; done")

    def test_short_lived(self):
        self.check(0.95, "sh", "-c", "for i in $(seq 30); do /usr/bin/python3 -c 'import json'; "
                                     "ls / > /dev/null; done")

    def test_node(self):
        if not shutil.which("node"):
            self.skipTest("no node here")
        self.check(0.95, "node", "-e",
                   "function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }\n"
                   "for (let i = 0; i < 120; i++) { f(30); JSON.stringify([...Array(1e5).keys()]) }")

    def test_off_cpu_through_libc(self):
        """Off-CPU stacks come out of libc's blocking calls."""
        trace = self.record("-e", "sched,offcpu", "--", "/usr/bin/python3", "-c",
                            "import select, threading, time, os\n"
                            "t = threading.Thread(target=lambda: time.sleep(0.3)); t.start()\n"
                            "for i in range(200): time.sleep(0.002)\n"
                            "select.epoll().poll(0.05); t.join()\n")
        counts = stops(trace, "sched_switch")
        # A sleep may be over before it begins.
        self.assertGreater(counts["root"], 150)
        self.assertGreaterEqual(rate(counts), 0.97, counts)

    def test_stacks_that_look_alike(self):
        """Stacks at switches are recognised; none may be taken for another."""
        trace = self.record("-e", "sched,offcpu", "--", e2e.program("unwound"), "naps")
        shapes = collections.Counter(
            tuple(stack[1]) for state, stack in columns(trace, "sched_switch", "prev_state",
                                                        "ustack")
            if stack and state and len(stack[1]) > 5)
        # One that was taken for another makes one too many there. A nap that is over before it
        # began is no switch.
        for _, n in shapes.most_common(2):
            self.assertLessEqual(n, 100, shapes)
            self.assertGreater(n, 80, shapes)


if __name__ == "__main__":
    e2e.main()

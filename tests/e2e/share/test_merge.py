# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of one machine in one: what several recorders saw is there once, and nothing is missing."""

import csv
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import jsonschema

import e2e

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/tools"))
import ebtdump  # noqa: E402

EBTDUMP = ebtdump.__file__
EBTGEN = os.path.join(os.environ["EBT_PROGRAMS"], "../../tools/ebtgen")
SCHED_SWITCH, SYSCALL, META = 64, 104, ebtdump.META_TABLE
# Counts its own calls until its input ends.
WORK = """
import os, select, sys, time
n = 0
while not select.select([0], [], [], 0)[0]:
    os.getppid()
    n += 1
    if n == 1:
        print("begun", flush=True)
    time.sleep(0.0005)
print(n)
"""
CALLS = "import os\nfor _ in range(100000): os.getppid()"


def dump_of(trace, table, *options):
    return [line for line in e2e.Dump(trace, *options).lines if line.split(" ", 2)[1] == table]


def without_times(rows):
    """Without what counts from the beginning of the file."""
    return [{key: value for key, value in row.items() if key != "max_at_ns"} for row in rows]


class Merge(e2e.TestCase):
    def begin(self, name, *options):
        """A recorder that has events of what runs, and its trace."""
        trace = self.path(name)
        child = self.start(e2e.EBREC, "-f", "-o", trace, *options, stderr=subprocess.DEVNULL)
        self.wait_for_rows(trace, child, "clock")
        return child, trace

    def finish(self, child):
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(timeout=e2e.SECONDS), 0)

    def begin_work(self):
        return self.start(sys.executable, "-c", WORK, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end_work(self, work):
        return int(work.communicate(b"\n", timeout=e2e.SECONDS)[0].split()[-1])

    def merge(self, *traces, name="merged.ebt"):
        merged = self.path(name)
        e2e.run(e2e.EBREPORT, "merge", *traces, "-f", "-o", merged)
        e2e.run(e2e.EBREPORT, "info", "--verify", merged)
        return merged

    def damage_chunk(self, trace, table, host=0, name="one-bad.ebt"):
        """A copy in which one chunk of a table cannot be read."""
        bad = self.path(name)
        with open(trace, "rb") as f:
            content = bytearray(f.read())
        chunks = [c for c in ebtdump.scan(bytes(content)) if (c.table_id, c.host) == (table, host)]
        chunk = chunks[len(chunks) // 2]
        content[chunk.offset + chunk.header_len] ^= 1
        with open(bad, "wb") as f:
            f.write(content)
        return bad

    def damage_every_second(self, trace, tables, name):
        """A copy in which every second chunk of these tables cannot be read."""
        bad = self.path(name)
        with open(trace, "rb") as f:
            content = bytearray(f.read())
        for table in tables:
            chunks = [c for c in ebtdump.scan(bytes(content)) if c.table_id == table and c.rows]
            for chunk in chunks[1::2]:
                content[chunk.offset + chunk.header_len] ^= 1
        with open(bad, "wb") as f:
            f.write(content)
        return bad

    def counted_switches(self, trace, pid):
        """What the kernel counted when the thread left its CPU for the last time."""
        end = next(line for line in dump_of(trace, "task_end", "--pid", str(pid))
                   if f" task={pid}/" in line)
        return sum(int(n) for n in re.findall(r"n[ivcsw]+csw=(\d+)", end))

    def calls(self, trace, pid):
        rows = e2e.rows("syscalls", trace, "--pid", str(pid))
        return sum(r["count"] for r in rows if r["name"] == "getppid")

    def left(self, trace, pid):
        """When the process left a CPU, which one, and whom it went to."""
        found = (re.search(rf"^(\d+) .*? cpu=(\d+) prev={pid}/.*? next=(\d+|-)", line)
                 for line in dump_of(trace, "sched_switch", "--pid", str(pid)))
        return sorted((int(row[1]), *row.groups()[1:]) for row in found if row)

    def switches(self, trace, pid):
        return len(self.left(trace, pid))

    def beyond(self, own, other):
        """Rows of the other recorder, which has a time of its own, when this one was not there."""
        ends = own[0], own[-1]
        return [row for row in other if not own[0][0] <= row[0] <= own[-1][0] and
                not any(row[1:] == end[1:] and abs(row[0] - end[0]) < 200_000 for end in ends)]

    @e2e.exact
    def test_at_once(self):
        """One begins within the other and ends after it: each call and each switch is there once."""
        first, a = self.begin("a.ebt", "-a", "-e", "sched,syscalls")
        work = self.begin_work()
        work.stdout.readline()  # its calls have begun, however busy the machine is
        second, b = self.begin("b.ebt", "-a", "-e", "sched,syscalls")
        time.sleep(0.5)
        self.finish(first)
        time.sleep(0.3)
        done = self.end_work(work)
        self.finish(second)
        for order in ((a, b), (b, a)):
            merged = self.merge(*order)
            for trace in order:
                self.assertLess(self.calls(trace, work.pid), done)
            self.assertEqual(self.calls(merged, work.pid), done, order)
            of_work = "--pid", str(work.pid)
            self.assertEqual(self.switches(merged, work.pid),
                             self.counted_switches(merged, work.pid), order)
            for table in ("task_fork", "task_exec", "task_exit"):
                rows = [line for line in dump_of(merged, table, *of_work)
                        if re.search(rf"(child|task)={work.pid}/", line)]
                self.assertEqual(len(rows), 1, rows)

    @e2e.exact
    def test_damaged_rows(self):
        """What cannot be read of one trace comes from the other, and the rest is there once."""
        first, a = self.begin("a.ebt", "-a", "-e", "sched,syscalls")
        second, b = self.begin("b.ebt", "-a", "-e", "sched,syscalls")
        work = self.begin_work()
        work.stdout.readline()
        time.sleep(3.2)  # a chunk is a second
        done = self.end_work(work)
        self.finish(first)
        self.finish(second)
        bad = self.damage_every_second(a, (SCHED_SWITCH, SYSCALL), "bad.ebt")
        self.assertLess(self.calls(bad, work.pid), done)
        for order in ((bad, b), (b, bad)):
            merged = self.merge(*order)
            self.assertEqual(self.calls(merged, work.pid), done, order)
            self.assertEqual(self.switches(merged, work.pid),
                             self.counted_switches(merged, work.pid), order)
            self.assertEqual(self.dumped_calls(merged, work.pid), done, order)

    def dumped_calls(self, trace, pid):
        """As the second reader finds them."""
        part = self.path("part.ebt")
        e2e.run(e2e.EBREPORT, "cut", "--pid", str(pid), trace, "-f", "-o", part)
        dumped = e2e.run(sys.executable, EBTDUMP, part).stdout.decode().splitlines()
        return sum(f" task={pid}/" in line and " nr=110 " in line for line in dumped
                   if line.split(" ", 2)[1] == "syscall")

    @e2e.exact
    def test_lost_rows(self):
        """A ring that was full: what one lost comes from the other, and is no more said to be lost."""
        first, a = self.begin("a.ebt", "-a", "-e", "syscalls", "-b", "128K")
        second, b = self.begin("b.ebt", "-a", "-e", "syscalls", "-b", "64M")
        self.wait_for_rows(b, second, "syscall")
        begin, works = int(dump_of(b, "syscall")[0].split(" ")[0]), []
        end = time.monotonic() + e2e.SECONDS
        while not self.lost(a, begin) and time.monotonic() < end:
            first.send_signal(signal.SIGSTOP)
            works.append(self.start(sys.executable, "-c", CALLS))
            works[-1].wait(timeout=e2e.SECONDS)
            first.send_signal(signal.SIGCONT)
            time.sleep(1)
        self.finish(first)
        self.finish(second)
        self.assertGreater(self.lost(a, begin), 0)
        self.assertEqual(self.lost(b, begin), 0)
        for order in ((a, b), (b, a)):
            merged = self.merge(*order)
            self.assertEqual(self.lost(merged, begin), 0, order)
            for work in works:
                self.assertEqual(self.calls(merged, work.pid), 100_000, order)

    def test_lost_by_both(self):
        """Rows that nobody has are lost, and those that the other has are not."""
        task = 'task=7/7/50/"one"'
        call = (f"syscall cpu=0 {task} nr=39 abi=native duration=5 ret=7 arg0=0x0 arg1=0x0 arg2=0x0 "
                "arg3=0x0 arg4=0x0 arg5=0x0")
        lost = ('lost from={} count=3 table_id=104 reason="ring buffer full" ring=1 unused=0 '
                'source="syscalls" detail=""')
        calls = [f"{t} {call}" for t in (100_000_000, 900_000_000)]
        a = self.made("a.ebt", "1", f"300000000 {lost.format(200000000)}",
                      f"600000000 {lost.format(500000000)}")
        b = self.made("b.ebt", "1", *calls, f"550000000 {lost.format(540000000)}")
        for order in ((a, b), (b, a)):
            found = [row.split(" ")[0] for row in dump_of(self.merge(*order), "lost")]
            self.assertEqual(sorted(found), ["550000000", "600000000"], order)

    def lost(self, trace, begin):
        """Calls that were lost after that time."""
        found = (re.search(r" from=(\d+) count=(\d+) table_id=(\d+) ", line)
                 for line in dump_of(trace, "lost"))
        return sum(int(row.group(2)) for row in found
                   if int(row.group(1)) > begin and int(row.group(3)) == SYSCALL)

    def test_other_sources(self):
        """What one recorded of the scheduler, and the other of system calls."""
        first, a = self.begin("a.ebt", "-a", "-e", "sched")
        second, b = self.begin("b.ebt", "-a", "-e", "syscalls")
        work = self.begin_work()
        time.sleep(0.3)
        done = self.end_work(work)
        self.finish(first)
        self.finish(second)
        merged = self.merge(a, b)
        self.assertEqual(self.calls(merged, work.pid), done)
        self.assertEqual(self.switches(merged, work.pid), self.switches(a, work.pid))
        self.assertEqual(*(without_times(e2e.rows("syscalls", trace, "--pid", str(work.pid)))
                           for trace in (merged, b)))
        info = e2e.run(e2e.EBREPORT, "info", merged).stdout.decode()
        self.assertRegex(info, r"on: .*sched")
        self.assertRegex(info, r"on: .*syscalls")
        # The second reader finds the same rows, and both inputs' events.
        dumped = e2e.run(sys.executable, EBTDUMP, merged).stdout.decode().splitlines()
        self.assertEqual(dumped, e2e.Dump(merged).lines)
        self.assertEqual(len(dump_of(merged, "syscall")), len(dump_of(b, "syscall")))
        self.assertEqual(len(dump_of(merged, "sched_switch")), len(dump_of(a, "sched_switch")))

    def test_recorders(self):
        """Neither follows itself: of each, switches with tasks that are followed are in both, and
        the others in the other."""
        first, a = self.begin("a.ebt", "-a", "-e", "sched,offcpu")
        second, b = self.begin("b.ebt", "-a", "-e", "sched,offcpu")
        time.sleep(1)
        self.finish(first)
        self.finish(second)
        alone = re.compile(rf" prev=(?:\d+/{first.pid}/\S+|-) next=(?:\d+/{first.pid}/\S+|-) ")

        def switches(trace):
            return [line.split()[0] for line in dump_of(trace, "sched_switch")
                    if alone.search(line) and f"/{first.pid}/" in line]
        self.assertEqual(switches(a), [])
        self.assertGreater(len(switches(b)), 0)
        for order in ((a, b), (b, a)):
            merged = self.merge(*order)
            self.assertEqual(switches(merged), switches(b), order)

    def test_other_processes(self):
        """-p of one process, -p of another, in one trace; and then beside a recording of all."""
        works = [self.begin_work() for _ in range(2)]
        everything, whole = self.begin("all.ebt", "-a", "-e", "sched,syscalls")
        recorders = [self.begin(f"{i}.ebt", "-p", str(work.pid), "-e", "sched,syscalls")
                     for i, work in enumerate(works)]
        time.sleep(0.4)
        for child, _ in recorders:
            self.finish(child)
        self.finish(everything)
        for work in works:
            self.end_work(work)
        traces = [trace for _, trace in recorders]
        merged = self.merge(*traces)
        for work, trace, other in zip(works, traces, traces[::-1]):
            self.assertGreater(self.calls(trace, work.pid), 10)
            # All rows: what lies outside of the time of one recorder may be in the other's.
            self.assertEqual(*(len(dump_of(name, "syscall", "--pid", str(work.pid)))
                               for name in (merged, trace)))
            # Where it left a CPU to the other process, that one's recorder has seen it, too.
            own = self.left(trace, work.pid)
            beyond = self.beyond(own, self.left(other, work.pid))
            self.assertEqual(self.switches(merged, work.pid), len(own) + len(beyond))
        both = self.merge(whole, *traces, name="both.ebt")
        for work in works:
            self.assertEqual(self.calls(both, work.pid), self.calls(whole, work.pid))
            self.assertEqual(self.switches(both, work.pid), self.switches(whole, work.pid))

    def test_pid_again(self):
        """A pid that another process has later: one recorder followed the first, one the second."""
        works = [self.begin_work(), self.begin_work()]
        pid = works[0].pid
        first, a = self.begin("a.ebt", "-p", f"{pid},{works[1].pid}", "-e", "syscalls")
        time.sleep(0.3)
        self.end_work(works[0])
        again = self.begin_work_as(pid)
        second, b = self.begin("b.ebt", "-p", str(pid), "-e", "syscalls")
        time.sleep(0.3)
        self.end_work(again)
        self.finish(second)
        self.end_work(works[1])
        self.finish(first)
        self.assertGreater(self.calls(b, pid), 10)
        merged = self.merge(a, b)
        rows = [len(dump_of(trace, "syscall", "--pid", str(pid))) for trace in (a, b, merged)]
        self.assertEqual(rows[2], rows[0] + rows[1])

    def begin_work_as(self, pid):
        end = time.monotonic() + e2e.SECONDS
        while time.monotonic() < end:
            with open("/proc/sys/kernel/ns_last_pid", "w") as f:
                f.write(str(pid - 1))
            work = self.begin_work()
            if work.pid == pid:
                work.stdout.readline()
                return work
            self.end_work(work)
        return self.fail(f"pid {pid} is not given again")

    def test_other_options(self):
        """Samples of two rates: each once, with its own weight, and it is said."""
        first, a = self.begin("a.ebt", "-a", "-F", "99")
        second, b = self.begin("b.ebt", "-a", "-F", "499")
        e2e.run(sys.executable, "-c", "for _ in range(4000000): pass")
        self.finish(first)
        e2e.run(sys.executable, "-c", "for _ in range(4000000): pass")
        self.finish(second)
        merged = self.path("merged.ebt")
        said = e2e.run(e2e.EBREPORT, "merge", a, b, "-o", merged).stderr.decode()
        self.assertRegex(" ".join(said.split()), r"other options: -F 99 and 499( \(.*cycles.*\))?\.")
        own, others = self.samples(a), self.samples(b)
        # The first has none of itself.
        of_first = self.samples(b, "--pid", str(first.pid))
        expected = sorted(own + [row for row in others if not own[0][0] <= row[0] <= own[-1][0] or
                                 row in of_first])
        self.assertGreater(len(expected), len(own))
        self.assertEqual(self.samples(merged), expected)

    def test_options_of_pairs(self):
        """Each difference is said once, and only of what both have."""
        def made(name, begin, end, **options):
            task = 'task=7/7/50/"one"'
            sample = f"sample cpu=0 {task} event=cpu-clock user=1 period=100 kstack=- ustack=- udump=x"
            call = (f"syscall cpu=0 {task} nr=39 abi=native duration=5 ret=7 arg0=0x0 arg1=0x0 arg2=0x0 "
                    "arg3=0x0 arg4=0x0 arg5=0x0")
            row = sample if "freq" in options else call
            return self.made(name, "1", *(f"{t} {row}" for t in (begin, end)),
                             *(f'{begin} meta key="{prefix}.{key}" value="{options[key]}"'
                               for key, prefix in (("freq", "sample"), ("call_graph", "options"))
                               if key in options))

        a, b, c, d = (made("a.ebt", 2000, 9000, freq=99, call_graph="fp"),
                      made("b.ebt", 5000, 20000, freq=999, call_graph="fp"),
                      made("c.ebt", 10000, 30000, freq=99, call_graph="fp"),
                      made("d.ebt", 2000, 30000, call_graph="dwarf"))
        for inputs, expected in (((a, b, c), [("a.ebt", "b.ebt", "-F 99 and 999."),
                                              ("b.ebt", "c.ebt", "-F 999 and 99.")]),
                                 ((b, a, c), [("b.ebt", "a.ebt", "-F 999 and 99.")]),
                                 ((a, c), []), ((a, d), [])):
            done = e2e.run(e2e.EBREPORT, "merge", *inputs, "-f", "-o", self.path("m.ebt"))
            said = re.findall(r"(\w\.ebt) and \S+?(\w\.ebt) recorded at the same time with other "
                              r"options: (.*?\.) What", " ".join(done.stderr.decode().split()))
            self.assertEqual(said, expected, inputs)

    def test_options_of_others(self):
        """Of processes that only one followed, differences count if reports mix the two."""
        def made(name, pid, options, *rows, begin=2000):
            task = f'task={pid}/{pid}/50/"one"'
            process = (f"{begin} process {task} ppid=1 uid=0 kernel=0 mnt_ns=1 pid_ns=1 net_ns=1 "
                       'user_ns=1 cgroup_ns=1 exe="" root="" nspid="" cgroup="" cmdline=""')
            values = {"target.kind": "pids", "target.pids": pid, **options}
            return self.made(name, "1", *(f'{begin} meta key="{key}" value="{value}"'
                                          for key, value in values.items()),
                             process, *(f"{begin + at} {row.format(task=task, pid=pid)}"
                                        for at, row in ((0, rows[0]), *((9000, row) for row in rows))))

        sample = ("sample cpu=0 {{task}} event={} user=1 period=100 kstack=- ustack={} udump=x")
        clock, bare = sample.format("cpu-clock", "u:401010"), sample.format("cpu-clock", "-")
        cycles = sample.format("cycles", "u:401010")
        switch = ('sched_switch cpu=0 prev={{pid}}/{{pid}}/50/"one" next=- prev_state=0x1 preempt=0 '
                  "unused=0 kstack={} ustack=- udump=x prev_run=0")
        off = "offcpu_stack cpu=0 {task} duration=5 kstack=k:ffffffff81000010 ustack=-"
        stopped, plain = switch.format("k:ffffffff81000010"), switch.format("-")

        def options(freq=99, graph="table", block=0, event="cpu-clock"):
            return {"sample.freq": freq, "sample.event": event, "options.call_graph": graph,
                    "options.min_block_ns": block}

        first, other = options(), options(999, "fp", 1000)
        counted = " (reports count samples by cycles at the first rate)"
        shown = " (reports show off-CPU stacks only where there is one)"
        both = "at the same time with other options: {}. What both recorded is as the first has it"
        apart = "with other options: {}"
        blocks = "--min-block (ns) 0 and 1000"
        of_cycles = (options(event="cycles"), cycles), (options(999, event="cycles"), cycles)
        for number, (pid, rows, begin, expected) in enumerate((
                (8, ((first, clock), (other, clock)), 2000, None),
                (7, ((first, clock), (other, clock)), 2000,
                 both.format("-F 99 and 999, --call-graph table and fp")),
                (7, ((first, clock), (other, clock)), 50000, None),
                (7, ((first, clock), (other, bare)), 2000, both.format("-F 99 and 999")),
                (8, of_cycles, 2000, apart.format("-F 99 and 999" + counted)),
                (8, of_cycles, 50000, apart.format("-F 99 and 999" + counted)),
                (7, ((first, plain), (other, plain)), 2000, None),
                (8, ((first, stopped), (other, plain, off)), 2000, apart.format(blocks + shown)),
                (7, ((first, stopped), (other, plain, off)), 2000,
                 both.format(blocks + shown)),
                (8, ((options(block=2000), plain, off), (other, plain, off)), 2000, None),
                (7, ((options(block=2000), plain, off), (options(block=1000), plain, off)), 2000,
                 both.format("--min-block (ns) 2000 and 1000")))):
            a, b = made("a.ebt", 7, *rows[0]), made("b.ebt", pid, *rows[1], begin=begin)
            done = e2e.run(e2e.EBREPORT, "merge", a, b, "-f", "-o", self.path("m.ebt"))
            said = " ".join(done.stderr.decode().split())
            self.assertEqual(re.findall(r"b\.ebt recorded (.*)", said), [expected] if expected else [],
                             number)

    def samples(self, trace, *options):
        """When they were taken, where, and what time they stand for."""
        found = (re.search(r"^(\d+) .*? cpu=(\d+) .* period=(\d+)", line)
                 for line in dump_of(trace, "sample", *options))
        return sorted(tuple(int(n) for n in row.groups()) for row in found)

    def test_pid_namespaces(self):
        """What is of a pid namespace that is known already needs no warning."""
        traces = [self.made(f"{i}.ebt", space) for i, space in enumerate("1221")]
        done = e2e.run(e2e.EBREPORT, "merge", *traces, "-o", self.path("m.ebt"))
        said = " ".join(done.stderr.decode().split())
        self.assertEqual(said.count("two pid namespaces"), 1, said)
        self.assertIn("0.ebt and ", said)
        self.assertEqual(e2e.ebreport("dump", self.path("m.ebt")).count("host-"), 2)

    def made(self, name, space, *rows):
        """A recording of a pid namespace."""
        text, trace = self.path("made.txt"), self.path(name)
        with open(text, "w") as f:
            f.write(f'1000 meta key="host.boot_id" value="boot"\n'
                    f'1000 meta key="host.pid_ns" value="{space}"\n')
            f.writelines(f"{row}\n" for row in rows)
        e2e.run(EBTGEN, text, trace)
        with open(trace, "rb") as f:
            content = bytearray(f.read())
        content[40:48] = os.urandom(8)  # of its uuid
        self.write_file(trace, content)
        return trace

    def write_file(self, name, content):
        """Its header's checksum is right again."""
        content[92:96] = ebtdump.crc32c(bytes(content[:92])).to_bytes(4, "little")
        with open(name, "wb") as f:
            f.write(content)

    def test_no_numbers(self):
        """A file that may have several machines, and whose chunks have no number, is of one."""
        trace = self.record("--", "true")
        with open(trace, "rb") as f:
            content = bytearray(f.read())
        content[16] |= ebtdump.FEATURE_HOSTS
        marked = self.path("marked.ebt")
        self.write_file(marked, content)
        dumped = [e2e.run(sys.executable, EBTDUMP, name).stdout for name in (trace, marked)]
        self.assertEqual(*dumped)
        self.assertEqual(e2e.ebreport("dump", marked).encode(), dumped[0])

    def test_one_after_the_other(self):
        traces = [self.record("-e", "default,syscalls", "--", "sh", "-c", "sleep 0.05",
                              name=f"{i}.ebt") for i in range(3)]
        merged = self.merge(*traces)
        e2e.run(sys.executable, EBTDUMP, "--check", merged)
        for table in ("syscall", "sched_switch", "sample", "task_exec", "task_exit"):
            rows = [line for trace in traces for line in dump_of(trace, table)]
            self.assertEqual(sorted(dump_of(merged, table)), sorted(rows))
        infos = [e2e.report_json("info", trace) for trace in (*traces, merged)]
        self.assertEqual(infos[3]["start_ns"], infos[0]["start_ns"])
        self.assertEqual(int(infos[3]["start_ns"]) + infos[3]["duration_ns"],
                         int(infos[2]["start_ns"]) + infos[2]["duration_ns"])
        # What is merged can be merged on, and in any order.
        again = self.merge(self.merge(traces[2], traces[1], name="two.ebt"), traces[0])
        self.assertEqual(sorted(dump_of(again, "syscall")), sorted(dump_of(merged, "syscall")))

    def test_one_right_after_the_other(self):
        """The same call again and again: recordings with a moment between have no event in common."""
        a, b = (self.calls_at(f"{begin}.ebt", *(begin + 500_000 * i for i in range(200)))
                for begin in (1_000_000_000, 1_100_500_000))
        for order in ((a, b), (b, a)):
            self.assertEqual(len(dump_of(self.merge(*order), "syscall")), 400)

    def calls_at(self, name, *times, begin=None, end=None):
        """A recording of the same call at these times, and of its own moments, if they are given."""
        call = ('syscall cpu=0 task=7/7/50/"one" nr=39 abi=native duration=5 ret=7 arg0=0x0 arg1=0x0 '
                "arg2=0x0 arg3=0x0 arg4=0x0 arg5=0x0")
        moments = ((begin, "begin"), (end, "end"))
        return self.made(name, "1", *(f"{at} {call}" for at in times),
                         *(f"{at} clock boottime={at} realtime={at} tai={at} uncertainty=0 "
                           f"moment={moment}" for at, moment in moments if at is not None))

    def test_short_overlap(self):
        """Both have the last calls of the one, which are the first of the other, and no more."""
        for period, apart in ((500_000, 2000), (500_000, -2000), (3000, 400), (3000, -400)):
            times = [1_000_000_000 + period * i for i in range(400)]
            for both in (1, 2, 3, 10):
                a = self.calls_at("a.ebt", *times[:200])
                b = self.calls_at("b.ebt", *(at + apart for at in times[200 - both:]))
                for order in ((a, b), (b, a)):
                    merged = self.merge(*order)
                    self.assertEqual(len(dump_of(merged, "syscall")), 400, (period, apart, both))

    def test_nobody_saw_both(self):
        """Recordings at the same time for a moment in which the call was not made."""
        a = self.calls_at("a.ebt", 1_000_000_000, begin=900_000_000, end=1_002_000_000)
        b = self.calls_at("b.ebt", 1_003_000_000, begin=1_001_000_000, end=1_100_000_000)
        for order in ((a, b), (b, a)):
            self.assertEqual(len(dump_of(self.merge(*order), "syscall")), 2)

    def test_late_twin(self):
        """The CPU was taken away between two recorders: the call is there once."""
        a = self.calls_at("a.ebt", 1_000_000_000, begin=900_000_000, end=1_100_000_000)
        b = self.calls_at("b.ebt", 1_003_000_000, begin=900_000_000, end=1_100_000_000)
        c, d = (self.calls_at(name, 990_000_000 + by, 1_000_000_000 + late, 1_005_000_000 + by)
                for name, by, late in (("c.ebt", 0, 0), ("d.ebt", 1000, 3_000_000)))
        for order, n in (((a, b), 1), ((b, a), 1), ((c, d), 3), ((d, c), 3)):
            self.assertEqual(len(dump_of(self.merge(*order), "syscall")), n)

    def test_numbers(self):
        """Both have numbered their probes and files from 1."""
        first, a = self.begin("a.ebt", "-a", "-e", "tp:sched:sched_process_exit")
        second, b = self.begin("b.ebt", "-a", "-e",
                               "tp:sched:sched_process_fork,tp:sched:sched_process_exit")
        for _ in range(20):
            e2e.run("true")
        self.finish(second)
        self.finish(first)
        merged = self.merge(a, b)

        def hits(trace):
            names = {re.search(r" probe=(\d+)", line).group(1):
                     re.search(r' name="(\w+)"', line).group(1)
                     for line in dump_of(trace, "probe")}
            found = {}
            for line in dump_of(trace, "probe_hit"):
                name = names[re.search(r" probe=(\d+)", line).group(1)]
                found[name] = found.get(name, 0) + 1
            return found

        self.assertGreaterEqual(hits(b)["sched_process_exit"], 20)
        self.assertEqual(hits(merged),
                         {**hits(a), "sched_process_fork": hits(b)["sched_process_fork"]})
        self.assertEqual(len(dump_of(merged, "probe")), 2)
        listed = [e2e.report_json("files", trace)["rows"] for trace in (a, b, merged)]
        self.assertEqual(len(listed[2]), len(listed[0]) + len(listed[1]))
        for trace, offset in ((a, 0), (b, len(listed[0]))):
            for row in e2e.report_json("files", trace)["rows"]:
                number = str(row["file_id"])
                there = str(row["file_id"] + offset)
                content = e2e.run(e2e.EBREPORT, "extract", trace, number, "-o", "-").stdout
                copy = e2e.run(e2e.EBREPORT, "extract", merged, there, "-o", "-").stdout
                self.assertEqual(copy, content, number)

    def test_arguments(self):
        """Probes of one place that read other arguments are two: each value has its name."""
        traces = []
        for name, argument in (("fd", "1/d32"), ("count", "3/u64")):
            traces.append(self.begin(f"{name}.ebt", "-a", "-e",
                                     f"uprobe:libc.so.6:write:{name}={argument}"))
        writer = self.start(sys.executable, "-c", "import os; os.write(1, b'x' * 4321)",
                            stdout=subprocess.DEVNULL)
        writer.wait(timeout=e2e.SECONDS)
        for child, _ in traces:
            self.finish(child)
        merged = self.merge(*(trace for _, trace in traces))
        self.assertEqual(len(dump_of(merged, "probe")), 2)
        said = [row["message"] for row in e2e.rows("marks", merged, "--pid", str(writer.pid))]
        self.assertEqual(sorted(said), ["count=4321 -> 4321", "fd=1 -> 4321"])
        # The same probe in both is one.
        again = self.merge(merged, self.record("-e", "uprobe:libc.so.6:write:fd=1/d32", "--", "true"),
                           name="again.ebt")
        self.assertEqual(len(dump_of(again, "probe")), 2)
        self.assertEqual(len(dump_of(again, "probe_arg")), 2)

    def test_damaged(self):
        """What is damaged is merged as far as it can be read, and the copy says so."""
        whole = self.record("-e", "default,syscalls", "--", "true", name="whole.ebt")
        other = self.record("-e", "default,syscalls", "--", "true", name="other.ebt")
        with open(other, "rb") as f:
            original = f.read()
        chosen = random.Random(11)
        bad, merged, used = self.path("bad.ebt"), self.path("m.ebt"), 0
        for damaged in range(25):
            content = bytearray(original)
            for _ in range(damaged // 2):
                content[chosen.randrange(200, len(content))] = chosen.randrange(256)
            with open(bad, "wb") as f:
                f.write(content[:-1])
            order = [whole, bad] if damaged % 2 else [bad, whole]
            done = e2e.run(e2e.EBREPORT, "merge", *order, "-f", "-o", merged, status=None)
            if done.returncode:
                self.assertIn(done.returncode, (1, 2))
                self.assertRegex(done.stderr.decode(), "^ebreport: ")
                continue
            used += 1
            e2e.run(sys.executable, EBTDUMP, "--check", merged)
            said = e2e.run(e2e.EBREPORT, "syscalls", merged).stderr.decode()
            self.assertIn("had no end", said)
            self.assertGreaterEqual(len(dump_of(merged, "syscall")), len(dump_of(whole, "syscall")))
        self.assertGreater(used, 5)
        # What copies say of their originals is said of each.
        for trace, copy in ((whole, "first.ebt"), (other, "second.ebt")):
            bad = self.damage_chunk(trace, SCHED_SWITCH)
            e2e.run(e2e.EBREPORT, "merge", bad, self.record("--", "true", name="more.ebt"),
                           "-f", "-o", self.path(copy))
        both = self.merge(self.path("first.ebt"), self.path("second.ebt"))
        said = e2e.run(e2e.EBREPORT, "sched", both).stderr.decode()
        self.assertEqual(said.count("was damaged: 1 part"), 2, said)

    def test_machines(self):
        """Each keeps what it has; a window is the same time of all."""
        a = self.record("-e", "default,syscalls", "--", "true", name="a.ebt")
        second = self.record("-e", "default,syscalls", "--", "sleep", "0.1", name="second.ebt")
        b, merged = self.path("b.ebt"), self.path("m.ebt")
        # Scrubbing gives it the name and the boot id of another machine.
        e2e.run(e2e.EBREPORT, "scrub", second, "-o", b)
        old = os.path.join(e2e.SOURCE, "tests/fixtures/v1.0-kinds.ebt")
        e2e.run(e2e.EBREPORT, "merge", a, b, "-o", merged)
        e2e.run(sys.executable, EBTDUMP, "--check", merged)
        dumped = e2e.run(sys.executable, EBTDUMP, merged).stdout.decode()
        self.assertEqual(dumped, e2e.ebreport("dump", merged))
        names = re.findall(r"^host-\d: .*$", dumped, re.MULTILINE)
        self.assertEqual([name.split()[0] for name in names], ["host-1:", "host-2:"])
        for host, trace in (("1", a), ("2", b), (names[1].split(": ")[1], b)):
            for command in ("sched", "syscalls", "procs", "wall", "counters", "modules"):
                self.assertEqual(e2e.rows(command, merged, "--host", host), e2e.rows(command, trace))
            self.assertIn(e2e.ebreport("sched", trace), e2e.ebreport("sched", merged))
            copy = self.path("copy.ebt")
            e2e.run(e2e.EBREPORT, "bundle", "--host", host, merged, "-f", "-o", copy)
            self.assertEqual(e2e.rows("sched", copy), e2e.rows("sched", trace))
            e2e.run(sys.executable, EBTDUMP, "--check", copy)
        # It was one machine: how much later the second began, its monotonic clock says, too.
        later = e2e.start_ns(b) - e2e.start_ns(a)
        for edge, found in ((later - 50_000_000, 0), (later + 10_000_000_000, None)):
            rows = e2e.rows("syscalls", merged, "--host", "2", "--to", f"{edge}ns")
            self.assertEqual(sum(row["count"] for row in rows),
                             sum(row["count"] for row in e2e.rows("syscalls", b))
                             if found is None else found)
        self.assertEqual(e2e.rows("syscalls", merged, "--host", "1", "--from", f"{later}ns"), [])
        self.check_documents(merged)
        for options in (["flame"], ["cut", "--to", "50%"], ["diff", a], ["diff", merged],
                        ["folded"], ["export"], ["offcpu", "--flame", copy],
                        ["wall", "--per-thread", copy], ["wall", "--folded"],
                        ["extract", "-o", copy], ["bundle", "-o", copy]):
            done = e2e.run(e2e.EBREPORT, *options, merged, status=2)
            self.assertEqual(done.stdout, b"")
            self.assertIn("choose one with --host: 1 (", done.stderr.decode())
        for others in (a, b):  # whichever file is first
            done = e2e.run(e2e.EBREPORT, "diff", merged, others, status=2)
            self.assertIn("choose one with --host: 1 (", done.stderr.decode())
        for files, same in (((merged, b), (b, b)), ((b, merged), (b, b)), ((a, merged), (a, b))):
            sides = [[row["duration_ns"] for row in e2e.report_json("diff", *words)["traces"]]
                     for words in ((*files, "--host", "2"), same)]
            self.assertEqual(*sides, files)
            self.assertTrue(all(sides[0]), files)
        done = e2e.run(e2e.EBREPORT, "diff", "--host", "2", a, b, status=2)
        self.assertIn("--host does not apply", done.stderr.decode())
        for host in "12":
            done = e2e.run(e2e.EBREPORT, "sched", "--host", host, "--from", "2s", "--to", "1s", merged,
                           status=2)
            self.assertIn("--to is not later than --from", done.stderr.decode())
        done = e2e.run(e2e.EBREPORT, "sched", "--host", "3", merged, status=2)
        self.assertIn("--host '3'", done.stderr.decode())
        # Machines that are merged are merged on, each with its own.
        third = self.record("-e", "sched", "--", "true", name="third.ebt")
        done = e2e.run(e2e.EBREPORT, "merge", merged, old, third, "-o", self.path("all.ebt"))
        self.assertIn("kept apart as a machine of its own", done.stderr.decode())
        e2e.run(sys.executable, EBTDUMP, "--check", self.path("all.ebt"))
        hosts = [len(dump_of(self.path("all.ebt"), "sched_switch", "--host", host)) for host in "123"]
        self.assertEqual(hosts, [sum(len(dump_of(t, "sched_switch")) for t in (a, third)),
                                 len(dump_of(b, "sched_switch")), len(dump_of(old, "sched_switch"))])
        self.check_one_bad(merged, len(dump_of(b, "sched_switch")))
        self.damage(merged)

    def check_documents(self, merged):
        """JSON and CSV of all machines have what those of each have."""
        with open(os.path.join(e2e.SOURCE, "docs/json.schema.json"), encoding="utf-8") as f:
            validator = jsonschema.Draft202012Validator(json.load(f))
        for command in (["sched"], ["info", "--no-symbols"], ["syscalls", "--interval", "20ms"],
                        ["procs", "--tree"], ["dump", "--table", "sched_switch"]):
            written = self.path("all.json")
            whole = json.loads(e2e.ebreport(*command, "--json", merged))
            e2e.run(e2e.EBREPORT, *command, "--json", "-o", written, merged)
            with open(written, encoding="utf-8") as f:
                self.assertEqual(json.load(f), whole)
            error = jsonschema.exceptions.best_match(validator.iter_errors(whole))
            self.assertIsNone(error, error and (list(error.absolute_path), error.message))
            head = {key: whole[key] for key in ("command", "version", "file")}
            self.assertEqual([host["host_number"] for host in whole["hosts"]], [1, 2])
            rows = []
            for host in whole["hosts"]:
                number, name = str(host.pop("host_number")), host.pop("host_name")
                one = json.loads(e2e.ebreport(*command, "--json", "--host", number, merged))
                self.assertEqual(one, {**head, **host})
                header, *values = csv.reader(io.StringIO(
                    e2e.ebreport(*command, "--csv", "--host", number, merged)))
                rows += [[number, name, *row] for row in values]
            lines = list(csv.reader(io.StringIO(e2e.ebreport(*command, "--csv", merged))))
            self.assertEqual(lines, [["host_number", "host_name", *header], *rows])
        lines = [json.loads(line) for line in e2e.ebreport("summary", "--ndjson", merged).splitlines()]
        self.assertEqual([line["host_number"] for line in lines], [1, 2])
        self.assertEqual([line["seq"] for line in lines], [0, 1])
        texts = "".join(e2e.ebreport("sched", "--host", number, merged) for number in "12")
        e2e.run(e2e.EBREPORT, "sched", "-o", written, "-f", merged)
        with open(written, encoding="utf-8") as f:
            self.assertEqual(re.sub(r"(?m)^host-\d: .*\n", "", f.read()), texts)

    def check_one_bad(self, merged, of_second):
        """What is wrong with the first machine is said of it; the second is read as ever."""
        said = dump_of(merged, "sched_switch", "--host", "1")
        bad = self.damage_chunk(merged, SCHED_SWITCH, 1)
        done = e2e.run(e2e.EBREPORT, "info", "--verify", bad, status=1)
        self.assertRegex(done.stderr.decode(), r"host-1: .* 1 part is damaged")
        self.assertNotIn("host-2: ", done.stderr.decode())
        self.assertEqual(done.stdout.count(b": all are as they were written"), 1)
        self.assertRegex(done.stdout.decode(), r"(?s)host-1: .*host-2: .*Verified")
        for table in (SCHED_SWITCH, META):
            bad = self.damage_chunk(merged, table, 1)
            done = e2e.run(e2e.EBREPORT, "sched", bad, status=None).stderr.decode()
            self.assertEqual(re.findall(r"(\d+) parts? of the file", done), ["1"], done)
            done = e2e.run(e2e.EBREPORT, "sched", bad, "--host", "2").stderr.decode()
            self.assertNotIn("could not be read", done)
        bad = self.damage_chunk(merged, SCHED_SWITCH, 1)
        self.assertLess(len(dump_of(bad, "sched_switch", "--host", "1")), len(said))
        self.assertEqual(len(dump_of(bad, "sched_switch", "--host", "2")), of_second)

    def test_scrubbed(self):
        """Aliases of machines are the same in every copy; they are no machine's name."""
        traces = [self.record("-e", "sched", "--", "true", name=f"{i}.ebt") for i in range(2)]
        copies = [self.path(f"scrubbed{i}.ebt") for i in range(2)]
        for trace, copy in zip(traces, copies):
            e2e.run(e2e.EBREPORT, "scrub", trace, "-o", copy)
        merged = self.path("apart.ebt")
        done = e2e.run(e2e.EBREPORT, "merge", *copies, "-o", merged).stderr.decode()
        self.assertEqual(done.count(", as it is scrubbed: it is kept apart as a machine"), 2, done)
        self.check_machines(merged, copies)
        # One is chosen of several machines; what is written is one trace, without their names.
        for command in ("scrub", "share", "bundle"):
            done = e2e.run(e2e.EBREPORT, command, merged, "-o", self.path("none.ebt"), status=2)
            self.assertIn("choose one with --host: 1 (host-1), 2 (host-1)", done.stderr.decode())
        self.assertFalse(os.path.exists(self.path("none.ebt")))
        name = os.uname().nodename.encode()
        with open("/proc/sys/kernel/random/boot_id", "rb") as f:
            boot = f.read().strip()
        both = self.path("both.ebt")
        e2e.run(e2e.EBREPORT, "merge", copies[0], traces[1], "-o", both)
        # Names in a chunk may be compressed: the second reader has them as they are.
        for command in ("scrub", "share"):
            copy = self.path(f"{command}.ebt")
            e2e.run(e2e.EBREPORT, command, "--host", "2", both, "-o", copy)
            dumped = e2e.run(sys.executable, EBTDUMP, copy).stdout
            self.assertNotIn(boot, dumped)
            self.assertNotIn(b'"' + name + b'"', dumped)
            self.assertIn(b'"boot-1"', dumped)
            self.assertEqual(len(dump_of(copy, "sched_switch")),
                             len(dump_of(traces[1], "sched_switch")))
        # Copies of two machines of one file are of two recordings.
        for host in "12":
            e2e.run(e2e.EBREPORT, "bundle", "--host", host, both, "-o", self.path(f"of{host}.ebt"))
        again = self.merge(self.path("of1.ebt"), self.path("of2.ebt"))
        self.check_machines(again, [copies[0], traces[1]])
        done = e2e.run(e2e.EBREPORT, "merge", both, self.path("of2.ebt"), "-f", "-o", again, status=2)
        self.assertIn("same recording", done.stderr.decode())

    def check_machines(self, merged, traces):
        e2e.run(sys.executable, EBTDUMP, "--check", merged)
        for host, trace in zip("12", traces):
            self.assertEqual(dump_of(merged, "sched_switch", "--host", host),
                             dump_of(trace, "sched_switch"))

    def damage(self, merged):
        """Whatever becomes of the bytes, both machines are read as far as they can be."""
        with open(merged, "rb") as f:
            original = f.read()
        chosen, bad = random.Random(2), self.path("bad.ebt")
        for damaged in range(40):
            content = bytearray(original)
            for _ in range(1 + damaged // 2):
                content[chosen.randrange(96, len(content))] = chosen.randrange(256)
            with open(bad, "wb") as f:
                f.write(content[:len(content) - damaged % 3 * len(content) // 4])
            for command in ("sched", "info"):
                done = e2e.run(e2e.EBREPORT, command, bad, status=None)
                self.assertIn(done.returncode, (0, 1, 2), done.stderr)
                self.assertNotIn(b"Sanitizer", done.stderr)
        # A reader that does not know the feature refuses the file by its number.
        content = bytearray(original)
        self.assertEqual(int.from_bytes(content[16:24], "little"), 2)

    def test_parts(self):
        """What cut has parted, merge joins: each row once, and every report is the whole's."""
        whole = self.record("-e", "default,syscalls,block", "-F", "499", "--", "sh", "-c",
                            "ls -lR /etc > /dev/null; sleep 0.1; ls -lR /etc > /dev/null")
        edges = [[], ["30%"], ["60%"], []]
        parts = []
        for i in range(3):
            parts.append(self.path(f"part{i}.ebt"))
            e2e.run(e2e.EBREPORT, "cut", *(["--from", *edges[i]] if edges[i] else []),
                    *(["--to", *edges[i + 1]] if edges[i + 1] else []), whole, "-o", parts[-1])
        two = self.merge(parts[1], parts[0], name="two.ebt")
        for order in (parts, parts[::-1], [two, parts[2]]):
            merged = self.merge(*order)
            self.assertEqual(self.rows_of(merged), self.rows_of(whole))
        for command in ("sched", "syscalls", "folded", "procs", "wall", "offcpu", "block"):
            self.assertEqual(e2e.ebreport(command, merged), e2e.ebreport(command, whole), command)
        done = e2e.run(e2e.EBREPORT, "merge", parts[0], parts[2], "-o", self.path("n.ebt"), status=2)
        self.assertIn("follows this one is missing", " ".join(done.stderr.decode().split()))
        done = e2e.run(e2e.EBREPORT, "merge", two, parts[1], "-o", self.path("n.ebt"), status=2)
        self.assertIn("has nothing that the other lacks", " ".join(done.stderr.decode().split()))

    def test_parts_with_names(self):
        """Parts get names each by itself, or have those of the whole: each place has its own once."""
        whole = self.record("-e", "default,syscalls", "--call-graph", "fp", "-F", "499", "--", "sh",
                            "-c", "ls -lR /etc > /dev/null; sleep 0.1; find /etc > /dev/null")
        edges = [["--to", "30%"]], [["--from", "30%"], ["--to", "70%"]], [["--from", "70%"]]
        named = self.bundle(whole, "named.ebt")
        parts = [self.cut(whole, f"part{i}.ebt", *edge) for i, edge in enumerate(edges)]
        bundled = [self.bundle(part, f"bundled{i}.ebt") for i, part in enumerate(parts)]
        for order in (bundled, bundled[::-1], [self.merge(*bundled[:2], name="two.ebt"), bundled[2]]):
            merged = self.merge(*order)
            self.assertEqual(self.places(merged), sorted(set().union(*map(self.places, bundled))))
        self.assertGreater(len(self.places(merged)), len(self.places(bundled[2])))
        self.assertEqual(e2e.folded(merged), e2e.folded(named))
        of_named = [self.cut(named, f"named{i}.ebt", *edge) for i, edge in enumerate(edges)]
        for order in (of_named, of_named[::-1]):
            self.assertEqual(self.rows_of(self.merge(*order)), self.rows_of(named))
        # One part has names of the whole, one none, one its own.
        merged = self.merge(of_named[0], parts[1], bundled[2])
        self.assertEqual(self.places(merged), self.places(named))

    def test_parts_of_damaged(self):
        """What was missing of the whole is said once, however many parts it had."""
        whole = self.record("-e", "default", "--", "sh", "-c", "ls -lR /etc > /dev/null")
        with open(whole, "rb") as f:
            content = f.read()
        with open(self.path("killed.ebt"), "wb") as f:
            f.write(content[:-1])
        bad = self.damage_chunk(whole, SCHED_SWITCH)
        for damaged, said in ((self.path("killed.ebt"), "had no end"), (bad, "was damaged: 1 part")):
            edges = [["--to", "30%"]], [["--from", "30%"], ["--to", "70%"]], [["--from", "70%"]]
            parts = [self.cut(damaged, f"part{i}.ebt", *edge) for i, edge in enumerate(edges)]
            merged = self.merge(*parts)
            told = [e2e.run(e2e.EBREPORT, "sched", trace).stderr.decode() for trace in (parts[1], merged)]
            self.assertEqual([text.count(said) for text in told], [1, 1], told)

    def test_damaged_part(self):
        """What cannot be read of one part comes from another that has it, too."""
        whole = self.record("-e", "default,syscalls", "--", sys.executable, "-c",
                            "import os, time\nfor _ in range(40): os.getppid(); time.sleep(0.07)")
        first = self.cut(whole, "first.ebt", ["--to", "90%"])
        second = self.cut(whole, "second.ebt", ["--from", "1%"])
        bad = first
        for table in (SCHED_SWITCH, SYSCALL):  # a chunk is a second
            bad = self.damage_chunk(bad, table, name=f"{table}.ebt")
            self.assertLess(len(self.rows_of(bad)), len(self.rows_of(first)))
        for order in ((bad, second), (second, bad)):
            self.assertEqual(self.rows_of(self.merge(*order)), self.rows_of(whole))

    def bundle(self, trace, name):
        e2e.run(e2e.EBREPORT, "bundle", trace, "-o", self.path(name))
        return self.path(name)

    def cut(self, trace, name, *edges):
        e2e.run(e2e.EBREPORT, "cut", *sum(edges, []), trace, "-f", "-o", self.path(name))
        return self.path(name)

    def places(self, trace):
        """Those that have a name: the file, the offset in it, and all names."""
        objects, found = {}, []
        for row in e2e.Dump(trace, "--table", "name_object").rows("name_object"):
            objects[row["object_id"]] = row["path"]
        for row in e2e.Dump(trace, "--table", "name_frame").rows("name_frame"):
            found.append((objects[row["object_id"]], row["offset"], row["caller"], row["depth"],
                          row["name"]))
        return sorted(found)

    def rows_of(self, trace):
        """All but what a copy says of itself."""
        dumped = e2e.run(sys.executable, EBTDUMP, trace).stdout.decode().splitlines()
        own = re.compile(r"\d+ (schema|schema_value|index) |\d+ meta key=.(copy|merge|cut|target|options)")
        return sorted(line for line in dumped if not own.match(line))

    def test_refused(self):
        a = self.record("--", "true", name="a.ebt")
        b = self.record("--", "true", name="b.ebt")
        part, merged = self.path("part.ebt"), self.path("m.ebt")
        e2e.run(e2e.EBREPORT, "cut", "--to", "50%", a, "-o", part)
        of_one = self.path("one.ebt")
        e2e.run(e2e.EBREPORT, "cut", "--pid", "1", b, "-o", of_one)
        source = self.path("a.c")
        with open(source, "w") as f:
            f.write("int main(void) { return 0; }\n")
        copy = self.path("copy.ebt")
        e2e.run(e2e.EBREPORT, "bundle", a, "-o", copy)
        for inputs, output, status, said in (
                ([a], merged, 2, "which file?"),
                ([a, a], merged, 2, "same recording"),
                ([a, copy], merged, 2, "same recording"),
                ([a, b, part], merged, 2, "part.ebt: is a part that `ebreport cut` made"),
                ([a, of_one], merged, 2, "one.ebt: is a part that `ebreport cut` made"),
                ([a, source], merged, 1, "a.c"),
                ([a, self.path("none.ebt")], merged, 1, "none.ebt"),
                ([a, b], b, 2, "that is the trace itself"),
                ([a, b], source, 2, "-f replaces it")):
            done = e2e.run(e2e.EBREPORT, "merge", *inputs, "-o", output, status=status)
            self.assertIn(said, done.stderr.decode())
            self.assertFalse(os.path.exists(merged), inputs)
        e2e.run(e2e.EBREPORT, "info", "--verify", b)


if __name__ == "__main__":
    e2e.main()

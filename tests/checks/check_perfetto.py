#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport export --to perfetto` beside the reports and the rows: the same switches, samples, stacks and sums.

    check_perfetto.py EBTGEN EBREPORT PROTOC FIXTURE.txt|FIXTURE.ebt…
    check_perfetto.py none EBREPORT PROTOC RECORDING.ebt

The traces are the fixtures, the machines of tests/browser and one that slept; or a recording. Protoc reads each file
by perfetto_test.proto. Exit status: 0; 1 with what is wrong on standard error.
"""

import collections
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
import check_export_chrome as chrome  # noqa: E402
from check_pprof import MOST, compare_folded, escaped, folded_of  # noqa: E402
from chrome_file import OWN_NUMBERS, Span, number_in  # noqa: E402
from failed import fail, status  # noqa: E402
from perfetto_file import BEGIN, BOOTTIME, MONOTONIC, PROTO, PerfettoFile  # noqa: E402

SLEEP = 60_000_000_000  # of the machine that slept


def numbered(name, number):
    """The name of what has this number: with another number of its own, it says so."""
    return name if number < OWN_NUMBERS else name.rpartition(" (")[0]


class Shown:
    """The file as ChromeFile shows one: spans of what has a thread, with times from the beginning of the trace."""

    def __init__(self, start, end, data):
        self.perfetto = file = PerfettoFile(data)
        self.start, self.end = start, end
        self.processes = {uuid: track.name for uuid, track in file.tracks.items()}
        self.threads = collections.defaultdict(str)
        self.spans = [self.span(event) for event in file.events] + list(self.runs()) + list(self.readings())

    def since(self, time):
        return self.perfetto.monotonic(time) - self.start

    def span(self, event):
        time = self.since(event.time)
        name = event.notes["severity"] if event.category == "log" else event.name
        return Span("X" if event.kind == BEGIN else "i", event.category, name, event.track,
                    self.perfetto.thread_of(event.track), time,
                    event.notes.get("duration_ns", self.since(event.time + event.duration) - time), event.notes)

    def runs(self):
        """Who ran: from the beginning of the trace to the first switch of a CPU, and to the end, too."""
        by_cpu = collections.defaultdict(list)
        for switch in sorted(self.perfetto.switches, key=lambda switch: switch.time):
            by_cpu[switch.cpu].append((self.since(switch.time), switch.prev, switch.next))
        for cpu, switches in by_cpu.items():
            begin = 0
            for (time, prev, _), follows in zip(switches, [*switches[1:], (None, None, None)]):
                yield self.run(cpu, prev, begin, time)
                begin = time
                if follows[0] is None:
                    yield self.run(cpu, switches[-1][2], time, self.end - self.start)

    def run(self, cpu, tid, begin, end):
        real = self.real(tid)
        return Span("X", "sched" if tid else "idle", "", cpu, cpu, begin, end - begin, {"pid": real[0], "tid": real[1]})

    def readings(self):
        for uuid, time, value in self.perfetto.points:
            track = self.perfetto.tracks[uuid]
            unit = track.counter["unit_name"]
            yield Span("C", "counter", track.name + (f" ({unit})" if unit else ""), uuid, 0, self.since(time), 0,
                       {"value": value})

    def name(self, tid):
        return numbered(self.perfetto.threads[tid]["name"], tid)

    def real(self, tid):
        """Process and thread as they were numbered."""
        if not tid:
            return 0, 0
        pid = self.perfetto.threads[tid]["tgid"]
        real = [n if n < OWN_NUMBERS else number_in(self.perfetto.threads[n]["name"]) for n in (pid, tid)]
        return tuple(real)

    def thread(self, span):
        return self.real(span.tid)


def lines(c, *tables):
    """Of these tables; of none: of all."""
    options = ["--table", ",".join(tables)] if tables else []
    for line in chrome.run(c.ebreport, "export", *options, *c.options, c.path).splitlines():
        line = json.loads(line)
        if line["kind"] in ("row", "lost"):
            yield line


def reported(state, preempt):
    """What sched_switch has in the place of the state of a task: one of TASK_REPORT, idle, or preempted."""
    if preempt:
        return 0x100
    if state & 0x402 == 0x402:
        return 0x80
    if state & 0x9000:
        return 2
    return 1 << (state & 0x7f).bit_length() - 1 if state & 0x7f else 0x10 if state & 0x80 else 0


def clean_name(text):
    return text.replace("\0", "\ufffd")


def clean(text):
    return clean_name(text) or "[unknown]"


class Clocks:
    """CLOCK_BOOTTIME by the rows of table clock."""

    def __init__(self, c):
        run = chrome.run(c.ebreport, "export", "--table", "clock", c.path).splitlines()
        rows = [line for line in map(json.loads, run) if line["kind"] == "row"]
        self.rows = [(int(row["time_ns"]) + c.file.start, int(row["values"]["boottime_ns"])) for row in rows]

    def at(self, time):
        ahead = max(self.rows[0][1] - self.rows[0][0], 0) if self.rows else 0
        for row, boottime in self.rows:
            if row <= time and boottime - row > ahead + 1000:  # less is nothing: readings are not exact
                ahead = boottime - row
        return time + ahead


def check_clocks(c):
    clocks = Clocks(c)
    got = {clock[MONOTONIC]: clock[BOOTTIME] for clock in c.file.perfetto.clocks}
    wanted = {time: clocks.at(time) for time, _ in clocks.rows} or {c.file.start: c.file.start}
    c.equal("CLOCK_BOOTTIME", collections.Counter(got), collections.Counter(wanted))


def check_switches(c):
    """Each row. Of whom a recording does not follow, who is not in `sched`, the CPU is idle."""
    clocks, file = Clocks(c), c.file.perfetto
    known = {(row["pid"], row["tid"]) for row in c.rows("sched", "--kernel-threads")}
    switches, wakings, lost, told = [], [], False, False

    def who(task):
        task = task and (task["pid"], task["tid"], clean(task["comm"]))
        return task if task and (task[:2] in known or not c.what.startswith("recording")) else (0, 0, "swapper")

    for line in lines(c, "sched_switch", "sched_waking"):
        if line["kind"] == "lost":
            lost |= line["table"] is not None
            continue
        told |= lost
        row, time = line["values"], clocks.at(int(line["time_ns"]) + c.file.start)
        if line["table"] == "sched_switch":
            prev, next_ = who(row["prev"]), who(row["next"])
            if prev[1] or next_[1]:
                switches.append((time, row["cpu"], *prev, *next_,
                                 reported(int(row["prev_state"], 16), row["preempt"]) if prev[1] else 0))
        elif who(row["wakee"])[1]:
            waker, flags = row["waker"], {"by interrupt": 8, "in soft interrupt": 16}
            wakings.append((time, row["cpu"], waker["tid"] if waker else 0, *who(row["wakee"]),
                            flags.get(row["kind"], 0)))
    real = c.file.real
    got = [(s.time, s.cpu, *real(s.prev), s.prev_comm, *real(s.next), s.next_comm, s.state) for s in file.switches]
    c.equal("switches", collections.Counter(got), collections.Counter(switches))
    got = [(w.time, w.cpu, real(w.waker)[1], *real(w.wakee), w.comm, w.flags) for w in file.wakings]
    c.equal("wakings", collections.Counter(got), collections.Counter(wakings))
    if told != any(bundle[2] for bundle in file.bundles):
        fail(c.what, f"rows are missing before others: {told}")
    most = max((bundle[1] for bundle in file.bundles), default=0)
    if len(file.switches) > 1000 and most < 100:
        fail(c.what, f"no packet has more than {most} switches")


def check_runs(c):
    """What is left of a part begins with threads that it does not name: only the whole is added up."""
    c.charged = c.charged or bool(c.options)
    chrome.check_sched(c)


def folded_stack(c, tid, stack):
    pid_tid = "/".join(map(str, c.file.real(tid)))
    root = f"{c.file.name(tid)} ({pid_tid})" if tid else "idle"
    return ";".join([escaped(root), *(escaped(frame.name) for frame in stack if frame.name != "[no frames]")])


def check_samples(c):
    """Stacks of each thread, the root first, and their time; and how many there are."""
    weights = collections.Counter()
    for sample in c.file.perfetto.samples:
        weights[folded_stack(c, sample.tid, sample.stack)] += sample.ns
    wanted = folded_of(c.ebreport, ["--event", "cpu", *c.options], c.path)
    compare_folded(f"{c.what}, samples", weights, wanted)
    rows = [line for line in lines(c, "sample") if line["kind"] == "row"]
    clocks = Clocks(c)
    c.equal("samples", collections.Counter((s.time, s.cpu, int(s.user)) for s in c.file.perfetto.samples),
            collections.Counter((clocks.at(int(row["time_ns"]) + c.file.start), row["values"]["cpu"],
                                 row["values"]["user"]) for row in rows))


def check_off(c):
    """Stacks where threads stopped, and what readers add up of them."""
    weights = collections.Counter()
    if any(event.time + event.duration == MOST for event in c.file.perfetto.events):
        return  # it was longer than can be said
    for event, span in zip(c.file.perfetto.events, c.file.spans):
        if event.category == "offcpu":
            weights[folded_stack(c, span.tid, event.callstack)] += span.duration
            if event.weight != (span.duration if event.callstack else 0):
                fail(c.what, f"{event} weighs {event.weight}")
    wanted = folded_of(c.ebreport, ["--event", "offcpu", *c.options], c.path)
    compare_folded(f"{c.what}, off CPU", weights, wanted)
    c.compared += len(wanted)


def check_frames(c):
    """What is inlined is at the address of what it is inlined into."""
    file = c.file.perfetto
    inlined = {row["function"] for row in c.rows("callgraph") if row.get("inlined")}
    for iid in file.tables["callstacks"]:
        stack = file.stack(iid)
        for outer, frame in zip(stack, stack[1:]):
            if frame.name in inlined and (frame.pc, frame.path) == (outer.pc, outer.path):
                c.compared += 1
                inlined.discard(frame.name)
    if inlined:
        fail(c.what, f"{inlined} are not at the address of what they are inlined into")


def check_names(c):
    """The last names of threads, command lines, and who began whom."""
    file = c.file.perfetto
    threads = {c.file.real(tid): c.file.name(tid) for tid in file.threads}
    wanted = {(row["pid"], row["tid"]): clean(row["comm"]) for row in c.rows("sched", "--kernel-threads")}
    c.equal("names", collections.Counter({key: threads.get(key) for key in wanted}), collections.Counter(wanted))
    processes = collections.defaultdict(list)
    for tid, thread in file.threads.items():
        process = dict(file.processes[thread["tgid"]])
        if process["cmdline_is_comm"]:
            process["cmdline"] = [numbered(process["cmdline"][0], process["pid"])]
        processes[c.file.real(tid)[0]].append(process)
    for row in c.rows("procs", "--kernel-threads"):
        args = [clean_name(arg) for arg in row.get("args") or [clean(row["comm"])]]
        if not any(process["cmdline"] == args for process in processes[row["pid"]]):
            fail(c.what, f"process {row['pid']} is {processes[row['pid']]}, not {args}")
        if row["ppid"] in processes and not any(process["ppid"] == row["ppid"] for process in processes[row["pid"]]):
            fail(c.what, f"process {row['pid']} is {processes[row['pid']]}, of another than {row['ppid']}")
        c.compared += 1


def check_kernel(c):
    """Interrupts, timers and work items."""
    wanted = [row["values"] for row in lines(c, "irq", "timer", "work") if row["kind"] == "row"]
    got = c.of("irq")
    c.equal("interrupts", collections.Counter({"n": len(got), "ns": sum(span.duration for span in got)}),
            collections.Counter({"n": len(wanted), "ns": sum(row["duration_ns"] for row in wanted)}))


def check_lost(c):
    got, wanted = collections.Counter(), collections.Counter()
    for span in c.of("lost"):
        got[span.name, span.args["reason"]] += 1
    for line in lines(c):
        if line["kind"] == "lost" and line["reason"] != "counted in heads of chunks alone":
            wanted[line["table"] or "rows", line["reason"]] += 1
    c.equal("losses", got, wanted)


def check_messages(c):
    """Of D-Bus; an answer is the end of a call."""
    rows = [line["values"] for line in lines(c, "dbus_message") if line["kind"] == "row"]
    c.equal("messages", collections.Counter(span.name for span in c.of("dbus")),
            collections.Counter(clean_name(row["member"]) for row in rows if row["kind"] not in ("return", "error")))


def check_protoc(c, protoc):
    """Each field has a name there, and each packet of a CPU has one, as the trace processor wants."""
    done = subprocess.run([protoc, "--proto_path", os.path.dirname(PROTO), "--decode", "perfetto.protos.Trace", PROTO],
                          input=c.data, capture_output=True, check=False)
    text = done.stdout.decode()
    if done.returncode or re.search(r"^ *\d+(:| \{)", text, re.MULTILINE):
        fail(c.what, f"protoc: {done.stderr.decode()}, or a field that is not there")
    if len(re.findall(r"^  ftrace_events \{\n    cpu: ", text, re.MULTILINE)) != len(c.file.perfetto.bundles):
        fail(c.what, "switches of no CPU")
    c.compared += 1


CHECKS = (check_clocks, check_switches, check_runs, check_samples, check_off, check_names, chrome.check_calls,
          chrome.check_marks, chrome.check_lines, chrome.check_counters, check_lost)
RECORDED = (*CHECKS, check_frames, check_kernel, chrome.check_faults, chrome.check_requests, chrome.check_connections)
FIXTURE = (check_clocks, check_switches, check_samples, check_off, check_names, check_lost, check_messages)


def check_trace(ebreport, protoc, path, name, checks):
    info = json.loads(chrome.run(ebreport, "info", "--json", path))
    start = int(info["start_ns"])

    def with_protoc(c):
        check_protoc(c, protoc)

    return chrome.check_trace(ebreport, path, name, (*checks, with_protoc), to="perfetto",
                              read=functools.partial(Shown, start, start + int(info["duration_ns"])))


def slept():
    """A machine that slept before the trace, and in the midst of it."""
    rows = list(chrome.TRACES["work"]())
    middle = int(rows[len(rows) // 2].split()[0])
    reading = ("{} clock boottime={} realtime=1700000000000000000 tai=1700000037000000000 uncertainty=50 moment={} "
               "unused=0")
    for i, row in enumerate(rows):
        time, table = row.split()[:2]
        if i == len(rows) // 2:
            yield reading.format(middle, middle + 8 * SLEEP, "none")
        yield reading.format(time, int(time) + 7 * SLEEP, "begin") if table == "clock" else row


def check_made(ebtgen, ebreport, protoc, fixtures):
    compared = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        path, text = os.path.join(folder, "t.ebt"), os.path.join(folder, "t.txt")
        for name in "work", "crowd", "lossy", "holes", "painted", "slept":
            chrome.traces.write(text, slept() if name == "slept" else chrome.TRACES[name]())
            chrome.run(ebtgen, text, path)
            compared += check_trace(ebreport, protoc, path, name, CHECKS)
        for fixture in fixtures:
            if fixture.endswith(".txt"):
                chrome.run(ebtgen, fixture, path)
            compared += check_trace(ebreport, protoc, path if fixture.endswith(".txt") else fixture,
                                    os.path.basename(fixture), FIXTURE)
    return compared


def main():
    ebtgen, ebreport, protoc, *paths = sys.argv[1:]
    if ebtgen == "none":
        checks, compared = RECORDED, check_trace(ebreport, protoc, paths[0], "recording", RECORDED)
    else:
        checks, compared = {*CHECKS, *FIXTURE}, check_made(ebtgen, ebreport, protoc, paths)
    for check in checks:
        if not compared[check.__name__] and not (ebtgen == "none" and check == check_lost):
            fail(check.__name__, "no trace has anything of it")
    print(dict(compared))
    return status()


if __name__ == "__main__":
    sys.exit(main())

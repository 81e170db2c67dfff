# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces to make pages of, as text for ebtgen: a small machine is played, whose threads run, sleep,
wait for one another and for a disk, with samples, marks, system calls, logs and counters. The same
seed gives the same trace.
"""

import heapq
import itertools
import os
import random

MS = 1000000
BEGIN = 1000 * MS  # CLOCK_MONOTONIC
SLICE = 4 * MS     # on a CPU, while somebody else waits for one
TEXT = 0xffffffffc0000000


def as_bytes(text):
    return text.encode() if isinstance(text, str) else text


def quoted(text):
    """A string as a dump writes it; text is bytes or str."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}"
                         for b in as_bytes(text)) + '"'


class Thread:
    def __init__(self, tid, pid, comm, work):
        self.tid, self.comm = tid, comm
        self.id = f"{tid}/{pid}/{pid * 10}/{quoted(as_bytes(comm)[:15])}"  # as the kernel cuts them
        self.work = work          # yields what it does next
        self.left, self.stack = 0, ()
        self.cpu = None           # where it runs
        self.since = self.ran = 0


class Machine:
    """What threads do: ("run", ns, stack), ("sleep", ns), ("disk", ns), ("wait", key),
    ("signal", key), ("rows", function of time, CPU and thread that gives rows)."""

    WAITS = {"sleep": (1, ("hrtimer_nanosleep", "do_nanosleep")[::-1]), "disk": (2, ("io_schedule", "blk_read")),
             "wait": (1, ("futex_wait_queue", "futex_wait"))}

    def __init__(self, n_cpus=2, period=MS, stacks=True, names=None):
        self.rows, self.order = [], itertools.count()
        self.events, self.queue = [], []
        self.running = [None] * n_cpus
        self.known, self.waiting = {}, {}
        self.period, self.stacks, self.names = period, stacks, names or {}
        self.time, self.threads = BEGIN, []
        self.add(BEGIN, 'clock boottime=%d realtime=1700000000000000000 tai=1700000037000000000 '
                 'uncertainty=50 moment=begin unused=0' % BEGIN)
        for cpu in range(n_cpus):
            self.at(BEGIN + (cpu + 1) * period // 3, self.sample, cpu)

    def add(self, time, text):
        self.rows.append((time, next(self.order), text))

    def at(self, time, function, *arguments):
        heapq.heappush(self.events, (time, next(self.order), function, arguments))

    def text(self, name):
        """The address of a function, which gets one, and a name, when it is first asked for."""
        if name not in self.known:
            self.known[name] = TEXT + 0x1000 * len(self.known)
            self.add(BEGIN, f'ksymbol address={self.known[name]:#x} length=256 type=bpf unregister=0 '
                     f'unused=0 name={quoted(self.names.get(name, name))}')
        return self.known[name] + 16

    def kstack(self, names):
        if not names or not self.stacks:
            return "-"
        return "k:" + ",".join(f"{self.text(name):x}" for name in names)

    def process(self, pid, comm, works):
        """A process of as many threads, each (name, generator), the first of which is its main one."""
        main = None
        for i, (name, work) in enumerate(works):
            thread = Thread(pid + i, pid, name, work)
            main = main or thread
            self.threads.append(thread)
            self.at(BEGIN + MS + (pid + i) % 1000, self.go_on, thread, "new" if i else "waking")
        self.add(BEGIN, f'process task={main.id} ppid=1 uid=0 kernel=0 mnt_ns=1 pid_ns=1 net_ns=1 user_ns=1 '
                 f'cgroup_ns=1 exe={quoted(comm)} root="/" nspid="{pid}" cgroup="0::/" '
                 f'cmdline={quoted(comm)}')

    # --- the scheduler ---

    def switch(self, cpu, after, state=0, preempt=0, stack=()):
        before = self.running[cpu]
        if before:
            before.cpu = None
        prev, follow = (thread.id if thread else "-" for thread in (before, after))
        self.add(self.time, f"sched_switch cpu={cpu} prev={prev} next={follow} prev_state={state:#x} "
                 f"preempt={preempt} unused=0 kstack={self.kstack(stack) if before else '-'} ustack=- "
                 f"udump=x prev_run={self.time - before.since if before else 0}")
        self.running[cpu] = after
        if after:
            after.cpu, after.since = cpu, self.time
            self.at(self.time + min(after.left, SLICE), self.step, after, self.time)

    def leave(self, cpu, **how):
        self.switch(cpu, self.queue.pop(0) if self.queue else None, **how)

    def go_on(self, thread, kind, waker="-", by=0):
        self.add(self.time, f'sched_waking cpu={by} waker={waker} wakee={thread.id} kind={quoted(kind)} '
                 'call=0')
        self.queue.append(thread)
        idle = next((cpu for cpu, other in enumerate(self.running) if not other), None)
        if idle is not None:
            self.switch(idle, self.queue.pop(0))

    def step(self, thread, since):
        """It has run for a while; the call is an old one if it has stopped since."""
        if thread.cpu is None or thread.since > since:
            return
        thread.left -= min(thread.left, self.time - since)
        if thread.left:
            if self.queue:
                self.queue.append(thread)
                self.leave(thread.cpu, preempt=1, stack=("schedule",) + thread.stack)
            else:
                self.at(self.time + min(thread.left, SLICE), self.step, thread, self.time)
            return
        while thread.cpu is not None and not thread.left:
            self.act(thread, *next(thread.work, ("end", 0)))
        if thread.cpu is not None:
            self.at(self.time + min(thread.left, SLICE), self.step, thread, self.time)

    def act(self, thread, what, value, *more):
        if what == "run":
            thread.left, thread.stack = value, more[0]
        elif what == "rows":
            for row in value(self.time, thread.cpu, thread):
                self.add(self.time, row)
        elif what == "signal":
            waiting = self.waiting.setdefault(value, [])
            if waiting and waiting[0]:
                self.go_on(waiting.pop(0), "waking", thread.id, thread.cpu)
            else:
                waiting.append(None)  # who waits next goes on at once
        elif what == "end":
            self.end(thread)
        else:
            self.wait(thread, what, value)

    def wait(self, thread, what, value):
        waiting = self.waiting.setdefault(value, []) if what == "wait" else []
        if waiting and waiting[0] is None:
            waiting.pop(0)
            return
        if what == "wait":
            waiting.append(thread)
        else:
            self.at(self.time + value, self.go_on, thread,
                    "by interrupt" if what == "sleep" else "in soft interrupt")
        state, names = self.WAITS[what]
        self.leave(thread.cpu, state=state, stack=("schedule",) + names + thread.stack)

    def end(self, thread):
        ran = self.time - BEGIN
        self.add(self.time, f'task_exit cpu={thread.cpu} task={thread.id} exit_code=0x0 group_dead=0 '
                 f'run_time={ran} nvcsw=1 nivcsw=1 ppid=1 status=0x0 prio=120 nice=0 policy=other '
                 'rt_priority=0 minor=0 major=0 read_bytes=0 write_bytes=0 rchar=0 wchar=0 max_rss=0')
        self.leave(thread.cpu, state=0x80, stack=("do_task_dead",))

    def sample(self, cpu):
        thread = self.running[cpu]
        if thread and thread.stack:
            self.add(self.time, f"sample cpu={cpu} task={thread.id} event=cpu-clock user=0 "
                     f"period={self.period} kstack={self.kstack(thread.stack)} ustack=- udump=x")
        self.at(self.time + self.period, self.sample, cpu)

    def play(self, ns):
        """The rows of so long, in order."""
        while self.events and self.events[0][0] < BEGIN + ns:
            self.time, _, function, arguments = heapq.heappop(self.events)
            function(*arguments)
        for row in sorted(self.rows):
            yield f"{row[0]} {row[2]}"


# --- what threads do ---

def mark(name, begun, names):
    def rows(time, cpu, thread):
        yield (f'mark cpu={cpu} task={thread.id} kind=span origin=ebmark duration={time - begun[0]} late=0 '
               f'key=0x0 group={quoted(names.get("group", "shop"))} name={quoted(names.get(name, name))} '
               f'message={quoted(names.get("message", "of a customer"))}')
    return "rows", rows


def begin(begun):
    def rows(time, _cpu, _thread):
        begun[0] = time
        return ()
    return "rows", rows


def call(number, ns):
    def rows(_time, cpu, thread):
        yield (f"syscall cpu={cpu} task={thread.id} nr={number} abi=native duration={ns} ret=1 arg0=0x3 "
               "arg1=0x0 arg2=0x1 arg3=0x0 arg4=0x0 arg5=0x0")
    return "rows", rows


def say(names):
    def rows(_time, cpu, thread):
        yield (f'log cpu={cpu} task={thread.id} severity=warning origin=stderr late=0 pid={thread.tid} cut=0 '
               f'domain={quoted(names.get("domain", "shop"))} message={quoted(names.get("log", "sold out"))}')
        yield (f'mark_counter cpu={cpu} task={thread.id} type=integer origin=ebmark late=0 '
               f'value={_time // MS % 17} group={quoted(names.get("group", "shop"))} '
               f'name={quoted(names.get("counter", "queue"))} doc=""')
    return "rows", rows


def serve(rng, names):
    begun = [0]
    while True:
        yield "wait", "request"
        yield begin(begun)
        yield "run", rng.randint(1, 5) * MS, ("parse", "serve", "main")
        yield "disk", rng.randint(1, 9) * MS
        yield call(0, rng.randint(1, 9) * MS)
        yield "run", rng.randint(1, 12) * MS + rng.randint(0, 999), ("render", "draw", "serve", "main")
        yield mark("request", begun, names)
        yield say(names)
        yield "signal", "answer"


def ask(rng):
    while True:
        yield "run", rng.randint(50, 500) * 1000, ("think", "main")
        yield "signal", "request"
        yield "wait", "answer"
        yield "sleep", rng.randint(1, 6) * MS


def burn(rng):
    """f and g call themselves and each other."""
    while True:
        depth = rng.randint(1, 6)
        yield "run", rng.randint(2, 30) * MS, ("f", "g") * depth + ("burn", "main")
        yield "sleep", rng.randint(1, 20) * MS


def work(ns=1500 * MS, seed=1, names=None, extra=()):
    """A server of two threads, three customers, and one that computes. names: what stands for which
    name."""
    rng, names = random.Random(seed), names or {}
    machine = Machine(names=names)
    called = {name: names.get(name, name) for name in ("shop", "server", "customer", "burner")}
    machine.process(100, called["shop"], [(called["server"], serve(random.Random(rng.random()), names))
                                          for _ in range(2)])
    for pid in 200, 210, 220:
        machine.process(pid, called["customer"], [(called["customer"], ask(random.Random(rng.random())))])
    machine.process(300, called["burner"], [(called["burner"], burn(random.Random(rng.random())))])
    for time, row in extra:
        machine.add(BEGIN + time, row)
    machine.add(BEGIN, f'meta key="host.name" value={quoted(names.get("host", "till"))}')
    machine.add(BEGIN, f'meta key="ebrec.command_line" value={quoted(names.get("command", "ebrec -a"))}')
    machine.add(BEGIN, 'meta key="sample.freq" value="1000"')
    machine.add(BEGIN, 'meta key="recorder.pid" value="1"')  # the shop is its child
    machine.add(BEGIN, 'meta key="target.kind" value="command"')
    return machine.play(ns)


def crowd(n=1000, ns=2000 * MS):
    """A thousand threads of ten processes, each of which runs now and then."""
    rng, machine = random.Random(7), Machine(n_cpus=4)

    def one(seed):
        rng = random.Random(seed)
        yield "sleep", rng.randint(1, 400) * MS
        while True:
            yield "run", rng.randint(20, 400) * 1000, ("step", "main")
            yield "sleep", rng.randint(20, 300) * MS
    for p in range(10):
        machine.process(1000 * (p + 1), f"crowd{p}",
                        [(f"one{i}", one(rng.random())) for i in range(n // 10)])
    return machine.play(ns)


def lossy():
    """Of 200 ms rows were lost, which stand nowhere."""
    lost = (f'lost from={BEGIN + 600 * MS} count=1234 table_id=64 reason="ring buffer full" ring=1 unused=0 '
            'source="sched" detail=""')
    for row in work(extra=[(800 * MS, lost)]):
        words = row.split(" ", 2)
        if not BEGIN + 600 * MS < int(words[0]) < BEGIN + 800 * MS or words[1] == "lost":
            yield row


def holes():
    """Some switches and wakings are not there, and nothing says so, as of a kernel that hides them; and some are
    said to be lost. One thread is new, one waits for work alone, and one process is the kernel's."""
    rng, before = random.Random(3), BEGIN
    lost = (f'lost from={BEGIN + 1000 * MS} count=3 table_id=64 reason="ring buffer full" ring=1 unused=0 '
            'source="sched" detail=""')
    for row in work(extra=[(1050 * MS, lost)]):
        time, table, columns = row.split(" ", 2)
        if table == "process" and "task=300/" in columns:
            row = row.replace("kernel=0", "kernel=1")
        if table == "sched_switch" and "prev=220/" in columns:
            row = row.replace("prev_state=0x1 ", "prev_state=0x402 ")
        if table == "sched_waking" and 'kind="new"' in columns:
            child = columns.split("wakee=")[1].split(" kind=")[0]
            parent = child.replace("101/", "100/", 1)
            yield (f'{before} task_fork cpu=0 parent={parent} child={child} child_pid=100 child_start=1000 '
                   'thread=1 unused=0 comm="server"')
        if table not in ("sched_switch", "sched_waking") or int(time) < BEGIN + 10 * MS or rng.random() > 0.03:
            yield row
        before = time


def write(path, rows):
    """In chunks of so many rows, so that of a file that is cut something remains."""
    with open(path, "w", encoding="utf-8") as file:
        for i, row in enumerate(rows):
            file.write(row + ("\n" if (i + 1) % 1000 else "\n!seal\n"))


# Each wants to break out of where it is shown.
HOSTILE = {
    "markup": "<script>alert('%s')</script><img src=x onerror=alert('%s')>\"'><b onclick=alert('%s')>",
    "links": "javascript:alert('%s')//https://example.org/%s?${alert('%s')}</title></textarea>",
    "marks": "\u202e%s\u2066\u2028\u200f\u0301\U0001f600\ufdd0\ufffe",
    "escapes": "\x1b]0;%s\x07\x1b[31m\x00\x01\r\n\t%%s%%n\x7f\x9b",
    "bytes": b"\xff\xfe%s\xc3\xed\xa0\x80\xf0\x9f\x00\xc0\xaf",
    "long": "%s" + "x" * ((1 << 20) - 64),
    "prototype": "__proto__",
}
NAMED = ("shop", "server", "customer", "burner", "group", "request", "message", "domain", "log", "counter", "host",
         "command", "render", "draw", "serve", "main", "f", "g", "burn", "think", "parse", "schedule",
         "futex_wait")


def hostile(kind):
    """Every name is of that kind."""
    pattern = HOSTILE[kind]
    marker = b"%s" if isinstance(pattern, bytes) else "%s"
    names = {name: pattern.replace(marker, name.encode() if isinstance(pattern, bytes) else name)
             for name in NAMED}
    for name in NAMED if kind == "long" else ():
        if name not in ("request", "server", "render", "host"):
            del names[name]  # four of 1 MiB will do
    return work(ns=300 * MS, names=names)


def kinds():
    """A row or more of every kind, with values at their limits."""
    with open(os.path.join(os.path.dirname(__file__), "../fixtures/kinds.txt"), encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                yield line.rstrip("\n")


# By the name of a page. "cut" is made of the bytes of "work".
TRACES = {"work": work, "other": lambda: work(seed=5), "crowd": crowd, "lossy": lossy,
          "holes": holes, "kinds": kinds, **{kind: (lambda kind=kind: hostile(kind)) for kind in HOSTILE}}

# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace of which it is known who did what, where and when, so that what the page paints can be told
beforehand: plan(), whose times are ns since the start of the trace. A boss runs on CPU 0; on CPU 1 one
thread after the other waits for one reason, until the boss wakes it, while another one fills the CPU.
"""
from traces import BEGIN, MS, TEXT, quoted

WHOLE = 2000 * MS
SLOT = 100 * MS  # in which one thread waits for one reason
FIRST = 20 * MS
RAN, WOKEN, BACK = 20 * MS, 60 * MS, 80 * MS  # within a slot
LESS, MORE = (100 * MS, 600 * MS), (1000 * MS, 1500 * MS)  # when a function runs that else does not
LOSS = (1940 * MS, 1970 * MS)

PROGRAM, LIBRARY, CODE = 0x400000, 0x7f0000000000, 0x7e0000000000  # where they are mapped
# Functions of files that have names in the trace: object, path, start.
OBJECTS = {1: ("/usr/bin/painted", PROGRAM), 2: ("/usr/lib/libpainted.so.1", LIBRARY)}
# By name: object and offset.
FUNCTIONS = {"main": (1, 0x1100), "less": (1, 0x1200), "lib_more": (2, 0x1100), "pthread_cond_wait": (2, 0x1200),
             "pthread_join": (2, 0x1300)}
INLINED = "tiny"  # into "less"
PERF_MAP = f"{CODE:x} 100 made_even\n{CODE + 0x100:x} 100 py::even:/srv/even.py\n"
UNKNOWN = 0x123456789000  # in nothing that was mapped

# Reason, and functions in which a thread stops that waits for it: of the kernel, and of the program,
# the innermost first.
REASONS = {
    "disk": (("io_schedule",), ()), "lock": (("futex_wait",), ()),
    "condition": (("futex_wait",), ("pthread_cond_wait", "main")),
    "thread": (("futex_wait",), ("pthread_join", "main")), "filelock": (("locks_lock_inode_wait",), ()),
    "semaphore": (("do_semtimedop",), ()), "queue": (("do_msgrcv",), ()), "pipe": (("pipe_read",), ()),
    "network": (("tcp_recvmsg",), ()), "poll": (("do_sys_poll",), ()), "child": (("do_wait",), ()),
    "timer": (("do_nanosleep",), ()), "terminal": (("n_tty_read",), ()), "signal": (("sigsuspend",), ()),
    "memory": (("shrink_node",), ()), "kernel": (("worker_thread",), ()), "stopped": (("do_signal_stop",), ()),
    "freeze": (("percpu_rwsem_wait", "vfs_write"), ()), "unknown": ((), ()),
}
BOSS, FILLER, WAITS = 100, 110, 200  # threads; those that wait have ids from WAITS on
RECORDER, DAEMON = 77, 4242


def task(tid):
    """As a dump writes one."""
    pid = min(tid, WAITS)
    comm = {BOSS: "boss", FILLER: "filler"}.get(tid) or list(REASONS)[tid - WAITS]
    return f"{tid}/{pid}/{pid * 10}/{quoted(comm)}"


class Painted:
    """Rows and what they mean."""

    def __init__(self):
        self.rows, self.kernel = [], {}
        self.plan = {"whole": WHOLE, "phases": [], "marks": [], "logs": [], "messages": [], "losses": [],
                     "files": [], "frames": [], "ranges": [LESS, MORE]}
        self.describe()
        for i, reason in enumerate(REASONS):
            self.wait(WAITS + i, reason, FIRST + i * SLOT)
        self.run(BOSS, 0, MS, WHOLE)
        self.switch(0, MS, None, BOSS)
        self.sample()
        self.say()
        self.files()
        self.add(WHOLE, f"sched_switch cpu=0 prev={task(BOSS)} next=- prev_state=0x1 preempt=0 unused=0 kstack=- "
                 f"ustack=- udump=x prev_run={WHOLE - MS}")

    def add(self, time, text):
        self.rows.append((time, len(self.rows), text))

    def text(self):
        """As ebtgen reads it, in order."""
        return [f"{BEGIN + time} {text}" for time, _, text in sorted(self.rows)]

    # --- who there is ---

    def describe(self):
        self.add(0, f"clock boottime={BEGIN} realtime=1700000000000000000 tai=1700000037000000000 uncertainty=50 "
                 "moment=begin unused=0")
        # The thread that waits for the disk is the command: the critical path is its.
        for key, value in ("ebrec.command_line", "ebrec waits"), ("target.kind", "command"), ("recorder.pid", RECORDER):
            self.add(0, f'meta key="{key}" value="{value}"')
        for tid, comm in (BOSS, "boss"), (FILLER, "filler"), (WAITS, "waits"):
            ppid = RECORDER if tid == WAITS else 1
            self.add(0, f'process task={task(tid)} ppid={ppid} uid=0 kernel=0 mnt_ns=1 pid_ns=1 net_ns=1 user_ns=1 '
                     f'cgroup_ns=1 exe={quoted(comm)} root="/" nspid="{tid}" cgroup="0::/" cmdline={quoted(comm)}')
            for path, start in OBJECTS.values():
                self.mmap(tid, start, 0x10000, path)
            self.mmap(tid, CODE, 0x1000, "//anon")
        for number, (path, _) in OBJECTS.items():
            self.add(0, f'name_object object_id={number} path={quoted(path)} build_id=x')
        for name, (number, offset) in FUNCTIONS.items():
            for caller in 0, 1:
                for depth, shown in enumerate([INLINED, name] if name == "less" else [name]):
                    self.add(0, f"name_frame object_id={number} offset={offset:#x} address=0x0 caller={caller} "
                             f'depth={depth} line={depth + 1} unused=0 name={quoted(shown)} file="/src/painted.c"')

    def mmap(self, tid, start, length, path):
        self.add(0, f"mmap task={task(tid)} origin=snapshot start={start:#x} length={length} pgoff=0x0 inode=12 "
                 f'dev_major=254 dev_minor=1 prot=0x5 flags=0x2 path={quoted(path)} build_id=x')

    def kstack(self, names):
        for name in names:
            if name not in self.kernel:
                self.kernel[name] = TEXT + 0x1000 * len(self.kernel)
                self.add(0, f"ksymbol address={self.kernel[name]:#x} length=256 type=bpf unregister=0 unused=0 "
                         f"name={quoted(name)}")
        return "k:" + ",".join(f"{self.kernel[name] + 16:x}" for name in names) if names else "-"

    @staticmethod
    def ustack(names):
        """Names of FUNCTIONS, or addresses."""
        at = [name if isinstance(name, int) else OBJECTS[FUNCTIONS[name][0]][1] + FUNCTIONS[name][1] for name in names]
        return "u:" + ",".join(f"{address:x}" for address in at) if at else "-"

    # --- what they do ---

    def phase(self, tid, what, begin, end, **more):
        self.plan["phases"].append({"tid": tid, "what": what, "from": begin, "to": end, **more})

    def run(self, tid, cpu, begin, end):
        self.phase(tid, "running", begin, end, cpu=cpu)

    def switch(self, cpu, time, before, after, state=0, preempt=0, ran=0, kernel=(), user=()):
        prev, follow = (task(tid) if tid else "-" for tid in (before, after))
        self.add(time, f"sched_switch cpu={cpu} prev={prev} next={follow} prev_state={state:#x} preempt={preempt} "
                 f"unused=0 kstack={self.kstack(kernel)} ustack={self.ustack(user)} udump=x prev_run={ran}")

    def wake(self, time, tid, by, kind):
        self.add(time, f"sched_waking cpu=0 waker={task(by) if by else '-'} wakee={task(tid)} kind={quoted(kind)} "
                 "call=0")

    def wait(self, tid, reason, begin):
        """A thread runs, waits until the boss wakes it, waits for its CPU, runs and ends."""
        kernel, user = REASONS[reason]
        stopped, woken, back, end = begin + RAN, begin + WOKEN, begin + BACK, begin + SLOT
        first = tid == WAITS

        self.wake(begin - 5 * MS, tid, None, "by interrupt")
        self.switch(1, begin, None if first else FILLER, tid, preempt=int(not first))
        self.switch(1, stopped, tid, FILLER, 2 if reason == "disk" else 1, ran=RAN, kernel=kernel, user=user)
        self.wake(woken, tid, BOSS, "waking")
        self.switch(1, back, FILLER, tid, preempt=1, ran=back - stopped)
        self.add(end, f"task_exit cpu=1 task={task(tid)} exit_code=0x0 group_dead=0 run_time={RAN + end - back} "
                 "nvcsw=1 nivcsw=1 ppid=1 status=0x0 prio=120 nice=0 policy=other rt_priority=0 minor=0 major=0 "
                 "read_bytes=0 write_bytes=0 rchar=0 wchar=0 max_rss=0")
        self.switch(1, end, tid, FILLER, 0x80, ran=end - back)
        self.run(tid, 1, begin, stopped)
        self.phase(tid, "blocked", stopped, woken, reason=reason, waker=BOSS)
        self.phase(tid, "runnable", woken, back, behind=FILLER)
        self.run(tid, 1, back, end)
        self.run(FILLER, 1, stopped, back)
        self.phase(FILLER, "runnable", back, end, behind=tid)

    def frame(self, name, kind, share):
        self.plan["frames"].append({"name": name, "kind": kind, "share": share})

    def sample(self):
        """Each millisecond of the boss, and where it was."""
        part = (MORE[1] - MORE[0]) / WHOLE
        for name in "all", "boss":
            self.frame(name, "root", 1)
        self.frame("main", "user", 1)
        self.frame(f"{UNKNOWN:#x}", "unresolved", 1 - 2 * part)
        for name, kind in (("less", "user"), (INLINED, "inlined"), ("lib_more", "library"), ("kernel_more", "kernel")):
            self.frame(name, kind, part * 3 / 5)
        for name in "made_even", "even (even.py)":
            self.frame(name, "jit", part * 2 / 5)
        for ms in range(2, WHOLE // MS):
            time, part = ms * MS + 1000, ms % 5
            now = "less" if LESS[0] <= time < LESS[1] else "more" if MORE[0] <= time < MORE[1] else ""
            kernel, user = (), (UNKNOWN, "main")
            if now and part < 2:
                user = (CODE + 0x10 + 0x100 * part, "main")
            elif now == "less":
                user = ("less", "main")
            elif now == "more":
                kernel, user = ("kernel_more",), ("lib_more", "main")
            self.add(time, f"sample cpu=0 task={task(BOSS)} event=cpu-clock user={int(not kernel)} period={MS} "
                     f"kstack={self.kstack(kernel)} ustack={self.ustack(user)} udump=x")

    # --- what is said ---

    def say(self):
        for begin, end, name in (200, 400, "outer"), (250, 350, "inner"), (1100, 1300, "alone"):
            self.add(end * MS, f'mark cpu=0 task={task(BOSS)} kind=span origin=ebmark duration={(end - begin) * MS} '
                     f'late=0 key=0x0 group="shop" name={quoted(name)} message="of a customer"')
            self.plan["marks"].append({"tid": BOSS, "name": name, "from": begin * MS, "to": end * MS})
        for at, severity, words in (507, "warning", "sold out"), (807, "error", "on fire"):
            self.add(at * MS, f'log cpu=0 task={task(BOSS)} severity={severity} origin=stderr late=0 pid=0 cut=0 '
                     f'domain="till" message={quoted(words)}')
            self.plan["logs"].append({"tid": BOSS, "time": at * MS, "severity": severity, "text": "till: " + words})
        self.add(1983 * MS, f'log cpu=4294967295 task=- severity=info origin=journal late=0 pid={DAEMON} cut=0 '
                 'domain="cron" message="tick"')
        self.plan["logs"].append({"lane": f"journal of process {DAEMON}", "time": 1983 * MS, "severity": "info",
                                  "text": "cron: tick"})
        self.messages()
        self.add(LOSS[1], f'lost from={BEGIN + LOSS[0]} count=12 table_id=198 reason="ring buffer full" ring=1 '
                 'unused=0 source="log" detail=""')
        self.plan["losses"].append({"from": LOSS[0], "to": LOSS[1], "table": "log"})

    def messages(self):
        buses = "session", "system"
        for number, name in enumerate(buses):
            self.add(0, f'dbus_bus bus={number} unused=0 name={quoted(name)} address="unix:path=/run/{name}"')
        for at, until, bus, kind, member in ((400, 600, 0, "call", "Buy"), (903, 903, 0, "signal", "Sold"),
                                             (1400, 1420, 1, "call", "Close")):
            self.message(at, bus, kind, member, at, 0)
            if until > at:
                self.message(until, bus, "return", "", until, at)
            self.plan["messages"].append({"bus": buses[bus], "kind": kind, "member": member, "from": at * MS,
                                          "to": until * MS, "path": "/shop"})

    def message(self, ms, bus, kind, member, serial, reply):
        ends = (":1.7", "org.example.Shop")[::-1 if reply else 1]
        self.add(ms * MS, f"dbus_message bus={bus} serial={serial} reply_serial={reply} kind={kind} no_reply=0 size=64 "
                 f'sender={quoted(ends[0])} destination={quoted(ends[1])} path={quoted("" if reply else "/shop")} '
                 f'interface={quoted("" if reply else "org.example.Shop")} member={quoted(member)} signature="s" '
                 'error_name=""')

    # --- files that are in the trace ---

    def files(self):
        """One of a process, one that is cut, and one of which a part is missing."""
        self.file(1, "perf_map", f"/tmp/perf-{BOSS}.map", PERF_MAP.encode(), pid=BOSS)
        self.file(2, "os_release", "/etc/os-release", b"ID=painted\n", sensitivity="host")
        self.file(3, "mountinfo", "/proc/1/mountinfo", b"1 1 0:1 / / rw\n", pid=1, ns=4026531840, truncated=1)
        self.file(4, "cpuinfo", "/proc/cpuinfo", b"x" * 5000, size=9000)

    def file(self, number, role, path, content, pid=0, ns=0, sensitivity="host", truncated=0, size=0):
        self.add(0, f"file file_id={number} size={size or len(content)} mtime=5 ns={ns} pid={pid} "
                 f"sensitivity={sensitivity} truncated={truncated} unused=0 role={quoted(role)} path={quoted(path)}")
        self.add(0, f"file_data file_id={number} offset=0 content=x{content.hex()}")
        self.plan["files"].append([path, size or len(content), bool(truncated), max(0, size - len(content))])


def painted():
    return Painted().text()


def plan():
    """What the trace has, for a test."""
    return Painted().plan

# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport threads`: where the threads of a process are that runs already, frame by frame as a
debugger finds them."""

import os
import resource
import signal
import subprocess
import sys
import time

import debugger
import e2e

NINE = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
WAITS = {"read": "read", "mutex": "futex", "cond": "futex", "sem": "futex", "poll": "poll",
         "epoll": "epoll_wait", "accept": "accept", "nanosleep": "clock_nanosleep"}
EBTGEN = os.path.join(os.environ["EBT_PROGRAMS"], "../../tools/ebtgen")


class Threads(e2e.TestCase):
    def record_process(self, process, *options):
        return self.record("-p", process.pid, "-d", "300ms", *options)

    def start_hanging(self):
        """The program, and its threads: place, and when it was about to block, by thread id."""
        child = self.start(e2e.program("hangs"), stdout=subprocess.PIPE, text=True)
        places = {}
        for line in child.stdout:
            words = line.split()
            if words == ["ready"]:
                break
            places[int(words[1])] = (words[0], int(words[2]))
        self.assertEqual(len(places), len(WAITS))
        return child, places

    def test_eight_places(self):
        child, places = self.start_hanging()
        trace = self.record_process(child)
        self.check_kernel({row["tid"]: row for row in e2e.rows("threads", trace)})
        self.check_waits(trace, places)
        frames = debugger.frames(self.folder, "-p", child.pid)
        for at in ("begin", "end"):
            rows = debugger.compare(self, trace, frames, at, {"hangs"})
        start = e2e.start_ns(trace)
        self.assertEqual(set(rows), set(places) | {child.pid})
        for tid, (place, since) in places.items():
            names = [f["function"] for f in debugger.user_frames(rows[tid])]
            here = names.index(f"in_{place}")
            self.assertEqual(names[here + 1:here + 11], NINE + ["thread"], names)
            self.assertEqual(rows[tid]["state"], "sleep")
            self.assertEqual(rows[tid]["comm"], place)
            self.assertEqual(rows[tid]["call"], WAITS[place])
            # main() has taken it, and keeps it.
            self.assertEqual((rows[tid].get("lock"), rows[tid].get("holder")),
                             ("held", f"hangs/{child.pid}") if place == "mutex" else (None, None))
            # It blocked then, or a little later; the scheduler's clock may be that of a tick.
            late = (rows[tid]["from_ns"] + start - since) / 1e6
            print(f"    {place}: {late:.3f} ms after it said so", file=sys.stderr)
            self.assertGreater(late, -12)
            self.assertLess(late, 200)

    def test_lock_in_words(self):
        """Which lock, and who holds it; and the report of locks, where no wait ended, says so."""
        child, places = self.start_hanging()
        tid, = (tid for tid, (place, _) in places.items() if place == "mutex")
        trace = self.record_process(child, "-e", "default,lock")
        self.assertRegex(" ".join(e2e.ebreport("threads", trace).split()),
                         rf"mutex \({tid}\) of hangs \({child.pid}\): sleep for [^;:]*, in "
                         rf"futex\([^)]*\); held is held by hangs \({child.pid}\) ")
        said = e2e.run(e2e.EBREPORT, "locks", trace).stderr.decode()
        self.assertIn("1 thread still waited for a lock at the end: `ebreport threads` says who "
                      "holds it", said)
        self.assertNotIn("still waited", e2e.run(e2e.EBREPORT, "locks", "--kernel",
                                                 trace).stderr.decode())

    def test_holder_that_ended(self):
        """Nobody unlocks the mutex any more."""
        child = self.start("/usr/bin/python3", "-c",
                           "import ctypes, threading\n"
                           "libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)\n"
                           "def take():\n"
                           "    libc.pthread_mutex_lock(mutex)\n"
                           "    print(threading.get_native_id(), flush=True)\n"
                           "thread = threading.Thread(target=take)\n"
                           "thread.start()\n"
                           "thread.join()\n"
                           "libc.pthread_mutex_lock(mutex)\n", stdout=subprocess.PIPE, text=True)
        holder = int(child.stdout.readline())
        time.sleep(0.5)
        trace = self.record_process(child)
        self.assertIn(f"; the lock was locked by thread {holder}, which has ended ",
                      " ".join(e2e.ebreport("threads", trace).split()) + " ")
        self.assertEqual({row["holder"].split("/")[1] for row in e2e.rows("threads", trace)},
                         {str(holder)})

    def write_waiters(self):
        """Two processes that wait for locks of a third one: the kernel says so, and a guess."""
        text, trace = self.path("t.txt"), self.path("t.ebt")
        with open(text, "w", encoding="utf-8") as f:
            for moment, time_ns in (("begin", 100), ("end", 200)):
                f.write(f"{time_ns} clock boottime={time_ns} realtime={10 ** 18 + time_ns} "
                        f"tai={time_ns} uncertainty=10 moment={moment} unused=0\n")
            for pid, how in ((7, "futex"), (9, "guess")):
                f.write(f'200 thread_stack task={pid}/{pid}/50/"waiter" moment=end state=0x1 '
                        "on_cpu=0 since=160 call=202 abi=native user=none arg0=0x1000 arg1=0x80 "
                        "arg2=0x2 arg3=0x0 arg4=0x0 arg5=0x0 kstack=- ustack=- "
                        f'owner=8/8/60/"holder" owner_by={how}\n')
        e2e.run(EBTGEN, text, trace)
        return trace

    def test_whose_it_is(self):
        """What a thread waits for is its own, and not the holder's."""
        trace, part = self.write_waiters(), self.path("part.ebt")
        for pid, holders in (("7", ["holder/8"]), ("9", [None]), ("8", [])):
            rows = e2e.rows("threads", trace, "--pid", pid)
            self.assertEqual([row.get("holder") for row in rows], holders, pid)
            e2e.ebreport("cut", "--pid", pid, "-f", trace, "-o", part)
            self.assertEqual([row["task"].split("/")[1] for row in
                              e2e.Dump(part, "--table", "thread_stack").rows("thread_stack")],
                             [pid] * len(holders))

    def test_guess_of_another_process(self):
        """It is none, for the report of locks too."""
        trace = self.write_waiters()
        for pids, said in ((["7", "9"], True), (["7"], True), (["9"], False), (["8"], False)):
            done = e2e.run(e2e.EBREPORT, "locks", "--pid", ",".join(pids), trace)
            self.assertEqual("1 thread still waited for a lock at the end" in done.stderr.decode(),
                             said, pids)
            self.assertEqual("still waited" in done.stderr.decode(), said, pids)

    def check_kernel(self, rows):
        """The kernel's own words on it; before a debugger makes calls begin again."""
        for tid, row in rows.items():
            with open(f"/proc/{tid}/stack", encoding="utf-8") as f:
                stack = [line.split()[1].split("+")[0] for line in f if "+0x" in line]
            self.assertEqual([f["function"] for f in row["calls"] if f["kernel"]], stack)

    def check_waits(self, trace, places):
        """The waits that began before the recording, and go on, have the stacks."""
        for options in ([], ["--from", "150ms"]):
            found = {}
            for row in e2e.report_json("offcpu", trace, "--stacks", "--by", "thread,stack",
                                       "--all", *options)["stacks"]:
                for place, _ in places.values():
                    if f";in_{place};" + ";".join(NINE) + ";thread;" in row["stack"]:
                        found[place] = row["open_count"]
            self.assertEqual(found, {place: 1 for place, _ in places.values()}, options)
        folded = e2e.ebreport("wall", "--folded", trace)
        for place, _ in places.values():
            self.assertRegex(folded, rf"hangs;.*;thread;nine;.*;one;in_{place};.*_\[o\] [0-9]+\n")

    def test_busy(self):
        """A thread that runs has no stack, and one that runs now and then a whole one or none."""
        child = self.start("/usr/bin/python3", "-c", "while True: pass")
        naps = self.start("/usr/bin/python3", "-c",
                          "import time\nwhile True: time.sleep(0.001)")
        time.sleep(1)
        trace = self.record("-p", f"{child.pid},{naps.pid}", "-d", "300ms")
        rows = e2e.rows("threads", trace)
        self.assertEqual(sorted((row["pid"], row["at"]) for row in rows),
                         sorted((pid, at) for pid in (child.pid, naps.pid)
                                for at in ("begin", "end")))
        for row in rows:
            frames = [frame for frame in row.get("calls", []) if not frame["kernel"]]
            self.assertEqual("incomplete" in row, not frames, row)
            if not frames:
                self.assertIn(row["incomplete"], ("running", "ran meanwhile"))

    def test_churn(self):
        """A thread is told with its process and name, also where its fork has not been read."""
        self.start("sh", "-c", "while :; do /bin/true; sleep 0.001; done")
        for _ in range(4):
            trace = self.record("-a", "-d", "200ms")
            rows = list(e2e.Dump(trace, "--table", "thread_stack").rows("thread_stack"))
            self.assertGreater(len(rows), 10)
            nameless = [row["task"] for row in rows
                        if row["task"].split("/")[1] == "0" or row["task"].endswith('""')]
            self.assertEqual(nameless, [])

    def test_command(self):
        """Of a command, what is still there at the end."""
        trace = self.record("--", "sh", "-c", "sleep 100 >/dev/null 2>&1 & "
                            "echo $! >pid; sleep 0.2", cwd=self.folder)
        with open(self.path("pid"), encoding="utf-8") as f:
            pid = int(f.read())
        os.kill(pid, signal.SIGKILL)
        rows = e2e.rows("threads", trace)
        self.assertEqual([(row["pid"], row["at"], row["call"]) for row in rows],
                         [(pid, "end", "clock_nanosleep")])
        self.assertEqual(debugger.user_frames(rows[0])[-1]["object"], "/usr/bin/sleep")

    def test_sleep(self):
        child = self.start("sleep", "1000")
        time.sleep(0.2)
        trace = self.record_process(child)
        debugger.compare(self, trace, debugger.frames(self.folder, "-p", child.pid))
        text = e2e.ebreport("threads", trace)
        self.assertIn("At the beginning and at the end:\n", text)
        self.assertRegex(text, rf"\nsleep \({child.pid}\): sleep for [0-9.]+ m?s, in "
                               r"clock_nanosleep\(0, 0, 0x[0-9a-f]+, 0x[0-9a-f]+\)\n#0   ")

    def test_no_descriptors(self):
        """Threads that cannot be looked at when it ends cost no more than that."""
        child = self.start("sleep", "1000")
        trace = self.path("few.ebt")
        recorder = self.start(e2e.EBREC, "-q", "-o", trace, "-p", child.pid)
        # What was there when it began is in the file a second later.
        deadline = time.monotonic() + 60
        while "thread_stack" not in e2e.run(e2e.EBREPORT, "dump", trace,
                                            status=None).stdout.decode():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.5)
        time.sleep(1)
        used = {int(fd) for fd in os.listdir(f"/proc/{recorder.pid}/fd")}
        free = next(fd for fd in range(len(used) + 1) if fd not in used)
        # One for /proc, as what else is done at the end needs, and none for an iterator.
        resource.prlimit(recorder.pid, resource.RLIMIT_NOFILE, (free + 1, free + 1))
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(e2e.SECONDS), 0)
        lost = list(e2e.Dump(trace, "--table", "lost").rows("lost"))
        self.assertEqual([(row["reason"], row["source"]) for row in lost],
                         [('"cannot be read"', '"task"')])
        self.assertIn("cannot go through the threads", lost[0]["detail"])
        self.assertEqual({row["at"] for row in e2e.rows("threads", trace)}, {"begin"})

    def test_compat(self):
        """A 32-bit call has its arguments in other registers."""
        child = self.start(e2e.program("compat"), stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(0.2)
        if child.poll() is not None:
            self.skipTest("this kernel takes no 32-bit calls")
        trace = self.record_process(child)
        rows = list(e2e.Dump(trace, "--table", "thread_stack").rows("thread_stack"))
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual((row["abi"], row["call"]), ("compat", "29"))
            self.assertEqual([int(row[f"arg{i}"], 16) for i in range(6)],
                             [0xb, 0xc, 0xd, 0x51, 0xd1, 0xb9])

    def test_withheld(self):
        """A stack that nobody can read holds nothing up but itself."""
        with open(e2e.EBREC, "rb") as f:
            if b"__asan_init" in f.read():
                self.skipTest("the check for leaks waits for a thread that cannot be stopped")
        child = self.start(e2e.program("withheld"), stdout=subprocess.PIPE, text=True)
        said = child.stdout.readline().strip()
        if said != "ready":
            self.skipTest(f"no userfaultfd: {said}")
        other = self.start("sleep", "1000")
        time.sleep(0.2)
        before = time.monotonic()
        trace = self.record("-p", f"{child.pid},{other.pid}", "-d", "300ms")
        self.assertLess(time.monotonic() - before, 30)
        found = {(row["at"], row["tid"]): row for row in e2e.rows("threads", trace)}
        self.assertEqual(sum(row["pid"] == child.pid for row in found.values()), 4)
        for (at, tid), row in found.items():
            names = [frame["function"] for frame in debugger.user_frames(row)]
            print(f"    {at} {tid}: {row.get('incomplete')} {names}", file=sys.stderr)
            if row["pid"] == child.pid and tid != child.pid:
                self.assertEqual((row["incomplete"], names), ("left out", []))
        self.assertIn("main", [f["function"] for f in
                               debugger.user_frames(found["begin", child.pid])])
        self.assertTrue(debugger.user_frames(found["end", other.pid]))
        e2e.ebreport("dump", trace)

    def test_python(self):
        child = self.start("/usr/bin/python3", "-c",
                           "import threading, time\n"
                           "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
                           "threading.Event().wait()")
        time.sleep(1)
        trace = self.record_process(child)
        rows = debugger.compare(self, trace, debugger.frames(self.folder, "-p", child.pid))
        self.assertEqual(len(rows), 2)


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Off-CPU stacks of a program without frame pointers that blocks in calls of libc: each one leads
through libc to the place in the program and on to the root, and there are as many of them as the
kernel counts."""

import re

import e2e

CALLS = {"block_futex": "pthread_cond_timedwait", "block_read": "read",
         "block_nanosleep": "nanosleep", "block_epoll": "epoll_wait"}
WAY = ";" + "descend;" * 9 + "count;"
# Names of libc's own functions depend on whether its symbols are here.
LIBC = r"(?:libc\.so\.6\+0x[0-9a-f]+|[A-Za-z_][\w.@]*)"
NAMES = {True: f"main;(?:{LIBC};){{1,2}}_start", False: f"thread;(?:{LIBC};)?(?:__)?clone3?"}
# The same by files: libc, the program's known functions, and who called them.
FILES = {True: "l+p{12}llp", False: "l+p{12}ll"}


class Blocked(e2e.TestCase):
    def check_names(self, place, tid, count, is_main):
        """All that ebreport shows of a place; on a machine that hides what some process does, a
        wait that this process ended is not to be seen."""
        report = e2e.report_json("offcpu", self.trace, "--stacks", "--tid", tid, "--top", "1000")
        whole = re.compile(f";{CALLS[place]};{place}{WAY}{NAMES[is_main]};blocked$")
        # By its own will, and not only sent off its CPU.
        found = [s for s in report["stacks"]
                 if s["state"] in ("sleep", "disk") and f";{place};" in s["stack"]]
        shown = sum(s["count"] for s in found)
        for stack in found:
            self.assertRegex(stack["stack"], whole)
        self.assertTrue(count / 2 <= shown <= count, (shown, count, report["stacks"]))

    def files(self):
        """Letters of addresses of the program and of libc."""
        ranges = []
        for row in e2e.Dump(self.trace, "--table", "mmap").rows("mmap"):
            letter = {"blocked": "p", "libc.so.6": "l"}.get(
                row["path"].strip('"').rsplit("/", 1)[-1])
            start = int(row["start"], 16)
            if letter:
                ranges.append((start, start + int(row["length"], 0), letter))
        return ranges

    def check_rows(self, rows, tid, count, is_main, ranges):
        """Switches where the kernel counts that the thread blocked."""
        ways = []
        for row in rows:
            if not row["prev"].startswith(tid + "/") or not int(row["prev_state"], 16) & 255:
                continue
            addresses = [int(a, 16) for a in row["ustack"].removeprefix("u:").split(",")
                         if a != "-"]
            ways.append("".join(next((letter for start, end, letter in ranges
                                      if start <= address < end), "?")
                                for address in addresses))
        whole = sum(re.fullmatch(FILES[is_main], way) is not None for way in ways)
        self.assertEqual(whole, count, ways)

    def test_whole_in_each_place(self):
        self.trace = self.record("-e", "sched,offcpu", "--", e2e.program("blocked"))
        self.assert_no_loss(self.trace)
        printed = re.findall(r"^(block_\w+) (\d+) (\d+)$", self.recorded.stdout.decode(), re.M)
        leader = printed[0][1]
        by_task = {}
        for place, tid, count in printed:
            self.assertGreater(int(count), 10)
            self.check_names(place, tid, int(count), tid == leader)
            by_task[tid] = by_task.get(tid, 0) + int(count)
        self.assertEqual((len(printed), len(by_task)), (8, 5))
        rows = list(e2e.Dump(self.trace, "--table", "sched_switch").rows("sched_switch"))
        ranges = self.files()
        for tid, count in by_task.items():
            self.check_rows(rows, tid, count, tid == leader, ranges)


if __name__ == "__main__":
    e2e.main()

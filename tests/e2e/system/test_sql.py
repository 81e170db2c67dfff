# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport sql` and ebt.so on a real recording, against the reports of the same trace."""

import collections
import json
import os
import re

import e2e

WORK = """
for i in 1 2 3; do python3 -c 'import json, socket; a = b"x" * 9000000' ; done
find /usr/share | sort | gzip >/dev/null
dd if=/dev/zero of="$1/f" bs=1M count=8 conv=fsync 2>/dev/null; cat /no 2>/dev/null; exit 0
"""
EXTENSION = os.path.join(os.path.dirname(e2e.EBREPORT), "ebt.so")
with open(os.path.join(e2e.SOURCE, "docs/SQL.md"), encoding="utf-8") as doc:
    QUESTIONS = re.findall(r"```sql\n(.*?)```", doc.read(), re.S)

# What a report says, as a question: command, keys and values of its rows, the same in SQL.
SAME = [
    ("syscalls", ["name"], ["count", "errors", "total_ns"],
     "SELECT syscall_name(nr, abi), count(*), sum(ret < 0 AND ret >= -4095), sum(duration) FROM syscall GROUP BY nr, abi"),
    ("syscalls", ["name"], ["max_ns", "min_ns"],
     "SELECT syscall_name(nr, abi), max(duration), min(duration) FROM syscall GROUP BY nr, abi"),
    ("syscalls --by process", ["pid"], ["count", "total_ns"],
     "SELECT pid, count(*), sum(duration) FROM syscall GROUP BY pid"),
    ("faults", ["pid"], ["minor", "major", "duration_ns"],
     "SELECT pid, sum(kind = 'minor') + sum(silent_minor), sum(kind = 'major') + sum(silent_major), sum(duration)"
     " FROM fault GROUP BY pid"),
    ("sched --irq", ["cpu", "kind", "number"], ["count", "total_ns", "max_ns"],
     "SELECT cpu, kind, number, count(*), sum(self), max(self) FROM irq GROUP BY 1, 2, 3"),
]


class Sql(e2e.TestCase):
    def ask(self, question, *options):
        """Rows as lists."""
        text = e2e.ebreport("sql", "--json", *options, self.trace, question)
        return [list(row.values()) for row in json.loads(text)["rows"]]

    def compare(self, command, keys, values, question):
        report = e2e.report_json(*command.split()[:1], self.trace, *command.split()[1:], "--kernel-threads")
        wanted = {tuple(row.get(key) for key in keys): [row[value] for value in values] for row in report["rows"]}
        got = {tuple(row[:len(keys)]): row[len(keys):] for row in self.ask(question)}
        self.assertEqual(got, wanted, command)
        self.assertTrue(wanted, command)

    def check_rows(self):
        """Each table has the rows that `info` counts."""
        for name, row in e2e.tables(self.trace).items():
            self.assertEqual(self.ask(f'SELECT count(*) FROM "{name}"'), [[row["row_count"]]], name)

    def check_stacks(self):
        """Stacks and their weights are those of `folded`, below the name of the process; which says besides where
        the recorder was at work."""
        wanted, got = collections.Counter(), collections.Counter()
        for stack, weight in e2e.folded(self.trace).items():
            wanted[stack.replace(";[ebrec]", "").partition(";")[2]] += weight
        for user, kernel, weight in self.ask(
                "SELECT coalesce(frames(ustack), ''), coalesce(frames(kstack), ''), sum(period)"
                " FROM sample WHERE tid > 0 GROUP BY ustack, kstack"):
            got[";".join(part for part in (user, kernel) if part)] += weight
        self.assertEqual(got - wanted, wanted - got)  # nothing is more on one side

    def check_extension(self):
        """sqlite3 answers the same."""
        question = "SELECT comm, count(*), sum(duration) FROM syscall WHERE ts > 50000000 GROUP BY comm ORDER BY comm"
        done = e2e.run("sqlite3", "-cmd", f".load {EXTENSION}", "-cmd", f"SELECT ebt_open('{self.trace}')", ":memory:",
                       question)
        self.assertEqual(done.stdout.decode().partition("\n")[2], e2e.ebreport("sql", self.trace, question))
        self.assertTrue(done.stdout.count(b"|") > 4, done)

    def test_reports(self):
        self.trace = self.record("-e", "default,syscalls,block,net,fault,irq", "-F", "499", "--", "bash", "-c", WORK,
                                 "work", self.folder)
        self.assert_no_loss(self.trace)
        for command, keys, values, question in SAME:
            with self.subTest(command):
                self.compare(command, keys, values, question)
        self.check_rows()
        self.check_stacks()
        self.check_extension()
        self.assertGreaterEqual(len(QUESTIONS), 20)
        for question in QUESTIONS:
            e2e.ebreport("sql", self.trace, question)


if __name__ == "__main__":
    e2e.main()

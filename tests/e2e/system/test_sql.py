# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport sql` and ebt.so on a real recording, against the reports of the same trace."""

import collections
import json
import os
import re

import e2e

SERVE = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
thread = threading.Thread(target=lambda: server.accept()[0].recv(100000, socket.MSG_WAITALL))
thread.start()
client = socket.create_connection(server.getsockname())
client.sendall(b"x" * 100000)
thread.join()
"""
WORK = """
for i in 1 2 3; do python3 -c 'import json, socket; a = b"x" * 9000000' ; done
find /usr/share | sort | gzip >/dev/null
python3 -c "$2"
dd if=/dev/zero of="$1/f" bs=1M count=8 conv=fsync 2>/dev/null; cat /no 2>/dev/null; exit 0
"""
EXTENSION = os.path.join(os.path.dirname(e2e.EBREPORT), "ebt.so")
with open(os.path.join(e2e.SOURCE, "docs/SQL.md"), encoding="utf-8") as doc:
    QUESTIONS = re.findall(r"```sql\n(.*?)```", doc.read(), re.S)

# To the end of the recording, where it goes on.
STATES = "(SELECT *, iif(dur < 0, trace_end() - ts, dur) AS ns FROM thread_state)"
RAN = "IN (SELECT utid FROM sched)"
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
    ("syscalls --by thread", ["tid"], ["count", "total_ns"], "SELECT tid, count(*), sum(duration) FROM syscall GROUP BY 1"),
    ("syscalls --comm sort", ["name"], ["count", "total_ns"],
     "SELECT syscall_name(nr, abi), count(*), sum(duration) FROM syscall WHERE comm = 'sort' GROUP BY nr, abi"),
    ("syscalls --from 500ms --to 1500ms", ["name"], ["count", "max_ns"],
     "SELECT syscall_name(nr, abi), count(*), max(duration) FROM syscall WHERE ts >= 500000000 AND ts < 1500000000"
     " GROUP BY nr, abi"),
    ("syscalls --cpu 0", ["name"], ["count"], "SELECT syscall_name(nr, abi), count(*) FROM syscall WHERE cpu = 0"
     " GROUP BY nr, abi"),
    ("faults --by thread", ["tid"], ["duration_ns", "max_ns", "writes"],
     "SELECT tid, sum(duration), max(duration), sum(access = 'write') FROM fault GROUP BY 1"),
    ("sched", ["tid"], ["sleep_ns", "disk_ns", "wait_ns", "blocked_other_ns"],
     "SELECT tid, sum(iif(state = 'S', ns, 0)), sum(iif(state = 'D', ns, 0)), sum(iif(state IN ('R', 'R+'), ns, 0)),"
     f" sum(iif(state IN ('Running', 'S', 'D', 'R', 'R+'), 0, ns)) FROM {STATES} GROUP BY utid"),
    ("sched", ["tid"], ["run_max_ns"], "SELECT tid, max(iif(dur > 0 AND ts > 0, dur, 0)) FROM sched GROUP BY utid"),
    ("sched", ["tid"], ["switches_voluntary", "switches_involuntary"],
     "SELECT tid, sum(end_state <> 'R+'), sum(end_state = 'R+') FROM sched GROUP BY utid"),
    ("sched", ["tid"], ["migrations"], "SELECT tid, count(*) FROM sched_migrate GROUP BY task"),
    ("summary", ["pid"], ["run_ns", "thread_count"],
     "SELECT pid, sum(iif(dur < 0, trace_end() - ts, dur)), count(DISTINCT utid) FROM sched GROUP BY pid"),
    ("offcpu", ["tid"], ["total_ns", "wait_ns"],
     f"SELECT tid, sum(ns), sum(iif(state IN ('R', 'R+'), ns, 0)) FROM {STATES} WHERE state <> 'Running' GROUP BY utid"),
    ("offcpu --by process", ["pid"], ["total_ns"],
     f"SELECT pid, sum(ns) FROM {STATES} WHERE state <> 'Running' GROUP BY pid"),
    ("block --by process", ["pid"], ["ios", "bytes", "max_ns"],
     "SELECT pid, count(*), sum(bytes), max(duration) FROM block_io GROUP BY pid"),
    ("block --by operation", ["operation"], ["ios", "total_ns"], "SELECT op, count(*), sum(duration) FROM block_io GROUP BY 1"),
    ("net --by process", ["pid"], ["tx_bytes", "rx_bytes"],
     "SELECT pid, sum(iif(direction = 'send', bytes, 0)), sum(iif(direction = 'receive', bytes, 0)) FROM net_transfer"
     " GROUP BY pid"),
    ("callgraph", ["function", "object"], ["self_ns"],
     "SELECT y.name, m.name, sum(p.period) FROM perf_sample p JOIN stack_profile_callsite c ON c.id = p.callsite_id"
     " JOIN stack_profile_frame f ON f.id = c.frame_id JOIN stack_profile_mapping m ON m.id = f.mapping"
     " JOIN (SELECT symbol_set_id, min(id), name FROM stack_profile_symbol GROUP BY 1) y"
     " ON y.symbol_set_id = f.symbol_set_id WHERE p.tid > 0 GROUP BY 1, 2"),
    ("files", ["file_id"], ["size", "role", "path"], "SELECT file_id, size, role, path FROM file"),
    ("counters", ["name"], ["last"],
     "SELECT t.category || iif(t.instance = '', '', '.' || t.instance) || '.' || t.name, (SELECT value FROM"
     " perfetto.counter c WHERE c.track_id = t.id ORDER BY ts DESC LIMIT 1) FROM counter_track t"),
    ("procs", ["pid"], ["begin_ns", "end_ns", "comm"], "SELECT pid, start_ts, end_ts, name FROM perfetto.process WHERE upid IN"
     f" (SELECT upid FROM perfetto.thread WHERE utid {RAN})"),
    ("procs", ["pid"], ["ppid"],
     "SELECT p.pid, q.pid FROM perfetto.process p JOIN perfetto.process q ON q.upid = p.parent_upid"),
    ("procs", ["pid"], ["thread_count"], "SELECT p.pid, count(*) FROM perfetto.thread t JOIN perfetto.process p USING (upid)"
     f" WHERE utid {RAN} GROUP BY upid"),
]


class Sql(e2e.TestCase):
    def ask(self, question, *options):
        """Rows as lists."""
        text = e2e.ebreport("sql", "--json", *options, self.trace, question)
        return [list(row.values()) for row in json.loads(text)["rows"]]

    def compare(self, command, keys, values, question):
        options = [] if command == "files" else ["--kernel-threads"]
        report = e2e.report_json(*command.split()[:1], self.trace, *command.split()[1:], *options)
        wanted = {tuple(row.get(key) for key in keys): [row.get(value) for value in values] for row in report["rows"]}
        got = {tuple(row[:len(keys)]): row[len(keys):] for row in self.ask(question)}
        # Reports have rows of nothing, and groups have none.
        wanted, got = ({key: row for key, row in rows.items() if any(row)} for rows in (wanted, got))
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
                                 "work", self.folder, SERVE)
        self.assert_no_loss(self.trace)
        self.assertGreaterEqual(len(SAME), 25)
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

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport sql` and ebt.so: rows of traces as tables of SQLite.

    check_sql.py EBTGEN EBREPORT [EBT.SO] FIXTURE.txt…

The traces are the fixtures, and a machine of tests/browser/traces.py. Every value of every table is
that of `ebreport dump`. Queries answer the same of a table as of a plain one that was filled from
it, whatever range of times and process they look for: what is passed over has no row for them.
Intervals, tasks and call sites are those of the rows that they are worked out of. Outputs are what
Python's SQLite says, and sqlite3 with the extension answers as `ebreport sql` does.
Exit status: 0; 1 with what is wrong on standard error; 77: built without SQLite.
"""

import csv
import io
import itertools
import json
import math
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
from failed import fail, status  # noqa: E402, pylint: disable=wrong-import-position

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../browser"))
import traces  # noqa: E402, pylint: disable=wrong-import-position

HUGE = 1 << 63
MACHINES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fixtures/v1.0-machines.ebt")


def equal(what, got, wanted):
    if got != wanted:
        fail(what, f"{str(got)[:600]}, not {str(wanted)[:600]}")


class Asked:
    """A run of a program, and what came of it."""

    def __init__(self, *words, script=None):
        done = subprocess.run([str(word) for word in words], input=script, capture_output=True, check=False,
                              encoding="utf-8", errors="surrogateescape", timeout=600)
        self.status, self.out, self.told = done.returncode, done.stdout, done.stderr

    def lines(self):
        if self.status:
            raise SystemExit(f"status {self.status}: {self.told}")
        return self.out.splitlines()


# --- values ---

# What a dump has of a row: name=value, of which strings have no space outside of quotes.
FIELD = re.compile(r' (?P<name>"(?:[^"\\]|\\.)*"|[\w.-]+)=(?P<value>(?:"(?:[^"\\]|\\.)*"|[^\s"])*)')


def unquoted(text):
    """Bytes of a string of a dump, or of a name that needs no quotes."""
    if text[:1] != '"':
        return text.encode()
    body = text[1:-1].encode("utf-8", "surrogateescape")
    return re.sub(rb'\\(x[0-9a-f]{2}|.)',
                  lambda m: bytes([int(m[1][1:], 16)]) if len(m[1]) == 3 else
                  {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(m[1], m[1]), body)


def integer(value):
    """As SQLite has it: a floating point number where 64 bits with a sign do not do."""
    return f"integer {value}" if -HUGE <= value < HUGE else ("real", float(value))


def of_enum(text):
    return integer(int(text)) if text.isdecimal() else "text " + unquoted(text).hex().upper()


def of_time(text, start, absolute):
    return integer(int(text) if absolute else int(text) - start)


def of_hex(text):
    value = int(text, 16)
    return integer(value - 2 * HUGE if value >= HUGE else value)


def of_task(text):
    """Columns of its number, which is compared elsewhere, tid, pid and comm."""
    if text == "-":
        return ["null "] * 4
    tid, pid, _, comm = text.split("/", 3)
    return ["any", integer(int(tid)), integer(int(pid)) if int(pid) else "null ",
            "text " + unquoted(comm).hex().upper()]


def expected(kind, text, start, absolute):
    if kind == "task":
        return of_task(text)
    return [{"time": lambda: of_time(text, start, absolute), "hex": lambda: of_hex(text),
             "enum": lambda: of_enum(text), "stack": lambda: "null " if text == "-" else "any",
             "string": lambda: "text " + unquoted(text).hex().upper(),
             "bytes": lambda: "blob " + text[1:].upper()}.get(kind, lambda: integer(int(text)))()]


def is_same(got, wanted):
    if wanted == "any":
        return got.startswith("integer ")
    if isinstance(wanted, tuple):
        kind, value = got.split(" ")
        return kind == wanted[0] and math.isclose(float(value), wanted[1], rel_tol=1e-14)
    return got == wanted


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def exact(column):
    """A value as a text that has its type and each byte, and neither | nor a newline."""
    return (f"typeof({column}) || ' ' || CASE WHEN typeof({column}) IN ('text', 'blob') THEN hex({column}) "
            f"ELSE ifnull({column}, '') END")


class Checker:
    def __init__(self, ebreport, extension, folder):
        self.ebreport, self.extension, self.folder = ebreport, extension, folder

    def sql(self, *words, script=None):
        return Asked(self.ebreport, "sql", *words, script=script)

    def json(self, *words):
        asked = Asked(self.ebreport, *words)
        return json.loads("\n".join(asked.lines()))

    def columns(self, trace, table):
        return [line.split("|")[1:3] for line in self.sql(trace, f"PRAGMA table_info({quoted(table)})").lines()]

    # --- all values ---

    def check_values(self, trace):
        """Of each table, whether it has rows or not."""
        schema, wanted = {}, {}
        for row in self.json("dump", "--schema", "--json", trace)["rows"]:
            schema.setdefault(row["table"], []).append((row["field"], row["type"]))
        start = int(self.json("sql", "--json", trace, "SELECT 1")["start_ns"])
        for line in Asked(self.ebreport, "dump", trace).lines():
            time, table, rest = (line + " ").split(" ", 2)
            values = {m["name"]: m["value"] for m in FIELD.finditer(" " + rest)}
            wanted.setdefault(table, []).append((int(time), values))
        answers = self.all_rows(trace, schema)
        tasks, stacks = {}, {}
        for table, fields in schema.items():
            rows = answers[table]
            equal(f"rows of {table} in {trace}", len(rows), len(wanted.get(table, [])))
            for row, (time, values) in zip(rows, wanted.get(table, [])):
                self.check_row(f"{table} at {time} in {trace}", row, [integer(time - start)] + list(
                    itertools.chain(*(expected(kind, values[name], start, table == "clock") if name in values
                                      else ["unknown"] * (4 if kind == "task" else 1)
                                      for name, kind in fields[1:]))))
                at = 1
                for name, kind in fields[1:]:
                    if kind == "task" and values.get(name, "-") != "-":
                        tasks.setdefault(row[at], set()).add(values[name].rsplit("/", 1)[0])
                    if kind == "stack" and values.get(name, "-") != "-":
                        stacks.setdefault(row[at], set()).add(values[name])
                    at += 4 if kind == "task" else 1
        for number, named in itertools.chain(tasks.items(), stacks.items()):
            if len(named) > 1:
                fail(trace, f"{number} is {named}")
        equal(f"numbers of tasks in {trace}", len(set().union(*tasks.values())), len(tasks))
        counted = {row["name"]: row["row_count"] for row in self.json("info", "--json", trace)["rows"]}
        for table, count in counted.items():
            if table in schema:
                equal(f"count of {table} in {trace}",
                      self.sql(trace, f"SELECT count(*) FROM {quoted(table)}").lines(), [str(count)])
        if not any(wanted.get(table) for table in counted) or not tasks:
            fail(trace, "nothing was compared")

    def all_rows(self, trace, schema):
        """By table. It is one run, in which numbers of tasks and stacks are the same in all of them."""
        script, answers = "", {}
        for table, fields in schema.items():
            columns = self.columns(trace, table)
            self.check_columns(f"{trace} {table}", columns, fields)
            query = ", ".join(exact(quoted(name)) for name, _ in columns)
            script += f"SELECT '--{table}';\nSELECT {query} FROM {quoted(table)};\n"
        for line in self.sql(trace, script=script).lines():
            if line.startswith("--"):
                rows = answers[line[2:]] = []
            else:
                rows.append(line.split("|"))
        return answers

    def check_columns(self, what, columns, fields):
        sql_type = {"string": "TEXT", "enum": "TEXT", "bytes": "BLOB"}
        names = {name for name, _ in fields}
        wanted = [["ts", "INTEGER"]]
        for name, kind in fields[1:]:
            wanted.append([name, sql_type.get(kind, "INTEGER")])
            for part in ("tid", "pid", "comm") if kind == "task" else ():
                full = part if name == "task" else f"{name}_{part}"
                while full in names:
                    full = f"{full[:-len(part)]}task_{part}"
                wanted.append([full, "TEXT" if part == "comm" else "INTEGER"])
        equal(what, columns, wanted + [["trace", "TEXT"]])

    def check_row(self, what, got, wanted):
        name = "text " + os.path.basename(what.rsplit(" ", 1)[1]).encode().hex().upper()
        if len(got) != len(wanted) + 1 or got[-1] != name:
            fail(what, f"{got}, not {wanted}")
            return
        for value, want in zip(got, wanted):
            if want != "unknown" and not is_same(value, want):
                fail(what, f"{value}, not {want}")

    # --- what is passed over ---

    def threads(self, trace, table, names):
        """One thread, one CPU: rows of others are passed over one by one."""
        columns = [name for name in ("tid", "next_tid", "waker_tid", "cpu") if name in names]
        for column in columns:
            rows = self.sql(trace, f"SELECT DISTINCT {column} FROM {quoted(table)} WHERE {column} IS NOT NULL").lines()
            some = rows[:4] + ["0", "-1", "NULL", "4294967295", "9223372036854775808", "'0'", "0.0", "0.5", "x'00'"]
            some += [str(int(row) + (1 << 32)) for row in rows[:2]] + [f"'{row}'" for row in rows[:2]]
            for value in some:
                yield f"{column} = {value}"
                yield f"{column} IS {value}"
            yield f"{column} IN ({', '.join(some)})"
            for other in columns:
                yield f"{column} = {some[0]} AND {other} = {some[1]} AND ts > 1000000"
                yield f"{column} = {some[0]} OR {other} = {some[1]}"

    def conditions(self, trace, table, ts, pid):
        rows = self.sql(trace, f"SELECT DISTINCT {ts} FROM {quoted(table)} WHERE typeof({ts}) = 'integer' ORDER BY 1")
        times = rows.lines() or ["0"]
        times = [int(time) for time in sorted({times[0], times[len(times) // 3], times[len(times) // 2], times[-1]})]
        bounds = [str(t + d) for t in times for d in (-1, 0, 1)] + [f"{t}.5" for t in times]
        bounds += [f"'{times[0]}'", f"'{times[-1]}x'", f"{times[0]}.0", "NULL", "x'00'", "0", "-1", "1e300", "-1e300",
                   "9e999", "-9e999", str(HUGE - 1), str(HUGE - 2), f"(-{HUGE - 1} - 1)", f"-{HUGE - 1}",
                   "9223372036854775808", "-9223372036854775809", "18446744073709550615", "18446744073709551616"]
        for op, bound in itertools.product(("<", "<=", "=", ">", ">=", "IS", "<>"), bounds):
            yield f"{ts} {op} {bound}"
            if op in ("<", ">="):
                yield f"{bound} {op} {ts}"
        for low, high in itertools.product(bounds[::2], bounds[1::2]):
            yield f"{ts} BETWEEN {low} AND {high}"
        for low, high in itertools.product(bounds[:8], bounds[-8:]):
            yield f"{ts} > {low} AND {ts} <= {high} AND {ts} >= {bounds[0]}"
        yield f"{ts} IN ({', '.join(bounds)})"
        yield f"{ts} < {bounds[0]} OR {ts} > {bounds[4]}"
        if not pid:
            return
        pids = self.sql(trace, f"SELECT DISTINCT {pid} FROM {quoted(table)} WHERE {pid} IS NOT NULL").lines()[:5]
        some = pids[:3] + ["0", "-1", "NULL", "4294967295", "4294967296", str(HUGE - 1), "'300'", "7.0", "7.5"]
        some += [str(int(p) + (1 << 32)) for p in pids[:2]] + [f"'{p}'" for p in pids[:2]] + [f"{p}.0" for p in pids[:2]]
        for value in some:
            yield f"{pid} = {value}"
            yield f"{pid} = {value} AND {ts} >= {bounds[4]}"
            yield f"{pid} IS {value}"
        yield f"{pid} IN ({', '.join(some)})"
        yield f"{pid} IN ({', '.join(some)}) AND {ts} < {bounds[-1]}"
        for one, other in itertools.product(some[:3], some[:3]):
            yield f"{pid} = {one} AND {pid} = {other}"
            yield f"{pid} = {one} OR {pid} = {other}"

    def check_ranges(self, trace, table):
        names = [name for name, _ in self.columns(trace, table)]
        pid = next((name for name in ("pid", "next_pid", "wakee_pid") if name in names), None)
        asks = []
        what = ", ".join(["count(*)", "sum(CAST(ts % 1000003 AS INT))", "sum(CAST(ts / 7 % 1000003 AS INT))",
                          "total(ts)", "min(ts)", "max(ts)"] + ([f"sum({pid})"] if pid else []))
        for condition in itertools.chain(self.conditions(trace, table, "ts", pid), self.threads(trace, table, names)):
            asks.append((condition, f"SELECT {what} FROM <> WHERE {condition}"))
        for order in ("ts", "ts DESC", "ts LIMIT 3", "ts DESC LIMIT 3", "ts LIMIT 2 OFFSET 1"):
            asks.append((order, f"SELECT group_concat(ts) FROM (SELECT ts FROM <> WHERE ts > 0 ORDER BY {order})"))
            if pid:
                asks.append((order, f"SELECT group_concat(ts) FROM (SELECT ts FROM <> WHERE {pid} IN "
                             f"(SELECT DISTINCT {pid} FROM plain) ORDER BY {order})"))
        script = f"CREATE TABLE plain AS SELECT * FROM {quoted(table)};\n"
        script += "".join(ask.replace("FROM <>", f"FROM {name}") + ";\n" for _, ask in asks
                          for name in (quoted(table), "plain"))
        lines = self.sql(trace, script=script).lines()
        equal(f"answers of {table}", len(lines), 2 * len(asks))
        answers = set()
        for (condition, _), got, wanted in zip(asks, lines[::2], lines[1::2]):
            answers.add(got)
            equal(f"{table} of {trace}: {condition}", got, wanted)
        return len(answers)

    def check_plans(self, trace):
        for condition, wanted in [("ts >= 1", "ts>=?"), ("ts > 1", "ts>?"), ("ts < 1", "ts<?"), ("ts <= 1", "ts<=?"),
                                  ("ts = 1", "ts=?"), ("pid = 1", "pid=?"), ("ts BETWEEN 1 AND 2", "ts>=? ts<=?"),
                                  ("ts > 1 AND pid = 7", "ts>? pid=?"), ("1 > ts", "ts<?"), ("pid IN (1, 2)", "pid=?"),
                                  ("tid = 1 AND cpu = 2 AND pid = 3", "pid=? tid=? cpu=?"), ("cpu = 1", "cpu=?")]:
            plan = self.sql(trace, f"EXPLAIN QUERY PLAN SELECT count(*) FROM syscall WHERE {condition}").out
            if f":{wanted} fields " not in plan:
                fail(condition, f"the plan is {plan}")
        for query, sorts in (("SELECT ts FROM syscall ORDER BY ts", False),
                             ("SELECT ts FROM syscall ORDER BY ts DESC", True),
                             ("SELECT ts FROM syscall ORDER BY pid", True)):
            equal(query, "TEMP B-TREE" in self.sql(trace, "EXPLAIN QUERY PLAN " + query).out, sorts)
        equal("two traces", "TEMP B-TREE" in
              self.sql(trace, trace, "EXPLAIN QUERY PLAN SELECT ts FROM syscall ORDER BY ts").out, True)

    def check_chunks(self, trace):
        """A range of times reads its chunks and no others; half of the time, about half of them."""
        def read(where):
            return int(self.sql(trace, f"SELECT count(*) FROM syscall WHERE {where}; SELECT ebt_chunks_read()").lines()[1])
        first, end = (int(time) for time in self.sql(trace, "SELECT min(ts), max(ts) FROM syscall").lines()[0].split("|"))
        none, all_of_them, half = read("ts > 9e15"), read("ts > -9e15"), read(f"ts < {(first + end) // 2}")
        few = read(f"ts BETWEEN {end // 2} AND {end // 2 + 10}")
        if not none < few < half < all_of_them or few - none > (all_of_them - none) / 10:
            fail("chunks that are read", (none, few, half, all_of_them))

    # --- several tables, several traces ---

    JOINS = [
        "SELECT count(*), sum(a.ts) FROM {sched} a JOIN {sched} b ON a.ts = b.ts",
        "SELECT count(*), sum(b.ts) FROM {calls} a JOIN {sched} b ON b.ts BETWEEN a.ts - a.duration AND a.ts"
        " AND b.next_pid = a.pid WHERE a.ts < 40000000",
        "SELECT count(*), sum(b.ts) FROM (SELECT DISTINCT pid FROM {calls}) a JOIN {calls} b ON b.pid = a.pid",
        "SELECT a.pid, count(b.ts), sum(b.duration) FROM (SELECT DISTINCT pid FROM {calls}) a LEFT JOIN {calls} b"
        " ON b.pid = a.pid AND b.ts > 20000000 GROUP BY 1 ORDER BY 1",
        "SELECT comm, count(*) FROM {calls} GROUP BY comm ORDER BY comm",
        "SELECT count(*) FROM {calls} WHERE pid IN (SELECT next_pid FROM {sched} WHERE ts < 30000000)",
        "SELECT ts, next_comm FROM {sched} ORDER BY ts LIMIT 5 OFFSET 7",
        "SELECT ts FROM {sched} ORDER BY ts DESC LIMIT 5",
    ]

    def check_joins(self, *files):
        script = "".join(f"CREATE TABLE {name} AS SELECT * FROM {table};\n"
                         for name, table in (("plain_calls", "syscall"), ("plain_sched", "sched_switch")))
        for query in self.JOINS:
            script += "SELECT '--';\n" + query.format(calls="syscall", sched="sched_switch") + ";\n"
            script += "SELECT '--';\n" + query.format(calls="plain_calls", sched="plain_sched") + ";\n"
        answers = ("\n".join(self.sql(*files, script=script).lines()) + "\n").split("--\n")[1:]
        equal("answers of joins", len(answers), 2 * len(self.JOINS))
        for query, got, wanted in zip(self.JOINS, answers[::2], answers[1::2]):
            equal(query, got, wanted)
            if re.fullmatch(r"(0?\|?\n)?", got):
                fail(query, "nothing was compared")

    def check_two(self, one, other):
        """Both in one table, each row as its own trace has it, which a column names."""
        query = "SELECT {}trace, ts, tid, pid, comm, nr, duration, ret FROM syscall{}"
        both = self.sql(one, other, query.format("", "")).lines()
        single = [line for file in (one, other) for line in self.sql(file, query.format("", "")).lines()]
        equal("rows of two traces", both, single)
        names = [os.path.basename(one), os.path.basename(other)]
        equal("traces", sorted({line.split("|")[0] for line in both}), sorted(names))
        for name in names:
            equal(f"rows of {name}", self.sql(one, other, query.format("", f" WHERE trace = '{name}'")).lines(),
                  [line for line in single if line.startswith(name + "|")])
        ordered = [int(line) for line in self.sql(one, other, "SELECT ts FROM syscall ORDER BY ts").lines()]
        equal("two in order", ordered, sorted(ordered))
        equal("all are there", len(ordered), len(single))
        self.check_joins(one, other)

    # --- what is worked out ---

    # Each is 0, or the number of rows that contradict.
    WORKED_OUT = [
        # A CPU runs one thread at a time, and each row is one switch to a thread.
        "SELECT count(*) FROM (SELECT ts, dur, lead(ts) OVER (PARTITION BY cpu ORDER BY ts) AS next FROM sched)"
        " WHERE next < ts + dur",
        "SELECT (SELECT count(*) FROM sched) - (SELECT count(*) FROM thread_state WHERE state = 'Running')",
        "SELECT count(*) FROM sched s LEFT JOIN sched_switch w ON w.ts = s.ts AND w.next = s.utid AND w.cpu = s.cpu"
        " WHERE w.ts IS NULL AND s.ts > 0",
        "SELECT (SELECT count(*) FROM sched WHERE end_state IS NOT NULL AND ts > 0)"
        " <> (SELECT count(*) FROM sched_switch w JOIN sched s ON w.ts = s.ts + s.dur AND w.prev = s.utid"
        " AND w.cpu = s.cpu WHERE s.ts > 0)",
        # A thread is in one state at a time, without gaps.
        "SELECT count(*) FROM (SELECT ts, dur, lead(ts) OVER (PARTITION BY utid ORDER BY ts, dur) AS next"
        " FROM thread_state) WHERE next <> ts + dur",
        # Whatever the range, rows from there on are the same.
        "SELECT count(*) FROM (SELECT ts, dur, utid, state FROM thread_state WHERE ts + 0 > 30000000 EXCEPT"
        " SELECT ts, dur, utid, state FROM thread_state WHERE ts > 30000000)",
        "SELECT (SELECT count(*) FROM thread_state WHERE ts > 30000000)"
        " - (SELECT count(*) FROM thread_state WHERE ts + 0 > 30000000)",
        "SELECT count(*) FROM thread_state s JOIN sched_waking w ON w.ts = s.ts AND w.wakee = s.utid"
        " WHERE s.waker_utid IS NOT NULL AND w.waker IS NOT s.waker_utid",
        # Tasks are those of all tables, once.
        "SELECT count(*) - count(DISTINCT task) FROM task",
        "SELECT count(*) FROM (SELECT next, next_tid, next_pid FROM sched_switch WHERE next IS NOT NULL UNION"
        " SELECT task, tid, pid FROM syscall EXCEPT SELECT task, tid, pid FROM task)",
        "SELECT count(*) FROM perfetto.thread t LEFT JOIN perfetto.process p ON p.upid = t.upid WHERE p.pid IS NOT"
        " (SELECT pid FROM task WHERE task = t.utid)",
        "SELECT count(*) FROM task a JOIN task b ON b.task = a.task WHERE a.tid <> b.tid",
        "SELECT (SELECT count(*) FROM task) - (SELECT count(*) FROM (SELECT task FROM task) a JOIN task b"
        " ON b.task = a.task)",
        # A call site, up to its root, has the names that frames() has; and so has `stack`.
        """WITH RECURSIVE up(sample, n, id, names) AS (
           SELECT DISTINCT callsite_id, 0, callsite_id, '' FROM perf_sample WHERE callsite_id IS NOT NULL UNION ALL
           SELECT up.sample, n + 1, c.parent_id, (SELECT group_concat(name, ';') FROM (SELECT name FROM
           stack_profile_symbol WHERE symbol_set_id = c.frame_id ORDER BY id DESC)) || iif(n, ';' || names, '')
           FROM up JOIN stack_profile_callsite c ON c.id = up.id)
           SELECT count(*) FROM (SELECT DISTINCT callsite(ustack, kstack, trace) AS site, coalesce(frames(ustack) ||
           iif(kstack, ';', ''), '') || coalesce(frames(kstack), '') AS folded FROM sample) s
           JOIN up ON up.sample = s.site AND up.id IS NULL
           WHERE replace(replace(s.folded, '[truncated];', ''), ';[truncated]', '') <> up.names""",
        "SELECT count(*) FROM sample s LEFT JOIN stack k ON k.id = s.ustack WHERE s.ustack IS NOT NULL"
        " AND k.folded IS NOT frames(s.ustack)",
        "SELECT count(*) FROM stack WHERE folded NOT LIKE '%' || leaf OR depth < 1",
        "SELECT (SELECT count(*) FROM perf_sample) - (SELECT count(*) FROM sample)",
        "SELECT (SELECT count(*) FROM slice WHERE category = 'syscall') - (SELECT count(*) FROM syscall)",
        # With the schema's name and without.
        "SELECT (SELECT sum(dur) FROM sched) - (SELECT sum(dur) FROM perfetto.sched)",
        "SELECT (SELECT count(*) FROM slice) - (SELECT count(*) FROM perfetto.slice)",
        "SELECT (SELECT count(*) FROM thread) - (SELECT count(*) FROM event_thread)",
        "SELECT count(*) FROM stack WHERE id = NULL OR id = 'x'",
    ]

    def check_worked_out(self, trace):
        lines = self.sql(trace, script="".join(query + ";\n" for query in self.WORKED_OUT)).lines()
        equal("answers", len(lines), len(self.WORKED_OUT))
        for query, line in zip(self.WORKED_OUT, lines):
            equal(query, line, "0")
        some = self.sql(trace, "SELECT count(*) FROM sched WHERE dur > 0; SELECT count(waker_utid) FROM thread_state;"
                        "SELECT count(*) FROM stack_profile_callsite; SELECT count(*) FROM perfetto.process;"
                        "SELECT count(*) FROM sched WHERE dur = -1").lines()
        equal("there are rows", [line for line in some if line == "0"], [])
        for query in ("SELECT 1 FROM thread_state WHERE ts > 5", "SELECT 1 FROM perfetto.sched WHERE ts >= 5"):
            equal(query, "INDEX 1:ts>=?" in self.sql(trace, "EXPLAIN QUERY PLAN " + query).out, True)
        start = int(self.json("sql", "--json", trace, "SELECT 1")["start_ns"])
        equal("the recording's end", int(self.sql(trace, "SELECT trace_end()").lines()[0]) + start,
              start + int(self.json("sql", "--json", trace, "SELECT 1")["duration_ns"]))

    # --- outputs ---

    OUTPUTS = [
        "SELECT 1 AS a, 2.5 AS b, 'x' AS c, NULL AS d, '' AS e",
        "SELECT 1 AS a UNION ALL SELECT 'text' UNION ALL SELECT 0.1 UNION ALL SELECT NULL UNION ALL SELECT -9223372036854775808",
        "SELECT 'a|b' AS p, 'c,d' AS q, 'say \"x\"' AS r, 'ü' AS s, 9223372036854775807 AS t, 1e100 AS u",
        "SELECT comm, count(*) AS n, sum(duration) AS ns, avg(duration) AS mean FROM syscall GROUP BY comm ORDER BY comm",
        "SELECT ts, tid, comm, nr, ret FROM syscall ORDER BY ts, tid LIMIT 50",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i / 7.0 AS f FROM n",
        "SELECT 1 AS a WHERE 0",
    ]

    def plain(self, trace):
        """The same rows, in Python's SQLite."""
        db = sqlite3.connect(":memory:")
        columns = self.columns(trace, "syscall")
        db.execute(f"CREATE TABLE syscall ({', '.join(quoted(name) + ' ' + kind for name, kind in columns)})")
        for row in self.json("sql", "--json", trace, "SELECT * FROM syscall")["rows"]:
            db.execute(f"INSERT INTO syscall VALUES ({', '.join('?' * len(columns))})",
                       [row.get(name) for name, _ in columns])
        return db

    def check_outputs(self, trace):
        db = self.plain(trace)
        for query in self.OUTPUTS:
            cursor = db.execute(query)
            names = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
            texts = [["" if v is None else f"{v:.15g}" if isinstance(v, float) else str(v) for v in row]
                     for row in rows]
            got = self.json("sql", "--json", trace, query)["rows"]
            wanted = [{k: v for k, v in zip(names, row) if v is not None} for row in rows]
            if [list(row) for row in got] != [list(row) for row in wanted] or not all(
                    type(a) is type(b) and (math.isclose(a, b, rel_tol=1e-14) if isinstance(a, float) else a == b)
                    for one, other in zip(got, wanted) for a, b in zip(one.values(), other.values())):
                # JSON has no difference between 1e100 and its digits, and none between 1 and 1.0.
                if json.dumps(got) != json.dumps(wanted) and not numbers_equal(got, wanted):
                    fail(query, f"JSON: {str(got)[:200]}, not {str(wanted)[:200]}")
            text = self.sql("--csv", trace, query).out
            table = list(csv.reader(io.StringIO(text, newline="")))
            equal(query + ", CSV, names", table[:1], [names])
            compare_texts(query + ", CSV", table[1:], texts)
            lines = [line for line in self.sql(trace, query).lines()]
            compare_texts(query + ", list", [[line] for line in lines] if "a|b" in query else
                          [line.split("|") for line in lines],
                          [["|".join(row)] for row in texts] if "a|b" in query else texts)
            shown = self.sql("--table", trace, query).lines()
            if rows:
                equal(query + ", table, names", shown[0].split(), names)
                equal(query + ", table, rows", len(shown), len(rows) + 1)
                words = [cell for row in texts for cell in row if cell and " " not in cell and "e+" not in cell]
                missing = [word for word in words if word[:12] not in "\n".join(shown)]
                equal(query + ", table", missing, [])
            equal(query + ", --top", self.sql("--top", "2", trace, query).lines(), lines[:2])
        equal("names twice", self.json("sql", "--json", trace, "SELECT 1 AS a, 2 AS a, 3 AS a")["rows"],
              [{"a": 1, "a:1": 2, "a:2": 3}])
        equal("--columns", self.json("sql", "--json", "--columns", "b,a", trace,
                                     "SELECT 1 AS a, 'x' AS b UNION ALL SELECT 'y', 2")["rows"],
              [{"b": "x", "a": 1}, {"b": 2, "a": "y"}])
        equal("no number", self.json("sql", "--json", trace, "SELECT 9e999 AS a, 1 AS b")["rows"], [{"b": 1}])
        equal("bytes", self.sql(trace, "SELECT x'1b5b41', char(27) || '[31m', 'a' || char(10) || 'b'").lines(),
              [r"\x1b[A|\x1b[31m|a\x0ab"])

    # --- the extension ---

    QUESTIONS = [
        "SELECT count(*), sum(duration), min(ts), max(ts) FROM syscall WHERE ts > 20000000",
        "SELECT trace, comm, pid, count(*) FROM syscall WHERE pid = 100 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        "SELECT ts, next_tid, next_comm FROM sched_switch ORDER BY ts, next_tid LIMIT 20",
        "SELECT syscall_name(nr, abi), count(*) FROM syscall GROUP BY 1 ORDER BY 1",
        "SELECT errno_name(-2), errno_name(0)",
        "SELECT frames(kstack), count(*) FROM sample GROUP BY 1 ORDER BY 1",
        "SELECT count(*), sum(dur), count(waker_utid) FROM thread_state",
        "SELECT utid, tid, name, upid FROM perfetto.thread ORDER BY trace, utid",
        "SELECT category, name, count(*), sum(dur) FROM slice GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT f.name, count(*) FROM perf_sample p JOIN stack_profile_callsite c ON c.id = p.callsite_id"
        " AND c.trace = p.trace JOIN stack_profile_frame f ON f.id = c.frame_id AND f.trace = c.trace GROUP BY 1 ORDER BY 1",
        "SELECT s.ts, s.next_comm FROM sched_switch s JOIN syscall c ON c.ts = s.ts AND c.tid = s.next_tid ORDER BY 1, 2",
    ]

    def check_extension(self, *files):
        if not self.extension:
            print("the extension is not loaded into a sqlite3 that has no sanitizers")
            return
        opened = "".join(f"SELECT ebt_open('{file}');\n" for file in files)
        for query in self.QUESTIONS:
            asked = Asked("sqlite3", ":memory:", script=f".load {self.extension[:-3]}\n{opened}{query};\n")
            lines = asked.lines()
            equal("names of files", lines[:len(files)], list(files))
            equal(query, lines[len(files):], self.sql(*files, query).lines())
            if len(lines) == len(files):
                fail(query, "no answer")
        for script, told in (("SELECT ebt_open('/nonexistent.ebt');", "No such file"), ("SELECT ebt_open(NULL);", "which file"),
                             ("SELECT * FROM ebt_traces;", "no such table"), (f"{opened}SELECT * FROM nope;", "no such table"),
                             ("CREATE VIEW v AS SELECT ebt_open('x'); SELECT * FROM v;", "unsafe use of ebt_open")):
            asked = Asked("sqlite3", ":memory:", script=f".load {self.extension[:-3]}\n{script}\n")
            if told not in asked.told:
                fail(script, f"status {asked.status}, {asked.told}")
        # One more trace comes.
        asked = Asked("sqlite3", ":memory:", script=f".load {self.extension[:-3]}\nSELECT ebt_open('{files[0]}');\n"
                      f"SELECT count(*) FROM syscall;\nSELECT ebt_open('{files[-1]}');\nSELECT count(*) FROM syscall;\n")
        first, second = asked.lines()[1::2]
        wanted = [self.sql(file, "SELECT count(*) FROM syscall").lines()[0] for file in (files[0], files[-1])]
        equal("a second trace", [int(first), int(second)], [int(wanted[0]), int(wanted[0]) + int(wanted[1])])

    AGAIN = """
import sqlite3, sys
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
for path in sys.argv[2:]:
    db.execute("SELECT ebt_open(?)", (path,)).fetchall()
    print([row[0] for row in db.execute("SELECT ts FROM syscall ORDER BY ts")])
"""

    def check_prepared(self, *files):
        """A statement that was prepared for one trace, and one more comes: rows are in order. Python keeps it."""
        if not self.extension:
            return
        asked = Asked("/usr/bin/python3", "-c", self.AGAIN, self.extension[:-3], *files)
        for n, line in enumerate(asked.lines(), 1):
            times = [int(line) for line in self.sql(*files[:n], "SELECT ts FROM syscall").lines()]
            equal(f"{n} traces by ts", json.loads(line), sorted(times))

    def check_machines(self, trace, merged):
        """Each machine of a file is a trace of its own, wherever the file stands."""
        question = "SELECT trace, count(*) FROM syscall GROUP BY 1"
        names = [f"{os.path.basename(merged)}:{number}" for number in (1, 2)]
        alone = [self.sql("--host", str(number), merged, question).lines() for number in (1, 2)]
        equal("machines", [[line.split("|")[0] for line in lines] for lines in alone], [[name] for name in names])
        equal("a second file of machines", self.sql(trace, merged, question).lines()[:2], sum(alone, []))
        if self.extension:
            asked = Asked("sqlite3", ":memory:", script=f".load {self.extension[:-3]}\nSELECT ebt_open('{merged}');\n{question};\n")
            equal("machines in sqlite3", asked.lines()[1:], sum(alone, []))

    # --- what goes wrong ---

    def check_errors(self, trace):
        for words, told in (((trace, "SELEC 1"), 'near "SELEC": syntax error'),
                            ((trace, "SELECT nope FROM syscall"), "no such column: nope"),
                            ((trace, "SELECT * FROM nope"), "no such table: nope"),
                            ((trace, "SELECT * FROM ebt_traces"), "no such table: ebt_traces"),
                            ((trace, "DELETE FROM syscall"), "may not be modified"),
                            ((trace, "CREATE VIRTUAL TABLE x USING syscall"), "no such module"),
                            ((trace, "SELECT abs(-9223372036854775808)"), "integer overflow"),
                            ((trace, "SELECT load_extension('x')"), "not authorized")):
            for form in ([], ["--json"], ["--csv"], ["--table"]):
                asked = self.sql(*form, *words)
                if asked.status != 2 or told not in asked.told or (not form and asked.out):
                    fail(f"{form} {words[1:]}", f"status {asked.status}, {asked.out[:99]!r}, {asked.told!r}")
        for form in ("--json", "--csv", "--table"):
            for text in ("SELECT 1; SELECT 2", "SELECT 1; CREATE TABLE x(a)", "SELECT 1; nonsense",
                         "CREATE TABLE x(a); SELECT 1; SELECT * FROM x;"):
                asked = self.sql(form, trace, text)
                if asked.status != 2 or asked.out and form != "--json" or '"rows"' in asked.out \
                        or "one query" not in asked.told:
                    fail(f"{form} {text}", f"status {asked.status}, {asked.out!r}, {asked.told!r}")
            equal(f"{form}, one query", self.sql(form, trace, "CREATE TABLE x(a); INSERT INTO x VALUES (7); "
                                                 "SELECT a FROM x; -- that is all\n ;").status, 0)
        equal("several", self.sql(trace, "SELECT 1; SELECT 2; SELECT 3, 4").lines(), ["1", "2", "3|4"])
        equal("standard input", self.sql(trace, script="SELECT 5;\nSELECT 6").lines(), ["5", "6"])
        equal("no question", self.sql(trace, script="").lines(), [])
        missing = os.path.join(self.folder, "missing.ebt")
        for words in ((trace, missing, "SELECT 1"), (missing, "SELECT 1")):
            asked = self.sql(*words)
            if not asked.status or asked.out or "missing.ebt" not in asked.told:
                fail(words[:-1], f"status {asked.status}, {asked.out}, {asked.told}")

    def check_lost(self, trace):
        """What a table has lost is told with the answers that are made of it."""
        for question, wanted in (("SELECT count(*) FROM sched_switch", {"sched_switch": 1234}),
                                 ("SELECT 1 WHERE 1 IN (SELECT cpu FROM sched_switch)", {"sched_switch": 1234}),
                                 ("SELECT count(*) FROM mark", {})):
            asked = Asked(self.ebreport, "sql", "--json", trace, question)
            equal(question, json.loads("\n".join(asked.lines()))["lost"], wanted)
            equal(question + ": it is said", "1234 rows of sched_switch lost" in asked.told, bool(wanted))

    def check_cut(self, trace):
        """Rows so far, and what is missing is said: of the first file, and of another."""
        cut = os.path.join(self.folder, "cut.ebt")
        with open(trace, "rb") as file:
            data = file.read()
        for share in (5, 7, 9):
            with open(cut, "wb") as file:
                file.write(data[:len(data) * share // 10])
            whole = int(self.sql(trace, "SELECT count(*) FROM syscall").lines()[0])
            asked = self.sql(cut, "SELECT count(*) FROM syscall")
            rows = len(Asked(self.ebreport, "dump", "--table", "syscall", cut).lines())
            equal(f"cut at {share}", asked.lines(), [str(rows)])
            if not 0 < rows < whole or "the file has no end" not in asked.told:
                fail(f"cut at {share}", f"{rows} of {whole} rows, {asked.told}")
            asked = self.sql(trace, cut, "SELECT count(*) FROM syscall")
            equal("a cut one behind a whole one", asked.lines(), [str(whole + rows)])
            if "cut.ebt: the file has no end" not in asked.told:
                fail(f"cut at {share}, second", asked.told)
            if self.extension:
                asked = Asked("sqlite3", ":memory:", script=f".load {self.extension[:-3]}\nSELECT ebt_open('{trace}');\n"
                              f"SELECT ebt_damage();\nSELECT ebt_open('{cut}');\nSELECT ebt_damage();\n")
                equal("damage of a whole file", asked.lines()[1], "")
                equal("damage of a cut one", asked.lines()[-1],
                      "cut.ebt: the file has no end: its recorder was killed or it was cut")
        # In the middle, a byte that is another: the chunk is passed over, and that is said.
        middle = bytearray(data)
        for at in range(len(data) // 2, len(data) // 2 + 64):
            middle[at] ^= 0x55
        with open(cut, "wb") as file:
            file.write(middle)
        every = "SELECT count(*) FROM (" + " UNION ALL ".join(
            f"SELECT ts FROM {quoted(name)}" for name in ("syscall", "sched_switch", "sample", "sched_waking")) + ")"
        for files in ((cut,), (trace, cut)):
            asked = self.sql(*files, every)
            if asked.status or not re.search(r"part of the file .*could not be read", asked.told):
                fail(f"damaged: {len(files)}", f"status {asked.status}: {asked.told}")


def numbers_equal(got, wanted):
    """JSON has one kind of number."""
    return len(got) == len(wanted) and all(
        list(a) == list(b) and all(math.isclose(x, y, rel_tol=1e-14) if isinstance(x, (int, float)) and
                                   isinstance(y, (int, float)) else x == y for x, y in zip(a.values(), b.values()))
        for a, b in zip(got, wanted))


def compare_texts(what, got, wanted):
    """As texts; numbers may be written in another way, and CSV has a ' before what looks like a formula."""
    if len(got) != len(wanted):
        fail(what, f"{len(got)} rows, not {len(wanted)}")
    for one, other in zip(got, wanted):
        if one == other or not one and other == [""]:
            continue
        try:
            good = len(one) == len(other) and all(
                a == b or math.isclose(float(a), float(b), rel_tol=1e-14) for a, b in zip(one, other))
        except ValueError:
            good = False
        if not good:
            good = "a|b" in other[0] and one[0].replace("1.0e+100", "1e+100") == other[0]
        if not good:
            fail(what, f"{one}, not {other}")


def main():
    ebtgen, ebreport, *words = sys.argv[1:]
    extension = os.path.abspath(words.pop(0)) if words[0].endswith(".so") else None
    asked = Asked(ebreport, "sql", "--help")
    if asked.status:
        fail("--help", asked.told)
    with tempfile.TemporaryDirectory(prefix="ebt-sql-") as folder:
        checker = Checker(ebreport, extension, folder)
        made = {}
        for name, rows in (("work", traces.work()), ("other", traces.work(ns=300 * traces.MS, seed=5)),
                           ("long", traces.work(ns=6000 * traces.MS)),
                           ("lossy", traces.lossy())):
            words.append(os.path.join(folder, name + ".txt"))
            traces.write(words[-1], rows)
        for source in words:
            name = os.path.basename(source)[:-4]
            made[name] = os.path.join(folder, name + ".ebt")
            subprocess.run([ebtgen, source, made[name]], check=True)
        if "without libsqlite3" in Asked(ebreport, "sql", made["work"], "SELECT 1").told:
            print("built without libsqlite3")
            return 77
        for trace in made.values():
            checker.check_values(trace)
        for name, tables in (("kinds", ("syscall", "clock", "sched_switch", "sched_waking", "meta", "lost", "mark")),
                             ("bounds", ("syscall", "clock", "thread_stack")), ("epochs", ("syscall", "task_fork")),
                             ("work", ("syscall", "sched_switch", "sample"))):
            answers = sum(checker.check_ranges(made[name], table) for table in tables)
            if answers < 10:
                fail(name, f"{answers} different answers")
        checker.check_plans(made["work"])
        checker.check_chunks(made["long"])
        checker.check_worked_out(made["work"])
        checker.check_joins(made["work"])
        checker.check_two(made["work"], made["other"])
        checker.check_outputs(made["work"])
        checker.check_extension(made["work"])
        checker.check_extension(made["work"], made["other"])
        checker.check_prepared(made["work"], made["other"])
        checker.check_machines(made["work"], MACHINES)
        checker.check_errors(made["work"])
        checker.check_lost(made["lossy"])
        checker.check_cut(made["work"])
    return status()


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-or-later
"""Part `sql` of tests/bench/run: questions to a trace of some 20 million events: seconds, rows a second, and the
share of chunks that are decoded.
"""

import page

# What is asked, and the table whose rows are read, for rows a second.
QUESTIONS = [
    ("nothing", "SELECT 1", None),
    ("0.1 s of it", "SELECT count(*), sum(duration) FROM syscall WHERE ts BETWEEN {middle} AND {middle} + 100000000", None),
    ("sum of a column", "SELECT sum(duration) FROM syscall", "syscall"),
    ("count, sum, max of two", "SELECT count(*), sum(ret), max(duration) FROM syscall", "syscall"),
    ("sums by CPU", "SELECT cpu, count(*), sum(duration) FROM syscall GROUP BY cpu", "syscall"),
    ("count of a process", "SELECT count(*) FROM syscall WHERE pid = 1", None),
    ("table sched, sums by thread", "SELECT utid, sum(dur) FROM sched GROUP BY utid", "sched_switch"),
    ("table task", "SELECT count(*) FROM task", None),
]


def run(bench, usage, table):
    trace = bench.path("t.ebt")
    work = [f"{bench.programs}/pingpong", str(page.ROUNDS // bench.scale)]
    usage(bench.record("sched,task,syscalls,sample", *work))
    info = bench.info()
    rows = {row["name"]: row["row_count"] for row in info["rows"]}
    found = []
    for name, question, of in QUESTIONS:
        question = question.format(middle=info["duration_ns"] // 2)
        done = usage([bench.ebreport, "sql", trace, question + "; SELECT ebt_chunks_read() * 100.0 / ebt_chunks()"])
        found.append([name, done.seconds, rows[of] / done.seconds / 1e6 if of else "",
                      float(done.output.splitlines()[-1]), done.mebibytes])
    table(f"Questions in SQL: {info['event_count']} events, {info['chunks']} chunks; memory is with 16 MiB of Python's",
          ["", "s", "M rows/s", "% of chunks", "MiB"], found)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of a page are those of --json, and what its slices add up to is what the command says.

    check_page_tables.py EBTGEN EBREPORT KINDS.txt [TRACE.ebt…]

Each table of the page has the rows of `ebreport COMMAND --json`. Where it has slices, the sums and
the largest of all slices are the figures of the whole, and those of some slices are the figures of
`ebreport COMMAND --from A --to B`, for each row and column that the page merges. The traces are
those given, and two that are made here: a machine of tests/browser/traces.py with rows besides whose
fields are like those of KINDS.txt. Exit status: 0; 1 with what is wrong on standard error.
"""

import collections
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
from failed import fail, status  # noqa: E402
from page_file import Page  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../browser"))
import traces  # noqa: E402

MS = traces.MS
# Tables that the made traces have to have slices of, or rows with times: nothing is left out by mistake.
SLICED = {("syscalls", "rows"), ("block", "rows"), ("net", "rows"), ("net", "interfaces"), ("net", "totals"),
          ("wall", "rows"), ("sched", "rows"), ("sched", "cpus"), ("locks", "rows"), ("faults", "rows"),
          ("cache", "rows"), ("counters", "rows"), ("dbus", "rows"), ("dbus", "signals"), ("mem", "rows"),
          ("sched --irq", "rows"), ("sched --irq", "irq_tasks"), ("sched --irq", "timers"), ("sched --irq", "works"),
          ("marks --summary", "rows"),
          # Rows of one thing each.
          ("marks", "rows"), ("logs", "rows"), ("procs", "rows"), ("net", "connections"), ("oom", "rows")}


# --- traces ---

def templates(kinds):
    """By table, the first row of it; of somebody, if there is such a row."""
    found = {}
    with open(kinds, encoding="utf-8") as file:
        for match in re.finditer(r"(?m)^\d+ (\w+) (.*)$", file.read()):
            if " task=- " in " " + found.get(match[1], "task=- "):
                found[match[1]] = match[2]
    return found


def filled(template, **fields):
    for name, value in fields.items():
        template = re.sub(rf"(^| ){name}=(\"(\\.|[^\"])*\"|\S+)", lambda m, v=value, n=name: f"{m[1]}{n}={v}",
                          template, count=1)
    return template


def other_rows(kinds, tasks, rng, n, span):
    """Rows of tables that the machine does not have; of durations, which end at the row's time."""
    rows = templates(kinds)
    pick, some, serials = rng.choice, rng.randint, itertools.count(1)
    makes = [
        lambda t: ("syscall", {"task": t, "nr": some(0, 4), "abi": "native", "duration": some(1, 3 * MS),
                               "ret": pick([0, 7, -2])}),
        lambda t: ("block_io", {"task": t, "submitter": t, "pid": t.split("/")[1], "op": pick(["read", "write"]),
                                "flags": pick(["0x0", "0x800"]), "error": pick([0, 0, 5]), "bytes": 512 * some(1, 9),
                                "merges": some(0, 2), "requeues": some(0, 1), "duration": some(400000, 2 * MS),
                                "inserted": 300000, "device": 200000, "waited": some(0, 100), "dirtied": 0,
                                "cause": pick(["submitter", "dirtier", "unknown"])}),
        lambda t: ("fault", {"task": t, "kind": pick(["minor", "major"]), "duration": some(100, 90000),
                             "silent_minor": some(0, 3), "silent_major": 0, "user": some(0, 1),
                             "access": pick(["read", "write"]), "ustack": "-"}),
        lambda t: ("page_cache", {"task": t, "kind": pick(["read", "dirty", "add"]), "index": some(0, 99),
                                  "pages": some(1, 4)}),
        lambda t: ("lock_wait", {"task": t, "address": hex(some(1, 3)), "flags": pick(["0x1", "0x2"]), "ret": 0,
                                 "duration": some(1000, MS), "ustack": "-"}),
        lambda t: ("futex_wait", {"task": t, "op": "wait", "shared": 0, "address": hex(4096 * some(1, 3)),
                                  "duration": some(1000, MS), "ret": pick([0, -110]), "slept": 1, "waker": pick(tasks),
                                  "owner": "-", "inode": 0, "dev_major": 0, "dev_minor": 0,
                                  "ustack": "-"}),
        lambda t: ("net_transfer", {"task": t, "cookie": some(1, 5), "bytes": some(1, 9000),
                                    "direction": pick(["send", "receive"])}),
        lambda t: ("net_packet", {"task": t, "cookie": some(1, 5), "queue": some(0, 5000), "ifindex": some(1, 2),
                                  "length": some(60, 1500), "direction": pick(["send", "receive"]),
                                  "segments": some(1, 3)}),
        lambda t: ("net_connection", {"task": t, "cookie": next(serials), "latency": some(0, 900), "error": 0,
                                      "kind": pick(["connect", "accept"])}),
        lambda t: ("oom_kill", {"task": t, "victim": pick(tasks)}),
        lambda t: ("net_retransmit", {"task": t, "cookie": some(1, 5), "kind": pick(["segment", "SYN-ACK"])}),
        lambda t: ("net_reset", {"task": t, "cookie": some(1, 5), "direction": pick(["send", "receive"])}),
        lambda t: ("kmem_alloc", {"task": t, "address": hex(0xffff888100000000 + 64 * some(0, 99)), "rate": 0,
                                  "requested": some(20, 32), "kstack": "-", "ustack": "-"}),
        lambda t: ("kmem_free", {"task": t, "address": hex(0xffff888100000000 + 64 * some(0, 99))}),
        lambda t: ("page_alloc", {"task": t, "page": 16 * some(1, 99), "order": some(0, 2), "rate": 0, "kstack": "-",
                                  "ustack": "-"}),
        lambda t: ("page_free", {"task": t, "page": 16 * some(1, 99), "order": some(0, 2)}),
        lambda t: ("dbus_message", {"serial": next(serials), "kind": pick(["call", "signal"]), "no_reply": 0,
                                    "reply_serial": 0, "size": some(80, 900), "sender": '":1.7"',
                                    "member": pick(['"Do"', '"Undo"'])}),
        lambda t: ("dbus_message", {"serial": 0, "reply_serial": some(1, 200), "kind": pick(["return", "error"]),
                                    "sender": '":1.8"', "destination": '":1.7"', "size": some(80, 900)}),
        lambda t: ("irq", {"task": t, "kind": pick(["soft", "local_timer"]), "number": some(0, 3), "duration": 9000,
                           "self": some(100, 9000), "delay": some(0, 500), "handled": 1, "depth": 0}),
        lambda t: ("timer", {"task": t, "function": hex(0xffffffff81000010 + 16 * some(0, 3)), "duration": 5000,
                             "self": some(10, 5000)}),
        lambda t: ("work", {"task": t, "function": hex(0xffffffff81000010 + 16 * some(0, 3)),
                            "duration": some(10, 9000)}),
        lambda t: ("counter", {"counter": 1, "value": None}),
    ]
    value = 0
    for time in sorted(rng.randrange(5 * MS, span) for _ in range(n)):
        table, fields = pick(makes)(pick(tasks))
        if table == "counter":
            value += some(0, 50)
            fields["value"] = value
        yield time, f"{table} {filled(rows[table], cpu=some(0, 1), **fields)}"


def made_trace(ebtgen, kinds, seed, directory):
    rng, span = random.Random(seed), 700 * MS
    tasks = sorted(set(re.findall(r' task=(\d+/\d+/\d+/"[^"]*")', "\n".join(traces.work(ns=50 * MS, seed=seed)))))
    extra = [(0, f"{table} {templates(kinds)[table]}") for table in ("counter_def", "dbus_bus")]
    extra += other_rows(kinds, tasks, rng, 3000, span)
    text, path = os.path.join(directory, "made.txt"), os.path.join(directory, f"made{seed}.ebt")
    traces.write(text, traces.work(ns=span, seed=seed, extra=extra))
    subprocess.run([ebtgen, text, path], check=True)
    return path


# --- tables ---

def run(ebreport, *words):
    done = subprocess.run([ebreport, *words], capture_output=True, check=False, timeout=300,
                          env={**os.environ, "DEBUGINFOD_URLS": ""})
    if done.returncode:
        fail(" ".join(words), f"status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def page_of(ebreport, path, directory, filters):
    page = os.path.join(directory, "page.html")
    run(ebreport, "html", "-f", "-o", page, *filters, path)
    with open(page, encoding="utf-8") as file:
        return json.loads(Page(file.read()).section("tables").get("text", "[]"))


def key_of(columns, values, above):
    return above + (tuple(json.dumps(value) for column, value in zip(columns, values) if column["merge"] == "key"),)


def page_rows(table, rows):
    """By what each is of: the values by column."""
    found, path = {}, []
    for row in rows:
        depth = row[len(table["columns"])] if len(row) > len(table["columns"]) else 0
        del path[depth:]
        path.append(key_of(table["columns"], row, path[-1] if path else ()))
        if path[-1] in found:
            fail(f"{table['command']} {table['key']}", f"two rows of {path[-1]}")
        found[path[-1]] = {column["key"]: value for column, value in zip(table["columns"], row)}
    return found


def bucket_of(value):
    """Its number, and the middle of it: 64 to a power of two; see report/base/histogram.h."""
    octave = max(value.bit_length() - 6, 0)
    return 64 * octave + (value >> octave - 1) - 64 if octave else value


def middle_of(bucket):
    octave, place = divmod(bucket, 64)
    return (64 + place << octave - 1) + (1 << octave - 1 >> 1) if octave else place


def percentile(spreads, percent):
    """Of the values of some slices; each a list of values, or -1, least, largest, sum and buckets."""
    few = sorted(value for spread in spreads if spread[0] >= 0 for value in spread)
    packed = [spread for spread in spreads if spread[0] < 0]
    counts = collections.Counter(bucket_of(value) for value in few)
    for spread in packed:
        for bucket, n in zip(itertools.accumulate(spread[4::2]), spread[5::2]):
            counts[bucket] += n
    least, largest = min(few[:1] + [s[1] for s in packed]), max(few[-1:] + [s[2] for s in packed])
    total = sum(counts.values())
    rank = max(math.ceil(percent * total / 100 - 1e-6), 1)
    if rank == total:
        return largest
    if total <= 8:
        return few[rank - 1]
    for bucket, so_far in zip(sorted(counts), itertools.accumulate(counts[bucket] for bucket in sorted(counts))):
        if so_far >= rank:
            return min(max(middle_of(bucket), least), largest)
    raise AssertionError("no such rank")


def average(spreads):
    values = [value for spread in spreads if spread[0] >= 0 for value in spread]
    packed = [spread for spread in spreads if spread[0] < 0]
    return (sum(values) + sum(s[3] for s in packed)) // (len(values) + sum(sum(s[5::2]) for s in packed))


MERGES = {"sum": lambda a, b: a + b, "max": max, "min": min, "last": lambda a, b: b, "spread": lambda a, b: a + b}


def merge_row(columns, into, row):
    for column in columns:
        name, merge = column["key"], column["merge"]
        if merge not in ("at", "last_at") or row[column["of"]] is None:
            continue
        new, old = row[column["of"]], into[column["of"]]
        if old is None or new > old or (merge == "last_at" and new == old):
            into[name] = row[name]
    for column in columns:
        name, merge, value = column["key"], column["merge"], row[column["key"]]
        if merge in MERGES and value is not None:
            value = [value] if merge == "spread" else value
            into[name] = value if into[name] is None else MERGES[merge](into[name], value)


def total_of(row, keys):
    values = [row[key] for key in keys.split()]
    return None if None in values else sum(values)


def made(column, row, rows, ns):
    """A column that is made of others."""
    merge, of = column["merge"], column.get("of")
    whole = {"percent": lambda x: 100 * x, "float": lambda x: x}.get(column["type"], math.floor)
    if merge == "spread":
        return row[column["key"]] and percentile(row[column["key"]], column["percent"])
    if merge == "percentile":
        return row[of] and percentile(row[of], column["percent"])
    if merge == "mean" and "by" not in column:
        return row[of] and average(row[of])
    if merge == "mean":
        by = total_of(row, column["by"])
    elif merge == "share":
        by = sum(total_of(one, of) or 0 for key, one in rows.items() if len(key) == 1)
    else:
        by = ns if column["type"] == "percent" else ns / 1e9
    of = total_of(row, of)
    return None if of is None or not by else whole(of / by)


def rows_of_slice(table, part):
    """By key; null is what slices do not have."""
    columns = table["columns"]
    valued = [column["key"] for column in columns if column["merge"] in (*MERGES, "at", "last_at")]
    keys = list(page_rows(table, table["rows"]).items())
    for number, *values in part["rows"]:
        if len(values) != len(valued):
            fail(table["command"], f"{len(values)} values of {valued}")
        key, whole = keys[number]
        yield key, {column["key"]: whole[column["key"]] if column["merge"] == "key" else None
                    for column in columns} | dict(zip(valued, values))


def merged_rows(table, slices):
    rows, columns = {}, table["columns"]
    for part in slices:
        for key, row in rows_of_slice(table, part):
            into = rows.setdefault(key, {column["key"]: row[column["key"]] if column["merge"] == "key" else None
                                         for column in columns})
            merge_row(columns, into, row)
    ns = slices[-1]["to_ns"] - slices[0]["from_ns"]
    makes = [column for column in columns if column["merge"] in ("spread", "percentile", "mean", "share", "rate")]
    finished = {key: dict(row) for key, row in rows.items()}
    for key, row in rows.items():
        for column in makes:
            finished[key][column["key"]] = made(column, row, rows, ns)
    return finished


def is_same(merged, wanted, exact):
    if merged is None or wanted is None:
        return merged == wanted or (merged is None and not exact)
    if isinstance(merged, float) and wanted and float(f"{wanted:.6g}") == wanted:
        # JSON has six digits of it.
        return abs(merged - wanted) <= 0.501 * 10 ** (math.floor(math.log10(abs(wanted))) - 5)
    if isinstance(merged, float) or isinstance(wanted, float):
        return abs(merged - wanted) <= 1e-6 * max(abs(merged), abs(wanted))
    return merged == wanted


def flatten(rows, above=()):
    """Each row with those that it stands below."""
    for row in rows:
        yield row, above
        for value in row.values():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                yield from flatten(value, (*above, row))


def compare_rows(what, table, merged, rows, exact):
    """With those of the command: JSON leaves null out, and columns for terminals."""
    in_json = {key for row, _ in rows for key in row}
    keys = [column["key"] for column in table["columns"] if column["merge"] == "key"]
    places = [i for i, key in enumerate(keys) if key in in_json]
    wanted = {tuple(tuple(json.dumps(one.get(keys[i])) for i in places) for one in (*above, row)): row
              for row, above in rows}
    if table.get("left_out"):
        known = {tuple(tuple(level[i] for i in places) for level in key) for key in page_rows(table, table["rows"])}
        wanted = {key: row for key, row in wanted.items() if key in known}
    got = {tuple(tuple(level[i] for i in places) for level in key): row for key, row in merged.items()}
    if set(wanted) != set(got):
        fail(what, f"only in the page: {sorted(set(got) - set(wanted))[:3]}, "
                   f"only in JSON: {sorted(set(wanted) - set(got))[:3]}")
    for key, row in wanted.items():
        for column in table["columns"]:
            name = column["key"]
            if column["merge"] not in (None, "key") and key in got and \
                    not is_same(got[key][name], row.get(name), exact) and \
                    not (column["merge"] == "share" and table.get("left_out")):  # of all rows
                fail(what, f"{name} of {key} is {got[key][name]} in the page, {row.get(name)} in JSON")


def check_whole(what, table, rows):
    flat = [row for row, _ in flatten(rows)]
    if len(flat) != len(table["rows"]) + table.get("left_out", 0):
        fail(what, f"{len(table['rows'])} rows in the page, {len(flat)} in JSON")
    if table.get("left_out"):
        return
    for values, row in zip(table["rows"], flat):
        for column, value in zip(table["columns"], values):
            if column["key"] in row and row[column["key"]] != value:
                fail(what, f"{column['key']} is {value} in the page, {row[column['key']]} in JSON")


def is_within(columns, values, first, last):
    """Does a row of one thing belong to that time? As tables say: from when on it is, and until when."""
    begin = next(value for column, value in zip(columns, values) if column.get("time") == "begin")
    ends = [(column, value) for column, value in zip(columns, values) if column.get("time") == "end"]
    begin = -1 if begin is None else begin
    if begin >= first or not begin < last:
        return begin < last
    column, end = ends[0] if ends else ({"type": "duration"}, None)
    if column["type"] == "time":
        return end is None or end >= first
    return end is not None and begin + end > first


def check_times(ebreport, path, what, table, rng, span, filters):
    """Rows of one thing each are in parts of the time as they are in the whole."""
    columns, seen = table["columns"], 0
    for _ in range(4):
        first, last = sorted(rng.randrange(span) for _ in range(2))
        times = [f"--from={first}ns", f"--to={last}ns"]
        document = json.loads(run(ebreport, *table["command"].split(), "--json", *filters, *times, path))
        wanted = list(document.get(table["key"], []))
        got = [{column["key"]: value for column, value in zip(columns, row)}
               for row in table["rows"] if is_within(columns, row, first, last)]
        if len(wanted) != len(got):
            fail(" ".join([what, *times]), f"{len(got)} rows in the page, {len(wanted)} in JSON")
        for page, command in zip(got, wanted):
            for name in page.keys() & command.keys():
                if page[name] != command[name]:
                    fail(" ".join([what, *times]), f"{name} is {page[name]} in the page, {command[name]} in JSON")
        seen += len(got)
    return seen


def check_slices(ebreport, path, what, table, rng, exact, filters):
    """exact: no figure is left out, as where rows were lost."""
    slices, columns = table["slices"], table["columns"]
    whole, merged = page_rows(table, table["rows"]), merged_rows(table, slices)
    if set(whole) != set(merged):
        fail(what, f"{len(whole)} rows of the whole, {len(merged)} of slices")
    for key, row in whole.items():
        for column in columns:
            if column["merge"] not in (None, "key") and key in merged and \
                    not is_same(merged[key][column["key"]], row[column["key"]], exact) and \
                    not (column["merge"] == "share" and table.get("left_out")):
                fail(what, f"{column['key']} of {key} is {merged[key][column['key']]} in all slices, "
                           f"{row[column['key']]} in the whole")
    for _ in range(3):
        first = rng.randrange(len(slices) - 1)
        last = rng.randrange(first, len(slices) - 1)  # the last one has what is at the very end
        times = [f"--from={slices[first]['from_ns']}ns", f"--to={slices[last]['to_ns']}ns"]
        document = json.loads(run(ebreport, *table["command"].split(), "--json", *filters, *times, path))
        compare_rows(" ".join([what, *times]), table, merged_rows(table, slices[first:last + 1]),
                     list(flatten(document.get(table["key"], []))), exact)


def check(ebreport, path, directory, rng, exact=False, filters=()):
    """Of which tables there were slices, or rows that have a time."""
    sliced, timed = set(), set()
    span = json.loads(run(ebreport, "info", "--json", path))["duration_ns"]
    for table in page_of(ebreport, path, directory, filters):
        name = (table["command"], table["key"])
        what = " ".join([*name, *filters, "of", os.path.basename(path)])
        document = json.loads(run(ebreport, *table["command"].split(), "--json", *filters, path))
        if table["key"] in document:  # else only the page has it, of all processes
            check_whole(what, table, document[table["key"]])
        if table["window_only"] == ("slices" in table):
            fail(what, "window_only")
        if any(column.get("time") for column in table["columns"]) and table["key"] in document and \
                not table.get("left_out") and not filters and span < 2 ** 53:  # what a page can have
            timed.add(name)
            if not check_times(ebreport, path, what, table, rng, span, filters) and exact:
                fail(what, "no rows in parts of the time")
        if len(table.get("slices", [])) > 1:
            sliced.add(name)
            check_slices(ebreport, path, what, table, rng, exact, filters)
    return sliced | timed


def main():
    ebtgen, ebreport, kinds, *paths = sys.argv[1:]
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as directory:
        for seed in 1, 2:
            path = made_trace(ebtgen, kinds, seed, directory)
            missing = SLICED - check(ebreport, path, directory, rng, exact=True)
            check(ebreport, path, directory, rng, exact=True, filters=["--from", "101ms", "--to", "600ms"])
            check(ebreport, path, directory, rng, exact=True, filters=["--pid", "100"])
            if missing:
                fail(f"made{seed}", f"no slices of {sorted(missing)}")
        for path in paths:
            if path.endswith(".txt"):
                text, path = path, os.path.join(directory, os.path.basename(path)[:-4] + ".ebt")
                subprocess.run([ebtgen, text, path], check=True)
            check(ebreport, path, directory, rng)
    return status()


if __name__ == "__main__":
    sys.exit(main())

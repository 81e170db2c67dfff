#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command on every fixture: JSON and CSV that Python's own readers take, text that is tame.

    check_report.py EBTGEN EBREPORT FIXTURE…

The names in the fixtures are hostile. CSV must have the rows and the values of JSON; text for a
terminal must have no control characters; a damaged file must give 0 or 1, never a signal. Exit
status: 0; 1 with what is wrong on standard error.
"""

import csv
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
from failed import fail, status  # noqa: E402

# command, options, name of the JSON array that CSV shows (None: no tables)
RUNS = [
    ("overview", [], "rows"),
    ("why", [], "rows"),
    ("why", ["--path"], "rows"),
    ("why", ["--tree"], "rows"),
    ("why", ["--opportunities"], "rows"),
    ("why", ["--what-if", "cpus=3"], "rows"),
    ("info", [], "rows"),
    ("info", ["--all"], "rows"),
    ("sql", [], "rows"),
    ("dump", [], None),
    ("dump", ["--schema"], "rows"),
    ("syscalls", [], "rows"),
    ("syscalls", ["--by", "process"], "rows"),
    ("syscalls", ["--by", "thread,error", "--errors"], "rows"),
    ("syscalls", ["--by", "cgroup,call"], "rows"),
    ("syscalls", ["--trace"], "rows"),
    ("io", [], "rows"),
    ("io", ["--by", "filesystem,device,directory"], "rows"),
    ("io", ["--missing"], "rows"),
    ("io", ["--leaks"], "rows"),
    ("io", ["--open", "100%"], "rows"),
    ("io", ["--shared"], "rows"),
    ("io", ["--peers", "--by", "program"], "rows"),
    ("sched", [], "rows"),
    ("sched", ["--by", "process", "--all"], "rows"),
    ("sched", ["--by", "user,program"], "rows"),
    ("sched", ["--tree"], "rows"),
    ("offcpu", [], "rows"),
    ("offcpu", ["--by", "process,state,waker"], "rows"),
    ("procs", [], "rows"),
    ("procs", ["--tree", "--all"], "rows"),
    ("procs", ["--threads"], "rows"),
    ("net", ["--histogram"], "rows"),
    ("net", ["--by", "thread"], "rows"),
    ("net", ["--trace"], "rows"),
    ("marks", [], "rows"),
    ("marks", ["--sort", "duration"], "rows"),
    ("marks", ["--summary"], "rows"),
    ("marks", ["--series", "*", "--expect", "1ms"], "rows"),
    ("block", ["--depth", "--histogram"], "rows"),
    ("block", ["--by", "device", "--depth"], "rows"),
    ("block", ["--trace"], "rows"),
    ("logs", [], "rows"),
    ("logs", ["--severity", "notice", "--origin", "journal", "--grep", "q|x"], "rows"),
    ("faults", [], "rows"),
    ("cache", [], "rows"),
    ("mem", ["--by", "cache"], "rows"),
    ("mem", ["--by", "thread,stack"], "rows"),
    ("cache", ["--by", "thread"], "rows"),
    ("cache", ["--by", "process,file"], "rows"),
    ("oom", [], "rows"),
    ("threads", [], "rows"),
    ("threads", ["--at", "end", "--all"], "rows"),
    ("faults", ["--by", "mapping"], "rows"),
    ("marks", ["--waterfall"], "rows"),
    ("marks", ["--around", "*"], "rows"),
    ("marks", ["--around", "*", "--slowest", "5", "--around-scope", "system"], "rows"),
    ("callgraph", [], "rows"),
    ("callgraph", ["--event", "fault"], "rows"),
    ("callgraph", ["--event", "futex_wait", "--weight", "rows"], "rows"),
    ("callgraph", ["--categories", "--by", "program", "--threads"], "rows"),
]
# What stands behind FILE.
BEHIND = {"sql": ["""
SELECT ts, tid, comm, nr AS number, syscall_name(nr, abi) AS text, pid FROM syscall JOIN (SELECT 1) ON pid > 0
UNION ALL SELECT ts, next_tid, next_comm, cpu, NULL, next_pid FROM sched_switch WHERE ts >= 0
UNION ALL SELECT ts, tid, comm, period, frames(kstack) || frames(ustack), pid FROM sample
UNION ALL SELECT ts, wakee_tid, wakee_comm, waker, kind, wakee_pid FROM sched_waking WHERE wakee_pid IN (1, 300)
UNION ALL SELECT ts, tid, comm, duration, name || message, NULL FROM mark
UNION ALL SELECT ts, NULL, NULL, realtime, moment, 0.5 FROM clock
UNION ALL SELECT ts, NULL, NULL, content, hex(content), NULL FROM file_data
UNION ALL SELECT ts, NULL, NULL, NULL, key || value, NULL FROM meta ORDER BY pid, 1"""]}
# Other outputs of commands, which have to know what columns there are, too.
OTHERS = [
    ("block", ["--stacks"]),
    ("dump", ["--table", "thread"]),
    ("faults", ["--stacks"]),
    ("info", ["--frames"]),
    ("info", ["--verify"]),
    ("locks", ["--stacks"]),
    ("mem", ["--stacks"]),
    ("offcpu", ["--stacks"]),
]
FILTERS = [
    [], ["--pid", "300"], ["--comm", "<*"], ["--cpu", "0-1"], ["--from", "1us"], ["--to", "50%"],
    ["--top", "1"],
]


def run(ebreport, *words):
    return subprocess.run([ebreport, *words], capture_output=True, check=False, timeout=300,
                          env={**os.environ, "DEBUGINFOD_URLS": ""})


TIMES = ("time_ns", "begin_ns", "end_ns", "from_ns", "to_ns")


def flatten(rows, depth=0):
    """Rows with their depths, those that are nested and those that name their parent."""
    depths = []
    for row in rows:
        depths.append(depths[row["parent"]] + 1 if depths and "parent" in row else depth)
        yield depths[-1], row
        for value in row.values():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                yield from flatten(value, depth + 1)


def expected_cell(name, value, start):
    """As CSV has a value of JSON: None where it cannot be compared. CSV has times as they are."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value + start if name in TIMES or name.endswith("_at_ns") else value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        text = " ".join(value)
        return text if text.isascii() and text.isprintable() and text[:1] not in "=+-@" else None
    return None


def compare(what, document, key, text):
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    flat = list(flatten(document.get(key, [])))
    if len(rows) != len(flat):
        fail(what, f"{len(rows)} rows in CSV, {len(flat)} in JSON")
        return
    for cells, (depth, row) in zip(rows, flat):
        if "depth" in cells and int(cells["depth"]) != depth:
            fail(what, f"depth {cells['depth']} in CSV, {depth} in JSON")
        for name, value in row.items():
            expected = expected_cell(name, value, int(document["start_ns"]))
            if name in cells and expected is not None and cells[name] != expected:
                fail(what, f"{name} is {cells[name]} in CSV, {expected} in JSON")
        for name, cell in cells.items():
            number = isinstance(row.get(name), int) or re.fullmatch("-[0-9]+", cell)
            if cell and cell[0] in "=+@" or cell[:1] == "-" and not number:
                fail(what, f"{name}: {cell!r} is a formula")


def check_json(what, text):
    try:
        document = json.loads(text)
    except ValueError as e:
        fail(what, f"not JSON: {e}")
        return None
    for key in ("command", "version", "file", "start_ns", "duration_ns", "lost"):
        if key not in document:
            fail(what, f"no '{key}' in JSON")
    if any(c in text for c in "<>&"):
        fail(what, "JSON that cannot stand inside HTML")
    return document


def check_text(what, data):
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        fail(what, f"not UTF-8: {e}")
        return
    bad = [c for c in text if ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160]
    if bad:
        fail(what, f"control characters {bad[:5]}")


def takes(ebreport, command, filters, known={}):
    """What its help leaves out, a command refuses."""
    if command not in known:
        known[command] = run(ebreport, command, "--help").stdout.decode()
    return not filters or re.search(rf" {filters[0]}\b", known[command])


def check_run(ebreport, path, command, options, key):
    words = [command, *options, path, *BEHIND.get(command, [])]
    what = " ".join(words)
    for form in ([], ["--json"], ["--csv"]):
        if form == ["--csv"] and key is None:
            continue
        done = run(ebreport, *words, *form)
        if done.returncode:
            fail(what, f"status {done.returncode}: {done.stderr.decode(errors='replace')}")
            return
        check_text(what + " (errors)", done.stderr)
        if not form:
            check_text(what, done.stdout)
        elif form == ["--json"]:
            document = check_json(what, done.stdout.decode())
        elif document:
            if "\n" in done.stdout.decode().replace("\r\n", ""):
                fail(what, "a line of CSV that does not end with CR LF")
            compare(what, document, key, done.stdout.decode())


def check_strangers(ebreport, path):
    """Nobody that the filters let pass: every command says so."""
    name = os.path.basename(path)
    without_tables = [(command, [], None) for command in ("folded", "locks", "summary", "wall")]
    for command, options, _ in RUNS + without_tables:
        for filters in (["--pid", "4000000000"], ["--tid", "4000000000", "--comm", "*"]):
            if command in BEHIND:
                continue  # takes no filters
            what = f"{command} {' '.join(options + filters)} on {name}"
            done = run(ebreport, command, *options, *filters, path)
            named = " ".join(f for f in filters if f.startswith("--"))
            if f"no thread that was recorded passes {named}\n" not in done.stderr.decode():
                fail(what, f"no word of it: {done.stderr.decode()!r}")
            if b"--all shows them" in done.stdout:
                fail(what, "some are not shown")
        done = run(ebreport, command, *options, "--comm", "*", path)
        if b"no thread that" in done.stderr:
            fail(f"{command} --comm * on {name}", "there are threads")


def commands(ebreport):
    text = run(ebreport, "--help").stdout.decode()
    return re.findall(r"(?m)^  ([a-z]+) +\S", text[text.index("\nCommands:"):text.index("\nOptions")])


def check_no_such_column(ebreport, path, directory):
    """Each command refuses to sort by, and to show, what it does not have. Of --columns a text that
    is no table may say that instead."""
    runs = [(command, []) for command in commands(ebreport)]
    runs += [run[:2] for run in RUNS if run[1]] + OTHERS
    for command, options in runs:
        words = [command, *options, path, *BEHIND.get(command, [])]
        if command == "diff":
            words.append(path)
        if re.search(r" -o\b", run(ebreport, command, "--help").stdout.decode()):
            words += ["-o", os.path.join(directory, "out.ebt"), "--force"]
        for option in ("--sort", "--columns"):
            for form in ([], ["--json"], ["--csv"]):
                done = run(ebreport, *words, option, "nonsense", *form)
                told = (option == "--columns" and not form and not done.returncode and
                        b"--columns: there is no table in this output" in done.stderr)
                if done.returncode != 2 and not told:
                    fail(" ".join([*words, option, "nonsense", *form]),
                         f"status {done.returncode}: {done.stderr.decode()!r}")


def check_damaged(ebreport, path, directory, rounds):
    """Random bytes changed: whatever comes out, it is JSON, or an error."""
    with open(path, "rb") as f:
        whole = f.read()
    rng = random.Random(1)
    broken = os.path.join(directory, "broken.ebt")
    for _ in range(rounds):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with open(broken, "wb") as f:
            f.write(data[:rng.randint(1, len(data))] if rng.random() < 0.3 else data)
        command, options, _ = rng.choice(RUNS)
        done = run(ebreport, command, *options, "--json", broken, *BEHIND.get(command, []))
        if done.returncode not in (0, 1):
            fail(f"{command} on a damaged {os.path.basename(path)}", f"status {done.returncode}")
        elif done.returncode == 0:
            check_json(f"{command} on a damaged file", done.stdout.decode())


def main():
    ebtgen, ebreport, *fixtures = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        for fixture in fixtures:
            path = fixture
            if fixture.endswith(".txt"):
                path = os.path.join(directory, os.path.basename(fixture)[:-4] + ".ebt")
                subprocess.run([ebtgen, fixture, path], check=True)
            for command, options, key in RUNS:
                for filters in filter(lambda f: takes(ebreport, command, f), FILTERS):
                    check_run(ebreport, path, command, options + filters, key)
            check_strangers(ebreport, path)
            check_damaged(ebreport, path, directory, 60)
        # It is the same of each.
        check_no_such_column(ebreport, path, directory)
    return status()


if __name__ == "__main__":
    sys.exit(main())

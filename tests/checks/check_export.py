#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport export` beside the reader in Python: every row and value, and what is missing.

    check_export.py EBTGEN EBREPORT SCHEMA FIXTURE.txt…

Files are exported whole, cut, with a bad byte, and without a chunk. Lines have to fit the
schema and be numbered without a hole; rows have to be those that ebtdump.py finds, in order; and what
is missing has to be told. Exit status: 0; 1 with what is wrong on standard error.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import jsonschema

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import ebtdump  # noqa: E402, pylint: disable=wrong-import-position

failed = 0


def check(condition, what):
    global failed
    if not condition:
        print("FAILED:", what, file=sys.stderr)
        failed += 1


def text(data):
    """As JSON has bytes: what is not UTF-8 is U+FFFD."""
    out, i = [], 0
    while i < len(data):
        n = ebtdump.utf8_length(data, i)
        out.append(data[i : i + n].decode() if n else "\ufffd")
        i += n or 1
    return "".join(out)


def expected_value(field, value):
    if field.type == ebtdump.HEX:
        return f"{value:#x}"
    if field.type == ebtdump.ENUM and value in field.values:
        return text(field.values[value])
    if field.type == ebtdump.TASK and value:
        return dict(zip(("tid", "pid", "begin_ns", "comm"), (*value[:3], text(value[3]))))
    if field.type == ebtdump.STACK and value:
        return {"kind": "user" if value[0] & 1 else "kernel", "truncated": bool(value[0] & 2),
                "addresses": [f"{address:#x}" for address in value[1]]}
    if field.type == ebtdump.STRING:
        return text(value)
    if field.type == ebtdump.BYTES:
        return value.hex()
    return value


def expected_rows(data):
    """(table, time, list of values) of each row in order, by the other reader; rows of `lost`."""
    chunks = ebtdump.read_file(data)
    tables = ebtdump.read_schema(chunks)
    rows = []
    for chunk, payload in chunks:
        table = tables.get(chunk.table_id)
        if table is None:
            continue
        fields = [f for f in table.fields.values() if f.id != 1]
        columns = [[payload.value(f.type, v) for v in payload.column(f.id, chunk.rows)]
                   for f in fields]
        for i, time in enumerate(payload.column(1, chunk.rows)):
            first = table.table_class == ebtdump.META and table.name != "lost"
            order = (0, chunk.table_id, time) if first else (1, time, chunk.table_id)
            values = [expected_value(f, column[i]) for f, column in zip(fields, columns)]
            rows.append((order, chunk.offset, i, (table.name, time, values)))
    rows.sort(key=lambda row: row[:3])
    rows = [row[-1] for row in rows]
    return ([row for row in rows if row[0] != "lost"], [row for row in rows if row[0] == "lost"])


def absolute(lines):
    """The lines with times as they are in the file and numbers as numbers, for comparing."""
    start, types = 0, {}
    for line in lines:
        line = json.loads(json.dumps(line))
        if line["kind"] == "header":
            start = int(line["start_ns"])
        if line["kind"] == "table":
            types[line["table"]] = {c["name"]: c["type"] for c in line["columns"]}
        for key in ("time_ns", "from_ns", "to_ns"):
            if key in line:
                line[key] += start
        for key, value in line.get("values", {}).items():
            kind = types[line["table"]][key]
            if isinstance(value, str) and kind in ("u64", "i64", "time"):
                line["values"][key] = int(value)
            elif kind == "time":
                line["values"][key] += start
            elif kind == "task" and value:
                value["begin_ns"] += start
        yield line


def gaps(lines):
    """What a receiver does: numbers that did not arrive."""
    numbers = [line["seq"] for line in lines]
    return sorted(set(range(max(numbers) + 1)) - set(numbers))


class Export:
    def __init__(self, ebreport, schema):
        self.ebreport, self.schema = ebreport, schema

    def lines(self, what, path, *options, full=False):
        done = subprocess.run([self.ebreport, "export", *options, path], capture_output=True,
                              check=False, timeout=300)
        check(done.returncode == 0, f"{what}: status {done.returncode}: {done.stderr}")
        lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
        # The schema takes its time: rows of damaged files are compared, which says more.
        for line in lines if full else [line for line in lines if line["kind"] != "row"]:
            error = jsonschema.exceptions.best_match(self.schema.iter_errors(line))
            check(error is None, f"{what}: {line}: {error}")
        check(not gaps(lines), f"{what}: numbers of lines")
        check([line["kind"] for line in lines].count("end") == 1 and lines[-1]["kind"] == "end",
              f"{what}: ends with the end")
        return lines

    def compare(self, what, path, full=False):
        """Rows and losses are those of the other reader; returns the lines."""
        lines = self.lines(what, path, full=full)
        with open(path, "rb") as f:
            rows, lost = expected_rows(f.read())
        lines = list(absolute(lines))
        have = [(line["table"], line["time_ns"], list(line["values"].values()))
                for line in lines if line["kind"] == "row"]
        check(have == rows, f"{what}: rows differ")
        if have != rows:
            for a, b in zip(have, rows):
                if a != b:
                    print(a, b, sep="\n", file=sys.stderr)
                    break
            print(len(have), len(rows), file=sys.stderr)
        told = [line for line in lines if line["kind"] == "lost" and "source" in line]
        check([(line["to_ns"], line["from_ns"], line["count"]) for line in told]
              == [(time, values[0], values[1]) for _, time, values in lost],
              f"{what}: losses differ")
        check(lines[-1]["rows"] == len(rows), f"{what}: sum of rows")
        counts = sum(line["count"] or 0 for line in lines if line["kind"] == "lost")
        check(lines[-1]["lost"] == min(counts, 2**64 - 1), f"{what}: sum of losses")
        return lines


def check_whole(export, name, path):
    lines = export.compare(name, path, full=True)
    check(lines[0]["kind"] == "header", f"{name}: begins with the header")
    check(lines[-1]["complete"] and not lines[-1]["why"], f"{name}: complete")
    columns = {line["table"]: [c["name"] for c in line["columns"]]
               for line in lines if line["kind"] == "table"}
    for line in lines:
        if line["kind"] == "row":
            check(list(line["values"]) == columns[line["table"]], f"{name}: columns of {line}")
    # A receiver that misses a line knows which.
    check(gaps(lines[:3] + lines[5:]) == [3, 4], f"{name}: a hole is seen")
    export.lines(name, path, "--symbols", full=True)
    batches = export.lines(name, path, "--batch", "2")
    check(any(line["kind"] == "batch" and line["rows"] == 2 for line in batches),
          f"{name}: batches")
    some = export.lines(name, path, "--table", "sample", "--pid", "300")
    check({line["table"] for line in some if line["kind"] == "row"} <= {"sample"},
          f"{name}: only one table")
    check(some[0]["filtered"] and not lines[0]["filtered"], f"{name}: says that it is filtered")


def rows_of(lines):
    return sum(line["kind"] == "row" for line in lines)


def check_damaged(export, name, path, folder):
    with open(path, "rb") as f:
        data = f.read()
    whole = rows_of(export.lines(name, path))
    chunks = [chunk for chunk in ebtdump.scan(data)
              if chunk.table_id > ebtdump.INDEX and chunk.rows and chunk.type == ebtdump.TYPE_TABLE]
    bad = os.path.join(folder, "bad.ebt")

    def export_bytes(what, content):
        with open(bad, "wb") as f:
            f.write(content)
        lines = export.compare(f"{name} {what}", bad)
        check(not lines[-1]["complete"] and lines[-1]["why"], f"{name} {what}: not complete")
        return lines

    for chunk in chunks[:: len(chunks) // 24 + 1]:
        # A byte of the payload: the chunk's head still says what is missing.
        at = chunk.offset + chunk.header_len
        content = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        lines = export_bytes(f"with a bad byte at {at}", content)
        told = [line for line in lines if line["kind"] == "lost"
                and line["reason"] == "damaged file"]
        check(len(told) == 1 and told[0]["offset"] == chunk.offset
              and told[0]["count"] == chunk.rows, f"{name}: bad chunk at {chunk.offset}: {told}")
        check(rows_of(lines) + chunk.rows >= whole, f"{name}: only that chunk is missing")
        check((told[0]["from_ns"], told[0]["to_ns"]) == (chunk.time_min, chunk.time_max),
              f"{name}: when it was")
    for chunk in chunks[:: len(chunks) // 8 + 1]:
        lines = export_bytes(f"without the chunk at {chunk.offset}",
                             data[: chunk.offset] + data[chunk.next :])
        check(any(line["kind"] == "lost" and line["count"] is None for line in lines),
              f"{name}: a hole in the file is told")
        lines = export_bytes(f"cut at {chunk.next}", data[: chunk.next])
        export_bytes(f"cut at {chunk.next - 1}", data[: chunk.next - 1])


def export_live(export, name, content, pieces, pause):
    """Lines that are written while the file comes through a pipe, piece by piece."""
    process = subprocess.Popen([export.ebreport, "export", "-"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    collected = []
    reader = threading.Thread(target=collected.extend, args=(process.stdout,))
    reader.start()
    first = 0
    for end in pieces + [len(content)]:
        process.stdin.write(content[first:end])
        process.stdin.flush()
        first = end
        time.sleep(pause)
    process.stdin.close()
    reader.join()
    process.stdout.close()
    check(process.wait(timeout=300) == 0, f"{name} live: status")
    return [json.loads(line) for line in collected]


def check_live(export, name, content, pieces):
    """The same rows, in order of time for those that have one; what has come is told before the rest
    comes, if that takes longer than ebreport needs to read it, which may be busy elsewhere."""
    with tempfile.NamedTemporaryFile(suffix=".ebt") as f:
        f.write(content)
        f.flush()
        whole = export.lines(name, f.name)
    for pause in 0.05, 1, 10:
        lines = export_live(export, name, content, pieces, pause)
        batches = [line["to_ns"] for line in lines if line["kind"] == "batch"]
        if len(batches) > (len(pieces) > 4):
            break
    check(not gaps(lines), f"{name} live: numbers of lines")
    check(lines[0]["live"] and not whole[0]["live"], f"{name} live: says so")
    # An index tells what a chunk with a bad head was; it is not looked for in a pipe.
    same = "head" not in name
    for key in ("rows", "complete", *(("lost", "why") if same else ())):
        check(lines[-1][key] == whole[-1][key], f"{name} live: {key} at the end: {lines[-1]}")

    lines, whole = list(absolute(lines)), list(absolute(whole))

    def as_texts(all_lines, kind):
        return [json.dumps({k: v for k, v in line.items() if k != "seq"})
                for line in all_lines if line["kind"] == kind]

    for kind in ("row", "lost") if same else ("row",):
        check(sorted(as_texts(lines, kind)) == sorted(as_texts(whole, kind)),
              f"{name} live: lines of kind {kind} differ")
    meta = {line["table"] for line in whole if line["kind"] == "table" and line["class"] == "meta"}
    timed = [[text for text, line in zip(as_texts(some, "row"),
                                         (line for line in some if line["kind"] == "row"))
              if line["table"] not in meta] for some in (lines, whole)]
    check(timed[0] == timed[1], f"{name} live: rows are in another order")
    check(len(batches) > (len(pieces) > 4) and batches == sorted(batches),
          f"{name} live: batches {batches}")


def check_late(export, name, content, end):
    """What was there before it came is told, though nothing else comes."""
    with subprocess.Popen([export.ebreport, "export", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        patience = threading.Timer(60, process.kill)
        patience.start()
        process.stdin.write(content[:end])
        process.stdin.flush()
        kinds = []
        for line in process.stdout:
            kinds.append(json.loads(line)["kind"])
            if kinds[-1] == "batch":
                break
        patience.cancel()
        check("row" in kinds and kinds[-1] == "batch", f"{name} late: {kinds[-1:]}")
        process.communicate(content[end:])
    check(process.returncode == 0, f"{name} late: status")


def check_lives(export, name, path):
    with open(path, "rb") as f:
        content = f.read()
    chunks = list(ebtdump.scan(content))
    some = [chunk for chunk in chunks if chunk.table_id > ebtdump.INDEX][:: len(chunks) // 8 + 1]
    ends = [chunk.next + d for chunk, d in zip(some, (0, 1, -1, 20, 0, 96, -8, 0, 0, 0))]
    check_live(export, name, content, ends)
    check_late(export, name, content, ends[-1])
    at = some[1].offset + some[1].header_len
    for what, changed in (
            ("payload", content[:at] + b"\x55" + content[at + 1 :]),
            ("head", content[: at - 8] + b"\x55" + content[at - 7 :]),
            ("cut", content[: some[-1].next - 3])):
        check_live(export, f"{name} {what}", changed, [end for end in ends[:3] if end < len(changed)])


def check_closed(export, path):
    """Nobody reads to the end: no crash, no message but that."""
    process = subprocess.Popen([export.ebreport, "export", path], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    process.stderr.read()
    process.stderr.close()
    check(process.wait(timeout=300) in (0, 1, -13), "a closed pipe")


def check_full(export, path):
    """Also where there is more than one buffer's worth, and the first write failed long ago."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([export.ebreport, "export", path], stdout=full,
                              stderr=subprocess.PIPE, check=False)
    check(done.returncode == 1 and b"No space left" in done.stderr, f"{path}: the disk is full")


def main(ebtgen, ebreport, schema, *fixtures):
    with open(schema, encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    export = Export(ebreport, jsonschema.Draft202012Validator(schema))
    with tempfile.TemporaryDirectory() as folder:
        for fixture in fixtures:
            name = os.path.basename(fixture)
            path = os.path.join(folder, name + ".ebt")
            subprocess.run([ebtgen, fixture, path], check=True)
            check_whole(export, name, path)
            check_damaged(export, name, path, folder)
            check_lives(export, name, path)
            check_full(export, path)
            check_closed(export, path)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

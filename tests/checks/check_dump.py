#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two readers, one text: `ebreport dump` and ebtdump.py agree on every fixture, whole and cut.

    check_dump.py EBTGEN EBREPORT FIXTURE…

A .txt fixture is first made into a file with EBTGEN, and its dump must be the text itself. An
.ebt fixture is read as it is. Exit status: 0; 1 with what differs on standard error.
"""

import contextlib
import difflib
import io
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import ebtdump  # noqa: E402, pylint: disable=wrong-import-position

MADE_BY_WRITER = ("schema", "schema_value", "index")
SCHEMA = (1, 2)  # ids of the first two


def run(*command):
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n"
                         + done.stderr.decode(errors="replace"))
    return done.stdout


def second_reader(path):
    """Text of the second reader. What it says of damage is not compared."""
    out = io.StringIO()
    with open(path, "rb") as f, contextlib.redirect_stderr(io.StringIO()):
        ebtdump.dump(f.read(), out)
    return out.getvalue().splitlines()


def differ(what, a, b):
    if a == b:
        return 0
    for line in list(difflib.unified_diff(a, b, lineterm=""))[:20]:
        print(line, file=sys.stderr)
    print(f"{what}: the dumps differ", file=sys.stderr)
    return 1


def lines(text):
    return text.decode().splitlines()


def compare(what, path, ebreport):
    """Number of differences, and the text that the second reader gives."""
    theirs = second_reader(path)
    return differ(what, theirs, lines(run(ebreport, "dump", path))), theirs


def chunk_ends(path):
    """Offsets at which chunks begin and end, from the dump of the index; those behind the schema,
    without which the second reader knows nothing and libebt what is compiled in."""
    ends = []
    for line in second_reader(path):
        words = line.split(" ")
        if words[1] == "index":
            row = dict(word.split("=", 1) for word in words[2:])
            begin = int(row["offset"])
            ends += [begin, begin + 96 + int(row["stored"])]
            if int(row["table_id"]) in SCHEMA:
                ends.clear()
    return ends[1:]  # the byte before the first may be the schema's


def compare_cut(name, path, folder, ebreport):
    """The readers agree too where the file ends early, at and around every border of a chunk."""
    with open(path, "rb") as f:
        data = f.read()
    failed = 0
    for end in sorted({e + d for e in chunk_ends(path) for d in (-1, 0, 1)}):
        cut = os.path.join(folder, "cut.ebt")
        with open(cut, "wb") as f:
            f.write(data[:end])
        failed += compare(f"{name} cut to {end} bytes", cut, ebreport)[0]
    return failed


def main(ebtgen, ebreport, *fixtures):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for fixture in fixtures:
            name, path = os.path.basename(fixture), fixture
            if fixture.endswith(".txt"):
                path = os.path.join(folder, name + ".ebt")
                run(ebtgen, fixture, path)
            difference, text = compare(name, path, ebreport)
            failed += difference
            if fixture.endswith(".txt"):
                with open(fixture, encoding="utf-8") as f:
                    want = [row for row in f.read().splitlines() if row and row[0] not in "#!"]
                rows = [row for row in text if row.split(" ")[1] not in MADE_BY_WRITER]
                failed += differ(name + " and its text", want, rows)
                run(sys.executable, ebtdump.__file__, "--check", path)
                failed += compare_cut(name, path, folder, ebreport)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

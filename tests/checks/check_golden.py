#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of released formats are read as they were on the day: fixtures/vX.Y-*.ebt are never made
again, and `ebreport dump` of each must be the text in golden/.

    check_golden.py EBREPORT [--update]

With --update the texts are written instead of compared; look at the difference before you commit
it. Of a file's schema only v*-kinds has the rows: they are the same in all files of a version.
"""

import difflib
import glob
import os
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def dump(ebreport, path):
    """Lines of the dump, without rows of tables that say how the file was laid out."""
    done = subprocess.run([ebreport, "dump", path], capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{path}: status {done.returncode}\n{done.stderr.decode()}")
    kept = "-kinds." in path
    return [line for line in done.stdout.decode().splitlines(keepends=True)
            if kept or line.split(" ")[1] not in ("schema", "schema_value")]


def main(ebreport, update=None):
    failed = 0
    paths = sorted(glob.glob(os.path.join(TESTS, "fixtures", "v*.ebt")))
    if not paths:
        raise SystemExit("no fixtures")
    for path in paths:
        name = os.path.basename(path)[:-len(".ebt")]
        golden = os.path.join(TESTS, "golden", name + ".dump")
        have = dump(ebreport, path)
        if update == "--update":
            with open(golden, "w", encoding="utf-8") as f:
                f.writelines(have)
            continue
        with open(golden, encoding="utf-8") as f:
            want = f.readlines()
        if have != want:
            failed += 1
            sys.stderr.writelines(list(difflib.unified_diff(want, have, golden, path))[:40])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

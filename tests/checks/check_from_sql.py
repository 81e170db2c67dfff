#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport flame --from-sql` and `export --from-sql`: stacks, and frames without names, that are no trace.

    check_from_sql.py EBREPORT
"""

import os
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
from failed import fail, status  # noqa: E402


def flame(ebreport, lines, *options):
    return subprocess.run([ebreport, "flame", "--from-sql", *options, "-"], input=lines, capture_output=True,
                          check=False)


def check_picture(ebreport, what, lines, titles):
    done = flame(ebreport, lines)
    if done.returncode:
        fail(what, done.stderr.decode(errors="replace"))
        return
    text = done.stdout.decode()
    xml.dom.minidom.parseString(text)
    for title in titles:
        if title not in text:
            fail(what, f"there is no {title} in the picture")


def check_error(ebreport, what, lines, words, *options):
    done = flame(ebreport, lines, *options)
    error = done.stderr.decode(errors="replace")
    if done.returncode not in (1, 2) or not re.search(words, error):
        fail(what, f"status {done.returncode}: {error}")


def check_frames(ebreport, what, lines, words, *options):
    """words: of the error, or where there is none of the warning; then it writes a file of frames, and that alone."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([ebreport, "export", "--to", "clickhouse", "--from-sql", "-o", folder, *options, "-"], input=lines,
                              capture_output=True, check=False)
        error = done.stderr.decode(errors="replace")
        if done.returncode not in (0, 1, 2) or not re.search(words, error) or ("warning" not in error) != bool(done.returncode):
            fail(what, f"status {done.returncode}: {error}")
        elif os.listdir(folder) != ([] if done.returncode else ["frame.native"]):
            fail(what, f"the folder has {os.listdir(folder)}")


def check_names(ebreport):
    check_frames(ebreport, "two columns", b"ab\t/x\n", "line 1: not a build-id, a path and an offset")
    check_frames(ebreport, "four columns", b"ab\t/x\t1\t1\n", "line 1: not a build-id, a path and an offset")
    check_frames(ebreport, "no number", b"ab\t/x\t1\nab\t/x\t0x1\n", "line 2: not a build-id, a path and an offset")
    check_frames(ebreport, "no build-id", b"\t/x\t1\n", "line 1: no build-id")
    check_frames(ebreport, "half a byte", b"abc\t/x\t1\n", "line 1: no build-id")
    check_frames(ebreport, "no digits", b"xy\t/x\t1\n", "line 1: no build-id")
    check_frames(ebreport, "a long build-id", b"ab" * 65 + b"\t/x\t1\n", "line 1: no build-id")
    check_frames(ebreport, "a large offset", b"ab\t/x\t1099511627776\n", "line 1: no file has such an offset")
    check_frames(ebreport, "a larger one", b"ab\t/x\t99999999999999999999\n", "line 1: no file has such an offset")
    check_frames(ebreport, "a NUL", b"ab\t/\0x\t1\n", "line 1: a NUL")
    check_frames(ebreport, "another format", b"ab\t/x\t1\n", "--from-sql goes with", "--to", "csv")
    check_frames(ebreport, "a filter", b"ab\t/x\t1\n", "of whole traces", "--pid", "1")
    check_frames(ebreport, "files of nowhere", b"ab\t/no/such\t1\nab\t/no/such\t5000\ncd\t\\t\\n\\\\\t7\n",
                 "warning: 3 of 3 frames have no name: the first of /no/such .build-id ab.: no such file")
    check_frames(ebreport, "no file", b"ab\t\t1\n", "warning: 1 of 1 frames")
    most = b"".join(b"%02x%02x\t/x%d\t1099511627775\n" % (i >> 8, i & 255, i) for i in range(5000))
    check_frames(ebreport, "large files", most, "warning: 5000 of 5000 frames")


def main():
    ebreport = sys.argv[1]
    check_picture(ebreport, "a weight", b"main;inner\t2000\nmain\t1000\n", ["inner", "3.000 us", "2 lines"])
    check_picture(ebreport, "folded", b"main;operator new 2000\nmain 1000\n", ["operator new"])
    check_picture(ebreport, "two weights", b"main;old\t10\t1\nmain;new\t0\t5\n", ["new", "red: more"])
    check_picture(ebreport, "names of strangers", b"a;<b>&\\t\\\\\x1b\xff;]]>\t1\n", ["&lt;b&gt;&amp;"])
    check_error(ebreport, "no weight", b"a\t1\nbroken\n", "line 2: no stack with a weight")
    check_error(ebreport, "a fraction", b"a\t1.5\n", "line 1: ")
    check_error(ebreport, "one weight more", b"a\t1\na\t1\t2\n", "line 2: more columns")
    check_error(ebreport, "one weight less", b"a\t1\t2\na\t1\n", "line 2: no stack with two")
    check_error(ebreport, "a sum", b"a\t9223372036854775807\na\t9223372036854775807\n", "line 2: .*2.63")
    check_error(ebreport, "a NUL", b"a\0b\t1\n", "line 1: a NUL")
    check_error(ebreport, "too deep", b";".join([b"f"] * 2000) + b"\t1\n", "line 1: .*1024 frames")
    check_error(ebreport, "nothing", b"", "no line")
    check_error(ebreport, "an option", b"a\t1\n", "--event is of a trace", "--event", "fault")
    check_error(ebreport, "a filter", b"a\t1\n", "a part is of a trace", "--pid", "1")
    check_error(ebreport, "a time", b"a\t1\n", "a part is of a trace", "--from", "1s")
    check_names(ebreport)
    return status()


if __name__ == "__main__":
    sys.exit(main())

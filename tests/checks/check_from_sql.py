#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport flame --from-sql`: stacks that are no trace.

    check_from_sql.py EBREPORT
"""

import re
import subprocess
import sys
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
    return status()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/check-layers finds what it is there to find: check_layers.py SOURCE.

Each case plants one mistake in a copy of the tree. Exit status: 0; 1 with what was not found.
"""

import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.abspath(sys.argv[1])
FOLDERS = ["cli", "format", "include", "record", "report", "symbolize", "tests", "tools", "unwind"]

# What is planted (file, text that is put in front), what has to be said, the last line's end.
CASES = [
    ("nothing", [], "", " 0 upward includes, 0 cycles"),
    ("an upward include",
     [("format/base/arena.c", '#include "format/edit/copy.h"\n')],
     'format/base/arena.c: "format/edit/copy.h" runs upward, from format/base to format/edit',
     " 1 upward includes, 1 cycles"),
    ("an upward include that makes no cycle",
     [("tools/rooms", "layer attic | nothing | - | - | old things\nroom low | a\nroom high | b\n"),
      ("attic/low/one.c", '#include "attic/high/two.h"\n'), ("attic/high/two.h", "")],
     'attic/low/one.c: "attic/high/two.h" runs upward, from attic/low to attic/high',
     " 1 upward includes, 0 cycles"),
    ("a cycle",
     [("report/stacks/out_stacks.h", '#include "report/sched/cut.h"\n')],
     "cycle between rooms: report/group, report/sched, report/stacks",
     " 1 upward includes, 1 cycles"),
    ("a layer that is not to be seen",
     [("record/main.c", '#include "symbolize/symbolize.h"\n')],
     'record/main.c: "symbolize/symbolize.h": record/ does not see that',
     " 1 upward includes, 0 cycles"),
    ("a header of the recorder in a BPF program",
     [("record/bpf/sched.bpf.c", '#include "record/base/ring.h"\n')],
     'record/bpf/sched.bpf.c: "record/base/ring.h": record/bpf/ does not see that', None),
    ("an include that is not from the root",
     [("report/sched/cut.c", '#include "feed.h"\n')],
     'report/sched/cut.c: "feed.h" is not written from the root', None),
    ("a header of ours between angles",
     [("report/base/text.c", "#include <report/trees/feed.h>\n")],
     'report/base/text.c: <report/trees/feed.h> is ours', None),
    ("a detour",
     [("report/base/text.c", '#include "report/base/../trees/feed.h"\n')],
     'report/base/text.c: "report/base/../trees/feed.h" goes a detour', None),
    ("a text of a higher room",
     [("report/base/text.c", '#include "report/trees/x.inc"\n'), ("report/trees/x.inc", "int x;\n")],
     'report/base/text.c: "report/trees/x.inc" runs upward', " 1 upward includes, 1 cycles"),
    ("an include behind a comment",
     [("report/base/text.c", '/* x */ #include "report/trees/feed.h"\n')],
     'report/base/text.c: "report/trees/feed.h" runs upward', None),
    ("an include by a macro",
     [("report/base/text.c", "#include WHAT\n")],
     "report/base/text.c: not understood: #include WHAT", None),
    ("a layer that sees a higher one",
     [("tools/rooms", "layer attic | nothing | report | - | old things\nroom . | a\n")],
     "tools/rooms: attic may not see report", None),
    ("a header that is not there",
     [("report/sched/cut.c", '#include "report/sched/none.h"\n')],
     'report/sched/cut.c: "report/sched/none.h" names no header', None),
    ("the same in a test",
     [("tests/unit/report/base/test_text.c", '#include "text.h"\n')],
     'tests/unit/report/base/test_text.c: "text.h" names no header', None),
    ("a library of another layer",
     [("report/base/text.c", "#include <dwarf.h>\n")],
     "report/base/text.c: <dwarf.h> does not belong into report/", None),
    ("a room that is not in the table",
     [("report/attic/old.c", "int old;\n")],
     "report/attic/old.c: tools/rooms has no such room", None),
    ("a struct of two meanings",
     [("report/base/text.h", "struct sym_func {\n\tint i;\n};\n")],
     "ebreport: sym_func means several things: report/base/text.h, symbolize/base/types.h", None),
    ("the same with a brace below",
     [("report/base/text.h", "struct sym_func\n{\n\tint i;\n};\n")],
     "ebreport: sym_func means several things: report/base/text.h, symbolize/base/types.h", None),
    ("who prints below main.c",
     [("symbolize/symbolize.c", "static void say(void)\n{\n\tputs(\"\");\n}\n")],
     "symbolize/symbolize.c:3: prints or ends the program", None),
    ("a table that ARCHITECTURE.md does not show",
     [("tools/rooms", "layer attic | nothing | - | - | what nobody wants\nroom . | all of it\n")],
     "docs/ARCHITECTURE.md does not show tools/rooms", None),
]


def copy_tree(root):
    for folder in FOLDERS:
        shutil.copytree(os.path.join(SOURCE, folder), os.path.join(root, folder),
                        ignore=lambda folder, names: [
                            n for n in names if not os.path.isdir(os.path.join(folder, n)) and
                            not n.endswith((".c", ".h", ".def", ".txt", ".css", ".html", ".js", ".proto")) and
                            n not in ("rooms", "check-layers")])
    os.mkdir(os.path.join(root, "docs"))
    shutil.copy(os.path.join(SOURCE, "docs/ARCHITECTURE.md"), os.path.join(root, "docs"))


def plant(root, path, text):
    """Returns what undoes it."""
    path = os.path.join(root, path)
    if not os.path.exists(path):
        new = not os.path.exists(os.path.dirname(path))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return lambda: shutil.rmtree(os.path.dirname(path), True) if new else os.remove(path)
    with open(path, encoding="utf-8") as f:
        before = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + before)

    def undo():
        with open(path, "w", encoding="utf-8") as f:
            f.write(before)
    return undo


def run(root, case, planted, wanted, end):
    undo = [plant(root, path, text) for path, text in planted]
    done = subprocess.run([sys.executable, os.path.join(root, "tools/check-layers")], check=False,
                          capture_output=True, encoding="utf-8")
    for back in undo:
        back()
    ok = (done.returncode != 0) == bool(planted) and wanted in done.stderr and \
        (end is None or done.stdout.rstrip("\n").endswith(end))
    if not ok:
        print(f"{case}: status {done.returncode}\n{done.stdout}{done.stderr}", file=sys.stderr)
    return ok


def main():
    with tempfile.TemporaryDirectory() as root:
        copy_tree(root)
        results = [run(root, *case) for case in CASES]
    print(f"{sum(results)} of {len(results)} cases")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

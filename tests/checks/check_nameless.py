#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every report that shows frames without names says so.

    check_nameless.py EBTGEN EBREPORT ROWS.TXT

The rows are of all kinds, and no file is there to name an address of theirs: a report that shows
one warns. Each command is run with each of its options that takes no value, and by stack."""
import re
import subprocess
import sys
import tempfile

# An address of the kernel, or of a program, where a name should be.
FRAME = re.compile(r"(?m)(?:^|[; ])(?:[\w.]+\+)?0x(?:ffffffff81000010|[0-9a-f]*1010)(?:$|[; ])")
TOLD = re.compile(r"of frames have no name|without a name")
# Those show rows or files as they are; diff compares two traces; and mem weighs frames by memory that
# is still in use, which none has in these rows.
OTHERS = {"mem", "dump", "export", "info", "modules", "bundle", "scrub", "share", "cut", "merge", "extract",
          "flame", "html", "serve", "diff", "files", "sql"}
LOCKS = """\
1000 meta key="host.name" value="h"
2000 lock_wait cpu=0 task=300/300/1090/"a" address=0x1 duration=3000000 flags=0x22 ret=0 \
interrupt=0 unused=0 kstack=k:ffffffff81000010 ustack=u:401010
2001 timer cpu=0 task=- function=0xffffffff81000010 duration=1983 self=100 kind=hrtimer unused=0
2002 work cpu=0 task=300/300/1090/"a" function=0xffffffff81000010 duration=1983
"""


def output(*words):
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr


def variants(ebreport, command):
    _, text, _ = output(ebreport, command, "--help")
    own = text.partition("\nOptions:\n")[2].partition("\nOptions of every command:")[0]
    yield []
    for name in re.findall(r"(?m)^ {6}(--[a-z-]+)(?=  |$)", own):
        yield [name]
    if re.search(r"--by KEY[^-]*\bstack\b", own):
        yield ["--by", "stack"]


def main():
    ebtgen, ebreport, fixture = sys.argv[1:]
    shown, bad = set(), []
    _, text, _ = output(ebreport, "--help")
    commands = re.findall(r"(?m)^  ([a-z]+)  ", text.partition("Commands:")[2])
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/locks.txt", "w", encoding="utf-8") as f:
            f.write(LOCKS)
        for source in (folder + "/locks.txt", fixture):
            trace = folder + "/t.ebt"
            subprocess.run([ebtgen, source, trace], check=True)
            for command in (c for c in commands if c not in OTHERS):
                for words in variants(ebreport, command):
                    status, out, err = output(ebreport, command, *words, "--no-symbol-cache", trace)
                    if status or not FRAME.search(out):
                        continue
                    shown.add(" ".join([command, *words]))
                    if not TOLD.search(out + err):
                        bad.append("%s\n%s%s" % (" ".join([command, *words]), out, err))
    for each in bad:
        print("not told:", each)
    missing = {"callgraph", "folded", "threads", "locks", "sched --irq",
               "offcpu --stacks", "offcpu --by stack"} - shown
    if missing:
        print("without a frame:", *sorted(missing))
    return bool(bad or missing)


sys.exit(main())

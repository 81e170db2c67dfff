# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of threads as gdb finds them, and whether `ebreport threads` has the same."""

import json
import os

import e2e

# Run by gdb: pc, function and line of each frame, of each thread by its id. Functions that have made
# way for another by a tail call are no frames of the stack: gdb concludes that they were there.
GDB = """
import gdb, json
found = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, frames = gdb.newest_frame(), []
    while frame is not None:
        sal = frame.find_sal()
        inlined = frame.type() == gdb.INLINE_FRAME
        if frame.type() != gdb.TAILCALL_FRAME:
            frames.append([frame.pc(), frame.name(), sal.line if sal.symtab else 0, inlined])
        frame = frame.older()
    found[thread.ptid[1]] = frames
with open(OUTPUT, "w") as f:
    json.dump(found, f)
"""


def frames(folder, *target):
    """Frames by thread id, from gdb."""
    script, output = os.path.join(folder, "frames.py"), os.path.join(folder, "frames.json")
    with open(script, "w", encoding="utf-8") as f:
        f.write(f"OUTPUT = {output!r}\n" + GDB)
    e2e.run("gdb", "-nx", "-batch", "-iex", "set auto-load safe-path /", "-iex",
            "set debuginfod enabled off", "-iex",
            "set backtrace past-main on", *target, "-x", script)
    with open(output, encoding="utf-8") as f:
        return {int(tid): frames for tid, frames in json.load(f).items()}


def user_frames(row):
    return [frame for frame in row["calls"] if not frame["kernel"]]


def entries(trace, at="end"):
    """User stacks as they were recorded, by thread id: addresses and functions of interpreters."""
    return {int(row["task"].split("/")[0]):
            [int(entry, 16) for entry in row["ustack"].removeprefix("u:").rstrip("+").split(",")]
            for row in e2e.Dump(trace, "--table", "thread_stack").rows("thread_stack")
            if row["moment"] == at and row["ustack"] != "-"}


def is_address(entry):
    return not entry >> 63


def shown(stack):
    """Addresses of a stack without those that a function of an interpreter is shown for."""
    return [entry for entry, following in zip(stack, stack[1:] + [0])
            if is_address(entry) and (is_address(following) or following >> 62 & 1)]


def compare(test, trace, found, at="end", objects=()):
    """What a debugger found is what ebreport shows: each address, and of these files, whose debug
    information both have, each function that is there or inlined, with its line."""
    rows = {row["tid"]: row for row in e2e.rows("threads", trace, "--at", at)}
    stacks = entries(trace, at)
    test.assertEqual(set(rows), set(found))
    for tid, theirs in found.items():
        test.assertNotIn("incomplete", rows[tid], rows[tid])
        ours = user_frames(rows[tid])
        test.assertEqual(list(filter(is_address, stacks[tid])),
                         [pc for pc, _, _, inlined in theirs if not inlined], (ours, theirs))
        ours = [frame for frame in ours if "address" in frame]
        test.assertEqual([int(f["address"], 16) for f in ours if not f["inlined"]],
                         shown(stacks[tid]), ours)
        known = {int(f["address"], 16) for f in ours if os.path.basename(f["object"]) in objects}
        test.assertEqual([(f["function"], int(f.get("lines", ":0").rsplit(":", 1)[1])) for f in ours
                          if int(f["address"], 16) in known],
                         [(name, line) for pc, name, line, _ in theirs if pc in known])
    return rows

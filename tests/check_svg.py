#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads flame graphs with Python's XML parser: well-formed whatever the names, widths that are the
weights, frames inside their parents, what is pruned said. Weights come from `ebreport folded`.

    check_svg.py EBTGEN EBREPORT HOSTILE.TXT
"""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
failed = 0


def check(condition, what):
    global failed
    if not condition:
        print("FAILED:", what)
        failed += 1


def frames_of(root):
    """(name, start, weight, depth, x, width) of each frame, in order."""
    group = next(g for g in root.iter(SVG + "g") if g.get("id") == "frames")
    for g in group:
        rect = g.find(SVG + "rect")
        yield (g.find(SVG + "title").text.split("\n")[0], int(g.get("data-s")),
               int(g.get("data-v")), int(g.get("data-d")), float(rect.get("x")),
               float(rect.get("width")))


def paths_of(frames):
    """Self weight by path, as folded stacks have it."""
    paths, stack = {}, []
    for name, start, weight, depth, _, _ in frames:
        del stack[depth:]
        stack.append(name.replace(";", ":"))
        if depth:
            paths[";".join(stack[1:])] = weight
    own = dict(paths)
    for path, weight in paths.items():
        if ";" in path:
            own[path.rsplit(";", 1)[0]] -= weight
    return {path: weight for path, weight in own.items() if weight}


def check_geometry(root, frames):
    total = int(root.get("data-total"))
    scale = (float(root.get("width")) - 20) / total
    stack = []
    for name, start, weight, depth, x, width in frames:
        del stack[depth:]
        check(abs(width - weight * scale) < 0.02, "width of %r" % name)
        check(abs(x - 10 - start * scale) < 0.02, "place of %r" % name)
        if stack:
            check(stack[-1][0] <= start and start + weight <= stack[-1][1],
                  "%r is not within its caller" % name)
        stack.append((start, start + weight))
    check(frames[0][2] == total, "the first frame is all")


def check_trace(run, options, hostile):
    picture = run("flame", *options)
    root = ET.fromstring(picture)
    frames = list(frames_of(root))
    check_geometry(root, frames)
    folded = {}
    for line in run("folded", *options).decode().splitlines():
        path, weight = line.rsplit(" ", 1)
        folded[path] = folded.get(path, 0) + int(weight)
    check(paths_of(frames) == folded, "weights of the picture and of folded stacks differ")
    # Escaped once and right, every name comes back from the parser as it was printed.
    text = picture.decode()
    check(not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), "control characters")
    check(text.count("<script") == 1, "one script")
    if hostile:
        names = [f[0] for f in frames]
        check("<script>alert(1)</script>" in names, "the hostile name is kept: %r" % names)


def many_frames(count):
    """A trace of samples of which most are too narrow to be drawn."""
    yield '1000 meta key="sample.freq" value="100"'
    for i in range(count):
        period = 1000000000 if i == 0 else 1000
        yield ('%d sample cpu=0 task=1/1/1/"t%d" event=cpu-clock user=0 period=%d kstack=- ustack=-'
               % (2000 + i, i, period))


def main():
    ebtgen, ebreport, fixture = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "t.ebt")
        text = os.path.join(folder, "t.txt")

        def run(command, *options):
            return subprocess.run([ebreport, command, *options, trace], check=True,
                                  stdout=subprocess.PIPE).stdout

        subprocess.run([ebtgen, fixture, trace], check=True)
        check_trace(run, [], True)
        check_trace(run, ["--by", "process"], False)
        check_trace(run, ["--no-symbols", "--by", "none"], False)

        # No stacks at all is a picture, too.
        root = ET.fromstring(run("flame", "--tid", "4711"))
        check("nothing to show" in "".join(root.itertext()), "an empty picture says so")

        with open(text, "w") as f:
            f.write("\n".join(many_frames(50)) + "\n")
        subprocess.run([ebtgen, text, trace], check=True)
        root = ET.fromstring(run("flame", "--by", "thread"))
        check(len(list(frames_of(root))) == 2, "narrow frames are left out")
        check("49 of 51 frames" in "".join(root.itertext()), "what is left out is said")
    print("%d checks failed" % failed if failed else "all checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads pictures with Python's XML parser. Flame graphs: well-formed whatever the names, widths that
are the weights, frames inside their parents, what is pruned said. Weights come from `ebreport folded`.
Charts of marks: each mark in its place, and none missing where many share a box.

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


def check_trace(run, options, hostile, look=()):
    picture = run("flame", *options, *look)
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


HOSTILE_MARK = 'g</title><script>alert(1)</script>&"\'\\x1b[2J'


def many_marks(count):
    """Spans of 1 ms, each with as many short ones as fit; names are hostile, and there are many."""
    name = HOSTILE_MARK.replace("\\", "\\\\").replace('"', '\\"').replace("\\\\x1b", "\\x1b")
    row = ('%d mark cpu=0 task=1/1/1/"<b>" kind=%s origin=ebmark duration=%d late=0 key=0x0 '
           'group="%s" name="%s" message="%s"')
    for i in range(count):
        begin = 1000000 + i * 2000000
        for k in range(20):
            yield row % (begin + k * 50000, "span", 100, "short", "s", "")
        yield row % (begin + 1000000, "span", 1000000, name, name, name)
        yield row % (begin + 1000000, "instant", 0, "instants", "i%d" % i, "")
    last = 1000000 + count * 2000000
    yield row % (last + 10, "begin", 0, "open", "open", "")
    yield row % (last + 20, "span", 18446744073709551615, "huge", "huge", "")


def check_chart(run, count):
    picture = run("marks", "--chart")
    root = ET.fromstring(picture)
    check(not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", picture.decode()), "control characters")
    check(picture.decode().count("<script") == 1, "one script")
    check({e.tag for e in root.iter()} <= {SVG + t for t in (
        "svg", "title", "style", "rect", "text", "tspan", "line", "g", "script")}, "known elements only")
    marks = next(g for g in root.iter(SVG + "g") if g.get("id") == "marks")
    counts, boxes = {}, []
    for g in marks:
        title, rect = g.find(SVG + "title").text, g.find(SVG + "rect")
        name = title.split("\n")[0].split("/")[0]
        counts[name] = counts.get(name, 0) + int(g.get("data-n"))
        x, width = float(rect.get("x")), float(rect.get("width"))
        check(249.99 <= x and x + width <= 1388.01, "within the picture: %r" % title)
        if name == "g<":
            boxes.append((x, width, title))
    check(counts["short"] == 20 * count, "short marks: %r" % counts)
    check(counts["g<"] == count, "marks with a hostile name: %r" % counts)
    check(sum(counts.values()) < 22 * count + 2, "some lanes are left out")
    check("other names, are left out" in "".join(root.itertext()), "what is left out is said")
    check("share boxes" in "".join(root.itertext()), "what is merged is said")
    check(len(picture) < 1000000, "size: %d" % len(picture))
    if len(boxes) == count:  # as wide as they lasted
        steps = [b[0] - a[0] for a, b in zip(boxes, boxes[1:])]
        check(max(steps) - min(steps) < 0.05, "steps: %r" % steps)
        check(all(abs(w - steps[0] / 2) < 0.05 for _, w, _ in boxes), "widths")
        check(all("\\x1b[2J" in title and "1.000 ms" in title for _, _, title in boxes),
              "tooltips: %r" % boxes[0][2])


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
        check_trace(run, ["--by", "program", "--threads"], False, ["--color", "category"])

        # No stacks at all is a picture, too.
        root = ET.fromstring(run("flame", "--tid", "4711"))
        check("nothing to show" in "".join(root.itertext()), "an empty picture says so")

        with open(text, "w") as f:
            f.write("\n".join(many_frames(50)) + "\n")
        subprocess.run([ebtgen, text, trace], check=True)
        root = ET.fromstring(run("flame", "--by", "thread"))
        check(len(list(frames_of(root))) == 2, "narrow frames are left out")
        check("49 of 51 frames" in "".join(root.itertext()), "what is left out is said")
        with open(text, "w") as f:
            f.write("\n".join(many_marks(300)) + "\n")
        subprocess.run([ebtgen, text, trace], check=True)
        check_chart(run, 300)
        root = ET.fromstring(run("marks", "--chart", "--name", "nothing"))
        check("nothing to show" in "".join(root.itertext()), "an empty chart says so")
        ET.fromstring(run("marks", "--around", "*", "--flame"))
    print("%d checks failed" % failed if failed else "all checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

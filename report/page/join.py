#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins the parts of the page to a C header: page_style, page_script and page_body, and
the hashes by which the page's policy lets style and script pass.

    join.py FOLDER page.html.inc page.html.inc.d

The last one tells ninja of which files the header is made.
ES modules are put one behind the other, each behind those that it imports, so that they share one scope.
"""
import base64
import hashlib
import os
import re
import sys

IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z_0-9]+\.js)";\n', re.M)


def fail(words):
    sys.exit("join.py: " + words)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def add_module(folder, name, done, path):
    """Behind all that it imports."""
    if name in path:
        fail("modules import each other: " + " ".join(path + [name]))
    if name in done:
        return
    text = read(folder, name)
    for needed in IMPORT.findall(text):
        add_module(folder, needed, done, path + [name])
    text = re.sub(r"^export (?=(async )?function|const|class|let)", "", IMPORT.sub("", text), flags=re.M)
    if re.search(r"^(import|export)\b", text, re.M):
        fail(name + ": an import or export of a form that is not known here")
    done[name] = text


def without_comments(name, text):
    """Comments that stand in lines of their own: they are for who reads the modules."""
    for line in text.splitlines():
        if line.count("`") % 2:
            fail(name + ": a template of several lines could have what looks like a comment")
    text = re.sub(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/[ \t]*\n", "", text, flags=re.M | re.S)
    return re.sub(r"^[ \t]*//.*\n", "", text, flags=re.M)


def script_of(folder):
    done = {}
    add_module(folder, "main.js", done, [])
    unused = {name for name in os.listdir(folder) if name.endswith(".js")} - set(done)
    if unused:
        fail("no module imports " + ", ".join(sorted(unused)))
    names = {}
    for name, text in done.items():
        for word in re.findall(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", text, re.M):
            if word in names:
                fail("%s stands in %s and in %s" % (word, names[word], name))
            names[word] = name
    text = "// SPDX-License-Identifier: GPL-2.0-or-later\n" + \
        "".join(without_comments(name, text) for name, text in done.items())
    if "</script" in text.lower():
        fail("a script cannot hold the tag that ends it")
    return text


def literal(name, text):
    rows = []
    for line in text.splitlines(keepends=True):
        line = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        rows.append('\n\t"%s"' % line.replace("??", '?""?'))
    return "static const char %s[] =%s;\n" % (name, "".join(rows) or ' ""')


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def main():
    folder, header, depfile = sys.argv[1:]
    style, script = read(folder, "page.css"), script_of(folder)
    with open(header, "w", encoding="utf-8") as file:
        print("/* Made by join.py. */", file=file)
        for name, text in (("style", style), ("script", script), ("body", read(folder, "page.html"))):
            print(literal("page_" + name, text), file=file)
        print('#define PAGE_STYLE_HASH "sha256-%s"' % digest(style), file=file)
        print('#define PAGE_SCRIPT_HASH "sha256-%s"' % digest(script), file=file)
    parts = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith((".css", ".html", ".js"))]
    with open(depfile, "w", encoding="utf-8") as file:
        print(header + ":", *(path.replace(" ", "\\ ") for path in sorted(parts)), file=file)


if __name__ == "__main__":
    main()

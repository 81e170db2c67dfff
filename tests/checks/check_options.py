#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of --help are those of the manual pages: check_options.py DOCS/MAN EBREPORT [EBREC]."""

import re
import subprocess
import sys

# Whose options a section of the manual takes over by a sentence.
TAKES_OVER = {"callgraph": "folded"}


def of_help(*command):
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def listed(text):
    return set(re.findall(r"^ +(?:-[a-zA-Z], )?(--[a-z-]+)", text, re.M))


def explained(page):
    """Those that have a paragraph of their own."""
    return mentioned("\n".join(re.findall(r"^\.It Fl.*", page, re.M)))


def mentioned(page):
    return {"--" + name for name in re.findall(r"Fl Fl ([a-z-]+)", page)}


def compare(what, helped, enough, explicit):
    """enough: what counts as explained; explicit: what has to be in --help."""
    for name in sorted(helped - enough):
        print(f"{what}: {name} is in --help and not in the manual")
    for name in sorted(explicit - helped):
        print(f"{what}: {name} is in the manual and not in --help")
    return helped <= enough and explicit <= helped


def check_ebreport(program, page):
    text = of_help(program)
    common = listed(text)
    general = page[page.index("\n.Sh OPTIONS") : page.index("\n.Sh ENVIRONMENT")]
    good = compare("ebreport", common - {"--help"}, explained(general), explained(general))
    part = page[page.index("\n.Sh COMMANDS") : page.index("\n.Sh OPTIONS")]
    sections = dict(s.split("\n", 1) for s in part.split("\n.Ss ")[1:])
    listing = text[text.index("\nCommands:") : text.index("\nOptions")]
    commands = re.findall(r"^  ([a-z]+) +\S", listing, re.M)
    if set(commands) != set(sections):
        print("commands that only one of both has:", *sorted(set(commands) ^ set(sections)))
        good = False
    for name in sorted(set(commands) & set(sections)):
        own = listed(of_help(program, name).split("\nOptions of every")[0])
        section = sections[name]
        other = sections.get(TAKES_OVER.get(name), "")
        good &= compare(name, own, mentioned(section + other), explained(section) - common)
    return good


def main():
    folder, ebreport, *ebrec = sys.argv[1:]
    with open(f"{folder}/ebreport.1", encoding="utf-8") as f:
        good = check_ebreport(ebreport, f.read())
    for program in ebrec:
        with open(f"{folder}/ebrec.1", encoding="utf-8") as f:
            page = f.read()
        good &= compare("ebrec", listed(of_help(program)), explained(page), explained(page))
    return 0 if good else 1


sys.exit(main())

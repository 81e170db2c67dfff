#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes traces and their pages, and runs a test of the page in a browser with them.

    check_page.py TEST.mjs BUILD_FOLDER EBTGEN EBREPORT PAGE…

PAGE is a name of TRACES; A+B is the page that compares two of them.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
import npm  # noqa: E402
import painted  # noqa: E402
import traces  # noqa: E402

SECONDS = 900  # for anything; far more than it needs
TRACES = {**traces.TRACES, "painted": painted.painted}
PLANS = {"painted": painted.plan}  # what is known of a trace


def make_trace(ebtgen, folder, name):
    """Its path, where it is made once. What is called *.ebt is a recording."""
    if name.endswith(".ebt"):
        return name
    trace = os.path.join(folder, name + ".ebt")
    if os.path.exists(trace):
        return trace
    if name == "cut":
        whole = make_trace(ebtgen, folder, "work")
        with open(whole, "rb") as source, open(trace, "wb") as target:
            target.write(source.read(os.path.getsize(whole) * 2 // 3))
        return trace
    rows = os.path.join(folder, name + ".txt")
    traces.write(rows, TRACES[name]())
    subprocess.run([ebtgen, rows, trace], check=True, timeout=SECONDS)
    os.remove(rows)
    return trace


def make_page(ebreport, folder, name, files):
    page = os.path.join(folder, name.replace("+", "_") + ".html")
    done = subprocess.run([ebreport, "html", "--no-symbol-cache", "-o", page, *files], capture_output=True,
                          timeout=SECONDS, check=False)
    if done.returncode:
        sys.exit(f"ebreport html of {name}: {done.stderr.decode(errors='replace')}")
    return page


def drive(script, build, folder, ebreport, files, **more):
    """Runs a test on pages of traces; files: by name of a page its traces; more: for its setting. The
    exit status."""
    setting = {**npm.driver(build), "ebreport": os.path.abspath(ebreport),
               "pages": {name: {"html": make_page(ebreport, folder, name, paths), "traces": paths}
                         for name, paths in files.items()}, **more}
    path = os.path.join(folder, "setting.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(setting, file)
    return subprocess.run([setting["node"], script, path], stdin=subprocess.DEVNULL, timeout=SECONDS,
                          check=False).returncode


def main():
    script, build, ebtgen, ebreport, *pages = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        files = {page: [make_trace(ebtgen, folder, name) for name in page.split("+")] for page in pages}
        plans = {page: PLANS[page]() for page in pages if page in PLANS}
        return drive(script, build, folder, ebreport, files, plans=plans)


if __name__ == "__main__":
    sys.exit(main())

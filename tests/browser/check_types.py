#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripts of the page have the types that their comments say.

    check_types.py BUILD_FOLDER MAIN.JS
"""
import subprocess
import sys

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
import npm  # noqa: E402

OPTIONS = ["--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2022", "--module", "es2022",
           "--moduleResolution", "bundler", "--lib", "es2023,dom,dom.iterable"]


def main():
    build, script = sys.argv[1:]
    node = npm.program("node", "nodejs")
    tsc = npm.modules(build) + "/node_modules/typescript/bin/tsc"
    return subprocess.run([node, tsc, *OPTIONS, script], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

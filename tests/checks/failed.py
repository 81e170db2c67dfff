# SPDX-License-Identifier: GPL-2.0-or-later
"""What a check has found: on standard error the first of it, and the exit status."""

import sys

TOLD = 40
found = 0


def fail(what, text):
    global found
    found += 1
    if found <= TOLD:
        print(f"{what}: {text}", file=sys.stderr)


def status():
    if found > TOLD:
        print(f"and {found - TOLD} more", file=sys.stderr)
    return 1 if found else 0

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of every instruction of Python's own library, by our reading of line tables and by Python's.
Then tables that are damaged, which must end. Argument: the program python_lines."""

import glob
import os
import random
import subprocess
import sys
import sysconfig
import types

MOST = 20000  # code objects


def codes(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def library():
    for path in sorted(glob.glob(os.path.join(sysconfig.get_path("stdlib"), "*.py"))):
        with open(path, "rb") as f:
            yield from codes(compile(f.read(), path, "exec"))


def lines(code):
    """Of each instruction; 0: none."""
    found = [0] * (len(code.co_code) // 2)
    for start, end, line in code.co_lines():
        for i in range(start // 2, end // 2):
            found[i] = line or 0
    return found


def ask(program, questions):
    text = "".join(f"{first} {count} {table.hex()}\n" for first, count, table in questions)
    return subprocess.run([program], input=text, text=True, capture_output=True, check=True,
                          timeout=300).stdout.splitlines()


def main():
    program = sys.argv[1]
    if sys.version_info < (3, 11):
        print("skipped: this Python has line tables of another kind")
        sys.exit(77)
    every = [code for code, _ in zip(library(), range(MOST))]
    answers = ask(program, [(c.co_firstlineno, len(c.co_code) // 2, c.co_linetable)
                            for c in every])
    assert len(answers) == len(every) > 1000, (len(answers), len(every))
    for code, answer in zip(every, answers):
        assert list(map(int, answer.split())) == lines(code), (code, answer)
    chance = random.Random(1)
    damaged = []
    for code in every[:2000]:
        table = bytearray(code.co_linetable[:chance.randrange(len(code.co_linetable) + 1)])
        for _ in range(chance.randrange(4)):
            if table:
                table[chance.randrange(len(table))] = chance.randrange(256)
        damaged.append((chance.choice((0, 1, code.co_firstlineno, 0xffffffff)), 20, bytes(table)))
    assert len(ask(program, damaged)) == len(damaged)
    print(f"{len(every)} code objects, {sum(len(c.co_code) // 2 for c in every)} instructions: same")


main()

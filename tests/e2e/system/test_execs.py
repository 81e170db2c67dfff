# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport procs --exec`: what was run and what could not be run, against `strace -f` of the same execution;
where, against what programs say of their working directories."""

import ast
import json
import os
import re

import e2e

WORK = r"""
cd /usr; ./no-such; PATH=/no:/usr/no:/usr/bin:/bin env ls /dev/null
cd "$1"; printf '#!/bin/sh\npwd -P\n' > where; chmod +x where
./where; (cd /; "$1/where"); mkdir sub; cd sub; ../where; ../where/; cd ..; ./sub
echo 'not a program' > text; chmod +x text; env ./text; env ./where; chmod -x where; env ./where
exec sh -c 'exit 3' 'an "argument"' '' "$(printf 'a\tb')"
"""
STRACE = re.compile(r'(\d+) +execve\((".*?"), (\[.*\]), .*\) = (0|-1 (\w+).*)')


def execs_of(path):
    """Of strace's log: by process, in order: the file as it was called, the arguments, and the error."""
    found, begun = {}, {}
    with open(path, encoding="ascii") as f:
        for line in f:
            pid = line.split()[0]
            if "<unfinished ...>" in line:
                begun[pid] = line.split(" <unfinished")[0]
            if "execve resumed>" in line:
                line = begun.pop(pid) + line.split("resumed>")[1]
            match = STRACE.match(line)
            if match:
                found.setdefault(int(match[1]), []).append((ast.literal_eval(match[2]), ast.literal_eval(match[3]),
                                                            match[5]))
    return found


class Execs(e2e.TestCase):
    def record_work(self, *options):
        trace = self.record(*options, "--", "strace", "-f", "-e", "trace=execve", "-s", "1000", "-o",
                            self.path("strace"), "sh", "-c", WORK, "sh", self.folder, status=3)
        return trace, execs_of(self.path("strace"))

    def rows(self, trace, *options):
        return json.loads(e2e.ebreport("procs", "--exec", "--json", *options, trace))["rows"]

    def test_all(self):
        trace, theirs = self.record_work("-e", "syscalls:args")
        rows = self.rows(trace)
        failed = 0
        for pid, calls in theirs.items():
            mine = [row for row in rows if row["pid"] == pid]
            self.assertEqual([row.get("error") for row in mine], [error for _, _, error in calls])
            for row, (file, args, error) in zip(mine, calls):
                failed += bool(error)
                self.assertEqual(row["file"], file if file[0] == "/" or not error else f"{row['cwd']}/{file}")
                # A script is run by another program, which gets its name.
                if not error and not file.endswith("where"):
                    self.assertEqual(row["args"], args)
        self.assertGreaterEqual(failed, 8)
        said = [line for line in self.recorded.stdout.decode().splitlines() if line.startswith("/")]
        self.assertEqual([row["cwd"] for row in rows if not row.get("error") and row["file"].endswith("where")],
                         [line for line in said if line != "/dev/null"])
        self.assertEqual(os.path.realpath(self.folder), said[-1])
        for row in rows:
            self.assertIn("cwd", row)

    def test_parents(self):
        trace, theirs = self.record_work("-e", "syscalls:args")
        first = next(iter(theirs))
        for row in self.rows(trace):
            if row["pid"] in theirs and row["pid"] != first:
                self.assertEqual((row["ppid"], row["parent_comm"]), (first, "sh"))

    def test_calls_alone(self):
        """What was run is known without calls, and what was not with their numbers."""
        for events in "sched", "syscalls:raw":
            trace, theirs = self.record_work("-e", events)
            rows = [row for row in self.rows(trace) if row["pid"] in theirs]
            self.assertEqual(sorted(row.get("error", "") for row in rows if "raw" in events or not row.get("error")),
                             sorted(error or "" for calls in theirs.values() for _, _, error in calls
                                    if "raw" in events or not error))
            self.assertFalse([row for row in rows if "cwd" in row])


if __name__ == "__main__":
    e2e.main()

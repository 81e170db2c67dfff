# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks that could not be walked whole at once: their dumps are finished by ebrec and by
ebreport, as libdwfl does it."""

import collections
import os
import re
import signal
import sys
import time

import e2e

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/tools"))
import ebtdump  # noqa: E402

ORACLE = os.environ.get("EBT_DUMP_ORACLE", "dump_oracle")
UNKNOWN, ROOT, TRUNCATED, EXEC = 0, 1, 2, 11  # EBT_STOP_*

# A second on a CPU each, so that there are as many samples of them on a machine that is busy: those
# of their beginning, where some stacks have no end, are few.
PYTHON = """
import json, time
end = time.process_time() + 1
def f(n):
    return json.dumps(list(range(200))) if n == 0 else f(n - 1)
i = 0
while time.process_time() < end:
    f(i % 20)
    i += 1
"""
PERL = """
sub f {
    my $n = shift;
    return $n ? f($n - 1) : join(",", sort { $a <=> $b } map { ($_ * 7919) % 1000 } 1 .. 300);
}
for ($i = 0; (times)[0] < 1; $i++) { f($i % 20); }
"""
SHORT = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do " \
        "/usr/bin/python3 -c 'import json'; ls / >/dev/null; done"
COMPILE = ["sh", "-c", 'cd "$0" && for f in format/*/*er.c; do '
           "gcc -O2 -g -D_GNU_SOURCE -I. -c -o /dev/null $f; done", e2e.SOURCE]

WORKLOADS = {
    "C": [e2e.program("callbacks"), "1"],
    "python3": ["/usr/bin/python3", "-c", PYTHON],
    "perl": ["perl", "-e", PERL],
    "gcc": COMPILE,
    "short": ["sh", "-c", SHORT],
}


def stacks(trace):
    """Pairs of why the walk of a user stack ended and the bytes of its dump, of all samples."""
    with open(trace, "rb") as f:
        chunks = ebtdump.read_file(f.read())
    tables = ebtdump.read_schema(chunks)
    for chunk, payload in chunks:
        table = tables.get(chunk.table_id)
        if table is None or table.name != "sample":
            continue
        fields = {field.name: field for field in table.fields.values()}
        columns = [[payload.value(fields[name].type, value)
                    for value in payload.column(fields[name].id, chunk.rows)]
                   for name in ("ustack", "udump")]
        for stack, dump in zip(*columns):
            if stack:
                yield stack[0] >> 16 & 255, len(dump)


class Dumps(e2e.TestCase):
    def whole(self, trace):
        """Share of the samples of a program whose stack reaches the root. In exec there is none;
        one that has more frames than fit is not partial."""
        stops = [stop for stop, _ in stacks(trace) if stop != EXEC]
        self.assertGreater(len(stops), 50)
        return sum(stop in (ROOT, TRUNCATED) for stop in stops) / len(stops)

    def test_oracle(self):
        for name, command in WORKLOADS.items():
            with self.subTest(name):
                trace = self.record("-F", "999", "--call-graph", "dump", "--keep-stack-dumps",
                                    "--", *command)
                said = e2e.run(ORACLE, trace).stdout.decode()
                counts = {k: int(v) for k, v in re.findall(r"(\w+) (\d+)", said)}
                print(name, said, end="")
                self.assertGreater(counts["dumps"], 50)
                self.assertEqual(counts["different"], 0, said)
                # In processes of 20 ms the lazy binding of ld.so, which finds its frame by a
                # register that is gone by then, is a per cent.
                least = 0.98 if name == "short" else 0.99
                self.assertGreaterEqual(counts["same"] / counts["dumps"], least, said)

    def test_short_processes(self):
        for name, least in ("short", 0.95), ("gcc", 0.97):
            with self.subTest(name):
                trace = self.record("-F", "999", "--call-graph", "table", "--", *WORKLOADS[name])
                share = self.whole(trace)
                print(f"{name}: {share:.2%} reach the root")
                self.assertGreaterEqual(share, least)

    def late(self, trace):
        """Sizes of the dumps that the recorder did not take, because they were half a second old
        or those before them filled its queue: all of them are in the file, and counted."""
        late = [size for stop, size in stacks(trace) if stop == UNKNOWN]
        self.assertTrue(all(late))
        told, = [row["value"] for row in e2e.Dump(trace).rows("meta")
                 if row["key"] == '"stacks.dumps_not_finished"']
        self.assertGreaterEqual(int(told.strip('"')), len(late))
        return late

    def test_recorder_finishes(self):
        for _ in range(3):  # a machine that stands still makes the recorder late, but once
            trace = self.record("-F", "999", "--call-graph", "dump", "--", *WORKLOADS["perl"])
            if not self.late(trace):
                break
        stops = collections.Counter(stop for stop, _ in stacks(trace))
        self.assertGreater(self.whole(trace), 0.99, stops)
        dumps = [size for _, size in stacks(trace)]
        self.assertLess(sum(map(bool, dumps)), len(dumps) / 100)

    def test_recorder_is_late(self):
        trace = self.path("t.ebt")
        child = self.start(e2e.EBREC, "-q", "-o", trace, "-F", "499", "--call-graph", "dump", "--",
                           e2e.program("callbacks"), "3")
        self.wait_for_rows(trace, child, "sample")
        child.send_signal(signal.SIGSTOP)
        time.sleep(1)
        child.send_signal(signal.SIGCONT)
        self.assertEqual(child.wait(e2e.SECONDS), 0)
        self.assertGreater(len(self.late(trace)), 0)
        self.check_report(trace)

    def check_report(self, trace):
        folded = [line for line in e2e.ebreport("folded", trace).splitlines()
                  if line.startswith("callbacks;")]
        weights = [int(line.rsplit(" ", 1)[1]) for line in folded]
        whole = sum(weight for weight, line in zip(weights, folded) if ";main;" in line)
        self.assertGreater(whole / sum(weights), 0.95)

    def test_report_finishes(self):
        trace = self.record("-F", "999", "--call-graph", "dump", "--keep-stack-dumps", "--",
                            *WORKLOADS["C"])
        self.check_report(trace)
        # The files are not looked for, and the stacks stay as they are; so does `dump`.
        folded = e2e.ebreport("folded", "--no-symbols", trace)
        self.assertFalse([line for line in folded.splitlines() if line.count("callbacks+") > 1])
        dumped = [row for row in e2e.Dump(trace).rows("sample") if row["udump"] != "x"]
        self.assertTrue(dumped)
        self.assertFalse([row for row in dumped if "," in row["ustack"]])

    def test_no_dumps(self):
        trace = self.record("-F", "999", "--call-graph", "table", "--no-stack-dump", "--",
                            *WORKLOADS["short"])
        self.assertFalse(any(size for _, size in stacks(trace)))


if __name__ == "__main__":
    e2e.main()

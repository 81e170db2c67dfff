# SPDX-License-Identifier: GPL-2.0-or-later
"""Part `arguments` of tests/bench/run: what texts, descriptors and names cost (-e syscalls): a
system call, by the time of processors that it takes its program, and whole programs, next to
-e syscalls:raw, strace -f -y and perf trace.
"""

import os
import subprocess

import probes

# ns of the program's processor for each round of calls of one kind.
CALLS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "", *path = "/etc/hostname";
	int n = argc > 2 ? atoi(argv[2]) : 1, zero = open("/dev/zero", O_RDWR);
	struct timespec a, b;
	struct stat st;
	char byte;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (int i = 0; i < n; i++) {
		if (!strcmp(kind, "read+write") && (read(zero, &byte, 1) < 0 || write(zero, &byte, 1) < 0))
			return 1;
		if (!strcmp(kind, "access") && access(path, R_OK))
			return 1;
		if (!strcmp(kind, "openat+close") && close(open(path, O_RDONLY)))
			return 1;
		if (!strcmp(kind, "fstat") && fstat(zero, &st))
			return 1;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	printf("%.0f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / n);
	return 0;
}
"""
KINDS = ["read+write", "access", "openat+close", "fstat"]
SOURCE = "#include <stdio.h>\nint main(void) { return puts(\"a\") < 0; }\n"


def ways(bench):
    ebrec = [bench.ebrec, "-q", "-f", "-b", "64M", "-o", bench.path("t.ebt")]
    return {
        "bare": [],
        "ebrec -e syscalls:raw": [*ebrec, "-e", "syscalls:raw", "--"],
        "ebrec -e syscalls": [*ebrec, "-e", "syscalls", "--"],
        "perf trace": ["unshare", "-m", "perf", "trace", "-o", bench.path("perf.txt"), "--"],
        "strace -f -y": ["strace", "-f", "-y", "-o", bench.path("strace.txt")],
    }


def calls(bench, table):
    program = probes.build(bench, "bench_calls", CALLS)
    lines = []
    for name, before in ways(bench).items():
        # Peers take 50 us and more for each call: a tenth of a second says as much.
        n = (100000 if "ebrec" in name or not before else 1000) * 10 // bench.scale
        costs = [probes.cost(bench.folder, *before, program, kind, n) for kind in KINDS]
        lines.append([name, *("not here" if ns is None else f"{ns:.0f}" for ns in costs)])
    table("System calls with their arguments: ns of the program's processor", ["", *KINDS], lines)


def whole(bench, table, took, timed):
    source = bench.path("a.c")
    with open(source, "w", encoding="ascii") as f:
        f.write(SOURCE)
    works = {"find /usr/include -newer /": ["find", "/usr/include", "-newer", "/"],
             "gcc": ["gcc", "-O2", source, "-o", bench.path("a")],
             "python3": ["/usr/bin/python3", "-c", "import json, http.client, unittest"]}
    for title, work in works.items():
        lines = []
        bare = None
        for name, before in ways(bench).items():
            # Once for caches; the loop makes the work longer than the start of a recorder.
            rounds = max(1, 20 // bench.scale)
            loop = ["sh", "-c", f'for i in $(seq {rounds}); do "$@" >/dev/null; done', "sh", *work]
            subprocess.run(work, check=True, stdout=subprocess.DEVNULL)
            seconds = took([*before, *timed(loop)], 3)
            bare = bare or seconds
            size = lost = rows = ""
            if "ebrec" in name:
                info = bench.info()
                counts = {row["name"]: row["row_count"] for row in info["rows"]}
                size, lost = os.path.getsize(bench.path("t.ebt")) / 1e6, bench.lost(info)
                rows = sum(counts.get(n, 0) for n in ("syscall", "syscall_arg", "fd", "socket"))
            lines.append([name, seconds, seconds / bare, size, rows, lost])
        table(f"A program that opens files: {title}", ["", "seconds", "x", "file MB", "rows", "lost"], lines)


def run(bench, table, took, timed):
    calls(bench, table)
    whole(bench, table, took, timed)

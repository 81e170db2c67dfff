# SPDX-License-Identifier: GPL-2.0-or-later
"""Part `probes` of tests/bench/run: what a call of a probed function costs its program, by the time
of processors that it takes, next to perf, which records the entry and the return by themselves; and
a hit of a tracepoint, with and without stacks.
"""

import subprocess

RUNS = 5

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) int probed(int n) { __asm__ volatile("" ::: "memory"); return n; }
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	struct timespec a, b;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (int i = 0; i < n; i++)
		probed(i);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	printf("%.0f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / n);
	return 0;
}
"""

# In frames as a program of some depth has them.
CALLS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void call(int n, int depth)
{
	if (depth)
		call(n, depth - 1);
	else
		for (int i = 0; i < n; i++)
			syscall(SYS_getppid);
	__asm__ volatile("");
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	struct timespec a, b;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	call(n, 10);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	printf("%.0f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / n);
	return 0;
}
"""

# In a mount namespace of its own, where it may mount tracefs.
PERF = """
mount -t tracefs bench /sys/kernel/tracing
perf="perf --buildid-dir $PWD/cache"
$perf probe -q -x "$1" bench_in=probed >/dev/null 2>&1
$perf probe -q -x "$1" bench_out=probed%return >/dev/null 2>&1
trap '$perf probe -q -d "*:bench_in" -d "*:bench_out*" >/dev/null 2>&1' EXIT
event=probe_$(basename "$1")
$perf record -q -e "$event:bench_in,$event:bench_out__return" -o perf.data "$@"
"""


def cost(folder, *command):
    """ns a call, as the program says: the median; None: it could not be done."""
    said = []
    for _ in range(RUNS):
        done = subprocess.run([str(c) for c in command], capture_output=True, cwd=folder,
                              check=False)
        if done.returncode or not done.stdout.split():
            return None
        said.append(float(done.stdout.split()[-1]))
    return sorted(said)[RUNS // 2]


def build(bench, name, text):
    source, program = bench.path(name + ".c"), bench.path(name)
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    subprocess.run(["cc", "-O2", source, "-o", program], check=True)
    return program


def compare(bench, table, title, ways, *command):
    lines = []
    for name, before in ways.items():
        ns = cost(bench.folder, *before, *command)
        lines.append([name, "not here" if ns is None else f"{ns:.0f}"])
    table(title, ["", "ns of the program's processor"], lines)


def run(bench, table):
    ebrec = [bench.ebrec, "-q", "-f", "-o", bench.path("p.ebt")]
    program = build(bench, "bench_probed", PROGRAM)
    compare(bench, table, "A call of a probed function", {
        "nobody probes it": [],
        "uprobe": [*ebrec, "-e", f"uprobe:{program}:probed", "--"],
        "uprobe --call-graph none":
            [*ebrec, "--call-graph", "none", "-e", f"uprobe:{program}:probed", "--"],
        "perf record, entry and return": ["unshare", "-m", "sh", "-c", PERF, "sh"],
    }, program, 200000 // bench.scale)
    event = "syscalls:sys_enter_getppid"
    perf = ["unshare", "-m", "perf", "record", "-q", "--buildid-mmap", "--synth=no", "-o",
            bench.path("perf.data"), "-e", event]
    compare(bench, table, "A system call with a tracepoint", {
        "nobody records it": [],
        "tp": [*ebrec, "-e", "tp:" + event, "--"],
        "tp --call-graph none": [*ebrec, "--call-graph", "none", "-e", "tp:" + event, "--"],
        "perf record": [*perf, "--"],
        "perf record -g": [*perf, "-g", "--"],
    }, build(bench, "bench_called", CALLS), 200000 // bench.scale)

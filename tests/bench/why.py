# SPDX-License-Identifier: GPL-2.0-or-later
"""Part `why` of tests/bench/run: the rate and the memory of the critical path, next to those of
`wall`; and what --what-if predicts for programs with a dial, against what they take when it is
turned.
"""

import json
import os
import subprocess
import time

import probes

# dial MODE A B: A and B are ms of what the mode does.
DIAL = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define ROUNDS 10
static long a, b;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void spin(double ms)
{
	struct timespec t, e;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &e);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while ((t.tv_sec - e.tv_sec) * 1e3 + (t.tv_nsec - e.tv_nsec) / 1e6 < ms);
}
static void nap(double ms)
{
	struct timespec t = { (long)ms / 1000, (long)(ms * 1e6) % 1000000000 };
	nanosleep(&t, NULL);
}
__attribute__((noinline)) static void first(double ms) { spin(ms); __asm__ volatile(""); }
__attribute__((noinline)) static void second(double ms) { spin(ms); __asm__ volatile("nop"); }
static void *run_first(void *arg) { first(a); return arg; }
static void *run_second(void *arg) { second(b); return arg; }
static void *hold(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		first(a / (double)ROUNDS);
		pthread_mutex_unlock(&lock);
		second(b / (double)ROUNDS);
	}
	return arg;
}
static void threads(void *(*x)(void *), void *(*y)(void *))
{
	pthread_t t[2];
	pthread_create(&t[0], NULL, x, NULL);
	pthread_create(&t[1], NULL, y, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}
static void both_ways(int type)
{
	int s[2];
	char c = 0;
	socketpair(AF_UNIX, type, 0, s);
	if (!fork()) {
		close(s[0]);
		while (read(s[1], &c, 1) > 0) {
			first(a / (double)ROUNDS);
			write(s[1], &c, 1);
		}
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		write(s[0], &c, 1);
		read(s[0], &c, 1);
		second(b / (double)ROUNDS);
	}
	close(s[0]);
}
static void stream(void)
{
	int p[2];
	char c = 0;
	pipe(p);
	if (!fork()) {
		close(p[0]);
		for (int i = 0; i < ROUNDS; i++) {
			first(a / (double)ROUNDS);
			write(p[1], &c, 1);
		}
		_exit(0);
	}
	close(p[1]);
	while (read(p[0], &c, 1) > 0)
		second(b / (double)ROUNDS);
}
static void children(void)
{
	if (!fork()) { first(a); _exit(0); }
	if (!fork()) { second(b); _exit(0); }
}
int main(int argc, char **argv)
{
	const char *mode = argv[1];
	if (argc != 4)
		return 1;
	a = atol(argv[2]);
	b = atol(argv[3]);
	if (!strcmp(mode, "both")) { first(a); second(b); }
	else if (!strcmp(mode, "nap")) { nap(a); second(b); }
	else if (!strcmp(mode, "threads")) threads(run_first, run_second);
	else if (!strcmp(mode, "lock")) threads(hold, hold);
	else if (!strcmp(mode, "server")) both_ways(SOCK_STREAM);
	else if (!strcmp(mode, "pipe")) stream();
	else if (!strcmp(mode, "children")) children();
	while (wait(NULL) > 0)
		;
	return 0;
}
"""
# Mode, A and B, the change, and A and B with it (or the CPUs before and after).
DIALS = [
    ("both", (400, 200), "first=0.5", (200, 200)),
    ("both", (400, 200), "second=0", (400, 0)),
    ("both", (200, 400), "first=2", (400, 400)),
    ("nap", (400, 200), "timer=0.5", (200, 200)),
    ("nap", (400, 200), "second=0.5", (400, 100)),
    ("threads", (500, 200), "first=0.5", (250, 200)),
    ("threads", (500, 200), "first=0.2", (100, 200)),
    ("threads", (500, 200), "second=0.5", (500, 100)),
    ("lock", (300, 100), "first=0.5", (150, 100)),
    ("lock", (300, 100), "second=0", (300, 0)),
    ("server", (400, 100), "first=0.5", (200, 100)),
    ("server", (400, 100), "second=0", (400, 0)),
    ("pipe", (400, 200), "first=0.25", (100, 200)),
    ("pipe", (400, 200), "second=0.5", (400, 100)),
    ("pipe", (200, 400), "second=0.5", (200, 200)),
    ("children", (400, 200), "first=0.5", (200, 200)),
    ("children", (400, 200), "second=0", (400, 0)),
    ("children", (400, 200), "first=0", (0, 200)),
    ("threads", (400, 300), "cpus=2", None),
    ("threads", (400, 300), "cpus=1", None),
]


def recorded(bench, program, mode, dial, cpus):
    trace = bench.path("dial.ebt")
    before = ["taskset", "-c", cpus] if cpus else []
    subprocess.run([bench.ebrec, "-q", "-f", "-o", trace, "--", *before, program, mode,
                    *map(str, dial)], check=True)
    return trace


def why(bench, trace, *arguments):
    done = subprocess.run([bench.ebreport, "why", "--json", *arguments, trace], check=True,
                          capture_output=True)
    return json.loads(done.stdout)


def turn(bench, program, mode, dial, change, turned):
    """The time before, the one that is predicted, and the one with the dial turned."""
    cpus = {"cpus=2": ("0", "0,1"), "cpus=1": ("0,1", "0")}.get(change, ("", ""))
    trace = recorded(bench, program, mode, dial, cpus[0])
    row, = why(bench, trace, "--what-if", change)["rows"]
    base, predicted = row["wall_ns"], row["predicted_ns"]
    after = why(bench, recorded(bench, program, mode, turned or dial, cpus[1]))["wall_ns"]
    return base, predicted, after


def dials(bench, table):
    program = probes.build(bench, "dial", DIAL)
    lines, errors = [], []
    for mode, dial, change, turned in DIALS:
        base, predicted, after = turn(bench, program, mode, dial, change, turned)
        errors.append(abs(100 * predicted / after - 100))
        lines.append([f"{mode} {dial[0]} {dial[1]}: {change}", base / 1e6, predicted / 1e6,
                      after / 1e6, f"{100 * predicted / after - 100:+.1f} %"])
    errors.sort()
    lines.append(["median", "", "", "", f"{errors[len(errors) // 2]:.1f} %"])
    lines.append(["worst", "", "", "", f"{errors[-1]:.1f} %"])
    table("What if: ms", ["", "recorded", "predicted", "measured", "error"], lines)


def rates(bench, table):
    lines = []
    for n in (1, 10):
        trace = bench.path("switches.ebt")
        loops = int(n * 1e6 / 3.6 / bench.scale)
        subprocess.run([bench.ebrec, "-q", "-f", "-b", "256M", "-o", trace, "--", "perf", "bench",
                        "sched", "pipe", "-l", str(loops)], check=True, stdout=subprocess.DEVNULL)
        counts = {row["name"]: row["row_count"] for row in bench.info("switches.ebt")["rows"]}
        for command in (["why"], ["why", "--what-if", "cpus=1"], ["wall"]):
            begin = time.monotonic()
            child = subprocess.Popen([bench.ebreport, *command, trace], stdout=subprocess.DEVNULL)
            _, _, used = os.wait4(child.pid, 0)
            child.returncode = 0
            seconds = time.monotonic() - begin
            switches = counts["sched_switch"]
            lines.append([" ".join(command), switches, seconds, switches / seconds / 1e6,
                          used.ru_maxrss * 1024 / 1e6])
    table("Switches", ["", "switches", "seconds", "million/s", "MB"], lines)


def run(bench, table):
    dials(bench, table)
    rates(bench, table)

# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports of a recording: stacks, their order, inlined functions and sums are those of `folded`."""

import collections
import json
import os
import re

import e2e

# Inlined functions in one that is not; names with arguments of templates, and with blanks.
SOURCE = """
#include <cmath>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>
static volatile double sink;
static inline __attribute__((always_inline)) double inner(double x)
{
	double sum = 0;
	for (int i = 0; i < 3000; i++)
		sum += std::sqrt(x + i);
	return sum;
}
static inline __attribute__((always_inline)) double middle(double x) { return inner(x) + inner(x + 1); }
template <class T> __attribute__((noinline)) T outer(const std::vector<T> &list)
{
	T sum = 0;
	for (T x : list)
		sum += middle(x);
	return sum * 2;
}
__attribute__((noinline)) void sleeps() { usleep(2000); }
/* As many stacks as levels, however fast the machine is. */
template <int LEVEL> __attribute__((noinline)) void run()
{
	for (int i = 0; i < 500; i++)
		sink = outer(std::vector<double>{ 1.5, 2.5, 3.5 });
	if constexpr (LEVEL > 0)
		run<LEVEL - 1>();
	asm volatile(""); // what is behind a call keeps its frame
}
template <int LEVEL> __attribute__((noinline)) void nap()
{
	for (int i = 0; i < 10; i++)
		sleeps();
	for (int i = 0; i < 500; i++)
		sink = outer(std::vector<double>{ 1.5 });
	if constexpr (LEVEL > 0)
		nap<LEVEL - 1>();
	asm volatile("");
}
int main()
{
	std::thread other([] {
		pthread_setname_np(pthread_self(), "the other one");
		nap<9>();
	});
	run<9>();
	other.join();
}
"""
FRAME = re.compile(r"\t *[0-9a-f]+ (.+) \((\S*)\)")
EVENT = re.compile(r"(\S.*?) +(\d+)/(\d+) +\[(\d+)\] +(\d+\.\d{6}): +(\d+) (\S+):")


def perf_stacks(text):
    """Folded stacks with ns, inlined functions, and ns of each thread."""
    stacks, inlined, threads, at = collections.Counter(), set(), collections.Counter(), None
    for line in text.splitlines():
        event, frame = EVENT.fullmatch(line), FRAME.fullmatch(line)
        if event:
            at, ns = [], int(event[6])
            threads[event[1], int(event[3])] += ns
        elif frame:
            at.append(frame[1])
            if frame[2] == "inlined":
                inlined.add(frame[1])
        else:
            assert line == "" and at is not None, line
            stacks[";".join(reversed(at))] += ns
    return stacks, inlined, threads


def speedscope_stacks(file, ending):
    """The same of its profiles of threads that end so."""
    stacks = collections.Counter()
    names = [frame["name"] for frame in file["shared"]["frames"]]
    for profile in file["profiles"][1:]:
        if profile["name"].endswith(ending):
            for stack, ns in zip(profile["samples"], profile["weights"]):
                stacks[";".join(names[i] for i in stack)] += ns if stack else 0
    del stacks[""]
    return stacks


class Exports(e2e.TestCase):
    def setUp(self):
        super().setUp()
        with open(self.path("inlines.cc"), "w", encoding="ascii") as file:
            file.write(SOURCE)
        e2e.run("g++", "-O2", "-g", "-pthread", "-o", self.path("inlines"), file.name)
        self.trace = self.record("-e", "default", "-F", "999", "--", self.path("inlines"))

    def equal(self, got, wanted, what):
        self.assertEqual((got - wanted, wanted - got), ({}, {}), what)
        self.assertGreater(len(wanted), 5, what)

    def test_stacks(self):
        def folded(*options):
            # What a thread does while it runs for nobody has no frame.
            return collections.Counter({re.sub(" ?;", ";", stack): ns for stack, ns in
                                        e2e.folded(self.trace, "--by", "none", *options).items() if stack})

        wanted, asleep = folded(), folded("--event", "offcpu")
        stacks, inlined, threads = perf_stacks(e2e.ebreport("export", "--to", "perf-script", self.trace))
        named = {re.sub(r"[^;]+\+0x[0-9a-f]+|0x[0-9a-f]+", "[unknown]", stack): 0 for stack in wanted}
        for stack, ns in wanted.items():
            named[re.sub(r"[^;]+\+0x[0-9a-f]+|0x[0-9a-f]+", "[unknown]", stack)] += ns
        self.equal(stacks, collections.Counter(named), "perf-script")
        self.assertTrue({"inner", "middle"} <= inlined, inlined)
        self.assertIn("the other one", {name for name, _ in threads})
        order = next(stack for stack in stacks if "outer" in stack).split(";")
        outer = next(i for i, name in enumerate(order) if "outer" in name)
        self.assertEqual(order[outer + 1], "middle")

        file = json.loads(e2e.ebreport("export", "--to", "speedscope", self.trace))
        self.equal(speedscope_stacks(file, ")"), wanted, "speedscope")
        asleep_there = collections.Counter()
        for stack, ns in speedscope_stacks(file, ", off CPU").items():
            asleep_there[stack.rpartition(";")[0] or "[no frames]"] += ns
        self.equal(asleep_there, asleep, "speedscope, off CPU")

    def test_time_lines(self):
        """Of a recording of all sources, by readers of their own."""
        work = ("dd if=/dev/zero of=$1/file bs=64K count=20 oflag=dsync 2>&1; "
                "python3 -c 'import socket as s; l = s.create_server((\"127.0.0.1\", 0)); "
                "c = s.create_connection(l.getsockname()); c.sendall(b\"x\" * 9000)'; $1/inlines; "
                "$2 threads 20; sleep 1; $2 threads 20; sleep 3; $2 threads 20")  # until the program is known
        trace = self.record("-e", "all", "--capture-output", "--", "bash", "-c", work, "work", self.folder,
                            e2e.program("marks"))
        e2e.run("python3", "-B", os.path.join(e2e.SOURCE, "tests/checks/check_export_chrome.py"), "none",
                e2e.EBREPORT, trace)
        e2e.run("python3", "-B", os.path.join(e2e.SOURCE, "tests/checks/check_perfetto.py"), "none",
                e2e.EBREPORT, "protoc", trace)


if __name__ == "__main__":
    e2e.main()

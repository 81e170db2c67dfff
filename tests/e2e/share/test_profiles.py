# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport export --to pprof` and `--to otlp` of a recording, read by `go tool pprof` and by code that
shares nothing with ebreport: names, what is inlined, files, and the sums of the reports."""

import os
import re
import subprocess
import sys
import tempfile

import e2e

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/checks"))
import check_otlp  # noqa: E402
import check_pprof  # noqa: E402
import failed  # noqa: E402

SOURCE = """
#include <chrono>
#include <cmath>
#include <fcntl.h>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static volatile double sink;

static inline __attribute__((always_inline)) double inner(double x)
{
	double sum = 0;

	for (int i = 0; i < 2000; i++)
		sum += std::sqrt(x + i);
	return sum;
}

static inline __attribute__((always_inline)) double middle(double x)
{
	return inner(x) + inner(x + 1);
}

template<class Value> struct work {
	__attribute__((noinline)) static Value outer(const std::vector<Value> &values)
	{
		Value sum = 0;

		for (Value value : values)
			sum += middle(value);
		return sum;
	}
};

static void run(const char *name)
{
	const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
	const std::vector<double> values(8, 1.5);

	pthread_setname_np(pthread_self(), name);
	for (int i = 0; std::chrono::steady_clock::now() < end; i++) {
		sink = work<double>::outer(values);
		if (i % 50)
			continue;
		usleep(2000);
		close(open("/dev/null", O_RDONLY));
	}
}

int main()
{
	std::thread second(run, "second one");

	run("first;one");
	second.join();
}
"""
OUTER = "work<double>::outer"


class Profiles(e2e.TestCase):
    def traced(self):
        program, source = self.path("layered"), self.path("layered.cc")
        with open(source, "w", encoding="utf-8") as f:
            f.write(SOURCE)
        e2e.run("g++", "-g", "-O2", "-pthread", "-Wl,--build-id", "-o", program, source)
        return program, self.record("-e", "sample,sched,offcpu,task,kmem", "--", program)

    def pprof(self, *arguments):
        return e2e.run("go", "tool", "pprof", *arguments).stdout.decode()

    def profile(self, trace, *event):
        path = self.path("t.pb.gz")
        e2e.ebreport("export", "--to", "pprof", "-o", path, *event, trace)
        return path

    def test_names(self):
        program, trace = self.traced()
        path = self.profile(trace)
        # With what it does to names that it takes for mangled.
        top = self.pprof("-top", "-nodecount=1000", path)
        self.assertRegex(top, rf"(?m)^ .* {re.escape(OUTER)}")
        self.assertRegex(top, r"(?m)^ .* inner \(inline\)$")
        traces = self.pprof("-traces", path)
        self.assertRegex(traces, rf" inner \(inline\)\n +middle \(inline\)\n +{re.escape(OUTER)}.*\n +run\(")
        lines = self.pprof("-lines", "-top", "-nodecount=1000", path)
        self.assertRegex(lines, r" inner .*layered\.cc:1[78] \(inline\)")
        tags = self.pprof("-tags", path)
        self.assertIn("second one", tags)
        # One address, one location: the three functions of it are its lines.
        raw = check_pprof.Profile(self.pprof("-symbolize=none", "-raw", path))
        self.assertIn(["inner", "middle"], [names[:2] for names in raw.locations.values()])
        self.assertNotIn(["inner"], list(raw.locations.values()))
        self.check_files(raw, program)

    def check_files(self, raw, program):
        """The first is the program; each has the build-id that the file says."""
        self.assertEqual(raw.mappings[min(raw.mappings)][0], program)
        told = 0
        for name, build_id, flags in raw.mappings.values():
            if not os.path.isfile(name):
                continue
            notes = e2e.run("readelf", "-n", name).stdout.decode()
            self.assertEqual(re.search(r"Build ID: (\w+)", notes)[1], build_id, name)
            told += 1
            if name == program:
                self.assertEqual(flags, "[FN][FL][LN][IN]")
        self.assertGreaterEqual(told, 2)

    def test_sums(self):
        """Every stack of every thread, and the totals of other reports."""
        _, trace = self.traced()
        for check, reader in (check_pprof, "go"), (check_otlp, "protoc"):
            with tempfile.TemporaryDirectory() as folder:
                link = os.path.join(folder, "t.ebt")
                os.symlink(trace, link)
                self.assertGreater(check.check_trace(e2e.EBREPORT, reader, link, reader), 0)
            self.assertEqual(failed.found, 0)
        raw = check_pprof.Profile(self.pprof("-raw", self.profile(trace)))
        self.assertEqual(sum(values[1] for values, _, _ in raw.samples),
                         sum(row["self_ns"] for row in e2e.rows("callgraph", trace)))
        raw = check_pprof.Profile(self.pprof("-raw", self.profile(trace, "--event", "offcpu")))
        self.assertEqual(sum(values[1] for values, _, _ in raw.samples),
                         sum(row["total_ns"] for row in e2e.rows("offcpu", trace, "--kernel-threads")))
        raw = check_pprof.Profile(self.pprof("-raw", self.profile(trace, "--event", "kmem_alloc", "--weight", "bytes")))
        self.assertEqual(raw.types, ["alloc_objects/count", "alloc_space/bytes"])
        self.assertGreater(sum(values[1] for values, _, _ in raw.samples), 0)

    def test_output(self):
        """An earlier export is replaced, what else is packed is not."""
        _, trace = self.traced()
        path = self.profile(trace)
        before = os.path.getsize(path)
        self.profile(trace, "--event", "offcpu")
        self.assertNotEqual(os.path.getsize(path), before)
        with open(path, "wb") as f:
            f.write(subprocess.run(["gzip", "-c", trace], capture_output=True, check=True).stdout)
        done = e2e.run(e2e.EBREPORT, "export", "--to", "pprof", "-o", path, trace, status=None)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"is a compressed file", done.stderr)


if __name__ == "__main__":
    e2e.main()

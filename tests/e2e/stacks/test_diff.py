# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport diff` of programs that used known CPU times, built twice, in two folders."""

import math
import os
import re
import subprocess
import xml.etree.ElementTree

import e2e

# Each function uses as many ms of CPU time as its argument says, a few ms at a time.
PROGRAM = r"""
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

#define BURN(name)                                                                   \
	static __attribute__((noinline, noclone)) void name(double until)            \
	{                                                                            \
		while (now() < until)                                                \
			for (int i = 0; i < 20000; i++)                              \
				sink += i;                                           \
	}
BURN(alpha)
BURN(beta)
BURN(gamma_ray)
BURN(delta)

static __attribute__((noinline)) void work(char **argv)
{
	double until = now();

	for (int round = 0; round < 100; round++) {
		alpha(until += atof(argv[1]) / 100);
		beta(until += atof(argv[2]) / 100);
		gamma_ray(until += atof(argv[3]) / 100);
		if (atof(argv[4]) > 0) /* else not one sample may be in it */
			delta(until += atof(argv[4]) / 100);
	}
}

int main(int argc, char **argv)
{
	work(argv);
	return argc != 5;
}
"""
NAMES = ("alpha", "beta", "gamma_ray", "delta")
BEFORE = (400, 300, 200, 0)  # ms
AFTER = (400, 100, 450, 100)
SVG = "{http://www.w3.org/2000/svg}"


class Diff(e2e.TestCase):
    def record_run(self, name, times, *flags):
        folder = self.path(name)
        os.mkdir(folder)
        source, program = os.path.join(folder, "p.c"), os.path.join(folder, "known")
        with open(source, "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer",
                        *flags, "-fno-ipa-icf", "-o", program, source], check=True)
        return self.record("-F", "999", "--", program, *map(str, times), name=name + ".ebt")

    def assert_change(self, row, known_ms):
        """The change is what the program did, as far as samples can tell."""
        error = row.get("error_ns", 0) / 1e6
        self.assertLess(abs(row["change_ns"] / 1e6 - known_ms), 4 * error + 0.1 * abs(known_ms),
                        row)

    @staticmethod
    def diff(before, after, *options):
        # The helper puts its trace last.
        return e2e.report_json("diff", after, *options, before)

    def rows(self, before, after, *options):
        return {row["function"]: row for row in self.diff(before, after, *options)["rows"]}

    def test_known_changes(self):
        before = self.record_run("before", BEFORE)
        after = self.record_run("after", AFTER, "-O2")
        rows = self.rows(before, after, "--by", "total")
        for name, old, new in zip(NAMES, BEFORE, AFTER):
            self.assert_change(rows[name], new - old)
            self.assertEqual(rows[name]["within_error"],
                             abs(rows[name]["change_ns"]) < 2.576 * rows[name]["error_ns"],
                             rows[name])
            if old != new:
                self.assertFalse(rows[name]["within_error"], rows[name])
        self.assertNotIn("change_percent", rows["delta"])
        for name in ("beta", "gamma_ray"):
            row = rows[name]
            self.assertAlmostEqual(row["change_percent"],
                                   100 * row["change_ns"] / row["before_ns"], delta=0.01)
        # As shares of the total, what stayed has shrunk, and changes sum up to nothing.
        report = self.diff(before, after, "--per", "total")
        total = {row["trace"]: row["total_ns"] for row in report["traces"]}
        self.assertLess(abs(sum(row["change_ns"] for row in report["rows"])),
                        0.001 * total["after"])
        shares = self.rows(before, after, "--by", "total", "--per", "total")
        self.assert_change(shares["alpha"], AFTER[0] - BEFORE[0] * sum(AFTER) / sum(BEFORE))
        text = e2e.ebreport("diff", "--by", "total", before, after)
        self.assertEqual(bool(re.search(r"(?m)^.*within sampling error +alpha +known$", text)),
                         rows["alpha"]["within_error"])
        self.assertEqual(len(e2e.report_csv("diff", after, before)), len(report["rows"]))
        self.check_picture(before, after, rows["alpha"]["within_error"])
        self.check_errors(before, after)

    def check_errors(self, before, after):
        """The error is that of two counts."""
        report = self.diff(before, after)
        period = report["traces"][0]["total_ns"] / report["traces"][0]["stack_count"]
        for row in report["rows"]:
            counts = (row["before_ns"] + row["after_ns"]) / period + 2
            self.assertAlmostEqual(row["error_ns"], period * math.sqrt(counts),
                                   delta=0.02 * row["error_ns"])

    def check_picture(self, before, after, alpha_is_same):
        """Frames are where the flame graph has them; their colours say what the table says."""
        path = self.path("diff.svg")
        for trace, options in ((after, []), (before, ["--before"])):
            e2e.run(e2e.EBREPORT, "diff", before, after, "--flame", *options, "-o", path)
            frames = xml.etree.ElementTree.parse(path).find(f".//{SVG}g[@id='frames']")
            plain = xml.etree.ElementTree.fromstring(e2e.ebreport("flame", trace))
            plain = plain.find(f".//{SVG}g[@id='frames']")
            self.assertEqual([(g.get("data-s"), g.get("data-v"), g.get("data-d")) for g in frames],
                             [(g.get("data-s"), g.get("data-v"), g.get("data-d")) for g in plain])
            colours = {g.find(SVG + "title").text.split("\n")[0]: g.get("class") for g in frames
                       if re.match(r"(alpha|beta|gamma_ray|delta)\n",
                                   g.find(SVG + "title").text)}
            self.assertEqual(colours["alpha"] == "same", alpha_is_same)
            self.assertRegex(colours["beta"], "^less[0-3]$")
            self.assertRegex(colours["gamma_ray"], "^more[0-3]$")
            self.assertEqual("delta" in colours, trace == after)

    def test_nothing_changed(self):
        before = self.record_run("one", BEFORE)
        after = self.record_run("two", BEFORE)
        rows = self.diff(before, after)["rows"]
        self.assertGreater(len(rows), len(NAMES) - 1)
        changed = [row["function"] for row in rows if not row["within_error"]]
        for row in rows:
            if row["function"] in NAMES:
                self.assert_change(row, 0)
        # What the kernel does in between depends on the machine's load.
        self.assertLessEqual(len(changed), 2 + len(rows) // 10, changed)
        # A trace is as itself: no change anywhere, on and off CPU.
        for event in ("cpu", "offcpu"):
            self.assertFalse([row for row in self.diff(before, before, "--event", event)["rows"]
                              if row["change_ns"]])

    def test_usage(self):
        trace = self.record("--", "true")
        for arguments in ([trace], [trace, trace, trace], [trace, self.path("no.ebt")],
                          [trace, trace, "--before"], [trace, trace, "--flame", "--json"]):
            done = e2e.run(e2e.EBREPORT, "diff", *arguments, status=None)
            self.assertIn(done.returncode, (1, 2))
            self.assertTrue(done.stderr)
        size = os.path.getsize(trace)
        other = self.record("--", "true", name="other.ebt")
        e2e.run(e2e.EBREPORT, "diff", other, trace, "-o", trace, status=2)
        self.assertEqual(os.path.getsize(trace), size)


if __name__ == "__main__":
    e2e.main()

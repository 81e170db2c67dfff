# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of real recordings, in a browser: its numbers are those of the reports, its features work,
and what it says that threads did is what they say of themselves."""

import os
import sys

import e2e

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/browser"))
import check_page  # noqa: E402
import npm  # noqa: E402

BUILD = os.path.join(os.path.dirname(e2e.PROGRAMS), "browser")
ROUNDS, ROUND_MS = 6, 400
MOST = 2_000_000  # bytes of the page of a small trace


class Html(e2e.TestCase):
    def drive(self, name, files, **more):
        script = os.path.join(e2e.SOURCE, "tests/browser", f"page_{name}.mjs")
        self.assertEqual(check_page.drive(script, BUILD, self.folder, e2e.EBREPORT, files, **more), 0, name)

    def quickstart(self):
        """What tools/quickstart records, with a tree of the same size on each machine."""
        work = f"{e2e.program('shares')} 1 2; " \
               "find /usr/share /usr/include | head -n 50000 | sort | gzip >/dev/null"
        return self.record("-e", "default,syscalls", "-F", "999", "--", "sh", "-c", work)

    def test_quickstart(self):
        trace = self.quickstart()
        page = check_page.make_page(e2e.EBREPORT, self.folder, "small", [trace])
        self.assertLess(os.path.getsize(page), MOST)
        self.drive("numbers", {"recorded": [trace]})

    @e2e.exact
    def test_plan(self):
        """A thread that is to run does, or waits for a CPU; one that waits does, for what it waits for."""
        for _ in range(8 if e2e.process_1_is_hidden() else 1):
            trace = self.record("--", e2e.program("timetable"), ROUNDS, ROUND_MS)
            if not e2e.hidden_runs(e2e.report_json("sched", trace)):
                break
        self.assert_no_loss(trace)
        self.assertFalse(e2e.hidden_runs(e2e.report_json("sched", trace)))
        begin, phases = e2e.start_ns(trace), []
        for line in self.recorded.stdout.decode().splitlines():
            tid, name, what, start, end = line.split()
            phases.append({"tid": int(tid), "name": name, "what": what, "from": int(start) - begin,
                           "to": int(end) - begin})
        self.drive("plan", {"plan": [trace]}, plan=phases)


if __name__ == "__main__":
    if os.geteuid() == 0:
        npm.driver(BUILD)  # or it is skipped
    e2e.main()

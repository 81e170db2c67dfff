# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that fork without exec, exec, and map one library where another one was."""

import e2e

WORK = ["parent_work;burn", "child_work;burn", "grandchild_work;burn", "exec_work;burn",
        "work;plugin_one", "work;plugin_two"]


class Spaces(e2e.TestCase):
    def test_spaces(self):
        trace = self.record("-F", "999", "--", e2e.program("spaces"),
                            e2e.program("plugin_one.so"), e2e.program("plugin_two.so"))
        self.assert_no_loss(trace)
        folded = [line.rsplit(" ", 1) for line in e2e.ebreport("folded", trace).splitlines()]
        total = sum(int(weight) for _, weight in folded)
        for work in WORK:
            share = sum(int(weight) for stack, weight in folded if f";{work}" in stack) / total
            # All burn the same CPU time; a busy machine adds to some.
            self.assertAlmostEqual(share, 1 / len(WORK), delta=0.08, msg=work)
        # That was worth testing: the plugins were at the same address.
        starts = {row["path"].rsplit("/", 1)[1]: row["start"]
                  for row in e2e.Dump(trace).rows("mmap") if "plugin_" in row["path"]}
        self.assertEqual(len(starts), 2)
        self.assertEqual(len(set(starts.values())), 1)
        self.assertNotIn("no room", e2e.ebreport("info", "--all", trace))

    def test_too_many(self):
        """More mappings than walks have room for are told."""
        script = ("import mmap, sys\n"
                  "with open(sys.executable, 'rb') as f:\n"
                  "    fd = f.fileno()\n"
                  "    keep = [mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_EXEC)\n"
                  "            for _ in range(5000)]\n")
        trace = self.record("-e", "sample", "--", "/usr/bin/python3", "-c", script)
        self.assertRegex(e2e.ebreport("info", "--all", trace), r"Mappings +[1-9]\d* times .* no room")


if __name__ == "__main__":
    e2e.main()

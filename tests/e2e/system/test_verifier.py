# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's verifier has to go through for each BPF program, and a budget for it."""

import sys

import e2e

# A recording begins when its programs are verified, a million instructions in about a second. How
# many the kernel counts depends on its version and on clang's, neither of which is ours to choose:
# half of it is for them.
BUDGET = 170000
START_BUDGET = 120000  # of all programs that are loaded if nothing else is asked for
# Of programs by the beginnings of their names, where there is a loop that is not gone through, or one way for many.
LESS = {"ebrec_block_": 28000, "ebrec_cache_": 3000, "ebrec_fault_m": 8000}

# Sources that have to be told what: a tracepoint with a trace event, and one without; a function.
PROBES = "tp:sched:sched_process_exec,tp:sched:pelt_cfs_tp,uprobe:libc.so.6:exit"
STACKS = f"sample,offcpu,fault,lock,kmem,{PROBES}"  # those of which some program depends on a way below

# Ways to record that load different programs, or constants by which they are verified differently, and
# sources with such programs.
VARIANTS = {"": f"all,{PROBES}", "--call-graph fp": STACKS, "--call-graph dump": STACKS,
            "--call-graph none": STACKS, "--min-block 1ms": STACKS, "--max-stack 512": STACKS,
            "--no-python": "offcpu,syscalls:args", "--no-stack-dump --call-graph none": "offcpu"}

# Lines of a shell that record in each of these ways; `verified` gets what the verifier counted.
SCRIPT = "\n".join(f"echo '# {variant}' >>verified\n"
                   "VERIFIED=verified LD_PRELOAD=$PRELOAD "
                   f"$EBREC -f -q -e {sources} {variant} -o verified.ebt -- true"
                   for variant, sources in VARIANTS.items()) + """
VERIFIED=start LD_PRELOAD=$PRELOAD $EBREC -f -q -o verified.ebt -- true"""


def most(text):
    """Most instructions counted, by program; names are the kernel's, of 15 letters. A program of
    which libbpf or the kernel is only asked something has another name than ours have."""
    counts = {}
    for line in text.splitlines():
        name, _, count = line.partition(" ")
        if name.startswith("ebrec_"):
            if not count.isdigit():
                raise AssertionError(f"{name} {count}, a program was not loaded:\n{text}")
            counts[name] = max(counts.get(name, 0), int(count))
    return counts


def budget(name):
    return next((less for beginning, less in LESS.items() if name.startswith(beginning)), BUDGET)


def check(test, text, start, kernel):
    """All programs were loaded, and within the budget. start: what counts for the usual sources."""
    test.assertEqual(text.count("#"), len(VARIANTS), text)
    counts = most(text)
    print(f"\n    {kernel}: of {BUDGET} instructions", file=sys.stderr)
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"    {count:9} {name}", file=sys.stderr)
    test.assertGreater(len(counts), 5)
    for name, count in counts.items():
        test.assertGreater(count, 0, f"{name}: this kernel does not tell")
        test.assertLessEqual(count, budget(name), name)
    counts = most(start)
    print(f"    {sum(counts.values()):9} to begin, of {START_BUDGET}", file=sys.stderr)
    test.assertIn("ebrec_sched_swi", counts)
    test.assertLessEqual(sum(counts.values()), START_BUDGET)


class Verifier(e2e.TestCase):
    def test_budget(self):
        e2e.run("sh", "-ec", f"EBREC={e2e.EBREC} PRELOAD={e2e.program('verified.so')}\n" + SCRIPT,
                cwd=self.folder)
        texts = []
        for name in ("verified", "start"):
            with open(self.path(name), encoding="utf-8") as f:
                texts.append(f.read())
        check(self, *texts, "this kernel")


if __name__ == "__main__":
    e2e.main()

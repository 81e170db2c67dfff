# SPDX-License-Identifier: GPL-2.0-or-later
"""Each source alone: a source that is off has no programs and no maps in the kernel, and one that
this kernel lacks does not take others with it.

What is in the kernel comes from /proc/PID/fdinfo and bpftool, what should be there from the names
of programs and maps in record/bpf. A kernel without the hooks of a source is this one with another
file in the place of its type information, which is all that ebrec goes by.
"""

import glob
import json
import os
import re

import e2e

FOLDER = os.path.join(e2e.SOURCE, "record")
# Sources whose programs are in files of another name.
FILES = {"offcpu": ["sched"], "tp": ["probe_tp"], "uprobe": ["probe_user"],
         "usdt": ["probe_user"]}
# What those record that have to be told.
ASKED = {"tp": "tp:sched:sched_process_exec", "uprobe": "uprobe:libc.so.6:exit",
         "usdt": "usdt:/usr/bin/python3:python:line"}
# Reads what its parent, the recorder, has in the kernel.
LOOK = r"""
cat /proc/$PPID/fdinfo/* 2>/dev/null
echo ==
bpftool prog show -j
echo ==
sed -n 's/^map_id:[[:space:]]*//p' /proc/$PPID/fdinfo/* 2>/dev/null | sort -u |
    while read -r id; do bpftool -j map show id "$id"; done || :
"""


def listed():
    """{source: {"doc": text, "cost": …, "here": …}} of --list-events."""
    found, name = {}, None
    for line in e2e.run(e2e.EBREC, "--list-events").stdout.decode().splitlines():
        if not line.startswith(" "):
            name, doc = line.split(None, 1)
            found[name] = {"doc": doc}
        else:
            key, text = line.split(":", 1)
            found[name][key.strip()] = text.strip()
    return found


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def written(name):
    """Programs and maps of record/bpf/NAME.bpf.c, and maps of the headers that it includes."""
    text = read(os.path.join(FOLDER, "bpf", name + ".bpf.c"))
    programs = set(re.findall(r"^int BPF_PROG\((\w+)", text, re.M))
    programs |= set(re.findall(r"^int (ebrec_\w+)\(", text, re.M))
    programs |= set(re.findall(r"^[A-Z_]+\(\w+, (ebrec_\w+)", text, re.M))
    # Those that a macro writes: VECTOR(reschedule, …) makes ebrec_reschedule_entry.
    programs |= {f"ebrec_{argument}{end}" for argument in re.findall(r"^[A-Z_]+\((\w+)", text, re.M)
                 for end in re.findall(r"ebrec_##\w+##(\w+)", text)}
    maps, todo, seen = set(), [name + ".bpf.c"], set()
    while todo:
        path = os.path.join(FOLDER, "bpf", todo.pop())
        if path in seen or not os.path.exists(path):
            continue
        seen.add(path)
        text = read(path)
        maps |= set(re.findall(r"^} (\w+) SEC\(\"\.maps\"\)", text, re.M))
        maps |= set(re.findall(r"^EBREC_[A-Z_]+\((\w+)", text, re.M))
        todo += re.findall(r'^#include "record/bpf/(\w+(?:\.bpf)?\.h)"', text, re.M)
    return programs, maps


def files_of(source):
    if source in FILES:
        return FILES[source]
    names = [os.path.basename(p)[:-6] for p in glob.glob(os.path.join(FOLDER, "bpf", "*.bpf.c"))]
    return [n for n in names if n == source or n.startswith(source + "_")]


class Sources(e2e.TestCase):
    def loaded(self, sources):
        """Names of the programs and of the maps while these sources record."""
        self.record("-e", ",".join(ASKED.get(s, s) for s in sources), "--", "sh", "-c", LOOK)
        fds, programs, maps = self.recorded.stdout.decode().split("==\n")
        ids = set(map(int, re.findall(r"^prog_id:\s*(\d+)", fds, re.M)))
        programs = {p["name"] for p in json.loads(programs) if p["id"] in ids}
        # The kernel keeps 15 characters of a map's name. One may be gone since.
        maps = {m["name"][:15] for m in map(json.loads, maps.splitlines()) if "error" not in m}
        return programs, maps

    def test_each_alone(self):
        always = self.loaded(["task"])
        self.assertIn("ebrec_fork", always[0])
        alone = {}
        for source, about in listed().items():
            with self.subTest(source=source):
                programs, maps = alone[source] = self.loaded([source])
                mine = [written(name) for name in files_of(source)]
                own, own_maps = programs - always[0], maps - always[1]
                allowed = set().union(*(p for p, _ in mine), *[set()])
                allowed_maps = {m[:15] for _, names in mine for m in names}
                if "STACK" in "".join(self.tables_of(source)):
                    allowed |= written("event_stack")[0] | written("unwind_exec")[0]
                    allowed_maps |= {m[:15] for name in ("event_stack", "unwind_exec")
                                     for m in written(name)[1]}
                self.assertEqual(own - allowed, set())
                self.assertEqual(own_maps - allowed_maps, set())
                if mine and source != "task" and not about["here"].startswith("no"):
                    self.assertTrue(own, "no programs of its own")
        # Several have what each of them has, and nothing else.
        names = sorted(alone)
        for group in [names[i::4] for i in range(4)] + [names]:
            with self.subTest(group=group):
                programs, maps = self.loaded(group)
                self.assertEqual(programs, set().union(*(alone[name][0] for name in group)))
                self.assertEqual(maps, set().union(*(alone[name][1] for name in group)))

    def tables_of(self, source):
        """Types of the fields of the source's tables, as the table of events has them."""
        path = os.path.join(FOLDER, "sources", f"{source}.c")
        if not os.path.exists(path):
            path = os.path.join(FOLDER, "sources", f"{FILES[source][0]}.c")
        text = read(path)
        block = re.search(r'\.name = "%s",.*?\n};' % source, text, re.S)[0]
        tables = re.findall(r"EBT_T_(\w+)", block)
        defs = "".join(read(p) for p in glob.glob(os.path.join(e2e.SOURCE, "format/events/*.def")))
        for table in tables:
            yield from re.findall(rf"EBT_FIELD\({table}, \d+, [^,]+, \w+, (\w+)", defs)

    def test_list(self):
        sources = listed()
        self.assertGreaterEqual(set(sources), {"sample", "sched", "offcpu", "syscalls", "task"})
        for name, about in sources.items():
            with self.subTest(source=name):
                self.assertRegex(about["cost"], r"\w")
                self.assertRegex(about["here"], r"^(yes|no|in part)")

    # --- a kernel that lacks something ---

    def without(self, prefix):
        """The start of a command that runs on a kernel without tracepoints of this prefix."""
        with open("/sys/kernel/btf/vmlinux", "rb") as f:
            types = f.read()
        name = b"\0btf_trace_" + prefix.encode()
        self.assertIn(name, types)
        path = self.path("btf")
        with open(path, "wb") as f:
            f.write(types.replace(name, b"\0btf_trxce_" + prefix.encode()))
        return ["unshare", "-m", "sh", "-c",
                f'mount --bind {path} /sys/kernel/btf/vmlinux && exec "$@"', "sh", e2e.EBREC]

    def test_kernel_without_block(self):
        ebrec = self.without("block_")
        text = e2e.run(*ebrec, "--list-events").stdout.decode()
        self.assertRegex(text, r"(?m)^block .*\n.*\n +here: no \(this kernel has no tracepoint block_")
        self.assertRegex(text, r"(?m)^net .*\n.*\n +here: yes")
        trace = self.path("net.ebt")
        e2e.run(*ebrec, "-f", "-o", trace, "-e", "net", "--", "sh", "-c",
                "exec python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); "
                "socket.create_connection(s.getsockname()).sendall(b\"x\" * 1000)'")
        self.assert_no_loss(trace)
        self.assertEqual(self.states(trace)["net"][0], "on")
        self.assertGreater(sum(t["row_count"] for n, t in e2e.tables(trace).items()
                               if n.startswith(("net_", "tcp_", "sock"))), 2)

    def test_kernel_without_half_of_a_pair(self):
        text = e2e.run(*self.without("page_fault_kernel"), "--list-events").stdout.decode()
        self.assertRegex(text, r"(?m)^fault .*\n.*\n +here: in part \(this kernel has no tracepoint "
                               "page_fault_kernel: no access, no duration")

    def test_all_without_block(self):
        ebrec = self.without("block_")
        trace = self.path("all.ebt")
        done = e2e.run(*ebrec, "-f", "-o", trace, "-e", "all", "--", "ls", "-R", "/usr/share/doc")
        self.assertRegex(done.stderr.decode(),
                         r"source block: this kernel has no tracepoint block_")
        states = self.states(trace)
        self.assertEqual(states["block"][0], "unavailable")
        self.assertRegex(states["block"][1], "this kernel has no tracepoint block_")
        for name, about in listed().items():
            # What has no programs depends on other things than the kernel.
            if (name != "block" and name not in ASKED and files_of(name)
                    and not about["here"].startswith("no")):
                self.assertIn(states[name][0], ("on", "partial"), name)
        self.assertGreater(e2e.tables(trace)["sched_switch"]["row_count"], 0)

    def states(self, trace):
        return {s["name"]: (s["status"], s.get("detail", ""))
                for s in e2e.report_json("info", trace)["sources"]}


if __name__ == "__main__":
    e2e.main()

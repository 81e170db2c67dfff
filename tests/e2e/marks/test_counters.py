# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters: between what /proc and /sys say just before the recording and just after it."""

import glob
import json
import os
import re

import e2e

CPU_MODES = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest",
             "guest_nice"]
DISK = ["read_ios", "read_merges", "read_bytes", "read_time", "write_ios", "write_merges",
        "write_bytes", "write_time", None, "busy_time", "queue_time", "discard_ios",
        "discard_merges", "discard_bytes", "discard_time", "flush_ios", "flush_time"]
# These may go back by a tick: the kernel works them out for each reading.
SHAKY = re.compile(r"cpu\..*\.(idle|iowait)$")
TICK = 0.02


def content(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def cumulative():
    """{name of the counter: value} of what only grows."""
    values = {}
    for line in content("/proc/stat").splitlines():
        words = line.split()
        if words[0].startswith("cpu"):
            for mode, ticks in zip(CPU_MODES, words[1:]):
                values[f"cpu.{words[0][3:] or 'all'}.{mode}"] = int(ticks) / 100
        elif words[0] in ("ctxt", "processes"):
            values[f"system.{words[0]}"] = int(words[1])
    for line in content("/proc/vmstat").splitlines():
        name, value = line.split()
        if name in ("pgfault", "pgmajfault", "pswpin", "oom_kill"):
            values[f"vm.{name}"] = int(value)
        elif name in ("pgpgin", "pgpgout"):
            values[f"vm.{name}"] = int(value) * 1024
    for line in content("/proc/diskstats").splitlines():
        words = line.split()
        if not os.path.exists("/sys/block/" + words[2].replace("/", "!")):
            continue
        for name, value in zip(DISK, words[3:]):
            if name:
                scale = 512 if name.endswith("bytes") else 1 / 1000 if name.endswith("time") else 1
                values[f"disk.{words[2]}.{name}"] = int(value) * scale
    for line in content("/proc/net/dev").splitlines()[2:]:
        device, numbers = line.split(":")
        numbers = [int(n) for n in numbers.split()]
        for i, name in enumerate(("bytes", "packets", "errors", "dropped")):
            values[f"net.{device.strip()}.rx_{name}"] = numbers[i]
            values[f"net.{device.strip()}.tx_{name}"] = numbers[8 + i]
    for path in glob.glob("/proc/pressure/*"):
        for line in content(path).splitlines():
            what, total = re.match(r"(\w+) .*total=(\d+)$", line).groups()
            if os.path.basename(path) != "irq":
                values[f"pressure.{os.path.basename(path)}.{what}"] = int(total) / 1e6
    return values


def meminfo():
    return {"memory." + line.split(":")[0]: int(line.split()[1]) * 1024
            for line in content("/proc/meminfo").splitlines()}


class Counters(e2e.TestCase):
    def record_between(self, *arguments):
        """Rows by name, and the kernel's numbers before and after."""
        before = cumulative()
        trace = self.record(*arguments)
        after = cumulative()
        self.assertNotIn("counter", e2e.lost(trace))
        return trace, {r["name"]: r for r in e2e.rows("counters", trace)}, before, after

    def test_all_lie_between(self):
        trace, rows, before, after = self.record_between(
            "-e", "counter", "--", "sh", "-c", "dd if=/dev/zero of=x bs=64k count=256 conv=fsync"
            " 2>/dev/null; /bin/true; /bin/true; rm x; sleep 1.5")
        found = 0
        for name, value in before.items():
            if name not in after:
                continue  # a device that has gone
            with self.subTest(name):
                slack = TICK if SHAKY.match(name) else 1e-6
                series = [v for _, v in rows[name]["series"]]
                self.assertEqual(rows[name]["kind"], "cumulative")
                self.assertGreaterEqual(series[0], value - slack)
                self.assertLessEqual(series[-1], after[name] + slack)
                self.assertAlmostEqual(rows[name]["last"], series[-1])
                if not SHAKY.match(name):
                    self.assertEqual(series, sorted(series))
                    self.assertAlmostEqual(rows[name]["delta"], series[-1] - series[0], places=5)
                found += 1
        self.assertGreater(found, 40)
        # The workload itself, and a reading at each second.
        self.assertGreaterEqual(rows["system.processes"]["delta"], 4)
        times = [t for t, _ in rows["system.ctxt"]["series"]]
        self.assertGreaterEqual(len(times), 3)
        self.assertEqual(e2e.report_json("info", trace)["complete"], True)

    def test_no_counter_is_made_up(self):
        # All that is named is in a file, or a sensor.
        _, rows, before, after = self.record_between("-e", "counter", "--", "true")
        gauges = {"system.procs_running", "system.procs_blocked"}
        for name in rows:
            if name.split(".")[0] in ("vm", "memory", "sensor", "power", "battery") \
                    or name in gauges or name.endswith((".in_flight", ".frequency")):
                continue
            self.assertTrue(name in before or name in after, name)

    def test_busy_cpu(self):
        # Three seconds of one process: the machine's time has what it sees of them, and no more than
        # is seen from outside. (Its own time has what a hypervisor took from it, too.)
        ticks = os.sysconf("SC_CLK_TCK")
        busy = ("import os\n"
                "def busy():\n"
                "    t = [int(n) for n in open('/proc/stat').readline().split()[1:9]]\n"
                "    return sum(t) - t[3] - t[4]\n"
                "start = busy()\n"
                "while os.times().user < 3: sum(range(200000))\n"
                "open('busy', 'w').write(f'{os.times().user} {busy() - start}')")
        os.chdir(self.folder)
        self.addCleanup(os.chdir, "/")
        _, rows, before, after = self.record_between("-e", "counter", "--", "nice", "-n", "0",
                                                     "python3", "-c", busy)
        user, inside = (float(n) for n in content("busy").split())
        figures = {}
        for mode in (m for m in CPU_MODES[:8] if m != "iowait"):
            name = f"cpu.all.{mode}"
            figures[mode] = rows[name]["delta"]
            per_cpu = [r["delta"] for n, r in rows.items()
                       if re.fullmatch(rf"cpu\.\d+\.{mode}", n)]
            # The kernel rounds each of them down.
            self.assertAlmostEqual(sum(per_cpu), figures[mode],
                                   delta=TICK * (len(per_cpu) + 1), msg=name)
            self.assertLessEqual(figures[mode], after[name] - before[name] + TICK)
        self.assertGreaterEqual(sum(figures.values()) - figures["idle"],
                                inside / ticks - len(figures) * TICK)
        self.assertGreater(figures["user"] + figures["nice"], 0.5 * user)
        self.assertGreater(inside, ticks)

    def test_memory(self):
        before = meminfo()
        trace = self.record("-e", "counter", "--", "sleep", "0.1")
        rows = {r["name"]: r for r in e2e.rows("counters", trace)}
        names = [n for n in rows if n.startswith("memory.")]
        self.assertGreaterEqual(len(names), 20)
        for name in names:
            self.assertIn(name, before)
            self.assertEqual((rows[name]["unit"], rows[name]["kind"]), ("bytes", "gauge"))
        for name in ("memory.MemTotal", "memory.SwapTotal"):
            self.assertEqual(rows[name]["last"], before[name])
        # 300 MB of shared memory are seen, give or take what the rest of the machine does.
        size = 300 << 20
        path = f"/dev/shm/ebt-{os.getpid()}"
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        trace = self.record("-e", "counter", "--", "sh", "-c",
                            f"sleep 1.2; head -c {size} /dev/zero >{path}; sleep 2.2")
        os.unlink(path)
        shmem = {r["name"]: r for r in e2e.rows("counters", trace)}["memory.Shmem"]
        self.assertGreaterEqual(shmem["max"] - shmem["min"], size * 0.75)
        self.assertLess(shmem["max"] - shmem["min"], size * 1.5)

    def test_intervals_make_the_whole(self):
        trace = self.record("-e", "counter", "--", "sh", "-c",
                            "for i in 1 2 3; do ls / >/dev/null; sleep 1; done")
        whole = {r["name"]: r for r in e2e.rows("counters", trace, "--name", "system.*")}
        parts = e2e.report_json("counters", trace, "--name", "system.*", "--interval", "700ms")
        total = sum(row["delta"] for part in parts["intervals"] for row in part["rows"]
                    if row["name"] == "system.processes")
        self.assertEqual(total, whole["system.processes"]["delta"])
        self.assertGreaterEqual(total, 6)

    def test_what_is_missing_is_said(self):
        trace = self.record("-e", "counter", "--", "true")
        source = {s["name"]: s for s in e2e.report_json("info", trace)["sources"]}["counter"]
        here = {
            "frequency": glob.glob("/sys/devices/system/cpu/cpufreq/policy*/scaling_cur_freq"),
            "temperature": glob.glob("/sys/class/hwmon/*/temp*_input")
            + glob.glob("/sys/class/thermal/thermal_zone*/temp"),
            "energy": glob.glob("/sys/class/powercap/*/energy_uj"),
            "pressure of CPUs": glob.glob("/proc/pressure/cpu"),
        }
        for name, files in here.items():
            self.assertEqual(bool(files), name not in source["detail"], source)
        self.assertEqual(source["status"], "partial" if source["detail"] else "on")

    def test_scrubbed(self):
        # Names that people give to network devices go; those of the system stay.
        trace, copy = self.path("t.ebt"), self.path("scrubbed.ebt")
        e2e.run("unshare", "--net", "sh", "-c", "ip link add acme-secret type veth peer name acme-too && "
                f"{e2e.EBREC} -q -f -e counter -o {trace} -- true")
        names = {r["name"] for r in e2e.rows("counters", trace)}
        self.assertLessEqual({"net.acme-secret.rx_bytes", "net.lo.rx_bytes"}, names)
        e2e.run(e2e.EBREPORT, "scrub", "-o", copy, trace)
        kept = {r["name"] for r in e2e.rows("counters", copy)}
        self.assertNotIn("acme-secret", e2e.ebreport("dump", copy))
        self.assertEqual(len(kept), len(names))
        self.assertEqual(kept - names, {n for n in kept if n.startswith("net.")} - names)
        self.assertIn("net.lo.rx_bytes", kept)

    def test_plot(self):
        # What is zero is not shown, so somebody has to be busy.
        spin = "import time\nwhile time.process_time() < 2.5: pass"
        trace = self.record("-e", "counter", "--", "python3", "-c", spin)
        for arguments in ([], ["--name", "cpu.all.user"]):
            text = e2e.ebreport("counters", "--plot", *arguments, trace)
            self.assertRegex(text, r"(?m)^cpu\.all\.user ")
            for line in text.splitlines():
                self.assertLessEqual(len(line), 90)

    def test_no_kernel_programs(self):
        # Nothing is loaded for it; `task` is always there, and threads are looked at with -a.
        trace = self.path("t.ebt")
        child = self.start(e2e.EBREC, "-q", "-o", trace, "-e", "counter", "-a", "-d", "60")
        self.wait_for_rows(trace, child, "counter")
        ours = set()
        for path in glob.glob(f"/proc/{child.pid}/fdinfo/*"):
            ours.update(re.findall(r"(?m)^prog_id:\s*(\d+)", content(path)))
        programs = json.loads(e2e.run("bpftool", "prog", "show", "--json").stdout)
        names = {p["name"] for p in programs if str(p["id"]) in ours}
        self.assertTrue(names)
        self.assertEqual({n for n in names if not re.match(
            r"ebrec_(fork|exec|exit|rename|task|thread_stack|unwind)", n)}, set())


if __name__ == "__main__":
    e2e.main()

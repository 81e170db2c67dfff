# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of process of programs that come and go, equal to what each of them read in /proc/self: ids,
namespaces, paths and cgroups, also where the program ended before anybody could look."""

import os
import re
import shutil
import sys
import time

import e2e

N = 40
FIRST = 3  # of each situation; these stay until they have been looked at
NAMESPACES = {"mnt_ns": "ns/mnt", "pid_ns": "ns/pid", "net_ns": "ns/net", "user_ns": "ns/user",
              "cgroup_ns": "ns/cgroup"}


def cgroup_mount():
    """Where cgroup v2 is."""
    with open("/proc/mounts", encoding="utf-8") as f:
        return next((line.split()[1] for line in f if line.split()[2] == "cgroup2"), None)


def told(text):
    """What programs said, a dictionary each."""
    for line in text.splitlines():
        if line.startswith("told="):
            yield dict(field.split("=", 1) for field in line.split("\t"))


def check(test, text, trace, folder, n=N):
    """Each program that can be known has a row, and no row says what its program did not say."""
    rows, began = {}, {}
    for row in e2e.Dump(trace, "--table", "task_exec").rows("task_exec"):
        began[row["pid"]] = row["time"]
    for row in e2e.Dump(trace, "--table", "process").rows("process"):
        # An epoch also meets the process before its exec.
        if row["time"] >= began.get(row["task"].split("/")[0], row["time"]):
            rows.setdefault(row["task"].split("/")[0], []).append(row)
    programs = list(told(text))
    # One situation comes twice, and one has three names of the program.
    test.assertEqual(len(programs), 9 * (n + FIRST))
    for program in programs:
        say = f"{program['told']} {program['number']}"
        # One that an epoch meets has a second row; when it ends just then, what is empty there is
        # not known.
        found = [row for row in rows.get(program["pid"], [])
                 if '""' not in (row["exe"], row["cmdline"])]
        # The first ones are those from which the others are known.
        if int(program["number"]) >= FIRST:
            test.assertTrue(found, f"{say} has no row")
        for row in found:
            check_row(test, row, program, folder, say)


def check_row(test, row, program, folder, say):
    root = folder if program["told"] == "root" else ""
    want = {name: program[link].split("[")[1].rstrip("]") for name, link in NAMESPACES.items()}
    want.update({
        "uid": program["uid"],
        "nspid": f'"{program["nspid"]}"',
        "exe": f'"{root}{program["exe"]}"',
        "root": f'"{root or "/"}"',
    })
    if program["told"] != "namespaces":  # where a cgroup has another name
        want["cgroup"] = '"' + program["cgroup"].rstrip("|").replace("|", "\\x0a") + '"'
    test.assertEqual({name: row[name] for name in want}, want, say)
    test.assertIn(f'tell\\x00{program["told"]}\\x00{program["number"]}\\x00', row["cmdline"])


class Described(e2e.TestCase):
    def test_all(self):
        if not cgroup_mount():
            self.skipTest("cgroup v2 is not mounted here")
        cgroup = f"{cgroup_mount()}/ebt-described-{os.getpid()}"
        os.mkdir(cgroup)
        self.addCleanup(os.rmdir, cgroup)
        os.chmod(self.folder, 0o755)
        folder = self.path("jail")
        os.mkdir(folder)
        shutil.copy(e2e.program("described"), folder)
        trace = self.record("-e", "task", "--", f"{folder}/described", N, folder, cgroup)
        self.assert_no_loss(trace)
        check(self, self.recorded.stdout.decode(), trace, folder)


# In five times twelve mount namespaces: a program that is looked at, and after a mount one of the same
# key that nobody looks at, as that ends at once, and its namespace with it.
GONE = """for i in 1 2 3 4 5; do for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
    unshare -m sh -c "sleep 0.3; mount -t tmpfs none $1; sleep 0" &
done; wait; done; sleep 1; touch $1.ready; exec sleep 1000"""

# Programs of 15 ms that are deeper in pid namespaces than their events say, while others of their key
# are known.
DEEP = f"""while :; do sleep 0.3; done & sleep 0.2
{'unshare -pf ' * 9} sh -c 'for i in $(seq 40); do sleep 0.015; done; exit'; kill $!"""


class Deep(e2e.TestCase):
    def test_nspid(self):
        """Each of them is looked at, which has to be at once."""
        trace = self.record("-e", "task", "--", "sh", "-c", DEEP)
        rows = [row for row in e2e.Dump(trace, "--table", "process").rows("process")
                if "sleep\\x000.015" in row["cmdline"]]
        whole = [row for row in rows if len(row["nspid"].split()) == 10]
        print(f"\n    {len(whole)} of {len(rows)} whole", file=sys.stderr)
        self.assertGreater(len(whole), 26)

# Programs, each of a name of its own, that at once become another one, which stays.
BECOME = """for i in $(seq 80); do ln $1/described $1/become$i; done
for i in $(seq 80); do $1/become$i again $1 described & done; wait"""

# Programs that have ended when the recorder, which is the parent, looks; each has a user and a network
# of its own, and a container.
ENDED = """echo $$ >$2/cgroup.procs; exec sh -c '
for i in $(seq 40); do ln $1/described $1/ended$i; done; sleep 0.5; kill -STOP $PPID
for i in $(seq 40); do setpriv --reuid 1000 unshare -Un $1/ended$i again / ""; done
kill -CONT $PPID; echo $$ >$2/../cgroup.procs' sh "$@\""""


class Unseen(e2e.TestCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        shutil.copy(e2e.program("described"), self.folder)

    def rows(self, trace, name):
        """Of programs of this name, by process."""
        found = [row for row in e2e.Dump(trace, "--table", "process").rows("process")
                 if row["cmdline"].startswith(f'"{self.folder}/{name}')]
        self.assertEqual(len({row["task"] for row in found}), len(found))
        return found

    def test_another(self):
        """A row says what program was run, and not what it became."""
        trace = self.record("-e", "task", "--", "sh", "-c", BECOME, "sh", self.folder)
        rows = self.rows(trace, "become")
        self.assertEqual(len(rows), 80)
        for row in rows:
            self.assertIn(row["exe"], ('""', row["cmdline"].split("\\x00")[0] + '"'))

    def test_ended(self):
        """What events told of programs that nobody looked at; and how many that were."""
        if not cgroup_mount():
            self.skipTest("cgroup v2 is not mounted here")
        container = f"{os.getpid():064x}"
        cgroup = f"{cgroup_mount()}/docker-{container}.scope"
        os.mkdir(cgroup)
        self.addCleanup(os.rmdir, cgroup)
        trace = self.record("-e", "task", "--", "sh", "-c", ENDED, "sh", self.folder, cgroup)
        rows = self.rows(trace, "ended")
        self.assertEqual(len(rows), 40)
        self.assertEqual({(row["uid"], row["exe"], row["root"], row["cgroup"]) for row in rows},
                         {("1000", '""', '""', '""')})
        self.assertNotIn(os.readlink("/proc/self/ns/net"), [f"net:[{row['net_ns']}]" for row in rows])
        # They are where their parent is, but for the first and the last, which are where they went.
        self.assertLess(e2e.tables(trace)["process"]["lost_rows"], 40)
        shown = [row for row in e2e.rows("procs", trace) if "/ended" in row["args"][0]]
        self.assertEqual(len(shown), 40)
        for row in shown:
            self.assertEqual(row["container_id"], container)
            self.assertIn(f"docker-{container}.scope", row["cgroup"])
            self.assertEqual((row["uid"], row["exe"]), (1000, row["args"][0]))

# Cgroups of one program each, which come and go.
GROUPS = """for i in $(seq 300); do
    mkdir $1-$i; (sh -c "echo \\$PPID >$1-$i/cgroup.procs"; exec sleep 0.003); rmdir $1-$i
done"""


class Groups(e2e.TestCase):
    def check(self, mount):
        base = f"ebt-described-{os.getpid()}"
        trace = self.record("-e", "task", "--", "sh", "-c", GROUPS, "sh", f"{mount}/{base}")
        seen = {}
        for row in e2e.Dump(trace, "--table", "process").rows("process"):
            if row["cmdline"].startswith('"sleep'):
                seen.setdefault(row["task"], set()).add(re.search(f"{base}-(\\d+)|$", row["cgroup"])[1])
        self.assertEqual(len(seen), 300)
        # Where nobody looked in time, it is not known.
        found = [numbers for numbers in seen.values() if numbers != {None}]
        self.assertGreater(len(found), 10)
        self.assertGreaterEqual(e2e.tables(trace)["process"]["lost_rows"], len(seen) - len(found))
        tasks = sorted(seen, key=lambda task: int(task.split("/")[2]))
        for i, task in enumerate(tasks, 1):
            self.assertIn(seen[task], ({None}, {str(i)}))

    def test_v1(self):
        """The address of who is in which cgroups is used again at once."""
        with open("/proc/mounts", encoding="utf-8") as f:
            mount = next((line.split()[1] for line in f if line.split()[2] == "cgroup"
                          and "pids" in line.split()[3].split(",")), None)
        if not mount:
            self.skipTest("no hierarchy of cgroup v1 is mounted here")
        self.check(mount)

    def test_v2(self):
        if not cgroup_mount():
            self.skipTest("cgroup v2 is not mounted here")
        self.check(cgroup_mount())


# A folder above a mount point gets another name, which changes no mount. Programs run after that.
RENAMED = """exec unshare -m sh -c 'mkdir $1 $1/below; mount -t tmpfs none $1/below; sleep 1.5; mv $1 $2
for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; done' sh $1 $2"""


class Mounts(e2e.TestCase):
    def test_renamed(self):
        """It is seen while the mount namespace is there."""
        before, after = self.path("before"), self.path("after")
        trace = self.record("-e", "task", "--", "sh", "-c", RENAMED, "sh", before, after)
        text = b"".join(bytes.fromhex(row["content"].removeprefix("x"))
                        for row in e2e.Dump(trace, "--table", "file_data").rows("file_data")
                        if row["content"].startswith("x"))
        for folder in before, after:
            self.assertTrue(f" {folder}/below ".encode() in text, folder)

    def test_gone(self):
        """Mount namespaces that have changed and gone are looked for once, not for ever."""
        folder = self.path("m")
        os.mkdir(folder)
        recorder = self.start(e2e.EBREC, "-o", self.path("t.ebt"), "-e", "task", "--", "sh", "-c", GONE, "sh",
                              folder)
        while not os.path.exists(f"{folder}.ready"):
            self.assertIsNone(recorder.poll())
            time.sleep(0.1)
        trace = self.record("-e", "syscalls", "-p", recorder.pid, "--", "sleep", "2", name="recorder.ebt")
        calls = {row["name"]: row["count"] for row in e2e.rows("syscalls", trace)}
        # Where one of them is looked for at each pass, there are 60.
        self.assertLess(calls.get("openat", 0), 30)
        self.assertGreater(calls["poll"], 0)


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""One contract for the JSON of all commands: docs/json.schema.json, and what no schema can say. A
command that is not tried here fails the test, and so does a key that the schema does not know."""

import copy
import json
import os
import re
import shlex

import jsonschema

import e2e

WORK = """
{programs}/shares 0.2
{programs}/marks threads 20 >/dev/null
{programs}/requests 10
{programs}/faults cold={folder}/x >/dev/null 2>&1
{programs}/contended >/dev/null 2>&1 &
dd if=/dev/zero of={folder}/x bs=64k count=64 conv=fsync 2>/dev/null
cat {folder}/x >/dev/null
dbus-send --bus={address} --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames
python3 -c '
import ctypes, socket, threading, time
server = socket.create_server(("127.0.0.1", 0))
def serve():
    peer, _ = server.accept()
    while peer.recv(4096):
        peer.send(b"x" * 1000)
    peer.close()
thread = threading.Thread(target=serve)
thread.start()
client = socket.create_connection(server.getsockname())
for i in range(20):
    client.send(b"y" * 500)
    client.recv(4096)
client.close()
thread.join()
ctypes.CDLL(None).puts(b"called")
'
wait
"""
# What each command is tried with.
RUNS = {
    "overview": [""],
    "info": ["", "--verify", "--frames"],
    "summary": ["", "--interval 500ms"],
    "dump": ["--top 3000", "--schema", "--table clock,sample,process,file,object,schema --top 400"],
    "syscalls": ["", "--by process --errors", "--by thread,error", "--by cgroup,call",
                 "--classify", "--trace --top 500", "--interval 500ms"],
    "block": ["", "--by device --depth --histogram", "--by thread,operation", "--trace"],
    "net": ["--histogram", "--by thread --all", "--trace"],
    "callgraph": ["--function burn_half", "--categories", "--event fault --function main",
                  "--event offcpu --function main"],
    "diff": ["", "--event offcpu --by total"],
    "offcpu": ["", "--stacks --top 50"],
    "oom": [""],
    "wall": ["", "--interval 500ms"],
    "sched": ["--all", "--by process --histogram", "--tree", "--irq", "--interval 500ms"],
    "procs": ["", "--tree --all", "--threads --all", "--pid {pid}"],
    "marks": ["", "--summary --by process", "--series * --expect 1ms", "--waterfall",
              "--around inner", "--around inner --slowest 5"],
    "logs": ["", "--origin stdout"],
    "threads": [""],
    "locks": ["", "--threads", "--stacks --top 50"],
    "faults": ["", "--stacks --top 50", "--by mapping", "--by thread,stack --top 50"],
    "cache": ["", "--by file", "--by process,file"],
    "counters": ["", "--all-counters"],
    "dbus": ["", "--trace"],
    "mem": ["", "--stacks --top 50", "--by cache", "--pages --stacks --top 50"],
    "modules": ["", "--used"],
    "files": [""],
    "io": ["", "--by process", "--peers"],
    "why": ["", "--tree", "--path", "--opportunities", "--request request", "--around request"],
    "sql": [""],
    "scrub": ["-o {folder}/scrubbed.ebt"],
    "share": ["-o {folder}/shared.ebt"],
}
QUERY = "SELECT ts, comm, pid, 0.5 AS half, NULL AS missing, x'00ff' AS bytes FROM syscall ORDER BY pid, ts"
# What writes something else, and says so.
WITHOUT = ["export", "html", "serve", "flame", "folded", "extract", "bundle", "cut", "merge"]
# Of what a tree's rows are found by: the tree's table.
TREES = ["rows", "callers", "descendants"]


def schema(name):
    with open(os.path.join(e2e.SOURCE, "docs", name), encoding="utf-8") as f:
        text = json.load(f)
    jsonschema.Draft202012Validator.check_schema(text)
    return text


def depth(value):
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


class Json(e2e.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = schema("json.schema.json")
        cls.validator = jsonschema.Draft202012Validator(cls.schema)
        cls.line = jsonschema.Draft202012Validator(
            {"$ref": "#/$defs/line", "$defs": cls.schema["$defs"]})

    def record_all(self):
        path = self.path("bus")
        daemon = self.start("dbus-daemon", "--session", "--nofork", "--print-address",
                            f"--address=unix:path={path}", stdout=e2e.subprocess.PIPE,
                            stderr=e2e.subprocess.DEVNULL)
        self.assertTrue(daemon.stdout.readline().startswith(b"unix:"))
        address = f"unix:path={path}"
        work = self.path("work.sh")
        with open(work, "w", encoding="utf-8") as f:
            f.write(WORK.format(programs=shlex.quote(e2e.PROGRAMS), folder=self.folder,
                                address=address))
        return self.record("-F", "999", "--capture-output", "-e",
                           f"all,dbus:{address},uprobe:libc.so.6:puts,tp:task:task_rename",
                           "--", "sh", work)

    def check(self, validator, document, what):
        error = jsonschema.exceptions.best_match(validator.iter_errors(document))
        self.assertIsNone(error, f"{what}: {error and (list(error.absolute_path), error.message)}")
        self.assertLess(depth(document), 12, what)

    def check_trees(self, document, what):
        """id is a place in the array; a row stands behind the one that it belongs to."""
        for key in TREES:
            rows = document.get(key, [])
            if any("parent" in row for row in rows):
                self.assertEqual([row["id"] for row in rows], list(range(len(rows))), what)
                for row in rows:
                    self.assertLess(row.get("parent", -1), row["id"], what)

    def test_every_command(self):
        commands = re.findall(r"(?m)^  ([a-z]+)  ", e2e.run(e2e.EBREPORT, "--help").stdout.decode()
                              .split("Commands:")[1].split("Options")[0])
        self.assertEqual(sorted(commands), sorted([*RUNS, *WITHOUT]))
        trace = self.record_all()
        pid = e2e.rows("procs", trace)[0]["pid"]
        with_rows = set()
        for command, runs in RUNS.items():
            for options in runs:
                what = f"{command} {options}"
                files = [trace, *{"diff": [trace], "sql": [QUERY]}.get(command, [])]
                words = options.format(pid=pid, folder=self.folder).split()
                document = json.loads(e2e.ebreport(command, "--json", *words, *files))
                self.check(self.validator, document, what)
                self.check_trees(document, what)
                self.assertEqual(document["command"], command)
                if document.get("rows") or any(i["rows"] for i in document.get("intervals", [])):
                    with_rows.add(command)
        # Nobody is killed, and no thread is there when the command begins or ends.
        self.assertEqual(with_rows, set(RUNS) - {"oom", "threads"})
        for command in WITHOUT:
            done = e2e.run(e2e.EBREPORT, command, "--json", trace, status=None)
            self.assertEqual((done.returncode, done.stdout), (2, b""), command)
        self.lines(trace)

    def lines(self, trace):
        for line in e2e.ebreport("summary", "--ndjson", "--interval", "500ms", trace).splitlines():
            self.check(self.line, json.loads(line), "summary --ndjson")
        export = jsonschema.Draft202012Validator(schema("export.schema.json"))
        for line in e2e.ebreport("export", "--table", "meta,clock,sample,mark,syscall", "--to",
                                 "20%", trace).splitlines()[:3000]:
            self.check(export, json.loads(line), "export")

    def test_wrong_documents(self):
        trace = self.record("-F", "999", "-e", "default,syscalls", "--", "sh", "-c",
                            e2e.program("shares") + " 0.2; true")
        documents = {c: json.loads(e2e.ebreport(c, "--json", *o, trace)) for c, o in
                     (("sched", []), ("syscalls", ["--trace", "--top", "5"]), ("logs", []),
                      ("procs", ["--tree", "--all"]), ("info", []))}
        documents["sql"] = json.loads(e2e.ebreport("sql", "--json", trace, QUERY))

        def row(document):
            return document["rows"][0]

        wrong = [
            ("sched", lambda d: d.pop("rows")),
            ("sched", lambda d: d.pop("start_ns")),
            ("sched", lambda d: d.update(version=1)),
            ("sched", lambda d: d.update(start_ns=int(d["start_ns"]))),
            ("sched", lambda d: d.update(unheard_of=1)),
            ("sched", lambda d: d.update(rows={})),
            ("sched", lambda d: row(d).update(unheard_of=1)),
            ("sched", lambda d: row(d).update(run_ns=-1)),
            ("sched", lambda d: row(d).update(run_ns="1")),
            ("sched", lambda d: row(d).update(self_percent=101)),
            ("sched", lambda d: row(d).update(max_at_ns=1.5)),
            ("syscalls", lambda d: row(d).update(ret=0)),
            ("syscalls", lambda d: row(d).update(args="1, 2")),
            ("procs", lambda d: row(d).update(children=[])),
            ("procs", lambda d: row(d).update(cgroup=1)),
            ("procs", lambda d: [r.pop("id") for r in d["rows"]]),
            ("info", lambda d: d.update(created_realtime_ns=1)),
            ("info", lambda d: row(d).update(lost_rows="1")),
            ("sql", lambda d: row(d).update(tid=[])),
            ("sql", lambda d: d.update(rows={})),
            ("sql", lambda d: d.update(unheard_of=1)),
        ]
        for number, (command, change) in enumerate(wrong):
            document = copy.deepcopy(documents[command])
            self.check(self.validator, document, command)
            change(document)
            self.assertFalse(self.validator.is_valid(document), (number, command))


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""A scrubbed trace has none of the secrets that the recording has, and reports still work."""

import json
import os
import shutil
import subprocess
import sys

import e2e

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests/tools"))
import ebtdump  # noqa: E402

# What is planted where. Each is found in the trace before it is scrubbed: else the test would
# prove nothing.
PLANTED = [
    "argument of the command", "argument of a child", "environment", "host name", "user",
    "folder of the program", "name of the program", "name of the process", "name of a thread",
    "name of a library", "name of a memfd", "name of a deleted file", "mount point",
    "source of a mount", "control group", "memory of a stack", "name of the trace",
    "folder of the source", "name of the source", "argument of a system call",
    "function in a perf map", "text of a mark", "line of output",
]
SECRET = {what: f"zq{i:02d}secret" for i, what in enumerate(PLANTED)}
ALIAS = r'"([^" ]*/)?(prog|thread|dir|file|command|host|boot|user|cgroup|device|name)-[0-9]+["/]'
REGISTER = int.from_bytes(SECRET["argument of a system call"][:8].encode(), "little")

# Said in system calls.
CALLS = ["folder", "file", "missing", "abstract", "socket", "memfd", "program", "argument", "attribute", "renamed"]
CALLS_PROGRAM = """
import os, socket
def tries(fn, *args):
    try:
        return fn(*args)
    except OSError:
        pass
os.chdir("%(folder_path)s")
os.mkdir("%(folder)s")
open("%(folder)s/%(file)s", "w").close()
tries(open, "%(folder)s/%(missing)s")
server, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
server.bind("\\0%(abstract)s")
tries(client.connect, "/run/%(socket)s")
kept = [server, os.memfd_create("%(memfd)s")]
for family, address in (socket.AF_INET, "203.0.113.77"), (socket.AF_INET6, "2001:db8:dead:beef::77"):
    kept.append(socket.socket(family, socket.SOCK_DGRAM))
    tries(kept[-1].connect, (address, 4242))
tries(os.getxattr, ".", "user.%(attribute)s")
os.rename("%(folder)s/%(file)s", "%(renamed)s")
tries(os.execv, "%(folder)s/%(program)s", ["%(argument)s"])
"""
CALLS_ADDRESSES = [bytes([203, 0, 113, 77]), bytes.fromhex("20010db8deadbeef0000000000000077")]

PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ebmark.h"

static volatile unsigned long sink;

static void map(int fd)
{
	if (fd < 0 || ftruncate(fd, 4096) < 0 ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		exit(3);
}

__attribute__((noinline)) static void burn(char *stack)
{
	struct timespec now;
	time_t end;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	end = now.tv_sec + 2;
	while (now.tv_sec < end) {
		for (int i = 0; i < 100000; i++)
			sink += i * (unsigned char)stack[i & 7];
		syscall(SYS_getppid, 0x%(register)xul);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	}
}

static void *thread(void *arg)
{
	prctl(PR_SET_NAME, "%(name of a thread)s");
	usleep(100000);
	return arg;
}

int main(int argc, char **argv)
{
	char memory[64], path[4200], *library = argv[2], *secret = argv[3];
	FILE *f = fopen(secret, "r");
	pthread_t t;

	(void)argc;
	if (!f || !fgets(memory, sizeof(memory), f))
		return 2;
	fclose(f);
	snprintf(path, sizeof(path), "/tmp/perf-%%d.map", getpid());
	f = fopen(path, "w");
	fprintf(f, "1000 1000 %(function in a perf map)s\n");
	fclose(f);
	map(memfd_create("%(name of a memfd)s", 0));
	map(open(library, O_RDWR));
	snprintf(path, sizeof(path), "%%s/%(name of a deleted file)s", argv[4]);
	map(open(path, O_RDWR | O_CREAT, 0600));
	unlink(path);
	mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	if (!fork()) {
		execl("/bin/true", "true", "%(argument of a child)s", NULL);
		_exit(1);
	}
	wait(NULL);
	ebmark_instant("group", "name", "%(text of a mark)s");
	puts("%(line of output)s");
	prctl(PR_SET_NAME, "%(name of the process)s");
	burn(memory);
	return memory[0] == 0;
}
"""

# Runs in namespaces of its own. $1: folder; $2: control group; the rest is the command.
SETUP = r"""
set -e
hostname "$HOST"
mkdir -p "$1/$MOUNT"
mount -t tmpfs "$SOURCE" "$1/$MOUNT"
sed "s/^nobody:/$USERNAME:/" /etc/passwd > "$1/passwd"
mount --bind "$1/passwd" /etc/passwd
[ -z "$2" ] || echo $$ > "$2/cgroup.procs"
shift 2
exec "$@"
"""


def cgroup2():
    """Where a cgroup v2 hierarchy is mounted, or None."""
    with open("/proc/mounts", encoding="utf-8") as f:
        for line in f:
            if line.split()[2] == "cgroup2":
                return line.split()[1]
    return None


def contents(trace):
    """The uncompressed bytes of all chunks, and the text of all rows."""
    with open(trace, "rb") as f:
        data = f.read()
    raws = [raw for _, raw in ebtdump.decompress(list(ebtdump.scan(data)))]
    return data[:96] + b"\n".join(raws), e2e.ebreport("dump", trace)


class Scrub(e2e.TestCase):
    def make_program(self):
        """In a folder with secrets in all its names."""
        source = self.path(SECRET["folder of the source"])
        home = self.path(SECRET["folder of the program"])
        os.mkdir(source)
        os.mkdir(home)
        path = os.path.join(source, SECRET["name of the source"] + ".c")
        with open(path, "w", encoding="utf-8") as f:
            f.write(PROGRAM % dict(SECRET, register=REGISTER))
        program = os.path.join(home, SECRET["name of the program"])
        subprocess.run(["gcc", "-g", "-O1", "-pthread", "-I", os.path.join(e2e.SOURCE, "include"),
                        "-o", program, path],
                       check=True)
        library = os.path.join(home, SECRET["name of a library"])
        with open(library, "wb") as f:
            f.write(b"\0" * 4096)
        memory = self.path("memory")
        with open(memory, "w", encoding="utf-8") as f:
            f.write(SECRET["memory of a stack"])
        for path in (self.folder, home, source):
            os.chmod(path, 0o777)
        os.chmod(memory, 0o644)
        os.chmod(library, 0o666)
        return [program, SECRET["argument of the command"], library, memory, home]

    def make_cgroup(self):
        root = cgroup2()
        self.assertTrue(root, "no cgroup v2 is mounted")
        path = os.path.join(root, f"{SECRET['control group']}-{os.getpid()}")
        os.mkdir(path)
        self.addCleanup(subprocess.run, ["rmdir", path], check=False, timeout=60)
        return path

    def record_secrets(self):
        trace = self.path(SECRET["name of the trace"] + ".ebt")
        environment = dict(e2e.CLEAN, HOST=SECRET["host name"], MOUNT=SECRET["mount point"],
                           SOURCE=SECRET["source of a mount"], USERNAME=SECRET["user"])
        command = ["unshare", "-m", "-u", "sh", "-c", SETUP, "sh", self.folder,
                   self.make_cgroup(), e2e.EBREC, "-q", "-o", trace, "-e", "all",
                   "--call-graph", "dump", "--keep-stack-dumps", "--capture-output", "--user", SECRET["user"], "--",
                   "env", "-i", "VARIABLE=" + SECRET["environment"], *self.make_program()]
        done = subprocess.run(command, capture_output=True, env=environment, check=False,
                              stdin=subprocess.DEVNULL, timeout=e2e.SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        # Whoever wrote its map has gone; the file is in the trace.
        for pid in {t["pid"] for t in e2e.rows("sched", trace)}:
            if os.path.exists(f"/tmp/perf-{pid}.map"):
                os.unlink(f"/tmp/perf-{pid}.map")
        return trace

    def found(self, trace):
        raw, text = contents(trace)
        found = {what for what, secret in SECRET.items() if secret.encode() in raw or secret in text}
        if f"{REGISTER:x}" in text:
            found.add("argument of a system call")
        return found

    def test_secrets(self):
        trace = self.record_secrets()
        bundle, public = self.path("bundle.ebt"), self.path("public.ebt")
        e2e.run(e2e.EBREPORT, "bundle", trace, "-o", bundle)
        self.assertEqual(self.found(trace) | self.found(bundle), set(PLANTED))
        for source in (trace, bundle):
            done = e2e.run(e2e.EBREPORT, "scrub", "--json", source, "-o", public)
            # All keys that ebrec writes are in the list; those that are not go, rows and all.
            self.assertFalse([row for row in json.loads(done.stdout)["rows"]
                              if row["table"] == "meta" and "field" not in row])
            self.assertEqual(self.found(public), set())
            e2e.run("python3", os.path.join(e2e.SOURCE, "tests/tools/ebtdump.py"), "--check", public)
            for report in ("info", "syscalls", "offcpu", "sched", "callgraph"):
                self.assertTrue(e2e.report_json(report, public))
        # Aliases stand where secrets stood: the same rows, the same functions.
        for report in ("callgraph", "syscalls"):
            self.assertEqual(len(e2e.rows(report, bundle)), len(e2e.rows(report, public)))
        names = {row["function"]: row["self_ns"] for row in e2e.rows("callgraph", bundle)}
        self.assertIn("burn", names)
        self.assertEqual(names, {row["function"]: row["self_ns"]
                                 for row in e2e.rows("callgraph", public)})

    def test_calls(self):
        """Names and addresses that programs give to system calls, also of what is not there."""
        words = {what: f"zq{what}secret" for what in CALLS}
        trace, public = self.path("t.ebt"), self.path("public.ebt")
        script = CALLS_PROGRAM % dict(words, folder_path=self.folder)
        e2e.run(e2e.EBREC, "-q", "-o", trace, "-e", "syscalls:structs:stacks", "--", sys.executable, "-c", script)
        e2e.run(e2e.EBREPORT, "scrub", trace, "-o", public)
        for file, there in (trace, True), (public, False):
            raw, text = contents(file)
            for what, word in words.items():
                self.assertEqual(word.encode() in raw or word in text, there, what)
            for address in CALLS_ADDRESSES:
                self.assertEqual(address in raw or address.hex() in text, there, address)
        for report in [], ["--leaks"], ["--missing"]:
            tables = [sorted([str(value) for name, value in row.items() if name not in ("path", "comm", "program")]
                             for row in e2e.rows("io", file, *report)) for file in (trace, public)]
            self.assertEqual(*tables)
        e2e.ebreport("syscalls", "--trace", public)

    def test_keep_and_drop(self):
        trace = self.record("-e", "sample,sched,offcpu,task,syscalls", "--", "sh", "-c",
                            e2e.program("shares") + " 1; true")  # sh waits
        bundle, public = self.path("bundle.ebt"), self.path("public.ebt")
        e2e.run(e2e.EBREPORT, "bundle", trace, "-o", bundle)

        e2e.run(e2e.EBREPORT, "scrub", "--keep", "args,comms,host,users,paths,syscalls",
                "--keep-file", "mountinfo", bundle, "-o", public)
        kept = e2e.ebreport("dump", public)
        for text in (os.uname().nodename, e2e.program("shares"), '"shares"', "role=\"mountinfo\""):
            self.assertTrue(text in kept, text)
        self.assertNotRegex(kept, ALIAS)

        e2e.run(e2e.EBREPORT, "scrub", "--drop", "names,kernel,system-paths", bundle, "-o", public)
        dropped = e2e.ebreport("dump", public)
        for text in ("burn_half", "k:ffffffff", "role=\"kallsyms\"", 'libc.so.6"'):
            self.assertTrue(text in e2e.ebreport("dump", bundle), text)
            self.assertFalse(text in dropped, text)
        done = e2e.run(e2e.EBREPORT, "scrub", "--keep", "nonsense", bundle, "-o", public, status=2)
        self.assertIn("nonsense", done.stderr.decode())

    def test_aliases(self):
        """One word, one alias, in all tables; the program is prog-N, its folders are dir-N."""
        folder = self.path("zqfolder")
        os.mkdir(folder)
        program = os.path.join(folder, "zqprogram-of-a-long-name")
        shutil.copy(e2e.program("shares"), program)
        trace = self.record("-e", "sample,task", "--", program, "1")
        bundle, public = self.path("bundle.ebt"), self.path("public.ebt")
        e2e.run(e2e.EBREPORT, "bundle", trace, "-o", bundle)
        done = e2e.run(e2e.EBREPORT, "scrub", "--json", bundle)
        with open(public, "wb") as f:
            f.write(done.stdout)
        self.assertIn(b'"table":"task_exec"', done.stderr)
        dump = e2e.Dump(public)
        path = next(row["filename"] for row in dump.rows("task_exec"))
        self.assertRegex(path, r'^"/tmp/dir-[0-9]+/dir-[0-9]+/prog-[0-9]+"$')
        for table in ("mmap", "object"):
            self.assertIn(path, [row["path"] for row in dump.rows(table)])
        alias = path.strip('"').rsplit("/", 1)[1]
        self.assertIn(f'"{alias}"', {row["comm"] for row in dump.rows("task_exec")})
        self.assertRegex("\n".join(dump.lines), r'key="host.name" value="host-1"')
        self.assertRegex("\n".join(dump.lines), r'key="ebrec.command_line" value="command-[0-9]+"')
        # They can be asked for.
        self.assertEqual(e2e.ebreport("folded", "--comm", alias, public),
                         e2e.ebreport("folded", "--comm", "zqprogram-of-a-", trace)
                         .replace("zqprogram-of-a-", alias).replace("zqprogram-of-a-long-name",
                                                                    alias))


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""A stripped program and library whose debug files only a debuginfod has: all frames are named, with
inlined functions and lines. Servers that stop, never answer or send something else cost a few seconds
and a line that says so, and no name is wrong."""

import contextlib
import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

import e2e
import symbol_files

LIBRARY = """
static volatile unsigned sum;
static inline __attribute__((always_inline)) void inner(unsigned i)
{
	sum += i * i;
}
static inline __attribute__((always_inline)) void outer(unsigned i)
{
	inner(i);
	inner(i + 1);
}
__attribute__((noinline)) static void hidden(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		outer(i);
}
void work(void)
{
	hidden(100000);
	sum++;
}
"""

PROGRAM = """
#include <time.h>
void work(void);
static volatile unsigned n;
static inline __attribute__((always_inline)) void call(void)
{
	work();
	n++;
}
__attribute__((noinline)) static void loop(clock_t end)
{
	while (clock() < end)
		call();
}
int main(void)
{
	loop(clock() + CLOCKS_PER_SEC);
	return 0;
}
"""

# A server on a machine that is busy is not a silent one.
PATIENCE = ("--debuginfod-timeout", "10m")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Handler(http.server.BaseHTTPRequestHandler):
    """Passes on what a real server says, spoilt."""

    def do_GET(self):  # the name is http.server's
        server = self.server
        server.asked.append(self.path)
        content = server.answer(self)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:server.cut(content)])
        self.wfile.flush()
        # The transfer ends in the middle, as that of a server that is killed.
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *arguments):
        pass


class Debuginfod(symbol_files.TestCase):
    shared = None
    patience = PATIENCE

    def setUp(self):
        super().setUp()
        if not self.shared:
            type(self).shared = tempfile.mkdtemp(prefix="ebt-e2e-")
            self.addClassCleanup(shutil.rmtree, self.shared)
            self.build_and_record()

    def build_and_record(self):
        """One recording for all tests."""
        cls = type(self)
        cls.app = os.path.join(self.shared, "app")
        cls.served = os.path.join(self.shared, "served")
        cls.library = self.build(f"{self.app}/libwork.so", self.write("library.c", LIBRARY), "-shared",
                                 "-fPIC")
        cls.program = self.build(f"{self.app}/prog", self.write("program.c", PROGRAM), self.library,
                                 f"-Wl,-rpath,{self.app}")
        cls.whole = {}
        for path in (self.program, self.library):
            name = os.path.basename(path)
            whole = self.take_debug(path, f"{self.served}/{name}.debug")
            cls.whole[path] = shutil.move(whole, os.path.join(self.shared, name))
        trace = self.record("-F", "499", "--", self.program)
        cls.trace = shutil.move(trace, os.path.join(self.shared, "t.ebt"))

    def ebreport(self, *arguments, status=0):
        # Of what ends a wait only ebreport's own patience is left: the library's is a day.
        return e2e.run("env", f"HOME={self.home}", f"XDG_CACHE_HOME={self.home}/cache",
                       "DEBUGINFOD_TIMEOUT=86400", e2e.EBREPORT, *arguments, *self.patience,
                       status=status)

    def serve(self):
        """A real server that has read its folder; gives its URL."""
        ids = [self.build_id(path) for path in self.whole]
        end = time.monotonic() + e2e.SECONDS
        self.server = None
        while ids and time.monotonic() < end:
            if not self.server or self.server.poll() is not None:
                url = self.start_server()
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"{url}/buildid/{ids[0]}/debuginfo", timeout=60) as reply:
                    reply.read()
                ids.pop(0)
                continue
            time.sleep(0.2)
        with open(self.path("debuginfod.log"), encoding="utf-8", errors="replace") as log:
            self.assertEqual(ids, [], "debuginfod does not serve the files: " + log.read()[-3000:])
        return url

    def start_server(self):
        """It ends where somebody else was faster to take the port."""
        port = free_port()
        with open(self.path("debuginfod.log"), "ab") as log:
            self.server = self.start("debuginfod", "-p", port, "-d", self.path("index.sqlite"), "-F",
                                     self.served, stdout=log, stderr=log)
        return f"http://127.0.0.1:{port}"

    def spoilt(self, answer, cut=len):
        """A server of our own: answer(request) gives content or None; cut(content), how much of it
        is sent. Gives its URL, and the paths that it was asked for."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.answer, server.cut, server.asked = answer, cut, []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}", server.asked

    @staticmethod
    def build_id(path):
        return e2e.run("readelf", "-n", path).stdout.decode().split("Build ID: ")[1].split()[0]

    def forget(self):
        shutil.rmtree(os.path.join(self.home, "cache"), ignore_errors=True)

    def assert_gives_up(self, trace, url, said, reason, *arguments):
        """Names are what they are without a server, and there is a line about it."""
        self.forget()
        without = self.folded(trace)
        self.forget()
        begin = time.monotonic()
        done = self.ebreport("folded", f"--debuginfod={url}", *arguments, trace)
        seconds = time.monotonic() - begin
        print(f"\n{said}: {seconds:.1f} s: {done.stderr.decode().strip()}")
        self.assertEqual(done.stdout.decode(), without)
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len([line for line in lines if said in line]), 1, lines)
        self.forget()
        row = self.modules(trace, f"--debuginfod={url}", *arguments)[self.library]
        self.assertEqual(row["debug_info"], reason)
        self.assertEqual(row["unnamed_because"], reason)
        return seconds

    def test_names(self):
        trace = self.trace
        url = self.serve()
        # Not asked, whatever the environment says.
        for options in ((), ("--debuginfod=env",)):
            self.forget()
            folded = self.folded(trace, *options)
            self.assertIn("prog+0x", folded)
            self.assertNotIn(";hidden", folded)

        for path, whole in self.whole.items():
            names = self.names(trace, path, f"--debuginfod={url}")
            self.assert_names(names, whole)
        self.assertIn(["inner", "outer", "hidden"],
                      [[frame[0] for frame in frames]
                       for frames in self.names(trace, self.library, f"--debuginfod={url}").values()])
        folded = self.folded(trace, f"--debuginfod={url}")
        self.assertIn(";main;loop;call;work;hidden;outer;inner", folded)
        self.assertNotIn("prog+0x", folded)
        self.assertNotIn("libwork.so+0x", folded)
        row = self.modules(trace, f"--debuginfod={url}")[self.library]
        self.assertEqual((row["file_found"], row["named"]), ("path", row["frames"]))

        # What was fetched is found without a server, and asking again asks nobody.
        os.killpg(self.server.pid, signal.SIGKILL)
        self.assertEqual(self.folded(trace), folded)
        self.assertEqual(self.modules(trace)[self.library]["debug_info"], "cache")

    def test_without_the_files(self):
        """Elsewhere: neither program nor library, only the server."""
        trace = self.trace
        url = self.serve()
        os.rename(self.app, self.app + ".away")
        self.addCleanup(os.rename, self.app + ".away", self.app)
        for path, whole in self.whole.items():
            self.assert_names(self.names(trace, path, f"--debuginfod={url}"), whole)

    def test_environment(self):
        trace = self.trace
        url, asked = self.spoilt(lambda request: None)
        environment = ["env", f"HOME={self.home}", f"XDG_CACHE_HOME={self.home}/cache",
                       f"DEBUGINFOD_URLS={url}", e2e.EBREPORT, "folded", trace]
        e2e.run(*environment)
        self.assertEqual(asked, [])
        e2e.run(*environment, "--debuginfod=env", *PATIENCE)
        self.assertTrue(any(self.build_id(self.library) in path for path in asked), asked)
        n = len(asked)
        e2e.run(*environment, "--debuginfod", *PATIENCE)
        self.assertEqual(len(asked), n, "that there is none was forgotten")
        done = self.ebreport("folded", "--debuginfod", trace, status=2)
        self.assertIn("DEBUGINFOD_URLS", done.stderr.decode())

    def test_lacks(self):
        trace = self.trace
        url, _ = self.spoilt(lambda request: None)
        row = self.modules(trace, f"--debuginfod={url}")[self.library]
        self.assertEqual(row["debug_info"], "not on the server")
        self.assertEqual(row["shell_command"], f"debuginfod-find debuginfo {self.build_id(self.library)}")

    def test_at_once(self):
        """Two files are asked for at the same time: the server answers when both requests are there."""
        url = self.serve()
        both = threading.Barrier(2)
        wanted = {f"/buildid/{self.build_id(path)}/debuginfo" for path in self.whole}

        def wait_for_other(request):
            if request.path not in wanted:
                return None
            both.wait(e2e.SECONDS)
            with urllib.request.urlopen(url + request.path, timeout=e2e.SECONDS) as reply:
                return reply.read()

        spoilt, asked = self.spoilt(wait_for_other)
        folded = self.folded(self.trace, f"--debuginfod={spoilt}")
        self.assertIn(";main;loop;call;work;hidden;outer;inner", folded)
        self.assertLessEqual(wanted, set(asked))

    def test_nobody_listens(self):
        trace = self.trace
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))  # nobody else can, meanwhile
            self.assert_gives_up(trace, f"http://127.0.0.1:{s.getsockname()[1]}",
                                 "could not be reached", "server failed")

    def test_stops_in_the_middle(self):
        trace = self.trace
        url = self.serve()

        def pass_on(request):
            try:
                with urllib.request.urlopen(url + request.path, timeout=e2e.SECONDS) as reply:
                    return reply.read()
            except urllib.error.HTTPError:
                return None

        spoilt, _ = self.spoilt(pass_on, lambda content: len(content) // 2)
        self.assert_gives_up(trace, spoilt, "broke off", "server failed")

    def test_killed_in_between(self):
        """The first file was fetched, then the server goes: the other one stays without names."""
        trace = self.trace
        url = self.serve()
        done = e2e.run("env", f"HOME={self.home}", f"XDG_CACHE_HOME={self.home}/cache",
                       f"DEBUGINFOD_URLS={url}", "debuginfod-find", "debuginfo",
                       self.build_id(self.library))
        self.assertIn(b"debuginfod_client", done.stdout)
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait()
        done = self.ebreport("folded", f"--debuginfod={url}", trace)
        self.assertIn("could not be reached", done.stderr.decode())
        self.assertIn(";work;hidden;outer;inner", done.stdout.decode())
        self.assertIn("prog+0x", done.stdout.decode())
        self.assertNotIn(";loop;", done.stdout.decode())

    def test_never_answers(self):
        trace = self.trace
        self.patience = ()
        with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            seconds = self.assert_gives_up(trace, url, "no answer in time", "server timed out")
            self.assertGreater(seconds, 4)  # as much patience as the manual says
            self.assert_gives_up(trace, url, "no answer in time", "server timed out",
                                 "--debuginfod-timeout", "500ms")

    def wait_for_handler(self, child):
        """A moment after the first question ebreport waits, and Ctrl-C means something else."""
        end = time.monotonic() + e2e.SECONDS
        while time.monotonic() < end:
            with open(f"/proc/{child.pid}/status", encoding="ascii") as f:
                caught = int(re.search("SigCgt:\t(.*)", f.read()).group(1), 16)
            if caught >> (signal.SIGINT - 1) & 1:
                return
            time.sleep(0.01)
        self.fail("SIGINT is not handled")

    def test_interrupted(self):
        trace = self.trace
        with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
            child = self.start("env", f"HOME={self.home}", f"XDG_CACHE_HOME={self.home}/cache",
                               e2e.EBREPORT, "folded", trace, "--debuginfod-timeout", "10m",
                               f"--debuginfod=http://127.0.0.1:{silent.getsockname()[1]}",
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            silent.settimeout(e2e.SECONDS)
            connection, _ = silent.accept()  # it is asking
            self.wait_for_handler(child)
            os.killpg(child.pid, signal.SIGINT)
            out, said = child.communicate(timeout=e2e.SECONDS)
            connection.close()
        self.assertEqual(child.returncode, 0, said)
        self.assertIn(b"not waited for", said)
        self.forget()
        self.assertEqual(out.decode(), self.folded(trace))

    def test_sends_another_file(self):
        trace = self.trace
        # A build of the same source with other names, as whole as can be.
        other = self.build(self.path("other.so"), self.write("other.c",
                           LIBRARY.replace("hidden", "wrong_one")), "-shared", "-fPIC")
        with open(other, "rb") as f:
            content = f.read()
        url, _ = self.spoilt(lambda request: content)
        self.assert_gives_up(trace, url, "sent something else", "server sent another file")
        # Nor is it left where others would believe it.
        cache = os.path.join(self.home, "cache", "debuginfod_client")
        for folder, _, files in os.walk(cache):
            for name in files:
                if name in ("debuginfo", "executable"):
                    self.assertEqual(os.path.getsize(os.path.join(folder, name)), 0)
        url, _ = self.spoilt(lambda request: b"no ELF file at all")
        self.assert_gives_up(trace, url, "sent something else", "server sent another file")


if __name__ == "__main__":
    e2e.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ebreport serve` as its users and as strangers meet it: real processes, real sockets.

    check_serve.py EBTGEN EBREPORT KINDS.TXT

Times are promises of the program, with room for a machine that is busy.
"""

import contextlib
import gzip
import http.client
import itertools
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

EBTGEN, EBREPORT, KINDS = (os.path.abspath(path) for path in sys.argv[1:4])
PATIENCE = 60  # seconds for what takes milliseconds
SKIP = 77


def generate(folder, name, text):
    source, path = os.path.join(folder, name + ".txt"), os.path.join(folder, name + ".ebt")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([EBTGEN, source, path], check=True)
    os.unlink(source)
    return path


def switches(n, step=1000):
    """Two threads that take turns."""
    lines = ["1000 clock boottime=1000 realtime=1700000000000000000 tai=1700000037000000000 "
             "uncertainty=50 moment=begin unused=0\n"]
    tasks = ['7/7/50/"one"', '8/8/60/"two"']
    for i in range(n):
        lines.append(f"{2000 + i * step} sched_switch cpu=0 prev={tasks[i % 2]} "
                     f"next={tasks[(i + 1) % 2]} prev_state=0x1 preempt=0 unused=0 kstack=- "
                     f"ustack=- udump=x prev_run=0\n")
    return "".join(lines)


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


class Server:
    """The program, and the cookie of who entered first."""

    def __init__(self, *arguments, prefix=(), env=None):
        self.process = subprocess.Popen([*prefix, EBREPORT, "serve", *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": "",
                                             **(env or {})})
        self.url = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})", self.url)
        if not match:
            raise AssertionError(f"no address: {self.url} {self.process.communicate()}")
        self.port, self.token = int(match[1]), match[2]
        self.session = self.cookie = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def enter(self):
        answer = self.get("/?token=" + self.token)
        assert answer.status == 200, answer.status
        cookie = answer.headers["Set-Cookie"]
        match = re.fullmatch(r"ebreport=([0-9a-f]{32}); Path=(/[0-9a-f]{32}/); HttpOnly; "
                             r"SameSite=Strict", cookie)
        assert match, cookie
        self.cookie, self.session = match[1], match[2]
        assert f"url={self.session}" in answer.text, answer.text
        return self

    def get(self, path, method="GET", headers=None, cookie=None, body=None, host="127.0.0.1"):
        """An answer, with its .body and .text. Headers that are None are left out."""
        connection = http.client.HTTPConnection(host, self.port, timeout=PATIENCE)
        given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
        if cookie or self.cookie and cookie is None:
            given["Cookie"] = "ebreport=" + (cookie or self.cookie)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            answer.body = answer.read()
            answer.text = answer.body.decode(errors="replace")
            return answer

    def page(self, path="", **how):
        return self.get(self.session + path, **how)

    def socket(self, receive=None):
        sock = socket.socket()
        if receive:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        sock.settimeout(PATIENCE)
        sock.connect(("127.0.0.1", self.port))
        return sock

    def request(self, path):
        """Its bytes, with the cookie."""
        return (f"GET {self.session}{path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
                f"Cookie: ebreport={self.cookie}\r\n\r\n").encode()

    def children(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]

    def files(self):
        return {int(fd) for fd in os.listdir(f"/proc/{self.process.pid}/fd")}

    def stop_worker(self, path):
        """Asks, and stops the child that answers before it has: its connection and its id."""
        for _ in range(50):
            wait_for("the end of children before", lambda: not self.children())
            sock = self.socket()
            sock.sendall(self.request(path))
            end = time.monotonic() + 5
            while time.monotonic() < end and not select.select([sock], [], [], 0)[0]:
                for child in filter(is_set_up, self.children()):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGSTOP)
                    if wait_for("a child that stands still", lambda: state_of(child) in "TZ") and \
                            state_of(child) == "T":
                        return sock, child
            sock.close()
        raise AssertionError("no child could be stopped")


def is_set_up(pid):
    """Has the child let go of its parent's files, the last of what it begins with?"""
    folder, links = f"/proc/{pid}/fd", []
    try:
        for fd in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # of those that it closes meanwhile
                links.append(os.readlink(os.path.join(folder, fd)))
    except (FileNotFoundError, ProcessLookupError):
        return False
    return "anon_inode:[signalfd]" not in links and any("memfd:answer" in link for link in links)


def state_of(pid):
    """As ps has it; "": there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(") ", 1)[1][0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def unpack(body):
    """Head and sections of an answer with data."""
    def take(at):
        (length,) = struct.unpack_from("<I", body, at)
        return body[at + 4:at + 4 + length], at + 4 + length

    head, at = take(0)
    head = json.loads(head)
    sections = {}
    for name, section in head["traces"][0]["sections"].items():
        packed, at = take(at)
        sections[name] = gzip.decompress(packed)
        assert len(sections[name]) == sum(c["bytes"] for c in section["columns"]), name
    assert at == len(body)
    return head["traces"][0], sections


class Case(unittest.TestCase):
    folder = kinds = large = None  # set by main()

    def serve(self, *arguments, **how):
        server = Server(*arguments, **how)
        self.addCleanup(server.__exit__)
        return server

    def refused(self, answer, status=403):
        self.assertEqual(answer.status, status, answer.text[:200])
        self.assertNotIn("Set-Cookie", answer.headers)
        self.assertNotIn("<script", answer.text)


class Entering(Case):
    def test_token_works_once(self):
        server = self.serve(self.kinds)
        self.refused(server.get("/"))
        self.refused(server.get("/?token="))
        self.refused(server.get("/?token=" + "0" * 32))
        self.refused(server.get("/?token=" + server.token + "0"))
        self.refused(server.get("/?token=" + server.token[:31]))
        server.enter()
        again = server.get("/?token=" + server.token, cookie="")
        self.refused(again)
        self.assertIn("works once", again.text)

    def test_prefetch_does_not_spend_it(self):
        server = self.serve(self.kinds)
        self.refused(server.get("/?token=" + server.token, headers={"Sec-Purpose": "prefetch"}), 503)
        self.refused(server.get("/?token=" + server.token, headers={"Sec-Fetch-Mode": "no-cors"}))
        server.enter()

    def test_without_the_cookie(self):
        server = self.serve(self.kinds).enter()
        for path in ("", "overview", "data", "facts"):
            self.refused(server.page(path, cookie=""))
            self.refused(server.page(path, cookie="0" * 32))
            self.refused(server.page(path, cookie=server.cookie + "0"))
            self.refused(server.get("/" + "0" * 32 + "/" + path))
        self.assertEqual(server.page().status, 200)

    def test_token_is_in_no_argument(self):
        """What a browser is opened with is a file for its owner; it is gone when it was used."""
        folder = os.path.join(self.folder, "bin")
        os.mkdir(folder)
        opener, told = os.path.join(folder, "xdg-open"), os.path.join(folder, "told")
        with open(opener, "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nprintf %s "$*" >{told}.part\nmv {told}.part {told}\n')
        os.chmod(opener, 0o755)
        server = self.serve(self.kinds, env={"DISPLAY": ":9", "XDG_RUNTIME_DIR": folder,
                                             "PATH": folder + ":" + os.environ["PATH"]})
        wait_for("the browser", lambda: os.path.exists(told))
        with open(told, encoding="utf-8") as file:
            path = file.read()
        self.assertNotIn(server.token, path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, encoding="utf-8") as file:
            self.assertIn(server.url, file.read())
        with open(f"/proc/{server.process.pid}/cmdline", encoding="utf-8") as file:
            self.assertNotIn(server.token, file.read())
        server.enter()
        self.assertFalse(os.path.exists(path))


class Requests(Case):
    def test_hosts(self):
        server = self.serve(self.kinds).enter()
        port = server.port
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LocalHost:{port}", f"[::1]:{port}"):
            self.assertEqual(server.page(headers={"Host": host}).status, 200, host)
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "localhost",
                     f"127.0.0.1:{port + 1}", f"127.0.0.1.evil.example:{port}", f"127.0.0.2:{port}",
                     f"127.0.0.1:{port}0", f"127.0.0.1:{port}:80", "", f"user@127.0.0.1:{port}"):
            self.refused(server.page(headers={"Host": host}))
            self.refused(server.get("/?token=" + server.token, headers={"Host": host}))
        self.assertIn(server.page(headers={"Host": None}).status, (400, 403))

    def test_two_hosts(self):
        server = self.serve(self.kinds).enter()
        with server.socket() as sock:
            sock.sendall(server.request("").replace(b"Cookie", b"Host: evil.example\r\nCookie"))
            self.assertRegex(sock.recv(100), rb"HTTP/1.1 40[03]")

    def test_origins(self):
        server = self.serve(self.kinds).enter()
        own = f"http://127.0.0.1:{server.port}"
        self.assertEqual(server.page("overview", headers={"Origin": own}).status, 200)
        for origin in ("null", "http://evil.example", "http://127.0.0.1", own + "0", own + "/",
                       own.replace("http", "https"), f"http://localhost:{server.port}", ""):
            self.refused(server.page("overview", headers={"Origin": origin}))
        for site in ("cross-site", "same-site", "whatever"):
            self.refused(server.page(headers={"Sec-Fetch-Site": site}))
        for site in ("same-origin", "none"):
            self.assertEqual(server.page(headers={"Sec-Fetch-Site": site}).status, 200)

    def test_methods(self):
        server = self.serve(self.kinds).enter()
        for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get",
                       "PROPFIND", "X" * 100):
            answer = server.page(method=method)
            self.refused(answer, 405)
            self.assertEqual(answer.headers["Allow"], "GET")
        self.refused(server.page(method="POST", body=b"x" * 1000), 405)
        self.refused(server.page(body=b"x" * 1000), 413)

    def test_paths(self):
        server = self.serve(self.kinds).enter()
        for path in ("..", "../", "../../etc/passwd", "%2e%2e", "%2e%2e/", "%2e%2e%2fetc%2fpasswd",
                     "./", "//", "/etc/passwd", "data/", "data/..", "Data", "%64ata", "data%00",
                     "kinds.ebt", "t/0/", "t/0", "list", "index.html", "\\..\\", "data;x", "*"):
            answer = server.page(path)
            self.assertIn(answer.status, (403, 404), path)
            self.assertNotIn("root:", answer.text)
        for path in ("/..", "/../", "/%2e%2e/", "/etc/passwd", "//", "/favicon.ico", "/*",
                     "/.." + server.session, "http://127.0.0.1/"):
            self.assertIn(server.get(path).status, (403, 404), path)

    def test_arguments(self):
        server = self.serve(self.kinds).enter()
        for query in ("from=", "from=x", "from=-1", "from=1e3", "from=0x10", "from=+1", "from=1%30",
                      "from=99999999999999999999999", "from=5&to=5", "from=5&to=4", "pid=x", "pid=1,,2",
                      "pid=4294967296", "pid=" + ",".join(["1"] * 17), "version=1", "version=" + "G" * 32):
            self.refused(server.page("data?" + query), 400)

    def test_long_requests(self):
        server = self.serve(self.kinds).enter()
        for request in (b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n",
                        server.request("").replace(b"Cookie", b"X: " + b"y" * 100000 + b"\r\nCookie"),
                        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n", b"x" * 1000000, b"\0" * 100000):
            with server.socket() as sock, contextlib.suppress(ConnectionError):
                sock.sendall(request)
                self.assertIn(sock.recv(12)[9:10], (b"4", b"5", b""))
        self.assertEqual(server.page().status, 200)

    def test_headers(self):
        server = self.serve(self.kinds).enter()
        for path in ("", "overview", "data", "facts", "none"):
            answer = server.page(path)
            self.assertEqual(answer.headers["Cache-Control"], "no-store")
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(answer.headers["Cross-Origin-Resource-Policy"], "same-origin")
            self.assertEqual(answer.headers["Cross-Origin-Opener-Policy"], "same-origin")
            policy = answer.headers["Content-Security-Policy"]
            self.assertTrue(policy.startswith("default-src 'none'"))
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertNotIn("unsafe", policy)
        policy = server.page().headers["Content-Security-Policy"]
        self.assertRegex(policy, r"script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+'")
        self.assertIn("connect-src 'self'", policy)

    def test_other_addresses(self):
        """It listens on the loopback addresses alone."""
        server = self.serve(self.kinds)
        with open("/proc/net/tcp", encoding="ascii") as four:
            lines = four.read().splitlines()[1:]
        with contextlib.suppress(FileNotFoundError), open("/proc/net/tcp6", encoding="ascii") as six:
            lines += six.read().splitlines()[1:]
        listening = [line.split()[1] for line in lines if line.split()[3] == "0A" and
                     line.split()[1].endswith(f":{server.port:04X}")]
        self.assertIn(f"0100007F:{server.port:04X}", listening)
        self.assertLessEqual(set(listening), {f"0100007F:{server.port:04X}",
                                              "00000000000000000000000001000000:" f"{server.port:04X}"})


class Data(Case):
    def test_whole_and_part(self):
        server = self.serve(self.large).enter()
        overview = json.loads(server.page("overview").text)
        self.assertEqual(overview["rows"], 300000)
        self.assertEqual([table["name"] for table in overview["tables"]], ["sched_switch"])
        self.assertAlmostEqual(sum(overview["tables"][0]["bins"]), 300000, delta=300)
        whole, _ = unpack(server.page("data?version=" + overview["version"]).body)
        part, sections = unpack(server.page("data?from=100000000&to=100010000").body)
        self.assertEqual(whole["window"]["from_ns"], overview["from_ns"])
        self.assertEqual(part["window"], {"from_ns": 100000000, "to_ns": 100010000})
        self.assertEqual(part["name"], "large.ebt")
        self.assertLess(part["sections"]["spells"]["rows"], whole["sections"]["spells"]["rows"])
        self.assertIn("strings", sections)

    def test_same_as_the_file(self):
        """The head of a part is that of `ebreport html` of the same part."""
        server = self.serve(self.kinds, "--no-symbols").enter()
        got, _ = unpack(server.page("data").body)
        path = os.path.join(self.folder, "page.html")
        subprocess.run([EBREPORT, "html", "--no-symbols", "-f", "-o", path, self.kinds], check=True,
                       stderr=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            head = re.search(r'id="head">(.*?)</script>', file.read(), re.S)[1]
        self.assertEqual(got, json.loads(head)["traces"][0])

    def test_filters_stay(self):
        server = self.serve(self.large, "--from", "100ms", "--to", "200ms", "--pid", "7").enter()
        part, _ = unpack(server.page("data?from=50000000&to=150000000").body)
        self.assertEqual(part["window"], {"from_ns": 100000000, "to_ns": 150000000})
        self.assertEqual(server.page("data?pid=8").status, 422)
        self.assertEqual(server.page("data?pid=7").status, 200)

    def test_too_much(self):
        path = generate(self.folder, "larger", switches(720000, 10000))
        server = self.serve(path, "--memory", "64M").enter()
        answer = server.page("data")
        self.refused(answer, 422)
        self.assertIn("shorter part", answer.text)
        self.assertEqual(server.page("data?from=0&to=1000000").status, 200)

    def test_other_file(self):
        """A file that is replaced is not taken for the one that the page is of."""
        path = os.path.join(self.folder, "replaced.ebt")
        shutil.copy(self.kinds, path)
        server = self.serve(path).enter()
        version = json.loads(server.page("overview").text)["version"]
        self.assertEqual(server.page("data?version=" + version).status, 200)
        shutil.copy(self.large, path + ".new")
        os.rename(path + ".new", path)
        self.refused(server.page("data?version=" + version), 404)
        self.refused(server.page(f"data?version={version}&from=1000000000000&to=2000000000000"), 404)
        self.assertEqual(json.loads(server.page("overview").text)["rows"], 300000)
        os.unlink(path)
        self.refused(server.page("data?version=" + version), 404)
        self.assertEqual(server.process.poll(), None)

    def test_damaged(self):
        with open(self.kinds, "rb") as file:
            good = file.read()
        path = os.path.join(self.folder, "damaged.ebt")
        for damaged in (b"", b"EBT", good[:100], good[:len(good) // 2], os.urandom(10000),
                        good[:2000] + os.urandom(2000) + good[4000:]):
            with open(path, "wb") as file:
                file.write(damaged)
            with Server(path) as server:
                server.enter()
                self.assertEqual(server.page().status, 200)
                for what in ("overview", "data", "facts"):
                    self.assertIn(server.page(what).status, (200, 422, 500), damaged[:20])

    def test_folder(self):
        folder = os.path.join(self.folder, "traces")
        os.mkdir(folder)
        shutil.copy(self.kinds, os.path.join(folder, "b\n<script>.ebt"))
        with open(os.path.join(folder, "a.ebt"), "wb"), open(os.path.join(folder, "c.txt"), "wb"):
            pass
        os.mkfifo(os.path.join(folder, "fifo.ebt"))
        os.mkdir(os.path.join(folder, "folder.ebt"))
        server = self.serve(folder).enter()
        traces = json.loads(server.page("list").text)["traces"]
        self.assertEqual([(t["number"], t["name"]) for t in traces], [(0, "a.ebt"), (1, "b\n<script>.ebt")])
        self.assertEqual(server.page("t/0/facts").status, 422)
        self.assertEqual(json.loads(server.page("t/1/facts").text)["host"], 'a "quoted" back\\slash')
        self.assertEqual(server.page("t/1/").status, 200)
        self.assertEqual(unpack(server.page("t/1/data").body)[0]["name"], "b\n<script>.ebt")
        for path in ("t/2/", "t/-1/", "t/", "t/1", "t/01x/", "t/1/../0/", "t/1%2f", "t/18446744073709551616/",
                     "data", "t/a.ebt/", "t/../a.ebt"):
            self.refused(server.page(path), 404)
        shutil.copy(self.kinds, os.path.join(folder, "0.ebt"))
        os.unlink(os.path.join(folder, "a.ebt"))
        traces = json.loads(server.page("list").text)["traces"]
        self.assertEqual([(t["number"], t["name"]) for t in traces], [(1, "b\n<script>.ebt"), (2, "0.ebt")])


class Crowds(Case):
    def test_thousand_at_once(self):
        server = self.serve(self.kinds).enter()
        failed, good = [], []

        def many():
            for _ in range(20):
                try:
                    answer = server.page()
                    (good if answer.status == 200 else failed).append(answer.status)
                except OSError as error:
                    failed.append(error)

        threads = [threading.Thread(target=many) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(len(good), 1000)

    def test_thousand_questions(self):
        """All open before one of them is answered: answers, or that there is no room."""
        server = self.serve(self.kinds).enter()
        sockets = []
        for _ in range(200):
            sock = server.socket()
            sock.sendall(server.request("data"))
            sockets.append(sock)
        answers = [read_status(sock) for sock in sockets]
        self.assertLessEqual(set(answers), {200, 503})
        self.assertGreater(answers.count(200), 0)
        self.assertEqual(server.page("overview").status, 200)

    def test_slow_strangers(self):
        """Clients that say a byte now and then do not keep others out."""
        server = self.serve(self.kinds).enter()
        slow = [server.socket() for _ in range(400)]
        for second in range(3):
            for sock in slow:
                with contextlib.suppress(OSError):
                    sock.send(b"GET / "[second:second + 1])
            self.assertEqual(server.page().status, 200)
            self.assertEqual(server.page("overview").status, 200)
        for sock in slow:
            sock.close()

    def test_slow_stranger_is_dropped(self):
        """However steadily it sends, a request has to be there after a while."""
        server = self.serve(self.kinds)
        began = time.monotonic()
        with server.socket() as sock:
            try:
                while time.monotonic() - began < PATIENCE:
                    sock.send(b"X")
                    if select.select([sock], [], [], 0.5)[0] and not sock.recv(1000):
                        break
            except ConnectionError:
                pass
        self.assertLess(time.monotonic() - began, PATIENCE)

    def test_never_reads(self):
        server = self.serve(self.large).enter()
        deaf = []
        for _ in range(100):
            sock = server.socket(receive=1)
            sock.sendall(server.request(""))
            deaf.append(sock)
        sock = server.socket(receive=1)
        sock.sendall(server.request("data"))
        self.assertEqual(server.page().status, 200)
        self.assertEqual(server.page("data?from=0&to=1000000").status, 200)
        for one in [sock, *deaf]:
            one.close()


def read_status(sock):
    with sock, sock.makefile("rb") as file:
        line = file.readline()
        file.read()
        return int(line.split()[1])


class Work(Case):
    """While a child is at work, and does not get on with it."""

    def test_others_are_answered(self):
        server = self.serve(self.large).enter()
        sock, child = server.stop_worker("data")
        self.assertEqual(server.page().status, 200)
        self.refused(server.get("/"))
        os.kill(child, signal.SIGCONT)
        self.assertEqual(read_status(sock), 200)

    def test_queue_is_bounded(self):
        server = self.serve(self.large).enter()
        first, child = server.stop_worker("data")
        waiting = []
        for _ in range(15):
            sock = server.socket()
            sock.sendall(server.request("overview"))
            waiting.append(sock)
        wait_for("a full queue", lambda: self.is_full(server))
        os.kill(child, signal.SIGCONT)
        self.assertEqual(read_status(first), 200)
        self.assertEqual([read_status(sock) for sock in waiting], [200] * 15)

    def is_full(self, server):
        with server.socket() as sock:
            sock.sendall(server.request("facts"))
            if not select.select([sock], [], [], 1)[0]:
                return False  # it waits; that it hangs up gives its place back
            return sock.recv(12) == b"HTTP/1.1 503"

    def test_hanging_up_gives_up(self):
        server = self.serve(self.large).enter()
        sock, child = server.stop_worker("data")
        sock.close()
        wait_for("the end of the child", lambda: not state_of(child))
        self.assertEqual(server.page("overview").status, 200)

    def test_interrupt(self):
        server = self.serve(self.large).enter()
        sock, child = server.stop_worker("data")
        began = time.monotonic()
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.process.wait(PATIENCE), 0)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(state_of(child), "")
        self.assertEqual(server.process.stderr.read(), "")
        sock.close()

    def test_child_that_dies(self):
        server = self.serve(self.large).enter()
        sock, child = server.stop_worker("data")
        os.kill(child, signal.SIGSEGV)
        os.kill(child, signal.SIGCONT)
        self.assertEqual(read_status(sock), 500)
        self.assertEqual(server.page("overview").status, 200)

    def test_child_that_cannot_be_started(self):
        """There is room for the connection, and for no other file."""
        server = self.serve(self.large)
        files = server.files()
        server.enter()
        wait_for("the end of the connection", lambda: server.files() == files)
        free = (fd for fd in itertools.count() if fd not in files)
        next(free)
        before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (next(free), before[1]))
        answer = server.page("overview")
        self.refused(answer, 503)
        self.assertIn("Too many open files", answer.text)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)
        self.assertEqual(server.page("overview").status, 200)

    def test_killed_server_leaves_nobody(self):
        server = self.serve(self.large).enter()
        sock, child = server.stop_worker("data")
        server.process.kill()
        server.process.wait()
        wait_for("the end of the child", lambda: state_of(child) in ("", "Z"))
        sock.close()


class Ends(Case):
    def test_timeout(self):
        server = self.serve(self.kinds, "--timeout", "1s")
        self.assertEqual(server.process.wait(PATIENCE), 0)

    def test_strangers_do_not_keep_it(self):
        server = self.serve(self.kinds, "--timeout", "2s")
        began = time.monotonic()
        while server.process.poll() is None and time.monotonic() - began < PATIENCE:
            with contextlib.suppress(OSError):
                server.get("/")
            time.sleep(0.1)
        self.assertEqual(server.process.poll(), 0)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server = self.serve(self.kinds)
            server.process.send_signal(number)
            self.assertEqual(server.process.wait(PATIENCE), 0, number)

    def test_values(self):
        server = self.serve(self.kinds)
        for option, value, status in (("port", server.port, 1), ("port", 65536, 2), ("memory", "63M", 2)):
            done = subprocess.run([EBREPORT, "serve", f"--{option}", str(value), self.kinds], check=False,
                                  capture_output=True, timeout=PATIENCE, text=True)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertIn(option, done.stderr)

    def test_no_file(self):
        for path, status in ((self.folder + "/none.ebt", 1), ("/dev/null", 2)):
            done = subprocess.run([EBREPORT, "serve", path], check=False, capture_output=True,
                                  timeout=PATIENCE, text=True)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)

    def test_address_in_a_file(self):
        path = os.path.join(self.folder, "address")
        process = subprocess.Popen([EBREPORT, "serve", "--timeout", "1s", "-o", path, self.kinds])
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, encoding="ascii") as file:
            self.assertRegex(file.read(), r"^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}\n$")


class OtherUser(Case):
    @unittest.skipIf(os.geteuid() != 0 or not shutil.which("setpriv"), "needs root and setpriv")
    def test_other_user(self):
        """Nobody else on the machine gets in, or finds the token."""
        server = self.serve(self.kinds).enter()
        script = f"""
import glob, os, urllib.error, urllib.request
for path in ("/", "/?token={'0' * 32}", "{server.session}", "{server.session}data"):
    try:
        urllib.request.urlopen("http://127.0.0.1:{server.port}" + path)
        print("let in", path)
    except urllib.error.HTTPError as error:
        print(error.code)
for path in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        if b"{server.token}" in open(path, "rb").read().replace(b"\\0", b" ") and str(os.getpid()) not in path:
            print("seen in", path)
    except OSError:
        pass
"""
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                               "python3", "-"], input=script, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["403"] * 4, done.stderr)


def is_built():
    done = subprocess.run([EBREPORT, "serve", "--timeout", "1s", KINDS], check=False,
                          capture_output=True, text=True)
    return "built without" not in done.stderr


def main():
    del sys.argv[1:4]
    if not is_built():
        print("built without libmicrohttpd")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="ebt-serve-") as folder:
        Case.folder = folder
        Case.kinds = os.path.join(folder, "kinds.ebt")
        subprocess.run([EBTGEN, KINDS, Case.kinds], check=True)
        Case.large = generate(folder, "large", switches(300000))
        return 0 if unittest.main(exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

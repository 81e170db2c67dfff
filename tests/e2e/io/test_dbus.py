# SPDX-License-Identifier: GPL-2.0-or-later
"""D-Bus: what dbus-monitor sees on a bus of the test's own, and times that a service keeps."""

import glob
import os
import pwd
import select
import shlex
import signal
import socket
import stat
import threading
import time

import e2e

SERVICE = e2e.program("dbus_service")
NAME = "org.example.Service"
INTERFACE = "org.example.Test"
TYPES = {"mc": "call", "mr": "return", "err": "error", "sig": "signal"}


# Says how long a command took.
CLOCK = """
import subprocess, sys, time
t = time.monotonic_ns()
subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL)
open(sys.argv[1], 'w').write(str(time.monotonic_ns() - t))
"""


def run_delay(pid):
    """How long its threads have waited for a CPU, by the kernel."""
    delay = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as f:
            delay += int(f.read().split()[1])
    return delay


def line_of(child):
    """A line of its standard output."""
    ready, _, _ = select.select([child.stdout], [], [], e2e.SECONDS)
    assert ready, "nothing is said"
    return child.stdout.readline().decode().strip()


class DBus(e2e.TestCase):
    def setUp(self):
        super().setUp()
        if not os.path.exists(SERVICE):
            self.fail("built without libdbus: -Ddbus=enabled says what is missing")

    def bus(self, user=None):
        """Starts a bus. Gives its address."""
        path = self.path("bus")
        command = ["dbus-daemon", "--session", "--nofork", "--print-address",
                   f"--address=unix:path={path}"]
        if user:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
                       "--clear-groups"] + command
        self.daemon = self.start(*command, stdout=e2e.subprocess.PIPE)
        self.assertTrue(line_of(self.daemon).startswith("unix:"))
        return f"unix:path={path}"

    def service(self, address):
        child = self.start(SERVICE, address, NAME, stdout=e2e.subprocess.PIPE)
        self.assertEqual(line_of(child), "ready")
        return child

    def call(self, address, method, *arguments):
        return ["dbus-send", f"--bus={address}", "--print-reply", "--reply-timeout=100000",
                f"--dest={NAME}", "/test", f"{INTERFACE}.{method}", *arguments]

    def record_until(self, address, seen, *commands):
        """Records commands, and goes on until a message has been seen: the bus sends it to monitors
        when it likes. Sets how long the bus and the recorder waited for a CPU."""
        trace = self.path("t.ebt")
        child = self.start(e2e.EBREC, "-f", "-o", trace, "-e", f"dbus:{address}", "--", "sh", "-c",
                           "; ".join(shlex.join(map(str, c)) for c in commands) + "; read end",
                           stdin=e2e.subprocess.PIPE)
        self.wait_for_rows(trace, child, "dbus_message")
        end = time.monotonic() + e2e.SECONDS
        while not any(map(seen, e2e.report_json("dbus", trace, "--trace")["rows"])):
            self.assertIsNone(child.poll())
            self.assertLess(time.monotonic(), end, "a message is missing")
            time.sleep(0.2)
        self.delay_ns = run_delay(child.pid) + run_delay(self.daemon.pid)
        child.communicate(b"end\n", e2e.SECONDS)
        self.assertEqual(child.returncode, 0)
        return trace

    def source(self, trace):
        sources = e2e.report_json("info", trace)["sources"]
        return next(s for s in sources if s["name"] == "dbus")

    def test_dbus_monitor_sees_the_same(self):
        address = self.bus()
        self.service(address)
        with open(self.path("seen"), "wb") as seen:
            self.start("stdbuf", "-oL", "dbus-monitor", "--address", address, "--profile",
                       stdout=seen)
        while not os.path.getsize(self.path("seen")):
            time.sleep(0.05)
        calls = [self.call(address, "Sleep", "uint32:1"), self.call(address, "Shout", "uint32:50"),
                 ["dbus-send", f"--bus={address}", "--type=method_call",
                  f"--dest={NAME}", "/never", f"{INTERFACE}.Sleep", "uint32:1"],
                 ["dbus-send", f"--bus={address}", "--type=signal", "/last", f"{INTERFACE}.Last"]]
        trace = self.record_until(address, lambda m: m.get("path") == "/last", *calls)
        self.assert_no_loss(trace)
        self.assertEqual(self.source(trace)["status"], "on")
        ours = [[m["type"], str(m["serial"]), m["sender"], m.get("destination", "<none>")]
                + ([str(m["reply_serial"])] if m["type"] in ("return", "error") else
                   [m["path"], m["interface"], m["member"]])
                for m in e2e.report_json("dbus", trace, "--trace")["rows"]]
        theirs, end = [], time.monotonic() + e2e.SECONDS
        while ours[-1] not in theirs and time.monotonic() < end:
            time.sleep(0.05)
            with open(self.path("seen"), encoding="utf-8") as f:
                theirs = [line.split("\t") for line in f.read().split("\n")[:-1]]
            theirs = [[TYPES[w[0]], *w[2:]] for w in theirs if w[0] in TYPES]
        # It began earlier, and ours ended earlier. Serials of the bus itself are not unique.
        call = next(i for i, m in enumerate(ours) if m[0] == "call")
        first = theirs.index(ours[call]) - call
        self.assertEqual(ours, theirs[first:first + len(ours)])
        self.assertGreaterEqual(len(ours), 60)
        for at in range(first + len(ours), len(theirs)):
            self.assertNotIn(INTERFACE, theirs[at])

    def test_durations(self):
        address = self.bus()
        self.service(address)
        trace = self.record_until(
            address, lambda m: m["type"] == "return" and m["sender"].startswith(":"),
            ["python3", "-c", CLOCK, self.path("took"),
             *self.call(address, "Sleep", "uint32:1000")])
        with open(self.path("took"), encoding="utf-8") as f:
            took = int(f.read())
        rows = {r["member"]: r for r in e2e.rows("dbus", trace)}
        sleep = rows["Sleep"]
        self.assertEqual([sleep[k] for k in ("destination", "interface", "call_count", "errors",
                                             "unanswered")], [NAME, INTERFACE, 1, 0, 0])
        # The recorder sees both messages a moment after they were sent; a long one here and there,
        # and as long as it and the bus had no CPU.
        self.assertGreaterEqual(sleep["max_ns"], 800_000_000 - self.delay_ns)
        self.assertLessEqual(sleep["max_ns"], took + 500_000_000 + self.delay_ns)
        self.assertEqual(sleep["max_ns"], sleep["p50_ns"])
        self.assertEqual(sleep["total_ns"], sleep["max_ns"])

    def test_messages_that_are_read_late(self):
        """What the command had been told when it ended is in the reports."""
        address = self.bus()
        self.service(address)
        trace = self.path("t.ebt")
        e2e.run("strace", "-f", "-b", "execve", "-o", "/dev/null", "-e", "trace=recvmsg",
                "-e", "inject=recvmsg:delay_enter=100000", e2e.EBREC, "-o", trace,
                "-e", f"dbus:{address}", "--", *self.call(address, "Sleep", "uint32:1"))
        self.assertEqual(self.source(trace)["status"], "on")
        rows = {r["member"]: r for r in e2e.rows("dbus", trace)}
        self.assertEqual([rows["Sleep"][k] for k in ("call_count", "unanswered")], [1, 0])

    def test_parts(self):
        """A call has its answer, also where a part of the recording ends between them."""
        address = self.bus()
        self.service(address)
        trace = self.record_until(
            address, lambda m: m.get("path") == "/last", self.call(address, "Sleep", "uint32:200"),
            self.call(address, "Fail"), self.call(address, "Sleep", "uint32:1"),
            ["dbus-send", f"--bus={address}", "--type=signal", "/last", f"{INTERFACE}.Last"])
        messages = e2e.report_json("dbus", trace, "--trace")["rows"]
        asked = [m["time_ns"] for m in messages
                 if m["type"] == "call" and m["destination"] == NAME]
        self.assertEqual(len(asked), 3)
        for begin, end in [(0, t + 1) for t in asked] + [(asked[0] + 1, asked[1] + 1)]:
            self.check_part(trace, messages, begin, end)

    def check_part(self, trace, messages, begin, end):
        part, window = self.path("part.ebt"), ["--from", f"{begin}ns", "--to", f"{end}ns"]
        e2e.run(e2e.EBREPORT, "cut", *window, trace, "-f", "-o", part)
        e2e.run("python3", os.path.join(e2e.SOURCE, "tests/tools/ebtdump.py"), "--check", part)
        moved = e2e.start_ns(part) - e2e.start_ns(trace)
        whole = e2e.report_json("dbus", trace, *window)
        copy = e2e.report_json("dbus", part)
        for row in copy["rows"]:
            if "max_at_ns" in row:
                row["max_at_ns"] += moved
        self.assertEqual([copy[k] for k in ("rows", "signals")],
                         [whole[k] for k in ("rows", "signals")])
        self.assertTrue(any(r["destination"] == NAME and not r["unanswered"] for r in copy["rows"]))
        # Of what came later there are these answers, and no more.
        shown = [m for m in messages if begin <= m["time_ns"] < end]
        calls = {(m["sender"], m["serial"]) for m in shown if m["type"] == "call"}
        behind = [m for m in messages if m["time_ns"] >= end and m["type"] in ("return", "error")
                  and (m["destination"], m["reply_serial"]) in calls]
        self.assertTrue(behind)
        self.assertEqual(e2e.tables(part)["dbus_message"]["row_count"], len(shown) + len(behind))

    def test_errors_and_no_answer(self):
        address = self.bus()
        self.service(address)
        never = self.call(address, "Never")
        never[never.index("--reply-timeout=100000")] = "--reply-timeout=300"
        trace = self.record_until(address, lambda m: m.get("member") == "Never",
                                  self.call(address, "Fail"), self.call(address, "Fail"), never)
        rows = {r["member"]: r for r in e2e.rows("dbus", trace)}
        self.assertEqual((rows["Fail"]["call_count"], rows["Fail"]["errors"]), (2, 2))
        self.assertEqual((rows["Never"]["call_count"], rows["Never"]["unanswered"]), (1, 1))
        self.assertNotIn("max_ns", rows["Never"])
        errors = [m for m in e2e.report_json("dbus", trace, "--trace")["rows"]
                  if m["type"] == "error"]
        self.assertEqual([m["error"] for m in errors], [INTERFACE + ".Failed"] * 2)
        self.assertTrue(all(m["duration_ns"] > 0 for m in errors))

    def test_flood_is_counted(self):
        address = self.bus()
        self.service(address)
        sent = 60000
        trace = self.path("t.ebt")
        child = self.start(e2e.EBREC, "-q", "-o", trace, "-e", f"dbus:{address}", "-d", "1h", "-a")
        self.wait_for_rows(trace, child, "dbus_bus")
        e2e.run(*self.call(address, "Shout", f"uint32:{sent}"))
        # The bus may still have some of them to send to its monitors.
        end = time.monotonic() + e2e.SECONDS
        while time.monotonic() < end:
            table = e2e.tables(trace).get("dbus_message", {"row_count": 0, "lost_rows": 0})
            if table["row_count"] + table["lost_rows"] >= sent:
                break
            time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(e2e.SECONDS), 0)
        ticks = {s["member"]: s["count"] for s in e2e.report_json("dbus", trace)["signals"]}["Tick"]
        self.assertLessEqual(ticks, sent)
        self.assertGreaterEqual(ticks + e2e.lost(trace).get("dbus_message", 0), sent)

    def test_bus_that_ends(self):
        address = self.bus()
        trace = self.path("t.ebt")
        child = self.start(e2e.EBREC, "-q", "-o", trace, "-e", f"dbus:{address}", "--",
                           "sh", "-c", f"kill {self.daemon.pid}; read end",
                           stdin=e2e.subprocess.PIPE)
        self.wait_for_rows(trace, child, "lost")
        child.communicate(b"end\n", e2e.SECONDS)
        self.assertEqual(child.returncode, 0)
        losses = e2e.report_json("info", trace)["losses"]
        self.assertTrue(any("closed the connection" in l["detail"] for l in losses), losses)

    def test_bus_of_another_user(self):
        user = pwd.getpwnam("nobody")
        address = self.bus(user)
        self.assertEqual(os.stat(self.path("bus")).st_uid, user.pw_uid)
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = e2e.CLEAN["DBUS_SESSION_BUS_ADDRESS"] = address
        self.addCleanup(e2e.CLEAN.pop, "DBUS_SESSION_BUS_ADDRESS")
        self.addCleanup(os.environ.pop, "DBUS_SESSION_BUS_ADDRESS")
        trace = self.record("-e", "dbus:session", "--", "setpriv", f"--reuid={user.pw_uid}",
                            "--clear-groups", "dbus-send", "--session", "--print-reply",
                            "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.GetId")
        self.assertEqual(self.source(trace)["status"], "on")
        rows = {r["member"]: r for r in e2e.rows("dbus", trace)}
        self.assertEqual((rows["GetId"]["call_count"], rows["GetId"]["bus"]), (1, "session"))

    def fake(self, answer):
        """A socket that says something else than a bus would."""
        server = socket.socket(socket.AF_UNIX)
        server.bind(self.path("fake"))
        server.listen(5)
        held = []

        def serve():
            try:
                while True:
                    peer, _ = server.accept()
                    held.append(peer)
                    peer.send(answer)
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        self.addCleanup(lambda: [s.close() for s in held + [server]])
        return f"unix:path={self.path('fake')}"

    def test_what_is_no_bus(self):
        for answer in (b"", b"\x00\xff" * 5000, b"OK 0123456789abcdef0123456789abcdef\r\n" * 50):
            with self.subTest(answer[:3]):
                address = self.fake(answer)
                trace = self.record("-e", f"dbus:{address},task", "--", "true")
                source = self.source(trace)
                self.assertEqual(source["status"], "unavailable")
                self.assertIn(address, source["detail"])
                os.unlink(self.path("fake"))

    def test_system_bus_or_none(self):
        trace = self.record("-e", "dbus", "--", "true")
        path = "/run/dbus/system_bus_socket"
        there = os.path.exists(path) and stat.S_ISSOCK(os.stat(path).st_mode)
        source = self.source(trace)
        if there and source["status"] == "on":
            return
        self.assertEqual(source["status"], "unavailable")
        self.assertIn("system: ", source["detail"])

    def test_refused(self):
        for argument in ("nothing", "unixexec:path=/bin/sh", "tcp:host=localhost", ""):
            done = e2e.run(e2e.EBREC, "-e", f"dbus:{argument}", "--", "true", status=125)
            self.assertIn(b"it takes session|system|ADDRESS", done.stderr)


if __name__ == "__main__":
    e2e.main()

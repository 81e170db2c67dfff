# SPDX-License-Identifier: GPL-2.0-or-later
"""The network: against counters of devices and namespaces of the test's own, what programs say of
their sockets, the kernel's own times of packets, and a device that delays what goes through it.

Delay and loss are made without netem, which not every kernel has: tbf queues, iptables drops, and
a program between two tun devices delays. test_kernels.py has netem."""

import json
import os
import re
import shutil
import signal
import sys
import time

import e2e

DELAY_MS = 50
PORT = 7777
CLOSED = 7778
ADDRESSES = {"a": ("10.77.0.1", "fd77::1"), "b": ("10.77.0.2", "fd77::2")}

# Programs that run in the namespaces. Each says on a line of JSON what it knows.
PEER = r'''
import json, os, socket, struct, sys, time

def say(**what):
    print(json.dumps(what), flush=True)

def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET

def read_all(s):
    n = 0
    while True:
        data = s.recv(65536)
        if not data:
            return n
        n += len(data)

def server(address, port, connections, answer, ready):
    with socket.create_server((address, int(port)), family=family(address)) as listener:
        open(ready, "w").close()
        for _ in range(int(connections)):
            s, peer = listener.accept()
            with s:
                got = read_all(s)
                s.sendall(b"x" * int(answer))
                say(pid=os.getpid(), role="server", sport=s.getsockname()[1], dport=peer[1],
                    received=got, sent=int(answer))

def client(address, port, size):
    with socket.socket(family(address)) as s:
        begin = time.monotonic_ns()
        code = s.connect_ex((address, int(port)))
        took = time.monotonic_ns() - begin
        if code:
            say(pid=os.getpid(), role="client", error=code, dport=int(port), took=took)
            return
        s.sendall(b"y" * int(size))
        s.shutdown(socket.SHUT_WR)
        got = read_all(s)
        info = s.getsockopt(socket.IPPROTO_TCP, 11, 256)
        say(pid=os.getpid(), role="client", error=0, saddr=s.getsockname()[0],
            sport=s.getsockname()[1], daddr=address, dport=int(port), took=took,
            sent=int(size), received=got, retransmits=struct.unpack_from("I", info, 100)[0])

# Times of each datagram that the kernel takes when it is queued, and when the driver has it.
def datagrams(address, port, count, size):
    SCHED, SND, RAW, OPT_ID, TSONLY = 1 << 8, 1 << 1, 1 << 4, 1 << 7, 1 << 11
    with socket.socket(family(address), socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE: they wait there
        s.setsockopt(socket.SOL_SOCKET, 37, SCHED | SND | RAW | OPT_ID | TSONLY)
        for _ in range(int(count)):
            s.sendto(b"z" * int(size), (address, int(port)))
        times, heard = {}, time.monotonic()
        while time.monotonic() < heard + 1:
            try:
                _, cmsgs, _, _ = s.recvmsg(0, 1024, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
            except BlockingIOError:
                time.sleep(0.01)
                continue
            heard = time.monotonic()
            for level, kind, data in cmsgs:
                if level == socket.SOL_SOCKET:
                    seconds, ns = struct.unpack_from("qq", data)
                else:
                    which, number = struct.unpack_from("II", data, 8)
            times.setdefault(number, {})[which] = seconds * 10**9 + ns
        say(pid=os.getpid(), queued=sum(1 in t for t in times.values()),
            queue=[t[0] - t[1] for _, t in sorted(times.items()) if len(t) == 2])

globals()[sys.argv[1]](*sys.argv[2:])
'''

# Carries packets between two tun devices in two namespaces, each so many ms later.
DELAYER = r'''
import ctypes, fcntl, heapq, os, select, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
ms, ready, *sides = sys.argv[1:]
tuns = []
for namespace in sides:
    with open(namespace) as f:
        if libc.setns(f.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH22x", b"late", 0x1001))  # IFF_TUN | IFF_NO_PI
    tuns.append(tun)
open(ready, "w").close()
queue, order = [], 0
while True:
    now = time.monotonic()
    while queue and queue[0][0] <= now:
        _, _, to, packet = heapq.heappop(queue)
        try:
            os.write(to, packet)
        except OSError:
            pass  # that side is down
    wait = max(0, queue[0][0] - now) if queue else None
    for tun in select.select(tuns, [], [], wait)[0]:
        packet = os.read(tun, 65536)
        order += 1
        heapq.heappush(queue, (time.monotonic() + int(ms) / 1000, order,
                               tuns[1 - tuns.index(tun)], packet))
'''


class Net(e2e.TestCase):
    families = slice(0, 2)  # of ADDRESSES

    def setUp(self):
        super().setUp()
        # As much as fits into the names of devices and namespaces of others.
        self.spaces = {side: f"ebt{os.getpid()}{side}" for side in "ab"}
        with open(self.path("peer.py"), "w", encoding="utf-8") as f:
            f.write(PEER)
        with open(self.path("delayer.py"), "w", encoding="utf-8") as f:
            f.write(DELAYER)
        for space in self.spaces.values():
            e2e.run("ip", "netns", "add", space)
            self.addCleanup(e2e.run, "ip", "netns", "del", space, status=None)
            # Nothing goes through the devices but what the test sends.
            self.inside(space, "sysctl", "-q", "net.ipv6.conf.default.accept_dad=0",
                        "net.ipv6.conf.default.router_solicitations=0",
                        "net.ipv6.conf.default.addr_gen_mode=1")
            self.inside(space, "ip", "link", "set", "lo", "up")

    def inside(self, space, *command, **options):
        return e2e.run("ip", "netns", "exec", space, *command, **options)

    def without_ipv6(self):
        """The kernel tells of multicast groups when it likes, and again a second later."""
        self.families = slice(0, 1)
        for space in self.spaces.values():
            self.inside(space, "sysctl", "-q", "net.ipv6.conf.all.disable_ipv6=1",
                        "net.ipv6.conf.default.disable_ipv6=1")

    def link(self):
        """A veth pair between the namespaces, with the addresses of its ends known to both."""
        a, b = self.spaces["a"], self.spaces["b"]
        e2e.run("ip", "link", "add", "va", "netns", a, "type", "veth", "peer", "name", "vb",
                "netns", b)
        self.address("va", "vb")
        macs = {side: self.inside(self.spaces[side], "cat",
                                  f"/sys/class/net/v{side}/address").stdout.decode().strip()
                for side in "ab"}
        for side, other in ("ab", "ba"):
            for address in ADDRESSES[other][self.families]:
                self.inside(self.spaces[side], "ip", "neigh", "replace", address, "lladdr",
                            macs[other], "dev", f"v{side}", "nud", "permanent")
        time.sleep(0.5)  # for what the kernel sends when a device comes up

    def address(self, *devices):
        for side, device in zip("ab", devices):
            space = self.spaces[side]
            self.inside(space, "ip", "link", "set", device, "up")
            for address, bits in zip(ADDRESSES[side][self.families], (24, 64)):
                self.inside(space, "ip", "addr", "add", f"{address}/{bits}", "dev", device)

    def peer(self, side, *words):
        return " ".join(["ip netns exec", self.spaces[side], sys.executable,
                         self.path("peer.py"), *map(str, words)])

    def statistics(self, name):
        """Shell lines that note the counters of both devices in files."""
        return "\n".join(
            f"ip netns exec {self.spaces[side]} sh -c 'cd /sys/class/net/v{side}/statistics; "
            f"grep . [rt]x_bytes [rt]x_packets' >{self.path(name + side)}" for side in "ab")

    def counters(self, name, side):
        with open(self.path(name + side), encoding="utf-8") as f:
            return {key: int(value) for key, value in
                    (line.strip().split(":") for line in f)}

    def server(self, side, *words):
        """Shell lines that start a server and wait until it listens."""
        ready = self.path("ready")
        return (f"rm -f {ready}\n{self.peer(side, 'server', *words, ready)} >>{self.path('said')} &\n"
                f"server=$!\nuntil [ -e {ready} ]; do kill -0 $server || exit 1; sleep 0.05; done")

    def trace_of(self, lines, whole_system=False):
        """Records a shell script, or all while it runs; the trace has lost nothing."""
        script, trace = self.path("script"), self.path("t.ebt")
        with open(script, "w", encoding="utf-8") as f:
            # The recording lasts as long as its processes: none may be left where one fails.
            f.write("set -e\ntrap 'kill $server 2>/dev/null || true' EXIT\n" + "\n".join(lines)
                    + "\n")
        if whole_system:
            recorder = self.start(e2e.EBREC, "-f", "-o", trace, "-e", "net", "-a")
            self.wait_for_rows(trace, recorder, "source")
            e2e.run("sh", script)
            recorder.send_signal(signal.SIGINT)
            self.assertEqual(recorder.wait(e2e.SECONDS), 0)
        else:
            self.record("-e", "net", "--", "sh", script)
        # `ip netns exec` has mounts of its own: if it ends before it is looked at, that is counted.
        self.assertLessEqual(set(e2e.lost(trace)), {"process", "mmap"} if whole_system else {"process"})
        with open(self.path("said"), encoding="utf-8") as f:
            self.said = [json.loads(line) for line in f]
        return trace

    def client(self, *words):
        return f"{self.peer('a', 'client', *words)} >>{self.path('said')}"

    def devices(self, report):
        return {row["device"]: row for row in report["interfaces"]
                if row["device"] in ("va", "vb", "late")}

    def check_counters(self, whole_system):
        self.without_ipv6()
        self.link()
        there = ADDRESSES["b"][0]
        # A namespace counts from when somebody uses a socket there, and the kernel sends as it
        # likes: one listens on either side before the counters are read.
        trace = self.trace_of([self.server("a", ADDRESSES["a"][0], PORT, 0, 0), "wait $server",
                               self.server("b", there, PORT, 3, 500000), self.statistics("before"),
                               *[self.client(there, PORT, n) for n in (1, 100000, 3000000)],
                               "wait $server", self.settled(), self.statistics("after")], whole_system)
        ours = self.devices(e2e.report_json("net", trace))
        for side in "ab":
            before, after = self.counters("before", side), self.counters("after", side)
            theirs = {key: after[key] - before[key] for key in after}
            self.assertGreater(theirs["tx_packets"], 20)
            self.assertEqual({key: ours[f"v{side}"][key] for key in theirs}, theirs, side)

    def settled(self):
        """Shell line that waits until all connections have ended."""
        each = " ".join(f"$(ip netns exec {space} ss -tanH | grep -v TIME-WAIT)"
                        for space in self.spaces.values())
        return f'while [ -n "$(echo {each})" ]; do sleep 0.05; done'

    @e2e.exact
    def test_counters_of_devices(self):
        self.check_counters(False)

    @e2e.exact
    def test_counters_of_devices_whole_system(self):
        self.check_counters(True)

    @e2e.exact
    def test_connections(self):
        """Both families, addresses, ports, bytes, and one that is refused."""
        self.link()
        lines = []
        for there in ADDRESSES["b"]:
            lines += [self.server("b", there, PORT, 2, 70000), self.client(there, PORT, 1000),
                      self.client(there, PORT, 200000), "wait $server",
                      self.client(there, CLOSED, 1)]
        report = e2e.report_json("net", self.trace_of(lines + [self.settled()]))
        rows = {row["pid"]: row for row in report["rows"] if "pid" in row}
        for said in self.said:
            mine = [c for c in report["connections"] if c["pid"] == said["pid"]
                    and said.get("sport", c["sport"]) == c["sport"]
                    and c["dport"] == said["dport"]]
            self.assertEqual(len(mine), 1, said)
            self.check_connection(mine[0], said)
        clients = [s for s in self.said if s["role"] == "client" and not s["error"]]
        self.assertEqual(len(clients), 4)
        for said in clients:
            row = rows[said["pid"]]
            self.assertEqual((row["tx_bytes"], row["rx_bytes"], row["connects"]),
                             (said["sent"], said["received"], 1))
        for pid in {s["pid"] for s in self.said if s["role"] == "server"}:
            self.assertEqual((rows[pid]["tx_bytes"], rows[pid]["rx_bytes"], rows[pid]["accepts"]),
                             (140000, 201000, 2))
        totals, = report["totals"]
        self.assertEqual((totals["connects"], totals["connects_failed"], totals["accepts"]),
                         (4, 2, 4))
        self.assertEqual((totals["resets_sent"], totals["resets_received"]), (2, 2))

    @e2e.exact
    def test_users(self):
        """Two clients of one user and one of another, beside what they say of themselves."""
        self.link()
        there = ADDRESSES["b"][0]
        another = self.client(there, PORT, 3000).replace(
            sys.executable, "setpriv --reuid=1234 --clear-groups --inh-caps=+dac_override "
            f"--ambient-caps=+dac_override {sys.executable}")
        trace = self.trace_of([self.server("b", there, PORT, 3, 500), another, another,
                               self.client(there, PORT, 70000), "wait $server", self.settled()])
        figures = ("tx_bytes", "rx_bytes", "connects", "accepts")
        self.assertEqual({row["uid"]: tuple(row[key] for key in figures)
                          for row in e2e.rows("net", trace, "--by", "user") if "uid" in row},
                         {0: (71500, 76500, 1, 3), 1234: (6000, 1000, 2, 0)})
        by_both = e2e.rows("net", trace, "--by", "process,user")
        for said in self.said:
            row, = (row for row in by_both if row.get("pid") == said["pid"])
            if said["role"] == "client":
                self.assertEqual((row["uid"], row["tx_bytes"], row["rx_bytes"]),
                                 (1234 if said["sent"] == 3000 else 0, said["sent"], 500))
        self.assertIn("--by-thread is --by thread now",
                      e2e.run(e2e.EBREPORT, "net", "--by-thread", trace, status=2).stderr.decode())

    def check_connection(self, ours, said):
        if said["role"] == "client" and said["error"]:
            self.assertEqual((ours["kind"], ours["result"]), ("connect", "ECONNREFUSED"))
            return
        self.assertEqual((ours["kind"], ours["result"], ours["tx_bytes"], ours["rx_bytes"]),
                         ("connect" if said["role"] == "client" else "accept", "closed",
                          said["sent"], said["received"]))
        if said["role"] == "client":
            self.assertEqual((ours["saddr"], ours["daddr"]), (said["saddr"], said["daddr"]))
            # It began and ended within the call.
            self.assertLessEqual(ours["latency_ns"], said["took"])
            self.assertEqual(ours["retransmits"], said["retransmits"])

    @e2e.exact
    def test_text(self):
        self.link()
        there = ADDRESSES["b"][1]
        trace = self.trace_of([self.server("b", there, PORT, 1, 10), self.client(there, PORT, 5),
                               "wait $server"])
        sport = next(s["sport"] for s in self.said if s["role"] == "client")
        text = e2e.ebreport("net", trace)
        self.assertRegex(text, rf"connect +\[fd77::1\]:{sport} +\[fd77::2\]:{PORT} ")
        events = e2e.ebreport("net", "--trace", trace)
        for event in (r"state CLOSE -> SYN_SENT", r"connection <.*> connect", r"send 5 bytes",
                      r"receive 10 bytes", r"packet out va ", r"packet in vb "):
            self.assertRegex(events, event)

    def queue(self, limit, count):
        """Datagrams of 1000 bytes, and a qdisc that lets a million bytes a second through. Gives
        the packets of the trace with the kernel's time in the queue for each that got through."""
        self.link()
        wire = 1000 + 8 + 20 + 14
        self.inside(self.spaces["a"], "tc", "qdisc", "add", "dev", "va", "root", "tbf", "rate",
                    "8mbit", "burst", "2000", "limit", str(limit))
        self.trace = self.trace_of(
            [f"{self.peer('a', 'datagrams', ADDRESSES['b'][0], PORT, count, 1000)}"
             f" >>{self.path('said')}"])
        self.assertEqual(self.said[0]["queued"], count)
        theirs = self.said[0]["queue"]
        packets = [row for row in e2e.rows("net", self.trace, "--trace")
                   if row["event"] == "packet out" and row.get("device") == "va"
                   and row["bytes"] == wire]
        self.assertEqual(len(packets), len(theirs))
        for packet, kernel in zip(packets, theirs):
            # Queued after the kernel's first time, given to the driver before its second one.
            self.assertLessEqual(packet["duration_ns"], kernel + 10**6)
        self.assertGreaterEqual(2 * sum(p["duration_ns"] for p in packets), sum(theirs))
        return packets, theirs

    @e2e.exact
    def test_queue(self):
        count = 100
        packets, theirs = self.queue(1000000, count)
        self.assertEqual(len(theirs), count)
        # The last one leaves behind all but those that pass at once, and the first: 1 us a byte.
        self.assertGreaterEqual(packets[-1]["time_ns"] - packets[0]["time_ns"],
                                ((count - 1) * packets[0]["bytes"] - 2000) * 1000)
        device = self.devices(e2e.report_json("net", self.trace))["va"]
        self.assertEqual(device["queue_max_ns"], max(p["duration_ns"] for p in packets))
        self.assertIn("queue of their device", e2e.ebreport("net", "--histogram", self.trace))

    @e2e.exact
    def test_connect_latency(self):
        """Each packet takes 50 ms: a connection takes twice as long."""
        ready = self.path("delayer")
        self.start(sys.executable, self.path("delayer.py"), DELAY_MS, ready,
                   *(f"/run/netns/{space}" for space in self.spaces.values()))
        end = time.monotonic() + e2e.SECONDS
        while not os.path.exists(ready) and time.monotonic() < end:
            time.sleep(0.05)
        self.address("late", "late")
        lines = []
        for there in ADDRESSES["b"]:
            lines += [self.server("b", there, PORT, 1, 10), self.client(there, PORT, 10),
                      "wait $server"]
        report = e2e.report_json("net", self.trace_of(lines))
        self.assertEqual([c["kind"] for c in report["connections"]],
                         ["connect", "accept"] * 2)
        for connection in report["connections"]:
            # A time of the accepting side is the kernel's, in us, and rounded down.
            self.assertGreaterEqual(connection["latency_ns"], 2 * DELAY_MS * 10**6 - 10**6)
            for said in self.said:
                if said["pid"] == connection["pid"] and said["role"] == "client":
                    self.assertLessEqual(connection["latency_ns"], said["took"])

    def retransmitted(self, space):
        text = self.inside(space, "cat", "/proc/net/snmp").stdout.decode()
        names, values = re.findall(r"(?m)^Tcp: (.*)$", text)
        return int(dict(zip(names.split(), values.split()))["RetransSegs"])

    @e2e.exact
    def test_loss(self):
        """One packet of ten is lost on each side; what is sent again, the namespaces count."""
        self.link()
        for space in self.spaces.values():
            for tables in "iptables", "ip6tables":
                self.inside(space, tables, "-A", "INPUT", "-i", "v+", "-m", "statistic", "--mode",
                            "nth", "--every", "10", "--packet", "3", "-j", "DROP")
        lines = []
        for there in ADDRESSES["b"]:
            lines += [self.server("b", there, PORT, 3, 200000)]
            lines += [self.client(there, PORT, 300000)] * 3 + ["wait $server"]
        report = e2e.report_json("net", self.trace_of(lines + [self.settled()]))
        kernel = sum(self.retransmitted(space) for space in self.spaces.values())
        self.assertGreater(kernel, 10)
        totals, = report["totals"]
        self.assertEqual(totals["retransmits"], kernel)
        self.assertEqual(sum(row["retransmits"] for row in report["rows"]), kernel)
        # The kernel counts a SYN-ACK for the connection that comes of it.
        self.assertEqual(sum(c["retransmits"] for c in report["connections"]), kernel)

    @e2e.exact
    def test_attached(self):
        """A server that is there already: its connections have an owner and addresses."""
        self.link()
        there, ready = ADDRESSES["b"][0], self.path("ready")
        said = self.path("said")
        with open(said, "w", encoding="utf-8") as f:
            server = self.start(*self.peer("b", "server", there, PORT, 2, 1000, ready).split(),
                                stdout=f)
        while not os.path.exists(ready):
            self.assertIsNone(server.poll())
            time.sleep(0.05)
        trace = self.path("t.ebt")
        pid = server.pid
        recorder = self.start(e2e.EBREC, "-f", "-o", trace, "-e", "net", "-p", pid)
        self.wait_for_rows(trace, recorder, "process")
        for _ in range(2):
            e2e.run(*self.peer("a", "client", there, PORT, 300).split())
        self.assertEqual(recorder.wait(e2e.SECONDS), 0)
        report = e2e.report_json("net", trace)
        self.assertEqual([(c["pid"], c["kind"], c["tx_bytes"], c["rx_bytes"])
                          for c in report["connections"]], [(pid, "accept", 1000, 300)] * 2)
        row, = (row for row in report["rows"] if row.get("pid") == pid)
        self.assertEqual((row["tx_bytes"], row["rx_bytes"], row["accepts"]), (2000, 600, 2))

    @e2e.exact
    def test_scrubbed(self):
        """Addresses go, and what belongs together still does."""
        self.link()
        lines = []
        for there in ADDRESSES["b"]:
            lines += [self.server("b", there, PORT, 1, 10), self.client(there, PORT, 5),
                      "wait $server"]
        trace = self.trace_of(lines)
        e2e.ebreport("scrub", trace, "-o", self.path("public.ebt"))
        before = e2e.report_json("net", trace)["connections"]
        after = e2e.report_json("net", self.path("public.ebt"))["connections"]
        known = {address for pair in ADDRESSES.values() for address in pair}
        new = {}
        for old, scrubbed in zip(before, after):
            for key in "saddr", "daddr":
                self.assertIn(old[key], known)
                self.assertNotIn(scrubbed[key], known)
                self.assertEqual(new.setdefault(old[key], scrubbed[key]), scrubbed[key])
            self.assertEqual(old["sport"], scrubbed["sport"])
        self.assertEqual(len(set(new.values())), 4)


if __name__ == "__main__":
    for tool in "ip", "tc", "iptables", "ip6tables", "ss", "sysctl":
        assert shutil.which(tool), f"{tool} is missing"
    e2e.main()

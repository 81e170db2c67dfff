# SPDX-License-Identifier: GPL-2.0-or-later
"""`-e syscalls:args`: what sockets are, against `strace -yy` of the same execution, which asks the kernel
at each call; and that no address is left in a trace without what is private."""

import os
import re
import sys

import e2e

WORK = r"""
import os, socket, sys
folder = sys.argv[1]
def talk(a, b):
    a.send(b"abc")
    b.recv(3)
    b.send(b"de") if b.type != socket.SOCK_DGRAM else None
for family, host in (socket.AF_INET, "192.0.2.7"), (socket.AF_INET6, "::1"):
    server = socket.create_server((host, 0), family=family)
    client = socket.create_connection(server.getsockname()[:2])
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    accepted = server.accept()[0]
    talk(client, accepted)
    bound = socket.socket(family, socket.SOCK_DGRAM)
    bound.bind((host, 0))
    connected = socket.socket(family, socket.SOCK_DGRAM)
    connected.connect(bound.getsockname())
    talk(connected, bound)
    bound.sendto(b"a", connected.getsockname())
    refused = socket.socket(family)
    refused.connect_ex((host, 1))
    refused.close()
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET:
    talk(*socket.socketpair(socket.AF_UNIX, kind))
for name in folder + "/private.sock", "\0abstract-name":
    server = socket.socket(socket.AF_UNIX)
    server.bind(name)
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect(name)
    accepted = server.accept()[0]
    talk(client, accepted)
bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
bound.bind(folder + "/datagrams.sock")
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
netlink.bind((0, 0))
netlink.getsockname()
a, b = socket.socketpair()
child = os.fork()
if not child:
    accepted.send(b"from the child")
    os.write(socket.recv_fds(b, 10, 1)[1][0], b"passed")
    os._exit(0)
socket.send_fds(a, [b"a"], [client.fileno()])
os.waitpid(child, 0)
accepted.recv(100)
"""
CALL = re.compile(r"(\w+)\(")
# The first argument and the result: of descriptors in messages nothing is recorded.
NAME = re.compile(r"(?:\w+\(|= )\d+<((?:TCP|UDP|UNIX|NETLINK).*?\])>")
NETWORK = 'ip link set lo up && ip addr add 192.0.2.7/32 dev lo && exec "$0" "$@"'
SYSCALLS = "network,read,write"


class Sockets(e2e.TestCase):
    def names(self, lines, pid):
        """Of each call that names sockets: it, and their names; by process."""
        found = {}
        for line in lines:
            match = re.match(pid, line)
            names = NAME.findall(line)
            if match and names:
                found.setdefault(int(match[1]), []).append((CALL.search(line)[1], names))
        return found

    def record_work(self):
        return self.record("-e", "syscalls:args", "--", "unshare", "-n", "sh", "-c", NETWORK, "strace", "-f",
                           "-yy", "-e", f"trace=%{SYSCALLS}", "-o", self.path("strace"), sys.executable, "-c",
                           WORK, self.folder)

    def test_names(self):
        trace = self.record_work()
        with open(self.path("strace"), encoding="ascii") as f:
            theirs = self.names(f, r"(\d+) ")
        mine = self.names(e2e.ebreport("syscalls", "--trace", trace).splitlines(), r"\[pid +(\d+)\]")
        count = 0
        for pid, calls in theirs.items():
            names = {call for call, _ in calls}
            self.assertEqual([call for call in mine[pid] if call[0] in names], calls)
            count += len(calls)
        print(f"\n    {count} calls", file=sys.stderr)
        self.assertGreater(count, 80)
        self.assertFalse(e2e.lost(trace))

    def test_scrubbed(self):
        trace = self.record_work()
        e2e.run(e2e.EBREPORT, "scrub", "-o", self.path("scrubbed.ebt"), trace)
        whole = e2e.run(e2e.EBREPORT, "dump", trace).stdout
        rows = e2e.run(e2e.EBREPORT, "dump", self.path("scrubbed.ebt")).stdout
        for private in (b"c0000207", b"private.sock", b"datagrams.sock", b"abstract-name",
                        os.path.basename(self.folder).encode()):
            self.assertIn(private, whole)
            self.assertNotIn(private, rows)
        self.assertIn(b"UNIX-STREAM", e2e.run(e2e.EBREPORT, "syscalls", "--trace", self.path("scrubbed.ebt")).stdout)


if __name__ == "__main__":
    e2e.main()

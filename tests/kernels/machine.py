# SPDX-License-Identifier: GPL-2.0-or-later
"""An emulated machine with another kernel: Debian's packages of it, an initramfs with ebrec and the
programs of the tests, QEMU. Needs neither root nor KVM.
"""

import contextlib
import ctypes
import functools
import glob
import lzma
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import e2e

MEMORY_MB = 1024
DISK_MB = 256  # on which results leave the machine
CPU_SECONDS = 1800  # of the emulator from switching it on to its end, several times what it takes
SECONDS = 2700  # the same by the clock: it may wait for CPUs, but not for ever
CONSOLE_LINES = 60  # that an error message shows
PR_SET_PDEATHSIG = 1  # of linux/prctl.h
OLDER = 4  # versions to try besides the newest one
PAUSES = 0, 20, 60, 120  # s before package lists are fetched: somebody else may do so just now

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH={path} HOME=/root
mkdir -p /proc /sys /dev /tmp /root /results
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 cgroup /sys/fs/cgroup
ip link set lo up
for module in /modules/*; do insmod "$module" || echo "no module $module"; done
uname -r >/results/release
for task in /tasks/*; do
	name="${{task##*/}}"
	mkdir "/results/$name"
	cd "/results/$name"
	read -r uptime _ </proc/uptime
	echo "$uptime s: task $name"
	sh -e "$task" >output 2>&1 </dev/null
	status=$?
	echo $status >status
	[ $status = 0 ] || {{ echo "status $status of $name:"; tail -n 30 output; }}
done
cd /results
tar c . >/dev/vda || echo "the results cannot be written"
sync
echo "all done"
poweroff -f
"""


class Failed(Exception):
    """No such kernel, or it did not get to the end; says what the console said."""


def newest_first(names):
    """Those of packages with kernels, the newest ones first."""
    signed = [name for name in names if name.endswith("-cloud-amd64")]
    return sorted(signed, reverse=True, key=lambda name: list(map(int, re.findall(r"\d+", name))))


class Packages:
    """Packages in a folder that lasts longer than a test."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        os.makedirs(folder, exist_ok=True)
        self.said = []

    def apt_get(self, *arguments, **options):
        """Has it done that?"""
        done = subprocess.run(["apt-get", "-q", *arguments], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        self.said.append(done.stdout)
        return done.returncode == 0

    def kept(self, name):
        """Paths of packages in the folder; the name may be a pattern."""
        return glob.glob(os.path.join(glob.escape(self.folder), f"{name}_*.deb"))

    def names(self, series):
        """What to try, the best first. What lists say may be too new or too old for servers."""
        listed = subprocess.run(["apt-cache", "pkgnames", f"linux-image-{series}."],
                                capture_output=True, text=True, check=False).stdout.split()
        here = [os.path.basename(deb).split("_")[0] for deb in
                self.kept(f"linux-image-{series}.*")]
        return newest_first(listed)[:1 + OLDER] + newest_first(here)

    def download(self, name):
        """apt-get writes to a file of the package's name from the first byte on."""
        with tempfile.TemporaryDirectory(dir=self.folder) as partial:
            if self.apt_get("download", name, cwd=partial):
                for deb in os.listdir(partial):
                    os.rename(os.path.join(partial, deb), os.path.join(self.folder, deb))

    def unpack(self, deb, folder):
        """One that is damaged goes, to be downloaded again."""
        with tempfile.TemporaryDirectory(dir=self.folder) as partial:
            everything = os.path.join(partial, "all")
            done = e2e.run("dpkg", "-x", deb, everything, status=None)
            if done.returncode == 0:
                with contextlib.suppress(OSError):  # somebody else has
                    os.rename(everything, folder)
                return
        self.said.append(done.stderr.decode(errors="replace"))
        os.unlink(deb)

    def content(self, name):
        """Folder with what is in the package, which is downloaded once; None if that failed."""
        if not self.kept(name):
            self.download(name)
        for deb in self.kept(name):
            folder = deb[:-len(".deb")]
            if not os.path.isdir(folder):
                self.unpack(deb, folder)
            if os.path.isdir(folder):
                return folder
        return None

    def newest(self, series):
        """Folder with the newest kernel package of a series that can be had."""
        for pause in None, *PAUSES:
            if pause is not None:
                time.sleep(pause)
                self.apt_get("update")
            for name in self.names(series):
                folder = self.content(name) or self.content(name)
                if folder:
                    return folder
        raise Failed(f"no package with a kernel {series} can be had: apt-get said\n"
                     + "".join(self.said))


def module(folder, name):
    """Bytes of a kernel's module; None if it has none of this name, as when it is built in."""
    found = glob.glob(f"{glob.escape(folder)}/lib/modules/*/kernel/**/{name.replace('_', '[-_]')}"
                      ".ko*", recursive=True)
    if not found:
        return None
    with open(found[0], "rb") as f:
        content = f.read()
    return lzma.decompress(content) if found[0].endswith(".xz") else content


def modules(folder, *names):
    """(name, bytes) of modules, each behind those that it needs."""
    found = {}

    def add(name):
        content = module(folder, name)
        if content is None or name in found:
            return
        needed = re.search(rb"\0depends=([^\0]*)\0", content)
        for other in needed[1].decode().split(",") if needed and needed[1] else []:
            add(other.replace("-", "_"))
        found.setdefault(name, content)

    for name in names:
        add(name)
    return list(found.items())


def libraries(path):
    """What ld.so would load for a program. Nothing for a static one."""
    done = e2e.run("ldd", path, status=None)
    return re.findall(rb"(/\S+) \(0x", done.stdout) if done.returncode == 0 else []


def become_emulator(test):
    """For a process that is about to run it. Its machine's clock goes on while it waits for a CPU,
    so it comes before what else runs here if that may be, also where the kernel gives each session
    its share first. It ends with the test, though in a session of its own."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != test:
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    os.setsid()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write("-20")


class Machine:
    """The machine before it is switched on: files, modules and tasks.

    A task is a name and lines for busybox's sh, run with -e in a folder of its own; what it leaves
    there comes back. ebrec, the programs of tests/programs and busybox's are in its PATH. Programs
    have the paths that they have outside, so that ebreport finds their symbols.
    """

    def __init__(self, series, kept):
        """kept: folder for packages."""
        self.folder = Packages(kept).newest(series)
        self.files = {"bin/busybox": (0o755, shutil.which("busybox"))}
        self.modules = ["virtio_pci", "virtio_blk"]
        self.tasks = {}

    def add(self, path):
        """A program or library with the libraries that it needs, or a folder with all in it."""
        for folder, _, names in os.walk(path):
            for name in names:
                self.add(os.path.join(folder, name))
        if os.path.isfile(path):
            for file in [path] + [p.decode() for p in libraries(path)]:
                self.files[file.lstrip("/")] = (os.stat(file).st_mode & 0o777, file)

    def add_text(self, path, text, mode=0o644):
        self.files[path] = (mode, text.encode() if isinstance(text, str) else text)

    def initramfs(self, to):
        """Lays the files out and packs them."""
        tree = os.path.join(to, "tree")
        paths = ["/bin", "/sbin", os.path.dirname(e2e.EBREC), e2e.PROGRAMS]
        self.add_text("init", INIT.format(path=":".join(paths)), 0o755)
        for i, (name, content) in enumerate(modules(self.folder, *self.modules)):
            self.add_text(f"modules/{i:03}-{name}.ko", content)
        for name, script in self.tasks.items():
            self.add_text(f"tasks/{name}", script + "\n")
        for path, (mode, content) in self.files.items():
            path = os.path.join(tree, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if isinstance(content, bytes):
                with open(path, "wb") as f:
                    f.write(content)
            else:
                shutil.copyfile(content, path)
            os.chmod(path, mode)
        packed = os.path.join(to, "initramfs")
        with open(packed, "wb") as f:
            subprocess.run("find . | busybox cpio -o -H newc", shell=True, cwd=tree, stdout=f,
                           stderr=subprocess.DEVNULL, check=True)
        shutil.rmtree(tree)
        return packed

    def run(self, to):
        """Boots, runs all tasks, and puts what they left into the folder `to`/results."""
        disk = os.path.join(to, "disk")
        with open(disk, "wb") as f:
            f.truncate(DISK_MB << 20)
        console = os.path.join(to, "console")
        kernel, = glob.glob(os.path.join(glob.escape(self.folder), "boot/vmlinuz-*"))
        with open(console, "wb") as f:
            try:
                done = subprocess.run(
                    # One thread: with more, QEMU 7.2 may run breakpoints that the kernel has
                    # taken back already when it patches its code, as it does for tracepoints.
                    ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-smp", "2",
                     "-m", str(MEMORY_MB), "-display", "none", "-monitor", "none",
                     "-serial", "stdio", "-no-reboot", "-nic", "none",
                     "-kernel", kernel, "-initrd", self.initramfs(to),
                     "-drive", f"file={disk},format=raw,if=virtio",
                     # Else the kernel counts ticks when it starts, and gives up if they are late.
                     "-append", "console=ttyS0 quiet panic=-1 no_timer_check"],
                    stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT,
                    timeout=SECONDS, preexec_fn=functools.partial(become_emulator, os.getpid()),
                    check=False)
                end = f"it ended with {done.returncode}"
            except subprocess.TimeoutExpired:
                end = f"stopped after {SECONDS} s"
        with open(console, encoding="utf-8", errors="replace") as f:
            lines = f.read().splitlines()[-CONSOLE_LINES:]
        self.console = "\n".join(lines)
        if "all done" not in self.console:  # maybe behind something that the kernel says
            raise Failed(f"{os.path.basename(kernel)} did not get to its end ({end}); its console:"
                         f"\n{self.console}")
        results = os.path.join(to, "results")
        os.mkdir(results)
        e2e.run("tar", "-C", results, "-xf", disk)
        os.unlink(disk)
        return results

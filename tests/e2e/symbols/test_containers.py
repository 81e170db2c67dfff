# SPDX-License-Identifier: GPL-2.0-or-later
"""Containers of podman, rootful and rootless with fuse-overlayfs: images have different builds of a
library at the same path, and so has the host. Frames of each process come from its own, while the
containers run, when they have stopped, and, from a bundle, when they are gone."""

import filecmp
import glob
import os
import pwd
import shutil
import signal
import stat
import subprocess
import time

import debugger
import e2e

SOURCE = os.path.join(e2e.SOURCE, "tests/programs/identity.c")
# Names of what the test leaves nothing of; two may run at once.
NAME = f"ebt{os.getpid()}"
PLACE = f"/opt/{NAME}"  # of the library, in images and on the host
LIBRARY = f"{PLACE}/libwork.so"
USER = NAME

# A mount namespace where /sys/fs/cgroup is cgroup2 alone, which container engines want, and where
# everyone may use /dev/fuse; until standard input ends.
NAMESPACE = """
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs none /mnt
mknod -m 666 /mnt/fuse c 10 229
mount --bind /mnt/fuse /dev/fuse
umount -l /mnt
mount --make-rshared /
echo ready
cat
"""


class Engine:
    """podman and buildah of root."""

    storage = "/var/lib/containers/storage"
    opaque_layers = True
    run_options = ["--net", "host", "--pids-limit", "-1", "--ulimit", "nofile=1000:1000",
                   "--ulimit", "nproc=1000:1000"]

    def __init__(self, test):
        self.test = test
        self.holder = test.start("unshare", "-m", "sh", "-c", NAMESPACE, stdout=subprocess.PIPE,
                                 pipe=True)
        assert self.holder.stdout.readline() == b"ready\n"
        self.prefix = ["nsenter", "-t", self.holder.pid, "-m"]
        self.images = []
        self.containers = []

    def run(self, *command, **options):
        return e2e.run(*self.prefix, *command, cwd="/", **options)

    def podman(self, *arguments, **options):
        return self.run("podman", "--runtime", "runc", *arguments, **options).stdout.decode().strip()

    def script(self, text):
        """Commands in a shell that may mount."""
        return self.run("sh", "-ec", text).stdout.decode().strip()

    def change(self, container, text):
        """Commands in a shell with $m, where the container's files are."""
        self.script(f"m=$(podman mount {container})\n{text}\npodman umount {container} >/dev/null")

    def clean(self):
        for container in self.containers:
            self.podman("rm", "-f", "-t", "0", container, status=None)
        for image in self.images:
            self.podman("rmi", "-f", image, status=None)
        for depth in "*/*/libpod_parent/*/", "*/*/libpod_parent/":
            for path in glob.glob("/sys/fs/" + depth):
                e2e.run("rmdir", path, status=None)

    def import_image(self, tree, name):
        image = f"localhost/{name}:1"
        with subprocess.Popen(["tar", "-C", tree, "-c", "."], stdout=subprocess.PIPE) as tar:
            subprocess.run([str(c) for c in self.command("import", "-", image)], stdin=tar.stdout,
                           check=True, capture_output=True, cwd="/", timeout=e2e.SECONDS)
        self.images.append(image)
        return image

    def command(self, *arguments):
        return [*self.prefix, "podman", "--runtime", "runc", *arguments]

    def start(self, image, name, *command):
        """A container that runs until it is stopped. Gives its process id and its id."""
        self.containers.append(name)
        container = self.podman("run", "-d", *self.run_options, "--name", name, image, *command)
        pid = int(self.podman("inspect", "-f", "{{.State.Pid}}", name))
        assert pid, self.podman("logs", name)
        return pid, container

    def stop(self, name):
        """Podman itself waits for some seconds only until what it has killed is gone."""
        end = time.monotonic() + e2e.SECONDS
        while e2e.run(*self.command("stop", "-t", "0", name), cwd="/", status=None).returncode:
            assert time.monotonic() < end, self.podman("ps", "-a")


class RootlessEngine(Engine):
    """podman of a user of its own, with fuse-overlayfs."""

    run_options = ["--net", "host", "--ulimit", "nofile=1000:1000", "--ulimit", "nproc=1000:1000"]
    opaque_layers = False  # it finds changes of an image by comparing files

    def __init__(self, test):
        super().__init__(test)
        e2e.run("useradd", "-m", USER)
        user = pwd.getpwnam(USER)
        self.uid, self.home, self.runtime = user.pw_uid, user.pw_dir, f"/run/user/{user.pw_uid}"
        os.makedirs(self.runtime, exist_ok=True)
        os.chown(self.runtime, user.pw_uid, user.pw_gid)
        self.storage = f"{self.home}/.local/share/containers/storage"
        folder = f"{self.home}/.config/containers"
        os.makedirs(folder)
        with open(f"{folder}/storage.conf", "w") as f:
            f.write('[storage]\ndriver = "overlay"\n[storage.options.overlay]\n'
                    'mount_program = "/usr/bin/fuse-overlayfs"\n')
        e2e.run("chown", "-R", f"{USER}:", f"{self.home}/.config")
        self.prefix += ["setpriv", "--reuid", USER, "--regid", USER, "--init-groups",
                        "--reset-env", "env", f"HOME={self.home}", f"XDG_RUNTIME_DIR={self.runtime}",
                        "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
        # A pause process of an earlier run holds another namespace.
        self.podman("system", "migrate")

    def command(self, *arguments):
        return [*self.prefix, "podman", "--cgroup-manager", "cgroupfs", "--runtime", "runc",
                *arguments]

    def podman(self, *arguments, **options):
        return e2e.run(*self.command(*arguments), cwd="/", **options).stdout.decode().strip()

    def script(self, text):
        return self.run("buildah", "unshare", "sh", "-ec", text).stdout.decode().strip()

    def change(self, container, text):
        self.run("podman", "unshare", "sh", "-ec",
                 f"m=$(podman mount {container})\n{text}\npodman umount {container} >/dev/null")

    def clean(self):
        super().clean()
        # Subordinate users own some of the files.
        self.run("podman", "unshare", "rm", "-rf", f"{self.home}/.local", status=None)
        for process in glob.glob("/proc/[0-9]*"):
            try:
                if os.stat(process).st_uid == self.uid:
                    os.kill(int(os.path.basename(process)), signal.SIGKILL)
            except OSError:
                pass
        shutil.rmtree(self.runtime, ignore_errors=True)
        end = time.monotonic() + e2e.SECONDS
        while e2e.run("userdel", "-rf", USER, status=None).returncode not in (0, 6):
            if time.monotonic() > end:
                break
            time.sleep(0.5)
        shutil.rmtree(self.home, ignore_errors=True)


class Containers:
    """The tests, for any engine."""

    engine_class = None

    def setUp(self):
        super().setUp()
        self.engine = self.engine_class(self)
        self.addCleanup(self.engine.clean)
        os.makedirs(PLACE)
        self.addCleanup(shutil.rmtree, PLACE, ignore_errors=True)
        self.program = self.compile(self.path("program"), "burn_program", 9000)

    def start(self, *command, pipe=False, **options):
        """As that of e2e.TestCase; pipe: its standard input stays open until the test ends."""
        if not pipe:
            return super().start(*command, **options)
        reader, writer = os.pipe()
        child = subprocess.Popen([str(c) for c in command], stdin=reader, start_new_session=True,
                                 env=e2e.CLEAN, **options)
        os.close(reader)

        def stop():
            os.close(writer)
            child.wait(e2e.SECONDS)
            child.stdout.close()

        self.addCleanup(stop)
        return child

    @staticmethod
    def compile(path, name, line, *options):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        e2e.run("gcc", "-g", "-O1", f"-DNAME={name}", f"-DLINE={line}", *options, "-o", path, SOURCE)
        return path

    def library(self, path, name, line):
        return self.compile(path, name, line, "-shared", "-fPIC", "-DLIBRARY")

    def tree(self, name, line):
        """Files of an image whose library has this function."""
        tree = self.path(f"tree-{name}")
        for file in ("/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"):
            os.makedirs(os.path.dirname(tree + file), exist_ok=True)
            shutil.copy(file, tree + file)
        os.makedirs(f"{tree}/bin")
        shutil.copy(self.program, f"{tree}/bin/program")
        self.library(tree + LIBRARY, name, line)
        return tree

    def functions(self, trace, pid):
        """Names of ours with their lines, and self time of frames in the image without a name.
        (What runc does before it becomes the program is not in the image.)"""
        files = "/bin/program", LIBRARY, "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"
        ours, nameless = {}, 0
        for row in e2e.rows("callgraph", trace, "--all", "--pid", pid):
            if row["function"].startswith("burn_"):
                ours[row["function"]] = row.get("lines", "")
            elif "+0x" in row["function"] and row["object"] in files:
                nameless += row["self_ns"]
        return ours, nameless

    def assert_functions(self, trace, pid, name, line):
        """All samples of the process in the one function, with the lines of that build."""
        ours, nameless = self.functions(trace, pid)
        self.assertEqual(list(ours), [name], f"of {pid}; {nameless} ns without name")
        self.assertEqual(nameless, 0)
        self.assertRegex(ours[name], rf"identity\.c:{line // 10}\d")

    def record_running(self, pids):
        return self.record("-F", "499", "-p", ",".join(map(str, pids)), "-d", "2")

    def test_builds_at_one_path(self):
        names = {"one": ("burn_of_image_one", 1000), "two": ("burn_of_image_two", 2000)}
        expected, containers = {}, {}
        for name, (function, line) in names.items():
            image = self.engine.import_image(self.tree(function, line), f"{NAME}-{name}")
            pid, container = self.engine.start(image, f"{NAME}-{name}", "/bin/program", "0.1", "use",
                                               LIBRARY, "wait")
            expected[pid] = function, line
            containers[container] = f"{NAME}-{name}", image, pid
        self.library(LIBRARY, "burn_of_host", 3000)
        host = self.start(self.program, "0.1", "use", LIBRARY, "wait", stdout=subprocess.DEVNULL)
        expected[host.pid] = "burn_of_host", 3000
        trace = self.record_running(expected)
        self.assert_no_loss(trace)

        def check(file):
            for pid, (function, line) in expected.items():
                self.assert_functions(file, pid, function, line)

        with self.subTest("while running"):
            check(trace)
        with self.subTest("info"):
            self.check_info(trace, containers)
        for name in names:
            self.engine.stop(f"{NAME}-{name}")
        with self.subTest("stopped"):
            check(trace)
        bundle = self.path("bundle.ebt")
        e2e.ebreport("bundle", "-o", bundle, trace)
        for name in names:
            self.engine.podman("rm", f"{NAME}-{name}")
            self.engine.podman("rmi", "-f", f"localhost/{NAME}-{name}:1")
        host.kill()
        with self.subTest("from the bundle"):
            check(bundle)
        with self.subTest("gone"):
            for pid, (function, _) in expected.items():
                ours, _ = self.functions(trace, pid)
                self.assertLessEqual(set(ours), {function} if pid == host.pid else set())

    def check_info(self, trace, containers):
        """The list of containers, as podman knows them: by id, name and image."""
        listed = e2e.report_json("info", trace)["containers"]
        found = {row["container_id"]: (row["name"], row["image"], int(row["pids"])) for row in listed}
        self.assertEqual(found, containers)
        rows = {row["pid"]: row for row in e2e.rows("procs", trace)}
        for identity, (name, _, pid) in containers.items():
            self.assertEqual((rows[pid]["container"], rows[pid]["container_id"]), (name, identity))
        text = e2e.ebreport("info", "--all", trace)
        for identity, (name, image, pid) in containers.items():
            self.assertRegex(text, rf"{identity} +{name} +{image} +{pid}")

    def copier(self, image, name, pipe):
        """A container whose dd copies a byte a time, once it has a pipe to read from."""
        self.engine.containers.append(name)
        self.engine.podman("run", "-d", *self.engine.run_options, "-v", f"{self.path('pipes')}:/pipes",
                           "--name", name, image, "/bin/dd", f"if=/pipes/{pipe}", "of=/dev/null",
                           "bs=1", "status=none")
        return int(self.engine.podman("inspect", "-f", "{{.State.Pid}}", name))

    def test_groups(self):
        """Calls of each container and control group, under the names that podman and the kernel
        have: a dd for each writes as many bytes as it is given, one at a time."""
        counts = {f"{NAME}-few": 300, f"{NAME}-many": 1100}
        tree = self.tree("burn_of_image", 1000)
        shutil.copy("/bin/dd", f"{tree}/bin/dd")
        image = self.engine.import_image(tree, f"{NAME}-image")
        os.mkdir(self.path("pipes"))
        e2e.run("chmod", "-R", "a+rX", self.folder)
        pids = {}
        for name in counts:
            os.mkfifo(self.path(f"pipes/{name}"), 0o666)
            os.chmod(self.path(f"pipes/{name}"), 0o666)
            pids[name] = self.copier(image, name, name)
        host = self.start("sh", "-c", "while sleep 0.05; do :; done")
        groups = {name: self.cgroup(pid) for name, pid in pids.items()}
        trace = self.path("t.ebt")
        recorder = self.start(e2e.EBREC, "-o", trace, "-e", "syscalls", "-p",
                              ",".join(map(str, [*pids.values(), host.pid])))
        self.wait_for_rows(trace, recorder, "syscall")
        for name, count in counts.items():
            with open(self.path(f"pipes/{name}"), "wb") as pipe:
                pipe.write(bytes(count))
        for name in counts:
            self.engine.podman("wait", name)
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(e2e.SECONDS), 0)
        self.assert_no_loss(trace)

        def writes(*by):
            return {tuple(row.get(key) for key in by[1:]): row["count"]
                    for row in e2e.rows("syscalls", trace, "--by", by[0]) if row["name"] == "write"}

        found = writes("container,call", "container")
        self.assertEqual({name: found[name,] for name in counts}, counts)
        found = writes("cgroup,container,program,call", "cgroup", "container", "program")
        for name, count in counts.items():
            self.assertEqual(found[groups[name], name, "dd"], count)
        nested = e2e.rows("syscalls", trace, "--by", "container")
        self.assertLessEqual({*counts, "(none)"}, {row["container"] for row in nested})
        for row in nested:
            self.assertEqual(row["count"], sum(call["count"] for call in row["rows"]))

    @staticmethod
    def cgroup(pid):
        """The path in cgroup v2 or, where a process is in its root, the first of v1."""
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as f:
            lines = [line.rstrip("\n").split(":", 2) for line in f]
        second = [path for _, controllers, path in lines if not controllers and path != "/"]
        return (second or [path for _, _, path in lines if path != "/"] or ["/"])[0]

    def test_started_while_recording(self):
        """Containers that come and go meanwhile; `--rm`, so that none is left at the end."""
        image = self.engine.import_image(self.tree("burn_of_image", 1000), f"{NAME}-image")
        self.library(LIBRARY, "burn_of_host", 3000)
        command = self.engine.command("run", "--name", f"{NAME}-later", *self.engine.run_options, image,
                                      "/bin/program", "1", "use", LIBRARY)
        self.engine.containers.append(f"{NAME}-later")
        trace = self.record("-F", "499", "--", *command, cwd="/")
        programs = [row for row in e2e.Dump(trace, "--table", "process").rows("process")
                    if row["exe"] == '"/bin/program"']
        self.assertTrue(programs)
        self.assert_functions(trace, programs[-1]["task"].split("/")[1], "burn_of_image", 1000)

    def specials(self):
        """What is special in layers of all images and containers: whiteouts of files and opaque
        directories, as a device and an attribute, or, where the file system has neither, as files."""
        found = set()
        for place in glob.glob(self.engine.storage + "/overlay/*/diff" + PLACE):
            for folder, _, files in os.walk(place):
                for name in files:
                    if stat.S_ISCHR(os.lstat(f"{folder}/{name}").st_mode):
                        found.add("whiteout of " + name)
                    elif name == ".wh..wh..opq":
                        found.add("opaque " + os.path.basename(folder))
                    elif name.startswith(".wh."):
                        found.add("whiteout of " + name[4:])
                if any(name.endswith("opaque") for name in os.listxattr(folder)):
                    found.add("opaque " + os.path.basename(folder))
        return found

    def base_image(self):
        """An image, and its builds of libraries, which no container here uses, but `kept`."""
        tree = self.tree("burn_lower", 1000)
        for name, line in ("gone", 1100), ("replaced", 1200), ("below/hidden", 1300):
            self.library(f"{tree}{PLACE}/{name}.so", "burn_lower_" + name.split("/")[-1], line)
        kept = self.library(f"{tree}{PLACE}/kept.so", "burn_kept", 2000)
        for folder, _, files in os.walk(tree):
            for name in files:
                os.utime(os.path.join(folder, name), (10**9, 10**9))
        image = self.engine.import_image(tree, f"{NAME}-base")
        return image, kept

    def new_builds(self):
        """Others of the same names, in a folder that every user may read."""
        new = self.path("new")
        for name, line in ("gone", 2100), ("replaced", 2200), ("below/hidden", 2300):
            library = self.library(f"{new}/{name}.so", "burn_upper_" + name.split("/")[-1], line)
            # An engine that compares sizes and times of files must see that this is another one.
            with open(library, "ab") as f:
                f.write(bytes(4096))
        e2e.run("chmod", "-R", "a+rX", self.folder)
        return new

    def check_files(self, trace, expected, builds):
        """Names of all processes, and that the files are the very ones: a layer below has one of
        the same path."""
        for pid, (function, line) in expected.items():
            self.assert_functions(trace, pid, function, line)
        rest = dict(builds)
        for row in e2e.rows("modules", trace):
            name = row["module"].removeprefix(PLACE + "/").removesuffix(".so")
            if name in rest:
                self.assertTrue(filecmp.cmp(row["path"], rest.pop(name), shallow=False), row)
        self.assertFalse(rest)

    FUNCTIONS = {"gone": ("burn_upper_gone", 2100), "replaced": ("burn_upper_replaced", 2200),
                 "below/hidden": ("burn_upper_hidden", 2300), "kept": ("burn_kept", 2000)}

    def test_layers(self):
        """Files of a lower layer that are gone (whiteout) and come again above, that are replaced,
        and whose directory was replaced (opaque), each with another build that the container uses."""
        base, kept = self.base_image()
        new = self.new_builds()
        self.engine.images += [f"localhost/{NAME}-top:1", f"localhost/{NAME}-middle:1"]
        self.engine.script(f"""
            c=$(buildah from {base}); m=$(buildah mount $c)
            rm $m{PLACE}/gone.so; rm -r $m{PLACE}/below; mkdir $m{PLACE}/below
            cp {new}/replaced.so $m{PLACE}/
            cp {new}/below/hidden.so $m{PLACE}/below/other.so
            buildah umount $c >/dev/null; buildah commit -q $c localhost/{NAME}-middle:1 >/dev/null
            buildah rm $c >/dev/null
            c=$(buildah from localhost/{NAME}-middle:1); m=$(buildah mount $c)
            cp {new}/gone.so $m{PLACE}/gone.so
            mv $m{PLACE}/below/other.so $m{PLACE}/below/hidden.so
            buildah umount $c >/dev/null; buildah commit -q $c localhost/{NAME}-top:1 >/dev/null
            buildah rm $c >/dev/null
        """)
        specials = self.specials()
        self.assertIn("whiteout of gone.so", specials)
        if self.engine.opaque_layers:
            self.assertIn("opaque below", specials)
        expected = {}
        for name, function in self.FUNCTIONS.items():
            pid, _ = self.engine.start(f"localhost/{NAME}-top:1", f"{NAME}-{os.path.basename(name)}",
                                       "/bin/program", "0.1", "use", f"{PLACE}/{name}.so", "wait")
            expected[pid] = function
        builds = {name: f"{new}/{name}.so" for name in ("gone", "replaced", "below/hidden")}
        builds["kept"] = kept
        trace = self.record_running(expected)
        self.check_files(trace, expected, builds)
        for name in self.engine.containers:
            self.engine.stop(name)
        self.check_files(trace, expected, builds)

    def test_changed_in_container(self):
        """The same in the writable layer of a container."""
        base, _ = self.base_image()
        new = self.new_builds()
        name = f"{NAME}-changed"
        self.engine.containers.append(name)
        self.engine.podman("create", *self.engine.run_options, "--name", name, base, "/bin/program",
                           "0.1", "use", f"{PLACE}/below/hidden.so", "wait")
        self.engine.change(name, f"""
            rm $m{PLACE}/gone.so; rm -r $m{PLACE}/below; mkdir $m{PLACE}/below
            cp {new}/below/hidden.so $m{PLACE}/below/hidden.so
        """)
        self.assertLessEqual({"whiteout of gone.so", "opaque below"}, self.specials())
        self.engine.podman("start", name)
        pid = int(self.engine.podman("inspect", "-f", "{{.State.Pid}}", name))
        expected = {pid: self.FUNCTIONS["below/hidden"]}
        builds = {"below/hidden": f"{new}/below/hidden.so"}
        trace = self.record_running(expected)
        self.check_files(trace, expected, builds)
        self.engine.stop(name)
        self.check_files(trace, expected, builds)


class Rootful(Containers, e2e.TestCase):
    engine_class = Engine

    def test_threads(self):
        """Where threads are, as a debugger finds it, which is let into such a container only."""
        tree = self.tree("burn_of_image", 1000)
        shutil.copy(e2e.program("hangs"), f"{tree}/bin/hangs")
        image = self.engine.import_image(tree, f"{NAME}-hangs")
        pid, _ = self.engine.start(image, f"{NAME}-hangs", "/bin/hangs")
        end = time.monotonic() + e2e.SECONDS
        while "ready" not in self.engine.podman("logs", f"{NAME}-hangs"):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        trace = self.record("-p", pid, "-d", "300ms")
        rows = debugger.compare(self, trace, debugger.frames(self.folder, "-p", pid),
                                objects={"hangs"})
        self.assertEqual(len(rows), 9)


class Rootless(Containers, e2e.TestCase):
    engine_class = RootlessEngine


if __name__ == "__main__":
    e2e.main()

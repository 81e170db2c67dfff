# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools/release has made in the folder that EBT_RELEASE names, installed on this machine as it is,
but for what is written, which goes with the test."""

import glob
import hashlib
import os
import subprocess

import e2e

RELEASE = os.environ.get("EBT_RELEASE")
# A root over this one, which is left by the end of the namespace.
ROOT = """set -e
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount --make-shared "$1/root"
cd "$1/root"
for folder in proc sys dev; do mount --rbind /$folder $folder; done
mount -t tmpfs none run
mount -t tmpfs none tmp
cp "$2"/*.deb "$2"/*.raw "$3/debian/tests/record" tmp
exec chroot . sh -ec "$4"
"""
INSTALL = """cd /tmp
rm -f *dbgsym*
dpkg --install *.deb
export HOME=/tmp
ebrec --version
echo '#include <ebmark.h>' | gcc -fsyntax-only -x c -
man -w ebrec ebreport ebt
sqlite3 :memory: ".load $(dpkg -L ebreport | grep ebt.so)"
./record
touch purged
dpkg --purge ebrec ebreport ebmark-dev
for name in $(cat /var/lib/dpkg/info/ebre*.list 2>/dev/null); do echo "left: $name"; done
[ ! -e /usr/bin/ebrec ]
[ ! -e /usr/bin/ebreport ]
find / -xdev -newer record ! -newer purged -iname '*ebre*' ! -path '/tmp/*'
"""
MERGE = """
mkdir -p /var/lib/extensions
cp /tmp/*.raw /var/lib/extensions/ebrec.raw
systemd-sysext merge
which ebrec ebreport
ebrec -q -o /tmp/t.ebt -- ls /
ebreport info /tmp/t.ebt
systemd-sysext unmerge
[ ! -e /usr/bin/ebrec ]
"""


class Release(e2e.TestCase):
    def setUp(self):
        super().setUp()
        if not RELEASE:
            if "CI" in os.environ:
                self.fail("EBT_RELEASE names no folder of tools/release")
            self.skipTest("EBT_RELEASE names no folder of tools/release")
        self.out = os.path.join(RELEASE, "out")

    def inside(self, script):
        """What it printed, in a root where anything may be changed."""
        os.mkdir(self.path("root"))
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", ROOT, "sh",
                               self.path("root"), self.out, e2e.SOURCE, script], check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=e2e.SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_sums(self):
        with open(os.path.join(self.out, "SHA256SUMS"), encoding="ascii") as f:
            sums = dict(reversed(line.split()) for line in f)
        kinds = ".tar.xz", ".raw", ".deb"
        self.assertEqual(set(sums), {name for name in os.listdir(self.out) if name.endswith(kinds)})
        self.assertEqual(len([name for name in sums if name.endswith(".deb") and "dbgsym" not in name]), 3)
        for name, expected in sums.items():
            with open(os.path.join(self.out, name), "rb") as f:
                self.assertEqual(hashlib.sha256(f.read()).hexdigest(), expected, name)

    def test_lintian(self):
        done = e2e.run("lintian", "--allow-root", "--fail-on", "error,warning",
                       *glob.glob(os.path.join(self.out, "*.deb")), status=None)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_debian(self):
        """Installed, used and purged."""
        said = self.inside(INSTALL)
        self.assertIn("events", said)
        self.assertNotIn("left:", said)
        self.assertEqual(said.splitlines()[-1].split()[0], "Processing", said)  # triggers, and no file is left

    def test_sysext(self):
        said = self.inside(MERGE)
        self.assertIn("Recorded", said)

    def test_no_path_of_the_build(self):
        """As another folder would give other bytes."""
        for path in glob.glob(os.path.join(RELEASE, "tree/usr/bin/*")):
            with open(path, "rb") as f:
                self.assertNotIn(os.path.abspath(RELEASE).encode(), f.read(), path)


if __name__ == "__main__":
    e2e.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests need of npm, as package-lock.json says, below the build folder: the source tree stays
as it is. A machine without network has none of it, and tests that need it are skipped there; where
CI is set they fail."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

SKIP = 77
HERE = os.path.dirname(os.path.abspath(__file__))
FILES = ("package.json", "package-lock.json")
SECONDS = 600  # far more than it needs


def skip(reason):
    if os.environ.get("CI"):
        sys.exit("CI leaves nothing out, but: " + reason)
    print("skipped:", reason)
    sys.exit(SKIP)


def program(*names):
    found = next((path for path in map(shutil.which, names) if path), None)
    if not found:
        skip("there is no " + names[0] + " here")
    return found


def digest():
    """Of what is wanted."""
    found = hashlib.sha256()
    for name in FILES:
        with open(os.path.join(HERE, name), "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def fetch(folder):
    for name in FILES:
        shutil.copy(os.path.join(HERE, name), folder)
    command = [program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=SECONDS, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip()
        skip("npm ci did not get what package-lock.json says: " + words[-500:])


def modules(folder):
    """The folder, with all that is needed in it. Tests side by side wait for the one that gets it."""
    folder = os.path.join(os.path.abspath(folder), "npm")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "done"), "a+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if file.read() != digest():
            file.truncate(0)
            fetch(folder)
            file.write(digest())
    return folder

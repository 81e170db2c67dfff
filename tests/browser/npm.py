# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests need of npm, as the package-lock.json of their folder says, below the build folder: the
source tree stays as it is. A machine without network has none of it, and tests that need it are skipped
there; where CI is set they fail."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time

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


def digest(wanted):
    found = hashlib.sha256()
    for name in FILES:
        with open(os.path.join(wanted, name), "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def fetch(folder, wanted):
    """What it failed for; None if it did not."""
    for name in FILES:
        shutil.copy(os.path.join(wanted, name), folder)
    # One more attempt, and soon: without network the default takes a minute and a half, for each test.
    command = [program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
               "--fetch-retries=1", "--fetch-retry-mintimeout=2000"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=SECONDS, check=False,
                          stdin=subprocess.DEVNULL)
    if not done.returncode:
        return None
    words = done.stderr.decode(errors="replace").strip()
    return "npm ci did not get what package-lock.json says: " + words[-500:]


def modules(folder, wanted=HERE):
    """The folder with what the lists in `wanted` say. Tests side by side wait for the one that gets it,
    and are skipped with it."""
    began = time.time()
    folder = os.path.join(os.path.abspath(folder), "npm")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "done"), "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found = file.read()
        if found == digest(wanted):
            return folder
        if found and os.fstat(file.fileno()).st_mtime > began:
            skip(found)
        file.truncate(0)
        failure = fetch(folder, wanted)
        file.write(failure or digest(wanted))
    if failure:
        skip(failure)
    return folder


def driver(folder):
    """What opens and drives pages: members of a test's setting."""
    return {"node": program("node", "nodejs"),
            "chromium": program("chromium", "chromium-browser", "google-chrome"),
            "node_modules": modules(folder)}

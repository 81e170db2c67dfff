# SPDX-License-Identifier: GPL-2.0-or-later
"""A real ClickHouse with the tables of share/ebreport/clickhouse, and what speaks to it."""

import os
import subprocess
import sys
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../browser"))
import npm  # noqa: E402

SHARE = os.path.join(HERE, "../../share/ebreport/clickhouse")


class ClickHouse:
    """modules: the folder below which its packages are, or come to be; data: one for its tables, which is made."""

    def __init__(self, modules, data):
        modules = npm.modules(modules, HERE)
        os.mkdir(data)
        self.process = subprocess.Popen([npm.program("node", "nodejs"), os.path.join(HERE, "clickhouse.mjs"), modules, data],
                                        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}/?database=ebt"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, sql, timeout=None, **parameters):
        words = urllib.parse.urlencode({f"param_{name}": value for name, value in parameters.items()})
        with urllib.request.urlopen(f"{self.url}&{words}", data=sql.encode(), timeout=timeout) as answer:
            return answer.read().decode()

    def query(self, name, timeout=None, **parameters):
        """A file of SHARE; of any time, if none is said."""
        with open(os.path.join(SHARE, name + ".sql"), encoding="utf-8") as file:
            return self.ask(file.read(), timeout, **{"from": "2020-01-01 00:00:00", "to": "2100-01-01 00:00:00", **parameters})

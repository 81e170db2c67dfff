# SPDX-License-Identifier: GPL-2.0-or-later
"""Part `fleet` of tests/bench/run: a busy machine's traces in a real ClickHouse: bytes of an hour of it on disk,
and the queries of docs/FLEET.md to a hundred such machines: one, and copies of it with other names, times and waits.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fleet"))
import clickhouse as engine  # noqa: E402

HOSTS = 100
SECONDS = 30
SOURCES = [("sample", "19"), ("sample", "99"), ("sample,sched", "99"), ("sample,sched,block,lock", "99")]
# Two compilers, and files that are written.
WORK = ("echo 'int main(void) { return 0; }' >x.c; "
        "work() { while :; do gcc -O2 -g -c -o x$1.o x.c; dd if=/dev/zero of=f$1 bs=64k count=8 oflag=dsync 2>/dev/null; "
        "find /usr/include | sort | tail -n 1; done; }; work 1 & work 2")
QUERIES = {
    "flame": {"comm": "%", "build": ""},
    "difference": {"what": "kernel", "before": "", "after": "", "comm": "%"},
    "runq": {"n": "20"},
    "callers": {"function": "do_syscall_64", "n": "20"},
    "locks": {"n": "20"},
    "disks": {"n": "20"},
}
# What copies have of their own, where a table has it; waits are from a half to twice as long.
VARIED = {"host": "concat('host-', toString({n}))", "trace": "toUUID('{uuid}')", "time": "time + toIntervalSecond({n} * 31)",
          "duration": "toUInt64(duration * (0.5 + cityHash64(row, {n}) % 1500 / 1000))",
          "queued": "toUInt64(queued * (0.5 + cityHash64(row, {n}) % 1500 / 1000))"}


class Fleet(engine.ClickHouse):
    def __init__(self, bench, name):
        super().__init__(f"{bench.build}/tests/fleet", bench.path(name))
        self.upload("--tables")

    def upload(self, *words):
        subprocess.run([os.path.join(engine.SHARE, "upload"), *words], check=True, stdin=subprocess.DEVNULL,
                       env={**os.environ, "CLICKHOUSE_URL": self.url})

    def sizes(self):
        """Rows, and bytes on disk, by table."""
        found = self.ask("SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'ebt' "
                         "GROUP BY table")
        return {table: (int(rows), int(size)) for table, rows, size in map(str.split, found.splitlines())}

    def columns(self, table):
        return self.ask(f"SELECT name FROM system.columns WHERE database = 'ebt' AND table = '{table}'").split()


def record(bench, usage, clickhouse, sources, hertz):
    """Its length in seconds."""
    seconds = max(SECONDS // bench.scale, 3)
    trace, spool = bench.path("t.ebt"), bench.path("spool")
    work = subprocess.Popen(["bash", "-c", WORK], cwd=bench.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            start_new_session=True)
    try:
        usage([bench.ebrec, "-q", "-f", "-a", "-e", sources, "-F", hertz, "-d", f"{seconds}s", "-o", trace])
    finally:
        os.killpg(work.pid, 9)
        work.wait()
    usage(["rm", "-rf", spool])
    os.mkdir(spool)
    usage([bench.ebreport, "export", "--to", "clickhouse", "-o", os.path.join(spool, "t"), trace])
    clickhouse.upload(spool)
    return bench.info()["duration_ns"] / 1e9


def sizes(bench, usage, table):
    lines = []
    for i, (sources, hertz) in enumerate(SOURCES):
        with Fleet(bench, f"hour-{i}") as clickhouse:
            seconds = record(bench, usage, clickhouse, sources, hertz)
            found = clickhouse.sizes()
        once = sum(found.get(name, (0, 0))[1] for name in ("stack", "frame"))
        events = [found[name] for name in ("sample", "offcpu", "sched_switch", "sched_waking", "syscall", "block_io", "futex_wait",
                                           "lock_wait") if name in found]
        sums = sum(size for name, (_, size) in found.items() if name.endswith("_minute"))
        rest = sum(size for _, size in found.values()) - once - sums - sum(size for _, size in events)
        hour = 3600 / seconds / 1e6
        lines.append([f"-e {sources} -F {hertz}", sum(rows for rows, _ in events) / seconds, sum(size for _, size in events) * hour,
                      sums * hour, once / 1e6, rest / 1e6])
    table("A host-hour on disk, before any merge", ["", "rows/s", "rows MB/h", "sums MB/h", "stacks MB once", "state MB a trace"],
          lines)


def copy(clickhouse, tables):
    """Each table as one block, so that views see chunks as a whole."""
    for n in range(1, HOSTS):
        uuid = f"00000000-0000-4000-8000-{n:012x}"
        for name, columns in tables.items():
            varied = ", ".join(f"{how.format(n=n, uuid=uuid)} AS {column}" for column, how in VARIED.items() if column in columns)
            clickhouse.ask(f"INSERT INTO {name} SELECT * REPLACE ({varied}) "
                           f"FROM (SELECT * FROM {name} FINAL WHERE host NOT LIKE 'host-%') "
                           "SETTINGS max_threads = 1, max_block_size = 100000000, min_insert_block_size_rows = 0, "
                           "min_insert_block_size_bytes = 0, max_insert_block_size = 100000000, preferred_block_size_bytes = 0")


def questions(clickhouse):
    kernel = os.uname().release
    for name, parameters in QUERIES.items():
        parameters = {key: kernel if key in ("before", "after") else value for key, value in parameters.items()}
        taken = []
        for _ in range(3):
            begin = time.monotonic()
            answer = clickhouse.query(name, **parameters)
            taken.append(time.monotonic() - begin)
        yield [name, sorted(taken)[1], len(answer.splitlines())]


def hosts(bench, usage, clickhouse, table):
    seconds = record(bench, usage, clickhouse, *SOURCES[-1])
    one = clickhouse.sizes()
    tables = {name: clickhouse.columns(name) for name in one if not name.endswith("_minute")}
    tables = {name: columns for name, columns in tables.items() if "host" in columns}
    begin = time.monotonic()
    copy(clickhouse, tables)
    copied = time.monotonic() - begin
    for name in [*tables, "cpu_minute", "runq_minute", "offcpu_minute", "lock_minute", "disk_minute"]:
        clickhouse.ask(f"OPTIMIZE TABLE {name} FINAL")
    found = clickhouse.sizes()
    hour = 3600 / seconds / HOSTS / 1e6
    rows = sum(found[name][0] for name in found)
    table(f"{HOSTS} hosts, {rows} rows, {copied:.0f} s to copy; merged", ["", "rows", "bytes a row", "MB a host-hour"],
          [[name, count, size / count, size * hour] for name, (count, size) in
           sorted(found.items(), key=lambda item: -item[1][1])[:14]])
    print(f"  all tables: {sum(size for _, size in found.values()) / 1e6:.0f} MB, of which a host-hour is "
          f"{sum(size for name, (_, size) in found.items() if name not in ('stack', 'frame')) * hour:.1f} MB")
    table("Queries to them, on two CPUs", ["", "s", "lines"], list(questions(clickhouse)))


def run(bench, usage, table):
    sizes(bench, usage, table)
    with Fleet(bench, "hosts") as clickhouse:
        hosts(bench, usage, clickhouse, table)

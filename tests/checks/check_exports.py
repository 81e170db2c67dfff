#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every trace through every format of `ebreport export`: whole, cut and damaged.

    check_exports.py EBTGEN EBREPORT FIXTURE.txt|FIXTURE.ebt…

A trace that can be read gives a file that fits its format; one that cannot be read an error that
names it; never a signal. What is in the file is compared with the reports by a test of each format.
Exit status: 0; 1 with what is wrong on standard error.
"""

import csv
import gzip
import io
import json
import os
import random
import shutil
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
import native  # noqa: E402
from chrome_file import ChromeFile  # noqa: E402
from failed import fail, status  # noqa: E402
from otlp_file import Otlp  # noqa: E402
from perfetto_file import PerfettoFile  # noqa: E402
from proto_file import Proto  # noqa: E402
from syscap_file import SyscapFile  # noqa: E402

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../share/ebreport/clickhouse/tables.sql")
DAMAGED = 4  # copies of each trace with bytes that are wrong, and as many that are cut


def require(condition, what):
    if not condition:
        raise ValueError(what)


def strict_json(data):
    """As the readers of these formats take it: UTF-8, no NaN, no key twice."""
    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    def once(pairs):
        require(len(dict(pairs)) == len(pairs), "an object has a key twice")
        return dict(pairs)

    return json.loads(data.decode("utf-8"), parse_constant=refuse, object_pairs_hook=once)


def check_csv(data):
    rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    require(rows and all(len(row) == len(rows[0]) for row in rows), "a row has another number of cells")


def check_clickhouse(files):
    """A folder: stacks have their frames, and rows their stacks, each once; no row is there twice."""
    tables = {name[:-len(".native")]: list(native.blocks(data)) for name, data in files.items()
              if name.endswith(".native")}

    def column(table, name):
        return [value for block in tables[table] for value in block[name]]

    require(files["tables.sql"] == read(TABLES), "share/ebreport/clickhouse/tables.sql is another: copy it")
    require(len(column("trace", "trace")) == 1, "there is not one trace")
    frames, stacks = column("frame", "frame"), column("stack", "stack")
    require(len(set(frames)) == len(frames), "a frame is there twice")
    require(set(frame for stack in column("stack", "frames") for frame in stack) == set(frames), "frames are missing")
    rows = 0
    for name, of in tables.items():
        if name in ("trace", "host", "frame", "stack"):
            continue
        keys = [key for block in of for key in zip(block["chunk"], block["row"])]
        rows += len(keys)
        require(len(set(keys)) == len(keys), f"{name}: a row is there twice")
        if of and "stack" in of[0]:
            require(set(column(name, "stack")) <= {0, *stacks}, f"{name}: a stack is missing")
    require(column("trace", "rows") == [rows], "the trace counts other rows")


def check_ndjson(data):
    for seq, line in enumerate(data.decode("utf-8").splitlines()):
        require(strict_json(line.encode())["seq"] == seq, f"line {seq} has another number")


def proto(name):
    return Proto(os.path.join(os.path.dirname(__file__), "../../report/export/proto", name))


def check_pprof(data):
    """What no reader has to accept: https://github.com/google/pprof/blob/main/proto/profile.proto"""
    profile = proto("pprof.proto").decode("Profile", gzip.decompress(data))
    texts = profile["string_table"]
    require(texts[0] == "" and len(set(texts)) == len(texts), "texts do not begin with '', or come twice")
    ids = {}
    for name in ("mapping", "location", "function"):
        ids[name] = {entry["id"]: entry for entry in profile[name]}
        require(len(ids[name]) == len(profile[name]) and 0 not in ids[name], f"ids of {name}")
    for sample in profile["sample"]:
        require(len(sample["value"]) == len(profile["sample_type"]), "values of a sample")
        require(all(value >= 0 for value in sample["value"]), "a negative value")
        require(all(i in ids["location"] for i in sample["location_id"]), "a location that is not there")
        for label in sample["label"]:
            require(texts[label["key"]] and 0 <= label["str"] < len(texts), "a label")
    for location in profile["location"]:
        require(location["line"], "a location without a function")
        require(all(line["function_id"] in ids["function"] for line in location["line"]), "functions of a location")
        if location["mapping_id"]:
            mapping = ids["mapping"][location["mapping_id"]]
            require(mapping["memory_start"] <= location["address"] <= mapping["memory_limit"],
                    "an address outside of its file")
    for entry in profile["function"]:
        require(texts[entry["name"]] and not entry["system_name"] and 0 <= entry["filename"] < len(texts), "a function")
    for entry in profile["mapping"]:
        require(texts[entry["filename"]] and 0 <= entry["build_id"] < len(texts), "a mapped file")
    used = {i for sample in profile["sample"] for i in sample["location_id"]}
    require(used == set(ids["location"]), "locations that no sample has")


def check_firefox_table(name, table, columns, most):
    """Columns are as long as the table says; each number in one is below `most` of it, or -1 or null."""
    for column in columns:
        require(len(table[column]) == table["length"], f"{name}: {column} has another length")
    for column, limit in most.items():
        require(all(value is None or -1 <= value < limit for value in table[column]),
                f"{name}: {column} is of something that is not there")


def check_firefox_thread(thread, shared, profile, schemas):
    samples, markers = thread["samples"], thread["markers"]
    stacks, texts = shared["stackTable"]["length"], len(shared["stringArray"])
    check_firefox_table("samples", samples, ("stack", "time", "weight", "threadCPUDelta"), {"stack": stacks})
    require(samples["time"] == sorted(samples["time"]) and min(samples["weight"], default=0) >= 0, "samples")
    check_firefox_table("markers", markers, ("name", "startTime", "endTime", "phase", "category", "data"),
                        {"name": texts, "category": len(profile["meta"]["categories"])})
    for start, end, phase, data in zip(*(markers[name] for name in ("startTime", "endTime", "phase", "data"))):
        require((phase, end is None) in ((0, True), (1, False)) and (end is None or end >= start), "times of a marker")
        require(set(data) - {"type", "cause"} <= schemas[data["type"]], f"a marker has more than {data['type']} has")
        require("cause" not in data or 0 <= data["cause"]["stack"] < stacks, "a marker's stack")


def check_firefox(data):
    """What docs-developer/processed-profile-format.md of the Firefox Profiler asks for."""
    profile = strict_json(data)
    shared, libs = profile["shared"], profile["libs"]
    length = {name: table["length"] for name, table in shared.items() if name != "stringArray"}
    texts = len(shared["stringArray"])
    require(all(isinstance(text, str) for text in shared["stringArray"]), "a text is none")
    require(profile["meta"]["preprocessedProfileVersion"] == 62, "another version")
    for name, columns, most in (
            ("stackTable", ("prefix", "frame"), {"frame": length["frameTable"]}),
            ("frameTable", ("func", "category", "subcategory", "line", "column", "address", "nativeSymbol", "inlineDepth",
                            "innerWindowID"),
             {"func": length["funcTable"], "nativeSymbol": length["nativeSymbols"],
              "category": len(profile["meta"]["categories"])}),
            ("funcTable", ("name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"),
             {"name": texts, "resource": length["resourceTable"], "source": length["sources"]}),
            ("resourceTable", ("lib", "name", "host", "type"), {"lib": len(libs), "name": texts}),
            ("nativeSymbols", ("libIndex", "address", "functionSize", "name"), {"name": texts}),
            ("sources", ("id", "filename", "startLine", "startColumn", "sourceMapURL"), {"filename": texts})):
        check_firefox_table(name, shared[name], columns, most)
    require(all(prefix is None or 0 <= prefix < i for i, prefix in enumerate(shared["stackTable"]["prefix"])),
            "a stack comes before what it is below")
    require(all(shared["nativeSymbols"]["libIndex"][i] < len(libs) for i in shared["frameTable"]["nativeSymbol"]
                if i is not None), "a library is missing")
    ids = [thread["tid"] for thread in profile["threads"]]
    require(len(set(ids)) == len(ids), "a thread is there twice")
    schemas = {schema["name"]: {field["key"] for field in schema["fields"]}
               for schema in profile["meta"]["markerSchema"]}
    for thread in profile["threads"]:
        check_firefox_thread(thread, shared, profile, schemas)
    for counter in profile["counters"]:
        check_firefox_table(counter["name"], counter["samples"], ("time", "count"), {})
        require(counter["pid"] == profile["threads"][counter["mainThreadIndex"]]["pid"], "whose counter is it?")


def check_speedscope(data):
    file = strict_json(data)
    frames = file["shared"]["frames"]
    require(all(isinstance(frame["name"], str) for frame in frames), "a frame has no name")
    for profile in file["profiles"]:
        name, weights = profile["name"], profile["weights"]
        require(profile["type"] == "sampled" and profile["unit"] == "nanoseconds", f"{name}: what is it of?")
        require(len(profile["samples"]) == len(weights), f"{name}: a sample without a weight")
        require(all(weight >= 0 for weight in weights), f"{name}: a negative weight")
        require(sum(weights) == profile["endValue"] - profile["startValue"], f"{name}: time is missing")
        require(all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack),
                f"{name}: a frame that is not there")


PERF_EVENT = re.compile(r"\S.* \d+/\d+ \[\d{3,}\] \d+\.\d{6}: +\d+ \S+:")
PERF_FRAME = re.compile(r"\t *[0-9a-f]+ \S.* \(\S+\)")


def check_perf_script(data):
    inside = False
    for line in data.decode("utf-8").split("\n")[:-1]:
        fits = PERF_FRAME.fullmatch(line) if inside else PERF_EVENT.fullmatch(line)
        require(fits or (inside and not line), f"a line that nobody expects: {line!r}")
        inside = bool(line)
    require(not inside, "the end is missing")


# By name of the format: the ending of its files, and what raises ValueError or KeyError where a file is wrong.
# More options, where it needs any, follow.
FORMATS = {
    "chrome": ("chrome.json", ChromeFile),
    "clickhouse": ("clickhouse", check_clickhouse),
    "csv": ("csv", check_csv, "--table", "sample"),
    "firefox": ("firefox.json", check_firefox),
    "ndjson": ("ndjson", check_ndjson),
    "otlp": ("otlp", Otlp),
    "perf-script": ("perf.txt", check_perf_script),
    "perfetto": ("pftrace", PerfettoFile),
    "pprof": ("pb.gz", check_pprof),
    "speedscope": ("speedscope.json", check_speedscope),
    "sysprof": ("syscap", SyscapFile),
}


def formats_of(ebreport):
    """As --help lists them, so that none is forgotten here."""
    done = subprocess.run([ebreport, "export", "--to", "no format"], capture_output=True, check=False)
    return done.stderr.decode().strip().rpartition("formats are ")[2].split(", ")


def read(path):
    """A file, or the files of a folder, which is gone then."""
    if os.path.isdir(path):
        files = {name: read(os.path.join(path, name)) for name in os.listdir(path)}
        shutil.rmtree(path)
        return files
    with open(path, "rb") as file:
        return file.read()


def check_one(ebreport, name, path, what, whole):
    ending, check, *options = FORMATS[name]
    output = os.path.join(os.path.dirname(path), f"output.{ending}")
    done = subprocess.run([ebreport, "export", "--to", name, *options, "-f", "-o", output, path], capture_output=True,
                          check=False, timeout=300, env={**os.environ, "DEBUGINFOD_URLS": ""})
    error = done.stderr.decode(errors="replace")
    if done.returncode == 1 and "was built without" in error:
        return
    if done.returncode not in ((0,) if whole else (0, 1)) or "Sanitizer" in error:
        fail(what, f"--to {name} ends with {done.returncode}: {error[-2000:]}")
    elif done.returncode == 1 and not error:
        fail(what, f"--to {name} fails without a word")
    if done.returncode:
        if os.path.isdir(output):
            shutil.rmtree(output)
        return
    data = read(output)
    try:
        check(data)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        fail(what, f"--to {name}: {type(error).__name__}: {error}")


def check_trace(ebreport, formats, fixture, path):
    with open(path, "rb") as file:
        data = file.read()
    damaged = os.path.join(os.path.dirname(path), "damaged.ebt")
    seed = os.path.basename(fixture)
    draw = random.Random(seed)

    def check_bytes(content, what):
        with open(damaged, "wb") as file:
            file.write(content)
        for name in formats:
            check_one(ebreport, name, damaged, f"{fixture} {what}", False)

    for name in formats:
        check_one(ebreport, name, path, fixture, True)
    for _ in range(DAMAGED):
        cut = draw.randrange(len(data))
        check_bytes(data[:cut], f"cut at {cut}")
        wrong = bytearray(data)
        at = [draw.randrange(len(data)) for _ in range(draw.randint(1, 8))]
        for i in at:
            wrong[i] ^= 1 << draw.randrange(8)
        check_bytes(bytes(wrong), f"with other bytes at {at}")


def check_many_stacks(ebtgen, ebreport):
    """More than are in memory at a time, and some of them again: rows have theirs, to the last frame."""
    draw = random.Random("stacks")
    stacks = [[draw.randrange(1 << 46) for _ in range(100)] for _ in range(4000)]
    wanted = [*range(len(stacks)), *range(0, len(stacks), 7)]
    with tempfile.TemporaryDirectory() as folder:
        text, path, output = (os.path.join(folder, name) for name in ("t.txt", "t.ebt", "out"))
        with open(text, "w", encoding="ascii") as file:
            for time, i in enumerate(wanted, 1000):
                file.write(f'{time} sample cpu=0 task=7/7/50/"one" event=cpu-clock user=1 period=10 kstack=- '
                           f"ustack=u:{','.join(f'{address:x}' for address in stacks[i])} udump=x\n")
        subprocess.run([ebtgen, text, path], check=True)
        subprocess.run([ebreport, "export", "--to", "clickhouse", "-o", output, path], check=True, timeout=300)
        tables = {name: list(native.blocks(read(os.path.join(output, name + ".native"))))
                  for name in ("frame", "stack", "sample")}
    names, frames = {}, {}
    for block in tables["frame"]:
        names.update(zip(block["frame"], ([name.decode() for name in of] for of in block["functions"])))
    for block in tables["stack"]:
        frames.update(zip(block["stack"], block["frames"]))
    got = [[name for frame in frames[stack] for name in names[frame]] for block in tables["sample"]
           for stack in block["stack"]]
    if got != [[f"{address:#x}" for address in reversed(stacks[i])] for i in wanted]:
        fail("many stacks", "rows have others")


def main():
    ebtgen, ebreport, *fixtures = sys.argv[1:]
    formats = formats_of(ebreport)
    if sorted(formats) != sorted(FORMATS):
        fail("formats", f"{formats}, checks are there of {sorted(FORMATS)}")
        return status()
    for fixture in fixtures:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.ebt")
            if fixture.endswith(".txt"):
                subprocess.run([ebtgen, fixture, path], check=True)
            else:
                with open(fixture, "rb") as old, open(path, "wb") as new:
                    new.write(old.read())
            check_trace(ebreport, formats, fixture, path)
    check_many_stacks(ebtgen, ebreport)
    return status()


if __name__ == "__main__":
    sys.exit(main())
